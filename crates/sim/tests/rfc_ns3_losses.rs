//! One sender of the `rfc` profile against ns-3's, on a path that loses given packets: order and departure time of every segment
//! (`validation/reference/rfc/ns3_losses.csv`).

use earlydrop_net::tcp::rfc::{block_bytes, Arrived, Connection, Feedback, Reply, Settings, SYN_OPTIONS};
use earlydrop_net::tcp::{Output, Sent};
use earlydrop_sim::scenario::{check, Doc, Load};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAYLOAD: u32 = 960;
/// Rate of all links, bit/s, and delays of the sender's link, the bottleneck and the receiver's link, s.
const RATE: f64 = 2e6;
const DELAYS: [f64; 3] = [0.02, 0.01, 0.02];
/// Bytes of a packet on ns-3's links: IP and TCP headers, and framing.
const HEADERS: u16 = 40;
const FRAMING: u16 = 2;
/// Transmission time of a segment, s, and the tolerance of times: that, and the rounding of ns-3's.
const SEGMENT_TIME: f64 = 8.0 * 1002.0 / RATE;
const APART: f64 = SEGMENT_TIME + 1e-4;

/// The settings of a sender of ns-3's, by the reference's name for it, with one rule more.
fn settings(name: &str, rule: &str) -> Settings {
    let (tcp, rules) = match name {
        "newreno" => ("newreno", "limited_transmit = false"),
        // With limited transmit.
        "newreno_lt" => ("newreno", ""),
        // With Linux's rate samples on both sides.
        "bbr_fresh" => ("bbr", "bbr_samples = 'fresh'"),
        other => (other, ""),
    };
    let rules: Vec<&str> = [rules, rule].into_iter().filter(|rule| !rule.is_empty()).collect();
    let text = format!(
        "name = 'ns3'\nduration = '8 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
         access = {{ rate = '2 Mbit/s', delay = '20 ms' }}\nbottleneck = {{ rate = '2 Mbit/s', delay = '10 ms' }}\n\
         [queue.bottleneck]\naqm = 'droptail'\nlimit = '100 packets'\n[[traffic]]\nkind = 'ftp'\n\
         stack = 'ns3-3.37'\ntcp = '{tcp}'\nsegment = {PAYLOAD}\ntimestamps = false\ndelayed_ack = false\n\
         min_rto = '0.2 s'\nwindow = 1000\ninitial_window = 10\nrules = {{ {} }}\n",
        rules.join(", ")
    );
    let scenario = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}"));
    let Load::Ftp(ftp) = &scenario.traffic[0].load else { panic!("an ftp") };
    **ftp.tcp.options.rfc.as_ref().expect("a stack of today")
}

/// Three links in a row, each of which sends one packet after the other.
#[derive(Default)]
struct Path3 {
    free: [f64; 3],
}

impl Path3 {
    /// Arrival time of a packet of `bytes` bytes that is sent now; `None` if it is `lost` behind the second link.
    fn pass(&mut self, now: f64, bytes: u16, delays: [f64; 3], lost: bool) -> Option<f64> {
        let mut at = now;
        for (link, delay) in delays.into_iter().enumerate() {
            if lost && link == 2 {
                return None;
            }
            self.free[link] = self.free[link].max(at) + 8.0 * f64::from(bytes) / RATE;
            at = self.free[link] + delay;
        }
        Some(at)
    }
}

/// Departure times, since the first, and numbers of the segments sent within so many seconds if these packets are lost: the
/// SYN is number 0, the end of the handshake 1. The first segment is sent at `first`, s, as ns-3's BBR at times takes the time
/// since the start of the run for an interval.
fn sent(settings: Settings, first: f64, lose: &BTreeSet<usize>, until: f64) -> Vec<(f64, u64)> {
    let (mut sender, mut receiver) = (Connection::new(settings, 0), settings.receiver(0));
    let (mut out, mut wake) = (Output::default(), f64::INFINITY);
    let (mut there, mut back) = (Path3::default(), Path3::default());
    // By time and number.
    let mut coming: BTreeMap<(u64, u64), Result<Feedback, (f64, Sent)>> = BTreeMap::new();
    let (mut number, mut packets, mut begin, mut found) = (0, 0, None, Vec::new());
    let syn = HEADERS + FRAMING + SYN_OPTIONS - 4;
    let mut now = first - 2.0 * (DELAYS.iter().sum::<f64>() + 3.0 * 8.0 * f64::from(syn) / RATE);
    sender.offer(now, None, false, &mut out);
    loop {
        wake = out.take_at().unwrap_or(wake);
        for packet in std::mem::take(&mut out.segments) {
            if packet.payload > 0 {
                let begin = *begin.get_or_insert(now);
                if now - begin > until {
                    return found;
                }
                found.push((now - begin, u64::from((packet.seq - 1) / PAYLOAD)));
            }
            // ns-3's SYN has four bytes fewer of options.
            let options = if packets == 0 { SYN_OPTIONS - 4 } else { 0 };
            let bytes = packet.payload + HEADERS + FRAMING + options;
            let lost = lose.contains(&packets);
            packets += 1;
            if let Some(at) = there.pass(now, bytes, DELAYS, lost) {
                number += 1;
                coming.insert((at.to_bits(), number), Err((now, packet)));
            }
        }
        let next = coming.keys().next().map_or(f64::INFINITY, |&(bits, _)| f64::from_bits(bits));
        now = next.min(wake);
        assert!(now < f64::INFINITY, "something is to come");
        if wake < next {
            sender.on_wake(now, &mut out);
            continue;
        }
        match coming.pop_first().expect("it is the next").1 {
            Ok(feedback) => sender.on_feedback(now, &feedback, &mut out),
            Err((stamp, Sent { seq, payload, bits })) => {
                let arrived = Arrived { seq, payload: u32::from(payload), bits, stamp, now, ack: 0 };
                let Reply::Now(feedback) = receiver.take(&arrived) else { continue };
                let options = if feedback.syn { SYN_OPTIONS - 4 } else { block_bytes(feedback.count) };
                let at = back.pass(now, HEADERS + FRAMING + options, DELAYS, false).expect("none is lost");
                number += 1;
                coming.insert((at.to_bits(), number), Ok(feedback));
            }
        }
    }
}

/// A case of the reference: a TCP, the lost packets, and the segments that ns-3 sends.
struct Case {
    tcp: String,
    /// Departure time of the first segment, s.
    first: f64,
    lost: BTreeSet<usize>,
    sent: Vec<(f64, u64)>,
}

fn cases() -> Vec<Case> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/rfc/ns3_losses.csv");
    let text = std::fs::read_to_string(file).expect("the reference");
    let numbers =
        |column: &str| -> Vec<u64> { column.split(' ').map(|word| word.parse().expect("a number")).collect() };
    let case = |row: &str| {
        let columns: Vec<&str> = row.split(',').collect();
        let times = numbers(columns[4]).into_iter().map(|time| time as f64 / 1e4);
        Case {
            tcp: columns[0].to_string(),
            first: columns[2].parse().expect("a time"),
            lost: numbers(columns[3]).into_iter().map(|number| number as usize).collect(),
            sent: times.zip(numbers(columns[5])).collect(),
        }
    };
    text.lines().skip(1).map(case).collect()
}

/// The first difference from ns-3's segments, with one rule more: another segment, or a time that differs by more than a transmission time.
fn difference(case: &Case, rule: &str) -> Option<String> {
    let theirs = &case.sent;
    let until = theirs.last().expect("a segment").0 + 2.0 * SEGMENT_TIME;
    let ours = sent(settings(&case.tcp, rule), case.first, &case.lost, until);
    let apart = theirs
        .iter()
        .enumerate()
        .position(|(i, a)| ours.get(i).is_none_or(|b| a.1 != b.1 || (a.0 - b.0).abs() > APART))?;
    let show =
        |of: &[(f64, u64)]| format!("{:.4?}", &of[apart.saturating_sub(4).min(of.len())..(apart + 6).min(of.len())]);
    let (tcp, lost) = (&case.tcp, &case.lost);
    Some(format!("{tcp}, {lost:?} lost: segment {apart}\n  ns-3 {}\n  ours {}", show(theirs), show(&ours)))
}

#[test]
fn every_segment_departs_when_ns3_sends_it() {
    let cases = cases();
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(case, "")).collect();
    assert!(cases.len() == 26 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn with_another_rule_it_does_not() {
    let cases = cases();
    let mut idle = Vec::new();
    for (tcp, other) in [
        ("reno", "prr_part = 'segments'"),
        ("cubic", "prr_part = 'segments'"),
        ("bbr_fresh", "reported_repair = 'arrived'"),
        ("bbr_fresh", "bbr_first_rate = 'measured'"),
        ("bbr_fresh", "bbr_startup_exit = 'before'"),
        ("bbr_fresh", "bbr_timeout_window = 'conserves'"),
        ("bbr_fresh", "bbr_conservation = 'round'"),
        ("bbr_fresh", "frto = 'on'"),
        ("bbr", "bbr_samples = 'fresh'"),
        ("bbr", "bbr_round_start = 'ack'"),
        ("bbr", "rtt_sample = 'last'"),
        ("bbr", "idle_timer = 'stops'"),
    ] {
        if cases.iter().filter(|case| case.tcp == tcp).all(|case| difference(case, other).is_none()) {
            idle.push(format!("{tcp}: {other}"));
        }
    }
    assert!(idle.is_empty(), "no trace departs: {}", idle.join("; "));
}
