//! Routes: the hops of every flow.
#![allow(unsafe_code)]

use super::rows::Rows;
use crate::engine::network::{LinkSpec, Network, TtlOption};
use crate::engine::plan::{Mode, Plan};
use crate::engine::settings::Settings;
use crate::pages::space;
use crate::prefetch::prefetch;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::Wire;
use std::collections::BTreeMap;

/// A flow's route. Flows whose hops differ only in their own links share the hops, which saves memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// The first hop.
    steps: u32,
    /// The flow's first links of its own: the row of the first with events, and of the first without.
    pub first: u32,
    pub first_fold: u32,
    /// How much higher both are for each flow after this, if those have no row here.
    strides: (u16, u16),
}

/// The routes of all flows.
#[derive(Default)]
pub struct Routes {
    /// Of each flow; in a large network of the first one alone, if the others follow from it: it saves a table out of the
    /// cache.
    rows: Box<[Route]>,
    follow: bool,
}

impl Routes {
    fn new(mut routes: Vec<Route>, large: bool) -> Self {
        let Some(first) = (if large { common(&routes) } else { None }) else {
            return Routes { rows: routes.into(), follow: false };
        };
        routes.clear();
        routes.push(first);
        Routes { rows: routes.into(), follow: true }
    }

    /// That of a flow. `large` as when they were made: without it none follows from another, which saves a comparison.
    #[inline(always)]
    pub fn of(&self, flow: u32, large: bool) -> Route {
        debug_assert!(large || !self.follow, "routes of a large network");
        if large && self.follow {
            self.rows[0].further(flow)
        } else {
            // SAFETY: segments, events and hops have the numbers of flows that there are; `must_know` tests those from a
            // queue.
            unsafe { *self.rows.get_unchecked(flow as usize) }
        }
    }

    /// Whether all follow from the first.
    pub fn follow(&self) -> bool {
        self.follow
    }

    /// Prefetches that of a flow.
    #[inline(always)]
    pub fn prefetch(&self, flow: u32) {
        prefetch(&self.rows, flow as usize);
    }
}

/// The route from which all others follow: they have the same hops, and as many links of their own.
fn common(routes: &[Route]) -> Option<Route> {
    let &[first, second, ..] = routes else { return None };
    let stride = |one: u32, next: u32| u16::try_from(next.checked_sub(one)?).ok();
    let strides = (stride(first.first, second.first)?, stride(first.first_fold, second.first_fold)?);
    let common = Route { strides, ..first };
    let follow = |(flow, &route): (usize, &Route)| route == Route { strides: (0, 0), ..common.further(flow as u32) };
    routes.iter().enumerate().all(follow).then_some(common)
}

impl Route {
    /// That of the flow of this number, if this is the first one's and has strides.
    #[inline(always)]
    fn further(self, flow: u32) -> Route {
        let (links, folds) = (u32::from(self.strides.0), u32::from(self.strides.1));
        let first = self.first.wrapping_add(flow.wrapping_mul(links));
        Route { first, first_fold: self.first_fold.wrapping_add(flow.wrapping_mul(folds)), ..self }
    }

    /// Where a hop is in the list of all.
    #[inline(always)]
    pub fn place(self, hop: usize) -> usize {
        self.steps as usize + hop
    }

    /// The link of a hop in the list, which has events.
    #[inline(always)]
    pub fn link(self, step: &Step) -> u32 {
        let own = (step.link as i32 >> 31) as u32;
        (step.link & !OWN) + (self.first & own)
    }

    /// The link of a hop in the list, which has none: its row among the folds.
    #[inline(always)]
    pub fn fold(self, step: &Step) -> u32 {
        let own = (step.link as i32 >> 31) as u32;
        (step.link & !OWN) + (self.first_fold & own)
    }

    /// A hop in the list, with its link, which has events.
    #[inline(always)]
    pub fn step(self, step: Step) -> Step {
        Step { link: self.link(&step), ..step }
    }
}

/// One hop, in eight bytes: thousands of flows have many hops, and each packet reads another one. All but the link is in
/// one word, so that a step is copied as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The row of the link, or [`NO_LINK`]; with [`OWN`] it counts from the flow's first.
    pub link: u32,
    /// From the lowest bit on: time to live (8 bits), links behind it (8), time-to-live option of its packets
    /// ([`INITIAL`], [`LAST`]), lane of its event (2), lane of the next hop's event (2), class of the flow's packets (4),
    /// whether they may pass the link (1); in the highest four the action.
    what: u32,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// Arrives at the link by an event.
    AtEvent,
    /// Leaves its sender over the sender's own link, which needs no events.
    Own,
    /// Passes the link in the same call; no packet can meet another there.
    Through,
    /// Passes the link in the same call.
    Fold,
    /// The same, where packets may wait.
    SlowFold,
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
    /// Reaches the sender of finite transfers, or of media, by an event.
    Server,
    /// Reaches the receiver of transfers over several connections, of media, of data both ways, or outside of the
    /// engine, by an event.
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
/// How many links, from a flow's first on, are searched for its own.
pub const OWN_LINKS: usize = 4;
/// The hop leads to a host.
pub const NO_LINK: u32 = OWN - 1;
/// No lane: the next event must be looked up.
pub const UNKNOWN: u8 = 3;
const MADE: u32 = 8;
/// Packets carry their initial time to live; they carry the one at their destination.
pub const INITIAL: u32 = 1 << 16;
pub const LAST: u32 = 1 << 17;
const LANE: u32 = 18;
const NEXT_LANE: u32 = 20;
const CLASS: u32 = 22;
const PASSES: u32 = 1 << 26;
const ACTION: u32 = 28;

impl Step {
    /// A step without lanes; `tells` is its time-to-live option.
    fn new(link: u32, action: Action, ttl: u8, made: u8, tells: u32, class: u8) -> Self {
        let what = u32::from(ttl) | u32::from(made) << MADE | tells | u32::from(class) << CLASS;
        let step = Step { link, what: what | u32::from(UNKNOWN) << NEXT_LANE | (action as u32) << ACTION };
        debug_assert!(class < 16 && step.action() == action);
        step
    }

    #[inline(always)]
    pub fn action(&self) -> Action {
        match self.what >> ACTION {
            0 => Action::AtEvent,
            1 => Action::Own,
            2 => Action::Through,
            3 => Action::Fold,
            4 => Action::SlowFold,
            5 => Action::Ahead,
            6 => Action::ReceiverAtEvent,
            7 => Action::Receiver,
            8 => Action::Sender,
            9 => Action::SenderAhead,
            10 => Action::Server,
            11 => Action::Client,
            12 => Action::Sink,
            13 => Action::Expired,
            14 => Action::RecordedSink,
            _ => Action::RecordedSinkAtEvent,
        }
    }

    #[inline(always)]
    pub fn ttl(&self) -> u8 {
        self.what as u8
    }

    /// Links behind it.
    #[inline(always)]
    pub fn made(&self) -> u8 {
        (self.what >> MADE) as u8
    }

    /// Time-to-live option of its packets.
    #[inline(always)]
    pub fn tells(&self) -> u32 {
        self.what & (INITIAL | LAST)
    }

    /// Class of the flow's packets.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.what >> CLASS) as u8 & 15
    }

    /// Lane of its event.
    #[inline(always)]
    pub fn lane(&self) -> u8 {
        (self.what >> LANE) as u8 & 3
    }

    /// The lane of the next hop's event if that has nothing else, else [`UNKNOWN`].
    #[inline(always)]
    pub fn next_lane(&self) -> u8 {
        (self.what >> NEXT_LANE) as u8 & 3
    }

    /// Whether its packets may pass the link, or reach the receiver in the same call only if nothing can come before.
    #[inline(always)]
    pub fn passes(&self) -> bool {
        self.what & PASSES != 0
    }
}

/// Gives the hops of a route lanes in round robin. Segments enter their first link without an event.
fn give_lanes(steps: &mut [Step]) {
    use Action::{Ahead, Expired, Fold, Receiver, RecordedSink, Sink, SlowFold, Through};
    let at_event = |step: &&mut Step| {
        !matches!(step.action(), Through | Fold | SlowFold | Ahead | Receiver | Sink | RecordedSink | Expired)
    };
    let events = steps[1..].iter_mut().filter(at_event).count();
    for (seen, step) in steps[1..].iter_mut().filter(at_event).enumerate() {
        step.what |= (seen * 3 / events) as u32 * (1 << LANE);
    }
    for hop in 1..steps.len() {
        let alone = matches!(steps[hop].action(), Action::AtEvent | Action::ReceiverAtEvent | Action::Sender);
        if alone && !steps[hop].passes() {
            let lane = u32::from(steps[hop].lane()) << NEXT_LANE;
            steps[hop - 1].what = steps[hop - 1].what & !(3 << NEXT_LANE) | lane;
        }
    }
}

/// The hops of every flow: forward links, receiver, reverse links, sender; and the lag of each hop.
pub fn routes(
    network: &Network,
    plan: &Plan,
    rows: &Rows,
    settings: &Settings,
    large: bool,
) -> (Routes, Vec<Step>, Vec<Lag>) {
    let (mut routes, mut all, mut lags) = (space(network.flows()), Vec::new(), Vec::new());
    let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
    // Whether a flow has finite transfers, and whether over several connections; media, data both ways and
    // datagrams from outside have both.
    let mut applications = vec![(false, false); network.flows()];
    for (flow, spec) in &network.transfers {
        applications[*flow as usize] = (true, !spec.is_plain());
    }
    network.media_flows.iter().for_each(|&(flow, _)| applications[flow as usize] = (true, true));
    network.both_ways.iter().for_each(|&(flow, back)| {
        applications[flow as usize] = (true, true);
        applications[back as usize] = (true, true);
    });
    network.outside.iter().for_each(|&(flow, _)| applications[flow as usize] = (true, true));
    let delays = settings.jitter || !settings.delay_flows.is_empty();
    for (flow, &(transfers, reconnects)) in applications.iter().enumerate() {
        let (forward, reverse) = network.route(flow);
        let own_links = forward[0]..forward[0].saturating_add(OWN_LINKS as u32).min(network.links.len() as u32);
        let (first, first_fold) = rows.first(own_links.clone());
        let class = network.classes.get(flow).copied().unwrap_or(0);
        let time = network.time_to_live(flow);
        let hop = |made: usize, link: u32, tells: u32| {
            let action = match plan.modes[link as usize] {
                Mode::Fold if plan.apart[link as usize] => Action::Through,
                Mode::Fold => Action::Fold,
                Mode::SlowFold => Action::SlowFold,
                Mode::Own => Action::Own,
                Mode::Merge if plan.early(link).is_some() => Action::Ahead,
                _ => Action::AtEvent,
            };
            let row = rows.of[link as usize];
            let from = if rows.is_fold(link) { first_fold } else { first };
            // A row that flows share may be before the flow's own.
            let own = own_links.contains(&link) && row >= from;
            let row = if own { OWN | (row - from) } else { row };
            let step = Step::new(row, action, time.initial - made as u8, made as u8, tells, class);
            let passes = if plan.modes[link as usize] == Mode::Passed { PASSES } else { 0 };
            Step { what: step.what | passes, ..step }
        };
        let host = |action| Step::new(NO_LINK, action, 0, 0, 0, 0);
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
            let receiver = host(match (reconnects, folded) {
                (true, _) => Action::Client,
                (false, true) => Action::Receiver,
                (false, false) => Action::ReceiverAtEvent,
            });
            let passes = if plan.hosts_ahead && folded { PASSES } else { 0 };
            steps.push(Step { what: receiver.what | passes, ..receiver });
            let tells = if time.option == TtlOption::All { INITIAL } else { 0 };
            steps.extend(reverse.iter().enumerate().map(|(made, &link)| hop(made, link, tells)));
            let last = plan.modes[reverse[reverse.len() - 1] as usize];
            let ahead = (plan.answers_ahead || (plan.hosts_ahead && last == Mode::Fold)) && !sampled;
            steps.push(host(match (time.expires, transfers, ahead) {
                (Some(_), ..) => Action::Expired,
                (None, true, _) => Action::Server,
                (None, false, true) => Action::SenderAhead,
                (None, false, false) => Action::Sender,
            }));
        } else {
            steps.push(host(match time.expires {
                Some(_) => Action::Expired,
                None if reconnects => Action::Client,
                None if delays && network.varies(forward[forward.len() - 1]) => Action::RecordedSinkAtEvent,
                None if settings.rates.is_some() || delays => Action::RecordedSink,
                None => Action::Sink,
            }));
        }
        give_lanes(&mut steps);
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
        routes.push(Route { steps: at, first, first_fold, strides: (0, 0) });
    }
    (Routes::new(routes, large), all, lags.into_iter().map(|lag| lag.unwrap_or(Lag::NONE)).collect())
}

/// Time to live at the sender and at the receiver, by flow; one row where all flows have the same.
pub struct TimesToLive {
    rows: Box<[(u8, u8)]>,
    mask: usize,
}

impl TimesToLive {
    pub fn new(of_flows: impl Iterator<Item = (u8, u8)> + Clone) -> Self {
        let first = of_flows.clone().next();
        let same = of_flows.clone().all(|time| Some(time) == first);
        let rows: Vec<_> = of_flows.take(if same { 1 } else { usize::MAX }).collect();
        TimesToLive { rows: rows.into(), mask: if same { 0 } else { usize::MAX } }
    }

    #[inline(always)]
    pub fn of(&self, flow: u32) -> (u8, u8) {
        // SAFETY: as in `Routes::of`.
        unsafe { *self.rows.get_unchecked(flow as usize & self.mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(steps: u32, first: u32, first_fold: u32) -> Route {
        Route { steps, first, first_fold, strides: (0, 0) }
    }

    #[test]
    fn routes_that_follow_from_the_first_are_the_same_without_a_table() {
        let regular: Vec<Route> = (0..50).map(|flow| route(7, 3 + 2 * flow, 10 + 5 * flow)).collect();
        let mut other = regular.clone();
        other[31].first += 1;
        let hops: Vec<Route> = (0..50).map(|flow| route(7 * flow, 3, 10)).collect();
        for (routes, follow) in [(regular, true), (other, false), (hops, false), (vec![route(1, 2, 3)], false)] {
            let made = [false, true].map(|large| Routes::new(routes.clone(), large));
            assert_eq!(
                (made[0].follow(), made[1].follow(), made[1].rows.len() == 1),
                (false, follow, routes.len() == 1 || follow)
            );
            for (flow, expected) in (0..).zip(&routes) {
                for (of, large) in [(made[0].of(flow, false), false), (made[1].of(flow, true), true)] {
                    assert_eq!(Route { strides: (0, 0), ..of }, *expected, "flow {flow}, {large}");
                }
            }
        }
    }
}
