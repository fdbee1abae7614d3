//! How large anything in a scenario may be, for the checker and the JSON schema.

use super::measures::{Interval, Measure};
use super::units;
use earlydrop_net::tcp::ns2::core::MIN_RTO;

/// Longest name, in characters.
pub(super) const NAME: usize = 100;
/// Largest seed.
pub(super) const SEED: u64 = i64::MAX as u64;
/// Most pairs of hosts, or senders to one receiver.
pub(super) const HOSTS: u64 = 2_000_000;
/// Most routers of a topology, most links between them, and most hosts behind queues of their own.
pub(super) const ROUTERS: u64 = 200_000;
/// Most flows of one traffic entry.
pub(super) const COUNT: u64 = 2_000_000;
/// Most flows of a scenario.
pub(super) const FLOWS: u64 = 2_000_000;
/// Most values of a list.
pub(super) const LIST: usize = 1_000_000;
/// Most links of a flow's route out and back.
pub(super) const HOPS: usize = 250;
/// Largest time to live.
pub(super) const TTL: u64 = 255;
/// Largest file of a link's trace, in bytes.
pub(super) const TRACE_BYTES: u64 = 1 << 24;
/// Latest delivery opportunity of a trace, in milliseconds.
pub(super) const TRACE_MS: u64 = 1_000_000_000;
/// Most changes of a link's rate in a run, by a schedule that repeats: a second of computing, with a busy link.
pub(super) const CHANGES: f64 = 1e8;
/// Most packets for each lost one, with `loss = { every = N }`.
pub(super) const LOSS_EVERY: u64 = 1_000_000_000;
/// Largest segment, in bytes.
pub(super) const SEGMENT: u32 = 65_000;
/// Largest packet on the wire, in bytes: IPv4's total length has 16 bits.
pub(super) const PACKET: u32 = 65_535;
/// Largest window, in segments.
pub(super) const WINDOW: u64 = 1_000_000;
/// Most transfers of a flow.
pub(super) const TRANSFERS: u64 = 1_000_000_000;
/// Largest class of packets: disciplines distinguish eight.
pub(super) const CLASS: u64 = 7;
/// Most points of a distribution.
pub(super) const POINTS: usize = 10_000;
/// Largest buffer, in packets.
pub(super) const LIMIT_PACKETS: u64 = 1_000_000_000;
/// Largest buffer, in bytes.
pub(super) const LIMIT_BYTES: u64 = 1_000_000_000_000;
/// Largest buffer, in bandwidth-delay products.
pub(super) const PRODUCTS: Interval =
    Interval { low: 0.0, high: 1000.0, open_low: true, open_high: false, unit: "bdp" };
/// Most recorded events.
pub(super) const TRACE: u64 = 10_000_000;
/// Number of inner values assumed for a discipline where its samples are counted in advance.
pub(super) const GAUGES: usize = 32;
/// Most numbers in a recorded series.
pub(super) const SAMPLES: f64 = 1e7;
/// Largest seed of MRG32k3a when it fills all six words: the second modulus, 4294944443, less one.
pub(super) const MRG_SEED: u64 = 4_294_944_442;
/// Most skipped random numbers.
pub(super) const SKIP: u64 = 1_000_000_000;

/// Most flows whose rates are recorded without `rate_flows`.
pub(super) const RATE_FLOWS: u64 = 64;
/// Most flows of which every packet's delay is recorded.
pub(super) const DELAY_FLOWS: usize = 64;
/// Most traffic entries with counters of their own at every queue: each has a histogram there.
pub(super) const ENTRIES_BY_FLOW: usize = 200;
/// Most flows with delays or losses of their own: each has a histogram.
pub(super) const FLOWS_END_TO_END: u64 = 1000;

/// Simulated time.
pub(super) const DURATION: Interval = seconds(0.0, 1e6, true);
/// Start times.
pub(super) const START: Interval = seconds(0.0, 1e6, false);
/// Most round trips of a 40 B packet in a run: more than a day of simulation.
pub(super) const ROUNDS: f64 = 1e11;
/// Most packets of a traffic entry without feedback in a run: hours of simulation.
pub(super) const PACKETS: f64 = 1e11;
/// Most packets of a media entry in a run: packets of a flow are numbered.
pub(super) const NUMBERED: f64 = 2e9;
/// Most objects of a web entry in a run, on average: objects that wait for a connection are kept in memory.
pub(super) const OBJECTS: f64 = 1e7;
/// Propagation delays.
pub(super) const DELAY: Interval = seconds(0.0, 1e4, false);
/// Shortest time between two packets of a constant bit rate, in seconds.
pub(super) const CBR_INTERVAL: f64 = 1e-9;
/// Payloads of packets.
pub(super) const PAYLOAD: Interval = bytes(1.0, SEGMENT as f64);
/// What a link layer may add to a packet, bytes; `tc` allows as much for the smallest frame.
pub(super) const OVERHEAD: u32 = 256;
/// Sizes of transfers.
pub(super) const TRANSFER: Interval = bytes(0.0, 1e12);
/// Sizes of frames.
pub(super) const FRAME: Interval = bytes(1.0, 1e9);
/// Numbers of pages and objects.
pub(super) const THINGS: Interval = Interval { low: 1.0, high: 1e6, open_low: false, open_high: false, unit: "" };
/// Sampling interval.
pub(super) const SERIES: Interval = seconds(1e-6, 1e6, false);
/// How long an ACK may be delayed (RFC 5681, 4.2).
pub(super) const ACK_DELAY: Interval = Interval { open_low: true, ..seconds(0.0, 0.5, false) };
/// The shortest retransmission timeout: the engine's plan relies on ns-2's 0.2 s at least; up to its `maxrto_`.
pub(super) const SHORTEST_RTO: Interval = seconds(MIN_RTO, 60.0, false);
/// Phases of a clock that ticks every 10 ms.
pub(super) const PHASE: Interval = Interval { open_high: true, ..seconds(0.0, 0.01, false) };
/// Rates.
pub(super) const RATE: Interval = Interval { low: 0.0, high: 1e15, open_low: true, open_high: false, unit: "bit/s" };

/// Rates of a link that may be down.
pub(super) const RATE_OR_DOWN: Interval = Interval { open_low: false, ..RATE };
/// Time for access to a medium, and of an aggregate.
pub(super) const ACCESS: Interval = seconds(0.0, 10.0, true);
/// Most packets, or bytes, of an aggregate.
pub(super) const AGGREGATE: u32 = 1_000_000_000;
/// Period of a schedule of rates.
pub(super) const REPEAT: Interval = seconds(0.0, 1e6, true);
/// Largest file of a link's model, in bytes.
pub(super) const MODEL_BYTES: u64 = 1 << 16;
/// Steps of a process.
pub(super) const STEP: Interval = seconds(1e-3, 1e3, false);
/// Time constants of a process.
pub(super) const TIME_CONSTANT: Interval = seconds(1e-3, 1e6, false);
/// Weights of a process's time constants.
pub(super) const WEIGHT: Interval = Interval { low: 0.0, high: 1.0, open_low: true, open_high: false, unit: "" };
/// Probabilities of quantiles.
pub(super) const QUANTILE: Interval = Interval { low: 1e-4, high: 0.9999, open_low: false, open_high: false, unit: "" };
/// Probabilities.
pub(super) const PROBABILITY: Interval = Interval { low: 0.0, high: 1.0, open_low: false, open_high: false, unit: "" };
/// Mean stay in the bad state of a link that loses packets in bursts, packets.
pub(super) const BURST: Interval = Interval { low: 1.0, high: 1e6, open_low: false, open_high: false, unit: "packets" };
/// Links at a router, on average.
pub(super) const DEGREE: Interval = Interval { low: 0.0, high: 1e6, open_low: false, open_high: false, unit: "links" };
/// Coordinates in a picture.
pub(super) const PLACE: Interval = Interval { low: -1e6, high: 1e6, open_low: false, open_high: false, unit: "" };

/// A number from 0 to 1, or a percentage.
pub(super) static PROBABILITIES: Measure =
    Measure { read: units::probability, form: units::PROBABILITY_FORM, bare: true };
/// A number without a unit.
pub(super) const NUMBERS: Measure = Measure { read: units::number, form: "a number", bare: true };
/// A text such as `"10 Mbit/s"`.
pub(super) const RATES: Measure = Measure { read: units::rate, form: units::RATE_FORM, bare: false };
/// A text such as `"20 ms"`.
pub(super) const TIMES: Measure = Measure { read: units::time, form: units::TIME_FORM, bare: false };
/// A text such as `"2.5 ms"`, or a number of seconds.
pub(super) const SECONDS: Measure =
    Measure { read: units::time, form: "seconds, or a time such as \"2.5 ms\"", bare: true };
/// A text such as `"1000 B"`, or a number of bytes.
pub(super) const SIZES: Measure = Measure { read: units::size, form: units::SIZE_FORM, bare: true };

const fn bytes(low: f64, high: f64) -> Interval {
    Interval { low, high, open_low: false, open_high: false, unit: "B" }
}

const fn seconds(low: f64, high: f64, open_low: bool) -> Interval {
    Interval { low, high, open_low, open_high: false, unit: "s" }
}
