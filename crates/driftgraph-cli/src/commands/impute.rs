//! `impute`: hidden states of the series of a fit, and how well they are found.

use std::process::ExitCode;

use driftgraph_core::fitted::impute::{ImputeSettings, ImputeTest, ImputeTimes, ImputedSeries};
use driftgraph_data::run_folder::Run;
use driftgraph_report::{BandAxes, BandChart, BandMeaning, Panel};
use driftgraph_text::count;
use serde_json::json;

use crate::asking::{
    BandColumns, Bar, accuracies, accuracy_table, bands_json, data_of, shown_time, times_of,
    with_run, write_table,
};
use crate::charts::{draw, panel};
use crate::commands::table;
use crate::model_args::ImputeArgs;
use crate::output::short;
use crate::printer;

/// Cells shown on the terminal.
const SHOWN_CELLS: usize = 10;

pub(crate) fn run(args: &ImputeArgs) -> anyhow::Result<ExitCode> {
    with_run(&args.run, |run| match args.holdout_cells {
        Some(share) => test(args, run, share),
        None => impute(args, run),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn settings(args: &ImputeArgs, run: &Run) -> anyhow::Result<ImputeSettings> {
    let times = match times_of(run, "--times", &args.times)? {
        times if times.is_empty() => ImputeTimes::Rows,
        times => ImputeTimes::At(times),
    };
    Ok(ImputeSettings { times, n_samples: args.samples, seed: args.seed })
}

fn impute(args: &ImputeArgs, run: &Run) -> anyhow::Result<()> {
    let loaded = data_of(run, &args.run)?;
    let imputed = run.model()?.impute(&loaded.data, &settings(args, run)?)?;
    let names = run.variables();
    let d = names.len();
    let only_missing = args.times.is_empty() && !args.all;
    let wanted = |one: &ImputedSeries, row: usize, idx: usize| {
        !only_missing || one.observed[row * d + idx].is_nan()
    };
    let mut columns = BandColumns::default();
    for one in &imputed {
        columns.add(&one.name, names, &one.bands, |row, idx| wanted(one, row, idx));
    }
    let rows = columns.into_table(run);
    if let Some(file) = &args.out.out {
        write_table(file, &rows)?;
    }
    if let Some(file) = &args.out.svg {
        anyhow::ensure!(!imputed.is_empty(), "there is nothing to draw");
        draw(file, chart(run, &imputed))?;
    }
    if args.out.json {
        let all: serde_json::Map<_, _> =
            imputed.iter().map(|one| (one.name.clone(), bands_json(run, &one.bands))).collect();
        return Ok(printer::data(&serde_json::to_string_pretty(&json!({"series": all}))?)?);
    }
    if rows.n_rows() == 0 {
        printer::note(if args.times.is_empty() {
            "no cell is missing; `--all` shows the hidden states of all of them"
        } else {
            "no asked time lies within a series; later ones are a matter of `forecast`"
        });
    }
    let mut shown = table(&["series", "time", "variable", "mean", "deviation"]);
    let cells = imputed
        .iter()
        .flat_map(|one| (0..one.bands.times.len() * d).map(move |cell| (one, cell / d, cell % d)));
    for (one, row, idx) in cells.filter(|(one, row, idx)| wanted(one, *row, *idx)).take(SHOWN_CELLS)
    {
        let bands = &one.bands;
        shown.add_row([
            one.name.clone(),
            shown_time(run, bands.times[row]),
            names[idx].clone(),
            short(bands.mean[row * d + idx]),
            short(bands.deviation[row * d + idx]),
        ]);
    }
    printer::data(&format!(
        "hidden states of {}:\n{}",
        count(rows.n_rows(), "cell", "cells"),
        shown.trim_fmt()
    ))?;
    Ok(())
}

fn test(args: &ImputeArgs, run: &Run, share: f64) -> anyhow::Result<()> {
    let loaded = data_of(run, &args.run)?;
    let bar = Bar::new("fitting without the hidden cells");
    let test = run
        .model()?
        .impute_test(&loaded.data, share, &settings(args, run)?, &|done| bar.set(done))?;
    drop(bar);
    let names = run.variables();
    if let Some(file) = &args.out.out {
        write_table(file, &accuracy_table(names, &test.methods))?;
    }
    if let Some(file) = &args.out.svg {
        let imputed = run.model()?.impute(&loaded.data, &settings(args, run)?)?;
        anyhow::ensure!(!imputed.is_empty(), "there is nothing to draw");
        draw(file, chart(run, &imputed))?;
    }
    if args.out.json {
        let object = json!({
            "holdout_cells": share,
            "cells": test.n_cells,
            "methods": test.methods,
            "variables": names,
        });
        return Ok(printer::data(&serde_json::to_string_pretty(&object)?)?);
    }
    printer::data(&describe(&test))?;
    Ok(())
}

fn describe(test: &ImputeTest) -> String {
    format!(
        "{} hidden and imputed\n(errors in deviations of each variable, smaller is better):\n{}",
        count(test.n_cells, "observed cell was", "observed cells were"),
        accuracies(&test.methods)
    )
}

/// The hidden states of the first series over its measurements.
fn chart(run: &Run, imputed: &[ImputedSeries]) -> BandChart {
    let first = &imputed[0];
    let d = run.variables().len();
    let panels = (run.variables().iter().enumerate()).map(|(idx, name)| {
        let cells = first.bands.times.iter().zip(first.observed.iter().skip(idx).step_by(d));
        let points =
            cells.filter(|(_, value)| !value.is_nan()).map(|(time, value)| (*time, *value));
        Panel {
            points: points.collect(),
            points_label: "measured".to_owned(),
            ..panel(name, "Hidden state", &first.bands, idx)
        }
    });
    let more = match imputed.len() {
        1 => String::new(),
        n => format!(", the first of {n}"),
    };
    BandChart {
        title: "Hidden states".to_owned(),
        subtitle: format!("series {}{more}", first.name),
        meaning: BandMeaning::default(),
        is_log: false,
        axes: BandAxes::default(),
        time_label: run.record.data.time.label(),
        calendar: driftgraph_view::calendar(run),
        panels: panels.collect(),
    }
}
