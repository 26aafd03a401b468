//! `log.jsonl`: one line of JSON per logged step.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::score::{MetricOptions, graph_metrics};
use driftgraph_core::train::observer::StepReport;
use driftgraph_core::train::select::SelectEvent;
use driftgraph_core::train::trainer::Trainer;
use driftgraph_data::run_folder::RunFolder;
use driftgraph_data::whole_file::write_whole;
use serde_json::{Value, json};

use crate::job::Truth;

/// The log of one fit.
pub(crate) struct Log {
    out: BufWriter<fs::File>,
    every: u64,
    truth: Option<Truth>,
    /// The first thing that went wrong, reported when the fit is over.
    error: Option<io::Error>,
}

impl Log {
    /// Opens the log, without what it says of steps that are going to be repeated.
    pub(crate) fn open(
        folder: &RunFolder,
        next_step: u64,
        every: u64,
        truth: Option<Truth>,
    ) -> io::Result<Self> {
        let file = folder.log_file();
        if file.exists() {
            let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
            write_whole(&file, |out| {
                // A line that was cut off by the end of the process is no JSON.
                let parsed = |line: &str| serde_json::from_str::<Value>(line).ok();
                let step = |line: &str| parsed(line).and_then(|line| line["step"].as_u64());
                let kept = text.lines().filter(|line| step(line).is_some_and(|at| at < next_step));
                kept.into_iter().try_for_each(|line| writeln!(out, "{line}"))
            })?;
        }
        Ok(Self { out: folder.open_log()?, every: every.max(1), truth, error: None })
    }

    /// The log follows the first of the final fits; the others differ in their seed alone.
    pub(crate) fn bridge(&mut self, event: &SelectEvent<'_>, elapsed: Duration) {
        let progress = event.progress;
        if !progress.step.is_multiple_of(self.every) && progress.undone.is_none() {
            return;
        }
        let terms = &progress.terms;
        let mut line = json!({
            "step": progress.step,
            "elbo": terms.elbo(),
            "seconds": elapsed.as_secs_f64(),
            "log_likelihood": terms.log_likelihood,
            "initial_kl": terms.initial_kl,
            "path_kl": terms.path_kl,
            "graph_kl": terms.graph_kl,
            "rate": progress.rate,
            "cycle": progress.cycle,
            "expected_edges": progress.expected_edges,
            "rolled_back": progress.undone,
        });
        if let Some(truth) = &self.truth {
            let trainer = event.trainer;
            let n_variables = trainer.variables().len();
            let scores = EdgeScores::from_matrix(n_variables, trainer.edge_probabilities());
            add_metrics(&mut line, &scores.expect("probabilities are numbers"), truth);
        }
        self.write(&line);
    }

    pub(crate) fn simulated(&mut self, report: &StepReport, trainer: &Trainer, elapsed: Duration) {
        let last = report.step + 1 == report.n_steps;
        if !report.step.is_multiple_of(self.every) && !last && report.rolled_back.is_none() {
            return;
        }
        let mut line = json!({
            "step": report.step,
            "elbo": report.terms.elbo(),
            "seconds": elapsed.as_secs_f64(),
            "log_likelihood": report.terms.log_likelihood,
            "initial_kl": report.terms.initial_kl,
            "path_kl": report.terms.path_kl,
            "graph_kl": report.terms.graph_kl,
            "loss": report.loss,
            "kl_weight": report.kl_weight,
            "learning_rate": report.learning_rate,
            "gradient_norm": report.gradient_norm,
            "expected_edges": report.expected_edges,
            "floor_hits": report.floor_hits,
            "rolled_back": report.rolled_back,
        });
        if let Some(truth) = &self.truth {
            add_metrics(&mut line, &trainer.edge_scores(), truth);
        }
        self.write(&line);
    }

    fn write(&mut self, line: &Value) {
        if let Err(error) = writeln!(self.out, "{line}") {
            self.error.get_or_insert(error);
        }
    }

    /// Puts the log on disk; the first thing that went wrong with it, if anything did.
    pub(crate) fn flush(&mut self) -> Option<io::Error> {
        if let Err(error) = self.out.flush() {
            self.error.get_or_insert(error);
        }
        self.error.take()
    }
}

/// Metrics against the known graph, for benchmarking.
fn add_metrics(line: &mut Value, scores: &EdgeScores, truth: &Truth) {
    let options = MetricOptions { ranking_only: true, ..MetricOptions::new(truth.self_edges) };
    let metrics = graph_metrics(scores, &truth.graph, options);
    let metrics = metrics.expect("truth and data have the same variables, checked at start");
    line["auroc"] = json!(metrics.auroc);
    line["auprc"] = json!(metrics.auprc);
}
