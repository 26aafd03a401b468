//! Named settings: ours, the published code's, and those of the paper's experiments.

use std::str::FromStr;

use super::schedule::Decay;
use super::settings::FitSettings;
use super::time::TimeUnit;
use crate::CoreError;
use crate::objective::observation::ObservationNoise;
use crate::posterior::plan::{EncoderInput, StepGrid};
use crate::posterior::simulated::GraphTerm;
use crate::process::prior::NodeVariant;
use crate::process::solver::Scheme;

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The paper's posterior on any data: exact times, holes and gaps seen, noise learned.
    #[default]
    Simulated,
    /// What the published code computes, on standardised data with the median gap as time unit.
    Paper,
    /// The paper's Lorenz experiment with 30 % of the times dropped (0.001 as rate for 60 %).
    PaperLorenz,
    /// The paper's glycolysis experiment.
    PaperGlycolysis,
    /// The paper's DREAM3 experiments (Yeast2: rate 0.0005; Yeast3: sparsity 50).
    PaperDream3,
    /// The paper's Netsim experiment.
    PaperNetsim,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 6] = [
        Self::Simulated,
        Self::Paper,
        Self::PaperLorenz,
        Self::PaperGlycolysis,
        Self::PaperDream3,
        Self::PaperNetsim,
    ];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Paper => "paper",
            Self::PaperLorenz => "paper-lorenz",
            Self::PaperGlycolysis => "paper-glycolysis",
            Self::PaperDream3 => "paper-dream3",
            Self::PaperNetsim => "paper-netsim",
        }
    }

    /// What it is for, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Simulated => {
                "the paper's posterior with exact times, holes and gaps, learned noise"
            }
            Self::Paper => "the published code on standardised data, time in median gaps",
            Self::PaperLorenz => "the paper's Lorenz experiment",
            Self::PaperGlycolysis => "the paper's glycolysis experiment",
            Self::PaperDream3 => "the paper's DREAM3 experiments",
            Self::PaperNetsim => "the paper's Netsim experiment",
        }
    }

    /// The settings.
    pub fn settings(self) -> FitSettings {
        let experiment = FitSettings { time_unit: TimeUnit::AsGiven, ..published() };
        match self {
            Self::Simulated => FitSettings::default(),
            Self::Paper => published(),
            Self::PaperLorenz => FitSettings {
                learning_rate: 0.003,
                sparsity: 500.0,
                standardize: false,
                ..experiment
            },
            Self::PaperGlycolysis => FitSettings { steps: 30_000, ..experiment },
            Self::PaperDream3 => {
                FitSettings { steps: 30_000, time_span: Some(1.05), step_size: 0.05, ..experiment }
            }
            Self::PaperNetsim => FitSettings {
                steps: 10_000,
                sparsity: 1000.0,
                standardize: false,
                time_span: Some(10.0),
                step_size: 0.05,
                ..experiment
            },
        }
    }
}

impl FromStr for Preset {
    type Err = CoreError;

    fn from_str(name: &str) -> Result<Self, CoreError> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == name);
        found.ok_or_else(|| CoreError::UnknownPreset { name: name.to_owned() })
    }
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            step_grid: StepGrid::Exact,
            encoder_input: EncoderInput::ValuesMaskGap,
            learning_rate: 0.003,
            learning_rate_decay: Decay::Cosine,
            noise_scale: 0.1,
            learn_noise_scale: true,
            sparsity: 10.0,
            graph_term: GraphTerm::Exact,
            ..published()
        }
    }
}

/// The published code: Appendix, Model architecture and Experiments, and its own defaults.
fn published() -> FitSettings {
    FitSettings {
        seed: 0,
        steps: 5000,
        batch_size: None,
        learning_rate: 0.001,
        warmup_steps: 100,
        learning_rate_decay: Decay::Constant,
        clip_norm: None,
        kl_warmup_steps: 1000,
        patience: 10,
        standardize: true,
        time_unit: TimeUnit::MedianGap,
        time_span: None,
        step_size: 1.0,
        step_grid: StepGrid::Published,
        scheme: Scheme::EulerMaruyama,
        encoder_input: EncoderInput::Values,
        noise: ObservationNoise::Laplace,
        noise_scale: 0.01,
        learn_noise_scale: false,
        node_variant: NodeVariant::Published,
        embedding_size: 32,
        node_width: None,
        hidden_size: 128,
        posterior_layers: 2,
        context_size: 64,
        sparsity: 200.0,
        graph_term: GraphTerm::Published,
        temperature: 0.25,
        diffusion_floor: 1e-7,
        no_self_loops: false,
        edge_priors: Vec::new(),
        broken_steps: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_passes_its_check_and_is_found_by_name() {
        for preset in Preset::ALL {
            assert!(preset.settings().check().is_ok(), "{}", preset.name());
            assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        }
        assert!("lorenz".parse::<Preset>().is_err());
    }

    #[test]
    fn experiments_have_the_appendix_values() {
        let of = |preset: Preset| {
            let settings = preset.settings();
            (settings.learning_rate, settings.sparsity, settings.steps, settings.standardize)
        };
        assert_eq!(of(Preset::PaperLorenz), (0.003, 500.0, 5000, false));
        assert_eq!(of(Preset::PaperGlycolysis), (0.001, 200.0, 30_000, true));
        assert_eq!(of(Preset::PaperDream3), (0.001, 200.0, 30_000, true));
        assert_eq!(of(Preset::PaperNetsim), (0.001, 1000.0, 10_000, false));
    }
}
