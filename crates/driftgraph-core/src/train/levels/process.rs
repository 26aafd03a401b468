//! Processes that chains of levels have drawn, as the parameters and paths of a bridge model.
//!
//! y_k (I - B) = y_{k-1} A + c + e is y_k - y_{k-1} = d with d (I - B) = y_{k-1} (A - I + B) + c + e: a step of the bridge's process with effects
//! within the step, of the length of the usual gap.

use super::{LevelRun, LevelTask};
use crate::numeric::real::ln;
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::bridge::gated::GatedValues;
use crate::posterior::bridge::layout::BridgeLayout;
use crate::posterior::bridge::model::KnownLevels;
use crate::posterior::level::chain::{LevelDraw, LevelMoments, LevelState};
use crate::train::bridge::DrawnEffects;

/// Logits of gates that are known.
const OPEN: f64 = 1e3;
/// Slabs are not read of a process that is known; they must only be numbers.
const SLABS: [f64; 2] = [1.0, 1.0];

/// A drawn process in the units of a bridge model, in the chains' order of variables; matrices `[source, target]`.
#[derive(Debug, Clone)]
pub(crate) struct LevelProcess {
    variables: Vec<usize>,
    lagged: Effects,
    within: Effects,
    offsets: Vec<f64>,
    log_diffusions: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Effects {
    logits: Vec<f64>,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// The units of a bridge model: typical increments by the user's number of the variable, and its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelUnits<'a> {
    pub(crate) increment_scales: &'a [f64],
    /// The user's time per unit of the model's.
    pub(crate) time_unit: f64,
}

impl Effects {
    fn values(&self) -> GatedValues<'_> {
        let Self { logits, means, deviations } = self;
        GatedValues { logits, means, deviations, slabs: SLABS }
    }
}

impl LevelProcess {
    /// As the model takes it.
    pub(crate) fn known(&self) -> KnownLevels<'_> {
        KnownLevels {
            variables: &self.variables,
            lagged: self.lagged.values(),
            within: self.within.values(),
            offsets: &self.offsets,
            log_diffusions: &self.log_diffusions,
        }
    }
}

impl LevelTask {
    /// One of the processes that were kept, the last for number 0; `None` before chains have come so far.
    pub(crate) fn process(
        &self,
        run: &LevelRun,
        number: usize,
        units: LevelUnits<'_>,
    ) -> Option<LevelProcess> {
        let draw = run.draws.get(run.draws.len().checked_sub(number + 1)?)?;
        let drawn = LevelMoments::over(effects(&run.plain))?;
        let (d, gap) = (self.order.len(), self.rows.usual_gap()? / units.time_unit);
        let scale = |idx: usize| units.increment_scales[self.order[idx]];
        let rate = |target: usize| 1.0 / (scale(target) * gap);
        let log_diffusion = |(idx, variance): (usize, &f64)| {
            0.5 * ln(variance.max(f64::MIN_POSITIVE) * rate(idx) * rate(idx) * gap)
        };
        let ratio = |at: usize| scale(at / d) / scale(at % d);
        Some(LevelProcess {
            variables: self.order.clone(),
            lagged: lagged(draw, &drawn, d, &|at| rate(at % d)),
            within: within(draw, &drawn, d, &ratio),
            offsets: draw.offsets.iter().enumerate().map(|(idx, c)| c * rate(idx)).collect(),
            log_diffusions: draw.variances.iter().enumerate().map(log_diffusion).collect(),
        })
    }

    /// Effects of the row before given their edges, in increment scales per time, in the user's order of variables.
    pub(crate) fn drawn_effects(&self, run: &LevelRun, units: LevelUnits<'_>) -> DrawnEffects {
        let (d, n) = (self.order.len(), self.n_user);
        let mut all = DrawnEffects { means: vec![0.0; n * n], deviations: vec![0.0; n * n] };
        let Some((drawn, gap)) = LevelMoments::over(effects(&run.plain)).zip(self.rows.usual_gap())
        else {
            return all;
        };
        for at in 0..d * d {
            let (source, target) = (at / d, at % d);
            let Some((mean, deviation)) = drawn.moments(d * d + at) else { continue };
            let (from, to) = (self.order[source], self.order[target]);
            let rate = units.time_unit / (units.increment_scales[to] * gap);
            // What a variable keeps of itself is what its drift leaves.
            let kept = if source == target { mean - 1.0 } else { mean };
            all.means[from * n + to] = kept * rate;
            all.deviations[from * n + to] = deviation * rate;
        }
        all
    }

    /// Puts cells that were not observed, as the chains have drawn them, into the paths of a bridge posterior.
    pub(crate) fn place_cells(
        &self,
        run: &LevelRun,
        layout: &BridgeLayout,
        values: &mut LocalValues,
    ) {
        let cells = run.plain.iter().map(|state| &state.totals().cells);
        let (Some(drawn), n) = (LevelMoments::over(cells), layout.n_variables()) else { return };
        for (idx, (row, cell)) in self.rows.missing_cells().enumerate() {
            let ((user, time), variable) = (self.rows.origin(row), self.order[cell]);
            let Some((mean, deviation)) = drawn.moments(idx) else { continue };
            let Some(rows) = layout.series().iter().find(|rows| rows.series_idx == user) else {
                continue;
            };
            let times = layout.times(rows);
            let Ok(point) = times.binary_search_by(|other| other.total_cmp(&time)) else {
                continue;
            };
            values.means[(rows.first_point + point) * n + variable] = mean;
            values.log_deviations[(rows.first_deviation_row + point) * n + variable] =
                ln(deviation.max(f64::MIN_POSITIVE));
        }
    }
}

fn effects(chains: &[LevelState]) -> impl Iterator<Item = &LevelMoments> {
    chains.iter().map(|state| &state.totals().effects)
}

/// A - I + B as drawn, so that it takes back what B does within a row; what the draw has not is as it is where it exists.
fn lagged(
    draw: &LevelDraw,
    drawn: &LevelMoments,
    d: usize,
    unit: &dyn Fn(usize) -> f64,
) -> Effects {
    let mut all = Effects { logits: Vec::new(), means: Vec::new(), deviations: Vec::new() };
    for at in 0..d * d {
        let is_own = at / d == at % d;
        let (a, b) = (draw.effects[d * d + at], draw.effects[at]);
        let (mean, _) = drawn.moments(d * d + at).unwrap_or_default();
        let is_open = is_own || a != 0.0 || b != 0.0;
        let effect = if is_open { a + b } else { mean };
        all.logits.push(if is_open { OPEN } else { -OPEN });
        all.means.push(unit(at) * (effect - f64::from(u8::from(is_own))));
        all.deviations.push(0.0);
    }
    all
}

/// B; what the draw has not, or has the other way round, is as it is where it goes this way.
fn within(
    draw: &LevelDraw,
    drawn: &LevelMoments,
    d: usize,
    unit: &dyn Fn(usize) -> f64,
) -> Effects {
    let mut all = Effects { logits: Vec::new(), means: Vec::new(), deviations: Vec::new() };
    for at in 0..d * d {
        let (source, target) = (at / d, at % d);
        let turned = || {
            let back = drawn.moments(target * d + source)?;
            // The slope of the source on the target, read as one of the target on the source.
            let (own, other) = (draw.variances[target], draw.variances[source]);
            let factor = own / (other + back.0 * back.0 * own);
            Some((back.0 * factor, back.1 * factor))
        };
        let (mean, deviation) = drawn.moments(at).or_else(turned).unwrap_or_default();
        let is_open = draw.effects[at] != 0.0;
        all.logits.push(if is_open { OPEN } else { -OPEN });
        all.means.push(unit(at) * if is_open { draw.effects[at] } else { mean });
        all.deviations.push(unit(at) * deviation);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::kernels::{View, product};
    use crate::numeric::linalg::log_det_and_inverse;

    #[test]
    fn a_step_of_the_model_is_a_row_of_levels() {
        let (d, gap) = (3, 0.7);
        let scales = [0.5, 1.3, 0.8];
        // B above A: x0 moves x1 within the row, x2 follows x1 a row later.
        let mut effects = vec![0.0; 18];
        effects[1] = 0.6;
        for (at, effect) in [(0, 0.4), (4, 0.3), (8, -0.2), (5, 0.5)] {
            effects[9 + at] = effect;
        }
        let draw = LevelDraw { effects, offsets: vec![0.1; 3], variances: vec![1.0, 2.0, 0.5] };
        let drawn = LevelMoments::over(std::iter::once(&LevelMoments::zeros(18))).unwrap();
        let rate = |at: usize| 1.0 / (scales[at % d] * gap);
        let drift = lagged(&draw, &drawn, d, &rate);
        let step = within(&draw, &drawn, d, &|at| scales[at / d] / scales[at % d]);
        let inverse = |b: &[f64]| {
            let mut left: Vec<f64> = b.iter().map(|effect| -effect).collect();
            (0..d).for_each(|idx| left[idx * (d + 1)] += 1.0);
            log_det_and_inverse(&left, d).unwrap().1
        };
        let open = |effects: &Effects| -> Vec<f64> {
            let gates = effects.means.iter().zip(&effects.logits);
            gates.map(|(mean, logit)| if *logit > 0.0 { *mean } else { 0.0 }).collect()
        };
        // z + c (h (z A') (I - B')^-1) of the model against z A (I - B)^-1 of levels.
        let (drift, step) = (open(&drift), open(&step));
        let (mut found, mut wanted) = (vec![0.0; 9], vec![0.0; 9]);
        product(&mut found, d, View::new(&drift, d, d), View::new(&inverse(&step), d, d));
        let levels = inverse(&draw.effects[..9]);
        product(&mut wanted, d, View::new(&draw.effects[9..], d, d), View::new(&levels, d, d));
        for at in 0..9 {
            let own = f64::from(u8::from(at / d == at % d));
            let moved = own + scales[at % d] * gap * found[at];
            // A few roundings of numbers near 1.
            assert!((moved - wanted[at]).abs() < 1e-14, "{at}: {moved} {}", wanted[at]);
        }
    }

    #[test]
    fn a_link_that_only_went_the_other_way_is_turned_round() {
        // x1 -> x0 with slope 2, errors of variance 1: y0 = 2 y1 + e0, so y1 has the slope 2 / (1 + 4) on y0.
        let mut moments = LevelMoments::zeros(8);
        moments.add(2, 2.0);
        let mut effects = vec![0.0; 8];
        effects[2] = 2.0;
        let draw = LevelDraw { effects, offsets: vec![0.0; 2], variances: vec![1.0; 2] };
        let found = within(&draw, &moments, 2, &|_| 1.0);
        assert!((found.means[1] - 0.4).abs() < 1e-15, "{:?}", found.means);
        assert!(found.logits[1] < 0.0 && found.logits[2] > 0.0);
    }
}
