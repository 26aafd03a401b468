//! How wide a text will be, and how to shorten one that is too wide.

use super::colour;
use super::element::Element;

/// Which end of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn keyword(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// An empty line of text with its vertical middle at `y`, in the usual colour.
pub(crate) fn label(x: f64, y: f64, font: f64, anchor: Anchor) -> Element {
    coloured_label((x, y), font, anchor, colour::TEXT)
}

/// An empty line of text with its vertical middle at y.
pub(crate) fn coloured_label(
    (x, y): (f64, f64),
    font: f64,
    anchor: Anchor,
    colour: &str,
) -> Element {
    // A capital letter is about 0.7 em high; `dominant-baseline` is not drawn alike everywhere.
    Element::new("text")
        .place(&[("x", x), ("y", y + 0.35 * font), ("font-size", font)])
        .set("text-anchor", anchor.keyword())
        .set("fill", colour)
}

/// A guess of the width of a text in pixels, rather too wide than too narrow.
pub(crate) fn text_width(text: &str, font: f64) -> f64 {
    text.chars().map(width_in_ems).sum::<f64>() * font
}

/// A text of at most `limit` pixels, its middle replaced by an ellipsis where necessary.
///
/// Both ends stay, because names often differ only at their end (`gene_101`, `gene_102`).
pub(crate) fn shortened(text: &str, font: f64, limit: f64) -> String {
    if text_width(text, font) <= limit {
        return text.to_owned();
    }
    let room = limit / font - width_in_ems('…');
    let head = fitting(text.chars(), 0.6 * room);
    let tail = fitting(text.chars().rev(), 0.4 * room);
    let n_chars = text.chars().count();
    let head: String = text.chars().take(head).collect();
    let tail: String = text.chars().skip(n_chars - tail).collect();
    format!("{head}…{tail}")
}

/// How many of the first characters fit into `room` ems.
fn fitting(characters: impl Iterator<Item = char>, room: f64) -> usize {
    let ends = characters.scan(0.0, |end, character| {
        *end += width_in_ems(character);
        Some(*end)
    });
    ends.take_while(|&end| end <= room).count()
}

/// Widths of common sans-serif fonts, in four classes.
fn width_in_ems(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | ' ' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
        'A'..='Z' => 0.7,
        '\0'..='\u{10FF}' => 0.6,
        // Ideographs and emoji fill a square and more.
        _ => 1.2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_names_keep_both_ends_and_fit() {
        let name = "concentration_of_glucose_in_compartment_12";
        let short = shortened(name, 10.0, 90.0);
        assert!(text_width(&short, 10.0) <= 90.0);
        assert!(short.starts_with("conc") && short.ends_with("12") && short.contains('…'));
        assert_eq!(shortened("S1", 10.0, 90.0), "S1");
    }

    #[test]
    fn a_name_of_emoji_is_cut_between_characters() {
        let short = shortened(&"🧬".repeat(300), 10.0, 60.0);
        assert_eq!(short, "🧬🧬…🧬");
    }
}
