"""What differs between machines or compilers in the last bit, and what to write instead."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from .declare import Definition

INSTEAD = {"exp": "ed.exp(x)", "log": "ed.log(x)", "log1p": "ed.log1p(x)", "pow": "ed.pow(x, y)"}
EXACT = {"sqrt", "floor", "ceil", "fabs", "trunc", "isnan", "isinf", "isfinite", "copysign", "inf", "nan", "pi", "e"}
"""Functions of the module math that round in one way only, and its names that are no functions."""


def inexact(definition: Definition) -> Iterator[str]:
    """A sentence for each use of mathematics whose last bit is not the same everywhere."""
    for name, method in definition.methods.items():
        if name == "curve" and not any("curve" in other.__code__.co_names for other in definition.methods.values()):
            continue  # A curve that no method calls decides nothing.
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        except (OSError, SyntaxError):
            continue
        first = method.__code__.co_firstlineno
        for node in ast.walk(tree):
            used = _used(node, method)
            if used is not None:
                line = first + getattr(node, "lineno", 1) - 1
                yield f"{definition.title}.{name}, line {line}: {used}"


def _used(node: ast.AST, method: Callable[..., Any]) -> str | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
        return "** has other last bits elsewhere; write ed.pow(x, y), or x * x"
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Name):
        value = method.__globals__.get(function.id)
        if function.id == "pow" and value is None:
            return "pow() has other last bits elsewhere; write ed.pow(x, y)"
        if getattr(value, "__module__", None) == "math" and function.id not in EXACT:
            return _instead(f"math.{getattr(value, '__name__', function.id)}")
        return None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = method.__globals__.get(function.value.id)
        if isinstance(module, types.ModuleType) and module.__name__ in {"math", "numpy"} and function.attr not in EXACT:
            return _instead(f"{module.__name__}.{function.attr}")
    return None


def _instead(function: str) -> str:
    name = function.rpartition(".")[2]
    return f"{function} has other last bits elsewhere; " + (
        f"write {INSTEAD[name]}" if name in INSTEAD else f"there are {', '.join(INSTEAD.values())}"
    )
