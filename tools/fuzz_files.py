"""Files damaged at random: what reads them answers with its own error, or reads them, and touches nothing else.

    python tools/fuzz_files.py [--seconds 60 | --runs N] [--seed 1] [--keep FOLDER] [TARGET ...]

Targets: sweeps, spaces (of scenarios), studies, stores, results (folders of runs, comparisons and sweeps), flents
(Flent's files), traces (Mahimahi's, and tables of distributions), tables (CSV), vectors, packs, measures (of
`conform`); all by default, and the time divided among them.
Failures are: another exception than the package's own; an internal error (exit code 3); two seconds of CPU time more
than the undamaged input takes; no answer for 30 s; a peak memory of more than 512 MiB above what importing takes; a
file beside the folder that was changed, or whose text was printed or written. What caused them is kept in FOLDER
(out/fuzz). The inputs depend on the seed alone. Exit code 1: something failed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from earlydrop import _core, breaking, cli, conform, flent, pack
from earlydrop import vectors as recorded_vectors
from earlydrop.analysis import paired
from earlydrop.errors import EarlydropError
from earlydrop.links import crosscheck_flent
from earlydrop.render import plotting
from earlydrop.store import open_store
from earlydrop.study.parser import parse_folder
from earlydrop.sweeps import plan
from earlydrop.sweeps.parser import parse_file
from earlydrop.terminal import Progress

ROOT = Path(__file__).resolve().parents[1]
HANG_S = 2.0
NO_ANSWER_S = 30
SECRET = "a text that nobody may see"
"""The text of a file beside each damaged folder."""
MEMORY_KIB = 512 << 10
SWEEP = """name = "loads"
seeds = 2
control = { aqm = "red" }
measures = ["goodput", "queue_delay_p99", "jain"]
where = ["not (aqm == 'codel' and flows > 40)"]
[scenario]
duration = "3 s"
[scenario.topology]
kind = "dumbbell"
pairs = 2
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }
[scenario.queue.bottleneck]
aqm = "red"
limit = "100 packets"
[[scenario.traffic]]
kind = "ftp"
start = { uniform = ["0 s", "1 s"] }
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "tred", "codel"]
[[factor]]
name = "flows"
path = "topology.pairs"
values = [1, 2, 40]
"""
SMALL = SWEEP.replace('duration = "3 s"', 'duration = "1 s"').replace(', "codel"]', "]").replace("1, 2, 40", "1, 2")
"""A sweep for what is written and shown."""
PIECES = [
    *("0", "-1", "1e308", "nan", '""', "[]", "{}", "true", "=", "#", "\n", '"""', "'", "\0", "\u2028"),
    *("[[factor]]", "[design]", 'kind = "lhs"', "points = 1000000000", "[stop]", "precision = 0.0", "seeds = [1, 1]"),
    *('where = ["1/0 > 2"]', 'where = ["a" ]', '["red", "red"]', "9223372036854775808", '"goodput"'),
    *('name = "../../evil"', 'formula = "9**9**9"'),
]
"""Texts that replace a piece of a file."""


def damaged(text: str, draw: random.Random) -> str:
    """A text with some pieces replaced, doubled or left out."""
    for _ in range(draw.randrange(1, 6)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 0, 1, 4, 20, 100]))
        any_letter = chr(draw.randrange(1, 0xD000))
        piece = draw.choice([draw.choice(PIECES), draw.choice(PIECES), text[start:end] * 2, "", any_letter])
        text = text[:start] + piece + text[end:]
    return text


def sweeps(folder: Path, draw: random.Random) -> None:
    """A damaged sweep file is refused, or planned."""
    path = folder / "sweep.toml"
    path.write_text(damaged(SWEEP, draw), encoding="utf-8")
    plan(parse_file(path))


def spaces(folder: Path, draw: random.Random) -> None:
    """A damaged space of scenarios is refused; or its points are scenarios, or refused as such."""
    path = folder / "space.toml"
    shipped = sorted((ROOT / "python/earlydrop/breaking/spaces").glob("*.toml"))
    path.write_text(damaged(draw.choice(shipped).read_text(encoding="utf-8"), draw), encoding="utf-8")
    space = breaking.read(path)
    for point in ([0.0] * len(space.draws), [draw.random() for _ in space.draws]):
        try:
            _core.Scenario.parse({**space.document(point), "seed": 1}, [])
        except _core.ScenarioError as error:
            raise EarlydropError(str(error)) from error


def studies(folder: Path, draw: random.Random) -> None:
    """A damaged study folder is refused, or parsed."""
    # Most of the time a small study: the papers' take twenty times as long.
    papers = sorted((ROOT / "studies").glob("*/study.toml"))
    source = draw.choice(papers).parent if draw.random() < 1 / 16 else ROOT / "python/tests/studies/small"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    texts = sorted(path for path in folder.iterdir() if path.suffix in (".toml", ".csv"))
    path = draw.choice(texts)
    path.write_text(damaged(path.read_text(encoding="utf-8"), draw), encoding="utf-8")
    parse_folder(folder)


# ---- any file ------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [
    *(None, True, -1, 0, 7, 1e308, -1e308, 10**30, 10**400, float("nan"), float("inf"), [], {}, [[]], {"a": {}}),
    *("", "x", "nan", "\x1b]0;title\x07", "=1+1", "../../outside/file", "/dev/zero", "\ud800", "\u202e", "\0", "\n"),
]
"""Values that replace one of JSON; `DEEP` and a text of a million letters are others."""
DEEP = "a place for a deep value"


def changed(text: str, draw: random.Random) -> str:
    """A JSON text with some values replaced, doubled, moved or left out."""
    document = json.loads(text)
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        places = list(_places(document))
        if not places:
            break
        holder, key = draw.choice(places)
        kind = draw.random()
        if kind < 0.1:
            del holder[key]
        elif kind < 0.2 and isinstance(holder[key], list):
            holder[key] = holder[key][: draw.randrange(3)] if draw.random() < 0.5 else holder[key] * 2
        elif kind < 0.3:
            other, name = draw.choice(places)
            holder[key] = json.loads(json.dumps(other[name])) if name in _keys(other) else None
        elif kind < 0.35 and isinstance(holder, dict):
            holder[draw.choice(VALUES[-11:])] = holder.pop(key)
        else:
            holder[key] = draw.choice([*VALUES, DEEP, "x" * 1_000_000])
    deep = draw.choice([40, 70, 2_000, 100_000])
    return json.dumps(document).replace(f'"{DEEP}"', "[" * deep + "]" * deep)


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places in a document; the first few of each list."""
    keys = list(value) if isinstance(value, dict) else range(min(3, len(value))) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def bitten(content: bytes, draw: random.Random) -> bytes:
    """Bytes with some bits flipped, or cut."""
    made = bytearray(content)
    for _ in range(draw.randrange(1, 4)):
        if draw.random() < 0.2:
            del made[draw.randrange(len(made) + 1) :]
        elif made:
            made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


def spoil(path: Path, draw: random.Random) -> None:
    """Damage a file: its bytes, its text, its values; or put something else in its place."""
    kind = draw.random()
    if kind < 0.2:
        _other(path, draw)
    if kind < 0.2 or path.stat().st_size > 1 << 24:
        return
    content = path.read_bytes()
    zipped = content[:2] == b"\x1f\x8b"
    if kind < 0.4:
        path.write_bytes(bitten(content, draw))
        return
    if zipped and kind > 0.98:
        shutil.copy(_made() / "large.gz", path)
        return
    if zipped:
        content = gzip.decompress(content)
    with contextlib.suppress(UnicodeDecodeError):
        text = content.decode()
        try:
            text = changed(text, draw) if kind < 0.95 else damaged(text, draw)
        except ValueError:
            text = damaged(text, draw)
        content = text.encode(errors="surrogatepass")
    path.write_bytes(gzip.compress(content, 1) if zipped else content)


def _other(path: Path, draw: random.Random) -> None:
    """Put something else where a file was; sometimes where its folder was."""
    if draw.random() < 0.15 and path.parent != _here[0]:
        path = path.parent
        shutil.rmtree(path)
    else:
        path.unlink()
    outside = _here[0].parent / "outside"
    kind = draw.randrange(9)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to("/dev/zero")
    elif kind == 3:
        path.symlink_to(path.name)
    elif kind == 4:
        path.symlink_to(outside / draw.choice(["file", "file.json", "none", "."]))
    elif kind == 5:
        path.write_bytes(b"")
    elif kind == 6:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    elif kind == 7:
        path.symlink_to(outside)
    # Otherwise the file is missing.


def any_file(folder: Path, draw: random.Random) -> Path:
    """A random file of the folder."""
    return draw.choice(sorted(path for path in folder.rglob("*") if path.is_file()))


_here: list[Path] = [Path()]
"""The damaged folder."""


def command(*words: str) -> None:
    """Run a command, in the damaged folder's parent; an internal error is a failure."""
    said, place = io.StringIO(), Path.cwd()
    os.chdir(_here[0].parent)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = cli.main(list(words))
    finally:
        os.chdir(place)
    text = said.getvalue()
    if code == 3:
        raise AssertionError(text)
    if SECRET in text:
        raise AssertionError("printed what is in a file outside")
    if controls := [c for c in text if c != "\n" and c != "\t" and not c.isprintable() and ord(c) < 160]:
        raise AssertionError(f"printed the control characters {controls[:5]}")


# ---- what is damaged -----------------------------------------------------------------------------------------------


def stores(folder: Path, draw: random.Random) -> None:
    """A store with damaged files is read, or said to be damaged."""
    shutil.copytree(_made() / "store", folder, dirs_exist_ok=True)
    (folder / "damaged").mkdir(exist_ok=True)
    shutil.copy(any_file(folder, draw), folder / "damaged")
    for _ in range(draw.choice([1, 1, 2])):
        spoil(any_file(folder, draw), draw)
    kind = draw.randrange(6)
    if kind == 0:
        store = open_store(str(folder))
        with contextlib.suppress(EarlydropError):
            store.verify()
        store.table()
    elif kind == 5:
        command("sweep", str(_made() / "sweep.toml"), "--store", str(folder), "--out", "out", "--workers", "1")
    else:
        place = ("--out", "out.csv") if kind == 4 else ()
        words = [("ls",), ("verify",), ("gc",), ("export",)][kind - 1]
        command("store", *words, str(folder), *(["out.csv"] if place else []))


def results(folder: Path, draw: random.Random) -> None:
    """A result folder with damaged files is shown, or refused."""
    # Laying out and saving takes nine tenths of the time: most figures are made, but not saved.
    saved = plotting.files if draw.random() < 1 / 8 else lambda drawing, note, formats: [b"<svg/>"] * len(formats)
    with mock.patch.object(plotting, "files", saved):
        _shown(folder, draw)


def _shown(folder: Path, draw: random.Random) -> None:
    kind = draw.choice(["run", "comparison", "sweep", "sweep"])
    shutil.copytree(_made() / kind, folder, dirs_exist_ok=True)
    read = {
        "run": ["result.json", "scenario.json", "manifest.json"],
        "comparison": ["comparison.json", "scenario.json", "manifest.json", *(f"runs/{n}" for n in _runs())],
        "sweep": ["sweep.json", "runs.parquet", "manifest.json", "report.html"],
    }[kind]
    for _ in range(draw.choice([1, 1, 2])):
        file = folder / draw.choice(read)
        if file.is_file():
            spoil(file, draw)
    todo = draw.randrange(6)
    if kind == "sweep" and todo < 3:
        whole = str(_made() / "sweep")
        command("diff", *((whole, str(folder)) if todo else (str(folder), whole)), *(["--json"] * (todo == 2)))
    elif kind == "sweep" and todo == 3:
        command("report", str(folder), "--plot", "goodput vs flows by aqm", "--figures", "svg")
    else:
        command("report", str(folder))


@functools.cache
def _runs() -> list[str]:
    return sorted(path.name for path in (_made() / "comparison" / "runs").iterdir())


LINK = crosscheck_flent.Link("20 Mbit/s", "pie", None, None, None)


def flents(folder: Path, draw: random.Random) -> None:
    """A damaged file of Flent's is refused, or made into a scenario."""
    path = folder / "run.flent.gz"
    shutil.copy(_made() / draw.choice(["ours.flent.gz", "theirs.flent.gz"]), path)
    spoil(path, draw)
    content = flent.read(path)
    recorded = crosscheck_flent._recorded(content, path)
    document, _ = crosscheck_flent._scenario(content, recorded, LINK)
    with contextlib.suppress(_core.ScenarioError):
        _core.Scenario.parse(document, [])
    down, up = (crosscheck_flent._series(content["results"], way) for way in (flent.DOWN, flent.UP))
    crosscheck_flent._figures(content, down, up, recorded.window)


def traces(folder: Path, draw: random.Random) -> None:
    """A damaged file of a link's opportunities, or of a distribution, is refused, or read."""
    path, kind = folder / "file", draw.random() < 0.5
    path.write_text("".join(f"{k * 3}\n" for k in range(1, 60)) if kind else "1000 0.5 # half\n90000 1\n")
    spoil(path, draw)
    rate = '{ trace = "file" }' if kind else '"5 Mbit/s"'
    text = SCENARIO.replace('"5 Mbit/s"', rate)
    (folder / "scenario.toml").write_text(text if kind else text + WEB.format(path), encoding="utf-8")
    with contextlib.suppress(_core.ScenarioError, OSError):
        paired.from_file(folder / "scenario.toml")
    with contextlib.suppress(_core.ScenarioError):
        _core.Scenario.load(str(folder / "scenario.toml"), [])


def fits(folder: Path, draw: random.Random) -> None:
    """A damaged trace of another program is refused, or read; what is read is fitted where that is short."""
    path, kind = folder / "trace", draw.randrange(4)
    count = 8
    trips = [{"lost": "false" if k % 5 else "true", "delay": {"rtt": 10**7 + k} if k % 5 else {}} for k in range(count)]
    sums = [{"sum": {"start": k, "seconds": 1, "bytes": 10**6, "sender": True}} for k in range(count)]
    texts = (
        "".join(f"{k * 3}\n" for k in range(1, 60)),
        json.dumps({"config": {"interval": 2 * 10**7}, "round_trips": trips}),
        json.dumps({"start": {"test_start": {"protocol": "UDP", "reverse": 1}}, "intervals": sums}),
        "".join(f"64 bytes from 192.0.2.1: icmp_seq={k} ttl=55 time={20 + k}.5 ms\n" for k in range(1, 20))
        + "19 packets transmitted, 19 received, 0% packet loss, time 18027ms\n",
    )
    path.write_bytes(gzip.compress(texts[kind].encode()) if draw.random() < 0.1 else texts[kind].encode())
    spoil(path, draw)
    command("link-model", "fit", str(path), *(["--json"] if draw.random() < 0.5 else []))


def tables(folder: Path, draw: random.Random) -> None:
    """A damaged table is refused, or read."""
    shutil.copytree(ROOT / "python/tests/studies/small", folder, dirs_exist_ok=True)
    path = draw.choice(sorted(folder.glob("*.csv")))
    spoil(path, draw)
    parse_folder(folder)


def vectors(folder: Path, draw: random.Random) -> None:
    """Damaged decision vectors differ from the recorded ones, or are refused."""
    path = folder / "droptail.jsonl.gz"
    shutil.copy(_made() / path.name, path)
    spoil(path, draw)
    recorded_vectors.check(folder, ["droptail"], Progress(quiet=True))


def measures(folder: Path, draw: random.Random) -> None:
    """Damaged measures of a stack are refused, or judged beside others."""
    values: dict[str, list[float | None]] = {
        "goodput": [19.0 + draw.random() for _ in range(20)],
        "delay": [30.0] * 20,
        "drop_rate": [None] * 20,
    }
    found = conform.Measured("mine", "1", measures={103: values}, expected={1: [("a", [True])]}, why={109: "b"})
    path = folder / "measures.json"
    path.write_text(json.dumps(found.document()), encoding="utf-8")
    spoil(path, draw)
    read = conform.read(path)
    conform.judge(read, found)
    conform.left(read, found)


def packs(folder: Path, draw: random.Random) -> None:
    """A damaged pack is refused, or made again; one with another list or other files and right checksums, too."""
    with zipfile.ZipFile(_made() / "run.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name, other = draw.choice(sorted(files)), folder / "file"
    other.write_bytes(files[name])
    kind = draw.random()
    if kind < 0.5:
        # Figures take nine tenths of a run: the list, which is read first, and what is checked before them.
        spoil(other, draw)
        files[name] = b""
        if other.is_file() and not other.is_symlink():
            with other.open("rb") as stream:
                files[name] = stream.read(1 << 24)
        if draw.random() < 0.2:
            files[draw.choice(["../outside/file", "/dev/null", "inputs\\..\\file", "INPUTS/scenario.toml"])] = b"x"
        if name != pack.ABOUT:
            about = json.loads(files[pack.ABOUT])
            about["files"] = {
                n: {"sha256": hashlib.sha256(c).hexdigest(), "bytes": len(c)}
                for n, c in files.items()
                if n != pack.ABOUT
            }
            files[pack.ABOUT] = json.dumps(about).encode()
    path = folder / "run.zip"
    with path.open("wb") as stream:
        pack._zipped(stream, files)
    if kind >= 0.5:
        spoil(path, draw)
    saved = plotting.files if draw.random() < 1 / 8 else lambda drawing, note, formats: [b"<svg/>"] * len(formats)
    with mock.patch.object(plotting, "files", saved):
        command("run", str(path), *(["--json"] if draw.random() < 0.5 else []))


_LINES = SWEEP[SWEEP.index("duration") : SWEEP.index("[[factor]]")]
SCENARIO = 'name = "one"\n' + _LINES.replace("[scenario.", "[")
WEB = """[[traffic]]
kind = "web"
size = {{ cdf_file = "{}" }}
"""


@functools.cache
def _made() -> Path:
    """A folder with one undamaged input of each kind, made once."""
    kept = tempfile.TemporaryDirectory()
    _kept.append(kept)
    place = Path(kept.name)
    (place / "sweep.toml").write_text(SMALL, encoding="utf-8")
    (place / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    scenario = str(place / "scenario.toml")
    record = [f"--set=record.{key}={value}" for key, value in (("series", "'100 ms'"), ("rates", "'500 ms'"))]
    for words in (
        ["sweep", str(place / "sweep.toml"), "--store", str(place / "store"), "--out", str(place / "sweep")],
        ["run", scenario, *record, "--out", str(place / "run")],
        ["report", str(place / "run")],
        ["pack", str(place / "run"), str(place / "run.zip")],
        ["compare", scenario, "--aqm", "red", "codel", "--seeds", "2", "--out", str(place / "comparison")],
        ["run", scenario, "--format", "flent", "--out", str(place / "ours.flent.gz")],
        ["vectors", "droptail", "--out", str(place)],
    ):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = cli.main(words)
        if code:
            raise SystemExit(f"{' '.join(words)} ended with {code}: {said.getvalue()}")
    at = [k / 5 for k in range(60)]
    about = {"NAME": "tcp_download", "TITLE": "", "LENGTH": 6, "TOTAL_LENGTH": 12, "T0": "2026-03-01T10:00:00.5Z"}
    meta = {"TCP download": {"CONG_CONTROL": "cubic", "TCP_MSS": 1448}}
    theirs = {
        "version": 4,
        "metadata": about | {"SERIES_META": meta, "REMOTE_METADATA": {"h": {"SYSCTLS": {"x": "y"}}}, "SYSCTLS": {}},
        "x_values": at,
        "results": {"TCP download": [None, *at[1:]], "Ping (ms) ICMP": at, "qdisc": ["a"]},
        "raw_values": {"Ping (ms) ICMP": [{"t": 1_772_359_200.5 + t, "val": 20 + t} for t in at], "qdisc": [{}]},
    }
    with gzip.open(place / "large.gz", "wb", 1) as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    (place / "theirs.flent.gz").write_bytes(gzip.compress(json.dumps(theirs).encode()))
    return place


_kept: list[tempfile.TemporaryDirectory[str]] = []
TARGETS: dict[str, Callable[[Path, random.Random], None]] = {
    one.__name__: one
    for one in (sweeps, spaces, studies, stores, results, flents, traces, fits, tables, vectors, packs, measures)
}


class Hung(BaseException):
    """A target gave no answer."""


def _hung(*_: object) -> None:
    raise Hung


def _outside(place: Path) -> Path:
    """A folder beside the damaged one, to which links lead."""
    place.mkdir()
    (place / "file").write_text(SECRET, encoding="utf-8")
    (place / "file.json").write_text(json.dumps({"scenario": SECRET, "kind": SECRET}), encoding="utf-8")
    return place


def _touched(place: Path) -> str:
    """The fault if the folder outside was changed, or its text is elsewhere; empty if there is none."""
    left = {path.name: path.read_text(encoding="utf-8") for path in place.iterdir()}
    if sorted(left) != ["file", "file.json"] or left["file"] != SECRET or SECRET not in left["file.json"]:
        return "changed what is outside"
    for path in place.parent.rglob("*"):
        new = not path.is_symlink() and path.is_file() and path.stat().st_size < 1 << 24 and path.parent != place
        if new and SECRET.encode() in path.read_bytes():
            return f"wrote what is in a file outside to {path.name}"
    return ""


def one(target: str, seed: int, keep: Path) -> bool:
    """Try one input; whether it failed."""
    draw = random.Random(f"{target} {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder, outside = Path(name) / "folder", _outside(Path(name) / "outside")
        folder.mkdir()
        _here[0] = folder
        begun = time.process_time()
        fault = ""
        signal.alarm(NO_ANSWER_S)
        try:
            TARGETS[target](folder, draw)
        except EarlydropError as error:
            fault = "" if str(error).strip() else "a refusal without a word"
        except BaseException as error:
            # A panic of an extension module is no Exception.
            if isinstance(error, KeyboardInterrupt):
                raise
            fault = traceback.format_exc()
        finally:
            signal.alarm(0)
        limit = HANG_S + NORMAL_S.get(target, 0.0)
        if (took := time.process_time() - begun) > limit:
            fault = fault or f"took {took:.1f} s of CPU time"
        fault = fault or _touched(outside)
        if fault:
            place = keep / f"{target}-{seed}"
            place.mkdir(parents=True, exist_ok=True)
            print(f"{target} {seed}: kept in {place}\n{fault}", file=sys.stderr, flush=True)
            (place / "fault.txt").write_text(fault, encoding="utf-8", errors="replace")
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24:
                    to = place / path.relative_to(folder)
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, to)
        return bool(fault)


NORMAL_S = {"results": 4.0, "stores": 2.0}
"""Time that the slowest of a target's commands takes with an undamaged input, s: a report of a sweep, a sweep."""


def main() -> int:
    """Runs the targets; 1 if an input failed."""
    parser = argparse.ArgumentParser(description="Files damaged at random.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together (60)")
    parser.add_argument("--runs", type=int, help="inputs of each target, instead of a time")
    parser.add_argument("--seed", type=int, default=1, help="the first input's (1)")
    parser.add_argument(
        "--keep", type=Path, default=Path("out/fuzz"), help="where inputs that fail are kept (out/fuzz)"
    )
    given = parser.parse_args()
    if unknown := [target for target in given.targets if target not in TARGETS]:
        parser.error(f"no target {unknown[0]}: use {', '.join(TARGETS)}")
    targets = given.targets or list(TARGETS)
    at_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failed = 0
    _made()
    signal.signal(signal.SIGALRM, _hung)
    for target in targets:
        begun, done, bad = time.monotonic(), 0, 0
        while done < given.runs if given.runs else time.monotonic() - begun < given.seconds / len(targets):
            bad += one(target, given.seed + done, given.keep)
            done += 1
        print(f"{target}: {done} runs in {time.monotonic() - begun:.0f} s, {bad} failed", flush=True)
        failed += bad
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - at_start
    if sys.platform == "linux" and grown > MEMORY_KIB:
        print(f"memory grew by {grown >> 10} MiB", file=sys.stderr)
        failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
