"""study.toml: what it may hold, and that every mistake is found when it is read."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import pytest
from conftest import SMALL

from earlydrop import study as studies
from earlydrop.analysis.measures import KINDS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the small study."""
    return Path(shutil.copytree(SMALL, tmp_path / "small"))


@pytest.fixture(scope="module")
def small() -> studies.Study:
    return studies.read(SMALL)


def changed(folder: Path, old: str, new: str) -> None:
    path = folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_axes_of_every_kind(small: studies.Study) -> None:
    a, b = small.experiments
    assert a.axis("aqm").ids == ("red", "droptail")
    assert b.axis("aqm").ids == ("red", "droptail", "sfred")
    assert a.axis("flows").level("8").set == {"topology.pairs": 8, "traffic.0.count": 8}
    assert a.axis("segment").level("500").set == {"traffic.0.segment": "500 B"}
    assert (a.axis("segment").base, a.axis("segment").literal) == ("1000", "1400")
    assert (a.axis("window").base, a.axis("window").literal) == ("1000", "1000")
    assert a.axis("segment").why == "The size of the other experiments."
    assert [(e.seeds, e.first_seed) for e in small.experiments] == [(4, 1), (3, 0)]


def test_readings_are_varied_one_at_a_time(small: studies.Study) -> None:
    a, _ = small.experiments
    off = [sum(level != base for level, base in zip(cell[2:], ("1000", "1000"), strict=True)) for cell in a.cells]
    assert set(off) == {0, 1}
    # Five combinations of discipline and flows, at the base and at three other levels.
    assert len(a.cells) == 5 * (1 + 1 + 2)
    assert not [cell for cell in a.cells if cell[:2] == ("droptail", "8")]


def test_an_experiment_may_bring_its_own_scenario(small: studies.Study) -> None:
    a, b = small.experiments
    assert b.document(b.cells[0], "small")["duration"] == "6 s"
    one = a.document(("red", "2", "1000", "1000"), "small")
    assert one["record"] == {"series": "100 ms"}
    assert one["name"] == "small/A-1/red/2/1000/1000"


def test_quick_and_assumed_are_laid_last(small: studies.Study) -> None:
    quick = studies.assume(small.as_quick(), {"tcp": "newreno", "buffer": "large"})
    a, b = quick.experiments
    assert a.axis("flows").ids == ("2", "8")
    assert [e.seeds for e in quick.experiments] == [2, 2]
    one, other = (e.document(e.cells[0], "small") for e in (a, b))
    assert (one["duration"], one["traffic"][0]["tcp"], one["queue"]["bottleneck"]["limit"]) == (
        "3 s",
        "newreno",
        "90 packets",
    )
    # The buffer is an assumption of the first experiment only.
    assert other["queue"]["bottleneck"]["limit"] == "30 packets"
    assert other["traffic"][0]["tcp"] == "newreno"
    assert dict(quick.assuming) == {"tcp": "newreno", "buffer": "large"}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"tpc": "reno"}, 'did you mean "tcp"'),
        ({"buffer": "larg"}, 'did you mean "large"'),
        ({"rate": "1 Mbit/s"}, "is a statement"),
    ],
)
def test_assumptions_that_cannot_be_exchanged(small: studies.Study, values: dict[str, str], says: str) -> None:
    with pytest.raises(studies.StudyError, match=says):
        studies.assume(small, values)


def test_a_value_that_the_scenario_refuses_is_refused_before_a_run(small: studies.Study) -> None:
    with pytest.raises(studies.StudyError, match=r"A-1.*--assume tcp=fast.*traffic\[0\].tcp"):
        studies.plan(studies.assume(small, {"tcp": "fast"}))


def test_the_own_value_of_an_assumption_changes_nothing(small: studies.Study) -> None:
    same = studies.assume(small, {"buffer": "small"})
    assert [e.document(e.cells[0], "x") for e in same.experiments] == [
        e.document(e.cells[0], "x") for e in small.experiments
    ]


def test_several_studies_take_what_they_know(small: studies.Study) -> None:
    tred = studies.find("tred")
    both = studies.assume_where_known([small, tred], {"tcp": "newreno", "buffer": "large"})
    assert [sorted(s.assuming) for s in both] == [["buffer", "tcp"], ["tcp"]]
    with pytest.raises(studies.StudyError, match=r"known|did you mean"):
        studies.assume_where_known([small, tred], {"none": "1"})


def test_published_values_are_read_by_axis_and_measure(small: studies.Study) -> None:
    table = small.tables[0]
    assert [(dict(p.at), p.measure, p.value) for p in table.printed[:2]] == [
        ({"aqm": "red", "flows": "2"}, "throughput", 1900.0),
        ({"aqm": "red", "flows": "2"}, "delay", 61.0),
    ]
    # An empty cell is not printed.
    assert len(table.printed) == 7
    # A point that is not run may still be drawn.
    assert {p.at["flows"] for p in small.figures[0].printed} == {"1", "2", "4", "16"}


MISTAKES = [
    ('question = "Does', 'questoin = "Does', r'unknown key "questoin"; did you mean "question"'),
    ('title = "Small', 'titel = "x"\ntitle = "Small', r'unknown key "titel"; did you mean "title"'),
    ('name = "small"', "name = ", "study.toml"),
    ('name = "small"', 'name = "../small"', "letters, digits"),
    ("seeds = 4", "seeds = 0", "seeds: given 0; allowed whole numbers from 1"),
    ("seeds = 4", "seeds = true", "seeds: given true; allowed whole numbers"),
    ("[quick]\nseeds = 2", "[quick]\nseed = 2", r'quick: unknown key "seed"; did you mean "seeds"'),
    ("levels = { flows = [2, 8] }", "levels = { flow = [2, 8] }", r"levels: flow: .*did you mean"),
    ("levels = { flows = [2, 8] }", "levels = { flows = [3] }", r'levels: flows: "3"'),
    ("levels = { flows = [2, 8] }", "levels = { segment = [500] }", r'the base "1000" is left out'),
    ('use = "disciplines"\nonly', 'use = "discipline"\nonly', r'axis aqm: use = "discipline".*"disciplines"'),
    ('only = ["red", "droptail"]', 'only = ["red", "dropatil"]', r'only: "dropatil".*"droptail"'),
    ("values = [2, 4, 8]", 'values = [2, "4"]', "values must be numbers"),
    ("values = [2, 4, 8]", "values = [2, 2]", "is there twice"),
    ('paths = ["topology.pairs"', 'path = ["topology.pairs"', "path"),
    ('path = "traffic.0.segment"', 'path = "traffic.7.segment"', r"A-1.*there is no item 7"),
    ('format = "{} B"', 'format = "{x} B"', "format"),
    ('base = "1000"\nwhy', 'base = "999"\nwhy', r'base = "999"'),
    ('literal = "1400"', 'literal = "9000"', 'literal = "9000": there is no such name'),
    ('reading = true\nliteral = "1400"\nbase', "base", "reading = true is missing"),
    ('base = "1000"\nlevels = [', 'base = "1000"\nliteral = "6"\nlevels = [', "only one may have a literal level"),
    ('kind = "index"', 'kind = "idea"', 'kind = "idea": there is no such name'),
    ('id = "share"\ntitle = "Share of the first flow"\nkind = "index"', 'id = "share"\ntitle = "Share"', "has no kind"),
    ('skip = [{ aqm = "droptail", flows = 8 }]', 'skip = [{ aqm = "droptale" }]', r'skip 1: aqm = "droptale"'),
    ('skip = [{ aqm = "droptail", flows = 8 }]', 'skip = [{ flows = "2..8" }]', "skips every combination"),
    ('measures = ["throughput", "delay", "first"', 'measures = ["thruput", "delay", "first"', r"did you mean"),
    ('set = { "record.series" = "100 ms" }', 'set = { "traffic.a" = 1 }', r"experiment A-1: set: traffic.a"),
    ('reduce = "sum"\nwhere', 'reduce = "total"\nwhere', r'reduce = "total"'),
    ('reduce = "sum"\nwhere = { kind = "ftp" }\n', "", r"flows\.\*\.goodput_mbps gives a list: reduce is missing"),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nwhere = { a = 1 }', "the field has no"),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nfrom_s = 1', "from_s and to_s cut a series"),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nat_most = 1', "at_most chooses among the numbers of a list"),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nadded = true', "added is said of several series"),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nreduce = "repair"', "repair is made of packet records"),
    ('field = "delay_mean_ms"', 'field = "trace"\nreduce = "followed"', "followed needs at_most"),
    ('field = "delay_mean_ms"', 'field = "trace"\nreduce = "hit"\nat_most = 1', "followed needs at_most"),
    ("from_s = 1\nto_s = 3", 'marks = { half = "30" }', r'Figure 4: marks: "half" must be a number'),
    ('field = "delay_mean_ms"', 'field = "delay_mean_ms"\nformula = "1"', "either a field or a formula"),
    ("every_seed = true", "every_seed = true, some_seed = true", "exclude each other"),
    (
        'formula = "first / others"',
        'formula = "first / other"',
        r'measure share: formula: "other".*did you mean "others"',
    ),
    ('formula = "first / others"', 'formula = "first / share"', "needs itself"),
    ('formula = "first / others"', 'formula = "open(first)"', "measure share: formula: .*not allowed"),
    ('expect = "less", each', 'expect = "fewer", each', r'claim C-1: parts 1: expect = "fewer"'),
    ('expect = "less", each', 'each = ["flows"], expect = "less", ech', r'unknown key "ech"; did you mean "each"'),
    (
        'of = { aqm = "red" }, to = { aqm = "droptail" }, at',
        'of = { aqn = "red" }, to = { aqm = "droptail" }, at',
        "aqn",
    ),
    ('of = { aqm = "red" }, to', 'of = { aqm = "rad" }, to', r'parts 1: aqm = "rad".*did you mean "red"'),
    ('at = { flows = "2..4" }', 'at = { flows = "5..7" }', "no level lies in this range"),
    ('at = { flows = "2..4" }', 'at = { aqm = "2..4" }', r'aqm = "2\.\.4"'),
    ('to = { aqm = "droptail" }, at = { flows = "2..4" }', 'to = { aqm = "droptail" }, at = { flows = 8 }', "no cell"),
    ('{ measure = "delay", of = { aqm = "red" }, along', '{ measure = "dealy", of = { aqm = "red" }, along', "dealy"),
    (
        '{ measure = "delay", of = { aqm = "red" }, along',
        '{ measure = "lost", of = { aqm = "red" }, along',
        "in experiment A-1",
    ),
    ('along = "flows", reduce = "slope"', 'along = "flow", reduce = "slope"', r'axis "flow"'),
    ('along = "flows", reduce = "slope"', 'reduce = "slope"', "along"),
    ('along = "flows", reduce = "slope"', 'along = "flows", reduce = "rise"', r'reduce = "rise"'),
    ('expect = "greater", bound = 0 }', 'expect = "greater" }', r'needs "to" or a "bound"'),
    ('form = "ratio", expect = "equal", value = 0.67', 'form = "raito", expect = "equal", value = 0.67', "raito"),
    ("ratio_at_most = 1.05", "ratio_at_most = true", "ratio_at_most: given true; allowed a number"),
    ("ratio_at_most = 1.05", "ratio_at_most = 1.05, ratio_at_least = 2", "ratio_at_most or ratio_at_least"),
    ('file = "cost.csv"', 'file = "costs.csv"', "file: costs.csv: No such file"),
    ('field = "delay_mean_ms"', 'field = "delay_mean"', "measure delay: field delay_mean: no field of a result has"),
    ('column = "instructions"', 'column = "instruction"', 'did you mean "instructions"'),
    ("buffer = [10, 100, 1000]", "buffer = [10]", "1 rows fit; at least two are compared"),
    ('before = "6"', 'before = "1000"', 'before = "1000": is no level of window off its base'),
    ('reduce = "deviation"', 'reduce = "together"', "together is said of several series"),
    ('reduce = "deviation"', 'reduce = "deviation"\nadded = true', "added is said of several series"),
    ('kind = "index"', 'kind = "index"\nmargin = { relative = 0.1 }', "reason"),
    ('kind = "index"', 'kind = "index"\nmargin = { reason = "so" }', "needs either relative or absolute"),
    ("within = [0.1, 0.9]", "within = [0.9, 0.1]", "the smaller first"),
    ('expect = "equal", bound = 0.5', 'expect = "within", bound = 0.5', "needs two numbers"),
    ('expect = "equal", bound = 0.5', 'expect = "less", value = 0.5', r'"value" belongs to "equal"'),
    ('untestable = "Waiting', 'expected = "Waiting', "needs either parts"),
    ('id = "C-2"', 'id = "C-1"', r'claim C-1: the id "C-1" is there twice'),
    ('id = "A-2"', 'id = "A-1"', "is there twice"),
    ('agrees = "ours"', 'agrees = "us"', r'claim C-1: peer 1: agrees = "us"'),
    ('by = "ours"', 'by = "us"', r'claim C-7: by = "us"'),
    ('by = "ours"\nvalue', 'by = "us"\nvalue', r'assumption tcp: by = "us"'),
    ('experiments = ["A-1"]\naxis', 'experiments = ["A-3"]\naxis', r'base_change 1: experiments: "A-3"'),
    (
        'experiments = ["A-1"]\nalternatives',
        'experiments = ["A-3"]\nalternatives',
        r'assumption buffer: experiments: "A-3"',
    ),
    ('rows = ["flows"]', 'rows = ["flow"]', r'table Table 1: axis "flow"'),
    ('fit = "segment"', 'fit = "flows"', "is no reading"),
    ('published = "published/table1.csv"', 'published = "published/table9.csv"', r"table9\.csv: No such file"),
    ('lost = "The table is missing in the copy."', 'note = "x"', "needs an experiment"),
    ('id = "Table 2"', 'id = "Table 1"', r'table "Table 1" is there twice'),
    ('kind = "lines"', 'kind = "line"', r'figure Figure 1: kind = "line".*did you mean "lines"'),
    ('x = "flows"\nlines', 'x = "flow"\nlines', r'figure Figure 1: axis "flow"'),
    ('log = "x"', 'log = "z"', r'log = "z"'),
    ("limits = { y = [0, 2500] }", "limits = { z = [0, 2500] }", r'limits: unknown key "z"'),
    ('x_measure = "delay"', 'x_measure = "daley"', "daley"),
    (
        'field = "flows.*.completion_s"\nof = { aqm = "sfred" }',
        'field = "flows.*.completion_s"',
        r'needs "of" and "to"',
    ),
    ('title = "queue" }', 'titel = "queue" }', r"figure Figure 4: lines queue|lines 1"),
    ('unreproduced = "It shows a photograph."', "", "needs a kind"),
    ("seeds = 4", "sedes = 4", r'unknown key "sedes"; did you mean "seeds"'),
    ("[[section]]", "[[sections]]", r'unknown key "sections"; did you mean "section"'),
    ('head = "Equation 1"', 'heading = "Equation 1"', "What the paper misprints"),
]


@pytest.mark.parametrize(("old", "new", "says"), MISTAKES, ids=[says for _, _, says in MISTAKES])
def test_a_mistake_is_named_with_file_and_place(folder: Path, old: str, new: str, says: str) -> None:
    changed(folder, old, new)
    with pytest.raises(studies.StudyError, match=says) as caught:
        studies.read(folder)
    assert str(caught.value).startswith(str(folder / "study.toml"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("100,104", "100", "line 3: has another number of columns than the head"),
        ("100,104", "100,104,1", "line 3: has another number of columns than the head"),
        ("100,104", "100,nan", "instructions: all values must be finite"),
        ("100,104", "100,many", "instructions: could not convert"),
    ],
)
def test_a_mistake_in_a_table_of_counts(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "cost.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(studies.StudyError, match=rf"cost\.csv: {says}"):
        studies.read(folder)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("flows,aqm,throughput", "flows,aqn,throughput", r'column "aqn".*did you mean "aqm"'),
        ("2,red,1900", "2,rad,1900", r'line 2: aqm = "rad"'),
        ("2,red,1900", "two,red,1900", r'line 2: flows = "two"'),
        ("2,red,1900", "2,red,many", r'line 2: throughput = "many" is no number'),
        ("2,red,1900", "2,red,1900,3", "another number of columns"),
    ],
)
def test_a_mistake_in_a_published_table(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "published" / "table1.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(
        studies.StudyError, match=rf"table Table 1: published: table1\.csv: .*{says}|table1\.csv: {says}"
    ):
        studies.read(folder)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('set = { "queue.bottleneck" = { aqm = "droptail", limit = "30 packets" } }',
         'set = { "queue.bottleneck" = { aqm = "droptale" } }', r"experiment A-1, DropTail, flows 2"),
        ('set = { "record.series" = "20 ms" }', 'set = { "record.serie" = "20 ms" }', "record.serie"),
        ('aqm = "red", parameters = { min_th = 5, max_th = 15, max_p = 0.1 } }',
         'aqm = "red", parameters = { min_th = 5, max_th = 1 } }', "figure Figure 9: curve RED"),
        ('aqm = "red", parameters = { min_th = 5, max_th = 15, max_p = 0.1 } }',
         'aqm = "droptail" }', "has no drop curve"),
    ],
)  # fmt: skip
def test_every_scenario_is_checked_before_the_first_run(folder: Path, old: str, new: str, says: str) -> None:
    changed(folder, old, new)
    with pytest.raises(studies.StudyError, match=says):
        studies.plan(studies.read(folder))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'field = "delay_mean_ms"',
            'field = "slowdown"',
            r"measure delay: results of experiment A-1 have no field slowdown",
        ),
        ('field = "delay_mean_ms"', 'field = "flows"', "flows is a list; say how"),
        (
            'field = "losses.by_distance"\nlines',
            'field = "losses.by_hop"\nlines',
            r"results of figure Figure 6 have no field losses.by_hop",
        ),
        (
            'field = "series.queues.bottleneck.average"',
            'field = "series.queues.neck.average"',
            "figure Figure 4 have no field",
        ),
    ],
)
def test_a_field_that_no_result_has_ends_the_study_after_a_few_runs(
    folder: Path, old: str, new: str, says: str
) -> None:
    changed(folder, old, new)
    done = 0

    def progress(now: int, total: int, what: str) -> None:
        nonlocal done
        done = now

    study = studies.read(folder)
    with pytest.raises(studies.StudyError, match=says):
        studies.run(study, progress=progress)
    assert done <= 15 < study.runs


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(studies.StudyError, match="No such file"):
        studies.read(tmp_path)


def test_the_sentences_of_the_paper_have_a_claim_or_a_reason(tmp_path: Path) -> None:
    study = studies.read(SMALL)
    assert [(one.claims, one.untestable) for one in study.statements] == [
        (("C-1",), ""),
        (("C-5",), ""),
        ((), "A definition."),
    ]
    shutil.copytree(SMALL, tmp_path / "small")
    file = tmp_path / "small" / "statements.toml"
    text = file.read_text(encoding="utf-8")
    for old, new, words in (
        (
            '["C-1"]',
            '["C-11"]',
            'statements.toml: statement 1: claims: "C-11": there is no such name; did you mean "C-1"',
        ),
        ('untestable = "A definition."', "", "statement 3: needs either claims, or tests, or a reason why it is"),
        ('untestable = "A definition."', 'tests = ["red.rs"]', "tests: red.rs: each is a file and the name of a test"),
        ('untestable = "A definition."', 'untestable = "No."\ntests = ["red.rs::a"]', "needs either claims, or tests"),
        ('untestable = "A definition."', 'untestable = "A definition."\nclaims = ["C-1"]', "needs either"),
        ('text = "A router', 'txt = "A router', '"text" is missing'),
    ):
        file.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(studies.StudyError, match=re.escape(words)):
            studies.read(tmp_path / "small")


def test_a_measure_may_have_a_margin_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(SMALL, tmp_path / "small")
    file = tmp_path / "small" / "study.toml"
    own = 'kind = "index"\nmargin = { absolute = 0.05, reason = "Nobody sees less." }'
    file.write_text(file.read_text(encoding="utf-8").replace('kind = "index"', own, 1), encoding="utf-8")
    share = studies.read(tmp_path / "small").measure("share")
    assert share.margin is not None
    assert (share.margin.size, share.margin.relative, share.margin.reason) == (0.05, False, "Nobody sees less.")
    assert studies.read(SMALL).measure("share").margin == KINDS["index"].margin
    assert studies.read(SMALL).measure("delay").bounds == (0.0, math.inf)


def test_a_quick_run_that_rescales_what_is_measured_has_no_published_values(tmp_path: Path) -> None:
    shutil.copytree(SMALL, tmp_path / "small")
    file = tmp_path / "small" / "study.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("quick = { levels = { flows", "quick = { rescaled = true, levels = { flows"))
    whole = studies.read(tmp_path / "small")
    assert any(t.printed for t in whole.tables)
    assert not any(t.printed for t in whole.as_quick().tables if t.experiment == "A-1")
