#![no_main]
//! The target `expressions` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("expressions", data));
