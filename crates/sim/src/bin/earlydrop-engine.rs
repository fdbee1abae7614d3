//! The engine alone on the benchmark cases: the cost of a run without Python.
//!
//! `earlydrop-engine CASE [--links auto|stepped] [--events lanes|heap] [--spread] [--duration S]` prints one JSON
//! document. `--tcp NAME` replaces Reno by another TCP of ns-2; `--rfc yes|plain|paced` uses NewReno of
//! the RFC TCP without delayed ACKs: with SACK, without SACK, or with SACK, RACK and pacing. Cases A to C are
//! dumbbells. `earlydrop-engine FILE.toml` runs a scenario instead. N10, N100 and N1000 are random networks of so many routers with ten flows each; N10-full and N100-full
//! have 10,000 flows like N1000, on correspondingly faster links.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use earlydrop_aqm::catalogue;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_net::tcp::rfc;
use earlydrop_net::tcp::Flavour;
use earlydrop_sim::engine::network::{FlowSpec, Network, PortKind, PortSpec, TcpOptions};
use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::engine::{is_large, Engine, Outcome, Settings};
use earlydrop_sim::events::{EventQueue, HeapQueue, Lanes, LargeLanes};
use earlydrop_sim::scenario::{check, Doc};
use std::sync::Arc;

/// flows, bottleneck bit/s, duration s, buffer, min_th, max_th
type Case = (usize, f64, f64, u64, f64, f64);

const CASES: [(&str, Case); 3] = [
    ("A", (100, 10e6, 200.0, 120, 30.0, 90.0)),
    ("B", (100, 100e6, 100.0, 1200, 300.0, 900.0)),
    ("C", (1000, 1e9, 10.0, 12_000, 3000.0, 9000.0)),
];

/// Routers, flows per router, and duration in s. The numbers of packets are of one order of magnitude.
const NETWORKS: [(&str, (usize, usize, f64)); 5] = [
    ("N10", (10, 10, 100.0)),
    ("N100", (100, 10, 10.0)),
    ("N1000", (1000, 10, 2.0)),
    ("N10-full", (10, 1000, 2.0)),
    ("N100-full", (100, 100, 2.0)),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: &str| {
        let at = arguments.iter().position(|a| a == name);
        at.and_then(|i| arguments.get(i + 1)).cloned().unwrap_or_else(|| default.to_string())
    };
    let given = arguments.first().map_or("", String::as_str);
    let case = CASES.iter().find(|(name, _)| *name == given);
    let routers = NETWORKS.iter().find(|(name, ..)| *name == given);
    let stepped = option("--links", "auto") == "stepped";
    let spread = arguments.iter().any(|a| a == "--spread");
    let before = user_seconds();
    let tcp = match option("--rfc", "no").as_str() {
        "no" => TcpOptions::default(),
        word => {
            let mut settings = rfc::Settings::default();
            (settings.mss, settings.receiver.window, settings.timestamps) = (960, 960_000, false);
            settings.sack = word != "plain";
            (settings.receiver.delay, settings.pacing.on, settings.rack.on) = (None, word == "paced", word == "paced");
            TcpOptions { rfc: Some(Arc::new(settings)), ..TcpOptions::default() }
        }
    };
    let (network, settings) = match (case, routers) {
        (Some((_, case)), _) => {
            let flavour = Flavour::find(&option("--tcp", "reno")).filter(|tcp| Flavour::NS2.contains(tcp));
            let (mut case, flavour) = (*case, flavour.expect("a TCP of ns-2"));
            case.2 = option("--duration", "").parse().unwrap_or(case.2);
            build(&case, spread, flavour, tcp)
        }
        (_, Some(&(_, (routers, flows, duration)))) => {
            random_network(routers, flows, option("--duration", "").parse().unwrap_or(duration))
        }
        _ if given.ends_with(".toml") => scenario(given).unwrap_or_else(|message| {
            eprintln!("{message}");
            std::process::exit(2);
        }),
        _ => {
            eprintln!("usage: earlydrop-engine A|B|C|N10|N100|N1000|N10-full|N100-full|FILE.toml [--links auto|stepped] [--events lanes|heap] [--spread] [--duration S]");
            std::process::exit(2);
        }
    };
    let decides: Vec<bool> = network.ports.iter().map(|p| p.kind.decides_at_enqueue()).collect();
    let plan = if stepped { Plan::all_stepped(&network) } else { Plan::from_graph(&network, &decides) };
    let heap = option("--events", "lanes") == "heap";
    let go = |network: Network, plan: Plan, settings: Settings| match heap {
        true => go::<HeapQueue>(network, plan, settings),
        false if is_large(&network) => go::<LargeLanes>(network, plan, settings),
        false => go::<Lanes>(network, plan, settings),
    };
    let ahead = plan.with_hosts_ahead(&network).filter(|_| !stepped && given.ends_with(".toml"));
    let mut taken = ahead.and_then(|plan| {
        let (network, settings) = scenario(given).ok()?;
        go(network, plan, settings)
    });
    if taken.is_none() {
        eprintln!("not ahead");
    }
    let (setup, run, outcome) = taken.take().or_else(|| go(network, plan, settings)).expect("a run");
    if case.is_none() {
        let sum = |count: fn(&Counters) -> u64| outcome.ports.iter().map(|port| count(&port.counters)).sum::<u64>();
        println!(
            "{{\"case\": \"{given}\", \"user_s\": {run:.4}, \"setup_user_s\": {:.4}, \"queues\": {}, \"flows\": {}, \
             \"arrivals\": {}, \"drops\": {}, \"events\": {}, \"ns_per_packet_hop\": {:.2}, \"peak_rss_mb\": {:.1}}}",
            setup - before,
            outcome.ports.len(),
            outcome.flows.len(),
            sum(|c| c.arrivals),
            sum(Counters::drops),
            outcome.events,
            run * 1e9 / sum(|c| c.arrivals) as f64,
            peak_mb(),
        );
        return;
    }
    let port = &outcome.ports[0];
    let (name, counters) = (given, port.counters);
    println!(
        "{{\"case\": \"{name}\", \"user_s\": {run:.4}, \"setup_user_s\": {:.4}, \"arrivals\": {}, \"departures\": {}, \"drops\": {}, \
         \"events\": {}, \"arithmetic_links\": {}, \"stepped_links\": {}, \"queue_mean_packets\": {:.4}, \"delay_mean_ms\": {:.4}, \
         \"drop_rate\": {:.6}, \"peak_rss_mb\": {:.1}}}",
        setup - before,
        counters.arrivals,
        counters.departures,
        counters.drops(),
        outcome.events,
        outcome.links.0,
        outcome.links.1,
        port.stats.mean(),
        port.stats.mean_sojourn() * 1e3,
        counters.drops() as f64 / counters.arrivals as f64,
        peak_mb(),
    );
}

/// A random network: four links per router on average, one host each with these flows, and RED at every output. With
/// ten flows per router links have 10 Mbit/s; rates and queues are proportional to the flows.
fn random_network(routers: usize, flows: usize, duration: f64) -> (Network, Settings) {
    let times = flows / 10;
    let (core, access) = (10 * times, 100 * times);
    let (limit, min_th, max_th) = (60 * times, 10 * times, 30 * times);
    let text = format!(
        "name = \"network\"\nduration = \"{duration} s\"\n\
         [topology]\nkind = \"random\"\nrouters = {routers}\ncore = {{ rate = \"{core} Mbit/s\", delay = \"5 ms\" }}\n\
         access = {{ rate = \"{access} Mbit/s\", delay = \"1 ms\" }}\n\
         [queue.routers]\naqm = \"red\"\ndialect = \"ns2\"\nlimit = {limit}\nmin_th = {min_th}\nmax_th = {max_th}\nmax_p = 0.1\nmean_packet = 1040\n\
         [[traffic]]\nkind = \"ftp\"\ncount = {}\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}\n",
        flows * routers
    );
    let scenario = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)).expect("a scenario");
    let network = earlydrop_sim::run::build(&scenario, 1).expect("a network");
    (network, Settings { duration, ..Settings::default() })
}

/// The network of a scenario file, and the settings of its run.
fn scenario(file: &str) -> Result<(Network, Settings), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = Doc::from_toml(&text, Some(file)).and_then(|doc| check(&doc, Some(file)));
    let scenario = scenario.map_err(|error| error.to_string())?;
    let network = earlydrop_sim::run::build(&scenario, scenario.seed).map_err(|error| error.to_string())?;
    Ok((network, Settings { duration: scenario.duration, warmup: scenario.warmup, ..Settings::default() }))
}

/// User CPU seconds of the set-up and of the run, and its outcome.
fn go<Q: EventQueue>(network: Network, plan: Plan, settings: Settings) -> Option<(f64, f64, Outcome)> {
    let engine = Engine::<Q>::new(network, plan, settings);
    let start = user_seconds();
    let outcome = engine.try_run()?;
    Some((start, user_seconds() - start, outcome))
}

fn build(
    &(flows, rate_bps, duration, limit, min_th, max_th): &Case,
    spread: bool,
    flavour: Flavour,
    options: TcpOptions,
) -> (Network, Settings) {
    let mut network = Network::new();
    let link = catalogue::Link { rate_bps, delay_s: 0.02 };
    let mut values = Values::of(&[
        ("dialect", Value::Choice("ns2")),
        ("mean_packet", Value::Real(1000.0)),
        ("max_p", Value::Real(0.1)),
    ]);
    values.set("min_th", Value::Real(min_th)).set("max_th", Value::Real(max_th));
    let red = catalogue::find("red").expect("in the catalogue");
    let built = (red.build)(&values, &link, Limit::Packets(limit)).expect("valid");
    let kind = PortKind::new(built, Limit::Packets(limit), false, Generator::stream(1, "queue.bottleneck"));
    let port = network.port(PortSpec { name: "bottleneck".into(), aqm: "red".into(), kind });
    let bottleneck = network.link(rate_bps, 0.02, Some(port));
    let reverse = network.link(rate_bps, 0.02, None);
    let mut draw = Generator::stream(1, "bench");
    for sender in 0..flows {
        let delay = if spread { spread_delay(sender) } else { 0.005 };
        let (up, down) = (network.link(100e6, delay, None), network.link(100e6, 0.005, None));
        let (back_up, back_down) = (network.link(100e6, 0.005, None), network.link(100e6, delay, None));
        let flow = FlowSpec {
            interval: None,
            flavour,
            start: draw.uniform(),
            clock_phase: 0.01 * draw.uniform(),
            window: 1000,
            payload: 960,
            wire: 1000,
            options: options.clone(),
        };
        network.flow(flow, &[up, bottleneck, down], &[back_up, reverse, back_down]);
    }
    (network, Settings { duration, ..Settings::default() })
}

/// Delay of a sender's access link with `--spread`: 5 to 10 ms by the golden ratio, in whole nanoseconds.
fn spread_delay(sender: usize) -> f64 {
    let milliseconds = 5.0 + 5.0 * ((sender + 1) as f64 * 0.618_033_988_749_894_9).fract();
    (milliseconds * 1e6).round() / 1e6 * 1e-3
}

/// CPU time of this process, s.
fn user_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn peak_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
