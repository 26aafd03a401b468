//! Lists and matrices of edges, read and written.

mod support;

use std::fmt::Write as _;

use driftgraph_core::{EdgeScores, SignatureGraph};
use driftgraph_data::Problem;
use driftgraph_data::edges::{EdgeTable, Orientation, read_edges, write_scores, write_truth};
use support::{Folder, gzip, only_problem};

fn read(text: impl AsRef<[u8]>) -> EdgeTable {
    let folder = Folder::new();
    read_edges(&folder.file("edges.csv", text), None).unwrap()
}

fn problem(text: &str, orientation: Option<Orientation>) -> (Problem, Option<u64>, Option<String>) {
    let folder = Folder::new();
    only_problem(&read_edges(&folder.file("edges.csv", text), orientation).unwrap_err())
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn lists_go_by_several_headers_and_dialects() {
    let texts = [
        "source,target,score\na,b,0.5\nb,b,0.25\n",
        "Cause\tEffect\tWeight\na\tb\t0.5\nb\tb\t0.25\n",
        "score;to;from\n0.5;b;a\n0.25;b;b\n",
        "source,target,score,probability\na,b,9,0.5\nb,b,9,0.25\n",
    ];
    for text in texts {
        let edges = read(text);
        // [a->a, a->b, b->a, b->b]; what is not listed ranks last.
        assert_eq!(edges.scores(&names("a b")).unwrap().matrix(), [0.0, 0.5, 0.0, 0.25], "{text}");
    }
    assert_eq!(read(gzip(texts[0].as_bytes())), read(texts[0]));
}

#[test]
fn bare_edges_are_certain_and_zeros_are_no_edges() {
    let truth = read("cause,effect,sign\na,b,+\nb,c,-\n");
    assert_eq!(truth.score_name, None);
    assert_eq!(truth.graph(&names("c b a")).unwrap().edges().collect::<Vec<_>>(), [(1, 0), (2, 1)]);
    let weighted = read("source,target,weight\na,b,0\nb,a,-1\n");
    assert_eq!(weighted.graph(&names("a b")).unwrap().edges().collect::<Vec<_>>(), [(1, 0)]);
}

#[test]
fn scored_edges_are_no_truth() {
    let scored = read("source,target,probability,score\na,b,1,7\nb,a,0.25,-1\n");
    let refused = scored.graph(&names("a b")).unwrap_err();
    assert_eq!(refused, Problem::NotATruth { column: Some("probability".into()), found: 0.25 });
    assert_eq!(
        refused.to_string(),
        "the column `probability` holds 0.25, where a list of true edges has 1 or 0: these are scored \
         edges, and nothing says which of them are true"
    );
    let folder = Folder::new();
    let path = folder.file("matrix.csv", ",a,b\na,0,0.5\nb,0.25,1\n");
    let matrix = read_edges(&path, Some(Orientation::SourceRows)).unwrap();
    let refused = Problem::NotATruth { column: None, found: 0.5 };
    assert_eq!(matrix.graph(&names("a b")).unwrap_err(), refused);
}

#[test]
fn only_probabilities_make_a_prior() {
    let sure = read("source,target,probability\na,b,0.75\n");
    assert_eq!(sure.probabilities().unwrap().collect::<Vec<_>>(), [("a", "b", 0.75)]);
    let refused = |text: &str| read(text).probabilities().err().unwrap();
    assert_eq!(refused("source,target\na,b\n"), Problem::NoProbabilities { column: None });
    let scored = Problem::NoProbabilities { column: Some("score".into()) };
    assert_eq!(refused("source,target,score\na,b,0.5\n"), scored);
}

#[test]
fn a_link_without_a_direction_counts_both_ways_unless_both_are_listed() {
    let header = "source,target,probability,score,direction";
    let once = read(format!("{header}\na,b,0.75,3,either\nb,c,0.5,1,forward\n"));
    let scores = once.scores(&names("a b c")).unwrap();
    assert_eq!((scores.score(0, 1), scores.score(1, 0)), (0.75, 0.75));
    assert_eq!((scores.score(1, 2), scores.score(2, 1)), (0.5, 0.0));
    assert_eq!(once.ranking(&names("a b c")).unwrap().score(1, 0), 3.0);
    let both = read(format!("{header}\na,b,0.75,3,either\nb,a,0.7,2,either\n"));
    assert_eq!(both.scores(&names("a b")).unwrap().score(1, 0), 0.7);
}

#[test]
fn unlisted_pairs_rank_below_negative_scores() {
    let scores = read("source,target,score\na,b,-1e300\nb,a,2\n").scores(&names("a b")).unwrap();
    assert!(scores.score(0, 0) < scores.score(0, 1));
    assert!(scores.score(0, 1) < scores.score(1, 0));
}

#[test]
fn a_matrix_needs_its_orientation() {
    let text = ",a,b\na,0,0.5\nb,0.25,1\n";
    let folder = Folder::new();
    let path = folder.file("matrix.csv", text);
    let scores = |orientation| {
        let edges = read_edges(&path, Some(orientation)).unwrap();
        edges.scores(&names("a b")).unwrap().matrix().to_vec()
    };
    assert_eq!(scores(Orientation::SourceRows), [0.0, 0.5, 0.25, 1.0]);
    assert_eq!(scores(Orientation::TargetRows), [0.0, 0.25, 0.5, 1.0]);
    assert_eq!(problem(text, None).0, Problem::NoOrientation);
}

#[test]
fn matrices_that_are_none_are_refused() {
    let rows = Some(Orientation::SourceRows);
    let refused = |text: &str| problem(text, rows).0;
    let order = Problem::MatrixNames { position: 1, row: "b".into(), column: "a".into() };
    assert_eq!(refused(",a,b\nb,0,1\na,1,0\n"), order);
    assert_eq!(refused(",a,b\na,0,1\n"), Problem::NotSquare { rows: 1, columns: 2 });
    assert_eq!(refused(",a,a\na,0,1\na,1,0\n"), Problem::DuplicateName { name: "a".into() });
    let ragged = problem(",a,b\na,0\nb,1,0\n", rows);
    assert_eq!(ragged, (Problem::Ragged { expected: 3, found: 2 }, Some(2), None));
    let text = problem(",a,b\na,0,yes\nb,1,0\n", rows);
    assert_eq!(text, (Problem::NotAScore { text: "yes".into() }, Some(2), Some("b".into())));
    assert!(matches!(refused("G1\tG2\t1\nG2\tG3\t1\n"), Problem::NotAnEdgeList { .. }));
}

#[test]
fn faulty_lists_are_told_with_row_and_column() {
    let refused = |text: &str| problem(text, None);
    let twice = refused("source,target,score\na,b,1\na,b,2\n");
    assert_eq!(
        (twice.0.to_string().as_str(), twice.1),
        ("the edge `a -> b` appears twice", Some(3))
    );
    let hole = refused("source,target,score\na,b,\n");
    assert_eq!(hole, (Problem::EmptyCell { text: String::new() }, Some(2), Some("score".into())));
    let nameless = refused("source,target,score\na,,1\n");
    assert_eq!((nameless.1, nameless.2.as_deref()), (Some(2), Some("target")));
    assert!(matches!(refused("source,target,score\na,b\n").0, Problem::Ragged { .. }));
    assert!(matches!(refused("source,target,score\na,b,1e999\n").0, Problem::Infinite { .. }));
}

#[test]
fn more_variables_than_fit_into_memory_are_refused() {
    let mut text = "source,target\n".to_owned();
    for idx in 0..10_001 {
        let _ = writeln!(text, "a{idx},b{idx}");
    }
    let edges = read(text);
    let expected = Problem::TooManyVariables { found: 20_002, most: 20_000 };
    assert_eq!(edges.scores(&edges.variables).unwrap_err(), expected);
    assert_eq!(edges.graph(&edges.variables).unwrap_err(), expected);
}

#[test]
fn written_scores_and_truths_are_read_back() {
    let variables = names("a b,c");
    let scores = EdgeScores::from_matrix(2, vec![0.1, 1.0 / 3.0, -1e-300, 7e20]).unwrap();
    let mut text = Vec::new();
    write_scores(&mut text, &variables, "score", &scores).unwrap();
    assert_eq!(read(text).scores(&variables).unwrap().matrix(), scores.matrix());
    let graph = SignatureGraph::from_matrix(2, vec![false, true, true, true]).unwrap();
    let mut text = Vec::new();
    write_truth(&mut text, &variables, &graph, |source, _| (source == 0).then_some('+')).unwrap();
    assert_eq!(read(text).graph(&variables).unwrap(), graph);
}
