//! Which terms: of several libraries the one with the largest evidence, linear terms among them; round by round.

use std::ops::ControlFlow;

use super::terms::{Tried, name_of};
use super::{PolynomialError, PolynomialSettings, over_all};
use crate::EdgeScores;
use crate::graph::prior::EdgePrior;
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::descent::{Descent, DescentState, MOST_ROUNDS};
use crate::posterior::polynomial::gaps::Gaps;
use crate::posterior::polynomial::library::Library;
use crate::train::progress::{Checkpoint, Part, Progress, Step, Training};

/// A library and what is believed of its terms.
pub(super) struct Choice {
    pub(super) library: Library,
    pub(super) belief: Belief,
    pub(super) over_linear: Option<f64>,
    pub(super) tried: Vec<Tried>,
    /// Whether nothing was stopped.
    pub(super) is_complete: bool,
}

/// The descents of some libraries, one after the other, and who follows them.
pub(super) struct Search<'a> {
    pub(super) gaps: &'a Gaps,
    /// The first has linear terms alone.
    pub(super) libraries: &'a [Library],
    pub(super) settings: &'a PolynomialSettings,
    pub(super) knowledge: &'a EdgePrior,
    pub(super) varying: &'a [usize],
    pub(super) part: Part<'a>,
    pub(super) progress: &'a dyn Progress,
}

/// How far a search has come, as it is kept.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct SearchState {
    /// What the descents that have ended came to; nothing where numbers were not finite.
    done: Vec<Option<Belief>>,
    /// The one under way.
    descent: Option<DescentState>,
}

impl Search<'_> {
    /// The library with the largest evidence, that of linear terms where no other has more; what there is where it is stopped.
    pub(super) fn chosen(&self, kept: SearchState) -> Result<Choice, PolynomialError> {
        let SearchState { mut done, mut descent } = kept;
        let mut is_complete = true;
        while done.len() < self.libraries.len() && is_complete {
            let (library, gaps) = (&self.libraries[done.len()], &self.gaps.used);
            let kept = descent.take().and_then(|state| Descent::resumed(library, gaps, state));
            let found = match kept.or_else(|| Descent::new(library, gaps)) {
                None => None,
                Some(mut descent) => {
                    let ended = self.descend(&mut descent, &done);
                    is_complete = !matches!(ended, Some(ControlFlow::Break(())));
                    // Where nothing was descended yet, there is nothing to believe.
                    ended.filter(|_| descent.n_rounds() > 0).and_then(|_| descent.belief())
                }
            };
            done.push(found);
        }
        self.best(done, is_complete)
    }

    /// Whether a descent came to its end or was stopped; `None` where numbers are not finite.
    fn descend(
        &self,
        descent: &mut Descent<'_>,
        done: &[Option<Belief>],
    ) -> Option<ControlFlow<()>> {
        while !descent.has_ended() {
            if self.progress.is_interrupted() {
                return Some(ControlFlow::Break(()));
            }
            descent.advance().ok()?;
            let running = Running { search: self, done, descent: &*descent };
            if self.tell(&running).is_break() {
                return Some(ControlFlow::Break(()));
            }
        }
        Some(ControlFlow::Continue(()))
    }

    fn tell(&self, running: &Running<'_, '_>) -> ControlFlow<()> {
        let before = running.done.len() * MOST_ROUNDS;
        let number = (before + running.descent.n_rounds() - 1) as u64;
        let is_last = running.done.len() + 1 == self.libraries.len() && running.descent.has_ended();
        let end = if is_last { number + 1 } else { (self.libraries.len() * MOST_ROUNDS) as u64 };
        let log_likelihood = -running.descent.objective();
        self.progress.step(&Step {
            part: self.part,
            number,
            end,
            terms: ElboTerms { log_likelihood, ..ElboTerms::default() },
            rate: 1.0,
            expected_edges: Some(running.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training: running,
        })
    }

    fn best(
        &self,
        done: Vec<Option<Belief>>,
        is_complete: bool,
    ) -> Result<Choice, PolynomialError> {
        let linear = done.first().and_then(Option::as_ref).map(|belief| belief.log_evidence);
        let tried: Vec<Tried> = (done.iter().zip(self.libraries).skip(1))
            .filter_map(|(belief, library)| {
                let over_linear = belief.as_ref()?.log_evidence - linear?;
                Some(Tried { name: name_of(library).to_owned(), over_linear })
            })
            .collect();
        let over_linear = tried.iter().map(|one| one.over_linear).max_by(f64::total_cmp);
        let fits = done.into_iter().zip(self.libraries);
        let fits: Vec<_> = fits.filter_map(|(belief, library)| Some((belief?, library))).collect();
        // Of equal evidence the first, which has the fewest terms.
        let best =
            fits.into_iter().rev().max_by(|a, b| a.0.log_evidence.total_cmp(&b.0.log_evidence));
        let failure =
            if is_complete { PolynomialError::NotFinite } else { PolynomialError::Stopped };
        let (belief, library) = best.ok_or(failure)?;
        Ok(Choice { library: library.clone(), belief, over_linear, tried, is_complete })
    }
}

/// A search between two rounds of a descent.
struct Running<'a, 'b> {
    search: &'a Search<'a>,
    done: &'a [Option<Belief>],
    descent: &'a Descent<'b>,
}

impl Running<'_, '_> {
    fn log_odds(&self) -> Vec<f64> {
        let n = self.search.varying.len();
        let own = self.descent.log_odds_so_far().unwrap_or_else(|| vec![0.0; n * n]);
        over_all(&own, self.search.varying, self.search.knowledge)
    }
}

impl Training for Running<'_, '_> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.log_odds().iter().map(|odds| odds.sigmoid()).collect()
    }

    fn edge_scores(&self) -> EdgeScores {
        let n = self.search.knowledge.n_variables();
        EdgeScores::from_matrix(n, self.log_odds()).expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        let state = SearchState { done: self.done.to_vec(), descent: Some(self.descent.state()) };
        Checkpoint::new(&state, self.search.settings)
    }
}
