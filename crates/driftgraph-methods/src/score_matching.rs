//! Pairwise score matching: which pairs of variables the stationary law of the levels needs.

use driftgraph_core::fitted::edges::{Direction, LearnedEdge, mark_mirrored};
use driftgraph_core::levels::LevelLaw;
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::{EdgeScores, SeriesSet};

use crate::FitPlan;
use crate::levels::INTERPOLATES;
use crate::linear_algebra::{VaryingColumns, varying_columns};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settings::row;
use crate::settled::SettledRows;

const NAME: &str = "score-matching";
/// Variables up to which all coefficients are found together: 60 have 5,490 of the third degree.
const MAX_VARIABLES: usize = 60;
/// Fewer rows have no spread about their means.
const MIN_ROWS: usize = 3;

/// Wald scores of pairs in a law whose logarithm is a polynomial, see [`LevelLaw`].
///
/// A pair's score is the Wald statistic of the coefficients that belong to both variables and no other, with the sandwich
/// covariance over rows.
pub(crate) struct ScoreMatching;

const SETTINGS: [Setting; 1] = [row(
    "law_degree",
    "3",
    Range::Number { min: 2.0, max: 3.0, above: false },
    "degree of the polynomial in the logarithm of the law: 2 is a normal law, 3 sees curved dependence",
)];

impl Method for ScoreMatching {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "pairs that the law of the levels needs, curved dependence included: links without direction, blind to time"
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: Handling::Instead("does not look at times at all"),
            missing_cells: INTERPOLATES,
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    /// Levels, gradients of one variable, what each row adds twice, and two matrices of coefficients.
    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let settings: Settings = plan.typed().ok()?;
        let (n, n_rows) = (data.n_variables(), data.n_rows());
        let n_terms = LevelLaw::n_coefficients(n.min(MAX_VARIABLES), settings.law_degree);
        Some(8 * (n_rows * (4 * n + 3 * n + 2 * n_terms) + 2 * n_terms * n_terms) as u64)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: Settings = task.plan.typed()?;
        let settled = SettledRows::of(task.data);
        let scores = score_matching(&settled.data, settings.law_degree)?;
        let mut learned = Learned::edges(links(&scores));
        learned.remarks = settled.remark.into_iter().collect();
        learned.remarks.push(
            "links, not arrows: levels cannot tell which of two variables drives the other"
                .to_owned(),
        );
        Ok(learned)
    }
}

/// What was asked for, as files have it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
struct Settings {
    law_degree: u32,
}

/// All pairs, the best supported first: a link without direction, told once in full and once as its mirror.
fn links(scores: &EdgeScores) -> Vec<LearnedEdge> {
    let link = |(source, target, score): (usize, usize, f64)| LearnedEdge {
        source,
        target,
        score,
        direction: if source == target { Direction::Forward } else { Direction::Either },
        ..LearnedEdge::default()
    };
    let mut edges: Vec<LearnedEdge> = scores.ranked().into_iter().map(link).collect();
    mark_mirrored(&mut edges);
    edges
}

/// Wald statistic of every pair of variables; a variable with itself comes before all others, 0 where one never varies.
fn score_matching(data: &SeriesSet, degree: u32) -> Result<EdgeScores, MethodError> {
    let VaryingColumns { columns, varying } = varying_columns(data, MIN_ROWS)?;
    let n = data.n_variables();
    if varying.len() > MAX_VARIABLES {
        let reason = format!(
            "it takes up to {MAX_VARIABLES} variables, and there are {}; leave some out, or take `partial-correlation`",
            varying.len()
        );
        return Err(MethodError::Unusable { method: NAME, reason });
    }
    let standard: Vec<f64> = (0..columns.nrows())
        .flat_map(|row| (0..columns.ncols()).map(move |column| [row, column]))
        .map(|[row, column]| columns[(row, column)])
        .collect();
    let mut scores = vec![0.0; n * n];
    if !varying.is_empty() {
        let too_wide =
            "the equations of the law cannot be solved: values span too many orders of magnitude";
        let law = LevelLaw::fit(&standard, varying.len(), degree)
            .ok_or_else(|| MethodError::Unusable { method: NAME, reason: too_wide.to_owned() })?;
        let wald = law.wald_matrix(varying.len());
        for (at, value) in wald.into_iter().enumerate() {
            scores[varying[at / varying.len()] * n + varying[at % varying.len()]] = value;
        }
    }
    let largest = scores.iter().copied().fold(0.0, f64::max);
    (0..n).for_each(|idx| scores[idx * n + idx] = 1.0 + largest);
    Ok(EdgeScores::from_matrix(n, scores)?)
}
