//! Arithmetic below everything else: floats with exp and ln of their own, loops over slices, small matrices.

pub mod kernels;
pub(crate) mod linalg;
pub mod real;
pub(crate) mod small;
pub(crate) mod special;
