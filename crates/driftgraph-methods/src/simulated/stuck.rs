//! Trainings that explode in their first hundred steps and stay stuck: noticed, said, and begun again with another seed.
//!
//! The published code does it as ours does (2 of 5 runs on Lorenz against 1 of 15): paths leave the data by orders of
//! magnitude while the learning rate rises, and no later step brings them back.

use std::ops::ControlFlow;
use std::sync::Mutex;

use driftgraph_core::train::progress::{Checkpoint, Progress, Step};
use driftgraph_core::train::settings::{CheckedSettings, FitSettings, Range, Setting};
use driftgraph_core::{SeriesSet, Standardizer};

/// The step after which a training is judged, from 1: explosions happen before the hundredth.
const JUDGED_AT: u64 = 200;

/// How many times as far from the data as their means paths are that will not come back.
///
/// Trainings that go well are nearer than the means by then; stuck ones are tens to thousands of times as far.
const FAR: f64 = 5.0;

/// The name under which the number of attempts is kept.
const ATTEMPT: &str = "attempt";

/// Seeds of attempts are so far apart that seeds 0, 1, 2, ... of a user do not meet them.
const SEED_STEP: u64 = 1_000_000;

/// The setting that limits the attempts.
pub(super) const RESTARTS: Setting = Setting {
    name: "restarts",
    default: "2",
    range: Range::Number { min: 0.0, max: 100.0, above: false },
    meaning: "times that a training which explodes early and stays stuck begins again with another seed",
    source: "published code: 0",
};

/// The seed of an attempt, counted from 0.
pub(super) fn seed_of(seed: u64, attempt: u64) -> u64 {
    seed.wrapping_add(attempt.wrapping_mul(SEED_STEP))
}

/// Attempts that an earlier run of the same fit gave up.
pub(super) fn given_up(progress: &dyn Progress, settings: &CheckedSettings) -> u64 {
    let depends_on = Checkpoint::new(&0_u64, settings.get()).depends_on;
    let kept = progress.find(ATTEMPT, &depends_on);
    kept.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or(0)
}

/// Keeps that an attempt was given up, so that it is not repeated.
pub(super) fn give_up(progress: &dyn Progress, settings: &CheckedSettings, attempts: u64) {
    progress.keep(ATTEMPT, &Checkpoint::new(&attempts, settings.get()));
}

/// Follows a training for its follower, and looks at one of its steps.
pub(super) struct Watch<'a> {
    progress: &'a dyn Progress,
    scale: Scale,
    /// Whether a stuck training is to be ended.
    ends: bool,
    found: Mutex<Option<f64>>,
}

/// What distances are measured by.
#[derive(Debug, Clone, Copy)]
struct Scale {
    is_laplace: bool,
    noise: f64,
    n_cells: f64,
    /// Mean distance of observed values from the means of their variables, in the model's units.
    spread: f64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        progress: &'a dyn Progress,
        data: &SeriesSet,
        settings: &FitSettings,
        ends: bool,
    ) -> Self {
        Self { progress, scale: Scale::new(data, settings), ends, found: Mutex::new(None) }
    }

    /// How many times as far from the data as their means the paths of a stuck training are.
    pub(super) fn stuck(&self) -> Option<f64> {
        *self.found.lock().expect("no thread panics while it holds this lock")
    }
}

impl Scale {
    fn new(data: &SeriesSet, settings: &FitSettings) -> Self {
        let standard = settings.standardize.then(|| Standardizer::fit(data).apply(data));
        let data = standard.as_ref().unwrap_or(data);
        let (mut sum, mut n_cells) = (0.0, 0.0_f64);
        for variable in 0..data.n_variables() {
            let values: Vec<f64> = data.observed_values(variable).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            sum += values.iter().map(|value| (value - mean).abs()).sum::<f64>();
            n_cells += values.len() as f64;
        }
        let law = serde_json::to_value(settings.noise);
        Self {
            is_laplace: law.is_ok_and(|law| law == "laplace"),
            noise: settings.noise_scale,
            n_cells,
            spread: sum / n_cells.max(1.0),
        }
    }

    /// The distance from the data that explains a log likelihood, in spreads.
    fn distance(&self, log_likelihood: f64) -> f64 {
        let per_cell = -log_likelihood / self.n_cells.max(1.0);
        let distance = if self.is_laplace {
            per_cell - (2.0 * self.noise).ln()
        } else {
            let normal = (2.0 * std::f64::consts::PI).sqrt() * self.noise;
            (2.0 * (per_cell - normal.ln())).max(0.0).sqrt()
        };
        if self.spread > 0.0 { distance * self.noise / self.spread } else { 0.0 }
    }
}

impl Progress for Watch<'_> {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        self.progress.step(step)?;
        if step.number + 1 == JUDGED_AT && step.undone.is_none() {
            let distance = self.scale.distance(step.terms.log_likelihood);
            if distance > FAR {
                *self.found.lock().expect("no thread panics while it holds this lock") =
                    Some(distance);
                if self.ends {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn find(&self, name: &str, depends_on: &str) -> Option<Vec<u8>> {
        self.progress.find(name, depends_on)
    }

    fn keep(&self, name: &str, thing: &Checkpoint) {
        self.progress.keep(name, thing);
    }

    fn forget(&self, name: &str) {
        self.progress.forget(name);
    }

    fn is_interrupted(&self) -> bool {
        self.progress.is_interrupted()
    }

    fn is_out_of_time(&self) -> bool {
        self.progress.is_out_of_time()
    }

    fn note(&self, text: &str) {
        self.progress.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_that_the_noise_would_have_seen() {
        // Laplace noise of scale 0.1 at distance 3 everywhere: log density -30 - ln 0.2, in spreads of 1.5.
        let scale = Scale { is_laplace: true, noise: 0.1, n_cells: 4.0, spread: 1.5 };
        let log_likelihood = 4.0 * (-30.0 - 0.2_f64.ln());
        assert!((scale.distance(log_likelihood) - 2.0).abs() < 1e-12);
        let normal = Scale { is_laplace: false, ..scale };
        let density = -0.5 * 900.0 - (0.1 * (2.0 * std::f64::consts::PI).sqrt()).ln();
        assert!((normal.distance(4.0 * density) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn seeds_of_attempts_begin_with_the_users() {
        assert_eq!([0, 1, 2].map(|attempt| seed_of(7, attempt)), [7, 1_000_007, 2_000_007]);
    }
}
