//! Stochastic processes dZ = drift dt + diffusion dW with diagonal diffusion, and their solvers.

pub mod brownian;
pub(crate) mod node_block;
pub(crate) mod part;
pub mod prior;
pub mod sde;
pub mod solver;
