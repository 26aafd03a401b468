//! Settings of a bridge fit with their defaults and checks.

mod table;

pub use table::BRIDGE_SETTINGS;

use super::error::{BridgeError, SettingProblem};
use crate::graph::density::GraphDensity;
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::innovation::InnovationLaw;
use crate::posterior::bridge::node_part::NetSizes;
use crate::posterior::bridge::part::PartChoice;
use crate::posterior::bridge::sampled_graphs::GraphEstimator;
use crate::posterior::bridge::structure::DriftParts;

/// The scale of the observation noise, relative to each variable's deviation.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NoiseScale {
    /// Learned where moments of the data can tell it from the process, else fixed at 0.01.
    #[default]
    Auto,
    /// Learned per variable.
    Learned,
    /// Fixed.
    Fixed {
        /// The scale; positive.
        scale: f64,
    },
}

/// Largest learning rates of the model's parts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rates {
    /// Linear effects, offsets and slab scales.
    pub effects: f64,
    /// Edge logits.
    pub graph: f64,
    /// Paths, diffusion, noise and initial law.
    pub paths: f64,
    /// Networks.
    pub nets: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self { effects: 1e-2, graph: 3e-2, paths: 2e-2, nets: 5e-3 }
    }
}

/// Everything that can be chosen about a bridge fit; [`BRIDGE_SETTINGS`] is its table of meanings and ranges.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BridgeSettings {
    /// Decides batches, samples and initial networks.
    pub seed: u64,
    /// Longest step of a grid, in the data's unit of time; the median gap when not given.
    pub step_size: Option<f64>,
    /// Prior of the lagged graph.
    pub density: GraphDensity,
    /// Whether variables act on each other within a step.
    pub instantaneous: bool,
    /// Whether instantaneous effects, and with them all others, are learned from levels by chains.
    pub levels: bool,
    /// Prior of the instantaneous graph.
    pub instant_density: GraphDensity,
    /// Which parts the drift has.
    pub drift: DriftParts,
    /// Whether a node function changes the diffusion with the state.
    pub neural_diffusion: bool,
    /// Sizes of the node functions.
    pub nets: NetSizes,
    /// How gradients pass through sampled edges.
    pub estimator: GraphEstimator,
    /// Law of what a step adds beyond its drift; Gaussian with node functions.
    pub innovations: InnovationLaw,
    /// Scale of the observation noise.
    pub noise_scale: NoiseScale,
    /// Law of the observation noise; Gaussian where its scale is learned, else Laplace.
    pub noise: Option<ObservationNoise>,
    /// Numbers (steps x variables) per training step, about.
    pub batch_numbers: usize,
    /// Steps of the first cycle of learning rates.
    pub schedule_steps: u64,
    /// Most steps in all; when not given four cycles, or one with node functions.
    pub max_steps: Option<u64>,
    /// Relative change of the ELBO over a window that counts as none.
    pub elbo_tolerance: f64,
    /// Mean change of edge probabilities over a window that counts as none.
    pub edge_tolerance: f64,
    /// Floor of diffusions (relative to increments) and noise scales.
    pub min_scale: f64,
    /// Steps in a row that may fail before the fit is given up.
    pub patience: u32,
    /// Largest learning rates.
    pub rates: Rates,
    /// Steps that count as not finite, to see how a fit takes it; for tests.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_steps: Vec<u64>,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            step_size: None,
            density: GraphDensity::default(),
            instantaneous: false,
            levels: false,
            instant_density: GraphDensity::common(),
            drift: DriftParts::Linear,
            neural_diffusion: false,
            nets: NetSizes::default(),
            estimator: GraphEstimator::default(),
            innovations: InnovationLaw::Gaussian,
            noise_scale: NoiseScale::Auto,
            noise: None,
            batch_numbers: 12_000,
            schedule_steps: 800,
            max_steps: None,
            elbo_tolerance: 2e-3,
            edge_tolerance: 2e-2,
            min_scale: 1e-3,
            patience: 20,
            rates: Rates::default(),
            broken_steps: Vec::new(),
        }
    }
}

impl BridgeSettings {
    /// Which parts the process has beyond linear effects.
    pub(super) fn part_choice(&self) -> PartChoice {
        let Self { drift, neural_diffusion, nets: net_sizes, .. } = *self;
        PartChoice { drift, neural_diffusion, net_sizes }
    }

    /// Whether the process has parts beyond linear effects.
    pub(super) fn has_parts(&self) -> bool {
        !self.part_choice().is_empty()
    }

    /// Whether everything is linear and normal, so that coordinate ascent and chains take the place of training.
    pub fn is_closed_form(&self) -> bool {
        let normal = self.innovations == InnovationLaw::Gaussian;
        !self.has_parts() && !self.instantaneous && normal
    }

    /// Whether training starts where coordinate ascent of the linear part ends.
    pub(crate) fn starts_linear(&self) -> bool {
        self.drift == DriftParts::LinearAndNeural && !self.instantaneous
    }

    /// Checks every range, all at once.
    pub fn check(self) -> Result<CheckedBridgeSettings, BridgeError> {
        let mut problems = Vec::new();
        let mut check_text = |fine: bool, setting, condition, found: String| {
            if !fine {
                problems.push(SettingProblem { setting, condition, found });
            }
        };
        let plain = self.innovations == InnovationLaw::Gaussian || !self.has_parts();
        let law = format!("{:?}", self.innovations).to_lowercase();
        check_text(plain, "innovations", "`gaussian` with node functions", law);
        let linear =
            self.instantaneous && !self.has_parts() && self.innovations == InnovationLaw::Gaussian;
        let condition =
            "false, but with instantaneous effects, a linear drift and gaussian innovations";
        check_text(linear || !self.levels, "levels", condition, self.levels.to_string());
        let mut check = |fine: bool, setting, condition, found: f64| {
            check_text(fine, setting, condition, found.to_string());
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let count = |value: u64| value as f64;
        if let Some(step_size) = self.step_size {
            check(positive(step_size), "step_size", "positive and finite", step_size);
        }
        if let NoiseScale::Fixed { scale } = self.noise_scale {
            check(positive(scale), "noise_scale", "positive and finite", scale);
        }
        for (density, names) in [
            (self.density, ["density.alpha", "density.beta", "density.sparsity"]),
            (
                self.instant_density,
                ["instant_density.alpha", "instant_density.beta", "instant_density.sparsity"],
            ),
        ] {
            if let Some((name, found)) = density.bad_value() {
                let [alpha, beta, sparsity] = names;
                match name {
                    "alpha" => check(false, alpha, "positive and finite", found),
                    "beta" => check(false, beta, "positive and finite", found),
                    _ => check(false, sparsity, "finite", found),
                }
            }
        }
        for (name, value) in [
            ("elbo_tolerance", self.elbo_tolerance),
            ("edge_tolerance", self.edge_tolerance),
            ("rates.effects", self.rates.effects),
            ("rates.graph", self.rates.graph),
            ("rates.paths", self.rates.paths),
            ("rates.nets", self.rates.nets),
        ] {
            check(positive(value), name, "positive and finite", value);
        }
        if let GraphEstimator::Gumbel { temperature } = self.estimator {
            check(
                positive(temperature),
                "estimator.temperature",
                "positive and finite",
                temperature,
            );
        }
        let precision = self.nets.weight_precision;
        let fine = precision.is_finite() && precision >= 0.0;
        check(fine, "nets.weight_precision", "finite and not negative", precision);
        let floor = self.min_scale;
        check(positive(floor) && floor < 1.0, "min_scale", "positive and below 1", floor);
        for (name, value, min, condition) in [
            ("batch_numbers", self.batch_numbers as u64, 1, "at least 1"),
            ("nets.width", self.nets.width as u64, 1, "at least 1"),
            ("nets.embedding", self.nets.embedding as u64, 1, "at least 1"),
            ("nets.n_graphs", self.nets.n_graphs as u64, 1, "at least 1"),
            ("schedule_steps", self.schedule_steps, 20, "at least 20"),
            ("max_steps", self.max_steps.unwrap_or(1), 1, "at least 1"),
            ("patience", u64::from(self.patience), 1, "at least 1"),
        ] {
            check(value >= min, name, condition, count(value));
        }
        if problems.is_empty() {
            Ok(CheckedBridgeSettings(self))
        } else {
            Err(BridgeError::Settings { problems })
        }
    }
}

/// Settings that passed their check.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct CheckedBridgeSettings(BridgeSettings);

impl CheckedBridgeSettings {
    /// The settings as they were given.
    pub fn get(&self) -> &BridgeSettings {
        &self.0
    }

    /// Most steps in all.
    ///
    /// Node functions have far more weights than their prior can hold back for long: one cycle, which
    /// also limits their cost, unless asked for more.
    pub fn max_steps(&self) -> u64 {
        let n_cycles = if self.0.has_parts() { 1 } else { 4 };
        self.0.max_steps.unwrap_or(n_cycles * self.0.schedule_steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_wrong_is_said_at_once() {
        let settings = BridgeSettings {
            step_size: Some(-1.0),
            density: GraphDensity::PerSource { alpha: 0.0, beta: 1.0 },
            min_scale: 2.0,
            batch_numbers: 0,
            ..BridgeSettings::default()
        };
        assert_eq!(
            settings.check().unwrap_err().to_string(),
            "`step_size` must be positive and finite, found -1; \
             `density.alpha` must be positive and finite, found 0; \
             `min_scale` must be positive and below 1, found 2; \
             `batch_numbers` must be at least 1, found 0"
        );
        assert!(BridgeSettings::default().check().is_ok());
    }

    #[test]
    fn settings_survive_a_file() {
        let settings = BridgeSettings { seed: 7, ..BridgeSettings::default() };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<BridgeSettings>(&text).unwrap(), settings);
        assert_eq!(
            serde_json::from_str::<BridgeSettings>("{}").unwrap(),
            BridgeSettings::default()
        );
        assert!(serde_json::from_str::<BridgeSettings>("{\"sede\": 7}").is_err());
    }
}
