//! One flat buffer for all parameters, and a table of names, shapes and places in it.

/// The place of one matrix (or vector: one row) in a flat buffer, row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// First entry.
    pub offset: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

impl Slot {
    /// Number of entries.
    #[cfg_attr(
        feature = "testing",
        expect(clippy::len_without_is_empty, reason = "a slot is never empty")
    )]
    pub fn len(self) -> usize {
        self.rows * self.cols
    }

    /// This slot's entries of a flat buffer.
    #[inline]
    pub fn of<R>(self, buffer: &[R]) -> &[R] {
        &buffer[self.offset..self.offset + self.len()]
    }

    /// This slot's entries of a flat buffer, to write.
    #[inline]
    pub fn of_mut<R>(self, buffer: &mut [R]) -> &mut [R] {
        &mut buffer[self.offset..self.offset + self.len()]
    }
}

/// Parameters, and the buffer to which their gradient is added.
#[derive(Debug)]
pub struct WithGradient<'a, R> {
    /// All parameters of the model.
    pub parameters: &'a [R],
    /// As many entries.
    pub grads: &'a mut [R],
}

/// Values, and the buffer to which their adjoints are added.
#[derive(Debug)]
pub struct WithAdjoints<'a, R> {
    pub(crate) values: &'a [R],
    pub(crate) adjoints: &'a mut [R],
}

/// Initial values of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// The same value everywhere.
    Constant(f64),
    /// Normal with mean 0 and this deviation.
    Normal(f64),
    /// Uniform between minus and plus this bound.
    Uniform(f64),
}

impl Init {
    /// What PyTorch gives weight and bias of a linear layer: bound 1 / sqrt(`fan_in`).
    pub(crate) fn of_fan_in(fan_in: usize) -> Self {
        Self::Uniform(1.0 / (fan_in as f64).sqrt())
    }
}

/// One named parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name, unique in its table, with dots between the parts.
    pub name: String,
    /// Its place.
    pub slot: Slot,
    /// How it starts.
    pub init: Init,
}

/// Names, shapes and places of all parameters of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterTable {
    parameters: Vec<Parameter>,
    len: usize,
    scratch: usize,
}

impl ParameterTable {
    /// Adds a parameter after all others.
    pub fn add(&mut self, name: impl Into<String>, [rows, cols]: [usize; 2], init: Init) -> Slot {
        let name = name.into();
        debug_assert!(self.find(&name).is_none(), "parameter names are unique: {name}");
        debug_assert_eq!(self.scratch, 0, "parameters come before scratch entries");
        let slot = Slot { offset: self.len, rows, cols };
        self.len += slot.len();
        self.parameters.push(Parameter { name, slot, init });
        slot
    }

    /// Adds entries behind the parameters that exist in gradient buffers only.
    ///
    /// Layers sum there what many rows share, and turn the sum into gradients once per step.
    pub(crate) fn add_scratch(&mut self, [rows, cols]: [usize; 2]) -> Slot {
        let slot = Slot { offset: self.len + self.scratch, rows, cols };
        self.scratch += slot.len();
        slot
    }

    /// The parameters, in the order of their places.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Number of parameter entries.
    #[expect(clippy::len_without_is_empty, reason = "a model always has parameters")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of entries of a gradient buffer: the parameters, then scratch entries.
    pub(crate) fn gradient_len(&self) -> usize {
        self.len + self.scratch
    }

    /// The parameter of that name.
    pub fn find(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_follow_each_other_and_scratch_comes_last() {
        let mut table = ParameterTable::default();
        let first = table.add("a", [2, 3], Init::Constant(0.0));
        let second = table.add("b", [1, 4], Init::Constant(0.0));
        let scratch = table.add_scratch([5, 1]);
        assert_eq!((first.offset, second.offset, scratch.offset), (0, 6, 10));
        assert_eq!((table.len(), table.gradient_len()), (10, 15));
        assert_eq!(table.find("b").map(|found| found.slot), Some(second));
    }
}
