//! What: kills no app. Android's limit on cached apps and the kernel's out-of-memory killer still
//! end apps.
//! Why: shows the effect of swap alone.
//! Source: ours.
//! Deviations: none.
//! Weakness: no phone is configured this way.

use super::{Info, Killer, Pressure, Rule, VICTIM};
use swaplab_vocab::Entry;

pub static ENTRY: Entry<Info> = Entry {
    key: "off",
    what: "kills nothing: apps end by the limit on cached apps, or when no memory can be reclaimed",
    source: "this project",
    parameters: &[VICTIM],
    info: Info { build: |params| Ok(Killer::new(params, Off)) },
};

#[derive(Clone, Debug)]
struct Off;

impl Rule for Off {
    fn look(&mut self, _: u64, _: &Pressure) -> Option<u32> {
        None
    }

    fn is_off(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Watermark;

    #[test]
    fn nothing_is_killed() {
        let mut killer = Killer::parse("off").unwrap();
        let worst = Pressure { watermark: Watermark::Min, stall_ms: 1000, file_refaults_kb: 1 << 30, ..Pressure::default() };
        assert!(killer.is_off() && killer.look(0, &worst).is_none());
    }
}
