//! Times as numbers or as dates, and the unit that dates are counted in.

use std::fmt;

use jiff::Timestamp;

use crate::dates::{WrittenDate, basic_date, basic_months, parse_timestamp, read_dates};
use crate::message_text::shorten;
use crate::numbers::{NumberStyle, short_decimal};
use crate::options::DateOrder;
use crate::problem::Problem;

/// Times of the rows of one file, as written.
#[derive(Debug, Clone)]
pub(crate) enum RawTimes {
    /// Plain numbers in a unit only the user knows.
    Numbers(Vec<f64>),
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    Timestamps(Vec<i64>),
}

impl RawTimes {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Numbers(_) => "times in numbers",
            Self::Timestamps(_) => "times as dates",
        }
    }

    /// Order of two rows in time.
    pub(crate) fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        match self {
            Self::Numbers(numbers) => numbers[a].total_cmp(&numbers[b]),
            Self::Timestamps(stamps) => stamps[a].cmp(&stamps[b]),
        }
    }

    /// One row's time as the user would write it.
    pub(crate) fn text(&self, row: usize) -> String {
        match self {
            Self::Numbers(numbers) => numbers[row].to_string(),
            Self::Timestamps(stamps) => timestamp_text(stamps[row]),
        }
    }
}

/// Reads the cells of a time column: all numbers or all dates, as the first one is.
#[derive(Debug, Default)]
pub(crate) struct TimeColumn {
    times: Option<WrittenTimes>,
    /// Whether some number is not written as the eight digits of a day or the six of a month.
    has_other_numbers: bool,
}

#[derive(Debug)]
enum WrittenTimes {
    Numbers(Vec<f64>),
    /// Dates as ISO-8601 has them.
    Timestamps(Vec<i64>),
    /// Dates as people write them, which only the whole column may decide.
    Dates(Vec<String>, Vec<WrittenDate>),
}

impl WrittenTimes {
    /// The first time of a column.
    fn first(text: &str, number: Option<f64>) -> Option<Self> {
        if let Some(number) = number {
            return Some(Self::Numbers(vec![number]));
        }
        if let Some(stamp) = parse_timestamp(text) {
            return Some(Self::Timestamps(vec![stamp]));
        }
        Some(Self::Dates(vec![text.to_owned()], vec![WrittenDate::parse(text)?]))
    }

    /// What one of them is, and what many are.
    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Self::Numbers(_) => ("a number", "numbers"),
            Self::Timestamps(_) => ("a date", "dates"),
            Self::Dates(..) => ("a date in another form", "dates in another form"),
        }
    }
}

impl TimeColumn {
    /// Adds the next row's time.
    pub(crate) fn push(&mut self, text: &str, style: &NumberStyle) -> Result<(), Problem> {
        if !self.push_plain(text, style) {
            self.push_any(text, style)?;
        }
        self.has_other_numbers |=
            ![6, 8].contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_digit());
        Ok(())
    }

    /// Adds a short number to other numbers, which most times are; `false` where that is not what it is.
    fn push_plain(&mut self, text: &str, style: &NumberStyle) -> bool {
        let Some(WrittenTimes::Numbers(numbers)) = &mut self.times else { return false };
        let found = short_decimal(text.as_bytes()).filter(|_| style.is_plain());
        let number = found.filter(|&(_, n_bytes)| n_bytes == text.len());
        numbers.extend(number.map(|(number, _)| number));
        number.is_some()
    }

    fn push_any(&mut self, text: &str, style: &NumberStyle) -> Result<(), Problem> {
        if style.is_missing(text) {
            return Err(Problem::EmptyCell { text: text.to_owned() });
        }
        let number = style.number(text);
        if number.is_some_and(|number| !number.is_finite()) {
            return Err(Problem::NotATime { text: shorten(text) });
        }
        let not_a_time = || Problem::NotATime { text: shorten(text) };
        let Some(times) = &mut self.times else {
            self.times = Some(WrittenTimes::first(text, number).ok_or_else(not_a_time)?);
            return Ok(());
        };
        let pushed = match times {
            WrittenTimes::Numbers(numbers) => number.map(|number| numbers.push(number)),
            WrittenTimes::Timestamps(stamps) if number.is_none() => {
                parse_timestamp(text).map(|stamp| stamps.push(stamp))
            }
            WrittenTimes::Dates(texts, dates) if number.is_none() => {
                WrittenDate::parse(text).map(|date| {
                    texts.push(text.to_owned());
                    dates.push(date);
                })
            }
            _ => None,
        };
        if pushed.is_some() {
            return Ok(());
        }
        let other = WrittenTimes::first(text, number).ok_or_else(not_a_time)?;
        let (found, expected) = (other.kind().0, times.kind().1);
        Err(Problem::MixedTimes { text: shorten(text), found, expected })
    }

    /// The whole column, with a sentence on how dates were read where that is not obvious, or the row of a problem.
    pub(crate) fn finish(
        self,
        order: Option<DateOrder>,
    ) -> Result<(RawTimes, Option<String>), (usize, Problem)> {
        match self.times {
            Some(WrittenTimes::Numbers(numbers)) if !self.has_other_numbers => {
                Ok(whole_numbers(numbers, order))
            }
            Some(WrittenTimes::Numbers(numbers)) => Ok((RawTimes::Numbers(numbers), None)),
            Some(WrittenTimes::Timestamps(stamps)) => Ok((RawTimes::Timestamps(stamps), None)),
            Some(WrittenTimes::Dates(texts, dates)) => {
                let (stamps, notice) = read_dates(&texts, &dates, order)?;
                Ok((RawTimes::Timestamps(stamps), Some(notice)))
            }
            None => Ok((RawTimes::Numbers(Vec::new()), None)),
        }
    }
}

/// Times written as whole numbers: dates, which is told, if all of them are days or months in basic form and the user
/// has not said otherwise.
pub(crate) fn whole_numbers(
    numbers: Vec<f64>,
    said: Option<DateOrder>,
) -> (RawTimes, Option<String>) {
    if said == Some(DateOrder::NoDates) {
        return (RawTimes::Numbers(numbers), None);
    }
    let dates: Option<Vec<i64>> = numbers.iter().copied().map(basic_date).collect();
    match dates.or_else(|| basic_months(&numbers)) {
        Some(stamps) if !stamps.is_empty() => {
            let notice = format!(
                "times such as {} were read as dates; `--date-order none` overrules",
                numbers[0]
            );
            (RawTimes::Timestamps(stamps), Some(notice))
        }
        _ => (RawTimes::Numbers(numbers), None),
    }
}

fn timestamp_text(stamp: i64) -> String {
    Timestamp::from_nanosecond(i128::from(stamp))
        .map_or_else(|_| stamp.to_string(), |t| t.to_string())
}

/// What the numbers on the time axis mean.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TimeAxis {
    /// The unit.
    pub unit: TimeUnit,
    /// The instant of time 0, for times that were written as dates.
    pub origin: Option<String>,
    /// The unit that the name of the time column gives, as written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_unit: Option<String>,
}

impl fmt::Display for TimeAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.origin, &self.named_unit) {
            (Some(origin), _) => write!(f, "{} since {origin}", self.unit),
            (None, Some(unit)) => write!(f, "unit {unit}"),
            (None, None) => write!(f, "unit {}", self.unit),
        }
    }
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Numbers in the file, whose unit only the user knows.
    Given,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Days of 24 hours.
    Days,
}

impl TimeUnit {
    pub(crate) fn nanoseconds(self) -> f64 {
        match self {
            Self::Given | Self::Seconds => 1e9,
            Self::Minutes => 60e9,
            Self::Hours => 3_600e9,
            Self::Days => 86_400e9,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "as in the file",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        })
    }
}

/// How times as written become numbers: plain ones as they are, dates counted from the earliest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeScale {
    unit: TimeUnit,
    /// The earliest date, in nanoseconds since 1970.
    origin: Option<i64>,
}

impl TimeScale {
    /// One scale for all files; dates are counted in the largest unit that their median gap fills.
    pub(crate) fn of(files: &[&RawTimes]) -> Self {
        let dates = files.iter().filter_map(|times| match times {
            RawTimes::Timestamps(stamps) => stamps.iter().min().copied(),
            RawTimes::Numbers(_) => None,
        });
        match dates.min() {
            Some(origin) => Self { unit: unit_of_gaps(files), origin: Some(origin) },
            None => Self { unit: TimeUnit::Given, origin: None },
        }
    }

    /// One row's time.
    pub(crate) fn number(self, times: &RawTimes, row: usize) -> f64 {
        match times {
            RawTimes::Numbers(numbers) => numbers[row],
            RawTimes::Timestamps(stamps) => {
                // i128 because the difference of two i64 may not fit into one.
                let since = i128::from(stamps[row]) - i128::from(self.origin.unwrap_or(0));
                since as f64 / self.unit.nanoseconds()
            }
        }
    }

    /// What the numbers mean.
    pub(crate) fn axis(self) -> TimeAxis {
        TimeAxis { unit: self.unit, origin: self.origin.map(timestamp_text), named_unit: None }
    }
}

/// Dates as numbers, counted as they are in files: from the earliest, in a unit that suits their gaps.
///
/// `stamps` are nanoseconds since 1970.
pub fn count_dates(stamps: Vec<i64>) -> (Vec<f64>, TimeAxis) {
    let n = stamps.len();
    let dates = RawTimes::Timestamps(stamps);
    let scale = TimeScale::of(&[&dates]);
    ((0..n).map(|row| scale.number(&dates, row)).collect(), scale.axis())
}

fn unit_of_gaps(files: &[&RawTimes]) -> TimeUnit {
    let mut gaps: Vec<u64> = Vec::new();
    for times in files {
        if let RawTimes::Timestamps(stamps) = times {
            gaps.extend(stamps.windows(2).map(|pair| pair[1].abs_diff(pair[0])).filter(|g| *g > 0));
        }
    }
    if gaps.is_empty() {
        return TimeUnit::Seconds;
    }
    let middle = gaps.len() / 2;
    let median = *gaps.select_nth_unstable(middle).1 as f64;
    [TimeUnit::Days, TimeUnit::Hours, TimeUnit::Minutes]
        .into_iter()
        .find(|unit| median >= unit.nanoseconds())
        .unwrap_or(TimeUnit::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(texts: &[&str]) -> RawTimes {
        RawTimes::Timestamps(texts.iter().map(|text| parse_timestamp(text).unwrap()).collect())
    }

    #[test]
    fn eight_digits_are_a_date_only_where_all_of_them_are() {
        let column = |texts: &[&str]| {
            let mut column = TimeColumn::default();
            let style = NumberStyle::default();
            texts.iter().for_each(|text| column.push(text, &style).unwrap());
            column.finish(None).unwrap().1.is_some()
        };
        assert!(column(&["20231229", "20240102"]));
        assert_eq!(basic_date(20_240_229.0), parse_timestamp("2024-02-29"));
        assert!(column(&["202311", "202312", "202401"]), "months that go on into another year");
        assert!(!column(&["202301", "202302"]), "may count anything");
        assert!(!column(&["202312", "202313", "202401"]), "no month");
        for other in ["20230229", "20241301", "18991231", "21010101", "20231229.0", "2023"] {
            assert!(!column(&["20231229", other]), "{other}");
        }
    }

    fn numbers(scale: TimeScale, times: &RawTimes, n_rows: usize) -> Vec<f64> {
        (0..n_rows).map(|row| scale.number(times, row)).collect()
    }

    #[test]
    fn the_unit_is_the_largest_that_the_median_gap_fills() {
        let daily = stamps(&["2026-01-01", "2026-01-02", "2026-01-04"]);
        let scale = TimeScale::of(&[&daily]);
        assert_eq!(numbers(scale, &daily, 3), [0.0, 1.0, 3.0]);
        assert_eq!(scale.axis().unit, TimeUnit::Days);
        assert_eq!(scale.axis().origin.as_deref(), Some("2026-01-01T00:00:00Z"));
        let brief = stamps(&["2026-01-01T00:00", "2026-01-01T00:45"]);
        let scale = TimeScale::of(&[&brief]);
        assert_eq!(numbers(scale, &brief, 2), [0.0, 45.0]);
        assert_eq!(scale.axis().unit, TimeUnit::Minutes);
    }

    #[test]
    fn the_earliest_time_of_all_files_is_zero() {
        let (later, earlier) = (stamps(&["2026-01-03", "2026-01-04"]), stamps(&["2026-01-01"]));
        let scale = TimeScale::of(&[&later, &earlier]);
        assert_eq!(numbers(scale, &later, 2), [2.0, 3.0]);
        assert_eq!(numbers(scale, &earlier, 1), [0.0]);
    }
}
