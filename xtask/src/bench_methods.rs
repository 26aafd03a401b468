//! How fast the methods of others are here, beside their references in the same run or as they were timed before.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::bench::{keep_result, show_on_page};
use crate::bench_step::{cpu_model, date, number, python_with_torch, result, text_of};
use crate::shell::{cargo, root, run as run_program, say, succeeds, target_dir};

/// Most memory of a method on 100 variables and 1,000 rows.
const MOST_MEGABYTES: f64 = 500.0;
/// "Seconds": what a method may take there.
const MOST_SECONDS: f64 = 20.0;

/// A method that is timed beside its reference in the same run.
struct Pair {
    name: &'static str,
    what: &'static str,
    n_variables: u32,
    reference: &'static str,
    least_ratio: f64,
    /// Largest difference of scores where both compute the same; `None` where chance decides.
    agreement: Option<f64>,
}

const PAIRS: [Pair; 6] = [
    Pair {
        name: "varlingam",
        what: "`varlingam`, one lag, not pruned",
        n_variables: 15,
        reference: "lingam",
        least_ratio: 20.0,
        agreement: Some(1e-6),
    },
    Pair {
        name: "varlingam-50",
        what: "`varlingam`, one lag, not pruned",
        n_variables: 50,
        reference: "lingam",
        least_ratio: 20.0,
        agreement: Some(1e-6),
    },
    Pair {
        name: "varlingam-pruned",
        what: "`varlingam`, two lags, pruned",
        n_variables: 15,
        reference: "lingam",
        least_ratio: 20.0,
        agreement: Some(1e-6),
    },
    Pair {
        name: "pcmci",
        what: "`pcmci`, two lags, level chosen",
        n_variables: 15,
        reference: "tigramite",
        least_ratio: 20.0,
        agreement: Some(1e-6),
    },
    Pair {
        name: "pcmci-plus",
        what: "`pcmci-plus`, two lags, level chosen",
        n_variables: 15,
        reference: "tigramite",
        least_ratio: 20.0,
        agreement: Some(1e-6),
    },
    Pair {
        name: "dyngenie3",
        what: "`dyngenie3`, 100 trees per target",
        n_variables: 15,
        reference: "scikit-learn",
        least_ratio: 3.0,
        agreement: None,
    },
];

/// A step of training whose reference cannot be installed: it was timed on data of this shape, on another, busy machine.
struct Timed {
    name: &'static str,
    what: &'static str,
    reference_seconds: f64,
    least_ratio: f64,
}

const STEPS: [Timed; 4] = [
    Timed { name: "ngm", what: "`ngm`, step", reference_seconds: 0.8, least_ratio: 5.0 },
    // 65 seconds for 100 epochs.
    Timed { name: "cuts", what: "`cuts`, epoch", reference_seconds: 0.65, least_ratio: 5.0 },
    Timed { name: "rhino", what: "`rhino`, step", reference_seconds: 0.028, least_ratio: 5.0 },
    Timed {
        name: "rhino-noinst",
        what: "`rhino-noinst`, step",
        reference_seconds: 0.025,
        least_ratio: 5.0,
    },
];

const LARGE: [(&str, &str); 2] =
    [("varlingam-100", "`varlingam`, one lag"), ("pcmci-100", "`pcmci`, one lag")];

/// Measures all, keeps and shows the results, then compares them with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    run_program(
        "building the program",
        &mut cargo(&["build", "--release", "--bin", "driftgraph"]),
    )?;
    let python = python_with_references()?;
    let target = target_dir();
    say("timing methods and references in turns; minutes");
    let mut command = Command::new(python);
    command.arg(root().join("benches/methods.py")).arg(target.join("release/driftgraph"));
    let measured = result(command.arg(target.join("bench-methods")))?;
    let table = table(&measured)?;
    table.lines().for_each(say);
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let line = json!({
        "date": date(),
        "cpu": cpu,
        "rustc": rustc,
        "commit": text_of("git", &["describe", "--always", "--dirty"])?,
        "measured": measured,
    });
    keep_result(&root().join("benches/results/methods.jsonl"), &line)?;
    show_on_page("methods", &format!("{table}\n{}", circumstances(&measured, &cpu, &rustc)))?;
    let misses = misses(&measured)?;
    ensure!(misses.is_empty(), "{}", misses.join("; "));
    Ok(())
}

/// The Python with PyTorch, and with the references that can be had.
fn python_with_references() -> anyhow::Result<PathBuf> {
    let python = python_with_torch()?;
    for package in ["scikit-learn", "lingam", "tigramite", "numba", "torchdiffeq"] {
        let module = if package == "scikit-learn" { "sklearn" } else { package };
        if !succeeds(Command::new(&python).args(["-c", &format!("import {module}")])) {
            let mut install = Command::new(&python);
            let install = install.args(["-m", "pip", "install", "-q", package]);
            if let Err(error) = run_program(&format!("installing {package}"), install) {
                say(&format!("{error}: nothing to compare with"));
            }
        }
    }
    Ok(python)
}

fn table(measured: &Value) -> anyhow::Result<String> {
    let mut text = "| method | data | ours, CPU ms | reference, CPU ms | times as fast |\n\
                    | --- | --- | ---: | ---: | ---: |\n"
        .to_owned();
    for pair in &PAIRS {
        let found = &measured[pair.name];
        let ours = 1e3 * number(found, "cpu_seconds")?;
        let (theirs, ratio) = match number(found, "reference_cpu_seconds") {
            Ok(seconds) => {
                let ratio = number(found, "times_as_fast")?;
                (format!("{:.0} ({})", 1e3 * seconds, pair.reference), format!("{ratio:.0}"))
            }
            Err(_) => (format!("{} cannot be installed", pair.reference), "-".to_owned()),
        };
        let Pair { what, n_variables, .. } = pair;
        writeln!(
            text,
            "| {what} | {n_variables} variables, 1,000 rows | {ours:.1} | {theirs} | {ratio} |"
        )?;
    }
    for (name, what) in LARGE {
        let found = &measured[name];
        writeln!(
            text,
            "| {what} | 100 variables, 1,000 rows; {:.0} MB | {:.0} | - | - |",
            number(found, "megabytes")?,
            1e3 * number(found, "cpu_seconds")?
        )?;
    }
    text.push_str(&table_of_steps(measured)?);
    Ok(text)
}

/// Steps of training beside the same in PyTorch, and beside what the references took elsewhere.
fn table_of_steps(measured: &Value) -> anyhow::Result<String> {
    let mut text = "\n| 15 variables, 5 series of 200 rows | ours, CPU ms | the same in PyTorch, CPU ms | times as fast | \
                    its reference elsewhere, CPU ms | times as fast |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for step in &STEPS {
        let ours = number(&measured[step.name], "cpu_seconds")?;
        let torch = number(&measured[step.name], "torch_cpu_seconds").ok();
        let words = |digits: usize, value: Option<f64>| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        writeln!(
            text,
            "| {} | {:.1} | {} | {} | {:.0} | {:.1} |",
            step.what,
            1e3 * ours,
            words(1, torch.map(|seconds| 1e3 * seconds)),
            words(1, torch.map(|seconds| seconds / ours)),
            1e3 * step.reference_seconds,
            step.reference_seconds / ours
        )?;
    }
    Ok(text)
}

fn circumstances(measured: &Value, cpu: &str, rustc: &str) -> String {
    let versions = measured["versions"].as_object().cloned().unwrap_or_default();
    let versions: Vec<String> = versions
        .iter()
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?")))
        .collect();
    format!(
        "Measured {} on one thread of {cpu}, {rustc}, {}; the fastest of three runs of ours, one run of the references. \
         Ours is the CPU time of `driftgraph fit` less that of a fit by `partial-correlation`, which is reading the table and \
         writing folder and report; that of a step is the difference of two fits. PyTorch's steps give the \
         references' golden numbers (`benches/peer_steps.py`).",
        date(),
        versions.join(", ")
    )
}

fn misses(measured: &Value) -> anyhow::Result<Vec<String>> {
    let mut misses = Vec::new();
    let mut promise = |name: &str, ratio: f64, least: f64| {
        if ratio < least {
            misses.push(format!("{name}: {ratio:.2} times as fast, not {least}"));
        }
    };
    for pair in &PAIRS {
        let found = &measured[pair.name];
        if let Ok(ratio) = number(found, "times_as_fast") {
            promise(pair.name, ratio, pair.least_ratio);
        }
    }
    for step in &STEPS {
        let ours = number(&measured[step.name], "cpu_seconds")?;
        promise(step.name, step.reference_seconds / ours, step.least_ratio);
    }
    for pair in &PAIRS {
        let found = number(&measured[pair.name], "largest_difference");
        if let (Some(most), Ok(found)) = (pair.agreement, found)
            && found > most
        {
            misses.push(format!(
                "{}: scores differ from those of the reference by {found}",
                pair.name
            ));
        }
    }
    for (name, _) in LARGE {
        let (seconds, megabytes) =
            (number(&measured[name], "cpu_seconds")?, number(&measured[name], "megabytes")?);
        if seconds > MOST_SECONDS || megabytes > MOST_MEGABYTES {
            misses.push(format!("{name}: {seconds:.1} s, {megabytes:.0} MB"));
        }
    }
    Ok(misses)
}
