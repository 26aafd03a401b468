//! A report holds everything it was given, nothing from outside, and obeys no name.

use driftgraph_report::view::{
    ChangeView, Column, CurveView, DataView, Download, EdgeView, EquationTermView, EquationView,
    FanSeries, FitSeries, FitView, FutureView, GraphView, InterventionView, LinkKind, MethodView,
    MetricsView, ProvenanceView, RankingView, ReportView, ScoreView, SelectionView, TrainingView,
    TriedView, TruthView,
};
use driftgraph_report::{
    EffectSign, matrix_orders, node_positions, report_data, report_html, report_sections,
};

fn edge(source: usize, target: usize, probability: f64, sign: EffectSign) -> EdgeView {
    EdgeView {
        source,
        target,
        probability,
        sign,
        effect: Some(-0.5),
        strength: Some(0.25),
        disagreement: 3.0,
        stability: None,
        instantaneous: Some(0.1),
        kind: LinkKind::Lagged,
        interval: Some([-0.75, -0.25]),
        parts: None,
    }
}

fn training(name: &str) -> TrainingView {
    TrainingView {
        steps: vec![0, 10, 20],
        curves: vec![CurveView { name: "ELBO".into(), values: Column(vec![-9.0, -3.0, -2.0]) }],
        ending: "finished".into(),
        converged: Some(false),
        n_members: 3,
        guards: vec![name.to_owned()],
        tried: vec![TriedView {
            name: "linear".into(),
            held_out: Some(-12.3),
            gain: Some([1.0, 0.5]),
            chosen: true,
        }],
        held_out: Some("whole series".into()),
        seconds: 12.0,
    }
}

fn equation(name: &str) -> EquationView {
    let interval = Some([0.25, 0.75]);
    let term =
        EquationTermView { text: name.to_owned(), coefficient: 0.5, interval, probability: 0.99 };
    EquationView { text: format!("d{name}/dt = 0.5"), terms: vec![term] }
}

fn provenance(named: &str) -> ProvenanceView {
    ProvenanceView {
        command: named.to_owned(),
        facts: vec![("data".into(), named.to_owned())],
        settings: vec![("seed".into(), "0".into())],
    }
}

/// A view that has every part, with these names.
fn view(variables: &[String]) -> ReportView {
    let n = variables.len();
    let edges = vec![
        edge(0, 1, 0.97, EffectSign::Positive),
        edge(1, 1, 0.9, EffectSign::Negative),
        edge(1, 0, 0.6, EffectSign::Negative),
        edge(n - 1, 0, 0.2, EffectSign::Unknown),
    ];
    let columns = |value: f64| vec![Column(vec![value, f64::NAN, value + 1.0]); n];
    let times = vec![0.0, 1.0, 2.5];
    let fan = |name: &str| FanSeries {
        name: name.to_owned(),
        times: times.clone(),
        quantiles: std::array::from_fn(|level| columns(level as f64)),
    };
    let metrics = MetricsView {
        auroc: Some(0.83),
        auprc: Some(0.5),
        prevalence: Some(0.2),
        f1: None,
        tpr: Some(1.0),
        fdr: Some(0.0),
        shd: Some(2),
    };
    let named = variables[0].clone();
    ReportView {
        regimes: None,
        drifting: None,
        name: named.clone(),
        method: MethodView { name: "bridge".into(), description: named.clone(), has_process: true },
        data: DataView {
            n_series: 2,
            n_rows: 6,
            n_missing: 2,
            left_out: Vec::new(),
            warnings: vec!["The halves of the data disagree".into()],
            time_label: "time".into(),
            calendar: None,
        },
        graph: GraphView {
            variables: variables.to_vec(),
            score: None,
            positions: node_positions(variables, &[(0, 1), (1, 0)]),
            orders: matrix_orders(n, &edges),
            inputs: Vec::new(),
            n_fits: 1,
            feedback_loops: vec![vec![0, 1]],
            expected_edges: 2.67,
            listed_from: 0.005,
            selection: SelectionView { threshold: 0.5, most: 12, self_loops: true },
            edges,
        },
        equations: vec![equation(&named)],
        truth: Some(TruthView {
            edges: vec![[0, 1]],
            methods: vec![RankingView {
                name: named.clone(),
                with_self_edges: metrics,
                without_self_edges: metrics,
                roc: vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
                precision_recall: vec![[1.0, 1.0]],
            }],
        }),
        fit: Some(FitView {
            series: vec![FitSeries {
                name: named.clone(),
                times: times.clone(),
                observed: columns(0.0),
                mean: columns(0.0),
                low: columns(-1.0),
                high: columns(1.0),
            }],
            n_series: 2,
        }),
        training: Some(training(&named)),
        future: Some(FutureView { series: vec![fan(&named)] }),
        interventions: vec![InterventionView {
            text: named.clone(),
            idle: vec![named.clone()],
            without: fan("left alone"),
            with: fan("under it"),
            changes: vec![ChangeView {
                variable: 0,
                difference: 1.0,
                standard_error: 0.1,
                time: 2.0,
                relative: 0.5,
                intervened: true,
                changed: true,
            }],
        }],
        provenance: provenance(&named),
        downloads: vec![Download {
            file: "edges.csv".into(),
            media_type: "text/csv".into(),
            note: named,
            text: "source,target\n".into(),
        }],
    }
}

fn nasty_names() -> Vec<String> {
    vec![
        "<script>alert(1)</script>".into(),
        "\"quotes\" & 'more' </svg> --> ]]>".into(),
        "🧬 naïve 名前".into(),
        "x".repeat(300),
        "</script><img src=x onerror=alert(1)>".into(),
        "a\u{0}b\u{2028}c".into(),
    ]
}

/// The sections as a tree; they are well-formed XML by construction.
fn sections(view: &ReportView) -> String {
    let sections: String = report_sections(view).into_iter().map(|(_, text)| text).collect();
    format!("<main>{sections}</main>")
}

#[test]
fn markup_in_names_is_shown_and_never_obeyed() {
    let view = view(&nasty_names());
    let text = sections(&view);
    let tree = roxmltree::Document::parse(&text).unwrap();
    for element in tree.descendants().filter(roxmltree::Node::is_element) {
        let tag = element.tag_name().name();
        assert!(!matches!(tag, "script" | "img" | "iframe" | "object"), "{tag}");
        let handlers = element.attributes().filter(|attribute| attribute.name().starts_with("on"));
        assert_eq!(handlers.count(), 0, "{tag}");
    }
    let shown: String = tree.descendants().filter_map(|node| node.text()).collect();
    for name in &nasty_names()[..4] {
        assert!(shown.contains(name.as_str()), "{name} is not shown whole");
    }
}

#[test]
fn the_data_of_the_scripts_cannot_end_their_element() {
    let data = report_data(&view(&nasty_names()));
    assert!(!data.contains(['<', '>', '&']), "{data}");
    let read: serde_json::Value = serde_json::from_str(&data).unwrap();
    let names: Vec<String> = serde_json::from_value(read["graph"]["variables"].clone()).unwrap();
    assert_eq!(names, nasty_names());
}

#[test]
fn a_report_fetches_nothing() {
    let page = report_html(&view(&nasty_names()));
    for (place, _) in page.match_indices("http") {
        let known = ["http://www.w3.org/2000/svg", "http-equiv"];
        assert!(
            known.iter().any(|known| page[place..].starts_with(known)),
            "{}",
            &page[place..place + 60]
        );
    }
    assert!(!page.contains("@import") && !page.contains("url("));
    assert!(page.contains("default-src &#39;none&#39;"));
}

#[test]
fn graph_matrix_and_numbers_are_there_without_scripts() {
    let names = ["prey".to_owned(), "predator".to_owned(), "grass".to_owned()];
    let text = sections(&view(&names));
    let tree = roxmltree::Document::parse(&text).unwrap();
    let with_class = |class: &str| {
        let has = |node: &roxmltree::Node<'_, '_>| {
            node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
        };
        tree.descendants().filter(has).count()
    };
    assert_eq!(with_class("node"), 3);
    // Three of the four edges are probable enough; the legend has three for signs and four for the truth.
    assert_eq!(with_class("edge"), 3 + 7);
    // Of the three, one is known, and one is of a variable on itself, which the truth is not about; the legend has one more of each.
    assert_eq!(with_class("false"), 1 + 1);
    assert_eq!(with_class("unasked"), 1 + 1);
    assert_eq!(with_class("cells"), 4, "one path per sign and level");
    assert_eq!(with_class("truth"), 1);
    for number in ["0.97", "0.83", "12 s", "whole series", "−12.3"] {
        assert!(text.contains(number), "{number}");
    }
}

#[test]
fn weak_evidence_is_said_in_words() {
    let mut shown = view(&["prey".to_owned(), "predator".to_owned()]);
    let text = sections(&shown);
    for caution in ["not converged", "seeds disagree about 3 of the 3", "few data: 6 rows"] {
        assert!(text.contains(caution), "{caution}");
    }
    let training = shown.training.as_mut().unwrap();
    (training.converged, training.n_members) = (Some(true), 1);
    shown.data.n_rows = 5000;
    shown.data.warnings.clear();
    let text = sections(&shown);
    assert!(!text.contains("Read with care"));
    assert!(!text.contains("1 seed"), "one fit stands for those with other seeds");
}

#[test]
fn seeds_are_spoken_of_where_there_were_several() {
    let mut view = view(&nasty_names());
    view.graph.edges[0].disagreement = 0.5;
    let single = report_html(&view);
    assert!(single.contains(">chains differ by<") && !single.contains(">seeds differ by<"));
    assert!(single.contains("Chains differ by: "));
    view.graph.n_fits = 3;
    let several = report_html(&view);
    assert!(several.contains(">seeds differ by<") && several.contains("Seeds differ by: "));
    view.graph.edges.iter_mut().for_each(|edge| edge.disagreement = 0.0);
    assert!(!report_html(&view).contains("differ by: "), "there is no such column");
}

#[test]
fn one_influence_is_spoken_of_in_the_singular() {
    let mut shown = view(&["prey".to_owned(), "predator".to_owned()]);
    shown.graph.edges.truncate(2);
    let sure = "found 1 probable influence among 2 variables (2 are possible), with a probability of 0.9 or more.";
    assert!(sections(&shown).contains(sure), "{}", sections(&shown));
    shown.graph.edges[0].probability = 0.7;
    assert!(sections(&shown).contains("(2 are possible), with a probability below 0.9."));
}

#[test]
fn a_method_of_scores_alone_has_fewer_sections_and_speaks_of_no_probability() {
    let mut shown = view(&["prey".to_owned(), "predator".to_owned()]);
    shown.method = MethodView {
        name: "ridge".into(),
        description: "Weights of a linear prediction.".into(),
        has_process: false,
    };
    shown.graph.score = Some(ScoreView { name: "weight".into(), full_scale: 20.0 });
    for edge in &mut shown.graph.edges {
        (edge.effect, edge.strength, edge.instantaneous) = (None, None, None);
        (edge.sign, edge.disagreement) = (EffectSign::Unknown, 0.0);
    }
    (shown.training, shown.fit, shown.future) = (None, None, None);
    shown.truth.as_mut().unwrap().methods[0].without_self_edges.tpr = None;
    shown.interventions.clear();
    shown.equations.clear();
    let places: Vec<&str> = report_sections(&shown).into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["words", "graph", "matrix", "truth", "provenance"]);
    let text = sections(&shown);
    for said in ["Method ridge: Weights of a linear prediction.<", "with a weight of 19.4, then"] {
        assert!(text.contains(said), "{said}");
    }
    for unsaid in ["probability", "faster growth", "depends on the state", "seeds", ">effect<"] {
        assert!(!text.contains(unsaid), "{unsaid}: {text}");
    }
    let page = report_html(&shown);
    assert!(!page.contains("href=\"#training\"") && !page.contains("href=\"#next\""));
}

#[test]
fn a_view_comes_back_from_its_file() {
    let before = view(&nasty_names());
    let text = serde_json::to_string(&before).unwrap();
    let after: ReportView = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&after).unwrap(), text);
}

#[test]
fn a_hundred_variables_make_a_readable_and_mailable_file() {
    let names: Vec<String> = (0..100).map(|idx| format!("gene {idx}")).collect();
    let mut shown = view(&names);
    let pairs = (0..100 * 100).map(|idx| (idx / 100, idx % 100));
    shown.graph.edges = pairs.map(|(s, t)| edge(s, t, 0.3, EffectSign::Positive)).collect();
    shown.graph.orders = matrix_orders(100, &shown.graph.edges);
    let page = report_html(&shown);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("search for one of them here"));
}
