//! Learned edges in the formats of other programs: lists, matrices, DOT, GraphML, GEXF and JSON.

use std::fmt::Write as _;

use driftgraph_core::fitted::edges::{LearnedEdge, Sign};
use driftgraph_text::escaped;
use serde_json::{Map, Value, json};

use crate::table::{Column, Table};

/// A format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// One row per edge, most probable first.
    Csv,
    /// Square matrix of probabilities with names; rows are sources.
    Matrix,
    /// Graphviz.
    Dot,
    /// GraphML: yEd, igraph, networkx.
    GraphMl,
    /// GEXF: Gephi.
    Gexf,
    /// Cytoscape and Cytoscape.js.
    Cytoscape,
    /// Node-link JSON: networkx and D3.
    Json,
}

impl GraphFormat {
    /// The format that a file's name asks for; `None` where it could be any.
    pub fn of_file(path: &std::path::Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "csv" => Self::Csv,
            "dot" | "gv" => Self::Dot,
            "graphml" => Self::GraphMl,
            "gexf" => Self::Gexf,
            "cyjs" => Self::Cytoscape,
            "json" => Self::Json,
            _ => return None,
        })
    }
}

impl GraphFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Csv,
        Self::Matrix,
        Self::Dot,
        Self::GraphMl,
        Self::Gexf,
        Self::Cytoscape,
        Self::Json,
    ];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Matrix => "matrix",
            Self::Dot => "dot",
            Self::GraphMl => "graphml",
            Self::Gexf => "gexf",
            Self::Cytoscape => "cytoscape",
            Self::Json => "json",
        }
    }
}

/// Writes the edges of named variables in a format.
///
/// ```
/// use driftgraph_core::fitted::model::{FittedModel, LinearProcess};
/// use driftgraph_data::graph_formats::{GraphFormat, graph_text};
///
/// let process = LinearProcess {
///     effects: vec![-1.0, 0.5, 0.0, -1.0],
///     ..LinearProcess::resting(vec!["a".into(), "b".into()])
/// };
/// let model = FittedModel::linear(&process)?;
/// let edges: Vec<_> = model.edges().into_iter().filter(|edge| edge.is_at_least(0.5)).collect();
/// let text = graph_text(model.variables(), &edges, GraphFormat::Dot);
/// assert!(text.contains("\"a\" -> \"b\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn graph_text(names: &[String], edges: &[LearnedEdge], format: GraphFormat) -> String {
    match format {
        GraphFormat::Csv => edge_table_text(names, edges),
        GraphFormat::Matrix => matrix(names, edges),
        GraphFormat::Dot => dot(names, edges),
        GraphFormat::GraphMl => graphml(names, edges),
        GraphFormat::Gexf => gexf(names, edges),
        GraphFormat::Cytoscape => pretty(&cytoscape(names, edges)),
        GraphFormat::Json => pretty(&node_link(names, edges)),
    }
}

/// One number of an edge, by name.
type Attribute = (&'static str, fn(&LearnedEdge) -> Option<f64>);

/// The attribute after which the sign stands.
const SIGN_FOLLOWS: &str = "strength";

/// Everything known of an edge besides its ends and sign.
const ATTRIBUTES: [Attribute; 9] = [
    ("probability", |edge| edge.probability),
    ("score", |edge| Some(edge.score)),
    ("probability_lagged", |edge| edge.probability_lagged),
    ("effect", |edge| edge.effect),
    ("strength", |edge| edge.strength),
    ("noise_effect", |edge| edge.noise_effect),
    ("probability_instantaneous", |edge| edge.probability_instantaneous),
    ("effect_instantaneous", |edge| edge.effect_instantaneous),
    ("disagreement", |edge| edge.disagreement),
];

/// The word of a sign in files; nothing where it is not known.
pub fn sign_word(sign: Option<Sign>) -> &'static str {
    match sign {
        Some(Sign::Positive) => "+",
        Some(Sign::Negative) => "-",
        Some(Sign::Mixed) => "mixed",
        None => "",
    }
}

/// Weights of edges for programs that draw them: probabilities, or scores relative to the largest.
fn weights(edges: &[LearnedEdge]) -> Vec<f64> {
    let largest = edges.iter().map(|edge| edge.score).filter(|score| score.is_finite());
    let largest = largest.fold(f64::MIN_POSITIVE, f64::max);
    let relative = |edge: &LearnedEdge| (edge.score / largest).clamp(0.0, 1.0);
    edges.iter().map(|edge| edge.probability.unwrap_or_else(|| relative(edge))).collect()
}

/// The attributes that any of the edges has.
fn used(edges: &[LearnedEdge]) -> Vec<Attribute> {
    let has = |of: fn(&LearnedEdge) -> Option<f64>| edges.iter().any(|edge| of(edge).is_some());
    ATTRIBUTES.into_iter().filter(|(_, of)| edges.is_empty() || has(*of)).collect()
}

/// Edges as a table, in the order given.
pub fn edge_table(names: &[String], edges: &[LearnedEdge]) -> Table {
    let text = |of: &dyn Fn(&LearnedEdge) -> String| Column::Text(edges.iter().map(of).collect());
    let mut table = Table::default()
        .with("source", text(&|edge| names[edge.source].clone()))
        .with("target", text(&|edge| names[edge.target].clone()));
    for (name, of) in used(edges) {
        let cells = edges.iter().map(|edge| of(edge).unwrap_or(f64::NAN)).collect();
        table = table.with(name, Column::Number(cells));
        if name == SIGN_FOLLOWS && edges.iter().any(|edge| edge.sign.is_some()) {
            table = table.with("sign", text(&|edge| sign_word(edge.sign).to_owned()));
        }
    }
    table
}

fn edge_table_text(names: &[String], edges: &[LearnedEdge]) -> String {
    let mut out = Vec::new();
    let written = edge_table(names, edges).write(&mut out, crate::table::TableFormat::Csv);
    written.expect("memory takes whatever is written to it");
    String::from_utf8(out).expect("names and numbers are text")
}

/// Weights of the given edges, 0 for all others.
fn matrix(names: &[String], edges: &[LearnedEdge]) -> String {
    let n = names.len();
    let mut matrix = vec![0.0; n * n];
    for (edge, weight) in edges.iter().zip(weights(edges)) {
        matrix[edge.source * n + edge.target] = weight;
    }
    let mut table = Table::default().with("source", Column::Text(names.to_vec()));
    for (target, name) in names.iter().enumerate() {
        let column = matrix.iter().skip(target).step_by(n).copied().collect();
        table = table.with(name.clone(), Column::Number(column));
    }
    let mut out = Vec::new();
    let written = table.write(&mut out, crate::table::TableFormat::Csv);
    written.expect("memory takes whatever is written to it");
    String::from_utf8(out).expect("names and numbers are text")
}

fn dot(names: &[String], edges: &[LearnedEdge]) -> String {
    let quoted = |name: &str| {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
    };
    let mut out = String::from("digraph learned {\n");
    for name in names {
        let _ = writeln!(out, "  {};", quoted(name));
    }
    for (edge, weight) in edges.iter().zip(weights(edges)) {
        let ends = (quoted(&names[edge.source]), quoted(&names[edge.target]));
        let (colour, head) = match edge.sign {
            Some(Sign::Positive) => ("#0072b2", "normal"),
            Some(Sign::Negative) => ("#d55e00", "tee"),
            Some(Sign::Mixed) | None => ("#4c566a", "normal"),
        };
        let tooltip = match edge.effect {
            Some(effect) => format!("effect {effect:.4}"),
            None => format!("score {:.4}", edge.score),
        };
        let _ = writeln!(
            out,
            "  {} -> {} [label=\"{weight:.2}\", penwidth={:.2}, color=\"{colour}\", arrowhead={head}, \
             tooltip=\"{tooltip}\"];",
            ends.0,
            ends.1,
            0.5 + 2.5 * weight,
        );
    }
    out.push_str("}\n");
    out
}

/// XML knows infinities by the names of XML Schema.
fn xml_number(number: f64) -> String {
    match number {
        f64::INFINITY => "INF".to_owned(),
        f64::NEG_INFINITY => "-INF".to_owned(),
        number => number.to_string(),
    }
}

fn graphml(names: &[String], edges: &[LearnedEdge]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml \
         xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n  \
         <key id=\"label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n  \
         <key id=\"sign\" for=\"edge\" attr.name=\"sign\" attr.type=\"string\"/>\n",
    );
    let attributes = used(edges);
    for (name, _) in &attributes {
        let _ = writeln!(
            out,
            "  <key id=\"{name}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"double\"/>"
        );
    }
    out.push_str("  <graph id=\"learned\" edgedefault=\"directed\">\n");
    for (idx, name) in names.iter().enumerate() {
        let _ = writeln!(
            out,
            "    <node id=\"n{idx}\"><data key=\"label\">{}</data></node>",
            escaped(name)
        );
    }
    for (idx, edge) in edges.iter().enumerate() {
        let _ = write!(
            out,
            "    <edge id=\"e{idx}\" source=\"n{}\" target=\"n{}\"><data key=\"sign\">{}</data>",
            edge.source,
            edge.target,
            sign_word(edge.sign)
        );
        for (name, of) in &attributes {
            if let Some(value) = of(edge) {
                let _ = write!(out, "<data key=\"{name}\">{}</data>", xml_number(value));
            }
        }
        out.push_str("</edge>\n");
    }
    out.push_str("  </graph>\n</graphml>\n");
    out
}

fn gexf(names: &[String], edges: &[LearnedEdge]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gexf xmlns=\"http://gexf.net/1.3\" \
         version=\"1.3\">\n  <graph defaultedgetype=\"directed\">\n    <attributes class=\"edge\">\n      \
         <attribute id=\"sign\" title=\"sign\" type=\"string\"/>\n",
    );
    let attributes = used(edges);
    for (name, _) in &attributes {
        let _ = writeln!(out, "      <attribute id=\"{name}\" title=\"{name}\" type=\"double\"/>");
    }
    out.push_str("    </attributes>\n    <nodes>\n");
    for (idx, name) in names.iter().enumerate() {
        let _ = writeln!(out, "      <node id=\"{idx}\" label=\"{}\"/>", escaped(name));
    }
    out.push_str("    </nodes>\n    <edges>\n");
    for (idx, (edge, weight)) in edges.iter().zip(weights(edges)).enumerate() {
        let _ = write!(
            out,
            "      <edge id=\"{idx}\" source=\"{}\" target=\"{}\" weight=\"{weight}\"><attvalues>\
             <attvalue for=\"sign\" value=\"{}\"/>",
            edge.source,
            edge.target,
            sign_word(edge.sign)
        );
        for (name, of) in &attributes {
            if let Some(value) = of(edge) {
                let _ = write!(out, "<attvalue for=\"{name}\" value=\"{}\"/>", xml_number(value));
            }
        }
        out.push_str("</attvalues></edge>\n");
    }
    out.push_str("    </edges>\n  </graph>\n</gexf>\n");
    out
}

/// What is known of an edge, without its ends; an infinite score is null, which JSON needs.
fn attributes_json(edge: &LearnedEdge) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("sign".into(), sign_word(edge.sign).into());
    for (name, of) in ATTRIBUTES {
        if let Some(value) = of(edge) {
            object.insert(name.into(), json!(value));
        }
    }
    object
}

fn node_link(names: &[String], edges: &[LearnedEdge]) -> Value {
    let nodes: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    let links = edges.iter().zip(weights(edges)).map(|(edge, weight)| {
        let mut link = attributes_json(edge);
        link.insert("source".into(), names[edge.source].clone().into());
        link.insert("target".into(), names[edge.target].clone().into());
        link.insert("weight".into(), json!(weight));
        Value::Object(link)
    });
    let links: Vec<Value> = links.collect();
    json!({"directed": true, "multigraph": false, "graph": {}, "nodes": nodes, "edges": links})
}

fn cytoscape(names: &[String], edges: &[LearnedEdge]) -> Value {
    let nodes = names
        .iter()
        .enumerate()
        .map(|(idx, name)| json!({"data": {"id": format!("n{idx}"), "name": name, "label": name}}));
    let links = edges.iter().zip(weights(edges)).enumerate().map(|(idx, (edge, weight))| {
        let mut data = attributes_json(edge);
        data.insert("id".into(), format!("e{idx}").into());
        data.insert("source".into(), format!("n{}", edge.source).into());
        data.insert("target".into(), format!("n{}", edge.target).into());
        data.insert("weight".into(), json!(weight));
        json!({"data": data})
    });
    let (nodes, links): (Vec<Value>, Vec<Value>) = (nodes.collect(), links.collect());
    json!({
        "format_version": "1.0",
        "generated_by": "driftgraph",
        "data": {"name": "learned graph"},
        "elements": {"nodes": nodes, "edges": links},
    })
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values become text");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> Vec<LearnedEdge> {
        let edge = |source, target, probability, effect: f64| LearnedEdge {
            source,
            target,
            probability: Some(probability),
            score: f64::INFINITY,
            probability_lagged: Some(probability),
            sign: Some(if effect > 0.0 { Sign::Positive } else { Sign::Negative }),
            effect: Some(effect),
            strength: Some(effect),
            noise_effect: None,
            probability_instantaneous: None,
            effect_instantaneous: None,
            disagreement: Some(0.0),
        };
        vec![edge(0, 1, 0.75, 2.0), edge(1, 1, 0.5, -1.0)]
    }

    fn text(format: GraphFormat) -> String {
        graph_text(&["a \"1\" <&>".to_owned(), "b".to_owned()], &edges(), format)
    }

    #[test]
    fn lists_and_matrices_carry_names() {
        let list = text(GraphFormat::Csv);
        assert!(list.starts_with("source,target,probability,score,probability_lagged,effect,strength,sign,disagreement\n\"a \"\"1\"\" <&>\",b,0.75,inf,0.75,2,2,+,0\n"), "{list}");
        assert_eq!(
            text(GraphFormat::Matrix),
            "source,\"a \"\"1\"\" <&>\",b\n\"a \"\"1\"\" <&>\",0,0.75\nb,0,0.5\n"
        );
    }

    #[test]
    fn names_are_escaped_everywhere() {
        assert!(text(GraphFormat::Dot).contains("\"a \\\"1\\\" <&>\" -> \"b\""));
        for format in [GraphFormat::GraphMl, GraphFormat::Gexf] {
            let text = text(format);
            assert!(text.contains("a &quot;1&quot; &lt;&amp;&gt;"), "{text}");
            assert!(text.contains("INF"));
        }
        for format in [GraphFormat::Json, GraphFormat::Cytoscape] {
            serde_json::from_str::<Value>(&text(format)).unwrap();
        }
    }
}
