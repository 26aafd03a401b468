//! Everything a fit has learned, in one type for both posteriors: edges, process, paths, scaling.

mod bridge;
mod linear;
mod polynomial;
mod simulated;

pub use bridge::{BridgeDescription, SeriesPlace};
pub use linear::{KnownPath, LinearProcess};
pub use polynomial::PolynomialDescription;

pub(crate) use bridge::{BridgeMember, BridgePart};
pub(crate) use polynomial::PolynomialPart;
pub(crate) use simulated::SimulatedPart;

pub(super) use polynomial::measurement_deviations;

use super::arrays::{ArraySource, NamedArray};
use super::error::{FittedError, ModelError};
use crate::numeric::real::{Real, ln};
use crate::train::bridge::combined_scores;
use crate::train::fit::FitSummary;
use crate::{EdgeScores, Fit, SeriesSet, Standardizer, Transform};

/// What a fit has learned, ready to be asked.
#[derive(Debug, Clone)]
pub struct FittedModel {
    variables: Vec<String>,
    standardizer: Standardizer,
    /// What was taken out of the data before the fit.
    transform: Option<Transform>,
    pub(crate) part: ModelPart,
}

/// What depends on the posterior.
#[derive(Debug, Clone)]
pub(crate) enum ModelPart {
    Bridge(Box<BridgePart>),
    Polynomial(Box<PolynomialPart>),
    Simulated(Box<SimulatedPart>),
}

/// A model without its arrays: names, settings, scaling and sizes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "posterior", rename_all = "kebab-case")]
pub enum ModelDescription {
    /// The bridge posterior.
    Bridge(Box<BridgeDescription>),
    /// Equations.
    Polynomial(Box<PolynomialDescription>),
    /// The simulated posterior of the paper.
    Simulated(Box<FitSummary>),
}

impl ModelDescription {
    /// Names of the variables.
    pub fn variables(&self) -> &[String] {
        match self {
            Self::Bridge(description) => &description.variables,
            Self::Polynomial(description) => &description.variables,
            Self::Simulated(summary) => &summary.variables,
        }
    }
}

/// Log-odds of edges; infinite where an edge was not learned.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeLogOdds {
    /// Of an effect on the drift (or the noise), `[source, target]`.
    pub lagged: Vec<f64>,
    /// Of an effect within a step, where the model has such effects.
    pub instant: Option<Vec<f64>>,
}

impl FittedModel {
    /// Takes what an ensemble of bridge fits has learned.
    ///
    /// `knowledge` is what the fits were told about edges.
    pub fn from_ensemble(
        ensemble: &crate::train::select::EnsembleFit,
        knowledge: &crate::graph::prior::EdgePrior,
        data: &SeriesSet,
    ) -> Self {
        let trainer = ensemble.members()[0].trainer();
        Self {
            variables: trainer.variables().to_vec(),
            standardizer: trainer.standardizer().clone(),
            transform: None,
            part: ModelPart::Bridge(Box::new(BridgePart::new(ensemble, knowledge, data))),
        }
    }

    /// Takes what a fit of the simulated posterior to `data` has learned.
    pub fn from_fit(fit: Fit, data: &SeriesSet) -> Self {
        Self {
            variables: fit.variables().to_vec(),
            standardizer: fit.standardizer().clone(),
            transform: None,
            part: ModelPart::Simulated(Box::new(SimulatedPart::new(fit, data))),
        }
    }

    /// Puts a model together again; nothing is read before its name, shape and kind were checked.
    pub fn from_parts<S: ArraySource + ?Sized>(
        description: ModelDescription,
        arrays: &S,
    ) -> Result<Self, ModelError> {
        Ok(match description {
            ModelDescription::Bridge(description) => {
                let (variables, standardizer) =
                    (description.variables.clone(), description.standardizer.clone());
                check_names_and_scaling(&variables, &standardizer)?;
                let part = ModelPart::Bridge(Box::new(BridgePart::read(*description, arrays)?));
                Self { variables, standardizer, transform: None, part }
            }
            ModelDescription::Polynomial(description) => {
                let (variables, standardizer) =
                    (description.variables.clone(), description.standardizer.clone());
                check_names_and_scaling(&variables, &standardizer)?;
                let part = PolynomialPart::read(*description, arrays)?;
                let part = ModelPart::Polynomial(Box::new(part));
                Self { variables, standardizer, transform: None, part }
            }
            ModelDescription::Simulated(summary) => {
                check_names_and_scaling(&summary.variables, &summary.standardizer)?;
                let part = SimulatedPart::read(*summary, arrays)?;
                Self {
                    variables: part.fit.variables().to_vec(),
                    standardizer: part.fit.standardizer().clone(),
                    transform: None,
                    part: ModelPart::Simulated(Box::new(part)),
                }
            }
        })
    }

    /// The same model of data that something was taken out of: from now on it is asked in the user's units.
    pub fn with_transform(mut self, transform: Option<Transform>) -> Result<Self, ModelError> {
        if transform.as_ref().is_some_and(|found| !found.is_valid(self.n_variables())) {
            return Err(ModelError::Inconsistent {
                what: "what was taken out of the data",
                expected: format!("finite numbers for {} variables", self.n_variables()),
                found: "something else".to_owned(),
            });
        }
        self.transform = transform;
        Ok(self)
    }

    /// What was taken out of the data before the fit.
    pub fn transform(&self) -> Option<&Transform> {
        self.transform.as_ref()
    }

    /// Deviation of each variable as it was measured, in the user's units.
    pub fn measured_scales(&self) -> &[f64] {
        self.transform.as_ref().map_or(self.standardizer.scales(), Transform::scales)
    }

    /// Everything but the arrays.
    pub fn description(&self) -> ModelDescription {
        match &self.part {
            ModelPart::Bridge(part) => ModelDescription::Bridge(Box::new(part.describe(self))),
            ModelPart::Polynomial(part) => {
                ModelDescription::Polynomial(Box::new(part.describe(self)))
            }
            ModelPart::Simulated(part) => ModelDescription::Simulated(Box::new(part.fit.summary())),
        }
    }

    /// All parameters and path posteriors, by name.
    pub fn arrays(&self) -> Vec<NamedArray> {
        match &self.part {
            ModelPart::Bridge(part) => part.arrays(),
            ModelPart::Polynomial(part) => part.arrays(),
            ModelPart::Simulated(part) => part.arrays(),
        }
    }

    /// Names of the variables, in column order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.variables.len()
    }

    /// Position of a variable.
    pub fn variable(&self, name: &str) -> Result<usize, FittedError> {
        let found = self.variables.iter().position(|variable| variable == name);
        found.ok_or_else(|| FittedError::UnknownVariable {
            name: name.to_owned(),
            known: self.variables.clone(),
        })
    }

    /// Scaling between the user's values and the model's.
    pub fn standardizer(&self) -> &Standardizer {
        &self.standardizer
    }

    /// Number of processes that were learned with different seeds.
    pub fn n_members(&self) -> usize {
        match &self.part {
            ModelPart::Bridge(part) => part.members.len(),
            ModelPart::Polynomial(_) | ModelPart::Simulated(_) => 1,
        }
    }

    /// Longest solver step of the fit, in the user's unit of time.
    pub fn step_size(&self) -> f64 {
        match &self.part {
            ModelPart::Bridge(part) => part.step_size,
            ModelPart::Polynomial(part) => part.step_size(),
            ModelPart::Simulated(part) => {
                part.fit.settings().step_size / part.fit.time_scaling().scale
            }
        }
    }

    /// How long a series of the fit usually is, in the user's unit of time.
    ///
    /// A hundred solver steps where the model does not know its series.
    pub fn usual_span(&self) -> f64 {
        let times = self.series_times();
        let spans = times.iter().map(|own| own[own.len() - 1] - own[0]);
        let mut spans: Vec<f64> = spans.filter(|span| *span > 0.0).collect();
        spans.sort_by(f64::total_cmp);
        spans.get(spans.len() / 2).copied().unwrap_or(100.0 * self.step_size())
    }

    /// The same as the data say, where they are at hand.
    pub fn usual_span_in(&self, data: Option<&SeriesSet>) -> f64 {
        let series = data.map_or(&[][..], SeriesSet::series).iter();
        let mut spans: Vec<f64> = series
            .map(|series| series.times()[series.n_observations() - 1] - series.times()[0])
            .filter(|span| *span > 0.0)
            .collect();
        spans.sort_by(f64::total_cmp);
        spans.get(spans.len() / 2).copied().unwrap_or_else(|| self.usual_span())
    }

    /// The earliest time of the series of the fit, in the model or in the data; 0 where neither knows it.
    pub fn first_time_in(&self, data: Option<&SeriesSet>) -> f64 {
        let data = data.map_or(&[][..], SeriesSet::series).iter().map(|series| series.times()[0]);
        let own = self.series_times();
        data.chain(own.iter().map(|own| own[0])).reduce(f64::min).unwrap_or(0.0)
    }

    /// Grid times of the series of the fit, where the model knows them.
    fn series_times(&self) -> Vec<&[f64]> {
        let (places, times) = match &self.part {
            ModelPart::Bridge(part) => (&part.series, &part.times),
            ModelPart::Polynomial(part) => (&part.series, &part.times),
            ModelPart::Simulated(_) => return Vec::new(),
        };
        places
            .iter()
            .map(|place| &times[place.first_point..place.first_point + place.n_points])
            .collect()
    }

    /// Mean log-odds over members.
    pub(crate) fn log_odds(&self) -> EdgeLogOdds {
        match &self.part {
            ModelPart::Bridge(part) => EdgeLogOdds {
                lagged: mean(part.members.iter().map(|member| &member.lagged_log_odds[..])),
                instant: part.members[0].instant_log_odds.as_ref().map(|_| {
                    mean(
                        part.members.iter().filter_map(|member| member.instant_log_odds.as_deref()),
                    )
                }),
            },
            ModelPart::Polynomial(part) => {
                EdgeLogOdds { lagged: part.edges.log_odds.clone(), instant: None }
            }
            ModelPart::Simulated(part) => {
                EdgeLogOdds { lagged: part.fit.edge_scores().matrix().to_vec(), instant: None }
            }
        }
    }

    /// The same from the probabilities that are believed, averaged over members: what kinds and parts of edges go by.
    pub(crate) fn believed_log_odds(&self) -> EdgeLogOdds {
        let part = match &self.part {
            ModelPart::Bridge(part) => part,
            ModelPart::Polynomial(part) => {
                return EdgeLogOdds { lagged: part.edges.believed.clone(), instant: None };
            }
            ModelPart::Simulated(_) => return self.log_odds(),
        };
        let logits = |all: Vec<Vec<f64>>| -> Vec<f64> {
            let mean = mean(all.iter().map(|one| &one[..]));
            mean.iter().map(|p| ln(p / (1.0 - p))).collect()
        };
        let members = part.members.iter();
        let instant: Option<Vec<_>> =
            members.clone().map(BridgeMember::instant_probabilities).collect();
        EdgeLogOdds {
            lagged: logits(members.map(BridgeMember::lagged_probabilities).collect()),
            instant: instant.map(logits),
        }
    }

    /// Deviation of the lagged log-odds over members, or over the chains of the only one; 0 for fixed edges.
    pub fn disagreement(&self) -> Vec<f64> {
        let ModelPart::Bridge(part) = &self.part else {
            return vec![0.0; self.n_variables() * self.n_variables()];
        };
        if let [member] = &part.members[..]
            && let Some(chains) = member.beliefs.as_ref().and_then(|own| own.disagreement.clone())
        {
            return chains;
        }
        let mean = self.log_odds().lagged;
        let n = part.members.len() as f64;
        let deviation = |(idx, mean): (usize, &f64)| {
            if !mean.is_finite() {
                return 0.0;
            }
            let gaps = part.members.iter().map(|member| member.lagged_log_odds[idx] - mean);
            (gaps.map(|gap| gap * gap).sum::<f64>() / n).sqrt()
        };
        mean.iter().enumerate().map(deviation).collect()
    }

    /// Probability of any influence of source on target, lagged or within a step.
    ///
    /// Gaussian innovations cannot say in which direction an effect within a step goes: both
    /// directions count.
    pub fn edge_probabilities(&self) -> Vec<f64> {
        let EdgeLogOdds { lagged, instant } = self.believed_log_odds();
        influence_probabilities(&lagged, instant.as_deref())
    }

    /// Scores that rank edges even where their probabilities round to 1.
    pub fn edge_scores(&self) -> EdgeScores {
        let EdgeLogOdds { lagged, instant } = self.log_odds();
        let scores = self.ranks().unwrap_or_else(|| combined_scores(&lagged, instant.as_deref()));
        EdgeScores::from_matrix(self.n_variables(), scores)
            .expect("log-odds are numbers, as checked when the model was made")
    }

    /// What members rank edges by, where that is more than their log-odds.
    fn ranks(&self) -> Option<Vec<f64>> {
        let ModelPart::Bridge(part) = &self.part else { return None };
        let own = |member: &BridgeMember| member.beliefs.as_ref()?.ranks.clone();
        let all: Vec<Vec<f64>> = part.members.iter().map(own).collect::<Option<_>>()?;
        Some(mean(all.iter().map(|one| &one[..])))
    }

    /// Refuses data of other variables.
    pub(crate) fn check_data(&self, data: &SeriesSet) -> Result<(), FittedError> {
        if data.variables() == self.variables {
            return Ok(());
        }
        Err(FittedError::OtherVariables {
            expected: self.variables.clone(),
            found: data.variables().to_vec(),
        })
    }
}

/// Probability of any influence, `[source, target]`: lagged, or within a step in either direction.
fn influence_probabilities(lagged: &[f64], instant: Option<&[f64]>) -> Vec<f64> {
    let Some(instant) = instant else { return sigmoids(lagged) };
    let n = lagged.len().isqrt();
    let influence = |idx: usize| {
        let either = instant[idx].max(instant[(idx % n) * n + idx / n]);
        1.0 - (1.0 - lagged[idx].sigmoid()) * (1.0 - either.sigmoid())
    };
    (0..n * n).map(influence).collect()
}

/// Probabilities of log-odds.
pub(crate) fn sigmoids(log_odds: &[f64]) -> Vec<f64> {
    log_odds.iter().map(|odds| odds.sigmoid()).collect()
}

fn mean<'a>(mut all: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut sum = all.next().map(<[f64]>::to_vec).unwrap_or_default();
    let mut n = 1.0;
    for values in all {
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        n += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= n);
    sum
}

fn check_names_and_scaling(names: &[String], scaling: &Standardizer) -> Result<(), ModelError> {
    crate::data::series::check_variables(names)?;
    let sizes = [("means", scaling.means().len()), ("scales", scaling.scales().len())];
    for (what, found) in sizes {
        check_count(what, names.len(), found)?;
    }
    let fine = scaling.means().iter().all(|mean| mean.is_finite())
        && scaling.scales().iter().all(|scale| scale.is_finite() && *scale > 0.0);
    if fine {
        return Ok(());
    }
    Err(ModelError::Inconsistent {
        what: "the scaling",
        expected: "finite means and positive scales".into(),
        found: format!("{:?} and {:?}", scaling.means(), scaling.scales()),
    })
}

fn check_count(what: &'static str, expected: usize, found: usize) -> Result<(), ModelError> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (format!("{expected} in number"), found.to_string());
    Err(ModelError::Inconsistent { what, expected, found })
}
