//! The phone's figures, with one seed per preset, equal stored values. A change of the model
//! updates the values in its own commit. The presets run with apps that do nothing between their
//! launches and die at once, as before decision 0098.

use std::collections::BTreeMap;
use swaplab_experiment::{Background, Experiment};
use swaplab_sim::phone::rows;

/// By preset and design: bytes read from swap, bytes written to swap, resumes, kills, direct reads,
/// mean launch time in ms, joules.
type Stored = BTreeMap<String, BTreeMap<String, [f64; 7]>>;

const A2S: &str = r#"
[[design]]
name = "no swap"
swap = "none"
[[design]]
name = "vanilla flash swap"
swap = "flash:size=1024MiB"
[[design]]
name = "ESS"
swap = "flash:size=1024MiB"
app_policy = "ess:t_live=18"
[[design]]
name = "LVSP"
swap = "flash:size=1024MiB"
app_policy = "lvsp:t_reuse=64,t_launched=3"
[[design]]
name = "A2S"
swap = "flash:size=1024MiB"
app_policy = "a2s"
[[design]]
name = "A2S, nvm-direct"
swap = "nvm-direct:size=1024MiB,lines=0"
app_policy = "a2s"
"#;

const DR_SWAP: &str = r#"
[[design]]
name = "no swap"
swap = "none"
[[design]]
name = "flash"
swap = "flash:size=512MiB"
[[design]]
name = "DRAM"
swap = "ramdisk:size=512MiB"
[[design]]
name = "DR.Swap"
swap = "nvm-direct:size=512MiB,lines=0"
[[design]]
name = "DR.Swap, each line once"
swap = "nvm-direct:size=512MiB"
"#;

const KIM_BAHN: &str = r#"
[[design]]
name = "original"
swap = "none"
[[design]]
name = "flash swap"
swap = "flash:size=2048MiB"
[[design]]
name = "NVM cache, LRU, admission control"
swap = "nvm-cache:size=2048MiB,nvm=256MiB,admission=second-touch,files=off"
[[design]]
name = "NVM cache of swap and files"
swap = "nvm-cache:size=2048MiB,nvm=256MiB,admission=second-touch"
"#;

const UPPER_BOUNDS: &str = r#"
[[design]]
name = "vanilla flash swap"
swap = "flash:size=1024MiB"
[[design]]
name = "A2S"
swap = "flash:size=1024MiB"
app_policy = "a2s"
[[design]]
name = "oracle killer"
swap = "flash:size=1024MiB"
killer = "minfree:victim=oracle"
[[design]]
name = "opt reclamation"
swap = "flash:size=1024MiB"
policy = "opt"
[[design]]
name = "oracle and opt"
swap = "flash:size=1024MiB"
killer = "minfree:victim=oracle"
policy = "opt"
[[design]]
name = "Acclaim"
swap = "flash:size=1024MiB"
app_policy = "acclaim"
[[design]]
name = "ASAP"
swap = "flash:size=1024MiB"
prepage = "asap"
[[design]]
name = "SWAM"
swap = "flash:size=1024MiB"
killer = "minfree:victim=swam"
[[design]]
name = "zRAM with write-back"
swap = "tiered:size=1024MiB"
[[design]]
name = "Ariadne"
swap = "tiered:size=1024MiB"
app_policy = "ariadne"
prepage = "asap"
[[design]]
name = "proactive"
swap = "flash:size=1024MiB"
proactive = { every = "6s" }
"#;

fn check(preset: &str, launches: &str, machine: &str, apps: &str, designs: &str) {
    let text = format!(
        "[machine]\nbase = 'nexus-5'\n{machine}\n{designs}\n[workload]\nlaunches = '{launches}'\napps = {apps}\n[run]\nseeds = 1\n"
    );
    let mut experiment = Experiment::parse("golden.toml", &text, &[]).unwrap();
    let machine = &mut experiment.machine;
    (machine.killer, machine.kernel.exit_ns, machine.background) = ("minfree".parse().unwrap(), 0, Background::default());
    let stored: Stored = serde_json::from_str(include_str!("../../../tests/golden/phone.json")).unwrap();
    let stored = &stored[preset];
    let rows = rows(&experiment, 0, &mut |_, _| true, None).unwrap().rows;
    assert_eq!(rows.len(), stored.len());
    for row in &rows {
        let launches = row.launches.as_ref().unwrap();
        let computed = [
            row.paging.swap_in_bytes,
            row.paging.swap_out_bytes,
            Some(launches.resumes),
            Some(launches.kills),
            row.paging.direct_reads,
            launches.delay_ms.as_ref().map(|spread| spread.mean),
            row.energy.as_ref().and_then(|energy| energy.total_j),
        ]
        .map(Option::unwrap);
        let expected = stored[&row.design];
        assert_eq!(computed[..5], expected[..5], "{preset}: {}", row.design);
        // Sums of floating-point numbers may differ in their last digits.
        for (computed, expected) in computed[5..].iter().zip(&expected[5..]) {
            assert!((computed / expected - 1.0).abs() < 1e-9, "{preset}: {}: {computed}, stored {expected}", row.design);
        }
    }
    assert!(rows.iter().any(|row| row.paging.swap_out_bytes > Some(0.0)), "{preset}: nothing was swapped out");
}

#[test]
fn a2s_small() {
    check("a2s-small", "small", "", "'assumed-2014'", A2S);
}

#[test]
fn a2s_medium() {
    check("a2s-medium", "medium", "", "'assumed-2014'", A2S);
}

#[test]
fn a2s_large() {
    check("a2s-large", "large", "", "'assumed-2014'", A2S);
}

#[test]
fn dr_swap() {
    check("dr-swap", "round-robin", "dram = '1GiB'", "{ kinds = 'social' }", DR_SWAP);
}

#[test]
fn kim_bahn() {
    check("kim-bahn", "round-robin", "dram = '1GiB'", "{ kinds = 'scenario2' }", KIM_BAHN);
}

#[test]
fn upper_bounds() {
    check("upper-bounds", "large", "", "'assumed-2014'", UPPER_BOUNDS);
}
