//! `generate`: data with a known graph.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SeriesSet;
use driftgraph_data::edges::write_truth;
use driftgraph_data::write::write_series;
use driftgraph_systems::registry::{self, Entry};
use driftgraph_systems::{
    Dropping, Generated, MeasurementNoise, Recipe, Sampling, Sign, System, generate,
};
use driftgraph_text::count;
use serde_json::json;

use crate::args::{DropByArg, GenerateArgs, RecipeArg, SamplingArg};
use crate::output::{short, write_file};
use crate::printer;

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    if args.system == "list" {
        printer::data(&list_of_systems())?;
        return Ok(ExitCode::SUCCESS);
    }
    let parameters: Vec<(&str, f64)> =
        args.parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let system = registry::build(&args.system, &parameters, args.seed)?;
    let recipe = recipe(args, system.as_ref())?;
    let folder = args.out.as_deref().context("`--out DIR` says where to write the data")?;
    refuse_foreign_data(folder, args.force)?;
    let generated = generate(system.as_ref(), &recipe)?;
    write_folder(folder, &generated, &description(args, &recipe))?;
    if recipe.n_knockouts > 0 {
        let table = knockout_table(&recipe, &generated.data);
        write_file(&folder.join("interventions.csv"), |out| out.write_all(table.as_bytes()))?;
    }
    let data = &generated.data;
    if args.json {
        let object = json!({
            "data": folder.join("data.csv"),
            "truth": folder.join("truth.csv"),
            "series": data.n_series(),
            "variables": data.n_variables(),
            "rows": data.n_rows(),
            "missing_cells": data.n_missing(),
            "edges": generated.truth.n_edges(),
        });
        printer::data(&serde_json::to_string_pretty(&object)?)?;
    } else {
        printer::note(&format!(
            "wrote {} with {} and {} to `{}`, {} to `{}`",
            count(data.n_series(), "series", "series"),
            count(data.n_rows(), "row", "rows"),
            count(data.n_variables(), "variable", "variables"),
            folder.join("data.csv").display(),
            count(generated.truth.n_edges(), "true edge", "true edges"),
            folder.join("truth.csv").display(),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn recipe(args: &GenerateArgs, system: &dyn System) -> anyhow::Result<Recipe> {
    let mut recipe = match args.recipe {
        None => Recipe::usual(system, args.seed),
        Some(RecipeArg::Paper) => Recipe::paper(&args.system, args.drop, args.seed)?,
    };
    recipe.n_series = args.series.unwrap_or(recipe.n_series);
    // Users count the times they will see, the recipe counts those it records before thinning.
    recipe.n_points = args.points.map_or(recipe.n_points, |n| n.saturating_mul(recipe.keep_every));
    if let Some(span) = &args.span {
        recipe.time_range = (span[0], span[1]);
    }
    recipe.step_size = args.step_size.unwrap_or(recipe.step_size);
    recipe.scheme = args.scheme;
    recipe.standardise |= args.standardise;
    recipe.n_knockouts = args.knockouts;
    recipe.sampling = match args.sampling {
        SamplingArg::Regular => Sampling::Regular,
        SamplingArg::Random => Sampling::Random,
    };
    recipe.dropping = match args.drop_by {
        DropByArg::Time => Dropping::TimesOfAllSeries(args.drop),
        DropByArg::SeriesTime => Dropping::TimesPerSeries(args.drop),
        DropByArg::Cell => Dropping::Cells(args.drop),
    };
    if args.drop == 0.0 {
        recipe.dropping = Dropping::Nothing;
    }
    if args.noise != 0.0 {
        recipe.noise = MeasurementNoise::Relative(args.noise);
    }
    Ok(recipe)
}

/// What was done to which series, as `--interventions` reads it.
pub(crate) fn knockout_table(recipe: &Recipe, data: &SeriesSet) -> String {
    let mut text = "series,variable,kind,value,from,to\n".to_owned();
    for (idx, series) in data.series().iter().enumerate() {
        if let Some(variable) = recipe.knocked_out(idx, data.n_variables()) {
            let _ = writeln!(text, "{},{},knockout,0,,", series.name(), data.variables()[variable]);
        }
    }
    text
}

/// What made the data, so that they can be made again.
fn description(args: &GenerateArgs, recipe: &Recipe) -> serde_json::Value {
    let parameters: serde_json::Map<String, serde_json::Value> =
        args.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "driftgraph": env!("CARGO_PKG_VERSION"),
        "system": args.system,
        "parameters": parameters,
        "seed": args.seed,
        "series": recipe.n_series,
        "recorded_points": recipe.n_points,
        "keep_every": recipe.keep_every,
        "time_range": [recipe.time_range.0, recipe.time_range.1],
        "step_size": recipe.step_size,
        "scheme": recipe.scheme.name(),
        "standardise": recipe.standardise,
        "sampling": format!("{:?}", recipe.sampling),
        "dropping": format!("{:?}", recipe.dropping),
        "noise": format!("{:?}", recipe.noise),
        "knockouts": recipe.n_knockouts,
    })
}

/// A table that this command did not write may be somebody's only copy.
pub(crate) fn refuse_foreign_data(folder: &Path, force: bool) -> anyhow::Result<()> {
    let ours = folder.join("generated.json").exists();
    for name in ["data.csv", "truth.csv"] {
        let path = folder.join(name);
        anyhow::ensure!(
            force || ours || !path.exists(),
            "`{}` exists and was not made by this command; use another folder or `--force`",
            path.display()
        );
    }
    Ok(())
}

/// Writes the three files of a generated data set.
pub(crate) fn write_folder(
    folder: &Path,
    generated: &Generated,
    description: &serde_json::Value,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let description = serde_json::to_string_pretty(description)?;
    write_file(&folder.join("generated.json"), |out| writeln!(out, "{description}"))?;
    write_file(&folder.join("data.csv"), |out| write_series(out, &generated.data))?;
    let sign = |source, target| match generated.signs.sign(source, target) {
        Some(Sign::Positive) => Some('+'),
        Some(Sign::Negative) => Some('-'),
        None => None,
    };
    let variables = generated.data.variables();
    write_file(&folder.join("truth.csv"), |out| write_truth(out, variables, &generated.truth, sign))
}

fn list_of_systems() -> String {
    let mut text = String::new();
    for Entry { name, about, parameters, .. } in registry::SYSTEMS {
        let _ = writeln!(text, "{name}: {about}");
        for parameter in *parameters {
            let _ = writeln!(
                text,
                "  {}={}: {} ({} to {})",
                parameter.name,
                short(parameter.default),
                parameter.about,
                short(parameter.min),
                short(parameter.max)
            );
        }
    }
    text
}
