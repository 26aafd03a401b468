//! Moves many paths of a learned process at once: blocks of paths in parallel, steps in a loop.

use rayon::prelude::*;

use super::dynamics::{BlockGraphs, Coefficients, Dynamics, GraphChoice};
use super::error::FittedError;
use super::intervention::Interventions;
use super::model::FittedModel;
use super::schedule::Schedule;
use crate::process::solver::Scheme;
use crate::random::{Purpose, RandomStream};

/// Rows (paths times variables) of a block: enough for fast products, few enough for the cache.
const BLOCK_ROWS: usize = 1024;
/// Most paths of a block, so that few variables do not leave threads idle.
const BLOCK_PATHS: usize = 128;
/// Steps whose normal numbers are drawn together.
const NOISE_STEPS: usize = 16;

/// Is told the share of the work that is done, from any thread.
pub type ShareDone<'a> = dyn Fn(f64) + Sync + 'a;

/// Where paths start, in the user's units.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StartLaw {
    /// The initial law that was learned.
    Learned,
    /// The same values for all.
    Fixed(Vec<f64>),
    /// Means and deviations per member.
    Normal(Vec<(Vec<f64>, Vec<f64>)>),
    /// One of these states `[state, variable]` for each path in turn.
    Samples(Vec<f64>),
}

/// One simulation.
pub(super) struct Engine<'a> {
    pub(super) model: &'a FittedModel,
    pub(super) schedule: &'a Schedule,
    pub(super) start: &'a StartLaw,
    pub(super) graph: GraphChoice,
    pub(super) scheme: Scheme,
    pub(super) n_paths: usize,
    pub(super) seed: u64,
    /// Added to the number of a path where random numbers are addressed.
    pub(super) first_stream: u64,
    pub(super) interventions: Option<&'a Interventions>,
    pub(super) progress: &'a ShareDone<'a>,
}

impl Engine<'_> {
    /// States `[path, kept time, variable]` in the user's units.
    pub(super) fn run(&self) -> Result<Vec<f64>, FittedError> {
        let members = Dynamics::of(self.model);
        let d = self.model.n_variables();
        if self.scheme == Scheme::Milstein {
            let fine = |dynamics: &Dynamics| {
                dynamics.has_constant_diffusion() || !dynamics.has_instant_effects()
            };
            if !members.iter().all(fine) {
                return Err(FittedError::MilsteinWithInstant);
            }
        }
        let blocks = self.blocks(members.len());
        let done = std::sync::atomic::AtomicUsize::new(0);
        let results: Vec<Result<Vec<f64>, FittedError>> = (blocks.par_iter())
            .map(|(member, paths)| {
                let result = self.run_block(&members[*member], *member, paths);
                let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                (self.progress)(done as f64 / blocks.len() as f64);
                result
            })
            .collect();
        let row = self.schedule.n_kept * d;
        let mut out = vec![0.0; self.n_paths * row];
        for ((_, paths), result) in blocks.iter().zip(results) {
            for (&path, states) in paths.iter().zip(result?.chunks_exact(row)) {
                out[path * row..(path + 1) * row].copy_from_slice(states);
            }
        }
        Ok(out)
    }

    /// Members take turns with the paths; their paths are cut into blocks of fixed size.
    fn blocks(&self, n_members: usize) -> Vec<(usize, Vec<usize>)> {
        let size = (BLOCK_ROWS / self.model.n_variables()).clamp(1, BLOCK_PATHS);
        (0..n_members)
            .flat_map(|member| {
                let paths: Vec<usize> = (member..self.n_paths).step_by(n_members).collect();
                paths.chunks(size).map(|chunk| (member, chunk.to_vec())).collect::<Vec<_>>()
            })
            .collect()
    }

    fn run_block(
        &self,
        dynamics: &Dynamics,
        member: usize,
        paths: &[usize],
    ) -> Result<Vec<f64>, FittedError> {
        let streams: Vec<usize> =
            paths.iter().map(|&path| path + self.first_stream as usize).collect();
        let mut block = Block {
            engine: self,
            dynamics,
            paths,
            graphs: BlockGraphs::new(dynamics, self.graph, self.seed, &streams),
            states: self.first_states(dynamics, member, paths),
            innovations: Innovations::new(self.seed, &streams, dynamics.n_variables()),
            within: (streams.iter())
                .map(|&stream| RandomStream::new(self.seed, Purpose::WithinStep, stream as u64))
                .collect(),
            coefficients: Coefficients::default(),
            kept: vec![0.0; paths.len() * self.schedule.n_kept * dynamics.n_variables()],
        };
        block.run()?;
        Ok(block.kept)
    }

    fn first_states(&self, dynamics: &Dynamics, member: usize, paths: &[usize]) -> Vec<f64> {
        let d = dynamics.n_variables();
        let mut states = Vec::with_capacity(paths.len() * d);
        for &path in paths {
            let (means, deviations) = match self.start {
                StartLaw::Fixed(values) => {
                    states.extend_from_slice(values);
                    continue;
                }
                StartLaw::Samples(samples) => {
                    let sample = path % (samples.len() / d);
                    states.extend_from_slice(&samples[sample * d..(sample + 1) * d]);
                    continue;
                }
                StartLaw::Learned => dynamics.initial(),
                StartLaw::Normal(laws) => (&laws[member].0[..], &laws[member].1[..]),
            };
            let mut draws = vec![0.0; d];
            let stream = path as u64 + self.first_stream;
            RandomStream::new(self.seed, Purpose::InitialState, stream).fill_normal(&mut draws);
            let cells = draws.iter().zip(means.iter().zip(deviations));
            states.extend(cells.map(|(draw, (mean, deviation))| mean + deviation * draw));
        }
        states
    }
}

/// The paths of a block on their way.
struct Block<'a> {
    engine: &'a Engine<'a>,
    dynamics: &'a Dynamics,
    paths: &'a [usize],
    graphs: BlockGraphs,
    states: Vec<f64>,
    innovations: Innovations,
    /// Random numbers of the states that are kept within steps.
    within: Vec<RandomStream>,
    coefficients: Coefficients,
    kept: Vec<f64>,
}

impl Block<'_> {
    fn run(&mut self) -> Result<(), FittedError> {
        let grid = &self.engine.schedule.grid;
        self.assign(grid.times()[0])?;
        self.keep(0);
        for step in 0..grid.n_steps() {
            self.step(step)?;
            self.keep(step + 1);
        }
        Ok(())
    }

    fn keep(&mut self, grid_idx: usize) {
        let Some(place) = self.engine.schedule.kept[grid_idx] else { return };
        let (d, n_kept) = (self.dynamics.n_variables(), self.engine.schedule.n_kept);
        for (path, state) in self.states.chunks_exact(d).enumerate() {
            let at = (path * n_kept + place) * d;
            self.kept[at..at + d].copy_from_slice(state);
        }
    }

    fn step(&mut self, step: usize) -> Result<(), FittedError> {
        let d = self.dynamics.n_variables();
        let grid = &self.engine.schedule.grid;
        let (start, end, dt) = (grid.times()[step], grid.times()[step + 1], grid.step(step));
        let milstein =
            self.engine.scheme == Scheme::Milstein && !self.dynamics.has_constant_diffusion();
        self.dynamics.coefficients(&self.states, &self.graphs, &mut self.coefficients, milstein);
        self.change_dynamics(start, milstein)?;
        let held = self.engine.interventions.map_or(Vec::new(), |all| all.held(end));
        let singular =
            |number: usize| FittedError::NoInstantSolution { path: self.paths[number] + 1 };
        self.graphs.hold(&held).map_err(singular)?;
        self.innovations.next(self.dynamics);
        self.keep_within(step, &held, milstein)?;
        let (root, graphs, coefficients) = (dt.sqrt(), &self.graphs, &self.coefficients);
        let update =
            Update { dynamics: self.dynamics, graphs, coefficients, held: &held, milstein };
        for path in 0..self.paths.len() {
            let increments = self.innovations.of(path);
            increments.iter_mut().for_each(|increment| *increment *= root);
            update.apply(path, dt, increments);
            let state = &mut self.states[path * d..(path + 1) * d];
            state.iter_mut().zip(increments.iter()).for_each(|(x, step)| *x += step);
        }
        self.assign(end)?;
        self.check_finite(&self.states, end)
    }

    fn check_finite(&self, states: &[f64], time: f64) -> Result<(), FittedError> {
        match states.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(idx) => {
                let path = self.paths[idx / self.dynamics.n_variables()] + 1;
                Err(FittedError::PathNotFinite { path, time })
            }
        }
    }

    /// Keeps the states at times within a step: the same step, cut short.
    ///
    /// The noise up to such a time is drawn given that of the whole step (a Brownian bridge), so that the
    /// path goes on as if nobody had looked.
    fn keep_within(
        &mut self,
        step: usize,
        held: &[usize],
        milstein: bool,
    ) -> Result<(), FittedError> {
        let schedule = self.engine.schedule;
        if schedule.within(step).is_empty() {
            return Ok(());
        }
        let (start, dt) = (schedule.grid.times()[step], schedule.grid.step(step));
        let (d, n_kept) = (self.dynamics.n_variables(), schedule.n_kept);
        let deviation = self.dynamics.law_variance().sqrt();
        let mut noise_so_far = vec![0.0; self.states.len()];
        let mut before = 0.0;
        for &(_, after, place) in schedule.within(step) {
            let (passed, left) = (after - before, dt - before);
            let spread = deviation * (passed * (dt - after) / left).sqrt();
            let mut states = self.states.clone();
            for path in 0..self.paths.len() {
                let range = path * d..(path + 1) * d;
                let mut draws = vec![0.0; d];
                self.within[path].fill_normal(&mut draws);
                let whole = self.innovations.of(path);
                let so_far = &mut noise_so_far[range.clone()];
                for ((so_far, whole), draw) in so_far.iter_mut().zip(whole).zip(draws) {
                    *so_far += passed / left * (dt.sqrt() * *whole - *so_far) + spread * draw;
                }
                let mut increments = so_far.to_vec();
                let (graphs, coefficients) = (&self.graphs, &self.coefficients);
                let update =
                    Update { dynamics: self.dynamics, graphs, coefficients, held, milstein };
                update.apply(path, after, &mut increments);
                let state = &mut states[range];
                state.iter_mut().zip(increments).for_each(|(x, step)| *x += step);
                if let Some(all) = self.engine.interventions {
                    self.engine.model.assign(all, start + after, state)?;
                }
                let at = (path * n_kept + place) * d;
                self.kept[at..at + d].copy_from_slice(state);
            }
            self.check_finite(&states, start + after)?;
            before = after;
        }
        Ok(())
    }

    fn change_dynamics(&mut self, time: f64, milstein: bool) -> Result<(), FittedError> {
        let Some(all) = self.engine.interventions.filter(|all| all.change_dynamics(time)) else {
            return Ok(());
        };
        let d = self.dynamics.n_variables();
        let Coefficients { drift, diffusion, derivative, .. } = &mut self.coefficients;
        for (path, state) in self.states.chunks_exact(d).enumerate() {
            let range = path * d..(path + 1) * d;
            let (drift, diffusion) = (&mut drift[range.clone()], &mut diffusion[range]);
            all.apply_to_dynamics(time, state, drift, diffusion)?;
            if milstein {
                // The derivative of a formula is not known: Euler's step for these variables.
                all.changed_diffusions(time).for_each(|idx| derivative[path * d + idx] = 0.0);
            }
        }
        Ok(())
    }

    /// Appendix, Interventions: each step is followed by the assignment z <- intervention(t, z).
    fn assign(&mut self, time: f64) -> Result<(), FittedError> {
        let Some(all) = self.engine.interventions else { return Ok(()) };
        for state in self.states.chunks_exact_mut(self.dynamics.n_variables()) {
            self.engine.model.assign(all, time, state)?;
        }
        Ok(())
    }
}

/// One step of a block's paths, from the coefficients at its start.
struct Update<'a> {
    dynamics: &'a Dynamics,
    graphs: &'a BlockGraphs,
    coefficients: &'a Coefficients,
    /// Variables that interventions hold.
    held: &'a [usize],
    milstein: bool,
}

impl Update<'_> {
    /// Turns the noise of a path over `dt` into the increments of its state.
    fn apply(&self, path: usize, dt: f64, increments: &mut [f64]) {
        let Coefficients { drift, diffusion, derivative, .. } = self.coefficients;
        let first = path * increments.len();
        for (idx, increment) in (first..).zip(increments.iter_mut()) {
            let dw = *increment;
            // Eq. 4 (eq: EM updates no graph): f dt + g dw.
            *increment = drift[idx] * dt + diffusion[idx] * dw;
            if self.milstein {
                // Milstein (1975): 1/2 g g' (dw² - dt).
                *increment += 0.5 * diffusion[idx] * derivative[idx] * (dw * dw - dt);
            }
        }
        if let Some(propagation) = self.graphs.propagation(path) {
            self.held.iter().for_each(|&variable| increments[variable] = 0.0);
            self.dynamics.propagate(propagation, increments);
        }
    }
}

/// Random numbers of a block's paths, some steps ahead.
struct Innovations {
    streams: Vec<RandomStream>,
    n: usize,
    /// `[path, step, variable]`.
    ahead: Vec<f64>,
    fast: Vec<f32>,
    next: usize,
}

impl Innovations {
    fn new(seed: u64, streams: &[usize], n: usize) -> Self {
        let streams: Vec<RandomStream> = (streams.iter())
            .map(|&stream| RandomStream::new(seed, Purpose::Brownian, stream as u64))
            .collect();
        let ahead = vec![0.0; streams.len() * NOISE_STEPS * n];
        Self { streams, n, ahead, fast: Vec::new(), next: NOISE_STEPS }
    }

    /// Moves on to the next step.
    fn next(&mut self, dynamics: &Dynamics) {
        self.next += 1;
        if self.next < NOISE_STEPS {
            return;
        }
        self.next = 0;
        let per_path = NOISE_STEPS * self.n;
        for (random, out) in self.streams.iter_mut().zip(self.ahead.chunks_exact_mut(per_path)) {
            if dynamics.is_gaussian() {
                self.fast.resize(out.len(), 0.0);
                random.fill_normal_single(&mut self.fast);
                out.iter_mut().zip(&self.fast).for_each(|(out, &draw)| *out = f64::from(draw));
            } else {
                out.chunks_exact_mut(self.n)
                    .for_each(|step| dynamics.draw_innovations(random, step));
            }
        }
    }

    /// The innovations of a path in this step, to be used up.
    fn of(&mut self, path: usize) -> &mut [f64] {
        let first = (path * NOISE_STEPS + self.next) * self.n;
        &mut self.ahead[first..first + self.n]
    }
}
