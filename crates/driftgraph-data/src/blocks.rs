//! Blocks of lines of a wide table, read by all threads at once.
//!
//! Only what is as expected is read here: where a part of a block holds anything else, its rows are left to the reader that
//! goes row by row and says what is wrong, and where.

use rayon::prelude::*;

use crate::numbers::{NumberStyle, short_decimal};

/// Bytes of text in a block: enough for every thread, few beside the numbers of a large table.
pub(crate) const BLOCK: usize = 1 << 23;
/// Below so many bytes waking other threads costs more than they save.
const SMALL: usize = 1 << 16;
/// Parts of a block for each thread, so that none waits long for the last.
const PARTS_PER_THREAD: usize = 2;

/// What the columns of a table are, as far as every row is concerned.
pub(crate) struct Layout<'a> {
    pub(crate) separator: u8,
    pub(crate) n_columns: usize,
    pub(crate) series: Option<usize>,
    pub(crate) time: Option<usize>,
    pub(crate) variables: &'a [usize],
    pub(crate) numbers: &'a NumberStyle,
    /// Whether numbers are written in the way most programs write them, and none means a hole.
    pub(crate) is_plain: bool,
}

/// Consecutive lines of a block.
pub(crate) struct Part<'b> {
    pub(crate) bytes: &'b [u8],
    /// None where something in it is not as expected.
    pub(crate) rows: Option<PartRows>,
}

/// The rows of a part.
#[derive(Default)]
pub(crate) struct PartRows {
    /// `[row, variable]`, `NaN` where missing.
    pub(crate) values: Vec<f64>,
    /// Lines before each row in the part.
    lines: Vec<u32>,
    /// Series and time of all rows, one after the other.
    keys: String,
    /// Where series and time of each row end in `keys`.
    ends: Vec<[u32; 2]>,
    /// Lines of the part, blank ones included.
    pub(crate) n_lines: u64,
}

/// The parts of a block, and what came of what was done beside it.
type BlockAndOther<'b, T> = (Vec<Part<'b>>, T);

/// What says which row it is.
pub(crate) struct RowKeys<'r> {
    pub(crate) series: &'r str,
    pub(crate) time: &'r str,
    /// Lines before it in its part.
    pub(crate) n_before: u64,
}

impl PartRows {
    /// Reads the row at the beginning of a text; returns its bytes, without the end of the line.
    fn push_row(&mut self, text: &str, layout: &Layout<'_>, roles: &[Role]) -> Option<usize> {
        let bytes = text.as_bytes();
        let first = self.values.len();
        self.values.resize(first + layout.variables.len(), f64::NAN);
        let (mut series, mut time) = ("", "");
        let mut at = 0;
        for (column, role) in roles.iter().enumerate() {
            if column > 0 {
                // A row that ends here has too few cells.
                bytes.get(at).filter(|&&byte| byte == layout.separator)?;
                at += 1;
            }
            let n_bytes = if let Role::Variable(position) = *role {
                let (number, n_bytes) = layout.number(&text[at..])?;
                self.values[first + position] = number;
                n_bytes
            } else {
                layout.cell_length(&bytes[at..])
            };
            match role {
                Role::Series => series = text[at..at + n_bytes].trim(),
                Role::Time => time = text[at..at + n_bytes].trim(),
                Role::Variable(_) | Role::Unused => {}
            }
            at += n_bytes;
        }
        if bytes.get(at) == Some(&layout.separator) {
            return None;
        }
        self.keys.push_str(series);
        let series_end = u32::try_from(self.keys.len()).ok()?;
        self.keys.push_str(time);
        self.ends.push([series_end, u32::try_from(self.keys.len()).ok()?]);
        self.lines.push(u32::try_from(self.n_lines).ok()?);
        Some(at)
    }

    /// Series, time and place of each row.
    pub(crate) fn keys(&self) -> impl Iterator<Item = RowKeys<'_>> {
        let mut start = 0;
        self.ends.iter().zip(&self.lines).map(move |(&[series, time], &line)| {
            let (series, time) = (series as usize, time as usize);
            let begin = std::mem::replace(&mut start, time);
            RowKeys {
                series: &self.keys[begin..series],
                time: &self.keys[series..time],
                n_before: u64::from(line),
            }
        })
    }
}

/// Reads a block of whole lines.
pub(crate) fn read<'b>(block: &'b [u8], layout: &Layout<'_>) -> Vec<Part<'b>> {
    let part = |bytes| Part { bytes, rows: rows(bytes, layout) };
    if block.len() < SMALL {
        return vec![part(block)];
    }
    let n_parts = PARTS_PER_THREAD * rayon::current_num_threads();
    cut(block, block.len() / n_parts + 1).into_par_iter().map(part).collect()
}

/// Reads a block of whole lines while something else is done: the next block comes from the disk meanwhile.
pub(crate) fn read_beside<'b, T: Send>(
    block: &'b [u8],
    layout: &Layout<'_>,
    other: impl FnOnce() -> T + Send,
) -> BlockAndOther<'b, T> {
    if block.len() < SMALL {
        return (read(block, layout), other());
    }
    rayon::join(|| read(block, layout), other)
}

/// Cuts a text after lines, at or after every so many bytes.
fn cut(mut text: &[u8], n_bytes: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let from = n_bytes.min(text.len());
        let more = text[from..].iter().position(|&byte| byte == b'\n');
        let (part, rest) = text.split_at(more.map_or(text.len(), |more| from + more + 1));
        parts.push(part);
        text = rest;
    }
    parts
}

/// What is done with the cells of a column.
#[derive(Clone, Copy)]
enum Role {
    Series,
    Time,
    /// The position of the variable in a row of values.
    Variable(usize),
    Unused,
}

impl Layout<'_> {
    fn roles(&self) -> Vec<Role> {
        let role = |column: usize| {
            let variable = self.variables.iter().position(|&variable| variable == column);
            match variable {
                _ if self.series == Some(column) => Role::Series,
                _ if self.time == Some(column) => Role::Time,
                Some(position) => Role::Variable(position),
                None => Role::Unused,
            }
        };
        (0..self.n_columns).map(role).collect()
    }

    /// Whether a byte ends a cell.
    fn ends_cell(&self, byte: u8) -> bool {
        byte == self.separator || byte == b'\n' || byte == b'\r'
    }

    /// The number at the beginning of a text, and the bytes of its cell.
    fn number(&self, text: &str) -> Option<(f64, usize)> {
        let bytes = text.as_bytes();
        if let Some((number, n_bytes)) = short_decimal(bytes).filter(|_| self.is_plain)
            && bytes.get(n_bytes).is_none_or(|&byte| self.ends_cell(byte))
        {
            return Some((number, n_bytes));
        }
        let n_bytes = self.cell_length(bytes);
        Some((self.numbers.parse(&text[..n_bytes]).ok()?, n_bytes))
    }

    fn cell_length(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|&byte| self.ends_cell(byte)).unwrap_or(bytes.len())
    }

    /// Bytes of a line in which every cell is blank.
    fn blank_line(&self, bytes: &[u8]) -> Option<usize> {
        let is_end = |byte: u8| byte == b'\n' || byte == b'\r';
        let is_blank = |byte: u8| byte == self.separator || byte.is_ascii_whitespace();
        // Mostly the first byte says that it is not.
        let length = bytes.iter().position(|&byte| is_end(byte) || !is_blank(byte));
        let length = length.unwrap_or(bytes.len());
        bytes.get(length).is_none_or(|&byte| is_end(byte)).then_some(length)
    }
}

/// The rows of whole lines, in one pass over the bytes.
fn rows(bytes: &[u8], layout: &Layout<'_>) -> Option<PartRows> {
    let text = std::str::from_utf8(bytes).ok()?;
    let roles = layout.roles();
    let mut found = PartRows::default();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(length) = layout.blank_line(&bytes[at..]) {
            at += length;
        } else {
            at += found.push_row(&text[at..], layout, &roles)?;
        }
        at += line_end(&bytes[at..])?;
        found.n_lines += 1;
    }
    Some(found)
}
/// Bytes of the end of a line, or of the text.
fn line_end(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\r', b'\n', ..] => Some(2),
        [b'\r' | b'\n', ..] => Some(1),
        [] => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(numbers: &NumberStyle) -> Layout<'_> {
        let variables = &[2, 3];
        let (series, time) = (Some(0), Some(1));
        Layout { separator: b',', n_columns: 4, series, time, variables, numbers, is_plain: true }
    }

    #[test]
    fn parts_together_are_the_text_and_end_with_lines() {
        let text = b"one\ntwo\n\nthree\nfour";
        for n_bytes in 1..30 {
            let parts = cut(text, n_bytes);
            assert_eq!(parts.concat(), text);
            assert!(parts[..parts.len() - 1].iter().all(|part| part.ends_with(b"\n")));
        }
    }

    #[test]
    fn rows_have_their_keys_numbers_and_lines() {
        let numbers = NumberStyle::default();
        let found = rows(b"a, 0,1,2\n\nb,1.5,,4\r\n", &layout(&numbers)).unwrap();
        let keys: Vec<_> = found.keys().map(|row| (row.series, row.time, row.n_before)).collect();
        assert_eq!(keys, [("a", "0", 0), ("b", "1.5", 2)]);
        assert_eq!(found.values[..2], [1.0, 2.0]);
        assert!(found.values[2].is_nan());
        assert_eq!((found.values[3], found.n_lines), (4.0, 3));
    }

    #[test]
    fn what_is_not_as_expected_is_left_to_others() {
        let numbers = NumberStyle::default();
        let texts =
            [&b"a,0,1\n"[..], b"a,0,1,2,3\n", b"a,0,1,x\n", b"a,0,1,\xff\n", b"a,0,1,inf\n"];
        for text in texts {
            assert!(rows(text, &layout(&numbers)).is_none(), "{text:?}");
        }
    }
}
