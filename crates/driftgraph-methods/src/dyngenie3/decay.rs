//! How fast a variable decays when nothing drives it, guessed from the data.

use driftgraph_core::SeriesSet;

/// What is left of the range of the data counts as nothing below this share.
const FLOOR: f64 = 1e-6;

/// The fastest exponential approach to the smallest value of the data, between largest and smallest value of each series.
///
/// x(t) = A exp(-αt) + C with C the smallest value of all variables: they are taken to have one unit, as expression levels have.
/// A variable that never varies within a series does not decay.
pub(super) fn fastest_decay(data: &SeriesSet, variable: usize) -> f64 {
    let all = || (0..data.n_variables()).flat_map(|idx| data.observed_values(idx));
    let lowest = all().fold(f64::INFINITY, f64::min);
    let highest = all().fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    let mut fastest = 0.0;
    for series in data.series() {
        let mut ends: Option<[(f64, f64); 2]> = None;
        for (row, &time) in series.times().iter().enumerate() {
            let Some(value) = series.value(row, variable) else { continue };
            let [small, large] = ends.get_or_insert([(value, time); 2]);
            if value < small.0 {
                *small = (value, time);
            }
            if value > large.0 {
                *large = (value, time);
            }
        }
        let Some([small, large]) = ends.filter(|[small, large]| large.0 > small.0) else {
            continue;
        };
        let above = |value: f64| ((value - lowest) / range).max(FLOOR).ln();
        fastest = f64::max(fastest, (above(large.0) - above(small.0)) / (large.1 - small.1).abs());
    }
    if fastest.is_finite() { fastest } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::{ObservedSeries, SeriesSet};

    use super::fastest_decay;

    #[test]
    fn an_exponential_decay_has_its_rate() {
        // x = exp(-2t) from 1 to exp(-4), beside a variable that reaches the lowest value 0 and the highest 1.
        let times: Vec<f64> = (0..9).map(|idx| f64::from(idx) / 4.0).collect();
        let values =
            times.iter().flat_map(|t| [(-2.0 * t).exp(), f64::from(u8::from(*t > 1.0))]).collect();
        let series = ObservedSeries::new("a", 2, times, values).unwrap();
        let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series]).unwrap();
        // A logarithm and a division.
        assert!((fastest_decay(&data, 0) - 2.0).abs() < 1e-14);
        // From the floor to 1 between the first row and that of time 1.25.
        assert!((fastest_decay(&data, 1) - 1e6_f64.ln() / 1.25).abs() < 1e-12);
    }

    #[test]
    fn a_constant_does_not_decay() {
        let series = ObservedSeries::new("a", 1, vec![0.0, 1.0], vec![3.0, 3.0]).unwrap();
        let data = SeriesSet::new(vec!["x".into()], vec![series]).unwrap();
        assert_eq!(fastest_decay(&data, 0), 0.0);
    }
}
