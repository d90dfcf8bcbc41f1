//! How far two names are apart, for messages that say which one was meant.

/// Levenshtein's distance: insertions, deletions and replacements of characters.
///
/// ```
/// assert_eq!(tensorplay_graph::distance("kitten", "sitting"), 3);
/// ```
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
