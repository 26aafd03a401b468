//! Fitting a linear process whose effects move in time.
//!
//! Paths are those of the plain fit, at their means. Two chains over everything, one with a careful law of densities and
//! one with that of the settings, are averaged as far as each is believed.

use rayon::prelude::*;

use super::{LinearTask, MAX_ROUNDS, evidence_share};
use crate::graph::prior::EdgePrior;
use crate::numeric::real::ln;
use crate::objective::elbo::ElboTerms;
use crate::posterior::linear::adequacy::{Adequacy, InnovationRows, Neighbours};
use crate::posterior::linear::ascent::Ascent;
use crate::posterior::linear::drifting::chain::{DriftState, DriftTask, DriftTotals};
use crate::posterior::linear::drifting::steps::DriftSteps;
use crate::train::bridge::{BridgeError, CheckedBridgeSettings};
use crate::train::progress::{Checkpoint, Part, Progress, Step, Training, find};
use crate::{CoreError, EdgeScores, SeriesSet, Standardizer};

/// Sweeps of a chain, those at its beginning that are not counted among them.
const SWEEPS: u64 = 600;
const BURN_IN: u64 = 150;
/// Sweeps before it is asked what the innovations still contain.
const PILOT_SWEEPS: usize = 40;
/// Different times without which nothing can drift.
const LEAST_KNOTS: usize = 4;
/// Multiplications of one sweep beyond which chains would take hours.
const MOST_WORK: f64 = 2e9;
/// Chains: one with a careful law of densities, one with that of the settings.
const N_CHAINS: usize = 2;

/// Why effects over time could not be learned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriftError {
    /// The data or the settings.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// Too few times.
    #[error("rows have {found} different times, and effects that move need at least {needed}", needed = LEAST_KNOTS + 1)]
    TooFewTimes {
        /// Different times.
        found: usize,
    },
    /// Chains that would take hours.
    #[error(
        "{n_variables} variables over {n_steps} steps would take hours; choose fewer variables, or only some series"
    )]
    TooLarge {
        /// Variables.
        n_variables: usize,
        /// Steps.
        n_steps: usize,
    },
    /// Numbers that are not finite.
    #[error("the paths cannot be computed: a covariance is not positive definite")]
    Broken,
    /// Stopped before anything was counted.
    #[error("stopped before anything was learned")]
    Stopped,
}

/// What was learned of effects over time.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftFit {
    /// Times at which effects are told, in the user's unit.
    pub times: Vec<f64>,
    /// All pairs, `[source, target]`.
    pub edges: Vec<DriftingEdge>,
    /// What the innovations still contain, variables in the user's order.
    pub adequacy: Adequacy,
    /// Whether all sweeps were made.
    pub is_complete: bool,
}

/// One edge over time.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftingEdge {
    /// The source.
    pub source: usize,
    /// The target.
    pub target: usize,
    /// Probability that there is an effect, constant or not.
    pub probability: f64,
    /// Log-odds of the same.
    pub log_odds: f64,
    /// Probability that it moves.
    pub drifting: f64,
    /// Effect at each time if there is one: the target's unit per unit of time and of the source.
    pub effects: Vec<f64>,
    /// Their deviations.
    pub deviations: Vec<f64>,
    /// What an effect is multiplied by to have it in deviations of target and source.
    pub per_strength: f64,
}

/// Chains of a fit, as they are kept.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Run {
    tempering: Vec<f64>,
    evidence_share: f64,
    chains: Vec<DriftState>,
}

/// Fits effects that may move.
pub fn fit_drifting(
    data: &SeriesSet,
    knowledge: &EdgePrior,
    settings: &CheckedBridgeSettings,
    progress: &dyn Progress,
) -> Result<DriftFit, DriftError> {
    let task = settings.linear_task(data, knowledge)?;
    let key = (settings.get(), "drifting");
    let kept: Option<Run> = find(progress, &Part::WHOLE.to_string(), &key);
    let mut ascent = Ascent::new(&task.grid, &task.pools, task.start.clone(), task.learn_noise);
    while !ascent.is_done() && ascent.state().round < MAX_ROUNDS {
        stop_if_told(progress)?;
        ascent.round().ok_or(DriftError::Broken)?;
    }
    let paths = ascent.smoothed().ok_or(DriftError::Broken)?;
    let steps = DriftSteps::new(&task.grid, &paths.means);
    check(&steps)?;
    let state = ascent.state();
    let chain = DriftState::new(&steps, &state.dynamics, &state.effects);
    let adequacy = adequacy(&task, &steps, chain.clone(), progress)?;
    let run = kept.unwrap_or_else(|| {
        let (tempering, evidence_share) = (adequacy.tempering(), evidence_share(&adequacy));
        Run { tempering, evidence_share, chains: vec![chain; N_CHAINS] }
    });
    let fit = Fit { task: &task, steps: &steps, progress, key: &key };
    let run = fit.sweep(run)?;
    Ok(fit.result(&run, &adequacy, &Standardizer::fit(data)))
}

/// What the innovations still contain once effects may move: those of a short chain whose evidence counts in full.
///
/// Under constant effects the scores of early and late steps differ, which would count against the very evidence that
/// effects move.
fn adequacy(
    task: &LinearTask,
    steps: &DriftSteps,
    mut chain: DriftState,
    progress: &dyn Progress,
) -> Result<Adequacy, DriftError> {
    let d = steps.n_variables;
    let tempering = vec![1.0; d];
    let (pools, seed, number) = (&task.pools, task.seed, N_CHAINS as u64);
    let pilot = DriftTask { steps, pools, tempering: &tempering, seed, number };
    for _ in 0..PILOT_SWEEPS {
        stop_if_told(progress)?;
        chain.sweep(&pilot, false);
    }
    let errors = chain.innovations(steps);
    let mut rows = InnovationRows::new(d, steps.starts.len() - 1);
    for series in steps.starts.windows(2) {
        for at in series[0] + 1..series[1] {
            let state = |at: usize| &steps.states[at * d..(at + 1) * d];
            let error = |at: usize| &errors[at * d..(at + 1) * d];
            let neighbours = Neighbours {
                state: state(at),
                error: error(at),
                earlier_state: state(at - 1),
                earlier_error: error(at - 1),
            };
            rows.add(at - series[0], neighbours);
        }
    }
    Ok(Adequacy::of_rows(&rows))
}

fn stop_if_told(progress: &dyn Progress) -> Result<(), DriftError> {
    if progress.is_interrupted() { Err(DriftError::Stopped) } else { Ok(()) }
}

fn check(steps: &DriftSteps) -> Result<(), DriftError> {
    if steps.knots.len() < LEAST_KNOTS {
        return Err(DriftError::TooFewTimes { found: steps.knots.len() + 1 });
    }
    let (n_variables, n_steps) = (steps.n_variables, steps.n_steps());
    if 4.0 * (n_variables * n_variables) as f64 * n_steps as f64 > MOST_WORK {
        return Err(DriftError::TooLarge { n_variables, n_steps });
    }
    Ok(())
}

/// What all parts of a fit share.
struct Fit<'a, Key> {
    task: &'a LinearTask,
    steps: &'a DriftSteps,
    progress: &'a dyn Progress,
    key: &'a Key,
}

impl<Key: serde::Serialize + Sync> Fit<'_, Key> {
    fn end(&self) -> u64 {
        self.task.max_steps.unwrap_or(SWEEPS)
    }

    fn sweep(&self, mut run: Run) -> Result<Run, DriftError> {
        let (task, end) = (self.task, self.end());
        let tempering = run.tempering.clone();
        let pools = [&task.careful_pools, &task.pools];
        let of_chain = |number: usize| DriftTask {
            steps: self.steps,
            pools: pools[number],
            tempering: &tempering,
            seed: task.seed,
            number: number as u64,
        };
        while run.chains[0].sweep < end {
            let counted = run.chains[0].sweep >= BURN_IN.min(end / 2);
            let chains = run.chains.par_iter_mut().enumerate();
            chains.for_each(|(number, chain)| chain.sweep(&of_chain(number), counted));
            if self.tell(&run) {
                break;
            }
        }
        if run.chains[0].totals.n == 0.0 { Err(DriftError::Stopped) } else { Ok(run) }
    }

    /// Tells the follower; whether to stop.
    fn tell(&self, run: &Run) -> bool {
        let running = Running { fit: self, run };
        let step = Step {
            part: Part::WHOLE,
            number: run.chains[0].sweep - 1,
            end: self.end(),
            terms: ElboTerms::default(),
            rate: 1.0,
            expected_edges: Some(running.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training: &running,
        };
        self.progress.step(&step).is_break()
    }

    /// Something of every pair, `[source, target]` in the user's order.
    fn matrix(&self, run: &Run, absent: f64, of: impl Fn(&DriftTotals, usize) -> f64) -> Vec<f64> {
        let d = self.steps.n_variables;
        let entry = |at: usize| (at % d) * (d + 1) + at / d;
        let own: Vec<f64> =
            (0..d * d).map(|at| mean_of(run, |totals| of(totals, entry(at)))).collect();
        self.task.to_user(&own, absent)
    }

    fn log_odds(&self, run: &Run) -> Vec<f64> {
        let present = self.matrix(run, 0.0, |totals, entry| totals.present[entry]);
        let absent = self.matrix(run, 1.0, |totals, entry| totals.absent[entry]);
        present.iter().zip(&absent).map(|(&p, &q)| log_odds(p, q)).collect()
    }

    fn result(&self, run: &Run, adequacy: &Adequacy, scales: &Standardizer) -> DriftFit {
        let (grid, n) = (&self.task.grid, self.task.n_user);
        let (k, scales) = (self.steps.knots.len(), scales.scales());
        let present = self.matrix(run, 0.0, |totals, entry| totals.present[entry]);
        let drifting = self.matrix(run, 0.0, |totals, entry| totals.drifting[entry]);
        let log_odds = self.log_odds(run);
        let mut rates = vec![0.0; n];
        for (own, &kept) in grid.variables().iter().enumerate() {
            let user = self.task.kept[kept];
            rates[user] = grid.scales()[own] / grid.layout().time_unit();
        }
        let at_knot = |knot: usize| {
            let values = self.matrix(run, 0.0, |totals, entry| totals.values[entry * k + knot]);
            let squares = self.matrix(run, 0.0, |totals, entry| totals.squares[entry * k + knot]);
            (values, squares)
        };
        let courses: Vec<(Vec<f64>, Vec<f64>)> = (0..k).map(at_knot).collect();
        let edge = |at: usize| {
            let (source, target) = (at / n, at % n);
            let unit = rates[target] * scales[target] / scales[source];
            let share = present[at].max(f64::MIN_POSITIVE);
            let means: Vec<f64> = courses.iter().map(|(values, _)| values[at] / share).collect();
            let deviation = |(course, mean): (&(Vec<f64>, Vec<f64>), &f64)| {
                unit * (course.1[at] / share - mean * mean).max(0.0).sqrt()
            };
            DriftingEdge {
                source,
                target,
                probability: present[at],
                log_odds: log_odds[at],
                drifting: drifting[at],
                deviations: courses.iter().zip(&means).map(deviation).collect(),
                effects: means.iter().map(|mean| unit * mean).collect(),
                per_strength: scales[source] / scales[target],
            }
        };
        let own = adequacy.reordered(&grid.own_numbers());
        let mut all = Adequacy { n_rows: own.n_rows, ..Adequacy::unknown(n) };
        for (idx, &user) in self.task.kept.iter().enumerate() {
            (all.shares[user], all.clustering[user]) = (own.shares[idx], own.clustering[idx]);
        }
        DriftFit {
            times: self.steps.knots.clone(),
            edges: (0..n * n).map(edge).collect(),
            adequacy: all,
            is_complete: run.chains[0].sweep >= SWEEPS,
        }
    }
}

/// A mean over chains of something summed by entry, as far as each chain is believed.
fn mean_of(run: &Run, of: impl Fn(&DriftTotals) -> f64) -> f64 {
    let weights = [1.0 - run.evidence_share, run.evidence_share];
    let mean = |(chain, weight): (&DriftState, f64)| {
        if chain.totals.n > 0.0 { weight * of(&chain.totals) / chain.totals.n } else { 0.0 }
    };
    run.chains.iter().zip(weights).map(mean).sum()
}

fn log_odds(present: f64, absent: f64) -> f64 {
    match (present > 0.0, absent > 0.0) {
        (true, true) => ln(present / absent),
        (true, false) => f64::INFINITY,
        _ => f64::NEG_INFINITY,
    }
}

/// A fit between two sweeps.
struct Running<'a, Key> {
    fit: &'a Fit<'a, Key>,
    run: &'a Run,
}

impl<Key: serde::Serialize + Sync> Training for Running<'_, Key> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.fit.matrix(self.run, 0.0, |totals, entry| totals.present[entry])
    }

    fn edge_scores(&self) -> EdgeScores {
        EdgeScores::from_matrix(self.fit.task.n_user, self.fit.log_odds(self.run))
            .expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(self.run, self.fit.key)
    }
}

impl From<CoreError> for DriftError {
    fn from(error: CoreError) -> Self {
        Self::Bridge(error.into())
    }
}
