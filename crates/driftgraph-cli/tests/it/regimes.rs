//! Regimes and conditions from the command line: what differs, and what cannot be asked.

use crate::Sandbox;

/// Two data sets of a small linear system, each with a run.
fn two_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, seed) in [("control", 1001), ("drug", 1002)] {
        let system = "generate linear --set variables=3 --set parents=1 --series 2 --points 40";
        sandbox.stdout(&format!("{system} --seed {seed} --out {name}"));
        sandbox.stdout(&format!(
            "fit {name}/data.csv --preset bridge-linear --steps 60 --out {name}-run"
        ));
    }
    sandbox
}

#[test]
fn two_runs_are_contrasted_and_the_result_is_a_run_that_can_be_repeated() {
    let sandbox = two_runs();
    let found = sandbox.json("contrast control-run drug-run --json");
    assert_eq!(found["conditions"], serde_json::json!(["control-run", "drug-run"]));
    assert_eq!(found["differences"].as_array().unwrap().len(), 9);
    for file in ["differences.csv", "regime_edges.csv", "edges.csv", "report.html", "data.csv"] {
        assert!(sandbox.path("contrast").join(file).is_file(), "{file}");
    }
    assert!(
        sandbox
            .read("contrast/differences.csv")
            .starts_with("source,target,first,second,probability,change")
    );
    assert_eq!(sandbox.read("contrast/regime_edges.csv").lines().count(), 1 + 2 * 9);
    assert!(sandbox.read("contrast/report.html").contains("Which edges differ"));
    let again = sandbox.run("contrast control-run drug-run");
    assert!(again.contains("holds a run already"), "{again}");
    let refused = sandbox.run("simulate contrast");
    assert!(refused.contains("2 processes that take turns (control-run, drug-run)"), "{refused}");
    // The command in the report asks for the same conditions.
    let command = sandbox.json("report contrast --json")["provenance"]["command"].to_string();
    assert!(command.contains("--regimes") && command.contains("control-run: "), "{command}");
}

#[test]
fn runs_that_cannot_be_compared_are_refused() {
    let sandbox = two_runs();
    sandbox.stdout("fit drug/data.csv --method ridge --out ridge-run");
    sandbox.stdout(
        "fit drug/data.csv --variables x1,x2 --preset bridge-linear --steps 45 --out two-run",
    );
    for (line, expected) in [
        ("contrast control-run ridge-run", "was made by `ridge`"),
        ("contrast control-run two-run", "has the variable `x3`, and `two-run` does not"),
        ("contrast control-run control-run", "was named twice"),
        ("contrast control-run nowhere", "nowhere"),
        ("fit drug/data.csv --regimes 9", "a number from 1 to 6"),
        (
            "fit drug/data.csv --regimes column:phase",
            "there is no column `phase`; there are `x1`, `x2`, `x3`",
        ),
        (
            "fit drug/data.csv --regimes 2 --ensemble 5",
            "`ensemble` is a setting of `bridge`, not of `regimes`",
        ),
        ("fit drug/data.csv --condition x1", "changes within series"),
    ] {
        let output = sandbox.run(line);
        assert!(output.starts_with("exit 2") && output.contains(expected), "{line}: {output}");
    }
}

#[test]
fn a_column_of_conditions_or_phases_is_no_variable() {
    let sandbox = Sandbox::new();
    let mut table = String::from("series,time,x,y,treated,phase\n");
    for series in 0..4 {
        let mut state = [0.3 * f64::from(series), 0.1];
        for row in 0..40_u32 {
            let shock = f64::from((row * 37 + series as u32 * 11) % 17) / 17.0 - 0.5;
            let [x, y] = state;
            let line = format!("s{series},{row},{x},{y},{},{}\n", series % 2, row / 20);
            table.push_str(&line);
            let pull = if series % 2 == 1 { 0.8 } else { 0.0 };
            let other = f64::from((row * 53 + series as u32 * 29) % 19) / 19.0 - 0.5;
            state = [0.6 * x + shock, 0.6 * y + pull * x + other];
        }
    }
    std::fs::write(sandbox.path("data.csv"), table).unwrap();
    sandbox.stdout("fit data.csv --ignore phase --condition treated --steps 60 --noise-scale 0.01 --out conditions");
    let record = sandbox.read("conditions/run.json");
    assert!(record.contains("\"treated 0\"") && record.contains("\"treated 1\""), "{record}");
    assert!(!sandbox.path("conditions/regimes.csv").exists());
    let first = sandbox.read("conditions/differences.csv").lines().nth(1).unwrap().to_owned();
    assert!(first.starts_with("x,y,treated 0,treated 1,"), "{first}");
    sandbox.stdout("fit data.csv --ignore treated --regimes column:phase --steps 40 --noise-scale 0.01 --out phases");
    let times = sandbox.read("phases/regimes.csv");
    assert!(
        times.starts_with(
            "series,time,regime,probability phase 0,probability phase 1\ns0,0,phase 0,1,0\n"
        ),
        "{times}"
    );
    assert!(sandbox.read("phases/regimes.svg").starts_with("<svg"));
    assert!(sandbox.read("phases/report.html").contains("Which regime holds when"));
}

#[test]
fn one_regime_is_the_plain_fit_to_the_byte() {
    let sandbox = Sandbox::new();
    sandbox.stdout("generate linear --set variables=3 --set parents=1 --series 2 --points 25 --seed 1003 --out linear");
    sandbox.stdout("fit linear/data.csv --steps 50 --out plain");
    sandbox.stdout("fit linear/data.csv --steps 50 --regimes 1 --out one");
    for file in ["edges.csv", "model.safetensors"] {
        let [plain, one] =
            ["plain", "one"].map(|run| std::fs::read(sandbox.path(run).join(file)).unwrap());
        assert!(plain == one, "{file}");
    }
    assert!(sandbox.stdout("simulate one --paths 2 --horizon 1").contains("x1"));
}
