//! Data with their true graph, for one variant and one seed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::edges::read_edges;
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, fingerprint, load};
use driftgraph_systems::observe::observe;
use driftgraph_systems::{Dropping, Generated, MeasurementNoise, Recipe, generate, registry};

use super::plan::Source;
use crate::args::ExperimentArgs;
use crate::output::write_file;

/// What is fitted, and what the result is compared with.
#[derive(Debug)]
pub(super) struct Sample {
    /// As they are in a file, so that the work can be repeated by hand.
    pub(super) loaded: Loaded,
    pub(super) truth: SignatureGraph,
    /// Of data and truth.
    pub(super) fingerprint: String,
}

impl Sample {
    /// Reads data with a true graph.
    #[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A short Lorenz system, kept in a folder.
    pub(in super::super) fn lorenz(folder: &Path, seed: u64) -> Sample {
        let recipe =
            Recipe { n_series: 2, n_points: 40, ..Recipe::paper("lorenz96", 0.3, seed).unwrap() };
        let system = registry::build("lorenz96", &[], seed).unwrap();
        let Generated { data, truth, .. } = generate(system.as_ref(), &recipe).unwrap();
        let sample = Sample::kept(&data, truth, &folder.join(format!("{seed}.csv"))).unwrap();
        assert_eq!(fingerprint(sample.data()), fingerprint(&data), "a file keeps every bit");
        sample
    }

    #[test]
    fn linear_systems_vary_in_every_respect_and_repeat_by_seed() {
        let all: Vec<Generated> = (0..40).map(|seed| linear_system(seed, false).unwrap()).collect();
        let differs = |value: &dyn Fn(&Generated) -> usize| {
            let values: std::collections::BTreeSet<usize> = all.iter().map(value).collect();
            values.len() > 2
        };
        assert!(differs(&|system| system.data.n_variables()));
        assert!(differs(&|system| system.data.n_series()));
        assert!(differs(&|system| system.data.n_rows() / system.data.n_series()));
        assert!(differs(&|system| system.truth.n_edges() / system.data.n_variables()));
        assert!(all.iter().all(|system| (5..=15).contains(&system.data.n_variables())));
        let again = linear_system(7, false).unwrap();
        assert_eq!(fingerprint(&again.data), fingerprint(&all[7].data));
    }
}
