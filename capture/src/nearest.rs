//! The known name that resembles an unknown one.

/// The nearest of `names` within an edit distance of a third of the word.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = length.div_ceil(3);
    names
        .into_iter()
        .map(|n| (distance(word, n), n))
        .filter(|(d, _)| *d <= limit && *d < length)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein: insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_name() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("fulgraph", ["fullgraph", "grad"]), Some("fullgraph"));
        assert_eq!(nearest("gelo", ["relu", "gelu"]), Some("gelu"));
        assert_eq!(nearest("quantise", ["relu", "gelu"]), None);
    }
}
