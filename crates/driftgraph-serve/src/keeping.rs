//! Deleting and renaming runs.

use std::fs;
use std::path::PathBuf;

use axum::http::StatusCode;
use driftgraph_data::run_folder::RunFolder;
use driftgraph_report::report_html;

use crate::answer::Refusal;
use crate::entry::Standing;
use crate::library::{Library, STOPPED, VARIABLES};

/// Pictures that a fit writes beside what [`RunFolder`] knows.
const PICTURES: [&str; 2] = ["edges.svg", "graph.svg"];

impl Library {
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
}
