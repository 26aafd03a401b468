//! Settings of PCMCI and PCMCI+: their tables, presets and types.

use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::record::MethodRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::lags::{Links, Node, Results};
use super::momentary::MomentaryTests;
use super::parents::ParentSearch;
use super::plus::{ColliderRule, PlusLinks, PlusSettings};
use super::samples::Samples;
use crate::method::{Method, Preset};
use crate::plan::{PlanError, from_value};
use crate::regular::Gaps;
use crate::settings::{checked_by_table, row};

const LEVEL: Range = Range::Mixed { words: &["auto"], or: "a number above 0 and at most 1" };
const COUNT: Range = Range::Number { min: 0.0, max: 1e6, above: false };
const SOME: Range = Range::Number { min: 1.0, max: 1e6, above: false };

#[rustfmt::skip]
const COMMON: [Setting; 6] = [
    row("tau_max", "1", Range::Number { min: 1.0, max: 100.0, above: false }, "largest lag, in rows; a sample needs twice as many rows before it"),
    row("max_conds_dim", "none", COUNT, "most candidates to condition on in the search for lagged parents; no limit with none"),
    row("max_combinations", "1", SOME, "sets of conditions of each size that are tried for each candidate"),
    row("fdr", "none", Range::Choice(&["none", "bh"]), "control the share of false discoveries in p values, after Benjamini and Hochberg"),
    row("gaps", "leave-out", Range::Choice(&["leave-out", "hold"]), "leave out what needs a missing cell, or hold the last value there"),
    row("pc_alpha", "0.2", LEVEL, "level of the tests in the search for lagged parents; `auto` chooses it for each variable"),
];

/// Settings of `pcmci`.
#[rustfmt::skip]
pub(super) fn pcmci_table() -> Vec<Setting> {
    let mut table = COMMON.to_vec();
    table.extend([
        row("alpha_level", "0.05", Range::Number { min: 0.0, max: 1.0, above: true }, "largest p of a link"),
        row("tau_min", "0", Range::Number { min: 0.0, max: 100.0, above: false }, "smallest lag that is tested"),
        row("max_conds_py", "none", COUNT, "most parents of the target to condition on; all with none"),
        row("max_conds_px", "none", COUNT, "most parents of the source to condition on; all with none"),
    ]);
    table
}

/// Settings of `pcmci-plus`.
#[rustfmt::skip]
pub(super) fn plus_table() -> Vec<Setting> {
    let mut table = COMMON.to_vec();
    table.retain(|setting| setting.name != "pc_alpha");
    table.extend([
        row("pc_alpha", "0.01", LEVEL, "level of all tests; `auto` takes the one whose model is best"),
        row("collider_rule", "majority", Range::Choice(&["majority", "conservative", "none"]), "how often the middle of a triple may separate its ends if it is a common effect: in less than half of the sets, in none of them, or, without a vote, not in the set found first"),
        row("conflict_resolution", "true", Range::YesNo, "mark links that are oriented both ways; else the first direction stays"),
        row("reset_lagged_links", "false", Range::YesNo, "test all lagged links again in the second phase"),
        row("directed_scores", "false", Range::YesNo, "score a value within a row only where the link does not go the other way"),
    ]);
    table
}

/// Presets of `pcmci`.
pub(super) fn pcmci_presets() -> Vec<Preset> {
    let paper = json!({"tau_max": 2, "pc_alpha": "auto", "gaps": "hold"});
    vec![
        Preset::new("pcmci", "the defaults of the reference", &json!({})),
        Preset::new(
            "pcmci-paper",
            "as in the paper for Netsim: two lags, level chosen, missing values held",
            &paper,
        ),
    ]
}

/// Presets of `pcmci-plus`.
pub(super) fn plus_presets() -> Vec<Preset> {
    let paper = json!({"tau_max": 2, "pc_alpha": "auto", "gaps": "hold"});
    vec![
        Preset::new("pcmci-plus", "the defaults of the reference", &json!({})),
        Preset::new(
            "pcmci-plus-paper",
            "as in the paper for Lorenz and glycolysis: two lags, level chosen, missing values held",
            &paper,
        ),
    ]
}

/// A level of tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Level {
    Given(f64),
    Word(String),
}

/// What both methods have.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Common {
    pub(super) tau_max: usize,
    pc_alpha: Level,
    max_conds_dim: Option<usize>,
    max_combinations: usize,
    fdr: Option<FalseDiscoveries>,
    pub(super) gaps: Gaps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FalseDiscoveries {
    None,
    Bh,
}

impl Common {
    /// The level that was given; `None` where it is to be chosen.
    pub(super) fn level(&self) -> Option<f64> {
        match self.pc_alpha {
            Level::Given(alpha) => Some(alpha),
            Level::Word(_) => None,
        }
    }

    fn search(&self, n_variables: usize, tau_min: usize) -> ParentSearch {
        ParentSearch {
            n_variables,
            tau_min,
            tau_max: self.tau_max,
            max_conds_dim: self.max_conds_dim,
            max_combinations: self.max_combinations,
        }
    }
}

/// Settings of `pcmci`, as types.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PcmciSettings {
    #[serde(flatten)]
    pub(super) common: Common,
    alpha_level: f64,
    tau_min: usize,
    max_conds_py: Option<usize>,
    max_conds_px: Option<usize>,
}

/// What PCMCI found.
pub(super) struct PcmciLinks {
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) parents: Vec<Vec<Node>>,
    /// Levels chosen for each variable.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) chosen: Option<Vec<f64>>,
    pub(super) results: Results,
    pub(super) links: Links,
}

impl PcmciSettings {
    /// Both phases.
    pub(super) fn run(&self, samples: &Samples, n_variables: usize) -> PcmciLinks {
        let lagged =
            self.common.search(n_variables, self.tau_min).run(samples, self.common.level());
        let tests = MomentaryTests {
            parents: &lagged.parents,
            tau_min: self.tau_min,
            tau_max: self.common.tau_max,
            max_conds_py: self.max_conds_py,
            max_conds_px: self.max_conds_px,
            alpha_level: self.alpha_level,
            fdr: self.common.fdr == Some(FalseDiscoveries::Bh),
        };
        let (results, links) = tests.run(samples);
        PcmciLinks { parents: lagged.parents, chosen: lagged.chosen, results, links }
    }
}

/// Settings of `pcmci-plus`, as types.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PlusMethodSettings {
    #[serde(flatten)]
    pub(super) common: Common,
    collider_rule: ColliderRule,
    conflict_resolution: bool,
    reset_lagged_links: bool,
    pub(super) directed_scores: bool,
}

impl PlusMethodSettings {
    /// Everything, with the level that was used.
    pub(super) fn run(&self, samples: &Samples, n_variables: usize) -> (PlusLinks, f64) {
        let settings = PlusSettings {
            search: self.common.search(n_variables, 1),
            rule: self.collider_rule,
            conflict_resolution: self.conflict_resolution,
            reset_lagged_links: self.reset_lagged_links,
            fdr: self.common.fdr == Some(FalseDiscoveries::Bh),
        };
        settings.run(samples, self.common.level())
    }
}

/// What cannot be seen from the ranges of single settings.
pub(super) trait Consistent {
    /// Refuses what does not go together.
    fn check(&self) -> Result<(), PlanError>;
}

impl Consistent for Common {
    fn check(&self) -> Result<(), PlanError> {
        let is_level = match &self.pc_alpha {
            Level::Given(alpha) => *alpha > 0.0 && *alpha <= 1.0,
            Level::Word(word) => word == "auto",
        };
        if is_level {
            return Ok(());
        }
        let found = match &self.pc_alpha {
            Level::Given(alpha) => alpha.to_string(),
            Level::Word(word) => format!("`{word}`"),
        };
        Err(PlanError::OutOfRange { name: "pc_alpha".to_owned(), range: LEVEL.to_string(), found })
    }
}

impl Consistent for PcmciSettings {
    fn check(&self) -> Result<(), PlanError> {
        if self.tau_min > self.common.tau_max {
            let range = format!("at most `tau_max`, {}", self.common.tau_max);
            let found = self.tau_min.to_string();
            return Err(PlanError::OutOfRange { name: "tau_min".to_owned(), range, found });
        }
        self.common.check()
    }
}

impl Consistent for PlusMethodSettings {
    fn check(&self) -> Result<(), PlanError> {
        self.common.check()
    }
}

/// All settings in effect, checked together.
pub(super) fn resolved<T: Consistent + DeserializeOwned>(
    method: &dyn Method,
    asked: &MethodRequest,
) -> Result<Map<String, Value>, PlanError> {
    let name = asked.preset.as_deref();
    let preset = method.presets().into_iter().find(|known| Some(known.name) == name);
    let given = preset.map(|preset| preset.settings).unwrap_or_default();
    let settings = checked_by_table(method.name(), &method.settings(), given, &asked.settings)?;
    from_value::<T>(Value::Object(settings.clone()), "the settings")?.check()?;
    Ok(settings)
}
