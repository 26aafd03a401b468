//! What a new fit is asked for: tables, how they are read, known edges, settings.

use driftgraph_data::record::MethodRequest;
use driftgraph_data::{DateOrder, DecimalMark, Duplicates, Encoding, ReadOptions};
use serde::Deserialize;

/// What a new fit is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    pub(crate) name: String,
    /// Name that the uploaded tables were given.
    pub(crate) upload: String,
    #[serde(default)]
    pub(crate) columns: Columns,
    #[serde(default)]
    pub(crate) asked: MethodRequest,
    /// Whether the known edges that were uploaded with the tables are compared with.
    #[serde(default)]
    pub(crate) truth: bool,
}

/// How a table is to be read, where that is not obvious.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Columns {
    pub(crate) time: Option<String>,
    pub(crate) series: Option<String>,
    pub(crate) ignore: Vec<String>,
    pub(crate) transpose: bool,
    pub(crate) even_steps: bool,
    pub(crate) sheet: Option<String>,
    pub(crate) date_order: Option<DateOrder>,
    pub(crate) decimal: Option<DecimalMark>,
    pub(crate) missing: Option<Vec<String>>,
    pub(crate) duplicates: Option<Duplicates>,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) inputs: Vec<String>,
}

impl Columns {
    pub(crate) fn options(&self, max_bytes: u64) -> ReadOptions {
        let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        ReadOptions {
            time: given(&self.time),
            series: given(&self.series),
            ignore: self.ignore.clone(),
            transpose: self.transpose,
            even_steps: self.even_steps,
            sheet: given(&self.sheet),
            date_order: self.date_order,
            decimal: self.decimal,
            missing: self.missing.clone(),
            duplicates: self.duplicates.unwrap_or(Duplicates::Error),
            encoding: self.encoding,
            inputs: self.inputs.clone(),
            max_bytes,
            ..ReadOptions::default()
        }
    }
}
