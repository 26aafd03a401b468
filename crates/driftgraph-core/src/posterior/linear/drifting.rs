//! Linear effects that move in time as random walks.
//!
//! Given the paths and all other effects, one effect over time is a scalar random walk seen through the steps: its
//! evidence, moments and draws are those of a filter along the knots ([`walk`]). Gibbs chains ([`chain`]) visit every
//! effect in turn and draw whether it is absent, constant or drifting with its course integrated out, then its course.

pub mod chain;
pub mod steps;
pub mod walk;
