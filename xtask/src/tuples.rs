//! Refuses functions with parameters packed into a tuple: a name says more than a position.

use std::fs;

use anyhow::bail;

use crate::shell::{files_below, root, say};

/// Crates whose functions take no tuples. Places in pictures and shapes of arrays are pairs by nature: neither the report nor
/// the Python module is among them.
const CRATES: [&str; 10] =
    ["core", "data", "systems", "methods", "text", "view", "run", "sweep", "serve", "cli"];

/// Fails if a function takes a tuple.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut problems = Vec::new();
    let mut n_files = 0;
    for name in CRATES {
        let source = root().join(format!("crates/driftgraph-{name}/src"));
        for path in files_below(&source, "rs")? {
            n_files += 1;
            for name in functions_with_tuples(&fs::read_to_string(&path)?) {
                problems.push(format!("{}: `{name}`", path.display()));
            }
        }
    }
    if problems.is_empty() {
        say(&format!("parameters: ok, {n_files} files"));
        return Ok(());
    }
    bail!(
        "parameters packed into tuples (take them apart, or give them a struct):\n{}",
        problems.join("\n")
    )
}

/// Names of the functions of a file that take a tuple, or a reference to one.
fn functions_with_tuples(text: &str) -> Vec<&str> {
    let starts = text.match_indices("fn ").filter(|(at, _)| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default().trim_start();
        !line.starts_with("//") && !line.ends_with(|c: char| c.is_alphanumeric() || c == '"')
    });
    let functions = starts.filter_map(|(at, _)| {
        let rest = &text[at + 3..];
        let name_end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (name, rest) = rest.split_at(name_end);
        let rest = if rest.starts_with('<') { &rest[closing(rest)?..] } else { rest };
        let list = rest.starts_with('(').then(|| Some(&rest[1..closing(rest)? - 1]))??;
        Some((name, list))
    });
    functions
        .filter(|(_, list)| pieces(list, ',').into_iter().any(takes_tuple))
        .map(|(name, _)| name)
        .collect()
}

/// Whether the type of a parameter is a tuple: brackets with a comma of their own.
fn takes_tuple(parameter: &str) -> bool {
    let [_, rest @ ..] = &pieces(parameter, ':')[..] else { return false };
    let Some(kind) = rest.first() else { return false };
    let kind = kind.trim().trim_start_matches('&').trim_start();
    let kind = match kind.strip_prefix('\'') {
        Some(lifetime) => lifetime.split_once(' ').map_or("", |(_, kind)| kind),
        None => kind,
    };
    let kind = kind.trim_start_matches("mut ").trim_start();
    let inside =
        kind.strip_prefix('(').and_then(|_| Some(&kind[1..closing(kind)?.checked_sub(1)?]));
    inside.is_some_and(|inside| pieces(inside, ',').len() > 1)
}

/// The place after the bracket that closes the one a text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        depth += step(c, before);
        before = c;
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// A text cut at the separators that lie in no bracket.
fn pieces(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut before) = (0, ' ');
    let parts = text.split(|c| {
        depth += step(c, before);
        before = c;
        c == separator && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// How much deeper a character leads into brackets; the arrow of a result closes none.
fn step(c: char, before: char) -> i32 {
    match c {
        '(' | '[' | '{' | '<' => 1,
        ')' | ']' | '}' => -1,
        '>' if before != '-' => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_among_parameters_are_found_wherever_they_stand() {
        let text = "fn a((x, y): (f64, f64)) {}\n    pub(crate) fn b<'a, R: Fn(u8) -> u8>(\n        \
                    &self,\n        pair: &'a mut (R, [u8; 2]),\n    ) -> (u8, u8) {}\n";
        assert_eq!(functions_with_tuples(text), ["a", "b"]);
    }

    #[test]
    fn brackets_that_hold_one_type_results_and_patterns_are_no_tuples() {
        let text = "fn a(x: &(impl Sde + ?Sized), f: &(dyn Fn(u8, u8) -> (u8, u8) + Sync)) {}\n\
                    fn b(Pair { x, y }: Pair, [a, b]: [u8; 2], f: impl Fn((u8, u8)), u: ()) {}\n\
                    // fn c(x: (u8, u8)) {}\n";
        assert!(functions_with_tuples(text).is_empty());
    }
}
