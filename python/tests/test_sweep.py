"""Sweeps: what a file means, which mistakes are named, which runs are made, what comes out."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import dumbbell

from earlydrop import _core, cli, store, sweeps
from earlydrop.analysis import paired
from earlydrop.expressions import ExpressionError, parse_condition
from earlydrop.sweeps import executors, factors, outcome, parser, report, work

BASE = f"""\
[scenario]
duration = "2 s"
{dumbbell("red", 30, of="scenario.")}
[[scenario.traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "0.5 s"] }}
"""
TWO = """\
name = "two"
seeds = 3
measures = ["goodput", "queue_delay"]
control = { aqm = "red" }
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "codel"]
[[factor]]
name = "pairs"
path = "topology.pairs"
values = [2, 4]
"""


def read(text: str, base: str = BASE) -> sweeps.Sweep:
    return parser.parse_document(tomllib.loads(text + base), Path("x.toml"))


def refused(text: str, base: str = BASE) -> str:
    with pytest.raises(sweeps.SweepError) as caught:
        read(text, base)
    return str(caught.value)


def made(asked: sweeps.Sweep, place: Path, workers: int = 2) -> sweeps.Outcome:
    executor = sweeps.Threads(asked.document, workers)
    try:
        return sweeps.run(sweeps.plan(asked), store.open_store(place), executor)
    finally:
        executor.close()


# ---- designs -------------------------------------------------------------------------------------------------------


def test_a_grid_is_the_product_of_its_levels() -> None:
    asked = read(TWO)
    names = [tuple(x.name for x in p.levels) for p in asked.points]
    assert names == [("red", "2"), ("red", "4"), ("codel", "2"), ("codel", "4")]
    assert asked.points[2].sets == (("queue.bottleneck.aqm", '"codel"'), ("topology.pairs", "2"))
    assert sweeps.plan(asked).runs == 12


def test_a_list_has_its_own_points() -> None:
    factor = '[[factor]]\npath = "queue.bottleneck.max_p"\nrange = [0.01, 0.5]\n'
    asked = read("seeds = 1\npoint = [{ max_p = 0.1 }, { max_p = 0.3 }]\n" + factor)
    assert asked.design == "list"
    assert [p.levels[0].value for p in asked.points] == [0.1, 0.3]


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_drawn_points_lie_in_their_ranges_and_repeat(kind: str) -> None:
    text = f"""
design = {{ kind = "{kind}", points = 50, seed = 3, cross = ["aqm"] }}
seeds = 1
where = "max_th > 2 * min_th"
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "tred"]
[[factor]]
path = "queue.bottleneck.min_th"
range = [1, 10]
whole = true
[[factor]]
path = "queue.bottleneck.max_th"
range = [5, 25]
[[factor]]
path = "queue.bottleneck.max_p"
range = [0.001, 1]
log = true
"""
    asked = read(text)
    values = outcome_values(asked)
    assert 40 < len(asked.points) < 100
    assert all(v == int(v) and 1 <= v <= 10 for v in values["min_th"])
    assert all(5 <= v <= 25 for v in values["max_th"])
    assert all(t > 2 * m for t, m in zip(values["max_th"], values["min_th"], strict=True))
    below = sum(v < 0.0316 for v in values["max_p"]) / len(values["max_p"])
    assert 0.35 < below < 0.65, "half of a logarithmic range lies below its geometric mean"
    assert values["aqm"].count("red") == values["aqm"].count("tred"), "crossed with every point"
    assert asked.points == read(text).points
    assert asked.points != read(text.replace("seed = 3", "seed = 4")).points


def outcome_values(asked: sweeps.Sweep) -> dict[str, list[Any]]:
    return {f.name: [p.levels[k].value for p in asked.points] for k, f in enumerate(asked.factors)}


def test_levels_may_set_several_things() -> None:
    asked = read("""
seeds = 1
[[factor]]
name = "load"
levels = [
  { name = "light", value = 2, set = { "topology.pairs" = 2, "traffic.0.tcp" = "sack" } },
  { name = "heavy", value = 9, set = { "topology.pairs" = 9 } },
]
""")
    checked = json.loads(_core.Scenario.parse(asked.document, asked.points[0].sets).to_json())
    assert (checked["topology"]["pairs"], checked["traffic"][0]["tcp"]) == (2, "sack")
    assert asked.points[1].levels[0].value == 9


def test_steps_make_levels_of_a_range() -> None:
    text = 'seeds = 1\n[[factor]]\npath = "queue.bottleneck.max_p"\nrange = [0.001, 1]\nlog = true\nsteps = 4\n'
    assert [x.value for x in read(text).factors[0].levels] == pytest.approx([0.001, 0.01, 0.1, 1])
    text = 'seeds = 1\n[[factor]]\npath = "topology.pairs"\nrange = [1, 9]\nwhole = true\nsteps = 3\nformat = "{}"\n'
    assert [x.value for x in read(text).factors[0].levels] == [1, 5, 9]


def test_a_form_gives_numbers_their_unit() -> None:
    asked = read('seeds = 1\n[[factor]]\npath = "queue.bottleneck.limit"\nvalues = [20, 40]\nformat = "{} packets"\n')
    assert asked.points[1].sets == (("queue.bottleneck.limit", '"40 packets"'),)


def test_seeds_are_common_unless_the_file_says_across_what() -> None:
    assert read(TWO).first_seeds() == [1, 1, 1, 1]
    asked = read('common = ["aqm"]\n' + TWO)
    assert asked.first_seeds() == [1, 4, 1, 4], "points that differ in the discipline only share their seeds"


def test_conditions_decide_and_refuse() -> None:
    condition = parse_condition("aqm in ['red', 'pie'] and not (n / 2 >= 10 or n == 4)", {"aqm", "n"})
    assert condition.names == ("aqm", "n")
    assert condition.holds({"aqm": "red", "n": 3})
    assert not condition.holds({"aqm": "red", "n": 4})
    assert not condition.holds({"aqm": "codel", "n": 3})
    for text in ("__import__('os')", "aqm.x", "n ** 99", "lambda: 1", "[n for n in n]", "m < 1", "n <", "-" * 90 + "n"):
        with pytest.raises(ExpressionError):
            parse_condition(text, {"aqm", "n"})
    with pytest.raises(ExpressionError, match="cannot be decided"):
        parse_condition("aqm < 3", {"aqm"}).holds({"aqm": "red"})


# ---- mistakes ------------------------------------------------------------------------------------------------------

TWELVE = "\n".join(
    f'[[factor]]\nname = "{name}"\npath = "{path}"\nvalues = {values}'
    for name, path, values in [
        ("aqm", "queue.bottleneck.aqm", '["red", "tred"]'),
        ("limit", "queue.bottleneck.limit", '["30 packets", "60 packets"]'),
        ("min_th", "queue.bottleneck.min_th", "[5, 8]"),
        ("max_th", "queue.bottleneck.max_th", "[15, 25]"),
        ("max_p", "queue.bottleneck.max_p", "[0.1, 1.5]"),
        ("w_q", "queue.bottleneck.w_q", "[0.002, 0.02]"),
        ("pairs", "topology.pairs", "[2, 4]"),
        ("rate", "topology.bottleneck.rate", '["2 Mbit/s", "4 Mbyte"]'),
        ("delay", "topology.bottleneck.delay", '["10 ms", "50 ms"]'),
        ("tcp", "traffic.0.tcp", '["reno", "sack"]'),
        ("segment", "traffic.0.segmnt", '["500 B", "1000 B"]'),
        ("window", "traffic.0.window", "[20, 1000]"),
    ]
)


def test_all_mistakes_of_a_file_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _core, "run_batch", lambda jobs: pytest.fail("nothing may run") if len(jobs) > 1 else ([], b"", [(0, "")])
    )
    message = refused("seeds = 2\n" + TWELVE + "\n")
    assert "3 mistakes" in message
    assert "factor max_p" in message
    assert "given 1.5; allowed (0, 1]" in message
    assert "factor rate" in message
    assert '"4 Mbyte"' in message
    assert "factor segment" in message
    assert "segmnt" in message
    assert message.count("factor ") == 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("seeds = 0\n" + TWO.replace("seeds = 3\n", ""), "seeds: given 0; allowed whole numbers from 1"),
        ("sedes = 3\n" + TWO, 'unknown key "sedes"; did you mean "seeds"?'),
        (TWO.replace("goodput", "godput"), 'there is no measure "godput"; did you mean "goodput"?'),
        (TWO.replace('aqm = "red" }', 'aqm = "pie" }'), "aqm has no level 'pie'; levels are red, codel"),
        (TWO.replace("values = [2, 4]", "values = [2, 2]"), "factor pairs: has the level 2 twice"),
        (TWO.replace("values = [2, 4]", "range = [2, 4]"), "in a grid give steps = N"),
        (TWO.replace("values = [2, 4]", "range = [4, 2]"), "[low, high] with low below high"),
        (TWO.replace("values = [2, 4]", "values = [2]\nrange = [1, 2]"), "given values and range; allowed one of"),
        (TWO.replace('"topology.pairs"', '"topology.prais"'), "topology.prais"),
        (TWO.replace('"topology.pairs"', '"seed"'), "seed cannot be varied"),
        ("where = 'pairs > 99'\n" + TWO, "leaves no point"),
        ("where = 'flows > 1'\n" + TWO, "there is no factor flows"),
        ("design = { kind = 'sobol' }\n" + TWO, "design: points: is missing"),
        ("design = { kind = 'tree' }\n" + TWO, "known: grid, list, random, sobol"),
        ("stop = { relative = 2 }\n" + TWO.replace("seeds = 3\n", ""), "stop: relative: given 2"),
        ("measure = [{ id = 'x', field = 'jian' }]\n" + TWO, 'a result has no field "jian"; did you mean "jain"?'),
        ("measure = [{ id = 'x', field = 'queues.bottleneck.aqm' }]\n" + TWO, "is not a number"),
        ("common = ['rate']\n" + TWO, "common: there is no factor rate"),
        ("scenario = 'missing.toml'\n" + TWO, "No such file"),
        ("scenario = 3\n" + TWO, "scenario: given 3; allowed a scenario's file"),
        ("factor = 3\n" + TWO[: TWO.index("[[factor]]")], "factor: given 3; allowed a list of tables"),
        ("queue = 'foo'\n" + TWO, 'queue: given "foo", which is no queue of the scenario; known: bottleneck'),
        ("set = { 'topology.prais' = 3 }\n" + TWO, "set: topology.prais: unknown key"),
        ("set = { 'traffic.5.count' = 3 }\n" + TWO, "set: traffic.5.count: there is no item 5"),
        ("where = 'aqm > 3'\n" + TWO, "for aqm = 'red': it compares or adds a text and a number"),
        (TWO.replace("seeds = 3", "seeds = true"), "seeds: given true; allowed whole numbers"),
        (TWO.replace('measures = ["goodput", "queue_delay"]', "measures = []"), "measures: given none"),
        ("title = true\n" + TWO, "title: given true; allowed a text"),
        ("store = 3\n" + TWO, "store: given 3; allowed a text"),
        (TWO.replace('"topology.pairs"', '"rttt"'), 'factor pairs: path: given "rttt"; did you mean "rtt"?'),
        (TWO.replace("values = [2, 4]", 'values = ["a"]\nformat = "{:d}"'), "in which 'a' cannot be written"),
        (TWO.replace("values = [2, 4]", 'values = [2]\nformat = "{0.x}"'), "in which 2 cannot be written"),
        (
            TWO.replace("values = [2, 4]", 'range = [1, 2]\nsteps = 2\nformat = "{:d}"'),
            "in which 1.0 cannot be written",
        ),
        (TWO.replace("values = [2, 4]", "values = [nan, 4]"), "values: given [nan, 4]; allowed finite numbers"),
        (
            TWO.replace('path = "topology.pairs"\nvalues = [2, 4]', "levels = [{ value = [1], set = { } }]"),
            "level 1: value: given [1]; allowed a finite number, a text or a flag",
        ),
        (
            "measure = [{ id = 'x', field = 'jain', scale = nan }]\n" + TWO,
            "measure 1: scale: given nan; allowed a finite number",
        ),
        ("measure = [{ id = 'seed', field = 'jain' }]\n" + TWO, 'measure 1: id: given "seed", a column of every'),
        ("measure = [{ id = 'goodput', field = 'jain' }]\n" + TWO, 'id: given "goodput", as one of the built-in'),
        (
            "measure = [{ id = 'x', field = 'jain' }, { id = 'x', field = 'queues.bottleneck.drop_rate' }]\n" + TWO,
            'measure 2: id: given "x", as measure 1; allowed another id',
        ),
        (TWO[: TWO.index("[[factor]]")], "at least one [[factor]]"),
    ],
)
def test_a_mistake_is_named(text: str, what: str) -> None:
    base = "" if text.startswith("scenario") else BASE
    assert what in refused(text, base)


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace('name = "pairs"\npath = "topology.pairs"\nvalues = [2, 4]', 'path = "rtt"\nvalues = ["abc"]'),
        "set = { 'topology.prais' = 3 }\n" + TWO.replace("topology.pairs", "topology.bottleneck.delay"),
        "measure = [{ id = 'x', field = 3 }]\n" + TWO,
        TWO + "[[factor]]\npath = 'topology.bottleneck.delay'\nvalues = [{ a = 1 }]\n",
    ],
    ids=["rtt", "set", "field", "values"],
)
def test_a_mistake_is_named_once(text: str) -> None:
    said = refused(text)
    assert "mistakes" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("topology.bottleneck.delay", ("20 ms", "0.02 s")),
        ("topology.bottleneck.rate", ("1 Mbit/s", "1000 kbit/s")),
        ("queue.bottleneck.aqm", ("fq_codel", "FQ-CoDel")),
        ("queue.bottleneck.limit", ("1 bdp", "1.0 bdp")),
        ("rtt", ("100 ms", "0.1 s")),
    ],
)
def test_one_level_under_two_spellings_is_refused(path: str, values: tuple[str, str]) -> None:
    said = refused(f'seeds = 1\n[[factor]]\nname = "x"\npath = "{path}"\nvalues = {json.dumps(values)}\n')
    assert (
        said == f'x.toml: factor x: given "{values[0]}" and "{values[1]}", which are the same; allowed each level once'
    )


def test_levels_that_only_look_alike_are_two() -> None:
    asked = read("""
seeds = 1
[[factor]]
name = "x"
levels = [
  { name = "red 1", set = { "topology.pairs" = 2 } },
  { name = "RED-1", set = { "topology.pairs" = 3 } },
]
[[factor]]
path = "queue.bottleneck.max_p"
values = [0.1, 0.10001]
""")
    assert len(asked.points) == 4


def test_measures_may_be_ones_own_alone() -> None:
    text = TWO.replace(
        'measures = ["goodput", "queue_delay"]', "measures = []\nmeasure = [{ id = 'x', field = 'jain' }]"
    )
    assert [m.id for m in read(text).measures] == ["x"]


def test_true_is_not_the_level_1() -> None:
    points = '[[point]]\naqm = "red"\npairs = true\n'
    asked = read(TWO.replace("values = [2, 4]", "values = [1, 4]") + points)
    with pytest.raises(sweeps.SweepError, match=r"topology\.pairs: cannot be true"):
        sweeps.plan(asked)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a sweep."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "two.toml").write_text(TWO.replace("seeds = 3", "seeds = 1") + BASE, encoding="utf-8")
    place = str(folder / "out")
    assert cli.main(["sweep", str(folder / "two.toml"), "--out", place, "--store", str(folder / "store")]) == 0
    return folder / "out"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: {"a": 1}, 'there is no "name"'),
        (lambda d: [d], "cannot be read: no JSON"),
        (lambda d: d | {"factors": 5}, "factors: given 5; allowed a list"),
        (lambda d: d | {"factors": [5]}, "factors, item 1: given 5; allowed an object"),
        (lambda d: d | {"points": [5]}, "points, item 1: given 5; allowed an object"),
        (lambda d: d | {"points": [{**d["points"][0], "levels": {}}]}, 'points, item 1: levels: there is no "aqm"'),
        (lambda d: {k: v for k, v in d.items() if k != "points"}, 'there is no "points"'),
    ],
    ids=["other", "list", "factors", "factor", "point", "levels", "no points"],
)
def test_a_document_that_no_sweep_wrote_is_named(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Any, said: str
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("sweep.json", "runs.parquet"):
        (bad / name).write_bytes((written / name).read_bytes())
    document = json.loads((bad / "sweep.json").read_text(encoding="utf-8"))
    (bad / "sweep.json").write_text(json.dumps(damage(document)), encoding="utf-8")
    for command in (["diff", bad, written], ["diff", written, bad], ["report", bad]):
        capsys.readouterr()
        code = cli.main([str(a) for a in command])
        err = capsys.readouterr().err
        assert code == 2, err
        assert err.startswith(f"error: {bad / 'sweep.json'}: {said}")
    assert not (bad / "report.html").exists()


def test_a_level_that_needs_another_is_no_mistake() -> None:
    asked = read("""
seeds = 1
where = "max_th > min_th"
[[factor]]
path = "queue.bottleneck.min_th"
values = [5, 20]
[[factor]]
path = "queue.bottleneck.max_th"
values = [15, 25]
""")
    assert len(asked.points) == 3, "min_th = 20 is wrong with the base's max_th, and right with 25"


def test_points_that_cannot_be_are_named_together(tmp_path: Path) -> None:
    asked = read("""
seeds = 1
[[factor]]
path = "queue.bottleneck.min_th"
values = [5, 20]
[[factor]]
path = "queue.bottleneck.max_th"
values = [15, 25]
""")
    with pytest.raises(sweeps.SweepError, match="point min_th = 20, max_th = 15") as caught:
        sweeps.plan(asked)
    assert "`where` can leave points out" in str(caught.value)


def test_a_trace_is_part_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("1\n2\n5\n", encoding="utf-8")
    document = tomllib.loads(TWO + BASE)
    document["scenario"]["topology"]["bottleneck"] = {"rate": {"trace": "t.trace"}, "delay": "10 ms"}
    first = sweeps.plan(parser.parse_document(document, tmp_path / "x.toml")).keys
    (tmp_path / "t.trace").write_text("1\n2\n6\n", encoding="utf-8")
    second = sweeps.plan(parser.parse_document(document, tmp_path / "x.toml")).keys
    assert not set(first) & set(second), "another trace is another scenario"


# ---- runs ----------------------------------------------------------------------------------------------------------


def test_a_sweep_gives_what_compare_gives(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('name = "s"\n' + BASE.replace("scenario.", "").replace("[scenario]\n", ""), encoding="utf-8")
    found = made(read(TWO), tmp_path / "store")
    other = paired.compare(file, ["red", "codel"], seeds=3, sets=[("topology.pairs", "2")], workers=2)
    for at, aqm in ((0, "red"), (2, "codel")):
        for measure in ("goodput", "queue_delay"):
            assert found.series(measure, at) == other.series(aqm, measure)
    cell, estimate = found.cells["queue_delay"][2], other.estimate("codel", "queue_delay")
    assert estimate is not None
    assert (cell.mean, cell.lower, cell.upper, cell.n) == (estimate.mean, estimate.lower, estimate.upper, 3)
    pair, measure, difference = found.differences[1]
    assert (pair.point, pair.control, measure) == (2, 0, "queue_delay")
    mine, theirs = difference.document(), other.differences["codel"]["queue_delay"]
    assert theirs is not None
    assert mine == theirs.document()


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    first = made(read(TWO), tmp_path / "store")
    assert (first.tally.total, first.tally.found, first.tally.made) == (12, 0, 12)
    again = made(read(TWO), tmp_path / "store")
    assert (again.tally.found, again.tally.made) == (12, 0)
    assert again.document() == first.document()
    more = made(read(TWO.replace("seeds = 3", "seeds = 5").replace("[2, 4]", "[2, 4, 8]")), tmp_path / "store")
    assert (more.tally.total, more.tally.found, more.tally.made) == (30, 12, 18)
    assert store.open_store(tmp_path / "store").verify() == []


def test_workers_change_no_result(tmp_path: Path) -> None:
    one, four = made(read(TWO), tmp_path / "one", 1), made(read(TWO), tmp_path / "four", 4)
    assert one.document() == four.document()
    tables = [store.packed(store.open_store(tmp_path / name).table()) for name in ("one", "four")]
    assert tables[0] == tables[1]


def test_equal_points_are_run_once(tmp_path: Path) -> None:
    text = TWO.replace('values = ["red", "codel"]', 'values = ["droptail", "codel"]').replace('"red" }', '"codel" }')
    text = text.replace(
        'name = "pairs"\npath = "topology.pairs"\nvalues = [2, 4]',
        'path = "queue.bottleneck.max_p"\nvalues = [0.1, 0.2]',
    )
    found = made(read(text), tmp_path / "store")
    assert found.tally.total == 6, "neither discipline has a max_p"
    assert found.cells["goodput"][0] == found.cells["goodput"][1]


def test_seeds_are_run_until_the_interval_is_narrow(tmp_path: Path) -> None:
    text = 'stop = { relative = 0.05, measures = ["goodput"], least = 3, most = 12 }\n' + TWO.replace("seeds = 3\n", "")
    found = made(read(text), tmp_path / "store")
    rule = found.sweep.stop
    assert rule is not None
    for k in range(4):
        values = found.series("goodput", k)
        assert 3 <= len(values) <= 12
        assert len(values) == 12 or rule.narrow(values)
    assert found.document() == made(read(text), tmp_path / "store").document(), "the store changes no decision"


CHAIN = """
seeds = 2
measures = ["goodput"]
[[factor]]
name = "to"
path = "traffic.0.to"
values = ["n3", "n200"]
[scenario]
duration = "1 s"
topology = { kind = "graph" }
traffic = [{ kind = "ftp", from = "n0", to = "n3" }]
"""


def chain() -> sweeps.Sweep:
    document = tomllib.loads(CHAIN)
    link = {"rate": "1 Mbit/s", "delay": "1 ms"}
    document["scenario"]["link"] = [{"from": f"n{k}", "to": f"n{k + 1}", **link} for k in range(200)]
    return parser.parse_document(document, Path("x.toml"))


def test_a_run_that_fails_is_reported_and_the_others_are_made(tmp_path: Path) -> None:
    found = made(chain(), tmp_path / "store")
    assert (found.tally.made, found.tally.failed) == (2, 2)
    assert {(f.point, f.seed) for f in found.tally.failures} == {(1, 1), (1, 2)}
    (first, _) = found.document()["failures"]
    assert first["levels"] == {"to": "n200"}
    assert first["set"] == {"traffic.0.to": '"n200"'}
    assert "too long a way" in first["reason"]
    assert found.cells["goodput"][1] == outcome.NOTHING
    again = made(chain(), tmp_path / "store")
    assert (again.tally.found, again.tally.made, again.tally.failed) == (2, 0, 2), "failures are tried again"


class Panic(BaseException):
    """What a panic of the engine looks like in Python: no Exception."""


def test_a_batch_that_breaks_costs_only_the_run_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.run_batch
    asked = read(TWO.replace("seeds = 3", "seeds = 30"))

    def broken(jobs: Any) -> Any:
        if any(seed == 17 for _, seed in jobs):
            raise Panic("index out of bounds")
        return real(jobs)

    monkeypatch.setattr(_core, "run_batch", broken)
    found = made(asked, tmp_path / "store")
    assert (found.tally.made, found.tally.failed) == (116, 4)
    assert {f.seed for f in found.tally.failures} == {17}
    assert found.tally.failures[0].reason == "Panic: index out of bounds"
    assert store.open_store(tmp_path / "store").verify() == []


def batch(scenarios: list[_core.Scenario], seeds: list[int]) -> work.Done:
    columns, _, failures = _core.run_batch(list(zip(scenarios, seeds, strict=True)))
    assert not failures
    keys = [store.scenario_key(s.to_json()) for s in scenarios]
    texts = {key: s.to_json() for key, s in zip(keys, scenarios, strict=True)}
    return work.Done(columns, keys, seeds, texts, [0.0] * len(seeds), set(), [], "e")


def test_rows_hold_lists_gaps_and_texts() -> None:
    asked = read(TWO)
    mixed = {**asked.document, "traffic": [*asked.document["traffic"], {"kind": "cbr", "rate": "100 kbit/s"}]}
    none = {**asked.document, "traffic": [{"kind": "transfers", "count": 1, "size": "5 kB"}]}
    scenarios = [_core.Scenario.parse(d, []) for d in (asked.document, mixed, none)]
    together = work.frame([batch(scenarios, [1, 1, 1])])
    apart = work.frame([batch([s], [1]) for s in scenarios])
    assert together.equals(apart), "it does not matter which runs were made together"
    frame = together
    for k, scenario in enumerate(scenarios):
        document = json.loads(scenario.run(1))
        row = frame.row(k, named=True)
        assert row["flows.goodput_mbps"] == [f["goodput_mbps"] for f in document["flows"]]
        assert row["flows.kind"] == [f["kind"] for f in document["flows"]]
        assert row["flows.tcp"] == [f["tcp"] for f in document["flows"]]
        assert row["jain"] == document["jain"]
        assert row["losses.by_distance"] == document["losses"]["by_distance"]
    assert frame["traffic.1.kind"].to_list() == [None, "cbr", None]
    assert frame.schema["flows.completion_s"] == pl.List(pl.Float64)


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with one single run, because drawing takes longer than running."""
    monkeypatch.setattr(report, "_chosen", lambda data: [0])


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """When each was written, and what is in it."""
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): (p.stat().st_mtime_ns, p.read_bytes()) for p in there}


@pytest.mark.usefixtures("few_pictures")
def test_the_command_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "two.toml", tmp_path / "res" / "two"
    file.write_text(TWO + BASE, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(out), "--json"]) == cli.DONE
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "4 points (grid of aqm (2), pairs (2)), 3 seeds each: 12 runs" in printed.err
    assert "runs to make" in printed.err or "all runs are in the store" in printed.err
    assert found["store"] == str(tmp_path / "res" / "store")
    assert json.loads((out / "sweep.json").read_text()) == {k: v for k, v in found.items() if k != "out"}
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs.columns == ["point", "aqm", "pairs", "seed", "goodput", "queue_delay"]
    assert len(runs) == 12
    points = pl.read_csv(out / "points.csv")
    assert points["goodput_mean"].to_list() == [p["cells"]["goodput"]["mean"] for p in found["points"]]
    assert len(pl.read_csv(out / "differences.csv")) == 4
    before = files(out)
    assert cli.main(["sweep", str(file), "--out", str(out), "--json"]) == cli.DONE
    again = capsys.readouterr()
    assert (again.out, files(out)) == (printed.out, before)
    assert f"{out} has these results already: nothing is written" in again.err

    def written() -> str:
        assert cli.main(["sweep", str(file), "--out", str(out)]) == cli.DONE
        printed = capsys.readouterr()
        assert "already" not in printed.err
        assert "Paired differences from red" in printed.out
        # Besides when they were written, the files are the same.
        assert {name: content for name, (_, content) in files(out).items() if name != "manifest.json"} == {
            name: content for name, (_, content) in before.items() if name != "manifest.json"
        }
        return printed.out

    (out / "points.csv").write_text("changed", encoding="utf-8")
    first = written()
    (out / "report.html").unlink()
    assert written() == first
    assert cli.main(["sweep", str(file), "--out", str(out)]) == cli.DONE
    assert capsys.readouterr().out == first, "what is printed does not depend on whether something is written"
    file.write_text(TWO.replace("seeds = 3", "seeds = 2") + BASE, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(out)]) == cli.DONE
    assert len(pl.read_parquet(out / "runs.parquet")) == 8


def test_plan_only_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO.replace("seeds = 3", "seeds = 50") + BASE, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(tmp_path / "o"), "--plan"]) == cli.DONE
    printed = capsys.readouterr()
    assert "runs to make" in printed.err
    assert not (tmp_path / "o").exists()
    assert len(store.open_store(tmp_path / "store").table()) == 16


def test_single_runs_are_spread_and_extreme() -> None:
    points = [
        {"cells": {"queue_delay": {"mean": 9.0 - (k == 33)}, "goodput": {"mean": 4.0 + (k == 44)}}} for k in range(99)
    ]
    data = report.Data({"points": points, "measures": {"queue_delay": {}, "goodput": {}}}, pl.DataFrame())
    chosen = report._chosen(data)
    assert {0, 33, 44, 98} <= set(chosen)
    assert len(chosen) <= report.SINGLE


def test_failures_end_with_code_1_and_wrong_files_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = chain().document
    file = tmp_path / "s.toml"
    from earlydrop.toml_writer import to_toml

    text = CHAIN[: CHAIN.index("[scenario]")] + to_toml(
        {"scenario": {k: v for k, v in document.items() if k != "seed"}}
    )
    file.write_text(text, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(tmp_path / "o")]) == cli.FAILED
    assert "2 runs failed" in capsys.readouterr().out
    lines = (tmp_path / "o" / "failures.jsonl").read_text().splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [1, 2]
    file.write_text("seeds = ", encoding="utf-8")
    assert cli.main(["sweep", str(file)]) == cli.WRONG_INPUT
    assert cli.main(["sweep", str(tmp_path / "none.toml")]) == cli.WRONG_INPUT
    file.write_text(TWO + BASE, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--workers", "2", "--cluster", "tcp://x:1"]) == cli.WRONG_INPUT


def test_python_has_it_too(tmp_path: Path) -> None:
    import earlydrop as ed

    found = ed.sweep.sweep(tomllib.loads(TWO + BASE), store=str(tmp_path / "store"))
    assert found.tally.made == 12
    assert isinstance(found.frame, pl.DataFrame)
    assert issubclass(executors.SweepError, Exception)


@pytest.mark.usefixtures("few_pictures")
@pytest.mark.parametrize("kind", ["grid", "random"])
def test_the_report_needs_nothing_else(tmp_path: Path, kind: str) -> None:
    text = TWO + BASE
    if kind == "random":
        text = text.replace("values = [2, 4]", "range = [2, 6]\nwhole = true")
        text = 'design = { kind = "random", points = 3, cross = ["aqm"] }\n' + text
    else:
        text = text.replace(
            "[scenario]",
            '[[factor]]\npath = "queue.bottleneck.limit"\nvalues = [20, 30]\nformat = "{} packets"\n[scenario]',
            1,
        )
    file, out = tmp_path / "two.toml", tmp_path / "two"
    file.write_text(text, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(out)]) == cli.DONE
    page = (out / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']*""", page) == []
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    drawn = [
        "Delay and goodput",
        *(["Each factor"] if kind == "random" else ["Over pairs", "Heat map: queueing delay", "Heat map: goodput"]),
    ]
    # All windows are too short here, so no level is best.
    assert titles == [*drawn, "Differences from red", "Points", "Single runs", "Scenario"]
    found = json.loads((out / "sweep.json").read_text())
    cell = found["points"][0]["cells"]["goodput"]
    assert f"{cell['mean']:.3f} ± {cell['half_width']:.3f}" in page
    short = {one["point"] for one in found["warmup"] if one["short"]}
    judged = [d for d in found["differences"] if not {d["point"], d["control_point"]} & short]
    clear = [d for d in judged if d["n"] >= 3 and (d["t_test_p_holm"] or 1) < 0.05]
    assert page.count("<td><b>") == len(clear) < len(found["differences"]), "bold is what is clear"
    assert page.count("<details>") == 1
    assert cli.main(["report", str(out)]) == cli.DONE
    assert (out / "report.html").read_text(encoding="utf-8") == page, "made again from what is in the folder"
    assert cli.main(["report", str(tmp_path)]) == cli.WRONG_INPUT


def test_the_page_on_sweeps_shows_one_that_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml sweep\n(.*?)```", page, re.S)
    asked = parser.parse_document(tomllib.loads(text), Path("loads.toml"))
    assert len(asked.points) == 11
    assert sweeps.plan(asked).runs == 110
    for name in (*parser.KEYS, *factors.FACTOR_KEYS):
        assert f"`{name}`" in page or f"`[{name}]`" in page or f"`[[{name}]]`" in page, name
