use driftgraph_core::ObservedSeries;
use driftgraph_core::train::progress::Silent;
use serde_json::json;

use super::*;
use crate::FitPlan;

/// Numbers between 0 and 1 that look random, the same in any language.
fn pseudo(sample: u64, source: u64) -> f64 {
    let mixed = ((sample * 7919 + source * 104_729 + 12_345) * 2_654_435_761) % (1 << 32);
    mixed as f64 / f64::from(2.0_f32.powi(32))
}

/// Importances of 2000 trees each of scikit-learn 1.9.1 with their standard errors, made by
///
/// ```python
/// i = np.arange(120)[:, None]; f = np.arange(6)[None, :]
/// x = ((i * 7919 + f * 104729 + 12345) * 2654435761 % 2**32) / 2**32
/// y = 2 * (x[:, 0] > 0.5) + x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
/// y = (y - y.mean()) / y.std()
/// forests = [Forest(n_estimators=100, max_features="sqrt", random_state=s).fit(x, y) for s in range(20)]
/// t = np.array([e.tree_.compute_feature_importances(normalize=False) for m in forests for e in m.estimators_])
/// print(t.mean(0), t.std(0, ddof=1) / np.sqrt(len(t)))
/// ```
///
/// with `RandomForestRegressor` and `ExtraTreesRegressor` for `Forest`.
const REFERENCE: [(Splits, [f64; 6], [f64; 6]); 2] = [
    (
        Splits::RandomForest,
        [0.322286, 0.270913, 0.130839, 0.064344, 0.053963, 0.149426],
        [0.009528, 0.008787, 0.005797, 0.003766, 0.00311, 0.00607],
    ),
    (
        Splits::ExtraTrees,
        [0.274923, 0.217469, 0.141475, 0.113053, 0.109852, 0.143229],
        [0.006002, 0.005626, 0.004317, 0.003386, 0.003528, 0.004379],
    ),
];

#[test]
fn mean_importances_are_those_of_scikit_learn() {
    let columns: Vec<Vec<f64>> =
        (0..6).map(|source| (0..120).map(|sample| pseudo(sample, source)).collect()).collect();
    let target: Vec<f64> = (0..120)
        .map(|k| {
            let x = |source: usize| columns[source][k];
            2.0 * f64::from(u8::from(x(0) > 0.5)) + x(1) + 0.5 * x(2) * x(3)
        })
        .collect();
    let target = standardised(target).unwrap();
    let sources = Sources::new(columns);
    for (splits, wanted, errors) in REFERENCE {
        let settings = DynGenie3Settings {
            trees: 4000,
            candidates: WordOrNumber::Word("sqrt".to_owned()),
            splits,
            decay: WordOrNumber::Number(0.0),
            seed: 1,
        };
        let forest = Forest {
            sources: &sources,
            target: &target,
            n_candidates: settings.n_candidates(6),
            splits,
        };
        let found = importance(forest, 0, &settings, &Silent).unwrap();
        for source in 0..6 {
            // Twice as many trees here: the difference of the means has a deviation of sqrt(1.5) errors. Four of
            // them, with a fixed seed; twelve comparisons would fail by chance once in a thousand times.
            let bound = 4.0 * 1.5_f64.sqrt() * errors[source];
            assert!(
                (found[source] - wanted[source]).abs() < bound,
                "{splits:?} {source}: {found:?} and {wanted:?}"
            );
        }
    }
}

fn chain() -> SeriesSet {
    // x drives y: y' = sin-like response to x, with a decay of its own.
    let mut random = RandomStream::new(2, Purpose::System, 0);
    let series = (0..6).map(|idx| {
        let (mut x, mut y) = (random.uniform(), random.uniform());
        let mut values = Vec::new();
        for _ in 0..40 {
            values.extend([x, y]);
            (x, y) =
                (0.5 * x + 0.5 * random.uniform(), y + 0.5 * (f64::from(u8::from(x > 0.5)) - y));
        }
        ObservedSeries::new(idx.to_string(), 2, (0..40).map(f64::from).collect(), values).unwrap()
    });
    SeriesSet::new(vec!["x".into(), "y".into()], series.collect()).unwrap()
}

fn learned(data: &SeriesSet, settings: serde_json::Value) -> EdgeScores {
    let serde_json::Value::Object(settings) = settings else {
        unreachable!("settings are an object")
    };
    let plan = FitPlan::named(NAME).unwrap().with(settings).unwrap();
    let edges = plan.learn(data, &Silent).unwrap().edges;
    crate::edge_scores(&edges, data.n_variables()).unwrap()
}

#[test]
fn a_driver_is_told_from_what_it_drives() {
    // With one candidate of two for each split, half of all splits would be of no use.
    let scores = learned(&chain(), json!({"trees": 100, "candidates": "all"}));
    assert!(scores.score(0, 1) > 1.5 * scores.score(1, 0), "{scores:?}");
}

#[test]
fn the_number_of_threads_changes_no_bit_and_the_seed_does() {
    let data = chain();
    let with_threads = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| learned(&data, json!({"trees": 20, "seed": 5})))
    };
    assert_eq!(with_threads(1).matrix(), with_threads(3).matrix());
    assert_ne!(with_threads(1).matrix(), learned(&data, json!({"trees": 20, "seed": 6})).matrix());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    for (name, value) in
        [("candidates", json!(0)), ("candidates", json!("some")), ("decay", json!(-1.0))]
    {
        let error = FitPlan::named(NAME).unwrap().with([(name.to_owned(), value)]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("`{name}` must be")), "{error}");
    }
}
