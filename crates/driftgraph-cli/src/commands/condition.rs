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

/// The table of conditions with the names of their series, as the setting `regimes` has it.
pub(crate) fn conditions(args: &DataArgs, column: &str, data: &Loaded) -> anyhow::Result<Value> {
    let options = ReadOptions { variables: vec![column.to_owned()], ..args.options() };
    let loaded = load(&args.files, &options).with_context(|| {
        format!(
            "`--condition {column}` needs a column of numbers, one per series; where conditions have names, give their series: \
             --regimes '{{ control = [\"s1\"], drug = [\"s2\"] }}'"
        )
    })?;
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
        let name = format!("{column} {first}");
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
