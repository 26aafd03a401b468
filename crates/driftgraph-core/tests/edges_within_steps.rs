//! Edges that the part within a step carries: their sign, their count, and how sure their effects are.

use driftgraph_core::fitted::edges::{
    Direction, EdgeKind, LearnedEdge, Sign, directed_graph, expected_edges, feedback_loops, links,
};
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_core::{InnovationLaw, ObservedSeries, SeriesSet};

const RATE: usize = 0;
const INFLATION: usize = 1;
const REAL: usize = 2;

/// Two variables around their means, and a third that is their difference in the same row, but for a little noise.
fn data() -> SeriesSet {
    let mut random = RandomStream::new(3, Purpose::System, 0);
    let series = (0..4).map(|idx| {
        let mut state = [0.0, 0.0];
        let mut values = Vec::new();
        for _ in 0..60 {
            let mut draws = [0.0; 3];
            random.fill_normal(&mut draws);
            state = [0.8 * state[0] + draws[0], 0.7 * state[1] + draws[1]];
            values.extend([state[0], state[1], state[0] - state[1] + 0.1 * draws[2]]);
        }
        let times = (0..60).map(f64::from).collect();
        ObservedSeries::new(format!("s{idx}"), 3, times, values).unwrap()
    });
    let names = ["rate", "inflation", "real"].map(str::to_owned).to_vec();
    SeriesSet::new(names, series.collect()).unwrap()
}

fn fitted(innovations: InnovationLaw, n_members: usize) -> FittedModel {
    let data = data();
    let knowledge = EdgePrior::new(3, 0.0);
    let settings = BridgeSettings {
        instantaneous: true,
        innovations,
        max_steps: Some(300),
        ..BridgeSettings::default()
    };
    let ensemble =
        fit_ensemble(Task { data: &data, knowledge: &knowledge }, &settings, n_members, &Silent)
            .unwrap();
    FittedModel::from_ensemble(&ensemble, &knowledge, &data)
}

fn between(edges: &[LearnedEdge], one: usize, other: usize) -> Vec<&LearnedEdge> {
    let joins =
        |edge: &&LearnedEdge| [(one, other), (other, one)].contains(&(edge.source, edge.target));
    edges.iter().filter(joins).filter(|edge| edge.is_at_least(0.5)).collect()
}

#[test]
fn a_difference_is_negative_in_what_is_subtracted_and_positive_in_the_rest() {
    let edges = fitted(InnovationLaw::Gaussian, 1).edges();
    for (other, sign) in [(RATE, Sign::Positive), (INFLATION, Sign::Negative)] {
        let found = between(&edges, REAL, other);
        assert!(!found.is_empty(), "no edge between real and {other}");
        for edge in found {
            assert_ne!(edge.kind, Some(EdgeKind::Lagged), "{edge:?}");
            // Both rows of the link, and so whatever is drawn or told of it.
            assert_eq!(edge.sign, Some(sign), "{edge:?}");
            let (effect, [low, high]) = (edge.effect.unwrap(), edge.interval.unwrap());
            assert_eq!(effect > 0.0, sign == Sign::Positive, "{edge:?}");
            assert!(low < effect && effect < high, "{edge:?}");
            assert_eq!(edge.strength.unwrap() > 0.0, effect > 0.0, "{edge:?}");
        }
    }
}

#[test]
fn a_link_without_a_direction_is_listed_once_and_closes_no_loop() {
    let edges = fitted(InnovationLaw::Gaussian, 1).edges();
    assert_eq!(edges.len(), 9);
    let links = links(&edges);
    for other in [RATE, INFLATION] {
        let rows = between(&edges, REAL, other);
        assert_eq!(rows.len(), 2, "the file has a row for every pair");
        let found = between(&links, REAL, other);
        let n_lagged = rows.iter().filter(|edge| edge.kind == Some(EdgeKind::Both)).count();
        assert_eq!(found.len(), n_lagged.max(1), "{found:?}");
        if n_lagged == 0 {
            assert_eq!(found[0].direction, Direction::Either);
            let alone = directed_graph(3, found.iter().copied());
            assert_eq!(alone.edges().count(), 0);
            assert!(feedback_loops(&alone).is_empty());
        }
    }
    let all: f64 = edges.iter().filter_map(|edge| edge.probability).sum();
    assert!(expected_edges(&edges) < all);
}

#[test]
fn both_rows_of_a_link_tell_one_effect_from_either_side() {
    let edges = fitted(InnovationLaw::Gaussian, 1).edges();
    let found = between(&edges, REAL, INFLATION);
    let [one, other] = [found[0], found[1]];
    let effect = |edge: &LearnedEdge| edge.parts.as_ref().unwrap().within_step.effect;
    // Slopes of each on the other, given the rest: their product is a squared partial correlation, which is near
    // 1 for variables that determine each other, and never above.
    let product = effect(one) * effect(other);
    assert!((0.5..1.001).contains(&product), "{} {}", effect(one), effect(other));
}

#[test]
fn innovations_that_are_not_normal_say_which_way() {
    let model = fitted(InnovationLaw::Laplace, 1);
    assert!(model.tells_direction_within_steps());
    let edges = model.edges();
    for edge in links(&edges).iter().filter(|edge| edge.is_at_least(0.5)) {
        assert_eq!(edge.direction, Direction::Forward, "{edge:?}");
    }
}

#[test]
fn intervals_narrow_with_data_and_hold_the_effects_of_the_process() {
    let mut widths = Vec::new();
    for n_rows in [100, 1600] {
        let (model, inside) = lagged_pair(n_rows);
        let edges = model.edges();
        let edge = edges.iter().find(|edge| (edge.source, edge.target) == (0, 1)).unwrap();
        let [low, high] = edge.interval.unwrap();
        assert_eq!((edge.kind, edge.direction), (Some(EdgeKind::Lagged), Direction::Forward));
        assert!(low < inside && inside < high, "{low} {inside} {high}");
        widths.push(high - low);
    }
    // Sixteen times the data: a quarter of the width, but for what is learned of noise and paths.
    assert!((2.5..6.0).contains(&(widths[0] / widths[1])), "{widths:?}");
}

/// x drives y; the model, and the true effect per unit of time.
fn lagged_pair(n_rows: usize) -> (FittedModel, f64) {
    let mut random = RandomStream::new(5, Purpose::System, 1);
    let mut state = [0.0, 0.0];
    let mut values = Vec::new();
    for _ in 0..n_rows {
        let mut draws = [0.0; 2];
        random.fill_normal(&mut draws);
        values.extend(state);
        state = [0.9 * state[0] + draws[0], 0.8 * state[1] + 0.25 * state[0] + draws[1]];
    }
    let times = (0..n_rows).map(|row| row as f64).collect();
    let series = ObservedSeries::new("s", 2, times, values).unwrap();
    let data = SeriesSet::new(["x", "y"].map(str::to_owned).to_vec(), vec![series]).unwrap();
    let knowledge = EdgePrior::new(2, 0.0);
    let settings = BridgeSettings { step_size: Some(1.0), ..BridgeSettings::default() };
    let ensemble =
        fit_ensemble(Task { data: &data, knowledge: &knowledge }, &settings, 1, &Silent).unwrap();
    (FittedModel::from_ensemble(&ensemble, &knowledge, &data), 0.25)
}
