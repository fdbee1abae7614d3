//! The exports: `include/earlydrop_queue.h` describes them; here each checks its pointers and calls the safe function
//! behind it.
//!
//! What is unsafe: reading what pointers of the caller point to, and calling his functions. The header says which may be
//! null, how long each lives, and that calls for one queue do not overlap; from within a callback the queue refuses calls.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void, CStr};

use earlydrop_aqm::abi;
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Packet;
use earlydrop_sim::run::Streams;

use crate::error::{self, Checked, Failed};
use crate::packet::{self, CHeader};
use crate::queue::Queue;

const ERROR: c_int = -1;

type OnDrop = unsafe extern "C" fn(*mut c_void, *const abi::Packet, *mut c_void, u32);
type Random = unsafe extern "C" fn(*mut c_void) -> f64;

/// `ed_qdisc`
pub struct Qdisc(RefCell<Held>);

struct Held {
    queue: Queue,
    on_drop: Option<(OnDrop, *mut c_void)>,
}

/// A pointer of the caller's that a queue keeps.
#[derive(Clone, Copy)]
struct Callers(*mut c_void);

// SAFETY: only ever handed back to the caller's function, on the thread that calls the queue.
unsafe impl Send for Callers {}

impl Callers {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// What the queue answers.
///
/// # Safety
/// `queue` is null, or came from [`ed_queue_new`] and was not freed.
#[inline]
unsafe fn with<T>(queue: *const Qdisc, call: impl FnOnce(&mut Held) -> Checked<T>) -> Checked<T> {
    // SAFETY: the caller's promise.
    let queue = unsafe { queue.as_ref() }.ok_or_else(|| Failed::new("queue is NULL"))?;
    let mut held = queue.0.try_borrow_mut().map_err(|_| Failed::new("called from a callback of the same queue"))?;
    call(&mut held)
}

/// # Safety
/// `text` is null or a text with a NUL at the end.
unsafe fn new(text: *const c_char, rate: f64, delay: f64, streams: Streams<'_>) -> *mut Qdisc {
    if text.is_null() {
        Failed::new("text is NULL");
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Failed::new("text is not UTF-8"));
    let queue = text.and_then(|text| Queue::new(text, rate, delay, streams));
    let made = queue.map(|queue| Box::into_raw(Box::new(Qdisc(RefCell::new(Held { queue, on_drop: None })))));
    made.unwrap_or(std::ptr::null_mut())
}

/// A queue from its text.
///
/// # Safety
/// `text` is null or a text with a NUL at the end.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_new(text: *const c_char, rate: f64, delay: f64, seed: u64) -> *mut Qdisc {
    // SAFETY: the caller's promise.
    unsafe { new(text, rate, delay, &|stream| Generator::stream(seed, stream)) }
}

/// A queue with the caller's random numbers.
///
/// # Safety
/// As [`ed_queue_new`]; `random` may be called with `context` as long as the queue lives.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_new_random(
    text: *const c_char,
    rate: f64,
    delay: f64,
    random: Option<Random>,
    context: *mut c_void,
) -> *mut Qdisc {
    let Some(random) = random else {
        Failed::new("random is NULL");
        return std::ptr::null_mut();
    };
    let context = Callers(context);
    let streams = |_: &str| {
        Generator::custom(move || {
            // SAFETY: the caller's promise.
            let u = unsafe { random(context.pointer()) };
            if !(0.0..=1.0).contains(&u) {
                Fault::raise(format!("random gave {u}; allowed 0..1"));
            }
            u
        })
    };
    // SAFETY: the caller's promise.
    unsafe { new(text, rate, delay, &streams) }
}

/// Frees a queue.
///
/// # Safety
/// `queue` is null, or came from [`ed_queue_new`] and is not used again.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_free(queue: *mut Qdisc) {
    if queue.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    if unsafe { with(queue, |_| Ok(())) }.is_ok() {
        // SAFETY: the caller's promise; nothing borrows it, as was just found.
        drop(unsafe { Box::from_raw(queue) });
    }
}

/// Sets what is called for each dropped packet.
///
/// # Safety
/// `queue` as in every call; `on_drop` may be called with `context` until another is set.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_on_drop(queue: *mut Qdisc, on_drop: Option<OnDrop>, context: *mut c_void) -> c_int {
    let set = |held: &mut Held| {
        held.on_drop = on_drop.map(|on_drop| (on_drop, context));
        Ok(0)
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, set) }.unwrap_or(ERROR)
}

/// Whether the discipline reads headers.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_reads_headers(queue: *const Qdisc) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.ask(|queue| c_int::from(queue.reads_headers()))) }.unwrap_or(ERROR)
}

/// Hands each dropped packet to the caller's function.
#[inline]
fn reporting(on_drop: Option<(OnDrop, *mut c_void)>) -> impl FnMut(&Packet, Reason) {
    move |packet, why| {
        if let Some((on_drop, context)) = on_drop {
            let (shown, tag) = (abi::Packet::from(packet), packet.note as usize as *mut c_void);
            // SAFETY: the caller gave both for this call; the packet lives until it returns.
            unsafe { on_drop(context, &shown, tag, packet::reason(why)) };
        }
    }
}

/// A packet arrives.
///
/// # Safety
/// `queue` as in every call; `packet` is null or an `ed_packet`, `header` null or an `ed_header` whose `tcp` is null or
/// an `ed_tcp`.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_enqueue(
    queue: *mut Qdisc,
    packet: *const abi::Packet,
    header: *const CHeader,
    tag: *mut c_void,
    now: f64,
) -> c_int {
    let call = |held: &mut Held| {
        // SAFETY: the caller's promise.
        let packet = unsafe { packet.as_ref() }.ok_or_else(|| Failed::new("packet is NULL"))?;
        let packet = packet::arrival(packet, tag as usize as u64)?;
        let read;
        // SAFETY: the caller's promise.
        let header = match unsafe { header.as_ref() } {
            None => None,
            Some(header) => {
                // SAFETY: the caller's promise.
                read = packet::header(header, unsafe { header.tcp.as_ref() })?;
                Some(&read)
            }
        };
        let fate = held.queue.enqueue(packet, header, now, &mut reporting(held.on_drop))?;
        Ok(fate.map_or(2, c_int::from))
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, call) }.unwrap_or(ERROR)
}

/// The link asks for a packet.
///
/// # Safety
/// `queue` as in every call; `packet` and `tag` are null or may be written to.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_dequeue(
    queue: *mut Qdisc,
    now: f64,
    packet: *mut abi::Packet,
    tag: *mut *mut c_void,
) -> c_int {
    let call = |held: &mut Held| {
        let mut left = None;
        held.queue.dequeue(now, &mut left, &mut reporting(held.on_drop))?;
        let Some(left) = left else { return Ok(0) };
        if !packet.is_null() {
            // SAFETY: the caller's promise.
            unsafe { packet.write(abi::Packet::from(&left)) };
        }
        if !tag.is_null() {
            // SAFETY: the caller's promise.
            unsafe { tag.write(left.note as usize as *mut c_void) };
        }
        Ok(1)
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, call) }.unwrap_or(ERROR)
}

/// When a shaper lets the next packet go.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_held_until(queue: *const Qdisc) -> f64 {
    // SAFETY: the caller's promise.
    let until = unsafe { with(queue, |held| held.queue.ask(|queue| queue.held_until())) };
    until.ok().flatten().map_or(f64::INFINITY, |until| until.seconds())
}

/// When the next timer is due.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_next_timer(queue: *const Qdisc) -> f64 {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| Ok(held.queue.due())) }.unwrap_or(f64::INFINITY)
}

/// Runs the timers that are due.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_on_timer(queue: *mut Qdisc, now: f64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.on_timer(now).map(|()| 0)) }.unwrap_or(ERROR)
}

/// Packets that wait.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_packets(queue: *const Qdisc) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.ask(|queue| queue.packets())) }.unwrap_or(0)
}

/// Bytes that wait.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_bytes(queue: *const Qdisc) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.ask(|queue| queue.bytes())) }.unwrap_or(0)
}

/// Whether packets of a class leave with DSCP 0.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_washes(queue: *const Qdisc, priority: u8) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.ask(|queue| c_int::from(queue.washes(priority & 7)))) }.unwrap_or(ERROR)
}

/// Writes the counters.
///
/// # Safety
/// `queue` as in every call; `counters` is null or may be written to.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_counters(queue: *const Qdisc, counters: *mut Counters) -> c_int {
    let call = |held: &mut Held| {
        if counters.is_null() {
            return Err(Failed::new("counters is NULL"));
        }
        // SAFETY: the caller's promise. `Counters` is `ed_counters`, which a test compares.
        unsafe { counters.write(held.queue.counters()?) };
        Ok(0)
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, call) }.unwrap_or(ERROR)
}

/// Sets the counters to zero.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_reset_counters(queue: *mut Qdisc) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| held.queue.reset_counters().map(|()| 0)) }.unwrap_or(ERROR)
}

/// How many inner values there are.
///
/// # Safety
/// `queue` as in every call.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_gauge_count(queue: *const Qdisc) -> usize {
    // SAFETY: the caller's promise.
    unsafe { with(queue, |held| Ok(held.queue.gauges.len())) }.unwrap_or(0)
}

/// The name of an inner value.
///
/// # Safety
/// `queue` as in every call. The name lives as long as the queue.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_gauge_name(queue: *const Qdisc, number: usize) -> *const c_char {
    let name = |held: &mut Held| {
        let names = &held.queue.gauges;
        let name = names.get(number).map(|name| name.as_ptr());
        name.ok_or_else(|| {
            Failed::new(format_args!("number is out of range: given {number}; there are {} gauges", names.len()))
        })
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, name) }.unwrap_or(std::ptr::null())
}

/// Writes the inner values.
///
/// # Safety
/// `queue` as in every call; `values` is null or may be written to at `count` places.
#[no_mangle]
pub unsafe extern "C" fn ed_queue_gauges(queue: *const Qdisc, values: *mut f64, count: usize) -> c_int {
    let call = |held: &mut Held| {
        let read = held.queue.read_gauges()?;
        if count != read.len() {
            return Err(Failed::new(format_args!("count is {count}; allowed {}, the number of gauges", read.len())));
        }
        if values.is_null() && count > 0 {
            return Err(Failed::new("values is NULL"));
        }
        // SAFETY: the caller's promise.
        read.iter().enumerate().for_each(|(i, &value)| unsafe { values.add(i).write(value) });
        Ok(0)
    };
    // SAFETY: the caller's promise.
    unsafe { with(queue, call) }.unwrap_or(ERROR)
}

/// The message of this thread.
#[no_mangle]
pub extern "C" fn ed_error() -> *const c_char {
    error::latest()
}
