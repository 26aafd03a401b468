//! `demo`: one command without arguments that shows what the tool does.

use crate::Sandbox;

#[test]
fn the_demo_writes_data_truth_and_edges_and_scores_them() {
    let sandbox = Sandbox::new();
    let text = sandbox.stdout("demo");
    for method in ["partial-correlation", "ridge", "var"] {
        let line = text.lines().find(|line| line.trim_start().starts_with(method));
        let cells: Vec<&str> = line.expect("every method has a row").split_whitespace().collect();
        assert_eq!(cells.len(), 5, "{text}");
        for cell in &cells[1..] {
            assert!((0.0..=1.0).contains(&cell.parse::<f64>().unwrap()), "{text}");
        }
        assert!(sandbox.path(&format!("driftgraph-demo/{method}.csv")).is_file());
    }
    for name in ["data.csv", "truth.csv", "generated.json"] {
        assert!(sandbox.path("driftgraph-demo").join(name).is_file(), "{name}");
    }
    // A second run replaces its own files.
    assert_eq!(sandbox.stdout("demo"), text);
}

#[test]
fn the_demo_does_not_overwrite_foreign_data() {
    let sandbox = Sandbox::with("mine/data.csv", "my only copy");
    assert_eq!(sandbox.output("demo --out mine").status.code(), Some(2));
    assert_eq!(sandbox.read("mine/data.csv"), "my only copy");
}
