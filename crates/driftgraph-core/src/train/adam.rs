//! The Adam optimiser over one flat buffer.

use crate::numeric::kernels::vectorised;
use crate::numeric::real::Real;

/// Adam's constants: Kingma and Ba (2015), arXiv:1412.6980, with PyTorch's defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// Decay of the first moments.
    pub(crate) beta_1: f64,
    /// Decay of the second moments.
    pub(crate) beta_2: f64,
    /// Added to the root of the second moments.
    pub(crate) epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8 }
    }
}

/// Moments of the gradient and the number of steps behind them.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AdamState<R> {
    /// Steps taken.
    pub n_steps: u64,
    /// Running means of the gradient.
    pub(crate) first_moments: Vec<R>,
    /// Running means of its square.
    pub(crate) second_moments: Vec<R>,
}

impl<R: Real> AdamState<R> {
    /// No step taken yet.
    pub fn new(n_parameters: usize) -> Self {
        let zeros = vec![R::ZERO; n_parameters];
        Self { n_steps: 0, first_moments: zeros.clone(), second_moments: zeros }
    }
}

impl Adam {
    /// Takes one step against the gradient; a rate of 0 still updates the moments.
    pub fn step<R: Real>(
        &self,
        learning_rate: f64,
        gradient: &[R],
        state: &mut AdamState<R>,
        parameters: &mut [R],
    ) {
        state.n_steps += 1;
        let n_steps = state.n_steps as f64;
        let rate = R::from_f64(learning_rate / (1.0 - libm::pow(self.beta_1, n_steps)));
        let root = R::from_f64((1.0 - libm::pow(self.beta_2, n_steps)).sqrt());
        let (keep_1, keep_2) = (R::from_f64(self.beta_1), R::from_f64(self.beta_2));
        let (take_1, take_2) = (R::from_f64(1.0 - self.beta_1), R::from_f64(1.0 - self.beta_2));
        let epsilon = R::from_f64(self.epsilon);
        let (first, second) = (&mut state.first_moments, &mut state.second_moments);
        vectorised(
            #[inline(always)]
            || {
                let moments = first.iter_mut().zip(second.iter_mut());
                for ((parameter, &grad), (first, second)) in
                    parameters.iter_mut().zip(gradient).zip(moments)
                {
                    *first = keep_1 * *first + take_1 * grad;
                    *second = keep_2 * *second + take_2 * grad * grad;
                    *parameter -= rate * *first / (second.sqrt() / root + epsilon);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_moves_by_the_learning_rate_against_the_sign() {
        let mut state = AdamState::new(3);
        let mut parameters = [1.0, 1.0, 1.0];
        Adam::default().step(0.1, &[5.0, -0.2, 0.0], &mut state, &mut parameters);
        // Bias-corrected moments are g and g^2: the step is rate * g / (|g| + 1e-8).
        assert!((parameters[0] - 0.9).abs() < 1e-8 && (parameters[1] - 1.1).abs() < 1e-8);
        assert_eq!(parameters[2], 1.0);
    }

    #[test]
    fn a_rate_of_zero_updates_the_moments_only() {
        let mut state = AdamState::new(1);
        let mut parameters = [1.0_f32];
        Adam::default().step(0.0, &[2.0], &mut state, &mut parameters);
        assert_eq!((parameters[0], state.n_steps), (1.0, 1));
        assert!((state.first_moments[0] - 0.2).abs() < 1e-7);
    }
}
