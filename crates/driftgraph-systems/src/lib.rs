//! Known stochastic systems with true graphs, and data sets drawn from them.
//!
//! A [`System`] is built by name and parameters ([`registry::build`]); a [`Recipe`] says how many
//! series, at which times, with which noise and holes; [`generate()`] turns both into a data set
//! with its true graph. Everything random is a function of seeds: the same seeds give the same
//! bits for any number of threads.
//!
//! ```
//! use driftgraph_systems::{Recipe, generate, registry};
//!
//! let system = registry::build("lorenz96", &[("variables", 6.0)], 0)?;
//! let recipe = Recipe { n_series: 3, ..Recipe::usual(system.as_ref(), 1) };
//! let generated = generate(system.as_ref(), &recipe)?;
//! assert_eq!(generated.data.n_series(), 3);
//! assert_eq!(generated.truth.n_edges(), 4 * 6);
//! # Ok::<(), driftgraph_systems::SystemError>(())
//! ```

#![warn(clippy::unwrap_used)]

pub mod error;
pub mod registry;
pub mod system;

pub mod bimodal;
pub mod gene_network;
pub mod glycolysis;
pub mod kuramoto;
pub mod linear;
pub mod lorenz63;
pub mod lorenz96;
pub mod lotka_volterra;

mod couplings;
pub mod families;

pub mod generate;
pub mod observe;
pub mod paper;
pub mod recipe;
pub mod signs;

pub use error::SystemError;
pub use generate::{Generated, generate};
pub use linear::LinearSde;
pub use observe::{Dropping, MeasurementNoise, Sampling};
pub use recipe::Recipe;
pub use signs::{EdgeSigns, Sign};
pub use system::{System, UsualTimes};
