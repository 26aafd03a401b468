//! The bridge ELBO is a lower bound of the exact evidence, and reaches it where its family can.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::objective::elbo::ElboTerms;
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::bridge::BridgePosterior;
use driftgraph_core::testing::posterior::bridge::batch::{Batch, Learned, LocalValues};
use driftgraph_core::testing::posterior::bridge::blocks::Epoch;
use driftgraph_core::testing::posterior::bridge::innovation::InnovationLaw;
use driftgraph_core::testing::posterior::bridge::kalman::{
    FilterDynamics, predictive_log_likelihoods,
};
use driftgraph_core::testing::posterior::bridge::layout::BridgeLayout;
use driftgraph_core::testing::posterior::bridge::model::{BridgeModel, Workspace};
use driftgraph_core::testing::posterior::bridge::structure::{BridgeStructure, Pass};
use driftgraph_core::{ObservedSeries, SeriesSet};

/// A linear process with certain effects, given to the model and to the exact filter alike.
struct Linear {
    matrix: Vec<f64>,
    offsets: Vec<f64>,
    innovation: f64,
    noise: f64,
}

struct Case {
    model: BridgeModel,
    layout: BridgeLayout,
    parameters: Vec<f64>,
    paths: LocalValues,
}

fn data(d: usize, times: &[f64], holes: bool) -> SeriesSet {
    let mut values = vec![0.0; d * times.len()];
    RandomStream::new(5, Purpose::Brownian, 1).fill_normal(&mut values);
    for idx in d..values.len() {
        values[idx] += 0.8 * values[idx - d];
    }
    // A few cells were not observed; the first row was, since its density is conditioned on.
    if holes {
        values.iter_mut().skip(d + 1).step_by(7).for_each(|value| *value = f64::NAN);
    }
    let names = (0..d).map(|idx| format!("x{idx}")).collect();
    let series = ObservedSeries::new("a", d, times.to_vec(), values).unwrap();
    SeriesSet::new(names, vec![series]).unwrap()
}

impl Case {
    fn new(linear: &Linear, data: &SeriesSet) -> Self {
        let d = linear.offsets.len();
        let mut knowledge = EdgePrior::new(d, 0.0);
        for idx in 0..d * d {
            let present = if linear.matrix[idx] == 0.0 { 0.0 } else { 1.0 };
            knowledge.know(idx / d, idx % d, present).unwrap();
        }
        let structure = BridgeStructure {
            density: GraphDensity::default(),
            instant_density: None,
            innovation: InnovationLaw::Gaussian,
            noise: ObservationNoise::Gaussian,
            learn_noise: false,
            ..BridgeStructure::default()
        };
        let layout = BridgeLayout::new(data, 1.0).unwrap();
        let (posterior, _) = BridgePosterior::smoothed(layout, Some(linear.noise.powi(2)));
        let model = BridgeModel::new(structure, &knowledge, vec![1.0; d]);
        let mut parameters = model.initial_parameters(&posterior, &vec![linear.noise; d], 0);
        let mut set = |name: &str, values: &[f64]| {
            let slot = model.table().find(name).unwrap().slot;
            slot.of_mut(&mut parameters).copy_from_slice(values);
        };
        set("lagged.means", &linear.matrix);
        set("lagged.log_deviations", &vec![-20.0; d * d]);
        set("offsets", &linear.offsets);
        set("log_diffusions", &vec![linear.innovation.ln(); d]);
        set("initial.means", &vec![0.0; d]);
        set("initial.log_deviations", &vec![0.0; d]);
        let BridgePosterior { layout, values: paths } = posterior;
        Self { model, layout, parameters, paths }
    }

    fn evaluate(&self, work: &mut Workspace) -> ElboTerms {
        let batch = Batch::new(&self.layout, Epoch::new(&self.layout, 1, 0, 0).batch(0));
        let learned = Learned { parameters: &self.parameters, paths: &self.paths };
        self.model.evaluate(&self.layout, &batch, &Pass::WHOLE, learned, work).unwrap()
    }

    /// Improves the paths alone by Adam with a falling rate, and returns the ELBO of the paths.
    fn optimise(&mut self) -> f64 {
        let mut work = Workspace::default();
        let lengths = [self.paths.means.len(), self.paths.log_deviations.len()];
        let mut moments = vec![[0.0; 2]; lengths[0] + 2 * lengths[1]];
        let n = 4000;
        for step in 1..=n {
            self.evaluate(&mut work);
            let grads = &work.local_grads;
            let grads = grads.means.iter().chain(&grads.log_deviations).chain(&grads.correlations);
            let LocalValues { means, log_deviations, correlations } = &mut self.paths;
            let values = means.iter_mut().chain(log_deviations).chain(correlations);
            let rate = 0.03 * (1.0 - f64::from(step) / f64::from(n));
            let corrections = [0.9_f64, 0.99].map(|beta| 1.0 - beta.powi(step));
            for ((value, grad), [first, second]) in values.zip(grads).zip(&mut moments) {
                *first = 0.9 * *first + 0.1 * grad;
                *second = 0.99 * *second + 0.01 * grad * grad;
                *value -=
                    rate * *first / corrections[0] / ((*second / corrections[1]).sqrt() + 1e-10);
            }
        }
        let terms = self.evaluate(&mut work);
        terms.log_likelihood - terms.initial_kl - terms.path_kl
    }

    /// log p(x) by the exact filter; the first row's density is added by hand.
    fn evidence(&self, linear: &Linear) -> f64 {
        let d = linear.offsets.len();
        let mut dynamics = FilterDynamics::random_walk(vec![1.0; d]);
        dynamics.lagged.copy_from_slice(&linear.matrix);
        dynamics.offsets.copy_from_slice(&linear.offsets);
        dynamics.variances.fill(linear.innovation.powi(2));
        dynamics.noise_variances.fill(linear.noise.powi(2));
        dynamics.time_unit = self.layout.time_unit();
        // z_0 ~ N(0, 1) and noise: the first row is N(0, 1 + noise²) per variable.
        let variance = 1.0 + linear.noise.powi(2);
        let first: f64 = (self.layout.observed_row(0).iter())
            .map(|x| -0.5 * (x * x / variance + (std::f64::consts::TAU * variance).ln()))
            .sum();
        first + predictive_log_likelihoods(&dynamics, &self.layout)[0].unwrap()
    }
}

const TIMES: [f64; 14] = [0.0, 1.0, 2.0, 3.0, 4.5, 5.0, 5.5, 7.0, 8.0, 9.0, 10.0, 11.0, 11.3, 13.0];

#[test]
fn for_one_linear_variable_the_elbo_reaches_the_evidence() {
    let linear = Linear { matrix: vec![-0.3], offsets: vec![0.1], innovation: 0.7, noise: 0.4 };
    let mut case = Case::new(&linear, &data(1, &TIMES, true));
    let (elbo, evidence) = (case.optimise(), case.evidence(&linear));
    // Never above but for rounding; the tolerance below is what Adam leaves of the gap.
    assert!(elbo <= evidence + 1e-9, "{elbo} {evidence}");
    assert!(evidence - elbo < 1e-3 * evidence.abs(), "{elbo} {evidence}");
}

#[test]
fn for_several_linear_variables_the_elbo_stays_below_the_evidence() {
    let matrix = vec![-0.3, 0.5, 0.0, 0.0, -0.4, 0.6, -0.5, 0.0, -0.2];
    let linear = Linear { matrix, offsets: vec![0.1, 0.0, -0.2], innovation: 0.7, noise: 0.4 };
    let mut case = Case::new(&linear, &data(3, &TIMES, true));
    let (elbo, evidence) = (case.optimise(), case.evidence(&linear));
    // Independent bridges cannot be exact for coupled variables: a gap must stay, and a small one.
    assert!(elbo < evidence - 1e-6, "{elbo} {evidence}");
    assert!(evidence - elbo < 0.1 * evidence.abs(), "{elbo} {evidence}");
}

#[test]
fn the_filter_agrees_with_the_density_of_the_whole_vector() {
    // Two points, one variable, no holes: x = (z0 + e0, z1 + e1) with z1 = f z0 + c + w.
    let linear = Linear { matrix: vec![-0.3], offsets: vec![0.1], innovation: 0.7, noise: 0.4 };
    let series = ObservedSeries::new("a", 1, vec![0.0, 1.0], vec![0.8, -0.5]).unwrap();
    let data = SeriesSet::new(vec!["x".into()], vec![series]).unwrap();
    let case = Case::new(&linear, &data);
    let (factor, noise) = (0.7_f64, 0.16);
    let (v00, v01, v11) = (1.0 + noise, factor, factor * factor + 0.49 + noise);
    let (x0, x1) = (0.8, -0.5 - 0.1);
    let det = v00 * v11 - v01 * v01;
    let square = (v11 * x0 * x0 - 2.0 * v01 * x0 * x1 + v00 * x1 * x1) / det;
    let expected = -0.5 * (square + det.ln()) - std::f64::consts::TAU.ln();
    // Rounding.
    assert!((case.evidence(&linear) - expected).abs() < 1e-12);
}

#[test]
fn the_step_kl_becomes_the_path_kl_as_steps_shrink() {
    // Posterior dZ = (m' + k (Z - m)) dt + g dW with m = sin t, prior dZ = -Z dt + g dW. The path KL
    // is the integral of E(m' + k y - f)² / 2g² with y = Z - m ~ N(0, s²): the control is
    // m' + m + (k + 1) y.
    let (g, k, end) = (0.5_f64, -2.0_f64, 2.0);
    let error_at = |n: usize| {
        let h = end / n as f64;
        let times: Vec<f64> = (0..=n).map(|idx| idx as f64 * h).collect();
        let linear =
            Linear { matrix: vec![-h], offsets: vec![0.0], innovation: g * h.sqrt(), noise: 0.4 };
        let mut case = Case::new(&linear, &data(1, &times, false));
        let (mut variance, mut path_kl) = (0.04, 0.0);
        for (idx, time) in times.iter().enumerate() {
            case.paths.means[idx] = time.sin();
            case.paths.log_deviations[idx] = 0.5 * f64::ln(variance);
            let factor = 1.0 + k * h;
            let next = factor * factor * variance + g * g * h;
            case.paths.correlations[idx] = (factor * (variance / next).sqrt()).atanh();
            if idx < n {
                let control = time.cos() + time.sin();
                let square = control * control + (k + 1.0).powi(2) * variance;
                path_kl += h * square / (2.0 * g * g);
            }
            variance = next;
        }
        (case.evaluate(&mut Workspace::default()).path_kl - path_kl).abs()
    };
    let errors = [50, 100, 200].map(error_at);
    // The difference is of order h (the chord of sin t against its slope): halving h halves it.
    for pair in errors.windows(2) {
        assert!((0.4..0.6).contains(&(pair[1] / pair[0])), "{errors:?}");
    }
    assert!(errors[2] < 0.05, "{errors:?}");
}
