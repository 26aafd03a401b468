//! `methods`: what can be learned with, one line each, or one of them in detail.

use std::process::ExitCode;

use driftgraph_methods::{Handling, METHODS, Method, Takes};
use serde_json::{Value, json};

use crate::args::MethodsArgs;
use crate::commands::table;
use crate::printer;

pub(crate) fn run(args: &MethodsArgs) -> anyhow::Result<ExitCode> {
    let chosen = args.name.as_deref().and_then(driftgraph_methods::find);
    if args.json {
        let object = match chosen {
            Some(method) => describe_json(method),
            None => METHODS.iter().map(|method| describe_json(*method)).collect(),
        };
        printer::data(&serde_json::to_string_pretty(&object)?)?;
    } else if let Some(method) = chosen {
        printer::data(&describe(method))?;
    } else {
        let mut rows = table(&["method", "what it does"]);
        for method in METHODS {
            rows.add_row([method.name(), method.description()]);
        }
        printer::data(&rows.trim_fmt())?;
        printer::note("`driftgraph methods NAME` tells more of one");
    }
    Ok(ExitCode::SUCCESS)
}

/// Kinds of data and how they are taken.
fn kinds(takes: Takes) -> [(&'static str, &'static str, Handling); 4] {
    [
        ("several_series", "several series", takes.several_series),
        ("irregular_times", "unevenly spaced times", takes.irregular_times),
        ("missing_cells", "missing cells", takes.missing_cells),
        ("experiments", "inputs and interventions", takes.experiments),
    ]
}

fn describe(method: &dyn Method) -> String {
    let mut lines = vec![format!("{}: {}", method.name(), method.description()), String::new()];
    for (_, what, handling) in kinds(method.takes()) {
        lines.push(match handling {
            Handling::Full => format!("{what}: taken as they are"),
            Handling::Instead(does) => format!("{what}: {does}"),
        });
    }
    let known = if method.takes().prior_edges { "taken" } else { "refused" };
    lines.push(format!("known edges (--forbid, --require, --prior): {known}"));
    if !method.presets().is_empty() {
        let mut rows = table(&["preset", "what it is"]);
        for preset in method.presets() {
            rows.add_row([preset.name, preset.meaning]);
        }
        lines.extend([String::new(), rows.trim_fmt()]);
    }
    if !method.settings().is_empty() {
        let mut rows = table(&["setting", "default", "range", "what it does"]);
        for setting in method.settings() {
            let range = setting.range.to_string();
            rows.add_row([setting.name, setting.default, &range, setting.meaning]);
        }
        lines.extend([String::new(), rows.trim_fmt()]);
    }
    lines.join("\n")
}

fn describe_json(method: &dyn Method) -> Value {
    let settings = method.settings().into_iter().map(|setting| {
        json!({"name": setting.name, "default": setting.default, "range": setting.range.to_string(),
            "meaning": setting.meaning})
    });
    let presets = method.presets().into_iter();
    let presets = presets.map(|preset| json!({"name": preset.name, "meaning": preset.meaning}));
    let mut takes = json!({"prior_edges": method.takes().prior_edges});
    for (key, _, handling) in kinds(method.takes()) {
        takes[key] = match handling {
            Handling::Full => json!(true),
            Handling::Instead(does) => json!({"instead": does}),
        };
    }
    json!({
        "name": method.name(),
        "description": method.description(),
        "fast": method.is_fast(),
        "takes": takes,
        "presets": presets.collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
    })
}
