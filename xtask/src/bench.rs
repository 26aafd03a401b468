//! Benchmarks against other programs, and the page that shows their results.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::Subcommand;

use crate::shell::root;
use crate::{
    bench_bridge, bench_equations, bench_load, bench_methods, bench_python, bench_regulators,
    bench_simulate, bench_step, bench_sweep,
};

/// What can be measured.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Benchmark {
    /// One training step of the published model, beside PyTorch (a large download at first use)
    Step,
    /// Loading a large table, beside pandas
    Load,
    /// Training of the bridge posterior, beside PyTorch (a large download at first use)
    Bridge {
        /// Only the two whole fits that take minutes: 1,000 variables, and a million points
        #[arg(long)]
        large: bool,
    },
    /// Paths of a fitted neural model, beside PyTorch (a large download at first use)
    Simulate,
    /// A fit from Python, beside the binary
    Python,
    /// Many shards on two processes against ideal, and claims from a folder of 100,000 shards
    Sweep,
    /// Few regulators of many genes: time and memory go with sources times targets
    Regulators,
    /// Methods of others, beside their references where these can be installed
    Methods,
    /// Equations of Lorenz-96 from coarse rows
    Equations,
}

/// Runs a benchmark; fails if it misses what we promise.
pub(crate) fn run(benchmark: Benchmark) -> anyhow::Result<()> {
    match benchmark {
        Benchmark::Step => bench_step::run(),
        Benchmark::Load => bench_load::run(),
        Benchmark::Bridge { large } => bench_bridge::run(large),
        Benchmark::Simulate => bench_simulate::run(),
        Benchmark::Python => bench_python::run(),
        Benchmark::Sweep => bench_sweep::run(),
        Benchmark::Regulators => bench_regulators::run(),
        Benchmark::Methods => bench_methods::run(),
        Benchmark::Equations => bench_equations::run(),
    }
}

/// Replaces what `docs/speed.md` has between the markers of `section`.
pub(crate) fn show_on_page(section: &str, text: &str) -> anyhow::Result<()> {
    let path = root().join("docs/speed.md");
    let page =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(&path, with_section(&page, section, text)?)?;
    Ok(())
}

fn with_section(page: &str, section: &str, text: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- {section}:begin -->"), format!("<!-- {section}:end -->"));
    let (before, rest) = page.split_once(&begin).with_context(|| format!("no `{begin}`"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("no `{end}`"))?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", text.trim_end()))
}

/// Adds one line to the dated results of a benchmark.
pub(crate) fn keep_result(file: &Path, line: &serde_json::Value) -> anyhow::Result<()> {
    let earlier = if file.exists() { fs::read_to_string(file)? } else { String::new() };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, format!("{earlier}{line}\n"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_section_is_replaced() {
        let page =
            "# Speed\n<!-- a:begin -->\nold\n<!-- a:end -->\n<!-- b:begin --><!-- b:end -->\n";
        let new = with_section(page, "a", "new\n").unwrap();
        assert_eq!(
            new,
            "# Speed\n<!-- a:begin -->\nnew\n<!-- a:end -->\n<!-- b:begin --><!-- b:end -->\n"
        );
        assert_eq!(with_section(&new, "a", "new").unwrap(), new);
        assert!(with_section(page, "c", "new").is_err());
    }
}
