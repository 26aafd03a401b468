//! Training: settings, optimiser, schedules, and the one loop that fits a model.

pub mod adam;
