//! A model of a linear process whose parameters are known, in the user's units.

use super::bridge::{BridgeMember, BridgePart, SeriesPlace};
use super::{FittedModel, ModelPart};
use crate::fitted::error::FittedError;
use crate::graph::prior::EdgePrior;
use crate::numeric::real::ln;
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::bridge::model::BridgeModel;
use crate::posterior::bridge::structure::BridgeStructure;
use crate::train::bridge::BridgeSettings;
use crate::{CoreError, Standardizer};

/// dX_j = (offset_j + Σ_i effect_ij X_i) dt + diffusion_j dW_j; effects of 0 are no edges.
///
/// ```
/// use driftgraph_core::fitted::model::{FittedModel, LinearProcess};
///
/// let process = LinearProcess {
///     effects: vec![-1.0, 0.5, 0.0, -1.0],
///     ..LinearProcess::resting(vec!["a".into(), "b".into()])
/// };
/// let model = FittedModel::linear(&process)?;
/// assert_eq!(model.edge_probabilities(), [1.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearProcess {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Effects `[source, target]`, per unit of time.
    pub effects: Vec<f64>,
    /// Offsets of the drift, per unit of time.
    pub offsets: Vec<f64>,
    /// Diffusions, per square root of time; positive.
    pub diffusions: Vec<f64>,
    /// Means of the initial law.
    pub initial_means: Vec<f64>,
    /// Deviations of the initial law; positive.
    pub initial_deviations: Vec<f64>,
    /// Deviation of the measurement noise; positive.
    pub noise_deviations: Vec<f64>,
    /// Longest solver step.
    pub step_size: f64,
    /// Series whose hidden path is known by its moments.
    pub paths: Vec<KnownPath>,
}

/// A Gauss-Markov path known by its moments at grid points.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownPath {
    /// Name of the series.
    pub name: String,
    /// Times of the grid points, increasing.
    pub times: Vec<f64>,
    /// Means `[point, variable]`.
    pub means: Vec<f64>,
    /// Deviations `[point, variable]`; positive.
    pub deviations: Vec<f64>,
    /// Correlations of each point with the next, `[point, variable]`; between -1 and 1.
    pub correlations: Vec<f64>,
}

impl LinearProcess {
    /// Variables that do nothing but diffuse, to be filled in.
    pub fn resting(variables: Vec<String>) -> Self {
        let d = variables.len();
        Self {
            variables,
            effects: vec![0.0; d * d],
            offsets: vec![0.0; d],
            diffusions: vec![1.0; d],
            initial_means: vec![0.0; d],
            initial_deviations: vec![1.0; d],
            noise_deviations: vec![0.01; d],
            step_size: 0.1,
            paths: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), CoreError> {
        let d = self.variables.len();
        crate::data::series::check_variables(&self.variables)?;
        if self.effects.len() != d * d {
            return Err(CoreError::WrongGraphSize { n_variables: d, found: self.effects.len() });
        }
        let columns =
            [&self.offsets, &self.diffusions, &self.initial_means, &self.initial_deviations];
        for column in columns.into_iter().chain([&self.noise_deviations]) {
            check_size("the process", d, 1, column.len())?;
        }
        if !(self.step_size > 0.0 && self.step_size.is_finite()) {
            return Err(CoreError::BadStepSize { step_size: self.step_size });
        }
        for path in &self.paths {
            for column in [&path.means, &path.deviations, &path.correlations] {
                check_size(&path.name, d, path.times.len(), column.len())?;
            }
        }
        Ok(())
    }
}

fn check_size(series: &str, d: usize, n_rows: usize, found: usize) -> Result<(), CoreError> {
    if found == n_rows * d {
        return Ok(());
    }
    Err(CoreError::WrongSize { series: series.to_owned(), n_rows, n_variables: d, found })
}

impl FittedModel {
    /// The model of a known linear process.
    pub fn linear(process: &LinearProcess) -> Result<Self, FittedError> {
        process.check()?;
        let d = process.variables.len();
        // Scaled as the data of such a process would be, so that both ways of scaling are used.
        let standardizer =
            Standardizer::known(process.initial_means.clone(), process.initial_deviations.clone());
        let mut knowledge = EdgePrior::new(d, 0.0);
        for (idx, &effect) in process.effects.iter().enumerate() {
            let probability = f64::from(u8::from(effect != 0.0));
            knowledge.know(idx / d, idx % d, probability)?;
        }
        let structure =
            BridgeStructure { noise: ObservationNoise::Gaussian, ..BridgeStructure::default() };
        let model = BridgeModel::new(structure, &knowledge, vec![1.0; d]);
        let odds = |effect: &f64| if *effect == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        let member = BridgeMember {
            seed: 0,
            parameters: parameters(process, &model),
            paths: paths(process),
            lagged_log_odds: process.effects.iter().map(odds).collect(),
            instant_log_odds: None,
            beliefs: None,
        };
        let part = BridgePart {
            settings: BridgeSettings {
                step_size: Some(process.step_size),
                ..BridgeSettings::default()
            },
            knowledge,
            model,
            time_unit: process.step_size,
            step_size: process.step_size,
            series: places(&process.paths),
            times: process.paths.iter().flat_map(|path| path.times.clone()).collect(),
            members: vec![member],
        };
        let part = ModelPart::Bridge(Box::new(part));
        Ok(Self { variables: process.variables.clone(), standardizer, transform: None, part })
    }
}

/// The process in standardised values and in steps as the unit of time.
fn parameters(process: &LinearProcess, model: &BridgeModel) -> Vec<f64> {
    let d = process.variables.len();
    let (means, scales, unit) =
        (&process.initial_means, &process.initial_deviations, process.step_size);
    let mut parameters = vec![0.0; model.table().len()];
    let mut set = |name: &str, value: &dyn Fn(usize) -> f64| {
        let slot = model.table().find(name).expect("every bridge model has it").slot;
        for (idx, out) in slot.of_mut(&mut parameters).iter_mut().enumerate() {
            *out = value(idx);
        }
    };
    set("lagged.means", &|idx| unit * process.effects[idx] * scales[idx / d] / scales[idx % d]);
    // Known exactly.
    set("lagged.log_deviations", &|_| -700.0);
    set("offsets", &|target| {
        let inflow: f64 = (0..d).map(|idx| means[idx] * process.effects[idx * d + target]).sum();
        unit * (process.offsets[target] + inflow) / scales[target]
    });
    set("log_diffusions", &|idx| ln(unit.sqrt() * process.diffusions[idx] / scales[idx]));
    set("noise.log_scales", &|idx| ln(process.noise_deviations[idx] / scales[idx]));
    parameters
}

fn paths(process: &LinearProcess) -> LocalValues {
    let d = process.variables.len();
    let (means, scales) = (&process.initial_means, &process.initial_deviations);
    let mut values = LocalValues::default();
    for path in &process.paths {
        let cells = path.means.iter().enumerate();
        values.means.extend(cells.map(|(idx, mean)| (mean - means[idx % d]) / scales[idx % d]));
        let cells = path.deviations.iter().enumerate();
        values.log_deviations.extend(cells.map(|(idx, value)| ln(value / scales[idx % d])));
        values.correlations.extend(path.correlations.iter().map(|&value| libm::atanh(value)));
    }
    values
}

fn places(paths: &[KnownPath]) -> Vec<SeriesPlace> {
    let mut first = 0;
    let place = |path: &KnownPath| {
        let n_points = path.times.len();
        first += n_points;
        let start = first - n_points;
        SeriesPlace {
            name: path.name.clone(),
            first_point: start,
            first_deviation_row: start,
            n_points,
        }
    };
    paths.iter().map(place).collect()
}
