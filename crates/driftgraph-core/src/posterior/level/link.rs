//! One effect within a row, given everything else, with the determinant that it changes.

use crate::numeric::real::ln;

/// Smallest cycle that is told apart from none.
const NO_CYCLE: f64 = 1e-9;

/// What the rows say of an effect b of one variable on another within the row.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEvidence {
    /// Weighted sum of squares of the source.
    pub(super) square: f64,
    /// Weighted sum of products of the source with what the target has left without the effect.
    pub(super) product: f64,
    /// Entry [target, source] of (I - B)⁻¹ without the effect: how much of it comes back to the source.
    pub(super) comes_back: f64,
    /// Number of rows, as far as they count.
    pub(super) n_rows: f64,
    /// Variance of the effect's prior.
    pub(super) slab: f64,
}

/// The law of the effect if it exists, as a normal one around its mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkLaw {
    pub(super) mode: f64,
    /// Curvature of minus the log law there.
    pub(super) precision: f64,
    /// Log of the effect's likelihood, integrated over its prior, minus that of no effect.
    pub(super) evidence: f64,
}

impl LinkEvidence {
    /// |I - B| becomes |I - B| (1 - b c) by a step of rank one: the log law is -½ p (b - m)² + n log(1 - b c).
    pub(super) fn law(self) -> LinkLaw {
        let Self { square, product, comes_back: c, n_rows: n, slab } = self;
        let precision = square + 1.0 / slab;
        let mean = product / precision;
        let plain = 0.5 * mean * mean * precision;
        if c.abs() < NO_CYCLE {
            return LinkLaw { mode: mean, precision, evidence: plain - 0.5 * ln(precision * slab) };
        }
        let root = ((1.0 - mean * c).powi(2) + 4.0 * n * c * c / precision).sqrt();
        let mode = ((1.0 + mean * c) - root) / (2.0 * c);
        let left = (1.0 - mode * c).max(f64::MIN_POSITIVE);
        let curvature = precision + n * c * c / (left * left);
        let evidence = plain - 0.5 * precision * (mode - mean).powi(2) + n * ln(left)
            - 0.5 * ln(curvature * slab);
        LinkLaw { mode, precision: curvature, evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_curvature_and_evidence_are_those_of_the_law_itself() {
        for comes_back in [0.0, 0.3, -0.8] {
            let given =
                LinkEvidence { square: 40.0, product: 12.0, comes_back, n_rows: 60.0, slab: 0.09 };
            let log_law = |b: f64| {
                let left = 1.0 - b * comes_back;
                given.product * b - 0.5 * given.square * b * b - 0.5 * b * b / given.slab
                    + given.n_rows * left.ln()
            };
            let law = given.law();
            let h = 1e-4;
            let [below, at, above] = [-h, 0.0, h].map(|by| log_law(law.mode + by));
            // Central differences: flat at the mode up to h², and rounding over h².
            assert!(((above - below) / (2.0 * h)).abs() < 1e-3, "{comes_back}");
            let curvature = (above - 2.0 * at + below) / (h * h);
            assert!((curvature + law.precision).abs() < 1e-2 * law.precision, "{comes_back}");
            // The integral over a fine grid, where the determinant does not vanish.
            let sum: f64 = (-12_000..12_000)
                .map(|idx| f64::from(idx) * 1e-4)
                .filter(|b| 1.0 - b * comes_back > 0.0)
                .map(|b| log_law(b).exp() * 1e-4)
                .sum();
            let wanted = (sum / (2.0 * std::f64::consts::PI * given.slab).sqrt()).ln();
            // The law is normal but for the determinant's third derivative.
            assert!(
                (law.evidence - wanted).abs() < 0.02,
                "{comes_back}: {} {wanted}",
                law.evidence
            );
        }
    }
}
