"""`earlydrop conform`: the cases that a congestion control has to pass, and what it does in them beside one of ours.

`model` reads the cases, `running` makes the runs, `verdicts` and `expectations` judge them, `measured` reads and writes
the JSON of measures, `text` and `page` show what was found.
"""

from .measured import Measured, read
from .model import Case, ConformError, Subject, case, cases
from .running import measure
from .verdicts import Judged, judge, left

__all__ = ["Case", "ConformError", "Judged", "Measured", "Subject", "case", "cases", "judge", "left", "measure", "read"]
