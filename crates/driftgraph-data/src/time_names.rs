//! What names say about time: which column holds it, in which unit, and which time a header means.

use crate::dates::{WrittenDate, parse_timestamp};

/// Names of a time column, most telling first; case does not matter. `time_` is written where a variable is named `time`.
const CERTAIN: [&str; 8] =
    ["time_", "time", "timestamp", "datetime", "datetime_utc", "date", "t", "date_time"];

/// Names that often are the time's, with the unit they give; taken where no other is there, and told.
const LIKELY: [(&str, Option<&str>); 19] = [
    ("elapsed", None),
    ("year", Some("years")),
    ("years", Some("years")),
    ("quarter", Some("quarters")),
    ("month", Some("months")),
    ("months", Some("months")),
    ("week", Some("weeks")),
    ("weeks", Some("weeks")),
    ("day", Some("days")),
    ("days", Some("days")),
    ("hour", Some("hours")),
    ("hours", Some("hours")),
    ("minute", Some("minutes")),
    ("minutes", Some("minutes")),
    ("second", Some("seconds")),
    ("seconds", Some("seconds")),
    ("sec", Some("seconds")),
    ("hr", Some("hours")),
    ("age", None),
];

/// What the name of a column says about time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeName {
    /// Less is more telling.
    pub(crate) rank: usize,
    /// The unit that the name gives, as written.
    pub(crate) unit: Option<String>,
}

impl TimeName {
    /// Reads a name such as `time`, `Year`, `time (days)`, `hour [h]` or `time_min`; `None` if it says nothing.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (base, bracketed) = without_unit(name);
        let base = base.to_ascii_lowercase();
        let position = |base: &str| CERTAIN.iter().position(|known| *known == base);
        let own = |rank: usize, unit: Option<&str>| {
            let unit = bracketed.or(unit).map(str::to_owned);
            Some(Self { rank, unit })
        };
        if let Some(rank) = position(&base) {
            return own(rank, None);
        }
        if let Some(idx) = LIKELY.iter().position(|(known, _)| *known == base) {
            return own(CERTAIN.len() + idx, LIKELY[idx].1);
        }
        let unit = base.strip_prefix("time")?.strip_prefix(['_', ' ', '-', '.', '/'])?;
        let unit = unit.strip_prefix("in ").unwrap_or(unit).trim();
        own(position("time")?, Some(unit)).filter(|_| is_unit(unit))
    }

    /// Whether the name leaves a doubt.
    pub(crate) fn is_likely_only(&self) -> bool {
        self.rank >= CERTAIN.len()
    }
}

/// Words for units of time, and the days in each; a bare `m` may be minutes, months or metres.
const UNITS: [(&[&str], f64); 8] = [
    (&["s", "sec", "secs", "second", "seconds"], 1.0 / 86_400.0),
    (&["min", "mins", "minute", "minutes"], 1.0 / 1440.0),
    (&["h", "hr", "hrs", "hour", "hours"], 1.0 / 24.0),
    (&["d", "day", "days"], 1.0),
    (&["w", "wk", "wks", "week", "weeks"], 7.0),
    (&["mo", "mon", "mth", "month", "months"], 365.25 / 12.0),
    (&["q", "qtr", "quarter", "quarters"], 365.25 / 4.0),
    (&["y", "yr", "yrs", "year", "years", "a"], 365.25),
];

/// Days in a unit as people write it: `hours`, `hrs`, `H`, `days since start`; `None` for what is none.
pub(crate) fn days_in(unit: &str) -> Option<f64> {
    let word = unit.split([' ', '_']).next()?.trim_end_matches('.').to_ascii_lowercase();
    UNITS.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, days)| *days)
}

fn is_unit(text: &str) -> bool {
    let short = ["s", "min", "mins", "h", "hrs", "d", "w", "y", "yr", "ms", "us", "ns"];
    short.contains(&text) || LIKELY.iter().any(|(name, unit)| unit.is_some() && *name == text)
}

/// A name and the unit in brackets after it: `time (days)` is `time` in `days`.
fn without_unit(name: &str) -> (&str, Option<&str>) {
    let name = name.trim();
    for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
        if let Some(rest) = name.strip_suffix(close)
            && let Some((base, unit)) = rest.split_once(open)
            && !base.trim().is_empty()
            && !unit.trim().is_empty()
        {
            return (base.trim(), Some(unit.trim()));
        }
    }
    (name, None)
}

/// The times that the names of columns stand for, where they stand for times.
#[derive(Debug, PartialEq)]
pub(crate) struct TimeLabels {
    /// For each name the time it means, as a time column would have it; `None` for names without one.
    pub(crate) times: Vec<Option<String>>,
    /// The unit after every number, if it is the same one.
    pub(crate) unit: Option<String>,
}

impl TimeLabels {
    /// Reads `20`, `C20`, `t=20`, `20 min`, `day 3` or dates; `None` unless most names are times that only grow.
    pub(crate) fn of(names: &[String]) -> Option<Self> {
        /// A header of two numbers may be anything.
        const FEWEST: usize = 3;
        let is_date =
            |name: &String| parse_timestamp(name).is_some() || WrittenDate::parse(name).is_some();
        let n_dates = names.iter().filter(|name| is_date(name)).count();
        let (times, unit) = if n_dates >= FEWEST && 2 * n_dates > names.len() {
            (names.iter().map(|name| is_date(name).then(|| name.clone())).collect(), None)
        } else {
            let found: Vec<Option<(f64, &str)>> =
                names.iter().map(|name| number_in(name)).collect();
            let numbers = || found.iter().flatten();
            let grows = numbers().zip(numbers().skip(1)).all(|(a, b)| a.0 < b.0);
            let n_numbers = numbers().count();
            if n_numbers < FEWEST || 2 * n_numbers <= names.len() || !grows {
                return None;
            }
            let unit = numbers().next().map(|(_, unit)| *unit).filter(|unit| is_unit(unit));
            let unit = unit.filter(|unit| numbers().all(|(_, other)| other == unit));
            let times = found.iter().map(|found| found.map(|(number, _)| number.to_string()));
            (times.collect(), unit.map(str::to_owned))
        };
        Some(Self { times, unit })
    }
}

/// The only number in a name, and what comes after it.
fn number_in(name: &str) -> Option<(f64, &str)> {
    let start = name.find(|letter: char| letter.is_ascii_digit())?;
    let rest = &name[start..];
    let is_inner = |letter: char| letter.is_ascii_digit() || letter == '.';
    let end = rest.find(|letter| !is_inner(letter)).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    if after.contains(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let number: f64 = digits.trim_end_matches('.').parse().ok()?;
    // In `C-20` the dash joins, in `-20` and `t=-20` it is a sign.
    let before = name[..start].strip_suffix('-');
    let is_negative =
        before.is_some_and(|before| !before.chars().next_back().is_some_and(char::is_alphanumeric));
    Some((if is_negative { -number } else { number }, after.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_and_unit(name: &str) -> Option<(bool, Option<String>)> {
        TimeName::of(name).map(|found| (found.is_likely_only(), found.unit))
    }

    #[test]
    fn names_of_times_and_their_units_are_known() {
        let unit = |text: &str| Some(text.to_owned());
        let certain = [
            ("TIME", None),
            ("time (days)", unit("days")),
            ("Time [min]", unit("min")),
            ("time_h", unit("h")),
            ("time in hours", unit("hours")),
            ("datetime_utc", None),
        ];
        for (name, unit) in certain {
            assert_eq!(rank_and_unit(name), Some((false, unit)), "{name}");
        }
        let likely = [
            ("Year", unit("years")),
            ("minutes", unit("minutes")),
            ("hour [h]", unit("h")),
            ("Age", None),
            ("age (weeks)", unit("weeks")),
            ("quarter", unit("quarters")),
        ];
        for (name, unit) in likely {
            assert_eq!(rank_and_unit(name), Some((true, unit)), "{name}");
        }
        for name in ["timer", "time_constant", "egg-ratio (days)", "(days)", "month_sales", "min"] {
            assert_eq!(rank_and_unit(name), None, "{name}");
        }
    }

    fn labels(header: &str) -> Option<TimeLabels> {
        TimeLabels::of(&header.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn headers_of_numbers_prefixes_units_and_dates_are_times() {
        let times = |header: &str| {
            let found = labels(header)?;
            Some((found.times.iter().flatten().cloned().collect::<Vec<_>>().join(" "), found.unit))
        };
        let found =
            |times: &str, unit: Option<&str>| Some((times.to_owned(), unit.map(str::to_owned)));
        assert_eq!(times("0,6,12"), found("0 6 12", None));
        assert_eq!(times("Glc,Gal0,C20,C40"), found("0 20 40", None));
        assert_eq!(times("t=-5,t=0,t=2.5"), found("-5 0 2.5", None));
        assert_eq!(times("0 min,20 min,40 min"), found("0 20 40", Some("min")));
        assert_eq!(times("2020-01-01,2020-02-01,2020-03-01").unwrap().1, None);
        for none in ["a,b,c", "1,2", "20,10,0", "C20_1,C20_2,C40_1", "x1,y,z,w"] {
            assert_eq!(labels(none), None, "{none}");
        }
    }
}
