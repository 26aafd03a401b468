//! Where the nodes of a graph stand: related ones near each other, none on top of another.

use std::collections::VecDeque;

use crate::svg::text::{shortened, text_width};

/// Size of the letters in a node.
pub(crate) const FONT: f64 = 13.0;
/// Half the height of a node.
pub(crate) const HALF_HEIGHT: f64 = 15.0;
/// Longest name as shown; the whole one is a hover or a click away.
const LONGEST_NAME: f64 = 9.0 * FONT;
/// Free space between two nodes, wide enough for an arrow and its head, and for a loop.
const CLEARANCE: (f64, f64) = (34.0, 38.0);
/// Rounds of the descent; its stress changes by less than a percent well before.
const ROUNDS: usize = 150;
/// Up to here a ring shows a dense graph best: no line passes behind a node.
const LARGEST_RING: usize = 24;

/// The names of the nodes as they are written into them.
///
/// What is too long loses the unit in brackets at its end, where the name is still one of its own; else its middle.
pub(crate) fn node_texts(names: &[String]) -> Vec<String> {
    let fits = |text: &str| text_width(text, FONT) <= LONGEST_NAME;
    let without_unit = |name: &str| {
        let (before, _) = name.strip_suffix(')')?.rsplit_once('(')?;
        Some(before.trim_end())
            .filter(|before| !before.is_empty() && fits(before))
            .map(str::to_owned)
    };
    let short = |name: &String| (!fits(name)).then(|| without_unit(name)).flatten();
    let candidates: Vec<Option<String>> = names.iter().map(short).collect();
    let is_own = |text: &String| {
        let n_same = candidates.iter().flatten().filter(|other| *other == text).count();
        n_same == 1 && !names.contains(text)
    };
    let texts = names.iter().zip(&candidates).map(|(name, candidate)| {
        let own = candidate.clone().filter(is_own);
        own.unwrap_or_else(|| shortened(name, FONT, LONGEST_NAME))
    });
    texts.collect()
}

/// Half the width of a node with this text.
pub(crate) fn half_width(text: &str) -> f64 {
    (0.5 * text_width(text, FONT) + 10.0).max(22.0)
}

/// Middles of all nodes for the given edges `(source, target)`, from the top left corner on.
///
/// Dense graphs of few nodes stand on a ring. Others minimise the stress of their distances (majorisation,
/// Gansner, Koren and North 2004, doi:10.1007/978-3-540-31843-9_25) and are then moved apart; nodes without
/// an edge stand in rows below. The same input gives the same places.
pub fn node_positions(names: &[String], edges: &[(usize, usize)]) -> Vec<[f64; 2]> {
    let n = names.len();
    let neighbours = neighbours(n, edges);
    let n_pairs: usize = neighbours.iter().map(Vec::len).sum::<usize>() / 2;
    let joined: Vec<usize> = (0..n).filter(|&node| !neighbours[node].is_empty()).collect();
    let half_widths: Vec<f64> = node_texts(names).iter().map(|text| half_width(text)).collect();
    let dense = joined.len() <= LARGEST_RING && 2 * n_pairs > 3 * joined.len();
    let mut places = vec![[0.0; 2]; n];
    if joined.len() <= 3 || dense {
        ring(&joined, &half_widths, &mut places);
    } else {
        stress(&joined, &neighbours, &half_widths, &mut places);
    }
    separate(&joined, &half_widths, &mut places);
    let bottom = joined.iter().map(|&node| places[node][1]).fold(f64::NEG_INFINITY, f64::max);
    let alone: Vec<usize> = (0..n).filter(|&node| neighbours[node].is_empty()).collect();
    rows(&alone, &half_widths, bottom, &joined, &mut places);
    from_corner(&half_widths, &mut places);
    places
}

/// Neighbours in any direction, without the node itself, each once.
fn neighbours(n: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); n];
    for &(source, target) in edges.iter().filter(|(source, target)| source != target) {
        neighbours[source].push(target);
        neighbours[target].push(source);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// An ellipse wide enough for its names, the first node at the top.
fn ring(nodes: &[usize], half_widths: &[f64], places: &mut [[f64; 2]]) {
    let n = nodes.len() as f64;
    let widest = nodes.iter().map(|&node| half_widths[node]).fold(22.0, f64::max);
    let height = (22.0 * n).max(95.0);
    let width = (0.26 * n * (2.0 * widest + CLEARANCE.0)).max(1.25 * height).max(150.0);
    for (idx, &node) in nodes.iter().enumerate() {
        let (sine, cosine) = libm::sincos(std::f64::consts::TAU * idx as f64 / n);
        places[node] = [width * sine, -height * cosine];
    }
    if let [only] = nodes {
        places[*only] = [0.0, 0.0];
    }
}

fn stress(
    nodes: &[usize],
    neighbours: &[Vec<usize>],
    half_widths: &[f64],
    places: &mut [[f64; 2]],
) {
    let m = nodes.len();
    let distances = distances(nodes, neighbours);
    let mean_width = nodes.iter().map(|&node| half_widths[node]).sum::<f64>() / m as f64;
    // Many neighbours need more room between them.
    let n_neighbours = neighbours.iter().map(Vec::len).sum::<usize>() as f64 / m as f64;
    let unit = (1.3 * mean_width + 62.0) * (n_neighbours / 3.0).sqrt().clamp(1.0, 2.5);
    ring(nodes, half_widths, places);
    let mut now: Vec<[f64; 2]> = nodes.iter().map(|&node| places[node]).collect();
    for _ in 0..ROUNDS {
        for i in 0..m {
            let (mut sum, mut weights) = ([0.0; 2], 0.0);
            for j in (0..m).filter(|&j| j != i) {
                let wanted = unit * distances[i * m + j];
                let gap = [now[i][0] - now[j][0], now[i][1] - now[j][1]];
                let length = libm::hypot(gap[0], gap[1]).max(1e-6);
                let weight = 1.0 / (wanted * wanted);
                for axis in 0..2 {
                    sum[axis] += weight * (now[j][axis] + gap[axis] * wanted / length);
                }
                weights += weight;
            }
            now[i] = sum.map(|sum| sum / weights);
        }
    }
    let turned = upright(&now);
    for (&node, place) in nodes.iter().zip(turned) {
        places[node] = place;
    }
}

/// Steps between all pairs; those that do not reach each other stand a little further than the rest.
fn distances(nodes: &[usize], neighbours: &[Vec<usize>]) -> Vec<f64> {
    let m = nodes.len();
    let mut place = vec![usize::MAX; neighbours.len()];
    nodes.iter().enumerate().for_each(|(idx, &node)| place[node] = idx);
    let mut all = vec![f64::INFINITY; m * m];
    for (start, &node) in nodes.iter().enumerate() {
        all[start * m + start] = 0.0;
        let mut queue = VecDeque::from([node]);
        while let Some(node) = queue.pop_front() {
            let next = all[start * m + place[node]] + 1.0;
            for &other in &neighbours[node] {
                let entry = &mut all[start * m + place[other]];
                if entry.is_infinite() {
                    *entry = next;
                    queue.push_back(other);
                }
            }
        }
    }
    let longest =
        all.iter().filter(|distance| distance.is_finite()).fold(1.0_f64, |a, &b| a.max(b));
    for distance in all.iter_mut().filter(|distance| distance.is_infinite()) {
        *distance = 0.5 * longest + 1.5;
    }
    all
}

/// Turns the cloud so that its longest extent lies level, as a screen does.
fn upright(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let n = places.len() as f64;
    let mean = |axis: usize| places.iter().map(|place| place[axis]).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(0), mean(1));
    let moment = |of: &dyn Fn(f64, f64) -> f64| {
        places.iter().map(|[x, y]| of(x - mean_x, y - mean_y)).sum::<f64>()
    };
    let spread = moment(&|x, y| x * x - y * y);
    let angle = 0.5 * libm::atan2(2.0 * moment(&|x, y| x * y), spread);
    let (sine, cosine) = libm::sincos(angle);
    let turn = |[x, y]: &[f64; 2]| [cosine * x + sine * y, cosine * y - sine * x];
    places.iter().map(turn).collect()
}

/// Pushes nodes apart until none covers another.
fn separate(nodes: &[usize], half_widths: &[f64], places: &mut [[f64; 2]]) {
    for _ in 0..200 {
        let mut moved = false;
        for (idx, &a) in nodes.iter().enumerate() {
            for &b in &nodes[idx + 1..] {
                let room = (
                    half_widths[a] + half_widths[b] + CLEARANCE.0,
                    2.0 * HALF_HEIGHT + CLEARANCE.1,
                );
                let gap = [places[b][0] - places[a][0], places[b][1] - places[a][1]];
                let (lack_x, lack_y) = (room.0 - gap[0].abs(), room.1 - gap[1].abs());
                if lack_x <= 0.01 || lack_y <= 0.01 {
                    continue;
                }
                moved = true;
                // Along the axis on which less has to move.
                let (axis, lack) = if lack_x < lack_y { (0, lack_x) } else { (1, lack_y) };
                let push = 0.5 * lack * if gap[axis] < 0.0 { -1.0 } else { 1.0 };
                places[a][axis] -= push;
                places[b][axis] += push;
            }
        }
        if !moved {
            break;
        }
    }
}

/// Puts nodes without an edge into rows below the others.
fn rows(
    alone: &[usize],
    half_widths: &[f64],
    bottom: f64,
    joined: &[usize],
    places: &mut [[f64; 2]],
) {
    let extent = |places: &[[f64; 2]], sign: f64| {
        joined.iter().map(|&node| sign * places[node][0] + half_widths[node]).fold(0.0, f64::max)
    };
    let (left, right) = (-extent(places, -1.0), extent(places, 1.0));
    let width = (right - left).max(420.0);
    let mut x = left;
    let mut y = if bottom.is_finite() { bottom + 2.0 * HALF_HEIGHT + 44.0 } else { 0.0 };
    for &node in alone {
        if x > left && x + 2.0 * half_widths[node] > left + width {
            x = left;
            y += 2.0 * HALF_HEIGHT + CLEARANCE.1;
        }
        places[node] = [x + half_widths[node], y];
        x += 2.0 * half_widths[node] + 0.5 * CLEARANCE.0;
    }
}

/// Room for a loop above or below a node.
pub(crate) const LOOP_ROOM: f64 = 34.0;

/// Moves everything so that the sheet begins at zero, with room for loops.
fn from_corner(half_widths: &[f64], places: &mut [[f64; 2]]) {
    let left = places.iter().zip(half_widths).map(|(place, half)| place[0] - half);
    let left = left.fold(f64::INFINITY, f64::min);
    let top = places.iter().map(|place| place[1] - HALF_HEIGHT).fold(f64::INFINITY, f64::min);
    for place in places {
        // Whole pixels: shorter in the file, and nobody sees the difference.
        *place = [(place[0] - left + 12.0).round(), (place[1] - top + LOOP_ROOM).round()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|idx| format!("gene {idx}")).collect()
    }

    #[test]
    fn no_node_covers_another_whatever_the_graph() {
        for n in [1, 2, 3, 7, 10, 30, 100] {
            let hub: Vec<_> = (1..n).map(|node| (0, node)).collect();
            let chain: Vec<_> = (1..n).map(|node| (node - 1, node)).collect();
            let dense: Vec<_> =
                (0..n).flat_map(|a| (0..n.min(12)).map(move |b| (a, (a + b) % n))).collect();
            for edges in [vec![], hub, chain, dense] {
                let names = names(n);
                let places = node_positions(&names, &edges);
                for a in 0..n {
                    assert!(places[a].iter().all(|place| place.is_finite() && *place >= 0.0));
                    for b in 0..a {
                        let apart_x = (places[a][0] - places[b][0]).abs();
                        let apart_y = (places[a][1] - places[b][1]).abs();
                        // A pixel for rounding to whole ones.
                        let free = apart_x + 1.0 > half_width(&names[a]) + half_width(&names[b])
                            || apart_y + 1.0 > 2.0 * HALF_HEIGHT;
                        assert!(free, "{n} nodes, {a} and {b}: {apart_x} {apart_y}");
                    }
                }
            }
        }
    }

    #[test]
    fn long_names_lose_their_unit_first_and_stay_apart() {
        let names = [
            "algae (10^6 cells/ml)",
            "egg-ratio",
            "temperature (inside the box)",
            "temperature (outside of it)",
            "a rather long name of a thing (kg)",
        ]
        .map(str::to_owned);
        let texts = node_texts(&names);
        assert_eq!(texts[..2], ["algae", "egg-ratio"]);
        assert!(texts[2].ends_with("box)") && texts[3].ends_with("it)"), "{texts:?}");
        assert!(texts[4].contains('…'), "{texts:?}");
        // A short name is never taken twice.
        let taken = ["algae (10^6 cells/ml)", "algae"].map(str::to_owned);
        assert_eq!(node_texts(&taken)[1], "algae");
        assert!(node_texts(&taken)[0].contains('…'));
    }

    #[test]
    fn neighbours_stand_nearer_than_strangers() {
        let names = names(30);
        let chain: Vec<_> = (1..30).map(|node| (node - 1, node)).collect();
        let places = node_positions(&names, &chain);
        let distance = |a: usize, b: usize| {
            libm::hypot(places[a][0] - places[b][0], places[a][1] - places[b][1])
        };
        let near: f64 = (1..30).map(|node| distance(node - 1, node)).sum::<f64>() / 29.0;
        let far: f64 = (0..15).map(|node| distance(node, node + 15)).sum::<f64>() / 15.0;
        assert!(far > 2.5 * near, "{near} {far}");
    }
}
