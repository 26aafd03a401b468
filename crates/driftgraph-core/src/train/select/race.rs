//! What is tried, in which order, and what wins.

use super::candidates::{Candidate, Outlook, Seen, Standing};
use super::folds::Folds;
use super::held_out::evaluate;
use super::{CandidateReport, Selection};
use crate::train::bridge::BridgeError;
use crate::train::progress::Progress;

/// A candidate that may be tried.
struct Planned {
    candidate: &'static Candidate,
    /// What is fitted on top of nothing added.
    report: CandidateReport,
    outlook: Outlook,
}

impl Planned {
    /// Whether it is compared at once with nothing added.
    fn is_first(&self) -> bool {
        !self.candidate.is_costly && matches!(self.outlook.standing, Standing::Open)
    }
}

/// Candidates, and what is known of each before anything is held out.
fn planned(seen: &Seen<'_>, progress: &dyn Progress) -> Vec<Planned> {
    let plan = |candidate: &'static Candidate| {
        let report = candidate.on(seen.base, seen)?;
        Some(Planned { candidate, report, outlook: seen.outlook(candidate, progress) })
    };
    let mut all: Vec<Planned> = seen.settings.candidates().filter_map(plan).collect();
    let whole = all.iter().find(|one| matches!(one.outlook.standing, Standing::LeavesNothing));
    if let Some(name) = whole.map(|one| one.report.name.clone()) {
        for other in all.iter_mut().filter(|one| matches!(one.outlook.standing, Standing::Open)) {
            let why = format!("the {name} leave nothing that asks for more");
            other.outlook.standing = Standing::NotTried(Some(why));
        }
    }
    all
}

/// Candidates that are compared, one after the other with the best before it.
pub(super) struct Race<'a> {
    seen: Seen<'a>,
    folds: &'a Folds,
    progress: &'a dyn Progress,
    selection: Selection,
}

impl<'a> Race<'a> {
    /// Before anything was compared with nothing added.
    pub(super) fn new(
        seen: Seen<'a>,
        folds: &'a Folds,
        plain: CandidateReport,
        progress: &'a dyn Progress,
    ) -> Self {
        let selection = Selection::of(plain, Some(folds.unit()));
        Self { seen, folds, progress, selection }
    }

    /// Tries what is worth it.
    pub(super) fn run(mut self) -> Result<Selection, BridgeError> {
        let mut planned = planned(&self.seen, self.progress);
        // Nothing added, and of what costs little the first that adds something, are fitted beside each other.
        let mut first = vec![&mut self.selection.candidates[0]];
        let mut added = Vec::new();
        for one in planned.iter_mut().filter(|one| one.is_first()) {
            if !added.contains(&one.candidate.what) {
                added.push(one.candidate.what);
                first.push(&mut one.report);
            }
        }
        let all = 0..self.folds.n_folds();
        evaluate(self.folds, all, self.seen.task.knowledge, &mut first, self.progress)?;
        let mut taken = Vec::new();
        for one in planned {
            let what = one.candidate.what;
            if !taken.contains(&what) && self.try_one(one)? {
                taken.push(what);
                self.selection.chosen = self.selection.candidates.len() - 1;
            }
        }
        Ok(self.selection)
    }

    /// Whether the candidate is better than the best before it.
    fn try_one(&mut self, planned: Planned) -> Result<bool, BridgeError> {
        let Planned { candidate, mut report, outlook } = planned;
        let Outlook { evidence, standing, equations } = outlook;
        if let Standing::NotTried(why) = standing {
            self.skip(candidate, "tried", why.as_deref());
            return Ok(false);
        }
        if !report.is_compared() {
            let Some(on_top) = candidate.on(self.selection.winner(), &self.seen) else {
                self.skip(candidate, "tried", candidate.not_on_top);
                return Ok(false);
            };
            report = on_top;
        }
        report.evidence = evidence;
        let is_taken = match standing {
            Standing::Open => {
                self.compare(candidate, &mut report)?;
                report.gain.is_some_and(|gain| (candidate.is_enough)(&gain))
            }
            Standing::NotTaken(why) => {
                self.skip(candidate, "taken", Some(why));
                false
            }
            Standing::LeavesNothing => true,
            Standing::Cut => {
                report.stopped = true;
                false
            }
            Standing::Refused | Standing::NotTried(_) => false,
        };
        self.selection.candidates.push(report);
        if is_taken {
            self.selection.found = equations;
        }
        Ok(is_taken)
    }

    /// By how much a candidate predicts held-out rows better than the best before it.
    fn compare(
        &self,
        candidate: &Candidate,
        report: &mut CandidateReport,
    ) -> Result<(), BridgeError> {
        let (settings, all) = (self.seen.settings, self.folds.n_folds());
        let other = &self.selection.candidates[self.selection.chosen];
        let some = settings.n_costly_folds.clamp(1, all);
        let rounds = if candidate.is_costly { [0..1, 1..some] } else { [0..all, all..all] };
        // One that predicts the first fold worse will not be chosen: the others are not worth their cost.
        for round in rounds {
            let is_worse = report.gain.is_some_and(|gain| gain.mean < 0.0);
            let is_done = report.is_compared() && !candidate.is_costly;
            if !(is_worse || is_done || round.is_empty()) {
                let tried = &mut [&mut *report];
                evaluate(self.folds, round, self.seen.task.knowledge, tried, self.progress)?;
            }
            report.gain = settings.gain(report, other);
        }
        Ok(())
    }

    /// Says once why something was not tried, or not taken.
    fn skip(&mut self, candidate: &Candidate, done: &str, why: Option<&str>) {
        let sentence = why.map(|why| format!("{} not {done}: {why}", candidate.what));
        let skipped = &mut self.selection.skipped;
        skipped.extend(sentence.filter(|sentence| !skipped.contains(sentence)));
    }
}
