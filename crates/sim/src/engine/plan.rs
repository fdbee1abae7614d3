//! The plan: which links can be worked out by arithmetic, decided from the graph when the network is built.
//!
//! A link is *stepped* (arrival and end of transmission are events) wherever streams merge in an order that events
//! must decide, a discipline looks at departures, or packets wait in bursts. It is *arithmetic* where the order of
//! its packets is already fixed and nothing can be dropped: then its departures follow from two numbers, and the
//! packet goes on to the next hop in the same call. The choice changes no result; `docs/engine.md` has the argument,
//! and a test compares every run with the all-stepped one.

use super::network::{FlowSpec, Network, PortKind};
use super::sizes::{ACK_BYTES, SYN_BYTES};
use earlydrop_net::tcp::ns2::core::{INITIAL_RTO, MIN_RTO};
use earlydrop_net::tcp::rfc::{self, ControlKind};
use std::collections::{BTreeMap, BTreeSet};

/// How a link is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Arrivals are events, departures arithmetic; nothing is ever dropped.
    Merge,
    /// No event at all: one serial source feeds it, in the order of its packets.
    Fold,
    /// No event either, though packets may wait: all links from its source are alike, with one flow each.
    SlowFold,
    /// A sender's own link that needs no events.
    Own,
    /// A plain FIFO with events.
    Stepped,
    /// A port whose discipline decides at enqueue: departures are arithmetic.
    ArithmeticPort,
    /// A port with events.
    SteppedPort,
}

/// Who feeds a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder {
    Nobody,
    Link(u32),
    Sender,
    /// Receivers, all of them behind this link.
    ReceiverBehind(u32),
    Several,
}

/// A fold of more links would lose the order of simultaneous arrivals.
const DEEPEST_FOLD: u8 = 2;

/// Modes of all links of a network.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Mode by link.
    pub modes: Vec<Mode>,
    /// The merges that packets may pass ahead of their time, by rising number of the link.
    pub early: Vec<(u32, Early)>,
    /// By link: whether every packet finds the one before gone for some time.
    pub apart: Vec<bool>,
    /// By link that needs no events though packets may wait: the size of a full segment there, bytes; 0 where ACKs of several
    /// sizes pass.
    pub full: Vec<u16>,
    /// Whether senders take ACKs ahead of their time; their own links need no events then.
    pub answers_ahead: bool,
}

/// A merge whose packets all come, by folds, from one link that sends them one at a time. Then the first packet that
/// can still come after this one is known to be no earlier than the origin's next start plus the shortest way here;
/// what arrives before that may pass at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Early {
    /// The link that sends them.
    pub origin: u32,
    /// Shortest way from a start at the origin to the merge, for segments with data, s.
    pub latency: f64,
    /// The same if a SYN, which is shorter, may come.
    pub latency_of_syn: f64,
}

impl Plan {
    /// Every hop stepped: right for any network, and the oracle.
    pub fn all_stepped(network: &Network) -> Plan {
        let mode =
            |link: &super::network::LinkSpec| if link.port.is_some() { Mode::SteppedPort } else { Mode::Stepped };
        let modes: Vec<Mode> = network.links.iter().map(mode).collect();
        let links = modes.len();
        Plan { apart: vec![false; links], full: vec![0; links], modes, early: Vec::new(), answers_ahead: false }
    }

    /// Arithmetic where the graph allows it. `decides_at_enqueue[p]`: port p's discipline needs no events of its own.
    pub fn from_graph(network: &Network, decides_at_enqueue: &[bool]) -> Plan {
        if network.needs_events || !goes_one_way(network) {
            return Plan::all_stepped(network);
        }
        let feeders = feeders(network);
        let neighbours = neighbours(network);
        let alike = alike(network, &feeders, &neighbours);
        let mut modes: Vec<Mode> = (0..network.links.len())
            .map(|link| first_guess(network, &feeders, &neighbours[link], decides_at_enqueue, &alike, link))
            .collect();
        // All links from one source in the same way, so that their packets can be told apart.
        let slow: BTreeSet<Feeder> =
            modes.iter().zip(&feeders).filter(|(&mode, _)| mode == Mode::SlowFold).map(|(_, &feeder)| feeder).collect();
        for (mode, feeder) in modes.iter_mut().zip(&feeders) {
            if *mode == Mode::Fold && slow.contains(feeder) {
                *mode = Mode::SlowFold;
            }
        }
        let apart: Vec<bool> = (0..network.links.len())
            .map(|link| match feeders[link] {
                Feeder::Link(source) | Feeder::ReceiverBehind(source) => {
                    never_waits(network, &neighbours[link], source as usize, link, TOLERANCE)
                }
                _ => false,
            })
            .collect();
        while demote(network, &feeders, &apart, &mut modes) {}
        let early = early(network, &feeders, &apart, &modes);
        // The end of a transfer is an event.
        let answers_ahead = network.transfers.is_empty() && answers_ahead(network, &feeders, &neighbours, &modes);
        if answers_ahead {
            (0..network.flows()).for_each(|flow| modes[network.route(flow).0[0] as usize] = Mode::Own);
        }
        let full = neighbours.iter().map(|at| if at.one_size { at.data.1 } else { 0 }).collect();
        Plan { modes, early, apart, full, answers_ahead }
    }

    /// Whether and when packets may pass `link` ahead of their time.
    pub fn early(&self, link: u32) -> Option<Early> {
        let at = self.early.binary_search_by_key(&link, |&(merge, _)| merge).ok()?;
        Some(self.early[at].1)
    }

    /// How many links are run by arithmetic, and how many by events.
    pub fn count(&self) -> (usize, usize) {
        let arithmetic = self.modes.iter().filter(|m| !matches!(m, Mode::Stepped | Mode::SteppedPort)).count();
        (arithmetic, self.modes.len() - arithmetic)
    }
}

/// Whether the rules below have been argued for this network, and drawn by the test that compares plans: every flow goes
/// through one port at most on its way out and one on its way back, the same for all; no link carries both data and ACKs;
/// nothing is lost or late on a link, and no time to live is used up.
fn goes_one_way(network: &Network) -> bool {
    let mut out = vec![false; network.links.len()];
    let mut back = out.clone();
    let (mut port_out, mut port_back) = (None, None);
    let one_port = |links: &[u32], known: &mut Option<u32>| {
        let mut ports = links.iter().filter_map(|&link| network.links[link as usize].port);
        match (ports.next(), ports.next()) {
            (None, _) => true,
            (Some(port), None) => *known.get_or_insert(port) == port,
            _ => false,
        }
    };
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        forward.iter().for_each(|&link| out[link as usize] = true);
        reverse.iter().for_each(|&link| back[link as usize] = true);
        if network.time_to_live(flow).expires.is_some()
            || !one_port(forward, &mut port_out)
            || !one_port(reverse, &mut port_back)
        {
            return false;
        }
    }
    network.media.is_empty() && !out.iter().zip(&back).any(|(&out, &back)| out && back)
}

/// Calls `visit(feeder, link)` for every hop of every route.
fn each_hop(network: &Network, mut visit: impl FnMut(Feeder, usize)) {
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let mut feeder = Feeder::Sender;
        for &link in forward {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
        feeder = forward.last().map_or(Feeder::Several, |&last| Feeder::ReceiverBehind(last));
        for &link in reverse {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
    }
}

fn feeders(network: &Network) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nobody; network.links.len()];
    each_hop(network, |feeder, link| {
        feeders[link] = match feeders[link] {
            Feeder::Nobody => feeder,
            known if known == feeder => known,
            _ => Feeder::Several,
        };
    });
    feeders
}

/// What passes from its source to a link: sizes there and here, bytes.
#[derive(Clone, Copy)]
struct Neighbour {
    flows: u32,
    /// Sizes of the only flow, at the source (the smallest) and at the link (the largest).
    data: (u16, u16),
    syn: (u16, u16),
    smallest_at_source: u16,
    largest_here: u16,
    /// All but SYNs, and segments without payload, are of one size here, as far as they are of one flow.
    one_size: bool,
    /// One of the flows, and whether its ACKs come by here, not its data.
    flow: u32,
    acks: bool,
    /// SYNs come by here, not their ACKs alone.
    carries_syns: bool,
    /// A SYN is sent again after a time-out. Whether the first is gone from here by then, surely.
    syns_apart: bool,
    /// Segments without payload of the only flow, at the source and here; they may come between data.
    bare: Option<(u16, u16)>,
    /// Receivers alone are behind it.
    ends: bool,
}

fn neighbours(network: &Network) -> Vec<Neighbour> {
    let nobody = Neighbour {
        flows: 0,
        data: (0, 0),
        syn: (0, 0),
        smallest_at_source: u16::MAX,
        largest_here: 0,
        one_size: true,
        flow: 0,
        acks: false,
        carries_syns: false,
        syns_apart: true,
        bare: None,
        ends: true,
    };
    let mut neighbours = vec![nobody; network.links.len()];
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        for (hop, &link) in forward.iter().chain(reverse).enumerate() {
            let spec = &network.flow_specs[flow];
            let size = |of: u16, hop: usize, ack: u16| if hop < forward.len() { of } else { ack };
            let source = hop.saturating_sub(1);
            let at = &mut neighbours[link as usize];
            at.flows += 1;
            at.data = (size(spec.wire, source, spec.acks()[0]), size(spec.wire, hop, largest_ack(spec)));
            // The answer to a SYN has no blocks.
            at.syn = (size(spec.syn(), source, spec.syn_answer()), size(spec.syn(), hop, spec.syn_answer()));
            at.bare = spec.bare().filter(|_| hop < forward.len()).map(|bytes| (bytes, bytes));
            at.one_size &= hop < forward.len() || (spec.acks().len() == 1 && spec.options.rfc.is_none());
            (at.flow, at.acks) = (flow as u32, hop >= forward.len());
            at.carries_syns |= spec.interval.is_none() && spec.flavour.has_bare_syn() && hop < forward.len();
            at.ends &= hop + 1 == forward.len();
            for (source, here) in [at.data, at.syn].into_iter().chain(at.bare) {
                at.smallest_at_source = at.smallest_at_source.min(source);
                at.largest_here = at.largest_here.max(here);
            }
        }
    }
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let mut wait = 0.0;
        for &link in forward.iter().chain(reverse) {
            wait += longest_wait(network, link as usize, neighbours[link as usize].flows);
            neighbours[link as usize].syns_apart &= wait < INITIAL_RTO / 2.0;
        }
    }
    neighbours
}

/// Sizes of what a flow sends, and of what comes back, bytes.
fn sizes(spec: &FlowSpec) -> (Vec<u16>, Vec<u16>) {
    let data = [spec.wire, spec.syn()].into_iter().chain(spec.bare()).collect();
    (data, spec.acks().iter().copied().chain([spec.syn_answer()]).collect())
}

fn largest_ack(spec: &FlowSpec) -> u16 {
    spec.acks()[spec.acks().len() - 1]
}

/// How long a SYN can wait at `link`, s. Where its flow is alone, no packet of it is about while it opens.
fn longest_wait(network: &Network, link: usize, flows: u32) -> f64 {
    let spec = &network.links[link];
    match spec.port.map(|port| &network.ports[port as usize].kind) {
        None if flows == 1 => 0.0,
        Some(PortKind::Fifo(fifo)) => {
            let largest = network.sizes.iter().copied().max().unwrap_or(0);
            8.0 * fifo.gate().room().most_bytes(u32::from(largest)) as f64 / spec.rate_bps
        }
        _ => f64::INFINITY,
    }
}

/// Whether no packet at `link` ever waits for the one before: the next one comes no sooner than its transmission at the
/// source takes.
///
/// With `margin` (s), not even to the instant.
fn never_waits(network: &Network, at: &Neighbour, source: usize, link: usize, margin: f64) -> bool {
    let over_before =
        |first: u16, next: u16| transmission(network, link, first) + margin <= transmission(network, source, next);
    if at.flows == 1 {
        // A segment without payload ends at the receiver, which does not answer it: it may wait there for the one before,
        // if that does not hold up the next one, and that takes no more time for both than the source does.
        let bare = at.bare.is_none_or(|(source, here)| {
            over_before(here, source) && (at.ends || (over_before(at.data.1, source) && over_before(at.syn.1, source)))
        });
        // A SYN never comes after data of its flow.
        return bare
            && over_before(at.data.1, at.data.0)
            && over_before(at.syn.1, at.data.0)
            && (at.syns_apart || over_before(at.syn.1, at.syn.0));
    }
    over_before(at.largest_here, at.smallest_at_source)
}

/// Whether sums of two different times and `transmission`, from `earliest` on, are different or lie about a power of two.
///
/// Below and above a power of two all times are multiples of one step, and the sum is off by the same, unless it is off
/// by exactly half a step: then the even one of two neighbours is taken. That is so for one range of times, which
/// follows from the last bit of `transmission`.
fn keeps_step(transmission: f64, earliest: f64) -> bool {
    let bits = transmission.to_bits();
    let power = f64::from_bits(bits & (0x7ff << 52));
    let zeros = (bits | 1 << 52).trailing_zeros();
    let begin = power * (1_u64 << (zeros + 1)) as f64;
    2.0 * begin <= earliest || begin > LONGEST_RUN
}

/// Whether the links that `source` feeds are all alike, for each source: one flow each, one rate, data of one size; and
/// an arrival there is scheduled longer ahead than a transmission there takes.
///
/// Two packets that start on two such links at one time do so in the order of the events that started them. Where a
/// packet has waited, that is the end of the transmission before it, else its arrival, which was scheduled before that.
/// So the one with fewer transmissions before it since the link was idle comes first, and these cannot be equally many,
/// as the source is serial. A SYN must take less time than data: what follows it without a pause comes last.
///
/// Where doubles become coarser, transmissions in step with one another may round to one time; the engine notes that.
fn alike(network: &Network, feeders: &[Feeder], neighbours: &[Neighbour]) -> Vec<bool> {
    let mut common = vec![None; network.links.len()];
    let mut alike = vec![true; network.links.len()];
    for (link, feeder) in feeders.iter().enumerate() {
        let Feeder::Link(source) = *feeder else { continue };
        let (at, source) = (&neighbours[link], source as usize);
        let here = (network.links[link].rate_bps, at.data.1);
        let spec = &network.flow_specs[at.flow as usize];
        alike[source] &= at.flows == 1
            && (at.one_size || spec.options.rfc.is_some())
            && (!at.carries_syns || at.data.1 > at.syn.1)
            && at.bare.is_none_or(|(_, bare)| at.data.1 > bare)
            && *common[source].get_or_insert(here) == here
            && keeps_step(transmission(network, link, at.data.1), ahead(network, source, SYN_BYTES))
            && [at.data, at.syn]
                .iter()
                .chain(&at.bare)
                .all(|size| transmission(network, link, at.largest_here) + TOLERANCE < ahead(network, source, size.0))
            && (spec.options.rfc.is_none() || {
                let (data, acks) = sizes(spec);
                let shortest = ahead(network, source, ACK_BYTES);
                let passing = if at.acks { acks } else { data };
                passing.iter().all(|&size| keeps_step(transmission(network, link, size), shortest))
            });
    }
    alike
}

fn first_guess(
    network: &Network,
    feeders: &[Feeder],
    neighbour: &Neighbour,
    decides_at_enqueue: &[bool],
    alike: &[bool],
    link: usize,
) -> Mode {
    if let Some(port) = network.links[link].port {
        return if decides_at_enqueue[port as usize] { Mode::ArithmeticPort } else { Mode::SteppedPort };
    }
    match feeders[link] {
        Feeder::Link(source) | Feeder::ReceiverBehind(source)
            if never_waits(network, neighbour, source as usize, link, 0.0) =>
        {
            Mode::Fold
        }
        Feeder::Several => Mode::Merge,
        Feeder::Link(source) if alike[source as usize] => Mode::SlowFold,
        _ => Mode::Stepped,
    }
}

/// Where a fold begins, and how many links it has up to and including `link`; depth 0 is not folded.
fn origin(feeders: &[Feeder], modes: &[Mode], link: usize) -> (usize, u8) {
    let (mut at, mut depth) = (link, 0);
    while is_fold(modes[at]) && depth <= DEEPEST_FOLD {
        depth += 1;
        match feeders[at] {
            Feeder::Link(source) | Feeder::ReceiverBehind(source) => at = source as usize,
            _ => break,
        }
    }
    (at, depth)
}

/// What the streams that meet in a link have in common: the origin and depth of their folds, if all have the same.
/// `usize::MAX` stands for any origin that starts packets by events, if they are apart on the folded link: where one
/// begins as the one before ends, the event of that end decides its order among the streams.
fn common_origins(network: &Network, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<Common> {
    let mut common = vec![Common::Nothing; modes.len()];
    each_hop(network, |feeder, link| {
        if feeders[link] != Feeder::Several {
            return;
        }
        let (from, depth) = match feeder {
            Feeder::Link(source) => descent(feeders, apart, modes, source as usize),
            // Agents send at events of their own.
            _ => (usize::MAX, 0),
        };
        common[link] = common[link].and(from, depth);
    });
    common
}

/// Origin and depth of the fold that ends in `link`, as far as streams that meet must have them in common: see
/// [`common_origins`].
fn descent(feeders: &[Feeder], apart: &[bool], modes: &[Mode], link: usize) -> (usize, u8) {
    match origin(feeders, modes, link) {
        (from, depth) if by_events(modes[from]) && (depth == 0 || (depth == 1 && apart[link])) => (usize::MAX, depth),
        found => found,
    }
}

fn by_events(mode: Mode) -> bool {
    matches!(mode, Mode::Stepped | Mode::SteppedPort)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Common {
    Nothing,
    Origin(usize, u8),
    Mixed,
}

impl Common {
    fn and(self, from: usize, depth: u8) -> Common {
        match self {
            Common::Nothing => Common::Origin(from, depth),
            known if known == Common::Origin(from, depth) => known,
            _ => Common::Mixed,
        }
    }
}

/// Merges that packets may pass ahead of time.
fn early(network: &Network, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<(u32, Early)> {
    let common = common_origins(network, feeders, apart, modes);
    let mut early = BTreeMap::new();
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let way: Vec<usize> = forward.iter().chain(reverse).map(|&link| link as usize).collect();
        for (end, &link) in way.iter().enumerate() {
            let Common::Origin(from, _) = common[link] else { continue };
            if modes[link] != Mode::Merge || from == usize::MAX {
                continue;
            }
            let Some(begin) = way[..end].iter().rposition(|&l| l == from) else { continue };
            let spec = &network.flow_specs[flow];
            let latency = |data: u16| {
                let hops = way.iter().enumerate().take(end).skip(begin);
                let total: f64 = hops
                    .map(|(hop, &l)| ahead(network, l, if hop < forward.len() { data } else { spec.acks()[0] }))
                    .sum();
                total - TOLERANCE
            };
            let data = latency(spec.wire);
            // Its answer is no smaller than the smallest ACK.
            let syn = latency(spec.syn()).min(data);
            let new = Early { origin: from as u32, latency: data, latency_of_syn: syn };
            let at = early.entry(link as u32).or_insert(new);
            at.latency = at.latency.min(data);
            at.latency_of_syn = at.latency_of_syn.min(syn);
        }
    }
    early.into_iter().collect()
}

/// Whether senders may take ACKs ahead of their time: all their ACKs come, by folds, from one serial link, and what
/// they send in answer goes over a link of their own and then by an event to an arithmetic port. These links have one rate
/// and send data of one size, in less time than an ACK or a timer is scheduled ahead.
fn answers_ahead(network: &Network, feeders: &[Feeder], neighbours: &[Neighbour], modes: &[Mode]) -> bool {
    let mut serial = None;
    let mut uniform = None;
    (0..network.flows()).all(|flow| {
        let (forward, reverse) = network.route(flow);
        // Packets without feedback come at events of their own.
        let Some(&last) = reverse.last() else { return false };
        let spec = &network.flow_specs[flow];
        let (first, last) = (forward[0] as usize, last as usize);
        let Feeder::Link(from) = feeders[last] else { return false };
        let Some(timer) = shortest_timer(spec) else { return false };
        let (data, acks) = sizes(spec);
        let shortest = ahead(network, last, spec.acks()[0]);
        neighbours[first].flows == 1
            && spec.wire > SYN_BYTES
            && spec.bare().is_none_or(|bare| spec.wire > bare.max(spec.syn()))
            && modes[first] == Mode::Stepped
            && forward.get(1).is_some_and(|&next| modes[next as usize] == Mode::ArithmeticPort)
            && is_fold(modes[last])
            && !is_fold(modes[from as usize])
            && *serial.get_or_insert(from) == from
            && {
                let here = (network.links[first].rate_bps, spec.wire);
                *uniform.get_or_insert(here) == here
            }
            && keeps_step(transmission(network, first, spec.wire), shortest)
            && data.iter().all(|&size| transmission(network, first, size) + TOLERANCE < shortest.min(timer))
            && (spec.options.rfc.is_none()
                || (data.iter().all(|&size| keeps_step(transmission(network, first, size), shortest))
                    && acks.iter().all(|&size| ahead(network, last, size) + TOLERANCE < timer)))
    })
}

/// The shortest time for which a timer of a sender is set, s; none if it may be as short as anything.
fn shortest_timer(spec: &FlowSpec) -> Option<f64> {
    let Some(settings) = &spec.options.rfc else { return Some(MIN_RTO) };
    let finds_losses_by_time = settings.rack && settings.sack;
    let paces = settings.pacing || settings.control == ControlKind::Bbr;
    (!finds_losses_by_time && !paces).then(|| settings.min_rto.min(rfc::INITIAL_RTO))
}

/// No run is as long as this, s.
const LONGEST_RUN: f64 = 1e9;
/// Differences of times below this may vanish in rounding, s.
const TOLERANCE: f64 = 1e-9;

/// Transmission time of `size` bytes at a link, s.
fn transmission(network: &Network, link: usize, size: u16) -> f64 {
    8.0 * f64::from(size) / network.links[link].rate_bps
}

/// How long ahead an arrival at the other end of a link is scheduled, s.
fn ahead(network: &Network, link: usize, size: u16) -> f64 {
    transmission(network, link, size) + network.links[link].delay_s
}

/// Takes back choices that the order of events does not allow; whether there were any.
fn demote(network: &Network, feeders: &[Feeder], apart: &[bool], modes: &mut [Mode]) -> bool {
    let mut changed = demote_behind_delays(network, modes);
    for link in 0..modes.len() {
        let unfounded = match (modes[link], feeders[link]) {
            (Mode::SlowFold, Feeder::Link(source)) => {
                !matches!(modes[source as usize], Mode::Merge | Mode::ArithmeticPort)
            }
            _ => false,
        };
        if is_fold(modes[link]) && (unfounded || origin(feeders, modes, link).1 > DEEPEST_FOLD) {
            modes[link] = Mode::Stepped;
            changed = true;
        }
    }
    // Where streams merge, simultaneous arrivals must come in the order of their histories. That holds if every
    // stream arrives by events of its own; if every stream is a fold of one link from an origin that starts packets
    // by events; or if all are folds of one depth from one serial origin.
    let common = common_origins(network, feeders, apart, modes);
    let mut demoted = Vec::new();
    each_hop(network, |feeder, link| {
        if common[link] != Common::Mixed {
            return;
        }
        if let Feeder::Link(source) = feeder {
            demoted.push(source as usize);
        } else if modes[link] == Mode::Merge {
            demoted.push(link);
        }
    });
    for link in demoted {
        let demoted = stepped(modes[link]);
        changed |= demoted != modes[link];
        modes[link] = demoted;
    }
    changed |= demote_mixed_streams(network, feeders, modes);
    changed |= demote_ambiguous_ports(network, modes);
    changed |= demote_ambiguous_ends(network, modes);
    changed
}

/// A receiver that delays ACKs takes segments by events, between which its timer may expire: the link behind it is
/// stepped.
fn demote_behind_delays(network: &Network, modes: &mut [Mode]) -> bool {
    let mut changed = false;
    for flow in (0..network.flows()).filter(|&flow| network.flow_specs[flow].options.ack_waits().next().is_some()) {
        if let Some(&first) = network.route(flow).1.first() {
            let demoted = stepped(modes[first as usize]);
            changed |= demoted != modes[first as usize];
            modes[first as usize] = demoted;
        }
    }
    changed
}

/// How long ahead links push arrivals, s: stepped ones, and folds with their index.
#[derive(Default)]
struct Pushed {
    stepped: Vec<f64>,
    folds: Vec<(usize, f64)>,
}

/// Streams on their way to where they meet can tie before it: at links that are equally far from there, packets sent at one
/// time arrive at one time. If one of these links is a fold and another is stepped, the fold's arrival has its number
/// ahead of time and the other's has not (it may have waited behind a longer packet), so the fold is stepped too.
fn demote_mixed_streams(network: &Network, feeders: &[Feeder], modes: &mut [Mode]) -> bool {
    // By meeting point and hops before it.
    let mut pushed: BTreeMap<(usize, usize), Pushed> = BTreeMap::new();
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let way: Vec<usize> = forward.iter().chain(reverse).map(|&link| link as usize).collect();
        let (data, acks) = sizes(&network.flow_specs[flow]);
        for (meeting, &link) in way.iter().enumerate() {
            if feeders[link] != Feeder::Several {
                continue;
            }
            // Backwards, through the sender from its ACKs to its segments, to where streams met before.
            for before in 1..way.len() {
                let hop = (meeting + way.len() - before) % way.len();
                let source = way[hop];
                if feeders[source] == Feeder::Several {
                    break;
                }
                if modes[source] != Mode::Stepped && !is_fold(modes[source]) {
                    continue;
                }
                let Pushed { stepped, folds } = pushed.entry((link, before)).or_default();
                for &size in if hop < forward.len() { &data } else { &acks } {
                    let ahead = ahead(network, source, size);
                    if is_fold(modes[source]) {
                        folds.push((source, ahead));
                    } else {
                        stepped.push(ahead);
                    }
                }
            }
        }
    }
    let mut changed = false;
    for Pushed { stepped, folds } in pushed.values_mut() {
        stepped.sort_unstable_by(f64::total_cmp);
        for &(fold, ahead) in folds.iter() {
            let next = stepped.partition_point(|&other| other < ahead - TOLERANCE);
            if is_fold(modes[fold]) && stepped.get(next).is_some_and(|&other| other <= ahead + TOLERANCE) {
                modes[fold] = Mode::Stepped;
                changed = true;
            }
        }
    }
    changed
}

/// An arithmetic port settles a tie between an arrival and a departure by when each was scheduled. If both are always
/// scheduled a common time ahead, that is a tie too, which only events can settle.
fn demote_ambiguous_ports(network: &Network, modes: &mut [Mode]) -> bool {
    let mut changed = false;
    each_hop(network, |feeder, link| {
        if modes[link] != Mode::ArithmeticPort {
            return;
        }
        let ambiguous = match feeder {
            Feeder::Link(source) => network.sizes.iter().any(|&a| {
                let ahead = ahead(network, source as usize, a);
                network.sizes.iter().any(|&b| (ahead - transmission(network, link, b)).abs() <= TOLERANCE)
            }),
            _ => true,
        };
        if ambiguous {
            modes[link] = Mode::SteppedPort;
            changed = true;
        }
    });
    changed
}

/// An event that a fold, a merge or an arithmetic port pushes has its number before its time. That can matter only
/// against an end of transmission, a timer, or the next packet of a constant bit rate that was scheduled at the same
/// time for the same time: where one can be, the last link of the fold is stepped.
fn demote_ambiguous_ends(network: &Network, modes: &mut [Mode]) -> bool {
    let mut ends: Vec<f64> = (0..modes.len())
        .filter(|&link| matches!(modes[link], Mode::Stepped | Mode::SteppedPort))
        .flat_map(|link| network.sizes.iter().map(move |&size| transmission(network, link, size)))
        // The next packet of a constant bit rate is such an event too.
        .chain(network.flow_specs.iter().filter_map(|flow| flow.interval))
        // And so is the end of an ACK's delay.
        .chain(network.flow_specs.iter().flat_map(|flow| flow.options.ack_waits()))
        .collect();
    ends.sort_unstable_by(f64::total_cmp);
    ends.dedup();
    let meets_an_end = |ahead: f64| {
        let next = ends.partition_point(|&end| end < ahead - TOLERANCE);
        ends.get(next).is_some_and(|&end| end <= ahead + TOLERANCE)
    };
    let mut changed = false;
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let spec = &network.flow_specs[flow];
        let (data, acks) = sizes(spec);
        let hops = forward.iter().map(|&link| (link, &data)).chain(reverse.iter().map(|&link| (link, &acks)));
        let mut hops = hops.peekable();
        while let Some((link, sizes)) = hops.next() {
            let link = link as usize;
            let next = hops.peek().map(|&(next, _)| modes[next as usize]);
            // At a merge, ends of transmission play no part.
            let early = !matches!(modes[link], Mode::Stepped | Mode::SteppedPort);
            if !early || next.is_some_and(|next| is_fold(next) || next == Mode::Merge) {
                continue;
            }
            let sink = next.is_none() && spec.interval.is_some();
            let ambiguous = !sink
                && sizes.iter().any(|&size| {
                    let ahead = ahead(network, link, size);
                    meets_an_end(ahead) || (next.is_none() && ahead >= MIN_RTO - TOLERANCE)
                });
            if ambiguous {
                modes[link] = stepped(modes[link]);
                changed = true;
            }
        }
    }
    changed
}

/// Whether a link needs no event to pass a packet on.
fn is_fold(mode: Mode) -> bool {
    matches!(mode, Mode::Fold | Mode::SlowFold)
}

/// The same link, run by events.
fn stepped(mode: Mode) -> Mode {
    match mode {
        Mode::Fold | Mode::SlowFold | Mode::Merge => Mode::Stepped,
        Mode::ArithmeticPort => Mode::SteppedPort,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stay_apart_where_steps_are_kept() {
        for transmission in [8e-5, 3.2e-6, 8e-3, 1.2e-5, 0.25, 8.0 * 1000.0 / 3e6] {
            for time in [0.0011_f64, 0.013, 0.4, 0.77, 1.5, 3.1, 100.7] {
                let about_a_power = (time.to_bits() ^ (time + transmission).to_bits()) >> 52 != 0;
                if about_a_power || !keeps_step(transmission, time) {
                    continue;
                }
                let mut time = time;
                for _ in 0..100 {
                    let next = time.next_up();
                    assert!(time + transmission < next + transmission, "{transmission} {time}");
                    time = next;
                }
            }
        }
        assert!(!keeps_step(8e-3, 0.07), "half a step, from 0.0625 to 0.125");
        assert!(keeps_step(8e-3, 0.2));
    }
}
