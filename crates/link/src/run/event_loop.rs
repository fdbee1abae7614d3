//! The loop of both directions: read, deliver, serve requests, sleep. It runs on a thread of its own.

use std::io::Result;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use earlydrop_aqm::Time;
use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::{TimeSpec, TimeValLike};

use super::forwarder::Forwarder;
use super::outcome::PathOutcome;
use super::{Clock, Settings, Shared};
use crate::burst::{self, Burst};

/// Packets read from one device before the loop turns to deliveries and to the other device.
const BATCH: usize = 16;
/// After this many packets without a pause a device is read in bursts.
const STREAK: u32 = 8;
/// No burst is read if a delivery is due within this time, s: about twice the duration of a burst.
const BURST_TIME: f64 = 100e-6;
/// Largest IP packet, bytes.
const MAX_PACKET: usize = 65_535;
/// Longest interval between two looks at the requests, s.
const POLL_INTERVAL: f64 = 0.02;
/// With real-time priority the loop wakes before a delivery is due and polls the devices until then: early by as much
/// as this machine wakes it late, at most by this, s. Without the priority polling would take time from others.
const MAX_EARLY: f64 = 30e-6;
/// Number of punctual wake-ups after which half of a measured delay is forgotten.
const HALF_LIFE: f64 = 64.0;

/// Both directions and what they share.
pub(super) struct EventLoop {
    directions: [Forwarder; 2],
    shared: Arc<Shared>,
    clock: Clock,
    /// Interval of the sampled series, s.
    series: Option<f64>,
    next_sample: f64,
    next_poll: f64,
    /// How long before a delivery the loop wakes, s, and the upper bound of that.
    early: f64,
    max_early: f64,
    /// Restarts already done.
    restarts: u64,
    /// A buffer for each packet of a burst; the first one also serves single reads.
    buffers: Vec<Vec<u8>>,
    /// `None` where the kernel or the device has no bursts.
    burst: Option<Burst>,
}

impl EventLoop {
    pub(super) fn new(directions: [Forwarder; 2], shared: Arc<Shared>, clock: Clock, settings: &Settings) -> Self {
        let max_early = if shared.real_time.load(Ordering::Relaxed) { MAX_EARLY } else { 0.0 };
        EventLoop {
            directions,
            shared,
            clock,
            series: settings.series,
            next_sample: 0.0,
            next_poll: 0.0,
            early: max_early,
            max_early,
            restarts: 0,
            // Zeroed one by one: the kernel maps a page only when a packet needs it. Clones would be written at once.
            buffers: (0..burst::MOST).map(|_| vec![0; MAX_PACKET + 1]).collect(),
            burst: Burst::open(),
        }
    }

    /// Carries packets until it is asked to stop.
    ///
    /// # Errors
    /// If a device is taken away.
    pub(super) fn run(mut self) -> Result<[PathOutcome; 2]> {
        let mut readable = [true; 2];
        loop {
            self.deliver();
            let now = self.clock.now();
            if now.seconds() >= self.next_poll && self.serve_requests(now) {
                let end = self.clock.now();
                return Ok(self.directions.map(|direction| direction.finish(end)));
            }
            let mut busy = false;
            for (at, readable) in readable.iter_mut().enumerate() {
                if *readable {
                    *readable = self.read(at)?;
                    busy = true;
                }
            }
            if !busy {
                readable = self.sleep()?;
            }
        }
    }

    fn deliver(&mut self) {
        let [there, back] = &mut self.directions;
        there.deliver(&back.from, self.clock, &mut self.burst);
        back.deliver(&there.from, self.clock, &mut self.burst);
    }

    fn next_delivery(&self) -> Option<Time> {
        let [there, back] = &self.directions;
        [there.way.next_delivery(), back.way.next_delivery()].into_iter().flatten().min()
    }

    /// Reads up to [`BATCH`] packets; returns whether there may be more.
    fn read(&mut self, at: usize) -> Result<bool> {
        if self.burst.is_some() && self.directions[at].streak >= STREAK {
            let now = self.clock.now();
            if self.next_delivery().is_none_or(|due| due > now + BURST_TIME) {
                if let Some(more) = self.read_burst(at)? {
                    return Ok(more);
                }
            }
        }
        for _ in 0..BATCH {
            match nix::unistd::read(&self.directions[at].from, &mut self.buffers[0]) {
                Ok(length) => {
                    let now = self.clock.now();
                    let direction = &mut self.directions[at];
                    direction.streak = direction.streak.saturating_add(1);
                    direction.arrive(&self.buffers[0][..length], now);
                    if self.next_delivery().is_some_and(|due| due <= now) {
                        return Ok(true);
                    }
                }
                Err(Errno::EAGAIN) => {
                    self.directions[at].drained(self.clock.now());
                    return Ok(false);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Reads a burst of packets; the arrival time of all is the time at which the last was read. Returns whether there
    /// may be more, or `None` if this machine has no bursts, which are then switched off.
    fn read_burst(&mut self, at: usize) -> Result<Option<bool>> {
        let Some(burst) = &mut self.burst else { return Ok(None) };
        let direction = &mut self.directions[at];
        let Ok(results) = burst.read(&direction.from, &mut self.buffers) else {
            self.burst = None;
            return Ok(None);
        };
        let now = self.clock.now();
        for (buffer, &result) in self.buffers.iter().zip(results) {
            match usize::try_from(result) {
                Ok(length) => {
                    direction.in_bursts.0 += 1;
                    direction.arrive(&buffer[..length], now);
                }
                Err(_) if matches!(-result, libc::EAGAIN | libc::EINTR) => direction.drained(now),
                Err(_) => return Err(std::io::Error::from_raw_os_error(-result)),
            }
        }
        Ok(Some(direction.streak > 0))
    }

    /// Sleeps until a packet arrives, a delivery is due or requests must be served; returns which devices are readable.
    fn sleep(&mut self) -> Result<[bool; 2]> {
        let now = self.clock.now();
        let until = self.next_delivery().map_or(self.next_poll, |due| due.seconds().min(self.next_poll));
        let wake = until - self.early;
        let left = ((wake - now.seconds()) * 1e9).max(0.0) as i64;
        let [there, back] = &self.directions;
        let mut fds = [&there.from, &back.from].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::nanoseconds(left)), None) {
            Ok(0) if left > 0 && self.max_early > 0.0 => {
                let late = self.clock.now().seconds() - wake;
                let kept = self.early * (1.0 - std::f64::consts::LN_2 / HALF_LIFE);
                self.early = late.max(kept).min(self.max_early);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(fds.map(|fd| fd.any().unwrap_or(true)))
    }

    /// Makes the changes that are asked for. No packet arrives at the time of a change: whoever repeats the arrivals
    /// knows which came before.
    fn change(&mut self) {
        let asked = std::mem::take(&mut *self.shared.changes());
        for (changes, answer) in asked {
            let mut now = self.clock.now();
            let last = self.directions.each_ref().map(|direction| direction.last);
            while last.iter().any(|&last| last >= now) {
                now = self.clock.now();
            }
            let mut done = true;
            for (direction, change) in self.directions.iter_mut().zip(changes) {
                done &= direction.change(change, now);
            }
            while self.clock.now() <= now {}
            if answer.send(done.then_some(now)).is_err() {
                // Whoever asked has gone.
                continue;
            }
        }
    }

    /// Takes samples and serves requests; returns whether to stop.
    fn serve_requests(&mut self, now: Time) -> bool {
        if let Some(interval) = self.series {
            if now.seconds() >= self.next_sample {
                self.directions.iter_mut().for_each(|direction| direction.sample(now));
                // Missed samples are not made up for.
                self.next_sample = (self.next_sample + interval).max(now.seconds());
            }
        }
        if self.shared.changing.swap(false, Ordering::Acquire) {
            self.change();
        }
        let restarts = self.shared.restarts.load(Ordering::Acquire);
        if restarts != self.restarts {
            self.restarts = restarts;
            self.directions.iter_mut().for_each(|direction| direction.restart(now));
        }
        if self.shared.watched.load(Ordering::Relaxed) {
            let views = self.directions.each_mut().map(|direction| direction.view(now));
            *self.shared.view() = Some(views);
        }
        let next = now.seconds() + POLL_INTERVAL;
        self.next_poll = if self.series.is_some() { next.min(self.next_sample) } else { next };
        let drained = self.shared.drain.load(Ordering::Acquire) && self.directions.iter().all(Forwarder::is_empty);
        drained || self.shared.stop.load(Ordering::Acquire)
    }
}
