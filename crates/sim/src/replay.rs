//! Replay of recorded arrivals at one queue: the decisions of the simulator's port on packets of, say, a real link.

use crate::engine::network::{Network, PortKind, PortSpec, SourceSpec, TtlOption};
use crate::engine::plan::Plan;
use crate::engine::{Engine, PortOutcome, Settings};
use crate::events::Lanes;
use crate::scenario::control::Change;
use earlydrop_aqm::catalogue::{Built, Link};
use earlydrop_aqm::random::Generator;
use earlydrop_net::medium::{Medium, Rate};
use earlydrop_net::record::Arrivals;
use earlydrop_net::source::{Distribution, Poisson, Source};

/// Replays `arrivals` at a port of `kind` in front of `link`, idle and empty at time 0, until `until` seconds.
/// [`PortOutcome::fates`] has the fate of each arrival.
///
/// `changes` of the link and its queue are made at their times, after all events of these times.
///
/// Simultaneous arrivals keep the order of the list, after all other events of their time.
///
/// # Panics
/// If there is not exactly one port outcome, which would be an error in this crate.
pub fn replay(
    kind: PortKind,
    link: &Link,
    medium: Option<Medium>,
    arrivals: Arrivals,
    changes: Vec<(f64, Change)>,
    until: f64,
) -> PortOutcome {
    let mut network = Network::new();
    let port = network.port(PortSpec { name: "replay".to_string(), aqm: String::new(), kind });
    let index = network.link(link.rate_bps, link.delay_s, Some(port));
    // What a medium sends is noted in the fates; a plain one sends what the wire does.
    network.medium(index, medium.unwrap_or_else(|| Medium::new(&Rate::Constant(link.rate_bps))));
    // The flow for which the packets are counted. It never sends anything itself.
    let silent = SourceSpec {
        source: Source::Poisson(Poisson::new(1.0, Distribution::Fixed(1.0))),
        header: 0,
        start: f64::INFINITY,
        stop: f64::INFINITY,
        random: Generator::stream(0, "replay"),
    };
    network.source(silent, &[index], u8::MAX, TtlOption::Nothing);
    let plan = Plan::all_stepped(&network);
    let settings = Settings { duration: until, ..Settings::default() };
    let mut engine = Engine::<Lanes>::new(network, plan, settings).replay(arrivals);
    for (time, change) in changes {
        engine.run_until(time.next_up());
        if let Some(policy) = change.policy {
            engine.change(0, time, Built::Policy(policy));
        }
        engine.change_link(0, change.rate_bps, change.delay_s);
    }
    let mut outcome = engine.run();
    assert_eq!(outcome.ports.len(), 1);
    outcome.ports.remove(0)
}
