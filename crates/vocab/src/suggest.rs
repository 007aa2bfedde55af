//! "Did you mean": finds the known key that is nearest to an unknown one.

use crate::BadInput;

/// The only known key that begins with `key`, or else the one with the smallest edit distance to
/// it, if that is small enough for a typing error.
pub fn nearest<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut longer = known.iter().filter(|k| k.starts_with(key));
    if let (Some(k), None, false) = (longer.next(), longer.next(), key.is_empty()) {
        return Some(k);
    }
    known.into_iter().map(|k| (distance(key, k), k)).min().filter(|(d, k)| *d <= 1 + k.len().max(key.len()) / 3).map(|(_, k)| k)
}

/// The error for a `key` that is not in `known`. It names the nearest one, or lists all if none is
/// near.
pub fn unknown_key<'a>(place: &str, kind: &str, key: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> BadInput {
    let expected = match nearest(key, known.clone()) {
        Some(k) => format!("'{k}' (did you mean that?)"),
        None => format!("one of: {}", known.into_iter().collect::<Vec<_>>().join(" ")),
    };
    BadInput::new(place, format!("unknown {kind} '{key}'"), expected)
}

/// The Levenshtein distance, computed with a single row of the table.
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

    /// The distance by its definition: the cheapest of three ways to treat the first letters.
    fn plain_distance(a: &[u8], b: &[u8]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([first, a @ ..], [other, b @ ..]) if first == other => plain_distance(a, b),
            ([_, less @ ..], [_, fewer @ ..]) => 1 + plain_distance(less, fewer).min(plain_distance(less, b)).min(plain_distance(a, fewer)),
        }
    }

    #[test]
    fn the_distance_is_that_of_its_definition() {
        let words = ["", "a", "ab", "ba", "abc", "bca", "clock", "cloak", "locks", "spo-clock"];
        for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
            assert_eq!(distance(a, b), plain_distance(a.as_bytes(), b.as_bytes()), "{a} {b}");
        }
    }

    #[test]
    fn suggests_the_nearest_key_and_none_for_a_distant_one() {
        let known = ["clock", "spo-clock", "two-q", "lru"];
        assert_eq!(nearest("clokc", known), Some("clock"));
        assert_eq!(nearest("spo_clock", known), Some("spo-clock"));
        assert_eq!(nearest("2q", known), None);
        assert_eq!(nearest("", known), None);
        // Cut off, and only one letter from another key.
        assert_eq!(nearest("lzo", ["lzo-rle", "lz4", "zstd"]), Some("lzo-rle"));
        assert_eq!(nearest("lz", ["lzo-rle", "lz4", "zstd"]), Some("lz4"));
        assert_eq!(distance("kitten", "sitting"), 3);
        // Of six letters 1 + 6 / 3 may be wrong, whichever of the keys has six.
        assert_eq!([nearest("abcxyz", ["abcdef"]), nearest("abwxyz", ["abcdef"])], [Some("abcdef"), None]);
        assert_eq!([nearest("xbcde", ["abcdefgh"]), nearest("abcdefg", ["xbcd"])], [None, None]);
    }
}
