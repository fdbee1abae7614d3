//! CAKE in the forwarder: it decides over packets' bytes as the simulator's port does over their record.

use super::*;
use crate::one_way::OneWaySpec;
use crate::run::RealTime;
use earlydrop_aqm::catalogue::{self, Built, Link};
use earlydrop_aqm::params::{Kind, Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_net::record::Arrivals;
use earlydrop_sim::engine::network::PortKind;
use etherparse::{PacketBuilder, TcpOptionElement};
use nix::sys::memfd::{memfd_create, MFdFlags};
use std::io::{Read, Seek};

const LINK: Link = Link { rate_bps: 1e9, delay_s: 0.0 };
const LIMIT: Limit = Limit::Packets(10_240);
const UNTIL: f64 = 3.0;

type Words<'a> = &'a [(&'static str, Value)];

/// CAKE at 4 Mbit/s with these settings.
fn cake(words: Words<'_>) -> Built {
    let spec = catalogue::find("cake").expect("a discipline");
    let mut values = Values::of(&[("bandwidth", Value::Real(4e6))]);
    for &(name, value) in words {
        values.set(name, value);
    }
    (spec.build)(&values, &LINK, LIMIT).expect("allowed values")
}

fn random() -> Generator {
    Generator::stream(1, "queue.bottleneck")
}

fn forwarder(words: Words<'_>) -> Forwarder {
    let from = std::fs::File::open("/dev/null").expect("a file").into();
    let queue = cake(words).queue(LIMIT, true, random());
    let spec = OneWaySpec { queue, rate_bps: LINK.rate_bps, delay_s: LINK.delay_s, medium: None };
    Forwarder::new(
        Direction { from, spec },
        &Settings { real_time: RealTime::Off, series: None, record: usize::MAX, keep_headers: false },
    )
}

/// A packet from host `from`, an IPv6 one for every third, to host `to`; `ports` tell flows apart.
struct Draft {
    from: u8,
    to: u8,
    ports: (u16, u16),
    class: u8,
}

impl Draft {
    fn finish(&self, payload: usize, ack: Option<(u32, &[TcpOptionElement])>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let payload = vec![0; payload];
        macro_rules! write {
            ($ip:expr) => {
                match ack {
                    None => $ip.udp(self.ports.0, self.ports.1).write(&mut bytes, &payload),
                    Some((number, options)) => {
                        let tcp = $ip.tcp(self.ports.0, self.ports.1, 1, 1000).ack(number);
                        tcp.options(options).expect("room for them").write(&mut bytes, &payload)
                    }
                }
            };
        }
        let six = |host: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
        if self.from % 3 == 2 {
            write!(PacketBuilder::ipv6(six(self.from), six(self.to), 64)).expect("a packet");
            (bytes[0], bytes[1]) = (0x60 | self.class >> 4, self.class << 4);
        } else {
            write!(PacketBuilder::ipv4([10, 0, 0, self.from], [10, 0, 1, self.to], 64)).expect("a packet");
            change(&mut bytes, self.class);
        }
        bytes
    }
}

/// Writes the traffic class of an IPv4 packet and its checksum.
fn change(bytes: &mut [u8], class: u8) {
    (bytes[1], bytes[10], bytes[11]) = (class, 0, 0);
    let checksum = !(sum(&bytes[..20]) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Ones' complement sum over a header; 0xffff where its checksum is right.
fn sum(header: &[u8]) -> u32 {
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    (sum & 0xffff) + (sum >> 16)
}

/// Two seconds at about three times the rate: host 0 sends five flows, hosts 1 and 2 one each, to two hosts, with eight
/// DSCPs, half of them ECN-capable; and host 3's ACKs come in threes, with time stamps, some with SACK blocks.
fn traffic() -> Vec<(Time, Vec<u8>)> {
    const DSCPS: [u8; 8] = [0, 8, 46, 34, 1, 26, 16, 48];
    let mut random = Generator::stream(7, "traffic");
    let mut number = 0_u32;
    let mut sent = Vec::new();
    for i in 0..2200_u32 {
        let at = f64::from(i) * 1e-3 * (0.9 + 0.2 * random.uniform());
        let draw = (random.uniform() * 7.0) as u16;
        let from = draw.saturating_sub(4) as u8;
        let ecn = u8::from(draw.is_multiple_of(2)) << 1;
        let draft = Draft {
            from,
            to: u8::from(i % 7 < 5),
            ports: (1000 + draw, 2000),
            class: DSCPS[(random.uniform() * 8.0) as usize] << 2 | ecn,
        };
        sent.push((at, draft.finish(1400, None)));
        if i % 4 == 0 {
            for _ in 0..3 {
                number += 1448;
                let stamps = TcpOptionElement::Timestamp(i, i / 2);
                let sack = TcpOptionElement::SelectiveAcknowledgement((number + 2896, number + 5792), [None; 3]);
                let options: &[_] = if i % 16 == 0 { &[stamps, sack] } else { &[stamps] };
                let draft = Draft { from: 3, to: 0, ports: (5201, 40_000 + (i % 8) as u16), class: 0 };
                sent.push((at, draft.finish(0, Some((number, options)))));
            }
        }
    }
    sent.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    sent.into_iter().map(|(at, bytes)| (Time::from_seconds(at), bytes)).collect()
}

/// What the link recorded, and its statistics by tin.
fn linked(words: Words<'_>) -> PathOutcome {
    let mut line = forwarder(words);
    for (at, bytes) in traffic() {
        line.arrive(&bytes, at);
    }
    line.finish(Time::from_seconds(UNTIL))
}

/// What the simulator decides over the same arrivals.
fn simulated(words: Words<'_>, arrivals: Arrivals) -> Vec<Fate> {
    let kind = PortKind::new(cake(words), LIMIT, true, random());
    earlydrop_sim::replay::replay(kind, &LINK, None, arrivals, Vec::new(), UNTIL).fates.expect("a replay")
}

/// The settings with each word and each switch of CAKE's parameters, one at a time.
fn modes() -> Vec<(&'static str, Value)> {
    let params = catalogue::find("cake").expect("a discipline").params;
    let mut modes = vec![("overhead", Value::Real(38.0)), ("mpu", Value::Real(84.0)), ("rtt", Value::Real(0.02))];
    for param in params.iter().copied().flatten() {
        match param.kind {
            Kind::Choice(_) => modes.extend(param.kind.listed().into_iter().map(|word| (param.name, word))),
            Kind::Flag { .. } => modes.push((param.name, Value::Flag(true))),
            _ => {}
        }
    }
    modes
}

/// Whether the simulator decides as the link did; and whether it does so without the recorded headers.
fn same(words: Words<'_>) -> (bool, bool) {
    let record = linked(words).record.expect("a record");
    let bare = Arrivals { headers: Vec::new(), ..record.arrivals.clone() };
    (simulated(words, record.arrivals) == record.fates, simulated(words, bare) == record.fates)
}

#[test]
fn every_mode_of_cake_decides_as_the_simulator_does() {
    let mut marks = 0;
    for mode in modes() {
        let outcome = linked(&[mode]);
        let record = outcome.record.expect("a record");
        assert_eq!(record.arrivals.headers.len(), record.fates.len());
        assert!(simulated(&[mode], record.arrivals) == record.fates, "{mode:?}: the simulator decides otherwise");
        assert!(outcome.counters.drops() > 100, "{mode:?}: {:?}", outcome.counters);
        marks += outcome.counters.marks;
    }
    assert!(marks > 1000, "{marks}");
}

/// Addresses, DSCPs and ACKs decide where they must, and only there.
#[test]
fn headers_decide_in_the_modes_that_read_them() {
    let (diffserv, mode) = (|word| ("diffserv", Value::Choice(word)), |word| ("flow_mode", Value::Choice(word)));
    for word in ["flowblind", "flows"] {
        assert_eq!(same(&[diffserv("besteffort"), mode(word)]), (true, true), "{word}");
    }
    for word in ["srchost", "dsthost", "hosts", "dual-srchost", "dual-dsthost", "triple-isolate"] {
        assert_eq!(same(&[diffserv("besteffort"), mode(word)]), (true, false), "{word}");
    }
    // The precedence is the class, which packets without headers have too.
    assert_eq!(same(&[diffserv("precedence"), mode("flows")]), (true, true));
    for word in ["diffserv3", "diffserv4", "diffserv8"] {
        assert_eq!(same(&[diffserv(word), mode("flows")]), (true, false), "{word}");
    }
    for word in ["on", "aggressive"] {
        let filter = ("ack_filter", Value::Choice(word));
        assert_eq!(same(&[diffserv("besteffort"), mode("flows"), filter]), (true, false), "{word}");
    }
}

/// Packets sent by each host among those that departed.
fn shares(flow_mode: &'static str) -> [usize; 3] {
    let words = [("diffserv", Value::Choice("besteffort")), ("flow_mode", Value::Choice(flow_mode))];
    let record = linked(&words).record.expect("a record");
    let mut shares = [0; 3];
    let mut hosts = Vec::new();
    for (header, fate) in record.arrivals.headers.iter().zip(&record.fates).filter(|(header, _)| header.tcp.is_none()) {
        let host = hosts.iter().position(|&host| host == header.source).unwrap_or_else(|| {
            hosts.push(header.source);
            hosts.len() - 1
        });
        shares[host] += usize::from(matches!(fate, Fate::Departed { .. }));
    }
    shares.sort_unstable();
    shares
}

/// Host 0 has five of the seven flows, hosts 1 and 2 one each.
#[test]
fn hosts_share_where_the_mode_says_so() {
    let ([_, by_flow, _], [_, by_host, most]) = (shares("flows"), shares("triple-isolate"));
    assert!(2 * by_host > 3 * by_flow && 2 * most < 5 * by_host, "{by_flow}; {by_host}, {most}");
}

/// The packets in `bytes`, one behind the other.
fn packets(mut bytes: &[u8]) -> Vec<(Header, &[u8])> {
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let length = if bytes[0] >> 4 == 4 { word(2) } else { 40 + word(4) };
        let (packet, rest) = bytes.split_at(length);
        packets.push((Header::read(packet).expect("sound"), packet));
        bytes = rest;
    }
    packets
}

/// Packets leave the link with DSCP 0 if `wash` is set, with the queue's ECN field, and with a right checksum.
#[test]
fn washed_and_marked_packets_are_written_so() {
    let start = std::time::Instant::now().checked_sub(std::time::Duration::from_secs(60)).expect("a minute ago");
    for wash in [false, true] {
        let mut line = forwarder(&[("wash", Value::Flag(wash))]);
        for (at, bytes) in traffic() {
            line.arrive(&bytes, at);
        }
        let to = memfd_create("written", MFdFlags::empty()).expect("a file");
        line.deliver(&to, Clock(start), &mut None);
        assert!(line.is_empty());
        let (mut file, mut written) = (std::fs::File::from(to), Vec::new());
        file.rewind().and_then(|()| file.read_to_end(&mut written)).expect("what was written");
        let packets = packets(&written);
        let right = packets.iter().all(|(_, bytes)| bytes[0] >> 4 == 6 || sum(&bytes[..20]) == 0xffff);
        assert!(right, "a wrong checksum");
        let marks = packets.iter().filter(|(header, _)| header.ecn == Ecn::Ce).count() as u64;
        assert_eq!((packets.len() as u64, marks), (line.delivered.0, line.ce_set));
        assert!(packets.len() > 1000 && marks > 30, "{} packets, {marks} marks", packets.len());
        assert_eq!(packets.iter().all(|(header, _)| header.dscp == 0), wash);
    }
}
