//! Options of a device: the other end of the range of its rates, and garbage collection. Published
//! rates of one kind of device differ. Its spec has the usual ones in `[time]`, which are one end
//! of their range, and the other end in `[slow]` or in `[fast]`, so that a conclusion can be drawn
//! again at the other end.

use crate::spec::Collection;
use crate::DeviceSpec;
use swaplab_vocab::{Kind, Parameter, Params, Result};

/// Of both options, the first choice is the default, and the others are names of ends of a range.
const RATES: Parameter = Parameter::new(
    "rates",
    Kind::Choice(&["usual", "slow", "fast"]),
    "usual",
    "usual: the rates of [time]; slow or fast: those of the spec's section of this name, the other end of their range",
);
const GC: Parameter = Parameter::new(
    "gc",
    Kind::Choice(&["off", "fast", "slow"]),
    "off",
    "garbage collection: a pause after each erase block that is written, at the fast or slow end of its range",
);

/// The options that `spec` has data for.
pub fn parameters(spec: &DeviceSpec) -> &'static [Parameter] {
    match (spec.has("slow") || spec.has("fast"), spec.has("gc")) {
        (true, true) => &[RATES, GC],
        (true, false) => &[RATES],
        (false, true) => &[GC],
        (false, false) => &[],
    }
}

/// The options of one device as they were given.
pub struct Options {
    rates: Option<&'static str>,
    gc: Option<&'static str>,
}

impl Options {
    pub fn of(params: &Params) -> Options {
        let end = |parameter: &Parameter| match parameter.kind {
            Kind::Choice(choices) if params.has(parameter.name) => {
                Some(params.choice(parameter.name)).filter(|at| *at > 0).map(|at| choices[at])
            }
            _ => None,
        };
        Options { rates: end(&RATES), gc: end(&GC) }
    }

    /// Apply these options to a spec. They become part of its name.
    pub fn apply(&self, mut spec: DeviceSpec) -> Result<DeviceSpec> {
        let plain = spec.name.clone();
        if let Some(end) = self.rates {
            spec.take_rates(end)?;
        }
        if let Some(end) = self.gc {
            let [every, pause] = [spec.positive("gc.every_bytes")?, spec.positive(&format!("gc.{end}_pause_ns"))?];
            spec.collection = Some(Collection { every_bytes: every as u64, pause_ns: pause as u64 });
        }
        let given = [self.rates.map(|end| format!("rates={end}")), self.gc.map(|end| format!("gc={end}"))];
        let given: Vec<String> = given.into_iter().flatten().collect();
        if !given.is_empty() {
            spec.name = format!("{plain}:{}", given.join(","));
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::Collection;
    use crate::{devices, load};

    /// By hand: 8 reads under way at 37,240 a second take 8 / 37,240 s, 214,823 ns, less the other
    /// seven's transfers of 4,096 bytes at 2,547 MB/s, 1,608 ns each.
    #[test]
    fn the_slow_end_of_a_range_replaces_the_rates() {
        let alone = |name: &str| load(name).unwrap().service()[0];
        let slow = alone("ufs-4.0:rates=slow");
        assert_eq!(load("ufs-4.0:rates=slow").unwrap().read_time(4096).0, 26_853);
        let transfer = 4096.0 * 1e9 / 2_547e6;
        assert!((slow.transfer.0 as f64 - transfer).abs() <= 1.0, "{slow:?}");
        assert!((slow.own.0 as f64 + slow.transfer.0 as f64 - (8.0 * 1e9 / 37_240.0 - 7.0 * transfer)).abs() < 10.0, "{slow:?}");
        assert!(slow.own > alone("ufs-4.0").own);
        assert_eq!(load("emmc-nexus-5:rates=fast").unwrap().write_time(4096).0, 273_075);
    }

    #[test]
    fn every_range_has_one_other_end_and_the_default_is_the_spec() {
        let mut ranges = 0;
        for entry in devices().iter().filter(|entry| entry.parameters.iter().any(|parameter| parameter.name == "rates")) {
            let times = |name: &str| load(name).ok().map(|device| [device.read_time(4096).0, device.write_time(4096).0]);
            let usual = times(entry.key).unwrap();
            assert_eq!(times(&format!("{}:rates=usual,gc=off", entry.key)), Some(usual));
            let [slow, fast] = ["slow", "fast"].map(|end| times(&format!("{}:rates={end}", entry.key)));
            assert!(slow.is_some() || fast.is_some(), "{}", entry.key);
            assert!(slow.is_none_or(|slow| slow[0] >= usual[0] && slow[1] >= usual[1]), "{}", entry.key);
            assert!(fast.is_none_or(|fast| fast[0] <= usual[0] && fast[1] <= usual[1]), "{}", entry.key);
            ranges += 1;
        }
        assert_eq!(ranges, 5);
    }

    /// TLC: 256 pages of 8 KiB are read in 75 us and programmed in 1.35 ms each, and an erase takes
    /// 4.5 ms.
    #[test]
    fn collections_pause_after_an_erase_block() {
        let collection = |name: &str| load(name).unwrap().spec.collection;
        assert_eq!(collection("ufs-3.1"), None);
        assert_eq!(collection("ufs-3.1:gc=fast"), Some(Collection { every_bytes: 2 << 20, pause_ns: 4_500_000 }));
        let slow = 256 * (75_000 + 1_350_000) + 4_500_000;
        assert_eq!(collection("ufs-3.1:gc=slow,rates=slow"), Some(Collection { every_bytes: 2 << 20, pause_ns: slow }));
        assert_eq!(load("ufs-3.1:gc=slow,rates=slow").unwrap().spec.name, "ufs-3.1:rates=slow,gc=slow");
        assert!(load("sd-card:gc=slow").unwrap_err().to_string().contains("gc"));
        assert!(load("ufs-3.1:rates=fast").unwrap_err().to_string().contains("no section [fast]"));
    }
}
