//! A polynomial drift from coarse rows, in the user's units: gaps, descent, choice of degree, hidden paths, beliefs.

mod adequacy;
mod paths;
mod search;
mod terms;

use crate::data::uninformative::Uninformative;
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::numeric::real::Real;
use crate::posterior::linear::adequacy::Adequacy;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::descent::gap_log_density;
use crate::posterior::polynomial::equations::{Sizes, Units, equations};
use crate::posterior::polynomial::gaps::{GapRules, Gaps};
use crate::posterior::polynomial::hidden_path::HiddenPath;
use crate::posterior::polynomial::library::{Curves, Library};
use crate::posterior::polynomial::skeleton::Candidates;
use crate::train::progress::{Part, Progress, find};
use crate::{CoreError, SeriesSet, Standardizer};
use rayon::prelude::*;
use search::{Choice, Search};

pub use crate::posterior::polynomial::equations::{Equation, EquationTerm, TermFunction};
pub use terms::{OtherTerms, Tried};

/// Most unknowns of all equations together; their matrix has the square of it.
pub const MAX_UNKNOWNS: usize = 4_000;
/// Most variables of which every product is tried; of more, each target gets some sources alone.
pub const MOST_WHOLE: usize = 15;
/// Sources of a target where there are more variables.
pub const MOST_SOURCES: usize = 8;
/// Gaps for each unknown of an equation that are enough.
const ENOUGH: usize = 2;

/// What to fit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolynomialSettings {
    /// Most variables that are multiplied in a term; lower degrees are tried too.
    pub degree: usize,
    /// How far, in deviations, the fastest variable usually goes in a sub-step.
    pub sub_step: f64,
    /// Longest gap that is used while shorter ones are enough, in units in which the data vary by one deviation.
    pub largest_gap: f64,
    /// Functions that are tried beside monomials.
    #[serde(default, skip_serializing_if = "OtherTerms::are_none")]
    pub other: OtherTerms,
}

impl Default for PolynomialSettings {
    fn default() -> Self {
        Self { degree: 2, sub_step: 0.17, largest_gap: 1.3, other: OtherTerms::default() }
    }
}

/// What a polynomial is fitted to, and what it may assume.
#[derive(Debug, Clone, Copy)]
pub struct PolynomialTask<'a> {
    /// The data.
    pub data: &'a SeriesSet,
    /// What is known of edges.
    pub knowledge: &'a EdgePrior,
    /// What to fit.
    pub settings: &'a PolynomialSettings,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PolynomialFit {
    /// Scaling of all variables.
    pub standardizer: Standardizer,
    /// Positions of the variables that vary; the others are no part of the process.
    pub varying: Vec<usize>,
    /// Whether a variable may be a source of another, `[source, target]` among those that vary.
    pub sources: Vec<bool>,
    /// Degree of the terms: 1 where the evidence prefers it.
    pub degree: usize,
    /// The functions that the evidence prefers, if any.
    pub curves: Option<Curves>,
    /// All terms that were tried beside linear ones.
    pub tried: Vec<Tried>,
    /// What is believed of the terms, on standardised values.
    pub belief: Belief,
    /// Variance of what was measured around the states, standardised, of those that vary.
    pub measurement: Vec<f64>,
    /// Hidden path of each series.
    pub paths: Vec<SeriesPath>,
    /// What the innovations still contain, by variable of the data.
    pub adequacy: Adequacy,
    /// Log evidence of terms up to the degree asked for, minus that of linear terms; `None` where only these were asked for.
    pub over_linear: Option<f64>,
    /// Gaps used.
    pub n_gaps: usize,
    /// Gaps that were too long.
    pub n_left_out: usize,
    /// The user's time in which the data vary by one deviation.
    pub unit: f64,
    /// The longest gap used, in these units.
    pub longest: f64,
    /// The longest sub-step, in these units.
    pub sub_step: f64,
    /// Whether it came to its end; what there was, where it was stopped.
    pub is_complete: bool,
}

/// The hidden path of one series on its grid.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SeriesPath {
    /// Times of the grid, in the user's unit.
    pub times: Vec<f64>,
    /// Its law, standardised, of the variables that vary.
    pub law: HiddenPath,
}

/// Why there is no polynomial.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolynomialError {
    /// Data that cannot be used.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// It was told to stop.
    #[error("stopped before anything was learned")]
    Stopped,
    /// Too few gaps.
    #[error(
        "there are {found} gaps between rows without missing cells, at least {needed} are needed"
    )]
    TooFewGaps {
        /// Gaps there are.
        found: usize,
        /// Gaps without which nothing can be said.
        needed: usize,
    },
    /// Equations too large.
    #[error(
        "terms up to degree {degree} of {n_variables} variables have {n_unknowns} coefficients in all, and at most {MAX_UNKNOWNS} can be found together"
    )]
    TooLarge {
        /// Variables that vary.
        n_variables: usize,
        /// Coefficients of all equations.
        n_unknowns: usize,
        /// Degree asked for.
        degree: usize,
    },
    /// Numbers that are not finite.
    #[error("the equations cannot be solved: values or times span too many orders of magnitude")]
    NotFinite,
}

/// Coefficients of a target with so many sources, at most.
fn most_unknowns(settings: &PolynomialSettings, n_sources: usize) -> usize {
    let OtherTerms { saturations, waves } = settings.other;
    let bent = 1 + n_sources * (1 + usize::from(saturations) + 4 * usize::from(waves));
    Library::size(n_sources, settings.degree).max(bent)
}

/// Sources that a target can have, among so many variables.
fn most_sources(n_variables: usize) -> usize {
    if n_variables > MOST_WHOLE { MOST_SOURCES } else { n_variables }
}

/// Bytes that a fit of this many gaps needs at its peak, about.
pub fn predicted_bytes(settings: &PolynomialSettings, n_variables: usize, n_gaps: usize) -> u64 {
    let per_target = most_unknowns(settings, most_sources(n_variables));
    // Each target may have products of its own.
    let n_terms = Library::size(n_variables, settings.degree).min(n_variables * per_target);
    let n_steps = (settings.largest_gap / settings.sub_step).ceil().max(2.0) as usize;
    // More is refused before anything is stored.
    let unknowns = (n_variables * per_target).min(MAX_UNKNOWNS);
    // Linearised gaps with their midpoints, twice; the columns of every target, or the rows of every gap.
    let of_gap = 2 * n_steps * (3 * n_variables * n_variables + 2 * n_terms)
        + unknowns * n_steps.max(n_variables.min(2 * n_steps));
    // Products of all pairs of terms, from which sources are chosen.
    let all = if n_variables > MOST_WHOLE { Library::size(n_variables, 2) } else { 0 };
    8 * (n_gaps * (of_gap + all) + 5 * unknowns * unknowns + all * all) as u64
}

/// Operations that a fit of so many rows takes, about: sums over sub-steps of products of all pairs of terms, and products of
/// matrices of all variables, in each round.
pub fn predicted_work(settings: &PolynomialSettings, n_variables: usize, n_rows: usize) -> f64 {
    const ROUNDS: f64 = 40.0;
    /// Products and inverses in a sub-step of a round.
    const PRODUCTS: f64 = 60.0;
    let n = n_variables as f64;
    let per_target = most_unknowns(settings, most_sources(n_variables));
    let unknowns = n * per_target as f64;
    // Sub-steps of gaps as rows usually are apart; and solving for the unknowns.
    let n_steps = 4.0 * n_rows as f64;
    let of_steps = n_steps * (unknowns * unknowns + PRODUCTS * n * n * n);
    ROUNDS * (of_steps + unknowns * unknowns * unknowns / 3.0)
}

/// Finds a polynomial drift, or goes on where the part was left; the same bits on any number of threads.
///
/// Every round of a descent is a step of the part, after which it may end with what there is.
pub fn fit_polynomial(
    task: PolynomialTask<'_>,
    part: Part<'_>,
    progress: &dyn Progress,
) -> Result<PolynomialFit, PolynomialError> {
    let PolynomialTask { data, knowledge, settings } = task;
    let varying: Vec<usize> =
        (0..data.n_variables()).filter(|&idx| Uninformative::of(data, idx).is_none()).collect();
    if varying.is_empty() {
        return Err(PolynomialError::TooFewGaps { found: 0, needed: 3 });
    }
    let rules = knowledge.reordered(&varying);
    let n = varying.len();
    let per_target: Vec<usize> = (0..n)
        .map(|target| {
            let may_be = |source: &usize| rules.rules()[source * n + target] != EdgeRule::Forbidden;
            most_unknowns(settings, (0..n).filter(may_be).count().min(most_sources(n)))
        })
        .collect();
    let n_unknowns = per_target.iter().sum();
    if n_unknowns > MAX_UNKNOWNS {
        let (n_variables, degree) = (n, settings.degree);
        return Err(PolynomialError::TooLarge { n_variables, n_unknowns, degree });
    }
    let standardizer = Standardizer::fit(data);
    let standard = standardizer.apply(data).with_variables(&varying)?;
    let own = standardizer.among(&varying);
    let n_enough = ENOUGH * n_unknowns.div_ceil(n);
    let PolynomialSettings { sub_step, largest_gap, other, .. } = *settings;
    let gap_rules = GapRules { sub_step, largest_gap, n_enough };
    let gaps = Gaps::bending_within(&standard, gap_rules, &terms::reaches(other, &own));
    if gaps.used.len() < n + 2 {
        return Err(PolynomialError::TooFewGaps { found: gaps.used.len(), needed: n + 2 });
    }
    let sources = sources(rules.rules(), n, &gaps);
    let is_source = |from: usize, to: usize| sources[from * n + to];
    let degrees = (1..=settings.degree).map(|degree| Library::among(n, degree, &is_source));
    let mut libraries: Vec<Library> = degrees.collect();
    if other.saturations {
        libraries.push(Library::bent(terms::saturations(data, &varying, &own), &is_source));
    }
    if other.waves {
        libraries.push(Library::bent(terms::waves(&own), &is_source));
    }
    let search = Search {
        gaps: &gaps,
        libraries: &libraries,
        settings,
        knowledge,
        varying: &varying,
        part,
        progress,
    };
    let kept = find(progress, &part.to_string(), settings).unwrap_or_default();
    let Choice { library, mut belief, over_linear, tried, is_complete } = search.chosen(kept)?;
    let measurement = vec![paths::AS_MEASURED; n];
    let paths = paths::hidden_paths(&standard, &gaps, &library, &belief, &measurement);
    let adequacy = adequacy::adequacy(&standard, &gaps, &library, &belief);
    // What was needed on the way alone.
    (belief.innovations, belief.paths) = (Vec::new(), Vec::new());
    Ok(PolynomialFit {
        adequacy: adequacy::of_all(&adequacy, &varying, data.n_variables()),
        standardizer,
        varying,
        sources,
        degree: library.degree(),
        curves: library.curves().cloned(),
        tried,
        belief,
        measurement,
        paths,
        over_linear,
        n_gaps: gaps.used.len(),
        n_left_out: gaps.n_left_out,
        unit: gaps.unit,
        longest: gaps.longest,
        sub_step: gaps.sub_step,
        is_complete,
    })
}

/// The library of a process: monomials up to a degree, or linear terms with functions.
pub(crate) fn library_of(
    n: usize,
    sources: &[bool],
    degree: usize,
    curves: Option<&Curves>,
) -> Library {
    let is_source = |from: usize, to: usize| sources[from * n + to];
    match curves {
        Some(curves) => Library::bent(curves.clone(), &is_source),
        None => Library::among(n, degree, &is_source),
    }
}

/// Whether a variable may be a source of another: all that are not forbidden, or the likeliest where there are many.
fn sources(rules: &[EdgeRule], n: usize, gaps: &Gaps) -> Vec<bool> {
    if n <= MOST_WHOLE {
        return rules.iter().map(|rule| *rule != EdgeRule::Forbidden).collect();
    }
    let rules = |source: usize, target: usize| {
        let rule = rules[source * n + target];
        [rule != EdgeRule::Forbidden, rule == EdgeRule::Required]
    };
    Candidates { gaps: &gaps.used, rules: &rules, most: MOST_SOURCES }.chosen(n)
}

/// Log-odds over all variables, what is known of edges among them, from those of the variables that vary.
fn over_all(own: &[f64], varying: &[usize], knowledge: &EdgePrior) -> Vec<f64> {
    let (n, n_all) = (varying.len(), knowledge.n_variables());
    let mut all = vec![f64::NEG_INFINITY; n_all * n_all];
    for (idx, odds) in own.iter().enumerate() {
        let at = varying[idx / n] * n_all + varying[idx % n];
        all[at] = odds + knowledge.log_odds()[at];
    }
    knowledge.rules().iter().zip(all).map(|(rule, odds)| rule.log_odds(odds)).collect()
}

/// Edges of a polynomial process, `[source, target]` over all variables.
#[derive(Debug, Clone, PartialEq)]
pub struct PolynomialEdges {
    /// Log-odds if all evidence counts, which rank edges.
    pub log_odds: Vec<f64>,
    /// Log-odds with evidence that counts as far as the process is adequate.
    pub believed: Vec<f64>,
}

impl PolynomialFit {
    /// Its terms.
    pub fn library(&self) -> Library {
        library_of(self.varying.len(), &self.sources, self.degree, self.curves.as_ref())
    }

    /// How much of the evidence counts, by target among those that vary.
    pub fn evidence_shares(&self) -> Vec<f64> {
        let all = self.adequacy.tempering();
        self.varying.iter().map(|&idx| all[idx]).collect()
    }

    /// Log density of the rows of each series but the first, given the one before it, standardised; `None` where a series
    /// has no two complete rows.
    pub fn predictive_scores(&self, data: &SeriesSet) -> Vec<Option<f64>> {
        let Ok(own) = self.standardizer.apply(data).with_variables(&self.varying) else {
            return vec![None; data.n_series()];
        };
        let library = self.library();
        let rules =
            GapRules { sub_step: self.sub_step, largest_gap: f64::INFINITY, n_enough: usize::MAX };
        let gaps = Gaps::in_units(&own, self.unit, rules);
        let scores: Vec<Option<f64>> = (gaps.par_iter())
            .map(|gap| gap_log_density(gap, &library, &self.belief.theta, &self.belief.noise))
            .collect();
        let mut all = vec![None; data.n_series()];
        for (gap, score) in gaps.iter().zip(scores) {
            let sum: &mut Option<f64> = &mut all[gap.series];
            *sum = Some(sum.unwrap_or(0.0) + score.unwrap_or(f64::NEG_INFINITY));
        }
        all.into_iter().map(|sum| sum.filter(|sum| sum.is_finite())).collect()
    }

    /// The edges, with what is known of them; `None` where they cannot be computed.
    pub fn edges(&self, knowledge: &EdgePrior) -> Option<PolynomialEdges> {
        let (library, n) = (self.library(), self.varying.len());
        let full = self.belief.log_odds(&library, &vec![1.0; n])?;
        let careful = self.belief.log_odds(&library, &self.evidence_shares())?;
        let spread = |own: &[f64]| over_all(own, &self.varying, knowledge);
        Some(PolynomialEdges { log_odds: spread(&full), believed: spread(&careful) })
    }

    /// The drift of every variable that varies, in the user's units, variables by their positions in the data.
    pub fn equations(&self) -> Vec<Equation> {
        let n = self.varying.len();
        self.equations_along(self.paths.iter().flat_map(|path| path.law.means.chunks_exact(n)))
    }

    /// The same, with the points of the paths from elsewhere: standardised, of the variables that vary.
    pub(crate) fn equations_along<'a>(
        &self,
        points: impl Iterator<Item = &'a [f64]>,
    ) -> Vec<Equation> {
        let own = self.standardizer.among(&self.varying);
        let library = self.library();
        let sizes = Sizes::along(points, &library, &self.belief.theta, &own);
        let units = Units { standardizer: &own, time: self.unit, sizes: &sizes };
        let mut equations = equations(&self.belief, &library, units, &self.evidence_shares());
        for equation in &mut equations {
            equation.target = self.varying[equation.target];
            let factors = equation.terms.iter_mut().flat_map(|term| &mut term.factors);
            factors.for_each(|factor| *factor = self.varying[*factor]);
        }
        equations
    }
}

impl PolynomialEdges {
    /// Probabilities that are believed.
    pub fn probabilities(&self) -> Vec<f64> {
        self.believed.iter().map(|odds| odds.sigmoid()).collect()
    }
}
