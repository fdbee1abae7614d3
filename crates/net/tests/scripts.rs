//! Runs the scripts of segments in and out of the RFC TCP: `scripts/*.txt`, one file per RFC. The language is
//! described in `scripts/README.md`.

use earlydrop_net::segment::{AE, CE, CWR, ECE, ECT0, ECT1, FIN, PSH, SYN};
use earlydrop_net::tcp::rfc::{
    wrap, AccecnOption, Arrived, Connection, Endpoint, Feedback, Feedbacks, Reading, Receiver, Reply, Settings,
    SAME_WINDOW,
};
use earlydrop_net::tcp::stacks;
use earlydrop_net::tcp::stacks::options::{named, Opt, Value, Values};
use earlydrop_net::tcp::{Output, Sent};
use std::path::Path;

const MSS: u32 = 1000;

struct Line<'a> {
    place: String,
    time: Option<f64>,
    words: Vec<&'a str>,
}

/// Segment numbers `3` or `3-5`, as (first, last).
fn span(word: &str, place: &str) -> (u64, u64) {
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{place}: no segment: {word:?}"));
    match word.split_once('-') {
        Some((a, b)) => (number(a), number(b)),
        None => (number(word), number(word)),
    }
}

fn real(word: &str, place: &str) -> f64 {
    word.parse().unwrap_or_else(|_| panic!("{place}: no number: {word:?}"))
}

/// First byte of segment `n`, from 1.
fn begin(n: u64) -> u64 {
    1 + (n - 1) * u64::from(MSS)
}

fn settings(words: &[&str], place: &str) -> Settings {
    let by_name = words.iter().find_map(|word| word.strip_prefix("stack="));
    let mut given: Vec<(&str, &str)> =
        if by_name.is_none() { vec![("timestamps", "off"), ("delayed_ack", "off")] } else { vec![] };
    given.extend(words.iter().map(|word| word.split_once('=').unwrap_or((word, "on"))));
    let find = |key: &str| given.iter().rev().find(|(known, _)| *known == key).map(|&(_, value)| value);
    for (key, _) in &given {
        assert!(
            ["tcp", "ecn", "reading", "stack"].contains(key) || named(key).is_some(),
            "{place}: unknown option {key:?}"
        );
    }
    let stack = by_name.map_or(&stacks::rfc::STACK, |name| stacks::named(name).expect(name));
    // Options that cubic, dctcp and prague imply must be set by the script itself.
    let (tcp, ecn) = (find("tcp").unwrap_or("reno"), find("ecn").unwrap_or("off"));
    let mut settings = stack
        .settings::<String>(tcp, MSS, ecn != "off", |opt, _| {
            let bare = match opt.key {
                _ if by_name.is_some() => None,
                "rack" | "hystart" | "pacing" => Some(Value::Flag(false)),
                "frto" => Some(Value::Word("off")),
                _ => None,
            };
            find(opt.key).map_or(Ok(bare), |text| value(opt, text).map(Some))
        })
        .unwrap_or_else(|message| panic!("{place}: {message}"));
    // Segments/s, or a pause of the period, s.
    settings.receiver.reading = find("reading").map(|text| {
        let segments = |word: &str| real(word, place) * f64::from(MSS);
        let (every, pause) = text
            .split_once('/')
            .map_or((f64::INFINITY, 0.0), |(pause, every)| (real(every, place), real(pause, place)));
        let rate = if pause > 0.0 { f64::INFINITY } else { segments(text) };
        Reading { rate, every, pause }
    });
    settings.ecn.accecn = ecn == "accecn";
    settings.ecn.feedback = match (ecn, tcp) {
        ("on", _) => Feedbacks::Classic,
        ("dctcp", _) | ("accecn", "dctcp") => Feedbacks::Dctcp,
        ("counter", _) | ("accecn", "prague") => Feedbacks::Counter,
        ("accecn", _) => Feedbacks::Classic,
        _ => Feedbacks::None,
    };
    settings
}

/// The value to which a word of a script sets an option.
fn value(opt: &'static Opt, text: &str) -> Result<Value, String> {
    value_of(&opt.values, text).ok_or_else(|| format!("{} = {text:?}; allowed {}", opt.key, opt.allowed()))
}

fn value_of(values: &'static Values, text: &str) -> Option<Value> {
    let number = || text.parse::<f64>().ok();
    match (text, values) {
        ("on", Values::Flag(_) | Values::Switch(..) | Values::Wait(..)) => Some(Value::Flag(true)),
        ("off", Values::Flag(_) | Values::Switch(..) | Values::Wait(..)) => Some(Value::Flag(false)),
        (_, Values::Window(..)) => Some(Value::Whole(number()? as u64 * u64::from(MSS))),
        (_, Values::Whole(..)) => Some(Value::Whole(number()? as u64)),
        (_, Values::Seconds(..) | Values::Wait(..)) => Some(Value::Seconds(number()?)),
        (_, Values::Number(..)) => Some(Value::Number(number()?)),
        // The parts of a table, by their order.
        (_, Values::Table(words, _, parts)) if !words.contains(&text) => {
            let mut numbers = [None; 2];
            for ((part, number), text) in parts.iter().zip(&mut numbers).zip(text.split('/')) {
                *number = value_of(&part.values, text)?.number();
            }
            Some(Value::Table(numbers))
        }
        _ => values.words().iter().copied().find(|word| *word == text).map(Value::Word),
    }
}

/// A segment in the notation of scripts.
fn show(packet: &Sent) -> String {
    let mut text = match packet.bits & SYN {
        0 if packet.payload == 0 && packet.bits & FIN == 0 => "ACK".to_string(),
        0 => {
            let number = (packet.seq - 1) / MSS + 1;
            let part = u32::from(packet.payload) % MSS != 0 || !(packet.seq - 1).is_multiple_of(MSS);
            match (packet.payload, part) {
                (0, _) => "FIN".to_string(),
                (payload, true) => format!("{number}:{payload}B"),
                (_, false) => number.to_string(),
            }
        }
        _ => "SYN".to_string(),
    };
    if packet.payload > 0 && packet.bits & FIN != 0 {
        text += "+FIN";
    }
    text += match packet.bits & 3 {
        ECT0 => "+ECT",
        ECT1 => "+ECT1",
        _ => "",
    };
    if packet.bits & CWR != 0 {
        text += "+CWR";
    }
    if packet.bits & (SYN | ECE) == SYN | ECE {
        text += "+ECE";
    } else if packet.bits & PSH != 0 {
        text += "+PSH";
    }
    if packet.bits & (SYN | AE) == SYN | AE {
        text += "+AE";
    }
    text
}

struct SenderRun {
    sender: Connection,
    settings: Settings,
    out: Output,
    wake: f64,
    /// Segments sent and not yet checked, with their times.
    sent: Vec<(f64, String)>,
}

impl SenderRun {
    fn new(settings: Settings) -> Self {
        let sender = Connection::new(settings, 0);
        SenderRun { sender, settings, out: Output::default(), wake: f64::INFINITY, sent: Vec::new() }
    }

    fn collect(&mut self, now: f64) {
        self.sent.extend(self.out.segments.drain(..).map(|packet| (now, show(&packet))));
        self.wake = self.out.take_at().unwrap_or(self.wake);
    }

    /// Advances time; segments sent before `now` must have been checked.
    fn pass(&mut self, now: f64, place: &str) {
        while self.wake <= now + 1e-9 {
            let at = self.wake;
            assert!(self.sent.is_empty(), "{place}: the script says nothing of {:?}", self.sent);
            self.wake = f64::INFINITY;
            self.sender.on_wake(at, &mut self.out);
            self.collect(at);
            if !self.sent.is_empty() {
                return;
            }
        }
    }

    fn step(&mut self, line: &Line) {
        let place = &line.place;
        if line.words[0] == "?" {
            return ask(&self.sender, &self.settings, &line.words[1..], place);
        }
        let now = line.time.unwrap_or_else(|| panic!("{place}: no time"));
        if line.words[0] != ">" {
            self.pass(now, place);
            assert!(self.sent.is_empty(), "{place}: the script says nothing of {:?}", self.sent);
        }
        match line.words[0] {
            "offer" => {
                match line.words[1] {
                    "endless" => self.sender.offer(now, None, false, &mut self.out),
                    count => {
                        let bytes = match count.strip_suffix('B') {
                            Some(bytes) => real(bytes, place) as u64,
                            None => real(count, place) as u64 * u64::from(MSS),
                        };
                        self.sender.offer(now, Some(bytes), line.words.contains(&"last"), &mut self.out);
                    }
                }
                self.collect(now);
            }
            "left" => {
                for word in &line.words[1..] {
                    let (from, to) = span(word, place);
                    for n in from..=to {
                        self.sender.leaves(now, wrap(begin(n), 0), MSS);
                        self.wake = self.wake.min(self.sender.release_at());
                    }
                }
            }
            "<" => {
                let feedback = feedback(now, &line.words[1..], place);
                self.sender.on_feedback(now, &feedback, &mut self.out);
                self.collect(now);
            }
            ">" => {
                if self.sent.is_empty() {
                    self.pass(now, place);
                }
                let sent = std::mem::take(&mut self.sent);
                let words = sent.iter().map(|(_, word)| word.clone()).collect::<Vec<_>>();
                let mut expected = Vec::<String>::new();
                for word in &line.words[1..] {
                    let (numbers, flags) = word.split_at(word.find('+').unwrap_or(word.len()));
                    match numbers.split_once('-') {
                        Some(_) if numbers != "-" => {
                            let (from, to) = span(numbers, place);
                            expected.extend((from..=to).map(|n| format!("{n}{flags}")));
                        }
                        _ if numbers == "-" => {}
                        _ => expected.push((*word).to_string()),
                    }
                }
                assert_eq!(words, expected, "{place}");
                for (at, word) in sent {
                    assert!((at - now).abs() < 1e-6, "{place}: {word} was sent at {at}");
                }
            }
            other => panic!("{place}: unknown word {other:?}"),
        }
    }
}

/// The acknowledgement that these words say.
fn feedback(now: f64, words: &[&str], place: &str) -> Feedback {
    let mut feedback = Feedback::new(1, now);
    let mut at = 0;
    while at < words.len() {
        match words[at] {
            "SYN-ACK" => feedback.syn = true,
            "ack" => {
                at += 1;
                let last: u64 = match words[at].strip_suffix('B') {
                    Some(bytes) => 1 + real(bytes, place) as u64,
                    None => begin(1 + real(words[at], place) as u64),
                };
                feedback.ack = wrap(last, 0);
            }
            "fin" => feedback.ack += 1,
            word @ ("sack" | "dsack") => {
                feedback.duplicate |= word == "dsack";
                while at + 1 < words.len() && words[at + 1].starts_with(|c: char| c.is_ascii_digit()) {
                    at += 1;
                    let (from, to) = span(words[at], place);
                    feedback.push((begin(from), begin(to + 1)), 0, 4);
                }
            }
            "ece" => feedback.echo = true,
            "ace" => {
                at += 1;
                feedback.ace = real(words[at], place) as u8;
            }
            "flags" => {
                at += 1;
                feedback.ace = u8::from_str_radix(words[at], 2).unwrap_or_else(|_| panic!("{place}: no flags"));
                feedback.echo = feedback.ace & 1 != 0;
            }
            kind @ ("opt0" | "opt1") => {
                at += 1;
                let values: Vec<u64> =
                    words[at].split(',').filter(|&word| word != "-").map(|word| real(word, place) as u64).collect();
                feedback.accecn = AccecnOption::new(u8::from(kind == "opt1"), &values);
            }
            "window" => {
                at += 1;
                feedback.window = (real(words[at], place) * f64::from(MSS)) as u32;
            }
            "stamp" => {
                at += 1;
                feedback.stamp = real(words[at], place);
            }
            "delay" => {
                at += 1;
                feedback.one_way = real(words[at], place);
            }
            other => panic!("{place}: unknown word {other:?}"),
        }
        at += 1;
    }
    feedback
}

/// Checks how the sender stands.
fn ask(connection: &Connection, settings: &Settings, words: &[&str], place: &str) {
    let segments = |bytes: u64| bytes as f64 / f64::from(settings.mss);
    for pair in words.chunks(2) {
        let value = match pair[0] {
            "cwnd" => connection.cwnd(),
            "ssthresh" => connection.ssthresh(),
            "rto" => connection.rto(),
            "srtt" => connection.srtt().unwrap_or(f64::NAN),
            "pipe" => segments(connection.pipe()),
            "timeouts" => f64::from(connection.timeouts()),
            "retransmits" => f64::from(connection.retransmits()),
            "undos" => f64::from(connection.undos()),
            "queued" => segments(connection.clone().queued(f64::INFINITY).unwrap_or(0)),
            "phase" => {
                assert_eq!(connection.resume_phase(), Some(pair[1]), "{place}");
                continue;
            }
            "marks" => connection.marks() as f64,
            "standing" => {
                assert_eq!(connection.standing(), pair[1], "{place}");
                continue;
            }
            "finished" => {
                assert_eq!(connection.finished(), pair[1] == "yes", "{place}");
                continue;
            }
            other => panic!("{place}: unknown question {other:?}"),
        };
        let expected = if pair[1] == "inf" { f64::INFINITY } else { real(pair[1], place) };
        let same = value == expected || (value - expected).abs() < 5e-5;
        assert!(same, "{place}: {} is {value}, not {expected}", pair[0]);
    }
}

/// An ACK in the notation of scripts. `kind`: the feedback of marks that was asked for, or is given.
fn show_ack(kind: &mut Feedbacks, feedback: &Feedback) -> String {
    let mut option = String::new();
    if feedback.accecn.is_present() {
        let values: Vec<String> = feedback.accecn.values().map(|value| value.to_string()).collect();
        option = format!(" opt{} {}", feedback.accecn.order(), values.join(","));
    }
    if feedback.syn && *kind == Feedbacks::Accecn {
        if feedback.ace <= 1 {
            *kind = [Feedbacks::None, Feedbacks::Classic][usize::from(feedback.ace)];
        }
        return format!("SYN-ACK flags {:03b}{option}", feedback.ace);
    }
    if feedback.syn {
        return if feedback.echo { "SYN-ACK ece".to_string() } else { "SYN-ACK".to_string() };
    }
    let segment = |seq: u32| u64::from(seq - 1) / u64::from(MSS);
    let mut text = format!("ack {}", segment(feedback.ack));
    for (i, &(start, end)) in feedback.blocks[..usize::from(feedback.count)].iter().enumerate() {
        let word = if i == 0 && feedback.duplicate { " dsack" } else { " sack" };
        let same = i > 0 && !(i == 1 && feedback.duplicate);
        let (from, to) = (segment(start) + 1, segment(end));
        let range = if from == to { from.to_string() } else { format!("{from}-{to}") };
        text += &if same { format!(" {range}") } else { format!("{word} {range}") };
    }
    if feedback.window != SAME_WINDOW {
        text += &format!(" window {}", f64::from(feedback.window) / f64::from(MSS));
    }
    if feedback.echo {
        text += " ece";
    }
    if matches!(*kind, Feedbacks::Counter | Feedbacks::Accecn) {
        text += &format!(" ace {}", feedback.ace);
    }
    text + &option
}

/// What the words of a segment say.
struct Words {
    bits: u8,
    range: (u64, u64),
    /// It has no data.
    empty: bool,
    echo: Option<f64>,
    sent: f64,
}

fn segment_words(words: &[&str], now: f64, place: &str) -> Words {
    let (mut bits, mut range, mut empty, mut echo, mut sent) = (0, (0, 0), false, None, now - 0.05);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "echo" => echo = words.next().map(|time| real(time, place)),
            "SYN" => bits |= SYN,
            "ACK" => empty = true,
            "FIN" => bits |= FIN,
            "CE" => bits |= CE,
            "ECT" => bits |= ECT0,
            "ECT1" => bits |= ECT1,
            "AE" => bits |= AE,
            "CWR" => bits |= CWR,
            "ECE" => bits |= ECE,
            "PSH" => bits |= PSH,
            word if word.starts_with('@') => sent = real(&word[1..], place),
            numbers => range = span(numbers, place),
        }
    }
    Words { bits, range, empty, echo, sent }
}

struct ReceiverRun {
    receiver: Receiver,
    /// The feedback that was asked for, or is given.
    feedback: Feedbacks,
    timer: f64,
    sent: Vec<(f64, String)>,
}

impl ReceiverRun {
    fn pass(&mut self, now: f64) {
        while self.timer <= now + 1e-9 {
            let at = std::mem::replace(&mut self.timer, f64::INFINITY);
            let reply = self.receiver.on_timer(at);
            self.take(at, reply);
        }
    }

    fn take(&mut self, now: f64, reply: Reply) {
        let (acks, timer) = match reply {
            Reply::Nothing => return,
            Reply::Now(one) => (vec![one], f64::INFINITY),
            Reply::Both(first, second, delay) => (vec![first, second], now + delay),
            Reply::Later(delay) => (vec![], now + delay),
            Reply::NowAndLater(one, delay) => (vec![one], now + delay),
        };
        self.timer = timer;
        for feedback in acks {
            let text = show_ack(&mut self.feedback, &feedback);
            self.sent.push((now, text));
        }
    }

    fn step(&mut self, line: &Line) {
        let place = &line.place;
        let now = line.time.unwrap_or_else(|| panic!("{place}: no time"));
        match line.words[0] {
            "<" => {
                self.pass(now);
                assert!(self.sent.is_empty(), "{place}: the script says nothing of {:?}", self.sent);
                let Words { bits, range, empty, echo, sent } = segment_words(&line.words[1..], now, place);
                for n in range.0..=range.1 {
                    let control = bits & SYN != 0 || empty;
                    let (seq, payload) = match (n, control) {
                        (_, true) => (if empty { 1 } else { 0 }, 0),
                        (n, false) => (wrap(begin(n), 0), MSS),
                    };
                    let arrived = Arrived { seq, payload, bits, stamp: sent, now, ack: 0 };
                    self.receiver.note_echo(echo);
                    let reply = self.receiver.take(&arrived);
                    self.take(now, reply);
                }
            }
            ">" => {
                if self.sent.is_empty() {
                    self.pass(now);
                }
                let expected = line.words[1..].join(" ");
                if expected == "-" {
                    assert!(self.sent.is_empty(), "{place}: {:?}", self.sent);
                    return;
                }
                assert!(!self.sent.is_empty(), "{place}: nothing was sent");
                let (at, text) = self.sent.remove(0);
                assert_eq!(text, expected, "{place}");
                assert!((at - now).abs() < 1e-6, "{place}: {text} was sent at {at}");
            }
            other => panic!("{place}: unknown word {other:?}"),
        }
    }
}

/// An end of a connection with data both ways.
struct EndpointRun {
    sender: Connection,
    receiver: Receiver,
    settings: Settings,
    feedback: Feedbacks,
    out: Output,
    wake: f64,
    timer: f64,
    sent: Vec<(f64, String)>,
}

impl EndpointRun {
    fn new(settings: Settings, passive: bool) -> Self {
        let mut sender = Connection::new(settings, 0);
        sender.make_both_ways(passive);
        let (receiver, feedback, out) = (settings.receiver(0), settings.asks(), Output::default());
        let (wake, timer) = (f64::INFINITY, f64::INFINITY);
        EndpointRun { sender, receiver, settings, feedback, out, wake, timer, sent: Vec::new() }
    }

    /// Calls the end, and notes what it sends.
    fn call(&mut self, now: f64, event: impl FnOnce(&mut Endpoint, &mut Output) -> Option<f64>) {
        let mut end = Endpoint { sender: &mut self.sender, receiver: &mut self.receiver };
        let timer = event(&mut end, &mut self.out);
        self.timer = timer.map_or(self.timer, |wait| now + wait);
        let segments = self.out.segments.drain(..).zip(self.out.acks.drain(..));
        let texts = segments.map(|(packet, ack)| match ack {
            None => show(&packet),
            Some(ack) if packet.payload == 0 => show_ack(&mut self.feedback, &ack),
            Some(ack) => format!("{} {}", show(&packet), show_ack(&mut self.feedback, &ack)),
        });
        self.sent.extend(texts.map(|text| (now, text)));
        self.wake = self.out.take_at().unwrap_or(self.wake);
    }

    /// Advances time up to something that is sent.
    fn pass(&mut self, now: f64) {
        while self.sent.is_empty() && self.wake.min(self.timer) <= now + 1e-9 {
            if self.timer <= self.wake {
                let at = std::mem::replace(&mut self.timer, f64::INFINITY);
                self.call(at, |end, out| end.on_ack_timer(at, out));
            } else {
                let at = std::mem::replace(&mut self.wake, f64::INFINITY);
                self.call(at, |end, out| {
                    end.sender.on_wake(at, out);
                    end.carry(at, out)
                });
            }
        }
    }

    fn step(&mut self, line: &Line) {
        let place = &line.place;
        if line.words[0] == "?" {
            return ask(&self.sender, &self.settings, &line.words[1..], place);
        }
        let now = line.time.unwrap_or_else(|| panic!("{place}: no time"));
        self.pass(now);
        match line.words[0] {
            ">" => {
                let sent = std::mem::take(&mut self.sent);
                assert!(sent.iter().all(|(at, _)| (at - now).abs() < 1e-6), "{place}: {sent:?}");
                let texts = sent.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
                let expected = line.words[1..].join(" ");
                assert_eq!(texts.join(", "), if expected == "-" { "" } else { &expected }, "{place}");
                return;
            }
            _ => assert!(self.sent.is_empty(), "{place}: the script says nothing of {:?}", self.sent),
        }
        match line.words[0] {
            "offer" => {
                let bytes = real(line.words[1], place) as u64 * u64::from(MSS);
                self.call(now, |end, out| {
                    end.sender.offer(now, Some(bytes), line.words.contains(&"last"), out);
                    end.carry(now, out)
                });
            }
            "<" => {
                let words = &line.words[1..];
                let at = words.iter().position(|word| ["ack", "SYN-ACK"].contains(word)).unwrap_or(words.len());
                let (own, acks) = words.split_at(at);
                let ack = (!acks.is_empty()).then(|| feedback(now, acks, place));
                let syn_ack = ack.is_some_and(|ack| ack.syn);
                let Words { mut bits, range, sent, .. } = segment_words(own, now, place);
                bits |= if syn_ack { SYN } else { 0 };
                let whole = range == (0, 0);
                let number = ack.map_or(0, |ack| ack.ack);
                for n in range.0..=range.1 {
                    let seq = match whole {
                        true if bits & SYN != 0 => 0,
                        true => wrap(self.receiver.next(), 0),
                        false => wrap(begin(n), 0),
                    };
                    let payload = if whole { 0 } else { MSS };
                    let ack = ack.map(|ack| Feedback { carried: payload as u16, ..ack });
                    let arrived = Arrived { seq, payload, bits, stamp: sent, now, ack: number };
                    self.call(now, |end, out| end.take(&arrived, ack.as_ref(), out));
                }
            }
            other => panic!("{place}: unknown word {other:?}"),
        }
    }
}

/// Runs every script of a file; returns their number.
fn run(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("readable");
    let file = path.file_name().and_then(|name| name.to_str()).expect("a name").to_string();
    let (mut name, mut count) = (String::new(), 0);
    let mut sender: Option<SenderRun> = None;
    let mut receiver: Option<ReceiverRun> = None;
    let mut end: Option<EndpointRun> = None;
    for (number, raw) in text.lines().enumerate() {
        let raw = raw.split('#').next().unwrap_or("").trim();
        if raw.is_empty() {
            continue;
        }
        if let Some(title) = raw.strip_prefix("== ") {
            finish(&sender, &receiver, &end, &name);
            (sender, receiver, end) = (None, None, None);
            name = format!("{file}: {title}");
            count += 1;
            continue;
        }
        let mut words: Vec<&str> = raw.split_whitespace().collect();
        let place = format!("{name}, line {}", number + 1);
        match words[0] {
            "sender" => sender = Some(SenderRun::new(settings(&words[1..], &place))),
            kind @ ("active" | "passive") => {
                end = Some(EndpointRun::new(settings(&words[1..], &place), kind == "passive"));
            }
            "receiver" => {
                let settings = settings(&words[1..], &place);
                receiver = Some(ReceiverRun {
                    receiver: settings.receiver(0),
                    feedback: settings.asks(),
                    timer: f64::INFINITY,
                    sent: Vec::new(),
                });
            }
            _ => {
                let time = words[0].parse().ok();
                if time.is_some() {
                    words.remove(0);
                }
                let line = Line { place, time, words };
                match (&mut sender, &mut receiver, &mut end) {
                    (Some(run), ..) => run.step(&line),
                    (_, Some(run), _) => run.step(&line),
                    (.., Some(run)) => run.step(&line),
                    _ => panic!("{}: neither sender, receiver nor end", line.place),
                }
            }
        }
    }
    finish(&sender, &receiver, &end, &name);
    count
}

fn finish(sender: &Option<SenderRun>, receiver: &Option<ReceiverRun>, end: &Option<EndpointRun>, name: &str) {
    let left = [
        sender.as_ref().map(|run| &run.sent),
        receiver.as_ref().map(|run| &run.sent),
        end.as_ref().map(|run| &run.sent),
    ];
    for sent in left.into_iter().flatten() {
        assert!(sent.is_empty(), "{name}: at the end the script says nothing of {sent:?}");
    }
}

#[test]
fn all_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let total: usize = paths.iter().map(|path| run(path)).sum();
    assert!(paths.len() >= 8 && total >= 30, "{} files with {total} scripts", paths.len());
}
