//! A queue as a program in C drives it: every call is checked, and nothing unwinds out of it.

use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};

use earlydrop_aqm::discipline::OnDrop;
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::{Discipline, Header, Link, Packet, Time};
use earlydrop_sim::run::{queue_of_text, Streams};

/// The latest time, s: thirty years, of which a double still counts parts of a microsecond.
pub const LATEST: f64 = 1e9;

/// A queue in front of a link.
pub struct Queue {
    discipline: Box<dyn Discipline>,
    /// Time of the last call.
    now: f64,
    /// What was caught: the queue has no meaning any more.
    broken: Option<String>,
    /// Names of the inner values.
    pub gauges: Vec<CString>,
}

impl Queue {
    /// The queue that `text` stands for, with random numbers from `streams`.
    ///
    /// # Errors
    /// What is wrong with the text or the link.
    pub fn new(text: &str, rate_bps: f64, delay_s: f64, streams: Streams<'_>) -> Result<Queue, String> {
        let link = Link { rate_bps, delay_s };
        let built = caught(|| {
            let discipline = queue_of_text(text, &link, streams).map_err(|error| error.to_string())?;
            let mut gauges = Vec::new();
            discipline.gauges(&mut |name, _| gauges.extend(CString::new(name)));
            Ok(Queue { discipline, now: 0.0, broken: None, gauges })
        });
        built.and_then(|queue| queue)
    }

    /// Does `work` with the discipline, unless something was caught before.
    #[inline]
    fn whole<T>(&mut self, work: impl FnOnce(&mut dyn Discipline) -> T) -> Result<T, String> {
        if let Some(broken) = &self.broken {
            return Err(format!("the queue is broken: {broken}"));
        }
        let discipline = &mut *self.discipline;
        caught(|| work(discipline)).inspect_err(|said| self.broken = Some(said.clone()))
    }

    /// Does `work` at `now`, after all timers that are due before.
    #[inline]
    fn at<T>(&mut self, now: f64, work: impl FnOnce(&mut dyn Discipline, Time) -> T) -> Result<T, String> {
        if !(now >= self.now && now <= LATEST) {
            return Err(format!("now is out of range: given {now} s; allowed {} s..{LATEST:e} s", self.now));
        }
        let time = Time::from_seconds(now);
        let done = self.whole(|discipline| {
            if discipline.next_timer().is_some_and(|due| due < time) {
                discipline.on_timers(time);
            }
            work(discipline, time)
        })?;
        self.now = now;
        Ok(done)
    }

    /// A packet arrives: `None` if it is dropped, else whether it is marked.
    ///
    /// # Errors
    /// `now` is before an earlier call, or an error was caught.
    #[inline]
    pub fn enqueue(
        &mut self,
        packet: Packet,
        header: Option<&Header>,
        now: f64,
        on_drop: &mut OnDrop<'_>,
    ) -> Result<Option<bool>, String> {
        self.at(now, |discipline, now| {
            let admitted = match header {
                Some(header) => discipline.enqueue_with(packet, header, now, on_drop),
                None => discipline.enqueue(packet, now, on_drop),
            };
            admitted.map(|admitted| admitted.0)
        })
    }

    /// The link asks for a packet.
    ///
    /// # Errors
    /// As [`Queue::enqueue`].
    #[inline]
    pub fn dequeue(&mut self, now: f64, on_drop: &mut OnDrop<'_>) -> Result<Option<Packet>, String> {
        self.at(now, |discipline, now| discipline.dequeue(now, on_drop))
    }

    /// Runs the timers due up to `now`.
    ///
    /// # Errors
    /// As [`Queue::enqueue`].
    pub fn on_timer(&mut self, now: f64) -> Result<(), String> {
        self.at(now, |discipline, now| {
            while let Some(due) = discipline.next_timer().filter(|&due| due <= now) {
                discipline.on_timer(due);
            }
        })
    }

    /// The discipline, to ask it what it is and has.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn ask<T>(&mut self, question: impl FnOnce(&dyn Discipline) -> T) -> Result<T, String> {
        self.whole(|discipline| question(discipline))
    }

    /// The inner values, one for each of `gauges`.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn read_gauges(&mut self) -> Result<Vec<f64>, String> {
        self.ask(|discipline| {
            let mut values = Vec::new();
            discipline.gauges(&mut |_, value| values.push(value));
            values
        })
    }

    /// The counters.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn counters(&mut self) -> Result<Counters, String> {
        self.ask(|discipline| *discipline.counters())
    }

    /// Sets the counters to zero.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn reset_counters(&mut self) -> Result<(), String> {
        self.whole(|discipline| discipline.reset_counters())
    }
}

/// What `work` gives; as an error what a callback, or a fault of this library, ended it with.
#[inline]
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let said = payload.downcast_ref::<&str>().map(ToString::to_string);
        let said = Fault::of(payload.as_ref()).map(|fault| fault.0.clone()).or(said);
        said.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a fault".to_string())
    })
}
