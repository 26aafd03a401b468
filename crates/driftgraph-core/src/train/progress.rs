//! The one conversation between a computation and whoever follows it: steps, checkpoints, stopping.
//!
//! A fit is made of [`Part`]s that do not know of each other. After each [`Step`] of a part its follower hears of it,
//! may keep the part's state, and says whether to go on. A part that was kept goes on where it was left.

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::EdgeScores;
use crate::objective::elbo::ElboTerms;

/// A part of a fit: a function of data, settings and its own number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// A candidate is fitted without one fold, to see how it predicts the fold.
    Candidate {
        /// Name of the candidate.
        name: &'a str,
        /// The fold held out, from 0.
        fold: usize,
        /// Number of folds.
        n_folds: usize,
    },
    /// A candidate is fitted to all data, to see what it leaves unexplained.
    Trial {
        /// Name of the candidate.
        name: &'a str,
    },
    /// All data are fitted.
    Member {
        /// Number of the fit, from 0.
        number: usize,
        /// Number of fits with different seeds.
        n_members: usize,
    },
    /// A bootstrap sample is fitted, to see which edges it keeps.
    Sample {
        /// Number of the sample, from 0.
        number: usize,
        /// Number of samples.
        n_samples: usize,
    },
}

impl Part<'_> {
    /// The only fit to all data.
    pub const WHOLE: Part<'static> = Part::Member { number: 0, n_members: 1 };

    /// Whether this is the fit whose course is logged; the other members differ in their seed alone.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Member { number: 0, .. })
    }

    /// Whether it serves the choice among candidates, after which there is more to do.
    pub fn is_choice(&self) -> bool {
        matches!(self, Self::Candidate { .. } | Self::Trial { .. })
    }
}

/// Letters and digits of a name, joined by `-`.
fn words_of(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The name of the part, fit for a file.
impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { number, .. } => write!(f, "fit-{}", number + 1),
            Self::Sample { number, .. } => write!(f, "sample-{}", number + 1),
            Self::Trial { name } => write!(f, "{}-of-all", words_of(name)),
            Self::Candidate { name, fold, .. } => {
                write!(f, "{}-without-part-{}", words_of(name), fold + 1)
            }
        }
    }
}

/// What happened in one step of a part.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The part.
    pub part: Part<'a>,
    /// Number of the step, from 0.
    pub number: u64,
    /// Number of the step at which the part may end.
    pub end: u64,
    /// Terms of the ELBO before the step.
    pub terms: ElboTerms,
    /// Learning rate, or its share of the largest.
    pub rate: f64,
    /// Σ of the edge probabilities; `None` where the method gives none.
    pub expected_edges: Option<f64>,
    /// What was not finite, when the step was undone.
    pub undone: Option<&'static str>,
    /// What else there is to log, by name.
    pub extras: &'a [(&'static str, f64)],
    /// The part between this step and the next.
    pub training: &'a dyn Training,
}

impl Step<'_> {
    /// The bound, where training raises one.
    pub fn elbo(&self) -> Option<f64> {
        (self.training.aim() == Aim::Elbo).then(|| self.terms.elbo())
    }

    /// The loss, where training lowers one that is no bound.
    pub fn loss(&self) -> Option<f64> {
        (self.training.aim() == Aim::Loss).then(|| -self.terms.log_likelihood)
    }
}

/// What training works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The ELBO, which rises.
    Elbo,
    /// A loss, which falls; steps have it, negative, in place of the likelihood.
    Loss,
}

/// What can be asked of a part between two steps.
pub trait Training {
    /// What it raises or lowers.
    fn aim(&self) -> Aim {
        Aim::Elbo
    }

    /// Probability of each lagged edge now, `[source, target]`.
    fn edge_probabilities(&self) -> Vec<f64>;

    /// Log-odds of each lagged edge now, infinite where it is not learned: ranks even what rounds to 1.
    fn edge_scores(&self) -> EdgeScores;

    /// Everything the part needs to go on bit for bit.
    fn state(&self) -> Checkpoint;
}

/// Something worth keeping, and what it is a function of besides the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Settings as text; kept things of other settings are of no use.
    pub depends_on: String,
    /// The thing.
    pub bytes: Vec<u8>,
}

impl Checkpoint {
    /// Packs a value that depends on some settings.
    pub fn new(value: &impl Serialize, settings: &impl Serialize) -> Self {
        let bytes = postcard::to_stdvec(value).expect("states are plain values");
        Self { depends_on: text_of(settings), bytes }
    }
}

/// Follows a computation from several threads: progress, log, checkpoints, clock and interrupts hang here.
pub trait Progress: Sync {
    /// Called after every step; `Break` ends that part with what it has.
    fn step(&self, step: &Step<'_>) -> ControlFlow<()>;

    /// What was kept under a name, if it depends on the same.
    fn find(&self, _name: &str, _depends_on: &str) -> Option<Vec<u8>> {
        None
    }

    /// Something came to its end by itself and should be kept, so that it is not computed again.
    fn keep(&self, _name: &str, _thing: &Checkpoint) {}

    /// What was kept under a name is not needed any more.
    fn forget(&self, _name: &str) {}

    /// Whether everything is to end as soon as possible, since the user wishes it or the time is up.
    ///
    /// What takes long between two steps, or takes none, asks this again and again; an answer of `true` counts as its end.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether the time is up, so that what was learned is to be saved rather than to be gone on with.
    fn is_out_of_time(&self) -> bool {
        false
    }

    /// Something the user should hear at once.
    fn note(&self, _text: &str) {}
}

/// What was kept under a name for these settings, unpacked.
pub(crate) fn find<T: DeserializeOwned>(
    progress: &dyn Progress,
    name: &str,
    settings: &impl Serialize,
) -> Option<T> {
    let bytes = progress.find(name, &text_of(settings))?;
    let found = postcard::from_bytes(&bytes);
    if found.is_err() {
        progress
            .note(&format!("warning: what was kept of `{name}` cannot be used; it begins again"));
    }
    found.ok()
}

/// One piece of a computation that knows of no other: a function of the data, of settings and of its name.
///
/// Pieces of a fit that end in a small result are shards, made by the threads of one process; whole fits are shards of
/// a sweep, made by any number of machines. Both go through [`kept_or_made`].
#[derive(Debug, Clone, Copy)]
pub struct Shard<'a> {
    /// Under which its result is kept.
    pub name: &'a str,
    /// Under which the state of its training is kept on the way; forgotten once there is a result.
    pub training: &'a str,
}

/// What became of making a shard.
#[derive(Debug)]
pub enum Made<T> {
    /// Its result, which is kept.
    Final(T),
    /// What there is of a shard that was stopped or failed; the next attempt makes it again.
    Passing(T),
}

/// The result of a shard: found where it was kept for these settings, else made, and kept where it is final.
pub fn kept_or_made<T: Serialize + DeserializeOwned, E>(
    progress: &dyn Progress,
    shard: Shard<'_>,
    settings: &impl Serialize,
    make: impl FnOnce() -> Result<Made<T>, E>,
) -> Result<T, E> {
    if let Some(kept) = find(progress, shard.name, settings) {
        return Ok(kept);
    }
    Ok(match make()? {
        Made::Passing(result) => result,
        Made::Final(result) => {
            progress.keep(shard.name, &Checkpoint::new(&result, settings));
            progress.forget(shard.training);
            result
        }
    })
}

fn text_of(settings: &impl Serialize) -> String {
    serde_json::to_string(settings).expect("settings are plain values")
}

/// Lets a computation run to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Follows a computation that is no part of the fit, and passes on nothing but the wish to stop.
#[derive(Clone, Copy)]
pub(crate) struct StopAlone<'a>(pub(crate) &'a dyn Progress);

impl Progress for StopAlone<'_> {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    fn is_out_of_time(&self) -> bool {
        self.0.is_out_of_time()
    }
}

/// The same for what is to be finished when the time is up: it ends when the user wishes, whatever the clock says.
#[derive(Clone, Copy)]
pub(crate) struct UserStopAlone<'a>(pub(crate) &'a dyn Progress);

impl Progress for UserStopAlone<'_> {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted() && !self.0.is_out_of_time()
    }
}

/// A closure over steps follows, too.
impl<F: Fn(&Step<'_>) -> ControlFlow<()> + Sync> Progress for F {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        self(step)
    }
}

/// How a fit came to its end without a finite step.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the fit diverged at step {step}: `{term}` is not finite, and halving the learning rate \
     {attempts} times in a row did not help"
)]
pub struct Divergence {
    /// The last step tried.
    pub step: u64,
    /// The term of the ELBO that is not finite, or `gradient`, or `determinant`.
    pub term: &'static str,
    /// Steps tried in a row.
    pub attempts: u32,
    /// The last finite ELBO, if there was one.
    pub last_finite_elbo: Option<f64>,
}
