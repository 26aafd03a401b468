//! How probable a correlation is by chance.

/// Probability of a partial correlation at least as far from 0, if there is none.
///
/// With `df` degrees of freedom t = r sqrt(df / (1 - r²)) has Student's law, and both tails together have the
/// probability I(1 - r²; df/2, 1/2), a regularised incomplete beta function.
pub(crate) fn two_sided_p(correlation: f64, df: f64) -> f64 {
    let rest = (1.0 - correlation.abs()) * (1.0 + correlation.abs());
    if rest <= 0.0 {
        return 0.0;
    }
    incomplete_beta(rest, correlation * correlation, df / 2.0, 0.5).clamp(0.0, 1.0)
}

/// I(x; a, b), given x and 1 - x.
fn incomplete_beta(x: f64, one_minus_x: f64, a: f64, b: f64) -> f64 {
    if one_minus_x <= 0.0 {
        return 1.0;
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * one_minus_x.ln();
    // The fraction converges fast on the nearer side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(x, a, b) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(one_minus_x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MAX_TERMS: usize = 10_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = lower;
    for term in 1..MAX_TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for factor in [even, odd] {
            lower = 1.0 / away_from_zero(1.0 + factor * lower);
            upper = away_from_zero(1.0 + factor / upper);
            change = upper * lower;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_equal_those_of_the_reference() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/parcorr.json")).unwrap();
        let cases = golden["analytic"].as_array().unwrap();
        assert_eq!(cases.len(), 35);
        for case in cases {
            let number = |name: &str| case[name].as_f64().unwrap();
            let df = number("T") - number("dim");
            assert_eq!(case["p"].is_null(), df < 1.0);
            if df >= 1.0 {
                let (found, wanted) = (two_sided_p(number("value"), df), number("p"));
                // Logarithms of gamma functions near 3000 lose three digits.
                assert!((found - wanted).abs() <= 1e-11 * wanted, "{case}: {found}");
            }
        }
    }

    #[test]
    fn with_two_degrees_of_freedom_it_is_one_minus_the_correlation() {
        // Student's law with 2 degrees has P(|t| > x) = 1 - x / sqrt(2 + x²), and x / sqrt(2 + x²) = r.
        for r in [0.0, 0.1, 0.5, 0.99, 1.0] {
            assert!((two_sided_p(r, 2.0) - (1.0 - r)).abs() < 1e-14, "{r}");
        }
    }
}
