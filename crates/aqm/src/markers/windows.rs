//! ## Time sliding windows
//! The rate is measured over a window that slides: at a packet of `L` bytes, `dt` after the one before, `avg := (avg W +
//! L)/(W + dt)`, with the window `W` and `avg = CIR` at first. The colour is drawn:
//!
//! | marker | avg | a packet is |
//! |---|---|---|
//! | `tsw2cm` | up to CIR | green |
//! | | above | red with probability `(avg - CIR)/avg`, else green |
//! | `tsw3cm` (RFC 2859) | up to CTR | green |
//! | | up to PTR | yellow with probability `(avg - CTR)/avg`, else green |
//! | | above | red with probability `(avg - PTR)/avg`, yellow with `(PTR - CTR)/avg`, else green |
//!
//! Sources: W. Fang, N. Seddigh, B. Nandy, "A time sliding window three colour marker (TSWTCM)", RFC 2859, 2000, sections
//! 3 and 4, with its committed rate CTR as `cir` and its peak rate PTR as `pir`; with two colours it is ns-2.35's
//! `diffserv/dsPolicy.cc` (`TSW2CMPolicy`), after Clark and Fang 1998.
//!
//! Differences: one random number is drawn for each packet above CIR, also with three colours, where ns-2 draws one for
//! every packet.

use super::spec::{rate, Colour, MarkerSpec, Meter};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::random::Generator;
use crate::{Packet, Time};

const CIR: Param = rate("cir", "CIR", 1e6, "our choice", "Committed target rate.");
const WINDOW: Param = Param::real("window", Unit::Seconds, Kind::above(0.0, 1e6), 1.0).symbol("W").says(
    "ns-2.35: 1 s (RFC 2859: about a round-trip time or more)",
    "Length of the window over which the rate is averaged.",
);
const TWO_COLOURS: [Param; 2] = [CIR, WINDOW];
const THREE_COLOURS: [Param; 3] =
    [CIR, rate("pir", "PIR", 2e6, "our choice: twice cir", "Peak target rate, at least cir."), WINDOW];

/// TSW2CM.
pub(super) const TSW2CM: MarkerSpec = MarkerSpec {
    name: "tsw2cm",
    title: "TSW2CM",
    year: 1998,
    summary: "Time sliding window two color marker: red by chance above a measured rate",
    source: "ns-2.35 diffserv/dsPolicy.cc; Clark, Fang: Explicit allocation, ToN 6(4), 1998",
    own: &TWO_COLOURS,
    yellow: false,
    check: |_| Ok(()),
    build: |values| Box::new(Window::new(values, &TWO_COLOURS, None)),
};

/// TSW3CM.
pub(super) const TSW3CM: MarkerSpec = MarkerSpec {
    name: "tsw3cm",
    title: "TSW3CM",
    year: 2000,
    summary: "Time sliding window three color marker: by chance, from a committed and a peak rate",
    source: "Fang, Seddigh, Nandy: A time sliding window three colour marker, RFC 2859, 2000",
    own: &THREE_COLOURS,
    yellow: true,
    check: |values| {
        let real = |name| values.real(&THREE_COLOURS, name);
        if real("pir") < real("cir") {
            return Err(ParamError::new("pir", real("pir"), format!("at least cir ({})", real("cir"))));
        }
        Ok(())
    },
    build: |values| Box::new(Window::new(values, &THREE_COLOURS, Some(values.real(&THREE_COLOURS, "pir") / 8.0))),
};

struct Window {
    /// CTR, bytes a second.
    committed: f64,
    /// PTR, bytes a second; `None` with two colours.
    peak: Option<f64>,
    /// AVG_INTERVAL: the window, s.
    length: f64,
    /// avg-rate: the measured rate, bytes a second.
    average: f64,
    /// t-front: when the last packet arrived.
    front: Time,
}

impl Window {
    fn new(values: &Values, declared: &[Param], peak: Option<f64>) -> Self {
        let committed = values.real(declared, "cir") / 8.0;
        let length = values.real(declared, "window");
        Window { committed, peak, length, average: committed, front: Time::ZERO }
    }
}

impl Meter for Window {
    fn colour(&mut self, packet: &Packet, _before: Option<Colour>, now: Time, random: &mut Generator) -> Colour {
        let bytes = self.average * self.length + f64::from(packet.size);
        self.average = bytes / (now - self.front + self.length);
        self.front = now;
        let (average, committed) = (self.average, self.committed);
        if average <= committed {
            return Colour::Green;
        }
        let beyond = if self.peak.is_none() { Colour::Red } else { Colour::Yellow };
        let red = self.peak.map_or(0.0, |peak| (average - peak).max(0.0) / average);
        match random.uniform() {
            u if u <= red => Colour::Red,
            u if u <= (average - committed) / average => beyond,
            _ => Colour::Green,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::find;

    /// Shares of green, yellow and red among 100,000 packets of 1000 B at `rate` times 125 a second, where 1 Mbit/s are
    /// committed and 2 Mbit/s are the peak.
    fn shares(name: &str, rate: f64) -> [f64; 3] {
        let mut meter = (find(name).unwrap().build)(&Values::new());
        let mut random = Generator::stream(1, "marker");
        let mut seen = [0.0; 3];
        for i in 0..100_000_u32 {
            let now = Time::from_seconds(f64::from(i) / (125.0 * rate));
            seen[meter.colour(&Packet::new(1, 1000), None, now, &mut random) as usize] += 1e-5;
        }
        seen
    }

    #[test]
    fn green_is_the_committed_rate_and_red_what_is_beyond_the_peak() {
        for (name, rate, want) in [
            ("tsw2cm", 0.9, [1.0, 0.0, 0.0]),
            ("tsw2cm", 4.0, [0.25, 0.0, 0.75]),
            ("tsw3cm", 0.9, [1.0, 0.0, 0.0]),
            ("tsw3cm", 1.6, [0.625, 0.375, 0.0]),
            ("tsw3cm", 4.0, [0.25, 0.25, 0.5]),
        ] {
            let found = shares(name, rate);
            for (found, want) in found.into_iter().zip(want) {
                assert!((found - want).abs() < 0.01, "{name} at {rate}: {found} instead of {want}");
            }
        }
    }

    /// RFC 2859, section 3: a rate of 125,000 B/s becomes (125,000 + 1000)/1.5 by 1000 B half a second later.
    #[test]
    fn the_window_slides() {
        let mut window = Window::new(&Values::new(), &TWO_COLOURS, None);
        let mut random = Generator::custom(|| 1.0);
        window.colour(&Packet::new(1, 1000), None, Time::from_seconds(0.5), &mut random);
        assert_eq!(window.average, 84_000.0);
        window.colour(&Packet::new(1, 1000), None, Time::from_seconds(0.5), &mut random);
        assert_eq!(window.average, 85_000.0);
    }
}
