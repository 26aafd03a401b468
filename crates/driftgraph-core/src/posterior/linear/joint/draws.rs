//! Draws of all paths given everything observed: filtering forward, sampling backward.

use super::record::symmetrise;
use super::{Back, Covariances, JointFilter, place_rows};
use crate::numeric::kernels::{View, add_product};
use crate::numeric::linalg::cholesky;
use crate::random::RandomStream;

/// Relative change of a covariance from one point to the next below which it stands still: what draws are averaged
/// into has Monte Carlo errors of a hundredth.
const STEADY: f64 = 1e-6;
/// What is added to the diagonal of a covariance before it is drawn from, against rounding.
const JITTER: f64 = 1e-10;

impl JointFilter<'_> {
    /// Draws all paths; `None` where a covariance is not positive definite.
    pub(in super::super) fn draw(&self, random: &mut RandomStream) -> Option<Vec<f64>> {
        Self { steady: STEADY, ..*self }.draw_all(random)
    }

    fn draw_all(&self, random: &mut RandomStream) -> Option<Vec<f64>> {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let mut paths = vec![0.0; layout.n_points() * d];
        for group in self.grid.groups() {
            let n = group.first_points.len();
            let all = self.covariances(group)?;
            let found = self.means(group, &all);
            let last = group.n_points - 1;
            let mut noise = vec![0.0; n * d];
            let row = |values: &[f64], point: usize| values[point * n * d..][..n * d].to_vec();
            let mut state = row(&found.filtered, last);
            let filtered = &all.records[all.of_point[last]].filtered;
            random.fill_normal_fast(&mut noise);
            add_product(
                &mut state,
                d,
                View::new(&noise, n, d),
                View::new(&root(filtered, d)?, d, d).t(),
            );
            place_rows(&mut paths, group, last, &state, d);
            let (mut back, mut rest): (Option<Back>, Vec<f64>) = (None, Vec::new());
            for point in (0..last).rev() {
                let key = (all.of_point[point], all.of_point[point + 1]);
                let same = back.as_ref().is_some_and(|back| back.key == key);
                let step = self.back(&all, point, back.take())?;
                if !same {
                    rest = self.remaining(&all, &step)?;
                }
                let mut ahead = row(&found.predicted, point + 1);
                ahead.iter_mut().zip(&state).for_each(|(ahead, state)| *ahead = state - *ahead);
                state = row(&found.filtered, point);
                add_product(&mut state, d, View::new(&ahead, n, d), View::new(&step.gain, d, d));
                random.fill_normal_fast(&mut noise);
                add_product(&mut state, d, View::new(&noise, n, d), View::new(&rest, d, d).t());
                place_rows(&mut paths, group, point, &state, d);
                back = Some(step);
            }
        }
        Some(paths)
    }

    /// The lower factor of cov(z_k | z_k+1) = F - J' P J.
    fn remaining(&self, all: &Covariances, back: &Back) -> Option<Vec<f64>> {
        let d = self.grid.n_variables();
        let mut rest = all.records[back.key.0].filtered.clone();
        let negative: Vec<f64> = back.half_gain.iter().map(|value| -value).collect();
        let half = View::new(&back.half_gain, d, d);
        add_product(&mut rest, d, half.t(), View::new(&negative, d, d));
        symmetrise(&mut rest, d);
        root(&rest, d)
    }
}

/// The lower factor of a covariance that rounding may have left slightly indefinite.
fn root(covariance: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut raised = covariance.to_vec();
    let largest = (0..d).map(|idx| raised[idx * (d + 1)]).fold(0.0, f64::max);
    for idx in 0..d {
        raised[idx * (d + 1)] += JITTER * largest + f64::MIN_POSITIVE;
    }
    cholesky(&raised, d)
}
