//! The part of a model with equations: terms with their joint law, paths, what was told about edges.

use super::bridge::{SeriesPlace, check_places, check_times, edge_prior, known_edges};
use super::{FittedModel, ModelPart, check_count};
use crate::fitted::arrays::{Allowed, ArraySource, NamedArray, check_head, read_doubles};
use crate::fitted::error::{FittedError, ModelError};
use crate::graph::prior::EdgePrior;
use crate::numeric::real::{exp, ln};
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::linear::adequacy::Adequacy;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::hidden_path::HiddenPath;
use crate::posterior::polynomial::library::{Curves, Library};
use crate::train::polynomial::{
    Equation, MAX_UNKNOWNS, PolynomialEdges, PolynomialFit, PolynomialSettings, SeriesPath,
    library_of,
};
use crate::train::settings::KnownEdge;
use crate::{ObservedSeries, SeriesSet, Standardizer};

/// Solver steps of a simulation in a sub-step of the fit, whose midpoints are implicit: those of the solver are not, and need
/// shorter ones.
const STEPS_IN_SUB_STEP: f64 = 4.0;
/// Most degrees that a description may ask for.
const MAX_DEGREE: usize = 6;
/// Largest correlation of neighbouring points that is kept.
const NEARLY_ONE: f64 = 1.0 - 1e-12;

/// A model with equations without its arrays.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PolynomialDescription {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Scaling of the values.
    pub standardizer: Standardizer,
    /// Settings of the fit.
    pub settings: PolynomialSettings,
    /// What the fit was told about edges.
    pub known_edges: Vec<KnownEdge>,
    /// Positions of the variables that are part of the process.
    pub varying: Vec<usize>,
    /// Degree of the terms that were chosen.
    pub degree: usize,
    /// Functions that were chosen beside linear terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves: Option<Curves>,
    /// What the innovations still contain.
    pub adequacy: Adequacy,
    /// Log evidence over linear terms.
    pub over_linear: Option<f64>,
    /// Log evidence.
    pub log_evidence: f64,
    /// Whether the fit converged.
    pub has_converged: bool,
    /// Gaps used, and left out.
    pub n_gaps: usize,
    /// Gaps that were too long.
    pub n_left_out: usize,
    /// The user's time in which the data vary by one deviation.
    pub time_unit: f64,
    /// The longest gap used, in these units.
    pub longest: f64,
    /// The longest sub-step, in these units.
    pub sub_step: f64,
    /// Where the series' paths lie.
    pub series: Vec<SeriesPlace>,
}

/// The part of a model with equations.
#[derive(Debug, Clone)]
pub(crate) struct PolynomialPart {
    pub(crate) settings: PolynomialSettings,
    pub(crate) knowledge: EdgePrior,
    /// The fit, its paths in `paths`.
    pub(crate) fit: PolynomialFit,
    pub(crate) edges: PolynomialEdges,
    pub(crate) series: Vec<SeriesPlace>,
    /// Time of every grid point, in the user's unit.
    pub(crate) times: Vec<f64>,
    /// Of all variables, standardised.
    pub(crate) paths: LocalValues,
}

impl FittedModel {
    /// Takes equations that were found, with what the fit was told.
    pub fn from_polynomial(
        fit: PolynomialFit,
        settings: PolynomialSettings,
        knowledge: &EdgePrior,
        data: &SeriesSet,
    ) -> Result<Self, FittedError> {
        let edges = fit.edges(knowledge).ok_or(FittedError::NoEquations)?;
        let names: Vec<&str> = data.series().iter().map(ObservedSeries::name).collect();
        let (series, times) = places(&names, &fit.paths);
        let paths = spread_paths(&fit.paths, &fit.varying, data.n_variables());
        let standardizer = fit.standardizer.clone();
        let part = PolynomialPart {
            settings,
            knowledge: knowledge.clone(),
            fit: PolynomialFit { paths: Vec::new(), ..fit },
            edges,
            series,
            times,
            paths,
        };
        let part = ModelPart::Polynomial(Box::new(part));
        let variables = data.variables().to_vec();
        Ok(Self { variables, standardizer, transform: None, part })
    }
}

impl PolynomialPart {
    /// Longest solver step, in the user's unit.
    pub(crate) fn step_size(&self) -> f64 {
        self.fit.unit * self.fit.sub_step / STEPS_IN_SUB_STEP
    }

    /// The drift of every variable that varies, in the user's units.
    pub(crate) fn equations(&self) -> Vec<Equation> {
        let varying = &self.fit.varying;
        let points = self.paths.means.chunks_exact(self.knowledge.n_variables());
        let points: Vec<f64> =
            points.flat_map(|point| varying.iter().map(|&idx| point[idx])).collect();
        self.fit.equations_along(points.chunks_exact(varying.len()))
    }

    /// Means of the first states of the series, standardised.
    pub(crate) fn first_means(&self) -> Vec<f64> {
        self.of_first_states(|values| values.iter().sum::<f64>() / values.len().max(1) as f64)
    }

    /// Logarithms of their deviations.
    pub(crate) fn first_logs(&self) -> Vec<f64> {
        self.of_first_states(|values| {
            let n = values.len().max(1) as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            // A single series says nothing of how others begin: somewhere among its states.
            if values.len() > 1 { 0.5 * ln((squares / (n - 1.0)).max(1e-12)) } else { 0.0 }
        })
    }

    fn of_first_states(&self, summary: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let d = self.knowledge.n_variables();
        let first = |variable: usize| -> Vec<f64> {
            let at = |place: &SeriesPlace| self.paths.means[place.first_point * d + variable];
            self.series.iter().map(at).collect()
        };
        (0..d).map(|variable| summary(&first(variable))).collect()
    }

    pub(super) fn describe(&self, model: &FittedModel) -> PolynomialDescription {
        let fit = &self.fit;
        PolynomialDescription {
            variables: model.variables().to_vec(),
            standardizer: model.standardizer().clone(),
            settings: self.settings,
            known_edges: known_edges(&self.knowledge, model.variables()),
            varying: fit.varying.clone(),
            degree: fit.degree,
            curves: fit.curves.clone(),
            adequacy: fit.adequacy.clone(),
            over_linear: fit.over_linear,
            log_evidence: fit.belief.log_evidence,
            has_converged: fit.belief.has_converged,
            n_gaps: fit.n_gaps,
            n_left_out: fit.n_left_out,
            time_unit: fit.unit,
            longest: fit.longest,
            sub_step: fit.sub_step,
            series: self.series.clone(),
        }
    }

    pub(super) fn arrays(&self) -> Vec<NamedArray> {
        let (fit, n) = (&self.fit, self.fit.varying.len());
        let column = |name: &str, values: &[f64]| {
            NamedArray::double(name, [values.len(), 1], values.to_vec())
        };
        let sources: Vec<f64> = fit.sources.iter().map(|&is| f64::from(u8::from(is))).collect();
        let belief = &fit.belief;
        let mut arrays = vec![
            column("paths.times", &self.times),
            NamedArray::double("terms.sources", [n, n], sources),
            NamedArray::double("terms.means", [belief.theta.len() / n, n], belief.theta.clone()),
            column("terms.precisions", &belief.precisions),
            column("terms.covariances", &belief.covariances.concat()),
            column("noise", &belief.noise),
            column("measurement", &fit.measurement),
        ];
        let d = self.knowledge.n_variables();
        let LocalValues { means, log_deviations, correlations } = &self.paths;
        let parts = [
            ("paths.means", means),
            ("paths.log_deviations", log_deviations),
            ("paths.correlations", correlations),
        ];
        arrays.extend(
            parts.map(|(name, values)| {
                NamedArray::double(name, [values.len() / d, d], values.clone())
            }),
        );
        arrays
    }

    pub(super) fn read<S: ArraySource + ?Sized>(
        description: PolynomialDescription,
        arrays: &S,
    ) -> Result<Self, ModelError> {
        let d = description.variables.len();
        let n = description.varying.len();
        // Before anything of n x n entries is made: is there a file of that size?
        check_head(arrays, "terms.sources", [n, n], "f64")?;
        description.check()?;
        let knowledge = edge_prior(&description.known_edges, &description.variables)?;
        let sources = read_doubles(arrays, "terms.sources", [n, n], Allowed::Finite)?;
        let sources: Vec<bool> = sources.iter().map(|&value| value != 0.0).collect();
        check_size(&sources, n, description.degree)?;
        let library = library_of(n, &sources, description.degree, description.curves.as_ref());
        let n_terms = library.n_terms();
        let column = |name: &str, n| read_doubles(arrays, name, [n, 1], Allowed::Finite);
        let sizes: Vec<usize> = (0..n).map(|target| library.unknowns_of(target).len()).collect();
        let n_covariances = sizes.iter().map(|size| size * size).sum();
        let covariances = cut(&column("terms.covariances", n_covariances)?, &sizes);
        let extent = check_places(&description.series)?;
        let times = column("paths.times", extent.n_points)?;
        check_times(&description.series, &times)?;
        let rows = |part: &str| read_doubles(arrays, part, [extent.n_points, d], Allowed::Finite);
        let fit = PolynomialFit {
            standardizer: description.standardizer.clone(),
            varying: description.varying.clone(),
            sources,
            degree: description.degree,
            curves: description.curves.clone(),
            tried: Vec::new(),
            belief: Belief {
                theta: read_doubles(arrays, "terms.means", [n_terms, n], Allowed::Finite)?,
                covariances,
                precisions: column("terms.precisions", n_terms)?,
                noise: column("noise", n)?,
                log_evidence: description.log_evidence,
                has_converged: description.has_converged,
                innovations: Vec::new(),
                paths: Vec::new(),
            },
            measurement: column("measurement", n)?,
            paths: Vec::new(),
            adequacy: description.adequacy.clone(),
            over_linear: description.over_linear,
            n_gaps: description.n_gaps,
            n_left_out: description.n_left_out,
            unit: description.time_unit,
            longest: description.longest,
            sub_step: description.sub_step,
            // Of a fit that is done with, nothing more is asked.
            is_complete: description.has_converged,
        };
        let edges = fit.edges(&knowledge).ok_or_else(|| ModelError::Inconsistent {
            what: "the covariances of terms",
            expected: "positive definite".into(),
            found: "others".into(),
        })?;
        Ok(Self {
            settings: description.settings,
            knowledge,
            fit,
            edges,
            series: description.series,
            times,
            paths: LocalValues {
                means: rows("paths.means")?,
                log_deviations: rows("paths.log_deviations")?,
                correlations: rows("paths.correlations")?,
            },
        })
    }
}

impl PolynomialDescription {
    fn check(&self) -> Result<(), ModelError> {
        let d = self.variables.len();
        let wrong = |what: &'static str, expected: &str, found: String| {
            Err(ModelError::Inconsistent { what, expected: expected.to_owned(), found })
        };
        let increases = self.varying.windows(2).all(|pair| pair[0] < pair[1]);
        if !increases || self.varying.last().is_none_or(|&last| last >= d) {
            return wrong(
                "the variables of the process",
                "in order",
                format!("{:?}", self.varying),
            );
        }
        if !(1..=MAX_DEGREE).contains(&self.degree) {
            return wrong("the degree of the terms", "between 1 and 6", self.degree.to_string());
        }
        if let Some(curves) = &self.curves {
            check_count("the functions of variables", self.varying.len(), curves.n_variables())?;
            if self.degree != 1 {
                let found = self.degree.to_string();
                return wrong("the degree of terms beside functions", "1", found);
            }
        }
        let scales = [self.time_unit, self.sub_step];
        if let Some(bad) = scales.into_iter().find(|value| !(value.is_finite() && *value > 0.0)) {
            return wrong("every scale of time", "positive and finite", bad.to_string());
        }
        check_count("the shares of variables", d, self.adequacy.shares.len())?;
        check_count("the shares of variables", d, self.adequacy.clustering.len())
    }
}

/// Refuses a library that no fit could have had, before it is made.
fn check_size(sources: &[bool], n: usize, degree: usize) -> Result<(), ModelError> {
    let n_unknowns: usize = (0..n)
        .map(|target| (0..n).filter(|source| sources[source * n + target]).count())
        .map(|n_sources| Library::size(n_sources, degree))
        .sum();
    if n_unknowns <= MAX_UNKNOWNS {
        return Ok(());
    }
    Err(ModelError::Inconsistent {
        what: "the number of coefficients",
        expected: format!("at most {MAX_UNKNOWNS}"),
        found: n_unknowns.to_string(),
    })
}

/// Squares of these sizes that stand behind each other.
fn cut(values: &[f64], sizes: &[usize]) -> Vec<Vec<f64>> {
    let mut first = 0;
    let mut next = |size: &usize| {
        first += size * size;
        values[first - size * size..first].to_vec()
    };
    sizes.iter().map(&mut next).collect()
}

fn places(names: &[&str], paths: &[SeriesPath]) -> (Vec<SeriesPlace>, Vec<f64>) {
    let mut first = 0;
    let places = names.iter().zip(paths).map(|(name, path)| {
        let (first_point, n_points) = (first, path.times.len());
        first += n_points;
        SeriesPlace {
            name: (*name).to_owned(),
            first_point,
            first_deviation_row: first_point,
            n_points,
        }
    });
    let places = places.collect();
    (places, paths.iter().flat_map(|path| path.times.iter().copied()).collect())
}

/// Paths of all variables, as models keep them; those that never vary stay where they are.
fn spread_paths(paths: &[SeriesPath], varying: &[usize], d: usize) -> LocalValues {
    let n_points: usize = paths.iter().map(|path| path.times.len()).sum();
    let mut all = LocalValues {
        means: vec![0.0; n_points * d],
        log_deviations: vec![ln(1e-6); n_points * d],
        correlations: vec![0.0; n_points * d],
    };
    let n = varying.len();
    let mut first = 0;
    for SeriesPath { times, law } in paths {
        let HiddenPath { means, variances, with_next } = law;
        for idx in 0..times.len() * n {
            let at = (first + idx / n) * d + varying[idx % n];
            all.means[at] = means[idx];
            let variance = variances[idx].max(1e-12);
            all.log_deviations[at] = 0.5 * ln(variance);
            if let Some(next) = variances.get(idx + n) {
                let correlation = with_next[idx] / (variance * next.max(1e-12)).sqrt();
                all.correlations[at] = libm::atanh(correlation.clamp(-NEARLY_ONE, NEARLY_ONE));
            }
        }
        first += times.len();
    }
    all
}

/// Deviations of the measurements of all variables, standardised.
pub(in crate::fitted) fn measurement_deviations(part: &PolynomialPart) -> Vec<f64> {
    let mut all = vec![exp(-0.5 * 30.0); part.knowledge.n_variables()];
    for (&variable, variance) in part.fit.varying.iter().zip(&part.fit.measurement) {
        all[variable] = variance.sqrt();
    }
    all
}
