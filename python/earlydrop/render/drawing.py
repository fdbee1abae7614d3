"""Figures that a notebook shows without `%matplotlib inline`."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

SHARPNESS = 2
"""Dots of the image for one of the page, for screens with many."""


class Drawing(Figure):
    """matplotlib's figure; where it is the value of a notebook's cell, it appears below."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=SHARPNESS * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return out.getvalue(), {"width": round(width), "height": round(height)}
