//! Equations of a process in the user's units: of polynomial drifts, and of linear ones.

use super::dynamics::Dynamics;
use super::model::{FittedModel, ModelPart};
use crate::posterior::bridge::structure::DriftParts;

pub use crate::train::polynomial::{Equation, EquationTerm, TermFunction};

/// Terms of this probability or more make an equation.
const IN_EQUATION: f64 = 0.5;

impl FittedModel {
    /// The drift of every variable as a sum of terms; `None` where it has another form, as with node functions or effects
    /// within a step.
    ///
    /// Of data that something was taken out of, the equations are those of the rest.
    pub fn equations(&self) -> Option<Vec<Equation>> {
        match &self.part {
            ModelPart::Polynomial(part) => Some(part.equations()),
            ModelPart::Bridge(part) => {
                let drift = part.model.structure().drift;
                let is_linear = drift == DriftParts::Linear && part.model.instant().is_none();
                is_linear.then(|| self.linear_equations())
            }
            ModelPart::Simulated(_) => None,
        }
    }

    /// dx_j/dt = constant + Σ effect x_i over the edges that are believed.
    fn linear_equations(&self) -> Vec<Equation> {
        let n = self.n_variables();
        let members = Dynamics::of(self);
        let share = 1.0 / members.len() as f64;
        let mut edges = self.edges();
        edges.sort_by_key(|edge| (edge.target, edge.source));
        let drifts: Vec<f64> = (0..n)
            .map(|target| share * members.iter().map(|one| one.drift_at_means(target)).sum::<f64>())
            .collect();
        let means = self.standardizer().means();
        let equation = |target: usize| {
            let believed = edges[target * n..(target + 1) * n].iter();
            let believed = believed.filter(|edge| edge.is_at_least(IN_EQUATION));
            let terms = believed.map(|edge| EquationTerm {
                factors: vec![edge.source],
                function: None,
                coefficient: edge.effect.unwrap_or(0.0),
                interval: edge.interval,
                probability: edge.probability.unwrap_or(0.0),
            });
            let mut terms: Vec<EquationTerm> = terms.collect();
            let at_means = terms.iter().map(|term| term.coefficient * means[term.factors[0]]);
            let constant = EquationTerm {
                factors: Vec::new(),
                function: None,
                coefficient: drifts[target] - at_means.sum::<f64>(),
                interval: None,
                probability: 1.0,
            };
            terms.insert(0, constant);
            Equation { target, terms }
        };
        (0..n).map(equation).collect()
    }
}
