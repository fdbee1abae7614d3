//! Variables of a sender for statistics and traces: cwnd, ssthresh, counters.

use super::control::Window;
use crate::tcp::output::{Output, Variable};

/// The variables. Windows are in segments of full size, with fractions.
#[derive(Clone, Debug)]
pub(super) struct Vars {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Whether ssthresh is a whole number, as in Linux.
    pub whole_ssthresh: bool,
    /// Duplicate ACKs, as last traced.
    dupacks: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Timeouts with segments outstanding, or of the SYN.
    pub timeouts: u32,
    /// Reductions undone.
    pub undos: u32,
    /// Whether changes of variables go to [`Output::changes`].
    pub traced: bool,
}

impl Vars {
    pub fn new(whole_ssthresh: bool) -> Self {
        Vars {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            whole_ssthresh,
            dupacks: 0,
            retransmits: 0,
            timeouts: 0,
            undos: 0,
            traced: false,
        }
    }

    #[inline(always)]
    pub fn note(&self, out: &mut Output, variable: Variable, value: f64) {
        if self.traced {
            out.changes.push((variable, value));
        }
    }

    #[inline(always)]
    pub fn set_cwnd(&mut self, value: f64, out: &mut Output) {
        if self.cwnd != value {
            self.cwnd = value;
            self.note(out, Variable::Cwnd, value);
        }
    }

    #[inline(always)]
    pub fn set_ssthresh(&mut self, value: f64, out: &mut Output) {
        let value = if self.whole_ssthresh { value.floor() } else { value };
        if self.ssthresh != value {
            self.ssthresh = value;
            self.note(out, Variable::Ssthresh, value);
        }
    }

    #[inline(always)]
    pub fn set_dupacks(&mut self, value: u32, out: &mut Output) {
        if self.dupacks != value {
            self.dupacks = value;
            self.note(out, Variable::Dupacks, f64::from(value));
        }
    }

    /// The variables that congestion controls set.
    #[inline(always)]
    pub fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh }
    }

    #[inline(always)]
    pub fn set_window(&mut self, window: Window, out: &mut Output) {
        self.set_cwnd(window.cwnd, out);
        self.set_ssthresh(window.ssthresh, out);
    }
}
