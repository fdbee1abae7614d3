"""What a class says of itself: parameters, state, methods. Read once, by `ed.policy`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import EarlydropError

Kind = Literal["real", "whole", "flag", "choice"]
Scalar = Literal["float", "int", "bool"]
UNITS = {"": 0, "packets": 1, "s": 2, "seconds": 2, "B": 3, "bytes": 3}
METHODS = {
    "curve": ("average",),
    "on_start": ("queue", "cx"),
    "on_enqueue": ("packet", "queue", "cx"),
    "on_dequeue": ("packet", "queue", "cx"),
    "on_empty": ("queue", "cx"),
    "next_timer": (),
    "on_timer": ("queue", "cx"),
    "average": (),
}
"""The methods that are called, with their arguments after `self`."""
RESERVED = {
    "aqm",
    "limit",
    "ecn",
    "random",
    "marker",
    "check",
    "curve",
    "gauges",
    "name",
    "title",
    "document",
    "parameters",
}


class PolicyError(EarlydropError):
    """A policy is declared wrong, or went wrong while it ran. The message names class, method and line."""


@dataclass(frozen=True)
class Param:
    """`ed.param(...)`: a parameter's default, unit, range and sentence."""

    default: Any
    unit: str
    low: float
    high: float
    open: int
    doc: str
    symbol: str
    source: str
    words: tuple[str, ...]


def param(
    default: float | bool | str,
    *,
    unit: str = "",
    range: tuple[float | None, float | None] | str = (None, None),
    doc: str = "",
    symbol: str = "",
    source: str = "",
    words: Sequence[str] = (),
) -> Any:
    """A parameter of a policy.

    Args:
        default: its value when none is given, in its unit.
        unit: `"packets"`, `"s"`, `"B"`, or `""` for a bare number. With a unit, texts such as `"20 ms"` are accepted.
        range: smallest and largest value, both allowed, None for no bound; or a text such as `"(0, 1]"`, where a round
            bracket excludes the end.
        doc: one sentence.
        symbol: in LaTeX, for tables.
        source: where the default comes from.
        words: the values of a parameter that is one word of several.

    Raises:
        PolicyError: the unit or the range cannot be read.
    """
    if unit not in UNITS:
        raise PolicyError(f"ed.param: unit: given {unit!r}; allowed {', '.join(repr(u) for u in UNITS)}")
    low, high, opened = _interval(range)
    return Param(default, unit, low, high, opened, doc, symbol, source, tuple(words))


def _interval(given: tuple[float | None, float | None] | str) -> tuple[float, float, int]:
    if isinstance(given, str):
        match = re.fullmatch(r"\s*([\[(])\s*(\S+?)\s*,\s*(\S+?)\s*([\])])\s*", given)
        try:
            if match is None:
                raise ValueError
            left, low, high, right = match.groups()
            return float(low), float(high), (left == "(") + 2 * (right == ")")
        except ValueError:
            raise PolicyError(f'range = {given!r}: a pair such as (0, None), or a text such as "(0, 1]"') from None
    low, high = given
    return (-math.inf if low is None else float(low)), (math.inf if high is None else float(high)), 0


@dataclass(frozen=True)
class Array:
    """`ed.array(...)`: state with many entries."""

    length: int
    scalar: Scalar


def array(length: int, type: type = float) -> Any:
    """State of a policy with `length` entries of `float`, `int` or `bool`, all 0 at the start.

    Raises:
        PolicyError: the length is not from 1 to 2^24, or the type is another.
    """
    if type not in (float, int, bool) or not 1 <= length <= 1 << 24:
        raise PolicyError(f"array({length}, {type!r}): 1 to {1 << 24} entries of float, int or bool")
    return Array(length, type.__name__)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a declared policy."""

    name: str
    kind: Kind
    given: Param

    def plain(self, number: float) -> Any:
        """The value that this number of the ABI stands for, as Python's."""
        match self.kind:
            case "real":
                return number
            case "whole":
                return int(number)
            case "flag":
                return number != 0.0
            case _:
                return self.given.words[int(number)]


@dataclass(frozen=True)
class Field:
    """A field of the state, and what it holds at the start."""

    name: str
    scalar: Scalar
    initial: float | int | bool = 0
    length: int | None = None
    """Length of an array; None for a single value."""


@dataclass(frozen=True)
class Definition:
    """All that is known of a policy."""

    cls: type
    name: str
    title: str
    summary: str
    doc: str
    parameters: tuple[Parameter, ...]
    fields: tuple[Field, ...]
    methods: Mapping[str, Callable[..., Any]]
    """Methods of the class and its bases, by name, without `check`."""
    gauges: tuple[str, ...]
    check: Callable[..., Any] | None = None
    curve: Callable[..., Any] | None = None
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    """File and first line of each method."""

    def fault(self, message: str, method: str | None = None) -> PolicyError:
        """An error about this class, or one of its methods."""
        where = f"{self.title}.{method}" if method else self.title
        if method in self.places:
            file, line = self.places[method]
            where += f" ({file}:{line})"
        return PolicyError(f"{where}: {message}")


def define(cls: type, name: str | None) -> Definition:
    """Read the class.

    Raises:
        PolicyError: what is wrong with it.
    """
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
    doc = inspect.cleandoc(cls.__doc__ or "")
    bare = Definition(cls, name, cls.__name__, doc.partition("\n")[0].rstrip("."), doc, (), (), {}, ())
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise bare.fault(f"name = {name!r}: a-z, 0-9 and _, a letter first")
    parameters, fields = [], []
    for key, (annotation, value) in _members(cls).items():
        if key in RESERVED or key in METHODS:
            raise bare.fault(f"{key} is taken and can be no parameter or state")
        if isinstance(value, Param):
            parameters.append(Parameter(key, _kind(bare, key, annotation, value), value))
        elif isinstance(value, Array):
            fields.append(Field(key, value.scalar, 0, value.length))
        elif annotation is not None:
            fields.append(_field(bare, key, annotation, value))
    methods = {key: value for key, value in inspect.getmembers(cls, inspect.isfunction) if not key.startswith("__")}
    # Other methods may call `curve`, none calls `check`.
    check, curve = methods.pop("check", None), methods.get("curve")
    places = {key: _place(value) for key, value in methods.items()}
    scalars = [f.name for f in fields if f.length is None]
    gauges = tuple(getattr(cls, "gauges", scalars))
    made = Definition(
        cls,
        name,
        bare.title,
        bare.summary,
        doc,
        tuple(parameters),
        tuple(fields),
        methods,
        gauges,
        check,
        curve,
        places,
    )
    if "on_enqueue" not in methods:
        raise made.fault("has no method on_enqueue(self, packet, queue, cx)")
    if ("on_timer" in methods) != ("next_timer" in methods):
        raise made.fault("has one of next_timer and on_timer; both are needed, or none")
    for key, arguments in METHODS.items():
        if key in methods:
            names = tuple(inspect.signature(methods[key]).parameters)[1:]
            if len(names) != len(arguments):
                raise made.fault(f"takes ({', '.join(('self', *arguments))}), not ({', '.join(('self', *names))})", key)
    for gauge in gauges:
        if gauge not in scalars:
            raise made.fault(f"gauges: {gauge!r} is no field of the state; there are {', '.join(scalars) or 'none'}")
    return made


def _members(cls: type) -> dict[str, tuple[str | None, Any]]:
    """Annotation and value of each member that is neither method nor constant, bases first."""
    found: dict[str, tuple[str | None, Any]] = {}
    for base in reversed(cls.__mro__[:-1]):
        annotations = inspect.get_annotations(base)
        for key in [*annotations, *(k for k, v in vars(base).items() if isinstance(v, Param | Array))]:
            annotation = annotations.get(key)
            text = annotation if isinstance(annotation, str) or annotation is None else annotation.__name__
            found[key] = (text, vars(base).get(key))
    return found


def _kind(bare: Definition, name: str, annotation: str | None, given: Param) -> Kind:
    of_type: dict[str | None, Kind] = {"float": "real", "int": "whole", "bool": "flag", "str": "choice"}
    kind = of_type.get(annotation if annotation is not None else type(given.default).__name__)
    if kind is None:
        raise bare.fault(f"parameter {name}: {annotation} is no type of a parameter; allowed are float, int, bool, str")
    fits = {
        "real": isinstance(given.default, int | float) and not isinstance(given.default, bool),
        "whole": isinstance(given.default, int) and not isinstance(given.default, bool),
        "flag": isinstance(given.default, bool),
        "choice": given.default in given.words,
    }
    if not fits[kind]:
        allowed = f"one of {', '.join(map(repr, given.words))}" if kind == "choice" and given.words else annotation
        if kind == "choice" and not given.words:
            raise bare.fault(f"parameter {name}: a text needs words=[...], the values allowed")
        raise bare.fault(f"parameter {name}: default {given.default!r} is not {allowed}")
    return kind


def _field(bare: Definition, name: str, annotation: str, value: Any) -> Field:
    if annotation not in {"float", "int", "bool"}:
        raise bare.fault(f"field {name}: {annotation} cannot be state; allowed are float, int, bool and ed.array(...)")
    if value is None:
        value = {"float": 0.0, "int": 0, "bool": False}[annotation]
    wanted: dict[str, Any] = {"float": (int, float), "int": int, "bool": bool}
    if not isinstance(value, wanted[annotation]) or (isinstance(value, bool) and annotation != "bool"):
        raise bare.fault(f"field {name}: {value!r} is no {annotation}")
    return Field(name, annotation, float(value) if annotation == "float" else value)  # type: ignore[arg-type]


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    code = function.__code__
    return code.co_filename.rpartition("/")[2], code.co_firstlineno
