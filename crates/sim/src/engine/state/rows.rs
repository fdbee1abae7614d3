//! The rows of links: which state each link has, and where.

use super::link::{Alike, Fold, Link, NONE};
use crate::engine::network::Network;
use crate::engine::plan::{Early, Mode, Plan};
use crate::pages::space;
use earlydrop_net::Wire;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// With more kinds of links without events, each that no packet waits at has a row of its own, so that flows whose links
/// differ can share their hops.
const KINDS_SHARED: usize = 16;

/// Where each link of the network has its state: among the links, or if it needs no events among the folds.
pub struct Rows {
    /// By link of the network: its row.
    pub of: Vec<u32>,
    folds: Vec<bool>,
}

/// The state of all links, at the start.
pub struct Links {
    pub links: Vec<Link>,
    pub folds: Vec<Fold>,
    pub alike: Vec<Alike>,
    /// Merges that packets may pass ahead of time.
    pub merges: Vec<Early>,
}

impl Rows {
    /// Whether a link needs no events.
    pub fn is_fold(&self, link: u32) -> bool {
        self.folds[link as usize]
    }

    /// The first rows of these links: of one with events, and of one without; 0 if there is none.
    pub fn first(&self, links: Range<u32>) -> (u32, u32) {
        let first = |fold| links.clone().find(|&link| self.is_fold(link) == fold).map_or(0, |at| self.of[at as usize]);
        (first(false), first(true))
    }

    /// Gives each link of `network` a row.
    pub fn new(network: &Network, plan: &Plan) -> (Rows, Links) {
        let folds: Vec<bool> =
            plan.modes.iter().map(|mode| matches!(mode, Mode::Fold | Mode::SlowFold | Mode::Own)).collect();
        let count = folds.iter().filter(|&&fold| fold).count();
        let mut made =
            Links { links: space(folds.len() - count), folds: space(count), alike: Vec::new(), merges: Vec::new() };
        let mut of = vec![NONE; folds.len()];
        let mut kinds = Kinds::default();
        let watched = small_queue_links(network);
        // Rows that links share come first, so that those of single links may follow from the number of the flow.
        for index in (0..folds.len()).filter(|&index| plan.modes[index] == Mode::Fold && plan.apart[index]) {
            let kind = kinds.of(Alike::of(&network.links[index]), &mut made.alike);
            of[index] = kinds.shared(kind, &mut made.folds).unwrap_or(NONE);
        }
        for (index, (link, &mode)) in network.links.iter().zip(&plan.modes).enumerate() {
            if of[index] != NONE {
                continue;
            }
            if folds[index] {
                of[index] = made.folds.len() as u32;
                made.folds.push(Fold::new(kinds.of(Alike::of(link), &mut made.alike)));
                continue;
            }
            let early = plan.early(index as u32).filter(|_| link.port.is_none());
            let place = early.map(|early| {
                made.merges.push(early);
                made.merges.len() as u32 - 1
            });
            let port = link.port.or(place).unwrap_or(if mode == Mode::Passed { 0 } else { NONE });
            let varies = network.varies(index as u32) || watched.contains(&(index as u32));
            let wire = Wire::new(link.rate_bps, link.delay_s);
            of[index] = made.links.len() as u32;
            made.links.push(Link { wire, cause: 0.0, reserved: 0, head: NONE, tail: NONE, mode, varies, port });
        }
        for early in &mut made.merges {
            debug_assert!(!folds[early.origin as usize], "a merge's packets start at a link with events");
            early.origin = of[early.origin as usize];
        }
        (Rows { of, folds }, made)
    }
}

/// First links of flows whose senders want to know what has left.
fn small_queue_links(network: &Network) -> BTreeSet<u32> {
    if !network.specs.kinds().iter().any(|spec| spec.options.has_small_queue()) {
        return BTreeSet::new();
    }
    let flows = (0..network.flows()).filter(|&flow| network.spec(flow).options.has_small_queue());
    flows.filter_map(|flow| network.route(flow).0.first().copied()).collect()
}

/// What links without events have in common, and the rows that links without state share.
#[derive(Default)]
struct Kinds {
    known: BTreeMap<(u64, u64), u32>,
    shared: BTreeMap<u32, u32>,
}

impl Kinds {
    /// The row of `alike`, which is added if it is new.
    fn of(&mut self, alike: Alike, all: &mut Vec<Alike>) -> u32 {
        let key = (alike.rate_bps.to_bits(), alike.delay_s.to_bits());
        *self.known.entry(key).or_insert_with(|| {
            all.push(alike);
            all.len() as u32 - 1
        })
    }

    /// The row of all folds of this kind that need no state, if there are not too many kinds.
    fn shared(&mut self, kind: u32, folds: &mut Vec<Fold>) -> Option<u32> {
        let known = self.shared.get(&kind).copied();
        if known.is_some() || self.shared.len() == KINDS_SHARED {
            return known;
        }
        let row = folds.len() as u32;
        folds.push(Fold::new(kind));
        self.shared.insert(kind, row);
        Some(row)
    }
}
