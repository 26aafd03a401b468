//! `fit`: learns a posterior over graphs and the process behind the data, into a run folder.

pub(super) mod bridge;
mod simulated;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_data::Loaded;
use driftgraph_data::edges::read_edges;
use driftgraph_data::graph_formats::edge_table;
use driftgraph_data::run_folder::{DataDescription, FORMAT_VERSION, RunFolder, write_model};
use driftgraph_data::table::TableFormat;
use serde_json::{Value, json};

use crate::args::FitArgs;
use crate::commands::{load_data, table};
use crate::output::{short, write_file};
use crate::pictures::draw_edges;
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
    /// The model.
    model: FittedModel,
    /// All its edges, most probable first.
    edges: Vec<LearnedEdge>,
    /// What `run.json` says beside data, model and version.
    description: Value,
    /// What the user should know, one line each.
    remarks: Vec<String>,
}

impl Learned {
    fn new(model: FittedModel, description: Value, remarks: Vec<String>) -> Self {
        Self { edges: model.edges(), model, description, remarks }
    }

    fn expected_edges(&self) -> f64 {
        self.edges.iter().map(|edge| edge.probability).sum()
    }
}

impl Job<'_> {
    /// The truth for the log; it never reaches the fit.
    fn followed_truth(&self) -> Option<Truth> {
        let self_edges = self.args.self_edges.map_or(SelfEdges::Kept, Into::into);
        self.truth.clone().map(|graph| Truth { graph, self_edges })
    }

    fn save(&self, learned: &Learned, ending: &str, elapsed: Duration) -> anyhow::Result<()> {
        let variables = self.loaded.data.variables();
        write_file(&self.folder.model_file(), |out| write_model(out, &learned.model.arrays()))?;
        write_file(&self.folder.edges_file(), |out| {
            edge_table(variables, &learned.edges).write(out, TableFormat::Csv)
        })?;
        let folder = self.folder.path();
        draw_edges(folder, variables, &learned.edges, self.truth.as_ref())?;
        // Last, since its presence says that the others are complete.
        let description = serde_json::to_string_pretty(&self.describe(learned, ending, elapsed))?;
        write_file(&self.folder.run_file(), |out| writeln!(out, "{description}"))
    }

    fn describe(&self, learned: &Learned, ending: &str, elapsed: Duration) -> Value {
        let mut description = json!({
            "format_version": FORMAT_VERSION,
            "driftgraph": env!("CARGO_PKG_VERSION"),
            "data": DataDescription::new(self.loaded, &self.args.data.options()),
            "model": learned.model.description(),
            "expected_edges": learned.expected_edges(),
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
        let expected = short(learned.expected_edges());
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
             ask it: driftgraph graph {folder}, or simulate, forecast, impute, intervene\n\
             compare with edges you know: driftgraph score {folder} --truth TRUTH.csv"
        ));
        Ok(())
    }

    fn strongest_edges(&self, learned: &Learned) -> String {
        let variables = self.loaded.data.variables();
        let mut rows = table(&["source", "target", "probability"]);
        for edge in learned.edges.iter().take(SHOWN_EDGES) {
            let probability = format!("{:.3}", edge.probability);
            rows.add_row([&variables[edge.source], &variables[edge.target], &probability]);
        }
        format!("the strongest edges:\n{}", rows.trim_fmt())
    }
}
