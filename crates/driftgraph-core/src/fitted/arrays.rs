//! Named arrays: what a model file is made of, and the checks on reading them back.

use super::error::ModelError;

/// A named array, last axis fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Values,
}

/// The numbers of an array, in the precision they were computed in.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Single precision.
    Single(Vec<f32>),
    /// Double precision.
    Double(Vec<f64>),
}

impl NamedArray {
    /// A matrix in double precision.
    pub fn double(name: impl Into<String>, shape: [usize; 2], values: Vec<f64>) -> Self {
        Self { name: name.into(), shape: shape.to_vec(), values: Values::Double(values) }
    }

    /// A matrix in single precision.
    pub fn single(name: impl Into<String>, shape: [usize; 2], values: Vec<f32>) -> Self {
        Self { name: name.into(), shape: shape.to_vec(), values: Values::Single(values) }
    }
}

/// What is known of an array before its numbers are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayHead {
    /// `f32`, `f64`, or what else the file says.
    pub precision: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// Where a model's arrays come from: heads first, numbers only when their head is as expected.
pub trait ArraySource {
    /// The head of an array, or `None` where there is no such array.
    fn head(&self, name: &str) -> Option<ArrayHead>;

    /// Numbers of an array of single precision.
    fn singles(&self, name: &str) -> Vec<f32>;

    /// Numbers of an array of double precision.
    fn doubles(&self, name: &str) -> Vec<f64>;
}

impl ArraySource for [NamedArray] {
    fn head(&self, name: &str) -> Option<ArrayHead> {
        let found = self.iter().find(|array| array.name == name)?;
        let precision = match found.values {
            Values::Single(_) => "f32",
            Values::Double(_) => "f64",
        };
        Some(ArrayHead { precision: precision.to_owned(), shape: found.shape.clone() })
    }

    fn singles(&self, name: &str) -> Vec<f32> {
        match self.iter().find(|array| array.name == name).map(|array| &array.values) {
            Some(Values::Single(values)) => values.clone(),
            _ => Vec::new(),
        }
    }

    fn doubles(&self, name: &str) -> Vec<f64> {
        match self.iter().find(|array| array.name == name).map(|array| &array.values) {
            Some(Values::Double(values)) => values.clone(),
            _ => Vec::new(),
        }
    }
}

/// Which numbers an array may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Finite ones.
    Finite,
    /// Infinite ones too, as the log-odds of an edge that was not learned.
    Infinite,
}

/// Checks that an array is there, with that shape and precision, without reading its numbers.
pub(super) fn check_head<S: ArraySource + ?Sized>(
    source: &S,
    name: &str,
    shape: [usize; 2],
    precision: &'static str,
) -> Result<(), ModelError> {
    let name = name.to_owned();
    let Some(head) = source.head(&name) else { return Err(ModelError::MissingArray { name }) };
    if head.shape != shape {
        let (expected, found) = (shape.to_vec(), head.shape);
        return Err(ModelError::WrongShape { name, expected, found });
    }
    if head.precision != precision {
        let expected = if precision == "f32" { "single" } else { "double" };
        return Err(ModelError::WrongPrecision { name, expected, found: head.precision });
    }
    Ok(())
}

/// Reads a checked array of double precision.
pub(super) fn read_doubles<S: ArraySource + ?Sized>(
    source: &S,
    name: &str,
    shape: [usize; 2],
    allowed: Allowed,
) -> Result<Vec<f64>, ModelError> {
    check_head(source, name, shape, "f64")?;
    let values = source.doubles(name);
    let bad = |value: &f64| match allowed {
        Allowed::Finite => !value.is_finite(),
        Allowed::Infinite => value.is_nan(),
    };
    match values.iter().position(bad) {
        Some(position) => Err(ModelError::NotFinite { name: name.to_owned(), position }),
        None => Ok(values),
    }
}

/// Reads a checked array of single precision.
pub(super) fn read_singles<S: ArraySource + ?Sized>(
    source: &S,
    name: &str,
    shape: [usize; 2],
) -> Result<Vec<f32>, ModelError> {
    check_head(source, name, shape, "f32")?;
    let values = source.singles(name);
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => Err(ModelError::NotFinite { name: name.to_owned(), position }),
        None => Ok(values),
    }
}
