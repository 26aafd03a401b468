//! From bands of paths to charts: one panel per variable.

use std::path::Path;

use driftgraph_core::fitted::bands::Bands;
use driftgraph_report::{Band, BandChart, Panel, bands_svg};

use crate::output::write_file;

/// More panels than this are not read by anybody.
pub(crate) const MOST_PANELS: usize = 24;

/// The band of one variable.
pub(crate) fn band(label: &str, bands: &Bands, variable: usize) -> Band {
    let d = bands.n_variables;
    let of = |column: &[f64]| column.iter().skip(variable).step_by(d).copied().collect::<Vec<_>>();
    let [q05, q25, q50, q75, q95] = &bands.quantiles;
    Band {
        label: label.to_owned(),
        times: bands.times.clone(),
        middle: of(q50),
        half: [of(q25), of(q75)],
        most: [of(q05), of(q95)],
    }
}

/// The panel of one variable with one band.
pub(crate) fn panel(name: &str, label: &str, bands: &Bands, variable: usize) -> Panel {
    Panel { name: name.to_owned(), bands: vec![band(label, bands, variable)], ..Panel::default() }
}

/// Draws the chart; says in its subtitle which variables are left out.
pub(crate) fn draw(file: &Path, mut chart: BandChart) -> anyhow::Result<()> {
    let n = chart.panels.len();
    if n > MOST_PANELS {
        chart.panels.truncate(MOST_PANELS);
        chart.subtitle = format!("{}; {MOST_PANELS} of {n} variables", chart.subtitle);
    }
    let svg = bands_svg(&chart)?;
    write_file(file, |out| out.write_all(svg.as_bytes()))
}
