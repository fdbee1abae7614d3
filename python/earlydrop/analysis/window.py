"""Is the measured window long enough for what it averages, and does it begin late enough?

A mean over a window stands for a network only if another window would give the same. Three things tell that it does
not, each from runs whose queue and goodputs were recorded over time:

- the parts of the window differ, over the seeds, by more than chance (a flow that starts late, a slow transient);
- the window is only a few autocorrelation times long (a cycle of which it holds one or two);
- it is a few round-trip times long.

The first two count where the window's mean is uncertain by more than 2 % of itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..document import Document, lookup
from ..foreign import WHOLE, Shape
from .words import listing_points, to_set

if TYPE_CHECKING:
    import numpy

    import earlydrop._core as _core

    Array = numpy.ndarray[Any, Any]

GOODPUT = "the goodput"
WATCHED = 5
"""Seeds of each discipline that are run with recorded series, to judge the window."""
SAMPLES = 2000
"""Samples of a queue in a run."""
INTERVALS = 400
"""Intervals over which a flow's goodput is averaged with up to `FLOWS` flows; with more flows, at least `FEWEST`."""
FLOWS = 50
"""With more flows, those of a traffic entry are judged together."""
FEWEST = 40
MOST_FLOWS = 10_000
"""With more flows, only queues are recorded."""

LEVEL = 0.01
"""Parts of a window count as different below this p value, corrected for their number."""
ALONE = 4.0
"""With one run or two, parts differ from this many standard errors within the run."""
TOGETHER = 2.0
"""With more runs, parts must differ by this many standard errors too: seeds may move in step."""
MATTERS = 0.02
"""A difference below this fraction of the mean is none."""
TIMES = 8
"""A window of fewer autocorrelation times is too short."""
WANTED_TIMES = 20
"""Autocorrelation times of the window that is recommended instead."""
ROUND_TRIPS = 20
"""A window of fewer round-trip times is too short."""
LEAST = 20
"""With fewer samples in the window nothing is said of it."""
FINE = 100
"""With fewer samples, nothing is said of the autocorrelation."""
LONGER = 20
"""A window in which a movement shows no end should be this many times as long."""


# ---- what is recorded ----------------------------------------------------------------------------------------------


def watched(
    plain: _core.Scenario, document: Document, settings: Sequence[tuple[str, str]] = ()
) -> tuple[_core.Scenario, tuple[str, ...]]:
    """The scenario with its queues and goodputs recorded over time, and the fields of results that this adds."""
    import earlydrop._core as _core

    normal = json.loads(plain.to_json())
    record = normal.get("record") or {}
    duration = float(normal["duration"].removesuffix(" s"))
    flows = sum(int(entry.get("count", 1)) for entry in normal.get("traffic", ()))
    more = []
    if not record.get("series"):
        more.append(("series", [("record.series", f'"{max(duration / SAMPLES, 1e-6)!r} s"')]))
    if not record.get("rates") and 0 < flows <= MOST_FLOWS:
        count = INTERVALS if flows <= FLOWS else max(FEWEST, min(INTERVALS, INTERVALS * FLOWS // flows))
        length = ("record.rates", f'"{max(duration / count, 1e-6)!r} s"')
        more.append(("rates", [length, ("record.rate_flows", json.dumps(list(range(1, flows + 1))))]))
    if not more:
        return plain, ()
    sets = [one for _, added in more for one in added]
    return _core.Scenario.parse(document, [*settings, *sets]), tuple(name for name, _ in more)


@dataclass(frozen=True)
class Track:
    """One quantity over time: averages over, or samples at the starts of, intervals of one length."""

    name: str
    step_s: float
    values: Array
    least: float = 0.0
    """The least mean to compare with: two per cent of almost nothing are nothing."""
    shared: bool = False
    """Whether it is one of several flows, whose shares vary together."""


@dataclass(frozen=True)
class Recording:
    """What is kept of a run to judge its window."""

    seed: int
    warmup_s: float
    duration_s: float
    delay_s: float
    """Mean queueing delay."""
    tracks: tuple[Track, ...]


def recording(run: Document, queue: str) -> Recording:
    """What a run recorded of a queue and of the flows."""
    import numpy as np

    duration = float(run["duration_s"])
    tracks = []
    lengths = lookup(run, f"series.queues.{queue}.packets")
    if lengths is not None:
        tracks.append(Track("the queue", float(run["series"]["interval_s"]), np.asarray(lengths, float), least=1.0))
    rates = run.get("rates") or {}
    rows = {int(one["id"]): np.asarray(one["goodput_mbps"], float) for one in rates.get("flows") or ()}
    if rows:
        step = float(rates["interval_s"])
        entries = run["traffic"]
        if len(rows) == sum(int(entry["flows"]) for entry in entries):
            tracks.append(Track(GOODPUT, step, np.sum(list(rows.values()), axis=0)))
        tracks += _by_flow(rows, entries, step)
    return Recording(
        int(run["seed"]), float(run["warmup_s"]), duration, (lookup(run, f"queues.{queue}.delay_mean_ms") or 0) / 1e3,
        tuple(tracks),
    )  # fmt: skip


def few_round_trips(run: Document, queue: str, round_trip_s: float | None) -> bool:
    """Whether the window of a run is below `ROUND_TRIPS` round-trip times, which are given without queues."""
    if not round_trip_s:
        return False
    trip = round_trip_s + (lookup(run, f"queues.{queue}.delay_mean_ms") or 0) / 1e3
    return bool(float(run["duration_s"]) - float(run["warmup_s"]) < ROUND_TRIPS * trip)


def _by_flow(rows: Mapping[int, Array], entries: Sequence[Document], step: float) -> list[Track]:
    """The goodputs of flows, or of entries with many; transfers that end are judged by their total alone."""
    import numpy as np

    found = []
    fair = float(np.mean([row.mean() for row in rows.values()]))
    last = 0
    for entry in entries:
        numbers = range(last + 1, last + int(entry["flows"]) + 1)
        last = numbers[-1]
        mine = [number for number in numbers if number in rows]
        if "transfers" in entry or not mine or len(rows) == 1:
            continue
        if len(rows) <= FLOWS:
            found += [Track(f"the goodput of flow {n}", step, rows[n], fair, shared=True) for n in mine]
        elif len(mine) == len(numbers) and len(entries) > 1:
            name = entry["name"] or entry["entry"]
            found.append(
                Track(f"the goodput of traffic {name}", step, np.sum([rows[n] for n in mine], axis=0), fair * len(mine))
            )
    return found


# ---- judging -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reason:
    """Why a window is too short."""

    kind: str
    """`start`, `parts`, `memory` or `round trips`."""
    of: str
    """Name of the quantity."""
    size: float
    """A difference as a fraction of the mean, between parts or without the start; or the times in the window."""
    time_s: float | None = None
    """The autocorrelation or round-trip time, s."""

    @property
    def excess(self) -> float:
        """How far the size is beyond its bound, as a factor."""
        if self.kind in ("start", "parts"):
            return self.size / MATTERS
        return (TIMES if self.kind == "memory" else ROUND_TRIPS) / self.size

    def __str__(self) -> str:
        match self.kind:
            case "start":
                moved = f"the mean of {self.of} by {_per_cent(self.size)}"
                return f"it begins before the start-up ends, at {self.time_s:.3g} s, which moves {moved}"
            case "parts":
                return f"the mean of {self.of} differs by {_per_cent(self.size)} between its parts"
            case "memory":
                times = f"{self.size:.1f} autocorrelation times of {self.of} ({self.time_s:.3g} s)"
                return f"it has {times}, less than {TIMES}"
            case _:
                return f"it has {self.size:.2g} round-trip times ({self.time_s:.3g} s), less than {ROUND_TRIPS}"

    def document(self) -> Document:
        """Plain values."""
        return {"kind": self.kind, "of": self.of, "size": self.size, "time_s": self.time_s, "text": str(self)}


@dataclass(frozen=True)
class Window:
    """What is known of a scenario's window."""

    chosen_s: float
    """The warm-up: where the window begins."""
    duration_s: float
    """Where the window ends."""
    seeds: int
    reasons: tuple[Reason, ...] = ()
    """Why the window is too short, the worst first; empty if nothing speaks against it."""
    needed_s: float | None = None
    """A warm-up to use instead."""
    needed_duration_s: float | None = None
    """A duration to use instead."""

    @property
    def short(self) -> bool:
        """Whether the window's figures may be those of a moment."""
        return bool(self.reasons)

    @property
    def excess(self) -> float:
        """How far the worst reason is beyond its bound, as a factor; 0 without one."""
        return max((reason.excess for reason in self.reasons), default=0.0)

    def document(self) -> Document:
        """Plain values for a result document."""
        return {
            "chosen_s": self.chosen_s,
            "duration_s": self.duration_s,
            "seeds": self.seeds,
            "short": self.short,
            "excess": self.excess,
            "reasons": [reason.document() for reason in self.reasons],
            "needed_s": self.needed_s,
            "needed_duration_s": self.needed_duration_s,
        }

    def sentence(self, where: str) -> str:
        """The warning, with what to use instead."""
        about = f"{where}: " if where else ""
        return (
            f"{about}the window from {self.chosen_s:g} s to {self.duration_s:g} s is too short: {self.reasons[0]}; "
            f"try {to_set([self])}"
        )


STORED: Shape = {
    **dict.fromkeys(("chosen_s", "duration_s"), float),
    "seeds": WHOLE,
    "reasons": [{"kind": str, "of": str, "size": float, "time_s": (float, None)}],
    **dict.fromkeys(("needed_s", "needed_duration_s"), (float, None)),
}
"""The shape of `Window.document`."""


def stored(document: Document) -> Window:
    """The window that `Window.document` wrote."""
    reasons = tuple(Reason(one["kind"], one["of"], one["size"], one["time_s"]) for one in document["reasons"])
    keys = ("chosen_s", "duration_s", "seeds", "needed_s", "needed_duration_s")
    return Window(reasons=reasons, **{key: document[key] for key in keys})


def sentences(judged: Mapping[str, Window]) -> list[str]:
    """The warnings on several disciplines or points: one for each window that is too short."""
    groups: dict[tuple[float, float], dict[str, Window]] = {}
    for where, one in judged.items():
        if one.short:
            groups.setdefault((one.chosen_s, one.duration_s), {})[where] = one
    found = []
    for group in groups.values():
        worst, *others = sorted(group, key=lambda where: -group[where].excess)
        needed = max(one.needed_s or 0.0 for one in group.values())
        duration = max(one.needed_duration_s or 0.0 for one in group.values())
        also = f" ({listing_points(others)} too)" if others else ""
        said = replace(group[worst], needed_s=needed, needed_duration_s=duration)
        found.append(said.sentence(worst) + also)
    return found


def judge(runs: Sequence[Recording], round_trip_s: float | None = None) -> Window | None:
    """What runs of one scenario with several seeds say of its window.

    None where too little was recorded, or the traffic ends before the run does.

    `round_trip_s` is the round-trip time without queues.
    """
    import numpy as np

    if not runs:
        return None
    ordered = sorted(runs, key=lambda run: run.seed)
    first = ordered[0]
    width = first.duration_s - first.warmup_s
    whole = [(track, _different([run.tracks[k].values for run in ordered])) for k, track in enumerate(first.tracks)]
    tracks = [
        (track, full, inside)
        for track, full in whole
        if (inside := _inside(full, track, first.warmup_s)).shape[1] >= LEAST
    ]
    if any(track.name == GOODPUT and _ends(inside) for track, _, inside in tracks):
        return None
    found: list[tuple[Reason, Track, Array]] = []
    tests = [
        (track, full, p, size)
        for track, full, inside in tracks
        # A flow's share in one run is a single draw.
        if not track.shared or len(inside) > 2
        for p, size in _parts(inside, track.least)
    ]
    for track, full, p, size in tests:
        if p * len(tests) < LEVEL and size > MATTERS:
            found.append((Reason("parts", track.name, size), track, full))
    for track, full, inside in tracks:
        begin = full.shape[1] - inside.shape[1]
        cut = None if track.shared else _outlasts(full.mean(axis=0), begin)
        if cut is not None:
            centre = max(float(abs(inside.mean())), track.least)
            size = abs(float(full[:, cut:].mean()) - float(inside.mean())) / centre
            if size > MATTERS:
                found.append((Reason("start", track.name, size, cut * track.step_s), track, full))
    for track, full, inside in _grouped(tracks):
        memory = _memory(inside)
        holds = inside.shape[1] / memory
        centre = max(float(abs(inside.mean())), track.least)
        uncertain = math.sqrt(float(inside.var(axis=1).mean()) * memory / inside.shape[1])
        if inside.shape[1] >= FINE and holds < TIMES and uncertain > MATTERS * centre:
            found.append((Reason("memory", track.name, holds, memory * track.step_s), track, full))
    reasons = [reason for reason, *_ in found]
    if round_trip_s:
        trip = round_trip_s + float(np.mean([run.delay_s for run in ordered]))
        if width / trip < ROUND_TRIPS:
            reasons.append(Reason("round trips", "", width / trip, trip))
    if not tracks and not reasons:
        return None
    best: dict[tuple[str, str], Reason] = {}
    for reason in sorted(reasons, key=lambda one: -one.excess):
        best.setdefault((reason.kind, reason.of), reason)
    kept = tuple(best.values())
    warmup, window = _advice(first, found, kept) if kept else (None, None)
    return Window(
        first.warmup_s,
        first.duration_s,
        len(ordered),
        kept,
        warmup,
        None if warmup is None or window is None else _up(warmup + window),
    )


def _ends(goodput: Array) -> bool:
    """Whether the traffic ends within the window: figures are then totals, no means of a steady state."""
    last = max(1, goodput.shape[1] // 20)
    return bool(goodput.any() and not goodput[:, -last:].any())


def _inside(full: Array, track: Track, warmup_s: float) -> Array:
    """The samples that lie in the window."""
    return full[:, math.ceil(warmup_s / track.step_s - 1e-6) :]


def _different(values: Sequence[Array]) -> Array:
    """Samples with one row per run; runs that are the same count once."""
    import numpy as np

    return np.array(list({row.tobytes(): row for row in values}.values()))


def _parts(inside: Array, least: float) -> list[tuple[float, float]]:
    """For each way to compare the four parts of a window: p value, and the difference over the mean."""
    import numpy as np

    runs, count = inside.shape
    blocks = np.stack([part.mean(axis=1) for part in np.array_split(inside, 4, axis=1)], axis=1)
    centre = max(float(abs(inside.mean())), least)
    if centre == 0:
        return []
    # How much chance, or a cycle of which the window holds several, moves such a difference within one run.
    rest = np.concatenate(
        [part - part.mean(axis=1, keepdims=True) for part in np.array_split(inside, 4, axis=1)], axis=1
    )
    within = 2 * math.sqrt(float((rest**2).mean()) * _memory(rest) / count)
    found = []
    # The second half less the first, the ends less the middle, the even parts less the odd.
    for signs in ([-1, -1, 1, 1], [1, -1, -1, 1], [-1, 1, -1, 1]):
        each = blocks @ np.array(signs) / 2
        size = abs(float(each.mean()))
        if runs < 3:
            p = 0.0 if size > ALONE * within / math.sqrt(runs) else 1.0
        elif size <= TOGETHER * within:
            # Seeds that move in step agree on the difference, and yet another window would not show it.
            p = 1.0
        else:
            # Loading scipy takes as long as a small run.
            from scipy.special import stdtr

            error = float(each.std(ddof=1)) / math.sqrt(runs)
            p = float(2 * stdtr(runs - 1, -size / error)) if error > 0 else 0.0
        found.append((p, size / centre))
    return found


def _grouped(tracks: Sequence[tuple[Track, Array, Array]]) -> list[tuple[Track, Array, Array]]:
    """The tracks, with all flows' tracks as one: how long shares last is a question to all flows."""
    import numpy as np

    found = [one for one in tracks if not one[0].shared]
    flows = [one for one in tracks if one[0].shared]
    if len(flows) > 1:
        track = Track("the flows' shares", flows[0][0].step_s, flows[0][0].values, flows[0][0].least)
        found.append((track, np.concatenate([f for _, f, _ in flows]), np.concatenate([i for *_, i in flows])))
    return found


def _memory(inside: Array) -> float:
    """The autocorrelation time, in samples: the sum of the autocorrelation to where it first vanishes, both ways."""
    import numpy as np

    count = inside.shape[1]
    rest = inside - inside.mean(axis=1, keepdims=True)
    power = abs(np.fft.rfft(rest, 2 * count, axis=1)) ** 2
    products = np.fft.irfft(power, axis=1)[:, :count].mean(axis=0)
    if products[0] <= 1e-12 * max(1.0, float((inside**2).mean())) * count:
        return 1.0
    correlation = products / products[0]
    ends = np.nonzero(correlation <= 0)[0]
    return float(1 + 2 * correlation[1 : ends[0] if len(ends) else count].sum())


# ---- what to use instead -------------------------------------------------------------------------------------------


def _advice(
    run: Recording, found: Sequence[tuple[Reason, Track, Array]], reasons: Sequence[Reason]
) -> tuple[float, float]:
    """A warm-up and the width of a window that would do, by what these runs show; both rounded up."""
    width = run.duration_s - run.warmup_s
    warmup, window = run.warmup_s, width
    for reason in reasons:
        if reason.kind == "round trips":
            assert reason.time_s is not None
            window = max(window, ROUND_TRIPS * reason.time_s)
    for reason, track, full in found:
        cut = settled(full.mean(axis=0)) if reason.kind in ("start", "parts") else None
        rest = full[:, cut:] if cut is not None else _inside(full, track, run.warmup_s)
        memory = _memory(rest)
        if reason.kind == "memory":
            times = WANTED_TIMES if rest.shape[1] >= TIMES / 2 * memory else 2 * WANTED_TIMES
            window = max(window, times * memory * track.step_s)
        elif rest.shape[1] < TIMES * memory:
            # Nothing here shows the end of the movement.
            warmup, window = max(warmup, run.duration_s), max(window, LONGER * width)
        elif cut is not None and cut * track.step_s > run.warmup_s:
            # The quantity settles within the run.
            warmup = max(warmup, cut * track.step_s)
            window = max(window, WANTED_TIMES * memory * track.step_s)
        else:
            # The shift at the start is small beside what varies anyway.
            warmup, window = max(warmup, run.warmup_s + width / 2), max(window, 4 * width)
    return _up(warmup), window


BATCH = 5
"""Samples to a batch of MSER-5."""
EXCESS = 1.5
"""A start counts from this many times the least squared standard error: below, it hardly depends on the cut."""


def _errors(samples: Sequence[float] | Array) -> Array:
    """Squared standard error of the mean, up to a factor, after cutting off 0, 1, 2, ... batches up to half of all."""
    import numpy as np

    count = len(samples) // BATCH
    batches = np.asarray(samples[: count * BATCH], float).reshape(count, BATCH).mean(axis=1)
    # Sums over the batches that are left; centred, so that squares do not cancel.
    rest = batches - batches.mean()
    left = np.arange(count, 0, -1)
    sums, squares = rest[::-1].cumsum()[::-1], (rest**2)[::-1].cumsum()[::-1]
    errors: Array = np.maximum(squares - sums**2 / left, 0.0) / left.astype(float) ** 2
    return errors[: count // 2 + 1]


def settled(samples: Sequence[float] | Array) -> int | None:
    """How many samples the start-up takes, by MSER-5 (White 1997): a multiple of `BATCH`.

    The samples are averaged in batches, and as many batches are cut off as make the standard error of the mean of the
    rest least. None if that is half of the series or more: then the series is too short to tell, or never settles.
    """
    if len(samples) // BATCH < 4:
        return None
    errors = _errors(samples)
    cut = int(errors.argmin())
    return None if cut >= len(errors) - 1 else cut * BATCH


def _outlasts(samples: Array, begin: int) -> int | None:
    """The end of a start-up that reaches far beyond the sample where the window begins; None of any other."""
    cut = settled(samples)
    if cut is None or cut <= begin:
        return None
    errors = _errors(samples)
    return cut if errors[min(begin // BATCH, len(errors) - 1)] > EXCESS * errors.min() else None


def _up(seconds: float) -> float:
    """The number rounded up to two figures."""
    if seconds <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return float(f"{math.ceil(seconds / unit - 1e-9) * unit:.6g}")


def _per_cent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"
