//! `kind = "ftp"`: endless files over TCP, one a flow.

use serde_json::Map;

use super::model::Load;
use super::{tcp, Kind};

pub(super) const KIND: Kind = Kind {
    name: "ftp",
    keys: &[tcp::KEYS],
    required: &[],
    flow_a_pair: true,
    read: |fields| tcp::read(fields).map(Load::Ftp),
    schema: || {
        let mut map = Map::new();
        tcp::schema(&mut map);
        map
    },
};
