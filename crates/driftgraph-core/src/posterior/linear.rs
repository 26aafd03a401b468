//! Linear drift in closed form: coordinate ascent, then a Gibbs sampler started from it.
//!
//! On standardised values a step of length h adds c_j [h (b_j + Σ_i W_ij z_i) + sqrt(h g_j) e_j] to variable j, where
//! c_j is the usual size of its increments and W_ij = G_ij A_ij is a gated effect with A_ij ~ N(0, slab²). Given the
//! paths every question is a regression on the same sums ([`sums`]); given the effects the paths are those of a
//! Kalman smoother, over all variables at once ([`joint`]) or one by one where that would cost too much ([`single`]).
//! [`ascent`] alternates the two until a lower bound of the evidence stands still; [`gibbs`] draws paths, gates,
//! effects and scales in turn, and so has what independent factors cannot have: probabilities of edges that compete.
//! [`adequacy`] asks what the innovations still contain, so that a wrong model is not believed.
//!
//! Variables and series are kept in an order that depends on their values alone, so that the order in a table
//! decides nothing.

pub mod adequacy;
pub mod ascent;
pub mod drifting;
pub mod dynamics;
pub mod effect_rows;
pub mod gibbs;
pub mod grid;
pub mod joint;
pub mod pools;
pub mod regimes;
pub mod single;
pub mod sums;
