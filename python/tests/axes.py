"""What a figure's axes cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLOSE_VIEWS = {"Between the thresholds"}
"""Titles of panels that show a part of what the panel beside them shows whole."""
SLACK = 1e-6
"""Of an axis: what rounding may put outside."""


def cut(drawing: Figure) -> list[str]:
    """A sentence for each line, area, bar or mark of which some is outside the axes."""
    found = []
    for number, ax in enumerate(drawing.axes, 1):
        if not ax.get_visible() or {ax.get_title(loc) for loc in ("left", "center")} & CLOSE_VIEWS:
            continue
        for what, axis, values in _drawn(ax):
            low, high = sorted(ax.get_xlim() if axis == "x" else ax.get_ylim())
            scale = ax.xaxis.get_scale() if axis == "x" else ax.yaxis.get_scale()
            known = values[np.isfinite(values)]
            if scale == "log":
                known, low, high = np.log10(known[known > 0]), np.log10(low), np.log10(high)
            room = SLACK * (high - low)
            outside = known[(known < low - room) | (known > high + room)]
            if len(outside):
                worst = outside[np.argmax(np.abs(outside - (low + high) / 2))]
                found.append(f"panel {number}, {what}: {axis} = {worst:g} is outside {low:g} to {high:g} ({scale})")
    return found


def _drawn(ax: Axes) -> Iterator[tuple[str, str, np.ndarray[Any, Any]]]:
    """What is drawn at places of the data: a name, the axis, and coordinates along it."""

    def along(what: str, transform: Any, points: np.ndarray[Any, Any]) -> Iterator[tuple[str, str, Any]]:
        # What has no value is not drawn. A line across the panel has its place on one axis alone.
        points = np.asarray(points, dtype=float)
        points = points[np.isfinite(points).all(axis=1)]
        for axis, k, of_data in zip("xy", (0, 1), transform.contains_branch_seperately(ax.transData), strict=True):
            if of_data and len(points):
                yield what, axis, np.asarray(points[:, k], dtype=float)

    for line in ax.lines:
        if line.get_visible():
            points = np.column_stack([np.asarray(line.get_xdata(False)), np.asarray(line.get_ydata(False))])
            yield from along(f"line {line.get_label()}", line.get_transform(), points)
    for patch in ax.patches:
        points = patch.get_patch_transform().transform_path(patch.get_path()).vertices
        yield from along(f"patch {patch.get_label()}", patch.get_data_transform(), points)
    for collection in ax.collections:
        offsets = np.asarray(collection.get_offsets())
        if len(offsets) and collection.get_offset_transform().contains_branch(ax.transData):
            yield from along(f"marks {collection.get_label()}", ax.transData, offsets)
            continue
        paths: Sequence[Any] = collection.get_paths()
        vertices = [path.vertices for path in paths if len(path.vertices)]
        if vertices:
            yield from along(f"area {collection.get_label()}", collection.get_transform(), np.vstack(vertices))
