//! All a solver may know about a process: drift and diagonal diffusion at a time and state.

/// A process dZ = drift(t, Z) dt + diffusion(t, Z) dW, each variable with its own Brownian motion.
///
/// Every slice holds one number per variable.
pub trait DiagonalSde {
    /// Number of variables, D.
    fn n_variables(&self) -> usize;

    /// Writes the drift of every variable into `out`.
    fn drift(&self, time: f64, state: &[f64], out: &mut [f64]);

    /// Writes the diffusion of every variable into `out`.
    fn diffusion(&self, time: f64, state: &[f64], out: &mut [f64]);

    /// Writes the derivative of each variable's diffusion by that same variable into `out`.
    fn diffusion_derivative(&self, time: f64, state: &[f64], out: &mut [f64]);
}
