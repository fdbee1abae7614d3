from pathlib import Path
from .outcome import Outcome
def write_report(folder: Path, outcome: Outcome) -> None:
    pass
