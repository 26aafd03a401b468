//! Rows too far apart for the dynamics.

use driftgraph_core::SeriesSet;

use super::{is_regular, named};

/// Whether rows are too far apart to say anything about the next one.
#[derive(Debug, PartialEq)]
pub(super) enum Coarseness {
    /// Rows are few, or say something.
    NothingSeen,
    /// No row says anything about the next one.
    LikeNoise,
    /// These variables jump to and fro.
    ToAndFro(Vec<usize>),
}

impl Coarseness {
    pub(super) fn of(data: &SeriesSet) -> Self {
        let Some(lagged) = LaggedCorrelations::of(data) else { return Self::NothingSeen };
        if lagged.is_like_noise() {
            return Self::LikeNoise;
        }
        let alternating = lagged.alternating();
        if alternating.is_empty() { Self::NothingSeen } else { Self::ToAndFro(alternating) }
    }

    /// In words, with what to do about it.
    pub(super) fn warning(&self, data: &SeriesSet) -> Option<String> {
        match self {
            Self::NothingSeen => None,
            Self::LikeNoise => Some(
                "no row says anything about the next one, of its own variable or of another: the samples are too far \
                 apart for what moves here, and no method can see direction; sample faster, or at irregular times"
                    .to_owned(),
            ),
            Self::ToAndFro(alternating) => {
                let (names, _) = named(data, alternating);
                let changes = if alternating.len() == 1 { "jumps" } else { "jump" };
                Some(format!(
                    "{names} {changes} to and fro from row to row, as an oscillation does that is faster than the \
                     samples, or as differences of levels do: no method can see direction there; sample faster or at \
                     irregular times, and give levels, not differences"
                ))
            }
        }
    }
}

/// Correlations of each variable with every variable one row later, over all regular series.
struct LaggedCorrelations {
    n_variables: usize,
    /// `[earlier, later]`: the correlation, and how many pairs of rows it is from.
    all: Vec<(f64, f64)>,
}

impl LaggedCorrelations {
    fn of(data: &SeriesSet) -> Option<Self> {
        /// With fewer rows, or more variables, noise and weak dynamics look alike.
        const FEWEST_ROWS: usize = 50;
        const MOST_VARIABLES: usize = 100;
        let n = data.n_variables();
        let regular: Vec<_> =
            data.series().iter().filter(|s| s.n_observations() >= 4 && is_regular(s)).collect();
        let n_rows: usize = regular.iter().map(|series| series.n_observations() - 1).sum();
        if n_rows < FEWEST_ROWS.max(4 * n) || n > MOST_VARIABLES {
            return None;
        }
        // Sums of products and of squares, each value centred in its own series.
        let (mut sums, mut counts) = (vec![0.0; n * n], vec![0.0; n * n]);
        let (mut squares, mut n_squares) = (vec![0.0; n], vec![0.0; n]);
        for series in &regular {
            let centred = centred(series, n);
            for (row, values) in centred.chunks_exact(n).enumerate() {
                for (variable, value) in
                    values.iter().enumerate().filter(|(_, value)| !value.is_nan())
                {
                    squares[variable] += value * value;
                    n_squares[variable] += 1.0;
                    let Some(later) = centred.get((row + 1) * n..(row + 2) * n) else { continue };
                    for (other, next) in later.iter().enumerate().filter(|(_, next)| !next.is_nan())
                    {
                        sums[variable * n + other] += value * next;
                        counts[variable * n + other] += 1.0;
                    }
                }
            }
        }
        let deviation =
            |variable: usize| f64::sqrt(squares[variable] / f64::max(n_squares[variable], 1.0));
        let correlation = |cell: usize| {
            let scale = deviation(cell / n) * deviation(cell % n);
            let count: f64 = counts[cell];
            (if count > 0.0 && scale > 0.0 { sums[cell] / count / scale } else { 0.0 }, count)
        };
        Some(Self { n_variables: n, all: (0..n * n).map(correlation).collect() })
    }

    /// Whether the sum of all squared correlations is no larger than noise makes it in 19 of 20 tables.
    fn is_like_noise(&self) -> bool {
        let statistic: f64 = self.all.iter().map(|(r, n)| r * r * n).sum();
        let degrees = self.all.iter().filter(|(_, n)| *n > 0.0).count() as f64;
        // Wilson and Hilferty (1931): the cube root of a chi-squared number is nearly Gaussian.
        let spread = (2.0 / (9.0 * degrees)).sqrt();
        let bound = degrees * (1.0 - 2.0 / (9.0 * degrees) + 1.645 * spread).powi(3);
        statistic < bound
    }

    /// Variables whose own correlation is clearly negative, which no process sampled finely has.
    fn alternating(&self) -> Vec<usize> {
        const MOST: f64 = -0.3;
        /// Standard errors below zero.
        const CLEAR: f64 = 3.5;
        let is_alternating = |variable: &usize| {
            let (r, n) = self.all[variable * (self.n_variables + 1)];
            r < MOST && r * n.sqrt() < -CLEAR
        };
        (0..self.n_variables).filter(is_alternating).collect()
    }
}

/// Values `[row, variable]` minus the mean of their variable in the series.
fn centred(series: &driftgraph_core::ObservedSeries, n: usize) -> Vec<f64> {
    let mut values = series.values().to_vec();
    for variable in 0..n {
        let own = || (0..series.n_observations()).filter_map(|row| series.value(row, variable));
        let mean = own().sum::<f64>() / (own().count() as f64).max(1.0);
        values.iter_mut().skip(variable).step_by(n).for_each(|value| *value -= mean);
    }
    values
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::super::tests::table;
    use super::*;

    fn autoregression(seed: u64, n: usize, memory: f64) -> Vec<f64> {
        let mut noise = vec![0.0; n];
        RandomStream::new(seed, Purpose::MeasurementNoise, 1).fill_normal(&mut noise);
        let mut last = 0.0;
        noise
            .iter()
            .map(|x| {
                last = memory * last + x;
                last
            })
            .collect()
    }

    #[test]
    fn noise_and_alternation_are_told_from_memory() {
        let of = |memory: [f64; 2]| {
            let data =
                table(&[autoregression(1, 200, memory[0]), autoregression(2, 200, memory[1])]);
            Coarseness::of(&data).warning(&data)
        };
        assert!(of([0.0, 0.0]).unwrap().starts_with("no row says anything"));
        assert_eq!(of([0.7, 0.8]), None);
        assert_eq!(of([0.0, 0.8]), None);
        assert!(of([0.8, -0.7]).unwrap().starts_with("`x1` jumps to and fro"));
    }

    #[test]
    fn what_one_variable_says_about_the_next_row_of_another_is_something() {
        let cause = autoregression(1, 200, 0.0);
        let effect = std::iter::once(0.0).chain(cause[..199].iter().copied()).collect();
        assert_eq!(Coarseness::of(&table(&[cause, effect])), Coarseness::NothingSeen);
    }
}
