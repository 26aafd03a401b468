//! Every method ends soon after it was told to, and keeps what can be kept.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::{Progress, Silent, Step};
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_methods::{FitPlan, METHODS, MethodError};

/// When the wish comes, and how soon it must be heard: a loaded machine takes its time for a step, too.
const PATIENCE: Duration = Duration::from_millis(300);
const SOON: Duration = Duration::from_secs(5);

/// Lorenz-96 with some noise, as often as rows are apart.
fn lorenz(n: usize, n_series: u64, n_rows: usize, gap: f64) -> SeriesSet {
    const STEP: f64 = 0.005;
    let series = (0..n_series).map(|idx| {
        let mut random = RandomStream::new(2000, Purpose::Brownian, idx);
        let mut state = vec![0.0; n];
        random.fill_normal(&mut state);
        let n_steps = (gap / STEP).round() as usize;
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for row in 0..n_rows {
            times.push(row as f64 * gap);
            values.extend_from_slice(&state);
            for _ in 0..n_steps {
                let at = |place: usize| state[place % n];
                let slope = |i: usize| (at(i + 1) - at(i + n - 2)) * at(i + n - 1) - at(i) + 10.0;
                let slopes: Vec<f64> = (0..n).map(slope).collect();
                for (value, slope) in state.iter_mut().zip(slopes) {
                    *value += slope * STEP + 0.5 * STEP.sqrt() * random.normal();
                }
            }
        }
        ObservedSeries::new(format!("run {idx}"), n, times, values).unwrap()
    });
    SeriesSet::new((0..n).map(|idx| format!("x{idx}")).collect(), series.collect()).unwrap()
}

/// Wishes an end after a while, as the user does, or because the time is up.
struct Impatient {
    start: Instant,
    told: Mutex<u64>,
}

impl Impatient {
    fn new() -> Self {
        Self { start: Instant::now(), told: Mutex::new(0) }
    }
}

impl Progress for Impatient {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        *self.told.lock().unwrap() += 1;
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_interrupted(&self) -> bool {
        self.start.elapsed() >= PATIENCE
    }
}

#[test]
fn every_method_ends_soon_after_it_was_told_to() {
    // Each of the slow methods would take much longer than is waited for.
    let data = lorenz(13, 10, 100, 0.25);
    for method in METHODS {
        let plan = FitPlan::named(method.name()).unwrap();
        let progress = Impatient::new();
        let learned = plan.learn(&data, &progress);
        let late = progress.start.elapsed().saturating_sub(PATIENCE);
        assert!(late < SOON, "{}: {late:?}", method.name());
        match learned {
            // What was learned so far does not count as the end of the search.
            Ok(learned) if late > Duration::ZERO && method.name() == "polynomial" => {
                assert_eq!(learned.training.converged, Some(false));
                let said = learned.remarks.iter().any(|remark| remark.contains("stopped before"));
                assert!(said, "{:?}", learned.remarks);
            }
            Ok(_) | Err(MethodError::Stopped) => {}
            Err(error) => panic!("{}: {error}", method.name()),
        }
    }
}

#[test]
fn a_method_that_nobody_stops_asks_and_goes_on() {
    let data = lorenz(4, 3, 30, 0.1);
    let plan = FitPlan::named("polynomial").unwrap();
    let learned = plan.learn(&data, &Silent).unwrap();
    assert_eq!(learned.training.converged, Some(true));
}

/// A clock that has run out before anything began.
struct Late;

impl Progress for Late {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn is_interrupted(&self) -> bool {
        true
    }

    fn is_out_of_time(&self) -> bool {
        true
    }
}

#[test]
fn the_plain_model_is_taken_where_there_was_no_time_to_compare() {
    let data = lorenz(4, 4, 20, 0.1);
    let learned = FitPlan::named("bridge").unwrap().learn(&data, &Late).unwrap();
    let remark = "the time was too short to compare models: the plain one was taken";
    assert!(learned.remarks.iter().any(|said| said == remark), "{:?}", learned.remarks);
}
