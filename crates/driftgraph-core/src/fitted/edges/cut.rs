//! Where to cut a list of edges: at a probability, or where too many would be false.

use super::LearnedEdge;

/// Edges that were kept, and what is expected of them.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptEdges {
    /// The edges, in the order given.
    pub edges: Vec<LearnedEdge>,
    /// Links between different variables that are expected to be false: the sum of 1 - probability.
    pub expected_false: f64,
    /// Links between different variables.
    pub n_links: usize,
}

impl KeptEdges {
    /// Counts what is expected to be false among edges; `None` where they have no probabilities.
    pub fn of(edges: Vec<LearnedEdge>) -> Option<Self> {
        if edges.iter().any(|edge| edge.probability.is_none()) {
            return None;
        }
        let doubts: Vec<f64> = edges.iter().filter(|edge| is_counted(edge)).map(doubt).collect();
        let (n_links, expected_false) = (doubts.len(), doubts.iter().sum());
        Some(Self { edges, expected_false, n_links })
    }

    /// The largest set of links whose expected share of false ones, mean(1 - probability), is below a rate; `None` where
    /// edges have no probabilities.
    ///
    /// A link without a direction counts once. Effects of variables on themselves do not count: nearly all systems have
    /// them, and being sure of them would make room for edges nobody is sure of. Those are kept that are at
    /// least as probable as the least probable link.
    pub fn at_rate(edges: &[LearnedEdge], rate: f64) -> Option<Self> {
        if edges.iter().any(|edge| edge.probability.is_none()) {
            return None;
        }
        let mut counted: Vec<&LearnedEdge> = edges.iter().filter(|edge| is_counted(edge)).collect();
        counted.sort_by(|a, b| doubt(a).total_cmp(&doubt(b)));
        let (mut n, mut sum) = (0, 0.0);
        for edge in &counted {
            if sum + doubt(edge) >= rate * (n + 1) as f64 {
                break;
            }
            sum += doubt(edge);
            n += 1;
        }
        let kept: Vec<[usize; 2]> = counted[..n].iter().map(|edge| edge.ends()).collect();
        let least = if n == 0 { 1.0 - rate } else { 1.0 - doubt(counted[n - 1]) };
        let is_kept = |edge: &&LearnedEdge| {
            let [source, target] = edge.ends();
            let own = if edge.mirrored { [target, source] } else { [source, target] };
            if source == target { edge.is_at_least(least) } else { kept.contains(&own) }
        };
        let edges = edges.iter().filter(is_kept).cloned().collect();
        Some(Self { edges, expected_false: sum, n_links: n })
    }
}

/// Whether an edge counts among those that may be false.
fn is_counted(edge: &LearnedEdge) -> bool {
    !edge.mirrored && edge.source != edge.target
}

/// The probability that an edge is not there.
fn doubt(edge: &LearnedEdge) -> f64 {
    1.0 - edge.probability.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitted::edges::Direction;

    fn edge(source: usize, target: usize, probability: f64) -> LearnedEdge {
        LearnedEdge { source, target, probability: Some(probability), ..LearnedEdge::default() }
    }

    #[test]
    fn the_largest_set_below_the_rate_is_kept() {
        // Doubts .01, .1, .3, .5: means .01, .055, .137, .2275.
        let edges = [edge(0, 1, 0.99), edge(1, 0, 0.9), edge(0, 2, 0.7), edge(2, 0, 0.5)];
        let kept = |rate: f64| KeptEdges::at_rate(&edges, rate).unwrap();
        assert_eq!(kept(0.1).n_links, 2);
        assert!((kept(0.1).expected_false - 0.11).abs() < 1e-12);
        assert_eq!(kept(0.14).n_links, 3);
        assert_eq!(kept(0.3).n_links, 4);
        assert_eq!(kept(0.005).n_links, 0);
        assert_eq!(kept(0.005).expected_false, 0.0);
    }

    #[test]
    fn effects_on_oneself_make_no_room_for_others() {
        let own = (0..8).map(|idx| edge(idx, idx, 1.0));
        let edges: Vec<_> = own.chain([edge(0, 1, 0.8), edge(2, 2, 0.75)]).collect();
        let kept = KeptEdges::at_rate(&edges, 0.1).unwrap();
        assert_eq!((kept.n_links, kept.edges.len()), (0, 8));
        let kept = KeptEdges::at_rate(&edges, 0.25).unwrap();
        assert_eq!((kept.n_links, kept.edges.len()), (1, 9));
    }

    #[test]
    fn a_link_without_a_direction_counts_once_and_keeps_both_its_rows() {
        let either = |source, target, mirrored| LearnedEdge {
            direction: Direction::Either,
            mirrored,
            ..edge(source, target, 0.85)
        };
        let edges = [edge(0, 2, 0.94), either(0, 1, false), either(1, 0, true)];
        let kept = KeptEdges::at_rate(&edges, 0.106).unwrap();
        assert_eq!((kept.n_links, kept.edges.len()), (2, 3));
        // Counted twice, the mean of .06, .15 and .15 would be .12.
        assert!((kept.expected_false - 0.21).abs() < 1e-12);
    }

    #[test]
    fn scores_say_nothing_of_false_edges() {
        let scored = LearnedEdge { source: 0, target: 1, score: 3.0, ..LearnedEdge::default() };
        assert_eq!(KeptEdges::at_rate(std::slice::from_ref(&scored), 0.1), None);
        assert_eq!(KeptEdges::of(vec![scored]), None);
    }
}
