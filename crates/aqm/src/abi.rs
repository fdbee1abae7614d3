//! The C ABI of a queue discipline: the structs of `include/earlydrop_aqm.h`, field by field, where each field is
//! explained. Plain data and function pointers; what calls them is the crate `earlydrop-plugin`.

use std::ffi::{c_char, c_void};

/// The value of `EARLYDROP_AQM_ABI`: a library that was built with another is refused.
pub const VERSION: u32 = 1;
/// Name of the function that a library exports.
pub const SYMBOL: &str = "earlydrop_aqm";

/// `ed_packet`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// Flow key.
    pub flow: u64,
    /// When the packet joined the queue, s.
    pub enqueued: f64,
    /// Bytes on the wire.
    pub size: u32,
    /// Round-trip time that the sender wrote into the packet, ms; 0 if none.
    pub rtt_hint_ms: u16,
    /// ECN field.
    pub ecn: u8,
    /// Traffic class, 0..=7.
    pub priority: u8,
    /// Time to live on arrival.
    pub ttl: u8,
    /// Time to live as sent; 0 if not written.
    pub initial_ttl: u8,
    /// Time to live at the destination; 0 if not written.
    pub final_ttl: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

impl From<&crate::Packet> for Packet {
    #[inline]
    fn from(packet: &crate::Packet) -> Self {
        Packet {
            flow: packet.flow,
            enqueued: packet.enqueued.seconds(),
            size: packet.size,
            rtt_hint_ms: packet.rtt_hint_ms,
            ecn: packet.ecn as u8,
            priority: packet.class,
            ttl: packet.ttl,
            initial_ttl: packet.initial_ttl,
            final_ttl: packet.final_ttl,
            reserved: [0; 5],
        }
    }
}

/// `ed_queue`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// Size of the buffer, packets or bytes.
    pub limit: u64,
    /// When the link became idle, s; [`BUSY`] while it is busy.
    pub idle_since: f64,
    /// Whether `limit` is in bytes.
    pub limit_in_bytes: u32,
    /// Zero.
    pub reserved: u32,
}

/// [`Queue::idle_since`] of a busy link.
pub const BUSY: f64 = -1.0;

/// `ed_context`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Now, s.
    pub now: f64,
    /// Rate of the link, bit/s.
    pub link_rate: f64,
    /// Propagation delay, s.
    pub link_delay: f64,
    /// Whether a signal on this packet would be a mark.
    pub can_mark: u32,
    /// Whether the arrival finds space in the buffer.
    pub has_room: u32,
    /// First argument of the functions below that take one.
    pub host: *mut c_void,
    /// A random number in [0, 1).
    pub random: unsafe extern "C" fn(*mut c_void) -> f64,
    /// `exp` of libm.
    pub exp: extern "C" fn(f64) -> f64,
    /// `log` of libm.
    pub log: extern "C" fn(f64) -> f64,
    /// `log1p` of libm.
    pub log1p: extern "C" fn(f64) -> f64,
    /// `pow` of libm.
    pub pow: extern "C" fn(f64, f64) -> f64,
    /// Reads the packet at a position of the queue.
    pub peek: unsafe extern "C" fn(*mut c_void, u64, *mut Packet) -> u32,
    /// Names the packet at a position a victim.
    pub victim: unsafe extern "C" fn(*mut c_void, u64) -> u32,
    /// Ends the run with this message.
    pub fault: unsafe extern "C" fn(*mut c_void, *const c_char),
}

/// `ed_verdict`: an action, and flags.
pub mod verdict {
    /// Nothing to do.
    pub const PASS: u32 = 0;
    /// Mark if possible, else drop.
    pub const SIGNAL: u32 = 1;
    /// Mark if possible, else let pass.
    pub const MARK: u32 = 2;
    /// Drop.
    pub const DROP: u32 = 3;
    /// Drop the packets named.
    pub const VICTIMS: u32 = 4;
    /// The reason is certain, not chance.
    pub const FORCED: u32 = 0x100;
    /// With victims: the arrival is dropped too.
    pub const WITH_ARRIVAL: u32 = 0x1_0000;
    /// With victims: those that can be marked are marked.
    pub const MARK_VICTIMS: u32 = 0x2_0000;
}

/// `ed_param`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name.
    pub name: *const c_char,
    /// Symbol in LaTeX, or null.
    pub symbol: *const c_char,
    /// One sentence, or null.
    pub doc: *const c_char,
    /// Where the default comes from, or null.
    pub source: *const c_char,
    /// The words of a choice, a null at the end.
    pub words: *const *const c_char,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// Default.
    pub initial: f64,
    /// 0 real, 1 whole, 2 flag, 3 choice.
    pub kind: u32,
    /// 0 none, 1 packets, 2 seconds, 3 bytes.
    pub unit: u32,
    /// Bit 0: `low` is excluded; bit 1: `high` is.
    pub open: u32,
    /// Zero.
    pub reserved: u32,
}

/// [`Aqm::needs`]: the packets that wait can be looked at and named victims.
pub const NEEDS_CONTENTS: u32 = 1;
/// Largest number of gauges.
pub const MOST_GAUGES: usize = 64;

/// Decides over a packet.
pub type Decide = unsafe extern "C" fn(*mut c_void, *const Packet, *const Queue, *const Context) -> u32;

/// `ed_aqm`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Aqm {
    /// [`VERSION`].
    pub abi: u32,
    /// Bytes of this struct.
    pub size: u32,
    /// Name in scenarios.
    pub name: *const c_char,
    /// Title for people, or null.
    pub title: *const c_char,
    /// One line, or null.
    pub summary: *const c_char,
    /// Authors, title, year, or null.
    pub source: *const c_char,
    /// Markdown, or null.
    pub doc: *const c_char,
    /// The parameters.
    pub params: *const Param,
    /// Names of the gauges.
    pub gauges: *const *const c_char,
    /// How many parameters.
    pub param_count: u32,
    /// How many gauges.
    pub gauge_count: u32,
    /// Bytes of a block of state.
    pub state_size: u64,
    /// [`NEEDS_CONTENTS`] or 0.
    pub needs: u32,
    /// Zero.
    pub reserved: u32,
    /// Null if the values fit together, else what is allowed.
    pub check: Option<unsafe extern "C" fn(*const f64, f64, f64) -> *const c_char>,
    /// Fills in a state, zeroed before.
    pub init: Option<unsafe extern "C" fn(*mut c_void, *const f64, *const Queue, *const Context)>,
    /// A packet arrives.
    pub on_enqueue: Option<Decide>,
    /// The link takes a packet, or finds none.
    pub on_dequeue: Option<Decide>,
    /// When the timer is due, s.
    pub next_timer: Option<unsafe extern "C" fn(*const c_void) -> f64>,
    /// The timer runs.
    pub on_timer: Option<unsafe extern "C" fn(*mut c_void, *const Queue, *const Context)>,
    /// The averaged queue, packets.
    pub average: Option<unsafe extern "C" fn(*const c_void) -> f64>,
    /// Writes the gauges.
    pub read_gauges: Option<unsafe extern "C" fn(*const c_void, *mut f64)>,
    /// The drop probability at an averaged queue in packets.
    pub curve: Option<unsafe extern "C" fn(*const f64, f64, f64, f64) -> f64>,
}
