//! The simulated posterior of the paper, Eq. 12 (eq: posterior process): what it is made of.
//!
//! Encoder contexts give the initial state's law and drive the posterior drift; the path is an
//! Euler-Maruyama (or Milstein) solution with the prior's diffusion. `chunk.rs` runs it forwards and backwards.

use super::encoder::{Encoder, EncoderSizes};
use super::plan::EncoderInput;
use crate::graph::posterior::{edge_probabilities, expected_edges};
use crate::graph::prior::EdgePrior;
use crate::nn::linear::Linear;
use crate::nn::mlp::{Mlp, MlpSizes, MlpWeights};
use crate::nn::node_function::{MessageBends, NodeWeights};
use crate::nn::parameters::{Init, ParameterTable, Slot};
use crate::numeric::real::{Real, ln};
use crate::objective::observation::ObservationNoise;
use crate::process::prior::{NodeVariant, PriorProcess};
use crate::process::solver::Scheme;

/// How the graph prior enters the loss; the values agree up to a constant, the gradients do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphTerm {
    /// The exact KL(q(G) || p(G)) with a normalised prior.
    #[default]
    Exact,
    /// Exact entropy, and sparsity times the edges of the sampled graphs, whose gradient reaches
    /// a logit only through samples that have the edge, as in the published code; see D7.
    Published,
}

/// Sizes and variants of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Architecture {
    /// Number of variables, D.
    pub n_variables: usize,
    /// Which node functions.
    pub node_variant: NodeVariant,
    /// Size of node embeddings and messages.
    pub embedding_size: usize,
    /// Width of the node functions' hidden layers, instead of the variant's own.
    pub node_width: Option<usize>,
    /// Width of the GRU and of the posterior drift's hidden layers.
    pub hidden_size: usize,
    /// Number of hidden layers of the posterior drift.
    pub posterior_layers: usize,
    /// Size of a context.
    pub context_size: usize,
    /// What the encoder is told.
    pub encoder_input: EncoderInput,
    /// Law of the observation noise.
    pub noise: ObservationNoise,
    /// Scale of the observation noise, or where it starts when learned.
    pub noise_scale: f64,
    /// Whether the scale is learned, per variable.
    pub learn_noise_scale: bool,
    /// Temperature of the relaxed graph samples.
    pub temperature: f64,
    /// How the graph prior enters the loss.
    pub graph_term: GraphTerm,
    /// What the control divides by where the diffusion is smaller.
    pub diffusion_floor: f64,
    /// How the solver moves the path.
    pub scheme: Scheme,
    /// Prior log-odds and fixed edges.
    pub edge_prior: EdgePrior,
}

/// Places of all parameters of the model.
#[derive(Debug, Clone)]
pub struct SimulatedPosterior {
    /// Sizes and variants.
    pub architecture: Architecture,
    /// Names, shapes and places.
    pub table: ParameterTable,
    /// Logits of q(G), `[source, target]`.
    pub edge_logits: Slot,
    /// Drift and diffusion of the prior.
    pub process: PriorProcess,
    /// Learned prior of the initial state: mean and log deviation.
    pub initial_prior: [Slot; 2],
    /// Initial state from its context: mean and log deviation.
    pub initial_state: [Linear; 2],
    /// Drift of the posterior.
    pub drift: Mlp,
    /// Observations and graph to contexts.
    pub encoder: Encoder,
    /// Log scales of the observation noise, when learned.
    pub(crate) noise_log_scales: Option<Slot>,
}

/// What all series share in a training step.
#[derive(Debug, Clone, Default)]
pub struct SharedWeights<R> {
    /// Of the prior drift.
    pub drift: NodeWeights<R>,
    /// Bends of the prior drift's messages.
    pub(crate) drift_bends: MessageBends<R>,
    /// Of the diffusion.
    pub diffusion: NodeWeights<R>,
    /// Of the posterior drift.
    pub posterior_drift: MlpWeights<R>,
    /// The GRU's transposed hidden weight.
    pub encoder: Vec<R>,
    /// Log scale of the observation noise of each variable.
    pub(crate) noise_log_scales: Vec<R>,
}

impl SimulatedPosterior {
    /// Gives every parameter its place.
    pub fn new(architecture: Architecture) -> Self {
        let d = architecture.n_variables;
        let (hidden, context) = (architecture.hidden_size, architecture.context_size);
        let mut table = ParameterTable::default();
        let edge_logits = table.add("edge_logits", [d, d], Init::Constant(0.0));
        let initial_prior = ["mean", "log_scale"]
            .map(|part| table.add(format!("initial_prior.{part}"), [1, d], Init::Constant(0.0)));
        let initial_state = ["mean", "log_scale"]
            .map(|part| Linear::new(&mut table, &format!("initial_state.{part}"), context, d));
        let variant = architecture.node_variant;
        let width = architecture.node_width;
        let embedding = architecture.embedding_size;
        let mut process = PriorProcess::new(&mut table, variant, d, embedding, width);
        let sizes = MlpSizes {
            n_state: d,
            n_context: context,
            n_hidden: hidden,
            n_hidden_layers: architecture.posterior_layers,
            n_out: d,
        };
        let drift = Mlp::new(&mut table, "posterior_drift", sizes);
        let n_inputs = architecture.encoder_input.n_inputs(d);
        let encoder = Encoder::new(
            &mut table,
            EncoderSizes { n_inputs, n_variables: d, n_hidden: hidden, n_context: context },
        );
        let noise_log_scales = architecture.learn_noise_scale.then(|| {
            let start = Init::Constant(ln(architecture.noise_scale));
            table.add("noise_log_scales", [1, d], start)
        });
        process.reserve_scratch(&mut table);
        Self {
            architecture,
            table,
            edge_logits,
            process,
            initial_prior,
            initial_state,
            drift,
            encoder,
            noise_log_scales,
        }
    }

    /// Computes what all series share in a training step.
    pub fn prepare<R: Real>(&self, parameters: &[R], shared: &mut SharedWeights<R>) {
        self.process.drift.prepare(parameters, &mut shared.drift);
        self.process.drift.prepare_bends(parameters, &shared.drift, &mut shared.drift_bends);
        self.process.diffusion.prepare(parameters, &mut shared.diffusion);
        self.drift.prepare(parameters, &mut shared.posterior_drift);
        self.encoder.prepare(parameters, &mut shared.encoder);
        shared.noise_log_scales.clear();
        if let Some(slot) = self.noise_log_scales {
            shared.noise_log_scales.extend_from_slice(slot.of(parameters));
        } else {
            let log_scale = R::from_f64(ln(self.architecture.noise_scale));
            shared.noise_log_scales.resize(self.architecture.n_variables, log_scale);
        }
    }

    /// Probability of each edge, `[source, target]`.
    pub fn edge_probabilities<R: Real>(&self, parameters: &[R]) -> Vec<f64> {
        let rules = self.architecture.edge_prior.rules();
        edge_probabilities(self.edge_logits.of(parameters), rules)
    }

    /// Σ of the edge probabilities.
    pub fn expected_edges<R: Real>(&self, parameters: &[R]) -> f64 {
        expected_edges(self.edge_logits.of(parameters), self.architecture.edge_prior.rules())
    }
}
