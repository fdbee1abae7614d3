"""Operations on a store of runs: find, read, add, verify, clean up."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from .. import foreign
from . import upkeep
from .claims import Claims
from .files import PARTIAL, DamagedError, Files, Folder, NotAStore, StoreError, at, refused
from .keys import KEYS, engine
from .parts import Damaged, Part, Problem, complaint, digest, is_part, packed

if TYPE_CHECKING:
    import polars

    from .names import Index, Numbers, Words

FORMAT, VERSION = "earlydrop-store", 1
ABOUT = "store.json"
"""The file that says that a folder is a store."""
RETRIES = 5
"""How often parts are looked for again while another process merges them."""

Columns = Sequence[str] | Callable[[str], bool]
"""Names of columns, or a predicate on names."""


@dataclass
class Store:
    """An open store. Several processes may use the same store."""

    files: Files
    claims: Claims | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    """Numbers of the parts that are indexed."""
    _names: Index | None = None
    """The number of the part that has a run, by the run's name."""
    _last: int = 0
    _tidy: bool = False
    """Whether this process has removed what killed writers left."""

    @property
    def url(self) -> str:
        """The store's address."""
        return self.files.url

    # ---- finding and reading -------------------------------------------------------------------------------------

    def parts(self) -> list[str]:
        """Names of the parts, sorted."""
        return [n.removesuffix(".parquet") for n in self.files.names("parts") if is_part(n)]

    @property
    def _index(self) -> Index:
        from .names import Index

        if self._names is None:
            self._names = Index()
        return self._names

    def look(self) -> list[str]:
        """Index new parts, forget removed ones, and return the names of the new ones.

        Raises:
            DamagedError: parts are not what was written. They are set aside, so the next look finds the others.
        """
        now = self.parts()
        gone = self.numbers.keys() - set(now)
        if gone:
            self._index.drop([self.numbers.pop(name) for name in gone])
        new = [name for name in now if name not in self.numbers]
        seen = []
        damaged: list[Damaged] = []
        for name, found in zip(new, self._checked(new), strict=True):
            if isinstance(found, Damaged):
                damaged.append(found)
            elif found is not None:
                self._enter(name, found)
                seen.append(name)
        if damaged:
            self._set_aside(damaged)
        return seen

    def _checked(self, names: Sequence[str]) -> Iterable[polars.DataFrame | Damaged | None]:
        """The keys of the runs of each part, if it is what was written; None for parts that are gone."""
        if len(names) < 2:
            return map(self.check, names)
        from concurrent.futures import ThreadPoolExecutor

        # The time goes into digests, which threads compute in parallel.
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
            return list(threads.map(self.check, names))

    def check(self, name: str) -> polars.DataFrame | Damaged | None:
        """The keys of the runs of a part, if it is what was written; None if it is gone."""
        import polars as pl

        from .names import words

        file = f"parts/{name}.parquet"
        try:
            content = self.files.read(file)
        except FileNotFoundError:
            # The part was replaced by a larger one meanwhile.
            return None
        except OSError as error:
            raise refused(self.url, file, "read", error) from error
        if digest(content) != name:
            return Damaged(name, "is not what was written: its digest is another")
        try:
            why = complaint(pl.read_parquet_schema(io.BytesIO(content)))
            if why:
                return Damaged(name, f"is no part of a store: it {why}")
            keys = pl.read_parquet(io.BytesIO(content), columns=list(KEYS))
            if keys.null_count().sum_horizontal().item():
                return Damaged(name, "is no part of a store: a run lacks a key")
            words(keys["scenario_key"].to_list())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
            foreign.unless_interrupted(error)
            return Damaged(name, f"cannot be read: {error}")
        return keys

    def _set_aside(self, damaged: Sequence[Damaged]) -> NoReturn:
        """Move damaged parts to where they are not read, and report them."""
        lines = []
        for one in damaged:
            self.files.move(f"parts/{one.name}.parquet", f"{upkeep.ASIDE}/{one.name}.parquet")
            self.files.remove(f"manifest/{one.name}.json")
            lines.append(f"parts/{one.name}.parquet {one.what}")
        where = f"moved to {upkeep.ASIDE}/; the same command again makes the missing runs"
        raise DamagedError(f"{self.url}: {'; '.join(lines)}; {where}")

    def _enter(self, name: str, frame: polars.DataFrame) -> None:
        """Index the runs of a part: 20 bytes each."""
        from .names import of_runs

        names = of_runs(frame)
        self._last += 1
        self.numbers[name] = self._last
        self._index.put(names, self._last)

    def find(self, keys: Words, seeds: Numbers, of: str | None = None) -> Numbers:
        """For each run the number of the indexed part that has it, or -1.

        `keys` are the scenario keys as `names.words` has them. Of one engine (default: this one).
        """
        from .names import mixed

        return self._index.find(mixed(keys, seeds, engine() if of is None else of))

    def keys(self, of: str | None = None) -> polars.DataFrame:
        """Keys and seeds of the runs of one engine (default: this one), each once."""
        import polars as pl

        frames = [pl.DataFrame(schema={"scenario_key": pl.String, "seed": pl.Int64})]
        for name in self.numbers:
            part = self.part(name, KEYS).filter(pl.col("engine") == (of or engine()))
            frames.append(part.select("scenario_key", "seed"))
        return pl.concat(frames).unique()

    def part(self, name: str, columns: Columns | None = None) -> polars.DataFrame:
        """The runs of one part that `look` has found, with those of the columns that it has."""
        import polars as pl

        with self._reading(name), self.files.open(f"parts/{name}.parquet") as content:
            wanted = None
            if columns is not None:
                there = pl.read_parquet_schema(content)
                content.seek(0)
                wanted = [c for c in there if columns(c)] if callable(columns) else [c for c in columns if c in there]
            return pl.read_parquet(content, columns=wanted)

    def columns(self, name: str) -> list[str]:
        """The columns of one part."""
        import polars as pl

        with self._reading(name), self.files.open(f"parts/{name}.parquet") as content:
            return list(pl.read_parquet_schema(content))

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        import polars as pl

        try:
            yield
        except FileNotFoundError:
            raise
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            foreign.unless_interrupted(error)
            raise StoreError(f"{self.url}: parts/{name}.parquet cannot be read: {error}; see: store verify") from error

    def read(self, wanted: polars.DataFrame, columns: Sequence[str], of: str | None = None) -> polars.DataFrame:
        """Columns of the runs in `wanted` (`scenario_key`, `seed`), each run once, in any order.

        A column that no run has is left out; a run that lacks one has null there.
        """
        import polars as pl

        from .names import words

        frames: list[pl.DataFrame] = []

        def take(found: polars.DataFrame) -> None:
            frames.append(found.join(wanted, on=["scenario_key", "seed"], how="semi"))

        chosen = wanted.drop_nulls(["scenario_key", "seed"])
        names = words(chosen["scenario_key"].to_list()), chosen["seed"].to_numpy()
        self.gather(lambda: [names], columns, take, of)
        if not frames:
            return pl.DataFrame(schema={"scenario_key": pl.String, "seed": pl.Int64})
        return pl.concat(frames, how="diagonal_relaxed").unique(["scenario_key", "seed"], keep="first")

    def gather(
        self,
        wanted: Callable[[], Iterable[tuple[Words, Numbers]]],
        columns: Columns,
        take: Callable[[polars.DataFrame], None],
        of: str | None = None,
    ) -> None:
        """Call `take` with each part that has any of the runs in `wanted` (keys and seeds, in pieces).

        `take` gets key, seed and those of the columns that a part has (or that `columns` says yes to), of all its runs
        of one engine (default: this one), wanted or not. A run may come more than once.

        Raises:
            StoreError: a part cannot be read.
        """
        import numpy as np
        import polars as pl

        mine = engine() if of is None else of
        for attempt in range(RETRIES):
            self.look()
            numbers: set[int] = set()
            for keys, seeds in wanted():
                numbers.update(np.unique(self.find(keys, seeds, mine)).tolist())
            try:
                asked: Columns = (
                    list(dict.fromkeys([*KEYS, *columns]))
                    if not callable(columns)
                    else lambda c: c in KEYS or columns(c)
                )
                for name in [name for name, number in self.numbers.items() if number in numbers]:
                    found = self.part(name, asked).filter(pl.col("engine") == mine)
                    try:
                        take(found.drop("engine"))
                    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
                        foreign.unless_interrupted(error)
                        why = f"its columns are not those of results: {error}"
                        raise StoreError(f"{self.url}: parts/{name}.parquet cannot be read: {why}") from error
                return
            except FileNotFoundError as error:
                # Another process has merged parts meanwhile.
                if attempt == RETRIES - 1:
                    raise StoreError(f"{self.url}: its parts change faster than they can be read") from error

    # ---- adding --------------------------------------------------------------------------------------------------

    def add(self, frame: polars.DataFrame) -> int:
        """Add runs that the store does not have, and return their number.

        Raises:
            StoreError: the runs cannot be written; the store is as it was.
        """
        with self.alone():
            self._tidy_up()
            return self._add(frame)

    def tidy(self) -> None:
        """Remove what killed writers left, if there is something and it can be removed. `add` does so, too."""
        claims = self.claims
        if upkeep.left(self) or (claims is not None and claims.has_others()):
            with suppress(StoreError), self.alone():
                self._tidy_up()
                if claims is not None:
                    claims.others()

    def _tidy_up(self) -> None:
        if not self._tidy and isinstance(self.files, Folder):
            # Whoever writes holds the lock: these files are of processes that ended.
            for name in upkeep.left(self):
                self.files.remove(name)
            upkeep.finish_merge(self)
            self._tidy = True

    def alone(self) -> AbstractContextManager[None]:
        """Keep other writers out, where there are locks."""
        return self.files.lock() if isinstance(self.files, Folder) else nullcontext()

    def _add(self, frame: polars.DataFrame) -> int:
        import polars as pl

        from .names import firsts, of_runs

        self.look()
        names = of_runs(frame)
        # The first of each new run, in the given order.
        fresh = (self._index.find(names) < 0) & (firsts(names) == range(len(names)))
        if not fresh.any():
            return 0
        if not fresh.all():
            frame = frame.filter(pl.Series(fresh))
        self.put(frame)
        return len(frame)

    def put(self, frame: polars.DataFrame, content: bytes | None = None) -> str:
        """Write a part, given its content or not, and return its name."""
        content = packed(frame) if content is None else content
        name = digest(content)
        self.files.write(f"parts/{name}.parquet", content)
        if name not in self.numbers:
            self._enter(name, frame.select(KEYS))
        self.note(name, frame, len(content))
        return name

    def note(self, name: str, frame: polars.DataFrame, size: int) -> None:
        """Enter a part into the manifest."""
        from datetime import UTC, datetime

        about = Part(
            name, len(frame), size, sorted(frame["engine"].unique()), datetime.now(UTC).isoformat(timespec="seconds")
        )
        self.files.write(f"manifest/{name}.json", about.packed(), lasting=False)

    # ---- maintenance ---------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Part]:
        """The entry of each part in the manifest."""
        found = {}
        for file in self.files.names("manifest"):
            if file.startswith(PARTIAL):
                continue
            try:
                part = Part.read(self.files.read(f"manifest/{file}"))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise refused(self.url, f"manifest/{file}", "read", error) from error
            except ValueError:
                part = Part(file.removesuffix(".json"), -1, -1, [], "")
            found[file.removesuffix(".json")] = part
        return found

    def verify(self) -> list[Problem]:
        """All problems and left-over files: parts that are lost, truncated or changed, and duplicate runs.

        A part that its writer could not enter into the manifest any more is whole if its name is right; it is entered.
        """
        return upkeep.verify(self)

    def gc(self, keep: Sequence[str] | None = None) -> dict[str, int]:
        """Remove what killed writers left, runs of engines that are not in `keep`, and duplicates; merge small parts.

        Damaged parts that were set aside are removed, too. Nobody may be writing meanwhile.

        Raises:
            StoreError: another process is using the store, or a file cannot be written; no run is lost.
        """
        with self.alone():
            if self.claims is not None and self.claims.others():
                raise StoreError(f"{self.url}: another process is putting runs in; gc when it is done")
            return upkeep.gc(self, keep)

    def drop(self, name: str) -> None:
        """Remove a part."""
        # The manifest entry first: a part without an entry is valid, an entry without a part is reported as a loss.
        self.files.remove(f"manifest/{name}.json")
        self.files.remove(f"parts/{name}.parquet")
        number = self.numbers.pop(name, None)
        if number is not None:
            self._index.drop([number])

    def table(self, columns: Sequence[str] | None = None, of: str | None = None) -> polars.DataFrame:
        """All runs without their cost, sorted by key and seed: the same for the same runs, however they were made."""
        import polars as pl

        self.look()
        frames = []
        for name in sorted(self.numbers):
            frame = self.part(name, None if columns is None else list(dict.fromkeys([*KEYS, *columns])))
            if of is not None:
                frame = frame.filter(pl.col("engine") == of)
            frames.append(frame)
        if not frames:
            return pl.DataFrame(schema={"scenario_key": pl.String, "seed": pl.Int64, "engine": pl.String})
        frame = pl.concat(frames, how="diagonal_relaxed").unique(list(KEYS), keep="first")
        rest = sorted(c for c in frame.columns if c not in KEYS and not c.startswith("cost."))
        return frame.select(*KEYS, *rest).sort(*KEYS)


def open_store(place: str | os.PathLike[str], *, create: bool = True) -> Store:
    """Open a store; with `create`, make it where it is missing.

    Raises:
        NotAStore: there is something else.
        StoreError: nothing can be written there.
    """
    files = at(place)
    try:
        about: Any = foreign.parsed(files.read(ABOUT))
    except FileNotFoundError:
        about = {}
    except OSError as error:
        raise refused(files.url, ABOUT, "read", error) from error
    except ValueError as error:
        raise NotAStore(f"{files.url}: is not a store: {ABOUT}: {error}") from error
    if not isinstance(about, dict):
        raise NotAStore(f"{files.url}: is not a store: {ABOUT} is of another kind")
    if not about:
        if not create:
            raise NotAStore(f"{files.url}: is not a store: there is no {ABOUT}")
        strangers = [n for n in files.names("") if n != "lock" and not n.startswith(PARTIAL)]
        if strangers:
            raise NotAStore(f"{files.url}: is not a store: it holds {strangers[0]}; choose an empty folder")
        about = {"format": FORMAT, "version": VERSION}
        with files.lock() if isinstance(files, Folder) else nullcontext():
            files.write(ABOUT, (json.dumps(about) + "\n").encode())
    if about.get("format") != FORMAT:
        raise NotAStore(f"{files.url}: is not a store: {ABOUT} is of another kind")
    if about.get("version") != VERSION:
        raise NotAStore(f"{files.url}: {ABOUT} is of version {about.get('version')}; this earlydrop reads {VERSION}")
    return Store(files, Claims(files) if isinstance(files, Folder) else None)
