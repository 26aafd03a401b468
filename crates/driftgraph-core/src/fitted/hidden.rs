//! The posterior of the hidden states of the series a model was fitted to, at any time.

use rayon::prelude::*;

use super::dynamics::Dynamics;
use super::engine::StartLaw;
use super::error::FittedError;
use super::law::Law;
use super::model::{FittedModel, ModelPart, SeriesPlace, SimulatedPart};
use crate::SeriesSet;
use crate::numeric::real::exp;
use crate::posterior::batch::{BatchObjective, BatchTask};
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::draws::StepDraws;
use crate::posterior::plan::PlannedSeries;
use crate::posterior::workspace::ChunkWorkspace;

/// Hidden paths of all series.
pub(super) struct HiddenPaths<'a> {
    model: &'a FittedModel,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Moments at grid points.
    Moments(KnownMoments<'a>),
    /// Sampled paths.
    Sampled(Vec<SampledSeries>),
}

/// Moments at grid points by member, and the members' processes for the times between them.
struct KnownMoments<'a> {
    series: &'a [SeriesPlace],
    times: &'a [f64],
    members: Vec<&'a LocalValues>,
    dynamics: Vec<Dynamics>,
}

/// Paths of one series in the user's units.
struct SampledSeries {
    name: String,
    times: Vec<f64>,
    /// `[sample, time, variable]`.
    states: Vec<f64>,
}

impl<'a> HiddenPaths<'a> {
    /// The posterior of the fit; `data` are needed where paths are sampled from them.
    pub(super) fn new(
        model: &'a FittedModel,
        data: Option<&SeriesSet>,
        n_samples: usize,
        seed: u64,
    ) -> Result<Self, FittedError> {
        let kind = match &model.part {
            ModelPart::Bridge(part) => Kind::Moments(KnownMoments {
                series: &part.series,
                times: &part.times,
                members: part.members.iter().map(|member| &member.paths).collect(),
                dynamics: Dynamics::of(model),
            }),
            ModelPart::Polynomial(part) => Kind::Moments(KnownMoments {
                series: &part.series,
                times: &part.times,
                members: vec![&part.paths],
                dynamics: Dynamics::of(model),
            }),
            ModelPart::Simulated(part) => {
                let data = data.ok_or(FittedError::NeedsData)?;
                model.check_data(data)?;
                Kind::Sampled(sample(model, part, &model.prepared(data), n_samples, seed)?)
            }
        };
        Ok(Self { model, kind })
    }

    /// Names of the series with a path.
    pub(super) fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Moments(known) => known.series.iter().map(|place| place.name.clone()).collect(),
            Kind::Sampled(series) => series.iter().map(|series| series.name.clone()).collect(),
        }
    }

    /// Position of a series.
    pub(super) fn find(&self, name: &str) -> Result<usize, FittedError> {
        let known = self.names();
        let found = known.iter().position(|other| other == name);
        found.ok_or_else(|| FittedError::UnknownSeries { name: name.to_owned(), known })
    }

    /// The last grid time of a series.
    pub(super) fn end(&self, series: usize) -> f64 {
        let times = self.times(series);
        times[times.len() - 1]
    }

    /// Grid times of a series.
    pub(super) fn times(&self, series: usize) -> &[f64] {
        match &self.kind {
            Kind::Moments(known) => {
                let place = &known.series[series];
                &known.times[place.first_point..place.first_point + place.n_points]
            }
            Kind::Sampled(all) => &all[series].times,
        }
    }

    /// The law of each variable at a time of the series, in the user's units.
    pub(super) fn laws(&self, series: usize, time: f64) -> Result<Vec<Law>, FittedError> {
        let d = self.model.n_variables();
        Ok(match self.start_law(series, time)? {
            StartLaw::Normal(members) => (0..d)
                .map(|idx| Law::Mixture(members.iter().map(|(m, s)| (m[idx], s[idx])).collect()))
                .collect(),
            StartLaw::Samples(states) => (0..d)
                .map(|idx| Law::of_samples(states.iter().skip(idx).step_by(d).copied().collect()))
                .collect(),
            StartLaw::Learned | StartLaw::Fixed(_) => {
                unreachable!("hidden states have a law of their own")
            }
        })
    }

    /// The joint law of all variables at a time of the series, for paths that start there.
    pub(super) fn start_law(&self, series: usize, time: f64) -> Result<StartLaw, FittedError> {
        let times = self.times(series);
        let (first, last) = (times[0], times[times.len() - 1]);
        if !(first..=last).contains(&time) {
            let series = self.names()[series].clone();
            return Err(FittedError::OutsideSeries { series, time, first, last });
        }
        let after = times.partition_point(|&grid| grid < time);
        let (before, share) = if times[after] == time {
            (after, 0.0)
        } else {
            (after - 1, (time - times[after - 1]) / (times[after] - times[after - 1]))
        };
        Ok(match &self.kind {
            Kind::Moments(known) => {
                let gap = times.get(before + 1).map_or(0.0, |next| next - times[before]);
                let at = Between { before, share, gap };
                let place = &known.series[series];
                let members = known.members.iter().zip(&known.dynamics);
                let laws =
                    members.map(|(paths, dynamics)| self.bridge_law(paths, dynamics, place, at));
                StartLaw::Normal(laws.collect())
            }
            Kind::Sampled(all) => {
                let d = self.model.n_variables();
                let path = all[series].times.len() * d;
                let states = all[series].states.chunks_exact(path).flat_map(|path| {
                    let row = |idx: usize| &path[idx * d..(idx + 1) * d];
                    let next = row((before + usize::from(share > 0.0)).min(path.len() / d - 1));
                    let cells = row(before).iter().zip(next);
                    cells.map(|(now, next)| now + share * (next - now)).collect::<Vec<_>>()
                });
                StartLaw::Samples(states.collect())
            }
        })
    }

    /// Means and deviations of one member between two grid points.
    ///
    /// Inside a step the process is Brownian motion with a constant drift: given both ends its
    /// mean lies on the line between them, and its variance is that of a Brownian bridge.
    fn bridge_law(
        &self,
        paths: &LocalValues,
        dynamics: &Dynamics,
        place: &SeriesPlace,
        at: Between,
    ) -> (Vec<f64>, Vec<f64>) {
        let d = self.model.n_variables();
        let scaling = self.model.standardizer();
        let point = (place.first_point + at.before) * d;
        let row = (place.first_deviation_row + at.before) * d;
        let mut means = paths.means[point..point + d].to_vec();
        let mut variances: Vec<f64> =
            (paths.log_deviations[row..row + d].iter()).map(|log| exp(2.0 * log)).collect();
        if at.share > 0.0 {
            let (now, next) = (1.0 - at.share, at.share);
            for idx in 0..d {
                means[idx] = now * means[idx] + next * paths.means[point + d + idx];
                let deviation = variances[idx].sqrt();
                let other = exp(paths.log_deviations[row + d + idx]);
                let correlation = libm::tanh(paths.correlations[row + idx]);
                variances[idx] = now * now * variances[idx]
                    + next * next * other * other
                    + 2.0 * now * next * correlation * deviation * other;
            }
        }
        scaling.undo(&mut means);
        for (variance, scale) in variances.iter_mut().zip(scaling.scales()) {
            *variance *= scale * scale;
        }
        if at.share > 0.0 {
            let inside = at.gap * at.share * (1.0 - at.share);
            for (variance, own) in variances.iter_mut().zip(dynamics.noise_variances(&means)) {
                *variance += inside * own;
            }
        }
        (means, variances.into_iter().map(f64::sqrt).collect())
    }
}

/// A place between two grid points of a series.
#[derive(Clone, Copy)]
struct Between {
    /// The grid point before.
    before: usize,
    /// Share of the way to the next point.
    share: f64,
    /// Time to the next point.
    gap: f64,
}

/// Paths drawn from the simulated posterior.
fn sample(
    model: &FittedModel,
    part: &SimulatedPart,
    data: &SeriesSet,
    n_samples: usize,
    seed: u64,
) -> Result<Vec<SampledSeries>, FittedError> {
    let fit = &part.fit;
    let (settings, clock) = (fit.settings(), fit.time_scaling());
    let scaled = model.standardizer().apply(data);
    let plans = (scaled.series().iter())
        .map(|series| {
            let series = clock.apply_to(series)?;
            let (grid, step_size) = (settings.step_grid, settings.step_size);
            PlannedSeries::<f32>::new(&series, grid, step_size, settings.encoder_input)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let drawn: Vec<Vec<Vec<f64>>> = (0..n_samples)
        .into_par_iter()
        .map_init(
            || {
                let objective = BatchObjective::new(fit.model().clone(), plans.clone());
                (objective, ChunkWorkspace::default())
            },
            |(objective, work), sample| {
                let draws = StepDraws::new(seed, sample as u64);
                let path = |series: usize| {
                    let task = BatchTask {
                        parameters: fit.parameters(),
                        batch: &[series],
                        draws: &draws,
                        kl_weight: 1.0,
                    };
                    objective.draw(task, work);
                    let n = work.layout.n_state_rows() * model.n_variables();
                    let mut states: Vec<f64> =
                        work.states[..n].iter().map(|&value| f64::from(value)).collect();
                    model.standardizer().undo(&mut states);
                    states
                };
                (0..plans.len()).map(path).collect()
            },
        )
        .collect();
    let series = data.series().iter().zip(&plans).enumerate().map(|(idx, (series, plan))| {
        let mut times = vec![series.times()[0]];
        for &step in &plan.steps {
            times.push(times[times.len() - 1] + f64::from(step) / clock.scale);
        }
        // The last step ends with the series, not a rounding error before it.
        if let Some(last) = times.last_mut() {
            *last = series.times()[series.n_observations() - 1];
        }
        let states = drawn.iter().flat_map(|sample| sample[idx].iter().copied()).collect();
        SampledSeries { name: series.name().to_owned(), times, states }
    });
    Ok(series.collect())
}
