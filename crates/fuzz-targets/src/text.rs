//! Targets for the texts that users write: experiments, devices, policies, schemes and sizes.

use crate::accepted;
use swaplab_capture::{CacheSizes, Label};
use swaplab_device::DeviceSpec;
use swaplab_experiment::{Document, Experiment};
use swaplab_policy::{Costs, PolicySpec};
use swaplab_sim::replay::Delivery;
use swaplab_swap::admission::AdmissionSpec;
use swaplab_swap::{Compressibility, SchemeSpec, Setup};
use swaplab_trace::synth;
use swaplab_vocab::Memory;

/// Parse an experiment. Input: its file, in which lines that begin with `--set ` are changes. An
/// accepted experiment must not change when it is written as JSON and read again.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let set: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("--set ")).map(Into::into).collect();
    let file: String = text.lines().filter(|line| !line.starts_with("--set ")).flat_map(|line| [line, "\n"]).collect();
    if let Some(read) = accepted(Experiment::parse("e.toml", &file, &set)) {
        let json = serde_json::to_string(&read).expect("an experiment is plain data");
        let reread = Experiment::from_json("e.json", &json).expect("an accepted experiment can be read again");
        assert_eq!(serde_json::to_string(&reread).expect("plain data"), json);
    }
    accepted(Experiment::from_json("e.json", text));
}

/// Parse the document of a run. An accepted document must not change when it is written as JSON and
/// read again.
pub fn document(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(read) = accepted(Document::from_json("d.json", text)) {
        let json = serde_json::to_string(&read).expect("a document is plain data");
        let reread = Document::from_json("d.json", &json).expect("an accepted document can be read again");
        assert_eq!(serde_json::to_string(&reread).expect("plain data"), json);
    }
}

/// Parse a device's file. It is also parsed as a file of compressed sizes.
pub fn device(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    accepted(DeviceSpec::parse("d.toml", text));
    accepted(Compressibility::parse("c.toml", text, 0));
}

/// Parse each line as a policy, a scheme, a size and other short texts. Building an accepted policy
/// or scheme for a small machine must not panic.
pub fn specs(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines().take(8) {
        if let Some(policy) = accepted(PolicySpec::parse(line)).filter(|spec| !spec.entry.info.offline) {
            let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
            accepted(policy.build(&swaplab_policy::Setup { pages: 9, frames: 4, costs, seed: 0, future: None }));
        }
        // The parameter `content=FILE` would open any file.
        if let Some(scheme) = accepted(SchemeSpec::parse(line)).filter(|_| !line.contains("content")) {
            accepted(scheme.build(&Setup::new(9, 4)));
        }
        if let Some(memory) = accepted(Memory::parse(line)) {
            accepted(memory.pages(4096, 1000));
        }
        accepted(synth::LaunchSpec::parse(line));
        accepted(Delivery::parse(line));
        accepted(CacheSizes::parse(line));
        accepted(Label::parse(line));
        accepted(AdmissionSpec::parse(line));
    }
}
