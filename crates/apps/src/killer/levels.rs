//! The levels of free memory and of file cache that Android gives to the kernel's low-memory
//! killer, by the size of memory.
//!
//! Source: AOSP services/core/java/com/android/server/am/ProcessList.java, `updateOomLevels`,
//! `mOomMinFreeLow` and `mOomMinFreeHigh`. The levels lie between two tables, at the larger of two
//! scales: by memory, from 300 MB (Android 4.4; 350 MB in Android 6 to 9) to 700 MB, and by pixels
//! of the screen, from 480 x 800 to 1280 x 800. Android 6 to 9 raise the two highest levels of
//! phones with 64-bit apps.
//! Deviations: no product's `config_lowMemoryKillerMinFreeKbytesAdjust` or `...Absolute`, which
//! AOSP leaves at their defaults (off).

/// Levels in kB of a small phone, and of one with 700 MB or a screen of 1280 x 800.
const LOW_KB: [u64; 6] = [12_288, 18_432, 24_576, 36_864, 43_008, 49_152];
const HIGH_KB: [u64; 6] = [73_728, 92_160, 110_592, 129_024, 147_456, 184_320];
const SCREEN: [f32; 2] = [480.0 * 800.0, 1280.0 * 800.0];
const MOST_MB: f32 = 700.0;

/// Where the levels of the minfree killer come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The parameter `minfree_kb`.
    Given,
    /// Computed as Android 4.4 does.
    Android4,
    /// Computed as Android 6 to 9 do.
    Android6,
}

impl Levels {
    pub const KEYS: [&'static str; 3] = ["given", "android-4.4", "android-6"];
    pub const ALL: [Levels; 3] = [Levels::Given, Levels::Android4, Levels::Android6];

    /// The levels in kB of a phone with this memory and screen; `None` if they are given.
    pub fn of(self, memory_kb: u64, pixels: u64, is_64_bit: bool) -> Option<[u64; 6]> {
        let least_mb: f32 = match self {
            Levels::Given => return None,
            Levels::Android4 => 300.0,
            Levels::Android6 => 350.0,
        };
        // `float`, and whole megabytes, as in the source.
        let by_memory = ((memory_kb / 1024) as f32 - least_mb) / (MOST_MB - least_mb);
        let by_screen = (pixels as f32 - SCREEN[0]) / (SCREEN[1] - SCREEN[0]);
        let scale = by_memory.max(by_screen).clamp(0.0, 1.0);
        let mut high_kb = HIGH_KB;
        if self == Levels::Android6 && is_64_bit {
            high_kb[4] = high_kb[4] * 3 / 2;
            high_kb[5] = high_kb[5] * 7 / 4;
        }
        let level = |(low, high): (u64, u64)| (low as f32 + (high - low) as f32 * scale) as u64;
        Some(std::array::from_fn(|at| level((LOW_KB[at], high_kb[at]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QVGA: u64 = 480 * 800;

    /// 500 MB are half of the way from 300 to 700 MB: the first level is 12,288 + 61,440 / 2. From
    /// 350 MB on they are 150 / 350 of it: 12,288 + 61,440 x 3 / 7 = 38,619.4.
    #[test]
    fn levels_lie_between_two_tables_by_hand() {
        let of = |levels: Levels, mb: u64, pixels| levels.of(mb * 1024, pixels, false).unwrap();
        assert_eq!(of(Levels::Android4, 500, QVGA), [43_008, 55_296, 67_584, 82_944, 95_232, 116_736]);
        assert_eq!(of(Levels::Android6, 500, QVGA)[0], 38_619);
        assert_eq!((of(Levels::Android4, 256, QVGA), of(Levels::Android6, 350, 1)), (LOW_KB, LOW_KB));
        assert_eq!(of(Levels::Android6, 700, QVGA), HIGH_KB);
        // A screen of 1080 x 1920 alone gives the highest levels; one of 704,000 pixels lies half
        // of the way.
        assert_eq!((of(Levels::Android4, 256, 1080 * 1920), of(Levels::Android4, 256, 704_000)[0]), (HIGH_KB, 43_008));
        assert_eq!(Levels::Given.of(1, 1, false), None);
    }

    /// 147,456 x 3 / 2 and 184,320 x 7 / 4.
    #[test]
    fn sixty_four_bits_raise_the_levels_of_cached_apps() {
        let of = |levels: Levels| levels.of(2 << 20, QVGA, true).unwrap();
        assert_eq!(of(Levels::Android6)[4..], [221_184, 322_560]);
        assert_eq!((of(Levels::Android6)[3], of(Levels::Android4)), (129_024, HIGH_KB));
    }
}
