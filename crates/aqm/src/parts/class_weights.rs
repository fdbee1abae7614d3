//! A weight for each traffic class, as parameters `weight_0` to `weight_7`.

use crate::params::{Param, Unit, Values};
use crate::Packet;

/// Number of classes that a packet can have.
pub const CLASSES: usize = 8;

/// Their names as bands.
pub const NAMES: [&str; CLASSES] =
    ["class_0", "class_1", "class_2", "class_3", "class_4", "class_5", "class_6", "class_7"];

/// The parameters `weight_0` to `weight_7`; `doc` says what a weight means in the discipline.
pub const fn params(doc: &'static str) -> [Param; CLASSES] {
    const fn weight(name: &'static str, symbol: &'static str, doc: &'static str) -> Param {
        Param::whole(name, Unit::None, (1, 10_000), 1).symbol(symbol).says("ours: equal shares", doc)
    }
    [
        weight("weight_0", "w_0", doc),
        weight("weight_1", "w_1", doc),
        weight("weight_2", "w_2", doc),
        weight("weight_3", "w_3", doc),
        weight("weight_4", "w_4", doc),
        weight("weight_5", "w_5", doc),
        weight("weight_6", "w_6", doc),
        weight("weight_7", "w_7", doc),
    ]
}

/// The weights of the classes 0 to 7; `declared` is the discipline's [`params`].
pub fn read(values: &Values, declared: &[Param; CLASSES]) -> [u64; CLASSES] {
    declared.map(|param| values.whole(declared, param.name) as u64)
}

/// The class of `packet`; numbers that do not exist count as the last class.
pub fn class_of(packet: &Packet) -> usize {
    usize::from(packet.class).min(CLASSES - 1)
}
