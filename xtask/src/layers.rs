//! Refuses imports of driftgraph-core that lead upwards: its modules are layers, read from the bottom to the top.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::shell::{files_below, root, say};

/// The layers from the bottom to the top; a module may use those before it and itself.
const LAYERS: [&str; 11] = [
    "error",     // what can be wrong with values
    "numeric",   // floats, loops over slices, small matrices, special functions
    "random",    // every random number
    "data",      // series, scaling, solver steps
    "graph",     // graphs, edge posterior and priors
    "nn",        // layers with their gradients
    "process",   // stochastic processes, Brownian increments, solvers
    "objective", // terms of the ELBO
    "posterior", // paths given data
    "train",     // settings and the loops
    "fitted",    // what can be asked of a result
];

/// Fails if a module of core uses one of a higher layer, or is in no layer.
pub(crate) fn check() -> anyhow::Result<()> {
    let source = root().join("crates/driftgraph-core/src");
    let door = fs::read_to_string(source.join("lib.rs")).context("cannot read core's lib.rs")?;
    let mut problems: Vec<String> = modules(&door)
        .filter(|module| !LAYERS.contains(module) && *module != "testing")
        .map(|module| format!("`{module}` is in no layer"))
        .collect();
    let files = files_below(&source, "rs")?;
    for path in &files {
        let place = path.strip_prefix(&source)?;
        let Some(module) = module_of(place).filter(|module| LAYERS.contains(module)) else {
            continue;
        };
        for used in upward(module, &fs::read_to_string(path)?, &door) {
            problems.push(format!("{}: `{module}` uses `{used}` above it", place.display()));
        }
    }
    if problems.is_empty() {
        say(&format!("layers: ok, {} files", files.len()));
        return Ok(());
    }
    bail!("imports that lead upwards:\n{}", problems.join("\n"))
}

/// Modules that the crate's first file declares.
fn modules(door: &str) -> impl Iterator<Item = &str> {
    let declared = door.lines().filter_map(|line| line.trim().strip_suffix(';'));
    declared.filter_map(|line| line.rsplit_once("mod ").map(|(_, name)| name))
}

/// The module to which a file below `src` belongs.
fn module_of(place: &Path) -> Option<&str> {
    place.iter().next()?.to_str().map(|name| name.trim_end_matches(".rs"))
}

/// Modules above `module` that a text names, directly or by what the crate's first file re-exports.
fn upward<'a>(module: &str, text: &str, door: &'a str) -> Vec<&'a str> {
    let rank = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let own = rank(module);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.flat_map(|line| [line.trim(), " "]).collect();
    let mut found: Vec<&str> = (code.split("crate::").skip(1))
        .flat_map(first_names)
        .filter_map(|name| {
            modules(door).find(|module| *module == name).or_else(|| home_of(&name, door))
        })
        .filter(|used| rank(used) > own)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The names right after `crate::`: one, or those of a list in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |part: &str| -> String {
        part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut depth = 0;
    let parts = list.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0 || depth < 0
    });
    // What comes after the list belongs to other statements.
    let len = list.split(';').next().unwrap_or_default().len();
    let parts = parts.scan(0, |at, part| {
        *at += part.len() + 1;
        (*at <= len + 1).then_some(part)
    });
    parts.map(name).filter(|name| !name.is_empty()).collect()
}

/// The module from which the crate's first file re-exports a name.
fn home_of<'a>(name: &str, door: &'a str) -> Option<&'a str> {
    let statements =
        door.split(';').filter_map(|statement| statement.trim().strip_prefix("pub use "));
    statements
        .filter(|path| {
            path.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        })
        .find_map(|path| path.split("::").next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOOR: &str = "//! Core.\n\npub mod data;\nmod graph;\npub(crate) mod train;\n\npub use data::series::SeriesSet;\npub use train::fit::{Fit, fit};\n";

    #[test]
    fn what_lies_below_may_be_used_and_what_lies_above_may_not() {
        let text = "use crate::data::series::SeriesSet;\nuse crate::train::fit::fit;\n";
        assert_eq!(upward("graph", text, DOOR), ["train"]);
        assert!(upward("train", text, DOOR).is_empty());
    }

    #[test]
    fn paths_in_expressions_lists_and_reexports_count_and_comments_do_not() {
        assert_eq!(upward("data", "    crate::graph::prior::know(1)", DOOR), ["graph"]);
        assert_eq!(upward("graph", "use crate::{\n    Fit, SeriesSet,\n};", DOOR), ["train"]);
        assert_eq!(upward("data", "use crate::{data::x::{A, B}, graph::C}; Fit", DOOR), ["graph"]);
        assert!(upward("data", "/// See [`crate::train::fit`].\n", DOOR).is_empty());
    }

    #[test]
    fn a_module_without_a_layer_is_seen() {
        assert_eq!(modules(DOOR).collect::<Vec<_>>(), ["data", "graph", "train"]);
        assert_eq!(module_of(Path::new("graph/prior.rs")), Some("graph"));
        assert_eq!(module_of(Path::new("graph.rs")), Some("graph"));
    }
}
