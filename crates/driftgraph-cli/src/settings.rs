//! A flag for every setting of every method; flags and settings file together say what the user asked for.

use std::path::Path;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use driftgraph_core::train::settings::{KnownEdge, Range};
use driftgraph_data::edges::read_edge_list;
use driftgraph_data::record::{EdgeLimits, MethodRequest};
use driftgraph_methods::settings::{flag, value_of};
use driftgraph_methods::{FitPlan, METHODS, Method, SharedSetting, all_settings, asked_in_toml};

use crate::args::FitArgs;

/// A flag for every setting of the registry, so that none can be forgotten here.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsArgs {
    /// Names and texts of the settings given, in the order of the registry.
    given: Vec<(&'static str, String)>,
}

/// What the user asked for: flags win over the settings file, the file over the preset.
pub(crate) fn asked(args: &FitArgs) -> anyhow::Result<MethodRequest> {
    let mut asked = args.config.as_deref().map(read_config).transpose()?.unwrap_or_default();
    if args.method.is_some() || args.preset.is_some() {
        asked.method.clone_from(&args.method);
        asked.preset.clone_from(&args.preset);
    }
    // The same word may have another range in another method; whose it is, is known only now.
    let method =
        FitPlan::new(MethodRequest { settings: serde_json::Map::new(), ..asked.clone() })?.method();
    for (name, text) in &args.settings.given {
        let own = method.settings().into_iter().find(|setting| setting.name == *name);
        let any = || all_settings().into_iter().find(|known| known.setting.name == *name);
        let setting = own.or_else(|| any().map(|known| known.setting));
        let setting = setting.context("every flag comes from the registry")?;
        asked.settings.insert((*name).to_owned(), value_of(&setting, text)?);
    }
    if !args.broken_steps.is_empty() {
        asked.settings.insert("broken_steps".to_owned(), args.broken_steps.clone().into());
    }
    asked.edges = known_edges(args)?;
    asked.limits = EdgeLimits { sources: names(&args.sources)?, targets: names(&args.targets)? };
    let preparation = &mut asked.preparation;
    preparation.season = args.season.or(preparation.season);
    preparation.detrend |= args.detrend;
    if !args.log.is_empty() {
        preparation.log.clone_from(&args.log);
    }
    Ok(asked)
}

/// Names as they were typed, or those on the lines of the one file that was named.
fn names(given: &[String]) -> anyhow::Result<Vec<String>> {
    let [one] = given else { return Ok(given.to_vec()) };
    let path = Path::new(one);
    if !path.is_file() {
        return Ok(given.to_vec());
    }
    let cannot = || format!("cannot read names from `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(cannot)?;
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    anyhow::ensure!(!names.is_empty(), "there are no names in `{}`", path.display());
    Ok(names)
}

fn read_config(path: &Path) -> anyhow::Result<MethodRequest> {
    let cannot = || format!("cannot use the settings file `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(cannot)?;
    asked_in_toml(&text).with_context(cannot)
}

fn known_edges(args: &FitArgs) -> anyhow::Result<Vec<KnownEdge>> {
    let mut known = Vec::new();
    if let Some(path) = &args.edge_prior {
        let table = read_edge_list(path)?;
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
            let (source, target) = ends(edge)?;
            known.push(KnownEdge { source, target, probability });
        }
    }
    for text in &args.prior {
        let wrong = || format!("a prior is written `source->target=probability`, found `{text}`");
        let (edge, probability) = text.rsplit_once('=').with_context(wrong)?;
        let (source, target) = ends(edge)?;
        let probability = probability.trim().parse().ok().with_context(wrong)?;
        known.push(KnownEdge { source, target, probability });
    }
    Ok(known)
}

fn ends(edge: &str) -> anyhow::Result<(String, String)> {
    let ends = edge.split_once("->");
    let (source, target) =
        ends.with_context(|| format!("an edge is written `source->target`, found `{edge}`"))?;
    Ok((source.trim().to_owned(), target.trim().to_owned()))
}

/// The heading under which a setting stands: that of the only method which has it.
fn heading(known: &SharedSetting) -> String {
    let of_several = known.methods.len() > 1;
    if of_several {
        return "Settings of several methods (default: the method's or the preset's)".to_owned();
    }
    format!("Settings of `{}`", known.methods[0])
}

fn argument(known: &SharedSetting) -> Arg {
    let setting = known.setting;
    let mut help = setting.meaning.to_owned();
    if matches!(setting.range, Range::Number { .. } | Range::Mixed { .. }) {
        help = format!("{help} ({})", setting.range);
    }
    let argument =
        Arg::new(setting.name).long(flag(setting.name)).help(help).help_heading(heading(known));
    // Where methods differ, the chosen one judges.
    let same = |method: &&&str| {
        let own = driftgraph_methods::find(method).into_iter().flat_map(Method::settings);
        own.into_iter().any(|other| other.name == setting.name && other.range == setting.range)
    };
    let all_alike = known.methods.iter().filter(same).count() == known.methods.len();
    match setting.range {
        Range::Choice(words) if all_alike => {
            argument.value_name("NAME").value_parser(PossibleValuesParser::new(words))
        }
        // `--standardize=false`, or `--standardize` alone for true.
        Range::YesNo => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
            .value_parser(["true", "false"]),
        Range::Number { .. } | Range::Any => argument.value_name("N").allow_negative_numbers(true),
        Range::Choice(_) | Range::Mixed { .. } | Range::Edges => argument.value_name("VALUE"),
    }
}

impl clap::Args for SettingsArgs {
    fn augment_args(command: Command) -> Command {
        command.args(all_settings().iter().map(argument))
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
        let names = all_settings().into_iter().map(|known| known.setting.name);
        self.given = names
            .filter_map(|name| Some((name, matches.get_one::<String>(name)?.clone())))
            .collect();
        Ok(())
    }
}

/// A name of a method.
pub(crate) fn method_name(name: &str) -> Result<String, String> {
    one_of(name, METHODS.iter().map(|method| method.name()))
}

/// A name of a preset of any method.
pub(crate) fn preset_name(name: &str) -> Result<String, String> {
    one_of(name, METHODS.iter().flat_map(|method| method.presets()).map(|preset| preset.name))
}

/// A name that is known; another is refused with the one that was probably meant, or with all there are.
pub(crate) fn one_of(
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> Result<String, String> {
    let known: Vec<&str> = known.collect();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(match driftgraph_text::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of `{}`", known.join("`, `")),
    })
}
