//! Selection of packets by their DSCP and ECN field, as one byte under a mask (Linux, `codel_dequeue`:
//! `ce_threshold_selector`, `ce_threshold_mask`).

use super::codel;
use crate::params::{Param, ParamError, Unit, Values};
use crate::Packet;

const fn byte(name: &'static str, source: &'static str, doc: &'static str) -> Param {
    Param::whole(name, Unit::None, (0, 255), 0).says(source, doc)
}

/// The parameters of the selector.
pub const PARAMS: [Param; 2] = [
    byte(
        "ce_threshold_selector",
        "Linux: TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR",
        "ce_threshold marks only packets whose DSCP and ECN field, under ce_threshold_mask, have this value.",
    ),
    byte(
        "ce_threshold_mask",
        "Linux: TCA_FQ_CODEL_CE_THRESHOLD_MASK",
        "Bits that the selector compares: the upper six are the DSCP, the lower two the ECN field; 0 selects all \
         packets.",
    ),
];

/// Which packets CoDel's `ce_threshold` marks.
#[derive(Clone, Copy, Debug)]
pub struct Selector {
    /// The DSCP and ECN field, under the mask, of packets that are marked.
    value: u8,
    /// The bits that are compared.
    mask: u8,
}

impl Selector {
    /// Selects every packet.
    pub const ALL: Selector = Selector { value: 0, mask: 0 };

    /// The selector among `values`, declared as [`PARAMS`] beside those of CoDel.
    pub fn read(values: &Values) -> Result<Self, ParamError> {
        let byte = |name| values.whole(&PARAMS, name) as u8;
        let (value, mask) = (byte("ce_threshold_selector"), byte("ce_threshold_mask"));
        if value & !mask != 0 {
            let allowed = format!("a value with bits of ce_threshold_mask ({mask}) alone: others never match");
            return Err(ParamError::new("ce_threshold_selector", value, allowed));
        }
        let refuse = |allowed| Err(ParamError::new("ce_threshold_mask", mask, allowed));
        if mask > 0 && values.number(&codel::PARAMS, "ce_threshold").is_none() {
            return refuse("0, or with a ce_threshold, whose packets it selects");
        }
        if mask > 0 && values.flag(&codel::PARAMS, "l4s") {
            return refuse("0, or without l4s, which selects packets itself");
        }
        Ok(Selector { value, mask })
    }

    /// Whether every packet is selected.
    #[inline]
    pub fn selects_all(self) -> bool {
        self.mask == 0
    }

    /// Whether the DSCP matters.
    pub fn reads_dscp(self) -> bool {
        self.mask >> 2 != 0
    }

    /// Whether `packet`, which arrives with this DSCP, is selected.
    #[inline]
    pub fn selects(self, packet: &Packet, dscp: u8) -> bool {
        (dscp << 2 | packet.ecn as u8) & self.mask == self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn read(value: i64, mask: i64, more: &[(&'static str, Value)]) -> Result<Selector, ParamError> {
        let mut values =
            Values::of(&[("ce_threshold_selector", Value::Whole(value)), ("ce_threshold_mask", Value::Whole(mask))]);
        for &(name, value) in more {
            values.set(name, value);
        }
        Selector::read(&values)
    }

    #[test]
    fn a_byte_of_dscp_and_ecn_field_is_compared_under_the_mask() {
        let threshold = [("ce_threshold", Value::Real(0.001))];
        let packet = |ecn| Packet { ecn, ..Packet::new(1, 1500) };
        // (selector, mask, DSCP, ECN field) -> selected. EF is 46.
        for (value, mask, dscp, ecn, selected) in [
            (1, 3, 0, Ecn::Ect1, true),
            (1, 3, 46, Ecn::Ect1, true),
            (1, 3, 0, Ecn::Ect0, false),
            (1, 3, 0, Ecn::Ce, false),
            (1, 1, 0, Ecn::Ce, true),
            (184, 252, 46, Ecn::Ect0, true),
            (184, 252, 45, Ecn::Ect0, false),
            (185, 255, 46, Ecn::Ect1, true),
            (185, 255, 46, Ecn::Ect0, false),
            (0, 0, 46, Ecn::Ect0, true),
        ] {
            let selector = read(value, mask, &threshold).unwrap();
            assert_eq!(selector.selects(&packet(ecn), dscp), selected, "{value}/{mask}, {dscp} {ecn:?}");
            assert_eq!(selector.reads_dscp(), mask > 3);
        }
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let threshold = ("ce_threshold", Value::Real(0.001));
        let name = |result: Result<Selector, ParamError>| result.unwrap_err().name;
        assert_eq!(name(read(1, 0, &[threshold])), "ce_threshold_selector");
        assert_eq!(name(read(4, 3, &[threshold])), "ce_threshold_selector");
        assert_eq!(name(read(1, 3, &[])), "ce_threshold_mask");
        assert_eq!(name(read(1, 3, &[threshold, ("l4s", Value::Flag(true))])), "ce_threshold_mask");
    }
}
