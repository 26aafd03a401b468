//! Settings chosen without the truth: candidates compared on held-out series.

pub mod kalman;
