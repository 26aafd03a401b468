//! Everything a file says of an edge besides its ends, in the order of the columns of `edges.csv`.

use driftgraph_core::fitted::edges::{Direction, EdgeKind, EdgePart, LearnedEdge, Sign};

/// One thing known of an edge, by name; `None` where a model does not know it.
pub(super) enum Attribute {
    Number(&'static str, fn(&LearnedEdge) -> Option<f64>),
    Word(&'static str, fn(&LearnedEdge) -> Option<&'static str>),
}

use Attribute::{Number, Word};

/// New ones come last, so that what reads older files by position still can.
const ATTRIBUTES: [Attribute; 24] = [
    Number("probability", |edge| edge.probability),
    Number("score", |edge| Some(edge.score)),
    Number("probability_lagged", |edge| edge.probability_lagged),
    Number("effect", |edge| edge.effect),
    Number("strength", |edge| edge.strength),
    Word("sign", |edge| edge.sign.map(|sign| sign_word(Some(sign)))),
    Number("noise_effect", |edge| edge.noise_effect),
    Number("probability_instantaneous", |edge| edge.probability_instantaneous),
    Number("effect_instantaneous", |edge| edge.effect_instantaneous),
    Number("disagreement", |edge| edge.disagreement),
    Word("kind", |edge| edge.kind.map(kind_word)),
    Word("direction", |edge| edge.kind.map(|_| direction_word(edge.direction))),
    Number("effect_low", |edge| Some(edge.interval?[0])),
    Number("effect_high", |edge| Some(edge.interval?[1])),
    Word("sign_lagged", |edge| Some(sign_word(Some(lagged(edge)?.sign)))),
    Number("effect_lagged", |edge| Some(lagged(edge)?.effect)),
    Number("effect_lagged_low", |edge| Some(lagged(edge)?.interval?[0])),
    Number("effect_lagged_high", |edge| Some(lagged(edge)?.interval?[1])),
    Number("probability_within_step", |edge| Some(within_step(edge)?.probability)),
    Word("sign_within_step", |edge| Some(sign_word(Some(within_step(edge)?.sign)))),
    Number("effect_within_step", |edge| Some(within_step(edge)?.effect)),
    Number("effect_within_step_low", |edge| Some(within_step(edge)?.interval?[0])),
    Number("effect_within_step_high", |edge| Some(within_step(edge)?.interval?[1])),
    Number("stability", |edge| edge.stability),
];

impl Attribute {
    /// Those that any of the edges has; all of them where there are no edges.
    pub(super) fn used(edges: &[LearnedEdge]) -> Vec<Self> {
        let used = |attribute: &Self| {
            edges.is_empty() || edges.iter().any(|edge| attribute.is_known(edge))
        };
        ATTRIBUTES.into_iter().filter(used).collect()
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Number(name, _) | Word(name, _) => name,
        }
    }

    fn is_known(&self, edge: &LearnedEdge) -> bool {
        match self {
            Number(_, of) => of(edge).is_some(),
            Word(_, of) => of(edge).is_some(),
        }
    }
}

fn lagged(edge: &LearnedEdge) -> Option<&EdgePart> {
    edge.parts.as_ref().map(|parts| &parts.lagged)
}

fn within_step(edge: &LearnedEdge) -> Option<&EdgePart> {
    edge.parts.as_ref().map(|parts| &parts.within_step)
}

/// The word of a sign in files; nothing where it is not known.
pub fn sign_word(sign: Option<Sign>) -> &'static str {
    match sign {
        Some(Sign::Positive) => "+",
        Some(Sign::Negative) => "-",
        Some(Sign::Mixed) => "mixed",
        None => "",
    }
}

/// The word of a kind of edge in files.
pub fn kind_word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Lagged => "lagged",
        EdgeKind::WithinStep => "within-step",
        EdgeKind::Both => "both",
    }
}

/// The word of a direction in files.
pub fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
        Direction::Either => "either",
    }
}
