//! Which mechanisms a BBR has, the draft's or Linux's. Tests switch them one by one.

/// What BBR does otherwise than the draft: all false is the draft, all true is Linux ([`BbrRules::LINUX`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BbrRules {
    /// The handshake's RTT is the first sample of the min RTT (Linux, `bbr_init`), not that of the first data.
    pub handshake_rtt: bool,
    /// Rounds are counted by ACKs with a rate sample (Linux, `bbr_update_bw`). After a spurious timeout intervals
    /// too short for a sample come in a row, and ten rounds of them would soon expire the bandwidth.
    pub rounds_by_rate_samples: bool,
    /// The bandwidth is a windowed maximum of three estimates (Linux, `minmax_running_max`), not the exact one.
    pub running_max: bool,
    /// The ACK that ends a recovery is the first outside of it (Linux, `tcp_fastretrans_alert`): it restores
    /// cwnd, and losses that it tells of start another recovery.
    pub immediate_recovery_end: bool,
    /// cwnd has headroom for TSO bursts, is even, and larger by two segments while probing (`bbr_quantization_budget`).
    pub quantization_budget: bool,
    /// cwnd has headroom for aggregated ACKs (`bbr_update_ack_aggregation`).
    pub ack_aggregation: bool,
    /// Detects token-bucket policers by their steady losses, and keeps to their rate (`bbr_lt_bw_sampling`).
    pub long_term_bandwidth: bool,
    /// The long-term bandwidth also counts losses that timers detect, and a timeout as a round with losses
    /// (`bbr_set_state`).
    pub timer_losses: bool,
    /// Phases end by what is in flight when the next paced segment departs, not by what is in flight now
    /// (`bbr_packets_in_net_at_edt`).
    pub in_flight_at_departure: bool,
    /// Packet conservation may bring cwnd below four segments (`bbr_set_cwnd`).
    pub small_conserving_cwnd: bool,
    /// An RTT equal to the min RTT does not renew it (`bbr_update_min_rtt`).
    pub equal_rtt_ignored: bool,
    /// RTTs of retransmissions come from time stamps in whole milliseconds (`tcp_ack_update_rtt`).
    pub millisecond_stamps: bool,
    /// Sending becomes application-limited only when the application gives data (`tcp_rate_check_app_limited`), not
    /// whenever all data have been sent.
    pub app_limited_at_write: bool,
    /// Rate sampling restarts when nothing is outstanding (`tcp_rate_skb_sent`), not as soon as nothing is in flight.
    pub sampling_restarts_if_none_outstanding: bool,
}

impl BbrRules {
    /// Linux's BBR (`tcp_bbr.c`).
    pub const LINUX: BbrRules = BbrRules {
        handshake_rtt: true,
        rounds_by_rate_samples: true,
        running_max: true,
        immediate_recovery_end: true,
        quantization_budget: true,
        ack_aggregation: true,
        long_term_bandwidth: true,
        timer_losses: true,
        in_flight_at_departure: true,
        small_conserving_cwnd: true,
        equal_rtt_ignored: true,
        millisecond_stamps: true,
        app_limited_at_write: true,
        sampling_restarts_if_none_outstanding: true,
    };
}
