//! Runs every target on its corpus, with the stable compiler. The corpora include inputs that have
//! found defects.

use std::path::Path;
use swaplab_fuzz_targets::TARGETS;

#[test]
fn every_target_accepts_or_refuses_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let mut inputs: Vec<_> = std::fs::read_dir(corpora.join(name))
            .unwrap_or_else(|e| panic!("fuzz/corpus/{name}: {e}"))
            .map(|entry| entry.expect("an entry of a corpus").path())
            .collect();
        inputs.sort();
        assert!(inputs.len() >= 3, "fuzz/corpus/{name}: {} inputs", inputs.len());
        for input in &inputs {
            let data = std::fs::read(input).expect("an input");
            // Also truncate the input and change a bit: parsers often fail on inputs that are
            // almost valid.
            target(&data);
            target(&data[..data.len() / 2]);
            let mut altered = data.clone();
            if let Some(byte) = altered.get_mut(data.len() / 3) {
                *byte ^= 0x10;
                target(&altered);
            }
        }
    }
}
