//! What a method says of its edges is the same after a run was saved and read back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use driftgraph_core::fitted::edges::{Direction, EdgeKind, LearnedEdge, Verdict, links};
use driftgraph_core::train::progress::Silent;
use driftgraph_data::record::MethodRequest;
use driftgraph_data::run_folder::Run;
use driftgraph_data::{ReadOptions, load};
use driftgraph_methods::{FitPlan, METHODS, directed_probabilities};
use driftgraph_run::{FitJob, Pace, fit};
use serde_json::{Value, json};

/// A chain over rows, two of whose variables also move together within a row.
fn table() -> String {
    let mut state = [0.0; 4];
    let mut seed = 99_u64;
    let mut draw = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let mut text = "time,a,b,c,d\n".to_owned();
    for row in 0..160 {
        let [a, b, c, _] = state;
        let (first, second) = (0.6 * a + draw(), 0.5 * b + 0.5 * a + draw());
        let third = 0.4 * c + draw();
        state = [first, second, third, 0.8 * third - 0.6 * second + 0.3 * draw()];
        let [a, b, c, d] = state;
        writeln!(text, "{row},{a},{b},{c},{d}").unwrap();
    }
    text
}

/// Edges as they were learned, and as they are read back.
fn learned_and_loaded(folder: &Path, method: &str, settings: &Value) -> [Vec<LearnedEdge>; 2] {
    let table = folder.join("data.csv");
    let read_options = ReadOptions::default();
    let asked = MethodRequest {
        method: Some(method.to_owned()),
        settings: settings.as_object().unwrap().clone(),
        ..MethodRequest::default()
    };
    let job = FitJob {
        loaded: load(std::slice::from_ref(&table), &read_options).unwrap(),
        read_options,
        plan: FitPlan::new(asked).unwrap(),
        folder: folder.join(method),
        replace: false,
        truth: None,
        pace: Pace::default(),
        report: false,
    };
    let finished = fit(&job, &Silent).unwrap();
    assert!(finished.run.model().is_err() || !finished.edges.is_empty());
    [finished.edges, Run::load(&job.folder).unwrap().edges()]
}

/// Settings with which methods take moments.
fn quick(method: &str) -> Value {
    match method {
        "dyngenie3" => json!({"trees": 5}),
        "ngm" => json!({"steps": 3}),
        "cuts" => json!({"fill_after": 1, "masked_epochs": 1, "last_epochs": 1, "hidden_size": 8}),
        "rhino" | "rhino-noinst" => json!({"rounds": 1, "steps": 3, "hidden_size": 8}),
        "lsde" => json!({"steps": 3, "units": 4, "hidden_size": 8, "context_size": 4}),
        "pcmci" | "pcmci-plus" => json!({"tau_max": 3}),
        _ => json!({}),
    }
}

#[test]
fn a_loaded_run_says_of_every_edge_what_its_method_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.csv"), table()).unwrap();
    // Those with a process have their model's edges on both sides.
    let has_process = ["bridge", "simulated", "ode-mean", "polynomial"];
    let mut n_methods = 0;
    for method in METHODS.iter().map(|method| method.name()) {
        if has_process.contains(&method) {
            continue;
        }
        let [learned, loaded] = learned_and_loaded(folder.path(), method, &quick(method));
        assert_eq!(learned.len(), loaded.len(), "{method}");
        for (before, after) in learned.iter().zip(&loaded) {
            // What is the same as the probability is written once.
            let before = LearnedEdge { probability_directed: None, ..before.clone() };
            let after = LearnedEdge { probability_directed: None, ..after.clone() };
            assert_eq!(before, after, "{method}");
        }
        let directed = |edges: &[LearnedEdge]| directed_probabilities(edges, 4).unwrap();
        assert_eq!(directed(&learned), directed(&loaded), "{method}");
        n_methods += 1;
    }
    assert!(n_methods >= 14, "{n_methods}");
}

#[test]
fn tests_lags_and_links_of_pcmci_are_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.csv"), table()).unwrap();
    for method in ["pcmci", "pcmci-plus"] {
        let [_, loaded] = learned_and_loaded(folder.path(), method, &quick(method));
        let edge = |source: usize, target: usize| {
            loaded.iter().find(|edge| edge.ends() == [source, target]).unwrap()
        };
        let driven = edge(0, 1);
        let test = driven.test.as_ref().unwrap();
        assert_eq!((driven.lag, test.verdict), (Some(1), Verdict::Yes), "{method}: {driven:?}");
        assert!(test.linked_lags.contains(&1) && test.p_value.unwrap() < 1e-3, "{method}");
        // Nothing drives the first variable; its pairs are listed because all are.
        let not = edge(3, 0);
        let test = not.test.as_ref().unwrap();
        assert!(test.verdict == Verdict::No && test.linked_lags.is_empty(), "{method}: {not:?}");
        assert!(test.p_value.unwrap() > 0.01, "{method}: {not:?}");
        // What moves together within a row is one link, whichever way it goes.
        let together = |edge: &&LearnedEdge| {
            edge.ends() == [2, 3] || edge.ends() == [3, 2] && edge.lag == Some(0)
        };
        let found: Vec<LearnedEdge> = links(&loaded);
        let found: Vec<&LearnedEdge> = found.iter().filter(together).collect();
        assert_eq!(found.len(), 1, "{method}: {found:?}");
        assert_ne!(found[0].kind, Some(EdgeKind::Lagged), "{method}");
        assert!(found[0].test.as_ref().unwrap().linked_lags.contains(&0), "{method}");
        assert_ne!(found[0].direction, Direction::Backward, "{method}");
    }
}
