//! Links within a step, from the fit to every place where they are told.

use std::fmt::Write as _;

use crate::{Sandbox, benchmark_data};

/// A table in which `real` is `rate - inflation` in every row, but for a little noise.
fn table() -> String {
    let mut text = "time,rate,inflation,real\n".to_owned();
    let mut seed = 12345_u64;
    let mut draw = || {
        // A sum of four even draws is nearly normal, which is all that is needed.
        let mut sum = 0.0;
        for _ in 0..4 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        }
        1.7 * sum
    };
    let (mut rate, mut inflation) = (0.0, 0.0);
    for row in 0..240 {
        rate = 0.8 * rate + draw();
        inflation = 0.7 * inflation + draw();
        let real = rate - inflation + 0.1 * draw();
        writeln!(text, "{row},{rate},{inflation},{real}").unwrap();
    }
    text
}

fn fitted() -> Sandbox {
    let sandbox = Sandbox::with("data.csv", table());
    sandbox.run("fit data.csv --select none --instantaneous --steps 300 --ensemble 1 --out run");
    sandbox
}

#[test]
fn every_export_has_one_link_with_the_right_sign_and_no_direction() {
    let sandbox = fitted();
    let object = sandbox.json("graph run --json");
    let links: Vec<_> = (object["edges"].as_array().unwrap().iter())
        .filter(|edge| {
            let ends = [edge["source"].as_str().unwrap(), edge["target"].as_str().unwrap()];
            ends.contains(&"real") && ends.contains(&"inflation")
        })
        .collect();
    assert_eq!(links.len(), 1, "{links:?}");
    assert_eq!(
        (links[0]["kind"].as_str(), links[0]["sign"].as_str()),
        (Some("within-step"), Some("negative"))
    );
    let dot = sandbox.stdout("graph run --format dot");
    let lines: Vec<_> = dot
        .lines()
        .filter(|line| line.contains("\"real\"") && line.contains("\"inflation\" "))
        .collect();
    assert_eq!(lines.len(), 1, "{dot}");
    assert!(lines[0].contains("arrowhead=none"), "{dot}");
    let rows = sandbox.stdout("graph run --format csv");
    assert!(rows.lines().any(|row| row.contains(",within-step,either,")), "{rows}");
    let shown = sandbox.stdout("graph run");
    assert!(shown.contains("within-step, either way"), "{shown}");
    assert!(
        shown.lines().next().unwrap().contains("90 %"),
        "every effect is shown with its interval: {shown}"
    );
    // The file has all pairs, so that it can be scored as it is.
    let file = sandbox.read("run/edges.csv");
    assert_eq!(file.lines().count(), 10);
    assert!(file.starts_with(
        "source,target,probability,score,probability_lagged,effect,strength,sign,\
         probability_instantaneous,effect_instantaneous,disagreement,kind,direction,effect_low,effect_high,"
    ));
}

#[test]
fn levels_find_the_link_and_give_a_process_that_answers_every_question() {
    let sandbox = Sandbox::with("data.csv", table());
    sandbox.run("fit data.csv --select none --instantaneous --levels --out run");
    let object = sandbox.json("graph run --json");
    let edges = object["edges"].as_array().unwrap();
    let ends = |edge: &&serde_json::Value| {
        let ends = [edge["source"].as_str().unwrap(), edge["target"].as_str().unwrap()];
        ends.contains(&"real") && ends.contains(&"inflation")
    };
    let link = edges.iter().find(ends).unwrap();
    assert_eq!(
        (link["kind"].as_str(), link["direction"].as_str(), link["sign"].as_str()),
        (Some("within-step"), Some("either"), Some("negative"))
    );
    for question in [
        "simulate run --horizon 20 --paths 50 --out simulated.csv",
        "forecast run --horizon 5 --paths 50 --out forecast.csv",
        "impute run --times 0.5,1.5 --out imputed.csv",
        "intervene run --do rate=2 --horizon 5 --paths 50 --out effect.csv",
    ] {
        sandbox.stdout(question);
    }
}

/// Source and target of the lines of a graph in DOT, and whether they have a head.
fn drawn(dot: &str) -> Vec<(String, bool)> {
    let lines = dot.lines().filter_map(|line| line.split_once(" ["));
    lines.map(|(ends, rest)| (ends.trim().to_owned(), !rest.contains("arrowhead=none"))).collect()
}

#[test]
fn methods_without_a_process_keep_their_links_when_a_run_is_opened_again() {
    for method in ["pcmci", "pcmci-plus", "varlingam", "level-form", "score-matching"] {
        let sandbox = Sandbox::with("data.csv", table());
        sandbox.stdout(&format!("fit data.csv --method {method} --out run"));
        let dot = drawn(&sandbox.stdout("graph run --top 20 --format dot"));
        let is_open = |ends: &str| dot.iter().any(|(other, head)| other == ends && !head);
        for (ends, head) in &dot {
            let (source, target) = ends.split_once(" -> ").unwrap();
            let back = format!("{target} -> {source}");
            let is_told_twice = source != target && dot.iter().any(|(other, _)| *other == back);
            assert!(!is_told_twice || (*head && !is_open(&back)), "{method}: {dot:?}");
        }
        let has_open = dot.iter().any(|(_, head)| !head);
        assert_eq!(
            has_open,
            ["level-form", "score-matching"].contains(&method),
            "{method}: {dot:?}"
        );
        // The fit's own report and one made of the folder draw the same edges.
        let of_fit = sandbox.read("run/report.html");
        sandbox.stdout("report run --out again.html");
        assert_eq!(edges_in(&of_fit), edges_in(&sandbox.read("again.html")), "{method}");
        let object = sandbox.json("graph run --top 20 --json");
        assert_eq!(object["edges"].as_array().unwrap().len(), dot.len(), "{method}");
    }
}

/// The edges that a report carries for its pictures.
fn edges_in(report: &str) -> &str {
    let from = report.find("\"edges\":").expect("a report carries its edges");
    let rest = &report[from..];
    &rest[..rest.find("}]").expect("the list of edges ends")]
}

#[test]
fn a_run_with_tests_shows_the_links_that_pass() {
    let sandbox = Sandbox::with("data.csv", table());
    let told = sandbox.run("fit data.csv --method pcmci-plus --out run");
    let passing = told.lines().find(|line| line.contains("links that pass")).unwrap().to_owned();
    let shown = sandbox.stdout("graph run");
    assert!(!shown.contains("no link"), "{shown}");
    let file = sandbox.read("run/edges.csv");
    let header = file.lines().next().unwrap();
    assert!(header.ends_with("kind,direction,lag,link,linked_lags,p_value"), "{header}");
    let n_links = file.lines().filter(|line| line.contains(",yes,")).count();
    assert!(n_links > 0 && n_links < 9, "{passing}\n{file}");
    let whole = sandbox.stdout("graph run --top 20");
    assert!(whole.contains("no link"), "{whole}");
}

#[test]
fn levels_need_effects_within_a_step() {
    let sandbox = Sandbox::with("data.csv", table());
    let said = sandbox.run("fit data.csv --select none --levels --out run");
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(said.contains("`levels` must be false, but with instantaneous effects"), "{said}");
}

#[test]
fn a_list_with_links_scores_as_the_file_of_all_pairs_does() {
    let sandbox = fitted();
    sandbox.write("truth.csv", "source,target\nrate,real\ninflation,real\n");
    sandbox.run("graph run --threshold 0 --format csv --out listed.csv");
    let whole = sandbox.json("score run --truth truth.csv --json");
    let listed = sandbox.json("score listed.csv --truth truth.csv --json");
    assert_eq!((&whole["f1"], &whole["shd"]), (&listed["f1"], &listed["shd"]));
}

#[test]
fn inflation_lowers_the_real_interest_rate_in_the_macro_table() {
    let Some(data) = benchmark_data() else { return };
    let file = data.join("real/macro/data.csv");
    if !file.is_file() {
        return;
    }
    let sandbox = Sandbox::with("data.csv", std::fs::read_to_string(file).unwrap());
    sandbox.run("fit data.csv --out run");
    let object = sandbox.json("graph run --json");
    let edges = object["edges"].as_array().unwrap();
    let signs = |one: &str, other: &str| -> Vec<&str> {
        let joins = |edge: &&serde_json::Value| {
            let ends = [edge["source"].as_str().unwrap(), edge["target"].as_str().unwrap()];
            ends == [one, other] || ends == [other, one]
        };
        edges.iter().filter(joins).map(|edge| edge["sign"].as_str().unwrap()).collect()
    };
    assert_eq!(signs("infl", "realint"), ["negative"]);
    assert_eq!(signs("infl", "tbilrate"), ["positive"]);
    assert!(signs("realint", "tbilrate").iter().all(|sign| *sign == "positive"));
    // Each pair once, unless it acts both ways through time.
    let undirected = edges.iter().filter(|edge| edge["direction"] == "either");
    for edge in undirected {
        let (source, target) = (&edge["source"], &edge["target"]);
        let back =
            edges.iter().any(|other| &other["source"] == target && &other["target"] == source);
        assert!(!back, "{edge}");
    }
}
