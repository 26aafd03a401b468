//! What was asked for becomes one checked plan of a fit; every clash is decided here.

use std::collections::BTreeSet;

use driftgraph_core::train::bridge::BridgeError;
use driftgraph_core::train::error::SettingsError;
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::settings::KnownEdge;
use driftgraph_core::{Preparation, SeriesSet};
use driftgraph_data::record::{EdgeLimits, MethodRequest};
use driftgraph_text::nearest;
use serde_json::{Map, Value};

use crate::limits::AllowedPairs;
use crate::memory::keep_freed_memory;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask};
use crate::{METHODS, bridge, halves, method_of, wrong_value};

/// A method with all its settings, ready to learn.
#[derive(Clone)]
pub struct FitPlan {
    method: &'static dyn Method,
    asked: MethodRequest,
    settings: Map<String, Value>,
}

impl std::fmt::Debug for FitPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FitPlan")
            .field("method", &self.method.name())
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No such method or preset.
    #[error("there is no {what} `{name}`; {}", meant(what, name, known))]
    UnknownName {
        /// "method", "preset" or "setting".
        what: &'static str,
        /// What was asked for.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// A preset of another method.
    #[error("`{preset}` is a preset of the method `{owner}`, not of `{method}`")]
    OtherPreset {
        /// The preset.
        preset: String,
        /// Whose it is.
        owner: &'static str,
        /// The method asked for.
        method: &'static str,
    },
    /// A setting of other methods.
    #[error("{}", other_setting(name, method))]
    OtherSetting {
        /// The setting.
        name: String,
        /// The method asked for.
        method: &'static str,
    },
    /// A text that stands for no value of a setting.
    #[error("`--{flag}` needs {range}, found `{found}`")]
    Text {
        /// The flag.
        flag: String,
        /// What is allowed.
        range: String,
        /// What was typed.
        found: String,
    },
    /// A value outside its range.
    #[error("`{name}` must be {range}, found {found}")]
    OutOfRange {
        /// The setting.
        name: String,
        /// What is allowed.
        range: String,
        /// What was given.
        found: String,
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
    /// Knowledge about edges that a method has no use for.
    #[error(
        "`{method}` cannot take what is known of edges; leave it out, or choose another method"
    )]
    NoPriorEdges {
        /// The method.
        method: &'static str,
    },
    /// An edge of a variable that the data do not have.
    #[error("the edge `{edge}` names `{variable}`, which the data do not have")]
    UnknownVariable {
        /// The edge.
        edge: String,
        /// The name nobody knows.
        variable: String,
    },
    /// An edge that must or may be, into a variable that nothing drives.
    #[error("the edge `{edge}` leads into the input `{input}`, which nothing drives")]
    EdgeIntoInput {
        /// The edge.
        edge: String,
        /// The input.
        input: String,
    },
    /// An edge that must or may be, which the limits rule out.
    #[error(
        "the edge `{edge}` must or may be, and `{end}` is not among the `--{flag}`: say one of them"
    )]
    EdgeOutsideLimits {
        /// The edge.
        edge: String,
        /// The variable that is missing there.
        end: String,
        /// `sources` or `targets`.
        flag: &'static str,
    },
    /// An input among the variables that may be driven.
    #[error("`{input}` is an input and also one of the `--targets`: inputs are driven by nothing")]
    InputAsTarget {
        /// The input.
        input: String,
    },
    /// A name among sources or targets that the data do not have.
    #[error("`--{flag}` names `{name}`, which the data do not have")]
    UnknownLimit {
        /// `sources` or `targets`.
        flag: &'static str,
        /// The name nobody knows.
        name: String,
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
    /// A probability of an edge outside 0 to 1.
    #[error(transparent)]
    Core(#[from] driftgraph_core::CoreError),
}

/// The name that was probably meant, or where all are to be found.
fn meant(what: &str, name: &str, known: &[&'static str]) -> String {
    // The paper writes PCMCI+.
    match nearest(&name.replace('+', "-plus"), known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if what == "setting" => "`driftgraph methods NAME` lists those of a method".to_owned(),
        None => format!("there are `{}`", known.join("`, `")),
    }
}

/// Whose setting it is, so that the user knows what to change.
fn other_setting(name: &str, method: &str) -> String {
    let owners =
        METHODS.iter().filter(|known| known.settings().iter().any(|setting| setting.name == name));
    let owners: Vec<String> = owners.map(|known| format!("`{}`", known.name())).collect();
    match owners.join(", ") {
        none if none.is_empty() => format!("there is no setting `{name}`"),
        owners => format!("`{name}` is a setting of {owners}, not of `{method}`"),
    }
}

/// Reads a settings file: `method`, `preset` and settings by name.
pub fn asked_in_toml(text: &str) -> Result<MethodRequest, PlanError> {
    let what = "the settings file";
    let table: toml::Table = toml::from_str(text)
        .map_err(|error| PlanError::Value { what, reason: error.to_string() })?;
    let mut settings = to_object(&table);
    let mut name = |key: &'static str| match settings.remove(key) {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(other) => {
            let reason = format!("it must be a name, found {other}");
            Err(PlanError::Value { what: key, reason })
        }
    };
    let (method, preset) = (name("method")?, name("preset")?);
    let preparation = preparation_in(&mut settings)?;
    let mut known = vec![bridge::NAME, bridge::BROKEN_STEPS];
    known.extend(METHODS.iter().flat_map(|method| method.settings()).map(|setting| setting.name));
    if let Some(name) = settings.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(PlanError::UnknownName { what: "setting", name: name.clone(), known });
    }
    let (edges, limits) = (Vec::new(), EdgeLimits::default());
    Ok(MethodRequest { method, preset, settings, edges, limits, preparation })
}

/// What is taken out of the data, from the settings among which it stands.
fn preparation_in(settings: &mut Map<String, Value>) -> Result<Preparation, PlanError> {
    let own = ["season", "detrend", "log"];
    let own = own.into_iter().filter_map(|name| Some((name.to_owned(), settings.remove(name)?)));
    from_value(Value::Object(own.collect()), "season, detrend or log")
}

impl FitPlan {
    /// Fills in what was not asked for, and checks everything.
    pub fn new(asked: MethodRequest) -> Result<Self, PlanError> {
        let method = method_of(&asked)?;
        refuse_contradictions(&asked)?;
        if !asked.edges.is_empty() && !method.takes().prior_edges {
            return Err(PlanError::NoPriorEdges { method: method.name() });
        }
        let settings =
            method.resolve(&asked).map_err(|error| wrong_value::named(method, &asked, error))?;
        Ok(Self { method, asked, settings })
    }

    /// The plan that a name stands for: a method with its defaults, or a preset.
    pub fn named(name: &str) -> Result<Self, PlanError> {
        let mut asked = MethodRequest { method: Some(name.to_owned()), ..MethodRequest::default() };
        if crate::find(name).is_none() {
            if crate::owner_of(name).is_none() {
                let names = METHODS.iter().map(|method| method.name());
                let presets = METHODS.iter().flat_map(|method| method.presets());
                let mut known: Vec<_> = names.chain(presets.map(|preset| preset.name)).collect();
                known.dedup();
                let (what, name) = ("method or preset", name.to_owned());
                return Err(PlanError::UnknownName { what, name, known });
            }
            asked = MethodRequest { preset: Some(name.to_owned()), ..MethodRequest::default() };
        }
        Self::new(asked)
    }

    /// The same plan with more settings.
    pub fn with(
        &self,
        settings: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Self, PlanError> {
        let mut asked = self.asked.clone();
        asked.settings.extend(settings);
        Self::new(asked)
    }

    /// The method.
    pub fn method(&self) -> &'static dyn Method {
        self.method
    }

    /// What was asked for.
    pub fn asked(&self) -> &MethodRequest {
        &self.asked
    }

    /// The preset, the method's own where none was asked for; `None` for methods without presets.
    pub fn preset(&self) -> Option<String> {
        let own = || self.method.presets().first().map(|preset| preset.name.to_owned());
        self.asked.preset.clone().or_else(own)
    }

    /// All settings in effect.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// The settings in effect as the method's own type.
    pub fn typed<T: serde::de::DeserializeOwned>(&self) -> Result<T, PlanError> {
        from_value(Value::Object(self.settings.clone()), "the settings")
    }

    /// Learns from data, and says what the method does with those it cannot take as they are.
    pub fn learn(&self, data: &SeriesSet, progress: &dyn Progress) -> Result<Learned, MethodError> {
        keep_freed_memory();
        let transform = self.asked.preparation.fit(data)?;
        let prepared = transform.as_ref().map(|transform| transform.apply(data));
        let given = prepared.as_ref().unwrap_or(data);
        let is_told = self.method.takes().experiments == Handling::Full;
        let untold = (!is_told).then(|| given.without_experiment());
        let given = untold.as_ref().unwrap_or(given);
        let allowed = AllowedPairs::new(&self.asked.limits, data)?;
        allowed.check(&self.asked.edges, data)?;
        let mut learned = self.method.learn(&MethodTask { data: given, plan: self, progress })?;
        allowed.restrict(&mut learned.edges);
        learned.model = match learned.model {
            Some(model) => Some(model.with_transform(transform).map_err(MethodError::Model)?),
            None => None,
        };
        learned.remarks.splice(0..0, self.adjustments(data));
        if !learned.tells_changes {
            learned.remarks.extend(halves::remark(given, &learned.edges));
        }
        Ok(learned)
    }

    /// Sentences about data that the method cannot take as they are.
    fn adjustments(&self, data: &SeriesSet) -> Vec<String> {
        let takes = self.method.takes();
        let cases = [
            (data.n_series() > 1, "several series", takes.several_series),
            (has_irregular_times(data), "unevenly spaced times", takes.irregular_times),
            (data.n_missing() > 0, "missing cells", takes.missing_cells),
        ];
        let said = cases.into_iter().filter_map(|(there, what, handling)| match handling {
            Handling::Instead(does) if there => {
                Some(format!("{what}: `{}` {does}", self.method.name()))
            }
            _ => None,
        });
        let mut said: Vec<String> = said.collect();
        let name = self.method.name();
        if takes.experiments != Handling::Full && !data.inputs().is_empty() {
            said.push(format!(
                "inputs: `{name}` takes them as variables like others; edges into them are not counted"
            ));
        }
        if takes.experiments != Handling::Full && data.has_interventions() {
            said.push(format!(
                "warning: interventions: `{name}` does not know of them: what was set counts as if it had come about by itself"
            ));
        }
        said
    }

    /// Bytes that learning from these data on the current threads will need at its peak, about.
    pub fn predicted_bytes(&self, data: &SeriesSet) -> Option<u64> {
        self.method.predicted_bytes(self, data)
    }

    /// Where two plans differ: one line per setting, with the value of this and of the other.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (own, other) = (self.flat(), other.flat());
        let names: BTreeSet<&String> = own.keys().chain(other.keys()).collect();
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
        flatten(&mut flat, "method", self.method.name().into());
        if let Some(preset) = &self.asked.preset {
            flatten(&mut flat, "preset", preset.as_str().into());
        }
        let edges = serde_json::to_value(&self.asked.edges).unwrap_or_default();
        flatten(&mut flat, "edges", edges);
        flatten(&mut flat, "", Value::Object(to_object(&self.asked.limits)));
        flatten(&mut flat, "", Value::Object(to_object(&self.asked.preparation)));
        flatten(&mut flat, "", Value::Object(self.settings.clone()));
        flat
    }

    /// Refuses edges of variables that the data do not have, before anything is written.
    pub fn check_edges(&self, data: &SeriesSet) -> Result<(), PlanError> {
        AllowedPairs::new(&self.asked.limits, data)?.check(&self.asked.edges, data)
    }
}

/// Whether gaps between rows differ by more than rounding.
fn has_irregular_times(data: &SeriesSet) -> bool {
    let mut gaps = data
        .series()
        .iter()
        .flat_map(|series| series.times().windows(2))
        .map(|pair| pair[1] - pair[0]);
    let Some(first) = gaps.next() else { return false };
    gaps.any(|gap| (gap - first).abs() > 1e-6 * first.abs())
}

/// Refuses different things said of one edge.
fn refuse_contradictions(asked: &MethodRequest) -> Result<(), PlanError> {
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

pub(crate) fn positions(edge: &KnownEdge, variables: &[String]) -> Result<[usize; 2], PlanError> {
    let find = |name: &String| {
        let found = variables.iter().position(|variable| variable == name);
        found.ok_or_else(|| PlanError::UnknownVariable {
            edge: format!("{} -> {}", edge.source, edge.target),
            variable: name.clone(),
        })
    };
    Ok([find(&edge.source)?, find(&edge.target)?])
}

pub(crate) fn to_object(settings: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(values)) => values,
        _ => unreachable!("settings are a struct of plain values"),
    }
}

pub(crate) fn from_value<T: serde::de::DeserializeOwned>(
    value: Value,
    what: &'static str,
) -> Result<T, PlanError> {
    serde_json::from_value(value)
        .map_err(|error| PlanError::Value { what, reason: error.to_string() })
}
