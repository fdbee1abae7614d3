"""`earlydrop completion`: completion in a shell, of commands and options and of their values.

The scripts are made by `tools/completions.py`: shells may ask for one whenever they start, and making it loads every
command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from .exits import DONE

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def completion(shell: Shell, /) -> int:
    """The script that completes earlydrop's commands, options and values in a shell.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    print(script(shell))
    return DONE


def script(shell: Shell) -> str:
    """The script of a shell, which `earlydrop completion` prints."""
    return place(shell).read_text(encoding="utf-8").removesuffix("\n")


def place(shell: Shell) -> Path:
    """The file with a shell's script."""
    return Path(__file__).with_name("completions") / f"earlydrop.{shell}"
