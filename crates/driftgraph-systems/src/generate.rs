//! Generation: a system and a recipe in; a data set with its true graph out.

use driftgraph_core::process::brownian::BrownianIncrements;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::process::solver::integrate;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{
    CoreError, ObservedSeries, SeriesSet, SignatureGraph, Standardizer, TimeGrid,
};
use rayon::prelude::*;

use crate::observe::{observe, sampling_times};
use crate::{EdgeSigns, Recipe, System, SystemError};

/// A data set with what is true about the system behind it.
#[derive(Debug, Clone)]
pub struct Generated {
    /// What was observed.
    pub data: SeriesSet,
    /// The true graph.
    pub truth: SignatureGraph,
    /// Direction of each true edge's effect on the drift, where the visited states agree on one.
    pub signs: EdgeSigns,
    /// How the system's own units became those of the data; changes nothing unless asked for.
    pub scaling: Standardizer,
}

/// Simulates and observes `system` as `recipe` says, series in parallel.
///
/// Series number n depends on the seed and n alone: asking for more series leaves the first ones
/// as they were, unless all are standardised, or given relative noise, together.
pub fn generate(
    system: &(impl System + ?Sized),
    recipe: &Recipe,
) -> Result<Generated, SystemError> {
    recipe.check(system.n_variables())?;
    let simulated: Vec<Result<ObservedSeries, SystemError>> = (0..recipe.n_simulated())
        .into_par_iter()
        .map(|idx| simulate(system, recipe, idx))
        .collect();
    // The first error in series order, whichever thread met one first.
    let simulated = simulated.into_iter().collect::<Result<Vec<_>, _>>()?;

    let truth = system.true_graph();
    let visited: Vec<f64> =
        simulated[..recipe.n_series].iter().flat_map(ObservedSeries::values).copied().collect();
    let signs = EdgeSigns::at_states(system, &truth, &visited);

    let simulated = SeriesSet::new(system.variables(), simulated)?;
    let (scaling, scaled) = if recipe.standardise {
        let scaling = Standardizer::fit(&simulated);
        let scaled = scaling.apply(&simulated);
        (scaling, scaled)
    } else {
        (Standardizer::identity(simulated.n_variables()), simulated)
    };
    let kept = thin(&scaled, recipe.n_series, recipe.keep_every)?;
    let data = observe(&kept, recipe.noise, recipe.dropping, recipe.seed)?;
    Ok(Generated { data, truth, signs, scaling })
}

/// The complete path of series number `idx`, in the system's own units.
fn simulate(
    system: &(impl System + ?Sized),
    recipe: &Recipe,
    idx: usize,
) -> Result<ObservedSeries, SystemError> {
    let seed = recipe.seed;
    let name = format!("series-{}", idx + 1);
    let (start, end) = recipe.time_range;
    let times = sampling_times(recipe.sampling, start..end, recipe.n_points, seed, idx);
    let start = recipe.time_range.0;
    // Random times need not hold the time at which the path starts.
    let starts_unseen = times[0] > start;
    let walked: Vec<f64> =
        starts_unseen.then_some(start).into_iter().chain(times.clone()).collect();
    let grid = TimeGrid::new(&walked, recipe.step_size)?;

    let n_variables = system.n_variables();
    let mut state = vec![0.0; n_variables];
    system
        .initial_state(&mut RandomStream::new(seed, Purpose::InitialState, idx as u64), &mut state);
    let mut increments = BrownianIncrements::new(seed, idx as u64);
    let fill = |step_idx: usize, dt: f64, dw: &mut [f64]| increments.fill(step_idx, dt, dw);
    let knocked_out = recipe.knocked_out(idx, n_variables);
    if let Some(variable) = knocked_out {
        state[variable] = 0.0;
    }
    let handled = Handled { system, knocked_out };
    let path = integrate(&handled, recipe.scheme, &grid, &state, fill);
    let mut values = path.map_err(|error| match error {
        CoreError::PathNotFinite { time } => {
            SystemError::NotFinite { system: system.name(), series: name.clone(), time }
        }
        other => other.into(),
    })?;
    if starts_unseen {
        values.drain(..n_variables);
    }
    Ok(ObservedSeries::new(name, n_variables, times, values)?)
}

/// A system of which one variable may be kept where it is.
struct Handled<'a, S: ?Sized> {
    system: &'a S,
    knocked_out: Option<usize>,
}

impl<S: DiagonalSde + ?Sized> DiagonalSde for Handled<'_, S> {
    fn n_variables(&self) -> usize {
        self.system.n_variables()
    }

    fn drift(&self, time: f64, state: &[f64], out: &mut [f64]) {
        self.system.drift(time, state, out);
        self.knocked_out.into_iter().for_each(|variable| out[variable] = 0.0);
    }

    fn diffusion(&self, time: f64, state: &[f64], out: &mut [f64]) {
        self.system.diffusion(time, state, out);
        self.knocked_out.into_iter().for_each(|variable| out[variable] = 0.0);
    }

    fn diffusion_derivative(&self, time: f64, state: &[f64], out: &mut [f64]) {
        self.system.diffusion_derivative(time, state, out);
        self.knocked_out.into_iter().for_each(|variable| out[variable] = 0.0);
    }
}

/// The first `n_series` series with every `keep_every`-th row.
fn thin(data: &SeriesSet, n_series: usize, keep_every: usize) -> Result<SeriesSet, CoreError> {
    let kept = data.series()[..n_series].iter().map(|series| {
        let times = series.times().iter().step_by(keep_every).copied().collect();
        let rows = series.values().chunks_exact(series.n_variables()).step_by(keep_every);
        let values = rows.flatten().copied().collect();
        ObservedSeries::new(series.name(), series.n_variables(), times, values)
    });
    SeriesSet::new(data.variables().to_vec(), kept.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dropping, MeasurementNoise, Sampling, registry};

    fn lorenz() -> Box<dyn System> {
        registry::build("lorenz96", &[("variables", 5.0)], 0).unwrap()
    }

    #[test]
    fn a_knocked_out_variable_stays_at_zero_and_others_feel_it() {
        let system = registry::build("gene-network", &[], 1001).unwrap();
        let alone = Recipe { n_series: 3, ..Recipe::usual(system.as_ref(), 1001) };
        let knocked = Recipe { n_knockouts: 2, ..alone.clone() };
        let [free, out] =
            [alone, knocked].map(|recipe| generate(system.as_ref(), &recipe).unwrap());
        let column = |data: &SeriesSet, series: usize, variable: usize| -> Vec<f64> {
            data.series()[series].values().iter().skip(variable).step_by(10).copied().collect()
        };
        assert!(column(&out.data, 0, 0).iter().all(|value| *value == 0.0));
        assert!(column(&out.data, 1, 1).iter().all(|value| *value == 0.0));
        assert_eq!(column(&out.data, 2, 0), column(&free.data, 2, 0), "the third is left alone");
        for (source, target) in
            free.truth.edges().filter(|(source, target)| source != target && *source < 2)
        {
            assert_ne!(column(&out.data, source, target), column(&free.data, source, target));
        }
    }

    fn message(change: impl Fn(&mut Recipe)) -> String {
        let system = lorenz();
        let mut recipe = Recipe::usual(system.as_ref(), 0);
        change(&mut recipe);
        generate(system.as_ref(), &recipe).unwrap_err().to_string()
    }

    #[test]
    fn recipes_that_make_no_sense_are_refused() {
        assert_eq!(message(|r| r.n_series = 0), "`n_series` must be at least 1, found 0");
        assert_eq!(message(|r| r.n_points = 1), "`n_points` must be at least 2, found 1");
        assert_eq!(message(|r| r.keep_every = 0), "`keep_every` must be at least 1, found 0");
        assert_eq!(
            message(|r| r.time_range = (3.0, 3.0)),
            "the time range must be finite and move forward, found 3 to 3"
        );
        assert_eq!(
            message(|r| r.step_size = -1.0),
            "the step size must be positive and finite, found -1"
        );
        assert_eq!(
            message(|r| (r.n_series, r.n_points) = (1 << 20, 1 << 40)),
            "1048576 series of 1099511627776 times and 5 variables are more than 1073741824 values"
        );
        assert_eq!(
            message(|r| r.time_range = (1e9, 1e9 + 1e-6)),
            "series `series-1` has time 1000000000 after time 1000000000"
        );
        assert_eq!(
            message(|r| r.dropping = Dropping::Cells(1.0)),
            "the probability of dropping must be at least 0 and below 1, found 1"
        );
        assert_eq!(
            message(|r| r.noise = MeasurementNoise::Relative(f64::NAN)),
            "the deviation of measurement noise must be finite and not negative, found NaN"
        );
    }

    #[test]
    fn a_simulation_that_explodes_names_system_series_and_time() {
        let system = lorenz();
        // Euler steps of 1 are far beyond the stability of Lorenz-96.
        let recipe = Recipe {
            step_size: 1.0,
            time_range: (0.0, 100.0),
            ..Recipe::usual(system.as_ref(), 0)
        };
        let recipe = Recipe { n_points: 101, ..recipe };
        let error = generate(system.as_ref(), &recipe).unwrap_err();
        let SystemError::NotFinite { system: "lorenz96", series, time } = error else {
            panic!("{error:?}")
        };
        assert_eq!(series, "series-1");
        assert!((1.0..100.0).contains(&time));
    }

    #[test]
    fn more_series_leave_the_first_ones_as_they_were() {
        let system = lorenz();
        let few = Recipe { n_series: 2, ..Recipe::usual(system.as_ref(), 4) };
        let many = Recipe { n_series: 5, ..few.clone() };
        let few = generate(system.as_ref(), &few).unwrap();
        let many = generate(system.as_ref(), &many).unwrap();
        for (a, b) in few.data.series().iter().zip(many.data.series()) {
            assert_eq!((a.name(), a.values()), (b.name(), b.values()));
        }
        assert_ne!(many.data.series()[0].values(), many.data.series()[1].values());
    }

    #[test]
    fn random_times_are_those_at_which_the_states_were_recorded() {
        // Without noise, dZ = -Z dt from z is z e^-t: states tell their time.
        let system = registry::build("linear", &[("variables", 1.0), ("noise", 0.0)], 0).unwrap();
        let usual = Recipe::usual(system.as_ref(), 7);
        let recipe = Recipe { sampling: Sampling::Random, step_size: 1e-4, n_points: 20, ..usual };
        let generated = generate(system.as_ref(), &recipe).unwrap();
        for series in generated.data.series() {
            assert_eq!(series.n_observations(), 20);
            let first = series.row(0)[0];
            for (row, time) in series.times().iter().enumerate() {
                let expected = first * (series.times()[0] - time).exp();
                // Euler's relative error is t dt / 2, at most 5e-4 here; twice that.
                let error = (series.row(row)[0] / expected - 1.0).abs();
                assert!(error < 1e-3, "error {error} at {time}");
            }
        }
    }
}
