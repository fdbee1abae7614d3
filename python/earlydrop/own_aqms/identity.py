"""What a policy's code is: a digest that changes with anything that can change a decision."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

from .declare import Definition

_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def digest(definition: Definition) -> str:
    """Sixteen hexadecimal digits over the code of the methods, what they use of their module, parameters and state."""
    hashed = hashlib.sha256()
    parts: list[object] = [definition.name, [astuple(p) for p in definition.parameters]]
    parts += [[astuple(f) for f in definition.fields], definition.gauges]
    seen: set[int] = set()
    functions = dict(definition.methods)
    if definition.check is not None:
        functions["check"] = definition.check
    for name in sorted(functions):
        parts += [name, *_function(functions[name], seen)]
    constants = {
        k: v for base in definition.cls.__mro__[:-1] for k, v in vars(base).items() if isinstance(v, (*_PLAIN, tuple))
    }
    parts.append(sorted((k, repr(v)) for k, v in constants.items() if not k.startswith("__")))
    for part in parts:
        hashed.update(repr(part).encode() + b"\xff")
    return hashed.hexdigest()[:16]


def _function(function: Any, seen: set[int]) -> Iterator[object]:
    function = getattr(function, "py_func", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _code(function.__code__)
    yield function.__defaults__
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield from _value(name, cell.cell_contents, seen)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield from _value(name, function.__globals__[name], seen)


def _value(name: str, value: Any, seen: set[int]) -> Iterator[object]:
    yield name
    value = getattr(value, "py_func", value)
    if isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, _PLAIN):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _value(name, item, seen)
    else:
        yield getattr(value, "__qualname__", type(value).__qualname__)


def _code(code: types.CodeType) -> Iterator[object]:
    yield code.co_code
    yield code.co_names
    yield code.co_varnames
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield constant


def _names(code: types.CodeType) -> list[str]:
    """Global names that the code and the functions inside it use."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_names(constant))
    return list(names)
