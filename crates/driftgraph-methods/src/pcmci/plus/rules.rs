//! Orientations that follow from others, because there would be a collider or a cycle else (Meek 1995).

use super::super::combinations::combinations;
use super::super::lags::{Links, Mark, Pair};
use super::colliders::{Triple, unshielded};

/// Applies all rules until none says anything new.
pub(super) fn apply(
    links: &mut Links,
    ambiguous: &[Triple],
    orient: impl Fn(&mut Links, usize, usize),
) {
    loop {
        let mut any = false;
        for rule in [no_new_collider, no_cycle, no_way_round] {
            // All that a rule finds is oriented before the next one looks.
            let arrows = rule(links, ambiguous);
            any |= !arrows.is_empty();
            for (cause, effect) in arrows {
                orient(links, cause, effect);
            }
        }
        if !any {
            return;
        }
    }
}

/// An arrow to be set, from a variable to another.
type Arrow = (usize, usize);

/// a -> k o-o b without a link a - b: b must not meet a in k.
fn no_new_collider(links: &Links, ambiguous: &[Triple]) -> Vec<Arrow> {
    (unshielded(links).into_iter())
        .filter(|triple| links[Pair::new(triple.start, triple.middle)] == Mark::Forward)
        .filter(|triple| !ambiguous.contains(triple))
        .map(|triple| (triple.middle, triple.end))
        .collect()
}

/// a -> k -> b and a o-o b.
fn no_cycle(links: &Links, _ambiguous: &[Triple]) -> Vec<Arrow> {
    let n = links.n_variables();
    let mark = |cause: usize, effect: usize| links[Pair::within(cause, effect)];
    open_pairs(links)
        .filter(|&(start, end)| {
            (0..n).any(|middle| {
                mark(start, middle) == Mark::Forward && mark(middle, end) == Mark::Forward
            })
        })
        .collect()
}

/// a o-o k -> b, a o-o l -> b, a o-o b, and k and l are not linked.
fn no_way_round(links: &Links, _ambiguous: &[Triple]) -> Vec<Arrow> {
    let n = links.n_variables();
    let mark = |cause: usize, effect: usize| links[Pair::within(cause, effect)];
    open_pairs(links)
        .filter(|&(start, end)| {
            let between: Vec<usize> = (0..n)
                .filter(|&k| mark(start, k) == Mark::Open && mark(k, end) == Mark::Forward)
                .collect();
            combinations(&between, 2).any(|pair| mark(pair[0], pair[1]) == Mark::None)
        })
        .collect()
}

/// Pairs with an open link, in both orders.
fn open_pairs(links: &Links) -> impl Iterator<Item = (usize, usize)> + '_ {
    let n = links.n_variables();
    (0..n * n)
        .map(move |idx| (idx / n, idx % n))
        .filter(|&(start, end)| links[Pair::within(start, end)] == Mark::Open)
}
