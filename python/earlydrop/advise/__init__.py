"""Recommends a queue for a home's line: simulates the line, ranks disciplines, writes configuration and pictures.

`line` reads what is known of the line, `model` makes scenarios of it, `ranking` compares what came out, `commands` and
`units` write configuration, `pictures` and `text` show it.
"""

from .line import LINKS, AdviseError, Framing, Home, home
from .model import CANDIDATES, question, scenario, settings
from .ranking import Advice, Rank, advise

__all__ = [
    "CANDIDATES",
    "LINKS",
    "Advice",
    "AdviseError",
    "Framing",
    "Home",
    "Rank",
    "advise",
    "home",
    "question",
    "scenario",
    "settings",
]
