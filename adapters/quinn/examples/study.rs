//! Two studies with quinn, as CSV on the standard output.
//!
//! `study jitter`: CUBIC over a link whose jitter keeps the order of packets, or lets them overtake.
//!
//! `study controls CONTROL JITTER`: quinn's congestion control (`cubic`, `reno` or `bbr`) and earlydrop's, each alone behind
//! the same queues, on a link with so many milliseconds of jitter, in order.

use earlydrop_path::{run, Endpoint, Network};
use earlydrop_sim::result::{self, Json};
use earlydrop_sim::run::{Events, Links};
use earlydrop_sim::scenario;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::TransportConfig;
use std::error::Error;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// More than any flow here sends.
const ENDLESS: u64 = 1 << 40;
/// quinn's and noq's flow control of a stream, 1.25 MB, in packets. With more, quinn's BBR starts so fast that its receiver
/// closes the connection, of too many gaps.
const WINDOW: u32 = 880;
/// Runs of each line.
const SEEDS: u64 = 20;
/// Of Student's distribution with 19 degrees of freedom, for a 95 % interval.
const T: f64 = 2.093;

/// One link between two hosts.
struct Link {
    rate: &'static str,
    /// In TOML.
    jitter: String,
    /// In TOML, of both directions.
    queue: &'static str,
    /// Start and end of what is measured, s.
    window: [f64; 2],
}

impl Link {
    /// The scenario, with `traffic` in TOML.
    fn toml(&self, traffic: &str) -> String {
        let Link { rate, jitter, queue, window: [warmup, duration] } = self;
        let way = format!("rate = '{rate}', delay = '20 ms', jitter = {jitter}");
        format!(
            "name = 'study'\nduration = '{duration} s'\nwarmup = '{warmup} s'\ntopology.kind = 'graph'\n\
             queue.up = {queue}\nqueue.down = {queue}\nlink = [{{ from = 'client', to = 'server', {way}, queue = 'up', \
             reverse = {{ {way}, queue = 'down' }} }}]\n{traffic}"
        )
    }

    /// The result of a stack under test.
    fn outside(&self, seed: u64, sender: &mut dyn Endpoint, receiver: &mut dyn Endpoint) -> Outcome<Json> {
        let mut network = Network::from_text(&self.toml(""))?.seed(seed);
        let (client, server) = network.attach("client", "server")?;
        run(&mut network, &mut [(client, sender), (server, receiver)], self.window[1])?;
        Ok(network.finish()?.document)
    }

    fn quinn(&self, seed: u64, control: &str) -> Outcome<Json> {
        let factory: Arc<dyn ControllerFactory + Send + Sync> = match control {
            "cubic" => Arc::new(CubicConfig::default()),
            "reno" => Arc::new(NewRenoConfig::default()),
            "bbr" => Arc::new(BbrConfig::default()),
            _ => return Err(format!("quinn has no {control}").into()),
        };
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(factory);
        let (mut sender, mut receiver) = adapter_quinn::pair(ENDLESS, seed, transport)?;
        let document = self.outside(seed, &mut sender, &mut receiver)?;
        sender.lost.or(receiver.lost).map_or(Ok(document), |error| Err(error.into()))
    }

    fn noq(&self, seed: u64) -> Outcome<Json> {
        let (mut sender, mut receiver) = adapter_noq::pair(ENDLESS, seed, Default::default())?;
        let document = self.outside(seed, &mut sender, &mut receiver)?;
        sender.lost.or(receiver.lost).map_or(Ok(document), |error| Err(error.into()))
    }

    /// The result of a sender of the simulator, with packets of quinn's size, and more options in TOML.
    fn own(&self, seed: u64, control: &str, options: &str) -> Outcome<Json> {
        let traffic = format!(
            "[[traffic]]\nkind = 'ftp'\nfrom = 'client'\nto = 'server'\nstack = 'quic'\ntcp = '{control}'\necn = true\n\
             segment = '1420 B'\nheader = '60 B'\nwindow = {WINDOW}\n{options}\n"
        );
        let checked = scenario::check(&scenario::Doc::from_toml(&self.toml(&traffic), None)?, None)?;
        let outcome = earlydrop_sim::run::run(&checked, seed, Links::Auto, Events::Lanes)?;
        Ok(result::document(&checked, seed, &outcome, 0.0))
    }
}

/// Goodput, Mbit/s; mean and 99th percentile of the queueing delay, ms; drops and marks a second.
const COLUMNS: [&str; 5] = ["goodput_mbps", "delay_mean_ms", "delay_p99_ms", "drops_per_s", "marks_per_s"];

fn numbers(document: &Json, [start, end]: [f64; 2]) -> Outcome<[f64; 5]> {
    let queue = &document["queues"]["up"];
    let number = |value: &Json| value.as_f64().ok_or_else(|| format!("no number in {document}"));
    let mut drops = 0.0;
    for reason in ["early_drops", "forced_drops", "overflow_drops"] {
        drops += number(&queue[reason])? / (end - start);
    }
    Ok([
        number(&document["flows"][0]["goodput_mbps"])?,
        number(&queue["delay_mean_ms"])?,
        number(&queue["delay_p99_ms"])?,
        drops,
        number(&queue["marks"])? / (end - start),
    ])
}

/// Means and half-widths of their 95 % intervals, as fields of CSV.
fn summary(runs: &[[f64; 5]]) -> String {
    let count = runs.len() as f64;
    let columns = (0..5).map(|column| {
        let mean = runs.iter().map(|run| run[column]).sum::<f64>() / count;
        let squares = runs.iter().map(|run| (run[column] - mean).powi(2)).sum::<f64>();
        format!("{mean:.3},{:.3}", T * (squares / (count - 1.0) / count).sqrt())
    });
    columns.collect::<Vec<_>>().join(",")
}

/// Runs all seeds; prints a line.
fn line(name: &str, link: &Link, one: impl Fn(u64) -> Outcome<Json>) -> Outcome<()> {
    let runs: Outcome<Vec<_>> = (1..=SEEDS).map(|seed| numbers(&one(seed)?, link.window)).collect();
    out(&format!("{name},{}", summary(&runs.map_err(|error| format!("{name}: {error}"))?)))
}

fn out(text: &str) -> Outcome<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn header(first: &str) -> Outcome<()> {
    let columns = COLUMNS.map(|column| format!("{column},{column}_ci95"));
    out(&format!("{first},{}", columns.join(",")))
}

fn jitter() -> Outcome<()> {
    header("stack,jitter_ms,keep_order")?;
    for (millis, keep_order) in
        [(0, true), (1, true), (2, true), (5, true), (10, true), (1, false), (2, false), (5, false), (10, false)]
    {
        let link = Link {
            rate: "100 Mbit/s",
            jitter: format!("{{ uniform = ['0 ms', '{millis} ms'], keep_order = {keep_order} }}"),
            queue: "{ aqm = 'droptail' }",
            window: [0.0, 20.0],
        };
        let name = |stack: &str| format!("{stack},{millis},{keep_order}");
        line(&name("quinn"), &link, |seed| link.quinn(seed, "cubic"))?;
        line(&name("noq"), &link, |seed| link.noq(seed))?;
        line(&name("own"), &link, |seed| link.own(seed, "cubic", ""))?;
    }
    Ok(())
}

fn controls(control: &str, jitter: &str) -> Outcome<()> {
    header("control,jitter_ms,window_s,queue,stack")?;
    for window in [[0.0, 10.0], [10.0, 40.0]] {
        for (name, queue) in [
            // A bandwidth-delay product.
            ("droptail", "{ aqm = 'droptail', limit = 167 }"),
            ("codel", "{ aqm = 'codel', ecn = true }"),
            ("fq_codel", "{ aqm = 'fq_codel', ecn = true }"),
        ] {
            let random = format!("{{ uniform = ['0 ms', '{jitter} ms'], keep_order = true }}");
            let link = Link { rate: "50 Mbit/s", jitter: random, queue, window };
            let name = |stack: &str| format!("{control},{jitter},{}-{},{name},{stack}", window[0], window[1]);
            line(&name("quinn"), &link, |seed| link.quinn(seed, control))?;
            line(&name("own"), &link, |seed| link.own(seed, control, ""))?;
            if control != "bbr" {
                // What quinn does otherwise, as far as there are options.
                let like = "rules = { pacing_burst = 10, hystart = false }";
                line(&name("own like quinn"), &link, |seed| link.own(seed, control, like))?;
            }
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["jitter"] => jitter(),
        ["controls", control, jitter] => controls(control, jitter),
        _ => Err("usage: study jitter, or study controls CONTROL JITTER".into()),
    }
}
