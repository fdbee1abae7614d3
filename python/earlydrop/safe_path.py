"""Nothing is imported from, or set by, the current folder, where somebody else's files may lie.

Python puts that folder first on `sys.path` of every process that is started with `python -c` or `python -m`, as those
of `multiprocessing` and of Dask are; matplotlib reads a `matplotlibrc` there when it is first imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib import import_module
from threading import Lock

SWITCH = "PYTHONSAFEPATH"
"""The environment variable that keeps the current folder off a Python process's path (`python -P`)."""

_lock = Lock()
_open = 0


@contextmanager
def children() -> Iterator[None]:
    """Python processes that begin meanwhile do not have the folder in which they begin on `sys.path`."""
    global _open
    with _lock:
        given = SWITCH in os.environ
        if not given or _open:
            _open += 1
            os.environ[SWITCH] = "1"
    try:
        yield
    finally:
        with _lock:
            if _open:
                _open -= 1
                if not _open:
                    del os.environ[SWITCH]


def load_matplotlib() -> None:
    """Import matplotlib with its own settings or the user's, not those of a file in the current folder.

    Only while no other thread uses the current folder.
    """
    with chdir(os.path.dirname(os.path.abspath(__file__))):
        import_module("matplotlib")
