//! PCMCI and PCMCI+ with partial correlation: links that no other past explains away.
//!
//! Written from the papers named in the modules and from a description of what the reference computes (tigramite
//! 5.2), with golden numbers of it in `tests/golden`.

mod combinations;
#[cfg(test)]
mod golden;
mod lags;
mod momentary;
mod parents;
mod plus;
mod samples;
mod settings;
mod student;

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::Direction;
use driftgraph_core::train::settings::Setting;
use driftgraph_data::record::MethodRequest;
use serde_json::{Map, Value};

use crate::constants::Constants;
use crate::lagged_edges::{PairLinks, PairTests, lagged_edges};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::plan::{FitPlan, PlanError};
use crate::regular::{COUNTS_ROWS, regular_series};
use lags::{Links, Mark, Node, Pair, Results};
use samples::Samples;
use settings::{Common, PcmciSettings, PlusMethodSettings};

/// A correlation of two samples is always 1.
const MIN_SAMPLES: usize = 3;

const TAKES: Takes = Takes {
    several_series: Handling::Full,
    irregular_times: COUNTS_ROWS,
    missing_cells: Handling::Instead(
        "leaves the samples that lack a value out of each test that needs it, or holds the last value (`gaps`)",
    ),
    prior_edges: false,
    experiments: Handling::AS_VALUES,
};

/// Runge and others (2019): lagged parents first, then tests of all pairs given the parents of both.
pub(crate) struct Pcmci;

impl Method for Pcmci {
    fn name(&self) -> &'static str {
        "pcmci"
    }

    fn description(&self) -> &'static str {
        "PCMCI with partial correlation: linear links at each lag that the past of both variables does not explain"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("PCMCI")
    }

    fn settings(&self) -> Vec<Setting> {
        settings::pcmci_table()
    }

    fn presets(&self) -> Vec<Preset> {
        settings::pcmci_presets()
    }

    fn takes(&self) -> Takes {
        TAKES
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        settings::resolved::<PcmciSettings>(self, asked)
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(needed_bytes(&plan.typed::<PcmciSettings>().ok()?.common, data))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: PcmciSettings = task.plan.typed()?;
        let samples = checked_samples(self.name(), task, &settings.common)?;
        let found = settings.run(&samples, task.data.n_variables());
        stop_if_told(task)?;
        let mut learned = Learned::edges(edges(&found.results, &found.links, false)?);
        Constants::of(task.data).tell(&mut learned);
        learned.remarks.extend(few_samples(task.data, &samples, &settings.common));
        learned.remarks.push(count_remark(&found.links));
        Ok(learned)
    }
}

/// Runge (2020): links within a row too, oriented as far as the data tell.
pub(crate) struct PcmciPlus;

impl Method for PcmciPlus {
    fn name(&self) -> &'static str {
        "pcmci-plus"
    }

    fn description(&self) -> &'static str {
        "PCMCI+ with partial correlation: lagged links and links within a row, oriented where others decide it"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("PCMCIPlus")
    }

    fn settings(&self) -> Vec<Setting> {
        settings::plus_table()
    }

    fn presets(&self) -> Vec<Preset> {
        settings::plus_presets()
    }

    fn takes(&self) -> Takes {
        TAKES
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        settings::resolved::<PlusMethodSettings>(self, asked)
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(needed_bytes(&plan.typed::<PlusMethodSettings>().ok()?.common, data))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: PlusMethodSettings = task.plan.typed()?;
        let samples = checked_samples(self.name(), task, &settings.common)?;
        let (found, alpha) = settings.run(&samples, task.data.n_variables());
        stop_if_told(task)?;
        let mut learned =
            Learned::edges(edges(&found.results, &found.links, settings.directed_scores)?);
        Constants::of(task.data).tell(&mut learned);
        learned.remarks.extend(few_samples(task.data, &samples, &settings.common));
        if settings.common.level().is_none() {
            learned.remarks.push(format!(
                "chose the level {alpha}, whose model has the best criterion of Akaike"
            ));
        }
        if found.cut {
            let remark =
                "a variable has so many neighbours that only the smaller sets of them were tried";
            learned.remarks.push(remark.to_owned());
        }
        learned.remarks.push(count_remark(&found.links));
        if !found.ambiguous.is_empty() {
            learned.remarks.push(format!(
                "{} triples are open: whether their ends meet in a common effect depends on what is held fixed",
                found.ambiguous.len()
            ));
        }
        Ok(learned)
    }
}

/// Bytes of all samples at all lags, and of their correlations.
fn needed_bytes(settings: &Common, data: &SeriesSet) -> u64 {
    let n_columns = data.n_variables() * (2 * settings.tau_max + 1);
    (8 * n_columns * (2 * data.n_rows() + 2 * n_columns)) as u64
}

/// Tests that were left out say nothing.
fn stop_if_told(task: &MethodTask<'_>) -> Result<(), MethodError> {
    if task.progress.is_interrupted() { Err(MethodError::Stopped) } else { Ok(()) }
}

/// The samples of all tests, if there are enough.
fn checked_samples<'a>(
    method: &'static str,
    task: &MethodTask<'a>,
    settings: &Common,
) -> Result<Samples<'a>, MethodError> {
    let data = task.data;
    let series = regular_series(data, settings.gaps);
    let samples = Samples::new(&series, data.n_variables(), settings.tau_max, task.progress);
    if samples.n_samples() >= MIN_SAMPLES {
        return Ok(samples);
    }
    let reason = format!(
        "with `tau_max` {} a sample needs {} rows before it, and {} of {} rows have them; \
         at least {MIN_SAMPLES} must",
        settings.tau_max,
        2 * settings.tau_max,
        samples.n_samples(),
        data.n_rows(),
    );
    Err(MethodError::Unusable { method, reason })
}

/// A warning where samples are too few for tests given all that may be a parent.
fn few_samples(data: &SeriesSet, samples: &Samples, settings: &Common) -> Option<String> {
    let n_candidates = data.n_variables() * settings.tau_max;
    (samples.n_samples() <= n_candidates + 2).then(|| {
        format!(
            "warning: {} samples for {n_candidates} possible parents: tests for which too few samples are left count as independent",
            samples.n_samples()
        )
    })
}

/// How many links the graph has, of which kinds.
fn count_remark(links: &Links) -> String {
    let (mut lagged, mut directed, mut open, mut conflicts) = (0, 0, 0, 0);
    for pair in links.pairs() {
        let once = pair.cause.variable < pair.effect;
        match links[pair] {
            Mark::Forward if pair.cause.lag > 0 => lagged += 1,
            Mark::Forward => directed += 1,
            Mark::Open if once => open += 1,
            Mark::Conflict if once => conflicts += 1,
            _ => {}
        }
    }
    format!(
        "links that pass: {lagged} lagged; within a row {directed} with a direction, {open} without, {conflicts} in conflict"
    )
}

/// Edges by their largest absolute value over all lags.
///
/// With `directed`, a value within a row counts only where the link does not go the other way.
fn edges(
    results: &Results,
    links: &Links,
    directed: bool,
) -> Result<Vec<driftgraph_core::fitted::edges::LearnedEdge>, MethodError> {
    let found = |source: usize, target: usize| {
        let lags = (1..=links.tau_max()).map(|lag| Pair::new(Node::new(source, lag), target));
        let strongest = |pairs: &[Pair]| {
            pairs.iter().copied().reduce(|best, pair| {
                let larger = results.values[pair].abs() > results.values[best].abs();
                if larger { pair } else { best }
            })
        };
        let lags: Vec<Pair> = lags.collect();
        let linked: Vec<Pair> =
            lags.iter().copied().filter(|&pair| links[pair] == Mark::Forward).collect();
        let is_lagged = !linked.is_empty();
        let lagged = strongest(if is_lagged { &linked } else { &lags });
        let value = |pair: Option<Pair>| pair.map_or(0.0, |pair| results.values[pair]);
        let p_value = |pair: Pair| Some(results.p_values[pair]).filter(|p_value| !p_value.is_nan());
        let pair = Pair::within(source, target);
        let way = match links[pair] {
            Mark::None => None,
            Mark::Forward => Some(Direction::Forward),
            Mark::Backward => Some(Direction::Backward),
            Mark::Open | Mark::Conflict => Some(Direction::Either),
        };
        let within = results.values[pair];
        let counts = !(directed && way == Some(Direction::Backward));
        let score = value(strongest(&lags)).abs().max(if counts { within.abs() } else { 0.0 });
        let passes_within = way.is_some_and(|way| way != Direction::Backward);
        let linked_lags = passes_within.then_some(0).into_iter();
        let tests = PairTests {
            linked_lags: linked_lags.chain(linked.iter().map(|pair| pair.cause.lag)).collect(),
            is_conflict: links[pair] == Mark::Conflict,
            p_lagged: lagged.and_then(p_value),
            p_within: p_value(pair),
        };
        PairLinks {
            score,
            lagged: value(lagged),
            lag: lagged.map(|pair| pair.cause.lag),
            is_lagged,
            within,
            way,
            effect: None,
            tests: Some(tests),
        }
    };
    lagged_edges(links.n_variables(), found)
}
