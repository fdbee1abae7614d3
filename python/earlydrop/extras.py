"""Optional extras: the commands that install them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

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


def to_pandas(frame: Any) -> Any:
    """A polars table as one of pandas.

    Raises:
        ImportError: pandas or pyarrow is missing; the message says what installs them.
    """
    try:
        return frame.to_pandas()
    except ImportError as error:
        raise ImportError("a table for pandas needs pandas and pyarrow: pip install pandas pyarrow") from error
