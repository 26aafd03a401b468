//! Monotone splines of rational functions, backwards, with derivatives.
//!
//! Durkan, Bekasov, Murray and Papamakarios (2019), arXiv:1906.04032 (quadratic), and Dolatabadi, Erfani and Leckie (2020),
//! arXiv:2001.05168 (linear).

use super::dual::Dual;

/// Pieces of a spline.
pub(super) const BINS: usize = 8;
/// Beyond this the spline is the identity.
const BOUND: f64 = 5.0;
/// Least share of a piece, least slope, and least distance of the middle from the ends.
const LEAST: f64 = 0.001;
const LEAST_MIDDLE: f64 = 0.025;
/// Knots belong to the piece before them by this much.
const NUDGE: f64 = 1e-6;

/// The degree of numerator and denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    Linear,
    Quadratic,
}

impl Order {
    /// Raw numbers of one spline: widths, heights, inner slopes, and middles of linear ones.
    pub(super) fn n_raw(self) -> usize {
        match self {
            Self::Linear => 4 * BINS - 1,
            Self::Quadratic => 3 * BINS - 1,
        }
    }
}

/// The inverse at a value.
pub(super) struct Inverse {
    pub(super) value: f64,
    pub(super) log_slope: f64,
}

/// Gradients of what was computed.
pub(super) struct InverseGradient {
    /// By the value.
    pub(super) by_value: f64,
    /// By the raw numbers.
    pub(super) by_raw: Vec<f64>,
}

/// One spline, from raw numbers.
pub(super) struct Spline {
    order: Order,
    width_shares: [f64; BINS],
    height_shares: [f64; BINS],
    raw: Vec<f64>,
}

/// Places of what one piece depends on.
const Y: usize = 0;
const X0: usize = 1;
const WIDTH: usize = 2;
const Y0: usize = 3;
const HEIGHT: usize = 4;
const SLOPE_LEFT: usize = 5;
const SLOPE_RIGHT: usize = 6;
const MIDDLE: usize = 7;
type Local = Dual<8>;

impl Spline {
    pub(super) fn new(order: Order, raw: &[f64]) -> Self {
        Self {
            order,
            width_shares: softmax(&raw[..BINS]),
            height_shares: softmax(&raw[BINS..2 * BINS]),
            raw: raw.to_vec(),
        }
    }

    /// The inverse at `y`, and the gradient of `by_inverse` x inverse + `by_slope` x log slope.
    pub(super) fn inverse(&self, y: f64) -> (Inverse, impl Fn(f64, f64) -> InverseGradient + '_) {
        let piece = (y.abs() <= BOUND).then(|| self.piece(y));
        let found = piece.map(|(bin, local)| (bin, self.local_inverse(&local)));
        let inverse = match &found {
            Some((_, (value, log_slope))) => {
                Inverse { value: value.value, log_slope: log_slope.value }
            }
            None => Inverse { value: y, log_slope: 0.0 },
        };
        let gradient = move |by_inverse: f64, by_slope: f64| {
            let Some((bin, (value, log_slope))) = &found else {
                return InverseGradient {
                    by_value: by_inverse,
                    by_raw: vec![0.0; self.order.n_raw()],
                };
            };
            let local: [f64; 8] = std::array::from_fn(|idx| {
                by_inverse * value.slopes[idx] + by_slope * log_slope.slopes[idx]
            });
            InverseGradient { by_value: local[Y], by_raw: self.raw_gradient(*bin, &local) }
        };
        (inverse, gradient)
    }

    /// The piece that holds a value, and its corner, size, slopes and middle.
    fn piece(&self, y: f64) -> (usize, [f64; 8]) {
        let (xs, ys) = (knots(&self.width_shares), knots(&self.height_shares));
        let n_below = ys.iter().filter(|knot| **knot + NUDGE <= y).count();
        let bin = n_below.clamp(1, BINS) - 1;
        let slope = |knot: usize| match knot {
            0 | BINS => 1.0 - LEAST,
            inner => LEAST + softplus(self.raw[2 * BINS + inner - 1]),
        };
        let middle = match self.order {
            Order::Linear => {
                LEAST_MIDDLE + (1.0 - 2.0 * LEAST_MIDDLE) * sigmoid(self.raw[3 * BINS - 1 + bin])
            }
            Order::Quadratic => 0.5,
        };
        let mut local = [0.0; 8];
        local[Y] = y;
        local[X0] = xs[bin];
        local[WIDTH] = xs[bin + 1] - xs[bin];
        local[Y0] = ys[bin];
        local[HEIGHT] = ys[bin + 1] - ys[bin];
        local[SLOPE_LEFT] = slope(bin);
        local[SLOPE_RIGHT] = slope(bin + 1);
        local[MIDDLE] = middle;
        (bin, local)
    }

    fn local_inverse(&self, local: &[f64; 8]) -> (Local, Local) {
        let v: [Local; 8] = std::array::from_fn(|idx| Local::variable(local[idx], idx));
        match self.order {
            Order::Linear => linear_inverse(&v),
            Order::Quadratic => quadratic_inverse(&v),
        }
    }

    /// From what a piece depends on back to the raw numbers.
    fn raw_gradient(&self, bin: usize, local: &[f64; 8]) -> Vec<f64> {
        let mut grads = vec![0.0; self.order.n_raw()];
        let unit = 2.0 * BOUND * (1.0 - LEAST * BINS as f64);
        let shares = |corner: f64, size: f64| -> [f64; BINS] {
            std::array::from_fn(|idx| match idx.cmp(&bin) {
                std::cmp::Ordering::Less => unit * corner,
                std::cmp::Ordering::Equal => unit * size,
                std::cmp::Ordering::Greater => 0.0,
            })
        };
        let widths = softmax_backward(&self.width_shares, &shares(local[X0], local[WIDTH]));
        let heights = softmax_backward(&self.height_shares, &shares(local[Y0], local[HEIGHT]));
        grads[..BINS].copy_from_slice(&widths);
        grads[BINS..2 * BINS].copy_from_slice(&heights);
        for (knot, grad) in [(bin, local[SLOPE_LEFT]), (bin + 1, local[SLOPE_RIGHT])] {
            if (1..BINS).contains(&knot) {
                let place = 2 * BINS + knot - 1;
                grads[place] += grad * sigmoid(self.raw[place]);
            }
        }
        if self.order == Order::Linear {
            let place = 3 * BINS - 1 + bin;
            let share = sigmoid(self.raw[place]);
            grads[place] = local[MIDDLE] * (1.0 - 2.0 * LEAST_MIDDLE) * share * (1.0 - share);
        }
        grads
    }
}

/// Knots from shares of the whole; the ends are exact.
fn knots(shares: &[f64; BINS]) -> [f64; BINS + 1] {
    let mut knots = [-BOUND; BINS + 1];
    let mut sum = 0.0;
    for (idx, share) in shares.iter().enumerate() {
        sum += LEAST + (1.0 - LEAST * BINS as f64) * share;
        knots[idx + 1] = 2.0 * BOUND * sum - BOUND;
    }
    knots[BINS] = BOUND;
    knots
}

fn linear_inverse(v: &[Local; 8]) -> (Local, Local) {
    let one = Local::constant(1.0);
    let [y, x0, width, y0, height, d0, d1, l] = *v;
    let slope = height / width;
    let wb = (d0 / d1).sqrt();
    let wc = (l * d0 + (one - l) * wb * d1) / slope;
    let yb = y0 + height;
    let yc = ((one - l) * y0 + l * wb * yb) / ((one - l) + l * wb);
    let (top, bottom, factor) = if y.value <= yc.value {
        (l * (y0 - y), (wc - one) * y + y0 - wc * yc, wc * l * (yc - y0) * width)
    } else {
        (
            (wc - l * wb) * y + l * wb * yb - wc * yc,
            (wc - wb) * y + wb * yb - wc * yc,
            wb * wc * (one - l) * (yb - yc) * width,
        )
    };
    let two = Local::constant(2.0);
    (x0 + width * top / bottom, factor.ln() - two * bottom.abs().ln())
}

fn quadratic_inverse(v: &[Local; 8]) -> (Local, Local) {
    let (one, two, four) = (Local::constant(1.0), Local::constant(2.0), Local::constant(4.0));
    let [y, x0, width, y0, height, d0, d1, _] = *v;
    let s = height / width;
    let (z, q) = (y - y0, d0 + d1 - two * s);
    let a = z * q + height * (s - d0);
    let b = height * d0 - z * q;
    let c = -(s * z);
    let r = two * c / (-b - (b * b - four * a * c).sqrt());
    let rest = one - r;
    let inner = d1 * r * r + two * s * r * rest + d0 * rest * rest;
    let log_slope = -(two * s.ln() + inner.ln() - two * (s + q * r * rest).ln());
    (x0 + r * width, log_slope)
}

fn softmax(raw: &[f64]) -> [f64; BINS] {
    let largest = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: [f64; BINS] = std::array::from_fn(|idx| (raw[idx] - largest).exp());
    let sum: f64 = powers.iter().sum();
    powers.map(|power| power / sum)
}

fn softmax_backward(shares: &[f64; BINS], grads: &[f64; BINS]) -> [f64; BINS] {
    let mean: f64 = shares.iter().zip(grads).map(|(share, grad)| share * grad).sum();
    std::array::from_fn(|idx| shares[idx] * (grads[idx] - mean))
}

fn sigmoid(x: f64) -> f64 {
    driftgraph_core::layers::Real::sigmoid(x)
}

fn softplus(x: f64) -> f64 {
    driftgraph_core::layers::Real::softplus(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splines_equal_those_of_the_reference() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/rhino.json")).unwrap();
        let row = |value: &serde_json::Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        for case in golden["spline"].as_array().unwrap() {
            let order: Order = serde_json::from_value(case["order"].clone()).unwrap();
            for (idx, y) in row(&case["x"]).into_iter().enumerate() {
                // The file has what comes out of softmax, softplus and sigmoid.
                let mut raw: Vec<f64> =
                    row(&case["widths"][idx]).iter().map(|share| share.ln()).collect();
                raw.extend(row(&case["heights"][idx]).iter().map(|share| share.ln()));
                raw.extend(row(&case["derivatives"][idx]).iter().map(|slope| slope.exp_m1().ln()));
                if order == Order::Linear {
                    raw.extend(row(&case["lambdas"][idx]).iter().map(|p| (p / (1.0 - p)).ln()));
                }
                let spline = Spline::new(order, &raw);
                let (inverse, _) = spline.inverse(y);
                let [value, log_slope] =
                    ["inverse", "inverse_logdet"].map(|name| row(&case[name])[idx]);
                // Logarithms and their inverses on the way.
                assert!(
                    (inverse.value - value).abs() < 1e-9,
                    "{order:?} {y}: {} {value}",
                    inverse.value
                );
                assert!(
                    (inverse.log_slope.abs() - log_slope.abs()).abs() < 1e-9,
                    "{order:?} {y}: {} {log_slope}",
                    inverse.log_slope
                );
                // What the reference gives forwards leads back here.
                let [forward, log_slope] =
                    ["forward", "forward_logdet"].map(|name| row(&case[name])[idx]);
                let (back, _) = spline.inverse(forward);
                assert!((back.value - y).abs() < 1e-8, "{order:?} {y}: {}", back.value);
                assert!(
                    (back.log_slope + log_slope).abs() < 1e-8,
                    "{order:?} {y}: {} {log_slope}",
                    back.log_slope
                );
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for order in [Order::Linear, Order::Quadratic] {
            let raw: Vec<f64> = (0..order.n_raw()).map(|idx| (idx as f64 * 0.7).sin()).collect();
            for y in [-4.9, -1.3, 0.4, 2.7, 6.0] {
                let at = |raw: &[f64], y: f64| {
                    let spline = Spline::new(order, raw);
                    let (found, _) = spline.inverse(y);
                    0.7 * found.value - 1.3 * found.log_slope
                };
                let spline = Spline::new(order, &raw);
                let grads = spline.inverse(y).1(0.7, -1.3);
                let step = 1e-6;
                // Second differences times the step, and rounding over it.
                let close = |found: f64, wanted: f64| {
                    assert!((found - wanted).abs() < 1e-7, "{found} {wanted}");
                };
                close(grads.by_value, (at(&raw, y + step) - at(&raw, y - step)) / (2.0 * step));
                for idx in 0..raw.len() {
                    let moved = |by: f64| {
                        let mut raw = raw.clone();
                        raw[idx] += by;
                        at(&raw, y)
                    };
                    close(grads.by_raw[idx], (moved(step) - moved(-step)) / (2.0 * step));
                }
            }
        }
    }
}
