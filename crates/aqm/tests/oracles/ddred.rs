//! DDRED and its tail-drop form against a slow model: a plain list of packets, looked through from end to end for every
//! victim, with distances as fractions compared by cross-multiplication, and a RED of its own.
//!
//! The model is written from the rules in `docs/algorithms/ddred.md` and shares no code with the crate. Both are given
//! the same arrivals, requests and random numbers; every packet that dies, the reason, every mark and every packet that
//! leaves must be the same. To know that a difference would be seen, each rule of the model is also broken in turn, and
//! the comparison must then fail.

use crate::common::{queue, values};
use earlydrop_aqm::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

/// A rule of the model that is broken to see whether the comparison notices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Broken {
    Nothing,
    /// The packet from farthest away dies.
    Farthest,
    /// The arrival is no candidate.
    WithoutArrival,
    /// A tie of the arrival with a queued packet goes the other way.
    TieWithArrival,
    /// A tie between queued packets goes the other way.
    TieInQueue,
    /// Method 2 rounds its shares to hundredths.
    RoundedShares,
    /// Method 2 without TTL_f: share 0.
    FirstPacketNear,
    /// TTL_f >= TTL_i: the whole route.
    FalseFinalWhole,
    /// Shares above 1 are cut to 1.
    SharesCut,
    /// A TTL above TTL_i counts backwards as if it had come far.
    TtlWraps,
    /// A packet without TTL_i is ranked by the other rule.
    NoOptionOther,
    /// The scan looks at one packet more.
    ScanOneMore,
    /// The scan begins at the head.
    ScanFromHead,
    /// A marked nearest packet is marked once more.
    MarkedAgain,
    /// A marked nearest packet is dropped.
    MarkedDropped,
    /// The next after a marked nearest packet may be one that must be dropped.
    NextOfAll,
    /// The nearest is passed over if it is not ECN-capable.
    NotCapablePassed,
    /// A mark is set though there is no room, and the arrival dies.
    MarkWithoutRoom,
    /// One victim is enough, whatever the arrival's size.
    OneVictim,
    /// An arrival that can never fit pushes others out.
    NeverFits,
    /// Past the end of the curve the arrival dies.
    ForcedArrival,
    /// When there is no room the arrival dies.
    OverflowArrival,
    /// No gentle part.
    NotGentle,
    /// The count does not start again after a drop.
    CountGoesOn,
}

const EVERY_RULE: [Broken; 23] = [
    Broken::Farthest,
    Broken::WithoutArrival,
    Broken::TieWithArrival,
    Broken::TieInQueue,
    Broken::RoundedShares,
    Broken::FirstPacketNear,
    Broken::FalseFinalWhole,
    Broken::SharesCut,
    Broken::TtlWraps,
    Broken::NoOptionOther,
    Broken::ScanOneMore,
    Broken::ScanFromHead,
    Broken::MarkedAgain,
    Broken::MarkedDropped,
    Broken::NextOfAll,
    Broken::NotCapablePassed,
    Broken::MarkWithoutRoom,
    Broken::OneVictim,
    Broken::NeverFits,
    Broken::ForcedArrival,
    Broken::OverflowArrival,
    Broken::NotGentle,
    Broken::CountGoesOn,
];

/// What a case sets. Everything else has its default.
#[derive(Clone, Copy, Debug)]
struct Case {
    tail: bool,
    share: bool,
    oldest: bool,
    no_option: &'static str,
    /// 0: everything.
    scan: usize,
    limit: Limit,
    ecn: bool,
    forced_arrival: bool,
    gentle: bool,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    seed: u64,
}

/// Uniform numbers that both sides can make alike (xorshift64*).
#[derive(Clone)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What can be seen of a queue, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Died(u32, Reason),
    Left(u32, Ecn),
}

/// The slow model.
struct Model {
    case: Case,
    broken: Broken,
    waiting: Vec<Packet>,
    numbers: Numbers,
    events: Vec<Event>,
    average: f64,
    count: i64,
    /// The link has found nothing since then, as far as the average knows.
    idle: Option<f64>,
    /// The last arrival, if it found the link idle, and until when its average has counted the idle time.
    idle_arrival: Option<(f64, f64)>,
}

impl Model {
    fn new(case: Case, broken: Broken) -> Self {
        Model {
            case,
            broken,
            waiting: Vec::new(),
            numbers: Numbers(case.seed | 1),
            events: Vec::new(),
            average: 0.0,
            count: -1,
            idle: Some(0.0),
            idle_arrival: None,
        }
    }

    fn is(&self, broken: Broken) -> bool {
        self.broken == broken
    }

    /// Distance as numerator and denominator.
    fn distance(&self, p: &Packet) -> (i64, i64) {
        let mut initial = i64::from(p.initial_ttl);
        let ttl = i64::from(p.ttl);
        if initial == 0 {
            let rule = match (self.case.no_option, self.is(Broken::NoOptionOther)) {
                ("nearest", true) => "guess",
                ("guess", true) => "farthest",
                ("farthest", true) => "nearest",
                (rule, _) => rule,
            };
            match rule {
                "nearest" => return (0, 1),
                "farthest" => return (255, 1),
                _ => {
                    initial = 32;
                    while initial < ttl {
                        initial = if initial == 128 { 255 } else { 2 * initial };
                    }
                }
            }
        }
        let mut hops = initial - ttl;
        if hops < 0 {
            hops = if self.is(Broken::TtlWraps) { hops + 256 } else { 0 };
        }
        if !self.case.share {
            return (hops, 1);
        }
        let last = i64::from(p.final_ttl);
        if last == 0 {
            return (i64::from(!self.is(Broken::FirstPacketNear)), 1);
        }
        if last >= initial {
            return if self.is(Broken::FalseFinalWhole) { (1, 1) } else { (hops, 1) };
        }
        let route = initial - last;
        if self.is(Broken::SharesCut) && hops > route {
            return (1, 1);
        }
        if self.is(Broken::RoundedShares) {
            return (100 * hops / route, 100);
        }
        (hops, route)
    }

    /// Whether `a` dies before `b`, which joined later; `arrival`: `b` is the arrival.
    fn before(&self, a: &Packet, b: &Packet, arrival: bool) -> bool {
        let ((a, over_a), (b, over_b)) = (self.distance(a), self.distance(b));
        let (a, b) = if self.is(Broken::Farthest) { (b * over_a, a * over_b) } else { (a * over_b, b * over_a) };
        let other = arrival && self.is(Broken::TieWithArrival) || !arrival && self.is(Broken::TieInQueue);
        a < b || a == b && (self.case.oldest ^ other)
    }

    /// The place in the queue of the first to die among `places` (oldest first) and the arrival; `None` for the
    /// arrival.
    fn first_to_die(&self, places: &[usize], arrival: Option<&Packet>) -> Option<usize> {
        let mut nearest: Option<usize> = None;
        for &place in places {
            if nearest.is_none_or(|found| !self.before(&self.waiting[found], &self.waiting[place], false)) {
                nearest = Some(place);
            }
        }
        match arrival {
            Some(packet) if !self.is(Broken::WithoutArrival) => {
                nearest.filter(|&place| self.before(&self.waiting[place], packet, true))
            }
            _ => nearest,
        }
    }

    fn all(&self) -> Vec<usize> {
        (0..self.waiting.len()).collect()
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.size)).sum()
    }

    fn fits(&self, p: &Packet, packets: u64, bytes: u64) -> bool {
        match self.case.limit {
            Limit::Packets(n) => packets < n,
            Limit::Bytes(n) => bytes + u64::from(p.size) <= n,
        }
    }

    fn fits_now(&self, p: &Packet) -> bool {
        self.fits(p, self.waiting.len() as u64, self.bytes())
    }

    fn die(&mut self, place: Option<usize>, arrival: &Packet, reason: Reason) -> bool {
        let tag = match place {
            Some(place) => self.waiting.remove(place).tag,
            None => arrival.tag,
        };
        self.events.push(Event::Died(tag, reason));
        place.is_none()
    }

    /// RED of 1993 with gentle: whether to act, and whether for certain.
    fn red(&mut self, now: f64) -> Option<Reason> {
        let c = self.case;
        match self.idle.take() {
            Some(since) => {
                let missed = (LINK.rate_bps / 8.0 / 500.0 * (now - since)).floor();
                if missed > 0.0 {
                    // Far from any threshold this differs from other ways to work out a power in the last digits only.
                    self.average *= (1.0 - c.w_q).powf(missed);
                }
                // An arrival that dies at an idle link has used the idle time up that it has counted.
                self.idle_arrival = Some((now, since + missed / (LINK.rate_bps / 8.0 / 500.0)));
                if self.waiting.is_empty() {
                    self.idle = self.idle_arrival.map(|(_, until)| until);
                }
            }
            None => {
                self.idle_arrival = None;
                self.average += c.w_q * (self.waiting.len() as f64 - self.average);
            }
        }
        let gentle = c.gentle && !self.is(Broken::NotGentle);
        if self.average < c.min_th {
            self.count = -1;
            return None;
        }
        if self.average >= if gentle { 2.0 * c.max_th } else { c.max_th } {
            self.count = 0;
            return Some(Reason::Forced);
        }
        let p_b = if self.average < c.max_th {
            c.max_p * (self.average - c.min_th) / (c.max_th - c.min_th)
        } else {
            c.max_p + (1.0 - c.max_p) * (self.average - c.max_th) / c.max_th
        };
        self.count += 1;
        let left = 1.0 - self.count as f64 * p_b;
        let p_a = if left > 0.0 { (p_b / left).min(1.0) } else { 1.0 };
        let u = self.numbers.uniform();
        if p_a > 0.0 && u <= p_a {
            if !self.is(Broken::CountGoesOn) {
                self.count = 0;
            }
            return Some(Reason::Early);
        }
        None
    }

    fn arrive(&mut self, mut packet: Packet, now: f64) {
        let dead = if self.case.tail { self.offer_tail(&packet) } else { self.offer_red(&mut packet, now) };
        if !dead {
            self.waiting.push(packet);
            self.idle = None;
        }
    }

    /// Whether the arrival dies.
    fn offer_tail(&mut self, packet: &Packet) -> bool {
        let mut first = true;
        while !self.fits_now(packet) {
            if !first && self.is(Broken::OneVictim) {
                return self.die(None, packet, Reason::Overflow);
            }
            first = false;
            if !self.fits(packet, 0, 0) && !self.is(Broken::NeverFits) {
                return self.die(None, packet, Reason::Overflow);
            }
            let waiting = self.waiting.len();
            let mut looks = if self.case.scan == 0 { waiting } else { self.case.scan };
            looks = (looks + usize::from(self.is(Broken::ScanOneMore))).min(waiting);
            let places: Vec<usize> =
                if self.is(Broken::ScanFromHead) { (0..looks).collect() } else { (waiting - looks..waiting).collect() };
            let place = self.first_to_die(&places, Some(packet));
            if self.die(place, packet, Reason::Overflow) {
                return true;
            }
        }
        false
    }

    /// Whether the arrival dies.
    fn offer_red(&mut self, packet: &mut Packet, now: f64) -> bool {
        let verdict = self.red(now);
        let never = !self.fits(packet, 0, 0) && !self.is(Broken::NeverFits);
        if let Some(reason) = verdict {
            let forced_arrival = self.case.forced_arrival || self.is(Broken::ForcedArrival);
            if reason == Reason::Forced && forced_arrival {
                return self.die(None, packet, reason);
            }
            if never {
                let capable = self.case.ecn && packet.ecn != Ecn::NotEct;
                let reason = if reason == Reason::Early && capable { Reason::Overflow } else { reason };
                return self.die(None, packet, reason);
            }
            let mut places = self.all();
            if self.is(Broken::NotCapablePassed) && self.case.ecn {
                places.retain(|&place| self.waiting[place].ecn != Ecn::NotEct);
            }
            let place = self.first_to_die(&places, Some(packet));
            let ecn = place.map_or(packet.ecn, |place| self.waiting[place].ecn);
            let marked_dies = self.is(Broken::MarkedDropped) && ecn == Ecn::Ce;
            if reason == Reason::Forced || !self.case.ecn || ecn == Ecn::NotEct || marked_dies {
                if self.die(place, packet, reason) {
                    return true;
                }
            } else if self.fits_now(packet) || self.is(Broken::MarkWithoutRoom) {
                self.mark(place, packet);
            }
        }
        let mut first = true;
        while !self.fits_now(packet) {
            let overflow_arrival = self.case.forced_arrival || self.is(Broken::OverflowArrival);
            if overflow_arrival || never || !first && self.is(Broken::OneVictim) {
                return self.die(None, packet, Reason::Overflow);
            }
            first = false;
            let place = self.first_to_die(&self.all(), Some(packet));
            if self.die(place, packet, Reason::Overflow) {
                return true;
            }
        }
        false
    }

    /// Marks the nearest, or the nearest that has no mark yet.
    fn mark(&mut self, mut place: Option<usize>, packet: &mut Packet) {
        let unmarked = |p: &Packet| matches!(p.ecn, Ecn::Ect0 | Ecn::Ect1);
        if !unmarked(place.map_or(&*packet, |place| &self.waiting[place])) && !self.is(Broken::MarkedAgain) {
            let next_of_all = self.is(Broken::NextOfAll);
            let can_be = |p: &Packet| unmarked(p) || next_of_all && p.ecn == Ecn::NotEct;
            let mut places = self.all();
            places.retain(|&place| can_be(&self.waiting[place]));
            if places.is_empty() && !can_be(packet) {
                return;
            }
            place = self.first_to_die(&places, can_be(packet).then_some(&*packet));
        }
        match place {
            Some(place) if self.waiting[place].ecn != Ecn::NotEct => self.waiting[place].ecn = Ecn::Ce,
            None if packet.ecn != Ecn::NotEct => packet.ecn = Ecn::Ce,
            _ => {}
        }
    }

    fn leave(&mut self, now: f64) {
        if self.waiting.is_empty() {
            // A packet that takes no time leaves the link as idle as it was.
            let from = self.idle_arrival.map_or(now, |(at, until)| if at == now { until } else { now });
            self.idle.get_or_insert(from);
            return;
        }
        let packet = self.waiting.remove(0);
        self.events.push(Event::Left(packet.tag, packet.ecn));
    }
}

fn in_crate(case: &Case) -> Box<dyn Discipline> {
    let mut given = values(&[
        ("method", Value::Whole(if case.share { 2 } else { 1 })),
        ("tie", Value::Choice(if case.oldest { "oldest" } else { "newest" })),
        ("no_option", Value::Choice(case.no_option)),
    ]);
    if case.tail {
        given.set("scan", Value::Whole(case.scan as i64));
    } else {
        let real: [(&'static str, f64); 4] =
            [("min_th", case.min_th), ("max_th", case.max_th), ("max_p", case.max_p), ("w_q", case.w_q)];
        for (name, value) in real {
            given.set(name, Value::Real(value));
        }
        given.set("gentle", Value::Flag(case.gentle));
        given.set("forced_victim", Value::Choice(if case.forced_arrival { "arrival" } else { "nearest" }));
    }
    let mut numbers = Numbers(case.seed | 1);
    let random = Generator::custom(move || numbers.uniform());
    queue(if case.tail { "ddtail" } else { "ddred" }, &given, &LINK, case.limit, case.ecn, random)
}

/// A packet as this case sends them: few distances, so that ties are common, or many.
fn packet(draw: &mut Numbers, many: bool, tag: u32) -> Packet {
    const SIZES: [u32; 5] = [40, 300, 500, 1000, 1500];
    const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let initial_ttl: u8 = [32, 64, 0, 128][[0, 0, 0, 0, 1, 1, 2, 3][draw.below(8) as usize]];
    let start = if initial_ttl == 0 { [31, 60, 128, 250][draw.below(4) as usize] } else { initial_ttl };
    let hops = draw.below(if many { 31 } else { 4 }) as u8;
    // Now and then a TTL above the one written.
    let ttl = if draw.below(40) == 0 { start.saturating_add(hops) } else { start - hops };
    let route = 1 + draw.below(if many { 31 } else { 3 }) as u8;
    let final_ttl = match draw.below(10) {
        0 => 0,
        1 => start.saturating_add(route),
        // On a way longer than the one before it.
        2 => start - 1,
        _ => ttl.saturating_sub(route),
    };
    let size = SIZES[draw.below(5) as usize];
    Packet { initial_ttl, ttl, final_ttl, ecn: ECN[draw.below(4) as usize], tag, ..Packet::new(1, size) }
}

/// The first difference between the model and the crate, if there is one.
fn compare(case: Case, broken: Broken, steps: u32) -> Option<String> {
    let mut draw = Numbers(case.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let many = draw.below(2) == 0;
    let mut model = Model::new(case, broken);
    let mut ours = in_crate(&case);
    let mut now = 0.0;
    for tag in 0..steps {
        now += [0.0, 1e-5, 3e-4, 2e-3][draw.below(4) as usize];
        let time = Time::from_seconds(now);
        let mut events = Vec::new();
        let from = model.events.len();
        // Floods and droughts, so that the queue is full and empty by turns.
        if draw.below(16) < if tag / 64 % 2 == 0 { 11 } else { 6 } {
            let packet = packet(&mut draw, many, tag);
            let on_drop = &mut |p: &Packet, reason| events.push(Event::Died(p.tag, reason));
            let admitted = ours.enqueue(packet, time, on_drop).is_some();
            let dead = events.iter().any(|event| matches!(event, Event::Died(victim, _) if *victim == tag));
            assert_eq!(admitted, !dead, "what is not admitted dies");
            model.arrive(packet, now);
        } else {
            let packet = ours.dequeue(time, &mut |p, reason| events.push(Event::Died(p.tag, reason)));
            events.extend(packet.map(|p| Event::Left(p.tag, p.ecn)));
            model.leave(now);
        }
        let same = events == model.events[from..] && ours.packets() == model.waiting.len() as u64;
        if !same {
            return Some(format!("{case:?}, step {tag}: {events:?}, the model has {:?}", &model.events[from..]));
        }
    }
    None
}

/// Cases of all kinds, by number.
fn case(number: u64) -> Case {
    let mut draw = Numbers(number.wrapping_add(77).wrapping_mul(0xd134_2543_de82_ef95) | 1);
    let limit = match draw.below(4) {
        0 => Limit::Bytes(200 + draw.below(20_000)),
        _ => Limit::Packets(1 + draw.below(30)),
    };
    let min_th = 0.37 + draw.uniform() * 6.0;
    Case {
        tail: draw.below(3) == 0,
        share: draw.below(2) == 0,
        oldest: draw.below(3) == 0,
        no_option: ["nearest", "farthest", "guess"][draw.below(3) as usize],
        scan: [0, 0, 1, 2, 5, 20][draw.below(6) as usize],
        limit,
        ecn: draw.below(3) > 0,
        forced_arrival: draw.below(4) == 0,
        gentle: draw.below(3) > 0,
        min_th,
        max_th: min_th + 0.5 + draw.uniform() * 15.0,
        max_p: 0.05 + 0.5 * draw.uniform(),
        w_q: [0.01, 0.1, 0.5][draw.below(3) as usize],
        seed: draw.next(),
    }
}

const CASES: u64 = 400;
const STEPS: u32 = 1500;

#[test]
fn ddred_agrees_with_a_slow_search() {
    for number in 0..CASES {
        let found = compare(case(number), Broken::Nothing, STEPS);
        assert_eq!(found, None, "case {number}");
    }
}

/// Each rule, broken in the model, shows within the same cases.
#[test]
fn every_rule_of_the_search_is_seen() {
    for broken in EVERY_RULE {
        let seen = (0..CASES).filter(|&number| compare(case(number), broken, STEPS).is_some()).take(3).count();
        assert_eq!(seen, 3, "{broken:?} makes no difference");
    }
}

/// Whether `a` has come no farther than `b`, for packets with all fields written and a known route.
fn no_farther(share: bool, a: &Packet, b: &Packet) -> bool {
    let hops = |p: &Packet| u64::from(p.initial_ttl) - u64::from(p.ttl);
    let route = |p: &Packet| if share { u64::from(p.initial_ttl) - u64::from(p.final_ttl) } else { 1 };
    hops(a) * route(b) <= hops(b) * route(a)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(12), ..ProptestConfig::default() })]

    /// Whoever dies, and whatever was removed before: nobody in the queue has come a shorter way, nor has the arrival.
    #[test]
    fn the_victim_has_come_the_shortest_way(
        (tail, share, oldest, ecn) in any::<(bool, bool, bool, bool)>(),
        limit in prop_oneof![(1_u64..40).prop_map(Limit::Packets), (1500_u64..30_000).prop_map(Limit::Bytes)],
        seed in any::<u64>(),
        steps in prop::collection::vec((0_u8..10, 0_u8..40, 0_u8..40, 40_u32..1500, 0_usize..3), 1..600),
    ) {
        let case = Case {
            tail, share, oldest, ecn, limit, seed,
            no_option: "nearest", scan: 0, forced_arrival: false, gentle: true,
            min_th: 2.0, max_th: 12.0, max_p: 0.3, w_q: 0.1,
        };
        let mut queue = in_crate(&case);
        let mut waiting: Vec<Packet> = Vec::new();
        for (tag, (what, hops, more, size, ecn)) in steps.into_iter().enumerate() {
            let now = Time::from_seconds(tag as f64 * 1e-4);
            if what >= 6 {
                let left = queue.dequeue(now, &mut |_, _| panic!("nobody dies at the head"));
                prop_assert_eq!(left.map(|p| p.tag), waiting.first().map(|p| p.tag));
                waiting.drain(..waiting.len().min(1));
                continue;
            }
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce][ecn];
            let ttl = 100 - hops;
            let arrival =
                Packet { initial_ttl: 100, ttl, final_ttl: ttl - more.max(1), ecn, tag: tag as u32, ..Packet::new(1, size) };
            waiting.push(arrival);
            let mut dead: Vec<Packet> = Vec::new();
            queue.enqueue(arrival, now, &mut |p, _| dead.push(*p));
            for victim in dead {
                for other in &waiting {
                    prop_assert!(no_farther(share, &victim, other), "{:?} died before {:?}", victim, other);
                }
                waiting.retain(|p| p.tag != victim.tag);
            }
            prop_assert_eq!(queue.packets(), waiting.len() as u64);
        }
    }
}
