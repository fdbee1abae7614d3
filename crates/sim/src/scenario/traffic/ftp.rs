//! `kind = "ftp"`: endless files over TCP, one a flow.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{Name, Quantity};
use super::super::keys::Key;
use super::super::nearest::{some_of, suggestion};
use super::kind::{Kind, OFF as MAY_PAUSE, ON as MAY_LAST};
use super::model::{Ftp, Load, Traffic, Writes};
use super::tcp;

static RATE: Key<Quantity> = Key::optional(
    "rate",
    Quantity::rate(bounds::RATE),
    "as fast as TCP sends",
    "Rate at which the application writes data, a segment at a time; headers come on top. What TCP cannot send waits.",
);

static ON: Key<Quantity> = Key::optional(
    "on",
    Quantity::time(MAY_LAST),
    "always",
    "Length of each period in which the application writes, as a whole number of segments, at least one; only with \
     `rate`.",
);

static OFF: Key<Quantity> = Key::optional(
    "off",
    Quantity::time(MAY_PAUSE),
    "none",
    "Length of each pause, of which the first precedes the first period; needed with `on`.",
);

pub(super) static LIFETIME: Key<Quantity> = Key::optional(
    "lifetime",
    Quantity::time(Interval { low: 0.001, ..bounds::START }),
    "for ever",
    "How long after its start a flow has data to send; what has been sent by then is still retransmitted.",
);

pub(super) static REVERSE_OF: Key<Name> = Key::optional(
    "reverse_of",
    Name("the name of an FTP entry above"),
    "none",
    "Name of an FTP entry above: these flows send the other way in its connections, with its number, ends and TCP; \
     their own are `start`, `lifetime`, `class` and `dscp`. Not with ns-2's TCPs and QUIC.",
);

pub(super) const KIND: Kind = Kind {
    name: "ftp",
    title: "FTP",
    about: "Endless files over TCP, one a flow",
    over_tcp: true,
    keys: &[&RATE, &ON, &OFF, &LIFETIME, &REVERSE_OF],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    let writes = writes(fields)?;
    Ok(Load::Ftp(Ftp { tcp, writes, lifetime: LIFETIME.given(fields)?, reverse_of: None }))
}

fn writes(fields: &Fields<'_>) -> Checked<Option<Writes>> {
    let (rate, on, off) = (RATE.given(fields)?, ON.given(fields)?, OFF.given(fields)?);
    let alone = |key: &Key<Quantity>, other: &str| match key.field(fields) {
        Some(field) => Err(field.error(format!("goes with {other}"))),
        None => Ok(None),
    };
    match (rate, on, off) {
        (Some(rate), Some(on), Some(off)) => Ok(Some(Writes { rate, periods: Some((on, off)) })),
        (Some(rate), None, None) => Ok(Some(Writes { rate, periods: None })),
        (_, Some(_), None) => alone(&ON, "off, the length of the pauses"),
        (_, None, Some(_)) => alone(&OFF, "on, the length of the periods between pauses"),
        (None, Some(_), Some(_)) => alone(&ON, "rate, at which the application writes"),
        (None, None, None) => Ok(None),
    }
}

/// The entry in whose connections the flows of the entry with these fields send the other way, by its place in `above`.
pub(super) fn other_way(fields: &Fields<'_>, above: &[Traffic]) -> Checked<Option<usize>> {
    let (Some(field), Some(name)) = (REVERSE_OF.field(fields), REVERSE_OF.given(fields)?) else { return Ok(None) };
    let ftp = |traffic: &Traffic| matches!(&traffic.load, Load::Ftp(load) if load.reverse_of.is_none());
    let names = || above.iter().filter(|traffic| ftp(traffic)).filter_map(|traffic| traffic.name.as_deref());
    let Some(at) = above.iter().position(|traffic| ftp(traffic) && traffic.name.as_ref() == Some(&name)) else {
        let message = format!("names no FTP entry above{}", suggestion(&name, names()));
        return Err(field.error(message).allowed(match names().next() {
            Some(_) => some_of(names()),
            None => "the name of an entry above with kind = \"ftp\"".into(),
        }));
    };
    let used = |traffic: &Traffic| matches!(&traffic.load, Load::Ftp(load) if load.reverse_of == Some(at));
    if above.iter().any(used) {
        return Err(field.error("names an entry whose connections have data both ways already"));
    }
    if let Load::Ftp(Ftp { tcp, .. }) = &above[at].load {
        if tcp.options.rfc.as_ref().is_none_or(|settings| settings.quic) {
            return Err(field
                .error("names an entry whose TCP sends data one way only")
                .given(format!("stack = {:?}", tcp.stack.name))
                .allowed("stack = \"rfc\", or Linux's"));
        }
    }
    Ok(Some(at))
}

pub(super) fn write(load: &Ftp, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    if let Some(writes) = &load.writes {
        RATE.write(&writes.rate, map);
        ON.write_given(writes.periods.map(|(on, _)| on).as_ref(), map);
        OFF.write_given(writes.periods.map(|(_, off)| off).as_ref(), map);
    }
    LIFETIME.write_given(load.lifetime.as_ref(), map);
}
