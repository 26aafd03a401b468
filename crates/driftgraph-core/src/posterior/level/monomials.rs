//! Monomials in one or two variables, with their derivatives.

/// u_i^a u_j^b with i < j, or u_i^a alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Monomial {
    /// Its variables; twice the same where there is one.
    variables: [usize; 2],
    /// Their powers; the second is 0 where there is one.
    powers: [i32; 2],
}

/// All monomials up to a degree in at most two of `n` variables.
pub(super) fn monomials(n: usize, degree: u32) -> Vec<Monomial> {
    let degree = degree as i32;
    let mut all = Vec::new();
    for i in 0..n {
        all.extend((1..=degree).map(|a| Monomial { variables: [i, i], powers: [a, 0] }));
        for j in i + 1..n {
            let powers = (1..degree).flat_map(|a| (1..=degree - a).map(move |b| [a, b]));
            all.extend(powers.map(|powers| Monomial { variables: [i, j], powers }));
        }
    }
    all
}

impl Monomial {
    /// Sum of the powers.
    pub(super) fn degree(&self) -> u32 {
        self.powers.iter().sum::<i32>().unsigned_abs()
    }

    /// Whether it changes with variable `j`.
    pub(super) fn has(&self, j: usize) -> bool {
        self.variables.contains(&j)
    }

    /// Whether it has exactly these two variables, the smaller first.
    pub(super) fn is_of(&self, pair: [usize; 2]) -> bool {
        self.powers[1] > 0 && self.variables == pair
    }

    /// Its variables, twice the same where there is one.
    #[cfg(test)]
    pub(super) fn variables(&self) -> [usize; 2] {
        self.variables
    }

    /// Its value.
    #[cfg(test)]
    pub(super) fn value(&self, at: impl Fn(usize) -> f64) -> f64 {
        let [i, j] = self.variables;
        at(i).powi(self.powers[0]) * at(j).powi(self.powers[1])
    }

    /// ∂ψ / ∂u_j.
    pub(super) fn slope(&self, j: usize, at: impl Fn(usize) -> f64) -> f64 {
        self.sides(j).map_or(0.0, |Sides { own, other, rest }| {
            f64::from(own) * at(j).powi(own - 1) * rest.map_or(1.0, |idx| at(idx).powi(other))
        })
    }

    /// Σ_j ∂²ψ / ∂u_j².
    pub(super) fn laplacian(&self, at: impl Fn(usize) -> f64) -> f64 {
        let [i, j] = self.variables;
        let curvature = |idx: usize| {
            self.sides(idx).map_or(0.0, |Sides { own, other, rest }| {
                if own < 2 {
                    return 0.0;
                }
                let factor = f64::from(own * (own - 1));
                factor * at(idx).powi(own - 2) * rest.map_or(1.0, |idx| at(idx).powi(other))
            })
        };
        if i == j { curvature(i) } else { curvature(i) + curvature(j) }
    }

    fn sides(&self, j: usize) -> Option<Sides> {
        let [first, second] = self.variables;
        if first == second {
            return (first == j).then_some(Sides { own: self.powers[0], other: 0, rest: None });
        }
        if first == j {
            return Some(Sides { own: self.powers[0], other: self.powers[1], rest: Some(second) });
        }
        (second == j).then_some(Sides {
            own: self.powers[1],
            other: self.powers[0],
            rest: Some(first),
        })
    }
}

/// A monomial as one of its variables sees it.
struct Sides {
    own: i32,
    other: i32,
    rest: Option<usize>,
}
