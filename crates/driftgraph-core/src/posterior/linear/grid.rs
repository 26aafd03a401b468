//! Series on their grids, in an order of variables and series that depends on values alone.

use std::cmp::Ordering;
use std::sync::Arc;

use super::effect_rows::EffectRows;
use crate::posterior::bridge::layout::{BridgeLayout, SeriesRows};
use crate::{Amount, CoreError, ObservedSeries, SeriesSet};

/// Standardised series on grids, with the usual sizes of their increments.
#[derive(Debug, Clone)]
pub struct LinearGrid {
    layout: BridgeLayout,
    scales: Vec<f64>,
    /// The user's number of each variable.
    variables: Vec<usize>,
    /// The user's number of each series.
    series: Vec<usize>,
    groups: Vec<Group>,
    /// Whether each variable is an input.
    is_input: Vec<bool>,
    /// By what variables are pushed.
    amounts: Vec<Amount>,
    /// The effects there is room for.
    rows: Arc<EffectRows>,
}

/// Series that share grid and holes, and so all covariances.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) first_deviation_row: usize,
    pub(super) n_points: usize,
    /// First point of every series of the group.
    pub(super) first_points: Vec<usize>,
}

impl LinearGrid {
    /// Lays out standardised series; `scales` are in the user's order of variables.
    pub fn new(data: &SeriesSet, step_size: f64, scales: &[f64]) -> Result<Self, CoreError> {
        let variables = variable_order(data);
        let series = series_order(data, &variables);
        let reordered = data.subset(&series)?.with_variables(&variables)?;
        let layout = BridgeLayout::new(&reordered, step_size)?;
        let scales = variables.iter().map(|&idx| scales[idx]).collect();
        let groups = groups(&layout);
        let is_input = (0..variables.len()).map(|idx| reordered.inputs().contains(&idx)).collect();
        let amounts = reordered.amounts().to_vec();
        let rows = Arc::new(EffectRows::all(variables.len()));
        Ok(Self { layout, scales, variables, series, groups, is_input, amounts, rows })
    }

    /// The same with room for some effects alone; its variables are then smoothed one by one.
    #[must_use]
    pub fn with_rows(self, rows: EffectRows) -> Self {
        Self { rows: Arc::new(rows), ..self }
    }

    /// The effects there is room for.
    pub fn rows(&self) -> &Arc<EffectRows> {
        &self.rows
    }

    /// Whether all variables can be smoothed together.
    pub(super) fn is_smoothed_jointly(&self) -> bool {
        self.rows.is_all() && super::ascent::joint_work(self) <= super::ascent::MOST_JOINT_WORK
    }

    /// Whether a variable is an input, which nothing drives.
    pub fn is_input(&self, variable: usize) -> bool {
        self.is_input[variable]
    }

    /// By what variables are pushed.
    pub fn amounts(&self) -> &[Amount] {
        &self.amounts
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.scales.len()
    }

    /// Where points and deviations lie.
    pub fn layout(&self) -> &BridgeLayout {
        &self.layout
    }

    /// Typical size of each variable's increment over one unit of time.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// The user's number of each variable.
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// The user's number of a series of the layout.
    pub fn series_of(&self, rows: &SeriesRows) -> usize {
        self.series[rows.series_idx]
    }

    /// First deviation row of a series.
    #[cfg(feature = "testing")]
    pub fn first_deviation_row(&self, rows: &SeriesRows) -> usize {
        rows.first_deviation_row
    }

    /// Paths drawn given everything observed, `[point, variable]`.
    #[cfg(feature = "testing")]
    pub fn drawn_paths(
        &self,
        dynamics: &super::dynamics::LinearDynamics,
        random: &mut crate::random::RandomStream,
    ) -> Option<Vec<f64>> {
        let certain = super::joint::Uncertainty::none(self.n_variables());
        super::joint::JointFilter::new(self, dynamics, &certain).draw(random)
    }

    /// Length of the step that starts at a point; 0 at the last of a series.
    pub(super) fn step_after(&self, point: usize) -> f64 {
        let series = self.layout.series();
        let at = series.partition_point(|rows| rows.first_point <= point) - 1;
        let rows = &series[at];
        self.layout.step(rows.first_deviation_row + point - rows.first_point)
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The number here of each variable of the user's.
    pub fn own_numbers(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.variables.len()];
        for (own, &user) in self.variables.iter().enumerate() {
            numbers[user] = own;
        }
        numbers
    }

    /// A matrix `[source, target]` of the user's order from one of this.
    pub fn to_user<T: Copy>(&self, matrix: &[T]) -> Vec<T> {
        let n = self.n_variables();
        let inverse = self.own_numbers();
        (0..n * n).map(|idx| matrix[inverse[idx / n] * n + inverse[idx % n]]).collect()
    }

    /// Whether paths can be drawn hundreds of times in reasonable time.
    pub fn can_be_drawn(&self) -> bool {
        /// Multiplications per draw: about a quarter of a second.
        const MOST_WORK: f64 = 1e9;
        self.rows.is_all() && super::ascent::joint_work(self) <= MOST_WORK
    }

    /// Whether every cell of every grid point was observed or set.
    pub fn is_complete(&self) -> bool {
        (0..self.layout.n_points()).all(|point| {
            let mut cells = self.layout.observed_row(point).iter().enumerate();
            cells.all(|(idx, value)| !value.is_nan() || self.layout.set_value(point, idx).is_some())
        })
    }
}

fn groups(layout: &BridgeLayout) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for rows in layout.series() {
        let place = *places.entry(rows.first_deviation_row).or_insert_with(|| {
            groups.push(Group {
                first_deviation_row: rows.first_deviation_row,
                n_points: rows.n_points,
                first_points: Vec::new(),
            });
            groups.len() - 1
        });
        groups[place].first_points.push(rows.first_point);
    }
    groups
}

/// Variables by a number that neither their order nor that of the series changes, up to rounding.
fn variable_order(data: &SeriesSet) -> Vec<usize> {
    let key = |idx: usize| {
        let values = || data.observed_values(idx);
        let third: f64 = values().map(|value| value.powi(3)).sum();
        let fourth: f64 = values().map(|value| value.powi(4)).sum();
        fourth + third / 3.0
    };
    let keys: Vec<f64> = (0..data.n_variables()).map(key).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[b].total_cmp(&keys[a]));
    order
}

/// Series by their values, compared one by one, the longest first.
fn series_order(data: &SeriesSet, variables: &[usize]) -> Vec<usize> {
    let compare = |&a: &usize, &b: &usize| -> Ordering {
        let (a, b) = (&data.series()[a], &data.series()[b]);
        let by_length = b.n_observations().cmp(&a.n_observations());
        let cells = |series: &ObservedSeries| -> Vec<f64> {
            let rows = 0..series.n_observations();
            rows.flat_map(|row| variables.iter().map(move |&idx| series.row(row)[idx])).collect()
        };
        by_length.then_with(|| {
            let (a, b) = (cells(a), cells(b));
            let differ = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
            differ.unwrap_or(Ordering::Equal)
        })
    };
    let mut order: Vec<usize> = (0..data.n_series()).collect();
    order.sort_by(compare);
    order
}
