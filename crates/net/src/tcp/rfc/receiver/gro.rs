//! Generic receive offload (GRO) as in Linux: TCP takes several segments as one, and so acknowledges them once (a
//! stretch ACK).
//!
//! The model: segments join as in `tcp_gro_receive` while each comes within a fixed time of the one before; this time
//! stands for a device's interrupts and polls. Data reach the application when they come; only their ACK waits.

use super::segment::Came;
use super::settings::ReceiverSettings;
use crate::segment::{CE, CWR, FIN, PSH};
use crate::tcp::rfc::wire::{Arrived, Range};

/// Most bytes of a packet, headers included (Linux, `GRO_LEGACY_MAX_SIZE`); below, those headers: IP, TCP, time stamps.
const MOST: u64 = 65_536;
const HEADERS: u64 = 52;

/// Segments that come as one.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub came: Came,
    /// Those of the burst's numbers that had come before.
    pub repeated: Option<Range>,
    /// The burst's numbers.
    span: Range,
    /// ECN field and time stamp of its segments.
    ecn: u8,
    stamp: u64,
    /// What the segments acknowledge, with data both ways.
    ack: u32,
    /// When the burst ends unless another segment joins, s.
    until: f64,
}

/// Receive offload of a connection.
#[derive(Clone, Debug)]
pub(super) struct Gro {
    /// How long a burst waits for another segment, s.
    gap: f64,
    mss: u32,
    timestamps: bool,
    burst: Option<Burst>,
    /// When the delayed ACK is due, s; infinite if none is.
    pub ack_at: f64,
}

impl Gro {
    /// `None` if each segment comes on its own, and no other timer runs beside that of a delayed ACK.
    pub fn new(settings: &ReceiverSettings) -> Option<Box<Self>> {
        (settings.rules.gro > 0.0 || settings.rules.reading.is_some()).then(|| {
            Box::new(Gro {
                gap: settings.rules.gro,
                mss: settings.mss,
                timestamps: settings.timestamps,
                burst: None,
                ack_at: f64::INFINITY,
            })
        })
    }

    /// The segment's time stamp as on the wire, in milliseconds.
    fn stamp(&self, arrived: &Arrived) -> u64 {
        if self.timestamps {
            (arrived.stamp * 1e3) as u64
        } else {
            0
        }
    }

    /// Whether a segment that begins at `start` joins those before.
    pub fn joins(&self, arrived: &Arrived, start: u64) -> bool {
        self.burst.as_ref().is_some_and(|burst| {
            start == burst.span.1
                && start + u64::from(arrived.payload) + HEADERS <= burst.span.0 + MOST
                && arrived.now <= burst.until
                && arrived.bits & CWR == 0
                && arrived.bits & CE == burst.ecn
                && self.stamp(arrived) == burst.stamp
                && arrived.ack == burst.ack
        })
    }

    /// Adds a segment with the numbers `span` that [`joins`](Self::joins), or starts a burst; true if the burst ends.
    pub fn add(&mut self, came: Came, arrived: &Arrived, span: Range) -> bool {
        let (bits, short) = (arrived.bits, arrived.payload < self.mss);
        let (stamp, repeats) = (self.stamp(arrived), came.duplicate);
        let ack = arrived.ack;
        let new = || Burst { came, repeated: None, span, ecn: bits & CE, stamp, ack, until: 0.0 };
        let mut burst = self.burst.take().unwrap_or_else(new);
        if burst.span != span {
            let before = burst.came;
            burst.span.1 = span.1;
            burst.came = Came {
                several: true,
                news_of_marks: came.news_of_marks || before.news_of_marks,
                in_order: came.in_order || before.in_order,
                had_gap: before.had_gap,
                duplicate: came.duplicate || before.duplicate,
                old: came.old || before.old,
                ..came
            };
        }
        if repeats {
            burst.repeated = Some((burst.repeated.unwrap_or(span).0, span.1));
        }
        burst.until = arrived.now + self.gap;
        self.burst = Some(burst);
        short || bits & (PSH | FIN) != 0 || self.gap == 0.0
    }

    /// The burst, which ends.
    pub fn take(&mut self) -> Option<Burst> {
        self.burst.take()
    }

    /// When the timer expires, s.
    pub fn wake(&self) -> f64 {
        self.burst.as_ref().map_or(self.ack_at, |burst| burst.until.min(self.ack_at))
    }
}
