//! Which mechanisms a BBR has.

use super::linux::LinuxRules;

/// Options of BBR. All false: the draft.
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
    /// What Linux adds.
    pub linux: LinuxRules,
}
