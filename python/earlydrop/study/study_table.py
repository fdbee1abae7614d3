"""Tables of `study.toml`: the first error ends the parse."""

from __future__ import annotations

from ..strict_toml import Table
from .experiment import StudyError


class StudyTable(Table):
    """A table of a study's file."""

    def fault(self, message: str) -> StudyError:
        """An error that names this table."""
        return StudyError(self.path(message))

    def lacks(self, message: str, *keys: str) -> StudyError:
        """An error about a table that has none of these keys."""
        return self.fault(message + self.misspelt(*keys))

    def report(self, key: str, message: str) -> None:
        raise self.fault(f"{key}: {message}" if key else message)
