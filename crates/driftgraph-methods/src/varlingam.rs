//! VARLiNGAM: an autoregression whose innovations are ordered by what is not normal about them.
//!
//! Hyvärinen, Zhang, Shimizu and Hoyer (2010), "Estimation of a structural vector autoregression model using
//! non-Gaussianity", JMLR 11. Golden numbers of the reference (lingam 1.13) are in `tests/golden`.

mod adaptive_lasso;
mod autoregression;
#[cfg(test)]
mod golden;
mod lars;
mod order;

use driftgraph_core::fitted::edges::{Direction, LearnedEdge};
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::{ObservedSeries, SeriesSet, Standardizer, Uninformative};
use driftgraph_data::record::TrainingRecord;
use faer::Mat;
use rayon::prelude::*;
use serde_json::json;

use crate::FitPlan;
use crate::lagged_edges::{PairLinks, WithinEffect, lagged_edges};
use crate::levels::bytes_of_copies;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::regular::{COUNTS_ROWS, Gaps, RegularSeries, regular_series};
use crate::settings::row;
use adaptive_lasso::{AdaptiveLasso, Columns};
use autoregression::{Autoregression, LaggedRows};

const NAME: &str = "varlingam";

/// An autoregression whose innovations have an order of causes.
pub(crate) struct VarLingam;

#[rustfmt::skip]
const SETTINGS: [Setting; 5] = [
    row("lags", "1", Range::Number { min: 1.0, max: 100.0, above: false }, "lags in rows, or the most that are compared"),
    row("criterion", "bic", Range::Choice(&["aic", "bic", "hqic", "fpe", "none"]), "chooses the number of lags; with none all are taken"),
    row("prune", "true", Range::YesNo, "estimate all effects again, with those at zero that the adaptive lasso leaves out"),
    row("scale_scores", "false", Range::YesNo, "rank by coefficients in deviations of source and target, for variables in different units"),
    row("gaps", "leave-out", Range::Choice(&["leave-out", "hold"]), "leave out what needs a missing cell, or hold the last value there"),
];

impl Method for VarLingam {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "VARLiNGAM: linear effects of earlier rows and within a row, ordered by what is not normal about the noise"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("VARLiNGAM")
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn presets(&self) -> Vec<Preset> {
        let paper = json!({"lags": 1, "criterion": "none", "prune": false, "gaps": "hold"});
        vec![
            Preset::new(NAME, "the defaults of the reference", &json!({})),
            Preset::new(
                "varlingam-paper",
                "as in the paper: one lag, nothing pruned, missing values held",
                &paper,
            ),
        ]
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: COUNTS_ROWS,
            missing_cells: Handling::Instead(
                "leaves out the rows that need a missing cell, or holds the last value (`gaps`)",
            ),
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    /// Series without those left out and on their grid, innovations three times; rows with all lags four times, in
    /// the worst case, and as many correlations as pairs of their columns.
    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let settings: VarLingamSettings = plan.typed().ok()?;
        let n_columns = (settings.lags + 1) * data.n_variables();
        let pairs = 4 * n_columns * n_columns * size_of::<f64>();
        Some(bytes_of_copies(data, 6 + 4 * (settings.lags + 1)) + pairs as u64)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        learn(task, &task.plan.typed()?)
    }
}

/// What chooses the number of lags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Criterion {
    Aic,
    Bic,
    Hqic,
    Fpe,
    None,
}

#[derive(Debug, Clone, Copy, serde::Deserialize)]
struct VarLingamSettings {
    lags: usize,
    criterion: Criterion,
    prune: bool,
    scale_scores: bool,
    gaps: Gaps,
}

/// What was learned about the variables that vary.
struct Fitted {
    effects: Effects,
    /// From causes to effects; compared with the reference.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    order: Vec<usize>,
    remarks: Vec<String>,
}

/// Effects of all variables on all others.
struct Effects {
    /// Lag 0 and on, each `[effect, cause]`.
    by_lag: Vec<Mat<f64>>,
    /// Standard errors of those within a row, given order and regressors; infinite where there are too few rows.
    deviations: Mat<f64>,
}

fn learn(task: &MethodTask<'_>, settings: &VarLingamSettings) -> Result<Learned, MethodError> {
    let data = task.data;
    let varying: Vec<usize> =
        (0..data.n_variables()).filter(|&idx| left_out(data, idx).is_none()).collect();
    let sentences: Vec<String> = (data.variables().iter().enumerate())
        .filter_map(|(idx, name)| Some((name, left_out(data, idx)?)))
        .map(|(name, why)| format!("`{name}` {why}: its edges are not learned, and given as 0"))
        .collect();
    if varying.is_empty() {
        let reason = "no variable varies".to_owned();
        return Err(MethodError::Unusable { method: NAME, reason });
    }
    let chosen = with_variables(data, &varying)?;
    let series = regular_series(&chosen, settings.gaps);
    let fitted = fit(&series, &chosen, settings, task.progress)?;
    let mut learned = Learned::edges(edges(data, &varying, &fitted.effects, settings)?);
    learned.remarks = sentences.iter().map(|sentence| format!("warning: {sentence}")).collect();
    learned.remarks.extend(fitted.remarks);
    learned.training = TrainingRecord { left_out: sentences, ..TrainingRecord::default() };
    Ok(learned)
}

/// Why a variable takes no part.
fn left_out(data: &SeriesSet, idx: usize) -> Option<Uninformative> {
    // One that is seen rarely would leave hardly a row that is complete.
    Uninformative::of(data, idx)
}

/// The same series with some of the variables.
fn with_variables(data: &SeriesSet, chosen: &[usize]) -> Result<SeriesSet, MethodError> {
    let names = chosen.iter().map(|&idx| data.variables()[idx].clone()).collect();
    let series = data.series().iter().map(|series| {
        let rows = (0..series.n_observations()).map(|row| series.row(row));
        let values = rows.flat_map(|row| chosen.iter().map(|&idx| row[idx])).collect();
        ObservedSeries::new(series.name(), chosen.len(), series.times().to_vec(), values)
    });
    Ok(SeriesSet::new(names, series.collect::<Result<_, _>>()?)?)
}

/// All steps: lags, autoregression, order, effects within a row, effects of earlier rows.
fn fit(
    series: &[RegularSeries],
    data: &SeriesSet,
    settings: &VarLingamSettings,
    progress: &dyn Progress,
) -> Result<Fitted, MethodError> {
    let d = data.n_variables();
    let stop_if_told =
        || if progress.is_interrupted() { Err(MethodError::Stopped) } else { Ok(()) };
    let mut remarks = Vec::new();
    let rows = chosen_lags(series, d, settings)?;
    if settings.criterion != Criterion::None && settings.lags > 1 {
        remarks.push(format!("chose {} of up to {} lags", rows.lags, settings.lags));
    }
    let past = Autoregression::fit(&rows)?;
    stop_if_told()?;
    if past.penalty.is_some() {
        remarks.push(format!(
            "warning: {} rows for {} coefficients each: the past was fitted by ridge regression instead of least squares",
            rows.n_rows(),
            rows.lags * d
        ));
    }
    let goes_on = || !progress.is_interrupted();
    let order = order::causal_order(&past.residuals, &goes_on).ok_or(MethodError::Stopped)?;
    let mut effects = regressed(&Columns::new(&past.residuals), &order, 0)?;
    let within = &effects.by_lag[0];
    let identity_less = Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - within[(i, j)]);
    effects.by_lag.extend(past.coefficients.iter().map(|lag| &identity_less * lag));
    let n_needed = d - 1 + rows.lags * d + 2;
    if settings.prune && rows.n_rows() < n_needed {
        remarks.push(format!(
            "warning: {} rows are too few to prune, {n_needed} are needed: no effect of an earlier row was set to zero",
            rows.n_rows()
        ));
    } else if settings.prune {
        stop_if_told()?;
        effects = regressed(&Columns::new(&rows.table), &order, rows.lags)?;
    }
    Ok(Fitted { effects, order, remarks })
}

/// Complete rows with the number of lags that the criterion prefers.
fn chosen_lags(
    series: &[RegularSeries],
    d: usize,
    settings: &VarLingamSettings,
) -> Result<LaggedRows, MethodError> {
    let first = if settings.criterion == Criterion::None { settings.lags } else { 1 };
    let smallest = LaggedRows::new(series, d, first);
    // The innovation with most predecessors needs a row more than an intercept and all of these.
    let needed = (d + 1).max(3);
    if smallest.n_rows() < needed {
        let found = match smallest.n_rows() {
            1 => "1 row is".to_owned(),
            n_rows => format!("{n_rows} rows are"),
        };
        let has_holes = series.iter().any(|series| !series.is_complete(0..series.n_rows()));
        let fill = if has_holes { ", or fill holes with `gaps` hold" } else { "" };
        let reason = format!(
            "{found} complete with {first} before, and {d} variables need at least {needed} such rows; \
             leave out variables{fill}",
        );
        return Err(MethodError::Unusable { method: NAME, reason });
    }
    let mut best = (smallest, f64::INFINITY);
    for lags in first..=settings.lags {
        let rows = LaggedRows::new(series, d, lags);
        if rows.n_rows() <= lags * d || rows.n_rows() < needed {
            break;
        }
        let value = Autoregression::fit(&rows)?.criterion(settings.criterion);
        if let Some(value) = value.filter(|value| *value < best.1) {
            best = (rows, value);
        }
    }
    Ok(best.0)
}

/// Effects from one adaptive lasso per variable: predecessors at the present row, everything at earlier ones.
fn regressed(columns: &Columns, order: &[usize], lags: usize) -> Result<Effects, MethodError> {
    let d = order.len();
    let found: Vec<(Vec<usize>, AdaptiveLasso)> = (0..d)
        .into_par_iter()
        .map(|place| {
            let mut predictors = order[..place].to_vec();
            predictors.extend(d..d * (lags + 1));
            let lasso = columns.adaptive_lasso(&predictors, order[place])?;
            Ok((predictors, lasso))
        })
        .collect::<Result<_, MethodError>>()?;
    let mut by_lag = vec![Mat::zeros(d, d); lags + 1];
    let mut deviations = Mat::zeros(d, d);
    for (place, (predictors, lasso)) in found.iter().enumerate() {
        for (idx, &column) in predictors.iter().enumerate() {
            by_lag[column / d][(order[place], column % d)] = lasso.coefficients[idx];
            if column < d {
                deviations[(order[place], column)] = lasso.deviations[idx];
            }
        }
    }
    Ok(Effects { by_lag, deviations })
}

/// Edges by their largest absolute coefficient over all lags.
fn edges(
    data: &SeriesSet,
    varying: &[usize],
    Effects { by_lag, deviations }: &Effects,
    settings: &VarLingamSettings,
) -> Result<Vec<LearnedEdge>, MethodError> {
    let scales = Standardizer::fit(data).scales().to_vec();
    let place = |variable: usize| varying.iter().position(|&idx| idx == variable);
    lagged_edges(data.n_variables(), |source, target| {
        let (Some(cause), Some(effect)) = (place(source), place(target)) else {
            return PairLinks::default();
        };
        let (mut strongest, mut lag) = (0.0_f64, None);
        for (number, effects) in by_lag.iter().enumerate().skip(1) {
            if effects[(effect, cause)].abs() > strongest.abs() {
                (strongest, lag) = (effects[(effect, cause)], Some(number));
            }
        }
        let within = by_lag[0][(effect, cause)];
        let way = match (within, by_lag[0][(cause, effect)]) {
            (0.0, 0.0) => None,
            (0.0, _) => Some(Direction::Backward),
            _ => Some(Direction::Forward),
        };
        let ratio = scales[source] / scales[target];
        let score =
            strongest.abs().max(within.abs()) * if settings.scale_scores { ratio } else { 1.0 };
        let deviation = Some(deviations[(effect, cause)]).filter(|deviation| deviation.is_finite());
        PairLinks {
            score,
            lagged: strongest,
            lag,
            is_lagged: strongest != 0.0,
            within,
            way,
            effect: Some(WithinEffect { ratio, deviation }),
            tests: None,
        }
    })
}
