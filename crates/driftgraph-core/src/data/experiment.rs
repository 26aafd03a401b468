//! What was done to a system while it was measured: inputs, and windows of time in which variables were set or pushed.
//!
//! A variable that was set (an input; a knock-out or hold in its window) says nothing about its causes there: its own
//! transitions are left out, and its value counts as known. A variable that was pushed (knock-down, over-expression,
//! shift) moves by its own dynamics and something besides, whose size is learned and whose sign is stated.

mod answers;
mod handled;
mod problem;

pub use answers::{Done, SetPiece};
pub use problem::{ExperimentError, ExperimentProblem};

use self::handled::Handled;
use super::series::{ObservedSeries, SeriesSet};

/// The word that stands for every series.
pub const ALL_SERIES: &str = "*";

/// What an input does between two rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputHold {
    /// It keeps its value until the next row.
    #[default]
    Previous,
    /// It moves along a straight line to the next row.
    Linear,
}

/// What was done to a variable.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum InterventionKind {
    /// Set to a value, 0 where none is given.
    Knockout,
    /// Set to a value, or to what was measured where none is given.
    Hold,
    /// Driven down by an amount that is learned.
    Knockdown,
    /// Driven up by an amount that is learned.
    Overexpress,
    /// Driven by an amount that is learned, in the direction of the value's sign where one is given.
    Shift,
}

impl InterventionKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Knockout, Self::Hold, Self::Knockdown, Self::Overexpress, Self::Shift];

    /// The word for it in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Knockout => "knockout",
            Self::Hold => "hold",
            Self::Knockdown => "knockdown",
            Self::Overexpress => "overexpress",
            Self::Shift => "shift",
        }
    }

    /// Whether the variable's value was set, so that its own dynamics say nothing.
    pub fn sets(self) -> bool {
        matches!(self, Self::Knockout | Self::Hold)
    }
}

/// One line of a table of interventions.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct InterventionRow {
    /// Name of the series, or `*` for all.
    pub series: String,
    /// Name of the variable.
    pub variable: String,
    /// What was done.
    pub kind: InterventionKind,
    /// To what value, or how strongly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// First time of the window; from the beginning where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Last time of the window; to the end where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

impl InterventionRow {
    fn start(&self) -> f64 {
        self.from.unwrap_or(f64::NEG_INFINITY)
    }

    fn end(&self) -> f64 {
        self.to.unwrap_or(f64::INFINITY)
    }
}

/// What is known of an experiment, in names.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Experiment {
    /// Variables that were set from outside all the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// What they do between rows.
    pub hold: InputHold,
    /// What was done to other variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRow>,
}

/// An amount by which a variable is pushed, learned once for all windows of the same variable, kind and value.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Amount {
    /// The variable.
    pub variable: usize,
    /// What was done.
    pub kind: InterventionKind,
    /// How strongly, as far as it was said.
    pub value: Option<f64>,
}

impl Amount {
    /// The direction of the push: -1, 1, or 0 where it is not known.
    pub fn sign(&self) -> f64 {
        match (self.kind, self.value) {
            (InterventionKind::Knockdown, _) => -1.0,
            (InterventionKind::Overexpress, _) => 1.0,
            (InterventionKind::Shift, Some(value)) if value != 0.0 => value.signum(),
            _ => 0.0,
        }
    }
}

/// A window in which a variable of one series is pushed.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Push {
    /// The variable.
    pub(crate) variable: usize,
    /// Number of its amount.
    pub(crate) amount: usize,
    /// First time of the window.
    #[serde(with = "open_time")]
    pub(crate) from: f64,
    /// Last time of the window.
    #[serde(with = "open_time")]
    pub(crate) to: f64,
}

/// Times of which JSON has no number are those of windows that are open.
mod open_time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
    pub(super) fn serialize<S: Serializer>(time: &f64, to: S) -> Result<S::Ok, S::Error> {
        // With every bit, since what is read back must be the same data.
        format!("{time:?}").serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What was done to one series.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Marks {
    /// What is known of each cell, `[time, variable]`: [`LEFT_OUT`] and [`SET`].
    pub(crate) cells: Vec<u8>,
    /// Pushes, ordered by variable and time.
    pub(crate) pushes: Vec<Push>,
}

/// The step into this cell says nothing of its causes.
pub(crate) const LEFT_OUT: u8 = 1;
/// The value of this cell was set, and is known exactly.
pub(crate) const SET: u8 = 2;

impl Experiment {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.interventions.is_empty()
    }

    /// The data with what was done to them: values that were set take the place of those measured, and holes of inputs are
    /// filled. The order of lines decides nothing.
    pub fn apply(&self, data: &SeriesSet) -> Result<SeriesSet, ExperimentError> {
        if self.is_empty() {
            return Ok(data.clone());
        }
        let inputs = self.input_numbers(data)?;
        let windows = self.windows(data, &inputs)?;
        let amounts = amounts(&windows);
        let mut series = Vec::with_capacity(data.n_series());
        for (idx, one) in data.series().iter().enumerate() {
            let mut work = Handled::new(one);
            for &input in &inputs {
                let name = || data.variables()[input].clone();
                work.set_input(input, self.hold).map_err(|()| ExperimentError {
                    row: None,
                    problem: ExperimentProblem::EmptyInput {
                        name: name(),
                        series: one.name().to_owned(),
                    },
                })?;
            }
            for window in windows.iter().filter(|window| window.series == idx) {
                work.add(window, &amounts).map_err(|()| ExperimentError {
                    row: Some(window.row),
                    problem: ExperimentProblem::NothingHeld {
                        variable: data.variables()[window.amount.variable].clone(),
                        series: one.name().to_owned(),
                    },
                })?;
            }
            series.push(work.finish(one));
        }
        Ok(data.handled(series, inputs, self.hold, amounts))
    }

    fn input_numbers(&self, data: &SeriesSet) -> Result<Vec<usize>, ExperimentError> {
        let known = data.variables();
        let number = |name: &String| {
            known.iter().position(|variable| variable == name).ok_or_else(|| ExperimentError {
                row: None,
                problem: ExperimentProblem::UnknownInput {
                    name: name.clone(),
                    known: known.to_vec(),
                },
            })
        };
        let mut numbers = self.inputs.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() == known.len() {
            return Err(ExperimentError { row: None, problem: ExperimentProblem::OnlyInputs });
        }
        Ok(numbers)
    }

    /// Every window of every series, in an order that the lines of the table do not decide.
    fn windows(&self, data: &SeriesSet, inputs: &[usize]) -> Result<Vec<Window>, ExperimentError> {
        let mut windows = Vec::new();
        for (row, line) in self.interventions.iter().enumerate() {
            let found = windows_of(line, row, data, inputs)
                .map_err(|problem| ExperimentError { row: Some(row), problem })?;
            windows.extend(found);
        }
        windows.sort_by(Window::compare);
        for pair in windows.windows(2) {
            pair[0].refuse_other(&pair[1], data)?;
        }
        windows.dedup_by(|b, a| a.is_same(b));
        Ok(windows)
    }
}

/// One intervention on one variable of one series.
#[derive(Debug, Clone, Copy)]
struct Window {
    series: usize,
    amount: Amount,
    from: f64,
    to: f64,
    row: usize,
}

impl Window {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let key = |one: &Self| (one.series, one.amount.variable);
        (key(self).cmp(&key(other)))
            .then(self.from.total_cmp(&other.from))
            .then(self.to.total_cmp(&other.to))
            .then(self.amount.kind.cmp(&other.amount.kind))
            .then(value_key(&self.amount).total_cmp(&value_key(&other.amount)))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// Two windows of one variable may touch, or say the same.
    fn refuse_other(&self, next: &Self, data: &SeriesSet) -> Result<(), ExperimentError> {
        let same_place = self.series == next.series && self.amount.variable == next.amount.variable;
        if !same_place || next.from >= self.to || self.is_same(next) {
            return Ok(());
        }
        let (first, last) = if self.row < next.row { (self, next) } else { (next, self) };
        Err(ExperimentError {
            row: Some(last.row),
            problem: ExperimentProblem::Contradiction {
                variable: data.variables()[last.amount.variable].clone(),
                kind: match last.amount.kind {
                    InterventionKind::Knockout => "knocked out",
                    InterventionKind::Hold => "held",
                    InterventionKind::Knockdown => "knocked down",
                    InterventionKind::Overexpress => "overexpressed",
                    InterventionKind::Shift => "shifted",
                },
                series: data.series()[last.series].name().to_owned(),
                from: last.from,
                to: last.to,
                other: first.row + 1,
            },
        })
    }
}

fn value_key(amount: &Amount) -> f64 {
    amount.value.unwrap_or(f64::NEG_INFINITY)
}

/// The windows of one line, one for each series it is about.
fn windows_of(
    line: &InterventionRow,
    row: usize,
    data: &SeriesSet,
    inputs: &[usize],
) -> Result<Vec<Window>, ExperimentProblem> {
    let variable = data.variables().iter().position(|name| *name == line.variable);
    let unknown = || ExperimentProblem::UnknownVariable { name: line.variable.clone() };
    let variable = variable.ok_or_else(unknown)?;
    if inputs.contains(&variable) {
        return Err(ExperimentProblem::OnInput { name: line.variable.clone() });
    }
    check_value(line)?;
    let (from, to) = (line.start(), line.end());
    if to < from {
        return Err(ExperimentProblem::EndsBeforeStart { from, to });
    }
    let named =
        |series: &&ObservedSeries| line.series == ALL_SERIES || line.series == series.name();
    let meant: Vec<&ObservedSeries> = data.series().iter().filter(named).collect();
    if meant.is_empty() {
        return Err(ExperimentProblem::UnknownSeries { name: line.series.clone() });
    }
    let ends =
        |series: &ObservedSeries| (series.times()[0], series.times()[series.times().len() - 1]);
    let first = meant.iter().map(|series| ends(series).0).fold(f64::INFINITY, f64::min);
    let last = meant.iter().map(|series| ends(series).1).fold(f64::NEG_INFINITY, f64::max);
    if from > last || to < first {
        let series = line.series.clone();
        return Err(ExperimentProblem::OutsideData { from, to, series, first, last });
    }
    let amount = Amount { variable, kind: line.kind, value: line.value };
    let windows = data.series().iter().enumerate().filter(|(_, series)| named(series));
    let inside = windows.filter(|(_, series)| from <= ends(series).1 && to >= ends(series).0);
    Ok(inside.map(|(series, _)| Window { series, amount, from, to, row }).collect())
}

fn check_value(line: &InterventionRow) -> Result<(), ExperimentProblem> {
    let Some(found) = line.value else { return Ok(()) };
    let kind = line.kind.name();
    let needed = match line.kind {
        _ if !found.is_finite() => "a finite value",
        InterventionKind::Knockdown | InterventionKind::Overexpress if found < 0.0 => {
            "a strength that is not negative"
        }
        _ => return Ok(()),
    };
    Err(ExperimentProblem::BadValue { kind, needed, found })
}

/// What is learned of pushes, each variable, kind and value once.
fn amounts(windows: &[Window]) -> Vec<Amount> {
    let pushes = windows.iter().filter(|window| !window.amount.kind.sets());
    let mut all: Vec<Amount> = pushes.map(|window| window.amount).collect();
    let key = |one: &Amount| (one.variable, one.kind);
    all.sort_by(|a, b| key(a).cmp(&key(b)).then(value_key(a).total_cmp(&value_key(b))));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> SeriesSet {
        let series = ["a", "b"].map(|name| {
            let times = vec![0.0, 1.0, 2.0, 4.0];
            let values = vec![1.0, 5.0, 2.0, f64::NAN, 3.0, 7.0, 4.0, 8.0];
            ObservedSeries::new(name, 2, times, values).unwrap()
        });
        SeriesSet::new(vec!["x".into(), "y".into()], series.to_vec()).unwrap()
    }

    fn line(series: &str, variable: &str, kind: InterventionKind) -> InterventionRow {
        let (series, variable) = (series.to_owned(), variable.to_owned());
        InterventionRow { series, variable, kind, value: None, from: None, to: None }
    }

    fn window(line: InterventionRow, from: f64, to: f64) -> InterventionRow {
        InterventionRow { from: Some(from), to: Some(to), ..line }
    }

    fn applied(interventions: Vec<InterventionRow>) -> Result<SeriesSet, ExperimentError> {
        Experiment { interventions, ..Experiment::default() }.apply(&data())
    }

    fn marks(set: &SeriesSet, series: usize, variable: usize) -> Vec<u8> {
        let marks = set.series()[series].marks().unwrap();
        marks.cells.iter().skip(variable).step_by(2).copied().collect()
    }

    #[test]
    fn a_window_sets_its_rows_and_leaves_out_every_step_that_it_touches() {
        let knocked = window(line("a", "y", InterventionKind::Knockout), 0.5, 2.5);
        let set = applied(vec![knocked]).unwrap();
        // Rows 1 and 2 are inside; the step from 2 to 4 begins inside.
        assert_eq!(marks(&set, 0, 1), [0, LEFT_OUT | SET, LEFT_OUT | SET, LEFT_OUT]);
        assert_eq!(marks(&set, 0, 0), [0; 4]);
        assert!(set.series()[1].marks().is_none());
        let own: Vec<f64> = set.series()[0].values().iter().skip(1).step_by(2).copied().collect();
        assert_eq!(own, [5.0, 0.0, 0.0, 8.0]);
    }

    #[test]
    fn a_hold_without_a_value_keeps_what_was_measured_and_the_first_row_alone_is_no_step() {
        let held = window(line("a", "y", InterventionKind::Hold), 0.0, 2.0);
        let set = applied(vec![held.clone()]).unwrap();
        assert_eq!(set.series()[0].value(1, 1), Some(5.0));
        let idle = applied(vec![window(held, 0.0, 0.0)]).unwrap();
        assert!(idle.series()[0].marks().is_none());
    }

    #[test]
    fn inputs_are_known_at_all_times() {
        let experiment = Experiment {
            inputs: vec!["y".into()],
            hold: InputHold::Linear,
            ..Experiment::default()
        };
        let set = experiment.apply(&data()).unwrap();
        assert_eq!((set.inputs(), set.series()[0].value(1, 1)), (&[1][..], Some(6.0)));
        let held = Experiment { hold: InputHold::Previous, ..experiment }.apply(&data()).unwrap();
        assert_eq!(held.series()[0].value(1, 1), Some(5.0));
    }

    #[test]
    fn amounts_belong_to_variable_kind_and_value_whatever_the_order_of_lines() {
        let down = |series: &str, value: f64| InterventionRow {
            value: Some(value),
            ..line(series, "x", InterventionKind::Knockdown)
        };
        let lines = vec![down("a", 0.5), down("b", 0.9)];
        let set = applied(lines.clone()).unwrap();
        assert_eq!(set.amounts().len(), 2);
        let turned = applied(lines.into_iter().rev().collect()).unwrap();
        assert_eq!(set.amounts(), turned.amounts());
        assert_eq!(set.series()[0].marks(), turned.series()[0].marks());
        assert_eq!(applied(vec![down("*", 0.5)]).unwrap().amounts().len(), 1);
        assert_eq!(set.amounts()[0].sign(), -1.0);
    }

    #[test]
    fn what_was_done_comes_back_from_a_copy() {
        let lines = vec![
            line("a", "y", InterventionKind::Knockout),
            window(line("b", "x", InterventionKind::Shift), 0.5, 3.0),
        ];
        let set = applied(lines).unwrap();
        let text = serde_json::to_string(&set.done().unwrap()).unwrap();
        let done: Done = serde_json::from_str(&text).unwrap();
        let values = set.map_series(|series| series.clone().with_marks(None));
        assert_eq!(values.with_done(&done).unwrap().done(), set.done());
        assert!(data().done().is_none() && data().subset(&[0]).unwrap().with_done(&done).is_none());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        use InterventionKind::{Hold, Knockdown, Knockout};
        let refused = |lines| applied(lines).unwrap_err();
        let outside = refused(vec![window(line("a", "x", Knockout), 5.0, 9.0)]);
        assert_eq!(
            outside.to_string(),
            "the window 5 to 9 lies outside the data of the series `a`, which go from 0 to 4"
        );
        assert_eq!(refused(vec![line("a", "z", Hold)]).to_string(), "there is no variable `z`");
        assert_eq!(refused(vec![line("c", "x", Hold)]).to_string(), "there is no series `c`");
        let backwards = refused(vec![window(line("a", "x", Hold), 2.0, 1.0)]);
        assert_eq!(backwards.to_string(), "the window ends at 1, before it begins at 2");
        let twice = refused(vec![
            window(line("a", "x", Knockout), 0.0, 2.0),
            window(line("*", "x", Knockdown), 1.0, 4.0),
        ]);
        assert_eq!(twice.row, Some(1));
        assert_eq!(
            twice.to_string(),
            "`x` is knocked down in the series `a` from 1 to 4, where line 1 of the table says something else"
        );
        let weak = InterventionRow { value: Some(-1.0), ..line("a", "x", Knockdown) };
        assert_eq!(
            refused(vec![weak]).to_string(),
            "a knockdown needs a strength that is not negative, found -1"
        );
        let both = Experiment {
            inputs: vec!["x".into()],
            interventions: vec![line("a", "x", Hold)],
            ..Experiment::default()
        };
        assert!(both.apply(&data()).unwrap_err().to_string().contains("`x` is an input"));
        let touching = vec![
            window(line("a", "x", Knockout), 0.0, 2.0),
            window(line("a", "x", Knockdown), 2.0, 4.0),
        ];
        assert!(applied(touching).is_ok());
    }
}
