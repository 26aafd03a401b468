//! Equations as a candidate of the default: found where products act between coarse rows, and nowhere else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::Sandbox;

/// Lorenz-96 with six variables, a quarter of its unit of time between rows.
const LORENZ: &str = "generate lorenz96 --set variables=6 --series 5 --points 50 --span 0 12.25 --seed 1000 --out lorenz";

/// The candidate that the run chose.
fn chosen(sandbox: &Sandbox, run: &str) -> String {
    let described: serde_json::Value =
        serde_json::from_str(&sandbox.read(&format!("{run}/run.json"))).unwrap();
    let selection = &described["selection"];
    let chosen = selection["chosen"].as_u64().unwrap() as usize;
    selection["candidates"][chosen]["name"].as_str().unwrap().to_owned()
}

#[test]
fn the_default_finds_the_graph_and_the_equations_of_lorenz_between_coarse_rows() {
    let sandbox = Sandbox::new();
    sandbox.stdout(LORENZ);
    sandbox.stdout("fit lorenz/data.csv --out run");
    assert_eq!(chosen(&sandbox, "run"), "equations");
    let scores = sandbox.json("score run --truth lorenz/truth.csv --json");
    assert_eq!((scores["tpr"].as_f64(), scores["fdr"].as_f64()), (Some(1.0), Some(0.0)));
    // Each drift is x_{i-1} (x_{i+1} - x_{i-2}) - x_i + F, and nothing else.
    let asked = sandbox.json("graph run --equations --json");
    let equations = asked["equations"].as_array().unwrap();
    assert_eq!(equations.len(), 6);
    for (own, equation) in equations.iter().enumerate() {
        let at = |by: usize| format!("x{}", (own + by) % 6 + 1);
        let found: BTreeSet<String> = (equation["terms"].as_array().unwrap().iter())
            .map(|term| {
                let factors = term["factors"].as_array().unwrap();
                let names: BTreeSet<&str> =
                    factors.iter().map(|name| name.as_str().unwrap()).collect();
                names.into_iter().collect::<Vec<_>>().join(" ")
            })
            .collect();
        let product = |one: String, other: String| {
            if one < other { format!("{one} {other}") } else { format!("{other} {one}") }
        };
        let before = || at(5);
        let expected = [String::new(), at(0), product(before(), at(1)), product(before(), at(4))];
        assert_eq!(found, BTreeSet::from(expected), "{asked}");
    }
    // The older words ask for the same.
    for asked in ["--select all", "--preset bridge-all"] {
        sandbox.stdout(&format!("fit lorenz/data.csv {asked} --out again --force"));
        assert_eq!(sandbox.read("run/edges.csv"), sandbox.read("again/edges.csv"), "{asked}");
    }
}

#[test]
fn a_linear_system_and_a_gene_network_get_no_equations() {
    for system in [
        "linear --set variables=6 --series 10 --points 50",
        "gene-network --set variables=6 --series 10 --points 21 --noise 0.05",
    ] {
        let sandbox = Sandbox::new();
        sandbox.stdout(&format!("generate {system} --seed 1000 --out system"));
        sandbox.stdout("fit system/data.csv --out run");
        assert!(chosen(&sandbox, "run").starts_with("linear"), "{system}");
    }
}

/// What must not depend on how often a fit was stopped.
fn result(run: &Path) -> Vec<Vec<u8>> {
    let files = ["edges.csv", "model.safetensors", "edges.svg", "graph.svg"];
    files.map(|name| fs::read(run.join(name)).unwrap()).into()
}

#[test]
fn a_fit_that_is_killed_while_it_looks_for_equations_ends_with_the_same_bytes() {
    const FEWEST_KILLS: usize = 10;
    let sandbox = Sandbox::new();
    sandbox.stdout(LORENZ);
    let settings = "--checkpoint-every 5ms --threads 1";
    sandbox.stdout(&format!("fit lorenz/data.csv --out undisturbed {settings}"));
    let expected = result(&sandbox.path("undisturbed"));
    let (mut n_kills, mut n_fits) = (0, 0);
    while n_kills < FEWEST_KILLS {
        n_fits += 1;
        let name = format!("killed{n_fits}");
        let run = sandbox.path(&name);
        let mut patience = Duration::from_millis(50);
        while !run.join("run.json").exists() {
            // Before `job.json` is there, nothing was begun that could go on.
            let line = if run.join("job.json").exists() {
                format!("fit --resume {name}")
            } else {
                format!("fit lorenz/data.csv --out {name} {settings}")
            };
            let mut command = sandbox.command(&line);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            sleep(patience);
            // Longer with every try, so that each fit comes to its end.
            patience = patience.mul_f64(1.5);
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                n_kills += 1;
            }
            child.wait().unwrap();
        }
        assert!(result(&run) == expected, "after {n_kills} kills");
    }
}
