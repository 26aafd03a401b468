//! Equations beyond products of few variables: other terms, many variables, rows with holes and at any times.

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::polynomial::{
    OtherTerms, PolynomialFit, PolynomialSettings, PolynomialTask, TermFunction, fit_polynomial,
};
use driftgraph_core::train::progress::{Part, Silent};
use driftgraph_core::{ObservedSeries, SeriesSet, SignatureGraph};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::registry;

struct Known {
    data: SeriesSet,
    truth: SignatureGraph,
}

/// A system, how its rows lie, and how many.
struct Wanted {
    system: &'static str,
    n_variables: usize,
    gap: f64,
    n_series: usize,
    n_points: usize,
    seed: u64,
}

impl Wanted {
    fn made(&self) -> Known {
        let parameters = [("variables", self.n_variables as f64)];
        let system = registry::build(self.system, &parameters, self.seed).unwrap();
        let recipe = Recipe {
            n_series: self.n_series,
            n_points: self.n_points,
            time_range: (0.0, self.gap * (self.n_points - 1) as f64),
            step_size: 0.005,
            ..Recipe::usual(system.as_ref(), self.seed)
        };
        Known { data: generate(system.as_ref(), &recipe).unwrap().data, truth: system.true_graph() }
    }
}

fn found(data: &SeriesSet, settings: &PolynomialSettings) -> PolynomialFit {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let task = PolynomialTask { data, knowledge: &knowledge, settings };
    fit_polynomial(task, Part::WHOLE, &Silent).unwrap()
}

/// Edges with positive log-odds that are true, all with positive log-odds, and all that are true.
fn counts(fit: &PolynomialFit, truth: &SignatureGraph) -> [usize; 3] {
    let n = truth.n_variables();
    let odds = fit.edges(&EdgePrior::new(n, 0.0)).unwrap().log_odds;
    let mut counts = [0; 3];
    for (idx, odds) in odds.iter().enumerate() {
        let is_true = truth.has_edge(idx / n, idx % n);
        counts[0] += usize::from(is_true && *odds > 0.0);
        counts[1] += usize::from(*odds > 0.0);
        counts[2] += usize::from(is_true);
    }
    counts
}

fn mapped(
    data: &SeriesSet,
    change: impl Fn(usize, &ObservedSeries) -> ObservedSeries,
) -> SeriesSet {
    let series = data.series().iter().enumerate().map(|(number, one)| change(number, one));
    SeriesSet::new(data.variables().to_vec(), series.collect()).unwrap()
}

/// The rows of a series that are kept, with new values.
fn rows(one: &ObservedSeries, kept: &[usize], values: Vec<f64>) -> ObservedSeries {
    let times = kept.iter().map(|&row| one.times()[row]).collect();
    ObservedSeries::new(one.name(), one.n_variables(), times, values).unwrap()
}

fn thinned(one: &ObservedSeries, kept: &[usize]) -> ObservedSeries {
    let values = kept.iter().flat_map(|&row| one.row(row).to_vec()).collect();
    rows(one, kept, values)
}

#[test]
fn lorenz_with_twenty_variables_is_found_through_a_skeleton() {
    let wanted = Wanted {
        system: "lorenz96",
        n_variables: 20,
        gap: 0.25,
        n_series: 6,
        n_points: 60,
        seed: 1100,
    };
    let Known { data, truth } = wanted.made();
    let fit = found(&data, &PolynomialSettings::default());
    let n_sources =
        |target: usize| (0..20).filter(|source| fit.sources[source * 20 + target]).count();
    assert!((0..20).all(|target| n_sources(target) <= 8));
    let [right, claimed, all] = counts(&fit, &truth);
    assert_eq!([right, claimed], [all, all]);
}

#[test]
fn coupled_phases_are_found_by_sines_of_their_differences() {
    let wanted = Wanted {
        system: "kuramoto",
        n_variables: 5,
        gap: 0.25,
        n_series: 10,
        n_points: 60,
        seed: 1101,
    };
    let Known { data, truth } = wanted.made();
    let other = OtherTerms { waves: true, ..OtherTerms::default() };
    let fit = found(&data, &PolynomialSettings { other, ..PolynomialSettings::default() });
    assert!(fit.curves.is_some(), "{:?}", fit.tried);
    let [right, claimed, all] = counts(&fit, &truth);
    assert_eq!(right, all);
    assert!(claimed <= all + 1, "{claimed} of {all}");
    // Two parents pull with a weight of 1 each.
    for equation in fit.equations() {
        let pulls = equation
            .terms
            .iter()
            .filter(|term| term.function == Some(TermFunction::Sine) && term.factors.len() == 2);
        for pull in pulls.filter(|pull| pull.probability > 0.99) {
            // The noise of 0.2 over 150 units of time tells a weight to about 0.2 / sqrt(150 / 2) = 0.02.
            assert!((pull.coefficient.abs() - 1.0).abs() < 0.2, "{pull:?}");
        }
    }
}

/// dv = (v - v³/3 - w + 0.5) dt, dw = 0.08 (v + 0.7 - 0.8 w) dt, noise of 0.1 and 0.02 (FitzHugh 1961, Nagumo 1962).
fn fitzhugh_nagumo(gap: f64, seed: u64) -> SeriesSet {
    const STEP: f64 = 0.005;
    let n_between = (gap / STEP).round() as usize;
    let series = (0..8).map(|number| {
        let mut random = RandomStream::new(seed, Purpose::System, number);
        let mut state = [0.0, 0.0];
        random.fill_normal(&mut state);
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for row in 0..80 {
            times.push(gap * f64::from(row));
            values.extend(state);
            for _ in 0..n_between {
                let [v, w] = state;
                let mut noise = [0.0; 2];
                random.fill_normal(&mut noise);
                state[0] += STEP * (v - v.powi(3) / 3.0 - w + 0.5) + 0.1 * STEP.sqrt() * noise[0];
                state[1] += STEP * 0.08 * (v + 0.7 - 0.8 * w) + 0.02 * STEP.sqrt() * noise[1];
            }
        }
        ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
    });
    SeriesSet::new(vec!["v".into(), "w".into()], series.collect()).unwrap()
}

#[test]
fn a_firing_nerve_needs_a_cube() {
    let data = fitzhugh_nagumo(0.5, 1102);
    let fit = found(&data, &PolynomialSettings { degree: 3, ..PolynomialSettings::default() });
    assert_eq!(fit.degree, 3, "{:?}", fit.tried);
    let equation = &fit.equations()[0];
    let cube = equation.terms.iter().find(|term| term.factors == [0, 0, 0]).unwrap();
    // Steps of the simulation and of the fit, and noise of 0.1: a tenth of it.
    assert!((cube.coefficient * -3.0 - 1.0).abs() < 0.15, "{equation:?}");
    assert!(fit.equations()[1].terms.iter().all(|term| term.factors.len() < 2));
}

#[test]
fn a_switch_that_levels_off_is_a_hill_function() {
    // dy = (2 x² / (k² + x²) - y) dt beside an x that comes and goes, both positive.
    const STEP: f64 = 0.01;
    let series = (0..8).map(|number| {
        let mut random = RandomStream::new(1103, Purpose::System, number);
        let mut state = [1.0, 1.0];
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for row in 0..80 {
            times.push(0.3 * f64::from(row));
            values.extend(state);
            for _ in 0..30 {
                let [x, y]: [f64; 2] = state;
                let mut noise = [0.0; 2];
                random.fill_normal(&mut noise);
                state[0] += STEP * (1.5 - x) + 1.2 * STEP.sqrt() * noise[0];
                state[0] = state[0].abs();
                state[1] +=
                    STEP * (2.0 * x * x / (2.25 + x * x) - y) + 0.05 * STEP.sqrt() * noise[1];
                state[1] = state[1].abs();
            }
        }
        ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
    });
    let data = SeriesSet::new(vec!["x".into(), "y".into()], series.collect()).unwrap();
    let other = OtherTerms { saturations: true, ..OtherTerms::default() };
    let fit = found(&data, &PolynomialSettings { other, ..PolynomialSettings::default() });
    assert!(fit.curves.is_some(), "{:?}", fit.tried);
    let equation = &fit.equations()[1];
    let of_x = equation.terms.iter().find(|term| term.function.is_some()).unwrap();
    assert_eq!(of_x.factors, [0]);
    assert!(
        matches!(of_x.function, Some(TermFunction::Hill { half }) if (0.8..2.2).contains(&half))
    );
    // What it says survives being kept.
    let knowledge = EdgePrior::new(2, 0.0);
    let settings = PolynomialSettings { other, ..PolynomialSettings::default() };
    let model = FittedModel::from_polynomial(fit, settings, &knowledge, &data).unwrap();
    let text = serde_json::to_string(&model.description()).unwrap();
    let back =
        FittedModel::from_parts(serde_json::from_str(&text).unwrap(), &model.arrays()[..]).unwrap();
    assert_eq!(back.equations(), model.equations());
}

#[test]
fn every_second_row_tells_the_same_equations() {
    let wanted = Wanted {
        system: "lorenz96",
        n_variables: 5,
        gap: 0.1,
        n_series: 8,
        n_points: 80,
        seed: 1104,
    };
    let Known { data, .. } = wanted.made();
    let half = mapped(&data, |_, one| {
        let kept: Vec<usize> = (0..one.n_observations()).step_by(2).collect();
        thinned(one, &kept)
    });
    let settings = PolynomialSettings::default();
    let [whole, half] =
        [found(&data, &settings), found(&half, &settings)].map(|fit| fit.equations());
    for (a, b) in whole.iter().zip(&half) {
        for term in a.terms.iter().filter(|term| term.probability > 0.99 && term.factors.len() == 2)
        {
            let other = b.terms.iter().find(|other| other.factors == term.factors);
            let other = other.unwrap_or_else(|| panic!("{term:?} is missing in {b:?}"));
            // Products of 1, known to some hundredths from noise of 0.5 over 64 units of time.
            assert!((term.coefficient - other.coefficient).abs() < 0.1, "{term:?} and {other:?}");
        }
    }
}

#[test]
fn rows_at_random_times_measured_with_noise_are_enough() {
    let wanted = Wanted {
        system: "lorenz96",
        n_variables: 6,
        gap: 0.05,
        n_series: 8,
        n_points: 300,
        seed: 1105,
    };
    let Known { data, truth } = wanted.made();
    let scales = driftgraph_core::Standardizer::fit(&data).scales().to_vec();
    // A quarter of the rows at random, 2 % of a deviation of noise on each.
    let sparse = mapped(&data, |number, one| {
        let mut random = RandomStream::new(1105, Purpose::Resampling, number as u64);
        let kept: Vec<usize> =
            (0..one.n_observations()).filter(|_| random.uniform() < 0.25).collect();
        let mut noise = vec![0.0; kept.len() * 6];
        random.fill_normal(&mut noise);
        let values = kept.iter().flat_map(|&row| one.row(row).to_vec()).zip(noise).enumerate();
        let values = values.map(|(idx, (value, noise))| value + 0.02 * scales[idx % 6] * noise);
        rows(one, &kept, values.collect())
    });
    let fit = found(&sparse, &PolynomialSettings::default());
    let [right, claimed, all] = counts(&fit, &truth);
    assert_eq!([right, claimed], [all, all]);
}

#[test]
fn a_row_with_a_hole_constrains_what_it_has() {
    let wanted = Wanted {
        system: "lorenz96",
        n_variables: 5,
        gap: 0.1,
        n_series: 6,
        n_points: 80,
        seed: 1106,
    };
    let Known { data, .. } = wanted.made();
    // The first variable is missing in every fourth row.
    let holes = mapped(&data, |_, one| {
        let mut values = one.values().to_vec();
        (0..one.n_observations()).skip(1).step_by(4).for_each(|row| values[row * 5] = f64::NAN);
        let kept: Vec<usize> = (0..one.n_observations()).collect();
        rows(one, &kept, values)
    });
    let fit = found(&holes, &PolynomialSettings::default());
    let standard = fit.standardizer.apply(&data);
    let (mut by_path, mut by_line, mut seen) = (0.0, 0.0, 0.0_f64);
    for (path, one) in fit.paths.iter().zip(standard.series()) {
        for row in (1..one.n_observations() - 1).step_by(4) {
            let point = path.times.iter().position(|time| *time == one.times()[row]).unwrap();
            let at = |variable: usize| path.law.means[point * 5 + variable];
            by_path += (at(0) - one.row(row)[0]).powi(2);
            by_line +=
                (0.5 * (one.row(row - 1)[0] + one.row(row + 1)[0]) - one.row(row)[0]).powi(2);
            seen = (1..5).map(|idx| (at(idx) - one.row(row)[idx]).abs()).fold(seen, f64::max);
        }
    }
    // What was measured is where it was measured; what was not follows from the equations, far better than from a line.
    assert!(seen < 0.02, "{seen}");
    assert!(by_path < 0.25 * by_line, "{by_path} and {by_line}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let wanted = Wanted {
        system: "lorenz96",
        n_variables: 5,
        gap: 0.2,
        n_series: 4,
        n_points: 50,
        seed: 1107,
    };
    let Known { data, .. } = wanted.made();
    let with = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| found(&data, &PolynomialSettings::default()))
    };
    assert_eq!(with(1), with(3));
}
