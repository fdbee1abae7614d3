//! `linux-6.18`: how Linux 6.18 differs from the RFCs. Each row names the kernel function; `docs/crosscheck.md` has the
//! measurements.

use super::options::Value;
use super::stack::{Row, Stack};

/// Linux 6.18.
pub const STACK: Stack = Stack {
    name: "linux-6.18",
    about: "Linux 6.18's TCP, as measured on real links.",
    tcps: &["reno", "cubic", "bbr"],
    is_ns2: false,
    rows: &[
        Row { key: "window", value: Value::Whole(4000), only: &[], source: "tcp_rmem: 6 MB" },
        Row { key: "min_rto", value: Value::Seconds(0.2), only: &[], source: "TCP_RTO_MIN" },
        Row { key: "min_rto_for", value: Value::Word("variation"), only: &[], source: "tcp_rtt_estimator" },
        Row { key: "rack", value: Value::Flag(true), only: &["reno"], source: "tcp_recovery = 1" },
        Row { key: "prr", value: Value::Word("safe_ack"), only: &[], source: "tcp_cwnd_reduction" },
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
        Row { key: "exit_ack", value: Value::Word("grows"), only: &["reno", "cubic"], source: "tcp_cong_control" },
        Row {
            key: "lost_retransmit_cut",
            value: Value::Word("none"),
            only: &["reno", "cubic"],
            source: "tcp_fastretrans_alert",
        },
        Row {
            key: "mark_cut",
            value: Value::Word("round_trip"),
            only: &["reno", "cubic"],
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
        Row { key: "repair_timer", value: Value::Word("restarts"), only: &[], source: "tcp_xmit_retransmit_queue" },
        Row { key: "late_sack", value: Value::Word("compressed"), only: &[], source: "__tcp_ack_snd_check" },
        Row {
            key: "push_ack",
            value: Value::Word("at_once"),
            only: &[],
            source: "__tcp_transmit_skb, tcp_cleanup_rbuf",
        },
        Row { key: "pair_wait", value: Value::Word("due"), only: &[], source: "tcp_tso_should_defer, since 6.18" },
        Row { key: "cubic", value: Value::Word("linux"), only: &["cubic"], source: "bictcp_update" },
        Row {
            key: "cubic_clock",
            value: Value::Word("ticks"),
            only: &["cubic"],
            source: "bictcp_update, tcp_jiffies32",
        },
        Row { key: "bbr_budget", value: Value::Flag(true), only: &["bbr"], source: "bbr_quantization_budget" },
        Row { key: "bbr_aggregation", value: Value::Flag(true), only: &["bbr"], source: "bbr_update_ack_aggregation" },
        Row { key: "bbr_policer", value: Value::Flag(true), only: &["bbr"], source: "bbr_lt_bw_sampling" },
        Row { key: "bbr_first_rtt", value: Value::Word("handshake"), only: &["bbr"], source: "bbr_init" },
        Row {
            key: "bbr_inflight",
            value: Value::Word("at_departure"),
            only: &["bbr"],
            source: "bbr_packets_in_net_at_edt",
        },
        Row { key: "bbr_rounds", value: Value::Word("valid"), only: &["bbr"], source: "bbr_update_bw" },
        Row { key: "bbr_rates", value: Value::Word("three"), only: &["bbr"], source: "minmax_running_max" },
        Row { key: "bbr_sample_start", value: Value::Word("outstanding"), only: &["bbr"], source: "tcp_rate_skb_sent" },
        Row { key: "bbr_least", value: Value::Word("unless_conserving"), only: &["bbr"], source: "bbr_set_cwnd" },
        Row { key: "bbr_recovery_end", value: Value::Word("at_once"), only: &["bbr"], source: "tcp_fastretrans_alert" },
        Row { key: "bbr_lost_again", value: Value::Word("recovers"), only: &["bbr"], source: "tcp_fastretrans_alert" },
        Row { key: "bbr_timers", value: Value::Word("count"), only: &["bbr"], source: "bbr_set_state" },
        Row {
            key: "bbr_same_rtt",
            value: Value::Word("changes_nothing"),
            only: &["bbr"],
            source: "bbr_update_min_rtt",
        },
        Row { key: "bbr_stamps", value: Value::Word("milliseconds"), only: &["bbr"], source: "tcp_ack_update_rtt" },
    ],
};
