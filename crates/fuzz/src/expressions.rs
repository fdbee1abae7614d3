//! Drop probabilities of any characters: refused with a place, or computed within their bounds, as a tree computes them.

use crate::Input;
use earlydrop_aqm::params::{Text, Value, Values};
use earlydrop_aqm::parts::arithmetic::{Program, LEAST, MOST, OPERATIONS};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{catalogue, Link, Packet, Time};

const NAMES: [&str; 6] = ["q", "avg", "delay", "rate", "dt", "p"];
/// Numbers at which arithmetic is slow or has an edge.
const NUMBERS: &[&str] = &[
    "0", "1", "0.015", "2", "1e-150", "9e-151", "1e150", "2e150", "1e-320", "5e-324", "1e999", "0.5", "345.3", "709.8",
    "1e-75", "1e75", ".5", "12000",
];
/// What may stand anywhere.
const PIECES: &[&str] = &[
    "(", ")", "-", "+", "*", "/", "<", ",", " ", "min(", "max(", "exp(", "sqrt(", "q", "avg", "delay", "rate", "dt",
    "p", "0", "1e", ".", "1e-310", "pow(", "^", "\"", "\\", "'", ";", "=", "e", "_", "NaN", "inf", "\u{e9}", "\n",
    "\0", "[",
];
/// Inputs of a rule, some of which no queue gives.
const INPUTS: &[f64] =
    &[0.0, 1.0, 0.015, 1e9, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e-310, 1e-160, 1e308, -0.0];

/// A rule as a tree.
enum Tree {
    Number(&'static str),
    Name(usize),
    One(&'static str, Box<Tree>),
    Two(&'static str, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn drawn(input: &mut Input<'_>, depth: usize) -> Tree {
        let kind = if depth == 0 || input.is_empty() { input.below(2) } else { input.below(8) };
        match kind {
            0 => Tree::Name(input.below(NAMES.len())),
            1 => Tree::Number(input.of(NUMBERS)),
            2 | 3 => Tree::One(input.of(&["-", "exp", "sqrt"]), Box::new(Tree::drawn(input, depth - 1))),
            _ => {
                let operator = input.of(&["+", "-", "*", "/", "<", "min", "max"]);
                let first = Tree::drawn(input, depth - 1);
                Tree::Two(operator, Box::new(first), Box::new(Tree::drawn(input, depth - 1)))
            }
        }
    }

    /// How tightly the text of the tree binds.
    fn binds(&self) -> usize {
        match self {
            Tree::Two("<", ..) => 0,
            Tree::Two("+" | "-", ..) => 1,
            Tree::Two("*" | "/", ..) => 2,
            _ => 3,
        }
    }

    /// The tree as a text, with no bracket that it does not need; `least` is how tightly it must bind.
    fn text(&self, least: usize) -> String {
        let own = match self {
            Tree::Number(text) => (*text).to_string(),
            Tree::Name(index) => NAMES[*index].to_string(),
            Tree::One("-", x) => format!("-{}", x.text(3)),
            Tree::One(name, x) => format!("{name}({})", x.text(0)),
            Tree::Two(name @ ("min" | "max"), x, y) => format!("{name}({},{})", x.text(0), y.text(0)),
            Tree::Two(sign, x, y) => {
                let binds = self.binds();
                format!("{}{sign}{}", x.text(binds.max(1)), y.text(binds + 1))
            }
        };
        if self.binds() < least {
            format!("({own})")
        } else {
            own
        }
    }

    fn value(&self, inputs: &[f64]) -> f64 {
        let x = match self {
            Tree::Number(text) => text.parse().expect("a number"),
            Tree::Name(index) => inputs[*index],
            Tree::One(name, x) => {
                let x = x.value(inputs);
                match *name {
                    "-" => 0.0 - x,
                    "exp" => exponential(x),
                    _ => x.sqrt(),
                }
            }
            Tree::Two(name, x, y) => {
                let (x, y) = (x.value(inputs), y.value(inputs));
                match *name {
                    "+" => x + y,
                    "-" => x - y,
                    "*" => x * y,
                    "/" => x / y,
                    "<" => f64::from(u8::from(x < y)),
                    "min" => x.min(y),
                    _ => x.max(y),
                }
            }
        };
        match x.abs() {
            size if size < LEAST || x.is_nan() => 0.0,
            size if size > MOST => MOST * x.signum(),
            _ => x,
        }
    }
}

/// The exponential, which is the machine's own: it is that of libm.
fn exponential(x: f64) -> f64 {
    Program::parse("exp(x)", &["x"]).expect("a function").run(&[x])
}

/// A rule that the checker takes, mostly; of those that a scenario has.
pub fn short(input: &mut Input<'_>) -> Text {
    Text::read(&Tree::drawn(input, 3).text(0)).unwrap_or(Text::new("p"))
}

/// A text is refused with a place in it, or has values within their bounds. Whether it was taken.
fn examine(text: &str, input: &mut Input<'_>) -> bool {
    let mut program = match Program::parse(text, &NAMES) {
        Ok(program) => program,
        Err(fault) => {
            assert!((1..=text.len() + 1).contains(&fault.column) && !fault.message.is_empty(), "{text}: {fault}");
            return false;
        }
    };
    assert!(program.steps() <= 2 * OPERATIONS + 1, "{text}: {} steps", program.steps());
    for _ in 0..8 {
        let inputs = [0; 6].map(|_| input.of(INPUTS));
        let value = program.run(&inputs);
        let size = value.abs();
        assert!(value.to_bits() == 0 || (LEAST..=MOST).contains(&size), "{text} of {inputs:?} is {value}");
        assert_eq!(value.to_bits(), program.run(&inputs).to_bits(), "{text} of {inputs:?}");
    }
    true
}

/// Packets at a queue with the rule, one that the checker takes: its probability stays one, and no packet is lost.
fn decide(text: Text, input: &mut Input<'_>) {
    let values = Values::of(&[("rule", Value::Text(text))]);
    let (link, limit) = (Link { rate_bps: 1e7, delay_s: 0.01 }, Limit::Packets(40));
    let spec = catalogue::find("expression").expect("in the catalogue");
    let built = (spec.build)(&values, &link, limit).expect("a rule that was checked");
    let mut queue = built.queue(limit, input.one_in(2), Generator::stream(1, "queue"));
    let (mut now, mut dropped) = (0.0, 0_u64);
    for _ in 0..64 {
        now += input.of(&[0.0, 1e-3, 1e-6, 1.0, 1e-9]);
        let time = Time::from_seconds(now);
        queue.enqueue(Packet::new(1, 1500), time, &mut |_, _| dropped += 1);
        if input.one_in(2) {
            queue.dequeue(time, &mut |_, _| dropped += 1);
        }
        queue.gauges(&mut |name, value| {
            assert!(value.is_finite() && (name != "p" || (0.0..=1.0).contains(&value)), "{text:?}: {name} = {value}");
        });
    }
    let counters = queue.counters();
    assert_eq!(counters.arrivals, counters.departures + dropped + queue.packets(), "{text:?}");
}

/// The text that these choices make; that of a tree has the tree's values, where it is taken.
pub fn text(input: &mut Input<'_>) -> String {
    match input.below(4) {
        // A tree, often with more operations or brackets than are allowed.
        0 | 1 => {
            let depth = input.of(&[3, 6, 12, 40]);
            let tree = Tree::drawn(input, depth);
            let text = tree.text(0);
            if let Ok(mut program) = Program::parse(&text, &NAMES) {
                for _ in 0..4 {
                    let inputs = [0; 6].map(|_| input.of(INPUTS));
                    let inputs = inputs.map(|x| Program::parse("q", &["q"]).expect("a name").run(&[x]));
                    assert_eq!(program.run(&inputs), tree.value(&inputs), "{text} of {inputs:?}");
                }
            }
            text
        }
        // A short piece, repeated.
        2 => {
            let piece: String = (0..=input.below(3)).map(|_| input.of(PIECES)).collect();
            let (times, end) = (input.of(&[1, 40, 66, 200, 3000]), input.of(&["", "q", "q))))", "1"]));
            piece.repeat(times) + end
        }
        _ => {
            let mut text = String::new();
            while !input.is_empty() && text.len() < 250 {
                text += input.of(PIECES);
            }
            text
        }
    }
}

/// A rule for these bytes; whether the checker took it.
pub fn run_one(bytes: &[u8]) -> bool {
    let mut input = Input::new(bytes);
    let text = text(&mut input);
    let taken = examine(&text, &mut input);
    match Text::read(&text) {
        Ok(text) if taken => decide(text, &mut input),
        Ok(_) => return false,
        Err(_) => assert!(text.len() > Text::MOST || text.bytes().any(|byte| !(b' '..=b'~').contains(&byte))),
    }
    taken
}

pub fn run(bytes: &[u8]) {
    run_one(bytes);
}
