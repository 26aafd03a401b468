//! Changed copies of inputs, the same for the same number.

use driftgraph_core::random::{Purpose, RandomStream};

/// Bytes that separate, end or overflow something.
const ODD_BYTES: &[u8] = b",;\t\n\r\"'-.e0179NaninfA{}[]()`\x00\xff\x80\x7f";

/// A copy with a few changes: bytes set, removed or put in, words put in, pieces repeated or swapped.
pub fn changed(input: &[u8], other: &[u8], words: &[&str], number: u64) -> Vec<u8> {
    let mut random = RandomStream::new(number, Purpose::System, 0);
    let mut below = |n: usize| (random.uniform() * n as f64) as usize;
    let mut bytes = input.to_vec();
    for _ in 0..=below(6) {
        let place = below(bytes.len() + 1);
        let end = (place + 1 + below(16)).min(bytes.len());
        match below(8) {
            0 if place < bytes.len() => bytes[place] = ODD_BYTES[below(ODD_BYTES.len())],
            1 if place < bytes.len() => bytes[place] ^= 1 << below(8),
            2 => drop(bytes.drain(place..end)),
            3 => bytes.insert(place, below(256) as u8),
            4 if !words.is_empty() => {
                let word = words[below(words.len())].bytes();
                bytes.splice(place..place, word);
            }
            5 => {
                let piece = bytes[place..end].to_vec();
                bytes.splice(place..place, piece.into_iter().cycle().take(64));
            }
            6 if !other.is_empty() => {
                let from = below(other.len());
                let to = (from + 1 + below(64)).min(other.len());
                bytes.splice(place..end, other[from..to].iter().copied());
            }
            // Numbers that lengths and offsets are made of.
            _ => {
                let number = [0, 1, u64::MAX, 1 << 31, 1 << 40][below(5)].to_le_bytes();
                let n_bytes = [1, 2, 4, 8][below(4)];
                let end = (place + n_bytes).min(bytes.len());
                bytes.splice(place..end, number[..n_bytes].iter().copied());
            }
        }
    }
    bytes
}
