//! Preset and settings become one checked plan of a fit; every clash is decided here.

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::{BridgeError, BridgeSettings};
use driftgraph_core::train::error::SettingsError;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::select::SelectSettings;
use driftgraph_core::train::settings::{CheckedSettings, FitSettings, KnownEdge, SETTINGS};
use driftgraph_core::{SeriesSet, Uninformative};
use serde_json::{Map, Value, json};

/// The preset of the bridge posterior, beside those of the simulated one.
pub const BRIDGE: &str = "bridge";

/// Settings that the bridge posterior shares with the simulated one.
const SHARED: [&str; 8] = [
    "seed",
    "steps",
    "step_size",
    "noise",
    "noise_scale",
    "patience",
    "no_self_loops",
    "broken_steps",
];

/// Settings of a bridge fit that are not its own but say how it is run.
const RUNNING: [&str; 2] = ["select", "ensemble"];

/// What the user asked for, before anything is filled in; this is what a run folder remembers.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Asked {
    /// Name of the preset; the bridge posterior when not given.
    pub preset: Option<String>,
    /// Settings by name, as in a settings file; those of the bridge may stand in a table `bridge`.
    pub settings: Map<String, Value>,
    /// What is known of single edges.
    pub edges: Vec<KnownEdge>,
}

/// Which posterior is fitted, and with what settings.
#[derive(Debug, Clone)]
pub struct FitPlan {
    asked: Asked,
    posterior: PlannedPosterior,
}

/// The settings of either posterior.
#[derive(Debug, Clone)]
pub enum PlannedPosterior {
    /// Ours: paths without simulation.
    Bridge(Box<BridgePlan>),
    /// The paper's.
    Simulated(Preset, Box<CheckedSettings>),
}

/// Settings of a bridge fit.
#[derive(Debug, Clone, PartialEq)]
pub struct BridgePlan {
    /// Whether settings are chosen on held-out series.
    pub select: bool,
    /// What all candidates share, and how they are chosen.
    pub settings: SelectSettings,
    /// What is known of single edges.
    pub edges: Vec<KnownEdge>,
    /// Whether edges from a variable to itself are forbidden.
    pub no_self_loops: bool,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No such setting.
    #[error("there is no setting `{name}`")]
    UnknownSetting {
        /// What was asked for.
        name: String,
    },
    /// A setting of the other posterior.
    #[error(
        "`{name}` is a setting of the simulated posterior; choose it with the preset `simulated`"
    )]
    SimulatedSetting {
        /// The setting.
        name: String,
    },
    /// A setting of the other posterior.
    #[error("`{name}` is a setting of the bridge posterior, not of the preset `{preset}`")]
    BridgeSetting {
        /// The setting.
        name: String,
        /// The preset asked for.
        preset: String,
    },
    /// A value that a setting cannot have.
    #[error("cannot use {what}: {reason}")]
    Value {
        /// The setting, or "the settings".
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// Settings of the simulated posterior outside their ranges.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Settings of the bridge outside their ranges.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// An edge of a variable that the data do not have.
    #[error("the edge `{edge}` names `{variable}`, which the data do not have")]
    UnknownVariable {
        /// The edge.
        edge: String,
        /// The name nobody knows.
        variable: String,
    },
    /// Two statements about one edge that cannot both hold.
    #[error("the edge `{edge}` is {first} and also {second}: say one of them")]
    Contradiction {
        /// The edge.
        edge: String,
        /// What was said first.
        first: String,
        /// What was said later.
        second: String,
    },
    /// No such preset, or a probability of an edge outside 0 to 1.
    #[error(transparent)]
    Core(#[from] driftgraph_core::CoreError),
}

impl Asked {
    /// Reads a settings file: `preset` and settings by name.
    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        let what = "the settings file";
        let table: toml::Table = toml::from_str(text)
            .map_err(|error| PlanError::Value { what, reason: error.to_string() })?;
        let mut settings = to_object(&table);
        let preset = match settings.remove("preset") {
            None => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => {
                let reason = format!("it must be a name, found {other}");
                return Err(PlanError::Value { what: "`preset`", reason });
            }
        };
        let known = |name: &String| {
            name == BRIDGE
                || RUNNING.contains(&name.as_str())
                || is_setting(name)
                || is_bridge_setting(name)
        };
        match settings.keys().find(|name| !known(name)) {
            Some(name) => Err(PlanError::UnknownSetting { name: name.clone() }),
            None => Ok(Self { preset, settings, edges: Vec::new() }),
        }
    }
}

impl FitPlan {
    /// Fills in what was not asked for, and checks everything.
    pub fn new(asked: Asked) -> Result<Self, PlanError> {
        refuse_contradictions(&asked)?;
        let name = asked.preset.as_deref().unwrap_or(BRIDGE);
        let posterior = if name == BRIDGE {
            PlannedPosterior::Bridge(Box::new(bridge_plan(&asked)?))
        } else {
            let preset: Preset = name.parse()?;
            PlannedPosterior::Simulated(preset, Box::new(simulated_settings(&asked, preset)?))
        };
        Ok(Self { asked, posterior })
    }

    /// What was asked for.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The settings.
    pub fn posterior(&self) -> &PlannedPosterior {
        &self.posterior
    }

    /// The same plan with another limit of steps.
    pub fn with_steps(&self, n_steps: u64) -> Result<Self, PlanError> {
        let mut asked = self.asked.clone();
        asked.settings.insert("steps".to_owned(), n_steps.into());
        Self::new(asked)
    }

    /// Where two plans differ: one line per setting, with the value of this and of the other.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (own, other) = (self.flat(), other.flat());
        let names: std::collections::BTreeSet<&String> = own.keys().chain(other.keys()).collect();
        let shown = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
        (names.into_iter())
            .filter(|&name| own.get(name) != other.get(name))
            .map(|name| {
                format!("`{name}`: {} against {}", shown(own.get(name)), shown(other.get(name)))
            })
            .collect()
    }

    /// All settings in effect, nested ones with dots in their names.
    fn flat(&self) -> Map<String, Value> {
        let mut flat = Map::new();
        match &self.posterior {
            PlannedPosterior::Bridge(plan) => {
                flatten(
                    &mut flat,
                    "",
                    json!({
                        "preset": BRIDGE, "select": plan.select, "edges": plan.edges,
                        "no_self_loops": plan.no_self_loops, "ensemble": plan.settings.ensemble,
                    }),
                );
                flatten(&mut flat, "", json!(plan.settings.base));
            }
            PlannedPosterior::Simulated(preset, settings) => {
                flatten(&mut flat, "", json!({"preset": preset.name()}));
                flatten(&mut flat, "", json!(settings.get()));
            }
        }
        flat
    }

    /// Refuses edges of variables that the data do not have, before anything is written.
    pub fn check_edges(&self, variables: &[String]) -> Result<(), PlanError> {
        let edges = match &self.posterior {
            PlannedPosterior::Bridge(plan) => &plan.edges,
            PlannedPosterior::Simulated(_, settings) => &settings.edge_priors,
        };
        edges.iter().try_for_each(|edge| positions(edge, variables).map(|_| ()))
    }
}

impl BridgePlan {
    /// What the user knows about edges; variables that tell nothing are left out.
    pub fn knowledge(&self, data: &SeriesSet) -> Result<EdgePrior, PlanError> {
        let variables = data.variables();
        let mut prior = EdgePrior::new(variables.len(), 0.0);
        if self.no_self_loops {
            prior.forbid_self_loops();
        }
        for edge in &self.edges {
            let [source, target] = positions(edge, variables)?;
            prior.know(source, target, edge.probability)?;
        }
        // Their missing edges would count as evidence that edges are rare.
        (0..variables.len())
            .filter(|&idx| Uninformative::of(data, idx).is_some())
            .for_each(|idx| prior.leave_out(idx));
        Ok(prior)
    }
}

/// Refuses different things said of one edge.
fn refuse_contradictions(asked: &Asked) -> Result<(), PlanError> {
    let said = |probability: f64| match probability {
        0.0 => "forbidden".to_owned(),
        1.0 => "required".to_owned(),
        between => format!("given the probability {between}"),
    };
    let no_self_loops = asked.settings.get("no_self_loops") == Some(&Value::Bool(true));
    for (idx, edge) in asked.edges.iter().enumerate() {
        let same = |other: &&KnownEdge| other.source == edge.source && other.target == edge.target;
        let earlier = asked.edges[..idx].iter().find(same);
        let first = match earlier {
            Some(earlier) if earlier.probability != edge.probability => said(earlier.probability),
            None if no_self_loops && edge.source == edge.target && edge.probability != 0.0 => {
                "forbidden by `--no-self-loops`".to_owned()
            }
            _ => continue,
        };
        let edge_name = format!("{} -> {}", edge.source, edge.target);
        let second = said(edge.probability);
        return Err(PlanError::Contradiction { edge: edge_name, first, second });
    }
    Ok(())
}

fn flatten(into: &mut Map<String, Value>, prefix: &str, value: Value) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                let dot = if prefix.is_empty() { "" } else { "." };
                flatten(into, &format!("{prefix}{dot}{name}"), value);
            }
        }
        other => {
            into.insert(prefix.to_owned(), other);
        }
    }
}

fn simulated_settings(asked: &Asked, preset: Preset) -> Result<CheckedSettings, PlanError> {
    let mut values = to_object(&preset.settings());
    for (name, value) in &asked.settings {
        if name == BRIDGE || RUNNING.contains(&name.as_str()) || is_bridge_setting(name) {
            let (name, preset) = (name.clone(), preset.name().to_owned());
            return Err(PlanError::BridgeSetting { name, preset });
        }
        if !is_setting(name) {
            return Err(PlanError::UnknownSetting { name: name.clone() });
        }
        values.insert(name.clone(), value.clone());
    }
    let mut settings: FitSettings = from_value(Value::Object(values), "the settings")?;
    settings.edge_priors.extend(asked.edges.iter().cloned());
    Ok(settings.check()?)
}

/// Settings of the bridge: its own table, then what stands beside it, which counts more.
fn bridge_plan(asked: &Asked) -> Result<BridgePlan, PlanError> {
    let mut beside = asked.settings.clone();
    let mut given = match beside.remove(BRIDGE) {
        None => Map::new(),
        Some(Value::Object(own)) => own,
        Some(other) => {
            let reason = format!("it must be a table, found {other}");
            return Err(PlanError::Value { what: "`bridge`", reason });
        }
    };
    given.extend(beside);
    for name in given.keys() {
        let shared = SHARED.iter().chain(&RUNNING).any(|known| known == name);
        if !shared && !is_bridge_setting(name) {
            let name = name.clone();
            return Err(if is_setting(&name) {
                PlanError::SimulatedSetting { name }
            } else {
                PlanError::UnknownSetting { name }
            });
        }
    }
    let no_self_loops = given.remove("no_self_loops") == Some(Value::Bool(true));
    let mut settings = SelectSettings::default();
    if let Some(ensemble) = given.remove("ensemble") {
        settings.ensemble = from_value(ensemble, "`ensemble`")?;
    }
    let select = match given.remove("select") {
        Some(value) => from_value(value, "`select`")?,
        None => Select::Auto,
    };
    // The same things under the bridge's own words.
    if let Some(steps) = given.remove("steps") {
        given.insert("max_steps".to_owned(), steps);
    }
    if let Some(scale) = given.get("noise_scale").filter(|scale| scale.is_number()) {
        let fixed = json!({"kind": "fixed", "scale": scale});
        given.insert("noise_scale".to_owned(), fixed);
    }
    if let Some(kind) = given.get("density").filter(|density| density.is_string()) {
        // The default's belief about the density, pooled otherwise.
        let density = json!({"kind": kind, "alpha": 0.5, "beta": 5.0});
        given.insert("density".to_owned(), density);
    }
    let mut values = to_object(&BridgeSettings::default());
    values.extend(given);
    settings.base = from_value(Value::Object(values), "the settings")?;
    settings.base.clone().check()?;
    let select = select == Select::Auto;
    Ok(BridgePlan { select, settings, edges: asked.edges.clone(), no_self_loops })
}

#[derive(PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Select {
    Auto,
    None,
}

fn is_setting(name: &str) -> bool {
    name == "broken_steps" || SETTINGS.iter().any(|setting| setting.name == name)
}

fn is_bridge_setting(name: &str) -> bool {
    !SHARED.contains(&name) && to_object(&BridgeSettings::default()).contains_key(name)
}

fn positions(edge: &KnownEdge, variables: &[String]) -> Result<[usize; 2], PlanError> {
    let find = |name: &String| {
        let found = variables.iter().position(|variable| variable == name);
        found.ok_or_else(|| PlanError::UnknownVariable {
            edge: format!("{} -> {}", edge.source, edge.target),
            variable: name.clone(),
        })
    };
    Ok([find(&edge.source)?, find(&edge.target)?])
}

fn to_object(settings: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(values)) => values,
        _ => unreachable!("settings are a struct of plain values"),
    }
}

fn from_value<T: serde::de::DeserializeOwned>(
    value: Value,
    what: &'static str,
) -> Result<T, PlanError> {
    serde_json::from_value(value)
        .map_err(|error| PlanError::Value { what, reason: error.to_string() })
}
