//! Compression of a real page by zram's algorithms, for the sampler of compressed sizes and for the
//! pager's pool.
//!
//! lz4 and zstd come from libraries. There is none for lzo-rle, so [`lzo_rle`] only computes the
//! compressed size.

use crate::Algorithm;
use swaplab_vocab::PAGE_SIZE;

/// Whether all words of a page are equal. zram stores such a page in its table only.
pub fn same_filled(page: &[u8]) -> bool {
    let word = &page[..8];
    page.chunks_exact(8).all(|w| w == word)
}

/// Compressed size of `page` in bytes; at most the page size, because zram stores incompressible
/// pages uncompressed.
pub fn size(page: &[u8], algorithm: Algorithm) -> u32 {
    let size = bytes(page, algorithm).map_or_else(|| lzo_rle(page), |compressed| compressed.len());
    size.min(PAGE_SIZE as usize) as u32
}

/// The compressed form of `page`. `None` for lzo-rle, for which only the size can be computed.
pub fn bytes(page: &[u8], algorithm: Algorithm) -> Option<Vec<u8>> {
    match algorithm {
        Algorithm::Lz4 => Some(lz4_flex::block::compress(page)),
        // zram's default level.
        Algorithm::Zstd => Some(zstd::bulk::compress(page, 3).unwrap_or_else(|_| page.into())),
        Algorithm::LzoRle => None,
    }
}

/// Decompress the result of [`bytes`] into `page`.
pub fn restore(compressed: &[u8], algorithm: Algorithm, page: &mut [u8]) -> std::io::Result<()> {
    let length = match algorithm {
        Algorithm::Lz4 => lz4_flex::block::decompress_into(compressed, page).map_err(std::io::Error::other)?,
        Algorithm::Zstd => zstd::bulk::decompress_to_buffer(compressed, page)?,
        Algorithm::LzoRle => return Err(std::io::ErrorKind::Unsupported.into()),
    };
    if length != page.len() {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    Ok(())
}

/// Compressed size of `page` by lzo-rle in bytes. The format is that of Linux,
/// `Documentation/staging/lzo.rst`: a greedy parse with a hash of four bytes, three classes of
/// matches by distance and length, and runs of zeros.
fn lzo_rle(page: &[u8]) -> usize {
    const HASH_BITS: u32 = 13;
    const ZERO_RUN: usize = 4;
    const LONGEST_ZERO_RUN: usize = 2047 + ZERO_RUN;
    let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"));
    let hash = |w: u32| (w.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize;
    let mut seen = vec![usize::MAX; 1 << HASH_BITS];
    let end = page.len().saturating_sub(20);
    // A header of two bytes for the version with zero runs, and an end marker of three bytes.
    let (mut size, mut at, mut literals_from) = (2 + 3, 4.min(page.len()), 0);
    while at < end {
        let w = word(at);
        if w == 0 {
            let run = page[at..page.len().min(at + LONGEST_ZERO_RUN)].iter().take_while(|b| **b == 0).count();
            size += literals(at - literals_from) + 4;
            at += run.max(ZERO_RUN);
            literals_from = at;
            continue;
        }
        let before = std::mem::replace(&mut seen[hash(w)], at);
        if before == usize::MAX || word(before) != w {
            at += 1 + ((at - literals_from) >> 5);
            continue;
        }
        let length = 4 + page[at + 4..].iter().zip(&page[before + 4..]).take_while(|(a, b)| a == b).count();
        size += literals(at - literals_from) + matched(at - before, length);
        at += length;
        literals_from = at;
    }
    size + literals(page.len() - literals_from)
}

/// Encoded size of a run of literals in bytes. Runs of up to three have no header, because the
/// preceding match encodes their length.
fn literals(count: usize) -> usize {
    match count {
        0..=3 => count,
        4..=18 => 1 + count,
        _ => 1 + (count - 18).div_ceil(255) + count,
    }
}

/// Encoded size of a match in bytes.
fn matched(distance: usize, length: usize) -> usize {
    let long = |limit: usize| if length <= limit { 0 } else { (length - limit).div_ceil(255) };
    match distance {
        1..=0x800 if length <= 8 => 2,
        1..=0x4000 => 3 + long(33),
        _ => 3 + long(9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(mut seed: u64) -> Vec<u8> {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        };
        (0..4096).map(|_| next()).collect()
    }

    /// Sizes by the format's description: the bytes that a count needs beyond those in a header.
    #[test]
    fn sizes_of_literals_and_matches_by_hand() {
        assert_eq!([0, 3, 4, 18, 19, 273, 274].map(literals), [0, 3, 5, 19, 21, 275, 277]);
        let far = [(0x4001, 9), (0x4001, 10), (0x4001, 264), (0x4001, 265)];
        assert_eq!(far.map(|(distance, length)| matched(distance, length)), [3, 4, 4, 5]);
        let near = [(1, 8), (0x800, 8), (0x801, 8), (1, 9), (0x4000, 33), (0x4000, 34), (0x4000, 288), (0x4000, 289)];
        assert_eq!(near.map(|(distance, length)| matched(distance, length)), [2, 2, 3, 3, 3, 4, 4, 5]);
        // Header, end, and 16 literals in which nothing is looked for.
        assert_eq!(lzo_rle(&noise(88)[..16]), 2 + 3 + 17);
    }

    #[test]
    fn noise_does_not_shrink_and_repetition_does() {
        let text: Vec<u8> = b"one page of many, ".iter().copied().cycle().take(4096).collect();
        let pointers: Vec<u8> = (0..512u64).flat_map(|i| (0x7f00_0000_0000 + i * 8).to_le_bytes()).collect();
        for algorithm in Algorithm::ALL {
            assert_eq!(size(&noise(88), algorithm), 4096, "{algorithm:?}");
            assert!(size(&text, algorithm) < 80, "{algorithm:?}: {}", size(&text, algorithm));
            let bytes = size(&pointers, algorithm);
            assert!((200..3000).contains(&bytes), "{algorithm:?}: {bytes}");
        }
    }

    #[test]
    fn what_was_compressed_is_restored() {
        let text: Vec<u8> = (0..512u64).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for algorithm in [Algorithm::Lz4, Algorithm::Zstd] {
            let compressed = bytes(&text, algorithm).unwrap();
            let mut back = vec![0; 4096];
            restore(&compressed, algorithm, &mut back).unwrap();
            assert!(back == text && compressed.len() < 2000, "{algorithm:?}");
            assert!(restore(&compressed[1..], algorithm, &mut back).is_err() || back != text);
        }
        assert!(bytes(&text, Algorithm::LzoRle).is_none());
    }

    #[test]
    fn half_a_page_of_zeros_costs_one_run() {
        let mut page = noise(5);
        page[2048..].fill(0);
        // 2048 literals (1 + 8 + 2048 bytes), up to 65 zeros before the search finds them, runs of
        // zeros, the last 20 bytes, header and end marker
        let bytes = lzo_rle(&page);
        assert!((2048 + 10..2048 + 130).contains(&bytes), "{bytes}");
    }

    #[test]
    fn same_filled_pages_are_known() {
        assert!(same_filled(&[7; 4096]) && !same_filled(&noise(1)));
        let mut page = vec![0; 4096];
        page[4095] = 1;
        assert!(!same_filled(&page));
    }
}
