//! `fit --condition COLUMN`: which series belong to which condition, read from a column.

use anyhow::{Context, bail, ensure};
use driftgraph_data::{Loaded, ReadOptions, load};
use serde_json::{Map, Value, json};

use crate::args::{DataArgs, FitArgs};

/// The data without the column of conditions, which is no variable.
pub(crate) fn without_condition(args: &FitArgs) -> DataArgs {
    let mut data = args.data.clone();
    data.ignore.extend(args.condition.clone());
    data
}

/// Reads with a column as it is, or, where its cells are no numbers, as words.
pub(crate) fn with_words<T, E>(
    options: &ReadOptions,
    column: &str,
    read: impl Fn(&ReadOptions) -> Result<T, E>,
) -> Result<T, E> {
    let words = || ReadOptions { words: Some(column.to_owned()), ..options.clone() };
    // What is wrong with other columns is told in the words of the first reading.
    read(options).or_else(|error| read(&words()).map_err(|_| error))
}

/// The table of conditions with the names of their series, as the setting `regimes` has it.
pub(crate) fn conditions(args: &DataArgs, column: &str, data: &Loaded) -> anyhow::Result<Value> {
    // What was done to other columns is no business of this one.
    let options = ReadOptions {
        variables: vec![column.to_owned()],
        inputs: Vec::new(),
        interventions: None,
        ..args.options()
    };
    let loaded = with_words(&options, column, |options| load(&args.files, options))
        .with_context(|| format!("cannot read the conditions in `{column}`"))?;
    let place = loaded.data.variables().iter().position(|name| name == column).unwrap_or(0);
    let mut table: Map<String, Value> = Map::new();
    for series in loaded.data.series() {
        let known = data.data.series().iter().any(|other| other.name() == series.name());
        if !known {
            continue;
        }
        let mut values = series.values().iter().filter(|value| !value.is_nan());
        let Some(first) = values.next() else {
            bail!("`{column}` says nothing of series `{}`", series.name());
        };
        ensure!(
            values.all(|value| value == first),
            "`{column}` changes within series `{}`: a condition is that of a whole series; for what changes in time use \
             --regimes column:{column}",
            series.name()
        );
        let word = loaded.data.word(place, *first);
        let name = word.map_or_else(|| format!("{column} {first}"), str::to_owned);
        let entry = table.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(names) = entry {
            names.push(json!(series.name()));
        }
    }
    ensure!(
        table.len() > 1,
        "all series have the same `{column}`: there is nothing to compare; --regimes finds changes in time"
    );
    Ok(Value::Object(table))
}
