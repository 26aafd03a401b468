//! What is taken out of the data before the fit makes no edges, and what is left keeps its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{ObservedSeries, Preparation, SeriesSet};
use driftgraph_data::record::MethodRequest;
use driftgraph_methods::{FitPlan, Learned};
use serde_json::json;

/// Three autoregressions, the second driven by the first, with a season of this size and a line added to each.
fn seasonal(seed: u64, coupling: f64, size: f64) -> SeriesSet {
    const N_ROWS: usize = 360;
    let mut random = RandomStream::new(seed, Purpose::MeasurementNoise, 0);
    let (mut state, mut noise) = ([0.0; 3], [0.0; 3]);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for row in 0..N_ROWS {
        random.fill_normal(&mut noise);
        let [a, b, c] = state;
        state = [0.7 * a, 0.7 * b + coupling * a, 0.7 * c];
        state.iter_mut().zip(noise).for_each(|(state, noise)| *state += noise);
        let time = row as f64;
        let angle = std::f64::consts::TAU * time / 12.0;
        let season = [angle.sin(), angle.cos(), -(angle + 1.0).sin()];
        let line = 0.005 * size * time;
        times.push(time);
        values.extend(state.iter().zip(season).map(|(state, season)| state + size * season + line));
    }
    let series = ObservedSeries::new("a", 3, times, values).unwrap();
    SeriesSet::new(["a", "b", "c"].map(str::to_owned).to_vec(), vec![series]).unwrap()
}

fn learned(data: &SeriesSet, preparation: Preparation) -> Learned {
    let settings = json!({"select": "none", "ensemble": 1, "drift": "linear"});
    let settings = settings.as_object().unwrap().clone();
    let asked = MethodRequest { settings, preparation, ..MethodRequest::default() };
    FitPlan::new(asked).unwrap().learn(data, &Silent).unwrap()
}

/// Edges between different variables that are more probable than not.
fn edges(learned: &Learned) -> Vec<(usize, usize)> {
    let probable = learned
        .edges
        .iter()
        .filter(|edge| edge.source != edge.target && edge.probability.unwrap() >= 0.5);
    let mut found: Vec<_> = probable.map(|edge| (edge.source, edge.target)).collect();
    found.sort_unstable();
    found
}

#[test]
fn a_shared_season_makes_edges_only_as_long_as_it_is_there() {
    let out = Preparation { season: Some(12), detrend: true, ..Preparation::default() };
    let (mut there, mut taken_out, mut never_there) = (0, 0, 0);
    for seed in 0..6 {
        let data = seasonal(seed, 0.0, 4.0);
        there += edges(&learned(&data, Preparation::default())).len();
        taken_out += edges(&learned(&data, out.clone())).len();
        let without = seasonal(seed, 0.0, 0.0);
        never_there += edges(&learned(&without, Preparation::default())).len();
        // A true edge stays.
        let driven = edges(&learned(&seasonal(seed, 0.5, 4.0), out.clone()));
        assert!(driven.contains(&(0, 1)), "seed {seed}: {driven:?}");
    }
    // Of 36 pairs: the season makes nearly all of them edges. Taken out, it leaves what chance makes of noise alone, up
    // to one that lies just below or above one half.
    assert!(there >= 30, "{there} edges with the season");
    assert!(
        taken_out <= 4 && taken_out.abs_diff(never_there) <= 1,
        "{taken_out} and {never_there}"
    );
}

#[test]
fn settings_files_and_commands_say_what_is_taken_out() {
    let asked = driftgraph_methods::asked_in_toml(
        "method = \"ridge\"\nseason = 12\ndetrend = true\nlog = [\"a\", \"b\"]\n",
    );
    let plan = FitPlan::new(asked.unwrap()).unwrap();
    assert_eq!(plan.command_words().join(" "), "--method ridge --season 12 --detrend --log a,b");
    let other = FitPlan::named("ridge").unwrap();
    assert_eq!(
        plan.differences(&other)[..2],
        ["`detrend`: true against none", "`log`: [\"a\",\"b\"] against none"]
    );
    assert!(driftgraph_methods::asked_in_toml("season = \"winter\"").is_err());
}
