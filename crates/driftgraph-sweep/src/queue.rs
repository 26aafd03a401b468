//! What a worker does next: shards that nobody has, then those whose worker is dead.

use std::collections::{HashSet, VecDeque};
use std::str::FromStr;
use std::time::Duration;

use crate::claim::{Life, Observer, Worker};
use crate::error::SweepError;
use crate::folder::Sweep;

/// Shards in a row that others have done, after which the folder is listed again.
const MISSES: usize = 64;

/// One of several equal parts of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Its number, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl Slice {
    /// The whole sweep.
    pub const ALL: Self = Self { number: 1, of: 1 };

    /// Whether a shard belongs to it: neighbours, which are alike, go to different parts.
    pub fn contains(self, idx: usize) -> bool {
        idx % self.of == self.number - 1
    }
}

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected K/N with K from 1 to N, such as 3/20, found `{text}`");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let slice = match (number.parse(), of.parse()) {
            (Ok(number), Ok(of)) => Self { number, of },
            _ => return Err(wrong()),
        };
        if (1..=slice.of).contains(&slice.number) { Ok(slice) } else { Err(wrong()) }
    }
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A shard that is claimed now.
    Shard(usize),
    /// All that is left has a worker that may be dead: look again after this time.
    Wait(Duration),
    /// Everything is done, or is being done by somebody who is alive.
    Nothing,
}

/// The shards of a slice as one worker sees them.
#[derive(Debug)]
pub struct Queue<'a> {
    sweep: &'a Sweep,
    worker: &'a Worker,
    observer: Observer,
    /// Not known to be done or claimed, in the order in which they are tried.
    open: VecDeque<usize>,
    /// Claimed by others.
    busy: Vec<usize>,
    /// Done by others in a row.
    misses: usize,
    /// Found done.
    found: Vec<usize>,
}

impl<'a> Queue<'a> {
    /// Lists what is done once, and begins anywhere: workers that start together do not want the same shards.
    pub fn new(
        sweep: &'a Sweep,
        worker: &'a Worker,
        slice: Slice,
        expire: Duration,
    ) -> Result<Self, SweepError> {
        let done = sweep.done()?;
        let own = (0..sweep.n_shards()).filter(|&idx| slice.contains(idx));
        let (found, mut open): (Vec<usize>, Vec<usize>) =
            own.partition(|&idx| done.contains(sweep.name(idx)));
        let start = getrandom::u64().unwrap_or(0) as usize % open.len().max(1);
        open.rotate_left(start);
        Ok(Self {
            sweep,
            worker,
            observer: Observer::new(expire),
            open: open.into(),
            busy: Vec::new(),
            misses: 0,
            found,
        })
    }

    /// Claims the next shard there is.
    pub fn claim_next(&mut self) -> Result<Next, SweepError> {
        loop {
            while let Some(idx) = self.open.pop_front() {
                let name = self.sweep.name(idx);
                if self.is_done(idx) {
                    self.missed(idx)?;
                    continue;
                }
                if !self.worker.claim(name)? {
                    self.busy.push(idx);
                    continue;
                }
                // Its worker may have come to the end between the two looks.
                if self.is_done(idx) {
                    self.worker.release(name);
                    self.missed(idx)?;
                    continue;
                }
                self.misses = 0;
                return Ok(Next::Shard(idx));
            }
            if let Some(next) = self.look_at_busy() {
                return Ok(next);
            }
        }
    }

    /// Shards that others did, to be looked at once; damaged ones are taken away and tried again.
    pub(crate) fn check_found(&mut self) -> Result<usize, SweepError> {
        let mut n_damaged = 0;
        for idx in std::mem::take(&mut self.found) {
            if self.sweep.result(idx).is_none() && self.sweep.forget_damaged(idx)? {
                n_damaged += 1;
                self.open.push_back(idx);
            }
        }
        Ok(n_damaged)
    }

    /// Number of shards that others are making.
    pub(crate) fn n_busy(&self) -> usize {
        self.busy.iter().filter(|&&idx| !self.is_done(idx)).count()
    }

    fn is_done(&self, idx: usize) -> bool {
        self.sweep.results().file(self.sweep.name(idx)).exists()
    }

    /// Somebody else has done it; where that happens often, one listing saves many looks.
    fn missed(&mut self, idx: usize) -> Result<(), SweepError> {
        self.found.push(idx);
        self.misses += 1;
        if self.misses >= MISSES {
            self.misses = 0;
            let done: HashSet<String> = self.sweep.done()?;
            let is_done = |idx: &usize| done.contains(self.sweep.name(*idx));
            self.found.extend(self.open.iter().copied().filter(is_done));
            self.open.retain(|idx| !is_done(idx));
        }
        Ok(())
    }

    /// Looks at what others have; `None` where some of it is free again.
    fn look_at_busy(&mut self) -> Option<Next> {
        let mut uncertain = false;
        for idx in std::mem::take(&mut self.busy) {
            let name = self.sweep.name(idx);
            if self.is_done(idx) {
                self.found.push(idx);
                continue;
            }
            let Some(holder) = self.worker.holder(name) else {
                self.open.push_back(idx);
                continue;
            };
            match self.observer.look(self.worker, &holder) {
                // Free for all; whoever is first has it.
                Life::Dead => {
                    self.worker.release(name);
                    self.open.push_back(idx);
                }
                Life::Alive => self.busy.push(idx),
                Life::Unknown => {
                    uncertain = true;
                    self.busy.push(idx);
                }
            }
        }
        if !self.open.is_empty() {
            return None;
        }
        Some(if uncertain { Next::Wait(self.observer.pause()) } else { Next::Nothing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_share_all_shards_among_them() {
        for of in 1..5 {
            for idx in 0..20 {
                let owners = (1..=of).filter(|&number| Slice { number, of }.contains(idx));
                assert_eq!(owners.count(), 1);
            }
        }
        assert_eq!("3/20".parse(), Ok(Slice { number: 3, of: 20 }));
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Slice>().is_err(), "{wrong}");
        }
    }
}
