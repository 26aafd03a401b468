//! Dates along an axis: ticks where years, months, days or hours begin.

/// How numbers of an axis count time; `assets/charts.js` makes the same ticks.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Calendar {
    /// The instant of 0, in seconds since 1970.
    pub origin: f64,
    /// Seconds per unit.
    pub unit: f64,
}

/// At most so many ticks.
const MOST_TICKS: usize = 6;
const DAY: f64 = 86_400.0;

/// From one tick to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Seconds(f64),
    Months(i64),
}

const STEPS: [Step; 31] = [
    Step::Seconds(1.0),
    Step::Seconds(2.0),
    Step::Seconds(5.0),
    Step::Seconds(10.0),
    Step::Seconds(30.0),
    Step::Seconds(60.0),
    Step::Seconds(120.0),
    Step::Seconds(300.0),
    Step::Seconds(600.0),
    Step::Seconds(1_800.0),
    Step::Seconds(3_600.0),
    Step::Seconds(7_200.0),
    Step::Seconds(10_800.0),
    Step::Seconds(21_600.0),
    Step::Seconds(43_200.0),
    Step::Seconds(DAY),
    Step::Seconds(2.0 * DAY),
    Step::Seconds(7.0 * DAY),
    Step::Months(1),
    Step::Months(2),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(24),
    Step::Months(60),
    Step::Months(120),
    Step::Months(240),
    Step::Months(600),
    Step::Months(1_200),
    Step::Months(6_000),
    Step::Months(12_000),
];

impl Calendar {
    /// Beginnings of equal spans between two numbers, with their texts.
    pub(crate) fn ticks(&self, low: f64, high: f64) -> Vec<(f64, String)> {
        let [from, to] = [low, high].map(|number| self.origin + number * self.unit);
        let ticks = STEPS.iter().find_map(|&step| {
            let found = instants(step, from, to);
            (found.len() <= MOST_TICKS).then_some((step, found))
        });
        let (step, found) = ticks.unwrap_or((Step::Months(12), Vec::new()));
        let number = |instant: f64| (instant - self.origin) / self.unit;
        found.into_iter().map(|instant| (number(instant), tick_text(instant, step))).collect()
    }

    /// The date of a number: the day, and the time of day where it is not midnight.
    pub(crate) fn text(&self, number: f64) -> String {
        let instant = (self.origin + number * self.unit).round();
        let rest = instant.rem_euclid(DAY);
        if rest == 0.0 {
            day_text(instant)
        } else {
            format!("{} {}", day_text(instant), clock_text(rest, 60.0))
        }
    }
}

/// All multiples of a step inside; one more than wanted where there are too many.
fn instants(step: Step, from: f64, to: f64) -> Vec<f64> {
    let limit = MOST_TICKS + 1;
    match step {
        Step::Seconds(seconds) => {
            let first = (from / seconds).ceil();
            let all = (0..limit).map(|idx| (first + idx as f64) * seconds);
            all.take_while(|instant| *instant <= to).collect()
        }
        Step::Months(months) => {
            let (year, month, _) = civil((from / DAY).floor() as i64);
            let first = (12 * year + month - 1).div_euclid(months);
            let instant = |idx: i64| {
                let count = (first + idx) * months;
                days_before(count.div_euclid(12), count.rem_euclid(12) + 1) as f64 * DAY
            };
            let all = (0..=limit as i64).map(instant).skip_while(|instant| *instant < from);
            all.take(limit).take_while(|instant| *instant <= to).collect()
        }
    }
}

fn tick_text(instant: f64, step: Step) -> String {
    let (year, month, _) = civil((instant / DAY).floor() as i64);
    match step {
        Step::Months(months) if months % 12 == 0 => year.to_string(),
        Step::Months(_) => format!("{year}-{month:02}"),
        Step::Seconds(seconds) if seconds >= DAY => day_text(instant),
        Step::Seconds(seconds) => match instant.rem_euclid(DAY) {
            // The day where it begins, so that the times after it have one.
            0.0 => day_text(instant),
            rest => clock_text(rest, seconds),
        },
    }
}

fn day_text(instant: f64) -> String {
    let (year, month, day) = civil((instant / DAY).floor() as i64);
    format!("{year}-{month:02}-{day:02}")
}

fn clock_text(rest: f64, step: f64) -> String {
    let seconds = rest as i64;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    if step < 60.0 {
        format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
    } else {
        format!("{hours:02}:{minutes:02}")
    }
}

/// Year, month and day of a day since 1970 (Hinnant 2013, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + 400 * era + i64::from(month <= 2), month, day)
}

/// Days from 1970 to the first of a month.
fn days_before(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days since 1959-01-01, which is 4018 days before 1970.
    const CALENDAR: Calendar = Calendar { origin: -4_018.0 * DAY, unit: DAY };

    fn texts(low: f64, high: f64) -> Vec<String> {
        CALENDAR.ticks(low, high).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_stand_where_years_months_days_and_hours_begin() {
        assert_eq!(texts(0.0, 18_445.0), ["1960", "1970", "1980", "1990", "2000"]);
        assert_eq!(texts(0.0, 300.0), ["1959-01", "1959-03", "1959-05", "1959-07", "1959-09"]);
        assert_eq!(texts(0.5, 4.5), ["1959-01-02", "1959-01-03", "1959-01-04", "1959-01-05"]);
        assert_eq!(texts(0.9, 1.6), ["1959-01-02", "03:00", "06:00", "09:00", "12:00"]);
        // 1960 was a leap year: 365 days after the origin it began.
        assert_eq!(CALENDAR.ticks(300.0, 800.0)[1].0, 365.0 + 91.0);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-4_018), (1959, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        for (year, month) in [(1959, 1), (2000, 3), (1899, 12), (-1, 2)] {
            assert_eq!(civil(days_before(year, month)), (year, month, 1));
        }
        assert_eq!(CALENDAR.text(31.0), "1959-02-01");
        assert_eq!(CALENDAR.text(0.25), "1959-01-01 06:00");
    }
}
