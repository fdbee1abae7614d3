//! The congestion control of a connection, as one of all controls.

use super::{Acked, Control, Window};
use super::{Bbr, Bbr3, Cubic, Dctcp, Ledbat, LedbatPlusPlus, LinuxCubic, NewReno, Prague};

/// The congestion control of a connection.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// NewReno (RFC 5681).
    NewReno(NewReno),
    /// CUBIC (RFC 9438).
    Cubic(Cubic),
    /// CUBIC as Linux computes it.
    LinuxCubic(LinuxCubic),
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// BBR, version 1.
    Bbr(Box<Bbr>),
    /// BBR, version 3.
    Bbr3(Box<Bbr3>),
    /// LEDBAT (RFC 6817).
    Ledbat(Ledbat),
    /// LEDBAT++.
    LedbatPlusPlus(LedbatPlusPlus),
    /// TCP Prague, scalable, for L4S.
    Prague(Box<Prague>),
}

impl Algorithm {
    /// [`Control::on_any_ack`], inlined for NewReno.
    #[inline(always)]
    pub fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            Algorithm::NewReno(control) => control.on_any_ack(window, ack),
            other => other.control().on_any_ack(window, ack),
        }
    }

    /// [`Control::grow`], inlined for NewReno.
    #[inline(always)]
    pub fn grow(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            Algorithm::NewReno(control) => control.grow(window, ack),
            other => other.control().grow(window, ack),
        }
    }

    /// The control, by its trait.
    #[inline]
    pub fn control(&mut self) -> &mut dyn Control {
        match self {
            Algorithm::NewReno(control) => control,
            Algorithm::Cubic(control) => control,
            Algorithm::LinuxCubic(control) => control,
            Algorithm::Dctcp(control) => control,
            Algorithm::Bbr(control) => &mut **control,
            Algorithm::Bbr3(control) => &mut **control,
            Algorithm::Ledbat(control) => control,
            Algorithm::LedbatPlusPlus(control) => control,
            Algorithm::Prague(control) => &mut **control,
        }
    }

    /// The control, by its trait, read only.
    #[inline]
    pub fn view(&self) -> &dyn Control {
        match self {
            Algorithm::NewReno(control) => control,
            Algorithm::Cubic(control) => control,
            Algorithm::LinuxCubic(control) => control,
            Algorithm::Dctcp(control) => control,
            Algorithm::Bbr(control) => &**control,
            Algorithm::Bbr3(control) => &**control,
            Algorithm::Ledbat(control) => control,
            Algorithm::LedbatPlusPlus(control) => control,
            Algorithm::Prague(control) => &**control,
        }
    }
}
