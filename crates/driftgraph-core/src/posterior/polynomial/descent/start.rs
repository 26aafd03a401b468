//! Where the descent begins: the terms that explain the slopes of straight lines between rows best.

use super::Descent;
use crate::numeric::kernels::{View, product};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};

impl Descent<'_> {
    pub(super) fn start(&mut self) -> Option<()> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let n_steps: usize = self.gaps.iter().map(|gap| gap.n_steps).sum();
        let (mut values, mut weighted, mut slopes) =
            (vec![0.0; n_steps * n_terms], Vec::new(), Vec::new());
        let mut row = 0;
        for (gap, path) in self.gaps.iter().zip(&self.paths) {
            for step in 0..gap.n_steps {
                let ends = path[step * n..(step + 2) * n].split_at(n);
                let middle: Vec<f64> =
                    ends.0.iter().zip(ends.1).map(|(a, b)| 0.5 * (a + b)).collect();
                let values = &mut values[row * n_terms..][..n_terms];
                self.library.values_into(&middle, values);
                weighted.extend(values.iter().map(|value| value * gap.step()));
                slopes.extend(ends.0.iter().zip(ends.1).map(|(a, b)| (b - a) / gap.step()));
                row += 1;
            }
        }
        let weighted = View::new(&weighted, n_steps, n_terms);
        let mut moments = vec![0.0; n_terms * n_terms];
        product(&mut moments, n_terms, weighted.t(), View::new(&values, n_steps, n_terms));
        let mut products = vec![0.0; n_terms * n];
        product(&mut products, n, weighted.t(), View::new(&slopes, n_steps, n));
        for (term, precision) in self.precisions.iter().enumerate() {
            let entry = &mut moments[term * (n_terms + 1)];
            *entry += precision + 1e-3 * *entry;
        }
        let theta = self.regressed(&moments, &products)?;
        let mut fitted = vec![0.0; n_steps * n];
        product(
            &mut fitted,
            n,
            View::new(&values, n_steps, n_terms),
            View::new(&theta, n_terms, n),
        );
        let steps: Vec<f64> =
            self.gaps.iter().flat_map(|gap| std::iter::repeat_n(gap.step(), gap.n_steps)).collect();
        let variance = |target: usize| {
            let square = |row: usize| (slopes[row * n + target] - fitted[row * n + target]).powi(2);
            let sum: f64 = steps.iter().enumerate().map(|(row, step)| step * square(row)).sum();
            (sum / n_steps as f64).max(1e-8)
        };
        self.noise = (0..n).map(variance).collect();
        self.theta = theta;
        Some(())
    }

    /// Each target's terms from the moments of all.
    fn regressed(&self, moments: &[f64], products: &[f64]) -> Option<Vec<f64>> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let mut theta = vec![0.0; n_terms * n];
        for target in 0..n {
            let own = self.library.unknowns_of(target);
            let pairs = own.iter().flat_map(|row| own.iter().map(move |col| [row.term, col.term]));
            let block: Vec<f64> = pairs.map(|[row, col]| moments[row * n_terms + col]).collect();
            let mut solved: Vec<f64> =
                own.iter().map(|unknown| products[unknown.term * n + target]).collect();
            let factor = cholesky(&block, own.len())?;
            solve_lower(&factor, own.len(), &mut solved, 1);
            solve_upper(&factor, own.len(), &mut solved, 1);
            for (unknown, value) in own.iter().zip(solved) {
                theta[unknown.term * n + target] = value;
            }
        }
        Some(theta)
    }
}
