//! `contrast`: which edges differ between the data of two runs.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::record::MethodRequest;
use driftgraph_data::regimes::RegimesRecord;
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_data::whole_file::write_whole;
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, load};
use driftgraph_methods::FitPlan;
use driftgraph_run::{FitJob, Pace, fit};
use serde_json::{Map, Value, json};

use crate::args::ContrastArgs;
use crate::commands::table;
use crate::output::short;
use crate::printer;
use crate::progress::{FitProgress, catch_interrupts};

/// Differences shown on the terminal.
const SHOWN: usize = 15;
/// The data of both runs, in the folder that is written.
const DATA: &str = "data.csv";

pub(crate) fn run(args: &ContrastArgs) -> anyhow::Result<ExitCode> {
    let runs = [Run::load(&args.first)?, Run::load(&args.second)?];
    check(&runs)?;
    let names = names([&args.first, &args.second])?;
    let loaded = [runs[0].load_data(&[])?, runs[1].load_data(&[])?];
    let (data, conditions) = together(&loaded, &names)?;
    let job = job(args, &runs[0], &data, conditions)?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    let progress = FitProgress::new();
    catch_interrupts("what was learned so far will be saved")?;
    let finished = threads.install(|| fit(&job, &progress));
    progress.finish();
    let finished = finished?;
    let record = finished.run.record.training.regimes.as_deref();
    let record = record.context("a fit of two conditions says what differs")?;
    if args.json {
        printer::data(&json_text(record, finished.run.variables())?)?;
    } else {
        printer::data(&differences_table(record, finished.run.variables()))?;
    }
    let folder = args.out.display();
    printer::note(&format!(
        "all differences are in `{folder}/differences.csv`, pictures and report beside them\nlook at it: {folder}/report.html"
    ));
    finished.report.context("the differences were saved, but the report was not written")?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses runs that cannot be compared edge by edge.
fn check(runs: &[Run; 2]) -> anyhow::Result<()> {
    for run in runs {
        let method = &run.record.method;
        ensure!(
            method == "bridge",
            "the run in `{}` was made by `{method}`: only runs of `bridge` can be contrasted, since the others have no posterior \
             of linear effects",
            run.folder().display()
        );
    }
    let [first, second] = runs;
    let missing = |from: &Run, of: &Run| {
        from.variables().iter().find(|name| !of.variables().contains(name)).cloned()
    };
    for (with, without) in [(first, second), (second, first)] {
        if let Some(name) = missing(with, without) {
            bail!(
                "`{}` has the variable `{name}`, and `{}` does not: only runs of the same variables can be contrasted",
                with.folder().display(),
                without.folder().display()
            );
        }
    }
    let units =
        [&first.record.data.time, &second.record.data.time].map(driftgraph_data::TimeAxis::label);
    ensure!(
        units[0] == units[1],
        "the times of the runs have different units: `{}` and `{}`",
        units[0],
        units[1]
    );
    ensure!(
        first.record.asked.preparation == second.record.asked.preparation,
        "the data of the runs were prepared in different ways (`--season`, `--detrend` or `--log`)"
    );
    Ok(())
}

/// Names of the conditions: those of the folders, with more of the path where they are alike.
fn names(folders: [&Path; 2]) -> anyhow::Result<[String; 2]> {
    let name = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let short = folders.map(|folder| name(folder).unwrap_or_else(|| folder.display().to_string()));
    if short[0] != short[1] {
        return Ok(short);
    }
    let long = folders.map(|folder| folder.display().to_string());
    ensure!(long[0] != long[1], "`{}` was named twice: there is nothing to contrast", long[0]);
    Ok(long)
}

/// All series in one set, with the table of conditions that names them.
fn together(
    loaded: &[Loaded; 2],
    names: &[String; 2],
) -> anyhow::Result<(SeriesSet, Map<String, Value>)> {
    let variables = loaded[0].data.variables().to_vec();
    let (mut all, mut conditions) = (Vec::new(), Map::new());
    for (loaded, condition) in loaded.iter().zip(names) {
        let own = loaded.data.variables();
        let place = |name: &String| own.iter().position(|other| other == name);
        let order: Vec<usize> = variables
            .iter()
            .map(|name| place(name).context("the variables are the same"))
            .collect::<Result<_, _>>()?;
        let mut series_names = Vec::new();
        for series in loaded.data.series() {
            let rows = 0..series.n_observations();
            let values = rows.flat_map(|row| order.iter().map(move |&idx| series.row(row)[idx]));
            let name = format!("{condition}: {}", series.name());
            let times = series.times().to_vec();
            all.push(ObservedSeries::new(name.clone(), variables.len(), times, values.collect())?);
            series_names.push(name);
        }
        conditions.insert(condition.clone(), json!(series_names));
    }
    Ok((SeriesSet::new(variables, all)?, conditions))
}

fn job(
    args: &ContrastArgs,
    first: &Run,
    data: &SeriesSet,
    conditions: Map<String, Value>,
) -> anyhow::Result<FitJob> {
    if let (Some(what), false) = (RunFolder::at(&args.out).holds(), args.force) {
        bail!("`{}` holds {what} already; `--force` replaces it", args.out.display());
    }
    let mut settings = Map::new();
    settings.insert("regimes".to_owned(), Value::Object(conditions));
    settings.insert("seed".to_owned(), json!(args.seed));
    let asked = MethodRequest {
        method: Some("regimes".to_owned()),
        settings,
        preparation: first.record.asked.preparation.clone(),
        ..MethodRequest::default()
    };
    let plan = FitPlan::new(asked)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make the folder `{}`", args.out.display()))?;
    let file = args.out.join(DATA);
    write_whole(&file, |out| write_series(out, data))
        .with_context(|| format!("cannot write `{}`", file.display()))?;
    let read_options = ReadOptions::default();
    let loaded = load(std::slice::from_ref(&file), &read_options)?;
    Ok(FitJob {
        loaded,
        read_options,
        plan,
        folder: args.out.clone(),
        replace: args.force,
        truth: None,
        pace: Pace::default(),
        report: true,
    })
}

/// The most probable differences between different regimes or conditions.
pub(crate) fn differences_table(record: &RegimesRecord, variables: &[String]) -> String {
    let several = record.names.len() > 2;
    let mut header = vec!["source", "target", "differs", "change"];
    let between: Vec<String> = match &record.names[..] {
        [first, second] => [first, second].map(|name| format!("effect in {name}")).to_vec(),
        _ => vec!["first".to_owned(), "second".to_owned()],
    };
    header.extend(between.iter().map(String::as_str));
    header.extend(["difference", "90 %"]);
    let mut rows = table(&header);
    let shown = record.differences.iter().filter(|one| one.source != one.target).take(SHOWN);
    for one in shown {
        let effect = |at: usize| {
            let effect = short(one.effects[at]);
            if several { format!("{}: {effect}", record.names[one.regimes[at]]) } else { effect }
        };
        let [low, high] = one.interval();
        rows.add_row([
            variables[one.source].clone(),
            variables[one.target].clone(),
            format!("{:.3}", one.probability),
            one.change().to_owned(),
            effect(0),
            effect(1),
            short(one.difference),
            format!("{} to {}", short(low), short(high)),
        ]);
    }
    rows.trim_fmt()
}

fn json_text(record: &RegimesRecord, variables: &[String]) -> anyhow::Result<String> {
    let row = |one: &driftgraph_data::regimes::DifferenceRow| {
        let [low, high] = one.interval();
        json!({
            "source": variables[one.source],
            "target": variables[one.target],
            "first": record.names[one.regimes[0]],
            "second": record.names[one.regimes[1]],
            "probability": one.probability,
            "change": one.change(),
            "only_first": one.first_alone,
            "only_second": one.second_alone,
            "sign_changes": one.turned,
            "effects": one.effects,
            "difference": one.difference,
            "interval": [low, high],
        })
    };
    let rows: Vec<Value> = record.differences.iter().map(row).collect();
    Ok(serde_json::to_string_pretty(&json!({"conditions": record.names, "differences": rows}))?)
}
