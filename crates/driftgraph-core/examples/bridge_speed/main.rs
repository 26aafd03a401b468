//! Times the bridge posterior: single training steps, long series, and the way to a good graph.
//!
//! Every form prints one line of JSON and takes `--threads N` (1 unless given):
//!
//! - `bridge_speed linear|neural [--steps N] [--write FOLDER]`: one training step; with `--write`,
//!   everything the step reads is stored for another engine;
//! - `bridge_speed length N_POINTS [--steps N]`: one training step on series of that length;
//! - `bridge_speed truth DATA.csv TRUTH.csv`: CPU seconds until the ranking of edges is as good as at the
//!   end. The truth is only measured against.

mod clock;
mod step;
mod stored;
mod truth;

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

fn measure(arguments: &[String]) -> anyhow::Result<Value> {
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1))
    };
    let n_timed = option("--steps").map_or(Ok(100), |text| text.parse())?;
    anyhow::ensure!(n_timed > 0, "--steps must be at least 1");
    let argument = |idx: usize| arguments.get(idx).context("an argument is missing");
    let folder = option("--write").map(Path::new);
    match argument(0)?.as_str() {
        "linear" => step::measure(step::Case::Linear, n_timed, folder),
        "neural" => step::measure(step::Case::Neural, n_timed, folder),
        "length" => step::measure_length(argument(1)?.parse()?, n_timed),
        "truth" => truth::measure(Path::new(argument(1)?), Path::new(argument(2)?)),
        other => bail!("`{other}` is none of `linear`, `neural`, `length` and `truth`"),
    }
}

#[expect(clippy::print_stdout, reason = "the line of JSON is this program's result")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = arguments.iter().position(|argument| argument == "--threads");
    let threads = threads.and_then(|place| arguments.get(place + 1));
    let n_threads = threads.map_or(Ok(1), |text| text.parse())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build()?;
    println!("{}", pool.install(|| measure(&arguments))?);
    Ok(())
}
