//! `fit`: what it writes, what it refuses, and that the same seed gives the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

use crate::Sandbox;

/// A layer's width that keeps these fits to a fraction of a second.
const SMALL: [&str; 8] =
    ["--hidden-size", "8", "--node-width", "8", "--context-size", "4", "--embedding-size", "4"];

fn driftgraph(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_driftgraph")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder with `data.csv` and `truth.csv` of a linear system of three variables.
fn linear_system() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("linear");
    let out = path.to_str().unwrap();
    let arguments = [
        "generate",
        "linear",
        "--set",
        "variables=3",
        "--set",
        "parents=1",
        "--series",
        "4",
        "--points",
        "20",
    ];
    let made = driftgraph(
        &[&arguments[..], &["--drop", "0.2", "--drop-by", "cell", "--out", out]].concat(),
    );
    assert!(made.status.success(), "{}", stderr(&made));
    (folder, path)
}

fn fit(data: &Path, out: &Path, extra: &[&str]) -> Output {
    let data = data.join("data.csv");
    let fixed = ["fit", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    driftgraph(&[&fixed[..], &SMALL, extra].concat())
}

fn fit_bridge(data: &Path, out: &Path, extra: &[&str]) -> Output {
    let data = data.join("data.csv");
    let fixed = ["fit", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    driftgraph(&[&fixed[..], extra].concat())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_run_folder_holds_edges_model_log_and_description() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let truth = data.join("truth.csv");
    let extra = ["--preset", "paper", "--steps", "25", "--truth", truth.to_str().unwrap()];
    let output = fit(&data, &run, &extra);
    assert!(output.status.success(), "{}", stderr(&output));

    let edges = fs::read_to_string(run.join("edges.csv")).unwrap();
    assert!(edges.starts_with("source,target,probability,score,"));
    assert_eq!(edges.lines().count(), 1 + 9, "all pairs of three variables");

    let description = json(&run.join("run.json"));
    assert_eq!(description["preset"], "paper");
    assert_eq!(description["ending"], "finished");
    assert_eq!(description["model"]["settings"]["steps"], 25);

    let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<u64> = lines.iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [0, 10, 20, 24], "every tenth step and the last");
    for line in &lines {
        assert!(line["elbo"].is_f64() && line["seconds"].is_f64() && line["auroc"].is_f64());
    }
    assert!(run.join("model.safetensors").exists());
}

#[test]
fn the_default_chooses_its_settings_and_says_what_was_tried() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let output = fit_bridge(&data, &run, &["--steps", "60", "--ensemble", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let description = json(&run.join("run.json"));
    assert_eq!(description["method"], "bridge");
    let candidates = description["selection"]["candidates"].as_array().unwrap();
    // A linear system leaves nothing for other candidates: each is compared, or it is said why not.
    let skipped = description["selection"]["skipped"].as_array().map_or(0, Vec::len);
    assert_eq!(candidates.len() + skipped, 4, "{candidates:?}");
    for candidate in &candidates[1..] {
        assert!(candidate["gain"]["standard_error"].is_f64() || candidate["evidence"].is_f64());
    }
    assert!(description["converged"].is_boolean());
    let edges = fs::read_to_string(run.join("edges.csv")).unwrap();
    assert!(edges.starts_with("source,target,probability,score,probability_lagged,effect"));
    let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert!(first["elbo"].is_f64() && first["seconds"].is_f64());
}

#[test]
fn a_setting_of_the_other_posterior_is_refused_by_name() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let output = fit_bridge(&data, &run, &["--temperature", "0.5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`temperature` is a setting of `simulated`, not of `bridge`"));
    let output = fit(&data, &run, &["--preset", "paper", "--ensemble", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`ensemble` is a setting of `bridge`, not of `simulated`"));
    assert!(!run.exists());
}

#[test]
fn the_bridge_keeps_what_the_user_knows_and_gives_the_same_bytes_for_any_threads() {
    let (folder, data) = linear_system();
    let known = ["--forbid", "x1->x2", "--require", "x2->x3", "--select", "none", "--steps", "40"];
    let bytes = |name: &str, threads: &str| {
        let run = folder.path().join(name);
        let output = fit_bridge(&data, &run, &[&known[..], &["--threads", threads]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        ["edges.csv", "model.safetensors"].map(|file| fs::read(run.join(file)).unwrap())
    };
    let [edges, model] = bytes("one", "1");
    assert_eq!([edges.clone(), model], bytes("two", "2"));
    let edges = String::from_utf8(edges).unwrap();
    assert!(edges.contains("x1,x2,0,-inf,0,") && edges.contains("x2,x3,1,inf,1,"), "{edges}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_one_and_two_threads() {
    let (folder, data) = linear_system();
    let bytes = |name: &str, threads: &str, seed: &str| {
        let run = folder.path().join(name);
        let extra =
            ["--preset", "simulated", "--steps", "20", "--threads", threads, "--seed", seed];
        let output = fit(&data, &run, &extra);
        assert!(output.status.success(), "{}", stderr(&output));
        ["edges.csv", "model.safetensors"].map(|file| fs::read(run.join(file)).unwrap())
    };
    let one = bytes("one", "1", "7");
    assert_eq!(one, bytes("two", "2", "7"));
    assert_ne!(one, bytes("other", "2", "8"));
}

#[test]
fn what_the_user_knows_about_edges_is_kept() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let extra = [
        "--preset",
        "paper",
        "--steps",
        "5",
        "--forbid",
        "x1->x2",
        "--require",
        "x2 -> x3",
        "--no-self-loops",
    ];
    let output = fit(&data, &run, &extra);
    assert!(output.status.success(), "{}", stderr(&output));
    let edges = fs::read_to_string(run.join("edges.csv")).unwrap();
    for line in ["x1,x2,0,-inf", "x2,x3,1,inf", "x1,x1,0,-inf", "x3,x3,0,-inf"] {
        assert!(edges.contains(line), "{line} in\n{edges}");
    }
}

#[test]
fn a_settings_file_counts_less_than_flags_and_more_than_the_preset() {
    let (folder, data) = linear_system();
    let config = folder.path().join("settings.toml");
    fs::write(&config, "preset = \"paper\"\nsteps = 4\nsparsity = 3.5\nclip_norm = 10.0\n")
        .unwrap();
    let run = folder.path().join("run");
    let extra = ["--config", config.to_str().unwrap(), "--steps", "6", "--clip-norm", "none"];
    let output = fit(&data, &run, &extra);
    assert!(output.status.success(), "{}", stderr(&output));
    let settings = &json(&run.join("run.json"))["model"]["settings"];
    assert_eq!(settings["sparsity"], 3.5);
    assert_eq!(settings["steps"], 6);
    assert_eq!(settings["clip_norm"], Value::Null);
    assert_eq!(settings["step_grid"], "published");
}

#[test]
fn bad_settings_are_refused_together_and_before_anything_is_written() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let extra =
        ["--preset", "paper", "--learning-rate", "-1", "--temperature", "0", "--steps", "0"];
    let output = fit(&data, &run, &extra);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    for name in ["`learning_rate`", "`temperature`", "`steps`"] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
    assert!(!run.exists());

    let config = folder.path().join("settings.toml");
    fs::write(&config, "sparsty = 3.5\n").unwrap();
    let output = fit(&data, &run, &["--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`sparsty`"), "{}", stderr(&output));
}

#[test]
fn unknown_variables_in_edges_and_truth_are_named() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let output = fit(&data, &run, &["--preset", "paper", "--steps", "2", "--forbid", "x1->y"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`y`"), "{}", stderr(&output));
}

#[test]
fn a_run_is_not_overwritten_unless_asked() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let extra = ["--preset", "paper", "--steps", "2"];
    assert!(fit(&data, &run, &extra).status.success());
    let again = fit(&data, &run, &extra);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("holds a run already"), "{}", stderr(&again));
    assert!(fit(&data, &run, &[&extra[..], &["--force"]].concat()).status.success());
}

#[test]
fn a_time_budget_ends_the_fit_and_keeps_what_was_learned() {
    let (folder, data) = linear_system();
    let run = folder.path().join("run");
    let extra = ["--preset", "paper", "--steps", "100000000", "--time-budget", "0.2s"];
    let output = fit(&data, &run, &extra);
    assert!(output.status.success(), "{}", stderr(&output));
    let description = json(&run.join("run.json"));
    assert_eq!(description["ending"], "time-budget");
    assert!(description["model"]["counters"]["steps"].as_u64().unwrap() >= 1);
    assert!(run.join("edges.csv").exists());
}

#[test]
fn settings_that_cannot_be_compared_in_time_are_not_chosen() {
    let (folder, data) = linear_system();
    let (run, table) = (folder.path().join("run"), data.join("data.csv"));
    let output = Command::new(env!("CARGO_BIN_EXE_driftgraph"))
        .args(["fit", table.to_str().unwrap(), "--out", run.to_str().unwrap()])
        .args(["--time-budget", "1ms"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = format!("{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    assert!(told.contains("the time was too short to compare models"), "{told}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_fit_and_keeps_what_was_learned() {
    let (folder, data) = linear_system();
    let (run, table) = (folder.path().join("run"), data.join("data.csv"));
    let fixed = ["fit", table.to_str().unwrap(), "--out", run.to_str().unwrap()];
    let extra = ["--preset", "paper", "--steps", "100000000"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_driftgraph"))
        .args([&fixed[..], &SMALL, &extra].concat())
        .spawn()
        .unwrap();
    // The log appears once training can be interrupted.
    while !run.join("log.jsonl").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert_eq!(json(&run.join("run.json"))["ending"], "interrupted");
}

#[test]
fn edges_of_one_half_of_the_data_are_warned_of() {
    let mut text = "time,x,y\n".to_owned();
    let (mut x, mut y) = (0.0, 0.0);
    let noise = |row: u64, seed: u64| {
        let mixed = (row * 1000 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / 2_f64.powi(53) - 0.5
    };
    for row in 0..400 {
        let _ = writeln!(text, "{row},{x:.5},{y:.5}");
        let effect = if row < 200 { 0.8 } else { 0.0 };
        (x, y) = (0.7 * x + noise(row, 1), 0.5 * y + effect * x + 0.5 * noise(row, 2));
    }
    let sandbox = Sandbox::with("half.csv", text);
    let told = sandbox.run("fit half.csv --select none --out run");
    let halves: Vec<&str> = told.lines().filter(|line| line.contains("half")).collect();
    assert_snapshot!(halves.join("\n"), @"warning: the halves of the data disagree: `x -> y` in the first half of the rows only; what drives what may have changed, so fit each half by itself before you trust it");
}
