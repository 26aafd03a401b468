//! Follows a fit: progress bar, log, metrics against a truth, time budget, Ctrl-C.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::select::SelectEvent;
use driftgraph_core::train::trainer::Trainer;
use driftgraph_core::{EdgeScores, SignatureGraph};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::printer;

/// Set by Ctrl-C; the fit stops at the end of its step.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes the first Ctrl-C (or SIGTERM) end the fit in order, and the second end the program.
///
/// `message` says what will become of the work done so far.
pub(crate) fn catch_interrupts(message: &'static str) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        printer::note(&format!("\nstopping after this step; {message}"));
    })?;
    Ok(())
}

/// Whether the user has asked to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
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
            add_metrics(&mut line, &trainer.edge_scores(), truth);
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
        if interrupted() {
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

/// Shows and records a bridge fit: candidates and final fits, from several threads.
pub(crate) struct BridgeFollower {
    shared: Mutex<BridgeShared>,
    budget: Option<Duration>,
    start: Instant,
}

struct BridgeShared {
    bar: ProgressBar,
    log: BufWriter<File>,
    log_every: u64,
    truth: Option<Truth>,
    told: Option<String>,
    ending: Ending,
    selection_cut: bool,
    log_error: Option<io::Error>,
}

impl BridgeFollower {
    pub(crate) fn new(
        log: BufWriter<File>,
        log_every: u64,
        truth: Option<Truth>,
        budget: Option<Duration>,
    ) -> Self {
        let style = "{bar:24} {pos}/{len} steps, {eta} left  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is fixed and valid");
        let shared = BridgeShared {
            bar: ProgressBar::new(1).with_style(style),
            log,
            log_every,
            truth,
            told: None,
            ending: Ending::Finished,
            selection_cut: false,
            log_error: None,
        };
        Self { shared: Mutex::new(shared), budget, start: Instant::now() }
    }

    /// Time since the fit began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether candidates had to be stopped before they could be compared.
    pub(crate) fn selection_was_cut(&self) -> bool {
        self.lock().selection_cut
    }

    /// Whether the user asked to stop.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.lock().ending == Ending::Interrupted
    }

    /// Takes the bar away, puts the log on disk, and says how the fit ended.
    pub(crate) fn finish(&self) -> (Ending, Option<io::Error>) {
        let mut shared = self.lock();
        shared.bar.finish_and_clear();
        if let Err(error) = shared.log.flush() {
            shared.log_error.get_or_insert(error);
        }
        (shared.ending, shared.log_error.take())
    }

    /// Called after every step of every fit.
    pub(crate) fn event(&self, event: &SelectEvent<'_>) -> ControlFlow<()> {
        let mut shared = self.lock();
        shared.show(event);
        shared.write_log(event, self.elapsed());
        // Choosing may take half of the time, the final fits need the rest.
        let choosing = matches!(event, SelectEvent::Candidate { .. });
        let budget = self.budget.map(|budget| if choosing { budget / 2 } else { budget });
        let ending = if interrupted() {
            Ending::Interrupted
        } else if budget.is_some_and(|budget| self.elapsed() >= budget) {
            Ending::OutOfTime
        } else {
            return ControlFlow::Continue(());
        };
        shared.selection_cut |= choosing;
        if !choosing || ending == Ending::Interrupted {
            shared.ending = ending;
        }
        ControlFlow::Break(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BridgeShared> {
        self.shared.lock().expect("no thread panics while it holds this lock")
    }
}

impl BridgeShared {
    fn show(&mut self, event: &SelectEvent<'_>) {
        let (what, progress) = match event {
            SelectEvent::Candidate { name, fold, n_folds, progress } => {
                (format!("trying {name}, part {} of {n_folds} held out", fold + 1), progress)
            }
            SelectEvent::Refit { member, n_members, progress, .. } => {
                (format!("final fit {} of {n_members}", member + 1), progress)
            }
        };
        if self.bar.is_hidden() {
            // Not a terminal: one line for every fit.
            if self.told.as_ref() != Some(&what) && progress.step == 0 {
                printer::note(&what);
                self.told = Some(what);
            }
            return;
        }
        self.bar.set_length(progress.cycle_end);
        self.bar.set_position(progress.step + 1);
        let elbo = progress.terms.elbo();
        let edges = progress.expected_edges;
        self.bar.set_message(format!("{what}: ELBO {elbo:.1}, {edges:.1} edges expected"));
    }

    /// The log follows the first of the final fits; the others differ in their seed alone.
    fn write_log(&mut self, event: &SelectEvent<'_>, elapsed: Duration) {
        let SelectEvent::Refit { member: 0, progress, trainer, .. } = event else { return };
        if !progress.step.is_multiple_of(self.log_every) && progress.undone.is_none() {
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
            let scores =
                EdgeScores::from_matrix(trainer.variables().len(), trainer.edge_probabilities());
            let scores = scores.expect("probabilities are numbers");
            add_metrics(&mut line, &scores, truth);
        }
        if let Err(error) = writeln!(self.log, "{line}") {
            self.log_error.get_or_insert(error);
        }
    }
}

/// Metrics against the known graph, for benchmarking.
fn add_metrics(line: &mut serde_json::Value, scores: &EdgeScores, truth: &Truth) {
    let options = MetricOptions { ranking_only: true, ..MetricOptions::new(truth.self_edges) };
    let metrics = graph_metrics(scores, &truth.graph, options);
    let metrics = metrics.expect("truth and data have the same variables, checked at start");
    line["auroc"] = json!(metrics.auroc);
    line["auprc"] = json!(metrics.auprc);
}
