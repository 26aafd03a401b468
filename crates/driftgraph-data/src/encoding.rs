//! Text in other encodings than UTF-8, turned into UTF-8 as it is read.

use std::io::{self, Read};

use crate::options::Encoding;

/// Bytes decoded at a time.
const BLOCK: usize = 1 << 16;

/// A reader of UTF-8 whatever the encoding is; where nothing was said, a mark of UTF-16 at the start is believed, and so are
/// zeros in every second byte, which no other text has.
///
/// Returned with the encoding in use.
pub(crate) fn as_utf8(
    mut reader: Box<dyn Read + Send>,
    said: Option<Encoding>,
) -> io::Result<(Box<dyn Read + Send>, Encoding)> {
    let mut start = Vec::new();
    reader.by_ref().take(4).read_to_end(&mut start)?;
    let is_marked = start.starts_with(&[0xfe, 0xff]) || start.starts_with(&[0xff, 0xfe]);
    let is_big_endian =
        start.starts_with(&[0xfe, 0xff]) || matches!(start[..], [0, 1..=255, 0, 1..=255]);
    let found = match said {
        Some(encoding) => encoding,
        None if is_marked || is_big_endian || matches!(start[..], [1..=255, 0, 1..=255, 0]) => {
            Encoding::Utf16
        }
        None => Encoding::Utf8,
    };
    if is_marked && found == Encoding::Utf16 {
        start.drain(..2);
    }
    let whole = io::Cursor::new(start).chain(reader);
    let decode: Decode = match found {
        Encoding::Utf8 => return Ok((Box::new(whole), found)),
        Encoding::Latin1 => decode_latin1,
        Encoding::Utf16 if is_big_endian => {
            |bytes, text| decode_utf16(bytes, u16::from_be_bytes, text)
        }
        Encoding::Utf16 => |bytes, text| decode_utf16(bytes, u16::from_le_bytes, text),
    };
    let decoder = Decoder { reader: whole, decode, raw: Vec::new(), text: Vec::new(), n_given: 0 };
    Ok((Box::new(decoder), found))
}

/// Appends what can be decoded, and returns how many bytes that took; the rest may be half a letter.
type Decode = fn(&[u8], &mut String) -> io::Result<usize>;

struct Decoder<R> {
    reader: R,
    decode: Decode,
    /// Bytes not decoded yet.
    raw: Vec<u8>,
    /// What was decoded last.
    text: Vec<u8>,
    n_given: usize,
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.n_given == self.text.len() {
            let n_read = self.reader.by_ref().take(BLOCK as u64).read_to_end(&mut self.raw)?;
            let mut text = String::new();
            let n_used = (self.decode)(&self.raw, &mut text)?;
            self.raw.drain(..n_used);
            if n_read == 0 {
                return if self.raw.is_empty() { Ok(0) } else { Err(half_a_letter()) };
            }
            (self.text, self.n_given) = (text.into_bytes(), 0);
        }
        let n = buffer.len().min(self.text.len() - self.n_given);
        buffer[..n].copy_from_slice(&self.text[self.n_given..][..n]);
        self.n_given += n;
        Ok(n)
    }
}

fn half_a_letter() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the text ends, or is broken, within a letter")
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, text: &mut String) -> io::Result<usize> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
    // The second half of the last letter may be in the next block.
    let n_whole = match units.last() {
        Some(0xd800..=0xdbff) => units.len() - 1,
        _ => units.len(),
    };
    for letter in char::decode_utf16(units[..n_whole].iter().copied()) {
        text.push(letter.map_err(|_| half_a_letter())?);
    }
    Ok(2 * n_whole)
}

/// What Windows puts where Latin-1 has control characters; five places stay empty.
const WINDOWS_SIGNS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn decode_latin1(bytes: &[u8], text: &mut String) -> io::Result<usize> {
    for &byte in bytes {
        match byte {
            // Every byte is a letter of Latin-1, so that these alone tell text from anything else.
            0..=8 | 14..=31 => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is not text"));
            }
            0x80..=0x9f => text.push(WINDOWS_SIGNS[usize::from(byte) - 0x80]),
            byte => text.push(char::from(byte)),
        }
    }
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: Vec<u8>, said: Option<Encoding>) -> io::Result<(String, Encoding)> {
        let (mut reader, found) = as_utf8(Box::new(io::Cursor::new(bytes)), said)?;
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        Ok((text, found))
    }

    #[test]
    fn utf16_is_known_by_its_mark_and_letters_cross_blocks() {
        let text = "a🙂é\n".repeat(20_000);
        let units = || std::iter::once(0xfeff).chain(text.encode_utf16());
        let little = units().flat_map(u16::to_le_bytes).collect();
        let big = units().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            assert_eq!(decoded(bytes, None).unwrap(), (text.clone(), Encoding::Utf16));
        }
        // Without a mark the zeros of its first two letters tell.
        let plain = "time,é\n0,1\n";
        let little: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = plain.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            for said in [None, Some(Encoding::Utf16)] {
                let found = decoded(bytes.clone(), said).unwrap();
                assert_eq!(found, (plain.to_owned(), Encoding::Utf16));
            }
        }
        let broken = vec![0xff, 0xfe, b'a', 0, 0x3d, 0xd8];
        assert!(decoded(broken, None).is_err());
    }

    #[test]
    fn latin1_is_read_where_it_was_asked_for_and_nothing_but_text_is() {
        let found = decoded(b"temp \xb0C \x80".to_vec(), Some(Encoding::Latin1)).unwrap();
        assert_eq!(found.0, "temp °C €");
        assert!(decoded(b"PK\x03\x04".to_vec(), Some(Encoding::Latin1)).is_err());
        assert_eq!(decoded(b"\xb0".to_vec(), None).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
