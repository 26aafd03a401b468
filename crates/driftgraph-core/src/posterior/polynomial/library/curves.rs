//! Functions that bend, beside monomials: saturations of single variables, and waves of angles and of their differences.

use serde::{Deserialize, Serialize};

/// Functions of standardised states, one kind for a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Curves {
    /// One saturation of each variable.
    Saturations(Vec<Saturation>),
    /// Sine and cosine of each variable, and of its difference from the target.
    Waves(Vec<Angle>),
}

/// How the effect of a variable levels off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Saturation {
    /// r² / (1 + r²) of r = offset + slope u; zero below r = 0.
    Hill {
        /// r at the mean.
        offset: f64,
        /// Change of r with a deviation.
        slope: f64,
    },
    /// tanh u.
    Tanh,
}

/// An angle in radians: offset + slope u.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Angle {
    /// At the mean.
    pub offset: f64,
    /// Its change with a deviation.
    pub slope: f64,
}

/// One function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bend {
    /// Of one variable.
    Saturated(Saturation),
    /// The sine of an angle, or of the first of two minus the second.
    Sine,
    /// The cosine of the same.
    Cosine,
}

/// ∂φ_term / ∂u_variable = count φ_rest, terms counted from the first function.
pub(super) struct Slope {
    pub(super) term: usize,
    pub(super) variable: usize,
    pub(super) count: f64,
    pub(super) rest: usize,
}

impl Saturation {
    /// Value and derivative.
    fn at(self, u: f64) -> [f64; 2] {
        match self {
            Self::Hill { offset, slope } => {
                let r = (offset + slope * u).max(0.0);
                let share = 1.0 / (1.0 + r * r);
                [r * r * share, 2.0 * r * share * share * slope]
            }
            Self::Tanh => {
                let value = libm::tanh(u);
                [value, 1.0 - value * value]
            }
        }
    }
}

impl Curves {
    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        match self {
            Self::Saturations(all) => all.len(),
            Self::Waves(angles) => angles.len(),
        }
    }

    /// Number of functions, helpers not counted, that a drift may have at most.
    pub fn most_in_drift(&self) -> usize {
        match self {
            Self::Saturations(all) => all.len(),
            Self::Waves(angles) => (4 * angles.len()).saturating_sub(2),
        }
    }

    /// Variables of all functions, and none of helpers.
    pub(super) fn variables(&self) -> Vec<Vec<usize>> {
        let n = self.n_variables();
        match self {
            Self::Saturations(_) => {
                (0..n).map(|idx| vec![idx]).chain((0..n).map(|_| Vec::new())).collect()
            }
            Self::Waves(_) => {
                let single = (0..n).map(|idx| vec![idx]);
                let all = single.chain(pairs(n).map(|pair| pair.to_vec()));
                all.flat_map(|variables| [variables.clone(), variables]).collect()
            }
        }
    }

    /// Whether a function may be in the drift of a variable: differences only where it is one of the two, helpers nowhere.
    pub(super) fn may_drive(&self, place: usize, target: usize) -> bool {
        let n = self.n_variables();
        match self {
            Self::Saturations(_) => place < n,
            Self::Waves(_) => match (place / 2).checked_sub(n) {
                None => true,
                Some(pair) => pairs(n).nth(pair).is_some_and(|pair| pair.contains(&target)),
            },
        }
    }

    pub(super) fn bend(&self, place: usize) -> Option<Bend> {
        match self {
            Self::Saturations(all) => all.get(place).copied().map(Bend::Saturated),
            Self::Waves(_) if place.is_multiple_of(2) => Some(Bend::Sine),
            Self::Waves(_) => Some(Bend::Cosine),
        }
    }

    pub(super) fn values_into(&self, state: &[f64], values: &mut [f64]) {
        match self {
            Self::Saturations(all) => {
                let (values, slopes) = values.split_at_mut(all.len());
                for (idx, saturation) in all.iter().enumerate() {
                    [values[idx], slopes[idx]] = saturation.at(state[idx]);
                }
            }
            Self::Waves(angles) => {
                let n = angles.len();
                for (idx, angle) in angles.iter().enumerate() {
                    let x = angle.offset + angle.slope * state[idx];
                    [values[2 * idx], values[2 * idx + 1]] = [libm::sin(x), libm::cos(x)];
                }
                let (single, differences) = values.split_at_mut(2 * n);
                for ([a, b], difference) in pairs(n).zip(differences.chunks_exact_mut(2)) {
                    let ([sine, cosine], [other_sine, other_cosine]) =
                        ([single[2 * a], single[2 * a + 1]], [single[2 * b], single[2 * b + 1]]);
                    difference[0] = sine * other_cosine - cosine * other_sine;
                    difference[1] = cosine * other_cosine + sine * other_sine;
                }
            }
        }
    }

    pub(super) fn derivatives(&self) -> Vec<Slope> {
        let n = self.n_variables();
        match self {
            Self::Saturations(_) => (0..n)
                .map(|idx| Slope { term: idx, variable: idx, count: 1.0, rest: n + idx })
                .collect(),
            Self::Waves(angles) => {
                let of_pair = |first: usize, variable: usize, slope: f64| {
                    [
                        Slope { term: first, variable, count: slope, rest: first + 1 },
                        Slope { term: first + 1, variable, count: -slope, rest: first },
                    ]
                };
                let single = (0..n).flat_map(|idx| of_pair(2 * idx, idx, angles[idx].slope));
                let differences = pairs(n).enumerate().flat_map(|(place, [a, b])| {
                    let first = 2 * (n + place);
                    let minus = of_pair(first, b, -angles[b].slope);
                    of_pair(first, a, angles[a].slope).into_iter().chain(minus)
                });
                single.chain(differences).collect()
            }
        }
    }
}

/// All pairs of variables, the smaller first.
fn pairs(n: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| [a, b]))
}

#[cfg(test)]
mod tests {
    use super::super::Library;
    use super::*;

    fn kinds() -> [Curves; 2] {
        let hill = Saturation::Hill { offset: 1.0, slope: 0.6 };
        let angle = |offset, slope| Angle { offset, slope };
        [
            Curves::Saturations(vec![hill, Saturation::Tanh, hill]),
            Curves::Waves(vec![angle(0.3, 2.0), angle(-4.0, 0.5), angle(7.0, 1.5)]),
        ]
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        let (state, step) = ([0.4, -0.7, -1.1], 1e-5);
        for curves in kinds() {
            let library = Library::bent(curves, &|_, _| true);
            let n_terms = library.n_terms();
            let values_at = |variable: usize, change: f64| {
                let mut moved = state;
                moved[variable] += change;
                let mut values = vec![0.0; n_terms];
                library.values_into(&moved, &mut values);
                values
            };
            for variable in 0..3 {
                let [up, down, here] = [step, -step, 0.0].map(|change| values_at(variable, change));
                let mut slopes = vec![0.0; n_terms];
                library.add_slopes(&here, variable, &mut slopes);
                for unknown in library.unknowns() {
                    let term = unknown.term;
                    let slope = (up[term] - down[term]) / (2.0 * step);
                    // Third derivatives of at most 2³ times the step squared, and rounding over it.
                    assert!((slopes[term] - slope).abs() < 1e-8, "{term} by {variable}");
                }
            }
        }
    }

    #[test]
    fn functions_have_the_values_of_their_formulas() {
        let [saturations, waves] = kinds().map(|curves| Library::bent(curves, &|_, _| true));
        let mut values = vec![0.0; saturations.n_terms()];
        saturations.values_into(&[0.5, -0.2, -3.0], &mut values);
        // r = 1.3: 1.69 / 2.69; a level below zero has no effect.
        assert!((values[4] - 1.69 / 2.69).abs() < 1e-15 && values[6] == 0.0);
        assert!((values[5] - (-0.2_f64).tanh()).abs() < 1e-15);
        let mut values = vec![0.0; waves.n_terms()];
        let state = [0.4, -0.7, -1.1];
        waves.values_into(&state, &mut values);
        let difference = (0.3 + 2.0 * state[0]) - (7.0 + 1.5 * state[2]);
        // 1, three states, three pairs of sine and cosine, then the differences 0-1, 0-2, 1-2.
        for (found, wanted) in values[12..14].iter().zip([difference.sin(), difference.cos()]) {
            // Differences of products instead of one argument.
            assert!((found - wanted).abs() < 1e-14);
        }
    }

    #[test]
    fn a_drift_has_the_functions_of_its_own_sources_and_differences_from_itself() {
        // 2 drives nobody else.
        let [saturations, waves] = kinds()
            .map(|curves| Library::bent(curves, &|source, target| source != 2 || target == 2));
        let count = |library: &Library, target: usize| library.unknowns_of(target).len();
        assert_eq!([count(&saturations, 0), count(&saturations, 2)], [5, 7]);
        // 1, two states, two pairs, one difference; 1, three states, three pairs, two differences.
        assert_eq!([count(&waves, 0), count(&waves, 2)], [9, 14]);
        let has_itself = |unknown: &super::super::Unknown| {
            let factors = waves.factors(unknown.term);
            factors.len() < 2 || factors.contains(&unknown.target)
        };
        assert!(waves.unknowns().iter().all(has_itself));
        assert_eq!(waves.places_with(1, 0), [2, 5, 6, 7, 8]);
        assert!(waves.is_linear(2) && !waves.is_linear(4) && waves.bend(2).is_none());
    }
}
