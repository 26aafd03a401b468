//! Levels of rows that are far apart: what belongs together within a row, with or without a direction.

pub mod chain;
pub(crate) mod independence;
mod link;
mod monomials;
pub mod rows;
pub mod score_matching;
