//! The arrivals of the decision vectors: two scripts, each the same for every discipline.

use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Ecn, Packet};

/// Which arrivals a case has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Eight flows at loads between 0 and 2, all packets with the options that disciplines read.
    Plain,
    /// Floods, hundreds of flows, packets without options, and silence between them.
    Hostile {
        /// Silence at the end of each cycle, s.
        silence_s: u32,
    },
}

/// A script, and the place reached in it.
pub enum Script {
    /// The script of [`Kind::Plain`].
    Plain(Plain),
    /// The script of [`Kind::Hostile`].
    Hostile(Hostile),
}

impl Script {
    /// The script from its first arrival on.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Plain => Script::Plain(Plain::new()),
            Kind::Hostile { silence_s } => Script::Hostile(Hostile::new(silence_s)),
        }
    }

    /// The next arrival: time in microseconds, and the packet.
    pub fn next(&mut self, id: u32) -> (u64, Packet) {
        match self {
            Script::Plain(script) => script.next(id),
            Script::Hostile(script) => script.next(id),
        }
    }
}

/// Arrivals at whole microseconds, in a cycle: overload; a pause in which the queue
/// drains but an average stays high; light load; a burst larger than the buffer; then load close to the capacity.
pub struct Plain {
    random: Generator,
    now_us: u64,
    burst: u32,
    /// Number of bursts so far.
    bursts: u64,
}

const CYCLE_US: u64 = 8_000_000;
const BURST_AT_US: u64 = 3_700_000;
/// Mean time between packets at a load of 1: the mean packet has 904 B.
const MEAN_GAP_US: f64 = 7232.0;

impl Plain {
    fn new() -> Self {
        Plain { random: Generator::stream(1, "vectors.script"), now_us: 0, burst: 0, bursts: 0 }
    }

    /// The next arrival: time in microseconds, and the packet.
    fn next(&mut self, id: u32) -> (u64, Packet) {
        let phase = self.now_us % CYCLE_US;
        if self.burst > 0 {
            self.burst -= 1;
        } else if phase >= BURST_AT_US && self.bursts <= self.now_us / CYCLE_US {
            self.bursts += 1;
            self.burst = 149;
        } else {
            let load = match phase {
                0..=1_499_999 => 2.0,
                1_500_000..=2_699_999 => 0.0,
                2_700_000..BURST_AT_US => 0.6,
                BURST_AT_US..=4_999_999 => 1.1,
                5_000_000..=6_999_999 => 1.5,
                _ => 0.5,
            };
            if load == 0.0 {
                self.now_us += 2_700_000 - phase;
            } else {
                let gap = -libm::log(1.0 - self.random.uniform()) * MEAN_GAP_US / load;
                self.now_us += gap as u64 + 1;
            }
        }
        (self.now_us, self.packet(id))
    }

    fn packet(&mut self, id: u32) -> Packet {
        let pick = self.random.uniform();
        let flow = if pick < 0.35 {
            1
        } else if pick < 0.5 {
            2
        } else {
            3 + ((pick - 0.5) * 20.0) as u64
        };
        let size = match (self.random.uniform() * 10.0) as u32 {
            0 => 40,
            1 | 2 => 500,
            3..=7 => 1000,
            _ => 1500,
        };
        let ecn = match flow % 4 {
            0 => Ecn::Ect0,
            2 if flow == 6 && self.random.uniform() < 0.1 => Ecn::Ce,
            2 => Ecn::Ect1,
            _ => Ecn::NotEct,
        };
        Packet {
            size,
            ecn,
            class: (flow % 8) as u8,
            ttl: 31 - (flow % 7) as u8,
            initial_ttl: 32,
            final_ttl: 22 - (flow % 3) as u8,
            rtt_hint_ms: 20 * flow as u16,
            tag: id,
            ..Packet::new(flow, size)
        }
    }
}

/// Arrivals in cycles: a flood of one flow that does not respond, among forty others; light load of flows with one
/// packet each; sixty packets at the same instant; load close to the capacity; silence. Senders are at every distance,
/// and every fourth packet lacks one of the options.
pub struct Hostile {
    random: Generator,
    now_us: u64,
    silence_us: u64,
    /// Packets since the cycle started.
    place: u32,
}

/// Packets in the parts of a cycle.
const FLOOD: u32 = 240;
const SINGLES: u32 = 20;
const AT_ONCE: u32 = 60;
const BUSY: u32 = 80;

impl Hostile {
    fn new(silence_s: u32) -> Self {
        let random = Generator::stream(1, "vectors.hostile");
        Hostile { random, now_us: 0, silence_us: u64::from(silence_s) * 1_000_000, place: 0 }
    }

    /// The next arrival: time in microseconds, and the packet.
    fn next(&mut self, id: u32) -> (u64, Packet) {
        let place = self.place;
        self.place = (place + 1) % (FLOOD + SINGLES + AT_ONCE + BUSY);
        if place == 0 && id > 0 {
            self.now_us += self.silence_us.max(600_000);
        }
        let singles = FLOOD + SINGLES;
        let load = match place {
            0..FLOOD => 3.0,
            _ if place < singles => 0.5,
            _ if place < singles + AT_ONCE => f64::INFINITY,
            _ => 1.1,
        };
        let gap = -libm::log(1.0 - self.random.uniform()) * MEAN_GAP_US / load;
        self.now_us += if load.is_finite() { gap as u64 + 1 } else { 0 };
        let flow = match place {
            0..FLOOD if self.random.uniform() < 0.6 => 9,
            _ if place >= FLOOD && place < singles => 1000 + u64::from(id),
            _ => 20 + self.pick(40),
        };
        (self.now_us, self.packet(id, flow))
    }

    /// A whole number below `end`.
    fn pick(&mut self, end: u32) -> u64 {
        (self.random.uniform() * f64::from(end)) as u64
    }

    fn packet(&mut self, id: u32, flow: u64) -> Packet {
        let size = [40, 296, 576, 1000, 1500][self.pick(5) as usize];
        let ecn = match flow % 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            _ => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0][self.pick(3) as usize],
        };
        let initial_ttl = [32, 64, 128][(flow % 3) as usize];
        let ttl = initial_ttl - self.pick(20) as u8;
        let final_ttl = initial_ttl - 5 - self.pick(25) as u8;
        let lacks = self.pick(12);
        Packet {
            size,
            ecn,
            class: (flow % 8) as u8,
            ttl,
            initial_ttl: if lacks == 0 { 0 } else { initial_ttl },
            final_ttl: if lacks == 1 { 0 } else { final_ttl },
            rtt_hint_ms: if lacks == 2 { 0 } else { 5 * (1 + flow % 90) as u16 },
            tag: id,
            ..Packet::new(flow, size)
        }
    }
}
