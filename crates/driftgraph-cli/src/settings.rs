//! A flag for every setting; flags and settings file together say what the user asked for.

use std::path::Path;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use driftgraph_core::train::settings::{KnownEdge, Range, SETTINGS, Setting};
use driftgraph_data::edges::read_edges;
use driftgraph_run::Asked;
use serde_json::Value;

use crate::args::FitArgs;

/// A flag for every setting of the table, so that none can be forgotten here.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsArgs {
    /// Names and texts of the settings given, in the order of the table.
    given: Vec<(&'static Setting, String)>,
}

/// What the user asked for: flags win over the settings file, the file over the preset.
pub(crate) fn asked(args: &FitArgs) -> anyhow::Result<Asked> {
    let mut asked = args.config.as_deref().map(read_config).transpose()?.unwrap_or_default();
    if args.preset.is_some() {
        asked.preset.clone_from(&args.preset);
    }
    for (setting, text) in &args.settings.given {
        asked.settings.insert(setting.name.to_owned(), value_of(setting, text)?);
    }
    asked.settings.extend(args.bridge.values());
    if !args.broken_steps.is_empty() {
        asked.settings.insert("broken_steps".to_owned(), args.broken_steps.clone().into());
    }
    asked.edges = known_edges(args)?;
    Ok(asked)
}

fn read_config(path: &Path) -> anyhow::Result<Asked> {
    let cannot = || format!("cannot use the settings file `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(cannot)?;
    Asked::from_toml(&text).with_context(cannot)
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
        let cannot = || format!("cannot use the edge prior in `{}`", path.display());
        let edges = table.probabilities().with_context(cannot)?;
        let edges = edges.map(|(source, target, probability)| KnownEdge {
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
