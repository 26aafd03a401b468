//! Which data and methods make up an experiment, and what the paper reports for them.

use driftgraph_core::fitted::score::SelfEdges;
use serde::{Deserialize, Serialize};

use crate::args::{ExperimentArgs, ExperimentName, Method};

/// Networks of the DREAM3 challenge, with the AUROC the paper reports for 100 genes.
const NETWORKS: [(&str, PaperFigure); 5] = [
    ("Ecoli1", PaperFigure { auroc: 0.752, deviation: 0.008 }),
    ("Ecoli2", PaperFigure { auroc: 0.705, deviation: 0.003 }),
    ("Yeast1", PaperFigure { auroc: 0.712, deviation: 0.003 }),
    ("Yeast2", PaperFigure { auroc: 0.622, deviation: 0.004 }),
    ("Yeast3", PaperFigure { auroc: 0.594, deviation: 0.001 }),
];

/// The rows that average the networks of one size.
const LARGE_MEAN: &str = "100 genes, mean of five";
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
}

/// One data set of an experiment, or one per seed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variant {
    /// The name in the table.
    pub(super) name: String,
    /// The name of the row that averages this and others.
    pub(super) group: Option<&'static str>,
    pub(super) source: Source,
    /// Options of `fit` that ask for the paper's settings.
    pub(super) paper_options: &'static [&'static str],
    /// Options of `fit` for our own, where the data set itself is not all that varies.
    pub(super) bridge_options: &'static [&'static str],
    pub(super) paper: Option<PaperFigure>,
}

impl Variant {
    /// Whether a method gives different results for different seeds.
    pub(super) fn varies(&self, method: Method) -> bool {
        let fixed_data = match self.source {
            Source::Dream3 { .. } => true,
            Source::Netsim { drop } => drop == 0.0,
            Source::Simulated { .. } | Source::Linear => false,
        };
        !(fixed_data && method.baseline().is_some())
    }
}

/// Everything that will be computed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) variants: Vec<Variant>,
    /// In the order of the table.
    pub(super) methods: Vec<Method>,
    pub(super) n_seeds: u64,
    /// Whether the paper counts self edges.
    pub(super) self_edges: SelfEdges,
}

impl Plan {
    /// What was asked for, with what was not said filled in.
    pub(super) fn new(args: &ExperimentArgs) -> anyhow::Result<Self> {
        let self_edges = match args.name {
            ExperimentName::Dream3 | ExperimentName::StepSize => SelfEdges::Dropped,
            _ => SelfEdges::Kept,
        };
        let usual_seeds = match (args.name, args.quick) {
            (ExperimentName::Calibration, false) => 200,
            (ExperimentName::Calibration, true) => 20,
            (_, false) => 5,
            (_, true) => 2,
        };
        let n_seeds = args.seeds.unwrap_or(usual_seeds);
        let mut variants = only(variants(args.name), &args.only)?;
        if args.quick {
            // The large networks take minutes, however short the training.
            variants.retain(|variant| variant.group != Some(LARGE_MEAN));
            for variant in &mut variants {
                variant.paper = None;
            }
        }
        Ok(Self { variants, methods: methods(args)?, n_seeds, self_edges })
    }

    /// The seeds for which a method is run on a variant.
    pub(super) fn seeds(&self, variant: &Variant, method: Method) -> u64 {
        if variant.varies(method) { self.n_seeds } else { 1 }
    }
}

/// Those variants that are meant by one of the texts; all if there is none.
///
/// A text means the variant of that name, or else all whose names hold it.
fn only(variants: Vec<Variant>, texts: &[String]) -> anyhow::Result<Vec<Variant>> {
    if texts.is_empty() {
        return Ok(variants);
    }
    let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    for text in texts {
        anyhow::ensure!(
            names.iter().any(|name| name.contains(text.as_str())),
            "`--only {text}` fits none of the data: {}",
            names.join("; ")
        );
    }
    let means = |text: &String, name: &String| {
        if names.contains(text) { name == text } else { name.contains(text.as_str()) }
    };
    let asked = |variant: &Variant| texts.iter().any(|text| means(text, &variant.name));
    let (mut kept, left_out): (Vec<Variant>, Vec<Variant>) = variants.into_iter().partition(asked);
    // The mean of some networks is not that of all.
    for variant in &mut kept {
        if left_out.iter().any(|other| other.group == variant.group) {
            variant.group = None;
        }
    }
    Ok(kept)
}

/// Whether a row averages variants.
pub(super) fn is_mean(name: &str) -> bool {
    [LARGE_MEAN, SMALL_MEAN].contains(&name)
}

/// The paper's figure of a row that averages variants.
pub(super) fn paper_mean(group: &str) -> Option<PaperFigure> {
    (group == LARGE_MEAN).then_some(MEAN_OF_NETWORKS)
}

fn methods(args: &ExperimentArgs) -> anyhow::Result<Vec<Method>> {
    let calibration = args.name == ExperimentName::Calibration;
    let simple = [Method::PartialCorrelation, Method::Ridge, Method::Var];
    let mut methods = Vec::new();
    for &method in &args.methods {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    if methods.is_empty() {
        methods.push(Method::Bridge);
        // Simple methods take no steps of a solver.
        let has_simple = !calibration && args.name != ExperimentName::StepSize;
        methods.extend(simple.into_iter().filter(|_| has_simple));
    }
    let has_probabilities =
        |method: &Method| matches!(method, Method::Bridge | Method::BridgeLinear);
    if let Some(method) = methods.iter().find(|method| calibration && !has_probabilities(method)) {
        anyhow::bail!(
            "`calibration` looks at the probabilities of `bridge`, not at `{}`",
            method.word()
        );
    }
    anyhow::ensure!(
        !calibration || methods.len() == 1,
        "`calibration` looks at one method at a time: `bridge` or `bridge-linear`"
    );
    if args.oracle {
        anyhow::ensure!(!calibration, "`--oracle` ranks candidates; `calibration` has no ranking");
        let bridge = methods.iter().position(|method| *method == Method::Bridge);
        let Some(bridge) = bridge else {
            anyhow::bail!("`--oracle` needs the method `bridge`, whose candidates it judges");
        };
        methods.insert(bridge + 1, Method::Oracle);
    }
    Ok(methods)
}

fn variants(name: ExperimentName) -> Vec<Variant> {
    match name {
        ExperimentName::Lorenz => lorenz(),
        ExperimentName::Glycolysis => glycolysis(),
        ExperimentName::Dream3 => dream3(),
        ExperimentName::Netsim => netsim(),
        ExperimentName::Calibration => vec![Variant {
            name: "linear".to_owned(),
            group: None,
            source: Source::Linear,
            paper_options: &[],
            bridge_options: &[],
            paper: None,
        }],
        ExperimentName::StepSize => step_size(),
        ExperimentName::Bimodal | ExperimentName::Scaling | ExperimentName::Overview => Vec::new(),
    }
}

fn lorenz() -> Vec<Variant> {
    let variant = |drop: f64, paper_options, paper| Variant {
        name: format!("p = {drop}"),
        group: None,
        source: Source::Simulated { system: "lorenz96", drop, standardise: false },
        paper_options,
        bridge_options: &[],
        paper,
    };
    let published = |auroc, deviation| Some(PaperFigure { auroc, deviation });
    let slower: &[&str] = &["--preset", "paper-lorenz", "--learning-rate", "0.001"];
    vec![
        variant(0.0, &["--preset", "paper-lorenz"], None),
        variant(0.3, &["--preset", "paper-lorenz"], published(0.7279, 0.017)),
        variant(0.6, slower, published(0.6453, 0.014)),
    ]
}

fn glycolysis() -> Vec<Variant> {
    let variant = |name: &str, standardise, auroc, deviation| Variant {
        name: name.to_owned(),
        group: None,
        source: Source::Simulated { system: "glycolysis", drop: 0.0, standardise },
        // Normalised, if at all, as the data are made.
        paper_options: &["--preset", "paper-glycolysis", "--standardize=false"],
        bridge_options: &[],
        paper: Some(PaperFigure { auroc, deviation }),
    };
    vec![
        variant("normalised", true, 0.7113, 0.012),
        variant("original scale", false, 0.7352, 0.019),
    ]
}

fn dream3() -> Vec<Variant> {
    let large = NETWORKS.map(|(network, figure)| Variant {
        name: format!("{network}, 100 genes"),
        group: Some(LARGE_MEAN),
        source: Source::Dream3 { n_genes: 100, network },
        paper_options: match network {
            "Yeast2" => &["--preset", "paper-dream3", "--learning-rate", "0.0005"],
            "Yeast3" => &["--preset", "paper-dream3", "--sparsity", "50"],
            _ => &["--preset", "paper-dream3"],
        },
        bridge_options: &[],
        paper: Some(figure),
    });
    let small = NETWORKS.map(|(network, _)| Variant {
        name: format!("{network}, 10 genes"),
        group: Some(SMALL_MEAN),
        source: Source::Dream3 { n_genes: 10, network },
        paper_options: &["--preset", "paper-dream3"],
        bridge_options: &[],
        paper: None,
    });
    large.into_iter().chain(small).collect()
}

/// The same network with solver steps as long as the gaps of the data, and half as long.
fn step_size() -> Vec<Variant> {
    let variant = |step: f64, paper_options, bridge_options, auroc, deviation| Variant {
        name: format!("Ecoli1, 100 genes, step {step}"),
        group: None,
        source: Source::Dream3 { n_genes: 100, network: "Ecoli1" },
        paper_options,
        bridge_options,
        paper: Some(PaperFigure { auroc, deviation }),
    };
    // The paper's unit of time makes a gap 0.05; in the data it is 10.
    vec![
        variant(
            0.05,
            &["--preset", "paper-dream3", "--step-size", "0.05"],
            &["--step-size", "10"],
            0.752,
            0.008,
        ),
        variant(
            0.025,
            &["--preset", "paper-dream3", "--step-size", "0.025"],
            &["--step-size", "5"],
            0.747,
            0.005,
        ),
    ]
}

fn netsim() -> Vec<Variant> {
    let variant = |drop: f64, auroc, deviation| Variant {
        name: format!("p = {drop}"),
        group: None,
        source: Source::Netsim { drop },
        paper_options: &["--preset", "paper-netsim"],
        bridge_options: &[],
        paper: Some(PaperFigure { auroc, deviation }),
    };
    vec![variant(0.0, 0.95, 0.006), variant(0.1, 0.91, 0.007), variant(0.2, 0.89, 0.007)]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn plan(line: &str) -> anyhow::Result<Plan> {
        let line = format!("driftgraph experiment {line} --out x");
        match Cli::try_parse_from(line.split_whitespace()).unwrap().command {
            Command::Experiment(args) => Plan::new(&args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_mean_of_the_papers_networks_is_the_papers_mean() {
        let mean = NETWORKS.iter().map(|(_, figure)| figure.auroc).sum::<f64>() / 5.0;
        assert!((mean - MEAN_OF_NETWORKS.auroc).abs() < 5e-4, "printed with three digits");
    }

    #[test]
    fn scotch_runs_only_when_asked_for_and_no_method_runs_twice() {
        let usual = plan("lorenz").unwrap().methods;
        assert!(usual.contains(&Method::Bridge) && !usual.contains(&Method::ScotchPaper));
        let asked = plan("lorenz --methods var,bridge,var --oracle").unwrap().methods;
        assert_eq!(asked, [Method::Var, Method::Bridge, Method::Oracle]);
    }

    #[test]
    fn a_name_means_itself_and_a_part_of_names_all_of_them() {
        let names = |line: &str| -> Vec<String> {
            plan(line).unwrap().variants.into_iter().map(|variant| variant.name).collect()
        };
        // `plan` splits at blanks.
        assert_eq!(names("lorenz --only 0.3"), ["p = 0.3"]);
        assert_eq!(names("lorenz --only 0.6 --only 0.3"), ["p = 0.3", "p = 0.6"]);
        assert_eq!(names("glycolysis --only normalised"), ["normalised"]);
        assert_eq!(names("dream3 --only Ecoli1").len(), 2);
        let groups = |line: &str| {
            plan(line).unwrap().variants.iter().filter(|one| one.group.is_some()).count()
        };
        assert_eq!((groups("dream3 --only Ecoli1"), groups("dream3 --only 100")), (0, 5));
        let all = super::variants(ExperimentName::Lorenz);
        let exact = only(all, &["p = 0".to_owned()]).unwrap();
        assert_eq!(exact.len(), 1, "and not also those that go on after it");
    }

    #[test]
    fn methods_without_anything_random_run_once_on_fixed_data() {
        let plan = plan("netsim").unwrap();
        let seeds = |variant: usize, method| plan.seeds(&plan.variants[variant], method);
        assert_eq!((seeds(0, Method::Var), seeds(0, Method::Bridge)), (1, 5));
        // Which times are dropped depends on the seed.
        assert_eq!(seeds(1, Method::Var), 5);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in
            ["calibration --methods ridge", "calibration --oracle", "lorenz --methods var --oracle"]
        {
            assert!(plan(line).is_err(), "{line}");
        }
    }
}
