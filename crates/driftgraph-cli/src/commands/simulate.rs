//! `simulate`: new paths of the learned process.

use std::process::ExitCode;

use driftgraph_core::fitted::simulate::SimulatedPaths;
use driftgraph_data::run_folder::Run;
use driftgraph_data::table::{Column, Table};
use driftgraph_data::write::key_headers;
use driftgraph_report::{BandAxes, BandChart, BandMeaning};
use serde_json::json;

use crate::asking::{
    Bar, bands_json, data_if_there, last_bands, shown_time, simulate_settings, tell_runaways,
    time_column, with_run, write_table,
};
use crate::charts::{draw, panel};
use crate::model_args::SimulateArgs;
use crate::printer;

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    with_run(&args.run, |run| {
        let data = data_if_there(run, &args.run)?;
        let settings = simulate_settings(run, &args.span, &args.paths, data.as_ref())?;
        let bar = Bar::new("simulating");
        let series = data.as_ref().map(|loaded| &loaded.data);
        let paths = run.model()?.simulate(&settings, series, &|done| bar.set(done))?;
        drop(bar);
        let bands = paths.bands();
        tell_runaways(run, &[&bands])?;
        if let Some(file) = &args.out.out {
            write_table(file, &path_table(run, &paths))?;
        }
        if let Some(file) = &args.out.svg {
            let panels = (paths.variables.iter().enumerate())
                .map(|(idx, name)| panel(name, "Simulated paths", &bands, idx));
            let chart = BandChart {
                title: "Simulated paths".to_owned(),
                subtitle: format!("{} paths of the learned process", paths.n_paths),
                meaning: BandMeaning::default(),
                is_log: false,
                axes: BandAxes::default(),
                time_label: run.record.data.time.label(),
                calendar: driftgraph_view::calendar(run),
                panels: panels.collect(),
            };
            draw(file, chart)?;
        }
        if args.out.json {
            let mut object = bands_json(run, &bands);
            object["paths"] = json!(paths.n_paths);
            object["steps"] = json!(paths.n_steps);
            object["seed"] = json!(settings.seed);
            return Ok(printer::data(&serde_json::to_string_pretty(&object)?)?);
        }
        let end = bands.times[bands.times.len() - 1];
        printer::data(&format!(
            "{} paths at time {}:\n{}",
            paths.n_paths,
            shown_time(run, end),
            last_bands(&paths.variables, &bands)
        ))?;
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The paths as a data table: one series per path.
fn path_table(run: &Run, paths: &SimulatedPaths) -> Table {
    let (n_times, d) = (paths.times.len(), paths.variables.len());
    let rows = paths.n_paths * n_times;
    let names = (0..rows).map(|row| format!("path-{}", row / n_times + 1)).collect();
    let times: Vec<f64> = (0..rows).map(|row| paths.times[row % n_times]).collect();
    let [series, time] = key_headers(&paths.variables);
    let mut table =
        Table::default().with(series, Column::Text(names)).with(time, time_column(run, &times));
    for (idx, name) in paths.variables.iter().enumerate() {
        let values = paths.states.iter().skip(idx).step_by(d).copied().collect();
        table = table.with(name.clone(), Column::Number(values));
    }
    table
}
