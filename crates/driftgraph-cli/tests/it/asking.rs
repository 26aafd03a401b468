//! `graph`, `simulate`, `forecast`, `impute` and `intervene` on one run folder, from the fit to every file.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::Sandbox;

/// A sandbox with `data.csv`, the run `bridge` and the run `paper`, made once for all tests.
fn sandbox() -> &'static Sandbox {
    static MADE: OnceLock<Sandbox> = OnceLock::new();
    MADE.get_or_init(|| {
        let sandbox = Sandbox::new();
        sandbox.stdout(
            "generate linear --set variables=3 --set parents=1 --series 4 --points 25 --drop 0.1 \
             --drop-by cell --out linear",
        );
        sandbox.stdout("fit linear/data.csv --steps 60 --select none --ensemble 1 --forbid x1->x3 --out bridge");
        sandbox.stdout(
            "fit linear/data.csv --preset simulated --steps 15 --hidden-size 8 --node-width 8 \
             --context-size 4 --embedding-size 4 --out paper",
        );
        sandbox
    })
}

fn text(stdout: &str) -> Vec<&str> {
    stdout.lines().collect()
}

#[test]
fn a_graph_is_written_in_every_format() {
    let sandbox = sandbox();
    for (format, start) in [
        ("csv", "source,target,probability,score,probability_lagged,effect,strength,sign"),
        ("matrix", "source,x1,x2,x3"),
        ("dot", "digraph"),
        ("graphml", "<?xml"),
        ("gexf", "<?xml"),
        ("cytoscape", "{"),
        ("json", "{"),
    ] {
        for run in ["bridge", "paper"] {
            let line = format!("graph {run} --threshold 0 --format {format}");
            assert!(sandbox.stdout(&line).starts_with(start), "{line}");
        }
    }
    let top = sandbox.stdout("graph bridge --top 2 --format csv");
    assert_eq!(text(&top).len(), 3);
    sandbox.stdout("graph bridge --top 4 --out g.graphml --svg g.svg");
    assert!(sandbox.read("g.graphml").contains("<edge id=\"e3\""));
    assert!(sandbox.read("g.svg").starts_with("<svg"));
    let all = sandbox.json("graph bridge --threshold 0 --json");
    assert_eq!(all["edges"].as_array().unwrap().len(), 9);
    assert!(all["feedback_loops"].is_array());
}

#[test]
fn edges_are_cut_where_too_many_would_be_false() {
    let sandbox = sandbox();
    let all = sandbox.json("graph bridge --threshold 0 --json");
    let cut = sandbox.json("graph bridge --fdr 0.3 --json");
    let of = |edge: &serde_json::Value| edge["probability"].as_f64().unwrap();
    let edges = |graph: &serde_json::Value| -> Vec<f64> {
        let all = graph["edges"].as_array().unwrap().iter();
        let between = all.filter(|edge| edge["source"] != edge["target"]);
        let mut found: Vec<f64> = between.map(of).collect();
        found.sort_by(|a, b| b.total_cmp(a));
        found
    };
    let (all, kept) = (edges(&all), edges(&cut));
    let doubts = |n: usize| all[..n].iter().map(|p| 1.0 - p).sum::<f64>();
    assert!(kept.is_empty() || doubts(kept.len()) < 0.3 * kept.len() as f64);
    if kept.len() < all.len() {
        assert!(doubts(kept.len() + 1) >= 0.3 * (kept.len() + 1) as f64);
    }
    assert!((cut["expected_false"].as_f64().unwrap() - doubts(kept.len())).abs() < 1e-9);
    sandbox.stdout("graph bridge --format cytoscape-style --out style.xml");
    assert!(sandbox.read("style.xml").contains("<visualStyle name=\"driftgraph\">"));
}

#[test]
fn endings_of_formats_that_cannot_be_written_are_refused_by_name() {
    let sandbox = sandbox();
    let refused = [
        ("simulate bridge --out x.xlsx", ".csv, .tsv, .txt, .parquet, .pq"),
        ("forecast bridge --out x.csv.gz", ".csv, .tsv, .txt, .parquet, .pq"),
        ("simulate bridge --svg x.png", "only .svg"),
        ("graph bridge --svg x.pdf", "only .svg"),
        ("graph bridge --out x.xlsx", ".graphml"),
        ("report bridge --out x.pdf", "only .html"),
        ("baseline var linear/data.csv --out x.tsv", "only .csv"),
    ];
    for (line, told) in refused {
        let output = sandbox.output(line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(error.contains(told), "{line}: {error}");
    }
    for line in ["graph bridge --out x.edges --format matrix", "graph bridge --out plain"] {
        sandbox.stdout(line);
    }
    assert!(sandbox.read("x.edges").starts_with("source,x1,x2,x3"));
    assert!(sandbox.read("plain").starts_with("source,target,probability"));
}

#[test]
fn simulated_paths_are_a_table_that_we_read_ourselves() {
    let sandbox = sandbox();
    for run in ["bridge", "paper"] {
        for file in ["paths.csv", "paths.parquet"] {
            sandbox.stdout(&format!(
                "simulate {run} --paths 6 --horizon 1 --every 0.25 --start x1=2,x3=1 --out {file} --svg p.svg"
            ));
            let seen = sandbox.json(&format!("check {file} --json"));
            assert_eq!((&seen["series"], &seen["rows"]), (&6.into(), &30.into()), "{seen}");
        }
    }
    assert!(sandbox.read("p.svg").contains("90 % band"));
    let twice = [1, 2].map(|threads| {
        let line = format!(
            "simulate bridge --paths 300 --seed 4 --threads {threads} --out t{threads}.csv"
        );
        sandbox.stdout(&line);
        sandbox.read(&format!("t{threads}.csv"))
    });
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn paths_of_variables_named_time_and_series_are_read_back_without_options() {
    let mut table = "hour,time,series\n".to_owned();
    for hour in 0..30 {
        let angle = f64::from(hour) / 4.0;
        let _ = writeln!(table, "{hour},{},{}", angle.sin(), angle.cos());
    }
    let sandbox = Sandbox::with("odd.csv", table);
    sandbox.stdout(
        "fit odd.csv --time hour --variables time,series --steps 20 --select none --ensemble 1 --out run",
    );
    sandbox.stdout("simulate run --paths 4 --horizon 2 --every 0.5 --out paths.csv");
    assert!(sandbox.read("paths.csv").starts_with("series_,time_,time,series\n"));
    let seen = sandbox.json("check paths.csv --json");
    assert_eq!((&seen["series"], &seen["rows"]), (&4.into(), &20.into()), "{seen}");
    assert_eq!((&seen["time_column"], &seen["variables"]), (&"time_".into(), &2.into()));
}

#[test]
fn a_data_file_may_have_another_name_than_at_the_fit() {
    let mut table = "time,x,y\n".to_owned();
    for time in 0..30 {
        let angle = f64::from(time) / 4.0;
        let _ = writeln!(table, "{time},{},{}", angle.sin(), angle.cos());
    }
    let sandbox = Sandbox::with("before.csv", &table);
    sandbox.stdout("fit before.csv --steps 20 --select none --ensemble 1 --out run");
    let ask = "forecast run --horizon 2 --paths 20 --json";
    let at_first = sandbox.stdout(ask);
    std::fs::rename(sandbox.path("before.csv"), sandbox.path("after.csv")).unwrap();
    assert_eq!(sandbox.stdout(&format!("{ask} --data after.csv")), at_first);
    // Hidden paths are kept by the name of their series.
    sandbox.stdout("impute run --samples 5 --data after.csv");
    sandbox.stdout("fit after.csv --resume run --extend-steps 5");
    sandbox.write("after.csv", table.replace("\n3,", "\n3.5,"));
    let changed = sandbox.output(&format!("{ask} --data after.csv"));
    assert!(String::from_utf8(changed.stderr).unwrap().contains("have changed"));
}

#[test]
fn forecasts_and_imputations_are_measured_on_what_was_held_out() {
    let sandbox = sandbox();
    for run in ["bridge", "paper"] {
        let test =
            sandbox.json(&format!("forecast {run} --holdout 20% --paths 50 --json --svg f.svg"));
        assert_eq!(test["methods"][0]["method"], "driftgraph");
        assert!(test["methods"][2]["overall"]["coverage_90"].is_f64());
        sandbox.stdout(&format!("forecast {run} --horizon 2 --paths 50 --out f.csv"));
        let rows = sandbox.read("f.csv");
        assert!(rows.starts_with("series,time,variable,mean,deviation,q05,q25,q50,q75,q95\n"));
        // Four series, twenty times, three variables.
        assert_eq!(text(&rows).len(), 1 + 4 * 20 * 3);
        let test = sandbox.json(&format!("impute {run} --holdout-cells 10% --samples 30 --json"));
        assert_eq!(test["methods"][1]["method"], "linear interpolation");
        sandbox.stdout(&format!("impute {run} --samples 30 --out i.csv --svg i.svg"));
        let missing = sandbox.json("check linear/data.csv --json")["missing_cells"].as_u64();
        let imputed = text(&sandbox.read("i.csv")).len() as u64 - 1;
        assert!(imputed > 0 && imputed <= missing.unwrap());
    }
}

#[test]
fn interventions_tell_what_changed_and_what_could_not() {
    let sandbox = sandbox();
    let mut command =
        sandbox.command("intervene bridge --paths 40 --horizon 2 --json --threshold 0.5");
    command.args(["--do", "x1 = 1.5 @ 0.5..1.5", "--do", "drift(x2) *= 0.5", "--out", "e.csv"]);
    let output = command.args(["--svg", "e.svg"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let effect: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ranking = effect["ranking"].as_array().unwrap();
    assert_eq!(ranking.len(), 3);
    assert!(sandbox.read("e.csv").starts_with("time,variable,mean_without"));
    let held: Vec<f64> = (sandbox.read("e.csv").lines())
        .filter(|line| line.starts_with("1,x1,"))
        .map(|line| line.split(',').nth(9).unwrap().parse().unwrap())
        .collect();
    assert_eq!(held, [1.5], "held exactly");
    assert!(sandbox.read("e.svg").contains("Under intervention"));
}

#[test]
fn the_graph_of_a_threshold_is_that_of_the_probabilities_reported() {
    // Products that a linear drift cannot have: edges rank far above what is believed of them.
    let sandbox = Sandbox::new();
    sandbox.stdout(
        "generate lorenz96 --set variables=5 --series 5 --points 60 --span 0 6 --seed 1 --out lorenz",
    );
    sandbox.stdout("fit lorenz/data.csv --select none --out run");
    let edges = sandbox.read("run/edges.csv");
    let numbers = |line: &str| -> [f64; 2] {
        let cells: Vec<&str> = line.split(',').collect();
        [2, 3].map(|column| cells[column].parse().unwrap())
    };
    let differ = |line: &&str| {
        let [probability, score] = numbers(line);
        probability < 0.9 && score > 2.2
    };
    assert!(edges.lines().skip(1).filter(differ).count() > 1, "{edges}");
    let reached = |source: &str| -> Vec<String> {
        let mut reached = vec![source.to_owned()];
        let mut next = 0;
        while next < reached.len() {
            let start = format!("{},", reached[next]);
            for line in edges.lines().filter(|line| line.starts_with(&start)) {
                let target = line.split(',').nth(1).unwrap().to_owned();
                if numbers(line)[0] >= 0.9 && !reached.contains(&target) {
                    reached.push(target);
                }
            }
            next += 1;
        }
        reached.sort();
        reached
    };
    for source in ["x1", "x2", "x3", "x4", "x5"] {
        let mut command =
            sandbox.command("intervene run --paths 20 --horizon 1 --json --threshold 0.9");
        let output = command.args(["--do", &format!("{source} = 1.5")]).output().unwrap();
        let effect: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let ranking = effect["ranking"].as_array().unwrap().iter();
        let changed = ranking.filter(|row| row["changed"] == true);
        let mut changed: Vec<&str> = changed.map(|row| row["variable"].as_str().unwrap()).collect();
        changed.sort_unstable();
        assert_eq!(changed, reached(source), "{edges}");
    }
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_reason() {
    let sandbox = sandbox();
    let refused = |line: &str, changes: &[&str], expected: &str| {
        let mut command = sandbox.command(line);
        changes.iter().for_each(|change| {
            command.args(["--do", change]);
        });
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(expected), "{line}: {said}");
    };
    refused("graph linear", &[], "is not a run folder");
    refused("graph bridge --threshold 2", &[], "must be a probability");
    refused("graph bridge --fdr 0", &[], "`--fdr` must be a share between 0 and 1, found 0");
    refused("graph bridge --fdr 0.1 --top 3", &[], "cannot be used with");
    refused("simulate bridge --start series:nobody", &[], "knows no series `nobody`");
    refused("simulate bridge --start y=2", &[], "has no variable `y`");
    refused("simulate bridge --horizon=-1", &[], "`horizon` must be positive");
    refused("simulate bridge --paths 0", &[], "`paths` must be at least 1");
    refused("forecast bridge --holdout 200%", &[], "less than 100%");
    refused("impute bridge --data paper/edges.csv", &[], "error");
    refused(
        "intervene bridge",
        &["x1 = x2", "x2 = x1 + 1"],
        "must give the same state when applied twice",
    );
    refused("intervene bridge", &["x9 = 1"], "unknown variable `x9`");
    refused("intervene bridge", &["x1 = 1/0"], "division by zero, in column 7");
    refused("intervene bridge", &["x1 = log(x2 - 1e6)"], "not finite");
}
