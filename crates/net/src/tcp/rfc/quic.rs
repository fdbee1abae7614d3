//! QUIC's loss detection and the state of its congestion control (RFC 9002): packets in the order of sending, each with a
//! number of its own, so that an ACK says which transmission has arrived. The connection acts on what is found here
//! (`connection/quic.rs`); `receiver/quic.rs` is the receiver's side.

use super::rto::GRANULARITY;
use super::rtt::Rtt;
use super::scoreboard::{Delivered, Record, Scoreboard};
use super::wire::Range;
use std::collections::VecDeque;

/// `kPacketThreshold` (6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// `kTimeThreshold` (6.1.2).
const TIME_THRESHOLD: f64 = 9.0 / 8.0;
/// `kPersistentCongestionThreshold` (7.6.1).
const PERSISTENT_THRESHOLD: f64 = 3.0;
/// `kMinimumWindow`, segments (7.2).
pub const LEAST_WINDOW: f64 = 2.0;
/// N: the pacing rate over cwnd/SRTT (7.7).
pub const PACING_GAIN: f64 = 1.25;
/// Most packets that an expired PTO sends (6.2.4).
pub const PROBES: usize = 2;
/// Most doublings of the PTO, so that it stays finite.
const MOST_DOUBLINGS: u32 = 30;
/// Equal sums of times differ by less than this, s.
const ROUNDING: f64 = 1e-9;
/// Time stamps differ from the time of sending by less than this, s.
const STAMP_ERROR: f64 = 1e-6;

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Acked,
    /// Declared lost, or no longer needed.
    Gone,
}

/// A transmission. Its number is its place in the order of sending.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// First sequence number of its data.
    start: u64,
    /// Time of sending, s.
    sent: f64,
    state: State,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The packet's number.
    pub number: u64,
    /// Time of sending, s.
    pub at: f64,
}

/// Newly declared losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lost {
    /// Sequence numbers that are in flight no more.
    pub bytes: u64,
    /// The number of the last lost packet.
    pub last: Option<u64>,
    /// The longest time between two lost packets without an acknowledged packet between, after the first RTT sample, s.
    pub span: f64,
}

/// Loss detection and the recovery period.
#[derive(Clone, Debug)]
pub struct Quic {
    packets: VecDeque<Packet>,
    /// Number of the first of these packets.
    first: u64,
    /// The largest acknowledged number.
    largest: Option<u64>,
    latest_rtt: f64,
    /// When the first RTT sample was taken, s.
    sampled_at: f64,
    /// When the next packet is late (`loss_time`), s.
    pub late_at: f64,
    /// When the last packet was sent, s.
    last_sent: f64,
    /// PTOs in a row (`pto_count`).
    ptos: u32,
    /// The number of the first packet sent since the recovery period began; losses of earlier ones reduce cwnd no more
    /// (7.3.2). B.5 compares times, with `<=`; but the ACK that starts a recovery sends its first packets at that very time
    /// here, and others may have been sent then before it.
    pub recovery_from: u64,
}

impl Quic {
    pub fn new() -> Self {
        Quic {
            packets: VecDeque::new(),
            first: 0,
            largest: None,
            latest_rtt: 0.0,
            sampled_at: f64::INFINITY,
            late_at: f64::INFINITY,
            last_sent: 0.0,
            ptos: 0,
            recovery_from: 0,
        }
    }

    /// Notes that the handshake has given an RTT sample.
    pub fn handshake_sample(&mut self, now: f64, rtt: f64) {
        (self.latest_rtt, self.sampled_at) = (rtt, now);
    }

    /// Notes a packet that has been sent, whose data begin at `start`.
    pub fn sent(&mut self, start: u64, now: f64) {
        self.packets.push_back(Packet { start, sent: now, state: State::InFlight });
        self.last_sent = now;
    }

    /// The number of the next packet.
    pub fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    fn place(&self, start: u64, sent: f64) -> Option<usize> {
        let from = self.packets.partition_point(|packet| packet.sent < sent);
        let same = self.packets.iter().skip(from).take_while(|packet| packet.sent == sent);
        same.clone().position(|packet| packet.start == start).map(|at| from + at)
    }

    /// Data are newly delivered by an ACK whose largest packet was sent at `stamp`. Returns the packet that brought
    /// them, and whether its number is the largest so far. A packet declared lost and forgotten counts as the first.
    pub fn delivered(&mut self, delivered: &Delivered, stamp: f64) -> (Sent, bool) {
        let Record { start, sent, .. } = delivered.record;
        let mut at = self.place(start, sent);
        if delivered.record.is_retransmitted() && stamp < sent - STAMP_ERROR {
            // If that is after the largest acknowledged packet, an earlier transmission has arrived.
            if let Some(at) = at {
                self.packets[at].state = State::Gone;
            }
            let earlier = |packet: &Packet| packet.start == start && packet.sent < sent;
            at = self.packets.iter().rposition(earlier);
        }
        let Some(at) = at else { return (Sent { number: 0, at: sent }, false) };
        self.packets[at].state = State::Acked;
        let number = self.first + at as u64;
        let is_largest = self.largest.is_none_or(|largest| number > largest);
        if is_largest {
            self.largest = Some(number);
        }
        (Sent { number, at: self.packets[at].sent }, is_largest)
    }

    /// The receiver has got data twice: no transmission of these data is lost.
    pub fn duplicate(&mut self, (start, end): Range) {
        let within = |packet: &&mut Packet| (start..end).contains(&packet.start) && packet.state == State::InFlight;
        self.packets.iter_mut().filter(within).for_each(|packet| packet.state = State::Acked);
    }

    /// An RTT sample of `rtt` seconds, of which the receiver has delayed its ACK by `delay`, `most` at most (5.3):
    /// returns what counts for SRTT and RTTVAR.
    pub fn sample(&mut self, now: f64, rtt: f64, delay: f64, most: f64, min_rtt: f64) -> f64 {
        self.latest_rtt = rtt;
        if self.sampled_at == f64::INFINITY {
            self.sampled_at = now;
            return rtt;
        }
        let adjusted = rtt - delay.min(most);
        if adjusted >= min_rtt.min(rtt) - ROUNDING {
            adjusted
        } else {
            rtt
        }
    }

    /// An ACK of new data has come (6.2.1).
    pub fn acknowledged(&mut self) {
        self.ptos = 0;
    }

    /// Declares packets lost that were sent before the largest acknowledged one (6.1), and sets when the next is late.
    pub fn find_losses(&mut self, board: &mut Scoreboard, now: f64, srtt: f64) -> Lost {
        self.late_at = f64::INFINITY;
        let Some(largest) = self.largest else { return Lost::default() };
        let wait = (TIME_THRESHOLD * self.latest_rtt.max(srtt)).max(GRANULARITY);
        let (mut lost, mut run) = (Lost::default(), None);
        for at in 0..self.packets.len().min(largest.saturating_sub(self.first) as usize) {
            let packet = self.packets[at];
            match packet.state {
                State::Acked => run = None,
                State::Gone => {}
                // Computed as the timer is, so that rounding never makes it expire early.
                State::InFlight
                    if largest >= self.first + at as u64 + PACKET_THRESHOLD || packet.sent + wait <= now =>
                {
                    self.packets[at].state = State::Gone;
                    lost.bytes += Self::lose(board, &packet);
                    lost.last = Some(self.first + at as u64);
                    if packet.sent >= self.sampled_at {
                        let since = *run.get_or_insert(packet.sent);
                        lost.span = lost.span.max(packet.sent - since);
                    }
                }
                State::InFlight => self.late_at = self.late_at.min(packet.sent + wait),
            }
        }
        while self.packets.front().is_some_and(|packet| packet.state != State::InFlight) {
            self.packets.pop_front();
            self.first += 1;
        }
        lost
    }

    /// Newly lost sequence numbers: none if the packet's data have arrived or have been sent again.
    fn lose(board: &mut Scoreboard, packet: &Packet) -> u64 {
        let index = board.index_of(packet.start);
        match board.get(index).filter(|record| record.start == packet.start && !record.is_sacked()) {
            Some(record) if record.sent == packet.sent => board.mark_retransmission_lost(index),
            Some(_) => board.mark_lost(index),
            None => 0,
        }
    }

    /// Forgets all packets: everything has been acknowledged.
    pub fn clear(&mut self) {
        self.first += self.packets.len() as u64;
        self.packets.clear();
        self.late_at = f64::INFINITY;
    }

    /// SRTT and what is added to it, without backoff, s (6.2.1; 7.6.1).
    fn timeout(rtt: &Rtt, max_ack_delay: f64) -> f64 {
        let variation = (4.0 * rtt.rto.rttvar()).max(GRANULARITY);
        // Without a sample the initial RTT (6.2.2).
        rtt.rto.srtt().map_or(3.0 * 0.333, |srtt| srtt + variation) + max_ack_delay
    }

    /// When the timer expires with packets in flight, s (6.2.1; A.8).
    pub fn timer(&self, rtt: &Rtt, max_ack_delay: f64) -> f64 {
        if self.late_at < f64::INFINITY {
            return self.late_at;
        }
        let doubled = f64::from(1_u32 << self.ptos.min(MOST_DOUBLINGS));
        self.last_sent + doubled * Self::timeout(rtt, max_ack_delay)
    }

    /// The PTO has expired.
    pub fn expired(&mut self) {
        self.ptos += 1;
    }

    /// Whether losses over this span are persistent congestion (7.6).
    pub fn is_persistent(lost: &Lost, rtt: &Rtt, max_ack_delay: f64) -> bool {
        lost.span > PERSISTENT_THRESHOLD * Self::timeout(rtt, max_ack_delay)
    }
}
