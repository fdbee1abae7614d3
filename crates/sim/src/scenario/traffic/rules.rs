//! The table `rules` of TCP's `rfc` profile: single rules in which other TCPs depart from the RFCs.

use serde_json::{json, Map, Value as Json};

use super::super::error::quoted_list;
use super::super::fields::{Checked, Field};
use super::super::model::Tcp;
use super::super::schema::{about, object, with_default};
use earlydrop_net::tcp::rfc::{Base, Restart, Settings};

/// A rule: a key and its words, the first of which is the RFC's.
struct Rule {
    key: &'static str,
    words: [&'static str; 2],
    /// The TCPs that have it; empty: all.
    tcps: &'static [Tcp],
    about: &'static str,
    set: fn(&mut Settings, bool),
    get: fn(&Settings) -> bool,
}

/// All rules, in the order in which they are written.
const RULES: &[Rule] = &[
    Rule {
        key: "rto_restart",
        words: ["every", "first"],
        tcps: &[],
        about: "ACKs of new data that restart the retransmission timer in a recovery; newreno has \"first\" by default.",
        set: |settings, on| settings.rto_restart = Some(if on { Restart::First } else { Restart::Every }),
        get: |settings| match settings.rto_restart {
            Some(restart) => restart == Restart::First,
            None => !settings.sack,
        },
    },
    Rule {
        key: "exit_ack",
        words: ["ends", "grows"],
        tcps: &[],
        about: "The ACK that ends a recovery ends it, or grows the window as well.",
        set: |settings, on| settings.exit_ack_grows = on,
        get: |settings| settings.exit_ack_grows,
    },
    Rule {
        key: "guesses",
        words: ["none", "kept"],
        tcps: &[],
        about: "Without sack: a duplicate ACK inflates the window, or marks a segment as arrived until that is proved wrong.",
        set: |settings, on| settings.guesses_kept = on,
        get: |settings| settings.guesses_kept,
    },
    Rule {
        key: "recovery_again",
        words: ["beyond", "at_end"],
        tcps: &[],
        about: "Without sack: an ACK must go beyond the end of the recovery before until duplicates begin another, or reach it.",
        set: |settings, on| settings.recovery_again_at_end = on,
        get: |settings| settings.recovery_again_at_end,
    },
    Rule {
        key: "rtt_sample",
        words: ["last", "first"],
        tcps: &[],
        about: "Without timestamps: the round-trip time of the last segment that an ACK covers and that was sent once, or of the first.",
        set: |settings, on| settings.rtt_sample_first = on,
        get: |settings| settings.rtt_sample_first,
    },
    Rule {
        key: "syn_sample",
        words: ["once", "always"],
        tcps: &[],
        about: "The handshake is a round-trip time if its SYN was sent once, or always, from the first one on.",
        set: |settings, on| settings.syn_sample_always = on,
        get: |settings| settings.syn_sample_always,
    },
    Rule {
        key: "prr_part",
        words: ["segments", "bytes"],
        tcps: &[],
        about: "The part that proportional rate reduction sends is rounded up to whole segments, or in bytes: a segment goes once all of it is due.",
        set: |settings, on| settings.prr_part_bytes = on,
        get: |settings| settings.prr_part_bytes,
    },
    Rule {
        key: "reported_repair",
        words: ["arrived", "counts"],
        tcps: &[],
        about: "A segment that was sent again and is reported by SACK has arrived, or counts as in the network until it is acknowledged.",
        set: |settings, on| settings.reported_repair_counts = on,
        get: |settings| settings.reported_repair_counts,
    },
    Rule {
        key: "timeout_cut",
        words: ["again", "kept"],
        tcps: &[],
        about: "A timeout in a recovery cuts again, or keeps the recovery's ssthresh; \"kept\" with ssthresh = \"cwnd\" by default.",
        set: |settings, on| settings.timeout_cut_kept = Some(on),
        get: |settings| settings.timeout_cut_kept.unwrap_or(settings.ssthresh == Base::Cwnd),
    },
    Rule {
        key: "lost_retransmit_cut",
        words: ["again", "none"],
        tcps: &[Tcp::Reno, Tcp::Sack, Tcp::Cubic, Tcp::Dctcp, Tcp::Ledbat, Tcp::Prague],
        about: "A retransmission that rack finds lost cuts the window once more (RFC 5681, 4.3), or does not.",
        set: |settings, on| settings.lost_retransmit_cut_none = on,
        get: |settings| settings.lost_retransmit_cut_none,
    },
    Rule {
        key: "timeout_end",
        words: ["all", "new"],
        tcps: &[],
        about: "The ACK that ends the repair after a timeout grows the window by all that it covers, or by what is new in it.",
        set: |settings, on| settings.timeout_end_new = on,
        get: |settings| settings.timeout_end_new,
    },
    Rule {
        key: "slow_start_end",
        words: ["at_ssthresh", "beyond"],
        tcps: &[],
        about: "The last ACK of slow start without HyStart++ brings the window to ssthresh, or beyond it.",
        set: |settings, on| settings.slow_start_end_beyond = on,
        get: |settings| settings.slow_start_end_beyond,
    },
    Rule {
        key: "mark_cut",
        words: ["at_once", "round_trip"],
        tcps: &[],
        about: "A mark cuts the window at once, or over a round trip as a loss does.",
        set: |settings, on| settings.mark_cut_round_trip = on,
        get: |settings| settings.mark_cut_round_trip,
    },
    Rule {
        key: "mark_ack",
        words: ["waits", "at_once"],
        tcps: &[],
        about: "ACKs of the first mark, the segment behind it and CWR wait for a second segment as any, or go at once.",
        set: |settings, on| settings.mark_ack_at_once = on,
        get: |settings| settings.mark_ack_at_once,
    },
    Rule {
        key: "late_segment",
        words: ["forgotten", "made_up"],
        tcps: &[],
        about: "With pacing: the gap after a segment that went late is whole, or shorter by as much, by half at most.",
        set: |settings, on| settings.late_segment_made_up = on,
        get: |settings| settings.late_segment_made_up,
    },
    Rule {
        key: "rack_timer",
        words: ["exact", "ticks"],
        tcps: &[Tcp::Reno, Tcp::Sack, Tcp::Cubic, Tcp::Dctcp, Tcp::Bbr, Tcp::Ledbat, Tcp::Prague],
        about: "With rack: what waits for its verdict gets it when it is due, or 2 ms later, rounded up to ticks of 4 ms.",
        set: |settings, on| settings.rack_timer_ticks = on,
        get: |settings| settings.rack_timer_ticks,
    },
    Rule {
        key: "rack_repeats",
        words: ["stamped", "reported"],
        tcps: &[Tcp::Reno, Tcp::Sack, Tcp::Cubic, Tcp::Dctcp, Tcp::Bbr, Tcp::Ledbat, Tcp::Prague],
        about: "With rack: what was sent again counts as arrived if the echoed time stamp says so, or also if SACK reports it.",
        set: |settings, on| settings.rack_repeats_reported = on,
        get: |settings| settings.rack_repeats_reported,
    },
    Rule {
        key: "repair_timer",
        words: ["runs_on", "restarts"],
        tcps: &[],
        about: "The retransmission timer when the first segment outstanding is sent again: runs on, or restarts.",
        set: |settings, on| settings.repair_timer_restarts = on,
        get: |settings| settings.repair_timer_restarts,
    },
    Rule {
        key: "late_sack",
        words: ["at_once", "compressed"],
        tcps: &[],
        about: "SACKs go at once, or after the third of a loss within a millisecond.",
        set: |settings, on| settings.late_sack_compressed = on,
        get: |settings| settings.late_sack_compressed,
    },
    Rule {
        key: "recovery_start",
        words: ["first", "second"],
        tcps: &[],
        about: "With SACK, before the third duplicate ACK: a recovery begins when the first segment outstanding is lost, or the second.",
        set: |settings, on| settings.recovery_start_second = on,
        get: |settings| settings.recovery_start_second,
    },
    Rule {
        key: "idle_timer",
        words: ["stops", "runs"],
        tcps: &[],
        about: "The retransmission timer once nothing is outstanding: stops, or runs on where there is more to send.",
        set: |settings, on| settings.idle_timer_runs = on,
        get: |settings| settings.idle_timer_runs,
    },
    Rule {
        key: "push_ack",
        words: ["waits", "at_once"],
        tcps: &[],
        about: "The ACK of the last of several segments that were sent at once waits as any, or goes at once.",
        set: |settings, on| settings.push_ack_at_once = on,
        get: |settings| settings.push_ack_at_once,
    },
    Rule {
        key: "pair_wait",
        words: ["any", "due"],
        tcps: &[],
        about: "With send_pairs: a single segment waits for any next ACK, or only for one due within a millisecond.",
        set: |settings, on| settings.pair_wait_due = on,
        get: |settings| settings.pair_wait_due,
    },
    Rule {
        key: "cubic_clock",
        words: ["exact", "ticks"],
        tcps: &[Tcp::Cubic],
        about: "With cubic = \"linux\": its clock is exact, or counts ticks of 4 ms.",
        set: |settings, on| settings.cubic_clock_ticks = on,
        get: |settings| settings.cubic_clock_ticks,
    },
    Rule {
        key: "cubic_least",
        words: ["reno", "none"],
        tcps: &[Tcp::Cubic],
        about: "Whether cubic is never slower than Reno.",
        set: |settings, on| settings.cubic.friendly = !on,
        get: |settings| !settings.cubic.friendly,
    },
    Rule {
        key: "cubic_growth",
        words: ["smooth", "whole"],
        tcps: &[Tcp::Cubic],
        about: "Each ACK adds a part of a segment, or ACKs are counted and kept for whole ones.",
        set: |settings, on| settings.cubic.whole = on,
        get: |settings| settings.cubic.whole,
    },
    Rule {
        key: "dctcp_least",
        words: ["two", "none"],
        tcps: &[Tcp::Dctcp],
        about: "What a mark leaves of dctcp's window at least: two segments, or no number of them.",
        set: |settings, on| settings.dctcp_least_none = on,
        get: |settings| settings.dctcp_least_none,
    },
    Rule {
        key: "bbr_first_rtt",
        words: ["data", "handshake"],
        tcps: &[Tcp::Bbr],
        about: "bbr's first round-trip time is that of the first data, or of the handshake.",
        set: |settings, on| settings.bbr.first_rtt_handshake = on,
        get: |settings| settings.bbr.first_rtt_handshake,
    },
    Rule {
        key: "bbr_inflight",
        words: ["now", "at_departure"],
        tcps: &[Tcp::Bbr],
        about: "Phases of bbr end by what is in the network now, or when its next segment goes.",
        set: |settings, on| settings.bbr.inflight_at_departure = on,
        get: |settings| settings.bbr.inflight_at_departure,
    },
    Rule {
        key: "bbr_rtt",
        words: ["sample", "smoothed"],
        tcps: &[Tcp::Bbr],
        about: "bbr's round-trip times are those of segments, or smoothed.",
        set: |settings, on| settings.bbr.rtt_smoothed = on,
        get: |settings| settings.bbr.rtt_smoothed,
    },
    Rule {
        key: "bbr_rate",
        words: ["margin", "full"],
        tcps: &[Tcp::Bbr],
        about: "bbr sends 1 % below its estimate, or at it.",
        set: |settings, on| settings.bbr.rate_full = on,
        get: |settings| settings.bbr.rate_full,
    },
    Rule {
        key: "bbr_room",
        words: ["none", "quanta"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window has room for what its estimate says, or for 3 segments more, 5 while it probes.",
        set: |settings, on| settings.bbr.room_quanta = on,
        get: |settings| settings.bbr.room_quanta,
    },
    Rule {
        key: "bbr_exit",
        words: ["before", "drain"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window after a recovery: that of before, or what the bottleneck held when Startup ended.",
        set: |settings, on| settings.bbr.exit_drain = on,
        get: |settings| settings.bbr.exit_drain,
    },
    Rule {
        key: "bbr_timeout",
        words: ["before", "forgets"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window after a timeout: that of before comes back, or not.",
        set: |settings, on| settings.bbr.timeout_forgets = on,
        get: |settings| settings.bbr.timeout_forgets,
    },
    Rule {
        key: "bbr_repairs",
        words: ["free", "cut"],
        tcps: &[Tcp::Bbr],
        about: "In a recovery bbr's window is cut by what is lost, or also by what is repaired.",
        set: |settings, on| settings.bbr.repairs_cut = on,
        get: |settings| settings.bbr.repairs_cut,
    },
    Rule {
        key: "bbr_rounds",
        words: ["all", "valid"],
        tcps: &[Tcp::Bbr],
        about: "bbr's rounds begin with any ACK, or with one that measures a rate.",
        set: |settings, on| settings.bbr.rounds_valid = on,
        get: |settings| settings.bbr.rounds_valid,
    },
    Rule {
        key: "bbr_timeout_losses",
        words: ["cut", "free"],
        tcps: &[Tcp::Bbr],
        about: "Losses and repairs after a timeout cut bbr's window as in a recovery, or not.",
        set: |settings, on| settings.bbr.timeout_losses_free = on,
        get: |settings| settings.bbr.timeout_losses_free,
    },
    Rule {
        key: "bbr_conservation",
        words: ["round", "rest"],
        tcps: &[Tcp::Bbr],
        about: "A recovery conserves packets for a round of its own, or for the rest of the round that it begins in.",
        set: |settings, on| settings.bbr.conservation_rest = on,
        get: |settings| settings.bbr.conservation_rest,
    },
    Rule {
        key: "bbr_excess",
        words: ["none", "coarse"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window has no room for ACKs that bring much at once, or for up to 4096 B of them.",
        set: |settings, on| settings.bbr.excess_coarse = on,
        get: |settings| settings.bbr.excess_coarse,
    },
    Rule {
        key: "bbr_first_rate",
        words: ["measured", "window"],
        tcps: &[Tcp::Bbr],
        about: "bbr's bandwidth begins with the first rate that is measured, or with the initial window in the handshake's round-trip time.",
        set: |settings, on| settings.bbr.first_rate_window = on,
        get: |settings| settings.bbr.first_rate_window,
    },
    Rule {
        key: "bbr_round_start",
        words: ["ack", "lasts"],
        tcps: &[Tcp::Bbr],
        about: "That one of bbr's rounds begins is said of one ACK, or of all until the next that measures a rate, and after a timeout.",
        set: |settings, on| settings.bbr.round_start_lasts = on,
        get: |settings| settings.bbr.round_start_lasts,
    },
    Rule {
        key: "bbr_rates",
        words: ["all", "three"],
        tcps: &[Tcp::Bbr],
        about: "bbr's bandwidth is the largest rate of ten rounds, or what three estimates keep of it.",
        set: |settings, on| settings.bbr.rates_three = on,
        get: |settings| settings.bbr.rates_three,
    },
    Rule {
        key: "bbr_probing",
        words: ["losses", "repairs"],
        tcps: &[Tcp::Bbr],
        about: "bbr's phase that probes for bandwidth ends with losses, or also with repairs.",
        set: |settings, on| settings.bbr.probing_repairs = on,
        get: |settings| settings.bbr.probing_repairs,
    },
    Rule {
        key: "bbr_repair_pace",
        words: ["waits", "at_once"],
        tcps: &[Tcp::Bbr],
        about: "bbr's first repair in a recovery or after a timeout waits for the pace, or goes at once.",
        set: |settings, on| settings.bbr.repair_pace_at_once = on,
        get: |settings| settings.bbr.repair_pace_at_once,
    },
    Rule {
        key: "bbr_startup_exit",
        words: ["before", "unlimited"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window after a recovery in Startup: that of before, or none.",
        set: |settings, on| settings.bbr.startup_exit_unlimited = on,
        get: |settings| settings.bbr.startup_exit_unlimited,
    },
    Rule {
        key: "bbr_partial_ack",
        words: ["as_any", "sends"],
        tcps: &[Tcp::Bbr],
        about: "What an ACK that advances bbr's window within a recovery lets go: as any, or a segment at once.",
        set: |settings, on| settings.bbr.partial_ack_sends = on,
        get: |settings| settings.bbr.partial_ack_sends,
    },
    Rule {
        key: "bbr_empty_start",
        words: ["as_any", "restarts"],
        tcps: &[Tcp::Bbr],
        about: "What bbr sends while nothing is in the network, after the first ProbeRTT, goes as any, or at the estimated rate.",
        set: |settings, on| settings.bbr.empty_start_restarts = on,
        get: |settings| settings.bbr.empty_start_restarts,
    },
    Rule {
        key: "bbr_timeout_window",
        words: ["conserves", "grows"],
        tcps: &[Tcp::Bbr],
        about: "After a timeout bbr's window conserves packets if it did so before, or grows.",
        set: |settings, on| settings.bbr.timeout_window_grows = on,
        get: |settings| settings.bbr.timeout_window_grows,
    },
    Rule {
        key: "bbr_probe_rtt",
        words: ["limited", "counts"],
        tcps: &[Tcp::Bbr],
        about: "Rates that bbr measures while it probes the round-trip time count if they are larger, or always.",
        set: |settings, on| settings.bbr.probe_rtt_counts = on,
        get: |settings| settings.bbr.probe_rtt_counts,
    },
    Rule {
        key: "bbr_samples",
        words: ["fresh", "held"],
        tcps: &[Tcp::Bbr],
        about: "bbr's samples of the rate are those of the ACK, or stay until a segment arrives that was sent later.",
        set: |settings, on| settings.bbr.samples_held = on,
        get: |settings| settings.bbr.samples_held,
    },
    Rule {
        key: "bbr_sample_start",
        words: ["pipe", "outstanding"],
        tcps: &[Tcp::Bbr],
        about: "bbr's samples of the rate begin anew when nothing is in the network, or only when nothing is outstanding.",
        set: |settings, on| settings.bbr.sample_start_outstanding = on,
        get: |settings| settings.bbr.sample_start_outstanding,
    },
    Rule {
        key: "bbr_least",
        words: ["always", "unless_conserving"],
        tcps: &[Tcp::Bbr],
        about: "bbr's window has four segments always, or may have fewer while it conserves packets.",
        set: |settings, on| settings.bbr.least_unless_conserving = on,
        get: |settings| settings.bbr.least_unless_conserving,
    },
    Rule {
        key: "bbr_recovery_end",
        words: ["next_ack", "at_once"],
        tcps: &[Tcp::Bbr],
        about: "bbr hears of the end of a recovery with the next ACK, or with the one that ends it.",
        set: |settings, on| settings.bbr.recovery_end_at_once = on,
        get: |settings| settings.bbr.recovery_end_at_once,
    },
    Rule {
        key: "bbr_lost_again",
        words: ["repaired", "recovers"],
        tcps: &[Tcp::Bbr],
        about: "What is lost again after a timeout is sent again, or begins a recovery.",
        set: |settings, on| settings.bbr.lost_again_recovers = on,
        get: |settings| settings.bbr.lost_again_recovers,
    },
    Rule {
        key: "bbr_timers",
        words: ["ignored", "count"],
        tcps: &[Tcp::Bbr],
        about: "With bbr_policer: losses that timers find, and timeouts as rounds, do not count, or do.",
        set: |settings, on| settings.bbr.timers_count = on,
        get: |settings| settings.bbr.timers_count,
    },
    Rule {
        key: "bbr_same_rtt",
        words: ["renews", "changes_nothing"],
        tcps: &[Tcp::Bbr],
        about: "A round-trip time as small as bbr's smallest makes it last for ten seconds more, or not.",
        set: |settings, on| settings.bbr.same_rtt_changes_nothing = on,
        get: |settings| settings.bbr.same_rtt_changes_nothing,
    },
    Rule {
        key: "bbr_stamps",
        words: ["exact", "milliseconds"],
        tcps: &[Tcp::Bbr],
        about: "Time stamps by which bbr measures what was sent again are exact, or count whole milliseconds.",
        set: |settings, on| settings.bbr.stamps_milliseconds = on,
        get: |settings| settings.bbr.stamps_milliseconds,
    },
];

/// Takes in the table.
pub(super) fn read(field: &Field<'_>, tcp: Tcp, settings: &mut Settings) -> Checked<()> {
    let keys: Vec<&str> = RULES.iter().map(|rule| rule.key).collect();
    let fields = field.table(&keys)?;
    for rule in RULES {
        let Some(field) = fields.optional(rule.key) else { continue };
        if !rule.tcps.is_empty() && !rule.tcps.contains(&tcp) {
            let names = quoted_list(rule.tcps.iter().map(|tcp| tcp.name()));
            return Err(field.error(format!("is a rule of {names}")).allowed("no such key"));
        }
        let word = field.word(rule.words.into_iter())?;
        (rule.set)(settings, word == rule.words[1]);
        if ["lost_retransmit_cut", "rack_timer", "rack_repeats"].contains(&rule.key) && !settings.rack {
            return Err(field.error("is a rule of rack").allowed("no such key, or rack = true"));
        }
        if ["guesses", "recovery_again"].contains(&rule.key) && settings.sack {
            return Err(field.error("is a rule for senders without sack").allowed("no such key, or tcp = \"newreno\""));
        }
        if rule.key == "cubic_clock" {
            if !settings.cubic_linux {
                return Err(field.error("is a rule of cubic = \"linux\"").allowed("no such key"));
            }
        } else if settings.cubic_linux && rule.tcps == [Tcp::Cubic] {
            return Err(field.error("is a rule of cubic = \"rfc9438\"").allowed("no such key"));
        }
        if settings.bbr.aggregation && settings.bbr.excess_coarse {
            return Err(field
                .error("is other room than that of bbr_aggregation")
                .allowed("\"none\", or bbr_aggregation = false"));
        }
        if settings.bbr.budget && settings.bbr.room_quanta {
            return Err(field
                .error("is other room than that of bbr_budget")
                .allowed("\"none\", or bbr_budget = false"));
        }
    }
    Ok(())
}

/// The rules that are not as the RFCs have them, as they would be written; nothing if all are.
pub(super) fn write(settings: &Settings, map: &mut Map<String, Json>) {
    let default = Settings { sack: settings.sack, ssthresh: settings.ssthresh, ..Settings::default() };
    let other: Map<String, Json> = RULES
        .iter()
        .filter(|rule| (rule.get)(settings) != (rule.get)(&default))
        .map(|rule| (rule.key.to_string(), rule.words[usize::from((rule.get)(settings))].into()))
        .collect();
    if !other.is_empty() {
        map.insert("rules".into(), other.into());
    }
}

/// Their schema.
pub(super) fn schema() -> Json {
    let properties: Map<String, Json> = RULES
        .iter()
        .map(|rule| {
            let form = with_default(json!({ "enum": rule.words }), rule.words[0]);
            (rule.key.to_string(), about(form, rule.about))
        })
        .collect();
    object(&[], properties.into())
}
