"""Files that somebody else may have made or changed: read with a bound on their size and depth, then checked.

What is read is a regular file, as a device or a pipe may never end. The errors are `OSError`, of the file, and
`ValueError`, of what is in it: callers put their own around them, with the file's name.

`complaint` is for JSON. jsonschema and pydantic do more, but the package needs neither otherwise, and their messages
would have to be put into these words.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import sys
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .errors import EarlydropError

if TYPE_CHECKING:
    import polars

SWITCH = "EARLYDROP_FILE_MIB"
"""The environment variable that raises the ceiling: MiB of a file, and of what it unpacks to."""
DEFAULT_MIB = 64
SMALL = 4 << 20
"""Most bytes of a TOML file, and of a CSV file: such files are written by people."""
CELLS = 8
"""A Parquet table may have this many times the ceiling, in bytes and in values: the format is made for much."""
DEPTH = 64
"""Most levels of lists and tables within each other. Scenarios may have half as many."""
SHOWN = 40
"""Most characters of a wrong value in a message."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ForeignError(EarlydropError):
    """Contents of files do not fit together. The message names the files."""


def ceiling() -> int:
    """Bytes of a file that is read whole, and of what it unpacks to, at most.

    Raises:
        ForeignError: the environment has another value than MiB there.
    """
    given = os.environ.get(SWITCH, str(DEFAULT_MIB))
    if not re.fullmatch("[1-9][0-9]{0,6}", given):
        raise ForeignError(f"{SWITCH}: given {shown(given)}; allowed a whole number of MiB, from 1")
    return int(given) << 20


def _too_large(most: int, name: str | None = None) -> OSError:
    raised = "" if most < ceiling() else f"; {SWITCH} in the environment, now {ceiling() >> 20}, raises that"
    return OSError(errno.EFBIG, f"is larger than {most >> 20} MiB{raised}", name)


def opened(path: Path, inside: Path | None = None) -> BufferedReader:
    """A file to read. With `inside`, one that is in this folder, whatever links say.

    Raises:
        OSError: the file is no regular file, or cannot be opened.
    """
    if inside is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(inside)):
        raise OSError(errno.EPERM, "is a link that leads out of its folder", str(path))
    try:
        file = os.open(path, _FLAGS)
    except ValueError as error:
        # The name has a NUL.
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def content(path: Path, most: int | None = None, inside: Path | None = None) -> bytes:
    """A whole file.

    Raises:
        OSError: the file is no regular file, is too large, or cannot be read.
    """
    limit = ceiling() if most is None else most
    with opened(path, inside) as file:
        if os.fstat(file.fileno()).st_size > limit or len(found := file.read(limit + 1)) > limit:
            raise _too_large(limit, str(path))
    return found


def text(path: Path, most: int | None = None, inside: Path | None = None) -> str:
    """A whole file of text, line ends as Python has them.

    Raises:
        OSError: the file is no regular file, is too large, or cannot be read.
        UnicodeDecodeError: the text is not UTF-8.
    """
    return content(path, most, inside).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def rows(path: Path) -> Iterator[TextIO]:
    """The lines of a text file for the CSV reader, which takes up to a hundred times the file's size in memory."""
    yield io.StringIO(content(path, SMALL).decode("utf-8"), newline="")


def unpacked(packed: bytes) -> bytes:
    """What was packed with gzip, without ever holding more of it than the ceiling.

    Raises:
        OSError: the content is too large.
        ValueError: the content is not gzip.
    """
    limit, stream = ceiling(), zlib.decompressobj(wbits=31)
    try:
        found = stream.decompress(packed, limit + 1)
    except zlib.error as error:
        raise ValueError(f"is not gzip: {error}") from error
    if len(found) > limit:
        raise _too_large(limit)
    if not stream.eof or stream.unused_data.strip(b"\0"):
        raise ValueError("is not gzip: it goes on behind its end" if stream.eof else "is not gzip: it ends too early")
    return found


def parsed(given: bytes | str) -> Any:
    """A JSON text as values.

    Raises:
        ValueError: the text is no JSON, or nests too deep.
    """
    try:
        return shallow(json.loads(given))
    except RecursionError:
        raise too_deep() from None


def parsed_toml(given: str) -> dict[str, Any]:
    """A TOML text as values.

    Raises:
        ValueError: the text is no TOML, or nests too deep.
    """
    try:
        found = tomllib.loads(given)
    except RecursionError:
        raise too_deep() from None
    shallow(found)
    return found


def from_json(path: Path, inside: Path | None = None) -> Any:
    """The value in a JSON file: `content`, then `parsed`, with their errors."""
    return parsed(content(path, inside=inside))


def from_toml(path: Path) -> dict[str, Any]:
    """The document in a TOML file, or in a JSON file as results have it: `text`, then `parsed_toml` or `parsed`, with
    their errors."""
    if path.suffix.lower() != ".json":
        return parsed_toml(text(path, SMALL))
    found = parsed(text(path, SMALL))
    if not isinstance(found, dict):
        raise ValueError("is no table")
    return found


def too_deep() -> ValueError:
    return ValueError(f"its values nest deeper than {DEPTH}")


def shallow(value: Any) -> Any:
    """The same value, if it does not nest too deep: whatever takes it afterwards may recurse."""
    level = [value]
    for _ in range(DEPTH):
        held = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [inner for one in held for inner in one if isinstance(inner, (dict, list))]
        if not level:
            return value
    raise too_deep()


def table(path: Path, inside: Path | None = None) -> polars.LazyFrame:
    """The table in a Parquet file, of which nothing but the head is read yet.

    Raises:
        OSError: the file is no regular file, or is too large.
        ValueError: the file is no table.
    """
    import polars as pl

    opened(path, inside).close()
    with unfit():
        found = pl.scan_parquet(path, glob=False)
        columns = len(found.collect_schema())
        count = found.select(pl.len()).collect().item()
    if count * columns > CELLS * ceiling():
        raise _too_large(CELLS * ceiling(), str(path))
    return found


def unless_interrupted(error: BaseException) -> None:
    """Polars panics if a signal comes while it calls Python: the data are not at fault then.

    Raises:
        KeyboardInterrupt: a signal came while Polars called Python.
    """
    if "KeyboardInterrupt" in str(error):
        raise KeyboardInterrupt from None


@contextmanager
def unfit() -> Iterator[None]:
    """Within the block an error that Polars raises of a damaged table is a `ValueError`."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError) as error:
        unless_interrupted(error)
        raise ValueError(str(error).partition("\n")[0] or type(error).__name__) from error


@contextmanager
def fitting(place: Path) -> Iterator[None]:
    """What goes wrong within, where checked files are shown, is said of the files in `place`.

    No check of each value for itself finds all that does not fit together, such as lists of different lengths.

    Raises:
        ForeignError: something goes wrong within the block.
    """
    try:
        with unfit():
            yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {shown(str(error))}"
        raise ForeignError(
            f"{place}: what its files say does not fit together ({said}); if earlydrop wrote them and nobody changed "
            "them, this is a mistake in earlydrop: please report it"
        ) from error


# ---- what is in it -------------------------------------------------------------------------------------------------

Shape = Any
"""What a value of JSON may be.

`str`, `bool`, `float` (any finite number), `None`, `dict` and `list` (of anything); a range, which is whole numbers; a
tuple of such shapes is any of them; `[shape]` is a list of it; `{key: shape}` is an object, in which other keys may
stand. A key may be left out if it ends with `?`, and `*` is all others.
"""
ANY: Shape = object
NUMBER: Shape = (float, None)
"""The shape of a measure, which may have no value."""
WHOLE: Shape = range(1 << 63)

_WORDS = {
    str: "a text",
    bool: "true or false",
    float: "a finite number",
    None: "null",
    dict: "an object",
    list: "a list",
}


def checked(path: Path, shape: Shape, inside: Path | None = None) -> Any:
    """The value in a JSON file, if it has this shape.

    Raises:
        ForeignError: the file cannot be read, or is another; the message names it and the field.
    """
    try:
        found = from_json(path, inside)
        said = complaint(found, shape)
    except (OSError, ValueError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if said:
        raise ForeignError(f"{path}: {said}")
    return found


def complaint(value: Any, shape: Shape, place: str = "") -> str:
    """What is wrong with a value: `flows, item 3: name: given 7; allowed a text`. Nothing if it has the shape."""
    if shape is ANY or any(_is(value, one) for one in _kinds(shape)):
        return _within(value, shape, place)
    allowed = ", ".join(map(_words, _kinds(shape)))
    return f"{place}{': ' if place else ''}given {shown(value)}; allowed {allowed}"


def _kinds(shape: Shape) -> Sequence[Shape]:
    return shape if isinstance(shape, tuple) else (shape,)


def _words(shape: Shape) -> str:
    return f"{shape[0]} to {shape[-1]}" if isinstance(shape, range) else _WORDS[_kind(shape)]


def _kind(shape: Shape) -> Any:
    return dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape


def _is(value: Any, shape: Shape) -> bool:
    kind = _kind(shape)
    if kind is None or isinstance(value, bool):
        return value is None if kind is None else kind is bool
    if kind is float:
        # Whole numbers may be too large for a float.
        return isinstance(value, (int, float)) and -sys.float_info.max <= value <= sys.float_info.max
    if isinstance(kind, range):
        return isinstance(value, int) and value in kind
    return isinstance(value, kind)


def _within(value: Any, shape: Shape, place: str) -> str:
    inner = next((one for one in _kinds(shape) if isinstance(one, (dict, list)) and _is(value, one)), None)
    if isinstance(inner, list):
        (one,) = inner
        found = (complaint(v, one, f"{place}{', ' if place else ''}item {k}") for k, v in enumerate(value, 1))
        return next(filter(None, found), "")
    if inner is None:
        return ""
    before = f"{place}: " if place else ""
    known = {key.removesuffix("?"): one for key, one in inner.items() if key != "*"}
    for key in inner:
        if key != "*" and not key.endswith("?") and key not in value:
            return f'{before}there is no "{key}"'
    others = inner.get("*", ANY)
    found = (complaint(one, known.get(key, others), before + key[:SHOWN]) for key, one in value.items())
    return next(filter(None, found), "")


def shown(value: Any) -> str:
    """A value in a message: not all of a long one."""
    if isinstance(value, (Mapping, list)):
        return "a list" if isinstance(value, list) else "an object"
    said = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return said if len(said) <= SHOWN else f"{said[:SHOWN]}..."
