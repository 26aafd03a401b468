//! `report`: one HTML file of a run, by itself and at the end of a fit.

use crate::{Sandbox, keys};

const NASTY: &str = "<script>alert(1)</script>";

/// A sandbox with a quick fit in `run`, one variable of which is called by its markup.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.stdout(
        "generate linear --set variables=3 --set parents=1 --series 4 --points 25 --drop 0.1 \
         --drop-by cell --out linear",
    );
    for file in ["linear/data.csv", "linear/truth.csv"] {
        let text = sandbox.read(file).replace("x1", NASTY);
        sandbox.write(file, text);
    }
    sandbox.stdout(
        "fit linear/data.csv --truth linear/truth.csv --steps 40 --select none --ensemble 1 --out run",
    );
    sandbox
}

#[test]
fn every_fit_ends_in_a_report_with_all_its_parts() {
    let sandbox = sandbox();
    let page = sandbox.read("run/report.html");
    for part in ["words", "graph", "matrix", "truth", "fit", "next", "training", "provenance"] {
        assert!(page.contains(&format!("<section id=\"{part}\"")), "{part}");
    }
    assert!(!page.contains(NASTY));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // The command that gives the same run again.
    assert!(page.contains("--ensemble 1") && page.contains("--steps 40"), "no command");
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn the_view_of_a_report_is_printed_for_machines() {
    let sandbox = sandbox();
    let mut command = sandbox.command("report run --json");
    let output = command.args(["--do", "x2 = 1"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = [
        "data",
        "downloads",
        "drifting",
        "equations",
        "fit",
        "future",
        "graph",
        "interventions",
        "method",
        "name",
        "provenance",
        "regimes",
        "training",
        "truth",
    ];
    assert_eq!(keys(&view), parts);
    assert_eq!(view["graph"]["variables"][0], NASTY);
    assert_eq!(view["interventions"][0]["text"], "x2 = 1");
    assert_eq!(view["fit"]["series"].as_array().unwrap().len(), 4);
    assert_eq!(view["truth"]["methods"][0]["name"], "driftgraph");
    assert!(view["truth"]["methods"].as_array().unwrap().len() > 1, "no simple methods");
}

#[test]
fn a_report_goes_where_it_is_asked_to_and_does_without_the_data() {
    let sandbox = sandbox();
    std::fs::remove_file(sandbox.path("linear/data.csv")).unwrap();
    let said = sandbox.run("report run --out elsewhere.html");
    assert!(
        said.contains("wrote `elsewhere.html`") && said.contains("not where they were"),
        "{said}"
    );
    let page = sandbox.read("elsewhere.html");
    assert!(page.contains("<section id=\"graph\"") && !page.contains("<section id=\"fit\""));
}

#[test]
fn draws_of_the_same_chains_are_no_fits_with_different_seeds() {
    let sandbox = Sandbox::new();
    sandbox
        .stdout("generate linear --set variables=3 --series 20 --points 11 --seed 14 --out data");
    sandbox.stdout("fit data/data.csv --select none --instantaneous --levels --out levels");
    let levels = sandbox.read("levels/report.html");
    assert!(!levels.contains("different seeds") && !levels.contains("seeds differ by</th>"));
    sandbox.stdout(
        "fit data/data.csv --select none --drift linear-and-neural --steps 5 --ensemble 2 --out neural",
    );
    let neural = sandbox.read("neural/report.html");
    assert!(neural.contains("with 2 different seeds") && neural.contains("seeds differ by</th>"));
}
