//! What the user says about files; whatever is guessed while reading could have been said here.

use std::path::PathBuf;

use driftgraph_core::InputHold;

/// How files are to be read.
///
/// A run keeps its options. Those it does not mention have their defaults, so that older runs stay readable.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// The time column, if its name is not an obvious one.
    pub time: Option<String>,
    /// The series column, if its name is not an obvious one.
    pub series: Option<String>,
    /// The variables to keep, in this order; all when empty.
    pub variables: Vec<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// What to do with several rows of one series and time.
    pub duplicates: Duplicates,
    /// Most bytes to read from one file, after decompression.
    pub max_bytes: u64,
    /// Whether variables are in rows and times in the header.
    pub transpose: bool,
    /// Whether rows are equally spaced in time, and no column says when.
    pub even_steps: bool,
    /// The sheet of a spreadsheet, if not the first.
    pub sheet: Option<String>,
    /// Which of 1/2/2020 is the day; decided from the whole column where not said.
    pub date_order: Option<DateOrder>,
    /// What stands before decimals; a point, unless the whole table says otherwise.
    pub decimal: Option<DecimalMark>,
    /// Words and numbers that mean "not measured"; the usual ones where not said.
    pub missing: Option<Vec<String>>,
    /// How letters are stored; UTF-8, unless the bytes say otherwise.
    pub encoding: Option<Encoding>,
    /// Variables that were set from outside: they drive, and are not driven.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// What inputs do between rows.
    #[serde(skip_serializing_if = "is_usual")]
    pub input_hold: InputHold,
    /// A column of words: its values are their numbers, from 1, in the order in which they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Table of what was done to other variables, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interventions: Option<PathBuf>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_usual(hold: &InputHold) -> bool {
    *hold == InputHold::default()
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            time: None,
            series: None,
            variables: Vec::new(),
            ignore: Vec::new(),
            duplicates: Duplicates::Error,
            max_bytes: 4 << 30,
            transpose: false,
            even_steps: false,
            sheet: None,
            date_order: None,
            decimal: None,
            missing: None,
            encoding: None,
            inputs: Vec::new(),
            input_hold: InputHold::default(),
            words: None,
            interventions: None,
        }
    }
}

impl ReadOptions {
    /// The options that are not defaults, as they are written on a command line; flags have no value.
    pub fn arguments(&self) -> Vec<(&'static str, Option<String>)> {
        let default = Self::default();
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        let duplicates = (self.duplicates != default.duplicates).then(|| self.duplicates.name());
        // A smaller limit changes nothing in a table that was read.
        let max_bytes = (self.max_bytes > default.max_bytes).then(|| self.max_bytes.to_string());
        let values = [
            ("time", self.time.clone()),
            ("series", self.series.clone()),
            ("variables", list(&self.variables)),
            ("ignore", list(&self.ignore)),
            ("duplicates", duplicates.map(str::to_owned)),
            ("max-bytes", max_bytes),
            ("sheet", self.sheet.clone()),
            ("date-order", self.date_order.map(|order| order.name().to_owned())),
            ("decimal", self.decimal.map(|mark| mark.name().to_owned())),
            ("missing", self.missing.as_ref().map(|words| words.join(","))),
            ("encoding", self.encoding.map(|encoding| encoding.name().to_owned())),
            ("inputs", list(&self.inputs)),
            ("input-hold", (self.input_hold == InputHold::Linear).then(|| "linear".to_owned())),
            ("interventions", self.interventions.as_ref().map(|path| path.display().to_string())),
        ];
        let values = values.into_iter().filter_map(|(name, value)| Some((name, Some(value?))));
        let flags = [("transpose", self.transpose), ("even-steps", self.even_steps)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| (name, None));
        values.chain(flags).collect()
    }
}

/// An option with a few answers, each a word.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every answer.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word it is asked for with.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                let known = Self::ALL.iter().find(|answer| answer.name() == word);
                known.copied().ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|answer| answer.name()).collect();
                    format!("`{word}` is not one of {}", names.join(", "))
                })
            }
        }
    };
}

choice! {
    /// What to do with several rows of one series and time; cells are treated one by one.
    Duplicates {
        /// Refuse the file.
        Error = "error",
        /// The mean of the values present.
        Mean = "mean",
        /// The first value present.
        First = "first",
        /// The last value present.
        Last = "last",
    }
}

choice! {
    /// What comes first in dates such as 1/2/2020.
    DateOrder {
        /// The day: 1 February.
        DayFirst = "day-first",
        /// The month: 2 January.
        MonthFirst = "month-first",
        /// Whole numbers such as 20200131 are plain numbers.
        NoDates = "none",
    }
}

choice! {
    /// What stands before the decimals of a number; the other mark may group its thousands.
    DecimalMark {
        /// 1.5, and 1,234,567.
        Point = "point",
        /// 1,5, and 1.234.567.
        Comma = "comma",
    }
}

choice! {
    /// How the letters of a text are stored.
    Encoding {
        /// UTF-8.
        Utf8 = "utf-8",
        /// UTF-16, little end first unless a mark at the start says otherwise.
        Utf16 = "utf-16",
        /// Latin-1, with the signs that Windows adds to it.
        Latin1 = "latin-1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_older_runs_are_read_and_new_ones_come_back() {
        let old = r#"{"time":"t","series":null,"variables":[],"ignore":["a"],"duplicates":"mean","max_bytes":9}"#;
        let old: ReadOptions = serde_json::from_str(old).unwrap();
        assert_eq!((old.duplicates, old.transpose, old.encoding), (Duplicates::Mean, false, None));
        let new = ReadOptions { decimal: Some(DecimalMark::Comma), even_steps: true, ..old };
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<ReadOptions>(&text).unwrap(), new);
    }

    #[test]
    fn only_what_was_said_is_an_argument() {
        assert!(ReadOptions::default().arguments().is_empty());
        let options = ReadOptions {
            ignore: vec!["a".into(), "b".into()],
            transpose: true,
            date_order: Some(DateOrder::DayFirst),
            ..ReadOptions::default()
        };
        let value = |text: &str| Some(text.to_owned());
        let expected =
            [("ignore", value("a,b")), ("date-order", value("day-first")), ("transpose", None)];
        assert_eq!(options.arguments(), expected);
    }
}
