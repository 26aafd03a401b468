//! When a graph is not to be believed as it stands: sentences with a reason and a remedy.

use driftgraph_core::fitted::edges::{LearnedEdge, expected_edges};
use driftgraph_core::train::bridge::{Adequacy, Shares};

/// Share of the innovations' variance from which on a reader has to know.
const WORTH_SAYING: f64 = 0.05;
/// Share of all pairs that are probable edges from which on they say nothing.
const NEARLY_ALL: f64 = 0.6;
/// The same of pairs that are more likely edges than not: with hardly more than an even chance each, they are fewer in
/// expectation.
const NEARLY_ALL_LIKELY: f64 = 0.8;
/// An edge is more likely there than not.
const EVEN: f64 = 0.5;
/// Deviation of log-odds between seeds from which on they differ at all, and the share of probable edges from which on that has to
/// be said aloud.
const UNSETTLED: f64 = 2.0;
const MANY: f64 = 0.25;
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
    let likely = edges.iter().filter(|edge| edge.probability.is_some_and(|p| p > EVEN)).count();
    let said = if expected > NEARLY_ALL * pairs {
        Some(format!("{expected:.0} of {pairs:.0} pairs are expected to be edges"))
    } else if likely as f64 > NEARLY_ALL_LIKELY * pairs {
        Some(format!("{likely} of {pairs:.0} pairs are more likely edges than not"))
    } else {
        None
    };
    if let Some(said) = said.filter(|_| n_variables > 2) {
        doubts.push(format!(
            "{said}, which tells nothing about who drives whom: take the order of the edges, if anything"
        ));
    }
    doubts.extend(of_seeds(edges));
    doubts
}

/// Doubts as what a fit says when it ends.
pub(crate) fn aloud(doubts: &[String]) -> impl Iterator<Item = String> {
    doubts.iter().map(|doubt| format!("warning: not to be taken at its word: {doubt}"))
}

/// Seeds or chains that do not agree whether edges are there.
fn of_seeds(edges: &[LearnedEdge]) -> Option<String> {
    let probable = || edges.iter().filter(|edge| edge.probability.is_some_and(|p| p >= EVEN));
    // The deviation of the log-odds reaches beyond an even chance.
    let is_open = |edge: &&LearnedEdge| {
        edge.disagreement.is_some_and(|by| by > UNSETTLED.max(edge.score.abs()))
    };
    let (open, all) = (probable().filter(is_open).count(), probable().count());
    (open > 1 && open as f64 >= MANY * all as f64).then(|| {
        format!(
            "fits with different seeds disagree whether {open} of the {all} probable edges are there: single edges may come from \
             the seed; more rows would settle them"
        )
    })
}

/// The same of equations: those that leave nothing but noise may find that most variables drive each other, and so may
/// those that the choice among candidates has examined.
pub(crate) fn doubts_of_equations(
    adequacy: &Adequacy,
    edges: &[LearnedEdge],
    n_variables: usize,
    are_chosen: bool,
) -> Vec<String> {
    let Shares { products, past, time, others } = adequacy.mean_shares();
    let leave_nothing = adequacy.n_rows > 0.0 && products + past + time + others < LEAVES_NOTHING;
    let found = if leave_nothing || are_chosen {
        of_innovations(adequacy)
    } else {
        doubts(adequacy, edges, n_variables)
    };
    // A linear process knows of noise in the measurements, equations do not.
    found.into_iter().map(|doubt| doubt.replace(HIDDEN, HIDDEN_OR_NOISE)).collect()
}

/// Why earlier rows explain what a process leaves.
const HIDDEN: &str = "there are delays, or states that were not measured";
const HIDDEN_OR_NOISE: &str =
    "there is noise in the measurements, or there are delays, or states that were not measured";

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
        (shares.past, "earlier rows explain", HIDDEN),
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
        let of_equations = |others: f64, are_chosen: bool| {
            doubts_of_equations(&left(others), &edges, 3, are_chosen)
        };
        assert_eq!(of_equations(0.01, false), Vec::<String>::new());
        assert_eq!(of_equations(0.03, false).len(), 1);
        assert_eq!(of_equations(0.03, true), Vec::<String>::new());
    }

    /// Edges of five variables of which so many are a little more likely than not.
    fn likely(count: usize, disagreement: f64) -> Vec<LearnedEdge> {
        let edge = |idx: usize| LearnedEdge {
            source: idx / 5,
            target: idx % 5,
            probability: Some(if idx < count { 0.52 } else { 0.05 }),
            score: if idx < count { 0.08 } else { -3.0 },
            disagreement: Some(disagreement),
            ..LearnedEdge::default()
        };
        (0..25).map(edge).collect()
    }

    #[test]
    fn pairs_that_are_nearly_all_a_little_likely_are_no_graph_either() {
        let fine = adequacy(Shares::default());
        // 22 of 25 are likely, and 12 expected.
        let found = doubts(&fine, &likely(22, 0.0), 5);
        assert!(found[0].starts_with("22 of 25 pairs are more likely edges than not"), "{found:?}");
        assert_eq!(doubts(&fine, &likely(15, 0.0), 5), Vec::<String>::new());
    }

    #[test]
    fn seeds_that_disagree_whether_edges_are_there_are_said_aloud() {
        let fine = adequacy(Shares::default());
        let found = doubts(&fine, &likely(6, 3.0), 5);
        assert!(
            found[0].starts_with("fits with different seeds disagree whether 6 of the 6"),
            "{found:?}"
        );
        // Log-odds that differ by less than they are away from an even chance say the same.
        assert_eq!(doubts(&fine, &likely(6, 1.0), 5), Vec::<String>::new());
    }

    #[test]
    fn equations_take_noise_for_a_reason_of_what_earlier_rows_explain() {
        let noisy = adequacy(Shares { past: 0.08, ..Shares::default() });
        assert!(doubts_of_equations(&noisy, &[], 3, true)[0].contains("noise in the measurements"));
        assert!(!doubts(&noisy, &[], 3)[0].contains("noise"));
    }
}
