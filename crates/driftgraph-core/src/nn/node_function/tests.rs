//! A node function against a plain evaluation of its formula, and against central differences.

use super::*;
use crate::nn::init::initial_values;
use crate::nn::parameters::{WithAdjoints, WithGradient};

/// Both nets evaluated node by node, with whole one-hot inputs and all D outputs.
fn plain(function: &NodeFunction, p: &[f64], z: &[f64], graph: &[f64]) -> Vec<f64> {
    let NodeSizes { n_variables: d, embedding: e, .. } = function.sizes;
    let net = |layers: &[Linear; 3], input: &[f64]| {
        let mut x = input.to_vec();
        for (idx, layer) in layers.iter().enumerate() {
            let mut y = vec![0.0; layer.n_out()];
            layer.forward(p, &x, &mut y);
            if idx < 2 {
                y = y.into_iter().map(leaky).collect();
                if layer.n_in() == layer.n_out() {
                    add_into(&mut y, &x);
                }
            }
            x = y;
        }
        x
    };
    let embedding = |node: usize| &function.embeddings.of(p)[node * e..(node + 1) * e];
    let mut strengths = vec![0.0; d * d];
    function.edge_strengths(p, graph, &mut strengths);
    let messages: Vec<Vec<f64>> = (0..d)
        .map(|node| {
            let mut input = vec![0.0; d];
            input[node] = z[node];
            net(&function.message, &[&input, embedding(node)].concat())
        })
        .collect();
    let output = |node: usize| {
        let mut sum = vec![0.0; e];
        for source in 0..d {
            let strength = strengths[source * d + node];
            for idx in 0..e {
                sum[idx] += strength * messages[source][idx];
            }
        }
        net(&function.combine, &[&sum, embedding(node)].concat())[node]
    };
    (0..d).map(output).collect()
}

struct Case {
    table: ParameterTable,
    function: NodeFunction,
    parameters: Vec<f64>,
    z: Vec<f64>,
    graph: Vec<f64>,
}

/// Widths with and without a skip in either first layer.
fn cases() -> Vec<Case> {
    [(3, 4, 8, true), (3, 5, 8, true), (4, 3, 5, false)]
        .into_iter()
        .map(|(n_variables, embedding, width, edge_weights)| {
            let mut table = ParameterTable::default();
            let sizes = NodeSizes { n_variables, embedding, width, edge_weights };
            let mut function = NodeFunction::new(&mut table, "net", sizes);
            function.reserve_scratch(&mut table);
            let mut parameters: Vec<f64> = initial_values(&table, 5);
            let mut random =
                crate::random::RandomStream::new(3, crate::random::Purpose::Weights, 99);
            // Embeddings and edge weights start near 0, which would hide mistakes.
            let n_special = function.embeddings.len() + n_variables * n_variables;
            random.fill_normal(&mut parameters[..n_special]);
            let mut z = vec![0.0; n_variables];
            random.fill_normal(&mut z);
            let mut graph = vec![0.0; n_variables * n_variables];
            random.fill_normal(&mut graph);
            Case { table, function, parameters, z, graph }
        })
        .collect()
}

#[test]
fn blocks_of_rows_compute_the_formula() {
    for Case { function, parameters, z, graph, .. } in cases() {
        let d = z.len();
        let mut weights = NodeWeights::default();
        function.prepare(&parameters, &mut weights);
        let mut strengths = vec![0.0; d * d];
        function.edge_strengths(&parameters, &graph, &mut strengths);
        let mut trace = NodeTrace::default();
        // Two points in time per node: the state and its double.
        let rows = Rows { first: 0, n: 2 * d, per_node: 2 };
        trace.resize(&function, rows.n);
        for node in 0..d {
            trace.inputs[2 * node] = z[node];
            trace.inputs[2 * node + 1] = 2.0 * z[node];
        }
        function.messages(&parameters, &weights, &mut trace, rows);
        function.aggregate(&strengths, &mut trace, rows);
        function.combine(&parameters, &weights, &mut trace, rows);
        let doubled: Vec<f64> = z.iter().map(|z| 2.0 * z).collect();
        let once = plain(&function, &parameters, &z, &graph);
        let twice = plain(&function, &parameters, &doubled, &graph);
        for node in 0..d {
            // Sums in another order: a few roundings.
            assert!((trace.outputs[2 * node] - once[node]).abs() < 1e-13);
            assert!((trace.outputs[2 * node + 1] - twice[node]).abs() < 1e-13);
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for Case { table, function, parameters, z, graph } in cases() {
        let d = z.len();
        // The loss: a weighted sum of the outputs.
        let weights_of_loss: Vec<f64> = (0..d).map(|idx| 1.0 + idx as f64).collect();
        let loss = |p: &[f64], z: &[f64], graph: &[f64]| {
            dot(&plain(&function, p, z, graph), &weights_of_loss)
        };
        let mut weights = NodeWeights::default();
        function.prepare(&parameters, &mut weights);
        let mut strengths = vec![0.0; d * d];
        function.edge_strengths(&parameters, &graph, &mut strengths);
        let (mut trace, mut adjoints) = (NodeTrace::default(), NodeAdjoints::default());
        let rows = Rows { first: 0, n: d, per_node: 1 };
        trace.resize(&function, d);
        adjoints.resize(&function, d);
        trace.inputs.copy_from_slice(&z);
        function.messages(&parameters, &weights, &mut trace, rows);
        function.aggregate(&strengths, &mut trace, rows);
        function.combine(&parameters, &weights, &mut trace, rows);
        adjoints.outputs.copy_from_slice(&weights_of_loss);
        let mut grads = vec![0.0; table.gradient_len()];
        let mut grad_graph = vec![0.0; d * d];
        function.combine_backward(
            WithGradient { parameters: &parameters, grads: &mut grads },
            &trace,
            &mut adjoints,
            rows,
        );
        let pair = WithAdjoints { values: &strengths, adjoints: &mut grad_graph };
        function.aggregate_backward(pair, &trace, &mut adjoints, rows);
        let pair = WithGradient { parameters: &parameters, grads: &mut grads };
        function.messages_backward(pair, &weights, &trace, &mut adjoints, rows);
        function.add_message_gradients(&mut grads, &trace, &adjoints, rows);
        function.add_combine_gradients(&mut grads, &trace, &adjoints, rows);
        let pair = WithGradient { parameters: &parameters, grads: &mut grads };
        function.edge_strengths_backward(pair, &graph, &mut grad_graph);
        function.finish_gradients(&parameters, &mut grads);

        let difference = |values: &[f64], idx: usize, loss: &dyn Fn(&[f64]) -> f64| {
            let (step, mut shifted) = (1e-6, values.to_vec());
            shifted[idx] += step;
            let above = loss(&shifted);
            shifted[idx] -= 2.0 * step;
            (above - loss(&shifted)) / (2.0 * step)
        };
        // The nets are piecewise linear in each entry up to curvature of order 1: differences of
        // 1e-6 are right to 1e-8 or so, unless an argument changes its sign within them.
        let close = |found: f64, wanted: f64, what: &str| {
            assert!(
                (found - wanted).abs() < 1e-7 * (1.0 + wanted.abs()),
                "{what}: {found} {wanted}"
            );
        };
        for idx in 0..table.len() {
            let wanted = difference(&parameters, idx, &|p| loss(p, &z, &graph));
            close(grads[idx], wanted, "parameter");
        }
        for idx in 0..d {
            close(
                adjoints.inputs[idx],
                difference(&z, idx, &|z| loss(&parameters, z, &graph)),
                "z",
            );
        }
        for idx in 0..d * d {
            let wanted = difference(&graph, idx, &|graph| loss(&parameters, &z, graph));
            close(grad_graph[idx], wanted, "graph");
        }
    }
}

#[test]
fn derivatives_by_the_own_variable_agree_with_central_differences() {
    for Case { function, parameters, z, graph, .. } in cases() {
        let d = z.len();
        let mut weights = NodeWeights::default();
        function.prepare(&parameters, &mut weights);
        let mut strengths = vec![0.0; d * d];
        function.edge_strengths(&parameters, &graph, &mut strengths);
        let mut trace = NodeTrace::default();
        let rows = Rows { first: 0, n: d, per_node: 1 };
        trace.resize(&function, d);
        trace.inputs.copy_from_slice(&z);
        function.messages(&parameters, &weights, &mut trace, rows);
        function.aggregate(&strengths, &mut trace, rows);
        function.combine(&parameters, &weights, &mut trace, rows);
        let mut found = vec![0.0; d];
        let block = TangentRows { trace: &trace, rows, strengths: &strengths };
        let mut tangents = NodeTangents::default();
        tangents.resize(&function, d);
        function.own_derivatives(&parameters, &weights, block, &mut tangents, &mut found);
        for node in 0..d {
            let step = 1e-6;
            let at = |shift: f64| {
                let mut shifted = z.clone();
                shifted[node] += shift;
                plain(&function, &parameters, &shifted, &graph)[node]
            };
            let wanted = (at(step) - at(-step)) / (2.0 * step);
            // Piecewise linear in z: only rounding, 1e-16 / step.
            assert!((found[node] - wanted).abs() < 1e-8, "{} {wanted}", found[node]);
        }
    }
}

/// Points of every node at which swept messages are compared, `[node, point]`; some next to a bend.
fn points(case: &Case, weights: &NodeWeights<f64>) -> Vec<f64> {
    let mut inputs = vec![0.0; case.z.len() * 9];
    crate::random::RandomStream::new(8, crate::random::Purpose::Weights, 1)
        .fill_normal(&mut inputs);
    // Far outside all bends, and twice the same.
    inputs[0] = 1e6;
    inputs[1] = -1e6;
    inputs[3] = inputs[2];
    inputs[4] = -weights.message_offsets[0] / weights.message_columns[0] + 1e-9;
    inputs[5] = inputs[4] - 2e-9;
    inputs
}

#[test]
fn swept_messages_and_their_gradients_are_those_of_the_layers() {
    for case in cases() {
        let Case { table, function, parameters, z, .. } = &case;
        let (d, e) = (z.len(), function.sizes.embedding);
        let mut weights = NodeWeights::default();
        function.prepare(parameters, &mut weights);
        let mut bends = MessageBends::default();
        function.prepare_bends(parameters, &weights, &mut bends);
        let inputs = points(&case, &weights);
        let n = inputs.len() / d;
        let rows = Rows { first: 0, n: inputs.len(), per_node: n };
        let (mut trace, mut adjoints) = (NodeTrace::default(), NodeAdjoints::default());
        trace.resize(function, rows.n);
        adjoints.resize(function, rows.n);
        trace.inputs.copy_from_slice(&inputs);
        function.messages(parameters, &weights, &mut trace, rows);
        let mut expected = vec![0.0; table.gradient_len()];
        crate::random::RandomStream::new(9, crate::random::Purpose::Weights, 2)
            .fill_normal(&mut adjoints.messages);
        let pair = WithGradient { parameters, grads: &mut expected };
        function.messages_backward(pair, &weights, &trace, &mut adjoints, rows);
        function.add_message_gradients(&mut expected, &trace, &adjoints, rows);
        function.finish_gradients(parameters, &mut expected);

        let mut work = SweepWorkspace::default();
        let (mut messages, mut grads) = (vec![0.0; n * e], vec![0.0; table.gradient_len()]);
        let mut grad_inputs = vec![0.0; n];
        for node in 0..d {
            let swept = SweptNode { function, parameters, weights: &weights, bends: &bends, node };
            let inputs = &inputs[node * n..(node + 1) * n];
            let thin = node * n * e..(node + 1) * n * e;
            swept.messages(inputs, &mut work, &mut messages);
            assert_close(&messages, &trace.messages[thin.clone()]);
            let by_messages = &adjoints.messages[thin];
            swept.backward(&mut grads, inputs, by_messages, &mut work, &mut grad_inputs);
            assert_close(&grad_inputs, &adjoints.inputs[node * n..(node + 1) * n]);
        }
        function.finish_gradients(parameters, &mut grads);
        assert_close(&grads[..table.len()], &expected[..table.len()]);
    }
}

/// Sums in another order: a few roundings of the largest term.
fn assert_close(found: &[f64], expected: &[f64]) {
    let largest = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12 * largest, "{found} is not {expected}");
    }
}
