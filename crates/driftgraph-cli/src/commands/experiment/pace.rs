//! How far an experiment has come, and how long the rest will take.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use driftgraph_core::train::progress::{Part, Progress, Step};
use indicatif::{ProgressBar, ProgressStyle};

use super::cell::Cell;
use super::plan::Plan;
use crate::output::short_or_dash;
use crate::printer;
use crate::progress::interrupted;

/// Cells in the order in which they run, and what the finished ones took.
pub(super) struct Pace {
    n_cells: usize,
    /// Variant and method of the cells that are left.
    left: VecDeque<(String, String)>,
    /// Variant, method and seconds of finished cells.
    taken: Vec<(String, String, f64)>,
}

impl Pace {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut left = VecDeque::new();
        for variant in &plan.variants {
            for seed in plan.all_seeds() {
                for method in &plan.methods {
                    if plan.seeds(variant, method).contains(&seed) {
                        left.push_back((variant.name.clone(), method.clone()));
                    }
                }
            }
        }
        Self { n_cells: left.len(), left, taken: Vec::new() }
    }

    pub(super) fn n_cells(&self) -> usize {
        self.n_cells
    }

    /// A line that shows what the cell that begins is doing, on a terminal.
    pub(super) fn begin(&self, variant: &str, method: &str, seed: u64) -> CellProgress {
        let number = self.n_cells - self.left.len() + 1;
        let n_cells = self.n_cells;
        CellProgress::new(format!("cell {number} of {n_cells}: {variant}, {method}, seed {seed}"))
    }

    /// A cell that could not be computed.
    pub(super) fn failed(&mut self) {
        self.left.pop_front();
    }

    /// A cell that is finished now.
    pub(super) fn finished(&mut self, cell: &Cell, auroc: Option<f64>) {
        self.done(cell);
        let number = self.n_cells - self.left.len();
        let left = match self.seconds_left() {
            Some(seconds) if !self.left.is_empty() => format!("; about {} left", rough(seconds)),
            _ => String::new(),
        };
        printer::note(&format!(
            "cell {number} of {}: {}, {}, seed {}: AUROC {} in {}{left}",
            self.n_cells,
            cell.variant,
            cell.method,
            cell.seed,
            short_or_dash(auroc),
            rough(cell.cost.seconds)
        ));
    }

    /// A cell that is finished, now or before.
    pub(super) fn done(&mut self, cell: &Cell) {
        self.left.pop_front();
        self.taken.push((cell.variant.clone(), cell.method.clone(), cell.cost.seconds));
    }

    /// Each cell that is left as long as its like: same variant and method, same method, or any.
    fn seconds_left(&self) -> Option<f64> {
        let mean = |alike: &dyn Fn(&(String, String, f64)) -> bool| {
            let seconds: Vec<f64> =
                self.taken.iter().filter(|cell| alike(cell)).map(|cell| cell.2).collect();
            (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
        };
        let expected = |(variant, method): &(String, String)| {
            mean(&|cell| cell.0 == *variant && cell.1 == *method)
                .or_else(|| mean(&|cell| cell.1 == *method))
                .or_else(|| mean(&|_| true))
        };
        self.left.iter().map(expected).sum()
    }
}

/// Seconds, minutes or hours, whichever is short.
fn rough(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{seconds:.1} s"),
        ..3600.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Shows on one line what a cell is doing, where there is a terminal, and hears Ctrl-C.
pub(super) struct CellProgress(ProgressBar);

impl CellProgress {
    pub(super) fn new(prefix: String) -> Self {
        let style = ProgressStyle::with_template("{spinner} {prefix}, {elapsed}  {msg}");
        let style = style.expect("the template is fixed and valid");
        let bar = ProgressBar::new_spinner().with_style(style).with_prefix(prefix);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }
}

impl Progress for CellProgress {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        if step.number.is_multiple_of(25) {
            let what = match step.part {
                Part::Candidate { name, fold, n_folds } => {
                    format!("trying {name}, part {} of {n_folds} held out", fold + 1)
                }
                Part::Trial { name } => format!("trying {name} on all rows"),
                Part::Member { number, n_members } => {
                    format!("final fit {} of {n_members}", number + 1)
                }
                Part::Sample { number, n_samples } => {
                    format!("bootstrap sample {} of {n_samples}", number + 1)
                }
            };
            self.0.set_message(format!("{what}, step {} of {}", step.number + 1, step.end));
        }
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_interrupted(&self) -> bool {
        interrupted()
    }

    fn note(&self, text: &str) {
        // What is usual need not be said of every cell.
        if text.starts_with("warning") {
            self.0.suspend(|| printer::note(text));
        }
    }
}

impl Drop for CellProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
