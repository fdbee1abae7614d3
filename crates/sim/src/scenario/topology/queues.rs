//! Which `[queue.NAME]` is at which link.

use std::collections::BTreeSet;

use earlydrop_aqm::Link;

use super::super::document::Doc;
use super::super::error::ScenarioError;
use super::super::fields::{join, Checked, Field};
use super::super::link_model;
use super::super::model::{Queue, Topology};
use super::super::nearest::{some_of, suggestion};
use super::super::own::Aqms;
use super::super::queue;
use crate::topology::LinkSpec;

/// Reads `[queue.NAME]` and finds the queue of each link of `topology`: the one with the link's name, else the one with
/// its key. `written`: links name their queues in the document. Returns with each queue the number of bandwidth-delay
/// products of its limit, if given so.
pub(in crate::scenario) fn queues(
    field: Option<Field<'_>>,
    topology: &mut Topology,
    written: bool,
    aqms: Aqms<'_>,
) -> Checked<(Vec<Queue>, Vec<Option<f64>>)> {
    let sites: Vec<Site> = match topology {
        Topology::Dumbbell(dumbbell) => {
            let site = |key: &str, link: &LinkSpec| Site {
                name: key.into(),
                key: Some(key.into()),
                link: at(link),
                spec: link.clone(),
                path: String::new(),
            };
            vec![site("bottleneck", &dumbbell.bottleneck), site("reverse", &dumbbell.reverse)]
        }
        Topology::Graph(graph) => graph
            .links()
            .map(|(number, direction, ..)| Site {
                name: direction.name.clone(),
                key: direction.queue.clone(),
                link: at(&direction.link),
                spec: direction.link.clone(),
                path: format!("link[{}]{}", number / 2, if number % 2 == 0 { "" } else { ".reverse" }),
            })
            .collect(),
    };
    let mut keys: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    keys.extend(sites.iter().filter_map(|site| site.key.as_deref()).filter(|&key| seen.insert(key)));
    let main = keys.first().copied().unwrap_or("NAME");
    let wanted = format!("a table [queue.{main}]");
    let is_dumbbell = matches!(topology, Topology::Dumbbell(_));
    let Some(field) = field else {
        if keys.is_empty() {
            return Ok(Default::default());
        }
        return Err(ScenarioError::new("queue", "is missing").allowed(wanted));
    };
    let Doc::Table(entries) = field.doc else { return Err(field.wrong_type(wanted)) };
    let known: BTreeSet<&str> = sites.iter().map(|site| site.name.as_str()).chain(keys.iter().copied()).collect();
    for (key, _) in entries {
        if !known.contains(key.as_str()) {
            let allowed = match keys.is_empty() {
                true => some_of(known.iter().copied()),
                false => keys.join(", ") + if is_dumbbell { "" } else { ", or a link's name" },
            };
            let message = match is_dumbbell {
                true => format!("unknown key{}", suggestion(key, keys.iter().copied())),
                false => format!("is the queue of no link{}", suggestion(key, known.iter().copied())),
            };
            return Err(ScenarioError::new(join(&field.path, key), message).allowed(allowed));
        }
    }
    let all: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let fields = field.table(&all)?;
    // The queue that each link has.
    let chosen: Vec<Option<String>> = sites
        .iter()
        .map(|site| {
            let given = |name: &str| fields.optional(name).map(|_| name.to_string());
            given(&site.name).or_else(|| site.key.as_deref().and_then(given))
        })
        .collect();
    let without = |wanted: &str| {
        let with_key = sites.iter().zip(&chosen).filter(move |(site, _)| site.key.as_deref() == Some(wanted));
        with_key.clone().all(|(_, chosen)| chosen.is_none()).then(|| with_key.map(|(site, _)| site).next()).flatten()
    };
    // If the topology places its queues, its main one must be there; if links name queues, all of them must.
    for key in &keys[..if written { keys.len() } else { keys.len().min(1) }] {
        let Some(site) = without(key) else { continue };
        if !written {
            return Err(fields.missing(key).allowed(wanted));
        }
        return Err(ScenarioError::new(join(&site.path, "queue"), "names no queue")
            .given(format!("{key:?}"))
            .allowed(format!("a table [queue.{key}]{}", suggestion(key, all.iter().copied()))));
    }
    let (mut queues, mut products) = (Vec::new(), Vec::new());
    for (key, field) in fields.iter() {
        let mut links: Vec<Link> = Vec::new();
        let mut specs: Vec<&LinkSpec> = Vec::new();
        for (site, chosen) in sites.iter().zip(&chosen) {
            if chosen.as_deref() != Some(key) {
                continue;
            }
            specs.push(&site.spec);
            if !links.contains(&site.link) {
                links.push(site.link);
            }
        }
        if links.is_empty() {
            return Err(ScenarioError::new(field.path, "is the queue of no link")
                .allowed("a queue that a link has, or none: each of its links has one of its own"));
        }
        let device = link_model::default_queue(&field, &specs)?;
        let field = Field { doc: device.as_ref().unwrap_or(field.doc), path: field.path.clone() };
        let (spec, bdp) = queue::read(&field, &links, aqms)?;
        queues.push(Queue { key: key.to_string(), spec });
        products.push(bdp);
    }
    if let Topology::Graph(graph) = topology {
        for (direction, chosen) in graph.directions_mut().zip(chosen) {
            direction.queue = chosen;
        }
    }
    Ok((queues, products))
}

/// A link that may have a queue.
struct Site {
    name: String,
    key: Option<String>,
    link: Link,
    spec: LinkSpec,
    /// The link's path in the document, if it is written there.
    path: String,
}

/// Rate and delay of its link, for a discipline.
fn at(link: &LinkSpec) -> Link {
    Link { rate_bps: link.rate.nominal(), delay_s: link.mean_delay() }
}
