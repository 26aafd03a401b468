//! One run in the list: what it is doing, since when, how large it is, and what is left of one that was stopped.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use driftgraph_data::record::JobRecord;
use driftgraph_data::run_folder::RunFolder;
use driftgraph_text::count;
use serde::Serialize;

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Standing {
    Running,
    Stopped,
    Finished,
    Failed,
}

/// One run in the list.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunEntry {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// Whether there is a result to look at.
    pub(crate) has_result: bool,
    /// Why it failed.
    pub(crate) problem: Option<String>,
    pub(crate) variables: Vec<String>,
    #[serde(flatten)]
    pub(crate) facts: RunFacts,
}

/// What the list says of a run beside its name.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct RunFacts {
    /// When it was last written to, in seconds since 1970.
    pub(crate) changed: Option<u64>,
    /// How much data it was fitted to, in words.
    pub(crate) size: Option<String>,
    /// What its files take on the disk.
    pub(crate) bytes: u64,
    /// What is left of a fit that was stopped early, in words.
    pub(crate) remains: Option<String>,
}

impl RunFacts {
    pub(crate) fn of(folder: &RunFolder, standing: Standing) -> Self {
        let job = folder.read_job().ok();
        let written = [folder.run_file(), folder.job_file()];
        let changed = written.iter().find_map(|file| fs::metadata(file).ok()?.modified().ok());
        let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            changed: changed.map(|time| time.as_secs()),
            size: job.as_ref().map(size_in_words),
            bytes: bytes_below(folder.path()),
            remains: (standing == Standing::Stopped).then(|| remains(folder)),
        }
    }
}

fn size_in_words(job: &JobRecord) -> String {
    let data = &job.data;
    let (rows, variables) =
        (count(data.rows, "row", "rows"), count(data.variables, "variable", "variables"));
    format!("{} series, {rows}, {variables}", data.series)
}

/// Files of a folder and of those in it.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

/// What a fit that was stopped has, and what going on with it means.
fn remains(folder: &RunFolder) -> String {
    let n_parts = fs::read_dir(folder.checkpoint_folder()).map_or(0, Iterator::count);
    let kept = match n_parts {
        0 => "Nothing of the training was kept, so going on begins again.".to_owned(),
        n => format!(
            "{} of the training {} kept, and going on continues there as if it had never been stopped.",
            count(n, "part", "parts"),
            if n == 1 { "is" } else { "are" },
        ),
    };
    if folder.run_file().is_file() {
        format!("Stopped early: what is below was learned until then, and may still change. {kept}")
    } else {
        format!("Stopped before there was a graph to look at. {kept}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_depends_on_what_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::at(folder.path());
        assert!(remains(&run).ends_with("going on begins again."), "{}", remains(&run));
        fs::create_dir(run.checkpoint_folder()).unwrap();
        fs::write(run.checkpoint_folder().join("a"), "12345").unwrap();
        assert!(remains(&run).contains("1 part of the training is kept"), "{}", remains(&run));
        assert!(remains(&run).starts_with("Stopped before there was a graph"));
        fs::write(run.run_file(), "{}").unwrap();
        assert!(remains(&run).starts_with("Stopped early: what is below"));
        assert_eq!(bytes_below(folder.path()), 7);
    }
}
