//! The models by name: parameters, figures, sources.
//!
//! The time constants and weights of the processes were fitted to the autocorrelations of the table: for each lag the
//! Gaussian's autocorrelation that the mapping turns into the rate's, and then a sum of two exponentials through these.

use super::grants::Grants;
use super::parts::{Change, Parts};
use super::process::Process;
use crate::aggregation::Aggregation;
use crate::framing::{Encoding, Framing};
use earlydrop_aqm::params::{Kind, Param, Unit, Value, Values};

/// The word of a parameter.
fn word(values: &Values, declared: &[Param], name: &str) -> &'static str {
    match declared.iter().find(|param| param.name == name).map(|param| values.get(param)) {
        Some(Value::Choice(word)) => word,
        _ => "",
    }
}

/// What is known of a figure of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub what: &'static str,
    /// Its value, as its source has it.
    pub value: &'static str,
    /// Where it comes from; "our choice" if from nowhere.
    pub source: &'static str,
    /// Whether a test compares the model with it; if not, only the shape is as the source has it.
    pub tested: bool,
}

/// A model by name.
#[derive(Debug)]
pub struct ModelSpec {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What the link is.
    pub summary: &'static str,
    /// What it has, and from where.
    pub figures: &'static [Figure],
    /// What is not modelled.
    pub missing: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What `aqm = "default"` stands for, as words of a queue.
    pub queue: &'static str,
    /// Its limit as a time at the link's mean rate, s; else the discipline's own.
    pub depth: Option<f64>,
    /// From where that is.
    pub queue_source: &'static str,
    /// Whether the model has a rate of its own.
    pub has_rate: bool,
    /// Why values do not fit together.
    pub check: fn(&Values) -> Result<(), (&'static str, &'static str)>,
    pub(super) parts: fn(&Values) -> Parts,
    /// Name and values of the other direction.
    pub(super) reversed: fn(&'static str, &Values) -> (&'static str, Values),
}

const fn tested(what: &'static str, value: &'static str, source: &'static str) -> Figure {
    Figure { what, value, source, tested: true }
}

const fn shape(what: &'static str, value: &'static str, source: &'static str) -> Figure {
    Figure { what, value, source, tested: false }
}

/// A number that is our choice.
const fn ours(what: &'static str, value: &'static str) -> Figure {
    Figure { what, value, source: "our choice", tested: false }
}

const fn time(
    name: &'static str,
    (low, high): (f64, f64),
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::Seconds, Kind::real(low, high), default).says(source, doc)
}

const MAHIMAHI: &str =
    "Mahimahi ae477d4, traces ATT-LTE-driving and TMobile-LTE-driving (Winstein et al., NSDI 2013): computed";
const MOBILITY: &str = "Starlink-Project/Satellite-vs-Cellular 79f9412 (CoNEXT 2023), Mobility plan, UDP: computed";
const HUSTON: &str = "Huston, \"A Transport Protocol's View of Starlink\", 2024";
const SPACEX: &str = "SpaceX, latency of 8 March 2024";
const DOCSIS_NS3: &str = "cablelabs/docsis-ns3 02aa242, documentation";

const DIRECTION: Param =
    Param::word("direction", &["down", "up"], "down").says("ours", "To the user, or from the user.");

const LTE: [Param; 2] = [
    Param::word("operator", &["att", "tmobile"], "att")
        .says("the trace with both directions", "Whose traces: AT&T's, or T-Mobile's, which has no uplink."),
    DIRECTION,
];

/// Mbit/s.
const M: f64 = 1e6;

fn lte(values: &Values) -> Parts {
    let process = |quantiles: &[(f64, f64)], memory: &[(f64, f64)]| Process::of(0.1, quantiles, memory);
    let rate = match (word(values, &LTE, "operator"), word(values, &LTE, "direction")) {
        (_, "up") => process(&[(0.076, 0.0), (0.5, 0.96 * M), (0.95, 1.56 * M)], &[(176.0, 0.081), (3.48, 0.471)]),
        ("att", _) => process(&[(0.051, 0.0), (0.5, 5.28 * M), (0.95, 10.1 * M)], &[(57.2, 0.569), (3.88, 0.303)]),
        _ => process(&[(0.08, 0.0), (0.5, 10.1 * M), (0.95, 33.0 * M)], &[(11.8, 0.606), (0.83, 0.27)]),
    };
    Parts { rate: Some(rate), ..Parts::default() }
}

const STARLINK: [Param; 4] = [
    DIRECTION,
    time(
        "change_delay",
        (0.0, 1.0),
        0.015,
        "Huston: 30 ms and more of a round trip; half in each direction: ours",
        "Extra delay of what is sent just after a change of path.",
    ),
    time("change_time", (0.0, 15.0), 0.1, "ours", "For how long after a change it is extra."),
    Param::real("change_loss", Unit::None, Kind::real(0.0, 1.0), 0.01)
        .says("Huston: some loss; the figure is ours", "Probability that a packet of that time is lost."),
];

/// Time from one choice of a satellite to the next, s.
const SLOT: f64 = 15.0;

fn starlink(values: &Values) -> Parts {
    let number = |name| values.real(&STARLINK, name);
    let memory = [(120.0, 0.7), (5.0, 0.26)];
    let rate: &[(f64, f64)] = match word(values, &STARLINK, "direction") {
        "down" => &[(0.16, 0.0), (0.25, 51.0 * M), (0.5, 134.0 * M), (0.75, 197.0 * M), (0.95, 265.0 * M)],
        _ => &[(0.05, 6.4 * M), (0.25, 9.3 * M), (0.5, 18.0 * M), (0.75, 28.0 * M), (0.95, 48.0 * M)],
    };
    let path = Process::of(SLOT, &[(0.05, 8.5e-3), (0.5, 11.0e-3), (0.95, 16.0e-3)], &[]);
    let jitter = Process::of(0.02, &[(0.05, 0.2e-3), (0.5, 3.6e-3), (0.95, 13.0e-3)], &[]);
    Parts {
        rate: Some(Process::of(1.0, rate, &memory)),
        delays: vec![path, jitter],
        change: Some(Change {
            every: SLOT,
            lasts: number("change_time"),
            extra: number("change_delay"),
            loss: number("change_loss"),
        }),
        ..Parts::default()
    }
}

/// A packet on Ethernet and its smallest frame, as `tc-cake(8)` has them for DOCSIS.
const ETHERNET: Framing = Framing { overhead: 18, mpu: 64, encoding: Encoding::Plain };
/// Bytes of DOCSIS's header before each frame, and before each segment.
const HEADERS: (u32, u32) = (10, 8);

const PROPAGATION: Param = time(
    "propagation",
    (0.0, 0.01),
    40e-6,
    "docsis-ns3: 8 km; at 2/3 of the speed of light: ours",
    "Propagation delay on the cable in each direction.",
);
const SYMBOL_DOWN: Param =
    time("symbol_down", (1e-6, 1e-3), 22.5e-6, "docsis-ns3: 20 us and a prefix of 2.5 us", "OFDM symbol downstream.");

const DOCSIS_DOWN: [Param; 2] = [PROPAGATION, SYMBOL_DOWN];

/// The downstream's own delay besides propagation: an interleaver of depth 3, and three symbols to encode, send, decode.
fn downstream(values: &Values, declared: &[Param]) -> f64 {
    let symbol = values.real(declared, "symbol_down");
    3.0 * symbol + 3.0 * symbol
}

const DOCSIS_UP: [Param; 8] = [
    PROPAGATION,
    SYMBOL_DOWN,
    time(
        "map",
        (1e-4, 0.1),
        0.002,
        "docsis-ns3: 2 ms, typical 1 to 2",
        "Time between two MAPs, in each of which there is a grant at most.",
    ),
    time("symbol", (1e-6, 1e-3), 22.5e-6, "docsis-ns3: 20 us and a prefix of 2.5 us", "OFDMA symbol upstream."),
    Param::whole("symbols", Unit::None, (1, 36), 6).says("docsis-ns3", "Symbols of a frame."),
    time(
        "modem",
        (0.0, 0.01),
        600e-6,
        "DOCSIS 3.1, annex B, by docsis-ns3",
        "Time that a modem has to read a MAP, besides that of a frame and a symbol.",
    ),
    time(
        "cmts",
        (0.0, 0.01),
        200e-6,
        "docsis-ns3; the specification allows 400 us",
        "Time in which the CMTS makes a MAP.",
    ),
    Param::real("channel", Unit::Rate, Kind::real(1e6, 1e11), 835.6e6)
        .says("docsis-ns3: 1880 subcarriers of 10 bit in 22.5 us", "Rate of the channel during a grant."),
];

fn docsis_up(values: &Values) -> Parts {
    let number = |name| values.real(&DOCSIS_UP, name);
    let frame = number("symbols") * number("symbol");
    let lead = number("modem")
        + (frame + number("symbol"))
        + number("cmts")
        + downstream(values, &DOCSIS_UP)
        + number("propagation");
    let grants = Grants {
        map: number("map"),
        frame,
        lead,
        propagation: number("propagation"),
        channel_bps: number("channel"),
        header: HEADERS.0,
        segment: HEADERS.1,
    };
    Parts { framing: Some(ETHERNET), grants: Some(grants), ..Parts::default() }
}

const WIFI: [Param; 4] = [
    time(
        "access",
        (0.0, 1.0),
        200e-6,
        "as the parent wifi has it: about DIFS, half of 16 slots, preamble, SIFS, block ACK",
        "Time without data before each aggregate.",
    ),
    Param::whole("packets", Unit::None, (1, 256), 64)
        .says("802.11n: window of a block ACK", "Most packets of an aggregate."),
    Param::whole("bytes", Unit::Bytes, (1, 8_000_000), 65_535)
        .says("802.11n: an A-MPDU", "Most bytes of an aggregate."),
    time("time", (1e-6, 1.0), 5.484e-3, "802.11: longest PPDU", "Longest transmission of an aggregate."),
];

fn wifi(values: &Values) -> Parts {
    let whole = |name| values.whole(&WIFI, name) as u64;
    let aggregation = Aggregation {
        access: values.real(&WIFI, "access"),
        packets: Some(whole("packets")),
        bytes: Some(whole("bytes") as u32),
        time: Some(values.real(&WIFI, "time")),
    };
    Parts { aggregation: Some(aggregation), ..Parts::default() }
}

const GEO: [Param; 2] = [
    Param::real("elevation", Unit::None, Kind::real(0.0, 90.0), 30.0)
        .says("ours", "Height of the satellite over the horizon at both ends, degrees."),
    Param::real("height", Unit::None, Kind::real(100.0, 100_000.0), 35_786.0)
        .says("geostationary orbit", "Height of the satellite over the equator, km."),
];

/// Up to the satellite and down again, s.
fn geo_delay(height_km: f64, elevation: f64) -> f64 {
    const EARTH_KM: f64 = 6371.0;
    const LIGHT_KM: f64 = 299_792.458;
    let angle = elevation.to_radians();
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let (orbit, level) = (EARTH_KM + height_km, EARTH_KM * cosine);
    2.0 * ((orbit * orbit - level * level).sqrt() - EARTH_KM * sine) / LIGHT_KM
}

fn same(name: &'static str, values: &Values) -> (&'static str, Values) {
    (name, values.clone())
}

/// The values of `declared` that `values` has, but for one that is set.
fn with(values: &Values, declared: &'static [Param], name: &'static str, word: &'static str) -> Values {
    let mut new = Values::new();
    for param in declared {
        if let Some(value) = values.given(param.name) {
            new.set(param.name, value);
        }
    }
    new.set(name, Value::Choice(word));
    new
}

fn other_way(values: &Values, declared: &'static [Param]) -> &'static str {
    if word(values, declared, "direction") == "up" {
        "down"
    } else {
        "up"
    }
}

/// The values that both directions of a cable have.
fn of_both(values: &Values) -> Values {
    let mut new = Values::new();
    for param in &DOCSIS_DOWN {
        if let Some(value) = values.given(param.name) {
            new.set(param.name, value);
        }
    }
    new
}

const NO_CHECK: fn(&Values) -> Result<(), (&'static str, &'static str)> = |_| Ok(());

/// All models, in the order in which people see them.
pub static MODELS: &[ModelSpec] = &[
    ModelSpec {
        name: "lte-drive",
        title: "LTE in a car",
        summary: "The rate of LTE while driving, anew each 100 ms, with outages",
        figures: &[
            tested("rate over 100 ms, 5, 50, 95 %; mean, AT&T down", "0, 5.28, 10.1; 5.17 Mbit/s", MAHIMAHI),
            tested("the same, T-Mobile down", "0, 10.1, 33.0; 12.8 Mbit/s", MAHIMAHI),
            tested("the same, AT&T up, without one gap of 78 s", "0, 0.96, 1.56; 0.90 Mbit/s", MAHIMAHI),
            tested("empty 100 ms, AT&T down, T-Mobile down, AT&T up", "5.1, 8.0, 7.6 %", MAHIMAHI),
            tested("autocorrelation at 0.1, 1, 5, 15 s, AT&T down", "0.86, 0.79, 0.60, 0.44", MAHIMAHI),
            tested("the same, T-Mobile down", "0.83, 0.62, 0.38, 0.16", MAHIMAHI),
            tested("the same, AT&T up", "0.52, 0.43, 0.18, 0.08", MAHIMAHI),
            shape("longest gap, in the same order", "1.5, 1.1, 8.1 s", MAHIMAHI),
            ours("rates between the quantiles and beyond them", "linear in the normal quantile, down to 0 and up to 4 standard deviations"),
            ours("the uplink beside T-Mobile's downlink", "AT&T's, as T-Mobile's trace has none"),
        ],
        missing: "the delay of the radio, which the link's `delay` has, and its retransmissions; schedulers, cells and other users one by one; that both directions fade together",
        params: &LTE,
        queue: "droptail",
        depth: Some(1.5),
        queue_source: "a deep FIFO; its depth is our choice",
        has_rate: true,
        check: |values| match (word(values, &LTE, "operator"), word(values, &LTE, "direction")) {
            ("tmobile", "up") => Err(("operator", "\"att\" beside direction = \"up\": T-Mobile's traces have no uplink")),
            _ => Ok(()),
        },
        parts: lte,
        reversed: |name, values| {
            let mut new = with(values, &LTE, "direction", other_way(values, &LTE));
            if other_way(values, &LTE) == "up" {
                new.set("operator", Value::Choice("att"));
            }
            (name, new)
        },
    },
    ModelSpec {
        name: "starlink-drive",
        title: "Starlink in a car",
        summary: "The rate of Starlink while driving, anew each second, with outages, and a path that changes each 15 s",
        figures: &[
            tested("rate over 1 s, 5, 25, 50, 75, 95 %, down", "0, 51, 134, 197, 265 Mbit/s", MOBILITY),
            tested("the same, up", "6.4, 9.3, 18, 28, 48 Mbit/s", MOBILITY),
            tested("seconds without anything, down", "16 %", MOBILITY),
            tested("autocorrelation at 1, 5, 15, 30 s, down", "0.88, 0.75, 0.59, 0.54", MOBILITY),
            ours("the same, up", "as down"),
            tested("the smallest delay changes", "each 15 s", "Huston 2024; Mohan et al., WWW 2024"),
            tested("successive round trips differ by", "6.7 ms in the mean", HUSTON),
            tested("round trip, USA, peak hours", "median 33 ms, 99 % below 65 ms", SPACEX),
            shape("at a change", "30 ms and more of a round trip; some loss", HUSTON),
            ours("what of a round trip is in each direction", "half, drawn apart"),
            ours("delays beside the path's", "drawn anew each 20 ms"),
            ours("correlation beyond 30 s", "decays with 120 s"),
        ],
        missing: "where the satellites are and what is in their way; a ground station and the way beyond it, which `delay` has; other users; that delays grow with load",
        params: &STARLINK,
        queue: "droptail",
        depth: Some(0.12),
        queue_source: "a FIFO; its depth is our choice",
        has_rate: true,
        check: NO_CHECK,
        parts: starlink,
        reversed: |name, values| (name, with(values, &STARLINK, "direction", other_way(values, &STARLINK))),
    },
    ModelSpec {
        name: "docsis-up",
        title: "Cable, upstream",
        summary: "A cable modem's upstream: packets wait for request, MAP and grant",
        figures: &[
            tested("MAP interval", "2 ms (typical 1 to 2 ms)", DOCSIS_NS3),
            tested("OFDMA frame", "6 symbols of 22.5 us: 135 us", DOCSIS_NS3),
            tested("lead of a MAP, modem", "600 us + 7/6 frame: 757.5 us", DOCSIS_NS3),
            tested("lead of a MAP, the rest", "CMTS 200 us, interleaver, 3 symbols, propagation", DOCSIS_NS3),
            tested("a request arrives after", "propagation + 3 frames", DOCSIS_NS3),
            tested("when a request is sent, and where in its MAP a grant is", "at random", DOCSIS_NS3),
            shape("headers", "10 B a frame, 8 B a segment, beside Ethernet's 18 B", DOCSIS_NS3),
            shape("delay of an idle access network", "about 10 ms", "draft-white-tsvwg-lld-00"),
            ours("a grant", "what the line's rate allows in a MAP interval"),
            ours("packets that wait when a grant begins", "are in it, whether or not their request was in time"),
            ours("the interleaver", "3 symbols"),
        ],
        missing: "collisions of requests, other modems, channels and minislots one by one, low latency service flows",
        params: &DOCSIS_UP,
        queue: "pie dialect=docsis qdelay_ref=10ms tupdate=16ms alpha=0.25 beta=2.5 max_burst=142ms burst_reset=1s \
                latency=rate decay_when=below_half activity=backlog",
        depth: Some(0.1),
        queue_source: "RFC 8034, appendix A; docsis-ns3: a target buffer of 100 ms",
        has_rate: false,
        check: NO_CHECK,
        parts: docsis_up,
        reversed: |_, values| ("docsis-down", of_both(values)),
    },
    ModelSpec {
        name: "docsis-down",
        title: "Cable, downstream",
        summary: "A cable modem's downstream: a constant rate, headers, interleaver and symbols",
        figures: &[
            tested("delay", "interleaver, 3 symbols, propagation", DOCSIS_NS3),
            shape("headers", "10 B a frame, beside Ethernet's 18 B", DOCSIS_NS3),
            ours("the interleaver", "3 symbols"),
        ],
        missing: "codewords, other modems on the channel, peak rates and bursts above the rate",
        params: &DOCSIS_DOWN,
        queue: "droptail",
        depth: Some(0.25),
        queue_source: "a FIFO: our choice, as the CMTS's queue is the operator's",
        has_rate: false,
        check: NO_CHECK,
        parts: |values| Parts {
            delay_s: downstream(values, &DOCSIS_DOWN) + values.real(&DOCSIS_DOWN, "propagation"),
            framing: Some(Framing { overhead: ETHERNET.overhead + HEADERS.0, mpu: ETHERNET.mpu + HEADERS.0, ..ETHERNET }),
            ..Parts::default()
        },
        reversed: |_, values| ("docsis-up", of_both(values)),
    },
    ModelSpec {
        name: "wifi",
        title: "Wi-Fi",
        summary: "Aggregates after access to the medium, at the link's rate",
        figures: &[
            tested("longest PPDU", "5.484 ms", "IEEE 802.11, aPPDUMaxTime"),
            shape("access, packets and bytes of an aggregate", "as the parent wifi has them", "Linux mac80211, 802.11n"),
            shape("rates, contention, throughput by station", "a constant rate", "ours"),
        ],
        missing: "stations of different rates, which the parent wifi has; collisions, retries, rate control, other networks",
        params: &WIFI,
        queue: "fq_codel",
        depth: None,
        queue_source: "Linux mac80211",
        has_rate: false,
        check: NO_CHECK,
        parts: wifi,
        reversed: same,
    },
    ModelSpec {
        name: "geo",
        title: "Geostationary satellite",
        summary: "The delay up to a geostationary satellite and down again",
        figures: &[
            tested("up and down, below the satellite", "239 ms", "geometry: 35,786 km"),
            tested("up and down, at the horizon", "278 ms", "geometry: 35,786 km"),
            ours("elevation by default", "30 degrees, at both ends"),
        ],
        missing: "coding, access on the way up, proxies that split TCP, and weather",
        params: &GEO,
        queue: "droptail",
        depth: Some(0.6),
        queue_source: "a FIFO of a round trip: our choice",
        has_rate: false,
        check: NO_CHECK,
        parts: |values| Parts {
            delay_s: geo_delay(values.real(&GEO, "height"), values.real(&GEO, "elevation")),
            ..Parts::default()
        },
        reversed: same,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_satellite_is_geometry() {
        assert_eq!((geo_delay(35_786.0, 90.0) * 1e3).round(), 239.0);
        assert_eq!((geo_delay(35_786.0, 0.0) * 1e3).round(), 278.0);
    }

    #[test]
    fn constants_of_docsis_are_the_sources() {
        let grants = docsis_up(&Values::new()).grants.unwrap();
        assert_eq!(grants.map, 0.002);
        assert!((grants.frame - 135e-6).abs() < 1e-15);
        let modem = 600e-6 + 7.0 / 6.0 * grants.frame;
        assert!((modem - 757.5e-6).abs() < 1e-12);
        let (interleaver, symbols) = (3.0 * 22.5e-6, 3.0 * 22.5e-6);
        assert!((grants.lead - (modem + 200e-6 + interleaver + symbols + grants.propagation)).abs() < 1e-12);
        assert!((grants.request() - (40e-6 + 3.0 * 135e-6)).abs() < 1e-12);
        assert_eq!((grants.header, grants.segment), (10, 8));
    }
}
