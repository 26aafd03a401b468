//! Levels of rows that are far apart: what belongs together within a row, with or without a direction.

pub mod chain;
mod link;
mod monomials;
pub mod rows;
pub mod score_matching;
