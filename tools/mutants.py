"""Break the rules of every discipline, one place at a time, and count which breaks its decision vectors notice.

`make mutants` (some ten minutes). A copy of the crates is compiled once with every mutant in it, switched on by a
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
SKIPPED = {"check", "memory", "gauges", "resume", "curve", "curve_mut", "on_timers", "next_timers", "most_bytes", "counters"}
COMPARED = {"<": "less", "<=": "at_most", ">": "greater", ">=": "at_least"}
WANTED = 3
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
/// The first line of a discipline's vectors that differs from `expected`, and in which case it is.
pub fn first_difference(aqm: &str, expected: &str) -> Option<(String, usize)> {
    let mut lines = expected.lines();
    let (mut place, mut name, mut found) = (0, String::new(), None);
    for case in cases(catalogue::find(aqm)?) {
        record(catalogue::find(aqm)?, &case, &mut |line| {
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
            elif node.type in {"const_item", "static_item", "macro_invocation", "attribute_item"}:
                return data[node.start_byte : node.end_byte].decode()
            elif node.type == "mod_item" and data[node.start_byte : node.end_byte].startswith(b"mod tests {"):
                return data[node.start_byte : node.end_byte].decode()
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
            assert left is not None and right is not None and sign is not None
            operator = (sign.text or b"").decode()
            own = data[node.start_byte : node.end_byte].decode()
            a, b = text(left, function), text(right, function)
            new = lambda kind: self._new(name, function, node, kind, own)  # noqa: E731
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
    return found


def prepare(tested: dict[str, list[str]]) -> list[Mutant]:
    """A copy of what is compiled, with every mutant in it."""
    shutil.rmtree(COPY, ignore_errors=True)
    for folder in ("aqm", "net", "sim"):
        shutil.copytree(ROOT / "crates" / folder, COPY / "crates" / folder, ignore=shutil.ignore_patterns("tests", "target"))
    manifest = (ROOT / "Cargo.toml").read_text()
    manifest = re.sub(r"^members = .*?\]$", 'members = ["crates/aqm", "crates/net", "crates/sim"]', manifest, flags=re.M | re.S)
    manifest = re.sub(r"^default-members = .*?\]$", "", manifest, flags=re.M | re.S)
    manifest = re.sub(r"^\[workspace\.lints.*?(?=^\[(?!workspace\.lints))", "[workspace.lints.rust]\n", manifest, flags=re.M | re.S)
    (COPY / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", COPY)
    mutator = Mutator(1)
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
    return mutator.mutants


def run(mutants: list[Mutant], tested: dict[str, list[str]]) -> Iterator[tuple[Mutant, list[str]]]:
    """Each mutant with what caught it: discipline, case and step, or nothing."""
    program = COPY / "target/release/examples/mutants"
    left = list(mutants)
    while left:
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdin is not None and process.stdout is not None
            while left:
                mutant = left.pop(0)
                process.stdin.write(f"{mutant.number} {','.join(tested[mutant.file][:4])}\n")
                process.stdin.flush()
                ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
                line = process.stdout.readline() if ready else ""
                if not line:
                    yield mutant, [tested[mutant.file][0], "does not end", "0"]
                    process.kill()
                    break
                yield mutant, [] if "survived" in line else line.split("\t")[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="files whose path holds this")
    parser.add_argument("--list", type=Path, help="write every mutant and what caught it")
    asked = parser.parse_args()
    tested = {file: names for file, names in users().items() if asked.only is None or asked.only in file}
    mutants = prepare(tested)
    print(f"{len(mutants)} mutants in {len(tested)} files", file=sys.stderr)
    build = ["cargo", "build", "--release", "--quiet", "--offline", "-p", "earlydrop-sim", "--example", "mutants"]
    subprocess.run(
        [*build, "--config", "profile.release.lto=false", "--config", "profile.release.codegen-units=16",
         "--config", "profile.release.opt-level=1", "--config", 'build.rustflags=["-Awarnings"]'],
        cwd=COPY, check=True,
    )
    lines = []
    for mutant, caught in run(mutants, tested):
        lines.append("\t".join([str(mutant.line), mutant.place, *caught]).strip())
        if len(lines) % 100 == 0:
            print(len(lines), file=sys.stderr)
    if asked.list:
        asked.list.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
