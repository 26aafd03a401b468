//! How far an experiment has come, and how long the rest will take.

use std::collections::VecDeque;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::cell::CellResult;
use super::plan::Plan;
use crate::args::Method;
use crate::output::short_or_dash;
use crate::printer;

/// Cells in the order in which they run, and what the finished ones took.
pub(super) struct Pace {
    n_cells: usize,
    /// Variant and method of the cells that are left.
    left: VecDeque<(String, &'static str)>,
    /// Variant, method and seconds of finished cells.
    taken: Vec<(String, String, f64)>,
}

impl Pace {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut left = VecDeque::new();
        for variant in &plan.variants {
            for seed in 0..plan.n_seeds {
                for &method in &plan.methods {
                    if seed < plan.seeds(variant, method) {
                        left.push_back((variant.name.clone(), method.word()));
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
    pub(super) fn begin(&self, variant: &str, method: Method, seed: u64) -> ProgressBar {
        let number = self.n_cells - self.left.len() + 1;
        let prefix =
            format!("cell {number} of {}: {variant}, {}, seed {seed}", self.n_cells, method.word());
        let style = ProgressStyle::with_template("{spinner} {prefix}, {elapsed}  {msg}");
        let style = style.expect("the template is fixed and valid");
        let bar = ProgressBar::new_spinner().with_style(style).with_prefix(prefix);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    /// A cell that was finished before.
    pub(super) fn skipped(&mut self, cell: &CellResult) {
        self.done(cell);
    }

    /// A cell that could not be computed.
    pub(super) fn failed(&mut self) {
        self.left.pop_front();
    }

    /// A cell that is finished now.
    pub(super) fn finished(&mut self, cell: &CellResult, auroc: Option<f64>) {
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
            rough(cell.seconds)
        ));
    }

    fn done(&mut self, cell: &CellResult) {
        self.left.pop_front();
        self.taken.push((cell.variant.clone(), cell.method.clone(), cell.seconds));
    }

    /// Each cell that is left as long as its like: same variant and method, same method, or any.
    fn seconds_left(&self) -> Option<f64> {
        let mean = |alike: &dyn Fn(&(String, String, f64)) -> bool| {
            let seconds: Vec<f64> =
                self.taken.iter().filter(|cell| alike(cell)).map(|cell| cell.2).collect();
            (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
        };
        let expected = |(variant, method): &(String, &str)| {
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
