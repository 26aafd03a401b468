//! Tables of metrics: every variant, method and seed a cell, computed one after the other and kept.

use anyhow::Context;
use driftgraph_methods::{FitPlan, candidate_plan};
use driftgraph_run::JobError;
use driftgraph_text::count;
use serde_json::json;

use super::calibration::Calibration;
use super::cell::{Cell, Cost, Store, Tables, Task};
use super::origin::made_by;
use super::pace::Pace;
use super::plan::{BRIDGE, ORACLE, Plan};
use super::sample::{Sample, sample};
use super::variants::Variant;
use super::{curve, families, gap, table};
use crate::args::{ExperimentArgs, ExperimentName};
use crate::printer;
use crate::progress::interrupted;

pub(super) fn run(args: &ExperimentArgs, plan: &Plan, store: &Store) -> anyhow::Result<()> {
    let (pace, results) = (Pace::new(plan), Results::default());
    let mut run = Run { args, plan, store, pace, results, failures: Vec::new() };
    run.all_cells()?;
    run.write_tables()?;
    run.say_what_is_missing()
}

/// What is known of all cells.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) cells: Vec<Cell>,
    pub(super) refusals: Vec<Refusal>,
}

/// Data that a method cannot learn from.
#[derive(Debug)]
pub(super) struct Refusal {
    variant: String,
    method: String,
    pub(super) reason: String,
}

impl Refusal {
    pub(super) fn is(&self, variant: &str, method: &str) -> bool {
        (self.variant.as_str(), self.method.as_str()) == (variant, method)
    }
}

/// An experiment under way.
struct Run<'a> {
    args: &'a ExperimentArgs,
    plan: &'a Plan,
    store: &'a Store,
    pace: Pace,
    results: Results,
    /// Cells that could not be computed for reasons that have nothing to do with data and method.
    failures: Vec<String>,
}

/// A cell that is due.
#[derive(Clone, Copy)]
struct Due<'a> {
    variant: &'a Variant,
    method: &'a str,
    seed: u64,
    sample: &'a Sample,
}

/// A cell, and whether anything was done for it now.
type Made = Option<(Cell, bool)>;

impl Run<'_> {
    fn all_cells(&mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        for variant in &plan.variants {
            for seed in plan.all_seeds() {
                let due = |method: &&String| plan.seeds(variant, method).contains(&seed);
                let methods: Vec<&String> = plan.methods.iter().filter(due).collect();
                if methods.is_empty() {
                    continue;
                }
                let file = self.store.data_file(&variant.name, seed);
                let sample = &sample(&variant.source, seed, self.args, &file)?;
                for method in methods {
                    self.one_cell(Due { variant, method, seed, sample });
                    if interrupted() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds or computes a cell; one that cannot be computed is remembered and does not stop the others.
    fn one_cell(&mut self, due: Due<'_>) {
        let made = match due.method {
            ORACLE => self.oracle(due),
            _ => self.fitted(due),
        };
        let error = match made {
            Ok(Some((cell, is_new))) => {
                let auroc = cell.auroc(self.plan.self_edges);
                if is_new {
                    self.pace.finished(&cell, auroc);
                } else {
                    self.pace.done(&cell);
                }
                self.results.cells.push(cell);
                return;
            }
            Ok(None) => return,
            Err(error) => error,
        };
        let name = format!("{}, {}, seed {}", due.variant.name, due.method, due.seed);
        printer::note(&format!("{name}: failed: {error:#}"));
        self.pace.failed();
        if error.downcast_ref().is_some_and(is_refusal) {
            let (variant, method) = (due.variant.name.clone(), due.method.to_owned());
            // A table has no place for lines and columns of its cells.
            let reason = format!("{error:#}").replace('\n', " ").replace('|', "/");
            self.results.refusals.push(Refusal { variant, method, reason });
        } else {
            self.failures.push(name);
        }
    }

    /// The result of a method; `None` if the user asked to stop before it was complete.
    fn fitted(&self, due: Due<'_>) -> anyhow::Result<Made> {
        let plan = due.variant.plan(due.method, due.seed, self.args.quick)?;
        let experiment = self.args.name.word();
        let task = self.task(due, &experiment, due.method, &plan);
        self.made(&task)
    }

    fn made(&self, task: &Task<'_>) -> anyhow::Result<Made> {
        let progress = self.pace.begin(task.variant, task.method, task.seed);
        let Some(found) = self.store.run(task, &progress)? else { return Ok(None) };
        let is_new = found.is_new;
        Ok(Some((Cell::new(task, found)?, is_new)))
    }

    /// Every candidate of the bridge fitted to all data; the one that the truth likes best, at the cost of all.
    fn oracle(&self, due: Due<'_>) -> anyhow::Result<Made> {
        let of_bridge = |cell: &&Cell| cell.is(&due.variant.name, BRIDGE, due.seed);
        let bridge = self.results.cells.iter().find(of_bridge);
        let tried = bridge.context("its cell of `bridge` is not finished")?.selection.as_ref();
        let tried = tried.context("its cell of `bridge` has compared nothing")?;
        let plan = due.variant.plan(BRIDGE, due.seed, self.args.quick)?;
        let experiment = self.args.name.word();
        let (mut best, mut cost, mut any_new): (Option<Cell>, _, _) =
            (None, Cost::default(), false);
        for candidate in &tried.candidates {
            let plan = candidate_plan(&plan, candidate)?;
            let method = format!("{ORACLE} {}", candidate.name);
            let task = self.task(due, &experiment, &method, &plan);
            let Some((cell, is_new)) = self.made(&task)? else { return Ok(None) };
            cost.add(&cell.cost);
            any_new |= is_new;
            let auroc = |cell: &Cell| cell.auroc(self.plan.self_edges);
            if best.as_ref().is_none_or(|other| auroc(&cell) > auroc(other)) {
                best = Some(Cell { chosen: Some(candidate.name.clone()), ..cell });
            }
        }
        let best = best.context("no candidate was tried")?;
        let cost = Cost { seconds: cost.seconds, cpu_seconds: cost.cpu_seconds, ..best.cost };
        // A curve would be that of one candidate.
        let (method, history) = (ORACLE.to_owned(), Vec::new());
        Ok(Some((Cell { method, cost, history, ..best }, any_new)))
    }

    fn task<'a>(
        &self,
        due: Due<'a>,
        experiment: &'a str,
        method: &'a str,
        plan: &'a FitPlan,
    ) -> Task<'a> {
        let Due { variant, seed, sample, .. } = due;
        let self_edges = self.plan.self_edges;
        Task { experiment, variant: &variant.name, method, seed, sample, plan, self_edges }
    }

    fn write_tables(&self) -> anyhow::Result<()> {
        let cells = &self.results.cells;
        let (markdown, csv, table) = if !self.args.families.is_empty() {
            let rows = families::rows(self.plan, cells);
            self.store.write("reliability.svg", &families::picture(self.plan, cells)?)?;
            (families::markdown(&rows), families::csv(&rows)?, json!(rows))
        } else if self.args.name == ExperimentName::Calibration {
            let calibration = Calibration::new(cells);
            self.store.write("reliability.svg", &calibration.picture()?)?;
            (calibration.markdown(), calibration.csv()?, json!(calibration))
        } else {
            let mut pictures = curve::pictures(self.plan, cells)?;
            if self.args.name == ExperimentName::Gap {
                pictures.extend(gap::pictures(self.plan, &self.results)?);
            }
            for (name, picture) in pictures {
                self.store.write(&name, &picture)?;
            }
            let rows = table::rows(self.plan, &self.results);
            (table::markdown(&rows, self.plan.self_edges), table::csv(&rows)?, json!(rows))
        };
        let json = json!({"experiment": self.args.name.word(), "table": table});
        let made_by = made_by(cells.iter().map(|cell| cell.cost.program.as_str()));
        self.store.publish(self.args, &Tables { markdown, csv, json, made_by })
    }

    fn say_what_is_missing(&self) -> anyhow::Result<()> {
        let is_old = |cell: &&Cell| cell.cost.program != self.store.program;
        let n_old = self.results.cells.iter().filter(is_old).count();
        let folder = self.args.out.display();
        if n_old > 0 {
            let n_old = count(n_old, "cell was", "cells were");
            printer::note(&format!(
                "note: {n_old} made by another build of this program; delete `{folder}/cells` to compute everything anew"
            ));
        }
        printer::note(&format!("tables, data and the runs of all cells are in `{folder}`"));
        let (n_done, n_cells) = (self.results.cells.len(), self.pace.n_cells());
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

/// Whether method and data do not go together, rather than something else having gone wrong.
fn is_refusal(error: &JobError) -> bool {
    matches!(
        error,
        JobError::Method(_)
            | JobError::Plan(_)
            | JobError::Diverged { .. }
            | JobError::NotFinite { .. }
    )
}
