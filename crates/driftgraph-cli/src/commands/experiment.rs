//! `experiment`: tables and figures of the paper, made cell by cell and kept, so that they can be stopped at any time.

mod bimodal;
mod calibration;
mod cell;
mod curve;
mod families;
mod gap;
mod origin;
mod overview;
mod pace;
mod plan;
mod published;
mod sample;
mod scaling;
mod table;
mod tables;
mod variants;

use std::process::ExitCode;

use anyhow::Context;

use self::cell::Store;
use self::plan::Plan;
pub(crate) use self::plan::{ALL, ALL_FAST, SCOTCH_PAPER, SCOTCH_SCRIPTS};
pub(crate) use self::scaling::Size;
use crate::args::{ExperimentArgs, ExperimentName};
use crate::progress::catch_interrupts;

pub(crate) fn run(args: &ExperimentArgs) -> anyhow::Result<ExitCode> {
    if let Some(size) = args.one_size {
        scaling::measure_here(size, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.jobs.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    catch_interrupts("cells that are finished are kept")?;
    match args.name {
        ExperimentName::Bimodal => {
            refuse_what_tables_have(args)?;
            let store = Store::create(args)?;
            threads.install(|| bimodal::run(args, &store))?;
        }
        ExperimentName::Scaling => {
            refuse_what_tables_have(args)?;
            scaling::run(args, &Store::create(args)?)?;
        }
        ExperimentName::Overview => {
            refuse_what_tables_have(args)?;
            overview::run(args)?;
        }
        _ => {
            let plan = Plan::new(args)?;
            let store = Store::create(args)?;
            threads.install(|| tables::run(args, &plan, &store))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Options that choose cells of a table mean nothing where there are none to choose.
fn refuse_what_tables_have(args: &ExperimentArgs) -> anyhow::Result<()> {
    let given = [
        ("--methods", !args.methods.is_empty()),
        ("--only", !args.only.is_empty()),
        ("--oracle", args.oracle),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => anyhow::bail!("`{}` has no `{option}`", args.name.word()),
        None => Ok(()),
    }
}
