//! Rows of separated text, cell by cell, with the line of the file that each one starts on.

use std::io::{self, BufRead, Read};

/// Why the next row could not be read.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// The bytes could not be had.
    Io(io::Error),
    /// The row is not UTF-8 text.
    NotUtf8,
    /// A quotation mark opens a cell and none closes it.
    OpenQuote,
}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The rows of a text, one at a time; rows in which every cell is blank are skipped.
///
/// Lines end with LF, CRLF or CR. Cells may be quoted as in RFC 4180: a quotation mark first, then
/// anything, marks doubled.
pub(crate) struct Records<R> {
    lines: Lines<R>,
    /// Known from the start, or found in the first line that is not blank.
    separator: Option<u8>,
    first_line: u64,
    text: String,
    /// Start and end of each cell in `text`.
    cells: Vec<(usize, usize)>,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(reader: R, separator: Option<u8>) -> Self {
        Self::after(reader, separator, 0)
    }

    /// The rows of a part of a text that comes after so many lines.
    pub(crate) fn after(reader: R, separator: Option<u8>, n_lines: u64) -> Self {
        let reader = GivenBack { reader, bytes: Vec::new(), n_taken: 0 };
        let lines = Lines { reader, n_read: n_lines, skip_line_feed: false };
        Self { lines, separator, first_line: 0, text: String::new(), cells: Vec::new() }
    }

    /// Lines read so far, blank ones included.
    pub(crate) fn n_lines(&self) -> u64 {
        self.lines.n_read
    }

    /// The next lines, about so many bytes, to be read elsewhere: whole ones, without quotation marks.
    ///
    /// None where there are no such lines: what is left has to be read row by row. Whoever reads them says how
    /// many they were ([`Self::count_lines`]). They are put into `bytes`, whose memory is used again.
    pub(crate) fn take_lines(
        &mut self,
        n_bytes: usize,
        bytes: Vec<u8>,
    ) -> io::Result<Option<Vec<u8>>> {
        if self.separator.is_none() { Ok(None) } else { self.lines.take(n_bytes, bytes) }
    }

    /// Counts lines that were read elsewhere.
    pub(crate) fn count_lines(&mut self, n_lines: u64) {
        self.lines.n_read += n_lines;
    }

    /// Reads the next row; `false` at the end of the text.
    pub(crate) fn advance(&mut self) -> Result<bool, RecordError> {
        let mut line = std::mem::take(&mut self.text).into_bytes();
        loop {
            line.clear();
            if !self.lines.append(&mut line)? {
                return Ok(false);
            }
            self.first_line = self.lines.n_read;
            if self.first_line == 1 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let separator = *self.separator.get_or_insert_with(|| separator_of(&line));
            if line.iter().any(|&byte| byte != separator && !byte.is_ascii_whitespace()) {
                self.split(line, separator)?;
                return Ok(true);
            }
        }
    }

    /// Line of the file that the row starts on, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.first_line
    }

    /// The separator, once a row was read.
    pub(crate) fn separator(&self) -> Option<u8> {
        self.separator
    }

    /// Number of cells of the row.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// One cell as written, or nothing where the row is too short.
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", |&(start, end)| &self.text[start..end])
    }

    /// The cells in order, without blanks around them.
    pub(crate) fn trimmed_cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|&(start, end)| self.text[start..end].trim())
    }

    fn split(&mut self, line: Vec<u8>, separator: u8) -> Result<(), RecordError> {
        self.cells.clear();
        let has_marks = line.contains(&b'"');
        let bytes = if has_marks {
            self.unquote(line, separator)?
        } else {
            let mut start = 0;
            for (position, &byte) in line.iter().enumerate() {
                if byte == separator {
                    self.cells.push((start, position));
                    start = position + 1;
                }
            }
            self.cells.push((start, line.len()));
            line
        };
        let text = String::from_utf8(bytes).map_err(|_| RecordError::NotUtf8)?;
        // Without the marks and separators between them, pieces of letters can make a letter across cells.
        let is_whole = |&(start, end): &(usize, usize)| {
            text.is_char_boundary(start) && text.is_char_boundary(end)
        };
        if has_marks && !self.cells.iter().all(is_whole) {
            return Err(RecordError::NotUtf8);
        }
        self.text = text;
        Ok(())
    }

    /// Splits a row with quotation marks, which may go on over several lines.
    fn unquote(&mut self, mut line: Vec<u8>, separator: u8) -> Result<Vec<u8>, RecordError> {
        let mut bytes = Vec::with_capacity(line.len());
        let mut at = 0;
        loop {
            let start = bytes.len();
            if line.get(at) == Some(&b'"') {
                at = self.quoted_part(&mut line, at + 1, &mut bytes)?;
            }
            let rest = &line[at..];
            let n_bare = rest.iter().position(|&b| b == separator).unwrap_or(rest.len());
            bytes.extend_from_slice(&rest[..n_bare]);
            self.cells.push((start, bytes.len()));
            at += n_bare + 1;
            if at > line.len() {
                return Ok(bytes);
            }
        }
    }

    /// Copies what stands between quotation marks; returns the position after the closing one.
    fn quoted_part(
        &mut self,
        line: &mut Vec<u8>,
        mut at: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<usize, RecordError> {
        loop {
            match (line.get(at), line.get(at + 1)) {
                (Some(b'"'), Some(b'"')) => {
                    bytes.push(b'"');
                    at += 2;
                }
                (Some(b'"'), _) => return Ok(at + 1),
                (Some(&byte), _) => {
                    bytes.push(byte);
                    at += 1;
                }
                (None, _) => {
                    line.push(b'\n');
                    if !self.lines.append(line)? {
                        return Err(RecordError::OpenQuote);
                    }
                }
            }
        }
    }
}

/// The lines of a text, whatever ends them.
struct Lines<R> {
    reader: GivenBack<R>,
    n_read: u64,
    /// The last line ended with CR: an LF right after it belongs to the same end.
    skip_line_feed: bool,
}

impl<R: BufRead> Lines<R> {
    /// Bytes up to a line's end, without quotation marks; all of them where the text ends before.
    fn take(&mut self, n_bytes: usize, mut bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        // It grows with what is there: most tables are small.
        bytes.clear();
        self.reader.by_ref().take(n_bytes as u64).read_to_end(&mut bytes)?;
        if std::mem::take(&mut self.skip_line_feed) && bytes.first() == Some(&b'\n') {
            bytes.remove(0);
        }
        let is_rest = bytes.len() + 1 < n_bytes;
        let end = if is_rest {
            bytes.len()
        } else {
            bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |position| position + 1)
        };
        if end == 0 || bytes.contains(&b'"') {
            self.reader.give_back(bytes);
            return Ok(None);
        }
        self.reader.give_back(bytes.split_off(end));
        Ok(Some(bytes))
    }

    /// Appends the next line without its end; `false` at the end of the text.
    fn append(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        let mut found_any = false;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                self.n_read += u64::from(found_any);
                return Ok(found_any);
            }
            if std::mem::take(&mut self.skip_line_feed) && buffer[0] == b'\n' {
                self.reader.consume(1);
                continue;
            }
            found_any = true;
            let Some(end) = buffer.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                line.extend_from_slice(buffer);
                let n_used = buffer.len();
                self.reader.consume(n_used);
                continue;
            };
            line.extend_from_slice(&buffer[..end]);
            self.skip_line_feed = buffer[end] == b'\r';
            self.reader.consume(end + 1);
            self.n_read += 1;
            return Ok(true);
        }
    }
}

/// A reader that takes back what was read too far.
struct GivenBack<R> {
    reader: R,
    bytes: Vec<u8>,
    n_taken: usize,
}

impl<R> GivenBack<R> {
    /// Puts bytes before everything that is to come.
    fn give_back(&mut self, mut bytes: Vec<u8>) {
        bytes.extend_from_slice(&self.bytes[self.n_taken..]);
        (self.bytes, self.n_taken) = (bytes, 0);
    }
}

impl<R: BufRead> BufRead for GivenBack<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &self.bytes[self.n_taken..] {
            [] => self.reader.fill_buf(),
            _ => Ok(&self.bytes[self.n_taken..]),
        }
    }

    fn consume(&mut self, n_bytes: usize) {
        if self.n_taken < self.bytes.len() {
            self.n_taken += n_bytes;
        } else {
            self.reader.consume(n_bytes);
        }
    }
}

impl<R: BufRead> Read for GivenBack<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ready = &self.bytes[self.n_taken..];
        if ready.is_empty() {
            // Large reads go past the buffer of the reader below.
            return self.reader.read(buffer);
        }
        let n_bytes = ready.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&ready[..n_bytes]);
        self.n_taken += n_bytes;
        Ok(n_bytes)
    }
}

/// Names that a header is likely to hold, whatever the other columns are called.
const TELLING_NAMES: [&str; 9] =
    ["time", "timestamp", "datetime", "date", "series", "source", "target", "cause", "effect"];

/// The separator between the columns of a header.
///
/// One that sets a telling name free wins: in `time,a;b;c;d` the semicolons belong to a name. Then
/// the most frequent one outside quotes wins, the comma where nothing else is more frequent.
fn separator_of(line: &[u8]) -> u8 {
    let mut best = (b',', (false, 0));
    for separator in [b',', b'\t', b';', b'|'] {
        let mut quoted = false;
        let cells: Vec<&[u8]> = line
            .split(|&byte| {
                quoted ^= byte == b'"';
                !quoted && byte == separator
            })
            .collect();
        let is_telling = |cell: &&[u8]| {
            let name = cell.trim_ascii();
            let bare = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
            let name = bare.unwrap_or(name);
            TELLING_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        let rank = (cells.iter().any(is_telling), cells.len() - 1);
        if rank > best.1 && cells.len() > 1 {
            best = (separator, rank);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows with their lines, through a buffer of a few bytes so that every seam is crossed.
    fn rows(text: &[u8], capacity: usize) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(io::BufReader::with_capacity(capacity, text), None);
        let mut rows = Vec::new();
        while records.advance().unwrap() {
            rows.push((records.line(), records.trimmed_cells().map(str::to_owned).collect()));
        }
        rows
    }

    fn row(line: u64, cells: &str) -> (u64, Vec<String>) {
        (line, cells.split('/').map(str::to_owned).collect())
    }

    #[test]
    fn lines_count_blank_ones_and_any_kind_of_end() {
        let expected = [row(2, "a/b"), row(5, "1/2"), row(6, "3/")];
        for capacity in [1, 2, 3, 100] {
            for end in ["\n", "\r\n", "\r"] {
                let text = ["", "a,b", "  ", ",", "1,2", "3,"].join(end);
                assert_eq!(rows(text.as_bytes(), capacity), expected, "{capacity} {end:?}");
            }
        }
    }

    #[test]
    fn quoted_cells_hold_separators_marks_and_lines() {
        let text = b"\xef\xbb\xbf\"a, b\",\"say \"\"x\"\"\"\n\"two\nlines\",1\nlast,2\n";
        for capacity in [1, 5, 100] {
            let expected = [row(1, "a, b/say \"x\""), row(2, "two\nlines/1"), row(4, "last/2")];
            assert_eq!(rows(text, capacity), expected);
        }
    }

    #[test]
    fn lines_taken_in_blocks_and_rows_read_after_them_are_all_rows() {
        let text = "a,b\r\n1,2\r\n\r\n3,4\n5,6\n7,\"8\"\n9,10";
        let expected = rows(text.as_bytes(), 100);
        for n_bytes in 1..40 {
            let reader = io::BufReader::with_capacity(3, text.as_bytes());
            let mut records = Records::new(reader, None);
            assert!(records.advance().unwrap());
            let mut found = vec![(1, vec!["a".to_owned(), "b".to_owned()])];
            while let Some(block) = records.take_lines(n_bytes, Vec::new()).unwrap() {
                assert!(!block.contains(&b'"'));
                let mut part = Records::after(&block[..], Some(b','), records.n_lines());
                while part.advance().unwrap() {
                    found.push((part.line(), part.trimmed_cells().map(str::to_owned).collect()));
                }
                records.count_lines(part.n_lines() - records.n_lines());
            }
            while records.advance().unwrap() {
                found.push((records.line(), records.trimmed_cells().map(str::to_owned).collect()));
            }
            assert_eq!(found, expected, "{n_bytes}");
        }
    }

    #[test]
    fn a_quote_that_never_closes_is_an_error_at_the_line_where_it_opens() {
        let mut records = Records::new(&b"a,b\n1,\"2\n3,4\n"[..], None);
        assert!(records.advance().unwrap());
        assert!(matches!(records.advance(), Err(RecordError::OpenQuote)));
        assert_eq!(records.line(), 2);
    }

    #[test]
    fn a_letter_whose_bytes_are_in_two_cells_is_no_text() {
        // The two bytes of `é`, with a separator between them; without the marks, the row would not be joined.
        for text in [&b"\xc3,\"\xa9\"\n"[..], b"\"\xc3\",\xa9\n", b"\xc3,\xa9\n"] {
            let mut records = Records::new(text, None);
            assert!(matches!(records.advance(), Err(RecordError::NotUtf8)), "{text:?}");
        }
        assert_eq!(rows("\"é\",\"\"\"é\"\n".as_bytes(), 2), [row(1, "é/\"é")]);
    }

    #[test]
    fn the_separator_is_the_most_frequent_one_outside_quotes() {
        assert_eq!(separator_of(b"time,a,b"), b',');
        assert_eq!(separator_of(b"\"Time\"\t\"G1, G2, G3\"\t\"G4\""), b'\t');
        assert_eq!(separator_of(b"time;a;b"), b';');
        assert_eq!(separator_of(b"series,time,a;b;c;d"), b',');
        assert_eq!(separator_of(b"\"time\";\"a\";\"b,c,d,e\""), b';');
        assert_eq!(separator_of(b"time"), b',');
    }
}
