//! The data of every experiment, with the paper's settings and figures for them.

use driftgraph_data::record::MethodRequest;
use driftgraph_systems::families::FAMILIES;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::gap::{self, GapData};
use super::plan::{ALL, SIMULATED};
use super::published;
use crate::args::ExperimentName;

/// Networks of the DREAM3 challenge, with the AUROC the paper reports for 100 genes.
const NETWORKS: [(&str, PaperFigure); 5] = [
    ("Ecoli1", PaperFigure { auroc: 0.752, deviation: 0.008 }),
    ("Ecoli2", PaperFigure { auroc: 0.705, deviation: 0.003 }),
    ("Yeast1", PaperFigure { auroc: 0.712, deviation: 0.003 }),
    ("Yeast2", PaperFigure { auroc: 0.622, deviation: 0.004 }),
    ("Yeast3", PaperFigure { auroc: 0.594, deviation: 0.001 }),
];

/// The rows that average the networks of one size.
pub(super) const LARGE_MEAN: &str = "100 genes, mean of five";
const SMALL_MEAN: &str = "10 genes, mean of five";

/// The paper's mean over the five networks of 100 genes.
const MEAN_OF_NETWORKS: PaperFigure = PaperFigure { auroc: 0.677, deviation: 0.026 };

/// What the paper reports for its method, over 5 runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct PaperFigure {
    pub(super) auroc: f64,
    pub(super) deviation: f64,
}

/// Where data come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The paper's recipe for a system.
    Simulated { system: &'static str, drop: f64, standardise: bool },
    /// A network of the DREAM3 challenge.
    Dream3 { n_genes: usize, network: &'static str },
    /// The third NetSim simulation, without a share of the times.
    Netsim { drop: f64 },
    /// A sparse linear system of random size.
    Linear,
    /// A member of a family of systems.
    Family(&'static str),
    /// A system at one gap between rows.
    Gap(GapData),
    /// A network of genes, one of them knocked out in each series or left alone.
    Knockouts(KnockoutArm),
}

/// What is done to the series of a network of genes, and what the fit is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnockoutArm {
    /// Nothing is done.
    Alone,
    /// A gene is knocked out in each series.
    Told,
    /// The same, and the fit does not know.
    Untold,
}

/// One data set of an experiment, or one per seed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variant {
    /// The name in the table.
    pub(super) name: String,
    /// The name of the row that averages this and others.
    pub(super) group: Option<&'static str>,
    pub(super) source: Source,
    /// The paper's settings for it.
    pub(super) paper_settings: MethodRequest,
    /// Settings of our own, where the data set itself is not all that varies.
    pub(super) bridge_settings: Map<String, Value>,
    pub(super) paper: Option<PaperFigure>,
}

impl Variant {
    /// A data set without settings or figures of its own.
    pub(super) fn new(name: impl Into<String>, source: Source, preset: &str) -> Self {
        Self {
            name: name.into(),
            group: None,
            source,
            paper_settings: MethodRequest {
                preset: Some(preset.to_owned()),
                ..MethodRequest::default()
            },
            bridge_settings: Map::new(),
            paper: None,
        }
    }

    /// With one of the paper's settings other than in its preset.
    fn paper_setting(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.paper_settings.settings.insert(name.to_owned(), value.into());
        self
    }

    fn published(self, auroc: f64, deviation: f64) -> Self {
        Self { paper: Some(PaperFigure { auroc, deviation }), ..self }
    }

    /// The paper's settings as its published scripts pass them on: all but the one for DREAM3 forget their warm-up.
    pub(super) fn script_settings(&self) -> MethodRequest {
        let mut asked = self.paper_settings.clone();
        if !matches!(self.source, Source::Dream3 { .. }) {
            asked.settings.insert("warmup_steps".to_owned(), 1.into());
        }
        asked
    }

    /// What the paper reports for a row of the table.
    pub(super) fn figure(&self, method: &str) -> Option<PaperFigure> {
        if published::is_scotch(method) {
            return self.paper;
        }
        self.paper.and_then(|_| published::figure(&self.source, method))
    }
}

/// Whether a row averages variants.
pub(super) fn is_mean(name: &str) -> bool {
    [LARGE_MEAN, SMALL_MEAN].contains(&name)
}

/// The paper's figure of a row that averages variants.
pub(super) fn paper_mean(group: &str, method: &str) -> Option<PaperFigure> {
    if group != LARGE_MEAN {
        return None;
    }
    if published::is_scotch(method) {
        Some(MEAN_OF_NETWORKS)
    } else {
        published::mean_figure(method)
    }
}

/// The data sets of an experiment.
pub(super) fn variants(name: ExperimentName) -> Vec<Variant> {
    match name {
        ExperimentName::Lorenz => lorenz(),
        ExperimentName::Glycolysis => glycolysis(),
        ExperimentName::Dream3 => dream3(),
        ExperimentName::Netsim => netsim(),
        ExperimentName::Calibration => vec![Variant::new("linear", Source::Linear, SIMULATED)],
        ExperimentName::StepSize => step_size(),
        ExperimentName::Gap => gap::variants(),
        ExperimentName::Knockouts => knockouts(),
        ExperimentName::Bimodal | ExperimentName::Scaling | ExperimentName::Overview => Vec::new(),
    }
}

/// One row of the table for each family that was asked for.
pub(super) fn families(asked: &[String]) -> Vec<Variant> {
    let is_asked = |name: &str| asked.iter().any(|word| word == ALL || word == name);
    let chosen = FAMILIES.iter().filter(|family| is_asked(family.name));
    chosen.map(|family| Variant::new(family.name, Source::Family(family.name), SIMULATED)).collect()
}

fn lorenz() -> Vec<Variant> {
    let variant = |drop: f64| {
        let source = Source::Simulated { system: "lorenz96", drop, standardise: false };
        Variant::new(format!("p = {drop}"), source, "paper-lorenz")
    };
    vec![
        variant(0.0),
        variant(0.3).published(0.7279, 0.017),
        variant(0.6).paper_setting("learning_rate", 0.001).published(0.6453, 0.014),
    ]
}

fn glycolysis() -> Vec<Variant> {
    let variant = |name: &str, standardise| {
        let source = Source::Simulated { system: "glycolysis", drop: 0.0, standardise };
        // Normalised, if at all, as the data are made.
        Variant::new(name, source, "paper-glycolysis").paper_setting("standardize", false)
    };
    vec![
        variant("normalised", true).published(0.7113, 0.012),
        variant("original scale", false).published(0.7352, 0.019),
    ]
}

fn dream3() -> Vec<Variant> {
    let network = |network: &'static str, n_genes, group| {
        let source = Source::Dream3 { n_genes, network };
        let variant = Variant::new(format!("{network}, {n_genes} genes"), source, "paper-dream3");
        Variant { group: Some(group), ..variant }
    };
    let large = NETWORKS.map(|(name, figure)| {
        let variant = network(name, 100, LARGE_MEAN).published(figure.auroc, figure.deviation);
        match name {
            "Yeast2" => variant.paper_setting("learning_rate", 0.0005),
            "Yeast3" => variant.paper_setting("sparsity", 50),
            _ => variant,
        }
    });
    let small = NETWORKS.map(|(name, _)| network(name, 10, SMALL_MEAN));
    large.into_iter().chain(small).collect()
}

/// The same network with solver steps as long as the gaps of the data, and half as long.
fn step_size() -> Vec<Variant> {
    let variant = |step: f64, in_the_data: f64| {
        let source = Source::Dream3 { n_genes: 100, network: "Ecoli1" };
        let name = format!("Ecoli1, 100 genes, step {step}");
        let variant = Variant::new(name, source, "paper-dream3").paper_setting("step_size", step);
        let bridge_settings = Map::from_iter([("step_size".to_owned(), in_the_data.into())]);
        Variant { bridge_settings, ..variant }
    };
    // The paper's unit of time makes a gap 0.05; in the data it is 10.
    vec![variant(0.05, 10.0).published(0.752, 0.008), variant(0.025, 5.0).published(0.747, 0.005)]
}

fn knockouts() -> Vec<Variant> {
    let variant = |name: &str, arm| Variant::new(name, Source::Knockouts(arm), SIMULATED);
    vec![
        variant("left alone", KnockoutArm::Alone),
        variant("knock-outs", KnockoutArm::Told),
        variant("knock-outs that nobody told of", KnockoutArm::Untold),
    ]
}

fn netsim() -> Vec<Variant> {
    let variant =
        |drop: f64| Variant::new(format!("p = {drop}"), Source::Netsim { drop }, "paper-netsim");
    vec![
        variant(0.0).published(0.95, 0.006),
        variant(0.1).published(0.91, 0.007),
        variant(0.2).published(0.89, 0.007),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_papers_networks_is_the_papers_mean() {
        let mean = NETWORKS.iter().map(|(_, figure)| figure.auroc).sum::<f64>() / 5.0;
        assert!((mean - MEAN_OF_NETWORKS.auroc).abs() < 5e-4, "printed with three digits");
    }
}
