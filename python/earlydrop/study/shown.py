"""What a study's runs gave, for people: a few lines as text, verdicts and tables in a notebook."""

from __future__ import annotations

from .. import notebook
from . import comparison_tables, text
from .answers import answer
from .previews import judge
from .runs import Outcome

ROWS = 24
"""Most rows of a table."""


class Reproduced(Outcome):
    """The results of a study's runs."""

    def __repr__(self) -> str:
        study = self.study
        names = ", ".join(e.id for e in study.experiments)
        claims = f"{'preview of ' * study.quick}claims: {text.tally(judge(self))}"
        return f"<Study {study.name}: {self.runs:,} runs of {names}; {claims}>"

    def _repr_html_(self) -> str:
        study, results = self.study, judge(self)
        parts = [notebook.paragraphs([f"{study.title} ({study.name}).", " ".join(answer(study, results))])]
        parts.append(notebook.table(["claim", "verdict", ""], [[r.claim.id, r.word, r.claim.text] for r in results], 3))
        for e in study.experiments:
            block = comparison_tables.automatic(self, e, most=ROWS)
            head = [
                block.corner,
                *(g.title if len(g.columns) == 1 else f"{g.title}: {c}" for g in block.groups for c in g.columns),
            ]
            about = f"{e.id}: {e.title}" + (f" ({comparison_tables.replication(block)})" if block.n else "")
            more = notebook.paragraphs([f"and {block.left_out} rows more"]) if block.left_out else ""
            parts.append(notebook.folded(about, notebook.table(head, [[a, *cells] for a, cells in block.rows]) + more))
        return "".join(parts)


def shown(outcome: Outcome) -> Reproduced:
    """The same results as an object that shows itself."""
    return Reproduced(**vars(outcome))
