//! Whether the errors of levels are as independent of each other as their chains suppose.

/// Share of the variance of one error that the square of another explains, the mean over all pairs, beyond what chance gives.
///
/// Independent errors have 0 whatever their law, but for chance; a linear process in place of a curved one leaves more.
/// `errors`: `[row, variable]`.
pub(crate) fn dependence(errors: &[f64], n_variables: usize) -> f64 {
    let d = n_variables;
    let n = (errors.len() / d.max(1)) as f64;
    if d < 2 || n < 2.0 {
        return 0.0;
    }
    let column = |idx: usize| errors.iter().skip(idx).step_by(d).copied();
    let plain: Vec<Vec<f64>> = (0..d).map(|idx| standardised(column(idx).collect())).collect();
    let squares: Vec<Vec<f64>> =
        plain.iter().map(|own| standardised(own.iter().map(|e| e * e).collect())).collect();
    let explained = |of: usize, by: usize| {
        let sum: f64 = plain[of].iter().zip(&squares[by]).map(|(a, b)| a * b).sum();
        (sum / n).powi(2)
    };
    let pairs = (0..d * d).filter(|idx| idx / d != idx % d);
    let sum: f64 = pairs.map(|idx| explained(idx / d, idx % d)).sum();
    sum / (d * (d - 1)) as f64 - 1.0 / n
}

/// The same with mean 0 and variance 1; all 0 where nothing varies.
fn standardised(mut values: Vec<f64>) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let scale = if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 };
    values.iter_mut().for_each(|value| *value = (*value - mean) * scale);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RandomStream};

    /// Skewed, heavy-tailed errors of four variables; the last leans on the square of the first.
    fn errors(n: usize, bent: f64) -> Vec<f64> {
        let mut random = RandomStream::new(31, Purpose::System, 0);
        let mut skewed = || -random.uniform().max(1e-12).ln() - 1.0;
        let mut all = Vec::new();
        for _ in 0..n {
            let mut row = [skewed(), skewed(), skewed(), skewed()];
            row[3] += bent * row[0] * row[0];
            all.extend(row);
        }
        all
    }

    #[test]
    fn independent_errors_of_any_law_have_none_and_bent_ones_what_the_square_explains() {
        let n = 4000;
        // Twelve pairs, each with a deviation of about 1.4 / n around its mean.
        let chance = 3.0 * 1.5 / n as f64;
        assert!(dependence(&errors(n, 0.0), 4).abs() < chance);
        // With moments 1, 2 and 9 of an exponential number less one, its square has variance 8: a quarter of that beside an
        // error of variance 1 is two thirds, in one of twelve pairs.
        let explained = 2.0 / 3.0 / 12.0;
        assert!(dependence(&errors(n, 0.5), 4) > 0.9 * explained);
    }

    #[test]
    fn what_does_not_vary_depends_on_nothing() {
        assert!(dependence(&[1.0, 2.0].repeat(50), 2) <= 0.0);
    }
}
