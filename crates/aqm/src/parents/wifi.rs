//! ## Wi-Fi
//!
//! An access point's service: packets leave in aggregates of one station, each at the station's own rate, after a time
//! without transmission for access to the medium. A packet's station is its class. The link behind the parent carries
//! packets on, and must be at least as fast as any station.
//!
//! With `fair = "airtime"` stations share the time on air, as in Linux; with `"turns"` each sends an aggregate in turn,
//! so that a slow station takes most of the time (the performance anomaly). With `queues = "shared"` all stations wait
//! in one child, and only neighbours of one station share an aggregate, as before Linux 4.10. mac80211 has `fq_codel`
//! as the child of each station.
//!
//! | event | rule (`net/mac80211/tx.c`, and ath9k's `xmit.c`) |
//! |---|---|
//! | arrival | goes to its station's child; a station without waiting packets is next (`__ieee80211_schedule_txq`) |
//! | the medium is free | the first station whose deficit is not below 0 sends; those before it earn a quantum and go to the end (`ieee80211_next_txq`) |
//! | aggregate | the station's packets, while there are any, up to `packets`, `bytes` and `time` (`ath_tx_form_aggr`) |
//! | transmission | `access`, then the packets one after the other; each leaves for the link when it has been sent |
//! | the transmission's time | is taken from the station's deficit (`ieee80211_register_airtime`); the station stays first until the deficit is below 0 |
//!
//! ### Source
//! Linux 6.1, `net/mac80211`; T. Hoeiland-Joergensen, M. Kazior, D. Taht, P. Hurtig, A. Brunstrom, "Ending the Anomaly:
//! Achieving Low Latency and Airtime Fairness in WiFi", USENIX ATC, 2017.
//!
//! ### Differences
//! 1. What stations send, collisions, retries and rate control are not here; `access` is the same for each aggregate.
//! 2. Time is charged when an aggregate starts; Linux charges it after sending, and bounds what is under way (AQL).
//! 3. mac80211 has one limit of packets for all stations, and drops from the longest flow. Here each child has its own.
//! 4. A new station is first, and a deficit is kept while a station is silent, as in Linux 6.1; weights are equal.
//! 5. With `queues = "shared"` a child that clears the class (CAKE's `wash`) leaves all packets to station 0.

#[cfg(test)]
mod tests;

use super::spec::{beyond, counted, ParentSpec, CHILD};
use crate::discipline::{Admitted, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::params::{words, Kind, Link, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::class_weights::CLASSES;
use crate::{Packet, Time};
use std::collections::VecDeque;

words! {
    /// In what stations are treated alike.
    enum Fair {
        Airtime = "airtime",
        Turns = "turns",
    }
}

words! {
    /// Where packets wait.
    enum Queues {
        /// In a child for each station.
        Station = "station",
        /// In one child.
        Shared = "shared",
    }
}

const fn rate(name: &'static str, doc: &'static str) -> Param {
    Param::new(name, Unit::Rate, Kind::real(64.0, 1e12).or_auto(), Value::Auto).says("ours", doc)
}

const fn time(
    name: &'static str,
    (low, high): (f64, f64),
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::Seconds, Kind::real(low, high), default).says(source, doc)
}

const PARAMS: &[Param] = &[
    Param::whole("stations", Unit::None, (1, CLASSES as i64), 8)
        .says("ours: as many as classes", "Number of stations."),
    rate("rate_0", "Rate of station 0 on air; auto is the link's."),
    rate("rate_1", "Rate of station 1."),
    rate("rate_2", "Rate of station 2."),
    rate("rate_3", "Rate of station 3."),
    rate("rate_4", "Rate of station 4."),
    rate("rate_5", "Rate of station 5."),
    rate("rate_6", "Rate of station 6."),
    rate("rate_7", "Rate of station 7."),
    time(
        "access",
        (0.0, 1.0),
        200e-6,
        "ours: about DIFS, half of 16 slots, preamble, SIFS and a block ACK of 802.11n",
        "Time without data before each aggregate.",
    ),
    Param::whole("packets", Unit::None, (1, 256), 64)
        .says("802.11n: window of a block ACK", "Most packets of an aggregate."),
    Param::whole("bytes", Unit::Bytes, (1, 8_000_000), 65_535)
        .says("802.11n: an A-MPDU", "Most bytes of an aggregate."),
    time(
        "time",
        (1e-6, 1.0),
        0.004,
        "ath9k: 4 ms",
        "Time of an aggregate's packets at most; one packet may take longer.",
    ),
    time("quantum", (1e-6, 1.0), 256e-6, "Linux: a weight of 256 us", "Time on air that a station earns in a round."),
    Param::word("fair", Fair::WORDS, "airtime").says("Linux", "Whether stations share the time on air, or take turns."),
    Param::word("queues", Queues::WORDS, "station")
        .says("Linux", "Whether each station has a child, or all share one."),
];

const RATES: [[&str; 1]; CLASSES] =
    [["rate_0"], ["rate_1"], ["rate_2"], ["rate_3"], ["rate_4"], ["rate_5"], ["rate_6"], ["rate_7"]];

/// The declaration.
pub(super) const SPEC: ParentSpec = ParentSpec {
    name: "wifi",
    title: "Wi-Fi",
    year: 2017,
    summary: "Aggregates of stations with rates of their own, which share the time on air",
    source:
        "Hoeiland-Joergensen, Kazior, Taht, Hurtig, Brunstrom: Ending the Anomaly, USENIX ATC, 2017; Linux mac80211",
    params: PARAMS,
    linux: false,
    check,
    rate: |values, link| (0..stations(values)).map(|station| rate_of(values, link, station)).fold(64.0, f64::max),
    largest: |_| u32::MAX,
    children: |values| if shares(values) { 1 } else { stations(values) },
    build: |values, link, children| Box::new(Wifi::new(values, link, children)),
};

fn stations(values: &Values) -> usize {
    values.whole(PARAMS, "stations") as usize
}

fn shares(values: &Values) -> bool {
    values.choice::<Queues>(PARAMS, "queues") == Queues::Shared
}

fn rate_of(values: &Values, link: &Link, station: usize) -> f64 {
    values.number(PARAMS, RATES[station][0]).unwrap_or(link.rate_bps)
}

fn check(values: &Values, link: &Link) -> Result<(), ParamError> {
    beyond(values, &RATES, stations(values), "stations")?;
    for (station, &[name]) in RATES.iter().enumerate().take(stations(values)) {
        let rate = rate_of(values, link, station);
        if rate > link.rate_bps {
            return Err(ParamError::new(name, rate, format!("up to the link's, {} bit/s", link.rate_bps)));
        }
    }
    Ok(())
}

/// A station.
#[derive(Clone, Copy, Debug)]
struct Station {
    rate_bps: f64,
    /// Time on air that the station may still take, s.
    deficit: f64,
    /// Whether the station is among those that wait.
    waits: bool,
    sent: u64,
    sent_bytes: u64,
    aggregates: u64,
    airtime: f64,
}

/// Limits of an aggregate.
#[derive(Clone, Copy, Debug)]
struct Limits {
    access: f64,
    packets: usize,
    bytes: u64,
    time: f64,
}

/// An access point and its children.
struct Wifi {
    children: Vec<Box<dyn Discipline>>,
    /// By child, a packet that did not fit into its last aggregate and begins the next.
    spilt: Vec<Option<Packet>>,
    stations: Vec<Station>,
    /// Children with packets, in the order of service.
    order: VecDeque<usize>,
    fair: Fair,
    shared: bool,
    quantum: f64,
    limits: Limits,
    /// The packets of the aggregate on air, each with the time when it has been sent, s.
    aggregate: VecDeque<(Packet, f64)>,
    /// The station whose aggregate is on air.
    on_air: usize,
    held: Option<Time>,
    counters: Counters,
}

impl Wifi {
    fn new(values: &Values, link: &Link, children: Vec<Box<dyn Discipline>>) -> Self {
        let real = |name| values.real(PARAMS, name);
        let quantum = real("quantum");
        let station = |number| Station {
            rate_bps: rate_of(values, link, number),
            deficit: quantum,
            waits: false,
            sent: 0,
            sent_bytes: 0,
            aggregates: 0,
            airtime: 0.0,
        };
        let whole = |name| values.whole(PARAMS, name) as u64;
        Wifi {
            spilt: vec![None; children.len()],
            children,
            stations: (0..stations(values)).map(station).collect(),
            order: VecDeque::new(),
            fair: values.choice(PARAMS, "fair"),
            shared: shares(values),
            quantum,
            limits: Limits {
                access: real("access"),
                packets: whole("packets") as usize,
                bytes: whole("bytes"),
                time: real("time"),
            },
            aggregate: VecDeque::new(),
            on_air: 0,
            held: None,
            counters: Counters::default(),
        }
    }

    fn station_of(&self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.stations.len() - 1)
    }

    fn has_packets(&self, child: usize) -> bool {
        self.spilt[child].is_some() || self.children[child].packets() > 0
    }

    /// A child's next packet.
    fn take(&mut self, child: usize, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        if let Some(packet) = self.spilt[child].take() {
            return Some(packet);
        }
        counted(&mut self.counters, &mut *self.children[child], on_drop, |child, on_drop| child.dequeue(now, on_drop))
    }

    /// Fills an aggregate with packets of a child, all of one station; the station and the time on air.
    fn fill(&mut self, child: usize, now: Time, on_drop: &mut OnDrop<'_>) -> Option<(usize, f64)> {
        let first = self.take(child, now, on_drop)?;
        // Not the class where each station has a child: the child may have changed it (CAKE's `wash`).
        let station_of = |wifi: &Self, packet: &Packet| if wifi.shared { wifi.station_of(packet) } else { child };
        let station = station_of(self, &first);
        let Limits { access, packets, bytes, time } = self.limits;
        let per_byte = 8.0 / self.stations[station].rate_bps;
        let (begin, mut total) = (now.seconds() + access, u64::from(first.size));
        self.aggregate.push_back((first, begin + per_byte * f64::from(first.size)));
        while self.aggregate.len() < packets {
            let Some(packet) = self.take(child, now, on_drop) else { break };
            total += u64::from(packet.size);
            let end = begin + per_byte * total as f64;
            if station_of(self, &packet) != station || total > bytes || end - begin > time {
                self.spilt[child] = Some(packet);
                break;
            }
            self.aggregate.push_back((packet, end));
        }
        let end = self.aggregate.back().map_or(begin, |&(_, end)| end);
        Some((station, end - now.seconds()))
    }

    /// Starts the next aggregate on the free medium (`ieee80211_next_txq`).
    fn begin(&mut self, now: Time, on_drop: &mut OnDrop<'_>) {
        let mut in_vain = 0;
        while let Some(&child) = self.order.front() {
            if !self.has_packets(child) {
                // The child learns that it is idle.
                self.take(child, now, on_drop);
                self.order.pop_front();
                self.stations[child].waits = false;
                continue;
            }
            let by_airtime = self.fair == Fair::Airtime && !self.shared;
            if by_airtime && self.stations[child].deficit < 0.0 {
                self.stations[child].deficit += self.quantum;
                self.order.rotate_left(1);
                continue;
            }
            let Some((station, airtime)) = self.fill(child, now, on_drop) else {
                // The child holds its packets: the next one is asked.
                self.order.rotate_left(1);
                in_vain += 1;
                if in_vain > self.order.len() {
                    return;
                }
                continue;
            };
            self.on_air = station;
            let sender = &mut self.stations[station];
            sender.aggregates += 1;
            sender.airtime += airtime;
            sender.deficit -= airtime;
            if !by_airtime {
                self.order.rotate_left(1);
            }
            return;
        }
    }

    /// An arrival; `enter` offers it to its child.
    fn arrive(
        &mut self,
        packet: Packet,
        on_drop: &mut OnDrop<'_>,
        enter: impl FnOnce(&mut dyn Discipline, Packet, &mut OnDrop<'_>) -> Option<Admitted>,
    ) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let child = if self.shared { 0 } else { self.station_of(&packet) };
        let queue = &mut *self.children[child];
        let admitted = counted(&mut self.counters, queue, on_drop, |child, on_drop| enter(child, packet, on_drop));
        if admitted.is_some() && !std::mem::replace(&mut self.stations[child].waits, true) {
            match self.fair {
                Fair::Airtime => self.order.push_front(child),
                Fair::Turns => self.order.push_back(child),
            }
        }
        if self.aggregate.is_empty() {
            self.held = None;
        }
        admitted
    }
}

impl Discipline for Wifi {
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue(packet, now, on_drop))
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue_with(packet, header, now, on_drop))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        if self.aggregate.is_empty() {
            self.begin(now, on_drop);
        }
        self.held = None;
        let Some(&(packet, sent)) = self.aggregate.front() else {
            let held = self.children.iter().filter_map(|child| child.held_until());
            self.held = held.filter(|&until| until > now).reduce(Time::min);
            return None;
        };
        if Time::from_seconds(sent) > now {
            self.held = Some(Time::from_seconds(sent));
            return None;
        }
        self.aggregate.pop_front();
        let station = &mut self.stations[self.on_air];
        station.sent += 1;
        station.sent_bytes += u64::from(packet.size);
        if self.aggregate.is_empty() {
            self.begin(now, on_drop);
        }
        self.counters.depart(&packet);
        Some(packet)
    }

    fn held_until(&self) -> Option<Time> {
        self.held
    }

    fn reads_headers(&self) -> bool {
        self.children.iter().any(|child| child.reads_headers())
    }

    fn washes(&self, class: u8) -> bool {
        self.children[usize::from(class).min(self.children.len() - 1)].washes(class)
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.aggregate.iter().for_each(|(packet, _)| out(self.children.len() << CHILD, packet));
        for (number, (child, spilt)) in self.children.iter().zip(&self.spilt).enumerate() {
            spilt.iter().for_each(|packet| out((self.children.len() + 1 + number) << CHILD, packet));
            child.waiting(&mut |queue, packet| out(number << CHILD | queue, packet));
        }
    }

    fn packets(&self) -> u64 {
        let spilt = self.spilt.iter().flatten().count();
        self.children.iter().map(|child| child.packets()).sum::<u64>() + (self.aggregate.len() + spilt) as u64
    }

    fn bytes(&self) -> u64 {
        let own = self.spilt.iter().flatten().chain(self.aggregate.iter().map(|(packet, _)| packet));
        let own: u64 = own.map(|packet| u64::from(packet.size)).sum();
        self.children.iter().map(|child| child.bytes()).sum::<u64>() + own
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.children.iter_mut().for_each(|child| child.reset_counters());
        for station in &mut self.stations {
            (station.sent, station.sent_bytes, station.aggregates, station.airtime) = (0, 0, 0, 0.0);
        }
        self.counters = Counters::default();
    }

    fn watches_departures(&self) -> bool {
        self.children.iter().any(|child| child.watches_departures())
    }

    fn next_timer(&self) -> Option<Time> {
        self.children.iter().filter_map(|child| child.next_timer()).reduce(Time::min)
    }

    fn on_timer(&mut self, now: Time) {
        for child in &mut self.children {
            if child.next_timer().is_some_and(|due| due <= now) {
                child.on_timer(now);
            }
        }
    }

    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        out(None, "sent_packets", self.counters.departures as f64);
        out(None, "sent_bytes", self.counters.departed_bytes as f64);
        for (number, station) in self.stations.iter().enumerate() {
            out(Some(number), "sent_packets", station.sent as f64);
            out(Some(number), "sent_bytes", station.sent_bytes as f64);
            out(Some(number), "aggregates", station.aggregates as f64);
            out(Some(number), "airtime_ms", station.airtime * 1e3);
            if let Some(child) = self.children.get(number).filter(|_| !self.shared) {
                out(Some(number), "drops", child.counters().drops() as f64);
                out(Some(number), "marks", child.counters().marks as f64);
            }
        }
    }
}
