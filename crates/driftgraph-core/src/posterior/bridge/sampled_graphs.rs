//! Graphs drawn from q(G), and how gradients pass through them.
//!
//! A few graphs are drawn per evaluation and the steps of the batch are dealt among them, so that
//! messages are summed by matrix products.

use super::structure::Draw;
use crate::graph::prior::EdgeRule;
use crate::numeric::real::{Real, ln, ln_1p};
use crate::random::{Purpose, RandomStream};

/// How the gradient passes through a sampled edge.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum GraphEstimator {
    /// A hard sample whose derivative is that of its probability.
    ///
    /// Exact on average where the objective is linear in every single edge, and biased by its
    /// curvature elsewhere; less so than the relaxed sample.
    #[default]
    Probability,
    /// A hard sample whose derivative is that of a relaxed one (Jang et al. 2017, arXiv:1611.01144).
    Gumbel {
        /// Temperature of the relaxation; positive.
        temperature: f64,
    },
}

/// Graphs drawn from q(G), with the derivative of every entry by its logit.
#[derive(Debug, Clone, Default)]
pub struct SampledGraphs {
    /// 0 or 1, one `[source, target]` after the other.
    pub graphs: Vec<Vec<f64>>,
    /// Derivatives by the logits.
    pub slopes: Vec<Vec<f64>>,
}

impl SampledGraphs {
    /// Draws `n_graphs` graphs.
    pub fn new(
        edge_logits: &[f64],
        rules: &[EdgeRule],
        estimator: GraphEstimator,
        n_graphs: usize,
        draw: Draw,
    ) -> Self {
        let mut random = RandomStream::new(draw.seed, Purpose::Graph, draw.number);
        let mut sampled = Self::default();
        for _ in 0..n_graphs {
            let (graph, slopes) = (edge_logits.iter().zip(rules))
                .map(|(&logit, rule)| {
                    let uniform = random.uniform().clamp(1e-12, 1.0 - 1e-12);
                    let shifted = logit + ln(uniform) - ln_1p(-uniform);
                    match rule {
                        EdgeRule::Forbidden => (0.0, 0.0),
                        EdgeRule::Required => (1.0, 0.0),
                        EdgeRule::Free => {
                            (f64::from(u8::from(shifted > 0.0)), estimator.slope(logit, shifted))
                        }
                    }
                })
                .unzip();
            sampled.graphs.push(graph);
            sampled.slopes.push(slopes);
        }
        sampled
    }
}

impl GraphEstimator {
    fn slope(self, logit: f64, shifted: f64) -> f64 {
        let derivative = |x: f64| x.sigmoid() * (-x).sigmoid();
        match self {
            Self::Probability => derivative(logit),
            Self::Gumbel { temperature } => derivative(shifted / temperature) / temperature,
        }
    }
}
