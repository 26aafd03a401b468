//! q(G): independent edges with learned logits, their samples, entropy and divergence.

use super::prior::{EdgePrior, EdgeRule};
use crate::numeric::real::Real;

/// Probability of each edge `[source, target]`; exactly 0 or 1 where the edge is not learned.
pub fn edge_probabilities<R: Real>(edge_logits: &[R], rules: &[EdgeRule]) -> Vec<f64> {
    probabilities(edge_logits, rules).collect()
}

/// Σ of the edge probabilities: the number of edges to expect.
pub fn expected_edges<R: Real>(edge_logits: &[R], rules: &[EdgeRule]) -> f64 {
    probabilities(edge_logits, rules).sum()
}

fn probabilities<R: Real>(edge_logits: &[R], rules: &[EdgeRule]) -> impl Iterator<Item = f64> {
    edge_logits.iter().zip(rules).map(|(logit, rule)| match rule {
        EdgeRule::Free => logit.to_f64().sigmoid(),
        EdgeRule::Forbidden => 0.0,
        EdgeRule::Required => 1.0,
    })
}

/// Room for one sampled graph.
#[derive(Debug)]
pub struct SampledGraph<'a, R> {
    /// 0 or 1, `[source, target]`.
    pub edges: &'a mut [R],
    /// Derivative of each entry by its logit.
    pub slopes: &'a mut [R],
}

/// Draws one graph.
///
/// Hard Gumbel straight-through estimator (Jang et al. 2017, arXiv:1611.01144): the value is that
/// of the arg-max, the derivative that of sigmoid((logit + noise) / temperature). `logistic` is the
/// difference of the two Gumbel numbers of each edge.
pub fn sample_graph<R: Real>(
    edge_logits: &[R],
    rules: &[EdgeRule],
    logistic: &[R],
    temperature: f64,
    SampledGraph { edges, slopes }: SampledGraph<'_, R>,
) {
    let temperature = R::from_f64(temperature);
    for idx in 0..edge_logits.len() {
        let argument = (edge_logits[idx] + logistic[idx]) / temperature;
        let soft = argument.sigmoid();
        let free = (
            if argument > R::ZERO { R::ONE } else { R::ZERO },
            soft * (R::ONE - soft) / temperature,
        );
        (edges[idx], slopes[idx]) = match rules[idx] {
            EdgeRule::Free => free,
            EdgeRule::Forbidden => (R::ZERO, R::ZERO),
            EdgeRule::Required => (R::ONE, R::ZERO),
        };
    }
}

/// Entropy of q(G) in nats; adds `weight` times its gradient to `grad_logits`.
pub fn graph_entropy<R: Real>(
    edge_logits: &[R],
    rules: &[EdgeRule],
    weight: f64,
    grad_logits: &mut [R],
) -> f64 {
    let mut entropy = 0.0;
    for idx in free(rules) {
        let logit = edge_logits[idx].to_f64();
        let probability = logit.sigmoid();
        entropy += logit.softplus() - probability * logit;
        let slope = probability * (-logit).sigmoid();
        grad_logits[idx] += R::from_f64(-weight * logit * slope);
    }
    entropy
}

/// KL(q(G) || p(G)) of Eq. 11 (eq: ELBO 1), exact; adds its gradient to `grad_logits`.
pub fn graph_kl<R: Real>(edge_logits: &[R], prior: &EdgePrior, grad_logits: &mut [R]) -> f64 {
    let mut kl = 0.0;
    for idx in free(prior.rules()) {
        let (logit, prior_logit) = (edge_logits[idx].to_f64(), prior.log_odds()[idx]);
        let probability = logit.sigmoid();
        // With log p = logit - softplus(logit) and log(1 - p) = -softplus(logit).
        kl += probability * (logit - prior_logit) + prior_logit.softplus() - logit.softplus();
        let slope = probability * (-logit).sigmoid();
        grad_logits[idx] += R::from_f64(slope * (logit - prior_logit));
    }
    kl
}

fn free(rules: &[EdgeRule]) -> impl Iterator<Item = usize> {
    (0..rules.len()).filter(|&idx| rules[idx] == EdgeRule::Free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_and_divergence_by_hand() {
        let rules = [EdgeRule::Free; 1];
        let prior = EdgePrior::new(1, 1.5);
        let logit = [0.8];
        let (p, pi) = (0.8_f64.sigmoid(), (-1.5_f64).sigmoid());
        let entropy = -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
        let kl = p * (p / pi).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - pi)).ln();
        let mut unused = [0.0];
        // Rounding of a few operations.
        assert!((graph_entropy(&logit, &rules, 1.0, &mut unused) - entropy).abs() < 1e-14);
        assert!((graph_kl(&logit, &prior, &mut unused) - kl).abs() < 1e-14);
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let prior = EdgePrior::new(1, 0.7);
        for logit in [-4.0, -0.3, 0.0, 2.5] {
            let step = 1e-5;
            let (mut entropy_grad, mut kl_grad) = ([0.0], [0.0]);
            graph_entropy(&[logit], prior.rules(), 1.0, &mut entropy_grad);
            graph_kl(&[logit], &prior, &mut kl_grad);
            let entropy = |x: f64| graph_entropy(&[x], prior.rules(), 1.0, &mut [0.0]);
            let kl = |x: f64| graph_kl(&[x], &prior, &mut [0.0]);
            // Third derivatives of order 1 times step^2, and rounding 1e-16 / step.
            let central =
                |f: &dyn Fn(f64) -> f64| (f(logit + step) - f(logit - step)) / (2.0 * step);
            assert!((central(&entropy) - entropy_grad[0]).abs() < 1e-9);
            assert!((central(&kl) - kl_grad[0]).abs() < 1e-9);
        }
    }

    #[test]
    fn the_divergence_is_zero_at_the_prior_and_only_there() {
        let prior = EdgePrior::new(1, 2.0);
        assert!(graph_kl(&[-2.0], &prior, &mut [0.0]).abs() < 1e-15);
        assert!(graph_kl(&[-1.9], &prior, &mut [0.0]) > 0.0);
    }

    #[test]
    fn fixed_edges_are_exact_in_samples_probabilities_and_terms() {
        let mut prior = EdgePrior::new(2, 1.0);
        prior.know(0, 1, 0.0).unwrap();
        prior.know(1, 0, 1.0).unwrap();
        let logits = [0.0, 50.0, -50.0, 0.0];
        let (mut graph, mut slopes) = ([9.0; 4], [9.0; 4]);
        sample_graph(
            &logits,
            prior.rules(),
            &[0.1; 4],
            0.25,
            SampledGraph { edges: &mut graph, slopes: &mut slopes },
        );
        assert_eq!((graph[1], slopes[1], graph[2], slopes[2]), (0.0, 0.0, 1.0, 0.0));
        assert_eq!(edge_probabilities(&logits, prior.rules()), [0.5, 0.0, 1.0, 0.5]);
        let mut grads = [0.0; 4];
        let kl = graph_kl(&logits, &prior, &mut grads);
        assert_eq!((grads[1], grads[2]), (0.0, 0.0));
        assert!((kl - 2.0 * graph_kl(&[0.0], &EdgePrior::new(1, 1.0), &mut [0.0])).abs() < 1e-15);
    }

    #[test]
    fn samples_have_the_edges_probability() {
        let mut random = crate::random::RandomStream::new(2, crate::random::Purpose::Graph, 0);
        let (n, logit) = (40_000, -1.1);
        let present: f64 = (0..n)
            .map(|_| {
                let uniform = random.uniform();
                let logistic = [uniform.ln() - (-uniform).ln_1p()];
                let (mut graph, mut slopes) = ([0.0], [0.0]);
                let rules = [EdgeRule::Free];
                sample_graph(
                    &[logit],
                    &rules,
                    &logistic,
                    0.25,
                    SampledGraph { edges: &mut graph, slopes: &mut slopes },
                );
                graph[0]
            })
            .sum();
        // Standard error sqrt(p (1 - p) / n) = 0.0022; five of them, fixed seed.
        assert!((present / f64::from(n) - logit.sigmoid()).abs() < 0.011);
    }
}
