//! Two hosts and one link: the network that most tests need.

use crate::error::Error;
use crate::network::{Host, Network};
use earlydrop_sim::scenario::{queue_text, Doc};
use std::path::PathBuf;

/// Two hosts, `client` and `server`, with one link, which has a queue in either direction: `up` to the server, `down` to
/// the client.
///
/// All values are texts as in a scenario. Each method replaces what was said before.
#[derive(Clone, Debug)]
pub struct Path {
    rates: [String; 2],
    delay: String,
    queues: [String; 2],
    ecn: bool,
    jitter: Option<String>,
    loss: Option<f64>,
    duration: String,
    warmup: String,
    series: Option<String>,
    seed: u64,
    overhead: u32,
    capture: Option<PathBuf>,
}

const WAYS: [&str; 2] = ["up", "down"];

impl Path {
    /// A link with this rate (`"50 Mbit/s"`) in both directions and this propagation delay each way (`"20 ms"`). Its
    /// queues are DropTail with the default buffer, its seed is 1, and it ends after an hour.
    pub fn duplex(rate: &str, delay: &str) -> Path {
        Path {
            rates: [rate.into(), rate.into()],
            delay: delay.into(),
            queues: ["droptail".into(), "droptail".into()],
            ecn: false,
            jitter: None,
            loss: None,
            duration: "1 h".into(),
            warmup: "0 s".into(),
            series: None,
            seed: 1,
            overhead: 28,
            capture: None,
        }
    }

    /// The rate to the client.
    pub fn rate_down(mut self, rate: &str) -> Path {
        self.rates[1] = rate.into();
        self
    }

    /// The queue in both directions, as on the command line: `"fq_codel target=5ms"`.
    pub fn queue(mut self, queue: &str) -> Path {
        self.queues = [queue.into(), queue.into()];
        self
    }

    /// The queue to the client.
    pub fn queue_down(mut self, queue: &str) -> Path {
        self.queues[1] = queue.into();
        self
    }

    /// Whether the queues mark packets that are ECN-capable instead of dropping them; a queue's own `ecn` comes first.
    pub fn ecn(mut self, on: bool) -> Path {
        self.ecn = on;
        self
    }

    /// Extra delay of each packet, drawn from 0 up to this. Packets stay in order.
    pub fn jitter(mut self, up_to: &str) -> Path {
        self.jitter = Some(up_to.into());
        self
    }

    /// Probability that the link loses a packet, in each direction.
    pub fn loss(mut self, probability: f64) -> Path {
        self.loss = Some(probability);
        self
    }

    /// The longest time of the network, one hour unless said.
    pub fn duration(mut self, duration: &str) -> Path {
        self.duration = duration.into();
        self
    }

    /// The time before the measured window.
    pub fn warmup(mut self, warmup: &str) -> Path {
        self.warmup = warmup.into();
        self
    }

    /// Records the queues at this interval, as series in the result.
    pub fn series(mut self, interval: &str) -> Path {
        self.series = Some(interval.into());
        self
    }

    /// The seed of what the queues and the link draw.
    pub fn seed(mut self, seed: u64) -> Path {
        self.seed = seed;
        self
    }

    /// Bytes on the wire beside a datagram's payload: 28 for UDP over IPv4, 0 for a stack that makes IP packets.
    pub fn overhead(mut self, bytes: u32) -> Path {
        self.overhead = bytes;
        self
    }

    /// Writes the packets of each queue into `folder`; see [`Network::capture`].
    pub fn capture(mut self, folder: impl AsRef<std::path::Path>) -> Path {
        self.capture = Some(folder.as_ref().into());
        self
    }

    /// The scenario.
    ///
    /// # Errors
    /// If a queue's text is none.
    fn scenario(&self) -> Result<Doc, Error> {
        let text = |text: &str| Doc::String(text.into());
        let table = |entries: Vec<(&str, Doc)>| {
            Doc::Table(entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
        };
        let direction = |way: usize| {
            let mut entries = vec![("rate", text(&self.rates[way])), ("delay", text(&self.delay))];
            entries.extend(self.jitter.as_deref().map(|jitter| ("jitter", text(jitter))));
            entries.extend(self.loss.map(|loss| ("loss", Doc::Float(loss))));
            entries.push(("queue", text(WAYS[way])));
            entries
        };
        let mut link = vec![("from", text("client")), ("to", text("server"))];
        link.extend(direction(0));
        link.push(("reverse", table(direction(1))));
        let mut queues = Vec::new();
        for (name, queue) in WAYS.into_iter().zip(&self.queues) {
            let mut queue = queue_text(queue)?;
            let marks = self.ecn && queue.get("ecn").is_none();
            if let (true, Doc::Table(entries)) = (marks, &mut queue) {
                entries.push(("ecn".into(), Doc::Bool(true)));
            }
            queues.push((name, queue));
        }
        let mut scenario = vec![
            ("name", text("path")),
            ("duration", text(&self.duration)),
            ("warmup", text(&self.warmup)),
            ("topology", table(vec![("kind", text("graph"))])),
            ("link", Doc::Array(vec![table(link)])),
            ("queue", table(queues)),
        ];
        scenario.extend(self.series.as_deref().map(|series| ("record", table(vec![("series", text(series))]))));
        Ok(table(scenario))
    }

    /// The network, and its two hosts, `client` and `server`.
    ///
    /// # Errors
    /// If a value does not fit: which field, what was given, what is allowed.
    pub fn network(self) -> Result<(Network, Host, Host), Error> {
        let mut network = Network::from_doc(self.scenario()?, None).seed(self.seed).overhead(self.overhead);
        let (client, server) = network.attach("client", "server")?;
        if let Some(folder) = self.capture {
            network = network.capture(folder)?;
        }
        Ok((network, client, server))
    }
}
