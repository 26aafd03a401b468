//! One unit of work and its result, kept in a file so that it is never computed twice.

use std::path::{Path, PathBuf};

use anyhow::Context;
use driftgraph_core::fitted::calibration::Reliability;
use driftgraph_core::fitted::score::{GraphMetrics, SelfEdges};
use driftgraph_data::edges::write_edges;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::work::Found;
use crate::args::Method;
use crate::output::write_file;

/// Changes whenever older results mean something else.
const FORMAT: u32 = 1;

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

/// Metrics during training, under the paper's convention.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Moment {
    pub(super) epoch: u64,
    pub(super) auroc: Option<f64>,
    pub(super) f1: Option<f64>,
    pub(super) tpr: Option<f64>,
    pub(super) fdr: Option<f64>,
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
        for name in ["cells", "edges"] {
            let path = folder.join(name);
            std::fs::create_dir_all(&path)
                .with_context(|| format!("cannot make the folder `{}`", path.display()))?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The result of a finished cell.
    pub(super) fn find(&self, key: &str) -> anyhow::Result<Option<CellResult>> {
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
        let edges = self.folder.join("edges").join(format!("{}.csv", cell.key));
        write_file(&edges, |out| write_edges(out, variables, &found.ranking, &columns))?;
        let text = serde_json::to_string_pretty(cell)?;
        write_file(&self.cell_file(&cell.key), |out| writeln!(out, "{text}"))
    }

    /// Writes one of the experiment's own files.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_file(&self.folder.join(name), |out| out.write_all(text.as_bytes()))
    }

    fn cell_file(&self, key: &str) -> PathBuf {
        self.folder.join("cells").join(format!("{key}.json"))
    }
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
