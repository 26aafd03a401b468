//! How long equations of Lorenz-96 take to be found from coarse rows.

use std::process::Command;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::bench_bridge::Findings;
use crate::bench_step::{cpu_model, date, least, number, result, text_of};
use crate::shell::{cargo, run as run_program, say, target_dir};

/// Runs; the fastest counts, since other work only slows.
const N_ROUNDS: usize = 3;

/// A gap between rows and the CPU seconds we promise for it.
const CASES: [(&str, f64, f64); 2] = [("quarter", 0.25, 3.0), ("half", 0.5, 6.0)];

/// Measures both gaps, keeps and shows the result, then compares it with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let build = ["build", "--release", "-p", "driftgraph-core", "--example", "polynomial"];
    run_program("building polynomial", &mut cargo(&build))?;
    let mut rounds: Vec<Value> = Vec::new();
    for round in 1..=N_ROUNDS {
        say(&format!("round {round} of {N_ROUNDS}"));
        rounds.push(result(&mut ours())?);
    }
    let mut findings = Findings::default();
    findings.show(
        "| Lorenz-96, 10 variables, 10 series x 100 rows | CPU seconds | promised | kept | true edges found | false claims |\n\
         | --- | ---: | ---: | --- | ---: | ---: |\n",
    );
    for (name, gap, most) in CASES {
        let seconds = least(&rounds, name)?;
        let of_graph = |what: &str| number(&rounds[0], &format!("{name}_{what}"));
        let (found, edges, wrong) = (of_graph("found")?, of_graph("edges")?, of_graph("false")?);
        ensure!(
            found >= edges && wrong == 0.0,
            "gap {gap}: the graph that was found is not the true one"
        );
        let kept = if seconds <= most { "yes" } else { "no" };
        findings.show(&format!(
            "| gap {gap} | {seconds:.1} | {most} | {kept} | {found:.0} of {edges:.0} | {wrong:.0} |\n"
        ));
        findings.kept.insert(name.into(), json!({ "cpu_seconds": seconds }));
        let miss = format!("gap {gap}: {seconds:.1} CPU seconds, above {most}");
        findings.promise(seconds <= most, miss);
    }
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    findings.finish("equations", &format!("Measured {} on one thread of {cpu}, {rustc}.", date()))
}

fn ours() -> Command {
    let mut command = Command::new(target_dir().join("release/examples/polynomial"));
    command.arg("speed");
    command
}
