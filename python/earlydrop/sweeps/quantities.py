"""Levels with units, such as "4 ms", as numbers on an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import earlydrop._core as _core
from ..expressions import Condition
from .model import Factor, Level


def quantities(values: Sequence[object], unit: str = "") -> tuple[str, list[float]] | None:
    """Texts such as "500 us", "4 ms" as numbers in `unit`, or in the unit of the largest.

    None if some are other texts, or of another kind.
    """
    if unit:
        numbers = [in_unit(value, unit) for value in values]
        return None if None in numbers else (unit, [n for n in numbers if n is not None])
    found = [_core.quantity(v) if isinstance(v, str) else None for v in values]
    known = [q for q in found if q is not None]
    if len(known) < len(values) or len({base for *_, base in known}) != 1:
        return None
    _, unit, _, _ = max(known, key=lambda q: abs(q[0]) * q[2])
    return unit, [_converted(q, unit) for q in known]


def in_unit(value: object, unit: str) -> float | None:
    """A text such as "4 ms" as a number in another unit of its kind; None for anything else."""
    found, target = (_core.quantity(value) if isinstance(value, str) else None), _core.quantity(f"1 {unit}")
    return _converted(found, unit) if found and target and found[3] == target[3] else None


def _converted(quantity: tuple[float, str, float, str], unit: str) -> float:
    number, name, factor, _ = quantity
    target = _core.quantity(f"1 {unit}")
    assert target is not None
    return number if name == unit else number * factor / target[2]


def level_at(factor: Factor, value: float | str | bool) -> Level:
    """The level with this value; a text with a unit stands on the factor's axis if that has a unit of its kind."""
    number = in_unit(value, factor.unit) if factor.unit else None
    return factor.level(value) if number is None else replace(factor.level(value), value=number)


def with_units(condition: Condition, factors: Iterable[Factor]) -> Condition:
    """The condition with its texts such as "4 ms" in the units of the factors that they are compared with."""
    units = {f.name: f.unit for f in factors if f.unit}
    return replace(condition, tree=_InUnits(units).visit(condition.tree)) if units else condition


class _InUnits(ast.NodeTransformer):
    def __init__(self, units: Mapping[str, str]) -> None:
        self._units = units

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        sides = [node.left, *node.comparators]
        units = [self._units[side.id] for side in sides if isinstance(side, ast.Name) and side.id in self._units]
        if not units:
            return self.generic_visit(node)
        left, *rest = [_number(side, units[0]) for side in sides]
        return ast.Compare(left, node.ops, rest)


def _number(node: ast.expr, unit: str) -> ast.expr:
    match node:
        case ast.Constant(value=str() as text) if (number := in_unit(text, unit)) is not None:
            return ast.Constant(number)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return ast.List([_number(part, unit) for part in parts])
    return node
