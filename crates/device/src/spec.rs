//! A spec file: constants by section, each with a nonnegative value and a source. The files in
//! `specs/` are examples; [`KEYS`] lists all constants.

use std::collections::BTreeMap;
use std::ops::Range;
use swaplab_vocab::{unknown_key, BadInput, Result};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Every constant of a spec as `section.name`, with its meaning.
pub const KEYS: &[(&str, &str)] = &[
    ("time.read_iops", "random 4 KiB reads per second"),
    ("time.write_iops", "random 4 KiB writes per second"),
    ("time.read_latency_ns", "time from a read to its first byte"),
    ("time.write_latency_ns", "time of a write without its transfer"),
    ("time.read_bytes_per_s", "bandwidth of a long read"),
    ("time.write_bytes_per_s", "bandwidth of a long write"),
    ("time.queue_depth", "operations served in parallel, at which the rates above hold"),
    // The other end of the range of the rates above, for the option `rates=slow` or `rates=fast`
    ("slow.read_iops", "random 4 KiB reads a second, slow end"),
    ("slow.write_iops", "random 4 KiB writes a second, slow end"),
    ("slow.read_bytes_per_s", "bandwidth of a long read, slow end"),
    ("slow.write_bytes_per_s", "bandwidth of a long write, slow end"),
    ("slow.queue_depth", "operations served in parallel at the slow end"),
    ("fast.read_iops", "random 4 KiB reads a second, fast end"),
    ("fast.write_iops", "random 4 KiB writes a second, fast end"),
    ("fast.read_bytes_per_s", "bandwidth of a long read, fast end"),
    ("fast.write_bytes_per_s", "bandwidth of a long write, fast end"),
    ("fast.queue_depth", "operations served in parallel at the fast end"),
    // Garbage collection of flash, with `gc=fast` or `gc=slow`
    ("gc.every_bytes", "bytes written between two collections: an erase block"),
    ("gc.fast_pause_ns", "pause of the device at a collection, fast end"),
    ("gc.slow_pause_ns", "pause of the device at a collection, slow end"),
    // DR.Swap, Table II: a memory with a (LP)DDR interface
    ("ddr.chip_bytes", "size of the chip that the powers are for"),
    ("ddr.pre_pdn_mw", "background power, precharge power-down"),
    ("ddr.pre_stby_mw", "background power, precharge standby"),
    ("ddr.act_pdn_mw", "background power, active power-down"),
    ("ddr.act_stby_mw", "background power, active standby"),
    ("ddr.ref_mw", "background power of refresh"),
    ("ddr.act_mw", "bank activation power"),
    ("ddr.rd_mw", "burst read power"),
    ("ddr.wr_mw", "burst write power"),
    ("ddr.dq_mw", "power of driving the data bus"),
    ("ddr.t_ck_ns", "clock period"),
    ("ddr.t_rcd_ns", "activation to access"),
    ("ddr.t_wr_ns", "write recovery"),
    ("ddr.rl_cycles", "read latency"),
    ("ddr.wl_cycles", "write latency"),
    ("ddr.burst_length", "transfers in a burst"),
    ("ddr.bus_width_bits", "width of the data bus"),
    // DR.Swap, Table II: an eMMC
    ("emmc.f_mhz", "clock"),
    ("emmc.v_dd", "supply voltage"),
    ("emmc.rl_cycles", "read latency"),
    ("emmc.read_ma", "current of a read"),
    ("emmc.rd_bl_bytes", "block of a read"),
    ("emmc.wl_cycles", "write latency"),
    ("emmc.write_ma", "current of a write"),
    ("emmc.wr_bl_bytes", "block of a write"),
    ("emmc.bus_width_bits", "width of the data bus"),
    ("emmc.standby_ua", "current in standby"),
    ("emmc.nand_read_us", "tR: cell array to buffer, one flash page"),
    ("emmc.nand_program_us", "tPROG: buffer to cell array, one flash page"),
    // Any device: power during an operation or energy per byte, and idle power
    ("energy.read_mw", "power during a read"),
    ("energy.write_mw", "power during a write"),
    ("energy.read_pj_per_byte", "energy of a read, per byte"),
    ("energy.write_pj_per_byte", "energy of a write, per byte"),
    ("energy.idle_mw", "idle power of the whole device"),
    ("energy.idle_mw_per_gib", "idle power of each GiB in use"),
    // A processor core: processor times of swapping, per 4 KiB page
    ("cpu.fault_ns", "entering and leaving a page fault"),
    ("cpu.map_ns", "setting the page-table entry of a page that is in memory"),
    ("cpu.copy_ns", "copying a page by loads and stores"),
    ("cpu.swap_in_ns", "finding a page's slot, giving it a frame and freeing the slot"),
    ("cpu.block_request_ns", "one request through the block layer and the driver"),
    ("cpu.compress_lzo_rle_ns", "compressing a page"),
    ("cpu.compress_lz4_ns", "compressing a page"),
    ("cpu.compress_zstd_ns", "compressing a page"),
    ("cpu.decompress_lzo_rle_ns", "decompressing a page"),
    ("cpu.decompress_lz4_ns", "decompressing a page"),
    ("cpu.decompress_zstd_ns", "decompressing a page"),
    ("cpu.active_mw", "power of a busy core"),
    // Wear by writes
    ("wear.endurance_cycles", "writes (flash: erase cycles) that a cell is rated for"),
    ("wear.capacity_bytes", "bytes that share the wear"),
    ("wear.write_amplification", "bytes the medium writes for each byte written to it"),
];

/// A constant of a device and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    pub value: f64,
    pub source: String,
    /// Whether the value is not published for this device. It is then taken from a similar one or
    /// estimated, as the source explains.
    pub assumed: bool,
}

/// A spec file that has been checked.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// The registry's key, or the path of the user's file.
    pub name: String,
    /// A line of description for `swaplab list devices`.
    pub what: String,
    /// `memory`, `storage` or `processor`.
    pub attachment: String,
    pub constants: BTreeMap<&'static str, Constant>,
    /// Garbage collection, if the device's options ask for it.
    pub collection: Option<Collection>,
}

/// Garbage collection of flash: the device pauses after each `every_bytes` of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    pub every_bytes: u64,
    pub pause_ns: u64,
}

impl DeviceSpec {
    /// Parse and check a spec. `name`, a registry key or a path, is the place in errors.
    pub fn parse(name: &str, text: &str) -> Result<DeviceSpec> {
        let reader = Reader { name, text };
        let table = DeTable::parse(text).map_err(|e| reader.syntax(&e))?;
        let (what, attachment, constants) = (String::new(), String::new(), BTreeMap::new());
        let mut spec = DeviceSpec { name: name.into(), what, attachment, constants, collection: None };
        for (key, value) in table.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("what", DeValue::String(s)) => spec.what = s.to_string(),
                ("attachment", DeValue::String(s)) => spec.attachment = s.to_string(),
                (section, DeValue::Table(entries)) if sections().any(|s| s == section) => {
                    reader.section(section, entries, &mut spec.constants)?
                }
                (key @ ("what" | "attachment"), _) => {
                    return Err(reader.bad(value.span(), &format!("{key} is not a text"), "text in quotes"))
                }
                (key, _) => {
                    let known = ["what", "attachment"].into_iter().chain(sections()).collect::<Vec<_>>();
                    return Err(unknown_key(&reader.place(value.span()), "key", key, known));
                }
            }
        }
        if spec.what.is_empty() || spec.attachment.is_empty() {
            return Err(BadInput::new(name, "'what' or 'attachment' is absent", "one line of text for each, at the top of the file"));
        }
        Ok(spec)
    }

    pub fn get(&self, key: &str) -> Option<f64> {
        self.constants.get(key).map(|c| c.value)
    }

    /// A required constant that must not be 0.
    pub fn positive(&self, key: &str) -> Result<f64> {
        match self.need(key)? {
            0.0 => Err(BadInput::new(self.name.as_str(), format!("{key} = 0"), "a number above 0")),
            value => Ok(value),
        }
    }

    /// Whether the spec has any constant of `section`.
    pub fn has(&self, section: &str) -> bool {
        self.constants.keys().any(|key| key.split('.').next() == Some(section))
    }

    /// Replace the rates of `[time]` by those that the section `end` gives (`slow` or `fast`).
    pub fn take_rates(&mut self, end: &str) -> Result<()> {
        if !self.has(end) {
            return Err(BadInput::new(self.name.as_str(), format!("no section [{end}]"), "an end that the spec has data for"));
        }
        for (key, constant) in self.constants.clone() {
            let full = key.split_once('.').filter(|(section, _)| *section == end).map(|(_, name)| format!("time.{name}"));
            if let Some((known, _)) = full.and_then(|full| KEYS.iter().find(|(key, _)| *key == full)) {
                self.constants.insert(known, constant);
            }
        }
        Ok(())
    }

    /// A required constant.
    pub fn need(&self, key: &str) -> Result<f64> {
        self.get(key).ok_or_else(|| {
            let meaning = KEYS.iter().find(|(k, _)| *k == key).map_or("", |(_, m)| m);
            BadInput::new(self.name.as_str(), format!("{key} is absent"), format!("{key}: {meaning}, with its source"))
        })
    }
}

/// The names of all sections, without repetition.
fn sections() -> impl Iterator<Item = &'static str> + Clone {
    let section = |key: &'static str| key.split('.').next().unwrap_or(key);
    KEYS.iter()
        .enumerate()
        .filter(move |(i, (key, _))| *i == 0 || section(KEYS[i - 1].0) != section(key))
        .map(move |(_, (k, _))| section(k))
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn place(&self, span: Range<usize>) -> String {
        format!("{}: line {}", self.name, self.text[..span.start.min(self.text.len())].matches('\n').count() + 1)
    }

    fn bad(&self, span: Range<usize>, found: &str, expected: &str) -> BadInput {
        BadInput::new(self.place(span), found, expected)
    }

    fn syntax(&self, error: &toml::de::Error) -> BadInput {
        self.bad(error.span().unwrap_or(0..0), &error.message().replace('\n', " "), "TOML")
    }

    /// Read a section. Its `source` applies to constants that have no source of their own.
    fn section(&self, section: &str, entries: &DeTable, constants: &mut BTreeMap<&'static str, Constant>) -> Result<()> {
        let shared = entries.get("source").and_then(|s| s.get_ref().as_str());
        for (key, value) in entries {
            let key = key.get_ref().as_ref();
            if key == "source" {
                continue;
            }
            let full = format!("{section}.{key}");
            let Some((known, _)) = KEYS.iter().find(|(k, _)| *k == full) else {
                return Err(unknown_key(&self.place(value.span()), "constant", &full, KEYS.iter().map(|(k, _)| *k)));
            };
            constants.insert(known, self.constant(known, value, shared)?);
        }
        Ok(())
    }

    /// Read a constant: `key = 5`, or `key = { value = 5, source = "..", assumed = true }`.
    fn constant(&self, key: &str, given: &Spanned<DeValue>, shared: Option<&str>) -> Result<Constant> {
        let (mut value, mut source, mut assumed) = (None, shared, false);
        if let DeValue::Table(entries) = given.get_ref() {
            for (name, entry) in entries {
                match (name.get_ref().as_ref(), entry.get_ref()) {
                    ("value", _) => value = Some(self.number(key, entry)?),
                    ("source", DeValue::String(s)) => source = Some(s),
                    ("assumed", DeValue::Boolean(b)) => assumed = *b,
                    (name, _) => return Err(unknown_key(&self.place(entry.span()), "key", name, ["value", "source", "assumed"])),
                }
            }
        } else {
            value = Some(self.number(key, given)?);
        }
        let value = value.ok_or_else(|| self.bad(given.span(), &format!("{key} has no value"), "value = NUMBER"))?;
        match source.filter(|s| !s.trim().is_empty()) {
            Some(source) => Ok(Constant { value, source: source.into(), assumed }),
            None => Err(self.bad(given.span(), &format!("{key} has no source"), "source = \"..\" for it or for its section")),
        }
    }

    fn number(&self, key: &str, given: &Spanned<DeValue>) -> Result<f64> {
        let text = match given.get_ref() {
            DeValue::Integer(i) if i.radix() == 10 => i.as_str().to_string(),
            DeValue::Float(f) => f.as_str().to_string(),
            other => return Err(self.bad(given.span(), &format!("{key} is a {}", other.type_str()), "a number")),
        };
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() && v >= 0.0 => Ok(v),
            _ => Err(self.bad(given.span(), &format!("{key} = {text}"), "a finite number that is not negative")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        DeviceSpec::parse("my.toml", &format!("what = 'x'\nattachment = 'storage'\n{text}")).unwrap_err().to_string()
    }

    #[test]
    fn the_source_of_a_constant_takes_precedence_over_that_of_its_section() {
        let text = "what = 'x'\nattachment = 'storage'\n[time]\nsource = 'A'\nread_iops = 5\nwrite_iops = { value = 1_000.5, source = 'B', assumed = true }";
        let spec = DeviceSpec::parse("my.toml", text).unwrap();
        assert_eq!(spec.constants["time.read_iops"], Constant { value: 5.0, source: "A".into(), assumed: false });
        assert_eq!(spec.constants["time.write_iops"], Constant { value: 1000.5, source: "B".into(), assumed: true });
        let absent = spec.need("time.read_latency_ns").unwrap_err().to_string();
        assert_eq!(
            absent,
            "my.toml: time.read_latency_ns is absent; expected time.read_latency_ns: time from a read to its first byte, with its source"
        );
    }

    #[test]
    fn each_section_is_listed_once() {
        assert_eq!(sections().collect::<Vec<_>>(), ["time", "slow", "fast", "gc", "ddr", "emmc", "energy", "cpu", "wear"]);
    }

    #[test]
    fn every_error_is_one_line_with_its_place() {
        assert_eq!(
            error("[time]\nread_iops = 5"),
            "my.toml: line 4: time.read_iops has no source; expected source = \"..\" for it or for its section"
        );
        assert_eq!(
            error("[time]\nsource = 'A'\n\nread_iops = -5"),
            "my.toml: line 6: time.read_iops = -5; expected a finite number that is not negative"
        );
        assert_eq!(
            error("[time]\nsource = 'A'\nread_iosp = 5"),
            "my.toml: line 5: unknown constant 'time.read_iosp'; expected 'time.read_iops' (did you mean that?)"
        );
        assert_eq!(error("[tine]\n"), "my.toml: line 3: unknown key 'tine'; expected 'time' (did you mean that?)");
        assert_eq!(
            error("[time]\nsource='A'\nread_iops = nan"),
            "my.toml: line 5: time.read_iops = nan; expected a finite number that is not negative"
        );
        assert_eq!(error("[time]\nsource='A'\nread_iops = 'fast'"), "my.toml: line 5: time.read_iops is a string; expected a number");
        assert!(error("[time\n").starts_with("my.toml: line 3: ") && !error("[time\n").contains('\n'));
        assert!(DeviceSpec::parse("my.toml", "what = 'x'").unwrap_err().to_string().contains("'what' or 'attachment' is absent"));
    }
}
