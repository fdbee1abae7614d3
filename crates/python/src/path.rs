//! Networks in simulated time for protocol stacks in Python.

use crate::errors::{guarded, raise};
use crate::scenario::Scenario;
use earlydrop_path::{run, Counts, Delivery, Drive, Ecn, Endpoint, Error, Host, Network, Path, Stop, Transmit};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// Simulated time between two looks for a signal, s.
const LOOK: f64 = 0.1;

/// A network in simulated time; hosts are numbers.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct PathNetwork {
    inner: Mutex<Option<Network>>,
    hosts: Mutex<Vec<Host>>,
}

fn raised(error: Error) -> PyErr {
    match error {
        Error::Scenario(error) => raise(error),
        Error::Call(message) => PyValueError::new_err(message),
        Error::File(..) => PyOSError::new_err(error.to_string()),
    }
}

/// What arrives at a host: the arrival, when it was sent, its number, its ECN field, its payload.
type Arrival<'py> = (f64, f64, u32, u8, Bound<'py, PyBytes>);

fn arrival(py: Python<'_>, delivery: Delivery) -> Arrival<'_> {
    let Delivery { at, sent, number, ecn, payload } = delivery;
    (at, sent, number, ecn as u8, PyBytes::new(py, &payload))
}

fn ecn(field: u8) -> PyResult<Ecn> {
    let names = "0 (not ECN-capable), 1 (ECT(1)), 2 (ECT(0)), 3 (CE)";
    let wrong = || PyValueError::new_err(format!("ecn = {field}; allowed {names}"));
    (field <= 3).then(|| Ecn::from_bits(field)).ok_or_else(wrong)
}

#[pymethods]
impl PathNetwork {
    /// Two hosts and one link; the hosts are 0, the client, and 1, the server.
    #[staticmethod]
    #[pyo3(signature = (rate, delay, queue, queue_down, rate_down, ecn, jitter, loss, duration, warmup, series, seed, overhead, capture))]
    #[allow(clippy::too_many_arguments)]
    fn duplex(
        rate: &str,
        delay: &str,
        queue: Option<&str>,
        queue_down: Option<&str>,
        rate_down: Option<&str>,
        ecn: bool,
        jitter: Option<&str>,
        loss: Option<f64>,
        duration: Option<&str>,
        warmup: Option<&str>,
        series: Option<&str>,
        seed: u64,
        overhead: u32,
        capture: Option<PathBuf>,
    ) -> PyResult<Self> {
        type Set = fn(Path, &str) -> Path;
        let texts: [(Option<&str>, Set); 7] = [
            (queue, Path::queue),
            (queue_down, Path::queue_down),
            (rate_down, Path::rate_down),
            (jitter, Path::jitter),
            (duration, Path::duration),
            (warmup, Path::warmup),
            (series, Path::series),
        ];
        let mut path = Path::duplex(rate, delay).ecn(ecn).seed(seed).overhead(overhead);
        for (text, set) in texts {
            path = text.map_or(path.clone(), |text| set(path, text));
        }
        if let Some(loss) = loss {
            path = path.loss(loss);
        }
        let (network, client, server) = path.network().map_err(raised)?;
        let network = match capture {
            Some(folder) => network.capture(folder).map_err(raised)?,
            None => network,
        };
        Ok(PathNetwork { inner: Mutex::new(Some(network)), hosts: Mutex::new(vec![client, server]) })
    }

    /// The network of a scenario.
    #[staticmethod]
    #[pyo3(signature = (scenario, seed, overhead, capture))]
    fn of(scenario: &Scenario, seed: Option<u64>, overhead: u32, capture: Option<PathBuf>) -> PyResult<Self> {
        let mut network = Network::from_scenario(&scenario.checked).map_err(raised)?.overhead(overhead);
        if let Some(seed) = seed {
            network = network.seed(seed);
        }
        if let Some(folder) = capture {
            network = network.capture(folder).map_err(raised)?;
        }
        Ok(PathNetwork { inner: Mutex::new(Some(network)), hosts: Mutex::default() })
    }

    /// Attaches two hosts to each other; the numbers of both ends.
    fn attach(&self, host: &str, peer: &str) -> PyResult<(usize, usize)> {
        let (one, other) = self.with(|network| network.attach(host, peer))?;
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.extend([one, other]);
        Ok((hosts.len() - 2, hosts.len() - 1))
    }

    /// A host sends a datagram.
    fn send(&self, host: usize, payload: &[u8], field: u8) -> PyResult<()> {
        let (host, field) = (self.host(host)?, ecn(field)?);
        self.with(|network| network.send(host, payload, field))
    }

    /// The time of the next event, s.
    fn next_event(&self) -> PyResult<Option<f64>> {
        self.with(Network::next_event)
    }

    /// The present time, s.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|network| Ok(network.now()))
    }

    /// Runs up to and at `time`, s.
    fn advance_to(&self, py: Python<'_>, time: f64) -> PyResult<()> {
        self.with(|network| network.must_be_ahead(time))?;
        loop {
            let slice = self.with(|network| {
                let slice = if time > network.now() { time.min(network.now() + LOOK) } else { time };
                network.advance_to(slice).map(|()| slice)
            })?;
            if slice == time {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// The next datagram that has arrived at a host.
    fn poll<'py>(&self, py: Python<'py>, host: usize) -> PyResult<Option<Arrival<'py>>> {
        let host = self.host(host)?;
        let delivery = self.with(|network| Ok(network.poll(host)))?;
        Ok(delivery.map(|delivery| arrival(py, delivery)))
    }

    /// Runs endpoints at hosts up to `until`, s: `"done"`, `"until"` or `"idle"`.
    fn run(&self, endpoints: Vec<(usize, Py<PyAny>)>, until: f64) -> PyResult<&'static str> {
        let fault = Rc::new(RefCell::new(None));
        let mut all = Vec::new();
        for (host, object) in endpoints {
            all.push((self.host(host)?, Called { object, fault: Rc::clone(&fault) }));
        }
        let mut endpoints: Vec<(Host, &mut dyn Endpoint)> = Vec::new();
        for (host, called) in &mut all {
            endpoints.push((*host, called));
        }
        let stop = self.with(|network| run(network, &mut endpoints, until));
        drop(endpoints);
        if let Some(error) = fault.take() {
            return Err(error);
        }
        Ok(match stop? {
            Stop::Done => "done",
            Stop::Until => "until",
            Stop::Idle => "idle",
        })
    }

    /// See `earlydrop_path::Network::digest`.
    fn digest(&self) -> PyResult<u64> {
        self.with(Network::digest)
    }

    /// The digest starts anew.
    fn restart_digest(&self) -> PyResult<()> {
        self.with(Network::restart_digest)
    }

    /// Ends the network: the result document and the scenario, as JSON.
    fn finish(&self) -> PyResult<(String, String)> {
        let network = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let network = network.ok_or_else(over)?;
        let finished = guarded(|| network.finish()).map_err(PyRuntimeError::new_err)?.map_err(raised)?;
        Ok((finished.document.to_string(), finished.scenario.to_string()))
    }
}

fn over() -> PyErr {
    PyValueError::new_err("the network has finished")
}

impl PathNetwork {
    fn with<T>(&self, work: impl FnOnce(&mut Network) -> Result<T, Error>) -> PyResult<T> {
        let Ok(mut inner) = self.inner.try_lock() else {
            return Err(PyRuntimeError::new_err("the network is running"));
        };
        let network = inner.as_mut().ok_or_else(over)?;
        match guarded(|| work(network)) {
            Ok(done) => done.map_err(raised),
            Err(fault) => {
                *inner = None;
                Err(PyRuntimeError::new_err(fault))
            }
        }
    }

    fn host(&self, number: usize) -> PyResult<Host> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts
            .get(number)
            .copied()
            .ok_or_else(|| PyValueError::new_err(format!("host {number}: there are {}", hosts.len())))
    }
}

/// An endpoint in Python. After an exception in any of them all are done.
struct Called {
    object: Py<PyAny>,
    fault: Rc<RefCell<Option<PyErr>>>,
}

impl Called {
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.fault.borrow().is_some() {
            return None;
        }
        Python::attach(|py| match work(self.object.bind(py)) {
            Ok(value) => Some(value),
            Err(error) => {
                *self.fault.borrow_mut() = Some(error);
                None
            }
        })
    }
}

impl Endpoint for Called {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        self.call(|object| object.call_method1("handle", (now, arrival(object.py(), datagram))).map(drop));
    }

    fn poll_transmit(&mut self, now: f64) -> Option<Transmit> {
        self.call(|object| {
            let given: Option<(Vec<u8>, u8)> = object.call_method1("poll_transmit", (now,))?.extract()?;
            given.map(|(payload, field)| Ok(Transmit { payload, ecn: ecn(field)? })).transpose()
        })?
    }

    fn poll_timeout(&mut self) -> Option<f64> {
        self.call(|object| {
            let time: Option<f64> = object.call_method0("poll_timeout")?.extract()?;
            match time {
                Some(time) if time.is_nan() => {
                    Err(PyValueError::new_err("poll_timeout() gave NaN; allowed a time in s, or None"))
                }
                _ => Ok(time),
            }
        })?
    }

    fn handle_timeout(&mut self, now: f64) {
        self.call(|object| object.call_method1("handle_timeout", (now,)).map(drop));
    }

    fn drive(&mut self, now: f64) -> Drive {
        let done = self.call(|object| object.call_method1("drive", (now,))?.is_truthy());
        // Nobody goes on after an exception.
        if done.unwrap_or(true) {
            Drive::Done
        } else {
            Drive::Wait
        }
    }

    fn counts(&self) -> Option<Counts> {
        let counts: Option<(Option<u64>, u64, u64)> = self.call(|object| object.call_method0("counts")?.extract())?;
        counts.map(|(delivered, retransmits, timeouts)| Counts { delivered, retransmits, timeouts })
    }
}
