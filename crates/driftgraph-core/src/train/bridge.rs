//! Fits the bridge posterior: settings, training loop and stop rule.
//!
//! [`fit_bridge`] runs from data to a [`BridgeFit`]; a [`BridgeTrainer`] gives the steps one by one, and
//! its state can be kept and resumed bit for bit.

mod adam;
mod cycle;
mod error;
mod fit;
pub mod memory;
mod noise_identifiability;
mod observation_model;
mod settings;
mod state;
mod trainer;

pub use cycle::Cycle;
pub use error::{BridgeError, Divergence, SettingProblem};
pub use fit::{BridgeFit, combined_scores, fit_bridge};
pub use noise_identifiability::NoiseMoments;
pub use settings::{
    BRIDGE_SETTINGS, BridgeSetting, BridgeSettings, CheckedBridgeSettings, NoiseScale, Rates,
};
pub use state::BridgeState;
pub use trainer::{BridgeProgress, BridgeTrainer, StopReason};
