#![no_main]
//! The target `events` of crates/fuzz.

libfuzzer_sys::fuzz_target!(|data: &[u8]| earlydrop_fuzz::run("events", data));
