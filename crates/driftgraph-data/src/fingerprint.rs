//! A short name for the contents of a data set, so that a run can tell whether it has changed.

use driftgraph_core::SeriesSet;

/// A hash of all names, times and values, the same for any file format they came from.
pub fn fingerprint(data: &SeriesSet) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut text = |name: &str| {
        // With its length in front, no name can run into the next.
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    };
    data.variables().iter().for_each(|name| text(name));
    data.series().iter().for_each(|series| text(series.name()));
    for series in data.series() {
        hasher.update(&(series.n_observations() as u64).to_le_bytes());
        for number in series.times().iter().chain(series.values()) {
            // Every kind of NaN is a missing cell, and zero has no sign.
            let number = if number.is_nan() { f64::NAN } else { number + 0.0 };
            hasher.update(&number.to_le_bytes());
        }
    }
    for &input in data.inputs() {
        hasher.update(b"input");
        hasher.update(&(input as u64).to_le_bytes());
        hasher.update(format!("{:?}", data.input_hold()).as_bytes());
    }
    for series in data.series() {
        if let Some(done) = series.what_was_done() {
            hasher.update(b"done");
            hasher.update(&done);
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use driftgraph_core::ObservedSeries;

    use super::*;

    fn data(name: &str, value: f64) -> SeriesSet {
        let series = ObservedSeries::new("a", 2, vec![0.0, 1.0], vec![1.0, f64::NAN, 0.0, value]);
        SeriesSet::new(vec!["x".into(), name.into()], vec![series.unwrap()]).unwrap()
    }

    #[test]
    fn any_change_of_names_or_values_changes_it_and_nothing_else_does() {
        let base = fingerprint(&data("y", 2.0));
        assert_eq!(base, fingerprint(&data("y", 2.0)));
        assert_ne!(base, fingerprint(&data("z", 2.0)));
        assert_ne!(base, fingerprint(&data("y", 2.0 + 1e-15)));
        assert_eq!(fingerprint(&data("y", 0.0)), fingerprint(&data("y", -0.0)));
        assert_eq!(base.len(), 32);
    }
}
