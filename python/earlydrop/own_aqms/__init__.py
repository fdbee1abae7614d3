"""Queue disciplines of one's own: a Python class, or a shared library behind the C ABI."""

from __future__ import annotations
