//! Settings of Rhino: table, presets and type.

use driftgraph_core::train::settings::{Range, Setting};
use serde_json::json;

use super::model::Shape;
use super::spline::Order;
use super::{NAME, WITHOUT};
use crate::method::Preset;
use crate::regular::Gaps;
use crate::settings::row;

const SIZE: Range = Range::Number { min: 1.0, max: 65536.0, above: false };

#[rustfmt::skip]
pub(super) fn table() -> Vec<Setting> {
    vec![
        row("lags", "2", Range::Number { min: 1.0, max: 100.0, above: false }, "lags in rows"),
        row("noise_law", "quadratic", Range::Choice(&["quadratic", "linear", "gaussian"]), "splines of the noise, or normal noise"),
        row("sparsity", "5", Range::Number { min: 0.0, max: 1e6, above: false }, "penalty of the number of edges"),
        row("none_logit", "0", Range::Number { min: -100.0, max: 100.0, above: false }, "first log-odds of \"no edge\""),
        row("learning_rate", "0.01", Range::Number { min: 0.0, max: 1.0, above: true }, "learning rate of graph and mean; that of the noise is 0.001"),
        row("batch_size", "128", Range::Number { min: 1.0, max: 1e6, above: false }, "windows of each step"),
        row("rounds", "70", Range::Number { min: 1.0, max: 1e6, above: false }, "rounds of the augmented Lagrangian"),
        row("steps", "6000", Range::Number { min: 1.0, max: 1e9, above: false }, "most steps of a round"),
        row("embedding_size", "none", SIZE, "entries of a node's embedding; the number of variables with none"),
        row("noise_embedding_size", "none", SIZE, "the same for the noise"),
        row("hidden_size", "none", SIZE, "units of the hidden layers; the largest of 64, embedding and 4 times the variables with none"),
        row("layers", "2", Range::Number { min: 1.0, max: 100.0, above: false }, "hidden layers of each network"),
        row("gaps", "leave-out", Range::Choice(&["leave-out", "hold"]), "leave out what needs a missing cell, or hold the last value there"),
        row("seed", "0", Range::Any, "decides initial weights, windows and graphs"),
    ]
}

/// The settings of the release, for each data set.
pub(super) fn presets(within: bool) -> Vec<Preset> {
    let netsim = json!({"noise_law": "linear", "sparsity": 25, "learning_rate": 0.001, "batch_size": 64, "rounds": 60, "steps": 2000, "hidden_size": 64, "gaps": "hold"});
    if within {
        return vec![
            Preset::new(
                NAME,
                "the release's settings for synthetic data, which the paper takes for Lorenz and glycolysis",
                &json!({}),
            ),
            Preset::new("rhino-netsim", "the release's settings for Netsim", &netsim),
        ];
    }
    let mut presets = vec![
        Preset::new(
            WITHOUT,
            "the release's settings for synthetic data, without edges within a row",
            &json!({}),
        ),
        Preset::new("rhino-noinst-netsim", "the release's settings for Netsim", &netsim),
    ];
    presets.extend(gene_presets());
    presets
}

/// The settings of the release for the networks of DREAM3.
fn gene_presets() -> [Preset; 4] {
    let genes = |sparsity: u32, embedding: u32, noise: Option<u32>, rounds: [u32; 2]| {
        json!({
            "noise_law": "linear", "sparsity": sparsity, "none_logit": -3, "learning_rate": 0.001, "batch_size": 64,
            "rounds": rounds[0], "steps": rounds[1], "embedding_size": embedding, "noise_embedding_size": noise,
            "hidden_size": 10, "layers": 1,
        })
    };
    [
        (
            "rhino-ecoli1",
            "the release's settings for Ecoli1 of DREAM3",
            genes(19, 16, Some(16), [60, 6000]),
        ),
        (
            "rhino-ecoli2",
            "the release's settings for Ecoli2 of DREAM3",
            genes(25, 16, None, [60, 6000]),
        ),
        (
            "rhino-yeast1",
            "the release's settings for Yeast1 of DREAM3",
            genes(25, 32, None, [150, 2000]),
        ),
        (
            "rhino-yeast2",
            "the release's settings for Yeast2 and Yeast3 of DREAM3",
            genes(25, 32, None, [60, 6000]),
        ),
    ]
    .map(|(name, meaning, settings)| Preset::new(name, meaning, &settings))
}

/// The law of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NoiseLaw {
    Quadratic,
    Linear,
    Gaussian,
}

/// Settings as types.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct RhinoSettings {
    /// Whether there are edges within a row; decided by the method's name.
    #[serde(default)]
    pub(super) within: bool,
    pub(super) lags: usize,
    pub(super) noise_law: NoiseLaw,
    pub(super) sparsity: f64,
    pub(super) none_logit: f64,
    pub(super) learning_rate: f64,
    pub(super) batch_size: usize,
    pub(super) rounds: u64,
    pub(super) steps: u64,
    pub(super) embedding_size: Option<usize>,
    pub(super) noise_embedding_size: Option<usize>,
    pub(super) hidden_size: Option<usize>,
    pub(super) layers: usize,
    pub(super) gaps: Gaps,
    pub(super) seed: u64,
}

impl RhinoSettings {
    pub(super) fn with_within(self, within: bool) -> Self {
        Self { within, ..self }
    }

    /// The method's name.
    pub(super) fn name(&self) -> &'static str {
        if self.within { NAME } else { WITHOUT }
    }

    /// Sizes of everything for so many variables.
    pub(super) fn shape(&self, n_variables: usize) -> Shape {
        let embedding = self.embedding_size.unwrap_or(n_variables);
        let noise_embedding = self.noise_embedding_size.unwrap_or(n_variables);
        let hidden = |embedding: usize| {
            let size = self.hidden_size.unwrap_or(64.max(embedding).max(4 * n_variables));
            [vec![size; self.layers], vec![size; self.layers]]
        };
        Shape {
            n_variables,
            lags: self.lags,
            within: self.within,
            order: match self.noise_law {
                NoiseLaw::Quadratic => Some(Order::Quadratic),
                NoiseLaw::Linear => Some(Order::Linear),
                NoiseLaw::Gaussian => None,
            },
            embedding,
            noise_embedding,
            hidden: hidden(embedding),
            noise_hidden: hidden(noise_embedding),
        }
    }
}
