#![no_main]
//! The target `hostile` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("hostile", data));
