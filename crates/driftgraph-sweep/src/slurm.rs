//! A job array for Slurm: every task is a worker with a part of the shards.

use std::fmt::Write as _;

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::times::Times;

/// Least seconds of a task: scheduler and start cost little beside them.
const LEAST_SECONDS: f64 = 1800.0;
/// Share of the time limit that is planned for: shards differ.
const PLANNED_SHARE: f64 = 0.8;
/// Tasks of an array, where the time allows: the usual limit of a cluster.
const MOST_TASKS: f64 = 1000.0;

/// What the cluster is asked for.
#[derive(Debug, Clone)]
pub struct SlurmOptions {
    /// Time limit of a task.
    pub hours: f64,
    /// Whom it is charged to.
    pub account: Option<String>,
    /// Where it runs.
    pub partition: Option<String>,
    /// Threads of a task.
    pub threads: usize,
    /// Seconds of a shard on one thread, where they are known better than from those made so far.
    pub shard_seconds: Option<f64>,
    /// The program that works on the sweep.
    pub program: String,
    /// The folder as tasks see it.
    pub folder: String,
}

/// The script to be given to `sbatch`.
pub fn slurm_script(sweep: &Sweep, options: &SlurmOptions) -> Result<String, SweepError> {
    let done = sweep.done()?;
    let times = Times::read(sweep);
    let seconds = |idx: usize| options.shard_seconds.or_else(|| times.of(sweep, idx));
    let left: Option<Vec<f64>> =
        (0..sweep.n_shards()).filter(|&idx| !done.contains(sweep.name(idx))).map(seconds).collect();
    let left = left.ok_or_else(|| SweepError::NoTimes { n_shards: sweep.n_shards() })?;
    if left.is_empty() {
        return Err(SweepError::NothingLeft);
    }
    let longest = left.iter().copied().fold(0.0, f64::max);
    let limit = 3600.0 * options.hours;
    if longest > limit {
        return Err(SweepError::TooLong { minutes: longest / 60.0, hours: options.hours });
    }
    let work = left.iter().sum::<f64>() / options.threads as f64;
    let n_tasks = n_tasks(work, limit);
    Ok(script(
        options,
        n_tasks,
        &format!(
            "{} shards are left, about {} of work for one thread; a task has about {}.",
            left.len(),
            duration(work * options.threads as f64),
            duration(work / n_tasks as f64)
        ),
    ))
}

/// As many tasks as have half an hour of work each, but no more than a cluster takes and no fewer than their time allows.
fn n_tasks(work: f64, limit: f64) -> usize {
    let most = (work / LEAST_SECONDS).floor().min(MOST_TASKS);
    let least = (work / (PLANNED_SHARE * limit)).ceil();
    most.max(least).max(1.0) as usize
}

fn script(options: &SlurmOptions, n_tasks: usize, what: &str) -> String {
    let minutes = (60.0 * options.hours).ceil() as u64;
    let mut text = format!(
        "#!/bin/sh\n#SBATCH --job-name=driftgraph-sweep\n#SBATCH --array=1-{n_tasks}\n\
         #SBATCH --time={:02}:{:02}:00\n#SBATCH --cpus-per-task={}\n#SBATCH --requeue\n",
        minutes / 60,
        minutes % 60,
        options.threads
    );
    let named = [("account", &options.account), ("partition", &options.partition)];
    for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
    {
        let _ = writeln!(text, "#SBATCH --{name}={value}");
    }
    let (program, folder) = (quoted(&options.program), quoted(&options.folder));
    let _ = write!(
        text,
        "# {what}\n\
         # Tasks may be killed, requeued or submitted again at any time: what is done is in the folder, and\n\
         # {program} sweep status {folder}\n\
         # says whether that is everything.\n\
         exec {program} sweep run {folder} --shard \"$SLURM_ARRAY_TASK_ID/{n_tasks}\" --threads {}\n",
        options.threads
    );
    text
}

/// A word that no shell takes apart.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} seconds"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_half_an_hour_of_work_or_more_and_fit_into_their_time() {
        let hour = 3600.0;
        // Ten hours of work in tasks of at most four: half an hour each.
        assert_eq!(n_tasks(10.0 * hour, 4.0 * hour), 20);
        assert_eq!(n_tasks(0.9 * hour, 4.0 * hour), 1);
        assert_eq!(n_tasks(10.0, 4.0 * hour), 1);
        // Much work: as long tasks as a thousand of them need.
        assert_eq!(n_tasks(2000.0 * hour, 4.0 * hour), 1000);
        // Even more: as many tasks as fit into their time.
        assert_eq!(n_tasks(32_000.0 * hour, 4.0 * hour), 10_000);
    }

    #[test]
    fn a_script_quotes_what_it_is_given() {
        let options = SlurmOptions {
            hours: 1.5,
            account: Some("lab".into()),
            partition: None,
            threads: 2,
            shard_seconds: None,
            program: "/opt/it's/driftgraph".into(),
            folder: "/shared/my sweep".into(),
        };
        let text = script(&options, 3, "words");
        assert!(text.contains("#SBATCH --time=01:30:00\n#SBATCH --cpus-per-task=2\n"), "{text}");
        assert!(text.contains("#SBATCH --account=lab\n") && !text.contains("partition"), "{text}");
        let line = "exec '/opt/it'\\''s/driftgraph' sweep run '/shared/my sweep' \
                    --shard \"$SLURM_ARRAY_TASK_ID/3\" --threads 2\n";
        assert!(text.ends_with(line), "{text}");
    }
}
