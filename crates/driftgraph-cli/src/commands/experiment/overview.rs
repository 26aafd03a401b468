//! All tables in a folder at a glance: ours, the paper's and simple methods, as one table and one picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use driftgraph_report::{DotChart, DotRow, dots_svg};
use serde::Deserialize;
use serde_json::{Value, json};

use super::origin::heading;
use super::plan::{BRIDGE, ORACLE, SCOTCH_PAPER, SIMPLE};
use super::published::is_scotch;
use super::variants::is_mean;
use crate::args::{ExperimentArgs, ExperimentName};
use crate::output::write_file;
use crate::printer;

/// The tables that are put together, with their names.
const TABLES: [(ExperimentName, &str); 4] = [
    (ExperimentName::Dream3, "DREAM3"),
    (ExperimentName::Netsim, "Netsim"),
    (ExperimentName::Lorenz, "Lorenz-96"),
    (ExperimentName::Glycolysis, "Glycolysis"),
];

/// A line of a table for programs.
#[derive(Debug, Clone, Deserialize)]
struct Line {
    data: String,
    method: String,
    as_in_the_paper: bool,
    seeds: u64,
    auroc_mean: Option<f64>,
    auroc_sd: Option<f64>,
    paper_auroc: Option<f64>,
    paper_auroc_sd: Option<f64>,
    note: String,
}

/// One data set with everything known about it.
#[derive(Debug)]
struct Row {
    name: String,
    /// By method.
    lines: BTreeMap<String, Line>,
}

pub(super) fn run(args: &ExperimentArgs) -> anyhow::Result<()> {
    let rows = rows(&args.out)?;
    anyhow::ensure!(
        !rows.is_empty(),
        "`{}` has no folder with a table, e.g. `{}/lorenz`; `driftgraph experiment lorenz` makes one",
        args.out.display(),
        args.out.display()
    );
    let write = |name: &str, text: &str| {
        write_file(&args.out.join(name), |out| out.write_all(text.as_bytes()))
    };
    write("overview.svg", &picture(&rows)?)?;
    let text = format!("{}{}", heading(args), markdown(&rows));
    write("overview.md", &text)?;
    if args.json {
        let all: Vec<Value> = rows.iter().map(in_json).collect();
        printer::data(&serde_json::to_string_pretty(&json!({"overview": all}))?)?;
    } else {
        printer::data(&text)?;
    }
    printer::note(&format!("picture and table are in `{}`", args.out.display()));
    Ok(())
}

/// Data sets in the order of the tables; `lorenz-paper` beside `lorenz` holds the runs of `scotch-paper`, and
/// `lorenz-oracle` those of `--oracle`, where they were made apart.
fn rows(folder: &Path) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for (experiment, name) in TABLES {
        for (suffix, only) in
            [("", None), ("-paper", Some(SCOTCH_PAPER)), ("-oracle", Some(ORACLE))]
        {
            let file = folder.join(format!("{}{suffix}", experiment.word())).join("table.csv");
            if !file.is_file() {
                continue;
            }
            let unusable = || format!("`{}` is no table of this program", file.display());
            let mut table = csv::Reader::from_path(&file).with_context(unusable)?;
            for line in table.deserialize::<Line>() {
                let line = line.with_context(unusable)?;
                // Networks count in their mean.
                let is_part = experiment == ExperimentName::Dream3 && !is_mean(&line.data);
                let is_asked = only.is_none_or(|method| method == line.method);
                if line.as_in_the_paper && !is_part && is_asked {
                    let name = format!("{name}, {}", line.data);
                    let known = rows.iter().position(|row| row.name == name);
                    let position = known.unwrap_or(rows.len());
                    if known.is_none() {
                        rows.push(Row { name, lines: BTreeMap::new() });
                    }
                    rows[position].lines.insert(line.method.clone(), line);
                }
            }
        }
    }
    Ok(rows)
}

impl Row {
    fn line(&self, method: &str) -> Option<&Line> {
        self.lines.get(method)
    }

    fn auroc(&self, method: &str) -> Option<(f64, Option<f64>)> {
        let line = self.line(method)?;
        Some((line.auroc_mean?, line.auroc_sd))
    }

    fn paper(&self) -> Option<(f64, Option<f64>)> {
        // The other systems have figures of their own.
        let is_ours = |line: &&Line| is_scotch(&line.method) && line.paper_auroc.is_some();
        let line = self.lines.values().find(is_ours)?;
        Some((line.paper_auroc?, line.paper_auroc_sd))
    }

    /// The best of the simple methods.
    fn simple(&self) -> Option<(&'static str, f64)> {
        let all = SIMPLE.into_iter().filter_map(|method| Some((method, self.auroc(method)?.0)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

fn markdown(rows: &[Row]) -> String {
    // Few have asked for `--oracle`.
    let has_oracle = rows.iter().any(|row| row.line(ORACLE).is_some());
    let with_oracle = |text: String| if has_oracle { format!(" {text} |") } else { String::new() };
    let mut text = format!(
        "| AUROC | ours (`bridge`) | seeds | the paper's figure | its method here (`scotch-paper`) | best simple method |{}\n\
         | --- | ---: | ---: | ---: | ---: | ---: |{}\n",
        with_oracle("best candidate by the truth".to_owned()),
        with_oracle("---:".to_owned()),
    );
    let shown = |value: Option<(f64, Option<f64>)>| match value {
        Some((mean, Some(deviation))) => format!("{mean:.3} ± {deviation:.3}"),
        Some((mean, None)) => format!("{mean:.3}"),
        None => "-".to_owned(),
    };
    for row in rows {
        let simple =
            row.simple().map_or("-".to_owned(), |(method, auroc)| format!("{auroc:.3} ({method})"));
        let scotch = match row.line(SCOTCH_PAPER) {
            Some(line) => format!("{} ({})", shown(row.auroc(SCOTCH_PAPER)), line.note),
            None => "-".to_owned(),
        };
        let seeds = row.line(BRIDGE).map_or("-".to_owned(), |line| line.seeds.to_string());
        let _ = writeln!(
            text,
            "| {} | {} | {seeds} | {} | {scotch} | {simple} |{}",
            row.name,
            shown(row.auroc(BRIDGE)),
            shown(row.paper()),
            with_oracle(shown(row.auroc(ORACLE))),
        );
    }
    text
}

fn picture(rows: &[Row]) -> anyhow::Result<String> {
    // `epochs 5000 of 5000`, or less.
    let is_whole = |line: &Line| {
        let words: Vec<&str> = line.note.split_whitespace().collect();
        matches!(words[..], ["epochs", reached, "of", planned] if reached == planned)
    };
    let mut lines = rows.iter().filter_map(|row| row.line(SCOTCH_PAPER));
    let all_whole = lines.all(is_whole);
    let run_here = if all_whole { "its method, run here" } else { "its method, trained in part" };
    let row = |row: &Row| DotRow {
        name: row.name.clone(),
        values: vec![row.auroc(BRIDGE), row.paper(), row.auroc(SCOTCH_PAPER)],
        background: SIMPLE.into_iter().filter_map(|method| Some(row.auroc(method)?.0)).collect(),
    };
    Ok(dots_svg(&DotChart {
        heading: String::new(),
        title: "How well edges are ranked".to_owned(),
        subtitle: "AUROC, mean over seeds with deviation; 0.5 is a coin".to_owned(),
        axis_label: "AUROC".to_owned(),
        methods: ["driftgraph, default settings", "the paper's figure", run_here]
            .map(str::to_owned)
            .into(),
        background_label: "simple methods".to_owned(),
        rows: rows.iter().map(row).collect(),
    })?)
}

fn in_json(row: &Row) -> Value {
    let mean = |method: &str| row.auroc(method).map(|(mean, _)| mean);
    json!({
        "data": row.name,
        "bridge": mean(BRIDGE),
        "paper": row.paper().map(|(mean, _)| mean),
        "scotch_paper": mean(SCOTCH_PAPER),
        "simple": row.simple().map(|(_, auroc)| auroc),
        "oracle": mean(ORACLE),
    })
}
