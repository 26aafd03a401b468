//! Sweeps: shards that several workers make, killed, damaged, out of room and out of step, and always the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::Sandbox;

const PLAN: &str = "data = [\"data.csv\"]\nmethods = [\"ridge\", \"bridge\"]\nseeds = [0, 1]\n\
                    bootstrap = 3\n\n[bridge]\nselect = \"none\"\nensemble = 1\nsteps = 40\n";
/// A plan whose shards take long enough to be killed in: node functions are trained, not solved.
const SLOW_PLAN: &str = "data = [\"data.csv\"]\nmethods = [\"simulated\"]\nbootstrap = 4\n\n\
                         [simulated]\nsteps = 400\nhidden_size = 16\n";

pub(crate) fn planned(plan: &str) -> Sandbox {
    let sandbox = Sandbox::with("plan.toml", plan);
    sandbox.stdout("generate linear --set variables=4 --series 12 --points 20 --out .");
    sandbox.stdout("sweep plan plan.toml --out sweep");
    sandbox
}

/// All files of a folder with their bytes.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap())).collect()
}

/// The merged files of a sweep.
fn merged(sandbox: &Sandbox, sweep: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    sandbox.stdout(&format!("sweep merge {sweep} --out {sweep}-merged"));
    files(&sandbox.path(&format!("{sweep}-merged")))
}

/// What one process alone makes of the same plan.
pub(crate) fn serial(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    sandbox.stdout("sweep plan plan.toml --out serial");
    sandbox.stdout("sweep run serial --threads 1");
    merged(sandbox, "serial")
}

fn start(sandbox: &Sandbox, line: &str) -> Child {
    sandbox.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a folder of the sweep has this many entries.
fn wait_for(sandbox: &Sandbox, folder: &str, n: usize) {
    while fs::read_dir(sandbox.path(folder)).unwrap().count() < n {
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_plan_becomes_shards_that_are_made_once_and_merged() {
    let sandbox = planned(PLAN);
    let state = sandbox.run("sweep status sweep --json");
    assert!(state.starts_with("exit 1") && state.contains("\"shards\": 12"), "{state}");
    sandbox.stdout("sweep run sweep");
    let state = sandbox.json("sweep status sweep --json");
    assert_eq!((&state["done"], &state["complete"]), (&12.into(), &true.into()));
    let first = merged(&sandbox, "sweep");
    let names: Vec<&str> = first.keys().map(|name| name.to_str().unwrap()).collect();
    let wanted = ["edges-1-data-ridge.csv", "edges-2-data-bridge.csv", "groups.csv", "merged.json"];
    assert_eq!(names[..4], wanted);
    assert_eq!(names[4..], ["report.html", "shards.csv"]);
    // More samples: what is there stays.
    sandbox.write("plan.toml", PLAN.replace("bootstrap = 3", "bootstrap = 4"));
    sandbox.stdout("sweep plan plan.toml --out sweep");
    let state = sandbox.run("sweep status sweep");
    assert!(state.contains("12 of 16 shards done"), "{state}");
    let scored = sandbox.stdout("score sweep-merged/edges-2-data-bridge.csv --truth truth.csv");
    assert!(scored.contains("AUROC"), "{scored}");
}

#[test]
fn what_no_seed_changes_is_made_once() {
    let sandbox = planned("data = [\"data.csv\"]\nmethods = [\"ridge\"]\nseeds = [0, 1, 2]\n");
    let state = sandbox.run("sweep status sweep");
    assert!(state.contains("0 of 1 shard done"), "{state}");
}

#[test]
fn an_incomplete_sweep_is_not_merged_unless_told_and_what_is_missing_is_named() {
    let sandbox = planned(PLAN);
    sandbox.stdout("sweep run sweep --shard 1/2 --threads 1");
    let text = sandbox.run("sweep merge sweep --out merged");
    assert!(text.contains("exit 2") && text.contains("6 of 12 shards are missing"), "{text}");
    assert!(text.contains("`data` by ridge, seed 0, sample 2"), "{text}");
    assert!(!sandbox.path("merged").exists());
    let text = sandbox.run("sweep merge sweep --out merged --partial");
    assert!(text.contains("exit 0") && text.contains("6 shards are missing"), "{text}");
    // The other half completes it, to what one worker alone would have made.
    sandbox.stdout("sweep run sweep --shard 2/2");
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
}

#[cfg(unix)]
#[test]
fn the_shards_of_a_killed_worker_are_taken_over_and_the_result_is_the_same() {
    let sandbox = planned(SLOW_PLAN);
    let mut killed = start(&sandbox, "sweep run sweep --threads 2");
    wait_for(&sandbox, "sweep/claims", 1);
    // SIGKILL: nothing is cleaned up.
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(fs::read_dir(sandbox.path("sweep/claims")).unwrap().count() >= 1);
    sandbox.stdout("sweep run sweep --threads 2 --expire 2s");
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
    assert_eq!(fs::read_dir(sandbox.path("sweep/claims")).unwrap().count(), 0);
}

#[test]
fn workers_that_start_together_share_the_shards_and_wait_for_nobody() {
    let sandbox = planned(PLAN);
    let mut workers: Vec<Child> =
        (0..4).map(|_| start(&sandbox, "sweep run sweep --threads 1 --expire 30s")).collect();
    assert!(workers.iter_mut().all(|worker| worker.wait().unwrap().success()));
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
    let journals = fs::read_dir(sandbox.path("sweep/workers")).unwrap();
    let lines = journals.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let made: usize = lines.map(|text| text.lines().count()).sum();
    assert_eq!(made, 12, "every shard was made by one worker alone");
}

#[test]
fn two_workers_on_one_shard_write_the_same_bytes() {
    let sandbox = planned(SLOW_PLAN);
    let mut first = start(&sandbox, "sweep run sweep --shard 1/4 --threads 1");
    wait_for(&sandbox, "sweep/claims", 1);
    // As if the first had been taken for dead, wrongly: its claim is gone, and somebody else begins.
    for name in files(&sandbox.path("sweep/claims")).keys() {
        fs::remove_file(sandbox.path("sweep/claims").join(name)).unwrap();
    }
    let mut second = start(&sandbox, "sweep run sweep --shard 1/4 --threads 1");
    assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
    sandbox.stdout("sweep run sweep");
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
}

#[test]
fn a_damaged_shard_is_found_by_its_hash_and_made_again() {
    let sandbox = planned(PLAN);
    sandbox.stdout("sweep run sweep");
    let shards = sandbox.path("sweep/shards");
    let before = files(&shards);
    let name = before.keys().next().unwrap();
    for damage in [0, before[name].len() / 2, before[name].len() - 1] {
        let mut bytes = before[name].clone();
        bytes[damage] ^= 1;
        fs::write(shards.join(name), &bytes).unwrap();
        let text = sandbox.run("sweep merge sweep --out merged");
        assert!(
            text.contains("1 of 12 shards are missing") && text.contains("(damaged)"),
            "{text}"
        );
        let text = sandbox.run("sweep run sweep");
        assert!(text.contains("1 shard did not match their hash"), "{text}");
        assert!(text.contains("made 1 shard"), "{text}");
        assert!(files(&shards) == before);
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_a_worker_with_an_error_and_nothing_half_written() {
    let sandbox =
        Sandbox::with("plan.toml", "data = [\"data.csv\"]\nmethods = [\"ridge\"]\nbootstrap = 4\n");
    // Results of 40 variables do not fit into what is left.
    sandbox.stdout("generate linear --set variables=40 --series 12 --points 20 --out .");
    sandbox.stdout("sweep plan plan.toml --out sweep");
    let binary = env!("CARGO_BIN_EXE_driftgraph");
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {binary} sweep run sweep --threads 1");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script]).current_dir(sandbox.path("")).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("error: cannot write `sweep/shards/"), "{message}");
    assert!(files(&sandbox.path("sweep/shards")).is_empty());
    assert!(files(&sandbox.path("sweep/claims")).is_empty());
    // With room again it goes on.
    sandbox.stdout("sweep run sweep");
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
}

#[test]
fn a_worker_of_another_version_is_refused() {
    let sandbox = planned(PLAN);
    let file = sandbox.read("sweep/sweep.json");
    let own = env!("CARGO_PKG_VERSION");
    let other = file.replace(&format!("\"driftgraph\": \"{own}\""), "\"driftgraph\": \"0.0.9\"");
    assert_ne!(file, other);
    sandbox.write("sweep/sweep.json", other);
    for command in ["run sweep", "status sweep", "merge sweep --out merged"] {
        let text = sandbox.run(&format!("sweep {command}"));
        assert!(text.contains("exit 2"), "{text}");
        let told = format!("planned by driftgraph 0.0.9, this is {own}");
        assert!(text.contains(&told) && text.contains("hint: "), "{text}");
    }
}

/// Where `cargo xtask test` unpacks the library that makes a process see another time.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn faketime() -> Option<String> {
    let found = std::env::var("DRIFTGRAPH_FAKETIME").ok().filter(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("SKIPPED: DRIFTGRAPH_FAKETIME does not name libfaketime.so.1");
    }
    found
}

#[cfg(unix)]
#[test]
fn clocks_that_are_an_hour_apart_do_no_harm() {
    let Some(library) = faketime() else { return };
    let sandbox = planned(SLOW_PLAN);
    let skewed = |skew: &str| {
        let mut command = sandbox.command("sweep run sweep --threads 1 --expire 30s");
        command
            .env("LD_PRELOAD", &library)
            .env("FAKETIME", skew)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut workers = ["-1h", "+1h"].map(skewed);
    assert!(workers.iter_mut().all(|worker| worker.wait().unwrap().success()));
    let journals = fs::read_dir(sandbox.path("sweep/workers")).unwrap();
    let made: Vec<usize> = journals
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap().lines().count())
        .collect();
    assert_eq!(made.iter().sum::<usize>(), 4, "nobody took a shard from a worker that was alive");
    // Whoever is dead is taken over, whatever time it thought it was.
    let sandbox = planned(SLOW_PLAN);
    for skew in ["-1h", "+1h"] {
        let mut command = sandbox.command("sweep run sweep --threads 1");
        command
            .env("LD_PRELOAD", &library)
            .env("FAKETIME", skew)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let held = fs::read_dir(sandbox.path("sweep/claims")).unwrap().count();
        wait_for(&sandbox, "sweep/claims", held + 1);
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    sandbox.stdout("sweep run sweep --expire 2s");
    assert!(merged(&sandbox, "sweep") == serial(&sandbox));
}

#[test]
fn a_script_for_slurm_needs_to_know_how_long_a_shard_takes() {
    let sandbox = planned(PLAN);
    let text = sandbox.run("sweep slurm sweep --hours 4");
    assert!(text.contains("exit 2") && text.contains("--shard 1/12"), "{text}");
    let script = sandbox.stdout("sweep slurm sweep --hours 4 --account lab --shard-seconds 600");
    // Twelve shards of ten minutes are two hours: four tasks of half an hour.
    assert!(script.contains("#SBATCH --array=1-4\n#SBATCH --time=04:00:00\n"), "{script}");
    assert!(script.contains("#SBATCH --account=lab\n"), "{script}");
    let text = sandbox.run("sweep slurm sweep --hours 1 --shard-seconds 7200");
    assert!(text.contains("exit 2") && text.contains("120 minutes"), "{text}");
    sandbox.stdout("sweep run sweep --shard 1/12 --threads 1");
    assert!(sandbox.stdout("sweep slurm sweep --hours 4").contains("#SBATCH --array=1-1\n"));
}
