//! From an error to text with advice, and the exit code.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::expression::Trouble;
use driftgraph_data::{DataErrors, Problem, RunError};
use driftgraph_run::JobError;
use driftgraph_sweep::SweepError;

use crate::printer;

/// Something could not be done.
const FAILED: u8 = 2;

/// Prints what went wrong and returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    // Whoever read our output has seen enough, as `head` does.
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    printer::note(&text(error));
    ExitCode::from(FAILED)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io_error = cause.downcast_ref::<io::Error>();
        io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    if let Some(errors) = error.downcast_ref::<DataErrors>() {
        for error in errors.errors() {
            let _ = writeln!(text, "error: {}", error.problem);
            // What was said on the command line has no file.
            if !error.place.file.as_os_str().is_empty() {
                let _ = writeln!(text, "  in {}", error.place);
            }
        }
        if errors.is_truncated() {
            text.push_str("and more: reading stopped here\n");
        }
        for hint in errors.hints() {
            let _ = write!(text, "\nhint: {hint}");
        }
        return text.trim_end().to_owned();
    }
    let _ = write!(text, "error: {error}");
    for cause in error.chain().skip(1) {
        let _ = write!(text, "\n  caused by: {cause}");
    }
    if let Some(hint) = hint(error) {
        let _ = write!(text, "\n\nhint: {hint}");
    }
    text
}

/// What to do about an error of a run or of a question asked of it.
fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(error) = error.downcast_ref::<RunError>() {
        return error.hint().map(str::to_owned);
    }
    if let Some(problem) = error.downcast_ref::<Problem>() {
        return problem.hint();
    }
    if let Some(error) = error.downcast_ref::<JobError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<SweepError>() {
        return error.hint();
    }
    asking_hint(error).map(str::to_owned)
}

fn asking_hint(error: &anyhow::Error) -> Option<&'static str> {
    Some(match error.downcast_ref::<FittedError>()? {
        FittedError::PathNotFinite { .. } => {
            "a shorter `--horizon`, a smaller `--step-size`, or one graph for all paths with \
             `--threshold 0.5` may help"
        }
        FittedError::NotIdempotent(_) => {
            "let each variable depend only on variables that are not assigned, or assigned before it"
        }
        FittedError::Expression(error) => match error.problem {
            Trouble::DivisionByZero | Trouble::NotFinite { .. } => {
                "guard it, e.g. with max(x, 0.001); the formula is tried on many states"
            }
            Trouble::UnknownVariable { .. } | Trouble::UnknownCharacter { .. } => {
                "quote names with other characters: `gene 1` = 0.5"
            }
            _ => return None,
        },
        FittedError::MilsteinWithInstant => "use `--scheme euler-maruyama`",
        FittedError::OutsideSeries { .. } => "times after a series are a matter of `forecast`",
        _ => return None,
    })
}
