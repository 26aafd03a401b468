//! What a fit costs from Python, beside the binary on the same job.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::bench::{keep_result, show_on_page};
use crate::bench_step::{cpu_model, date, result, text_of};
use crate::python::release_environment;
use crate::shell::{cargo, root, run as run_program, say, target_dir};

/// How much longer than the binary a fit may take.
const MOST_OVERHEAD: f64 = 0.05;

/// Measures both, keeps and shows the result, then compares it with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let build = ["build", "--release", "--package", "driftgraph-cli"];
    run_program("building the binary", &mut cargo(&build))?;
    let python = release_environment()?;
    say("fitting in turns");
    let mut command = Command::new(python);
    command.arg(root().join("benches/fit_overhead.py"));
    let measured = result(command.arg(target_dir().join("release/driftgraph")))?;
    let number = |name: &str| {
        measured[name].as_f64().with_context(|| format!("no number `{name}` in the answer"))
    };
    let (ours, binary) = (number("python_cpu_seconds")?, number("binary_cpu_seconds")?);
    let overhead = ours / binary - 1.0;
    let table = format!(
        "| 40 genes, 20 series, two fits of 800 steps, report | from Python | binary | difference |\n\
         | --- | ---: | ---: | ---: |\n\
         | CPU seconds | {ours:.2} | {binary:.2} | {:+.1} % |\n\
         | seconds on two threads | {:.2} | {:.2} | |\n",
        100.0 * overhead,
        number("python_wall_seconds")?,
        number("binary_wall_seconds")?,
    );
    table.lines().for_each(say);
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let line = json!({
        "date": date(),
        "cpu": cpu,
        "rustc": rustc,
        "commit": text_of("git", &["describe", "--always", "--dirty"])?,
        "measured": measured,
        "overhead": overhead,
    });
    keep_result(&root().join("benches/results/python.jsonl"), &line)?;
    let measured =
        format!("Measured {} on {cpu}, {rustc}; the fastest of three runs each.", date());
    show_on_page("python", &format!("{table}\n{measured}"))?;
    ensure!(overhead <= MOST_OVERHEAD, "{:.1} % slower than the binary", 100.0 * overhead);
    Ok(())
}
