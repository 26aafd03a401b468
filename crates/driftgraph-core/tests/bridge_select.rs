//! The choice of settings without the truth, on systems whose truth is known.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::select::{SelectSettings, Task, fit_ensemble, select};
use driftgraph_core::{ObservedSeries, SeriesSet};

/// x drives y, and y drives z; within the same step or with a lag of one.
fn chain(instantaneous: bool) -> SeriesSet {
    let series = (0..6).map(|idx| {
        let mut draws = vec![0.0; 3 * 120];
        RandomStream::new(11, Purpose::Brownian, idx).fill_normal(&mut draws);
        let mut state = [0.0; 3];
        let values = draws.chunks(3).flat_map(|draw| {
            let before = state;
            for variable in 0..3 {
                let moved = 0.8 * before[variable] + 0.5 * draw[variable];
                state[variable] = match variable {
                    0 => moved,
                    _ if instantaneous => {
                        moved + 0.8 * (state[variable - 1] - before[variable - 1])
                    }
                    _ => moved + 0.4 * before[variable - 1],
                };
            }
            state
        });
        let times = (0..120).map(f64::from).collect();
        ObservedSeries::new(format!("s{idx}"), 3, times, values.collect()).unwrap()
    });
    SeriesSet::new(vec!["x".into(), "y".into(), "z".into()], series.collect()).unwrap()
}

fn settings() -> SelectSettings {
    let base = BridgeSettings { schedule_steps: 300, ..BridgeSettings::default() };
    SelectSettings { base, ..SelectSettings::default() }
}

#[test]
fn instantaneous_effects_are_chosen_where_they_exist_and_only_there() {
    for instantaneous in [true, false] {
        let data = chain(instantaneous);
        let task = Task { data: &data, knowledge: &EdgePrior::new(3, 0.0) };
        let selection = select(task, &settings(), &Silent).unwrap();
        let ensemble = fit_ensemble(task, selection.winner(), 3, &Silent).unwrap();
        assert_eq!(selection.winner().instantaneous, instantaneous, "{selection:?}");
        // The chain's two links must rank above everything else off the diagonal.
        let scores = ensemble.combined_scores();
        let absent = scores[2].max(scores[6]);
        assert!(scores[1] > absent && scores[5] > absent, "{scores:?}");
        assert_eq!(ensemble.instant_log_odds().is_some(), instantaneous);
    }
}
