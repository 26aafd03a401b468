//! The table of settings: names, defaults, ranges, meanings and sources.

use crate::train::error::SettingsProblem;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Name of the field, of the flag and of the key in a settings file.
    pub name: &'static str,
    /// Default as text; `none` when the setting is not given.
    pub default: &'static str,
    /// Allowed values.
    pub range: Range,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// Where the paper's or the published code's value comes from.
    pub source: &'static str,
}

/// Allowed values of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// A number from `min` to `max`; `above` says that `min` itself is not allowed.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Whether `min` itself is too small.
        above: bool,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    YesNo,
    /// Any whole number.
    Any,
    /// A list of edges.
    Edges,
    /// One of these words, or what is said.
    Mixed {
        /// The words.
        words: &'static [&'static str],
        /// What else, in words.
        or: &'static str,
    },
}

impl Range {
    /// Whether a number lies in it.
    pub fn holds(&self, found: f64) -> bool {
        let Self::Number { min, max, above } = *self else { return false };
        (if above { found > min } else { found >= min }) && found <= max
    }
}

pub(in crate::train) const fn from(min: f64, max: f64) -> Range {
    Range::Number { min, max, above: false }
}

pub(in crate::train) const fn above(min: f64, max: f64) -> Range {
    Range::Number { min, max, above: true }
}

pub(in crate::train) const fn row(
    name: &'static str,
    default: &'static str,
    range: Range,
    meaning: &'static str,
    source: &'static str,
) -> Setting {
    Setting { name, default, range, meaning, source }
}

pub(in crate::train) const INF: f64 = f64::MAX;
pub(in crate::train) const COUNT: f64 = 1e9;
const OURS: &str = "ours";

/// All settings, in the order of the fields.
#[rustfmt::skip]
pub const SETTINGS: [Setting; 31] = [
    row("seed", "0", Range::Any, "seed of all random numbers", OURS),
    row("steps", "5000", from(1.0, 1e12), "number of training steps", "Appendix, Experiments: 5000 to 30000"),
    row("batch_size", "none", from(1.0, COUNT), "series per training step; all when not given", "Algorithm 1; the experiments use all"),
    row("learning_rate", "0.003", above(0.0, 1.0), "largest learning rate of Adam", "Appendix, Experiments: 0.0005 to 0.003"),
    row("warmup_steps", "100", from(0.0, COUNT), "steps over which the learning rate rises from 0", "Appendix, Experiments: 100"),
    row("learning_rate_decay", "cosine", Range::Choice(&["constant", "cosine"]), "what the learning rate does after its warm-up", "published code: constant"),
    row("clip_norm", "none", above(0.0, INF), "largest norm of the gradient", "published code: none"),
    row("kl_warmup_steps", "1000", from(0.0, COUNT), "steps over which initial and path KL rise to full weight", "published code: 1000"),
    row("patience", "10", from(1.0, 1000.0), "steps without a finite loss, in a row, after which the fit stops", OURS),
    row("standardize", "true", Range::YesNo, "scale each variable to mean 0 and deviation 1", "Appendix, Experiments: DREAM3 and glycolysis only"),
    row("time_unit", "median-gap", Range::Choice(&["as-given", "median-gap"]), "the model's unit of time: the data's, or the median gap between rows", OURS),
    row("time_span", "none", above(0.0, INF), "length of the whole time range in the model's units", "Appendix, Experiments: 1.05 (DREAM3), 10 (Netsim)"),
    row("step_size", "1.0", above(0.0, INF), "longest solver step, in the model's units of time", "Appendix, Experiments: 1 or 0.05"),
    row("step_grid", "exact", Range::Choice(&["exact", "published"]), "steps that end at every observation, or equal steps with interpolation", "published code: published"),
    row("scheme", "euler-maruyama", Range::Choice(&["euler-maruyama", "milstein"]), "how the solver moves the path", "Eq. 4"),
    row("encoder_input", "values-mask-gap", Range::Choice(&["values-mask-gap", "values"]), "what the encoder is told about each observation", "published code: values"),
    row("noise", "laplace", Range::Choice(&["laplace", "gaussian"]), "law of the observation noise", "Appendix, Model architecture: Laplace"),
    row("noise_scale", "0.1", above(0.0, INF), "scale of the observation noise; where it starts when learned", "Appendix, Model architecture: 0.01"),
    row("learn_noise_scale", "true", Range::YesNo, "learn the noise scale of each variable", "Appendix, Model architecture: fixed"),
    row("node_variant", "published", Range::Choice(&["published", "printed"]), "node functions of the published code or of the paper's text", "Eq. 8; D4, D6"),
    row("embedding_size", "32", from(1.0, 4096.0), "size of node embeddings and messages", "Appendix, Model architecture: 32"),
    row("node_width", "none", from(1.0, 65536.0), "width of the node functions' hidden layers", "code: max(4D, 64); text: max(2D, 32)"),
    row("hidden_size", "128", from(1.0, 65536.0), "width of the encoder's GRU and of the posterior drift", "Appendix, Model architecture: 128"),
    row("posterior_layers", "2", from(1.0, 8.0), "hidden layers of the posterior drift", "code: 2; text: 1; D8"),
    row("context_size", "64", from(1.0, 65536.0), "size of a context vector", "Appendix, Model architecture: 64"),
    row("sparsity", "10.0", from(-1e6, 1e6), "prior log-odds against an edge", "Eq. 7; Appendix, Experiments: 50 to 1000"),
    row("graph_term", "exact", Range::Choice(&["exact", "published"]), "exact graph KL, or the published estimator", "published code: published; D7"),
    row("temperature", "0.25", above(0.0, 100.0), "temperature of the relaxed graph samples", "published code: 0.25"),
    row("diffusion_floor", "1e-7", above(0.0, 1.0), "what the control divides by where the diffusion is smaller", "published code: 1e-7"),
    row("no_self_loops", "false", Range::YesNo, "forbid edges from a variable to itself", OURS),
    row("edge_priors", "empty", Range::Edges, "edges that are forbidden, required, or likelier than others", OURS),
];

/// The problem of a number outside its range, if any.
pub(super) fn check(name: &'static str, found: f64) -> Option<SettingsProblem> {
    let setting = SETTINGS.iter().find(|setting| setting.name == name);
    let range = setting.expect("every checked number is in the table").range;
    (!range.holds(found)).then_some(SettingsProblem::OutOfRange { name, range, found })
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Number { min, max, above } => {
                write!(f, "{} {min}", if above { "above" } else { "at least" })?;
                if max < f64::MAX { write!(f, " and at most {max}") } else { Ok(()) }
            }
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::YesNo => f.write_str("true or false"),
            Self::Any => f.write_str("any whole number"),
            Self::Edges => f.write_str("a list of edges"),
            Self::Mixed { words: [], or } => f.write_str(or),
            Self::Mixed { words, or } => write!(f, "one of {}, or {or}", words.join(", ")),
        }
    }
}
