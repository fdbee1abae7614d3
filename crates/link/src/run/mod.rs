//! A link in operation: packets read from one TUN device pass a [`OneWay`](crate::one_way::OneWay) and are written to the
//! other.
//!
//! One thread serves both directions. It sleeps until the next delivery or the next packet. Its lateness is measured
//! and does not accumulate: the departure times follow from the arrivals alone.

mod event_loop;
mod forwarder;
mod outcome;

use std::io::Result;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::Time;
use nix::errno::Errno;

use crate::one_way::{Change, OneWaySpec};
use crate::sys;
use event_loop::EventLoop;
use forwarder::Forwarder;
pub use forwarder::MOST_HELD;
pub use outcome::{PathOutcome, Series, View};

/// Real-time priority: in the middle of the range, below the kernel's own threads.
const PRIORITY: i32 = 50;

/// Whether a link runs with real-time priority (SCHED_FIFO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// No.
    Off,
    /// Where it is allowed.
    Allowed,
    /// Yes; where it is not allowed, the link does not start.
    On,
}

/// How a link runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its priority.
    pub real_time: RealTime,
    /// Interval of the sampled series, s.
    pub series: Option<f64>,
    /// Arrivals of each direction to record with their fates.
    pub record: usize,
    /// Whether to keep the headers of what is recorded.
    pub keep_headers: bool,
}

/// One direction of a link.
pub struct Direction {
    /// The TUN device whose packets it carries.
    pub from: OwnedFd,
    /// Queue, rate, delay, loss.
    pub spec: OneWaySpec,
}

/// A link in operation.
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<[PathOutcome; 2]>>>,
    clock: Clock,
}

/// Requests to the loop, and its answers.
#[derive(Default)]
struct Shared {
    /// Asks the loop to stop now.
    stop: AtomicBool,
    /// Asks the loop to stop as soon as no packet is queued or in flight.
    drain: AtomicBool,
    /// Whether the loop has real-time priority.
    real_time: AtomicBool,
    /// How often a new measured window was requested.
    restarts: AtomicU64,
    /// Asks the loop to keep `view` up to date.
    watched: AtomicBool,
    view: Mutex<Option<[View; 2]>>,
    /// Changes of both directions that are asked for, and who is told the time when they were made, or that they cannot.
    changes: Mutex<Vec<Asked>>,
    /// Whether there are any.
    changing: AtomicBool,
}

/// Changes of both directions, and the answer.
type Asked = ([Change; 2], Sender<Option<Time>>);

impl Shared {
    fn view(&self) -> MutexGuard<'_, Option<[View; 2]>> {
        // A view is replaced as a whole: even if a panic left it behind, it is consistent.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wall time since the link started.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    #[inline]
    fn now(self) -> Time {
        Time::from_seconds(self.0.elapsed().as_secs_f64())
    }
}

impl Running {
    /// Starts the loop on a thread of its own: `there` carries packets from its device to that of `back`, and `back`
    /// the reverse. Time starts now.
    ///
    /// # Errors
    /// If no thread can be started, or without the permission for real-time priority.
    pub fn start(there: Direction, back: Direction, settings: &Settings) -> Result<Running> {
        let shared = Arc::new(Shared::default());
        let clock = Clock(Instant::now());
        let settings = settings.clone();
        let of_loop = Arc::clone(&shared);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let body = move || {
            let prepared = prepare(&settings);
            let real_time = prepared.as_ref().ok().copied();
            of_loop.real_time.store(real_time == Some(true), Ordering::Relaxed);
            if ready.send(prepared).is_err() || real_time.is_none() {
                return Err(Errno::ECANCELED.into());
            }
            // Held until the loop ends.
            let _awake = if real_time == Some(true) { sys::stay_awake() } else { None };
            let directions = [Forwarder::new(there, &settings), Forwarder::new(back, &settings)];
            EventLoop::new(directions, of_loop, clock, &settings).run()
        };
        let thread = thread::Builder::new().name("link".to_string()).spawn(body)?;
        is_ready.recv().map_err(|_| Errno::ECANCELED)??;
        Ok(Running { shared, thread: Some(thread), clock })
    }

    /// Whether the loop has real-time priority.
    pub fn real_time(&self) -> bool {
        self.shared.real_time.load(Ordering::Relaxed)
    }

    /// Seconds since the link started.
    pub fn time(&self) -> f64 {
        self.clock.now().seconds()
    }

    /// Whether the loop still runs; it ends on its own only when a device is taken away.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Starts a new measured window, within some milliseconds.
    pub fn restart(&self) {
        self.shared.restarts.fetch_add(1, Ordering::AcqRel);
    }

    /// Changes both directions, within some milliseconds, at one time, which is returned; `None` if a queue cannot change
    /// so.
    ///
    /// # Errors
    /// If the loop has ended.
    pub fn change(&self, changes: [Change; 2]) -> Result<Option<Time>> {
        let (answer, answered) = std::sync::mpsc::channel();
        self.shared.changes().push((changes, answer));
        self.shared.changing.store(true, Ordering::Release);
        loop {
            match answered.recv_timeout(Duration::from_millis(50)) {
                Ok(time) => return Ok(time),
                Err(RecvTimeoutError::Timeout) if self.is_alive() => {}
                Err(_) => return Err(Errno::ECANCELED.into()),
            }
        }
    }

    /// The state of both directions some milliseconds ago; `None` before the first one is taken.
    pub fn view(&self) -> Option<[View; 2]> {
        self.shared.watched.store(true, Ordering::Relaxed);
        self.shared.view().clone()
    }

    /// Stops the loop once no packet is queued or in flight, or after `patience`; returns what it measured.
    ///
    /// # Errors
    /// If the loop has ended before: a device was taken away, a policy could not go on, or it panicked.
    pub fn stop(&mut self, patience: Duration) -> Result<[PathOutcome; 2]> {
        self.shared.drain.store(true, Ordering::Release);
        let start = Instant::now();
        while self.is_alive() && start.elapsed() < patience {
            thread::sleep(Duration::from_millis(2));
        }
        self.shared.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return Err(Errno::ECANCELED.into()) };
        thread.join().unwrap_or_else(|payload| {
            Err(match Fault::of(payload.as_ref()) {
                Some(fault) => std::io::Error::other(fault.clone()),
                None => Errno::EOWNERDEAD.into(),
            })
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // The outcome of a dropped link is not used.
            drop(thread.join());
        }
    }
}

/// Makes the calling thread wake punctually; returns whether it has real-time priority.
fn prepare(settings: &Settings) -> Result<bool> {
    nix::sys::prctl::set_timerslack(1)?;
    match settings.real_time {
        RealTime::Off => Ok(false),
        RealTime::Allowed => Ok(sys::real_time(PRIORITY).is_ok()),
        RealTime::On => sys::real_time(PRIORITY).map(|()| true),
    }
}
