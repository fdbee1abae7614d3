//! The keys of TCP's `rfc` profile.

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SIZES, TIMES};
use super::super::document::Doc;
use super::super::error::quoted_list;
use super::super::fields::{Checked, Field, Fields};
use super::super::model::Tcp;
use super::super::schema::{about, reference, whole, with_default};
use super::rules;
use earlydrop_net::tcp::rfc::{Base, BbrRules, Bound, ControlKind, Counting, Feedbacks, HyStart, Settings};

/// Keys that this profile alone has.
pub(super) const KEYS: &[&str] = &[
    "sack",
    "timestamps",
    "initial_window",
    "abc_limit",
    "avoidance",
    "ssthresh",
    "backoff_until",
    "rules",
    "hystart",
    "prr",
    "rack",
    "abe",
    "pacing",
    "fin",
    "ledbat_target",
    "ledbat_gain",
    "growth",
    "min_rto_for",
    "cubic",
    "bbr_budget",
    "bbr_aggregation",
    "bbr_policer",
    "pacing_burst",
    "send_pairs",
];
/// How long an ACK waits if nothing is said, s (RFC 5681 allows 0.5 s).
const DEFAULT_ACK_DELAY: f64 = 0.2;
/// Options of time stamps in every segment, bytes (RFC 7323, appendix A).
pub(super) const STAMPS: u32 = earlydrop_net::tcp::rfc::STAMP_BYTES as u32;
/// Whether avoidance counts what is acknowledged.
const AVOIDANCE: [(&str, Counting); 3] =
    [("counted", Counting::Window), ("kept", Counting::Kept), ("per_ack", Counting::PerAck)];
/// What a loss leaves a part of.
const SSTHRESH: [(&str, Base); 3] = [("flight", Base::Flight), ("pipe", Base::Pipe), ("cwnd", Base::Cwnd)];
/// What grows the window.
const GROWTH: [&str; 2] = ["acked", "arrived"];
/// Of what `min_rto` is the least.
const LEAST_RTO: [&str; 2] = ["timeout", "variation"];
/// How CUBIC is computed.
const CUBIC: [&str; 2] = ["rfc9438", "linux"];
/// HyStart as it was before HyStart++.
const CLASSIC: &str = "classic";
/// Rules that Linux adds to BBR.
const BBR: [&str; 3] = ["bbr_budget", "bbr_aggregation", "bbr_policer"];
/// What ends the backoff of the timer.
const BACKOFF: [&str; 2] = ["sample", "ack"];
const PRR: [(&str, Option<Bound>); 5] = [
    ("slow_start", Some(Bound::SlowStart)),
    ("conservative", Some(Bound::Conservative)),
    ("safe_ack", Some(Bound::SafeAck)),
    ("repair_ack", Some(Bound::RepairAck)),
    ("off", None),
];

/// Whether a key is refused in this profile, as it says something of ns-2 alone.
pub(super) fn refuse_others(fields: &Fields<'_>) -> Checked<()> {
    match fields.optional("clock_phase") {
        Some(field) => {
            Err(field.error("is for profile = \"ns2\", whose senders have coarse clocks").allowed("no such key"))
        }
        None => Ok(()),
    }
}

/// Refuses the keys of this profile in another one.
pub(super) fn refuse(fields: &Fields<'_>) -> Checked<()> {
    match KEYS.iter().find_map(|key| fields.optional(key)) {
        Some(field) => Err(field.error("is for profile = \"rfc\"").allowed("no such key, or profile = \"rfc\"")),
        None => Ok(()),
    }
}

/// Whether segments carry time stamps.
pub(super) fn timestamps(fields: &Fields<'_>) -> Checked<bool> {
    fields.optional("timestamps").map_or(Ok(true), |field| field.flag())
}

/// The settings of `tcp` with segments of `mss` bytes of payload.
pub(super) fn read(fields: &Fields<'_>, tcp: Tcp, mss: u32, ecn: bool) -> Checked<Settings> {
    let flag = |key: &str, default: bool| fields.optional(key).map_or(Ok(default), |field| field.flag());
    let sack = flag("sack", tcp != Tcp::NewReno)?;
    if let Some(field) = fields.optional("sack").filter(|_| sack && tcp == Tcp::NewReno) {
        return Err(field
            .error("makes another TCP of newreno, which recovers without it")
            .allowed("false, or tcp = \"reno\""));
    }
    if let Some(field) = fields.optional("sack").filter(|_| !sack && tcp == Tcp::Sack) {
        return Err(field.error("makes another TCP of sack").allowed("true, or tcp = \"newreno\""));
    }
    let rack = flag("rack", sack && matches!(tcp, Tcp::Cubic | Tcp::Dctcp | Tcp::Bbr | Tcp::Prague))?;
    if let Some(field) = fields.optional("rack").filter(|_| rack && !sack) {
        return Err(field.error("needs selective acknowledgements").allowed("false, or sack = true"));
    }
    let second = |key: &str, words: [&str; 2]| match fields.optional(key) {
        Some(field) => Ok(field.word(words.into_iter())? == words[1]),
        None => Ok(false),
    };
    if let Some(field) = fields.optional("cubic").filter(|_| tcp != Tcp::Cubic) {
        return Err(field.error("is for tcp = \"cubic\"").allowed("no such key"));
    }
    if let Some(field) = BBR.iter().find_map(|key| fields.optional(key)).filter(|_| tcp != Tcp::Bbr) {
        return Err(field.error("is for tcp = \"bbr\"").allowed("no such key"));
    }
    let mut settings = Settings {
        control: control(fields, tcp)?,
        mss,
        window: fields
            .optional("window")
            .map_or(Ok(u64::from(super::tcp::DEFAULT_WINDOW) * u64::from(mss)), |field| window(&field, mss))?,
        sack,
        timestamps: timestamps(fields)?,
        feedback: match (ecn, tcp) {
            (false, _) => Feedbacks::None,
            (true, Tcp::Dctcp) => Feedbacks::Dctcp,
            (true, Tcp::Prague) => Feedbacks::Accurate,
            (true, _) => Feedbacks::Classic,
        },
        min_rto: fields.optional("min_rto").map_or(Ok(1.0), |field| field.measure(&TIMES, bounds::SHORTEST_RFC_RTO))?,
        initial_window: fields
            .optional("initial_window")
            .map(|field| field.whole(1, bounds::INITIAL_WINDOW).map(|segments| segments as u32))
            .transpose()?,
        abc_limit: fields.optional("abc_limit").map_or(Ok(1), |field| field.whole(1, bounds::ABC_LIMIT))? as f64,
        avoidance: fields.optional("avoidance").map_or(Ok(Counting::Window), |field| named(&field, &AVOIDANCE))?,
        ssthresh: fields.optional("ssthresh").map_or(Ok(Base::Flight), |field| named(&field, &SSTHRESH))?,
        growth_arrived: second("growth", GROWTH)?,
        min_rto_for_variation: second("min_rto_for", LEAST_RTO)?,
        cubic_linux: second("cubic", CUBIC)?,
        bbr: BbrRules {
            budget: flag(BBR[0], false)?,
            aggregation: flag(BBR[1], false)?,
            policer: flag(BBR[2], false)?,
            ..BbrRules::default()
        },
        pacing_burst: fields.optional("pacing_burst").map_or(Ok(1), |field| field.whole(1, bounds::PACING_BURST))?
            as u32,
        send_pairs: flag("send_pairs", false)?,
        backoff_until_ack: match fields.optional("backoff_until") {
            Some(field) => field.word(BACKOFF.into_iter())? == BACKOFF[1],
            None => false,
        },
        limited_transmit: flag("limited_transmit", true)?,
        prr: fields.optional("prr").map_or(Ok(Some(Bound::SlowStart)), |field| prr(&field))?,
        rack,
        hystart: fields.optional("hystart").map_or(Ok(default_hystart(tcp)), |field| hystart(&field))?,
        abe: flag("abe", false)?,
        pacing: flag("pacing", matches!(tcp, Tcp::Bbr | Tcp::Prague))?,
        fin: flag("fin", false)?,
        delayed_ack: fields.optional("delayed_ack").map_or(Ok(Some(DEFAULT_ACK_DELAY)), |field| delayed_ack(&field))?,
        ..Settings::default()
    };
    if let Some(field) = fields.optional("rules") {
        rules::read(&field, tcp, &mut settings)?;
    }
    Ok(settings)
}

/// What a word stands for.
fn named<T: Copy>(field: &Field<'_>, words: &[(&'static str, T)]) -> Checked<T> {
    let word = field.word(words.iter().map(|&(word, _)| word))?;
    Ok(words.iter().find(|&&(name, _)| name == word).unwrap_or(&words[0]).1)
}

/// The word for a value.
fn name_of<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|&&(_, known)| known == value).unwrap_or(&words[0]).0
}

fn control(fields: &Fields<'_>, tcp: Tcp) -> Checked<ControlKind> {
    if tcp != Tcp::Ledbat {
        if let Some(field) = ["ledbat_target", "ledbat_gain"].iter().find_map(|key| fields.optional(key)) {
            return Err(field.error("is for tcp = \"ledbat\"").allowed("no such key"));
        }
    }
    Ok(match tcp {
        Tcp::Tahoe | Tcp::Reno | Tcp::NewReno | Tcp::Sack | Tcp::Vegas => ControlKind::NewReno,
        Tcp::Cubic => ControlKind::Cubic,
        Tcp::Dctcp => ControlKind::Dctcp,
        Tcp::Bbr => {
            if let Some(field) = fields.optional("pacing").filter(|field| matches!(field.doc, Doc::Bool(false))) {
                return Err(field.error("is what bbr is").allowed("true"));
            }
            ControlKind::Bbr
        }
        Tcp::Ledbat => {
            if let Some(field) = fields.optional("timestamps").filter(|field| matches!(field.doc, Doc::Bool(false))) {
                return Err(field.error("leaves ledbat without delays").allowed("true"));
            }
            let measure = |key: &str, measure, within, default| {
                fields.optional(key).map_or(Ok(default), |field| field.measure(measure, within))
            };
            ControlKind::Ledbat {
                target: measure("ledbat_target", &TIMES, bounds::LEDBAT_TARGET, 0.1)?,
                gain: measure("ledbat_gain", &bounds::NUMBERS, bounds::LEDBAT_GAIN, 1.0)?,
            }
        }
        Tcp::Prague => ControlKind::Prague,
    })
}

/// A number of segments, or bytes.
fn window(field: &Field<'_>, mss: u32) -> Checked<u64> {
    match field.doc {
        Doc::String(_) => field.measure(&SIZES, bounds::WINDOW_BYTES).map(|bytes| bytes as u64),
        _ => field.whole(1, bounds::WINDOW).map(|segments| segments * u64::from(mss)),
    }
}

fn prr(field: &Field<'_>) -> Checked<Option<Bound>> {
    let word = match field.doc {
        Doc::Bool(false) => "off",
        Doc::Bool(true) => "slow_start",
        _ => field.word(PRR.iter().map(|&(word, _)| word))?,
    };
    Ok(PRR.iter().find(|&&(name, _)| name == word).and_then(|&(_, bound)| bound))
}

fn default_hystart(tcp: Tcp) -> HyStart {
    if tcp == Tcp::Cubic {
        HyStart::PlusPlus
    } else {
        HyStart::Off
    }
}

fn hystart(field: &Field<'_>) -> Checked<HyStart> {
    match field.doc {
        Doc::Bool(false) => Ok(HyStart::Off),
        Doc::Bool(true) => Ok(HyStart::PlusPlus),
        _ => field.word([CLASSIC].into_iter()).map(|_| HyStart::Classic),
    }
}

fn delayed_ack(field: &Field<'_>) -> Checked<Option<f64>> {
    match field.doc {
        Doc::Bool(wanted) => Ok(wanted.then_some(DEFAULT_ACK_DELAY)),
        _ => field.measure(&TIMES, bounds::ACK_DELAY).map(Some),
    }
}

/// TCPs that this profile has.
pub(super) fn has(tcp: Tcp) -> bool {
    !matches!(tcp, Tcp::Tahoe | Tcp::Vegas)
}

/// Whether a TCP is for marks, so that it sends ECN-capable data if nothing is said.
pub(super) fn wants_ecn(tcp: Tcp) -> bool {
    matches!(tcp, Tcp::Dctcp | Tcp::Prague)
}

/// The names of those.
pub(super) fn names() -> String {
    quoted_list(Tcp::ALL.iter().copied().filter(|&tcp| has(tcp)).map(Tcp::name))
}

/// Everything but the name, segment and header, as it would be written.
pub(super) fn write(settings: &Settings, map: &mut Map<String, Json>) {
    let mss = u64::from(settings.mss);
    let window = match settings.window % mss {
        0 => (settings.window / mss).into(),
        _ => format!("{} B", settings.window).into(),
    };
    map.insert("window".into(), window);
    map.insert("ecn".into(), (settings.feedback != Feedbacks::None).into());
    let delay = settings.delayed_ack.map_or(Json::Bool(false), |delay| format!("{delay} s").into());
    map.insert("delayed_ack".into(), delay);
    map.insert("limited_transmit".into(), settings.limited_transmit.into());
    map.insert("min_rto".into(), format!("{} s", settings.min_rto).into());
    map.insert("sack".into(), settings.sack.into());
    map.insert("timestamps".into(), settings.timestamps.into());
    if let Some(segments) = settings.initial_window {
        map.insert("initial_window".into(), segments.into());
    }
    map.insert("abc_limit".into(), (settings.abc_limit as u32).into());
    map.insert("avoidance".into(), name_of(settings.avoidance, &AVOIDANCE).into());
    map.insert("ssthresh".into(), name_of(settings.ssthresh, &SSTHRESH).into());
    map.insert("growth".into(), GROWTH[usize::from(settings.growth_arrived)].into());
    map.insert("min_rto_for".into(), LEAST_RTO[usize::from(settings.min_rto_for_variation)].into());
    if settings.control == ControlKind::Cubic {
        map.insert("cubic".into(), CUBIC[usize::from(settings.cubic_linux)].into());
    }
    if settings.control == ControlKind::Bbr {
        let rules = [settings.bbr.budget, settings.bbr.aggregation, settings.bbr.policer];
        map.extend(BBR.iter().zip(rules).map(|(&key, on)| (key.into(), on.into())));
    }
    map.insert("pacing_burst".into(), settings.pacing_burst.into());
    map.insert("send_pairs".into(), settings.send_pairs.into());
    map.insert("backoff_until".into(), BACKOFF[usize::from(settings.backoff_until_ack)].into());
    map.insert("prr".into(), name_of(settings.prr, &PRR).into());
    rules::write(settings, map);
    map.insert("rack".into(), settings.rack.into());
    if let ControlKind::Ledbat { target, gain } = settings.control {
        map.insert("ledbat_target".into(), format!("{target} s").into());
        map.insert("ledbat_gain".into(), gain.into());
    }
    let hystart = match settings.hystart {
        HyStart::Classic => CLASSIC.into(),
        kind => Json::Bool(kind == HyStart::PlusPlus),
    };
    map.insert("hystart".into(), hystart);
    map.insert("abe".into(), settings.abe.into());
    map.insert("pacing".into(), settings.pacing.into());
    map.insert("fin".into(), settings.fin.into());
}

/// Their schema.
pub(super) fn schema(map: &mut Map<String, Json>) {
    let mut add = |key: &str, form: Json, default: Json, text: &str| {
        map.insert(key.into(), about(with_default(form, default), text));
    };
    let flag = || json!({ "type": "boolean" });
    add("sack", flag(), true.into(), "Selective acknowledgements (RFC 2018 and 6675); newreno has none. Profile rfc.");
    add("timestamps", flag(), true.into(), "Time stamps in every segment (RFC 7323). Profile rfc.");
    add(
        "abc_limit",
        whole(1, bounds::ABC_LIMIT),
        1.into(),
        "Segments that an ACK adds in slow start, at most (RFC 3465). Profile rfc.",
    );
    let text =
        "Avoidance counts what is acknowledged, anew after a reaction or not, or adds 1/cwnd for each ACK (RFC 5681, \
                equation 3). Profile rfc.";
    let words = |all: [&'static str; 3]| json!({ "enum": all });
    add("avoidance", words(AVOIDANCE.map(|(word, _)| word)), AVOIDANCE[0].0.into(), text);
    let text =
        "What a loss leaves a part of: all that is outstanding (RFC 5681), what is still in the network, or cwnd, in \
                whole segments. Profile rfc.";
    add("ssthresh", words(SSTHRESH.map(|(word, _)| word)), SSTHRESH[0].0.into(), text);
    let text = "The timer stays doubled until a round-trip time is sampled (RFC 6298), or until an ACK of new data. Profile rfc.";
    add("backoff_until", json!({ "enum": BACKOFF }), BACKOFF[0].into(), text);
    let text = "The window grows by what an ACK acknowledges, up to abc_limit, or by all that it says has arrived. Profile rfc.";
    add("growth", json!({ "enum": GROWTH }), GROWTH[0].into(), text);
    let text = "min_rto is the least of the timeout (RFC 6298), or of what the variation adds to it. Profile rfc.";
    add("min_rto_for", json!({ "enum": LEAST_RTO }), LEAST_RTO[0].into(), text);
    let text = "CUBIC by RFC 9438, or in whole segments as Linux computes it. Profile rfc.";
    add("cubic", json!({ "enum": CUBIC }), CUBIC[0].into(), text);
    add(BBR[0], flag(), false.into(), "BBR's windows have room for bursts in the hosts, as in Linux. Profile rfc.");
    add(BBR[1], flag(), false.into(), "BBR's windows have room for aggregated ACKs, as in Linux. Profile rfc.");
    add(BBR[2], flag(), false.into(), "BBR looks for policers, as in Linux. Profile rfc.");
    let text = "Segments that go at once where sending is paced, from 1.2 Mbit/s on. Profile rfc.";
    add("pacing_burst", whole(1, bounds::PACING_BURST), 1.into(), text);
    add(
        "send_pairs",
        flag(),
        false.into(),
        "A single new segment waits for the next ACK, to go as one of a pair. Profile rfc.",
    );
    let words = PRR.map(|(word, _)| word);
    let forms = json!({ "anyOf": [{ "enum": words }, { "type": "boolean" }] });
    add("prr", forms, "slow_start".into(), "Proportional rate reduction and its bound (RFC 6937). Profile rfc.");
    let text = "RACK and tail loss probes (RFC 8985); by default with cubic, dctcp, bbr and prague. Profile rfc.";
    add("rack", flag(), false.into(), text);
    add("ledbat_target", reference("time"), "100 ms".into(), "Queueing delay that ledbat keeps.");
    add(
        "ledbat_gain",
        json!({ "type": "number" }),
        1.into(),
        "Segments by which ledbat's window grows in a round trip, at most.",
    );
    let forms = json!({ "anyOf": [{ "type": "boolean" }, { "enum": [CLASSIC] }] });
    let text = "HyStart++ (RFC 9406), by default with cubic; or HyStart as Linux has it. Profile rfc.";
    add("hystart", forms, false.into(), text);
    add("abe", flag(), false.into(), "React less to marks than to losses (RFC 8511). Profile rfc.");
    add("pacing", flag(), false.into(), "Spread segments over the round-trip time. Profile rfc.");
    add("fin", flag(), false.into(), "End finite data with a FIN. Profile rfc.");
    map.insert("rules".into(), about(rules::schema(), "Single rules that differ between TCPs. Profile rfc."));
    let text =
        "Initial window in segments; by default min(10 segments, max(2 segments, 14600 B)) (RFC 6928). Profile rfc.";
    map.insert("initial_window".into(), about(whole(1, bounds::INITIAL_WINDOW), text));
}

/// Schema of a window in segments or bytes.
pub(super) fn window_schema(segments: Json) -> Json {
    json!({ "anyOf": [segments, reference("size")] })
}
