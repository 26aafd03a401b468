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

/// A sentence with the options of the command line that it mentions put in other words.
///
/// `words` is asked for each `` `--option` `` or `` `--option VALUE` `` by name and value (empty where there is none);
/// what it does not know stays as it is.
///
/// ```
/// let words = |option: &str, value: &str| Some(format!("{option} = {value}"));
/// assert_eq!(driftgraph_text::with_options("try `--time t`", &words), "try time = t");
/// ```
pub fn with_options(text: &str, words: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("`--") {
        let inside = &rest[start + 3..];
        let Some(end) = inside.find('`') else { break };
        let (option, value) = inside[..end].split_once(' ').unwrap_or((&inside[..end], ""));
        out.push_str(&rest[..start]);
        match words(option, value) {
            Some(words) => out.push_str(&words),
            None => out.push_str(&rest[start..start + end + 4]),
        }
        rest = &inside[end + 1..];
    }
    out + rest
}

/// The known name that a mistyped one was probably meant to be.
///
/// Capitals, hyphens and underscores do not count; of other letters, one in three may be wrong, missing, additional or
/// swapped with its neighbour.
///
/// ```
/// let known = ["ridge", "pcmci-plus"];
/// assert_eq!(driftgraph_text::nearest("rigde", known), Some("ridge"));
/// assert_eq!(driftgraph_text::nearest("PCMCI_plus", known), Some("pcmci-plus"));
/// assert_eq!(driftgraph_text::nearest("lasso", known), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |text: &str| -> Vec<char> {
        let all = text.chars().filter(|letter| letter.is_alphanumeric());
        all.flat_map(char::to_lowercase).collect()
    };
    let typed = letters(name);
    let distance = |known: &&str| edits(&typed, &letters(known));
    let found = known.into_iter().min_by_key(distance)?;
    (distance(&found) <= typed.len() / 3).then_some(found)
}

/// How many letters have to be changed, added, taken away or swapped with their neighbour.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, wanted) in to.iter().enumerate() {
            let changed = rows[i][j] + usize::from(letter != wanted);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i - 1] == *wanted && *letter == to[j - 1] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
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
    fn options_are_put_in_other_words_and_all_else_stays() {
        let words = |option: &str, value: &str| (option == "time").then(|| format!("<{value}>"));
        assert_eq!(with_options("a `--time x y` b `--time`", &words), "a <x y> b <>");
        for same in ["", "`x` and `--other 1`", "an open `--time", "--time"] {
            assert_eq!(with_options(same, &words), same);
        }
    }

    #[test]
    fn a_slip_of_the_fingers_is_understood_and_another_word_is_not() {
        let known = ["bridge", "bridge-linear", "ridge", "var", "varlingam", "paper-netsim"];
        for (typed, meant) in [
            ("brdige", Some("bridge")),
            ("Bridge Linear", Some("bridge-linear")),
            ("lingam", None),
            ("VARLiNGAM", Some("varlingam")),
            ("papernetsim", Some("paper-netsim")),
            ("vr", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "edge", "edges")), ["0 edges", "1 edge", "2 edges"]);
    }
}
