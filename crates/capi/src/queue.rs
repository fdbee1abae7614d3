//! A queue as a program in C drives it: every call is checked, and nothing unwinds out of it.

use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};

use earlydrop_aqm::discipline::OnDrop;
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::{Discipline, Header, Link, Packet, Time};
use earlydrop_sim::run::{queue_of_text, Streams};

use crate::error::{Checked, Failed};

/// The latest time, s: thirty years, of which a double still counts parts of a microsecond.
pub const LATEST: f64 = 1e9;

/// A queue in front of a link.
pub struct Queue {
    discipline: Box<dyn Discipline>,
    /// Time of the last call.
    now: f64,
    /// When the next timer is due; infinite if none is. Only timers set timers.
    due: Time,
    /// What was caught: the queue has no meaning any more.
    broken: Option<Box<str>>,
    /// Names of the inner values.
    pub gauges: Vec<CString>,
}

impl Queue {
    /// The queue that `text` stands for, with random numbers from `streams`.
    ///
    /// # Errors
    /// What is wrong with the text or the link.
    pub fn new(text: &str, rate_bps: f64, delay_s: f64, streams: Streams<'_>) -> Checked<Queue> {
        let link = Link { rate_bps, delay_s };
        let built = caught(|| {
            let discipline = queue_of_text(text, &link, streams).map_err(Failed::new)?;
            let mut gauges = Vec::new();
            discipline.gauges(&mut |name, _| gauges.extend(CString::new(name)));
            let due = due(&*discipline);
            Ok(Queue { discipline, now: 0.0, due, broken: None, gauges })
        });
        built.map_err(Failed::new)?
    }

    /// Does `work` with the discipline, unless something was caught before.
    #[inline]
    fn whole<T>(&mut self, work: impl FnOnce(&mut dyn Discipline) -> T) -> Checked<T> {
        if let Some(broken) = &self.broken {
            return Err(Failed::new(format_args!("the queue is broken: {broken}")));
        }
        let discipline = &mut *self.discipline;
        caught(|| work(discipline)).map_err(|said| {
            self.broken = Some(said.clone().into());
            Failed::new(said)
        })
    }

    /// Does `work` at `now`, after all timers that are due before.
    #[inline]
    fn at<T>(&mut self, now: f64, work: impl FnOnce(&mut dyn Discipline, Time) -> T) -> Checked<T> {
        if !(now >= self.now && now <= LATEST) {
            let least = self.now;
            return Err(Failed::new(format_args!(
                "now is out of range: given {now} s; allowed {least} s..{LATEST:e} s"
            )));
        }
        let time = Time::from_seconds(now);
        if self.due < time {
            self.due = self.whole(|discipline| {
                discipline.on_timers(time);
                due(discipline)
            })?;
        }
        let done = self.whole(|discipline| work(discipline, time))?;
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
    ) -> Checked<Option<bool>> {
        self.at(now, |discipline, now| {
            let admitted = match header {
                Some(header) => discipline.enqueue_with(packet, header, now, on_drop),
                None => discipline.enqueue(packet, now, on_drop),
            };
            admitted.map(|admitted| admitted.0)
        })
    }

    /// The link asks for a packet: `left`.
    ///
    /// # Errors
    /// As [`Queue::enqueue`].
    // The packet goes to its place, not through the results of several functions.
    #[inline]
    pub fn dequeue(&mut self, now: f64, left: &mut Option<Packet>, on_drop: &mut OnDrop<'_>) -> Checked<()> {
        self.at(now, |discipline, now| *left = discipline.dequeue(now, on_drop))
    }

    /// Runs the timers due up to `now`.
    ///
    /// # Errors
    /// As [`Queue::enqueue`].
    pub fn on_timer(&mut self, now: f64) -> Checked<()> {
        self.due = self.at(now, |discipline, now| {
            while let Some(due) = discipline.next_timer().filter(|&due| due <= now) {
                discipline.on_timer(due);
            }
            due(discipline)
        })?;
        Ok(())
    }

    /// When the next timer is due, s; infinite if none is.
    pub fn due(&self) -> f64 {
        self.due.seconds()
    }

    /// The discipline, to ask it what it is and has.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn ask<T>(&mut self, question: impl FnOnce(&dyn Discipline) -> T) -> Checked<T> {
        self.whole(|discipline| question(discipline))
    }

    /// The inner values, one for each of `gauges`.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn read_gauges(&mut self) -> Checked<Vec<f64>> {
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
    pub fn counters(&mut self) -> Checked<Counters> {
        self.ask(|discipline| *discipline.counters())
    }

    /// Sets the counters to zero.
    ///
    /// # Errors
    /// An error was caught before.
    pub fn reset_counters(&mut self) -> Checked<()> {
        self.whole(|discipline| discipline.reset_counters())
    }
}

fn due(discipline: &dyn Discipline) -> Time {
    discipline.next_timer().unwrap_or(Time::from_seconds(f64::INFINITY))
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
