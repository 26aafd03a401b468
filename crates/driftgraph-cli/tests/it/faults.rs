//! What goes wrong around a fit and inside it: full disks, lost folders, numbers that are not finite.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::Sandbox;

fn small_system() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.stdout("generate linear --set variables=4 --series 4 --points 40 --out .");
    sandbox
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Runs the binary where no file may grow beyond some kilobytes, as on a disk that is nearly full.
#[cfg(unix)]
fn on_a_full_disk(sandbox: &Sandbox, line: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_driftgraph");
    // Without the trap the system ends the process at the limit instead of refusing the write.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {binary} {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(sandbox.path("")).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_the_last_good_state_stays() {
    let sandbox = small_system();
    sandbox.stdout("fit data.csv --select none --steps 40 --out run");
    let files = ["model.safetensors", "edges.csv", "run.json", "checkpoint/fit-1.state"];
    let state = || files.map(|name| fs::read(sandbox.path("run").join(name)).unwrap());
    let before = state();
    let line = "fit --resume run --extend-steps 40 --checkpoint-every 1ms";
    let output = on_a_full_disk(&sandbox, line);
    let message = text(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("warning: cannot write a checkpoint into `run`"), "{message}");
    assert!(message.contains("error: cannot write"), "{message}");
    assert!(state() == before);
    // Nothing half written is left behind, and with room again the fit goes on.
    let names = fs::read_dir(sandbox.path("run")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|name| !name.starts_with('.')));
    sandbox.stdout("fit --resume run");
    sandbox.stdout("fit data.csv --select none --steps 80 --out whole");
    let model = |run: &str| fs::read(sandbox.path(run).join("model.safetensors")).unwrap();
    assert!(model("run") == model("whole"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_fit() {
    let sandbox = small_system();
    // Not even the superuser can make a folder there.
    let text = sandbox.run("fit data.csv --out /proc/run");
    assert!(text.contains("exit 2") && text.contains("cannot make `/proc/run`"), "{text}");
}

#[test]
fn a_folder_that_disappears_ends_the_fit_with_a_clear_error() {
    let sandbox = small_system();
    let line = "fit data.csv --select none --steps 100000000 --checkpoint-every 10ms --out run";
    let mut command = sandbox.command(line);
    let fit = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let run = sandbox.path("run");
    while !run.join("checkpoint/fit-1.state").exists() {
        sleep(Duration::from_millis(5));
    }
    // The fit may be writing into the folder at this moment.
    while run.exists() {
        let _ = fs::remove_dir_all(&run);
    }
    let output = fit.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("the run folder `run` is gone"), "{}", text(&output));
}

/// Fits that take gradient steps: a linear drift alone has none.
const POSTERIORS: [&str; 2] = [
    "--select none --ensemble 1 --drift linear-and-neural --steps 60",
    "--preset simulated --hidden-size 8 --steps 60",
];

#[test]
fn steps_that_are_not_finite_are_undone_counted_and_logged() {
    for posterior in POSTERIORS {
        let sandbox = small_system();
        let line =
            format!("fit data.csv --log-every 1 --out run --broken-steps 7,8,30 {posterior}");
        let output = sandbox.output(&line);
        assert!(output.status.success(), "{}", text(&output));
        let message = "warning: 3 steps were not finite and were undone";
        assert!(text(&output).contains(message), "{}", text(&output));
        let log = sandbox.read("run/log.jsonl");
        let lines: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for step in [7, 8, 30] {
            assert_eq!(lines[step]["rolled_back"], "broken on purpose", "{posterior}");
        }
        let rate = |step: usize| {
            let line = &lines[step];
            line["learning_rate"].as_f64().or(line["rate"].as_f64()).unwrap()
        };
        // The simulated posterior logs the rate itself: halved, but for two more steps of warm-up.
        if posterior.contains("simulated") {
            assert!(rate(31) < 0.6 * rate(29), "{} after {}", rate(31), rate(29));
        }
        let run = json(&sandbox.path("run/run.json"));
        let undone = [&run["members"][0]["undone_steps"], &run["counters"]["rollbacks"]];
        assert!(undone.contains(&&serde_json::json!(3)), "{undone:?}");
    }
}

#[test]
fn a_fit_without_finite_steps_stops_with_a_diagnosis_and_the_last_good_model() {
    for posterior in POSTERIORS {
        let sandbox = small_system();
        let broken: Vec<String> = (20..60).map(|step| step.to_string()).collect();
        let broken = broken.join(",");
        let line = format!("fit data.csv --out run --broken-steps {broken} {posterior}");
        let output = sandbox.output(&line);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        let message = text(&output);
        assert!(message.contains("the last good model is in `run`"), "{message}");
        assert!(message.contains("the fit diverged at step"), "{message}");
        assert_eq!(json(&sandbox.path("run/run.json"))["ending"], "diverged");
        let edges = sandbox.read("run/edges.csv");
        assert!(!edges.contains("NaN") && edges.lines().count() == 17, "{edges}");
    }
}

#[test]
fn a_fit_that_never_took_a_step_reports_no_graph() {
    for posterior in POSTERIORS {
        let sandbox = small_system();
        let broken: Vec<String> = (0..60).map(|step| step.to_string()).collect();
        let broken = broken.join(",");
        let line = format!("fit data.csv --out run --broken-steps {broken} {posterior}");
        let text = sandbox.run(&line);
        assert!(text.contains("exit 2") && text.contains("diverged"), "{text}");
        assert!(!sandbox.path("run/run.json").exists() && !sandbox.path("run/edges.csv").exists());
    }
}

/// A table of two variables in which the second follows the first, changed cell by cell.
fn table(n_rows: usize, cell: impl Fn(usize, [f64; 3]) -> [f64; 3]) -> String {
    let mut text = String::from("series,time,a,b\n");
    let mut state = [0.3_f64, -0.2];
    for row in 0..n_rows {
        let wiggle = (1.7 * row as f64).sin();
        state = [0.8 * state[0] + wiggle, 0.6 * state[1] + 0.5 * state[0]];
        let [time, a, b] = cell(row, [row as f64, state[0], state[1]]);
        let _ = writeln!(text, "s{},{time},{a},{b}", row / 20);
    }
    text
}

#[test]
fn odd_data_are_fitted_with_finite_numbers_or_refused_with_a_reason() {
    let odd: [(&str, String); 7] = [
        ("constant column", table(60, |_, [time, a, _]| [time, a, 3.5])),
        ("tiny scale", table(60, |_, [time, a, b]| [time, a * 1e-30, b])),
        ("huge scale", table(60, |_, [time, a, b]| [time, a * 1e30, b])),
        ("late times", table(60, |row, [_, a, b]| [1e9 + 1e-3 * row as f64, a, b])),
        ("identical columns", table(60, |_, [time, a, _]| [time, a, a])),
        ("one row per series", "series,time,a,b\nx,0,1,2\ny,0,2,1\nz,0,3,3\n".to_owned()),
        ("far outlier", table(60, |row, [time, a, b]| [time, if row == 7 { 1e12 } else { a }, b])),
    ];
    for (what, data) in odd {
        for posterior in POSTERIORS {
            let sandbox = Sandbox::with("data.csv", &data);
            let output = sandbox.output(&format!("fit data.csv --out run {posterior}"));
            if output.status.success() {
                let edges = sandbox.read("run/edges.csv");
                assert!(!edges.contains("NaN"), "{what}: {edges}");
                assert_eq!(edges.lines().count(), 5, "{what}: {edges}");
            } else {
                let message = text(&output);
                assert_eq!(output.status.code(), Some(2), "{what}: {message}");
                assert!(message.contains("error: ") && !message.contains("panicked"), "{message}");
                assert!(!sandbox.path("run/run.json").exists() || message.contains("diverged"));
            }
        }
    }
}
