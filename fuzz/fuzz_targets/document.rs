#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| swaplab_fuzz_targets::run("document", data));
