//! How fast must I sample? The same systems at gaps from short to long, and what each method makes of them.

use driftgraph_data::summary::Pace;
use driftgraph_report::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};
use driftgraph_systems::{Dropping, Generated, Recipe, Sampling, SystemError, generate, registry};

use super::plan::{BRIDGE, Plan};
use super::table::{Row, rows};
use super::tables::Results;
use super::variants::{Source, Variant};

/// Gaps, in the unit of time of the equations.
const GAPS: [f64; 5] = [0.05, 0.1, 0.25, 0.5, 1.0];
/// The systems, with their names in titles and the paper's settings for them.
const SYSTEMS: [(&str, &str, &str); 2] =
    [("lorenz96", "Lorenz-96", "paper-lorenz"), ("glycolysis", "Glycolysis", "paper-glycolysis")];
/// Rows of each series, about.
const ROWS: usize = 100;
/// Share of the times that is dropped, for all series at once.
const DROPPED: f64 = 0.6;
/// Methods that a picture can tell apart.
const MOST_METHODS: usize = 6;
/// Methods of the picture at a glance.
const AT_A_GLANCE: [&str; 5] =
    [BRIDGE, "partial-correlation", "score-matching", "ridge", "level-form"];

/// How the times of rows lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Times {
    /// All gaps alike.
    Regular,
    /// On a grid of which most times are dropped; the gap is that of the grid.
    Dropped,
    /// Anywhere; the gap is the mean.
    Random,
}

impl Times {
    const ALL: [Self; 3] = [Self::Regular, Self::Dropped, Self::Random];

    fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Dropped => "60 % dropped",
            Self::Random => "random times",
        }
    }
}

/// Series of a system at one gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GapData {
    system: &'static str,
    gap: f64,
    times: Times,
}

impl GapData {
    fn name(self) -> String {
        format!("{}, {}, gap {}", self.system, self.times.name(), self.gap)
    }

    /// Ten series of about a hundred rows, whatever the gap.
    pub(super) fn generate(self, seed: u64, quick: bool) -> Result<Generated, SystemError> {
        let Self { system, gap, times } = self;
        let n_rows = if quick { 30 } else { ROWS };
        let n_points = match times {
            Times::Dropped => (n_rows as f64 / (1.0 - DROPPED)).round() as usize,
            Times::Regular | Times::Random => n_rows,
        };
        let paper = Recipe::paper(system, 0.0, seed)?;
        let recipe = Recipe {
            n_series: if quick { 3 } else { paper.n_series },
            n_scaling_series: 0,
            n_points,
            keep_every: 1,
            time_range: (0.0, gap * (n_points - 1) as f64),
            sampling: if times == Times::Random { Sampling::Random } else { Sampling::Regular },
            dropping: match times {
                Times::Dropped => Dropping::TimesOfAllSeries(DROPPED),
                Times::Regular | Times::Random => Dropping::Nothing,
            },
            ..paper
        };
        generate(registry::build(system, &[], seed)?.as_ref(), &recipe)
    }
}

/// Every system, kind of times and gap.
pub(super) fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for (system, _, preset) in SYSTEMS {
        for times in Times::ALL {
            for gap in GAPS {
                let data = GapData { system, gap, times };
                all.push(Variant::new(data.name(), Source::Gap(data), preset));
            }
        }
    }
    all
}

/// A picture at a glance, and one with more metrics for each system.
pub(super) fn pictures(plan: &Plan, results: &Results) -> anyhow::Result<Vec<(String, String)>> {
    let rows: Vec<Row> =
        rows(plan, results).into_iter().filter(|row| row.as_in_the_paper).collect();
    let mut pictures = Vec::new();
    let paces: Vec<Option<f64>> = SYSTEMS.iter().map(|(system, ..)| pace(system)).collect();
    let mut at_a_glance = Vec::new();
    for times in Times::ALL {
        for ((system, title, _), pace) in SYSTEMS.iter().zip(&paces) {
            let name = format!("{title}, {}", times.name());
            let methods = plan.methods.iter().filter(|name| AT_A_GLANCE.contains(&name.as_str()));
            at_a_glance.push(panel(name, *pace, methods, |method| {
                band(system, method, "auroc", times, &rows)
            }));
        }
    }
    pictures.extend(
        chart("AUROC against the gap", at_a_glance, Some([0.4, 1.0]))?
            .map(|picture| ("gap.svg".to_owned(), picture)),
    );
    for ((system, title, _), pace) in SYSTEMS.iter().zip(&paces) {
        let mut panels = Vec::new();
        for times in Times::ALL {
            for (name, metric) in [("AUROC", "auroc"), ("FDR above 0.5", "fdr"), ("F1", "f1")] {
                let name = format!("{name}, {}", times.name());
                let methods = plan.methods.iter().take(MOST_METHODS);
                panels.push(panel(name, *pace, methods, |method| {
                    band(system, method, metric, times, &rows)
                }));
            }
        }
        let name = format!("gap-{system}.svg");
        pictures.extend(chart(title, panels, None)?.map(|picture| (name, picture)));
    }
    Ok(pictures)
}

/// The gap in which the variable in the middle changes by one deviation, told by the series with the shortest gaps.
fn pace(system: &'static str) -> Option<f64> {
    let data = GapData { system, gap: GAPS[0], times: Times::Regular }.generate(0, false).ok()?;
    let pace = Pace::of(&data.data)?;
    (!pace.is_more).then_some(pace.rows * GAPS[0])
}

/// The lines of some methods, with a mark where variables change by one deviation from row to row.
fn panel<'a>(
    name: String,
    pace: Option<f64>,
    methods: impl Iterator<Item = &'a String>,
    band: impl Fn(&str) -> Band,
) -> Panel {
    let bands = methods.map(|method| band(method)).collect();
    Panel { name, bands, marks: pace.into_iter().collect(), ..Panel::default() }
}

/// The panels that show anything; `None` where none does.
fn chart(
    what: &str,
    mut panels: Vec<Panel>,
    values: Option<[f64; 2]>,
) -> anyhow::Result<Option<String>> {
    panels.retain(|panel| panel.bands.iter().any(|band| !band.times.is_empty()));
    if panels.is_empty() {
        return Ok(None);
    }
    let chart = BandChart {
        title: format!("How fast must I sample? {what}"),
        subtitle: "mean over seeds, with one deviation; 10 series of about 100 rows at every gap"
            .to_owned(),
        time_label: "gap between rows".to_owned(),
        calendar: None,
        meaning: BandMeaning { middle: "mean", half: "", most: "one deviation" },
        is_log: false,
        axes: BandAxes {
            has_log_times: true,
            values,
            mark: "variables change by one deviation in a gap",
        },
        panels,
    };
    Ok(Some(bands_svg(&chart)?))
}

/// A metric of a method over the gaps for which it is defined; empty where it is for none, so that every method keeps its
/// colour.
fn band(system: &'static str, method: &str, metric: &str, times: Times, rows: &[Row]) -> Band {
    let mut band = Band { label: method.to_owned(), ..Band::default() };
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for gap in GAPS {
        let name = GapData { system, gap, times }.name();
        let row = rows.iter().find(|row| row.data == name && row.method == method);
        let Some(spread) = row.and_then(|row| row.metrics.get(metric).copied().flatten()) else {
            continue;
        };
        let deviation = spread.deviation.unwrap_or(0.0);
        band.times.push(gap);
        band.middle.push(spread.mean);
        low.push((spread.mean - deviation).max(0.0));
        high.push((spread.mean + deviation).min(1.0));
    }
    band.most = [low, high];
    band
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_as_many_rows_at_every_gap_and_kind_of_times() {
        for times in Times::ALL {
            for gap in [0.05, 1.0] {
                let data = GapData { system: "lorenz96", gap, times }.generate(1000, true).unwrap();
                let series = &data.data.series()[0];
                let n = series.n_observations();
                assert!((18..=45).contains(&n), "{times:?}: {n}");
                let span = series.times()[n - 1] - series.times()[0];
                let mean = span / (n - 1) as f64;
                let wanted = if times == Times::Dropped { gap / (1.0 - DROPPED) } else { gap };
                // Thirty random gaps: the mean is off by a fifth at most, and times at the ends are cut.
                assert!((mean / wanted - 1.0).abs() < 0.4, "{times:?}: {mean} and {wanted}");
            }
        }
    }

    #[test]
    fn every_variant_has_a_name_of_its_own() {
        let mut names: Vec<String> = variants().into_iter().map(|variant| variant.name).collect();
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((n, names.len()), (30, 30));
    }
}
