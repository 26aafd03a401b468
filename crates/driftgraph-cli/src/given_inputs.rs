//! What inputs do in answers: values that the user gives, else those of the data, and what is assumed where neither is known.

use std::path::Path;

use anyhow::{Context, bail};
use driftgraph_core::SetPiece;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::simulate::Start;
use driftgraph_data::run_folder::Run;
use driftgraph_data::{Loaded, ReadOptions, load};
use driftgraph_text::count;

use crate::model_args::PathArgs;
use crate::printer;

/// What is set in new paths: from the series they start in, then what the user says.
pub(crate) fn given_to_paths(
    run: &Run,
    asked: &PathArgs,
    data: Option<&Loaded>,
    start: &Start,
) -> anyhow::Result<Interventions> {
    let said = said(run, asked)?;
    let Some(data) = data.map(|loaded| &loaded.data) else {
        tell_missing(run, &said, "the data are gone: they move as the learned process lets them");
        return Ok(said);
    };
    let series = match start {
        Start::Series { name, .. } => data.series().iter().position(|one| one.name() == name),
        _ => None,
    };
    let pieces = if let Some(series) = series {
        let after = "as in the series, and held at the last value after its end";
        tell_missing(run, &said, after);
        data.set_pieces(series)
    } else {
        tell_missing(run, &said, "held at their means over the data");
        data.mean_pieces()
    };
    Ok(Interventions::of_pieces(&pieces, run.variables()).map_err(FittedError::from)?.then(&said))
}

/// What is set in futures, beside what is still set in the last rows.
pub(crate) fn given_to_futures(run: &Run, asked: &PathArgs) -> anyhow::Result<Interventions> {
    let said = said(run, asked)?;
    tell_missing(run, &said, "held at the last value of each series");
    Ok(said)
}

/// What `--input-file` and `--input` say.
fn said(run: &Run, asked: &PathArgs) -> anyhow::Result<Interventions> {
    let inputs = &run.record.data.options.inputs;
    let mut given = Interventions::default();
    if let Some(file) = &asked.input_file {
        given = from_file(run, file)?;
    }
    let read_time =
        |text: &str| run.record.data.time.read_bound(text).map_err(|problem| problem.to_string());
    let typed = Interventions::parse_with(&asked.input, run.variables(), &read_time)
        .map_err(FittedError::from)?;
    for one in typed.list() {
        let other = one.variables().iter().map(|&idx| &run.variables()[idx]);
        if let Some(name) = other.into_iter().find(|name| !inputs.contains(name)) {
            bail!(
                "`{name}` is not an input of the run: `driftgraph intervene` changes other variables"
            );
        }
    }
    Ok(given.then(&typed))
}

/// A table of future values: a time, and a column for each input; each value stays until the next row.
fn from_file(run: &Run, file: &Path) -> anyhow::Result<Interventions> {
    let options =
        ReadOptions { time: run.record.data.options.time.clone(), ..ReadOptions::default() };
    let cannot = || format!("cannot use the inputs in `{}`", file.display());
    let loaded = load(&[file.to_owned()], &options).with_context(cannot)?;
    let table = &loaded.data;
    if table.n_series() > 1 {
        bail!(
            "`{}` has {}, but inputs are the same for all paths",
            file.display(),
            count(table.n_series(), "series", "series")
        );
    }
    let shift = offset(run, &loaded).with_context(cannot)?;
    let mut pieces = Vec::new();
    for (column, name) in table.variables().iter().enumerate() {
        let variable = run.variables().iter().position(|known| known == name);
        let is_input = run.record.data.options.inputs.contains(name);
        let Some(variable) = variable.filter(|_| is_input) else {
            bail!("`{}` has a column `{name}`, which is not an input of the run", file.display());
        };
        let series = &table.series()[0];
        let known: Vec<(f64, f64)> = (0..series.n_observations())
            .filter_map(|row| Some((series.times()[row] + shift, series.value(row, column)?)))
            .collect();
        for (row, &(from, value)) in known.iter().enumerate() {
            let to = known.get(row + 1).map_or(f64::INFINITY, |next| next.0);
            pieces.push(SetPiece { variable, value, slope: 0.0, from, to });
        }
    }
    Ok(Interventions::of_pieces(&pieces, run.variables()).map_err(FittedError::from)?)
}

/// What is added to the times of a table to count them as the data of the run do.
fn offset(run: &Run, loaded: &Loaded) -> anyhow::Result<f64> {
    let (own, data) = (&loaded.time_axis, &run.record.data.time);
    if own.is_dated() != data.is_dated() {
        bail!("its times are not those of the data: dates on one side, numbers on the other");
    }
    if !own.is_dated() {
        return Ok(0.0);
    }
    if own.label() != data.label() {
        // The same count of another unit would be another time.
        let (found, expected) = (own.label(), data.label());
        bail!("its times are counted as {found}, those of the data as {expected}");
    }
    Ok(data.read_time(&own.time_text(0.0))?)
}

/// Says what is assumed of inputs of which nothing is said.
fn tell_missing(run: &Run, said: &Interventions, assumed: &str) {
    let told = said.variables();
    let is_missing = |name: &&String| {
        !run.variables().iter().position(|known| known == *name).is_some_and(|v| told.contains(&v))
    };
    let missing = run.record.data.options.inputs.iter().filter(is_missing);
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        printer::note(&format!(
            "inputs: nothing is said of {} (`--input`, `--input-file`): {assumed}",
            missing.join(", ")
        ));
    }
}
