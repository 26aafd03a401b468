//! Directed graphs over the variables, row = source and column = target, cycles allowed.

pub mod density;
pub mod limited_prior;
pub mod posterior;
pub mod prior;
pub mod scores;
pub mod signature;
