//! What every picture must hold, whatever the names and numbers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeSet;

use driftgraph_report::{
    BandChart, EdgeSelection, EffectSign, GraphOptions, LearnedEdges, Panel, ReportError,
    bands_svg, graph_svg, heatmap_svg,
};
use proptest::prelude::*;
use roxmltree::{Document, Node};

const TITLE: &str = "Edges of \"a\" & <b>";

fn at_least(threshold: f64) -> GraphOptions<'static> {
    GraphOptions { title: TITLE, selection: EdgeSelection::AtLeast(threshold) }
}

fn both(edges: &LearnedEdges) -> [String; 2] {
    [heatmap_svg(edges, TITLE).unwrap(), graph_svg(edges, &at_least(0.5)).unwrap()]
}

fn short_names(n: usize) -> Vec<String> {
    (1..=n).map(|idx| format!("x{idx}")).collect()
}

fn of_class<'a, 'input>(svg: &'a Document<'input>, class: &str) -> Vec<Node<'a, 'input>> {
    let has = |node: &Node| {
        node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
    };
    svg.descendants().filter(has).collect()
}

/// What the pointer shows over a shape.
fn tooltip<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let title = node.children().find(|child| child.has_tag_name("title"));
    title.map(|title| title.text().unwrap_or_default())
}

/// Whether a shape is the cells of a heat map, and not a sample in its legend.
fn is_coloured(node: Node) -> bool {
    let in_legend = node.ancestors().any(|above| above.attribute("class") == Some("legend"));
    node.attribute("class").is_some_and(|class| class.starts_with("cells")) && !in_legend
}

/// The arrows of a picture without the samples in its legend, weak ones first.
fn arrows<'a, 'input>(svg: &'a Document<'input>, class: &str) -> Vec<Node<'a, 'input>> {
    let drawn = of_class(svg, "edges")[0];
    of_class(svg, class).into_iter().filter(|node| node.parent() == Some(drawn)).collect()
}

/// Tooltips of all arrows of a class.
fn tooltips(svg: &str, class: &str) -> BTreeSet<String> {
    let svg = Document::parse(svg).unwrap();
    arrows(&svg, class).into_iter().map(|node| tooltip(node).unwrap().to_owned()).collect()
}

#[test]
fn every_name_is_whole_in_a_tooltip_however_hostile() {
    let names = [
        "<script>alert(1)</script>".to_owned(),
        "quo\"ted' & ]]> <!-- name".to_owned(),
        "🧬 β-catenin 名前".to_owned(),
        "long ".repeat(60),
        String::new(),
    ];
    let scores = vec![0.7; 25];
    for picture in both(&LearnedEdges::probabilities(&names, &scores)) {
        assert!(!picture.contains("<script") && picture.contains("&lt;script&gt;"));
        let svg = Document::parse(&picture).unwrap();
        let shown: BTreeSet<&str> = svg.descendants().filter_map(tooltip).collect();
        for name in &names {
            assert!(shown.contains(name.as_str()), "{name}");
        }
        assert_eq!(tooltip(svg.root_element()), Some(TITLE));
    }
}

#[test]
fn rows_are_sources_and_columns_are_targets() {
    let names = ["here".to_owned(), "there".to_owned()];
    // Only here -> there: row 0, column 1.
    let picture = heatmap_svg(&LearnedEdges::probabilities(&names, &[0.0, 0.9, 0.0, 0.0]), "");
    let picture = picture.unwrap();
    let svg = Document::parse(&picture).unwrap();
    let cell = svg.descendants().find(|node| is_coloured(*node)).unwrap();
    let [x, y, side, ..] = numbers(cell.attribute("d").unwrap())[..] else { panic!("a square") };
    // Of each name one text stands at its row and one, turned, above its column.
    let texts =
        |name| of_class(&svg, "names")[0].children().filter(move |t| tooltip(*t) == Some(name));
    let row = texts("here").find_map(|text| text.attribute("y")).map(number).unwrap() - y;
    let turn = texts("there").find_map(|text| text.attribute("transform")).unwrap();
    let column = numbers(turn)[0] - x;
    assert!((0.0..side).contains(&row), "{row}");
    assert!((0.0..side).contains(&column), "{column}");
}

#[test]
fn the_truth_outlines_its_cells_and_sorts_the_arrows() {
    let names = short_names(2);
    let truth = [true, true, false, false];
    let signs =
        [EffectSign::Negative, EffectSign::Positive, EffectSign::Positive, EffectSign::Unknown];
    let edges = LearnedEdges {
        truth: Some(&truth),
        signs: Some(&signs),
        ..LearnedEdges::probabilities(&names, &[0.9, 0.2, 0.6, 0.1])
    };
    let [heatmap, graph] = both(&edges);
    let svg = Document::parse(&heatmap).unwrap();
    assert_eq!(of_class(&svg, "truth")[0].attribute("d").unwrap().matches('M').count(), 2);
    let shown = ["x1 → x1: 0.90, negative effect, known".to_owned()];
    let wrong = ["x2 → x1: 0.60, positive effect, not known".to_owned()];
    let missed = ["x1 → x2: 0.20, known but not selected".to_owned()];
    assert_eq!(tooltips(&graph, "false"), wrong.clone().into());
    assert_eq!(tooltips(&graph, "missed"), missed.clone().into());
    let svg = Document::parse(&graph).unwrap();
    let all: Vec<_> = arrows(&svg, "edge").into_iter().filter_map(tooltip).collect();
    // What was missed lies below, then from weak to strong.
    assert_eq!(all, [&missed[0], &wrong[0], &shown[0]]);
}

#[test]
fn known_edges_without_a_self_edge_say_nothing_of_self_edges() {
    let names = short_names(2);
    let truth = [false, true, false, false];
    let scores = [0.9, 0.8, 0.7, 0.1];
    let edges =
        LearnedEdges { truth: Some(&truth), ..LearnedEdges::probabilities(&names, &scores) };
    let [_, graph] = both(&edges);
    let unasked = "x1 → x1: 0.90, of which the known edges say nothing".to_owned();
    assert_eq!(tooltips(&graph, "unasked"), [unasked].into());
    assert_eq!(tooltips(&graph, "false"), ["x2 → x1: 0.70, not known".to_owned()].into());
    assert!(graph.contains("on itself, not asked (1)"));
    // One self edge among the known ones, and all of them count.
    let truth = [false, true, false, true];
    let [_, graph] = both(&LearnedEdges { truth: Some(&truth), ..edges });
    assert_eq!(tooltips(&graph, "false").len(), 2);
    assert!(!graph.contains("not asked"));
}

#[test]
fn known_edges_decide_where_nodes_stand_if_nothing_selected_joins_two() {
    let names = short_names(4);
    let ring = |idx: usize| (idx / 4 + 1) % 4 == idx % 4;
    let truth: Vec<bool> = (0..16).map(ring).collect();
    let mut scores = [0.1; 16];
    scores[0] = 0.9;
    let alone = LearnedEdges::probabilities(&names, &scores);
    let compared = LearnedEdges { truth: Some(&truth), ..alone };
    let places = |edges: &LearnedEdges| {
        let picture = graph_svg(edges, &at_least(0.5)).unwrap();
        let svg = Document::parse(&picture).unwrap();
        let place = |node: &Node| node.attribute("transform").unwrap().to_owned();
        of_class(&svg, "node").iter().map(place).collect::<Vec<_>>()
    };
    assert_ne!(places(&alone), places(&compared));
    // A selected edge between two nodes is enough to decide.
    scores[1] = 0.9;
    let alone = LearnedEdges::probabilities(&names, &scores);
    assert_eq!(places(&alone), places(&LearnedEdges { truth: Some(&truth), ..alone }));
}

#[test]
fn the_key_says_what_a_line_without_a_head_means_where_there_is_one() {
    let (names, scores) = (short_names(2), [0.0, 0.9, 0.9, 0.0]);
    let directed = LearnedEdges::probabilities(&names, &scores);
    let both = [false, true, true, false];
    let undirected = LearnedEdges { undirected: Some(&both), ..directed };
    let says = |edges| {
        let picture = graph_svg(edges, &at_least(0.5)).unwrap();
        assert_on_the_sheet(&picture);
        picture.contains("no head: direction unknown")
    };
    assert_eq!([says(&directed), says(&undirected)], [false, true]);
}

#[test]
fn a_self_loop_leaves_and_enters_its_own_node() {
    let names = short_names(3);
    let mut scores = [0.0; 9];
    scores[4] = 0.9;
    let picture = graph_svg(&LearnedEdges::probabilities(&names, &scores), &at_least(0.5)).unwrap();
    let svg = Document::parse(&picture).unwrap();
    let [edge] = arrows(&svg, "edge")[..] else { panic!("one edge is drawn") };
    assert_eq!(tooltip(edge), Some("x2 → x2: 0.90"));
    let node = of_class(&svg, "node")[1];
    let [x, y] = numbers(node.attribute("transform").unwrap())[..] else { panic!("a place") };
    let disc = node.children().find(|child| child.has_tag_name("rect")).unwrap();
    let [width, height] = ["width", "height"].map(|name| number(disc.attribute(name).unwrap()));
    let paths: Vec<Vec<f64>> = (edge.children().filter(|child| child.has_tag_name("path")))
        .map(|path| numbers(path.attribute("d").unwrap()))
        .collect();
    // The line starts where the first path does, the tip of the head is the start of the second.
    for path in paths {
        assert!((path[0] - x).abs() < 0.5 * width, "{path:?}");
        // Two pixels between an arrow and its node, written with two digits.
        assert!(((path[1] - y).abs() - 0.5 * height - 2.0).abs() < 0.01, "{path:?}");
    }
}

#[test]
fn a_threshold_includes_the_scores_at_it_and_never_zero() {
    let names = short_names(2);
    let edges = LearnedEdges::probabilities(&names, &[0.5, 0.49, 0.0, 1.0]);
    let drawn = |threshold| tooltips(&graph_svg(&edges, &at_least(threshold)).unwrap(), "edge");
    assert_eq!(drawn(0.5), ["x1 → x1: 0.50".to_owned(), "x2 → x2: 1.00".to_owned()].into());
    assert_eq!(drawn(-1.0).len(), 3);
    assert_eq!(drawn(2.0).len(), 0);
    let error = graph_svg(&edges, &at_least(f64::NAN)).unwrap_err();
    assert!(matches!(error, ReportError::ThresholdNotFinite { .. }));
}

#[test]
fn the_strongest_edges_are_those_first_in_the_ranking() {
    let names = short_names(2);
    let edges = LearnedEdges::probabilities(&names, &[0.3, 0.8, 0.3, 0.0]);
    let drawn = |k| {
        let options = GraphOptions { title: "", selection: EdgeSelection::Strongest(k) };
        tooltips(&graph_svg(&edges, &options).unwrap(), "edge")
    };
    let two = ["x1 → x2: 0.80".to_owned(), "x1 → x1: 0.30".to_owned()];
    assert_eq!(drawn(2), two.into());
    assert_eq!(drawn(10).len(), 3);
}

#[test]
fn scores_of_any_scale_have_the_colours_of_their_share() {
    let names = short_names(2);
    let (small, large) = ([0.2, 0.4, 1.0, 0.0], [50.0, 100.0, 250.0, 0.0]);
    let fills = |picture: String| -> Vec<String> {
        let svg = Document::parse(&picture).unwrap();
        let cells = svg.descendants().filter(|node| is_coloured(*node));
        cells.map(|cell| cell.attribute("fill-opacity").unwrap().to_owned()).collect()
    };
    let probabilities = LearnedEdges::probabilities(&names, &small);
    let scores = LearnedEdges { scores: &large, full_scale: 250.0, ..probabilities };
    let expected = fills(heatmap_svg(&probabilities, "").unwrap());
    assert_eq!(expected.len(), 3);
    assert_eq!(fills(heatmap_svg(&scores, "").unwrap()), expected);
}

#[test]
fn impossible_input_is_refused_by_both_pictures() {
    let names = short_names(2);
    let edges = LearnedEdges::probabilities(&names, &[0.0, 0.0, f64::NAN, 0.0]);
    assert!(heatmap_svg(&edges, "").is_err());
    assert!(graph_svg(&edges, &at_least(0.5)).is_err());
}

/// All numbers in an attribute; letters and separators between them are skipped.
fn numbers(text: &str) -> Vec<f64> {
    let is_separator = |letter: char| !(letter.is_ascii_digit() || ".-".contains(letter));
    text.split(is_separator).filter(|part| !part.is_empty()).map(number).collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is a number"))
}

/// Every coordinate is a finite number on the sheet.
fn assert_on_the_sheet(picture: &str) {
    let svg = Document::parse(picture).unwrap();
    let sheet = numbers(svg.root_element().attribute("viewBox").unwrap());
    for node in svg.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            let value = attribute.value();
            let limit = match attribute.name() {
                "x" | "cx" => sheet[2],
                "y" | "cy" => sheet[3],
                "r" | "font-size" | "stroke-width" | "opacity" => 100.0,
                "d" | "transform" => {
                    assert!(!["NaN", "inf"].iter().any(|bad| value.contains(bad)), "{value}");
                    continue;
                }
                _ => continue,
            };
            // Nodes and samples of the legend are drawn around their own origin.
            assert!((-100.0..=limit).contains(&number(value)), "{attribute:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_size_gives_well_formed_repeatable_pictures_of_all_edges(
        n in 1_usize..=100,
        seed in any::<u64>(),
        threshold in 0.01_f64..1.0,
        long in any::<bool>(),
    ) {
        // Scores spread over [0, 1) by multiplication with an odd number (Fibonacci hashing).
        let scores: Vec<f64> = (0..n * n)
            .map(|idx| seed.wrapping_add(idx as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .map(|bits| (bits >> 11) as f64 * (-53.0_f64).exp2())
            .collect();
        let truth: Vec<bool> = scores.iter().rev().map(|&score| score > 0.8).collect();
        let names: Vec<String> = short_names(n)
            .into_iter()
            .map(|name| if long { format!("a rather long & winding name of {name}") } else { name })
            .collect();
        let edges = LearnedEdges {
            truth: Some(&truth),
            ..LearnedEdges::probabilities(&names, &scores)
        };
        let options = at_least(threshold);
        let heatmap = heatmap_svg(&edges, TITLE).unwrap();
        let graph = graph_svg(&edges, &options).unwrap();
        assert_on_the_sheet(&heatmap);
        assert_on_the_sheet(&graph);
        prop_assert_eq!(&heatmap, &heatmap_svg(&edges, TITLE).unwrap());
        prop_assert_eq!(&graph, &graph_svg(&edges, &options).unwrap());

        let svg = Document::parse(&graph).unwrap();
        let selected = |idx: &usize| scores[*idx] >= threshold;
        let missed = (0..n * n).filter(|idx| truth[*idx] && !selected(idx)).count();
        prop_assert_eq!(arrows(&svg, "missed").len(), missed);
        let n_selected = (0..n * n).filter(selected).count();
        prop_assert_eq!(arrows(&svg, "edge").len(), n_selected + missed);
        prop_assert_eq!(of_class(&svg, "node").len(), n);
    }
}

#[test]
fn a_picture_carries_its_colours_and_needs_no_browser_to_resolve_them() {
    let names = short_names(3);
    for picture in both(&LearnedEdges::probabilities(&names, &[0.9; 9])) {
        let svg = Document::parse(&picture).unwrap();
        let style = svg.descendants().find(|node| node.has_tag_name("style")).unwrap();
        let style = style.text().unwrap();
        assert!(style.contains(".more { color: #0b68a6; }") && !style.contains("var("), "{style}");
    }
}

fn paths_of(values: &[f64], is_log: bool) -> BandChart {
    let path = values.iter().enumerate().map(|(idx, &value)| (idx as f64 + 1.0, value)).collect();
    let panel = Panel { name: "x".into(), paths: vec![path], ..Panel::default() };
    BandChart { is_log, panels: vec![panel], ..BandChart::default() }
}

#[test]
fn only_positive_numbers_have_a_place_on_logarithmic_axes() {
    let zero = bands_svg(&paths_of(&[1.0, 0.0], true));
    assert!(matches!(zero, Err(ReportError::NotFinite { value: 0.0, .. })), "{zero:?}");
    assert!(bands_svg(&paths_of(&[1.0, 0.0], false)).is_ok());
    let line = |is_log| bands_svg(&paths_of(&[1.0, 10.0, 100.0], is_log)).unwrap();
    assert_eq!(line(true).matches("stroke-width=\"0.8\"").count(), 1);
    assert_ne!(line(true), line(false));
}
