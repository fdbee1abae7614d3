"""Disciplines from outside that this process knows, and how a scenario's names are found among them."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from .. import foreign
from ..strict_toml import suggestion
from .declare import PolicyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LIBRARIES = (".so", ".dylib", ".dll")
CONFIGURATION = "earlydrop.toml"
GROUP = "earlydrop.aqms"
"""The group of entry points in which installed packages name disciplines."""


def get_include() -> str:
    """The folder of `earlydrop_aqm.h`, for the C compiler's option -I."""
    return str(Path(__file__).resolve().parents[1] / "include")


@dataclass(frozen=True)
class Known:
    """A discipline that was loaded or declared."""

    native: _core.Aqm
    digest: str
    source: str
    """Source of its code: `mine.py:MyRed`, `libmine.so`, or the module that declares it."""

    policy: Any = None
    """The policy's class; None for a library."""


_by_digest: dict[tuple[str, str], Known] = {}
_latest: dict[str, Known] = {}
"""The discipline of each name that was registered last."""
_trusted_files: set[str] = set()
_trust: ContextVar[bool] = ContextVar("trust", default=False)
_refused: ContextVar[str | None] = ContextVar("refused", default=None)


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Within the block code that scenarios name is loaded without asking."""
    token = _trust.set(trust or _trust.get())
    try:
        yield
    finally:
        _trust.reset(token)


@contextmanager
def refusing(whose: str) -> Iterator[None]:
    """Within the block no code in files is loaded, whoever names it: it is `whose`, and nobody trusts it."""
    token = _refused.set(whose)
    try:
        yield
    finally:
        _refused.reset(token)


def _may_load(source: str) -> None:
    """Raises: PolicyError: no code may be loaded."""
    if (whose := _refused.get()) is not None:
        raise PolicyError(f"{whose} names code, {source}, which would run with your rights; --trust lets it")


def trust_all() -> None:
    """From now on, code that scenarios name is loaded without asking."""
    _trust.set(True)


def register(known: Known) -> Known:
    """Make a discipline one that scenarios of this process can name; the last of a name and a digest is meant."""
    _by_digest[known.native.name, known.digest] = _latest[known.native.name] = known
    return known


def known() -> list[Known]:
    """The disciplines of this process, by name."""
    return [_latest[name] for name in sorted(_latest)]


def find(name: str, digest: str | None = None) -> Known | None:
    """The discipline of that name: the one with the digest, or without a digest the last one."""
    return _latest.get(name) if digest is None else _by_digest.get((name, digest))


def is_source(text: str) -> bool:
    """Whether a text names code rather than a discipline."""
    return text.endswith((".py", *LIBRARIES)) or ".py:" in text


def load(source: str | os.PathLike[str], folder: str | None = None) -> Known:
    """Load the discipline at `source`: `mine.py`, `mine.py:MyRed` or `libmine.so`; `folder` is for relative paths.

    What the user names so is trusted from then on, wherever it is named again.

    Raises:
        PolicyError: there is no discipline at `source`, or it is broken.
    """
    text = os.fspath(source)
    _may_load(text)
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    full = Path(os.path.realpath(Path(folder or ".", path)))
    if not full.is_file():
        raise PolicyError(f"{path}: is no regular file" if os.path.lexists(full) else f"{path}: no such file")
    _trusted_files.add(str(full))
    return register(_library(full) if full.suffix in LIBRARIES else _python(full, name))


_libraries: dict[str, tuple[str, Known]] = {}
_modules: dict[str, dict[str, Known]] = {}


def _library(path: Path) -> Known:
    digest = sha256(path.read_bytes()).hexdigest()[:16]
    kept = _libraries.get(str(path))
    if kept is not None and kept[0] == digest:
        return kept[1]
    if kept is not None:
        # The loader takes a library from a path it has seen without looking at the file.
        copy = path.with_name(f".{path.stem}-{digest}{path.suffix}")
        copy.write_bytes(path.read_bytes())
        try:
            native = _open(copy)
        finally:
            copy.unlink()
    else:
        native = _open(path)
    made = Known(native, digest, str(path))
    _libraries[str(path)] = (digest, made)
    return made


def _open(path: Path) -> _core.Aqm:
    try:
        return _core.Aqm.load(str(path))
    except ValueError as error:
        raise PolicyError(str(error)) from error


def _python(path: Path, name: str) -> Known:
    text = path.read_bytes()
    key = f"earlydrop_own_{path.stem}_{sha256(str(path).encode() + text).hexdigest()[:16]}"
    if key not in _modules:
        _modules[key] = _classes(path, key)
    classes = _modules[key]
    if not classes:
        raise PolicyError(f"{path}: declares no policy; a class with @ed.policy is one")
    if not name and len(classes) > 1:
        known = ", ".join(classes)
        raise PolicyError(f"{path}: has {known}; name one of them, as {path.name}:{next(iter(classes))}")
    name = name or next(iter(classes))
    if name not in classes:
        raise PolicyError(f"{path}: there is no policy {name}; {suggestion(name, list(classes))}")
    return classes[name]


@contextmanager
def _staying() -> Iterator[None]:
    """While a module of somebody else's is loaded, its attempt to end the process is an error."""
    try:
        yield
    except SystemExit as error:
        raise PolicyError(f"ends the process, by {error!r}").with_traceback(error.__traceback__) from None


class _Fresh(importlib.machinery.SourceFileLoader):
    """Compiles the file as it is now: Python's cache takes one that has changed within a second for the same."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _executed(path: Path, key: str) -> ModuleType:
    """The module in a file, executed."""
    spec = importlib.util.spec_from_file_location(key, path, loader=_Fresh(key, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Classes are looked up by their module when they are sent to another process.
    sys.modules[key] = module
    try:
        with _staying():
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[key]
        if isinstance(error, PolicyError) and f"({path}:" in str(error):
            raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        at = f", line {lines[-1]}" if lines else ""
        kind = "" if isinstance(error, PolicyError) else f"{type(error).__name__}: "
        raise PolicyError(f"{path}{at}: {kind}{error}") from error
    return module


def _classes(path: Path, key: str) -> dict[str, Known]:
    """The policies that the file declares, by class."""
    from .policy import Policy

    return {
        name: known_of(value, f"{path}:{name}")
        for name, value in vars(_executed(path, key)).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == key
    }


_functions: dict[str, ModuleType] = {}


def function(source: str, folder: str | None = None, *, named: bool = False) -> Callable[..., Any]:
    """The function at `mine.py:stalls`; `folder` is for relative paths. `named`: the user named it himself.

    Raises:
        PolicyError: there is no such function, its file is broken, or it is not trusted.
    """
    _may_load(source)
    path, _, name = source.rpartition(":")
    full = Path(os.path.realpath(Path(folder or ".", path)))
    if not full.is_file():
        raise PolicyError(f"{path}: is no regular file" if os.path.lexists(full) else f"{path}: no such file")
    if not named and not _trust.get() and str(full) not in _trusted_files:
        raise PolicyError(
            f"names code, {source}, which would run with your rights; --trust (in Python trust=True) lets it"
        )
    _trusted_files.add(str(full))
    key = f"earlydrop_function_{full.stem}_{sha256(str(full).encode() + full.read_bytes()).hexdigest()[:16]}"
    if key not in _functions:
        _functions[key] = _executed(full, key)
    found = getattr(_functions[key], name, None)
    if not callable(found):
        names = [k for k, v in vars(_functions[key]).items() if callable(v) and getattr(v, "__module__", "") == key]
        raise PolicyError(f"{path}: there is no function {name}; {suggestion(name, names)}")
    made: Callable[..., Any] = found
    return made


def known_of(policy: Any, source: str | None = None) -> Known:
    """The discipline that a policy's class is registered as."""
    return Known(policy.native, policy.digest, source or f"{policy.__module__}:{policy.__name__}", policy)


def resolve(
    aqms: Mapping[str, Mapping[str, str]], named: Mapping[str, str], file: str | None
) -> list[tuple[str, _core.Aqm, str]]:
    """The disciplines that queues name: as they are named there, themselves, and their digests.

    `aqms` is the scenario's table of that name, `named` what each queue says, `file` the scenario's. What is not found
    is left out: the checker says so.
    """
    folder = str(Path(file).parent) if file else None
    found: dict[str, Known] = {}
    for queue, name in named.items():
        if is_source(name):
            found[name] = _asked(name, folder, f"queue.{queue}.aqm", file)
            continue
        entry = aqms.get(name, {})
        source, digest = entry.get("source"), entry.get("digest")
        there = find(name, digest)
        if source is not None and digest is None:
            # The source is read even if this process knows a discipline of the name: the scenario says which it means.
            there = _asked(source, folder, f"aqms.{name}", file)
            if there.native.name != name:
                raise _wrong(file, f"aqms.{name}", f"{source} declares itself as {there.native.name}")
        if there is None and not entry:
            there = by_name(name, folder)
        if there is not None:
            found[name] = there
    return [(name, one.native, one.digest) for name, one in found.items()]


def pinned(document: Mapping[str, Any], folder: str, file: str | None = None) -> dict[str, Any]:
    """A scenario in which each discipline from outside is named by the digest of its code, loaded.

    It then means the same in any folder and in any process that knows the code. Errors begin with `file`.
    """
    made = dict(document)
    aqms = document.get("aqms")
    if isinstance(aqms, Mapping):
        made["aqms"] = {
            name: _digest(source, name, folder, f"aqms.{name}", file) if isinstance(source, str) else source
            for name, source in aqms.items()
        }
    queues = document.get("queue")
    if isinstance(queues, Mapping):
        made["queue"] = dict(queues)
        for key, queue in queues.items():
            child = isinstance(queue, Mapping) and isinstance(queue.get("child"), Mapping)
            inside = queue["child"] if child else queue
            given = inside.get("aqm") if isinstance(inside, Mapping) else None
            if isinstance(given, str) and is_source(given):
                one = _asked(given, folder, f"queue.{key}.{'child.' if child else ''}aqm", file)
                inside = {**inside, "aqm": one.native.name}
                made["queue"][key] = {**queue, "child": inside} if child else inside
                made["aqms"] = {**made.get("aqms", {}), one.native.name: {"digest": one.digest}}
            elif isinstance(given, str) and given not in made.get("aqms", {}):
                listed = next((listed for listed in configured(folder) if listed.name == given), None)
                if listed is not None:
                    made["aqms"] = {**made.get("aqms", {}), given: {"digest": listed.load().digest}}
    return made


def _digest(source: str, name: str, folder: str, path: str, file: str | None) -> dict[str, str]:
    one = _asked(source, folder, path, file)
    if one.native.name != name:
        raise _wrong(file, path, f"{source} declares itself as {one.native.name}")
    return {"digest": one.digest}


def _asked(source: str, folder: str | None, path: str, file: str | None) -> Known:
    """Loads what a scenario names, if the user trusts it."""
    if not _trust.get() and _full(source, folder) not in _trusted_files:
        raise _wrong(
            file,
            path,
            f"names code, {source}, which would run with your rights; --trust (in Python trust=True) lets it",
        )
    try:
        return load(source, folder)
    except PolicyError as error:
        raise _wrong(file, path, str(error)) from error


def _full(source: str, folder: str | None) -> str:
    """The full path of a source's file."""
    return os.path.realpath(Path(folder or ".", source.rpartition(":")[0] if ".py:" in source else source))


def _wrong(file: str | None, path: str, message: str) -> Exception:
    error = _core.ScenarioError(f"{file}: {path}: {message}" if file else f"{path}: {message}")
    error.file, error.path, error.message, error.given, error.allowed = file, path, message, None, None
    return error


@dataclass(frozen=True)
class Listed:
    """A line of `[aqms]` in an `earlydrop.toml`."""

    name: str
    source: str
    file: Path

    @property
    def folder(self) -> str:
        """The folder where relative sources start."""
        return str(self.file.parent)

    @property
    def shown(self) -> str:
        """The file as it is called in messages."""
        return self.file.name if self.file.parent == Path.cwd() else str(self.file)

    @property
    def trusted(self) -> bool:
        """Whether its code may run."""
        return _trust.get() or _full(self.source, self.folder) in _trusted_files

    def load(self) -> Known:
        """Load it, if the user trusts it.

        Raises:
            PolicyError: the discipline is not trusted, or broken.
        """
        try:
            made = _asked(self.source, self.folder, f"aqms.{self.name}", self.shown)
        except _core.ScenarioError as error:
            raise PolicyError(str(error)) from error
        if made.native.name != self.name:
            raise PolicyError(f"{self.shown}: aqms.{self.name}: {self.source} declares itself as {made.native.name}")
        return made


def by_name(name: str, folder: str | None = None) -> Known | None:
    """The discipline of that name in an `earlydrop.toml`, in `folder` or here, or of an installed package.

    Raises:
        PolicyError: the file cannot be read, or what it names is not trusted or broken.
    """
    for listed in configured(folder):
        if listed.name == name:
            return listed.load()
    return next((installed(point) for point in points() if point.name == name), None)


def points() -> list[EntryPoint]:
    """The entry points of installed packages, by name."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def installed(point: EntryPoint) -> Known:
    """The discipline behind an entry point: a class, or the path of a library.

    Raises:
        PolicyError: the discipline is broken.
    """
    where = f"{point.value}, entry point {point.name} of {GROUP}"
    try:
        with _staying():
            value = point.load()
        made = register(known_of(value, point.value)) if isinstance(value, type) else load(value)
    except Exception as error:
        raise PolicyError(f"{where}: {error}") from error
    if made.native.name != point.name:
        raise PolicyError(f"{where}: declares itself as {made.native.name}")
    return made


def configured(folder: str | None = None) -> list[Listed]:
    """What the `earlydrop.toml` in `folder` lists, then that of this folder.

    Raises:
        PolicyError: a file cannot be read.
    """
    files = dict.fromkeys(Path(place, CONFIGURATION).absolute() for place in (folder or ".", "."))
    return [listed for file in files if file.is_file() for listed in _listed(file)]


def _listed(file: Path) -> list[Listed]:
    try:
        table = foreign.from_toml(file).get("aqms", {})
    except (ValueError, OSError) as error:
        raise PolicyError(f"{file}: {error}") from error
    if not isinstance(table, dict) or not all(isinstance(v, str) and re.fullmatch(r"\S.*", v) for v in table.values()):
        raise PolicyError(f'{file}: [aqms] lists sources by name, as my_red = "mine.py:MyRed"')
    return [Listed(name, source, file) for name, source in table.items()]
