//! What can be asked of a result: how well a ranking of edges matches a known graph.

pub mod log_odds;
pub mod score;
