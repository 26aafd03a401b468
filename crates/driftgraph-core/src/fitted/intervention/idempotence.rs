//! Whether doing the same thing twice changes nothing, tried on many states and times.

use std::ops::RangeInclusive;

use super::Interventions;
use crate::fitted::expression::ExpressionError;
use crate::random::{Purpose, RandomStream};
use crate::{Standardizer, Transform};

/// States tried at each time.
const N_STATES: usize = 500;
/// Rounding of a projection, relative to the size of the state.
const TOLERANCE: f64 = 1e-9;

/// An example that shows that an intervention is not idempotent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{} must give the same state when applied twice; at time {time} the state {before} becomes {once}, \
     and then {twice}",
    quoted(.texts)
)]
pub struct NotIdempotent {
    /// The interventions that are active together.
    pub texts: Vec<String>,
    /// The time.
    pub time: f64,
    /// The state before.
    pub before: String,
    /// The state after applying them once.
    pub once: String,
    /// The state after applying them twice.
    pub twice: String,
}

fn quoted(texts: &[String]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" with ")
}

/// Why state interventions cannot be used.
#[derive(Debug)]
pub(in crate::fitted) enum StateProblem {
    Twice(Box<NotIdempotent>),
    Expression(Box<ExpressionError>),
}

impl Interventions {
    /// Definition (State-space Intervention): i(t, i(t, z)) = i(t, z), tried on many states.
    ///
    /// States spread three times as wide as the data, at times inside every set of windows.
    pub(in crate::fitted) fn check_idempotent(
        &self,
        scaling: &Standardizer,
        transform: Option<&Transform>,
        times: RangeInclusive<f64>,
        seed: u64,
    ) -> Result<(), StateProblem> {
        let d = scaling.means().len();
        let mut draws = vec![0.0; d];
        for (stream, time) in self.tried_times(&times).into_iter().enumerate() {
            let mut random = RandomStream::new(seed, Purpose::Resampling, stream as u64);
            for _ in 0..N_STATES {
                random.fill_normal(&mut draws);
                let cells = draws.iter().zip(scaling.means().iter().zip(scaling.scales()));
                let mut before: Vec<f64> =
                    cells.map(|(draw, (mean, scale))| mean + 3.0 * draw * scale).collect();
                if let Some(transform) = transform {
                    transform.undo(&[time], &mut before);
                }
                self.check_at(time, &before)?;
            }
        }
        Ok(())
    }

    /// The bounds of all windows, and times between them.
    fn tried_times(&self, times: &RangeInclusive<f64>) -> Vec<f64> {
        let mut bounds: Vec<f64> =
            self.bounds().into_iter().filter(|time| times.contains(time)).collect();
        bounds.extend([times.start(), times.end()]);
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let inside = bounds
            .windows(2)
            .flat_map(|pair| [0.25, 0.5, 0.75].map(|share| pair[0] + share * (pair[1] - pair[0])));
        let inside: Vec<f64> = inside.collect();
        bounds.extend(inside);
        bounds
    }

    fn check_at(&self, time: f64, before: &[f64]) -> Result<(), StateProblem> {
        let assign = |state: &mut [f64]| {
            self.assign(time, state).map_err(|error| StateProblem::Expression(Box::new(error)))
        };
        let mut once = before.to_vec();
        assign(&mut once)?;
        let mut twice = once.clone();
        assign(&mut twice)?;
        let size = once.iter().fold(1e-300, |most: f64, value| most.max(value.abs()));
        let moved = |idx: &usize| {
            (once[*idx] - twice[*idx]).abs() > TOLERANCE * once[*idx].abs().max(1e-6 * size)
        };
        if !(0..once.len()).any(|idx| moved(&idx)) {
            return Ok(());
        }
        let active = self.list.iter().filter(|one| one.window.holds(time));
        let involved = self.mentioned(time);
        Err(StateProblem::Twice(Box::new(NotIdempotent {
            texts: active.map(|one| one.text.clone()).collect(),
            time,
            before: self.shown(before, &involved),
            once: self.shown(&once, &involved),
            twice: self.shown(&twice, &involved),
        })))
    }

    /// Variables that the interventions of a time change or look at.
    fn mentioned(&self, time: f64) -> Vec<usize> {
        let changed = self.variables();
        let looks = |idx: usize| {
            self.list.iter().filter(|one| one.window.holds(time)).any(|one| match &one.change {
                super::Change::Hold { value, .. } => value.mentions(idx),
                _ => false,
            })
        };
        (0..self.names.len()).filter(|idx| changed.contains(idx) || looks(*idx)).collect()
    }

    fn shown(&self, state: &[f64], variables: &[usize]) -> String {
        let cell = |&idx: &usize| format!("{} = {:.4}", self.names[idx], state[idx]);
        let cells: Vec<String> = variables.iter().take(6).map(cell).collect();
        format!("({})", cells.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str]) -> Result<(), StateProblem> {
        let names = ["x1", "x2", "x3"].map(str::to_owned);
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let interventions = Interventions::parse(&texts, &names).unwrap();
        interventions.check_idempotent(&Standardizer::identity(3), None, 0.0..=10.0, 0)
    }

    #[test]
    fn holds_in_order_clips_and_projections_pass() {
        for fine in [
            &["x1 = 0.5 @ 2..3"][..],
            &["x1 = 2", "x2 = x1 + x3", "x3 = 7 @ 20.."],
            &["clip(x1; -1, 1)", "project sphere(x2, x3; 2; 1, 1)"],
            &["project plane(x1, x2, x3; 1, -2, 0.5; 3)"],
            &["project box(x1, x2; 0, 1; -5, 5)", "x3 = max(x3, 0)"],
            &["x1 = sin(t)"],
            &["drift(x1) += 1"],
        ] {
            assert!(check(fine).is_ok(), "{fine:?}");
        }
    }

    #[test]
    fn the_papers_loop_is_refused_with_an_example() {
        let Err(StateProblem::Twice(example)) = check(&["x1 = x2", "x2 = x1 + 1"]) else {
            panic!("the loop passed")
        };
        let text = example.to_string();
        assert!(
            text.starts_with("`x1 = x2` with `x2 = x1 + 1` must give the same state"),
            "{text}"
        );
        assert!(text.contains("x1 = ") && !text.contains("x3 = "), "{text}");
    }

    #[test]
    fn other_ways_to_depend_on_oneself_are_refused() {
        for bad in [
            &["x1 = x1 + 1"][..],
            &["x1 = -x1"],
            &["x1 = x2 @ 3..4", "x2 = 2*x1 @ 3.5..9"],
            &["clip(x1; 0, 1)", "project sphere(x1, x2; 5)"],
        ] {
            assert!(matches!(check(bad), Err(StateProblem::Twice(_))), "{bad:?}");
        }
    }

    #[test]
    fn a_value_that_is_not_finite_is_refused() {
        assert!(matches!(check(&["x1 = log(x2)"]), Err(StateProblem::Expression(_))));
    }
}
