//! "Did you mean": the nearest known key to one that is not known.

use crate::BadInput;

/// The known key with the smallest edit distance to `key`, if it is near enough to be a slip of the pen.
pub fn nearest<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().map(|k| (distance(key, k), k)).min().filter(|(d, k)| *d <= 1 + k.len().max(key.len()) / 3).map(|(_, k)| k)
}

/// The error for a `key` that is none of `known`: names the nearest one, else lists them all.
pub fn unknown_key<'a>(place: &str, kind: &str, key: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> BadInput {
    let expected = match nearest(key, known.clone()) {
        Some(k) => format!("'{k}' (did you mean that?)"),
        None => format!("one of: {}", known.into_iter().collect::<Vec<_>>().join(" ")),
    };
    // A message is one line, whatever the key holds.
    let shown: String = key.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    BadInput::new(place, format!("unknown {kind} '{shown}'"), expected)
}

/// Levenshtein distance, by the usual one-row table.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_a_slip_and_nothing_for_a_stranger() {
        let known = ["clock", "spo-clock", "two-q", "lru"];
        assert_eq!(nearest("clokc", known), Some("clock"));
        assert_eq!(nearest("spo_clock", known), Some("spo-clock"));
        assert_eq!(nearest("2q", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
