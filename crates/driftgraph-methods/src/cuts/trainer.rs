//! Epochs of two stages each: networks given sampled graphs, then the graph given the networks.

use driftgraph_core::layers::{Real, vectorised};
use driftgraph_core::train::adam::{Adam, AdamState};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::CutsSettings;
use super::chance::{Chance, Draw, Stage};
use super::network::{Network, Samples, TargetPass, Wanted};
use super::table::Table;

/// Where learning rates and temperature end, as shares of where they start.
const RATE_SHARE: f64 = 0.1;
const TEMPERATURE_SHARE: f64 = 0.1;

/// Everything that changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State<R> {
    pub(super) epoch: u64,
    pub(super) parameters: Vec<R>,
    adam: AdamState<R>,
    /// Logits of the graph, `[target, cause, lag]`, the oldest lag first.
    pub(super) theta: Vec<f64>,
    theta_adam: AdamState<f64>,
    temperature: f64,
    rate: f64,
    theta_rate: f64,
    /// Filled values of all series, and what the networks predicted where nothing was observed.
    pub(super) values: Vec<R>,
    predicted: Vec<R>,
    /// Whether all values supervise, those that were filled in among them.
    all_supervise: bool,
}

/// Networks and graph in training.
pub(super) struct Trainer<'a, R> {
    pub(super) settings: &'a CutsSettings,
    network: Network,
    table: &'a Table,
    pub(super) state: State<R>,
}

/// Losses of one epoch: of each batch of the first stage, and of each of the second.
#[derive(Debug, Default)]
pub(super) struct EpochLosses {
    pub(super) predictions: Vec<f64>,
    pub(super) graphs: Vec<GraphLoss>,
}

/// Loss of a step of the graph, and what it is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphLoss {
    /// Prediction error with the penalty.
    pub(super) total: f64,
    /// Prediction error alone.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) data: f64,
    /// Mean probability of edges, summed over lags: what is penalised.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) density: f64,
    /// How far edges were relaxed.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) temperature: f64,
}

impl<'a, R: Real + Serialize> Trainer<'a, R> {
    pub(super) fn new(table: &'a Table, settings: &'a CutsSettings) -> Self {
        let d = table.n_variables;
        let network = Network::new(d * settings.lags, settings.hidden_size, settings.layers);
        let parameters: Vec<R> = network.initial(d, settings.seed);
        let values: Vec<R> = table.filled.iter().map(|&value| R::from_f64(value)).collect();
        let theta = vec![0.0; d * d * settings.lags];
        let state = State {
            epoch: 0,
            adam: AdamState::new(parameters.len()),
            parameters,
            theta_adam: AdamState::new(theta.len()),
            theta,
            temperature: 1.0,
            rate: settings.learning_rate,
            theta_rate: settings.graph_rate,
            predicted: values.clone(),
            values,
            all_supervise: false,
        };
        Self { settings, network, table, state }
    }

    /// Edge probabilities, the largest over all lags, `[cause, target]`.
    pub(super) fn scores(&self) -> Vec<f64> {
        let (d, lags) = (self.table.n_variables, self.settings.lags);
        (0..d * d)
            .map(|idx| {
                let (cause, target) = (idx / d, idx % d);
                let first = (target * d + cause) * lags;
                self.state.theta[first..first + lags]
                    .iter()
                    .map(|theta| theta.sigmoid())
                    .fold(0.0, f64::max)
            })
            .collect()
    }

    /// One epoch; `chance` decides everything random.
    pub(super) fn epoch(&mut self, chance: &dyn Chance) -> EpochLosses {
        let (epoch, settings) = (self.state.epoch, self.settings);
        if epoch >= settings.fill_after {
            let take = R::from_f64(settings.fill_rate);
            let state = &mut self.state;
            for (value, predicted) in state.values.iter_mut().zip(&state.predicted) {
                *value = (R::ONE - take) * *value + take * *predicted;
            }
        }
        if epoch == settings.fill_after + settings.masked_epochs {
            self.state.all_supervise = true;
            self.state.temperature = 1.0;
        }
        self.state.predicted.clone_from(&self.state.values);
        let order = chance.order(epoch, self.table.samples.len());
        let size = settings.batch_size.min(order.len());
        let batches: Vec<&[usize]> = order.chunks_exact(size).collect();
        let share = |whole: f64| whole.powf(1.0 / settings.epochs() as f64);
        let mut losses = EpochLosses::default();
        for (number, batch) in batches.iter().enumerate() {
            losses.predictions.push(self.predict(batch, number as u64, chance));
        }
        self.state.rate *= share(RATE_SHARE);
        for (number, batch) in batches.iter().enumerate() {
            losses.graphs.push(self.learn_graph(batch, number as u64, chance));
        }
        self.state.theta_rate *= share(RATE_SHARE);
        self.state.temperature *= share(TEMPERATURE_SHARE);
        self.state.epoch += 1;
        losses
    }

    /// One step of the networks on sampled graphs; gives its loss.
    fn predict(&mut self, batch: &[usize], number: u64, chance: &dyn Chance) -> f64 {
        let samples = self.samples(batch);
        let draw = self.draw(number, Stage::Networks);
        let gates = self.gates(batch.len(), |target, noise, gates| {
            chance.fill_uniform(Draw { target, ..draw }, noise);
            let likely: Vec<f64> =
                self.theta_of(target).iter().map(|theta| theta.sigmoid()).collect();
            let width = likely.len();
            for (gates, noise) in gates.chunks_exact_mut(width).zip(noise.chunks_exact(width)) {
                let pairs = gates.iter_mut().zip(likely.iter().zip(noise));
                pairs.for_each(|(gate, (p, noise))| {
                    *gate = if noise < p { R::ONE } else { R::ZERO };
                });
            }
        });
        let parameters = &self.state.parameters;
        let decay = R::from_f64(self.settings.weight_decay);
        let mut grads: Vec<R> = parameters.iter().map(|&parameter| decay * parameter).collect();
        let wanted = Wanted { weight_grads: Some(&mut grads), inputs: false };
        let passes = self.network.pass_for(wanted, parameters, &samples, &gates);
        self.keep_predictions(batch, &passes);
        let state = &mut self.state;
        Adam::default().step(state.rate, &grads, &mut state.adam, &mut state.parameters);
        passes.iter().map(|pass| pass.loss).sum()
    }

    /// One step of the graph on relaxed samples of it; gives its loss.
    fn learn_graph(&mut self, batch: &[usize], number: u64, chance: &dyn Chance) -> GraphLoss {
        let samples = self.samples(batch);
        let draw = self.draw(number, Stage::Graph);
        let temperature = self.state.temperature;
        let gates = self.gates(batch.len(), |target, noise, gates| {
            chance.fill_logistic(Draw { target, ..draw }, noise);
            let logits: Vec<f64> =
                self.theta_of(target).iter().map(|&theta| self.settings.logits.of(theta)).collect();
            let inverse = 1.0 / temperature;
            let width = logits.len();
            vectorised(
                #[inline(always)]
                || {
                    let rows = gates.chunks_exact_mut(width).zip(noise.chunks_exact(width));
                    for (gates, noise) in rows {
                        let pairs = gates.iter_mut().zip(logits.iter().zip(noise));
                        pairs.for_each(|(gate, (logit, noise))| {
                            *gate = R::from_f64((logit + noise) * inverse).sigmoid();
                        });
                    }
                },
            );
        });
        let parameters = &self.state.parameters;
        let wanted = Wanted { weight_grads: None, inputs: true };
        let passes = self.network.pass_for(wanted, parameters, &samples, &gates);
        let d = self.table.n_variables;
        let penalty = self.settings.sparsity / (d * d) as f64;
        let grads = self.graph_gradient(&samples, &passes, &gates, penalty);
        let sum: f64 = self.state.theta.iter().map(|theta| theta.sigmoid()).sum();
        let data = passes.iter().map(|pass| pass.loss).sum::<f64>();
        let loss = GraphLoss {
            total: data + penalty * sum,
            data,
            density: sum / (d * d) as f64,
            temperature,
        };
        let state = &mut self.state;
        Adam::default().step(state.theta_rate, &grads, &mut state.theta_adam, &mut state.theta);
        loss
    }

    /// Gradient of the graph's logits, through its relaxed samples and the penalty.
    fn graph_gradient(
        &self,
        samples: &Samples<R>,
        passes: &[TargetPass<R>],
        gates: &[Vec<R>],
        penalty: f64,
    ) -> Vec<f64> {
        let width = samples.inputs.len() / samples.n_samples;
        let of_target = |target: usize| -> Vec<f64> {
            let data = relaxed_gradient(samples, &passes[target].grad_inputs, &gates[target]);
            let of_logit = |(data, &theta): (f64, &f64)| {
                let (p, slope) = (theta.sigmoid(), self.settings.logits.slope(theta));
                data * slope / self.state.temperature + penalty * p * (1.0 - p)
            };
            data.into_iter().zip(self.theta_of(target)).map(of_logit).collect()
        };
        let n_targets = self.state.theta.len() / width;
        (0..n_targets).into_par_iter().flat_map_iter(of_target).collect()
    }

    /// What the first target's random numbers are drawn for.
    fn draw(&self, batch: u64, stage: Stage) -> Draw {
        Draw { epoch: self.state.epoch, batch, stage, target: 0 }
    }

    fn theta_of(&self, target: usize) -> &[f64] {
        let width = self.table.n_variables * self.settings.lags;
        &self.state.theta[target * width..(target + 1) * width]
    }

    /// Gates of all targets, `[target, sample, (cause, lag)]`, each filled by `fill`, which is lent as much room for noise.
    fn gates(
        &self,
        n_samples: usize,
        fill: impl Fn(usize, &mut [f64], &mut [R]) + Sync,
    ) -> Vec<Vec<R>> {
        let d = self.table.n_variables;
        let n_cells = n_samples * d * self.settings.lags;
        (0..d)
            .into_par_iter()
            .map_init(
                || vec![0.0; n_cells],
                |noise, target| {
                    let mut gates = vec![R::ZERO; n_cells];
                    fill(target, noise, &mut gates);
                    gates
                },
            )
            .collect()
    }

    fn samples(&self, batch: &[usize]) -> Samples<R> {
        let (d, lags) = (self.table.n_variables, self.settings.lags);
        let rows = batch.iter().map(|&sample| self.table.samples[sample]);
        let mut inputs = Vec::with_capacity(batch.len() * d * lags);
        for row in rows.clone() {
            for cause in 0..d {
                inputs
                    .extend((0..lags).map(|lag| self.state.values[(row - lags + lag) * d + cause]));
            }
        }
        let cells = (0..d).flat_map(|target| rows.clone().map(move |row| row * d + target));
        let is_seen = |cell: usize| self.state.all_supervise || self.table.observed[cell];
        Samples {
            n_samples: batch.len(),
            inputs,
            targets: cells.clone().map(|cell| self.state.values[cell]).collect(),
            mask: cells.map(|cell| if is_seen(cell) { R::ONE } else { R::ZERO }).collect(),
        }
    }

    /// Notes what was predicted where nothing supervises.
    fn keep_predictions(&mut self, batch: &[usize], passes: &[TargetPass<R>]) {
        if self.state.all_supervise {
            return;
        }
        let d = self.table.n_variables;
        for (target, pass) in passes.iter().enumerate() {
            for (&sample, &prediction) in batch.iter().zip(&pass.predictions) {
                let cell = self.table.samples[sample] * d + target;
                if !self.table.observed[cell] {
                    self.state.predicted[cell] = prediction;
                }
            }
        }
    }
}

/// Gradient of the arguments of the relaxed gates of one target, times the temperature, summed over samples.
fn relaxed_gradient<R: Real>(samples: &Samples<R>, grad_inputs: &[R], gates: &[R]) -> Vec<f64> {
    let width = samples.inputs.len() / samples.n_samples;
    let mut sums = vec![0.0; width];
    vectorised(
        #[inline(always)]
        || {
            let rows = grad_inputs.chunks_exact(width).zip(gates.chunks_exact(width));
            for (inputs, (grads, gates)) in samples.inputs.chunks_exact(width).zip(rows) {
                for (idx, sum) in sums.iter_mut().enumerate() {
                    let gate = gates[idx].to_f64();
                    let grad = grads[idx].to_f64() * inputs[idx].to_f64();
                    *sum += grad * gate * (1.0 - gate);
                }
            }
        },
    );
    sums
}
