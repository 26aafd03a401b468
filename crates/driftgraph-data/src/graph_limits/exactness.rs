//! When what an identity leaves of every row is as good as nothing.

use super::dependent_columns::FEWEST_ROWS;

/// What an identity leaves of a row.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) rest: f64,
    /// How much of it the digits of the table can make.
    pub(super) rounding: f64,
}

/// How exact an identity has to be.
#[derive(Clone, Copy)]
pub(super) struct Exactness {
    /// Share of the rows in which it holds.
    pub(super) share: f64,
    pub(super) fewest_rows: usize,
    /// What may be left whatever the digits, and what they may leave at most, of the deviation that is explained.
    pub(super) left: [f64; 2],
}

impl Exactness {
    /// An identity whose form is given.
    pub(super) const OF_FORM: Self =
        Self { share: 0.95, fewest_rows: FEWEST_ROWS, left: [0.02, 0.1] };

    /// Whether nearly all rests are as good as equal, measured by the deviation of what they should explain: in all rows,
    /// and in those in which something moves.
    pub(super) fn holds(self, left: Vec<Left>, moves: &[bool], deviation: f64) -> bool {
        let finite = |left: &Left| left.rest.is_finite();
        let moving = left.iter().zip(moves).filter(|(_, moves)| **moves).map(|(left, _)| *left);
        self.holds_in(moving.filter(finite).collect(), deviation)
            && self.holds_in(left.into_iter().filter(finite).collect(), deviation)
    }

    fn holds_in(self, mut left: Vec<Left>, deviation: f64) -> bool {
        if left.len() < self.fewest_rows || deviation <= 0.0 {
            return false;
        }
        let half = left.len() / 2;
        let middle = left.select_nth_unstable_by(half, |a, b| a.rest.total_cmp(&b.rest)).1.rest;
        let [least, most] = self.left.map(|share| share * deviation);
        let is_near =
            |left: &&Left| (left.rest - middle).abs() < (1.01 * left.rounding).clamp(least, most);
        let n_near = left.iter().filter(is_near).count();
        n_near as f64 >= self.share * left.len() as f64
    }
}
