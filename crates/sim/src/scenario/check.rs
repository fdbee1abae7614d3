//! From a document to a checked scenario; the first fault ends it.

use earlydrop_aqm::policy::Limit;

use super::bounds::{self, TIMES};
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{whole_form, Checked, Field, Fields, Interval, Measure};
use super::model::{Access, Delays, Dumbbell, LinkSpec, Record, Scenario};
use super::traffic::Direction;
use super::{queue, traffic, units};
use crate::engine::ACK_BYTES;

/// Keys of the document itself.
pub(super) const SCENARIO: &[&str] = &["name", "duration", "warmup", "seed", "topology", "queue", "traffic", "record"];
/// Keys of a dumbbell.
pub(super) const DUMBBELL: &[&str] = &["kind", "pairs", "access", "senders", "receivers", "bottleneck", "reverse"];
/// Keys of a link.
pub(super) const LINK: &[&str] = &["rate", "delay"];
/// The queues that a dumbbell lets one choose.
pub(super) const QUEUES: &[&str] = &["bottleneck", "reverse"];
/// Keys of `[record]`.
pub(super) const RECORD: &[&str] = &["series", "cwnd_flows", "trace", "trace_flow", "transfers"];

const DELAYS_FORM: &str = "a time such as \"20 ms\", a list of times, or { uniform = [\"1 ms\", \"10 ms\"] }";

/// Checks a document; `file` is named in errors.
///
/// # Errors
/// The first fault found, with the path of its field, what was given and what is allowed.
pub fn check(doc: &Doc, file: Option<&str>) -> Result<Scenario, ScenarioError> {
    scenario(doc).map_err(|error| error.in_file(file))
}

fn scenario(doc: &Doc) -> Checked<Scenario> {
    let fields = Field::root(doc).table(SCENARIO)?;
    let name = name(&fields.required("name", "a text")?)?;
    let duration = fields.required("duration", units::TIME_FORM)?.measure(&TIMES, bounds::DURATION)?;
    let warmup = warmup(&fields, duration)?;
    let seed = fields.optional("seed").map_or(Ok(1), |field| field.whole(0, bounds::SEED))?;
    let topology = dumbbell(&fields.required("topology", "a table [topology]")?)?;
    let queues = fields.required("queue", "a table [queue.bottleneck]")?.table(QUEUES)?;
    let bottleneck_queue =
        queue::read(&queues.required("bottleneck", "a table [queue.bottleneck]")?, &topology.bottleneck)?;
    let reverse_queue = queues.optional("reverse").map(|field| queue::read(&field, &topology.reverse)).transpose()?;
    let place = traffic::Place { pairs: topology.pairs, nodes: None };
    let traffic = traffic::read(&fields.required("traffic", "one or more tables [[traffic]]")?, &place)?;
    let mut scenario = Scenario {
        name,
        duration,
        warmup,
        seed,
        topology,
        bottleneck_queue,
        reverse_queue,
        traffic,
        record: Record::default(),
    };
    room_for_a_packet(&scenario)?;
    if let Some(field) = fields.optional("record") {
        scenario.record = record(&field, &scenario)?;
    }
    Ok(scenario)
}

/// A name that can be printed on one line.
pub(super) fn name(field: &Field<'_>) -> Checked<String> {
    let wanted = format!("a text of 1..{} characters", bounds::NAME);
    let text = field.text(&wanted)?;
    if text.is_empty() || text.chars().count() > bounds::NAME {
        return Err(field.error("has the wrong length").allowed(wanted));
    }
    if text.chars().any(char::is_control) {
        return Err(field.error("has control characters").allowed(wanted));
    }
    Ok(text.to_string())
}

fn warmup(fields: &Fields<'_>, duration: f64) -> Checked<f64> {
    let Some(field) = fields.optional("warmup") else { return Ok(0.0) };
    let warmup = field.measure(&TIMES, bounds::START)?;
    if warmup < duration {
        Ok(warmup)
    } else {
        Err(field.error("leaves nothing to measure").allowed(format!("below the duration, {duration} s")))
    }
}

fn dumbbell(field: &Field<'_>) -> Checked<Dumbbell> {
    let fields = field.table(DUMBBELL)?;
    fields.required("kind", "\"dumbbell\"")?.word(["dumbbell"].into_iter())?;
    let pairs = fields.required("pairs", whole_form(1, bounds::PAIRS))?.whole(1, bounds::PAIRS)?;
    let (senders, receivers) = both_sides(&fields)?;
    let bottleneck = link(&fields.required("bottleneck", "{ rate = ..., delay = ... }")?)?;
    let reverse = fields.optional("reverse").map_or(Ok(bottleneck), |field| link(&field))?;
    Ok(Dumbbell { pairs: pairs as u32, senders, receivers, bottleneck, reverse })
}

/// `access` for both sides, or `senders` and `receivers` apart.
fn both_sides(fields: &Fields<'_>) -> Checked<(Access, Access)> {
    const WANTED: &str = "access for both sides, or senders and receivers apart";
    let Some(field) = fields.optional("access") else {
        if fields.optional("senders").is_none() && fields.optional("receivers").is_none() {
            return Err(fields.missing("access").allowed(WANTED));
        }
        return Ok((access(&fields.required("senders", WANTED)?)?, access(&fields.required("receivers", WANTED)?)?));
    };
    match fields.optional("senders").or(fields.optional("receivers")) {
        Some(side) => Err(ScenarioError::new(side.path, "is given twice, here and by access").allowed(WANTED)),
        None => access(&field).map(|both| (both.clone(), both)),
    }
}

fn access(field: &Field<'_>) -> Checked<Access> {
    let fields = field.table(LINK)?;
    Ok(Access { rate: rate(&fields)?, delay: delays(&fields.required("delay", DELAYS_FORM)?, &TIMES, bounds::DELAY)? })
}

fn link(field: &Field<'_>) -> Checked<LinkSpec> {
    let fields = field.table(LINK)?;
    let delay = fields.required("delay", units::TIME_FORM)?.measure(&TIMES, bounds::DELAY)?;
    Ok(LinkSpec { rate: rate(&fields)?, delay })
}

fn rate(fields: &Fields<'_>) -> Checked<f64> {
    fields.required("rate", units::RATE_FORM)?.measure(&bounds::RATES, bounds::RATE)
}

/// A time, a list of times, or the ends of an interval to draw from.
pub(super) fn delays(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Delays> {
    match field.doc {
        Doc::Array(_) => list(field, measure, within).map(Delays::List),
        Doc::Table(_) => uniform(field, measure, within),
        Doc::Bool(_) => Err(field.wrong_type(DELAYS_FORM)),
        _ => field.measure(measure, within).map(Delays::Same),
    }
}

/// A list of values, not empty.
pub(super) fn list(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Vec<f64>> {
    let items = field.items(DELAYS_FORM)?;
    if items.len() > bounds::LIST {
        return Err(field.error("is too long a list").allowed(format!("{} values", bounds::LIST)));
    }
    items.iter().map(|item| item.measure(measure, within)).collect()
}

fn uniform(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Delays> {
    const WANTED: &str = "a list of two times, the smaller first";
    let ends = field.table(&["uniform"])?.required("uniform", WANTED)?;
    let values = list(&ends, measure, within)?;
    match values[..] {
        [low, high] if low <= high => Ok(Delays::Uniform(low, high)),
        [_, _] => Err(ends.error("runs backwards").allowed(WANTED)),
        _ => Err(ends.error("is not an interval").allowed(WANTED)),
    }
}

/// A buffer below one packet would let nothing through.
fn room_for_a_packet(scenario: &Scenario) -> Checked<()> {
    let ports = [
        ("bottleneck", Some(&scenario.bottleneck_queue), scenario.largest_packet(Direction::Forward)),
        ("reverse", scenario.reverse_queue.as_ref(), scenario.largest_packet(Direction::Reverse)),
    ];
    for (name, queue, data) in ports {
        let (packet, what) =
            if data > u32::from(ACK_BYTES) { (data, "segment and header") } else { (u32::from(ACK_BYTES), "an ACK") };
        let Some(Limit::Bytes(bytes)) = queue.map(|queue| queue.limit) else { continue };
        if bytes < u64::from(packet) {
            return Err(ScenarioError::new(format!("queue.{name}.limit"), "holds no packet of this scenario")
                .given(format!("{bytes} B"))
                .allowed(format!("at least {packet} B, {what}")));
        }
    }
    Ok(())
}

fn record(field: &Field<'_>, scenario: &Scenario) -> Checked<Record> {
    let fields = field.table(RECORD)?;
    let cwnd_flows = fields.optional("cwnd_flows").map_or(Ok(Vec::new()), |field| flow_list(&field, scenario))?;
    Ok(Record {
        series: series(&fields, scenario.duration, cwnd_flows.len())?,
        cwnd_flows,
        trace: fields.optional("trace").map_or(Ok(0), |field| field.whole(0, bounds::TRACE))?,
        trace_flow: fields.optional("trace_flow").map(|field| tcp_flow(&field, scenario)).transpose()?,
        transfers: fields.optional("transfers").map_or(Ok(false), |field| field.flag())?,
    })
}

fn series(fields: &Fields<'_>, duration: f64, windows: usize) -> Checked<Option<f64>> {
    let Some(field) = fields.optional("series") else {
        return match windows {
            0 => Ok(None),
            _ => Err(fields.missing("series").allowed("a sampling interval for cwnd_flows, such as \"10 ms\"")),
        };
    };
    let interval = field.measure(&TIMES, bounds::SERIES)?;
    let largest = bounds::SAMPLES / windows.max(1) as f64;
    if duration / interval > largest {
        let least = duration / largest;
        return Err(field.error("makes too long a series").allowed(format!("at least {least:?} s")));
    }
    Ok(Some(interval))
}

/// A flow with a window, by its number from 1.
fn tcp_flow(field: &Field<'_>, scenario: &Scenario) -> Checked<u64> {
    let id = field.whole(1, scenario.flows())?;
    let mut last = 0;
    let traffic = scenario.traffic.iter().find(|traffic| {
        last += traffic.flows();
        id <= last
    });
    match traffic {
        Some(traffic) if traffic.tcp().is_none() => {
            Err(field.error("has no window").allowed(format!("a flow over TCP; flow {id} is {}", traffic.kind())))
        }
        _ => Ok(id),
    }
}

/// Different flows, each by its number from 1.
fn flow_list(field: &Field<'_>, scenario: &Scenario) -> Checked<Vec<u64>> {
    let mut seen = std::collections::BTreeSet::new();
    let one = |item: &Field<'_>| {
        let id = tcp_flow(item, scenario)?;
        if seen.insert(id) {
            Ok(id)
        } else {
            Err(item.error("is listed twice"))
        }
    };
    match field.doc {
        Doc::Array(items) if items.is_empty() => Ok(Vec::new()),
        _ => field.items("a list of flow numbers, such as [1, 2]")?.iter().map(one).collect(),
    }
}
