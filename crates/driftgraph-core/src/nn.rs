//! Explicit layers: parameters in one flat buffer, `forward` into a trace, `backward` beside it.
//!
//! Only this folder knows how a layer's gradient is made. Layers hold no numbers, only the places
//! of their parameters ([`parameters::Slot`]); values, traces and gradients are slices the caller
//! owns. Everything is generic over [`Real`](crate::numeric::real::Real): training runs in `f32`, proofs in `f64`.

pub mod gru;
pub mod init;
pub mod linear;
pub mod mlp;
pub mod node_function;
pub mod parameters;
