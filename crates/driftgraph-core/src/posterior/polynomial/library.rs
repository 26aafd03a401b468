//! Monomials of the state up to a degree, with their values and derivatives.

use std::collections::BTreeMap;

/// All monomials of some variables up to a degree: the constant first, then by degree.
#[derive(Debug, Clone)]
pub struct Library {
    n_variables: usize,
    /// Factors of each monomial, in increasing order.
    factors: Vec<Vec<usize>>,
    /// The monomial without its last factor; the constant is its own.
    parents: Vec<usize>,
    derivatives: Vec<Derivative>,
}

/// ∂φ_term / ∂u_variable = count φ_rest: the derivative of a monomial is one of the library again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Derivative {
    term: usize,
    variable: usize,
    count: f64,
    rest: usize,
}

impl Library {
    /// The monomials of `n_variables` variables up to `degree`.
    pub fn new(n_variables: usize, degree: usize) -> Self {
        let mut factors: Vec<Vec<usize>> = vec![Vec::new()];
        let mut parents = vec![0];
        let mut first = 0;
        for _ in 0..degree {
            let last = factors.len();
            for parent in first..last {
                let from = factors[parent].last().copied().unwrap_or(0);
                for variable in from..n_variables {
                    let mut longer = factors[parent].clone();
                    longer.push(variable);
                    factors.push(longer);
                    parents.push(parent);
                }
            }
            first = last;
        }
        let derivatives = derivatives(&factors);
        Self { n_variables, factors, parents, derivatives }
    }

    /// Number of monomials of `n_variables` variables up to `degree`.
    pub fn size(n_variables: usize, degree: usize) -> usize {
        (1..=degree).fold(1, |size, order| size * (n_variables + order) / order)
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Number of monomials, F.
    pub fn n_terms(&self) -> usize {
        self.factors.len()
    }

    /// The variables whose product a monomial is, in increasing order.
    pub fn factors(&self, term: usize) -> &[usize] {
        &self.factors[term]
    }

    /// Monomials that contain a variable.
    pub fn terms_with(&self, variable: usize) -> Vec<usize> {
        (0..self.n_terms()).filter(|&term| self.factors[term].contains(&variable)).collect()
    }

    /// φ(u) into `values`.
    pub fn values_into(&self, state: &[f64], values: &mut [f64]) {
        values[0] = 1.0;
        for term in 1..self.n_terms() {
            let last = self.factors[term][self.factors[term].len() - 1];
            values[term] = values[self.parents[term]] * state[last];
        }
    }

    /// ∂f_j/∂u_i, `[source, target]`, from the values of the monomials and θ `[term, target]`.
    pub fn jacobian_into(&self, values: &[f64], theta: &[f64], jacobian: &mut [f64]) {
        let n = self.n_variables;
        jacobian.fill(0.0);
        for derivative in &self.derivatives {
            let slope = derivative.count * values[derivative.rest];
            let theta = &theta[derivative.term * n..][..n];
            let row = &mut jacobian[derivative.variable * n..][..n];
            row.iter_mut().zip(theta).for_each(|(sum, theta)| *sum += slope * theta);
        }
    }

    /// Adds `scale` Σ_i (∂φ_f/∂u_i) g_ij to the gradient `[term, target]`, for g `[source, target]`.
    pub fn add_pulled_back(
        &self,
        values: &[f64],
        by_jacobian: &[f64],
        scale: f64,
        gradient: &mut [f64],
    ) {
        let n = self.n_variables;
        for derivative in &self.derivatives {
            let slope = scale * derivative.count * values[derivative.rest];
            let row = &by_jacobian[derivative.variable * n..][..n];
            let sums = &mut gradient[derivative.term * n..][..n];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += slope * value);
        }
    }

    /// Adds ∂φ_f/∂u_variable to `slopes`, one for each monomial.
    pub fn add_slopes(&self, values: &[f64], variable: usize, slopes: &mut [f64]) {
        for derivative in self.derivatives.iter().filter(|one| one.variable == variable) {
            slopes[derivative.term] += derivative.count * values[derivative.rest];
        }
    }

    /// What monomials of u = (x - mean) / scale are in monomials of x, `[term of x, term of u]`.
    pub fn expansion(&self, means: &[f64], scales: &[f64]) -> Vec<f64> {
        let n_terms = self.n_terms();
        let places = places(&self.factors);
        let mut matrix = vec![0.0; n_terms * n_terms];
        matrix[0] = 1.0;
        for term in 1..n_terms {
            let last = self.factors[term][self.factors[term].len() - 1];
            for row in 0..n_terms {
                let weight = matrix[row * n_terms + self.parents[term]];
                if weight != 0.0 {
                    let mut longer = self.factors[row].clone();
                    longer.push(last);
                    longer.sort_unstable();
                    matrix[places[&longer] * n_terms + term] += weight / scales[last];
                    matrix[row * n_terms + term] -= weight * means[last] / scales[last];
                }
            }
        }
        matrix
    }
}

fn places(factors: &[Vec<usize>]) -> BTreeMap<Vec<usize>, usize> {
    factors.iter().cloned().enumerate().map(|(term, factors)| (factors, term)).collect()
}

fn derivatives(factors: &[Vec<usize>]) -> Vec<Derivative> {
    let places = places(factors);
    let mut all = Vec::new();
    for (term, own) in factors.iter().enumerate() {
        let mut distinct = own.clone();
        distinct.dedup();
        for variable in distinct {
            let mut rest = own.clone();
            rest.remove(own.iter().position(|&other| other == variable).unwrap_or_default());
            let count = own.iter().filter(|&&other| other == variable).count() as f64;
            all.push(Derivative { term, variable, count, rest: places[&rest] });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_variables_have_six_monomials_up_to_degree_two() {
        let library = Library::new(2, 2);
        let mut values = [0.0; 6];
        library.values_into(&[3.0, 5.0], &mut values);
        assert_eq!(values, [1.0, 3.0, 5.0, 9.0, 15.0, 25.0]);
        assert_eq!(library.terms_with(1), [2, 4, 5]);
        for degree in 1..4 {
            assert_eq!(Library::size(4, degree), Library::new(4, degree).n_terms());
        }
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        let library = Library::new(3, 3);
        let n_terms = library.n_terms();
        let (state, step) = ([0.3, -1.2, 0.8], 1e-5);
        let at = |variable: usize, change: f64| {
            let mut moved = state;
            moved[variable] += change;
            let mut values = vec![0.0; n_terms];
            library.values_into(&moved, &mut values);
            values
        };
        for variable in 0..3 {
            let (up, down) = (at(variable, step), at(variable, -step));
            let mut slopes = vec![0.0; n_terms];
            library.add_slopes(&at(0, 0.0), variable, &mut slopes);
            for term in 0..n_terms {
                // Third derivatives of at most 6 times the step squared, and rounding over it.
                let slope = (up[term] - down[term]) / (2.0 * step);
                assert!((slopes[term] - slope).abs() < 1e-9, "{term} by {variable}");
            }
        }
    }

    #[test]
    fn an_expansion_gives_the_same_function_in_other_units() {
        let library = Library::new(2, 3);
        let n_terms = library.n_terms();
        let (means, scales, x) = ([2.0, -0.5], [3.0, 0.25], [2.7, -0.1]);
        let u = [(x[0] - means[0]) / scales[0], (x[1] - means[1]) / scales[1]];
        let expansion = library.expansion(&means, &scales);
        let (mut of_x, mut of_u) = (vec![0.0; n_terms], vec![0.0; n_terms]);
        library.values_into(&x, &mut of_x);
        library.values_into(&u, &mut of_u);
        for term in 0..n_terms {
            let sum: f64 =
                (0..n_terms).map(|row| of_x[row] * expansion[row * n_terms + term]).sum();
            // Rounding of sums of up to eight products.
            assert!((sum - of_u[term]).abs() < 1e-12, "{term}");
        }
    }
}
