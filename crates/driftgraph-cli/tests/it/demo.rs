//! `demo`: one command without arguments that shows what the tool does.

use crate::Sandbox;

#[test]
fn the_demo_writes_data_truth_and_edges_and_scores_them() {
    let sandbox = Sandbox::new();
    let text = sandbox.stdout("demo --steps 40");
    for method in ["driftgraph", "partial-correlation", "ridge", "var"] {
        let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|cells| cells.first() == Some(&method));
        let cells = row.expect("every method has a row");
        assert_eq!(cells.len(), 5, "{text}");
        for cell in &cells[1..] {
            assert!((0.0..=1.0).contains(&cell.parse::<f64>().unwrap()), "{text}");
        }
    }
    let written = ["data.csv", "truth.csv", "generated.json", "ridge.csv"];
    for name in written.into_iter().chain(["run/edges.csv", "run/run.json", "run/report.html"]) {
        assert!(sandbox.path("driftgraph-demo").join(name).is_file(), "{name}");
    }
}

#[test]
fn what_the_demo_is_sure_of_is_true_and_where_samples_are_coarse_it_says_so() {
    let sandbox = Sandbox::new();
    let output = sandbox.output("demo");
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<&str> = text.lines().filter(|line| line.contains("is sure")).collect();
    let [genes, coarse] = found[..] else { panic!("{text}") };
    let numbers = |line: &str| -> Vec<usize> {
        let words = line.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        words.filter_map(|word| word.trim_end_matches('.').parse().ok()).collect()
    };
    // Sure, true, all.
    let [n_sure, n_right, n_true] = numbers(genes)[..] else { panic!("{genes}") };
    assert!(n_sure == n_right && n_right > n_true / 2, "{genes}");
    let [n_sure, _, n_true] = numbers(coarse)[..] else { panic!("{coarse}") };
    assert!(n_sure < n_true, "{coarse}");
    let said = String::from_utf8(output.stderr).unwrap();
    let (_, of_coarse) = said.split_once("too coarse").unwrap();
    assert!(of_coarse.contains("not to be taken at its word"), "{said}");

    // The first number of a row is its AUROC.
    let auroc = |method: &str| -> f64 {
        let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|cells| cells.first() == Some(&method)).unwrap();
        row[1].parse().unwrap()
    };
    for simple in ["partial-correlation", "ridge", "var"] {
        assert!(auroc("driftgraph") > auroc(simple), "{text}");
    }
}

#[test]
fn the_demo_does_not_overwrite_foreign_data() {
    let sandbox = Sandbox::with("mine/data.csv", "my only copy");
    assert_eq!(sandbox.output("demo --out mine").status.code(), Some(2));
    assert_eq!(sandbox.read("mine/data.csv"), "my only copy");
}
