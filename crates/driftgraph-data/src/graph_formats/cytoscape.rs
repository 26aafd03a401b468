//! Graphs as Cytoscape takes them, and the style that shows them as reports do.

use std::fmt::Write as _;

use driftgraph_core::fitted::edges::{LearnedEdge, Sign};
use serde_json::{Value, json};

use super::{attributes_json, weights};

/// What an edge does, as its `interaction`, with colour and head of its arrow.
const INTERACTIONS: [Interaction; 4] = [
    Interaction { name: "activates", colour: "#0072B2", head: "DELTA" },
    Interaction { name: "inhibits", colour: "#D55E00", head: "T" },
    Interaction { name: "drives", colour: "#4C566A", head: "DIAMOND" },
    Interaction { name: "moves-with", colour: "#4C566A", head: "NONE" },
];

/// The `role` of a variable that was set from outside.
const INPUT: &str = "input";

/// One kind of edge and its look.
struct Interaction {
    name: &'static str,
    colour: &'static str,
    head: &'static str,
}

/// The `interaction` of an edge: by its sign, where it has a direction.
fn interaction(edge: &LearnedEdge) -> &'static str {
    let kind = match edge.sign {
        _ if edge.is_undirected() => 3,
        Some(Sign::Positive) => 0,
        Some(Sign::Negative) => 1,
        Some(Sign::Mixed) | None => 2,
    };
    INTERACTIONS[kind].name
}

/// Nodes and edges, each edge with an `interaction` that the style knows.
pub(super) fn graph(names: &[String], edges: &[LearnedEdge], inputs: &[usize]) -> Value {
    let nodes = names.iter().enumerate().map(|(idx, name)| {
        let mut data = json!({"id": format!("n{idx}"), "name": name, "label": name});
        if inputs.contains(&idx) {
            data["role"] = INPUT.into();
        }
        json!({"data": data})
    });
    let links = edges.iter().zip(weights(edges)).enumerate().map(|(idx, (edge, weight))| {
        let mut data = attributes_json(edge);
        data.insert("id".into(), format!("e{idx}").into());
        data.insert("source".into(), format!("n{}", edge.source).into());
        data.insert("target".into(), format!("n{}", edge.target).into());
        data.insert("weight".into(), json!(weight));
        data.insert("interaction".into(), interaction(edge).into());
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

/// The style: names inside nodes, colours and heads by `interaction`, widths by `weight`.
pub(super) fn style() -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<vizmap id=\"driftgraph\" \
         documentVersion=\"3.1\">\n  <visualStyle name=\"driftgraph\">\n    <network>\n",
    );
    plain(&mut out, "NETWORK_BACKGROUND_PAINT", "#FFFFFF");
    out.push_str("    </network>\n    <node>\n");
    out.push_str("      <dependency name=\"nodeSizeLocked\" value=\"false\"/>\n");
    for (name, value) in [
        ("NODE_FILL_COLOR", "#ECEFF4"),
        ("NODE_BORDER_PAINT", "#4C566A"),
        ("NODE_BORDER_WIDTH", "1.0"),
        ("NODE_LABEL_COLOR", "#2E3440"),
        ("NODE_WIDTH", "60.0"),
        ("NODE_HEIGHT", "30.0"),
    ] {
        plain(&mut out, name, value);
    }
    // As in reports, inputs have corners instead of round ends.
    mapped(&mut out, "NODE_SHAPE", "ROUND_RECTANGLE", |out| {
        let _ = writeln!(
            out,
            "        <discreteMapping attributeName=\"role\" attributeType=\"string\">\n          \
             <discreteMappingEntry attributeValue=\"{INPUT}\" value=\"RECTANGLE\"/>\n        </discreteMapping>"
        );
    });
    mapped(&mut out, "NODE_LABEL", "", |out| {
        out.push_str(
            "        <passthroughMapping attributeName=\"name\" attributeType=\"string\"/>\n",
        );
    });
    out.push_str("    </node>\n    <edge>\n");
    out.push_str("      <dependency name=\"arrowColorMatchesEdge\" value=\"true\"/>\n");
    for paint in ["EDGE_UNSELECTED_PAINT", "EDGE_STROKE_UNSELECTED_PAINT"] {
        by_interaction(&mut out, paint, "#4C566A", |one| one.colour);
    }
    by_interaction(&mut out, "EDGE_TARGET_ARROW_UNSELECTED_PAINT", "#4C566A", |one| one.colour);
    by_interaction(&mut out, "EDGE_TARGET_ARROW_SHAPE", "NONE", |one| one.head);
    mapped(&mut out, "EDGE_WIDTH", "2.0", |out| {
        out.push_str(
            "        <continuousMapping attributeName=\"weight\" attributeType=\"float\">\n",
        );
        for (weight, width) in [("0.0", "0.7"), ("1.0", "4.0")] {
            let _ = writeln!(
                out,
                "          <continuousMappingPoint attrValue=\"{weight}\" equalValue=\"{width}\" \
                 greaterValue=\"{width}\" lesserValue=\"{width}\"/>"
            );
        }
        out.push_str("        </continuousMapping>\n");
    });
    out.push_str("    </edge>\n  </visualStyle>\n</vizmap>\n");
    out
}

fn plain(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "      <visualProperty default=\"{value}\" name=\"{name}\"/>");
}

fn mapped(out: &mut String, name: &str, default: &str, mapping: impl Fn(&mut String)) {
    let _ = writeln!(out, "      <visualProperty default=\"{default}\" name=\"{name}\">");
    mapping(out);
    out.push_str("      </visualProperty>\n");
}

fn by_interaction(out: &mut String, name: &str, default: &str, of: fn(&Interaction) -> &str) {
    mapped(out, name, default, |out| {
        out.push_str(
            "        <discreteMapping attributeName=\"interaction\" attributeType=\"string\">\n",
        );
        for one in &INTERACTIONS {
            let _ = writeln!(
                out,
                "          <discreteMappingEntry attributeValue=\"{}\" value=\"{}\"/>",
                one.name,
                of(one)
            );
        }
        out.push_str("        </discreteMapping>\n");
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftgraph_core::fitted::edges::Direction;

    #[test]
    fn the_style_knows_every_interaction_of_a_graph() {
        let edge = |sign, direction| LearnedEdge { sign, direction, ..LearnedEdge::default() };
        let edges = [
            edge(Some(Sign::Positive), Direction::Forward),
            edge(Some(Sign::Negative), Direction::Forward),
            edge(Some(Sign::Mixed), Direction::Forward),
            edge(None, Direction::Forward),
            edge(Some(Sign::Negative), Direction::Either),
        ];
        let names: Vec<&str> = edges.iter().map(interaction).collect();
        assert_eq!(names, ["activates", "inhibits", "drives", "drives", "moves-with"]);
        let style = style();
        for name in names {
            let entries = style.matches(&format!("attributeValue=\"{name}\"")).count();
            assert_eq!(
                entries, 4,
                "colours of line, edge and head, and shape of the head of `{name}`"
            );
        }
        let graph = graph(&["a".to_owned()], &edges[..1], &[]);
        assert_eq!(graph["elements"]["edges"][0]["data"]["interaction"], "activates");
    }

    #[test]
    fn every_element_of_the_style_is_closed() {
        let style = style();
        for name in ["visualProperty", "discreteMapping", "continuousMapping", "node", "edge"] {
            let opened = style.matches(&format!("<{name}>")).count()
                + style.matches(&format!("<{name} ")).count();
            let in_one = (style
                .lines()
                .filter(|line| line.contains(&format!("<{name} ")))
                .filter(|line| line.ends_with("/>")))
            .count();
            let closed = style.matches(&format!("</{name}>")).count();
            assert_eq!(opened, in_one + closed, "{name}");
        }
    }
}
