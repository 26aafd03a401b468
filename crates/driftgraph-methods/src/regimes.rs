//! A linear process that switches between regimes: hidden ones, those of a column, or conditions of whole series.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{LearnedEdge, Sign};
use driftgraph_core::train::linear::regimes::{
    EdgeInRegime, MAX_REGIMES, OverSingle, RegimeEdge, RegimeError, RegimeFit, RegimeOutcome,
    RegimeRequest, SingleKind, Trial, fit_regimes,
};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::record::{MethodRequest, TrainingRecord};
use driftgraph_data::regimes::{
    DifferenceRow, RegimeEdgeRow, RegimeKind, RegimeOverSingle, RegimeProcessRecord, RegimeSeries,
    RegimeSwitch, RegimeTrial, RegimesRecord,
};
use driftgraph_text::count;
use serde_json::{Map, Value};

use crate::FitPlan;
use crate::beside_bridge::{self, bytes_beside};
use crate::bridge::BridgePlan;
use crate::doubts::{aloud, doubts};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::plan::PlanError;
use crate::settings::row;

/// The name of the method, and of the setting that chooses it.
const NAME: &str = "regimes";
/// What a value begins with that names a column.
const COLUMN: &str = "column:";
/// Times of a series that a record keeps at most, and of all series together: beyond, every second, fourth, ... goes.
const MOST_TIMES: usize = 4_000;
/// An edge is more likely there than not.
const PRESENT: f64 = 0.5;
/// Rows that a regime lasts on average, below which it is no state that something is in.
const SHORT: f64 = 5.0;

/// Linear dynamics that differ between regimes, with graphs that share a prior.
pub(crate) struct Regimes;

const OWN: Setting = row(
    NAME,
    "auto",
    Range::Mixed {
        words: &["auto"],
        or: "a number, `column:NAME`, or a table of conditions with their series such as { a = [\"s1\"], b = [\"s2\"] }",
    },
    "how many regimes the series switch between, or which are known",
);

impl Method for Regimes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "linear dynamics that switch between regimes or differ between conditions, with the probability that an edge differs"
    }

    fn settings(&self) -> Vec<Setting> {
        beside_bridge::settings(OWN)
    }

    fn takes(&self) -> Takes {
        Takes { experiments: Handling::Full, ..Takes::ALL }
    }

    fn is_fast(&self) -> bool {
        false
    }

    /// A plain fit, and beside it states, laws of regimes and sums of every regime in both chains.
    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let (n_chains, k, d) = (2, MAX_REGIMES, data.n_variables());
        let sums = k * d * (d + 1) * 12;
        bytes_beside(plan, data, |shape| n_chains * (shape.n_points * (3 * d + 4 * k) + sums))
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        WantedRegimes::new(asked)?;
        beside_bridge::in_effect(asked, NAME, value_of(asked))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let wanted = WantedRegimes::new(task.plan.asked())?;
        let plain = beside_bridge::plain(task.plan.asked(), NAME);
        let bridge = BridgePlan::new(&plain)?;
        let mut knowledge = bridge.knowledge(task.data)?;
        let found = wanted.find(task.data)?;
        if let Some(column) = found.column {
            knowledge.leave_out(column);
        }
        let settings = bridge.base().clone().check().map_err(PlanError::from)?;
        let outcome = fit_regimes(task.data, &knowledge, &settings, &found.request, task.progress);
        match outcome.map_err(|error| refusal(error, &found.names))? {
            RegimeOutcome::One(choice) => {
                // One regime is a plain fit, to the byte.
                let plan = FitPlan::new(plain)?;
                let mut learned = plan.method().learn(&MethodTask { plan: &plan, ..*task })?;
                learned.settings = None;
                let trials = choice.map(|choice| choice.trials).unwrap_or_default();
                learned.remarks.splice(0..0, trials.iter().map(trial_words));
                learned
                    .remarks
                    .insert(trials.len(), "one regime: this is the plain fit".to_owned());
                Ok(learned)
            }
            RegimeOutcome::Several(fit) => Ok(learned(&fit, &found, task.data)),
        }
    }
}

fn value_of(asked: &MethodRequest) -> Value {
    asked.settings.get(NAME).cloned().unwrap_or_else(|| OWN.default.into())
}

/// Which regimes were asked for.
enum WantedRegimes {
    Auto,
    Number(usize),
    Column(String),
    /// Conditions with the names of their series.
    Conditions(Vec<(String, Vec<String>)>),
}

impl WantedRegimes {
    fn new(asked: &MethodRequest) -> Result<Self, PlanError> {
        beside_bridge::refuse_others(asked, NAME)?;
        let value = value_of(asked);
        let wrong = || {
            PlanError::OutOfRange {
            name: NAME.to_owned(),
            range: "auto, a number from 1 to 6, `column:NAME`, or a table of at least two conditions with their series"
                .to_owned(),
            found: crate::settings::text_of(&value),
        }
        };
        match &value {
            Value::String(word) if word == "auto" => Ok(Self::Auto),
            Value::String(word) => match word.strip_prefix(COLUMN) {
                Some(column) if !column.is_empty() => Ok(Self::Column(column.to_owned())),
                _ => Err(wrong()),
            },
            Value::Number(number) => match number.as_u64() {
                Some(n @ 1..=6) => Ok(Self::Number(n as usize)),
                _ => Err(wrong()),
            },
            Value::Object(table) if (2..=6).contains(&table.len()) => {
                let names = |value: &Value| -> Option<Vec<String>> {
                    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
                };
                let row = |(name, series): (&String, &Value)| Some((name.clone(), names(series)?));
                let all: Option<Vec<_>> = table.iter().map(row).collect();
                all.map(Self::Conditions).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }

    /// What that is in these data.
    fn find(&self, data: &SeriesSet) -> Result<KnownRegimes, MethodError> {
        let hidden = |request| KnownRegimes {
            request,
            names: (1..=6).map(|number| format!("regime {number}")).collect(),
            kind: RegimeKind::Hidden,
            column: None,
        };
        match self {
            Self::Auto => Ok(hidden(RegimeRequest::Auto)),
            Self::Number(n) => Ok(hidden(RegimeRequest::Number(*n))),
            Self::Column(column) => of_column(column, data),
            Self::Conditions(conditions) => of_conditions(conditions, data),
        }
    }
}

/// Regimes in terms of the data.
struct KnownRegimes {
    request: RegimeRequest,
    names: Vec<String>,
    kind: RegimeKind,
    /// The variable that says which regime holds, and is no part of the process.
    column: Option<usize>,
}

fn unusable(reason: String) -> MethodError {
    MethodError::Unusable { method: NAME, reason }
}

/// The values of a column are the regimes, in the order in which they come.
fn of_column(column: &str, data: &SeriesSet) -> Result<KnownRegimes, MethodError> {
    let position = data.variables().iter().position(|name| name == column).ok_or_else(|| {
        let names: Vec<String> = data.variables().iter().map(|name| format!("`{name}`")).collect();
        unusable(format!("there is no column `{column}`; there are {}", names.join(", ")))
    })?;
    let mut values: Vec<f64> = Vec::new();
    let mut labels = Vec::new();
    for series in data.series() {
        let mut own = Vec::new();
        for row in 0..series.n_observations() {
            let value = series.value(row, position).ok_or_else(|| {
                let (name, time) = (series.name(), series.times()[row]);
                unusable(format!("`{column}` says nothing of series `{name}` at time {time}: the regime must be known in every row"))
            })?;
            let label = values.iter().position(|known| *known == value).unwrap_or_else(|| {
                values.push(value);
                values.len() - 1
            });
            own.push(label.min(255) as u8);
        }
        labels.push(own);
    }
    if !(2..=6).contains(&values.len()) {
        return Err(unusable(format!(
            "`{column}` has {}, and there must be 2 to 6 regimes",
            count(values.len(), "value", "values")
        )));
    }
    Ok(KnownRegimes {
        request: RegimeRequest::Known { labels, n: values.len() },
        names: (values.iter())
            .map(|value| match data.word(position, *value) {
                Some(word) => word.to_owned(),
                None => format!("{column} {value}"),
            })
            .collect(),
        kind: RegimeKind::Column,
        column: Some(position),
    })
}

/// Every series belongs to one condition.
fn of_conditions(
    conditions: &[(String, Vec<String>)],
    data: &SeriesSet,
) -> Result<KnownRegimes, MethodError> {
    let known = |name: &String| data.series().iter().any(|series| series.name() == name);
    for (condition, series) in conditions {
        if let Some(name) = series.iter().find(|name| !known(name)) {
            return Err(unusable(format!(
                "condition `{condition}` names the series `{name}`, which the data do not have"
            )));
        }
    }
    let label = |name: &str| {
        let with = conditions
            .iter()
            .enumerate()
            .filter(|(_, (_, series))| series.iter().any(|own| own == name));
        let with: Vec<usize> = with.map(|(at, _)| at).collect();
        match with[..] {
            [one] => Ok(one as u8),
            [] => Err(unusable(format!("series `{name}` is in none of the conditions"))),
            _ => Err(unusable(format!("series `{name}` is in more than one condition"))),
        }
    };
    let labels =
        data.series().iter().map(|series| Ok(vec![label(series.name())?; series.n_observations()]));
    Ok(KnownRegimes {
        request: RegimeRequest::Known {
            labels: labels.collect::<Result<_, MethodError>>()?,
            n: conditions.len(),
        },
        names: conditions.iter().map(|(name, _)| name.clone()).collect(),
        kind: RegimeKind::Conditions,
        column: None,
    })
}

fn refusal(error: RegimeError, names: &[String]) -> MethodError {
    match error {
        RegimeError::Bridge(error) => error.into(),
        RegimeError::Stopped => MethodError::Stopped,
        RegimeError::EmptyRegime { regime, found } => unusable(format!(
            "`{}` has {} between rows, at least 3 are needed",
            names[regime - 1],
            count(found, "step", "steps")
        )),
        other => unusable(other.to_string()),
    }
}

fn trial_words(trial: &Trial) -> String {
    let words = format!(
        "tried {} regimes: {:+.2} nats per held-out block of time (standard error {:.2})",
        trial.n_regimes, trial.gain, trial.standard_error
    );
    match &trial.over_single {
        Some(over) if trial.is_clear_of_fewer() && !over.is_clear => {
            format!("{words}, but {}", over_single_words(over))
        }
        _ => words,
    }
}

fn single_words(kind: SingleKind) -> &'static str {
    match kind {
        SingleKind::HeavyTails => "one process with heavy tails",
        SingleKind::Products => "one process with products of variables",
    }
}

fn over_single_words(over: &OverSingle) -> String {
    format!(
        "{:+.2} (standard error {:.2}) over {} for all time",
        over.gain,
        over.standard_error,
        single_words(over.kind)
    )
}

/// What speaks against regimes that were found in the data.
fn doubts_of_hidden(fit: &RegimeFit, data: &SeriesSet) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(over) = fit.over_single.as_ref().filter(|over| !over.is_clear) {
        doubts.push(format!(
            "{} for all time predicts held-out blocks of time no worse than {} regimes do ({:+.2} nats per block, standard error \
             {:.2}): what changes may not be the dynamics",
            single_words(over.kind),
            fit.n_regimes,
            over.gain,
            over.standard_error
        ));
    }
    let n_switches = fit.switches.len() as f64;
    let n_steps = data.n_rows().saturating_sub(data.n_series()) as f64;
    if n_steps < SHORT * n_switches {
        doubts.push(format!(
            "regimes last {:.1} rows on average: so short ones are more often wild rows, or a process that is not linear, than \
             states that a system is in",
            n_steps / n_switches
        ));
    }
    doubts
}

fn learned(fit: &RegimeFit, found: &KnownRegimes, data: &SeriesSet) -> Learned {
    let record = record(fit, found, data);
    let mut remarks: Vec<String> =
        fit.choice.iter().flat_map(|choice| choice.trials.iter().map(trial_words)).collect();
    let n = record.names.len();
    remarks.push(match found.kind {
        RegimeKind::Hidden => format!(
            "{n} regimes, with {}; regimes.csv says which holds when",
            count(
                record.switches.len(),
                "change from one to another",
                "changes from one to another"
            )
        ),
        RegimeKind::Column => format!("{n} regimes of a column"),
        RegimeKind::Conditions => format!("{n} conditions"),
    });
    let edges = edges(fit);
    let mut all_doubts = doubts(&fit.adequacy, &edges, data.n_variables());
    if found.kind == RegimeKind::Hidden {
        all_doubts.splice(0..0, doubts_of_hidden(fit, data));
    }
    remarks.push(format!(
        "{} between different variables with a probability of at least 0.5; differences.csv has all",
        count(record.n_different(), "difference", "differences")
    ));
    remarks.extend(pushed(data));
    remarks.extend(aloud(&all_doubts));
    let training = TrainingRecord {
        converged: Some(fit.is_complete),
        adequacy: Some(fit.adequacy.clone()),
        doubts: all_doubts,
        regimes: Some(Box::new(record)),
        left_out: found
            .column
            .map(|at| {
                format!(
                    "`{}` says which regime holds: its edges are not learned, and given as 0",
                    data.variables()[at]
                )
            })
            .into_iter()
            .collect(),
        ..TrainingRecord::default()
    };
    Learned { training, remarks, tells_changes: true, ..Learned::edges(edges) }
}

/// What is done with windows in which variables were pushed.
fn pushed(data: &SeriesSet) -> Option<String> {
    (!data.amounts().is_empty()).then(|| {
        "interventions: steps in which a variable is pushed are left out for it: by how much is not learned beside regimes"
            .to_owned()
    })
}

/// Edges that are in any regime; effects are means over the regimes they are in.
fn edges(fit: &RegimeFit) -> Vec<LearnedEdge> {
    let lowest = fit
        .edges
        .iter()
        .map(|edge| edge.log_odds)
        .filter(|odds| odds.is_finite())
        .fold(0.0, f64::min);
    let mut all: Vec<LearnedEdge> = (fit.edges.iter())
        .map(|edge| {
            let total: f64 = edge.regimes.iter().map(|one| one.probability).sum();
            let mean = |of: &dyn Fn(&EdgeInRegime) -> f64| {
                let sum: f64 = edge.regimes.iter().map(|one| one.probability * of(one)).sum();
                if total > 0.0 { sum / total } else { 0.0 }
            };
            let there = || edge.regimes.iter().filter(|one| one.probability >= PRESENT);
            let has = |positive: bool| there().any(|one| (one.effect > 0.0) == positive);
            let sign = match (has(true), has(false)) {
                (true, true) => Sign::Mixed,
                (true, false) => Sign::Positive,
                (false, false) if mean(&|one| one.effect) > 0.0 => Sign::Positive,
                (false, _) => Sign::Negative,
            };
            LearnedEdge {
                source: edge.source,
                target: edge.target,
                probability: Some(edge.probability),
                probability_lagged: Some(edge.probability),
                score: if edge.log_odds.is_finite() { edge.log_odds } else { lowest - 1.0 },
                sign: Some(sign),
                effect: Some(mean(&|one| one.effect)),
                strength: Some(mean(&|one| one.strength)),
                ..LearnedEdge::default()
            }
        })
        .collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all
}

fn record(fit: &RegimeFit, found: &KnownRegimes, data: &SeriesSet) -> RegimesRecord {
    let names = found.names[..fit.n_regimes].to_vec();
    let name = |series: usize| data.series()[series].name().to_owned();
    let between = |edge: &&RegimeEdge| edge.source != edge.target;
    let expected = |regime: usize| {
        fit.edges.iter().filter(between).map(|edge| edge.regimes[regime].probability).sum()
    };
    // The column of regimes has no edges, and nothing leads to an input.
    let may_be = |edge: &RegimeEdge| {
        [edge.source, edge.target].iter().all(|end| Some(*end) != found.column)
            && !data.inputs().contains(&edge.target)
    };
    let n_times: usize = fit.series.iter().map(|one| one.times.len()).sum();
    let every = n_times.div_ceil(MOST_TIMES).next_power_of_two();
    RegimesRecord {
        expected_edges: (0..fit.n_regimes).map(expected).collect(),
        processes: (fit.processes.iter())
            .map(|one| RegimeProcessRecord {
                offsets: one.offsets.clone(),
                diffusions: one.diffusions.clone(),
            })
            .collect(),
        names,
        kind: found.kind,
        stay: fit.stay,
        trials: (fit.choice.iter().flat_map(|choice| &choice.trials))
            .map(|trial| RegimeTrial {
                regimes: trial.n_regimes,
                gain: trial.gain,
                standard_error: trial.standard_error,
                over_single: trial.over_single.as_ref().map(over_single),
            })
            .collect(),
        switches: (fit.switches.iter())
            .map(|one| RegimeSwitch {
                series: name(one.series),
                time: one.time,
                between: one.between,
                from: one.from,
                to: one.to,
            })
            .collect(),
        series: fit
            .series
            .iter()
            .map(|one| thinned(name(one.series), one, fit.n_regimes, every))
            .collect(),
        edges: regime_edges(fit, &may_be),
        differences: differences(fit, &may_be),
    }
}

fn over_single(over: &OverSingle) -> RegimeOverSingle {
    RegimeOverSingle {
        what: single_words(over.kind).to_owned(),
        gain: over.gain,
        standard_error: over.standard_error,
    }
}

/// Every so manyth time of a series, and its end.
fn thinned(
    name: String,
    series: &driftgraph_core::train::linear::regimes::SeriesRegimes,
    k: usize,
    every: usize,
) -> RegimeSeries {
    let n = series.times.len();
    let rows: Vec<usize> = (0..n).filter(|row| row % every == 0 || row + 1 == n).collect();
    let rounded = |p: f64| (p * 1e6).round() / 1e6;
    RegimeSeries {
        name,
        times: rows.iter().map(|&row| series.times[row]).collect(),
        probabilities: (rows.iter())
            .flat_map(|&row| {
                series.probabilities[row * k..(row + 1) * k].iter().map(|p| rounded(*p))
            })
            .collect(),
    }
}

fn regime_edges(fit: &RegimeFit, may_be: &dyn Fn(&RegimeEdge) -> bool) -> Vec<RegimeEdgeRow> {
    let mut all = Vec::new();
    for regime in 0..fit.n_regimes {
        let first = all.len();
        all.extend(fit.edges.iter().filter(|edge| may_be(edge)).map(|edge| {
            let own = &edge.regimes[regime];
            RegimeEdgeRow {
                regime,
                source: edge.source,
                target: edge.target,
                probability: own.probability,
                effect: own.effect,
                deviation: own.deviation,
                strength: own.strength,
            }
        }));
        all[first..].sort_by(|a: &RegimeEdgeRow, b| b.probability.total_cmp(&a.probability));
    }
    all
}

fn differences(fit: &RegimeFit, may_be: &dyn Fn(&RegimeEdge) -> bool) -> Vec<DifferenceRow> {
    let mut all: Vec<DifferenceRow> = Vec::new();
    for edge in fit.edges.iter().filter(|edge| may_be(edge)) {
        all.extend(edge.contrasts.iter().map(|one| DifferenceRow {
            source: edge.source,
            target: edge.target,
            regimes: [one.first, one.second],
            probability: one.probability,
            first_alone: one.first_alone,
            second_alone: one.second_alone,
            turned: one.turned,
            difference: one.difference,
            deviation: one.deviation,
            effects: [one.first, one.second].map(|regime| {
                let own = &edge.regimes[regime];
                if own.probability >= PRESENT { own.effect } else { 0.0 }
            }),
        }));
    }
    all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    all
}
