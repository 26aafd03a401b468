//! One unit of work: a run folder like that of `fit`, never computed twice, and how well its edges match the truth.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use driftgraph_core::fitted::calibration::Reliability;
use driftgraph_core::fitted::score::{GraphMetrics, MetricOptions, SelfEdges};
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::select::Selection;
use driftgraph_core::{CoreError, SignatureGraph};
use driftgraph_data::record::{Ending, LogLine, Reached};
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_methods::{FitPlan, directed_probabilities, edge_probabilities, edge_scores};
use driftgraph_run::{FitJob, JobError, Pace, Truth, fit_or_resume};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::origin::{heading, program};
use super::plan::{BRIDGE, SIMULATED, file_word};
use super::sample::Sample;
use crate::args::ExperimentArgs;
use crate::commands::score::ranked_metrics;
use crate::cpu_time::cpu_seconds;
use crate::output::write_file;
use crate::printer;
use crate::progress::interrupted;

/// Changes whenever older results mean something else.
const FORMAT: u32 = 3;

/// What is to be computed; a change of any of it makes another cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) experiment: &'a str,
    pub(super) variant: &'a str,
    /// The name in the table.
    pub(super) method: &'a str,
    pub(super) seed: u64,
    pub(super) sample: &'a Sample,
    pub(super) plan: &'a FitPlan,
    /// Whether self edges count in the log.
    pub(super) self_edges: SelfEdges,
}

impl Task<'_> {
    fn key(&self) -> String {
        let settings = (self.plan.method().name(), self.plan.asked(), self.plan.settings());
        let decides = (&self.sample.fingerprint, settings, self.self_edges);
        cell_key([self.experiment, self.variant, self.method], self.seed, &decides)
    }
}

/// The name of a cell's folder: what people look for, then a hash of everything that decides the result.
pub(super) fn cell_key(names: [&str; 3], seed: u64, decides: &impl Serialize) -> String {
    let all = (FORMAT, env!("CARGO_PKG_VERSION"), names, seed, decides);
    let text = serde_json::to_string(&all).expect("names and settings can be written");
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{}_seed{seed}_{}", names.map(file_word).join("_"), &hash[..12])
}

/// What work has cost, over all its starts, and what did it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Hash of the program's file: two builds of one version may differ.
    pub(super) program: String,
    /// The same work as one command, for those who want to repeat it by hand.
    pub(super) command: String,
    /// By the clock.
    pub(super) seconds: f64,
    /// Of all threads; `None` where the system does not tell.
    pub(super) cpu_seconds: Option<f64>,
}

impl Cost {
    /// Adds what was spent elsewhere or earlier.
    pub(super) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.cpu_seconds = match (self.cpu_seconds, other.cpu_seconds) {
            (Some(own), Some(other)) => Some(own + other),
            (own, other) => own.or(other),
        };
    }
}

/// When something began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    clock: Instant,
    cpu: Option<f64>,
}

impl Watch {
    pub(super) fn start() -> Self {
        Self { clock: Instant::now(), cpu: cpu_seconds() }
    }

    pub(super) fn cost(self, program: &str, command: String) -> Cost {
        let cpu_seconds = cpu_seconds().zip(self.cpu).map(|(end, start)| end - start);
        let seconds = self.clock.elapsed().as_secs_f64();
        Cost { program: program.to_owned(), command, seconds, cpu_seconds }
    }
}

/// The run of a cell.
#[derive(Debug)]
pub(super) struct CellRun {
    pub(super) run: Run,
    pub(super) cost: Cost,
    /// Whether anything was done for it now.
    pub(super) is_new: bool,
}

/// What an experiment found, for readers and for programs.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) markdown: String,
    pub(super) csv: String,
    pub(super) json: Value,
    /// Versions and builds behind the figures.
    pub(super) made_by: String,
}

/// The folder of an experiment.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    pub(super) program: String,
    /// Of each training that is not fast and not ours.
    budget: Duration,
    most_steps: Option<u64>,
}

impl Store {
    pub(super) fn create(args: &ExperimentArgs) -> anyhow::Result<Self> {
        let cells = args.out.join("cells");
        std::fs::create_dir_all(&cells)
            .with_context(|| format!("cannot make the folder `{}`", cells.display()))?;
        Ok(Self {
            folder: args.out.clone(),
            program: program()?,
            budget: args.budget,
            most_steps: args.most_steps,
        })
    }

    /// Where the data of a variant and seed are kept.
    pub(super) fn data_file(&self, variant: &str, seed: u64) -> PathBuf {
        self.folder.join("data").join(format!("{}_seed{seed}.csv", file_word(variant)))
    }

    /// Writes one of the experiment's own files.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_file(&self.folder.join(name), |out| out.write_all(text.as_bytes()))
    }

    /// Writes tables for readers and for programs, and prints what was asked for.
    pub(super) fn publish(&self, args: &ExperimentArgs, tables: &Tables) -> anyhow::Result<()> {
        let text = format!("{}{}\n{}\n", heading(args), tables.markdown, tables.made_by);
        self.write("table.md", &text)?;
        self.write("table.csv", &tables.csv)?;
        let json = args.json.then(|| serde_json::to_string_pretty(&tables.json)).transpose()?;
        Ok(printer::data(json.as_ref().unwrap_or(&text))?)
    }

    /// What a cell has cost so far.
    pub(super) fn find_cost<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let text = std::fs::read(self.cost_file(key)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn keep_cost(&self, key: &str, cost: &impl Serialize) -> anyhow::Result<()> {
        let file = self.cost_file(key);
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        let text = serde_json::to_string_pretty(cost)?;
        write_file(&file, |out| writeln!(out, "{text}"))
    }

    fn cost_file(&self, key: &str) -> PathBuf {
        self.cell_folder(key).join("cost.json")
    }

    fn cell_folder(&self, key: &str) -> PathBuf {
        self.folder.join("cells").join(key)
    }

    /// Finds the run of a cell, goes on with it, or makes it; `None` if the user asked to stop before it was complete.
    pub(super) fn run(
        &self,
        task: &Task<'_>,
        progress: &dyn Progress,
    ) -> anyhow::Result<Option<CellRun>> {
        let key = task.key();
        let job = self.job(task, &key);
        if let Some(run) = job.find()? {
            let cost = self.find_cost(&key).unwrap_or_default();
            return Ok(Some(CellRun { run, cost, is_new: false }));
        }
        let watch = Watch::start();
        let run = match fit_or_resume(&job, progress) {
            // What training had reached before it was not finite any more is a result, too.
            Err(JobError::Diverged { saved: Some(folder), .. }) => Ok(Run::load(&folder)?),
            other => other,
        };
        let command = task.plan.command(&job.loaded.files, &job.read_options);
        let mut cost = watch.cost(&self.program, command);
        if let Some(before) = self.find_cost(&key) {
            cost.add(&before);
        }
        if job.folder.is_dir() {
            self.keep_cost(&key, &cost)?;
        }
        if interrupted() {
            return Ok(None);
        }
        Ok(Some(CellRun { run: run?, cost, is_new: true }))
    }

    fn job(&self, task: &Task<'_>, key: &str) -> FitJob {
        let method = task.plan.method();
        let is_paper = method.name() == SIMULATED;
        // Ours has an end of its own.
        let has_budget = !method.is_fast() && method.name() != BRIDGE;
        let graph = task.sample.truth.clone();
        FitJob {
            loaded: task.sample.loaded.clone(),
            read_options: task.sample.options.clone(),
            plan: task.plan.clone(),
            folder: self.cell_folder(key),
            replace: false,
            truth: Some(Truth { graph, self_edges: task.self_edges }),
            pace: Pace {
                log_every: if is_paper { 25 } else { 50 },
                time_budget: has_budget.then_some(self.budget),
                step_budget: self.most_steps.filter(|_| has_budget),
                ..Pace::default()
            },
            report: false,
        }
    }
}

/// What a method found, and how well it matches the truth.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) variant: String,
    pub(super) method: String,
    pub(super) seed: u64,
    pub(super) cost: Cost,
    pub(super) with_self_edges: Scores,
    pub(super) without_self_edges: Scores,
    /// The candidate whose edges these are.
    pub(super) chosen: Option<String>,
    /// All candidates.
    pub(super) selection: Option<Selection>,
    /// How much of a training was done.
    pub(super) epochs: Option<Epochs>,
    /// Metrics along the way.
    pub(super) history: Vec<LogLine>,
}

/// A comparison with the truth under one convention.
#[derive(Debug, Clone)]
pub(super) struct Scores {
    pub(super) metrics: GraphMetrics,
    /// `None` for methods without probabilities.
    pub(super) reliability: Option<Reliability>,
}

/// How far training came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epochs {
    /// "epochs", or "steps" where a step sees a part of the data.
    pub(super) unit: &'static str,
    pub(super) reached: u64,
    pub(super) planned: u64,
    /// Whether training ended because it was not finite any more.
    pub(super) diverged: bool,
}

impl Cell {
    pub(super) fn new(task: &Task<'_>, found: CellRun) -> anyhow::Result<Self> {
        let CellRun { run, cost, .. } = found;
        let training = &run.record.training;
        let epochs = epochs(&run);
        let selection = training.selection.clone();
        let truth = &task.sample.truth;
        Ok(Self {
            variant: task.variant.to_owned(),
            method: task.method.to_owned(),
            seed: task.seed,
            cost,
            with_self_edges: scores(&run, truth, SelfEdges::Kept)?,
            without_self_edges: scores(&run, truth, SelfEdges::Dropped)?,
            chosen: (selection.as_ref()).map(|tried| tried.candidates[tried.chosen].name.clone()),
            selection,
            epochs,
            history: RunFolder::at(run.folder()).read_log()?,
        })
    }

    /// Whether this is the cell of a variant, method and seed.
    pub(super) fn is(&self, variant: &str, method: &str, seed: u64) -> bool {
        (self.variant.as_str(), self.method.as_str(), self.seed) == (variant, method, seed)
    }

    pub(super) fn scores(&self, self_edges: SelfEdges) -> &Scores {
        match self_edges {
            SelfEdges::Kept => &self.with_self_edges,
            SelfEdges::Dropped => &self.without_self_edges,
        }
    }

    pub(super) fn auroc(&self, self_edges: SelfEdges) -> Option<f64> {
        self.scores(self_edges).metrics.auroc
    }
}

/// How far a run came, where its method says so.
fn epochs(run: &Run) -> Option<Epochs> {
    let training = &run.record.training;
    let diverged = run.record.ending == Ending::Diverged;
    if let Some(Reached { steps, of, in_epochs }) = training.reached {
        let unit = if in_epochs { "epochs" } else { "steps" };
        return Some(Epochs { unit, reached: steps, planned: of, diverged });
    }
    let planned = run.record.settings.get("steps").and_then(Value::as_u64)?;
    Some(Epochs { unit: "epochs", reached: training.counters?.steps, planned, diverged })
}

fn scores(run: &Run, truth: &SignatureGraph, self_edges: SelfEdges) -> Result<Scores, CoreError> {
    let (edges, n_variables) = (run.edges(), truth.n_variables());
    let ranking = edge_scores(&edges, n_variables)?;
    let probabilities = edge_probabilities(&edges, n_variables)?;
    let ranking_only = probabilities.is_none();
    let options = MetricOptions { ranking_only, ..MetricOptions::new(self_edges) };
    let counted = probabilities.as_ref().unwrap_or(&ranking);
    let directed = directed_probabilities(&edges, n_variables)?;
    let reliability = directed.map(|all| Reliability::new(&all, truth, self_edges));
    Ok(Scores {
        metrics: ranked_metrics(counted, &ranking, truth, options)?,
        reliability: reliability.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::lorenz;
    use super::*;

    #[test]
    fn any_change_of_what_decides_a_result_makes_another_cell() {
        let folder = tempfile::tempdir().unwrap();
        let (sample, changed) = (lorenz(folder.path(), 0), lorenz(folder.path(), 1));
        let plan = FitPlan::named("bridge").unwrap();
        let task = Task {
            experiment: "lorenz",
            variant: "p = 0.3",
            method: "bridge",
            seed: 1,
            sample: &sample,
            plan: &plan,
            self_edges: SelfEdges::Kept,
        };
        let key = task.key();
        assert!(key.starts_with("lorenz_p0.3_bridge_seed1_"), "{key}");
        assert_eq!(key, task.key());
        let other = plan.with([("steps".to_owned(), 41.into())]).unwrap();
        for task in [
            Task { plan: &other, ..task },
            Task { sample: &changed, ..task },
            Task { seed: 2, ..task },
            Task { method: "var", ..task },
        ] {
            assert_ne!(task.key(), key);
        }
    }

    #[test]
    fn costs_of_several_starts_add_up_even_where_one_is_not_known() {
        let cost = |cpu_seconds| Cost { seconds: 2.0, cpu_seconds, ..Cost::default() };
        let mut sum = cost(None);
        sum.add(&cost(Some(1.5)));
        sum.add(&cost(Some(0.5)));
        sum.add(&cost(None));
        assert_eq!((sum.seconds, sum.cpu_seconds), (8.0, Some(2.0)));
    }
}
