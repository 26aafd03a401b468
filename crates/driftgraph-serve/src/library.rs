//! The runs of one folder: those on disk, and those being fitted.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_data::edges::read_edge_list;
use driftgraph_data::record::Ending;
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_data::{Loaded, load};
use driftgraph_methods::FitPlan;
use driftgraph_report::view::ReportView;
use driftgraph_run::{FinishedRun, FitJob, JobError, Pace, Resume, Truth, fit, resume};
use driftgraph_view::{ViewOptions, report_view};

use crate::answer::Refusal;
use crate::entry::{RunEntry, RunFacts, Standing};
use crate::live::LiveFit;
use crate::new_run::NewRun;
use crate::page_words::in_page_words;
use crate::upload::known_edges;

/// Where uploaded tables are kept; a fit that goes on reads its table again.
const UPLOADS: &str = "uploads";
/// Says that a fit was stopped by the user, and is not to go on by itself.
pub(crate) const STOPPED: &str = "stopped-by-user";
/// Names of the variables of a fit that was begun on the page.
pub(crate) const VARIABLES: &str = "variables.json";
/// What a run says that diverged under another server.
const DIVERGED_BEFORE: &str =
    "training was not finite any more; what it had learned before is kept";
/// A fit that dies loses at most so much.
const CHECKPOINT_EVERY: std::time::Duration = std::time::Duration::from_secs(5);

/// All runs of a folder.
#[derive(Debug)]
pub(crate) struct Library {
    folder: PathBuf,
    live: Mutex<HashMap<String, Arc<LiveFit>>>,
    problems: Mutex<HashMap<String, String>>,
    shown: Mutex<HashMap<String, (SystemTime, Arc<Shown>)>>,
}

/// A run that was read, and what its report shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) run: Run,
    pub(crate) data: Option<Loaded>,
    pub(crate) view: ReportView,
}

impl Library {
    pub(crate) fn open(folder: PathBuf) -> Self {
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Self { folder, live: Mutex::default(), problems: Mutex::default(), shown: Mutex::default() }
    }

    /// The folder of all runs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn uploads(&self) -> PathBuf {
        self.folder.join(UPLOADS)
    }

    /// The folder of a run; names that could lead elsewhere do not exist.
    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Refusal> {
        if !is_safe(name) || name == UPLOADS {
            return Err(Refusal::not_found());
        }
        Ok(self.folder.join(name))
    }

    /// All runs, the latest first.
    pub(crate) fn runs(&self) -> Vec<RunEntry> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut runs: Vec<RunEntry> = names.filter_map(|name| self.entry(&name).ok()).collect();
        runs.sort_by(|a, b| (b.facts.changed, &a.name).cmp(&(a.facts.changed, &b.name)));
        runs
    }

    /// One run; refused where there is none.
    pub(crate) fn entry(&self, name: &str) -> Result<RunEntry, Refusal> {
        let path = self.path(name)?;
        let folder = RunFolder::at(&path);
        let live = self.lock_live().contains_key(name);
        if !live && folder.holds().is_none() {
            return Err(Refusal::not_found());
        }
        let mut problem = lock(&self.problems).get(name).cloned();
        let standing = match folder.ending() {
            _ if live => Standing::Running,
            Some(Ending::Finished) => Standing::Finished,
            Some(Ending::Diverged) => {
                problem.get_or_insert_with(|| DIVERGED_BEFORE.to_owned());
                Standing::Failed
            }
            _ if problem.is_some() => Standing::Failed,
            _ => Standing::Stopped,
        };
        let has_result = folder.run_file().is_file();
        Ok(RunEntry {
            name: name.to_owned(),
            standing,
            has_result,
            problem,
            variables: variables(&folder).unwrap_or_default(),
            facts: RunFacts::of(&folder, standing),
        })
    }

    pub(crate) fn live(&self, name: &str) -> Option<Arc<LiveFit>> {
        self.lock_live().get(name).cloned()
    }

    /// Begins a fit on a thread of its own.
    pub(crate) fn begin(self: &Arc<Self>, new: NewRun, max_bytes: u64) -> Result<(), Refusal> {
        let folder = self.path(&new.name)?;
        let tables = self.upload(&new.upload)?;
        let read_options = new.columns.options(max_bytes);
        let plan = FitPlan::new(new.asked).map_err(|error| Refusal::unusable(&error))?;
        let loaded = load(std::slice::from_ref(&tables), &read_options)
            .map_err(|error| Refusal::unusable(&error))?;
        plan.asked().preparation.fit(&loaded.data).map_err(|error| Refusal::unusable(&error))?;
        let truth = new.truth.then(|| truth(&tables, loaded.data.variables())).transpose()?;
        if RunFolder::at(&folder).holds().is_some() || self.live(&new.name).is_some() {
            let reason = format!("there is a run called `{}` already", new.name);
            return Err(Refusal::new(axum::http::StatusCode::CONFLICT, reason));
        }
        let names = serde_json::to_string(loaded.data.variables()).expect("names are plain text");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(VARIABLES), names))
            .map_err(|error| Refusal::unusable(&error))?;
        let job = FitJob {
            loaded,
            read_options,
            plan,
            folder,
            replace: false,
            truth,
            pace: Pace { log_every: 5, checkpoint_every: CHECKPOINT_EVERY, ..Pace::default() },
            report: true,
        };
        self.work(new.name, move |live| fit(&job, live));
        Ok(())
    }

    /// Goes on with a fit that was stopped or cut off.
    pub(crate) fn go_on(self: &Arc<Self>, name: &str) -> Result<(), Refusal> {
        let entry = self.entry(name)?;
        if entry.standing == Standing::Running || entry.standing == Standing::Finished {
            let reason = "there is nothing to go on with";
            return Err(Refusal::new(axum::http::StatusCode::CONFLICT, reason));
        }
        let folder = self.path(name)?;
        let _ = fs::remove_file(folder.join(STOPPED));
        let asked =
            Resume { folder, checkpoint_every: Some(CHECKPOINT_EVERY), ..Resume::default() };
        self.work(name.to_owned(), move |live| resume(&asked, live));
        Ok(())
    }

    /// Stops a fit in order; it can go on later.
    pub(crate) fn stop(&self, name: &str) -> Result<(), Refusal> {
        let live = self.live(name).ok_or_else(Refusal::not_found)?;
        // A mark that cannot be written only means that the fit goes on after a restart.
        let _ = fs::write(self.path(name)?.join(STOPPED), "");
        live.stop();
        Ok(())
    }

    /// Goes on with all fits that ended with the server and not by the user.
    pub(crate) fn resume_cut_off(self: &Arc<Self>) {
        for run in self.runs().into_iter().filter(|run| run.standing == Standing::Stopped) {
            let folder = self.folder.join(&run.name);
            let of_the_page = folder.join(VARIABLES).is_file();
            let cut_off = !folder.join(STOPPED).exists() && folder.join("job.json").is_file();
            if of_the_page && cut_off {
                // One that cannot go on shows its reason in the list.
                let _ = self.go_on(&run.name);
            }
        }
    }

    fn work(
        self: &Arc<Self>,
        name: String,
        job: impl FnOnce(&LiveFit) -> Result<FinishedRun, JobError> + Send + 'static,
    ) {
        let live = Arc::new(LiveFit::new());
        lock(&self.problems).remove(&name);
        self.lock_live().insert(name.clone(), Arc::clone(&live));
        let library = Arc::clone(self);
        std::thread::spawn(move || {
            let result = job(&live);
            let problem = match result {
                Ok(run) => run
                    .report
                    .err()
                    .map(|error| format!("the report could not be written: {error}")),
                Err(JobError::StoppedBeforeModel { .. }) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(problem) = problem {
                lock(&library.problems).insert(name.clone(), problem);
            }
            library.lock_live().remove(&name);
            live.end();
        });
    }

    /// A run with a model, read and computed once for every state it is in.
    pub(crate) fn show(&self, name: &str) -> Result<Arc<Shown>, Refusal> {
        let folder = self.path(name)?;
        let changed = fs::metadata(folder.join("run.json")).and_then(|data| data.modified());
        let changed = changed.map_err(|_| Refusal::not_found())?;
        if let Some((when, shown)) = lock(&self.shown).get(name)
            && *when == changed
        {
            return Ok(Arc::clone(shown));
        }
        let run = Run::load(&folder).map_err(|error| Refusal::unusable(&error))?;
        let data = run.load_data(&[]).ok();
        let options = ViewOptions { data: data.as_ref(), ..ViewOptions::default() };
        let mut view = report_view(&run, &options).map_err(|error| Refusal::unusable(&error))?;
        for warning in &mut view.data.warnings {
            *warning = in_page_words(warning);
        }
        let shown = Arc::new(Shown { run, data, view });
        lock(&self.shown).insert(name.to_owned(), (changed, Arc::clone(&shown)));
        Ok(shown)
    }

    /// The folder of the tables that were uploaded together.
    pub(crate) fn upload(&self, name: &str) -> Result<PathBuf, Refusal> {
        let folder = self.uploads().join(name);
        if is_safe(name) && folder.is_dir() { Ok(folder) } else { Err(Refusal::not_found()) }
    }

    /// Forgets what was known of a run by its name.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.problems).remove(name);
        lock(&self.shown).remove(name);
    }

    fn lock_live(&self) -> MutexGuard<'_, HashMap<String, Arc<LiveFit>>> {
        lock(&self.live)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds this lock")
}

/// The known edges that were uploaded with tables.
pub(crate) fn truth(tables: &Path, variables: &[String]) -> Result<Truth, Refusal> {
    let file = known_edges(tables).ok_or_else(Refusal::not_found)?;
    let edges = read_edge_list(&file).map_err(|error| Refusal::unusable(&error))?;
    let graph = edges.graph(variables).map_err(|error| Refusal::unusable(&error))?;
    Ok(Truth { graph, self_edges: SelfEdges::Kept })
}

/// Names of the variables, where the fit was begun on the page.
fn variables(folder: &RunFolder) -> Option<Vec<String>> {
    serde_json::from_slice(&fs::read(folder.path().join(VARIABLES)).ok()?).ok()
}

/// Whether a name is one file or folder and nothing else.
pub(crate) fn is_safe(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    (1..=100).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with(['.', ' '])
        && Path::new(name).components().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_diverged_has_failed_and_is_not_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let standings = [
            ("diverged", Standing::Failed),
            ("finished", Standing::Finished),
            ("interrupted", Standing::Stopped),
        ];
        for (ending, _) in standings {
            let run = RunFolder::at(&folder.path().join(ending));
            fs::create_dir(run.path()).unwrap();
            fs::write(run.run_file(), format!("{{\"ending\": \"{ending}\"}}")).unwrap();
            fs::write(run.job_file(), "{}").unwrap();
            fs::write(run.path().join(VARIABLES), "[]").unwrap();
            // Only what was cut off goes on by itself.
            fs::write(run.path().join(STOPPED), "").unwrap();
        }
        fs::remove_file(folder.path().join("diverged").join(STOPPED)).unwrap();
        let library = Arc::new(Library::open(folder.path().to_owned()));
        library.resume_cut_off();
        for (name, standing) in standings {
            let entry = library.entry(name).unwrap();
            assert_eq!(entry.standing, standing, "{name}");
            assert_eq!(entry.problem.is_some(), standing == Standing::Failed, "{name}");
        }
        assert!(library.entry("none").is_err());
    }

    #[test]
    fn a_report_that_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<String> =
            (0..40).map(|t| format!("{t},{},{}\n", t % 7, (t * t) % 11)).collect();
        let rows = rows.concat();
        let tables = folder.path().join(UPLOADS).join("a");
        fs::create_dir_all(&tables).unwrap();
        fs::write(tables.join("a.csv"), format!("time,x,y\n{rows}")).unwrap();
        // A folder stands where the file should.
        fs::create_dir_all(folder.path().join("run/report.html")).unwrap();
        let library = Arc::new(Library::open(folder.path().to_owned()));
        let new = serde_json::json!({
            "name": "run", "upload": "a",
            "asked": {"settings": {"steps": 3, "select": "none", "ensemble": 1}},
        });
        library.begin(serde_json::from_value(new).unwrap(), 1 << 20).unwrap();
        while library.live("run").is_some() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let entry = library.entry("run").unwrap();
        assert_eq!(entry.standing, Standing::Finished);
        let problem = entry.problem.unwrap();
        assert!(problem.starts_with("the report could not be written: "), "{problem}");
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_safe() {
        for name in ["genes", "run 2", "données.csv", "a-b_c.1"] {
            assert!(is_safe(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "/etc", "a\0b", "C:x", " x"] {
            assert!(!is_safe(name), "{name:?}");
        }
    }
}
