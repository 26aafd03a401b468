//! The files of a merged sweep.

use std::fs;
use std::io;
use std::path::Path;

use driftgraph_core::EdgeScores;
use driftgraph_data::edges::write_edges;
use driftgraph_data::table::{Column, Table, TableFormat};
use driftgraph_data::whole_file::write_whole;
use driftgraph_report::sweep_html;
use driftgraph_report::view::{AveragedGraph, SweepView};

use super::average::Average;
use super::{Merged, MergedGroup, Row};
use crate::error::SweepError;
use crate::folder::Sweep;

/// Writes tables, averaged graphs and the report.
pub(super) fn write(
    sweep: &Sweep,
    out: &Path,
    averages: &[Average],
    rows: &[Row],
    missing: usize,
) -> Result<Merged, SweepError> {
    fs::create_dir_all(out).map_err(SweepError::file("make", out))?;
    let mut groups = Vec::new();
    let mut graphs = Vec::new();
    let fits = &sweep.record.fits;
    for (idx, average) in averages.iter().enumerate() {
        let (data, fit) = (&sweep.record.data[idx / fits.len()], &fits[idx % fits.len()]);
        // A fit that no seed changes may have its shards elsewhere.
        if average.n + average.n_unusable == 0 {
            continue;
        }
        let name = file_name(&[&data.name, &fit.name], idx);
        write_average(&out.join(&name), &data.variables, average)?;
        let graph = averaged_graph(average, &data.variables, &data.name, &fit.name);
        groups.push(MergedGroup {
            data: data.name.clone(),
            fit: fit.name.clone(),
            shards: average.n,
            unusable: average.n_unusable,
            expected_edges: average.probabilities().map(|all| all.iter().sum()),
            kept_edges: average.kept().map(|all| all.iter().filter(|share| **share >= 0.5).count()),
            edges_file: name.into(),
        });
        graphs.push(graph);
    }
    let unusable = rows.iter().filter(|row| row.problem.is_some()).count();
    let merged = Merged { shards: sweep.n_shards(), missing, unusable, groups };
    write_table(&out.join("shards.csv"), &shards_table(sweep, rows))?;
    write_table(&out.join("groups.csv"), &groups_table(&merged))?;
    let text = serde_json::to_string_pretty(&merged).expect("results are plain values");
    write_text(&out.join("merged.json"), &format!("{text}\n"))?;
    write_text(&out.join("report.html"), &sweep_html(&view(sweep, &merged, graphs, rows)))?;
    Ok(merged)
}

/// A name for people and for every file system; the position keeps names apart that only differ in other letters.
fn file_name(words: &[&str], idx: usize) -> String {
    let plain = |word: &&str| -> String {
        let letters = word.chars();
        letters.filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter)).collect()
    };
    let words: Vec<String> = words.iter().map(plain).collect();
    format!("edges-{}-{}.csv", idx + 1, words.join("-"))
}

fn write_average(path: &Path, names: &[String], average: &Average) -> Result<(), SweepError> {
    let scores = EdgeScores::from_matrix(names.len(), average.scores())?;
    let mut columns: Vec<(&str, Vec<f64>)> = Vec::new();
    columns.extend(average.probabilities().map(|all| ("probability", all)));
    columns.push(("score", scores.matrix().to_vec()));
    columns.extend(average.kept().map(|all| ("share", all)));
    columns.extend(average.deviations().map(|all| ("deviation", all)));
    columns.extend(average.effects().map(|all| ("effect", all)));
    write_whole(path, |out| write_edges(out, names, &scores, &columns))
        .map_err(SweepError::file("write", path))
}

fn averaged_graph(average: &Average, variables: &[String], data: &str, fit: &str) -> AveragedGraph {
    AveragedGraph {
        data: data.to_owned(),
        fit: fit.to_owned(),
        variables: variables.to_vec(),
        shards: average.n,
        unusable: average.n_unusable,
        scores: average.scores(),
        probabilities: average.probabilities(),
        shares: average.kept(),
        deviations: average.deviations(),
        effects: average.effects(),
    }
}

fn view(sweep: &Sweep, merged: &Merged, graphs: Vec<AveragedGraph>, rows: &[Row]) -> SweepView {
    let problems = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", sweep.describe(row.idx), row.problem.as_ref()?)));
    SweepView {
        title: "Many fits".to_owned(),
        shards: merged.shards,
        missing: merged.missing,
        seeds: sweep.record.seeds.clone(),
        bootstrap: sweep.record.bootstrap,
        graphs,
        problems: problems.collect(),
    }
}

fn shards_table(sweep: &Sweep, rows: &[Row]) -> Table {
    let place = |row: &Row| sweep.place(row.idx);
    let text = |of: &dyn Fn(&Row) -> String| Column::Text(rows.iter().map(of).collect());
    let sample = |row: &Row| place(row).sample.map_or(f64::NAN, |number| (number + 1) as f64);
    let expected = rows.iter().map(|row| row.expected_edges.unwrap_or(f64::NAN));
    Table::default()
        .with("data", text(&|row| sweep.record.data[place(row).data].name.clone()))
        .with("fit", text(&|row| sweep.record.fits[place(row).fit].name.clone()))
        .with("seed", text(&|row| place(row).seed.to_string()))
        .with("sample", Column::Number(rows.iter().map(sample).collect()))
        .with("expected_edges", Column::Number(expected.collect()))
        .with("problem", text(&|row| row.problem.clone().unwrap_or_default()))
        .with("shard", text(&|row| sweep.name(row.idx).to_owned()))
}

fn groups_table(merged: &Merged) -> Table {
    let groups = &merged.groups;
    let text = |of: &dyn Fn(&MergedGroup) -> String| Column::Text(groups.iter().map(of).collect());
    let whole = |of: &dyn Fn(&MergedGroup) -> usize| {
        Column::Whole(groups.iter().map(|group| of(group) as i64).collect())
    };
    let number = |of: &dyn Fn(&MergedGroup) -> Option<f64>| {
        Column::Number(groups.iter().map(|group| of(group).unwrap_or(f64::NAN)).collect())
    };
    Table::default()
        .with("data", text(&|group| group.data.clone()))
        .with("fit", text(&|group| group.fit.clone()))
        .with("shards", whole(&|group| group.shards))
        .with("unusable", whole(&|group| group.unusable))
        .with("expected_edges", number(&|group| group.expected_edges))
        .with("kept_edges", number(&|group| group.kept_edges.map(|n| n as f64)))
        .with("edges_file", text(&|group| group.edges_file.display().to_string()))
}

fn write_table(path: &Path, table: &Table) -> Result<(), SweepError> {
    written(path, write_whole(path, |out| table.write(out, TableFormat::Csv)))
}

fn write_text(path: &Path, text: &str) -> Result<(), SweepError> {
    written(path, write_whole(path, |out| out.write_all(text.as_bytes())))
}

fn written(path: &Path, result: io::Result<()>) -> Result<(), SweepError> {
    result.map_err(SweepError::file("write", path))
}
