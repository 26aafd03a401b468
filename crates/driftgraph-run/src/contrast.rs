//! Two runs fitted together, as conditions: which edges differ between their data.
//!
//! What was said of the data of both goes with them: inputs, interventions, what is known of edges, and the settings that a fit
//! of conditions has. Where the runs disagree about these, there is no one answer, and they are refused.

use std::path::{Path, PathBuf};

use driftgraph_core::train::settings::KnownEdge;
use driftgraph_core::{ALL_SERIES, Experiment, InterventionRow, ObservedSeries, SeriesSet};
use driftgraph_data::interventions::write_interventions;
use driftgraph_data::record::MethodRequest;
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_data::whole_file::write_whole;
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, RunError, TimeAxis, load};
use driftgraph_methods::{FitPlan, MethodError, find};
use serde_json::{Map, Value, json};

use crate::error::JobError;
use crate::job::{FitJob, Pace};

/// The data of both runs, in the folder that is written, and what was done to them.
const DATA: &str = "data.csv";
const INTERVENTIONS: &str = "interventions.csv";
/// The method that compares conditions.
const METHOD: &str = "regimes";

/// Two runs to be fitted together.
#[derive(Debug, Clone)]
pub struct Contrast {
    /// Folders of the runs.
    pub runs: [PathBuf; 2],
    /// Names of the conditions; those of the folders where not said.
    pub names: Option<[String; 2]>,
    /// Folder to write.
    pub folder: PathBuf,
    /// Whether a run in it is replaced.
    pub replace: bool,
    /// Settings of the fit of conditions, beside those that both runs have.
    pub settings: Map<String, Value>,
}

/// The fit, and what is to be said of it beforehand.
#[derive(Debug)]
pub struct ContrastJob {
    /// What is to be fitted.
    pub job: FitJob,
    /// Sentences for whoever asked.
    pub notes: Vec<String>,
}

impl Contrast {
    /// Reads both runs and their data, and writes the data of both into the folder.
    pub fn job(&self) -> Result<ContrastJob, JobError> {
        let [first, second] = &self.runs;
        let runs = [Run::load(first)?, Run::load(second)?];
        check(&runs)?;
        let names = match &self.names {
            Some(names) => names.clone(),
            None => names([first, second])?,
        };
        let loaded = [data_of(&runs[0])?, data_of(&runs[1])?];
        let both = together(&runs, &loaded, &names)?;
        self.of(&runs, both)
    }
}

fn refused(reason: String) -> JobError {
    JobError::NotComparable { reason }
}

/// Refuses runs that cannot be compared edge by edge.
fn check(runs: &[Run; 2]) -> Result<(), JobError> {
    for run in runs {
        let method = &run.record.method;
        if method != "bridge" {
            return Err(refused(format!(
                "the run in `{}` was made by `{method}`: only runs of `bridge` can be contrasted, since the others have no \
                 posterior of linear effects",
                run.folder().display()
            )));
        }
    }
    let [first, second] = runs;
    for (with, without) in [(first, second), (second, first)] {
        let is_missing = |name: &&String| !without.variables().contains(name);
        if let Some(name) = with.variables().iter().find(is_missing) {
            return Err(refused(format!(
                "`{}` has the variable `{name}`, and `{}` does not: only runs of the same variables can be contrasted",
                with.folder().display(),
                without.folder().display()
            )));
        }
    }
    let units = [first, second].map(|run| TimeAxis::label(&run.record.data.time));
    if units[0] != units[1] {
        let [one, other] = units;
        return Err(refused(format!(
            "the times of the runs have different units: `{one}` and `{other}`"
        )));
    }
    let said = [&first.record.asked, &second.record.asked];
    if said[0].preparation != said[1].preparation {
        return Err(refused(
            "the data of the runs were prepared in different ways (`--season`, `--detrend` or `--log`)".to_owned(),
        ));
    }
    let limits = said.map(|asked| [sorted(&asked.limits.sources), sorted(&asked.limits.targets)]);
    if limits[0] != limits[1] {
        return Err(refused("the runs have different `--sources` or `--targets`".to_owned()));
    }
    let word =
        |edge: &KnownEdge| format!("{} -> {} ({})", edge.source, edge.target, edge.probability);
    let edges = said.map(|asked| asked.edges.iter().map(word).collect::<Vec<_>>());
    for (own, other, run) in [(0, 1, first), (1, 0, second)] {
        if let Some(edge) = edges[own].iter().find(|edge| !edges[other].contains(edge)) {
            return Err(refused(format!(
                "`{}` was told of the edge {edge}, and the other run was not: only runs that know the same of edges \
                 (`--forbid`, `--require`, `--prior`) can be contrasted",
                run.folder().display()
            )));
        }
    }
    for name in carried() {
        let [one, other] = said.map(|asked| asked.settings.get(&name));
        if one != other {
            return Err(refused(format!(
                "the runs have different settings `{name}` ({} and {}): fit them alike to contrast them",
                shown(one),
                shown(other)
            )));
        }
    }
    Ok(())
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    names
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "the usual one".to_owned(), Value::to_string)
}

/// Settings of the runs that a fit of conditions has as well; seeds decide nothing that is compared.
fn carried() -> Vec<String> {
    let Some(method) = find(METHOD) else { return Vec::new() };
    let settings = method.settings();
    let names = settings.iter().map(|setting| setting.name.to_owned());
    names.filter(|name| !["seed", METHOD].contains(&name.as_str())).collect()
}

/// Settings of the runs that a fit of conditions does not have.
fn left_behind(runs: &[Run; 2]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for asked in runs.iter().map(|run| &run.record.asked) {
        let own = asked.settings.keys().filter(|name| !["seed", METHOD].contains(&name.as_str()));
        names.extend(own.filter(|name| !carried().contains(name)).cloned());
    }
    sorted(&names)
}

/// The data of a run where they were: two runs have no one place to say where they are now.
fn data_of(run: &Run) -> Result<Loaded, JobError> {
    run.load_data(&[]).map_err(|error| {
        refused(format!(
            "{error}; both runs are read again from their data: put these back, or fit the run again"
        ))
    })
}

/// Names of the conditions: those of the folders, with more of the path where they are alike.
fn names(folders: [&Path; 2]) -> Result<[String; 2], JobError> {
    let name = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let short = folders.map(|folder| name(folder).unwrap_or_else(|| folder.display().to_string()));
    if short[0] != short[1] {
        return Ok(short);
    }
    let long = folders.map(|folder| folder.display().to_string());
    if long[0] == long[1] {
        return Err(refused(format!(
            "`{}` was named twice: there is nothing to contrast",
            long[0]
        )));
    }
    Ok(long)
}

/// The data of both runs as one set.
struct Both {
    data: SeriesSet,
    /// What was done to them, in the names of the set.
    experiment: Experiment,
    /// Names of the conditions with those of their series.
    conditions: Map<String, Value>,
}

/// All series in one set, with the table of conditions that names them.
fn together(runs: &[Run; 2], loaded: &[Loaded; 2], names: &[String; 2]) -> Result<Both, JobError> {
    let variables = loaded[0].data.variables().to_vec();
    let [first, second] = loaded.each_ref().map(|loaded| &loaded.experiment);
    for (own, other, run) in [(first, second, &runs[0]), (second, first, &runs[1])] {
        if let Some(input) = own.inputs.iter().find(|input| !other.inputs.contains(input)) {
            return Err(refused(format!(
                "`{input}` is an input of `{}` and not of the other run: only runs with the same `--inputs` can be contrasted",
                run.folder().display()
            )));
        }
    }
    if !first.inputs.is_empty() && first.hold != second.hold {
        return Err(refused(
            "the inputs of the runs do different things between rows (`--input-hold`)".to_owned(),
        ));
    }
    let broken = |error| JobError::Method(MethodError::Data(error));
    let (mut all, mut conditions, mut rows) = (Vec::new(), Map::new(), Vec::new());
    for (loaded, condition) in loaded.iter().zip(names) {
        let own = loaded.data.variables();
        let order: Vec<usize> = (variables.iter())
            .filter_map(|name| own.iter().position(|other| other == name))
            .collect();
        let called = |series: &str| format!("{condition}: {series}");
        let mut series_names = Vec::new();
        for series in loaded.data.series() {
            let cells = 0..series.n_observations();
            let values = cells.flat_map(|row| order.iter().map(move |&idx| series.row(row)[idx]));
            let (name, times) = (called(series.name()), series.times().to_vec());
            let one = ObservedSeries::new(name.clone(), variables.len(), times, values.collect());
            all.push(one.map_err(broken)?);
            series_names.push(name);
        }
        for row in &loaded.experiment.interventions {
            let meant = loaded.data.series().iter().filter(|series| is_meant(row, series));
            rows.extend(
                meant
                    .map(|series| InterventionRow { series: called(series.name()), ..row.clone() }),
            );
        }
        conditions.insert(condition.clone(), json!(series_names));
    }
    let experiment =
        Experiment { inputs: first.inputs.clone(), hold: first.hold, interventions: rows };
    let data = SeriesSet::new(variables, all).map_err(broken)?;
    Ok(Both { data, experiment, conditions })
}

/// Whether a window is one of a series: that of all series may lie in some of them alone.
fn is_meant(row: &InterventionRow, series: &ObservedSeries) -> bool {
    let times = series.times();
    (row.series == ALL_SERIES || row.series == series.name())
        && row.from.is_none_or(|from| from <= times[times.len() - 1])
        && row.to.is_none_or(|to| to >= times[0])
}

impl Contrast {
    fn of(&self, runs: &[Run; 2], both: Both) -> Result<ContrastJob, JobError> {
        if let (Some(what), false) = (RunFolder::at(&self.folder).holds(), self.replace) {
            return Err(JobError::FolderTaken { folder: self.folder.clone(), what });
        }
        let said = &runs[0].record.asked;
        let mut settings: Map<String, Value> = (said.settings.iter())
            .filter(|(name, _)| carried().contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        settings.extend(self.settings.clone());
        settings.insert(METHOD.to_owned(), Value::Object(both.conditions));
        let mut notes = Vec::new();
        let left_behind = left_behind(runs);
        if !left_behind.is_empty() {
            notes.push(format!(
                "conditions are compared by a linear process, for which `{}` of the runs says nothing",
                left_behind.join("`, `")
            ));
        }
        let asked = MethodRequest {
            method: Some(METHOD.to_owned()),
            settings,
            edges: said.edges.clone(),
            limits: said.limits.clone(),
            preparation: said.preparation.clone(),
            ..MethodRequest::default()
        };
        let plan = FitPlan::new(asked)?;
        std::fs::create_dir_all(&self.folder).map_err(JobError::file("make", &self.folder))?;
        let file = self.folder.join(DATA);
        write_whole(&file, |out| write_series(out, &both.data))
            .map_err(JobError::file("write", &file))?;
        let Experiment { inputs, hold: input_hold, interventions: rows } = both.experiment;
        let mut read_options = ReadOptions { inputs, input_hold, ..ReadOptions::default() };
        if !rows.is_empty() {
            let table = self.folder.join(INTERVENTIONS);
            write_whole(&table, |out| write_interventions(out, &rows))
                .map_err(JobError::file("write", &table))?;
            read_options.interventions = Some(table);
        }
        let loaded = load(std::slice::from_ref(&file), &read_options)
            .map_err(|source| RunError::Data { folder: self.folder.clone(), source })?;
        let job = FitJob {
            loaded,
            read_options,
            plan,
            folder: self.folder.clone(),
            replace: self.replace,
            truth: None,
            pace: Pace::default(),
            report: true,
        };
        Ok(ContrastJob { job, notes })
    }
}
