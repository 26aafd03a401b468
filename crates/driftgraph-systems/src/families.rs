//! Families of random systems on which probabilities are put to the test: most of them break the model on purpose.
//!
//! A linear process with constant noise, seen at every step, is what a linear fit assumes. Every other family
//! departs from it in one way that real data do: curved effects, drivers that nobody measured, jumps, seasons,
//! samples that are too coarse. What a method says of such data must not be surer than it is right.

mod linear;
mod oscillators;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{SeriesSet, SignatureGraph};

use self::linear::LinearFamily;
use crate::system::uniform_between;
use crate::{Recipe, SystemError, generate, registry};

/// Random systems of one kind, a data set of each.
#[derive(Debug)]
pub struct Family {
    /// The name to ask for.
    pub name: &'static str,
    /// What is special about it, in one line.
    pub about: &'static str,
    draw: fn(&mut Draw) -> Result<FamilyMember, SystemError>,
}

/// A data set with its true graph.
#[derive(Debug, Clone)]
pub struct FamilyMember {
    /// What was observed.
    pub data: SeriesSet,
    /// Which observed variable drives which.
    pub truth: SignatureGraph,
}

/// All families: what a linear fit assumes first, then what it does not.
#[rustfmt::skip]
pub static FAMILIES: [Family; 16] = [
    Family { name: "linear", about: "sparse linear drift, constant noise", draw: |draw| LinearFamily::Plain.draw(draw) },
    Family { name: "measurement-noise", about: "linear, measured with an error of 30 to 70 % of each deviation", draw: |draw| LinearFamily::MeasurementNoise.draw(draw) },
    Family { name: "coarse-linear", about: "linear, with gaps as long as the effects themselves", draw: |draw| LinearFamily::Coarse.draw(draw) },
    Family { name: "hidden-driver", about: "linear, with a common driver of a third of the variables that is not in the table", draw: |draw| LinearFamily::HiddenDriver.draw(draw) },
    Family { name: "heavy-tails", about: "linear, with rare large jumps", draw: |draw| LinearFamily::Jumps.draw(draw) },
    Family { name: "season", about: "linear, with a season on top that all variables share", draw: |draw| LinearFamily::Season.draw(draw) },
    Family { name: "hill", about: "gene networks with Hill kinetics", draw: |draw| draw.gene_network() },
    Family { name: "lorenz-fine", about: "Lorenz-96 at gaps of 0.05 and 0.1", draw: |draw| draw.lorenz(&[0.05, 0.1]) },
    Family { name: "lorenz-coarse", about: "Lorenz-96 at gaps of 0.25, 0.5 and 1", draw: |draw| draw.lorenz(&[0.25, 0.5, 1.0]) },
    Family { name: "glycolysis", about: "yeast glycolysis at gaps of 0.05, 0.1 and 0.5", draw: |draw| draw.glycolysis() },
    Family { name: "kuramoto", about: "phases that pull each other by sines", draw: |draw| draw.kuramoto() },
    Family { name: "lotka-volterra", about: "populations that grow by products", draw: |draw| draw.lotka_volterra() },
    Family { name: "delays", about: "linear, but every effect arrives one to four gaps late", draw: |draw| LinearFamily::Delays.draw(draw) },
    Family { name: "multiplicative-noise", about: "linear, with noise that grows with the level", draw: |draw| LinearFamily::MultiplicativeNoise.draw(draw) },
    Family { name: "threshold", about: "a source acts only while it is above a threshold", draw: |draw| LinearFamily::Threshold.draw(draw) },
    Family { name: "fitzhugh-nagumo", about: "excitable cells that leak into each other", draw: oscillators::draw },
];

/// The family called `name`.
pub fn find(name: &str) -> Result<&'static Family, SystemError> {
    FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| SystemError::UnknownSystem {
        name: name.to_owned(),
        known: registry::quoted(FAMILIES.iter().map(|family| family.name)),
    })
}

impl Family {
    /// Member number `seed`: system, size and data all depend on it.
    pub fn member(&self, seed: u64) -> Result<FamilyMember, SystemError> {
        // Different families must not share graphs; streams below 16 are taken by systems themselves.
        let place = FAMILIES.iter().position(|family| family.name == self.name).unwrap_or(0);
        let random = RandomStream::new(seed, Purpose::System, 16 + place as u64);
        (self.draw)(&mut Draw { random, seed })
    }
}

/// How much is observed.
#[derive(Debug, Clone, Copy)]
struct Size {
    n_variables: usize,
    n_series: usize,
    n_points: usize,
}

/// A member under way.
struct Draw {
    random: RandomStream,
    seed: u64,
}

impl Draw {
    /// Eight to twelve variables, five to twenty series, thirty to a hundred rows in each.
    fn size(&mut self) -> Size {
        Size {
            n_variables: 8 + self.random.below(5),
            n_series: 5 + self.random.below(16),
            n_points: 30 + self.random.below(71),
        }
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[self.random.below(values.len())]
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        uniform_between(&mut self.random, low, high)
    }

    fn sign(&mut self) -> f64 {
        if self.random.uniform() < 0.5 { -1.0 } else { 1.0 }
    }

    fn gene_network(&mut self) -> Result<FamilyMember, SystemError> {
        let size = self.size();
        let parameters = [
            ("variables", size.n_variables as f64),
            ("regulators", 2.0 + self.random.below(4) as f64),
            ("hill", self.one_of(&[2.0, 4.0])),
            ("noise", self.one_of(&[0.03, 0.1, 0.2])),
        ];
        self.known("gene-network", &parameters, size, None)
    }

    fn kuramoto(&mut self) -> Result<FamilyMember, SystemError> {
        let size = self.size();
        let parameters = [
            ("variables", size.n_variables as f64),
            ("parents", 1.0 + self.random.below(3) as f64),
            ("noise", self.one_of(&[0.1, 0.3, 0.6])),
        ];
        self.known("kuramoto", &parameters, size, None)
    }

    fn lotka_volterra(&mut self) -> Result<FamilyMember, SystemError> {
        let size = self.size();
        let parameters = [
            ("variables", size.n_variables as f64),
            ("parents", 1.0 + self.random.below(3) as f64),
            ("noise", self.one_of(&[0.05, 0.2])),
        ];
        self.known("lotka-volterra", &parameters, size, None)
    }

    fn lorenz(&mut self, gaps: &[f64]) -> Result<FamilyMember, SystemError> {
        let size = self.size();
        let gap = self.one_of(gaps);
        self.known("lorenz96", &[("variables", size.n_variables as f64)], size, Some(gap))
    }

    fn glycolysis(&mut self) -> Result<FamilyMember, SystemError> {
        let size = self.size();
        let gap = self.one_of(&[0.05, 0.1, 0.5]);
        self.known("glycolysis", &[], size, Some(gap))
    }

    /// A system of the registry, over its usual times or at a gap of its own.
    fn known(
        &mut self,
        name: &str,
        parameters: &[(&str, f64)],
        size: Size,
        gap: Option<f64>,
    ) -> Result<FamilyMember, SystemError> {
        let system = registry::build(name, parameters, self.seed)?;
        let usual = Recipe::usual(system.as_ref(), self.seed);
        let (start, end) = usual.time_range;
        let end = gap.map_or(end, |gap| start + gap * (size.n_points - 1) as f64);
        let (n_series, n_points) = (size.n_series, size.n_points);
        let recipe = Recipe { n_series, n_points, time_range: (start, end), ..usual };
        let made = generate(system.as_ref(), &recipe)?;
        Ok(FamilyMember { data: made.data, truth: made.truth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_gives_finite_data_that_differ_by_seed_and_repeat() {
        for family in &FAMILIES {
            let first = family.member(1).unwrap();
            let values = |member: &FamilyMember| member.data.series()[0].values().to_vec();
            for series in first.data.series() {
                assert!(series.values().iter().all(|value| value.is_finite()), "{}", family.name);
            }
            assert_eq!(values(&first), values(&family.member(1).unwrap()), "{}", family.name);
            assert_ne!(values(&first), values(&family.member(2).unwrap()), "{}", family.name);
            assert_eq!(first.truth.n_variables(), first.data.n_variables(), "{}", family.name);
            let n_variables = first.truth.n_variables();
            assert!(first.truth.n_edges() > n_variables, "{}: no edge between two", family.name);
            assert!(first.truth.n_edges() < n_variables * n_variables, "{}", family.name);
        }
    }

    #[test]
    fn an_unknown_family_is_refused_with_those_that_exist() {
        let message = find("lorenz").unwrap_err().to_string();
        assert!(message.contains("`lorenz-fine`, `lorenz-coarse`"), "{message}");
    }
}
