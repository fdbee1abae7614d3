//! # REM
//!
//! ## What it does
//! Random exponential marking. The link has a price, which rises while more arrives than it can send and while the
//! queue is above `q_ref` (`b*` in the paper). Every `tupdate`, with `x` packets arrived since the last update and `b`
//! waiting,
//!
//! `price = max(0, price + gamma (alpha (b - q_ref) + x - c))`, `p = 1 - phi^(-price)`,
//!
//! where `c` is what the link can send meanwhile. A packet is signalled with probability `p`, independently. Prices of
//! several links add up along a path: the probability to pass them all is `phi^-(sum of prices)`.
//!
//! ## Source
//! S. Athuraliya, S. H. Low, V. H. Li, Q. Yin, "REM: active queue management", IEEE Network 15(3), 2001. The paper's
//! text was not at hand: the law is as the literature quotes it and as ns-2.35 `queue/rem.cc` runs it, compared with
//! ns-2 arrival by arrival.
//!
//! ## Differences
//! 1. `alpha` is a constant of 0.1 in ns-2's code. Here it is a parameter with that default.
//! 2. `mode = "drop"`, ns-2's default, decides at enqueue, with one random number for each arrival that finds room,
//!    also while `p` is 0. `mode = "mark"` decides at dequeue, with one number each time the link asks, even if no
//!    packet waits; a packet that cannot be marked passes. So `"mark"` needs `ecn`.
//! 3. In drop mode ns-2 drops what is hit. Here, as in every discipline, the signal is a mark with `ecn` if the packet
//!    can be marked.
//! 4. Every arrival counts into `x`, even if it is dropped, early or at a full buffer. The packet in transmission is
//!    not part of `b`. Both are ns-2's.
//! 5. In the dialect ns2 a limit of N holds N - 1 packets (tested after adding, with >=), and with
//!    `unit = "byte"` a limit in packets means packets of `mean_packet`. In the dialect paper a limit of N holds N.
//! 6. `unit = "byte"` makes the probability proportional to the packet's size; ns-2 lets it pass 1, to the same effect
//!    as 1.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! // 10 Mbit/s send 2.5 packets of 1000 B in 2 ms.
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(50);
//! let catalogue::Built::Policy(rem) = (catalogue::find("rem").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(rem, limit, false, Generator::stream(1, "queue")));
//! for _ in 0..24 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! queue.on_timer(queue.next_timer().unwrap());
//! let mut price = 0.0;
//! queue.gauges(&mut |name, value| if name == "price" { price = value });
//! // 24 waiting, 4 above the reference; 24 arrived, 21.5 more than could leave.
//! assert!((price - 0.001 * (0.1 * 4.0 + 21.5)).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::independent;
use crate::parts::measure::{self, Measure};
use crate::parts::ticks::Ticks;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::{Packet, Time};
use std::any::Any;

words! {
    /// When the decision is taken.
    enum Mode {
        /// When a packet arrives: it is dropped, or marked.
        Drop = "drop",
        /// When a packet leaves: it is marked, or passes.
        Mark = "mark",
    }
}

words! {
    /// How the limit is tested.
    enum Dialect {
        /// N packets or bytes fit.
        Paper = "paper",
        /// As in ns-2.35, `queue/rem.cc`.
        Ns2 = "ns2",
    }
}

const PARAMS: [Param; 10] = [
    Param::real("gamma", Unit::None, Kind::above(0.0, 1e3), 0.001)
        .symbol("\\gamma")
        .says("ns-2.35", "How fast the price moves, 1/packet."),
    Param::real("phi", Unit::None, Kind::above(1.0, 1e3), 1.001)
        .symbol("\\phi")
        .says("ns-2.35", "Base of the exponential law."),
    Param::real("alpha", Unit::None, Kind::real(0.0, 1e3), 0.1)
        .symbol("\\alpha")
        .says("ns-2.35, a constant there", "Weight of the queue against the load."),
    measure::q_ref("b^*", 20.0, "ns-2.35"),
    measure::tupdate("T", Value::Real(0.002), false, "ns-2.35"),
    Param::real("w_in", Unit::None, Kind::above(0.0, 1.0), 1.0)
        .symbol("w")
        .says("ns-2.35 (inw_)", "Weight of the latest interval in the averaged load; 1 does not average."),
    Param::word("mode", Mode::WORDS, "drop").says(
        "ns-2.35 (markpkts_)",
        "drop: decides at arrival; mark: at departure, and packets that cannot be marked pass (needs ecn).",
    ),
    Param::word("dialect", Dialect::WORDS, "paper").says(
        "our choice: they differ in the limit only",
        "ns2: a limit of N holds N - 1, in packets of mean_packet where the queue is measured in bytes.",
    ),
    measure::unit("packet", "ns-2.35 (qib_)"),
    measure::mean_packet(1000.0, "ns-2.35"),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Random exponential marking: a price from load and queue, and a probability exponential in it",
    source: "Athuraliya, Low, Li, Yin: REM: active queue management, IEEE Network 15(3), 2001",
    params: &[&PARAMS],
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(read(values, link)?))),
    ..AqmSpec::named("rem", "REM", "load and queue control", 2001)
};

fn read(values: &Values, link: &Link) -> Result<Rem, ParamError> {
    let real = |name| values.real(&PARAMS, name);
    let measure = Measure::read(values, &PARAMS);
    Ok(Rem {
        gamma: real("gamma"),
        phi: real("phi"),
        alpha: real("alpha"),
        q_ref: measure.queue_length(values, &PARAMS, "q_ref")?,
        w_in: real("w_in"),
        sendable: real("tupdate") * measure.capacity(link),
        mode: values.choice(&PARAMS, "mode"),
        dialect: values.choice(&PARAMS, "dialect"),
        measure,
        ticks: Ticks::every(real("tupdate")),
        arrived: 0,
        load: 0.0,
        price: 0.0,
        p: 0.0,
    })
}

/// The policy.
pub struct Rem {
    /// gamma, the step of the price, 1/packet.
    gamma: f64,
    /// phi, the base of the exponential law.
    phi: f64,
    /// alpha, the weight of the queue against the load.
    alpha: f64,
    /// b*, the queue aimed at, packets.
    q_ref: f64,
    /// Weight of the latest interval in `load`.
    w_in: f64,
    /// Packets that the link can send between two updates.
    sendable: f64,
    /// When the decision is taken.
    mode: Mode,
    /// How the limit is tested.
    dialect: Dialect,
    /// Packets or bytes.
    measure: Measure,
    /// When the price is updated.
    ticks: Ticks,
    /// Packets or bytes since the last update.
    arrived: u64,
    /// Averaged arrivals of an interval, packets.
    load: f64,
    /// p_l(t), the price.
    price: f64,
    /// The probability of a drop or mark, for a packet of `mean_packet` bytes.
    p: f64,
}

impl Rem {
    fn p_of(&self, packet: &Packet) -> f64 {
        if self.measure.bytes {
            measure::in_proportion(self.p, packet, self.measure.mean_packet)
        } else {
            self.p
        }
    }
}

impl Rem {
    /// Updates price and load after an interval that ends with a queue of `length`.
    fn update_price(&mut self, length: f64) {
        self.load *= 1.0 - self.w_in;
        self.load += self.measure.in_packets(self.w_in * self.arrived as f64);
        let excess = self.load + self.alpha * (length - self.q_ref) - self.sendable;
        self.price = (self.price + self.gamma * excess).max(0.0);
        self.arrived = 0;
    }
}

impl Policy for Rem {
    fn needs(&self) -> Needs {
        Needs { dequeue: self.mode == Mode::Mark, contents: false }
    }

    fn room(&self, limit: Limit) -> Room {
        match (self.dialect, limit) {
            (Dialect::Paper, limit) => Room::holding(limit),
            (Dialect::Ns2, Limit::Packets(n)) if self.measure.bytes => {
                Room::BytesWithArrivalBelow((n as f64 * self.measure.mean_packet) as u64)
            }
            (Dialect::Ns2, Limit::Packets(n)) => Room::PacketsBelow(n.saturating_sub(1)),
            (Dialect::Ns2, Limit::Bytes(n)) => Room::BytesWithArrivalBelow(n),
        }
    }

    fn on_enqueue(&mut self, packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.arrived += self.measure.amount(packet);
        if self.mode == Mode::Mark || !cx.has_room {
            return Verdict::Pass;
        }
        independent::draw(self.p_of(packet), cx)
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if independent::hit(packet.map_or(0.0, |packet| self.p_of(packet)), cx) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        self.update_price(self.measure.length(queue));
        self.p = 1.0 - libm::pow(self.phi, -self.price);
        self.ticks.advance();
    }

    /// [`Policy::on_timer`] one by one; the probability is computed from the last price only.
    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, _cx: &mut Context<'_>) -> Option<(u64, Time)> {
        let length = self.measure.length(queue);
        let mut ran = None;
        while self.ticks.next() < until {
            let before = (self.load.to_bits(), self.price.to_bits(), self.arrived);
            self.update_price(length);
            ran = Some((ran.map_or(1, |(count, _)| count + 1), self.ticks.next()));
            self.ticks.advance();
            if before == (self.load.to_bits(), self.price.to_bits(), self.arrived) {
                let (skipped, last) = self.ticks.skip(until);
                ran = ran.map(|(count, time)| (count + skipped, if skipped > 0 { last } else { time }));
            }
        }
        if ran.is_some() {
            self.p = 1.0 - libm::pow(self.phi, -self.price);
        }
        ran
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("price", self.price);
        out("p", self.p);
        out("load", self.load);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        (self.arrived, self.load) = (before.arrived, before.load);
        (self.price, self.p) = (before.price, before.p);
        self.ticks.resume(&before.ticks);
        self.measure.bytes == before.measure.bytes && self.dialect == before.dialect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;

    /// The link sends 2.5 packets of 1000 B in 2 ms.
    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn rem(pairs: &[(&'static str, Value)]) -> Rem {
        let values = Values::of(pairs);
        read(&values, &LINK).unwrap()
    }

    fn holding(packets: u64, bytes: u64) -> QueueView<'static> {
        QueueView { packets, bytes, idle_since: None, contents: None }
    }

    /// What `ask` returns if every random number is `u`, and how many numbers it took.
    fn with<T>(u: f64, has_room: bool, ask: impl FnOnce(&mut Context<'_>) -> T) -> (T, u64) {
        let draws = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&draws);
        let mut random = Generator::custom(move || {
            count.fetch_add(1, Ordering::Relaxed);
            u
        });
        let mut victims = Vec::new();
        let mut cx = Context { now: Time::ZERO, ecn: true, has_room, random: &mut random, victims: &mut victims };
        let answer = ask(&mut cx);
        (answer, draws.load(Ordering::Relaxed))
    }

    fn arrival(rem: &mut Rem, size: u32, u: f64, has_room: bool) -> (Verdict, u64) {
        with(u, has_room, |cx| rem.on_enqueue(&Packet::new(1, size), &holding(0, 0), cx))
    }

    fn tick(rem: &mut Rem, queue: &QueueView<'_>) -> f64 {
        with(0.5, true, |cx| rem.on_timer(queue, cx));
        rem.price
    }

    #[test]
    fn one_packet_above_the_reference_at_full_load_adds_1e_4_an_update() {
        let mut rem = rem(&[]);
        let queue = holding(21, 21_000);
        // Two and three packets by turns are the 2.5 that the link sends in an interval.
        let mut price = tick(&mut rem, &holding(1000, 0));
        for _ in 0..500 {
            let before = price;
            for packets in [2, 3] {
                for _ in 0..packets {
                    arrival(&mut rem, 1000, 1.0, true);
                }
                price = tick(&mut rem, &queue);
            }
            assert!((price - before - 2e-4).abs() < 1e-12);
        }
    }

    #[test]
    fn at_the_reference_and_full_load_the_price_stands_still_and_never_falls_below_0() {
        let mut rem = rem(&[("mean_packet", Value::Real(1250.0))]);
        let still = |rem: &mut Rem, waiting| {
            arrival(rem, 1250, 1.0, true);
            arrival(rem, 1250, 1.0, true);
            tick(rem, &holding(waiting, 0))
        };
        assert_eq!(still(&mut rem, 20), 0.0);
        assert!(still(&mut rem, 21) > 0.0);
        assert_eq!(still(&mut rem, 19), 0.0);
        assert_eq!(still(&mut rem, 0), 0.0);
        assert!(still(&mut rem, 21) > 0.0, "the price does not go into debt");
    }

    #[test]
    fn the_probability_is_exponential_in_the_price() {
        let mut rem = rem(&[("gamma", Value::Real(1.0)), ("phi", Value::Real(2.0)), ("alpha", Value::Real(1.0))]);
        for (waiting, p) in [(23, 1.0 - 2.0_f64.powf(-0.5)), (23, 0.5), (23, 1.0 - 2.0_f64.powf(-1.5)), (1023, 1.0)] {
            tick(&mut rem, &holding(waiting, 0));
            assert!((rem.p - p).abs() < 1e-15, "{} instead of {p}", rem.p);
        }
        assert_eq!(arrival(&mut rem, 1000, 1.0, true).0, Verdict::Signal(Reason::Forced));
    }

    #[test]
    fn drop_mode_draws_once_for_each_arrival_with_room() {
        let mut rem = rem(&[("gamma", Value::Real(1.0)), ("phi", Value::Real(2.0)), ("alpha", Value::Real(1.0))]);
        assert_eq!(arrival(&mut rem, 1000, 0.0, true), (Verdict::Pass, 1));
        tick(&mut rem, &holding(23, 0));
        // One packet arrived, 2.5 could have left: the price is 3 - 1.5.
        let p = 1.0 - 2.0_f64.powf(-1.5);
        assert_eq!(arrival(&mut rem, 1000, p - 1e-9, true), (Verdict::Signal(Reason::Early), 1));
        assert_eq!(arrival(&mut rem, 1000, p + 1e-9, true), (Verdict::Pass, 1));
        assert_eq!(arrival(&mut rem, 1000, 0.0, false), (Verdict::Pass, 0));
        assert_eq!(rem.arrived, 3, "what finds no room counts as load");
        assert_eq!(rem.needs(), Needs::default());
    }

    #[test]
    fn mark_mode_decides_at_dequeue_and_draws_for_an_empty_queue_too() {
        let mut rem = rem(&[("mode", Value::Choice("mark")), ("phi", Value::Real(2.0)), ("gamma", Value::Real(1.0))]);
        tick(&mut rem, &holding(1020, 0));
        assert_eq!(arrival(&mut rem, 1000, 0.0, true), (Verdict::Pass, 0));
        let packet = Packet::new(1, 1000);
        let asked = |rem: &mut Rem, packet| with(0.5, true, |cx| rem.on_dequeue(packet, &holding(0, 0), cx));
        assert_eq!(asked(&mut rem, Some(&packet)), (Verdict::Mark, 1));
        assert_eq!(asked(&mut rem, None), (Verdict::Pass, 1));
        assert!(rem.needs().dequeue);
    }

    #[test]
    fn byte_mode_counts_bytes_and_scales_the_probability() {
        let mut rem = rem(&[("unit", Value::Choice("byte")), ("gamma", Value::Real(1.0)), ("phi", Value::Real(2.0))]);
        arrival(&mut rem, 3500, 1.0, true);
        // 3.5 packets' bytes arrived, 2.5 could leave; 30 packets' bytes wait: 1 + 0.1 * 10.
        assert!((tick(&mut rem, &holding(5, 30_000)) - 2.0).abs() < 1e-12);
        assert!((rem.p - 0.75).abs() < 1e-12);
        let small = Packet::new(1, 500);
        assert!((rem.p_of(&small) - 0.375).abs() < 1e-12);
        assert_eq!(rem.p_of(&Packet::new(1, 1500)), 1.0);
    }

    #[test]
    fn the_load_can_be_averaged() {
        let mut rem = rem(&[("w_in", Value::Real(0.25))]);
        for _ in 0..4 {
            arrival(&mut rem, 1000, 1.0, true);
        }
        tick(&mut rem, &holding(0, 0));
        assert_eq!(rem.load, 1.0);
        tick(&mut rem, &holding(0, 0));
        assert_eq!(rem.load, 0.75);
    }

    #[test]
    fn ns2_holds_one_packet_less() {
        let (byte, ns2) = (("unit", Value::Choice("byte")), ("dialect", Value::Choice("ns2")));
        assert_eq!(rem(&[]).room(Limit::Packets(50)), Room::PacketsBelow(50));
        assert_eq!(rem(&[ns2]).room(Limit::Packets(50)), Room::PacketsBelow(49));
        assert_eq!(rem(&[ns2, byte]).room(Limit::Packets(50)), Room::BytesWithArrivalBelow(50_000));
        assert_eq!(rem(&[ns2, byte]).room(Limit::Bytes(700)), Room::BytesWithArrivalBelow(700));
    }

    #[test]
    fn the_first_update_comes_one_interval_after_the_start() {
        let mut rem = rem(&[]);
        assert_eq!(rem.next_timer(), Some(Time::from_seconds(0.002)));
        tick(&mut rem, &holding(0, 0));
        assert_eq!(rem.next_timer(), Some(Time::from_seconds(0.004)));
    }
}
