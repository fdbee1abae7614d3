use super::super::*;
use super::*;
use crate::segment::{CE, FIN};
use crate::tcp::output::{Output, Variable};
use earlydrop_aqm::random::Generator;

/// Probabilities of what happens to segments and ACKs on the path.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    lost: f64,
    acks_lost: f64,
    /// Reordering: segments delayed by 4 ms.
    late: f64,
    marked: f64,
    /// ACKs after which all are lost for 0.3 s.
    silenced: f64,
    /// Segments that start a burst of losses, every other of 16.
    burst: f64,
}

/// The trace of a sender.
#[derive(Debug, Default, PartialEq)]
struct SenderTrace {
    /// Segments, and when they were sent.
    sent: Vec<(f64, Sent)>,
    /// Its wake-up time after each call.
    wakes: Vec<f64>,
    retransmits: u32,
}

/// Runs a sender over a link of 1000 segments/s and 20 ms each way. ACKs take the fast path unless `traced`.
fn run_over(settings: Settings, seed: u64, traced: bool, path: Path) -> SenderTrace {
    let mut random = Generator::stream(seed, "test.short_way");
    let (mut sender, mut receiver) = (Connection::new(settings, 7), settings.receiver(7));
    sender.trace(traced);
    let (mut out, mut trace, mut free, mut wake) = (Output::default(), SenderTrace::default(), 0.0_f64, f64::INFINITY);
    // By time and number: segments with their departure time, and ACKs.
    let mut in_transit = std::collections::BTreeMap::new();
    let (mut number, mut silent_until, mut answered, mut in_burst) = (0, 0.0, 0, 0);
    for step in 0..5000 {
        let next = in_transit.keys().next().map_or(f64::INFINITY, |&(bits, _)| f64::from_bits(bits));
        let now = if step == 0 { 0.0 } else { earlier(next, wake) };
        assert!(now < f64::INFINITY, "a segment, an ACK or a timer is left");
        let mut drawn = || random.uniform();
        if step == 0 {
            sender.offer(now, None, false, &mut out);
        } else if next > wake {
            sender.on_wake(now, &mut out);
        } else {
            match in_transit.pop_first().map(|(_, what)| what) {
                Some(Ok(feedback)) => {
                    sender.on_feedback(now, &feedback, &mut out);
                    answered += 1;
                }
                Some(Err((stamp, Sent { seq, payload, bits }))) => {
                    let arrived = Arrived { seq, payload: u32::from(payload), bits, stamp, now, ack: 0 };
                    let mut other = receiver.clone();
                    let next = other.take_next(&arrived).map(|next| match next {
                        Next::Now(feedback) => Reply::Now(feedback),
                        Next::Later(delay) => Reply::Later(delay),
                    });
                    let short = next.or_else(|| other.take_beyond(&arrived).map(Reply::Now));
                    let reply = receiver.take(&arrived);
                    if let Some(short) = short {
                        assert!(short == reply, "{short:?} {reply:?}");
                        if step % 512 < 2 {
                            assert_eq!(format!("{other:?}"), format!("{receiver:?}"));
                        }
                    }
                    let Reply::Now(feedback) = reply else { continue };
                    if now < silent_until || drawn() < path.acks_lost {
                        continue;
                    }
                    if drawn() < path.silenced {
                        silent_until = now + 0.3;
                    }
                    number += 1;
                    in_transit.insert(((now + 0.02).to_bits(), number), Ok(feedback));
                    continue;
                }
                None => {}
            }
        }
        wake = out.take_at().unwrap_or(wake);
        trace.wakes.push(wake);
        for mut packet in std::mem::take(&mut out.segments) {
            trace.sent.push((now, packet));
            free = free.max(now) + 1e-3;
            if in_burst == 0 && drawn() < path.burst {
                in_burst = 16;
            }
            in_burst -= in_burst.min(1);
            if in_burst % 2 == 1 || drawn() < path.lost {
                continue;
            }
            let late = if drawn() < path.late { 4e-3 } else { 0.0 };
            packet.bits |= if packet.bits & CE != 0 && drawn() < path.marked { CE } else { 0 };
            number += 1;
            in_transit.insert(((free + 0.02 + late).to_bits(), number), Err((now, packet)));
        }
    }
    if traced && matches!(settings.control, ControlKind::Dctcp) {
        let alphas = out.changes.iter().filter(|(variable, _)| *variable == Variable::Alpha).count();
        assert!(alphas + 4 > answered, "every ACK is traced: {alphas} of {answered}");
    }
    trace.retransmits = sender.vars.retransmits;
    trace
}

#[test]
fn the_fast_path_of_an_ack_equals_the_slow_path() {
    let controls = [
        ControlKind::NewReno,
        ControlKind::Cubic,
        ControlKind::Dctcp,
        ControlKind::Bbr,
        ControlKind::Ledbat { target: 0.1, gain: 1.0 },
        ControlKind::LedbatPlusPlus { target: 0.06 },
        ControlKind::Prague,
    ];
    // Rare losses; lost ACKs, reordering and pauses too; many of all; bursts of losses.
    let calm = Path { lost: 0.015, marked: 0.02, ..Path::default() };
    let rough = Path { lost: 0.02, acks_lost: 0.1, late: 0.02, marked: 0.02, silenced: 0.005, burst: 0.0 };
    let wild = Path { lost: 0.06, acks_lost: 0.3, late: 0.05, marked: 0.4, silenced: 0.01, burst: 0.0 };
    let bursts = Path { lost: 0.002, burst: 0.003, ..Path::default() };
    for (path, bytes, retransmits) in [(calm, 500_000, 5), (rough, 50_000, 5), (wild, 10_000, 20), (bursts, 50_000, 0)]
    {
        for seed in 0..96 {
            let has = |bit: u64| seed >> bit & 1 == 1;
            let control = controls[seed as usize % controls.len()];
            let feedback = match control {
                _ if has(5) => Feedbacks::None,
                ControlKind::Dctcp => Feedbacks::Dctcp,
                ControlKind::Prague => Feedbacks::Counter,
                _ => Feedbacks::Classic,
            };
            let (sack, rack) = (!has(1) || has(2), has(2));
            let settings = Settings {
                // No delayed ACK is sent by its timer here: only those of second segments, or out of order.
                // With a full receiver's window probes are retransmissions.
                control,
                sack,
                timestamps: has(3),
                ecn: EcnRules { feedback, mark_cut_round_trip: has(6), ..EcnRules::default() },
                rack: RackRules { on: rack, repeats_reported: has(4), ..RackRules::default() },
                pacing: PacingRules {
                    on: has(4),
                    pairs: seed % 11 == 5,
                    autosized: seed % 11 == 5 && has(0),
                    late_made_up: has(6),
                    ..PacingRules::default()
                },
                receiver: ReceiverRules {
                    delay: (seed % 5 == 4).then_some(0.2),
                    first_ack_at_once: seed % 3 == 0,
                    ack_wait_adapts: seed % 3 < 2,
                    mark_ack_at_once: has(0),
                    push_ack_at_once: seed % 9 == 2,
                    window: if seed % 7 == 3 { 4 * 1448 } else { 1 << 30 },
                    ..ReceiverRules::default()
                },
                growth: GrowthRules { use_window: seed % 10 < 3, arrived: has(0), ..GrowthRules::default() },
                undo: UndoRules { frto: seed % 6 < 3, eifel: seed % 4 > 1, dsack: seed % 8 < 3 },
                rto: RtoRules { repair_restarts: has(5), ..RtoRules::default() },
                recovery: RecoveryRules {
                    ssthresh: if has(3) { Base::Cwnd } else { Base::Flight },
                    ..RecoveryRules::default()
                },
                ..Settings::default()
            };
            let (short, long) = (run_over(settings, seed, false, path), run_over(settings, seed, true, path));
            let highest = short.sent.iter().map(|(_, packet)| packet.seq).max();
            let alive = (highest, short.retransmits);
            assert!(highest > Some(bytes) && short.retransmits > retransmits, "{alive:?} {path:?} {settings:?}");
            let apart = short.wakes.iter().zip(&long.wakes).position(|(one, other)| one != other);
            assert_eq!(apart, None, "timers apart with {settings:?} {path:?}");
            assert!(short == long, "{settings:?} {path:?}");
        }
    }
}

/// An open connection with ten segments in flight since 0.1 s, and an RTT of 0.1 s.
fn ten_in_flight(settings: Settings) -> (Connection, Output) {
    let mut out = Output::default();
    let mut connection = Connection::new(settings, 0);
    connection.offer(0.0, None, false, &mut out);
    let syn_ack = Feedback { syn: true, echo: true, ..Feedback::new(1, 0.0) };
    connection.on_feedback(0.1, &syn_ack, &mut out);
    assert_eq!(out.segments.len(), 12, "a SYN, an empty segment and ten with data");
    out.segments.clear();
    (connection, out)
}

#[test]
fn a_halted_sender_waits_for_its_timer() {
    // RFC 3168, 6.1.2.
    let settings = Settings {
        control: ControlKind::Dctcp,
        ecn: EcnRules { feedback: Feedbacks::Dctcp, ..EcnRules::default() },
        ..Settings::default()
    };
    let (mut connection, mut out) = ten_in_flight(settings);
    (connection.ecn.halted, connection.rto_at) = (true, 0.9);
    for segment in 1..=10 {
        let ack = Feedback::new(1 + 1448 * segment, 0.1);
        connection.on_feedback(0.2, &ack, &mut out);
        assert_eq!((out.take_at(), &out.segments[..]), (Some(0.9), &[][..]), "{segment}");
    }
    connection.on_wake(0.9, &mut out);
    assert!(!out.segments.is_empty() && !connection.ecn.halted);
}

#[test]
fn an_ack_of_a_retransmission_gives_no_rtt_sample() {
    // Karn's algorithm, also after a recovery: its retransmissions may be beyond the recovery point.
    let (mut connection, mut out) = ten_in_flight(Settings { timestamps: false, ..Settings::default() });
    let srtt = |connection: &Connection| connection.srtt().expect("a sample");
    connection.scoreboard.retransmitted(0, 0.25, true);
    connection.on_feedback(0.3, &Feedback::new(1 + 1448, 0.0), &mut out);
    assert!((srtt(&connection) - 0.1).abs() < 1e-9, "{}", srtt(&connection));
    connection.on_feedback(0.3, &Feedback::new(1 + 2 * 1448, 0.0), &mut out);
    assert!((srtt(&connection) - (0.1 + 0.1 / 8.0)).abs() < 1e-9, "the next took 0.2 s: {}", srtt(&connection));
}

#[test]
fn a_segment_sent_before_a_delivered_one_starts_the_reordering_timer() {
    // RFC 8985, 6.2: also with nothing lost, as after a recovery whose last retransmission was sent later.
    let (mut connection, mut out) =
        ten_in_flight(Settings { rack: RackRules { on: true, ..RackRules::default() }, ..Settings::default() });
    let mut later = Scoreboard::new(1448);
    later.sent(1, 1448, false, 0.15);
    let rack = &mut connection.detection.by_time_mut().expect("RACK").rack;
    later.acknowledge(1449, |delivered| rack.delivered(&delivered, 0.25, None, 0.1));
    connection.on_feedback(0.26, &Feedback::new(1 + 1448, 0.1), &mut out);
    // The last RTT was 0.16 s, and the reordering window is a quarter of the min RTT.
    let wake = out.take_at().expect("a timer");
    assert!((wake - (0.1 + 0.16 + 0.1 / 4.0)).abs() < 1e-9, "{wake}");
}

#[test]
fn cwnd_restarts_after_an_idle_time_that_an_ack_ends() {
    // RFC 5681, 4.1.
    let (mut connection, mut out) = ten_in_flight(Settings::default());
    connection.last_sent = -2.0;
    connection.on_feedback(0.2, &Feedback::new(1 + 10 * 1448, 0.1), &mut out);
    assert_eq!((connection.vars.cwnd, out.segments.len()), (10.0, 10), "not eleven");
}

/// An ACK of so many segments that echoes `stamp` and SACKs others, counted from 1.
fn ack_of(acknowledged: u32, stamp: f64, sacked: Option<(u64, u64)>) -> Feedback {
    let mut feedback = Feedback::new(1 + 1448 * acknowledged, stamp);
    if let Some((first, last)) = sacked {
        feedback.push((1 + 1448 * (first - 1), 1 + 1448 * last), 0, 3);
    }
    feedback
}

fn bbr(rules: BbrRules) -> (Connection, Output) {
    ten_in_flight(Settings {
        control: ControlKind::Bbr,
        rack: RackRules { on: true, ..RackRules::default() },
        controls: ControlRules { bbr: rules, ..ControlRules::default() },
        ..Settings::default()
    })
}

#[test]
fn the_ack_that_ends_a_recovery_may_start_another_with_bbr() {
    for (immediate_recovery_end, standing, window) in [(true, "recovery", 10.0), (false, "open", 9.0)] {
        let (mut connection, mut out) = bbr(BbrRules { immediate_recovery_end, ..BbrRules::default() });
        connection.on_feedback(0.2, &ack_of(0, 0.0, Some((2, 4))), &mut out);
        assert_eq!(
            (connection.standing(), connection.vars.cwnd),
            ("recovery", 9.0),
            "six in flight and three delivered"
        );
        connection.on_wake(0.25, &mut out);
        connection.on_wake(0.29, &mut out);
        let sent: Vec<u32> = out.segments.iter().map(|packet| (packet.seq - 1) / 1448 + 1).collect();
        assert_eq!(sent, [1, 11, 12]);
        let (mut whole, mut ignored) = (connection.clone(), Output::default());
        // 11 is lost as well.
        connection.on_feedback(0.4, &ack_of(10, 0.2, Some((12, 12))), &mut out);
        assert_eq!(connection.standing(), standing);
        // It is not: cwnd is restored, and grows by nine delivered segments.
        whole.on_feedback(0.4, &ack_of(12, 0.29, None), &mut ignored);
        assert_eq!((whole.standing(), whole.vars.cwnd), ("open", window + 9.0));
    }
}

#[test]
fn a_lost_retransmission_after_a_timeout_may_start_a_recovery() {
    for (lost_retransmission_recovers, standing) in [(true, "recovery"), (false, "loss")] {
        let (mut connection, mut out) = ten_in_flight(Settings {
            control: ControlKind::Bbr,
            rack: RackRules { on: true, ..RackRules::default() },
            recovery: RecoveryRules { lost_retransmission_recovers, ..RecoveryRules::default() },
            ..Settings::default()
        });
        connection.on_timeout(1.1, &mut out);
        connection.on_feedback(1.2, &ack_of(1, 1.1, None), &mut out);
        for now in [1.25, 1.29] {
            connection.on_wake(now, &mut out);
        }
        let sent: Vec<u32> = out.segments.iter().map(|packet| (packet.seq - 1) / 1448 + 1).collect();
        assert_eq!((sent, connection.standing()), (vec![1, 2, 3, 4], "loss"));
        connection.on_feedback(1.4, &ack_of(1, 1.29, Some((4, 4))), &mut out);
        assert_eq!(connection.standing(), standing);
    }
}

#[test]
fn that_recovery_reduces_cwnd_by_itself() {
    // tcp_fastretrans_alert in TCP_CA_Loss with FLAG_LOST_RETRANS, tcp_init_cwnd_reduction.
    for (recovers, standing, ssthresh) in [(true, "recovery", 2.0), (false, "loss", 5.0)] {
        let (mut connection, mut out) = ten_in_flight(Settings {
            rack: RackRules { on: true, ..RackRules::default() },
            recovery: RecoveryRules {
                ssthresh: Base::Cwnd,
                lost_retransmit_cut_none: true,
                lost_retransmission_recovers: recovers,
                ..RecoveryRules::default()
            },
            ..Settings::default()
        });
        connection.on_timeout(1.1, &mut out);
        assert_eq!(connection.vars.ssthresh, 5.0);
        connection.on_feedback(1.2, &ack_of(1, 1.1, None), &mut out);
        for now in [1.25, 1.29] {
            connection.on_wake(now, &mut out);
        }
        connection.vars.cwnd = 4.0;
        connection.transmit(1.29, &mut out);
        // 4 has arrived, sent again after 2 and 3.
        connection.on_feedback(1.4, &ack_of(1, 1.29, Some((4, 4))), &mut out);
        connection.on_wake(1.6, &mut out);
        assert_eq!((connection.standing(), connection.vars.ssthresh), (standing, ssthresh));
    }
}

#[test]
fn a_retransmission_restarts_the_timer_unless_racks_runs() {
    for (reorder_at, index, rto_at) in [(f64::INFINITY, 0, 1.2), (0.25, 0, 0.9), (f64::INFINITY, 1, 0.9)] {
        let settings = Settings {
            rto: RtoRules { repair_restarts: true, ..RtoRules::default() },
            rack: RackRules { on: true, ..RackRules::default() },
            ..Settings::default()
        };
        let (mut connection, mut out) = ten_in_flight(settings);
        connection.detection.by_time_mut().expect("RACK").reorder_at = reorder_at;
        connection.rto_at = 0.9;
        connection.retransmit(0.2, index, true, &mut out);
        assert_eq!(
            (out.segments.len(), connection.rto_at),
            (1, rto_at),
            "segment {index}, RACK's timer at {reorder_at}"
        );
    }
}

#[test]
fn a_lone_segment_waits_for_an_ack_that_is_due() {
    // Ten were sent at 0.1 with an RTT of 0.1 s: the next ACK is due at 0.2.
    for (due, now, waits) in [(true, 0.1995, true), (true, 0.1985, false), (false, 0.1985, true)] {
        let settings = Settings {
            pacing: PacingRules { pairs: true, pair_wait_due: due, ..PacingRules::default() },
            ..Settings::default()
        };
        let (mut connection, _) = ten_in_flight(settings);
        (connection.vars.cwnd, connection.last_sent) = (11.0, now - 0.5e-3);
        assert_eq!(connection.waits_for_more(now, 2), waits, "{due} {now}");
        connection.vars.cwnd = 12.0;
        assert!(!connection.waits_for_more(now, 2), "two may go");
    }
}

#[test]
fn time_stamps_may_be_in_whole_milliseconds() {
    for (millisecond_stamps, expected) in [(true, 0.087), (false, 0.0878)] {
        let (mut connection, mut out) = bbr(BbrRules { millisecond_stamps, ..BbrRules::default() });
        connection.on_feedback(0.2, &ack_of(0, 0.0, Some((2, 4))), &mut out);
        // The ACK newly covers 1, a retransmission.
        connection.on_feedback(0.2879, &ack_of(4, 0.2001, None), &mut out);
        let Algorithm::Bbr(bbr) = connection.algorithm() else { panic!("BBR") };
        assert!((bbr.min_rtt() - expected).abs() < 1e-9, "{}", bbr.min_rtt());
    }
}

#[test]
fn rate_sampling_restarts_with_nothing_outstanding_or_nothing_in_flight() {
    for (outstanding, segments) in [(true, 10.0), (false, 1.0)] {
        let rules = BbrRules { sampling_restarts_if_none_outstanding: outstanding, ..BbrRules::default() };
        let (mut connection, mut out) = bbr(rules);
        connection.settings.receiver.window = 10 * 1448;
        connection.on_feedback(0.2, &ack_of(0, 0.0, Some((2, 10))), &mut out);
        assert_eq!((out.segments.len(), connection.in_flight()), (1, segments), "the first is retransmitted");
    }
}

#[test]
fn a_forced_segment_is_sent_whatever_cwnd_is() {
    let (mut connection, mut out) = ten_in_flight(Settings::default());
    (connection.recovery.forced, connection.vars.cwnd) = (1, 4.0);
    connection.on_feedback(0.2, &Feedback::new(1 + 1448, 0.1), &mut out);
    assert_eq!((connection.recovery.forced, out.segments.len()), (0, 1));
}

#[test]
fn the_last_full_segment_carries_the_fin() {
    let mut out = Output::default();
    let mut connection = Connection::new(Settings { fin: true, ..Settings::default() }, 0);
    connection.offer(0.0, Some(12 * 1448), true, &mut out);
    let syn_ack = Feedback { syn: true, ..Feedback::new(1, 0.0) };
    connection.on_feedback(0.1, &syn_ack, &mut out);
    for segment in 1..=12 {
        connection.on_feedback(0.2, &Feedback::new(1 + 1448 * segment, 0.1), &mut out);
    }
    // With a SYN and an empty segment.
    assert_eq!(out.segments.len(), 14, "no segment of its own");
    let ends = out.segments.iter().filter(|packet| packet.bits & FIN != 0);
    assert!(ends.eq(std::iter::once(&Sent { seq: 1 + 11 * 1448, payload: 1448, bits: FIN })));
}

#[test]
fn a_cwnd_of_zero_does_not_stop_pacing() {
    // PRR reduces cwnd to zero where all outstanding segments are lost; the timer still sends.
    let mut retransmits = 0;
    for seed in 0..400 {
        let settings = Settings {
            control: ControlKind::Cubic,
            mss: 960,
            sack: true,
            timestamps: true,
            receiver: ReceiverRules { window: 6 * 960, delay: None, ..ReceiverRules::default() },
            rack: RackRules { on: true, ..RackRules::default() },
            pacing: PacingRules { on: true, pairs: seed % 2 == 0, ..PacingRules::default() },
            recovery: RecoveryRules { ssthresh: Base::Cwnd, prr: Some(Bound::SafeAck), ..RecoveryRules::default() },
            growth: GrowthRules { arrived: true, ..GrowthRules::default() },
            rto: RtoRules { min: 0.005, ..RtoRules::default() },
            ..Settings::default()
        };
        let path = Path { lost: 0.3, acks_lost: 0.3, ..Path::default() };
        retransmits += run_over(settings, seed, false, path).retransmits;
    }
    assert!(retransmits > 1000, "{retransmits}");
}

#[test]
fn initial_windows() {
    let of = |mss| Settings { mss, ..Settings::default() }.initial_window();
    for (mss, expected) in [(536, 10.0), (1000, 10.0), (1460, 10.0), (2200, 14_600.0 / 2200.0), (9000, 2.0)] {
        assert!((of(mss) - expected).abs() < 1e-12, "{mss}");
    }
}

/// Five segments, all sent; then whether the connection counts as application-limited.
fn after_five_segments(at_write: bool) -> (Connection, Output) {
    let rules = BbrRules { app_limited_at_write: at_write, ..BbrRules::default() };
    let settings = Settings {
        control: ControlKind::Bbr,
        rack: RackRules { on: true, ..RackRules::default() },
        controls: ControlRules { bbr: rules, ..ControlRules::default() },
        ..Settings::default()
    };
    let (mut connection, mut out) = (Connection::new(settings, 0), Output::default());
    connection.offer(0.0, Some(5 * 1448), false, &mut out);
    let syn_ack = Feedback { syn: true, echo: true, ..Feedback::new(1, 0.0) };
    connection.on_feedback(0.1, &syn_ack, &mut out);
    out.segments.clear();
    (connection, out)
}

fn is_app_limited(connection: &Connection) -> bool {
    connection.rate.as_ref().unwrap().is_app_limited()
}

#[test]
fn rate_samples_are_application_limited_from_the_write_or_from_the_last_segment() {
    for (at_write, after_one_ack) in [(true, false), (false, true)] {
        let (mut connection, mut out) = after_five_segments(at_write);
        assert!(is_app_limited(&connection), "nothing was in flight, and all is sent");
        // What is delivered was sent after the write: only sending all limits until the last of five.
        connection.on_feedback(0.2, &ack_of(1, 0.1, None), &mut out);
        assert_eq!(is_app_limited(&connection), after_one_ack, "at_write {at_write}");
    }
}

#[test]
fn a_write_into_a_full_window_or_while_lost_segments_wait_limits_nothing() {
    // tcp_rate_check_app_limited: four segments in flight, then more data.
    let limited = |cwnd: f64, unsent: u64| {
        let (mut connection, mut out) = after_five_segments(true);
        connection.on_feedback(0.2, &ack_of(1, 0.1, None), &mut out);
        connection.vars.cwnd = cwnd;
        connection.note_write(unsent);
        is_app_limited(&connection)
    };
    assert!(limited(10.0, 0));
    assert!(limited(10.0, 1447), "less than a segment waits");
    assert!(!limited(10.0, 1448));
    assert!(!limited(4.0, 0), "cwnd is full");
    let (mut connection, mut out) = after_five_segments(true);
    connection.on_feedback(0.2, &ack_of(1, 0.1, None), &mut out);
    // A tail loss probe, then the timeout.
    (0..2).for_each(|_| connection.on_wake(connection.rto_at, &mut out));
    assert!(connection.scoreboard.next_lost().is_some(), "all are lost, and one is sent again");
    connection.vars.cwnd = 10.0;
    connection.note_write(0);
    assert!(!is_app_limited(&connection));
}
