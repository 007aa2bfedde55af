//! The content of pages: a few repeated phrases with noise between them, as in the pages of
//! programs.
//!
//! lz4 encodes a writable page of Python, node, Redis or Chromium as 190 to 270 copies with a mean
//! length of 14 to 18 bytes (measured on 3,800 pages of each program, 1,044 of Redis). A page of
//! one repeated word and noise would compress to the same size, but in a quarter of the time.

use crate::dice::Dice;

pub const PAGE: usize = 4096;
/// Number of words of eight bytes in a page.
pub const WORDS: usize = PAGE / 8;

/// Shortest and longest phrase in bytes; the mean is 16.
const PHRASE: (usize, usize) = (8, 24);
const PHRASES: usize = 8;
/// Size in bytes of a phrase's repetition in lz4's format: a token and a distance.
const COPY: f64 = 3.0;
/// Number of template pages. Content is copied from them, as generating it would take longer than
/// most programs take to fill a page.
const TEMPLATES: u64 = 16;

/// A generator of the content of an app's pages.
pub enum Content {
    /// Pages filled with one word, for which zram needs no space in its pool.
    Same,
    Templates(Vec<[u64; WORDS]>),
}

impl Content {
    /// A generator of pages that a compressor shrinks by the share `compressible`, from 0 (noise)
    /// to 1 (same-filled).
    pub fn new(seed: u64, compressible: f64) -> Content {
        if compressible >= 1.0 {
            return Content::Same;
        }
        Content::Templates((0..TEMPLATES).map(|number| template(seed.wrapping_mul(TEMPLATES) ^ number, compressible)).collect())
    }

    /// Fill a page with the content for `stamp`. Different stamps give different content: a
    /// template with one word changed.
    pub fn fill(&self, words: &mut [u64], stamp: u64) {
        let mut dice = Dice(stamp);
        match self {
            Content::Same => words.fill(dice.next()),
            Content::Templates(templates) => {
                words.copy_from_slice(&templates[dice.below(TEMPLATES) as usize]);
                words[dice.below(WORDS as u64) as usize] ^= dice.next() | 1;
            }
        }
    }
}

fn template(seed: u64, compressible: f64) -> [u64; WORDS] {
    let mut dice = Dice(seed);
    let mut bytes: Vec<u8> = (0..WORDS).flat_map(|_| dice.next().to_le_bytes()).collect();
    if compressible > 0.0 {
        repeat(&mut bytes, &mut dice, compressible);
    }
    let mut words = [0; WORDS];
    for (word, eight) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
    }
    words
}

/// Overwrite parts of the noise with copies of phrases from its start, so that a compressor shrinks
/// it by `share`.
///
/// `times` copies of `mean_phrase` bytes each are compressed to `times * COPY` bytes. So `times =
/// share * size / (mean_phrase - COPY)` copies shrink the page by `share`. If they do not fit, the
/// copies are longer than the phrases (`mean_copy`), and there is no noise between them.
fn repeat(bytes: &mut [u8], dice: &mut Dice, share: f64) {
    let size = bytes.len() as f64;
    let left = (1.0 - share) * size;
    let phrases = (left as usize / 4 / PHRASE.1).clamp(1, PHRASES);
    let (start, mean_phrase) = ((phrases * PHRASE.1) as f64, (PHRASE.0 + PHRASE.1) as f64 / 2.0);
    let times = share * size / (mean_phrase - COPY);
    let noise = size - start - times * mean_phrase;
    let (mean_copy, gap) =
        if noise >= 0.0 { (mean_phrase, noise / times) } else { ((size - start) * COPY / (left - start).max(COPY), 0.0) };
    let mut at = start as usize;
    while at < bytes.len() {
        let phrase = dice.below(phrases as u64) as usize;
        let length = PHRASE.0 + phrase * (PHRASE.1 - PHRASE.0) / (phrases - 1).max(1) + rounded(mean_copy - mean_phrase, dice);
        for to in at..(at + length).min(bytes.len()) {
            bytes[to] = bytes[phrase * PHRASE.1 + to - at];
        }
        at += length + rounded(gap, dice);
    }
}

/// Round `value` up or down at random, so that the mean is `value`.
fn rounded(value: f64, dice: &mut Dice) -> usize {
    value as usize + usize::from(dice.chance(value.fract()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(seed: u64, share: f64) -> Vec<u8> {
        let mut words = [0; WORDS];
        Content::new(seed, share).fill(&mut words, seed);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn lz4_shrinks_pages_by_the_given_share() {
        for share in [0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0] {
            let left: usize = (0..50).map(|seed| lz4_flex::block::compress(&page(seed, share)).len()).sum();
            let removed = 1.0 - left as f64 / (50.0 * 4096.0);
            assert!((removed - share).abs() < 0.05, "share {share}, but lz4 removes {removed}");
        }
    }

    #[test]
    fn stamps_give_different_pages_and_a_stamp_always_the_same() {
        let content = Content::new(1, 0.6);
        let page = |stamp| {
            let mut words = [0; WORDS];
            content.fill(&mut words, stamp);
            words
        };
        let pages: std::collections::BTreeSet<[u64; WORDS]> = (0..1000).map(page).collect();
        assert_eq!(pages.len(), 1000);
        assert!((0..1000).all(|stamp| pages.contains(&page(stamp))));
    }

    #[test]
    fn lz4_encodes_pages_as_many_short_copies_as_those_of_programs() {
        let block = lz4_flex::block::compress(&page(1, 0.7));
        let (mut at, mut sequences) = (0, 0);
        let read_length = |at: &mut usize, nibble: u8| {
            let mut length = usize::from(nibble);
            let mut last = if nibble == 15 { 255 } else { 0 };
            while last == 255 {
                last = block[*at];
                *at += 1;
                length += usize::from(last);
            }
            length
        };
        while at < block.len() {
            let token = block[at];
            at += 1;
            at += read_length(&mut at, token >> 4);
            if at < block.len() {
                at += 2;
                read_length(&mut at, token & 15);
                sequences += 1;
            }
        }
        assert!((180..280).contains(&sequences), "{sequences} copies");
    }
}
