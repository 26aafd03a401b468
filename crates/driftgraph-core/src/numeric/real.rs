//! The two float types of the layers: `f32` to train, `f64` to prove the same code right.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A float with the functions the layers need, written so that loops over them vectorise.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;

    /// The same value as `f64`.
    fn to_f64(self) -> f64;

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;

    /// The square root.
    #[must_use]
    fn sqrt(self) -> Self;

    /// e to the power `self`; at the ends of the range infinite (above 88, for `f64` above 709) or 0.
    #[must_use]
    fn exp(self) -> Self;

    /// ln(1 + `self`) for `self` in [0, 1].
    #[must_use]
    fn ln_1p_unit(self) -> Self;

    /// Whether the value is `NaN`.
    fn is_nan(self) -> bool;

    /// The larger of two numbers; `other` when `self` is `NaN`.
    #[inline(always)]
    #[must_use]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// 1 / (1 + exp(-x)), without overflow.
    #[inline(always)]
    #[must_use]
    fn sigmoid(self) -> Self {
        let small = (-self.abs()).exp();
        let share = Self::ONE / (Self::ONE + small);
        if self < Self::ZERO { small * share } else { share }
    }

    /// ln(1 + exp(x)), without overflow.
    #[inline(always)]
    #[must_use]
    fn softplus(self) -> Self {
        self.larger(Self::ZERO) + (-self.abs()).exp().ln_1p_unit()
    }

    /// The hyperbolic tangent, to an absolute rounding error.
    #[inline(always)]
    #[must_use]
    fn tanh(self) -> Self {
        let two = Self::ONE + Self::ONE;
        two * (two * self).sigmoid() - Self::ONE
    }
}

/// The value of a polynomial, the coefficient of its highest power first, after Horner.
///
/// Written out, because a loop over the coefficients would keep the loops around it from being vectorised.
macro_rules! polynomial {
    ($x:expr; $first:expr $(, $next:expr)*) => {{
        let mut sum = $first;
        $(sum = sum * $x + $next;)*
        sum
    }};
}

/// What every processor does by itself, for one of the two precisions.
macro_rules! hardware_operations {
    ($float:ident) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;

        #[inline(always)]
        fn from_f64(value: f64) -> Self {
            value as $float
        }

        #[inline(always)]
        fn to_f64(self) -> f64 {
            f64::from(self)
        }

        #[inline(always)]
        fn abs(self) -> Self {
            $float::abs(self)
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            $float::sqrt(self)
        }

        #[inline(always)]
        fn is_nan(self) -> bool {
            $float::is_nan(self)
        }
    };
}

/// ln 2 in two parts; the high one has so few bits that its multiples are exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

impl Real for f64 {
    hardware_operations!(f64);

    /// As for `f32`, with more terms.
    #[inline(always)]
    fn exp(self) -> Self {
        // Adding 1.5 * 2^52 rounds to a whole number in the last bits of the mantissa.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let bounded = if self > 709.0 { 709.0 } else { self };
        let bounded = if bounded < -708.0 { -708.0 } else { bounded };
        let shifted = bounded * std::f64::consts::LOG2_E + ROUND;
        let whole = shifted - ROUND;
        let rest = bounded - whole * LN2_HIGH - whole * LN2_LOW;
        // The Taylor polynomial, within rounding for |rest| <= ln(2) / 2.
        let sum = polynomial!(
            rest;
            1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
            1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
            1.0 / 6.0, 0.5
        );
        let value = (sum * rest * rest + rest) + 1.0;
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
        let result = if self > 709.0 { f64::INFINITY } else { value * power };
        if self < -708.0 { 0.0 } else { result }
    }

    /// As for `f32`, with more terms.
    #[inline(always)]
    fn ln_1p_unit(self) -> Self {
        let ratio = self / (2.0 + self);
        let square = ratio * ratio;
        let sum = polynomial!(
            square;
            1.0 / 33.0, 1.0 / 31.0, 1.0 / 29.0, 1.0 / 27.0, 1.0 / 25.0, 1.0 / 23.0, 1.0 / 21.0,
            1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0,
            1.0 / 5.0, 1.0 / 3.0, 1.0
        );
        2.0 * ratio * sum
    }

    /// To a relative rounding error.
    fn tanh(self) -> Self {
        libm::tanh(self)
    }
}

impl Real for f32 {
    hardware_operations!(f32);

    /// 2^n times a polynomial of the remainder; no branch and no library call, so it vectorises.
    ///
    /// Products and sums stay separate: `mul_add` without the instruction is a slow library call,
    /// and the bits would depend on the machine.
    #[inline(always)]
    fn exp(self) -> Self {
        // Adding 1.5 * 2^23 rounds to a whole number in the last bits of the mantissa.
        const ROUND: f32 = 12_582_912.0;
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        let bounded = if self > 88.0 { 88.0 } else { self };
        let bounded = if bounded < -87.3 { -87.3 } else { bounded };
        let shifted = bounded * std::f32::consts::LOG2_E + ROUND;
        let whole = shifted - ROUND;
        let rest = bounded - whole * LN2_HIGH - whole * LN2_LOW;
        // The Taylor polynomial, within rounding for |rest| <= ln(2) / 2.
        let sum = polynomial!(
            rest;
            1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5
        );
        let value = (sum * rest * rest + rest) + 1.0;
        let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
        let result = if self > 88.0 { f32::INFINITY } else { value * power };
        if self < -87.3 { 0.0 } else { result }
    }

    /// ln(1 + x) = 2 artanh(x / (2 + x)), whose series converges fast on [0, 1].
    #[inline(always)]
    fn ln_1p_unit(self) -> Self {
        let ratio = self / (2.0 + self);
        let square = ratio * ratio;
        let sum = polynomial!(
            square;
            1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0
        );
        2.0 * ratio * sum
    }
}

/// e to the power `x`, the same bits on every system; infinite above 709, 0 below -708.
#[inline]
pub fn exp(x: f64) -> f64 {
    Real::exp(x)
}

/// The natural logarithm, the same bits on every system; minus infinity of 0, `NaN` below.
///
/// With x = 2^n (1 + f) and s = f / (2 + f): ln(1 + f) = 2 artanh(s) = f - f²/2 + s (f²/2 + r), where r is
/// the series 2 s² (1/3 + s²/5 + ...); the first two terms hold nearly all digits.
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return if x == 0.0 {
            f64::NEG_INFINITY
        } else if x < 0.0 {
            f64::NAN
        } else {
            x
        };
    }
    // Numbers below the normal ones are taken up by 2^54 first.
    let (x, lifted) =
        if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, 54.0) } else { (x, 0.0) };
    // The bits of √½ subtracted: the exponent then counts from there.
    let shifted = x.to_bits().wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let power = (shifted.cast_signed() >> 52) as f64 - lifted;
    let f = f64::from_bits(x.to_bits().wrapping_sub(shifted & (0xFFF << 52))) - 1.0;
    let ratio = f / (2.0 + f);
    let square = ratio * ratio;
    let sum = polynomial!(
        square;
        1.0 / 23.0, 1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0,
        1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0
    );
    let half_square = 0.5 * f * f;
    let small = ratio * (half_square + 2.0 * square * sum) + power * LN2_LOW;
    power * LN2_HIGH - ((half_square - small) - f)
}

/// ln(1 + `x`), also where `x` is small.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum == 1.0 || !(sum > 0.0 && sum < f64::INFINITY) {
        // Too small to change 1; or -1, less or infinite.
        return if sum == 1.0 { x } else { ln(sum) };
    }
    // What rounding took from the sum, to first order.
    let lost = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    ln(sum) + lost / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> impl Iterator<Item = f32> {
        (-87_000..=87_000).map(|idx| idx as f32 * 1e-3)
    }

    #[test]
    fn single_precision_exp_is_right_to_a_few_units_in_the_last_place() {
        for x in arguments() {
            let exact = f64::exp(f64::from(x));
            let found = f64::from(Real::exp(x));
            // Two roundings of 6e-8 in the product, plus the reduction of large arguments.
            assert!((found / exact - 1.0).abs() < 3e-7, "{x}: {found} {exact}");
        }
    }

    #[test]
    fn double_precision_exp_and_logarithm_are_right_to_a_few_units_in_the_last_place() {
        for x in arguments().map(|x| 8.1 * f64::from(x)) {
            let ratio = Real::exp(x) / f64::exp(x);
            // Two roundings of 1.1e-16 in the product, plus the reduction of large arguments.
            assert!((ratio - 1.0).abs() < 6e-16, "{x}: {ratio}");
            let unit = (x / 704.7).abs();
            let gap = Real::ln_1p_unit(unit) - f64::ln_1p(unit);
            assert!(gap.abs() <= 6e-16 * unit, "{unit}: {gap}");
        }
    }

    #[test]
    fn exp_beyond_the_range_is_zero_or_infinite_and_nan_stays() {
        assert_eq!(Real::exp(-200.0_f32), 0.0);
        assert_eq!(Real::exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(Real::exp(100.0_f32), f32::INFINITY);
        assert!(Real::exp(f32::NAN).is_nan());
        assert_eq!(Real::exp(-1000.0_f64), 0.0);
        assert_eq!(Real::exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(Real::exp(710.0_f64), f64::INFINITY);
        assert!(Real::exp(f64::NAN).is_nan());
    }

    #[test]
    fn the_logarithm_is_right_to_a_unit_in_the_last_place() {
        let wide = (-1073..1024).flat_map(|power| {
            [1.0, 1.1, 1.4, 1.5, 1.9]
                .map(|share| share * 2.0_f64.powi(power / 2) * 2.0_f64.powi(power - power / 2))
        });
        // Around 1, where nothing of the exponent hides the error.
        let near = (1..40_000).map(|idx| 0.5 + f64::from(idx) * 4.3e-5);
        for x in wide.chain(near) {
            let exact = f64::ln(x);
            // One rounding of 1.1e-16 in the last sum, and a little from the terms before.
            assert!((ln(x) - exact).abs() <= 2.3e-16 * exact.abs(), "{x}: {} {exact}", ln(x));
        }
    }

    #[test]
    fn logarithms_of_sums_near_one_keep_their_digits() {
        for idx in 1..3000 {
            for x in [idx, -idx].map(|idx| (f64::from(idx) * 0.01).sinh() * 1e-13) {
                let gap = ln_1p(x) - f64::ln_1p(x);
                // The roundings of the logarithm, of the correction and of their sum.
                assert!(x <= -1.0 || gap.abs() <= 5e-16 * f64::ln_1p(x).abs(), "{x}: {gap}");
            }
        }
    }

    #[test]
    fn logarithms_at_the_ends_of_their_range_are_infinite_or_not_numbers() {
        assert_eq!((ln(0.0), ln(-0.0)), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!((ln(f64::INFINITY), ln(1.0)), (f64::INFINITY, 0.0));
        assert!(ln(-1.0).is_nan() && ln(f64::NAN).is_nan() && ln(f64::NEG_INFINITY).is_nan());
        assert_eq!((ln_1p(-1.0), ln_1p(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(ln_1p(-2.0).is_nan() && ln_1p(f64::NAN).is_nan());
        assert_eq!(ln_1p(1e-300), 1e-300);
    }

    #[test]
    fn softplus_sigmoid_and_tanh_agree_with_double_precision() {
        for x in arguments() {
            let wide = f64::from(x);
            // Absolute for tanh, relative for the others: a few roundings of 6e-8.
            assert!((f64::from(Real::tanh(x)) - wide.tanh()).abs() < 5e-7, "tanh {x}");
            let pairs = [
                (Real::softplus(x), Real::softplus(wide)),
                (Real::sigmoid(x), Real::sigmoid(wide)),
            ];
            for (found, exact) in pairs {
                assert!((f64::from(found) / exact - 1.0).abs() < 6e-7, "{x}: {found} {exact}");
            }
        }
    }
}
