//! # PI2
//!
//! ## What it does
//! One FIFO with a PI controller. Its output is not the drop probability but a number in proportion to the load, so
//! that one pair of gains suits every load. Every `tupdate`:
//!
//! `p = p + alpha (delay - target) + beta (delay - delay_old)`, between 0 and 1
//!
//! and after two updates without delay `p = 0.98 p`.
//!
//! An arrival is signalled
//!
//! | packet | with probability |
//! |---|---|
//! | of a scalable sender (`scalable`), if it can be marked | `p`: a mark |
//! | any other | `(p/k)^2`: a mark if it can be marked, else a drop |
//!
//! Reno's window goes with `1/sqrt(p)` and DCTCP's with `1/p`: the square makes them equals in one queue. To hit, two
//! random numbers must be below `p/k`. Nothing is signalled while less than two packets of `mtu` wait.
//!
//! `dualpi2` has the same controller over two queues, with less delay for the scalable senders. Its probability for
//! classic packets is `p'^2` and for the others `k p'`: `p` here is `k p'` there.
//!
//! ## Source
//! K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: A linearized AQM for both classic and scalable TCP", ACM
//! CoNEXT 2016. Its text was not at hand; the rules are those of the authors' Linux module `sch_pi2.c` (2016,
//! <https://github.com/olgabo/dualpi2>).
//!
//! ## Differences
//! 1. The module takes ECT(0) and ECT(1) for scalable ("for now"). Here `scalable = "ect1"` by default, as RFC 9331 has
//!    it: ECT(1) and CE; ECT(0) is a classic sender's. `all` is the module's, `none` squares for everyone.
//! 2. The module measures delay as backlog over a measured rate of departures. `latency = "timestamp"` takes the last
//!    packet's wait, or none after a departure that left the queue empty, as PIE does now.
//! 3. The module has a second queue and a step for the scalable packets, off by default; for those there is `dualpi2`.
//! 4. The module's integers (32 bits of probability, ticks of 64 ns) are doubles here.
//! 5. A certain classic drop (`p = 1` and `k = 1`) counts as forced, any other as early.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("latency", Value::Choice("timestamp"));
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(policy) = (catalogue::find("pi2").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! // A packet waited 30 ms; one update then gives p = 0.625 * 10 ms + 6.25 * 30 ms.
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! queue.dequeue(Time::from_seconds(0.03), &mut |_, _| {});
//! let due = queue.next_timer().unwrap();
//! queue.on_timer(due);
//! queue.gauges(&mut |name, value| {
//!     match name {
//!         "p" => assert!((value - 0.19375).abs() < 1e-12),
//!         "p_c" => assert!((value - 0.096875 * 0.096875).abs() < 1e-12),
//!         _ => {}
//!     }
//! });
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{words, Kind, Param, Unit, Values, Word};
use crate::parts::ticks::{self, Ticks};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Ecn, Packet, Time};
use std::any::Any;

words! {
    /// Whose packets are marked without the square.
    enum Scalable {
        /// No sender's.
        None = "none",
        /// Packets with ECT(1) or CE (RFC 9331).
        Ect1 = "ect1",
        /// All ECN-capable packets (`sch_pi2.c`).
        All = "all",
    }
}

words! {
    /// How the delay is measured.
    enum Latency {
        /// The backlog over a measured rate of departures.
        Rate = "rate",
        /// How long the last packet waited.
        Timestamp = "timestamp",
    }
}

const PARAMS: [Param; 9] = [
    Param::real("target", Unit::Seconds, Kind::real(0.0, 1e6), 0.02)
        .symbol("\\tau_0")
        .says("sch_pi2.c", "Queueing delay that the controller aims at."),
    Param::real("tupdate", Unit::Seconds, Kind::real(0.001, 1e6), 0.03)
        .symbol("T")
        .says("sch_pi2.c", "Time between two updates of p."),
    Param::real("alpha", Unit::None, Kind::real(0.0, 1e6), 0.625)
        .symbol("\\alpha")
        .says("sch_pi2.c: 10/16", "Gain on the deviation of the delay from target, 1/s."),
    Param::real("beta", Unit::None, Kind::real(0.0, 1e6), 6.25)
        .symbol("\\beta")
        .says("sch_pi2.c: 100/16", "Gain on the change of the delay since the last update, 1/s."),
    Param::real("k", Unit::None, Kind::real(1.0, 255.0), 2.0)
        .symbol("k")
        .says("sch_pi2.c", "Coupling factor: classic packets are signalled with probability (p/k)^2, 1/k^2 at most."),
    Param::word("scalable", Scalable::WORDS, "ect1").says(
        "RFC 9331; sch_pi2.c: all",
        "Packets that are marked with probability p: none, those with ECT(1) or CE, or all ECN-capable ones.",
    ),
    Param::word("latency", Latency::WORDS, "rate").says(
        "sch_pi2.c",
        "The delay: the backlog over a measured rate of departures, or how long the last packet waited.",
    ),
    Param::whole("mtu", Unit::Bytes, (1, 65_535), 1514)
        .says("sch_pi2.c: psched_mtu", "Nothing is signalled while fewer bytes than two packets of this size wait."),
    Param::flag("byte_scaling", false)
        .says("sch_pi2.c: bytemode", "p is in proportion to the packet's size, up to mtu."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "PIE without its table of gains: squared probability for classic, linear for scalable senders",
    source:
        "De Schepper, Bondarenko, Tsang, Briscoe: PI2: A linearized AQM for both classic and scalable TCP, CoNEXT 2016",
    params: &[&PARAMS],
    linux: true,
    limit: DefaultLimit::Packets { packets: 1000, source: "sch_pi2.c" },
    build: &|values, _, _| Ok(Built::Policy(Box::new(Pi2::new(values)))),
    ..AqmSpec::named("pi2", "PI2", "sojourn time", 2016)
};

/// When the module's timer runs first (`pi2_init`), s.
const FIRST_UPDATE: f64 = 0.5;
/// QUEUE_THRESHOLD, bytes: the rate of departures is measured over so many, and only while as many wait.
const QUEUE_THRESHOLD: f64 = 10_000.0;

/// The parameters.
struct Settings {
    /// Delay that the controller aims at, s.
    target: f64,
    /// Gain on the deviation of the delay from the target, 1/s.
    alpha: f64,
    /// Gain on the change of the delay, 1/s.
    beta: f64,
    /// Coupling factor.
    k: f64,
    /// Whose packets are marked without the square.
    scalable: Scalable,
    /// How the delay is measured.
    latency: Latency,
    /// Largest packet, bytes.
    mtu: f64,
    /// Whether p is in proportion to the packet's size.
    byte_scaling: bool,
}

/// The state of the queue.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// p, the controller's output.
    p: f64,
    /// The delay at the last update, s.
    qdelay: f64,
    /// How long the last packet waited, s; 0 if it left the queue empty.
    sojourn: f64,
    /// Start of the present measurement of the departures, and bytes so far.
    measuring: Option<(Time, f64)>,
    /// avg_dq_rate, bytes/s; 0 if unknown.
    rate: f64,
}

/// The policy.
pub struct Pi2 {
    /// The parameters.
    set: Settings,
    /// The state of the queue.
    state: State,
    /// When p is updated.
    ticks: Ticks,
}

impl Pi2 {
    fn new(values: &Values) -> Self {
        let number = |name| values.real(&PARAMS, name);
        let set = Settings {
            target: number("target"),
            alpha: number("alpha"),
            beta: number("beta"),
            k: number("k"),
            scalable: values.choice(&PARAMS, "scalable"),
            latency: values.choice(&PARAMS, "latency"),
            mtu: number("mtu"),
            byte_scaling: values.flag(&PARAMS, "byte_scaling"),
        };
        let ticks = Ticks::from(Time::from_seconds(FIRST_UPDATE), number("tupdate"));
        Pi2 { set, state: State::default(), ticks }
    }

    /// Whether `packet` is a scalable sender's.
    fn is_scalable(&self, packet: &Packet) -> bool {
        match self.set.scalable {
            Scalable::None => false,
            Scalable::Ect1 => matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce),
            Scalable::All => packet.ecn.is_capable(),
        }
    }

    /// p for a packet of `size` bytes.
    fn scaled(&self, size: u32) -> f64 {
        let factor = f64::from(size) / self.set.mtu;
        if self.set.byte_scaling && factor <= 1.0 {
            self.state.p * factor
        } else {
            self.state.p
        }
    }

    /// pi2_process_dequeue: a packet of `size` bytes has left, and `bytes` wait behind it.
    fn measure(&mut self, size: u32, bytes: u64, now: Time) {
        let state = &mut self.state;
        let enough = bytes as f64 >= QUEUE_THRESHOLD;
        if enough && state.measuring.is_none() {
            state.measuring = Some((now, 0.0));
        }
        let Some((start, count)) = &mut state.measuring else { return };
        *count += f64::from(size);
        let time = now - *start;
        if *count < QUEUE_THRESHOLD || time <= 0.0 {
            return;
        }
        let rate = *count / time;
        state.rate = if state.rate > 0.0 { state.rate - state.rate / 8.0 + rate / 8.0 } else { rate };
        state.measuring = enough.then_some((now, 0.0));
    }

    /// The delay while `bytes` wait, s.
    fn delay(&self, bytes: u64) -> f64 {
        match self.set.latency {
            Latency::Timestamp => self.state.sojourn,
            Latency::Rate if self.state.rate > 0.0 => bytes as f64 / self.state.rate,
            Latency::Rate => 0.0,
        }
    }
}

impl Policy for Pi2 {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    /// drop_early of the module.
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if !cx.has_room || (queue.bytes as f64) < 2.0 * self.set.mtu {
            return Verdict::Pass;
        }
        let p = self.scaled(packet.size);
        if cx.can_mark(packet) && self.is_scalable(packet) {
            return if cx.random.uniform() < p { Verdict::Mark } else { Verdict::Pass };
        }
        // "Think twice to drop": the second number is drawn only if the first is below p/k.
        let root = p / self.set.k;
        if cx.random.uniform() < root && cx.random.uniform() < root {
            return Verdict::Signal(if root < 1.0 { Reason::Early } else { Reason::Forced });
        }
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if let Some(packet) = packet {
            match self.set.latency {
                Latency::Rate => self.measure(packet.size, queue.bytes, cx.now),
                Latency::Timestamp if queue.packets == 0 => self.state.sojourn = 0.0,
                Latency::Timestamp => self.state.sojourn = cx.now - packet.enqueued,
            }
        }
        Verdict::Pass
    }

    fn only_observes_departures(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    /// calculate_probability of the module.
    fn on_timer(&mut self, queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        let (delay, old) = (self.delay(queue.bytes), self.state.qdelay);
        let change = self.set.alpha * (delay - self.set.target) + self.set.beta * (delay - old);
        self.state.p = (self.state.p + change).clamp(0.0, 1.0);
        // A delay of 0 while packets wait is a delay that is not known yet.
        if delay <= 0.0 && old <= 0.0 && queue.bytes == 0 {
            self.state.p *= 0.98;
        }
        self.state.qdelay = delay;
        self.ticks.advance();
    }

    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, cx: &mut Context<'_>) -> Option<(u64, Time)> {
        ticks::run(self, queue, until, cx, |pi2| (pi2.state.clone(), pi2.state.p.to_bits()), |pi2| &mut pi2.ticks)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let root = self.state.p / self.set.k;
        out("p", self.state.p);
        out("p_c", root * root);
        out("qdelay", self.state.qdelay);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        self.state = before.state.clone();
        self.ticks.resume(&before.ticks);
        self.set.latency == before.set.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const TIMESTAMP: (&str, Value) = ("latency", Value::Choice("timestamp"));

    fn pi2(pairs: &[(&'static str, Value)]) -> Pi2 {
        let values = Values::of(pairs);
        Pi2::new(&values)
    }

    fn view(bytes: u64) -> QueueView<'static> {
        QueueView { packets: bytes.div_ceil(1000), bytes, idle_since: None, contents: None }
    }

    /// What `act` returns with these random numbers, and how many are left.
    fn ask<T>(numbers: &[f64], ms: f64, act: impl FnOnce(&mut Context<'_>) -> T) -> (T, usize) {
        let left = std::sync::Arc::new(std::sync::Mutex::new(numbers.to_vec()));
        let from = left.clone();
        let mut random = Generator::custom(move || from.lock().unwrap().remove(0));
        let now = Time::from_seconds(ms * 1e-3);
        let mut cx = Context { now, ecn: true, has_room: true, random: &mut random, victims: &mut Vec::new() };
        let answer = act(&mut cx);
        let count = left.lock().unwrap().len();
        (answer, count)
    }

    /// p after an update with a delay of `delay_ms`.
    fn update(policy: &mut Pi2, delay_ms: f64, bytes: u64) -> f64 {
        policy.state.sojourn = delay_ms * 1e-3;
        ask(&[], 0.0, |cx| policy.on_timer(&view(bytes), cx));
        policy.state.p
    }

    fn arrival(policy: &mut Pi2, ecn: Ecn, size: u32, numbers: &[f64]) -> (Verdict, usize) {
        let packet = Packet { ecn, ..Packet::new(1, size) };
        ask(numbers, 0.0, |cx| policy.on_enqueue(&packet, &view(50_000), cx))
    }

    #[test]
    fn the_gains_are_the_same_at_every_probability() {
        for start in [0.0, 1e-6, 0.01, 0.5] {
            let mut policy = pi2(&[TIMESTAMP]);
            policy.state = State { p: start, qdelay: 0.02, ..State::default() };
            // p grows by 0.625 * 10 ms + 6.25 * 10 ms, then by 0.625 * 10 ms alone.
            assert!((update(&mut policy, 30.0, 5000) - (start + 0.06875)).abs() < 1e-12);
            assert!((update(&mut policy, 30.0, 5000) - (start + 0.075)).abs() < 1e-12);
            assert!((update(&mut policy, 20.0, 5000) - (start + 0.0125)).abs() < 1e-12);
        }
        let mut policy = pi2(&[TIMESTAMP]);
        assert_eq!(update(&mut policy, 1000.0, 5000), 1.0, "no more than 1");
        assert_eq!(update(&mut policy, 0.0, 5000), 0.0, "no less than 0");
    }

    #[test]
    fn p_decays_after_two_updates_with_an_empty_queue() {
        let mut policy = pi2(&[TIMESTAMP]);
        policy.state = State { p: 0.5, qdelay: 0.001, ..State::default() };
        let mut want = 0.5 - 0.625 * 0.02 - 6.25 * 0.001;
        assert!((update(&mut policy, 0.0, 0) - want).abs() < 1e-12, "not after one");
        want = (want - 0.0125) * 0.98;
        assert!((update(&mut policy, 0.0, 0) - want).abs() < 1e-12);
        want -= 0.0125;
        assert!((update(&mut policy, 0.0, 1) - want).abs() < 1e-12, "not while anything waits");
    }

    #[test]
    fn classic_packets_think_twice_and_scalable_ones_do_not() {
        let mut policy = pi2(&[]);
        policy.state.p = 0.5;
        let signal = Verdict::Signal(Reason::Early);
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            assert_eq!(arrival(&mut policy, ecn, 1000, &[0.2499, 0.2499]), (signal, 0));
            assert_eq!(arrival(&mut policy, ecn, 1000, &[0.25, 0.1]), (Verdict::Pass, 1), "one number was enough");
            assert_eq!(arrival(&mut policy, ecn, 1000, &[0.1, 0.25]), (Verdict::Pass, 0));
        }
        for ecn in [Ecn::Ect1, Ecn::Ce] {
            assert_eq!(arrival(&mut policy, ecn, 1000, &[0.4999, 0.9]), (Verdict::Mark, 1));
            assert_eq!(arrival(&mut policy, ecn, 1000, &[0.5, 0.1]), (Verdict::Pass, 1));
        }
    }

    #[test]
    fn whose_packets_are_scalable_is_a_choice() {
        for (word, scalable) in
            [("none", vec![]), ("ect1", vec![Ecn::Ect1, Ecn::Ce]), ("all", vec![Ecn::Ect1, Ecn::Ce, Ecn::Ect0])]
        {
            let mut policy = pi2(&[("scalable", Value::Choice(word))]);
            policy.state.p = 0.5;
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let marked = arrival(&mut policy, ecn, 1000, &[0.4, 0.4]).0 == Verdict::Mark;
                assert_eq!(marked, scalable.contains(&ecn), "{word}: {ecn:?}");
            }
        }
    }

    #[test]
    fn without_marking_scalable_packets_are_classic() {
        let mut policy = pi2(&[]);
        policy.state.p = 0.5;
        let packet = Packet { ecn: Ecn::Ect1, ..Packet::new(1, 1000) };
        let (verdict, left) = ask(&[0.4, 0.1], 0.0, |cx| {
            cx.ecn = false;
            policy.on_enqueue(&packet, &view(50_000), cx)
        });
        assert_eq!((verdict, left), (Verdict::Pass, 1), "0.4 is not below p/k");
    }

    #[test]
    fn two_packets_of_the_mtu_must_wait_and_there_must_be_room() {
        let mut policy = pi2(&[("k", Value::Real(1.0))]);
        policy.state.p = 1.0;
        let packet = Packet::new(1, 1000);
        for (bytes, want) in [(3027, Verdict::Pass), (3028, Verdict::Signal(Reason::Forced))] {
            let numbers = if bytes == 3028 { &[0.9, 0.9][..] } else { &[] };
            assert_eq!(ask(numbers, 0.0, |cx| policy.on_enqueue(&packet, &view(bytes), cx)), (want, 0));
        }
        let (verdict, _) = ask(&[], 0.0, |cx| {
            cx.has_room = false;
            policy.on_enqueue(&packet, &view(50_000), cx)
        });
        assert_eq!(verdict, Verdict::Pass, "nothing is drawn for a packet that does not fit");
    }

    #[test]
    fn byte_scaling_is_in_proportion_up_to_the_mtu() {
        let given = [("byte_scaling", Value::Flag(true)), ("mtu", Value::Whole(1000))];
        let mut policy = pi2(&given);
        policy.state.p = 0.8;
        for (size, p) in [(500, 0.4), (1000, 0.8), (1001, 0.8)] {
            assert_eq!(arrival(&mut policy, Ecn::Ect1, size, &[p - 1e-6]).0, Verdict::Mark, "{size}");
            assert_eq!(arrival(&mut policy, Ecn::Ect1, size, &[p + 1e-6]).0, Verdict::Pass, "{size}");
        }
    }

    /// A packet of 1000 B leaves at `ms`, with `bytes` behind it.
    fn leave(policy: &mut Pi2, ms: f64, bytes: u64) {
        let packet = Packet { enqueued: Time::ZERO, ..Packet::new(1, 1000) };
        ask(&[], ms, |cx| policy.on_dequeue(Some(&packet), &view(bytes), cx));
    }

    #[test]
    fn the_rate_is_measured_over_10000_bytes_while_as_many_wait() {
        let mut policy = pi2(&[]);
        for ms in 0..20 {
            leave(&mut policy, f64::from(ms), 9999);
        }
        assert_eq!((policy.state.rate, policy.delay(9999)), (0.0, 0.0), "less waits: nothing is measured");
        // The packet that starts a measurement is counted in it: ten packets, but nine gaps between them.
        for ms in 100..109 {
            leave(&mut policy, f64::from(ms), 20_000);
            assert_eq!(policy.state.rate, 0.0, "{ms}");
        }
        leave(&mut policy, 109.0, 20_000);
        let first = 10_000.0 / 0.009;
        assert!((policy.state.rate - first).abs() < 1e-3);
        assert!((policy.delay(5000) - 5000.0 / first).abs() < 1e-9);
        // The next measurement starts at the same departure, counts from the next packet on, and has weight 1/8.
        for step in 1..=10 {
            leave(&mut policy, 109.0 + 2.0 * f64::from(step), 20_000);
        }
        let second = 10_000.0 / 0.02;
        assert!((policy.state.rate - (first * 7.0 / 8.0 + second / 8.0)).abs() < 1e-3);
        // With less waiting a measurement under way goes on, and is the last.
        for step in 1..=10 {
            leave(&mut policy, 129.0 + f64::from(step), 100);
        }
        assert!(policy.state.measuring.is_none());
    }

    #[test]
    fn a_departure_that_empties_the_queue_is_no_delay() {
        let mut policy = pi2(&[TIMESTAMP]);
        leave(&mut policy, 7.0, 1000);
        assert!((policy.delay(1000) - 0.007).abs() < 1e-12);
        leave(&mut policy, 8.0, 0);
        assert_eq!(policy.delay(0), 0.0);
    }

    /// 200,000 arrivals at p = 0.6: classic drops 0.36/4, scalable marks 0.6; four standard deviations.
    #[test]
    fn the_shares_are_p_and_its_half_squared() {
        for (ecn, share) in [(Ecn::NotEct, 0.09), (Ecn::Ect0, 0.09), (Ecn::Ect1, 0.6)] {
            let mut policy = pi2(&[]);
            policy.state.p = 0.6;
            let mut queue =
                Fifo::new(Gate::new(Box::new(policy), Limit::Packets(1_000_000), true, Generator::stream(3, "queue")));
            let arrivals = 200_000;
            for _ in 0..arrivals {
                queue.enqueue(Packet { ecn, ..Packet::new(1, 1000) }, Time::ZERO, &mut |_, _| {});
            }
            let counters = queue.counters();
            let hit = counters.early_drops + counters.marks;
            assert_eq!(counters.early_drops > 0, ecn == Ecn::NotEct);
            let spread = 4.0 * (share * (1.0 - share) / f64::from(arrivals)).sqrt();
            assert!((hit as f64 / f64::from(arrivals) - share).abs() < spread, "{ecn:?}: {hit}");
        }
    }
}
