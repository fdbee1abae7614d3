//! Recorded arrivals as columns of bytes, and their replay through the simulator's port.

use earlydrop_aqm::catalogue::Link as LinkOf;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_link::record::Record;
use earlydrop_net::record::Fate;
use earlydrop_sim::scenario::ScenarioError;
use earlydrop_sim::{replay, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

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
    into.set_item("fate", bytes(py, fates.iter(), |fate| [code(fate)]))?;
    into.set_item("settled_s", bytes(py, fates.iter(), |fate| at(fate).to_le_bytes()))?;
    into.set_item("ecn_out", bytes(py, fates.iter(), |fate| [ecn(fate)]))
}

/// Arrivals and fates as little-endian columns.
pub fn columns<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let arrivals = || record.arrivals.iter();
    all.set_item("time_s", bytes(py, arrivals(), |(time, _)| time.seconds().to_le_bytes()))?;
    all.set_item("flow", bytes(py, arrivals(), |(_, packet)| packet.flow.to_le_bytes()))?;
    all.set_item("size", bytes(py, arrivals(), |(_, packet)| packet.size.to_le_bytes()))?;
    all.set_item("ecn", bytes(py, arrivals(), |(_, packet)| [packet.ecn as u8]))?;
    all.set_item("class", bytes(py, arrivals(), |(_, packet)| [packet.class]))?;
    all.set_item("ttl", bytes(py, arrivals(), |(_, packet)| [packet.ttl]))?;
    all.set_item("initial_ttl", bytes(py, arrivals(), |(_, packet)| [packet.initial_ttl]))?;
    fates(py, &all, &record.fates)?;
    Ok(all)
}

/// Replays the columns of arrivals at the simulator's port of the link with the queue or the name `queue` in
/// `scenario`, or of its other direction (`reverse`), until `until` seconds; returns their fates.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn replay_link<'py>(
    py: Python<'py>,
    scenario: &crate::scenario::Scenario,
    queue: &str,
    seed: u64,
    reverse: bool,
    until: f64,
    time_s: Vec<f64>,
    flow: Vec<u64>,
    size: Vec<u32>,
    ecn: Vec<u8>,
    class: Vec<u8>,
    ttl: Vec<u8>,
    initial_ttl: Vec<u8>,
) -> PyResult<Bound<'py, PyDict>> {
    let count = time_s.len();
    let lengths = [flow.len(), size.len(), ecn.len(), class.len(), ttl.len(), initial_ttl.len()];
    if lengths.iter().any(|&length| length != count) {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    let sound = time_s.iter().all(|time| time.is_finite() && *time >= 0.0) && time_s.is_sorted();
    if !sound || class.iter().any(|&class| class > 7) || size.iter().any(|&size| size == 0 || size > 65_535) {
        return Err(PyValueError::new_err("times must not fall, classes be 0..7 and sizes 1..65535 B"));
    }
    let arrivals = (0..count)
        .map(|i| {
            let packet = Packet {
                ecn: match ecn[i] & 3 {
                    0 => Ecn::NotEct,
                    1 => Ecn::Ect1,
                    2 => Ecn::Ect0,
                    _ => Ecn::Ce,
                },
                class: class[i],
                ttl: ttl[i],
                initial_ttl: initial_ttl[i],
                ..Packet::new(flow[i], size[i])
            };
            (Time::from_seconds(time_s[i]), packet)
        })
        .collect();
    let outcome = py
        .detach(|| -> Result<_, ScenarioError> {
            let graph = scenario.checked.topology.graph(seed).into_owned().drawn(seed);
            let ports = scenario.checked.ports(&graph);
            let number = super::link_called(queue, &graph, &ports)?;
            let number = if reverse { number ^ 1 } else { number };
            let port = ports.iter().find(|port| port.link == number);
            let port = port.ok_or_else(|| ScenarioError::new("queue", "has no queue in that direction"))?;
            let (direction, ..) = graph.link(number).ok_or_else(|| ScenarioError::new("queue", "has no such link"))?;
            let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
            let kind = run::port_kind(&port.name, &scenario.checked.queues[port.queue], &link, seed)?;
            let medium = direction.link.medium(&direction.name, seed);
            Ok(replay::replay(kind, &link, medium, arrivals, until))
        })
        .map_err(crate::errors::raise)?;
    let found = PyDict::new(py);
    fates(py, &found, outcome.fates.as_deref().unwrap_or_default())?;
    Ok(found)
}
