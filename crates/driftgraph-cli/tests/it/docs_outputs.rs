//! Documentation: what stands below its commands is what they print.
//!
//! The commands of a page are run as printed, in order, in an empty folder. Every line of the `text` block below must
//! then be part of a line that was printed, in the same order; `...` stands for what was left out. Times it took are not compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Sandbox;

#[test]
fn pages_show_what_their_commands_print() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages: Vec<_> = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path()).collect();
    let problems: Vec<String> = std::thread::scope(|scope| {
        let check = |page| scope.spawn(move || problems_of(page));
        let pages = pages.iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
        let running: Vec<_> = pages.map(|page| check(page.as_path())).collect();
        running.into_iter().flat_map(|page| page.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_line_that_was_not_printed_is_told() {
    let printed = "reading\n a  1.000  2\n b  0.5\nfinished after 3.1 s; 4 edges\n";
    assert_eq!(missing("reading\n...\n b  0.5\n", printed), None);
    assert_eq!(missing("finished after 17 s; 4 edges", printed), None);
    assert_eq!(missing(" a  1.000 ...\n", printed), None);
    assert_eq!(missing(" a  0.999  2", printed).as_deref(), Some(" a  0.999  2"));
    assert_eq!(missing(" b  0.5\nreading", printed).as_deref(), Some("reading"), "order counts");
}

/// What a page shows and its commands do not print.
fn problems_of(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let sandbox = Sandbox::new();
    let (mut problems, mut printed) = (Vec::new(), String::new());
    for (language, block) in blocks(&text) {
        match language {
            // What builds the program is not run by its own tests.
            "sh" if block.contains("cargo ") => printed.clear(),
            "sh" => printed = run(&sandbox, &block),
            "text" if !printed.is_empty() => {
                let line = missing(&block, &printed);
                let page = page.file_name().unwrap().display();
                problems.extend(line.map(|line| format!("{page}: not printed: {line}")));
            }
            _ => {}
        }
    }
    problems
}

/// The fenced blocks of a page with their languages, in order.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                blocks.push((language, String::new()));
            }
        } else if let (true, Some((_, block))) = (is_open, blocks.last_mut()) {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks
}

/// Standard output, then standard error, of a block of commands.
fn run(sandbox: &Sandbox, block: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_driftgraph"));
    let mut folders = vec![program.parent().unwrap().to_owned()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let output = Command::new("bash")
        .args(["-c", block])
        .current_dir(sandbox.dir.path())
        .env("PATH", std::env::join_paths(folders).unwrap())
        .output()
        .unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    format!("{out}\n{err}")
}

/// The first line shown that was not printed after the one before it.
fn missing(shown: &str, printed: &str) -> Option<String> {
    let mut left = printed.lines();
    let cut = |line: &str| line.trim_end().trim_end_matches("...").trim().to_owned();
    let is_there = |line: &&str| {
        let wanted = without_times(&cut(line));
        wanted.is_empty() || left.any(|line| without_times(line).contains(&wanted))
    };
    let mut lines = shown.lines();
    let mut is_there = is_there;
    lines.find(|line| !is_there(line)).map(str::to_owned)
}

/// A line with the number before every unit of time taken out.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_unit = |word: Option<&&str>| {
        word.is_some_and(|word| matches!(word.trim_end_matches([';', ',', '.']), "s" | "min"))
    };
    let kept = (words.iter().enumerate()).map(|(idx, word)| {
        let is_time = word.parse::<f64>().is_ok() && is_unit(words.get(idx + 1));
        if is_time { "#" } else { word }
    });
    kept.collect::<Vec<_>>().join(" ")
}
