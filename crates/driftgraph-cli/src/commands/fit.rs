//! `fit`: learns a posterior over graphs and the process behind the data, into a run folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::settings::CheckedSettings;
use driftgraph_data::edges::{read_edges, write_edges};
use driftgraph_data::run_folder::{FORMAT_VERSION, NamedArray, RunFolder, write_model};
use driftgraph_data::{Loaded, fingerprint};
use serde_json::json;

use crate::args::FitArgs;
use crate::commands::{load_data, table};
use crate::output::{short, write_file};
use crate::pictures::draw_probabilities;
use crate::printer;
use crate::progress::{Ending, Follower, Truth, catch_interrupts};
use crate::settings::{EdgeArgs, SettingsSources, resolve};

/// Edges shown on the terminal.
const SHOWN_EDGES: usize = 10;

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<ExitCode> {
    let edges =
        EdgeArgs { forbid: &args.forbid, require: &args.require, prior: args.edge_prior.as_ref() };
    let (preset, settings) = resolve(SettingsSources {
        preset: args.preset,
        config: args.config.as_deref(),
        flags: &args.settings,
        edges,
    })?;
    let loaded = load_data(&args.data)?;
    let truth = args.truth.as_deref().map(|path| read_truth(path, &loaded)).transpose()?;
    let folder = open_folder(args)?;
    start_threads(args.threads)?;
    catch_interrupts()?;

    let followed = truth.clone().map(|graph| Truth {
        graph,
        self_edges: args.self_edges.map_or(SelfEdges::Kept, Into::into),
    });
    let log = folder.open_log().context("cannot open the log")?;
    let mut follower = Follower::new(log, args.log_every, followed, args.time_budget, settings.steps);
    let result = fit(&loaded.data, &settings, &mut follower);
    follower.finish();
    let job = Job { args, preset, settings: &settings, loaded: &loaded, folder: &folder, truth };
    match result {
        Ok(fit) => {
            job.save(&fit, follower.ending.name(), follower.elapsed())?;
            if let Some(error) = follower.log_error.take() {
                return Err(error).context("the model was saved, but the log is incomplete");
            }
            job.tell(&fit, follower.ending, follower.elapsed())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(FitError::Diverged { step, term, attempts, last_finite_elbo, last_good }) => {
            job.save(&last_good, "diverged", follower.elapsed())?;
            printer::note(&format!(
                "the last good model is in `{}`; a smaller `--learning-rate` or `--clip-norm 100` may help",
                folder.path().display()
            ));
            Err(FitError::Diverged { step, term, attempts, last_finite_elbo, last_good }.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn read_truth(path: &Path, loaded: &Loaded) -> anyhow::Result<SignatureGraph> {
    let graph = read_edges(path, None)?.graph(loaded.data.variables());
    graph.with_context(|| format!("cannot use the truth in `{}`", path.display()))
}

fn open_folder(args: &FitArgs) -> anyhow::Result<RunFolder> {
    let path = args.out.clone().unwrap_or_else(|| free_folder(&args.data.files[0]));
    RunFolder::create(&path, args.force).with_context(|| {
        format!(
            "cannot use the run folder `{}` (another with `--out`, or `--force`)",
            path.display()
        )
    })
}

/// `measurements-run`, or with the first number that is free.
fn free_folder(data: &Path) -> PathBuf {
    let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("data").to_owned();
    let candidates = (1..).map(|number: u32| match number {
        1 => PathBuf::from(format!("{stem}-run")),
        _ => PathBuf::from(format!("{stem}-run-{number}")),
    });
    candidates.into_iter().find(|path| !path.exists()).expect("there are always free names")
}

fn start_threads(threads: Option<usize>) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    pool.build_global().context("cannot start the threads")
}

/// One fit with everything that has to be written about it.
struct Job<'a> {
    args: &'a FitArgs,
    preset: Preset,
    settings: &'a CheckedSettings,
    loaded: &'a Loaded,
    folder: &'a RunFolder,
    truth: Option<SignatureGraph>,
}

impl Job<'_> {
    fn save(&self, fit: &Fit, ending: &str, elapsed: Duration) -> anyhow::Result<()> {
        let arrays: Vec<(&str, [usize; 2], &[f32])> = fit
            .named_parameters()
            .map(|parameter| (parameter.name, parameter.shape.into(), parameter.values))
            .collect();
        let arrays: Vec<NamedArray<'_>> =
            arrays.iter().map(|(name, shape, values)| NamedArray { name, shape, values }).collect();
        write_file(&self.folder.model_file(), |out| write_model(out, &arrays))?;
        let scores = fit.edge_scores();
        let log_odds = scores.matrix().to_vec();
        let columns = [("probability", fit.edge_probabilities()), ("log_odds", log_odds)];
        write_file(&self.folder.edges_file(), |out| {
            write_edges(out, fit.variables(), &scores, &columns)
        })?;
        draw_probabilities(
            self.folder.path(),
            fit.variables(),
            &fit.edge_probabilities(),
            self.truth.as_ref(),
        )?;
        // Last, since its presence says that the others are complete.
        let description = serde_json::to_string_pretty(&self.describe(fit, ending, elapsed))?;
        write_file(&self.folder.run_file(), |out| writeln!(out, "{description}"))
    }

    fn describe(&self, fit: &Fit, ending: &str, elapsed: Duration) -> serde_json::Value {
        let data = &self.loaded.data;
        json!({
            "format_version": FORMAT_VERSION,
            "driftgraph": env!("CARGO_PKG_VERSION"),
            "posterior": "simulated",
            "preset": self.preset.name(),
            "seed": self.settings.seed,
            "data": {
                "files": self.loaded.files,
                "fingerprint": fingerprint(data),
                "series": data.n_series(),
                "variables": data.n_variables(),
                "rows": data.n_rows(),
                "missing_cells": data.n_missing(),
                "time": self.loaded.time_axis,
            },
            "fit": fit.summary(),
            "elbo": fit.last_terms().map(|terms| terms.elbo()),
            "expected_edges": fit.edge_probabilities().iter().sum::<f64>(),
            "noise_scales": fit.noise_scales(),
            "ending": ending,
            "seconds": elapsed.as_secs_f64(),
            "threads": rayon::current_num_threads(),
        })
    }

    /// The strongest edges, the ELBO, the time it took, and what to do next.
    fn tell(&self, fit: &Fit, ending: Ending, elapsed: Duration) -> anyhow::Result<()> {
        if self.args.json {
            let description = self.describe(fit, ending.name(), elapsed);
            return Ok(printer::data(&serde_json::to_string_pretty(&description)?)?);
        }
        printer::data(&strongest_edges(fit))?;
        let counters = fit.counters();
        let mut text = format!(
            "{} after {} steps and {:.1} s; ELBO {}, {} edges expected",
            match ending {
                Ending::Finished => "finished",
                Ending::Interrupted => "interrupted",
                Ending::OutOfTime => "stopped by the time budget",
            },
            counters.steps,
            elapsed.as_secs_f64(),
            fit.last_terms().map_or("undefined".to_owned(), |terms| format!("{:.1}", terms.elbo())),
            short(fit.edge_probabilities().iter().sum()),
        );
        if counters.rollbacks > 0 {
            let _ = write!(
                text,
                "\nwarning: {} steps were not finite and were undone",
                counters.rollbacks
            );
        }
        if counters.floor_hits > 0 {
            let _ = write!(
                text,
                "\nwarning: the diffusion was at its floor {} times",
                counters.floor_hits
            );
        }
        let folder = self.folder.path().display();
        let _ = write!(
            text,
            "\neverything is in `{folder}`; compare with a known graph by\n  driftgraph score {folder} --truth TRUTH.csv"
        );
        printer::note(&text);
        Ok(())
    }
}

fn strongest_edges(fit: &Fit) -> String {
    let probabilities = fit.edge_probabilities();
    let variables = fit.variables();
    let mut rows = table(&["source", "target", "probability"]);
    for (source, target, _) in fit.edge_scores().ranked().into_iter().take(SHOWN_EDGES) {
        let probability = probabilities[source * variables.len() + target];
        let cells = [&variables[source], &variables[target], &format!("{probability:.3}")];
        rows.add_row(cells);
    }
    format!("the strongest edges:\n{}", rows.trim_fmt())
}
