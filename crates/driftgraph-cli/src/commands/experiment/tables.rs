//! Tables of metrics: every variant, method and seed a cell, computed one after the other and kept.

use std::time::Instant;

use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::calibration::Reliability;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges};
use driftgraph_data::fingerprint;
use serde_json::json;

use super::calibration::Calibration;
use super::cell::{CellInput, CellResult, Scores, Spent, Store};
use super::origin::{heading, made_by, program};
use super::pace::Pace;
use super::plan::{Plan, Variant};
use super::sample::{Sample, sample};
use super::work::{self, Bench, Found, Prepared};
use super::{curve, table};
use driftgraph_text::count;

use crate::args::{ExperimentArgs, ExperimentName, Method};
use crate::commands::score::ranked_metrics;
use crate::cpu_time::cpu_seconds;
use crate::printer;
use crate::progress::interrupted;

pub(super) fn run(args: &ExperimentArgs, plan: &Plan, store: &Store) -> anyhow::Result<()> {
    let mut run = Run {
        args,
        plan,
        store,
        program: program()?,
        pace: Pace::new(plan),
        cells: Vec::new(),
        failures: Vec::new(),
    };
    run.all_cells()?;
    run.write_tables()?;
    run.say_what_is_missing()
}

/// An experiment under way.
struct Run<'a> {
    args: &'a ExperimentArgs,
    plan: &'a Plan,
    store: &'a Store,
    program: String,
    pace: Pace,
    cells: Vec<CellResult>,
    /// Cells that could not be computed, with the reason.
    failures: Vec<String>,
}

/// A cell that is due.
#[derive(Clone, Copy)]
struct Task<'a> {
    variant: &'a Variant,
    method: Method,
    seed: u64,
    sample: &'a Sample,
    /// Of data and truth.
    fingerprint: &'a str,
}

impl Run<'_> {
    fn all_cells(&mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        for variant in &plan.variants {
            for seed in 0..plan.n_seeds {
                let due = |method: &Method| seed < plan.seeds(variant, *method);
                let methods: Vec<Method> = plan.methods.iter().copied().filter(due).collect();
                if methods.is_empty() {
                    continue;
                }
                let sample = &sample(&variant.source, seed, self.args)?;
                let fingerprint = &sample_fingerprint(sample);
                for method in methods {
                    self.one_cell(Task { variant, method, seed, sample, fingerprint });
                    if interrupted() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds or computes a cell; one that cannot be computed is remembered and does not stop the others.
    fn one_cell(&mut self, task: Task<'_>) {
        match self.find_or_compute(task) {
            Ok(Some(cell)) => self.cells.push(cell),
            Ok(None) => {}
            Err(error) => {
                let Task { variant, method, seed, .. } = task;
                let name = format!("{}, {}, seed {seed}", variant.name, method.word());
                printer::note(&format!("{name}: failed: {error:#}"));
                self.failures.push(name);
                self.pace.failed();
            }
        }
    }

    /// The result of a cell; `None` if the user asked to stop before it was complete.
    fn find_or_compute(&mut self, task: Task<'_>) -> anyhow::Result<Option<CellResult>> {
        let Task { variant, method, seed, sample, fingerprint } = task;
        let bridge = self.cells.iter().find(|cell| cell.is(&variant.name, Method::Bridge, seed));
        let prepared = work::prepare(method, variant, seed, self.args, bridge)?;
        let input = CellInput {
            experiment: self.args.name.word(),
            variant: &variant.name,
            method: method.word(),
            seed,
            fingerprint,
            settings: &prepared.settings,
        };
        let key = input.key();
        if let Some(cell) = self.store.find(&key)?.filter(|cell| prepared.work.is_done_by(cell)) {
            self.pace.skipped(&cell);
            return Ok(Some(cell));
        }
        let bar = self.pace.begin(&variant.name, method, seed);
        let tell = |what: &str| bar.set_message(what.to_owned());
        let (self_edges, checkpoints) = (self.plan.self_edges, self.store.checkpoints());
        let bench = Bench { sample, self_edges, checkpoints: &checkpoints, tell: &tell };
        let (clock, cpu) = (Instant::now(), cpu_seconds());
        let found = work::find(&prepared.work, &key, bench);
        let spent = Spent::since(clock, cpu);
        bar.finish_and_clear();
        let Some(found) = found? else { return Ok(None) };
        let spent = found.spent_before.and(spent);
        let cell = self.result(task, (key, prepared), &found, spent)?;
        self.store.keep(&cell, sample.data.variables(), &found)?;
        self.pace.finished(&cell, cell.scores(self.plan.self_edges).metrics.auroc);
        Ok(Some(cell))
    }

    fn result(
        &self,
        task: Task<'_>,
        (key, prepared): (String, Prepared),
        found: &Found,
        Spent { seconds, cpu_seconds }: Spent,
    ) -> anyhow::Result<CellResult> {
        let data = &task.sample.data;
        Ok(CellResult {
            key,
            experiment: self.args.name.word().to_owned(),
            variant: task.variant.name.clone(),
            method: task.method.word().to_owned(),
            seed: task.seed,
            driftgraph: env!("CARGO_PKG_VERSION").to_owned(),
            program: self.program.clone(),
            command: prepared.command,
            settings: prepared.settings,
            fingerprint: task.fingerprint.to_owned(),
            n_series: data.n_series(),
            n_variables: data.n_variables(),
            n_rows: data.n_rows(),
            with_self_edges: scores(found, task.sample, SelfEdges::Kept)?,
            without_self_edges: scores(found, task.sample, SelfEdges::Dropped)?,
            seconds,
            cpu_seconds,
            details: found.details.clone(),
        })
    }

    fn write_tables(&self) -> anyhow::Result<()> {
        let (text, csv, object) = if self.args.name == ExperimentName::Calibration {
            let calibration = Calibration::new(&self.cells);
            self.store.write("reliability.svg", &calibration.picture()?)?;
            (calibration.markdown(), calibration.csv()?, json!(calibration))
        } else {
            for (name, picture) in curve::pictures(self.plan, &self.cells)? {
                self.store.write(&name, &picture)?;
            }
            let rows = table::rows(self.plan, &self.cells);
            (table::markdown(&rows, self.plan.self_edges), table::csv(&rows)?, json!(rows))
        };
        let made_by = made_by(self.cells.iter().map(|cell| cell.program.as_str()));
        let text = format!("{}{text}\n{made_by}\n", heading(self.args));
        self.store.write("table.md", &text)?;
        self.store.write("table.csv", &csv)?;
        if self.args.json {
            let object = json!({"experiment": self.args.name.word(), "table": object});
            printer::data(&serde_json::to_string_pretty(&object)?)?;
        } else {
            printer::data(&text)?;
        }
        Ok(())
    }

    fn say_what_is_missing(&self) -> anyhow::Result<()> {
        let n_old = self.cells.iter().filter(|cell| cell.program != self.program).count();
        let folder = self.args.out.display();
        if n_old > 0 {
            let n_old = count(n_old, "cell was", "cells were");
            printer::note(&format!(
                "note: {n_old} made by another build of this program; delete `{folder}/cells` to compute everything anew"
            ));
        }
        printer::note(&format!("tables, edges and the results of every cell are in `{folder}`"));
        let (n_done, n_cells) = (self.cells.len(), self.pace.n_cells());
        anyhow::ensure!(
            !interrupted(),
            "interrupted with {n_done} of {n_cells} cells finished; the same command goes on from there"
        );
        anyhow::ensure!(
            self.failures.is_empty(),
            "{} of {n_cells} cells failed: {}",
            self.failures.len(),
            self.failures.join("; ")
        );
        Ok(())
    }
}

fn sample_fingerprint(sample: &Sample) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(fingerprint(&sample.data).as_bytes());
    for (source, target) in sample.truth.edges() {
        hasher.update(format!("{source},{target};").as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn scores(found: &Found, sample: &Sample, self_edges: SelfEdges) -> anyhow::Result<Scores> {
    let ranking_only = found.probabilities.is_none();
    let options = MetricOptions { ranking_only, ..MetricOptions::new(self_edges) };
    let scores: &EdgeScores = found.probabilities.as_ref().unwrap_or(&found.ranking);
    let metrics = ranked_metrics(scores, &found.ranking, &sample.truth, options)?;
    let probabilities = found.probabilities.as_ref();
    let reliability =
        probabilities.map(|all| Reliability::new(all, &sample.truth, self_edges)).transpose()?;
    Ok(Scores { metrics, reliability })
}
