//! Columns of numbers for charts, written with two characters each.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

/// Characters of two-digit codes, in the order of their digits.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The largest code; the one above it stands for "no number".
const MOST: f64 = 4094.0;
const NONE: usize = 4095;

/// Numbers of a chart; `NaN` where there is none.
///
/// Serialised as `[least, greatest, codes]`, each number rounded to a 4094th of the range, far less than
/// a pixel, and written with two characters: a report of many series stays small enough to send.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Column(pub Vec<f64>);

impl Column {
    fn range(&self) -> (f64, f64) {
        let finite = self.0.iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
        if low >= high {
            // One value, or none at all.
            return if low == high { (low, high) } else { (0.0, 0.0) };
        }
        // Ends to a ten-thousandth of the range: all their digits would be most of a short column.
        let digits = (4.0 - libm::floor(libm::log10(high - low))).clamp(0.0, 300.0) as usize;
        let rounded =
            |end: f64| format!("{end:.digits$}").parse().expect("a printed number can be read");
        (rounded(low), rounded(high))
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (low, high) = self.range();
        let mut codes = String::with_capacity(2 * self.0.len());
        for value in &self.0 {
            let code = match value {
                value if !value.is_finite() => NONE,
                _ if high <= low => 0,
                // Rounded ends may cut a value off by less than a step.
                value => (MOST * ((value - low) / (high - low)).clamp(0.0, 1.0)).round() as usize,
            };
            codes.extend([DIGITS[code / 64], DIGITS[code % 64]].map(char::from));
        }
        let mut tuple = serializer.serialize_tuple(3)?;
        tuple.serialize_element(&low)?;
        tuple.serialize_element(&high)?;
        tuple.serialize_element(&codes)?;
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(3, ColumnVisitor)
    }
}

struct ColumnVisitor;

impl<'de> Visitor<'de> for ColumnVisitor {
    type Value = Column;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("least number, greatest number and codes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Column, A::Error> {
        let missing = |idx| de::Error::invalid_length(idx, &self);
        let low: f64 = parts.next_element()?.ok_or_else(|| missing(0))?;
        let high: f64 = parts.next_element()?.ok_or_else(|| missing(1))?;
        let codes: String = parts.next_element()?.ok_or_else(|| missing(2))?;
        let digit = |byte: &u8| DIGITS.iter().position(|other| other == byte);
        let number = |pair: &[u8]| {
            let code = 64 * digit(&pair[0])? + digit(pair.get(1)?)?;
            Some(if code == NONE { f64::NAN } else { low + (high - low) * (code as f64 / MOST) })
        };
        let numbers: Option<Vec<f64>> = codes.as_bytes().chunks(2).map(number).collect();
        numbers.map(Column).ok_or_else(|| de::Error::custom("a column has a damaged code"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_a_part_of_the_range_and_gaps_stay_gaps() {
        let column = Column(vec![-3.0, f64::NAN, 0.1234, 7.0, 2.0]);
        let text = serde_json::to_string(&column).unwrap();
        let back: Column = serde_json::from_str(&text).unwrap();
        for (before, after) in column.0.iter().zip(&back.0) {
            // Rounding to the nearest of 4094 steps of a range of 10.
            let close = (before - after).abs() <= 0.5 * 10.0 / MOST + 1e-12;
            assert!(close || before.is_nan() && after.is_nan(), "{before} {after}");
        }
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }

    #[test]
    fn small_changes_of_large_numbers_survive() {
        let column = Column(vec![101325.01, 101325.02, 101325.04]);
        let text = serde_json::to_string(&column).unwrap();
        let back: Column = serde_json::from_str(&text).unwrap();
        // A step, and the rounding of the ends, are parts of a range of 0.03.
        let close = column.0.iter().zip(&back.0).all(|(a, b)| (a - b).abs() < 0.03 / 1000.0);
        assert!(close, "{text}");
    }

    #[test]
    fn columns_of_one_value_or_none_survive() {
        for column in [Column(vec![2.5; 3]), Column(vec![])] {
            let text = serde_json::to_string(&column).unwrap();
            assert_eq!(serde_json::from_str::<Column>(&text).unwrap(), column);
        }
        assert_eq!(serde_json::to_string(&Column(vec![f64::NAN])).unwrap(), r#"[0.0,0.0,"__"]"#);
        assert!(serde_json::from_str::<Column>(r#"[0,1,"!!"]"#).is_err());
        assert!(serde_json::from_str::<Column>(r#"[0,1,"A"]"#).is_err());
    }
}
