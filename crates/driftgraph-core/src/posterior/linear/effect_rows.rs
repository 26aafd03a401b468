//! Which effects a linear process has room for: the rows of matrices `[target, source]`.
//!
//! Usually all: a row has a column for every variable and, last, one for the offset. Where few variables may drive
//! others, a row has columns for these alone, one for the offset, and one for the target's effect on itself where it is
//! none of them; a row of a variable that nothing else may drive has the last two. What is stored and visited then goes
//! with sources times targets.

use std::ops::Range;

/// The layout of effects by target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRows {
    /// Variables that may drive others, ascending.
    common: Vec<usize>,
    /// The place of each variable among these.
    places: Vec<Option<usize>>,
    /// Where the row of each target begins, and where the last ends.
    starts: Vec<usize>,
    /// Whether any common source may drive it, by target.
    is_driven: Vec<bool>,
    /// Whether each row has a column of its own target beside the common ones, by target.
    has_own: Vec<bool>,
}

impl EffectRows {
    /// Room for every effect.
    pub fn all(n_variables: usize) -> Self {
        let m = n_variables + 1;
        Self {
            common: (0..n_variables).collect(),
            places: (0..n_variables).map(Some).collect(),
            starts: (0..=n_variables).map(|target| target * m).collect(),
            is_driven: vec![true; n_variables],
            has_own: vec![false; n_variables],
        }
    }

    /// Room for effects of those that may drive on those that may be driven, and of all on themselves.
    pub fn between(may_drive: &[bool], may_be_driven: &[bool]) -> Self {
        let n = may_drive.len();
        let common: Vec<usize> = (0..n).filter(|&idx| may_drive[idx]).collect();
        let mut places = vec![None; n];
        common.iter().enumerate().for_each(|(place, &idx)| places[idx] = Some(place));
        let has_own: Vec<bool> =
            (0..n).map(|idx| !(may_be_driven[idx] && may_drive[idx])).collect();
        let mut starts = vec![0];
        for target in 0..n {
            let others = if may_be_driven[target] { common.len() } else { 0 };
            starts.push(starts[target] + others + 1 + usize::from(has_own[target]));
        }
        Self { common, places, starts, is_driven: may_be_driven.to_vec(), has_own }
    }

    /// Whether there is room for every effect.
    pub fn is_all(&self) -> bool {
        self.common.len() == self.n_variables() && self.has_own.iter().all(|own| !own)
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.places.len()
    }

    /// Number of entries of all rows.
    pub fn len(&self) -> usize {
        self.starts[self.n_variables()]
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Variables that may drive others, ascending.
    pub fn common(&self) -> &[usize] {
        &self.common
    }

    /// The place of a variable among the common sources.
    pub fn common_place(&self, variable: usize) -> Option<usize> {
        self.places[variable]
    }

    /// The entries of a target.
    pub fn row(&self, target: usize) -> Range<usize> {
        self.starts[target]..self.starts[target + 1]
    }

    /// Columns of other sources, or of all common ones, in the row of a target.
    pub fn n_common(&self, target: usize) -> usize {
        if self.is_driven[target] { self.common.len() } else { 0 }
    }

    /// The entry of a target's offset.
    pub fn offset(&self, target: usize) -> usize {
        self.starts[target] + self.n_common(target)
    }

    /// The entry of a target's own column beside the common ones.
    pub fn own(&self, target: usize) -> Option<usize> {
        self.has_own[target].then(|| self.starts[target + 1] - 1)
    }

    /// The entry of an effect, if there is room for it.
    pub fn entry(&self, source: usize, target: usize) -> Option<usize> {
        if source == target && self.has_own[target] {
            return self.own(target);
        }
        let place = self.places[source].filter(|_| self.is_driven[target])?;
        Some(self.starts[target] + place)
    }

    /// Entries of a target with their sources, without the offset.
    pub fn sources(&self, target: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let first = self.starts[target];
        let common = &self.common[..self.n_common(target)];
        let common = common.iter().enumerate().map(move |(place, &source)| (first + place, source));
        let own = self.own(target).map(|entry| (entry, target));
        common.chain(own)
    }

    /// Targets of a source with their entries.
    pub fn targets(&self, source: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = match self.places[source] {
            Some(_) => 0..self.n_variables(),
            None => source..source + 1,
        };
        all.filter_map(move |target| Some((self.entry(source, target)?, target)))
    }

    /// Appends what the columns of a target stand for in a state: values of its sources, and 1.
    pub fn push_state(&self, target: usize, state: &[f64], out: &mut Vec<f64>) {
        out.extend(self.common[..self.n_common(target)].iter().map(|&source| state[source]));
        out.push(1.0);
        if self.has_own[target] {
            out.push(state[target]);
        }
    }

    /// Appends the values of the common sources, and 1.
    pub(super) fn push_common(&self, state: &[f64], out: &mut Vec<f64>) {
        out.extend(self.common.iter().map(|&source| state[source]));
        out.push(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_effect_has_one_entry_and_others_none() {
        let rows = EffectRows::between(&[true, false, true, false], &[true, true, false, false]);
        let mut seen = vec![false; rows.len()];
        for target in 0..4 {
            assert!(!std::mem::replace(&mut seen[rows.offset(target)], true));
            for source in 0..4 {
                let allowed =
                    source == target || ([0, 2].contains(&source) && [0, 1].contains(&target));
                let entry = rows.entry(source, target);
                assert_eq!(entry.is_some(), allowed, "{source} -> {target}");
                if let Some(entry) = entry {
                    assert!(rows.row(target).contains(&entry));
                    assert!(!std::mem::replace(&mut seen[entry], true));
                    assert!(rows.sources(target).any(|own| own == (entry, source)));
                    assert!(rows.targets(source).any(|own| own == (entry, target)));
                }
            }
        }
        assert!(seen.iter().all(|seen| *seen));
        // Sources times targets, an offset each, and a column for all but the first, which is among the common.
        assert_eq!(rows.len(), 2 * 2 + 4 + 3);
        let mut state = Vec::new();
        rows.push_state(1, &[5.0, 6.0, 7.0, 8.0], &mut state);
        assert_eq!(state, [5.0, 7.0, 1.0, 6.0]);
    }

    #[test]
    fn room_for_all_is_a_matrix_with_offsets() {
        let rows = EffectRows::all(3);
        assert!(rows.is_all());
        assert_eq!(rows.len(), 12);
        assert_eq!(rows.entry(1, 2), Some(9));
        assert_eq!(rows.offset(2), 11);
        assert_eq!(rows, EffectRows::between(&[true; 3], &[true; 3]));
    }
}
