//! Pairwise score matching: which pairs of variables the stationary law of the levels needs.

use super::monomials::{Monomial, monomials};
use crate::numeric::kernels::{View, add_product, dot, transpose};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};

/// Weight of a standard normal prior of every coefficient, in rows; coefficients of the third degree have twice of it.
const PRIOR_ROWS: f64 = 1.0;

/// A law of levels whose logarithm is a polynomial, found by score matching (Hyvärinen 2005).
///
/// log p(u) = Σ c_k ψ_k(u), with all monomials ψ up to a degree in at most two variables. Score matching needs no
/// normaliser: it minimises E[½ |∇ log p|² + Δ log p], which is quadratic in c and has the solution
/// `c = -H⁻¹ E[Δψ]`, `H = E[Σ_j ∂_j ψ ∂_j ψᵀ]`. With degree 2 the law is normal, and c its precision matrix.
#[derive(Debug, Clone)]
pub struct LevelLaw {
    terms: Vec<Monomial>,
    coefficients: Vec<f64>,
    /// What each row moves each coefficient by, `[coefficient, row]`: the sum of squares over rows is the sandwich
    /// estimate of their covariance.
    moves: Vec<f64>,
    n_rows: usize,
}

impl LevelLaw {
    /// Learns the law from rows in standard units, `[row, variable]`; `None` where its equations have no solution.
    pub fn fit(rows: &[f64], n_variables: usize, degree: u32) -> Option<Self> {
        Self::with_prior(rows, n_variables, degree, PRIOR_ROWS)
    }

    /// Number of coefficients of a law of so many variables.
    pub fn n_coefficients(n_variables: usize, degree: u32) -> usize {
        monomials(n_variables, degree).len()
    }

    fn with_prior(rows: &[f64], d: usize, degree: u32, prior_rows: f64) -> Option<Self> {
        let terms = monomials(d, degree);
        let (n_rows, n) = (rows.len() / d, terms.len());
        let weight = 1.0 / n_rows as f64;
        let groups: Vec<Vec<usize>> =
            (0..d).map(|j| (0..n).filter(|&k| terms[k].has(j)).collect()).collect();
        // ∂_j ψ of every row, for the terms that have variable j.
        let gradients = |j: usize| -> Vec<f64> {
            let row_gradients = |row: &[f64]| {
                groups[j].iter().map(|&k| terms[k].slope(j, |idx| row[idx])).collect()
            };
            rows.chunks_exact(d).flat_map(|row| -> Vec<f64> { row_gradients(row) }).collect()
        };
        let mut hessian = vec![0.0; n * n];
        for (j, own) in groups.iter().enumerate() {
            let (gradients, m) = (gradients(j), own.len());
            let view = View::new(&gradients, n_rows, m);
            let mut products = vec![0.0; m * m];
            add_product(&mut products, m, view.t(), view);
            for (a, &k) in own.iter().enumerate() {
                for (b, &l) in own.iter().enumerate() {
                    hessian[k * n + l] += weight * products[a * m + b];
                }
            }
        }
        for (k, term) in terms.iter().enumerate() {
            hessian[k * (n + 1)] += weight * prior_rows * f64::from(term.degree().max(2) - 1);
        }
        let factor = cholesky(&hessian, n)?;
        // What each row adds to the equations: Δψ first, Σ_j ∂_j ψ (∂_j log p) once the coefficients are known.
        let mut pulls: Vec<f64> = (rows.chunks_exact(d))
            .flat_map(|row| terms.iter().map(|term| term.laplacian(|idx| row[idx])))
            .collect();
        let mut coefficients: Vec<f64> = column_means(&pulls, n).iter().map(|mean| -mean).collect();
        solve_lower(&factor, n, &mut coefficients, 1);
        solve_upper(&factor, n, &mut coefficients, 1);
        for (j, own) in groups.iter().enumerate() {
            let gradients = gradients(j);
            for (pull, gradient) in pulls.chunks_exact_mut(n).zip(gradients.chunks_exact(own.len()))
            {
                let slope: f64 =
                    own.iter().zip(gradient).map(|(&k, value)| coefficients[k] * value).sum();
                own.iter().zip(gradient).for_each(|(&k, value)| pull[k] += value * slope);
            }
        }
        // The mean pull is that of the prior, which is no spread between rows.
        let means = column_means(&pulls, n);
        for pull in pulls.chunks_exact_mut(n) {
            pull.iter_mut().zip(&means).for_each(|(value, mean)| *value = (*value - mean) * weight);
        }
        // H⁻¹ of them: what each row moves the coefficients by.
        let mut moves = vec![0.0; n * n_rows];
        transpose(&mut moves, &pulls, n_rows, n);
        solve_lower(&factor, n, &mut moves, n_rows);
        solve_upper(&factor, n, &mut moves, n_rows);
        let finite = coefficients.iter().chain(&moves).all(|value| value.is_finite());
        finite.then_some(Self { terms, coefficients, moves, n_rows })
    }

    /// Evidence that the law needs two variables together: cᵀ C⁻¹ c over the coefficients of exactly these two.
    ///
    /// Chi-squared for a pair that it does not need, with as many degrees of freedom as there are coefficients.
    pub fn wald(&self, pair: [usize; 2]) -> f64 {
        let pair = [pair[0].min(pair[1]), pair[0].max(pair[1])];
        let own: Vec<usize> =
            (0..self.terms.len()).filter(|&k| self.terms[k].is_of(pair)).collect();
        let m = own.len();
        let moves = |k: usize| &self.moves[k * self.n_rows..(k + 1) * self.n_rows];
        let covariance = |k: usize, l: usize| dot(moves(k), moves(l));
        // Rows that are all alike give no spread in some direction: it is not to be divided by nothing.
        let largest = own.iter().map(|&k| covariance(k, k)).fold(0.0, f64::max);
        let floor = 1e-9 * largest + f64::MIN_POSITIVE;
        let mut block = vec![0.0; m * m];
        for (a, &k) in own.iter().enumerate() {
            for (b, &l) in own.iter().enumerate() {
                block[a * m + b] = covariance(k, l) + if a == b { floor } else { 0.0 };
            }
        }
        let Some(factor) = cholesky(&block, m) else { return 0.0 };
        let mut solved: Vec<f64> = own.iter().map(|&k| self.coefficients[k]).collect();
        solve_lower(&factor, m, &mut solved, 1);
        let wald: f64 = solved.iter().map(|value| value * value).sum();
        if wald.is_finite() { wald } else { 0.0 }
    }

    /// The Wald statistic of every pair, `[variable, variable]`, 0 on the diagonal.
    pub fn wald_matrix(&self, n_variables: usize) -> Vec<f64> {
        let mut matrix = vec![0.0; n_variables * n_variables];
        for i in 0..n_variables {
            for j in i + 1..n_variables {
                let wald = self.wald([i, j]);
                (matrix[i * n_variables + j], matrix[j * n_variables + i]) = (wald, wald);
            }
        }
        matrix
    }
}

fn column_means(rows: &[f64], n: usize) -> Vec<f64> {
    let mut means = vec![0.0; n];
    for row in rows.chunks_exact(n) {
        means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
    }
    let n_rows = (rows.len() / n) as f64;
    means.iter_mut().for_each(|mean| *mean /= n_rows);
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::linalg::log_det_and_inverse;
    use crate::random::{Purpose, RandomStream};

    fn noise(n_rows: usize, d: usize) -> Vec<f64> {
        let mut random = RandomStream::new(1003, Purpose::System, 0);
        (0..n_rows * d).map(|_| random.normal()).collect()
    }

    fn standardised(mut rows: Vec<f64>, d: usize) -> Vec<f64> {
        let means = column_means(&rows, d);
        rows.chunks_exact_mut(d)
            .for_each(|row| row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean));
        let squares: Vec<f64> = rows.iter().map(|value| value * value).collect();
        let variances = column_means(&squares, d);
        rows.chunks_exact_mut(d).for_each(|row| {
            row.iter_mut().zip(&variances).for_each(|(value, variance)| *value /= variance.sqrt());
        });
        rows
    }

    /// A normal law: a chain from the first variable to the last.
    fn chain(n_rows: usize) -> Vec<f64> {
        let mut rows = noise(n_rows, 4);
        for row in rows.chunks_exact_mut(4) {
            (1..4).for_each(|idx| row[idx] += 0.8 * row[idx - 1]);
        }
        standardised(rows, 4)
    }

    #[test]
    fn with_degree_two_the_coefficients_are_the_precision_matrix() {
        let rows = chain(50);
        let law = LevelLaw::with_prior(&rows, 4, 2, 1e-9).unwrap();
        let mut covariance = vec![0.0; 16];
        let view = View::new(&rows, 50, 4);
        add_product(&mut covariance, 4, view.t(), view);
        covariance.iter_mut().for_each(|value| *value /= 50.0);
        let (_, precision) = log_det_and_inverse(&covariance, 4).unwrap();
        for (term, found) in law.terms.iter().zip(&law.coefficients) {
            // log p = -½ uᵀ P u: each pair stands there twice.
            let [i, j] = term.variables();
            let wanted = match (term.degree(), i == j) {
                (1, _) => 0.0,
                (_, true) => -0.5 * precision[i * 4 + i],
                (_, false) => -precision[i * 4 + j],
            };
            // The prior is that of 1e-9 rows of 50.
            assert!((found - wanted).abs() < 1e-8, "{term:?}: {found} and {wanted}");
        }
    }

    #[test]
    fn absent_pairs_have_the_statistic_of_their_law_and_links_stand_out() {
        let rows = chain(2000);
        for (degree, n_coefficients) in [(2, 1.0), (3, 3.0)] {
            let law = LevelLaw::fit(&rows, 4, degree).unwrap();
            for link in [[0, 1], [1, 2], [2, 3]] {
                assert!(law.wald(link) > 200.0, "{link:?}: {}", law.wald(link));
            }
            // Chi-squared, whose mean is the number of coefficients and whose 99.9 % point is below 17.
            let absent = [[0, 2], [0, 3], [1, 3]].map(|pair| law.wald(pair));
            assert!(absent.iter().all(|wald| *wald < 17.0), "{absent:?}");
            assert!(absent.iter().sum::<f64>() < 3.0 * 4.0 * n_coefficients, "{absent:?}");
        }
    }

    #[test]
    fn dependence_without_correlation_is_seen_with_degree_three() {
        // The second variable follows the square of the first; the third is by itself.
        let mut rows = noise(1000, 3);
        rows.chunks_exact_mut(3).for_each(|row| row[1] += row[0] * row[0]);
        let law = LevelLaw::fit(&standardised(rows, 3), 3, 3).unwrap();
        let found = [[1, 0], [0, 2], [1, 2]].map(|pair| law.wald(pair));
        assert!(found[0] > 50.0 && found[1] < 17.0 && found[2] < 17.0, "{found:?}");
    }

    #[test]
    fn slopes_and_laplacians_agree_with_differences() {
        let at = [0.7, -1.2, 0.4];
        for term in monomials(3, 3) {
            let value = |point: [f64; 3]| term.value(|idx| point[idx]);
            let mut laplacian = 0.0;
            for j in 0..3 {
                let moved = |by: f64| {
                    let mut point = at;
                    point[j] += by;
                    value(point)
                };
                let h = 1e-4;
                // Polynomials of the third degree: central differences err by h² at most, and by rounding over h².
                let slope = (moved(h) - moved(-h)) / (2.0 * h);
                assert!((term.slope(j, |idx| at[idx]) - slope).abs() < 1e-7, "{term:?}");
                laplacian += (moved(h) - 2.0 * value(at) + moved(-h)) / (h * h);
            }
            assert!((term.laplacian(|idx| at[idx]) - laplacian).abs() < 1e-6, "{term:?}");
        }
    }
}
