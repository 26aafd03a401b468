//! Directed graphs over the variables, row = source and column = target, cycles allowed.

pub mod scores;
pub mod signature;
