//! q(path | graph): how latent paths are drawn given the series, and the gradients of the ELBO.

pub mod batch;
pub mod bridge;
pub mod chunk;
pub mod draws;
pub mod encoder;
pub mod layout;
pub mod level;
pub mod linear;
pub mod plan;
pub mod polynomial;
pub mod simulated;
pub mod smoother;
pub mod workspace;
