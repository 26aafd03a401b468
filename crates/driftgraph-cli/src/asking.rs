//! What all questions to a fitted model share: the run, threads, progress, tables of bands.

use std::path::Path;

use anyhow::Context;
use driftgraph_core::fitted::GraphChoice;
use driftgraph_core::fitted::accuracy::MethodAccuracy;
use driftgraph_core::fitted::bands::Bands;
use driftgraph_core::fitted::simulate::{SimulateSettings, Start, even_times};
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::Loaded;
use driftgraph_data::in_shell;
use driftgraph_data::run_folder::Run;
use driftgraph_data::table::{Column, Table, TableFormat};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::commands::table;
use crate::given_inputs::given_to_paths;
use crate::model_args::{PathArgs, RunArgs, SpanArgs, StartArg};
use crate::output::{short, short_or_dash, write_file};
use crate::printer;

/// Reads the run, then answers on as many threads as asked for.
pub(crate) fn with_run<T: Send>(
    args: &RunArgs,
    answer: impl FnOnce(&Run) -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    let run = Run::load(&args.run)?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    threads.install(|| answer(&run))
}

/// Reads the data of the run again.
pub(crate) fn data_of(run: &Run, args: &RunArgs) -> anyhow::Result<Loaded> {
    Ok(run.load_data(&args.data)?)
}

/// The data of the run where the question needs them, `None` where they cannot be had.
pub(crate) fn data_if_there(run: &Run, args: &RunArgs) -> anyhow::Result<Option<Loaded>> {
    // Data that the user names must be right; those of the run may be gone.
    if args.data.is_empty() {
        return Ok(run.load_data(&[]).ok());
    }
    data_of(run, args).map(Some)
}

/// Shows the share of long work that is done; nothing where there is no terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(what: &'static str) -> Self {
        let style = "{msg} {bar:24} {percent}%, {eta} left";
        let style = ProgressStyle::with_template(style).expect("the template is fixed and valid");
        Self(ProgressBar::new(1000).with_style(style).with_message(what))
    }

    pub(crate) fn set(&self, share: f64) {
        self.0.set_position((1000.0 * share.clamp(0.0, 1.0)) as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Settings of a simulation as asked for.
pub(crate) fn simulate_settings(
    run: &Run,
    span: &SpanArgs,
    paths: &PathArgs,
    data: Option<&Loaded>,
) -> anyhow::Result<SimulateSettings> {
    let series = data.map(|loaded| &loaded.data);
    let axis = &run.record.data.time;
    let horizon = match span_of(run, "--horizon", span.horizon.as_deref())? {
        Some(horizon) => horizon,
        None => axis.whole(run.model()?.usual_span_in(series)),
    };
    let every = span_of(run, "--every", span.every.as_deref())?;
    let start = match &span.start {
        StartArg::Learned => Start::Learned,
        StartArg::Series(name, time) => {
            Start::Series { name: name.clone(), time: time_of(run, "--start", time.as_deref())? }
        }
        StartArg::Values(values) => Start::Named(values.clone()),
    };
    let first = match &start {
        Start::Series { time: Some(time), .. } => Some(*time),
        Start::Series { name, time: None } => data
            .and_then(|loaded| loaded.data.series().iter().find(|series| series.name() == name))
            .map(|series| series.times()[0]),
        _ => None,
    };
    let asked_from = time_of(run, "--from", span.from.as_deref())?;
    if let (Some(from), Start::Learned, Some(data)) = (asked_from, &start, series) {
        tell_of_learned_start(run, data, from);
    }
    let from = match asked_from.or(first) {
        Some(from) => from,
        None => run.model()?.first_time_in(series),
    };
    let given = given_to_paths(run, paths, data, &start)?;
    Ok(SimulateSettings {
        given,
        n_paths: paths.paths,
        start,
        times: match every {
            Some(_) => even_times(from, horizon, every)?,
            None => whole_times(run, from, &even_times(from, horizon, None)?),
        },
        step_size: step_size(run, paths)?,
        graph: graph_choice(paths),
        scheme: paths.scheme,
        seed: paths.seed,
    })
}

/// Says that paths which begin later than the series do so with the values of their beginning all the same.
fn tell_of_learned_start(run: &Run, data: &SeriesSet, from: f64) {
    let first = data.series().iter().map(|series| series.times()[0]);
    let first = first.fold(f64::INFINITY, f64::min);
    if from <= first {
        return;
    }
    let holds = |series: &&ObservedSeries| {
        let times = series.times();
        (times[0]..=times[times.len() - 1]).contains(&from)
    };
    let begin = format!(
        "note: paths begin at {} with values that are usual at the beginning of a series, as at {}",
        shown_time(run, from),
        shown_time(run, first),
    );
    printer::note(&match data.series().iter().find(holds) {
        Some(series) => {
            let start = format!("series:{}@{}", series.name(), shown_time(run, from));
            format!("{begin}; `--start {}` begins with the state of that time", in_shell(&start))
        }
        None => format!(
            "{begin}; `--start series:NAME@TIME` begins with the state of a series, `driftgraph forecast` goes on from its end"
        ),
    });
}

/// Times after `from` that nobody asked for in so many digits: whole days where the data have dates by the day.
pub(crate) fn whole_times(run: &Run, from: f64, times: &[f64]) -> Vec<f64> {
    let axis = &run.record.data.time;
    let mut whole: Vec<f64> = times.iter().map(|time| from + axis.whole(time - from)).collect();
    whole.dedup();
    whole
}

/// Variables whose mean says nothing at some time, because a few paths have run far away from all others.
///
/// Far is measured by the width of the widest band and by `scales`, the deviations of the variables.
fn runaways(bands: &Bands, scales: &[f64]) -> Vec<usize> {
    /// Of long-tailed laws with a mean worth telling, it lies within the widest band.
    const FAR: f64 = 5.0;
    let is_far = |cell: usize| {
        let [low, median, high] = [0, 2, 4].map(|level| bands.quantiles[level][cell]);
        let reach = FAR * (high - low).max(scales[cell % bands.n_variables]);
        let distance = (bands.mean[cell] - median).abs();
        !distance.is_finite() || distance > reach
    };
    let cells = |variable: usize| (variable..bands.mean.len()).step_by(bands.n_variables);
    (0..bands.n_variables).filter(|&variable| cells(variable).any(is_far)).collect()
}

/// Warns where a few paths run away, so that means say nothing.
pub(crate) fn tell_runaways(run: &Run, all: &[&Bands]) -> anyhow::Result<()> {
    let scales = run.model()?.measured_scales();
    let mut found: Vec<usize> = all.iter().flat_map(|bands| runaways(bands, scales)).collect();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        found.iter().map(|&idx| format!("`{}`", run.variables()[idx])).collect();
    printer::note(&format!(
        "warning: some paths run far away from all others in {}, as the learned process has no bounds there: means, deviations and \
         differences say nothing; read medians (q50), or ask for a shorter time",
        names.join(", ")
    ));
    Ok(())
}

/// A time that a flag was given, as the data have times.
fn time_of(run: &Run, flag: &str, text: Option<&str>) -> anyhow::Result<Option<f64>> {
    let read = |text| run.record.data.time.read_time(text);
    text.map(read).transpose().with_context(|| format!("`{flag}` needs a time of the data"))
}

/// Several times that a flag was given.
pub(crate) fn times_of(run: &Run, flag: &str, texts: &[String]) -> anyhow::Result<Vec<f64>> {
    let times =
        texts.iter().map(|text| run.record.data.time.read_time(text)).collect::<Result<_, _>>();
    times.with_context(|| format!("`{flag}` needs times of the data"))
}

/// A length of time that a flag was given.
pub(crate) fn span_of(run: &Run, flag: &str, text: Option<&str>) -> anyhow::Result<Option<f64>> {
    let read = |text| run.record.data.time.read_span(text);
    text.map(read).transpose().with_context(|| format!("`{flag}` needs a length of time"))
}

/// The longest solver step that was asked for.
pub(crate) fn step_size(run: &Run, paths: &PathArgs) -> anyhow::Result<Option<f64>> {
    span_of(run, "--step-size", paths.step_size.as_deref())
}

/// One time to read: a date if the data have dates.
pub(crate) fn shown_time(run: &Run, time: f64) -> String {
    // With every digit that the user wrote, and without the rounding of sums.
    let rounded: f64 = format!("{time:.11e}").parse().unwrap_or(time);
    run.record.data.time.time_text(rounded)
}

/// A column of times: dates if the data have dates.
pub(crate) fn time_column(run: &Run, times: &[f64]) -> Column {
    run.record.data.time.dates(times).map_or_else(|| Column::Number(times.to_vec()), Column::Text)
}

/// Times for machines.
fn times_json(run: &Run, times: &[f64]) -> Value {
    run.record.data.time.dates(times).map_or_else(|| json!(times), |dates| json!(dates))
}

pub(crate) fn graph_choice(paths: &PathArgs) -> GraphChoice {
    paths.threshold.map_or(GraphChoice::Sampled, GraphChoice::Threshold)
}

/// Writes a table to a file, in the format its name asks for.
pub(crate) fn write_table(path: &Path, rows: &Table) -> anyhow::Result<()> {
    write_file(path, |out| rows.write(out, TableFormat::of(path)))?;
    printer::note(&format!("wrote {} rows to `{}`", rows.n_rows(), path.display()));
    Ok(())
}

/// Columns of bands: one row per time and variable.
#[derive(Debug, Default)]
pub(crate) struct BandColumns {
    series: Vec<String>,
    times: Vec<f64>,
    variables: Vec<String>,
    numbers: [Vec<f64>; 7],
}

impl BandColumns {
    pub(crate) const NAMES: [&'static str; 7] =
        ["mean", "deviation", "q05", "q25", "q50", "q75", "q95"];

    /// Adds the cells of one series that `keep` wants, by row and variable.
    pub(crate) fn add(
        &mut self,
        series: &str,
        names: &[String],
        bands: &Bands,
        keep: impl Fn(usize, usize) -> bool,
    ) {
        let d = names.len();
        for (row, &time) in bands.times.iter().enumerate() {
            for (variable, name) in names.iter().enumerate().filter(|(idx, _)| keep(row, *idx)) {
                let cell = row * d + variable;
                self.series.push(series.to_owned());
                self.times.push(time);
                self.variables.push(name.clone());
                let columns = [&bands.mean, &bands.deviation].into_iter().chain(&bands.quantiles);
                for (out, column) in self.numbers.iter_mut().zip(columns) {
                    out.push(column[cell]);
                }
            }
        }
    }

    pub(crate) fn into_table(self, run: &Run) -> Table {
        let mut rows = Table::default()
            .with("series", Column::Text(self.series))
            .with("time", time_column(run, &self.times))
            .with("variable", Column::Text(self.variables));
        for (name, column) in Self::NAMES.into_iter().zip(self.numbers) {
            rows = rows.with(name, Column::Number(column));
        }
        rows
    }
}

/// Bands of every variable, for machines.
pub(crate) fn bands_json(run: &Run, bands: &Bands) -> Value {
    let names = run.variables();
    let d = names.len();
    let mut variables = serde_json::Map::new();
    for (idx, name) in names.iter().enumerate() {
        let of = |column: &[f64]| column.iter().skip(idx).step_by(d).copied().collect::<Vec<_>>();
        let columns = [&bands.mean, &bands.deviation].into_iter().chain(&bands.quantiles);
        let pairs = BandColumns::NAMES.into_iter().zip(columns);
        let object: serde_json::Map<String, Value> =
            pairs.map(|(name, column)| (name.to_owned(), json!(of(column)))).collect();
        variables.insert(name.clone(), Value::Object(object));
    }
    json!({"times": times_json(run, &bands.times), "variables": variables})
}

/// The bands at the last time, to read.
pub(crate) fn last_bands(names: &[String], bands: &Bands) -> String {
    let mut rows = table(&["variable", "mean", "deviation", "5 %", "median", "95 %"]);
    let last = (bands.times.len() - 1) * names.len();
    for (idx, name) in names.iter().enumerate() {
        let cell = last + idx;
        let [low, _, median, _, high] = &bands.quantiles;
        let numbers =
            [bands.mean[cell], bands.deviation[cell], low[cell], median[cell], high[cell]];
        rows.add_row(std::iter::once(name.clone()).chain(numbers.map(short)));
    }
    rows.trim_fmt()
}

/// How well methods predicted, to read; errors are in deviations of each variable.
pub(crate) fn accuracies(methods: &[MethodAccuracy]) -> String {
    let mut rows =
        table(&["method", "CRPS", "root mean squared error", "in 50 % band", "in 90 % band"]);
    for MethodAccuracy { method, overall, .. } in methods {
        let percent = |share: Option<f64>| match share {
            Some(share) => format!("{:.0} %", 100.0 * share),
            None => "-".to_owned(),
        };
        rows.add_row([
            (*method).to_owned(),
            short(overall.relative_crps),
            short(overall.relative_rmse),
            percent(overall.coverage_50),
            percent(overall.coverage_90),
        ]);
    }
    rows.trim_fmt()
}

/// How well methods predicted each variable, one row per method and variable.
pub(crate) fn accuracy_table(names: &[String], methods: &[MethodAccuracy]) -> Table {
    let rows = || {
        methods.iter().flat_map(|one| {
            let found = one.variables.iter().enumerate();
            found.filter_map(move |(idx, accuracy)| Some((one.method, idx, accuracy.as_ref()?)))
        })
    };
    let number = |of: &dyn Fn(&driftgraph_core::fitted::accuracy::Accuracy) -> f64| {
        Column::Number(rows().map(|(_, _, accuracy)| of(accuracy)).collect())
    };
    let or_empty = |number: Option<f64>| number.unwrap_or(f64::NAN);
    Table::default()
        .with("method", Column::Text(rows().map(|(method, ..)| method.to_owned()).collect()))
        .with("variable", Column::Text(rows().map(|(_, idx, _)| names[idx].clone()).collect()))
        .with("cells", Column::Whole(rows().map(|(_, _, one)| one.n_cells as i64).collect()))
        .with("crps", number(&|one| or_empty(one.crps)))
        .with("relative_crps", number(&|one| one.relative_crps))
        .with("relative_rmse", number(&|one| one.relative_rmse))
        .with("coverage_50", number(&|one| or_empty(one.coverage_50)))
        .with("coverage_90", number(&|one| or_empty(one.coverage_90)))
}

/// `0.123 ± 0.004`.
pub(crate) fn with_error(value: f64, error: f64) -> String {
    format!("{} ± {}", short(value), short_or_dash(Some(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_that_a_few_paths_make_alone_is_found() {
        let bands = |mean: f64, [low, median, high]: [f64; 3]| Bands {
            times: vec![0.0],
            n_variables: 1,
            mean: vec![mean],
            deviation: vec![1.0],
            quantiles: [low, low, median, high, high].map(|quantile| vec![quantile]),
        };
        let found = |mean: f64, band: [f64; 3]| runaways(&bands(mean, band), &[3.0]);
        assert!(found(14.0, [0.0, 5.0, 9.0]).is_empty());
        assert_eq!(found(1e3, [0.0, 5.0, 9.0]), [0]);
        assert_eq!(found(f64::INFINITY, [0.0, 5.0, 9.0]), [0]);
        // What is held or clipped has a narrow band, and no runaways.
        assert!(found(7.5, [7.0; 3]).is_empty());
    }
}
