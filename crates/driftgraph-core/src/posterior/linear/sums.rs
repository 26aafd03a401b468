//! Sums over steps: all that linear effects can be learned from.

use std::sync::Arc;

use super::dynamics::LinearDynamics;
use super::effect_rows::EffectRows;
use super::grid::LinearGrid;
use crate::Amount;
use crate::numeric::kernels::{View, add_product};
use crate::posterior::bridge::layout::SeriesRows;

/// Steps handled at once: their rows stay in cache.
const BLOCK: usize = 256;

/// Moments of states before steps and of what the steps added, over all series.
///
/// With u = (z, 1) before a step of length h and d its increment in increment scales.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSums {
    rows: Arc<EffectRows>,
    /// Σ h u u' of the common sources and the constant, symmetric: D + 1 rows where there is room for every effect.
    pub products: Vec<f64>,
    /// Σ h z u of a target z with its own row, in the rows of effects; empty where no row has a column of its own.
    with_own: Vec<f64>,
    /// Σ u d', in the rows of effects: `[target, source]`, D rows of D + 1, where there is room for every effect.
    pub responses: Vec<f64>,
    /// Σ d² / h by target.
    pub squares: Vec<f64>,
    /// Number of steps, by target: those that say something of its causes.
    pub n_steps: Vec<f64>,
    /// The products of a target's own steps, where some of them say nothing of its causes.
    own_products: Vec<Option<Vec<f64>>>,
    /// What is needed to learn by how much variables are pushed, by amount.
    pub pushes: Vec<PushSums>,
}

/// Sums over the steps in which a variable is pushed by one amount, each with its share s of the step.
#[derive(Debug, Clone, PartialEq)]
pub struct PushSums {
    /// The variable.
    pub target: usize,
    /// Σ s² h.
    pub square: f64,
    /// Σ s d.
    pub response: f64,
    /// Σ s h u, in the columns of the target.
    pub states: Vec<f64>,
}

/// Σ h u u' of the columns of one target.
#[derive(Debug, Clone, Copy)]
pub(super) enum Products<'a> {
    /// All of it.
    Whole { values: &'a [f64], n: usize },
    /// What the common columns have with each other, and what the target's own column has with all.
    Parts { common: &'a [f64], n: usize, first: usize, own: &'a [f64] },
}

impl Products<'_> {
    /// Σ h u² of one column.
    pub(super) fn square(&self, column: usize) -> f64 {
        match self {
            Self::Whole { values, n } => values[column * (n + 1)],
            Self::Parts { common, n, first, own } => {
                if column + 1 == own.len() {
                    own[column]
                } else {
                    common[(first + column) * (n + 1)]
                }
            }
        }
    }

    /// Adds a multiple of the row of one column.
    pub(super) fn add_row(&self, column: usize, weight: f64, into: &mut [f64]) {
        let add = |into: &mut [f64], row: &[f64]| {
            into.iter_mut().zip(row).for_each(|(into, product)| *into += weight * product);
        };
        match self {
            Self::Whole { values, n } => add(into, &values[column * n..(column + 1) * n]),
            Self::Parts { common, n, first, own } => {
                let last = own.len() - 1;
                if column == last {
                    add(into, own);
                } else {
                    let row = &common[(first + column) * n + first..(first + column + 1) * n];
                    add(&mut into[..last], row);
                    into[last] += weight * own[column];
                }
            }
        }
    }

    /// The whole matrix.
    pub(super) fn whole(&self) -> Vec<f64> {
        let n = match self {
            Self::Whole { n, .. } => *n,
            Self::Parts { own, .. } => own.len(),
        };
        let mut all = vec![0.0; n * n];
        all.chunks_exact_mut(n)
            .enumerate()
            .for_each(|(column, row)| self.add_row(column, 1.0, row));
        all
    }
}

impl StepSums {
    /// Nothing, for D variables with room for every effect.
    pub fn zero(n_variables: usize) -> Self {
        Self::none(&Arc::new(EffectRows::all(n_variables)))
    }

    /// Nothing, for these rows of effects.
    pub fn none(rows: &Arc<EffectRows>) -> Self {
        let (d, m) = (rows.n_variables(), rows.common().len() + 1);
        Self {
            rows: Arc::clone(rows),
            products: vec![0.0; m * m],
            with_own: if rows.is_all() { Vec::new() } else { vec![0.0; rows.len()] },
            responses: vec![0.0; rows.len()],
            squares: vec![0.0; d],
            n_steps: vec![0.0; d],
            own_products: vec![None; d],
            pushes: Vec::new(),
        }
    }

    /// The rows of effects.
    pub(super) fn rows(&self) -> &EffectRows {
        &self.rows
    }

    /// Σ h u u' over the steps that say something of a target's causes.
    pub(super) fn products_of(&self, target: usize) -> Products<'_> {
        let row = self.rows.row(target);
        if let Some(values) = &self.own_products[target] {
            return Products::Whole { values, n: row.len() };
        }
        let n = self.rows.common().len() + 1;
        if self.rows.own(target).is_none() {
            return Products::Whole { values: &self.products, n };
        }
        let first = n - 1 - self.rows.n_common(target);
        Products::Parts { common: &self.products, n, first, own: &self.with_own[row] }
    }

    /// The products of a target's own steps, where some of all steps say nothing of its causes.
    pub(super) fn own_products(&self, target: usize) -> Option<&[f64]> {
        self.own_products[target].as_deref()
    }

    /// Σ h u² of one entry of a target's row.
    pub(super) fn square(&self, entry: usize, target: usize) -> f64 {
        self.products_of(target).square(entry - self.rows.row(target).start)
    }

    /// Whether all targets have the same products.
    fn shares_products(&self) -> bool {
        self.rows.is_all() && self.own_products.iter().all(Option::is_none)
    }

    /// What a step adds to the products, kept from those targets of which it says nothing.
    pub(super) fn keep_from(&mut self, target: usize, change: impl Fn(&mut [f64])) {
        let m = self.rows.row(target).len();
        // Gathered with the opposite sign until all steps are seen.
        let own = self.own_products[target].get_or_insert_with(|| vec![0.0; m * m]);
        change(own);
    }

    /// From what was kept from targets to their own products.
    pub(super) fn finish(&mut self) {
        for target in 0..self.n_variables() {
            let Some(mut own) = self.own_products[target].take() else { continue };
            let all = self.products_of(target).whole();
            own.iter_mut().zip(&all).for_each(|(own, all)| *own += all);
            self.own_products[target] = Some(own);
        }
    }

    /// Adds the variance of the state of one variable before steps, times their length.
    pub(super) fn add_variance(&mut self, variable: usize, value: f64) {
        let m = self.rows.common().len() + 1;
        if let Some(place) = self.rows.common_place(variable) {
            self.products[place * (m + 1)] += value;
        }
        if let Some(own) = self.rows.own(variable) {
            self.with_own[own] += value;
        }
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.squares.len()
    }

    /// Sums over known paths, `[point, variable]` in the rows of the grid.
    pub fn of_paths(grid: &LinearGrid, paths: &[f64]) -> Self {
        let mut sums = Self::none(grid.rows());
        sums.add_paths(grid, paths);
        sums.finish();
        sums
    }

    /// Adds the steps of all series along known points.
    pub(super) fn add_paths(&mut self, grid: &LinearGrid, paths: &[f64]) {
        for series in grid.layout().series() {
            self.add_series(grid, series, paths);
        }
    }

    /// Adds the steps of one series along known points.
    pub(super) fn add_series(&mut self, grid: &LinearGrid, series: &SeriesRows, paths: &[f64]) {
        let SeriesRows { first_point, first_deviation_row, .. } = *series;
        let n_steps = series.n_steps();
        let (d, m) = (grid.n_variables(), self.rows.common().len() + 1);
        let rows = Arc::clone(&self.rows);
        let (mut scaled, mut states, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for start in (0..n_steps).step_by(BLOCK) {
            let n = BLOCK.min(n_steps - start);
            [&mut scaled, &mut states, &mut added].into_iter().for_each(Vec::clear);
            for step in start..start + n {
                let h = grid.layout().step(first_deviation_row + step);
                let here = &paths[(first_point + step) * d..][..d];
                let next = &paths[(first_point + step + 1) * d..][..d];
                rows.push_common(here, &mut states);
                scaled.extend(states[states.len() - m..].iter().map(|value| h * value));
                for (target, (next, here)) in next.iter().zip(here).enumerate() {
                    let increment = (next - here) / grid.scales()[target];
                    added.push(increment);
                    if !grid.layout().is_left_out(first_point + step + 1, target) {
                        self.squares[target] += increment * increment / h;
                    }
                }
            }
            self.leave_out(grid, series, start, paths, &mut added);
            let states = View::new(&states, n, m);
            add_product(&mut self.products, m, View::new(&scaled, n, m).t(), states);
            if rows.is_all() {
                add_product(&mut self.responses, m, View::new(&added, n, d).t(), states);
            } else {
                self.add_rows(grid, series, start, paths, &added);
            }
        }
        for (target, count) in self.n_steps.iter_mut().enumerate() {
            let counts = |step: &usize| !grid.layout().is_left_out(first_point + step + 1, target);
            *count += (0..n_steps).filter(counts).count() as f64;
        }
        self.add_pushes(grid, series, paths);
    }

    /// Responses and products with own columns, where there is room for some effects alone.
    fn add_rows(
        &mut self,
        grid: &LinearGrid,
        series: &SeriesRows,
        start: usize,
        paths: &[f64],
        added: &[f64],
    ) {
        let d = grid.n_variables();
        let mut state = Vec::new();
        for (step, added) in added.chunks_exact(d).enumerate() {
            let h = grid.layout().step(series.first_deviation_row + start + step);
            let here = &paths[(series.first_point + start + step) * d..][..d];
            state.clear();
            self.rows.push_common(here, &mut state);
            for target in 0..d {
                let (row, own) = (self.rows.row(target), self.rows.own(target));
                let common = &state[state.len() - 1 - self.rows.n_common(target)..];
                let responses = self.responses[row.clone()].iter_mut();
                responses.zip(common).for_each(|(sum, u)| *sum += added[target] * u);
                let Some(own) = own else { continue };
                self.responses[own] += added[target] * here[target];
                let weight = h * here[target];
                let products = self.with_own[row].iter_mut();
                products.zip(common).for_each(|(sum, u)| *sum += weight * u);
                self.with_own[own] += weight * here[target];
            }
        }
    }

    /// Takes steps from the targets of whose causes they say nothing: their products, and what they added.
    fn leave_out(
        &mut self,
        grid: &LinearGrid,
        series: &SeriesRows,
        start: usize,
        paths: &[f64],
        added: &mut [f64],
    ) {
        if !grid.layout().has_marks() {
            return;
        }
        let d = grid.n_variables();
        let rows = Arc::clone(&self.rows);
        let mut state = Vec::new();
        for step in 0..added.len() / d {
            let point = series.first_point + start + step;
            let h = grid.layout().step(series.first_deviation_row + start + step);
            for target in 0..d {
                if !grid.layout().is_left_out(point + 1, target) {
                    continue;
                }
                added[step * d + target] = 0.0;
                if grid.is_input(target) {
                    continue;
                }
                state.clear();
                rows.push_state(target, &paths[point * d..(point + 1) * d], &mut state);
                self.keep_from(target, |own| {
                    for (own, value) in own.chunks_exact_mut(state.len()).zip(&state) {
                        let scaled = h * value;
                        own.iter_mut().zip(&state).for_each(|(own, u)| *own -= scaled * u);
                    }
                });
            }
        }
    }

    fn add_pushes(&mut self, grid: &LinearGrid, series: &SeriesRows, paths: &[f64]) {
        let d = grid.n_variables();
        if self.pushes.is_empty() {
            let none = |amount: &Amount| PushSums {
                target: amount.variable,
                square: 0.0,
                response: 0.0,
                states: vec![0.0; self.rows.row(amount.variable).len()],
            };
            self.pushes = grid.amounts().iter().map(none).collect();
        }
        for point in series.first_point..series.first_point + series.n_steps() {
            for push in grid.layout().pushes_at(point) {
                if grid.layout().is_left_out(point + 1, push.variable) {
                    continue;
                }
                let h = grid.step_after(point);
                let here = &paths[point * d..(point + 1) * d];
                let next = paths[(point + 1) * d + push.variable];
                let mut state = Vec::new();
                self.rows.push_state(push.variable, here, &mut state);
                let sums = &mut self.pushes[push.amount];
                let increment = (next - here[push.variable]) / grid.scales()[push.variable];
                sums.square += push.share * push.share * h;
                sums.response += push.share * increment;
                let states = sums.states.iter_mut().zip(&state);
                states.for_each(|(sum, value)| *sum += push.share * h * value);
            }
        }
    }

    /// Σ u e' of residuals e = d - h W u - s h a, in the rows of effects.
    pub(super) fn residuals(&self, dynamics: &LinearDynamics) -> Vec<f64> {
        let mut residuals = self.residuals_of_effects(&dynamics.effects);
        for (push, amount) in self.pushes.iter().zip(&dynamics.amounts) {
            let row = &mut residuals[self.rows.row(push.target)];
            row.iter_mut().zip(&push.states).for_each(|(left, state)| *left -= amount * state);
        }
        residuals
    }

    fn residuals_of_effects(&self, effects: &[f64]) -> Vec<f64> {
        let (d, m) = (self.n_variables(), self.n_variables() + 1);
        let negative: Vec<f64> = effects.iter().map(|effect| -effect).collect();
        let mut residuals = self.responses.clone();
        if self.shares_products() {
            let products = View::new(&self.products, m, m);
            add_product(&mut residuals, m, View::new(&negative, d, m), products);
            return residuals;
        }
        for target in 0..d {
            let (row, products) = (self.rows.row(target), self.products_of(target));
            let (left, effects) = (&mut residuals[row.clone()], &negative[row]);
            if let Products::Whole { values, n } = products {
                add_product(left, n, View::new(effects, 1, n), View::new(values, n, n));
                continue;
            }
            for (column, effect) in effects.iter().enumerate().filter(|(_, effect)| **effect != 0.0)
            {
                products.add_row(column, *effect, left);
            }
        }
        residuals
    }

    /// Σ s e of the residuals of the variable that is pushed.
    pub(super) fn push_residual(&self, number: usize, dynamics: &LinearDynamics) -> f64 {
        let push = &self.pushes[number];
        let effects = &dynamics.effects[self.rows.row(push.target)];
        let explained: f64 = effects.iter().zip(&push.states).map(|(w, u)| w * u).sum();
        push.response - explained - dynamics.amounts[number] * push.square
    }

    /// Σ e² / h of one target, its effects known.
    pub(super) fn residual_square(
        &self,
        target: usize,
        dynamics: &LinearDynamics,
        residuals: &[f64],
    ) -> f64 {
        let row = self.rows.row(target);
        let effects = &dynamics.effects[row.clone()];
        let explained: f64 = (effects.iter())
            .zip(self.responses[row.clone()].iter().zip(&residuals[row]))
            .map(|(effect, (response, residual))| effect * (response + residual))
            .sum();
        let own = self.pushes.iter().enumerate().filter(|(_, push)| push.target == target);
        let pushed: f64 = own
            .map(|(number, push)| {
                let residual = self.push_residual(number, dynamics);
                dynamics.amounts[number] * (push.response + residual)
            })
            .sum();
        self.squares[target] - explained - pushed
    }
}
