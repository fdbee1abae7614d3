"""`earlydrop pack`: a result in one file; and what `earlydrop run` does with such a file."""

from __future__ import annotations

import contextlib
import io
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from .checks import check_out
from .exits import DONE, FAILED
from .failures import InputError
from .options import Json
from .printing import print_json, warn

if TYPE_CHECKING:
    from ..pack import Pack

SHOWN = 5
"""The most files that are named of those that differ."""


def pack(
    folder: Annotated[
        Path, Parameter(name="DIR", help="A folder that `run --out`, `compare --out`, `sweep` or `reproduce` wrote.")
    ],
    file: Annotated[Path, Parameter(name="FILE", help="The pack to write: NAME.zip.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Write a result into one file: scenarios, own disciplines, versions, tables, and a checksum of each file.

    `earlydrop run FILE.zip` makes the result again and compares.
    """
    from .. import pack as packs

    made = packs.write(folder, file)
    size = file.stat().st_size
    if json:
        print_json({"file": str(file), "bytes": size, "files": len(made["files"]), "code": made["code"]})
        return DONE
    print(f"wrote {file}: {len(made['files'])} files, {size / 1e3:,.0f} kB{_with_code(made['code'])}")
    print(f"earlydrop run {shlex.quote(str(file))}{' --trust' if made['code'] else ''} makes the result again")
    return DONE


def _with_code(code: list[str]) -> str:
    return f", with code: {', '.join(code)}" if code else ""


def again(file: Path, out: Path | None, trust: bool, as_json: bool) -> int:
    """Check a pack, make its result again, into `out` if that is given, and compare."""
    from .. import inputs
    from .. import pack as packs
    from ..own_aqms import registry

    with tempfile.TemporaryDirectory(prefix="earlydrop-") as place:
        there = packs.unpacked(file, _inside(place, "pack"))
        if there.code and not trust:
            names = ", ".join(Path(name).name for name in there.code)
            raise InputError(
                f"{file}: has code, {names}, which would run with your rights; --trust lets it (the checksums of its "
                f"{len(there.about['files'])} files are right)",
                file=str(file),
            )
        check_out(out, there.about["kind"])
        new = (out or Path(place, "new")).absolute()
        _of_other_versions(file, there.about["versions"])
        words = [*there.command, f"--out={new}"]
        if there.about["kind"] in ("sweep", "study"):
            # A store would have the runs already.
            words.append(f"--store={Path(place, 'store')}")
        lets = contextlib.nullcontext() if trust else registry.refusing(str(file))
        with contextlib.chdir(there.folder / inputs.FOLDER), lets:
            _made(words)
        count, differing = packs.compared(there, new)
        text = (new / packs.KINDS[there.about["kind"]]).read_text(encoding="utf-8")
    _say(there, text, count, differing, out, as_json)
    return FAILED if differing else DONE


def _inside(place: str, name: str) -> Path:
    made = Path(place, name)
    made.mkdir()
    return made


def _of_other_versions(file: Path, made: dict[str, str]) -> None:
    from .. import inputs

    here = inputs.versions()
    other = [f"{name} {made[name]} (here {here[name]})" for name in here if made.get(name, here[name]) != here[name]]
    if other:
        warn([f"{file} was made with {', '.join(other)}: its results may differ"])


def _made(words: list[str]) -> None:
    """Run a command for its files. It fails if runs fail, whose results are then compared nevertheless."""
    from .commands import run

    with contextlib.redirect_stdout(io.StringIO()):
        run(words)


def _say(there: Pack, text: str, count: int, differing: dict[str, str], out: Path | None, as_json: bool) -> None:
    line = f"earlydrop {shlex.join(there.command)}"
    if as_json:
        found: dict[str, Any] = {"file": str(there.file), "command": there.command, "versions": there.about["versions"]}
        found |= {"code": there.code, "compared": count, "same": not differing, "different": differing}
        print_json(found | ({} if out is None else {"out": str(out)}))
        return
    print(f"{there.file}: the checksums of its {len(there.about['files'])} files are right; made by\n  {line}\n")
    print(text)
    if not differing:
        print(f"the same {count} tables and results as in {there.file}, but for cost")
    else:
        print(f"{len(differing)} of {count} tables and results differ from those in {there.file}:")
        for name, said in list(differing.items())[:SHOWN]:
            print(f"  {name} {said}")
        if len(differing) > SHOWN:
            print(f"  and {len(differing) - SHOWN} more")
    if out is not None:
        print(f"written to {out}")
