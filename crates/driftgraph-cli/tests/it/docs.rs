//! Documentation: every command in it is one that the program's own parser takes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Sandbox;

/// A command as a page prints it.
#[derive(Debug, PartialEq)]
struct Printed {
    line: usize,
    words: Vec<String>,
}

#[test]
fn every_command_in_the_documentation_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sandbox = Sandbox::new();
    let (mut n_commands, mut problems) = (0, Vec::new());
    for page in pages(&root) {
        let commands = commands(&fs::read_to_string(&page).unwrap());
        n_commands += commands.len();
        let page = page.strip_prefix(&root).unwrap().display();
        problems.extend(
            wrong(&sandbox, &commands).iter().map(|(line, why)| format!("{page}:{line}: {why}")),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(n_commands > 50, "only {n_commands} commands were found: are the pages read?");
}

#[test]
fn a_wrong_command_flag_or_value_is_told() {
    let page = "Words.\n```sh\ndriftgraph fti data.csv\ndriftgraph graph run --treshold 0.8\n\
                driftgraph graph run --format pdf --top 3\ndriftgraph graph run --top 3\n```\n";
    let found = wrong(&Sandbox::new(), &commands(page));
    let places: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(places, [3, 4, 5], "{found:?}");
    assert!(found[1].1.contains("--treshold"), "{found:?}");
}

#[test]
fn commands_are_read_from_code_as_a_shell_reads_them() {
    let page = "driftgraph in words\n```text\ndriftgraph output\n```\n```console\n\
                $ driftgraph fit a.csv --forbid 'a b->c'  # why\n```\n\n    driftgraph check \"x y\" > out\n";
    let words = |line: &[&str]| line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let wanted = [
        Printed { line: 6, words: words(&["fit", "a.csv", "--forbid", "a b->c"]) },
        Printed { line: 9, words: words(&["check", "x y"]) },
    ];
    assert_eq!(commands(page), wanted);
}

/// Pages of the root, of `docs` with its gallery, and of `paper`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/gallery", "paper"].map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages
}

/// Lines of commands in indented code and in fences of a shell.
fn commands(page: &str) -> Vec<Printed> {
    let mut fence: Option<&str> = None;
    let mut commands = Vec::new();
    for (idx, line) in page.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
            continue;
        }
        let code = match fence {
            Some("sh" | "console") => Some(line.strip_prefix("$ ").unwrap_or(line)),
            Some(_) => None,
            None => line.strip_prefix("    "),
        };
        if let Some(arguments) = code.and_then(|code| code.strip_prefix("driftgraph ")) {
            commands.push(Printed { line: idx + 1, words: words(arguments) });
        }
    }
    commands
}

/// Words up to a comment, a pipe or a redirection; quotes hold a word together.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(mark), _) if letter == mark => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '>' | '<' | '&') => break,
            (None, '#') if word.is_none() => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Lines of commands that the parser refuses, and its words.
///
/// With `--help` as the last word nothing is done; all words before it are parsed first.
fn wrong(sandbox: &Sandbox, commands: &[Printed]) -> Vec<(usize, String)> {
    let refused = commands.iter().filter_map(|Printed { line, words }| {
        let output = sandbox.command("").args(words).arg("--help").output().unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        let first = problem.lines().next().unwrap_or_default().to_owned();
        (!output.status.success()).then_some((*line, first))
    });
    refused.collect()
}
