//! The equations of a model, as a report shows them.

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_data::equation_text::{equation_text, term_text};
use driftgraph_report::view::{EquationTermView, EquationView};

/// One view for each variable; none where the drift is no sum of terms.
pub(crate) fn equation_views(model: &FittedModel) -> Vec<EquationView> {
    let names = model.variables();
    let equations = model.equations().unwrap_or_default();
    let view = |equation: &driftgraph_core::fitted::equations::Equation| EquationView {
        text: equation_text(names, equation),
        terms: (equation.terms.iter())
            .map(|term| EquationTermView {
                text: term_text(names, term),
                coefficient: term.coefficient,
                interval: term.interval,
                probability: term.probability,
            })
            .collect(),
    };
    equations.iter().map(view).collect()
}
