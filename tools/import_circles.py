"""Circles of imports between source files, and imports of a lower layer from a higher one.

    python tools/import_circles.py [FOLDER]

Fails where files of different folders import each other in a circle, where more files within one folder do than WITHIN
allows, and where an import runs against the order of layers: where a module imports one of those above it (LAYERS), and
in crates of ORDERED where what stands in a folder, its files and its folders as wholes, import each other in a circle
without an import of AGAINST. A name that a file hands on (`pub use`, an import of `__init__.py`) is an import of the
file that defines it, and of the one that hands it on too unless that is around the importing file; to hand on what it
does not use itself is none. Functions that import when they are called (Python) count. Methods do not: an `impl` in
another file than its type's imports the type, and who calls them imports nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITHIN = {"aqm": 2, "link": 3, "python": 3, "earlydrop": 3}
"""How many files of one folder may import each other, by crate or package; 1 in all others."""

LAYERS = {"sim": {"scenario": {"engine", "run", "result", "batch"}, "topology": {"scenario", "engine", "run"}}}
"""For each crate the top-level modules, and those that each of them may not import."""

ORDERED = ("net", "sim")
"""Crates in which everything stands above all that it imports."""

AGAINST = {"net": {("tcp/output.rs", "tcp/rfc/wire.rs")}}
"""Imports that run against the order, by crate: at most five."""

EXTENSION = "_core"
"""The compiled module has no Python file."""

Graph = dict[Path, set[Path]]
Module = tuple[str, ...]
USE = re.compile(r"\b(pub(?:\([a-z]+\))? )?use ([^;]+);")
MACRO = re.compile(r"#\[macro_export\]\s*macro_rules! (\w+)")
OF_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:mod (\w+)|(?:pub(?:\([a-z]+\))? )?use [^;]+);")


# ---- Rust ----------------------------------------------------------------------------------------------------------


def rust_graph(src: Path) -> Graph:
    """Which file of a crate uses which: paths of `use` and in expressions."""
    whole = {_module(path, src): path for path in sorted(src.rglob("*.rs")) if path.name != "tests.rs"}
    raw = {module: re.sub(r"//.*|\(in [^)]*\)", "", path.read_text(encoding="utf-8")) for module, path in whole.items()}
    tests = {(*module, name) for module, text in raw.items() for name in OF_TESTS.findall(text)}
    modules = {module: path for module, path in whole.items() if module not in tests}
    texts = {module: OF_TESTS.sub("", raw[module].split("#[cfg(test)]\nmod tests", 1)[0]) for module in modules}
    used = {module: [way for use in USE.finditer(text) for way in _spread(use[2])] for module, text in texts.items()}
    names = {module: {name: path for name, path in paths if name != "*"} for module, paths in used.items()}
    names[()] |= {name: ("crate", *module) for module, text in texts.items() for name in MACRO.findall(text)}

    def absolute(path: Module, module: Module) -> Module | None:
        """The path from the crate's root; None for a path outside the crate."""
        if path[0] == "crate":
            return path[1:]
        if path[0] in ("self", "super"):
            at = module[:-1] if path[0] == "super" else module
            return absolute(path[1:], at) if path[1:2] == ("super",) else (*at, *path[1:])
        return (*module, *path) if (*module, path[0]) in modules or path[0] in names[module] else None

    def files(path: Module, module: Module, seen: frozenset[Module] = frozenset()) -> Iterable[Path]:
        """The files of a crate that a path leads to."""
        depth = max(depth for depth in range(len(path) + 1) if path[:depth] in modules)
        at, rest = path[:depth], path[depth:]
        known = names[at].get(rest[0]) if rest else None
        found = [(known, rest[1:])] if known else [(star, rest) for name, star in used[at] if name == "*" and rest]
        origins = [
            (origin, rest) for way, rest in found if (origin := absolute(way, at)) and (*at, *origin) not in seen
        ]
        if not origins or module[: len(at)] != at or not known:
            yield modules[at]
        for origin, rest in origins:
            yield from files((*origin, *rest), module, seen | {(*at, *origin)})

    graph: Graph = {}
    for module, text in texts.items():
        rest = USE.sub("", text)
        said = set(re.findall(r"\w+", rest))
        paths = [way for use in USE.finditer(text) for name, way in _spread(use[2]) if not use[1] or name in said]
        paths += [tuple(match.split("::")) for match in re.findall(r"(?<![\w:])\w+(?:::\w+)+", rest)]
        ways = {way for path in paths if (way := absolute(path, module))}
        graph[modules[module]] = {file for way in ways for file in files(way, module)} - {modules[module]}
    return graph


def _module(path: Path, src: Path) -> Module:
    parts = path.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _spread(path: str) -> Iterable[tuple[str, Module]]:
    """The paths of a `use`: `a::{b, c::d as e}` as a::b, named b, and a::c::d, named e."""
    head, brace, inner = path.partition("{")
    if not brace:
        way, _, name = path.strip().partition(" as ")
        steps = tuple(way.split("::"))
        yield name or steps[-1], steps[:-1] if steps[-1] in ("*", "self") else steps
        return
    depth, part = 0, ""
    for char in inner[: inner.rfind("}")] + ",":
        if char == "," and depth == 0:
            if part.strip():
                yield from _spread(head.strip() + part.strip())
            part = ""
            continue
        depth += (char == "{") - (char == "}")
        part += char


# ---- Python --------------------------------------------------------------------------------------------------------


def python_graph(package: Path) -> Graph:
    """Which module of a package imports which."""
    files = sorted(p for p in package.rglob("*.py") if "studies" not in p.relative_to(package).parts)
    by_module = {_dotted(path, package): path for path in files}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    imports = {path: list(_python_imports(trees[path], path, package)) for path in files}
    names = {path: dict(imports[path]) for path in files}

    def origins(module: Module, importing: Path, seen: frozenset[Module] = frozenset()) -> Iterable[Path]:
        """The files that a name leads to."""
        if module in by_module or module[:-1] not in by_module:
            yield from filter(None, [by_module.get(module)])
            return
        path = by_module[module[:-1]]
        origin = names[path].get(module[-1])
        if origin is None or origin in seen or not importing.is_relative_to(path.parent) or path.name != "__init__.py":
            yield path
        if origin is not None and origin not in seen:
            yield from origins(origin, importing, seen | {origin})

    graph: Graph = {}
    for path in files:
        said = {node.id for node in ast.walk(trees[path]) if isinstance(node, ast.Name)}
        used = {module for name, module in imports[path] if path.name != "__init__.py" or name in said}
        graph[path] = {file for module in used for file in origins(module, path)} - {path}
    return graph


def _python_imports(tree: ast.Module, path: Path, package: Path) -> Iterable[tuple[str, Module]]:
    """The names that a file imports from its package, and where they come from."""
    here = _dotted(path, package)
    inside = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            parts = (*inside[: len(inside) - node.level + 1], *parts)
        elif parts[0] == package.name:
            parts = parts[1:]
        else:
            continue
        yield from (
            (alias.asname or alias.name, (*parts, alias.name)) for alias in node.names if alias.name != EXTENSION
        )


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


def faults(graph: Graph, within: int = 1) -> list[str]:
    """Circles that are not allowed: `within` files of a folder may import each other."""
    wrong = []
    for members in circles(graph):
        folders = {member.parent for member in members}
        names = ", ".join(
            str(member.relative_to(ROOT) if member.is_relative_to(ROOT) else member) for member in members
        )
        if len(folders) > 1:
            wrong.append(f"{len(members)} files of {len(folders)} folders import each other: {names}")
        elif len(members) > within:
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


def order_faults(graph: Graph, src: Path, against: Collection[tuple[str, str]]) -> list[str]:
    """What stands in a folder and imports each other in a circle, each folder in it as a whole."""
    wrong = []
    imports = {(path, other) for path, imported in graph.items() for other in imported}
    named = {(src / path, src / other) for path, other in against}
    wrong += [f"{path.relative_to(src)} does not import {other.relative_to(src)}" for path, other in named - imports]
    for folder in sorted({path.parent for path in graph} | {src}):
        rooms: Graph = {}
        for path, other in imports - named:
            if path.is_relative_to(folder) and other.is_relative_to(folder):
                upper, lower = (folder / file.relative_to(folder).parts[0] for file in (path, other))
                rooms.setdefault(upper, set()).update({lower} - {upper})
        for members in circles(rooms):
            names = ", ".join(str(member.relative_to(src)) for member in members)
            wrong.append(f"no order of layers: {names} import each other")
    return wrong


def main(root: Path) -> int:
    """Print the circles in a checkout that are not allowed; 1 if there are any."""
    wrong = []
    for src in sorted((root / "crates").glob("*/src")):
        graph = rust_graph(src)
        crate = src.parent.name
        wrong += faults(graph, WITHIN.get(crate, 1)) + layer_faults(graph, src, LAYERS.get(crate, {}))
        wrong += order_faults(graph, src, AGAINST.get(crate, ())) if crate in ORDERED else []
    package = root / "python" / "earlydrop"
    wrong += faults(python_graph(package), WITHIN.get(package.name, 1))
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
