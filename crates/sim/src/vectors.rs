//! Decision vectors: a discipline's decisions on a fixed script of arrivals, step by step, so that another
//! implementation can be tested against them without this code. `vectors/README.md` describes the format.

use std::sync::{Arc, Mutex};

mod cases;
#[cfg(test)]
mod mutations;
mod script;
mod subject;

use cases::cases;
use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::header::TcpHeader;
use earlydrop_aqm::params::Value;
use earlydrop_aqm::policy::{Limit, Reason};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Header, Packet, Time};
use script::Script;
use serde_json::{json, Map, Value as Json};
use subject::{Case, Subject, LINK};

/// Name and version of the format, in the first line of every case.
pub const FORMAT: &str = "earlydrop-vectors-1";

/// What has vectors: every discipline, parent and marker.
pub fn names() -> Vec<&'static str> {
    Subject::all().iter().map(Subject::name).collect()
}

/// The vectors of the discipline, parent or marker called `name`: JSON lines, one per step. `None` if there is none.
pub fn vectors(name: &str) -> Option<String> {
    Subject::all().into_iter().find(|subject| subject.name() == name).map(recorded)
}

/// The vectors of any discipline, even one that the catalogue does not have.
pub fn vectors_of(spec: &'static AqmSpec) -> String {
    recorded(Subject::Aqm(spec))
}

fn recorded(subject: Subject) -> String {
    let mut text = String::new();
    for case in cases(subject) {
        record(subject, &case, &mut |line| {
            text.push_str(&line.to_string());
            text.push('\n');
            true
        });
    }
    text
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
    Header { dscp: POINTS[usize::from(packet.class & 7)], offset: 0, source, destination: packet.flow % 3, tcp }
}

/// A discipline under the script, and the recorded steps.
struct Recorder<'a> {
    queue: Box<dyn Discipline>,
    draws: Arc<Mutex<Vec<f64>>>,
    /// Takes a line; returns whether it wants more.
    write: &'a mut dyn FnMut(Json) -> bool,
    /// Whether a shaper holds back what waits.
    held: bool,
    /// Whether no more lines are wanted.
    ended: bool,
    /// Whether steps list the class of a packet that leaves.
    shows_class: bool,
}

fn record(subject: Subject, case: &Case, write: &mut dyn FnMut(Json) -> bool) {
    let draws = Arc::new(Mutex::new(Vec::new()));
    let (into, mut source) = (Arc::clone(&draws), Generator::stream(1, "vectors.draws"));
    let random = Generator::custom(move || {
        // Six decimals and a half, so that the numbers are short and never 0 or 1.
        let u = ((source.uniform() * 1e6).floor() + 0.5) / 1e6;
        into.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(u);
        u
    });
    // The discipline may not take this limit.
    let Some(queue) = subject.build(case, random) else { return };
    let mut gauges = Vec::new();
    queue.gauges(&mut |name, _| gauges.push(name));
    let (unit, limit) = match case.limit {
        Limit::Packets(n) => ("packets", n),
        Limit::Bytes(n) => ("bytes", n),
    };
    let parameters: Map<String, Json> =
        subject.params().map(|param| (param.name.to_string(), plain(case.values.get(param)))).collect();
    let mut head = json!({ "format": FORMAT });
    for (key, name) in subject.head() {
        head[key] = name.into();
    }
    head["case"] = case.name.as_str().into();
    head["rate_bps"] = LINK.rate_bps.into();
    head["delay_s"] = LINK.delay_s.into();
    head["limit"] = limit.into();
    head["limit_unit"] = unit.into();
    head["ecn"] = case.ecn.into();
    head["parameters"] = parameters.into();
    head["gauges"] = gauges.into();
    write(head);
    let shows_class = queue.reads_headers() || matches!(subject, Subject::Marker(_));
    Recorder { queue, draws, write, held: false, ended: false, shows_class }.run(case.script, case.arrivals);
}

/// A parameter's value as JSON.
fn plain(value: Value) -> Json {
    match value {
        Value::Real(x) if !x.is_finite() => Json::from(x.to_string()),
        Value::Real(x) => Json::from(x),
        Value::Whole(x) => Json::from(x),
        Value::Flag(x) => Json::from(x),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Text(_) | Value::Auto => Json::from(value.to_string()),
    }
}

/// `x` with ten significant digits.
fn rounded(x: f64) -> Json {
    let short: f64 = format!("{x:.9e}").parse().unwrap_or(x);
    Json::from(short)
}

impl Recorder<'_> {
    /// A link behind the queue: it dequeues at the end of a transmission, and after an arrival while it is idle. The
    /// order of simultaneous events is end of transmission, timer, arrival.
    fn run(&mut self, kind: script::Kind, arrivals: usize) {
        let mut script = Script::new(kind);
        let mut busy_until: Option<u64> = None;
        for id in 0..arrivals {
            if self.ended {
                return;
            }
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
            if busy_until.is_none() || self.held && self.queue.held_until().is_none() {
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

    /// Dequeues a packet; the end of the transmission that starts now.
    fn dequeue(&mut self, now_us: u64) -> Option<u64> {
        let now = Time::from_seconds(seconds(now_us));
        let mut dropped = Vec::new();
        let packet = self.queue.dequeue(now, &mut |packet, reason| dropped.push((packet.tag, reason)));
        let mut step = json!({
            "op": "dequeue", "t": now.seconds(), "id": packet.map(|p| p.tag), "ecn": packet.map(|p| p.ecn as u8),
        });
        if self.shows_class {
            step["class"] = packet.map(|p| p.class).into();
        }
        self.write(step, &dropped);
        // 8 us a byte; or, if a shaper holds the next packet, the first microsecond at which it may leave.
        let held = self.queue.held_until().map(|until| (until.seconds() * 1e6).ceil() as u64);
        self.held = packet.is_none() && held.is_some();
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
        self.ended |= !(self.write)(step);
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use earlydrop_aqm::catalogue;
    use std::collections::BTreeMap;

    /// The decisions of a discipline in its default case, without internal values.
    fn decisions(aqm: &str) -> Vec<Json> {
        let subject = Subject::Aqm(catalogue::find(aqm).expect("a discipline"));
        let mut steps = Vec::new();
        record(subject, &cases(subject)[0], &mut |step| {
            if step["op"] == "enqueue" || step["op"] == "dequeue" {
                steps.push(json!([step["op"], step["id"], step["verdict"], step["ecn"], step["dropped"]]));
            }
            true
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
    fn names_are_of_one_subject_each() {
        let mut all = names();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), names().len());
    }

    #[test]
    fn an_unknown_discipline_has_no_vectors() {
        assert_eq!(vectors("blau"), None);
    }
}
