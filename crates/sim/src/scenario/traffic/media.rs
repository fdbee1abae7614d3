//! `kind = "media"`: a real-time video with feedback over RTP, whose rate follows the network.

use earlydrop_net::media::{Algorithm, Ecn};
use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Field, Fields, Interval};
use super::super::forms::{Bytes, OneOf, Quantity, Whole};
use super::super::keys::Key;
use super::kind::Kind;
use super::model::{Load, Media};
use super::packets::{self, STOP};

/// Target rates. Above 1 Gbit/s a frame could have a million packets.
const RATE: Interval = Interval { low: 1e3, high: 1e9, open_low: false, open_high: false, unit: "bit/s" };
const FRAMES: Interval = Interval { low: 1.0, high: 1000.0, open_low: false, open_high: false, unit: "" };
const LAG: Interval = Interval { low: 0.0, high: 10.0, open_low: false, open_high: false, unit: "s" };
const FACTOR: Interval = Interval { low: 1.0, high: 100.0, open_low: false, open_high: false, unit: "" };

// Defaults without a source are our choice: a video call.
static CONTROL: Key<OneOf<Algorithm>> = Key::or(
    "control",
    OneOf {
        all: &[Algorithm::Scream, Algorithm::Gcc],
        name: |control| match control {
            Algorithm::Scream => "scream",
            Algorithm::Gcc => "gcc",
        },
    },
    Algorithm::Scream,
    "What sets the rate: SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2-01) or Google congestion control \
     (draft-ietf-rmcat-gcc-02).",
);
static ECN: Key<OneOf<Ecn>> = Key::or(
    "ecn",
    OneOf {
        all: &[Ecn::Off, Ecn::Classic, Ecn::L4s],
        name: |ecn| match ecn {
            Ecn::Off => "off",
            Ecn::Classic => "classic",
            Ecn::L4s => "l4s",
        },
    },
    Ecn::Off,
    "ECN field of the packets: Not-ECT, ECT(0), or ECT(1), with which the response to marks is scalable. GCC has no \
     response to marks.",
);
static MIN_RATE: Key<Quantity> =
    Key::or("min_rate", Quantity::rate(RATE), 150e3, "Smallest target rate, headers included.");
static MAX_RATE: Key<Quantity> =
    Key::or("max_rate", Quantity::rate(RATE), 5e6, "Largest target rate, headers included.");
static START_RATE: Key<Quantity> = Key::optional(
    "start_rate",
    Quantity::rate(RATE),
    "`\"500 kbit/s\"`, or the nearest within the other two",
    "Target rate before the first feedback, headers included.",
);
const START: f64 = 500e3;
static FRAME_RATE: Key<Quantity> = Key::or("frame_rate", Quantity::number(FRAMES), 30.0, "Frames per second.");
static LAG_KEY: Key<Quantity> = Key::or(
    "encoder_lag",
    Quantity::time(LAG),
    0.1,
    "Time constant with which the encoded rate follows the target rate; with `\"0 s\"` the next frame has it.",
);
static VARIATION: Key<Quantity> = Key::or(
    "variation",
    Quantity::number(bounds::PROBABILITY),
    0.1,
    "Mean absolute deviation of a frame's size, relative to its expected size; Laplace distribution.",
);
static KEY_INTERVAL: Key<Whole> =
    Key::or("key_interval", Whole { low: 0, high: 1_000_000 }, 0, "Frames from key frame to key frame; 0: none.");
static KEY_FACTOR: Key<Quantity> = Key::or(
    "key_factor",
    Quantity::number(FACTOR),
    4.0,
    "Size of a key frame in other frames, which are smaller so that the rate stays the same.",
);
// libwebrtc's largest packet has 1200 B; RTP, UDP and IPv4.
static SEGMENT: Key<Bytes> =
    Key::or("segment", Bytes { low: 100, high: bounds::SEGMENT }, 1160, "Largest payload of a packet.");
static HEADER: Key<Bytes> = packets::header(40);

pub(super) const KIND: Kind = Kind {
    name: "media",
    title: "Real-time media",
    about: "A video over RTP that adapts its rate: frames, pacing, feedback of each packet",
    over_tcp: false,
    keys: &[
        &CONTROL,
        &ECN,
        &MIN_RATE,
        &MAX_RATE,
        &START_RATE,
        &FRAME_RATE,
        &LAG_KEY,
        &VARIATION,
        &KEY_INTERVAL,
        &KEY_FACTOR,
        &SEGMENT,
        &HEADER,
        &STOP,
    ],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, &SEGMENT, &HEADER)?;
    let (control, ecn) = (CONTROL.read(fields)?, ECN.read(fields)?);
    if let Some(field) = ECN.field(fields).filter(|_| control == Algorithm::Gcc && ecn != Ecn::Off) {
        return Err(field.error("needs a response to marks").allowed("\"off\" with control = \"gcc\", which has none"));
    }
    let (min_rate, max_rate) = (MIN_RATE.read(fields)?, MAX_RATE.read(fields)?);
    let between = |field: Option<Field<'_>>, rate: f64, low: f64, high: f64| match field {
        Some(field) if rate < low || rate > high => {
            let allowed = format!("{low} to {high} bit/s: min_rate, start_rate and max_rate in this order");
            Err(field.error("does not fit the other rates").allowed(allowed))
        }
        _ => Ok(rate),
    };
    between(MAX_RATE.field(fields).or(MIN_RATE.field(fields)), max_rate, min_rate, RATE.high)?;
    let start_rate = START_RATE.given(fields)?.unwrap_or(START.clamp(min_rate, max_rate));
    between(START_RATE.field(fields), start_rate, min_rate, max_rate)?;
    Ok(Load::Media(Media {
        control,
        ecn,
        min_rate,
        max_rate,
        start_rate,
        frame_rate: FRAME_RATE.read(fields)?,
        lag: LAG_KEY.read(fields)?,
        variation: VARIATION.read(fields)?,
        key_interval: KEY_INTERVAL.read(fields)? as u32,
        key_factor: KEY_FACTOR.read(fields)?,
        segment,
        header,
        stop: STOP.given(fields)?,
    }))
}

pub(super) fn write(load: &Media, map: &mut Map<String, Json>) {
    CONTROL.write(&load.control, map);
    ECN.write(&load.ecn, map);
    MIN_RATE.write(&load.min_rate, map);
    MAX_RATE.write(&load.max_rate, map);
    START_RATE.write_given(Some(&load.start_rate), map);
    FRAME_RATE.write(&load.frame_rate, map);
    LAG_KEY.write(&load.lag, map);
    VARIATION.write(&load.variation, map);
    KEY_INTERVAL.write(&load.key_interval.into(), map);
    KEY_FACTOR.write(&load.key_factor, map);
    SEGMENT.write(&load.segment, map);
    HEADER.write(&load.header, map);
    STOP.write_given(load.stop.as_ref(), map);
}
