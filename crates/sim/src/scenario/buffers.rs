//! Refuses buffers that pass nothing of what a scenario sends.

use earlydrop_aqm::cake;
use earlydrop_aqm::markers::Conditioned;
use earlydrop_aqm::params::Values;
use earlydrop_aqm::parts::class_weights::CLASSES;
use earlydrop_aqm::policy::{Limit, Reason};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Ecn, Link, Packet, Time};
use earlydrop_net::tcp::sizes::ACK_BYTES;

use super::bounds;
use super::error::ScenarioError;
use super::fields::{join, Checked};
use super::model::{Parent, QueueSpec, Topology};
use super::queue::misfit;
use super::traffic::{Direction as Way, Traffic};
use super::whole::Scenario;

/// A buffer smaller than one packet passes nothing, nor does a discipline that drops the packet while it is empty.
pub(super) fn check(scenario: &Scenario) -> Checked<()> {
    let acks = u32::from(ACK_BYTES);
    // If all traffic is between the pairs of a dumbbell, each queue gets the packets of one direction.
    let by_pairs =
        matches!(scenario.topology, Topology::Dumbbell(_)) && scenario.ends.iter().all(|ends| ends.between.is_none());
    let ways = [Way::Forward, Way::Reverse].map(|way| scenario.largest_packet(way));
    for (queue, (link, link_header)) in scenario.queues.iter().zip(links_behind(scenario)) {
        let (data, key) = match (by_pairs, queue.key.as_str()) {
            (true, "bottleneck") => &ways[0],
            (true, "reverse") => &ways[1],
            _ if ways[1].0 > ways[0].0 => &ways[1],
            _ => &ways[0],
        };
        let (packet, what) = match *data > acks {
            true => (*data, format!("{key} and its header")),
            false => (acks, "an ACK".to_string()),
        };
        let QueueSpec { spec, values, limit, .. } = &queue.spec;
        let refuse = |path: String, given: String, allowed: String| {
            Err(ScenarioError::new(path, "holds no packet of this scenario").given(given).allowed(allowed))
        };
        let holds = |path: String, bytes: u64, counts_header: bool| {
            let header = if counts_header { link_header } else { 0 };
            let least = packet + header;
            if bytes >= u64::from(least) {
                return Ok(());
            }
            let what = if header > 0 { format!("{what}, and Ethernet's header") } else { what.clone() };
            refuse(path, format!("{bytes} B"), format!("at least {least} B, {what}"))
        };
        if let Some(Parent { spec, values }) = &queue.spec.parent {
            holds(join(&join("queue", &queue.key), "burst"), (spec.largest)(values).into(), spec.linux)?;
        }
        let path = join(&queue.path(), "limit");
        if let Limit::Bytes(bytes) = *limit {
            holds(path.clone(), bytes, spec.counts_header(values))?;
        }
        if spec.name == cake::SPEC.name {
            // CAKE drops packets that its memory does not hold, and counts for a packet the buffer that Linux has.
            let [takes, has] = cake::memory(values, *limit, packet).map_err(|error| misfit(&queue.path(), error))?;
            if takes > has {
                let (given, least) = match *limit {
                    Limit::Packets(packets) => {
                        let least = (takes * packets).div_ceil(has);
                        (format!("{packets} packets"), format!("at least {least} packets, or a larger max_packet"))
                    }
                    Limit::Bytes(bytes) => (format!("{bytes} B"), format!("at least {takes} B")),
                };
                let allowed = format!("{least}: {packet} B, {what}, take {takes} B of memory, and there are {has} B");
                return refuse(path, given, allowed);
            }
        }
        if let Some(marker) = &queue.spec.marker {
            if Conditioned::refuses(marker.spec, &marker.values, packet) {
                let path = join(&queue.path(), "marker");
                return Err(ScenarioError::new(path, "drops every packet of this scenario")
                    .given("police = true")
                    .allowed(format!("a bucket that holds {packet} B, {what}")));
            }
        }
        if let (Some(link), None) = (link, &queue.spec.own) {
            let ecn = scenario.traffic.iter().all(Traffic::sends_ecn);
            // A marker may give packets any class.
            let classes: Vec<u8> = match queue.spec.marker {
                Some(_) => (0..CLASSES as u8).collect(),
                None => scenario.traffic.iter().map(|entry| entry.class).collect(),
            };
            if let Some((key, given)) = key_that_refuses(&queue.spec, &link, packet, ecn, &classes) {
                let allowed = format!("what lets through {packet} B, {what}");
                return Err(ScenarioError::new(join(&queue.path(), key), "drops every packet of this scenario")
                    .given(given)
                    .allowed(allowed));
            }
        }
    }
    Ok(())
}

/// The key with which a discipline drops packets of this size, of any of these classes, although nothing waits, and its
/// value; `aqm` if no key is the reason. `None` if it takes such a packet.
fn key_that_refuses(
    queue: &QueueSpec,
    link: &Link,
    bytes: u32,
    ecn: bool,
    classes: &[u8],
) -> Option<(&'static str, String)> {
    let QueueSpec { spec, values, limit, .. } = queue;
    let link = queue.link(link);
    let takes = |values: &Values, limit: Limit| {
        // Some disciplines take no limit in bytes, and say so when the run is built.
        let Ok(built) = (spec.build)(values, &link, limit) else { return true };
        let mut fresh = built.queue(limit, queue.ecn, Generator::stream(0, "check"));
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        classes.iter().any(|&class| {
            let mut dropped = false;
            let packet = Packet { ecn, class, ..Packet::new(1, bytes) };
            fresh.enqueue(packet, Time::ZERO, &mut |_, reason| dropped |= reason != Reason::Early);
            !dropped || fresh.packets() > 0
        })
    };
    if takes(values, *limit) {
        return None;
    }
    let given = |name| Some((name, values.given(name)?));
    let without = |name: &str| {
        let mut others = Values::new();
        for (other, value) in
            spec.all_params().filter_map(|param| given(param.name)).filter(|(other, _)| *other != name)
        {
            others.set(other, value);
        }
        others
    };
    let mut keys = spec.all_params().filter_map(|param| given(param.name));
    let found = keys.find(|(name, _)| takes(&without(name), *limit)).map(|(name, value)| (name, value.to_string()));
    found.or_else(|| match *limit {
        Limit::Packets(packets) if takes(values, Limit::Packets(bounds::LIMIT_PACKETS)) => {
            Some(("limit", format!("{packets} packets")))
        }
        _ => Some(("aqm", spec.name.to_string())),
    })
}

/// For each queue a link behind it, and the bytes of the header that it counts if it follows Linux: the largest header
/// of its links.
fn links_behind(scenario: &Scenario) -> Vec<(Option<Link>, u32)> {
    let graph = scenario.topology.with_queues();
    let mut found = vec![(None, 0); scenario.queues.len()];
    for port in scenario.ports(&graph) {
        let Some((direction, ..)) = graph.link(port.link) else { continue };
        let spec = &direction.link;
        let (link, header) = &mut found[port.queue];
        *link = link.or(Some(Link { rate_bps: spec.rate.nominal(), delay_s: spec.mean_delay() }));
        *header = (*header).max(spec.link_layer.header().unsigned_abs());
    }
    found
}
