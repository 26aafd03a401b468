//! Which terms equations have, and whether their intervals hold: systems whose drift is a polynomial, from coarse rows.
//!
//! `equation_terms [--first-seed N] [--seeds N]` prints a table: how many of the true terms are in the equations, how many of their
//! coefficients lie inside their intervals of 90 %, and how many terms are there that should not be.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::process::ExitCode;

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::polynomial::{PolynomialSettings, PolynomialTask, fit_polynomial};
use driftgraph_core::train::progress::{Part, Silent};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::{System, registry};

/// Coefficients smaller than this are rounding.
const NOTHING: f64 = 1e-9;

/// The coefficient of a product of at most two variables in a drift that is a polynomial of the second degree.
fn true_coefficient(system: &dyn System, target: usize, factors: &[usize]) -> f64 {
    let at = |moves: &[(usize, f64)]| {
        let mut state = vec![0.0; system.n_variables()];
        moves.iter().for_each(|(idx, by)| state[*idx] += by);
        let mut drift = vec![0.0; system.n_variables()];
        system.drift(0.0, &state, &mut drift);
        drift[target]
    };
    match *factors {
        [] => at(&[]),
        [i] => 0.5 * (at(&[(i, 1.0)]) - at(&[(i, -1.0)])),
        [i, k] if i == k => 0.5 * (at(&[(i, 1.0)]) + at(&[(i, -1.0)])) - at(&[]),
        [i, k] => at(&[(i, 1.0), (k, 1.0)]) - at(&[(i, 1.0)]) - at(&[(k, 1.0)]) + at(&[]),
        _ => 0.0,
    }
}

fn n_true_terms(system: &dyn System) -> usize {
    let n = system.n_variables();
    let pairs = (0..n).flat_map(|i| (i..n).map(move |k| vec![i, k]));
    let all: Vec<Vec<usize>> =
        std::iter::once(Vec::new()).chain((0..n).map(|i| vec![i])).chain(pairs).collect();
    let of = |target| {
        all.iter().filter(|term| true_coefficient(system, target, term).abs() > NOTHING).count()
    };
    (0..n).map(of).sum()
}

/// What became of the terms of one system.
#[derive(Default)]
struct Counts {
    n_true: usize,
    found: usize,
    inside: usize,
    wrong: usize,
    surely_wrong: usize,
}

impl Counts {
    fn add(&mut self, system: &dyn System, gap: f64, seed: u64) -> anyhow::Result<()> {
        let usual = Recipe::usual(system, seed);
        let recipe = Recipe { n_series: 10, n_points: 100, time_range: (0.0, 99.0 * gap), ..usual };
        let data = generate(system, &recipe)?.data;
        let knowledge = EdgePrior::new(data.n_variables(), 0.0);
        let settings = PolynomialSettings::default();
        let fit = fit_polynomial(
            PolynomialTask { data: &data, knowledge: &knowledge, settings: &settings },
            Part::WHOLE,
            &Silent,
        )?;
        self.n_true += n_true_terms(system);
        for equation in fit.equations() {
            for term in &equation.terms {
                let truth = true_coefficient(system, equation.target, &term.factors);
                let is_true = truth.abs() > NOTHING;
                let [low, high] = term.interval.unwrap_or([f64::NAN; 2]);
                self.found += usize::from(is_true);
                self.inside += usize::from(is_true && low <= truth && truth <= high);
                self.wrong += usize::from(!is_true);
                self.surely_wrong += usize::from(!is_true && term.probability > 0.9);
            }
        }
        Ok(())
    }
}

fn run() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str, usual: u64| -> anyhow::Result<u64> {
        let place = words.iter().position(|word| word == flag);
        let value = place.and_then(|place| words.get(place + 1));
        value.map_or(Ok(usual), |value| Ok(value.parse()?))
    };
    let (first, n_seeds) = (number("--first-seed", 1001)?, number("--seeds", 3)?);
    println!(
        "| system | gap | true terms found | true value in the interval of 90 % | false terms | of them above 0.9 |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, gaps) in [("lorenz96", &[0.05, 0.25, 0.5][..]), ("lorenz63", &[0.02, 0.05, 0.1])] {
        for &gap in gaps {
            let mut counts = Counts::default();
            for seed in first..first + n_seeds {
                counts.add(registry::build(name, &[], seed)?.as_ref(), gap, seed)?;
            }
            let Counts { n_true, found, inside, wrong, surely_wrong } = counts;
            println!(
                "| {name} | {gap} | {found} of {n_true} | {inside} of {found} | {wrong} | {surely_wrong} |"
            );
        }
    }
    Ok(())
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
