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
fn the_demo_does_not_overwrite_foreign_data() {
    let sandbox = Sandbox::with("mine/data.csv", "my only copy");
    assert_eq!(sandbox.output("demo --out mine").status.code(), Some(2));
    assert_eq!(sandbox.read("mine/data.csv"), "my only copy");
}
