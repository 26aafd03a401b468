//! Advice of the readers in the page's own words: fields instead of options of the command line.

use driftgraph_text::with_options;

/// Options of the command line, and what they are called on the page.
///
/// `tests::every_option_that_readers_mention_has_a_field` keeps the list whole.
const FIELDS: &[(&str, &str)] = &[
    ("time", "Time"),
    ("series", "Series"),
    ("ignore", "Columns to leave out"),
    ("variables", "Columns to leave out"),
    ("transpose", "Variables in rows, times in the header"),
    ("even-steps", "No time column: rows are equally spaced"),
    ("date-order", "Dates such as 1/2/2020"),
    ("decimal", "Decimals after a"),
    ("missing", "Words for \"not measured\""),
    ("sheet", "Sheet"),
    ("duplicates", "Rows of one time"),
    ("encoding", "Letters stored as"),
    ("inputs", "Set from outside"),
    ("season", "Season of so many rows"),
    ("detrend", "Straight lines in time"),
    ("log", "On a logarithmic scale"),
    ("ensemble", "Fits with different seeds"),
    ("select", "Choose model on held-out data"),
    ("drift", "Drift"),
    ("steps", "Most steps"),
    ("no-self-loops", "Self-loops allowed"),
];

/// A sentence as the page says it; options that have no field stay as they are.
pub(crate) fn in_page_words(text: &str) -> String {
    let words = with_options(text, &|option, value| {
        let (_, field) = FIELDS.iter().find(|(name, _)| *name == option)?;
        let is_placeholder = value.bytes().all(|b| b.is_ascii_uppercase() || b == b',');
        Some(match value {
            _ if is_placeholder => format!("“{field}”"),
            value => format!("“{field}”: {}", value.trim_matches('\'')),
        })
    });
    words.replace("pass “", "choose “")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn options_become_fields() {
        assert_eq!(
            in_page_words("pass `--date-order day-first` or `--date-order month-first`"),
            "choose “Dates such as 1/2/2020”: day-first or “Dates such as 1/2/2020”: month-first"
        );
        assert_eq!(
            in_page_words("`Year` was taken as time, by its name; `--time` overrules"),
            "`Year` was taken as time, by its name; “Time” overrules"
        );
        assert_eq!(in_page_words("name it with `--time COLUMN`"), "name it with “Time”");
        assert_eq!(
            in_page_words("leave one of them out with `--ignore 'a b'`"),
            "leave one of them out with “Columns to leave out”: a b"
        );
        assert_eq!(in_page_words("`--season 12` does"), "“Season of so many rows”: 12 does");
        assert_eq!(in_page_words("no `--such-thing` here"), "no `--such-thing` here");
    }

    /// Options that readers mention and the page cannot have: its uploads have one limit, and edges are told by a
    /// list alone. What inputs do between rows, and what was done to other variables, is said on the command line.
    const ELSEWHERE: [&str; 6] =
        ["max-bytes", "orientation", "require", "data", "input-hold", "interventions"];

    #[test]
    fn every_option_that_readers_mention_has_a_field() {
        let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driftgraph-data/src");
        let mut folders = vec![readers];
        let seen = std::cell::Cell::new(0);
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let source = std::fs::read_to_string(entry.path()).unwrap();
                let _ = with_options(&source, &|option, _| {
                    let known = FIELDS.iter().any(|(name, _)| *name == option);
                    assert!(known || ELSEWHERE.contains(&option), "{option} in {entry:?}");
                    seen.set(seen.get() + usize::from(known));
                    None
                });
            }
        }
        assert!(seen.get() > 20, "{} options in the messages of the readers", seen.get());
    }
}
