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

use crate::flows::{Flow, Flows};
use crate::header::{set_ce, Fragments, Header, Malformed};
use crate::path::{Path, PathSpec, Watch};
use crate::record::Record;
use crate::seconds::Busy;
use crate::sys;

/// Packets read from one device before it is the turn of the other, and of deliveries.
const BATCH: usize = 16;
/// Largest packet that IP knows.
const LARGEST: usize = 65_535;
/// The loop looks so often at what it has been asked, s.
const TURN: f64 = 0.02;
/// Longest lateness that the histogram tells apart, ns.
const LATEST_NS: u64 = 60_000_000_000;
/// With real-time priority the loop wakes up so much before a delivery, s, and asks for packets over and over until it is
/// due: about what a machine takes to wake a thread (docs/link.md). Without that priority others would pay for it.
const EARLY: f64 = 30e-6;
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
    series: Option<Series>,
    begin: f64,
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
            series: settings.series.map(|_| Series::default()),
            begin: 0.0,
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

    /// Writes everything that is due to `to`.
    fn deliver(&mut self, to: &OwnedFd, clock: Clock) {
        let mut now = clock.now();
        self.path.advance(now, &mut self.books);
        while let Some(delivery) = self.path.deliver(now) {
            let tag = delivery.packet.tag;
            let slot = &mut self.books.slots[tag as usize];
            let marked = delivery.packet.ecn == Ecn::Ce && slot.ecn != Ecn::Ce;
            if marked {
                set_ce(&mut slot.bytes);
            }
            let written = nix::unistd::write(to, &slot.bytes);
            let late = now - delivery.at;
            self.lateness.saturating_record((late * 1e9) as u64);
            let (from, until) = delivery.sent;
            self.path.seconds().sent(from.seconds() + late, until.seconds() + late, delivery.packet.size);
            match written {
                Ok(_) => {
                    let flow = self.books.flows.get_mut(slot.flow);
                    flow.delivered += 1;
                    flow.delivered_bytes += slot.bytes.len() as u64;
                    self.delivered.0 += 1;
                    self.delivered.1 += slot.bytes.len() as u64;
                    self.ce_set += u64::from(marked);
                }
                Err(_) => self.trouble.refused += 1,
            }
            self.books.free.push(tag);
            now = clock.now();
            self.path.advance(now, &mut self.books);
        }
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
        (self.delivered, self.ce_set) = ((0, 0), 0);
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
    early: f64,
    restarts: u64,
    buffer: Vec<u8>,
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
        there.deliver(&back.from, self.clock);
        back.deliver(&there.from, self.clock);
    }

    fn next_delivery(&self) -> Option<Time> {
        let [there, back] = &self.ways;
        [there.path.next_delivery(), back.path.next_delivery()].into_iter().flatten().min()
    }

    /// Reads some packets; whether there may be more.
    fn read(&mut self, at: usize) -> Result<bool> {
        for _ in 0..BATCH {
            match nix::unistd::read(&self.ways[at].from, &mut self.buffer) {
                Ok(length) => {
                    let now = self.clock.now();
                    self.ways[at].take(&self.buffer[..length], now);
                    if self.next_delivery().is_some_and(|due| due <= now) {
                        return Ok(true);
                    }
                }
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Sleeps until a packet comes, a delivery is due or somebody may have asked for something; which devices have packets.
    fn sleep(&mut self) -> Result<[bool; 2]> {
        let now = self.clock.now();
        let until = self.next_delivery().map_or(self.next_turn, |due| due.seconds().min(self.next_turn));
        let left = ((until - self.early - now.seconds()) * 1e9).max(0.0) as i64;
        let [there, back] = &self.ways;
        let mut fds = [&there.from, &back.from].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::nanoseconds(left)), None) {
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
            let buffer = vec![0; LARGEST + 1];
            let early = if settings.real_time { EARLY } else { 0.0 };
            Loop { ways, shared: mine, clock, series, next_sample, next_turn, early, restarts: 0, buffer }.run()
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
