//! One unit of work and its result, kept in a file so that it is never computed twice.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::calibration::Reliability;
use driftgraph_core::fitted::score::{GraphMetrics, MetricOptions, SelfEdges};
use driftgraph_data::edges::write_edges;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::work::{Bench, Found};
use crate::args::Method;
use crate::commands::score::ranked_metrics;
use crate::cpu_time::cpu_seconds;
use crate::output::write_file;

/// Changes whenever older results mean something else.
const FORMAT: u32 = 2;

/// What decides the result of a cell; a change of any of it makes another cell.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CellInput<'a> {
    pub(super) experiment: &'a str,
    pub(super) variant: &'a str,
    pub(super) method: &'a str,
    pub(super) seed: u64,
    /// Of data and truth.
    pub(super) fingerprint: &'a str,
    pub(super) settings: &'a Value,
}

impl CellInput<'_> {
    /// The name of the cell's files: what people look for, then a hash of everything.
    pub(super) fn key(&self) -> String {
        let all = (FORMAT, env!("CARGO_PKG_VERSION"), self);
        let text = serde_json::to_string(&all).expect("names and settings can be written");
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let words = [self.experiment, self.variant, self.method].map(file_word);
        format!("{}_seed{}_{}", words.join("_"), self.seed, &hash[..12])
    }
}

/// `p = 0.3` becomes `p0.3`: names without blanks need no quotes.
fn file_word(name: &str) -> String {
    name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-.".contains(*letter)).collect()
}

/// What a method found, and how well it matches the truth.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CellResult {
    pub(super) key: String,
    pub(super) experiment: String,
    pub(super) variant: String,
    pub(super) method: String,
    pub(super) seed: u64,
    /// Version of this program.
    pub(super) driftgraph: String,
    /// Hash of the program's file: two builds of one version may differ.
    pub(super) program: String,
    /// The same work as one command, for those who want to repeat it by hand.
    pub(super) command: String,
    pub(super) settings: Value,
    /// Hash of data and truth.
    pub(super) fingerprint: String,
    pub(super) n_series: usize,
    pub(super) n_variables: usize,
    pub(super) n_rows: usize,
    pub(super) with_self_edges: Scores,
    pub(super) without_self_edges: Scores,
    pub(super) seconds: f64,
    /// Of all threads; `None` where the system does not tell.
    pub(super) cpu_seconds: Option<f64>,
    pub(super) details: Details,
}

impl CellResult {
    /// Whether this is the cell of a variant, method and seed.
    pub(super) fn is(&self, variant: &str, method: Method, seed: u64) -> bool {
        (self.variant.as_str(), self.method.as_str(), self.seed) == (variant, method.word(), seed)
    }

    pub(super) fn scores(&self, self_edges: SelfEdges) -> &Scores {
        match self_edges {
            SelfEdges::Kept => &self.with_self_edges,
            SelfEdges::Dropped => &self.without_self_edges,
        }
    }
}

/// A comparison with the truth under one convention.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Scores {
    pub(super) metrics: GraphMetrics,
    /// `None` for methods without probabilities.
    pub(super) reliability: Option<Reliability>,
}

/// What only some methods have to tell.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    /// The candidate whose edges these are.
    pub(super) chosen: Option<String>,
    /// All candidates with their held-out scores.
    pub(super) selection: Option<Value>,
    /// Whether training ended by itself.
    pub(super) converged: Option<bool>,
    /// How much of the planned training was done.
    pub(super) epochs: Option<Epochs>,
    /// Metrics along the way.
    pub(super) history: Vec<Moment>,
    /// The candidates as the truth judges them, for information only.
    pub(super) by_the_truth: Vec<Judged>,
}

/// Passes over the data.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Epochs {
    pub(super) reached: u64,
    pub(super) planned: u64,
    /// Whether training ended because it was not finite any more.
    pub(super) diverged: bool,
}

/// What work has cost.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    /// By the clock.
    pub(super) seconds: f64,
    /// Of all threads; `None` where the system does not tell.
    pub(super) cpu_seconds: Option<f64>,
}

impl Spent {
    /// Since a moment, given by the clock and by the CPU time of then.
    pub(super) fn since(clock: Instant, cpu: Option<f64>) -> Self {
        let cpu_seconds = cpu_seconds().zip(cpu).map(|(end, start)| end - start);
        Self { seconds: clock.elapsed().as_secs_f64(), cpu_seconds }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        let cpu_seconds = match (self.cpu_seconds, other.cpu_seconds) {
            (Some(own), Some(other)) => Some(own + other),
            (None, other) => other,
            (own, None) => own,
        };
        Self { seconds: self.seconds + other.seconds, cpu_seconds }
    }
}

/// Metrics during training, under the paper's convention.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Moment {
    /// Epoch of the paper's training, step of the bridge's.
    pub(super) epoch: u64,
    pub(super) auroc: Option<f64>,
    pub(super) f1: Option<f64>,
    pub(super) tpr: Option<f64>,
    pub(super) fdr: Option<f64>,
}

impl Moment {
    /// Compares a ranking and probabilities with the truth.
    pub(super) fn new(
        epoch: u64,
        (ranking, probabilities): (&EdgeScores, &EdgeScores),
        bench: Bench<'_>,
    ) -> Self {
        let options = MetricOptions::new(bench.self_edges);
        let metrics = ranked_metrics(probabilities, ranking, &bench.sample.truth, options);
        let metrics = metrics.expect("truth and data have the same variables");
        Self { epoch, auroc: metrics.auroc, f1: metrics.f1, tpr: metrics.tpr, fdr: metrics.fdr }
    }
}

/// A candidate fitted to all data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) name: String,
    pub(super) auroc: Option<f64>,
}

/// The folder of an experiment.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn create(folder: &Path) -> anyhow::Result<Self> {
        make_folder(&folder.join("cells"))?;
        Ok(Self::open(folder))
    }

    /// A folder that has no cells of its own.
    pub(super) fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where long work is kept on the way.
    pub(super) fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoint")
    }

    /// The result of a finished cell.
    pub(super) fn find<T: DeserializeOwned>(&self, key: &str) -> anyhow::Result<Option<T>> {
        let path = self.cell_file(key);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let cell = serde_json::from_str(&text);
        cell.map(Some).with_context(|| {
            format!("`{}` is no result of this program; delete it to go on", path.display())
        })
    }

    /// Keeps a result; the cell's own file comes last, since its presence says that all is done.
    pub(super) fn keep(
        &self,
        cell: &CellResult,
        variables: &[String],
        found: &Found,
    ) -> anyhow::Result<()> {
        let mut columns = Vec::new();
        if let Some(probabilities) = &found.probabilities {
            columns.push(("probability", probabilities.matrix().to_vec()));
        }
        columns.push(("score", found.ranking.matrix().to_vec()));
        let edges = self.folder.join("edges");
        make_folder(&edges)?;
        let edges = edges.join(format!("{}.csv", cell.key));
        write_file(&edges, |out| write_edges(out, variables, &found.ranking, &columns))?;
        self.keep_cell(&cell.key, cell)
    }

    /// Keeps the result of a cell whose other files, if any, are there.
    pub(super) fn keep_cell(&self, key: &str, cell: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(cell)?;
        write_file(&self.cell_file(key), |out| writeln!(out, "{text}"))
    }

    /// Writes one of the experiment's own files.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_file(&self.folder.join(name), |out| out.write_all(text.as_bytes()))
    }

    fn cell_file(&self, key: &str) -> PathBuf {
        self.folder.join("cells").join(format!("{key}.json"))
    }
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path)
        .with_context(|| format!("cannot make the folder `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_change_of_what_decides_a_result_makes_another_cell() {
        let settings = json!({"steps": 40});
        let input = CellInput {
            experiment: "lorenz",
            variant: "p = 0.3",
            method: "bridge",
            seed: 1,
            fingerprint: "abc",
            settings: &settings,
        };
        let key = input.key();
        assert!(key.starts_with("lorenz_p0.3_bridge_seed1_"), "{key}");
        assert_eq!(key, input.clone().key());
        let other = json!({"steps": 41});
        for changed in [
            CellInput { settings: &other, ..input.clone() },
            CellInput { fingerprint: "abd", ..input.clone() },
            CellInput { seed: 2, ..input.clone() },
            CellInput { method: "var", ..input.clone() },
        ] {
            assert_ne!(changed.key(), key);
        }
    }
}
