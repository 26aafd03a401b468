//! Text for people and for XML, written here once for pictures, reports, files and messages.

#![warn(clippy::unwrap_used)]

/// `1 row`, `2 rows`.
///
/// ```
/// assert_eq!(driftgraph_text::count(2, "row", "rows"), "2 rows");
/// ```
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Text for the content and the attributes of XML and HTML; characters that XML forbids become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            other if other.is_control() => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
    out
}

/// JSON for the content of a `script` element, which nothing in it can end.
pub fn json_in_html(json: &str) -> String {
    // Only `<` could end the element; the others are for older parsers.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_shown_and_not_obeyed() {
        assert_eq!(
            escaped("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;"
        );
        assert_eq!(escaped("naïve 🧬 名前"), "naïve 🧬 名前");
        assert_eq!(escaped("a\0b\u{1b}c\nd\u{FFFF}"), "a\u{FFFD}b\u{FFFD}c d\u{FFFD}");
        assert_eq!(json_in_html("[\"</script>&\"]"), "[\"\\u003c/script\\u003e\\u0026\"]");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "edge", "edges")), ["0 edges", "1 edge", "2 edges"]);
    }
}
