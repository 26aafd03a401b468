//! The paper's synthetic data sets, as the published code makes them.
//!
//! Where the paper's text and its published code differ, the code is followed, since the paper's
//! figures were made with it:
//!
//! | choice | text | published code | here |
//! | --- | --- | --- | --- |
//! | times | 0, 1, ..., 99 | every 10th of 1000 equally spaced times from 0 to 100: spacing 1.001, last 99.099 | code |
//! | states between solver steps | not said | linear interpolation on a grid of fixed steps | neither: gaps are split into equal steps, and states are exact on the grid |
//! | first time dropped | not said | the series then starts at the first time kept | code |
//! | solver step, Lorenz | "1 ... coincides with the data generation", and 0.005 | 0.005 | code |
//! | number of series | 10 in the main text, 100 in the appendix | 100 made, the first 10 used | code |
//! | scale, glycolysis | standardised in its main table | means and deviations over 100 series and 1000 times, before thinning | code |
//! | solver step, glycolysis | 0.005 | 0.01 | code |
//! | forcing, Lorenz | outside of dt | inside the drift | code |
//! | true graphs | the equations | 40 and 23 edges | both agree |
//!
//! Equal steps are 0.00477 rather than 0.005 long (21 of them in a gap of 0.1001), and 0.0091
//! rather than 0.01. The context that the learned posterior sees between observations is a
//! matter of training, and not of these data.

use driftgraph_core::process::solver::Scheme;

use crate::registry::quoted;
use crate::{Dropping, MeasurementNoise, Recipe, Sampling, SystemError};

/// Systems with a recipe of the paper.
pub const SYSTEMS: [&str; 2] = ["glycolysis", "lorenz96"];

impl Recipe {
    /// The paper's recipe for a system with default parameters; see [`paper`](crate::paper).
    ///
    /// `drop_probability` is the paper's p: each time is dropped for all series at once. Lorenz was
    /// published with p = 0.3 and 0.6, glycolysis with 0.
    pub fn paper(system: &str, drop_probability: f64, seed: u64) -> Result<Self, SystemError> {
        let (step_size, standardise) = match system {
            "lorenz96" => (0.005, false),
            "glycolysis" => (0.01, true),
            _ => {
                let known = quoted(SYSTEMS.into_iter());
                return Err(SystemError::NoPaperRecipe { system: system.to_owned(), known });
            }
        };
        let dropping = Dropping::TimesOfAllSeries(drop_probability);
        dropping.check()?;
        Ok(Self {
            n_series: 10,
            time_range: (0.0, 100.0),
            sampling: Sampling::Regular,
            n_points: 1000,
            step_size,
            scheme: Scheme::EulerMaruyama,
            standardise,
            n_scaling_series: 100,
            keep_every: 10,
            noise: MeasurementNoise::Nothing,
            dropping,
            n_knockouts: 0,
            seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generate, registry};

    #[test]
    fn the_default_systems_have_the_papers_forcing_and_noise() {
        let lorenz = registry::build("lorenz96", &[], 0).unwrap();
        let (mut drift, mut diffusion) = ([0.0; 10], [0.0; 10]);
        lorenz.drift(0.0, &[0.0; 10], &mut drift);
        lorenz.diffusion(0.0, &[0.0; 10], &mut diffusion);
        assert_eq!((drift, diffusion), ([10.0; 10], [0.5; 10]));
        let glycolysis = registry::build("glycolysis", &[], 0).unwrap();
        let mut diffusion = [0.0; 7];
        glycolysis.diffusion(0.0, &[1.0; 7], &mut diffusion);
        assert_eq!(diffusion, [0.01; 7]);
    }

    #[test]
    fn lorenz_has_ten_series_of_a_hundred_times_at_spacing_1_001() {
        let system = registry::build("lorenz96", &[], 0).unwrap();
        let recipe = Recipe::paper("lorenz96", 0.0, 0).unwrap();
        let generated = generate(system.as_ref(), &recipe).unwrap();
        assert_eq!((generated.data.n_series(), generated.data.n_variables()), (10, 10));
        for series in generated.data.series() {
            assert_eq!(series.n_observations(), 100);
            for (idx, time) in series.times().iter().enumerate() {
                // 100 / 999 times 10, rounded twice at a magnitude of at most 100.
                assert!((time - idx as f64 * 1000.0 / 999.0).abs() < 1e-13);
            }
        }
        let mean = generated.data.observed_values(0).sum::<f64>() / 1000.0;
        // The stationary mean at forcing 10 is about 2.5, with a deviation of about 4 per draw.
        assert!((1.5..3.5).contains(&mean), "mean {mean}");
    }

    #[test]
    fn glycolysis_is_scaled_over_a_hundred_series_before_thinning() {
        let system = registry::build("glycolysis", &[], 0).unwrap();
        let recipe = Recipe::paper("glycolysis", 0.0, 0).unwrap();
        let generated = generate(system.as_ref(), &recipe).unwrap();
        assert_eq!((generated.data.n_series(), generated.data.n_rows()), (10, 1000));

        let everything =
            Recipe { n_series: 100, keep_every: 1, standardise: false, ..recipe.clone() };
        let whole = generate(system.as_ref(), &everything).unwrap();
        let scaling = driftgraph_core::Standardizer::fit(&whole.data);
        assert_eq!(generated.scaling, scaling);
        let scaled = scaling.apply(&whole.data);
        let (series, original) = (&generated.data.series()[9], &scaled.series()[9]);
        for row in 0..100 {
            assert_eq!(series.row(row), original.row(10 * row));
        }
    }

    #[test]
    fn other_systems_have_no_paper_recipe() {
        let error = Recipe::paper("kuramoto", 0.0, 0).unwrap_err().to_string();
        assert_eq!(error, "the paper has recipes for `glycolysis`, `lorenz96`; found `kuramoto`");
        assert!(Recipe::paper("lorenz96", 1.0, 0).is_err());
    }
}
