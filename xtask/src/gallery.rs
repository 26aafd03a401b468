//! `cargo xtask gallery`: fits the real data sets of `docs/gallery` and puts pictures and figures into its pages.
//!
//! The data are read from a folder and are not part of the project, except hare and lynx.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::docs_tables::between_markers;
use crate::shell::{cargo, root, run, say, target_dir};

/// The pages.
const PAGES: &str = "docs/gallery";
/// Probability from which on an edge counts as claimed.
const THRESHOLD: &str = "0.5";

/// One data set: the folder `name` below the data has `data.csv` and `truth.csv`.
struct Case {
    name: &'static str,
    /// What `driftgraph check` advises for the data, and nothing else.
    options: &'static [&'static str],
    /// Whether the page also shows what the program says where its advice is not followed.
    also_bare: bool,
}

impl Case {
    const fn new(name: &'static str, options: &'static [&'static str]) -> Self {
        Self { name, options, also_bare: false }
    }
}

const CASES: [Case; 6] = [
    Case::new("hare-lynx", &[]),
    Case::new("irma-on", &[]),
    Case::new("sos", &[]),
    Case::new(
        "chemostat",
        &[
            "--ignore",
            "egg-ratio",
            "--inputs",
            "external medium (mu mol N / l)",
            "--log",
            "algae (10^6 cells/ml)",
        ],
    ),
    Case::new("macro", &["--detrend", "--ignore", "realcons,realdpi,realint"]),
    Case { also_bare: true, ..Case::new("climate-season", &["--season", "12"]) },
];

/// Fits every case and writes its picture, its page and the table of all.
pub(crate) fn make(data: &Path) -> anyhow::Result<()> {
    let binary = binary()?;
    let mut table = String::from(
        "| data | variables | rows | known influences | claimed | of these known | AUROC |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for case in &CASES {
        let (figures, words) = fit(&binary, data, case)?;
        let page = root().join(PAGES).join(case.name).with_extension("md");
        put(&page, case.name, &words)?;
        if case.also_bare {
            let name = format!("{}-bare", case.name);
            let learned = learn(&binary, data, case, &[], &name)?;
            put(&page, &name, &self::words(&learned))?;
        }
        let _ = writeln!(table, "| [{0}]({0}.md) | {figures} |", case.name);
    }
    put(&root().join(PAGES).join("README.md"), "gallery", &table)
}

/// The program to fit with: the one named by the environment, or a release build.
fn binary() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("DRIFTGRAPH_BINARY") {
        return Ok(named.into());
    }
    run("building the program", &mut cargo(&["build", "--release", "-p", "driftgraph-cli"]))?;
    Ok(target_dir().join("release/driftgraph"))
}

/// The cells of the table, and what the page shows between its markers.
fn fit(binary: &Path, data: &Path, case: &Case) -> anyhow::Result<(String, String)> {
    let source = data.join(case.name);
    let (table, truth) = (source.join("data.csv"), source.join("truth.csv"));
    let learned = learn(binary, data, case, case.options, case.name)?;
    let folder = run_folder(case.name);
    let picture = root().join(PAGES).join(case.name).with_extension("svg");
    fs::copy(folder.join("graph.svg"), &picture)
        .with_context(|| format!("cannot write {}", picture.display()))?;
    let mut score = Command::new(binary);
    score.arg("score").arg(&folder).arg("--truth").arg(&truth);
    let scored = output(score.args(["--self-edges", "drop", "--threshold", THRESHOLD, "--json"]))?;
    let mut check = Command::new(binary);
    let checked = output(check.arg("check").arg(&table).arg("--json"))?;
    say(&format!("gallery: {} is done", case.name));
    let cells = cells(&json(&checked)?, &json(&scored)?)?;
    Ok((cells, words(&learned)))
}

/// Where a fit is kept.
fn run_folder(name: &str) -> PathBuf {
    root().join("target/gallery").join(name)
}

/// Fits the data of a case with some options into the folder of a name.
fn learn(
    binary: &Path,
    data: &Path,
    case: &Case,
    options: &[&str],
    name: &str,
) -> anyhow::Result<Output> {
    let source = data.join(case.name);
    let table = source.join("data.csv");
    ensure!(table.is_file(), "there is no `{}`", table.display());
    let mut learn = Command::new(binary);
    learn.arg("fit").arg(&table).args(options).arg("--truth").arg(source.join("truth.csv"));
    output(learn.args(["--seed", "0", "--force", "--out"]).arg(run_folder(name)))
}

fn output(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {problem}");
    Ok(output)
}

fn json(output: &Output) -> anyhow::Result<Value> {
    serde_json::from_slice(&output.stdout).context("the program printed no JSON")
}

/// Sizes of the data and metrics of the fit, as cells of a table.
fn cells(checked: &Value, scored: &Value) -> anyhow::Result<String> {
    let number = |from: &Value, name: &str| {
        from[name].as_u64().with_context(|| format!("the program gives no {name}"))
    };
    let (n_variables, n_rows) = (number(checked, "variables")?, number(checked, "rows")?);
    let (n_known, shd) = (number(scored, "n_edges")?, number(scored, "shd")?);
    // Without a known influence there is nothing to find.
    let n_right = scored["tpr"].as_f64().map_or(0, |tpr| (tpr * n_known as f64).round() as u64);
    // The distance counts known edges that were missed and claimed ones that are not known.
    let n_claimed = shd + 2 * n_right - n_known;
    let auroc = scored["auroc"].as_f64().map_or("undefined".to_owned(), |it| format!("{it:.2}"));
    Ok(format!("{n_variables} | {n_rows} | {n_known} | {n_claimed} | {n_right} | {auroc}"))
}

/// The strongest edges, what was chosen, and every warning, as the program prints them.
fn words(learned: &Output) -> String {
    let table = String::from_utf8_lossy(&learned.stdout);
    let said = String::from_utf8_lossy(&learned.stderr);
    let kept = ["chose ", "the data are too few", "warning: "];
    let said = said.lines().filter(|line| kept.iter().any(|begin| line.starts_with(begin)));
    let lines: Vec<&str> = table.lines().chain(said).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

/// Replaces what stands between the markers of a page.
fn put(page: &Path, name: &str, content: &str) -> anyhow::Result<()> {
    let text =
        fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let changed = between_markers(&text, name, content)
        .with_context(|| format!("{} has no place for {name}", page.display()))?;
    fs::write(page, changed).with_context(|| format!("cannot write {}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_follow_from_distance_and_share_of_edges_found() {
        let checked = json!({"variables": 3, "rows": 9});
        // Four known, one of them found, three claims besides: three missed and three false.
        let scored = json!({"n_edges": 4, "shd": 6, "tpr": 0.25, "auroc": 0.5});
        assert_eq!(cells(&checked, &scored).unwrap(), "3 | 9 | 4 | 4 | 1 | 0.50");
        let nothing = json!({"n_edges": 0, "shd": 2, "tpr": null, "auroc": null});
        assert_eq!(cells(&checked, &nothing).unwrap(), "3 | 9 | 0 | 2 | 0 | undefined");
    }
}
