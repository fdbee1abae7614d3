"""The check for circles of imports, on circles that are planted."""

from __future__ import annotations

from pathlib import Path

import pytest

import import_circles

ROOT = Path(__file__).parents[2]


def crate(place: Path, **files: str) -> Path:
    src = place / "crates" / "one" / "src"
    for name, text in {"lib": "", **files}.items():
        path = src / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return src


def rust(place: Path, **files: str) -> list[str]:
    return import_circles.faults(import_circles.rust_graph(crate(place, **files)))


def test_a_planted_circle_between_folders_is_found(tmp_path: Path) -> None:
    files = {"a__mod": "pub mod x;", "a__x": "use crate::b::y::Y;", "b__mod": "pub mod y;", "b__y": "use crate::a::x;"}
    (fault,) = rust(tmp_path, **files)
    assert fault.startswith("2 files of 2 folders import each other")
    files["b__y"] = "// use crate::a::x;\n#[cfg(test)]\nmod tests { use crate::a::x; }"
    assert rust(tmp_path, **files) == [], "neither comments nor tests count"


@pytest.mark.parametrize(
    ("d", "found"),
    [("use super::a::A;", True), ("fn f() { super::a::g() }", True), ("use super::{e::E, a::A};", True), ("", False)],
)
def test_a_planted_circle_of_four_files_is_found(tmp_path: Path, d: str, found: bool) -> None:
    files = {"lib": "mod a; mod b; mod c; mod d; mod e;", "e": ""}
    files |= {"a": "use crate::b::B;", "b": "use super::c::C;", "c": "use crate::{d::D};", "d": d}
    assert bool(rust(tmp_path, **files)) == found


def test_files_of_a_folder_may_where_it_is_said(tmp_path: Path) -> None:
    graph = import_circles.rust_graph(crate(tmp_path, a="use crate::b::B;", b="use crate::a::A;"))
    assert [len(import_circles.faults(graph, within)) for within in (1, 2)] == [1, 0]


def test_a_name_that_is_handed_on_is_where_it_comes_from(tmp_path: Path) -> None:
    # mod.rs hands Shared on from shared.rs; that its children take it from there makes no circle with mod.rs.
    mod = "mod shared; mod one; mod two; mod three; pub use shared::Shared; use one::One; use two::Two; use three::T;"
    child = "use super::Shared;"
    assert rust(tmp_path, k__mod=mod, k__shared="", k__one=child, k__two=child, k__three=child) == []
    own = "struct Own; " + mod
    assert rust(
        tmp_path,
        k__mod=own,
        k__shared="",
        k__one="use super::Own;",
        k__two="use super::Own;",
        k__three="use super::Own;",
    )


@pytest.mark.parametrize(
    ("mod", "use"),
    [
        ("mod reading; pub use reading::Reading;", "use super::receiver::Reading;"),
        ("mod reading; pub use reading::Reading as Pace;", "use super::receiver::{Pace};"),
        ("mod reading; pub use reading::*;", "fn f() { super::receiver::Reading::new() }"),
        ("mod reading; pub use reading::Reading;", "use super::Reading;"),
    ],
)
def test_a_circle_over_a_name_that_is_handed_on_is_found(tmp_path: Path, mod: str, use: str) -> None:
    # Whoever takes Reading from the receiver's module, which uses the settings, needs all that this file needs.
    files = {"lib": "pub use receiver::Reading;", "receiver__mod": f"{mod} use super::settings::S;"}
    files |= {"receiver__reading": "", "settings": "use super::rules::R;", "rules": use}
    (fault,) = rust(tmp_path, **files)
    assert fault.startswith("3 files of 2 folders import each other")
    files["settings"] = ""
    assert rust(tmp_path, **files) == []


def test_a_file_that_uses_what_it_hands_on_imports_it(tmp_path: Path) -> None:
    child = "use super::Window; pub struct Cubic;"
    assert rust(tmp_path, k__mod="mod c; pub use c::Cubic; struct Window;", k__c=child) == []
    assert rust(tmp_path, k__mod="mod c; pub use c::Cubic; enum Algorithm { Cubic(Cubic) }", k__c=child)


def test_folders_stand_in_an_order_but_for_named_imports(tmp_path: Path) -> None:
    files = {"a__x": "use crate::b::X;", "b": "use crate::a::y::Y;", "a__y": ""}
    src = crate(tmp_path, **files)
    graph = import_circles.rust_graph(src)
    assert import_circles.faults(graph) == []
    assert import_circles.order_faults(graph, src, ()) == ["no order of layers: a, b.rs import each other"]
    assert import_circles.order_faults(graph, src, [("b.rs", "a/y.rs")]) == []
    assert "a/y.rs does not import b.rs" in import_circles.order_faults(graph, src, [("a/y.rs", "b.rs")])


def test_this_repository() -> None:
    assert import_circles.main(ROOT) == 0
    assert max(map(len, import_circles.AGAINST.values())) <= 5


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("scenario__tcp", "use crate::engine::network::TcpOptions;", "scenario is below engine"),
        ("scenario__tcp", "fn f() { super::super::engine::run() }", "scenario is below engine"),
        ("scenario__tcp", "use crate::engine::ACK_BYTES;", "scenario is below engine"),
        ("topology__graph", "use crate::scenario::Delays;", "topology is below scenario"),
        ("engine__run", "use crate::scenario::Delays; use crate::topology::graph::Graph;", None),
        ("scenario__tcp", "// use crate::engine::network::TcpOptions;", None),
    ],
)
def test_a_planted_import_of_a_layer_above_is_found(tmp_path: Path, file: str, text: str, found: str | None) -> None:
    files = {"lib": "pub mod engine; pub mod scenario; pub mod topology;", "engine__network": "", "topology__graph": ""}
    files |= {"engine__mod": "pub use elsewhere::ACK_BYTES;", "scenario__mod": "pub use tcp::Delays;"}
    src = crate(tmp_path, **(files | {"scenario__tcp": "", file: text}))
    faults = import_circles.layer_faults(import_circles.rust_graph(src), src, import_circles.LAYERS["sim"])
    assert {fault.split(":")[0] for fault in faults} == ({found} if found else set())


def test_the_layers_are_those_of_this_repository() -> None:
    for name, layers in import_circles.LAYERS.items():
        src = ROOT / "crates" / name / "src"
        modules = set(layers).union(*layers.values())
        assert [module for module in sorted(modules) if not list(src.glob(f"{module}*"))] == []


def test_python_counts_imports_within_functions(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "sub").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "a.py": "from .sub import b",
        "sub/__init__.py": "",
        "sub/b.py": "def f():\n    from ..a import x\n    from .. import _core\n",
    }.items():
        (package / name).write_text(text, encoding="utf-8")
    (fault,) = import_circles.faults(import_circles.python_graph(package))
    assert fault.startswith("2 files of 2 folders")


def test_python_sees_names_that_a_package_hands_on(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "sub").mkdir(parents=True)
    for name, text in {
        "__init__.py": "from .sub import B",
        "a.py": "from pack import B",
        "c.py": "from .sub import B",
        "sub/__init__.py": "from .b import B",
        "sub/b.py": "",
    }.items():
        (package / name).write_text(text, encoding="utf-8")
    graph = import_circles.python_graph(package)
    assert graph[package / "a.py"] == {package / "sub/__init__.py", package / "sub/b.py"}
    assert graph[package / "c.py"] == graph[package / "a.py"]
    assert graph[package / "__init__.py"] == set(), "what it hands on only is no import of it"
