//! `baseline`: scored edges of simple methods, and the chain from data to a score.

use insta::assert_snapshot;

use crate::{Sandbox, benchmark_data, keys};

/// y follows x by one step.
const CHASE: &str = "time,x,y\n0,1,0\n1,-1,1\n2,2,-1\n3,0,2\n4,-2,0\n5,1,-2\n6,3,1\n7,-1,3\n";

#[test]
fn edges_go_to_standard_output_best_first() {
    let sandbox = Sandbox::with("chase.csv", CHASE);
    let text = sandbox.stdout("baseline var chase.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("source,target,score"));
    assert!(lines.next().unwrap().starts_with("x,y,"), "{text}");
    assert_eq!(lines.count(), 3);
}

#[test]
fn edges_go_to_a_file_and_standard_output_stays_empty() {
    let sandbox = Sandbox::with("chase.csv", CHASE);
    assert_snapshot!(sandbox.run("baseline var chase.csv --out edges.csv"), @r"
    exit 0
    --- stderr
    wrote 4 scored edges to `edges.csv`
    ");
    assert_eq!(sandbox.read("edges.csv"), sandbox.stdout("baseline var chase.csv"));
}

#[test]
fn json_holds_the_method_and_all_edges() {
    let sandbox = Sandbox::with("chase.csv", CHASE);
    let object = sandbox.json("baseline partial-correlation chase.csv --json");
    let mut found = keys(&object);
    found.sort_unstable();
    assert_eq!(found, ["edges", "method", "variables"]);
    assert_eq!(object["method"], "partial-correlation");
    assert_eq!(object["edges"].as_array().unwrap().len(), 4);
}

#[test]
fn notes_about_the_data_go_to_standard_error() {
    let sandbox = Sandbox::with(
        "a.csv",
        "id,date,x\na,2026-01-02,1\na,2026-01-01,3\na,2026-01-03,2\na,2026-01-04,4\na,2026-01-05,1\n",
    );
    assert_snapshot!(sandbox.run("baseline var a.csv --out edges.csv"), @r"
    exit 0
    --- stderr
    note: sorted the rows of 1 series by time
    note: times are counted in days since 2026-01-01T00:00:00Z
    wrote 1 scored edge to `edges.csv`
    ");
}

#[test]
fn an_unwritable_place_and_an_unknown_method_are_told() {
    let sandbox = Sandbox::with("chase.csv", CHASE);
    assert_snapshot!(sandbox.run("baseline var chase.csv --out nowhere/edges.csv"), @r"
    exit 2
    --- stderr
    error: cannot write `nowhere/edges.csv`
      caused by: the folder `nowhere` does not exist
    ");
    assert_snapshot!(sandbox.run("baseline granger chase.csv"), @r"
    exit 2
    --- stderr
    error: invalid value 'granger' for '<METHOD>': expected one of `partial-correlation`, `score-matching`, `level-form`, `ridge`, `var`, `pcmci`, `pcmci-plus`, `varlingam`, `toy`

    For more information, try '--help'.
    ");
}

#[test]
fn generate_check_baseline_and_score_work_in_a_chain() {
    let sandbox = Sandbox::new();
    sandbox.stdout("generate lorenz96 --series 10 --points 100 --drop 0.3 --seed 0 --out lorenz");
    let check = sandbox.json("check lorenz/data.csv --json");
    assert_eq!((&check["series"], &check["usable"]), (&10.into(), &true.into()));
    sandbox.stdout("baseline ridge lorenz/data.csv --out edges.csv");
    let metrics = sandbox.json("score edges.csv --truth lorenz/truth.csv --self-edges keep --json");
    // A coin has 0.5; four of ten edges are found by their levels alone.
    assert!(metrics["auroc"].as_f64().unwrap() > 0.6, "{metrics}");
}

#[test]
fn partial_correlation_finds_the_brain_network() {
    let Some(data) = benchmark_data() else { return };
    let sandbox = Sandbox::new();
    let netsim = data.join("netsim");
    let (table, truth) = (netsim.join("sim3_subjects2-6.csv"), netsim.join("sim3.truth.csv"));
    sandbox.stdout(&format!("baseline partial-correlation {} --out edges.csv", table.display()));
    let score = format!("score edges.csv --truth {} --self-edges keep --json", truth.display());
    // 0.974 is known; far less would mean sources and targets exchanged, or series mixed up.
    let auroc = sandbox.json(&score)["auroc"].as_f64().unwrap();
    assert!(auroc >= 0.96, "{auroc}");
}
