//! Data with their true graph, for one variant and one seed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::edges::{read_edges, write_truth};
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, fingerprint, load};
use driftgraph_systems::observe::observe;
use driftgraph_systems::{
    Dropping, Generated, MeasurementNoise, Recipe, families, generate, registry,
};

use super::variants::{KnockoutArm, Source};
use crate::args::ExperimentArgs;
use crate::commands::generate::knockout_table;
use crate::output::write_file;

/// What is fitted, and what the result is compared with.
#[derive(Debug)]
pub(super) struct Sample {
    /// As they are in a file, so that the work can be repeated by hand.
    pub(super) loaded: Loaded,
    pub(super) truth: SignatureGraph,
    /// Of data and truth.
    pub(super) fingerprint: String,
    /// How the file was read.
    pub(super) options: ReadOptions,
}

impl Sample {
    /// Reads data with a true graph.
    fn read(table: &Path, truth: &Path) -> anyhow::Result<Self> {
        let loaded = load(&[table.to_owned()], &ReadOptions::default())?;
        let graph = read_edges(truth, None)?.graph(loaded.data.variables());
        let graph =
            graph.with_context(|| format!("`{}` does not fit the data", truth.display()))?;
        Ok(Self::new(loaded, graph))
    }

    /// Writes data with their truth beside them, unless they are there already, and reads them back.
    pub(super) fn kept(
        data: &SeriesSet,
        truth: SignatureGraph,
        file: &Path,
    ) -> anyhow::Result<Self> {
        let mut text = Vec::new();
        write_series(&mut text, data)?;
        if std::fs::read(file).ok().as_deref() != Some(&text) {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
            write_file(file, |out| out.write_all(&text))?;
            let edges = file.with_extension("truth.csv");
            write_file(&edges, |out| write_truth(out, data.variables(), &truth, |_, _| None))?;
        }
        Ok(Self::new(load(&[file.to_owned()], &ReadOptions::default())?, truth))
    }

    /// The same with a table of what was done beside the data.
    fn with_interventions(self, table: &str, file: &Path) -> anyhow::Result<Self> {
        let beside = file.with_extension("interventions.csv");
        write_file(&beside, |out| out.write_all(table.as_bytes()))?;
        let options = ReadOptions { interventions: Some(beside), ..ReadOptions::default() };
        let loaded = load(&[file.to_owned()], &options)?;
        Ok(Self { options, ..Self::new(loaded, self.truth) })
    }

    fn new(loaded: Loaded, truth: SignatureGraph) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(fingerprint(&loaded.data).as_bytes());
        for (source, target) in truth.edges() {
            hasher.update(format!("{source},{target};").as_bytes());
        }
        let fingerprint = hasher.finalize().to_hex()[..32].to_owned();
        Self { loaded, truth, fingerprint, options: ReadOptions::default() }
    }

    pub(super) fn data(&self) -> &SeriesSet {
        &self.loaded.data
    }
}

/// Makes or reads the data of a variant; what is made goes to `file`.
pub(super) fn sample(
    source: &Source,
    seed: u64,
    args: &ExperimentArgs,
    file: &Path,
) -> anyhow::Result<Sample> {
    let Generated { data, truth, .. } = match *source {
        Source::Simulated { system, drop, standardise } => {
            let mut recipe = Recipe::paper(system, drop, seed)?;
            recipe.standardise = standardise;
            if args.quick {
                recipe.n_series = 3;
                recipe.n_scaling_series = 3;
                recipe.n_points = 200;
            }
            generate(registry::build(system, &[], seed)?.as_ref(), &recipe)?
        }
        Source::Dream3 { n_genes, network } => {
            let folder = data_folder(args, "dream3")?.join("dream3").join(format!("size{n_genes}"));
            let table = folder.join(format!("{network}.csv"));
            return Sample::read(&table, &folder.join(format!("{network}.truth.csv")));
        }
        Source::Netsim { drop } => {
            let folder = data_folder(args, "netsim")?.join("netsim");
            let table = folder.join("sim3_subjects2-6.csv");
            let whole = Sample::read(&table, &folder.join("sim3.truth.csv"))?;
            if drop == 0.0 {
                return Ok(whole);
            }
            let dropping = Dropping::TimesOfAllSeries(drop);
            let data = observe(whole.data(), MeasurementNoise::Nothing, dropping, seed)?;
            return Sample::kept(&data, whole.truth, file);
        }
        Source::Linear => linear_system(seed, args.quick)?,
        Source::Gap(gap) => gap.generate(seed, args.quick)?,
        Source::Knockouts(arm) => return knockouts(arm, seed, args, file),
        Source::Family(name) => {
            let member = families::find(name)?.member(seed)?;
            return Sample::kept(&member.data, member.truth, file);
        }
    };
    Sample::kept(&data, truth, file)
}

/// A network of ten genes, few rows in each of ten series.
fn knockouts(
    arm: KnockoutArm,
    seed: u64,
    args: &ExperimentArgs,
    file: &Path,
) -> anyhow::Result<Sample> {
    let system = registry::build("gene-network", &[], seed)?;
    let recipe = Recipe {
        n_series: 10,
        n_points: if args.quick { 8 } else { 21 },
        noise: MeasurementNoise::Relative(0.05),
        n_knockouts: if arm == KnockoutArm::Alone { 0 } else { 10 },
        ..Recipe::usual(system.as_ref(), seed)
    };
    let Generated { data, truth, .. } = generate(system.as_ref(), &recipe)?;
    let sample = Sample::kept(&data, truth, file)?;
    match arm {
        KnockoutArm::Told => sample.with_interventions(&knockout_table(&recipe, &data), file),
        KnockoutArm::Alone | KnockoutArm::Untold => Ok(sample),
    }
}

/// A stable sparse linear system: size, density, noise, number and length of series all vary.
fn linear_system(seed: u64, quick: bool) -> anyhow::Result<Generated> {
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
    Ok(generate(system.as_ref(), &recipe)?)
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
