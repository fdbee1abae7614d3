//! Which settings of a discipline the decision vectors record.

use super::script::Kind as Arrivals;
use super::subject::{Case, Subject};
use earlydrop_aqm::params::{Kind, Param, Text, Value, Values};
use earlydrop_aqm::policy::Limit;

/// Thresholds of the RED family with which a few thousand packets cross the whole curve and early, forced and overflow
/// drops all occur; 50 times the gains of PI, whose defaults are for 15 Mbit/s; heavy hitters of 0.6 Mbit/s;
/// times of ECN# that are longer than a packet's; and rates of markers that a flow exceeds.
const LIVELY: [(&str, Value); 12] = [
    ("min_th", Value::Real(10.0)),
    ("max_th", Value::Real(30.0)),
    ("q_ref", Value::Real(20.0)),
    ("a", Value::Real(9.11e-4)),
    ("b", Value::Real(9.08e-4)),
    ("k_p", Value::Real(9.08e-4)),
    ("admit_bytes", Value::Whole(3000)),
    ("cir", Value::Real(1e5)),
    ("pir", Value::Real(2e5)),
    ("instant_threshold", Value::Real(0.2)),
    ("persistent_target", Value::Real(0.05)),
    ("persistent_interval", Value::Real(0.1)),
];
/// Arrivals of the first case; below, of each other case.
const ARRIVALS: usize = 2500;
const FEWER_ARRIVALS: usize = 300;

/// The cases of the subject as it is, then of each of its [`SETTINGS`]; their names end in the setting.
pub fn cases(spec: Subject) -> Vec<Case> {
    let mut lively = Values::new();
    for (name, value) in LIVELY {
        if let Some(param) = spec.param(name) {
            lively.set(param.name, value);
        }
    }
    if !spec.takes(&lively) {
        lively = Values::new();
    }
    let varied: Vec<&Param> = spec.params().filter(|param| !spec.shares(param)).collect();
    let settings = SETTINGS.iter().filter(|setting| setting.aqm == spec.name());
    let set = |param: &Param| settings.clone().any(|one| one.text.split('=').next() == Some(param.name));
    let own: Vec<&Param> = varied.iter().copied().filter(|param| !set(param)).collect();
    let mut cases = ordinary(spec, &lively, &own);
    for (name, given) in FURTHER.iter().filter(|(aqm, ..)| *aqm == spec.name()).map(|&(_, name, given)| (name, given)) {
        let mut values = lively.clone();
        for &(param, value) in given {
            values.set(param, value);
        }
        cases.push(case(spec, name, &values, ARRIVALS / 2));
    }
    cases.extend(harder(spec, &lively, ""));
    for setting in settings.clone() {
        let Some(start) = hostile(spec, &lively, setting.text) else { continue };
        let own: Vec<&Param> = varied.iter().copied().filter(|param| setting.varied.contains(&param.name)).collect();
        let of_setting =
            ordinary(spec, &start.values, &own).into_iter().chain(harder(spec, &start.values, setting.text));
        cases.extend(of_setting.map(|case| Case { name: format!("{} with {}", case.name, setting.text), ..case }));
    }
    cases
}

/// Settings of a discipline that have cases like a discipline of their own.
struct Setting {
    /// The discipline.
    aqm: &'static str,
    /// What is set, as in [`MORE`].
    text: &'static str,
    /// The parameters that are varied.
    varied: &'static [&'static str],
}

const SETTINGS: &[Setting] = &[
    Setting { aqm: "floadautored", text: "stage=auto", varied: &["dialect", "weight"] },
    Setting { aqm: "floadautored", text: "stage=two_levels", varied: &["dialect", "weight", "raising"] },
    Setting { aqm: "floadautored", text: "stage=match", varied: &["dialect", "weight", "raising"] },
    Setting { aqm: "pi", text: "a=9.11000660938532e-4 kd=9.08e-3", varied: &["unit", "byte_scaling"] },
];

/// A case whose signals are marks.
fn case(spec: Subject, name: &str, values: &Values, arrivals: usize) -> Case {
    // Behind a marker nothing is dropped, so that every colour shows.
    let limit = Limit::Packets(if matches!(spec, Subject::Marker(_)) { 2000 } else { 120 });
    let (name, values) = (name.to_string(), values.clone());
    Case { name, values, limit, ecn: true, script: Arrivals::Plain, arrivals }
}

/// The default; of a discipline signals as drops, and a limit in bytes; and every other choice and flag of `varied`, its
/// own parameters. Those common to the RED family are varied for RED only.
fn ordinary(spec: Subject, lively: &Values, varied: &[&Param]) -> Vec<Case> {
    let mut cases = vec![case(spec, "default", lively, ARRIVALS)];
    if matches!(spec, Subject::Aqm(_)) {
        cases.push(Case { ecn: false, ..case(spec, "without ecn", lively, FEWER_ARRIVALS) });
        cases.push(Case { limit: Limit::Bytes(40_000), ..case(spec, "limit in bytes", lively, FEWER_ARRIVALS) });
    }
    for param in varied {
        for value in param.kind.listed().into_iter().filter(|&value| value != param.default) {
            let mut values = lively.clone();
            values.set(param.name, value);
            if spec.takes(&values) {
                cases.push(case(spec, &format!("{} = {value}", param.name), &values, FEWER_ARRIVALS));
            }
        }
    }
    cases
}

/// A case: the name of the discipline, the name of the case, and what it sets.
type Further = (&'static str, &'static str, &'static [(&'static str, Value)]);

/// Cases of several parameters together: what one alone would not show.
const FURTHER: &[Further] = &[
    ("cake", "shaped", &[("bandwidth", Value::Real(8e5)), ("diffserv", Value::Choice("diffserv4"))]),
    (
        "cake",
        "shaped with atm",
        &[("bandwidth", Value::Real(9e5)), ("overhead", Value::Real(-10.0)), ("framing", Value::Choice("atm"))],
    ),
    (
        "cake",
        "shaped with ptm and mpu",
        &[
            ("bandwidth", Value::Real(9e5)),
            ("overhead", Value::Real(30.0)),
            ("network_offset", Value::Real(14.0)),
            ("mpu", Value::Real(84.0)),
            ("framing", Value::Choice("ptm")),
        ],
    ),
    (
        "cake",
        "ingress",
        &[("bandwidth", Value::Real(8e5)), ("ingress", Value::Flag(true)), ("ack_filter", Value::Choice("on"))],
    ),
    ("cake", "autorate", &[("bandwidth", Value::Real(8e5)), ("autorate_ingress", Value::Flag(true))]),
    (
        "cake",
        "short rtt",
        &[("rtt", Value::Real(0.03)), ("target", Value::Real(0.01)), ("max_packet", Value::Real(600.0))],
    ),
    (
        "cake",
        "blue",
        &[
            ("memory", Value::Choice("wire")),
            ("max_packet", Value::Real(100.0)),
            ("diffserv", Value::Choice("besteffort")),
        ],
    ),
];

/// Cases in which every option decides: floods, packets without options, small buffers, silence. First the discipline
/// as it is, then in bytes with each dialect of RED's family, then what [`MORE`] has for it, or for its `setting`.
fn harder(spec: Subject, lively: &Values, setting: &str) -> Vec<Case> {
    let shared = spec.param("byte_scaling").is_some_and(|param| spec.shares(param));
    let of_family: &[&str] = if shared {
        &["byte_scaling=true", "dialect=ns2 unit=byte byte_scaling=true w_q=0.02", "dialect=ns2 wait=false w_q=0.02"]
    } else {
        &[]
    };
    let mine = format!("{} {setting}", spec.name());
    let own = MORE.iter().filter(|more| more.0 == mine.trim_end()).map(|&(_, text)| text);
    let settings = std::iter::once("").chain(of_family.iter().copied()).chain(own);
    settings.filter_map(|text| hostile(spec, lively, text)).collect()
}

/// A case on the script of floods with the settings of `text`; `None` if the discipline refuses them.
fn hostile(spec: Subject, lively: &Values, text: &str) -> Option<Case> {
    let mut case = Case {
        name: format!("hostile {text}").trim_end().to_string(),
        values: lively.clone(),
        limit: Limit::Packets(40),
        ecn: true,
        script: Arrivals::Hostile { silence_s: 1 },
        arrivals: 600,
    };
    for (name, value) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
        let number: f64 = value.parse().unwrap_or(f64::NAN);
        match name {
            "limit" => case.limit = Limit::Packets(number as u64),
            "bytes" => case.limit = Limit::Bytes(number as u64),
            "arrivals" => case.arrivals = number as usize,
            "silence" => case.script = Arrivals::Hostile { silence_s: number as u32 },
            _ => {
                // A discipline may lack parameters that the family shares.
                let Some(param) = spec.param(name) else { continue };
                case.values.set(param.name, read(param, value, number)?);
            }
        }
    }
    spec.takes(&case.values).then_some(case)
}

/// The value of `param` written as `text`; `number` is the text as a number.
pub(super) fn read(param: &Param, text: &str, number: f64) -> Option<Value> {
    let value = match param.kind {
        _ if text == "auto" && param.allows(Value::Auto) => Value::Auto,
        Kind::Choice(words) => Value::Choice(words.iter().find(|&&word| word == text)?),
        Kind::Flag { .. } => Value::Flag(text == "true"),
        Kind::Real { .. } => Value::Real(number),
        Kind::Whole { .. } => Value::Whole(number as i64),
        Kind::Text => Value::Text(Text::read(text).ok()?),
    };
    param.allows(value).then_some(value)
}

/// Settings in which an option decides that does not in the cases above: discipline, with one of [`SETTINGS`] or none, and
/// its parameters, with `limit` (packets) or `bytes`, `silence` (s) and `arrivals` where they are not 40, 1 and 600.
pub const MORE: &[(&str, &str)] = &[
    ("aecn", "no_hint=robust"),
    ("aecn", "no_hint=fragile"),
    ("afq", "queues=6 bids=sketch rows=2 columns=4"),
    ("afq", "queues=4 bytes_per_round=2500 limit=200"),
    ("aifo", "rank=class sampling=3 window=8"),
    ("ared", "clamp=true bottom=0.05 top=0.06"),
    ("ared", "min_th=auto max_th=auto"),
    ("ared", "w_q=auto auto_w_q=ten_rtts mean_packet=10000"),
    ("floadautored stage=auto", "dialect=ns2 wait=false max_p=0.5 arrivals=1200"),
    ("floadautored stage=two_levels", "dialect=ns2 wait=false max_p=0.5 arrivals=1200"),
    ("blue", "idle=once d1=0.05 d2=0.02"),
    ("choke", "draws=3 min_th=4 max_th=20 w_q=0.05"),
    ("choke", "regions=2 min_th=4 max_th=20 w_q=0.05"),
    ("cobalt", "l4s=true ce_threshold=0.005"),
    ("cobalt", "dialect=ns3 ns3_clock=true silence=5"),
    ("codel", "l4s=true ce_threshold=0.005"),
    ("ddred", "no_option=farthest"),
    ("ddred", "no_option=guess"),
    ("ddred", "method=2"),
    ("ddtail", "no_option=farthest"),
    ("ddtail", "no_option=guess"),
    ("ddtail", "method=2"),
    ("ddtail", "scan=5"),
    ("dsred", "count_spacing=true dialect=ns2 w_q=0.02"),
    ("dualpi2", "l_aqm=ramp l_combine=separate"),
    ("dualpi2", "l_aqm=ramp l_combine=max"),
    ("dualpi2", "l_aqm=step_packets l_combine=separate limit=200 target=1"),
    ("ecn_sharp", "instant_threshold=1 persistent_target=0.02"),
    ("feng_red", "gentle=true gentle_tracks_maxp=false max_th=14 w_q=0.05"),
    ("feng_red", "gentle=true gentle_tracks_maxp=true max_th=14 w_q=0.05"),
    ("expression", "rule=sqrt(q)/90+(20<avg)/4+delay/9+p/9+1e4/rate-dt window=0.05"),
    ("fq_cobalt", "queues=16 classify=perfect"),
    ("fq_cobalt", "queues=16 classify=set_associative"),
    ("fq_cobalt", "l4s=true ce_threshold=0.005"),
    ("fq_cobalt", "batch_rule=bytes drop_batch=8"),
    ("fq_cobalt", "batch_rule=packets drop_batch=8"),
    ("fq_cobalt", "ns3_clock=true queues=1 blue_threshold=0.1 silence=5"),
    ("fq_codel", "queues=16 classify=perfect"),
    ("fq_codel", "queues=16 classify=set_associative"),
    ("fq_codel", "l4s=true ce_threshold=0.005"),
    ("fq_codel", "ce_threshold_selector=1 ce_threshold_mask=3 ce_threshold=0.005"),
    ("fq_codel", "ce_threshold_selector=184 ce_threshold_mask=252 ce_threshold=0.005"),
    ("fq_pacing", "quantum=1500 initial_quantum=3000 maxrate=200000 low_rate_threshold=100000 refill_delay=0.01"),
    ("fq_pacing", "quantum=500 maxrate=100000 ce_threshold=0.02"),
    ("fq_pacing", "flow_plimit=3 orphan_mask=6"),
    (
        "fq_pacing",
        "weight_0=16384 weight_1=20000 weight_2=50000 band_0=0 band_1=1 band_2=0 band_3=1 band_4=0 band_5=1 band_6=2 \
         band_7=1 limit=200 arrivals=1200",
    ),
    ("fq_pie", "queues=16 classify=perfect"),
    ("fq_pie", "queues=16 classify=set_associative"),
    ("fq_pie", "dialect=ns3 batch_rule=bytes drop_batch=8"),
    ("fq_pie", "dialect=ns3 batch_rule=packets drop_batch=8"),
    ("fq_pie", "decay_when=below_half qdelay_ref=0.1 queues=1 limit=200"),
    ("fq_pie", "zero_when_empty=false"),
    ("fq_pie", "activity=delay active_threshold=0.2 queues=1"),
    ("fred", "many_flows=true w_q=0.1"),
    ("fred", "min_th=auto max_th=auto w_q=0.1 limit=200"),
    ("fred", "mark=false w_q=0.1 min_th=3 max_th=40 max_p=1"),
    ("hhf", "admit_bytes=2000 quantum=300 non_hh_weight=1 reset_timeout=0.2 evict_timeout=0.1 flows_limit=1"),
    ("hhf", "admit_bytes=1000 quantum=1500 reset_timeout=2 evict_timeout=1 flows_limit=3 arrivals=1600"),
    ("prio", "buffer=shared victim=last limit=10"),
    ("linux_ared", "tc=iproute2-6.14 bandwidth=1000000000 mean_packet=700"),
    ("lru_red", "ageing=halve ageing_interval=0.5 threshold=2"),
    ("lru_red", "raising=count threshold=2"),
    ("pd_red", "gentle=true gentle_tracks_maxp=false max_th=14 w_q=0.05"),
    ("pd_red", "gentle=true gentle_tracks_maxp=true max_th=14 w_q=0.05"),
    ("pd_red", "top=0.03"),
    ("pi", "unit=byte dialect=ns2"),
    ("pi2", "scalable=all latency=timestamp target=0.1"),
    ("pi2", "scalable=none byte_scaling=true mtu=1000 k=1"),
    ("pie", "dialect=ns3 silence=2"),
    ("pie", "decay_when=below_half"),
    ("pie", "zero_when_empty=false"),
    ("red", "dialect=ns2 wait=false"),
    ("red", "dialect=ns2 wait=true"),
    ("red", "dialect=ns2 ecn_over_max=mark_below_mark_p max_th=14 w_q=0.05"),
    ("red", "dialect=linux tc=iproute2-6.14 mean_packet=1.1 min_th=4000 max_th=20000"),
    ("red_pd", "noidle=true w_q=0.1 first_epoch=0.1 target_rtt=0.01 change_interval=0.05 arrivals=2000"),
    ("red_pd", "unresponsive_test=false w_q=0.1 first_epoch=0.1 target_rtt=0.01 change_interval=0.05 arrivals=2000"),
    ("rem", "mode=mark gamma=0.05"),
    ("rio", "dialect=ns2 wait=false ecn_over_max=mark_below_mark_p w_q=0.05 min_th_out=4 max_th_out=60 max_p_out=0.5"),
    ("sfb", "token_rule=exact d1=0.2 d2=0.001 bin_size=3 levels=2 bins=8 penalty_burst=2"),
    ("sfb", "rehash=12 warmup=8 silence=3 d1=0.2 d2=0 bin_size=3 levels=2 bins=8 penalty_rate=300 arrivals=2400"),
    ("sfq", "dialect=ns2 bytes=20000"),
    ("sfred", "fair_rate=list list_size=4"),
    ("sfred", "ageing=never list_size=4"),
    ("sfred", "average_loss=list list_size=4"),
    ("sfred", "release=on_ageing list_size=8 ageing_interval=0.5 w_q=0.05 arrivals=1200"),
    ("sfred", "release=on_eviction list_size=4 ageing_interval=0.2 w_q=0.05 arrivals=1200"),
    ("sfred", "release=never list_size=4"),
    ("sp_pifo", "rank=class queues=3 buffer=each"),
    ("sred", "mode=simple zombies=20 limit=20 arrivals=1200"),
    ("tbf", "rate=800000 burst=4000"),
    ("tbf", "rate=600000 burst=6000 peakrate=900000 mtu=1600"),
    (
        "htb",
        "rate=950000 burst=3000 cburst=2000 quantum=1500 rate_0=200000 rate_1=150000 rate_2=100000 rate_3=100000 \
         rate_4=80000 rate_5=80000 rate_6=60000 rate_7=60000 ceil_0=400000 ceil_1=300000 ceil_2=500000 ceil_3=250000 \
         ceil_4=350000 ceil_5=200000 ceil_6=300000 ceil_7=150000 arrivals=1200",
    ),
    ("htb", "prio_0=1 prio_1=2 prio_2=1 prio_3=2 prio_4=3 prio_5=1 prio_6=4 prio_7=1 arrivals=1200"),
    (
        "wifi",
        "rate_0=900000 rate_1=800000 rate_2=100000 rate_3=700000 rate_4=600000 rate_5=200000 rate_6=500000 \
         rate_7=400000 access=0.003 packets=5 bytes=6000 time=0.05 quantum=0.02 arrivals=1200",
    ),
    ("wifi", "fair=turns stations=3 time=0.1 packets=8"),
    ("wifi", "queues=shared stations=4 rate_1=300000 time=0.1"),
    ("token_bucket", "cir=300000 cbs=4000"),
    ("token_bucket", "cir=400000 cbs=6000 meter=aggregate green=5 red=3"),
    ("srtcm", "cir=300000 cbs=4000 ebs=6000"),
    ("srtcm", "cir=300000 cbs=4000 ebs=6000 meter=aggregate colour_aware=true"),
    ("trtcm", "cir=200000 pir=400000 cbs=4000 pbs=6000"),
    ("trtcm", "cir=200000 pir=400000 cbs=4000 pbs=6000 meter=aggregate colour_aware=true"),
    ("tsw2cm", "cir=100000 window=0.5 meter=aggregate"),
    ("tsw3cm", "cir=100000 pir=200000 window=0.5 meter=aggregate"),
];
