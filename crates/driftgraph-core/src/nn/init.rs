//! Initial values of all parameters, from a seed.

use super::parameters::{Init, ParameterTable};
use crate::numeric::real::Real;
use crate::random::{Purpose, RandomStream};

/// Initial values; parameter number k of the table draws from stream k of the seed.
pub fn initial_values<R: Real>(table: &ParameterTable, seed: u64) -> Vec<R> {
    let mut values = vec![R::ZERO; table.len()];
    for (stream, parameter) in table.parameters().iter().enumerate() {
        let mut random = RandomStream::new(seed, Purpose::Weights, stream as u64);
        let out = parameter.slot.of_mut(&mut values);
        match parameter.init {
            Init::Constant(value) => out.fill(R::from_f64(value)),
            Init::Normal(deviation) => {
                let mut draws = vec![0.0; out.len()];
                random.fill_normal(&mut draws);
                for (out, draw) in out.iter_mut().zip(draws) {
                    *out = R::from_f64(deviation * draw);
                }
            }
            Init::Uniform(bound) => {
                out.fill_with(|| R::from_f64(bound * (2.0 * random.uniform() - 1.0)));
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_law_and_depend_on_the_seed() {
        let mut table = ParameterTable::default();
        let constant = table.add("constant", [1, 3], Init::Constant(0.5));
        let uniform = table.add("uniform", [50, 40], Init::of_fan_in(16));
        let values: Vec<f64> = initial_values(&table, 1);
        assert_eq!(constant.of(&values), [0.5; 3]);
        let uniform = uniform.of(&values);
        assert!(uniform.iter().all(|value| value.abs() <= 0.25));
        // Of 2000 draws some lie in the outer tenth on both sides: all but certain.
        assert!(uniform.iter().any(|&value| value > 0.225));
        assert!(uniform.iter().any(|&value| value < -0.225));
        assert_ne!(values, initial_values::<f64>(&table, 2));
    }
}
