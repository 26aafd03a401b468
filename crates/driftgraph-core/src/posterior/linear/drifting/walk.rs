//! A scalar random walk seen through quadratic log likelihoods: evidence, moments and draws in closed form.

use crate::numeric::real::ln;
use crate::random::RandomStream;

/// What the data say of a value w: exp(product w - precision w² / 2), up to a factor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pull {
    /// Precision.
    pub precision: f64,
    /// Precision times mean.
    pub product: f64,
}

/// w_0 ~ N(0, first), w_k+1 - w_k ~ N(0, rate gap_k); constant where the rate is 0.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// Variance of the first value.
    pub first: f64,
    /// Variance per unit of time.
    pub rate: f64,
    /// Time from each knot to the next: one fewer than knots.
    pub gaps: &'a [f64],
}

/// Mean and variance before and after each knot was seen.
struct Filtered {
    means: Vec<f64>,
    variances: Vec<f64>,
    log_evidence: f64,
}

impl Walk<'_> {
    /// log ∫ p(data | w) p(w) dw - log p(data | w = 0).
    pub fn log_evidence(&self, pulls: &[Pull]) -> f64 {
        self.filter(pulls).log_evidence
    }

    fn filter(&self, pulls: &[Pull]) -> Filtered {
        let n = pulls.len();
        let (mut means, mut variances) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut mean, mut variance, mut log_evidence) = (0.0, self.first, 0.0);
        for (knot, pull) in pulls.iter().enumerate() {
            if knot > 0 {
                variance += self.rate * self.gaps[knot - 1];
            }
            let shrunk = 1.0 + pull.precision * variance;
            let moved = mean + variance * pull.product;
            // ∫ exp(q w - p w² / 2) N(w; m, v) dw.
            log_evidence += 0.5 * ((moved * moved / shrunk - mean * mean) / variance - ln(shrunk));
            mean = moved / shrunk;
            variance /= shrunk;
            means.push(mean);
            variances.push(variance);
        }
        Filtered { means, variances, log_evidence }
    }

    /// Means and variances of the values given all pulls.
    pub fn moments(&self, pulls: &[Pull]) -> (Vec<f64>, Vec<f64>) {
        let Filtered { mut means, mut variances, .. } = self.filter(pulls);
        for knot in (0..pulls.len().saturating_sub(1)).rev() {
            let ahead = variances[knot] + self.rate * self.gaps[knot];
            let gain = variances[knot] / ahead;
            means[knot] += gain * (means[knot + 1] - means[knot]);
            variances[knot] += gain * gain * (variances[knot + 1] - ahead);
        }
        (means, variances)
    }

    /// One course of the values given all pulls.
    pub fn draw(&self, pulls: &[Pull], random: &mut RandomStream) -> Vec<f64> {
        let Filtered { means, variances, .. } = self.filter(pulls);
        let n = pulls.len();
        let mut course = vec![0.0; n];
        course[n - 1] = means[n - 1] + variances[n - 1].sqrt() * random.normal();
        if self.rate == 0.0 {
            return vec![course[n - 1]; n];
        }
        for knot in (0..n - 1).rev() {
            let step = self.rate * self.gaps[knot];
            let gain = variances[knot] / (variances[knot] + step);
            let mean = means[knot] + gain * (course[knot + 1] - means[knot]);
            course[knot] = mean + (gain * step).sqrt() * random.normal();
        }
        course
    }
}
