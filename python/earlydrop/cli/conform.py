"""`earlydrop conform`: the cases that a congestion control has to pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .. import terminal
from ..errors import FAILED
from .checks import check_name, check_out, check_workers
from .exits import DONE
from .failures import InputError, goes_on_from
from .options import Json, Store, Workers
from .printing import print_json, version

if TYPE_CHECKING:
    from ..conform import Case, Measured

BESIDE = ("cubic", "reno", "bbr3")


def conform(
    what: Annotated[
        str | None,
        Parameter(name="TCP", help="reno, cubic, dctcp, bbr, bbr3 or prague; or FILE.json, the measures of a stack."),
    ] = None,
    /,
    *,
    stack: Annotated[str | None, Parameter(help="Stack of both: rfc, linux-6.18 or quic (default: rfc).")] = None,
    beside: Annotated[str, Parameter(help="The reference: cubic, reno or bbr3 (rfc if its stack has no such TCP).")] = (
        "cubic"
    ),
    case: Annotated[
        list[int],
        Parameter(name="--case", negative="", consume_multiple=True, help="Only these cases."),
    ] = [],  # noqa: B006 - read only
    list_: Annotated[bool, Parameter(name="--list", negative="", help="List the cases.")] = False,
    explain: Annotated[int | None, Parameter(help="Say what a case is, and what is measured or expected.")] = None,
    against: Annotated[
        Path | None,
        Parameter(help="Measures of an older version: exit code 1, naming each, if measures have left their band."),
    ] = None,
    out: Annotated[
        Path | None, Parameter(name="--out", help="Folder for page and measures.json (default: out/conform).")
    ] = None,
    store: Store = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Try a congestion control in the cases of RFC 9743 and of the BBR draft, beside one of ours."""
    from .. import conform as conforming
    from .. import output, sweeps
    from ..conform import page, running, text
    from ..conform.model import STACKS, TCPS

    if list_ or explain is not None:
        if json:
            found = text.listed_document()
            print_json(found if explain is None else next(o for o in found if o["case"] == _known(explain).number))
        else:
            print(text.listed() if explain is None else text.explained(explain))
        return DONE
    if what is None:
        raise InputError(f"TCP: is missing; allowed {', '.join(TCPS)}, or FILE.json", allowed=", ".join(TCPS))
    check_workers(workers)
    place = out or Path("out/conform")
    check_out(place, "conform")
    kin = check_name("stack", stack, STACKS) if stack is not None else None
    other = check_name("reference", beside, BESIDE)
    chosen = [_known(number) for number in dict.fromkeys(case)] or [one for one in conforming.cases() if not one.corner]
    base = conforming.read(against) if against is not None else None
    given = conforming.read(Path(what)) if what.endswith(".json") else None
    tcp = _control(what) if given is None else ""
    kept = store or str(place.absolute().parent / "store")
    opened = sweeps.open_store(kept)
    with goes_on_from(kept), terminal.Progress() as progress:
        if given is None:
            subject = conforming.measure(
                chosen,
                conforming.Subject(tcp, kin or "rfc"),
                store=opened,
                workers=workers,
                tell=progress,
            )
        else:
            subject = _only(given, chosen)
        measured = [one for one in chosen if one.number in subject.measures]
        reference = None
        if measured:
            reference = conforming.measure(
                measured,
                running.reference(other, kin or subject.stack or "rfc"),
                store=opened,
                first_seed=running.REFERENCE_SEED,
                workers=workers,
                tell=progress,
            )
    judged = conforming.judge(subject, reference) if reference else []
    gone = conforming.left(subject, _only(base, chosen)) if base is not None else []
    document = text.document(subject, reference, judged)
    with output.folder(place, {"kind": "conform", "version": version()}) as folder:
        output.write_json(folder / "measures.json", subject.document())
        output.write_json(folder / "conform.json", document)
        page.write(folder, subject, reference, judged, version())
    if json:
        print_json({**document, **({"left": gone} if base is not None else {}), "report": str(place / "report.html")})
    else:
        print(text.printed(subject, reference, judged))
        for one in gone:
            print(f"left its band: {one}")
        print(f"\nreport: {place / 'report.html'}")
    return FAILED if gone else DONE


def _control(name: str) -> str:
    from ..conform.model import TCPS
    from ..strict_toml import meant, nearest

    found = meant(name, TCPS)
    if found is None:
        near, known = nearest(name.lower(), TCPS), ", ".join(TCPS)
        hint = f" ({near})" if near else ""
        raise InputError(f'TCP: given "{name}"{hint}; allowed {known}, or FILE.json', given=name, allowed=known)
    return found


def _known(number: int) -> Case:
    from .. import conform as conforming

    return conforming.case(number)


def _only(measured: Measured, chosen: list[Case]) -> Measured:
    """The measures of these cases."""
    from dataclasses import replace

    numbers = {one.number for one in chosen}
    return replace(
        measured,
        measures={n: of for n, of in measured.measures.items() if n in numbers},
        expected={n: of for n, of in measured.expected.items() if n in numbers},
        why={n: of for n, of in measured.why.items() if n in numbers},
    )
