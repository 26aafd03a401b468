//! Times between the user and the model: dates and lengths of time to numbers, and numbers back to dates.

use jiff::Timestamp;

use crate::dates::{basic_date, parse_timestamp, read_date};
use crate::time::{TimeAxis, TimeUnit};

/// Why a text is no time of the data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClockProblem {
    /// A date where times are plain numbers.
    #[error("`{text}` looks like a date, but the times of the data are plain numbers")]
    DateAmongNumbers {
        /// What was given.
        text: String,
    },
    /// Neither a date nor a number.
    #[error(
        "`{text}` is no date such as {example}, which is what the times of the data are, and no number of {unit} since then"
    )]
    NotADate {
        /// What was given.
        text: String,
        /// The first date of the data.
        example: String,
        /// What numbers count.
        unit: TimeUnit,
    },
    /// A number that may be a year.
    #[error(
        "`{text}` may be a year or a number of {unit} since {origin}: write {text}-01-01, or {text}.0"
    )]
    YearOrNumber {
        /// What was given.
        text: String,
        /// What numbers count.
        unit: TimeUnit,
        /// From when on.
        origin: String,
    },
    /// Not a number.
    #[error("`{text}` is no time: the times of the data are plain numbers")]
    NotATime {
        /// What was given.
        text: String,
    },
    /// No length of time.
    #[error("`{text}` is no length of time, such as 12, 90d, 6h, 30min, 2w, 3mo or 1y")]
    NotASpan {
        /// What was given.
        text: String,
    },
    /// A unit where times are plain numbers.
    #[error(
        "`{text}` has a unit, but the times of the data are plain numbers: give a number in their unit"
    )]
    UnitAmongNumbers {
        /// What was given.
        text: String,
    },
}

/// Days of a mean year; a month is a twelfth of it.
const YEAR: f64 = 365.2425;

/// Units of lengths of time by the words for them, in seconds.
const UNITS: [(&[&str], f64); 8] = [
    (&["s", "sec", "second", "seconds"], 1.0),
    (&["min", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3_600.0),
    (&["d", "day", "days"], 86_400.0),
    (&["w", "week", "weeks"], 7.0 * 86_400.0),
    (&["mo", "month", "months"], YEAR * 86_400.0 / 12.0),
    (&["q", "quarter", "quarters"], YEAR * 86_400.0 / 4.0),
    (&["y", "year", "years"], YEAR * 86_400.0),
];

impl TimeAxis {
    /// Plain numbers, in a unit that only the user knows.
    pub fn given() -> Self {
        Self { unit: TimeUnit::Given, origin: None, named_unit: None }
    }

    /// Dates, counted in a unit from an instant on, which is written as in ISO-8601.
    pub fn dated(unit: TimeUnit, origin: &str) -> Self {
        Self { unit, origin: Some(origin.to_owned()), named_unit: None }
    }

    /// Whether times were written as dates.
    pub fn is_dated(&self) -> bool {
        self.origin.is_some()
    }

    /// What stands along the axis of a picture, with the unit that the table gives.
    ///
    /// ```
    /// use driftgraph_data::{TimeAxis, TimeUnit};
    ///
    /// assert_eq!(TimeAxis::given().label(), "time");
    /// assert_eq!(TimeAxis::dated(TimeUnit::Days, "1959-01-01T00:00:00Z").label(), "date");
    /// let named = TimeAxis { named_unit: Some("days".to_owned()), ..TimeAxis::given() };
    /// assert_eq!(named.label(), "time (days)");
    /// ```
    pub fn label(&self) -> String {
        match (&self.origin, &self.named_unit) {
            (Some(_), _) => "date".to_owned(),
            (None, Some(unit)) => format!("time ({unit})"),
            (None, None) => "time".to_owned(),
        }
    }

    /// A length of time that nobody asked for in so many digits: whole days where the data have dates by the day, and
    /// so on, or every answer would be at a time of the day that means nothing.
    pub fn whole(&self, length: f64) -> f64 {
        if self.is_dated() && length >= 1.0 { length.round() } else { length }
    }

    /// A time as the user writes it: a date where the data have dates, or a number.
    ///
    /// ```
    /// use driftgraph_data::{TimeAxis, TimeUnit};
    ///
    /// let axis = TimeAxis::dated(TimeUnit::Days, "1959-01-01T00:00:00Z");
    /// assert_eq!(axis.read_time("1959-02-01")?, 31.0);
    /// assert_eq!(axis.read_time("31")?, 31.0);
    /// assert!(TimeAxis::given().read_time("1959-02-01").is_err());
    /// # Ok::<(), driftgraph_data::clock::ClockProblem>(())
    /// ```
    pub fn read_time(&self, text: &str) -> Result<f64, ClockProblem> {
        let text = text.trim();
        let owned = || text.to_owned();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let Some(origin) = self.origin_stamp() else {
            return match number {
                Some(number) => Ok(number),
                None if looks_like_a_date(text) => {
                    Err(ClockProblem::DateAmongNumbers { text: owned() })
                }
                None => Err(ClockProblem::NotATime { text: owned() }),
            };
        };
        let n_digits = text.bytes().all(|byte| byte.is_ascii_digit()).then_some(text.len());
        let (unit, first) = (self.unit, self.time_text(0.0));
        let Some(number) = number else {
            let date = read_date(text).map(|stamp| self.count(stamp, origin));
            let problem = || ClockProblem::NotADate { text: owned(), example: first, unit };
            return date.ok_or_else(problem);
        };
        match (n_digits, basic_date(number)) {
            (Some(8), Some(stamp)) => Ok(self.count(stamp, origin)),
            (Some(4), _) => Err(ClockProblem::YearOrNumber { text: owned(), unit, origin: first }),
            _ => Ok(number),
        }
    }

    /// A time of a window: `None` for what is no time but may be a formula of numbers.
    pub fn read_bound(&self, text: &str) -> Result<Option<f64>, ClockProblem> {
        match self.read_time(text) {
            Ok(time) => Ok(Some(time)),
            Err(ClockProblem::NotATime { .. }) => Ok(None),
            // Nobody puts blanks into a date of digits.
            Err(ClockProblem::DateAmongNumbers { .. })
                if [" - ", " / "].iter().any(|sign| text.contains(sign)) =>
            {
                Ok(None)
            }
            Err(problem) => Err(problem),
        }
    }

    /// A length of time as the user writes it: a number in the unit of the data, or `90d` where the data have dates.
    pub fn read_span(&self, text: &str) -> Result<f64, ClockProblem> {
        let text = text.trim();
        let problem = || ClockProblem::NotASpan { text: text.to_owned() };
        let word = text.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
        let (digits, word) = match text.parse::<f64>() {
            Ok(_) => (text, ""),
            Err(_) => (text[..text.len() - word.len()].trim(), word),
        };
        let number: f64 = digits.parse().map_err(|_| problem())?;
        if word.is_empty() {
            return Some(number).filter(|number| number.is_finite()).ok_or_else(problem);
        }
        let named = |(words, _): &&(&[&str], f64)| words.contains(&word);
        let (_, seconds) = UNITS.iter().find(named).ok_or_else(problem)?;
        if !self.is_dated() {
            return Err(ClockProblem::UnitAmongNumbers { text: text.to_owned() });
        }
        let length = number * seconds * 1e9 / self.unit.nanoseconds();
        // Months and years of dates are whole days, or every answer would be at a time of the day nobody asked for.
        let is_of_calendar = *seconds > 7.0 * 86_400.0 && length >= 1.0;
        Ok(if is_of_calendar && self.unit == TimeUnit::Days { length.round() } else { length })
    }

    /// Times as the user would write them: dates where the data have dates.
    pub fn time_texts(&self, times: &[f64]) -> Vec<String> {
        match self.dates(times) {
            Some(dates) => dates,
            None => times.iter().map(ToString::to_string).collect(),
        }
    }

    /// One time as the user would write it.
    pub fn time_text(&self, time: f64) -> String {
        self.time_texts(&[time]).remove(0)
    }

    /// Times as dates, days alone where all of them are whole days; `None` where the data have none.
    pub fn dates(&self, times: &[f64]) -> Option<Vec<String>> {
        let stamps = self.stamps(times)?;
        let instants: Option<Vec<Timestamp>> = stamps
            .iter()
            .map(|&stamp| Timestamp::from_nanosecond(i128::from(stamp)).ok())
            .collect();
        let day = 86_400 * 1_000_000_000_i64;
        let are_days = stamps.iter().all(|stamp| stamp % day == 0);
        let text = |instant: &Timestamp| {
            if are_days { instant.strftime("%Y-%m-%d").to_string() } else { instant.to_string() }
        };
        instants.map(|instants| instants.iter().map(text).collect())
    }

    /// Times as nanoseconds since 1970; `None` where the data have no dates.
    ///
    /// To a whole second, or to a whole microsecond where times are counted in seconds: digits beyond are
    /// rounding of the count.
    pub fn stamps(&self, times: &[f64]) -> Option<Vec<i64>> {
        let origin = i128::from(self.origin_stamp()?);
        let grain: i128 = if self.unit == TimeUnit::Seconds { 1_000 } else { 1_000_000_000 };
        let stamp = |time: &f64| {
            let grains = (time * self.unit.nanoseconds() / grain as f64).round();
            i64::try_from(origin + grains as i128 * grain).ok()
        };
        times.iter().map(stamp).collect()
    }

    /// The instant of time 0 and the unit, in seconds since 1970 and in seconds; `None` where the data have no dates.
    pub fn seconds(&self) -> Option<(f64, f64)> {
        self.origin_stamp().map(|origin| (origin as f64 / 1e9, self.unit.nanoseconds() / 1e9))
    }

    fn origin_stamp(&self) -> Option<i64> {
        self.origin.as_deref().and_then(parse_timestamp)
    }

    fn count(&self, stamp: i64, origin: i64) -> f64 {
        // i128 because the difference of two i64 may not fit into one.
        (i128::from(stamp) - i128::from(origin)) as f64 / self.unit.nanoseconds()
    }
}

/// Whether arithmetic would be made of a date: 2000-01-01, 2000-1, 31.12.1999, 12/31/1999.
fn looks_like_a_date(text: &str) -> bool {
    if read_date(text).is_some() {
        return true;
    }
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    ['-', '/', '.'].into_iter().any(|between| {
        let parts: Vec<&str> = day.split(between).collect();
        let are_digits = parts.iter().all(|part| {
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        });
        let has_year = parts.iter().any(|part| part.len() == 4);
        are_digits && has_year && (parts.len() == 3 || (parts.len() == 2 && between == '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days() -> TimeAxis {
        TimeAxis::dated(TimeUnit::Days, "1959-01-01T00:00:00Z")
    }

    #[test]
    fn dates_are_counted_as_those_of_the_data_are() {
        assert_eq!(days().read_time("1960-01-01"), Ok(365.0));
        assert_eq!(days().read_time(" 1959-01-02T12:00 "), Ok(1.5));
        for text in ["19600101", "1960Q1", "Jan 1960", "1960-1-1", "1.1.1960"] {
            assert_eq!(days().read_time(text), Ok(365.0), "{text}");
        }
        assert_eq!(days().read_time("31.1.1959"), Ok(30.0));
        // The second of January or the first of February: nobody knows.
        assert!(days().read_time("1.2.1959").is_err());
        assert_eq!(days().read_time("-2.5"), Ok(-2.5));
    }

    #[test]
    fn what_is_no_time_is_refused_and_never_computed() {
        let refused = |axis: TimeAxis, text: &str| axis.read_time(text).unwrap_err().to_string();
        assert_eq!(
            refused(TimeAxis::given(), "2000-01-01"),
            "`2000-01-01` looks like a date, but the times of the data are plain numbers"
        );
        assert_eq!(
            refused(days(), "2000"),
            "`2000` may be a year or a number of days since 1959-01-01: write 2000-01-01, or 2000.0"
        );
        assert_eq!(
            refused(days(), "2000-1-32"),
            "`2000-1-32` is no date such as 1959-01-01, which is what the times of the data are, and no number of \
             days since then"
        );
        for text in ["2000-1-1", "2000-1", "31.12.1999", "12/31/1999", "2000-01-01T10:00"] {
            assert!(TimeAxis::given().read_bound(text).is_err(), "{text}");
        }
        // Formulas of numbers stay formulas.
        for text in ["2*3", "100-1", "1.5/2.5", "2000 - 1"] {
            assert_eq!(TimeAxis::given().read_bound(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn lengths_of_time_have_units_where_times_are_dates() {
        assert_eq!(days().read_span("90d"), Ok(90.0));
        assert_eq!(days().read_span("2 weeks"), Ok(14.0));
        assert_eq!(days().read_span("6h"), Ok(0.25));
        assert_eq!(days().read_span("1e2"), Ok(100.0));
        // Whole days, and the leap days of many years.
        assert_eq!(
            ["1mo", "1q", "1y", "40y"].map(|text| days().read_span(text)),
            [30.0, 91.0, 365.0, 14610.0].map(Ok)
        );
        let hours = TimeAxis::dated(TimeUnit::Hours, "1959-01-01T00:00:00Z");
        assert!((hours.read_span("1y").unwrap() - 24.0 * 365.2425).abs() < 1e-9);
        let hours = TimeAxis::dated(TimeUnit::Hours, "1959-01-01T00:00:00Z");
        assert_eq!(hours.read_span("30min"), Ok(0.5));
        assert_eq!(TimeAxis::given().read_span("12"), Ok(12.0));
        for (axis, text) in
            [(days(), "5m"), (days(), "d"), (days(), "1959-01-01"), (TimeAxis::given(), "90d")]
        {
            assert!(axis.read_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dates_come_back_as_days_where_all_of_them_are() {
        assert_eq!(days().dates(&[0.0, 365.0]).unwrap(), ["1959-01-01", "1960-01-01"]);
        let mixed = days().dates(&[0.0, 0.25]).unwrap();
        assert_eq!(mixed, ["1959-01-01T00:00:00Z", "1959-01-01T06:00:00Z"]);
        // A third of a day is no whole number of anything but seconds.
        assert_eq!(days().time_text(1.0 / 3.0), "1959-01-01T08:00:00Z");
        assert_eq!(TimeAxis::given().time_text(0.5), "0.5");
        assert_eq!(TimeAxis::given().dates(&[1.0]), None);
        // Written and read again.
        for time in [-1.0, 0.0, 17_000.5] {
            assert_eq!(days().read_time(&days().time_text(time)), Ok(time));
        }
    }
}
