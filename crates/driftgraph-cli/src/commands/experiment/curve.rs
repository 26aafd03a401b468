//! Metrics over training as pictures: mean over seeds, with the 95 % interval of that mean.

use driftgraph_report::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};

use super::cell::Cell;
use super::plan::Plan;
use super::variants::Variant;

/// What is drawn, and its name in the log.
const METRICS: [(&str, &str); 4] =
    [("AUROC", "auroc"), ("F1", "f1"), ("TPR", "tpr"), ("FDR", "fdr")];

/// 0.975 quantiles of Student's t with 1 to 10 degrees of freedom.
const T_QUANTILES: [f64; 10] =
    [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];

/// File names and pictures of all methods that were followed in training.
pub(super) fn pictures(plan: &Plan, cells: &[Cell]) -> anyhow::Result<Vec<(String, String)>> {
    let mut groups: Vec<(Option<&str>, Vec<&Variant>)> = Vec::new();
    for variant in &plan.variants {
        match groups.iter_mut().find(|(name, _)| *name == variant.group) {
            Some((_, members)) => members.push(variant),
            None => groups.push((variant.group, vec![variant])),
        }
    }
    let mut pictures = Vec::new();
    for method in &plan.methods {
        for (group, variants) in &groups {
            let chart = chart(method, *group, variants, cells);
            if chart.panels.iter().any(|panel| !panel.bands.is_empty()) {
                // `100 genes, mean of five` is called `100genes` here.
                let size = group.and_then(|name| name.split(',').next());
                let size = size.map_or(String::new(), |size| format!("-{}", size.replace(' ', "")));
                let file = format!("curves-{method}{size}.svg");
                pictures.push((file, bands_svg(&chart)?));
            }
        }
    }
    Ok(pictures)
}

fn chart(method: &str, group: Option<&str>, variants: &[&Variant], cells: &[Cell]) -> BandChart {
    let of = |variant: &Variant| -> Vec<&Cell> {
        let own = |cell: &&Cell| {
            cell.variant == variant.name && cell.method == method && !cell.history.is_empty()
        };
        cells.iter().filter(own).collect()
    };
    let panel = |(name, metric): (&str, &str)| Panel {
        name: name.to_owned(),
        bands: variants
            .iter()
            .filter_map(|variant| band(&variant.name, &of(variant), metric))
            .collect(),
        ..Panel::default()
    };
    let size = group.and_then(|name| name.split(',').next());
    let size = size.map_or(String::new(), |size| format!(", {size}"));
    let has_epochs = variants.iter().flat_map(|one| of(one)).any(|cell| cell.epochs.is_some());
    BandChart {
        title: format!("{method} over training{size}"),
        subtitle: "mean over seeds, with its 95 % confidence interval".to_owned(),
        time_label: if has_epochs { "epoch" } else { "step" }.to_owned(),
        calendar: None,
        meaning: BandMeaning { middle: "mean", half: "", most: "95 % band" },
        is_log: false,
        axes: BandAxes::default(),
        panels: METRICS.map(panel).into(),
    }
}

/// Mean and interval wherever every seed has a value.
///
/// A fit that came to its end keeps its last value; one that was cut short ends the curve.
fn band(name: &str, cells: &[&Cell], metric: &str) -> Option<Band> {
    let mut steps: Vec<u64> =
        cells.iter().flat_map(|cell| cell.history.iter().map(|line| line.step)).collect();
    steps.sort_unstable();
    steps.dedup();
    let value = |cell: &Cell, step: u64| {
        let history = &cell.history;
        let last = history.iter().rfind(|line| line.step <= step)?;
        let goes_on = history.last().is_some_and(|end| end.step >= step);
        let ended = cell.epochs.is_none_or(|epochs| epochs.reached >= epochs.planned);
        last.extra(metric).filter(|_| goes_on || ended)
    };
    let mut band = Band { label: name.to_owned(), ..Band::default() };
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for step in steps {
        let values: Option<Vec<f64>> = cells.iter().map(|cell| value(cell, step)).collect();
        if let Some(values) = values {
            let (mean, half_width) = interval(&values);
            band.times.push(step as f64);
            band.middle.push(mean);
            low.push((mean - half_width).max(0.0));
            high.push((mean + half_width).min(1.0));
        }
    }
    if band.times.is_empty() {
        return None;
    }
    if cells.len() > 1 {
        band.most = [low, high];
    }
    Some(band)
}

/// The mean and half the width of its 95 % confidence interval, by Student's t.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    if n < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / ((n - 1) * n) as f64).sqrt();
    (mean, t_quantile(n - 1) * error)
}

/// Beyond the table by the first terms of the expansion around the normal law (Fisher and Cornish 1960).
fn t_quantile(degrees: usize) -> f64 {
    let z = 1.959_964_f64;
    let n = degrees as f64;
    let expansion = z
        + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3));
    T_QUANTILES.get(degrees - 1).copied().unwrap_or(expansion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_students_t() {
        // 0.6, 0.7, 0.8: deviation 0.1, standard error 0.1 / sqrt(3), t(2) = 4.3027.
        let (mean, half_width) = interval(&[0.6, 0.7, 0.8]);
        assert!((mean - 0.7).abs() < 1e-12);
        assert!((half_width - 4.3027 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(interval(&[0.5]), (0.5, 0.0));
        // Tables of the t distribution: 2.1448 for 14, 1.9840 for 100 degrees; printed with four digits.
        assert!((t_quantile(14) - 2.1448).abs() < 1e-4);
        assert!((t_quantile(100) - 1.9840).abs() < 1e-4);
    }
}
