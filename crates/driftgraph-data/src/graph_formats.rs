//! Learned edges in the formats of other programs: lists, matrices, DOT, GraphML, GEXF and JSON.

mod attributes;
mod cytoscape;

use std::fmt::Write as _;

use driftgraph_core::fitted::edges::{LearnedEdge, Sign, Verdict, mark_mirrored};
use driftgraph_text::escaped;
use serde_json::{Map, Value, json};

use crate::table::{Column, Table};
use attributes::Attribute;

pub use attributes::{direction_word, kind_word, sign_word};

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
    /// The style in which Cytoscape shows such a graph; the same for every graph.
    CytoscapeStyle,
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
    pub const ALL: [Self; 8] = [
        Self::Csv,
        Self::Matrix,
        Self::Dot,
        Self::GraphMl,
        Self::Gexf,
        Self::Cytoscape,
        Self::CytoscapeStyle,
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
            Self::CytoscapeStyle => "cytoscape-style",
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
    graph_text_with_inputs(names, edges, &[], format)
}

/// The same with variables that were set from outside, which formats with nodes mark as such.
pub fn graph_text_with_inputs(
    names: &[String],
    edges: &[LearnedEdge],
    inputs: &[usize],
    format: GraphFormat,
) -> String {
    match format {
        GraphFormat::Csv => edge_table_text(names, edges),
        GraphFormat::Matrix => matrix(names, edges),
        GraphFormat::Dot => dot(names, edges, inputs),
        GraphFormat::GraphMl => graphml(names, edges, inputs),
        GraphFormat::Gexf => gexf(names, edges, inputs),
        GraphFormat::Cytoscape => pretty(&cytoscape::graph(names, edges, inputs)),
        GraphFormat::CytoscapeStyle => cytoscape::style(),
        GraphFormat::Json => pretty(&node_link(names, edges, inputs)),
    }
}

/// Edges as a table, in the order given.
pub fn edge_table(names: &[String], edges: &[LearnedEdge]) -> Table {
    let names_of = |end: fn(&LearnedEdge) -> usize| {
        Column::Text(edges.iter().map(|edge| names[end(edge)].clone()).collect())
    };
    let mut table = Table::default()
        .with("source", names_of(|edge| edge.source))
        .with("target", names_of(|edge| edge.target));
    for attribute in Attribute::used(edges) {
        table = table.with(attribute.name(), attribute.column(edges));
    }
    table
}

/// Reads edges back from the table that [`edge_table`] makes; what it does not know is passed over.
pub(crate) fn read_edge_table(bytes: &[u8], names: &[String]) -> Result<Vec<LearnedEdge>, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let known: Vec<Option<Attribute>> = header.iter().map(Attribute::named).collect();
    let place = |name: &str| names.iter().position(|known| known == name);
    let mut edges = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        let mut edge = LearnedEdge { score: f64::NAN, ..LearnedEdge::default() };
        let mut ends = [None; 2];
        for ((column, attribute), cell) in header.iter().zip(&known).zip(&row) {
            match (column, attribute) {
                ("source", _) => ends[0] = place(cell),
                ("target", _) => ends[1] = place(cell),
                (_, Some(attribute)) => attribute.read(cell, &mut edge)?,
                (_, None) => {}
            }
        }
        if edge.score.is_nan() {
            return Err("an edge has no score".to_owned());
        }
        let [Some(source), Some(target)] = ends else {
            return Err("an edge names a variable that run.json does not have".to_owned());
        };
        edges.push(LearnedEdge { source, target, ..edge });
    }
    mark_mirrored(&mut edges);
    Ok(edges)
}

fn edge_table_text(names: &[String], edges: &[LearnedEdge]) -> String {
    let mut out = Vec::new();
    let written = edge_table(names, edges).write(&mut out, crate::table::TableFormat::Csv);
    written.expect("memory takes whatever is written to it");
    String::from_utf8(out).expect("names and numbers are text")
}

/// Weights of edges for programs that draw them: probabilities, or scores relative to the largest.
fn weights(edges: &[LearnedEdge]) -> Vec<f64> {
    let largest = edges.iter().map(|edge| edge.score).filter(|score| score.is_finite());
    let largest = largest.fold(f64::MIN_POSITIVE, f64::max);
    let relative = |edge: &LearnedEdge| (edge.score / largest).clamp(0.0, 1.0);
    edges.iter().map(|edge| edge.probability.unwrap_or_else(|| relative(edge))).collect()
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

fn dot(names: &[String], edges: &[LearnedEdge], inputs: &[usize]) -> String {
    let quoted = |name: &str| {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
    };
    let mut out = String::from("digraph learned {\n");
    for (idx, name) in names.iter().enumerate() {
        let shape = if inputs.contains(&idx) { " [shape=box]" } else { "" };
        let _ = writeln!(out, "  {}{shape};", quoted(name));
    }
    for (edge, weight) in edges.iter().zip(weights(edges)) {
        let ends = (quoted(&names[edge.source]), quoted(&names[edge.target]));
        let (colour, head) = match edge.sign {
            Some(Sign::Positive) => ("#0072b2", "normal"),
            Some(Sign::Negative) => ("#d55e00", "tee"),
            Some(Sign::Mixed) | None => ("#4c566a", "normal"),
        };
        let tooltip = match (edge.effect.map(four_digits), edge.kind) {
            (Some(effect), Some(kind)) => format!("{}, effect {effect}", kind_word(kind)),
            (Some(effect), None) => format!("effect {effect}"),
            (None, _) => format!("score {}", four_digits(edge.score)),
        };
        let tooltip = match edge.test.as_ref().map(|test| test.verdict) {
            Some(Verdict::No) => format!("{tooltip}, no link"),
            Some(Verdict::Conflict) => format!("{tooltip}, in conflict"),
            Some(Verdict::Yes) | None => tooltip,
        };
        let head = if edge.is_undirected() { "none" } else { head };
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

/// A number with four digits that count, however small it is.
fn four_digits(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    rounded.to_string()
}

fn graphml(names: &[String], edges: &[LearnedEdge], inputs: &[usize]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml \
         xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n  \
         <key id=\"label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n",
    );
    if !inputs.is_empty() {
        out.push_str(
            "  <key id=\"input\" for=\"node\" attr.name=\"input\" attr.type=\"boolean\"/>\n",
        );
    }
    let attributes = Attribute::used(edges);
    for attribute in &attributes {
        let (name, kind) = (attribute.name(), attribute.xml_type());
        let _ = writeln!(
            out,
            "  <key id=\"{name}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        );
    }
    out.push_str("  <graph id=\"learned\" edgedefault=\"directed\">\n");
    for (idx, name) in names.iter().enumerate() {
        let input = if inputs.contains(&idx) { "<data key=\"input\">true</data>" } else { "" };
        let _ = writeln!(
            out,
            "    <node id=\"n{idx}\"><data key=\"label\">{}</data>{input}</node>",
            escaped(name)
        );
    }
    for (idx, edge) in edges.iter().enumerate() {
        let _ = write!(
            out,
            "    <edge id=\"e{idx}\" source=\"n{}\" target=\"n{}\"{}>",
            edge.source,
            edge.target,
            if edge.is_undirected() { " directed=\"false\"" } else { "" },
        );
        for attribute in &attributes {
            if let Some(value) = attribute.xml_value(edge) {
                let _ = write!(out, "<data key=\"{}\">{value}</data>", attribute.name());
            }
        }
        out.push_str("</edge>\n");
    }
    out.push_str("  </graph>\n</graphml>\n");
    out
}

fn gexf(names: &[String], edges: &[LearnedEdge], inputs: &[usize]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gexf xmlns=\"http://gexf.net/1.3\" \
         version=\"1.3\">\n  <graph defaultedgetype=\"directed\">\n    <attributes class=\"edge\">\n",
    );
    let attributes = Attribute::used(edges);
    for attribute in &attributes {
        let (name, kind) = (attribute.name(), attribute.xml_type());
        let _ = writeln!(out, "      <attribute id=\"{name}\" title=\"{name}\" type=\"{kind}\"/>");
    }
    out.push_str("    </attributes>\n");
    if !inputs.is_empty() {
        out.push_str(
            "    <attributes class=\"node\">\n      \
             <attribute id=\"input\" title=\"input\" type=\"boolean\"/>\n    </attributes>\n",
        );
    }
    out.push_str("    <nodes>\n");
    for (idx, name) in names.iter().enumerate() {
        let rest = if inputs.contains(&idx) {
            "><attvalues><attvalue for=\"input\" value=\"true\"/></attvalues></node>"
        } else {
            "/>"
        };
        let _ = writeln!(out, "      <node id=\"{idx}\" label=\"{}\"{rest}", escaped(name));
    }
    out.push_str("    </nodes>\n    <edges>\n");
    for (idx, (edge, weight)) in edges.iter().zip(weights(edges)).enumerate() {
        let _ = write!(
            out,
            "      <edge id=\"{idx}\" source=\"{}\" target=\"{}\" weight=\"{weight}\"{}><attvalues>",
            edge.source,
            edge.target,
            if edge.is_undirected() { " type=\"undirected\"" } else { "" },
        );
        for attribute in &attributes {
            if let Some(value) = attribute.xml_value(edge) {
                let _ = write!(out, "<attvalue for=\"{}\" value=\"{value}\"/>", attribute.name());
            }
        }
        out.push_str("</attvalues></edge>\n");
    }
    out.push_str("    </edges>\n  </graph>\n</gexf>\n");
    out
}

/// What is known of an edge, without its ends.
fn attributes_json(edge: &LearnedEdge) -> Map<String, Value> {
    let mut object = Map::new();
    for attribute in Attribute::used(std::slice::from_ref(edge)) {
        object.insert(attribute.name().into(), attribute.json(edge));
    }
    object
}

fn node_link(names: &[String], edges: &[LearnedEdge], inputs: &[usize]) -> Value {
    let node = |(idx, name): (usize, &String)| {
        let mut node = json!({"id": name});
        if inputs.contains(&idx) {
            node["input"] = true.into();
        }
        node
    };
    let nodes: Vec<Value> = names.iter().enumerate().map(node).collect();
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

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values become text");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftgraph_core::fitted::edges::{Direction, EdgeKind};

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
            interval: Some([effect - 0.5, effect + 0.5]),
            disagreement: Some(0.0),
            kind: Some(EdgeKind::Lagged),
            ..LearnedEdge::default()
        };
        let link = LearnedEdge {
            kind: Some(EdgeKind::WithinStep),
            direction: Direction::Either,
            ..edge(1, 0, 0.5, -0.25)
        };
        vec![edge(0, 1, 0.75, 2.0), edge(1, 1, 0.5, -1.0), link]
    }

    fn text(format: GraphFormat) -> String {
        graph_text(&["a \"1\" <&>".to_owned(), "b".to_owned()], &edges(), format)
    }

    #[test]
    fn lists_and_matrices_carry_names() {
        let list = text(GraphFormat::Csv);
        assert!(list.starts_with("source,target,probability,score,probability_lagged,effect,strength,sign,disagreement,\
            kind,direction,effect_low,effect_high\n\"a \"\"1\"\" <&>\",b,0.75,inf,0.75,2,2,+,0,lagged,forward,1.5,2.5\n"), "{list}");
        assert!(list.contains(",within-step,either,-0.75,0.25\n"), "{list}");
        assert_eq!(
            text(GraphFormat::Matrix),
            "source,\"a \"\"1\"\" <&>\",b\n\"a \"\"1\"\" <&>\",0,0.75\nb,0.5,0.5\n"
        );
    }

    #[test]
    fn inputs_are_marked_where_there_are_nodes() {
        let names = ["a", "b", "c"].map(str::to_owned);
        for (format, mark) in [
            (GraphFormat::Dot, "\"b\" [shape=box];"),
            (GraphFormat::GraphMl, "<data key=\"label\">b</data><data key=\"input\">true</data>"),
            (GraphFormat::Gexf, "<attvalue for=\"input\" value=\"true\"/>"),
            (GraphFormat::Cytoscape, "\"role\": \"input\""),
            (GraphFormat::Json, "\"input\": true"),
        ] {
            let text = graph_text_with_inputs(&names, &edges(), &[1], format);
            assert_eq!(text.matches(mark).count(), 1, "{text}");
            assert!(!graph_text(&names, &edges(), format).contains(mark));
        }
    }

    #[test]
    fn a_link_without_a_direction_has_no_head_anywhere() {
        let lines = |format| {
            let text = text(format);
            text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        let marked =
            |format, mark: &str| lines(format).iter().filter(|line| line.contains(mark)).count();
        assert_eq!(marked(GraphFormat::Dot, "arrowhead=none"), 1);
        assert_eq!(marked(GraphFormat::GraphMl, "target=\"n0\" directed=\"false\""), 1);
        assert_eq!(marked(GraphFormat::Gexf, "type=\"undirected\""), 1);
        for format in [GraphFormat::Json, GraphFormat::Cytoscape] {
            assert_eq!(marked(format, "\"direction\": \"either\""), 1);
            assert_eq!(marked(format, "\"kind\": \"within-step\""), 1);
        }
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

    #[test]
    fn small_effects_keep_their_digits_in_a_tooltip() {
        assert_eq!(four_digits(3.258_449e-6), "0.000003258");
        assert_eq!(four_digits(-39.348_1), "-39.35");
        assert_eq!(four_digits(0.0), "0");
    }
}
