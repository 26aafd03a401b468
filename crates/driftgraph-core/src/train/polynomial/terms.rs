//! Which terms are tried, and with which sources.

use crate::SeriesSet;
use crate::Standardizer;
use crate::posterior::polynomial::library::{Angle, Curves, Library, Saturation};

/// Radians over which a sine bends as much as a saturation does over a deviation.
const BEND: f64 = 0.7;

/// Functions that are tried beside monomials, each with linear terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherTerms {
    /// Effects that level off: x² / (k² + x²) of variables that are never negative, tanh of the others.
    pub saturations: bool,
    /// Sines and cosines of angles, and of their differences from the target.
    pub waves: bool,
}

impl OtherTerms {
    /// Whether nothing is asked for.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Terms that were tried, with their evidence.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tried {
    /// What they are, in a few words.
    pub name: String,
    /// Log evidence minus that of linear terms.
    pub over_linear: f64,
}

/// What terms of a library are, in a few words.
pub(super) fn name_of(library: &Library) -> &'static str {
    match (library.curves(), library.degree()) {
        (Some(Curves::Saturations(_)), _) => "saturations",
        (Some(Curves::Waves(_)), _) => "sines and cosines",
        (None, 1) => "linear terms",
        (None, 2) => "products of two variables",
        (None, _) => "products of three variables and more",
    }
}

/// The saturation of each variable that varies.
pub(super) fn saturations(data: &SeriesSet, varying: &[usize], own: &Standardizer) -> Curves {
    let of = |(place, &variable): (usize, &usize)| {
        let rows =
            data.series().iter().flat_map(|one| one.values().chunks_exact(data.n_variables()));
        let is_negative = rows.map(|row| row[variable]).any(|value| value < 0.0);
        let (mean, scale) = (own.means()[place], own.scales()[place]);
        if is_negative || mean <= 0.0 {
            return Saturation::Tanh;
        }
        // Half of the effect at the mean.
        Saturation::Hill { offset: 1.0, slope: scale / mean }
    };
    Curves::Saturations(varying.iter().enumerate().map(of).collect())
}

/// All variables as angles in radians.
pub(super) fn waves(own: &Standardizer) -> Curves {
    let angles = own.means().iter().zip(own.scales());
    Curves::Waves(angles.map(|(&offset, &slope)| Angle { offset, slope }).collect())
}

/// Over how much of a deviation the terms bend, by variable.
pub(super) fn reaches(other: OtherTerms, own: &Standardizer) -> Vec<f64> {
    let reach = |scale: &f64| if other.waves { (BEND / scale).min(1.0) } else { 1.0 };
    own.scales().iter().map(reach).collect()
}
