//! `generate`: data with a known graph, the same for the same seed.

use insta::assert_snapshot;

use crate::{Sandbox, keys};

const LORENZ: &str = "generate lorenz96 --series 3 --points 20 --drop 0.3 --seed 7 --out";

#[test]
fn data_truth_and_a_description_are_written() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("generate lorenz63 --series 2 --points 10 --out l63"), @r"
    exit 0
    --- stderr
    wrote 2 series with 20 rows and 3 variables to `l63/data.csv`, 8 true edges to `l63/truth.csv`
    ");
    assert!(sandbox.read("l63/data.csv").starts_with("series,time,"));
    assert_snapshot!(sandbox.read("l63/truth.csv"), @r"
    cause,effect,sign
    x,x,-
    x,y,
    x,z,
    y,x,+
    y,y,-
    y,z,
    z,y,
    z,z,-
    ");
    let description: serde_json::Value =
        serde_json::from_str(&sandbox.read("l63/generated.json")).unwrap();
    assert_eq!(description["system"], "lorenz63");
    assert_eq!(description["seed"], 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let sandbox = Sandbox::new();
    for folder in ["first", "second"] {
        sandbox.stdout(&format!("{LORENZ} {folder}"));
    }
    for name in ["data.csv", "truth.csv", "generated.json"] {
        assert_eq!(sandbox.read(&format!("first/{name}")), sandbox.read(&format!("second/{name}")));
    }
    sandbox.stdout(&format!("{} third", LORENZ.replace("--seed 7", "--seed 8")));
    assert_ne!(sandbox.read("first/data.csv"), sandbox.read("third/data.csv"));
}

#[test]
fn json_tells_what_was_written() {
    let sandbox = Sandbox::new();
    let object = sandbox.json(&format!("{LORENZ} out --json"));
    let expected = ["data", "edges", "missing_cells", "rows", "series", "truth", "variables"];
    let mut found = keys(&object);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(object["series"], 3);
}

#[test]
fn data_that_were_not_generated_are_not_overwritten() {
    let sandbox = Sandbox::with("out/data.csv", "my only copy");
    assert_snapshot!(sandbox.run(&format!("{LORENZ} out")), @r"
    exit 2
    --- stderr
    error: `out/data.csv` exists and was not made by this command; use another folder or `--force`
    ");
    assert_eq!(sandbox.read("out/data.csv"), "my only copy");
    assert!(!sandbox.path("out/truth.csv").exists());
    sandbox.stdout(&format!("{LORENZ} out --force"));
    assert!(sandbox.read("out/data.csv").starts_with("series,time"));
    // What it made itself it makes anew.
    sandbox.stdout(&format!("{LORENZ} out"));
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let sandbox = Sandbox::with("taken", "a file, not a folder");
    assert_snapshot!(sandbox.run(&format!("{LORENZ} taken")), @r"
    exit 2
    --- stderr
    error: cannot make the folder `taken`
      caused by: File exists (os error 17)
    ");
}

#[test]
fn wishes_that_cannot_be_met_are_told() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("generate lorentz --out out"), @r"
    exit 2
    --- stderr
    error: the known systems are `bimodal`, `gene-network`, `glycolysis`, `kuramoto`, `linear`, `lorenz63`, `lorenz96`, `lotka-volterra`; found `lorentz`
    ");
    assert_snapshot!(sandbox.run("generate lorenz96 --set size=3 --out out"), @r"
    exit 2
    --- stderr
    error: the parameters of `lorenz96` are `variables`, `forcing`, `noise`; found `size`
    ");
    assert_snapshot!(sandbox.run("generate lorenz96 --drop 1.5 --out out"), @r"
    exit 2
    --- stderr
    error: the probability of dropping must be at least 0 and below 1, found 1.5
    ");
    assert_snapshot!(sandbox.run("generate lorenz96 --points 0 --out out"), @r"
    exit 2
    --- stderr
    error: `n_points` must be at least 2, found 0
    ");
    assert_snapshot!(sandbox.run("generate kuramoto --recipe paper --out out"), @r"
    exit 2
    --- stderr
    error: the paper has recipes for `glycolysis`, `lorenz96`; found `kuramoto`
    ");
    assert_snapshot!(sandbox.run("generate lorenz96"), @r"
    exit 2
    --- stderr
    error: `--out DIR` says where to write the data
    ");
    assert_snapshot!(sandbox.run("generate lorenz96 --set variables=many --out out"), @r"
    exit 2
    --- stderr
    error: invalid value 'variables=many' for '--set <NAME=VALUE>': `many` is not a number

    For more information, try '--help'.
    ");
    assert!(!sandbox.path("out").exists());
}

#[test]
fn all_systems_are_listed() {
    let list = Sandbox::new().stdout("generate list");
    let systems = [
        "lorenz96",
        "lorenz63",
        "glycolysis",
        "bimodal",
        "kuramoto",
        "lotka-volterra",
        "gene-network",
    ];
    for system in systems {
        assert!(
            list.lines().any(|line| line.starts_with(&format!("{system}: "))),
            "{system}\n{list}"
        );
    }
}
