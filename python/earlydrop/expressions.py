"""Expressions in studies and sweeps, checked and evaluated over Python's syntax tree. Nothing is executed as Python.

A *formula* calculates a number from measures and axes (an axis stands for the number of the cell's level): numbers,
`+ - * / **`, parentheses, and `min`, `max`, `abs`, `log` (natural), `sum`, `mean`. It is calculated in floats and
has no value where an operand is missing, a result is not finite, or a root or logarithm is of a negative number.

A *condition* says which points of a sweep are run: names of factors, numbers, texts, lists, `+ - * /`, comparisons,
`in`, `and`, `or`, `not`.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST, DEEPEST = 400, 40
"""Most characters and levels of nesting of an expression."""

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_POWER: dict[type[ast.operator], Callable[[Any, Any], Any]] = {ast.Pow: operator.pow}
"""Operators on floats only: powers of whole numbers can be of any length."""
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
    "log": lambda values: math.log(values[0]),
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
}
FUNCTIONS = tuple(_FUNCTIONS)
_OF_ONE = frozenset({"abs", "log"})
_ALLOWED = {
    "formula": f"numbers, measures, + - * / ** ( ) and {', '.join(_FUNCTIONS)}",
    "condition": "names of factors, numbers, texts, lists, + - * /, comparisons, in, and, or, not",
}


class ExpressionError(ValueError):
    """An expression is not valid, or a condition cannot be decided for a point. The message says why."""


@dataclass(frozen=True)
class Formula:
    """A formula that has been checked."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]
    """The measures and axes in it, in order of appearance."""

    def value(self, values: Mapping[str, float | None]) -> float | None:
        """The formula's value, or None where it has none."""
        known = {name: values.get(name) for name in self.names}
        if None in known.values():
            return None
        try:
            found = _value(self.tree, {name: float(value) for name, value in known.items() if value is not None})
        except (ArithmeticError, ValueError):
            return None
        return found if isinstance(found, float) and math.isfinite(found) else None


@dataclass(frozen=True)
class Condition:
    """A condition that has been checked."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the condition holds for these levels of the factors.

        Raises:
            ExpressionError: the condition compares what cannot be compared, or divides by zero.
        """
        try:
            return bool(_value(self.tree, values))
        except (TypeError, ArithmeticError) as error:
            shown = ", ".join(f"{n} = {values[n]!r}" for n in self.names)
            raise ExpressionError(f"{self.text!r} cannot be decided for {shown}: {error}") from error


def parse_formula(text: str) -> Formula:
    """Parse and check a formula.

    Raises:
        ExpressionError: the text is not arithmetic.
    """
    tree, names = _parse(text, "formula")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = float(node.value)  # type: ignore[arg-type]
    return Formula(text, tree, names)


def parse_condition(text: str, factors: Collection[str]) -> Condition:
    """Parse and check a condition on these factors.

    Raises:
        ExpressionError: the text is not a condition, or names another factor.
    """
    tree, names = _parse(text, "condition")
    for name in names:
        if name not in factors:
            raise ExpressionError(f"{text!r}: there is no factor {name}; there are {', '.join(factors)}")
    return Condition(text, tree, names)


def _parse(text: str, kind: str) -> tuple[ast.expr, tuple[str, ...]]:
    if len(text) > LONGEST:
        raise ExpressionError(f"is {len(text)} characters long; allowed are {LONGEST}")
    try:
        with warnings.catch_warnings():
            # Python's warnings about odd literals, such as `1or 2`, name no file.
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
        return tree, tuple(dict.fromkeys(_names(tree, kind, 0)))
    except ExpressionError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is no {kind}; allowed are {_ALLOWED[kind]}") from None


def _names(node: ast.expr, kind: str, depth: int) -> Iterator[str]:
    """The names in an expression; refuses syntax that its kind does not allow."""
    if depth > DEEPEST:
        raise ExpressionError(f"is nested more than {DEEPEST} deep")
    inner: list[ast.expr] = []
    match node, kind:
        case ast.Constant(value=value), "formula":
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
                raise ExpressionError(f"{ast.unparse(node)[:40]} is no number that a formula can hold")
        case ast.Constant(value=bool() | int() | float() | str()), "condition":
            pass
        case ast.Name(id=name), _:
            yield name
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand), _:
            inner = [operand]
        case ast.BinOp(left=left, op=op, right=right), _ if type(op) in _ARITHMETIC:
            inner = [left, right]
        case ast.BinOp(left=left, op=ast.Pow(), right=right), "formula":
            inner = [left, right]
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as inner, keywords=[]), "formula" if name in _FUNCTIONS:
            if name in _OF_ONE and len(inner) != 1:
                raise ExpressionError(f"{name} takes one value")
        case ((ast.List(elts=inner) | ast.Tuple(elts=inner) | ast.BoolOp(values=inner)), "condition"):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=operand), "condition":
            inner = [operand]
        case ast.Compare(left=left, ops=ops, comparators=rest), "condition" if {*map(type, ops)} <= set(_COMPARISONS):
            inner = [left, *rest]
        case _:
            raise ExpressionError(f"{ast.unparse(node)[:40]!r} is not allowed; allowed are {_ALLOWED[kind]}")
    for part in inner:
        yield from _names(part, kind, depth + 1)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, values) for part in parts]
        case ast.BoolOp(op=op, values=parts):
            every = all if isinstance(op, ast.And) else any
            return every(_value(part, values) for part in parts)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, values)
            return not inner if isinstance(op, ast.Not) else -inner if isinstance(op, ast.USub) else +inner
        case ast.BinOp(left=left, op=op, right=right):
            found = (_ARITHMETIC | _POWER)[type(op)](_value(left, values), _value(right, values))
            if isinstance(found, complex):
                raise ValueError("a root of a negative number")
            return found
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name]([_value(a, values) for a in arguments])
        case ast.Compare(left=left, ops=ops, comparators=rest):
            here = _value(left, values)
            for comparison, other in zip(ops, rest, strict=True):
                there = _value(other, values)
                if not _COMPARISONS[type(comparison)](here, there):
                    return False
                here = there
            return True
    raise AssertionError(node)
