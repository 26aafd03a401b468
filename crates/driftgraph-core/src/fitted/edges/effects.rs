//! Effects of edges in the user's units, with what is known of their uncertainty.

use super::super::dynamics::Dynamics;
use super::super::model::{FittedModel, ModelPart, SeriesPlace};
use super::{EdgePart, Sign};
use crate::numeric::special::normal_cdf;
use crate::posterior::bridge::innovation::InnovationLaw;
use rayon::prelude::*;

/// Most states over which derivatives are averaged.
const MOST_STATES: usize = 256;
/// Share of visited states (or of members) in which an effect must have the sign of its mean to be called so.
const CLEAR_SIGN: f64 = 0.75;
/// Deviations on either side of the mean within which a normal law has 90 % of its mass.
const NINETY_PERCENT: f64 = 1.644_853_626_951_472_2;

/// Where a number of this mean and deviation lies with a probability of 90 %, if its law is normal.
pub fn ninety_percent(mean: f64, deviation: f64) -> [f64; 2] {
    let reach = NINETY_PERCENT * deviation;
    [mean - reach, mean + reach]
}

/// Effects of all edges, `[source, target]`, as they would be if the edge existed.
pub(in crate::fitted) struct MeanEffects {
    /// In increment scales per model time and deviation of the source.
    pub(in crate::fitted) drift: Vec<f64>,
    /// Deviation of the same: the posterior's for linear effects, else how well the data hold a linear effect that is
    /// added to what was learned; empty where nothing is known.
    pub(in crate::fitted) deviations: Vec<f64>,
    /// Derivative of the log diffusion per deviation of the source.
    pub(in crate::fitted) noise: Option<Vec<f64>>,
    /// Share of states in which the drift's derivative is positive, and negative.
    pub(in crate::fitted) signs: Vec<(f64, f64)>,
}

/// One effect over all members, in the user's units.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserEffect {
    pub(super) mean: f64,
    strength: f64,
    /// Posterior deviation; `None` where nothing is known of it.
    deviation: Option<f64>,
    sign: Sign,
}

/// Effects of all edges, `[source, target]`.
pub(super) struct UserEffects {
    lagged: Vec<UserEffect>,
    pub(super) noise: Option<Vec<f64>>,
    /// Each in its own direction.
    pub(super) within: Option<Vec<UserEffect>>,
    /// What a link's effect on the source is multiplied by to read it as one on the target.
    turned: Vec<f64>,
    /// Deviations of the variables.
    scales: Vec<f64>,
}

impl UserEffects {
    /// The lagged part; its probability is left to the caller.
    pub(super) fn lagged(&self, idx: usize) -> EdgePart {
        self.lagged[idx].part()
    }

    /// The part within a step, from its own direction or from the other one.
    pub(super) fn within_step(&self, idx: usize, from_back: bool) -> Option<EdgePart> {
        let within = self.within.as_ref()?;
        if !from_back {
            return Some(within[idx].part());
        }
        let n = within.len().isqrt();
        let (back, factor) = (within[(idx % n) * n + idx / n], self.turned[idx]);
        // From deviations of the source per deviation of the target to the reverse of that.
        let ratio = (self.scales[idx / n] / self.scales[idx % n]).powi(2);
        let turned = UserEffect {
            mean: back.mean * factor,
            strength: back.strength * factor * ratio,
            deviation: back.deviation.map(|deviation| deviation * factor),
            sign: back.sign,
        };
        Some(turned.part())
    }
}

impl UserEffect {
    fn part(&self) -> EdgePart {
        let interval = self.deviation.map(|deviation| ninety_percent(self.mean, deviation));
        let Self { mean: effect, strength, sign, .. } = *self;
        EdgePart { probability: f64::NAN, sign, effect, strength, interval }
    }
}

/// Mean and deviation of one number over members, each with a mean and perhaps a deviation of its own.
///
/// The law of total variance, within members and between them; `None` where there is neither.
fn pooled(members: &[(f64, Option<f64>)]) -> (f64, Option<f64>) {
    let share = 1.0 / members.len() as f64;
    let mean = share * members.iter().map(|(mean, _)| mean).sum::<f64>();
    let within: Option<f64> = members.iter().map(|(_, own)| own.map(|own| own * own)).sum();
    let within = within.map(|sum| share * sum);
    let between = members.iter().map(|(own, _)| (own - mean).powi(2)).sum::<f64>();
    let between = (members.len() > 1).then(|| between / (members.len() - 1) as f64);
    let known = within.is_some() || between.is_some();
    (mean, known.then(|| (within.unwrap_or(0.0) + between.unwrap_or(0.0)).sqrt()))
}

impl FittedModel {
    /// Whether innovations that are not normal tell which way an effect within a step goes.
    pub fn tells_direction_within_steps(&self) -> bool {
        match &self.part {
            ModelPart::Bridge(part) => part.model.innovation().law() != InnovationLaw::Gaussian,
            ModelPart::Polynomial(_) | ModelPart::Simulated(_) => false,
        }
    }

    /// Effects in the user's units, averaged over members and visited states.
    pub(super) fn effects(&self) -> UserEffects {
        let n = self.n_variables();
        let dynamics = Dynamics::of(self);
        let visited = self.visited_states();
        let span = self.visited_span();
        let mut all: Vec<MeanEffects> = (dynamics.par_iter().zip(&visited))
            .map(|(one, states)| one.mean_effects(states, span))
            .collect();
        self.take_drawn_effects(&mut all);
        let share = 1.0 / all.len() as f64;
        let mean = |of: &dyn Fn(&MeanEffects) -> f64| share * all.iter().map(of).sum::<f64>();
        let scales = self.standardizer().scales();
        let lagged = |idx: usize| {
            let (source, target) = (idx / n, idx % n);
            let (unit, time_unit) = dynamics[0].drift_unit(target);
            let members: Vec<_> =
                all.iter().map(|one| (one.drift[idx], one.deviations.get(idx).copied())).collect();
            let (raw, deviation) = pooled(&members);
            UserEffect {
                mean: raw * unit / (time_unit * scales[source]),
                strength: raw * unit / (time_unit * scales[target]),
                deviation: deviation.map(|raw| raw * unit / (time_unit * scales[source])),
                sign: clear_sign(mean(&|one| one.signs[idx].0), mean(&|one| one.signs[idx].1)),
            }
        };
        let noise = |idx: usize| {
            let raw = mean(&|one| one.noise.as_ref().map_or(0.0, |noise| noise[idx]));
            raw / scales[idx / n]
        };
        UserEffects {
            lagged: (0..n * n).map(lagged).collect(),
            noise: all[0].noise.as_ref().map(|_| (0..n * n).map(noise).collect()),
            within: within_steps(&dynamics, scales),
            turned: turned(&dynamics),
            scales: scales.to_vec(),
        }
    }

    /// Effects that chains have drawn are better known than those of independent factors.
    fn take_drawn_effects(&self, all: &mut [MeanEffects]) {
        let ModelPart::Bridge(part) = &self.part else { return };
        for (own, member) in all.iter_mut().zip(&part.members) {
            let beliefs = member.beliefs.as_ref();
            let Some(drawn) = beliefs.and_then(|own| own.effects.as_ref()) else { continue };
            own.drift.clone_from(&drawn.means);
            own.deviations.clone_from(&drawn.deviations);
            for (idx, sign) in own.signs.iter_mut().enumerate() {
                let (mean, deviation) = (drawn.means[idx], drawn.deviations[idx]);
                let positive = normal_cdf(mean / deviation.max(f64::MIN_POSITIVE));
                *sign = if mean == 0.0 { (0.0, 0.0) } else { (positive, 1.0 - positive) };
            }
        }
    }

    /// Length of all series in the model's units of time; `None` where a file does not tell.
    fn visited_span(&self) -> Option<f64> {
        match &self.part {
            ModelPart::Bridge(part) => {
                let length = |series: &SeriesPlace| {
                    let times = &part.times[series.first_point..][..series.n_points];
                    times[times.len() - 1] - times[0]
                };
                Some(part.series.iter().map(length).sum::<f64>() / part.time_unit)
            }
            // Its terms have a joint law of their own.
            ModelPart::Polynomial(_) => None,
            ModelPart::Simulated(part) => part.span,
        }
    }

    /// Standardised states that the series have visited, `[state, variable]`, by member.
    fn visited_states(&self) -> Vec<Vec<f64>> {
        let d = self.n_variables();
        let some = |states: &[f64]| -> Vec<f64> {
            if states.is_empty() {
                // Nothing is known of where the process goes: its usual state.
                return vec![0.0; d];
            }
            let every = (states.len() / d).div_ceil(MOST_STATES).max(1);
            states.chunks_exact(d).step_by(every).flatten().copied().collect()
        };
        match &self.part {
            ModelPart::Bridge(part) => {
                part.members.iter().map(|member| some(&member.paths.means)).collect()
            }
            ModelPart::Polynomial(part) => vec![some(&part.paths.means)],
            ModelPart::Simulated(part) => vec![some(&part.visited)],
        }
    }
}

/// Effects within a step in their own directions, where the model has any.
fn within_steps(dynamics: &[Dynamics], scales: &[f64]) -> Option<Vec<UserEffect>> {
    let n = scales.len();
    let members: Option<Vec<_>> = dynamics.iter().map(Dynamics::instant_effects).collect();
    let members = members?;
    let share = |idx: usize, wanted: fn(f64) -> bool| {
        let found = members.iter().filter(|effects| wanted(effects[idx].0)).count();
        found as f64 / members.len() as f64
    };
    let effect = |idx: usize| {
        let own: Vec<_> = members.iter().map(|one| (one[idx].0, Some(one[idx].1))).collect();
        let (mean, deviation) = pooled(&own);
        UserEffect {
            mean,
            strength: mean * scales[idx / n] / scales[idx % n],
            deviation,
            sign: clear_sign(share(idx, |mean| mean > 0.0), share(idx, |mean| mean < 0.0)),
        }
    };
    Some((0..n * n).map(effect).collect())
}

/// The mean over members of what turns links within a step round; empty where there are none.
fn turned(dynamics: &[Dynamics]) -> Vec<f64> {
    let members: Option<Vec<_>> = dynamics.iter().map(Dynamics::turned_links).collect();
    let Some(members) = members else { return Vec::new() };
    let n = members[0].len();
    let mean = |idx: usize| members.iter().map(|one| one[idx]).sum::<f64>() / members.len() as f64;
    (0..n).map(mean).collect()
}

fn clear_sign(positive: f64, negative: f64) -> Sign {
    match (positive >= CLEAR_SIGN, negative >= CLEAR_SIGN) {
        (true, _) => Sign::Positive,
        (_, true) => Sign::Negative,
        _ => Sign::Mixed,
    }
}
