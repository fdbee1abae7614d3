//! Markers against the words of their RFCs: token by token, in whole bytes, at times that are exact in binary and rates that have no fractions;
//! the sliding windows with the same random numbers. Each rule is then changed, and the change must show.

use crate::common::values;
use crate::script::Dice;
use earlydrop_aqm::markers::{find, Colour};
use earlydrop_aqm::prelude::*;
use Colour::{Green, Red, Yellow};

const RULES: [(&str, &[&str]); 9] = [
    ("the bucket is full at first", &["token_bucket", "srtcm", "trtcm"]),
    ("no more than the bucket", &["token_bucket", "srtcm", "trtcm"]),
    ("what the first spills fills the second", &["srtcm"]),
    ("a packet takes its bytes", &["token_bucket", "srtcm", "trtcm"]),
    ("yellow takes from the first of two rates", &["trtcm"]),
    ("green takes from both", &["trtcm"]),
    ("yellow stays yellow", &["srtcm", "trtcm"]),
    ("red stays red", &["srtcm", "trtcm"]),
    ("as much as there is, is enough", &["token_bucket", "srtcm", "trtcm"]),
];

/// The clock's tick is 1/1024 s, exact in binary. Rates in bytes a tick, and sizes in bytes.
const TICK: f64 = 1.0 / 1024.0;

#[derive(Debug)]
struct Profile {
    cir: u64,
    pir: u64,
    cbs: u64,
    second: u64,
}

/// RFC 2697 and RFC 2698, section 3; a single bucket is srTCM's first.
struct Rfc<'a> {
    name: &'a str,
    of: &'a Profile,
    broken: &'a str,
    tc: u64,
    /// Te, or Tp.
    other: u64,
    now: u64,
}

impl<'a> Rfc<'a> {
    fn new(name: &'a str, of: &'a Profile, broken: &'a str) -> Self {
        let full = broken != "the bucket is full at first";
        let (tc, other) = if full { (of.cbs, of.second) } else { (0, 0) };
        Rfc { name, of, broken, tc, other, now: 0 }
    }

    fn keeps(&self, rule: &str) -> bool {
        self.broken != rule
    }

    /// Tokens come one by one.
    fn update(&mut self, now: u64) {
        let most = if self.keeps("no more than the bucket") { 1 } else { 2 };
        for _ in self.now..now {
            for _ in 0..self.of.cir {
                if self.tc < self.of.cbs * most {
                    self.tc += 1;
                } else if self.name == "srtcm"
                    && self.other < self.of.second
                    && self.keeps("what the first spills fills the second")
                {
                    self.other += 1;
                }
            }
            if self.name == "trtcm" {
                self.other = (self.other + self.of.pir).min(self.of.second * most);
            }
        }
        self.now = now;
    }

    fn colour(&mut self, bytes: u64, before: Colour, now: u64) -> Colour {
        self.update(now);
        let before = match before {
            Yellow if !self.keeps("yellow stays yellow") => Green,
            Red if !self.keeps("red stays red") => Green,
            other => other,
        };
        let spare = u64::from(!self.keeps("as much as there is, is enough"));
        let taken = if self.keeps("a packet takes its bytes") { bytes } else { 0 };
        let (first, second) = (self.tc >= bytes + spare, self.other >= bytes + spare);
        match self.name {
            "trtcm" if before == Red || !second => Red,
            "trtcm" => {
                let yellow = before == Yellow || !first;
                if !yellow {
                    self.tc -= taken;
                }
                if self.keeps(if yellow { "yellow takes from the first of two rates" } else { "green takes from both" })
                {
                    self.other -= taken;
                }
                [Green, Yellow][usize::from(yellow)]
            }
            _ if before == Green && first => {
                self.tc -= taken;
                Green
            }
            "srtcm" if before != Red && second => {
                self.other -= taken;
                Yellow
            }
            _ => Red,
        }
    }
}

fn buckets_differ(name: &'static str, seed: u64, broken: &str) -> bool {
    let dice = &mut Dice(seed);
    let cir = 1 + dice.below(200);
    let of = Profile {
        cir,
        pir: cir + dice.below(300),
        cbs: dice.one_of(&[0, 1500, 3000, 10_000]),
        second: dice.one_of(&[1500, 4000, 20_000]),
    };
    let aware = dice.below(2) == 0;
    let rate = |bytes: u64| Value::Real(8.0 * bytes as f64 / TICK);
    let mut given = vec![("cir", rate(of.cir)), ("cbs", Value::Real(of.cbs as f64))];
    match name {
        "srtcm" => given.extend([("ebs", Value::Real(of.second as f64)), ("colour_aware", Value::Flag(aware))]),
        "trtcm" => given.extend([
            ("pir", rate(of.pir)),
            ("pbs", Value::Real(of.second as f64)),
            ("colour_aware", Value::Flag(aware)),
        ]),
        _ => {}
    }
    let (spec, given) = (find(name).unwrap(), values(&given));
    (spec.check)(&given).unwrap();
    let mut meter = (spec.build)(&given);
    let mut rfc = Rfc::new(name, &of, broken);
    let mut now = 0;
    (0..300).any(|_| {
        now += dice.one_of(&[0, 0, 1, 2, 8, 16, 128]);
        let bytes = dice.one_of(&[40, 500, 1000, 1500]);
        let before = (aware && name != "token_bucket").then(|| dice.one_of(&[Green, Green, Yellow, Red]));
        let (packet, random) = (Packet::new(1, bytes as u32), &mut Generator::stream(1, "none"));
        let found = meter.colour(&packet, before, Time::from_seconds(now as f64 * TICK), random);
        found != rfc.colour(bytes, before.unwrap_or(Green), now)
    })
}

#[test]
fn token_buckets_colour_as_their_rfcs_say() {
    for name in ["token_bucket", "srtcm", "trtcm"] {
        for seed in 0..200 {
            assert!(!buckets_differ(name, seed, ""), "{name}, seed {seed}");
        }
    }
}

#[test]
fn each_broken_rule_of_a_bucket_shows() {
    for (rule, names) in RULES {
        for name in names {
            assert!((0..200).any(|seed| buckets_differ(name, seed, rule)), "{name}: nobody notices without: {rule}");
        }
    }
}

const WINDOW_RULES: [&str; 6] = [
    "the rate is the committed one at first",
    "the window is part of the time",
    "the front moves",
    "within the committed rate all is green",
    "the share beyond the committed rate",
    "the share beyond the peak rate",
];

/// RFC 2859, sections 3 and 4; with two colours the peak rate is the committed one.
fn windows_differ(name: &'static str, seed: u64, broken: &str) -> bool {
    let keeps = |rule: &str| broken != rule;
    let dice = &mut Dice(seed);
    let (ctr, win_length) = (1000.0 * (1 + dice.below(500)) as f64, dice.one_of(&[0.1, 1.0, 5.0]));
    let ptr = if name == "tsw2cm" { ctr } else { ctr * dice.one_of(&[1.0, 1.5, 3.0]) };
    let mut given = vec![("cir", Value::Real(8.0 * ctr)), ("window", Value::Real(win_length))];
    if name == "tsw3cm" {
        given.push(("pir", Value::Real(8.0 * ptr)));
    }
    let (spec, given) = (find(name).unwrap(), values(&given));
    (spec.check)(&given).unwrap();
    let mut meter = (spec.build)(&given);
    let [mut mine, mut theirs] = [0; 2].map(|_| Generator::stream(seed, "marker"));
    let mut avg_rate = if keeps("the rate is the committed one at first") { ctr } else { 0.0 };
    let (mut now, mut t_front) = (0.0, 0.0);
    (0..400).any(|_| {
        now += 1500.0 / ctr * dice.one_of(&[0.0, 0.1, 0.5, 1.0, 2.0]);
        let size = dice.one_of(&[40, 500, 1500]);
        let found = meter.colour(&Packet::new(1, size), None, Time::from_seconds(now), &mut theirs);
        let new_bytes = avg_rate * win_length + f64::from(size);
        let window = if keeps("the window is part of the time") { win_length } else { 0.0 };
        avg_rate = new_bytes / (now - t_front + window);
        if keeps("the front moves") {
            t_front = now;
        }
        let colour = if avg_rate <= ctr && keeps("within the committed rate all is green") {
            Green
        } else {
            let p1 = if keeps("the share beyond the peak rate") { (avg_rate - ptr).max(0.0) / avg_rate } else { 0.0 };
            let p2 =
                if keeps("the share beyond the committed rate") { (avg_rate.min(ptr) - ctr) / avg_rate } else { 0.0 };
            let u = mine.uniform();
            if u <= p1 {
                Red
            } else if u <= p1 + p2 {
                Yellow
            } else {
                Green
            }
        };
        found != colour
    })
}

#[test]
fn windows_colour_as_the_rfc_says() {
    for name in ["tsw2cm", "tsw3cm"] {
        for seed in 0..200 {
            assert!(!windows_differ(name, seed, ""), "{name}, seed {seed}");
        }
    }
}

#[test]
fn each_broken_rule_of_a_window_shows() {
    for rule in WINDOW_RULES {
        assert!((0..200).any(|seed| windows_differ("tsw3cm", seed, rule)), "nobody notices without: {rule}");
    }
}
