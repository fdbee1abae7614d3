//! Where a packet goes next: the hops of every flow.

use crate::engine::network::{Network, TtlOption};
use crate::engine::plan::{Mode, Plan};
use crate::engine::settings::Settings;
use std::collections::BTreeMap;

/// Where a flow's hops are: flows whose hops differ in their own links alone share them.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The first hop.
    pub steps: u32,
    /// The flow's first link.
    pub first: u32,
}

/// One hop, in eight bytes: thousands of flows have many of them, and each packet needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The link, or [`NO_LINK`]; with [`OWN`], counted from the flow's first.
    pub link: u32,
    pub action: Action,
    pub ttl: u8,
    /// Links behind it.
    pub made: u8,
    /// Lane of its event (2 bits), what packets say there of their time to live ([`INITIAL`], [`LAST`]), class of the
    /// flow's packets (4 bits).
    pub rest: u8,
}

/// Where a hop leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// An arrival event at the link.
    AtEvent,
    /// Through the link in the same call; no packet can meet another there.
    Through,
    /// Through the link in the same call.
    Fold,
    /// The same, where packets may wait.
    SlowFold,
    /// The same, where they have several sizes.
    MixedFold,
    /// Through the link in the same call if nothing can come before, else as soon as nothing can.
    Ahead,
    /// The receiver takes the segment at an event.
    ReceiverAtEvent,
    /// The receiver takes it in the same call, at a time to come.
    Receiver,
    /// The sender takes the ACK at an event.
    Sender,
    /// The sender takes it in the same call if nothing can come before, else at an event.
    SenderAhead,
    /// The sender of finite transfers takes the ACK at an event.
    Server,
    /// The receiver of transfers over more than one connection takes the segment at an event.
    Client,
    /// The receiver of packets without feedback counts the packet in the same call; nothing follows.
    Sink,
    /// The packet's time to live is used up; it is counted in the same call.
    Expired,
    /// As a sink, and more is noted than counts.
    RecordedSink,
    /// The same at an event: packets may have overtaken one another on the last link.
    RecordedSinkAtEvent,
}

pub const OWN: u32 = 1 << 31;
/// A flow's own links are looked for among so many from its first on.
pub const OWN_LINKS: usize = 4;
/// Where a hop leads to a host.
pub const NO_LINK: u32 = OWN - 1;
const LANE: u8 = 3;
/// No lane: what a packet does next is to be looked up.
pub const UNKNOWN: u8 = 3;
/// Packets say with how much time to live they started; with how much they will arrive.
pub const INITIAL: u8 = 4;
pub const LAST: u8 = 8;
pub const CLASS_SHIFT: u32 = 4;

impl Step {
    #[inline(always)]
    pub fn lane(&self) -> u8 {
        self.rest & LANE
    }

    /// The lane of the event that it is, if it is nothing else, or [`UNKNOWN`].
    #[inline(always)]
    pub fn lane_of_event(&self) -> u8 {
        if matches!(self.action, Action::AtEvent | Action::ReceiverAtEvent | Action::Sender) {
            self.lane()
        } else {
            UNKNOWN
        }
    }
}

/// The hops of every flow: links out, receiver, links back, sender.
pub fn routes(network: &Network, plan: &Plan, settings: &Settings) -> (Vec<Route>, Vec<Step>) {
    let (mut routes, mut all) = (Vec::with_capacity(network.flows()), Vec::new());
    let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
    // Whether a flow has finite transfers, and whether over more than one connection.
    let mut applications = vec![(false, false); network.flows()];
    for (flow, spec) in &network.transfers {
        applications[*flow as usize] = (true, !spec.is_plain());
    }
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
                Mode::SlowFold if network.flow_specs[flow].options.rfc.is_some() => Action::MixedFold,
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
        // The receiver never learns what is left of an ACK's time to live at the sender; nor does a constant bit rate.
        let tells = match time.option {
            TtlOption::Nothing => 0,
            _ if reverse.is_empty() => INITIAL,
            _ => INITIAL | LAST,
        };
        let mut steps: Vec<Step> = forward.iter().enumerate().map(|(made, &link)| hop(made, link, tells)).collect();
        if let Some(&back) = reverse.first() {
            let folded = plan.modes[back as usize] == Mode::Fold;
            // A window that is sampled must not be ahead of the time.
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
                None if settings.jitter && network.varies(forward[forward.len() - 1]) => Action::RecordedSinkAtEvent,
                None if settings.rates.is_some() || settings.jitter => Action::RecordedSink,
                None => Action::Sink,
            }));
        }
        // Segments enter their first link without an event; the others share the lanes out in the order of the hops.
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
        let at = *known.entry(steps).or_insert_with_key(|steps| {
            all.extend_from_slice(steps);
            (all.len() - steps.len()) as u32
        });
        routes.push(Route { steps: at, first });
    }
    (routes, all)
}
