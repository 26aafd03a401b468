//! One NumPy array: its header, and its elements as numbers or texts.
//!
//! The format is NumPy's NEP 1: a magic word, a version, and a Python dictionary of type, order
//! and shape, followed by the elements.

use std::io::{self, Read};

/// What an array's header says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    /// The element type as NumPy writes it, such as `<f8`.
    pub(crate) type_text: String,
    /// Whether the first axis runs fastest.
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
    /// Bytes per element.
    item_size: u64,
}

impl Header {
    /// Reads a header, and leaves the reader at the first element.
    pub(crate) fn read(reader: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        let length = match start {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => {
                let mut length = [0; 2];
                reader.read_exact(&mut length)?;
                u64::from(u16::from_le_bytes(length))
            }
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => {
                let mut length = [0; 4];
                reader.read_exact(&mut length)?;
                u64::from(u32::from_le_bytes(length))
            }
            _ => return Err(invalid("an array does not begin as one")),
        };
        let mut text = String::new();
        let n_read = reader.by_ref().take(length).read_to_string(&mut text)? as u64;
        if n_read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::parse(&text).ok_or_else(|| invalid("the header of an array makes no sense"))
    }

    fn parse(text: &str) -> Option<Self> {
        let after = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
        let type_text = match after("descr")?.split_once('\'')? {
            ("", rest) => rest.split_once('\'')?.0.to_owned(),
            // A list of fields: no type of ours.
            _ => "record".to_owned(),
        };
        let fortran_order = match after("fortran_order")? {
            text if text.starts_with("True") => true,
            text if text.starts_with("False") => false,
            _ => return None,
        };
        let sizes = after("shape")?.strip_prefix('(')?.split_once(')')?.0.split(',');
        let sizes = sizes.map(str::trim).filter(|size| !size.is_empty());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
        let digits = type_text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let item_size = digits.parse().unwrap_or(1_u64);
        let letters_per_byte = if type_text.contains('U') { 4 } else { 1 };
        let item_size = item_size.checked_mul(letters_per_byte)?;
        Some(Self { type_text, fortran_order, shape, item_size })
    }

    /// Whether only unpickling could read the elements.
    pub(crate) fn holds_objects(&self) -> bool {
        self.type_text.contains('O')
    }

    /// Bytes of all elements, or `None` if they cannot be counted.
    pub(crate) fn n_bytes(&self) -> Option<u64> {
        self.shape.iter().try_fold(self.item_size, |n, &size| n.checked_mul(size))
    }

    /// The elements as numbers in the usual order, or `None` if they are none.
    pub(crate) fn numbers(&self, reader: impl Read) -> io::Result<Option<Vec<f64>>> {
        let Some(convert) = self.number_of_bytes() else { return Ok(None) };
        let mut bytes = self.bytes(reader)?;
        let item_size = self.item_size as usize;
        if self.type_text.starts_with('>') {
            bytes.chunks_exact_mut(item_size).for_each(<[u8]>::reverse);
        }
        let numbers: Vec<f64> = bytes.chunks_exact(item_size).map(convert).collect();
        Ok(Some(if self.fortran_order { to_c_order(&numbers, &self.shape) } else { numbers }))
    }

    /// How one element, lowest byte first, becomes a number.
    #[expect(clippy::cast_lossless, reason = "two of the types do not convert without loss")]
    fn number_of_bytes(&self) -> Option<fn(&[u8]) -> f64> {
        macro_rules! from {
            ($type:ty) => {
                |bytes| {
                    let bytes = bytes.try_into().expect("chunks have the size of the type");
                    <$type>::from_le_bytes(bytes) as f64
                }
            };
        }
        Some(match self.type_text.trim_start_matches(['<', '>', '|', '=']) {
            "f8" => from!(f64),
            "f4" => from!(f32),
            "i8" => from!(i64),
            "i4" => from!(i32),
            "i2" => from!(i16),
            "i1" => from!(i8),
            "u8" => from!(u64),
            "u4" => from!(u32),
            "u2" => from!(u16),
            "u1" | "b1" => from!(u8),
            _ => return None,
        })
    }

    /// The elements as texts, or `None` if they are none.
    pub(crate) fn texts(&self, reader: impl Read) -> io::Result<Option<Vec<String>>> {
        let letter = self.type_text.trim_start_matches(['<', '>', '|', '=']).chars().next();
        let (Some('U' | 'S'), 1..) = (letter, self.item_size) else { return Ok(None) };
        let bytes = self.bytes(reader)?;
        let items = bytes.chunks_exact(self.item_size as usize);
        let texts: Option<Vec<String>> = match letter {
            Some('S') => items.map(|item| String::from_utf8(item.to_vec()).ok()).collect(),
            _ => items.map(|item| self.letters(item)).collect(),
        };
        let texts = texts.ok_or_else(|| invalid("a text is not made of letters"))?;
        // Short texts are filled up with zeros.
        Ok(Some(texts.iter().map(|text| text.trim_end_matches('\0').to_owned()).collect()))
    }

    /// A text of four bytes per letter.
    fn letters(&self, item: &[u8]) -> Option<String> {
        let code = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("letters have four bytes");
            let big_endian = self.type_text.starts_with('>');
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        item.chunks_exact(4).map(|bytes| char::from_u32(code(bytes))).collect()
    }

    fn bytes(&self, reader: impl Read) -> io::Result<Vec<u8>> {
        let n_bytes = self.n_bytes().ok_or_else(|| invalid("an array is endless"))?;
        let mut bytes = Vec::new();
        let n_read = reader.take(n_bytes).read_to_end(&mut bytes)? as u64;
        if n_read < n_bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }
}

/// Elements stored with the first axis running fastest, put into the usual order.
fn to_c_order(numbers: &[f64], shape: &[u64]) -> Vec<f64> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &size in shape {
        strides.push(stride);
        stride *= size as usize;
    }
    let mut ordered = Vec::with_capacity(numbers.len());
    let mut place = vec![0_usize; shape.len()];
    for _ in 0..numbers.len() {
        ordered.push(
            numbers[place.iter().zip(&strides).map(|(idx, stride)| idx * stride).sum::<usize>()],
        );
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            if place[axis] < shape[axis] as usize {
                break;
            }
            place[axis] = 0;
        }
    }
    ordered
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_every_version_of_python_are_understood() {
        let text = "{'descr': '<U12', 'fortran_order': False, 'shape': (3,), }  \n";
        let header = Header::parse(text).unwrap();
        assert_eq!((header.shape.as_slice(), header.n_bytes()), (&[3][..], Some(144)));
        let scalar = "{'shape': (), 'fortran_order': True, 'descr': '|b1'}";
        let header = Header::parse(scalar).unwrap();
        assert_eq!((header.fortran_order, header.n_bytes()), (true, Some(1)));
        let record = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}";
        assert_eq!(Header::parse(record).unwrap().type_text, "record");
        assert_eq!(Header::parse("{'descr': '<f8', 'shape': (3,)}"), None);
        assert_eq!(Header::parse("{'descr': '<f8', 'fortran_order': False, 'shape': (x,)}"), None);
    }

    #[test]
    fn the_first_axis_may_run_fastest() {
        // [[1, 2, 3], [4, 5, 6]] column by column.
        let stored = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        assert_eq!(to_c_order(&stored, &[2, 3]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}
