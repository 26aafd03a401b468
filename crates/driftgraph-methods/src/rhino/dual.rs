//! Numbers that carry their derivatives with them.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value with its derivatives by a few variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dual<const N: usize> {
    pub(super) value: f64,
    pub(super) slopes: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// A number that depends on nothing.
    pub(super) fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; N] }
    }

    /// The variable number `idx`.
    pub(super) fn variable(value: f64, idx: usize) -> Self {
        let mut slopes = [0.0; N];
        slopes[idx] = 1.0;
        Self { value, slopes }
    }

    fn with(self, value: f64, slope: f64) -> Self {
        Self { value, slopes: self.slopes.map(|own| own * slope) }
    }

    pub(super) fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.with(root, 0.5 / root)
    }

    pub(super) fn ln(self) -> Self {
        self.with(self.value.ln(), 1.0 / self.value)
    }

    pub(super) fn abs(self) -> Self {
        self.with(self.value.abs(), self.value.signum())
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let slopes = std::array::from_fn(|idx| self.slopes[idx] + other.slopes[idx]);
        Self { value: self.value + other.value, slopes }
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;

    fn neg(self) -> Self {
        self.with(-self.value, -1.0)
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;

    #[expect(clippy::suspicious_arithmetic_impl, reason = "the rule of products has a sum in it")]
    fn mul(self, other: Self) -> Self {
        let slopes = std::array::from_fn(|idx| {
            self.slopes[idx] * other.value + self.value * other.slopes[idx]
        });
        Self { value: self.value * other.value, slopes }
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;

    #[expect(
        clippy::suspicious_arithmetic_impl,
        reason = "the rule of quotients has a difference in it"
    )]
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let slopes =
            std::array::from_fn(|idx| (self.slopes[idx] - value * other.slopes[idx]) / other.value);
        Self { value, slopes }
    }
}
