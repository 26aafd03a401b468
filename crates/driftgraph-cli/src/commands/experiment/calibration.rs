//! Whether edge probabilities mean what they say, over all systems together.

use std::fmt::Write as _;

use driftgraph_core::fitted::calibration::{N_BINS, Reliability, ReliabilityBin};
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_report::{ReliabilityCurve, ReliabilityPoint, reliability_svg};
use serde::Serialize;

use super::cell::Cell;

/// The pairs of all systems under both conventions.
#[derive(Debug, Serialize)]
pub(super) struct Calibration {
    n_systems: usize,
    with_self_edges: Reliability,
    without_self_edges: Reliability,
}

impl Calibration {
    pub(super) fn new(cells: &[Cell]) -> Self {
        let all = |self_edges: SelfEdges| {
            let mut sum = Reliability::default();
            for cell in cells {
                if let Some(reliability) = &cell.scores(self_edges).reliability {
                    sum.add(reliability);
                }
            }
            sum
        };
        Self {
            n_systems: cells.len(),
            with_self_edges: all(SelfEdges::Kept),
            without_self_edges: all(SelfEdges::Dropped),
        }
    }

    /// Self edges dropped, then kept.
    fn conventions(&self) -> [(&'static str, &Reliability); 2] {
        [("dropped", &self.without_self_edges), ("kept", &self.with_self_edges)]
    }

    /// The table for readers: errors first, then the bins.
    pub(super) fn markdown(&self) -> String {
        let mut text =
            "| self edges | systems | pairs | true edges | ECE | Brier score | log loss |\n\
                        | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
                .to_owned();
        for (name, reliability) in self.conventions() {
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {} | {} | {} | {} |",
                self.n_systems,
                reliability.n_pairs(),
                reliability.n_edges(),
                digits(reliability.calibration_error()),
                digits(reliability.brier()),
                digits(reliability.log_loss()),
            );
        }
        text.push_str(
            "\n| probability | self edges dropped: mean probability | share of true edges | pairs | kept: mean probability | share of true edges | pairs |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for idx in 0..N_BINS {
            let cells = self.conventions().map(|(_, reliability)| {
                let bin = reliability.bins[idx];
                format!(
                    "{} | {} | {}",
                    digits(bin.predicted()),
                    digits(bin.observed()),
                    bin.n_pairs
                )
            });
            let _ = writeln!(text, "| {} | {} |", range(idx), cells.join(" | "));
        }
        text
    }

    /// The table for programs: one line per bin, and one for all bins together.
    pub(super) fn csv(&self) -> anyhow::Result<String> {
        let mut text =
            "self_edges,probability,predicted,observed,pairs,edges,ece,brier,log_loss\n".to_owned();
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for (self_edges, reliability) in self.conventions() {
            for (idx, bin) in reliability.bins.iter().enumerate() {
                let (predicted, observed) = (number(bin.predicted()), number(bin.observed()));
                let counts = format!("{},{}", bin.n_pairs, bin.n_edges);
                let range = range(idx);
                writeln!(text, "{self_edges},{range},{predicted},{observed},{counts},,,")?;
            }
            let errors =
                [reliability.calibration_error(), reliability.brier(), reliability.log_loss()];
            let counts = format!("{},{}", reliability.n_pairs(), reliability.n_edges());
            writeln!(text, "{self_edges},all,,,{counts},{}", errors.map(number).join(","))?;
        }
        Ok(text)
    }

    /// The bins as a picture.
    pub(super) fn picture(&self) -> anyhow::Result<String> {
        let point = |bin: &ReliabilityBin| {
            Some(ReliabilityPoint {
                predicted: bin.predicted()?,
                observed: bin.observed()?,
                count: bin.n_pairs,
            })
        };
        let curve = |name, reliability: &Reliability| ReliabilityCurve {
            name,
            points: reliability.bins.iter().filter_map(point).collect(),
        };
        let curves = [
            curve("without self edges", &self.without_self_edges),
            curve("with self edges", &self.with_self_edges),
        ];
        Ok(reliability_svg(&curves, "How often edges of a probability are there")?)
    }
}

fn range(idx: usize) -> String {
    let edge = |idx: usize| idx as f64 / N_BINS as f64;
    format!("{:.1} to {:.1}", edge(idx), edge(idx + 1))
}

fn digits(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}
