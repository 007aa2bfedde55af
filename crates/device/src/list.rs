//! The devices included in swaplab, one line each, and loading a device by its key or from a user's
//! own file.

use crate::options::{self, Options};
use crate::{Device, DeviceSpec, Processor};
use serde::Serialize;
use std::sync::OnceLock;
use swaplab_vocab::{BadInput, Params, Registry, Result, Spec};

macro_rules! specs {
    ($($key:literal,)*) => {
        const SPECS: &[(&str, &str)] = &[$(($key, include_str!(concat!("specs/", $key, ".toml"))),)*];
    };
}

specs! {
    "lpddr2",
    "lpddr3",
    "lpddr4x",
    "cxl-dram",
    "lpddr2-pcm",
    "pcm-nvsim",
    "stt-mram",
    "optane-m10",
    "emmc-4.41",
    "emmc-nexus-5",
    "emmc-5.1",
    "ufs-2.1",
    "ufs-3.1",
    "ufs-4.0",
    "sd-card",
    "x86-64",
    "phone-big",
    "phone-little",
}

/// Properties of a device in the registry, in addition to its key.
#[derive(Debug, Serialize)]
pub struct Info {
    /// `memory`, `storage` or `processor`.
    pub attachment: &'static str,
    /// Names of the constants that are assumed, not published.
    pub assumed: Vec<&'static str>,
    #[serde(skip)]
    text: &'static str,
}

pub type Entry = swaplab_vocab::Entry<Info>;

/// The registry of included devices, with an entry per spec file.
pub fn devices() -> &'static Registry<Info> {
    static DEVICES: OnceLock<Registry<Info>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let entries: Vec<&'static Entry> = SPECS.iter().map(|(key, text)| &*Box::leak(Box::new(entry(key, text)))).collect();
        Registry { kind: "device", entries: entries.leak() }
    })
}

fn entry(key: &'static str, text: &'static str) -> Entry {
    let spec = DeviceSpec::parse(key, text).unwrap_or_else(|e| panic!("{e}"));
    let mut sources: Vec<String> = Vec::new();
    for constant in spec.constants.values() {
        if !sources.contains(&constant.source) {
            sources.push(constant.source.clone());
        }
    }
    let parameters = options::parameters(&spec);
    let assumed = spec.constants.iter().filter(|(_, c)| c.assumed).map(|(name, _)| *name).collect();
    // The distinct sources of its constants, in order of the file.
    let source = sources.join("; ").leak();
    Entry { key, what: spec.what.leak(), source, parameters, info: Info { attachment: spec.attachment.leak(), assumed, text } }
}

/// Load a device by its key (`ufs-3.1`) or from a spec file (`name` contains `.toml`), with
/// options: `ufs-3.1:rates=slow,gc=fast`.
pub fn load(name: &str) -> Result<Device> {
    Device::new(spec(name)?)
}

/// Load a processor, by key or from a spec file.
pub fn load_processor(name: &str) -> Result<Processor> {
    Processor::new(spec(name)?)
}

/// The spec file of an included device, as a start for a file of one's own.
pub fn text(key: &str) -> Result<&'static str> {
    devices().entry(key).map(|entry| entry.info.text)
}

fn spec(name: &str) -> Result<DeviceSpec> {
    let (path, given) = match name.find(".toml") {
        Some(at) => name.split_at(at + ".toml".len()),
        None => {
            let written: Spec = name.parse()?;
            let entry = devices().entry(&written.key)?;
            let spec = DeviceSpec::parse(entry.key, entry.info.text)?;
            return Options::of(&entry.resolve(&written)?.params).apply(spec);
        }
    };
    let text = std::fs::read_to_string(path).map_err(|e| BadInput::io(path, e))?;
    let spec = DeviceSpec::parse(path, &text)?;
    if given.is_empty() {
        return Ok(spec);
    }
    let written: Spec = format!("device{given}").parse()?;
    let parameters = options::parameters(&spec);
    Options::of(&Params::resolve("device", parameters, &written).map_err(|e| e.within(path))?).apply(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_times_of_the_two_devices_of_spo_clock() {
        let ufs = load("ufs-3.1").unwrap();
        assert_eq!((ufs.read_time(4096).0, ufs.write_time(4096).0), (10_000, 14_286));
        let optane = load("optane-m10").unwrap();
        assert_eq!((optane.read_time(4096).0, optane.write_time(4096).0), (5_263, 28_571));
    }

    #[test]
    fn the_emulated_pcm_takes_two_and_twelve_times_as_long_as_dram() {
        let (dram, pcm) = (load("lpddr2").unwrap(), load("pcm-nvsim").unwrap());
        assert_eq!(pcm.read_time(4096).0, 2 * dram.read_time(4096).0);
        assert_eq!(pcm.write_time(4096).0, 12 * dram.write_time(4096).0);
    }

    #[test]
    fn every_listed_device_loads_and_has_sources() {
        for s in devices().iter() {
            let loads = load(s.key).is_ok() || load_processor(s.key).is_ok();
            assert!(loads && !s.what.is_empty() && !s.source.is_empty(), "{}", s.key);
        }
    }

    #[test]
    fn an_unknown_device_is_refused_with_the_nearest_key() {
        let e = load("ufs-31").unwrap_err().to_string();
        assert_eq!(e, "unknown device 'ufs-31'; expected 'ufs-3.1' (did you mean that?)");
        assert!(load("no/such.toml").unwrap_err().to_string().starts_with("no/such.toml: "));
    }
}
