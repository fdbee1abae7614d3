//! Time to live, as packets carry it.

/// Which packets of a flow tell routers the time to live that they started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlOption {
    /// All packets.
    All,
    /// Data packets, not ACKs.
    Data,
    /// No packets.
    Nothing,
}
