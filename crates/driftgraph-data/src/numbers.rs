//! Cells as numbers: decimals, thousands, and the words for "not measured".

use crate::message_text::shorten;
use crate::options::{DecimalMark, ReadOptions};
use crate::problem::Problem;

/// Words for "not measured" that nobody writes for anything else.
const MISSING: [&str; 4] = ["", "na", "nan", "null"];

/// Words that often mean it; they are believed if the rest of the table holds numbers, and told.
const OFTEN_MISSING: [&str; 33] = [
    "-", "--", "---", "–", "—", ".", "..", "...", "?", "*", "n/a", "n.a.", "n.a", "n.d.", "nd",
    "none", "missing", "<na>", "#n/a", "#na", "#value!", "#div/0!", "#num!", "#ref!", "#name?",
    "#null!", "<lod", "<loq", "<llod", "<lloq", "bdl", "blq", "bloq",
];

/// Whether a cell says that nothing was measured.
pub(crate) fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a cell probably says so.
pub(crate) fn is_often_missing(text: &str) -> bool {
    OFTEN_MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) || is_below_a_limit(text)
}

/// `<0.05`: what is below the least amount that can be measured.
fn is_below_a_limit(text: &str) -> bool {
    let limit = text.strip_prefix('<').map(|limit| limit.trim_start_matches('=').trim_start());
    limit.is_some_and(|limit| limit.replace(',', ".").parse::<f64>().is_ok_and(f64::is_finite))
}

/// The sign that typesetters write for a minus.
const MINUS: char = '\u{2212}';

/// A number of few digits at the beginning of a text, and its bytes.
///
/// With so few digits both numbers of the quotient are exact, and it is rounded once: the same bits as of the
/// standard library, which takes several times as long.
pub(crate) fn short_decimal(bytes: &[u8]) -> Option<(f64, usize)> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let is_negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(is_negative);
    let (mut digits, mut n_digits, mut n_decimals) = (0_u64, 0, None);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' if n_digits < 15 => {
                digits = 10 * digits + u64::from(byte - b'0');
                n_digits += 1;
                n_decimals = n_decimals.map(|n| n + 1);
            }
            b'0'..=b'9' => return None,
            b'.' if n_decimals.is_none() => n_decimals = Some(0),
            _ => break,
        }
        at += 1;
    }
    let number = digits as f64 / POWERS[n_decimals.unwrap_or(0)];
    (n_digits > 0).then_some((if is_negative { -number } else { number }, at))
}

/// One cell's number, `NaN` where missing, in the way most programs write numbers.
pub(crate) fn parse_number(text: &str) -> Result<f64, Problem> {
    // Most cells are bare numbers: blanks around them are looked for only where parsing fails.
    let parsed = text.parse::<f64>().or_else(|_| text.trim().parse::<f64>());
    match parsed {
        Ok(number) if number.is_infinite() => Err(Problem::Infinite { text: shorten(text) }),
        Ok(number) => Ok(number),
        Err(_) if is_missing(text.trim()) => Ok(f64::NAN),
        Err(_) if text.contains(MINUS) => {
            let plain = parse_number(&text.replace(MINUS, "-"));
            plain.map_err(|_| Problem::NotANumber { text: shorten(text.trim()) })
        }
        Err(_) => Err(Problem::NotANumber { text: shorten(text.trim()) }),
    }
}

/// How the numbers of a table are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberStyle {
    decimal: Option<DecimalMark>,
    /// More words for "not measured".
    missing: Vec<String>,
    /// The numbers among them, such as -999.
    missing_numbers: Vec<f64>,
}

impl NumberStyle {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let missing = options.missing.clone().unwrap_or_default();
        let missing_numbers = missing.iter().filter_map(|word| word.trim().parse().ok()).collect();
        Self { decimal: options.decimal, missing, missing_numbers }
    }

    /// Whether a plain number means itself: it has no commas, and no number means "not measured".
    pub(crate) fn is_plain(&self) -> bool {
        self.decimal != Some(DecimalMark::Comma) && self.missing_numbers.is_empty()
    }

    /// One cell's number, `NaN` where missing.
    pub(crate) fn parse(&self, text: &str) -> Result<f64, Problem> {
        let number = match (self.decimal, parse_number(text)) {
            // A point may stand between thousands.
            (Some(mark @ DecimalMark::Comma), _) | (Some(mark), Err(_)) => {
                self.parse_grouped(text.trim(), mark)
            }
            (_, Err(_)) if self.is_missing(text.trim()) => Ok(f64::NAN),
            (_, result) => result,
        }?;
        Ok(if self.missing_numbers.contains(&number) { f64::NAN } else { number })
    }

    /// Makes holes of the numbers that mean "not measured".
    pub(crate) fn remove_missing(&self, numbers: &mut [f64]) {
        for number in numbers.iter_mut().filter(|number| self.missing_numbers.contains(number)) {
            *number = f64::NAN;
        }
    }

    /// The number that a text is, if it is one.
    pub(crate) fn number(&self, text: &str) -> Option<f64> {
        match self.decimal {
            None if text.contains(MINUS) => text.replace(MINUS, "-").parse().ok(),
            None => text.parse().ok(),
            Some(mark) => plain(text, mark)?.parse().ok(),
        }
    }

    /// Whether a cell says that nothing was measured.
    pub(crate) fn is_missing(&self, text: &str) -> bool {
        is_missing(text) || self.missing.iter().any(|word| text.eq_ignore_ascii_case(word.trim()))
    }

    fn parse_grouped(&self, text: &str, mark: DecimalMark) -> Result<f64, Problem> {
        if self.is_missing(text) {
            return Ok(f64::NAN);
        }
        let unreadable = || Problem::NotANumber { text: shorten(text) };
        parse_number(&plain(text, mark).ok_or_else(unreadable)?).map_err(|problem| match problem {
            Problem::Infinite { .. } => problem,
            _ => unreadable(),
        })
    }
}

/// What may stand between thousands beside points and commas.
const GROUP_SIGNS: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '’'];

/// A number without signs between its thousands and with a point before its decimals.
fn plain(text: &str, mark: DecimalMark) -> Option<String> {
    if text.contains(MINUS) {
        return plain(&text.replace(MINUS, "-"), mark);
    }
    let (decimal_mark, other) = match mark {
        DecimalMark::Point => ('.', ','),
        DecimalMark::Comma => (',', '.'),
    };
    let (whole, decimals) = match text.split_once(decimal_mark) {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (text, None),
    };
    let is_group_sign = |letter: char| letter == other || GROUP_SIGNS.contains(&letter);
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let groups: Vec<&str> = digits.split(is_group_sign).collect();
    let is_number = |group: &&str| group.bytes().all(|byte| byte.is_ascii_digit());
    let signs: Vec<char> = digits.chars().filter(|&letter| is_group_sign(letter)).collect();
    let is_grouped = groups.len() == 1
        || (groups.iter().all(is_number)
            && (1..=3).contains(&groups[0].len())
            && groups[1..].iter().all(|group| group.len() == 3)
            && signs.iter().all(|sign| *sign == signs[0]));
    let sign = if whole.starts_with('-') { "-" } else { "" };
    let rest = decimals.map(|decimals| format!(".{decimals}")).unwrap_or_default();
    is_grouped.then(|| format!("{sign}{}{rest}", groups.concat()))
}

/// What the cells of a table say about its decimals.
#[derive(Debug, Default)]
pub(crate) struct DecimalEvidence {
    /// A number that has decimals after a point, for certain.
    point: bool,
    /// A number that has decimals after a comma, for certain.
    comma: Option<String>,
    /// A number with signs between its thousands, for certain or as one of two readings.
    thousands: Option<String>,
    /// A number such as 1,234, which may be either.
    either: Option<String>,
}

/// What was found out about decimals.
#[derive(Debug, PartialEq)]
pub(crate) enum DecimalFinding {
    /// The mark, and a number that shows it.
    Mark(DecimalMark, String),
    /// A number of which both readings are possible.
    Undecided(String),
}

impl DecimalEvidence {
    /// Takes one more cell into account; text is none.
    pub(crate) fn add(&mut self, text: &str) {
        if text.contains(MINUS) {
            return self.add(&text.replace(MINUS, "-"));
        }
        let readings = [DecimalMark::Point, DecimalMark::Comma]
            .map(|mark| plain(text, mark).is_some_and(|plain| plain.parse::<f64>().is_ok()));
        let slot = match readings {
            [true, true] if text.contains(',') => &mut self.either,
            // 1.234 is a number with decimals, whatever else it may be.
            [true, _] if text.parse::<f64>().is_ok() => {
                self.point |= text.contains('.') && !readings[1];
                return;
            }
            [true, _] => &mut self.thousands,
            [false, true] => &mut self.comma,
            [false, false] => return,
        };
        // A zero shows nothing of how numbers were read.
        let is_zero = |text: &String| !text.contains(|letter| ('1'..='9').contains(&letter));
        if slot.as_ref().is_none_or(is_zero) {
            *slot = Some(text.to_owned());
        }
    }

    /// The decimals of the table, if plain numbers are not all there is and nothing speaks against it.
    pub(crate) fn finding(self, separator: Option<u8>) -> Option<DecimalFinding> {
        use DecimalFinding::{Mark, Undecided};
        match (self.comma, self.thousands, self.either) {
            (Some(comma), None, _) if !self.point => Some(Mark(DecimalMark::Comma, comma)),
            (None, Some(thousands), _) => Some(Mark(DecimalMark::Point, thousands)),
            (None, None, Some(either)) => Some(match separator {
                _ if self.point => Mark(DecimalMark::Point, either),
                // The semicolon separates cells where the comma is needed for decimals.
                Some(b';') => Mark(DecimalMark::Comma, either),
                Some(b',') => Mark(DecimalMark::Point, either),
                _ => Undecided(either),
            }),
            (Some(_), ..) | (None, None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_decimals_have_the_bits_of_the_standard_library() {
        for text in
            ["0", "-0", "-0.5", "5.", ".5", "1.234567891", "-12345678901234.5", "0.1", "3e5"]
        {
            let (number, n_bytes) = short_decimal(text.as_bytes()).unwrap();
            let expected: f64 = text[..n_bytes].parse().unwrap();
            assert_eq!(number.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(n_bytes, text.find('e').unwrap_or(text.len()), "{text}");
        }
        for text in ["", "-", ".", "x", "1234567890123456"] {
            assert!(short_decimal(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_holes_and_nonsense_are_told_apart() {
        assert_eq!(parse_number("-1.5e-3").unwrap(), -0.0015);
        assert_eq!(parse_number(" 2 ").unwrap(), 2.0);
        for hole in ["", "  ", "NA", "nan", "NaN", " NULL"] {
            assert!(parse_number(hole).unwrap().is_nan(), "{hole}");
        }
        assert!(matches!(parse_number("1e999"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("-inf"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("n.d."), Err(Problem::NotANumber { .. })));
        assert_eq!(parse_number(" −1.5").unwrap(), -1.5);
        assert!(matches!(parse_number("a−1"), Err(Problem::NotANumber { text }) if text == "a−1"));
    }

    #[test]
    fn words_for_not_measured_and_limits_of_detection_are_known() {
        for text in ["<0.05", "< 0,05", "<=3", "<LLOQ", "#NUM!", "n.d."] {
            assert!(is_often_missing(text), "{text}");
        }
        for text in ["<", "<b>", ">3", "0.05", "<inf"] {
            assert!(!is_often_missing(text), "{text}");
        }
    }

    fn style(decimal: DecimalMark) -> NumberStyle {
        NumberStyle { decimal: Some(decimal), ..NumberStyle::default() }
    }

    #[test]
    fn thousands_are_groups_of_three_and_nothing_else() {
        let (point, comma) = (style(DecimalMark::Point), style(DecimalMark::Comma));
        for text in ["1,234,567.5", "1 234 567.5", "1'234'567.5", "1234567.5"] {
            assert_eq!(point.parse(text).unwrap(), 1_234_567.5, "{text}");
        }
        for text in ["-1.234.567,5", "-1234567,5", "-1\u{a0}234\u{a0}567,5"] {
            assert_eq!(comma.parse(text).unwrap(), -1_234_567.5, "{text}");
        }
        assert_eq!(comma.parse("1,5e-3").unwrap(), 0.0015);
        assert_eq!(comma.parse("−1.234,5").unwrap(), -1234.5);
        assert_eq!(comma.parse("1.234").unwrap(), 1234.0);
        assert!(comma.parse("").unwrap().is_nan());
        for text in ["1.5", "1.23.456", "1.234'567", "a,5", "1,2,3"] {
            assert!(matches!(comma.parse(text), Err(Problem::NotANumber { .. })), "{text}");
        }
        for text in ["1,5", "1,23", "12 34", ",5"] {
            assert!(point.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_mean_not_measured_are_missing_however_they_are_written() {
        let missing = Some(vec!["-999".to_owned(), "<LOD".to_owned()]);
        let style = NumberStyle::new(&ReadOptions { missing, ..ReadOptions::default() });
        for text in ["-999", "-999.0", "<lod", "NA"] {
            assert!(style.parse(text).unwrap().is_nan(), "{text}");
        }
        assert_eq!(style.parse("999").unwrap(), 999.0);
        assert!(style.parse("?").is_err());
    }

    fn finding(cells: &str, separator: u8) -> Option<DecimalFinding> {
        let mut evidence = DecimalEvidence::default();
        cells.split('|').for_each(|cell| evidence.add(cell));
        evidence.finding(Some(separator))
    }

    #[test]
    fn the_whole_table_decides_what_a_comma_means() {
        use DecimalFinding::{Mark, Undecided};
        let comma = |shown: &str| Some(Mark(DecimalMark::Comma, shown.to_owned()));
        let point = |shown: &str| Some(Mark(DecimalMark::Point, shown.to_owned()));
        assert_eq!(finding("1,234|0,5|7", b'\t'), comma("0,5"));
        assert_eq!(finding("0,0|1.234,5|7,5", b';'), comma("1.234,5"), "zeros show nothing");
        assert_eq!(finding("1,234|2,345,678", b'\t'), point("2,345,678"));
        assert_eq!(finding("1,234|1.5", b'\t'), point("1,234"));
        assert_eq!(finding("1,234|12,345", b';'), comma("1,234"));
        assert_eq!(finding("1,234|12,345", b','), point("1,234"));
        assert_eq!(finding("1,234|12,345", b'\t'), Some(Undecided("1,234".to_owned())));
        assert_eq!(finding("1 234|7", b','), point("1 234"));
        assert_eq!(finding("1,5|1.5", b';'), None);
        assert_eq!(finding("1.5|a,b|low", b','), None);
        assert_eq!(finding("−1.5|a", b','), None);
    }
}
