//! Edges of methods that tell effects of earlier rows from effects within a row.

use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::edges::{
    Direction, EdgeKind, LearnedEdge, LinkTest, Sign, Verdict, mark_mirrored, ninety_percent,
};

use crate::method::MethodError;

/// What a method found about one source and one target.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairLinks {
    /// Ranks edges.
    pub(crate) score: f64,
    /// The strongest effect of an earlier row, with its sign.
    pub(crate) lagged: f64,
    /// Its lag in rows, where there is such an effect.
    pub(crate) lag: Option<usize>,
    /// Whether it is a link.
    pub(crate) is_lagged: bool,
    /// The effect within a row, with its sign.
    pub(crate) within: f64,
    /// Which way the link within a row goes, where there is one.
    pub(crate) way: Option<Direction>,
    /// More on the effect within a row; `None` where it is no effect but a score.
    pub(crate) effect: Option<WithinEffect>,
    /// What was tested, where a method tests.
    pub(crate) tests: Option<PairTests>,
}

/// Tests of all lags of a pair.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairTests {
    /// Lags that pass in this direction or without one.
    pub(crate) linked_lags: Vec<usize>,
    /// Whether a link within a row was oriented both ways.
    pub(crate) is_conflict: bool,
    /// Of the strongest effect of an earlier row; `None` where it could not be tested.
    pub(crate) p_lagged: Option<f64>,
    /// Of the effect within a row.
    pub(crate) p_within: Option<f64>,
}

/// What is known of an effect within a row, in the user's units, besides its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WithinEffect {
    /// Deviations of the source in deviations of the target.
    pub(crate) ratio: f64,
    /// Standard error; `None` where there are too few rows for one.
    pub(crate) deviation: Option<f64>,
}

/// All edges, the best supported first.
pub(crate) fn lagged_edges(
    n_variables: usize,
    found: impl Fn(usize, usize) -> PairLinks,
) -> Result<Vec<LearnedEdge>, MethodError> {
    let pairs: Vec<PairLinks> = (0..n_variables * n_variables)
        .map(|idx| found(idx / n_variables, idx % n_variables))
        .collect();
    let scores =
        EdgeScores::from_matrix(n_variables, pairs.iter().map(|pair| pair.score).collect())?;
    let edge = |(source, target, score): (usize, usize, f64)| {
        let own = &pairs[source * n_variables + target];
        let value = if own.leads_within() { own.within } else { own.lagged };
        // What goes the other way alone has no effect this way.
        let is_forward = own.way == Some(Direction::Forward);
        let known = own.effect.filter(|_| is_forward);
        let within = known.filter(|_| own.leads_within());
        LearnedEdge {
            source,
            target,
            score,
            sign: Some(sign(value)),
            // Effects of earlier rows are per row, not per unit of time as those of a drift: only their sign is told.
            effect: within.map(|_| value),
            strength: within.map(|effect| value * effect.ratio),
            interval: within
                .and_then(|effect| effect.deviation)
                .map(|deviation| ninety_percent(value, deviation)),
            effect_instantaneous: known.map(|_| own.within),
            kind: Some(own.kind()),
            direction: own.direction(),
            lag: if own.leads_within() { Some(0) } else { own.lag },
            test: own.test().map(Box::new),
            ..LearnedEdge::default()
        }
    };
    let mut edges: Vec<LearnedEdge> = scores.ranked().into_iter().map(edge).collect();
    mark_mirrored(&mut edges);
    Ok(edges)
}

fn sign(value: f64) -> Sign {
    match value {
        value if value > 0.0 => Sign::Positive,
        value if value < 0.0 => Sign::Negative,
        _ => Sign::Mixed,
    }
}

impl PairLinks {
    fn kind(&self) -> EdgeKind {
        let is_within = self.way.is_some_and(|way| way != Direction::Backward);
        match (self.is_lagged, is_within) {
            (true, true) => EdgeKind::Both,
            (false, true) => EdgeKind::WithinStep,
            // What goes the other way within a row is told as such.
            (false, false) if self.way.is_some() || self.within.abs() > self.lagged.abs() => {
                EdgeKind::WithinStep
            }
            (_, false) => EdgeKind::Lagged,
        }
    }

    fn direction(&self) -> Direction {
        match self.kind() {
            EdgeKind::WithinStep => self.way.unwrap_or(Direction::Either),
            _ => Direction::Forward,
        }
    }

    fn leads_within(&self) -> bool {
        match self.kind() {
            EdgeKind::WithinStep => true,
            EdgeKind::Both => self.within.abs() > self.lagged.abs(),
            EdgeKind::Lagged => false,
        }
    }

    fn test(&self) -> Option<LinkTest> {
        let tests = self.tests.as_ref()?;
        let verdict = match tests.linked_lags[..] {
            _ if tests.is_conflict => Verdict::Conflict,
            [] => Verdict::No,
            _ => Verdict::Yes,
        };
        let p_value = if self.leads_within() { tests.p_within } else { tests.p_lagged };
        Some(LinkTest { verdict, linked_lags: tests.linked_lags.clone(), p_value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge_between(edges: &[LearnedEdge], source: usize, target: usize) -> &LearnedEdge {
        edges.iter().find(|edge| (edge.source, edge.target) == (source, target)).unwrap()
    }

    #[test]
    fn a_link_without_direction_is_one_link_in_two_rows() {
        let open = PairLinks {
            score: 0.5,
            within: -0.5,
            way: Some(Direction::Either),
            ..PairLinks::default()
        };
        let edges =
            lagged_edges(2, |a, b| if a == b { PairLinks::default() } else { open.clone() })
                .unwrap();
        let (first, second) = (edge_between(&edges, 0, 1), edge_between(&edges, 1, 0));
        assert!(first.is_undirected() && second.is_undirected());
        assert_eq!((first.mirrored, second.mirrored), (false, true));
        assert_eq!((first.kind, first.sign), (Some(EdgeKind::WithinStep), Some(Sign::Negative)));
    }

    #[test]
    fn an_arrow_within_a_row_has_a_way_and_both_kinds_are_told() {
        let found = |source: usize, target: usize| match (source, target) {
            (0, 1) => PairLinks {
                score: 0.8,
                lagged: 0.3,
                is_lagged: true,
                within: 0.8,
                way: Some(Direction::Forward),
                ..PairLinks::default()
            },
            (1, 0) => PairLinks {
                score: 0.8,
                within: 0.8,
                way: Some(Direction::Backward),
                ..PairLinks::default()
            },
            _ => PairLinks::default(),
        };
        let edges = lagged_edges(2, found).unwrap();
        let (there, back) = (edge_between(&edges, 0, 1), edge_between(&edges, 1, 0));
        assert_eq!((there.kind, there.direction), (Some(EdgeKind::Both), Direction::Forward));
        assert_eq!((back.kind, back.direction), (Some(EdgeKind::WithinStep), Direction::Backward));
        assert!(back.mirrored && !there.mirrored);
    }
}
