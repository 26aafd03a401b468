//! Fits the bridge posterior: settings, training loop and stop rule.
//!
//! A [`BridgeTrainer`] takes the steps and becomes a [`BridgeFit`]; its state can be kept and resumed bit for bit.

mod adam;
mod cycle;
mod error;
mod fit;
mod laid_out;
pub mod memory;
mod noise_identifiability;
mod observation_model;
mod settings;
mod state;
mod trainer;

pub use super::linear::LearnedPush;
pub use crate::posterior::linear::adequacy::{Adequacy, Shares};
pub use cycle::Cycle;
pub use error::{BridgeError, SettingProblem};
pub use fit::{BridgeFit, DrawnEffects, EdgeBeliefs, LevelResult, combined_scores};
pub use noise_identifiability::NoiseMoments;
pub use settings::{BRIDGE_SETTINGS, BridgeSettings, CheckedBridgeSettings, NoiseScale, Rates};
pub use state::BridgeState;
pub(crate) use trainer::state_key;
pub use trainer::{BridgeStep, BridgeTrainer, StopReason};
