//! `kind = "ftp"`: endless files over TCP, one a flow.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::Quantity;
use super::super::keys::Key;
use super::kind::Kind;
use super::model::{Ftp, Load};
use super::tcp;

static LIFETIME: Key<Quantity> = Key::optional(
    "lifetime",
    Quantity::time(Interval { low: 0.001, ..bounds::START }),
    "for ever",
    "How long after its start a flow has data to send; what has been sent by then is still retransmitted.",
);

pub(super) const KIND: Kind = Kind {
    name: "ftp",
    title: "FTP",
    about: "Endless files over TCP, one a flow",
    over_tcp: true,
    keys: &[&LIFETIME],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Ftp(Ftp { tcp, lifetime: LIFETIME.given(fields)? }))
}

pub(super) fn write(load: &Ftp, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    LIFETIME.write_given(load.lifetime.as_ref(), map);
}
