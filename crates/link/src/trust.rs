//! Whether what a link measured is the queue's doing, or this machine's, which was too slow.
//!
//! Processor time is no sign: with real-time priority the loop polls.

/// The largest lateness that 99 of 100 deliveries of a sound link may have, ns.
const P99_NS: u64 = 1_000_000;
/// The part of a second in which a sound link sends, at least, if packets wait throughout it.
const SHARE: f64 = 0.99;

/// Packets lost at the devices rather than at the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLosses {
    /// Packets read without a usable IP header, by kind: empty, version, header length, truncated header, truncated.
    pub malformed: [u64; 5],
    /// Packets that the receiving device refused.
    pub refused: u64,
    /// Packets for which there was no memory left; they never reached the queue.
    pub over_memory: u64,
}

impl DeviceLosses {
    /// Malformed packets of all kinds.
    pub fn all_malformed(&self) -> u64 {
        self.malformed.iter().sum()
    }
}

/// What tells of a machine that is too slow, in one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Lateness that 99 of 100 deliveries do not exceed, ns; 0 without deliveries.
    pub p99_ns: u64,
    /// Packets lost at the devices.
    pub losses: DeviceLosses,
    /// The least part of a second on the wire, of those in which packets waited throughout.
    pub least_share: Option<f64>,
}

impl Signs {
    /// Why the figures are not to be trusted; empty if they are. `overruns` counts packets that the kernel dropped
    /// before the link read them.
    pub fn reasons(&self, overruns: Option<u64>) -> Vec<String> {
        let mut found = Vec::new();
        if self.p99_ns > P99_NS {
            found.push(format!("deliveries were {:.1} ms late (p99; allowed 1 ms)", self.p99_ns as f64 / 1e6));
        }
        let losses = [
            (overruns.unwrap_or(0), "the kernel dropped", "before the link read them"),
            (self.losses.refused, "the other device refused", "that the link wrote"),
            (self.losses.over_memory, "the link dropped", "because its memory was full (256 MiB)"),
        ];
        for (count, who, why) in losses.into_iter().filter(|(count, ..)| *count > 0) {
            found.push(format!("{who} {count} packet{} {why}", if count == 1 { "" } else { "s" }));
        }
        if let Some(share) = self.least_share.filter(|share| *share < SHARE) {
            found.push(format!(
                "a second in which packets waited throughout carried {:.1} % of the rate (allowed from 99 %)",
                1e2 * share
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_exact() {
        let sound = Signs { p99_ns: 1_000_000, least_share: Some(0.99), ..Signs::default() };
        assert_eq!(sound.reasons(Some(0)), [""; 0]);
        assert_eq!(Signs::default().reasons(None), [""; 0], "nothing was carried");
        let losses = DeviceLosses { malformed: [9; 5], refused: 1, over_memory: 2 };
        let bad = Signs { p99_ns: 12_649_999, losses, least_share: Some(0.432) };
        assert_eq!(
            bad.reasons(Some(7)),
            [
                "deliveries were 12.6 ms late (p99; allowed 1 ms)",
                "the kernel dropped 7 packets before the link read them",
                "the other device refused 1 packet that the link wrote",
                "the link dropped 2 packets because its memory was full (256 MiB)",
                "a second in which packets waited throughout carried 43.2 % of the rate (allowed from 99 %)",
            ]
        );
        let barely = Signs { p99_ns: 1_000_001, least_share: Some(0.9899), ..Signs::default() };
        assert_eq!(barely.reasons(None).len(), 2);
    }
}
