//! Records of arrivals and their fates: taken on a real link, replayed in virtual time.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Header, Packet, Time};
use earlydrop_net::port::Observer;
use earlydrop_net::record::{Arrivals, Fate};

use crate::header::without_payload;
use crate::one_way::{OneWay, OneWayObserver};

/// Arrivals in order, with their fates.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Whether the queue reads headers, so that the arrivals have them.
    pub reads_headers: bool,
    /// The arrivals.
    pub arrivals: Arrivals,
    /// The fate of each arrival.
    pub fates: Vec<Fate>,
    /// What was kept of each packet, if that was asked for.
    pub kept: Option<Kept>,
}

/// The first bytes of packets, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// How many are of each packet.
    pub lengths: Vec<u8>,
}

impl Kept {
    /// Keeps the headers of a packet, 255 bytes at most.
    pub fn add(&mut self, packet: &[u8]) {
        let headers = without_payload(packet);
        let length = headers.len().min(usize::from(u8::MAX));
        self.bytes.extend_from_slice(&headers[..length]);
        self.lengths.push(length as u8);
    }
}

impl Record {
    /// Adds an arrival, with its header if the queue reads headers; returns its number.
    pub fn arrived(&mut self, packet: Packet, header: Option<Header>, now: Time) -> usize {
        self.arrivals.packets.push((now, packet));
        self.arrivals.headers.extend(header);
        self.fates.push(Fate::Queued);
        self.fates.len() - 1
    }

    /// Sets the fate of an arrival.
    pub fn settle(&mut self, number: usize, fate: Fate) {
        self.fates[number] = fate;
    }

    /// Adds to the fate of an arrival that departs when it reaches the other end of the link, unless it is lost there.
    pub fn sent(&mut self, number: usize, arrival: Option<Time>) {
        self.fates[number].sent(arrival);
    }
}

/// The headers and fates of packets whose tag is their number.
struct ByTag<'a> {
    arrivals: &'a Arrivals,
    fates: Vec<Fate>,
}

impl Observer for ByTag<'_> {
    fn header(&self, packet: &Packet) -> Header {
        self.arrivals.header(packet.tag as usize)
    }

    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
        self.fates[packet.tag as usize] = Fate::Dropped { at: now, reason };
    }

    fn departed(&mut self, packet: &Packet, now: Time, _length: u64) {
        self.fates[packet.tag as usize] = Fate::Departed { at: now, ecn: packet.ecn, arrival: None };
    }
}

impl OneWayObserver for ByTag<'_> {
    fn sent(&mut self, packet: &Packet, arrival: Option<Time>) {
        self.fates[packet.tag as usize].sent(arrival);
    }
}

/// Replays `arrivals` through `way` until the time `until`; returns the fate of each.
pub fn replay(way: &mut OneWay, arrivals: &Arrivals, until: Time) -> Vec<Fate> {
    let mut observer = ByTag { arrivals, fates: vec![Fate::Queued; arrivals.packets.len()] };
    for (&(time, packet), tag) in arrivals.packets.iter().zip(0..) {
        way.arrive(Packet { tag, ..packet }, time, &mut observer);
        while way.deliver(time).is_some() {}
    }
    way.finish(until, &mut observer);
    observer.fates
}
