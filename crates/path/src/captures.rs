//! A packet capture for each queue.

use crate::error::Error;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::Packet;
use earlydrop_sim::capture::{address, Capture, Ip};
use earlydrop_sim::engine::packet_log::{Kind, PacketEvent};
use earlydrop_sim::engine::trace::Signal;
use earlydrop_sim::run;
use earlydrop_sim::scenario::Traffic;
use earlydrop_sim::simulation::Simulation;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

/// Events of a queue that are kept between two steps.
const KEPT: usize = 1 << 18;
/// The port of all datagrams.
const PORT: u16 = 10_000;

/// The captures of all queues.
pub struct Captures {
    queues: Vec<Queue>,
}

/// A queue whose packets are captured.
struct Queue {
    name: String,
    path: PathBuf,
    capture: Capture<BufWriter<File>>,
    /// By flow: the nodes of its sender and receiver, and whether its ACKs pass the queue, not its data.
    ends: Vec<(u32, u32, bool)>,
    /// By flow.
    dscps: Vec<u8>,
    /// Packets that were marked on arrival and wait.
    marked: BTreeSet<(u64, u32, u64)>,
}

/// What tells a packet in a queue from all others there.
fn key(packet: &Packet) -> (u64, u32, u64) {
    (packet.flow, packet.tag, packet.note)
}

impl Captures {
    /// Captures of all queues of a simulation that has not begun, in files of a folder, which is made.
    pub fn new(folder: &Path, simulation: &mut Simulation, seed: u64) -> Result<Captures, Error> {
        let fail = |path: &Path, error| Error::File(path.display().to_string(), error);
        std::fs::create_dir_all(folder).map_err(|error| fail(folder, error))?;
        let names: Vec<String> = simulation.queues().map(str::to_string).collect();
        let class = |one: &Traffic| std::iter::repeat_n(one.dscp.unwrap_or(one.class << 3), one.flows() as usize);
        let dscps: Vec<u8> = simulation.scenario().traffic.iter().flat_map(class).collect();
        let mut queues = Vec::new();
        for (number, name) in names.into_iter().enumerate() {
            let path = folder.join(format!("{}.pcapng", file_name(&name, number)));
            let file = File::create(part(&path)).map_err(|error| fail(&path, error))?;
            let capture = Capture::new(BufWriter::new(file), &[&name]).map_err(|error| fail(&path, error))?;
            simulation.watch(&name, KEPT);
            let ends = run::passing(simulation.scenario(), seed, &name).map_or(Vec::new(), |passing| passing.flows);
            queues.push(Queue { name, path, capture, ends, dscps: dscps.clone(), marked: BTreeSet::new() });
        }
        simulation.keep_outside();
        Ok(Captures { queues })
    }

    /// Writes what the queues have done since the last call.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        for queue in &mut self.queues {
            let Some(log) = simulation.packets(&queue.name) else { continue };
            let (missed, events) = log.drain();
            let events: Vec<PacketEvent> = events.collect();
            if missed > 0 {
                return Err(Error::call(format!("queue {} has more than {KEPT} packet events in a step", queue.name)));
            }
            for event in &events {
                queue.write(event, simulation).map_err(|error| Error::File(queue.path.display().to_string(), error))?;
            }
        }
        simulation.settle_outside();
        Ok(())
    }

    /// Ends the captures.
    pub fn finish(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        for Queue { path, capture, .. } in self.queues.drain(..) {
            let whole = capture.finish().and_then(|_| std::fs::rename(part(&path), &path));
            whole.map_err(|error| Error::File(path.display().to_string(), error))?;
        }
        Ok(())
    }
}

/// A test that fails before the end leaves its captures too.
impl Drop for Captures {
    fn drop(&mut self) {
        // Nobody can be told of an error here.
        let _ = self.end();
    }
}

/// The name of a file that is not whole yet.
fn part(path: &Path) -> PathBuf {
    path.with_extension("pcapng.part")
}

/// A queue's name as that of a file.
fn file_name(name: &str, number: usize) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match name.chars().all(plain) && !name.starts_with('.') {
        true => name.to_string(),
        false => format!("{}-{number}", name.replace(|c: char| !plain(c), "_").trim_start_matches('.')),
    }
}

impl Queue {
    /// Writes a departure or a drop.
    fn write(&mut self, event: &PacketEvent, simulation: &Simulation) -> std::io::Result<()> {
        let signal = match event.kind {
            // It has another event when it leaves.
            Kind::Passed => return Ok(()),
            Kind::Marked => {
                self.marked.insert(key(&event.packet));
                return Ok(());
            }
            Kind::Early => Some(Signal::Dropped(Reason::Early)),
            Kind::Forced => Some(Signal::Dropped(Reason::Forced)),
            Kind::Overflow => Some(Signal::Dropped(Reason::Overflow)),
            Kind::DepartedMarked => Some(Signal::MarkedInQueue),
            Kind::Departed => None,
        };
        let marked = self.marked.remove(&key(&event.packet));
        let comment = signal.or(marked.then_some(Signal::MarkedOnArrival)).map(Signal::text);
        let Some(&(mut source, mut destination, acks)) = self.ends.get(event.flow as usize - 1) else { return Ok(()) };
        if acks {
            (source, destination) = (destination, source);
        }
        let [source, destination] = [source, destination].map(|node| SocketAddrV4::new(address(node + 1), PORT));
        let (number, payload) = simulation.payload_outside(&event.packet).unwrap_or((0, &[]));
        let dscp = self.dscps[event.flow as usize - 1];
        let ecn = event.packet.ecn as u8;
        let ip = Ip { source, destination, identification: number as u16, dscp, ecn, ttl: event.packet.ttl };
        let length = event.size.max(Ip::UDP);
        let kept = &payload[..payload.len().min((length - Ip::UDP) as usize)];
        self.capture.packet(0, event.time, &ip.udp(kept, length)?, length, comment)
    }
}
