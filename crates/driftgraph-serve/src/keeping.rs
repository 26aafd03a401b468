//! Deleting and renaming runs, and what becomes of tables that no run needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use driftgraph_data::run_folder::RunFolder;
use driftgraph_report::report_html;

use crate::answer::Refusal;
use crate::entry::Standing;
use crate::library::{Library, STOPPED, VARIABLES};

/// Pictures that a fit writes beside what [`RunFolder`] knows.
const PICTURES: [&str; 2] = ["edges.svg", "graph.svg"];

/// How long tables that no run was fitted to are kept.
const KEPT_UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

impl Library {
    /// Removes tables that were uploaded more than a day before `now` and that no run of the folder was fitted to.
    ///
    /// What cannot be read or removed stays: it is only in the way.
    pub(crate) fn remove_unused_uploads(&self, now: SystemTime) {
        let Ok(uploads) = fs::read_dir(self.uploads()) else { return };
        let old: Vec<PathBuf> = (uploads.flatten().map(|entry| entry.path()))
            .filter(|tables| is_older(tables, now, KEPT_UNUSED))
            .collect();
        if old.is_empty() {
            return;
        }
        let records = self.records();
        for tables in old.iter().filter(|tables| !is_mentioned(tables, &records)) {
            let _ = fs::remove_dir_all(tables);
        }
    }

    /// The records of all runs as they stand in their files: even one that another version wrote tells of its tables.
    fn records(&self) -> Vec<String> {
        let Ok(runs) = fs::read_dir(self.folder()) else { return Vec::new() };
        let files = runs.flatten().flat_map(|run| {
            let folder = RunFolder::at(&run.path());
            [folder.job_file(), folder.run_file()]
        });
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// Deletes a run, and its tables if no other run was fitted to them; what else lies in its folder is kept.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Refusal> {
        let folder = RunFolder::at(&self.resting(name)?);
        let tables = self.uploaded_tables(&folder);
        let result = folder.clear().and_then(|()| {
            for file in PICTURES.into_iter().chain([VARIABLES, STOPPED]) {
                let file = folder.path().join(file);
                if file.is_file() {
                    fs::remove_file(file)?;
                }
            }
            Ok(())
        });
        result.map_err(|error| Refusal::unusable(&error))?;
        let _ = fs::remove_file(folder.lock_file());
        // A folder with something of the user's in it stays, and is no run any more.
        let _ = fs::remove_dir(folder.path());
        self.forget(name);
        if let Some(tables) = tables.filter(|tables| !self.is_used(tables)) {
            let _ = fs::remove_dir_all(tables);
        }
        Ok(())
    }

    /// Gives a run another name.
    pub(crate) fn rename(&self, name: &str, new: &str) -> Result<(), Refusal> {
        let from = self.resting(name)?;
        let refused = |reason: String| Refusal::new(StatusCode::CONFLICT, reason);
        let not_a_name = || {
            refused("a name has letters, digits, blanks, dots, - and _, and begins with none of the last four".to_owned())
        };
        let to = self.path(new).map_err(|_| not_a_name())?;
        if to.exists() {
            return Err(refused(format!("there is a run called `{new}` already")));
        }
        fs::rename(from, &to).map_err(|error| Refusal::unusable(&error))?;
        self.forget(name);
        // The report in the folder carries the name.
        let report = RunFolder::at(&to).report_file();
        if report.is_file() {
            let shown = self.show(new)?;
            fs::write(report, report_html(&shown.view))
                .map_err(|error| Refusal::unusable(&error))?;
        }
        Ok(())
    }

    /// The folder of a run that nothing is being done to.
    fn resting(&self, name: &str) -> Result<PathBuf, Refusal> {
        if self.entry(name)?.standing == Standing::Running {
            return Err(Refusal::new(StatusCode::CONFLICT, "the fit is running: stop it first"));
        }
        self.path(name)
    }

    /// The folder among the uploads that a run was fitted to.
    fn uploaded_tables(&self, folder: &RunFolder) -> Option<PathBuf> {
        let job = folder.read_job().ok()?;
        let tables = job.data.files.first()?.parent()?.to_owned();
        (tables.parent()? == self.uploads()).then_some(tables)
    }

    fn is_used(&self, tables: &PathBuf) -> bool {
        self.runs().iter().any(|run| {
            let folder = self.path(&run.name).map(|path| RunFolder::at(&path));
            folder.ok().and_then(|folder| self.uploaded_tables(&folder)).as_ref() == Some(tables)
        })
    }
}

/// Whether nothing in a folder changed for so long.
fn is_older(folder: &Path, now: SystemTime, age: Duration) -> bool {
    let Ok(files) = fs::read_dir(folder) else { return false };
    let all = files.flatten().map(|file| file.path()).chain([folder.to_owned()]);
    all.into_iter().all(|path| {
        let changed = fs::metadata(path).and_then(|data| data.modified());
        changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|since| since > age))
    })
}

/// Whether a record names a file in a folder of uploads, wherever the folder of the runs was when it was written.
fn is_mentioned(tables: &Path, records: &[String]) -> bool {
    let Some(name) = tables.file_name().map(|name| name.to_string_lossy()) else { return true };
    // Between quotes a backslash is doubled.
    let [unix, windows] = ["/", r"\\"].map(|between| format!("uploads{between}{name}{between}"));
    records.iter().any(|record| record.contains(&unix) || record.contains(&windows))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn library(folder: &std::path::Path) -> Arc<Library> {
        let rows: Vec<String> =
            (0..40).map(|t| format!("{t},{},{}\n", t % 7, (t * t) % 11)).collect();
        let tables = folder.join("uploads/a");
        fs::create_dir_all(&tables).unwrap();
        fs::write(tables.join("a.csv"), format!("time,x,y\n{}", rows.concat())).unwrap();
        let library = Arc::new(Library::open(folder.to_owned()));
        for name in ["one", "two"] {
            let new = serde_json::json!({
                "name": name, "upload": "a", "asked": {"method": "ridge"},
            });
            library.begin(serde_json::from_value(new).unwrap(), 1 << 20).unwrap();
            while library.live(name).is_some() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        library
    }

    #[test]
    fn a_run_is_renamed_and_deleted_and_its_tables_go_with_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path());
        library.rename("one", "three").unwrap();
        let names = || library.runs().into_iter().map(|run| run.name).collect::<Vec<_>>();
        let mut found = names();
        found.sort();
        assert_eq!(found, ["three", "two"]);
        let report = fs::read_to_string(folder.path().join("three/report.html")).unwrap();
        assert!(report.contains("<title>three"), "{}", &report[..300]);
        assert!(library.rename("three", "two").is_err());
        assert!(library.rename("three", "../x").is_err());
        fs::write(folder.path().join("three/notes.txt"), "mine").unwrap();
        library.delete("three").unwrap();
        assert_eq!(names(), ["two"]);
        let left: Vec<_> = fs::read_dir(folder.path().join("three")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(folder.path().join("uploads/a/a.csv").exists());
        library.delete("two").unwrap();
        assert!(!folder.path().join("two").exists());
        assert!(!folder.path().join("uploads/a").exists());
        assert!(library.delete("two").is_err());
    }

    #[test]
    fn tables_that_nobody_fitted_go_after_a_day_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path());
        let uploads = folder.path().join("uploads");
        fs::create_dir_all(uploads.join("b")).unwrap();
        fs::write(uploads.join("b/b.csv"), "time,x\n0,1\n").unwrap();
        let now = SystemTime::now();
        library.remove_unused_uploads(now);
        assert!(uploads.join("b/b.csv").exists(), "it was uploaded just now");
        library.remove_unused_uploads(now + 2 * KEPT_UNUSED);
        assert!(!uploads.join("b").exists());
        assert!(uploads.join("a/a.csv").exists(), "two runs were fitted to it");
        // A folder that was moved is still the folder of its runs.
        let elsewhere = tempfile::tempdir().unwrap();
        let moved = elsewhere.path().join("moved");
        fs::rename(folder.path(), &moved).unwrap();
        fs::create_dir_all(folder.path()).unwrap();
        Library::open(moved.clone()).remove_unused_uploads(now + 2 * KEPT_UNUSED);
        assert!(moved.join("uploads/a/a.csv").exists());
    }
}
