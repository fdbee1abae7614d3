//! Settings of a connection's ends: what each mechanism does ([`super::rules`]), and what all of them need to know.

use super::clock::LARGEST_BURST;
use super::control::{
    Algorithm, Avoidance, Bbr, Bbr3, Cubic, Dctcp, Ledbat, LedbatPlusPlus, LinuxCubic, NewReno, Prague, SlowStart,
};
use super::header::{HEADER_BYTES, STAMP_BYTES};
use super::rules::{
    ControlRules, EcnRules, Feedbacks, GrowthRules, PacingRules, RackRules, ReceiverRules, RecoveryRules, ResumeRules,
    RtoRules, ServerEcn, UndoRules,
};

/// The congestion control of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ControlKind {
    /// NewReno (RFC 5681).
    NewReno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// BBR, version 1.
    Bbr,
    /// BBR, version 3.
    Bbr3,
    /// LEDBAT (RFC 6817).
    Ledbat {
        /// Target: the queueing delay that it keeps, s.
        target: f64,
        /// Gain: largest growth, segments a round trip.
        gain: f64,
    },
    /// LEDBAT++.
    LedbatPlusPlus {
        /// Target: the queueing delay that it keeps, s.
        target: f64,
    },
    /// TCP Prague, scalable, for L4S.
    Prague,
}

/// Settings of a connection. Sizes are in bytes, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Congestion control.
    pub control: ControlKind,
    /// Payload of a full segment (SMSS).
    pub mss: u32,
    /// Whether ACKs are selective (RFC 2018, 6675); if not, recovery is NewReno's (RFC 6582).
    pub sack: bool,
    /// Whether every segment has time stamps (RFC 7323).
    pub timestamps: bool,
    /// Whether finite data end with a FIN.
    pub fin: bool,
    /// Whether packet numbers, loss detection and recovery are QUIC's (RFC 9002), not TCP's.
    pub quic: bool,
    /// The retransmission timeout.
    pub rto: RtoRules,
    /// RACK and tail loss probes.
    pub rack: RackRules,
    /// Detection of spurious losses.
    pub undo: UndoRules,
    /// Reductions and recoveries.
    pub recovery: RecoveryRules,
    /// Growth of cwnd.
    pub growth: GrowthRules,
    /// Explicit congestion notification.
    pub ecn: EcnRules,
    /// Departure times and bursts.
    pub pacing: PacingRules,
    /// Single congestion controls.
    pub controls: ControlRules,
    /// Careful Resume (RFC 9959).
    pub resume: ResumeRules,
    /// The receiver.
    pub receiver: ReceiverRules,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            control: ControlKind::NewReno,
            mss: 1448,
            sack: true,
            timestamps: true,
            fin: false,
            quic: false,
            rto: RtoRules::default(),
            rack: RackRules::default(),
            undo: UndoRules::default(),
            recovery: RecoveryRules::default(),
            growth: GrowthRules::default(),
            ecn: EcnRules::default(),
            pacing: PacingRules::default(),
            controls: ControlRules::default(),
            resume: ResumeRules::default(),
            receiver: ReceiverRules::default(),
        }
    }
}

impl Settings {
    /// Whether ACKs tell of a window that moves.
    pub fn window_moves(&self) -> bool {
        self.receiver.reading.is_some() || self.receiver.window_tuned
    }

    /// The feedback that the SYN asks for.
    pub fn asks(&self) -> Feedbacks {
        match self.ecn.feedback {
            Feedbacks::None => Feedbacks::None,
            _ if self.ecn.accecn => Feedbacks::Accecn,
            own => own,
        }
    }

    /// The feedback that the receiver is able to give.
    pub(super) fn serves(&self) -> Feedbacks {
        match (self.asks(), self.ecn.server) {
            (_, ServerEcn::None) | (Feedbacks::None, _) => Feedbacks::None,
            (_, ServerEcn::Classic) => Feedbacks::Classic,
            (own, ServerEcn::Same) => own,
        }
    }

    /// Whether ACKs count marked packets in three header bits, if the receiver agrees.
    pub fn counts_marks(&self) -> bool {
        matches!(self.asks(), Feedbacks::Counter | Feedbacks::Accecn)
    }

    /// Most SACK blocks in an ACK (RFC 2018, section 3).
    pub fn blocks(&self) -> u8 {
        match (self.sack, self.timestamps) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 4,
        }
    }

    /// The initial window, segments (RFC 6928, 2: min(10 MSS, max(2 MSS, 14600 B))).
    pub fn initial_window(&self) -> f64 {
        let mss = f64::from(self.mss);
        match self.growth.initial_window {
            Some(segments) => f64::from(segments),
            // RFC 6817, 2.4.2; LEDBAT++, 4.1.
            None if matches!(self.control, ControlKind::Ledbat { .. } | ControlKind::LedbatPlusPlus { .. }) => 2.0,
            None => (10.0 * mss).min((2.0 * mss).max(14_600.0)) / mss,
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        let most = if self.growth.arrived { f64::INFINITY } else { self.growth.abc_limit };
        let (mss, largest_burst) = (f64::from(self.mss), f64::from(LARGEST_BURST));
        let start = |most| SlowStart::new(most, self.growth.hystart).in_bursts_of(largest_burst / mss);
        match self.control {
            ControlKind::NewReno => {
                Algorithm::NewReno(NewReno::new(start(most), Avoidance::new(self.growth.avoidance), self.ecn.abe))
            }
            ControlKind::Cubic if self.controls.cubic_linux => {
                Algorithm::LinuxCubic(LinuxCubic::new(start(f64::INFINITY)))
            }
            ControlKind::Cubic => Algorithm::Cubic(Cubic::new(start(most), self.ecn.abe)),
            ControlKind::Dctcp => {
                let dctcp = Dctcp::new(start(most), Avoidance::new(self.growth.avoidance));
                Algorithm::Dctcp(dctcp.in_integers(self.controls.dctcp_linux))
            }
            ControlKind::Bbr => {
                let bbr = Bbr::new(self.controls.bbr, mss, self.sack);
                Algorithm::Bbr(Box::new(bbr.recovering_again(self.recovery.lost_retransmission_recovers)))
            }
            ControlKind::Bbr3 => {
                // "Offload Budget": three quanta where hosts offload segmentation and receive offload joins segments.
                let quanta = if self.quic { 1 } else { 3 };
                Algorithm::Bbr3(Box::new(Bbr3::new(f64::from(quanta * self.pacing.burst), self.sack)))
            }
            ControlKind::Ledbat { target, gain } => Algorithm::Ledbat(Ledbat::new(target, gain)),
            ControlKind::LedbatPlusPlus { target } => Algorithm::LedbatPlusPlus(LedbatPlusPlus::new(target)),
            ControlKind::Prague => {
                let (target, fallback) = (self.controls.prague_rtt_target, self.controls.prague_fallback);
                let headers = HEADER_BYTES + if self.timestamps { STAMP_BYTES } else { 0 };
                let prague = Prague::new(mss, mss + f64::from(headers), start(most), target, fallback);
                Algorithm::Prague(Box::new(prague))
            }
        }
    }
}
