//! Learning rate and annealing weight of each step, and the gradient's largest norm.

use crate::numeric::real::Real;

/// What the learning rate does after its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Stays.
    Constant,
    /// Falls along half a cosine to 2 % at the last step.
    #[default]
    Cosine,
}

/// What is left of the learning rate at the end of a cosine.
const FINAL_SHARE: f64 = 0.02;

/// Share of the learning rate at step 0, 1, ...; the first step of a warm-up has 0.
pub(crate) fn learning_rate_share(step: u64, warmup_steps: u64, decay: Decay, n_steps: u64) -> f64 {
    if step < warmup_steps {
        return step as f64 / warmup_steps as f64;
    }
    match decay {
        Decay::Constant => 1.0,
        Decay::Cosine => {
            let length = n_steps.saturating_sub(warmup_steps).max(1) as f64;
            let done = ((step - warmup_steps) as f64 / length).min(1.0);
            let share = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
            FINAL_SHARE + (1.0 - FINAL_SHARE) * share
        }
    }
}

/// Weight of initial and path KL at step 0, 1, ...: (step + 1) / `kl_warmup_steps`, at most 1.
pub fn kl_weight(step: u64, kl_warmup_steps: u64) -> f64 {
    if kl_warmup_steps == 0 { 1.0 } else { ((step + 1) as f64 / kl_warmup_steps as f64).min(1.0) }
}

/// Euclidean norm of a gradient.
pub fn gradient_norm<R: Real>(gradient: &[R]) -> f64 {
    gradient.iter().map(|entry| entry.to_f64().powi(2)).sum::<f64>().sqrt()
}

/// Factor that shortens a gradient of this norm to `clip_norm`.
pub(crate) fn clip_factor(norm: f64, clip_norm: Option<f64>) -> f64 {
    clip_norm.map_or(1.0, |limit| if norm > limit { limit / norm } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_starts_at_zero_and_ends_at_one() {
        let share = |step| learning_rate_share(step, 100, Decay::Constant, 1000);
        assert_eq!((share(0), share(25), share(100), share(999)), (0.0, 0.25, 1.0, 1.0));
        assert_eq!(learning_rate_share(0, 0, Decay::Constant, 10), 1.0);
    }

    #[test]
    fn the_cosine_falls_from_one_to_its_final_share() {
        let share = |step| learning_rate_share(step, 100, Decay::Cosine, 1100);
        assert_eq!(share(100), 1.0);
        assert!((share(600) - 0.51).abs() < 1e-12);
        assert!((share(1100) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn annealing_is_that_of_the_published_code() {
        assert_eq!(
            (kl_weight(0, 1000), kl_weight(999, 1000), kl_weight(5000, 1000)),
            (0.001, 1.0, 1.0)
        );
        assert_eq!(kl_weight(0, 0), 1.0);
    }

    #[test]
    fn clipping_keeps_short_gradients() {
        assert_eq!(gradient_norm(&[3.0, 4.0]), 5.0);
        assert_eq!(clip_factor(5.0, Some(10.0)), 1.0);
        assert_eq!(clip_factor(5.0, Some(1.0)), 0.2);
        assert_eq!(clip_factor(5.0, None), 1.0);
    }
}
