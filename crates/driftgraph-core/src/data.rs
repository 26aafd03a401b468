//! What was measured: series with their own times and holes, what was done to them, their scaling, their solver steps.

pub mod experiment;
pub mod grid;
pub mod preparation;
pub mod scaling;
pub mod series;
pub mod settled;
pub mod uninformative;
