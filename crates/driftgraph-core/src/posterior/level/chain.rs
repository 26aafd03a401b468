//! A Gibbs sampler of levels: y_k (I - B) = y_{k-1} A + c + e, with sparse A and B and heavy-tailed e.
//!
//! Levels, not increments: there every effect within a row would have to be paid for a second time by the drift that takes
//! it back. Effects within a row are visited in pairs (none, one way, the other way), so that a link can turn round in
//! one move; the determinant of I - B is exact, by steps of rank one.

mod kept;

use super::link::{LinkEvidence, LinkLaw};
use super::rows::LevelRows;
use crate::numeric::kernels::{View, add_product};
use crate::numeric::linalg::log_det_and_inverse;
use crate::numeric::real::{Real, exp, ln};
use crate::posterior::linear::pools::{BetaLaw, EdgePools, Gate};
use crate::random::{Purpose, RandomStream};

pub use kept::{LevelDraw, LevelMoments, LevelState};

/// Share of the evidence with which a chain begins, so that it can still go anywhere.
const FIRST_HEAT: f64 = 0.05;
/// Share of the burn-in after which all of the evidence counts.
const HEATED: f64 = 0.6;
/// Variance of a variable's effect on itself, in deviations.
const OWN_SLAB: f64 = 0.25;
/// Largest slab.
const MAX_SLAB: f64 = 2.0;
/// Slabs and variances have priors as if this much had been seen.
const PRIOR_SQUARE: f64 = 0.1;
/// Multiplications of a sweep beyond which errors are taken as normal, so that all targets share their sums.
const MOST_WORK: f64 = 5e7;
/// Numbers of chains of levels lie above those of a linear process.
const FIRST_CHAIN: u64 = 1 << 16;

/// Whether errors have heavy tails, for which every target has sums of its own.
pub(crate) fn is_heavy(n_rows: usize, n_variables: usize) -> bool {
    (n_rows * 4 * n_variables.pow(3)) as f64 <= MOST_WORK
}

/// What a chain is run with.
#[derive(Debug, Clone)]
pub struct LevelRules {
    /// Share of the evidence that counts; 1 under a model that is right.
    pub tempering: f64,
    /// Sweeps, those of the beginning among them.
    pub n_sweeps: u64,
    /// Sweeps at the beginning that are not counted.
    pub burn_in: u64,
    /// Law of the share of pairs that are linked within a row.
    pub links: BetaLaw,
    /// Seed of all draws.
    pub seed: u64,
    /// Number of the chain: chains of one seed have draws of their own.
    pub number: u64,
}

/// Sums over counted sweeps of log-odds, probabilities and their complements, `[source, target]`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OddsTotals {
    /// Log-odds with which edges were drawn.
    pub log_odds: Vec<f64>,
    /// Their probabilities.
    pub probabilities: Vec<f64>,
    /// That there is no edge, which has digits where the others round to 1.
    pub absences: Vec<f64>,
}

/// Sums over counted sweeps.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LevelTotals {
    /// Number of counted sweeps.
    pub n: f64,
    /// Of effects of the row before.
    pub lagged: OddsTotals,
    /// Of links within a row, either way: the same for both orders of a pair.
    pub links: OddsTotals,
    /// Effects as they were drawn, `[2 D, D]`: those within a row above those of the row before.
    pub effects: LevelMoments,
    /// Cells that were not observed, in the order of rows.
    pub cells: LevelMoments,
}

/// A chain between two sweeps.
#[derive(Debug, Clone)]
pub struct LevelChain<'a> {
    rows: &'a LevelRows,
    pools: &'a EdgePools,
    rules: LevelRules,
    sweep: u64,
    /// Levels and, beside them, those of the row before: `[row, 2 D]`; cells that were not observed are drawn.
    levels: Vec<f64>,
    /// Where each row is the past of another.
    after: Vec<Option<usize>>,
    /// `[2 D, D]`: B above A.
    effects: Vec<f64>,
    /// Means and squared scales of errors.
    offsets: Vec<f64>,
    scales: Vec<f64>,
    slabs: [f64; 2],
    /// Share of linked pairs, and of lagged effects by pool.
    link_density: f64,
    densities: Vec<f64>,
    heavy: bool,
    totals: LevelTotals,
}

/// Sums of a sweep, weighted by how much each row counts for each target.
struct Sums {
    /// Uᵀ Ω_j U for each target, or one for all of them.
    squares: Vec<f64>,
    /// What the shared one is multiplied by, by target; 1 where each has its own.
    factors: Vec<f64>,
    shared: bool,
    /// Uᵀ Ω_j e_j, `[2 D, D]`.
    products: Vec<f64>,
    width: usize,
}

impl Sums {
    fn square(&self, target: usize, a: usize, b: usize) -> f64 {
        let size = self.width * self.width;
        let first = if self.shared { 0 } else { target * size };
        self.factors[target] * self.squares[first + a * self.width + b]
    }

    /// Takes a change of effect `a` on a target out of what is left.
    fn move_effect(&mut self, a: usize, target: usize, change: f64) {
        if change == 0.0 {
            return;
        }
        let d = self.width / 2;
        for b in 0..self.width {
            self.products[b * d + target] -= self.square(target, b, a) * change;
        }
    }
}

impl OddsTotals {
    fn zeros(n: usize) -> Self {
        Self { log_odds: vec![0.0; n], probabilities: vec![0.0; n], absences: vec![0.0; n] }
    }

    fn add(&mut self, idx: usize, log_odds: f64) {
        self.log_odds[idx] += log_odds;
        self.probabilities[idx] += log_odds.sigmoid();
        self.absences[idx] += (-log_odds).sigmoid();
    }
}

impl<'a> LevelChain<'a> {
    /// Starts without any effect, at the rows' means where cells are missing.
    pub fn new(rows: &'a LevelRows, pools: &'a EdgePools, rules: LevelRules) -> Self {
        let (d, n) = (rows.n_variables, rows.n_rows());
        let mut levels = vec![0.0; n * 2 * d];
        let mut after = vec![None; n];
        for row in 0..n {
            for (idx, value) in rows.row(row).iter().enumerate() {
                levels[row * 2 * d + idx] = if value.is_nan() { 0.0 } else { *value };
            }
            if let Some(before) = rows.before[row] {
                after[before] = Some(row);
            }
        }
        let totals = LevelTotals {
            n: 0.0,
            lagged: OddsTotals::zeros(d * d),
            links: OddsTotals::zeros(d * d),
            effects: LevelMoments::zeros(2 * d * d),
            cells: LevelMoments::zeros(rows.values.iter().filter(|value| value.is_nan()).count()),
        };
        let mut chain = Self {
            rows,
            pools,
            rules,
            sweep: 0,
            levels,
            after,
            effects: vec![0.0; 2 * d * d],
            offsets: vec![0.0; d],
            scales: vec![0.8; d],
            slabs: [0.3, 0.2],
            link_density: 0.15,
            densities: vec![0.1; d],
            heavy: is_heavy(n, d),
            totals,
        };
        (0..n).for_each(|row| chain.copy_to_past(row));
        chain
    }

    /// Whether all sweeps are done.
    pub fn is_done(&self) -> bool {
        self.sweep >= self.rules.n_sweeps
    }

    /// The sums so far.
    #[cfg(test)]
    fn totals(&self) -> &LevelTotals {
        &self.totals
    }

    /// One sweep; `None` where effects within a row have no solution.
    pub fn sweep(&mut self) -> Option<()> {
        let stream = ((FIRST_CHAIN + self.rules.number) << 40) | self.sweep;
        let mut random = RandomStream::new(self.rules.seed, Purpose::Sampler, stream);
        let heat = self.heat();
        let mut errors = self.errors();
        let weights = self.draw_scales(&errors, &mut random);
        if self.draw_missing(&mut errors, &weights, &mut random) {
            errors = self.errors();
        }
        let mut sums = self.sums(&errors, &weights, heat);
        let lagged = self.visit_past(&mut sums, &mut random);
        let links = self.visit_links(&mut sums, heat, &mut random)?;
        self.draw_densities(&mut random);
        if self.sweep >= self.rules.burn_in {
            self.totals.n += 1.0;
            lagged.iter().enumerate().for_each(|(idx, odds)| self.totals.lagged.add(idx, *odds));
            links.iter().enumerate().for_each(|(idx, odds)| self.totals.links.add(idx, *odds));
            self.count_moments();
        }
        self.sweep += 1;
        Some(())
    }

    /// Errors of all rows under the effects drawn last, less their means: `[row, variable]`.
    pub fn errors(&self) -> Vec<f64> {
        let (d, n) = (self.rows.n_variables, self.rows.n_rows());
        let mut errors = Vec::with_capacity(n * d);
        for row in self.levels.chunks_exact(2 * d) {
            errors.extend(row[..d].iter().zip(&self.offsets).map(|(value, offset)| value - offset));
        }
        let minus: Vec<f64> = self.effects.iter().map(|effect| -effect).collect();
        let levels = View::new(&self.levels, n, 2 * d);
        add_product(&mut errors, d, levels, View::new(&minus, 2 * d, d));
        errors
    }

    /// Levels of a row, with cells that were not observed as they were drawn last.
    pub fn level(&self, row: usize) -> &[f64] {
        let d = self.rows.n_variables;
        &self.levels[row * 2 * d..row * 2 * d + d]
    }

    /// How much of the evidence counts now.
    fn heat(&self) -> f64 {
        let warm = self.rules.burn_in as f64 * HEATED;
        let passed = (self.sweep as f64 / warm.max(1.0)).min(1.0);
        self.rules.tempering * exp((1.0 - passed) * ln(FIRST_HEAT))
    }

    /// Draws scales and means of errors, and how much each row counts: `[row, variable]`, or one weight per variable.
    ///
    /// A Laplace error is normal with a variance of its own, drawn given the error (Park and Casella 2008).
    fn draw_scales(&mut self, errors: &[f64], random: &mut RandomStream) -> Vec<f64> {
        let d = self.rows.n_variables;
        let n = self.rows.n_rows() as f64;
        if !self.heavy {
            let mut weights = vec![0.0; d];
            for idx in 0..d {
                let of = || errors.iter().skip(idx).step_by(d);
                let mean = of().sum::<f64>() / n;
                let square: f64 = of().map(|error| (error - mean).powi(2)).sum();
                self.scales[idx] = random.inverse_gamma(0.5 * n, 0.5 * (square + PRIOR_SQUARE));
                self.offsets[idx] += mean + random.normal() * (self.scales[idx] / n).sqrt();
                weights[idx] = 1.0 / self.scales[idx];
            }
            return weights;
        }
        let mut weights = vec![0.0; errors.len()];
        for idx in 0..d {
            let (mut spread, mut weight, mut pull) = (0.0, 0.0, 0.0);
            for at in (idx..errors.len()).step_by(d) {
                let mean = 1.0 / (self.scales[idx].sqrt() * (errors[at].abs() + 1e-6));
                let drawn = inverse_gaussian(mean, 1.0 / self.scales[idx], random);
                weights[at] = drawn.clamp(1e-4, 1e6);
                spread += 1.0 / weights[at];
                weight += weights[at];
                pull += weights[at] * errors[at];
            }
            self.scales[idx] = random.inverse_gamma(n + 1.0, 0.5 * spread + PRIOR_SQUARE);
            self.offsets[idx] += pull / weight + random.normal() / weight.sqrt();
        }
        weights
    }

    /// Draws every cell that was not observed, given all others; whether there are any.
    fn draw_missing(
        &mut self,
        errors: &mut [f64],
        weights: &[f64],
        random: &mut RandomStream,
    ) -> bool {
        let d = self.rows.n_variables;
        let mut any = false;
        for at in 0..self.rows.values.len() {
            if !self.rows.values[at].is_nan() {
                continue;
            }
            any = true;
            let (row, cell) = (at / d, at % d);
            let weight = |row: usize, target: usize| {
                if self.heavy { weights[row * d + target] } else { weights[target] }
            };
            let (mut precision, mut pull) = (1e-6, 0.0);
            for target in 0..d {
                let own = f64::from(u8::from(target == cell)) - self.effects[cell * d + target];
                precision += weight(row, target) * own * own;
                pull -= weight(row, target) * own * errors[row * d + target];
                if let Some(next) = self.after[row] {
                    let later = -self.effects[(d + cell) * d + target];
                    precision += weight(next, target) * later * later;
                    pull -= weight(next, target) * later * errors[next * d + target];
                }
            }
            let change = pull / precision + random.normal() / precision.sqrt();
            self.levels[row * 2 * d + cell] += change;
            for target in 0..d {
                let own = f64::from(u8::from(target == cell)) - self.effects[cell * d + target];
                errors[row * d + target] += own * change;
                if let Some(next) = self.after[row] {
                    errors[next * d + target] -= self.effects[(d + cell) * d + target] * change;
                }
            }
            self.copy_to_past(row);
        }
        any
    }

    /// Writes a row's levels into the past of the row after it.
    fn copy_to_past(&mut self, row: usize) {
        let d = self.rows.n_variables;
        if let Some(next) = self.after[row] {
            let from = row * 2 * d;
            self.levels.copy_within(from..from + d, next * 2 * d + d);
        }
    }

    fn sums(&self, errors: &[f64], weights: &[f64], heat: f64) -> Sums {
        let (d, n) = (self.rows.n_variables, self.rows.n_rows());
        let width = 2 * d;
        let levels = View::new(&self.levels, n, width);
        let mut products = vec![0.0; width * d];
        if !self.heavy {
            let mut squares = vec![0.0; width * width];
            add_product(&mut squares, width, levels.t(), levels);
            add_product(&mut products, d, levels.t(), View::new(errors, n, d));
            let factors: Vec<f64> = weights.iter().map(|weight| weight * heat).collect();
            for row in products.chunks_exact_mut(d) {
                row.iter_mut().zip(&factors).for_each(|(product, factor)| *product *= factor);
            }
            return Sums { squares, factors, shared: true, products, width };
        }
        let weighted: Vec<f64> =
            errors.iter().zip(weights).map(|(error, weight)| error * weight * heat).collect();
        add_product(&mut products, d, levels.t(), View::new(&weighted, n, d));
        let mut squares = vec![0.0; d * width * width];
        let mut scaled = vec![0.0; n * width];
        for (target, out) in squares.chunks_exact_mut(width * width).enumerate() {
            let rows = scaled.chunks_exact_mut(width).zip(self.levels.chunks_exact(width));
            for (row, (scaled, levels)) in rows.enumerate() {
                let weight = weights[row * d + target] * heat;
                scaled.iter_mut().zip(levels).for_each(|(out, level)| *out = weight * level);
            }
            add_product(out, width, View::new(&scaled, n, width).t(), levels);
        }
        Sums { squares, factors: vec![1.0; d], shared: false, products, width }
    }

    /// Draws every effect of the row before; the log-odds with which gates were drawn, `[source, target]`.
    fn visit_past(&mut self, sums: &mut Sums, random: &mut RandomStream) -> Vec<f64> {
        let d = self.rows.n_variables;
        let mut odds = vec![0.0; d * d];
        for source in shuffled(d, random) {
            let a = d + source;
            for target in 0..d {
                let at = a * d + target;
                let slab = if source == target { OWN_SLAB } else { self.slabs[1].powi(2) };
                let square = sums.square(target, a, a);
                let precision = square + 1.0 / slab;
                let mean = (sums.products[at] + square * self.effects[at]) / precision;
                let density = self.densities[self.pools.pool(source, target)];
                let prior = match self.pools.law() {
                    Some(_) => ln(density / (1.0 - density)),
                    None => self.pools.fixed_log_odds(),
                };
                let evidence = 0.5 * mean * mean * precision - 0.5 * ln(precision * slab);
                let own = prior + self.pools.knowledge(source, target) + evidence;
                let gate = self.pools.gate(source, target);
                odds[source * d + target] = match gate {
                    Gate::Off => f64::NEG_INFINITY,
                    Gate::On if source != target => f64::INFINITY,
                    _ => own,
                };
                let open = match gate {
                    Gate::On => true,
                    Gate::Off => false,
                    Gate::Free => random.uniform() < own.sigmoid(),
                };
                let drawn = if open { mean + random.normal() / precision.sqrt() } else { 0.0 };
                sums.move_effect(a, target, drawn - self.effects[at]);
                self.effects[at] = drawn;
            }
        }
        odds
    }

    /// Draws every pair's link; the log-odds of a link either way, `[variable, variable]`.
    fn visit_links(
        &mut self,
        sums: &mut Sums,
        heat: f64,
        random: &mut RandomStream,
    ) -> Option<Vec<f64>> {
        let d = self.rows.n_variables;
        let mut inverse = self.propagation()?;
        let mut odds = vec![f64::NEG_INFINITY; d * d];
        let pairs: Vec<[usize; 2]> = (0..d).flat_map(|i| (i + 1..d).map(move |j| [i, j])).collect();
        let prior = ln(0.5 * self.link_density / (1.0 - self.link_density));
        for number in shuffled(pairs.len(), random) {
            let [i, j] = pairs[number];
            for [source, target] in [[i, j], [j, i]] {
                let effect = self.effects[source * d + target];
                self.set_link(source, target, 0.0, sums);
                step_of_rank_one(&mut inverse, d, [source, target], -effect);
            }
            let way = |source: usize, target: usize| {
                let law = LinkEvidence {
                    square: sums.square(target, source, source),
                    product: sums.products[source * d + target],
                    comes_back: inverse[target * d + source],
                    n_rows: self.rows.n_rows() as f64 * heat,
                    slab: self.slabs[0].powi(2),
                }
                .law();
                let own = match self.pools.gate(source, target) {
                    Gate::Off => f64::NEG_INFINITY,
                    Gate::On => prior + law.evidence,
                    Gate::Free => prior + self.pools.knowledge(source, target) + law.evidence,
                };
                (law, own)
            };
            let ways: [(LinkLaw, f64); 2] = [way(i, j), way(j, i)];
            let either = log_sum(ways[0].1, ways[1].1);
            odds[i * d + j] = either;
            odds[j * d + i] = either;
            if random.uniform() >= either.sigmoid() {
                continue;
            }
            let first = random.uniform() < (ways[0].1 - ways[1].1).sigmoid();
            let ([source, target], law) =
                if first { ([i, j], ways[0].0) } else { ([j, i], ways[1].0) };
            let mut effect = law.mode + random.normal() / law.precision.sqrt();
            if 1.0 - effect * inverse[target * d + source] < 1e-6 {
                effect = law.mode;
            }
            self.set_link(source, target, effect, sums);
            step_of_rank_one(&mut inverse, d, [source, target], effect);
        }
        Some(odds)
    }

    /// (I - B)⁻¹.
    fn propagation(&self) -> Option<Vec<f64>> {
        let d = self.rows.n_variables;
        let mut left: Vec<f64> = self.effects[..d * d].iter().map(|effect| -effect).collect();
        (0..d).for_each(|idx| left[idx * (d + 1)] += 1.0);
        Some(log_det_and_inverse(&left, d)?.1)
    }

    fn set_link(&mut self, source: usize, target: usize, effect: f64, sums: &mut Sums) {
        let at = source * self.rows.n_variables + target;
        sums.move_effect(source, target, effect - self.effects[at]);
        self.effects[at] = effect;
    }

    /// Densities of links and lagged effects, and the slabs of both.
    fn draw_densities(&mut self, random: &mut RandomStream) {
        let d = self.rows.n_variables;
        let n_pairs = (d * (d.max(1) - 1) / 2) as f64;
        let linked = self.effects[..d * d].iter().filter(|effect| **effect != 0.0).count() as f64;
        let BetaLaw { alpha, beta } = self.rules.links;
        let density = random.beta(alpha + linked, beta + n_pairs - linked);
        self.link_density = density.clamp(1e-9, 1.0 - 1e-9);
        let mut counts = vec![0.0; d];
        let (mut n_past, mut square_past) = (0.0, 0.0);
        for at in 0..d * d {
            let (source, target, effect) = (at / d, at % d, self.effects[d * d + at]);
            if source != target && effect != 0.0 {
                n_past += 1.0;
                square_past += effect * effect;
                if self.pools.gate(source, target) == Gate::Free {
                    counts[self.pools.pool(source, target)] += 1.0;
                }
            }
        }
        if let Some(BetaLaw { alpha, beta }) = self.pools.law() {
            for ((density, edges), size) in
                self.densities.iter_mut().zip(&counts).zip(self.pools.sizes())
            {
                let drawn = random.beta(alpha + edges, beta + size - edges);
                *density = drawn.clamp(1e-9, 1.0 - 1e-9);
            }
        }
        let square_links: f64 = self.effects[..d * d].iter().map(|effect| effect * effect).sum();
        let mut slab = |n: f64, square: f64| {
            let rate = 0.5 * (PRIOR_SQUARE + square);
            random.inverse_gamma(0.5 * (n + 1.0), rate).sqrt().min(MAX_SLAB)
        };
        self.slabs = [slab(linked, square_links), slab(n_past, square_past)];
    }
}

/// (M - b e_source e_targetᵀ)⁻¹ from M⁻¹, in place.
fn step_of_rank_one(inverse: &mut [f64], d: usize, [source, target]: [usize; 2], effect: f64) {
    if effect == 0.0 {
        return;
    }
    let column: Vec<f64> = (0..d).map(|row| inverse[row * d + source]).collect();
    let row = inverse[target * d..(target + 1) * d].to_vec();
    let factor = effect / (1.0 - effect * row[source]);
    for (out, left) in inverse.chunks_exact_mut(d).zip(&column) {
        out.iter_mut().zip(&row).for_each(|(out, right)| *out += factor * left * right);
    }
}

fn log_sum(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    if most == f64::NEG_INFINITY { most } else { most + ln(exp(a - most) + exp(b - most)) }
}

fn shuffled(n: usize, random: &mut RandomStream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    random.shuffle(&mut order);
    order
}

/// A number of the inverse Gaussian law (Michael, Schucany and Haas 1976).
fn inverse_gaussian(mean: f64, shape: f64, random: &mut RandomStream) -> f64 {
    let square = random.normal().powi(2);
    let half = 0.5 * mean * square / shape;
    // The smaller root, written so that it has digits where the mean is huge.
    let root = mean / (1.0 + half + (half * (2.0 + half)).sqrt());
    if random.uniform() <= mean / (mean + root) { root } else { mean * (mean / root) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::density::GraphDensity;
    use crate::graph::prior::EdgePrior;

    const RULES: LevelRules = LevelRules {
        tempering: 1.0,
        n_sweeps: 250,
        burn_in: 80,
        links: BetaLaw { alpha: 1.0, beta: 3.0 },
        seed: 1000,
        number: 0,
    };

    /// Four variables: 0 moves 1 within a row, 1 moves 2 a row later, 3 is alone.
    fn rows(n: usize, missing: f64) -> LevelRows {
        let mut random = RandomStream::new(1001, Purpose::System, 0);
        let mut laplace = || {
            let sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
            -sign * random.uniform().max(1e-12).ln()
        };
        let (mut state, mut values) = ([0.0; 4], Vec::new());
        for _ in 0..n {
            let [a, b, c, e] = state;
            let first = 0.4 * a + laplace();
            state = [
                first,
                0.3 * b + 0.7 * first + laplace(),
                0.2 * c + 0.5 * b + laplace(),
                0.5 * e + laplace(),
            ];
            values.extend(state.map(|value| 0.5 * value));
        }
        let mut holes = RandomStream::new(1002, Purpose::MissingCells, 0);
        for value in &mut values {
            if holes.uniform() < missing {
                *value = f64::NAN;
            }
        }
        let before = (0..n).map(|row| row.checked_sub(1)).collect();
        LevelRows {
            n_variables: 4,
            values,
            before,
            places: (0..n).collect(),
            n_series: 1,
            series: vec![0; n],
            times: (0..n).map(|row| row as f64).collect(),
            usual_gap: 1.0,
        }
    }

    fn run(rows: &LevelRows, knowledge: &EdgePrior, rules: LevelRules) -> LevelTotals {
        let pools = EdgePools::new(GraphDensity::default(), knowledge);
        let mut chain = LevelChain::new(rows, &pools, rules);
        while !chain.is_done() {
            chain.sweep().unwrap();
        }
        chain.totals().clone()
    }

    fn mean(totals: &LevelTotals, of: &OddsTotals, idx: usize) -> f64 {
        of.probabilities[idx] / totals.n
    }

    #[test]
    fn links_and_lagged_effects_are_found_apart_also_with_missing_cells() {
        for missing in [0.0, 0.15] {
            let totals = run(&rows(400, missing), &EdgePrior::new(4, 0.0), RULES);
            let link = |idx: usize| mean(&totals, &totals.links, idx);
            let past = |idx: usize| mean(&totals, &totals.lagged, idx);
            assert!(link(1) > 0.99 && link(4) == link(1), "{totals:?}");
            assert!(past(6) > 0.99, "{totals:?}");
            let absent = [link(2), link(3), link(7), link(11), past(3), past(8), past(13)];
            assert!(absent.iter().all(|p| *p < 0.5), "{absent:?}");
        }
    }

    #[test]
    fn what_is_forbidden_both_ways_is_no_link_and_what_is_required_has_no_gate() {
        let mut knowledge = EdgePrior::new(4, 0.0);
        for (source, target) in [(0, 1), (1, 0)] {
            knowledge.know(source, target, 0.0).unwrap();
        }
        let totals = run(&rows(200, 0.0), &knowledge, RULES);
        assert_eq!(mean(&totals, &totals.links, 1), 0.0);
        assert!(mean(&totals, &totals.links, 2) > 0.0);
    }

    #[test]
    fn the_inverse_follows_steps_of_rank_one() {
        let mut inverse = vec![0.0; 9];
        (0..3).for_each(|idx| inverse[idx * 4] = 1.0);
        let mut left = inverse.clone();
        for (source, target, effect) in [(0, 1, 0.6), (1, 2, -0.4), (2, 0, 0.9), (0, 1, -0.2)] {
            step_of_rank_one(&mut inverse, 3, [source, target], effect);
            left[source * 3 + target] -= effect;
        }
        let (_, wanted) = log_det_and_inverse(&left, 3).unwrap();
        for (found, wanted) in inverse.iter().zip(&wanted) {
            // Four steps of a few roundings each.
            assert!((found - wanted).abs() < 1e-13, "{found} {wanted}");
        }
    }

    #[test]
    fn inverse_gaussian_numbers_have_the_moments_of_their_law() {
        let mut random = RandomStream::new(7, Purpose::Sampler, 1);
        let (mean, shape, n) = (1.5, 2.0, 40_000);
        let drawn: Vec<f64> = (0..n).map(|_| inverse_gaussian(mean, shape, &mut random)).collect();
        let found = drawn.iter().sum::<f64>() / f64::from(n);
        let variance = drawn.iter().map(|x| (x - found).powi(2)).sum::<f64>() / f64::from(n);
        // Variance mean³ / shape = 1.6875; errors of 40,000 draws, of which the fourth moment is large.
        assert!((found - mean).abs() < 0.04, "{found}");
        assert!((variance / 1.6875 - 1.0).abs() < 0.12, "{variance}");
    }
}
