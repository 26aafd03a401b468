//! How many rows the variables take to change, and what can be seen at that pace: arrows, or links alone.

use driftgraph_core::{ObservedSeries, SeriesSet};

use super::sampling::Coarseness;

/// With fewer pairs of neighbouring rows the pace is not known well enough to advise.
const FEWEST_ROWS: usize = 50;
/// Most rows between which changes are looked at.
const MOST_ROWS: usize = 100;
/// Rows per deviation from which on direction is left in how one row follows from another: an oscillation has more than
/// one row in each of its turns then.
const ARROWS: f64 = 1.5;
/// Rows per deviation below which next to nothing is left of the row before.
const LINKS: f64 = 0.6;
/// Share of what the row before leaves open that other variables of the same row explain, from which on directions are
/// in doubt: it is from there that a fit tries effects within a step.
const TOGETHER: f64 = 0.1;

/// How fast the variables change, counted in rows.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pace {
    /// Rows in which the variable in the middle, or of two in the middle the faster one, changes by one deviation.
    pub rows: f64,
    /// Whether it is more than that: no series is long enough to see more.
    pub is_more: bool,
    /// What that means for a graph, in one sentence.
    pub advice: String,
}

impl Pace {
    /// The pace of series of at least fifty pairs of neighbouring rows; `None` where they are fewer, or nothing moves.
    ///
    /// For every variable the mean squared difference of rows so far apart, in units of its variance within series,
    /// which grows from 0 to 2. A variable changes by a deviation where it is 1; between rows it grows evenly.
    pub fn of(data: &SeriesSet) -> Option<Self> {
        let n_pairs: usize =
            data.series().iter().map(|series| series.n_observations().saturating_sub(1)).sum();
        if n_pairs < FEWEST_ROWS {
            return None;
        }
        let longest = data.series().iter().map(ObservedSeries::n_observations).max()?;
        let most = (longest / 2).clamp(1, MOST_ROWS);
        let mut all: Vec<f64> =
            (0..data.n_variables()).filter_map(|idx| rows_of(data, idx, most)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let rows = *all.get(all.len().checked_sub(1)? / 2)?;
        let is_more = rows.is_infinite();
        let rows = if is_more { most as f64 } else { rows };
        Some(Self { rows, is_more, advice: String::new() }.with(&Reservations::default()))
    }

    /// The same, with advice that keeps to what else is known.
    #[must_use]
    pub(super) fn with(self, known: &Reservations<'_>) -> Self {
        let once = match (known.without_season, known.without_lines) {
            (false, false) => "",
            (true, false) => ", once the season is taken out",
            (false, true) => ", once straight lines are taken out",
            (true, true) => ", once the season and straight lines are taken out",
        };
        let advice = format!(
            "your variables change by one deviation in {}{once}: {}",
            self.time(),
            known.meaning(self.rows)
        );
        Self { advice, ..self }
    }

    fn time(&self) -> String {
        let rows = self.rows;
        if self.is_more {
            format!("more than {rows:.0} rows")
        } else if rows < LINKS {
            "half a row".to_owned()
        } else if rows < 1.0 {
            "less than a row".to_owned()
        } else if rows < 1.5 {
            "about a row".to_owned()
        } else {
            format!("about {rows:.0} rows")
        }
    }
}

/// What keeps a pace from meaning what it would mean alone.
#[derive(Debug, Default)]
pub(super) struct Reservations<'a> {
    /// Whether the pace is that of what a season leaves.
    pub(super) without_season: bool,
    /// Whether it is that of what straight lines leave.
    pub(super) without_lines: bool,
    pub(super) coarseness: Option<&'a Coarseness>,
    pub(super) n_variables: usize,
    /// Of what the row before leaves open, the share that other variables of the same row explain.
    pub(super) share_of_same_row: Option<f64>,
    /// Whether anything at all was warned of.
    pub(super) has_warnings: bool,
}

impl Reservations<'_> {
    /// What a pace means for a graph. That rows are close enough is promised of rows alone, and of nothing that a
    /// warning takes back.
    fn meaning(&self, rows: f64) -> String {
        let n_moving = match self.coarseness {
            Some(Coarseness::LikeNoise) => 0,
            Some(Coarseness::ToAndFro(variables)) => self.n_variables - variables.len(),
            _ => usize::MAX,
        };
        if n_moving < 2 {
            return "rows are too far apart to see directions, as the warning about them says"
                .to_owned();
        }
        if rows < LINKS {
            return "only links, unless products of variables explain the data (a fit looks for them); sample faster, or at \
                    irregular times"
                .to_owned();
        }
        if rows < ARROWS {
            return "directions are hard to see and links surer, unless products of variables explain the data (a fit looks \
                    for them)"
                .to_owned();
        }
        let among =
            if n_moving == usize::MAX { "" } else { " among those that do not jump to and fro" };
        let together = self.share_of_same_row.filter(|share| *share >= TOGETHER).map(|share| {
            format!(
                ", but {:.0} % of what the row before leaves open is shared with other variables of the same row, in which no \
                 direction can be seen unless products of variables explain it (a fit looks for them)",
                100.0 * share
            )
        });
        let warned = if self.has_warnings { "; mind the warnings" } else { "" };
        format!(
            "rows are close enough to see directions{among}{}{warned}",
            together.unwrap_or_default()
        )
    }
}

/// Rows in which one variable changes by a deviation; infinite where it does not within `most`.
fn rows_of(data: &SeriesSet, variable: usize, most: usize) -> Option<f64> {
    let (mut square, mut n) = (0.0, 0.0);
    for series in data.series() {
        let values = || (0..series.n_observations()).filter_map(|row| series.value(row, variable));
        let count = values().count() as f64;
        if count > 1.0 {
            let mean = values().sum::<f64>() / count;
            square += values().map(|value| (value - mean).powi(2)).sum::<f64>();
            n += count - 1.0;
        }
    }
    let variance = square / n;
    if !(variance > 0.0 && variance.is_finite()) {
        return None;
    }
    let mut before = 0.0;
    for apart in 1..=most {
        let Some(change) = mean_square_change(data, variable, apart) else { continue };
        let change = change / variance;
        if change >= 1.0 {
            let missing = (1.0 - before) / (change - before);
            return Some((apart - 1) as f64 + missing);
        }
        before = change;
    }
    Some(f64::INFINITY)
}

/// Mean squared difference of rows so many rows apart.
fn mean_square_change(data: &SeriesSet, variable: usize, apart: usize) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for series in data.series() {
        for row in apart..series.n_observations() {
            let pair = (series.value(row - apart, variable), series.value(row, variable));
            if let (Some(earlier), Some(later)) = pair {
                sum += (later - earlier).powi(2);
                n += 1.0;
            }
        }
    }
    (n > 0.0).then(|| sum / n)
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::super::tests::table;
    use super::*;

    /// Noise that remembers a share of the row before.
    fn memory(share: f64, n: usize) -> Vec<f64> {
        let mut random = RandomStream::new(1000, Purpose::MeasurementNoise, 1);
        let mut last = 0.0;
        let next = |_| {
            last = share * last + random.normal();
            last
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn the_pace_of_memory_is_its_closed_form() {
        // 2 (1 - 0.8^k) = 1 at k = ln 2 / -ln 0.8 = 3.1.
        let slow = Pace::of(&table(&[memory(0.8, 4000)])).unwrap();
        assert!((slow.rows - 3.1).abs() < 0.3, "{slow:?}");
        assert_eq!(
            slow.advice,
            "your variables change by one deviation in about 3 rows: rows are close enough to see directions"
        );
        // Without memory the first difference has twice the variance.
        let noise = Pace::of(&table(&[memory(0.0, 4000)])).unwrap();
        assert!((noise.rows - 0.5).abs() < 0.03, "{noise:?}");
        assert!(noise.advice.contains("in half a row: only links"), "{noise:?}");
        // 2 (1 - 0.3) = 1.4.
        let between = Pace::of(&table(&[memory(0.3, 4000)])).unwrap();
        assert!((between.rows - 1.0 / 1.4).abs() < 0.05, "{between:?}");
        assert!(between.advice.contains("less than a row: directions are hard to see"));
    }

    #[test]
    fn of_two_variables_the_faster_one_sets_the_pace() {
        let slow: Vec<f64> = (0..4000).map(f64::from).collect();
        let pace = Pace::of(&table(&[slow, memory(0.8, 4000)])).unwrap();
        assert!((pace.rows - 3.1).abs() < 0.3, "{pace:?}");
    }

    #[test]
    fn nothing_is_promised_that_a_warning_takes_back() {
        let advice = |known: &Reservations<'_>| {
            Pace { rows: 7.0, is_more: false, advice: String::new() }.with(known).advice
        };
        let coarse = |coarseness: &Coarseness, n_variables: usize| {
            let coarseness = Some(coarseness);
            advice(&Reservations {
                coarseness,
                n_variables,
                has_warnings: true,
                ..Reservations::default()
            })
        };
        let (noise, jumps) = (Coarseness::LikeNoise, Coarseness::ToAndFro(vec![1]));
        for found in [coarse(&noise, 5), coarse(&jumps, 2)] {
            assert!(found.contains("too far apart to see directions"), "{found}");
        }
        assert_eq!(
            coarse(&jumps, 3),
            "your variables change by one deviation in about 7 rows: rows are close enough to see directions among those \
             that do not jump to and fro; mind the warnings"
        );
        let together = Reservations { share_of_same_row: Some(0.48), ..Reservations::default() };
        assert!(advice(&together).contains("directions, but 48 % of what the row before"));
        let calendar = Reservations { without_season: true, ..Reservations::default() };
        assert!(advice(&calendar).contains("about 7 rows, once the season is taken out: rows"));
    }

    #[test]
    fn few_rows_and_what_never_moves_get_no_advice() {
        assert_eq!(Pace::of(&table(&[memory(0.8, 30)])), None);
        assert_eq!(Pace::of(&table(&[vec![1.0; 80]])), None);
        let line = (0..80).map(f64::from).collect();
        let pace = Pace::of(&table(&[line])).unwrap();
        // A deviation of 80 even steps is 23 of them.
        assert!((pace.rows - 23.0).abs() < 1.0 && !pace.is_more, "{pace:?}");
    }
}
