"""Circles of imports between source files, and imports of a lower layer from a higher one.

    python tools/import_circles.py [FOLDER]

Fails where files of different folders import each other in a circle, where more than three files within one folder do,
and where a module imports one of a layer above it (LAYERS). A folder's own `mod.rs`, `lib.rs` or `__init__.py` declares
its files and hands their names on: what it re-exports is no import of it. Functions that import when they are called
(Python) count, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITHIN = 3
"""Files of one folder that may import each other."""

LAYERS = {"sim": {"scenario": {"engine", "run", "result", "batch"}, "topology": {"scenario", "engine", "run"}}}
"""Of each crate: the top-level modules, and those that each of them may not import."""

EXTENSION = "_core"
"""The compiled module has no Python file."""

Graph = dict[Path, set[Path]]


# ---- Rust ----------------------------------------------------------------------------------------------------------


def rust_graph(src: Path) -> Graph:
    """Which file of a crate uses which: paths of `use` and of calls that begin with crate, super or self."""
    files = {path: _module(path, src) for path in sorted(src.rglob("*.rs")) if path.name != "tests.rs"}
    by_module = {module: path for path, module in files.items()}
    texts = {path: _without_tests(path.read_text(encoding="utf-8")) for path in files}
    handed_on: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path, module in files.items():
        for match in re.finditer(r"\bpub(?:\([a-z]+\))? use ([^;]+);", texts[path]):
            for used in _spread(match[1].replace("\n", " ")):
                handed_on[(*module, used[-1])] = used
    graph: Graph = {}
    for path, module in files.items():
        text = texts[path]
        found = set()
        children = {
            child[len(module)] for child in by_module if child[: len(module)] == module and len(child) > len(module)
        }
        for used in _used(text, children):
            target = _resolve(used, module, by_module, handed_on)
            if target is not None and target != path:
                found.add(target)
        graph[path] = found
    return graph


def _module(path: Path, src: Path) -> tuple[str, ...]:
    parts = path.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _without_tests(text: str) -> str:
    text = text.split("#[cfg(test)]\nmod tests", 1)[0]
    return re.sub(r"//.*", "", text)


def _used(text: str, children: set[str]) -> Iterable[tuple[str, ...]]:
    for match in re.finditer(r"\b(pub(?:\([a-z]+\))? )?use (\w+)(::[^;]+);", text):
        if match[1] or (match[2] not in ("crate", "super", "self") and match[2] not in children):
            continue
        head = match[2] if match[2] not in children else f"self::{match[2]}"
        yield from _spread((head + match[3]).replace("\n", " "))
    rest = re.sub(r"\buse [^;]+;", "", text)
    for match in re.finditer(r"(?<![\w:])(\w+)(?:::\w+)+", rest):
        if match[1] in ("crate", "super") or match[1] in children:
            yield tuple((match[0] if match[1] not in children else f"self::{match[0]}").split("::"))


def _spread(path: str) -> Iterable[tuple[str, ...]]:
    """`a::{b, c::d}` as a::b and a::c::d."""
    path = path.strip()
    open_at = path.find("{")
    if open_at < 0:
        yield tuple(part.strip() for part in path.split(" as ")[0].split("::"))
        return
    head = path[:open_at].rstrip(":").split("::")
    depth, part = 0, ""
    for char in path[open_at + 1 : path.rfind("}")] + ",":
        if char == "," and depth == 0:
            if part.strip():
                for inner in _spread(part):
                    yield (*head, *inner)
            part = ""
            continue
        depth += (char == "{") - (char == "}")
        part += char


def _resolve(
    used: tuple[str, ...],
    module: tuple[str, ...],
    by_module: Mapping[tuple[str, ...], Path],
    handed_on: Mapping[tuple[str, ...], tuple[str, ...]],
) -> Path | None:
    """The file that a path leads to; a re-exported name leads to its origin."""
    at = list(module)
    steps = list(used)
    while steps and steps[0] in ("crate", "super", "self"):
        step = steps.pop(0)
        if step == "crate":
            at = []
        elif step == "super" and at:
            at.pop()
    target = by_module.get(tuple(at))
    for step in steps:
        here = tuple(at)
        at.append(step)
        if tuple(at) not in by_module:
            source = handed_on.get(tuple(at))
            if source is not None and source != used:
                inner = source if source[0] in ("crate", "super", "self") else ("self", *source)
                return _resolve(inner, here, by_module, {k: v for k, v in handed_on.items() if k != tuple(at)})
            break
        target = by_module[tuple(at)]
    return target


# ---- Python --------------------------------------------------------------------------------------------------------


def python_graph(package: Path) -> Graph:
    """Which module of a package imports which."""
    files = sorted(p for p in package.rglob("*.py") if "studies" not in p.relative_to(package).parts)
    names = {_dotted(path, package): path for path in files}
    graph: Graph = {}
    for path in files:
        found = set()
        here = _dotted(path, package)
        inside = here if path.name == "__init__.py" else here[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            if node.level:
                base = inside[: len(inside) - node.level + 1]
            elif node.module and node.module.split(".")[0] == package.name:
                base = ()
            else:
                continue
            parts = tuple(node.module.split(".")) if node.module else ()
            if not node.level:
                parts = parts[1:]
            for alias in node.names:
                if alias.name == EXTENSION:
                    continue
                target = names.get((*base, *parts, alias.name)) or names.get((*base, *parts))
                if target is not None and target != path:
                    found.add(target)
        graph[path] = found
    return graph


def _dotted(path: Path, package: Path) -> tuple[str, ...]:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


# ---- circles -------------------------------------------------------------------------------------------------------


def circles(graph: Graph) -> list[list[Path]]:
    """Sets of files that import each other, directly or over others (Tarjan)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(node: Path) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            members = stack[at:]
            del stack[at:]
            if len(members) > 1:
                found.append(sorted(members))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def faults(graph: Graph) -> list[str]:
    """Circles that are not allowed."""
    wrong = []
    for members in circles(graph):
        folders = {member.parent for member in members}
        names = ", ".join(
            str(member.relative_to(ROOT) if member.is_relative_to(ROOT) else member) for member in members
        )
        if len(folders) > 1:
            wrong.append(f"{len(members)} files of {len(folders)} folders import each other: {names}")
        elif len(members) > WITHIN:
            wrong.append(f"{len(members)} files of a folder import each other: {names}")
    return wrong


def layer_faults(graph: Graph, src: Path, layers: Mapping[str, set[str]]) -> list[str]:
    """Imports that lead from a layer to one above it."""
    wrong = []
    for path, imported in sorted(graph.items()):
        for other in sorted(imported):
            module, upper = ((*_module(file, src), "")[0] for file in (path, other))
            if upper in layers.get(module, ()):
                wrong.append(f"{module} is below {upper}: {path.relative_to(src)} imports {other.relative_to(src)}")
    return wrong


def main(root: Path) -> int:
    """Print the circles in a checkout that are not allowed; 1 if there are any."""
    wrong = []
    for src in sorted((root / "crates").glob("*/src")):
        graph = rust_graph(src)
        wrong += faults(graph) + layer_faults(graph, src, LAYERS.get(src.parent.name, {}))
    wrong += faults(python_graph(root / "python" / "earlydrop"))
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
