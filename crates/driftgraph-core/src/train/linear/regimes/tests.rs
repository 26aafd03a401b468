//! Regimes on simulated systems: found and dated where there are some, and not where there are none.

use super::*;
use crate::ObservedSeries;
use crate::random::{Purpose, RandomStream};
use crate::train::bridge::BridgeSettings;
use crate::train::progress::Silent;

const D: usize = 4;

/// Effects `[target, source]` of two graphs: a chain 0 -> 1 -> 2 -> 3, and one in which 1 -> 2 is gone and 3 -> 0 is new.
fn graph(is_second: bool) -> [[f64; D]; D] {
    let mut effects = [[0.0; D]; D];
    for (idx, row) in effects.iter_mut().enumerate() {
        row[idx] = -0.4;
    }
    effects[1][0] = 0.6;
    effects[3][2] = -0.6;
    if is_second {
        effects[0][3] = 0.7;
    } else {
        effects[2][1] = 0.7;
    }
    effects
}

/// A series of the first graph up to a row, and of the second from there on.
fn series(name: &str, n: usize, change: usize, seed: u64) -> ObservedSeries {
    let mut random = RandomStream::new(seed, Purpose::System, 0);
    let (mut state, mut values) = ([0.0; D], Vec::new());
    for row in 0..n {
        values.extend(state);
        let effects = graph(row >= change);
        let before = state;
        for target in 0..D {
            let drift: f64 = (0..D).map(|source| effects[target][source] * before[source]).sum();
            state[target] += drift + 0.5 * random.normal();
        }
    }
    let times = (0..n).map(|row| row as f64).collect();
    ObservedSeries::new(name, D, times, values).unwrap()
}

fn data(all: Vec<ObservedSeries>) -> SeriesSet {
    SeriesSet::new((0..D).map(|idx| format!("x{idx}")).collect(), all).unwrap()
}

fn settings(max_steps: Option<u64>) -> CheckedBridgeSettings {
    let noise_scale = crate::train::bridge::NoiseScale::Fixed { scale: 0.01 };
    let settings =
        BridgeSettings { seed: 1000, max_steps, noise_scale, ..BridgeSettings::default() };
    settings.check().unwrap()
}

fn outcome(
    data: &SeriesSet,
    request: &RegimeRequest,
    steps: Option<u64>,
) -> Result<RegimeOutcome, RegimeError> {
    let knowledge = EdgePrior::new(D, 0.0);
    fit_regimes(data, &knowledge, &settings(steps), request, &Silent)
}

fn several(data: &SeriesSet, request: &RegimeRequest, steps: Option<u64>) -> RegimeFit {
    match outcome(data, request, steps).unwrap() {
        RegimeOutcome::Several(fit) => *fit,
        RegimeOutcome::One(_) => panic!("there are several regimes"),
    }
}

#[test]
fn both_graphs_of_a_system_that_changes_half_way_are_found_and_the_change_is_dated() {
    let data = data(vec![series("a", 240, 120, 1001), series("b", 240, 120, 1002)]);
    let fit = several(&data, &RegimeRequest::Auto, Some(160));
    assert_eq!(fit.n_regimes, 2);
    for name in 0..2 {
        let own: Vec<&Switch> = fit.switches.iter().filter(|one| one.series == name).collect();
        assert_eq!(own.len(), 1, "{:?}", fit.switches);
        assert_eq!((own[0].from, own[0].to), (0, 1));
        assert!((own[0].time - 120.0).abs() <= 10.0, "{:?}", own[0]);
        assert!(own[0].between[0] <= own[0].time && own[0].time <= own[0].between[1]);
    }
    for edge in fit.edges.iter().filter(|edge| edge.source != edge.target) {
        for (regime, own) in edge.regimes.iter().enumerate() {
            let is_true = graph(regime == 1)[edge.target][edge.source] != 0.0;
            assert_eq!(own.probability >= 0.5, is_true, "{} {} {own:?}", edge.source, edge.target);
        }
        let differs = [[1, 2], [3, 0]].contains(&[edge.source, edge.target]);
        assert_eq!(edge.contrasts[0].probability >= 0.5, differs, "{edge:?}");
    }
    // What the user wrote is in the user's units: -0.4 and 0.6 per unit of time, up to a fifth.
    let chain = &fit.edges[1];
    assert!((chain.regimes[0].effect - 0.6).abs() < 0.2, "{chain:?}");
    let process = &fit.processes[0];
    assert!((process.diffusions[0] - 0.5).abs() < 0.15, "{process:?}");
}

#[test]
fn stationary_data_have_one_regime() {
    for seed in 1010..1013 {
        let data = data(vec![series("a", 150, 150, seed), series("b", 150, 150, seed + 500)]);
        let outcome = outcome(&data, &RegimeRequest::Auto, Some(40)).unwrap();
        let RegimeOutcome::One(Some(choice)) = outcome else { panic!("seed {seed}: {outcome:?}") };
        assert_eq!(choice.chosen, 1);
        assert_eq!(choice.trials.len(), 1);
    }
}

#[test]
fn equal_conditions_do_not_differ_and_different_ones_do() {
    let pair = |change: usize, seed: u64| {
        data(vec![series("a", 150, 150, seed), series("b", 150, change, seed + 500)])
    };
    let request = RegimeRequest::Known { labels: vec![vec![0; 150], vec![1; 150]], n: 2 };
    let free = |fit: &RegimeFit| {
        let other = |edge: &&RegimeEdge| edge.source != edge.target;
        fit.edges.iter().filter(other).map(|edge| edge.contrasts[0].probability).collect::<Vec<_>>()
    };
    let mut said = Vec::new();
    for seed in 1020..1026 {
        said.extend(free(&several(&pair(150, seed), &request, Some(120))));
    }
    // 72 edges of which none differs: what is said on average is what would be wrong of it.
    let mean = said.iter().sum::<f64>() / said.len() as f64;
    assert!(mean < 0.1, "{mean}");
    assert!(said.iter().filter(|p| **p > 0.5).count() <= 1, "{said:?}");
    let fit = several(&pair(0, 1030), &request, Some(120));
    assert_eq!(fit.stay, None);
    let contrast = |source: usize, target: usize| fit.edges[source * D + target].contrasts[0];
    assert!(contrast(1, 2).first_alone > 0.8, "{:?}", contrast(1, 2));
    assert!(contrast(3, 0).second_alone > 0.8, "{:?}", contrast(3, 0));
    assert!(contrast(3, 0).difference > 0.3);
    assert!(contrast(0, 1).probability < 0.5);
}

#[test]
fn hidden_cells_are_drawn_with_everything_else() {
    let holes = |name: &str, seed: u64| {
        let whole = series(name, 160, 80, seed);
        let mut values = whole.values().to_vec();
        values.iter_mut().step_by(7).for_each(|value| *value = f64::NAN);
        ObservedSeries::new(name, D, whole.times().to_vec(), values).unwrap()
    };
    let data = data(vec![holes("a", 1040), holes("b", 1041)]);
    let fit = several(&data, &RegimeRequest::Number(2), Some(120));
    let at = fit.switches.iter().find(|one| one.series == 0).map(|one| one.time);
    assert!(at.is_some_and(|time| (time - 80.0).abs() <= 15.0), "{:?}", fit.switches);
    assert!(fit.edges[1].probability > 0.9);
}

#[test]
fn what_cannot_be_is_refused() {
    let short = data(vec![series("a", 15, 15, 1050)]);
    let error = outcome(&short, &RegimeRequest::Number(3), None).unwrap_err();
    assert!(
        error.to_string().starts_with("3 regimes of 4 variables need at least 18 steps"),
        "{error}"
    );
    let error = outcome(&short, &RegimeRequest::Number(7), None).unwrap_err();
    assert_eq!(error.to_string(), "at most 6 regimes can be told apart, and 7 were asked for");
    let mut labels = vec![0; 15];
    labels[14] = 1;
    let error =
        outcome(&short, &RegimeRequest::Known { labels: vec![labels], n: 2 }, None).unwrap_err();
    assert_eq!(error.to_string(), "regime 2 has 0 steps between rows, at least 3 are needed");
    assert!(matches!(
        outcome(&short, &RegimeRequest::Number(1), None).unwrap(),
        RegimeOutcome::One(None)
    ));
}

#[test]
fn threads_change_nothing_and_a_kept_state_goes_on_to_the_same_end() {
    let data = data(vec![series("a", 80, 40, 1060)]);
    let whole = several(&data, &RegimeRequest::Number(2), Some(30));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone = pool.install(|| several(&data, &RegimeRequest::Number(2), Some(30)));
    assert_eq!(whole, alone);
    let stopped = Stopping { at: 12, kept: std::sync::Mutex::new(None) };
    let knowledge = EdgePrior::new(D, 0.0);
    let fit = |progress: &dyn Progress| {
        fit_regimes(&data, &knowledge, &settings(Some(30)), &RegimeRequest::Number(2), progress)
    };
    // Stopped before anything was counted: there is a state, and no result.
    assert!(matches!(fit(&stopped), Err(RegimeError::Stopped)));
    let resumed =
        Stopping { at: u64::MAX, kept: std::sync::Mutex::new(stopped.kept.into_inner().unwrap()) };
    let RegimeOutcome::Several(resumed) = fit(&resumed).unwrap() else { panic!("two regimes") };
    assert_eq!(*resumed, whole);
}

/// Keeps every state, and stops at a step.
struct Stopping {
    at: u64,
    kept: std::sync::Mutex<Option<Checkpoint>>,
}

impl Progress for Stopping {
    fn step(&self, step: &Step<'_>) -> std::ops::ControlFlow<()> {
        *self.kept.lock().unwrap() = Some(step.training.state());
        if step.number + 1 >= self.at {
            return std::ops::ControlFlow::Break(());
        }
        std::ops::ControlFlow::Continue(())
    }

    fn find(&self, _: &str, depends_on: &str) -> Option<Vec<u8>> {
        let kept = self.kept.lock().unwrap();
        kept.as_ref().filter(|kept| kept.depends_on == depends_on).map(|kept| kept.bytes.clone())
    }
}
