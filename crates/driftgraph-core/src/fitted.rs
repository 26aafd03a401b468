//! What can be asked of a result: how well edges match a known graph, and how far to trust them.

pub mod calibration;
pub mod log_odds;
pub mod score;
