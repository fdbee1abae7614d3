//! Random early detection for any drop curve, in four dialects.
//!
//! | | paper (1993) | ns2 (2.35) | ns3 | linux (`sch_red`) |
//! |---|---|---|---|---|
//! | average after idle | decays only | decays, then adds w*q | as ns2 | decays by a table of shifts |
//! | queue of 0 or 1 | tested as any | never dropped early | as ns2 | tested as any |
//! | first packet above min_th | tested | admitted, starts the count | as ns2 | admitted, draws R |
//! | count moves | between the thresholds | at every arrival | at every arrival | between the thresholds |
//! | spacing | p_b/(1 - count p_b) | `wait`: nothing before 1/p_b | as ns2 | one random number per drop |
//! | above max_th | dropped | spaced with p_b = 1 | dropped | marked if it can be |
//! | lengths | packets or bytes | packets or bytes | packets or bytes | bytes |

use crate::catalogue::Link;
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::average::{Average, LinuxAverage};
use crate::parts::curve::{Curve, Linear};
use crate::parts::pick;
use crate::parts::spacing;
use crate::policy::{Context, Limit, QueueView, Reason, Room, Verdict};
use crate::{Packet, Time};

/// Whose RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Floyd & Jacobson 1993, the pseudo-code.
    Paper,
    /// ns-2.35, `queue/red.cc`.
    Ns2,
    /// ns-3, `red-queue-disc.cc`.
    Ns3,
    /// Linux, `sch_red` and `red.h`.
    Linux,
}

/// What to do when the average is past the end of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverMax {
    Drop,
    Mark,
    MarkBelowMarkP,
}

/// Defaults in which the disciplines of the family differ.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Lower threshold, packets.
    pub min_th: f64,
    /// Upper threshold, packets.
    pub max_th: f64,
    /// Probability at the upper threshold.
    pub max_p: f64,
    /// Where these come from.
    pub source: &'static str,
}

/// Number of shared parameters.
pub const SHARED: usize = 14;

/// The shared parameters of the family.
pub const fn params(d: Defaults) -> [Param; SHARED] {
    const fn real(low: f64, high: f64, open_low: bool, auto: bool) -> Kind {
        Kind::Real { low, high, open_low, open_high: false, auto }
    }
    [
        Param {
            name: "min_th",
            symbol: "min_{th}",
            unit: Unit::QueueLength,
            kind: real(0.0, f64::INFINITY, false, true),
            default: Value::Real(d.min_th),
            source: d.source,
            doc: "Average queue below which nothing is dropped; \"auto\" is ns-2's max(5, 5 ms of packets / 2).",
        },
        Param {
            name: "max_th",
            symbol: "max_{th}",
            unit: Unit::QueueLength,
            kind: real(0.0, f64::INFINITY, true, true),
            default: Value::Real(d.max_th),
            source: d.source,
            doc: "Average queue at which the drop probability reaches max_p; \"auto\" is three times min_th.",
        },
        Param {
            name: "max_p",
            symbol: "max_p",
            unit: Unit::None,
            kind: real(0.0, 1.0, true, false),
            default: Value::Real(d.max_p),
            source: d.source,
            doc: "Drop probability when the average reaches max_th.",
        },
        Param {
            name: "w_q",
            symbol: "w_q",
            unit: Unit::None,
            kind: real(0.0, 1.0, true, true),
            default: Value::Real(0.002),
            source: "Floyd & Jacobson 1993",
            doc: "Weight of a new sample in the average; \"auto\" is ns-2's 1 - exp(-1/(10 rtt C)); linux rounds to a power of two.",
        },
        Param {
            name: "dialect",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Choice(&["paper", "ns2", "ns3", "linux"]),
            default: Value::Choice("paper"),
            source: "Floyd & Jacobson 1993",
            doc: "Whose RED: the 1993 pseudo-code, ns-2.35, ns-3 or Linux sch_red; they differ in idle decay, spacing and forced drops.",
        },
        Param {
            name: "wait",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Flag { auto: true },
            default: Value::Auto,
            source: "ns-2.35: on; the 1993 rule: off",
            doc: "No drop before 1/p_b packets have passed since the last one (ns2 and ns3 only, where auto means on).",
        },
        Param {
            name: "unit",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Choice(&["auto", "packet", "byte"]),
            default: Value::Choice("auto"),
            source: "Floyd & Jacobson 1993: packets; Linux: bytes",
            doc: "Whether the average counts packets or bytes; auto is packet, and byte for linux.",
        },
        Param {
            name: "byte_scaling",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Flag { auto: false },
            default: Value::Flag(false),
            source: "Floyd & Jacobson 1993; on by default in ns-2 since 2004",
            doc: "Drop probability in proportion to the packet's size (ns-2's bytes_); not in linux.",
        },
        Param {
            name: "count_base",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Choice(&["pseudocode", "analysis"]),
            default: Value::Choice("pseudocode"),
            source: "Floyd & Jacobson 1993, Fig. 2 against section 4",
            doc: "paper dialect: gaps uniform on 1..1/p_b - 1 as the pseudo-code has it, or on 1..1/p_b as the analysis says.",
        },
        Param {
            name: "ecn_over_max",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Choice(&["auto", "drop", "mark", "mark_below_mark_p"]),
            default: Value::Choice("auto"),
            source: "auto: paper, ns3 drop; ns2 mark_below_mark_p (use_mark_p_); linux mark",
            doc: "Past the end of the curve: drop, mark if possible, or (ns2) go through the spacing and mark only while p_b < mark_p.",
        },
        Param {
            name: "mark_p",
            symbol: "",
            unit: Unit::None,
            kind: real(0.0, 2.0, false, false),
            default: Value::Real(0.1),
            source: "ns-2.35",
            doc: "With mark_below_mark_p: ECN marks only while p_b is below this, strictly; packets are dropped from it on.",
        },
        Param {
            name: "mean_packet",
            symbol: "L_m",
            unit: Unit::Bytes,
            kind: real(1.0, 65535.0, false, false),
            default: Value::Real(500.0),
            source: "ns-2.35, ns-3",
            doc: "Mean packet size: sets the idle decay, and turns thresholds from packets into bytes.",
        },
        Param {
            name: "max_packet",
            symbol: "L_{max}",
            unit: Unit::Bytes,
            kind: real(1.0, 65535.0, false, false),
            default: Value::Real(1500.0),
            source: "Ethernet",
            doc: "Largest packet: byte_scaling in the paper dialect multiplies p_b by size/max_packet.",
        },
        Param {
            name: "overflow_victim",
            symbol: "",
            unit: Unit::None,
            kind: Kind::Choice(&["tail", "front", "random"]),
            default: Value::Choice("tail"),
            source: "ns-2.35 (drop_tail_)",
            doc: "Which packet dies when there is no room: the arrival, the one at the front, or any queued one.",
        },
    ]
}

/// `shared` with another parameter in the place of the one called `name`.
pub const fn replacing(mut shared: [Param; SHARED], name: &str, own: Param) -> [Param; SHARED] {
    shared[place(&shared, name)] = own;
    shared
}

/// Place of a parameter by name, while the program is compiled.
const fn place(all: &[Param; SHARED], name: &str) -> usize {
    let mut i = 0;
    while i < SHARED {
        let (one, other) = (all[i].name.as_bytes(), name.as_bytes());
        let mut same = 0;
        while same < one.len() && same < other.len() && one[same] == other[same] {
            same += 1;
        }
        if same == one.len() && same == other.len() {
            return i;
        }
        i += 1;
    }
    panic!("no such shared parameter")
}

/// `shared` for a discipline of which there is no version in Linux.
pub const fn without_linux(shared: [Param; SHARED]) -> [Param; SHARED] {
    let dialect = Param {
        name: "dialect",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["paper", "ns2", "ns3"]),
        default: Value::Choice("paper"),
        source: "Floyd & Jacobson 1993",
        doc: "Whose RED: the 1993 pseudo-code, ns-2.35 or ns-3; they differ in idle decay, spacing and forced drops.",
    };
    replacing(shared, "dialect", dialect)
}

/// `value` of the queue length called `name`, in the unit in which the average is kept; `auto` for the word.
fn length_given(name: &'static str, value: Value, bytes: bool, mean_packet: f64, auto: f64) -> Result<f64, ParamError> {
    match value {
        Value::Real(x) if bytes => Ok(x * mean_packet),
        Value::Real(x) => Ok(x),
        Value::QueueBytes(x) if bytes => Ok(x),
        Value::QueueBytes(x) => {
            Err(ParamError::new(name, format!("{x} B"), "packets, or unit = \"byte\" to measure the queue in bytes"))
        }
        _ => Ok(auto),
    }
}

/// Those of the shared parameters that a discipline has, by name and in this order, where it does not have all.
/// [`Settings::read`] still takes the whole list: what is left out has its default.
pub const fn only<const N: usize>(all: &[Param; SHARED], names: [&str; N]) -> [Param; N] {
    let mut some = [all[0]; N];
    let mut n = 0;
    while n < N {
        some[n] = all[place(all, names[n])];
        n += 1;
    }
    some
}

/// Settings after checking, in the unit in which the average is kept; last what every arrival needs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Settings {
    /// Lower threshold (packets, or bytes in byte mode).
    pub min_th: f64,
    /// Upper threshold (packets, or bytes in byte mode).
    pub max_th: f64,
    /// Probability at the upper threshold.
    pub max_p: f64,
    weight: f64,
    mark_p: f64,
    max_packet: f64,
    packets_per_second: f64,
    rate_bps: f64,
    mean_packet: f64,
    wlog: u32,
    victim: Victim,
    analysis: bool,
    independent: bool,
    wait: bool,
    over_max: OverMax,
    byte_scaling: bool,
    bytes: bool,
    /// Whose RED.
    pub dialect: Dialect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Tail,
    Front,
    Random,
}

impl Settings {
    /// Reads the shared parameters; `declared` is the discipline's [`params`]. Without a `max_p` among them it is 1.
    ///
    /// # Errors
    /// Where values do not fit together: `min_th >= max_th`, a switch that the dialect does not have.
    pub fn read(values: &Values, declared: &[Param], link: &Link) -> Result<Settings, ParamError> {
        let param = |name: &str| declared.iter().find(|p| p.name == name).expect("declared");
        let real = |name: &str| match values.get(param(name)) {
            Value::Real(x) => x,
            _ => f64::NAN,
        };
        let choice = |name: &str| match values.get(param(name)) {
            Value::Choice(word) => word,
            _ => "",
        };
        let dialect = match choice("dialect") {
            "ns2" => Dialect::Ns2,
            "ns3" => Dialect::Ns3,
            "linux" => Dialect::Linux,
            _ => Dialect::Paper,
        };
        let like_ns = matches!(dialect, Dialect::Ns2 | Dialect::Ns3);
        let bytes = match choice("unit") {
            "packet" if dialect == Dialect::Linux => {
                return Err(ParamError::new(
                    "unit",
                    "packet",
                    "\"byte\" or \"auto\": linux measures its queue in bytes",
                ))
            }
            "auto" => dialect == Dialect::Linux,
            word => word == "byte",
        };
        let wait = match values.get(param("wait")) {
            Value::Flag(true) if !like_ns => {
                return Err(ParamError::new("wait", true, "false or \"auto\" here: only the dialects ns2 and ns3 wait"))
            }
            Value::Flag(given) => given,
            _ => like_ns,
        };
        let byte_scaling = values.get(param("byte_scaling")) == Value::Flag(true);
        if byte_scaling && dialect == Dialect::Linux {
            return Err(ParamError::new("byte_scaling", true, "false: linux does not scale by size"));
        }
        let over_max = match (choice("ecn_over_max"), dialect) {
            ("drop", _) | ("auto", Dialect::Paper | Dialect::Ns3) => OverMax::Drop,
            ("mark", _) | ("auto", Dialect::Linux) => OverMax::Mark,
            (_, Dialect::Ns2) => OverMax::MarkBelowMarkP,
            (word, _) => {
                return Err(ParamError::new(
                    "ecn_over_max",
                    word,
                    "\"auto\", \"drop\" or \"mark\" unless dialect = \"ns2\"",
                ))
            }
        };
        let mean_packet = real("mean_packet");
        let packets_per_second = link.rate_bps / (8.0 * mean_packet);
        let per_unit = if bytes { mean_packet } else { 1.0 };
        let threshold =
            |name: &'static str, auto: f64| length_given(name, values.get(param(name)), bytes, mean_packet, auto);
        let min_th = threshold("min_th", (packets_per_second * 0.005 / 2.0).max(5.0) * per_unit)?;
        let max_th = threshold("max_th", 3.0 * min_th)?;
        if max_th <= min_th {
            return Err(ParamError::new(
                "max_th",
                max_th / per_unit,
                format!("more than min_th ({})", min_th / per_unit),
            ));
        }
        let weight = match values.get(param("w_q")) {
            Value::Real(x) => x,
            _ => {
                let rtt = (3.0 * (link.delay_s + 1.0 / packets_per_second)).max(0.1);
                1.0 - libm::exp(-1.0 / (10.0 * rtt * packets_per_second))
            }
        };
        let wlog = match (dialect, values.get(param("w_q"))) {
            (Dialect::Linux, Value::Auto) => {
                let burst = (2.0 * min_th + max_th) / (3.0 * mean_packet);
                LinuxAverage::wlog_for_burst(min_th, burst, mean_packet).ok_or_else(|| {
                    ParamError::new(
                        "w_q",
                        "auto",
                        "a number: no weight lets tc's default burst pass with these thresholds",
                    )
                })?
            }
            _ => libm::round(-libm::log2(weight)).clamp(1.0, 31.0) as u32,
        };
        let victim = match choice("overflow_victim") {
            "front" => Victim::Front,
            "random" => Victim::Random,
            _ => Victim::Tail,
        };
        Ok(Settings {
            dialect,
            min_th,
            max_th,
            max_p: declared.iter().find(|p| p.name == "max_p").map_or(1.0, |_| real("max_p")),
            weight,
            wlog,
            bytes,
            byte_scaling,
            wait,
            independent: false,
            analysis: choice("count_base") == "analysis",
            over_max,
            mark_p: real("mark_p"),
            mean_packet,
            max_packet: real("max_packet"),
            packets_per_second,
            rate_bps: link.rate_bps,
            victim,
        })
    }

    /// `packets` in the unit in which the average is kept.
    pub fn in_unit(&self, packets: f64) -> f64 {
        if self.bytes {
            packets * self.mean_packet
        } else {
            packets
        }
    }

    /// `limit` in the unit in which the average is kept.
    pub fn limit_in_unit(&self, limit: Limit) -> f64 {
        match limit {
            Limit::Packets(n) => self.in_unit(n as f64),
            Limit::Bytes(n) if self.bytes => n as f64,
            Limit::Bytes(n) => n as f64 / self.mean_packet,
        }
    }

    /// A further queue length of the discipline's own, in the unit in which the average is kept; `auto` for the word.
    ///
    /// # Errors
    /// If it was written in bytes and the average counts packets.
    pub fn queue_length(&self, name: &'static str, value: Value, auto: f64) -> Result<f64, ParamError> {
        length_given(name, value, self.bytes, self.mean_packet, auto)
    }

    /// The same without spacing: p_a is p_b, each packet is drawn on its own.
    pub fn without_spacing(self) -> Settings {
        Settings { independent: true, ..self }
    }

    /// What waits in `queue`, in the unit in which the average is kept.
    #[inline]
    pub fn length(&self, queue: &QueueView<'_>) -> f64 {
        if self.bytes {
            queue.bytes as f64
        } else {
            queue.packets as f64
        }
    }

    /// When an arrival finds room. ns-2 multiplies a limit in packets by the mean packet size when it measures in
    /// bytes, and tests before adding.
    pub fn room(&self, limit: Limit) -> Room {
        match (limit, self.dialect) {
            (Limit::Packets(n), Dialect::Ns2) if self.bytes => Room::BytesBelow((n as f64 * self.mean_packet) as u64),
            (Limit::Bytes(n), Dialect::Ns2) => Room::BytesBelow(n),
            _ => Room::holding(limit),
        }
    }

    /// `length`, in the unit in which the average is kept, in packets.
    #[inline]
    pub fn in_packets(&self, length: f64) -> f64 {
        if self.bytes {
            length / self.mean_packet
        } else {
            length
        }
    }

    /// An average that has seen nothing, in the dialect's own way.
    pub fn average(&self) -> Average {
        match self.dialect {
            Dialect::Paper => Average::paper(self.weight, self.packets_per_second),
            Dialect::Ns2 | Dialect::Ns3 => Average::ns(self.weight, self.packets_per_second),
            Dialect::Linux => Average::linux(LinuxAverage::new(self.wlog, self.mean_packet, self.rate_bps)),
        }
    }

    fn past_the_end(&self) -> Verdict {
        match self.over_max {
            OverMax::Mark => Verdict::Signal(Reason::Forced),
            _ => Verdict::Drop(Reason::Forced),
        }
    }
}

/// Where the spacing of drops stands: what a dialect remembers from one arrival to the next beside the average. A
/// discipline with several curves or classes (WRED, RIO) keeps one for each.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Spacing {
    count: i64,
    count_bytes: u64,
    /// ns-2's `old_`: an earlier arrival has already found the average above min_th.
    above: bool,
    p_b: f64,
    /// Linux's random number for the next drop.
    threshold: f64,
}

impl Spacing {
    /// Nothing has arrived.
    pub fn new(dialect: Dialect) -> Self {
        let count = if matches!(dialect, Dialect::Paper | Dialect::Linux) { -1 } else { 0 };
        Spacing { count, count_bytes: 0, above: false, p_b: 0.0, threshold: 0.0 }
    }

    /// p_b when it was last worked out.
    pub fn p_b(&self) -> f64 {
        self.p_b
    }

    /// Packets since the last drop, as the dialect counts them.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// Counts anew from `count`.
    pub fn restart(&mut self, count: i64) {
        self.count = count;
        self.count_bytes = 0;
    }

    /// No room: ns-2 overrides what the early test said and starts the count again; in the others an arrival that RED
    /// drops never gets as far, and one that it admits or marks is rejected by the FIFO behind, which leaves RED's
    /// state alone.
    pub fn on_overflow(&mut self, set: &Settings, earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
        if set.dialect == Dialect::Ns2 {
            self.restart(0);
            return Reason::Overflow;
        }
        match earlier {
            Verdict::Drop(reason) => reason,
            Verdict::Signal(reason) if !cx.can_mark(packet) => reason,
            _ => Reason::Overflow,
        }
    }

    /// Decides over `packet`, which finds `length` waiting (in the unit of `set`), with the average it has just made
    /// `average`, on `curve`.
    #[inline]
    pub fn decide(
        &mut self,
        set: &Settings,
        curve: &impl Curve,
        average: f64,
        packet: &Packet,
        length: f64,
        cx: &mut Context<'_>,
    ) -> Verdict {
        match set.dialect {
            Dialect::Ns2 | Dialect::Ns3 => self.decide_ns(set, curve, average, packet, length, cx),
            Dialect::Paper => self.decide_paper(set, curve, average, packet, cx),
            Dialect::Linux => self.decide_linux(set, curve, average, cx),
        }
    }

    /// ns-2.35 `red.cc` `enque`, `drop_early`, `modify_p`; ns-3's `RedQueueDisc::DoEnqueue` differs past the end of
    /// the curve only.
    #[inline]
    fn decide_ns(
        &mut self,
        set: &Settings,
        curve: &impl Curve,
        average: f64,
        packet: &Packet,
        length: f64,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.count += 1;
        self.count_bytes += u64::from(packet.size);
        if !(average >= curve.start() && length > 1.0) {
            self.above = false;
            return Verdict::Pass;
        }
        if set.over_max != OverMax::MarkBelowMarkP && average >= curve.end() {
            // ns-3 keeps its count here unless Ns1Compat is set; ns-2 starts it again.
            if set.dialect == Dialect::Ns2 {
                self.restart(0);
            }
            return set.past_the_end();
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(packet.size);
            return Verdict::Pass;
        }
        self.p_b = curve.base_probability(average);
        let count = if set.byte_scaling {
            // Integer division, as in ns-2: bytes since the last drop in whole mean packets.
            (self.count_bytes / set.mean_packet as u64) as f64
        } else {
            self.count as f64
        };
        let mut p_a = if set.independent {
            self.p_b
        } else if set.wait {
            spacing::uniform_after_wait(self.p_b, count)
        } else {
            spacing::uniform(self.p_b, count)
        };
        if set.byte_scaling && p_a < 1.0 {
            p_a = (p_a * f64::from(packet.size) / set.mean_packet).min(1.0);
        }
        if !hit(cx.random.uniform(), curve.final_probability(p_a)) {
            return Verdict::Pass;
        }
        self.restart(0);
        let reason = if self.p_b >= 1.0 { Reason::Forced } else { Reason::Early };
        if set.over_max == OverMax::MarkBelowMarkP && self.p_b >= set.mark_p {
            Verdict::Drop(reason)
        } else {
            Verdict::Signal(reason)
        }
    }

    /// Floyd & Jacobson 1993, Fig. 2.
    fn decide_paper(
        &mut self,
        set: &Settings,
        curve: &impl Curve,
        average: f64,
        packet: &Packet,
        cx: &mut Context<'_>,
    ) -> Verdict {
        if average < curve.start() {
            self.restart(-1);
            return Verdict::Pass;
        }
        let after_drop = if set.analysis { -1 } else { 0 };
        if average >= curve.end() {
            self.p_b = 1.0;
            self.restart(after_drop);
            return set.past_the_end();
        }
        self.count += 1;
        self.p_b = curve.base_probability(average);
        if set.byte_scaling {
            self.p_b = (self.p_b * f64::from(packet.size) / set.max_packet).min(1.0);
        }
        let p_a = if set.independent { self.p_b } else { spacing::uniform(self.p_b, self.count as f64) };
        if !hit(cx.random.uniform(), curve.final_probability(p_a)) {
            return Verdict::Pass;
        }
        self.restart(after_drop);
        Verdict::Signal(Reason::Early)
    }

    /// Linux `red.h` `red_action`: one random number for each drop.
    fn decide_linux(&mut self, set: &Settings, curve: &impl Curve, average: f64, cx: &mut Context<'_>) -> Verdict {
        if average < curve.start() {
            self.count = -1;
            return Verdict::Pass;
        }
        if average >= curve.end() {
            self.count = -1;
            self.p_b = 1.0;
            return set.past_the_end();
        }
        self.count += 1;
        self.p_b = curve.base_probability(average);
        if set.independent {
            return if hit(cx.random.uniform(), self.p_b) { Verdict::Signal(Reason::Early) } else { Verdict::Pass };
        }
        if self.count == 0 {
            self.threshold = cx.random.uniform();
            return Verdict::Pass;
        }
        if self.p_b * (self.count as f64) < self.threshold {
            return Verdict::Pass;
        }
        self.count = 0;
        self.threshold = cx.random.uniform();
        Verdict::Signal(Reason::Early)
    }
}

/// Average, spacing and decision, around one drop curve: in this order, so that an arrival that finds a short queue needs
/// two cache lines.
#[repr(C, align(64))]
pub struct EarlyDetection<C> {
    set: Settings,
    average: Average,
    spacing: Spacing,
    curve: C,
}

impl<C: Curve> EarlyDetection<C> {
    /// The state of a queue that is empty and whose link is idle.
    pub fn new(set: Settings, curve: C) -> Self {
        EarlyDetection { curve, average: set.average(), spacing: Spacing::new(set.dialect), set }
    }

    /// [`Settings::room`].
    pub fn room(&self, limit: Limit) -> Room {
        self.set.room(limit)
    }

    /// Whether queued packets may have to be removed.
    pub fn needs_contents(&self) -> bool {
        self.set.victim != Victim::Tail
    }

    /// The averaged queue in packets.
    #[inline]
    pub fn average(&self) -> f64 {
        self.set.in_packets(self.average.value())
    }

    /// The average as a timer sees it, in the unit of the thresholds; see [`Average::seen_at`].
    pub fn average_seen_at(&self, queue: &QueueView<'_>, now: Time) -> f64 {
        self.average.seen_at(queue, now)
    }

    /// The curve.
    pub fn curve(&self) -> &C {
        &self.curve
    }

    /// avg (in the unit of the thresholds), p_b, count.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.average.value());
        out("p_b", self.spacing.p_b());
        out("count", self.spacing.count() as f64);
    }

    /// The curve, for disciplines that move it: between [`EarlyDetection::observe`] and [`EarlyDetection::decide`], or
    /// on a timer.
    pub fn curve_mut(&mut self) -> &mut C {
        &mut self.curve
    }

    /// Gives the next samples this weight, for disciplines that choose one for each arrival (AutoRED). Not for linux.
    #[inline]
    pub fn set_weight(&mut self, weight: f64) {
        self.average.set_weight(weight);
    }

    /// The settings.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.set
    }

    /// Updates the average with the queue that an arrival finds. The average, in the unit of the thresholds.
    #[inline]
    pub fn observe(&mut self, queue: &QueueView<'_>, now: Time) -> f64 {
        self.average.observe(self.set.length(queue), queue, now)
    }

    /// Decides over `packet` with the average that [`EarlyDetection::observe`] has just returned.
    #[inline]
    pub fn decide(&mut self, average: f64, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.spacing.decide(&self.set, &self.curve, average, packet, self.set.length(queue), cx)
    }

    /// As [`EarlyDetection::decide`], on a curve of this packet's own: SFRED's differs from flow to flow.
    #[inline]
    pub fn decide_on(
        &mut self,
        curve: &impl Curve,
        average: f64,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.spacing.decide(&self.set, curve, average, packet, self.set.length(queue), cx)
    }

    /// Updates the average with the queue that `packet` finds, and decides.
    #[inline]
    pub fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.observe(queue, cx.now);
        self.decide(average, packet, queue, cx)
    }

    /// No room: the reason by [`Spacing::on_overflow`], the victim by the settings.
    pub fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let reason = self.spacing.on_overflow(&self.set, earlier, packet, cx);
        if reason != Reason::Overflow {
            return Verdict::Drop(reason);
        }
        let ring = match (self.set.victim, queue.contents) {
            (Victim::Tail, _) | (_, None) => return Verdict::Drop(Reason::Overflow),
            (_, Some(ring)) => ring,
        };
        let victim = if self.set.victim == Victim::Front { ring.at(0) } else { pick::any(ring, cx.random) };
        let Some((serial, _)) = victim else { return Verdict::Drop(Reason::Overflow) };
        cx.victims.push(serial);
        Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
    }
}

impl EarlyDetection<Linear> {
    /// Moves max_p. Linux draws R on [0, (max_th - min_th)/max_p) and keeps it: the number drawn goes with max_p.
    pub fn set_max_p(&mut self, max_p: f64) {
        if self.set.dialect == Dialect::Linux {
            self.spacing.threshold *= max_p / self.curve.max_p();
        }
        self.curve.set_max_p(max_p);
    }
}

/// Whether the random number `uniform` hits `probability`: `u <= p` as in ns-2, except that probability 0 never hits.
#[inline]
pub fn hit(uniform: f64, probability: f64) -> bool {
    probability > 0.0 && uniform <= probability
}

/// Implements [`crate::policy::Policy`] for a discipline that stands on early detection, its field `core`. With nothing
/// more it is early detection with a curve; what differs (`on_enqueue` and `gauges`, perhaps a timer) goes into braces.
#[macro_export]
macro_rules! early_detection_policy {
    ($name:ty) => {
        $crate::early_detection_policy!($name, {
            #[inline]
            fn on_enqueue(
                &mut self,
                packet: &$crate::Packet,
                queue: &$crate::policy::QueueView<'_>,
                cx: &mut $crate::policy::Context<'_>,
            ) -> $crate::policy::Verdict {
                self.core.on_enqueue(packet, queue, cx)
            }
            fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
                self.core.gauges(out);
            }
        });
    };
    ($name:ty, { $($own:tt)* }) => {
        impl $crate::policy::Policy for $name {
            fn needs(&self) -> $crate::policy::Needs {
                $crate::policy::Needs { dequeue: false, contents: self.core.needs_contents() }
            }
            fn room(&self, limit: $crate::policy::Limit) -> $crate::policy::Room {
                self.core.room(limit)
            }
            fn on_overflow(
                &mut self,
                earlier: $crate::policy::Verdict,
                packet: &$crate::Packet,
                queue: &$crate::policy::QueueView<'_>,
                cx: &mut $crate::policy::Context<'_>,
            ) -> $crate::policy::Verdict {
                self.core.on_overflow(earlier, packet, queue, cx)
            }
            fn average(&self) -> Option<f64> {
                Some(self.core.average())
            }
            $($own)*
        }
    };
}
