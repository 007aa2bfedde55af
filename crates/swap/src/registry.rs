//! Every scheme, a line each.

use crate::store::CONTENT;
use crate::{Compressibility, Content, Medium, Scheme};
use std::sync::Arc;
use swaplab_policy::{Parameter, Params};
use swaplab_vocab::{unknown_key, Result};

/// What a scheme is built for.
#[derive(Clone)]
pub struct Setup {
    /// Pages that can ever be named: every page id is below this.
    pub pages: usize,
    /// Frames of memory beside the scheme (a pool's default size is a share of them).
    pub frames: usize,
    /// How well pages compress.
    pub content: Arc<dyn Content>,
}

impl Setup {
    /// With the distribution of compressed sizes that comes along.
    pub fn new(pages: usize, frames: usize) -> Setup {
        Setup { pages, frames, content: Arc::new(Compressibility::sampled(0)) }
    }
}

/// The registry's view of a scheme.
pub struct Info {
    pub key: &'static str,
    /// One line for `swaplab list schemes`.
    pub what: &'static str,
    /// Paper and section, or the kernel's file.
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// The medium that pages go to.
    pub medium: Option<Medium>,
    /// `params` are checked against `parameters` before this is called.
    pub build: fn(&Setup, &Params) -> Result<Box<dyn Scheme>>,
}

/// Every scheme, in the order of the documents.
pub const SCHEMES: &[&Info] = &[
    &crate::none::INFO,
    &crate::flash::INFO,
    &crate::sd_card::INFO,
    &crate::ramdisk::INFO,
    &crate::zram::INFO,
    &crate::zswap::INFO,
    &crate::nvm_copy::INFO,
    &crate::nvm_direct::INFO,
    &crate::nvm_cache::INFO,
    &crate::tiered::INFO,
];

/// A scheme as written by a user, `KEY` or `KEY:name=value,..`, checked but not yet built.
#[derive(Clone)]
pub struct SchemeSpec {
    /// As written.
    pub text: String,
    pub info: &'static Info,
    arguments: String,
}

impl SchemeSpec {
    pub fn parse(text: &str) -> Result<SchemeSpec> {
        let (key, arguments) = text.split_once(':').unwrap_or((text, ""));
        let known = SCHEMES.iter().map(|i| i.key);
        let info = SCHEMES.iter().find(|i| i.key == key).ok_or_else(|| unknown_key("scheme", "scheme", key, known))?;
        Params::parse(key, arguments, info.parameters)?;
        Ok(SchemeSpec { text: text.into(), info, arguments: arguments.into() })
    }

    /// Whether it keeps pages compressed, in a pool in DRAM.
    pub fn compresses(&self) -> bool {
        self.info.parameters.iter().any(|p| p.name == CONTENT.name)
    }

    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Scheme>> {
        (self.info.build)(setup, &Params::parse(self.info.key, &self.arguments, self.info.parameters)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_key_or_parameter_is_answered_with_the_nearest() {
        let error = |text| SchemeSpec::parse(text).err().unwrap().to_string();
        assert_eq!(error("nvm_direct"), "scheme: unknown scheme 'nvm_direct'; expected 'nvm-direct' (did you mean that?)");
        assert_eq!(error("flash:sise=4MiB"), "flash: unknown parameter 'sise'; expected 'size' (did you mean that?)");
        let small = SchemeSpec::parse("nvm-direct:size=4095B").unwrap().build(&Setup::new(9, 9)).err().unwrap().to_string();
        assert_eq!(small, "nvm-direct: size=4095B is less than one page; expected at least 4096 bytes");
    }

    #[test]
    fn three_schemes_compress() {
        let keys = SCHEMES.iter().map(|info| info.key).filter(|key| SchemeSpec::parse(key).unwrap().compresses());
        assert_eq!(keys.collect::<Vec<_>>(), ["zram", "zswap", "tiered"]);
    }
}
