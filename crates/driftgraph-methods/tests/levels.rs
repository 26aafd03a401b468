//! Methods of levels: links without direction, first rows that have not settled, probabilities, what is known of edges.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::fitted::edges::{Direction, EdgeKind, LearnedEdge};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_methods::{FitPlan, Learned};
use serde_json::{Value, json};

const N: usize = 4;

/// Rows far apart: 0 moves 1 within the row, 2 follows what 1 was a row before, 3 is by itself; `start` is added to the
/// first row of every series.
fn coarse(start: f64) -> SeriesSet {
    let series = (0..8).map(|number| {
        let mut random = RandomStream::new(1004, Purpose::System, number);
        let mut state = [0.0; N];
        let mut values = Vec::new();
        for row in 0..60 {
            let [a, b, c, e] = state;
            let first = 0.2 * a + random.normal();
            state = [
                first,
                0.1 * b + 0.8 * first + random.normal(),
                0.1 * c + 0.6 * b + random.normal(),
                0.3 * e + random.normal(),
            ];
            let shift = if row == 0 { start } else { 0.0 };
            values.extend(state.map(|value| value + shift));
        }
        let times = (0..60).map(f64::from).collect();
        ObservedSeries::new(format!("s{number}"), N, times, values).unwrap()
    });
    SeriesSet::new((0..N).map(|idx| format!("x{idx}")).collect(), series.collect()).unwrap()
}

fn learn(method: &str, settings: Value, data: &SeriesSet) -> Learned {
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    FitPlan::named(method).unwrap().with(settings).unwrap().learn(data, &Silent).unwrap()
}

fn edge(learned: &Learned, source: usize, target: usize) -> &LearnedEdge {
    learned.edges.iter().find(|edge| (edge.source, edge.target) == (source, target)).unwrap()
}

#[test]
fn score_matching_gives_links_and_says_so() {
    let learned = learn("score-matching", json!({}), &coarse(0.0));
    let (there, back) = (edge(&learned, 0, 1), edge(&learned, 1, 0));
    assert_eq!((there.score, there.direction), (back.score, Direction::Either));
    assert!(!there.mirrored && back.mirrored && there.probability.is_none());
    assert!(there.score > 50.0 && edge(&learned, 0, 3).score < 17.0);
    assert!(learned.remarks.iter().any(|remark| remark.starts_with("links, not arrows")));
}

#[test]
fn first_rows_that_have_not_settled_are_left_out_and_told() {
    for method in ["partial-correlation", "score-matching", "level-form"] {
        let settings = if method == "level-form" { json!({"sweeps": 8}) } else { json!({}) };
        let whole = learn(method, settings.clone(), &coarse(0.0));
        assert!(!whole.remarks.iter().any(|remark| remark.contains("left out")), "{method}");
        let started = learn(method, settings, &coarse(60.0));
        let told = started.remarks.iter().find(|remark| remark.contains("left out"));
        assert!(told.is_some_and(|remark| remark.contains("8 of 8 series")), "{method}: {told:?}");
        if method != "level-form" {
            // One row of sixty less changes little; with it all variables would seem to move together.
            let scores = [&whole, &started].map(|one| edge(one, 0, 3).score);
            let strong = edge(&whole, 0, 1).score;
            assert!((scores[0] - scores[1]).abs() < 0.1 * strong, "{method}: {scores:?}");
        }
    }
}

#[test]
fn the_level_form_tells_links_from_the_past_and_takes_what_is_known() {
    let data = coarse(0.0);
    let learned = learn("level-form", json!({"sweeps": 200}), &data);
    let link = edge(&learned, 0, 1);
    assert_eq!((link.kind, link.direction), (Some(EdgeKind::WithinStep), Direction::Either));
    assert_ne!(link.mirrored, edge(&learned, 1, 0).mirrored, "one link is told once");
    let past = edge(&learned, 1, 2);
    assert_eq!((past.kind, past.direction), (Some(EdgeKind::Lagged), Direction::Forward));
    assert!(link.is_at_least(0.9) && past.is_at_least(0.9), "{link:?} {past:?}");
    assert!((0..N).all(|idx| edge(&learned, idx, idx).probability == Some(1.0)));
    for (source, target) in [(0, 3), (3, 0), (2, 3), (3, 1)] {
        assert!(!edge(&learned, source, target).is_at_least(0.5), "{source} {target}");
    }
    let known = json!([
        {"source": "x0", "target": "x1", "probability": 0.0},
        {"source": "x1", "target": "x0", "probability": 0.0},
        {"source": "x3", "target": "x2", "probability": 1.0},
    ]);
    let asked = serde_json::from_value(
        json!({"method": "level-form", "settings": {"sweeps": 40}, "edges": known}),
    );
    let forbidden = FitPlan::new(asked.unwrap()).unwrap().learn(&data, &Silent).unwrap();
    assert_eq!(edge(&forbidden, 0, 1).probability, Some(0.0));
    assert_eq!(edge(&forbidden, 3, 2).probability, Some(1.0));
}

#[test]
fn the_level_form_has_the_same_bits_on_any_number_of_threads() {
    let data = coarse(0.0);
    let run = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| learn("level-form", json!({"sweeps": 30}), &data)).edges
    };
    assert_eq!(run(1), run(3));
}
