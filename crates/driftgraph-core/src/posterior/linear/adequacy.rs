//! How far a linear process is from the data, told by what its innovations still contain.
//!
//! Innovations of a process that is right are noise. For every target the share of their variance is estimated that
//! products of the states, the past, the time or the innovations of the other variables explain. A model that is wrong gives
//! absent edges weights that are truly not zero, and no amount of data repairs that: the shares say how much of the
//! evidence may count, and they say what to try next.

mod innovations;
mod share;

use rayon::prelude::*;

use super::ascent::AscentState;
use super::grid::LinearGrid;
use super::joint::SmoothedPaths;
use crate::numeric::kernels::{View, add_product};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::random::{Purpose, RandomStream};
pub use innovations::{InnovationRows, Neighbours};
use share::{Features, explained_shares};

/// How much a share of the variance counts against the evidence, per row: of products, and of anything else.
const PRODUCT_WEIGHT: f64 = 0.01;
const OTHER_WEIGHT: f64 = 0.03;
/// Clusters into which series are cut where there are fewer of them.
const MIN_CLUSTERS: usize = 10;
/// Most products of states that are tried; more are thinned at random.
const MOST_PRODUCTS: usize = 6_000;
/// Targets that are asked where few variables may drive many.
const MOST_TARGETS: usize = 40;
/// Most other variables whose innovations are tried.
const MOST_OTHERS: usize = 100;

/// What the innovations of one variable still contain: shares of their variance.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Shares {
    /// Explained by products of more states than the process multiplies: two of a linear one.
    pub products: f64,
    /// Explained by earlier states and innovations: delays, hidden states.
    pub past: f64,
    /// Explained by the time within a series: seasons, regimes.
    pub time: f64,
    /// Explained by what the other variables do in the same step: rows too far apart, or a common cause.
    pub others: f64,
}

/// What the innovations of a linear process still contain, and what that means for its evidence.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Adequacy {
    /// By target.
    pub shares: Vec<Shares>,
    /// How much more the scores of series vary than independent steps would let them, by target; at least 1.
    pub clustering: Vec<f64>,
    /// Number of rows the shares were estimated from; 0 where there were too few.
    pub n_rows: f64,
}

impl Adequacy {
    /// Asks the innovations of a process that was fitted by coordinate ascent.
    pub fn new(grid: &LinearGrid, state: &AscentState, paths: &SmoothedPaths) -> Self {
        let clustering = clustering(grid, state, paths);
        if !grid.rows().is_all() {
            return Self { clustering, ..Self::of_few_sources(grid, state, paths) };
        }
        let rows = InnovationRows::of_linear(grid, &state.dynamics, &paths.means);
        Self { clustering, ..Self::of_rows(&rows) }
    }

    /// The same where few may drive many: asks the sources and some of the targets, who speak for the others.
    fn of_few_sources(grid: &LinearGrid, state: &AscentState, paths: &SmoothedPaths) -> Self {
        let d = grid.n_variables();
        let is_target = |idx: &usize| grid.rows().n_common(*idx) > 0;
        let targets: Vec<usize> = (0..d).filter(is_target).collect();
        let every = targets.len().div_ceil(MOST_TARGETS).max(1);
        let asked: Vec<usize> = targets.into_iter().step_by(every).collect();
        let mut chosen = [grid.rows().common(), &asked].concat();
        chosen.sort_unstable();
        chosen.dedup();
        // With hardly more rows than columns anything would explain everything.
        if chosen.len() < 2 || grid.layout().n_steps() < 2 * (chosen.len() + 1) {
            return Self::unknown(d);
        }
        let rows = InnovationRows::of_some(grid, &state.dynamics, &paths.means, &chosen);
        let found = Self::of_rows(&rows);
        if found.n_rows == 0.0 {
            return Self::unknown(d);
        }
        let own = |idx: usize| chosen.binary_search(&idx).ok().map(|place| found.shares[place]);
        let spoken: Vec<Shares> = asked.iter().filter_map(|&idx| own(idx)).collect();
        let usual = Self { shares: spoken, ..Self::unknown(0) }.mean_shares();
        let shares = (0..d).map(|idx| own(idx).unwrap_or(usual)).collect();
        Self { shares, clustering: vec![1.0; d], n_rows: found.n_rows }
    }

    /// Asks innovations that are known, with the states before them.
    pub fn of_rows(rows: &InnovationRows) -> Self {
        let d = rows.n_variables();
        // With hardly more rows than variables nothing is left once the states are taken out.
        if rows.n_rows() < 2 * rows.n_explained() {
            return Self::unknown(d);
        }
        Self { shares: shares(rows), clustering: vec![1.0; d], n_rows: rows.n_rows() as f64 }
    }

    /// Nothing can be said.
    pub fn unknown(n_variables: usize) -> Self {
        let (shares, clustering) = (vec![Shares::default(); n_variables], vec![1.0; n_variables]);
        Self { shares, clustering, n_rows: 0.0 }
    }

    /// The share of the evidence that counts, by target.
    pub fn tempering(&self) -> Vec<f64> {
        let weight = |(shares, clustering): (&Shares, &f64)| {
            let Shares { products, past, time, others } = shares;
            let wrong = PRODUCT_WEIGHT * products + OTHER_WEIGHT * (past + time + others);
            1.0 / ((1.0 + self.n_rows * wrong) * clustering.max(1.0))
        };
        self.shares.iter().zip(&self.clustering).map(weight).collect()
    }

    /// The share of the evidence that counts, over all targets.
    pub fn mean_tempering(&self) -> f64 {
        let all = self.tempering();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// Mean shares over the variables.
    pub fn mean_shares(&self) -> Shares {
        let n = self.shares.len().max(1) as f64;
        let mean = |of: fn(&Shares) -> f64| self.shares.iter().map(of).sum::<f64>() / n;
        Shares {
            products: mean(|shares| shares.products),
            past: mean(|shares| shares.past),
            time: mean(|shares| shares.time),
            others: mean(|shares| shares.others),
        }
    }

    /// The same with variables in another order: entry `k` of the new is `order[k]` of this.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        Self {
            shares: order.iter().map(|&idx| self.shares[idx]).collect(),
            clustering: order.iter().map(|&idx| self.clustering[idx]).collect(),
            n_rows: self.n_rows,
        }
    }
}

/// Shares of all targets.
fn shares(rows: &InnovationRows) -> Vec<Shares> {
    let d = rows.n_variables();
    let errors = rows.projected(rows.errors(), d);
    // Of a linear process they are few, and left in the count, as they were when its beliefs were put to the test; of a
    // polynomial they may be half of the rows, which anything would explain.
    let n_taken = if rows.degree() > 1 { rows.n_explained() } else { 0 };
    let share = |features: &Features| explained_shares(features, &errors, d, n_taken);
    let products = share(&products_of_states(rows));
    let past = share(&rows.features(rows.past(), 2 * d));
    let time = rows.time_features().map_or_else(|| vec![0.0; d], |features| share(&features));
    let others: Vec<f64> = (0..d)
        .into_par_iter()
        .map(|target| {
            let chosen = spread_choice(d, target);
            let n = errors.len() / d;
            let mut columns = Vec::with_capacity(n * chosen.len());
            for row in errors.chunks_exact(d) {
                columns.extend(chosen.iter().map(|&idx| row[idx]));
            }
            let own: Vec<f64> = errors.chunks_exact(d).map(|row| row[target]).collect();
            let features = Features { n_columns: chosen.len(), values: columns };
            explained_shares(&features, &own, 1, n_taken)[0]
        })
        .collect();
    (0..d)
        .map(|idx| Shares {
            products: products[idx],
            past: past[idx],
            time: time[idx],
            others: others[idx],
        })
        .collect()
}

/// All other variables, or as many as are tried, evenly spread.
fn spread_choice(d: usize, target: usize) -> Vec<usize> {
    let all: Vec<usize> = (0..d).filter(|&idx| idx != target).collect();
    let every = all.len().div_ceil(MOST_OTHERS).max(1);
    all.into_iter().step_by(every).collect()
}

/// Products of one more state than the process multiplies.
fn products_of_states(rows: &InnovationRows) -> Features {
    let d = rows.n_variables();
    let mut products: Vec<Vec<usize>> = (0..d).map(|idx| vec![idx]).collect();
    for _ in 0..rows.degree() {
        let longer = products.iter().flat_map(|factors| {
            let last = factors[factors.len() - 1];
            (last..d).map(move |next| [&factors[..], &[next]].concat())
        });
        products = longer.collect();
        if products.len() > MOST_PRODUCTS {
            RandomStream::new(0, Purpose::Resampling, 1).shuffle(&mut products);
            products.truncate(MOST_PRODUCTS);
        }
    }
    let standard = rows.standard_states();
    let mut values = Vec::with_capacity(rows.n_rows() * products.len());
    for row in standard.chunks_exact(d) {
        values.extend(
            products.iter().map(|factors| factors.iter().map(|&idx| row[idx]).product::<f64>()),
        );
    }
    rows.features(&values, products.len())
}

/// tr(H⁻¹ B_j) / ((D + 1) g_j) with B_j the variance of scores over series, or blocks of few long ones.
fn clustering(grid: &LinearGrid, state: &AscentState, paths: &SmoothedPaths) -> Vec<f64> {
    if !grid.rows().is_all() {
        return clustering_by_row(grid, state, paths);
    }
    let (d, m) = (grid.n_variables(), grid.n_variables() + 1);
    let scores = innovations::cluster_scores(grid, &state.dynamics, &paths.means, MIN_CLUSTERS);
    let n = scores.len() as f64;
    if scores.len() < 2 {
        return vec![1.0; d];
    }
    let mut information = paths.sums.products.clone();
    let trace: f64 = (0..m).map(|idx| information[idx * (m + 1)]).sum();
    for idx in 0..m {
        information[idx * (m + 1)] += 1e-9 * trace / m as f64;
    }
    let Some(factor) = cholesky(&information, m) else { return vec![1.0; d] };
    let mut mean = vec![0.0; d * m];
    for score in &scores {
        mean.iter_mut().zip(score).for_each(|(mean, score)| *mean += score / n);
    }
    let mut totals = vec![0.0; d];
    for score in &scores {
        // Columns are targets: L⁻¹ s_j for all at once, whose squared length is s_j' H⁻¹ s_j.
        let centred: Vec<f64> = score.iter().zip(&mean).map(|(score, mean)| score - mean).collect();
        let mut columns = vec![0.0; d * m];
        crate::numeric::kernels::transpose(&mut columns, &centred, d, m);
        solve_lower(&factor, m, &mut columns, d);
        for row in columns.chunks_exact(d) {
            totals.iter_mut().zip(row).for_each(|(total, value)| *total += value * value);
        }
    }
    (totals.iter().zip(&state.dynamics.variances))
        .map(|(total, variance)| (total / (n - 1.0) * n / (m as f64 * variance)).max(1.0))
        .collect()
}

/// The same where every target has columns of its own.
fn clustering_by_row(grid: &LinearGrid, state: &AscentState, paths: &SmoothedPaths) -> Vec<f64> {
    let scores = innovations::cluster_scores(grid, &state.dynamics, &paths.means, MIN_CLUSTERS);
    let (n, rows) = (scores.len() as f64, grid.rows());
    let of_target = |target: usize| {
        let row = rows.row(target);
        let m = row.len();
        let mut information = paths.sums.products_of(target).whole();
        let trace: f64 = (0..m).map(|idx| information[idx * (m + 1)]).sum();
        for idx in 0..m {
            information[idx * (m + 1)] += 1e-9 * trace / m as f64;
        }
        let factor = cholesky(&information, m)?;
        let mean = |idx: usize| scores.iter().map(|score| score[row.start + idx]).sum::<f64>() / n;
        let means: Vec<f64> = (0..m).map(mean).collect();
        let mut total = 0.0;
        for score in &scores {
            let own = score[row.clone()].iter().zip(&means);
            let mut centred: Vec<f64> = own.map(|(score, mean)| score - mean).collect();
            solve_lower(&factor, m, &mut centred, 1);
            total += centred.iter().map(|value| value * value).sum::<f64>();
        }
        let variance = state.dynamics.variances[target];
        Some((total / (n - 1.0) * n / (m as f64 * variance)).max(1.0))
    };
    if scores.len() < 2 {
        return vec![1.0; grid.n_variables()];
    }
    (0..grid.n_variables()).into_par_iter().map(|idx| of_target(idx).unwrap_or(1.0)).collect()
}

/// F - U (U'U)⁻¹ U'F for rows of states with a constant; `[row, column]`.
fn without_states(states: &[f64], n_states: usize, columns: &[f64], n_columns: usize) -> Vec<f64> {
    let n = states.len() / n_states;
    let states = View::new(states, n, n_states);
    let mut moments = vec![0.0; n_states * n_states];
    add_product(&mut moments, n_states, states.t(), states);
    let trace: f64 = (0..n_states).map(|idx| moments[idx * (n_states + 1)]).sum();
    for idx in 0..n_states {
        moments[idx * (n_states + 1)] += 1e-10 * trace / n_states as f64;
    }
    let mut left = columns.to_vec();
    let Some(factor) = cholesky(&moments, n_states) else { return left };
    let mut effects = vec![0.0; n_states * n_columns];
    add_product(&mut effects, n_columns, states.t(), View::new(columns, n, n_columns));
    solve_lower(&factor, n_states, &mut effects, n_columns);
    solve_upper(&factor, n_states, &mut effects, n_columns);
    effects.iter_mut().for_each(|effect| *effect = -*effect);
    add_product(&mut left, n_columns, states, View::new(&effects, n_states, n_columns));
    left
}
