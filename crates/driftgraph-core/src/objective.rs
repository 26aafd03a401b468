//! The evidence lower bound and its terms, each the log density or divergence of one step.

pub mod elbo;
pub mod initial_kl;
pub mod observation;
pub mod path_kl;
