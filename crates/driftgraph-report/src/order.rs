//! Orders of the variables in a matrix: those with alike edges together, or the busiest first.

use crate::view::{EdgeView, OrderView};

/// Above this number the search for alike variables would take longer than drawing.
const MOST_CLUSTERED: usize = 400;

/// All orders in which a matrix can be shown, the order of the data first.
pub fn matrix_orders(n: usize, edges: &[EdgeView]) -> Vec<OrderView> {
    let (mut driving, mut driven) = (vec![0.0; n], vec![0.0; n]);
    for edge in edges.iter().filter(|edge| !edge.is_self_loop()) {
        driving[edge.source] += edge.probability;
        driven[edge.target] += edge.probability;
    }
    let order = |name: &str, variables: Vec<usize>| OrderView { name: name.to_owned(), variables };
    let mut orders = vec![order("as in the data", (0..n).collect())];
    if (3..=MOST_CLUSTERED).contains(&n) {
        let mut matrix = vec![0.0; n * n];
        for edge in edges {
            matrix[edge.source * n + edge.target] = edge.probability;
        }
        orders.push(order("alike together", alike_together(n, &matrix)));
    }
    orders.push(order("strongest drivers first", most_first(&driving)));
    orders.push(order("most driven first", most_first(&driven)));
    orders
}

fn most_first(amounts: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..amounts.len()).collect();
    order.sort_by(|&a, &b| amounts[b].total_cmp(&amounts[a]));
    order
}

/// Average-linkage clusters of rows and columns together, read from left to right.
fn alike_together(n: usize, matrix: &[f64]) -> Vec<usize> {
    let gap = |a: usize, b: usize| -> f64 {
        (0..n)
            .map(|k| {
                let row = matrix[a * n + k] - matrix[b * n + k];
                let column = matrix[k * n + a] - matrix[k * n + b];
                row * row + column * column
            })
            .sum::<f64>()
    };
    let mut gaps: Vec<f64> = (0..n * n).map(|idx| gap(idx / n, idx % n)).collect();
    let mut clusters: Vec<Option<Vec<usize>>> = (0..n).map(|node| Some(vec![node])).collect();
    for _ in 1..n {
        let Some((a, b)) = nearest(n, &gaps, &clusters) else { break };
        let (Some(first), Some(second)) = (clusters[a].take(), clusters[b].take()) else { break };
        let (weight_a, weight_b) = (first.len() as f64, second.len() as f64);
        for other in 0..n {
            let merged = (weight_a * gaps[a * n + other] + weight_b * gaps[b * n + other])
                / (weight_a + weight_b);
            gaps[a * n + other] = merged;
            gaps[other * n + a] = merged;
        }
        clusters[a] = Some([first, second].concat());
    }
    clusters.into_iter().flatten().flatten().collect()
}

fn nearest(n: usize, gaps: &[f64], clusters: &[Option<Vec<usize>>]) -> Option<(usize, usize)> {
    let alive: Vec<usize> = (0..n).filter(|&idx| clusters[idx].is_some()).collect();
    let pairs = alive.iter().enumerate();
    pairs
        .flat_map(|(place, &a)| alive[place + 1..].iter().map(move |&b| (a, b)))
        .min_by(|&(a, b), &(c, d)| gaps[a * n + b].total_cmp(&gaps[c * n + d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(source: usize, target: usize, probability: f64) -> EdgeView {
        EdgeView { probability, ..EdgeView::unlisted(source, target) }
    }

    #[test]
    fn every_order_holds_every_variable_once() {
        for n in [1, 2, 5, 40] {
            let edges: Vec<_> = (0..n).map(|idx| edge(idx, (7 * idx + 1) % n, 0.7)).collect();
            for order in matrix_orders(n, &edges) {
                let mut sorted = order.variables.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>(), "{}", order.name);
            }
        }
    }

    #[test]
    fn variables_with_the_same_edges_stand_together() {
        // 0, 2 and 4 drive 5; 1 and 3 drive 0.
        let edges =
            [edge(0, 5, 1.0), edge(2, 5, 1.0), edge(4, 5, 1.0), edge(1, 0, 1.0), edge(3, 0, 1.0)];
        let orders = matrix_orders(6, &edges);
        let place = |variable| orders[1].variables.iter().position(|&v| v == variable).unwrap();
        assert_eq!(place(2).abs_diff(place(4)), 1);
        assert_eq!(place(1).abs_diff(place(3)), 1);
        assert_eq!(orders[3].variables[..2], [5, 0], "most driven first");
    }
}
