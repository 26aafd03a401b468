//! Two whole fits that take minutes: very many variables, and one very long series.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::bench_bridge::Findings;
use crate::bench_step::{cpu_model, date, text_of};
use crate::shell::{cargo, root, run as run_program, say, target_dir};

/// A data set, how it is fitted, and what we promise of that.
struct Fit {
    name: &'static str,
    shape: &'static str,
    generate: &'static [&'static str],
    options: &'static [&'static str],
    most_minutes: f64,
    most_gigabytes: Option<f64>,
}

const FITS: [Fit; 2] = [
    Fit {
        name: "variables",
        shape: "1,000 variables, 100 series x 100 points, `--select none --ensemble 1`",
        generate: &["--set", "variables=1000", "--series", "100", "--points", "100"],
        options: &["--select", "none", "--ensemble", "1"],
        most_minutes: 10.0,
        most_gigabytes: Some(4.0),
    },
    Fit {
        name: "points",
        shape: "10 variables, one series of 1,000,000 points, all defaults",
        generate: &["--series", "1", "--points", "1000000", "--span", "0", "100000"],
        options: &[],
        most_minutes: 5.0,
        most_gigabytes: None,
    },
];

/// What a fit used.
struct Use {
    minutes: f64,
    cpu_minutes: f64,
    gigabytes: f64,
    /// Steps of every final fit.
    steps: Vec<u64>,
}

/// Generates, fits and measures both, then compares with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let build = ["build", "--release", "-p", "driftgraph-cli"];
    run_program("building driftgraph", &mut cargo(&build))?;
    let mut findings = Findings::default();
    findings.show(
        "| whole fit on two threads | minutes | CPU minutes | peak memory | training steps | CPU ms per step |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for fit in &FITS {
        let found = measure(fit)?;
        let steps: u64 = found.steps.iter().sum();
        let per_step = found.cpu_minutes * 60e3 / steps.max(1) as f64;
        // With a selection the fits of its folds also count, and their steps are not listed.
        let per_step =
            if fit.options.is_empty() { String::new() } else { format!("{per_step:.0}") };
        let listed: Vec<String> = found.steps.iter().map(u64::to_string).collect();
        let (minutes, gigabytes) = (found.minutes, found.gigabytes);
        findings.show(&format!(
            "| {} | {minutes:.1} | {:.1} | {gigabytes:.2} GB | {} | {per_step} |\n",
            fit.shape,
            found.cpu_minutes,
            listed.join(", "),
        ));
        let entry = json!({
            "minutes": minutes,
            "cpu_minutes": found.cpu_minutes,
            "gigabytes": gigabytes,
            "steps": found.steps,
        });
        findings.kept.insert(fit.name.into(), entry);
        // On a machine that does other work too, the clock tells about that work; CPU time of both threads
        // together is never less than the time on a quiet one.
        let (used, most) = (found.cpu_minutes, fit.most_minutes);
        let miss = format!("{}: {used:.1} CPU minutes, above {most}", fit.name);
        findings.promise(used <= most, miss);
        if let Some(most) = fit.most_gigabytes {
            let miss = format!("{}: {gigabytes:.1} GB, above {most}", fit.name);
            findings.promise(gigabytes <= most, miss);
        }
    }
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    findings.finish("bridge-large", &format!("Measured {} on {cpu}, {rustc}.", date()))
}

fn measure(fit: &Fit) -> anyhow::Result<Use> {
    let folder = root().join("target/bench-bridge").join(fit.name);
    let (data, run) = (folder.join("data.csv"), folder.join("run"));
    if !data.is_file() {
        let mut generate = Command::new(program());
        generate.args(["generate", "linear"]).args(fit.generate).arg("--out").arg(&folder);
        run_program(&format!("generating {}", fit.name), &mut generate)?;
    }
    say(&format!("fitting {}: {}", fit.name, fit.shape));
    let mut command = Command::new(program());
    command.arg("fit").arg(&data).arg("--out").arg(&run).args(["--threads", "2", "--force"]);
    let start = Instant::now();
    let mut child = command.args(fit.options).spawn().context("cannot start driftgraph")?;
    let (cpu_seconds, gigabytes) = watch(&mut child)?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    Ok(Use { minutes, cpu_minutes: cpu_seconds / 60.0, gigabytes, steps: steps_of(&run)? })
}

/// CPU seconds and peak memory of a process, read until it ends.
pub(crate) fn watch(child: &mut Child) -> anyhow::Result<(f64, f64)> {
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut cpu_seconds, mut gigabytes) = (0.0_f64, 0.0_f64);
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "the fit failed ({status})");
            return Ok((cpu_seconds, gigabytes));
        }
        cpu_seconds = cpu_seconds.max(cpu_seconds_of(&folder).unwrap_or(0.0));
        gigabytes = gigabytes.max(peak_gigabytes_of(&folder).unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// User and system time, which the kernel counts in hundredths of a second.
fn cpu_seconds_of(folder: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(folder.join("stat")).ok()?;
    let (_, after_name) = text.rsplit_once(") ")?;
    let ticks = after_name.split_whitespace().skip(11).take(2);
    Some(ticks.filter_map(|word| word.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

fn peak_gigabytes_of(folder: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(folder.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024e-9)
}

/// Training steps of the members of a run.
fn steps_of(run: &Path) -> anyhow::Result<Vec<u64>> {
    let text = std::fs::read_to_string(run.join("run.json"))?;
    let value: Value = serde_json::from_str(&text)?;
    let members = value["members"].as_array().context("no members in run.json")?;
    Ok(members.iter().filter_map(|member| member["steps"].as_u64()).collect())
}

pub(crate) fn program() -> PathBuf {
    target_dir().join("release/driftgraph")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_of_a_process_are_read() {
        let own = Path::new("/proc/self");
        // A program that runs tests has a few megabytes and has not run for a day.
        let gigabytes = peak_gigabytes_of(own).unwrap();
        assert!((1e-3..100.0).contains(&gigabytes), "{gigabytes}");
        let seconds = cpu_seconds_of(own).unwrap();
        assert!((0.0..86_400.0).contains(&seconds), "{seconds}");
    }
}
