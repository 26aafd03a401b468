//! Settings of a fit: one struct, one table of defaults and ranges, one check.

pub(super) mod table;

pub use table::{Range, SETTINGS, Setting};

use super::error::{SettingsError, SettingsProblem};
use super::schedule::Decay;
use super::time::TimeUnit;
use crate::objective::observation::ObservationNoise;
use crate::posterior::plan::{EncoderInput, StepGrid};
use crate::posterior::simulated::GraphTerm;
use crate::process::prior::NodeVariant;
use crate::process::solver::Scheme;

/// What is known of one edge before the fit.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownEdge {
    /// Name of the source variable.
    pub source: String,
    /// Name of the target variable.
    pub target: String,
    /// 0 forbids the edge, 1 requires it, a value between adds its log-odds to the prior.
    pub probability: f64,
}

/// Everything that can be chosen about a fit; [`SETTINGS`] is its table of meanings and ranges.
///
/// The default is the preset `simulated`. Call [`check`](Self::check) before use.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitSettings {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of training steps.
    pub steps: u64,
    /// Series per training step; all when not given.
    pub batch_size: Option<usize>,
    /// Largest learning rate of Adam.
    pub learning_rate: f64,
    /// Steps over which the learning rate rises from 0.
    pub warmup_steps: u64,
    /// What the learning rate does after its warm-up.
    pub learning_rate_decay: Decay,
    /// Largest norm of the gradient; longer ones are shortened to it.
    pub clip_norm: Option<f64>,
    /// Steps over which initial and path KL rise to their full weight.
    pub kl_warmup_steps: u64,
    /// Halved learning rates in a row after which the fit stops.
    pub patience: u32,
    /// Whether each variable is scaled to mean 0 and deviation 1.
    pub standardize: bool,
    /// The model's unit of time.
    pub time_unit: TimeUnit,
    /// Length of the whole time range in the model's units, instead of `time_unit`.
    pub time_span: Option<f64>,
    /// Longest solver step, in the model's units of time.
    pub step_size: f64,
    /// Where the solver's steps lie.
    pub step_grid: StepGrid,
    /// How the solver moves the path.
    #[serde(with = "scheme_name")]
    pub scheme: Scheme,
    /// What the encoder is told about each observation.
    pub encoder_input: EncoderInput,
    /// Law of the observation noise.
    pub noise: ObservationNoise,
    /// Scale of the observation noise, in the model's units; where it starts when learned.
    pub noise_scale: f64,
    /// Whether the noise scale is learned, per variable.
    pub learn_noise_scale: bool,
    /// Which node functions make prior drift and diffusion.
    pub node_variant: NodeVariant,
    /// Size of node embeddings and messages.
    pub embedding_size: usize,
    /// Width of the node functions' hidden layers; that of the variant when not given.
    pub node_width: Option<usize>,
    /// Width of the encoder's GRU and of the posterior drift.
    pub hidden_size: usize,
    /// Hidden layers of the posterior drift.
    pub posterior_layers: usize,
    /// Size of a context vector.
    pub context_size: usize,
    /// Prior log-odds against an edge.
    pub sparsity: f64,
    /// How the graph prior enters the loss.
    pub graph_term: GraphTerm,
    /// Temperature of the relaxed graph samples.
    pub temperature: f64,
    /// What the control divides by where the diffusion is smaller; hits are counted.
    pub diffusion_floor: f64,
    /// Whether edges from a variable to itself are forbidden.
    pub no_self_loops: bool,
    /// Edges that are forbidden, required, or likelier than others.
    pub edge_priors: Vec<KnownEdge>,
    /// Steps that count as not finite, to see how a fit takes it; for tests.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_steps: Vec<u64>,
}

impl FitSettings {
    /// Checks every range of [`SETTINGS`] and what settings ask of each other, all at once.
    pub fn check(self) -> Result<CheckedSettings, SettingsError> {
        let mut problems: Vec<_> = self
            .numbers()
            .into_iter()
            .filter_map(|(name, found)| table::check(name, found))
            .collect();
        if self.time_span.is_some() && self.time_unit != TimeUnit::AsGiven {
            problems.push(SettingsProblem::TimeSpanAndUnit { time_unit: self.time_unit });
        }
        for edge in &self.edge_priors {
            if !(0.0..=1.0).contains(&edge.probability) {
                problems.push(SettingsProblem::EdgeProbability {
                    edge: format!("{} -> {}", edge.source, edge.target),
                    probability: edge.probability,
                });
            }
        }
        if problems.is_empty() {
            Ok(CheckedSettings(self))
        } else {
            Err(SettingsError { problems })
        }
    }

    /// All settings that are numbers, by name.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        let mut numbers = vec![
            ("steps", self.steps as f64),
            ("learning_rate", self.learning_rate),
            ("warmup_steps", self.warmup_steps as f64),
            ("kl_warmup_steps", self.kl_warmup_steps as f64),
            ("patience", f64::from(self.patience)),
            ("step_size", self.step_size),
            ("noise_scale", self.noise_scale),
            ("embedding_size", self.embedding_size as f64),
            ("hidden_size", self.hidden_size as f64),
            ("posterior_layers", self.posterior_layers as f64),
            ("context_size", self.context_size as f64),
            ("sparsity", self.sparsity),
            ("temperature", self.temperature),
            ("diffusion_floor", self.diffusion_floor),
        ];
        let optional = [
            ("batch_size", self.batch_size.map(|size| size as f64)),
            ("clip_norm", self.clip_norm),
            ("time_span", self.time_span),
            ("node_width", self.node_width.map(|width| width as f64)),
        ];
        numbers.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        numbers
    }
}

/// A scheme in a settings file goes by its name.
mod scheme_name {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Scheme;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(scheme.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scheme, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Settings that passed their check.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct CheckedSettings(FitSettings);

impl CheckedSettings {
    /// The settings as they were given.
    pub fn get(&self) -> &FitSettings {
        &self.0
    }
}

impl std::ops::Deref for CheckedSettings {
    type Target = FitSettings;

    fn deref(&self) -> &FitSettings {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_setting_with_its_default() {
        let defaults = serde_json::to_value(FitSettings::default()).unwrap();
        let defaults = defaults.as_object().unwrap();
        assert_eq!(defaults.len(), SETTINGS.len());
        for setting in &SETTINGS {
            let default = &defaults[setting.name];
            let shown = match default {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Null => "none".to_owned(),
                serde_json::Value::Array(_) => "empty".to_owned(),
                other => other.to_string(),
            };
            assert_eq!(shown, setting.default, "{}", setting.name);
            if let (Range::Choice(choices), Some(choice)) = (setting.range, default.as_str()) {
                assert!(choices.contains(&choice), "{}", setting.name);
            }
        }
    }

    #[test]
    fn every_number_of_the_table_is_checked() {
        let settings = FitSettings {
            batch_size: Some(1),
            clip_norm: Some(1.0),
            time_span: Some(1.0),
            node_width: Some(1),
            ..FitSettings::default()
        };
        let checked: Vec<_> = settings.numbers().into_iter().map(|(name, _)| name).collect();
        for setting in &SETTINGS {
            let is_number = matches!(setting.range, Range::Number { .. });
            // Any seed will do.
            assert_eq!(checked.contains(&setting.name), is_number, "{}", setting.name);
        }
    }

    #[test]
    fn all_problems_are_reported_together() {
        let known = KnownEdge { source: "a".into(), target: "b".into(), probability: 1.5 };
        let settings = FitSettings {
            learning_rate: -1.0,
            temperature: f64::NAN,
            batch_size: Some(0),
            edge_priors: vec![known],
            ..FitSettings::default()
        };
        let error = settings.check().unwrap_err();
        assert_eq!(error.problems.len(), 4, "{error}");
        assert!(error.to_string().contains("`learning_rate`"));
    }

    #[test]
    fn unknown_settings_are_refused() {
        let text = r#"{"learning_rat": 0.1}"#;
        assert!(serde_json::from_str::<FitSettings>(text).is_err());
        let settings: FitSettings = serde_json::from_str(r#"{"learning_rate": 0.1}"#).unwrap();
        assert_eq!(settings.learning_rate, 0.1);
    }
}
