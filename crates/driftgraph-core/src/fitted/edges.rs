//! Edges of a model: how sure, which sign, how strong; and the feedback loops among them.

mod cut;
mod effects;
mod loops;

use std::collections::HashMap;

use super::model::{EdgeLogOdds, FittedModel, sigmoids};
use crate::SignatureGraph;
use crate::numeric::real::Real;
use effects::UserEffects;

pub use cut::KeptEdges;
pub(super) use effects::MeanEffects;
pub use effects::ninety_percent;
pub use loops::{directed_graph, feedback_loops};

/// A part of this probability or more carries an edge.
const CARRIES: f64 = 0.5;

/// Whether more of the source means more or less growth of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Faster growth; within a step, a move in the same direction.
    Positive,
    /// Slower growth; within a step, a move in the opposite direction.
    Negative,
    /// Different in different states, or none.
    Mixed,
}

/// Which part of the process carries an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The source enters the drift or the noise of the target: it acts through time.
    Lagged,
    /// Source and target move together within a step.
    WithinStep,
    /// One and the other.
    Both,
}

/// Which way an edge goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From source to target.
    #[default]
    Forward,
    /// From target to source: the data speak for the edge in the other direction alone.
    Backward,
    /// The data cannot tell: normal innovations move together in the same way from either side.
    Either,
}

/// One part of an edge: how sure, and what it does if it exists.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct EdgePart {
    /// Its probability; within a step that of a link in either direction, where none can be told.
    pub probability: f64,
    /// Sign of its effect.
    pub sign: Sign,
    /// Its mean effect, in the user's units.
    pub effect: f64,
    /// The same in deviations of target and source.
    pub strength: f64,
    /// Where the effect lies with a probability of 90 %, given that the edge exists.
    ///
    /// From the posterior of linear effects, or, of what networks have learned, from how well the data hold a linear effect
    /// added to it; and from how far members lie apart. `None` in models of old that know none of these.
    pub interval: Option<[f64; 2]>,
}

/// Both parts of an edge.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct EdgeParts {
    /// On the drift: the target's unit per unit of time and of the source.
    pub lagged: EdgePart,
    /// Within a step: the target's unit per unit of the source.
    pub within_step: EdgePart,
}

/// What tests say of a link between two variables in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At least one lag passes in this direction, or within a row without a direction.
    Yes,
    /// None does: the edge is listed because every pair is.
    No,
    /// A link within a row that the rules of orientation turn both ways.
    Conflict,
}

/// What a method that tests says of an edge.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LinkTest {
    /// Whether it is a link.
    pub verdict: Verdict,
    /// Rows between source and target of all that pass, 0 for a link within a row.
    pub linked_lags: Vec<usize>,
    /// How probable as large a value is by chance, at [`LearnedEdge::lag`]; `None` where rows were too few to test.
    pub p_value: Option<f64>,
}

/// What a method says of one edge; effects are those the edge has if it exists.
///
/// Every method has a score; what else it can say differs from method to method. Sign, effect, strength and interval are those of the part that carries the edge; where both parts do, of
/// the part that the data speak for more.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct LearnedEdge {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability of any influence, lagged or within a step.
    pub probability: Option<f64>,
    /// Ranks edges, also where probabilities round to 1: larger is more probable.
    pub score: f64,
    /// Probability of a lagged influence: on drift or noise.
    pub probability_lagged: Option<f64>,
    /// Sign of the effect.
    pub sign: Option<Sign>,
    /// Lagged: mean partial derivative of the target's drift, its unit per unit of time and of the source.
    /// Within a step: change of the target per change of the source.
    pub effect: Option<f64>,
    /// The same in deviations of target and source, to compare effects with each other.
    pub strength: Option<f64>,
    /// Where the effect lies with a probability of 90 %, see [`EdgePart::interval`].
    pub interval: Option<[f64; 2]>,
    /// Mean relative change of the target's noise per unit of the source, where noise has edges.
    pub noise_effect: Option<f64>,
    /// Probability of an influence within a step in this direction, where the model has such effects.
    pub probability_instantaneous: Option<f64>,
    /// Change of the target within a step per change of the source, if the model has it in this direction.
    pub effect_instantaneous: Option<f64>,
    /// Deviation of the lagged log-odds over fits with different seeds.
    pub disagreement: Option<f64>,
    /// Share of bootstrap samples whose fit keeps the edge, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stability: Option<f64>,
    /// Which part carries the edge, where a method tells parts apart.
    pub kind: Option<EdgeKind>,
    /// Which way it goes.
    pub direction: Direction,
    /// Rows between source and target where the edge is strongest, 0 within a row; where a method tells lags apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<usize>,
    /// What its tests say, where a method tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Box<LinkTest>>,
    /// Whether the edge between the same variables in the other direction says all of this already: a link
    /// within a step is one link, and has two rows only because there is one for every pair.
    pub mirrored: bool,
    /// Probability that this source drives this target: of a link without a direction, half counts for each way.
    #[serde(skip)]
    pub probability_directed: Option<f64>,
    /// Both parts, where the model has effects within a step.
    pub parts: Option<Box<EdgeParts>>,
}

impl LearnedEdge {
    /// Whether the edge has at least this probability; `false` where its method gives none.
    pub fn is_at_least(&self, probability: f64) -> bool {
        self.probability.is_some_and(|own| own >= probability)
    }

    /// Source and target.
    pub fn ends(&self) -> [usize; 2] {
        [self.source, self.target]
    }

    /// Whether the method tested it and it did not pass.
    pub fn failed_its_tests(&self) -> bool {
        self.test.as_ref().is_some_and(|test| test.verdict == Verdict::No)
    }

    /// Whether it is a link without a direction.
    pub fn is_undirected(&self) -> bool {
        self.direction == Direction::Either
    }
}

/// Marks the edges that say again what the edge in the other direction says: of two links without a direction the later.
pub fn mark_mirrored(edges: &mut [LearnedEdge]) {
    let places: HashMap<[usize; 2], usize> =
        edges.iter().enumerate().map(|(place, edge)| (edge.ends(), place)).collect();
    let is_mirrored = |place: usize, edge: &LearnedEdge| {
        let says_its_own = edge.kind.is_some_and(|kind| kind != EdgeKind::WithinStep);
        if says_its_own || edge.direction == Direction::Forward || edge.source == edge.target {
            return false;
        }
        places.get(&[edge.target, edge.source]).is_some_and(|&other| {
            match (edges[other].kind, edge.direction) {
                (Some(EdgeKind::Lagged), _) => false,
                (Some(EdgeKind::Both), _) | (_, Direction::Backward) => true,
                _ => other < place,
            }
        })
    };
    let mirrored: Vec<bool> =
        edges.iter().enumerate().map(|(place, edge)| is_mirrored(place, edge)).collect();
    edges.iter_mut().zip(mirrored).for_each(|(edge, mirrored)| edge.mirrored = mirrored);
}

/// Edges without those that say again what the edge in the other direction says.
pub fn links(edges: &[LearnedEdge]) -> Vec<LearnedEdge> {
    edges.iter().filter(|edge| !edge.mirrored).cloned().collect()
}

/// Sum of the probabilities of all edges, those without a direction counted once.
pub fn expected_edges(edges: &[LearnedEdge]) -> f64 {
    edges.iter().filter(|edge| !edge.mirrored).filter_map(|edge| edge.probability).sum()
}

impl FittedModel {
    /// All edges, most probable first; of equal probabilities, such as those that round to 1, the better supported.
    pub fn edges(&self) -> Vec<LearnedEdge> {
        let n = self.n_variables();
        let probabilities = self.edge_probabilities();
        let odds = self.believed_log_odds();
        let own = odds.instant.as_deref().map(sigmoids);
        let disagreement = self.disagreement();
        let effects = self.effects();
        let scores = self.edge_scores();
        let shapes = Shapes::new(&odds, scores.matrix(), self.tells_direction_within_steps());
        let edge = |(source, target, score): (usize, usize, f64)| {
            let idx = source * n + target;
            let shape = shapes.of(idx);
            let parts = shapes.parts(idx, &effects);
            let leading = if shape.leads_within {
                parts.as_ref().map_or(effects.lagged(idx), |parts| parts.within_step)
            } else {
                effects.lagged(idx)
            };
            LearnedEdge {
                source,
                target,
                probability: Some(probabilities[idx]),
                score,
                probability_lagged: Some(odds.lagged[idx].sigmoid()),
                sign: Some(leading.sign),
                effect: Some(leading.effect),
                strength: Some(leading.strength),
                interval: leading.interval,
                noise_effect: effects.noise.as_ref().map(|noise| noise[idx]),
                probability_instantaneous: own.as_ref().map(|p| p[idx]),
                effect_instantaneous: effects.within.as_ref().map(|effect| effect[idx].mean),
                disagreement: Some(disagreement[idx]),
                // Samples are no part of a model: who has fitted them adds what they say.
                stability: None,
                kind: Some(shape.kind),
                direction: shape.direction,
                lag: None,
                test: None,
                mirrored: shapes.is_mirrored(idx),
                probability_directed: Some(shapes.directed(idx)),
                parts,
            }
        };
        let mut edges: Vec<LearnedEdge> = scores.ranked().into_iter().map(edge).collect();
        // Probabilities know how far the model fits, scores do not: a reader of the list looks at the former.
        edges.sort_by(|a, b| {
            let probability = |edge: &LearnedEdge| edge.probability.unwrap_or(0.0);
            probability(b).total_cmp(&probability(a))
        });
        edges
    }

    /// The graph of all edges of at least this probability.
    pub fn graph(&self, threshold: f64) -> SignatureGraph {
        let edges = self.edge_probabilities().iter().map(|p| *p >= threshold).collect();
        SignatureGraph::from_matrix(self.n_variables(), edges)
            .expect("there is one probability per pair of variables")
    }
}

/// Kind and direction of every edge, from the log-odds of both its parts.
struct Shapes<'a> {
    n: usize,
    odds: &'a EdgeLogOdds,
    scores: &'a [f64],
    /// Whether the law of the innovations can tell which way an effect within a step goes.
    tells_direction: bool,
}

/// Kind and direction of one edge.
#[derive(Debug, Clone, Copy)]
struct Shape {
    kind: EdgeKind,
    direction: Direction,
    /// Whether the part within a step has more evidence behind it, among those that carry the edge.
    leads_within: bool,
}

impl<'a> Shapes<'a> {
    fn new(odds: &'a EdgeLogOdds, scores: &'a [f64], tells_direction: bool) -> Self {
        Self { n: odds.lagged.len().isqrt(), odds, scores, tells_direction }
    }

    fn reverse(&self, idx: usize) -> usize {
        (idx % self.n) * self.n + idx / self.n
    }

    fn of(&self, idx: usize) -> Shape {
        let lagged = self.odds.lagged[idx];
        let Some(instant) = &self.odds.instant else {
            let (kind, direction) = (EdgeKind::Lagged, Direction::Forward);
            return Shape { kind, direction, leads_within: false };
        };
        let within = instant[idx].max(instant[self.reverse(idx)]);
        let way = self.way(instant, idx);
        let carried = |odds: f64| odds.sigmoid() >= CARRIES;
        // An influence that is told to go the other way is none of this edge.
        let carried_within = way != Direction::Backward && carried(within);
        let kind = match (carried(lagged), carried_within) {
            (true, true) => EdgeKind::Both,
            (false, true) => EdgeKind::WithinStep,
            (false, false) if within > lagged => EdgeKind::WithinStep,
            (_, false) => EdgeKind::Lagged,
        };
        Shape {
            kind,
            direction: if kind == EdgeKind::WithinStep { way } else { Direction::Forward },
            leads_within: kind == EdgeKind::WithinStep
                || (kind == EdgeKind::Both && within > lagged),
        }
    }

    /// Probability of an influence in this direction.
    fn directed(&self, idx: usize) -> f64 {
        let lagged = self.odds.lagged[idx].sigmoid();
        let Some(instant) = &self.odds.instant else { return lagged };
        let within = match self.way(instant, idx) {
            Direction::Forward | Direction::Backward => instant[idx].sigmoid(),
            // Nothing speaks for one way more than for the other.
            Direction::Either => 0.5 * instant[idx].max(instant[self.reverse(idx)]).sigmoid(),
        };
        // Two views of one influence, not two influences.
        lagged.max(within)
    }

    /// Which way the effect within a step goes.
    fn way(&self, instant: &[f64], idx: usize) -> Direction {
        let carried = |idx: usize| instant[idx].sigmoid() >= CARRIES;
        match (carried(idx), carried(self.reverse(idx))) {
            _ if !self.tells_direction => Direction::Either,
            (true, _) => Direction::Forward,
            (false, true) => Direction::Backward,
            (false, false) => Direction::Either,
        }
    }

    /// Whether the edge in the other direction says all that this one does.
    fn is_mirrored(&self, idx: usize) -> bool {
        let (own, back) = (self.of(idx), self.reverse(idx));
        if own.kind != EdgeKind::WithinStep || own.direction == Direction::Forward {
            return false;
        }
        let other = self.of(back);
        match (other.kind, own.direction) {
            (EdgeKind::Lagged, _) => false,
            (EdgeKind::Both, _) | (_, Direction::Backward) => true,
            // Of two equal rows the better supported one stays.
            _ => match self.scores[idx].total_cmp(&self.scores[back]) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => idx > back,
                std::cmp::Ordering::Greater => false,
            },
        }
    }

    fn parts(&self, idx: usize, effects: &UserEffects) -> Option<Box<EdgeParts>> {
        let instant = self.odds.instant.as_deref()?;
        let back = self.reverse(idx);
        // Without a direction the link has the effect that the model gave it, from wherever it gave it.
        let (odds, from_back) = match self.way(instant, idx) {
            Direction::Forward => (instant[idx], false),
            Direction::Backward => (instant[idx], true),
            Direction::Either => (instant[idx].max(instant[back]), instant[back] > instant[idx]),
        };
        let within = effects.within_step(idx, from_back)?;
        Some(Box::new(EdgeParts {
            lagged: EdgePart {
                probability: self.odds.lagged[idx].sigmoid(),
                ..effects.lagged(idx)
            },
            within_step: EdgePart { probability: odds.sigmoid(), ..within },
        }))
    }
}
