//! Shows how a fit goes on, and hears Ctrl-C.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use driftgraph_core::train::progress::{Part, Progress, Step};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::short;
use crate::printer;

/// Set by Ctrl-C; the fit stops at the end of its step.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes the first Ctrl-C (or SIGTERM) end the fit in order, and the second end the program.
///
/// `message` says what will become of the work done so far.
/// One program may do several such works after each other.
pub(crate) fn catch_interrupts(message: &'static str) -> anyhow::Result<()> {
    static MESSAGE: Mutex<Option<&str>> = Mutex::new(None);
    let mut current = MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if current.replace(message).is_some() {
        return Ok(());
    }
    drop(current);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        let message = *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
        printer::note(&format!("\nstopping after this step; {}", message.unwrap_or_default()));
    })?;
    Ok(())
}

/// Whether the user has asked to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// A bar with the time left on a terminal, a few lines elsewhere.
pub(crate) struct FitProgress {
    shown: Mutex<Shown>,
}

struct Shown {
    bar: ProgressBar,
    /// The last part or tenth of one that was told where there is no terminal.
    told: Option<(String, u64)>,
}

impl FitProgress {
    pub(crate) fn new() -> Self {
        let style = "{bar:24} {pos}/{len} steps, {eta} left  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is fixed and valid");
        let bar = ProgressBar::new(1).with_style(style);
        Self { shown: Mutex::new(Shown { bar, told: None }) }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.lock().bar.finish_and_clear();
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("no thread panics while it holds this lock")
    }
}

impl Progress for FitProgress {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        self.lock().show(step);
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_interrupted(&self) -> bool {
        interrupted()
    }

    fn note(&self, text: &str) {
        self.lock().bar.suspend(|| printer::note(text));
    }
}

impl Shown {
    fn show(&mut self, step: &Step<'_>) {
        let what = match step.part {
            Part::Candidate { name, fold, n_folds } => {
                format!("trying {name}, part {} of {n_folds} held out", fold + 1)
            }
            Part::Trial { name } => format!("trying {name} on all rows"),
            // Samples are many and alike: elsewhere than in a bar they are told once.
            Part::Sample { number, n_samples } if !self.bar.is_hidden() => {
                format!("bootstrap sample {} of {n_samples}", number + 1)
            }
            Part::Sample { n_samples, .. } => format!("fitting {n_samples} bootstrap samples"),
            Part::Member { n_members: 1, .. } => "fitting".to_owned(),
            Part::Member { number, n_members } => {
                format!("final fit {} of {n_members}", number + 1)
            }
        };
        if self.bar.is_hidden() {
            self.tell(what, step);
            return;
        }
        self.bar.set_length(step.end);
        self.bar.set_position(step.number + 1);
        self.bar.set_message(format!("{what}: {}", numbers(step)));
    }

    /// Not a terminal: a line for every part, and for every tenth of a fit that is alone.
    fn tell(&mut self, what: String, step: &Step<'_>) {
        let alone = matches!(step.part, Part::Member { n_members: 1, .. });
        let tenth = if alone { 10 * (step.number + 1) / step.end.max(1) } else { 0 };
        let line = (what, tenth);
        if self.told.as_ref() == Some(&line) || (!alone && step.number > 0) {
            return;
        }
        let (what, _) = &line;
        if alone {
            let (done, all) = (step.number + 1, step.end);
            printer::note(&format!("step {done} of {all}, {}", numbers(step)));
        } else {
            printer::note(what);
        }
        self.told = Some(line);
    }
}

fn numbers(step: &Step<'_>) -> String {
    let edges =
        step.expected_edges.map_or(String::new(), |edges| format!(", {edges:.1} edges expected"));
    if let Some(loss) = step.loss() {
        return format!("loss {}{edges}", short(loss));
    }
    let terms = &step.terms;
    let elbo = format!("ELBO {}", bound(terms.elbo()));
    let divergences = [terms.initial_kl, terms.path_kl, terms.graph_kl];
    // A bound in closed form comes as one number.
    if divergences == [0.0; 3] {
        return format!("{elbo}{edges}");
    }
    let [initial, path, graph] = divergences.map(bound);
    let likelihood = bound(terms.log_likelihood);
    format!(
        "{elbo} = likelihood {likelihood} - initial {initial} - path {path} - graph {graph}{edges}"
    )
}

/// One digit behind the point, or powers of ten of what is far from any sound bound.
fn bound(number: f64) -> String {
    if number.abs() < 1e9 { format!("{number:.1}") } else { format!("{number:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_ran_away_do_not_fill_the_line() {
        assert_eq!(bound(-188_174_603_359_486_765_694_976.0), "-1.882e23");
        assert_eq!(bound(-12_345.67), "-12345.7");
    }
}
