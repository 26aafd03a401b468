//! Which variables may drive and which may be driven: what `--sources`, `--targets` and inputs leave of the pairs.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{LearnedEdge, mark_mirrored};
use driftgraph_core::graph::limited_prior::LimitedPrior;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::settings::KnownEdge;
use driftgraph_data::record::EdgeLimits;

use crate::PlanError;
use crate::plan::positions;

/// Pairs that may be edges, `[source, target]`.
pub(crate) struct AllowedPairs {
    may_drive: Vec<bool>,
    may_be_driven: Vec<bool>,
    /// Inputs have not even an effect on themselves.
    is_input: Vec<bool>,
}

impl AllowedPairs {
    /// Refuses names that the data do not have, and inputs among the targets.
    pub(crate) fn new(limits: &EdgeLimits, data: &SeriesSet) -> Result<Self, PlanError> {
        let names = data.variables();
        let is_input: Vec<bool> =
            (0..names.len()).map(|idx| data.inputs().contains(&idx)).collect();
        let chosen = |flag: &'static str, chosen: &[String]| {
            let mut is_chosen = vec![chosen.is_empty(); names.len()];
            for name in chosen {
                let idx = names.iter().position(|known| known == name);
                let unknown = || PlanError::UnknownLimit { flag, name: name.clone() };
                is_chosen[idx.ok_or_else(unknown)?] = true;
            }
            Ok::<Vec<bool>, PlanError>(is_chosen)
        };
        let may_drive = chosen("sources", &limits.sources)?;
        let mut may_be_driven = chosen("targets", &limits.targets)?;
        for (idx, may) in may_be_driven.iter_mut().enumerate().filter(|(idx, _)| is_input[*idx]) {
            if *may && !limits.targets.is_empty() {
                return Err(PlanError::InputAsTarget { input: names[idx].clone() });
            }
            *may = false;
        }
        Ok(Self { may_drive, may_be_driven, is_input })
    }

    /// Whether one variable may drive another; all but inputs may have an effect on themselves.
    pub(crate) fn allows(&self, source: usize, target: usize) -> bool {
        if source == target {
            return !self.is_input[target];
        }
        self.may_drive[source] && self.may_be_driven[target]
    }

    /// Refuses edges that must or may be, where their ends may not drive or be driven.
    pub(crate) fn check(&self, edges: &[KnownEdge], data: &SeriesSet) -> Result<(), PlanError> {
        for edge in edges {
            let [source, target] = positions(edge, data.variables())?;
            if edge.probability == 0.0 || self.allows(source, target) {
                continue;
            }
            let name = format!("{} -> {}", edge.source, edge.target);
            if self.is_input[target] {
                let input = edge.target.clone();
                return Err(PlanError::EdgeIntoInput { edge: name, input });
            }
            let (flag, end) = if self.may_drive[source] {
                ("targets", &edge.target)
            } else {
                ("sources", &edge.source)
            };
            return Err(PlanError::EdgeOutsideLimits { edge: name, end: end.clone(), flag });
        }
        Ok(())
    }

    /// What may be an edge, without anything by pair.
    pub(crate) fn prior(&self, no_self_loops: bool) -> LimitedPrior {
        let may_keep = self.is_input.iter().map(|input| !input && !no_self_loops).collect();
        LimitedPrior::new(self.may_drive.clone(), self.may_be_driven.clone(), may_keep)
    }

    fn allows_all(&self) -> bool {
        self.may_drive.iter().chain(&self.may_be_driven).all(|may| *may)
    }

    /// Takes what may not be out of edges of a method that did not know: they come last, with the probability 0.
    pub(crate) fn restrict(&self, edges: &mut Vec<LearnedEdge>) {
        if self.allows_all() {
            return;
        }
        let (mut kept, mut refused): (Vec<LearnedEdge>, Vec<LearnedEdge>) =
            edges.drain(..).partition(|edge| self.allows(edge.source, edge.target));
        let least = kept.iter().map(|edge| edge.score).fold(0.0, f64::min);
        for edge in &mut refused {
            edge.score =
                if edge.score == f64::NEG_INFINITY { edge.score } else { least.min(edge.score) };
            for probability in [
                &mut edge.probability,
                &mut edge.probability_lagged,
                &mut edge.probability_instantaneous,
                &mut edge.probability_directed,
            ] {
                *probability = probability.map(|_| 0.0);
            }
        }
        kept.append(&mut refused);
        // A link whose other row may not be an edge is told by the row that may.
        mark_mirrored(&mut kept);
        *edges = kept;
    }
}

/// What is said of pairs, as knowledge of single edges.
pub(crate) trait ForbidEdges {
    /// Forbids every pair that may not be an edge.
    fn forbid(&self, data: &SeriesSet, prior: &mut EdgePrior) -> Result<(), PlanError>;
}

impl ForbidEdges for EdgeLimits {
    fn forbid(&self, data: &SeriesSet, prior: &mut EdgePrior) -> Result<(), PlanError> {
        let allowed = AllowedPairs::new(self, data)?;
        if allowed.allows_all() {
            return Ok(());
        }
        let n = data.n_variables();
        for pair in (0..n * n).filter(|pair| !allowed.allows(pair / n, pair % n)) {
            prior.know(pair / n, pair % n, 0.0)?;
        }
        Ok(())
    }
}
