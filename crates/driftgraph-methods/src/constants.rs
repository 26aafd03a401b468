//! Variables that never change or were never seen: what a method makes of them means nothing, and is taken out and told.

use driftgraph_core::{SeriesSet, Uninformative};

use crate::method::Learned;

/// Which variables of some data say nothing about any edge.
pub(crate) struct Constants {
    is_constant: Vec<bool>,
    sentences: Vec<String>,
}

impl Constants {
    pub(crate) fn of(data: &SeriesSet) -> Self {
        let sentence = |(idx, name): (usize, &String)| match Uninformative::of(data, idx)? {
            why @ (Uninformative::Unseen | Uninformative::Constant) => {
                Some(format!("`{name}` {why}: its edges are not learned, and given as 0"))
            }
            Uninformative::Few { .. } => None,
        };
        let sentences: Vec<Option<String>> =
            data.variables().iter().enumerate().map(sentence).collect();
        Self {
            is_constant: sentences.iter().map(Option::is_some).collect(),
            sentences: sentences.into_iter().flatten().collect(),
        }
    }

    /// Scores of all pairs, `[source, target]`, without what was made of constants.
    pub(crate) fn without(&self, mut scores: Vec<f64>) -> Vec<f64> {
        let n = self.is_constant.len();
        for (idx, score) in scores.iter_mut().enumerate() {
            if self.is_constant[idx / n] || self.is_constant[idx % n] {
                *score = 0.0;
            }
        }
        scores
    }

    /// Names them among the remarks and in the record.
    pub(crate) fn tell(&self, learned: &mut Learned) {
        learned.training.left_out.clone_from(&self.sentences);
        learned
            .remarks
            .extend(self.sentences.iter().map(|sentence| format!("warning: {sentence}")));
    }
}
