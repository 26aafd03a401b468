//! Dates as people write them; which number is the day is decided from a whole column.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, ISOWeekDate, Time, Weekday};
use jiff::tz::TimeZone;

use crate::message_text::shorten;
use crate::options::DateOrder;
use crate::problem::Problem;

/// Nanoseconds since 1970 of an ISO-8601 date or time; without a zone it is taken as UTC.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let instant = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>();
        let civil = civil.or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0))).ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    i64::try_from(instant.as_nanosecond()).ok()
}

/// A date in ISO-8601's basic form, 20260131, as nanoseconds since 1970.
///
/// Only years from 1900 to 2100 count, so that hardly any other number of eight digits is mistaken for one.
pub(crate) fn basic_date(number: f64) -> Option<i64> {
    if number.fract() != 0.0 || !(19_000_101.0..=21_001_231.0).contains(&number) {
        return None;
    }
    let digits = number as i32;
    stamp(digits / 10_000, digits / 100 % 100, digits % 100, Time::midnight())
}

/// Months written as numbers, 202601, as nanoseconds since 1970; nothing unless all of them are.
///
/// Numbers of six digits may count anything; those that jump from month 12 to month 1 of the next year count months.
pub(crate) fn basic_months(numbers: &[f64]) -> Option<Vec<i64>> {
    let month = |&number: &f64| {
        let is_month = number.fract() == 0.0 && (190_001.0..=210_012.0).contains(&number);
        let digits = number as i32;
        if is_month { stamp(digits / 100, digits % 100, 1, Time::midnight()) } else { None }
    };
    let stamps: Vec<i64> = numbers.iter().map(month).collect::<Option<_>>()?;
    let year = |&number: &f64| number as i32 / 100;
    let first = numbers.first().map(year)?;
    numbers.iter().any(|number| year(number) != first).then_some(stamps)
}

fn stamp(year: i32, month: i32, day: i32, time: Time) -> Option<i64> {
    let part = |number: i32| i8::try_from(number).ok();
    let date = Date::new(i16::try_from(year).ok()?, part(month)?, part(day)?).ok()?;
    let instant = TimeZone::UTC.to_timestamp(date.to_datetime(time)).ok()?;
    i64::try_from(instant.as_nanosecond()).ok()
}

/// A date that is none of ISO-8601's, before it is known which of two numbers is the day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WrittenDate {
    /// The parts are clear: 2020-01, 1959Q1, 2020-W05, Jan 2020, 31 Jan 2020, 2020/01/31.
    Clear { year: i32, month: i32, day: i32, time: Time },
    /// Two numbers, then the year: 31.01.2020, 1/31/2020.
    Either { first: i32, second: i32, year: i32, time: Time },
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl WrittenDate {
    /// Reads one cell.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, time) = split_time(text)?;
        let date = date.to_ascii_lowercase();
        if let Some((year, quarter)) = quarter(&date) {
            return Some(Self::Clear { year, month: 3 * quarter - 2, day: 1, time });
        }
        if let Some(monday) = monday_of(&date) {
            let (year, month, day) = (monday.year(), monday.month(), monday.day());
            return Some(Self::Clear {
                year: year.into(),
                month: month.into(),
                day: day.into(),
                time,
            });
        }
        let parts: Vec<&str> = date
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect();
        let clear = |year, month, day| Some(Self::Clear { year, month, day, time });
        match parts[..] {
            [a, b] => match (Part::of(a)?, Part::of(b)?) {
                (Part::Year(year), Part::Month(month) | Part::Number(month))
                | (Part::Month(month) | Part::Number(month), Part::Year(year)) => {
                    clear(year, month, 1)
                }
                _ => None,
            },
            [a, b, c] => match (Part::of(a)?, Part::of(b)?, Part::of(c)?) {
                (Part::Number(first), Part::Number(second), Part::Year(year)) => {
                    Some(Self::Either { first, second, year, time })
                }
                (Part::Year(year), Part::Number(month) | Part::Month(month), Part::Number(day))
                | (Part::Number(day), Part::Month(month), Part::Year(year))
                | (Part::Month(month), Part::Number(day), Part::Year(year)) => {
                    clear(year, month, day)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Nanoseconds since 1970; `None` where there is no such day.
    fn stamp(self, order: DateOrder) -> Option<i64> {
        match (self, order) {
            (Self::Clear { year, month, day, time }, _)
            | (Self::Either { first: day, second: month, year, time }, DateOrder::DayFirst)
            | (Self::Either { first: month, second: day, year, time }, DateOrder::MonthFirst) => {
                stamp(year, month, day, time)
            }
            (Self::Either { .. }, DateOrder::NoDates) => None,
        }
    }
}

/// A part of a date.
enum Part {
    /// Four digits.
    Year(i32),
    /// A name.
    Month(i32),
    /// One or two digits.
    Number(i32),
}

impl Part {
    fn of(text: &str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().ok()?;
            return match text.len() {
                1 | 2 => Some(Self::Number(number)),
                4 => Some(Self::Year(number)),
                _ => None,
            };
        }
        let is_month = |month: &&str| text.len() >= 3 && month.starts_with(text);
        Some(Self::Month(MONTHS.iter().position(is_month)? as i32 + 1))
    }
}

/// The date and the time of day, midnight where there is none.
fn split_time(text: &str) -> Option<(&str, Time)> {
    let Some(colon) = text.find(':') else { return Some((text, Time::midnight())) };
    let start = text[..colon].rfind([' ', 'T'])?;
    let (date, time) = (&text[..start], text[start + 1..].trim());
    Some((date.trim_end_matches(','), time_of_day(time)?))
}

/// Whether a text is a time of the day without its date.
pub(crate) fn is_time_of_day(text: &str) -> bool {
    time_of_day(text.trim()).is_some()
}

/// 13:30, 1:30 PM or 12:05:10 am.
fn time_of_day(text: &str) -> Option<Time> {
    let lower = text.to_ascii_lowercase();
    let half = ["am", "pm"].iter().position(|half| lower.ends_with(half));
    let (clock, after_noon) = match half {
        Some(half) => (lower[..lower.len() - 2].trim_end(), half == 1),
        None => (lower.as_str(), false),
    };
    let (hour, rest) = clock.split_once(':')?;
    let hour: i32 = hour.parse().ok()?;
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(_) => hour % 12 + if after_noon { 12 } else { 0 },
        None => hour,
    };
    format!("{hour:02}:{rest}").parse().ok()
}

/// Year and quarter: 1959Q1, 1959-Q1, Q1 1959.
fn quarter(date: &str) -> Option<(i32, i32)> {
    let parts: Vec<&str> = date.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let (year, quarter) = match parts[..] {
        [one] => one.split_once('q')?,
        [year, quarter] if quarter.starts_with('q') => (year, &quarter[1..]),
        [quarter, year] => (year, quarter.strip_prefix('q')?),
        _ => return None,
    };
    let quarter: i32 = quarter.parse().ok().filter(|quarter| (1..=4).contains(quarter))?;
    (year.len() == 4).then_some((year.parse().ok()?, quarter))
}

/// The first day of a week as ISO-8601 counts them: 2020-W05, 2020W05.
fn monday_of(date: &str) -> Option<Date> {
    let (year, week) = date.split_once('w')?;
    let year = year.strip_suffix('-').unwrap_or(year);
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if year.len() != 4 || week.len() != 2 || !are_digits(year) || !are_digits(week) {
        return None;
    }
    let week = ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?;
    Some(week.date())
}

/// One date alone, in any form that leaves no doubt, as nanoseconds since 1970.
pub(crate) fn read_date(text: &str) -> Option<i64> {
    parse_timestamp(text).or_else(|| {
        let date = WrittenDate::parse(text)?;
        let readings = [DateOrder::DayFirst, DateOrder::MonthFirst].map(|order| date.stamp(order));
        match readings {
            [Some(day_first), Some(month_first)] if day_first != month_first => None,
            [day_first, month_first] => day_first.or(month_first),
        }
    })
}

/// A column of such dates as nanoseconds since 1970, with a sentence on how they were read, or the row of a problem.
pub(crate) fn read_dates(
    texts: &[String],
    dates: &[WrittenDate],
    said: Option<DateOrder>,
) -> Result<(Vec<i64>, String), (usize, Problem)> {
    let (order, reason) = match order_of(texts, dates, said)? {
        Some((order, reason)) => (order, reason),
        None => (DateOrder::DayFirst, ""),
    };
    let mut stamps = Vec::with_capacity(dates.len());
    for (row, date) in dates.iter().enumerate() {
        let unknown = || (row, Problem::NotATime { text: shorten(&texts[row]) });
        stamps.push(date.stamp(order).ok_or_else(unknown)?);
    }
    // A date that has one reading only shows the order best.
    let is_open = |date: &WrittenDate| matches!(date, WrittenDate::Either { .. });
    let both = [DateOrder::DayFirst, DateOrder::MonthFirst];
    let decides =
        |date: &WrittenDate| is_open(date) && both.iter().any(|&o| date.stamp(o).is_none());
    let shown = dates.iter().position(decides).or_else(|| dates.iter().position(is_open));
    let row = shown.unwrap_or(0);
    let notice =
        format!("times such as {} were read as {}{reason}", texts[row], time_text(stamps[row]));
    Ok((stamps, notice))
}

/// The day, with the time of day where it is not midnight.
fn time_text(stamp: i64) -> String {
    const DAY: i64 = 86_400_000_000_000;
    let instant = Timestamp::from_nanosecond(i128::from(stamp)).unwrap_or_default();
    if stamp % DAY == 0 { day_text(stamp) } else { instant.to_string() }
}

fn day_text(stamp: i64) -> String {
    let instant = Timestamp::from_nanosecond(i128::from(stamp)).unwrap_or_default();
    instant.strftime("%Y-%m-%d").to_string()
}

/// Which number is the day, and why; nothing where no date leaves it open.
fn order_of(
    texts: &[String],
    dates: &[WrittenDate],
    said: Option<DateOrder>,
) -> Result<Option<(DateOrder, &'static str)>, (usize, Problem)> {
    let is_open = |date: &WrittenDate| matches!(date, WrittenDate::Either { .. });
    let Some(row) = dates.iter().position(is_open) else { return Ok(None) };
    if let Some(order) = said {
        return Ok(Some((order, "")));
    }
    let readings = [DateOrder::DayFirst, DateOrder::MonthFirst].map(|order| {
        let stamps: Option<Vec<i64>> = dates.iter().map(|date| date.stamp(order)).collect();
        stamps.map(|stamps| (order, stamps))
    });
    match readings {
        [Some((order, _)), None] | [None, Some((order, _))] => {
            Ok(Some((order, ", because there are twelve months; `--date-order` overrules")))
        }
        // The first of January of every year.
        [Some((_, a)), Some((_, b))] if a == b => Ok(None),
        [Some((day_first, a)), Some((month_first, b))] => match (is_even(&a), is_even(&b)) {
            (true, false) => Ok(Some((day_first, EVEN_GAPS))),
            (false, true) => Ok(Some((month_first, EVEN_GAPS))),
            _ => {
                // 1/1/2020 is the same day in both.
                let row = (0..a.len()).find(|&row| a[row] != b[row]).unwrap_or(row);
                let readings = [day_text(a[row]), day_text(b[row])];
                Err((row, Problem::DateOrder { text: shorten(&texts[row]), readings }))
            }
        },
        [None, None] => {
            // The first date with one reading decides, and another one contradicts it.
            let orders = [DateOrder::DayFirst, DateOrder::MonthFirst];
            let only = dates.iter().find_map(|date| {
                let is_date = orders.map(|order| date.stamp(order).is_some());
                (is_date[0] != is_date[1]).then(|| orders[usize::from(is_date[1])])
            });
            let order = only.unwrap_or(DateOrder::DayFirst);
            let row = dates.iter().position(|date| date.stamp(order).is_none()).unwrap_or(row);
            Err((row, Problem::NotATime { text: shorten(&texts[row]) }))
        }
    }
}

const EVEN_GAPS: &str = ", because their gaps are even then; `--date-order` overrules";

/// Whether times go one way in steps of nearly one length, months of 28 to 31 days included.
fn is_even(stamps: &[i64]) -> bool {
    /// Three dates may be anything.
    const FEWEST: usize = 4;
    const MOST_UNEVEN: f64 = 1.2;
    let gaps = || stamps.windows(2).map(|pair| (pair[1] as f64) - (pair[0] as f64));
    let (least, most) = (gaps().fold(f64::INFINITY, f64::min), gaps().fold(0.0, f64::max));
    stamps.len() >= FEWEST && least > 0.0 && most <= MOST_UNEVEN * least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_times_and_zones_are_understood() {
        let hour = 3_600_000_000_000;
        assert_eq!(parse_timestamp("1970-01-02"), Some(24 * hour));
        assert_eq!(parse_timestamp("1970-01-01T01:00:00"), Some(hour));
        assert_eq!(parse_timestamp("1970-01-01 01:00"), Some(hour));
        assert_eq!(parse_timestamp("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_timestamp("31.12.1999"), None);
    }

    #[test]
    fn hours_before_and_after_noon_are_told_apart() {
        let times = ["12:05 AM", "9:30 am", "12:30 PM", "1:30:15 PM", "13:30", "7:05"];
        let found = times.map(|text| time_of_day(text).map(|time| time.to_string()));
        let expected = ["00:05:00", "09:30:00", "12:30:00", "13:30:15", "13:30:00", "07:05:00"];
        assert_eq!(found.map(|time| time.expect("a time")), expected);
        for text in ["13:30 PM", "0:30 AM", "noon", "12:61", "1:30 XM"] {
            assert_eq!(time_of_day(text), None, "{text}");
        }
    }

    fn column(texts: &[&str], said: Option<DateOrder>) -> Result<Vec<String>, Problem> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let dates: Vec<WrittenDate> =
            texts.iter().map(|text| WrittenDate::parse(text).expect("a date")).collect();
        let (stamps, _) = read_dates(&texts, &dates, said).map_err(|(_, problem)| problem)?;
        Ok(stamps.into_iter().map(day_text).collect())
    }

    #[test]
    fn months_quarters_and_names_are_clear() {
        let clear = [
            ("2020-01", "2020-01-01"),
            ("03/2020", "2020-03-01"),
            ("Jan 2020", "2020-01-01"),
            ("2020 sept", "2020-09-01"),
            ("1959Q1", "1959-01-01"),
            ("1959-Q4", "1959-10-01"),
            ("Q2 1959", "1959-04-01"),
            ("2020-W01", "2019-12-30"),
            ("2020W05", "2020-01-27"),
            ("31-Jan-2020", "2020-01-31"),
            ("January 31, 2020", "2020-01-31"),
            ("2020/01/31", "2020-01-31"),
            ("2020.01.31 12:30", "2020-01-31"),
            ("1/31/2020 1:30 PM", "2020-01-31"),
        ];
        for (text, day) in clear {
            assert_eq!(column(&[text], None).unwrap(), [day], "{text}");
        }
        for text in [
            "1959Q5",
            "2021-W53",
            "2020-W5a",
            "Foo 2020",
            "31.01.20",
            "2020-13-1-1",
            "a1",
            "1/2",
            "2020-1x",
        ] {
            assert_eq!(WrittenDate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_day_after_the_twelfth_decides_for_the_whole_column() {
        let german = column(&["01.02.2020", "31.01.2020"], None).unwrap();
        assert_eq!(german, ["2020-02-01", "2020-01-31"]);
        let american = column(&["2/1/2020", "1/31/2020 23:10"], None).unwrap();
        assert_eq!(american, ["2020-02-01", "2020-01-31"]);
    }

    #[test]
    fn even_gaps_decide_where_days_do_not() {
        let texts: Vec<String> =
            (0..14).map(|month| format!("{}/1/{}", month % 12 + 1, 2020 + month / 12)).collect();
        let monthly = column(&texts.iter().map(String::as_str).collect::<Vec<_>>(), None).unwrap();
        assert_eq!(monthly[13], "2021-02-01");
        // Four days of January, or the first day of four months.
        assert!(column(&["1/1/2020", "2/1/2020", "3/1/2020", "4/1/2020"], None).is_err());
    }

    #[test]
    fn what_cannot_be_decided_is_refused_with_both_readings() {
        let problem = column(&["01.02.2020", "05.03.2020"], None).unwrap_err();
        let readings = ["2020-02-01".to_owned(), "2020-01-02".to_owned()];
        assert_eq!(problem, Problem::DateOrder { text: "01.02.2020".into(), readings });
        let said = column(&["01.02.2020", "05.03.2020"], Some(DateOrder::MonthFirst)).unwrap();
        assert_eq!(said, ["2020-01-02", "2020-05-03"]);
        assert!(column(&["31.01.2020", "01.31.2020"], None).is_err());
    }
}
