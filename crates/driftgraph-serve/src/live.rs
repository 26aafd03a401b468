//! A fit that is running: what it says, kept for those who come later, and the way to stop it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use driftgraph_core::train::progress::{Part, Progress, Step};
use serde::Serialize;
use tokio::sync::broadcast;

/// Time between two messages: as often as an eye can follow.
const PAUSE: Duration = Duration::from_millis(200);
/// Points of a curve that are kept; every second one is dropped when there are more.
const MOST_POINTS: usize = 600;

/// The last message of a fit.
pub(crate) const ENDED: &str = "{\"ended\":true}";

/// The last thing a fit has said.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct LastStep {
    /// What is being done, in words.
    pub(crate) doing: String,
    /// Step of this part, and where it may end.
    pub(crate) step: u64,
    pub(crate) end: u64,
    /// What training works on, and where it stands.
    pub(crate) aim: &'static str,
    pub(crate) reached: f64,
    /// The same where it is an ELBO.
    pub(crate) elbo: Option<f64>,
    pub(crate) expected_edges: Option<f64>,
    pub(crate) seconds: f64,
    /// Edge probabilities in percent, `[source, target]`.
    pub(crate) percent: Vec<u8>,
}

/// A running fit.
#[derive(Debug)]
pub(crate) struct LiveFit {
    start: Instant,
    stop: AtomicBool,
    state: Mutex<State>,
    sender: broadcast::Sender<String>,
}

#[derive(Debug, Default)]
struct State {
    last: LastStep,
    /// Steps and ELBO, or loss, of every part whose curve is shown, by its name.
    curves: BTreeMap<String, Vec<(u64, f64)>>,
    told: Option<Instant>,
    notes: Vec<String>,
}

impl LiveFit {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            stop: AtomicBool::new(false),
            state: Mutex::default(),
            sender: broadcast::channel(64).0,
        }
    }

    /// Asks the fit to stop after its step; everything is saved.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<String> {
        self.sender.subscribe()
    }

    /// Everything so far, for a page that was opened or loaded again in the middle.
    pub(crate) fn so_far(&self) -> String {
        let state = self.lock();
        serde_json::json!({
            "progress": state.last, "curves": state.curves, "notes": state.notes,
        })
        .to_string()
    }

    /// Tells all pages that the fit is over.
    pub(crate) fn end(&self) {
        // Nobody listening is no trouble.
        let _ = self.sender.send(ENDED.to_owned());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds this lock")
    }
}

impl Progress for LiveFit {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        let mut state = self.lock();
        if state.told.is_none_or(|told| told.elapsed() >= PAUSE) {
            state.told = Some(Instant::now());
            let (doing, curve) = names(step.part);
            let (aim, reached) = match step.loss() {
                Some(loss) => ("loss", loss),
                None => ("ELBO", step.terms.elbo()),
            };
            state.last = LastStep {
                doing,
                step: step.number + 1,
                end: step.end,
                aim,
                reached,
                elbo: step.elbo(),
                expected_edges: step.expected_edges,
                seconds: self.start.elapsed().as_secs_f64(),
                percent: step
                    .training
                    .edge_probabilities()
                    .iter()
                    .map(|p| (100.0 * p.clamp(0.0, 1.0)).round() as u8)
                    .collect(),
            };
            let point = (step.number + 1, reached);
            if point.1.is_finite() {
                let points = state.curves.entry(curve.clone()).or_default();
                points.push(point);
                if points.len() > MOST_POINTS {
                    let mut keep = false;
                    points.retain(|_| {
                        keep = !keep;
                        keep
                    });
                }
            }
            let message = serde_json::json!({
                "progress": state.last, "curve": curve, "point": point,
            });
            let _ = self.sender.send(message.to_string());
        }
        if self.stop.load(Ordering::SeqCst) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn note(&self, text: &str) {
        self.lock().notes.push(text.to_owned());
        let _ = self.sender.send(serde_json::json!({"note": text}).to_string());
    }
}

/// What a part is called, and the curve it belongs to.
fn names(part: Part<'_>) -> (String, String) {
    match part {
        Part::Candidate { name, fold, n_folds } => (
            format!("choosing settings: {name}, part {} of {n_folds} held out", fold + 1),
            format!("trying {name}, part {}", fold + 1),
        ),
        Part::Trial { name } => {
            (format!("choosing settings: {name}, all rows"), format!("trying {name}, all rows"))
        }
        Part::Member { number, n_members } => (
            format!("fitting all data, seed {} of {n_members}", number + 1),
            format!("final fit, seed {}", number + 1),
        ),
        Part::Sample { number, n_samples } => (
            format!("fitting bootstrap sample {} of {n_samples}", number + 1),
            "bootstrap samples".to_owned(),
        ),
    }
}
