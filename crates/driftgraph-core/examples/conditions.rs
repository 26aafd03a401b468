//! How often a difference is claimed between two conditions that are equal, and how often claims are right where some
//! edges differ. Prints the table of `results/conditions`.
//!
//! `cargo run --release -p driftgraph-core --features testing --example conditions -- 1000 20`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::bridge::{BridgeSettings, NoiseScale};
use driftgraph_core::train::linear::regimes::{RegimeOutcome, RegimeRequest, fit_regimes};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{ObservedSeries, SeriesSet};

const D: usize = 6;
const N_SERIES: usize = 3;
const N_ROWS: usize = 60;
/// Edges of a system between different variables, and how many are others in the second condition.
const N_EDGES: usize = 8;
const N_CHANGED: usize = 3;
const BINS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

type Effects = [[f64; D]; D];

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (first, n) =
        (numbers.first().copied().unwrap_or(1000), numbers.get(1).copied().unwrap_or(20));
    let mut tallies = [Tally::default(), Tally::default()];
    for seed in first..first + n {
        for (kind, tally) in tallies.iter_mut().enumerate() {
            let changed = if kind == 0 { 0 } else { N_CHANGED };
            let pair = systems(seed, changed);
            tally.add(&pair, &claims(&pair, seed));
        }
    }
    println!(
        "`cargo run --release -p driftgraph-core --features testing --example conditions -- {first} {n}`\n"
    );
    println!(
        "{n} pairs of equal conditions and {n} pairs of which {N_CHANGED} effects differ (one gone, one new, one turned); linear systems of {D} variables, \
         {N_SERIES} series of {N_ROWS} rows in each condition, seeds from {first}.\n"
    );
    println!(
        "| conditions | edges | that differ | claimed above 0.5 | of these wrong | claimed above 0.9 | of these wrong |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, tally) in ["equal", "three effects differ"].iter().zip(&tallies) {
        println!("{}", tally.row(name));
    }
    println!(
        "\n| probability of a difference | mean probability | share that differs | edges |\n| --- | ---: | ---: | ---: |"
    );
    let all: Vec<(f64, bool)> =
        tallies.iter().flat_map(|tally| tally.said.iter().copied()).collect();
    let bounds: Vec<f64> = [&[0.0], &BINS[..], &[1.0]].concat();
    for bin in bounds.windows(2) {
        let own: Vec<&(f64, bool)> =
            all.iter().filter(|(p, _)| *p >= bin[0] && (*p < bin[1] || bin[1] == 1.0)).collect();
        let n = own.len() as f64;
        let mean = own.iter().map(|(p, _)| p).sum::<f64>() / n;
        let share = own.iter().filter(|(_, differs)| *differs).count() as f64 / n;
        println!("| {:.1} to {:.1} | {mean:.3} | {share:.3} | {n} |", bin[0], bin[1]);
    }
}

/// Effects `[source, target]` in both conditions.
fn systems(seed: u64, changed: usize) -> [Effects; 2] {
    let mut random = RandomStream::new(seed, Purpose::System, 0);
    let mut effects = [[0.0; D]; D];
    for (idx, row) in effects.iter_mut().enumerate() {
        row[idx] = -0.5;
    }
    let mut pairs: Vec<(usize, usize)> =
        (0..D * D).map(|at| (at / D, at % D)).filter(|(a, b)| a != b).collect();
    random.shuffle(&mut pairs);
    for &(source, target) in &pairs[..N_EDGES] {
        let size = 0.25 + 0.25 * random.uniform();
        effects[source][target] = if random.uniform() < 0.5 { size } else { -size };
    }
    let mut second = effects;
    if changed > 0 {
        let [gone, turned, new] = [pairs[0], pairs[1], pairs[N_EDGES]];
        second[gone.0][gone.1] = 0.0;
        second[turned.0][turned.1] *= -1.0;
        second[new.0][new.1] = 0.4;
    }
    [effects, second]
}

fn series(effects: &Effects, seed: u64, number: u64) -> ObservedSeries {
    let mut random = RandomStream::new(seed, Purpose::Brownian, number);
    let mut state: [f64; D] = std::array::from_fn(|_| random.normal());
    let mut values = Vec::new();
    for _ in 0..N_ROWS {
        values.extend(state);
        let before = state;
        for (target, value) in state.iter_mut().enumerate() {
            let drift: f64 = (0..D).map(|source| before[source] * effects[source][target]).sum();
            *value += drift + 0.5 * random.normal();
        }
    }
    let times = (0..N_ROWS).map(|row| row as f64).collect();
    ObservedSeries::new(format!("s{number}"), D, times, values).expect("rows are whole")
}

/// Probability of a difference of every edge between different variables, with its ends.
fn claims(pair: &[Effects; 2], seed: u64) -> Vec<(usize, usize, f64)> {
    let n = N_SERIES as u64;
    let all = (0..2 * n).map(|number| series(&pair[usize::from(number >= n)], seed, number));
    let names = (0..D).map(|idx| format!("x{idx}")).collect();
    let data = SeriesSet::new(names, all.collect()).expect("series agree");
    let labels = (0..2 * n).map(|number| vec![u8::from(number >= n); N_ROWS]).collect();
    let noise_scale = NoiseScale::Fixed { scale: 0.01 };
    let settings = BridgeSettings { seed, noise_scale, ..BridgeSettings::default() };
    let settings = settings.check().expect("settings are valid");
    let request = RegimeRequest::Known { labels, n: 2 };
    let found = fit_regimes(&data, &EdgePrior::new(D, 0.0), &settings, &request, &Silent);
    let Ok(RegimeOutcome::Several(fit)) = found else { panic!("two conditions are two regimes") };
    let between = fit.edges.iter().filter(|edge| edge.source != edge.target);
    between.map(|edge| (edge.source, edge.target, edge.contrasts[0].probability)).collect()
}

#[derive(Default)]
struct Tally {
    /// What was said of every edge, and whether it differs.
    said: Vec<(f64, bool)>,
}

impl Tally {
    fn add(&mut self, pair: &[Effects; 2], claims: &[(usize, usize, f64)]) {
        let differs = |&(source, target, p): &(usize, usize, f64)| {
            (p, (pair[0][source][target] - pair[1][source][target]).abs() > 0.0)
        };
        self.said.extend(claims.iter().map(differs));
    }

    fn row(&self, name: &str) -> String {
        let count =
            |of: &dyn Fn(&(f64, bool)) -> bool| self.said.iter().filter(|one| of(one)).count();
        let claimed = [0.5, 0.9].map(|bound| {
            let all = count(&|(p, _)| *p >= bound);
            let wrong = count(&|(p, differs)| *p >= bound && !differs);
            format!("{all} | {wrong}")
        });
        let truly = count(&|(_, differs)| *differs);
        format!("| {name} | {} | {truly} | {} | {} |", self.said.len(), claimed[0], claimed[1])
    }
}
