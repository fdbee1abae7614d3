//! The TCP stacks and their options as plain values, and where a traffic entry differs from its stack.

use serde_json::{json, Map, Value as Json};

use super::model::TcpSpec;
use super::rfc::{self, written};
use super::{ns2, tcp};
use earlydrop_net::tcp::stacks::options::{self, Opt};
use earlydrop_net::tcp::stacks::{Stack, STACKS};
use earlydrop_net::tcp::TcpOptions;

/// A segment size with which any number of bytes is a whole number of segments.
const MSS: u32 = 1;

/// All stacks and all options.
pub fn catalogue() -> Json {
    let options: Vec<Json> = options::all().map(option).collect();
    let stacks: Vec<Json> = STACKS
        .into_iter()
        .map(|stack| {
            let values: Map<String, Json> =
                stack.tcps.iter().filter(|_| !stack.is_ns2).map(|tcp| (tcp.to_string(), values(stack, tcp))).collect();
            let rows: Vec<Json> = stack
                .rows
                .iter()
                .map(|row| {
                    let value = options::named(row.key).map(|opt| written(&opt.values, row.value, MSS));
                    json!({ "key": row.key, "value": value, "tcps": row.only, "source": row.source })
                })
                .collect();
            json!({ "name": stack.name, "about": stack.about, "tcps": stack.tcps, "rows": rows, "values": values })
        })
        .collect();
    json!({ "options": options, "stacks": stacks })
}

fn option(opt: &'static Opt) -> Json {
    json!({
        "key": opt.key,
        "group": opt.group.title(),
        "allowed": opt.allowed(),
        "tcps": opt.controls,
        "needs": opt.needs.iter().map(|need| need.says).collect::<Vec<_>>(),
        "source": opt.source,
        "about": opt.about,
    })
}

/// Every option of a TCP under a stack, with ECN.
fn values(stack: &'static Stack, tcp: &str) -> Json {
    let plain = stack.plain(tcp, MSS, true);
    let all: Map<String, Json> = options::all()
        .filter(|opt| opt.is_for(tcp))
        .filter_map(|opt| Some((opt.key.to_string(), written(&opt.values, opt.get(&plain)?, MSS))))
        .collect();
    all.into()
}

impl TcpSpec {
    /// The rules of a TCP that differ from its stack.
    pub fn differing(&self) -> Json {
        let plain = self.options.rfc.as_ref().map_or_else(
            || ns2::write(&TcpSpec { options: TcpOptions::default(), clock_phase: None, ..self.clone() }),
            |settings| rfc::write(&self.stack.plain(self.tcp.name(), settings.mss, self.sends_ecn()), self.tcp),
        );
        let mut rules = tcp::rules(self);
        rules.retain(|key, value| plain.get(key) != Some(value));
        rules.into()
    }
}
