//! The runs that a host has loaded, by handle.

use crate::answer::{say, Wrong};
use crate::limits::{self, RUNS};
use crate::request;
use crate::run::Run;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;

#[derive(Default)]
struct Runs {
    latest: i32,
    open: BTreeMap<i32, Run>,
}

thread_local! {
    static OPEN: RefCell<Runs> = RefCell::default();
}

/// Starts a run; returns its handle.
pub fn load(request: &Value) -> Result<i32, Wrong> {
    limits::memory()?;
    if OPEN.with_borrow(|runs| runs.open.len()) >= RUNS {
        return Err(Wrong::new(format!("{RUNS} runs are open: close one first")));
    }
    let loaded = request::read(request)?;
    let answer = loaded.described();
    let run = Run::new(loaded.scenario, request)?;
    say(run.described(answer).to_string());
    Ok(OPEN.with_borrow_mut(|runs| {
        // Handles are positive, and the oldest are free again long before they come round.
        runs.latest = runs.latest.checked_add(1).unwrap_or(1);
        runs.open.insert(runs.latest, run);
        runs.latest
    }))
}

fn unknown(handle: i32) -> Wrong {
    Wrong::new(format!("there is no run {handle}"))
}

/// Frees a run.
pub fn close(handle: i32) -> Result<i32, Wrong> {
    let closed = OPEN.with_borrow_mut(|runs| runs.open.remove(&handle));
    closed.map(|_| 0).ok_or_else(|| unknown(handle))
}

/// Calls `work` with the run.
pub fn with(handle: i32, work: impl FnOnce(&mut Run) -> Result<i32, Wrong>) -> Result<i32, Wrong> {
    OPEN.with_borrow_mut(|runs| runs.open.get_mut(&handle).ok_or_else(|| unknown(handle)).and_then(work))
}

/// The time of a run, s; NaN if there is no such run.
pub fn now(handle: i32) -> f64 {
    OPEN.with_borrow(|runs| runs.open.get(&handle).map_or(f64::NAN, Run::now))
}

/// Jain's index of a run; NaN if there is no such run.
pub fn jain(handle: i32) -> f64 {
    OPEN.with_borrow(|runs| runs.open.get(&handle).map_or(f64::NAN, Run::jain))
}
