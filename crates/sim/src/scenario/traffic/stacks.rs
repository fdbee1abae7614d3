//! The TCP stacks and their options as plain values, and which stack a traffic entry has.

use serde_json::{json, Map, Value as Json};

use super::model::TcpSpec;
use super::rfc::written;
use earlydrop_net::tcp::stacks::options::{self, Opt, Place, Value};
use earlydrop_net::tcp::stacks::{self, STACKS};

/// A segment of which whole numbers of bytes are whole numbers of segments.
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
        "in_rules": opt.place == Place::Rules,
        "group": opt.group.title(),
        "allowed": opt.allowed(),
        "tcps": opt.controls,
        "needs": opt.needs.iter().map(|need| need.says).collect::<Vec<_>>(),
        "source": opt.source,
        "about": opt.about,
    })
}

/// Every option of a TCP under a stack.
fn values(stack: &'static stacks::Stack, tcp: &str) -> Json {
    let plain = stack.plain(tcp, MSS, false);
    let all: Map<String, Json> = options::all()
        .filter(|opt| opt.is_for(tcp))
        .filter_map(|opt| Some((opt.key.to_string(), written(&opt.values, opt.get(&plain)?, MSS))))
        .collect();
    all.into()
}

impl TcpSpec {
    /// Its stack, and the options that differ from it: the shortest description of what it does.
    pub fn shortest(&self) -> (&'static str, Json) {
        let Some(settings) = &self.options.rfc else { return (stacks::ns2_2_35::STACK.name, json!({})) };
        let (stack, others): (_, Vec<(&Opt, Value)>) = match self.stack {
            Some(stack) => (stack, stacks::besides(stack, settings, self.tcp.name())),
            None => stacks::nearest(settings, self.tcp.name()),
        };
        let rules: Map<String, Json> = others
            .into_iter()
            .map(|(opt, value)| (opt.key.to_string(), written(&opt.values, value, settings.mss)))
            .collect();
        (stack.name, rules.into())
    }
}
