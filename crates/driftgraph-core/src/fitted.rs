//! What can be asked of a result: its edges, new paths, futures, hidden states, and "what if".
//!
//! A [`model::FittedModel`] is everything a fit has learned, whichever posterior it used; it can be
//! taken apart into named arrays and put together again. Each question is one call on it: `edges`,
//! `simulate`, `forecast`, `impute`, `intervene`, `log_likelihoods`, all in the user's names and units.

pub mod accuracy;
pub mod arrays;
pub mod bands;
pub mod calibration;
mod dynamics;
pub mod edges;
mod engine;
pub mod equations;
pub mod error;
pub mod expression;
pub mod forecast;
mod hidden;
pub mod impute;
pub mod intervene;
pub mod intervention;
pub mod law;
pub mod likelihood;
pub mod model;
mod refit;
pub mod sample;
mod schedule;
pub mod score;
pub mod simulate;
mod units;

pub use dynamics::GraphChoice;
pub use engine::ShareDone;
