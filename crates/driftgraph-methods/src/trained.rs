//! What all methods share that train networks step by step.

use driftgraph_core::train::progress::{Part, Progress, Training};
use driftgraph_data::record::{Reached, TrainingRecord};
use serde::de::DeserializeOwned;

use crate::method::Learned;

/// The state that an earlier run with the same settings and data kept.
pub(crate) fn kept_state<S: DeserializeOwned>(
    training: &dyn Training,
    progress: &dyn Progress,
) -> Option<S> {
    let kept = progress.find(&Part::WHOLE.to_string(), &training.state().depends_on)?;
    postcard::from_bytes(&kept).ok()
}

impl Learned {
    /// With how its training ended, and a warning where that was early.
    pub(crate) fn trained(mut self, seed: u64, reached: Reached) -> Self {
        self.training = TrainingRecord {
            seed: Some(seed),
            reached: Some(reached),
            ..TrainingRecord::default()
        };
        self.remarks.extend(reached.warning());
        self
    }
}

/// Bytes of so many parameters of the given size with what training adds: a gradient, two moments, and a checkpoint.
pub(crate) fn parameter_bytes(n_parameters: usize, size: usize) -> u64 {
    (5 * n_parameters * size) as u64
}
