//! Tables out, in the wide layout that [`load`](crate::load) reads back.

use std::io::{self, Write};

use driftgraph_core::{ObservedSeries, SeriesSet};

use crate::dates::basic_date;

/// Names for the columns of series and time beside those of variables: `series` and `time`, unless these are taken.
///
/// Reading takes `time_` for the time before it looks for `time`, and `series_` likewise.
pub fn key_headers(variables: &[String]) -> [String; 2] {
    ["series", "time"].map(|name| {
        let mut name = name.to_owned();
        while variables.contains(&name) {
            name.push('_');
        }
        name
    })
}

/// Writes `series,time,<variables>`, one row per series and time, missing cells empty.
///
/// Numbers are written with as many digits as it takes to read the same number back.
pub fn write_series(out: impl Write, data: &SeriesSet) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let header = key_headers(data.variables());
    table.write_record(header.iter().chain(data.variables()))?;
    // Written as 20260131.0, a number is not taken for a date when it is read back.
    let mut times = data.series().iter().flat_map(ObservedSeries::times);
    let look_like_dates = times.all(|&time| basic_date(time).is_some());
    for series in data.series() {
        for (time_idx, time) in series.times().iter().enumerate() {
            table.write_field(series.name())?;
            let text = if look_like_dates { format!("{time:?}") } else { time.to_string() };
            table.write_field(text)?;
            for value in series.row(time_idx) {
                let text = if value.is_nan() { String::new() } else { value.to_string() };
                table.write_field(text)?;
            }
            table.write_record(None::<&[u8]>)?;
        }
    }
    table.flush()
}
