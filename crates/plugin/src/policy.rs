//! A policy behind the C ABI.

use std::ffi::{c_char, c_void, CStr};

use earlydrop_aqm::abi::{self, verdict};
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Verdict};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::ring::Ring;
use earlydrop_aqm::{Link, Packet, Time};

use crate::maths::{exp, log, log1p, pow};
use crate::timers::Timers;

/// What the functions of a context work on, while a call lasts.
struct Host<'a> {
    random: &'a mut Generator,
    contents: Option<&'a Ring>,
    victims: &'a mut Vec<u64>,
    /// What the policy said when it could not go on.
    fault: Option<String>,
}

impl Host<'_> {
    fn at(&self, position: u64) -> Option<(u64, &Packet)> {
        let ring = self.contents?;
        let position = usize::try_from(position).ok()?;
        // Without holes a position is a slot.
        if ring.slots() as u64 == ring.packets() {
            return ring.at(position);
        }
        ring.iter().nth(position)
    }
}

/// # Safety
/// `host` is the [`Host`] of the present call; so for the functions below.
unsafe extern "C" fn random(host: *mut c_void) -> f64 {
    unsafe { &mut *host.cast::<Host<'_>>() }.random.uniform()
}

unsafe extern "C" fn peek(host: *mut c_void, position: u64, packet: *mut abi::Packet) -> u32 {
    match unsafe { &*host.cast::<Host<'_>>() }.at(position) {
        Some((_, found)) if !packet.is_null() => {
            unsafe { packet.write(found.into()) };
            1
        }
        _ => 0,
    }
}

unsafe extern "C" fn victim(host: *mut c_void, position: u64) -> u32 {
    let host = unsafe { &mut *host.cast::<Host<'_>>() };
    let Some((serial, _)) = host.at(position) else { return 0 };
    host.victims.push(serial);
    1
}

unsafe extern "C" fn fault(host: *mut c_void, message: *const c_char) {
    let message = unsafe { text(message) }.unwrap_or("gave no reason");
    unsafe { &mut *host.cast::<Host<'_>>() }.fault.get_or_insert_with(|| message.to_string());
}

/// A description whose functions may be called from any thread.
#[derive(Clone, Copy)]
pub(crate) struct Code(&'static abi::Aqm);

impl Code {
    /// The code that `aqm` describes.
    pub(crate) fn of(aqm: &'static abi::Aqm) -> Self {
        Code(aqm)
    }

    /// The description.
    pub(crate) fn get(self) -> &'static abi::Aqm {
        self.0
    }
}

// SAFETY: the header asks for it: the description is constant, and its functions may be called from any thread.
unsafe impl Send for Code {}
unsafe impl Sync for Code {}

/// A policy of one queue: its code, and its block of state.
pub(crate) struct Foreign {
    name: &'static str,
    code: Code,
    decide: abi::Decide,
    gauges: &'static [&'static str],
    /// The block of state, in units of 16 bytes: that aligns it to 16 bytes.
    state: Vec<u128>,
    queue: abi::Queue,
    context: abi::Context,
    timers: Timers,
}

// SAFETY: the pointers in `context` are set for the length of a call, and the state is the policy's own.
unsafe impl Send for Foreign {}

impl Foreign {
    /// A policy in front of `link`; `params` in the order of the declaration.
    pub(crate) fn new(
        name: &'static str,
        code: Code,
        decide: abi::Decide,
        gauges: &'static [&'static str],
        params: &[f64],
        link: &Link,
        limit: Limit,
    ) -> Self {
        let (limit, limit_in_bytes) = match limit {
            Limit::Packets(n) => (n, 0),
            Limit::Bytes(n) => (n, 1),
        };
        let queue = abi::Queue { packets: 0, bytes: 0, limit, idle_since: 0.0, limit_in_bytes, reserved: 0 };
        let context = abi::Context {
            now: 0.0,
            link_rate: link.rate_bps,
            link_delay: link.delay_s,
            can_mark: 0,
            has_room: 1,
            host: std::ptr::null_mut(),
            random,
            exp,
            log,
            log1p,
            pow,
            peek,
            victim,
            fault,
        };
        let blocks = usize::try_from(code.get().state_size.div_ceil(16)).expect("checked by the declaration");
        let (state, timers) = (vec![0; blocks], Timers::default());
        let mut made = Foreign { name, code, decide, gauges, state, queue, context, timers };
        if let Some(init) = code.get().init {
            // A policy that draws before the first packet would move the draws of all that follow.
            let (mut random, mut victims) = (Generator::custom(|| f64::NAN), Vec::new());
            let mut host = Host { random: &mut random, contents: None, victims: &mut victims, fault: None };
            made.context.host = std::ptr::from_mut(&mut host).cast();
            // SAFETY: as the header says; the block is as long as declared.
            unsafe { init(made.state.as_mut_ptr().cast(), params.as_ptr(), &made.queue, &made.context) };
            made.end_if(host.fault);
        }
        made
    }

    /// Calls `function` with the packet and what surrounds it.
    #[inline]
    fn call(
        &mut self,
        function: abi::Decide,
        packet: Option<&Packet>,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> u32 {
        let can_mark = packet.is_some_and(|packet| cx.can_mark(packet));
        let mut host = self.surround(queue, cx, can_mark);
        self.context.host = std::ptr::from_mut(&mut host).cast();
        let seen = packet.map(abi::Packet::from);
        let pointer = seen.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: as the header says; what the pointers point to lives until the call returns.
        let code = unsafe { function(self.state.as_mut_ptr().cast(), pointer, &self.queue, &self.context) };
        self.end_if(host.fault);
        code
    }

    /// Ends the run if the policy has said that it cannot go on.
    #[inline]
    fn end_if(&self, fault: Option<String>) {
        if let Some(message) = fault {
            Fault::raise(format!("{}: {message}", self.name));
        }
    }

    /// Ends the run if something is wrong with the timers.
    fn refuse(&self, found: Result<(), String>) {
        self.end_if(found.err());
    }

    #[inline]
    fn surround<'a>(&mut self, queue: &QueueView<'a>, cx: &'a mut Context<'_>, can_mark: bool) -> Host<'a> {
        self.queue.packets = queue.packets;
        self.queue.bytes = queue.bytes;
        self.queue.idle_since = queue.idle_since.map_or(abi::BUSY, Time::seconds);
        self.context.now = cx.now.seconds();
        self.context.can_mark = u32::from(can_mark);
        self.context.has_room = u32::from(cx.has_room);
        Host { random: cx.random, contents: queue.contents, victims: cx.victims, fault: None }
    }

    /// What `code`, the answer of `function`, means.
    #[inline]
    fn verdict(&self, function: &str, code: u32, named: bool) -> Verdict {
        let reason = if code & verdict::FORCED == 0 { Reason::Early } else { Reason::Forced };
        match code & !verdict::FORCED {
            verdict::PASS => Verdict::Pass,
            verdict::SIGNAL => Verdict::Signal(reason),
            verdict::MARK => Verdict::Mark,
            verdict::DROP => Verdict::Drop(reason),
            other => {
                let flags = other & (verdict::WITH_ARRIVAL | verdict::MARK_VICTIMS);
                if other & !flags != verdict::VICTIMS || !named {
                    Fault::raise(format!("{}: {function} returned {code}, which is no verdict here", self.name));
                }
                Verdict::Victims {
                    reason,
                    with_arrival: flags & verdict::WITH_ARRIVAL != 0,
                    signal: flags & verdict::MARK_VICTIMS != 0,
                }
            }
        }
    }

    /// The time of the policy's next timer, s, which must be later than `now`, the last one's.
    fn next_after(&self, now: Option<f64>) -> Option<Time> {
        let ask = self.code.get().next_timer?;
        // SAFETY: as the header says.
        let at = unsafe { ask(self.state.as_ptr().cast()) };
        if at.is_nan() {
            Fault::raise(format!("{}: next_timer returned no number", self.name));
        }
        if at < 0.0 || at.is_infinite() {
            return None;
        }
        self.refuse(now.map_or(Ok(()), |now| Timers::later(at, now)));
        Some(Time::from_seconds(at))
    }
}

impl Policy for Foreign {
    fn needs(&self) -> Needs {
        Needs {
            dequeue: self.code.get().on_dequeue.is_some(),
            contents: self.code.get().needs & abi::NEEDS_CONTENTS != 0,
        }
    }

    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let code = self.call(self.decide, Some(packet), queue, cx);
        self.verdict("on_enqueue", code, queue.contents.is_some())
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let Some(function) = self.code.get().on_dequeue else { return Verdict::Pass };
        let code = self.call(function, packet, queue, cx);
        if packet.is_none() && code != verdict::PASS {
            Fault::raise(format!("{}: on_dequeue returned {code} where no packet was", self.name));
        }
        self.verdict("on_dequeue", code, false)
    }

    fn next_timer(&self) -> Option<Time> {
        self.code.get().on_timer?;
        self.next_after(None)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        let Some(function) = self.code.get().on_timer else { return };
        let now = cx.now.seconds();
        let counted = self.timers.count(now);
        self.refuse(counted);
        let mut host = self.surround(queue, cx, false);
        self.context.host = std::ptr::from_mut(&mut host).cast();
        // SAFETY: as in `call`.
        unsafe { function(self.state.as_mut_ptr().cast(), &self.queue, &self.context) };
        self.end_if(host.fault);
        self.next_after(Some(now));
    }

    fn average(&self) -> Option<f64> {
        let ask = self.code.get().average?;
        // SAFETY: as the header says.
        Some(unsafe { ask(self.state.as_ptr().cast()) })
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let Some(read) = self.code.get().read_gauges else { return };
        let mut values = [0.0; abi::MOST_GAUGES];
        // SAFETY: as the header says; there are at most MOST_GAUGES.
        unsafe { read(self.state.as_ptr().cast(), values.as_mut_ptr()) };
        for (name, value) in self.gauges.iter().zip(values) {
            out(name, value);
        }
    }
}

/// The text at `pointer`; `None` if it is null or no UTF-8.
///
/// # Safety
/// `pointer` is null or a text that ends with 0.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}
