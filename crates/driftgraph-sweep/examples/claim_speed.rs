//! How long a worker takes to start and to claim in a folder of many shards, most of which are done.

#![expect(clippy::print_stdout, reason = "the figures are for the program that started this one")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::record::MethodRequest;
use driftgraph_sweep::{
    DataSource, Next, PlanRequest, PlannedFit, Queue, RunOptions, Slice, Sweep, Worker,
};

/// Shards of the folder.
const N_SHARDS: u64 = 100_000;
/// Those that are not done, and are claimed one after the other.
const N_CLAIMS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name an empty folder")?;
    let values = vec![0.0, 1.0, 0.5, 0.8, 0.9, 0.3, 0.7, -0.2];
    let series = ObservedSeries::new("run", 2, vec![0.0, 1.0, 2.0, 3.0], values)?;
    let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series])?;
    let asked = MethodRequest { method: Some("ridge".to_owned()), ..MethodRequest::default() };
    let request = PlanRequest {
        data: vec![DataSource { name: "data".to_owned(), data }],
        fits: vec![PlannedFit { name: "ridge".to_owned(), asked }],
        seeds: vec![0],
        bootstrap: N_SHARDS,
    };
    let sweep = Sweep::plan(&request, &folder)?;
    // Claims look at names alone.
    for idx in (0..sweep.n_shards()).filter(|idx| idx % (N_SHARDS as usize / N_CLAIMS) != 0) {
        fs::write(folder.join("shards").join(format!("{}.state", sweep.name(idx))), "")?;
    }
    let begin = Instant::now();
    let sweep = Sweep::open(&folder)?;
    let open = begin.elapsed().as_secs_f64();
    let worker = Worker::start(&folder)?;
    let begin = Instant::now();
    let mut queue = Queue::new(&sweep, &worker, Slice::ALL, RunOptions::EXPIRE)?;
    let mut last = begin;
    let mut claims = Vec::new();
    while let Next::Shard(_) = queue.claim_next()? {
        let now = Instant::now();
        claims.push((now - last).as_secs_f64());
        last = now;
    }
    assert_eq!(claims.len(), N_CLAIMS, "every shard that is not done is claimed once");
    let longest = claims[1..].iter().copied().fold(0.0, f64::max);
    let mean = claims[1..].iter().sum::<f64>() / (claims.len() - 1) as f64;
    println!(
        "shards={N_SHARDS} open={open:.3} first_claim={:.4} longest_claim={longest:.6} mean_claim={mean:.6}",
        claims[0]
    );
    Ok(())
}
