//! Where two effects meet: a - k - b without a link a - b, and k in no set that separates them.

use std::collections::HashSet;

use super::super::combinations::combinations;
use super::super::lags::{Links, Mark, Node, Pair};
use super::skeleton::Skeleton;
use super::{ColliderRule, Evidence};

/// Subsets of neighbours that are tried for a triple: all of up to twelve neighbours, beyond that the smaller ones.
const MAX_SETS: usize = 4096;

/// Start, middle and end, where middle and end are of the present row and start and end are not linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Triple {
    pub(crate) start: Node,
    pub(crate) middle: usize,
    pub(crate) end: usize,
}

/// What the triples are.
pub(super) struct Colliders {
    pub(super) found: Vec<Triple>,
    pub(super) ambiguous: Vec<Triple>,
    /// Whether subsets were left out because there were too many.
    pub(super) cut: bool,
}

/// What one triple is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Collider,
    Other,
    Ambiguous,
}

/// Looks at all unshielded triples.
pub(super) fn find(evidence: Evidence<'_>, skeleton: &Skeleton, rule: ColliderRule) -> Colliders {
    let mut colliders = Colliders { found: Vec::new(), ambiguous: Vec::new(), cut: false };
    for triple in unshielded(&skeleton.links) {
        let verdict = if rule == ColliderRule::None {
            let set = skeleton.separating.get(&Pair::new(triple.start, triple.end));
            let explains = set.is_some_and(|set| set.contains(&triple.middle));
            if explains { Verdict::Other } else { Verdict::Collider }
        } else {
            let sets = neighbour_sets(&skeleton.links, triple);
            colliders.cut |= sets.len() >= MAX_SETS;
            voted(evidence, triple, &sets, rule)
        };
        match verdict {
            Verdict::Collider => colliders.found.push(triple),
            Verdict::Ambiguous => colliders.ambiguous.push(triple),
            Verdict::Other => {}
        }
    }
    colliders
}

/// All triples whose ends are not linked and whose second link is open, ordered by end, middle and start.
pub(super) fn unshielded(links: &Links) -> Vec<Triple> {
    let n = links.n_variables();
    let mut triples = Vec::new();
    for end in 0..n {
        for middle in 0..n {
            if links[Pair::within(middle, end)] != Mark::Open {
                continue;
            }
            for variable in 0..n {
                for lag in 0..=links.tau_max() {
                    let start = Node::new(variable, lag);
                    let entry = links[Pair::new(start, middle)];
                    let enters = matches!(entry, Mark::Open | Mark::Forward);
                    let is_end = lag == 0 && variable == end;
                    if enters && !is_end && !links.is_linked(Pair::new(start, end)) {
                        triples.push(Triple { start, middle, end });
                    }
                }
            }
        }
    }
    triples
}

/// All subsets of the neighbours of either end that lies in the present row.
fn neighbour_sets(links: &Links, triple: Triple) -> Vec<Vec<usize>> {
    let Triple { start, end, .. } = triple;
    let mut groups = vec![links.neighbours(end)];
    if start.lag == 0 {
        groups[0].retain(|&other| other != start.variable);
        let mut of_start = links.neighbours(start.variable);
        of_start.retain(|&other| other != end);
        groups.push(of_start);
    }
    let mut seen = HashSet::new();
    let mut sets = Vec::new();
    for group in &groups {
        for size in 0..=group.len() {
            for set in combinations(group, size) {
                if sets.len() < MAX_SETS && seen.insert(set.clone()) {
                    sets.push(set);
                }
            }
            if sets.len() >= MAX_SETS {
                return sets;
            }
        }
    }
    sets
}

/// The share of separating sets that have the middle in them decides.
fn voted(
    evidence: Evidence<'_>,
    triple: Triple,
    sets: &[Vec<usize>],
    rule: ColliderRule,
) -> Verdict {
    let ends = Pair::new(triple.start, triple.end);
    let (mut n_separating, mut n_with_middle) = (0, 0);
    for set in sets {
        if !evidence.test(ends, set).is_dependent(evidence.alpha) {
            n_separating += 1;
            n_with_middle += usize::from(set.contains(&triple.middle));
        }
    }
    let [without, with] = [n_with_middle == 0, n_with_middle == n_separating];
    match rule {
        _ if n_separating == 0 => Verdict::Ambiguous,
        ColliderRule::Conservative if without => Verdict::Collider,
        ColliderRule::Conservative if with => Verdict::Other,
        ColliderRule::Majority if 2 * n_with_middle < n_separating => Verdict::Collider,
        ColliderRule::Majority if 2 * n_with_middle > n_separating => Verdict::Other,
        _ => Verdict::Ambiguous,
    }
}
