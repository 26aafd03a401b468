//! Interventions on state and on dynamics, read from text; Appendix, Interventions.
//!
//! State: `x = 0.5`, `x = 2*y + 1`, `clip(x; 0, 3)`, `project sphere(x, y; 1)`, `project plane(x, y; 1, 1; 2)`,
//! `project box(x, y; 0, 1; 0, 2)`. Dynamics: `drift(x) = ...`, `+=`, `-=`, `*=`, and the same of `diffusion(x)`. A
//! window may follow: `@ 10..20`, `@ 5..`, `@ ..8`. What its times mean, the caller knows: they may be dates.

mod idempotence;
mod parse;
mod window;

pub use idempotence::NotIdempotent;
pub(super) use idempotence::StateProblem;

use super::expression::{Expression, ExpressionError};
use crate::SetPiece;

/// One thing that is done to the process during a window of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervention {
    /// As the user wrote it.
    pub text: String,
    /// What is done.
    pub change: Change,
    /// When, in the user's unit of time.
    pub window: Window,
}

impl Intervention {
    /// The variables it acts on.
    pub fn variables(&self) -> &[usize] {
        match &self.change {
            Change::Hold { variable, .. }
            | Change::Clip { variable, .. }
            | Change::Drift { variable, .. }
            | Change::Diffusion { variable, .. } => std::slice::from_ref(variable),
            Change::Project { variables, .. } => variables,
        }
    }
}

/// A closed window of time; infinite where it is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Its first time.
    pub from: f64,
    /// Its last time.
    pub to: f64,
}

/// What an intervention does.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Replaces the value of a variable.
    Hold {
        /// The variable.
        variable: usize,
        /// Its new value.
        value: Expression,
    },
    /// Keeps a variable between two bounds.
    Clip {
        /// The variable.
        variable: usize,
        /// The bounds, lower first.
        bounds: (f64, f64),
    },
    /// Moves some variables to the nearest point of a set.
    Project {
        /// The variables.
        variables: Vec<usize>,
        /// The set.
        onto: Shape,
    },
    /// Changes the drift of a variable, in its own unit per unit of time.
    Drift {
        /// The variable.
        variable: usize,
        /// How.
        how: How,
        /// With what.
        value: Expression,
    },
    /// Changes the diffusion of a variable, in its own unit per square root of time.
    Diffusion {
        /// The variable.
        variable: usize,
        /// How.
        how: How,
        /// With what.
        value: Expression,
    },
}

/// A set of states that others are moved to.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// All points at a distance from a centre.
    Sphere {
        /// The distance; positive.
        radius: f64,
        /// The centre.
        centre: Vec<f64>,
    },
    /// All x with normal · x = level.
    Plane {
        /// The normal; not zero.
        normal: Vec<f64>,
        /// The level.
        level: f64,
    },
    /// All points between lower and upper bounds.
    Box {
        /// Lower and upper bound of every variable.
        bounds: Vec<(f64, f64)>,
    },
}

/// How a drift or diffusion is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Replaced.
    Set,
    /// Added to.
    Add,
    /// Multiplied.
    Scale,
}

impl Window {
    /// Whether the window holds a time.
    pub fn holds(&self, time: f64) -> bool {
        self.from <= time && time <= self.to
    }

    /// Whether a step from `start` lies inside: at the last time dynamics are free again.
    fn holds_step(&self, start: f64) -> bool {
        self.from <= start && start < self.to
    }
}

/// Several interventions, applied in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interventions {
    list: Vec<Intervention>,
    names: Vec<String>,
}

/// Reads a time as the user wrote it.
///
/// `None` for a text that may be a formula of numbers, and a reason where it can be nothing of the kind.
pub type TimeReader<'a> = dyn Fn(&str) -> Result<Option<f64>, String> + 'a;

impl Interventions {
    /// Reads interventions on these variables, with windows in numbers.
    pub fn parse(texts: &[String], variables: &[String]) -> Result<Self, ExpressionError> {
        Self::parse_with(texts, variables, &|_| Ok(None))
    }

    /// Reads interventions on these variables, with windows in times that `read_time` understands.
    pub fn parse_with(
        texts: &[String],
        variables: &[String],
        read_time: &TimeReader<'_>,
    ) -> Result<Self, ExpressionError> {
        let list = texts.iter().map(|text| parse::intervention(text, variables, read_time));
        Ok(Self { list: list.collect::<Result<_, _>>()?, names: variables.to_vec() })
    }

    /// Values that were set, as holds on the variables of these names.
    pub fn of_pieces(pieces: &[SetPiece], variables: &[String]) -> Result<Self, ExpressionError> {
        let text = |piece: &SetPiece| {
            let SetPiece { value, slope, from, .. } = *piece;
            if slope == 0.0 {
                format!("{value}")
            } else {
                format!("{value} + {slope} * (t - {from})")
            }
        };
        let hold = |piece: &SetPiece| {
            Ok(Intervention {
                text: format!("{} = {}", variables[piece.variable], text(piece)),
                change: Change::Hold {
                    variable: piece.variable,
                    value: Expression::parse(&text(piece), variables)?,
                },
                window: Window { from: piece.from, to: piece.to },
            })
        };
        let list = pieces.iter().map(hold).collect::<Result<_, _>>()?;
        Ok(Self { list, names: variables.to_vec() })
    }

    /// These, then others: where both hold a variable, the later ones count.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        let list = self.list.iter().chain(&later.list).cloned().collect();
        let names = if self.names.is_empty() { &later.names } else { &self.names };
        Self { list, names: names.clone() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The single interventions.
    pub fn list(&self) -> &[Intervention] {
        &self.list
    }

    /// Those whose window lies outside the simulated times: they do nothing, which is seldom meant.
    pub fn idle(&self, times: &[f64]) -> impl Iterator<Item = &Intervention> {
        let (first, last) = (times[0], times[times.len() - 1]);
        self.list.iter().filter(move |one| one.window.to < first || one.window.from > last)
    }

    /// Finite first and last times of all windows.
    pub fn bounds(&self) -> Vec<f64> {
        let bounds = self.list.iter().flat_map(|one| [one.window.from, one.window.to]);
        bounds.filter(|time| time.is_finite()).collect()
    }

    /// Variables that are intervened on.
    pub fn variables(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.list.iter().flat_map(|one| one.variables().to_vec()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Variables whose value at `time` is given by others or by time, whatever their own dynamics.
    pub(super) fn held(&self, time: f64) -> Vec<usize> {
        let mut held: Vec<usize> = (self.list.iter())
            .filter(|one| one.window.holds(time))
            .filter_map(|one| match &one.change {
                Change::Hold { variable, value } if !value.mentions(*variable) => Some(*variable),
                _ => None,
            })
            .collect();
        held.sort_unstable();
        held.dedup();
        held
    }

    /// State <- intervention(time, state), in the order given.
    pub(super) fn assign(&self, time: f64, state: &mut [f64]) -> Result<(), ExpressionError> {
        for one in self.list.iter().filter(|one| one.window.holds(time)) {
            match &one.change {
                Change::Hold { variable, value } => state[*variable] = value.value(time, state)?,
                Change::Clip { variable, bounds: (low, high) } => {
                    state[*variable] = state[*variable].clamp(*low, *high);
                }
                Change::Project { variables, onto } => onto.project(variables, state),
                Change::Drift { .. } | Change::Diffusion { .. } => {}
            }
        }
        Ok(())
    }

    /// A variable whose drift or diffusion is changed at some time.
    pub(super) fn changed_dynamics(&self) -> Option<usize> {
        self.list.iter().find_map(|one| match one.change {
            Change::Drift { variable, .. } | Change::Diffusion { variable, .. } => Some(variable),
            _ => None,
        })
    }

    /// Whether drift or diffusion of a step from `time` are changed.
    pub(super) fn change_dynamics(&self, time: f64) -> bool {
        self.list.iter().any(|one| {
            one.window.holds_step(time)
                && matches!(one.change, Change::Drift { .. } | Change::Diffusion { .. })
        })
    }

    /// Variables whose diffusion is changed in a step from `time`.
    pub(super) fn changed_diffusions(&self, time: f64) -> impl Iterator<Item = usize> {
        self.list.iter().filter_map(move |one| match one.change {
            Change::Diffusion { variable, .. } if one.window.holds_step(time) => Some(variable),
            _ => None,
        })
    }

    /// Changes drift and diffusion of a step that starts at `time` in `state`.
    pub(super) fn apply_to_dynamics(
        &self,
        time: f64,
        state: &[f64],
        drift: &mut [f64],
        diffusion: &mut [f64],
    ) -> Result<(), ExpressionError> {
        for one in self.list.iter().filter(|one| one.window.holds_step(time)) {
            let (out, how, value) = match &one.change {
                Change::Drift { variable, how, value } => (&mut drift[*variable], how, value),
                Change::Diffusion { variable, how, value } => {
                    (&mut diffusion[*variable], how, value)
                }
                _ => continue,
            };
            let value = value.value(time, state)?;
            match how {
                How::Set => *out = value,
                How::Add => *out += value,
                How::Scale => *out *= value,
            }
            if matches!(one.change, Change::Diffusion { .. }) {
                // Less than no noise is none; its square would be noise again.
                *out = out.max(0.0);
            }
        }
        Ok(())
    }
}

impl Shape {
    fn project(&self, variables: &[usize], state: &mut [f64]) {
        match self {
            Self::Sphere { radius, centre } => {
                let gaps = variables.iter().zip(centre).map(|(&idx, centre)| state[idx] - centre);
                let gaps: Vec<f64> = gaps.collect();
                let length = gaps.iter().map(|gap| gap * gap).sum::<f64>().sqrt();
                for (place, (&idx, centre)) in variables.iter().zip(centre).enumerate() {
                    // At the centre all directions are equal; take the first variable's.
                    let direction = if length > 0.0 {
                        gaps[place] / length
                    } else {
                        f64::from(u8::from(place == 0))
                    };
                    state[idx] = centre + radius * direction;
                }
            }
            Self::Plane { normal, level } => {
                let along: f64 =
                    variables.iter().zip(normal).map(|(&idx, weight)| weight * state[idx]).sum();
                let square: f64 = normal.iter().map(|weight| weight * weight).sum();
                for (&idx, weight) in variables.iter().zip(normal) {
                    state[idx] -= weight * (along - level) / square;
                }
            }
            Self::Box { bounds } => {
                for (&idx, &(low, high)) in variables.iter().zip(bounds) {
                    state[idx] = state[idx].clamp(low, high);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["x1", "x2", "x3"].map(str::to_owned).to_vec()
    }

    fn read(texts: &[&str]) -> Interventions {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        Interventions::parse(&texts, &names()).unwrap()
    }

    fn assigned(texts: &[&str], time: f64) -> [f64; 3] {
        let mut state = [3.0, 4.0, 5.0];
        read(texts).assign(time, &mut state).unwrap();
        state
    }

    fn wrong(text: &str) -> String {
        Interventions::parse(&[text.to_owned()], &names()).unwrap_err().to_string()
    }

    #[test]
    fn states_are_assigned_in_order_inside_their_windows() {
        assert_eq!(assigned(&["x1 = 0.5 @ 10..20"], 10.0), [0.5, 4.0, 5.0]);
        assert_eq!(assigned(&["x1 = 0.5 @ 10..20"], 20.5), [3.0, 4.0, 5.0]);
        assert_eq!(assigned(&["x1 = 1", "x2 = 2*x1 + t @ 5.."], 7.0), [1.0, 9.0, 5.0]);
        assert_eq!(assigned(&["clip(x3; 0, 2.5) @ ..8"], -100.0), [3.0, 4.0, 2.5]);
        assert_eq!(assigned(&["x1 = -2 @ -3..-1"], -2.0), [-2.0, 4.0, 5.0]);
    }

    #[test]
    fn projections_move_to_the_nearest_point() {
        // (3, 4) has length 5.
        assert_eq!(assigned(&["project sphere(x1, x2; 10)"], 0.0), [6.0, 8.0, 5.0]);
        assert_eq!(assigned(&["project sphere(x1, x2; 2; 3, 0)"], 0.0), [3.0, 2.0, 5.0]);
        // x1 + x2 = 7, two too many for 5: one off each.
        assert_eq!(assigned(&["project plane(x1, x2; 1, 1; 5)"], 0.0), [2.0, 3.0, 5.0]);
        assert_eq!(assigned(&["project box(x1, x2; 0, 1; 0, 9)"], 0.0), [1.0, 4.0, 5.0]);
    }

    #[test]
    fn dynamics_are_replaced_added_to_and_scaled_until_the_window_ends() {
        let changes =
            read(&["drift(x1) += 0.5*x2 @ 0..2", "diffusion(x1) *= 2", "drift(x3) = -x3"]);
        let apply = |time: f64| {
            let (mut drift, mut diffusion) = ([1.0; 3], [1.0; 3]);
            let state = [3.0, 4.0, 5.0];
            changes.apply_to_dynamics(time, &state, &mut drift, &mut diffusion).unwrap();
            (drift, diffusion)
        };
        assert_eq!(apply(0.0), ([3.0, 1.0, -5.0], [2.0, 1.0, 1.0]));
        assert_eq!(apply(2.0), ([1.0, 1.0, -5.0], [2.0, 1.0, 1.0]));
        assert_eq!(changes.variables(), [0, 2]);
        assert_eq!(changes.bounds(), [0.0, 2.0]);
    }

    #[test]
    fn times_of_windows_are_read_by_whoever_knows_them() {
        let read = |text: &str, read_time: &TimeReader<'_>| {
            Interventions::parse_with(&[text.to_owned()], &names(), read_time)
        };
        let year = |text: &str| match text.split_once('-') {
            Some((year, "01-01T10:00")) => Ok(year.parse().ok()),
            Some(_) => Err(format!("`{text}` is no new year")),
            None => Ok(None),
        };
        let window = |text: &str| read(text, &year).map(|all| all.list()[0].window);
        let text = "x1 = 10 @ 2000-01-01T10:00 ..2002-01-01T10:00";
        assert_eq!(window(text), Ok(Window { from: 2000.0, to: 2002.0 }));
        assert_eq!(window("x1 = 10 @ 2*3.."), Ok(Window { from: 6.0, to: f64::INFINITY }));
        assert_eq!(
            window("x1 = 10 @ ..2002-02-01").unwrap_err().to_string(),
            "`2002-02-01` is no new year, in column 13 of `x1 = 10 @ ..2002-02-01`"
        );
        let at = Interventions::parse(&["`a@b` = 1 @ ..2".to_owned()], &["a@b".to_owned()]);
        assert_eq!(at.unwrap().list()[0].window.to, 2.0);
    }

    #[test]
    fn only_values_that_do_not_depend_on_themselves_are_held() {
        let changes = read(&["x1 = min(x1, 3)", "x2 = x1 @ 0..1", "clip(x3; 0, 1)"]);
        assert_eq!(changes.held(0.5), [1]);
        assert!(changes.held(1.5).is_empty());
    }

    #[test]
    fn what_cannot_be_read_says_where_and_why() {
        assert_eq!(
            wrong("x9 = 1"),
            "unknown variable `x9`; the variables are `x1`, `x2`, `x3`, in column 1 of `x9 = 1`"
        );
        assert_eq!(
            wrong("x1 = "),
            "expected a number, a name or a bracket, found the end, in column 6 of `x1 = `"
        );
        assert_eq!(
            wrong("x1 += 1"),
            "expected `=` (only drift and diffusion can be added to or scaled), found `+=`, in column 4 of `x1 += 1`"
        );
        assert_eq!(
            wrong("x1 = 1 @ 5"),
            "expected `..` between the two times of a window, found the end, in column 11 of `x1 = 1 @ 5`"
        );
        assert_eq!(
            wrong("x1 = 1 @ 9..5"),
            "expected a window that ends after it starts, found `9..5`, in column 10 of `x1 = 1 @ 9..5`"
        );
        assert!(
            wrong("project cube(x1; 1)")
                .starts_with("expected `sphere`, `plane` or `box`, found `cube`")
        );
        assert!(
            wrong("project sphere(x1, x2; -1)")
                .starts_with("expected a positive radius, found `-1`")
        );
        assert!(
            wrong("project sphere(x1, x2; 1; 0)")
                .starts_with("expected one number per variable, found 1")
        );
        assert!(
            wrong("clip(x1; 3, 1)").starts_with("expected the lower bound first, found `3, 1`")
        );
        assert!(wrong("drift(x1) = 1/0").starts_with("division by zero"));
        assert!(wrong("project sphere(x1, x1; 1)").starts_with("expected every variable once"));
    }
}
