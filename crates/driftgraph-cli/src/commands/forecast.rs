//! `forecast`: futures of the series of a fit, and how well they come true.

use std::process::ExitCode;

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::forecast::{
    ForecastSettings, ForecastTest, ForecastTimes, SeriesForecast,
};
use driftgraph_data::run_folder::Run;
use driftgraph_report::{BandAxes, BandChart, BandMeaning, Panel};
use driftgraph_text::count;
use serde_json::json;

use crate::asking::{
    BandColumns, Bar, accuracies, accuracy_table, bands_json, data_if_there, data_of, graph_choice,
    last_bands, shown_time, span_of, step_size, tell_runaways, times_of, whole_times, with_run,
    write_table,
};
use crate::charts::{draw, panel};
use crate::given_inputs::given_to_futures;
use crate::model_args::ForecastArgs;
use crate::printer;

pub(crate) fn run(args: &ForecastArgs) -> anyhow::Result<ExitCode> {
    with_run(&args.run, |run| match args.holdout {
        Some(share) => test(args, run, share),
        None => forecast(args, run),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn settings(
    args: &ForecastArgs,
    run: &Run,
    times: ForecastTimes,
) -> anyhow::Result<ForecastSettings> {
    Ok(ForecastSettings {
        given: given_to_futures(run, &args.paths)?,
        n_paths: args.paths.paths,
        times,
        step_size: step_size(run, &args.paths)?,
        graph: graph_choice(&args.paths),
        scheme: args.paths.scheme,
        seed: args.paths.seed,
    })
}

fn forecast(args: &ForecastArgs, run: &Run) -> anyhow::Result<()> {
    let data = data_if_there(run, &args.run)?;
    let times = if args.times.is_empty() {
        let series = data.as_ref().map(|loaded| &loaded.data);
        let horizon = span_of(run, "--horizon", args.horizon.as_deref())?;
        let every = span_of(run, "--every", args.every.as_deref())?;
        match ForecastTimes::even(run.model()?.usual_span_in(series), horizon, every)? {
            ForecastTimes::After(times) if every.is_none() => {
                ForecastTimes::After(whole_times(run, 0.0, &times))
            }
            times => times,
        }
    } else {
        ForecastTimes::At(times_of(run, "--times", &args.times)?)
    };
    let bar = Bar::new("forecasting");
    let series = data.as_ref().map(|loaded| &loaded.data);
    let forecasts =
        run.model()?.forecast(&settings(args, run, times)?, series, &|done| bar.set(done))?;
    drop(bar);
    anyhow::ensure!(!forecasts.is_empty(), "none of the times lies after the end of a series");
    tell_runaways(run, &forecasts.iter().map(|one| &one.bands).collect::<Vec<_>>())?;
    write_files(args, run, &forecasts, series)?;
    let names = run.variables();
    if args.out.json {
        let all: serde_json::Map<_, _> = forecasts
            .iter()
            .map(|one| {
                let mut object = bands_json(run, &one.bands);
                object["from"] = match run.record.data.time.dates(&[one.from]) {
                    Some(dates) => json!(dates[0]),
                    None => json!(one.from),
                };
                (one.name.clone(), object)
            })
            .collect();
        return Ok(printer::data(&serde_json::to_string_pretty(&json!({"series": all}))?)?);
    }
    let first = &forecasts[0];
    let end = first.bands.times[first.bands.times.len() - 1];
    printer::data(&format!(
        "{} forecast; `{}` at time {}:\n{}",
        count(forecasts.len(), "series", "series"),
        first.name,
        shown_time(run, end),
        last_bands(names, &first.bands)
    ))?;
    if forecasts.len() > 1 && args.out.out.is_none() {
        printer::note("write all of them to a file with `--out FILE`");
    }
    Ok(())
}

fn test(args: &ForecastArgs, run: &Run, share: f64) -> anyhow::Result<()> {
    let loaded = data_of(run, &args.run)?;
    let bar = Bar::new("fitting the beginnings again");
    let asked = settings(args, run, ForecastTimes::At(Vec::new()))?;
    let test = run.model()?.forecast_test(&loaded.data, share, &asked, &|done| bar.set(done))?;
    drop(bar);
    let names = run.variables();
    if let Some(file) = &args.out.out {
        write_table(file, &accuracy_table(names, &test.methods))?;
    }
    if let Some(file) = &args.out.svg {
        draw(file, chart(run, &test.forecasts, Some(&loaded.data)))?;
    }
    if args.out.json {
        let object = json!({
            "holdout": share,
            "series": test.n_series,
            "rows": test.n_rows,
            "methods": test.methods,
            "variables": names,
        });
        return Ok(printer::data(&serde_json::to_string_pretty(&object)?)?);
    }
    printer::data(&describe(&test))?;
    Ok(())
}

fn describe(test: &ForecastTest) -> String {
    format!(
        "the last {} of {} forecast from their beginnings\n(errors in deviations of each variable, \
         smaller is better; {} cells):\n{}",
        count(test.n_rows, "row", "rows"),
        count(test.n_series, "series", "series"),
        test.methods[0].overall.n_cells,
        accuracies(&test.methods)
    )
}

fn write_files(
    args: &ForecastArgs,
    run: &Run,
    forecasts: &[SeriesForecast],
    data: Option<&SeriesSet>,
) -> anyhow::Result<()> {
    if let Some(file) = &args.out.out {
        let mut columns = BandColumns::default();
        for one in forecasts {
            columns.add(&one.name, run.variables(), &one.bands, |_, _| true);
        }
        write_table(file, &columns.into_table(run))?;
    }
    if let Some(file) = &args.out.svg {
        draw(file, chart(run, forecasts, data))?;
    }
    Ok(())
}

/// The first series: its last measurements, then its future.
fn chart(run: &Run, forecasts: &[SeriesForecast], data: Option<&SeriesSet>) -> BandChart {
    let first = &forecasts[0];
    let series = data.and_then(|data| data.series().iter().find(|one| one.name() == first.name));
    let end = first.bands.times[first.bands.times.len() - 1];
    // Twice as much past as future: enough to see where it comes from.
    let start = first.from - 2.0 * (end - first.from);
    let panels = (run.variables().iter().enumerate()).map(|(idx, name)| {
        let points = series.map_or(Vec::new(), |series| {
            let rows = (0..series.n_observations()).filter(|&row| series.times()[row] >= start);
            rows.filter_map(|row| Some((series.times()[row], series.value(row, idx)?))).collect()
        });
        Panel {
            points,
            points_label: "measured".to_owned(),
            marks: vec![first.from],
            ..panel(name, "Forecast", &first.bands, idx)
        }
    });
    let more = match forecasts.len() {
        1 => String::new(),
        n => format!(", the first of {n}"),
    };
    BandChart {
        title: "Forecast".to_owned(),
        subtitle: format!("series {}{more}; bands of future measurements", first.name),
        meaning: BandMeaning::default(),
        is_log: false,
        axes: BandAxes::default(),
        time_label: run.record.data.time.label(),
        calendar: driftgraph_view::calendar(run),
        panels: panels.collect(),
    }
}
