//! dynGENIE3: random forests that predict how fast each variable changes.
//!
//! Huynh-Thu and Geurts (2018), doi:10.1038/s41598-018-21715-0.

mod decay;
mod tree;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::{EdgeScores, SeriesSet};
use driftgraph_data::record::{MethodRequest, TrainingRecord};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::FitPlan;
use crate::constants::Constants;
use crate::levels::{INTERPOLATES, Step, bytes_of_copies, filled_levels, steps};
use crate::method::{Learned, Method, MethodError, MethodTask, Takes};
use crate::plan::{PlanError, from_value};
use crate::regression::MIN_STEPS;
use crate::settings::{checked_by_table, row};
use tree::{Forest, Sources, Splits, Tree};

const NAME: &str = "dyngenie3";
const DECAY: Range = Range::Mixed { words: &["auto"], or: "a number of at least 0" };
const CANDIDATES: Range =
    Range::Mixed { words: &["sqrt", "all"], or: "a whole number of at least 1" };

/// Random forests of rates of change on levels.
pub(crate) struct DynGenie3;

#[rustfmt::skip]
const SETTINGS: [Setting; 5] = [
    row("trees", "1000", Range::Number { min: 1.0, max: 1e7, above: false }, "trees for each target"),
    row("candidates", "sqrt", CANDIDATES, "sources that are looked at for each split"),
    row("splits", "random-forest", Range::Choice(&["random-forest", "extra-trees"]), "best thresholds on samples drawn with replacement, or random ones on all samples"),
    row("decay", "auto", DECAY, "rate at which variables decay, per unit of time; `auto` takes the fastest decay seen in each variable"),
    row("seed", "0", Range::Any, "decides samples and splits"),
];

impl Method for DynGenie3 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "dynGENIE3: how much of each variable's rate of change random forests explain by each level, linear or not"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("DynGENIE3")
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn takes(&self) -> Takes {
        Takes { missing_cells: INTERPOLATES, prior_edges: false, ..Takes::ALL }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn short_trial(&self) -> Value {
        json!({"trees": 10})
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        let settings = checked_by_table(NAME, &SETTINGS, Map::new(), &asked.settings)?;
        from_value::<DynGenie3Settings>(Value::Object(settings.clone()), "the settings")?
            .check()?;
        Ok(settings)
    }

    /// Levels, standard levels, both ends of steps with their columns, ranks and orders, rates; a vector of each tree.
    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let settings: DynGenie3Settings = plan.typed().ok()?;
        let trees = settings.trees * (data.n_variables() * size_of::<f64>()) as u64;
        let growing = rayon::current_num_threads() * data.n_rows() * 4 * size_of::<f64>();
        let steps = data.n_rows() * size_of::<Step<'_>>();
        Some(bytes_of_copies(data, 6) + trees + (growing + steps) as u64)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: DynGenie3Settings = task.plan.typed()?;
        let scores = scores(task, &settings)?;
        let mut learned = Learned::scores(&scores);
        learned.training =
            TrainingRecord { seed: Some(settings.seed), ..TrainingRecord::default() };
        // No tree splits on a constant, and none has anything to explain in one: their scores are 0 by themselves.
        Constants::of(task.data).tell(&mut learned);
        Ok(learned)
    }
}

#[derive(Debug, Clone, serde::Deserialize)]
struct DynGenie3Settings {
    trees: u64,
    candidates: WordOrNumber,
    splits: Splits,
    decay: WordOrNumber,
    seed: u64,
}

/// A number, or a word that stands for a rule.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(untagged)]
enum WordOrNumber {
    Number(f64),
    Word(String),
}

impl DynGenie3Settings {
    fn check(&self) -> Result<(), PlanError> {
        let candidates = match &self.candidates {
            WordOrNumber::Number(count) => *count >= 1.0 && count.fract() == 0.0,
            WordOrNumber::Word(word) => ["sqrt", "all"].contains(&word.as_str()),
        };
        let decay = match &self.decay {
            WordOrNumber::Number(rate) => *rate >= 0.0 && rate.is_finite(),
            WordOrNumber::Word(word) => word == "auto",
        };
        let settings = [
            ("candidates", candidates, CANDIDATES, &self.candidates),
            ("decay", decay, DECAY, &self.decay),
        ];
        match settings.into_iter().find(|(_, is_right, ..)| !is_right) {
            None => Ok(()),
            Some((name, _, range, found)) => Err(PlanError::OutOfRange {
                name: name.to_owned(),
                range: range.to_string(),
                found: match found {
                    WordOrNumber::Number(number) => number.to_string(),
                    WordOrNumber::Word(word) => format!("`{word}`"),
                },
            }),
        }
    }

    /// Sources looked at for each split, of so many.
    fn n_candidates(&self, n_sources: usize) -> usize {
        match &self.candidates {
            WordOrNumber::Number(count) => (*count as usize).min(n_sources),
            WordOrNumber::Word(word) if word == "sqrt" => n_sources.isqrt().max(1),
            WordOrNumber::Word(_) => n_sources,
        }
    }

    /// The rate at which a variable decays.
    fn decay_of(&self, data: &SeriesSet, variable: usize) -> f64 {
        match self.decay {
            WordOrNumber::Number(rate) => rate,
            WordOrNumber::Word(_) => decay::fastest_decay(data, variable),
        }
    }
}

/// Shares of the variance of each target that splits on each source explain.
fn scores(task: &MethodTask<'_>, settings: &DynGenie3Settings) -> Result<EdgeScores, MethodError> {
    let data = task.data;
    let levels = filled_levels(data);
    let steps = steps(&levels);
    if steps.len() < MIN_STEPS {
        return Err(MethodError::TooFewSteps { found: steps.len(), needed: MIN_STEPS });
    }
    let n = data.n_variables();
    let columns = (0..n).map(|source| steps.iter().map(|step| step.before[source]).collect());
    let sources = Sources::new(columns.collect());
    let rates = (0..n).map(|target| {
        let decay = settings.decay_of(data, target);
        let rate = steps.iter().map(|step| {
            (step.after[target] - step.before[target]) / step.duration + decay * step.before[target]
        });
        standardised(rate.collect())
    });
    let rates: Vec<Vec<f64>> = rates.collect::<Result<_, _>>()?;
    let mut matrix = vec![0.0; n * n];
    for (target, rate) in rates.iter().enumerate() {
        let forest = Forest {
            sources: &sources,
            target: rate,
            n_candidates: settings.n_candidates(n),
            splits: settings.splits,
        };
        let shares = importance(forest, target, settings, task.progress);
        for (source, share) in shares.ok_or(MethodError::Stopped)?.into_iter().enumerate() {
            matrix[source * n + target] = share;
        }
    }
    Ok(EdgeScores::from_matrix(n, matrix)?)
}

/// Mean over all trees, summed in the order of the trees, whoever grew them; `None` where it is to stop.
fn importance(
    forest: Forest<'_>,
    target: usize,
    settings: &DynGenie3Settings,
    progress: &dyn Progress,
) -> Option<Vec<f64>> {
    let of_tree = |number: u64| {
        if progress.is_interrupted() {
            return None;
        }
        let stream = target as u64 * settings.trees + number;
        let random = RandomStream::new(settings.seed, Purpose::Resampling, stream);
        Some(Tree::new(forest, random).importance())
    };
    let all: Option<Vec<Vec<f64>>> = (0..settings.trees).into_par_iter().map(of_tree).collect();
    let mut mean = vec![0.0; forest.sources.n_sources()];
    for tree in &all? {
        mean.iter_mut().zip(tree).for_each(|(sum, value)| *sum += value / settings.trees as f64);
    }
    Some(mean)
}

/// Mean 0 and variance 1, or all zeros without variation.
fn standardised(mut values: Vec<f64>) -> Result<Vec<f64>, MethodError> {
    let n = values.len() as f64;
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if !largest.is_finite() {
        return Err(MethodError::TimesTooUneven);
    }
    if largest > 0.0 {
        // Squares of what is at most 1 cannot overflow.
        values.iter_mut().for_each(|value| *value /= largest);
    }
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    let scale = if deviation > 1e-12 { 1.0 / deviation } else { 0.0 };
    Ok(values.iter().map(|value| (value - mean) * scale).collect())
}

#[cfg(test)]
mod tests;
