#![no_main]
//! The target `scenarios` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("scenarios", data));
