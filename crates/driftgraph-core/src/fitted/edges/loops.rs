//! Feedback loops among learned edges.

use super::{Direction, LearnedEdge};
use crate::SignatureGraph;

/// The graph of those edges whose direction is known: what goes round in circles must go somewhere.
pub fn directed_graph<'a>(
    n_variables: usize,
    edges: impl IntoIterator<Item = &'a LearnedEdge>,
) -> SignatureGraph {
    let mut graph = SignatureGraph::empty(n_variables);
    for edge in edges.into_iter().filter(|edge| edge.direction == Direction::Forward) {
        graph.set_edge(edge.source, edge.target, true);
    }
    graph
}

/// Feedback loops: groups of variables that all reach each other, largest first.
///
/// The strongly connected components with more than one variable (Tarjan 1972,
/// doi:10.1137/0201010), each in the order of the variables; self-loops alone are none.
pub fn feedback_loops(graph: &SignatureGraph) -> Vec<Vec<usize>> {
    let n = graph.n_variables();
    let mut search = Search {
        graph,
        order: vec![usize::MAX; n],
        lowest: vec![0; n],
        on_stack: vec![false; n],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for node in 0..n {
        if search.order[node] == usize::MAX {
            search.visit(node);
        }
    }
    let mut loops = search.found;
    loops.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    loops
}

struct Search<'a> {
    graph: &'a SignatureGraph,
    order: Vec<usize>,
    lowest: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Depth first from a node, with a stack of our own so that long chains do not overflow.
    fn visit(&mut self, root: usize) {
        let n = self.graph.n_variables();
        let mut way = vec![(root, 0)];
        self.enter(root);
        while let Some((node, child)) = way.last_mut() {
            let node = *node;
            let next = (*child..n).find(|&other| self.graph.has_edge(node, other));
            let Some(other) = next else {
                way.pop();
                if let Some(&(parent, _)) = way.last() {
                    self.lowest[parent] = self.lowest[parent].min(self.lowest[node]);
                }
                self.leave(node);
                continue;
            };
            *child = other + 1;
            if self.order[other] == usize::MAX {
                self.enter(other);
                way.push((other, 0));
            } else if self.on_stack[other] {
                self.lowest[node] = self.lowest[node].min(self.order[other]);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = self.next;
        self.lowest[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn leave(&mut self, node: usize) {
        if self.lowest[node] != self.order[node] {
            return;
        }
        let mut group = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member] = false;
            group.push(member);
            if member == node {
                break;
            }
        }
        if group.len() > 1 {
            group.sort_unstable();
            self.found.push(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_the_groups_whose_members_reach_each_other() {
        let mut graph = SignatureGraph::empty(8);
        for (source, target) in
            [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (5, 4), (3, 4), (6, 6), (6, 7)]
        {
            graph.set_edge(source, target, true);
        }
        assert_eq!(feedback_loops(&graph), [vec![0, 1, 2], vec![4, 5]]);
        assert!(feedback_loops(&SignatureGraph::empty(3)).is_empty());
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let n = 3000;
        let mut graph = SignatureGraph::empty(n);
        (0..n).for_each(|node| graph.set_edge(node, (node + 1) % n, true));
        assert_eq!(feedback_loops(&graph)[0].len(), n);
    }
}
