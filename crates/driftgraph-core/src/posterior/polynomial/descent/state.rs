//! A descent between two rounds: what it goes on from, bit for bit, and what it says of edges so far.

use super::{Course, Descent, KeptCurvature, Linearised, Origin};
use crate::numeric::linalg::log_det_and_inverse;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::gaps::Gap;
use crate::posterior::polynomial::library::Library;
use crate::posterior::polynomial::normal_equations::curvature;

/// Everything that the next round depends on; what follows from the rest is computed again.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DescentState {
    here: Origin,
    precisions: Vec<f64>,
    /// Of the curvature that still serves: how far the objective has fallen since.
    curvature: Option<(Origin, f64)>,
    is_calm: bool,
    damping: f64,
    objective: f64,
    course: Course,
}

impl<'a> Descent<'a> {
    /// Goes on from where it was left; `None` where that does not belong to this library and these gaps.
    pub fn resumed(library: &'a Library, gaps: &'a [Gap], state: DescentState) -> Option<Self> {
        let DescentState { here, precisions, curvature, is_calm, damping, objective, course } =
            state;
        let fits = |origin: &Origin| {
            let paths = origin.paths.iter().zip(gaps);
            let n = library.n_variables();
            origin.theta.len() == library.n_terms() * n
                && origin.noise.len() == n
                && origin.paths.len() == gaps.len()
                && paths.into_iter().all(|(path, gap)| path.len() == (gap.n_steps + 1) * n)
        };
        let all_fit = fits(&here) && curvature.iter().all(|(origin, _)| fits(origin));
        (all_fit && precisions.len() == library.n_terms()).then_some(())?;
        let mut descent = Self {
            library,
            gaps,
            theta: here.theta,
            precisions,
            noise: here.noise,
            paths: here.paths,
            tangents: None,
            curvature: None,
            is_calm,
            damping,
            objective,
            course,
        };
        if let Some((origin, fall)) = curvature {
            descent.curvature = Some(descent.curvature_at(origin, fall)?);
        }
        Some(descent)
    }

    /// Where it is.
    pub fn state(&self) -> DescentState {
        let serving = self.curvature.iter().filter(|kept| kept.fall.is_finite());
        DescentState {
            here: self.here(),
            precisions: self.precisions.clone(),
            curvature: serving.map(|kept| (kept.origin.clone(), kept.fall)).next(),
            is_calm: self.is_calm,
            damping: self.damping,
            objective: self.objective,
            course: self.course,
        }
    }

    pub(super) fn here(&self) -> Origin {
        Origin { theta: self.theta.clone(), paths: self.paths.clone(), noise: self.noise.clone() }
    }

    /// A curvature as it was made, by the same operations on the same numbers.
    fn curvature_at(&mut self, mut origin: Origin, fall: f64) -> Option<KeptCurvature> {
        self.swap(&mut origin);
        let linearised: Option<Linearised> = self.linearised();
        let matrix = linearised.map(|all| curvature(&self.weighted(&all), self.library));
        self.swap(&mut origin);
        Some(KeptCurvature { matrix: matrix?, origin, fall })
    }

    fn swap(&mut self, origin: &mut Origin) {
        std::mem::swap(&mut self.theta, &mut origin.theta);
        std::mem::swap(&mut self.paths, &mut origin.paths);
        std::mem::swap(&mut self.noise, &mut origin.noise);
    }

    /// Log-odds of sources as they stand, each target by itself, `[source, target]`; `None` before the first round.
    ///
    /// What the targets share is left out, which costs little and serves to follow the descent.
    pub fn log_odds_so_far(&self) -> Option<Vec<f64>> {
        let curvature = self.curvature.as_ref()?;
        let (n, size) = (self.library.n_variables(), self.library.unknowns().len());
        let covariance = |target: usize| {
            let (first, own) =
                (self.library.first_unknown(target), self.library.unknowns_of(target));
            let mut block = Vec::with_capacity(own.len() * own.len());
            for (row, unknown) in own.iter().enumerate() {
                let at = (first + row) * size + first;
                block.extend_from_slice(&curvature.matrix[at..at + own.len()]);
                block[row * (own.len() + 1)] += self.precisions[unknown.term];
            }
            Some(log_det_and_inverse(&block, own.len())?.1)
        };
        let belief = Belief {
            theta: self.theta.clone(),
            covariances: (0..n).map(covariance).collect::<Option<_>>()?,
            precisions: self.precisions.clone(),
            noise: self.noise.clone(),
            log_evidence: f64::NAN,
            has_converged: false,
            innovations: Vec::new(),
            paths: Vec::new(),
        };
        belief.log_odds(self.library, &vec![1.0; n])
    }
}
