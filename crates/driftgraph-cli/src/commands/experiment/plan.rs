//! Which data and methods make up an experiment, and the settings of each.

use std::ops::Range;

use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_methods::{FitPlan, METHODS, Method, PlanError};
use serde_json::Map;

use super::published;
use super::variants::{LARGE_MEAN, Source, Variant, families, variants};
use crate::args::{ExperimentArgs, ExperimentName};

/// Our default fit.
pub(super) const BRIDGE: &str = "bridge";
/// The paper's posterior.
pub(super) const SIMULATED: &str = "simulated";
/// The paper's settings for the data set at hand.
pub(crate) const SCOTCH_PAPER: &str = "scotch-paper";
/// The same with the warm-up of the published scripts for Lorenz, glycolysis and Netsim, which is none.
pub(crate) const SCOTCH_SCRIPTS: &str = "scotch-scripts";
/// The best of the candidates that `bridge` tried, chosen by the truth; asked for by `--oracle`.
pub(super) const ORACLE: &str = "bridge-oracle";
/// Every method.
pub(crate) const ALL: &str = "all";
/// Every method that takes seconds, and ours.
pub(crate) const ALL_FAST: &str = "all-fast";
/// What is compared with ours when nothing is asked for.
pub(super) const SIMPLE: [&str; 3] = ["partial-correlation", "ridge", "var"];
/// What is compared besides where rows may be too far apart for arrows.
const OF_LEVELS: [&str; 2] = ["score-matching", "level-form"];

impl Variant {
    /// Whether a method gives different results for different seeds.
    fn varies(&self, method: &str) -> bool {
        let fixed_data = match self.source {
            Source::Dream3 { .. } => true,
            Source::Netsim { drop } => drop == 0.0,
            Source::Simulated { .. }
            | Source::Linear
            | Source::Family(_)
            | Source::Gap(_)
            | Source::Knockouts(_) => false,
        };
        let plan = self.plan(method, 0, false);
        !fixed_data || plan.is_ok_and(|plan| has_setting(plan.method(), "seed"))
    }

    /// What a name in the table means for this data set and a seed.
    pub(super) fn plan(&self, method: &str, seed: u64, quick: bool) -> Result<FitPlan, PlanError> {
        let plan = match method {
            SCOTCH_PAPER => FitPlan::new(self.paper_settings.clone())?,
            SCOTCH_SCRIPTS => FitPlan::new(self.script_settings())?,
            ORACLE => FitPlan::named(BRIDGE)?,
            name if driftgraph_methods::find(name).is_some() => {
                FitPlan::new(published::settings(&self.source, name))?
            }
            preset => FitPlan::named(preset)?,
        };
        let method = plan.method();
        let mut settings = Map::new();
        if method.name() == BRIDGE {
            settings.extend(self.bridge_settings.clone());
        }
        if quick {
            settings.extend(method.short_trial().as_object().cloned().unwrap_or_default());
        }
        if has_setting(method, "seed") {
            settings.insert("seed".to_owned(), seed.into());
        }
        plan.with(settings)
    }
}

fn has_setting(method: &dyn Method, name: &str) -> bool {
    method.settings().iter().any(|setting| setting.name == name)
}

/// `p = 0.3` becomes `p0.3`: names without blanks need no quotes.
pub(super) fn file_word(name: &str) -> String {
    name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-.".contains(*letter)).collect()
}

/// Everything that will be computed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) variants: Vec<Variant>,
    /// In the order of the table.
    pub(super) methods: Vec<String>,
    pub(super) first_seed: u64,
    pub(super) n_seeds: u64,
    /// Whether the paper counts self edges.
    pub(super) self_edges: SelfEdges,
}

impl Plan {
    /// What was asked for, with what was not said filled in.
    pub(super) fn new(args: &ExperimentArgs) -> anyhow::Result<Self> {
        let self_edges = match args.name {
            ExperimentName::Dream3 | ExperimentName::StepSize | ExperimentName::Knockouts => {
                SelfEdges::Dropped
            }
            _ => SelfEdges::Kept,
        };
        let has_families = !args.families.is_empty();
        anyhow::ensure!(
            !has_families || args.name == ExperimentName::Calibration,
            "`--families` are systems for `calibration`, not for `{}`",
            args.name.word()
        );
        let usual_seeds = match (args.name, args.quick) {
            (ExperimentName::Calibration, false) if has_families => 10,
            (ExperimentName::Calibration, true) if has_families => 2,
            (ExperimentName::Calibration, false) => 200,
            (ExperimentName::Calibration, true) | (ExperimentName::Knockouts, false) => 20,
            (_, false) => 5,
            (_, true) => 2,
        };
        let n_seeds = args.seeds.unwrap_or(usual_seeds);
        let mut variants =
            if has_families { families(&args.families) } else { variants(args.name) };
        if args.quick {
            // The large networks take minutes, however short the training.
            variants.retain(|variant| variant.group != Some(LARGE_MEAN));
            variants.iter_mut().for_each(|variant| variant.paper = None);
        }
        let variants = only(variants, &args.only)?;
        let first_seed = args.first_seed;
        Ok(Self { variants, methods: methods(args)?, first_seed, n_seeds, self_edges })
    }

    /// The seeds for which a method is run on a variant.
    pub(super) fn seeds(&self, variant: &Variant, method: &str) -> Range<u64> {
        let n_seeds = if variant.varies(method) { self.n_seeds } else { 1 };
        self.first_seed..self.first_seed + n_seeds
    }

    /// All seeds for which anything is run.
    pub(super) fn all_seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed + self.n_seeds
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

fn methods(args: &ExperimentArgs) -> anyhow::Result<Vec<String>> {
    let calibration = args.name == ExperimentName::Calibration;
    let mut methods: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !methods.iter().any(|known| known == name) {
            methods.push(name.to_owned());
        }
    };
    for name in &args.methods {
        let is_fast = |method: &&&dyn Method| method.is_fast() || method.name() == BRIDGE;
        match name.as_str() {
            // SCOTCH as the paper ran it stands for the method, as do the paper's settings of the others.
            ALL => METHODS.iter().for_each(|method| {
                add(if method.name() == SIMULATED { SCOTCH_PAPER } else { method.name() });
            }),
            ALL_FAST => METHODS.iter().filter(is_fast).for_each(|method| add(method.name())),
            name => add(name),
        }
    }
    if args.methods.is_empty() {
        add(BRIDGE);
        // Simple methods take no steps of a solver.
        let has_simple = !calibration
            && ![ExperimentName::StepSize, ExperimentName::Knockouts].contains(&args.name);
        SIMPLE.iter().filter(|_| has_simple).for_each(|name| add(name));
        let is_gap = args.name == ExperimentName::Gap;
        OF_LEVELS.iter().filter(|_| is_gap).for_each(|name| add(name));
    }
    if calibration {
        refuse_uncalibrated(&methods)?;
        anyhow::ensure!(
            methods.len() == 1 || !args.families.is_empty(),
            "`calibration` looks at one method at a time unless it is given `--families`"
        );
    }
    if args.oracle {
        anyhow::ensure!(!calibration, "`--oracle` ranks candidates; `calibration` has no ranking");
        let Some(bridge) = methods.iter().position(|method| method == BRIDGE) else {
            anyhow::bail!("`--oracle` needs the method `bridge`, whose candidates it judges");
        };
        methods.insert(bridge + 1, ORACLE.to_owned());
    }
    Ok(methods)
}

fn refuse_uncalibrated(methods: &[String]) -> anyhow::Result<()> {
    for name in methods {
        let plan = FitPlan::named(name);
        anyhow::ensure!(
            plan.is_ok_and(|plan| plan.method().name() == BRIDGE),
            "`calibration` looks at the probabilities of `bridge`, not at `{name}`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use driftgraph_methods::candidate_plan;
    use serde_json::json;

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
    fn scotch_runs_only_when_asked_for_and_no_method_runs_twice() {
        let usual = plan("lorenz").unwrap().methods;
        assert_eq!(usual, ["bridge", "partial-correlation", "ridge", "var"]);
        let asked = plan("lorenz --methods var,bridge,var --oracle").unwrap().methods;
        assert_eq!(asked, ["var", "bridge", "bridge-oracle"]);
    }

    #[test]
    fn all_means_every_method_of_the_registry_and_every_variant_has_a_plan_for_each() {
        let fast = plan("lorenz --methods all-fast").unwrap().methods;
        assert!(fast.contains(&BRIDGE.to_owned()) && !fast.contains(&SIMULATED.to_owned()));
        for experiment in ["lorenz", "glycolysis", "dream3", "netsim", "step-size", "gap"] {
            let line = format!("{experiment} --methods all,scotch-paper,simulated,scotch-scripts");
            let plan = plan(&line).unwrap();
            assert_eq!(plan.methods.len(), METHODS.len() + 2);
            for (variant, method) in plan
                .variants
                .iter()
                .flat_map(|one| plan.methods.iter().map(move |name| (one, name)))
            {
                for quick in [false, true] {
                    let made = variant.plan(method, 7, quick).unwrap();
                    let seed = made.settings().get("seed");
                    assert!(seed.is_none_or(|seed| *seed == 7), "{method}");
                }
            }
        }
    }

    #[test]
    fn a_candidate_is_a_plan_with_what_differs_from_the_usual() {
        let usual = &plan("lorenz").unwrap().variants[0];
        let usual = usual.plan(BRIDGE, 3, true).unwrap();
        let settings = json!({"instantaneous": true, "seed": 3});
        let candidate = json!({"name": "linear + instantaneous", "settings": settings,
            "log_likelihoods": [], "gain": null, "converged": true});
        let candidate = serde_json::from_value(candidate).unwrap();
        let made = candidate_plan(&usual, &candidate).unwrap();
        let words = made.command_words().join(" ");
        assert_eq!(
            words,
            "--method bridge --ensemble 1 --instantaneous=true --seed 3 --select none --steps 40"
        );
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
        let all = variants(ExperimentName::Lorenz);
        let exact = only(all, &["p = 0".to_owned()]).unwrap();
        assert_eq!(exact.len(), 1, "and not also those that go on after it");
    }

    #[test]
    fn methods_without_anything_random_run_once_on_fixed_data() {
        let plan = plan("netsim").unwrap();
        let seeds = |variant: usize, method| plan.seeds(&plan.variants[variant], method).count();
        assert_eq!((seeds(0, "var"), seeds(0, BRIDGE)), (1, 5));
        // Which times are dropped depends on the seed.
        assert_eq!(seeds(1, "var"), 5);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "calibration --methods ridge",
            "calibration --oracle",
            "lorenz --methods var --oracle",
            "lorenz --families all",
            "calibration --methods bridge,bridge-linear",
        ] {
            assert!(plan(line).is_err(), "{line}");
        }
    }
}
