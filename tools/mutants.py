"""Break rules of disciplines, parents, markers and the TCP of RFCs, one place at a time, and count what is noticed.

`make mutants` (an hour). A copy of the crates is compiled once with every mutant in it, switched on by a number. A run
of everything tells which decision vectors, tests and stored results reach which mutant; those are tried, in that
order, until one notices it. Broken are

- a comparison: negated (`negated`), or with its boundary on the other side (`boundary`: `<` for `<=`),
- `&&` and `||`: the right side is not asked (`ignored`),
- sums, differences, products and quotients: a quarter and one larger, whole numbers one larger (`altered`).

Not touched are tests, constants, macros, the files WITHOUT_RULES, and the functions of SKIPPED, which take no part in a
decision. The report, `vectors/mutants.md`, has the counts; `vectors/mutants.csv` has every survivor with the reason in
REASONS.

`make mutants CHANGED=yes` tries mutants of the files that have changed, in a drawn order, and fails if more of a
function's survive than are known; after a change that is meant, `tools/mutants.py --only FILE` and `--report` renew it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import resource
import select
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).parents[1]
# Files that are broken, and the share of mutants to be noticed, without boundaries between reals that nothing meets.
PARTS = {"crates/aqm/src": 0.95, "crates/net/src/tcp/rfc": 0.80}
# Packages that are compiled, and their tests; that of `sim` is the runner.
TESTS = {
    "aqm": ["--lib", "--test", "oracles", "--test", "laws", "--test", "idle_timers"],
    "net": ["--lib", "--test", "scripts", "--test", "laws"],
    "sim": ["--test", "mutants"],
}
# Whole numbers that wrap are found, and a build takes less.
SETTINGS = [
    "profile.test.incremental=false",
    "profile.dev.incremental=false",
    'profile.test.package."*".opt-level=2',
]
# Files that have tests, parameters or the surroundings of rules.
WITHOUT_RULES = re.compile(
    r"(^|/)((lib|tests|testing|parameters|given|hash|abi|agent|catalogue|changeable|discipline|fault|gauges|header"
    r"|packet|params|random|ring|slots|time)|(markers|parents)/(mod|spec))\.rs$"
)
COPY = ROOT / "target/mutants"
STATE = COPY / "mutants.tsv"
REPORT = ROOT / "vectors/mutants.md"
SURVIVORS = ROOT / "vectors/mutants.csv"
COLUMNS = ("file", "function", "mutants", "reason")

# Functions that take no part in a decision, or do what another function does, but faster.
SKIPPED = {
    "check",
    "memory",
    "gauges",
    "resume",
    "curve",
    "curve_mut",
    "on_timers",
    "next_timers",
    "most_bytes",
    "counters",
    "parent",
    "washes",
    "decides_at_arrivals",
}
UNTOUCHED = {"const_item", "static_item", "macro_invocation", "attribute_item"}
COMPARED = {"<": "less", "<=": "at_most", ">": "greater", ">=": "at_least"}
WANTED = 3
# Mutants by hand, where a discipline's rules are in macros or in what all share: discipline, file, what stands there,
# and what takes its place, with ON where the mutant is on.
HAND = [
    (
        "droptail",
        "parts/capacity.rs",
        "=> n_minus_1(limit),",
        "=> if ON { Room::holding(limit) } else { n_minus_1(limit) },",
    ),
    ("drop_front", "parts/capacity.rs", "ring.at(0)", "ring.at(usize::from(ON))"),
    ("drop_front", "parts/capacity.rs", "with_arrival: false", "with_arrival: ON"),
    ("drop_front", "parts/capacity.rs", "n.saturating_sub(1)", "n.saturating_sub(u64::from(!ON))"),
    ("mred", "mred.rs", "if length < self.min_th {", "if !ON && length < self.min_th {"),
    ("mred", "mred.rs", "length > self.max_th", "(ON || length > self.max_th)"),
    ("mred", "mred.rs", "average.max(length)", "if ON { average } else { average.max(length) }"),
    ("floadautored", "floadautored.rs", "self.matched.is_some() ||", "(!ON && self.matched.is_some()) ||"),
    ("floadautored", "parts/auto_red.rs", "Draw::Even, 1, cx", "Draw::Even, 1 + u32::from(ON), cx"),
    ("wrr", "wrr.rs", "(Price::Packets, 1)", "(Price::Packets, 1 + u64::from(ON))"),
    ("wrr", "wrr.rs", "=> Victim::Longest(End::Head),", "=> Victim::Longest(if ON { End::Tail } else { End::Head }),"),
    ("wrr", "wrr.rs", "=> Victim::Arrival,", "=> if ON { Victim::Longest(End::Head) } else { Victim::Arrival },"),
    ("fq_cobalt", "parts/flow_aqm.rs", "        if fresh {", "        if [fresh, false][usize::from(ON)] {"),
    ("fq_cobalt", "fq_cobalt.rs", "cobalt.full(now.seconds());", "if !ON { cobalt.full(now.seconds()) }"),
    ("fq_cobalt", "fq_cobalt.rs", "cobalt.empty(now.seconds());", "if !ON { cobalt.empty(now.seconds()) }"),
    ("tsw3cm", "markers/windows.rs", "self.peak.is_none()", "(ON || self.peak.is_none())"),
    ("tsw3cm", "markers/windows.rs", "(average - peak).max(0.0)", "if ON { 0.0 } else { (average - peak).max(0.0) }"),
    ("tsw3cm", "markers/windows.rs", "<= red => Colour::Red,", "<= red => if ON { beyond } else { Colour::Red },"),
]
# Reasons why mutants survive, by file, function, kind, text and what is known besides: the first that fits.
REASONS = [
    (r"\?never equal$", "whole numbers that nothing makes equal there"),
    (r"[? ]equal$", "where both are equal, both sides do the same"),
    (r"\?nothing reaches it$", "a guard that nothing reaches"),
    (
        r"aqm/src/(parts/(rank_index|slot_heap|flow_table|flow_index|distance|class_weights|round|halving)|cake/heap)",
        "how memory is laid out, or a shortcut",
    ),
    (
        r"aqm/src/parts/ticks",
        "a faster way through timers that change nothing; tests compare it with timers one by one",
    ),
    (r"aqm/src/dualpi2.rs hit negated queue", "the two counters change places, and nothing else"),
    (
        r"aqm/src/(sfb.rs is_spent|sred.rs probability|red_pd.rs note_epoch|early_detection/linux.rs decay"
        r"|parts/auto_weight.rs new|choke.rs decide|blue.rs on_enqueue)",
        "a shortcut, or a bound on what is large enough anyhow",
    ),
    (
        r"aqm/src/(cake|parents)/\S+ \S+ altered",
        "a nanosecond or a byte in a sum that is divided, shifted or bounded afterwards",
    ),
    (r" (decayed|probability|memory) ", "read by drop curves and by timers on idle links only"),
    (r" (same_states|same_unit) ", "parameters that change while a discipline runs"),
    (
        r"rfc/\S+ (allows_fast_path|is_plain|is_whole|is_quiet|take_next|take_beyond|on_expected_ack|index_of"
        r"|index_near|find_by_sack|has_doubled|joins|add|sack|sack_from|sack_range|leaves|quick_answer|on_segment"
        r"|since_sent) ",
        "a shorter way for the usual segment, or which one to take: the longer way does the same",
    ),
    (r"rfc/(receiver|accecn|wire|connection/(handshake|both_ways|echoes))", "no segment that is run has both at once"),
    (
        r"rfc/(connection|recovery|losses|rack|tlp|undo|prr|scoreboard)",
        "no loss, timer or mark that is run comes together with what the other side asks for",
    ),
    (r" ignored ", "where the left side leaves it open, the right side says the same in all that is run"),
    (r" negated ", "both sides do the same in all that is run, or another rule hides it"),
    (r" altered ", "what is compared with it is never so near in all that is run, or another rule hides it"),
]
# A mutant that computes this long (of the processor's time), or waits this long, does not end.
ENDLESS_S = 5
PATIENCE_S = 300
# How many vectors and stored results are tried, and for how long the tests of each program (of the processor's time).
TRIED_VECTORS = 4
TRIED_RESULTS = 12
TESTED_S = 3
STORED = ["stacks.txt", "drawn.txt"]
NO_REASON = "none"
# Marks of mutants that nothing notices.
UNREACHED = "?nothing reaches it"
UNEQUAL = "?never equal"
EQUAL = "?equal"
APART = "?real numbers, never equal"
APART_EQUAL = "?real numbers, equal"

SWITCH = """
/// Mutants: which one is switched on, what it does, and what is met where they are.
pub mod mutants {
    use std::io::Write;
    use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
    use std::sync::Mutex;
    const TRACE: usize = usize::MAX - 1;
    const UNASKED: usize = usize::MAX;
    static ON: AtomicUsize = AtomicUsize::new(UNASKED);
    static SEEN: [AtomicU8; 1 << 14] = [const { AtomicU8::new(0) }; 1 << 14];
    static FILE: Mutex<Option<std::fs::File>> = Mutex::new(None);
    pub fn switch(n: usize) { ON.store(n, Ordering::Relaxed) }
    pub fn trace(path: &str) {
        for seen in &SEEN { seen.store(0, Ordering::Relaxed) }
        *FILE.lock().unwrap() = Some(std::fs::File::create(path).unwrap());
        switch(TRACE);
    }
    fn asked() -> usize {
        match (std::env::var("MUTANT"), std::env::var("MUTANTS_TRACE")) {
            (Ok(n), _) => switch(n.parse().unwrap()),
            (_, Ok(path)) => trace(&path),
            _ => switch(0),
        }
        ON.load(Ordering::Relaxed)
    }
    #[cold]
    fn note(n: usize, bit: u8, word: &str) {
        if SEEN[n].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            let mut file = FILE.lock().unwrap();
            writeln!(file.as_mut().unwrap(), "{n}{word}").unwrap();
        }
    }
    #[inline]
    fn on() -> usize {
        let on = ON.load(Ordering::Relaxed);
        if on == UNASKED { asked() } else { on }
    }
    #[inline]
    pub fn is(n: usize) -> bool {
        let on = on();
        if on == TRACE { note(n, 1, "") }
        on == n
    }
    #[inline]
    fn meet<T: PartialOrd>(n: usize, a: &T, b: &T) {
        if on() == TRACE {
            let name = std::any::type_name::<T>();
            if name.ends_with("f64") || name.ends_with("::Time") { note(n, 2, " real") }
            if a == b { note(n, 4, " equal") }
        }
    }
    macro_rules! compared { ($($name:ident $a:tt $b:tt,)*) => { $(
        #[inline]
        pub fn $name<T: PartialOrd>(n: usize, a: &T, b: &T) -> bool {
            meet(n, a, b);
            if is(n) { a $b b } else { a $a b }
        }
    )* } }
    compared! { less < <=, at_most <= <, greater > >=, at_least >= >, }
    pub trait Alter { fn alter(self) -> Self; }
    impl Alter for f64 { fn alter(self) -> Self { self * 1.25 + 1.0 } }
    impl Alter for crate::Time { fn alter(self) -> Self { self + 0.01 } }
    macro_rules! whole { ($($t:ty)*) => { $(impl Alter for $t { fn alter(self) -> Self { self.wrapping_add(1) } })* } }
    whole!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
    #[inline]
    pub fn altered<T: Alter>(n: usize, x: T) -> T { if is(n) { x.alter() } else { x } }
}
"""

COMPARE = """
/// The first line of the vectors called `name` that differs from `expected`, and in which case it is.
pub fn first_difference(name: &str, expected: &str) -> Option<String> {
    let subject = Subject::all().into_iter().find(|subject| subject.name() == name)?;
    let mut lines = expected.lines();
    let (mut place, mut name, mut found) = (0, String::new(), None);
    for case in cases(subject) {
        record(subject, &case, &mut |line| {
            if line["format"] == FORMAT {
                (place, name) = (0, case.name.clone());
            }
            if lines.next() != Some(&line.to_string()) {
                found = Some(format!("{name} {place}"));
            }
            place += 1;
            found.is_none()
        });
        if found.is_some() {
            return found;
        }
    }
    lines.next().map(|_| "the end".to_string())
}
"""

RUNNER = """
//! Mutants and subjects by name on the standard input: `N subject|subject`, or `trace FILE subject`. A subject is what
//! has vectors, or a stored result: `FILE LINE`.
use earlydrop_aqm::mutants;
use earlydrop_sim::scenario::{check, Doc};
use earlydrop_sim::{result, run, vectors};
use std::collections::HashMap;
use std::io::BufRead;

const STACKS: &str = include_str!("golden_run/stacks.txt");
const DRAWN: &str = include_str!("golden_run/drawn.txt");

fn stored(name: &str) -> Option<String> {
    let (file, line) = name.split_once(' ')?;
    let text = if file == "stacks.txt" { STACKS } else { DRAWN };
    let (_, json) = text.lines().nth(line.parse().ok()?)?.split_once('\\t')?;
    let scenario = check(&Doc::from_json(&serde_json::from_str(json).ok()?).ok()?, None).ok()?;
    let outcome = run::run(&scenario, scenario.seed, run::Links::Auto, run::Events::Lanes).ok()?;
    let mut document = result::document(&scenario, scenario.seed, &outcome, 0.0);
    document.as_object_mut()?.shift_remove("cost");
    Some(document.to_string())
}

fn whole(name: &str) -> String {
    stored(name).or_else(|| vectors::vectors(name)).unwrap_or_default()
}

fn difference(name: &str, expected: &str) -> Option<String> {
    match name.contains(' ') {
        true => (stored(name).as_deref() != Some(expected)).then(String::new),
        false => vectors::first_difference(name, expected),
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut known: HashMap<String, String> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (number, rest) = line.split_once(' ').unwrap();
        if number == "trace" {
            let (file, subject) = rest.split_once(' ').unwrap();
            mutants::trace(file);
            known.insert(subject.to_string(), whole(subject));
            println!();
            continue;
        }
        let mut caught = String::new();
        for subject in rest.split('|') {
            mutants::switch(0);
            let expected = known.entry(subject.to_string()).or_insert_with(|| whole(subject));
            mutants::switch(number.parse().unwrap());
            caught = match std::panic::catch_unwind(|| difference(subject, expected)) {
                Ok(None) => continue,
                Ok(Some(place)) => format!("{subject} {place}"),
                Err(_) => format!("{subject} panic"),
            };
            break;
        }
        println!("{caught}");
    }
}
"""


@dataclass(frozen=True)
class Mutant:
    """One mutant: a place that is broken."""

    number: int
    file: str
    function: str
    line: int
    kind: str
    text: str

    @property
    def place(self) -> str:
        """The key for REASONS: file, function and what is broken."""
        return f"{self.file} {self.function} {self.kind} {self.text}"


class Mutator:
    """Writes one file anew with every mutant in it."""

    def __init__(self, start: int) -> None:
        self.next = start
        self.path = "crate::mutants"
        self.mutants: list[Mutant] = []
        self.parser = Parser(Language(tree_sitter_rust.language()))

    def _new(self, file: str, function: str, node: Node, kind: str, text: str) -> int:
        self.mutants.append(
            Mutant(self.next, file, function, node.start_point.row + 1, kind, re.sub(r"\s+", " ", text))
        )
        self.next += 1
        return self.next - 1

    def file(self, name: str, source: str) -> str:
        """The source with its mutants."""
        data = source.encode()
        tree = self.parser.parse(data)

        def text(node: Node, function: str | None) -> str:
            inner = function
            if node.type == "function_item":
                named = node.child_by_field_name("name")
                modifiers = [child for child in node.children if child.type == "function_modifiers"]
                constant = any(b"const" in (child.text or b"") for child in modifiers)
                here = (named.text or b"").decode() if named else ""
                inner = None if constant or here in SKIPPED else here
            own = data[node.start_byte : node.end_byte]
            if node.type in UNTOUCHED or (node.type == "mod_item" and own.startswith(b"mod tests {")):
                return own.decode()
            if node.type == "binary_expression" and inner is not None:
                return binary(node, inner)
            return spliced(node, inner)

        def spliced(node: Node, function: str | None) -> str:
            if not node.children:
                return data[node.start_byte : node.end_byte].decode()
            parts, at = [], node.start_byte
            for child in node.children:
                parts.append(data[at : child.start_byte].decode())
                parts.append(text(child, function))
                at = child.end_byte
            parts.append(data[at : node.end_byte].decode())
            return "".join(parts)

        def binary(node: Node, function: str) -> str:
            left, right, sign = (node.child_by_field_name(f) for f in ("left", "right", "operator"))
            assert left is not None
            assert right is not None
            assert sign is not None
            operator = (sign.text or b"").decode()
            own = data[node.start_byte : node.end_byte].decode()
            a, b = text(left, function), text(right, function)

            def new(kind: str) -> int:
                return self._new(name, function, node, kind, own)

            path = self.path
            if operator in COMPARED:
                compared = f"{path}::{COMPARED[operator]}({new('boundary')}, &({a}), &({b}))"
                return f"({path}::is({new('negated')}) ^ {compared})"
            if operator in {"==", "!="}:
                return f"({path}::is({new('negated')}) ^ (({a}) {operator} ({b})))"
            if "let_condition" in (left.type, right.type) or "let_chain" in (left.type, right.type):
                return f"{a} {operator} {b}"
            if operator == "&&":
                return f"(({a}) && ({path}::is({new('ignored')}) || ({b})))"
            if operator == "||":
                return f"(({a}) || (!{path}::is({new('ignored')}) && ({b})))"
            if operator in {"+", "-", "*", "/"}:
                return f"{path}::altered({new('altered')}, ({a}) {operator} ({b}))"
            return f"({a}) {operator} ({b})"

        return text(tree.root_node, None)


@dataclass(frozen=True)
class Program:
    """A program with tests, which runs in the folder of its crate."""

    folder: Path
    path: Path

    def names(self) -> list[str]:
        """Names of the program's tests."""
        listed = subprocess.run([self.path, "--list"], cwd=self.folder, check=True, capture_output=True, text=True)
        return re.findall(r"^(.*): test$", listed.stdout, re.M)

    def failing(self, names: list[str], seconds: float, **variables: str) -> str | None:
        """The first of these tests that fails, or that has not ended after `seconds` of the processor."""
        command = [str(self.path), "--exact", "--test-threads", "1", *names]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=os.environ | variables,
        ) as process:
            assert process.stdout is not None
            may_compute(process.pid, seconds)
            ends, said = time.monotonic() + PATIENCE_S, b""
            while b"FAILED" not in said and select.select([process.stdout], [], [], max(0, ends - time.monotonic()))[0]:
                if not (more := os.read(process.stdout.fileno(), 1 << 16)):
                    break
                said += more
            else:
                process.kill()
            if b"FAILED" not in said and process.wait() == 0:
                return None
        begun = re.findall(r"^test (\S+) \.\.\. ", said.decode(errors="replace"), re.M)
        failed = re.findall(r"^test (\S+) \.\.\. FAILED", said.decode(errors="replace"), re.M)
        return (failed or begun[-1:] or names)[0]


def may_compute(process: int, seconds: float) -> None:
    """End a process that has taken this much of the processor's time."""
    resource.prlimit(process, resource.RLIMIT_CPU, (int(seconds) + 1, resource.RLIM_INFINITY))


class Runner:
    """The program that compares vectors and stored results with those of a mutant."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, line: str) -> str | None:
        """The program's answer; none if it does not end."""
        if self.process is None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        ticks = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11]
        may_compute(self.process.pid, int(ticks) / os.sysconf("SC_CLK_TCK") + (line.count("|") + 1) * ENDLESS_S)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        answer = self.process.stdout.readline() if ready else b""
        if not answer:
            self.process.kill()
            self.process.communicate()
            self.process = None
            return None
        return answer.decode().strip()


class Reached:
    """Vectors, stored results and tests that reach each mutant, the quickest first; and what they meet there."""

    def __init__(self) -> None:
        self.subjects: dict[int, list[str]] = defaultdict(list)
        self.tests: dict[int, list[tuple[Program, str]]] = defaultdict(list)
        self.took: dict[tuple[Program, str] | str, float] = {}
        self.noticed: Counter[str] = Counter()
        self.real: set[int] = set()
        self.equal: set[int] = set()

    def trace(self, runner: Runner, programs: list[Program]) -> None:
        """Run everything once."""
        file = COPY / "trace"
        for subject in subjects():
            began = time.monotonic()
            runner.ask(f"trace {file} {subject}")
            for number in self.note(subject, file, time.monotonic() - began):
                self.subjects[number].append(subject)
        for program in programs:
            for name in program.names():
                file.write_text("")
                began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                if program.failing([name], PATIENCE_S, MUTANTS_TRACE=str(file)):
                    print(f"{name} fails without a mutant, or does not end", file=sys.stderr)
                    continue
                took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
                for number in self.note((program, name), file, took):
                    self.tests[number].append((program, name))
        for subjects_there in self.subjects.values():
            subjects_there.sort(key=lambda subject: self.took[subject])

    def note(self, what: tuple[Program, str] | str, file: Path, took: float) -> list[int]:
        """Keep what a trace says; the mutants that are reached."""
        self.took[what] = took
        words = [line.partition(" ") for line in file.read_text().splitlines()]
        self.real.update(int(number) for number, _, word in words if word == "real")
        self.equal.update(int(number) for number, _, word in words if word == "equal")
        return [int(number) for number, _, word in words if not word]

    def nearest(self, mutant: Mutant) -> tuple[list[str], list[tuple[Program, str]]]:
        """What to try: vectors and stored results, and tests; first those with the name of the file or its folder, then
        vectors that have noticed least.
        """
        words = set(re.split(r"[/.]", mutant.file)) - set(re.split("/", "crates/aqm/net/src/tcp/rfc/parts/mod/rs"))
        words |= {mutant.function} if mutant.kind == "hand" else set()
        found = sorted(self.subjects[mutant.number], key=lambda name: (name not in words, self.noticed[name]))
        tests = sorted(
            self.tests[mutant.number],
            key=lambda test: (words.isdisjoint(re.split("::", test[1])), self.took[test]),
        )
        return found, tests


def subjects() -> list[str]:
    """Names of all that have vectors, and of the stored results."""
    stored = ROOT / "crates/sim/tests/golden_run"
    lines = [f"{file} {n}" for file in STORED for n, _ in enumerate((stored / file).read_text().splitlines())]
    return [path.name.removesuffix(".jsonl.gz") for path in sorted((ROOT / "vectors").glob("*.jsonl.gz"))] + lines


def disciplines() -> list[str]:
    """Every discipline, in the order of the list in `lib.rs`."""
    library = (ROOT / "crates/aqm/src/lib.rs").read_text()
    block = library[library.index("disciplines! {\n    // ") :]
    return re.findall(r"^    (\w+),$", block[: block.index("\n}\n")], re.M)


def files(only: str | None) -> list[str]:
    """The files with rules, from the root, whose path matches."""
    found = (str(path.relative_to(ROOT)) for folder in PARTS for path in (ROOT / folder).rglob("*.rs"))
    return sorted(name for name in found if not WITHOUT_RULES.search(name) and re.search(only or "", name))


def put(path: Path, text: str) -> None:
    """Write a file if its content differs: cargo then compiles no more than it must."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def prepare(broken: list[str]) -> list[Mutant]:
    """A copy of what is compiled, with every mutant of the files `broken` in it."""
    COPY.mkdir(parents=True, exist_ok=True)
    # Tests read files of the whole repository.
    for path in ROOT.iterdir():
        if (
            path.name not in {"crates", "target", "Cargo.toml", "Cargo.lock", ".git"}
            and not (COPY / path.name).exists()
        ):
            (COPY / path.name).symlink_to(path)
    sources = {
        str(path.relative_to(ROOT)): path
        for crate in TESTS
        for path in (ROOT / "crates" / crate).rglob("*")
        if path.is_file()
    }
    for old in (path for crate in TESTS for path in (COPY / "crates" / crate).rglob("*") if path.is_file()):
        if str(old.relative_to(COPY)) not in sources:
            old.unlink()
    texts = {name: path.read_text() for name, path in sources.items()}
    by_hand = []
    for number, (aqm, file, there, instead) in enumerate(HAND, 1):
        name = f"crates/aqm/src/{file}"
        if name in broken:
            if texts[name].count(there) != 1:
                raise SystemExit(f"{file}: {there!r} is there {texts[name].count(there)} times")
            texts[name] = texts[name].replace(there, re.sub(r"\bON\b", f"crate::mutants::is({number})", instead))
            by_hand.append(Mutant(number, name, aqm, 0, "hand", there))
    mutator = Mutator(len(HAND) + 1)
    for name in broken:
        mutator.path = "crate::mutants" if name.startswith("crates/aqm") else "earlydrop_aqm::mutants"
        texts[name] = mutator.file(name, texts[name])
    texts["crates/aqm/src/lib.rs"] += SWITCH
    vectors = "crates/sim/src/vectors.rs"
    texts[vectors] = texts[vectors].replace("#[cfg(test)]\nmod tests", COMPARE + "\n#[cfg(test)]\nmod tests")
    texts["crates/sim/tests/mutants.rs"] = RUNNER.lstrip()
    texts["crates/sim/Cargo.toml"] += '\n[[test]]\nname = "mutants"\nharness = false\n'
    manifest = (ROOT / "Cargo.toml").read_text()
    members = ", ".join(f'"crates/{crate}"' for crate in TESTS)
    manifest = re.sub(r"^members = .*?\]$", f"members = [{members}]", manifest, flags=re.M | re.S)
    manifest = re.sub(r"^default-members = .*?\]$", "", manifest, flags=re.M | re.S)
    texts["Cargo.toml"] = re.sub(
        r"^\[workspace\.lints.*?(?=^\[(?!workspace\.lints))", "[workspace.lints.rust]\n", manifest, flags=re.M | re.S
    )
    # Cargo leaves out what these crates do not need.
    texts["Cargo.lock"] = (ROOT / "Cargo.lock").read_text()
    for name, text in texts.items():
        put(COPY / name, text)
    return by_hand + mutator.mutants


def build(crates: list[str]) -> tuple[Runner, list[Program]]:
    """The runner, and the programs with the tests of these crates."""
    programs = []
    for crate in [*crates, "sim"]:
        command = ["cargo", "test", "--no-run", "--quiet", "--offline", "--message-format", "json"]
        command += ["-p", f"earlydrop-{crate}", *TESTS[crate]]
        command += [word for setting in SETTINGS for word in ("--config", setting)]
        out = subprocess.run(command, cwd=COPY, check=True, stdout=subprocess.PIPE, text=True).stdout
        for entry in map(json.loads, out.splitlines()):
            if entry.get("executable") and entry["target"]["kind"] != ["bin"]:
                programs.append(Program(Path(entry["manifest_path"]).parent, Path(entry["executable"])))
    return Runner(programs.pop().path), programs


def noticed(mutant: Mutant, reached: Reached, runner: Runner) -> str:
    """The vector, test or stored result that notices a mutant; or why nothing can."""

    def by_subject(subjects: list[str]) -> str:
        answer = runner.ask(f"{mutant.number} {'|'.join(subjects)}") if subjects else ""
        return f"{subjects[0]} does not end" if answer is None else answer

    nearest, tests = reached.nearest(mutant)
    if not nearest and not tests:
        return UNREACHED
    if mutant.kind == "boundary" and mutant.number in reached.real - reached.equal:
        return APART
    if found := by_subject([name for name in nearest if " " not in name][:TRIED_VECTORS]):
        return found
    by_program: dict[Program, list[str]] = defaultdict(list)
    seconds: dict[Program, float] = defaultdict(float)
    for program, name in tests:
        if seconds[program] < TESTED_S:
            by_program[program].append(name)
            seconds[program] += reached.took[program, name]
    for program, names in sorted(by_program.items(), key=lambda item: seconds[item[0]]):
        if failing := program.failing(names, ENDLESS_S + 2 * seconds[program], MUTANT=str(mutant.number)):
            return f"{program.folder.name}: {failing}"
    if found := by_subject([name for name in nearest if " " in name][:TRIED_RESULTS]):
        return found
    if mutant.kind == "boundary":
        if mutant.number in reached.real:
            return APART_EQUAL
        return EQUAL if mutant.number in reached.equal else UNEQUAL
    return "?"


def tried(mutants: list[Mutant], crates: list[str], ends: float, kept: list[list[str]]) -> Iterator[list[str]]:
    """Each mutant, in any order, until the time is over: file, place and what noticed it."""
    began = time.monotonic()
    runner, programs = build(crates)
    print(f"{len(mutants)} mutants, built in {time.monotonic() - began:.0f} s", file=sys.stderr)
    reached = Reached()
    reached.trace(runner, programs)
    reached.noticed.update(by.split()[0] for _, _, by in kept)
    random.Random(1).shuffle(mutants)
    for count, mutant in enumerate(mutants):
        if time.monotonic() > ends:
            print(f"time is over: {count} mutants tried", file=sys.stderr)
            return
        if count % 100 == 0:
            print(f"{count} after {time.monotonic() - began:.0f} s", file=sys.stderr)
        by = noticed(mutant, reached, runner)
        reached.noticed[by.split()[0]] += 1
        yield [mutant.file, mutant.place, by]


def is_noticed(by: str) -> bool:
    """Whether something noticed the mutant."""
    return not by.startswith("?")


def survivors(rows: list[list[str]]) -> Counter[tuple[str, str, str]]:
    """How many mutants survive, by file, function and reason."""
    groups: Counter[tuple[str, str, str]] = Counter()
    for file, place, by in rows:
        if not is_noticed(by) and by != APART:
            reason = next((said for rule, said in REASONS if re.search(rule, f"{place} {by}")), NO_REASON)
            groups[file, place.split()[1], reason] += 1
    return groups


def report(rows: list[list[str]]) -> tuple[str, list[tuple[str, str, int, str]], list[str]]:
    """The page, the rows of survivors, and faults in these rows."""
    lines = [
        "# Mutants",
        "",
        "What `make mutants` finds: rules broken one at a time, and what notices: a recorded step of the vectors, a",
        "test of the crates or a script of segments, or a stored result (`crates/sim/tests/golden_run`). A boundary",
        "between real numbers (`<` for `<=`) that nothing notices counts apart: mostly no two of them are equal there",
        "in any of these, else both sides do the same.",
        "`make mutants CHANGED=yes` compares with what is known to survive.",
        "",
        "| rules | mutants | boundaries apart | noticed, of the others | by vectors | by tests | by stored results |",
        "|---|---|---|---|---|---|---|",
    ]
    wrong = []
    for folder, wanted in PARTS.items():
        all_by = [by for file, _, by in rows if file.startswith(folder)]
        by_all = [by for by in all_by if is_noticed(by)]
        apart = sum(by in {APART, APART_EQUAL} for by in all_by)
        others = len(all_by) - apart
        stored = sum(by.startswith(tuple(STORED)) for by in by_all)
        tests = sum(": " in by for by in by_all)
        share = len(by_all) / others
        lines.append(
            f"| `{folder}` | {len(all_by)} | {apart} | {len(by_all)} of {others}, {share:.1%} "
            f"| {len(by_all) - tests - stored} | {tests} | {stored} |"
        )
        if share < wanted:
            wrong.append(f"{folder}: {share:.1%} are noticed, not {wanted:.0%}")
    groups = survivors(rows)
    wrong += [
        f"{file} {name}: {count} survive without a reason"
        for (file, name, reason), count in groups.items()
        if reason == NO_REASON
    ]
    by_own = Counter(by.split()[0] for _, _, by in rows if is_noticed(by))
    wrong += [
        f"fewer than {WANTED} mutants are noticed by the vectors of {name}"
        for name in disciplines()
        if by_own[name] < WANTED
    ]
    lines += ["", "What survives, by file and function, with the reason:", "", "[mutants.csv](mutants.csv)"]
    surviving = [(file, name, count, reason) for (file, name, reason), count in sorted(groups.items())]
    return "\n".join(lines) + "\n", surviving, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="files whose path matches this regular expression")
    parser.add_argument(
        "--changed",
        metavar="COMMIT",
        help="files that differ from it, or if it is empty from where the branch left origin/main, against the report",
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="building included")
    parser.add_argument("--again", action="store_true", help="only what was not noticed the last time, or not tried")
    parser.add_argument("--report", action="store_true", help="write the report of what was found, and try nothing")
    asked = parser.parse_args()
    ends = time.monotonic() + asked.seconds
    broken = files(asked.only)
    if asked.changed is not None:
        broken = [file for file in broken if file in changed(asked.changed)]
    if not broken:
        print("no file with rules has changed")
        return 0
    rows = [line.split("\t") for line in STATE.read_text().splitlines()] if STATE.exists() else []
    if asked.report:
        return write(rows)
    crates = sorted({file.split("/")[1] for file in broken})
    kept = [row for row in rows if row[0] not in broken]
    known: dict[str, list[list[str]]] = defaultdict(list)
    for row in rows:
        if asked.again and row[0] in broken and is_noticed(row[2]):
            known[row[1]].append(row)
    untried = []
    for mutant in prepare(broken):
        if known[mutant.place]:
            kept.append(known[mutant.place].pop())
        else:
            untried.append(mutant)
    found = []
    # Results so far count even if somebody ends the run.
    with STATE.open("w") if asked.changed is None else open(os.devnull, "w", encoding="utf-8") as state:
        state.writelines("\t".join(row) + "\n" for row in kept)
        for row in tried(untried, crates, ends, kept):
            found.append(row)
            print(*row, sep="\t", file=state, flush=True)
    if asked.changed is not None:
        return compare(found)
    return 0 if asked.only else write([*kept, *found])


def changed(commit: str) -> list[str]:
    """Files that differ from this commit, or from where this branch left `origin/main`, or from the commit before."""

    def git(*words: str) -> list[str] | None:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.split() if done.returncode == 0 else None

    left = git("merge-base", "HEAD", "origin/main")
    before = [commit] if commit else left if left and left != git("rev-parse", "HEAD") else ["HEAD~1"]
    found = git("diff", "--name-only", *before, "--")
    if found is None and commit:
        raise SystemExit(f"there is no commit {commit}")
    if found is None:
        print("there is no commit before to compare with; BASE=COMMIT names one")
    return found or []


def compare(rows: list[list[str]]) -> int:
    """1 if more mutants of a function survive than are known."""
    known: Counter[tuple[str, str]] = Counter()
    with SURVIVORS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            known[row["file"], row["function"]] += int(row["mutants"])
    now: Counter[tuple[str, str]] = Counter()
    for name, place, by in rows:
        if not is_noticed(by) and by != APART:
            now[name, place.split()[1]] += 1
            print(f"not noticed: {place}")
    print(f"{len(rows)} mutants tried, {sum(is_noticed(by) for _, _, by in rows)} noticed")
    more = [
        f"{file} {function}: {count} survive, {known[file, function]} are known"
        for (file, function), count in sorted(now.items())
        if count > known[file, function]
    ]
    print("\n".join(more))
    return 1 if more else 0


def write(rows: list[list[str]]) -> int:
    """Writes the report; 1 if something is wrong with it."""
    text, surviving, wrong = report(rows)
    REPORT.write_text(text, encoding="utf-8")
    with SURVIVORS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *surviving])
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
