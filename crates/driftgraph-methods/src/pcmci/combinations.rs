//! All ways to choose some items of a list, in the order of their places.

/// Iterates over all choices of `size` items.
pub(crate) fn combinations<T: Copy>(items: &[T], size: usize) -> Combinations<'_, T> {
    let places = (size <= items.len()).then(|| (0..size).collect());
    Combinations { items, places }
}

/// See [`combinations`].
pub(crate) struct Combinations<'a, T> {
    items: &'a [T],
    /// The next choice, as increasing places; `None` after the last.
    places: Option<Vec<usize>>,
}

impl<T: Copy> Iterator for Combinations<'_, T> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        let places = self.places.as_mut()?;
        let chosen = places.iter().map(|&place| self.items[place]).collect();
        let (size, n) = (places.len(), self.items.len());
        // The last place that can move on, and all after it close behind it.
        match (0..size).rev().find(|&idx| places[idx] < n - size + idx) {
            Some(idx) => {
                places[idx] += 1;
                for later in idx + 1..size {
                    places[later] = places[later - 1] + 1;
                }
            }
            None => self.places = None,
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::combinations;

    #[test]
    fn choices_come_in_the_order_of_their_places() {
        let found: Vec<Vec<char>> = combinations(&['a', 'b', 'c', 'd'], 2).collect();
        let words: Vec<String> = found.iter().map(|letters| letters.iter().collect()).collect();
        assert_eq!(words, ["ab", "ac", "ad", "bc", "bd", "cd"]);
    }

    #[test]
    fn nothing_can_be_chosen_in_one_way_and_too_much_in_none() {
        assert_eq!(combinations(&[1, 2], 0).collect::<Vec<_>>(), [Vec::<i32>::new()]);
        assert_eq!(combinations(&[1, 2], 3).count(), 0);
    }
}
