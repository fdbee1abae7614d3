"""Locks on open files, between processes. A lock ends when its file is closed, or its process ends in whatever way."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time

if sys.platform == "win32":
    import msvcrt

    # Windows keeps others from reading what is locked: a byte beyond any content is.
    _AT = 1 << 30

    def acquired(file: int) -> bool:
        """Lock the file if no other process has it locked; whether it is locked now."""
        os.lseek(file, _AT, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        return True

    def lock(file: int) -> None:
        """Lock the file; wait until no other process has it locked."""
        while not acquired(file):
            time.sleep(0.01)

    def held(file: int) -> bool:
        """Whether another process has the file locked."""
        if not acquired(file):
            return True
        os.lseek(file, _AT, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
        return False

else:
    import fcntl

    def acquired(file: int) -> bool:
        """Lock the file if no other process has it locked; whether it is locked now."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True

    def lock(file: int) -> None:
        """Lock the file; wait until no other process has it locked."""
        fcntl.flock(file, fcntl.LOCK_EX)

    def held(file: int) -> bool:
        """Whether another process has the file locked."""
        if not acquired(file):
            return True
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
