//! PCMCI+: links within a row too, and which way they go.
//!
//! Runge (2020), "Discovering contemporaneous and lagged causal relations in autocorrelated nonlinear time series
//! datasets", UAI. Lagged parents are found first; links within a row by tests given sets of neighbours and those
//! parents; then as many as possible are oriented.

mod colliders;
mod extension;
mod rules;
mod skeleton;

use rayon::prelude::*;

use super::lags::{LagTable, Links, Mark, Node, Pair, Results};
use super::momentary::conditions;
use super::parents::ParentSearch;
use super::samples::{Samples, Tested};

pub(crate) use colliders::Triple;

/// Levels tried where none is given; the one with the best model is taken.
const LEVELS: [f64; 5] = [0.001, 0.005, 0.01, 0.025, 0.05];

/// Which unshielded triples are colliders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ColliderRule {
    /// The middle is in less than half of the sets that separate the ends.
    Majority,
    /// It is in none of them.
    Conservative,
    /// It is not in the set that separated them first.
    None,
}

/// How links are found and oriented.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlusSettings {
    pub(crate) search: ParentSearch,
    pub(crate) rule: ColliderRule,
    /// Whether a link that is oriented both ways is marked; else the first orientation stays.
    pub(crate) conflict_resolution: bool,
    /// Whether lagged links that were ruled out are tested again.
    pub(crate) reset_lagged_links: bool,
    /// Whether p values control the share of false discoveries.
    pub(crate) fdr: bool,
}

/// What PCMCI+ found at one level.
pub(crate) struct PlusLinks {
    /// Lagged parents of each variable, that every test is given.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(crate) parents: Vec<Vec<Node>>,
    pub(crate) results: Results,
    pub(crate) links: Links,
    /// Triples of which it is open whether they are colliders.
    pub(crate) ambiguous: Vec<Triple>,
    /// Whether sets of conditions were left out because there were too many.
    pub(crate) cut: bool,
}

/// Samples with the lagged parents that every test is given.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    samples: &'a Samples<'a>,
    parents: &'a [Vec<Node>],
    alpha: f64,
}

impl Evidence<'_> {
    /// Tests a link given some variables of the present row, and the parents of both ends.
    fn test(&self, Pair { cause, effect }: Pair, within: &[usize]) -> Tested {
        let mut given: Vec<Node> = within.iter().map(|&variable| Node::new(variable, 0)).collect();
        given.extend(conditions(cause, &self.parents[effect], &self.parents[cause.variable]));
        self.samples.test(cause, Node::new(effect, 0), &given)
    }
}

impl PlusSettings {
    /// Finds links at a level, or at that of the best model, which is told.
    pub(crate) fn run(&self, samples: &Samples, alpha: Option<f64>) -> (PlusLinks, f64) {
        if let Some(alpha) = alpha {
            return (self.at_level(samples, alpha), alpha);
        }
        let found: Vec<(PlusLinks, f64)> = LEVELS
            .into_par_iter()
            .map(|level| {
                let found = self.at_level(samples, level);
                let score = extension::mean_model_score(&found, samples);
                (found, score)
            })
            .collect();
        let mut best: Option<(f64, (PlusLinks, f64))> = None;
        for ((found, score), level) in found.into_iter().zip(LEVELS) {
            if best.as_ref().is_none_or(|(smallest, _)| score < *smallest) {
                best = Some((score, (found, level)));
            }
        }
        best.expect("the first level is the best so far because there is none before it").1
    }

    fn at_level(&self, samples: &Samples, alpha: f64) -> PlusLinks {
        let lagged = self.search.run(samples, Some(alpha));
        let evidence = Evidence { samples, parents: &lagged.parents, alpha };
        let skeleton = skeleton::find(evidence, self.first_links(&lagged.parents));
        let mut results = lagged.results;
        skeleton.add_to(&mut results);
        results.make_symmetric();
        if self.fdr {
            let lagged: Vec<Pair> =
                results.values.pairs().filter(|pair| pair.cause.lag > 0).collect();
            results.control_false_discoveries(&lagged);
        }
        let mut links = skeleton.links.clone();
        let colliders = colliders::find(evidence, &skeleton, self.rule);
        for triple in &colliders.found {
            self.orient(&mut links, triple.end, triple.middle);
            if triple.start.lag == 0 {
                self.orient(&mut links, triple.start.variable, triple.middle);
            }
        }
        rules::apply(&mut links, &colliders.ambiguous, |links, cause, effect| {
            self.orient(links, cause, effect);
        });
        let cut = skeleton.cut || colliders.cut;
        PlusLinks { parents: lagged.parents, results, links, ambiguous: colliders.ambiguous, cut }
    }

    /// Links before any test: lagged parents, and all pairs within a row.
    fn first_links(&self, parents: &[Vec<Node>]) -> Links {
        let n = parents.len();
        let mut links = LagTable::filled(n, self.search.tau_max, Mark::None);
        for pair in links.clone().pairs() {
            let Pair { cause, effect } = pair;
            links[pair] = match cause.lag {
                0 if cause.variable == effect => Mark::None,
                0 => Mark::Open,
                _ if self.reset_lagged_links || parents[effect].contains(&cause) => Mark::Forward,
                _ => Mark::None,
            };
        }
        links
    }

    /// Orients a link within a row; one that goes the other way already is a conflict.
    fn orient(&self, links: &mut Links, cause: usize, effect: usize) {
        match links[Pair::within(cause, effect)] {
            Mark::Open => links.set_within(cause, effect, Mark::Forward),
            Mark::Backward if self.conflict_resolution => {
                links.set_within(cause, effect, Mark::Conflict);
            }
            _ => {}
        }
    }
}
