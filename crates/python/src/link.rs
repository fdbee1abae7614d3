//! A real link: a checked scenario's bottleneck between network namespaces, and its record run through the simulator.

use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child as Process, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use earlydrop_aqm::catalogue::{self, Built, Link as LinkOf};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::{Counters, Gate};
use earlydrop_aqm::params::Values;
use earlydrop_aqm::policy::{Limit, Reason};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Packet, Time};
use earlydrop_link::block::Block;
use earlydrop_link::flows::Flow;
use earlydrop_link::link::{End, Failure, Link, Outcome, SetUp};
use earlydrop_link::path::PathSpec;
use earlydrop_link::record::Record;
use earlydrop_link::run::{PathOutcome, Series, Settings, View};
use earlydrop_link::sys::{self, RunAs};
use earlydrop_net::measure::{coefficient_of_variation, jain};
use earlydrop_net::record::Fate;
use earlydrop_sim::result;
use earlydrop_sim::scenario::{Scenario, ScenarioError};
use earlydrop_sim::topology::Direction;
use earlydrop_sim::{replay, run};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{json, Map, Value};

/// Room of a queue that a scenario says has room for everything.
const ROOM_FOR_ALL: u64 = 1_000_000;

/// One direction of the link that a scenario describes.
struct Way {
    /// Name of the queue in results.
    name: String,
    aqm: String,
    link: LinkOf,
    queue: Box<dyn Discipline>,
    medium: Option<earlydrop_net::medium::Medium>,
}

/// Both directions of the link with the queue called `queue`.
fn ways(scenario: &Scenario, seed: u64, queue: &str) -> Result<[Way; 2], ScenarioError> {
    let graph = scenario.topology.graph(seed).into_owned().drawn(seed);
    let ports = scenario.ports(&graph);
    let names = || ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
    let port = ports
        .iter()
        .find(|port| port.name == queue)
        .ok_or_else(|| ScenarioError::new("queue", "has no such queue").given(queue.to_string()).allowed(names()))?;
    let way = |number: u32, direction: &Direction| -> Result<Way, ScenarioError> {
        let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
        let port = ports.iter().find(|port| port.link == number);
        let (name, aqm, queue) = match port {
            Some(port) => {
                let spec = &scenario.queues[port.queue];
                let queue = run::port_kind(&port.name, spec, &link, seed)?.into_discipline();
                (port.name.clone(), spec.spec.spec.name, queue)
            }
            None => (direction.name.clone(), "droptail", room_for_all(&link)?),
        };
        let medium = direction.link.medium(&direction.name, seed);
        Ok(Way { name, aqm: aqm.to_string(), link, queue, medium })
    };
    let (there, ..) = graph.link(port.link).ok_or_else(|| ScenarioError::new("queue", "stands at no link"))?;
    let there = way(port.link, there)?;
    let back = match graph.link(port.link ^ 1) {
        Some((direction, ..)) => way(port.link ^ 1, direction)?,
        None => Err(ScenarioError::new("topology", "has no link back")
            .given(queue.to_string())
            .allowed("a link both ways"))?,
    };
    Ok([there, back])
}

/// A queue that drops nothing in practice.
fn room_for_all(link: &LinkOf) -> Result<Box<dyn Discipline>, ScenarioError> {
    let limit = Limit::Packets(ROOM_FOR_ALL);
    let unknown = || ScenarioError::new("queue", "cannot be built");
    let spec = catalogue::find("droptail").ok_or_else(unknown)?;
    match (spec.build)(&Values::new(), link, limit) {
        Ok(Built::Policy(policy)) => Ok(Box::new(Fifo::new(Gate::new(policy, limit, false, Generator::stream(0, ""))))),
        _ => Err(unknown()),
    }
}

fn failed(failure: Failure) -> PyErr {
    let number = failure.error.raw_os_error();
    let text = failure.to_string();
    match number {
        // OSError chooses its subclass by the number: PermissionError and the like.
        Some(number) => PyOSError::new_err((number, text)),
        None => PyOSError::new_err(text),
    }
}

fn end(text: &str) -> End {
    match text.split_once(':') {
        Some(("dev", name)) => End::Device(name.to_string()),
        Some(("ns", name)) => End::Namespace(name.to_string()),
        _ => End::Namespace(text.to_string()),
    }
}

/// A link at work.
#[pyclass(frozen, module = "earlydrop._core", name = "Link")]
pub struct PyLink {
    link: Mutex<Option<Link>>,
    about: [(String, String); 2],
    scenario: String,
    seed: u64,
    begin: Instant,
}

impl PyLink {
    fn lock(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&Link) -> T) -> PyResult<T> {
        self.lock().as_ref().map(work).ok_or_else(|| PyRuntimeError::new_err("the link has been stopped"))
    }
}

#[pymethods]
impl PyLink {
    /// Sets up the link that `scenario` has with the queue called `queue`. `delays`: one way and back, s. `ends`: two
    /// namespaces or devices to join, instead of a new namespace behind the link.
    #[staticmethod]
    #[pyo3(signature = (scenario, queue, seed, delays, mtu, ring, sysctls, real_time, series, record, ends=None))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        scenario: &crate::Scenario,
        queue: &str,
        seed: u64,
        delays: (f64, f64),
        mtu: u32,
        ring: u32,
        sysctls: Vec<(String, String)>,
        real_time: bool,
        series: Option<f64>,
        record: usize,
        ends: Option<(String, String)>,
    ) -> PyResult<Self> {
        let [there, back] = ways(&scenario.checked, seed, queue).map_err(crate::raise)?;
        let about = [&there, &back].map(|way| (way.name.clone(), way.aqm.clone()));
        let spec = |way: Way, delay_s: f64| PathSpec {
            queue: way.queue,
            rate_bps: way.link.rate_bps,
            delay_s,
            medium: way.medium,
        };
        let (there, back) = (spec(there, delays.0), spec(back, delays.1));
        let set_up = SetUp { mtu, ring, sysctls };
        let settings = Settings { real_time, series, record };
        let link = py
            .detach(|| match &ends {
                None => Link::open(&set_up, there, back, &settings),
                Some((first, second)) => Link::join([end(first), end(second)], &set_up, there, back, &settings),
            })
            .map_err(failed)?;
        let scenario = scenario.checked.name.clone();
        Ok(PyLink { link: Mutex::new(Some(link)), about, scenario, seed, begin: Instant::now() })
    }

    /// Addresses in front of the link and behind it, IPv4 then IPv6; None where it joins two devices.
    fn addresses(&self) -> PyResult<Option<(Vec<String>, Vec<String>)>> {
        let texts = |ends: [(std::net::IpAddr, u8); 2]| ends.map(|(address, _)| address.to_string()).to_vec();
        self.with(|link| link.block().map(|block: Block| (texts(block.outer()), texts(block.inner()))))
    }

    /// Number of the namespace behind the link.
    fn namespace(&self) -> PyResult<Option<u64>> {
        self.with(Link::namespace)
    }

    /// Name of the device in front of it.
    fn device(&self) -> PyResult<Option<String>> {
        self.with(|link| link.outer_device().map(str::to_string))
    }

    /// Seconds since it began.
    fn time(&self) -> PyResult<f64> {
        self.with(|link| link.running().time())
    }

    /// Whether the loop is at work.
    fn is_alive(&self) -> bool {
        self.lock().as_ref().is_some_and(|link| link.running().is_alive())
    }

    /// Starts a command behind the link. `files`: descriptors for its standard input, output and error; None: this
    /// program's. `user`: number, group, further groups.
    #[pyo3(signature = (argv, env=None, cwd=None, files=(None, None, None), user=None))]
    fn spawn(
        &self,
        py: Python<'_>,
        argv: Vec<std::ffi::OsString>,
        env: Option<Vec<(std::ffi::OsString, std::ffi::OsString)>>,
        cwd: Option<std::path::PathBuf>,
        files: (Option<i32>, Option<i32>, Option<i32>),
        user: Option<(u32, u32, Vec<u32>)>,
    ) -> PyResult<Child> {
        let (program, arguments) = argv.split_first().ok_or_else(|| PyValueError::new_err("no command"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(env) = env {
            command.env_clear().envs(env);
        }
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        for (number, file) in [files.0, files.1, files.2].into_iter().enumerate() {
            let Some(fd) = file else { continue };
            let stdio = Stdio::from(copy_of(fd)?);
            match number {
                0 => command.stdin(stdio),
                1 => command.stdout(stdio),
                _ => command.stderr(stdio),
            };
        }
        let run_as = user.map(|(uid, gid, groups)| RunAs { uid, gid, groups });
        let started = py.detach(|| self.with(|link| link.spawn(command, run_as)))?;
        Ok(Child { pid: started.as_ref().map_or(0, Process::id), process: Mutex::new(started?) })
    }

    /// How both directions look, as JSON; None at the very beginning.
    fn view(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let views = py.detach(|| self.with(Link::view))?;
        Ok(views.map(|views| {
            let entries = self.about.iter().zip(&views).map(|((name, aqm), view)| (name.clone(), shown(aqm, view)));
            Value::Object(entries.collect()).to_string()
        }))
    }

    /// Begins to measure anew.
    fn restart(&self) -> PyResult<()> {
        self.with(|link| link.running().restart())
    }

    /// Ends it, waiting for packets under way for `patience` seconds at most. The result document as JSON, and by queue
    /// the recorded arrivals as columns of bytes.
    fn stop<'py>(&self, py: Python<'py>, patience: f64) -> PyResult<(String, Bound<'py, PyDict>)> {
        let link = self.lock().take().ok_or_else(|| PyRuntimeError::new_err("the link has been stopped"))?;
        let outcome = py.detach(|| link.stop(Duration::from_secs_f64(patience))).map_err(failed)?;
        let records = PyDict::new(py);
        for ((name, _), path) in self.about.iter().zip(&outcome.paths) {
            if let Some(record) = &path.record {
                records.set_item(name, columns(py, record)?)?;
            }
        }
        Ok((self.document(&outcome).to_string(), records))
    }
}

/// A descriptor of its own for the same file.
fn copy_of(fd: i32) -> PyResult<std::os::fd::OwnedFd> {
    if fd < 0 {
        return Err(PyValueError::new_err("no file descriptor"));
    }
    // SAFETY: the number came from a Python file object that lives until this call returns; if it does not, the kernel
    // refuses to copy it, or the command gets another file.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(borrowed.try_clone_to_owned()?)
}

/// A command behind a link.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct Child {
    pid: u32,
    process: Mutex<Process>,
}

#[pymethods]
impl Child {
    /// Its process number.
    #[getter]
    fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits `timeout` seconds at most. Its exit code, or minus the signal that ended it; None if it goes on.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<i32>> {
        let status = py.detach(|| {
            let begin = Instant::now();
            let mut pause = Duration::from_micros(200);
            loop {
                let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(status) = process.try_wait()? {
                    return Ok::<_, std::io::Error>(Some(status));
                }
                drop(process);
                if begin.elapsed().as_secs_f64() >= timeout {
                    return Ok(None);
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
        })?;
        Ok(status.and_then(|status| status.code().or(status.signal().map(|signal| -signal))))
    }
}

// ---- documents -----------------------------------------------------------------------------------------------------

impl PyLink {
    fn document(&self, outcome: &Outcome) -> Value {
        let [there, back] = &outcome.paths;
        let width = (there.window.1 - there.window.0).max(f64::MIN_POSITIVE);
        let mut queues = Map::new();
        let mut flows = Vec::new();
        for (at, ((name, aqm), path)) in self.about.iter().zip(&outcome.paths).enumerate() {
            let mut entry = entry(aqm, path, width);
            let device = outcome.devices[at].map(|counts| json!(counts.overruns));
            entry["device_overruns"] = device.unwrap_or(Value::Null);
            queues.insert(name.clone(), entry);
            flows.extend(path.flows.iter().map(|flow| flow_entry(name, flow, width)));
        }
        for (flow, id) in flows.iter_mut().zip(1..) {
            flow["id"] = json!(id);
        }
        let forward = |flow: &&Flow| flow.delivered > 0;
        let rates = || there.flows.iter().filter(forward).map(|flow| mbps(flow.delivered_bytes, width));
        let mut document = json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "version": result::VERSION,
            "kind": "link",
            "duration_s": there.window.1,
            "warmup_s": there.window.0,
            "cost": { "wall_s": self.begin.elapsed().as_secs_f64() },
            "queues": queues,
            "flows": flows,
            "jain": jain(rates()),
            "cov": coefficient_of_variation(rates()),
            "throughput_total_mbps": rates().sum::<f64>(),
        });
        if let (Some(first), Some(second)) = (&there.series, &back.series) {
            let parts = [(&self.about[0].0, first, there), (&self.about[1].0, second, back)];
            document["series"] = series(&parts);
        }
        document
    }
}

fn mbps(bytes: u64, width: f64) -> f64 {
    bytes as f64 * 8.0 / width / 1e6
}

fn entry(aqm: &str, path: &PathOutcome, width: f64) -> Value {
    let mut entry =
        result::queue_entry(aqm, path.rate_bps, width, &path.counters, &path.stats, path.has_average, path.queued);
    let late = |q: f64| path.lateness.value_at_quantile(q) as f64 / 1e3;
    let lateness = (!path.lateness.is_empty()).then(|| {
        json!({
            "mean_us": path.lateness.mean() / 1e3,
            "p50_us": late(0.5), "p90_us": late(0.9), "p99_us": late(0.99), "p999_us": late(0.999),
            "max_us": path.lateness.max() as f64 / 1e3,
        })
    });
    let busy = path.busy.map(|busy| {
        json!({
            "seconds": busy.seconds, "mean_mbps": busy.mean_bps / 1e6,
            "min_mbps": busy.least_bps / 1e6, "max_mbps": busy.most_bps / 1e6,
        })
    });
    let trouble = &path.trouble;
    let kinds = ["empty", "version", "header_length", "truncated_header", "truncated"];
    let malformed: Map<String, Value> =
        kinds.iter().zip(trouble.malformed).map(|(kind, count)| (kind.to_string(), json!(count))).collect();
    let more = json!({
        "rate_mbps": path.rate_bps / 1e6,
        "delivered": path.delivered.0,
        "delivered_bytes": path.delivered.1,
        "delivered_mbps": mbps(path.delivered.1, width),
        "ce_set": path.ce_set,
        "read_in_bursts": path.in_bursts.0,
        "written_in_bursts": path.in_bursts.1,
        "lost": path.lost,
        "in_flight_at_end": path.in_flight,
        "malformed": trouble.all_malformed(),
        "malformed_by_kind": malformed,
        "refused": trouble.refused,
        "lateness": lateness,
        "backlogged": busy,
    });
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    entry
}

fn flow_entry(queue: &str, flow: &Flow, width: f64) -> Value {
    let protocol = flow.endpoints.map(|e| match e.protocol {
        6 => "tcp".to_string(),
        17 => "udp".to_string(),
        1 | 58 => "icmp".to_string(),
        other => format!("protocol {other}"),
    });
    let end = |address: std::net::IpAddr, port: u16| json!({ "address": address.to_string(), "port": port });
    json!({
        "id": 0,
        "kind": protocol.unwrap_or_else(|| "others".to_string()),
        "queue": queue,
        "name": flow.endpoints.map_or_else(|| "others".to_string(), |e| e.to_string()),
        "source": flow.endpoints.map(|e| end(e.source, e.ports.0)),
        "destination": flow.endpoints.map(|e| end(e.destination, e.ports.1)),
        "goodput_mbps": Value::Null,
        "throughput_mbps": mbps(flow.delivered_bytes, width),
        "arrivals": flow.arrivals,
        "arrived_bytes": flow.arrived_bytes,
        "delivered": flow.delivered,
        "delivered_bytes": flow.delivered_bytes,
        "drops": flow.drops,
        "marks": flow.marks,
        "lost": flow.lost,
        "first_s": flow.first,
        "last_s": flow.last,
    })
}

fn series(parts: &[(&String, &Series, &PathOutcome)]) -> Value {
    let rows = parts.iter().map(|(_, series, _)| series.time.len()).min().unwrap_or(0);
    let queues: Map<String, Value> = parts
        .iter()
        .map(|(name, series, path)| {
            let average = if path.has_average { json!(series.average[..rows]) } else { Value::Null };
            let entry = json!({
                "packets": series.packets[..rows], "average": average, "dropped": series.dropped[..rows],
            });
            ((*name).clone(), entry)
        })
        .collect();
    let times = &parts[0].1.time[..rows];
    let interval = if rows > 1 { (times[rows - 1] - times[0]) / (rows - 1) as f64 } else { 0.0 };
    json!({ "interval_s": interval, "time_s": times, "queues": queues, "flows": [] })
}

fn shown(aqm: &str, view: &View) -> Value {
    let Counters { arrivals, departures, departed_bytes, early_drops, forced_drops, overflow_drops, marks, .. } =
        view.counters;
    let gauges: Map<String, Value> =
        view.gauges.iter().map(|&(name, value)| (name.to_string(), json!(value))).collect();
    let flows: Vec<Value> = view
        .flows
        .iter()
        .map(|(number, flow)| {
            json!({
                "number": number,
                "name": flow.endpoints.map_or_else(|| "others".to_string(), |e| e.to_string()),
                "delivered_bytes": flow.delivered_bytes, "drops": flow.drops, "marks": flow.marks,
            })
        })
        .collect();
    json!({
        "aqm": aqm, "time_s": view.time, "packets": view.packets, "bytes": view.bytes, "average": view.average,
        "sojourn_mean_s": view.sojourn_mean, "arrivals": arrivals, "departures": departures,
        "departed_bytes": departed_bytes, "early_drops": early_drops, "forced_drops": forced_drops,
        "overflow_drops": overflow_drops, "marks": marks, "gauges": gauges, "flows": flows,
    })
}

// ---- records -------------------------------------------------------------------------------------------------------

fn bytes<'py, T, const N: usize>(
    py: Python<'py>,
    items: impl Iterator<Item = T>,
    le: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let all: Vec<u8> = items.flat_map(le).collect();
    PyBytes::new(py, &all)
}

/// 0 queued, 1 departed, 2 to 4 dropped: early, forced, overflow.
fn code(fate: &Fate) -> u8 {
    match fate {
        Fate::Queued => 0,
        Fate::Departed { .. } => 1,
        Fate::Dropped { reason: Reason::Early, .. } => 2,
        Fate::Dropped { reason: Reason::Forced, .. } => 3,
        Fate::Dropped { reason: Reason::Overflow, .. } => 4,
    }
}

fn fates<'py>(py: Python<'py>, into: &Bound<'py, PyDict>, fates: &[Fate]) -> PyResult<()> {
    let at = |fate: &Fate| match *fate {
        Fate::Queued => f64::NAN,
        Fate::Departed { at, .. } | Fate::Dropped { at, .. } => at.seconds(),
    };
    let ecn = |fate: &Fate| match *fate {
        Fate::Departed { ecn, .. } => ecn as u8,
        _ => 0,
    };
    into.set_item("fate", bytes(py, fates.iter(), |fate| [code(fate)]))?;
    into.set_item("settled_s", bytes(py, fates.iter(), |fate| at(fate).to_le_bytes()))?;
    into.set_item("ecn_out", bytes(py, fates.iter(), |fate| [ecn(fate)]))
}

/// Arrivals and fates as little-endian columns.
fn columns<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let arrivals = || record.arrivals.iter();
    all.set_item("time_s", bytes(py, arrivals(), |(time, _)| time.seconds().to_le_bytes()))?;
    all.set_item("flow", bytes(py, arrivals(), |(_, packet)| packet.flow.to_le_bytes()))?;
    all.set_item("size", bytes(py, arrivals(), |(_, packet)| packet.size.to_le_bytes()))?;
    all.set_item("ecn", bytes(py, arrivals(), |(_, packet)| [packet.ecn as u8]))?;
    all.set_item("class", bytes(py, arrivals(), |(_, packet)| [packet.class]))?;
    all.set_item("ttl", bytes(py, arrivals(), |(_, packet)| [packet.ttl]))?;
    all.set_item("initial_ttl", bytes(py, arrivals(), |(_, packet)| [packet.initial_ttl]))?;
    fates(py, &all, &record.fates)?;
    Ok(all)
}

/// The same columns of arrivals through the simulator's port with the queue called `queue` of `scenario`, until `until`
/// seconds: what becomes of them there.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn replay_link<'py>(
    py: Python<'py>,
    scenario: &crate::Scenario,
    queue: &str,
    seed: u64,
    reverse: bool,
    until: f64,
    time_s: Vec<f64>,
    flow: Vec<u64>,
    size: Vec<u32>,
    ecn: Vec<u8>,
    class: Vec<u8>,
    ttl: Vec<u8>,
    initial_ttl: Vec<u8>,
) -> PyResult<Bound<'py, PyDict>> {
    let count = time_s.len();
    let lengths = [flow.len(), size.len(), ecn.len(), class.len(), ttl.len(), initial_ttl.len()];
    if lengths.iter().any(|&length| length != count) {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    let sound = time_s.iter().all(|time| time.is_finite() && *time >= 0.0) && time_s.is_sorted();
    if !sound || class.iter().any(|&class| class > 7) || size.iter().any(|&size| size == 0 || size > 65_535) {
        return Err(PyValueError::new_err("times must not fall, classes be 0..7 and sizes 1..65535 B"));
    }
    let arrivals = (0..count)
        .map(|i| {
            let packet = Packet {
                ecn: match ecn[i] & 3 {
                    0 => Ecn::NotEct,
                    1 => Ecn::Ect1,
                    2 => Ecn::Ect0,
                    _ => Ecn::Ce,
                },
                class: class[i],
                ttl: ttl[i],
                initial_ttl: initial_ttl[i],
                ..Packet::new(flow[i], size[i])
            };
            (Time::from_seconds(time_s[i]), packet)
        })
        .collect();
    let outcome = py
        .detach(|| -> Result<_, ScenarioError> {
            let graph = scenario.checked.topology.graph(seed).into_owned().drawn(seed);
            let ports = scenario.checked.ports(&graph);
            let port = ports.iter().find(|port| port.name == queue);
            let number = port.map(|port| port.link).ok_or_else(|| ScenarioError::new("queue", "has no such queue"))?;
            let number = if reverse { number ^ 1 } else { number };
            let port = ports.iter().find(|port| port.link == number);
            let port = port.ok_or_else(|| ScenarioError::new("queue", "has no queue in that direction"))?;
            let (direction, ..) = graph.link(number).ok_or_else(|| ScenarioError::new("queue", "has no such link"))?;
            let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
            let kind = run::port_kind(&port.name, &scenario.checked.queues[port.queue], &link, seed)?;
            let medium = direction.link.medium(&direction.name, seed);
            Ok(replay::replay(kind, &link, medium, arrivals, until))
        })
        .map_err(crate::raise)?;
    let found = PyDict::new(py);
    fates(py, &found, outcome.fates.as_deref().unwrap_or_default())?;
    Ok(found)
}

/// Ends what links that were killed have left; how many processes that was.
#[pyfunction]
pub fn sweep_links(py: Python<'_>) -> PyResult<usize> {
    Ok(py.detach(earlydrop_link::space::sweep)?)
}

/// Whether this kernel has TUN devices.
#[pyfunction]
pub fn has_tun() -> bool {
    sys::has_tun()
}
