//! What a page holds: a few phrases again and again with noise between them, as the pages of programs do.
//!
//! lz4's blocks of the writable pages of Python, node, Redis and Chromium (measured: 3,800 pages of each, Redis 1,044) are 190 to 270
//! copies a page, 14 to 18 bytes each in the mean. A page of one repeated word and noise compresses as well at a quarter of the time.

use crate::dice::Dice;

pub const PAGE: usize = 4096;
/// Words of eight bytes in a page.
pub const WORDS: usize = PAGE / 8;

/// Bytes of a phrase, from and to: 16 in the mean.
const PHRASE: (usize, usize) = (8, 24);
const PHRASES: usize = 8;
/// Bytes that a phrase's repetition shrinks to in lz4's format: a token and a distance.
const NAME: f64 = 3.0;
/// Pages to copy from: making one anew takes longer than most programs spend on a page that they write.
const TEMPLATES: u64 = 16;

/// What the pages of one app hold.
pub enum Content {
    /// One word over and over: a same-filled page, which zram and zswap keep in no space.
    Same,
    Templates(Vec<[u64; WORDS]>),
}

impl Content {
    /// Pages of which a compressor takes away the share `compressible`, from 0 (noise) to 1.
    pub fn new(seed: u64, compressible: f64) -> Content {
        if compressible >= 1.0 {
            return Content::Same;
        }
        Content::Templates((0..TEMPLATES).map(|number| template(seed.wrapping_mul(TEMPLATES) ^ number, compressible)).collect())
    }

    /// New content for a page, other for each `stamp`: of a template, one word.
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

/// Overwrite parts of the noise with phrases from its start. `n` repetitions of `c` bytes each are left as `n NAME` bytes, so a share
/// `s` of the size `z` goes away with `n = s z / (c - NAME)`; if they don't fit, `c` is larger and no noise comes between.
fn repeat(bytes: &mut [u8], dice: &mut Dice, share: f64) {
    let size = bytes.len() as f64;
    let left = (1.0 - share) * size;
    let phrases = (left as usize / 4 / PHRASE.1).clamp(1, PHRASES);
    let (start, short) = ((phrases * PHRASE.1) as f64, (PHRASE.0 + PHRASE.1) as f64 / 2.0);
    let times = share * size / (short - NAME);
    let noise = size - start - times * short;
    let (long, gap) = if noise >= 0.0 { (short, noise / times) } else { ((size - start) * NAME / (left - start).max(NAME), 0.0) };
    let mut at = start as usize;
    while at < bytes.len() {
        let phrase = dice.below(phrases as u64) as usize;
        let length = PHRASE.0 + phrase * (PHRASE.1 - PHRASE.0) / (phrases - 1).max(1) + about(long - short, dice);
        for to in at..(at + length).min(bytes.len()) {
            bytes[to] = bytes[phrase * PHRASE.1 + to - at];
        }
        at += length + about(gap, dice);
    }
}

/// A whole number whose mean is `value`.
fn about(value: f64, dice: &mut Dice) -> usize {
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
    fn a_compressor_takes_away_the_share_asked_for() {
        for share in [0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0] {
            let left: usize = (0..50).map(|seed| lz4_flex::block::compress(&page(seed, share)).len()).sum();
            let taken = 1.0 - left as f64 / (50.0 * 4096.0);
            assert!((taken - share).abs() < 0.05, "asked for {share}, lz4 took {taken}");
        }
    }

    #[test]
    fn no_two_stamps_make_the_same_page_and_one_always_does() {
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
    fn copies_are_many_and_short_as_in_the_pages_of_programs() {
        let block = lz4_flex::block::compress(&page(1, 0.7));
        let (mut at, mut sequences) = (0, 0);
        let more = |at: &mut usize, nibble: u8| {
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
            at += more(&mut at, token >> 4);
            if at < block.len() {
                at += 2;
                more(&mut at, token & 15);
                sequences += 1;
            }
        }
        assert!((180..280).contains(&sequences), "{sequences} copies");
    }
}
