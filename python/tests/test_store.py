"""A store keeps every run once, whole, and readable by others."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from earlydrop import _core, cli, store
from earlydrop.store import files
from earlydrop.sweeps import parser, work

DOCUMENT: dict[str, Any] = {
    "name": "small",
    "duration": "2 s",
    "topology": {
        "kind": "dumbbell",
        "pairs": 2,
        "access": {"rate": "100 Mbit/s", "delay": "5 ms"},
        "bottleneck": {"rate": "2 Mbit/s", "delay": "10 ms"},
    },
    "queue": {"bottleneck": {"aqm": "red", "limit": "30 packets"}},
    "traffic": [{"kind": "ftp", "count": 2}],
}


def rows(seeds: range, aqm: str = "red") -> pl.DataFrame:
    base = {**DOCUMENT, "name": parser.NEUTRAL, "seed": 1}
    done = work.make(base, [((("queue.bottleneck.aqm", f'"{aqm}"'),), tuple(seeds))])
    assert not done.failures
    return work.frame([done])


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "store")
        return
    fsspec = pytest.importorskip("fsspec")
    yield f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def test_a_run_is_there_once(place: str) -> None:
    opened = store.open_store(place)
    assert opened.add(rows(range(1, 6))) == 5
    assert opened.add(rows(range(3, 8))) == 2
    again = store.open_store(place, create=False)
    assert again.look() == again.parts()
    assert sorted(again.keys()["seed"]) == [1, 2, 3, 4, 5, 6, 7]
    assert again.verify() == []
    assert len(again.parts()) == 2
    assert all(p.rows in (5, 2) for p in again.manifest().values())


def test_a_run_in_which_packets_overtook_is_not_found_for_jitter_that_keeps_the_order(place: str) -> None:
    """Nor is its text read anew: a stored scenario says which of the two it has."""

    def made(jitter: Any) -> pl.DataFrame:
        bottleneck = {**DOCUMENT["topology"]["bottleneck"], "jitter": jitter}
        topology = {**DOCUMENT["topology"], "bottleneck": bottleneck}
        done = work.make({**DOCUMENT, "name": parser.NEUTRAL, "seed": 1, "topology": topology}, [((), (1,))])
        assert not done.failures
        return work.frame([done])

    overtaking = made({"uniform": ["0 s", "5 ms"], "keep_order": False})
    kept = made("5 ms")
    opened = store.open_store(place)
    opened.add(overtaking)
    wanted = kept.select("scenario_key", "seed")
    assert opened.read(wanted, ["jain"]).is_empty()
    assert opened.add(kept) == 1
    assert opened.add(made({"uniform": ["0 s", "5 ms"], "keep_order": True})) == 0, "the same scenario"
    for frame, keeps in ((overtaking, False), (kept, True)):
        again = _core.Scenario.parse(json.loads(frame["scenario"][0]), [])
        assert json.loads(again.to_json())["topology"]["bottleneck"]["jitter"]["keep_order"] is keeps


def test_what_is_read_is_what_was_put_in(place: str) -> None:
    opened = store.open_store(place)
    frame = rows(range(1, 4))
    opened.add(frame)
    opened.add(rows(range(1, 3), "codel"))
    wanted = frame.select("scenario_key", "seed")
    found = opened.read(wanted, ["jain", "flows.goodput_mbps", "nothing"]).sort("seed")
    assert found.columns == ["scenario_key", "seed", "jain", "flows.goodput_mbps"]
    assert found.equals(frame.select(found.columns).sort("seed"))


def test_runs_whose_scenario_is_written_in_another_form_stay_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `profile` was: the store does not read the texts of scenarios, and their keys are what they were."""
    frame = rows(range(1, 4))
    document = json.loads(frame["scenario"][0])
    entry = document["traffic"][0]
    del entry["stack"], entry["rules"], entry["ecn"]
    entry["profile"] = "ns2"
    text = json.dumps(document, separators=(",", ":"))
    with pytest.raises(_core.ScenarioError, match="profile: is said by stack"):
        _core.Scenario.parse(document, [])
    old = frame.with_columns(scenario=pl.lit(text), scenario_key=pl.lit(store.scenario_key(text)))
    there = tmp_path / "store"
    opened = store.open_store(str(there))
    opened.add(old)
    assert opened.verify() == []
    # Beside them the same runs under the key of now.
    assert opened.add(frame) == 3
    assert opened.read(old.select("scenario_key", "seed"), ["jain"]).sort("seed")["jain"].equals(old["jain"])
    assert cli.main(["store", "ls", str(there)]) == 0
    assert "6 runs of 2 scenarios" in capsys.readouterr().out
    assert cli.main(["store", "export", str(there), str(tmp_path / "all.parquet")]) == 0
    assert set(pl.read_parquet(tmp_path / "all.parquet")["scenario"]) == {text, frame["scenario"][0]}


def test_the_table_does_not_depend_on_who_made_the_runs(tmp_path: Path) -> None:
    one, two = store.open_store(tmp_path / "one"), store.open_store(tmp_path / "two")
    one.add(rows(range(1, 7)))
    two.add(rows(range(4, 7)))
    two.add(rows(range(1, 4)))
    assert store.packed(one.table()) == store.packed(two.table())
    assert not any(c.startswith("cost.") for c in one.table().columns)


def test_gc_makes_few_parts_of_many_and_loses_nothing(place: str) -> None:
    opened = store.open_store(place)
    for seed in range(1, 7):
        opened.add(rows(range(seed, seed + 1)))
    old = rows(range(1, 3)).with_columns(engine=pl.lit("0.0.1+old"))
    opened.add(old)
    before = opened.table()
    opened.files.write(f"parts/{files.PARTIAL}x", b"half")
    found = opened.gc()
    assert found == {"runs_before": 8, "runs": 8, "parts_before": 7, "parts": 1, "left_over": 1}
    assert opened.table().equals(before)
    assert opened.verify() == []
    assert opened.gc([store.engine()])["runs"] == 6
    assert opened.table()["engine"].unique().to_list() == [store.engine()]


def test_two_writers_without_locks_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://{tmp_path.name}"
    one, two = store.open_store(url), store.open_store(url)
    assert one.claims is None
    inner = files.Remote.write

    def between(remote: files.Remote, name: str, content: bytes, *, lasting: bool = True) -> None:
        # The other one looks, and writes, when this one has looked and has not written yet.
        if name.startswith("parts/"):
            monkeypatch.setattr(files.Remote, "write", inner)
            assert two.add(rows(range(3, 8)).with_columns(pl.lit(9.0).alias(store.COST))) == 5
            assert two.add(rows(range(8, 9))) == 1
        inner(remote, name, content, lasting=lasting)

    monkeypatch.setattr(files.Remote, "write", between)
    frame = rows(range(1, 6))
    assert one.add(frame) == 5
    again = store.open_store(url)
    assert len(again.parts()) == 3
    assert all(store.digest(again.files.read(f"parts/{name}.parquet")) == name for name in again.parts())
    wanted = rows(range(1, 9)).select("scenario_key", "seed")
    assert sorted(again.read(wanted, ["jain"])["seed"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    (problem,) = again.verify()
    assert problem.harmless
    assert "3 runs are there more than once" in problem.what
    assert again.gc()["runs"] == 8
    assert again.verify() == []
    # The same part of both: one file.
    assert one.look()
    assert one.put(frame) == two.put(frame)
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def test_a_file_url_is_a_folder_with_locks(tmp_path: Path) -> None:
    opened = store.open_store(f"file://{tmp_path}/s")
    assert isinstance(opened.files, store.Folder)
    assert opened.claims is not None
    assert (tmp_path / "s" / "store.json").is_file()


def test_verify_finds_what_is_lost_or_changed(tmp_path: Path) -> None:
    opened = store.open_store(tmp_path / "s")
    for seed in range(1, 5):
        opened.add(rows(range(seed, seed + 1)))
    lost, cut, changed, unknown = opened.parts()
    parts = tmp_path / "s" / "parts"
    (parts / f"{lost}.parquet").unlink()
    os.truncate(parts / f"{cut}.parquet", 100)
    content = bytearray((parts / f"{changed}.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (parts / f"{changed}.parquet").write_bytes(content)
    (tmp_path / "s" / "manifest" / f"{unknown}.json").unlink()
    (parts / f"{files.PARTIAL}7").write_bytes(b"half")
    problems = {p.name: p for p in store.open_store(tmp_path / "s").verify()}
    assert "lost" in problems[f"parts/{lost}.parquet"].what
    assert "digest" in problems[f"parts/{cut}.parquet"].what
    assert "digest" in problems[f"parts/{changed}.parquet"].what
    assert problems[f"parts/{unknown}.parquet"].harmless
    assert problems[f"parts/{files.PARTIAL}7"].harmless
    assert len(problems) == 5
    assert unknown in opened.manifest(), "entered again"
    assert cli.main(["store", "verify", str(tmp_path / "s")]) == cli.FAILED


def test_copies_of_a_run_are_found_and_removed(tmp_path: Path) -> None:
    opened = store.open_store(tmp_path / "s")
    frame = rows(range(1, 4))
    opened.add(frame)
    opened.put(frame.head(2).with_columns(pl.lit(9.0).alias(store.COST)))
    (problem,) = opened.verify()
    assert "2 runs" in problem.what
    assert not problem.harmless
    opened.gc()
    assert opened.verify() == []
    assert len(opened.table()) == 3


def test_others_can_read_it(tmp_path: Path) -> None:
    opened = store.open_store(tmp_path / "s")
    frame = rows(range(1, 4))
    opened.add(frame)
    opened.add(rows(range(1, 3), "droptail"))
    pattern = str(tmp_path / "s" / "parts" / "*.parquet")
    mean = opened.table()["queues.bottleneck.delay_mean_ms"].mean()
    assert pl.read_parquet(pattern)["queues.bottleneck.delay_mean_ms"].mean() == pytest.approx(mean)
    pandas = pytest.importorskip("pandas")
    theirs = pandas.read_parquet(tmp_path / "s" / "parts")
    assert theirs["queues.bottleneck.delay_mean_ms"].mean() == pytest.approx(mean)
    assert json.loads(theirs["scenario"][0])["queue"]["bottleneck"]["limit"] == "30 packets"
    duckdb = pytest.importorskip("duckdb")
    source = f"read_parquet('{pattern}', union_by_name=true)"
    query = f'select avg("queues.bottleneck.delay_mean_ms"), count(*) from {source}'
    assert duckdb.sql(query).fetchall()[0] == pytest.approx((mean, 5))
    flows = f"""select sum(g) from (select unnest("flows.goodput_mbps") as g from '{pattern}' where seed = 1)"""
    assert duckdb.sql(flows).fetchall()[0][0] == pytest.approx(
        opened.table().filter(pl.col("seed") == 1)["goodput_total_mbps"].sum()
    )


def test_a_full_disk_is_an_error_and_leaves_a_whole_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = store.open_store(tmp_path / "s")
    opened.add(rows(range(1, 3)))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", full)
        with pytest.raises(store.StoreError, match=r"cannot write parts/.*No space left on device"):
            opened.add(rows(range(3, 5)))
    assert store.open_store(tmp_path / "s").verify() == []
    assert opened.add(rows(range(3, 5))) == 2


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
from earlydrop import cli
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_sweep_that_cannot_write_says_so(tmp_path: Path) -> None:
    # Files may not grow: what a full disk does, as far as a process can see.
    (tmp_path / "s.toml").write_text(SWEEP, encoding="utf-8")
    command = [sys.executable, "-c", LIMITED, "sweep", "s.toml", "--store", "s"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert found.returncode == cli.FAILED
    assert "cannot write parts/" in found.stderr
    assert "File too large" in found.stderr
    assert not (tmp_path / "out").exists()
    assert store.open_store(tmp_path / "s").verify() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to whom the folder is closed")
def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    opened = store.open_store(tmp_path / "s")
    opened.add(rows(range(1, 3)))
    more = rows(range(3, 5))
    for path in [tmp_path, *tmp_path.parents]:
        # Up to pytest's own folder, which with several processes is one deeper.
        if path.is_relative_to(tempfile.gettempdir()) and path != Path(tempfile.gettempdir()):
            path.chmod(0o755)
    os.seteuid(65534)
    try:
        assert store.open_store(tmp_path / "s").look()
        with pytest.raises(store.StoreError, match=r"cannot write .*Permission denied"):
            opened.add(more)
    finally:
        os.seteuid(0)
    assert opened.verify() == []


SWEEP = """
seeds = 40
measures = ["goodput"]
[scenario]
duration = "2 s"
topology.kind = "dumbbell"
topology.pairs = 2
topology.access = { rate = "100 Mbit/s", delay = "5 ms" }
topology.bottleneck = { rate = "2 Mbit/s", delay = "10 ms" }
queue.bottleneck = { aqm = "red", limit = "30 packets" }
traffic = [{ kind = "ftp", count = 2 }]
[[factor]]
path = "queue.bottleneck.max_p"
values = [0.05, 0.1]
"""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"store.json": '{"format": "other"}'}, "another kind"),
        ({"store.json": '{"format": "earlydrop-store", "version": 99}'}, "version 99"),
        ({"store.json": "{"}, "is not a store"),
        ({"thesis.tex": "x"}, "thesis.tex"),
    ],
)
def test_what_is_no_store_is_not_touched(tmp_path: Path, content: dict[str, str], why: str) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(store.NotAStore, match=why):
        store.open_store(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == set(content)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "s")
    assert cli.main(["store", "ls", place]) == cli.WRONG_INPUT
    opened = store.open_store(place)
    opened.add(rows(range(1, 4)))
    opened.add(rows(range(1, 3), "codel"))
    capsys.readouterr()
    assert cli.main(["store", "ls", place, "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["parts"]) == (5, 2)
    assert found["engines"][0]["disciplines"] == {"codel": 2, "red": 3}
    assert cli.main(["store", "ls", place]) == cli.DONE
    assert "5 runs in 2 parts" in capsys.readouterr().out
    assert cli.main(["store", "export", place, str(tmp_path / "x.csv")]) == cli.DONE
    table = pl.read_csv(tmp_path / "x.csv")
    assert len(table) == 5
    assert "flows.goodput_mbps" not in table.columns
    assert cli.main(["store", "export", place, str(tmp_path / "x.parquet"), "--columns", "jain"]) == cli.DONE
    assert pl.read_parquet(tmp_path / "x.parquet").columns == [*store.KEYS, "jain"]
    assert cli.main(["store", "export", place, str(tmp_path / "x.parquet"), "--columns", "seed", "jain"]) == cli.DONE
    assert pl.read_parquet(tmp_path / "x.parquet").columns == [*store.KEYS, "jain"]
    assert cli.main(["store", "export", place, str(tmp_path / "x.xls")]) == cli.WRONG_INPUT
    assert cli.main(["store", "export", place, str(tmp_path / "x.csv"), "--columns", "no"]) == cli.WRONG_INPUT
    assert cli.main(["store", "gc", place]) == cli.DONE
    assert cli.main(["store", "verify", place]) == cli.DONE
