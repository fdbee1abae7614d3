//! Options of every congestion control.

use super::option::{
    place, Group::*, Opt, Values::*, ACCECN_OR_CLASSIC_MARKS, BURSTS, COUNTED, ECHOES, MARKS, NOT_BBR, NOT_QUIC, PACED,
    PAIRS, PRR, RACK, SACK, STAMPS, WAITING_ACKS,
};
use crate::tcp::rfc::{Base, Bound, Counting, HyStart, IdleRestart, Restart, ServerEcn};

const AVOIDANCE: [Counting; 2] = [Counting::Window, Counting::PerAck];
const HYSTART: [HyStart; 4] = [HyStart::Off, HyStart::PlusPlus, HyStart::Classic, HyStart::Search];
const IDLE_RESTARTS: [IdleRestart; 3] = [IdleRestart::Initial, IdleRestart::Halved, IdleRestart::None];
const SERVER_ECN: [ServerEcn; 3] = [ServerEcn::Same, ServerEcn::Classic, ServerEcn::None];
const SSTHRESH: [Base; 2] = [Base::Flight, Base::Cwnd];
const BOUNDS: [Option<Bound>; 4] = [Some(Bound::SafeAck), Some(Bound::SlowStart), Some(Bound::Conservative), None];

pub(super) const OPTIONS: &[Opt] = &[
    Opt::new("sack", Handshake, Flag(|s| &mut s.sack))
        .needs(&[NOT_QUIC])
        .source("RFC 2018, RFC 6675")
        .about("Selective acknowledgements; newreno has none."),
    Opt::new("timestamps", Handshake, Flag(|s| &mut s.timestamps))
        .needs(&[NOT_QUIC])
        .source("RFC 7323")
        .about("Time stamps in every segment."),
    Opt::new(
        "window",
        Handshake,
        Window(1_000_000, 1_073_725_440.0, |s| s.receiver.window, |s, bytes| s.receiver.window = bytes),
    )
    .source("RFC 7323, 2.3")
    .about("The receiver's window, in segments or bytes: a key of the entry itself."),
    Opt::new(
        "initial_window",
        Handshake,
        Whole(1, 1000, |s| s.growth.initial_window.map(u64::from), |s, n| s.growth.initial_window = Some(n as u32)),
    )
    .source("RFC 6928, 2")
    .about("Initial window in segments; by default min(10 segments, max(2 segments, 14600 B))."),
    Opt::new("fin", Handshake, Flag(|s| &mut s.fin)).source("RFC 9293, 3.6").about("End finite data with a FIN."),
    Opt::new("min_rto", Timer, Seconds(1e-3, 60.0, |s| s.rto.min, |s, time| s.rto.min = time))
        .needs(&[NOT_QUIC])
        .source("RFC 6298, 2.4; Linux, TCP_RTO_MIN: 0.2 s")
        .about("The shortest retransmission timeout."),
    Opt::new("min_rto_for", Timer, Either(["timeout", "variation"], |s| &mut s.rto.min_for_variation))
        .needs(&[NOT_QUIC])
        .source("RFC 6298, 2.4; variation: Linux, tcp_rtt_estimator (tcp_rto_min), TCP_RTO_MAX")
        .about("min_rto is the least of the timeout, or of what the variation adds to it; then timeouts double up to 120 s, not 60."),
    Opt::new("rack", Loss, Flag(|s| &mut s.rack.on))
        .needs(&[NOT_QUIC, SACK])
        .source("RFC 8985")
        .about("RACK and tail loss probes; by default with cubic, dctcp, bbr, bbr3 and prague."),
    Opt::new("limited_transmit", Loss, Flag(|s| &mut s.recovery.limited_transmit))
        .needs(&[NOT_QUIC])
        .source("RFC 3042")
        .about("Send a new segment on each of the first two duplicate ACKs."),
    Opt::new(
        "prr",
        Recovery,
        WordsOrFlag(
            &["safe_ack", "slow_start", "conservative", "off"],
            |s| place(&s.recovery.prr, &BOUNDS),
            |s, k| s.recovery.prr = BOUNDS[k],
        ),
    )
    .needs(&[NOT_QUIC])
    .source("RFC 9937; slow_start, conservative: RFC 6937, 3.1, which it obsoletes; off: RFC 6675, 5")
    .about("Proportional rate reduction in a recovery, and its bound."),
    Opt::new(
        "ssthresh",
        Recovery,
        Words(
            &["flight", "cwnd"],
            |s| place(&s.recovery.ssthresh, &SSTHRESH),
            |s, k| s.recovery.ssthresh = SSTHRESH[k],
        ),
    )
    .needs(&[NOT_QUIC])
    .source("RFC 5681, 3.1; cwnd: Linux, tcp_reno_ssthresh, tcp_enter_loss")
    .about("What a loss reduces: all that is outstanding, or cwnd, in whole segments; then a timeout during fast recovery does not reduce again."),
    Opt::new("abe", Recovery, Flag(|s| &mut s.ecn.abe))
        .needs(&[MARKS])
        .source("RFC 8511")
        .about("React less to marks than to losses."),
    Opt::new("delayed_ack", Receiver, Wait(0.5, |s| s.receiver.delay, |s, time| s.receiver.delay = time))
        .source("RFC 5681, 4.2")
        .about("Acknowledge every second segment, or after this time; true means 200 ms."),
    Opt::new("pacing", Pacing, Flag(|s| &mut s.pacing.on))
        .source("Linux, tcp_pacing_ss_ratio and tcp_pacing_ca_ratio")
        .about("Pace segments over the round-trip time."),
    Opt::new(
        "pacing_burst",
        Pacing,
        Whole(1, 127, |s| Some(u64::from(s.pacing.burst)), |s, n| s.pacing.burst = n as u32),
    )
    .needs(&[PACED])
    .source("Linux, tcp_tso_autosize, bbr_min_tso_segs")
    .about("Segments in a burst where sending is paced, from 1.2 Mbit/s on."),
    Opt::new("send_pairs", Pacing, Flag(|s| &mut s.pacing.pairs))
        .needs(&[NOT_QUIC])
        .source("Linux, tcp_tso_should_defer")
        .about("A single new segment waits for the next ACK, to leave in a burst of two."),
    Opt::new("growth", Growth, Either(["acked", "arrived"], |s| &mut s.growth.arrived))
        .needs(&[NOT_QUIC])
        .source("RFC 5681, 3.1; arrived: Linux, tcp_cong_avoid (RFC 3465 without its limit)")
        .about("cwnd grows by what the cumulative ACK advances, up to abc_limit, or by all that is newly delivered, SACKed segments included."),
    Opt::new(
        "abc_limit",
        Growth,
        Whole(1, 1000, |s| Some(s.growth.abc_limit as u64), |s, n| s.growth.abc_limit = n as f64),
    )
    .needs(&[COUNTED])
    .source("RFC 3465, 2.3")
    .about("Segments that an ACK adds in slow start at most (L)."),
    Opt::new(
        "avoidance",
        Growth,
        Words(
            &["counted", "per_ack"],
            |s| place(&s.growth.avoidance, &AVOIDANCE),
            |s, k| s.growth.avoidance = AVOIDANCE[k],
        ),
    )
    .source("RFC 3465, 2.1; per_ack: RFC 5681, equation 3")
    .about("Congestion avoidance counts acknowledged segments, anew after a reduction, or adds 1/cwnd for each ACK."),
    Opt::new(
        "hystart",
        Growth,
        Switch(&["classic", "search"], |s| place(&s.growth.hystart, &HYSTART), |s, k| s.growth.hystart = HYSTART[k]),
    )
    .source("RFC 9406; classic: Linux, hystart_update in tcp_cubic.c; search: draft-chung-ccwg-search")
    .about("HyStart++, by default with cubic; HyStart as Linux has it; or SEARCH, which compares what is delivered with what was sent."),
    Opt::new(
        "rto_restart",
        Timer,
        Words(
            &["every", "first"],
            |s| usize::from(s.rto.restart.map_or(!s.sack, |r| r == Restart::First)),
            |s, k| s.rto.restart = Some([Restart::Every, Restart::First][k]),
        ),
    )
    .needs(&[NOT_QUIC])
    .source("RFC 6298, 5.3; first: RFC 6582, 4")
    .about("Which ACKs of new data restart the retransmission timer during fast recovery: every one, or the first alone (default of newreno)."),
    Opt::new("exit_ack", Recovery, Either(["ends", "grows"], |s| &mut s.recovery.exit_ack_grows))
        .needs(&[NOT_QUIC, NOT_BBR])
        .source("RFC 6582, 3.2; grows: Linux, tcp_cong_control")
        .about("The ACK that ends fast recovery only ends it, or also grows cwnd."),
    Opt::new("lost_syn_rto", Handshake, Either(["three_seconds", "sampled"], |s| &mut s.rto.lost_syn_sampled))
        .needs(&[NOT_QUIC, STAMPS])
        .source("RFC 6298, 5.7; sampled: Linux, tcp_init_metrics")
        .about("After a lost SYN the first timeout of data is 3 s; or it follows from the handshake's sample, which time stamps give."),
    Opt::new(
        "syn_linear_timeouts",
        Handshake,
        Whole(0, 127, |s| Some(s.rto.syn_linear_timeouts.into()), |s, n| s.rto.syn_linear_timeouts = n as u32),
    )
    .needs(&[NOT_QUIC])
    .source("RFC 6298, 5.5: 0; Linux since 6.5, tcp_syn_linear_timeouts: 4")
    .about("So many timeouts of the SYN do not double the next one."),
    Opt::new("probe_wait", Loss, Either(["ack_delay", "min_rto"], |s| &mut s.rack.probe_waits_min_rto))
        .needs(&[NOT_QUIC, RACK])
        .source("RFC 8985, 7.2; min_rto: Linux, tcp_schedule_loss_probe")
        .about("A tail loss probe waits for two RTTs, and with one segment in flight for delayed_ack; or for min_rto then, else for 2 ms."),
    Opt::new("prr_base", Recovery, Either(["flight", "cwnd"], |s| &mut s.recovery.prr_base_cwnd))
        .needs(&[NOT_QUIC, PRR])
        .source("RFC 9937, RecoverFS; cwnd: Linux, tcp_init_cwnd_reduction (prior_cwnd)")
        .about("PRR's proportional part reduces the flight in which the loss was detected, or cwnd."),
    Opt::new("lost_retransmit_cut", Recovery, Either(["again", "none"], |s| &mut s.recovery.lost_retransmit_cut_none))
        .needs(&[NOT_QUIC, RACK, NOT_BBR])
        .source("RFC 5681, 4.3; none: Linux, where a recovery cuts once")
        .about("A lost retransmission that RACK detects reduces cwnd once more, or does not."),
    Opt::new(
        "lost_again",
        Recovery,
        Either(["repaired", "recovers"], |s| &mut s.recovery.lost_retransmission_recovers),
    )
    .needs(&[NOT_QUIC, RACK])
    .source("RFC 8985, 6.3; recovers: Linux, tcp_fastretrans_alert, tcp_rack_reo_timeout")
    .about("A lost retransmission after a timeout is retransmitted, or starts a recovery, with a reduction of its own."),
    Opt::new("timeout_window", Recovery, Either(["one", "in_flight"], |s| &mut s.recovery.timeout_window_in_flight))
        .needs(&[NOT_QUIC, RACK])
        .source("RFC 5681, 3.1; in_flight: Linux, tcp_enter_loss, tcp_timeout_mark_lost")
        .about("A timeout leaves a cwnd of one segment, or of one more than what RACK does not count as lost, then without its reordering window."),
    Opt::new("frto", Loss, Either(["off", "on"], |s| &mut s.undo.frto))
        .needs(&[NOT_QUIC, SACK])
        .source("RFC 5682, 3.1; Linux, tcp_process_loss")
        .about("F-RTO: after a timeout send new data, and undo the reduction if segments arrive that were not retransmitted."),
    Opt::new("eifel", Loss, Either(["off", "on"], |s| &mut s.undo.eifel))
        .needs(&[NOT_QUIC, SACK, STAMPS])
        .source("RFC 3522; Linux, tcp_packet_delayed")
        .about("Undo a reduction if an ACK echoes a time stamp from before the first retransmission."),
    Opt::new("dsack_undo", Loss, Either(["off", "on"], |s| &mut s.undo.dsack))
        .needs(&[NOT_QUIC, SACK])
        .source("RFC 3708; Linux, tcp_try_undo_dsack")
        .about("Undo a reduction if DSACKs have reported all of its retransmissions."),
    Opt::new("reordering", Loss, Either(["rack", "adapts"], |s| &mut s.rack.reordering_adapts))
        .needs(&[NOT_QUIC, RACK])
        .source("RFC 8985, 6.2; adapts: Linux, tcp_dsack_seen, tcp_check_sack_reordering, tcp_may_raise_cwnd")
        .about("Every DSACK enlarges RACK's reordering window; or one not of a probe, once reordering was seen, and cwnd also grows with SACKs once a segment was overtaken by more than three."),
    Opt::new(
        "idle_restart",
        Growth,
        Words(
            &["initial", "halved", "none"],
            |s| place(&s.growth.idle_restart, &IDLE_RESTARTS),
            |s, k| s.growth.idle_restart = IDLE_RESTARTS[k],
        ),
    )
    .source("RFC 5681, 4.1; halved: Linux, tcp_cwnd_restart; none: BBR draft 00, restarting from idle; TCP Prague")
    .about("After an idle time longer than the retransmission timeout cwnd restarts from the initial window, is halved once for each timeout that has passed, or stays."),
    Opt::new("cwnd_use", Growth, Either(["now", "window"], |s| &mut s.growth.use_window))
        .needs(&[NOT_QUIC, NOT_BBR])
        .source("RFC 7661, 4.1; window: Linux, tcp_cwnd_validate, tcp_is_cwnd_limited, tcp_cwnd_application_limited")
        .about("cwnd grows while it limits sending now, or has done so in the last window of data; then it also shrinks while it does not."),
    Opt::new("mark_cut", Recovery, Either(["at_once", "round_trip"], |s| &mut s.ecn.mark_cut_round_trip))
        .needs(&[NOT_QUIC, MARKS, NOT_BBR])
        .source("RFC 3168, 6.1.2; round_trip: Linux, tcp_enter_cwr and tcp_cwnd_reduction")
        .about("A mark reduces cwnd at once, or over one round trip by PRR, as a loss does (CWR state)."),
    Opt::new("feedback", Handshake, Either(["by_tcp", "accecn"], |s| &mut s.ecn.accecn))
        .needs(&[MARKS])
        .source("RFC 3168, 6.1.3; RFC 8257, 3.2; accecn: RFC 9768; Linux, tcp_ecn.h")
        .about("Marks are echoed as the congestion control has it: by ECE until CWR, with dctcp by the state of the last segment, with prague by the count in three bits of accurate ECN alone; or by accurate ECN whole, with its negotiation and option (prague's default)."),
    Opt::new(
        "server_ecn",
        Handshake,
        Words(&["same", "classic", "none"], |s| place(&s.ecn.server, &SERVER_ECN), |s, k| s.ecn.server = SERVER_ECN[k]),
    )
    .needs(&[MARKS])
    .source("RFC 9768, 3.1.2 and 3.1.3")
    .about("The receiver can echo marks as the sender asks, as in RFC 3168 alone, or not at all; the sender falls back to that."),
    Opt::new("ecn_plus", Recovery, Either(["off", "on"], |s| &mut s.ecn.plus))
        .needs(&[ACCECN_OR_CLASSIC_MARKS])
        .source("RFC 3168, 6.1.5; on: draft-ietf-tcpm-generalized-ecn (ECN++), 3.2")
        .about("Retransmissions are ECN-capable as well, and with accurate ECN SYNs; those of dctcp and prague always are."),
    Opt::new("mark_ack", Receiver, Either(["waits", "at_once"], |s| &mut s.receiver.mark_ack_at_once))
        .needs(&[NOT_QUIC, ECHOES])
        .source("RFC 5681, 4.2; at_once: Linux, tcp_enter_quickack_mode in tcp_ecn_check_ce, tcp_ecn_accept_cwr")
        .about("ACKs of the first CE mark, of the segment behind it and of CWR are delayed like others, or immediate."),
    Opt::new("late_segment", Pacing, Either(["forgotten", "made_up"], |s| &mut s.pacing.late_made_up))
        .needs(&[PACED])
        .source("ours; made_up: Linux, tcp_update_skb_after_send")
        .about("With pacing, the interval after a late departure is whole, or shortened by the lateness, to half at least."),
    Opt::new("rack_timer", Loss, Either(["exact", "ticks"], |s| &mut s.rack.timer_ticks))
        .needs(&[NOT_QUIC, RACK])
        .source("RFC 8985, 6.2; ticks: Linux, tcp_rack_mark_lost")
        .about("With RACK, the reordering timer is exact, or runs 2 ms longer, rounded up to ticks of 4 ms."),
    Opt::new("rack_repeats", Loss, Either(["stamped", "reported"], |s| &mut s.rack.repeats_reported))
        .needs(&[NOT_QUIC, RACK])
        .source("RFC 8985, 6.2; reported: Linux, tcp_sacktag_one")
        .about("With RACK, a retransmission counts as delivered if the echoed time stamp shows it, or also if it is SACKed."),
    Opt::new("repair_timer", Timer, Either(["runs_on", "restarts"], |s| &mut s.rto.repair_restarts))
        .needs(&[NOT_QUIC])
        .source("RFC 6298, 5; restarts: Linux, tcp_xmit_retransmit_queue")
        .about("When the first segment in flight is retransmitted, the retransmission timer keeps running, or restarts."),
    Opt::new("late_sack", Receiver, Either(["at_once", "compressed"], |s| &mut s.receiver.compressed))
        .needs(&[NOT_QUIC, SACK])
        .source("RFC 5681, 4.2; compressed: Linux, __tcp_ack_snd_check (tcp_comp_sack_delay_ns, tcp_comp_sack_nr)")
        .about("ACKs with SACK blocks are immediate, or compressed from the fourth of a loss on: one a millisecond."),
    Opt::new("push_ack", Receiver, Either(["waits", "at_once"], |s| &mut s.receiver.push_ack_at_once))
        .needs(&[NOT_QUIC, WAITING_ACKS])
        .source("RFC 5681, 4.2; at_once: Linux, __tcp_transmit_skb (PSH) and tcp_cleanup_rbuf")
        .about("The ACK of the last segment of a burst is delayed like others, or immediate (PSH)."),
    Opt::new("pair_wait", Pacing, Either(["any", "due"], |s| &mut s.pacing.pair_wait_due))
        .needs(&[NOT_QUIC, PAIRS])
        .source("Linux, tcp_tso_should_defer; due: since 6.18")
        .about("With send_pairs, a single segment waits for any next ACK, or only for one due within a millisecond."),
    Opt::new("first_ack", Receiver, Either(["waits", "at_once"], |s| &mut s.receiver.first_ack_at_once))
        .needs(&[NOT_QUIC, WAITING_ACKS])
        .source("RFC 5681, 4.2; at_once: Linux, tcp_event_data_recv, tcp_incr_quickack, tcp_send_dupack")
        .about("The first 16 ACKs of a connection, after a pause longer than the timeout, and after old data are delayed like others, or immediate."),
    Opt::new("ack_wait", Receiver, Either(["fixed", "adapts"], |s| &mut s.receiver.ack_wait_adapts))
        .needs(&[NOT_QUIC, WAITING_ACKS])
        .source("RFC 5681, 4.2; adapts: Linux, tcp_event_data_recv, tcp_send_delayed_ack")
        .about("ACKs are delayed by delayed_ack, or by more if segments come at longer intervals: up to the RTT of the handshake and 0.2 s."),
    Opt::new("gro", Receiver, Seconds(0.0, 0.01, |s| s.receiver.gro, |s, time| s.receiver.gro = time))
        .needs(&[NOT_QUIC])
        .source("RFC 5681, 4.2; above 0: Linux, tcp_gro_receive")
        .about("Segments in a row that come within this time of each other are acknowledged as one, up to 64 kB or PSH (stretch ACKs); 0 is off."),
    Opt::new("burst_size", Pacing, Either(["fixed", "autosized"], |s| &mut s.pacing.autosized))
        .needs(&[BURSTS])
        .source("Linux; autosized: tcp_tso_autosize, tcp_tso_should_defer, tcp_cwnd_test")
        .about("Bursts have pacing_burst segments, or two where sending is not paced; or as many more as leave in 1/1024 s, plus a part of 64 kB at a min RTT of a few milliseconds, up to 64 kB and half of cwnd."),
];
