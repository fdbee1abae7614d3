"""`earlydrop completion`: completion in a shell."""

from __future__ import annotations

from typing import Literal

from .exits import DONE


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """The script that completes earlydrop's commands and options in a shell.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from .entry import app

    print(app.generate_completion(shell=shell))
    return DONE
