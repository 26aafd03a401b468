//! Graphs drawn from the posterior.

use super::model::{EdgeLogOdds, FittedModel, sigmoids};
use crate::SignatureGraph;
use crate::random::{Purpose, RandomStream};

/// One graph of the posterior.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledGraph {
    /// Edges into drift or noise.
    pub lagged: SignatureGraph,
    /// Edges within a step, where the model has such effects.
    pub instant: Option<SignatureGraph>,
}

impl FittedModel {
    /// Draws graphs, each edge as often as it is believed to exist.
    pub fn sample_graphs(&self, n_graphs: usize, seed: u64) -> Vec<SampledGraph> {
        let EdgeLogOdds { lagged, instant } = self.believed_log_odds();
        let (lagged, instant) = (sigmoids(&lagged), instant.map(|odds| sigmoids(&odds)));
        let drawn = |probabilities: &[f64], random: &mut RandomStream| {
            let edges = probabilities.iter().map(|p| random.uniform() < *p).collect();
            SignatureGraph::from_matrix(self.n_variables(), edges)
                .expect("a draw has one entry per pair of variables")
        };
        let one = |number: usize| {
            let mut random = RandomStream::new(seed, Purpose::Graph, number as u64);
            SampledGraph {
                lagged: drawn(&lagged, &mut random),
                instant: instant.as_ref().map(|own| drawn(own, &mut random)),
            }
        };
        (0..n_graphs).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitted::model::LinearProcess;

    #[test]
    fn edges_come_as_often_as_their_probability_says() {
        let process = LinearProcess {
            effects: vec![-1.0, 0.5, 0.0, -1.0],
            ..LinearProcess::resting(vec!["a".into(), "b".into()])
        };
        let model = FittedModel::linear(&process).unwrap();
        let n = 2000;
        let graphs = model.sample_graphs(n, 3);
        assert_eq!(graphs, model.sample_graphs(n, 3));
        for (idx, p) in model.edge_probabilities().iter().enumerate() {
            let count = graphs.iter().filter(|graph| graph.lagged.matrix()[idx]).count();
            // Five deviations of a share over n draws; the seed is fixed.
            let tolerance = 5.0 * (p * (1.0 - p) / n as f64).sqrt() + 1e-12;
            assert!((count as f64 / n as f64 - p).abs() <= tolerance, "pair {idx}: {count}");
        }
    }
}
