//! Which terms: of several libraries the one with the largest evidence, linear terms among them.

use super::PolynomialError;
use super::terms::{Tried, name_of};
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::descent::{Descent, NoFit};
use crate::posterior::polynomial::gaps::Gaps;
use crate::posterior::polynomial::library::Library;
use crate::train::progress::Progress;

/// A library and what is believed of its terms.
pub(super) struct Choice {
    pub(super) library: Library,
    pub(super) belief: Belief,
    pub(super) over_linear: Option<f64>,
    pub(super) tried: Vec<Tried>,
}

impl Choice {
    /// The best of some libraries, of which the first has linear terms alone; that one where no other has more evidence.
    pub(super) fn new(
        gaps: &Gaps,
        libraries: Vec<Library>,
        progress: &dyn Progress,
    ) -> Result<Self, PolynomialError> {
        let (mut fits, mut failure) = (Vec::new(), PolynomialError::NotFinite);
        for (place, library) in libraries.into_iter().enumerate() {
            let descent = Descent::new(&library, &gaps.used).ok_or(NoFit::NotFinite);
            match descent.and_then(|descent| descent.run(&|| !progress.is_interrupted())) {
                Err(NoFit::Stopped) => return Err(PolynomialError::Stopped),
                Err(error) => failure = error.into(),
                Ok(belief) => fits.push((place, library, belief)),
            }
        }
        let linear = fits.first().filter(|fit| fit.0 == 0).map(|fit| fit.2.log_evidence);
        let others = fits.iter().filter(|fit| fit.0 > 0);
        let tried: Vec<Tried> = (others.zip(linear.iter().cycle()))
            .map(|((_, library, belief), linear)| Tried {
                name: name_of(library).to_owned(),
                over_linear: belief.log_evidence - linear,
            })
            .collect();
        let over_linear = tried.iter().map(|one| one.over_linear).max_by(f64::total_cmp);
        // Of equal evidence the first, which has the fewest terms.
        let best =
            fits.into_iter().rev().max_by(|a, b| a.2.log_evidence.total_cmp(&b.2.log_evidence));
        let (_, library, belief) = best.ok_or(failure)?;
        Ok(Self { library, belief, over_linear, tried })
    }
}
