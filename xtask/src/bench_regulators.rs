//! A fit of few known regulators and many genes: time and memory go with sources times targets.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use serde_json::json;

use crate::bench_bridge::Findings;
use crate::bench_bridge_large::{program, watch};
use crate::bench_step::{cpu_model, date, text_of};
use crate::shell::{cargo, root, run as run_program, say};

/// Networks of genes: all of them, and those that regulate others.
const SIZES: [[usize; 2]; 3] = [[1250, 200], [2500, 200], [5000, 200]];
/// Series and times of each.
const SERIES: &str = "20";
const POINTS: &str = "20";
/// What we promise of the largest: minutes of two cores, and gigabytes.
const MOST_MINUTES: f64 = 10.0;
const MOST_GIGABYTES: f64 = 4.0;
/// Time and memory of twice the targets, as a multiple: with the square it would be four.
const MOST_GROWTH: f64 = 3.0;

/// Generates, fits and measures, then compares with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let build = ["build", "--release", "-p", "driftgraph-cli"];
    run_program("building driftgraph", &mut cargo(&build))?;
    let mut findings = Findings::default();
    findings.show(
        "| genes x regulators, 20 series x 20 times | minutes | CPU minutes | peak memory | AUROC among the pairs that may be |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    let mut last: Option<[f64; 2]> = None;
    for [genes, regulators] in SIZES {
        let used = measure(genes, regulators)?;
        let Use { minutes, cpu_minutes, gigabytes, auroc } = used;
        findings.show(&format!(
            "| {genes} x {regulators} | {minutes:.1} | {cpu_minutes:.1} | {gigabytes:.2} GB | {auroc:.3} |\n"
        ));
        findings.kept.insert(
            format!("{genes}"),
            json!({"minutes": minutes, "cpu_minutes": cpu_minutes, "gigabytes": gigabytes, "auroc": auroc}),
        );
        if let Some([cpu_before, memory_before]) = last {
            let growth = (cpu_minutes / cpu_before).max(gigabytes / memory_before);
            let miss =
                format!("{genes} genes cost {growth:.1} times half as many, above {MOST_GROWTH}");
            findings.promise(growth <= MOST_GROWTH, miss);
        }
        last = Some([cpu_minutes, gigabytes]);
        let miss = format!(
            "{genes} genes: {cpu_minutes:.1} CPU minutes, above {MOST_MINUTES} of two cores"
        );
        findings.promise(cpu_minutes <= 2.0 * MOST_MINUTES, miss);
        let miss = format!("{genes} genes: {gigabytes:.1} GB, above {MOST_GIGABYTES}");
        findings.promise(gigabytes <= MOST_GIGABYTES, miss);
    }
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    findings.finish("regulators", &format!("Measured {} on two threads of {cpu}, {rustc}.", date()))
}

/// What a fit used, and how well it ranks.
struct Use {
    minutes: f64,
    cpu_minutes: f64,
    gigabytes: f64,
    auroc: f64,
}

fn measure(genes: usize, regulators: usize) -> anyhow::Result<Use> {
    let folder = root().join(format!("target/bench-regulators/{genes}"));
    let (data, run, list) = (folder.join("data.csv"), folder.join("run"), folder.join("sources"));
    let truth = folder.join("truth.csv");
    if !data.is_file() {
        let mut generate = Command::new(program());
        generate.args(["generate", "gene-network", "--series", SERIES, "--points", POINTS]);
        generate.args(["--set", &format!("variables={genes}")]);
        generate.args(["--set", &format!("regulators={regulators}")]);
        generate.args(["--noise", "0.05", "--seed", "1001", "--out"]).arg(&folder);
        run_program(&format!("generating {genes} genes"), &mut generate)?;
    }
    let true_edges = edges_of(&truth)?;
    let names: BTreeSet<&str> = true_edges.iter().map(|(source, _)| source.as_str()).collect();
    std::fs::write(&list, names.into_iter().collect::<Vec<_>>().join("\n"))?;
    say(&format!("fitting {genes} genes"));
    let mut command = Command::new(program());
    command.arg("fit").arg(&data).arg("--sources").arg(&list).arg("--out").arg(&run);
    let start = Instant::now();
    let mut child = command.args(["--threads", "2", "--force"]).spawn()?;
    let (cpu_seconds, gigabytes) = watch(&mut child)?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let auroc = auroc(&edges_of(&run.join("edges.csv"))?, &true_edges);
    Ok(Use { minutes, cpu_minutes: cpu_seconds / 60.0, gigabytes, auroc })
}

/// Source and target of every line between different variables, in file order.
fn edges_of(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let pair = |line: &str| {
        let mut words = line.split(',');
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    Ok(text.lines().skip(1).filter_map(pair).filter(|(a, b)| a != b).collect())
}

/// Share of pairs of a true and an absent edge that a list, best first, has in the right order.
fn auroc(ranked: &[(String, String)], truth: &[(String, String)]) -> f64 {
    let truth: BTreeSet<&(String, String)> = truth.iter().collect();
    let (mut seen, mut right, mut absent) = (0.0, 0.0, 0.0);
    for edge in ranked {
        if truth.contains(edge) {
            seen += 1.0;
        } else {
            right += seen;
            absent += 1.0;
        }
    }
    right / (seen * absent)
}

#[cfg(test)]
mod tests {
    use super::auroc;

    #[test]
    fn the_order_of_a_list_is_judged() {
        let edge = |name: &str| (name.to_owned(), "t".to_owned());
        let ranked = ["a", "b", "c", "d"].map(edge);
        assert_eq!(auroc(&ranked, &[edge("a"), edge("b")]), 1.0);
        assert_eq!(auroc(&ranked, &[edge("a"), edge("c")]), 0.75);
    }
}
