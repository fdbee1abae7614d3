//! `kind = "ftp"`: endless files over TCP, one a flow.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{Name, Quantity};
use super::super::keys::Key;
use super::super::nearest::{some_of, suggestion};
use super::kind::Kind;
use super::model::{Ftp, Load, Traffic};
use super::tcp;

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
    keys: &[&LIFETIME, &REVERSE_OF],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Ftp(Ftp { tcp, lifetime: LIFETIME.given(fields)?, reverse_of: None }))
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
    LIFETIME.write_given(load.lifetime.as_ref(), map);
}
