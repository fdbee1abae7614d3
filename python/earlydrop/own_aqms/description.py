"""The description of a policy that the engine reads: the structs of `earlydrop_aqm.h`, made with ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_uint32, c_uint64, c_void_p

from .declare import UNITS, Definition, Parameter

ABI = 1
_KINDS = {"real": 0, "whole": 1, "flag": 2, "choice": 3}


class EdParam(Structure):
    """`ed_param`."""

    _fields_ = [
        ("name", c_char_p),
        ("symbol", c_char_p),
        ("doc", c_char_p),
        ("source", c_char_p),
        ("words", POINTER(c_char_p)),
        ("low", c_double),
        ("high", c_double),
        ("initial", c_double),
        ("kind", c_uint32),
        ("unit", c_uint32),
        ("open", c_uint32),
        ("reserved", c_uint32),
    ]


class EdAqm(Structure):
    """`ed_aqm`."""

    _fields_ = [
        ("abi", c_uint32),
        ("size", c_uint32),
        ("name", c_char_p),
        ("title", c_char_p),
        ("summary", c_char_p),
        ("source", c_char_p),
        ("doc", c_char_p),
        ("params", POINTER(EdParam)),
        ("gauges", POINTER(c_char_p)),
        ("param_count", c_uint32),
        ("gauge_count", c_uint32),
        ("state_size", c_uint64),
        ("needs", c_uint32),
        ("reserved", c_uint32),
        ("check", c_void_p),
        ("init", c_void_p),
        ("on_enqueue", c_void_p),
        ("on_dequeue", c_void_p),
        ("next_timer", c_void_p),
        ("on_timer", c_void_p),
        ("average", c_void_p),
        ("read_gauges", c_void_p),
        ("curve", c_void_p),
    ]


_kept: list[object] = []
"""Descriptions that are kept, as the engine reads them as long as the process lives."""


def describe(definition: Definition, functions: dict[str, int], state_size: int = 0) -> int:
    """The address of the description with these functions, by their names in `ed_aqm`."""
    params = (EdParam * max(1, len(definition.parameters)))(*map(_param, definition.parameters))
    gauges = _texts(definition.gauges)
    made = EdAqm(
        abi=ABI,
        size=ctypes.sizeof(EdAqm),
        name=definition.name.encode(),
        title=definition.title.encode(),
        summary=definition.summary.encode(),
        doc=definition.doc.encode(),
        params=ctypes.cast(params, POINTER(EdParam)),
        param_count=len(definition.parameters),
        gauges=ctypes.cast(gauges, POINTER(c_char_p)),
        gauge_count=len(definition.gauges),
        state_size=state_size,
        **functions,
    )
    _kept.extend((params, gauges, made))
    return ctypes.addressof(made)


def _param(parameter: Parameter) -> EdParam:
    given = parameter.given
    initial = given.words.index(given.default) if parameter.kind == "choice" else float(given.default)
    words = _texts(given.words)
    _kept.append(words)
    return EdParam(
        name=parameter.name.encode(),
        symbol=given.symbol.encode(),
        doc=given.doc.encode(),
        source=given.source.encode(),
        words=ctypes.cast(words, POINTER(c_char_p)),
        low=given.low,
        high=given.high,
        initial=initial,
        kind=_KINDS[parameter.kind],
        unit=UNITS[given.unit],
        open=given.open,
    )


def _texts(texts: tuple[str, ...]) -> ctypes.Array[c_char_p]:
    """The texts as an array that ends with NULL."""
    return (c_char_p * (len(texts) + 1))(*(text.encode() for text in texts), None)
