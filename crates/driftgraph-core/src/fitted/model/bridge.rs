//! The bridge posterior's part of a model: one grid, one structure, several members.

use super::{FittedModel, check_count};
use crate::fitted::arrays::{Allowed, ArraySource, NamedArray, check_head, read_doubles};
use crate::fitted::error::ModelError;
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::numeric::real::Real;
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::bridge::model::BridgeModel;
use crate::posterior::bridge::structure::BridgeStructure;
use crate::train::bridge::{BridgeSettings, DrawnEffects, EdgeBeliefs};
use crate::train::select::EnsembleFit;
use crate::train::settings::KnownEdge;
use crate::{SeriesSet, Standardizer};

/// Largest width of a network that a description may ask for.
const MAX_WIDTH: usize = 1 << 20;

/// Where the path of one series lies.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SeriesPlace {
    /// Name of the series.
    pub name: String,
    /// First row in arrays of grid points.
    pub first_point: usize,
    /// First row in arrays of deviations; files have it under an older name.
    #[serde(rename = "first_spread")]
    pub(crate) first_deviation_row: usize,
    /// Number of grid points.
    pub n_points: usize,
}

/// A bridge model without its arrays.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BridgeDescription {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Scaling of the values.
    pub standardizer: Standardizer,
    /// Settings of the fits.
    pub settings: BridgeSettings,
    /// What the process is made of.
    pub structure: BridgeStructure,
    /// What the fits were told about edges.
    pub known_edges: Vec<KnownEdge>,
    /// Typical size of each variable's increment over a unit of the model's time.
    pub increment_scales: Vec<f64>,
    /// The user's time per unit of the model's.
    pub time_unit: f64,
    /// Longest step of the grids, in the user's unit.
    pub step_size: f64,
    /// Where the series' paths lie.
    pub series: Vec<SeriesPlace>,
    /// Seeds of the members.
    pub seeds: Vec<u64>,
}

/// The bridge posterior's part of a model.
#[derive(Debug, Clone)]
pub(crate) struct BridgePart {
    pub(crate) settings: BridgeSettings,
    pub(crate) knowledge: EdgePrior,
    pub(crate) model: BridgeModel,
    pub(crate) time_unit: f64,
    pub(crate) step_size: f64,
    pub(crate) series: Vec<SeriesPlace>,
    /// Time of every grid point, in the user's unit.
    pub(crate) times: Vec<f64>,
    pub(crate) members: Vec<BridgeMember>,
}

/// One fit of the ensemble.
#[derive(Debug, Clone)]
pub(crate) struct BridgeMember {
    pub(crate) seed: u64,
    pub(crate) parameters: Vec<f64>,
    pub(crate) paths: LocalValues,
    pub(crate) lagged_log_odds: Vec<f64>,
    pub(crate) instant_log_odds: Option<Vec<f64>>,
    /// What is believed of the edges; `None` in models of old, where log-odds were taken at their word.
    pub(crate) beliefs: Option<EdgeBeliefs>,
}

impl BridgePart {
    pub(super) fn new(ensemble: &EnsembleFit, knowledge: &EdgePrior, data: &SeriesSet) -> Self {
        let trainer = ensemble.members()[0].trainer();
        let layout = trainer.layout();
        let series = (layout.series().iter())
            .map(|rows| SeriesPlace {
                name: data.series()[rows.series_idx].name().to_owned(),
                first_point: rows.first_point,
                first_deviation_row: rows.first_deviation_row,
                n_points: rows.n_points,
            })
            .collect();
        let times = layout.series().iter().flat_map(|rows| layout.times(rows).to_vec()).collect();
        let longest = |step: f64| step * layout.time_unit();
        let steps = (0..layout.n_deviation_rows()).map(|row| layout.step(row)).fold(0.0, f64::max);
        let settings = trainer.settings().get().clone();
        Self {
            step_size: settings.step_size.unwrap_or_else(|| longest(steps)),
            settings,
            knowledge: knowledge.clone(),
            model: trainer.model().clone(),
            time_unit: layout.time_unit(),
            series,
            times,
            members: ensemble
                .members()
                .iter()
                .map(|fit| BridgeMember {
                    seed: fit.trainer().settings().get().seed,
                    parameters: fit.state().parameters.clone(),
                    paths: fit.state().paths.clone(),
                    lagged_log_odds: fit.lagged_log_odds().to_vec(),
                    instant_log_odds: fit.instant_log_odds().map(<[f64]>::to_vec),
                    beliefs: Some(fit.beliefs().clone()),
                })
                .collect(),
        }
    }

    pub(super) fn describe(&self, model: &FittedModel) -> BridgeDescription {
        BridgeDescription {
            variables: model.variables().to_vec(),
            standardizer: model.standardizer().clone(),
            settings: self.settings.clone(),
            structure: *self.model.structure(),
            known_edges: known_edges(&self.knowledge, model.variables()),
            increment_scales: self.model.increment_scales().to_vec(),
            time_unit: self.time_unit,
            step_size: self.step_size,
            series: self.series.clone(),
            seeds: self.members.iter().map(|member| member.seed).collect(),
        }
    }

    pub(super) fn arrays(&self) -> Vec<NamedArray> {
        let d = self.model.n_variables();
        let times = self.times.clone();
        let mut arrays = vec![NamedArray::double("paths.times", [times.len(), 1], times)];
        for (number, member) in self.members.iter().enumerate() {
            let name = |part: &str| format!("member{number}.{part}");
            for parameter in self.model.table().parameters() {
                let (slot, numbers) = (parameter.slot, parameter.slot.of(&member.parameters));
                let shape = [slot.rows, slot.cols];
                arrays.push(NamedArray::double(name(&parameter.name), shape, numbers.to_vec()));
            }
            let LocalValues { means, log_deviations, correlations } = &member.paths;
            let lagged = &member.lagged_log_odds;
            let parts = [
                ("paths.means", means),
                ("paths.log_deviations", log_deviations),
                ("paths.correlations", correlations),
                ("lagged.log_odds", lagged),
            ];
            let instant = member.instant_log_odds.iter().map(|values| ("instant.log_odds", values));
            let beliefs = member.beliefs.iter().flat_map(belief_arrays);
            for (part, values) in parts.into_iter().chain(instant).chain(beliefs) {
                let shape = [values.len() / d, d];
                arrays.push(NamedArray::double(name(part), shape, values.clone()));
            }
        }
        arrays
    }

    pub(super) fn read<S: ArraySource + ?Sized>(
        description: BridgeDescription,
        arrays: &S,
    ) -> Result<Self, ModelError> {
        let d = description.variables.len();
        // Before anything of D x D entries is made: is there a file of that size?
        check_head(arrays, "member0.lagged.edge_logits", [d, d], "f64")?;
        description.check()?;
        let knowledge = edge_prior(&description.known_edges, &description.variables)?;
        let scales = description.increment_scales.clone();
        let model = BridgeModel::new(description.structure, &knowledge, scales);
        let extent = check_places(&description.series)?;
        let times = read_doubles(arrays, "paths.times", [extent.n_points, 1], Allowed::Finite)?;
        check_times(&description.series, &times)?;
        let members = (description.seeds.iter().enumerate())
            .map(|(number, &seed)| BridgeMember::read(arrays, &model, extent, number, seed))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            settings: description.settings,
            knowledge,
            model,
            time_unit: description.time_unit,
            step_size: description.step_size,
            series: description.series,
            times,
            members,
        })
    }
}

/// Names of arrays of beliefs.
const LAGGED_BELIEF: &str = "lagged.probabilities";
const INSTANT_BELIEF: &str = "instant.probabilities";
const EFFECTS: &str = "lagged.effects";
const EFFECT_DEVIATIONS: &str = "lagged.effect_deviations";
const DISAGREEMENT: &str = "lagged.disagreement";
const RANKS: &str = "ranks";

fn belief_arrays(beliefs: &EdgeBeliefs) -> Vec<(&'static str, &Vec<f64>)> {
    let effects = beliefs.effects.iter();
    let effects =
        effects.flat_map(|drawn| [(EFFECTS, &drawn.means), (EFFECT_DEVIATIONS, &drawn.deviations)]);
    let instant = beliefs.instant.iter().map(|values| (INSTANT_BELIEF, values));
    let disagreement = beliefs.disagreement.iter().map(|values| (DISAGREEMENT, values));
    let ranks = beliefs.ranks.iter().map(|values| (RANKS, values));
    let lagged = std::iter::once((LAGGED_BELIEF, &beliefs.lagged));
    lagged.chain(instant).chain(effects).chain(disagreement).chain(ranks).collect()
}

/// Numbers of rows of the paths' arrays.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Grid points.
    pub(super) n_points: usize,
    /// Rows of deviations and correlations.
    n_deviation_rows: usize,
}

impl BridgeMember {
    /// Probabilities of lagged edges.
    pub(crate) fn lagged_probabilities(&self) -> Vec<f64> {
        match &self.beliefs {
            Some(beliefs) => beliefs.lagged.clone(),
            None => super::sigmoids(&self.lagged_log_odds),
        }
    }

    /// Probabilities of edges within a step, where the model has any.
    pub(crate) fn instant_probabilities(&self) -> Option<Vec<f64>> {
        let odds = self.instant_log_odds.as_ref()?;
        let believed = self.beliefs.as_ref().and_then(|beliefs| beliefs.instant.clone());
        Some(believed.unwrap_or_else(|| super::sigmoids(odds)))
    }

    fn read<S: ArraySource + ?Sized>(
        arrays: &S,
        model: &BridgeModel,
        extent: Extent,
        number: usize,
        seed: u64,
    ) -> Result<Self, ModelError> {
        let d = model.n_variables();
        let name = |part: &str| format!("member{number}.{part}");
        let shape = |slot: crate::nn::parameters::Slot| [slot.rows, slot.cols];
        for parameter in model.table().parameters() {
            check_head(arrays, &name(&parameter.name), shape(parameter.slot), "f64")?;
        }
        let mut parameters = vec![0.0; model.table().len()];
        for parameter in model.table().parameters() {
            let place = (name(&parameter.name), shape(parameter.slot));
            let values = read_doubles(arrays, &place.0, place.1, Allowed::Finite)?;
            parameter.slot.of_mut(&mut parameters).copy_from_slice(&values);
        }
        let rows = |part: &str, n| read_doubles(arrays, &name(part), [n, d], Allowed::Finite);
        let odds = |part: &str| read_doubles(arrays, &name(part), [d, d], Allowed::Infinite);
        let optional = |part: &str| match arrays.head(&name(part)) {
            Some(_) => read_doubles(arrays, &name(part), [d, d], Allowed::Finite).map(Some),
            None => Ok(None),
        };
        let beliefs = match optional(LAGGED_BELIEF)? {
            None => None,
            Some(lagged) => Some(EdgeBeliefs {
                lagged,
                instant: optional(INSTANT_BELIEF)?,
                effects: match (optional(EFFECTS)?, optional(EFFECT_DEVIATIONS)?) {
                    (Some(means), Some(deviations)) => Some(DrawnEffects { means, deviations }),
                    _ => None,
                },
                disagreement: optional(DISAGREEMENT)?,
                ranks: optional(RANKS)?,
            }),
        };
        Ok(Self {
            seed,
            parameters,
            paths: LocalValues {
                means: rows("paths.means", extent.n_points)?,
                log_deviations: rows("paths.log_deviations", extent.n_deviation_rows)?,
                correlations: rows("paths.correlations", extent.n_deviation_rows)?,
            },
            lagged_log_odds: odds("lagged.log_odds")?,
            instant_log_odds: match model.instant() {
                Some(_) => Some(odds("instant.log_odds")?),
                None => None,
            },
            beliefs,
        })
    }
}

impl BridgeDescription {
    fn check(&self) -> Result<(), ModelError> {
        let problem = |error: crate::train::bridge::BridgeError| ModelError::Settings {
            problem: error.to_string(),
        };
        self.settings.clone().check().map_err(problem)?;
        check_count("the increment scales", self.variables.len(), self.increment_scales.len())?;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let numbers = self.increment_scales.iter().chain([&self.time_unit, &self.step_size]);
        if let Some(bad) = numbers.copied().find(|&value| !positive(value)) {
            return Err(ModelError::Inconsistent {
                what: "every scale of increments and time",
                expected: "positive and finite".into(),
                found: bad.to_string(),
            });
        }
        let sizes = self.structure.net_sizes;
        if let Some(&size) = [sizes.width, sizes.embedding].iter().find(|&&size| size > MAX_WIDTH) {
            return Err(ModelError::Inconsistent {
                what: "the width of a network",
                expected: format!("at most {MAX_WIDTH}"),
                found: size.to_string(),
            });
        }
        if self.seeds.is_empty() {
            check_count("the members", 1, 0)?;
        }
        Ok(())
    }
}

/// The numbers of rows that the paths of some series need.
pub(super) fn check_places(places: &[SeriesPlace]) -> Result<Extent, ModelError> {
    let mut extent = Extent { n_points: 0, n_deviation_rows: 0 };
    for place in places {
        let end = |first: usize| first.checked_add(place.n_points);
        let ends = end(place.first_point).zip(end(place.first_deviation_row));
        let Some((n_points, n_deviation_rows)) = ends.filter(|_| place.n_points > 0) else {
            return Err(ModelError::Inconsistent {
                what: "the grid of a series",
                expected: "a number of points".into(),
                found: place.n_points.to_string(),
            });
        };
        extent.n_points = extent.n_points.max(n_points);
        extent.n_deviation_rows = extent.n_deviation_rows.max(n_deviation_rows);
    }
    Ok(extent)
}

/// Refuses times of a series that do not increase.
pub(super) fn check_times(places: &[SeriesPlace], times: &[f64]) -> Result<(), ModelError> {
    for place in places {
        let own = &times[place.first_point..place.first_point + place.n_points];
        if let Some(pair) = own.windows(2).find(|pair| pair[1] <= pair[0]) {
            return Err(crate::CoreError::TimesNotIncreasing {
                series: place.name.clone(),
                previous: pair[0],
                next: pair[1],
            }
            .into());
        }
    }
    Ok(())
}

/// What is known about edges, by name.
pub(super) fn known_edges(knowledge: &EdgePrior, variables: &[String]) -> Vec<KnownEdge> {
    let n = variables.len();
    let known = |idx: usize| {
        let log_odds = knowledge.log_odds()[idx];
        let probability = match knowledge.rules()[idx] {
            EdgeRule::Forbidden => 0.0,
            EdgeRule::Required => 1.0,
            EdgeRule::Free if log_odds != 0.0 => log_odds.sigmoid(),
            EdgeRule::Free => return None,
        };
        let (source, target) = (variables[idx / n].clone(), variables[idx % n].clone());
        Some(KnownEdge { source, target, probability })
    };
    (0..n * n).filter_map(known).collect()
}

/// The prior that says what is known.
pub(super) fn edge_prior(
    known: &[KnownEdge],
    variables: &[String],
) -> Result<EdgePrior, ModelError> {
    let mut prior = EdgePrior::new(variables.len(), 0.0);
    for edge in known {
        let find = |name: &String| {
            let found = variables.iter().position(|variable| variable == name);
            found.ok_or_else(|| ModelError::Inconsistent {
                what: "the variables of a known edge",
                expected: "variables of the model".into(),
                found: format!("`{name}`"),
            })
        };
        prior.know(find(&edge.source)?, find(&edge.target)?, edge.probability)?;
    }
    Ok(prior)
}
