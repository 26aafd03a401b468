//! Follows a fit: progress bar, log, metrics against a truth, time budget, Ctrl-C.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::trainer::Trainer;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::printer;

/// Set by Ctrl-C; the fit stops at the end of its step.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes the first Ctrl-C (or SIGTERM) end the fit in order, and the second end the program.
pub(crate) fn catch_interrupts() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        printer::note("\nstopping after this step; what was learned so far will be saved");
    })?;
    Ok(())
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Finished,
    Interrupted,
    OutOfTime,
}

impl Ending {
    /// The word in run.json.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::OutOfTime => "time-budget",
        }
    }
}

/// The known graph, and the log it is compared in; it never reaches the fit.
pub(crate) struct Truth {
    pub(crate) graph: SignatureGraph,
    pub(crate) self_edges: SelfEdges,
}

/// Shows and records what a fit reports.
pub(crate) struct Follower {
    bar: ProgressBar,
    log: BufWriter<File>,
    log_every: u64,
    truth: Option<Truth>,
    budget: Option<Duration>,
    start: Instant,
    told_tenths: u64,
    /// Why the fit was stopped, if it was.
    pub(crate) ending: Ending,
    /// The first thing that went wrong with the log, reported when the fit is over.
    pub(crate) log_error: Option<io::Error>,
}

impl Follower {
    pub(crate) fn new(
        log: BufWriter<File>,
        log_every: u64,
        truth: Option<Truth>,
        budget: Option<Duration>,
        n_steps: u64,
    ) -> Self {
        let style = "{bar:24} {pos}/{len} steps, {eta} left  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is fixed and valid");
        Self {
            bar: ProgressBar::new(n_steps).with_style(style),
            log,
            log_every,
            truth,
            budget,
            start: Instant::now(),
            told_tenths: 0,
            ending: Ending::Finished,
            log_error: None,
        }
    }

    /// Time since the fit began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Takes the bar away and puts the log on disk.
    pub(crate) fn finish(&mut self) {
        self.bar.finish_and_clear();
        if let Err(error) = self.log.flush() {
            self.log_error.get_or_insert(error);
        }
    }

    fn show(&mut self, report: &StepReport) {
        let message = describe(report);
        if self.bar.is_hidden() {
            // Not a terminal: a line at every tenth of the way.
            let tenths = 10 * (report.step + 1) / report.n_steps;
            if tenths > self.told_tenths {
                self.told_tenths = tenths;
                printer::note(&format!(
                    "step {} of {}, {message}",
                    report.step + 1,
                    report.n_steps
                ));
            }
            return;
        }
        self.bar.set_position(report.step + 1);
        self.bar.set_message(message);
    }

    fn write_log(&mut self, report: &StepReport, trainer: &Trainer) {
        let mut line = json!({
            "step": report.step,
            "elbo": report.terms.elbo(),
            "seconds": self.elapsed().as_secs_f64(),
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
            let options =
                MetricOptions { ranking_only: true, ..MetricOptions::new(truth.self_edges) };
            let metrics = graph_metrics(&trainer.edge_scores(), &truth.graph, options);
            let metrics =
                metrics.expect("truth and data have the same variables, checked at start");
            line["auroc"] = json!(metrics.auroc);
            line["auprc"] = json!(metrics.auprc);
        }
        if let Err(error) = writeln!(self.log, "{line}") {
            self.log_error.get_or_insert(error);
        }
    }
}

impl FitObserver for Follower {
    fn step(&mut self, report: &StepReport, trainer: &Trainer) -> ControlFlow<()> {
        let last = report.step + 1 == report.n_steps;
        if report.step.is_multiple_of(self.log_every) || last || report.rolled_back.is_some() {
            self.write_log(report, trainer);
        }
        self.show(report);
        if INTERRUPTED.load(Ordering::SeqCst) {
            self.ending = Ending::Interrupted;
            return ControlFlow::Break(());
        }
        if self.budget.is_some_and(|budget| self.elapsed() >= budget) && !last {
            self.ending = Ending::OutOfTime;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn describe(report: &StepReport) -> String {
    let terms = &report.terms;
    format!(
        "ELBO {:.1} = likelihood {:.1} - initial {:.1} - path {:.1} - graph {:.1}, {:.1} edges expected",
        terms.elbo(),
        terms.log_likelihood,
        terms.initial_kl,
        terms.path_kl,
        terms.graph_kl,
        report.expected_edges
    )
}
