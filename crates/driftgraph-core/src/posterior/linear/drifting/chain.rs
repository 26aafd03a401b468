//! A Gibbs chain over effects that are absent, constant or drifting.

use super::steps::DriftSteps;
use super::walk::{Pull, Walk};
use crate::numeric::real::{exp, ln};
use crate::posterior::linear::ascent::{
    GatedEffects, MIN_VARIANCE, OFFSET_PRECISION, SLAB_SQUARE, Slabs,
};
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::gibbs::{MAX_SLAB, VARIANCE_RATE};
use crate::posterior::linear::pools::{EdgePools, Gate};
use crate::random::{Purpose, RandomStream};

/// How far effects that drift move over the whole time, in deviations, that are compared: shares of the usual size of an
/// effect. The least is what is called drifting at all.
const REACHES: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// Drifting and constant effects seen beforehand: one in five drifts.
const SEEN: [f64; 2] = [1.0, 4.0];
/// Deviation of an offset at the first knot, and the usual size of an offset that drifts.
const OFFSET_SIZE: f64 = 0.5;

/// What an effect does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Course {
    /// There is none.
    Absent,
    /// It stays the same.
    Constant,
    /// It moves as a random walk.
    Drifting,
}

/// What a chain works with.
#[derive(Debug, Clone, Copy)]
pub struct DriftTask<'a> {
    /// All steps.
    pub steps: &'a DriftSteps,
    /// What may be an edge.
    pub pools: &'a EdgePools,
    /// Share of the evidence that counts, by target.
    pub tempering: &'a [f64],
    /// Seed of all draws.
    pub seed: u64,
    /// Number of the chain.
    pub number: u64,
}

/// Everything that changes in a chain; entries are `[target, source]`, D rows of D + 1, offsets last.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DriftState {
    /// Sweeps done.
    pub sweep: u64,
    courses: Vec<Course>,
    /// Value at every knot, `[entry, knot]`.
    values: Vec<f64>,
    variances: Vec<f64>,
    slabs: Slabs,
    /// Reach of each group of effects that drift: others, own, offsets.
    reaches: [f64; 3],
    /// Share of effects that drift among those there are.
    share: f64,
    /// Sums over counted sweeps.
    pub totals: DriftTotals,
}

/// Sums over counted visits.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DriftTotals {
    /// Number of counted sweeps.
    pub n: f64,
    /// Of the probabilities that there is an effect, by entry.
    pub present: Vec<f64>,
    /// Of the probabilities that there is none, which have digits where the others round to 1.
    pub absent: Vec<f64>,
    /// Of the probabilities that it drifts.
    pub drifting: Vec<f64>,
    /// Of values given an effect, weighted by its probability, `[entry, knot]`.
    pub values: Vec<f64>,
    /// Of their squares.
    pub squares: Vec<f64>,
}

/// Which effects share a reach.
fn group(source: usize, target: usize, d: usize) -> usize {
    if source == d { 2 } else { usize::from(source == target) }
}

impl DriftState {
    /// Starts from constant dynamics.
    pub fn new(steps: &DriftSteps, start: &LinearDynamics, effects: &GatedEffects) -> Self {
        let (n, k) = (start.effects.len(), steps.knots.len());
        let course = |p: &f64| if *p < 0.5 { Course::Absent } else { Course::Constant };
        let courses: Vec<Course> = effects.probabilities.iter().map(course).collect();
        let value = |(course, mean): (&Course, &f64)| {
            let value = if *course == Course::Absent { 0.0 } else { *mean };
            std::iter::repeat_n(value, k)
        };
        let values = courses.iter().zip(&effects.means).flat_map(value).collect();
        let zeros = |n: usize| vec![0.0; n];
        Self {
            sweep: 0,
            courses,
            values,
            variances: start.variances.clone(),
            slabs: effects.slabs,
            reaches: [1.0; 3],
            share: SEEN[0] / (SEEN[0] + SEEN[1]),
            totals: DriftTotals {
                n: 0.0,
                present: zeros(n),
                absent: zeros(n),
                drifting: zeros(n),
                values: zeros(n * k),
                squares: zeros(n * k),
            },
        }
    }

    /// One sweep over everything.
    pub fn sweep(&mut self, task: &DriftTask<'_>, counted: bool) {
        let mut random =
            RandomStream::new(task.seed, Purpose::Sampler, (task.number << 40) | (self.sweep + 1));
        let d = task.steps.n_variables;
        let counts = self.edge_counts(task.pools);
        for target in 0..d {
            let mut left = self.residuals(task.steps, target);
            for source in 0..=d {
                self.visit(task, [source, target], &counts, counted, &mut left, &mut random);
            }
            self.draw_variance(task, target, &left, &mut random);
        }
        self.draw_slabs(d, &mut random);
        self.draw_share(task.pools, &mut random);
        self.draw_reaches(task.steps, &mut random);
        self.sweep += 1;
        self.totals.n += f64::from(u8::from(counted));
    }

    /// What the steps added beyond what was drawn last, `[step, variable]`; 0 where a step says nothing.
    pub fn innovations(&self, steps: &DriftSteps) -> Vec<f64> {
        let d = steps.n_variables;
        let mut all = vec![0.0; steps.n_steps() * d];
        for target in 0..d {
            for (step, left) in self.residuals(steps, target).into_iter().enumerate() {
                if steps.counts[step * d + target] {
                    all[step * d + target] = left;
                }
            }
        }
        all
    }

    /// Free edges of every pool.
    fn edge_counts(&self, pools: &EdgePools) -> Vec<f64> {
        let d = pools.n_variables();
        let mut counts = vec![0.0; d];
        for (source, target) in (0..d * d).map(|at| (at % d, at / d)) {
            let open = self.courses[target * (d + 1) + source] != Course::Absent;
            if open && pools.gate(source, target) == Gate::Free {
                counts[pools.pool(source, target)] += 1.0;
            }
        }
        counts
    }

    fn course_of(&self, entry: usize, k: usize) -> &[f64] {
        &self.values[entry * k..(entry + 1) * k]
    }

    /// d - h (b + Σ W z) of every step of a target.
    fn residuals(&self, steps: &DriftSteps, target: usize) -> Vec<f64> {
        let (d, k) = (steps.n_variables, steps.knots.len());
        let mut left: Vec<f64> =
            (0..steps.n_steps()).map(|step| steps.added[step * d + target]).collect();
        for source in 0..=d {
            let entry = target * (d + 1) + source;
            if self.courses[entry] != Course::Absent {
                take_out(steps, source, self.course_of(entry, k), &mut left);
            }
        }
        left
    }

    /// What the steps say of an effect at every knot, its present values put back.
    fn pulls(&self, task: &DriftTask<'_>, [source, target]: [usize; 2], left: &[f64]) -> Vec<Pull> {
        let steps = task.steps;
        let (d, k) = (steps.n_variables, steps.knots.len());
        let course = self.course_of(target * (d + 1) + source, k);
        let weight = task.tempering[target] / self.variances[target];
        let mut pulls = vec![Pull::default(); k];
        for (step, left) in left.iter().enumerate() {
            if !steps.counts[step * d + target] {
                continue;
            }
            let state = if source == d { 1.0 } else { steps.states[step * d + source] };
            let (knot, h) = (steps.knot_of[step], steps.lengths[step]);
            let with_own = left + h * state * course[knot];
            pulls[knot].precision += weight * h * state * state;
            pulls[knot].product += weight * state * with_own;
        }
        pulls
    }

    /// Draws what one effect does, then its course.
    fn visit(
        &mut self,
        task: &DriftTask<'_>,
        [source, target]: [usize; 2],
        counts: &[f64],
        counted: bool,
        left: &mut [f64],
        random: &mut RandomStream,
    ) {
        let (d, k) = (task.steps.n_variables, task.steps.knots.len());
        let entry = target * (d + 1) + source;
        let gate = if source == d { Gate::On } else { task.pools.gate(source, target) };
        if gate == Gate::Off {
            return;
        }
        let pulls = self.pulls(task, [source, target], left);
        let size = self.size(source, target, d);
        let reach = self.reaches[group(source, target, d)] * size;
        let gaps = &task.steps.gaps;
        let first = if source == d { 1.0 / OFFSET_PRECISION } else { size * size };
        let constant = Walk { first, rate: 0.0, gaps };
        let drifting = Walk { rate: reach * reach, ..constant };
        let present = match gate {
            Gate::Free => {
                let pool = task.pools.pool(source, target);
                let own = f64::from(u8::from(self.courses[entry] != Course::Absent));
                let law = task.pools.law();
                task.pools.collapsed_log_odds(pool, counts[pool] - own, law)
                    + task.pools.knowledge(source, target)
            }
            _ => f64::INFINITY,
        };
        let odds = [
            ln(1.0 - self.share) + constant.log_evidence(&pulls),
            ln(self.share) + drifting.log_evidence(&pulls),
        ];
        let shares = shares(present, odds);
        if counted {
            self.count(entry, k, shares, [&constant, &drifting], &pulls);
        }
        let at = random.uniform();
        let course = if at < shares[0] {
            Course::Absent
        } else if at < shares[0] + shares[1] {
            Course::Constant
        } else {
            Course::Drifting
        };
        let values = match course {
            Course::Absent => vec![0.0; k],
            Course::Constant => constant.draw(&pulls, random),
            Course::Drifting => drifting.draw(&pulls, random),
        };
        let own = &mut self.values[entry * k..(entry + 1) * k];
        let moved: Vec<f64> = values.iter().zip(&*own).map(|(new, old)| new - old).collect();
        take_out(task.steps, source, &moved, left);
        own.copy_from_slice(&values);
        self.courses[entry] = course;
    }

    /// The usual size of an effect.
    fn size(&self, source: usize, target: usize, d: usize) -> f64 {
        if source == d { OFFSET_SIZE } else { self.slabs.of(source, target) }
    }

    fn count(
        &mut self,
        entry: usize,
        k: usize,
        shares: [f64; 3],
        walks: [&Walk<'_>; 2],
        pulls: &[Pull],
    ) {
        let totals = &mut self.totals;
        totals.absent[entry] += shares[0];
        totals.present[entry] += shares[1] + shares[2];
        totals.drifting[entry] += shares[2];
        for (share, walk) in shares[1..].iter().zip(walks) {
            let (means, variances) = walk.moments(pulls);
            for knot in 0..k {
                totals.values[entry * k + knot] += share * means[knot];
                totals.squares[entry * k + knot] +=
                    share * (means[knot] * means[knot] + variances[knot]);
            }
        }
    }

    fn draw_variance(
        &mut self,
        task: &DriftTask<'_>,
        target: usize,
        left: &[f64],
        random: &mut RandomStream,
    ) {
        let (steps, weight) = (task.steps, task.tempering[target]);
        let (mut n, mut square) = (0.0, 0.0);
        for (step, left) in left.iter().enumerate() {
            if steps.counts[step * steps.n_variables + target] {
                n += 1.0;
                square += left * left / steps.lengths[step];
            }
        }
        let rate = 0.5 * weight * square + VARIANCE_RATE;
        let drawn = random.inverse_gamma(0.5 * weight * n + 1.0, rate);
        self.variances[target] = drawn.max(MIN_VARIANCE);
    }

    /// From the values at the first knot, which are those of constant effects.
    fn draw_slabs(&mut self, d: usize, random: &mut RandomStream) {
        let k = self.values.len() / self.courses.len();
        let (mut counts, mut squares) = ([0.0; 2], [0.0; 2]);
        for (source, target) in (0..d * d).map(|at| (at % d, at / d)) {
            let (entry, own) = (target * (d + 1) + source, usize::from(source == target));
            if self.courses[entry] != Course::Absent {
                counts[own] += 1.0;
                squares[own] += self.values[entry * k].powi(2);
            }
        }
        let mut scale = |own: usize| {
            let rate = 0.5 * (SLAB_SQUARE + squares[own]);
            random.inverse_gamma(0.5 * (counts[own] + 1.0), rate).sqrt().min(MAX_SLAB)
        };
        self.slabs = Slabs { others: scale(0), own: scale(1) };
    }

    fn draw_share(&mut self, pools: &EdgePools, random: &mut RandomStream) {
        let d = pools.n_variables();
        let count = |course: Course| self.courses.iter().filter(|own| **own == course).count();
        // Offsets are always there; they count like others.
        let (drifting, constant) = (count(Course::Drifting), count(Course::Constant));
        debug_assert!(drifting + constant >= d, "every target has an offset");
        let share = random.beta(SEEN[0] + drifting as f64, SEEN[1] + constant as f64);
        self.share = share.clamp(1e-9, 1.0 - 1e-9);
    }

    /// How far effects that drift move, for each group.
    fn draw_reaches(&mut self, steps: &DriftSteps, random: &mut RandomStream) {
        let (d, k) = (steps.n_variables, steps.knots.len());
        for own in 0..3 {
            let (mut n, mut square) = (0.0, 0.0);
            for (source, target) in (0..d * (d + 1)).map(|at| (at % (d + 1), at / (d + 1))) {
                let entry = target * (d + 1) + source;
                let drifts = self.courses[entry] == Course::Drifting;
                if group(source, target, d) != own || !drifts {
                    continue;
                }
                let size = self.size(source, target, d);
                let course = self.course_of(entry, k);
                n += steps.gaps.len() as f64;
                let moves = course.windows(2).zip(&steps.gaps);
                square += moves.map(|(pair, gap)| (pair[1] - pair[0]).powi(2) / gap).sum::<f64>()
                    / (size * size);
            }
            let log_weight = |reach: &f64| -n * ln(*reach) - 0.5 * square / (reach * reach);
            let logs: Vec<f64> = REACHES.iter().map(log_weight).collect();
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = logs.iter().map(|log| exp(log - largest)).collect();
            let mut at = random.uniform() * weights.iter().sum::<f64>();
            let drawn = REACHES.iter().zip(&weights).find(|(_, weight)| {
                at -= **weight;
                at < 0.0
            });
            self.reaches[own] = drawn.map_or(REACHES[REACHES.len() - 1], |(reach, _)| *reach);
        }
    }
}

/// Takes an effect that was added out of what is left.
fn take_out(steps: &DriftSteps, source: usize, course: &[f64], left: &mut [f64]) {
    let d = steps.n_variables;
    for (step, left) in left.iter_mut().enumerate() {
        let state = if source == d { 1.0 } else { steps.states[step * d + source] };
        *left -= steps.lengths[step] * state * course[steps.knot_of[step]];
    }
}

/// Probabilities of none, constant and drifting, from the log-odds of an effect and those of its two kinds.
fn shares(present: f64, [constant, drifting]: [f64; 2]) -> [f64; 3] {
    let largest = constant.max(drifting);
    let [constant, drifting] = [constant, drifting].map(|odds| exp(odds - largest));
    let both = present + largest + ln(constant + drifting);
    let absent = if both > 0.0 { exp(-both) / (1.0 + exp(-both)) } else { 1.0 / (1.0 + exp(both)) };
    let there = if both > 0.0 { 1.0 / (1.0 + exp(-both)) } else { exp(both) / (1.0 + exp(both)) };
    let total = constant + drifting;
    [absent, there * constant / total, there * drifting / total]
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_add_up_and_fixed_effects_are_there() {
        let [absent, constant, drifting] = shares(-1.0, [0.3, -0.2]);
        // Weights 1, e^-0.7, e^-1.2.
        let total = 1.0 + (-0.7_f64).exp() + (-1.2_f64).exp();
        assert!((absent - 1.0 / total).abs() < 1e-14);
        assert!((constant - (-0.7_f64).exp() / total).abs() < 1e-14);
        assert!((drifting - (-1.2_f64).exp() / total).abs() < 1e-14);
        assert_eq!(shares(f64::INFINITY, [0.0, 0.0]), [0.0, 0.5, 0.5]);
        assert_eq!(shares(-900.0, [0.0, 0.0])[0], 1.0);
    }
}
