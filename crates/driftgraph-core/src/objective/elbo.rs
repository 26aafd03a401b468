//! The terms of the evidence lower bound and their sum.

/// The terms of Eq. 15 (eq: Overall ELBO), in nats, for the samples of one step.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct ElboTerms {
    /// Σ log p(x | z) over the observed cells of all series.
    pub log_likelihood: f64,
    /// Σ over series of KL(q(z_0) || p(z_0)).
    pub initial_kl: f64,
    /// Σ over series of the path KL.
    pub path_kl: f64,
    /// KL(q(G) || p(G)); up to the prior's constant where the prior is not normalised.
    pub graph_kl: f64,
}

impl ElboTerms {
    /// Eq. 15 (eq: Overall ELBO), with the initial KL of D3.
    pub fn elbo(&self) -> f64 {
        self.log_likelihood - self.initial_kl - self.path_kl - self.graph_kl
    }

    /// What a training step minimises: minus the ELBO, with its two path terms still annealed.
    pub fn loss(&self, kl_weight: f64) -> f64 {
        -self.log_likelihood + kl_weight * (self.initial_kl + self.path_kl) + self.graph_kl
    }

    /// Adds the sums over other series; the graph's term is not a sum over series.
    pub fn add_series(&mut self, other: &Self) {
        self.log_likelihood += other.log_likelihood;
        self.initial_kl += other.initial_kl;
        self.path_kl += other.path_kl;
    }

    /// Multiplies the sums over series by N / S, where S of N series were evaluated; see D5.
    pub fn scale_series(&mut self, n_over_s: f64) {
        self.log_likelihood *= n_over_s;
        self.initial_kl *= n_over_s;
        self.path_kl *= n_over_s;
    }

    /// The name of a term that is not finite, if there is one.
    pub(crate) fn non_finite_term(&self) -> Option<&'static str> {
        [
            ("log_likelihood", self.log_likelihood),
            ("initial_kl", self.initial_kl),
            ("path_kl", self.path_kl),
            ("graph_kl", self.graph_kl),
        ]
        .into_iter()
        .find(|(_, value)| !value.is_finite())
        .map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_is_minus_the_elbo_once_annealing_is_over() {
        let terms =
            ElboTerms { log_likelihood: -7.0, initial_kl: 1.0, path_kl: 2.0, graph_kl: 0.5 };
        assert_eq!(terms.elbo(), -10.5);
        assert_eq!(terms.loss(1.0), 10.5);
        assert_eq!(terms.loss(0.5), 9.0);
    }

    #[test]
    fn mini_batches_scale_everything_but_the_graph() {
        let mut terms =
            ElboTerms { log_likelihood: -7.0, initial_kl: 1.0, path_kl: 2.0, graph_kl: 0.5 };
        terms.scale_series(2.0);
        assert_eq!(terms.elbo(), -20.5);
    }

    #[test]
    fn a_term_that_is_not_finite_is_named() {
        let terms = ElboTerms { path_kl: f64::NAN, ..ElboTerms::default() };
        assert_eq!(terms.non_finite_term(), Some("path_kl"));
    }
}
