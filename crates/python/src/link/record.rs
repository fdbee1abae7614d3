//! Recorded arrivals as columns of bytes, and their replay through the simulator's port.

use earlydrop_aqm::catalogue::Link as LinkOf;
use earlydrop_aqm::header::{TcpHeader, MOST_BLOCKS};
use earlydrop_aqm::link_layer::LinkLayer;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Ecn, Header, Packet, Time};
use earlydrop_link::record::Record;
use earlydrop_net::record::{Arrivals, Fate};
use earlydrop_sim::scenario::{control, ScenarioError};
use earlydrop_sim::{replay, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// Latest arrival, and the end of a replay, s: as long as a run may last. Timers of disciplines go on until then.
const LATEST: f64 = 1e6;

fn bytes<'py, T, const N: usize>(
    py: Python<'py>,
    items: impl Iterator<Item = T>,
    le: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let all: Vec<u8> = items.flat_map(le).collect();
    PyBytes::new(py, &all)
}

/// Code of a fate: 0 queued, 1 departed, 2 to 4 dropped (early, forced, overflow).
fn code(fate: &Fate) -> u8 {
    match fate {
        Fate::Queued => 0,
        Fate::Departed { .. } => 1,
        Fate::Dropped { reason: Reason::Early, .. } => 2,
        Fate::Dropped { reason: Reason::Forced, .. } => 3,
        Fate::Dropped { reason: Reason::Overflow, .. } => 4,
    }
}

fn fates<'py>(py: Python<'py>, into: &Bound<'py, PyDict>, fates: &[Fate]) -> PyResult<()> {
    let at = |fate: &Fate| match *fate {
        Fate::Queued => f64::NAN,
        Fate::Departed { at, .. } | Fate::Dropped { at, .. } => at.seconds(),
    };
    let ecn = |fate: &Fate| match *fate {
        Fate::Departed { ecn, .. } => ecn as u8,
        _ => 0,
    };
    let arrival = |fate: &Fate| match fate {
        Fate::Departed { arrival: Some(arrival), .. } => arrival.seconds(),
        _ => f64::NAN,
    };
    into.set_item("fate", bytes(py, fates.iter(), |fate| [code(fate)]))?;
    into.set_item("arrived_s", bytes(py, fates.iter(), |fate| arrival(fate).to_le_bytes()))?;
    into.set_item("settled_s", bytes(py, fates.iter(), |fate| at(fate).to_le_bytes()))?;
    into.set_item("ecn_out", bytes(py, fates.iter(), |fate| [ecn(fate)]))
}

/// Arrivals and fates as little-endian columns; those of the headers only if the queue reads headers.
pub fn columns<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let arrivals = || record.arrivals.packets.iter();
    all.set_item("time_s", bytes(py, arrivals(), |(time, _)| time.seconds().to_le_bytes()))?;
    all.set_item("flow", bytes(py, arrivals(), |(_, packet)| packet.flow.to_le_bytes()))?;
    all.set_item("size", bytes(py, arrivals(), |(_, packet)| packet.size.to_le_bytes()))?;
    all.set_item("ecn", bytes(py, arrivals(), |(_, packet)| [packet.ecn as u8]))?;
    all.set_item("class", bytes(py, arrivals(), |(_, packet)| [packet.class]))?;
    all.set_item("ttl", bytes(py, arrivals(), |(_, packet)| [packet.ttl]))?;
    all.set_item("initial_ttl", bytes(py, arrivals(), |(_, packet)| [packet.initial_ttl]))?;
    if record.reads_headers {
        headers(py, &all, &record.arrivals.headers)?;
    }
    if let Some(kept) = &record.kept {
        all.set_item("kept", PyBytes::new(py, &kept.bytes))?;
        all.set_item("kept_bytes", PyBytes::new(py, &kept.lengths))?;
    }
    fates(py, &all, &record.fates)?;
    Ok(all)
}

fn headers<'py>(py: Python<'py>, into: &Bound<'py, PyDict>, headers: &[Header]) -> PyResult<()> {
    let tcp = |header: &Header| header.tcp.unwrap_or_default();
    let stamps = |header: &Header| tcp(header).stamps.unwrap_or_default();
    let all = || headers.iter();
    into.set_item("dscp", bytes(py, all(), |header| [header.dscp]))?;
    into.set_item("source", bytes(py, all(), |header| header.source.to_le_bytes()))?;
    into.set_item("destination", bytes(py, all(), |header| header.destination.to_le_bytes()))?;
    into.set_item("tcp", bytes(py, all(), |header| [header.tcp.as_ref().map_or(0, bits)]))?;
    into.set_item("ack", bytes(py, all(), |header| tcp(header).ack.to_le_bytes()))?;
    into.set_item("tsval", bytes(py, all(), |header| stamps(header).0.to_le_bytes()))?;
    into.set_item("tsecr", bytes(py, all(), |header| stamps(header).1.to_le_bytes()))?;
    into.set_item("sack_blocks", bytes(py, all(), |header| [tcp(header).block_count]))?;
    let blocks = headers.iter().flat_map(|header| tcp(header).blocks).flat_map(|(start, end)| [start, end]);
    into.set_item("sack", bytes(py, blocks, u32::to_le_bytes))
}

/// The flags of a TCP header; the first says that there is one.
fn bits(tcp: &TcpHeader) -> u8 {
    let flags = [true, tcp.plain_ack, tcp.acknowledges, tcp.data, tcp.other_options, tcp.stamps.is_some()];
    let flags: u8 = flags.iter().zip(0..).map(|(&flag, bit)| u8::from(flag) << bit).sum();
    flags | tcp.ecn_flags << 6
}

/// The column `name`, if there is one; its values have `N` bytes each, little-endian.
pub(super) fn given<T, const N: usize>(
    columns: &Bound<'_, PyDict>,
    name: &str,
    of: impl Fn([u8; N]) -> T,
) -> PyResult<Option<Vec<T>>> {
    let Some(column) = columns.get_item(name)? else { return Ok(None) };
    let column = column.cast::<PyBytes>()?;
    let values = column.as_bytes().chunks_exact(N).map(|value| of(value.try_into().expect("of this length")));
    Ok(Some(values.collect()))
}

/// The column `name`, of `count` values.
pub(super) fn wanted<T, const N: usize>(
    columns: &Bound<'_, PyDict>,
    name: &str,
    count: usize,
    of: impl Fn([u8; N]) -> T,
) -> PyResult<Vec<T>> {
    match given(columns, name, of)? {
        Some(values) if values.len() == count => Ok(values),
        Some(values) => Err(PyValueError::new_err(format!("{name}: has {} values; needed {count}", values.len()))),
        None => Err(PyValueError::new_err(format!("{name}: is missing"))),
    }
}

/// The arrivals that [`columns`] has written.
fn arrivals(columns: &Bound<'_, PyDict>) -> PyResult<Arrivals> {
    let times = given(columns, "time_s", f64::from_le_bytes)?.unwrap_or_default();
    let count = times.len();
    let byte = |name| wanted(columns, name, count, |[value]: [u8; 1]| value);
    let (flow, size) =
        (wanted(columns, "flow", count, u64::from_le_bytes)?, wanted(columns, "size", count, u32::from_le_bytes)?);
    let (ecn, class, ttl, initial) = (byte("ecn")?, byte("class")?, byte("ttl")?, byte("initial_ttl")?);
    let sound = times.iter().all(|time| (0.0..=LATEST).contains(time)) && times.is_sorted();
    if !sound || class.iter().any(|&class| class > 7) || size.iter().any(|&size| size == 0 || size > 65_535) {
        return Err(PyValueError::new_err("times must not fall and be 0..10^6 s, classes 0..7 and sizes 1..65535 B"));
    }
    let packet = |i: usize| Packet {
        ecn: Ecn::from_bits(ecn[i]),
        class: class[i],
        ttl: ttl[i],
        initial_ttl: initial[i],
        ..Packet::new(flow[i], size[i])
    };
    let packets = (0..count).map(|i| (Time::from_seconds(times[i]), packet(i))).collect();
    let headers = match columns.contains("dscp")? {
        true => read_headers(columns, count)?,
        false => Vec::new(),
    };
    Ok(Arrivals { packets, headers })
}

fn read_headers(columns: &Bound<'_, PyDict>, count: usize) -> PyResult<Vec<Header>> {
    let byte = |name| wanted(columns, name, count, |[value]: [u8; 1]| value);
    let (dscp, tcp, block_count) = (byte("dscp")?, byte("tcp")?, byte("sack_blocks")?);
    let host = |name| wanted(columns, name, count, u64::from_le_bytes);
    let (source, destination) = (host("source")?, host("destination")?);
    let word = |name| wanted(columns, name, count, u32::from_le_bytes);
    let (ack, value, echo) = (word("ack")?, word("tsval")?, word("tsecr")?);
    let ends = wanted(columns, "sack", 2 * MOST_BLOCKS * count, u32::from_le_bytes)?;
    let header = |i: usize| {
        let has = |bit: u8| tcp[i] >> bit & 1 == 1;
        let mut blocks = [(0, 0); MOST_BLOCKS];
        for (block, ends) in blocks.iter_mut().zip(ends[2 * MOST_BLOCKS * i..].chunks_exact(2)) {
            *block = (ends[0], ends[1]);
        }
        let tcp = has(0).then(|| TcpHeader {
            plain_ack: has(1),
            acknowledges: has(2),
            data: has(3),
            other_options: has(4),
            stamps: has(5).then_some((value[i], echo[i])),
            ecn_flags: tcp[i] >> 6,
            ack: ack[i],
            blocks,
            block_count: block_count[i],
        });
        Header { dscp: dscp[i], offset: 0, source: source[i], destination: destination[i], tcp }
    };
    Ok((0..count).map(header).collect())
}

/// Replays the arrivals in `columns` at the simulator's port of the link with the queue or the name `queue` in
/// `scenario`, or of its other direction (`reverse`), until `until` seconds; returns their fates. `delay_s` is the link's
/// delay, if not the scenario's. `changes` are times and
/// lines of [`changes`](earlydrop_sim::scenario::control::changes), in order of time.
#[pyfunction]
#[pyo3(signature = (scenario, queue, seed, reverse, until, columns, delay_s=None, changes=Vec::new()))]
#[allow(clippy::too_many_arguments)]
pub fn replay_link<'py>(
    py: Python<'py>,
    scenario: &crate::scenario::Scenario,
    queue: &str,
    seed: u64,
    reverse: bool,
    until: f64,
    columns: &Bound<'py, PyDict>,
    delay_s: Option<f64>,
    changes: Vec<(f64, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let arrivals = arrivals(columns)?;
    if !(0.0..=LATEST).contains(&until) {
        return Err(PyValueError::new_err(format!("until: given {until}; allowed 0..10^6 s")));
    }
    if !changes.iter().map(|(time, _)| *time).is_sorted()
        || changes.iter().any(|(time, _)| !(0.0..=LATEST).contains(time))
    {
        return Err(PyValueError::new_err("changes: their times must not fall and be 0..10^6 s"));
    }
    let (checked, queue) = (Arc::clone(&scenario.checked), queue.to_string());
    let work = move || -> Result<_, ScenarioError> {
        let graph = checked.topology.graph(seed).into_owned().drawn(seed);
        let ports = checked.ports(&graph);
        let number = super::link_called(&queue, &graph, &ports)?;
        let number = if reverse { number ^ 1 } else { number };
        let port = ports.iter().find(|port| port.link == number);
        let port = port.ok_or_else(|| ScenarioError::new("queue", "has no queue in that direction"))?;
        let (direction, ..) = graph.link(number).ok_or_else(|| ScenarioError::new("queue", "has no such link"))?;
        let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
        let kind = run::port_kind(&port.name, &checked.queues[port.queue], &link, LinkLayer::Ip, &|stream| {
            Generator::stream(seed, stream)
        })?;
        let medium = direction.link.medium(&direction.name, seed);
        let mut ways = super::controlled(&checked, &graph, &ports, if reverse { number ^ 1 } else { number })?;
        let mut made = Vec::new();
        for (time, line) in changes {
            let ([there, back], next) = control::changes(&line, &ways)?;
            ways = next;
            made.push((time, if reverse { back } else { there }));
        }
        let link = LinkOf { delay_s: delay_s.unwrap_or(link.delay_s), ..link };
        Ok(replay::replay(kind, &link, medium, arrivals, made, until))
    };
    let outcome = crate::errors::interruptible(py, work)?.map_err(crate::errors::raise)?;
    let found = PyDict::new(py);
    fates(py, &found, outcome.fates.as_deref().unwrap_or_default())?;
    Ok(found)
}
