//! `earlydrop_aqm.h`, version 1, in Rust: implement [`Aqm`] and say `export!(YourType);`. This file is yours; it needs
//! nothing else.
#![allow(dead_code)]

use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A queue discipline: the state of one queue, plain data that is never dropped.
///
/// Calls for one queue come one after the other, those for several perhaps from several threads: keep nothing outside of
/// `self`. A panic ends the run with its message.
pub trait Aqm: Copy + 'static {
    /// Name in scenarios: a-z, 0-9 and _.
    const NAME: &'static CStr;
    /// Title for people.
    const TITLE: &'static CStr = Self::NAME;
    /// One line.
    const SUMMARY: &'static CStr = c"";
    /// Authors, title, year.
    const SOURCE: &'static CStr = c"";
    /// The parameters; `params` are their values in this order.
    const PARAMS: &'static [Param] = &[];
    /// Names of inner values that results can record.
    const GAUGES: &'static [Gauge] = &[];
    /// Whether `on_dequeue` and `on_empty` are called. Without them the queue runs faster.
    const DEQUEUE: bool = false;
    /// Whether `next_timer` and `on_timer` are called.
    const TIMER: bool = false;
    /// Whether `average` answers.
    const AVERAGE: bool = false;
    /// Whether `curve` answers.
    const CURVE: bool = false;

    /// The state at the start. `cx.random()` is not to be called here.
    fn new(params: &[f64], queue: &Queue, cx: &Context) -> Self;
    /// None if the values fit together, else what is allowed.
    fn check(_params: &[f64]) -> Option<&'static CStr> {
        None
    }
    /// A packet arrives; `queue` is what it finds.
    fn on_enqueue(&mut self, packet: &Packet, queue: &Queue, cx: &Context) -> Verdict;
    /// A packet has left the head of the queue. After a drop the next is handed over at once.
    fn on_dequeue(&mut self, _packet: &Packet, _queue: &Queue, _cx: &Context) -> Verdict {
        Verdict::Pass
    }
    /// The link is ready to transmit, and nothing waits.
    fn on_empty(&mut self, _queue: &Queue, _cx: &Context) {}
    /// When `on_timer` is to run next, s, later than now; negative: never. Asked after `new` and after each timer.
    fn next_timer(&self) -> f64 {
        -1.0
    }
    /// The time that `next_timer` gave has come.
    fn on_timer(&mut self, _queue: &Queue, _cx: &Context) {}
    /// The averaged queue, packets.
    fn average(&self) -> f64 {
        0.0
    }
    /// Writes the values of `GAUGES`.
    fn gauges(&self, _out: &mut [f64]) {}
    /// The drop probability at an averaged queue, packets.
    fn curve(_params: &[f64], _average: f64) -> f64 {
        0.0
    }
}

/// A packet as a router sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Equal for packets of one flow.
    pub flow: u64,
    /// When it joined the queue, s; 0 at `on_enqueue`.
    pub enqueued: f64,
    /// On the wire, bytes.
    pub size: u32,
    /// Round-trip time that the sender wrote into it, ms; 0: none.
    pub rtt_hint_ms: u16,
    /// IP's field: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Traffic class, 0 to 7.
    pub priority: u8,
    /// Time to live on arrival.
    pub ttl: u8,
    /// As the sender set it; 0: not written.
    pub initial_ttl: u8,
    /// At the destination; 0: not written.
    pub final_ttl: u8,
    reserved: [u8; 5],
}

/// The queue: without the packet that arrives or leaves, and without the one in transmission.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Waiting.
    pub packets: u64,
    /// Waiting.
    pub bytes: u64,
    /// Size of the buffer, in packets, or bytes if `limit_in_bytes` is not 0.
    pub limit: u64,
    /// Since when the link has been idle, s; negative while it is busy.
    pub idle_since: f64,
    /// Whether `limit` is in bytes.
    pub limit_in_bytes: u32,
    reserved: u32,
}

/// What else a discipline is given.
#[repr(C)]
pub struct Context {
    /// s since the start.
    pub now: f64,
    /// bit/s.
    pub link_rate: f64,
    /// Propagation delay, s.
    pub link_delay: f64,
    can_mark: u32,
    has_room: u32,
    host: *mut c_void,
    random: unsafe extern "C" fn(*mut c_void) -> f64,
    exp: unsafe extern "C" fn(f64) -> f64,
    log: unsafe extern "C" fn(f64) -> f64,
    log1p: unsafe extern "C" fn(f64) -> f64,
    pow: unsafe extern "C" fn(f64, f64) -> f64,
    peek: *const c_void,
    victim: *const c_void,
    fault: unsafe extern "C" fn(*mut c_void, *const c_char),
}

impl Context {
    /// Whether a signal on this packet would be a mark.
    pub fn can_mark(&self) -> bool {
        self.can_mark != 0
    }
    /// Whether the arrival finds space in the buffer.
    pub fn has_room(&self) -> bool {
        self.has_room != 0
    }
    /// The next random number of this queue's stream, in [0, 1).
    pub fn random(&self) -> f64 {
        unsafe { (self.random)(self.host) }
    }
    /// The host's exp; std's may differ in the last bit from machine to machine, and so may ln and powf.
    pub fn exp(&self, x: f64) -> f64 {
        unsafe { (self.exp)(x) }
    }
    /// The host's natural logarithm.
    pub fn log(&self, x: f64) -> f64 {
        unsafe { (self.log)(x) }
    }
    /// The host's natural logarithm of 1 + x.
    pub fn log1p(&self, x: f64) -> f64 {
        unsafe { (self.log1p)(x) }
    }
    /// The host's x to the power y.
    pub fn pow(&self, x: f64, y: f64) -> f64 {
        unsafe { (self.pow)(x, y) }
    }
}

/// What is to be done with a packet. A drop by chance counts as early, one for certain as forced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Pass = 0,
    /// Mark it if it can be marked, else drop it.
    Signal = 1,
    /// Mark it if it can be marked.
    Mark = 2,
    /// Drop it.
    Drop = 3,
    /// As `Signal`, for certain.
    SignalForced = 0x101,
    /// As `Drop`, for certain.
    DropForced = 0x103,
}

/// The unit of a parameter.
#[derive(Clone, Copy)]
pub enum Unit {
    /// A bare number.
    None = 0,
    /// Packets.
    Packets = 1,
    /// Seconds.
    Seconds = 2,
    /// Bytes.
    Bytes = 3,
}

/// A parameter.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    name: *const c_char,
    symbol: *const c_char,
    doc: *const c_char,
    source: *const c_char,
    words: *const *const c_char,
    low: f64,
    high: f64,
    initial: f64,
    kind: u32,
    unit: u32,
    open: u32,
    reserved: u32,
}

impl Param {
    const fn new(name: &'static CStr, initial: f64, kind: u32) -> Self {
        let none = std::ptr::null();
        let (name, low, high) = (name.as_ptr(), f64::NEG_INFINITY, f64::INFINITY);
        let words = std::ptr::null();
        Param { name, symbol: none, doc: none, source: none, words, low, high, initial, kind, unit: 0, open: 0, reserved: 0 }
    }
    /// A number.
    pub const fn real(name: &'static CStr, default: f64) -> Self {
        Param::new(name, default, 0)
    }
    /// A whole number.
    pub const fn whole(name: &'static CStr, default: i32) -> Self {
        Param::new(name, default as f64, 1)
    }
    /// True or false, as 1 and 0.
    pub const fn flag(name: &'static CStr, default: bool) -> Self {
        Param::new(name, default as u8 as f64, 2)
    }
    /// Smallest and largest value.
    pub const fn range(mut self, low: f64, high: f64) -> Self {
        self.low = low;
        self.high = high;
        self
    }
    /// The smallest value itself is not allowed.
    pub const fn above_low(mut self) -> Self {
        self.open |= 1;
        self
    }
    /// The unit.
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit as u32;
        self
    }
    /// One sentence.
    pub const fn doc(mut self, text: &'static CStr) -> Self {
        self.doc = text.as_ptr();
        self
    }
    /// Where the default comes from.
    pub const fn source(mut self, text: &'static CStr) -> Self {
        self.source = text.as_ptr();
        self
    }
}

/// The name of an inner value.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Gauge(*const c_char);

/// The name of an inner value.
pub const fn gauge(name: &'static CStr) -> Gauge {
    Gauge(name.as_ptr())
}

type Decide = unsafe extern "C" fn(*mut c_void, *const Packet, *const Queue, *const Context) -> u32;

/// `ed_aqm`.
#[repr(C)]
pub struct Description {
    abi: u32,
    size: u32,
    name: *const c_char,
    title: *const c_char,
    summary: *const c_char,
    source: *const c_char,
    doc: *const c_char,
    params: *const Param,
    gauges: *const Gauge,
    param_count: u32,
    gauge_count: u32,
    state_size: u64,
    needs: u32,
    reserved: u32,
    check: Option<unsafe extern "C" fn(*const f64, f64, f64) -> *const c_char>,
    init: Option<unsafe extern "C" fn(*mut c_void, *const f64, *const Queue, *const Context)>,
    on_enqueue: Option<Decide>,
    on_dequeue: Option<Decide>,
    next_timer: Option<unsafe extern "C" fn(*const c_void) -> f64>,
    on_timer: Option<unsafe extern "C" fn(*mut c_void, *const Queue, *const Context)>,
    average: Option<unsafe extern "C" fn(*const c_void) -> f64>,
    read_gauges: Option<unsafe extern "C" fn(*const c_void, *mut f64)>,
    curve: Option<unsafe extern "C" fn(*const f64, f64, f64, f64) -> f64>,
}

// It is constant.
unsafe impl Sync for Description {}

impl Description {
    /// The description of `T`.
    pub const fn of<T: Aqm>() -> Self {
        assert!(std::mem::align_of::<T>() <= 16, "a block of state is aligned to 16 bytes");
        assert!(T::GAUGES.len() <= 64, "there are more than 64 gauges");
        Description {
            abi: 1,
            size: std::mem::size_of::<Description>() as u32,
            name: T::NAME.as_ptr(),
            title: T::TITLE.as_ptr(),
            summary: T::SUMMARY.as_ptr(),
            source: T::SOURCE.as_ptr(),
            doc: std::ptr::null(),
            params: T::PARAMS.as_ptr(),
            gauges: T::GAUGES.as_ptr(),
            param_count: T::PARAMS.len() as u32,
            gauge_count: T::GAUGES.len() as u32,
            state_size: std::mem::size_of::<T>() as u64,
            needs: 0,
            reserved: 0,
            check: Some(check::<T>),
            init: Some(init::<T>),
            on_enqueue: Some(on_enqueue::<T>),
            on_dequeue: if T::DEQUEUE { Some(on_dequeue::<T>) } else { None },
            next_timer: if T::TIMER { Some(next_timer::<T>) } else { None },
            on_timer: if T::TIMER { Some(on_timer::<T>) } else { None },
            average: if T::AVERAGE { Some(average::<T>) } else { None },
            read_gauges: if T::GAUGES.is_empty() { None } else { Some(read_gauges::<T>) },
            curve: if T::CURVE { Some(curve::<T>) } else { None },
        }
    }
}

/// Exports a discipline: what the library is loaded by.
#[macro_export]
macro_rules! export {
    ($aqm:ty) => {
        static DESCRIPTION: $crate::abi::Description = $crate::abi::Description::of::<$aqm>();

        /// The description that earlydrop reads.
        #[no_mangle]
        pub extern "C" fn earlydrop_aqm() -> *const $crate::abi::Description {
            &DESCRIPTION
        }
    };
}

/// Does `work`; a panic becomes the run's error, and `otherwise` the answer.
///
/// # Safety
/// `cx` is the context of the call that goes on.
unsafe fn guarded<R>(cx: *const Context, otherwise: R, work: impl FnOnce(&Context) -> R) -> R {
    let cx = unsafe { &*cx };
    catch_unwind(AssertUnwindSafe(|| work(cx))).unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let said = said.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".into());
        let said = std::ffi::CString::new(format!("panicked: {said}").replace('\0', " ")).unwrap_or_default();
        unsafe { (cx.fault)(cx.host, said.as_ptr()) };
        otherwise
    })
}

// What the host calls. The pointers are as the header says, and live as long as the call.

unsafe fn values<'a, T: Aqm>(params: *const f64) -> &'a [f64] {
    if T::PARAMS.is_empty() {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(params, T::PARAMS.len()) }
}

unsafe extern "C" fn check<T: Aqm>(params: *const f64, _rate: f64, _delay: f64) -> *const c_char {
    let params = unsafe { values::<T>(params) };
    let said = catch_unwind(|| T::check(params)).unwrap_or(Some(c"check panicked"));
    said.map_or(std::ptr::null(), CStr::as_ptr)
}

unsafe extern "C" fn init<T: Aqm>(state: *mut c_void, params: *const f64, queue: *const Queue, cx: *const Context) {
    let (params, queue) = unsafe { (values::<T>(params), &*queue) };
    if let Some(made) = unsafe { guarded(cx, None, |cx| Some(T::new(params, queue, cx))) } {
        unsafe { state.cast::<T>().write(made) };
    }
}

unsafe extern "C" fn on_enqueue<T: Aqm>(
    state: *mut c_void,
    packet: *const Packet,
    queue: *const Queue,
    cx: *const Context,
) -> u32 {
    let (state, packet, queue) = unsafe { (&mut *state.cast::<T>(), &*packet, &*queue) };
    unsafe { guarded(cx, Verdict::Pass, |cx| state.on_enqueue(packet, queue, cx)) as u32 }
}

unsafe extern "C" fn on_dequeue<T: Aqm>(
    state: *mut c_void,
    packet: *const Packet,
    queue: *const Queue,
    cx: *const Context,
) -> u32 {
    let (state, packet, queue) = unsafe { (&mut *state.cast::<T>(), packet.as_ref(), &*queue) };
    let work = |cx: &Context| match packet {
        Some(packet) => state.on_dequeue(packet, queue, cx),
        None => {
            state.on_empty(queue, cx);
            Verdict::Pass
        }
    };
    unsafe { guarded(cx, Verdict::Pass, work) as u32 }
}

unsafe extern "C" fn next_timer<T: Aqm>(state: *const c_void) -> f64 {
    let state = unsafe { &*state.cast::<T>() };
    catch_unwind(AssertUnwindSafe(|| state.next_timer())).unwrap_or(f64::NAN)
}

unsafe extern "C" fn on_timer<T: Aqm>(state: *mut c_void, queue: *const Queue, cx: *const Context) {
    let (state, queue) = unsafe { (&mut *state.cast::<T>(), &*queue) };
    unsafe { guarded(cx, (), |cx| state.on_timer(queue, cx)) };
}

unsafe extern "C" fn average<T: Aqm>(state: *const c_void) -> f64 {
    let state = unsafe { &*state.cast::<T>() };
    catch_unwind(AssertUnwindSafe(|| state.average())).unwrap_or(f64::NAN)
}

unsafe extern "C" fn read_gauges<T: Aqm>(state: *const c_void, out: *mut f64) {
    let (state, out) = unsafe { (&*state.cast::<T>(), std::slice::from_raw_parts_mut(out, T::GAUGES.len())) };
    let _ = catch_unwind(AssertUnwindSafe(|| state.gauges(out)));
}

unsafe extern "C" fn curve<T: Aqm>(params: *const f64, _rate: f64, _delay: f64, average: f64) -> f64 {
    let params = unsafe { values::<T>(params) };
    catch_unwind(|| T::curve(params, average)).unwrap_or(f64::NAN)
}
