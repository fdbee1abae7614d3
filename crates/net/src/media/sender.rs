//! The sender: splits frames into packets, queues and paces them, and reads feedback.

use super::settings::{Acked, News, Settings};
use super::{Control, Encoder, Feedback};
use earlydrop_aqm::random::Generator;
use std::collections::VecDeque;

/// Round-trip time before the first feedback, s (`sRtt` in ScreamV2Tx.cpp).
const FIRST_RTT: f64 = 0.05;
/// Time without a packet sent after which all packets in flight are given up, s (`isOkToTransmit` in ScreamV2Tx.cpp).
const STALL: f64 = 0.5;
/// How long a lost packet is remembered, s: if it arrives after all, it was reordered.
const MEMORY: f64 = 1.0;

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// The packet's number; the numbers of a frame are consecutive.
    pub number: u32,
    /// Bytes, headers included.
    pub size: u32,
    /// Whether it is the last of its frame (RTP's marker bit).
    pub last: bool,
}

/// A packet in the sender's queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    packet: Packet,
    since: f64,
}

/// A packet sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: f64,
    size: u32,
    /// Bytes sent up to the packet's end.
    end: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    InFlight,
    Acked,
    /// A later packet was reported first at this time.
    Missing(f64),
    /// A later packet was reported first at this time, and this one is taken for lost.
    Lost(f64),
}

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: Settings,
    encoder: Encoder,
    control: Control,
    queue: VecDeque<Queued>,
    /// Number of the next packet to be queued.
    next: u32,
    /// Sent packets that may still be reported; `first` is the number of the first of them.
    sent: VecDeque<Sent>,
    first: u32,
    /// Bytes sent in all, and up to the highest number reported.
    bytes: u64,
    reported: u64,
    /// The number after the highest reported.
    behind: u32,
    srtt: f64,
    measured: bool,
    /// For this time a missing packet may only be late, s.
    reordering: f64,
    last_sent: f64,
    /// Start of the current group of packets, the end of their transmission at the pacing rate, and the earliest time
    /// of the next packet.
    group: f64,
    paced: f64,
    earliest: f64,
    acked: Vec<Acked>,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(settings: Settings) -> Self {
        Sender {
            settings,
            encoder: Encoder::new(settings.encoding),
            control: Control::new(&settings),
            queue: VecDeque::new(),
            next: 0,
            sent: VecDeque::new(),
            first: 0,
            bytes: 0,
            reported: 0,
            behind: 0,
            srtt: FIRST_RTT,
            measured: false,
            reordering: 0.0,
            last_sent: 0.0,
            group: 0.0,
            paced: 0.0,
            earliest: 0.0,
            acked: Vec::new(),
        }
    }

    /// The sender's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Target rate of the encoder, headers included, bit/s.
    pub fn target(&self) -> f64 {
        self.control.target()
    }

    /// Smoothed round-trip time, s, once there is one.
    pub fn srtt(&self) -> Option<f64> {
        self.measured.then_some(self.srtt)
    }

    /// Bytes sent after the highest number reported.
    pub fn in_flight(&self) -> u64 {
        self.bytes - self.reported
    }

    /// Captures a frame and queues it. Returns the number of its first packet, its packets, and its payload in bytes.
    pub fn capture(&mut self, now: f64, random: &mut Generator) -> (u32, u32, u64) {
        let Settings { segment, header, .. } = self.settings;
        let wanted = self.encoder.frame(self.target(), random);
        // The target rate includes headers.
        let packets = (wanted / self.settings.mss()).ceil();
        let payload = (wanted - packets * f64::from(header)).max(1.0) as u64;
        let waited = self.queue.front().map_or(0.0, |oldest| now - oldest.since);
        let (first, mut left) = (self.next, payload);
        let mut bytes = 0;
        while left > 0 {
            let part = left.min(segment.into());
            left -= part;
            let packet = Packet { number: self.next, size: part as u32 + header, last: left == 0 };
            bytes += packet.size;
            self.queue.push_back(Queued { packet, since: now });
            self.next = self.next.wrapping_add(1);
        }
        self.control.on_frame(bytes.into(), waited);
        if now - self.last_sent > STALL && self.in_flight() > 0 {
            self.reported = self.bytes;
        }
        (first, self.next - first, payload)
    }

    /// When the next packet may leave; `None` if none waits or the window is full.
    pub fn next_send(&self) -> Option<f64> {
        let head = self.queue.front()?;
        let fits = self.in_flight() as f64 + f64::from(head.packet.size) <= self.control.window();
        fits.then_some(self.earliest)
    }

    /// Sends the next packet at `now`, if one may leave.
    pub fn send(&mut self, now: f64) -> Option<Packet> {
        if self.next_send()? > now {
            return None;
        }
        let Queued { packet, .. } = self.queue.pop_front()?;
        self.bytes += u64::from(packet.size);
        self.sent.push_back(Sent { at: now, size: packet.size, end: self.bytes, state: State::InFlight });
        self.last_sent = now;
        self.control.on_sent(self.in_flight());
        if now > self.group {
            self.group = now;
        }
        self.paced = self.paced.max(self.group) + 8.0 * f64::from(packet.size) / self.control.pacing_rate();
        let burst = self.control.burst();
        self.earliest = match burst {
            0.0 => self.paced,
            // The next group starts a whole number of bursts later, where this group's transmission would have ended.
            _ => self.group + ((self.paced - self.group) / burst).floor() * burst,
        };
        Some(packet)
    }

    /// Feedback arrives.
    pub fn on_feedback(&mut self, now: f64, feedback: &Feedback) {
        let (before, mut rtt, mut advanced_ce) = (self.reported, None, 0);
        self.acked.clear();
        for (number, report) in (feedback.first..).zip(&feedback.packets) {
            let Some((arrived, ce)) = *report else { continue };
            let place = number.checked_sub(self.first).map(|place| place as usize);
            let Some(sent) = place.and_then(|place| self.sent.get_mut(place)) else { continue };
            match sent.state {
                State::Acked => continue,
                // screamv2-01, 4.2.1.1: the time from the first report without this packet to its own.
                State::Missing(since) | State::Lost(since) => self.reordering = self.reordering.max(now - since),
                State::InFlight => {}
            }
            sent.state = State::Acked;
            self.acked.push(Acked { size: sent.size, sent: sent.at, arrived, ce });
            if number >= self.behind {
                self.behind = number + 1;
                self.reported = self.reported.max(sent.end);
                advanced_ce += if ce { u64::from(sent.size) } else { 0 };
                // Without the time for which the report waited (RFC 8888, 3.1).
                rtt = Some(now - sent.at - (feedback.at - arrived));
            }
        }
        if let Some(rtt) = rtt {
            // RFC 6298, 2.
            self.srtt = if self.measured { self.srtt + (rtt - self.srtt) / 8.0 } else { rtt };
            self.measured = true;
        }
        let lost = self.find_losses(now);
        let (acked, advanced) = (std::mem::take(&mut self.acked), self.reported - before);
        let (in_flight, srtt) = (self.in_flight(), self.srtt);
        let news = News { now, acked: &acked, lost, advanced, advanced_ce, in_flight, srtt };
        if !acked.is_empty() || lost > 0 {
            self.control.on_feedback(&news);
        }
        self.acked = acked;
    }

    /// Packets before the highest number reported that have been missing for the reordering window (4.2.1.1); returns
    /// how many of them are now lost. Forgets old packets.
    fn find_losses(&mut self, now: f64) -> u32 {
        let mut lost = 0;
        for sent in self.sent.iter_mut().take((self.behind - self.first.min(self.behind)) as usize) {
            if sent.state == State::InFlight {
                sent.state = State::Missing(now);
            }
            if let State::Missing(since) = sent.state {
                if now - since >= self.reordering {
                    sent.state = State::Lost(since);
                    lost += 1;
                }
            }
        }
        while let Some(sent) = self.sent.front() {
            let done = match sent.state {
                State::Acked => true,
                State::Lost(since) => now - since > MEMORY,
                State::InFlight | State::Missing(_) => false,
            };
            if !done {
                break;
            }
            self.sent.pop_front();
            self.first += 1;
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::settings;
    use super::super::Algorithm;
    use super::*;

    fn sender(algorithm: Algorithm) -> (Sender, Generator) {
        (Sender::new(settings(algorithm)), Generator::custom(|| panic!("drawn")))
    }

    fn feedback(at: f64, first: u32, packets: &[Option<f64>]) -> Feedback {
        Feedback { at, first, packets: packets.iter().map(|arrived| arrived.map(|arrived| (arrived, false))).collect() }
    }

    #[test]
    fn a_frame_with_its_headers_has_the_target_rate() {
        let (mut sender, mut none) = sender(Algorithm::Scream);
        // 1 Mbit/s for 40 ms are 5000 B: four packets of 1200 B, and one of 200 B.
        assert_eq!(sender.capture(0.0, &mut none), (0, 5, 4800));
        let sizes: Vec<(u32, bool)> =
            sender.queue.iter().map(|queued| (queued.packet.size, queued.packet.last)).collect();
        assert_eq!(sizes, [(1200, false), (1200, false), (1200, false), (1200, false), (200, true)]);
    }

    #[test]
    fn scream_paces_packet_by_packet_and_gcc_in_groups_of_five_milliseconds() {
        let times = |algorithm| {
            let (mut sender, mut none) = sender(algorithm);
            sender.capture(0.0, &mut none);
            let mut times = Vec::new();
            while let Some(at) = sender.next_send() {
                sender.send(at);
                times.push(at);
            }
            times
        };
        // screamv2-01, 4.3.2: 1.5 times the target rate; the window of 9000 B does not limit this.
        let gap = 9600.0 / 1.5e6;
        assert!(times(Algorithm::Scream).iter().zip(0..).all(|(at, i)| (at - gap * f64::from(i)).abs() < 1e-12));
        // gcc-02, 4: a group takes 5 ms at the pacing rate of 2.5 Mbit/s, which is 1562 B.
        assert_eq!(times(Algorithm::Gcc), [0.0, 0.0, 0.005, 0.01, 0.015]);
    }

    #[test]
    fn packets_in_flight_are_those_behind_the_highest_number_reported() {
        // screamv2-01, 4.1.1 and 4.1.2.
        let (mut sender, mut none) = sender(Algorithm::Gcc);
        sender.capture(0.0, &mut none);
        while let Some(at) = sender.next_send() {
            sender.send(at);
        }
        assert_eq!(sender.in_flight(), 5000);
        sender.on_feedback(0.1, &feedback(0.09, 0, &[Some(0.04), None, Some(0.05)]));
        assert_eq!(sender.in_flight(), 1400);
        // The packet was sent at 0.005 s, arrived at 0.05 s, and was reported 40 ms later.
        assert!((sender.srtt().unwrap() - (0.1 - 0.005 - 0.04)).abs() < 1e-12);
        assert_eq!(sender.sent.front().map(|sent| sent.state), Some(State::Lost(0.1)));
        // The missing packet comes after all: from now on packets may be as late as this one.
        sender.on_feedback(0.13, &feedback(0.12, 1, &[Some(0.12), Some(0.05), Some(0.06), Some(0.06)]));
        assert!((sender.reordering - 0.03).abs() < 1e-12);
        assert_eq!((sender.in_flight(), sender.sent.len()), (0, 0));
    }

    #[test]
    fn a_missing_packet_is_lost_after_the_reordering_window() {
        let (mut sender, mut none) = sender(Algorithm::Gcc);
        sender.reordering = 0.02;
        sender.capture(0.0, &mut none);
        while let Some(at) = sender.next_send() {
            sender.send(at);
        }
        let lost = |sender: &Sender| matches!(sender.sent.front(), Some(Sent { state: State::Lost(_), .. }));
        sender.on_feedback(0.1, &feedback(0.1, 0, &[None, Some(0.1)]));
        sender.on_feedback(0.119, &feedback(0.119, 0, &[None, Some(0.1), Some(0.1)]));
        assert!(!lost(&sender));
        sender.on_feedback(0.1201, &feedback(0.12, 2, &[Some(0.1), Some(0.1)]));
        assert!(lost(&sender));
    }

    #[test]
    fn a_full_window_stops_the_sender_until_feedback_or_a_stall() {
        let (mut sender, mut none) = sender(Algorithm::Scream);
        let drain = |sender: &mut Sender, from: f64| {
            let mut at = from;
            while let Some(next) = sender.next_send() {
                at = next.max(at);
                sender.send(at);
            }
            at
        };
        for _ in 0..6 {
            sender.capture(0.0, &mut none);
        }
        let last = drain(&mut sender, 0.0);
        // Three times the window (4.3.1) that 1 Mbit/s needs over 50 ms: 7625 B.
        assert!((22_875 - 1200..=22_875).contains(&sender.in_flight()), "{}", sender.in_flight());
        sender.capture(last + STALL, &mut none);
        assert_eq!(sender.next_send(), None);
        sender.capture(last + STALL + 1e-3, &mut none);
        assert!(sender.next_send().is_some() && sender.in_flight() == 0);
    }
}
