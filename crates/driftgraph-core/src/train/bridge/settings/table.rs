//! The table of settings of a bridge fit: names, defaults, ranges and meanings.

use crate::train::settings::table::{COUNT, INF, above, from, row};
use crate::train::settings::{Range, Setting};

const KINDS: Range = Range::Mixed {
    words: &["per-source", "per-target", "common"],
    or: "a table of kind with positive alpha and beta, or of kind fixed with a sparsity",
};

const fn table(or: &'static str) -> Range {
    Range::Mixed { words: &[], or }
}

/// All settings, in the order of the fields.
#[rustfmt::skip]
pub const BRIDGE_SETTINGS: [Setting; 21] = [
    row("seed", "0", Range::Any, "decides batches, samples and initial networks", ""),
    row("step_size", "none", above(0.0, INF), "longest step of a grid, in the data's unit of time; the median gap when not given", ""),
    row("density", "per-source", KINDS, "prior of the lagged graph: which edges share a learned density", ""),
    row("instantaneous", "false", Range::YesNo, "let variables act on each other within a step", ""),
    row("levels", "false", Range::YesNo, "learn instantaneous effects, and with them all others, from levels by chains instead of by gradients: with a linear drift and gaussian innovations", ""),
    row("instant_density", "common", KINDS, "prior of the instantaneous graph", ""),
    row("drift", "linear", Range::Choice(&["linear", "neural", "linear-and-neural"]), "what the drift is made of", ""),
    row("neural_diffusion", "false", Range::YesNo, "let a node function change the diffusion with the state", ""),
    row("nets", "none", table("a table of width, embedding and n_graphs, at least 1, and weight_precision, at least 0"), "sizes of the node functions", ""),
    row("estimator", "probability", Range::Mixed { words: &["probability"], or: "a table of kind gumbel with a positive temperature" }, "how gradients pass through sampled edges", ""),
    row("innovations", "gaussian", Range::Choice(&["gaussian", "laplace", "mixture"]), "law of what a step adds beyond its drift; gaussian with node functions", ""),
    row("noise_scale", "auto", Range::Mixed { words: &["auto", "learned"], or: "a positive number" }, "scale of the observation noise", ""),
    row("noise", "none", Range::Choice(&["gaussian", "laplace"]), "law of the observation noise; gaussian where its scale is learned, else laplace, when not given", ""),
    row("batch_numbers", "12000", from(1.0, COUNT), "numbers (steps x variables) per training step", ""),
    row("schedule_steps", "800", from(20.0, COUNT), "steps of the first cycle of learning rates", ""),
    row("max_steps", "none", from(1.0, COUNT), "most steps in all; 4 cycles, or 1 with node functions, when not given", ""),
    row("elbo_tolerance", "0.002", above(0.0, INF), "relative change of the ELBO that counts as none", ""),
    row("edge_tolerance", "0.02", above(0.0, INF), "mean change of edge probabilities that counts as none", ""),
    row("min_scale", "0.001", above(0.0, 1.0), "floor of diffusion (relative to increments) and noise", ""),
    row("patience", "20", from(1.0, COUNT), "steps in a row that may fail", ""),
    row("rates", "none", table("a table of effects, graph, paths and nets, all positive"), "largest learning rates", ""),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::bridge::BridgeSettings;

    #[test]
    fn every_field_has_its_line() {
        let fields = serde_json::to_value(BridgeSettings::default()).unwrap();
        let mut names: Vec<&str> = BRIDGE_SETTINGS.iter().map(|setting| setting.name).collect();
        names.sort_unstable();
        let mut found: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
        found.sort_unstable();
        assert_eq!(found, names);
    }
}
