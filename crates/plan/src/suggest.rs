//! "Did you mean …?": the known name nearest to what was typed.

/// The candidate with the fewest edits from `typed`, if few enough to be a slip of the finger: at most a
/// third of its length, and at least one is always allowed.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let typed = plain(typed);
    candidates
        .into_iter()
        .map(|candidate| (edits(&typed, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(typed.len()) / 3).max(1))
        // With every character another, it is not the same word.
        .filter(|(distance, _)| *distance < typed.chars().count().max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let known = ["rate", "ramp", "duration", "requests_per_connection"];
        for (typed, meant) in [
            ("rte", Some("rate")),
            ("raet", Some("rate")),
            ("Duration", Some("duration")),
            ("requests-per-connection", Some("requests_per_connection")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn distances_by_hand() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("ab", "ba"), 1);
        assert_eq!(edits("", "abc"), 3);
    }
}
