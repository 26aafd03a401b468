//! Data with their true graph, for one variant and one seed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::edges::read_edges;
use driftgraph_data::{ReadOptions, load};
use driftgraph_systems::observe::observe;
use driftgraph_systems::{Dropping, Generated, MeasurementNoise, Recipe, generate, registry};

use super::plan::Source;
use crate::args::ExperimentArgs;

/// What is fitted, and what the result is compared with.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) data: SeriesSet,
    pub(super) truth: SignatureGraph,
}

impl From<Generated> for Sample {
    fn from(generated: Generated) -> Self {
        Self { data: generated.data, truth: generated.truth }
    }
}

/// Makes or reads the data of a variant.
pub(super) fn sample(source: &Source, seed: u64, args: &ExperimentArgs) -> anyhow::Result<Sample> {
    match *source {
        Source::Simulated { system, drop, standardise } => {
            let mut recipe = Recipe::paper(system, drop, seed)?;
            recipe.standardise = standardise;
            if args.quick {
                recipe.n_series = 3;
                recipe.n_scaling_series = 3;
                recipe.n_points = 200;
            }
            Ok(generate(registry::build(system, &[], seed)?.as_ref(), &recipe)?.into())
        }
        Source::Dream3 { n_genes, network } => {
            let folder = data_folder(args, "dream3")?.join("dream3").join(format!("size{n_genes}"));
            let table = folder.join(format!("{network}.csv"));
            read(&table, &folder.join(format!("{network}.truth.csv")))
        }
        Source::Netsim { drop } => {
            let folder = data_folder(args, "netsim")?.join("netsim");
            let table = folder.join("sim3_subjects2-6.csv");
            let Sample { data, truth } = read(&table, &folder.join("sim3.truth.csv"))?;
            let dropping = Dropping::TimesOfAllSeries(drop);
            let data = observe(&data, MeasurementNoise::Nothing, dropping, seed)?;
            Ok(Sample { data, truth })
        }
        Source::Linear => linear_system(seed, args.quick),
    }
}

/// A stable sparse linear system: size, density, noise, number and length of series all vary.
fn linear_system(seed: u64, quick: bool) -> anyhow::Result<Sample> {
    // Stream 0 of this purpose decides the couplings of the system itself.
    let mut random = RandomStream::new(seed, Purpose::System, 1);
    let n_variables = 5 + random.below(11);
    let n_parents = 1 + random.below(3);
    let diffusion = 0.2 + 0.8 * random.uniform();
    let n_series = 3 + random.below(18);
    let n_points = 30 + random.below(121);
    let gap = 0.05 + 0.25 * random.uniform();
    let measurement_noise = 0.1 * random.uniform();
    let parameters =
        [("variables", n_variables as f64), ("parents", n_parents as f64), ("noise", diffusion)];
    let system = registry::build("linear", &parameters, seed)?;
    let usual = Recipe::usual(system.as_ref(), seed);
    let n_points = if quick { 20 } else { n_points };
    let recipe = Recipe {
        n_series: if quick { 4 } else { n_series },
        n_points,
        time_range: (0.0, gap * (n_points - 1) as f64),
        noise: MeasurementNoise::Relative(measurement_noise),
        ..usual
    };
    Ok(generate(system.as_ref(), &recipe)?.into())
}

/// The folder that holds the folder of a benchmark.
fn data_folder(args: &ExperimentArgs, benchmark: &str) -> anyhow::Result<PathBuf> {
    let named = args.data.clone().or_else(|| std::env::var_os("DRIFTGRAPH_DATA").map(Into::into));
    let name = args.name.word();
    let folder = named.with_context(|| {
        format!("`{name}` needs data that are not part of this program; name their folder with `--data DIR`")
    })?;
    let missing = || format!("the data folder `{}` has no folder `{benchmark}`", folder.display());
    anyhow::ensure!(folder.join(benchmark).is_dir(), missing());
    Ok(folder)
}

fn read(table: &Path, truth: &Path) -> anyhow::Result<Sample> {
    let data = load(&[table.to_owned()], &ReadOptions::default())?.data;
    let graph = read_edges(truth, None)?.graph(data.variables());
    let truth = graph.with_context(|| format!("`{}` does not fit the data", truth.display()))?;
    Ok(Sample { data, truth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_systems_vary_in_every_respect_and_repeat_by_seed() {
        let all: Vec<Sample> = (0..40).map(|seed| linear_system(seed, false).unwrap()).collect();
        let differs = |value: &dyn Fn(&Sample) -> usize| {
            let values: std::collections::BTreeSet<usize> = all.iter().map(value).collect();
            values.len() > 2
        };
        assert!(differs(&|sample| sample.data.n_variables()));
        assert!(differs(&|sample| sample.data.n_series()));
        assert!(differs(&|sample| sample.data.n_rows() / sample.data.n_series()));
        assert!(differs(&|sample| sample.truth.n_edges() / sample.data.n_variables()));
        assert!(all.iter().all(|sample| (5..=15).contains(&sample.data.n_variables())));
        let again = linear_system(7, false).unwrap();
        let hash = |sample: &Sample| driftgraph_data::fingerprint(&sample.data);
        assert_eq!(hash(&again), hash(&all[7]));
    }
}
