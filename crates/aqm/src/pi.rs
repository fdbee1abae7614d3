//! # PI
//!
//! ## What it does
//! A proportional-integral controller holds the queue at `q_ref`. At every sample, with the queue `q_k` found then,
//!
//! `p = p + a e_k - b e_(k-1) + kd (e_k - 2 e_(k-1) + e_(k-2))`, kept in [0, 1], with the error `e_k = q_k - q_ref`.
//!
//! Every arrival that finds room is signalled with probability `p`, independently. `p` is steady only at `q = q_ref`,
//! whatever the load: the integral term `a - b` removes the steady error without which RED would not drop. With `kd`,
//! which is 0 by default, it is PID: the derivative answers to a growing queue before it is too long. The textbook's
//! `k_p`, `t_i` and `t_d` at a sampling interval of T are `a = k_p (1 + T/t_i)`, `b = k_p` and `kd = k_p t_d/T`.
//!
//! ## Source
//! C. V. Hollot, V. Misra, D. Towsley, W. Gong, "On designing improved controllers for AQM routers supporting TCP
//! flows", INFOCOM 2001. The paper's text was not at hand: the rule, the gains and their order of evaluation are those
//! of ns-2.35 `queue/pi.cc`, compared with it arrival by arrival. PID: Y. Fan, F. Ren, C. Lin, "Design a PID controller
//! for active queue management", ISCC 2003, whose text was not at hand either: the form is the textbook's incremental
//! PID.
//!
//! ## Differences
//! 1. The gains were designed for a link of 3750 packets/s, at least 60 flows and round trips up to 246 ms, as the
//!    literature quotes the paper. ns-2 uses them for any link, and so do the defaults here.
//! 2. As in ns-2 there are two switches for bytes: `unit = "byte"` measures the queue in bytes, `byte_scaling` makes
//!    `p` proportional to the packet's size, at most 1.
//! 3. In the dialect ns2 a limit in packets with `unit = "byte"` means packets of `mean_packet`, and a limit in bytes
//!    is tested before the arrival is added, so the last packet may exceed it. In the dialect paper a limit of N holds
//!    N.
//! 4. An arrival at a full buffer draws no random number; any other draws one even while `p` is 0. The order of
//!    the draws is ns-2's.
//! 5. ns-2 accepts `b > a`, with which `p` falls while the queue is too long. Here that is refused.
//! 6. The gains of the PID paper were not to be had. (reconstruction) The PID of `earlydrop list` is ns-2's PI (`t_i`
//!    is 1.78 s) with a `t_d` of ten samples: `kd = 10 b`. The derivative sees single packets come and go, so `p` is
//!    noisier than PI's; in a trial with 60 TCP flows both held the queue within 2 % of `q_ref`, and the standard
//!    deviation of `p` was 0.0018 against 0.0008.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(200);
//! let catalogue::Built::Policy(pi) = (catalogue::find("pi").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(pi, limit, false, Generator::stream(1, "queue")));
//! for _ in 0..150 {
//!     queue.enqueue(Packet::new(1, 500), Time::ZERO, &mut |_, _| {});
//! }
//! let mut p = Vec::new();
//! for _ in 0..3 {
//!     let due = queue.next_timer().unwrap();
//!     queue.on_timer(due);
//!     queue.gauges(&mut |name, value| if name == "p" { p.push(value) });
//! }
//! // 100 packets too long: each sample after the first adds 100 (a - b) to p.
//! assert!((p[1] - p[0] - 6e-6).abs() < 1e-15 && (p[2] - p[1] - 6e-6).abs() < 1e-15);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::controller::Sampled;
use crate::parts::measure;

const fn gain(name: &'static str, default: f64, doc: &'static str) -> Param {
    Param::real(name, Unit::None, Kind::above(0.0, 1.0), default).symbol(name).says("Hollot et al. 2001, ns-2.35", doc)
}

words! {
    /// How the buffer's limit is tested.
    enum Dialect {
        /// N packets or bytes fit.
        Paper = "paper",
        /// As in ns-2.35, `queue/pi.cc`.
        Ns2 = "ns2",
    }
}

const PARAMS: [Param; 9] = [
    gain("a", 1.822e-5, "Gain of the present error, 1/packet."),
    gain("b", 1.816e-5, "Gain of the error one sample ago, 1/packet; at most a."),
    Param {
        kind: Kind::Real { low: 0.0, high: 1.0, open_low: false, open_high: false, auto: false },
        source: "Fan et al. 2003; 0 is PI",
        ..gain("kd", 0.0, "Gain of the error's second difference, 1/packet; above 0 it is PID.")
    },
    measure::q_ref("q_{ref}", 50.0, "ns-2.35"),
    measure::tupdate("T", Value::Real(1.0 / 170.0), false, "Hollot et al. 2001, ns-2.35: 170 Hz"),
    Param::word("dialect", Dialect::WORDS, "paper").says(
        "our choice: they differ in the limit only",
        "ns2: the limit is tested as in ns-2.35, in packets of mean_packet where the queue is measured in bytes.",
    ),
    measure::unit("packet", "ns-2.35 (queue_in_bytes_)"),
    measure::byte_scaling("ns-2.35 (bytes_)"),
    measure::mean_packet(500.0, "ns-2.35"),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A proportional-integral controller, or PID with kd, holds the queue at a reference",
    source: "Hollot, Misra, Towsley, Gong: On designing improved controllers for AQM routers, INFOCOM 2001",
    params: &[&PARAMS],
    check: &|values, _| read(values).map(|_| ()),
    build: &|values, _, _| Ok(Built::Policy(Box::new(read(values)?))),
    ..AqmSpec::named("pi", "PI", "load and queue control", 2001)
};

fn read(values: &Values) -> Result<Sampled, ParamError> {
    let real = |name| values.real(&PARAMS, name);
    let (a, b, kd) = (real("a"), real("b"), real("kd"));
    if b > a {
        return Err(ParamError::new("b", b, format!("at most a ({a}): p would fall while the queue is too long")));
    }
    let sampled = Sampled::read(values, &PARAMS, [a + kd, b + 2.0 * kd, kd])?;
    Ok(match values.choice(&PARAMS, "dialect") {
        Dialect::Paper => sampled,
        Dialect::Ns2 => sampled.with_room_as_ns2(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Context, Policy as _, QueueView, Room, Verdict};
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn pi(pairs: &[(&'static str, Value)]) -> Sampled {
        let values = Values::of(pairs);
        (SPEC.check)(&values, &LINK).unwrap();
        read(&values).unwrap()
    }

    fn holding(packets: u64, bytes: u64) -> QueueView<'static> {
        QueueView { packets, bytes, idle_since: None, contents: None }
    }

    /// p after one tick with this queue.
    fn tick(pi: &mut Sampled, queue: &QueueView<'_>) -> f64 {
        let (mut random, mut victims) = (Generator::stream(1, "pi"), Vec::new());
        let now = pi.next_timer().unwrap();
        let mut cx = Context { now, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        pi.on_timer(queue, &mut cx);
        pi.control.p()
    }

    /// The verdict on an arrival of `size` bytes if random numbers are `u`, and how many numbers it took.
    fn arrival(pi: &mut Sampled, size: u32, u: f64, has_room: bool) -> (Verdict, u64) {
        let draws = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let count = std::sync::Arc::clone(&draws);
        let mut random = Generator::custom(move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            u
        });
        let mut victims = Vec::new();
        let mut cx = Context { now: Time::ZERO, ecn: false, has_room, random: &mut random, victims: &mut victims };
        let verdict = pi.on_enqueue(&Packet::new(1, size), &holding(10, 5000), &mut cx);
        (verdict, draws.load(std::sync::atomic::Ordering::Relaxed))
    }

    #[test]
    fn a_constant_error_of_100_packets_adds_6e_6_a_tick() {
        let mut pi = pi(&[]);
        let queue = holding(150, 75_000);
        // The first tick sees the error jump from -50 to 100.
        let first = tick(&mut pi, &queue);
        assert!((first - (1.822e-5 * 100.0 + 1.816e-5 * 50.0)).abs() < 1e-15);
        for k in 1..1000 {
            let p = tick(&mut pi, &queue);
            assert!((p - first - f64::from(k) * 6e-6).abs() < 1e-12, "tick {k}: {p}");
        }
    }

    #[test]
    fn at_the_reference_p_stands_still_and_below_it_falls_to_0() {
        let mut pi = pi(&[]);
        tick(&mut pi, &holding(5000, 0));
        tick(&mut pi, &holding(50, 0));
        let p = tick(&mut pi, &holding(50, 0));
        assert!(p > 0.0);
        assert_eq!(tick(&mut pi, &holding(50, 0)), p);
        assert!(tick(&mut pi, &holding(49, 0)) < p);
        for _ in 0..100_000 {
            tick(&mut pi, &holding(0, 0));
        }
        assert_eq!(pi.control.p(), 0.0);
    }

    #[test]
    fn an_empty_queue_never_drops() {
        let mut pi = pi(&[]);
        assert_eq!(tick(&mut pi, &holding(0, 0)), 0.0);
        assert_eq!(arrival(&mut pi, 500, 0.0, true), (Verdict::Pass, 1), "p = 0 draws and passes");
    }

    #[test]
    fn an_arrival_without_room_draws_nothing() {
        let mut pi = pi(&[("a", Value::Real(1.0)), ("b", Value::Real(0.5))]);
        assert_eq!(tick(&mut pi, &holding(200, 0)), 1.0);
        assert_eq!(arrival(&mut pi, 500, 0.5, false), (Verdict::Pass, 0));
        assert_eq!(arrival(&mut pi, 500, 1.0, true), (Verdict::Signal(Reason::Forced), 1));
    }

    #[test]
    fn p_is_in_proportion_to_size_only_with_byte_scaling() {
        for scaled in [false, true] {
            let mut pi =
                pi(&[("byte_scaling", Value::Flag(scaled)), ("a", Value::Real(0.002)), ("b", Value::Real(1e-9))]);
            let p = tick(&mut pi, &holding(150, 0));
            assert!((p - 0.2).abs() < 1e-6);
            let hit = |pi: &mut Sampled, size, u| arrival(pi, size, u, true).0 == Verdict::Signal(Reason::Early);
            assert_eq!(hit(&mut pi, 1000, 0.39), scaled);
            assert!(!hit(&mut pi, 1000, 0.41));
            assert_eq!(hit(&mut pi, 250, 0.11), !scaled);
            let certain = arrival(&mut pi, 3000, 1.0, true).0;
            assert_eq!(certain, if scaled { Verdict::Signal(Reason::Forced) } else { Verdict::Pass });
        }
    }

    #[test]
    fn bytes_count_as_mean_packets() {
        let (mut packets, mut bytes) = (pi(&[]), pi(&[("unit", Value::Choice("byte"))]));
        // 150 packets of 1500 B count as 450 of 500 B.
        let p = tick(&mut packets, &holding(150, 225_000));
        assert!((p - (1.822e-5 * 100.0 + 1.816e-5 * 50.0)).abs() < 1e-15);
        let p = tick(&mut bytes, &holding(150, 225_000));
        assert!((p - (1.822e-5 * 400.0 + 1.816e-5 * 50.0)).abs() < 1e-15);
    }

    #[test]
    fn ns2_tests_a_limit_in_bytes_before_it_adds() {
        let byte = ("unit", Value::Choice("byte"));
        let ns2 = ("dialect", Value::Choice("ns2"));
        assert_eq!(pi(&[byte]).room(Limit::Packets(50)), Room::PacketsBelow(50));
        assert_eq!(pi(&[byte, ns2]).room(Limit::Packets(50)), Room::BytesBelow(25_000));
        assert_eq!(pi(&[byte, ns2]).room(Limit::Bytes(25_000)), Room::BytesBelow(25_000));
        assert_eq!(pi(&[ns2]).room(Limit::Packets(50)), Room::PacketsBelow(50));
    }

    #[test]
    fn gains_that_run_away_are_refused() {
        let values = Values::of(&[("b", Value::Real(1.9e-5))]);
        assert_eq!((SPEC.check)(&values, &LINK).err().unwrap().name, "b");
    }

    /// k_p = 1e-4, t_i = 1 s, t_d = 0.1 s at 100 Hz, after an empty queue: errors -50, -50, then 50, 50, 50.
    #[test]
    fn a_ramp_is_answered_by_the_derivative_and_a_constant_error_by_the_integral() {
        let gains = [("a", Value::Real(1.01e-4)), ("b", Value::Real(1e-4)), ("kd", Value::Real(1e-3))];
        let mut pid = pi(&gains);
        let p = [(); 4].map(|()| tick(&mut pid, &holding(100, 0)));
        assert!((p[0] - 1e-4 * (11.01 * 50.0 + 21.0 * 50.0 - 10.0 * 50.0)).abs() < 1e-15);
        // The next sample takes the derivative's step back; the integral adds 50 k_p T/t_i a sample.
        assert!((p[1] - p[0] - 1e-4 * (11.01 * 50.0 - 21.0 * 50.0 - 10.0 * 50.0)).abs() < 1e-15);
        assert!((p[2] - p[1] - 1e-4 * 0.01 * 50.0).abs() < 1e-15);
        assert!((p[3] - p[2] - 1e-4 * 0.01 * 50.0).abs() < 1e-15);
    }
}
