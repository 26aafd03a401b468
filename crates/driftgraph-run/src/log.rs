//! `log.jsonl`: one line of JSON per logged step.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::score::{MetricOptions, graph_metrics};
use driftgraph_core::train::progress::Step;
use driftgraph_data::record::LogLine;
use driftgraph_data::run_folder::RunFolder;
use driftgraph_data::whole_file::write_whole;

use crate::job::Truth;

/// The log of one fit.
pub(crate) struct Log {
    folder: RunFolder,
    out: Option<BufWriter<fs::File>>,
    every: u64,
    truth: Option<Truth>,
    /// The first thing that went wrong, reported when the fit is over.
    error: Option<io::Error>,
}

impl Log {
    /// A log that is opened with its first line, or where there is none at the end.
    pub(crate) fn new(folder: RunFolder, every: u64, truth: Option<Truth>) -> Self {
        Self { folder, out: None, every: every.max(1), truth, error: None }
    }

    /// Opens the log, without what it says of steps that are going to be repeated.
    fn open(folder: &RunFolder, next_step: u64) -> io::Result<BufWriter<fs::File>> {
        let file = folder.log_file();
        if file.exists() {
            let lines = folder.read_log()?;
            write_whole(&file, |out| {
                let kept = lines.iter().filter(|line| line.step < next_step);
                kept.into_iter().try_for_each(|line| writeln!(out, "{}", text(line)))
            })?;
        }
        folder.open_log()
    }

    pub(crate) fn step(&mut self, step: &Step<'_>, elapsed: Duration) {
        if self.out.is_none() && self.error.is_none() {
            match Self::open(&self.folder, step.number) {
                Ok(out) => self.out = Some(out),
                Err(error) => self.error = Some(error),
            }
        }
        let last = step.number + 1 == step.end;
        if !step.number.is_multiple_of(self.every) && !last && step.undone.is_none() {
            return;
        }
        let mut line = LogLine::new(step, elapsed.as_secs_f64());
        if let Some(truth) = &self.truth {
            add_metrics(&mut line, step, truth);
        }
        if let Some(out) = &mut self.out
            && let Err(error) = writeln!(out, "{}", text(&line))
        {
            self.error.get_or_insert(error);
        }
    }

    /// Puts the log on disk; the first thing that went wrong with it, if anything did.
    ///
    /// A method without steps leaves an empty one: every run folder has the same files.
    pub(crate) fn flush(&mut self) -> Option<io::Error> {
        let flushed = match &mut self.out {
            Some(out) => out.flush(),
            None => self.folder.open_log().map(drop),
        };
        if let Err(error) = flushed {
            self.error.get_or_insert(error);
        }
        self.error.take()
    }
}

fn text(line: &LogLine) -> String {
    serde_json::to_string(line).expect("a line is made of plain values")
}

/// Metrics against the known graph, for benchmarking: ranked by log-odds, counted by probability.
fn add_metrics(line: &mut LogLine, step: &Step<'_>, truth: &Truth) {
    let scores = step.training.edge_scores();
    let options = MetricOptions { ranking_only: true, ..MetricOptions::new(truth.self_edges) };
    let ranked = graph_metrics(&scores, &truth.graph, options);
    let ranked = ranked.expect("truth and data have the same variables, checked at start");
    let probabilities = step.training.edge_probabilities();
    let counted = EdgeScores::from_matrix(truth.graph.n_variables(), probabilities)
        .and_then(|all| graph_metrics(&all, &truth.graph, MetricOptions::new(truth.self_edges)));
    let counted = counted.expect("there is one probability per pair of variables");
    for (name, value) in [
        ("auroc", ranked.auroc),
        ("auprc", ranked.auprc),
        ("f1", counted.f1),
        ("tpr", counted.tpr),
        ("fdr", counted.fdr),
    ] {
        line.extras.insert(name.to_owned(), serde_json::json!(value));
    }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::fitted::score::SelfEdges;
    use driftgraph_core::train::progress::{Checkpoint, Part, Training};
    use driftgraph_core::{ElboTerms, SignatureGraph};

    use super::*;

    /// Two edges whose probabilities both round to 1; only the log-odds know which is the stronger.
    struct Sure;

    impl Training for Sure {
        fn edge_probabilities(&self) -> Vec<f64> {
            vec![0.0, 1.0, 1.0, 0.0]
        }

        fn edge_scores(&self) -> EdgeScores {
            EdgeScores::from_matrix(2, vec![-50.0, 60.0, 40.0, -50.0]).unwrap()
        }

        fn state(&self) -> Checkpoint {
            Checkpoint { depends_on: String::new(), bytes: Vec::new() }
        }
    }

    #[test]
    fn the_logged_auroc_ranks_edges_whose_probabilities_round_to_one() {
        let step = Step {
            part: Part::WHOLE,
            number: 0,
            end: 1,
            terms: ElboTerms::default(),
            rate: 0.0,
            expected_edges: Some(2.0),
            undone: None,
            extras: &[],
            training: &Sure,
        };
        let graph = SignatureGraph::from_matrix(2, vec![false, true, false, false]).unwrap();
        let mut line = LogLine::new(&step, 0.0);
        add_metrics(&mut line, &step, &Truth { graph, self_edges: SelfEdges::Dropped });
        // Of the two pairs the true one comes first: 1; ties of probabilities would give 0.5.
        assert_eq!(line.extras["auroc"], 1.0);
        // Counts are of probabilities: both edges are claimed, one of them is true.
        assert_eq!(line.extras["fdr"], 0.5);
    }
}
