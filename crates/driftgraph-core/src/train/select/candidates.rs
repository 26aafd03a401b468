//! What may be added to a linear process, as data: read by the selection, its plan and the prediction of memory.

use super::{SelectSettings, levels};
use crate::SeriesSet;
use crate::posterior::bridge::innovation::InnovationLaw;
use crate::posterior::bridge::structure::DriftParts;
use crate::train::bridge::{BridgeSettings, Shares};

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

/// Why nothing is tried on top of levels.
pub(super) const NOT_WITH_LEVELS: &str = "a neural drift was not tried: rows are too far apart to see more of it than what moves together";

/// Share that products of states explain of what a linear process leaves beyond which levels, which are linear, are too sure.
///
/// Of glycolysis at a gap of 1 (seeds 1000 and 1002; products explain four fifths) they claimed 21 links above 0.9, 9 of them
/// false; effects by gradients claimed two, both true.
const LEVELS_ARE_LINEAR: f64 = 0.25;

/// Something that a process may have besides linear effects.
#[derive(Debug)]
pub(crate) struct Addition {
    /// Whether it costs so much that it is tried on the best of the others alone, on few folds.
    pub(super) is_costly: bool,
    /// Whether it may be tried at all.
    is_asked: fn(&SelectSettings) -> bool,
    /// The settings with it; `None` where they have it already, or cannot.
    with: fn(&BridgeSettings) -> Option<BridgeSettings>,
    /// Why it is not worth its cost, judged by what a linear process leaves unexplained.
    refusal: fn(&Shares) -> Option<&'static str>,
    /// The same where equations were found that describe the data.
    beside_equations: Option<&'static str>,
}

/// In the order in which they are tried.
static ADDITIONS: [Addition; 2] = [
    Addition {
        is_costly: false,
        is_asked: |settings| settings.try_instantaneous,
        with: |base| {
            (!base.instantaneous).then(|| BridgeSettings { instantaneous: true, ..base.clone() })
        },
        refusal: |left| {
            if left.others < MOVES_TOGETHER {
                Some(
                    "effects within a step were not tried: variables hardly move together beyond what their past explains",
                )
            } else if left.others < left.products {
                Some(
                    "effects within a step were not tried: products of variables explain more of what a linear drift leaves",
                )
            } else {
                None
            }
        },
        beside_equations: Some(
            "effects within a step were not tried: the equations leave nothing that looks like them",
        ),
    },
    Addition {
        is_costly: true,
        is_asked: |settings| settings.try_neural,
        // Node functions go with Gaussian innovations only.
        with: |base| {
            let fits = base.drift == DriftParts::Linear
                && base.innovations == InnovationLaw::Gaussian
                && !base.levels;
            let drift = DriftParts::LinearAndNeural;
            fits.then(|| BridgeSettings { drift, ..base.clone() })
        },
        refusal: |left| {
            (left.products + left.past < WORTH_TRYING).then_some(
                "a neural drift was not tried: nothing in what the linear one leaves looks like it",
            )
        },
        beside_equations: Some(
            "a neural drift was not tried: the equations leave nothing that looks like it",
        ),
    },
];

impl Addition {
    /// The settings with it; `None` where they have it already, or cannot.
    pub(super) fn to(&self, base: &BridgeSettings) -> Option<BridgeSettings> {
        (self.with)(base)
    }
}

impl SelectSettings {
    /// What may be tried.
    pub(crate) fn additions(&self) -> impl Iterator<Item = &'static Addition> {
        ADDITIONS.iter().filter(|addition| (addition.is_asked)(self))
    }

    /// The settings with everything that may be tried: no candidate needs more memory.
    pub(crate) fn largest(&self) -> BridgeSettings {
        self.additions()
            .fold(self.base.clone(), |largest, addition| addition.to(&largest).unwrap_or(largest))
    }

    /// Number of candidates that are fitted beside each other.
    pub(crate) fn n_at_once(&self) -> usize {
        let cheap = self.additions().filter(|addition| !addition.is_costly);
        1 + cheap.filter(|addition| addition.to(&self.base).is_some()).count()
    }
}

/// What is worth trying, and a sentence for each addition that is not.
pub(super) struct Plan {
    pub(super) additions: Vec<&'static Addition>,
    pub(super) skipped: Vec<String>,
    /// What effects within a step are learned with, where that is by levels.
    levels: Option<BridgeSettings>,
}

impl Plan {
    /// `left`: what a linear process leaves unexplained, where that is known; `has_equations`: whether equations were
    /// found that leave nothing.
    pub(super) fn new(
        settings: &SelectSettings,
        base: &BridgeSettings,
        left: Option<Shares>,
        has_equations: bool,
    ) -> Self {
        let mut plan = Self { additions: Vec::new(), skipped: Vec::new(), levels: None };
        for addition in settings.additions().filter(|addition| addition.to(base).is_some()) {
            let beside = addition.beside_equations.filter(|_| has_equations);
            match left.and_then(|left| (addition.refusal)(&left)).or(beside) {
                Some(sentence) => plan.skipped.push(sentence.to_owned()),
                None => plan.additions.push(addition),
            }
        }
        plan
    }

    /// The same effects in steps instead of levels, by gradients: tried where levels predict no better than nothing added.
    ///
    /// Of variables that are nearly functions of each other, a process that chains drew predicts worse than a mean one.
    pub(super) fn in_place_of_levels(&self, base: &BridgeSettings) -> Option<BridgeSettings> {
        self.levels.as_ref()?;
        let within_steps = self.additions.iter().find(|addition| !addition.is_costly)?;
        within_steps.to(base)
    }

    /// Learns effects within a step from levels, where no other length of steps was asked for.
    pub(super) fn take_levels(
        &mut self,
        data: &SeriesSet,
        settings: &SelectSettings,
        base: &BridgeSettings,
        left: Option<Shares>,
    ) {
        let are_bent = left.is_some_and(|left| left.products > LEVELS_ARE_LINEAR);
        let is_asked = self.additions.iter().any(|addition| !addition.is_costly);
        if is_asked && !are_bent && settings.base.step_size.is_none() {
            self.levels = levels::settings_of(data, base);
        }
    }

    /// The settings with an addition that costs little.
    pub(super) fn settings_of(
        &self,
        addition: &Addition,
        base: &BridgeSettings,
    ) -> Option<BridgeSettings> {
        self.levels.clone().or_else(|| addition.to(base))
    }

    /// What moves in the same step as a variable that was set cannot be told from what it drives there.
    pub(super) fn refuse_effects_within_steps(&mut self) {
        let n = self.additions.len();
        self.additions.retain(|addition| addition.is_costly);
        if self.additions.len() < n {
            self.skipped.push(
                "effects within a step were not tried: they take no interventions in the data"
                    .to_owned(),
            );
        }
    }
}
