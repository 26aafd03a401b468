//! The model's own clock: where it starts and how long a unit is.

use std::fmt;

use crate::{CoreError, ObservedSeries, SeriesSet};

/// The model's unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// The data's own.
    AsGiven,
    /// The median gap between neighbouring rows is 1.
    #[default]
    MedianGap,
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsGiven => "as-given",
            Self::MedianGap => "median-gap",
        })
    }
}

/// The data's time t is `(t - origin) * scale` for the model.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TimeScaling {
    /// The earliest time of all series.
    pub origin: f64,
    /// Model units per unit of the data; always positive.
    pub scale: f64,
}

impl TimeScaling {
    /// The scaling that a unit, or a length of the whole range, asks for.
    pub fn new(data: &SeriesSet, unit: TimeUnit, span: Option<f64>) -> Self {
        let all_times = || data.series().iter().flat_map(ObservedSeries::times).copied();
        let origin = all_times().fold(f64::INFINITY, f64::min);
        let end = all_times().fold(f64::NEG_INFINITY, f64::max);
        let scale = match (span, unit) {
            (Some(span), _) => span / (end - origin),
            (None, TimeUnit::AsGiven) => 1.0,
            (None, TimeUnit::MedianGap) => 1.0 / median_gap(data),
        };
        // Series of one row each have no range and no gap: any unit will do.
        let usable = scale.is_finite() && scale > 0.0;
        Self { origin, scale: if usable { scale } else { 1.0 } }
    }

    /// The model's time.
    pub fn apply(&self, time: f64) -> f64 {
        (time - self.origin) * self.scale
    }

    /// The data's time.
    pub fn undo(&self, time: f64) -> f64 {
        time / self.scale + self.origin
    }

    /// The same series on the model's clock.
    pub fn apply_to(&self, series: &ObservedSeries) -> Result<ObservedSeries, CoreError> {
        let times = series.times().iter().map(|&time| self.apply(time)).collect();
        ObservedSeries::new(series.name(), series.n_variables(), times, series.values().to_vec())
    }
}

fn median_gap(data: &SeriesSet) -> f64 {
    let mut gaps: Vec<f64> = data
        .series()
        .iter()
        .flat_map(|series| series.times().windows(2).map(|pair| pair[1] - pair[0]))
        .collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(times: &[&[f64]]) -> SeriesSet {
        let series = (times.iter().enumerate())
            .map(|(idx, times)| {
                let values = vec![0.0; times.len()];
                ObservedSeries::new(format!("{idx}"), 1, times.to_vec(), values).unwrap()
            })
            .collect();
        SeriesSet::new(vec!["x".into()], series).unwrap()
    }

    #[test]
    fn units_and_spans_by_hand() {
        let data = set(&[&[10.0, 12.0, 14.0, 20.0], &[11.0]]);
        let by_gap = TimeScaling::new(&data, TimeUnit::MedianGap, None);
        assert_eq!((by_gap.origin, by_gap.scale), (10.0, 0.5));
        let by_span = TimeScaling::new(&data, TimeUnit::AsGiven, Some(1.0));
        assert!((by_span.apply(20.0) - 1.0).abs() < 1e-15);
        assert!((by_span.undo(by_span.apply(13.7)) - 13.7).abs() < 1e-12);
        assert_eq!(TimeScaling::new(&data, TimeUnit::AsGiven, None).scale, 1.0);
    }

    #[test]
    fn single_rows_keep_their_unit() {
        let data = set(&[&[3.0], &[3.0]]);
        for span in [None, Some(2.0)] {
            assert_eq!(TimeScaling::new(&data, TimeUnit::MedianGap, span).scale, 1.0);
        }
    }
}
