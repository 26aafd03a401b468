//! `cargo xtask site`: the documentation as one site, with search, both API references and a page per method.
//!
//! mdBook renders a copy of the pages in which every file keeps its place in the project, so that links between pages, and to
//! pictures and sources, stay as they are. The landing page and the list of chapters move up to the root.

mod html_links;
mod methods;
mod notebooks;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::docs::links;
use crate::python;
use crate::shell::{cargo, files_below, root, run, say, succeeds, target_dir, tools};

/// The version that `book.toml` is written for.
const MDBOOK: &str = "0.5.4";
/// The copy of the pages, and the site; `book.toml` names both.
const SOURCE: &str = "target/site-source";
const SITE: &str = "target/site";
/// What is put into the site beside the book; pages link to it.
pub(crate) const GENERATED: [&str; 2] = ["rust", "python-api"];

/// Builds everything the site consists of, and the site.
pub(crate) fn build_alone() -> anyhow::Result<()> {
    run("the program", &mut cargo(&["build", "-p", "driftgraph-cli"]))?;
    document_rust()?;
    python::install_for_documentation()?;
    build()
}

/// Builds the pages of the site; their links to the API references are not checked.
pub(crate) fn build_pages() -> anyhow::Result<()> {
    run("the program", &mut cargo(&["build", "-p", "driftgraph-cli"]))?;
    book()?;
    tell(html_links::check(&root().join(SITE), &GENERATED)?);
    Ok(())
}

/// The API reference of the libraries; what the programs say is tested in snapshots.
pub(crate) fn document_rust() -> anyhow::Result<()> {
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    documentation.args(["--exclude", "driftgraph-cli", "--exclude", "xtask"]);
    run("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the site from a program, an API reference and a Python package that are there already.
pub(crate) fn build() -> anyhow::Result<()> {
    let site = root().join(SITE);
    book()?;
    copy_folder(&target_dir().join("doc"), &site.join("rust"))?;
    python::write_reference(&site.join("python-api"))?;
    tell(html_links::check(&site, &[])?);
    Ok(())
}

/// Renders the pages; what was in the site before goes.
fn book() -> anyhow::Result<()> {
    gather(&root().join(SOURCE))?;
    let mut book = Command::new(mdbook()?);
    run("the book", book.current_dir(root()).arg("build"))
}

fn tell(n_links: usize) {
    let index = root().join(SITE).join("index.html");
    say(&format!("site: ok, {n_links} links; open {}", index.display()));
}

/// Copies every page of the list of chapters and everything that pages link to, and writes what is made.
fn gather(source: &Path) -> anyhow::Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    fs::create_dir_all(source)?;
    let chapters = read("docs/SUMMARY.md")?;
    let methods = methods::write_pages(&source.join("docs/methods"))?;
    ensure!(chapters.contains(methods::PLACE), "docs/SUMMARY.md has no place for methods");
    let chapters = chapters.replace(methods::PLACE, methods.trim_end());
    let in_the_root = |text: &str| notebooks::linked_to_pages(&moved_up(text));
    fs::write(source.join("SUMMARY.md"), in_the_root(&chapters))?;
    fs::write(source.join("index.md"), in_the_root(&read("docs/README.md")?))?;
    for (_, page) in links(&read("docs/SUMMARY.md")?) {
        let page = normal(&Path::new("docs").join(page));
        if page.extension().is_some_and(|ending| ending == notebooks::ENDING) {
            notebooks::write_page(&page, source)?;
            copy(&page, source)?;
            continue;
        }
        if page != Path::new("docs/README.md") {
            copy(&page, source)?;
            let text = notebooks::linked_to_pages(&fs::read_to_string(source.join(&page))?);
            fs::write(source.join(&page), text)?;
        }
        copy_targets(&page, source)?;
    }
    Ok(())
}

/// Copies the files that a page links to; other pages come from the list of chapters.
fn copy_targets(page: &Path, source: &Path) -> anyhow::Result<()> {
    let folder = page.parent().context("a page lies in a folder")?;
    for (_, target) in links(&fs::read_to_string(root().join(page))?) {
        let file = normal(&folder.join(target.split('#').next().unwrap_or_default()));
        if file.extension().is_some_and(|it| it != "md") && root().join(&file).is_file() {
            copy(&file, source)?;
        }
    }
    Ok(())
}

fn copy(file: &Path, source: &Path) -> anyhow::Result<()> {
    let place = source.join(file);
    fs::create_dir_all(place.parent().context("a file lies in a folder")?)?;
    fs::copy(root().join(file), place)
        .with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(())
}

fn read(page: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(page)).with_context(|| format!("cannot read {page}"))
}

/// A relative path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

/// The text of a page in `docs` with links that hold in the folder above; the landing page is `index.md` there.
fn moved_up(text: &str) -> String {
    let mut pieces = text.split("](");
    let mut moved = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        moved.push_str("](");
        if let Some(above) = piece.strip_prefix("../") {
            moved.push_str(above);
        } else if let Some(rest) = piece.strip_prefix("README.md)") {
            moved.extend(["index.md)", rest]);
        } else if piece.starts_with('#') || piece.starts_with("http") {
            moved.push_str(piece);
        } else {
            moved.extend(["docs/", piece]);
        }
    }
    moved
}

/// mdBook from the user's path, or else our own copy, built if need be.
fn mdbook() -> anyhow::Result<PathBuf> {
    if succeeds(Command::new("mdbook").arg("--version")) {
        return Ok("mdbook".into());
    }
    let own = tools().join("bin/mdbook");
    if !own.exists() {
        let mut install = cargo(&["install", "mdbook", "--locked", "--version", MDBOOK]);
        install.args(["--no-default-features", "--features", "search", "--root"]).arg(tools());
        run("installing mdbook", install.env("CARGO_TARGET_DIR", tools().join("build")))?;
    }
    Ok(own)
}

/// Copies a folder with all below it.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let place = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy_folder(&path, &place)?;
        } else {
            fs::copy(&path, &place)?;
        }
    }
    Ok(())
}

/// Pages below a folder, apart from the references that other programs make.
fn pages_of(site: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut pages = files_below(site, "html")?;
    pages.retain(|page| !GENERATED.iter().any(|folder| page.starts_with(site.join(folder))));
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_page_that_moves_up_lead_to_the_same_files() {
        let text = "[a](a.md#x) ![b](../results/b.svg) [home](README.md) [c](#here) [d](https://d)";
        let moved =
            "[a](docs/a.md#x) ![b](results/b.svg) [home](index.md) [c](#here) [d](https://d)";
        assert_eq!(moved_up(text), moved);
    }

    #[test]
    fn a_path_loses_its_steps_up() {
        assert_eq!(normal(Path::new("docs/../results/a.svg")), Path::new("results/a.svg"));
    }
}
