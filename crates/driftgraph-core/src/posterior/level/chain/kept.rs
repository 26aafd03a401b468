//! What a chain leaves behind: its state between two sweeps, its draws as processes, and what it has averaged.

use super::{LevelChain, LevelTotals};

/// Sums over counted sweeps of numbers that are not always there.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LevelMoments {
    counts: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl LevelMoments {
    /// Of so many numbers, none of which was there yet.
    pub fn zeros(n: usize) -> Self {
        Self { counts: vec![0.0; n], sums: vec![0.0; n], squares: vec![0.0; n] }
    }

    /// Counts one of them.
    pub fn add(&mut self, idx: usize, value: f64) {
        self.counts[idx] += 1.0;
        self.sums[idx] += value;
        self.squares[idx] += value * value;
    }

    /// The same over several chains; `None` for no chain.
    pub fn over<'a>(mut chains: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut all = chains.next()?.clone();
        for one in chains {
            for (sums, more) in [
                (&mut all.counts, &one.counts),
                (&mut all.sums, &one.sums),
                (&mut all.squares, &one.squares),
            ] {
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
        Some(all)
    }

    /// Mean and deviation where the number was there; `None` where it never was.
    pub fn moments(&self, idx: usize) -> Option<(f64, f64)> {
        let n = self.counts[idx];
        let mean = self.sums[idx] / n;
        let variance = (self.squares[idx] / n - mean * mean).max(0.0);
        (n > 0.0).then(|| (mean, variance.sqrt()))
    }
}

/// A process as a chain has drawn it: y_k (I - B) = y_{k-1} A + c + e, in standard units.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LevelDraw {
    /// `[2 D, D]`: B above A.
    pub effects: Vec<f64>,
    /// c.
    pub offsets: Vec<f64>,
    /// Mean squares of the errors of rows whose past is known.
    pub variances: Vec<f64>,
}

/// Everything of a chain that changes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LevelState {
    sweep: u64,
    /// Cells that were not observed, as drawn last.
    cells: Vec<f64>,
    effects: Vec<f64>,
    offsets: Vec<f64>,
    scales: Vec<f64>,
    slabs: [f64; 2],
    link_density: f64,
    densities: Vec<f64>,
    totals: LevelTotals,
}

impl LevelState {
    /// Sweeps made.
    pub fn sweep(&self) -> u64 {
        self.sweep
    }

    /// The sums so far.
    pub fn totals(&self) -> &LevelTotals {
        &self.totals
    }
}

impl LevelChain<'_> {
    /// Everything needed to go on.
    pub fn state(&self) -> LevelState {
        let d = self.rows.n_variables;
        let cells = self.rows.missing_cells();
        LevelState {
            sweep: self.sweep,
            cells: cells.map(|(row, cell)| self.levels[row * 2 * d + cell]).collect(),
            effects: self.effects.clone(),
            offsets: self.offsets.clone(),
            scales: self.scales.clone(),
            slabs: self.slabs,
            link_density: self.link_density,
            densities: self.densities.clone(),
            totals: self.totals.clone(),
        }
    }

    /// Goes on from a state of the same rows and rules.
    #[must_use]
    pub fn with_state(mut self, state: LevelState) -> Self {
        let d = self.rows.n_variables;
        for ((row, cell), value) in self.rows.missing_cells().zip(&state.cells) {
            self.levels[row * 2 * d + cell] = *value;
        }
        (0..self.rows.n_rows()).for_each(|row| self.copy_to_past(row));
        let LevelState { sweep, effects, offsets, scales, slabs, link_density, .. } = state;
        let LevelState { densities, totals, .. } = state;
        Self { sweep, effects, offsets, scales, slabs, link_density, densities, totals, ..self }
    }

    /// The process as it was drawn last.
    pub fn draw(&self) -> LevelDraw {
        let (d, errors) = (self.rows.n_variables, self.errors());
        let has_past = self.rows.n_with_past() > 0;
        let (mut variances, mut n) = (vec![0.0; d], 0.0);
        for (row, errors) in errors.chunks_exact(d).enumerate() {
            if !has_past || self.rows.before(row).is_some() {
                n += 1.0;
                let squares = variances.iter_mut().zip(errors);
                squares.for_each(|(sum, error)| *sum += error * error);
            }
        }
        variances.iter_mut().for_each(|sum| *sum /= n);
        LevelDraw { effects: self.effects.clone(), offsets: self.offsets.clone(), variances }
    }

    /// Counts effects that are there, and cells that were not observed.
    pub(super) fn count_moments(&mut self) {
        let d = self.rows.n_variables;
        for (idx, effect) in self.effects.iter().enumerate() {
            if *effect != 0.0 {
                self.totals.effects.add(idx, *effect);
            }
        }
        for (idx, (row, cell)) in self.rows.missing_cells().enumerate() {
            self.totals.cells.add(idx, self.levels[row * 2 * d + cell]);
        }
    }
}
