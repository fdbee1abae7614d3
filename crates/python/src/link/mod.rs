//! Real links: a checked scenario's bottleneck between network namespaces. Documents are in `document`, records and
//! their replay in `record`.

pub mod capture;
mod descriptor;
pub mod document;
pub mod record;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child as Process, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use earlydrop_aqm::catalogue::{self, Built, Link as LinkOf};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::link_layer::LinkLayer;
use earlydrop_aqm::params::Values;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;
use earlydrop_link::block::Block;
use earlydrop_link::link::{End, Failure, Link, SetUp};
use earlydrop_link::one_way::{Change, OneWaySpec};
use earlydrop_link::run::{RealTime, Settings};
use earlydrop_link::sys::{self, RunAs};
use earlydrop_sim::run;
use earlydrop_sim::scenario::control::{self, Controlled};
use earlydrop_sim::scenario::{PortAt, Scenario, ScenarioError};
use earlydrop_sim::topology::{Direction, Graph, Rate};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{json, Value};

/// Limit of a queue that stands for an unlimited buffer, packets.
const UNLIMITED: u64 = 1_000_000;

/// One direction of the link that a scenario describes.
struct Way {
    /// Name of the queue in results.
    name: String,
    aqm: String,
    link: LinkOf,
    queue: Box<dyn Discipline>,
    medium: Option<earlydrop_net::medium::Medium>,
}

/// The number of the link with the queue called `name`, or of the link of that name: a direction with an unlimited
/// buffer has no queue.
fn link_called(name: &str, graph: &Graph, ports: &[PortAt]) -> Result<u32, ScenarioError> {
    let port = ports.iter().find(|port| port.name == name).map(|port| port.link);
    port.or_else(|| graph.links().find(|(_, direction, ..)| direction.name == name).map(|(link, ..)| link)).ok_or_else(
        || {
            let names = ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
            ScenarioError::new("queue", "has no such queue").given(name.to_string()).allowed(names)
        },
    )
}

/// Both directions of the link with the queue or the name `queue`, that one first.
fn ways(scenario: &Scenario, seed: u64, queue: &str) -> Result<[Way; 2], ScenarioError> {
    let graph = scenario.topology.graph(seed).into_owned().drawn(seed);
    let ports = scenario.ports(&graph);
    let link = link_called(queue, &graph, &ports)?;
    let way = |number: u32, direction: &Direction| -> Result<Way, ScenarioError> {
        let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
        let port = ports.iter().find(|port| port.link == number);
        let (name, aqm, queue) = match port {
            Some(port) => {
                let spec = &scenario.queues[port.queue];
                let queue =
                    run::port_kind(&port.name, spec, &link, LinkLayer::Ip, &|stream| Generator::stream(seed, stream))?
                        .into_discipline();
                (port.name.clone(), spec.spec.spec.name, queue)
            }
            None => (direction.name.clone(), "droptail", unlimited_queue(&link)?),
        };
        let medium = direction.link.medium(&direction.name, seed);
        Ok(Way { name, aqm: aqm.to_string(), link, queue, medium })
    };
    let (there, ..) = graph.link(link).ok_or_else(|| ScenarioError::new("queue", "is at no link"))?;
    let there = way(link, there)?;
    let back = match graph.link(link ^ 1) {
        Some((direction, ..)) => way(link ^ 1, direction)?,
        None => Err(ScenarioError::new("topology", "has no link back")
            .given(queue.to_string())
            .allowed("a link both ways"))?,
    };
    Ok([there, back])
}

/// Both directions of the link with the number `link`, that one first, for changes while it runs.
fn controlled(
    scenario: &Scenario,
    graph: &Graph,
    ports: &[PortAt],
    link: u32,
) -> Result<[Controlled; 2], ScenarioError> {
    let way = |number: u32| {
        let (direction, ..) = graph.link(number).ok_or_else(|| ScenarioError::new("queue", "has no such link"))?;
        let port = ports.iter().find(|port| port.link == number);
        let rate_bps = match direction.link.rate {
            Rate::Constant(rate) => Some(rate),
            _ => None,
        };
        let link = LinkOf { rate_bps: direction.link.rate.nominal(), delay_s: direction.link.mean_delay() };
        let queue = port.map(|port| scenario.queues[port.queue].spec.clone());
        Ok(Controlled { rate_bps, delay_s: link.delay_s, queue, link })
    };
    Ok([way(link)?, way(link ^ 1)?])
}

/// A queue that drops nothing in practice.
fn unlimited_queue(link: &LinkOf) -> Result<Box<dyn Discipline>, ScenarioError> {
    let limit = Limit::Packets(UNLIMITED);
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
        // OSError chooses its subclass by the number, such as PermissionError.
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

/// A link in operation.
#[pyclass(frozen, module = "earlydrop._core", name = "Link")]
pub struct PyLink {
    link: Mutex<Option<Link>>,
    about: [(String, String); 2],
    scenario: String,
    seed: u64,
    start: Instant,
    /// Both directions as they are now.
    now: Mutex<[Controlled; 2]>,
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
    /// Sets up the scenario's link with the queue or the name `queue`. `delays`: one way and back, s. `ends`: two namespaces
    /// or devices to join, instead of a new namespace behind the link. `nat`: commands there reach what this machine
    /// reaches; `resolv_conf`: text of their `/etc/resolv.conf`. `real_time`: None where it is allowed.
    #[staticmethod]
    #[pyo3(signature = (scenario, queue, seed, delays, mtu, ring, sysctls, nat, resolv_conf, real_time, series, record, keep_headers, ends=None))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        scenario: &crate::scenario::Scenario,
        queue: &str,
        seed: u64,
        delays: (f64, f64),
        mtu: u32,
        ring: u32,
        sysctls: Vec<(String, String)>,
        nat: bool,
        resolv_conf: Option<String>,
        real_time: Option<bool>,
        series: Option<f64>,
        record: usize,
        keep_headers: bool,
        ends: Option<(String, String)>,
    ) -> PyResult<Self> {
        let real_time = match real_time {
            None => RealTime::Allowed,
            Some(true) => RealTime::On,
            Some(false) => RealTime::Off,
        };
        let [there, back] = ways(&scenario.checked, seed, queue).map_err(crate::errors::raise)?;
        let about = [&there, &back].map(|way| (way.name.clone(), way.aqm.clone()));
        let spec = |way: Way, delay_s: f64| OneWaySpec {
            queue: way.queue,
            rate_bps: way.link.rate_bps,
            delay_s,
            medium: way.medium,
        };
        let (there, back) = (spec(there, delays.0), spec(back, delays.1));
        let set_up = SetUp { mtu, ring, sysctls, nat, resolv_conf };
        let settings = Settings { real_time, series, record, keep_headers };
        let graph = scenario.checked.topology.graph(seed).into_owned().drawn(seed);
        let ports = scenario.checked.ports(&graph);
        let link = link_called(queue, &graph, &ports).map_err(crate::errors::raise)?;
        let mut now = controlled(&scenario.checked, &graph, &ports, link).map_err(crate::errors::raise)?;
        (now[0].delay_s, now[1].delay_s) = delays;
        let link = py
            .detach(|| match &ends {
                None => Link::open(&set_up, there, back, &settings),
                Some((first, second)) => Link::join([end(first), end(second)], &set_up, there, back, &settings),
            })
            .map_err(failed)?;
        let scenario = scenario.checked.name.clone();
        Ok(PyLink { link: Mutex::new(Some(link)), about, scenario, seed, start: Instant::now(), now: Mutex::new(now) })
    }

    /// Changes the link as a line says; returns when, in seconds since it started.
    fn change(&self, py: Python<'_>, line: &str) -> PyResult<f64> {
        let made = py.detach(|| {
            // One change at a time: each is read as of the one before.
            let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            let (changes, next) = match control::changes(line, &now) {
                Ok(changes) => changes,
                Err(error) => return Ok(Err(error)),
            };
            let changes = changes.map(|change| {
                let control::Change { rate_bps, delay_s, policy } = change;
                Change { rate_bps, delay_s, policy }
            });
            self.with(|link| link.running().change(changes)).map(|time| {
                time.map(|time| time.map(|time| time.seconds()))
                    .map_err(|_| ScenarioError::new("", "the link has ended"))
                    .and_then(|time| time.ok_or_else(|| ScenarioError::new("queue", "cannot change so while it runs")))
                    .inspect(|_| *now = next)
            })
        })?;
        made.map_err(crate::errors::raise)
    }

    /// Rate, delay and the parameters that can change of both directions, as they are now, as JSON.
    fn shown(&self) -> String {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        json!({ "sent": now[0].shown(), "received": now[1].shown() }).to_string()
    }

    /// Addresses in front of the link and behind it, IPv4 then IPv6; None if it joins two devices.
    fn addresses(&self) -> PyResult<Option<(Vec<String>, Vec<String>)>> {
        let texts = |ends: [(std::net::IpAddr, u8); 2]| ends.map(|(address, _)| address.to_string()).to_vec();
        self.with(|link| link.block().map(|block: Block| (texts(block.outer()), texts(block.inner()))))
    }

    /// Inode number of the namespace behind the link.
    fn namespace(&self) -> PyResult<Option<u64>> {
        self.with(Link::namespace)
    }

    /// Name of the device in front of the link.
    fn device(&self) -> PyResult<Option<String>> {
        self.with(|link| link.outer_device().map(str::to_string))
    }

    /// Seconds since the link started.
    fn time(&self) -> PyResult<f64> {
        self.with(|link| link.running().time())
    }

    /// Whether the loop has real-time priority.
    fn real_time(&self) -> PyResult<bool> {
        self.with(|link| link.running().real_time())
    }

    /// Whether the loop still runs.
    fn is_alive(&self) -> bool {
        self.lock().as_ref().is_some_and(|link| link.running().is_alive())
    }

    /// Starts a command behind the link. `files`: descriptors of its standard input, output and error; None for this
    /// program's. `user`: user, group, supplementary groups.
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
        // The thread that starts it has a working directory of its own.
        if let Some(cwd) = cwd.or_else(|| std::env::current_dir().ok()) {
            command.current_dir(cwd);
        }
        for (number, file) in [files.0, files.1, files.2].into_iter().enumerate() {
            let Some(fd) = file else { continue };
            let stdio = Stdio::from(descriptor::duplicate(fd)?);
            match number {
                0 => command.stdin(stdio),
                1 => command.stdout(stdio),
                _ => command.stderr(stdio),
            };
        }
        let run_as = user.map(|(uid, gid, groups)| RunAs { uid, gid, groups });
        let started = py.detach(|| self.with(|link| link.spawn(command, run_as)))?.map_err(|error| {
            match error.raw_os_error() {
                // As `subprocess` does: the number, and its text without it.
                Some(number) => {
                    let text = error.to_string();
                    let text = text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text);
                    PyOSError::new_err((number, text.to_string()))
                }
                None => error.into(),
            }
        })?;
        Ok(Child { pid: started.id(), process: Mutex::new(started) })
    }

    /// The state of both directions, as JSON; None before the first one is taken.
    fn view(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let (views, overruns) = py.detach(|| self.with(|link| (link.view(), link.overruns())))?;
        Ok(views.map(|views| {
            let of_both = self.about.iter().zip(views.iter().zip(overruns));
            let entries =
                of_both.map(|((name, aqm), (view, overruns))| (name.clone(), document::view(aqm, view, overruns)));
            Value::Object(entries.collect()).to_string()
        }))
    }

    /// Starts a new measured window.
    fn restart(&self) -> PyResult<()> {
        self.with(Link::restart)
    }

    /// Stops the link, waiting for queued packets and packets in flight for `patience` seconds at most. Returns the
    /// result document as JSON, and by queue the recorded arrivals as columns of bytes.
    fn stop<'py>(&self, py: Python<'py>, patience: f64) -> PyResult<(String, Bound<'py, PyDict>)> {
        let link = self.lock().take().ok_or_else(|| PyRuntimeError::new_err("the link has been stopped"))?;
        let outcome = py.detach(|| link.stop(Duration::from_secs_f64(patience))).map_err(failed)?;
        let records = PyDict::new(py);
        for ((name, _), path) in self.about.iter().zip(&outcome.paths) {
            if let Some(record) = &path.record {
                records.set_item(name, record::columns(py, record)?)?;
            }
        }
        Ok((document::document(self, &outcome).to_string(), records))
    }
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

    /// Waits `timeout` seconds at most. Returns its exit code, or minus the signal that ended it; None if it still
    /// runs.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<i32>> {
        let status = py.detach(|| {
            let start = Instant::now();
            let mut pause = Duration::from_micros(200);
            loop {
                let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(status) = process.try_wait()? {
                    return Ok::<_, std::io::Error>(Some(status));
                }
                drop(process);
                if start.elapsed().as_secs_f64() >= timeout {
                    return Ok(None);
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
        })?;
        Ok(status.and_then(|status| status.code().or(status.signal().map(|signal| -signal))))
    }
}

/// Switches off the forwarding that killed links have left on; returns the number of devices.
#[pyfunction]
pub fn sweep_links(py: Python<'_>) -> PyResult<usize> {
    Ok(py.detach(earlydrop_link::nat::sweep)?)
}

/// Whether this machine forwards IPv6.
#[pyfunction]
pub fn forwards_ipv6() -> bool {
    earlydrop_link::nat::forwards_ipv6()
}

/// Whether this kernel has TUN devices.
#[pyfunction]
pub fn has_tun() -> bool {
    sys::has_tun()
}
