//! Gaps between complete rows: in which unit of time, with how many sub-steps, and which are short enough.

use crate::SeriesSet;

/// Fewest and most sub-steps of a gap: one would be a regression on rows, more cost more and decide nothing.
const N_STEPS: [usize; 2] = [2, 12];
/// Durations that differ by less than this share are the same.
const SAME: f64 = 1e-6;
/// Gaps in a group for which the size of increments is measured, at least.
const GROUP: usize = 30;

/// What lies between two complete rows of a series that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The row at its beginning, standardised.
    pub before: Vec<f64>,
    /// The row at its end, standardised.
    pub after: Vec<f64>,
    /// Its duration, in units in which the data vary by about one deviation.
    pub duration: f64,
    /// Number of sub-steps.
    pub n_steps: usize,
    /// Position of its series.
    pub series: usize,
    /// Its first and its last row in the series.
    pub rows: [usize; 2],
}

impl Gap {
    /// Length of a sub-step.
    pub fn step(&self) -> f64 {
        self.duration / self.n_steps as f64
    }

    /// The straight line between its rows, `[step + 1, variable]`.
    pub fn straight_line(&self) -> Vec<f64> {
        let share = |step: usize| step as f64 / self.n_steps as f64;
        (0..=self.n_steps)
            .flat_map(|step| {
                let pairs = self.before.iter().zip(&self.after);
                pairs.map(move |(a, b)| a * (1.0 - share(step)) + b * share(step))
            })
            .collect()
    }
}

/// Which gaps are used, and how finely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapRules {
    /// How far, in deviations, the fastest variable usually goes in a sub-step.
    pub sub_step: f64,
    /// Longest gap that is used while shorter ones are enough, in units in which the data vary by one deviation.
    pub largest_gap: f64,
    /// Gaps that are enough.
    pub n_enough: usize,
}

/// The gaps of some series that a fit uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaps {
    /// Those used, in the order of series and times.
    pub used: Vec<Gap>,
    /// The user's time per unit of time: in it the data vary by about one deviation.
    pub unit: f64,
    /// Gaps that were too long.
    pub n_left_out: usize,
    /// The longest used, in units.
    pub longest: f64,
    /// How long a sub-step may be, in units.
    pub sub_step: f64,
}

impl Gaps {
    /// The gaps of standardised series.
    ///
    /// All that are not longer than the largest allowed; where these are not enough, the shortest that are.
    #[cfg(test)]
    pub fn new(standard: &SeriesSet, rules: GapRules) -> Self {
        Self::bending_within(standard, rules, &vec![1.0; standard.n_variables()])
    }

    /// The same where terms bend over less than a deviation of some variables: what a deviation is to the others.
    pub fn bending_within(standard: &SeriesSet, rules: GapRules, reaches: &[f64]) -> Self {
        let all = all_gaps(standard);
        let sizes = Increments::new(&all, reaches);
        let mut durations: Vec<f64> = all.iter().map(|gap| gap.duration).collect();
        durations.sort_by(f64::total_cmp);
        let enough = durations.get(rules.n_enough.min(all.len()).saturating_sub(1));
        let enough = enough.copied().unwrap_or(0.0);
        let limit = (rules.largest_gap * sizes.unit).max(enough) * (1.0 + SAME);
        let n_all = all.len();
        let sub_step = rules.sub_step / sizes.fastest;
        let used: Vec<Gap> = (all.into_iter())
            .filter(|gap| gap.duration <= limit)
            .map(|gap| {
                let duration = gap.duration / sizes.unit;
                let n_steps = (duration / sub_step).ceil() as usize;
                Gap { duration, n_steps: n_steps.clamp(N_STEPS[0], N_STEPS[1]), ..gap }
            })
            .collect();
        let longest = used.iter().map(|gap| gap.duration).fold(0.0, f64::max);
        Self { n_left_out: n_all - used.len(), used, unit: sizes.unit, longest, sub_step }
    }
}

impl Gaps {
    /// All gaps of standardised series in a known unit of time, in sub-steps of `rules`, that are in this unit.
    pub fn in_units(standard: &SeriesSet, unit: f64, rules: GapRules) -> Vec<Gap> {
        let scaled = |gap: Gap| {
            let duration = gap.duration / unit;
            let n_steps = (duration / rules.sub_step).ceil() as usize;
            Gap { duration, n_steps: n_steps.clamp(N_STEPS[0], 2 * N_STEPS[1]), ..gap }
        };
        let all = all_gaps(standard).into_iter().map(scaled);
        all.filter(|gap| gap.duration <= rules.largest_gap).collect()
    }
}

/// Gaps between complete rows, in the user's time.
fn all_gaps(standard: &SeriesSet) -> Vec<Gap> {
    let mut all = Vec::new();
    for (number, series) in standard.series().iter().enumerate() {
        let is_complete = |&row: &usize| series.row(row).iter().all(|value| !value.is_nan());
        let complete: Vec<usize> = (0..series.n_observations()).filter(is_complete).collect();
        for pair in complete.windows(2) {
            let duration = series.times()[pair[1]] - series.times()[pair[0]];
            let (before, after) = (series.row(pair[0]).to_vec(), series.row(pair[1]).to_vec());
            let rows = [pair[0], pair[1]];
            all.push(Gap { before, after, duration, n_steps: 0, series: number, rows });
        }
    }
    all
}

/// How far the data go in how much time.
struct Increments {
    /// The time in which they go one deviation.
    unit: f64,
    /// How much faster than on average the fastest variable is.
    fastest: f64,
}

impl Increments {
    /// From groups of gaps of about the same duration: where their increments first reach one deviation, or would if they
    /// grew on from the longest.
    fn new(gaps: &[Gap], reaches: &[f64]) -> Self {
        let Some(first) = gaps.first() else { return Self { unit: 1.0, fastest: 1.0 } };
        let mut order: Vec<usize> = (0..gaps.len()).collect();
        order.sort_by(|&a, &b| gaps[a].duration.total_cmp(&gaps[b].duration));
        let size = GROUP.max(gaps.len() / 20).min(gaps.len());
        let mut groups: Vec<[f64; 2]> = Vec::new();
        for group in order.chunks(size) {
            let mean =
                group.iter().map(|&idx| gaps[idx].duration).sum::<f64>() / group.len() as f64;
            let squares = group.iter().map(|&idx| mean_square(&gaps[idx], reaches)).sum::<f64>();
            let root = (squares / group.len() as f64).sqrt();
            match groups.last_mut() {
                // Equal durations are one group, weighted alike: groups are of one size but the last.
                Some(last) if mean <= last[0] * (1.0 + SAME) => {
                    last[1] = (0.5 * (last[1] * last[1] + root * root)).sqrt();
                }
                _ => groups.push([mean, root]),
            }
        }
        let n = first.before.len();
        let by_variable = (0..n).map(|variable| {
            let increment =
                |gap: &Gap| (gap.after[variable] - gap.before[variable]) / reaches[variable];
            gaps.iter().map(|gap| increment(gap).powi(2)).sum::<f64>()
        });
        let by_variable: Vec<f64> = by_variable.collect();
        let mean = by_variable.iter().sum::<f64>() / n as f64;
        let largest = by_variable.iter().copied().fold(0.0, f64::max);
        let fastest = if mean > 0.0 { (largest / mean).sqrt() } else { 1.0 };
        Self { unit: crossing(&groups), fastest }
    }
}

fn mean_square(gap: &Gap, reaches: &[f64]) -> f64 {
    let ends = gap.before.iter().zip(&gap.after).zip(reaches);
    let squares = ends.map(|((a, b), reach)| ((b - a) / reach).powi(2));
    squares.sum::<f64>() / gap.before.len() as f64
}

/// The duration at which increments reach one deviation.
fn crossing(groups: &[[f64; 2]]) -> f64 {
    let mut before = [0.0, 0.0];
    for &group in groups {
        if group[1] >= 1.0 {
            let share = (1.0 - before[1]) / (group[1] - before[1]);
            return before[0] + share * (group[0] - before[0]);
        }
        if group[1] > before[1] {
            before = group;
        }
    }
    let last = groups.last().copied().unwrap_or([1.0, 1.0]);
    if last[1] > 0.0 { last[0] / last[1] } else { last[0] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;

    fn rules() -> GapRules {
        GapRules { sub_step: 0.17, largest_gap: 1.3, n_enough: 2 }
    }

    fn set(times: &[f64], values: &[f64]) -> SeriesSet {
        let series = ObservedSeries::new("s", 1, times.to_vec(), values.to_vec()).unwrap();
        SeriesSet::new(vec!["x".into()], vec![series]).unwrap()
    }

    #[test]
    fn a_gap_spans_rows_that_are_not_complete() {
        let set = set(&[0.0, 1.0, 2.0, 3.0], &[0.0, f64::NAN, 0.5, 0.0]);
        let gaps = Gaps::new(&set, rules());
        assert_eq!(gaps.used.len(), 2);
        assert!((gaps.used[0].duration / gaps.used[1].duration - 2.0).abs() < 1e-12);
        assert_eq!(gaps.used[0].straight_line()[0], 0.0);
        assert_eq!(gaps.used[0].straight_line().last(), Some(&0.5));
    }

    #[test]
    fn regular_rows_have_the_usual_increment_as_their_duration() {
        let gaps = Gaps::new(&set(&[0.0, 2.0, 4.0], &[0.0, 0.5, 0.0]), rules());
        // The whole increment is 0.5 deviations in 2 units of time: one deviation in 4.
        assert_eq!([gaps.unit, gaps.longest], [4.0, 0.5]);
        // 0.5 / 0.17 is a little below 3.
        assert_eq!(gaps.used[0].n_steps, 3);
    }

    #[test]
    fn long_gaps_are_left_out_unless_the_short_ones_are_too_few() {
        let times: Vec<f64> =
            (0..100).map(|row| f64::from(row / 2) * 5.0 + f64::from(row % 2)).collect();
        // 0.4 deviations in a gap of 1, about 1.8 in one of 4: one deviation in a little more than 2.
        let values: Vec<f64> = (0..100)
            .map(|row| f64::from(row % 2) * 0.4 + if row % 4 < 2 { -0.9 } else { 0.9 })
            .collect();
        let gaps = Gaps::new(&set(&times, &values), rules());
        assert_eq!([gaps.used.len(), gaps.n_left_out], [50, 49]);
        let all = Gaps::new(&set(&times, &values), GapRules { n_enough: 80, ..rules() });
        assert_eq!(all.n_left_out, 0);
    }
}
