//! What a graph promises: no edge, no influence; and names are only names.

use driftgraph_core::graph::prior::EdgeRule;
use driftgraph_core::process::prior::{LearnedProcess, NodeVariant, PriorProcess};
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::nn::init::initial_values;
use driftgraph_core::testing::nn::parameters::ParameterTable;

const D: usize = 4;
const EMBEDDING: usize = 5;
const WIDTH: usize = 7;

struct Model {
    table: ParameterTable,
    process: PriorProcess,
    parameters: Vec<f64>,
}

fn model(variant: NodeVariant, seed: u64) -> Model {
    let mut table = ParameterTable::default();
    let mut process = PriorProcess::new(&mut table, variant, D, EMBEDDING, Some(WIDTH));
    process.reserve_scratch(&mut table);
    let mut parameters: Vec<f64> = initial_values(&table, seed);
    // Embeddings and edge weights start near 0, which would hide an influence.
    let mut extra = vec![0.0; parameters.len()];
    RandomStream::new(seed, Purpose::Weights, 1000).fill_normal(&mut extra);
    for (parameter, extra) in parameters.iter_mut().zip(extra) {
        *parameter += 0.5 * extra;
    }
    Model { table, process, parameters }
}

fn random_graph(random: &mut RandomStream) -> Vec<f64> {
    (0..D * D).map(|_| f64::from(u8::from(random.uniform() < 0.5))).collect()
}

/// Drift, then diffusion, then the diffusion's derivatives, of all variables.
fn coefficients(process: &LearnedProcess, state: &[f64]) -> [Vec<f64>; 3] {
    let mut out = [vec![0.0; D], vec![0.0; D], vec![0.0; D]];
    process.drift(0.0, state, &mut out[0]);
    process.diffusion(0.0, state, &mut out[1]);
    process.diffusion_derivative(0.0, state, &mut out[2]);
    out
}

#[test]
fn drift_and_diffusion_of_a_variable_ignore_those_without_an_edge_to_it() {
    let mut random = RandomStream::new(1, Purpose::System, 0);
    let mut n_silent = 0;
    let mut n_heard = 0;
    for (case, variant) in
        [NodeVariant::Published, NodeVariant::Printed].repeat(10).iter().enumerate()
    {
        let Model { process, parameters, .. } = model(*variant, case as u64);
        let graph = random_graph(&mut random);
        let learned = LearnedProcess::new(process, parameters, &graph, &[EdgeRule::Free; D * D]);
        let mut state = vec![0.0; D];
        random.fill_normal(&mut state);
        let before = coefficients(&learned, &state);
        for source in 0..D {
            let mut moved = state.clone();
            moved[source] += 1.5;
            let after = coefficients(&learned, &moved);
            for target in 0..D {
                let has_edge = graph[source * D + target] == 1.0;
                let own = source == target && *variant == NodeVariant::Published;
                let [drift, diffusion, _] =
                    [0, 1, 2].map(|part| before[part][target] == after[part][target]);
                if !has_edge {
                    assert!(drift, "drift of {target} heard {source}");
                    // The published diffusion always sees its own variable.
                    assert!(diffusion || own, "diffusion of {target} heard {source}");
                    n_silent += 1;
                } else if !drift && !diffusion {
                    n_heard += 1;
                }
            }
        }
    }
    // Both kinds were met, and edges do carry influence.
    assert!(n_silent > 50 && n_heard > 50, "{n_silent} {n_heard}");
}

#[test]
fn a_forbidden_self_edge_is_not_forced_into_the_diffusion() {
    let Model { process, parameters, .. } = model(NodeVariant::Published, 3);
    let learned =
        LearnedProcess::new(process, parameters, &[0.0; D * D], &[EdgeRule::Forbidden; D * D]);
    let still = coefficients(&learned, &[0.0; D]);
    assert_eq!(still[1], coefficients(&learned, &[2.0; D])[1]);
    assert_eq!(still[2], [0.0; D]);
}

/// Moves row (or column) `idx` of a matrix to place `order[idx]`.
fn permuted(
    values: &[f64],
    cols: usize,
    order: &[usize; D],
    rows_too: bool,
    cols_too: bool,
) -> Vec<f64> {
    let mut out = values.to_vec();
    for row in 0..values.len() / cols {
        for col in 0..cols {
            let to_row = if rows_too { order[row] } else { row };
            let to_col = if cols_too && col < D { order[col] } else { col };
            out[to_row * cols + to_col] = values[row * cols + col];
        }
    }
    out
}

#[test]
fn relabelling_the_variables_relabels_the_process() {
    let order = [2, 0, 3, 1];
    let mut random = RandomStream::new(2, Purpose::System, 0);
    for variant in [NodeVariant::Published, NodeVariant::Printed] {
        let Model { table, process, parameters } = model(variant, 11);
        let mut relabelled = parameters.clone();
        for parameter in table.parameters() {
            let (slot, name) = (parameter.slot, parameter.name.as_str());
            let values = slot.of(&parameters);
            let (rows, cols) = match name.split_once('.').unwrap().1 {
                "embeddings" | "combine.2.weight" => (true, false),
                "edge_weights" => (true, true),
                "message.0.weight" | "combine.2.bias" => (false, true),
                _ => continue,
            };
            let values = permuted(values, slot.cols, &order, rows, cols);
            slot.of_mut(&mut relabelled).copy_from_slice(&values);
        }
        let graph = random_graph(&mut random);
        let mut state = vec![0.0; D];
        random.fill_normal(&mut state);
        let rules = [EdgeRule::Free; D * D];
        let plain = LearnedProcess::new(process, parameters, &graph, &rules);
        let renamed_graph = permuted(&graph, D, &order, true, true);
        let renamed = LearnedProcess::new(process, relabelled, &renamed_graph, &rules);
        let renamed_state = permuted(&state, D, &order, false, true);
        let expected = coefficients(&plain, &state);
        let found = coefficients(&renamed, &renamed_state);
        for part in 0..3 {
            for variable in 0..D {
                // Messages are summed in another order.
                let gap = found[part][order[variable]] - expected[part][variable];
                assert!(gap.abs() < 1e-13, "{gap}");
            }
        }
    }
}
