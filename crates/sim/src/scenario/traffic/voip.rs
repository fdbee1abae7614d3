//! `kind = "voip"`: speech over UDP, packets at even intervals while somebody talks.

use serde_json::{Map, Value as Json};

use super::super::fields::{Checked, Fields};
use super::super::forms::{Bytes, Quantity};
use super::super::keys::Key;
use super::kind::{interval, period, Kind, OFF as MAY_PAUSE, ON as MAY_LAST};
use super::model::{Load, Voip};
use super::packets::{self, STOP};

// G.711 in packets of 20 ms over RTP, UDP and IPv4; talking and silence of about the lengths of ITU-T P.59.
static INTERVAL: Key<Quantity> = interval(0.02, "From packet to packet.");
static SEGMENT: Key<Bytes> = packets::segment(160);
static HEADER: Key<Bytes> = packets::header(40);
static ON: Key<Quantity> = period("on", MAY_LAST, 1.0, "Mean length of talking, exponential.");
static OFF: Key<Quantity> =
    period("off", MAY_PAUSE, 1.35, "Mean length of silence, exponential; with `\"0 s\"` there is none.");

pub(super) const KIND: Kind = Kind {
    name: "voip",
    title: "VoIP",
    about: "Speech over UDP: packets at even intervals while somebody talks",
    over_tcp: false,
    keys: &[&INTERVAL, &SEGMENT, &HEADER, &ON, &OFF, &STOP],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, &SEGMENT, &HEADER)?;
    let (on, off) = (ON.read(fields)?, OFF.read(fields)?);
    let interval = INTERVAL.read(fields)?;
    Ok(Load::Voip(Voip { interval, segment, header, on, off, stop: STOP.given(fields)? }))
}

pub(super) fn write(load: &Voip, map: &mut Map<String, Json>) {
    INTERVAL.write(&load.interval, map);
    SEGMENT.write(&load.segment, map);
    HEADER.write(&load.header, map);
    ON.write(&load.on, map);
    OFF.write(&load.off, map);
    STOP.write_given(load.stop.as_ref(), map);
}
