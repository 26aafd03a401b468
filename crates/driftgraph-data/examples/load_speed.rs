//! Writes a large table, or loads one and tells the time and memory it took.
//!
//! `load_speed write PATH` makes a wide table of 2 million rows and 10 variables (about 270 MB);
//! `load_speed load PATH` prints `seconds=... cpu_seconds=... values=... peak_bytes=...`.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_data::{ReadOptions, load};

const N_SERIES: u64 = 200;
const N_TIMES: usize = 10_000;
const N_VARIABLES: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", path] => write(Path::new(path)),
        ["load", path] => time_load(Path::new(path)),
        _ => Err("usage: load_speed write|load PATH".into()),
    }
}

/// Numbers with ten significant digits, as instruments and other programs write them.
fn write(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    write!(out, "series,time")?;
    for variable in 1..=N_VARIABLES {
        write!(out, ",x{variable}")?;
    }
    writeln!(out)?;
    let mut row = vec![0.0; N_VARIABLES];
    for series in 1..=N_SERIES {
        let mut random = RandomStream::new(0, Purpose::MeasurementNoise, series);
        for time in 0..N_TIMES {
            random.fill_normal(&mut row);
            write!(out, "s{series},{}", time as f64 / 100.0)?;
            for value in &row {
                write!(out, ",{value:.9}")?;
            }
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this program's output is read by the benchmark")]
fn time_load(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let loaded = load(&[path.to_owned()], &ReadOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let n_values = loaded.data.n_rows() * loaded.data.n_variables();
    let (cpu_seconds, peak_bytes) = (cpu_seconds()?, peak_bytes()?);
    println!(
        "seconds={seconds:.3} cpu_seconds={cpu_seconds:.3} values={n_values} peak_bytes={peak_bytes}"
    );
    Ok(())
}

/// Time all threads of this process were on a processor, as Linux counts it; those that read live until its end.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let figures = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let own = figures.split_whitespace().next().ok_or("no figures in schedstat")?;
        nanoseconds += own.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// Most memory this process ever held, as Linux counts it.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)).ok_or("no VmHWM line")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}
