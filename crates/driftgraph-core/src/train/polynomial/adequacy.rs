//! What the innovations of a polynomial process still contain.

use std::collections::HashMap;

use crate::SeriesSet;
use crate::posterior::linear::adequacy::{Adequacy, InnovationRows, Neighbours, Shares};
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::gaps::Gaps;
use crate::posterior::polynomial::library::Library;

/// Asks the innovations of gaps that follow on another.
pub(super) fn adequacy(
    standard: &SeriesSet,
    gaps: &Gaps,
    library: &Library,
    belief: &Belief,
) -> Adequacy {
    let n = library.n_variables();
    let n_terms = library.n_terms();
    // Where terms are as many as rows, as with many variables, nothing would be left without them: linear ones are taken out alone.
    let n_out = if 2 * n_terms > gaps.used.len() { n + 1 } else { n_terms };
    let mut rows = InnovationRows::of_degree(n, standard.n_series(), library.degree(), n_out);
    let ends: HashMap<[usize; 2], usize> =
        gaps.used.iter().enumerate().map(|(idx, gap)| ([gap.series, gap.rows[1]], idx)).collect();
    let mut values = vec![0.0; n_terms];
    for (gap, error) in gaps.used.iter().zip(&belief.innovations) {
        let Some(&earlier) = ends.get(&[gap.series, gap.rows[0]]) else { continue };
        library.values_into(&gap.before, &mut values);
        let row = Neighbours {
            state: &gap.before,
            error,
            earlier_state: &gaps.used[earlier].before,
            earlier_error: &belief.innovations[earlier],
        };
        rows.add_with(gap.rows[0], row, &values[..n_out]);
    }
    Adequacy::of_rows(&rows)
}

/// The same for all variables of the data.
pub(super) fn of_all(own: &Adequacy, varying: &[usize], n_variables: usize) -> Adequacy {
    let mut all = Adequacy { n_rows: own.n_rows, ..Adequacy::unknown(n_variables) };
    for (place, &variable) in varying.iter().enumerate() {
        let shares: Shares = own.shares[place];
        (all.shares[variable], all.clustering[variable]) = (shares, own.clustering[place]);
    }
    all
}
