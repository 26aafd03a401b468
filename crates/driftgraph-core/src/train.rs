//! Training: settings, optimiser, schedules, and the one loop that fits a model.

pub mod adam;
pub mod bridge;
pub mod error;
pub mod fit;
pub mod levels;
pub mod linear;
pub mod memory;
pub mod polynomial;
pub mod preset;
pub mod progress;
pub mod schedule;
pub mod select;
pub mod settings;
pub mod time;
pub mod trainer;
