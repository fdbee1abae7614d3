"""Draws a figure when it is loaded: the process then has matplotlib, its fonts and its caches ready."""

from __future__ import annotations

import gc

from . import plotting

plotting.files(plotting.drop_curves([plotting.DropCurve("a", [0, 1], [0, 1])], {"min_th": 0.5}), "", ["svg"])
# Collections of garbage need not go through all that is loaded.
gc.freeze()
