//! Any recipe gives a valid data set or a typed error, never a panic or an empty series.

use driftgraph_core::process::solver::Scheme;
use driftgraph_systems::{Dropping, MeasurementNoise, Recipe, Sampling, generate, registry};
use proptest::prelude::*;

fn droppings() -> impl Strategy<Value = Dropping> {
    prop_oneof![
        Just(Dropping::Nothing),
        (-0.1..1.1).prop_map(Dropping::TimesOfAllSeries),
        (-0.1..1.1).prop_map(Dropping::TimesPerSeries),
        (-0.1..1.1).prop_map(Dropping::Cells),
    ]
}

fn noises() -> impl Strategy<Value = MeasurementNoise> {
    prop_oneof![
        Just(MeasurementNoise::Nothing),
        (-0.1..2.0).prop_map(MeasurementNoise::Absolute),
        (-0.1..2.0).prop_map(MeasurementNoise::Relative),
    ]
}

prop_compose! {
    fn recipes()(
        n_series in prop_oneof![9 => 1..4_usize, 1 => Just(0)],
        (start, length) in (-5.0..5.0, -0.2..5.0),
        sampling in prop_oneof![Just(Sampling::Regular), Just(Sampling::Random)],
        n_points in prop_oneof![9 => 2..30_usize, 1 => 0..2_usize],
        step_size in prop_oneof![18 => 0.01..0.5, 1 => Just(0.0), 1 => Just(f64::NAN)],
        scheme in prop_oneof![Just(Scheme::EulerMaruyama), Just(Scheme::Milstein)],
        (standardise, n_scaling_series) in (any::<bool>(), 0..6_usize),
        keep_every in 0..8_usize,
        (noise, dropping) in (noises(), droppings()),
        seed in any::<u64>(),
    ) -> Recipe {
        Recipe {
            n_series, time_range: (start, start + length), sampling, n_points, step_size, scheme,
            standardise, n_scaling_series, keep_every, noise, dropping, n_knockouts: 0,
            seed,
        }
    }
}

proptest! {
    #[test]
    fn any_recipe_gives_data_of_its_shape_or_a_typed_error(
        recipe in recipes(),
        system_idx in 0..registry::SYSTEMS.len(),
    ) {
        let system = registry::build(registry::SYSTEMS[system_idx].name, &[], recipe.seed).unwrap();
        match generate(system.as_ref(), &recipe) {
            Ok(generated) => {
                prop_assert_eq!(generated.data.n_series(), recipe.n_series);
                prop_assert_eq!(generated.data.variables(), system.variables());
                let (start, end) = recipe.time_range;
                for series in generated.data.series() {
                    prop_assert!(series.n_observed() > 0);
                    prop_assert!(series.times()[0] >= start && *series.times().last().unwrap() <= end);
                    prop_assert!(series.n_observations() <= recipe.n_points.div_ceil(recipe.keep_every));
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
