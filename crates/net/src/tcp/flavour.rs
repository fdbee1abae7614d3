//! The congestion controls by name.

/// A TCP, named after its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// TCP Tahoe as ns-2.35's `Agent/TCP`.
    Tahoe,
    /// TCP Reno as ns-2.35's `Agent/TCP/Reno`, or RFC 5681 with SACK.
    Reno,
    /// TCP NewReno as ns-2.35's `Agent/TCP/Newreno`, or RFC 6582.
    NewReno,
    /// TCP with selective acknowledgements as ns-2.35's `Agent/TCP/Sack1`, or RFC 5681 with SACK.
    Sack,
    /// TCP Vegas as ns-2.35's `Agent/TCP/Vegas`.
    Vegas,
    /// CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// BBR, version 1.
    Bbr,
    /// BBR, version 3.
    Bbr3,
    /// LEDBAT (RFC 6817).
    Ledbat,
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
    LedbatPlusPlus,
    /// A scalable control for L4S, like TCP Prague.
    Prague,
}

impl Flavour {
    /// All flavours.
    pub const ALL: [Flavour; 12] = [
        Flavour::Tahoe,
        Flavour::Reno,
        Flavour::NewReno,
        Flavour::Sack,
        Flavour::Vegas,
        Flavour::Cubic,
        Flavour::Dctcp,
        Flavour::Bbr,
        Flavour::Bbr3,
        Flavour::Ledbat,
        Flavour::LedbatPlusPlus,
        Flavour::Prague,
    ];

    /// The flavours of ns-2.
    pub const NS2: [Flavour; 5] = [Flavour::Tahoe, Flavour::Reno, Flavour::NewReno, Flavour::Sack, Flavour::Vegas];

    /// The flavours of [`rfc`](super::rfc).
    pub const RFC: [Flavour; 10] = [
        Flavour::Reno,
        Flavour::NewReno,
        Flavour::Sack,
        Flavour::Cubic,
        Flavour::Dctcp,
        Flavour::Bbr,
        Flavour::Bbr3,
        Flavour::Ledbat,
        Flavour::LedbatPlusPlus,
        Flavour::Prague,
    ];

    /// The flavour called `name`.
    pub fn find(name: &str) -> Option<Flavour> {
        Self::ALL.into_iter().find(|flavour| flavour.name() == name)
    }

    /// The flavour's name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Tahoe => "tahoe",
            Flavour::Reno => "reno",
            Flavour::NewReno => "newreno",
            Flavour::Sack => "sack",
            Flavour::Vegas => "vegas",
            Flavour::Cubic => "cubic",
            Flavour::Dctcp => "dctcp",
            Flavour::Bbr => "bbr",
            Flavour::Bbr3 => "bbr3",
            Flavour::Ledbat => "ledbat",
            Flavour::LedbatPlusPlus => "ledbatpp",
            Flavour::Prague => "prague",
        }
    }

    /// Whether the flavour's receiver sends SACK blocks in ns-2.
    pub fn uses_sack(self) -> bool {
        self == Flavour::Sack
    }

    /// Whether the flavour responds to ECN marks. ns-2's Vegas sends segments without ECN.
    pub fn knows_ecn(self) -> bool {
        self != Flavour::Vegas
    }

    /// Whether the flavour's first segment is a SYN without payload. ns-2's Vegas starts with a data segment.
    pub fn has_bare_syn(self) -> bool {
        self != Flavour::Vegas
    }
}
