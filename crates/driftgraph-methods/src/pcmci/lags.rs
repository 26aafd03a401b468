//! Variables at lags, and tables with one entry for every cause, effect and lag.

use std::ops::{Index, IndexMut};

/// A variable some rows before the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node {
    pub(crate) variable: usize,
    /// Rows before the present one.
    pub(crate) lag: usize,
}

impl Node {
    pub(crate) fn new(variable: usize, lag: usize) -> Self {
        Self { variable, lag }
    }

    /// The same variable `lag` rows earlier.
    pub(crate) fn earlier(self, lag: usize) -> Self {
        Self { lag: self.lag + lag, ..self }
    }
}

/// A cause at a lag and an effect at the present row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) cause: Node,
    pub(crate) effect: usize,
}

impl Pair {
    pub(crate) fn new(cause: Node, effect: usize) -> Self {
        Self { cause, effect }
    }

    /// Two variables of the present row.
    pub(crate) fn within(cause: usize, effect: usize) -> Self {
        Self::new(Node::new(cause, 0), effect)
    }

    /// The other way round, for two variables of the present row.
    pub(crate) fn reversed(self) -> Self {
        Self::within(self.effect, self.cause.variable)
    }
}

/// One entry for every pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LagTable<T> {
    n_variables: usize,
    n_lags: usize,
    entries: Vec<T>,
}

impl<T: Copy> LagTable<T> {
    /// The same entry everywhere, for lags 0 to `tau_max`.
    pub(crate) fn filled(n_variables: usize, tau_max: usize, entry: T) -> Self {
        let n_lags = tau_max + 1;
        Self { n_variables, n_lags, entries: vec![entry; n_variables * n_variables * n_lags] }
    }

    pub(crate) fn n_variables(&self) -> usize {
        self.n_variables
    }

    pub(crate) fn tau_max(&self) -> usize {
        self.n_lags - 1
    }

    /// All pairs, ordered by cause, effect and lag.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Pair> + use<T> {
        let (n, n_lags) = (self.n_variables, self.n_lags);
        (0..n * n * n_lags).map(move |idx| {
            Pair::new(Node::new(idx / (n * n_lags), idx % n_lags), idx / n_lags % n)
        })
    }

    fn place(&self, Pair { cause, effect }: Pair) -> usize {
        (cause.variable * self.n_variables + effect) * self.n_lags + cause.lag
    }
}

impl<T: Copy> Index<Pair> for LagTable<T> {
    type Output = T;

    fn index(&self, pair: Pair) -> &T {
        &self.entries[self.place(pair)]
    }
}

impl<T: Copy> IndexMut<Pair> for LagTable<T> {
    fn index_mut(&mut self, pair: Pair) -> &mut T {
        let place = self.place(pair);
        &mut self.entries[place]
    }
}

/// What a graph says of a cause and an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// No link.
    None,
    /// From cause to effect.
    Forward,
    /// From effect to cause; within a row only.
    Backward,
    /// A link within a row whose direction is open.
    Open,
    /// A link within a row that was oriented both ways.
    Conflict,
}

/// Links between causes at lags and effects.
pub(crate) type Links = LagTable<Mark>;

impl Links {
    /// Whether there is any link.
    pub(crate) fn is_linked(&self, pair: Pair) -> bool {
        self[pair] != Mark::None
    }

    /// Variables linked with `variable` within a row, in order.
    pub(crate) fn neighbours(&self, variable: usize) -> Vec<usize> {
        (0..self.n_variables())
            .filter(|&other| self.is_linked(Pair::within(other, variable)))
            .collect()
    }

    /// Sets a link within a row, seen from both ends.
    pub(crate) fn set_within(&mut self, cause: usize, effect: usize, mark: Mark) {
        let mirrored = match mark {
            Mark::Forward => Mark::Backward,
            Mark::Backward => Mark::Forward,
            other => other,
        };
        self[Pair::within(cause, effect)] = mark;
        self[Pair::within(effect, cause)] = mirrored;
    }
}

/// How strong and how probable by chance: the results of all tests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Results {
    /// Partial correlations.
    pub(crate) values: LagTable<f64>,
    /// Probabilities of as large a value by chance; `NaN` where there were too few samples.
    pub(crate) p_values: LagTable<f64>,
}

impl Results {
    /// Nothing tested yet.
    pub(crate) fn new(n_variables: usize, tau_max: usize) -> Self {
        Self {
            values: LagTable::filled(n_variables, tau_max, 0.0),
            p_values: LagTable::filled(n_variables, tau_max, 1.0),
        }
    }

    /// Gives both directions within a row the result that speaks less for a link.
    pub(crate) fn make_symmetric(&mut self) {
        let n = self.values.n_variables();
        for first in 0..n {
            for second in first + 1..n {
                let (own, back) = (Pair::within(first, second), Pair::within(second, first));
                // On equal terms the smaller row counts.
                let [from, to] = if self.p_values[back] > self.p_values[own] {
                    [back, own]
                } else {
                    [own, back]
                };
                self.p_values[to] = self.p_values[from];
                self.values[to] = self.values[from];
            }
        }
    }

    /// Benjamini and Hochberg (1995): p values that control the share of false discoveries among those chosen.
    pub(crate) fn control_false_discoveries(&mut self, pairs: &[Pair]) {
        let mut pairs: Vec<Pair> =
            pairs.iter().copied().filter(|&pair| !self.p_values[pair].is_nan()).collect();
        pairs.sort_by(|&a, &b| self.p_values[a].total_cmp(&self.p_values[b]));
        let count = pairs.len() as f64;
        let mut smallest = 1.0_f64;
        for (rank, &pair) in pairs.iter().enumerate().rev() {
            smallest = smallest.min(self.p_values[pair] * count / (rank + 1) as f64);
            self.p_values[pair] = smallest;
        }
    }
}
