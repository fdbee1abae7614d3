//! The traced variables of a sender: each setter reports a change if the sender is traced (ns-2's `TracedVar`).

use super::{Core, TICK};
use crate::tcp::output::{Output, Variable};

impl Core {
    #[inline(always)]
    fn note(&self, out: &mut Output, variable: Variable, value: f64) {
        if self.traced {
            out.changes.push((variable, value));
        }
    }

    /// Sets cwnd.
    #[inline(always)]
    pub fn set_cwnd(&mut self, value: f64, out: &mut Output) {
        if self.cwnd != value {
            self.cwnd = value;
            self.note(out, Variable::Cwnd, value);
        }
    }

    /// Sets ssthresh.
    #[inline(always)]
    pub fn set_ssthresh(&mut self, value: i32, out: &mut Output) {
        if self.ssthresh != value {
            self.ssthresh = value;
            self.note(out, Variable::Ssthresh, f64::from(value));
        }
    }

    /// Sets the count of duplicate ACKs.
    #[inline(always)]
    pub fn set_dupacks(&mut self, value: i32, out: &mut Output) {
        if self.dupacks != value {
            self.dupacks = value;
            self.note(out, Variable::Dupacks, f64::from(value));
        }
    }

    /// Sets the highest acknowledged segment.
    #[inline(always)]
    pub fn set_ack(&mut self, value: i32, out: &mut Output) {
        if self.ack != value {
            self.ack = value;
            self.note(out, Variable::Ack, f64::from(value));
        }
    }

    #[inline(always)]
    pub(in crate::tcp::ns2) fn set_backoff(&mut self, value: i32, out: &mut Output) {
        if self.backoff != value {
            self.backoff = value;
            self.note(out, Variable::Backoff, f64::from(value));
        }
    }

    #[inline(always)]
    pub(in crate::tcp::ns2) fn set_srtt(&mut self, value: i32, out: &mut Output) {
        if self.srtt != value {
            self.srtt = value;
            self.note(out, Variable::Srtt, f64::from(value >> 3) * TICK);
        }
    }

    /// The smoothed round-trip time, s, to a tick of the clock; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<f64> {
        (self.srtt != 0).then(|| f64::from(self.srtt >> 3) * TICK)
    }

    #[inline(always)]
    pub(in crate::tcp::ns2) fn set_rttvar(&mut self, value: i32, out: &mut Output) {
        if self.rttvar != value {
            self.rttvar = value;
            self.note(out, Variable::Rttvar, f64::from(value) * TICK / 4.0);
        }
    }
}
