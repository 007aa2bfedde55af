//! Compressed sizes of pages, for the schemes that compress. In simulators they come from a
//! distribution, in the pager from the real compressor.

use crate::Algorithm;
use swaplab_vocab::{rounded, BadInput, PageId, Result, PAGE_SIZE};

/// A source of compressed sizes.
pub trait Content: Send + Sync {
    /// Compressed size of a page in bytes, at most the page size; 0 for a page whose words are all
    /// equal.
    fn compressed(&self, page: PageId, algorithm: Algorithm) -> u32;
}

/// A distribution sampled from real memory: the share of same-filled pages, and the sizes of the
/// others by rank.
///
/// The rank of a page is a hash of its number and is the same for every algorithm, because a page
/// that compresses poorly by one compresses poorly by all. The compressed size of a page is assumed
/// not to change when its content does.
#[derive(Clone, Debug)]
pub struct Compressibility {
    same_filled: f64,
    /// By algorithm: compressed sizes at equal steps of rank, ascending.
    sizes: [Vec<f64>; 3],
    seed: u64,
}

const SAMPLED: &str = include_str!("sampled.toml");

impl Compressibility {
    /// The distribution included in swaplab. Its file documents what was sampled.
    pub fn sampled(seed: u64) -> Compressibility {
        Compressibility::parse("sampled.toml", SAMPLED, seed).unwrap_or_else(|e| panic!("{e}"))
    }

    pub fn load(path: &str, seed: u64) -> Result<Compressibility> {
        let text = std::fs::read_to_string(path).map_err(|e| BadInput::io(path, e))?;
        Compressibility::parse(path, &text, seed)
    }

    pub fn parse(name: &str, text: &str, seed: u64) -> Result<Compressibility> {
        let table: toml::Table = toml::from_str(text).map_err(|e| BadInput::new(name, e.message().replace('\n', " "), "TOML"))?;
        let number = |v: &toml::Value| v.as_float().or(v.as_integer().map(|i| i as f64));
        let same_filled = table.get("same_filled").and_then(number).filter(|s| (0.0..=1.0).contains(s));
        let same_filled = same_filled.ok_or_else(|| BadInput::new(name, "same_filled is absent or not a share", "same_filled = 0 to 1"))?;
        if table.get("source").and_then(|s| s.as_str()).is_none_or(|s| s.trim().is_empty()) {
            return Err(BadInput::new(name, "no source", "source = \"..\": what was sampled"));
        }
        let sizes = |algorithm: Algorithm| -> Result<Vec<f64>> {
            let expected = format!("bytes.{}: two or more sizes from 1 to 4096, none below the one before", algorithm.name());
            let list = table.get("bytes").and_then(|b| b.get(algorithm.name())).and_then(|l| l.as_array());
            let sizes: Option<Vec<f64>> = list.map(|l| l.iter().filter_map(number).collect());
            match sizes {
                Some(sizes)
                    if list.is_some_and(|l| l.len() == sizes.len() && l.len() >= 2)
                        && sizes.windows(2).all(|w| w[0] <= w[1])
                        && sizes[0] >= 1.0
                        && sizes[sizes.len() - 1] <= PAGE_SIZE as f64 =>
                {
                    Ok(sizes)
                }
                _ => Err(BadInput::new(name, format!("no such list for {}", algorithm.name()), expected)),
            }
        };
        Ok(Compressibility { same_filled, sizes: [sizes(Algorithm::LzoRle)?, sizes(Algorithm::Lz4)?, sizes(Algorithm::Zstd)?], seed })
    }
}

/// For tests: pages whose compressed sizes are these, in turn, by every algorithm.
#[cfg(test)]
pub struct InTurn(pub &'static [u32]);

#[cfg(test)]
impl Content for InTurn {
    fn compressed(&self, page: PageId, _: Algorithm) -> u32 {
        self.0[page as usize % self.0.len()]
    }
}

impl Content for Compressibility {
    fn compressed(&self, page: PageId, algorithm: Algorithm) -> u32 {
        let draw = unit(self.seed, page);
        if draw < self.same_filled {
            return 0;
        }
        let sizes = &self.sizes[algorithm as usize];
        let steps = sizes.len() as u32 - 1;
        let rank = (draw - self.same_filled) / (1.0 - self.same_filled) * f64::from(steps);
        let below = (rank as u32).min(steps - 1);
        let share = rank - f64::from(below);
        let [low, high] = [sizes[below as usize], sizes[below as usize + 1]];
        rounded(low * (1.0 - share) + high * share) as u32
    }
}

/// A pseudo-random number in [0, 1) for a seed and a page (the finalizer of SplitMix64).
fn unit(seed: u64, page: PageId) -> f64 {
    let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(u64::from(page) + 1));
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    // 53 bits fit a signed number, which converts to a float in one instruction.
    ((x ^ x >> 31) >> 11) as i64 as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "source = 'hand'\nsame_filled = 0.25\n[bytes]\nlzo-rle = [100, 200]\nlz4 = [1000, 2000, 4000]\nzstd = [10, 10]";

    #[test]
    fn draws_follow_the_file() {
        let c = Compressibility::parse("f", FILE, 1).unwrap();
        let sizes: Vec<u32> = (0..40_000).map(|p| c.compressed(p, Algorithm::Lz4)).collect();
        let share = |test: &dyn Fn(u32) -> bool| sizes.iter().filter(|s| test(**s)).count() as f64 / 40_000.0;
        // 25 % same-filled; of the rest half is below 2000; the mean is 1500 and 3000 by halves
        assert!((share(&|s| s == 0) - 0.25).abs() < 0.01);
        assert!((share(&|s| s > 0 && s < 2000) - 0.375).abs() < 0.01);
        let mean = sizes.iter().map(|s| f64::from(*s)).sum::<f64>() / 40_000.0;
        assert!((mean - 0.75 * 2250.0).abs() < 20.0, "{mean}");
        assert!((0..100).all(|p| c.compressed(p, Algorithm::Zstd) == if c.compressed(p, Algorithm::Lz4) == 0 { 0 } else { 10 }));
        assert_eq!(c.compressed(7, Algorithm::Lz4), Compressibility::parse("f", FILE, 1).unwrap().compressed(7, Algorithm::Lz4));
    }

    #[test]
    fn errors_in_the_file_are_one_line() {
        for (from, to, word) in [
            ("source = 'hand'", "", "no source"),
            ("0.25", "1.5", "same_filled"),
            ("[100, 200]", "[200, 100]", "lzo-rle"),
            ("[1000, 2000, 4000]", "[1000, 5000]", "lz4"),
            ("[10, 10]", "['x', 10]", "zstd"),
            ("[bytes]", "[bites]", "lzo-rle"),
            ("[bytes]", "[bytes", "TOML"),
        ] {
            let e = Compressibility::parse("f", &FILE.replace(from, to), 1).unwrap_err().to_string();
            assert!(e.starts_with("f: ") && e.contains(word) && !e.contains('\n'), "{e}");
        }
    }

    #[test]
    fn the_included_distribution_is_valid() {
        let c = Compressibility::sampled(0);
        assert!((0..1000).all(|p| Algorithm::ALL.iter().all(|a| c.compressed(p, *a) <= 4096)));
    }
}
