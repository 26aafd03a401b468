//! What is asked for: data sets x methods x settings x seeds x bootstrap samples, from a TOML file.

use std::path::{Path, PathBuf};

use driftgraph_core::SeriesSet;
use driftgraph_data::record::MethodRequest;
use driftgraph_data::{ReadOptions, load};
use driftgraph_methods::{FitPlan, asked_in_toml, find};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::error::SweepError;

/// A table of data under a name.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// How results call it.
    pub name: String,
    /// The series.
    pub data: SeriesSet,
}

/// A method with its settings under a name.
#[derive(Debug, Clone)]
pub struct PlannedFit {
    /// How results call it.
    pub name: String,
    /// What is asked for.
    pub asked: MethodRequest,
}

/// Everything a sweep is the product of.
#[derive(Debug, Clone)]
pub struct PlanRequest {
    /// Data sets.
    pub data: Vec<DataSource>,
    /// Methods, each with its settings.
    pub fits: Vec<PlannedFit>,
    /// Seeds of the methods and of the samples.
    pub seeds: Vec<u64>,
    /// Bootstrap samples per seed; 0 means the data as they are.
    pub bootstrap: u64,
}

impl PlanRequest {
    /// Reads a plan; the paths in it are relative to `base`.
    pub fn from_toml(text: &str, base: &Path) -> Result<Self, SweepError> {
        let table = toml::from_str(text).map_err(|error| plan_error(error.to_string()))?;
        Self::from_table(table, base)
    }

    /// A plan from its keys; the paths in it are relative to `base`.
    pub fn from_table(mut table: Table, base: &Path) -> Result<Self, SweepError> {
        let paths: Vec<PathBuf> = required(&mut table, "data", "a list of tables")?;
        let read: ReadOptions = optional(&mut table, "read")?.unwrap_or_default();
        let plan = Self {
            fits: fits_in(&mut table)?,
            seeds: optional(&mut table, "seeds")?.unwrap_or_else(|| vec![0]),
            bootstrap: optional(&mut table, "bootstrap")?.unwrap_or(0),
            data: Vec::new(),
        };
        if let Some(key) = table.keys().next() {
            return Err(plan_error(format!(
                "`{key}` is none of `data`, `methods`, `seeds`, `bootstrap`, `read` and the methods it names"
            )));
        }
        // What is wrong with the settings is told before large tables are read.
        plan.check()?;
        let mut data: Vec<DataSource> = Vec::new();
        for path in paths {
            let name = free_name(&stem(&path), &data);
            let loaded = load(&[base.join(&path)], &read)?;
            data.push(DataSource { name, data: loaded.data });
        }
        Ok(Self { data, ..plan })
    }

    /// Refuses what no method can do.
    pub(crate) fn check(&self) -> Result<(), SweepError> {
        if self.seeds.is_empty() {
            return Err(plan_error("`seeds` is empty".to_owned()));
        }
        for fit in &self.fits {
            if fit.asked.settings.contains_key("seed") {
                let reason = format!("the seed of `{}` belongs into the list `seeds`", fit.name);
                return Err(plan_error(reason));
            }
            FitPlan::new(fit.asked.clone())
                .map_err(|source| SweepError::Settings { fit: fit.name.clone(), source })?;
        }
        Ok(())
    }
}

pub(crate) fn plan_error(reason: String) -> SweepError {
    SweepError::Plan { reason }
}

fn required<T: DeserializeOwned>(
    table: &mut Table,
    key: &str,
    what: &str,
) -> Result<T, SweepError> {
    let found = optional(table, key)?;
    found.ok_or_else(|| plan_error(format!("`{key}` is missing; it is {what}")))
}

fn optional<T: DeserializeOwned>(table: &mut Table, key: &str) -> Result<Option<T>, SweepError> {
    let value = table.remove(key).map(Value::try_into).transpose();
    value.map_err(|error: toml::de::Error| plan_error(format!("`{key}`: {}", error.message())))
}

/// The methods with their tables of settings: none, one, or several for one method.
fn fits_in(table: &mut Table) -> Result<Vec<PlannedFit>, SweepError> {
    let names: Vec<String> = required(table, "methods", "a list of methods or presets")?;
    if names.is_empty() {
        return Err(plan_error("`methods` is empty".to_owned()));
    }
    let mut fits: Vec<PlannedFit> = Vec::new();
    for name in &names {
        if fits.iter().any(|fit| fit.name == *name) {
            return Err(plan_error(format!("`methods` names `{name}` twice")));
        }
        match table.remove(name) {
            None => fits.push(planned(name.clone(), name, &Table::new())?),
            Some(Value::Table(settings)) => fits.push(planned(name.clone(), name, &settings)?),
            Some(Value::Array(several)) => {
                for (idx, value) in several.into_iter().enumerate() {
                    let Value::Table(settings) = value else { return Err(no_table(name)) };
                    fits.push(planned(format!("{name}-{}", idx + 1), name, &settings)?);
                }
            }
            Some(_) => return Err(no_table(name)),
        }
    }
    Ok(fits)
}

fn no_table(name: &str) -> SweepError {
    plan_error(format!("`{name}` must be a table of settings, or several (`[[{name}]]`)"))
}

/// A method or preset with its settings, read as a settings file is.
fn planned(name: String, method: &str, settings: &Table) -> Result<PlannedFit, SweepError> {
    let asked = asked_in_toml(&settings.to_string());
    let mut asked = asked.map_err(|source| SweepError::Settings { fit: name.clone(), source })?;
    if find(method).is_some() {
        asked.method = Some(method.to_owned());
    } else {
        asked.preset = Some(method.to_owned());
    }
    Ok(PlannedFit { name, asked })
}

fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("data").to_owned()
}

/// The name, or with the first number that makes it another than those before it.
fn free_name(name: &str, known: &[DataSource]) -> String {
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    let is_free = |name: &String| known.iter().all(|other| other.name != *name);
    all.find(is_free).expect("there are always free names")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let table = "time,a,b\n0,1,2\n1,2,1\n2,0,1\n";
        std::fs::write(folder.path().join("a.csv"), table).unwrap();
        folder
    }

    fn read(text: &str) -> Result<PlanRequest, SweepError> {
        PlanRequest::from_toml(text, folder().path())
    }

    #[test]
    fn keys_and_tables_of_settings_become_fits() {
        let plan = read(
            "data = [\"a.csv\", \"a.csv\"]\nmethods = [\"ridge\", \"bridge\"]\nseeds = [0, 1]\n\
             bootstrap = 20\n[[bridge]]\nsteps = 5\n[[bridge]]\nsteps = 6\n",
        );
        let plan = plan.unwrap();
        let names: Vec<&str> = plan.fits.iter().map(|fit| fit.name.as_str()).collect();
        assert_eq!(names, ["ridge", "bridge-1", "bridge-2"]);
        assert_eq!(plan.fits[2].asked.settings["steps"], 6);
        let names: Vec<&str> = plan.data.iter().map(|data| data.name.as_str()).collect();
        assert_eq!(names, ["a", "a-2"]);
        assert_eq!((plan.seeds, plan.bootstrap), (vec![0, 1], 20));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let base = "data = [\"a.csv\"]\nmethods = [\"ridge\"]\n";
        for (text, told) in [
            ("methods = [\"ridge\"]".to_owned(), "`data` is missing"),
            (format!("{base}seed = [1]"), "`seed` is none of"),
            (format!("{base}seeds = 1"), "`seeds`: "),
            (format!("{base}bootstrap = -1"), "`bootstrap`: "),
            (format!("{base}ridge = 3"), "must be a table"),
            ("data = []\nmethods = [\"bridge\"]\n[bridge]\nseed = 1".to_owned(), "belongs into"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert!(matches!(
            read("data = []\nmethods = [\"nobody\"]"),
            Err(SweepError::Settings { .. })
        ));
    }
}
