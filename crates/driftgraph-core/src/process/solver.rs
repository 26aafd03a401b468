//! Solvers: a process, an initial state and Brownian increments in, states at asked times out.

use std::str::FromStr;

use super::sde::DiagonalSde;
use crate::{CoreError, TimeGrid};

/// How one step moves the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// Strong order 1/2, and 1 where the diffusion does not depend on the state.
    ///
    /// Maruyama (1955), doi:10.1007/BF02846028.
    #[default]
    EulerMaruyama,
    /// Strong order 1 where each diffusion depends on its own variable alone.
    ///
    /// A diffusion that depends on other variables would need iterated integrals across them,
    /// which are left out: the order is then 1/2. Milstein (1975), doi:10.1137/1119062.
    Milstein,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 2] = [Self::EulerMaruyama, Self::Milstein];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        match self {
            Self::EulerMaruyama => "euler-maruyama",
            Self::Milstein => "milstein",
        }
    }

    /// Moves `state` from `time` to `time + dt`, driven by the Brownian increments `dw`.
    pub fn step(
        self,
        sde: &(impl DiagonalSde + ?Sized),
        time: f64,
        dt: f64,
        dw: &[f64],
        state: &mut [f64],
        work: &mut StepBuffers,
    ) {
        sde.drift(time, state, &mut work.drift);
        sde.diffusion(time, state, &mut work.diffusion);
        if self == Self::Milstein {
            sde.diffusion_derivative(time, state, &mut work.derivative);
        }
        for (idx, z) in state.iter_mut().enumerate() {
            let (f, g, dw) = (work.drift[idx], work.diffusion[idx], dw[idx]);
            *z += match self {
                // Eq. 4 (eq: EM updates no graph): z + f dt + g dw.
                Self::EulerMaruyama => f * dt + g * dw,
                // Milstein (1975): z + f dt + g dw + 1/2 g g' (dw² - dt).
                Self::Milstein => f * dt + g * dw + 0.5 * g * work.derivative[idx] * (dw * dw - dt),
            };
        }
    }
}

impl FromStr for Scheme {
    type Err = CoreError;

    fn from_str(name: &str) -> Result<Self, CoreError> {
        let found = Self::ALL.into_iter().find(|scheme| scheme.name() == name);
        found.ok_or_else(|| CoreError::UnknownScheme { name: name.to_owned() })
    }
}

/// Room for the coefficients of one step, so that stepping does not allocate.
#[derive(Debug, Clone)]
pub struct StepBuffers {
    drift: Vec<f64>,
    diffusion: Vec<f64>,
    derivative: Vec<f64>,
}

impl StepBuffers {
    /// Room for a process of `n_variables`.
    pub fn new(n_variables: usize) -> Self {
        let zeros = vec![0.0; n_variables];
        Self { drift: zeros.clone(), diffusion: zeros.clone(), derivative: zeros }
    }
}

/// States `[observation, variable]` at the observation times of `grid`.
///
/// The path starts with `initial_state` at the grid's first time, which is also the first row
/// returned. The grid holds every observation time to the bit, each gap split into equal steps:
/// nothing is interpolated. `fill_increments(step_idx, dt, dw)` writes the Brownian increments of a
/// step, e.g. [`BrownianIncrements::fill`](super::brownian::BrownianIncrements::fill), or those of
/// a path known beforehand. A state that is no longer finite is an error that tells the time.
pub fn integrate(
    sde: &(impl DiagonalSde + ?Sized),
    scheme: Scheme,
    grid: &TimeGrid,
    initial_state: &[f64],
    mut fill_increments: impl FnMut(usize, f64, &mut [f64]),
) -> Result<Vec<f64>, CoreError> {
    let n_variables = sde.n_variables();
    assert_eq!(initial_state.len(), n_variables, "a state has one number per variable");
    let mut state = initial_state.to_vec();
    let mut dw = vec![0.0; n_variables];
    let mut work = StepBuffers::new(n_variables);
    let mut recorded = Vec::with_capacity(grid.observation_idx().len() * n_variables);
    let mut walked = 0;
    for &observation_idx in grid.observation_idx() {
        for step_idx in walked..observation_idx {
            let (time, dt) = (grid.times()[step_idx], grid.step(step_idx));
            fill_increments(step_idx, dt, &mut dw);
            scheme.step(sde, time, dt, &dw, &mut state, &mut work);
            if !state.iter().all(|value| value.is_finite()) {
                return Err(CoreError::PathNotFinite { time: time + dt });
            }
        }
        walked = observation_idx;
        recorded.extend_from_slice(&state);
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::brownian::BrownianIncrements;

    /// Independent copies of one scalar process, so that one run is many paths.
    struct Copies {
        n_variables: usize,
        drift: fn(f64) -> f64,
        diffusion: fn(f64) -> f64,
        diffusion_derivative: fn(f64) -> f64,
    }

    fn apply(function: fn(f64) -> f64, state: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(state).for_each(|(out, &z)| *out = function(z));
    }

    impl DiagonalSde for Copies {
        fn n_variables(&self) -> usize {
            self.n_variables
        }
        fn drift(&self, _: f64, state: &[f64], out: &mut [f64]) {
            apply(self.drift, state, out);
        }
        fn diffusion(&self, _: f64, state: &[f64], out: &mut [f64]) {
            apply(self.diffusion, state, out);
        }
        fn diffusion_derivative(&self, _: f64, state: &[f64], out: &mut [f64]) {
            apply(self.diffusion_derivative, state, out);
        }
    }

    const N_COPIES: usize = 2_000;
    const N_FINE: usize = 1 << 12;

    /// Increments `[fine step, copy]` of Brownian motion on [0, 1].
    fn fine_increments() -> Vec<f64> {
        let mut increments = BrownianIncrements::new(5, 0);
        let mut fine = vec![0.0; N_FINE * N_COPIES];
        for (step_idx, dw) in fine.chunks_exact_mut(N_COPIES).enumerate() {
            increments.fill(step_idx, 1.0 / N_FINE as f64, dw);
        }
        fine
    }

    /// States at time 1 after `n_steps` equal steps along the path of the fine increments.
    fn end_states(sde: &Copies, scheme: Scheme, n_steps: usize, fine: &[f64]) -> Vec<f64> {
        let grid = TimeGrid::new(&[0.0, 1.0], 1.0 / n_steps as f64).unwrap();
        assert_eq!(grid.n_steps(), n_steps);
        let per_step = N_FINE / n_steps * N_COPIES;
        let sum_of_fine = |step_idx: usize, _: f64, dw: &mut [f64]| {
            dw.fill(0.0);
            for row in fine[step_idx * per_step..][..per_step].chunks_exact(N_COPIES) {
                dw.iter_mut().zip(row).for_each(|(dw, part)| *dw += part);
            }
        };
        let states = integrate(sde, scheme, &grid, &[1.0; N_COPIES], sum_of_fine).unwrap();
        states[N_COPIES..].to_vec()
    }

    /// Slope of log error against log dt between 16 and 128 steps.
    fn strong_order(sde: &Copies, scheme: Scheme, fine: &[f64], exact: &[f64]) -> f64 {
        let error = |n_steps| {
            let found = end_states(sde, scheme, n_steps, fine);
            let total: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).abs()).sum();
            total / N_COPIES as f64
        };
        (error(16) / error(128)).log2() / 3.0
    }

    /// dX = 0.5 X dt + 0.8 X dW, X(0) = 1, whose solution is exp((0.5 - 0.32) t + 0.8 W).
    const GEOMETRIC: Copies = Copies {
        n_variables: N_COPIES,
        drift: |z| 0.5 * z,
        diffusion: |z| 0.8 * z,
        diffusion_derivative: |_| 0.8,
    };

    fn geometric_solution(fine: &[f64]) -> Vec<f64> {
        let brownian = |copy| fine.iter().skip(copy).step_by(N_COPIES).sum::<f64>();
        (0..N_COPIES).map(|copy| (0.5 - 0.32 + 0.8 * brownian(copy)).exp()).collect()
    }

    // Tolerance of the three orders: the mean error of 2000 paths has a relative standard error of
    // about 1.5/sqrt(2000) = 3 %, hence 0.02 on a slope over three halvings; the rest of 0.1 is
    // for the next order's term at 16 steps. The wrong order is 0.5 away.
    const ORDER_TOLERANCE: f64 = 0.1;

    #[test]
    fn euler_maruyama_has_strong_order_one_half_on_multiplicative_noise() {
        let fine = fine_increments();
        let exact = geometric_solution(&fine);
        let order = strong_order(&GEOMETRIC, Scheme::EulerMaruyama, &fine, &exact);
        assert!((order - 0.5).abs() < ORDER_TOLERANCE, "order {order}");
    }

    #[test]
    fn milstein_has_strong_order_one_on_multiplicative_noise() {
        let fine = fine_increments();
        let exact = geometric_solution(&fine);
        let order = strong_order(&GEOMETRIC, Scheme::Milstein, &fine, &exact);
        assert!((order - 1.0).abs() < ORDER_TOLERANCE, "order {order}");
    }

    #[test]
    fn euler_maruyama_has_strong_order_one_on_additive_noise() {
        let fine = fine_increments();
        let sde = Copies {
            n_variables: N_COPIES,
            drift: |z| (2.0 * z).sin(),
            diffusion: |_| 0.7,
            diffusion_derivative: |_| 0.0,
        };
        // No closed form: 4096 steps stand for the solution, 32 times finer than the finest
        // compared, which moves the slope by log2(31/32)/3 < 0.02.
        let exact = end_states(&sde, Scheme::EulerMaruyama, N_FINE, &fine);
        let order = strong_order(&sde, Scheme::EulerMaruyama, &fine, &exact);
        assert!((order - 1.0).abs() < ORDER_TOLERANCE, "order {order}");
    }

    #[test]
    fn states_are_recorded_exactly_at_the_asked_times() {
        let clock = Copies {
            n_variables: 1,
            drift: |_| 1.0,
            diffusion: |_| 0.0,
            diffusion_derivative: |_| 0.0,
        };
        let times = [0.5, 0.61, 1.9, 7.0];
        let grid = TimeGrid::new(&times, 0.05).unwrap();
        let nothing = |_: usize, _: f64, dw: &mut [f64]| dw.fill(0.0);
        let states = integrate(&clock, Scheme::Milstein, &grid, &[0.5], nothing).unwrap();
        for (state, time) in states.iter().zip(times) {
            // dZ = dt from Z = t: 131 steps, each rounded once at a magnitude of at most 8.
            assert!((state - time).abs() < 131.0 * 8.0 * f64::EPSILON, "{state} at {time}");
        }
    }

    #[test]
    fn a_path_that_explodes_is_an_error_with_its_time() {
        let explosive = Copies {
            n_variables: 1,
            drift: |z| z * z,
            diffusion: |_| 0.0,
            diffusion_derivative: |_| 0.0,
        };
        let grid = TimeGrid::new(&[0.0, 5.0], 0.01).unwrap();
        let nothing = |_: usize, _: f64, dw: &mut [f64]| dw.fill(0.0);
        let error = integrate(&explosive, Scheme::EulerMaruyama, &grid, &[1.0], nothing);
        let Err(CoreError::PathNotFinite { time }) = error else { panic!("{error:?}") };
        // dX = X² dt from 1 reaches infinity at t = 1; Euler lags behind by some steps.
        assert!((1.0..1.3).contains(&time), "time {time}");
    }

    #[test]
    fn schemes_are_found_by_their_name_alone() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.name().parse(), Ok(scheme));
        }
        let unknown = "euler".parse::<Scheme>();
        assert_eq!(unknown, Err(CoreError::UnknownScheme { name: "euler".into() }));
    }
}
