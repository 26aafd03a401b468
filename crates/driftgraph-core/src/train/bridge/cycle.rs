//! Cycles of the learning rate: a first one that opens the graph slowly, then shorter warm restarts
//! until nothing changes any more.

use std::f64::consts::PI;

/// Steps over which the learning rate rises.
const WARM_UP: f64 = 30.0;
/// Share of a cycle after which the learning rate falls.
const FLAT: f64 = 0.4;
/// Share of the learning rate left at the end of a cycle.
const FINAL: f64 = 0.02;
/// Share of the first cycle during which the graph's logits stay, so that effects take shape first.
const GRAPH_FROZEN: f64 = 0.1;
/// Share of the first cycle over which the graph prior then gains its weight.
const PRIOR_RAMP: f64 = 0.4;
/// Share of the learning rate with which a later cycle starts.
const RESTART: f64 = 0.5;
/// Share of a cycle before the window over which changes are judged.
const BEFORE_WINDOW: f64 = 0.7;

/// One cycle of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cycle {
    /// Number of the cycle, from 0.
    pub number: u32,
    /// Its first step.
    pub first_step: u64,
    /// Its number of steps.
    pub n_steps: u64,
}

impl Cycle {
    /// The first cycle.
    pub fn first(n_steps: u64) -> Self {
        Self { number: 0, first_step: 0, n_steps }
    }

    /// The cycle that follows, as long as the first.
    #[must_use]
    pub fn next(self) -> Self {
        Self { number: self.number + 1, first_step: self.end(), n_steps: self.n_steps }
    }

    /// The step after its last.
    pub fn end(self) -> u64 {
        self.first_step + self.n_steps
    }

    /// The step at which the window starts over which changes are judged.
    pub fn window_start(self) -> u64 {
        self.first_step + (BEFORE_WINDOW * self.n_steps as f64) as u64
    }

    /// How much of the cycle is done at a step.
    fn done(self, step: u64) -> f64 {
        (step.saturating_sub(self.first_step) as f64 / self.n_steps as f64).min(1.0)
    }

    /// Share of the largest learning rates at a step.
    pub fn rate(self, step: u64) -> f64 {
        let warm_up = ((step - self.first_step + 1) as f64 / WARM_UP).min(1.0);
        let falling = ((self.done(step) - FLAT) / (1.0 - FLAT)).max(0.0);
        let share = FINAL + (1.0 - FINAL) * 0.5 * (1.0 + (PI * falling).cos());
        warm_up * share * if self.number == 0 { 1.0 } else { RESTART }
    }

    /// Share of the graph's own learning rate: 0 while its logits stay.
    pub fn graph_rate(self, step: u64) -> f64 {
        if self.number == 0 && self.done(step) < GRAPH_FROZEN { 0.0 } else { self.rate(step) }
    }

    /// Weight of the graph prior at a step.
    pub fn prior_weight(self, step: u64) -> f64 {
        if self.number > 0 {
            return 1.0;
        }
        ((self.done(step) - GRAPH_FROZEN) / PRIOR_RAMP).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cycle_warms_up_stays_and_falls() {
        let cycle = Cycle::first(1000);
        assert!((cycle.rate(0) - 1.0 / 30.0).abs() < 1e-15);
        assert_eq!((cycle.rate(29), cycle.rate(400)), (1.0, 1.0));
        assert!((cycle.rate(700) - 0.51).abs() < 1e-12 && cycle.rate(999) < 0.021);
        assert_eq!((cycle.graph_rate(99), cycle.graph_rate(100)), (0.0, 1.0));
        let weights = [50, 300, 500, 900].map(|step| cycle.prior_weight(step));
        assert_eq!((weights[0], weights[2], weights[3]), (0.0, 1.0, 1.0));
        assert!((weights[1] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn later_cycles_restart_lower_with_the_whole_prior() {
        let cycle = Cycle::first(1000).next();
        assert_eq!((cycle.first_step, cycle.end(), cycle.window_start()), (1000, 2000, 1700));
        assert_eq!((cycle.rate(1100), cycle.graph_rate(1100)), (0.5, 0.5));
        assert_eq!(cycle.prior_weight(1000), 1.0);
    }
}
