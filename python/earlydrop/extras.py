"""Optional extras: the commands that install them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def command(extra: str) -> str:
    """The command that installs an extra for the Python that runs: make's in a checkout, pip's elsewhere."""
    if (_ROOT / "Makefile").is_file() and (_ROOT / "crates").is_dir():
        where = "" if Path.cwd() == _ROOT else f"-C {_ROOT} "
        return f"make {where}build EXTRAS={extra}"
    own = Path(sys.executable).parent
    found = shutil.which("pip")
    pip = "pip" if found is not None and Path(found).parent == own else f"{sys.executable} -m pip"
    # The shells of all systems understand these quotes.
    return f'{pip} install "earlydrop[{extra}]"'
