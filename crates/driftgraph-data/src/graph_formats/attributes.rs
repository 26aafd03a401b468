//! Everything a file says of an edge besides its ends, in the order of the columns of `edges.csv`.

use driftgraph_core::fitted::edges::{
    Direction, EdgeKind, EdgePart, LearnedEdge, LinkTest, Sign, Verdict,
};
use serde_json::{Value, json};

use crate::table::Column;

/// One thing known of an edge, by name: how it is told, and how it is read back.
pub(super) struct Attribute {
    name: &'static str,
    cell: Cell,
}

/// What a file says of it; `None` where a method does not know it.
enum Cell {
    Number(Told<f64>, fn(&mut LearnedEdge, f64)),
    Word(Told<String>, fn(&mut LearnedEdge, &str)),
}

type Told<T> = fn(&LearnedEdge) -> Option<T>;

const fn number(name: &'static str, told: Told<f64>, read: fn(&mut LearnedEdge, f64)) -> Attribute {
    Attribute { name, cell: Cell::Number(told, read) }
}

const fn word(
    name: &'static str,
    told: Told<String>,
    read: fn(&mut LearnedEdge, &str),
) -> Attribute {
    Attribute { name, cell: Cell::Word(told, read) }
}

/// New ones come last, so that what reads older files by position still can.
#[rustfmt::skip]
const ATTRIBUTES: [Attribute; 29] = [
    number("probability", |edge| edge.probability, |edge, value| edge.probability = Some(value)),
    number("score", |edge| Some(edge.score), |edge, value| edge.score = value),
    number("probability_lagged", |edge| edge.probability_lagged, |edge, value| edge.probability_lagged = Some(value)),
    number("effect", |edge| edge.effect, |edge, value| edge.effect = Some(value)),
    number("strength", |edge| edge.strength, |edge, value| edge.strength = Some(value)),
    word("sign", |edge| edge.sign.map(|sign| sign_word(Some(sign)).to_owned()), |edge, word| edge.sign = sign_of(word)),
    number("noise_effect", |edge| edge.noise_effect, |edge, value| edge.noise_effect = Some(value)),
    number("probability_instantaneous", |edge| edge.probability_instantaneous, |edge, value| edge.probability_instantaneous = Some(value)),
    number("effect_instantaneous", |edge| edge.effect_instantaneous, |edge, value| edge.effect_instantaneous = Some(value)),
    number("disagreement", |edge| edge.disagreement, |edge, value| edge.disagreement = Some(value)),
    word("kind", |edge| edge.kind.map(|kind| kind_word(kind).to_owned()), |edge, word| edge.kind = kind_of(word)),
    word("direction", told_direction, |edge, word| edge.direction = direction_of(word)),
    number("effect_low", |edge| Some(edge.interval?[0]), |edge, value| bounds(&mut edge.interval)[0] = value),
    number("effect_high", |edge| Some(edge.interval?[1]), |edge, value| bounds(&mut edge.interval)[1] = value),
    word("sign_lagged", |edge| Some(sign_word(Some(lagged(edge)?.sign)).to_owned()), |_, _| {}),
    number("effect_lagged", |edge| Some(lagged(edge)?.effect), of_a_model),
    number("effect_lagged_low", |edge| Some(lagged(edge)?.interval?[0]), of_a_model),
    number("effect_lagged_high", |edge| Some(lagged(edge)?.interval?[1]), of_a_model),
    number("probability_within_step", |edge| Some(within_step(edge)?.probability), of_a_model),
    word("sign_within_step", |edge| Some(sign_word(Some(within_step(edge)?.sign)).to_owned()), |_, _| {}),
    number("effect_within_step", |edge| Some(within_step(edge)?.effect), of_a_model),
    number("effect_within_step_low", |edge| Some(within_step(edge)?.interval?[0]), of_a_model),
    number("effect_within_step_high", |edge| Some(within_step(edge)?.interval?[1]), of_a_model),
    number("stability", |edge| edge.stability, |edge, value| edge.stability = Some(value)),
    number("lag", |edge| edge.lag.map(|lag| lag as f64), |edge, value| edge.lag = Some(value as usize)),
    word("link", |edge| Some(verdict_word(edge.test.as_ref()?.verdict).to_owned()), |edge, word| test(edge).verdict = verdict_of(word)),
    word("linked_lags", told_lags, |edge, word| test(edge).linked_lags = lags_of(word)),
    number("p_value", |edge| edge.test.as_ref()?.p_value, |edge, value| test(edge).p_value = Some(value)),
    number("probability_directed", told_directed, |edge, value| edge.probability_directed = Some(value)),
];

impl Attribute {
    /// Those that any of the edges has; all of them where there are no edges.
    pub(super) fn used(edges: &[LearnedEdge]) -> Vec<Self> {
        let used = |attribute: &Self| {
            edges.is_empty() || edges.iter().any(|edge| attribute.is_known(edge))
        };
        ATTRIBUTES.into_iter().filter(used).collect()
    }

    /// The one of a column of a file.
    pub(super) fn named(name: &str) -> Option<Self> {
        ATTRIBUTES.into_iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Its values as a column of a table.
    pub(super) fn column(&self, edges: &[LearnedEdge]) -> Column {
        match self.cell {
            Cell::Number(told, _) => {
                Column::Number(edges.iter().map(|edge| told(edge).unwrap_or(f64::NAN)).collect())
            }
            Cell::Word(told, _) => {
                Column::Text(edges.iter().map(|edge| told(edge).unwrap_or_default()).collect())
            }
        }
    }

    /// What is known of an edge; an infinite number is null, which JSON needs.
    pub(super) fn json(&self, edge: &LearnedEdge) -> Value {
        match self.cell {
            Cell::Number(told, _) => told(edge).map(|number| json!(number)).into(),
            Cell::Word(told, _) => told(edge).into(),
        }
    }

    /// The type that XML has for it.
    pub(super) fn xml_type(&self) -> &'static str {
        match self.cell {
            Cell::Number(..) => "double",
            Cell::Word(..) => "string",
        }
    }

    /// What is known of an edge as XML has it.
    pub(super) fn xml_value(&self, edge: &LearnedEdge) -> Option<String> {
        match self.cell {
            Cell::Number(told, _) => told(edge).map(xml_number),
            Cell::Word(told, _) => told(edge),
        }
    }

    /// Puts what a cell says into an edge; an empty one says nothing.
    pub(super) fn read(&self, cell: &str, edge: &mut LearnedEdge) -> Result<(), String> {
        if cell.is_empty() {
            return Ok(());
        }
        match self.cell {
            Cell::Word(_, read) => read(edge, cell),
            Cell::Number(_, read) => {
                let number: f64 = cell
                    .parse()
                    .map_err(|_| format!("`{}` of an edge is no number: `{cell}`", self.name))?;
                if !number.is_nan() {
                    read(edge, number);
                }
            }
        }
        Ok(())
    }

    fn is_known(&self, edge: &LearnedEdge) -> bool {
        match self.cell {
            Cell::Number(told, _) => told(edge).is_some(),
            Cell::Word(told, _) => told(edge).is_some(),
        }
    }
}

/// XML knows infinities by the names of XML Schema.
fn xml_number(number: f64) -> String {
    match number {
        f64::INFINITY => "INF".to_owned(),
        f64::NEG_INFINITY => "-INF".to_owned(),
        number => number.to_string(),
    }
}

/// Parts of an edge come with a model, which is read itself.
fn of_a_model(_: &mut LearnedEdge, _: f64) {}

fn bounds(interval: &mut Option<[f64; 2]>) -> &mut [f64; 2] {
    interval.get_or_insert([f64::NAN; 2])
}

fn test(edge: &mut LearnedEdge) -> &mut LinkTest {
    edge.test.get_or_insert_with(|| {
        Box::new(LinkTest { verdict: Verdict::No, linked_lags: Vec::new(), p_value: None })
    })
}

/// Where parts are told apart, and where a link has no direction.
fn told_direction(edge: &LearnedEdge) -> Option<String> {
    let is_told = edge.kind.is_some() || edge.direction != Direction::Forward;
    is_told.then(|| direction_word(edge.direction).to_owned())
}

/// Lags that pass, with spaces between them.
fn told_lags(edge: &LearnedEdge) -> Option<String> {
    let lags: Vec<String> =
        edge.test.as_ref()?.linked_lags.iter().map(ToString::to_string).collect();
    Some(lags.join(" "))
}

fn lags_of(word: &str) -> Vec<usize> {
    word.split(' ').filter_map(|lag| lag.parse().ok()).collect()
}

/// Of edges without a model, where it is not the probability of the edge; a model says it again.
fn told_directed(edge: &LearnedEdge) -> Option<f64> {
    edge.probability_directed
        .filter(|_| edge.parts.is_none() && edge.probability_directed != edge.probability)
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

fn sign_of(word: &str) -> Option<Sign> {
    [Sign::Positive, Sign::Negative, Sign::Mixed]
        .into_iter()
        .find(|sign| sign_word(Some(*sign)) == word)
}

/// The word of a kind of edge in files.
pub fn kind_word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Lagged => "lagged",
        EdgeKind::WithinStep => "within-step",
        EdgeKind::Both => "both",
    }
}

fn kind_of(word: &str) -> Option<EdgeKind> {
    [EdgeKind::Lagged, EdgeKind::WithinStep, EdgeKind::Both]
        .into_iter()
        .find(|kind| kind_word(*kind) == word)
}

/// The word of a direction in files.
pub fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
        Direction::Either => "either",
    }
}

fn direction_of(word: &str) -> Direction {
    [Direction::Backward, Direction::Either]
        .into_iter()
        .find(|direction| direction_word(*direction) == word)
        .unwrap_or_default()
}

/// What tests say, in files.
fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes => "yes",
        Verdict::No => "no",
        Verdict::Conflict => "conflict",
    }
}

fn verdict_of(word: &str) -> Verdict {
    [Verdict::Yes, Verdict::Conflict]
        .into_iter()
        .find(|verdict| verdict_word(*verdict) == word)
        .unwrap_or(Verdict::No)
}
