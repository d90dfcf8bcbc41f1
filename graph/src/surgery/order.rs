//! `Order`: a list of nodes that grows and shrinks anywhere, and tells which of two comes first.
//!
//! Method: a doubly linked list whose entries have ascending labels. An entry that finds no label free between its
//! neighbours spreads out the labels of the smallest aligned range around it that is thinly used, after Bender, Cole,
//! Demaine, Farach-Colton and Zito, "Two Simplified Algorithms for Maintaining Order in a List" (2002).
//!
//! Comparisons take constant time, insertions logarithmic time on average.

/// No entry.
const END: u32 = u32::MAX;
/// Labels are below `1 << BITS`.
const BITS: u32 = 62;
/// By how much a range may be fuller than the half of it.
const DENSITY: f64 = 1.4;

/// The order of entries `0..n`.
#[derive(Clone, Debug)]
pub(super) struct Order {
    next: Vec<u32>,
    previous: Vec<u32>,
    label: Vec<u64>,
    first: u32,
    last: u32,
}

impl Order {
    /// The entries `0..n` by number.
    pub(super) fn new(n: usize) -> Order {
        let step = (1u64 << BITS) / (n as u64 + 1);
        let n = n as u32;
        Order {
            next: (1..=n).map(|i| if i == n { END } else { i }).collect(),
            previous: (0..n).map(|i| i.checked_sub(1).unwrap_or(END)).collect(),
            label: (1..=u64::from(n)).map(|i| i * step).collect(),
            first: if n == 0 { END } else { 0 },
            last: n.checked_sub(1).unwrap_or(END),
        }
    }

    /// Adds an entry in front of another, or at the end, and returns its number: the count of entries so far.
    pub(super) fn insert(&mut self, before: Option<u32>) -> u32 {
        let new = self.label.len() as u32;
        let next = before.unwrap_or(END);
        let previous = match before {
            Some(b) => self.previous[b as usize],
            None => self.last,
        };
        self.next.push(next);
        self.previous.push(previous);
        self.label.push(0);
        match previous {
            END => self.first = new,
            p => self.next[p as usize] = new,
        }
        match next {
            END => self.last = new,
            n => self.previous[n as usize] = new,
        }
        let low = self.label_or(previous, 0);
        if self.label_or(next, 1 << BITS) - low < 2 {
            // crowded out: the new entry stands beside its neighbour until the labels are spread
            self.label[new as usize] = low;
            self.spread(new);
        } else {
            let high = self.label_or(next, 1 << BITS);
            self.label[new as usize] = low + (high - low) / 2;
        }
        new
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, entry: u32) {
        let (previous, next) = (self.previous[entry as usize], self.next[entry as usize]);
        match previous {
            END => self.first = next,
            p => self.next[p as usize] = next,
        }
        match next {
            END => self.last = previous,
            n => self.previous[n as usize] = previous,
        }
    }

    /// A number that is larger for a later entry.
    pub(super) fn label(&self, entry: u32) -> u64 {
        self.label[entry as usize]
    }

    /// The entry behind another.
    pub(super) fn after(&self, entry: u32) -> Option<u32> {
        Some(self.next[entry as usize]).filter(|e| *e != END)
    }

    /// The first entry.
    pub(super) fn first(&self) -> Option<u32> {
        Some(self.first).filter(|e| *e != END)
    }

    /// The entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), |e| self.after(*e))
    }

    fn label_or(&self, entry: u32, end: u64) -> u64 {
        if entry == END { end } else { self.label(entry) }
    }

    fn spread(&mut self, around: u32) {
        let (mut low, mut high, mut count) = (around, around, 1u64);
        let mut capacity = 1.0;
        for bits in 1..=BITS {
            let size = 1u64 << bits;
            let start = self.label(around) & !(size - 1);
            let inside = |label: u64| label >= start && label - start < size;
            while self.previous[low as usize] != END && inside(self.label(self.previous[low as usize])) {
                low = self.previous[low as usize];
                count += 1;
            }
            while self.next[high as usize] != END && inside(self.label(self.next[high as usize])) {
                high = self.next[high as usize];
                count += 1;
            }
            capacity *= 2.0 / DENSITY;
            if (count as f64) < capacity && count < size / 2 || bits == BITS {
                let step = size / (count + 1);
                let mut entry = low;
                for i in 1..=count {
                    self.label[entry as usize] = start + i * step;
                    entry = self.next[entry as usize];
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_ascend_however_entries_come_and_go() {
        let mut order = Order::new(3);
        let mut list = vec![0, 1, 2];
        let mut state = 7u64;
        for round in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // mostly at one place, which crowds it
            let at = match round % 4 {
                0 => (state >> 33) as usize % (list.len() + 1),
                _ => list.len() / 2,
            };
            let new = order.insert(list.get(at).copied());
            list.insert(at, new);
            if round % 7 == 0 {
                order.remove(list.remove((state >> 40) as usize % list.len()));
            }
        }
        assert_eq!(order.iter().collect::<Vec<_>>(), list);
        assert!(list.windows(2).all(|w| order.label(w[0]) < order.label(w[1])));
    }

    #[test]
    fn an_empty_order_grows() {
        let mut order = Order::new(0);
        let last = order.insert(None);
        let first = order.insert(Some(last));
        assert_eq!(order.iter().collect::<Vec<_>>(), [first, last]);
        order.remove(first);
        order.remove(last);
        assert_eq!(order.first(), None);
    }
}
