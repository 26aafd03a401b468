//! Stochastic processes dZ = drift dt + diffusion dW with diagonal diffusion, and their solvers.

pub mod brownian;
pub mod prior;
pub mod sde;
pub mod solver;
