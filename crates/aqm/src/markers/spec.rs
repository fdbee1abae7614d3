//! The declaration of a marker, and what markers share.

use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::random::Generator;
use crate::{Packet, Time};

/// What a marker makes of a packet (RFC 2697).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Inside the committed profile.
    Green,
    /// Beyond the committed profile, but within what is tolerated.
    Yellow,
    /// Beyond what is tolerated.
    Red,
}

/// A meter, with what it remembers of the packets that it has coloured.
pub trait Meter: Send {
    /// The colour of `packet`, which arrives at `now`; `before` is the colour it has, for a meter that is colour-aware.
    fn colour(&mut self, packet: &Packet, before: Option<Colour>, now: Time, random: &mut Generator) -> Colour;
}

/// Builds a meter from checked values, as it is at time 0.
pub type Build = fn(&Values) -> Box<dyn Meter>;

/// The declaration of a marker.
pub struct MarkerSpec {
    /// Name in scenarios (`srtcm`).
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Year of publication.
    pub year: u16,
    /// What the marker does, in one line.
    pub summary: &'static str,
    /// Authors, title and place of the publication.
    pub source: &'static str,
    /// The marker's own parameters; those of [`SHARED`] that concern it come after them.
    pub(super) own: &'static [Param],
    /// Whether it has three colours, or green and red only.
    pub(super) yellow: bool,
    /// Checks values against one another.
    pub check: fn(&Values) -> Result<(), ParamError>,
    /// Builds the meter.
    pub build: Build,
}

impl MarkerSpec {
    /// All parameters.
    pub fn all_params(&self) -> impl Iterator<Item = &'static Param> {
        let yellow = self.yellow;
        self.own.iter().chain(SHARED.iter().filter(move |param| yellow || param.name != "yellow"))
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.all_params().find(|param| param.name == name)
    }
}

const fn class(name: &'static str, default: i64, doc: &'static str) -> Param {
    let kind = Kind::Whole { low: 0, high: 7 };
    let source = "our choice: RIO's In is above 0, and WRED keeps higher precedences longer";
    Param::new(name, Unit::None, kind, Value::Whole(default)).says(source, doc)
}

/// The parameters that markers share.
pub const SHARED: &[Param] = &[
    class("green", 2, "Class of green packets."),
    class("yellow", 1, "Class of yellow packets."),
    class("red", 0, "Class of red packets."),
    Param::word("meter", &["flow", "aggregate"], "flow")
        .says("our choice", "Whether each flow has a meter with this profile, or all packets together have one."),
    Param::flag("police", false).says("RFC 2475, 2.3.3.3: a dropper", "Whether red packets are dropped: a policer."),
];

/// A rate of a profile.
pub(super) const fn rate(
    name: &'static str,
    symbol: &'static str,
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::Rate, Kind::above(0.0, 1e15), default).symbol(symbol).says(source, doc)
}

/// A burst size of a profile, bytes.
pub(super) const fn burst(
    name: &'static str,
    symbol: &'static str,
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::Bytes, Kind::real(0.0, 1e12), default).symbol(symbol).says(source, doc)
}
