#![no_main]
//! The target `disciplines` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("disciplines", data));
