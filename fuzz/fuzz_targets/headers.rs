#![no_main]
//! The target `headers` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("headers", data));
