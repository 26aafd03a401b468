//! What was done to a system, told by columns of the data themselves: `knockout:G1`, `hold:temperature`.
//!
//! A cell that is neither empty nor 0 says that it was done in its row; rows that follow each other with the same number
//! are one window. The number is the strength of a push, and nothing else of what is set.

use driftgraph_core::{InterventionKind, InterventionRow, ObservedSeries, SeriesSet};

use crate::error::{DataErrors, Place};
use crate::problem::Problem;

/// What `--interventions` is given in place of a file.
pub const COLUMNS: &str = "columns";

/// The data without these columns, and what they say.
pub(crate) fn of_columns(
    data: &SeriesSet,
) -> Result<(SeriesSet, Vec<InterventionRow>), DataErrors> {
    let names = data.variables();
    let done: Vec<(usize, InterventionKind, &str)> = (names.iter().enumerate())
        .filter_map(|(column, name)| parts(name).map(|(kind, variable)| (column, kind, variable)))
        .collect();
    if let Some((found, meant)) = names.iter().find_map(|name| Some((name, nearly(name, names)?))) {
        let found = found.clone();
        return Err(Place::default()
            .problem(Problem::NearlyInterventionColumn { found, meant })
            .into());
    }
    if done.is_empty() {
        return Err(Place::default().problem(Problem::NoInterventionColumns).into());
    }
    let is_kept = |column: &usize| done.iter().all(|(own, ..)| own != column);
    let kept: Vec<usize> = (0..names.len()).filter(is_kept).collect();
    let mut rows = Vec::new();
    for (column, kind, variable) in done {
        if !kept.iter().any(|&idx| names[idx] == variable) {
            let found = names[column].clone();
            return Err(Place::default()
                .problem(Problem::UnknownInterventionColumn { found })
                .into());
        }
        for series in data.series() {
            let value = |row: usize| series.value(row, column).filter(|value| *value != 0.0);
            let mut row = 0;
            while row < series.n_observations() {
                let first = row;
                row += 1;
                let Some(number) = value(first) else { continue };
                while row < series.n_observations() && value(row) == Some(number) {
                    row += 1;
                }
                rows.push(InterventionRow {
                    series: series.name().to_owned(),
                    variable: variable.to_owned(),
                    kind,
                    value: (!kind.sets()).then_some(number),
                    from: Some(series.times()[first]),
                    to: Some(series.times()[row - 1]),
                });
            }
        }
    }
    Ok((with_columns(data, &kept), rows))
}

/// The data with some of their columns alone.
fn with_columns(data: &SeriesSet, kept: &[usize]) -> SeriesSet {
    const VALID: &str = "what was valid stays so with fewer columns";
    let names = kept.iter().map(|&column| data.variables()[column].clone()).collect();
    let series = data.series().iter().map(|series| {
        let rows = (0..series.n_observations()).map(|row| series.row(row));
        let values = rows.flat_map(|row| kept.iter().map(|&column| row[column])).collect();
        let times = series.times().to_vec();
        ObservedSeries::new(series.name(), kept.len(), times, values).expect(VALID)
    });
    SeriesSet::new(names, series.collect()).expect(VALID)
}

/// What a column was probably to be called whose first word is nearly a kind, and that names a variable.
fn nearly(name: &str, names: &[String]) -> Option<String> {
    let (word, variable) = name.split_once(':')?;
    if parts(name).is_some() || !names.iter().any(|known| known == variable.trim()) {
        return None;
    }
    let kind = driftgraph_text::nearest(word, InterventionKind::ALL.map(InterventionKind::name))?;
    Some(format!("{kind}:{}", variable.trim()))
}

/// Kind and variable of a column that says what was done.
fn parts(name: &str) -> Option<(InterventionKind, &str)> {
    let (word, variable) = name.split_once(':')?;
    let kind = InterventionKind::ALL
        .into_iter()
        .find(|kind| kind.name().eq_ignore_ascii_case(word.trim()));
    Some((kind?, variable.trim()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::{ReadOptions, load};

    fn loaded(text: &str, options: &ReadOptions) -> Result<driftgraph_core::SeriesSet, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, text).unwrap();
        load(&[path], options).map(|loaded| loaded.data).map_err(|errors| errors.to_string())
    }

    #[test]
    fn columns_say_the_same_as_a_table() {
        let columns = "series,time,x,y,knockout:x,shift:y\na,0,1,2,,0\na,1,2,3,1,0\na,2,2,5,1,-2\na,3,1,4,,-2\n\
                       b,0,1,1,0,0\nb,1,3,3,0,0\nb,2,2,2,0,0\n";
        let options =
            ReadOptions { interventions: Some(PathBuf::from("columns")), ..ReadOptions::default() };
        let found = loaded(columns, &options).unwrap();
        assert_eq!(found.variables(), ["x", "y"]);
        let plain =
            "series,time,x,y\na,0,1,2\na,1,2,3\na,2,2,5\na,3,1,4\nb,0,1,1\nb,1,3,3\nb,2,2,2\n";
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("i.csv");
        std::fs::write(
            &table,
            "series,variable,kind,value,from,to\na,x,knockout,,1,2\na,y,shift,-2,2,3\n",
        )
        .unwrap();
        let options = ReadOptions { interventions: Some(table), ..ReadOptions::default() };
        // Everything in them, marks and holes included.
        assert_eq!(format!("{found:?}"), format!("{:?}", loaded(plain, &options).unwrap()));
    }

    #[test]
    fn columns_of_nothing_and_of_unknown_variables_are_refused() {
        let options = || ReadOptions {
            interventions: Some(PathBuf::from("columns")),
            ..ReadOptions::default()
        };
        let none = loaded("series,time,x,y\na,0,1,2\na,1,2,3\na,2,1,1\n", &options()).unwrap_err();
        assert!(none.contains("no column is called like `knockout:NAME`"), "{none}");
        let unknown =
            loaded("series,time,x,hold:z\na,0,1,2\na,1,2,3\na,2,1,1\n", &options()).unwrap_err();
        assert!(unknown.contains("the column `hold:z` names no column of the data"), "{unknown}");
        let table = "series,time,x,y,knockout:x,knokout:y\na,0,1,2,0,0\na,1,2,3,1,1\na,2,1,1,1,1\n";
        let nearly = loaded(table, &options()).unwrap_err();
        assert!(nearly.contains("did you mean `knockout:y`?"), "{nearly}");
    }
}
