//! Disciplines that are no part of the catalogue: from shared libraries, from functions compiled at run time, and from
//! plain Python, whose methods the engine calls.
#![allow(unsafe_code)]

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;

use earlydrop_aqm::catalogue::{self, AqmSpec, Built, Link};
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::params::{ParamError, Values};
use earlydrop_aqm::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Verdict};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{abi, agent, Packet, Time};
use earlydrop_plugin::conformance::{conformance, fits};
use earlydrop_plugin::maths;
use earlydrop_plugin::timers::Timers;
use earlydrop_plugin::{describe, library, numbers};
use earlydrop_sim::scenario::{Doc, OwnAqm};
use earlydrop_sim::vectors;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::guarded;

/// A discipline that scenarios can name once it is registered.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct Aqm {
    pub spec: &'static AqmSpec,
}

#[pymethods]
impl Aqm {
    /// The discipline in a shared library.
    #[staticmethod]
    fn load(path: &str) -> PyResult<Self> {
        library::load(Path::new(path)).map(|spec| Aqm { spec }).map_err(PyValueError::new_err)
    }

    /// The discipline that the `ed_aqm` at `address` describes, which must stay there. `check(values)` returns None or
    /// what is allowed; `plain(values, link_rate, link_delay, queue)` makes an instance whose methods are called instead
    /// of the description's functions; `curve(values, average)` returns the drop probability.
    #[staticmethod]
    #[pyo3(signature = (address, check=None, plain=None, curve=None))]
    fn at(
        address: usize,
        check: Option<Py<PyAny>>,
        plain: Option<Py<PyAny>>,
        curve: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        if address == 0 || !address.is_multiple_of(align_of::<abi::Aqm>()) {
            return Err(PyValueError::new_err("no ed_aqm lies at this address"));
        }
        // SAFETY: the Python package hands over the address of a struct that it made by the header and keeps.
        let spec = unsafe { describe(address as *const abi::Aqm) }.map_err(PyValueError::new_err)?;
        let mut own = AqmSpec { ..*spec };
        if let Some(check) = check {
            own.check = Box::leak(Box::new(move |values: &Values, _: &Link| checked(spec, &check, values)));
        }
        if let Some(curve) = curve {
            own.curve = Some(Box::leak(Box::new(move |values: &Values, _: &Link, average| {
                let Ok(numbers) = numbers(spec.params[0], values) else { return f64::NAN };
                Python::attach(|py| match curve.call1(py, (numbers, average)).and_then(|p| p.extract(py)) {
                    Ok(p) => p,
                    Err(error) => Fault::raise(error.value(py).to_string()),
                })
            })));
        }
        if let Some(plain) = plain {
            own.build = Box::leak(Box::new(move |values: &Values, link: &Link, limit| {
                let numbers = numbers(spec.params[0], values)?;
                Ok(Built::Policy(Box::new(Plain::new(spec.name, &plain, numbers, link, limit))))
            }));
        }
        Ok(Aqm { spec: Box::leak(Box::new(own)) })
    }

    /// The discipline whose drop probability a simulation sets as it goes.
    #[staticmethod]
    fn agent() -> Self {
        Aqm { spec: &agent::SPEC }
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Its declaration, as an entry of the catalogue, as JSON.
    fn entry(&self) -> String {
        earlydrop_sim::scenario::discipline_reference(self.spec).to_string()
    }

    /// What its own check says of the defaults on the link of `conformance`; None if they fit.
    fn complaint(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| fits(self.spec, &Values::new())).err()
    }

    /// What it holds of the properties that every discipline must hold, tried with so many packets: a list of property,
    /// what it means, what failed or None, and nanoseconds a packet or None.
    #[allow(clippy::type_complexity)]
    fn conformance(
        &self,
        py: Python<'_>,
        packets: u64,
    ) -> Vec<(&'static str, &'static str, Option<String>, Option<f64>)> {
        let outcomes = py.detach(|| conformance(self.spec, packets));
        outcomes.into_iter().map(|o| (o.property, o.about, o.failure, o.ns_per_packet)).collect()
    }

    /// p_b at each averaged queue, packets; None if it has no drop curve.
    fn curve(&self, py: Python<'_>, averages: Vec<f64>, rate_bps: f64, delay_s: f64) -> PyResult<Option<Vec<f64>>> {
        let Some(curve) = self.spec.curve else { return Ok(None) };
        let link = Link { rate_bps, delay_s };
        let values = || averages.iter().map(|&average| curve(&Values::new(), &link, average)).collect();
        py.detach(|| guarded(values)).map(Some).map_err(PyRuntimeError::new_err)
    }

    /// Its decision vectors, as JSON lines.
    fn vectors(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guarded(|| vectors::vectors_of(self.spec))).map_err(PyRuntimeError::new_err)
    }
}

/// The disciplines from outside that the queues of `doc` name, loaded. `[aqms]` and `aqm = "FILE"` are made names with
/// digests on the way.
///
/// # Errors
/// What Python says of a source that cannot be loaded, or is not trusted.
pub fn named_in(doc: &mut Doc, file: Option<&str>) -> PyResult<Vec<OwnAqm>> {
    let aqms = texts(doc.get("aqms"));
    let Some(Doc::Table(queues)) = doc.get("queue") else { return Ok(Vec::new()) };
    let name = |queue: &Doc| match queue.get("aqm") {
        Some(Doc::String(name)) if catalogue::meant(name).is_none() => Some(name.clone()),
        _ => None,
    };
    let named: BTreeMap<String, String> =
        queues.iter().filter_map(|(key, queue)| Some((key.clone(), name(queue)?))).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let loaded: Vec<(String, Py<Aqm>, String)> = Python::attach(|py| {
        let registry = py.import("earlydrop.own_aqms.registry")?;
        registry.call_method1("resolve", (aqms, named.clone(), file))?.extract()
    })?;
    let own: BTreeMap<&str, OwnAqm> = loaded
        .iter()
        .map(|(given, aqm, digest)| (given.as_str(), OwnAqm { spec: aqm.get().spec, digest: digest.clone() }))
        .collect();
    for (key, given) in &named {
        let Some(own) = own.get(given.as_str()) else { continue };
        let queue = doc.get_mut("queue").and_then(|queues| queues.get_mut(key));
        if let Some(place) = queue.and_then(|queue| queue.get_mut("aqm")) {
            *place = Doc::String(own.spec.name.to_string());
        }
    }
    let mut all: Vec<OwnAqm> = own.into_values().collect();
    all.dedup_by_key(|own| own.spec.name);
    Ok(all)
}

/// `[aqms]` as Python's data: source and digest by name.
fn texts(aqms: Option<&Doc>) -> BTreeMap<String, BTreeMap<String, String>> {
    let Some(Doc::Table(entries)) = aqms else { return BTreeMap::new() };
    let text = |doc: &Doc, key: &str| match doc.get(key) {
        Some(Doc::String(text)) => Some((key.to_string(), text.clone())),
        _ => None,
    };
    let one = |doc: &Doc| match doc {
        Doc::String(source) => BTreeMap::from([("source".to_string(), source.clone())]),
        table => ["source", "digest"].into_iter().filter_map(|key| text(table, key)).collect(),
    };
    entries.iter().map(|(name, doc)| (name.clone(), one(doc))).collect()
}

/// What the user's own check says of `values`.
fn checked(spec: &'static AqmSpec, check: &Py<PyAny>, values: &Values) -> Result<(), ParamError> {
    let numbers = numbers(spec.params[0], values)?;
    let said = Python::attach(|py| match check.call1(py, (numbers,)).and_then(|said| said.extract(py)) {
        Ok(said) => said,
        Err(error) => Some((None::<String>, error.to_string())),
    });
    let Some((name, allowed)) = said else { return Ok(()) };
    Err(match spec.all_params().find(|param| Some(param.name) == name.as_deref()) {
        Some(param) => ParamError::new(param.name, values.get(param), allowed),
        None => ParamError::new("aqm", spec.name, allowed),
    })
}

/// What a method sees of a packet. Valid during the call.
#[pyclass(module = "earlydrop._core")]
#[derive(Default)]
pub struct PacketView {
    #[pyo3(get)]
    flow: u64,
    #[pyo3(get)]
    enqueued: f64,
    #[pyo3(get)]
    size: u32,
    #[pyo3(get)]
    rtt_hint_ms: u16,
    #[pyo3(get)]
    ecn: u8,
    #[pyo3(get)]
    priority: u8,
    #[pyo3(get)]
    ttl: u8,
    #[pyo3(get)]
    initial_ttl: u8,
    #[pyo3(get)]
    final_ttl: u8,
}

impl From<&Packet> for PacketView {
    fn from(packet: &Packet) -> Self {
        PacketView {
            flow: packet.flow,
            enqueued: packet.enqueued.seconds(),
            size: packet.size,
            rtt_hint_ms: packet.rtt_hint_ms,
            ecn: packet.ecn as u8,
            priority: packet.class,
            ttl: packet.ttl,
            initial_ttl: packet.initial_ttl,
            final_ttl: packet.final_ttl,
        }
    }
}

/// What a method sees of the queue. Valid during the call.
#[pyclass(module = "earlydrop._core", name = "QueueView")]
pub struct QueueState {
    #[pyo3(get)]
    packets: u64,
    #[pyo3(get)]
    bytes: u64,
    #[pyo3(get)]
    limit: u64,
    #[pyo3(get)]
    limit_in_bytes: bool,
    #[pyo3(get)]
    idle_since: f64,
}

/// What else a method is given. Valid during the call.
#[pyclass(module = "earlydrop._core", name = "Context")]
pub struct Cx {
    #[pyo3(get)]
    now: f64,
    #[pyo3(get)]
    link_rate: f64,
    #[pyo3(get)]
    link_delay: f64,
    #[pyo3(get)]
    can_mark: bool,
    #[pyo3(get)]
    has_room: bool,
    /// The queue's generator, while a call lasts.
    random: Option<Source>,
}

struct Source(*mut Generator);

// SAFETY: it is set and used while one call lasts, in one thread.
unsafe impl Send for Source {}
unsafe impl Sync for Source {}

#[pymethods]
impl Cx {
    /// The next random number of this queue's stream, in [0, 1).
    fn random(&mut self) -> PyResult<f64> {
        match &self.random {
            // SAFETY: the generator outlives the call, and nobody else has it meanwhile.
            Some(source) => Ok(unsafe { &mut *source.0 }.uniform()),
            None => Err(PyRuntimeError::new_err("cx.random() is for on_enqueue, on_dequeue, on_empty and on_timer")),
        }
    }

    /// e to the power x.
    fn exp(&self, x: f64) -> f64 {
        maths::exp(x)
    }

    /// Natural logarithm of x.
    fn log(&self, x: f64) -> f64 {
        maths::log(x)
    }

    /// Natural logarithm of 1 + x.
    fn log1p(&self, x: f64) -> f64 {
        maths::log1p(x)
    }

    /// x to the power y.
    fn pow(&self, x: f64, y: f64) -> f64 {
        maths::pow(x, y)
    }
}

/// A policy whose methods are Python's.
struct Plain {
    name: &'static str,
    on_enqueue: Py<PyAny>,
    on_dequeue: Option<Py<PyAny>>,
    on_empty: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    next_timer: Option<Py<PyAny>>,
    average: Option<Py<PyAny>>,
    read_gauges: Py<PyAny>,
    explain: Py<PyAny>,
    instance: Py<PyAny>,
    gauges: &'static [&'static str],
    packet: Py<PacketView>,
    queue: Py<QueueState>,
    cx: Py<Cx>,
    timers: Timers,
}

impl Plain {
    fn new(name: &'static str, make: &Py<PyAny>, numbers: Vec<f64>, link: &Link, limit: Limit) -> Self {
        let (limit, limit_in_bytes) = match limit {
            Limit::Packets(n) => (n, false),
            Limit::Bytes(n) => (n, true),
        };
        let queue = QueueState { packets: 0, bytes: 0, limit, limit_in_bytes, idle_since: 0.0 };
        let (link_rate, link_delay) = (link.rate_bps, link.delay_s);
        let cx = Cx { now: 0.0, link_rate, link_delay, can_mark: false, has_room: true, random: None };
        let made = Python::attach(|py| -> PyResult<Self> {
            let (queue, cx) = (Py::new(py, queue)?, Py::new(py, cx)?);
            let instance = make.bind(py).call1((numbers, &queue, &cx))?;
            let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
                Ok(Some(instance.getattr(name)?).filter(|found| !found.is_none()).map(Bound::unbind))
            };
            let gauges: Vec<String> = instance.getattr("gauges")?.extract()?;
            let gauges: Vec<&'static str> = gauges.into_iter().map(|name| &*name.leak()).collect();
            Ok(Plain {
                name,
                on_enqueue: instance.getattr("on_enqueue")?.unbind(),
                on_dequeue: method("on_dequeue")?,
                on_empty: method("on_empty")?,
                on_timer: method("on_timer")?,
                next_timer: method("next_timer")?,
                average: method("average")?,
                read_gauges: instance.getattr("read_gauges")?.unbind(),
                explain: instance.getattr("explain")?.unbind(),
                instance: instance.clone().unbind(),
                gauges: gauges.leak(),
                packet: Py::new(py, PacketView::default())?,
                queue,
                cx,
                timers: Timers::default(),
            })
        });
        match made {
            Ok(made) => {
                made.next_after(None);
                made
            }
            Err(error) => Fault::raise(Python::attach(|py| {
                // The factory's own errors are explained already.
                error.value(py).to_string()
            })),
        }
    }

    /// Shows the method `of` what there is, and calls it with `arguments`.
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        packet: Option<&Packet>,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        {
            let mut seen = self.queue.borrow_mut(py);
            seen.packets = queue.packets;
            seen.bytes = queue.bytes;
            seen.idle_since = queue.idle_since.map_or(abi::BUSY, Time::seconds);
            let mut given = self.cx.borrow_mut(py);
            given.now = cx.now.seconds();
            given.can_mark = packet.is_some_and(|packet| cx.can_mark(packet));
            given.has_room = cx.has_room;
            given.random = Some(Source(std::ptr::from_mut(cx.random)));
        }
        let method = method.bind(py);
        let answer = match packet {
            Some(packet) => {
                *self.packet.borrow_mut(py) = packet.into();
                method.call1((&self.packet, &self.queue, &self.cx))
            }
            None => method.call1((&self.queue, &self.cx)),
        };
        self.cx.borrow_mut(py).random = None;
        answer
    }

    /// Ends the run with what `error` says, in the user's terms.
    fn fail(&self, py: Python<'_>, error: PyErr) -> ! {
        let traceback = error.traceback(py);
        let said = self.explain.call1(py, (error.value(py), traceback)).and_then(|text| text.extract::<String>(py));
        Fault::raise(said.unwrap_or_else(|_| format!("{}: {error}", self.name)))
    }

    /// Ends the run with what is wrong with the timers.
    fn refuse(&self, found: Result<(), String>) {
        if let Err(message) = found {
            Fault::raise(format!("{}: {message}", self.name));
        }
    }

    fn decide(
        &self,
        function: &str,
        method: &Py<PyAny>,
        packet: Option<&Packet>,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        Python::attach(|py| match self.call(py, method, packet, queue, cx) {
            Err(error) => self.fail(py, error),
            Ok(answer) => {
                let code = answer.getattr("code").and_then(|code| code.extract::<u32>()).unwrap_or(u32::MAX);
                let reason = if code & abi::verdict::FORCED == 0 { Reason::Early } else { Reason::Forced };
                match code & !abi::verdict::FORCED {
                    abi::verdict::PASS => Verdict::Pass,
                    abi::verdict::SIGNAL => Verdict::Signal(reason),
                    abi::verdict::MARK => Verdict::Mark,
                    abi::verdict::DROP => Verdict::Drop(reason),
                    _ => {
                        let given = answer.repr().map_or_else(|_| "something".into(), |text| text.to_string());
                        Fault::raise(format!(
                            "{}: {function} returned {given}; allowed are ed.Verdict.PASS, signal(), mark() and drop()",
                            self.name
                        ))
                    }
                }
            }
        })
    }

    /// The time of the next timer, later than `now`, the time of the last, in s.
    fn next_after(&self, now: Option<f64>) -> Option<Time> {
        let ask = self.next_timer.as_ref()?;
        let at = Python::attach(|py| match ask.call0(py).and_then(|at| at.extract::<Option<f64>>(py)) {
            Ok(at) => at,
            Err(error) => self.fail(py, error),
        })?;
        if at.is_nan() {
            Fault::raise(format!("{}: next_timer returned no number", self.name));
        }
        if at < 0.0 || at.is_infinite() {
            return None;
        }
        self.refuse(now.map_or(Ok(()), |now| Timers::later(at, now)));
        Some(Time::from_seconds(at))
    }
}

impl Policy for Plain {
    fn needs(&self) -> Needs {
        Needs { dequeue: self.on_dequeue.is_some() || self.on_empty.is_some(), contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.decide("on_enqueue", &self.on_enqueue, Some(packet), queue, cx)
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match (packet, &self.on_dequeue, &self.on_empty) {
            (Some(_), Some(method), _) => self.decide("on_dequeue", method, packet, queue, cx),
            (None, _, Some(method)) => Python::attach(|py| match self.call(py, method, None, queue, cx) {
                Ok(_) => Verdict::Pass,
                Err(error) => self.fail(py, error),
            }),
            _ => Verdict::Pass,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.on_timer.as_ref()?;
        self.next_after(None)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        let counted = self.timers.count(cx.now.seconds());
        self.refuse(counted);
        let Some(method) = &self.on_timer else { return };
        Python::attach(|py| {
            if let Err(error) = self.call(py, method, None, queue, cx) {
                self.fail(py, error);
            }
        });
        self.next_after(Some(cx.now.seconds()));
    }

    fn average(&self) -> Option<f64> {
        let ask = self.average.as_ref()?;
        Python::attach(|py| match ask.call0(py).and_then(|x| x.extract(py)) {
            Ok(x) => Some(x),
            Err(error) => self.fail(py, error),
        })
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let values =
            Python::attach(|py| match self.read_gauges.call0(py).and_then(|values| values.extract::<Vec<f64>>(py)) {
                Ok(values) => values,
                Err(error) => self.fail(py, error),
            });
        for (name, value) in self.gauges.iter().zip(values) {
            out(name, value);
        }
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Plain>() else { return false };
        Python::attach(|py| match self.instance.call_method1(py, "resume", (&before.instance,)) {
            Ok(_) => true,
            Err(error) => self.fail(py, error),
        })
    }
}
