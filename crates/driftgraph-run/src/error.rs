//! What can go wrong with a whole fit.

use std::io;
use std::path::PathBuf;

use driftgraph_data::RunError;
use driftgraph_methods::{MethodError, PlanError};
use driftgraph_report::ReportError;

/// Why a fit could not start, go on, or be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// Settings that cannot be used.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A folder with something in it already.
    #[error("cannot use the run folder `{}`: the folder holds {what} already", folder.display())]
    FolderTaken {
        /// The folder.
        folder: PathBuf,
        /// "a run" or "a run that is not finished".
        what: &'static str,
    },
    /// A folder that another process writes to.
    #[error("another process is fitting in the run folder `{}`", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder without anything to go on with.
    #[error("there is no fit to go on with in `{}`", folder.display())]
    NothingToResume {
        /// The folder.
        folder: PathBuf,
    },
    /// A fit that came to its end.
    #[error("the fit in `{}` is finished already", folder.display())]
    FinishedAlready {
        /// The folder.
        folder: PathBuf,
        /// Whether its method can be given more steps.
        takes_more: bool,
    },
    /// More steps for a method that cannot go on from its end.
    #[error("a fit of `{method}` cannot be given more steps")]
    NoMoreSteps {
        /// The method.
        method: &'static str,
        /// Whether it has a setting of that name.
        has_steps: bool,
    },
    /// Settings other than those of the fit.
    #[error(
        "the fit in `{}` has other settings (those of the fit against those asked for now): {}",
        folder.display(),
        differences.join("; ")
    )]
    OtherSettings {
        /// The folder.
        folder: PathBuf,
        /// One line per setting.
        differences: Vec<String>,
        /// Whether its method can be given more steps.
        takes_more: bool,
    },
    /// A file of the run folder that cannot be understood.
    #[error("`{}` is damaged: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that cannot be written or read.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// "write", "read", "make".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder disappeared during the fit.
    #[error("the run folder `{}` is gone; the fit was stopped", folder.display())]
    FolderGone {
        /// The folder.
        folder: PathBuf,
    },
    /// A stop before there was anything to save as a result.
    #[error(
        "{} before there was a graph{}",
        if *is_late { "the time was up" } else { "stopped" },
        if *is_kept { ", but nothing is lost" } else { ", and nothing could be kept" }
    )]
    StoppedBeforeModel {
        /// The folder, from which the fit can go on.
        folder: PathBuf,
        /// Whether the clock stopped it, not the user.
        is_late: bool,
        /// Whether something was kept to go on from.
        is_kept: bool,
    },
    /// Data of the run that cannot be read again, or have changed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Runs that have no one answer together.
    #[error("{reason}")]
    NotComparable {
        /// What is different.
        reason: String,
    },
    /// Data or settings that the method cannot use.
    #[error(transparent)]
    Method(MethodError),
    /// No finite step any more; the folder holds the last good model where there is one.
    #[error("{diagnosis}")]
    Diverged {
        /// What happened.
        diagnosis: String,
        /// The folder, if the last good model could be saved there.
        saved: Option<PathBuf>,
    },
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Picture(#[from] ReportError),
    /// A result that is not a number anywhere it should be.
    #[error("the fit ended with numbers that are not finite in {what}; no graph is reported")]
    NotFinite {
        /// Where.
        what: &'static str,
    },
}

impl JobError {
    /// What to do about it, where that is not plain.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::FolderTaken { what: "a run", .. } => {
                "name another with `--out`, or replace it with `--force`".to_owned()
            }
            Self::FolderTaken { folder, .. } => format!(
                "go on with `driftgraph fit --resume {}`, or replace it with `--force`",
                folder.display()
            ),
            Self::StoppedBeforeModel { folder, is_kept, .. } => {
                let verb = if *is_kept { "go on" } else { "begin again" };
                format!("{verb} with `driftgraph fit --resume {}`", folder.display())
            }
            Self::FinishedAlready { takes_more: true, .. } => {
                "ask for more steps with `--extend-steps N`, or start anew with `fit DATA`".to_owned()
            }
            Self::FinishedAlready { .. } => "start anew with `fit DATA`".to_owned(),
            Self::NoMoreSteps { has_steps: true, .. } => {
                "fit anew with a larger `--steps`".to_owned()
            }
            Self::OtherSettings { takes_more, .. } => {
                let more = if *takes_more { ", add steps with `--extend-steps N`," } else { "" };
                format!("leave the settings away to go on{more} or fit anew into another folder")
            }
            Self::Damaged { .. } => {
                "remove the file to repeat that part of the fit, or fit anew with `--force`".to_owned()
            }
            Self::Locked { .. } => "wait for it, stop it, or name another folder".to_owned(),
            Self::Diverged { .. } => {
                "a smaller `--learning-rate` with `--clip-norm 100` (simulated posterior), or a larger \
                 `--noise-scale`, may help; look for values that are far off in the data"
                    .to_owned()
            }
            Self::Run(error) => return error.hint().map(str::to_owned),
            _ => return None,
        })
    }

    /// A file error with what was being done.
    pub(crate) fn file(
        doing: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}

/// A method's error; what it says of settings and of stopping has its own place here.
impl JobError {
    /// Where it was stopped, whether by the clock, and whether there is something to go on from.
    pub(crate) fn of_method(
        error: MethodError,
        folder: &std::path::Path,
        [is_late, is_kept]: [bool; 2],
    ) -> Self {
        match error {
            MethodError::Stopped => {
                Self::StoppedBeforeModel { folder: folder.to_owned(), is_late, is_kept }
            }
            MethodError::Diverged(divergence) => {
                Self::Diverged { diagnosis: divergence.to_string(), saved: None }
            }
            MethodError::Plan(error) => Self::Plan(error),
            other => Self::Method(other),
        }
    }
}
