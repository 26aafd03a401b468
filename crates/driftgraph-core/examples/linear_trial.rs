//! Trial: coordinate ascent and Gibbs on a table with a known graph.
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used)]
use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::testing::posterior::bridge::layout::BridgeLayout;
use driftgraph_core::testing::posterior::linear::adequacy::Adequacy;
use driftgraph_core::testing::posterior::linear::ascent::Ascent;
use driftgraph_core::testing::posterior::linear::dynamics::LinearDynamics;
use driftgraph_core::testing::posterior::linear::gibbs::*;
use driftgraph_core::testing::posterior::linear::grid::LinearGrid;
use driftgraph_core::testing::posterior::linear::pools::EdgePools;
use driftgraph_core::testing::posterior::linear::sums::StepSums;
use driftgraph_core::*;
use std::time::Instant;

fn load(path: &str) -> SeriesSet {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().unwrap().split(',').skip(2).map(String::from).collect();
    let mut series: Vec<(String, Vec<f64>, Vec<f64>)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if series.last().is_none_or(|s| s.0 != cells[0]) {
            series.push((cells[0].into(), vec![], vec![]));
        }
        let s = series.last_mut().unwrap();
        s.1.push(cells[1].parse().unwrap());
        s.2.extend(cells[2..].iter().map(|c| c.parse::<f64>().unwrap_or(f64::NAN)));
    }
    let n = names.len();
    SeriesSet::new(names, series.into_iter().map(|s| ObservedSeries::new(s.0, n, s.1, s.2).unwrap()).collect()).unwrap()
}
fn truth(path: &str, names: &[String]) -> Vec<bool> {
    let text = std::fs::read_to_string(path).unwrap();
    let n = names.len();
    let mut out = vec![false; n * n];
    for line in text.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let at = |s: &str| names.iter().position(|x| x == s).unwrap();
        out[at(c[0]) * n + at(c[1])] = true;
    }
    out
}
fn metrics(score: &[f64], truth: &[bool], n: usize, with_self: bool) -> (f64, f64) {
    let mut all: Vec<(f64, bool)> = (0..n * n).filter(|i| with_self || i / n != i % n).map(|i| (score[i], truth[i])).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let pos = all.iter().filter(|a| a.1).count() as f64;
    let (mut tp, mut auc, mut ap) = (0.0, 0.0, 0.0);
    for (k, a) in all.iter().enumerate() {
        if a.1 { tp += 1.0; ap += tp / (k as f64 + 1.0) / pos; } else { auc += tp; }
    }
    (auc / pos / (all.len() as f64 - pos), ap)
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let with_self = args.get(2).is_some_and(|a| a == "self");
    let data = load(&format!("{}.csv", args[1]));
    let n = data.n_variables();
    let truth = truth(&format!("{}.truth.csv", args[1]), data.variables());
    let scaled = Standardizer::fit(&data).apply(&data);
    let mut gaps: Vec<f64> = data.series().iter().flat_map(|s| s.times().windows(2).map(|p| p[1] - p[0]).collect::<Vec<_>>()).collect();
    gaps.sort_by(f64::total_cmp);
    let step = gaps[gaps.len() / 2] * (1.0 + 1e-6);
    let layout = BridgeLayout::new(&scaled, step).unwrap();
    let learn = !args.iter().any(|a| a == "fixed");
    let known = if learn { None } else { Some(1e-4) };
    let (_, start) = driftgraph_core::testing::posterior::bridge::BridgePosterior::smoothed(layout, known);
    let grid = LinearGrid::new(&scaled, step, &start.increment_scales).unwrap();
    let pools = EdgePools::new(GraphDensity::default(), &EdgePrior::new(n, 0.0));
    let of = |f: &dyn Fn(usize) -> f64| grid.variables().iter().map(|&i| f(i)).collect::<Vec<f64>>();
    let dynamics = LinearDynamics {
        effects: vec![0.0; n * (n + 1)],
        variances: of(&|i| start.levels[i].process_variance / start.increment_scales[i].powi(2)),
        noise: of(&|i| start.levels[i].noise_variance),
        initial_means: vec![0.0; n],
        initial_variances: vec![1.0; n],
    };
    let t = Instant::now();
    let mut ascent = Ascent::new(&grid, &pools, dynamics, learn);
    while !ascent.is_done() {
        ascent.round().unwrap();
        if std::env::var("V").is_ok() { println!("{} {:.3} slab {:?}", ascent.state().round, ascent.state().bound, ascent.state().effects.slabs); }
    }
    let m = n + 1;
    let to_user = |v: &[f64]| { let s: Vec<f64> = (0..n * n).map(|i| v[(i % n) * m + i / n]).collect(); grid.to_user(&s) };
    let ascent_odds = to_user(&ascent.state().effects.log_odds);
    println!("ascent {:.2}s rounds {} bound {:.1} {:?} expected {:.1}", t.elapsed().as_secs_f64(), ascent.state().round, ascent.state().bound, metrics(&ascent_odds, &truth, n, with_self), ascent.state().effects.probabilities.iter().sum::<f64>() - 2.0 * n as f64);
    let t = Instant::now();
    let paths = ascent.smoothed().unwrap();
    let adequacy = Adequacy::new(&grid, ascent.state(), &paths);
    let temper = adequacy.tempering();
    println!("adequacy {:.2}s {:?} clustering {:.2} temper {:.3}", t.elapsed().as_secs_f64(), adequacy.mean_shares(), adequacy.clustering.iter().sum::<f64>() / n as f64, temper.iter().sum::<f64>() / n as f64);
    let sweeps = if n > 40 { 400 } else { 800 };
    let t = Instant::now();
    let mut odds = vec![0.0; n * n];
    let mut prob = vec![0.0; n * n];
    for number in 0..2 {
        let rules = ChainRules { tempering: vec![1.0; n], densities: if number == 1 { DensityRule::any_law() } else { DensityRule::Given }, n_sweeps: sweeps, burn_in: sweeps / 4, seed: 0, number };
        let sums: StepSums;
        let source = if learn { PathSource::Drawn { grid: &grid, learn_noise: true } } else { sums = paths.sums.clone(); PathSource::Known(&sums) };
        let mut chain = Chain::new(&pools, source, rules, ascent.state());
        while !chain.is_done() { chain.sweep().unwrap(); }
        let tot = &chain.state().totals;
        let o = to_user(&tot.log_odds); let p = to_user(&tot.probabilities);
        println!("chain {number}: {:.2}s odds {:?} prob {:?}", t.elapsed().as_secs_f64(), metrics(&o, &truth, n, with_self), metrics(&p, &truth, n, with_self));
        for i in 0..n * n { odds[i] += o[i] / tot.n / 2.0; prob[i] += p[i] / tot.n / 2.0; }
    }
    let score: Vec<f64> = odds.iter().zip(&ascent_odds).map(|(a, b)| (a + b) / 2.0).collect();
    println!("gibbs {:?} score {:?} expected {:.1} above .9: {} right {}", metrics(&odds, &truth, n, with_self), metrics(&score, &truth, n, with_self), prob.iter().sum::<f64>(),
        (0..n*n).filter(|i| i / n != i % n && prob[*i] > 0.9).count(), (0..n*n).filter(|i| i / n != i % n && prob[*i] > 0.9 && truth[*i]).count());
    let t = Instant::now();
    let mut tempered = vec![0.0; n * n];
    let w = temper.iter().sum::<f64>() / n as f64;
    for (number, weight) in [(2, 1.0 - w), (3, w)] {
        let careful = pools.with_law(DensityRule::careful_law(n));
        let rules = ChainRules { tempering: temper.clone(), densities: if number == 3 { DensityRule::learned_mean(n) } else { DensityRule::Given }, n_sweeps: 400, burn_in: 100, seed: 0, number };
        let mut chain = Chain::new(&careful, PathSource::Known(&paths.sums), rules, ascent.state());
        while !chain.is_done() { chain.sweep().unwrap(); }
        let tot = &chain.state().totals;
        let p = to_user(&tot.probabilities);
        println!("   tempered {number} {:?}", metrics(&p, &truth, n, with_self));
        for i in 0..n * n { tempered[i] += weight * p[i] / tot.n; }
    }
    let bins = |p: &[f64]| [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01].windows(2).map(|b| { let at: Vec<usize> = (0..n*n).filter(|i| i / n != i % n && p[*i] >= b[0] && p[*i] < b[1]).collect(); let k = at.len().max(1) as f64; format!("{}:{:.2}/{:.2}", at.len(), at.iter().map(|i| p[*i]).sum::<f64>() / k, at.iter().filter(|i| truth[**i]).count() as f64 / k) }).collect::<Vec<_>>().join(" ");
    println!("tempered {:.2}s {:?} expected {:.1}\n  gibbs {}\n  temper {}", t.elapsed().as_secs_f64(), metrics(&tempered, &truth, n, with_self), tempered.iter().sum::<f64>(), bins(&prob), bins(&tempered));
}
