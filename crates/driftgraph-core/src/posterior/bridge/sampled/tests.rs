//! Sampled evaluations against central differences, and their graphs against enumeration.

use std::sync::Arc;

use super::super::BridgePosterior;
use super::super::batch::{Batch, Learned};
use super::super::blocks::Epoch;
use super::super::layout::BridgeLayout;
use super::super::mean_field::MeanFieldParts;
use super::super::model::{BridgeModel, Workspace};
use super::super::node_part::NetSizes;
use super::super::sampled_graphs::GraphEstimator;
use super::super::structure::{BridgeStructure, DriftParts, Pass};
use super::super::toy_part::Squares;
use super::*;
use crate::graph::density::GraphDensity;
use crate::graph::prior::EdgePrior;
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::process::part::Strengths;
use crate::{ObservedSeries, SeriesSet};

struct Case {
    model: BridgeModel,
    layout: BridgeLayout,
    batch: Batch,
    parameters: Vec<f64>,
    paths: LocalValues,
}

fn data(d: usize) -> SeriesSet {
    let series = (0..3).map(|idx| {
        let mut values = vec![0.0; 5 * d];
        RandomStream::new(4, Purpose::MeasurementNoise, idx).fill_normal(&mut values);
        let times = vec![0.0, 1.0, 1.7, 3.0, 4.0];
        ObservedSeries::new(format!("s{idx}"), d, times, values).unwrap()
    });
    let names = (0..d).map(|idx| format!("x{idx}")).collect();
    SeriesSet::new(names, series.collect()).unwrap()
}

impl Case {
    fn new(d: usize, structure: BridgeStructure, knowledge: &EdgePrior) -> Self {
        Self::of(d, |scales| BridgeModel::new(structure, knowledge, scales))
    }

    /// Of a model that is made for given scales of increments.
    fn of(d: usize, model: impl FnOnce(Vec<f64>) -> BridgeModel) -> Self {
        let layout = BridgeLayout::new(&data(d), 1.0).unwrap();
        let (posterior, start) = BridgePosterior::smoothed(layout, None);
        let model = model(start.increment_scales);
        let mut parameters = model.initial_parameters(&posterior, &vec![0.4; d], 1);
        let BridgePosterior { layout, values: mut paths } = posterior;
        // Away from the start, where the node functions are zero.
        let mut random = RandomStream::new(9, Purpose::Weights, 7);
        for buffer in [&mut parameters, &mut paths.log_deviations, &mut paths.correlations] {
            let mut shifts = vec![0.0; buffer.len()];
            random.fill_normal(&mut shifts);
            buffer.iter_mut().zip(shifts).for_each(|(value, shift)| *value += 0.25 * shift);
        }
        let batch = Batch::new(&layout, Epoch::new(&layout, 1, 0, 0).batch(0));
        Self { model, layout, batch, parameters, paths }
    }

    /// Path KL and its gradient by the logits, nothing else.
    fn path_kl(&self, draw: u64) -> (f64, Vec<f64>) {
        let mut work = Workspace::default();
        let pass = Pass { draw, prior_weight: 0.0, ..Pass::WHOLE };
        let learned = Learned { parameters: &self.parameters, paths: &self.paths };
        let terms = self.evaluate(&pass, learned, &mut work);
        (terms.path_kl, self.model.lagged().edge_logits.of(&work.grads).to_vec())
    }

    fn graph_kl(&self, parameters: &[f64]) -> f64 {
        let pass = Pass { prior_weight: 0.0, ..Pass::WHOLE };
        let learned = Learned { parameters, paths: &self.paths };
        self.evaluate(&pass, learned, &mut Workspace::default()).graph_kl
    }

    /// Compares every gradient for given samples with central differences.
    fn assert_gradients(&self) {
        let pass = Pass { weight: 1.5, draw: 2, ..Pass::WHOLE };
        let loss = |parameters: &[f64], paths: &LocalValues, work: &mut Workspace<f64>| {
            -self.evaluate(&pass, Learned { parameters, paths }, work).elbo()
        };
        let mut work = Workspace::default();
        loss(&self.parameters, &self.paths, &mut work);
        let (grads, local) = (work.grads.clone(), work.local_grads.clone());
        let logits = self.model.lagged().edge_logits;
        let step = 1e-6;
        // A sampled edge has no derivative: its logits are compared by enumeration below.
        let learned = (0..grads.len()).filter(|idx| *idx >= logits.offset + logits.len());
        for idx in learned {
            let mut at = |shift: f64| {
                let mut shifted = self.parameters.clone();
                shifted[idx] += shift;
                loss(&shifted, &self.paths, &mut work)
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            // Values of order 100: rounding 1e-14 / step, and kinks of the nets nearby.
            assert!(
                (slope - grads[idx]).abs() < 1e-5 * (1.0 + slope.abs()),
                "{:?} {idx}",
                self.model.structure()
            );
        }
        for idx in 0..self.paths.log_deviations.len() {
            for field in 0..3 {
                let mut at = |shift: f64| {
                    let mut paths = self.paths.clone();
                    let LocalValues { means, log_deviations, correlations } = &mut paths;
                    [means, log_deviations, correlations][field][idx] += shift;
                    loss(&self.parameters, &paths, &mut work)
                };
                let slope = (at(step) - at(-step)) / (2.0 * step);
                let grad = [&local.means, &local.log_deviations, &local.correlations][field][idx];
                assert!(
                    (slope - grad).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{field} {idx}: {slope}"
                );
            }
        }
    }

    fn evaluate(&self, pass: &Pass, learned: Learned<'_>, work: &mut Workspace<f64>) -> ElboTerms {
        self.model.evaluate_in(&self.layout, &self.batch, pass, learned, work).unwrap()
    }
}

const SMALL: NetSizes = NetSizes { width: 6, embedding: 4, n_graphs: 3, weight_precision: 0.7 };

fn structure(drift: DriftParts, neural_diffusion: bool) -> BridgeStructure {
    BridgeStructure { drift, neural_diffusion, net_sizes: SMALL, ..BridgeStructure::default() }
}

#[test]
fn gradients_agree_with_central_differences_for_given_samples() {
    let instant = Some(GraphDensity::common());
    for structure in [
        structure(DriftParts::LinearAndNeural, true),
        structure(DriftParts::Neural, false),
        structure(DriftParts::Linear, true),
        BridgeStructure {
            instant_density: instant,
            ..structure(DriftParts::LinearAndNeural, false)
        },
    ] {
        let case = Case::new(3, structure, &EdgePrior::new(3, 0.0));
        case.assert_gradients();
    }
}

/// Every graph with its probability and a model that knows it.
fn all_graphs(case: &Case, d: usize) -> Vec<(Vec<f64>, f64, Case)> {
    let logits = case.model.lagged().edge_logits.of(&case.parameters);
    (0..1_usize << (d * d))
        .map(|code| {
            let graph: Vec<f64> =
                (0..d * d).map(|idx| f64::from(u8::from(code >> idx & 1 == 1))).collect();
            let mut knowledge = EdgePrior::new(d, 0.0);
            let mut probability = 1.0;
            for (idx, &edge) in graph.iter().enumerate() {
                knowledge.know(idx / d, idx % d, edge).unwrap();
                let p = logits[idx].sigmoid();
                probability *= edge * p + (1.0 - edge) * (1.0 - p);
            }
            let mut certain = Case::new(d, *case.model.structure(), &knowledge);
            certain.parameters.clone_from(&case.parameters);
            (graph, probability, certain)
        })
        .collect()
}

/// Σ over all graphs of q(G) times the path KL under that graph, and its slopes by the logits.
fn enumerated(case: &Case, graphs: &[(Vec<f64>, f64, Case)], draw: u64) -> (f64, Vec<f64>) {
    let logits = case.model.lagged().edge_logits.of(&case.parameters);
    let mut mean = 0.0;
    let mut slopes = vec![0.0; logits.len()];
    for (graph, probability, certain) in graphs {
        let (kl, _) = certain.path_kl(draw);
        mean += probability * kl;
        for (idx, slope) in slopes.iter_mut().enumerate() {
            // d log q(G) / d logit = G - p.
            *slope += probability * (graph[idx] - logits[idx].sigmoid()) * kl;
        }
    }
    (mean, slopes)
}

/// The gradient of gates' and effects' own divergence, which evaluations add.
fn graph_kl_slopes(case: &Case, d: usize) -> Vec<f64> {
    let step = 1e-6;
    let at = |idx: usize, shift: f64| {
        let mut shifted = case.parameters.clone();
        shifted[case.model.lagged().edge_logits.offset + idx] += shift;
        case.graph_kl(&shifted)
    };
    (0..d * d).map(|idx| (at(idx, step) - at(idx, -step)) / (2.0 * step)).collect()
}

#[test]
fn the_closed_form_of_linear_drift_is_the_sum_over_all_graphs() {
    for d in [2, 3] {
        let case = Case::new(d, BridgeStructure::default(), &EdgePrior::new(d, 0.0));
        let (kl, grads) = case.path_kl(0);
        let (expected, slopes) = enumerated(&case, &all_graphs(&case, d), 0);
        // Up to 512 terms of order 100: rounding.
        assert!((kl - expected).abs() < 1e-9 * expected.abs(), "{kl} {expected}");
        for (idx, own) in graph_kl_slopes(&case, d).iter().enumerate() {
            let found = grads[idx] - own;
            // The central difference of the other terms is right to about 1e-9.
            assert!((found - slopes[idx]).abs() < 1e-6 * (1.0 + slopes[idx].abs()), "{d} {idx}");
        }
    }
}

#[test]
fn sampled_graphs_are_unbiased_in_value_and_nearly_so_in_gradient() {
    for (estimator, tolerance) in [
        // Both are biased where the nets bend: by 0.05 and 0.14 of the gradient's norm here.
        (GraphEstimator::Probability, 0.1),
        (GraphEstimator::Gumbel { temperature: 0.25 }, 0.25),
    ] {
        let structure =
            BridgeStructure { estimator, ..structure(DriftParts::LinearAndNeural, false) };
        let case = Case::new(2, structure, &EdgePrior::new(2, 0.0));
        let (own, graphs) = (graph_kl_slopes(&case, 2), all_graphs(&case, 2));
        let n = 1500;
        let (mut gaps, mut found, mut wanted) = (Vec::new(), vec![0.0; 4], vec![0.0; 4]);
        for draw in 0..n {
            let (kl, grads) = case.path_kl(draw);
            let (expected, slopes) = enumerated(&case, &graphs, draw);
            gaps.push(kl - expected);
            for idx in 0..4 {
                found[idx] += (grads[idx] - own[idx]) / n as f64;
                wanted[idx] += slopes[idx] / n as f64;
            }
        }
        let mean = gaps.iter().sum::<f64>() / n as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n as f64;
        // Four standard errors; the draws are fixed.
        assert!(mean.abs() < 4.0 * (variance / n as f64).sqrt(), "{mean} {variance}");
        let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let bias: Vec<f64> = found.iter().zip(&wanted).map(|(a, b)| a - b).collect();
        let relative = norm(&bias) / norm(&wanted);
        assert!(relative < tolerance, "{estimator:?}: {relative} {found:?} {wanted:?}");
    }
}

#[test]
fn edge_gains_are_the_slopes_of_the_elbo_by_single_probabilities() {
    // A linear model has both: its closed-form gradient and, with a node function that is zero
    // everywhere, edge gains from samples.
    let mut case =
        Case::new(2, structure(DriftParts::LinearAndNeural, false), &EdgePrior::new(2, 0.0));
    let mut linear = Case::new(2, BridgeStructure::default(), &EdgePrior::new(2, 0.0));
    let table = case.model.table().clone();
    for parameter in table.parameters() {
        let values = parameter.slot.of_mut(&mut case.parameters);
        match linear.model.table().find(&parameter.name) {
            Some(same) => values.copy_from_slice(same.slot.of(&linear.parameters)),
            None => values.fill(0.0),
        }
    }
    linear.paths.clone_from(&case.paths);
    let found = super::super::edge_gains::log_odds_from_gains(
        &case.model,
        Learned { parameters: &case.parameters, paths: &case.paths },
        &case.layout,
        3,
    );
    let mut work = Workspace::default();
    let learned = Learned { parameters: &linear.parameters, paths: &linear.paths };
    linear.evaluate(&Pass::WHOLE, learned, &mut work);
    let slot = linear.model.lagged().edge_logits;
    for idx in 0..4 {
        let logit = slot.of(&linear.parameters)[idx];
        let p = logit.sigmoid();
        // The gradient by a logit is p (1 - p) (logit - optimal logit).
        let optimal = logit - slot.of(&work.grads)[idx] / (p * (1.0 - p));
        // Twelve graphs and twelve steps: sampling errors of a few tenths of the gains' size.
        assert!(
            (found[idx] - optimal).abs() < 0.35 * (1.0 + optimal.abs()),
            "{idx}: {} {optimal}",
            found[idx]
        );
    }
}

#[test]
fn a_part_of_one_file_is_trained_measured_and_simulated_like_any_other() {
    let (d, knowledge) = (3, EdgePrior::new(3, 0.0));
    let case = Case::of(d, |scales| {
        let structure = structure(DriftParts::Linear, false);
        BridgeModel::with_parts(structure, &knowledge, scales, |table, n| {
            vec![Arc::new(Squares::new(table, n))]
        })
    });
    case.assert_gradients();
    let Case { model, parameters, .. } = &case;
    let coefficients = model.table().find("squares").unwrap().slot.of(parameters);
    let probabilities: Vec<f64> =
        model.lagged().edge_logits.of(parameters).iter().map(|logit| logit.sigmoid()).collect();
    let state = [0.3, -1.2, 0.7];
    let expected = Squares::formula(coefficients, &probabilities, &state);
    let mean = MeanFieldParts::new(model, parameters);
    let found: Vec<Vec<f64>> = mean.evaluate(&state).map(|(_, added)| added).collect();
    assert_eq!(found, std::slice::from_ref(&expected));
    let part = model.block_parts(parameters).remove(0);
    let mut strengths = Vec::new();
    part.push_strengths(&probabilities, &mut strengths);
    let mut worker = part.worker();
    let strengths = Strengths::new(strengths, d);
    for (found, expected) in worker.run(&strengths, &state).iter().zip(expected) {
        // Single precision.
        assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} {expected}");
    }
    let learned = Learned { parameters, paths: &case.paths };
    let gains = super::super::edge_gains::log_odds_from_gains(model, learned, &case.layout, 3);
    assert!(gains.iter().all(|gain| gain.is_finite()), "{gains:?}");
}
