//! Systems by name: a table of what exists, and parameters checked against it.

use crate::{
    System, SystemError, bimodal, gene_network, glycolysis, kuramoto, linear, lorenz63, lorenz96,
    lotka_volterra,
};

/// One number that shapes a system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is when not given.
    pub default: f64,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Whether it counts something.
    pub whole: bool,
    /// What it means, in a few words.
    pub about: &'static str,
}

impl Parameter {
    pub(crate) const fn count(
        name: &'static str,
        default: u32,
        [min, max]: [u32; 2],
        about: &'static str,
    ) -> Self {
        let (default, min, max) = (default as f64, min as f64, max as f64);
        Self { name, default, min, max, whole: true, about }
    }

    pub(crate) const fn real(
        name: &'static str,
        default: f64,
        [min, max]: [f64; 2],
        about: &'static str,
    ) -> Self {
        Self { name, default, min, max, whole: false, about }
    }
}

/// Makes a system from checked parameters and a seed for what is random about it.
pub(crate) type Build = fn(&Values, u64) -> Result<Box<dyn System>, SystemError>;

/// A system that can be built by name.
#[derive(Debug)]
pub struct Entry {
    /// The name to ask for.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What can be chosen.
    pub parameters: &'static [Parameter],
    pub(crate) build: Build,
}

/// All systems, in alphabetical order.
pub static SYSTEMS: [&Entry; 8] = [
    &bimodal::ENTRY,
    &gene_network::ENTRY,
    &glycolysis::ENTRY,
    &kuramoto::ENTRY,
    &linear::ENTRY,
    &lorenz63::ENTRY,
    &lorenz96::ENTRY,
    &lotka_volterra::ENTRY,
];

/// The entry of the system called `name`.
pub fn find(name: &str) -> Result<&'static Entry, SystemError> {
    SYSTEMS.into_iter().find(|entry| entry.name == name).ok_or_else(|| SystemError::UnknownSystem {
        name: name.to_owned(),
        known: quoted(SYSTEMS.iter().map(|entry| entry.name)),
    })
}

/// Builds the system called `name`; parameters not given take their defaults.
///
/// `seed` decides what is random about the system itself (its couplings and rates); systems
/// without anything random ignore it.
pub fn build(
    name: &str,
    parameters: &[(&str, f64)],
    seed: u64,
) -> Result<Box<dyn System>, SystemError> {
    let entry = find(name)?;
    (entry.build)(&Values::check(entry, parameters)?, seed)
}

/// Parameters of one system, each inside its range.
#[derive(Debug)]
pub(crate) struct Values {
    entry: &'static Entry,
    given: Vec<Option<f64>>,
}

impl Values {
    fn check(entry: &'static Entry, parameters: &[(&str, f64)]) -> Result<Self, SystemError> {
        let system = entry.name;
        let mut given = vec![None; entry.parameters.len()];
        for &(name, found) in parameters {
            let idx = entry.parameters.iter().position(|known| known.name == name);
            let idx = idx.ok_or_else(|| SystemError::UnknownParameter {
                system,
                name: name.to_owned(),
                known: quoted(entry.parameters.iter().map(|known| known.name)),
            })?;
            let Parameter { name: parameter, min, max, whole, .. } = entry.parameters[idx];
            if !(min..=max).contains(&found) {
                return Err(SystemError::ParameterOutOfRange {
                    system,
                    parameter,
                    min,
                    max,
                    found,
                });
            }
            if whole && found.fract() != 0.0 {
                return Err(SystemError::ParameterNotWhole { system, parameter, found });
            }
            if given[idx].replace(found).is_some() {
                return Err(SystemError::ParameterTwice { system, parameter });
            }
        }
        Ok(Self { entry, given })
    }

    /// The value of a parameter, given or by default.
    pub(crate) fn real(&self, name: &str) -> f64 {
        let (idx, parameter) = self.locate(name);
        self.given[idx].unwrap_or(parameter.default)
    }

    /// The value of a parameter that counts something.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.real(name) as usize
    }

    /// A count that another parameter limits further; a default gives way, a given value does not.
    pub(crate) fn count_up_to(&self, name: &str, limit: usize) -> Result<usize, SystemError> {
        let (idx, parameter) = self.locate(name);
        let max = parameter.max.min(limit as f64);
        match self.given[idx] {
            Some(found) if found > max => Err(SystemError::ParameterOutOfRange {
                system: self.entry.name,
                parameter: parameter.name,
                min: parameter.min,
                max,
                found,
            }),
            _ => Ok(self.count(name).min(limit)),
        }
    }

    fn locate(&self, name: &str) -> (usize, &'static Parameter) {
        let mut parameters = self.entry.parameters.iter().enumerate();
        parameters
            .find(|(_, parameter)| parameter.name == name)
            .expect("a system asks only for parameters of its own table")
    }
}

/// Names in backticks, separated by commas.
pub(crate) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, parameters: &[(&str, f64)]) -> String {
        build(name, parameters, 0).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_system_builds_with_its_defaults_and_keeps_its_name() {
        for entry in SYSTEMS {
            let system = build(entry.name, &[], 0).unwrap();
            assert_eq!(system.name(), entry.name);
            assert_eq!(system.variables().len(), system.n_variables());
            assert_eq!(system.true_graph().n_variables(), system.n_variables());
        }
    }

    #[test]
    fn every_default_lies_in_its_range() {
        for entry in SYSTEMS {
            for parameter in entry.parameters {
                let given = (parameter.name, parameter.default);
                assert!(Values::check(entry, &[given]).is_ok(), "{} {given:?}", entry.name);
            }
        }
    }

    #[test]
    fn an_unknown_system_is_answered_with_the_known_ones() {
        assert_eq!(
            message("lorenz", &[]),
            "the known systems are `bimodal`, `gene-network`, `glycolysis`, `kuramoto`, `linear`, \
             `lorenz63`, `lorenz96`, `lotka-volterra`; found `lorenz`"
        );
    }

    #[test]
    fn bad_parameters_are_refused_with_name_and_range() {
        assert_eq!(
            message("lorenz96", &[("force", 8.0)]),
            "the parameters of `lorenz96` are `variables`, `forcing`, `noise`; found `force`"
        );
        assert_eq!(
            message("lorenz96", &[("variables", 3.0)]),
            "`variables` of `lorenz96` must lie between 4 and 1000, found 3"
        );
        assert_eq!(
            message("lorenz96", &[("variables", 4.5)]),
            "`variables` of `lorenz96` must be a whole number, found 4.5"
        );
        assert!(message("lorenz96", &[("noise", f64::NAN)]).ends_with("found NaN"));
        assert_eq!(
            message("lorenz96", &[("noise", 1.0), ("noise", 2.0)]),
            "parameter `noise` of `lorenz96` is given twice"
        );
    }

    #[test]
    fn a_given_count_is_checked_against_the_number_of_variables_and_a_default_gives_way() {
        let parents = message("linear", &[("variables", 3.0), ("parents", 3.0)]);
        assert_eq!(parents, "`parents` of `linear` must lie between 0 and 2, found 3");
        let alone = build("linear", &[("variables", 1.0)], 0).unwrap();
        assert_eq!(alone.true_graph().n_edges(), 1);
    }
}
