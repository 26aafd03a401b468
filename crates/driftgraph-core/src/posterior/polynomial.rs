//! Polynomial drift from coarse rows: paths between rows and the terms of the drift found together.
//!
//! On standardised values the drift of variable j is Σ_f θ_fj φ_f(u) over the monomials and functions of a [`library`]. Between two
//! rows that are complete lies a gap ([`gaps`]) of some sub-steps; its path is linearised around the midpoints of these
//! ([`tangent`]), so that the row at its end, given the one at its beginning, is normal with a mean and a covariance that
//! depend on θ. Of many variables each target gets some sources alone ([`skeleton`]). [`descent`] alternates Gauss-Newton steps of θ, of the paths and of the noise; the gradient of the
//! log-determinant of that covariance is part of it, without which rates are biased towards zero. [`belief`] has what
//! is believed in the end: log-odds of sources, the evidence, and [`equations`] in the user's units; [`hidden_path`] is the
//! path of a whole series, cells that were not measured among it.
//!
//! Gaps are worked on one by one, and sums over them are reduced in a fixed order: any number of threads gives the
//! same bits.

pub mod belief;
pub mod descent;
pub mod equations;
pub mod gaps;
pub mod hidden_path;
pub mod library;
mod normal_equations;
pub mod skeleton;
pub mod tangent;
