//! The linear layer y = W x + b, over a block of rows.

use super::parameters::{Init, ParameterTable, Slot};
use crate::numeric::kernels::{View, add_column_sums, add_product, fill_rows, product};
use crate::numeric::real::Real;

/// Places of weight `[out, in]` and bias of a linear layer.
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    /// Weight `[out, in]`.
    pub weight: Slot,
    /// Bias, one per output.
    pub bias: Slot,
}

impl Linear {
    /// Adds `name.weight` and `name.bias` to the table.
    pub fn new(table: &mut ParameterTable, name: &str, n_in: usize, n_out: usize) -> Self {
        let init = Init::of_fan_in(n_in);
        Self {
            weight: table.add(format!("{name}.weight"), [n_out, n_in], init),
            bias: table.add(format!("{name}.bias"), [1, n_out], init),
        }
    }

    /// Number of inputs.
    pub fn n_in(&self) -> usize {
        self.weight.cols
    }

    /// Number of outputs.
    pub fn n_out(&self) -> usize {
        self.weight.rows
    }

    /// `out[row] = W input[row] + b`.
    pub fn forward<R: Real>(&self, parameters: &[R], input: &[R], out: &mut [R]) {
        fill_rows(out, self.bias.of(parameters));
        let n_rows = out.len() / self.n_out();
        let input = View::new(input, n_rows, self.n_in());
        add_product(out, self.n_out(), input, self.view(parameters).t());
    }

    /// Adds the gradients of weight and bias, given the outputs' adjoints.
    pub fn add_gradients<R: Real>(&self, grads: &mut [R], input: &[R], grad_out: &[R]) {
        let n_rows = grad_out.len() / self.n_out();
        let adjoints = View::new(grad_out, n_rows, self.n_out()).t();
        let input = View::new(input, n_rows, self.n_in());
        add_product(self.weight.of_mut(grads), self.n_in(), adjoints, input);
        add_column_sums(self.bias.of_mut(grads), grad_out);
    }

    /// Writes the inputs' adjoints, given the outputs' adjoints.
    pub fn backward<R: Real>(&self, parameters: &[R], grad_out: &[R], grad_input: &mut [R]) {
        let n_rows = grad_out.len() / self.n_out();
        let adjoints = View::new(grad_out, n_rows, self.n_out());
        product(grad_input, self.n_in(), adjoints, self.view(parameters));
    }

    /// Adds to the inputs' adjoints, given the outputs' adjoints.
    pub fn backward_add<R: Real>(&self, parameters: &[R], grad_out: &[R], grad_input: &mut [R]) {
        let n_rows = grad_out.len() / self.n_out();
        let adjoints = View::new(grad_out, n_rows, self.n_out());
        add_product(grad_input, self.n_in(), adjoints, self.view(parameters));
    }

    fn view<'a, R: Real>(&self, parameters: &'a [R]) -> View<'a, R> {
        View::new(self.weight.of(parameters), self.n_out(), self.n_in())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_inputs_one_output_by_hand() {
        let mut table = ParameterTable::default();
        let layer = Linear::new(&mut table, "layer", 2, 1);
        // y = 2 a - b + 0.5.
        let parameters = [2.0, -1.0, 0.5];
        let (input, mut out) = ([1.0, 3.0, 4.0, 0.0], [0.0; 2]);
        layer.forward(&parameters, &input, &mut out);
        assert_eq!(out, [-0.5, 8.5]);
        let (mut grads, mut grad_input) = ([0.0; 3], [0.0; 4]);
        layer.add_gradients(&mut grads, &input, &[1.0, 10.0]);
        layer.backward(&parameters, &[1.0, 10.0], &mut grad_input);
        assert_eq!(grads, [41.0, 3.0, 11.0]);
        assert_eq!(grad_input, [2.0, -1.0, 20.0, -10.0]);
    }
}
