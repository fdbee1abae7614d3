//! A network in simulated time with hosts that a program moves.

use crate::captures::Captures;
use crate::error::Error;
use earlydrop_aqm::Ecn;
use earlydrop_sim::engine::{self, Happening, Told};
use earlydrop_sim::result::Json;
use earlydrop_sim::run::Links;
use earlydrop_sim::scenario::{self, Doc, Load, Scenario};
use earlydrop_sim::simulation::Simulation;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// An end of an attachment: a host as its peer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Host(u32);

impl Host {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Arrival, s.
    pub at: f64,
    /// When it was sent, s.
    pub sent: f64,
    /// Its number among those of its sender, from 0.
    pub number: u32,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// Payload.
    pub payload: Vec<u8>,
}

/// What a stack has counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that the application here has received, each once and in order; `None` if the stack does not count them.
    pub delivered: Option<u64>,
    /// Packets that were sent again from here, or whose contents were.
    pub retransmits: u64,
    /// Timeouts of the loss detection here.
    pub timeouts: u64,
}

/// What concerns a host.
pub(crate) enum Event {
    Arrival(Delivery),
    Timer,
}

/// An end of an attachment.
struct End {
    host: String,
    peer: String,
    /// The flow that it sends, once the network has started.
    flow: u32,
    /// Arrived, and not polled.
    inbox: VecDeque<Delivery>,
    counts: Counts,
}

/// A network in simulated time.
///
/// First hosts are attached; the first call beyond that starts it, at time 0. Then datagrams are sent, and the time goes
/// on, by [`run`](crate::run) or by hand:
///
/// ```
/// use earlydrop_path::{Ecn, Path};
///
/// let (mut network, client, server) = Path::duplex("1 Mbit/s", "10 ms").overhead(0).network()?;
/// network.send(client, vec![7; 1250], Ecn::NotEct)?;
/// // Twice 10 ms of transmission: the second waits for the first.
/// network.send(client, vec![8; 1250], Ecn::NotEct)?;
/// network.advance_to(0.05)?;
/// assert_eq!(network.poll(server).unwrap().at, 0.02);
/// assert_eq!(network.poll(server).unwrap().at, 0.03);
/// assert!(network.poll(server).is_none());
/// // The time does not go back.
/// assert!(network.advance_to(0.04).is_err());
/// # Ok::<(), earlydrop_path::Error>(())
/// ```
pub struct Network {
    doc: Doc,
    file: Option<String>,
    seed: Option<u64>,
    overhead: u32,
    ends: Vec<End>,
    captures: Option<PathBuf>,
    running: Option<Running>,
}

/// A network that has started.
struct Running {
    simulation: Simulation,
    now: f64,
    /// By flow: the end that receives it.
    receivers: Vec<Option<Host>>,
    /// By flow: the end that sends it.
    senders: Vec<Option<Host>>,
    captures: Option<Captures>,
    fault: Option<Error>,
}

/// The result of a network.
pub struct Finished {
    /// The result document, as `earlydrop run` gives it: `document["queues"]["down"]["delay_mean_ms"]`. The page on results
    /// has all fields.
    pub document: Json,
    /// The scenario in full.
    pub scenario: Json,
    /// See [`Network::digest`].
    pub digest: u64,
}

impl Network {
    /// The network of a scenario file, whose traffic is the cross traffic. Hosts have the names of its topology.
    ///
    /// # Errors
    /// If the file cannot be read, or is no TOML. What it says is checked when hosts are attached.
    pub fn from_toml(file: impl AsRef<Path>) -> Result<Network, Error> {
        let file = file.as_ref();
        Ok(Network::from_doc(scenario::load(file)?, Some(file.display().to_string())))
    }

    /// The same from the text of such a file.
    ///
    /// # Errors
    /// If it is no TOML.
    pub fn from_text(text: &str) -> Result<Network, Error> {
        Ok(Network::from_doc(Doc::from_toml(text, None)?, None))
    }

    /// The same from a scenario that was checked before.
    ///
    /// # Errors
    /// If its document cannot be read again, which would be an error of ours.
    pub fn from_scenario(scenario: &Scenario) -> Result<Network, Error> {
        Ok(Network::from_doc(Doc::from_json(&scenario.to_json())?, None))
    }

    pub(crate) fn from_doc(doc: Doc, file: Option<String>) -> Network {
        Network { doc, file, seed: None, overhead: 28, ends: Vec::new(), captures: None, running: None }
    }

    /// The seed, instead of the scenario's.
    pub fn seed(mut self, seed: u64) -> Network {
        self.seed = Some(seed);
        self
    }

    /// Bytes on the wire beside a datagram's payload, for hosts that are attached from now on: 28 for UDP over IPv4, which
    /// is the default, 0 for a stack that makes IP packets.
    pub fn overhead(mut self, bytes: u32) -> Network {
        self.overhead = bytes;
        self
    }

    /// Sets a value of the scenario, as `--set` does: `("queue.bottleneck.aqm", "codel")`.
    ///
    /// # Errors
    /// If there is no such place, or the network has started.
    pub fn set(mut self, path: &str, value: &str) -> Result<Network, Error> {
        self.must_not_run("set a value")?;
        scenario::apply_sets(&mut self.doc, &[(path.into(), value.into())])?;
        Ok(self)
    }

    /// Writes what each queue sends and drops to a file `NAME.pcapng` in `folder`, for Wireshark: IPv4 with UDP, and the
    /// payloads of the program's datagrams. A mark or a drop, with its reason, is the packet's comment. Packets of the cross
    /// traffic have headers alone.
    ///
    /// # Errors
    /// If the network has started.
    pub fn capture(mut self, folder: impl AsRef<Path>) -> Result<Network, Error> {
        self.must_not_run("capture packets")?;
        self.captures = Some(folder.as_ref().into());
        Ok(self)
    }

    /// Attaches two hosts of the network to each other; the two ends, `host`'s first. What one sends reaches the other. A
    /// host with several peers has an end for each.
    ///
    /// # Errors
    /// If the scenario is wrong, there is no such host or no way between them, or the network has started.
    pub fn attach(&mut self, host: &str, peer: &str) -> Result<(Host, Host), Error> {
        self.must_not_run("attach hosts")?;
        let before = self.doc.clone();
        for (from, to) in [(host, peer), (peer, host)] {
            let entry = [
                ("kind", Doc::String("outside".into())),
                ("name", Doc::String(self.entry_name(from, to))),
                ("from", Doc::String(from.into())),
                ("to", Doc::String(to.into())),
                ("header", Doc::Integer(self.overhead.into())),
            ];
            let entry = Doc::Table(entry.map(|(key, value)| (key.to_string(), value)).into());
            let has_traffic = self.doc.get("traffic").is_some();
            if let (false, Doc::Table(keys)) = (has_traffic, &mut self.doc) {
                keys.push(("traffic".into(), Doc::Array(Vec::new())));
            }
            if let Some(Doc::Array(entries)) = self.doc.get_mut("traffic") {
                entries.push(entry);
            }
        }
        if let Err(error) = self.check() {
            self.doc = before;
            return Err(error);
        }
        let first = self.ends.len() as u32;
        for (host, peer) in [(host, peer), (peer, host)] {
            let (host, peer) = (host.to_string(), peer.to_string());
            self.ends.push(End { host, peer, flow: u32::MAX, inbox: VecDeque::new(), counts: Counts::default() });
        }
        Ok((Host(first), Host(first + 1)))
    }

    /// The name of the traffic entry of one way; a second pair of the same hosts has a number.
    fn entry_name(&self, from: &str, to: &str) -> String {
        let same = self.ends.iter().filter(|end| end.host == from && end.peer == to).count();
        let number = if same == 0 { String::new() } else { format!(" {}", same + 1) };
        format!("{from} to {to}{number}")
    }

    /// The name of the traffic entry of what a host sends.
    pub(crate) fn entry_of(&self, host: Host) -> String {
        let end = &self.ends[host.index()];
        let same = |other: &&End| other.host == end.host && other.peer == end.peer;
        let number = match self.ends[..host.index()].iter().filter(same).count() {
            0 => String::new(),
            before => format!(" {}", before + 1),
        };
        format!("{} to {}{number}", end.host, end.peer)
    }

    fn check(&self) -> Result<Scenario, Error> {
        Ok(scenario::check(&self.doc, self.file.as_deref())?)
    }

    fn must_not_run(&self, what: &str) -> Result<(), Error> {
        match &self.running {
            None => Ok(()),
            Some(running) => Err(Error::call(format!(
                "{what} before the network starts; it has started, and is at {} s",
                running.now
            ))),
        }
    }

    /// Starts the network, unless it has started.
    pub(crate) fn start(&mut self) -> Result<(), Error> {
        if self.running.is_some() {
            return Ok(());
        }
        if self.ends.is_empty() {
            return Err(Error::call("attach hosts before the network starts"));
        }
        let scenario = self.check()?;
        let seed = self.seed.unwrap_or(scenario.seed);
        let mut simulation = Simulation::new(&scenario, seed, Links::Stepped)?;
        let flows = scenario.flows() as usize;
        let (mut receivers, mut senders) = (vec![None; flows], vec![None; flows]);
        // The entries of attached hosts are the last ones, in the order of the ends.
        let first = flows - self.ends.len();
        debug_assert!(scenario
            .traffic
            .iter()
            .rev()
            .take(self.ends.len())
            .all(|one| matches!(one.load, Load::Outside(_))));
        for (index, end) in self.ends.iter_mut().enumerate() {
            end.flow = (first + index) as u32;
            senders[first + index] = Some(Host(index as u32));
            receivers[first + index] = Some(Host(index as u32 ^ 1));
        }
        let captures = match &self.captures {
            None => None,
            Some(folder) => Some(Captures::new(folder, &mut simulation, seed)?),
        };
        self.running = Some(Running { simulation, now: 0.0, receivers, senders, captures, fault: None });
        Ok(())
    }

    fn running(&mut self) -> Result<&mut Running, Error> {
        self.start()?;
        self.running.as_mut().ok_or_else(|| Error::call("the network has not started"))
    }

    /// The present time, s.
    pub fn now(&self) -> f64 {
        self.running.as_ref().map_or(0.0, |running| running.now)
    }

    /// The end of the network, s.
    pub(crate) fn end(&mut self) -> Result<f64, Error> {
        Ok(self.running()?.simulation.scenario().duration)
    }

    /// Number of ends.
    pub(crate) fn hosts(&self) -> usize {
        self.ends.len()
    }

    /// The name of a host.
    pub fn name(&self, host: Host) -> &str {
        self.ends.get(host.index()).map_or("", |end| &end.host)
    }

    fn flow(&self, host: Host) -> Result<u32, Error> {
        let end = self.ends.get(host.index());
        end.map(|end| end.flow).ok_or_else(|| Error::call("a host of another network"))
    }

    /// A host sends a datagram to its peer now. On the wire it has [`overhead`](Self::overhead) bytes more.
    ///
    /// # Errors
    /// If it is larger than an IP packet, or the network has ended.
    pub fn send(&mut self, host: Host, payload: impl Into<Vec<u8>>, ecn: Ecn) -> Result<(), Error> {
        self.start()?;
        let (flow, payload) = (self.flow(host)?, payload.into());
        let running = self.running()?;
        let header = running.simulation.outside_header(flow).unwrap_or(0) as usize;
        if payload.len() + header > usize::from(u16::MAX) || payload.len() + header == 0 {
            return Err(Error::call(format!(
                "a datagram of {} B; allowed {} to {} B beside its overhead of {header} B",
                payload.len(),
                usize::from(header == 0),
                usize::from(u16::MAX) - header,
            )));
        }
        running.must_not_be_over()?;
        running.simulation.send_from_outside(flow, payload, ecn, running.now);
        Ok(())
    }

    /// The time of the next event of the network, s: the first at which something can change if no host sends. `None`
    /// if there is none before the end.
    ///
    /// # Errors
    /// If the network cannot start.
    pub fn next_event(&mut self) -> Result<Option<f64>, Error> {
        Ok(self.running()?.simulation.next_time())
    }

    /// Runs the network up to `time`, s, with all that happens at that time. What arrives waits for [`poll`](Self::poll).
    ///
    /// # Errors
    /// If `time` is before the present, or after the end of the network.
    pub fn advance_to(&mut self, time: f64) -> Result<(), Error> {
        self.start()?;
        self.must_be_ahead(time)?;
        while let Some((host, event)) = self.next_of(time) {
            if let Event::Arrival(delivery) = event {
                self.keep(host, delivery);
            }
        }
        let running = self.running()?;
        running.now = time;
        running.fault.take().map_or(Ok(()), Err)
    }

    /// The next datagram that has arrived at a host.
    pub fn poll(&mut self, host: Host) -> Option<Delivery> {
        self.ends.get_mut(host.index())?.inbox.pop_front()
    }

    /// What has arrived waits for [`poll`](Self::poll).
    pub(crate) fn keep(&mut self, host: Host, delivery: Delivery) {
        self.ends[host.index()].inbox.push_back(delivery);
    }

    /// Refuses a time to which the network cannot go.
    ///
    /// # Errors
    /// If it is over, or after the end.
    pub fn must_be_ahead(&mut self, time: f64) -> Result<(), Error> {
        let running = self.running()?;
        let (now, end) = (running.now, running.simulation.scenario().duration);
        if (now..=end).contains(&time) {
            return Ok(());
        }
        Err(Error::call(format!(
            "time {time} s; allowed from the present, {now} s, to the end of the network, {end} s"
        )))
    }

    /// What the stack at a host has counted since the start.
    pub fn count(&mut self, host: Host, counts: Counts) {
        let (end, Some(running)) = (host.index(), &mut self.running) else { return };
        let before = std::mem::replace(&mut self.ends[end].counts, counts);
        let more = |now: u64, before: u64| now.saturating_sub(before);
        let retransmits = more(counts.retransmits, before.retransmits) as u32;
        let timeouts = more(counts.timeouts, before.timeouts) as u32;
        // It receives what its peer sends.
        let (own, peers) = (self.ends[end].flow, self.ends[end ^ 1].flow);
        if let Some(delivered) = counts.delivered {
            let delivered = Some(more(delivered, before.delivered.unwrap_or(0)));
            running.simulation.tell_outside(peers, Told { delivered, ..Told::default() }, running.now);
        }
        running.simulation.tell_outside(own, Told { delivered: None, retransmits, timeouts }, running.now);
    }

    /// Tells the end at a host at `time`, s; infinity cancels it.
    pub(crate) fn wake(&mut self, host: Host, time: f64) {
        let flow = self.ends[host.index()].flow;
        if let Some(running) = &mut self.running {
            running.simulation.wake_outside(flow, time, running.now);
        }
    }

    /// Runs the network until something concerns a host, up to and at `until`, s.
    pub(crate) fn next_of(&mut self, until: f64) -> Option<(Host, Event)> {
        let running = self.running.as_mut()?;
        loop {
            let happening = running.step(until.next_up());
            let Some(happening) = happening else {
                running.now = running.now.max(until.min(running.simulation.scenario().duration));
                return None;
            };
            running.now = running.simulation.now();
            match happening {
                Happening::Timer(flow, _) => {
                    if let Some(host) = running.senders[flow as usize] {
                        return Some((host, Event::Timer));
                    }
                }
                Happening::Delivered(engine::Delivery { flow, number, sent, at, ecn, payload }) => {
                    if let Some(host) = running.receivers[flow as usize] {
                        return Some((host, Event::Arrival(Delivery { at, sent, number, ecn, payload })));
                    }
                }
            }
        }
    }

    /// A digest of what became of each datagram, in the order of the ends: its flow and number, when it was sent and when
    /// it ended, its size on the wire, its ECN field at both times, whether it was delivered, dropped or lost. Payloads are
    /// not in it, as encrypted ones differ in each run. Two runs with the same digest had the same traffic.
    ///
    /// # Errors
    /// If the network cannot start.
    pub fn digest(&mut self) -> Result<u64, Error> {
        Ok(self.running()?.simulation.outside_digest())
    }

    /// The digest starts anew: of a stack whose handshake has random sizes, what comes after it can still be compared.
    ///
    /// # Errors
    /// If the network cannot start.
    pub fn restart_digest(&mut self) -> Result<(), Error> {
        self.running()?.simulation.restart_outside_digest();
        Ok(())
    }

    /// The simulation under the network, to look at queues during the run.
    ///
    /// # Errors
    /// If the network cannot start.
    pub fn simulation(&mut self) -> Result<&mut Simulation, Error> {
        Ok(&mut self.running()?.simulation)
    }

    /// Ends the network now, and returns what was measured from the end of the warmup until now.
    ///
    /// # Errors
    /// If the warmup is not over, or a capture cannot be written.
    pub fn finish(mut self) -> Result<Finished, Error> {
        let running = self.running()?;
        running.fault.take().map_or(Ok(()), Err)?;
        if running.now == 0.0 {
            return Err(Error::call("finish the network after time 0: nothing has happened"));
        }
        running.simulation.end_at(running.now)?;
        let digest = running.simulation.outside_digest();
        let Some(Running { simulation, captures, .. }) = self.running.take() else {
            return Err(Error::call("the network has not started"));
        };
        if let Some(captures) = captures {
            captures.finish()?;
        }
        let scenario = simulation.scenario().to_json();
        Ok(Finished { document: simulation.finish(0.0), scenario, digest })
    }
}

/// Longest time that a network runs before its captures are written, s: so that little is kept.
const SLICE: f64 = 1e-3;

impl Running {
    fn must_not_be_over(&self) -> Result<(), Error> {
        let end = self.simulation.scenario().duration;
        if self.now < end {
            return Ok(());
        }
        Err(Error::call(format!("send before the end of the network, at {end} s")))
    }

    /// Runs the network before `time` until something happens; writes captures.
    fn step(&mut self, time: f64) -> Option<Happening> {
        if self.captures.is_none() {
            return self.simulation.run_to_happening(time);
        }
        loop {
            let slice = (self.simulation.now() + SLICE).min(time);
            let happening = self.simulation.run_to_happening(slice);
            if let Some(captures) = &mut self.captures {
                if let Err(error) = captures.take(&mut self.simulation) {
                    self.fault.get_or_insert(error);
                }
            }
            if happening.is_some() || slice >= time || self.simulation.now() >= self.simulation.scenario().duration {
                return happening;
            }
        }
    }
}

impl Finished {
    /// Writes `result.json` and `scenario.json` into `folder`, which `earlydrop report` makes a page of. The folder is made
    /// if it is not there.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        let folder = folder.as_ref();
        let fail = |path: &Path| {
            let path = path.display().to_string();
            move |error| Error::File(path, error)
        };
        std::fs::create_dir_all(folder).map_err(fail(folder))?;
        for (name, value) in [("result.json", &self.document), ("scenario.json", &self.scenario)] {
            let path = folder.join(name);
            let part = folder.join(format!("{name}.part"));
            // A file of this name is whole.
            std::fs::write(&part, format!("{value:#}\n")).map_err(fail(&part))?;
            std::fs::rename(&part, &path).map_err(fail(&path))?;
        }
        Ok(())
    }
}
