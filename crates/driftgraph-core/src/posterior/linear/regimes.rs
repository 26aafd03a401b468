//! Linear drift that differs between regimes: one set of paths, K dynamics whose graphs share a prior.
//!
//! Every step of every series belongs to one regime, known or hidden. An effect is absent everywhere, the same everywhere,
//! or of its own in each regime ([`entry`]): so that what does not differ is learned from all data, and whether it
//! differs has a probability. Hidden regimes switch like a Markov process in continuous time ([`hidden`]); [`start`] finds
//! where to begin, [`one_process`] says what they have to be compared with, [`chain`] draws everything in turn, [`paths`] draws states between and below what was measured.

pub mod chain;
pub mod entry;
pub mod hidden;
pub mod one_process;
pub mod paths;
pub mod start;
pub mod steps;
pub mod totals;
