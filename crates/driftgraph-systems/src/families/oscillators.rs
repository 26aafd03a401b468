//! Excitable cells with a voltage and a recovery variable each (FitzHugh 1961; Nagumo et al. 1962).

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

use super::{Draw, FamilyMember};
use crate::{Recipe, System, SystemError, UsualTimes, generate};

/// dv = (v - v^3/3 - w + current + sum_i leak_i (v_i - v)) dt + noise dW; dw = (v + 0.7 - 0.8 w) / 12.5 dt + noise dW.
#[derive(Debug)]
struct Cells {
    n_cells: usize,
    /// `[source, target]`, between voltages.
    leaks: Vec<f64>,
    current: f64,
    noise: f64,
}

pub(super) fn draw(draw: &mut Draw) -> Result<FamilyMember, SystemError> {
    let size = draw.size();
    let n_cells = size.n_variables / 2;
    let n_parents = 1 + draw.random.below(2);
    let mut leaks = vec![0.0; n_cells * n_cells];
    for target in 0..n_cells {
        let mut sources: Vec<usize> = (0..n_cells).filter(|&idx| idx != target).collect();
        draw.random.shuffle(&mut sources);
        for source in sources.into_iter().take(n_parents) {
            leaks[source * n_cells + target] = draw.between(0.1, 0.4);
        }
    }
    let cells =
        Cells { n_cells, leaks, current: draw.between(0.4, 0.8), noise: draw.one_of(&[0.05, 0.2]) };
    let gap = draw.one_of(&[0.3, 0.6, 1.0]);
    let recipe = Recipe {
        n_series: size.n_series,
        n_points: size.n_points,
        time_range: (0.0, gap * (size.n_points - 1) as f64),
        ..Recipe::usual(&cells, draw.seed)
    };
    let made = generate(&cells, &recipe)?;
    Ok(FamilyMember { data: made.data, truth: made.truth })
}

impl DiagonalSde for Cells {
    fn n_variables(&self) -> usize {
        2 * self.n_cells
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let (voltages, recoveries) = state.split_at(self.n_cells);
        for cell in 0..self.n_cells {
            let (v, w) = (voltages[cell], recoveries[cell]);
            let leak =
                |source: usize| self.leaks[source * self.n_cells + cell] * (voltages[source] - v);
            let leaked: f64 = (0..self.n_cells).map(leak).sum();
            out[cell] = v - v * v * v / 3.0 - w + self.current + leaked;
            out[self.n_cells + cell] = (v + 0.7 - 0.8 * w) / 12.5;
        }
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        let (voltages, recoveries) = out.split_at_mut(self.n_cells);
        voltages.fill(self.noise);
        // Recovery is slow: the same noise would drown it.
        recoveries.fill(self.noise / 4.0);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Cells {
    fn name(&self) -> &'static str {
        "fitzhugh-nagumo"
    }

    fn variables(&self) -> Vec<String> {
        let named = |prefix| (1..=self.n_cells).map(move |number| format!("{prefix}{number}"));
        named("v").chain(named("w")).collect()
    }

    fn true_graph(&self) -> SignatureGraph {
        let n_cells = self.n_cells;
        let mut graph = SignatureGraph::empty(2 * n_cells);
        for target in 0..n_cells {
            for source in [target, n_cells + target] {
                graph.set_edge(source, target, true);
                graph.set_edge(source, n_cells + target, true);
            }
            for source in 0..n_cells {
                if self.leaks[source * n_cells + target] != 0.0 {
                    graph.set_edge(source, target, true);
                }
            }
        }
        graph
    }

    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 60.0, n_points: 101, step_size: 0.02 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_is_what_moves_the_drift() {
        let cells = Cells { n_cells: 2, leaks: vec![0.0, 0.3, 0.0, 0.0], current: 0.5, noise: 0.1 };
        let drift = |state: &[f64]| {
            let mut out = [0.0; 4];
            cells.drift(0.0, state, &mut out);
            out
        };
        let state = [0.3, -0.8, 0.2, 0.5];
        let graph = cells.true_graph();
        for source in 0..4 {
            let mut moved = state;
            moved[source] += 0.01;
            let (before, after) = (drift(&state), drift(&moved));
            for target in 0..4 {
                assert_eq!(before[target] != after[target], graph.has_edge(source, target));
            }
        }
    }
}
