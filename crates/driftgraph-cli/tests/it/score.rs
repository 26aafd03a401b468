//! `score`: metrics against a truth, undefined ones left undefined.

use insta::assert_snapshot;

use crate::{Sandbox, keys};

const TRUTH: &str = "cause,effect,sign\na,b,+\nb,c,-\na,a,-\n";

fn sandbox(edges: &str) -> Sandbox {
    let sandbox = Sandbox::with("truth.csv", TRUTH);
    sandbox.write("edges.csv", edges);
    sandbox
}

#[test]
fn probabilities_get_every_metric_with_and_without_self_edges() {
    let sandbox = sandbox(
        "source,target,probability\na,b,0.9\nb,c,0.6\nc,a,0.7\na,a,0.2\nb,a,0.1\nc,b,0.1\na,c,0.3\nb,b,0\nc,c,0\n",
    );
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv"), @"");
}

#[test]
fn scores_only_rank_unless_a_threshold_is_given() {
    let sandbox = sandbox("source,target,score\na,b,3\nb,c,2\nc,a,1\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv --self-edges drop"), @"");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv --self-edges drop --threshold 2"), @"");
}

#[test]
fn json_has_the_promised_keys_and_null_for_undefined() {
    let sandbox = sandbox("source,target,score\na,b,3\nb,c,2\nc,a,1\n");
    sandbox.write("nothing.csv", "cause,effect\n");
    let object = sandbox.json("score edges.csv --truth truth.csv --self-edges drop --json");
    for key in ["auroc", "auprc", "prevalence", "f1", "tpr", "fdr", "shd"] {
        assert!(keys(&object).contains(&key), "{key}");
    }
    assert_eq!(object["auroc"], 1.0);
    assert!(object["f1"].is_null());
    let object = sandbox.json("score edges.csv --truth nothing.csv --json");
    assert!(object["auroc"].is_null() && object["auprc"].is_null());
    assert_eq!(object["prevalence"], 0.0);
}

#[test]
fn metrics_without_a_true_edge_are_undefined() {
    let sandbox = sandbox("source,target,probability\na,b,0.9\nb,a,0.1\n");
    sandbox.write("nothing.csv", "cause,effect\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth nothing.csv --self-edges drop"), @"");
}

#[test]
fn a_matrix_is_refused_without_its_orientation_and_read_with_it() {
    let sandbox = sandbox("name,a,b,c\na,0,0.9,0.1\nb,0.2,0,0.8\nc,0.3,0.1,0\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv"), @"");
    let auroc = |orientation: &str| {
        let options = format!("--orientation {orientation} --self-edges drop --json");
        sandbox.json(&format!("score edges.csv --truth truth.csv {options}"))["auroc"].clone()
    };
    assert_eq!(auroc("source-rows"), 1.0);
    // Turned round, a -> b scores 0.2 and b -> c 0.1: each true edge against the other four
    // wins 1 of 4 (tie: one half) and 0 of 4 (tie: one half).
    assert_eq!(auroc("target-rows"), 0.25);
}

#[test]
fn bad_lists_are_refused() {
    let refused = |edges: &str| sandbox(edges).run("score edges.csv --truth truth.csv");
    assert_snapshot!(refused("G1\tG2\t1\nG2\tG3\t1\n"), @"");
    assert_snapshot!(refused("source,target,score\na,b,high\nb,,1\nb,c\na,c,\n"), @"");
    assert_snapshot!(refused("source,target,score\na,b,1\na,b,2\n"), @"");
    assert_snapshot!(refused("name,a,b\nb,0,1\na,1,0\n"), @"");
    assert_snapshot!(Sandbox::with("truth.csv", TRUTH).run("score absent.csv --truth truth.csv"), @"");
}

#[test]
fn names_that_do_not_match_the_truth_are_told() {
    assert_snapshot!(sandbox("source,target,score\nG1,G2,1\n").run("score edges.csv --truth truth.csv"), @"");
    let partly = sandbox("source,target,score\na,b,1\nb,a,0.5\n");
    let said = partly.run("score edges.csv --truth truth.csv --json");
    let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note:")).collect();
    assert_snapshot!(notes.join("\n"), @"");
}

#[test]
fn a_folder_is_searched_for_its_edges() {
    let sandbox = Sandbox::with("truth.csv", TRUTH);
    sandbox.write("run/edges.csv", "source,target,probability\na,b,0.9\nb,c,0.1\n");
    assert_eq!(sandbox.output("score run --truth truth.csv").status.code(), Some(0));
    sandbox.write("other/notes.txt", "");
    assert_snapshot!(sandbox.run("score other --truth truth.csv"), @"");
}
