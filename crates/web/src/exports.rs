//! The exports. `docs/web.md` describes them; here each calls the safe function behind it.
//!
//! The only unsafe thing is `no_mangle`: a symbol that another one of the same name could replace. All names start with
//! `ed_`, which nothing else in this module's program does. Pointers are only handed out, never read: the host writes
//! into the input between two calls, when no reference to it exists.
#![allow(unsafe_code)]

use crate::answer::{self, status};
use crate::{catalogue, request, session};

/// Version of this interface.
#[no_mangle]
pub extern "C" fn ed_abi() -> u32 {
    1
}

/// Space for the input of the next call.
#[no_mangle]
pub extern "C" fn ed_input(length: usize) -> *mut u8 {
    answer::input_space(length)
}

/// The latest text, UTF-8.
#[no_mangle]
pub extern "C" fn ed_text() -> *const u8 {
    answer::text().0
}

/// Its bytes.
#[no_mangle]
pub extern "C" fn ed_text_length() -> usize {
    answer::text().1
}

/// The latest array.
#[no_mangle]
pub extern "C" fn ed_array() -> *const f64 {
    answer::array().0
}

/// How many numbers it has.
#[no_mangle]
pub extern "C" fn ed_array_length() -> usize {
    answer::array().1
}

/// The disciplines.
#[no_mangle]
pub extern "C" fn ed_catalogue() -> i32 {
    status(catalogue::disciplines())
}

/// What else a scenario can name, and the limits.
#[no_mangle]
pub extern "C" fn ed_reference() -> i32 {
    status(catalogue::reference())
}

/// A commented scenario to start from.
#[no_mangle]
pub extern "C" fn ed_template() -> i32 {
    status(answer::input().and_then(|input| catalogue::template(&input)))
}

/// Checks a scenario.
#[no_mangle]
pub extern "C" fn ed_check() -> i32 {
    status(answer::input().and_then(|input| request::check(&input)))
}

/// Starts a run; its handle.
#[no_mangle]
pub extern "C" fn ed_load() -> i32 {
    status(answer::input().and_then(|input| session::load(&input)))
}

/// Frees a run.
#[no_mangle]
pub extern "C" fn ed_close(handle: i32) -> i32 {
    status(session::close(handle))
}

/// The time of a run, s.
#[no_mangle]
pub extern "C" fn ed_now(handle: i32) -> f64 {
    session::now(handle)
}

/// Runs up to a time.
#[no_mangle]
pub extern "C" fn ed_run(handle: i32, until_s: f64, events: f64) -> i32 {
    status(session::with(handle, |run| run.advance(until_s, events)))
}

/// Runs up to an arrival at the watched queue.
#[no_mangle]
pub extern "C" fn ed_step(handle: i32, arrivals: u32, until_s: f64) -> i32 {
    status(session::with(handle, |run| run.step(arrivals, until_s)))
}

/// Sets a parameter of a queue.
#[no_mangle]
pub extern "C" fn ed_set(handle: i32) -> i32 {
    status(answer::input().and_then(|input| session::with(handle, |run| run.set(&input))))
}

/// A queue now.
#[no_mangle]
pub extern "C" fn ed_queue(handle: i32, queue: u32) -> i32 {
    status(session::with(handle, |run| run.queue(queue)))
}

/// The packets that wait at a queue.
#[no_mangle]
pub extern "C" fn ed_waiting(handle: i32, queue: u32) -> i32 {
    status(session::with(handle, |run| run.waiting(queue)))
}

/// All flows now.
#[no_mangle]
pub extern "C" fn ed_flows(handle: i32) -> i32 {
    status(session::with(handle, |run| run.flows()))
}

/// Jain's index of what the flows received.
#[no_mangle]
pub extern "C" fn ed_jain(handle: i32) -> f64 {
    session::jain(handle)
}

/// A column of the series.
#[no_mangle]
pub extern "C" fn ed_series(handle: i32, column: u32) -> i32 {
    status(session::with(handle, |run| run.series(column)))
}

/// The packet events at the watched queue since the last call.
#[no_mangle]
pub extern "C" fn ed_packets(handle: i32) -> i32 {
    status(session::with(handle, |run| run.packets()))
}

/// The histogram of a queue's sojourn times.
#[no_mangle]
pub extern "C" fn ed_sojourns(handle: i32, queue: u32) -> i32 {
    status(session::with(handle, |run| run.sojourns(queue)))
}

/// A queue's drop curve.
#[no_mangle]
pub extern "C" fn ed_curve(handle: i32, queue: u32, low: f64, high: f64, points: u32) -> i32 {
    status(session::with(handle, |run| run.curve(queue, low, high, points)))
}

/// The network, and the hosts of the flows that pass a queue.
#[no_mangle]
pub extern "C" fn ed_network(handle: i32, queue: u32) -> i32 {
    status(session::with(handle, |run| run.network(queue)))
}

/// Runs to the end; the result document.
#[no_mangle]
pub extern "C" fn ed_finish(handle: i32, wall_s: f64) -> i32 {
    status(session::with(handle, |run| run.finish(wall_s)))
}
