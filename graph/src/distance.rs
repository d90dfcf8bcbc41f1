//! How far two names are apart, for messages that say which one was meant.

/// The distance of optimal string alignment: insertions, deletions and replacements of characters, and exchanges of
/// neighbours.
///
/// ```
/// assert_eq!(tensorplay_graph::distance("kitten", "sitting"), 3);
/// assert_eq!(tensorplay_graph::distance("eaegr", "eager"), 1);
/// ```
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
