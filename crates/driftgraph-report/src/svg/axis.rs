//! An axis that holds all its numbers, with ticks at round ones.

use super::calendar::Calendar;

/// About so many ticks.
const N_TICKS: f64 = 5.0;

/// A range of numbers and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// Ends; those of the logarithm where the axis is logarithmic.
    low: f64,
    high: f64,
    step: f64,
    is_log: bool,
    /// What dates the numbers are, where they are dates.
    calendar: Option<Calendar>,
}

impl Axis {
    /// Around some finite numbers; with a little room at both ends where asked.
    pub(crate) fn around(numbers: impl Iterator<Item = f64>, with_room: bool) -> Self {
        let (mut low, mut high) = numbers
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if !low.is_finite() || !high.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= 1e-12 * low.abs().max(high.abs()) {
            let half = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
            (low, high) = (low - half, high + half);
        }
        let room = if with_room { 0.06 * (high - low) } else { 0.0 };
        let (low, high) = (low - room, high + room);
        let step = round_step((high - low) / N_TICKS);
        Self { low, high, step, is_log: false, calendar: None }
    }

    /// The same for positive numbers, with equal lengths for equal ratios.
    pub(crate) fn around_log(numbers: impl Iterator<Item = f64>, with_room: bool) -> Self {
        Self { is_log: true, ..Self::around(numbers.map(libm::log10), with_room) }
    }

    /// The same with dates at its ticks.
    pub(crate) fn with_calendar(self, calendar: Option<Calendar>) -> Self {
        Self { calendar, ..self }
    }

    /// A number as it is measured along the axis.
    fn measured(&self, number: f64) -> f64 {
        if self.is_log { libm::log10(number) } else { number }
    }

    /// Where a number lies: 0 at the low end, 1 at the high one.
    pub(crate) fn share(&self, number: f64) -> f64 {
        (self.measured(number) - self.low) / (self.high - self.low)
    }

    pub(crate) fn holds(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&self.measured(number))
    }

    pub(crate) fn clamp(&self, number: f64) -> f64 {
        let clamped = self.measured(number).clamp(self.low, self.high);
        if self.is_log { libm::pow(10.0, clamped) } else { clamped }
    }

    /// Round numbers inside, with their texts.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        if self.is_log {
            return self.log_ticks();
        }
        if let Some(calendar) = self.calendar {
            return calendar.ticks(self.low, self.high);
        }
        let first = (self.low / self.step).ceil();
        let mut ticks = Vec::new();
        let mut idx = 0.0;
        while ticks.len() < 12 {
            let tick = (first + idx) * self.step;
            if tick > self.high + 1e-9 * self.step {
                break;
            }
            ticks.push((tick, self.text(tick)));
            idx += 1.0;
        }
        ticks
    }

    /// Powers of ten; 1, 2 and 5 times them where there are few.
    fn log_ticks(&self) -> Vec<(f64, String)> {
        let powers = libm::floor(self.low) as i32..=libm::ceil(self.high) as i32;
        let factors: &[f64] = if self.high - self.low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let ticks = powers.flat_map(|power| {
            factors.iter().map(move |factor| factor * libm::pow(10.0, f64::from(power)))
        });
        let slack = 1e-9 * (self.high - self.low);
        let inside =
            |tick: &f64| (self.low - slack..=self.high + slack).contains(&self.measured(*tick));
        let text = |tick: f64| match tick {
            0.001..100_000.0 => format!("{tick}"),
            _ => format!("{tick:e}"),
        };
        ticks.filter(inside).map(|tick| (tick, text(tick))).collect()
    }

    fn text(&self, tick: f64) -> String {
        let size = self.low.abs().max(self.high.abs());
        if !(1e-3..1e6).contains(&size) {
            let text = format!("{tick:.1e}");
            return text.replace(".0e", "e");
        }
        let digits = (-libm::floor(libm::log10(self.step) + 1e-9)).max(0.0) as usize;
        let text = format!("{tick:.digits$}");
        if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
            return "0".to_owned();
        }
        text
    }
}

/// 1, 2 or 5 times a power of ten, not below the given step.
fn round_step(step: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(step)));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64) -> Vec<String> {
        let axis = Axis::around([low, high].into_iter(), false);
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(texts(0.0, 100.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(texts(-0.3, 0.9), ["0", "0.5"]);
        assert_eq!(texts(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(0.0, 0.004), ["0", "0.001", "0.002", "0.003", "0.004"]);
        assert_eq!(texts(0.0, 4e9), ["0e0", "1e9", "2e9", "3e9", "4e9"]);
    }

    #[test]
    fn logarithmic_axes_give_equal_lengths_to_equal_ratios() {
        let axis = Axis::around_log([1.0, 10_000.0].into_iter(), false);
        assert!((axis.share(100.0) - 0.5).abs() < 1e-12);
        let texts = |axis: &Axis| -> Vec<String> {
            axis.ticks().into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(&axis), ["1", "10", "100", "1000", "10000"]);
        let short = Axis::around_log([0.05, 1.0].into_iter(), false);
        assert_eq!(texts(&short), ["0.05", "0.1", "0.2", "0.5", "1"]);
        assert!(short.holds(0.3) && !short.holds(2.0));
        assert!((short.clamp(3.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_number_has_room_around_it() {
        let axis = Axis::around([5.0].into_iter(), true);
        assert!(axis.share(5.0) > 0.4 && axis.share(5.0) < 0.6);
        assert!(Axis::around(std::iter::empty(), true).holds(0.5));
    }
}
