//! The queue disciplines as a C library: `libearlydrop.so`, `libearlydrop.a`, and `include/earlydrop_queue.h`, which says
//! what each function does.
//!
//! `exports.rs` has the functions and all unsafe code; behind it [`queue`] and [`packet`] are safe. Nothing that a caller
//! may give, but a wrong pointer, ends the program: it is an error with a message.

pub mod error;
pub mod exports;
pub mod packet;
pub mod queue;
