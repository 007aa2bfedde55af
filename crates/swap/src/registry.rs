//! The registry of swap schemes, one line each.

use crate::entry::{pages_of, Entry, Info, Setup};
use crate::nvm_direct::LINES;
use crate::recompress::RECOMPRESS;
use crate::store::ALGORITHM;
use crate::{Algorithm, Medium, Scheme};
use swaplab_vocab::{Memory, Params, Registry, Resolved, Result, Spec, Value, PAGE_SIZE};

/// Every scheme, in the order of the documents.
pub static SCHEMES: Registry<Info> = Registry {
    kind: "scheme",
    entries: &[
        &crate::none::ENTRY,
        &crate::flash::ENTRY,
        &crate::sd_card::ENTRY,
        &crate::ramdisk::ENTRY,
        &crate::zram::ENTRY,
        &crate::zswap::ENTRY,
        &crate::nvm_copy::ENTRY,
        &crate::nvm_direct::ENTRY,
        &crate::nvm_cache::ENTRY,
        &crate::tiered::ENTRY,
    ],
};

/// A scheme with its parameters, checked but not yet built.
#[derive(Clone)]
pub struct SchemeSpec {
    /// The name in results: the text as written, or the canonical text of a TOML table.
    pub text: String,
    pub entry: &'static Entry,
    pub params: Params,
    spec: Spec,
}

impl SchemeSpec {
    pub fn parse(text: &str) -> Result<SchemeSpec> {
        Ok(SchemeSpec { text: text.into(), ..SchemeSpec::of(&text.parse()?)? })
    }

    /// Check an already parsed spec, as [`parse`](SchemeSpec::parse) does.
    pub fn of(spec: &Spec) -> Result<SchemeSpec> {
        let Resolved { entry, params } = SCHEMES.resolve(spec)?;
        Ok(SchemeSpec { text: spec.to_string(), entry, params, spec: spec.clone() })
    }

    /// A copy of the spec with parameter `name` set to `value`.
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Result<SchemeSpec> {
        SchemeSpec::of(&self.spec.clone().with(name, value))
    }

    /// Whether the scheme has a swap area.
    pub fn swaps(&self) -> bool {
        !self.entry.info.areas.is_empty()
    }

    /// Whether the scheme has a compressed pool in DRAM.
    pub fn compresses(&self) -> bool {
        self.entry.info.compresses
    }

    /// The compression algorithm, if the scheme compresses.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.compresses().then(|| Algorithm::ALL[self.params.choice(ALGORITHM.name)])
    }

    /// Whether the scheme compresses idle pages again, for which it needs a clock.
    pub fn recompresses(&self) -> bool {
        self.params.has(RECOMPRESS.name) && self.params.choice(RECOMPRESS.name) > 0
    }

    /// Cache lines that a use of a page mapped in place reads from its medium; `None` if the scheme
    /// maps none.
    pub fn lines_per_direct_read(&self) -> Option<u64> {
        self.params.has(LINES.name).then(|| self.params.integer(LINES.name))
    }

    /// The medium of the swap area.
    pub fn area_medium(&self) -> Option<Medium> {
        self.entry.info.areas.first().map(|area| area.medium)
    }

    /// Size of the swap area in bytes on a machine with this much DRAM; `None` if it is unlimited.
    pub fn area_bytes(&self, dram_bytes: u64) -> Result<Option<u64>> {
        let Some(area) = self.entry.info.areas.first() else { return Ok(None) };
        let pages = pages_of(&self.params, area.parameter, PAGE_SIZE, dram_bytes / PAGE_SIZE)?;
        Ok(pages.map(|pages| pages.saturating_mul(PAGE_SIZE)))
    }

    /// Convert the spec for a machine with pages of `page_bytes`. A scheme counts sizes in pages of
    /// [`PAGE_SIZE`], so each size is scaled to the same number of pages.
    pub fn for_pages_of(&self, page_bytes: u64) -> Result<SchemeSpec> {
        if page_bytes == PAGE_SIZE {
            return Ok(self.clone());
        }
        let scale = page_bytes / PAGE_SIZE;
        let params = self.params.clone().map_sizes(|size| match size {
            Memory::Percent(_) => Ok(size),
            amount => Ok(Memory::Pages(amount.pages(PAGE_SIZE, 0)? / scale)),
        })?;
        Ok(SchemeSpec { params, ..self.clone() })
    }

    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Scheme>> {
        (self.entry.info.build)(setup, &self.params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_key_or_parameter_is_answered_with_the_nearest() {
        let error = |text| SchemeSpec::parse(text).err().unwrap().to_string();
        assert_eq!(error("nvm_direct"), "unknown scheme 'nvm_direct'; expected 'nvm-direct' (did you mean that?)");
        assert_eq!(error("flash:sise=4MiB"), "flash: unknown parameter 'sise'; expected 'size' (did you mean that?)");
        let small = SchemeSpec::parse("nvm-direct:size=4095B").unwrap().build(&Setup::new(9, 9)).err().unwrap().to_string();
        assert_eq!(small, "nvm-direct: size=4095B is less than one page; expected at least 4096 bytes");
    }

    #[test]
    fn three_schemes_compress() {
        let keys = SCHEMES.keys().filter(|key| SchemeSpec::parse(key).unwrap().compresses());
        assert_eq!(keys.collect::<Vec<_>>(), ["zram", "zswap", "tiered"]);
    }

    #[test]
    fn a_scheme_says_where_its_area_is_and_what_it_needs() {
        let of = |text: &str| SchemeSpec::parse(text).unwrap();
        assert_eq!(SCHEMES.keys().filter(|key| !of(key).swaps()).collect::<Vec<_>>(), ["none"]);
        let media = ["none", "flash", "sd-card", "nvm-copy", "nvm-direct"].map(|key| of(key).area_medium());
        assert_eq!(media, [None, Some(Medium::Flash), Some(Medium::SdCard), Some(Medium::Nvm), Some(Medium::Nvm)]);
        assert_eq!(["zram:recompress=zstd", "zram", "flash"].map(|text| of(text).recompresses()), [true, false, false]);
        assert_eq!(["nvm-direct:lines=3", "nvm-copy"].map(|text| of(text).lines_per_direct_read()), [Some(3), None]);
    }

    #[test]
    fn sizes_are_asked_of_the_parameters() {
        let area = |text| SchemeSpec::parse(text).unwrap().area_bytes(1 << 30).unwrap();
        assert_eq!((area("none"), area("zram"), area("zram:size=64MiB")), (None, None, Some(64 << 20)));
        assert_eq!((area("flash:size=50%"), area("nvm-cache:nvm=1MiB,size=16p")), (Some(1 << 29), Some(16 << 12)));
        assert!(SchemeSpec::parse("flash:size=0%").unwrap().area_bytes(1 << 30).is_err());
        let large = SchemeSpec::parse("nvm-cache:size=64MiB").unwrap().for_pages_of(16 << 10).unwrap();
        assert_eq!((large.params.size("size"), large.params.size("nvm")), (Some(Memory::Pages(4096)), Some(Memory::Pages(4096))));
        assert_eq!(large.text, "nvm-cache:size=64MiB");
    }

    #[test]
    fn a_percentage_of_the_area_is_of_dram() {
        let build = |text| SchemeSpec::parse(text).unwrap().build(&Setup { dram_pages: 8, ..Setup::new(9, 2) }).unwrap();
        let mut scheme = build("nvm-direct:size=50%");
        let mut out = crate::Transfers::default();
        let stored: Vec<_> = (0..5).map(|page| scheme.swap_out(page, true, &mut out)).collect();
        assert_eq!(stored, [crate::Stored::Written; 4].into_iter().chain([crate::Stored::Full]).collect::<Vec<_>>());
    }

    #[test]
    fn areas_and_capacities_are_size_parameters() {
        for entry in SCHEMES.iter() {
            let params = entry.defaults().params;
            let names: Vec<_> = entry.info.areas.iter().map(|area| area.parameter).chain(entry.info.capacity).collect();
            assert_eq!(names.is_empty(), entry.key == "none", "{}", entry.key);
            // One that is of another kind panics.
            for name in names {
                params.size(name);
            }
        }
    }
}
