//! A polynomial drift from coarse rows, in the user's units: gaps, descent, choice of degree, equations.

use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::descent::{Descent, NoFit};
use crate::posterior::polynomial::equations::{Units, effects, equations};
use crate::posterior::polynomial::gaps::{GapRules, Gaps};
use crate::posterior::polynomial::library::Library;
use crate::{CoreError, SeriesSet, Standardizer};

pub use crate::posterior::polynomial::equations::{Equation, EquationTerm, TermEffect};

/// Most unknowns of all equations together; their matrix has the square of it.
pub const MAX_UNKNOWNS: usize = 4_000;
/// Gaps for each unknown of an equation that are enough.
const ENOUGH: usize = 2;

/// What to fit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PolynomialSettings {
    /// Most variables that are multiplied in a term.
    pub degree: usize,
    /// How far, in deviations, the fastest variable usually goes in a sub-step.
    pub sub_step: f64,
    /// Longest gap that is used while shorter ones are enough, in units in which the data vary by one deviation.
    pub largest_gap: f64,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct PolynomialFit {
    /// Log-odds of each edge, `[source, target]`; negative infinity where a variable never varies.
    pub log_odds: Vec<f64>,
    /// Effects, `[source, target]`; `None` where a variable never varies.
    pub effects: Vec<Option<TermEffect>>,
    /// The drift of every variable that varies.
    pub equations: Vec<Equation>,
    /// Degree of the terms: 1 where the evidence prefers it.
    pub degree: usize,
    /// Log evidence of terms up to the degree asked for, minus that of linear terms; `None` where only these were asked for.
    pub over_linear: Option<f64>,
    /// Log evidence of what was chosen.
    pub log_evidence: f64,
    /// Whether the descent ended because nothing changed any more.
    pub has_converged: bool,
    /// Gaps used.
    pub n_gaps: usize,
    /// Gaps that were too long.
    pub n_left_out: usize,
    /// The user's time in which the data vary by one deviation.
    pub unit: f64,
    /// The longest gap used, in these units.
    pub longest: f64,
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
        "{n_variables} variables have {n_terms} terms up to degree {degree} in each equation, {} unknowns in all, and at most {MAX_UNKNOWNS} can be found together",
        n_variables * n_terms
    )]
    TooLarge {
        /// Variables that vary.
        n_variables: usize,
        /// Terms of each equation.
        n_terms: usize,
        /// Degree asked for.
        degree: usize,
    },
    /// Numbers that are not finite.
    #[error("the equations cannot be solved: values or times span too many orders of magnitude")]
    NotFinite,
}

impl From<NoFit> for PolynomialError {
    fn from(error: NoFit) -> Self {
        match error {
            NoFit::Stopped => Self::Stopped,
            NoFit::NotFinite => Self::NotFinite,
        }
    }
}

/// Bytes that a fit of this many gaps needs at its peak, about.
pub fn predicted_bytes(settings: &PolynomialSettings, n_variables: usize, n_gaps: usize) -> u64 {
    let n_terms = Library::size(n_variables, settings.degree);
    let n_steps = (settings.largest_gap / settings.sub_step).ceil().max(2.0) as usize;
    let of_gaps = n_gaps * n_steps * (3 * n_variables * n_variables + 4 * n_terms);
    let unknowns = n_variables * n_terms;
    8 * (of_gaps + 5 * unknowns * unknowns) as u64
}

/// Finds a polynomial drift; the same bits on any number of threads.
pub fn fit_polynomial(
    data: &SeriesSet,
    settings: &PolynomialSettings,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<PolynomialFit, PolynomialError> {
    let varying: Vec<usize> = (0..data.n_variables()).filter(|&idx| varies(data, idx)).collect();
    let n_terms = Library::size(varying.len(), settings.degree);
    if varying.len() * n_terms > MAX_UNKNOWNS {
        let (n_variables, degree) = (varying.len(), settings.degree);
        return Err(PolynomialError::TooLarge { n_variables, n_terms, degree });
    }
    if varying.is_empty() {
        return Err(PolynomialError::TooFewGaps { found: 0, needed: 3 });
    }
    let kept = data.with_variables(&varying)?;
    let standardizer = Standardizer::fit(&kept);
    let PolynomialSettings { sub_step, largest_gap, .. } = *settings;
    let rules = GapRules { sub_step, largest_gap, n_enough: ENOUGH * n_terms };
    let gaps = Gaps::new(&standardizer.apply(&kept), rules);
    let needed = varying.len() + 2;
    if gaps.used.len() < needed {
        return Err(PolynomialError::TooFewGaps { found: gaps.used.len(), needed });
    }
    let units = Units { standardizer: &standardizer, time: gaps.unit };
    let chosen = Choice::new(&gaps, varying.len(), settings.degree, goes_on)?;
    chosen.fit(&gaps, units, &varying, data.n_variables())
}

fn varies(data: &SeriesSet, variable: usize) -> bool {
    let mut values = data.observed_values(variable);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// A library and what is believed of its terms.
struct Choice {
    library: Library,
    belief: Belief,
    degree: usize,
    over_linear: Option<f64>,
}

impl Choice {
    /// Terms up to a degree, or linear ones alone where their evidence is not smaller.
    fn new(
        gaps: &Gaps,
        n_variables: usize,
        degree: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, PolynomialError> {
        let fitted = |degree: usize| -> Result<Self, PolynomialError> {
            let library = Library::new(n_variables, degree);
            let descent = Descent::new(&library, &gaps.used).ok_or(NoFit::NotFinite)?;
            let belief = descent.run(goes_on)?;
            Ok(Self { library, belief, degree, over_linear: None })
        };
        let linear = fitted(1);
        if degree == 1 {
            return linear;
        }
        let whole = fitted(degree);
        let (linear, whole) = match (linear, whole) {
            (Ok(linear), Ok(whole)) => (linear, whole),
            (Err(PolynomialError::Stopped), _) | (_, Err(PolynomialError::Stopped)) => {
                return Err(PolynomialError::Stopped);
            }
            (one, Err(_)) | (Err(_), one) => return one,
        };
        let over_linear = whole.belief.log_evidence - linear.belief.log_evidence;
        let chosen = if over_linear > 0.0 { whole } else { linear };
        Ok(Self { over_linear: Some(over_linear), ..chosen })
    }

    /// The choice in the user's units, with the variables that never vary.
    fn fit(
        self,
        gaps: &Gaps,
        units: Units<'_>,
        varying: &[usize],
        n_variables: usize,
    ) -> Result<PolynomialFit, PolynomialError> {
        let Self { library, belief, .. } = &self;
        let states: Vec<&[f64]> = gaps.used.iter().map(|gap| &gap.before[..]).collect();
        let own_odds = belief.log_odds(library).ok_or(PolynomialError::NotFinite)?;
        let own_effects = effects(belief, library, units, &states);
        let mut log_odds = vec![f64::NEG_INFINITY; n_variables * n_variables];
        let mut all_effects = vec![None; n_variables * n_variables];
        for (idx, effect) in own_effects.into_iter().enumerate() {
            let (source, target) = (varying[idx / varying.len()], varying[idx % varying.len()]);
            log_odds[source * n_variables + target] = own_odds[idx];
            all_effects[source * n_variables + target] = Some(effect);
        }
        let mut equations = equations(belief, library, units);
        for equation in &mut equations {
            equation.target = varying[equation.target];
            let factors = equation.terms.iter_mut().flat_map(|term| &mut term.factors);
            factors.for_each(|factor| *factor = varying[*factor]);
        }
        Ok(PolynomialFit {
            log_odds,
            effects: all_effects,
            equations,
            degree: self.degree,
            over_linear: self.over_linear,
            log_evidence: belief.log_evidence,
            has_converged: belief.has_converged,
            n_gaps: gaps.used.len(),
            n_left_out: gaps.n_left_out,
            unit: gaps.unit,
            longest: gaps.longest,
        })
    }
}
