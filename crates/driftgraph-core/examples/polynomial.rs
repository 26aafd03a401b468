//! What equations cost and find: Lorenz-96, Lorenz-63 and random quadratic systems, from rows ever further apart, noisy ones too.
//!
//! `polynomial speed` prints one line of JSON: CPU seconds of one thread for Lorenz-96 with 10 variables and 10 series of 100
//! rows, at gaps of a quarter and of a half, and what was found. `polynomial many [--variables N]` does so for 20 variables or as
//! many as are said, at a quarter. `polynomial kinds [--first-seed N] [--seeds N]` prints which kind of terms is chosen for systems of several
//! kinds. `polynomial gaps [--first-seed N] [--seeds N]` prints a table: how many of the true edges are
//! found, and how many claims are false, by system, gap and measurement noise.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::process::ExitCode;

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::polynomial::{
    OtherTerms, PolynomialFit, PolynomialSettings, PolynomialTask, fit_polynomial,
};
use driftgraph_core::train::progress::{Part, Silent};
use driftgraph_core::{ObservedSeries, SeriesSet, SignatureGraph};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::{System, UsualTimes, registry};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Triads of three variables whose products conserve energy, linear decay, and a constant force.
#[derive(Debug)]
struct Triads {
    n: usize,
    /// Rate of each variable's decay, and what drives it.
    decay: Vec<f64>,
    force: Vec<f64>,
    triads: Vec<Triad>,
}

/// dx_a = w_0 x_b x_c, dx_b = w_1 x_a x_c, dx_c = w_2 x_a x_b with weights that sum to zero.
#[derive(Debug)]
struct Triad {
    members: [usize; 3],
    weights: [f64; 3],
}

impl Triads {
    fn random(n: usize, n_triads: usize, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, Purpose::System, 0);
        let decay = (0..n).map(|_| 0.5 + random.uniform()).collect();
        let mut force = vec![0.0; n];
        random.fill_normal(&mut force);
        force.iter_mut().for_each(|value| *value *= 3.0);
        let triads = (0..n_triads).map(|_| {
            let mut order: Vec<usize> = (0..n).collect();
            random.shuffle(&mut order);
            let mut weights = [0.0; 3];
            random.fill_normal(&mut weights);
            let mean = weights.iter().sum::<f64>() / 3.0;
            Triad {
                members: [order[0], order[1], order[2]],
                weights: weights.map(|weight| 1.5 * (weight - mean)),
            }
        });
        let triads = triads.collect();
        Self { n, decay, force, triads }
    }
}

impl DiagonalSde for Triads {
    fn n_variables(&self) -> usize {
        self.n
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for (j, drift) in out.iter_mut().enumerate() {
            *drift = self.force[j] - self.decay[j] * state[j];
        }
        for Triad { members: [a, b, c], weights } in &self.triads {
            out[*a] += weights[0] * state[*b] * state[*c];
            out[*b] += weights[1] * state[*a] * state[*c];
            out[*c] += weights[2] * state[*a] * state[*b];
        }
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.4);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Triads {
    fn name(&self) -> &'static str {
        "triads"
    }

    fn variables(&self) -> Vec<String> {
        (1..=self.n).map(|number| format!("x{number}")).collect()
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut edges = vec![false; self.n * self.n];
        (0..self.n).for_each(|own| edges[own * (self.n + 1)] = true);
        for Triad { members, .. } in &self.triads {
            for (place, &target) in members.iter().enumerate() {
                let sources = members.iter().enumerate().filter(|(other, _)| *other != place);
                sources.for_each(|(_, &source)| edges[source * self.n + target] = true);
            }
        }
        SignatureGraph::from_matrix(self.n, edges).expect("one entry per pair")
    }

    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.005 }
    }
}

/// Series of a system whose first five units of time are forgotten.
struct Sampled {
    n_series: usize,
    n_points: usize,
    gap: f64,
    noise: f64,
    seed: u64,
}

impl Sampled {
    fn of(&self, system: &dyn System) -> anyhow::Result<SeriesSet> {
        const FORGOTTEN: f64 = 5.0;
        let n_before = (FORGOTTEN / self.gap).ceil();
        let end = self.gap * (n_before + self.n_points as f64 - 1.0);
        let recipe = Recipe {
            n_series: self.n_series,
            n_points: n_before as usize + self.n_points,
            time_range: (0.0, end),
            step_size: 0.005,
            ..Recipe::usual(system, self.seed)
        };
        let whole = generate(system, &recipe)?.data;
        let (n, first) = (whole.n_variables(), n_before as usize);
        let scales = driftgraph_core::Standardizer::fit(&whole);
        let series = whole.series().iter().enumerate().map(|(number, series)| {
            let mut values = series.values()[first * n..].to_vec();
            let mut draws = vec![0.0; values.len()];
            RandomStream::new(self.seed, Purpose::Resampling, number as u64)
                .fill_normal(&mut draws);
            for (idx, (value, draw)) in values.iter_mut().zip(&draws).enumerate() {
                *value += self.noise * scales.scales()[idx % n] * draw;
            }
            ObservedSeries::new(series.name(), n, series.times()[first..].to_vec(), values)
        });
        let series = series.collect::<Result<Vec<_>, _>>()?;
        Ok(SeriesSet::new(whole.variables().to_vec(), series)?)
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What a fit says, beside the truth.
#[derive(Default)]
struct Score {
    found: usize,
    n_true: usize,
    wrong: usize,
    claimed: usize,
}

impl Score {
    fn add(&mut self, probabilities: &[f64], truth: &SignatureGraph) {
        let n = truth.n_variables();
        for (idx, &probability) in probabilities.iter().enumerate() {
            let is_true = truth.has_edge(idx / n, idx % n);
            let is_claimed = probability > 0.5;
            self.n_true += usize::from(is_true);
            self.claimed += usize::from(is_claimed);
            self.found += usize::from(is_true && is_claimed);
            self.wrong += usize::from(!is_true && is_claimed);
        }
    }
}

fn fitted(data: &SeriesSet, settings: &PolynomialSettings) -> anyhow::Result<PolynomialFit> {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    Ok(fit_polynomial(
        PolynomialTask { data, knowledge: &knowledge, settings },
        Part::WHOLE,
        &Silent,
    )?)
}

/// Probability of each edge.
fn probabilities(fit: &PolynomialFit, n: usize) -> Vec<f64> {
    fit.edges(&EdgePrior::new(n, 0.0)).expect("a fit that ended has beliefs").probabilities()
}

/// CPU seconds of a fit of Lorenz-96, and what it found.
fn timed(n_variables: u64, gap: f64, seed: u64) -> anyhow::Result<(f64, Score)> {
    let system = registry::build("lorenz96", &[("variables", n_variables as f64)], seed)?;
    let data = Sampled { n_series: 10, n_points: 100, gap, noise: 0.0, seed }.of(system.as_ref())?;
    let before = cpu_seconds();
    let fit = fitted(&data, &PolynomialSettings::default())?;
    let seconds = cpu_seconds() - before;
    let mut score = Score::default();
    score.add(&probabilities(&fit, data.n_variables()), &system.true_graph());
    Ok((seconds, score))
}

fn speed() -> anyhow::Result<()> {
    let mut line = serde_json::Map::new();
    for (name, gap) in [("quarter", 0.25), ("half", 0.5)] {
        let (seconds, score) = timed(10, gap, 1000)?;
        line.insert(name.to_owned(), json!(seconds));
        line.insert(format!("{name}_found"), json!(score.found));
        line.insert(format!("{name}_edges"), json!(score.n_true));
        line.insert(format!("{name}_false"), json!(score.wrong));
    }
    println!("{}", serde_json::Value::Object(line));
    Ok(())
}

fn many(n_variables: u64, first_seed: u64, n_seeds: u64) -> anyhow::Result<()> {
    println!("| variables | seed | true edges found | claims that are false | CPU seconds |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for seed in first_seed..first_seed + n_seeds {
        let (seconds, Score { found, n_true, wrong, claimed }) = timed(n_variables, 0.25, seed)?;
        println!(
            "| {n_variables} | {seed} | {found} of {n_true} | {wrong} of {claimed} | {seconds:.0} |"
        );
    }
    Ok(())
}

/// Which terms the evidence takes where all are offered.
fn kinds(first_seed: u64, n_seeds: u64) -> anyhow::Result<()> {
    println!(
        "| system | gap | true edges found | claims that are false | found with products alone | false with products alone | taken |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let other = OtherTerms { saturations: true, waves: true };
    let products = PolynomialSettings::default();
    let all = PolynomialSettings { other, degree: 3, ..products };
    for (name, gap) in [
        ("linear", 0.2),
        ("lorenz96", 0.2),
        ("kuramoto", 0.2),
        ("kuramoto", 0.5),
        ("gene-network", 0.3),
        ("gene-network", 1.0),
        ("lotka-volterra", 0.2),
    ] {
        let (mut score, mut plain, mut taken) = (Score::default(), Score::default(), Vec::new());
        for seed in first_seed..first_seed + n_seeds {
            let system = registry::build(name, &[("variables", 6.0)], seed)?;
            let sampled = Sampled { n_series: 10, n_points: 60, gap, noise: 0.0, seed };
            let data = sampled.of(system.as_ref())?;
            let truth = system.true_graph();
            let fit = fitted(&data, &all)?;
            score.add(&probabilities(&fit, 6), &truth);
            plain.add(&probabilities(&fitted(&data, &products)?, 6), &truth);
            let best = fit.tried.iter().max_by(|a, b| a.over_linear.total_cmp(&b.over_linear));
            let best = best.filter(|best| best.over_linear > 0.0);
            taken.push(best.map_or("linear terms".to_owned(), |best| best.name.clone()));
        }
        println!(
            "| {name} | {gap} | {} of {} | {} of {} | {} | {} of {} | {} |",
            score.found,
            score.n_true,
            score.wrong,
            score.claimed,
            plain.found,
            plain.wrong,
            plain.claimed,
            taken.join(", ")
        );
    }
    Ok(())
}

fn gaps(first_seed: u64, n_seeds: u64) -> anyhow::Result<()> {
    println!(
        "| system | gap | noise | true edges found | claims that are false | products chosen |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for name in ["lorenz63", "lorenz96", "triads"] {
        for (gap, noise) in
            [(0.05, 0.0), (0.1, 0.0), (0.1, 0.05), (0.25, 0.0), (0.5, 0.0), (0.75, 0.0), (1.0, 0.0)]
        {
            let (mut score, mut chosen) = (Score::default(), 0);
            for seed in first_seed..first_seed + n_seeds {
                let system: Box<dyn System> = match name {
                    "triads" => Box::new(Triads::random(6, 5, seed)),
                    "lorenz96" => registry::build(name, &[("variables", 6.0)], seed)?,
                    _ => registry::build(name, &[], seed)?,
                };
                let sampled = Sampled { n_series: 5, n_points: 50, gap, noise, seed };
                let data = sampled.of(system.as_ref())?;
                let fit = fitted(&data, &PolynomialSettings::default())?;
                chosen += usize::from(fit.degree > 1);
                score.add(&probabilities(&fit, data.n_variables()), &system.true_graph());
            }
            let Score { found, n_true, wrong, claimed } = score;
            println!(
                "| {name} | {gap} | {noise} | {found} of {n_true} | {wrong} of {claimed} | {chosen} of {n_seeds} |"
            );
        }
    }
    Ok(())
}

fn run() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str, usual: u64| -> anyhow::Result<u64> {
        let place = words.iter().position(|word| word == flag);
        let value = place.and_then(|place| words.get(place + 1));
        value.map_or(Ok(usual), |value| Ok(value.parse()?))
    };
    let n_threads = number("--threads", 1)? as usize;
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global()?;
    match words.first().map(String::as_str) {
        Some("speed") => speed(),
        Some("many") => {
            many(number("--variables", 20)?, number("--first-seed", 1000)?, number("--seeds", 1)?)
        }
        Some("kinds") => kinds(number("--first-seed", 1000)?, number("--seeds", 2)?),
        Some("gaps") => gaps(number("--first-seed", 1000)?, number("--seeds", 3)?),
        _ => anyhow::bail!(
            "`polynomial speed`, `polynomial many`, `polynomial kinds` or `polynomial gaps`"
        ),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
