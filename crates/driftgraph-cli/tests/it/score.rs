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
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv"), @r"
    exit 0
    --- stdout
     metric                     with self edges  without
     AUROC                      0.8333           0.875
     AUPRC                      0.7556           0.8333
     prevalence                 0.3333           0.3333
     threshold                  0.5              0.5
     F1                         0.6667           0.8
     TPR                        0.6667           1
     FDR                        0.3333           0.3333
     precision                  0.6667           0.6667
     SHD (a reversal counts 2)  2                1
     precision at k             0.6667           0.5
     Brier score                0.1567           0.1283
     calibration error          0.2778           0.2833
     true edges                 3                2
    ");
}

#[test]
fn scores_only_rank_unless_a_threshold_is_given() {
    let sandbox = sandbox("source,target,score\na,b,3\nb,c,2\nc,a,1\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv --self-edges drop"), @r"
    exit 0
    --- stdout
     metric                     without
     AUROC                      1
     AUPRC                      1
     prevalence                 0.3333
     threshold                  undefined
     F1                         undefined
     TPR                        undefined
     FDR                        undefined
     precision                  undefined
     SHD (a reversal counts 2)  undefined
     precision at k             1
     Brier score                undefined
     calibration error          undefined
     true edges                 2
    --- stderr
    note: 6 of 9 pairs of variables are not listed and rank last
    ");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv --self-edges drop --threshold 2"), @r"
    exit 0
    --- stdout
     metric                     without
     AUROC                      1
     AUPRC                      1
     prevalence                 0.3333
     threshold                  2
     F1                         1
     TPR                        1
     FDR                        0
     precision                  1
     SHD (a reversal counts 2)  0
     precision at k             1
     Brier score                undefined
     calibration error          undefined
     true edges                 2
    --- stderr
    note: 6 of 9 pairs of variables are not listed and rank last
    ");
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
    assert_snapshot!(sandbox.run("score edges.csv --truth nothing.csv --self-edges drop"), @r"
    exit 0
    --- stdout
     metric                     without
     AUROC                      undefined
     AUPRC                      undefined
     prevalence                 0
     threshold                  0.5
     F1                         0
     TPR                        undefined
     FDR                        1
     precision                  0
     SHD (a reversal counts 2)  1
     precision at k             undefined
     Brier score                0.41
     calibration error          0.5
     true edges                 0
    --- stderr
    note: 2 of 4 pairs of variables are not listed and rank last
    ");
}

#[test]
fn a_matrix_is_refused_without_its_orientation_and_read_with_it() {
    let sandbox = sandbox("name,a,b,c\na,0,0.9,0.1\nb,0.2,0,0.8\nc,0.3,0.1,0\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth truth.csv"), @r"
    exit 2
    --- stderr
    error: a matrix does not say whether its rows are sources or targets
      in `edges.csv`

    hint: pass `--orientation source-rows` or `--orientation target-rows`
    ");
    let auroc = |orientation: &str| {
        let options = format!("--orientation {orientation} --self-edges drop --json");
        sandbox.json(&format!("score edges.csv --truth truth.csv {options}"))["auroc"].clone()
    };
    assert_eq!(auroc("source-rows"), 1.0);
    // Turned round, a -> b scores 0.2 and b -> c 0.1, the false edges 0.9, 0.8, 0.3 and 0.1: of
    // eight pairs one is in order and one a tie, 1.5 / 8.
    assert_eq!(auroc("target-rows"), 0.1875);
}

#[test]
fn bad_lists_are_refused() {
    let refused = |edges: &str| sandbox(edges).run("score edges.csv --truth truth.csv");
    assert_snapshot!(refused("G1\tG2\t1\nG2\tG3\t1\n"), @r"
    exit 2
    --- stderr
    error: the header names no source and target; the columns are `G1`, `G2`, `1`
      in `edges.csv`

    hint: expected `source,target,score`, `source,target,probability`, or `cause,effect`, or a square matrix with names
    ");
    assert_snapshot!(refused("source,target,score\na,b,high\nb,,1\nb,c\na,c,\n"), @r"
    exit 2
    --- stderr
    error: `high` is not a number
      in `edges.csv`, row 2, column `score`
    error: the cell is empty
      in `edges.csv`, row 3, column `target`
    error: the row has 2 cells, the header has 3
      in `edges.csv`, row 4
    error: the cell is empty
      in `edges.csv`, row 5, column `score`

    hint: give the score as a number, or leave the edge out
    hint: fill in the cell, or delete the row
    hint: check for a stray separator, or a missing cell at the end
    ");
    assert_snapshot!(refused("source,target,score\na,b,1\na,b,2\n"), @r"
    exit 2
    --- stderr
    error: the edge `a -> b` appears twice
      in `edges.csv`, row 3
    ");
    assert_snapshot!(refused("name,a,b\nb,0,1\na,1,0\n"), @r"
    exit 2
    --- stderr
    error: row 1 of the matrix is `b`, but its column 1 is `a`
      in `edges.csv`

    hint: put rows and columns into the same order
    ");
    assert_snapshot!(Sandbox::with("truth.csv", TRUTH).run("score absent.csv --truth truth.csv"), @r"
    exit 2
    --- stderr
    error: no such file or folder
      in `absent.csv`
    ");
}

#[test]
fn names_that_do_not_match_the_truth_are_told() {
    assert_snapshot!(sandbox("source,target,score\nG1,G2,1\n").run("score edges.csv --truth truth.csv"), @r"
    exit 2
    --- stderr
    error: the edges and the truth have no variable in common; the truth names `a`, the edges name `G1`
    ");
    let partly = sandbox("source,target,score\na,b,1\nb,a,0.5\n");
    let said = partly.run("score edges.csv --truth truth.csv --json");
    let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note:")).collect();
    assert_snapshot!(notes.join("\n"), @r"
    note: the scored edges lack 1 variable of the truth, such as `c`
    note: 7 of 9 pairs of variables are not listed and rank last
    ");
}

#[test]
fn a_folder_is_searched_for_its_edges() {
    let sandbox = Sandbox::with("truth.csv", TRUTH);
    sandbox.write("run/edges.csv", "source,target,probability\na,b,0.9\nb,c,0.1\n");
    assert_eq!(sandbox.output("score run --truth truth.csv").status.code(), Some(0));
    sandbox.write("other/notes.txt", "");
    assert_snapshot!(sandbox.run("score other --truth truth.csv"), @r"
    exit 2
    --- stderr
    error: the folder `other` holds no edges.csv
    ");
}

#[test]
fn scored_edges_are_refused_as_a_truth() {
    let sandbox = sandbox("source,target,probability\na,b,0.9\nb,c,0.4\n");
    assert_snapshot!(sandbox.run("score edges.csv --truth edges.csv"), @r"
    exit 2
    --- stderr
    note: 7 of 9 pairs of variables are not listed and rank last
    error: cannot use the truth in `edges.csv`
      caused by: the column `probability` holds 0.9, where a list of true edges has 1 or 0: these are scored edges, and nothing says which of them are true

    hint: list the true edges alone, as `source,target`, or with a weight of 1 for an edge and 0 for none
    ");
    sandbox.write("weights.csv", "source,target,weight\na,b,1\nb,c,0\n");
    let object = sandbox.json("score edges.csv --truth weights.csv --json");
    assert_eq!(object["n_edges"], 1);
}
