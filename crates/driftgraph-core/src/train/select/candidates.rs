//! What may be fitted besides a linear process, as data: read by the selection, the prediction of memory, the report and experiments.

use super::{CandidateReport, Gain, SelectSettings, Task, equations, levels};
use crate::posterior::bridge::innovation::InnovationLaw;
use crate::posterior::bridge::structure::DriftParts;
use crate::train::bridge::memory::BridgeShape;
use crate::train::bridge::{BridgeSettings, Shares};
use crate::train::polynomial::PolynomialFit;
use crate::train::progress::Progress;

/// Shares of the innovations' variance below which there is nothing for node functions to explain.
///
/// Linear systems with their own seeds have a mean of 0.002 or less of each.
const WORTH_TRYING: f64 = 0.005;
/// Share that variables explain of each other's innovations from which on effects within a step are worth the
/// direction they cost.
///
/// Chosen on the families of `experiment calibration`, seeds 1000 to 1004: of 15 systems above it, and above what
/// products explain, effects within a step rank edges better in 12; of the 65 others worse in 42 and better by more
/// than 0.01 of AUROC in 9, also where held-out rows are predicted better.
const MOVES_TOGETHER: f64 = 0.1;
const WITHIN_STEPS: &str = "effects within a step were";

/// Something that may be fitted instead of a linear process alone.
pub(crate) struct Candidate {
    /// What it adds, with its verb: the beginning of sentences; of candidates that add the same, one is enough.
    pub(super) what: &'static str,
    /// Whether it may be tried at all.
    is_asked: fn(&SelectSettings) -> bool,
    /// How it is fitted.
    fitted: Fitted,
    /// Why it is not worth its cost, judged by what is known beforehand.
    pub(super) refusal: fn(&Seen<'_>) -> Option<String>,
    /// What a fit to all data says before anything is held out, where that is asked.
    pub(super) outlook: Option<fn(&Seen<'_>, &dyn Progress) -> Outlook>,
    /// Why it cannot be on top of some others.
    pub(super) not_on_top: Option<&'static str>,
    /// Whether it costs so much that it is tried on the best of the others alone, on few folds.
    pub(super) is_costly: bool,
    /// Whether a gain is large enough.
    pub(super) is_enough: fn(&Gain) -> bool,
}

/// How a candidate is fitted.
enum Fitted {
    /// As others are, with more parameters; `None` where they are there already, or cannot be.
    WithMore(fn(&BridgeSettings) -> Option<BridgeSettings>),
    /// In a way of its own.
    ByItself {
        /// What is fitted; `None` where it cannot be.
        report: fn(&Seen<'_>) -> Option<CandidateReport>,
        /// Bytes that it needs beside the data, of which `kept` are those of finished fits.
        bytes: fn(&BridgeShape, &BridgeSettings, kept: usize) -> usize,
    },
}

/// What is known before anything is held out.
pub(super) struct Seen<'a> {
    pub(super) task: Task<'a>,
    pub(super) settings: &'a SelectSettings,
    /// The settings of nothing added, with what depends on the data decided.
    pub(super) base: &'a BridgeSettings,
    /// What a linear process leaves unexplained, where that can be told.
    pub(super) left: Option<Shares>,
}

/// What a fit to all data says of a candidate.
pub(super) struct Outlook {
    /// Log evidence over that of nothing added, in nats.
    pub(super) evidence: Option<f64>,
    pub(super) standing: Standing,
    /// The equations that were found, where it is about equations.
    pub(super) equations: Option<Box<PolynomialFit>>,
}

/// Whether a candidate is to be compared with others.
pub(super) enum Standing {
    /// Held-out rows decide.
    Open,
    /// It leaves nothing that another could explain, and is taken.
    LeavesNothing,
    /// The evidence is against it.
    Refused,
    /// It was stopped, so that nothing can be said of it.
    Cut,
    /// It is not taken, whatever its evidence, and why.
    NotTaken(&'static str),
    /// It was not tried, and why, where there is something to be said.
    NotTried(Option<String>),
}

/// In the order in which they are tried; of those that add the same, a later one where the earlier was not chosen.
static CANDIDATES: [Candidate; 4] = [
    Candidate {
        what: WITHIN_STEPS,
        is_asked: |settings| settings.try_instantaneous,
        fitted: Fitted::ByItself { report: levels::report, bytes: levels::bytes },
        refusal: not_within_steps,
        outlook: None,
        not_on_top: None,
        is_costly: false,
        is_enough: |gain| gain.accepted,
    },
    Candidate {
        what: WITHIN_STEPS,
        is_asked: |settings| settings.try_instantaneous,
        fitted: Fitted::WithMore(|base| {
            (!base.instantaneous).then(|| BridgeSettings { instantaneous: true, ..base.clone() })
        }),
        refusal: not_within_steps,
        outlook: None,
        not_on_top: None,
        is_costly: false,
        is_enough: |gain| gain.accepted,
    },
    Candidate {
        what: "a neural drift was",
        is_asked: |settings| settings.try_neural,
        // Node functions go with Gaussian innovations only.
        fitted: Fitted::WithMore(|base| {
            let fits = base.drift == DriftParts::Linear
                && base.innovations == InnovationLaw::Gaussian
                && !base.levels;
            let drift = DriftParts::LinearAndNeural;
            fits.then(|| BridgeSettings { drift, ..base.clone() })
        }),
        refusal: |seen| {
            let is_none = seen.left.is_some_and(|left| left.products + left.past < WORTH_TRYING);
            is_none.then(|| "nothing in what the linear one leaves looks like it".to_owned())
        },
        outlook: None,
        not_on_top: Some("rows are too far apart to see more of it than what moves together"),
        is_costly: true,
        is_enough: |gain| gain.accepted,
    },
    Candidate {
        what: "equations were",
        is_asked: |settings| settings.try_equations,
        fitted: Fitted::ByItself { report: equations::report, bytes: equations::bytes },
        refusal: equations::refusal,
        outlook: Some(equations::outlook),
        not_on_top: None,
        is_costly: true,
        is_enough: |gain| gain.mean >= 0.0,
    },
];

/// Why effects within a step are not tried.
fn not_within_steps(seen: &Seen<'_>) -> Option<String> {
    let why = match seen.left {
        Some(left) if left.others < MOVES_TOGETHER => {
            "variables hardly move together beyond what their past explains"
        }
        Some(left) if left.others < left.products => {
            "products of variables explain more of what a linear drift leaves"
        }
        // What moves in the same step as a variable that was set cannot be told from what it drives there.
        _ if seen.task.data.has_interventions() => "they take no interventions in the data",
        _ => return None,
    };
    Some(why.to_owned())
}

impl Candidate {
    /// What is fitted, on top of some settings; `None` where they have it already, or it cannot be.
    pub(super) fn on(&self, settings: &BridgeSettings, seen: &Seen<'_>) -> Option<CandidateReport> {
        match self.fitted {
            Fitted::WithMore(more) => more(settings).map(|more| CandidateReport::plain(&more)),
            Fitted::ByItself { report, .. } => report(seen),
        }
    }

    /// The settings with more parameters, where it is those.
    fn with_more(&self, settings: &BridgeSettings) -> Option<BridgeSettings> {
        if let Fitted::WithMore(more) = self.fitted { more(settings) } else { None }
    }
}

impl Seen<'_> {
    /// What a fit to all data says of a candidate, where it is asked.
    pub(super) fn outlook(&self, candidate: &Candidate, progress: &dyn Progress) -> Outlook {
        match ((candidate.refusal)(self), candidate.outlook) {
            (Some(why), _) => Outlook::without_fit(Standing::NotTried(Some(why))),
            (None, Some(outlook)) => outlook(self, progress),
            (None, None) => Outlook::without_fit(Standing::Open),
        }
    }
}

impl Outlook {
    pub(super) fn without_fit(standing: Standing) -> Self {
        Self { evidence: None, standing, equations: None }
    }
}

impl SelectSettings {
    /// What may be tried.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &'static Candidate> {
        CANDIDATES.iter().filter(|candidate| (candidate.is_asked)(self))
    }

    /// The settings with all parameters that may be tried: no candidate that is trained needs more memory.
    pub(crate) fn largest(&self) -> BridgeSettings {
        self.candidates().fold(self.base.clone(), |largest, candidate| {
            candidate.with_more(&largest).unwrap_or(largest)
        })
    }

    /// Number of candidates that are trained beside each other.
    pub(crate) fn n_at_once(&self) -> usize {
        let cheap = self.candidates().filter(|candidate| !candidate.is_costly);
        1 + cheap.filter(|candidate| candidate.with_more(&self.base).is_some()).count()
    }

    /// Most bytes that a candidate needs which is fitted in a way of its own, beside the data.
    pub(crate) fn bytes_of_others(&self, shape: &BridgeShape, kept: usize) -> usize {
        let bytes = |candidate: &Candidate| match candidate.fitted {
            Fitted::ByItself { bytes, .. } => bytes(shape, &self.base, kept),
            Fitted::WithMore(_) => 0,
        };
        self.candidates().map(bytes).max().unwrap_or(0)
    }
}
