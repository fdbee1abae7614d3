//! Decision vectors: a discipline's decisions on a fixed script of arrivals, step by step, so that another
//! implementation can be tested against them without this code. `vectors/README.md` describes the format.

use std::sync::{Arc, Mutex};

use earlydrop_aqm::catalogue::{self, AqmSpec, Built, Link};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::header::TcpHeader;
use earlydrop_aqm::params::{Kind, Param, Value, Values};
use earlydrop_aqm::policy::{Limit, Reason};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Header, Packet, Time};
use serde_json::{json, Map, Value as Json};

/// Name and version of the format, in the first line of every case.
pub const FORMAT: &str = "earlydrop-vectors-1";
/// The link: 1000 B take 8 ms.
const LINK: Link = Link { rate_bps: 1e6, delay_s: 0.01 };
/// Thresholds of the RED family with which a few thousand packets cross the whole curve and early, forced and overflow
/// drops all occur; and 50 times the gains of PI and PID, whose defaults are for 15 Mbit/s.
const LIVELY: [(&str, f64); 6] =
    [("min_th", 10.0), ("max_th", 30.0), ("q_ref", 20.0), ("a", 9.11e-4), ("b", 9.08e-4), ("k_p", 9.08e-4)];
/// Arrivals of the first case, and of each other case.
const ARRIVALS: usize = 2500;
const FEWER_ARRIVALS: usize = 300;

/// One setting of a discipline.
struct Case {
    name: String,
    values: Values,
    limit: Limit,
    ecn: bool,
    arrivals: usize,
}

/// The vectors of the discipline called `aqm`: JSON lines, one per step. `None` if there is no such discipline.
pub fn vectors(aqm: &str) -> Option<String> {
    catalogue::find(aqm).map(vectors_of)
}

/// The vectors of any discipline, also of one that the catalogue does not have.
pub fn vectors_of(spec: &'static AqmSpec) -> String {
    let mut text = String::new();
    for case in cases(spec) {
        record(spec, &case, &mut |line| {
            text.push_str(&line.to_string());
            text.push('\n');
        });
    }
    text
}

/// The cases: the default; signals as drops; a limit in bytes; and every other choice and flag of the discipline's own
/// parameters. Parameters common to the RED family are varied for RED only.
fn cases(spec: &'static AqmSpec) -> Vec<Case> {
    let mut lively = Values::new();
    for (name, value) in LIVELY {
        if let Some(param) = spec.param(name) {
            lively.set(param.name, Value::Real(value));
        }
    }
    if (spec.check)(&lively, &LINK).is_err() {
        lively = Values::new();
    }
    let packets = Limit::Packets(120);
    let case = |name: &str, values: &Values, limit, ecn, arrivals| Case {
        name: name.to_string(),
        values: values.clone(),
        limit,
        ecn,
        arrivals,
    };
    let mut cases = vec![
        case("default", &lively, packets, true, ARRIVALS),
        case("without ecn", &lively, packets, false, FEWER_ARRIVALS),
        case("limit in bytes", &lively, Limit::Bytes(40_000), true, FEWER_ARRIVALS),
    ];
    // Common parameters are recognised by their doc sentence.
    let of_red = |param: &Param| catalogue::find("red").and_then(|red| red.param(param.name));
    let shared = |param: &Param| spec.name != "red" && of_red(param).is_some_and(|other| other.doc == param.doc);
    for param in spec.all_params().filter(|param| !shared(param)) {
        let others: Vec<Value> = match param.kind {
            Kind::Choice(words) => words.iter().map(|&word| Value::Choice(word)).collect(),
            Kind::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            _ => continue,
        };
        for value in others.into_iter().filter(|&value| value != param.default) {
            let mut values = lively.clone();
            values.set(param.name, value);
            if (spec.check)(&values, &LINK).is_ok() {
                cases.push(case(&format!("{} = {value}", param.name), &values, packets, true, FEWER_ARRIVALS));
            }
        }
    }
    for (name, given) in FURTHER.iter().filter(|(aqm, ..)| *aqm == spec.name).map(|&(_, name, given)| (name, given)) {
        let mut values = lively.clone();
        for &(param, value) in given {
            values.set(param, value);
        }
        cases.push(case(name, &values, packets, true, ARRIVALS / 2));
    }
    cases
}

/// A case of a discipline: its name, that of the case, and what it sets.
type Further = (&'static str, &'static str, &'static [(&'static str, Value)]);

/// Cases of several parameters together: what one alone would not show.
const FURTHER: &[Further] = &[
    ("cake", "shaped", &[("bandwidth", Value::Real(8e5)), ("diffserv", Value::Choice("diffserv4"))]),
    (
        "cake",
        "shaped with atm",
        &[("bandwidth", Value::Real(9e5)), ("overhead", Value::Real(-10.0)), ("framing", Value::Choice("atm"))],
    ),
    (
        "cake",
        "shaped with ptm and mpu",
        &[
            ("bandwidth", Value::Real(9e5)),
            ("overhead", Value::Real(30.0)),
            ("network_offset", Value::Real(14.0)),
            ("mpu", Value::Real(84.0)),
            ("framing", Value::Choice("ptm")),
        ],
    ),
    (
        "cake",
        "ingress",
        &[("bandwidth", Value::Real(8e5)), ("ingress", Value::Flag(true)), ("ack_filter", Value::Choice("on"))],
    ),
    ("cake", "autorate", &[("bandwidth", Value::Real(8e5)), ("autorate_ingress", Value::Flag(true))]),
    (
        "cake",
        "short rtt",
        &[("rtt", Value::Real(0.03)), ("target", Value::Real(0.01)), ("max_packet", Value::Real(600.0))],
    ),
    (
        "cake",
        "blue",
        &[
            ("memory", Value::Choice("wire")),
            ("max_packet", Value::Real(100.0)),
            ("diffserv", Value::Choice("besteffort")),
        ],
    ),
];

/// Arrivals, the same for every discipline, at whole microseconds, in a cycle: overload; a pause in which the queue
/// drains but an average stays high; light load; a burst larger than the buffer; then load close to the capacity.
struct Script {
    random: Generator,
    now_us: u64,
    burst: u32,
    /// Number of bursts so far.
    bursts: u64,
}

const CYCLE_US: u64 = 8_000_000;
const BURST_AT_US: u64 = 3_700_000;
/// At a load of 1: the mean packet has 904 B.
const MEAN_GAP_US: f64 = 7232.0;

impl Script {
    fn new() -> Self {
        Script { random: Generator::stream(1, "vectors.script"), now_us: 0, burst: 0, bursts: 0 }
    }

    /// Time in microseconds, and the packet.
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

/// The header of a packet of the script, for disciplines that read it: four sources, three destinations, a code point of
/// each tin; packets of 40 B are ACKs whose numbers rise.
fn header_of(packet: &Packet) -> Header {
    const POINTS: [u8; 8] = [0, 8, 46, 10, 34, 18, 48, 1];
    let tcp = (packet.size == 40).then(|| TcpHeader {
        plain_ack: true,
        acknowledges: true,
        ecn_flags: u8::from(packet.ecn == Ecn::Ce),
        ack: packet.tag / 3,
        ..TcpHeader::default()
    });
    let source = packet.flow % 4;
    Header { dscp: POINTS[usize::from(packet.class & 7)], source, destination: packet.flow % 3, tcp }
}

/// A discipline under the script, and the recorded steps.
struct Recorder<'a> {
    queue: Box<dyn Discipline>,
    draws: Arc<Mutex<Vec<f64>>>,
    write: &'a mut dyn FnMut(Json),
}

fn record(spec: &AqmSpec, case: &Case, write: &mut dyn FnMut(Json)) {
    let draws = Arc::new(Mutex::new(Vec::new()));
    let (into, mut source) = (Arc::clone(&draws), Generator::stream(1, "vectors.draws"));
    let random = Generator::custom(move || {
        // Six decimals and a half, so that the numbers are short and never 0 or 1.
        let u = ((source.uniform() * 1e6).floor() + 0.5) / 1e6;
        into.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(u);
        u
    });
    let queue: Box<dyn Discipline> = match (spec.build)(&case.values, &LINK, case.limit) {
        Ok(Built::Policy(policy)) => Box::new(Fifo::new(Gate::new(policy, case.limit, case.ecn, random))),
        Ok(Built::Discipline(finish)) => finish(case.ecn, random),
        // The discipline may not take this limit.
        Err(_) => return,
    };
    let mut gauges = Vec::new();
    queue.gauges(&mut |name, _| gauges.push(name));
    let (unit, limit) = match case.limit {
        Limit::Packets(n) => ("packets", n),
        Limit::Bytes(n) => ("bytes", n),
    };
    let parameters: Map<String, Json> =
        spec.all_params().map(|param| (param.name.to_string(), plain(case.values.get(param)))).collect();
    write(json!({
        "format": FORMAT, "aqm": spec.name, "case": case.name, "rate_bps": LINK.rate_bps, "delay_s": LINK.delay_s,
        "limit": limit, "limit_unit": unit, "ecn": case.ecn, "parameters": parameters, "gauges": gauges,
    }));
    Recorder { queue, draws, write }.run(case.arrivals);
}

/// A parameter's value as JSON.
fn plain(value: Value) -> Json {
    match value {
        Value::Real(x) if !x.is_finite() => Json::from(x.to_string()),
        Value::Real(x) => Json::from(x),
        Value::Whole(x) => Json::from(x),
        Value::Flag(x) => Json::from(x),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Auto => Json::from(value.to_string()),
    }
}

/// Ten significant digits.
fn rounded(x: f64) -> Json {
    let short: f64 = format!("{x:.9e}").parse().unwrap_or(x);
    Json::from(short)
}

impl Recorder<'_> {
    /// A link behind the queue: it dequeues at the end of a transmission, and after an arrival while it is idle.
    /// Simultaneous events have the order: end of transmission, timer, arrival.
    fn run(&mut self, arrivals: usize) {
        let mut script = Script::new();
        let mut busy_until: Option<u64> = None;
        for id in 0..arrivals {
            let (arrival_us, packet) = script.next(id as u32);
            loop {
                let timer = self.queue.next_timer().map(Time::seconds).filter(|&t| t <= seconds(arrival_us));
                match (busy_until.filter(|&end| end <= arrival_us), timer) {
                    (Some(end), timer) if timer.is_none_or(|t| seconds(end) <= t) => busy_until = self.dequeue(end),
                    (_, Some(timer)) => self.timer(timer),
                    _ => break,
                }
            }
            self.enqueue(arrival_us, packet);
            if busy_until.is_none() {
                busy_until = self.dequeue(arrival_us);
            }
        }
    }

    fn enqueue(&mut self, now_us: u64, packet: Packet) {
        let now = Time::from_seconds(seconds(now_us));
        let mut dropped = Vec::new();
        let header = self.queue.reads_headers().then(|| header_of(&packet));
        let on_drop = &mut |packet: &Packet, reason| dropped.push((packet.tag, reason));
        let admitted = match &header {
            Some(header) => self.queue.enqueue_with(packet, header, now, on_drop),
            None => self.queue.enqueue(packet, now, on_drop),
        };
        let verdict = match admitted {
            Some(marked) if marked.0 => "mark",
            Some(_) => "admit",
            None => "drop",
        };
        let mut step = json!({
            "op": "enqueue", "t": now.seconds(), "id": packet.tag, "size": packet.size, "flow": packet.flow,
            "ecn": packet.ecn as u8, "class": packet.class, "ttl": packet.ttl, "initial_ttl": packet.initial_ttl,
            "final_ttl": packet.final_ttl, "rtt_ms": packet.rtt_hint_ms, "verdict": verdict,
        });
        if let Some(header) = header {
            step["dscp"] = header.dscp.into();
            step["source"] = header.source.into();
            step["destination"] = header.destination.into();
            step["ack"] = header.tcp.map(|tcp| tcp.ack).into();
        }
        self.write(step, &dropped);
    }

    /// End of the transmission that starts now.
    fn dequeue(&mut self, now_us: u64) -> Option<u64> {
        let now = Time::from_seconds(seconds(now_us));
        let mut dropped = Vec::new();
        let packet = self.queue.dequeue(now, &mut |packet, reason| dropped.push((packet.tag, reason)));
        let step = json!({
            "op": "dequeue", "t": now.seconds(), "id": packet.map(|p| p.tag), "ecn": packet.map(|p| p.ecn as u8),
        });
        self.write(step, &dropped);
        // 8 us a byte; or when a shaper lets the next packet go, in the microsecond after.
        let held = self.queue.held_until().map(|until| (until.seconds() * 1e6).ceil() as u64);
        packet.map(|packet| now_us + 8 * u64::from(packet.size)).or(held.map(|until| until.max(now_us + 1)))
    }

    fn timer(&mut self, at: f64) {
        self.queue.on_timer(Time::from_seconds(at));
        self.write(json!({ "op": "timer", "t": at }), &[]);
    }

    fn write(&mut self, mut step: Json, dropped: &[(u32, Reason)]) {
        let draws = std::mem::take(&mut *self.draws.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        let mut gauges = Vec::new();
        self.queue.gauges(&mut |_, value| gauges.push(rounded(value)));
        let reason = |reason| match reason {
            Reason::Early => "early",
            Reason::Forced => "forced",
            Reason::Overflow => "overflow",
        };
        step["dropped"] = dropped.iter().map(|&(id, why)| json!([id, reason(why)])).collect();
        step["u"] = Json::from(draws);
        step["packets"] = Json::from(self.queue.packets());
        step["bytes"] = Json::from(self.queue.bytes());
        step["gauges"] = Json::from(gauges);
        (self.write)(step);
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The decisions of a discipline in its default case, without internal values.
    fn decisions(aqm: &str) -> Vec<Json> {
        let spec = catalogue::find(aqm).expect("a discipline");
        let mut steps = Vec::new();
        record(spec, &cases(spec)[0], &mut |step| {
            if step["op"] == "enqueue" || step["op"] == "dequeue" {
                steps.push(json!([step["op"], step["id"], step["verdict"], step["ecn"], step["dropped"]]));
            }
        });
        steps
    }

    #[test]
    fn no_two_disciplines_decide_alike() {
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for spec in catalogue::all() {
            let twin = known.insert(json!(decisions(spec.name)).to_string(), spec.name);
            assert_eq!(twin, None, "{} decides as {twin:?} does", spec.name);
        }
    }

    #[test]
    fn a_record_repeats_and_says_what_happened() {
        let text = vectors("red").expect("vectors");
        assert_eq!(Some(&text), vectors("red").as_ref());
        let steps: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let heads: Vec<&Json> = steps.iter().filter(|step| step["format"] == FORMAT).collect();
        assert!(heads.len() > 10 && heads[0]["case"] == "default" && heads[0]["parameters"]["max_th"] == 30.0);
        let count = |verdict: &str| steps.iter().filter(|step| step["verdict"] == verdict).count();
        assert!(count("admit") > 1000 && count("mark") > 20 && count("drop") > 200, "the script leaves nothing out");
        let reasons: std::collections::BTreeSet<&str> =
            steps.iter().filter_map(|step| step["dropped"][0][1].as_str()).collect();
        assert_eq!(reasons.into_iter().collect::<Vec<_>>(), ["early", "forced", "overflow"]);
    }

    #[test]
    fn an_unknown_discipline_has_no_vectors() {
        assert_eq!(vectors("blau"), None);
    }
}
