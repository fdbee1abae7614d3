"""A damaged store gives no number: what is damaged is named and set aside, and its runs are made again."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

import bit_flips
import small_sweep
from earlydrop import cli, disk, store
from earlydrop.store.keys import COST
from earlydrop.store.upkeep import ASIDE


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep that has been run: its store is `s`, its results are `r`."""
    place = tmp_path_factory.mktemp("swept")
    (place / small_sweep.FILE).write_text(small_sweep.scenario(), encoding="utf-8")
    (place / "sweep.toml").write_text(small_sweep.sweep(seeds=3), encoding="utf-8")
    with contextlib.chdir(place):
        assert sweep() == cli.DONE
    return place


@pytest.fixture
def swept(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A copy of that folder."""
    shutil.copytree(once, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    capsys.readouterr()
    return tmp_path / "copy"


def sweep() -> int:
    return cli.main(["sweep", "sweep.toml", "--store", "s", "--out", "r"])


def part(place: Path) -> Path:
    (found,) = (place / "s" / "parts").glob("*.parquet")
    return found


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_a_changed_part_is_named_and_set_aside_and_its_runs_are_made_again(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (swept / "r" / "points.csv").read_bytes()
    damaged = part(swept)
    flip(damaged, 8 * damaged.stat().st_size // 2)
    assert cli.main(["store", "verify", "s"]) == cli.FAILED
    assert f"wrong: parts/{damaged.name} is not what was written: its digest is another" in capsys.readouterr().out
    assert sweep() == cli.FAILED
    said = capsys.readouterr()
    assert f"parts/{damaged.name} is not what was written" in said.err
    assert f"moved to {ASIDE}/" in said.err
    assert said.out == ""
    assert (swept / "r" / "points.csv").read_bytes() == before, "the earlier results stay"
    assert sweep() == cli.DONE
    assert (swept / "r" / "points.csv").read_bytes() == before
    assert part(swept).name != damaged.name or (swept / "s" / ASIDE / damaged.name).exists()
    capsys.readouterr()
    assert cli.main(["store", "verify", "s"]) == cli.DONE
    assert f"note: {ASIDE}/{damaged.name}" in capsys.readouterr().out
    assert cli.main(["store", "gc", "s"]) == cli.DONE
    assert not list((swept / "s" / ASIDE).iterdir())


@pytest.mark.parametrize("command", ["ls", "export"])
def test_commands_that_only_read_print_no_number(swept: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    flip(part(swept), 4000)
    assert cli.main(["store", command, "s", *(["x.csv"] if command == "export" else [])]) == cli.FAILED
    said = capsys.readouterr()
    assert said.out == ""
    assert "its digest is another" in said.err
    assert not (swept / "x.csv").exists()


def rewritten(place: Path, frame: pl.DataFrame) -> None:
    """Put another table in the place of the part, under the name that its digest gives it."""
    part(place).unlink()
    content = store.packed(frame)
    (place / "s" / "parts" / f"{store.digest(content)}.parquet").write_bytes(content)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("seed", "has no column seed"),
        (store.DIGEST, "has no column digest"),
        (pl.col("seed").cast(pl.String), "has a column seed of String"),
        (pl.col(COST).cast(pl.Int64), "has a column cost.wall_s of Int64"),
        (pl.lit(b"x").alias("jain"), "has a column jain of Binary"),
        (pl.lit("x").alias("scenario_key"), "cannot be read"),
        (pl.lit(None, pl.String).alias("engine"), "a run lacks a key"),
    ],
)
def test_valid_parquet_with_other_columns_is_no_part(
    swept: Path, capsys: pytest.CaptureFixture[str], change: pl.Expr | str, why: str
) -> None:
    frame = pl.read_parquet(part(swept))
    rewritten(swept, frame.drop(change) if isinstance(change, str) else frame.with_columns(change))
    assert cli.main(["store", "verify", "s"]) == cli.FAILED
    assert why in capsys.readouterr().out
    assert sweep() == cli.FAILED
    assert why in capsys.readouterr().err
    assert cli.main(["store", "ls", "s"]) == cli.DONE, "it is set aside"


def test_a_measure_of_another_type_is_an_error(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewritten(swept, pl.read_parquet(part(swept)).with_columns(goodput_total_mbps=pl.lit("fast")))
    assert sweep() == cli.FAILED
    said = capsys.readouterr().err
    assert f"parts/{part(swept).name} cannot be read: its columns are not those of results" in said


def test_a_part_that_is_no_parquet_is_set_aside(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in (b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"):
        (swept / "s" / "parts" / f"{store.digest(content)}.parquet").write_bytes(content)
    assert sweep() == cli.FAILED
    assert capsys.readouterr().err.count("cannot be read") == 3
    assert sweep() == cli.DONE


def test_a_manifest_that_is_not_what_was_written_is_written_anew(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (entry,) = (swept / "s" / "manifest").iterdir()
    content = entry.read_bytes()
    for bit in range(0, 8 * len(content), 67):
        entry.write_bytes(content)
        flip(entry, bit)
        assert cli.main(["store", "verify", "s"]) == cli.FAILED, bit
        assert f"manifest/{entry.name} was damaged" in capsys.readouterr().out, bit
        assert cli.main(["store", "verify", "s"]) == cli.DONE
    # Entries of earlier versions have no digest of their own.
    capsys.readouterr()
    about = content.partition(b', "check"')[0] + b"}\n"
    entry.write_bytes(about)
    assert cli.main(["store", "verify", "s"]) == cli.DONE
    assert entry.read_bytes() == about


@pytest.mark.parametrize("content", ["[]", "3", "null", '"earlydrop-store"', "\x00"])
def test_a_store_file_of_another_kind_is_no_store(tmp_path: Path, content: str) -> None:
    (tmp_path / "store.json").write_text(content, encoding="utf-8")
    with pytest.raises(store.NotAStore, match="is not a store"):
        store.open_store(tmp_path)


def test_what_killed_writers_left_goes_with_the_next_part(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = [swept / "s" / folder / ".partial-1" for folder in ("", "parts", "manifest")]
    for path in left:
        path.write_bytes(b"half")
    assert cli.main(["store", "verify", "s"]) == cli.DONE
    assert capsys.readouterr().out.count("was left by a writer") == 3
    os.unlink(part(swept))
    assert sweep() == cli.DONE
    assert not any(path.exists() for path in left)


def test_what_killed_writers_left_goes_where_all_runs_are_there(swept: Path) -> None:
    assert sweep() == cli.DONE
    # Of a writer of the store, and of one of the result folder.
    left = [swept / "s" / "parts" / ".partial-1", *left_by_a_result(swept)]
    left += [swept / "s" / "claims" / "1-2.json"]
    for path in left[0], left[-1]:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    assert sweep() == cli.DONE
    assert not any(path.exists() for path in left)


def left_by_a_result(folder: Path) -> list[Path]:
    """What a command that was killed while it wrote its results leaves."""
    place = folder / ".r.partial-0123abcd"
    place.mkdir()
    (place / disk.LOCK).touch()
    (place / "r").mkdir()
    return [place]


def test_every_flipped_bit_is_found_before_a_number_is_printed(tmp_path: Path) -> None:
    # All 3000: `tools/bit_flips.py`.
    found = bit_flips.check(tmp_path, flips=40, seed=1)
    assert found.flips == 40
    assert found.missed == []


def test_a_signal_while_a_part_is_read_does_not_damage_it(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise pl.exceptions.PanicException("called `Result::unwrap()`: PyErr { type: <class KeyboardInterrupt> }")

    monkeypatch.setattr(pl, "read_parquet_schema", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.open_store(str(swept / "s")).check(part(swept).stem)
    assert part(swept).exists()
