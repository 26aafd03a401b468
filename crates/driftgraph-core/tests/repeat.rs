//! Same seed, same bits: twice, on any number of threads, and after a stop in the middle.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::sync::Mutex;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::{Checkpoint, Progress, Silent, Step};
use driftgraph_core::train::settings::{CheckedSettings, FitSettings};
use driftgraph_core::{ObservedSeries, SeriesSet};

fn data() -> SeriesSet {
    let mut random = RandomStream::new(1, Purpose::System, 0);
    let series = (0..40)
        .map(|idx| {
            let n_rows = 3 + idx % 4;
            let times = (0..n_rows).map(|row| row as f64 * 1.3).collect();
            let mut values = vec![0.0; n_rows * 3];
            random.fill_normal(&mut values);
            values[idx % 5] = f64::NAN;
            ObservedSeries::new(format!("{idx}"), 3, times, values).unwrap()
        })
        .collect();
    SeriesSet::new(["a", "b", "c"].map(String::from).to_vec(), series).unwrap()
}

fn settings(preset: Preset) -> CheckedSettings {
    let small = FitSettings {
        steps: 8,
        warmup_steps: 2,
        batch_size: Some(30),
        hidden_size: 8,
        context_size: 4,
        ..preset.settings()
    };
    small.check().unwrap()
}

fn on_threads(n_threads: usize, settings: &CheckedSettings) -> Fit {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    pool.install(|| fit(&data(), settings, &Silent).unwrap())
}

#[test]
fn threads_and_repetition_change_no_bit() {
    for preset in [Preset::Simulated, Preset::Paper] {
        let settings = settings(preset);
        let first = on_threads(1, &settings);
        for n_threads in [1, 2, 3] {
            let again = on_threads(n_threads, &settings);
            assert_eq!(first.parameters(), again.parameters(), "{n_threads} threads");
            assert_eq!(first.last_terms(), again.last_terms());
        }
        let other = FitSettings { seed: 1, ..settings.get().clone() }.check().unwrap();
        assert_ne!(first.parameters(), on_threads(1, &other).parameters());
    }
}

/// Stops after some steps and keeps the state, from which the next fit goes on.
struct StopAfter {
    n_steps: u64,
    state: Mutex<Option<Checkpoint>>,
}

impl Progress for StopAfter {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        if step.number + 1 != self.n_steps {
            return ControlFlow::Continue(());
        }
        *self.state.lock().unwrap() = Some(step.training.state());
        ControlFlow::Break(())
    }

    fn find(&self, _name: &str, depends_on: &str) -> Option<Vec<u8>> {
        let kept = self.state.lock().unwrap().clone()?;
        assert_eq!(kept.depends_on, depends_on);
        Some(kept.bytes)
    }
}

#[test]
fn a_stopped_fit_goes_on_as_if_it_never_had_been_stopped() {
    let settings = settings(Preset::Simulated);
    let whole = fit(&data(), &settings, &Silent).unwrap();
    let stop = StopAfter { n_steps: 3, state: Mutex::default() };
    let half = fit(&data(), &settings, &stop).unwrap();
    assert_eq!(half.counters().steps, 3);
    let resumed = fit(&data(), &settings, &stop).unwrap();
    assert_eq!(resumed.parameters(), whole.parameters());
    assert_eq!(resumed.counters(), whole.counters());
}

#[test]
fn a_fit_is_whole_again_from_its_parts() {
    let fitted = fit(&data(), &settings(Preset::Simulated), &Silent).unwrap();
    let text = serde_json::to_string(&fitted.summary()).unwrap();
    let summary = serde_json::from_str(&text).unwrap();
    let again = Fit::from_parts(summary, fitted.parameters().to_vec()).unwrap();
    assert_eq!(again.edge_probabilities(), fitted.edge_probabilities());
    let named: Vec<f32> =
        again.named_parameters().flat_map(|parameter| parameter.values.to_vec()).collect();
    assert_eq!(named, fitted.parameters());
}
