//! How long a shard takes, from those that were made.

use std::collections::HashMap;

use crate::folder::Sweep;
use crate::journal::read_all;

/// Mean times by data set and fit.
#[derive(Debug)]
pub(crate) struct Times {
    means: HashMap<Kind, Mean>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    data: usize,
    fit: String,
}

#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    n: f64,
}

impl Times {
    pub(crate) fn read(sweep: &Sweep) -> Self {
        let mut means: HashMap<Kind, Mean> = HashMap::new();
        for entry in read_all(sweep.folder()) {
            let mean = means.entry(Kind { data: entry.data, fit: entry.fit }).or_default();
            mean.sum += entry.seconds;
            mean.n += 1.0;
        }
        Self { means }
    }

    /// Seconds of a shard on one thread; of the slowest kind where there is none of its own. `None` where nobody knows.
    pub(crate) fn of(&self, sweep: &Sweep, idx: usize) -> Option<f64> {
        let place = sweep.place(idx);
        let kind = Kind { data: place.data, fit: sweep.record.fits[place.fit].name.clone() };
        let slowest = || self.means.values().map(|mean| mean.sum / mean.n).reduce(f64::max);
        self.means.get(&kind).map(|mean| mean.sum / mean.n).or_else(slowest)
    }
}
