//! How probable series are under a fitted model: the measure for data that the fit has not seen.

use super::error::FittedError;
use super::model::{FittedModel, ModelPart, PolynomialPart};
use crate::numeric::real::{exp, ln};
use crate::posterior::bridge::kalman::{FilterDynamics, predictive_log_likelihoods};
use crate::posterior::bridge::layout::BridgeLayout;
use crate::{ObservedSeries, SeriesSet};

/// How probable one series is.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesLikelihood {
    /// Name of the series.
    pub name: String,
    /// Log density of all rows but the first, given the first, in the user's units.
    pub log_likelihood: f64,
    /// Number of cells that were predicted.
    pub n_cells: usize,
}

impl FittedModel {
    /// One-step predictive log likelihood of every series with something to predict.
    ///
    /// A Kalman filter with the posterior means of effects, extended where the drift is not linear;
    /// densities are averaged over the members of the ensemble. Under equations, the density of each complete row given
    /// the one before it, by Student's law and around the most probable path between them. The simulated posterior has none.
    pub fn log_likelihoods(&self, data: &SeriesSet) -> Result<Vec<SeriesLikelihood>, FittedError> {
        self.check_data(data)?;
        let part = match &self.part {
            ModelPart::Bridge(part) => part,
            ModelPart::Polynomial(part) => return self.likelihoods_of_rows(part, data),
            ModelPart::Simulated(_) => return Err(FittedError::NoLikelihood),
        };
        let standardised = self.standardizer().apply(&self.prepared(data));
        let layout = BridgeLayout::new(&standardised, self.step_size())?.without_pushes();
        let members = part.members.iter().map(|member| {
            let dynamics = FilterDynamics::new(&part.model, &member.parameters, part.time_unit);
            dynamics.map(|dynamics| predictive_log_likelihoods(&dynamics, &layout))
        });
        let members: Vec<Vec<Option<f64>>> = members.flatten().collect();
        let mut found = Vec::new();
        for (idx, rows) in layout.series().iter().enumerate().filter(|(_, rows)| rows.n_points > 1)
        {
            let series = &data.series()[rows.series_idx];
            let logs: Vec<f64> = members.iter().filter_map(|member| member[idx]).collect();
            if logs.is_empty() {
                let series = series.name().to_owned();
                return Err(FittedError::NotPredictable { series });
            }
            let (n_cells, log_units) = self.predicted_cells(series);
            found.push(SeriesLikelihood {
                name: series.name().to_owned(),
                log_likelihood: log_mean_exp(&logs, members.len()) - log_units,
                n_cells,
            });
        }
        if found.is_empty() {
            let reason = "no series has two rows with a value";
            return Err(FittedError::NothingToHoldOut { reason });
        }
        Ok(found)
    }

    fn likelihoods_of_rows(
        &self,
        part: &PolynomialPart,
        data: &SeriesSet,
    ) -> Result<Vec<SeriesLikelihood>, FittedError> {
        let scores = part.fit.predictive_scores(&self.prepared(data));
        let found = data.series().iter().zip(scores).filter_map(|(series, score)| {
            let (n_cells, log_units) = self.cells_of_complete_rows(series, &part.fit.varying);
            let name = series.name().to_owned();
            Some(SeriesLikelihood { name, log_likelihood: score? - log_units, n_cells })
        });
        let found: Vec<SeriesLikelihood> = found.collect();
        if found.is_empty() {
            let reason = "no series has two complete rows";
            return Err(FittedError::NothingToHoldOut { reason });
        }
        Ok(found)
    }

    /// As [`Self::predicted_cells`], for rows in which none of some variables is missing, and for these alone.
    fn cells_of_complete_rows(&self, series: &ObservedSeries, variables: &[usize]) -> (usize, f64) {
        let rows = (0..series.n_observations()).map(|row| series.row(row));
        let complete = rows.filter(|row| variables.iter().all(|&idx| !row[idx].is_nan())).skip(1);
        let (mut n_cells, mut log_units) = (0, 0.0);
        for row in complete {
            for &variable in variables {
                n_cells += 1;
                log_units += self.log_unit(variable, row[variable]);
            }
        }
        (n_cells, log_units)
    }

    /// The log of a cell's unit, see [`Self::predicted_cells`].
    fn log_unit(&self, variable: usize, value: f64) -> f64 {
        let of_log = self.transform().is_some_and(|transform| transform.is_log(variable));
        ln(self.standardizer().scales()[variable]) + if of_log { ln(value) } else { 0.0 }
    }

    /// Number of observed cells after a series' first row with one, and the log of their scales: what a density loses
    /// on its way from the model's units to the user's.
    fn predicted_cells(&self, series: &ObservedSeries) -> (usize, f64) {
        let rows = (0..series.n_observations()).map(|row| series.row(row));
        let observed = rows.filter(|row| row.iter().any(|value| !value.is_nan())).skip(1);
        let (mut n_cells, mut log_units) = (0, 0.0);
        for row in observed {
            for (variable, &value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                n_cells += 1;
                log_units += self.log_unit(variable, value);
            }
        }
        (n_cells, log_units)
    }
}

/// log (1/n Σ exp), where what is missing counts as density 0.
fn log_mean_exp(logs: &[f64], n: usize) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + ln(logs.iter().map(|log| exp(log - top)).sum::<f64>() / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitted::model::LinearProcess;

    #[test]
    fn a_random_walk_has_the_density_of_its_increments() {
        let model = FittedModel::linear(&LinearProcess::resting(vec!["x".into()])).unwrap();
        let series = |values: Vec<f64>| {
            let times = (0..values.len()).map(|idx| idx as f64 * model.step_size()).collect();
            let series = ObservedSeries::new("a", 1, times, values).unwrap();
            SeriesSet::new(vec!["x".into()], vec![series]).unwrap()
        };
        let near = model.log_likelihoods(&series(vec![0.0, 0.01, 0.02])).unwrap();
        let far = model.log_likelihoods(&series(vec![0.0, 3.0, -3.0])).unwrap();
        assert_eq!((near[0].n_cells, near[0].name.as_str()), (2, "a"));
        assert!(near[0].log_likelihood > far[0].log_likelihood + 1.0);
        let single = model.log_likelihoods(&series(vec![0.0]));
        assert!(single.is_err());
    }

    #[test]
    fn means_of_densities_count_what_is_missing_as_zero() {
        // (e^0 + e^0) / 4 = 1/2.
        assert!((log_mean_exp(&[0.0, 0.0], 4) - 0.5_f64.ln()).abs() < 1e-15);
        assert!((log_mean_exp(&[-1e4], 1) + 1e4).abs() < 1e-9);
    }
}
