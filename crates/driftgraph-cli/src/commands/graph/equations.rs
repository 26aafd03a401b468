//! `graph --equations`: the drift of every variable as a sum of terms.

use std::process::ExitCode;

use driftgraph_core::fitted::equations::Equation;
use driftgraph_data::equation_text::{coefficient_text, equation_latex, equation_text, term_text};
use serde_json::json;

use crate::asking::with_run;
use crate::commands::table;
use crate::model_args::GraphArgs;
use crate::printer;

pub(super) fn run(args: &GraphArgs) -> anyhow::Result<ExitCode> {
    let (names, equations) = with_run(&args.run, |run| {
        let equations = run.model()?.equations();
        let equations = equations.ok_or_else(|| {
            anyhow::anyhow!(
                "the drift of this model is no sum of terms: `bridge-polynomial` and `bridge-linear` learn equations"
            )
        })?;
        Ok((run.variables().to_vec(), equations))
    })?;
    let text = if args.json {
        json_text(&names, &equations)?
    } else if args.latex {
        lines(equations.iter().map(|equation| equation_latex(&names, equation)))
    } else {
        let lines = lines(equations.iter().map(|equation| equation_text(&names, equation)));
        format!("{lines}\n{}", terms(&names, &equations))
    };
    printer::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn lines(equations: impl Iterator<Item = String>) -> String {
    equations.map(|line| line + "\n").collect()
}

/// All terms with what is known of them.
fn terms(names: &[String], equations: &[Equation]) -> String {
    let mut rows = table(&["target", "term", "coefficient", "90 %", "probability"]);
    for equation in equations {
        for term in &equation.terms {
            let product = term_text(names, term);
            let interval = term.interval.map_or_else(
                || "-".to_owned(),
                |[low, high]| format!("{} to {}", coefficient_text(low), coefficient_text(high)),
            );
            rows.add_row(vec![
                names[equation.target].clone(),
                if product.is_empty() { "1".to_owned() } else { product },
                coefficient_text(term.coefficient),
                interval,
                format!("{:.3}", term.probability),
            ]);
        }
    }
    format!("{rows}\n")
}

fn json_text(names: &[String], equations: &[Equation]) -> anyhow::Result<String> {
    let all: Vec<_> = (equations.iter())
        .map(|equation| {
            let terms: Vec<_> = (equation.terms.iter())
                .map(|term| {
                    let factors: Vec<&String> =
                        term.factors.iter().map(|&idx| &names[idx]).collect();
                    json!({
                        "factors": factors,
                        "function": term.function,
                        "coefficient": term.coefficient,
                        "interval": term.interval,
                        "probability": term.probability,
                    })
                })
                .collect();
            let text = equation_text(names, equation);
            json!({"target": names[equation.target], "text": text, "terms": terms})
        })
        .collect();
    Ok(serde_json::to_string_pretty(&json!({"variables": names, "equations": all}))?)
}
