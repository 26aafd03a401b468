//! A fit that is stopped, killed or cut off ends with the bytes of one that was not.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use driftgraph_core::random::{Purpose, RandomStream};

use crate::Sandbox;

/// Kills that the kill test must survive.
const N_KILLS: usize = 100;

/// A folder with data of four variables, small enough to fit in a second.
fn small_system() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.stdout("generate linear --set variables=4 --series 4 --points 40 --out system");
    fs::rename(sandbox.path("system/data.csv"), sandbox.path("data.csv")).unwrap();
    sandbox
}

/// Everything in a run folder that must not depend on how often the fit was stopped.
fn result(run: &Path) -> Vec<Vec<u8>> {
    let read = |name: &str| fs::read(run.join(name)).unwrap();
    let mut files: Vec<Vec<u8>> =
        ["edges.csv", "model.safetensors", "edges.svg", "graph.svg"].map(read).into();
    let mut description: serde_json::Value = serde_json::from_slice(&read("run.json")).unwrap();
    for clock in ["seconds", "threads"] {
        description.as_object_mut().unwrap().remove(clock);
    }
    files.push(description.to_string().into_bytes());
    files
}

fn steps_logged(run: &Path) -> Vec<u64> {
    let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    log.lines().map(|text| line(text)["step"].as_u64().unwrap()).collect()
}

#[test]
fn a_fit_equals_its_first_steps_and_a_hundred_more_on_other_threads() {
    let sandbox = small_system();
    let posteriors = [
        // Rounds, which converge, then sweeps of chains: the last hundred steps are sweeps.
        (400, "--select none"),
        (200, "--select none --instantaneous"),
        // Plain chains, which have ended, then careful ones.
        (600, "--select none --instantaneous --levels"),
        (200, "--select none --ensemble 2 --drift linear-and-neural"),
        (200, "--preset simulated --hidden-size 8 --learning-rate-decay constant"),
    ];
    for (idx, (steps, posterior)) in posteriors.into_iter().enumerate() {
        let (whole, parts, first) = (format!("whole{idx}"), format!("parts{idx}"), steps - 100);
        let results = || (result(&sandbox.path(&whole)), result(&sandbox.path(&parts)));
        let fit = |out: &str, steps: u64, threads: usize| {
            let line = format!("fit data.csv --out {out} --steps {steps} --threads {threads}");
            sandbox.stdout(&format!("{line} {posterior}"));
        };
        fit(&whole, steps, 2);
        fit(&parts, first, 1);
        let (expected, half) = results();
        assert_ne!(expected[1], half[1], "{posterior}");
        sandbox.stdout(&format!("fit --resume {parts} --extend-steps 100 --threads 2"));
        let (expected, found) = results();
        assert!(expected == found, "{posterior}");
        let steps = |name: &String| steps_logged(&sandbox.path(name));
        // The last step is always logged, here that of the first part too.
        let mut found = steps(&parts);
        found.retain(|step| *step != first - 1);
        assert_eq!(steps(&whole), found, "{posterior}");
    }
}

/// Starts or goes on with a fit, and kills it after a while unless it ends first.
fn killed(sandbox: &Sandbox, line: &str, patience: Duration) -> bool {
    let mut child = quiet(sandbox, line);
    sleep(patience);
    if child.try_wait().unwrap().is_some() {
        return false;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

fn quiet(sandbox: &Sandbox, line: &str) -> Child {
    sandbox.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_fit_that_is_killed_a_hundred_times_ends_with_the_same_bytes() {
    let sandbox = small_system();
    let settings = "--steps 120 --ensemble 2 --checkpoint-every 5ms";
    sandbox.stdout(&format!("fit data.csv --out undisturbed {settings}"));
    let expected = result(&sandbox.path("undisturbed"));
    let mut chance = RandomStream::new(7, Purpose::System, 0);
    let (mut n_kills, mut n_fits) = (0, 0);
    while n_kills < N_KILLS {
        n_fits += 1;
        let name = format!("killed{n_fits}");
        let run = sandbox.path(&name);
        let mut n_tries = 0;
        while !run.join("run.json").exists() {
            // Before `job.json` is there, nothing was begun that could go on.
            let line = if run.join("job.json").exists() {
                format!("fit --resume {name}")
            } else {
                format!("fit data.csv --out {name} {settings}")
            };
            // A little longer with every try, so that each fit comes to its end.
            let patience = 250_000.0 * chance.uniform() + 2_000.0 * f64::from(n_tries);
            n_tries += 1;
            n_kills += usize::from(killed(&sandbox, &line, Duration::from_micros(patience as u64)));
        }
        assert!(result(&run) == expected, "after {n_kills} kills");
        let steps = steps_logged(&run);
        assert_eq!(steps, steps_logged(&sandbox.path("undisturbed")), "after {n_kills} kills");
    }
    assert!(n_kills >= N_KILLS);
}

#[test]
fn fits_of_experiments_regimes_and_moving_effects_survive_kills() {
    const KILLS: usize = 8;
    let sandbox = small_system();
    let header = sandbox.read("data.csv").lines().next().unwrap().to_owned();
    let names: Vec<&str> = header.split(',').skip(2).collect();
    let table = format!("variable,kind,from,to\n{},knockout,,1\n{},shift,1,\n", names[0], names[1]);
    sandbox.write("done.csv", table);
    let handled = format!("--inputs {} --interventions done.csv", names[3]);
    let mut chance = RandomStream::new(8, Purpose::System, 0);
    for (idx, flags) in [
        format!("--select none --ensemble 1 --steps 150 {handled}"),
        format!("--regimes 2 --steps 40 {handled}"),
        "--regimes auto --steps 40".to_owned(),
        "--drifting --steps 40".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let settings = format!("{flags} --checkpoint-every 5ms");
        let whole = format!("whole{idx}");
        sandbox.stdout(&format!("fit data.csv --out {whole} {settings} --threads 2"));
        let (mut n_kills, mut n_tries) = (0, 0);
        let name = format!("parts{idx}");
        while !sandbox.path(&name).join("run.json").exists() {
            let line = if sandbox.path(&name).join("job.json").exists() {
                format!("fit --resume {name} --threads 1")
            } else {
                format!("fit data.csv --out {name} {settings} --threads 1")
            };
            let patience = 200_000.0 * chance.uniform() + 20_000.0 * f64::from(n_tries);
            n_tries += 1;
            let patience = if n_kills < KILLS { patience } else { 600_000_000.0 };
            n_kills += usize::from(ends_or_is_killed(&sandbox, &line, patience));
        }
        let files = |run: &str| -> Vec<(String, Vec<u8>)> {
            let all = fs::read_dir(sandbox.path(run)).unwrap().map(|entry| entry.unwrap());
            let kept = |name: &str| {
                [".csv", ".svg", ".safetensors"].iter().any(|ending| name.ends_with(ending))
            };
            let named = all.map(|entry| entry.file_name().into_string().unwrap());
            let mut named: Vec<String> = named.filter(|name| kept(name)).collect();
            named.sort();
            named
                .into_iter()
                .map(|n| (n.clone(), fs::read(sandbox.path(run).join(n)).unwrap()))
                .collect()
        };
        let (expected, found) = (files(&whole), files(&name));
        assert!(expected.len() >= 3, "{flags}");
        assert!(expected == found, "{flags}: after {n_kills} kills");
    }
}

/// Lets a fit end, or kills it after so many microseconds.
fn ends_or_is_killed(sandbox: &Sandbox, line: &str, patience: f64) -> bool {
    let mut child = quiet(sandbox, line);
    let end = std::time::Instant::now() + Duration::from_micros(patience as u64);
    while std::time::Instant::now() < end {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

#[test]
fn an_interrupt_while_settings_are_chosen_loses_nothing() {
    let sandbox = small_system();
    sandbox.stdout("fit data.csv --out whole --steps 300");
    let mut command = sandbox.command("fit data.csv --out parts --steps 300");
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let run = sandbox.path("parts");
    wait_for(&run.join("job.json"));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("nothing is lost") && text.contains("--resume parts"), "{text}");
    sandbox.stdout("fit --resume parts");
    assert!(result(&sandbox.path("whole")) == result(&run));
}

#[test]
fn equations_under_way_end_within_a_round_and_go_on_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    let generated =
        "generate lorenz96 --set variables=8 --series 8 --points 80 --span 0 19.75 --out system";
    sandbox.stdout(generated);
    let fit = "fit system/data.csv --method polynomial --threads 1";
    let whole = Instant::now();
    sandbox.stdout(&format!("{fit} --out whole"));
    let whole = whole.elapsed();
    let ending = |run: &str| {
        let text = sandbox.read(&format!("{run}/run.json"));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["ending"].clone()
    };
    // By the user.
    let child = quiet(&sandbox, &format!("{fit} --out parts"));
    wait_for(&sandbox.path("parts/job.json"));
    sleep(whole / 5);
    interrupt(&child);
    let (told, output) = (Instant::now(), child.wait_with_output().unwrap());
    assert!(told.elapsed() < whole / 2, "{:?} of {whole:?}", told.elapsed());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(ending("parts"), "interrupted");
    assert!(sandbox.read("parts/run.json").contains("stopped before the end"));
    // By the clock.
    let budget = format!("--time-budget {}ms", (whole / 5).as_millis());
    sandbox.stdout(&format!("{fit} --out late {budget}"));
    assert_eq!(ending("late"), "time-budget");
    for run in ["parts", "late"] {
        sandbox.stdout(&format!("fit --resume {run} --threads 2"));
        assert_eq!(ending(run), "finished");
        assert!(result(&sandbox.path("whole")) == result(&sandbox.path(run)), "{run}");
    }
}

fn wait_for(file: &Path) {
    for _ in 0..4000 {
        if file.exists() {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("`{}` did not appear", file.display());
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_second_process_is_refused_while_the_first_fits() {
    let sandbox = small_system();
    let mut first = quiet(&sandbox, "fit data.csv --select none --steps 1000000 --out run");
    wait_for(&sandbox.path("run/log.jsonl"));
    for line in ["fit --resume run", "fit data.csv --force --out run"] {
        let text = sandbox.run(line);
        assert!(text.contains("exit 2") && text.contains("another process is fitting"), "{text}");
    }
    assert!(first.try_wait().unwrap().is_none(), "the first goes on");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn other_data_and_other_settings_are_refused_with_the_difference() {
    let sandbox = small_system();
    sandbox.stdout("fit data.csv --out run --select none --steps 20");
    let text = sandbox.run("fit --resume run --seed 3");
    assert!(text.contains("exit 2") && text.contains("`seed`: 0 against 3"), "{text}");
    let text = sandbox.run("fit --resume run --steps 20");
    assert!(text.contains("exit 2") && text.contains("is finished already"), "{text}");
    let data = sandbox.read("data.csv");
    sandbox.write("data.csv", data.replacen("0.", "1.", 1));
    let text = sandbox.run("fit --resume run --extend-steps 5");
    assert!(text.contains("exit 2") && text.contains("changed"), "{text}");
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_run_stays_as_it_is() {
    let sandbox = small_system();
    sandbox.stdout("fit data.csv --out run --select none --steps 20");
    let run = sandbox.path("run");
    let before = result(&run);
    let state = run.join("checkpoint/fit-1.state");
    let mut bytes = fs::read(&state).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&state, bytes).unwrap();
    let text = sandbox.run("fit --resume run --extend-steps 5");
    assert!(text.contains("exit 2") && text.contains("fit-1.state` is damaged"), "{text}");
    assert!(result(&run) == before);
}

#[test]
fn a_folder_without_a_fit_cannot_be_resumed() {
    let sandbox = Sandbox::new();
    let text = sandbox.run("fit --resume nowhere");
    assert!(
        text.contains("exit 2") && text.contains("no fit to go on with in `nowhere`"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_given_more_steps_is_told_so_and_no_hint_says_otherwise() {
    let sandbox = small_system();
    for (method, settings, has_steps) in
        [("ridge", "", false), ("ngm", "--steps 5 --adaptive=false", true)]
    {
        sandbox.stdout(&format!("fit data.csv --method {method} {settings} --out {method}"));
        let ended = sandbox.run(&format!("fit --resume {method}"));
        assert!(ended.contains("is finished already"), "{ended}");
        assert!(!ended.contains("--extend-steps"), "{ended}");
        let refused = sandbox.run(&format!("fit --resume {method} --extend-steps 3"));
        let words = format!("a fit of `{method}` cannot be given more steps");
        assert!(refused.contains("exit 2") && refused.contains(&words), "{refused}");
        assert_eq!(refused.contains("fit anew with a larger `--steps`"), has_steps, "{refused}");
    }
    sandbox.stdout("fit data.csv --out run --select none --steps 20");
    assert!(sandbox.run("fit --resume run").contains("--extend-steps"));
}
