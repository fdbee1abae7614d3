//! ## HTB
//!
//! Hierarchical token bucket of two levels: the root with `rate`, and up to eight classes below, each with a child of
//! its own. A class is sure of its `rate_N` and may borrow from the root up to `ceil_N`. A packet's class number names
//! its class, as in WRR; numbers from `classes` on count as the last class. Of classes that may send, the lowest
//! `prio_N` is first; equals take turns of a `quantum`.
//!
//! Each class, and the root, has two buckets: one of `burst` bytes for its rate, one of `cburst` bytes for its ceil. A
//! packet may take a bucket below 0; time pays the debt off.
//!
//! | event | rule (`net/sched/sch_htb.c`) |
//! |---|---|
//! | the ceil's bucket is below 0 | the class cannot send (`htb_class_mode`) |
//! | else the rate's bucket is below 0 | the class may borrow |
//! | else | the class can send |
//! | arrival | goes to its class's child; a class without waiting packets becomes active (`htb_activate`) |
//! | departure | classes that can send, then those that may borrow if the root can send; lowest `prio` first (`htb_dequeue`) |
//! | turn | a class is served until its deficit is below 0, then earns a quantum, and the next number is served (`htb_dequeue_tree`) |
//! | a class that borrows leaves the turn | its place is remembered: the same number, or the next above, goes on (`htb_lookup_leaf`) |
//! | packet of a class that can send | is taken from both its buckets and both of the root's (`htb_charge_class`) |
//! | packet of a class that borrows | is taken from its ceil's bucket and both of the root's |
//! | no packet may leave | the queue is held until a bucket is at 0, at most 5 s (`htb_do_events`) |
//!
//! ### Source
//! Linux 6.1, `net/sched/sch_htb.c` (M. Devera, 2001); defaults of iproute2's `tc`, `q_htb.c`.
//!
//! ### Differences
//! 1. Classes are numbers of packets, not filters, and there are two levels; Linux has eight. The root's ceil is its rate.
//! 2. Every class has a child of the same discipline and parameters, each with a limit of its own.
//! 3. Unless given, `rate_N` is an equal share of the root's rate, `ceil_N` the root's rate. `tc` wants a rate; its
//!    ceil is that rate.
//! 4. Sizes are TBF's. There is no hysteresis, as by default in Linux.
//! 5. A child that has run empty is asked once more, as a link asks, so that a RED child's average decays while idle.
//!    Linux asks no empty child: its RED's average does not decay.
//! 6. `overlimits` counts requests in vain. Linux also asks when a bucket fills up while no packet waits for it.

mod buckets;
mod parameters;
#[cfg(test)]
mod tests;
mod turn;

use super::ratecfg::{clock, time};
use super::spec::{counted, ParentSpec, CHILD};
use crate::discipline::{Admitted, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::params::{Link, Values};
use crate::parts::class_weights::CLASSES;
use crate::{Packet, Time};
use buckets::{Buckets, Mode};
use parameters::{check, classes, rates, root_rate, OF_CLASS, PARAMS};
use turn::Turn;

/// The declaration.
pub(super) const SPEC: ParentSpec = ParentSpec {
    name: "htb",
    title: "HTB",
    year: 2001,
    summary: "Token buckets of two levels: classes with a rate each, which borrow up to a ceil",
    source: "Devera: Linux net/sched/sch_htb.c, 2001",
    params: PARAMS,
    linux: true,
    check,
    rate: root_rate,
    largest: |_| u32::MAX,
    children: classes,
    build: |values, link, children| Box::new(Htb::new(values, link, children)),
};

/// Longest wait before the queue is looked at again, ns.
const LONGEST_WAIT: i64 = 5_000_000_000;

/// A class and its child.
struct Class {
    child: Box<dyn Discipline>,
    buckets: Buckets,
    prio: usize,
    quantum: i64,
    /// What the class may still send in its turn, bytes: of its own rate, and borrowed.
    deficit: [i64; 2],
    /// Whether the class is in a turn: something waited when it was last looked at.
    active: bool,
    /// Whether the child knows that it is idle.
    idle: bool,
    lends: u64,
    borrows: u64,
}

const OWN: usize = 0;
const BORROWED: usize = 1;

/// A hierarchical token bucket and its children.
struct Htb {
    classes: Vec<Class>,
    root: Buckets,
    /// Classes that can send, and those that may borrow, by priority.
    turns: [[Turn; CLASSES]; 2],
    held: Option<Time>,
    counters: Counters,
    overlimits: u64,
}

impl Htb {
    fn new(values: &Values, link: &Link, children: Vec<Box<dyn Discipline>>) -> Self {
        let class = |(number, child)| {
            let (rate, ceil) = rates(values, link, number);
            let quantum = values.number(PARAMS, "quantum").unwrap_or_else(|| (rate / 80.0).clamp(1e3, 200e3));
            Class {
                child,
                buckets: Buckets::new(values, rate, ceil),
                prio: values.whole(PARAMS, OF_CLASS[number][2]) as usize,
                quantum: quantum as i64,
                deficit: [0; 2],
                active: false,
                idle: true,
                lends: 0,
                borrows: 0,
            }
        };
        let root = root_rate(values, link);
        Htb {
            classes: children.into_iter().enumerate().map(class).collect(),
            root: Buckets::new(values, root, root),
            turns: [[Turn::default(); CLASSES]; 2],
            held: None,
            counters: Counters::default(),
            overlimits: 0,
        }
    }

    /// The turn to which a class belongs if it is active.
    fn turn(&mut self, class: usize) -> Option<(usize, &mut Turn)> {
        let Class { buckets, prio, .. } = &self.classes[class];
        let level = match buckets.mode {
            Mode::Can => OWN,
            Mode::Borrows => BORROWED,
            Mode::Cannot => return None,
        };
        Some((level, &mut self.turns[level][*prio]))
    }

    fn join(&mut self, class: usize) {
        if let Some((_, turn)) = self.turn(class) {
            turn.members |= 1 << class;
        }
    }

    fn leave(&mut self, class: usize) {
        let Some((level, turn)) = self.turn(class) else { return };
        if turn.next == Some(class) {
            if level == OWN {
                turn.pass_on();
            } else {
                (turn.next, turn.left) = (None, Some(class));
            }
        }
        turn.members &= !(1 << class);
    }

    fn deactivate(&mut self, class: usize) {
        self.leave(class);
        self.classes[class].active = false;
    }

    /// Sets a class's mode after `passed` ns, and moves it to the turn of that mode; how long the mode lasts.
    fn change_mode(&mut self, class: usize, passed: i64) -> i64 {
        let (mode, wait) = self.classes[class].buckets.mode(passed);
        if mode != self.classes[class].buckets.mode {
            let active = self.classes[class].active;
            if active {
                self.leave(class);
            }
            self.classes[class].buckets.mode = mode;
            if active {
                self.join(class);
            }
        }
        wait
    }

    /// Changes modes whose time has come (`htb_do_events`).
    fn update(&mut self, now: i64) {
        for class in 0..self.classes.len() {
            let buckets = &self.classes[class].buckets;
            if buckets.due.is_some_and(|due| due <= now) {
                let wait = self.change_mode(class, buckets.passed(now));
                self.classes[class].buckets.wait(now, wait);
            }
        }
        if self.root.due.is_some_and(|due| due <= now) {
            let (mode, wait) = self.root.mode(self.root.passed(now));
            self.root.mode = mode;
            self.root.wait(now, wait);
        }
    }

    /// Pays for a packet that `class` sends at `level` (`htb_charge_class`).
    fn charge(&mut self, class: usize, level: usize, bytes: u32, now: i64) {
        let borrows = level == BORROWED;
        let payer = &mut self.classes[class];
        payer.lends += u64::from(!borrows);
        payer.borrows += u64::from(borrows);
        payer.buckets.pay(now, bytes, borrows);
        let before = payer.buckets.mode;
        let wait = self.change_mode(class, 0);
        let buckets = &mut self.classes[class].buckets;
        if buckets.mode != before {
            buckets.wait(now, wait);
        }
        self.root.pay(now, bytes, false);
        let (mode, wait) = self.root.mode(0);
        if mode != self.root.mode {
            self.root.mode = mode;
            self.root.wait(now, wait);
        }
    }

    /// The next packet of a turn and its class (`htb_dequeue_tree`).
    fn serve(&mut self, level: usize, prio: usize, now: Time, on_drop: &mut OnDrop<'_>) -> Option<(usize, Packet)> {
        let mut start = None;
        loop {
            let class = self.turns[level][prio].current()?;
            if start == Some(class) {
                return None;
            }
            if self.classes[class].child.packets() == 0 {
                // The child dropped what waited.
                self.deactivate(class);
                continue;
            }
            start = start.or(Some(class));
            let child = &mut *self.classes[class].child;
            let packet = counted(&mut self.counters, child, on_drop, |child, on_drop| child.dequeue(now, on_drop));
            match packet {
                Some(packet) => return Some((class, packet)),
                None => self.turns[level][prio].pass_on(),
            }
        }
    }

    /// An arrival; `enter` offers it to its class's child.
    fn arrive(
        &mut self,
        packet: Packet,
        on_drop: &mut OnDrop<'_>,
        enter: impl FnOnce(&mut dyn Discipline, Packet, &mut OnDrop<'_>) -> Option<Admitted>,
    ) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let class = usize::from(packet.class).min(self.classes.len() - 1);
        self.classes[class].idle = false;
        let child = &mut *self.classes[class].child;
        let admitted = counted(&mut self.counters, child, on_drop, |child, on_drop| enter(child, packet, on_drop));
        if admitted.is_some() {
            if !self.classes[class].active {
                self.classes[class].active = true;
                self.join(class);
            }
            // Linux tries at each arrival whether a packet may leave.
            self.held = None;
        }
        admitted
    }

    /// Sets when to look again while packets wait: at the next change of a mode, or when a child lets a packet go.
    fn wait(&mut self, now: Time) {
        let ns = clock(now);
        self.overlimits += 1;
        let modes = self.classes.iter().map(|class| &class.buckets).chain([&self.root]).filter_map(|one| one.due);
        let next = time(modes.chain([ns + LONGEST_WAIT]).min().unwrap_or(ns));
        let children = self.classes.iter().filter_map(|class| class.child.held_until());
        self.held = Some(children.filter(|&until| until > now).fold(next, |one, other| one.min(other)));
    }
}

impl Discipline for Htb {
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue(packet, now, on_drop))
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue_with(packet, header, now, on_drop))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        self.held = None;
        for class in self.classes.iter_mut().filter(|class| !class.idle && class.child.packets() == 0) {
            class.child.dequeue(now, on_drop);
            class.idle = true;
        }
        if self.packets() == 0 {
            return None;
        }
        let ns = clock(now);
        self.update(ns);
        for level in [OWN, BORROWED] {
            if level == BORROWED && self.root.mode != Mode::Can {
                continue;
            }
            for prio in 0..CLASSES {
                let Some((class, packet)) = self.serve(level, prio, now, on_drop) else { continue };
                let served = &mut self.classes[class];
                served.deficit[level] -= i64::from(packet.size);
                if served.deficit[level] < 0 {
                    served.deficit[level] += served.quantum;
                    self.turns[level][prio].pass_on();
                }
                if served.child.packets() == 0 {
                    self.deactivate(class);
                }
                self.charge(class, level, packet.size, ns);
                self.counters.depart(&packet);
                return Some(packet);
            }
        }
        if self.packets() > 0 {
            self.wait(now);
        }
        None
    }

    fn held_until(&self) -> Option<Time> {
        self.held
    }

    fn reads_headers(&self) -> bool {
        self.classes.iter().any(|class| class.child.reads_headers())
    }

    fn washes(&self, class: u8) -> bool {
        self.classes[usize::from(class).min(self.classes.len() - 1)].child.washes(class)
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        for (number, class) in self.classes.iter().enumerate() {
            class.child.waiting(&mut |queue, packet| out(number << CHILD | queue, packet));
        }
    }

    fn packets(&self) -> u64 {
        self.classes.iter().map(|class| class.child.packets()).sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(|class| class.child.bytes()).sum()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        for class in &mut self.classes {
            class.child.reset_counters();
            (class.lends, class.borrows) = (0, 0);
        }
        (self.counters, self.overlimits) = (Counters::default(), 0);
    }

    fn watches_departures(&self) -> bool {
        self.classes.iter().any(|class| class.child.watches_departures())
    }

    fn next_timer(&self) -> Option<Time> {
        self.classes.iter().filter_map(|class| class.child.next_timer()).reduce(Time::min)
    }

    fn on_timer(&mut self, now: Time) {
        for class in &mut self.classes {
            if class.child.next_timer().is_some_and(|due| due <= now) {
                class.child.on_timer(now);
            }
        }
    }

    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        out(None, "sent_packets", self.counters.departures as f64);
        out(None, "sent_bytes", self.counters.departed_bytes as f64);
        out(None, "overlimits", self.overlimits as f64);
        for (number, class) in self.classes.iter().enumerate() {
            let counters = class.child.counters();
            for (name, value) in [
                ("sent_packets", counters.departures),
                ("sent_bytes", counters.departed_bytes),
                ("drops", counters.drops()),
                ("marks", counters.marks),
                ("lends", class.lends),
                ("borrows", class.borrows),
            ] {
                out(Some(number), name, value as f64);
            }
        }
    }
}
