//! What was measured: series with their own times and holes, their scaling, their solver steps.

pub mod grid;
pub mod preparation;
pub mod scaling;
pub mod series;
pub mod uninformative;
