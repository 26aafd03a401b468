//! The parameters a batch touches: gathered before, and their gradients scattered after, its work.

use super::blocks::Block;
use super::layout::BridgeLayout;

/// The steps of a batch, by places in compact buffers of the rows they touch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Touched points, increasing; a step's end always follows its start.
    pub points: Vec<usize>,
    /// Touched deviation rows, increasing; a step's end always follows its start.
    pub deviation_rows: Vec<usize>,
    /// Every step, by the place of its start among the points and of its deviation row among `distinct`.
    pub steps: Vec<BatchStep>,
    /// Places among the deviation rows at which a step of the batch starts.
    pub distinct: Vec<usize>,
    /// First points of series: places among the points and among the deviation rows.
    pub starts: Vec<(usize, usize)>,
}

/// One step of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchStep {
    /// Place of its start among the batch's points.
    pub point: usize,
    /// Place of its deviation row among the batch's distinct ones.
    pub distinct: usize,
}

impl Batch {
    /// Collects the steps of blocks in the order of their points.
    pub fn new(layout: &BridgeLayout, blocks: &[Block]) -> Self {
        let mut rows: Vec<(usize, usize)> = Vec::new();
        let mut starts: Vec<(usize, usize)> = Vec::new();
        for block in blocks {
            let series = layout.series()[block.series];
            let steps = block.first_step..block.first_step + block.n_steps;
            rows.extend(
                steps.map(|step| (series.first_point + step, series.first_deviation_row + step)),
            );
            if block.starts_series() {
                starts.push((series.first_point, series.first_deviation_row));
            }
        }
        rows.sort_unstable();
        starts.sort_unstable();
        let mut begun: Vec<usize> = rows.iter().map(|&(_, row)| row).collect();
        begun.sort_unstable();
        begun.dedup();
        let points = with_ends(rows.iter().map(|row| row.0), starts.iter().map(|start| start.0));
        let deviation_rows = with_ends(begun.iter().copied(), starts.iter().map(|start| start.1));
        let place = |list: &[usize], row: usize| {
            list.binary_search(&row).expect("every touched row was collected")
        };
        let steps = (rows.iter())
            .map(|&(point, row)| BatchStep {
                point: place(&points, point),
                distinct: place(&begun, row),
            })
            .collect();
        let starts = (starts.iter())
            .map(|&(point, row)| (place(&points, point), place(&deviation_rows, row)))
            .collect();
        let distinct = begun.iter().map(|&row| place(&deviation_rows, row)).collect();
        Self { points, deviation_rows, steps, distinct, starts }
    }

    /// Number of steps.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// Every point whose observations belong to the batch, with its deviation row's place.
    ///
    /// The end of a step belongs to it; so does the first point of a series that starts here.
    pub(crate) fn observed_points(&self) -> impl Iterator<Item = (usize, usize)> {
        let ends = self.steps.iter().map(|step| (step.point + 1, self.distinct[step.distinct] + 1));
        self.starts.iter().copied().chain(ends)
    }
}

/// The rows, the rows after them, and the starts; sorted, each once.
fn with_ends(rows: impl Iterator<Item = usize>, starts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = rows.flat_map(|row| [row, row + 1]).chain(starts).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The steps of a batch where they lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSteps<'a> {
    /// The grids of all series.
    pub layout: &'a BridgeLayout,
    /// The batch.
    pub batch: &'a Batch,
    /// Increment scales of the variables.
    pub scales: &'a [f64],
}

/// What a model learns: the parameters of the process and those of the paths.
#[derive(Debug, Clone, Copy)]
pub struct Learned<'a> {
    /// Parameters of the process, in the order of the model's table.
    pub parameters: &'a [f64],
    /// Parameters of all paths.
    pub paths: &'a LocalValues,
}

/// Values (or gradients) of the posterior's parameters, of all rows or of those a batch touches.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LocalValues {
    /// `[point, variable]`.
    pub means: Vec<f64>,
    /// Logarithms of marginal deviations, `[deviation row, variable]`.
    pub log_deviations: Vec<f64>,
    /// Inverse hyperbolic tangents of correlations with the next point, `[deviation row, variable]`.
    pub correlations: Vec<f64>,
}

impl LocalValues {
    /// Zeros for `n_points` and `n_deviation_rows` rows.
    pub(crate) fn reset(&mut self, n_points: usize, n_deviation_rows: usize, n_variables: usize) {
        for (buffer, n_rows) in [
            (&mut self.means, n_points),
            (&mut self.log_deviations, n_deviation_rows),
            (&mut self.correlations, n_deviation_rows),
        ] {
            buffer.clear();
            buffer.resize(n_rows * n_variables, 0.0);
        }
    }

    /// Copies the rows a batch touches from the buffers of all rows.
    pub(crate) fn gather(&mut self, all: &Self, batch: &Batch, n_variables: usize) {
        gather(&mut self.means, &all.means, &batch.points, n_variables);
        gather(&mut self.log_deviations, &all.log_deviations, &batch.deviation_rows, n_variables);
        gather(&mut self.correlations, &all.correlations, &batch.deviation_rows, n_variables);
    }
}

fn gather(out: &mut Vec<f64>, all: &[f64], rows: &[usize], n_variables: usize) {
    out.clear();
    for &row in rows {
        out.extend_from_slice(&all[row * n_variables..(row + 1) * n_variables]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Epoch;
    use super::*;
    use crate::{ObservedSeries, SeriesSet};

    #[test]
    fn shared_grids_share_deviation_rows_and_every_cell_is_counted_once() {
        let series = (0..3).map(|idx| {
            let n = if idx == 2 { 1 } else { 4 };
            let times = (0..n).map(f64::from).collect();
            ObservedSeries::new(format!("s{idx}"), 1, times, vec![1.0; n as usize]).unwrap()
        });
        let data = SeriesSet::new(vec!["x".into()], series.collect()).unwrap();
        let layout = BridgeLayout::new(&data, 1.0).unwrap();
        let batch = Batch::new(&layout, Epoch::new(&layout, 1, 0, 0).batch(0));
        assert_eq!(batch.points, (0..9).collect::<Vec<_>>());
        assert_eq!(batch.deviation_rows, (0..5).collect::<Vec<_>>());
        assert_eq!(batch.distinct, [0, 1, 2]);
        assert_eq!(batch.steps[3], BatchStep { point: 4, distinct: 0 });
        assert_eq!(batch.starts, [(0, 0), (4, 0), (8, 4)]);
        let mut observed: Vec<usize> = batch.observed_points().map(|(point, _)| point).collect();
        observed.sort_unstable();
        assert_eq!(observed, (0..9).collect::<Vec<_>>());
    }
}
