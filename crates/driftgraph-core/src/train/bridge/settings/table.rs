//! The table of settings of a bridge fit: names, defaults, ranges and meanings.

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeSetting {
    /// Name of the field, and of the key in a settings file.
    pub name: &'static str,
    /// What it is when not given, in words.
    pub default: &'static str,
    /// Allowed values, in words.
    pub range: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
}

const fn row(
    name: &'static str,
    default: &'static str,
    range: &'static str,
    meaning: &'static str,
) -> BridgeSetting {
    BridgeSetting { name, default, range, meaning }
}

/// All settings, in the order of the fields.
#[rustfmt::skip]
pub const BRIDGE_SETTINGS: [BridgeSetting; 20] = [
    row("seed", "0", "any whole number", "decides batches, samples and initial networks"),
    row("step_size", "median gap", "positive", "longest step of a grid, in the data's unit of time"),
    row("density", "per source, Beta(0.5, 5)", "a kind (per-source, per-target, common) with positive alpha and beta, or fixed with a sparsity", "prior of the lagged graph"),
    row("instantaneous", "false", "true or false", "whether variables act on each other within a step"),
    row("instant_density", "common, Beta(0.5, 5)", "as `density`", "prior of the instantaneous graph"),
    row("drift", "linear", "one of linear, neural, linear-and-neural", "linear effects, a node function, or both"),
    row("neural_diffusion", "false", "true or false", "whether a node function changes the diffusion with the state"),
    row("nets", "32, 16, 8, 10", "width, embedding and n_graphs at least 1, weight_precision at least 0", "width, embedding, sampled graphs and weight precision"),
    row("estimator", "probability", "probability, or gumbel with a positive temperature", "how gradients pass through sampled edges"),
    row("innovations", "Gaussian", "one of gaussian, laplace, mixture; gaussian with node functions", "law of what a step adds beyond its drift"),
    row("noise_scale", "auto", "auto, learned, or a positive number", "scale of the observation noise"),
    row("noise", "by scale", "one of gaussian, laplace", "Gaussian where the scale is learned, else Laplace, unless given"),
    row("batch_numbers", "12000", "at least 1", "numbers (steps x variables) per training step"),
    row("schedule_steps", "800", "at least 20", "steps of the first cycle of learning rates"),
    row("max_steps", "4 cycles, or 1 with node functions", "at least 1", "most steps in all"),
    row("elbo_tolerance", "0.002", "positive", "relative change of the ELBO that counts as none"),
    row("edge_tolerance", "0.02", "positive", "mean change of edge probabilities that counts as none"),
    row("min_scale", "0.001", "positive, below 1", "floor of diffusion (relative to increments) and noise"),
    row("patience", "20", "at least 1", "steps in a row that may fail"),
    row("rates", "0.01, 0.03, 0.02, 0.005", "positive", "largest learning rates: effects, graph, paths, nets"),
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
