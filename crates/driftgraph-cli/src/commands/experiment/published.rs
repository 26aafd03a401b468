//! The systems that the paper compares SCOTCH with: what it reports for them, and the settings it gives them.

use driftgraph_data::record::MethodRequest;
use driftgraph_methods::find;
use serde_json::{Map, Value, json};

use super::plan::{BRIDGE, ORACLE, SCOTCH_PAPER, SCOTCH_SCRIPTS, SIMULATED};
use super::variants::{PaperFigure, Source};

/// Figures of one system, in the order of the columns of a table of the paper.
type Figures<const N: usize> = [(&'static str, [Option<PaperFigure>; N]); 5];

#[expect(clippy::unnecessary_wraps, reason = "the other entries of the tables are not known")]
const fn known(auroc: f64, deviation: f64) -> Option<PaperFigure> {
    Some(PaperFigure { auroc, deviation })
}

/// Lorenz-96 with 30 and 60 % of the rows dropped, and glycolysis, normalised.
const SYNTHETIC: Figures<3> = [
    ("varlingam", [known(0.5102, 0.025), known(0.4876, 0.032), known(0.5082, 0.009)]),
    ("pcmci-plus", [known(0.4990, 0.008), known(0.4952, 0.021), known(0.4607, 0.031)]),
    ("ngm", [known(0.6788, 0.009), known(0.6329, 0.008), known(0.5953, 0.018)]),
    ("cuts", [known(0.6042, 0.015), known(0.6418, 0.012), known(0.580, 0.007)]),
    ("rhino", [known(0.5714, 0.026), known(0.5123, 0.025), known(0.520, 0.015)]),
];

/// NGM on glycolysis in the original scale; the paper has no other there.
const NGM_UNSCALED: PaperFigure = PaperFigure { auroc: 0.5248, deviation: 0.057 };

/// Netsim, complete and with 10 and 20 % of the rows dropped.
const NETSIM: Figures<3> = [
    ("varlingam", [known(0.84, 0.0), known(0.723, 0.001), known(0.719, 0.003)]),
    ("pcmci", [known(0.83, 0.0), known(0.81, 0.001), known(0.79, 0.006)]),
    ("ngm", [known(0.89, 0.009), known(0.86, 0.009), known(0.85, 0.007)]),
    ("cuts", [known(0.89, 0.010), known(0.87, 0.008), known(0.87, 0.011)]),
    ("rhino-noinst", [known(0.95, 0.001), known(0.93, 0.005), known(0.90, 0.012)]),
];

/// Rhino with edges within a row on Netsim.
const NETSIM_RHINO: [Option<PaperFigure>; 3] =
    [known(0.99, 0.001), known(0.98, 0.004), known(0.97, 0.003)];

/// The five networks of 100 genes in the order of the paper, and their mean.
///
/// Rhino was run there without edges within a row; LSDE on the first network alone.
const DREAM3: Figures<6> = [
    (
        "pcmci-plus",
        [
            known(0.530, 0.002),
            known(0.519, 0.002),
            known(0.530, 0.003),
            known(0.510, 0.001),
            known(0.512, 0.0),
            known(0.520, 0.004),
        ],
    ),
    (
        "ngm",
        [
            known(0.611, 0.002),
            known(0.595, 0.005),
            known(0.597, 0.006),
            known(0.563, 0.006),
            known(0.535, 0.004),
            known(0.580, 0.007),
        ],
    ),
    (
        "cuts",
        [
            known(0.543, 0.003),
            known(0.555, 0.005),
            known(0.545, 0.003),
            known(0.518, 0.007),
            known(0.511, 0.002),
            known(0.534, 0.008),
        ],
    ),
    (
        "rhino-noinst",
        [
            known(0.685, 0.003),
            known(0.680, 0.007),
            known(0.664, 0.006),
            known(0.585, 0.004),
            known(0.567, 0.003),
            known(0.636, 0.022),
        ],
    ),
    ("lsde", [known(0.496, 0.021), None, None, None, None, None]),
];

/// Whether a row is SCOTCH or ours, beside which the paper's SCOTCH stands.
pub(super) fn is_scotch(method: &str) -> bool {
    [BRIDGE, ORACLE, SIMULATED, SCOTCH_PAPER, SCOTCH_SCRIPTS].contains(&method)
        || method.starts_with("bridge")
}

/// What the paper reports for another system than SCOTCH.
pub(super) fn figure(source: &Source, method: &str) -> Option<PaperFigure> {
    match source {
        Source::Simulated { system: "lorenz96", drop, .. } => {
            of(&SYNTHETIC, method, column(*drop, [0.3, 0.6])?)
        }
        Source::Simulated { system: "glycolysis", standardise: true, .. } => {
            of(&SYNTHETIC, method, 2)
        }
        Source::Simulated { system: "glycolysis", .. } => (method == "ngm").then_some(NGM_UNSCALED),
        Source::Netsim { drop } => {
            let column = column(*drop, [0.0, 0.1, 0.2])?;
            let rhino = (method == "rhino").then_some(NETSIM_RHINO[column]).flatten();
            rhino.or_else(|| of(&NETSIM, method, column))
        }
        Source::Dream3 { n_genes: 100, network } => {
            let names = ["Ecoli1", "Ecoli2", "Yeast1", "Yeast2", "Yeast3"];
            of(&DREAM3, method, names.iter().position(|name| name == network)?)
        }
        _ => None,
    }
}

/// What the paper reports for another system over the five networks of 100 genes.
pub(super) fn mean_figure(method: &str) -> Option<PaperFigure> {
    of(&DREAM3, method, 5)
}

fn of<const N: usize>(figures: &Figures<N>, method: &str, column: usize) -> Option<PaperFigure> {
    let (_, row) = figures.iter().find(|(name, _)| *name == method)?;
    row[column]
}

fn column<const N: usize>(drop: f64, columns: [f64; N]) -> Option<usize> {
    columns.iter().position(|&known| (known - drop).abs() < 1e-9)
}

/// The settings that the paper or a reference states for a method on these data; its defaults where neither does.
pub(super) fn settings(source: &Source, method: &str) -> MethodRequest {
    let preset = preset(source, method);
    // A preset of the same release that is filed under the variant without edges within a row.
    let borrowed = preset.filter(|_| method == "rhino").and_then(|name| {
        let owner = find("rhino-noinst")?;
        owner.presets().into_iter().find(|known| known.name == name)
    });
    let mut settings = extras(source, method);
    let preset = match borrowed {
        Some(borrowed) => {
            settings.extend(borrowed.settings);
            None
        }
        None => preset.map(str::to_owned),
    };
    MethodRequest { method: Some(method.to_owned()), preset, settings, ..MethodRequest::default() }
}

fn preset(source: &Source, method: &str) -> Option<&'static str> {
    let is_netsim = matches!(source, Source::Netsim { .. });
    let network = if let Source::Dream3 { network, .. } = source { Some(*network) } else { None };
    let drops = matches!(source, Source::Simulated { drop, .. } if *drop > 0.0);
    match (method, network) {
        (_, None) if matches!(source, Source::Linear | Source::Gap(_)) => None,
        ("varlingam", _) => Some("varlingam-paper"),
        ("pcmci", None) => Some("pcmci-paper"),
        ("pcmci-plus", None) => Some("pcmci-plus-paper"),
        ("ngm", None) if drops => Some("ngm-irregular"),
        ("ngm", None) if !is_netsim => Some("ngm-lorenz"),
        ("ngm", Some(_)) => Some("ngm-dream3"),
        ("cuts", None) if is_netsim => Some("cuts-netsim"),
        ("cuts", Some(_)) => Some("cuts-dream3"),
        ("rhino", None) if is_netsim => Some("rhino-netsim"),
        ("rhino-noinst", None) if is_netsim => Some("rhino-noinst-netsim"),
        ("rhino" | "rhino-noinst", Some("Ecoli1")) => Some("rhino-ecoli1"),
        ("rhino" | "rhino-noinst", Some("Ecoli2")) => Some("rhino-ecoli2"),
        ("rhino" | "rhino-noinst", Some("Yeast1")) => Some("rhino-yeast1"),
        ("rhino" | "rhino-noinst", Some(_)) => Some("rhino-yeast2"),
        ("lsde", Some(_)) => Some("lsde-dream3"),
        _ => None,
    }
}

/// What the paper did with dropped rows, where no preset has it.
fn extras(source: &Source, method: &str) -> Map<String, Value> {
    let extras = match (source, method) {
        (Source::Simulated { drop, .. }, "rhino" | "rhino-noinst") if *drop > 0.0 => {
            json!({"gaps": "hold"})
        }
        (Source::Netsim { drop }, "ngm") if *drop > 0.0 => json!({"clock": "given"}),
        _ => json!({}),
    };
    extras.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_of_the_networks_are_the_papers_means() {
        for (method, row) in DREAM3.iter().filter(|(method, _)| *method != "lsde") {
            let figures: Vec<f64> = row.iter().map(|figure| figure.unwrap().auroc).collect();
            // Printed with three digits.
            let mean = figures[..5].iter().sum::<f64>() / 5.0;
            assert!((mean - figures[5]).abs() < 1e-3, "{method}: {mean}");
        }
    }

    #[test]
    fn each_system_has_its_own_figure_and_none_where_the_paper_has_none() {
        let netsim = Source::Netsim { drop: 0.0 };
        let auroc = |source: &Source, method: &str| figure(source, method).map(|known| known.auroc);
        assert_eq!(auroc(&netsim, "rhino"), Some(0.99));
        assert_eq!(auroc(&netsim, "rhino-noinst"), Some(0.95));
        assert_eq!(auroc(&netsim, "dyngenie3"), None);
        let lorenz = |drop| Source::Simulated { system: "lorenz96", drop, standardise: false };
        assert_eq!(
            (auroc(&lorenz(0.0), "cuts"), auroc(&lorenz(0.6), "cuts")),
            (None, Some(0.6418))
        );
    }

    #[test]
    fn values_of_dream3_are_normalised_for_the_methods_whose_paper_says_so() {
        let source = Source::Dream3 { n_genes: 100, network: "Yeast3" };
        let asked = settings(&source, "ngm");
        assert_eq!(asked.preset.as_deref(), Some("ngm-dream3"));
        let plan = driftgraph_methods::FitPlan::new(asked.clone()).unwrap();
        assert_eq!(plan.settings()["standardize"], true);
    }

    #[test]
    fn rhino_takes_the_settings_of_its_release_under_either_name() {
        let source = Source::Dream3 { n_genes: 100, network: "Ecoli1" };
        let (with, without) = (settings(&source, "rhino"), settings(&source, "rhino-noinst"));
        assert_eq!((with.preset, without.preset.as_deref()), (None, Some("rhino-ecoli1")));
        assert_eq!(with.settings["sparsity"], 19);
    }
}
