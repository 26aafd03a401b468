//! Checks that every link and image of the documentation leads somewhere, anchors included.
//!
//! The commands in it are checked by a test of the command line, which has the program's own parser.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::shell::{files_below, root, say};
use crate::site::GENERATED;

/// Folders of pages, beside the pages in the root.
const FOLDERS: [&str; 2] = ["docs", "paper"];

/// Fails with every link that leads nowhere.
pub(crate) fn check() -> anyhow::Result<()> {
    let root = root();
    let pages = pages(&root)?;
    let (n_links, problems) = check_pages(&root, &pages)?;
    // Not a single link would mean that the pages were not read.
    ensure!(n_links > 0, "the documentation has no links");
    if problems.is_empty() {
        say(&format!("docs: ok, {n_links} links in {} pages", pages.len()));
        return Ok(());
    }
    bail!("links of the documentation that lead nowhere:\n{}", problems.join("\n"))
}

/// The pages in the root and below the folders.
fn pages(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root)?.flatten().map(|entry| entry.path()).filter(is_page).collect();
    for folder in FOLDERS {
        pages.extend(files_below(&root.join(folder), "md")?);
    }
    pages.sort();
    Ok(pages)
}

/// The number of links, and those that lead nowhere as `page:line: why`.
fn check_pages(root: &Path, pages: &[PathBuf]) -> anyhow::Result<(usize, Vec<String>)> {
    let (mut n_links, mut problems) = (0, Vec::new());
    for page in pages {
        let text =
            fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
        for (line, target) in links(&text) {
            n_links += 1;
            if let Some(problem) = problem(page, &target)? {
                let name = page.strip_prefix(root).unwrap_or(page).display();
                problems.push(format!("{name}:{line}: {problem}"));
            }
        }
    }
    Ok((n_links, problems))
}

/// What is wrong with a link of a page.
fn problem(page: &Path, target: &str) -> anyhow::Result<Option<String>> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
    let path = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap_or(page).join(file),
    };
    if GENERATED.iter().any(|folder| file.starts_with(&format!("../{folder}/"))) {
        // There only in the site, which checks its own links.
        return Ok(None);
    }
    if !path.exists() {
        return Ok(Some(format!("there is no `{file}`")));
    }
    let Some(anchor) = anchor.filter(|_| path.extension().is_some_and(|ending| ending == "md"))
    else {
        return Ok(None);
    };
    let known = anchors(&fs::read_to_string(&path)?);
    Ok((!known.contains(anchor)).then(|| format!("no heading is `#{anchor}` in `{target}`")))
}

/// Targets of the links and images outside code, with their lines; addresses elsewhere are left out.
pub(crate) fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (line, content) in prose(text) {
        // Every second piece between backquotes is code.
        for piece in content.split('`').step_by(2) {
            for rest in piece.split("](").skip(1) {
                let target = rest.split(')').next().unwrap_or_default();
                if !target.contains("://") && !target.starts_with("mailto:") {
                    links.push((line, target.to_owned()));
                }
            }
        }
    }
    links
}

/// Lines outside fenced and indented code, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(idx, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence && !line.starts_with("    ")).then_some((idx + 1, line))
    })
}

/// Anchors of the headings of a page, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let plain = anchor(title.trim());
        let mut numbered = (1..).map(|number| format!("{plain}-{number}"));
        let taken = anchors.contains(&plain);
        let free = numbered.find(|name| !anchors.contains(name)).filter(|_| taken);
        anchors.insert(free.unwrap_or(plain));
    }
    anchors
}

/// Small letters, digits, `-` and `_`; blanks become `-`, all else goes.
fn anchor(title: &str) -> String {
    let letters = title.to_lowercase();
    let kept = letters.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_only() {
        let text = "See [a](a.md#b) and ![b](b.svg).\n`[no](c.md)` [d](https://d.org)\n\
                    ```sh\n[no](e.md)\n```\n    [no](f.md)\n[g](#g)\n";
        let found = [(1, "a.md#b"), (1, "b.svg"), (7, "#g")];
        assert_eq!(links(text), found.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# What a probability means\n## Lagged, or `run.json`?\n# A_b\n# A_b\n#no\n";
        let wanted = ["a_b", "a_b-1", "lagged-or-runjson", "what-a-probability-means"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_told_with_their_place() {
        let folder = std::env::temp_dir().join(format!("xtask-docs-{}", std::process::id()));
        fs::create_dir_all(folder.join("docs")).unwrap();
        let page = folder.join("docs/a.md");
        let text = "# A\n[fine](#a) [fine](../README.md)\n[gone](b.md)\n[old](../README.md#old)\n";
        fs::write(&page, text).unwrap();
        fs::write(folder.join("README.md"), "# New\n").unwrap();
        let (n_links, problems) = check_pages(&folder, &[page]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let place = Path::new("docs").join("a.md");
        let wanted = [
            format!("{}:3: there is no `b.md`", place.display()),
            format!("{}:4: no heading is `#old` in `../README.md#old`", place.display()),
        ];
        assert_eq!((n_links, problems), (4, wanted.to_vec()));
    }
}
