//! `intervene`: what happens under interventions, against the same paths left alone.

use std::process::ExitCode;

use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::intervene::InterventionEffect;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_data::run_folder::Run;
use driftgraph_data::table::{Column, Table};
use driftgraph_report::{BandAxes, BandChart, BandMeaning, Panel};
use driftgraph_text::count;
use serde_json::json;

use crate::asking::{
    BandColumns, Bar, bands_json, data_if_there, shown_time, simulate_settings, tell_runaways,
    time_column, with_error, with_run, write_table,
};
use crate::charts::{band, draw};
use crate::commands::table;
use crate::model_args::InterveneArgs;
use crate::output::short;
use crate::printer;

pub(crate) fn run(args: &InterveneArgs) -> anyhow::Result<ExitCode> {
    with_run(&args.run, |run| {
        let read_time = |text: &str| {
            run.record.data.time.read_bound(text).map_err(|problem| problem.to_string())
        };
        let changes = Interventions::parse_with(&args.changes, run.variables(), &read_time)
            .map_err(FittedError::from)?;
        let data = data_if_there(run, &args.run)?;
        let settings = simulate_settings(run, &args.span, &args.paths, data.as_ref())?;
        tell_idle_windows(run, &changes, &settings.times);
        let bar = Bar::new("simulating");
        let series = data.as_ref().map(|loaded| &loaded.data);
        let effect = run.model()?.intervene(&changes, &settings, series, &|done| bar.set(done))?;
        drop(bar);
        tell_runaways(run, &[&effect.without, &effect.with])?;
        if let Some(file) = &args.out.out {
            write_table(file, &effect_table(run, &effect))?;
        }
        if let Some(file) = &args.out.svg {
            draw(file, chart(run, &changes, &effect))?;
        }
        if args.out.json {
            let object = json!({
                "interventions": args.changes,
                "paths": settings.n_paths,
                "seed": settings.seed,
                "without": bands_json(run, &effect.without),
                "with": bands_json(run, &effect.with),
                "ranking": effect.ranking.iter().map(|one| {
                    let mut object = json!(one);
                    object["variable"] = json!(effect.variables[one.variable]);
                    if let Some(dates) = run.record.data.time.dates(&[one.time]) {
                        object["time"] = json!(dates[0]);
                    }
                    object
                }).collect::<Vec<_>>(),
            });
            return Ok(printer::data(&serde_json::to_string_pretty(&object)?)?);
        }
        if effect.ranking.iter().any(|one| one.changed) {
            printer::data(&ranking(run, &effect, settings.n_paths))?;
        }
        tell_unchanged(&effect);
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn tell_idle_windows(run: &Run, changes: &Interventions, times: &[f64]) {
    let (first, last) = (times[0], times[times.len() - 1]);
    for one in changes.idle(times) {
        printer::note(&format!(
            "warning: `{}` lies outside the simulated times {} to {}; see `--from` and `--horizon`",
            one.text,
            shown_time(run, first),
            shown_time(run, last)
        ));
    }
}

fn ranking(run: &Run, effect: &InterventionEffect, n_paths: usize) -> String {
    let mut rows =
        table(&["variable", "largest mean difference", "at time", "in deviations", "intervened"]);
    for one in effect.ranking.iter().filter(|one| one.changed) {
        // Where paths run away without end, so do their differences.
        let (difference, relative) = if one.standard_error.is_finite() {
            (with_error(one.difference, one.standard_error), short(one.relative))
        } else {
            ("undefined".to_owned(), "undefined".to_owned())
        };
        rows.add_row([
            effect.variables[one.variable].clone(),
            difference,
            shown_time(run, one.time),
            relative,
            if one.intervened { "yes" } else { "" }.to_owned(),
        ]);
    }
    format!("what changed most, over {n_paths} pairs of paths:\n{}", rows.trim_fmt())
}

fn tell_unchanged(effect: &InterventionEffect) {
    let names: Vec<&str> = (effect.ranking.iter())
        .filter(|one| !one.changed)
        .map(|one| effect.variables[one.variable].as_str())
        .collect();
    if !names.is_empty() {
        let what = count(names.len(), "variable does", "variables do");
        printer::note(&format!("{what} not change at all: {}", names.join(", ")));
    }
}

/// One row per time and variable: without, with, and the difference.
fn effect_table(run: &Run, effect: &InterventionEffect) -> Table {
    let names = &effect.variables;
    let d = names.len();
    let n_rows = effect.times.len() * d;
    let times: Vec<f64> = (0..n_rows).map(|row| effect.times[row / d]).collect();
    let variables = (0..n_rows).map(|row| names[row % d].clone()).collect();
    let mut rows = Table::default()
        .with("time", time_column(run, &times))
        .with("variable", Column::Text(variables));
    for (when, bands) in [("without", &effect.without), ("with", &effect.with)] {
        let columns = [&bands.mean, &bands.deviation].into_iter().chain(&bands.quantiles);
        for (name, column) in BandColumns::NAMES.into_iter().zip(columns) {
            rows = rows.with(format!("{name}_{when}"), Column::Number(column.clone()));
        }
    }
    rows.with("difference", Column::Number(effect.difference.clone()))
        .with("standard_error", Column::Number(effect.standard_error.clone()))
}

/// Variables that changed, most first; those that did not are left out where there are many.
fn chart(run: &Run, changes: &Interventions, effect: &InterventionEffect) -> BandChart {
    let windows = |variable: usize| {
        let named = changes.list().iter().filter(|one| one.variables().contains(&variable));
        named.map(|one| (one.window.from, one.window.to)).collect()
    };
    let panels = effect.ranking.iter().map(|one| Panel {
        name: if one.changed {
            effect.variables[one.variable].clone()
        } else {
            format!("{} (unchanged)", effect.variables[one.variable])
        },
        bands: vec![
            band("Left alone", &effect.without, one.variable),
            band("Under intervention", &effect.with, one.variable),
        ],
        windows: windows(one.variable),
        ..Panel::default()
    });
    let texts: Vec<&str> = changes.list().iter().map(|one| one.text.as_str()).collect();
    BandChart {
        title: "What the intervention changes".to_owned(),
        subtitle: texts.join(";  "),
        meaning: BandMeaning::default(),
        is_log: false,
        axes: BandAxes::default(),
        time_label: run.record.data.time.label(),
        calendar: driftgraph_view::calendar(run),
        panels: panels.collect(),
    }
}
