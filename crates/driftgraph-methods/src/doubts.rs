//! When a graph is not to be believed as it stands: sentences with a reason and a remedy.

use driftgraph_core::fitted::edges::{LearnedEdge, expected_edges};
use driftgraph_core::train::bridge::{Adequacy, Shares};

/// Share of the innovations' variance from which on a reader has to know.
const WORTH_SAYING: f64 = 0.05;
/// Share of all pairs that are probable edges from which on they say nothing.
const NEARLY_ALL: f64 = 0.6;
/// Share of the innovations' variance, all reasons together, below which equations have left nothing.
const LEAVES_NOTHING: f64 = 0.02;

/// What speaks against the graph that a fit found.
pub(crate) fn doubts(
    adequacy: &Adequacy,
    edges: &[LearnedEdge],
    n_variables: usize,
) -> Vec<String> {
    let mut doubts = of_innovations(adequacy);
    let pairs = (n_variables * n_variables) as f64;
    let expected = expected_edges(edges);
    if n_variables > 2 && expected > NEARLY_ALL * pairs {
        doubts.push(format!(
            "{expected:.0} of {pairs:.0} pairs are expected to be edges, which tells nothing about who drives whom: \
             take the order of the edges, if anything"
        ));
    }
    doubts
}

/// Doubts as what a fit says when it ends.
pub(crate) fn aloud(doubts: &[String]) -> impl Iterator<Item = String> {
    doubts.iter().map(|doubt| format!("warning: not to be taken at its word: {doubt}"))
}

/// The same of equations: those that leave nothing but noise may find that most variables drive each other.
pub(crate) fn doubts_of_equations(
    adequacy: &Adequacy,
    edges: &[LearnedEdge],
    n_variables: usize,
) -> Vec<String> {
    let Shares { products, past, time, others } = adequacy.mean_shares();
    if adequacy.n_rows > 0.0 && products + past + time + others < LEAVES_NOTHING {
        return of_innovations(adequacy);
    }
    doubts(adequacy, edges, n_variables)
}

fn of_innovations(adequacy: &Adequacy) -> Vec<String> {
    let mut doubts = of_shares(&adequacy.mean_shares());
    if adequacy.n_rows == 0.0 {
        doubts.push(
            "there are too few rows to tell whether the model fits: do not read single edges"
                .to_owned(),
        );
    }
    doubts
}

fn of_shares(shares: &Shares) -> Vec<String> {
    let reasons = [
        (
            shares.others,
            "other variables of the same row explain",
            "rows are too far apart, or something unseen drives several; sample faster or at irregular times to see \
             directions",
        ),
        (
            shares.products,
            "products of variables explain",
            "the process is not linear; finer rows, or `--drift linear-and-neural`, may describe it better",
        ),
        (shares.past, "earlier rows explain", "there are delays, or states that were not measured"),
        (
            shares.time,
            "the time alone explains",
            "a season, a trend or a change of regime is in the series; take it out first",
        ),
    ];
    (reasons.into_iter())
        .filter(|(share, ..)| *share >= WORTH_SAYING)
        .map(|(share, what, reason)| {
            let share = 100.0 * share;
            format!("{what} {share:.0} % of what the model leaves unexplained: {reason}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adequacy(shares: Shares) -> Adequacy {
        Adequacy { shares: vec![shares; 3], clustering: vec![1.0; 3], n_rows: 100.0 }
    }

    #[test]
    fn a_model_that_leaves_noise_is_not_doubted() {
        let small = Shares { products: 0.01, others: 0.02, ..Shares::default() };
        assert_eq!(doubts(&adequacy(small), &[], 3), Vec::<String>::new());
    }

    #[test]
    fn what_is_left_is_named_with_its_share() {
        let coarse = Shares { others: 0.94, ..Shares::default() };
        let found = doubts(&adequacy(coarse), &[], 3);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("other variables of the same row explain 94 % of what")
                && found[0].contains("sample faster"),
            "{found:?}"
        );
    }

    #[test]
    fn all_pairs_at_once_are_no_graph() {
        let edge = |idx: usize| LearnedEdge {
            source: idx / 3,
            target: idx % 3,
            probability: Some(0.99),
            ..LearnedEdge::default()
        };
        let edges: Vec<LearnedEdge> = (0..9).map(edge).collect();
        let found = doubts(&adequacy(Shares::default()), &edges, 3);
        assert!(found[0].starts_with("9 of 9 pairs"), "{found:?}");
        // Equations that leave noise alone may find all of them; those that leave more have not earned it.
        let left = |others: f64| adequacy(Shares { others, ..Shares::default() });
        assert_eq!(doubts_of_equations(&left(0.01), &edges, 3), Vec::<String>::new());
        assert_eq!(doubts_of_equations(&left(0.03), &edges, 3).len(), 1);
    }
}
