//! DirectLiNGAM: the order of causes among variables that move together within a row.
//!
//! Shimizu and others (2011), "DirectLiNGAM: a direct method for learning a linear non-Gaussian structural equation
//! model", JMLR 12, with the entropy approximation of Hyvärinen (1998).

use driftgraph_core::layers::{Real, vectorised};
use faer::Mat;
use rayon::prelude::*;

/// A deviation below this share of the largest value is rounding.
const NEGLIGIBLE: f64 = 1e-13;

/// The variables from causes to effects.
///
/// Again and again the variable that depends least on what the others leave of it comes next, and is taken out of them.
pub(super) fn causal_order(residuals: &Mat<f64>, goes_on: &dyn Fn() -> bool) -> Option<Vec<usize>> {
    let mut columns: Vec<Vec<f64>> =
        (0..residuals.ncols()).map(|idx| residuals.col_as_slice(idx).to_vec()).collect();
    let mut left: Vec<usize> = (0..columns.len()).collect();
    let mut order = Vec::with_capacity(columns.len());
    // Those that looked least dependent so far are compared first, so that the others are soon out of the question.
    let mut penalties = vec![0.0; columns.len()];
    while left.len() > 1 {
        if !goes_on() {
            return None;
        }
        let round = Round::new(&columns, &left);
        let first = round.least_dependent(&mut penalties);
        remove_effect(&mut columns, &left, first);
        left.retain(|&variable| variable != first);
        order.push(first);
    }
    order.extend(left);
    Some(order)
}

/// Takes what a variable explains out of all others that are left.
fn remove_effect(columns: &mut [Vec<f64>], left: &[usize], cause: usize) {
    let source = std::mem::take(&mut columns[cause]);
    let centred = centred(&source);
    let power: f64 = centred.iter().map(|value| value * value).sum();
    let is_left = |idx: usize| idx != cause && left.contains(&idx);
    columns.par_iter_mut().enumerate().filter(|(idx, _)| is_left(*idx)).for_each(|(_, column)| {
        let common: f64 = self::centred(column).iter().zip(&centred).map(|(a, b)| a * b).sum();
        if power > 0.0 {
            let factor = common / power;
            column.iter_mut().zip(&source).for_each(|(value, cause)| *value -= factor * cause);
        }
    });
    columns[cause] = source;
}

/// The variables that are left, with mean 0 and deviation 1.
pub(super) struct Round {
    /// Their positions among all.
    variables: Vec<usize>,
    standard: Vec<Vec<f64>>,
    entropies: Vec<f64>,
}

impl Round {
    pub(super) fn new(columns: &[Vec<f64>], left: &[usize]) -> Self {
        let standard: Vec<Vec<f64>> =
            left.par_iter().map(|&idx| standardised(&columns[idx])).collect();
        let entropies = standard.par_iter().map(|column| entropy(column, None)).collect();
        Self { variables: left.to_vec(), standard, entropies }
    }

    /// The variable with the smallest penalty, the first of equal ones; `penalties` orders the search, and is brought up to date.
    fn least_dependent(&self, penalties: &mut [f64]) -> usize {
        const BLOCK: usize = 16;
        let n = self.variables.len();
        let mut places: Vec<usize> = (0..n).collect();
        places.sort_by(|&a, &b| {
            penalties[self.variables[a]].total_cmp(&penalties[self.variables[b]])
        });
        let mut known: Vec<Option<f64>> = vec![None; n * n];
        let mut best: Option<(f64, usize)> = None;
        for &place in &places {
            let mut penalty = 0.0;
            // What speaks against a variable is mostly found among those that look like causes.
            for block in places.chunks(BLOCK) {
                self.compare(place, block, &mut known);
                penalty += (block.iter())
                    .filter_map(|&other| known[place * n + other])
                    .map(|difference| difference.min(0.0).powi(2))
                    .sum::<f64>();
                if best.is_some_and(|(smallest, _)| penalty > smallest) {
                    break;
                }
            }
            penalties[self.variables[place]] = penalty;
            if best.is_none_or(|(smallest, first)| {
                penalty < smallest || (penalty == smallest && place < first)
            }) {
                best = Some((penalty, place));
            }
        }
        self.variables[best.expect("a round has at least two variables").1]
    }

    /// Compares a variable with others, where that was not done yet.
    fn compare(&self, place: usize, others: &[usize], known: &mut [Option<f64>]) {
        let n = self.variables.len();
        let is_missing = |other: &usize| *other != place && known[place * n + other].is_none();
        let missing: Vec<usize> = others.iter().copied().filter(is_missing).collect();
        let found: Vec<f64> =
            missing.par_iter().map(|&other| self.difference(place, other)).collect();
        for (&other, difference) in missing.iter().zip(found) {
            known[place * n + other] = Some(difference);
            known[other * n + place] = Some(-difference);
        }
    }

    /// How much less the second variable tells of what the first leaves of it than the other way round.
    fn difference(&self, one: usize, other: usize) -> f64 {
        let (x, y) = (&self.standard[one], &self.standard[other]);
        let correlation = product_sum(x, y) / x.len() as f64;
        let [x_rest, y_rest] =
            [(x, y), (y, x)].map(|(of, by)| entropy(of, Some(Removed { by, correlation })));
        (self.entropies[other] + x_rest) - (self.entropies[one] + y_rest)
    }

    /// What speaks against each variable as the next cause.
    #[cfg(test)]
    pub(super) fn penalties(&self) -> Vec<f64> {
        let n = self.variables.len();
        let penalty = |place: usize| {
            let others = (0..n).filter(|&other| other != place);
            others.map(|other| self.difference(place, other).min(0.0).powi(2)).sum()
        };
        (0..n).map(penalty).collect()
    }
}

fn centred(column: &[f64]) -> Vec<f64> {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    column.iter().map(|value| value - mean).collect()
}

/// Mean 0 and deviation 1; zeros where there is no variation.
fn standardised(column: &[f64]) -> Vec<f64> {
    let largest = column.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let mut centred = centred(column);
    let deviation =
        (centred.iter().map(|value| value * value).sum::<f64>() / column.len() as f64).sqrt();
    let scale = if deviation > NEGLIGIBLE * largest { 1.0 / deviation } else { 0.0 };
    centred.iter_mut().for_each(|value| *value *= scale);
    centred
}

/// What is taken out of a variable before its entropy is asked for.
#[derive(Clone, Copy)]
struct Removed<'a> {
    by: &'a [f64],
    correlation: f64,
}

/// Approximate differential entropy of standard values, or of what another variable leaves of them, made standard again.
fn entropy(values: &[f64], removed: Option<Removed<'_>>) -> f64 {
    let Some(Removed { by, correlation }) = removed else { return entropy_of(values) };
    let mut rest = rest_of(values, by, correlation);
    // Both have mean 0, so the rest has; its deviation is computed rather than derived, against rounding.
    let n = rest.len() as f64;
    let mean = lane_sum(&rest) / n;
    let deviation = (product_sum(&rest, &rest) / n - mean * mean).max(0.0).sqrt();
    let scale = if deviation > NEGLIGIBLE { 1.0 / deviation } else { 0.0 };
    rest.iter_mut().for_each(|value| *value *= scale);
    entropy_of(&rest)
}

/// What another variable leaves of standard values.
fn rest_of(values: &[f64], by: &[f64], correlation: f64) -> Vec<f64> {
    values.iter().zip(by).map(|(x, y)| x - correlation * y).collect()
}

/// Sums in lanes vectorise, and have one order on all machines.
const LANES: usize = 8;
/// Values whose exponentials are computed together.
const BLOCK: usize = 256;

fn lane_sum(values: &[f64]) -> f64 {
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in whole {
        (0..LANES).for_each(|lane| lanes[lane] += chunk[lane]);
    }
    lanes.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

fn product_sum(one: &[f64], other: &[f64]) -> f64 {
    let ((ones, ones_rest), (others, others_rest)) =
        (one.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (one, other) in ones.iter().zip(others) {
        (0..LANES).for_each(|lane| lanes[lane] += one[lane] * other[lane]);
    }
    let rest = ones_rest.iter().zip(others_rest).map(|(a, b)| a * b);
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

/// H(u) = (1 + ln 2π)/2 - k1 (mean ln cosh u - γ)² - k2 (mean u exp(-u²/2))².
fn entropy_of(values: &[f64]) -> f64 {
    const K1: f64 = 79.047;
    const K2: f64 = 7.4129;
    const GAMMA: f64 = 0.37457;
    let (mut log_cosh, mut skew) = (0.0, 0.0);
    for block in values.chunks(BLOCK) {
        let sums = vectorised(
            #[inline(always)]
            || block_sums(block),
        );
        log_cosh += sums.sizes + sums.product.ln();
        skew += sums.skew;
    }
    let n = values.len() as f64;
    let log_cosh = log_cosh / n - std::f64::consts::LN_2;
    0.5 + 0.5 * (2.0 * std::f64::consts::PI).ln()
        - K1 * (log_cosh - GAMMA).powi(2)
        - K2 * (skew / n).powi(2)
}

/// Sums over a block of values.
struct BlockSums {
    /// Of |u|.
    sizes: f64,
    /// The product of 1 + exp(-2|u|): one logarithm for the whole block. Factors are at most 2, so it is at most 2^256.
    product: f64,
    /// Of u exp(-u²/2).
    skew: f64,
}

#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
fn block_sums(block: &[f64]) -> BlockSums {
    let mut values = [0.0; BLOCK];
    values[..block.len()].copy_from_slice(block);
    // Exponentials one by one into memory, then sums: a loop that did both would not vectorise.
    let (mut tails, mut bells) = ([0.0; BLOCK], [0.0; BLOCK]);
    for (tail, value) in tails.iter_mut().zip(&values) {
        *tail = Real::exp(-2.0 * Real::abs(*value));
    }
    for (bell, value) in bells.iter_mut().zip(&values) {
        *bell = value * Real::exp(-0.5 * value * value);
    }
    // Zeros behind the values add nothing to sums, but would double the product.
    tails[block.len()..].fill(0.0);
    let mut products = [1.0; LANES];
    for tails in tails.as_chunks::<LANES>().0 {
        (0..LANES).for_each(|lane| products[lane] *= 1.0 + tails[lane]);
    }
    let sizes = values.map(Real::abs);
    BlockSums {
        sizes: lane_sum(&sizes),
        product: products.iter().product(),
        skew: lane_sum(&bells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropies_equal_those_of_the_reference() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/varlingam.json")).unwrap();
        let case = &golden["entropy"];
        let column = |name: &str| -> Vec<f64> {
            case[name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let round = Round::new(&[column("u"), column("v")], &[0, 1]);
        // Sums in another order.
        let close = |found: f64, name: &str| {
            let wanted = case[name].as_f64().unwrap();
            assert!((found - wanted).abs() < 1e-12, "{name}: {found} and {wanted}");
        };
        close(round.entropies[0], "entropy_u_std");
        close(round.entropies[1], "entropy_v_std");
        close(round.difference(0, 1), "diff_mutual_info_uv");
        let (u, v) = (&round.standard[0], &round.standard[1]);
        let rest = rest_of(u, v, product_sum(u, v) / u.len() as f64);
        for (found, wanted) in rest.iter().zip(column("resid_u_given_v")) {
            assert!((found - wanted).abs() < 1e-12, "rest: {found} and {wanted}");
        }
    }

    #[test]
    fn large_values_do_not_overflow() {
        assert!(entropy_of(&[1e5, -1e5, 0.0, 3.0]).is_finite());
    }

    #[test]
    fn the_search_finds_the_smallest_penalty_of_all() {
        let mut random = driftgraph_core::random::RandomStream::new(
            3,
            driftgraph_core::random::Purpose::System,
            0,
        );
        let columns: Vec<Vec<f64>> =
            (0..40).map(|_| (0..50).map(|_| random.uniform().powi(3)).collect()).collect();
        let left: Vec<usize> = (0..40).collect();
        let round = Round::new(&columns, &left);
        let all = round.penalties();
        let smallest = (0..40).min_by(|&a, &b| all[a].total_cmp(&all[b])).unwrap();
        assert_eq!(round.least_dependent(&mut vec![0.0; 40]), smallest);
    }
}
