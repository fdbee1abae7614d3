"""Figures that a notebook shows without `%matplotlib inline`."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

SHARPNESS = 2
"""Dots of the image for one dot of the page, for screens with many."""


class Drawing(Figure):
    """matplotlib's figure, which appears below a notebook's cell whose value it is."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=SHARPNESS * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return out.getvalue(), {"width": round(width), "height": round(height)}
