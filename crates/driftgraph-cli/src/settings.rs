//! Preset, settings file and flags become one checked set of settings; every clash is decided here.

use std::path::Path;

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::select::SelectSettings;
use driftgraph_core::train::settings::{
    CheckedSettings, FitSettings, KnownEdge, Range, SETTINGS, Setting,
};
use driftgraph_data::edges::read_edges;
use serde_json::{Map, Value, json};

use crate::args::{FitArgs, SelectArg};

/// A flag for every setting of the table, so that none can be forgotten here.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsArgs {
    /// Names and texts of the settings given, in the order of the table.
    given: Vec<(&'static Setting, String)>,
}

/// Which posterior is fitted, and with what settings.
pub(crate) enum Plan {
    /// Ours: paths without simulation.
    Bridge(Box<BridgePlan>),
    /// The paper's.
    Simulated(Preset, Box<CheckedSettings>),
}

/// Settings of a bridge fit.
pub(crate) struct BridgePlan {
    /// Whether settings are chosen on held-out series.
    pub(crate) select: bool,
    /// What all candidates share, and how they are chosen.
    pub(crate) settings: SelectSettings,
    edges: Vec<KnownEdge>,
    no_self_loops: bool,
}

/// The preset of the bridge posterior, beside those of the simulated one.
pub(crate) const BRIDGE: &str = "bridge";

/// Settings that the bridge posterior shares with the simulated one.
const SHARED: [&str; 7] =
    ["seed", "steps", "step_size", "noise", "noise_scale", "patience", "no_self_loops"];

/// Settings of a bridge fit that are not its own but say how it is run.
const RUNNING: [&str; 2] = ["select", "ensemble"];

/// What the user asked for: flags win over the settings file, the file over the preset.
pub(crate) fn resolve(args: &FitArgs) -> anyhow::Result<Plan> {
    let mut file = args.config.as_deref().map(read_config).transpose()?.unwrap_or_default();
    let in_file = file.remove("preset").map(|name| match name {
        Value::String(name) => Ok(name),
        other => bail!("`preset` in the settings file must be a name, found {other}"),
    });
    let name = match (&args.preset, in_file) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name?,
        (None, None) => BRIDGE.to_owned(),
    };
    if name == BRIDGE {
        return Ok(Plan::Bridge(Box::new(bridge_plan(args, file)?)));
    }
    if let Some(flag) = args.bridge.first_given() {
        bail!("`--{flag}` is a setting of the bridge posterior, not of the preset `{name}`");
    }
    let preset: Preset = name.parse()?;
    let mut values = to_object(&preset.settings())?;
    values.extend(file);
    for (setting, text) in &args.settings.given {
        values.insert(setting.name.to_owned(), value_of(setting, text)?);
    }
    let mut settings: FitSettings =
        serde_json::from_value(Value::Object(values)).context("cannot use the settings")?;
    settings.edge_priors.extend(known_edges(args)?);
    Ok(Plan::Simulated(preset, Box::new(settings.check()?)))
}

/// Settings of the bridge: its own table in the file, what both posteriors share, its own flags.
fn bridge_plan(args: &FitArgs, mut file: Map<String, Value>) -> anyhow::Result<BridgePlan> {
    let own = match file.remove("bridge") {
        None => Map::new(),
        Some(Value::Object(own)) => own,
        Some(other) => bail!("`bridge` in the settings file must be a table, found {other}"),
    };
    for (setting, text) in &args.settings.given {
        file.insert(setting.name.to_owned(), value_of(setting, text)?);
    }
    let known = |name: &&String| SHARED.iter().chain(&RUNNING).any(|known| known == name);
    if let Some(name) = file.keys().find(|name| !known(name)) {
        bail!(
            "`{name}` is a setting of the simulated posterior; choose it with `--preset simulated`"
        );
    }
    let no_self_loops = file.remove("no_self_loops") == Some(Value::Bool(true));
    let mut settings = SelectSettings::default();
    if let Some(ensemble) = args.bridge.ensemble.map(Value::from).or(file.remove("ensemble")) {
        settings.ensemble = serde_json::from_value(ensemble).context("cannot use `ensemble`")?;
    }
    let in_file = file.remove("select").map(serde_json::from_value).transpose();
    let select = args.bridge.select.or(in_file.context("cannot use `select`")?).unwrap_or_default();
    // The same things under the bridge's own words.
    if let Some(steps) = file.remove("steps") {
        file.insert("max_steps".to_owned(), steps);
    }
    if let Some(scale) = file.remove("noise_scale") {
        file.insert("noise_scale".to_owned(), json!({"kind": "fixed", "scale": scale}));
    }
    let mut values = to_object(&BridgeSettings::default())?;
    values.extend(own);
    values.extend(file);
    values.extend(args.bridge.values());
    settings.base =
        serde_json::from_value(Value::Object(values)).context("cannot use the settings")?;
    settings.base.clone().check()?;
    let edges = known_edges(args)?;
    Ok(BridgePlan { select: select == SelectArg::Auto, settings, edges, no_self_loops })
}

impl BridgePlan {
    /// What the user knows about the edges of these variables.
    pub(crate) fn knowledge(&self, variables: &[String]) -> anyhow::Result<EdgePrior> {
        let mut prior = EdgePrior::new(variables.len(), 0.0);
        if self.no_self_loops {
            prior.forbid_self_loops();
        }
        for edge in &self.edges {
            let [source, target] = positions(edge, variables)?;
            prior.know(source, target, edge.probability)?;
        }
        Ok(prior)
    }
}

impl Plan {
    /// Refuses edges of variables that the data do not have, before anything is written.
    pub(crate) fn check_edges(&self, variables: &[String]) -> anyhow::Result<()> {
        let edges = match self {
            Self::Bridge(plan) => &plan.edges,
            Self::Simulated(_, settings) => &settings.edge_priors,
        };
        edges.iter().try_for_each(|edge| positions(edge, variables).map(|_| ()))
    }
}

fn positions(edge: &KnownEdge, variables: &[String]) -> anyhow::Result<[usize; 2]> {
    let find = |name: &String| {
        let found = variables.iter().position(|variable| variable == name);
        let unknown = || {
            let KnownEdge { source, target, .. } = edge;
            format!("the edge `{source} -> {target}` names `{name}`, which the data do not have")
        };
        found.with_context(unknown)
    };
    Ok([find(&edge.source)?, find(&edge.target)?])
}

fn read_config(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let cannot = || format!("cannot read the settings file `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(cannot)?;
    let table: toml::Table = toml::from_str(&text).with_context(cannot)?;
    let Value::Object(values) = serde_json::to_value(table)? else {
        bail!("`{}` holds no settings", path.display());
    };
    for name in values.keys() {
        let known = ["preset", "bridge", "select", "ensemble"].contains(&name.as_str())
            || SETTINGS.iter().any(|setting| setting.name == name);
        anyhow::ensure!(
            known,
            "`{}` names a setting that does not exist: `{name}` (see `driftgraph fit --help`)",
            path.display()
        );
    }
    Ok(values)
}

fn to_object(settings: &impl serde::Serialize) -> anyhow::Result<Map<String, Value>> {
    match serde_json::to_value(settings)? {
        Value::Object(values) => Ok(values),
        other => bail!("settings are an object, found {other}"),
    }
}

/// The value that a flag's text stands for; `none` takes a setting away.
fn value_of(setting: &Setting, text: &str) -> anyhow::Result<Value> {
    let not_a_number = || format!("`--{}` needs a number, found `{text}`", flag(setting.name));
    Ok(match setting.range {
        _ if text == "none" && setting.default == "none" => Value::Null,
        Range::Choice(_) => Value::String(text.to_owned()),
        Range::YesNo => Value::Bool(text == "true"),
        Range::Any => Value::from(text.parse::<u64>().with_context(not_a_number)?),
        Range::Number { .. } | Range::Edges => match text.parse::<i64>() {
            Ok(whole) => Value::from(whole),
            Err(_) => Value::from(text.parse::<f64>().with_context(not_a_number)?),
        },
    })
}

fn known_edges(args: &FitArgs) -> anyhow::Result<Vec<KnownEdge>> {
    let mut known = Vec::new();
    if let Some(path) = &args.edge_prior {
        let table = read_edges(path, None)?;
        let edges = table.edges().map(|(source, target, probability)| KnownEdge {
            source: source.to_owned(),
            target: target.to_owned(),
            probability,
        });
        known.extend(edges);
    }
    for (edges, probability) in [(&args.forbid, 0.0), (&args.require, 1.0)] {
        for edge in edges {
            let (source, target) = edge
                .split_once("->")
                .with_context(|| format!("an edge is written `source->target`, found `{edge}`"))?;
            let (source, target) = (source.trim().to_owned(), target.trim().to_owned());
            known.push(KnownEdge { source, target, probability });
        }
    }
    Ok(known)
}

/// Settings that have flags of their own making: edges are given by name, one by one.
fn has_flag(setting: &Setting) -> bool {
    setting.range != Range::Edges
}

/// The spelling of a setting on the command line.
fn flag(name: &str) -> String {
    name.replace('_', "-")
}

fn argument(setting: &'static Setting) -> Arg {
    let name = flag(setting.name);
    let help = match setting.range {
        Range::Number { .. } => format!("{} ({})", setting.meaning, setting.range),
        _ => setting.meaning.to_owned(),
    };
    let argument = Arg::new(setting.name)
        .long(name)
        .help(help)
        .help_heading("Settings (default: the preset's)");
    match setting.range {
        Range::Choice(words) => {
            argument.value_name("NAME").value_parser(PossibleValuesParser::new(words))
        }
        // `--standardize=false`, or `--standardize` alone for true.
        Range::YesNo => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
            .value_parser(["true", "false"]),
        Range::Number { .. } | Range::Any | Range::Edges => {
            argument.value_name("N").allow_negative_numbers(true)
        }
    }
}

impl clap::Args for SettingsArgs {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().filter(|setting| has_flag(setting)).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SettingsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let flags = SETTINGS.iter().filter(|setting| has_flag(setting));
        self.given = flags
            .filter_map(|setting| Some((setting, matches.get_one::<String>(setting.name)?.clone())))
            .collect();
        Ok(())
    }
}
