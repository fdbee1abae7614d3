//! `linux-6.18`: how Linux 6.18 differs from the RFCs. Each row names the kernel function; `docs/crosscheck.md` has the
//! measurements.

use super::options::Value;
use super::stack::{Row, Stack};

/// Linux 6.18.
pub const STACK: Stack = Stack {
    name: "linux-6.18",
    about: "Linux 6.18's TCP, as measured on real links.",
    tcps: &["reno", "cubic", "dctcp", "bbr"],
    is_ns2: false,
    rows: &[
        Row {
            key: "window",
            value: Value::Whole(2400),
            only: &[],
            source: "tcp_wmem[2]: 4 MB of send buffer, refilled when a third is free; tcp_rmem[2] is 32 MB",
        },
        Row { key: "min_rto", value: Value::Seconds(0.2), only: &[], source: "TCP_RTO_MIN" },
        Row { key: "min_rto_for", value: Value::Word("variation"), only: &[], source: "tcp_rtt_estimator" },
        Row { key: "lost_syn_rto", value: Value::Word("sampled"), only: &[], source: "tcp_init_metrics" },
        Row {
            key: "syn_linear_timeouts",
            value: Value::Whole(4),
            only: &[],
            source: "tcp_retransmit_timer, tcp_syn_linear_timeouts",
        },
        Row { key: "rack", value: Value::Flag(true), only: &["reno"], source: "tcp_recovery = 1" },
        Row { key: "probe_wait", value: Value::Word("min_rto"), only: &[], source: "tcp_schedule_loss_probe" },
        Row {
            key: "prr_base",
            value: Value::Word("cwnd"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_init_cwnd_reduction, tcp_cwnd_reduction",
        },
        Row {
            key: "ssthresh",
            value: Value::Word("cwnd"),
            only: &[],
            source: "tcp_reno_ssthresh, cubictcp_recalc_ssthresh",
        },
        Row { key: "delayed_ack", value: Value::Seconds(0.04), only: &[], source: "TCP_ATO_MIN" },
        Row { key: "send_pairs", value: Value::Flag(true), only: &[], source: "tcp_tso_should_defer" },
        Row { key: "growth", value: Value::Word("arrived"), only: &[], source: "tcp_cong_control" },
        Row { key: "hystart", value: Value::Word("classic"), only: &["cubic"], source: "hystart_update" },
        Row { key: "pacing_burst", value: Value::Whole(2), only: &["bbr"], source: "bbr_min_tso_segs" },
        Row {
            key: "idle_restart",
            value: Value::Word("halved"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_slow_start_after_idle_check, tcp_cwnd_restart",
        },
        Row {
            key: "cwnd_use",
            value: Value::Word("window"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_cwnd_validate, tcp_is_cwnd_limited",
        },
        Row {
            key: "exit_ack",
            value: Value::Word("grows"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_cong_control",
        },
        Row {
            key: "lost_retransmit_cut",
            value: Value::Word("none"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_fastretrans_alert",
        },
        Row {
            key: "lost_again",
            value: Value::Word("recovers"),
            only: &[],
            source: "tcp_fastretrans_alert, tcp_rack_reo_timeout",
        },
        Row {
            key: "mark_cut",
            value: Value::Word("round_trip"),
            only: &["reno", "cubic", "dctcp"],
            source: "tcp_enter_cwr, tcp_cwnd_reduction",
        },
        Row {
            key: "mark_ack",
            value: Value::Word("at_once"),
            only: &[],
            source: "tcp_ecn_check_ce, tcp_ecn_accept_cwr",
        },
        Row { key: "late_segment", value: Value::Word("made_up"), only: &["bbr"], source: "tcp_update_skb_after_send" },
        Row { key: "rack_timer", value: Value::Word("ticks"), only: &[], source: "tcp_rack_mark_lost" },
        Row { key: "rack_repeats", value: Value::Word("reported"), only: &[], source: "tcp_sacktag_one" },
        Row {
            key: "timeout_window",
            value: Value::Word("in_flight"),
            only: &[],
            source: "tcp_enter_loss, tcp_timeout_mark_lost",
        },
        Row { key: "frto", value: Value::Word("on"), only: &[], source: "tcp_process_loss" },
        Row { key: "eifel", value: Value::Word("on"), only: &[], source: "tcp_packet_delayed, tcp_try_undo_partial" },
        Row { key: "dsack_undo", value: Value::Word("on"), only: &[], source: "tcp_try_undo_dsack" },
        Row {
            key: "reordering",
            value: Value::Word("adapts"),
            only: &[],
            source: "tcp_dsack_seen, tcp_check_sack_reordering, tcp_may_raise_cwnd",
        },
        Row { key: "repair_timer", value: Value::Word("restarts"), only: &[], source: "tcp_xmit_retransmit_queue" },
        Row { key: "late_sack", value: Value::Word("compressed"), only: &[], source: "__tcp_ack_snd_check" },
        Row {
            key: "push_ack",
            value: Value::Word("at_once"),
            only: &[],
            source: "__tcp_transmit_skb, tcp_cleanup_rbuf",
        },
        Row {
            key: "burst_size",
            value: Value::Word("autosized"),
            only: &[],
            source: "tcp_tso_autosize, tcp_tso_should_defer, tcp_cwnd_test",
        },
        Row {
            key: "first_ack",
            value: Value::Word("at_once"),
            only: &[],
            source: "tcp_event_data_recv, tcp_incr_quickack, tcp_send_dupack",
        },
        Row {
            key: "ack_wait",
            value: Value::Word("adapts"),
            only: &[],
            source: "tcp_event_data_recv, tcp_send_delayed_ack",
        },
        Row { key: "pair_wait", value: Value::Word("due"), only: &[], source: "tcp_tso_should_defer, since 6.18" },
        Row { key: "cubic", value: Value::Word("linux"), only: &["cubic"], source: "bictcp_update, tcp_jiffies32" },
        Row {
            key: "dctcp_count",
            value: Value::Word("integers"),
            only: &["dctcp"],
            source: "dctcp_update_alpha, dctcp_ssthresh",
        },
        Row {
            key: "bbr",
            value: Value::Word("linux"),
            only: &["bbr"],
            source: "tcp_bbr.c, tcp_rate.c, tcp_ack_update_rtt",
        },
    ],
};
