//! Fitting a linear process that switches between regimes, known or hidden.
//!
//! Paths begin as those of the plain fit. How many regimes there are is chosen on blocks of time that were held back
//! (`choice`), where they lie at first is found from several starts, and two chains over everything end it.

mod choice;
mod result;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::{LinearTask, MAX_ROUNDS, evidence_share};
use crate::graph::prior::EdgePrior;
use crate::objective::elbo::ElboTerms;
use crate::posterior::linear::adequacy::{Adequacy, InnovationRows, Neighbours};
use crate::posterior::linear::ascent::Ascent;
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::regimes::chain::{Labels, RegimeState, RegimeTask};
use crate::posterior::linear::regimes::hidden::Switching;
use crate::posterior::linear::regimes::start::{KnownPaths, known_start};
use crate::posterior::linear::regimes::steps::Steps;
use crate::train::bridge::{BridgeError, CheckedBridgeSettings};
use crate::train::progress::{Checkpoint, Part, Progress, Step, Training, find};
use crate::{EdgeScores, SeriesSet, Standardizer};

pub use crate::posterior::linear::regimes::one_process::SingleKind;
pub use choice::{Choice, OverSingle, Trial};
pub use result::{
    EdgeContrast, EdgeInRegime, RegimeEdge, RegimeFit, RegimeProcess, SeriesRegimes, Switch,
};

/// Most regimes that can be told apart here: every effect has a state for each subset of them.
pub const MAX_REGIMES: usize = 6;
/// Sweeps of a chain, those at its beginning that are not counted among them.
const SWEEPS: u64 = 500;
const BURN_IN: u64 = 100;
/// Steps that a known regime must have.
const LEAST_STEPS: usize = 3;
/// Multiplications for one draw of the paths beyond which chains would take hours.
const MOST_WORK: f64 = 2e9;
/// Chains: one with a careful law of densities, one with that of the settings.
const N_CHAINS: usize = 2;

/// Which regimes are asked for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum RegimeRequest {
    /// So many hidden ones.
    Number(usize),
    /// As many as predict held-out blocks of time clearly better than fewer.
    Auto,
    /// Known ones: by series and row of the data.
    Known {
        /// Regime of each row of each series; it holds until the next row.
        labels: Vec<Vec<u8>>,
        /// Number of regimes.
        n: usize,
    },
}

/// Why regimes could not be learned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegimeError {
    /// The data or the settings.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// More regimes than effects can have states.
    #[error("at most {MAX_REGIMES} regimes can be told apart, and {found} were asked for")]
    TooMany {
        /// What was asked for.
        found: usize,
    },
    /// Too few rows for so many regimes.
    #[error(
        "{n_regimes} regimes of {n_variables} variables need at least {needed} steps between rows, and there are {found}; \
         ask for fewer regimes"
    )]
    TooFewSteps {
        /// Regimes asked for.
        n_regimes: usize,
        /// Variables.
        n_variables: usize,
        /// Steps without which nothing can be said.
        needed: usize,
        /// Steps there are.
        found: usize,
    },
    /// A known regime without data.
    #[error("regime {regime} has {found} steps between rows, at least {LEAST_STEPS} are needed")]
    EmptyRegime {
        /// Number of the regime, from 1.
        regime: usize,
        /// Steps it has.
        found: usize,
    },
    /// Paths that cannot be drawn in reasonable time.
    #[error(
        "the hidden states of {n_variables} variables over {n_steps} steps cannot be drawn in reasonable time; choose fewer \
         variables, or rows without missing cells and `--noise-scale 0.01`"
    )]
    TooLarge {
        /// Variables.
        n_variables: usize,
        /// Steps.
        n_steps: usize,
    },
    /// Numbers that are not finite.
    #[error("the regimes cannot be computed: a covariance is not positive definite")]
    Broken,
    /// Stopped before anything was counted.
    #[error("stopped before anything was learned")]
    Stopped,
}

/// What a fit of regimes comes to.
#[derive(Debug)]
pub enum RegimeOutcome {
    /// One regime: the plain fit says all there is.
    One(Option<Choice>),
    /// Several.
    Several(Box<RegimeFit>),
}

/// Chains of a fit, as they are kept.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Run {
    choice: Option<Choice>,
    /// Hidden regimes against one process for all time.
    over_single: Option<OverSingle>,
    /// What the innovations still contain.
    adequacy: Adequacy,
    /// Share of the evidence that counts, by target.
    tempering: Vec<f64>,
    /// How far the law of the settings is believed.
    evidence_share: f64,
    chains: Vec<RegimeState>,
}

/// Fits regimes to data.
pub fn fit_regimes(
    data: &SeriesSet,
    knowledge: &EdgePrior,
    settings: &CheckedBridgeSettings,
    request: &RegimeRequest,
    progress: &dyn Progress,
) -> Result<RegimeOutcome, RegimeError> {
    if *request == RegimeRequest::Number(1) {
        return Ok(RegimeOutcome::One(None));
    }
    let task = settings.linear_task(data, knowledge)?;
    let steps = Steps::new(&task.grid);
    check(request, &task, &steps)?;
    let key = (settings.get(), request);
    let kept: Option<Run> = find(progress, &Part::WHOLE.to_string(), &key);
    let fit = Fit { task: &task, steps: &steps, request, progress, key: &key };
    let means = fit.means()?;
    let goes_on = || !progress.is_interrupted();
    let known = KnownPaths { grid: &task.grid, steps: &steps, paths: &means, goes_on: &goes_on };
    let run = match kept {
        Some(run) => run,
        None => match fit.start(&known, data)? {
            Start::One(choice) => return Ok(RegimeOutcome::One(choice)),
            Start::Several(run) => run,
        },
    };
    let run = fit.sweep(&known, run)?;
    let scales = Standardizer::fit(data);
    Ok(RegimeOutcome::Several(Box::new(result::result(&fit, &run, &scales))))
}

fn check(request: &RegimeRequest, task: &LinearTask, steps: &Steps) -> Result<(), RegimeError> {
    let n_variables = task.grid.n_variables();
    let n_regimes = match request {
        RegimeRequest::Auto => 1,
        RegimeRequest::Number(n) | RegimeRequest::Known { n, .. } => *n,
    };
    if n_regimes > MAX_REGIMES {
        return Err(RegimeError::TooMany { found: n_regimes });
    }
    let (needed, found) = (n_regimes * (n_variables + 2), steps.len());
    if matches!(request, RegimeRequest::Number(_)) && n_regimes > 1 && found < needed {
        return Err(RegimeError::TooFewSteps { n_regimes, n_variables, needed, found });
    }
    Ok(())
}

/// What all parts of a fit share.
struct Fit<'a, Key> {
    task: &'a LinearTask,
    steps: &'a Steps,
    request: &'a RegimeRequest,
    progress: &'a dyn Progress,
    key: &'a Key,
}

enum Start {
    One(Option<Choice>),
    Several(Run),
}

impl<Key: serde::Serialize + Sync> Fit<'_, Key> {
    /// Means of the paths of a plain fit.
    fn means(&self) -> Result<Vec<f64>, RegimeError> {
        let task = self.task;
        let mut ascent = Ascent::new(&task.grid, &task.pools, task.start.clone(), task.learn_noise);
        while !ascent.is_done() && ascent.state().round < MAX_ROUNDS {
            if self.progress.is_interrupted() {
                return Err(RegimeError::Stopped);
            }
            ascent.round().ok_or(RegimeError::Broken)?;
        }
        Ok(ascent.smoothed().ok_or(RegimeError::Broken)?.means)
    }

    fn start(&self, known: &KnownPaths<'_>, data: &SeriesSet) -> Result<Start, RegimeError> {
        let (task, all) = (self.task, vec![true; self.steps.len()]);
        let (mut choice, mut over_single) = (None, None);
        let (dynamics, labels, switching) = match self.request {
            RegimeRequest::Known { labels, n } => {
                let labels = self.known_labels(data, labels);
                for regime in 0..*n {
                    let found =
                        labels.iter().filter(|label| usize::from(**label) == regime).count();
                    if found < LEAST_STEPS {
                        return Err(RegimeError::EmptyRegime { regime: regime + 1, found });
                    }
                }
                let dynamics = known_start(known, &labels, *n).ok_or(RegimeError::Broken)?;
                (dynamics, labels, Switching { stay: 1.0, first: vec![1.0 / *n as f64; *n] })
            }
            hidden => {
                let n = if let RegimeRequest::Number(n) = hidden {
                    over_single = choice::against_single(known, *n, task.seed);
                    *n
                } else {
                    let found = choice::choose(known, task.seed).ok_or_else(|| self.no_start())?;
                    let chosen = found.trials.iter().rfind(|trial| trial.is_clear);
                    over_single = chosen.and_then(|trial| trial.over_single);
                    choice.insert(found).chosen
                };
                if n == 1 {
                    return Ok(Start::One(choice));
                }
                let found = known.best_start(n, &all, task.seed).ok_or_else(|| self.no_start())?;
                let labels = found.labels();
                (found.dynamics, labels, found.switching)
            }
        };
        if dynamics.len() == 1 {
            return Ok(Start::One(choice));
        }
        let adequacy = self.adequacy(known, &dynamics, &labels);
        let dynamics = self.with_scales(dynamics);
        let pools = [&task.careful_pools, &task.pools];
        let chains = pools.map(|pools| {
            RegimeState::new(dynamics.clone(), labels.clone(), switching.clone(), pools)
        });
        let (tempering, evidence_share) = (adequacy.tempering(), evidence_share(&adequacy));
        let chains = chains.to_vec();
        let run = Run { choice, over_single, adequacy, tempering, evidence_share, chains };
        Ok(Start::Several(run))
    }

    /// Why there is nothing to begin with.
    fn no_start(&self) -> RegimeError {
        if self.progress.is_interrupted() { RegimeError::Stopped } else { RegimeError::Broken }
    }

    /// Noise and first states of the plain start.
    fn with_scales(&self, dynamics: Vec<LinearDynamics>) -> Vec<LinearDynamics> {
        let start = &self.task.start;
        let scaled = |one: LinearDynamics| LinearDynamics {
            noise: start.noise.clone(),
            initial_means: start.initial_means.clone(),
            initial_variances: start.initial_variances.clone(),
            ..one
        };
        dynamics.into_iter().map(scaled).collect()
    }

    /// What the innovations still contain once every regime has its own dynamics.
    fn adequacy(
        &self,
        known: &KnownPaths<'_>,
        dynamics: &[LinearDynamics],
        labels: &[u8],
    ) -> Adequacy {
        let d = self.task.grid.n_variables();
        let errors = self.steps.innovations(known.grid, known.paths, dynamics, labels);
        let mut rows = InnovationRows::new(d, self.steps.series.len());
        for series in &self.steps.series {
            for step in 1..series.n {
                let state = |point: usize| &known.paths[point * d..(point + 1) * d];
                let error = |at: usize| &errors[at * d..(at + 1) * d];
                let (at, point) = (series.first + step, series.first_point + step);
                rows.add(
                    step,
                    Neighbours {
                        state: state(point),
                        error: error(at),
                        earlier_state: state(point - 1),
                        earlier_error: error(at - 1),
                    },
                );
            }
        }
        Adequacy::of_rows(&rows)
    }

    /// The regime of every step: that of the last row before or at its start.
    fn known_labels(&self, data: &SeriesSet, labels: &[Vec<u8>]) -> Vec<u8> {
        let grid = &self.task.grid;
        let mut out = Vec::with_capacity(self.steps.len());
        for rows in grid.layout().series() {
            let user = grid.series_of(rows);
            let (times, own) = (data.series()[user].times(), &labels[user]);
            for time in &grid.layout().times(rows)[..rows.n_steps()] {
                let row = times.partition_point(|known| known <= time).saturating_sub(1);
                out.push(own[row]);
            }
        }
        out
    }

    /// Whether paths are uncertain, and so drawn.
    fn draws_paths(&self) -> Result<bool, RegimeError> {
        let (task, d) = (self.task, self.task.grid.n_variables());
        if !task.learn_noise && task.grid.is_complete() {
            return Ok(false);
        }
        let n_steps = self.steps.len();
        if 12.0 * n_steps as f64 * (d as f64).powi(3) > MOST_WORK {
            return Err(RegimeError::TooLarge { n_variables: d, n_steps });
        }
        Ok(true)
    }

    fn sweep(&self, known: &KnownPaths<'_>, mut run: Run) -> Result<Run, RegimeError> {
        let (task, draws) = (self.task, self.draws_paths()?);
        let labels = match self.request {
            RegimeRequest::Known { .. } => Labels::Known,
            _ => Labels::Hidden,
        };
        let tempering = run.tempering.clone();
        let pools = [&task.careful_pools, &task.pools];
        let tasks: Vec<RegimeTask<'_>> = (0..N_CHAINS)
            .map(|number| RegimeTask {
                grid: &task.grid,
                steps: self.steps,
                pools: pools[number],
                paths: (!draws).then_some(known.paths),
                learn_noise: task.learn_noise,
                labels,
                tempering: &tempering,
                seed: task.seed,
                number: number as u64,
            })
            .collect();
        let end = task.max_steps.unwrap_or(SWEEPS);
        while run.chains[0].sweep < end {
            let counted = run.chains[0].sweep >= BURN_IN.min(end / 2);
            let mut next = run.chains.clone();
            let fine: Vec<Option<()>> = (next.par_iter_mut().zip(&tasks))
                .map(|(chain, task)| chain.sweep(task, counted))
                .collect();
            if fine.iter().any(Option::is_none) {
                return Err(RegimeError::Broken);
            }
            run.chains = next;
            if self.tell(&run, end) {
                break;
            }
        }
        if run.chains[0].totals.n == 0.0 { Err(RegimeError::Stopped) } else { Ok(run) }
    }

    /// Tells the follower; whether to stop.
    fn tell(&self, run: &Run, end: u64) -> bool {
        let running = Running { fit: self, run };
        let logs = run.chains.iter().map(|chain| chain.log_density);
        let mean = logs.sum::<f64>() / run.chains.len() as f64;
        let step = Step {
            part: Part::WHOLE,
            number: run.chains[0].sweep - 1,
            end,
            terms: ElboTerms { log_likelihood: mean, ..ElboTerms::default() },
            rate: 1.0,
            expected_edges: Some(running.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training: &running,
        };
        self.progress.step(&step).is_break()
    }
}

/// A fit between two sweeps.
struct Running<'a, Key> {
    fit: &'a Fit<'a, Key>,
    run: &'a Run,
}

impl<Key: serde::Serialize + Sync> Training for Running<'_, Key> {
    fn edge_probabilities(&self) -> Vec<f64> {
        result::edge_matrix(self.fit.task, self.run, 0.0, |present, _| present)
    }

    fn edge_scores(&self) -> EdgeScores {
        let odds = result::edge_matrix(self.fit.task, self.run, f64::NEG_INFINITY, result::odds);
        EdgeScores::from_matrix(self.fit.task.n_user, odds).expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(self.run, self.fit.key)
    }
}
