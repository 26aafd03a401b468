//! The gradient of the whole bridge ELBO against central differences, in every variant.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::bridge::BridgePosterior;
use driftgraph_core::testing::posterior::bridge::batch::{Batch, Learned, LocalValues};
use driftgraph_core::testing::posterior::bridge::blocks::Epoch;
use driftgraph_core::testing::posterior::bridge::innovation::InnovationLaw;
use driftgraph_core::testing::posterior::bridge::layout::BridgeLayout;
use driftgraph_core::testing::posterior::bridge::model::{BridgeModel, Workspace};
use driftgraph_core::testing::posterior::bridge::structure::{BridgeStructure, Pass};
use driftgraph_core::{ObservedSeries, SeriesSet};

const N_VARIABLES: usize = 3;

const PASS: Pass = Pass { weight: 2.0, prior_weight: 0.7, seed: 5, draw: 3 };

/// Four short series: two share a grid, one has holes, one has other times.
fn data() -> SeriesSet {
    let mut random = RandomStream::new(8, Purpose::MeasurementNoise, 0);
    let times: [&[f64]; 4] =
        [&[0.0, 1.0, 2.0, 4.5], &[3.0, 4.0, 5.0, 7.5], &[0.0, 1.0, 2.0, 4.5], &[0.0, 0.4, 1.9]];
    let series = times.iter().enumerate().map(|(idx, times)| {
        let mut values = vec![0.0; times.len() * N_VARIABLES];
        random.fill_normal(&mut values);
        if idx == 2 {
            values[4] = f64::NAN;
            values[9] = f64::NAN;
        }
        ObservedSeries::new(format!("s{idx}"), N_VARIABLES, times.to_vec(), values).unwrap()
    });
    let names = (0..N_VARIABLES).map(|idx| format!("x{idx}")).collect();
    SeriesSet::new(names, series.collect()).unwrap()
}

type Field = fn(&mut LocalValues) -> &mut Vec<f64>;

struct Case {
    model: BridgeModel,
    layout: BridgeLayout,
    batch: Batch,
    parameters: Vec<f64>,
    paths: LocalValues,
}

impl Case {
    fn new(instantaneous: bool, innovation: InnovationLaw, noise: ObservationNoise) -> Self {
        let structure = BridgeStructure {
            density: GraphDensity::default(),
            instant_density: instantaneous
                .then_some(GraphDensity::Common { alpha: 0.5, beta: 5.0 }),
            innovation,
            noise,
            learn_noise: true,
            ..BridgeStructure::default()
        };
        let mut knowledge = EdgePrior::new(N_VARIABLES, 0.0);
        knowledge.know(0, 1, 0.7).unwrap();
        knowledge.know(1, 2, 0.0).unwrap();
        knowledge.know(2, 0, 1.0).unwrap();
        let layout = BridgeLayout::new(&data(), 1.0).unwrap();
        let (posterior, start) = BridgePosterior::smoothed(layout, None);
        let model = BridgeModel::new(structure, &knowledge, start.increment_scales);
        let mut parameters = model.initial_parameters(&posterior, &[0.3, 0.4, 0.5], 1);
        let BridgePosterior { layout, values: mut paths } = posterior;
        // Away from the start, where many terms vanish.
        let mut random = RandomStream::new(9, Purpose::Weights, 0);
        for buffer in
            [&mut parameters, &mut paths.means, &mut paths.log_deviations, &mut paths.correlations]
        {
            let mut shifts = vec![0.0; buffer.len()];
            random.fill_normal(&mut shifts);
            buffer.iter_mut().zip(shifts).for_each(|(value, shift)| *value += 0.2 * shift);
        }
        let batch = Batch::new(&layout, Epoch::new(&layout, 2, 0, 0).batch(0));
        Self { model, layout, batch, parameters, paths }
    }

    fn loss(&self, parameters: &[f64], paths: &LocalValues, work: &mut Workspace) -> f64 {
        let learned = Learned { parameters, paths };
        let terms = self.model.evaluate(&self.layout, &self.batch, &PASS, learned, work).unwrap();
        -terms.elbo()
    }

    /// Largest disagreement of the gradient with central differences, relative to 1 + |slope|.
    fn worst(&self) -> f64 {
        let mut work = Workspace::default();
        self.loss(&self.parameters, &self.paths, &mut work);
        let (grads, local) = (work.grads.clone(), work.local_grads.clone());
        let mut worst = 0.0_f64;
        let mut compare = |grad: f64, at: &mut dyn FnMut(f64) -> f64| {
            let step = 1e-5;
            let slope = (at(step) - at(-step)) / (2.0 * step);
            worst = worst.max((slope - grad).abs() / (1.0 + slope.abs()));
        };
        for idx in 0..self.parameters.len() {
            let mut parameters = self.parameters.clone();
            compare(grads[idx], &mut |shift| {
                parameters[idx] = self.parameters[idx] + shift;
                self.loss(&parameters, &self.paths, &mut work)
            });
        }
        let fields: [(Field, &[usize], &[f64]); 3] = [
            (|paths| &mut paths.means, &self.batch.points, &local.means),
            (|paths| &mut paths.log_deviations, &self.batch.deviation_rows, &local.log_deviations),
            (|paths| &mut paths.correlations, &self.batch.deviation_rows, &local.correlations),
        ];
        for (field, rows, grads) in fields {
            for (place, &row) in rows.iter().enumerate() {
                for variable in 0..N_VARIABLES {
                    let mut paths = self.paths.clone();
                    let original = field(&mut paths)[row * N_VARIABLES + variable];
                    compare(grads[place * N_VARIABLES + variable], &mut |shift| {
                        field(&mut paths)[row * N_VARIABLES + variable] = original + shift;
                        self.loss(&self.parameters, &paths, &mut work)
                    });
                }
            }
        }
        worst
    }
}

#[test]
fn gradients_of_the_elbo_agree_with_central_differences() {
    use InnovationLaw::{Gaussian, Laplace, Mixture};
    for instantaneous in [false, true] {
        for innovation in [Gaussian, Laplace, Mixture] {
            for noise in [ObservationNoise::Gaussian, ObservationNoise::Laplace] {
                let worst = Case::new(instantaneous, innovation, noise).worst();
                // Values of order 1e3: rounding 1e-13 / 1e-5, and third derivatives times 1e-10.
                assert!(worst < 1e-6, "{instantaneous} {innovation:?} {noise:?}: {worst}");
            }
        }
    }
}
