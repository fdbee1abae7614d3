//! SFRED's parameters: their declaration, and the rules that follow from the values given.

use crate::catalogue::Link;
use crate::early_detection::{params, Defaults, Settings, SHARED};
use crate::params::{words, Kind, Param, ParamError, Unit, Values, Word};
use crate::parts::curve::Linear;
use crate::red::{self, GENTLE};

pub(super) const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "Wang et al. 2009, section 3" });

words! {
    /// How the fair share F is computed, as a parameter.
    enum FairRateWord {
        /// `Received`, or `List` if counts do not age.
        Auto = "auto",
        Received = "received",
        Accepted = "accepted",
        List = "list",
    }
}

/// How the fair share F is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FairRate {
    /// R/A.
    Received,
    /// (R - D)/A.
    Accepted,
    /// The mean of r_i over the list.
    List,
}

words! {
    /// A flow's throughput T.
    pub(super) enum Throughput {
        /// r_i.
        Received = "received",
        /// r_i - d_i.
        Accepted = "accepted",
    }
}

words! {
    /// A, the active flows.
    pub(super) enum ActiveFlows {
        /// The flows in the list.
        List = "list",
        /// An estimate from the share of hits.
        Hits = "hits",
    }
}

words! {
    /// When a flow is fast.
    pub(super) enum FastTest {
        /// T > (1 + alpha) F.
        Relative = "relative",
        /// T - F > alpha R.
        Share = "share",
        /// T > F + alpha.
        Absolute = "absolute",
    }
}

words! {
    /// What r and d count.
    pub(super) enum Counts {
        /// Packets.
        Packets = "packets",
        /// Bits, in packets of `mean_packet`.
        Bits = "bits",
    }
}

words! {
    /// The factor on max_p of a fast flow.
    pub(super) enum Boost {
        /// T/F.
        Linear = "linear",
        /// (T/F)^2.
        Squared = "squared",
        /// 1 + T/F.
        OnePlus = "one_plus",
    }
}

words! {
    /// When a fast flow is unresponsive, by its loss rate l.
    pub(super) enum LossTest {
        /// l > (1 + beta) times the average loss rate.
        Relative = "relative",
        /// l > average loss rate + beta.
        Absolute = "absolute",
    }
}

words! {
    /// The average loss rate.
    pub(super) enum AverageLoss {
        /// D/R.
        All = "all",
        /// The sum of d_i over the sum of r_i, both over the list.
        List = "list",
    }
}

words! {
    /// When a flow without a drop is slow.
    pub(super) enum SlowTest {
        /// r <= slow_packets.
        AtMost = "at_most",
        /// r < slow_packets.
        Below = "below",
    }
}

words! {
    /// Which count of packets since the last drop slow flows use.
    pub(super) enum SlowCount {
        /// RED's count.
        Shared = "shared",
        /// A count of their own.
        Own = "own",
    }
}

words! {
    /// What becomes of all counts every `ageing_interval`.
    enum Ageing {
        /// The counts are halved.
        Halve = "halve",
        /// The counts are kept.
        Never = "never",
    }
}

words! {
    /// When an unresponsive flow is released.
    pub(super) enum Release {
        /// As soon as the test fails.
        EachArrival = "each_arrival",
        /// At the next halving.
        OnAgeing = "on_ageing",
        /// When the flow leaves the list.
        OnEviction = "on_eviction",
        /// Never.
        Never = "never",
    }
}

const OURS: &str = "our reconstruction";

const fn choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
    Param::word(name, words, words[0]).says(OURS, doc)
}

const fn number(name: &'static str, symbol: &'static str, low: f64, default: f64, doc: &'static str) -> Param {
    Param::real(
        name,
        Unit::None,
        Kind::Real { low, high: f64::INFINITY, open_low: false, open_high: true, auto: false },
        default,
    )
    .symbol(symbol)
    .says("Wang et al. 2009, section 2", doc)
}

pub(super) const OWN: [Param; 19] = [
    Param::whole("list_size", Unit::None, (1, 65_536), 20)
        .symbol("N")
        .says("our choice (the paper gives none)", "Flows in the list of the most recently used."),
    number("fast_margin", "\\alpha", 0.0, 0.1, "How far a flow must exceed the fair share to be fast."),
    number("loss_margin", "\\beta", 0.0, 0.1, "How far a fast flow's loss rate must exceed the average to condemn it."),
    number("slow_packets", "\\theta", 0.0, 10.0, "Packets up to which a flow without a drop is slow."),
    Param::real("slow_bonus", Unit::QueueLength, Kind::real(0.0, f64::INFINITY).open_high(), 10.0)
        .symbol("b")
        .says(
            "our reading (the paper's symbol is lost; slow_packets may be meant)",
            "By how much both thresholds are higher for slow flows.",
        ),
    choice(
        "fair_rate",
        FairRateWord::WORDS,
        "Fair share F: R/A, (R - D)/A, or the mean of r over the list; auto is received, and list if nothing ages.",
    ),
    choice("counts", Counts::WORDS, "Whether r and d count packets, or bits: a packet as its part of mean_packet."),
    choice("throughput", Throughput::WORDS, "A flow's throughput T: r, or r - d."),
    choice("active_flows", ActiveFlows::WORDS, "A: the flows in the list, or an estimate by the share of hits in it."),
    Param::real("hit_weight", Unit::None, Kind::above(0.0, 1.0), 0.001)
        .says("SRED (Ott, Lakshman, Wong 1999)", "Weight of an arrival in the share of hits."),
    choice("fast_test", FastTest::WORDS, "Fast if T > (1 + alpha) F, T - F > alpha R, or T > F + alpha."),
    choice("boost", Boost::WORDS, "max_p of a fast flow is multiplied by T/F, its square, or 1 + T/F."),
    choice("loss_test", LossTest::WORDS, "Condemned if loss > (1 + beta) times the average loss, or > average + beta."),
    choice("average_loss", AverageLoss::WORDS, "The average loss: D/R, or the sum of d by the sum of r over the list."),
    choice("slow_test", SlowTest::WORDS, "Slow with r <= slow_packets, or with r < slow_packets."),
    choice("slow_count", SlowCount::WORDS, "Whether slow flows share RED's count of packets since the last drop."),
    choice("ageing", Ageing::WORDS, "Whether all counts are halved every ageing_interval."),
    Param::real("ageing_interval", Unit::Seconds, Kind::real(0.1, 1e9), 5.0)
        .symbol("W")
        .says(OURS, "Time between two halvings."),
    choice(
        "release",
        Release::WORDS,
        "When a condemned flow is free again: as soon as the test fails, at the next halving, when it leaves the list, never.",
    ),
];

pub(super) const COUNT_MARKS: [Param; 1] = [Param::flag("count_marks", true)
    .says("our choice (the paper has no ECN)", "Whether a mark counts as a drop in d and D.")];

/// The parameters after checking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// RED's parameters.
    pub set: Settings,
    /// Whether RED's line goes on from `max_th` to twice `max_th`.
    pub gentle: bool,
    /// N, flows in the list.
    pub list_size: usize,
    /// By how much the thresholds of a slow flow are higher, packets.
    pub slow_bonus: f64,
    /// alpha, the margin of a fast flow (a factor, a share of R or packets, by `fast_test`).
    pub fast_margin: f64,
    /// beta, the margin of an unresponsive flow (a factor or a loss rate, by `loss_test`).
    pub loss_margin: f64,
    /// theta, packets up to which a flow without a drop is slow.
    pub slow_packets: f64,
    /// Whether a flow of exactly theta packets is slow.
    pub slow_test: SlowTest,
    /// Which count of packets since the last drop slow flows use.
    pub slow_count: SlowCount,
    /// How F is computed.
    pub fair_rate: FairRate,
    /// Bytes that count as one packet; `None` if each packet counts as one.
    pub packet_bytes: Option<f64>,
    /// How T is computed.
    pub throughput: Throughput,
    /// How A is computed.
    pub active_flows: ActiveFlows,
    /// Weight of an arrival in the share of arrivals found in the list.
    pub hit_weight: f64,
    /// When a flow is fast.
    pub fast_test: FastTest,
    /// The factor on max_p of a fast flow.
    pub boost: Boost,
    /// When a fast flow is unresponsive.
    pub loss_test: LossTest,
    /// The average loss rate.
    pub average_loss: AverageLoss,
    /// Time between two halvings of all counts, s; `None` if they are kept.
    pub halving_interval: Option<f64>,
    /// When an unresponsive flow is released.
    pub release: Release,
    /// Whether a mark counts as a drop.
    pub count_marks: bool,
}

impl Rules {
    /// What a packet of `size` bytes counts as, packets.
    #[inline]
    pub fn amount(&self, size: u32) -> f64 {
        self.packet_bytes.map_or(1.0, |bytes| f64::from(size) / bytes)
    }

    /// The parameters among `values` with RED's line, at `link`.
    pub fn read(values: &Values, link: &Link) -> Result<(Rules, Linear), ParamError> {
        let (set, curve) = red::read(values, &COMMON, link)?;
        let real = |name| values.real(&OWN, name);
        let halving_interval = match values.choice(&OWN, "ageing") {
            Ageing::Halve => Some(real("ageing_interval")),
            Ageing::Never => None,
        };
        let release = values.choice(&OWN, "release");
        if release == Release::OnAgeing && halving_interval.is_none() {
            let allowed = "another one: with ageing = \"never\" it never comes";
            return Err(ParamError::new("release", "on_ageing", allowed));
        }
        let slow_bonus = real("slow_bonus");
        if slow_bonus.is_nan() {
            return Err(ParamError::new("slow_bonus", "a length in bytes", "packets"));
        }
        let rules = Rules {
            set,
            gentle: values.flag(&GENTLE, "gentle"),
            list_size: values.whole(&OWN, "list_size") as usize,
            slow_bonus,
            fast_margin: real("fast_margin"),
            loss_margin: real("loss_margin"),
            slow_packets: real("slow_packets"),
            slow_test: values.choice(&OWN, "slow_test"),
            slow_count: values.choice(&OWN, "slow_count"),
            fair_rate: match values.choice(&OWN, "fair_rate") {
                FairRateWord::Auto if halving_interval.is_some() => FairRate::Received,
                FairRateWord::Auto | FairRateWord::List => FairRate::List,
                FairRateWord::Received => FairRate::Received,
                FairRateWord::Accepted => FairRate::Accepted,
            },
            packet_bytes: match values.choice(&OWN, "counts") {
                Counts::Packets => None,
                Counts::Bits => Some(values.real(&COMMON, "mean_packet")),
            },
            throughput: values.choice(&OWN, "throughput"),
            active_flows: values.choice(&OWN, "active_flows"),
            hit_weight: real("hit_weight"),
            fast_test: values.choice(&OWN, "fast_test"),
            boost: values.choice(&OWN, "boost"),
            loss_test: values.choice(&OWN, "loss_test"),
            average_loss: values.choice(&OWN, "average_loss"),
            halving_interval,
            release,
            count_marks: values.flag(&COUNT_MARKS, "count_marks"),
        };
        Ok((rules, curve))
    }
}
