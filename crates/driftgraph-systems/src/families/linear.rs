//! Sparse linear systems, and what departs from them in one respect.

use std::collections::VecDeque;

use driftgraph_core::{ObservedSeries, SeriesSet, SignatureGraph};

use super::{Draw, FamilyMember, Size};
use crate::SystemError;
use crate::system::numbered;

/// Length of a solver step.
const STEP: f64 = 0.02;
/// Gap between rows unless the family says otherwise; decay takes about one unit of time.
const USUAL_GAP: f64 = 0.2;
/// Steps before the first row, so that series begin where the system usually is.
const N_SETTLING: usize = 500;
/// Most sources of a variable beside itself.
const MAX_PARENTS: usize = 4;

/// In which respect a system is not linear with constant noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinearFamily {
    Plain,
    MeasurementNoise,
    Coarse,
    HiddenDriver,
    Jumps,
    Season,
    Delays,
    MultiplicativeNoise,
    Threshold,
}

/// A system: weights `[source, target]`, decay included, and what bends them.
#[derive(Debug)]
struct Law {
    kind: LinearFamily,
    n_variables: usize,
    weights: Vec<f64>,
    diffusions: Vec<f64>,
    /// Steps by which each source is late.
    delays: Vec<usize>,
    /// Level below which each source does nothing.
    thresholds: Vec<f64>,
}

impl LinearFamily {
    pub(super) fn draw(self, draw: &mut Draw) -> Result<FamilyMember, SystemError> {
        let size = draw.size();
        let law = Law::random(self, size.n_variables, draw);
        let gap = match self {
            Self::Coarse => draw.one_of(&[0.6, 1.0, 2.0]),
            _ => USUAL_GAP,
        };
        let mut paths: Vec<Vec<f64>> =
            (0..size.n_series).map(|_| law.path(size, gap, draw)).collect();
        match self {
            Self::Season => add_season(&mut paths, size, draw),
            Self::MeasurementNoise => add_noise(&mut paths, size, draw),
            _ => {}
        }
        member(&law, size, gap, paths)
    }
}

impl Law {
    fn random(kind: LinearFamily, n_observed: usize, draw: &mut Draw) -> Self {
        let n_variables = n_observed + usize::from(kind == LinearFamily::HiddenDriver);
        let mean_parents = draw.between(0.8, 2.2);
        let mut weights = vec![0.0; n_variables * n_variables];
        for variable in 0..n_variables {
            weights[variable * (n_variables + 1)] = -draw.between(0.6, 1.6);
        }
        for target in 0..n_observed {
            let mut sources: Vec<usize> = (0..n_variables).filter(|&idx| idx != target).collect();
            draw.random.shuffle(&mut sources);
            for source in sources.into_iter().take(n_parents(mean_parents, draw)) {
                weights[source * n_variables + target] = draw.sign() * draw.between(0.4, 1.3);
            }
        }
        if kind == LinearFamily::HiddenDriver {
            let mut driven: Vec<usize> = (0..n_observed).collect();
            draw.random.shuffle(&mut driven);
            for target in driven.into_iter().take(3.max(n_observed / 3)) {
                weights[n_observed * n_variables + target] = draw.sign() * draw.between(0.8, 1.5);
            }
        }
        let mut law = Self {
            kind,
            n_variables,
            weights,
            diffusions: (0..n_variables).map(|_| draw.between(0.5, 1.2)).collect(),
            delays: (0..n_variables).map(|_| 10 + draw.random.below(31)).collect(),
            thresholds: (0..n_variables).map(|_| draw.between(-0.3, 0.5)).collect(),
        };
        law.stabilise();
        law
    }

    /// Makes every disturbance fade.
    fn stabilise(&mut self) {
        let n = self.n_variables;
        let bends = matches!(self.kind, LinearFamily::Delays | LinearFamily::Threshold);
        if bends || self.kind == LinearFamily::MultiplicativeNoise {
            // Eigenvalues say nothing here; a decay above the sum of what comes in does.
            for target in 0..n {
                let sources = (0..n).filter(|&source| source != target);
                let incoming: f64 =
                    sources.map(|source| self.weights[source * n + target].abs()).sum();
                let decay = &mut self.weights[target * (n + 1)];
                *decay = decay.min(-incoming - 0.2);
            }
            return;
        }
        let excess = self.growth_rate() + 0.2;
        if excess > 0.0 {
            for variable in 0..n {
                self.weights[variable * (n + 1)] -= excess;
            }
        }
    }

    /// Largest real part of an eigenvalue, from how fast a disturbance grows or fades in the end.
    fn growth_rate(&self) -> f64 {
        let n = self.n_variables;
        let (n_steps, n_skipped) = (6000, 2000);
        let mut state: Vec<f64> = (0..n).map(|idx| 1.0 + 0.1 * idx as f64).collect();
        let mut log_growth = 0.0;
        for step in 0..n_steps {
            let before = state.clone();
            for (target, value) in state.iter_mut().enumerate() {
                let drift = (0..n).map(|source| before[source] * self.weights[source * n + target]);
                *value += STEP * drift.sum::<f64>();
            }
            let norm = state.iter().map(|value| value * value).sum::<f64>().sqrt();
            state.iter_mut().for_each(|value| *value /= norm);
            if step >= n_skipped {
                log_growth += norm.ln();
            }
        }
        log_growth / (STEP * f64::from(n_steps - n_skipped))
    }

    /// Rows of one series, `[row, variable]`, hidden variables included.
    fn path(&self, size: Size, gap: f64, draw: &mut Draw) -> Vec<f64> {
        let steps_per_gap = (gap / STEP).round() as usize;
        let n_steps = N_SETTLING + steps_per_gap * (size.n_points - 1);
        let longest = self.delays.iter().max().copied().unwrap_or(0);
        let mut state = vec![0.0; self.n_variables];
        draw.random.fill_normal(&mut state);
        let mut past = VecDeque::from(vec![state.clone(); longest + 1]);
        let mut rows = Vec::with_capacity(size.n_points * self.n_variables);
        for step in 0..=n_steps {
            if step >= N_SETTLING && (step - N_SETTLING).is_multiple_of(steps_per_gap) {
                rows.extend_from_slice(&state);
            }
            self.advance(&mut state, &past, draw);
            past.push_front(state.clone());
            past.truncate(longest + 1);
        }
        rows
    }

    fn advance(&self, state: &mut [f64], past: &VecDeque<Vec<f64>>, draw: &mut Draw) {
        let n = self.n_variables;
        for target in 0..n {
            let drift: f64 = (0..n)
                .map(|source| self.weights[source * n + target] * self.signal(source, target, past))
                .sum();
            let noise = self.diffusions[target] * self.shock(past[0][target], draw);
            state[target] += STEP * drift + STEP.sqrt() * noise;
        }
    }

    /// What a target sees of a source.
    fn signal(&self, source: usize, target: usize, past: &VecDeque<Vec<f64>>) -> f64 {
        match self.kind {
            LinearFamily::Delays if source != target => past[self.delays[source]][source],
            LinearFamily::Threshold if source != target => {
                (past[0][source] - self.thresholds[source]).max(0.0)
            }
            _ => past[0][source],
        }
    }

    /// A random number of deviation about one, in units of a variable's noise.
    fn shock(&self, level: f64, draw: &mut Draw) -> f64 {
        let normal = draw.random.normal();
        match self.kind {
            LinearFamily::Jumps => {
                let jumps = draw.random.uniform() < 0.01;
                let jump = 9.0 * draw.random.normal();
                0.6 * normal + if jumps { jump } else { 0.0 }
            }
            // Bounded, so that a level cannot run away by its own noise.
            LinearFamily::MultiplicativeNoise => normal * (0.3 + level.abs()).min(3.0),
            _ => normal,
        }
    }
}

/// A Poisson number, at most [`MAX_PARENTS`].
fn n_parents(mean: f64, draw: &mut Draw) -> usize {
    // Knuth's way: count uniform factors until their product falls below e^-mean.
    let (mut product, mut count) = (draw.random.uniform(), 0);
    while product > (-mean).exp() && count < MAX_PARENTS {
        product *= draw.random.uniform();
        count += 1;
    }
    count
}

/// The same wave on all variables, of each its own size and nearly its own phase.
fn add_season(paths: &mut [Vec<f64>], size: Size, draw: &mut Draw) {
    let deviations = deviations(paths, size.n_variables);
    let period = draw.between(8.0, 25.0);
    for (variable, deviation) in deviations.into_iter().enumerate() {
        let (height, phase) = (deviation * draw.between(0.3, 1.0), draw.between(0.0, 1.0));
        for path in &mut *paths {
            for (row, values) in path.chunks_exact_mut(size.n_variables).enumerate() {
                let angle = std::f64::consts::TAU * row as f64 / period + phase;
                values[variable] += height * angle.sin();
            }
        }
    }
}

fn add_noise(paths: &mut [Vec<f64>], size: Size, draw: &mut Draw) {
    let share = draw.between(0.3, 0.7);
    let deviations = deviations(paths, size.n_variables);
    for values in paths.iter_mut().flat_map(|path| path.chunks_exact_mut(size.n_variables)) {
        for (value, deviation) in values.iter_mut().zip(&deviations) {
            *value += share * deviation * draw.random.normal();
        }
    }
}

/// The deviation of every variable over all rows of all series.
fn deviations(paths: &[Vec<f64>], n_variables: usize) -> Vec<f64> {
    let of = |variable: usize| {
        let values =
            || paths.iter().flat_map(|path| path.iter().skip(variable).step_by(n_variables));
        let n = values().count() as f64;
        let mean = values().sum::<f64>() / n;
        (values().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()
    };
    (0..n_variables).map(of).collect()
}

/// What is observed: the first variables alone.
fn member(
    law: &Law,
    size: Size,
    gap: f64,
    paths: Vec<Vec<f64>>,
) -> Result<FamilyMember, SystemError> {
    let (n_all, n_observed) = (law.n_variables, size.n_variables);
    let mut truth = SignatureGraph::empty(n_observed);
    for source in 0..n_observed {
        for target in 0..n_observed {
            truth.set_edge(source, target, law.weights[source * n_all + target] != 0.0);
        }
    }
    let times: Vec<f64> = (0..size.n_points).map(|row| gap * row as f64).collect();
    let series = paths.into_iter().enumerate().map(|(idx, path)| {
        let rows = path.chunks_exact(n_all);
        let values = rows.flat_map(|row| &row[..n_observed]).copied().collect();
        ObservedSeries::new(format!("series-{}", idx + 1), n_observed, times.clone(), values)
    });
    let series = series.collect::<Result<Vec<_>, _>>()?;
    Ok(FamilyMember { data: SeriesSet::new(numbered("x", n_observed), series)?, truth })
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::*;

    fn draw() -> Draw {
        Draw { random: RandomStream::new(3, Purpose::System, 16), seed: 3 }
    }

    fn pair(kind: LinearFamily, weights: [f64; 4]) -> Law {
        Law {
            kind,
            n_variables: 2,
            weights: weights.to_vec(),
            diffusions: vec![0.0; 2],
            delays: vec![2; 2],
            thresholds: vec![0.5; 2],
        }
    }

    #[test]
    fn growth_is_that_of_the_largest_eigenvalue() {
        // Eigenvalues of [[-1, 2], [0.5, -1]] are -1 + 1 and -1 - 1.
        let rate = pair(LinearFamily::Plain, [-1.0, 2.0, 0.5, -1.0]).growth_rate();
        assert!(rate.abs() < 1e-9, "{rate}");
        // A turning pair: -0.5 with an imaginary part of 1; a step's length changes a rate of
        // turning by STEP / 2, and a last turn that is not whole by less than 1 / 80.
        let rate = pair(LinearFamily::Plain, [-0.5, 1.0, -1.0, -0.5]).growth_rate();
        assert!((rate + 0.5).abs() < STEP / 2.0 + 0.0125, "{rate}");
    }

    #[test]
    fn late_sources_are_seen_late_and_weak_ones_not_at_all() {
        let past = VecDeque::from(vec![vec![1.0, 0.4], vec![2.0, 5.0], vec![3.0, 6.0]]);
        let signals = |kind: LinearFamily| {
            let law = pair(kind, [0.0; 4]);
            [law.signal(0, 1, &past), law.signal(1, 0, &past), law.signal(0, 0, &past)]
        };
        assert_eq!(signals(LinearFamily::Delays), [3.0, 6.0, 1.0]);
        assert_eq!(signals(LinearFamily::Threshold), [0.5, 0.0, 1.0]);
        assert_eq!(signals(LinearFamily::Plain), [1.0, 0.4, 1.0]);
    }

    #[test]
    fn numbers_of_sources_have_the_mean_of_their_law() {
        let mut draw = draw();
        let sum: usize = (0..4000).map(|_| n_parents(1.0, &mut draw)).sum();
        // Poisson of mean 1 cut at 4 has mean 1 - 0.0043; four standard errors of 4,000 draws.
        assert!((sum as f64 / 4000.0 - 0.9957).abs() < 4.0 / 4000_f64.sqrt(), "{sum}");
    }

    #[test]
    fn a_hidden_driver_is_not_in_the_table() {
        let member = LinearFamily::HiddenDriver.draw(&mut draw()).unwrap();
        assert!((8..=12).contains(&member.data.n_variables()));
        assert_eq!(member.data.n_variables(), member.truth.n_variables());
    }
}
