//! Linear drift with constant noise: Ornstein-Uhlenbeck processes in any number of variables.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};

use crate::couplings::{Couplings, stable_weight};
use crate::registry::{Entry, Parameter};
use crate::system::numbered;
use crate::{System, SystemError, UsualTimes};

/// `dZ_j = (sum_i matrix[i, j] Z_i + offset_j) dt + noise_j dW_j`.
#[derive(Debug, Clone)]
pub struct LinearSde {
    couplings: Couplings,
    offsets: Vec<f64>,
    noise: Vec<f64>,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "linear",
    about: "random sparse stable linear drift with constant noise",
    parameters: &[
        Parameter::count("variables", 10, [1, 1000], "number of variables"),
        Parameter::count("parents", 2, [0, 100], "sources of each variable beside itself"),
        Parameter::real("noise", 0.5, [0.0, 100.0], "diffusion of every variable"),
    ],
    build: |values, seed| {
        let n_variables = values.count("variables");
        let n_parents = values.count_up_to("parents", n_variables - 1)?;
        Ok(Box::new(LinearSde::random(n_variables, n_parents, values.real("noise"), seed)))
    },
};

impl LinearSde {
    /// The process of a matrix `[source, target]`, with one offset and one noise per variable.
    ///
    /// Its true graph is where the matrix is not zero. Nothing demands that it be stable.
    pub fn from_matrix(
        matrix: &[f64],
        offsets: &[f64],
        noise: &[f64],
    ) -> Result<Self, SystemError> {
        let n_variables = noise.len();
        if n_variables == 0 {
            return Err(driftgraph_core::CoreError::NoVariables.into());
        }
        for (what, values, expected) in [
            ("matrix entries", matrix, n_variables * n_variables),
            ("offsets", offsets, n_variables),
        ] {
            let found = values.len();
            if found != expected {
                let error =
                    SystemError::WrongCoefficientCount { n_variables, what, expected, found };
                return Err(error);
            }
            if let Some(&found) = values.iter().find(|value| !value.is_finite()) {
                return Err(SystemError::BadCoefficient { what, condition: "", found });
            }
        }
        if let Some(&found) = noise.iter().find(|&&value| !(value >= 0.0 && value.is_finite())) {
            let (what, condition) = ("noise scales", " and not negative");
            return Err(SystemError::BadCoefficient { what, condition, found });
        }
        Ok(Self {
            couplings: Couplings::from_matrix(n_variables, matrix),
            offsets: offsets.to_vec(),
            noise: noise.to_vec(),
        })
    }

    /// Self-effects of -1 and `n_parents` random sources per variable, small enough to be stable.
    fn random(n_variables: usize, n_parents: usize, noise: f64, seed: u64) -> Self {
        let mut generator = RandomStream::new(seed, Purpose::System, 0);
        let weight = |generator: &mut RandomStream| stable_weight(generator, n_parents);
        let mut couplings = Couplings::random(n_variables, n_parents, &mut generator, weight);
        couplings.add_self_effects(-1.0);
        Self { couplings, offsets: vec![0.0; n_variables], noise: vec![noise; n_variables] }
    }
}

impl DiagonalSde for LinearSde {
    fn n_variables(&self) -> usize {
        self.noise.len()
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for (target, drift) in out.iter_mut().enumerate() {
            *drift = self.couplings.weighted_sum(target, state) + self.offsets[target];
        }
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.noise);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for LinearSde {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        numbered("x", self.n_variables())
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut graph = SignatureGraph::empty(self.n_variables());
        self.couplings.mark_edges(&mut graph);
        graph
    }

    /// Standard normal.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.01 }
    }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::TimeGrid;
    use driftgraph_core::process::brownian::BrownianIncrements;
    use driftgraph_core::process::solver::{Scheme, integrate};

    use super::*;

    #[test]
    fn the_graph_is_where_the_matrix_is_not_zero() {
        let matrix = [-1.0, 0.5, 0.0, 0.0];
        let system = LinearSde::from_matrix(&matrix, &[0.0, 3.0], &[0.1, 0.2]).unwrap();
        assert_eq!(system.true_graph().edges().collect::<Vec<_>>(), [(0, 0), (0, 1)]);
        let mut drift = [0.0; 2];
        system.drift(0.0, &[2.0, 7.0], &mut drift);
        assert_eq!(drift, [-2.0, 4.0]);
    }

    #[test]
    fn coefficients_that_do_not_fit_are_refused() {
        let message = |matrix: &[f64], offsets: &[f64], noise: &[f64]| {
            LinearSde::from_matrix(matrix, offsets, noise).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[1.0; 3], &[0.0; 2], &[1.0; 2]),
            "a linear system of 2 variables needs 4 matrix entries, found 3"
        );
        assert_eq!(
            message(&[1.0; 4], &[0.0; 1], &[1.0; 2]),
            "a linear system of 2 variables needs 2 offsets, found 1"
        );
        assert_eq!(
            message(&[1.0], &[0.0], &[-1.0]),
            "the noise scales of a linear system must be finite and not negative, found -1"
        );
        assert!(message(&[f64::NAN], &[0.0], &[1.0]).ends_with("must be finite, found NaN"));
        assert_eq!(message(&[], &[], &[]), "there are no variables");
    }

    #[test]
    fn random_systems_return_to_zero_without_noise() {
        for seed in 0..20 {
            let system = LinearSde::random(12, 3, 0.0, seed);
            let grid = TimeGrid::new(&[0.0, 60.0], 0.05).unwrap();
            let still = |_: usize, _: f64, dw: &mut [f64]| dw.fill(0.0);
            let start = [1.0; 12];
            let states = integrate(&system, Scheme::EulerMaruyama, &grid, &start, still).unwrap();
            // Gershgorin: every eigenvalue has real part at most -1 + 0.8, so that modes shrink
            // by e^-12 = 6e-6 or more; the margin is for non-orthogonal modes.
            assert!(states[12..].iter().all(|value| value.abs() < 1e-3), "seed {seed}");
        }
    }

    #[test]
    fn mean_and_variance_are_those_of_the_ornstein_uhlenbeck_process() {
        // dX = (2 - 1.5 X) dt + 0.8 dW from X = 3, as 200 independent copies along 200 series.
        let (decay, offset, noise, start, time) = (1.5_f64, 2.0, 0.8_f64, 3.0, 0.7_f64);
        let (n_copies, n_series, dt) = (200, 200, 1e-3);
        let mut matrix = vec![0.0; n_copies * n_copies];
        matrix.iter_mut().step_by(n_copies + 1).for_each(|entry| *entry = -decay);
        let noises = vec![noise; n_copies];
        let system = LinearSde::from_matrix(&matrix, &vec![offset; n_copies], &noises).unwrap();
        let grid = TimeGrid::new(&[0.0, time], dt).unwrap();
        let mut ends = Vec::new();
        for series in 0..n_series {
            let mut increments = BrownianIncrements::new(11, series);
            let fill = |step: usize, dt: f64, dw: &mut [f64]| increments.fill(step, dt, dw);
            let starts = vec![start; n_copies];
            let states = integrate(&system, Scheme::EulerMaruyama, &grid, &starts, fill).unwrap();
            ends.extend_from_slice(&states[n_copies..]);
        }
        let n = ends.len() as f64;
        let mean = ends.iter().sum::<f64>() / n;
        let variance = ends.iter().map(|end| (end - mean).powi(2)).sum::<f64>() / (n - 1.0);

        let fading = (-decay * time).exp();
        let expected_mean = offset / decay + (start - offset / decay) * fading;
        let expected_variance = noise * noise * (1.0 - fading * fading) / (2.0 * decay);
        // Monte Carlo: 4 standard errors of 40,000 draws (false alarms, were the seed random: one
        // in 8,000 for each). Euler's bias is of order decay dt = 0.0015 relative, added on top.
        let mean_error = 4.0 * (expected_variance / n).sqrt() + decay * dt * start;
        let variance_error = expected_variance * (4.0 * (2.0 / n).sqrt() + 2.0 * decay * dt);
        assert!((mean - expected_mean).abs() < mean_error, "{mean} for {expected_mean}");
        assert!((variance - expected_variance).abs() < variance_error, "variance {variance}");
    }
}
