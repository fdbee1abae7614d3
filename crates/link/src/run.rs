//! The loop: reads packets from one TUN device, lets them through a path, writes them to the other. One thread, both
//! directions, no packet twice in memory.
//!
//! The thread sleeps until the next delivery or the next packet. Its lateness is measured, and adds to no later packet.

use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_net::measure::QueueStats;
use earlydrop_net::record::Fate;
use hdrhistogram::Histogram;
use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::burst::{self, Burst};
use crate::flows::{Flow, Flows};
use crate::header::{set_ce, Fragments, Header, Malformed};
use crate::path::{Delivery, Path, PathSpec, Watch};
use crate::record::Record;
use crate::seconds::Busy;
use crate::sys;

/// Packets read from one device before it is the turn of the other, and of deliveries.
const BATCH: usize = 16;
/// So many packets from one device, one right after the other, and the next are read in bursts.
const RUSH: u32 = 8;
/// But not if a delivery is due within this time, s: about twice as long as a burst takes.
const BURST: f64 = 100e-6;
/// So many deliveries are written one at a time; more that are due at once, as a burst.
const SINGLY: usize = 3;
/// Largest packet that IP knows.
const LARGEST: usize = 65_535;
/// The loop looks so often at what it has been asked, s.
const TURN: f64 = 0.02;
/// Longest lateness that the histogram tells apart, ns.
const LATEST_NS: u64 = 60_000_000_000;
/// With real-time priority the loop wakes up before a delivery, and asks for packets over and over until it is due: by as
/// much as this machine wakes it too late, but by this much at most, s. Without that priority others would pay for it.
const EARLY: f64 = 30e-6;
/// How fast it forgets that it woke up late: after so many times in good time half of that is left.
const FORGET: f64 = 64.0;
/// Priority among real-time threads: in the middle, below the kernel's own.
const PRIORITY: i32 = 50;

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Real-time priority (SCHED_FIFO).
    pub real_time: bool,
    /// Interval of the sampled series, s.
    pub series: Option<f64>,
    /// Keep so many arrivals of each direction with their fates.
    pub record: usize,
}

/// One direction: from which device to which, and what is between.
pub struct Direction {
    /// Where packets come from.
    pub from: OwnedFd,
    /// What happens to them.
    pub spec: PathSpec,
}

/// A link at work.
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<[PathOutcome; 2]>>>,
    clock: Clock,
}

/// What the loop is asked, and what it answers meanwhile.
#[derive(Default)]
struct Shared {
    /// Stop now.
    stop: AtomicBool,
    /// Stop as soon as nothing is under way.
    drain: AtomicBool,
    /// Begin to measure anew; how often it was asked.
    restarts: AtomicU64,
    /// Somebody looks on.
    watched: AtomicBool,
    view: Mutex<Option<[View; 2]>>,
}

impl Shared {
    fn view(&self) -> MutexGuard<'_, Option<[View; 2]>> {
        // A view is replaced whole: one that a panic has left is as good as any.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wall time as the paths know it.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    #[inline]
    fn now(self) -> Time {
        Time::from_seconds(self.0.elapsed().as_secs_f64())
    }
}

/// What a direction looks like at a moment; counts since the measured window began.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Time, s.
    pub time: f64,
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// The discipline's average, packets.
    pub average: Option<f64>,
    /// Mean sojourn time of the packets that have left, s.
    pub sojourn_mean: f64,
    /// How many have left since the window began.
    pub counters: Counters,
    /// Inner values of the discipline.
    pub gauges: Vec<(&'static str, f64)>,
    /// The flows with the most delivered bytes, by number.
    pub flows: Vec<(usize, Flow)>,
}

/// The sampled series of a direction.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// s.
    pub time: Vec<f64>,
    /// Packets waiting.
    pub packets: Vec<u64>,
    /// The discipline's average, packets; NaN without one.
    pub average: Vec<f64>,
    /// Drops since the window began.
    pub dropped: Vec<u64>,
}

/// Packets that no queue saw, and other trouble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Without a usable IP header, by kind: empty, version, header length, truncated header, truncated.
    pub malformed: [u64; 5],
    /// That the other device did not take.
    pub refused: u64,
}

impl Trouble {
    /// All malformed packets.
    pub fn all_malformed(&self) -> u64 {
        self.malformed.iter().sum()
    }
}

/// What a direction did in the measured window.
pub struct PathOutcome {
    /// Window, s since the link began.
    pub window: (f64, f64),
    /// Rate of the link: the mean over the window where it changes, bit/s.
    pub rate_bps: f64,
    /// Counts of the queue.
    pub counters: Counters,
    /// Its statistics.
    pub stats: QueueStats,
    /// Whether the discipline keeps an average.
    pub has_average: bool,
    /// Packets waiting when the window began and when it ended.
    pub queued: (u64, u64),
    /// Packets lost on the way.
    pub lost: u64,
    /// Packets written to the other device, and their bytes.
    pub delivered: (u64, u64),
    /// Packets delivered with CE that had come without.
    pub ce_set: u64,
    /// Packets that were read, and written, several in a system call.
    pub in_bursts: (u64, u64),
    /// Packets still on the delay line at the end.
    pub in_flight: u64,
    /// Seconds with packets waiting throughout.
    pub busy: Option<Busy>,
    /// How late deliveries were, ns.
    pub lateness: Histogram<u64>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// What else happened.
    pub trouble: Trouble,
    /// Samples, if asked for.
    pub series: Option<Series>,
    /// Arrivals with their fates since the link began, if asked for.
    pub record: Option<Record>,
}

/// A packet in memory.
#[derive(Default)]
struct Slot {
    bytes: Vec<u8>,
    flow: u32,
    /// Number in the record.
    number: Option<u32>,
    ecn: Ecn,
}

/// Everything of a direction that hears of the fates of packets.
struct Books {
    slots: Vec<Slot>,
    free: Vec<u32>,
    flows: Flows,
    record: Option<Record>,
    keep: usize,
}

impl Books {
    /// Whether `packet` has CE and came without.
    fn is_marked(&self, packet: &Packet) -> bool {
        packet.ecn == Ecn::Ce && self.slots[packet.tag as usize].ecn != Ecn::Ce
    }

    fn settle(&mut self, packet: &Packet, fate: Fate) {
        if let (Some(record), Some(number)) = (&mut self.record, self.slots[packet.tag as usize].number) {
            record.settle(number as usize, fate);
        }
    }
}

impl Watch for Books {
    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
        self.settle(packet, Fate::Dropped { at: now, reason });
        self.flows.get_mut(self.slots[packet.tag as usize].flow).drops += 1;
        self.free.push(packet.tag);
    }

    fn departed(&mut self, packet: &Packet, now: Time) {
        self.settle(packet, Fate::Departed { at: now, ecn: packet.ecn });
        let slot = &self.slots[packet.tag as usize];
        if packet.ecn != slot.ecn {
            self.flows.get_mut(slot.flow).marks += 1;
        }
    }

    fn lost(&mut self, packet: &Packet, _now: Time) {
        self.flows.get_mut(self.slots[packet.tag as usize].flow).lost += 1;
        self.free.push(packet.tag);
    }
}

/// One direction at work.
struct Way {
    from: OwnedFd,
    path: Path,
    books: Books,
    fragments: Fragments,
    lateness: Histogram<u64>,
    trouble: Trouble,
    delivered: (u64, u64),
    ce_set: u64,
    in_bursts: (u64, u64),
    series: Option<Series>,
    begin: f64,
    /// Deliveries that are being written.
    due: Vec<Delivery>,
    /// Packets that have come one right after the other.
    streak: u32,
}

impl Way {
    fn new(direction: Direction, settings: &Settings) -> Way {
        Way {
            from: direction.from,
            path: Path::new(direction.spec),
            books: Books {
                slots: Vec::new(),
                free: Vec::new(),
                flows: Flows::default(),
                record: (settings.record > 0).then(Record::default),
                keep: settings.record,
            },
            fragments: Fragments::new(),
            lateness: Histogram::new_with_bounds(1, LATEST_NS, 3).expect("these bounds are valid"),
            trouble: Trouble::default(),
            delivered: (0, 0),
            ce_set: 0,
            in_bursts: (0, 0),
            series: settings.series.map(|_| Series::default()),
            begin: 0.0,
            due: Vec::with_capacity(burst::MOST),
            streak: 0,
        }
    }

    /// A packet has come.
    fn take(&mut self, bytes: &[u8], now: Time) {
        let header = match Header::read(bytes) {
            Ok(header) => header,
            Err(malformed) => {
                let kind = match malformed {
                    Malformed::Empty => 0,
                    Malformed::Version => 1,
                    Malformed::HeaderLength => 2,
                    Malformed::TruncatedHeader => 3,
                    Malformed::Truncated => 4,
                };
                self.trouble.malformed[kind] += 1;
                return;
            }
        };
        let endpoints = self.fragments.endpoints(&header);
        let key = endpoints.key();
        let books = &mut self.books;
        let tag = books.free.pop().unwrap_or_else(|| {
            books.slots.push(Slot::default());
            books.slots.len() as u32 - 1
        });
        let packet = Packet { tag, ..header.packet(bytes.len() as u32, key) };
        let flow = books.flows.number(key, &endpoints, now.seconds());
        let counts = books.flows.get_mut(flow);
        counts.arrivals += 1;
        counts.arrived_bytes += bytes.len() as u64;
        counts.last = now.seconds();
        let keep = books.keep;
        let number = books
            .record
            .as_mut()
            .and_then(|record| (record.arrivals.len() < keep).then(|| record.arrived(packet, now) as u32));
        let slot = &mut books.slots[tag as usize];
        (slot.flow, slot.number, slot.ecn) = (flow, number, header.ecn);
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        self.path.arrive(packet, now, books);
    }

    /// Writes everything that is due to `to`, many packets at once by `burst`.
    fn deliver(&mut self, to: &OwnedFd, clock: Clock, burst: &mut Option<Burst>) {
        let mut now = clock.now();
        self.path.advance(now, &mut self.books);
        let at_once = if burst.is_some() { burst::MOST } else { 1 };
        loop {
            self.due.clear();
            let path = &mut self.path;
            self.due.extend(std::iter::from_fn(|| path.deliver(now)).take(at_once));
            if self.due.is_empty() {
                return;
            }
            for delivery in &self.due {
                if self.books.is_marked(&delivery.packet) {
                    set_ce(&mut self.books.slots[delivery.packet.tag as usize].bytes);
                }
            }
            // What the kernel has not taken by a burst is written singly.
            let mut done = 0;
            if let Some(ring) = burst.as_mut().filter(|_| self.due.len() > SINGLY) {
                let slots = &self.books.slots;
                let packets = self.due.iter().map(|delivery| slots[delivery.packet.tag as usize].bytes.as_slice());
                match ring.write(to, packets) {
                    Ok(results) => {
                        now = clock.now();
                        done = results.len();
                        self.in_bursts.1 += done as u64;
                        for (i, &result) in results.iter().enumerate() {
                            self.delivered(i, result >= 0, now);
                        }
                    }
                    Err(_) => *burst = None,
                }
            }
            for i in done..self.due.len() {
                let written = nix::unistd::write(to, &self.books.slots[self.due[i].packet.tag as usize].bytes);
                self.delivered(i, written.is_ok(), now);
                now = clock.now();
            }
            self.path.advance(now, &mut self.books);
        }
    }

    /// The delivery `self.due[i]` was `written`, or refused, at `now`.
    fn delivered(&mut self, i: usize, written: bool, now: Time) {
        let delivery = self.due[i];
        let tag = delivery.packet.tag;
        let late = now - delivery.at;
        self.lateness.saturating_record((late * 1e9) as u64);
        let (from, until) = delivery.sent;
        self.path.seconds().sent(from.seconds() + late, until.seconds() + late, delivery.packet.size);
        if written {
            let slot = &self.books.slots[tag as usize];
            let (flow, bytes) = (slot.flow, slot.bytes.len() as u64);
            self.ce_set += u64::from(self.books.is_marked(&delivery.packet));
            let flow = self.books.flows.get_mut(flow);
            flow.delivered += 1;
            flow.delivered_bytes += bytes;
            self.delivered.0 += 1;
            self.delivered.1 += bytes;
        } else {
            self.trouble.refused += 1;
        }
        self.books.free.push(tag);
    }

    fn sample(&mut self, now: Time) {
        let Some(series) = &mut self.series else { return };
        self.path.advance(now, &mut self.books);
        series.time.push(now.seconds());
        series.packets.push(self.path.packets());
        series.average.push(self.path.average().unwrap_or(f64::NAN));
        series.dropped.push(self.path.counters().drops());
    }

    fn restart(&mut self, now: Time) {
        self.path.restart(now, &mut self.books);
        self.books.flows.restart();
        self.lateness.reset();
        self.trouble = Trouble::default();
        (self.delivered, self.ce_set, self.in_bursts) = ((0, 0), 0, (0, 0));
        self.begin = now.seconds();
        if let Some(series) = &mut self.series {
            *series = Series::default();
        }
    }

    fn view(&mut self, now: Time) -> View {
        self.path.advance(now, &mut self.books);
        let mut gauges = Vec::new();
        self.path.gauges(&mut |name, value| gauges.push((name, value)));
        let all = self.books.flows.all();
        let mut order: Vec<usize> = (0..all.len()).collect();
        let shown = order.len().min(10);
        if order.len() > shown {
            order.select_nth_unstable_by_key(shown - 1, |&i| std::cmp::Reverse(all[i].delivered_bytes));
        }
        View {
            time: now.seconds(),
            packets: self.path.packets(),
            bytes: self.path.bytes(),
            average: self.path.average(),
            sojourn_mean: self.path.stats().mean_sojourn(),
            counters: *self.path.counters(),
            gauges,
            flows: order[..shown].iter().map(|&i| (i, all[i].clone())).collect(),
        }
    }

    fn finish(mut self, now: Time) -> PathOutcome {
        self.path.finish(now, &mut self.books);
        let window = (self.begin, now.seconds());
        let rate_bps = self.path.mean_rate(window.0, window.1).unwrap_or(self.path.rate_bps());
        PathOutcome {
            window,
            rate_bps,
            counters: *self.path.counters(),
            has_average: self.path.average().is_some(),
            queued: (self.path.queued_at_start(), self.path.packets()),
            lost: self.path.lost(),
            delivered: self.delivered,
            ce_set: self.ce_set,
            in_bursts: self.in_bursts,
            in_flight: self.path.in_flight() as u64,
            busy: self.path.seconds().busy(),
            lateness: self.lateness,
            flows: self.books.flows.all().to_vec(),
            trouble: self.trouble,
            series: self.series,
            record: self.books.record,
            stats: self.path.into_stats(),
        }
    }

    fn is_empty(&self) -> bool {
        self.path.packets() == 0 && self.path.in_flight() == 0
    }
}

/// Both directions and what they share.
struct Loop {
    ways: [Way; 2],
    shared: Arc<Shared>,
    clock: Clock,
    series: Option<f64>,
    next_sample: f64,
    next_turn: f64,
    /// It wakes up so much before a delivery, s, and at most.
    early: f64,
    most_early: f64,
    restarts: u64,
    /// A buffer for each packet of a burst; the first is also for single ones.
    buffers: Vec<Vec<u8>>,
    burst: Option<Burst>,
}

impl Loop {
    fn run(mut self) -> Result<[PathOutcome; 2]> {
        let mut readable = [true; 2];
        loop {
            self.deliver();
            let now = self.clock.now();
            if now.seconds() >= self.next_turn && self.look_up(now) {
                let end = self.clock.now();
                return Ok(self.ways.map(|way| way.finish(end)));
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
        let [there, back] = &mut self.ways;
        there.deliver(&back.from, self.clock, &mut self.burst);
        back.deliver(&there.from, self.clock, &mut self.burst);
    }

    fn next_delivery(&self) -> Option<Time> {
        let [there, back] = &self.ways;
        [there.path.next_delivery(), back.path.next_delivery()].into_iter().flatten().min()
    }

    /// Reads some packets; whether there may be more.
    fn read(&mut self, at: usize) -> Result<bool> {
        if self.burst.is_some() && self.ways[at].streak >= RUSH {
            let now = self.clock.now();
            if self.next_delivery().is_none_or(|due| due > now + BURST) {
                if let Some(more) = self.read_burst(at)? {
                    return Ok(more);
                }
            }
        }
        for _ in 0..BATCH {
            match nix::unistd::read(&self.ways[at].from, &mut self.buffers[0]) {
                Ok(length) => {
                    let now = self.clock.now();
                    let way = &mut self.ways[at];
                    way.streak = way.streak.saturating_add(1);
                    way.take(&self.buffers[0][..length], now);
                    if self.next_delivery().is_some_and(|due| due <= now) {
                        return Ok(true);
                    }
                }
                Err(Errno::EAGAIN) => {
                    self.ways[at].streak = 0;
                    return Ok(false);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Reads a burst of packets, all of which have come when the last of them is read; whether there may be more. `None` if
    /// this machine does not do that, from then on.
    fn read_burst(&mut self, at: usize) -> Result<Option<bool>> {
        let Some(burst) = &mut self.burst else { return Ok(None) };
        let way = &mut self.ways[at];
        let Ok(results) = burst.read(&way.from, &mut self.buffers) else {
            self.burst = None;
            return Ok(None);
        };
        let now = self.clock.now();
        for (buffer, &result) in self.buffers.iter().zip(results) {
            match usize::try_from(result) {
                Ok(length) => {
                    way.in_bursts.0 += 1;
                    way.take(&buffer[..length], now);
                }
                Err(_) if matches!(-result, libc::EAGAIN | libc::EINTR) => way.streak = 0,
                Err(_) => return Err(std::io::Error::from_raw_os_error(-result)),
            }
        }
        Ok(Some(way.streak > 0))
    }

    /// Sleeps until a packet comes, a delivery is due or somebody may have asked for something; which devices have packets.
    fn sleep(&mut self) -> Result<[bool; 2]> {
        let now = self.clock.now();
        let until = self.next_delivery().map_or(self.next_turn, |due| due.seconds().min(self.next_turn));
        let wake = until - self.early;
        let left = ((wake - now.seconds()) * 1e9).max(0.0) as i64;
        let [there, back] = &self.ways;
        let mut fds = [&there.from, &back.from].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::nanoseconds(left)), None) {
            Ok(0) if left > 0 && self.most_early > 0.0 => {
                let late = self.clock.now().seconds() - wake;
                let kept = self.early * (1.0 - std::f64::consts::LN_2 / FORGET);
                self.early = late.max(kept).min(self.most_early);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(fds.map(|fd| fd.any().unwrap_or(true)))
    }

    /// Does what has been asked for, and takes samples; whether to stop.
    fn look_up(&mut self, now: Time) -> bool {
        if let Some(interval) = self.series {
            if now.seconds() >= self.next_sample {
                self.ways.iter_mut().for_each(|way| way.sample(now));
                // Samples that were missed are not made up.
                self.next_sample = (self.next_sample + interval).max(now.seconds());
            }
        }
        let restarts = self.shared.restarts.load(Ordering::Acquire);
        if restarts != self.restarts {
            self.restarts = restarts;
            self.ways.iter_mut().for_each(|way| way.restart(now));
        }
        if self.shared.watched.load(Ordering::Relaxed) {
            let views = self.ways.each_mut().map(|way| way.view(now));
            *self.shared.view() = Some(views);
        }
        let turn = now.seconds() + TURN;
        self.next_turn = if self.series.is_some() { turn.min(self.next_sample) } else { turn };
        let drained = self.shared.drain.load(Ordering::Acquire) && self.ways.iter().all(Way::is_empty);
        drained || self.shared.stop.load(Ordering::Acquire)
    }
}

impl Running {
    /// Starts the loop on a thread of its own: `there` carries packets from its device to that of `back`, and the other
    /// way round. Time begins now.
    ///
    /// # Errors
    /// If there is no thread for it, or no permission for real-time priority.
    pub fn start(there: Direction, back: Direction, settings: &Settings) -> Result<Running> {
        let shared = Arc::new(Shared::default());
        let clock = Clock(Instant::now());
        let settings = settings.clone();
        let mine = Arc::clone(&shared);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let body = move || {
            let prepared = prepare(&settings);
            let good = prepared.is_ok();
            // Whoever asked has gone: then nobody wants the link either.
            if ready.send(prepared).is_err() || !good {
                return Err(Errno::ECANCELED.into());
            }
            // Until the loop ends.
            let _awake = if settings.real_time { sys::stay_awake() } else { None };
            let ways = [Way::new(there, &settings), Way::new(back, &settings)];
            let series = settings.series;
            let (next_sample, next_turn) = (0.0, 0.0);
            // One by one: copies of the first would take memory that no packet ever needs.
            let buffers = (0..burst::MOST).map(|_| vec![0; LARGEST + 1]).collect();
            let burst = Burst::open();
            let early = if settings.real_time { EARLY } else { 0.0 };
            let most_early = early;
            Loop {
                ways,
                shared: mine,
                clock,
                series,
                next_sample,
                next_turn,
                early,
                most_early,
                restarts: 0,
                buffers,
                burst,
            }
            .run()
        };
        let thread = thread::Builder::new().name("link".to_string()).spawn(body)?;
        is_ready.recv().map_err(|_| Errno::ECANCELED)??;
        Ok(Running { shared, thread: Some(thread), clock })
    }

    /// Seconds since it began.
    pub fn time(&self) -> f64 {
        self.clock.now().seconds()
    }

    /// Whether it is still at work; it stops by itself only when a device is taken away.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Begins to measure anew, within some milliseconds.
    pub fn restart(&self) {
        self.shared.restarts.fetch_add(1, Ordering::AcqRel);
    }

    /// How both directions looked some milliseconds ago; `None` at the very beginning.
    pub fn view(&self) -> Option<[View; 2]> {
        self.shared.watched.store(true, Ordering::Relaxed);
        self.shared.view().clone()
    }

    /// Ends it: as soon as nothing is under way, but after `patience` at the latest. What happened.
    ///
    /// # Errors
    /// If it ended before, because a device was taken away, or by a fault of its own.
    pub fn stop(&mut self, patience: Duration) -> Result<[PathOutcome; 2]> {
        self.shared.drain.store(true, Ordering::Release);
        let begin = Instant::now();
        while self.is_alive() && begin.elapsed() < patience {
            thread::sleep(Duration::from_millis(2));
        }
        self.shared.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return Err(Errno::ECANCELED.into()) };
        thread.join().unwrap_or_else(|_| Err(Errno::EOWNERDEAD.into()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // What it found is wanted by nobody.
            drop(thread.join());
        }
    }
}

/// Makes the calling thread wake up in time.
fn prepare(settings: &Settings) -> Result<()> {
    nix::sys::prctl::set_timerslack(1)?;
    if settings.real_time {
        sys::real_time(PRIORITY)?;
    }
    Ok(())
}
