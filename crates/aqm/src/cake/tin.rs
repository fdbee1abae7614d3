//! A tin: its share, its queues, its shaper's clock and what `tc -s qdisc` shows of it.

use super::flows::{Flows, Ways};
use super::parameters::FlowMode;
use super::tins::Share;
use crate::random::Generator;

/// A tin (`struct cake_tin_data`).
#[derive(Debug)]
pub(super) struct Tin {
    pub share: Share,
    pub flows: Flows,
    /// time_next_packet: when the tin's next packet is due, ns.
    pub next: i64,
    /// tin_deficit: bytes of its turn in the unlimited mode.
    pub deficit: i32,
    /// Bytes that wait, and how many of them precede IP headers.
    pub backlog: u64,
    pub offsets: i64,
    /// Numbers of sparse, bulk and decaying queues.
    pub sparse: u32,
    pub bulk: u32,
    pub decaying: u32,
    pub seen: Seen,
}

/// What happened in a tin since the start of the window; averages since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub ack_drops: u64,
    /// Queues in which BLUE is active.
    pub unresponsive: u64,
    /// Bytes of the largest packet.
    pub largest: u32,
    /// Moving averages of the sojourn time, ns.
    pub average_delay: u64,
    pub peak_delay: u64,
    pub base_delay: u64,
}

impl Tin {
    pub fn new(share: Share, mode: FlowMode) -> Self {
        Tin {
            share,
            flows: Flows::new(mode),
            next: 0,
            deficit: 0,
            backlog: 0,
            offsets: 0,
            sparse: 0,
            bulk: 0,
            decaying: 0,
            seen: Seen::default(),
        }
    }

    /// Whether a queue waits for its turn.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The bytes that a queue may send in its turn (cake_get_flow_quantum).
    #[inline]
    pub fn quantum(&self, queue: usize, random: &mut Generator) -> i32 {
        let share = match self.flows.load(queue) {
            1 => 65_535,
            load => 65_535 / load,
        };
        let dither = (random.uniform() * 65_536.0) as u32;
        ((self.share.flow_quantum * share + dither) >> 16) as i32
    }

    /// A packet leaves after `delay` ns.
    #[inline]
    pub fn note_delay(&mut self, delay: u64) {
        let seen = &mut self.seen;
        seen.average_delay = ewma(seen.average_delay, delay, 8);
        seen.peak_delay = ewma(seen.peak_delay, delay, if delay > seen.peak_delay { 2 } else { 8 });
        seen.base_delay = ewma(seen.base_delay, delay, if delay < seen.base_delay { 2 } else { 8 });
    }

    /// Counts start again; averages, and what describes the present, stay.
    pub fn restart(&mut self) {
        let Seen { unresponsive, average_delay, peak_delay, base_delay, .. } = self.seen;
        self.seen = Seen { unresponsive, average_delay, peak_delay, base_delay, ..Seen::default() };
        self.flows.ways = Ways::default();
    }

    /// The lines of `tc -s qdisc`: rates in bit/s, times in s, bytes of IP packets.
    pub fn statistics(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (seconds, seen) = (|ns: u64| ns as f64 * 1e-9, &self.seen);
        let count = |number: u64| number as f64;
        out("threshold_bps", 8.0 * count(self.share.rate));
        out("target_s", seconds(self.share.times.target));
        out("interval_s", seconds(self.share.times.interval));
        out("peak_delay_s", seconds(seen.peak_delay));
        out("average_delay_s", seconds(seen.average_delay));
        out("base_delay_s", seconds(seen.base_delay));
        out("backlog_bytes", count(self.backlog.saturating_add_signed(-self.offsets)));
        out("packets", count(seen.packets));
        out("bytes", count(seen.bytes));
        out("way_hits", count(self.flows.ways.hits));
        out("way_misses", count(self.flows.ways.misses));
        out("way_collisions", count(self.flows.ways.collisions));
        out("drops", count(seen.drops));
        out("marks", count(seen.marks));
        out("ack_drops", count(seen.ack_drops));
        out("sparse_flows", f64::from(self.sparse + self.decaying));
        out("bulk_flows", f64::from(self.bulk));
        out("unresponsive_flows", count(seen.unresponsive));
        out("largest_packet_bytes", f64::from(seen.largest));
        out("flow_quantum_bytes", f64::from(self.share.flow_quantum));
    }
}

/// cake_ewma.
#[inline]
pub(super) fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}
