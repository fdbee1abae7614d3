//! Routes: the hops of every flow.

use crate::engine::network::{LinkSpec, Network, TtlOption};
use crate::engine::plan::{Mode, Plan};
use crate::engine::settings::Settings;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::Wire;
use std::collections::BTreeMap;

/// A flow's route. Flows whose hops differ only in their own links share the hops, which saves memory.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The first hop.
    steps: u32,
    /// The flow's first link.
    pub first: u32,
}

impl Route {
    /// Where a hop is in the list of all.
    #[inline(always)]
    pub fn place(self, hop: usize) -> usize {
        self.steps as usize + hop
    }

    /// The link of a hop in the list.
    #[inline(always)]
    pub fn link(self, step: &Step) -> u32 {
        let own = (step.link as i32 >> 31) as u32;
        (step.link & !OWN) + (self.first & own)
    }
}

/// One hop, in eight bytes: thousands of flows have many hops, and each packet reads another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The link, or [`NO_LINK`]; with [`OWN`] its number counts from the flow's first link.
    pub link: u32,
    pub action: Action,
    pub ttl: u8,
    /// Links behind it.
    pub made: u8,
    /// Lane of its event (2 bits), time-to-live option of its packets ([`INITIAL`], [`LAST`]), class of the flow's
    /// packets (4 bits).
    pub rest: u8,
}

/// What a packet of the usual size takes over the link of a hop, transmission and delay together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    pub seconds: f64,
    /// The usual size, bytes: of a full segment, or of an ACK without options.
    pub size: u16,
}

impl Lag {
    /// Of no size: the hop leads to a host, or the flows that share it have links of several kinds.
    const NONE: Lag = Lag { seconds: 0.0, size: 0 };
}

/// What a segment does at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Arrives at the link by an event.
    AtEvent,
    /// Passes the link in the same call; no packet can meet another there.
    Through,
    /// Passes the link in the same call.
    Fold,
    /// The same, where packets may wait.
    SlowFold,
    /// The same, where they have several sizes.
    MixedFold,
    /// Passes the link in the same call if nothing can come before it, else as soon as nothing can.
    Ahead,
    /// Reaches the receiver by an event.
    ReceiverAtEvent,
    /// Reaches the receiver in the same call, ahead of time.
    Receiver,
    /// Reaches the sender by an event, as an ACK.
    Sender,
    /// Reaches the sender in the same call if nothing can come before it, else by an event.
    SenderAhead,
    /// Reaches the sender of finite transfers by an event.
    Server,
    /// Reaches the receiver of transfers over several connections by an event.
    Client,
    /// Reaches a sink, which counts it in the same call.
    Sink,
    /// Its time to live expires; it is counted in the same call.
    Expired,
    /// Reaches a sink that records more than counters, in the same call.
    RecordedSink,
    /// The same by an event: packets may have been reordered on the last link.
    RecordedSinkAtEvent,
}

const OWN: u32 = 1 << 31;
/// Number of links, from a flow's first on, among which its own links are searched.
pub const OWN_LINKS: usize = 4;
/// The hop leads to a host.
pub const NO_LINK: u32 = OWN - 1;
const LANE: u8 = 3;
/// No lane: the next event must be looked up.
pub const UNKNOWN: u8 = 3;
/// Packets carry their initial time to live; they carry the one at their destination.
pub const INITIAL: u8 = 4;
pub const LAST: u8 = 8;
pub const CLASS_SHIFT: u32 = 4;

impl Step {
    #[inline(always)]
    pub fn lane(&self) -> u8 {
        self.rest & LANE
    }

    /// The lane of the hop's event if it has only that, else [`UNKNOWN`].
    #[inline(always)]
    pub fn lane_of_event(&self) -> u8 {
        if matches!(self.action, Action::AtEvent | Action::ReceiverAtEvent | Action::Sender) {
            self.lane()
        } else {
            UNKNOWN
        }
    }
}

/// The hops of every flow: forward links, receiver, reverse links, sender; and the lag of each hop.
pub fn routes(network: &Network, plan: &Plan, settings: &Settings) -> (Vec<Route>, Vec<Step>, Vec<Lag>) {
    let (mut routes, mut all, mut lags) = (Vec::with_capacity(network.flows()), Vec::new(), Vec::new());
    let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
    // Whether a flow has finite transfers, and whether over several connections.
    let mut applications = vec![(false, false); network.flows()];
    for (flow, spec) in &network.transfers {
        applications[*flow as usize] = (true, !spec.is_plain());
    }
    let delays = settings.jitter || !settings.delay_flows.is_empty();
    for (flow, &(transfers, reconnects)) in applications.iter().enumerate() {
        let (forward, reverse) = network.route(flow);
        let first = forward[0];
        let class = network.classes.get(flow).copied().unwrap_or(0);
        let time = network.time_to_live(flow);
        debug_assert!(class < 1 << (8 - CLASS_SHIFT));
        let hop = |made: usize, link: u32, tells: u8| {
            let own = (first..first.saturating_add(OWN_LINKS as u32)).contains(&link);
            let action = match plan.modes[link as usize] {
                Mode::Fold if plan.apart[link as usize] => Action::Through,
                Mode::Fold => Action::Fold,
                Mode::SlowFold if network.spec(flow).options.rfc.is_some() => Action::MixedFold,
                Mode::SlowFold => Action::SlowFold,
                Mode::Merge if plan.early(link).is_some() => Action::Ahead,
                _ => Action::AtEvent,
            };
            Step {
                link: if own { OWN | (link - first) } else { link },
                action,
                ttl: time.initial - made as u8,
                made: made as u8,
                rest: class << CLASS_SHIFT | tells,
            }
        };
        let host = |action| Step { link: NO_LINK, action, ttl: 0, made: 0, rest: 0 };
        // An ACK's receiver never reads its time to live; nor does a sink of a constant bit rate.
        let tells = match time.option {
            TtlOption::Nothing => 0,
            _ if reverse.is_empty() => INITIAL,
            _ => INITIAL | LAST,
        };
        let mut steps: Vec<Step> = forward.iter().enumerate().map(|(made, &link)| hop(made, link, tells)).collect();
        if let Some(&back) = reverse.first() {
            let folded = plan.modes[back as usize] == Mode::Fold;
            // A sampled cwnd must not be ahead of time.
            let sampled = settings.series.is_some() && settings.cwnd_flows.contains(&(flow as u32));
            steps.push(host(match (reconnects, folded) {
                (true, _) => Action::Client,
                (false, true) => Action::Receiver,
                (false, false) => Action::ReceiverAtEvent,
            }));
            let tells = if time.option == TtlOption::All { INITIAL } else { 0 };
            steps.extend(reverse.iter().enumerate().map(|(made, &link)| hop(made, link, tells)));
            let ahead = plan.answers_ahead && !sampled;
            steps.push(host(match (time.expires, transfers, ahead) {
                (Some(_), ..) => Action::Expired,
                (None, true, _) => Action::Server,
                (None, false, true) => Action::SenderAhead,
                (None, false, false) => Action::Sender,
            }));
        } else {
            steps.push(host(match time.expires {
                Some(_) => Action::Expired,
                None if delays && network.varies(forward[forward.len() - 1]) => Action::RecordedSinkAtEvent,
                None if settings.rates.is_some() || delays => Action::RecordedSink,
                None => Action::Sink,
            }));
        }
        // Segments enter their first link without an event; the other hops get lanes in round robin.
        let at_event = |step: &&mut Step| {
            use Action::{Ahead, Expired, Fold, MixedFold, Receiver, RecordedSink, Sink, SlowFold, Through};
            !matches!(
                step.action,
                Through | Fold | SlowFold | MixedFold | Ahead | Receiver | Sink | RecordedSink | Expired
            )
        };
        let events = steps[1..].iter_mut().filter(at_event).count();
        for (seen, step) in steps[1..].iter_mut().filter(at_event).enumerate() {
            step.rest |= (seen * 3 / events) as u8;
        }
        let hops = steps.len();
        let at = *known.entry(steps).or_insert_with_key(|steps| {
            all.extend_from_slice(steps);
            (all.len() - steps.len()) as u32
        });
        let lag = |link: &u32, size: u16| {
            let LinkSpec { rate_bps, delay_s, .. } = network.links[*link as usize];
            Lag { seconds: Wire::new(rate_bps, delay_s).lag(size), size }
        };
        let out = forward.iter().map(|link| lag(link, network.spec(flow).wire));
        let back = reverse.iter().map(|link| lag(link, ACK_BYTES));
        let own = out.chain(std::iter::once(Lag::NONE)).chain(back).chain(std::iter::once(Lag::NONE));
        lags.resize(all.len(), None);
        for (shared, own) in lags[at as usize..].iter_mut().zip(own.take(hops)) {
            if *shared.get_or_insert(own) != own {
                *shared = Some(Lag::NONE);
            }
        }
        routes.push(Route { steps: at, first });
    }
    (routes, all, lags.into_iter().map(|lag| lag.unwrap_or(Lag::NONE)).collect())
}
