"""Break the rules of disciplines, parents and markers, one place at a time, and count what decision vectors notice.

`make mutants` (some twenty minutes). A copy of the crates is compiled once with every mutant in it, switched on by a
number; each runs the vectors of the disciplines that use its file until a step differs. Broken are

- a comparison: negated (`negated`), or with its boundary on the other side (`boundary`: `<` for `<=`),
- `&&` and `||`: the right side is not asked (`ignored`),
- sums, differences, products and quotients: a quarter and one larger, whole numbers one larger (`altered`).

Not touched are tests, constants, macros, and the functions of SKIPPED, which take no part in a decision. The report,
`vectors/mutants.md`, has the counts, and every survivor with the reason in REASONS.
"""

from __future__ import annotations

import argparse
import re
import select
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).parents[1]
AQM = Path("crates/aqm/src")
COPY = ROOT / "target/mutants"
REPORT = ROOT / "vectors/mutants.md"

# Functions that take no part in a decision, or repeat another one faster.
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
# Files of parents and markers, and whose rules they are.
MARKERS = ["token_bucket", "srtcm", "trtcm", "tsw2cm", "tsw3cm"]
OTHERS = {
    "parents/tbf.rs": ["tbf"],
    "parents/htb.rs": ["htb"],
    "parents/wifi.rs": ["wifi"],
    "parents/ratecfg.rs": ["tbf", "htb"],
    "markers/buckets.rs": MARKERS[:3],
    "markers/windows.rs": MARKERS[3:],
    "markers/conditioned.rs": MARKERS,
}
UNTOUCHED = {"const_item", "static_item", "macro_invocation", "attribute_item"}
COMPARED = {"<": "less", "<=": "at_most", ">": "greater", ">=": "at_least"}
WANTED = 3
# Mutants by hand, where a discipline's rules are in macros or in what all share: discipline, file, what stands there,
# and what takes its place, with ON where the mutant is on.
HAND = [
    ("droptail", "policy.rs", "=> packets < n,", "=> if ON { packets <= n } else { packets < n },"),
    ("droptail", "policy.rs", "u64::from(packet.size) <= n,", "u64::from(packet.size) <= n + 500 * u64::from(ON),"),
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
    (
        "fautoredwithred",
        "fautoredwithred.rs",
        "self.red.observe(queue, cx.now)",
        "self.red.observe(queue, cx.now) + 5.0 * f64::from(u8::from(ON))",
    ),
    ("fautoredwithred", "fautoredwithred.rs", "contents: true", "contents: !ON"),
    (
        "fautoredwithred",
        "parts/auto_red.rs",
        "Draw::Even, 1, cx",
        "Draw::Even, 1 + u32::from(ON), cx",
    ),
    ("wrr", "wrr.rs", "(Price::Packets, 1)", "(Price::Packets, 1 + u64::from(ON))"),
    ("wrr", "wrr.rs", "=> Victim::Longest(End::Head),", "=> Victim::Longest(if ON { End::Tail } else { End::Head }),"),
    ("wrr", "wrr.rs", "=> Victim::Arrival,", "=> if ON { Victim::Longest(End::Head) } else { Victim::Arrival },"),
    ("fq_cobalt", "fq_cobalt.rs", "        if fresh {", "        if [fresh, false][usize::from(ON)] {"),
    (
        "fq_cobalt",
        "fq_cobalt.rs",
        "self.cobalts[queue].full(now.seconds());",
        "if !ON { self.cobalts[queue].full(now.seconds()) }",
    ),
    (
        "fq_cobalt",
        "fq_cobalt.rs",
        "self.cobalts[queue].empty(now.seconds());",
        "if !ON { self.cobalts[queue].empty(now.seconds()) }",
    ),
    ("tsw3cm", "markers/windows.rs", "self.peak.is_none()", "(ON || self.peak.is_none())"),
    ("tsw3cm", "markers/windows.rs", "(average - peak).max(0.0)", "if ON { 0.0 } else { (average - peak).max(0.0) }"),
    ("tsw3cm", "markers/windows.rs", "<= red => Colour::Red,", "<= red => if ON { beyond } else { Colour::Red },"),
]
# Why mutants survive, by file, function and kind: the first that fits.
REASONS = [
    (r" boundary$", "nothing in the scripts is exactly at the boundary: times and averages are real numbers"),
    (r"^parts/ticks", "a faster way through timers that change nothing; tests compare it with timers one by one"),
    (r" (same_states|same_unit) ", "parameters that change while a discipline runs; vectors have none that do"),
    (
        r" (read|new|room|has_room|admits|in_unit|limit_in_unit|in_packets|length_given|automatic_weight|wlog_for_burst"
        r"|transmission|queue_length|limit_in_packets|set_max_p|own) ",
        "follows from parameters, or from a limit, that no case sets so; unit tests have the figures",
    ),
    (
        r"^parts/(rank_index|slot_heap|flow_table|flow_index|distance|class_weights|round|halving)",
        "how memory is laid out, or a shortcut",
    ),
    (r" (decayed|probability|memory) ", "read by drop curves and by timers on idle links only"),
    (r"^parts/pie", "the departure-rate meter and the activity rules: `tests/oracles/pie.rs` transcribes them"),
    (r"^(sfq|red_pd|early_detection)", "no script reaches it, or the other rules hide it; unit tests of the file do"),
    (r"^(fq_pacing|parents)", "no script reaches it (a DropTail child marks nothing), or another rule hides it"),
    (r"", "another rule hides it in every script; unit tests of the file do not"),
]
# A mutant that is silent for so long does not end.
PATIENCE_S = 60

SWITCH = """
/// Mutants: which one is switched on, and what it does.
pub mod mutants {
    use std::sync::atomic::{AtomicUsize, Ordering};
    pub static ON: AtomicUsize = AtomicUsize::new(0);
    pub fn is(n: usize) -> bool { ON.load(Ordering::Relaxed) == n }
    pub fn less<T: PartialOrd>(n: usize, a: &T, b: &T) -> bool { if is(n) { a <= b } else { a < b } }
    pub fn at_most<T: PartialOrd>(n: usize, a: &T, b: &T) -> bool { if is(n) { a < b } else { a <= b } }
    pub fn greater<T: PartialOrd>(n: usize, a: &T, b: &T) -> bool { if is(n) { a >= b } else { a > b } }
    pub fn at_least<T: PartialOrd>(n: usize, a: &T, b: &T) -> bool { if is(n) { a > b } else { a >= b } }
    pub trait Alter { fn alter(self) -> Self; }
    impl Alter for f64 { fn alter(self) -> Self { self * 1.25 + 1.0 } }
    impl Alter for crate::Time { fn alter(self) -> Self { self + 0.01 } }
    macro_rules! whole { ($($t:ty)*) => { $(impl Alter for $t { fn alter(self) -> Self { self.wrapping_add(1) } })* } }
    whole!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
    pub fn altered<T: Alter>(n: usize, x: T) -> T { if is(n) { x.alter() } else { x } }
}
"""

COMPARE = """
/// The first line of the vectors called `name` that differs from `expected`, and in which case it is.
pub fn first_difference(name: &str, expected: &str) -> Option<(String, usize)> {
    let subject = Subject::all().into_iter().find(|subject| subject.name() == name)?;
    let mut lines = expected.lines();
    let (mut place, mut name, mut found) = (0, String::new(), None);
    for case in cases(subject) {
        record(subject, &case, &mut |line| {
            if line["format"] == FORMAT {
                (place, name) = (0, case.name.clone());
            }
            if lines.next() != Some(&line.to_string()) {
                found = Some((name.clone(), place));
            }
            place += 1;
            found.is_none()
        });
        if found.is_some() {
            return found;
        }
    }
    lines.next().map(|_| ("the end".to_string(), 0))
}
"""

RUNNER = """
//! Mutants by number, each with the disciplines to try: `N aqm,aqm` lines on the standard input.
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::atomic::Ordering;

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut known: HashMap<String, String> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (number, aqms) = line.split_once(' ').unwrap();
        let mut caught = String::from("survived");
        for aqm in aqms.split(',') {
            earlydrop_aqm::mutants::ON.store(0, Ordering::Relaxed);
            let expected = known
                .entry(aqm.to_string())
                .or_insert_with(|| earlydrop_sim::vectors::vectors(aqm).unwrap())
                .clone();
            earlydrop_aqm::mutants::ON.store(number.parse().unwrap(), Ordering::Relaxed);
            let found = std::panic::catch_unwind(|| earlydrop_sim::vectors::first_difference(aqm, &expected));
            caught = match found {
                Ok(None) => continue,
                Ok(Some((case, step))) => format!("{aqm}\\t{case}\\t{step}"),
                Err(_) => format!("{aqm}\\tpanic\\t0"),
            };
            break;
        }
        println!("{number}\\t{caught}");
    }
}
"""


@dataclass(frozen=True)
class Mutant:
    """One place that is broken."""

    number: int
    file: str
    function: str
    line: int
    kind: str
    text: str

    @property
    def place(self) -> str:
        """File, function and what is broken: what REASONS are looked up by."""
        return f"{self.file} {self.function} {self.kind} {self.text}"


class Mutator:
    """Writes one file anew with every mutant in it."""

    def __init__(self, start: int) -> None:
        self.next = start
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

            path = "crate::mutants"
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


def disciplines() -> list[str]:
    """Every discipline, in the order of the list in `lib.rs`."""
    library = (ROOT / AQM / "lib.rs").read_text()
    block = library[library.index("disciplines! {\n    // ") :]
    return re.findall(r"^    (\w+),$", block[: block.index("\n}\n")], re.M)


def users() -> dict[str, list[str]]:
    """For each file of decisions, the disciplines that use it; those whose own file it is come alone."""
    files = {
        str(path.relative_to(ROOT / AQM))
        for path in (ROOT / AQM).rglob("*.rs")
        if path.name not in {"lib.rs", "tests.rs", "mod.rs", "parameters.rs", "given.rs", "hash.rs"}
    }
    names = disciplines()
    texts = {file: (ROOT / AQM / file).read_text().split("#[cfg(test)]")[0] for file in files}

    def needs(file: str, seen: set[str]) -> set[str]:
        if file not in texts or file in seen:
            return seen
        seen.add(file)
        for part in re.findall(r"\bparts::(?:\{([\w:, {}]+)\}|(\w+))", texts[file]):
            for word in re.findall(r"\w+", "".join(part)):
                needs(f"parts/{word}.rs", seen)
        if "early_detection" in texts[file]:
            for part in ("average", "common", "linux", "ns2", "ns3", "paper", "settings"):
                needs(f"early_detection/{part}.rs", seen)
        return seen

    found: dict[str, list[str]] = {}
    for name in names:
        own = [file for file in files if file == f"{name}.rs" or file.startswith(f"{name}/")]
        for file in own:
            found[file] = [name]
        for file in set().union(*(needs(file, set()) for file in own)):
            if file.startswith(("parts/", "early_detection/")):
                found.setdefault(file, []).append(name)
    return found | {file: names for file, names in OTHERS.items() if file in files}


def prepare(tested: dict[str, list[str]]) -> list[Mutant]:
    """A copy of what is compiled, with every mutant in it."""
    shutil.rmtree(COPY, ignore_errors=True)
    for folder in ("aqm", "net", "sim"):
        shutil.copytree(
            ROOT / "crates" / folder, COPY / "crates" / folder, ignore=shutil.ignore_patterns("tests", "target")
        )
    manifest = (ROOT / "Cargo.toml").read_text()
    manifest = re.sub(
        r"^members = .*?\]$", 'members = ["crates/aqm", "crates/net", "crates/sim"]', manifest, flags=re.M | re.S
    )
    manifest = re.sub(r"^default-members = .*?\]$", "", manifest, flags=re.M | re.S)
    manifest = re.sub(
        r"^\[workspace\.lints.*?(?=^\[(?!workspace\.lints))", "[workspace.lints.rust]\n", manifest, flags=re.M | re.S
    )
    (COPY / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", COPY)
    by_hand = []
    for number, (aqm, file, old, new) in enumerate(HAND, 1):
        if aqm in {name for names in tested.values() for name in names}:
            path = COPY / AQM / file
            text = path.read_text()
            if text.count(old) != 1:
                raise SystemExit(f"{file}: {old!r} is there {text.count(old)} times")
            path.write_text(text.replace(old, re.sub(r"\bON\b", f"crate::mutants::is({number})", new)))
            by_hand.append(Mutant(number, file, aqm, 0, "hand", old))
    mutator = Mutator(len(HAND) + 1)
    for file in sorted(tested):
        path = COPY / AQM / file
        path.write_text(mutator.file(file, path.read_text()))
    library = COPY / AQM / "lib.rs"
    library.write_text(library.read_text() + SWITCH)
    vectors = COPY / "crates/sim/src/vectors.rs"
    vectors.write_text(vectors.read_text().replace("#[cfg(test)]\nmod tests", COMPARE + "\n#[cfg(test)]\nmod tests"))
    runner = COPY / "crates/sim/examples/mutants.rs"
    runner.parent.mkdir(exist_ok=True)
    runner.write_text(RUNNER.lstrip())
    return by_hand + mutator.mutants


def run(mutants: list[Mutant], tested: dict[str, list[str]]) -> Iterator[tuple[Mutant, list[str]]]:
    """Each mutant with what caught it: discipline, case and step, or nothing."""
    program = COPY / "target/release/examples/mutants"
    left = list(mutants)
    while left:
        with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            while left:
                mutant = left.pop(0)
                names = [mutant.function] if mutant.kind == "hand" else tested[mutant.file][:4]
                process.stdin.write(f"{mutant.number} {','.join(names)}\n")
                process.stdin.flush()
                ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
                line = process.stdout.readline() if ready else ""
                if not line:
                    yield mutant, [names[0], "does not end", "0"]
                    process.kill()
                    break
                yield mutant, [] if "survived" in line else line.split("\t")[1:]


def report(rows: list[list[str]]) -> tuple[str, list[str]]:
    """The page, and the disciplines of which fewer than WANTED mutants are caught; a row is what `--list` writes."""
    tested = users()
    caught_by = Counter(row[2] for row in rows if len(row) > 2)
    others = dict.fromkeys(name for names in OTHERS.values() for name in names)
    own: dict[str, list[bool]] = {name: [] for name in [*disciplines(), *others]}
    for row in rows:
        file, function, kind = row[1].split()[:3]
        names = [function] if kind == "hand" else tested[file]
        if kind == "hand" or (len(names) == 1 and not file.startswith(("parts/", "early_detection/"))):
            own[names[0]].append(len(row) > 2)
    survivors = [row for row in rows if len(row) < 3]
    lines = [
        "# Mutants",
        "",
        "What `make mutants` finds: rules of disciplines, parents and markers broken one at a time, and whether a",
        "recorded step of the vectors differs then. A mutant of a part that several share runs with up to four of",
        "them, and counts for the one that notices it.",
        "",
        f"{len(rows)} mutants, {len(rows) - len(survivors)} noticed. By discipline, of its own files and shared parts:",
        "",
        "| discipline, parent or marker | own mutants | noticed | of shared parts |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {len(own[name])} | {sum(own[name])} | {caught_by[name] - sum(own[name])} |" for name in own]
    lines += [
        "",
        "Those that are not noticed, by reason:",
        "",
        "| file | function | mutants | reason |",
        "|---|---|---|---|",
    ]
    groups: Counter[tuple[str, str, str]] = Counter()
    for row in survivors:
        file, function, kind = row[1].split()[:3]
        reason = next(said for rule, said in REASONS if re.search(rule, f"{file} {function} {kind}"))
        groups[file, function, reason] += 1
    lines += [
        f"| {file} | {function} | {count} | {reason} |" for (file, function, reason), count in sorted(groups.items())
    ]
    return "\n".join(lines) + "\n", [name for name in own if caught_by[name] < WANTED]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="files whose path matches this regular expression")
    parser.add_argument("--list", type=Path, help="write every mutant and what noticed it")
    parser.add_argument("--report", type=Path, help="write the report of what --list wrote, and run nothing")
    asked = parser.parse_args()
    if asked.report:
        return finish([line.split("\t") for line in asked.report.read_text().splitlines()])
    tested = {file: names for file, names in users().items() if asked.only is None or re.search(asked.only, file)}
    mutants = prepare(tested)
    print(f"{len(mutants)} mutants in {len(tested)} files", file=sys.stderr)
    # Little optimisation: compiling takes longer than running.
    settings = ("profile.release.lto=false", "profile.release.codegen-units=16", "profile.release.opt-level=1")
    build = ["cargo", "build", "--release", "--quiet", "--offline", "-p", "earlydrop-sim", "--example", "mutants"]
    configured = [word for setting in (*settings, 'build.rustflags=["-Awarnings"]') for word in ("--config", setting)]
    subprocess.run([*build, *configured], cwd=COPY, check=True)
    lines = []
    for mutant, caught in run(mutants, tested):
        lines.append("\t".join([str(mutant.line), mutant.place, *caught]).strip())
        if len(lines) % 100 == 0:
            print(len(lines), file=sys.stderr)
    if asked.list:
        asked.list.write_text("\n".join(lines) + "\n")
    return 0 if asked.only else finish([line.split("\t") for line in lines])


def finish(rows: list[list[str]]) -> int:
    """Writes the report; 1 if too few mutants of a discipline are noticed."""
    text, few = report(rows)
    REPORT.write_text(text)
    if few:
        print(f"fewer than {WANTED} mutants are noticed of {', '.join(few)}", file=sys.stderr)
    return 1 if few else 0


if __name__ == "__main__":
    sys.exit(main())
