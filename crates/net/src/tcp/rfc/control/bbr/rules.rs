//! Which mechanisms a BBR has.

use super::linux::LinuxRules;
use super::ns3::Ns3Rules;

/// Options of BBR. All false: the draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BbrRules {
    /// The handshake's RTT is the first sample of the min RTT (Linux, `bbr_init`; ns-3), not that of the first data.
    pub handshake_rtt: bool,
    /// Rounds are counted by ACKs with a rate sample (Linux, `bbr_update_bw`; ns-3). After a spurious timeout intervals
    /// too short for a sample come in a row, and ten rounds of them would soon expire the bandwidth.
    pub rounds_by_rate_samples: bool,
    /// The bandwidth is a windowed maximum of three estimates (Linux, `minmax_running_max`; ns-3), not the exact one.
    pub running_max: bool,
    /// The ACK that ends a recovery is the first outside of it (Linux, `tcp_fastretrans_alert`; ns-3): it restores
    /// cwnd, and losses that it tells of start another recovery.
    pub immediate_recovery_end: bool,
    /// What Linux adds.
    pub linux: LinuxRules,
    /// What ns-3 does otherwise.
    pub ns3: Ns3Rules,
}
