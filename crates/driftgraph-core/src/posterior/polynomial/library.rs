//! Terms that a drift is made of: monomials of the state up to a degree, and functions that bend; with their values and derivatives.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

mod curves;

use std::collections::BTreeMap;

pub use curves::{Angle, Bend, Curves, Saturation};

use crate::numeric::kernels::add_scaled;

/// Terms of some variables: the constant first, then monomials by degree, then functions that bend; and which of them each drift may have.
///
/// Functions may have helpers behind them: their derivatives, where these are no terms themselves. Helpers are in no drift.
#[derive(Debug, Clone)]
pub struct Library {
    n_variables: usize,
    degree: usize,
    /// Variables of each term, in increasing order: those that are multiplied in a monomial, those that a function depends on.
    factors: Vec<Vec<usize>>,
    /// The monomial without its last factor; the constant is its own. Monomials alone.
    parents: Vec<usize>,
    derivatives: Vec<Derivative>,
    /// What may be in a drift, by target, then by term.
    unknowns: Vec<Unknown>,
    /// Where the unknowns of each target begin, and where the last end.
    firsts: Vec<usize>,
    /// What stands behind the monomials.
    curves: Option<Curves>,
}

/// A coefficient that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// Whose drift.
    pub target: usize,
    /// Of which term.
    pub term: usize,
}

/// ∂φ_term / ∂u_variable = count φ_rest: the derivative of a term is one of the library again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Derivative {
    term: usize,
    variable: usize,
    count: f64,
    rest: usize,
}

impl Library {
    /// The monomials of `n_variables` variables up to `degree`, all in every drift.
    pub fn new(n_variables: usize, degree: usize) -> Self {
        Self::among(n_variables, degree, &|_, _| true)
    }

    /// The monomials up to `degree` whose factors may all be sources of some target; each drift has those of its own sources.
    pub fn among(
        n_variables: usize,
        degree: usize,
        is_source: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let (factors, parents) = monomials(n_variables, degree, is_source);
        let derivatives = derivatives(&factors);
        let (unknowns, firsts) = (Vec::new(), Vec::new());
        let library = Self {
            n_variables,
            degree,
            factors,
            parents,
            derivatives,
            unknowns,
            firsts,
            curves: None,
        };
        library.with_unknowns(is_source)
    }

    /// Constants, linear terms and functions of the variables, each drift with those of its own sources.
    pub fn bent(curves: Curves, is_source: &dyn Fn(usize, usize) -> bool) -> Self {
        let linear = Self::among(curves.n_variables(), 1, is_source);
        let first = linear.factors.len();
        let Self { mut factors, mut derivatives, .. } = linear;
        factors.extend(curves.variables());
        derivatives.extend(curves.derivatives().into_iter().map(|one| Derivative {
            term: first + one.term,
            variable: one.variable,
            count: one.count,
            rest: first + one.rest,
        }));
        let library = Self { factors, derivatives, curves: Some(curves), ..linear };
        library.with_unknowns(is_source)
    }

    fn with_unknowns(mut self, is_source: &dyn Fn(usize, usize) -> bool) -> Self {
        (self.unknowns, self.firsts) = (Vec::new(), vec![0]);
        for target in 0..self.n_variables {
            let allows = |term: &usize| {
                let own = self.curves.as_ref().zip(term.checked_sub(self.n_monomials()));
                own.is_none_or(|(curves, place)| curves.may_drive(place, target))
                    && self.factors[*term].iter().all(|&source| is_source(source, target))
            };
            let terms = (0..self.factors.len()).filter(allows);
            let unknowns: Vec<Unknown> = terms.map(|term| Unknown { target, term }).collect();
            self.unknowns.extend(unknowns);
            self.firsts.push(self.unknowns.len());
        }
        self
    }

    /// Number of monomials of `n_variables` variables up to `degree`.
    pub fn size(n_variables: usize, degree: usize) -> usize {
        (1..=degree).fold(1, |size, order| size * (n_variables + order) / order)
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Number of monomials; functions stand behind them.
    fn n_monomials(&self) -> usize {
        self.parents.len()
    }

    /// What stands behind the monomials.
    pub fn curves(&self) -> Option<&Curves> {
        self.curves.as_ref()
    }

    /// Whether a term is a single variable.
    pub fn is_linear(&self, term: usize) -> bool {
        term < self.n_monomials() && self.factors[term].len() == 1
    }

    /// The function that a term is; `None` for monomials.
    pub fn bend(&self, term: usize) -> Option<Bend> {
        self.curves.as_ref()?.bend(term.checked_sub(self.n_monomials())?)
    }

    /// Number of terms, F, and of their helpers.
    pub fn n_terms(&self) -> usize {
        self.factors.len()
    }

    /// Most variables that are multiplied in a monomial.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// All coefficients that are looked for, by target, then by term.
    pub fn unknowns(&self) -> &[Unknown] {
        &self.unknowns
    }

    /// Those of one target.
    pub fn unknowns_of(&self, target: usize) -> &[Unknown] {
        &self.unknowns[self.firsts[target]..self.firsts[target + 1]]
    }

    /// The position of a target's first unknown among all.
    pub fn first_unknown(&self, target: usize) -> usize {
        self.firsts[target]
    }

    /// Places among a target's unknowns of the terms that contain a variable.
    pub fn places_with(&self, source: usize, target: usize) -> Vec<usize> {
        let own = self.unknowns_of(target).iter().enumerate();
        own.filter(|(_, unknown)| self.factors[unknown.term].contains(&source))
            .map(|(place, _)| place)
            .collect()
    }

    /// The variables of a term, in increasing order: a monomial is their product.
    pub fn factors(&self, term: usize) -> &[usize] {
        &self.factors[term]
    }

    /// φ(u) into `values`.
    pub fn values_into(&self, state: &[f64], values: &mut [f64]) {
        values[0] = 1.0;
        let (monomials, bent) = values.split_at_mut(self.n_monomials());
        for term in 1..monomials.len() {
            let last = self.factors[term][self.factors[term].len() - 1];
            monomials[term] = monomials[self.parents[term]] * state[last];
        }
        if let Some(curves) = &self.curves {
            curves.values_into(state, bent);
        }
    }

    /// ∂f_j/∂u_i, `[source, target]`, from the values of the monomials and θ `[term, target]`.
    #[inline(always)]
    pub fn jacobian_into(&self, values: &[f64], theta: &[f64], jacobian: &mut [f64]) {
        let n = self.n_variables;
        jacobian.fill(0.0);
        for derivative in &self.derivatives {
            let slope = derivative.count * values[derivative.rest];
            let theta = &theta[derivative.term * n..][..n];
            let row = &mut jacobian[derivative.variable * n..][..n];
            add_scaled(row, slope, theta);
        }
    }

    /// Adds `scale` Σ_i (∂φ_f/∂u_i) g_ij to the gradient `[term, target]`, for g `[source, target]`.
    #[inline(always)]
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
            add_scaled(sums, slope, row);
        }
    }

    /// Adds ∂φ_f/∂u_variable to `slopes`, one for each monomial.
    pub fn add_slopes(&self, values: &[f64], variable: usize, slopes: &mut [f64]) {
        for derivative in self.derivatives.iter().filter(|one| one.variable == variable) {
            slopes[derivative.term] += derivative.count * values[derivative.rest];
        }
    }

    /// What monomials of u = (x - mean) / scale are in monomials of x, `[term of x, term of u]`; functions are those of x as they are.
    pub fn expansion(&self, means: &[f64], scales: &[f64]) -> Vec<f64> {
        let n_terms = self.n_terms();
        let places = places(&self.factors[..self.n_monomials()]);
        let mut matrix = vec![0.0; n_terms * n_terms];
        matrix[0] = 1.0;
        (self.n_monomials()..n_terms).for_each(|term| matrix[term * (n_terms + 1)] = 1.0);
        for term in 1..self.n_monomials() {
            let last = self.factors[term][self.factors[term].len() - 1];
            for row in 0..self.n_monomials() {
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

/// Factors of all monomials, and which of them each is without its last factor.
fn monomials(
    n_variables: usize,
    degree: usize,
    is_source: &dyn Fn(usize, usize) -> bool,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let is_used = |factors: &[usize]| {
        let allows = |target: usize| factors.iter().all(|&source| is_source(source, target));
        (0..n_variables).any(allows)
    };
    let mut factors: Vec<Vec<usize>> = vec![Vec::new()];
    let mut parents = vec![0];
    let mut first = 0;
    for order in 0..degree {
        let last = factors.len();
        for parent in first..last {
            let from = factors[parent].last().copied().unwrap_or(0);
            for variable in from..n_variables {
                let mut longer = factors[parent].clone();
                longer.push(variable);
                // Single variables are parents of others' terms.
                if order == 0 || is_used(&longer) {
                    factors.push(longer);
                    parents.push(parent);
                }
            }
        }
        first = last;
    }
    (factors, parents)
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
        assert_eq!(library.places_with(1, 0), [2, 4, 5]);
        for degree in 1..4 {
            assert_eq!(Library::size(4, degree), Library::new(4, degree).n_terms());
        }
    }

    #[test]
    fn a_drift_has_the_products_of_its_own_sources_alone() {
        // 0 and 1 drive 0, 2 drives itself.
        let library = Library::among(3, 2, &|source, target| (source == 2) == (target == 2));
        let named = |target: usize| -> Vec<&[usize]> {
            library.unknowns_of(target).iter().map(|own| library.factors(own.term)).collect()
        };
        assert_eq!(named(0), [&[][..], &[0], &[1], &[0, 0], &[0, 1], &[1, 1]]);
        assert_eq!(named(2), [&[][..], &[2], &[2, 2]]);
        assert_eq!(library.first_unknown(2), 12);
        assert_eq!(library.places_with(2, 2), [1, 2]);
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
