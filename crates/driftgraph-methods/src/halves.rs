//! Edges that come from one half of the data only: told by two quick regressions, not by fitting twice.
//!
//! In each half the rates of change are regressed on the levels. A probable edge is told of where its coefficients in
//! the two halves differ by far more than their standard errors, and one of the halves alone would show it.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{EdgeKind, LearnedEdge};
use faer::Mat;

use crate::levels::{Step, filled_levels, steps};
use crate::linear_algebra::Eigen;

/// Edges below are not worth a warning.
const PROBABLE: f64 = 0.5;
/// Steps of a half for each coefficient; with fewer, standard errors say little.
const STEPS_PER_COEFFICIENT: usize = 6;
/// Steps of a half at least.
const FEWEST_STEPS: usize = 25;
/// More variables cost more than a warning is worth.
const MOST_VARIABLES: usize = 60;
/// Standard errors by which the difference of the halves must exceed nothing, for one edge and for each tenfold more.
///
/// Of 1,000 tables of one law at most 7 are warned of wrongly, for 2 to 10 variables, one series or eight, weak memory or
/// strong; of cycles of predator and prey, none.
const CLEAR: f64 = 3.5;
const CLEAR_PER_DECADE: f64 = 0.6;
/// Standard errors that show an edge in one half, and that do not.
const SEEN: f64 = 3.0;
const UNSEEN: f64 = 1.5;
/// Edges named in the sentence.
const MOST_NAMED: usize = 4;

/// A sentence about edges that one half of the data speaks for and the other does not.
pub(crate) fn remark(data: &SeriesSet, edges: &[LearnedEdge]) -> Option<String> {
    let d = data.n_variables();
    let is_asked = |edge: &&LearnedEdge| {
        edge.source != edge.target
            && edge.probability.is_some_and(|p| p >= PROBABLE)
            && edge.kind.is_none_or(|kind| kind != EdgeKind::WithinStep)
    };
    let asked: Vec<&LearnedEdge> = edges.iter().filter(is_asked).collect();
    if asked.is_empty() || d > MOST_VARIABLES {
        return None;
    }
    let levels = filled_levels(data);
    let all = steps(&levels);
    let by_series = data.n_series() >= SeriesSet::MIN_HELD_OUT_WHOLE;
    let [first, second] = halves(&all, data.n_series(), by_series).map(|half| Half::new(&half, d));
    let seen = lone_edges(&asked, [&first?, &second?]);
    let text = |&(source, target): &(usize, usize)| {
        format!("`{} -> {}`", data.variables()[source], data.variables()[target])
    };
    let seen = seen.map(|edges| edges.iter().map(text).collect::<Vec<_>>());
    sentence(&seen, if by_series { "series" } else { "rows" })
}

/// Edges that one of the halves shows and the other does not, for each half.
fn lone_edges(asked: &[&LearnedEdge], [first, second]: [&Half; 2]) -> [Vec<(usize, usize)>; 2] {
    let clear = CLEAR + CLEAR_PER_DECADE * (asked.len() as f64).log10();
    let is_lone = |own: &Slope, other: &Slope| {
        own.ratio().abs() > SEEN && own.value.signum() * other.ratio() < UNSEEN
    };
    let mut seen = [Vec::new(), Vec::new()];
    for edge in asked {
        let ends = (edge.source, edge.target);
        let (a, b) = (first.slope(ends.0, ends.1), second.slope(ends.0, ends.1));
        let gap = (a.value - b.value) / a.error.hypot(b.error);
        if gap.abs() < clear {
            continue;
        }
        if is_lone(&a, &b) {
            seen[0].push(ends);
        } else if is_lone(&b, &a) {
            seen[1].push(ends);
        }
    }
    seen
}

/// Steps of either half: whole series in file order, or the rows of each series up to its middle.
fn halves<'a>(all: &'a [Step<'a>], n_series: usize, by_series: bool) -> [Vec<&'a Step<'a>>; 2] {
    let mut out = [Vec::new(), Vec::new()];
    for series in 0..n_series {
        let own: Vec<&Step<'_>> = all.iter().filter(|step| step.series_idx == series).collect();
        let n = own.len();
        for (place, step) in own.into_iter().enumerate() {
            let is_second = if by_series { 2 * series >= n_series } else { 2 * place >= n };
            out[usize::from(is_second)].push(step);
        }
    }
    out
}

/// A coefficient with its standard error.
struct Slope {
    value: f64,
    error: f64,
}

impl Slope {
    fn ratio(&self) -> f64 {
        if self.error > 0.0 { self.value / self.error } else { 0.0 }
    }
}

/// Rates of change on levels in one half.
struct Half {
    /// `[row, source]`, the last column for the offset.
    sources: Mat<f64>,
    /// `[source, target]`.
    coefficients: Mat<f64>,
    /// What is left of the rates, `[row, target]`.
    rest: Mat<f64>,
    /// (XᵀX)⁻¹.
    inverse: Mat<f64>,
}

impl Half {
    fn new(steps: &[&Step<'_>], d: usize) -> Option<Self> {
        let n = steps.len();
        if n < FEWEST_STEPS.max(STEPS_PER_COEFFICIENT * (d + 1)) {
            return None;
        }
        let mean = steps.iter().map(|step| step.duration / n as f64).sum::<f64>();
        // Over a step of duration dt the noise of a rate has the variance 1/dt: all rows alike again.
        let root = |row: usize| (steps[row].duration / mean).sqrt();
        let sources = Mat::from_fn(n, d + 1, |row, column| {
            root(row) * steps[row].before.get(column).copied().unwrap_or(1.0)
        });
        let rates = Mat::from_fn(n, d, |row, column| {
            let change = steps[row].after[column] - steps[row].before[column];
            change * mean / steps[row].duration * root(row)
        });
        let squares = sources.transpose() * &sources;
        let eigen = Eigen::new(squares.as_ref()).ok()?;
        // Variables that one half cannot tell apart get equal shares.
        let largest = eigen.values.iter().copied().fold(0.0, f64::max);
        let inverse = eigen.with_values(|value| 1.0 / (value + 1e-8 * largest));
        let coefficients = &inverse * (sources.transpose() * &rates);
        let rest = &rates - &sources * &coefficients;
        Some(Self { sources, coefficients, rest, inverse })
    }

    /// The effect of a source on a target.
    ///
    /// Neighbouring rows share their noise where there is measurement noise, so that errors are those of Newey and
    /// West (1987, doi:10.2307/1913610) with one row of memory.
    fn slope(&self, source: usize, target: usize) -> Slope {
        let (n, k) = (self.sources.nrows(), self.sources.ncols());
        let weight = |row: usize| {
            let along: f64 =
                (0..k).map(|idx| self.inverse[(source, idx)] * self.sources[(row, idx)]).sum();
            along * self.rest[(row, target)]
        };
        let scores: Vec<f64> = (0..n).map(weight).collect();
        let own: f64 = scores.iter().map(|score| score * score).sum();
        let next: f64 = scores.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Coefficients use up as many rows; memory may widen an error, never narrow it.
        let variance = (own + next.max(0.0)) * n as f64 / (n - k) as f64;
        Slope { value: self.coefficients[(source, target)], error: variance.sqrt() }
    }
}

fn sentence(seen: &[Vec<String>; 2], what: &str) -> Option<String> {
    let parts = seen.iter().zip(["first", "second"]).filter(|(edges, _)| !edges.is_empty());
    let parts: Vec<String> = parts
        .map(|(edges, half)| {
            let shown = edges[..edges.len().min(MOST_NAMED)].join(", ");
            let more = match edges.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{shown}{more} in the {half} half of the {what} only")
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "warning: the halves of the data disagree: {}; what drives what may have changed, so fit each half by \
             itself before you trust it",
            parts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use driftgraph_core::ObservedSeries;
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::*;

    /// Series of so many rows and variables, made step by step from the row before, its number and Gaussian noise; every
    /// edge counts as probable.
    fn warned(
        seed: u64,
        [n_series, n_rows, d]: [usize; 3],
        next: impl Fn(usize, usize, &[f64], &[f64]) -> Vec<f64>,
    ) -> Option<String> {
        const BURN_IN: usize = 40;
        let series = (0..n_series).map(|idx| {
            let mut random = RandomStream::new(seed, Purpose::MeasurementNoise, idx as u64);
            let (mut state, mut noise) = (vec![0.5; d], vec![0.0; d]);
            let mut values = Vec::new();
            for row in 0..BURN_IN + n_rows {
                random.fill_normal(&mut noise);
                state = next(idx, row.saturating_sub(BURN_IN), &state, &noise);
                if row >= BURN_IN {
                    values.extend_from_slice(&state);
                }
            }
            let times = (0..n_rows).map(|row| row as f64).collect();
            ObservedSeries::new(format!("run {idx}"), d, times, values).unwrap()
        });
        let names = (0..d).map(|idx| format!("x{idx}")).collect();
        let data = SeriesSet::new(names, series.collect()).unwrap();
        let pairs = (0..d * d).map(|idx| LearnedEdge {
            source: idx / d,
            target: idx % d,
            probability: Some(1.0),
            ..LearnedEdge::default()
        });
        remark(&data, &pairs.collect::<Vec<_>>())
    }

    fn count(n: u64, one: impl Fn(u64) -> Option<String>) -> usize {
        (0..n).filter(|&seed| one(seed).is_some()).count()
    }

    /// A ring in which each variable drives the next one.
    fn ring(memory: f64, coupling: f64, state: &[f64], noise: &[f64]) -> Vec<f64> {
        let d = state.len();
        let one =
            |idx: usize| memory * state[idx] + coupling * state[(idx + d - 1) % d] + noise[idx];
        (0..d).map(one).collect()
    }

    #[test]
    fn data_of_one_law_are_seldom_said_to_disagree() {
        const N: u64 = 300;
        for size in [[1, 91, 2], [1, 200, 5], [1, 400, 10], [8, 40, 4]] {
            for (memory, coupling) in [(0.5, 0.3), (0.9, 0.05), (0.0, 0.0)] {
                let found =
                    count(N, |seed| warned(seed, size, |_, _, x, e| ring(memory, coupling, x, e)));
                let what = format!("series, rows and variables {size:?}, memory {memory}");
                // One table in a hundred.
                assert!(found <= 3, "{what}: {found} of {N}");
            }
        }
        // Predator and prey in logarithms: far from linear, with cycles of changing size.
        let found = count(N, |seed| {
            warned(seed, [1, 91, 2], |_, _, x, e| {
                let (prey, predator) = (x[0].clamp(-4.0, 4.0), x[1].clamp(-4.0, 4.0));
                vec![
                    prey + 0.3 * (1.0 - predator.exp()) - 0.05 * prey.exp() + 0.1 * e[0],
                    predator + 0.3 * (prey.exp() - 1.0) - 0.05 * predator + 0.1 * e[1],
                ]
            })
        });
        assert!(found <= 9, "predator and prey: {found} of {N}");
    }

    #[test]
    fn an_edge_that_ends_in_the_middle_is_told_of_with_its_half() {
        const N: u64 = 100;
        let found = |by_series: bool| {
            let size = if by_series { [8, 40, 3] } else { [1, 200, 3] };
            count(N, |seed| {
                let text = warned(seed, size, |series, row, x, e| {
                    let first = if by_series { series < 4 } else { row < 100 };
                    let coupling = if first { 0.5 } else { 0.0 };
                    vec![0.6 * x[0] + e[0], 0.6 * x[1] + coupling * x[0] + e[1], 0.6 * x[2] + e[2]]
                })?;
                let half = if by_series { "series" } else { "rows" };
                let right = format!("`x0 -> x1` in the first half of the {half} only");
                text.contains(&right).then_some(text)
            })
        };
        let counts = [found(false), found(true)];
        // Six in ten are found of an effect of half a deviation over a hundred rows: four deviations of such a share less.
        assert!(counts.iter().all(|n| *n >= 40), "{counts:?}");
    }

    #[test]
    fn few_rows_and_no_edges_say_nothing() {
        assert_eq!(warned(0, [1, 40, 2], |_, _, x, e| ring(0.5, 0.3, x, e)), None);
        let sentence =
            sentence(&[vec!["`a -> b`".into()], vec!["`c -> d`".into()]], "rows").unwrap();
        assert_eq!(
            sentence,
            "warning: the halves of the data disagree: `a -> b` in the first half of the rows only, `c -> d` in the \
             second half of the rows only; what drives what may have changed, so fit each half by itself before you \
             trust it"
        );
    }
}
