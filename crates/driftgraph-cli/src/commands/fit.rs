//! `fit`: learns a posterior over graphs and the process behind the data, into a run folder.

pub(super) mod bridge;
mod simulated;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::{EdgeScores, SignatureGraph};
use driftgraph_data::edges::{read_edges, write_edges};
use driftgraph_data::run_folder::{FORMAT_VERSION, NamedArray, Numbers, RunFolder, write_model};
use driftgraph_data::{Loaded, fingerprint};
use serde_json::{Value, json};

use crate::args::FitArgs;
use crate::commands::{load_data, table};
use crate::output::{short, write_file};
use crate::pictures::draw_probabilities;
use crate::printer;
use crate::progress::{Ending, Truth, catch_interrupts};
use crate::settings::{Plan, resolve};

/// Edges shown on the terminal.
const SHOWN_EDGES: usize = 10;

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<ExitCode> {
    let plan = resolve(args)?;
    let loaded = load_data(&args.data)?;
    let truth = args.truth.as_deref().map(|path| read_truth(path, &loaded)).transpose()?;
    plan.check_edges(loaded.data.variables())?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    catch_interrupts("what was learned so far will be saved")?;
    let folder = open_folder(args)?;
    let job = Job { args, loaded: &loaded, folder: &folder, truth };
    threads.install(|| match &plan {
        Plan::Bridge(plan) => bridge::run(&job, plan),
        Plan::Simulated(preset, settings) => simulated::run(&job, *preset, settings),
    })
}

fn read_truth(path: &Path, loaded: &Loaded) -> anyhow::Result<SignatureGraph> {
    let graph = read_edges(path, None)?.graph(loaded.data.variables());
    graph.with_context(|| format!("cannot use the truth in `{}`", path.display()))
}

fn open_folder(args: &FitArgs) -> anyhow::Result<RunFolder> {
    let path = args.out.clone().unwrap_or_else(|| free_folder(&args.data.files[0]));
    RunFolder::create(&path, args.force).with_context(|| {
        format!(
            "cannot use the run folder `{}` (name another with `--out`, or use `--force`)",
            path.display()
        )
    })
}

/// `measurements-run`, or with the first number that is free.
fn free_folder(data: &Path) -> PathBuf {
    let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("data").to_owned();
    let mut candidates = (1..).map(|number: u32| match number {
        1 => PathBuf::from(format!("{stem}-run")),
        _ => PathBuf::from(format!("{stem}-run-{number}")),
    });
    candidates.find(|path| !path.exists()).expect("there are always free names")
}

/// One fit: what was asked, and where the answer goes.
struct Job<'a> {
    args: &'a FitArgs,
    loaded: &'a Loaded,
    folder: &'a RunFolder,
    truth: Option<SignatureGraph>,
}

/// What any fit has learned.
struct Learned {
    /// Ranks the edges.
    ranking: EdgeScores,
    /// Probability that source influences target at all, `[source, target]`.
    probabilities: Vec<f64>,
    /// Columns of `edges.csv` after `source,target,probability,score`, each `[source, target]`.
    columns: Vec<(&'static str, Vec<f64>)>,
    /// Parameters: name, shape and numbers.
    arrays: Vec<(String, Vec<usize>, OwnedNumbers)>,
    /// What `run.json` says beside data and version.
    description: Value,
    /// What the user should know, one line each.
    remarks: Vec<String>,
}

enum OwnedNumbers {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Job<'_> {
    /// The truth for the log; it never reaches the fit.
    fn followed_truth(&self) -> Option<Truth> {
        let self_edges = self.args.self_edges.map_or(SelfEdges::Kept, Into::into);
        self.truth.clone().map(|graph| Truth { graph, self_edges })
    }

    fn save(&self, learned: &Learned, ending: &str, elapsed: Duration) -> anyhow::Result<()> {
        let arrays: Vec<NamedArray<'_>> = learned
            .arrays
            .iter()
            .map(|(name, shape, numbers)| NamedArray {
                name,
                shape,
                values: match numbers {
                    OwnedNumbers::Single(all) => Numbers::Single(all),
                    OwnedNumbers::Double(all) => Numbers::Double(all),
                },
            })
            .collect();
        let variables = self.loaded.data.variables();
        write_file(&self.folder.model_file(), |out| write_model(out, &arrays))?;
        let mut columns = vec![
            ("probability", learned.probabilities.clone()),
            ("score", learned.ranking.matrix().to_vec()),
        ];
        columns.extend(learned.columns.iter().cloned());
        write_file(&self.folder.edges_file(), |out| {
            write_edges(out, variables, &learned.ranking, &columns)
        })?;
        let folder = self.folder.path();
        draw_probabilities(folder, variables, &learned.probabilities, self.truth.as_ref())?;
        // Last, since its presence says that the others are complete.
        let description = serde_json::to_string_pretty(&self.describe(learned, ending, elapsed))?;
        write_file(&self.folder.run_file(), |out| writeln!(out, "{description}"))
    }

    fn describe(&self, learned: &Learned, ending: &str, elapsed: Duration) -> Value {
        let data = &self.loaded.data;
        let mut description = json!({
            "format_version": FORMAT_VERSION,
            "driftgraph": env!("CARGO_PKG_VERSION"),
            "data": {
                "files": self.loaded.files,
                "fingerprint": fingerprint(data),
                "series": data.n_series(),
                "variables": data.n_variables(),
                "rows": data.n_rows(),
                "missing_cells": data.n_missing(),
                "time": self.loaded.time_axis,
            },
            "expected_edges": learned.probabilities.iter().sum::<f64>(),
            "ending": ending,
            "seconds": elapsed.as_secs_f64(),
            "threads": rayon::current_num_threads(),
        });
        if let (Value::Object(all), Value::Object(own)) = (&mut description, &learned.description) {
            all.extend(own.clone());
        }
        description
    }

    /// The strongest edges, how the fit ended, and what to do next.
    fn tell(&self, learned: &Learned, ending: Ending, elapsed: Duration) -> anyhow::Result<()> {
        if self.args.json {
            let description = self.describe(learned, ending.name(), elapsed);
            return Ok(printer::data(&serde_json::to_string_pretty(&description)?)?);
        }
        printer::data(&self.strongest_edges(learned))?;
        let how = match ending {
            Ending::Finished => "finished",
            Ending::Interrupted => "interrupted",
            Ending::OutOfTime => "stopped by the time budget",
        };
        let expected = short(learned.probabilities.iter().sum());
        printer::note(&format!(
            "{how} after {:.1} s; {expected} edges expected",
            elapsed.as_secs_f64()
        ));
        for remark in &learned.remarks {
            printer::note(remark);
        }
        let folder = self.folder.path().display();
        printer::note(&format!(
            "all edges, the model and pictures (edges.svg, graph.svg) are in `{folder}`\n\
             compare with edges you know: driftgraph score {folder} --truth TRUTH.csv"
        ));
        Ok(())
    }

    fn strongest_edges(&self, learned: &Learned) -> String {
        let variables = self.loaded.data.variables();
        let mut rows = table(&["source", "target", "probability"]);
        for (source, target, _) in learned.ranking.ranked().into_iter().take(SHOWN_EDGES) {
            let probability = learned.probabilities[source * variables.len() + target];
            rows.add_row([&variables[source], &variables[target], &format!("{probability:.3}")]);
        }
        format!("the strongest edges:\n{}", rows.trim_fmt())
    }
}
