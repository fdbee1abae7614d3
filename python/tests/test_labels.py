"""Labels: what tables, figures, sentences and LaTeX call disciplines, factors and levels; they change no result."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import cli, discipline_names, links, store, sweeps, tune
from earlydrop import study as studies
from earlydrop.analysis import entries, paired
from earlydrop.render import plotting, result_text
from earlydrop.sweeps import figures, parser, report

HARD = "50 % & $x_1$ <b>"
"""Every letter of it means something to LaTeX, HTML or matplotlib."""
IN_LATEX = r"50 \% \& \$x\_1\$ \textless{}b\textgreater{}"
IN_HTML = "50 % &amp; $x_1$ &lt;b&gt;"
IN_FIGURES = r"50 % & \$x_1\$ <b>"

Say = Callable[..., Any]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """What a command prints to stdout; or to stderr, if it is refused."""

    def call(*arguments: object) -> str:
        capsys.readouterr()
        code = cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return out if code == cli.DONE else err

    return call


# ---- disciplines ---------------------------------------------------------------------------------------------------


def test_a_label_stands_everywhere_and_changes_no_result(scenario: Path, tmp_path: Path, say: Say) -> None:
    plain, labelled = tmp_path / "plain", tmp_path / "labelled"
    # The window is long enough: sentences judge nothing else.
    long = [*("--set", "duration=20 s"), *("--set", "warmup=4 s")]
    command = ["compare", scenario, "--seeds", "2", *long, "--aqm"]
    said = say(*command, "codel target=9ms", "droptail", "--out", plain)
    named = say(*command, f"{HARD} = codel target=9ms", "The FIFO, n=1 = droptail", "--out", labelled)
    assert "CoDel target=9ms" in said
    assert "CoDel" not in named
    assert f"between The FIFO, n=1 and {HARD} (" in " ".join(named.split()), "in sentences"
    titles = {"codel target=9ms": HARD, "droptail": "The FIFO, n=1"}
    documents = [json.loads((folder / "comparison.json").read_text(encoding="utf-8")) for folder in (plain, labelled)]
    assert documents[1].pop("titles") == titles
    for one in documents:
        # Sentences name disciplines.
        for key in ("titles", "labels", "summary", "warnings", "notes"):
            one.pop(key, None)
    assert documents[0] == documents[1]
    files = [
        {f.name: {**json.loads(f.read_text()), "cost": None} for f in (folder / "runs").iterdir()}
        for folder in (plain, labelled)
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 4
    table = (labelled / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert table[0].startswith("aqm,label,seed,")
    assert table[1].startswith(f"codel target=9ms,{HARD},3,")
    latex = (labelled / "comparison.tex").read_text(encoding="utf-8")
    assert latex.count(f" & {{{IN_LATEX}") == 1
    assert f"minus {IN_LATEX} &" in latex
    for write in (lambda: None, lambda: say("report", labelled)):
        write()
        page = (labelled / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
        assert f"<th>{IN_HTML}</th>" in page
        assert HARD not in page


def test_a_dict_is_the_same_as_labels_on_the_command_line(scenario: Path, say: Say) -> None:
    texts = {"A": "codel target=9ms", "B": "droptail"}
    expected = json.loads(
        say("compare", scenario, "--seeds", "2", "--json", "--aqm", "A = codel target=9ms", "B = droptail")
    )
    assert ed.compare(scenario, texts, seeds=2).document == expected
    found = ed.compare(scenario, {"A": ed.aqm.Red(min_th=4, limit=30), "B": ed.aqm.DropTail}, seeds=2)
    assert list(found.results[""].titles.values()) == ["A", "B"]
    assert found.to_frame(["goodput"])["aqm"].to_list() == ["A", "B"]
    assert set(found.runs["label"]) == {"A", "B"}
    assert re.search(r"\{A( \(!\))?\} & \{B( \(!\))?\}", found.to_latex(["goodput"]))


def test_figures_show_labels_as_they_are(scenario: Path) -> None:
    long = "A queue as it was built in 1993, and has not been since then"
    found = paired.compare(scenario, {HARD: "red", long: "droptail"}, seeds=1)
    for drawn in (plotting.comparison(found), ed.Compared({"20 ms": found, "1 s": found}).plot(["goodput"])):
        ax = drawn.axes[0]
        labels = [t.get_text() for t in ax.get_yticklabels()] + [str(line.get_label()) for line in ax.lines]
        assert IN_FIGURES in labels, "no formula"
    shown = [t.get_text() for t in plotting.comparison(found).axes[0].get_yticklabels()]
    assert shown[1].replace("\n", " ") == long
    assert max(map(len, shown[1].split("\n"))) <= plotting.NAME


@pytest.mark.parametrize(
    ("aqms", "message"),
    [
        ({"A": "red", "B": "red"}, '"red" is given twice, as "A" and "B"'),
        (["A = red", "A = codel"], '"A" is the label of both "red" and "codel"'),
        (["CoDel = red", "codel target=5ms", "codel"], '"CoDel" is the label of both "red" and "codel"'),
        (["red", "codel target = 5ms"], '("codel target" is the label: a setting has no spaces around its =)'),
        ({"A": "redd"}, 'there is no "redd"; did you mean "red"?'),
        ({"A": "red,codel"}, "given 'red,codel' under one label; allowed one discipline"),
        ({"": "red"}, "label: given ''; allowed 1 to 60 characters on one line"),
        ({5: "red"}, "label: given 5; allowed"),
        ({"a\nb": "red"}, r"label: given 'a\nb'; allowed"),
        ({"x" * 61: "red"}, "allowed 1 to 60 characters"),
        (["\x1b[31mred\x1b[0m = red"], "label: given"),
        ({}, "given none"),
        ({"A": 7}, "given 7; allowed a discipline"),
    ],
)
def test_wrong_labels_are_refused(aqms: Any, message: str) -> None:
    with pytest.raises(ed.CompareError) as error:
        entries.entries(aqms, "aqms")
    assert str(error.value).startswith("aqms: ")
    assert message in str(error.value)


def test_policies_of_one_class_are_called_by_their_names() -> None:
    def declared(name: str) -> type[ed.Policy]:
        class Shared:
            """Drops above half of the buffer."""

            def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> int:
                return ed.Verdict.drop() if 2 * queue.packets > queue.limit else ed.Verdict.PASS

        return ed.policy(name=name)(Shared)

    one, two = declared("first_half"), declared("second_half")
    assert [e.title for e in entries.entries([one, two])] == ["first_half", "second_half"]
    assert [e.title for e in entries.entries([one, ed.aqm.Red])] == ["Shared", "RED"]
    assert [e.title for e in entries.entries({"mine": one, "yours": two})] == ["mine", "yours"]


def test_a_label_is_no_part_of_a_queue_of_a_link() -> None:
    with pytest.raises(links.OptionError, match="--queue"):
        links.plan("5 Mbit/s", queue="mine = red")


def test_tune_says_the_label(scenario: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    asked = tune.problem(scenario, "RED, ours = red", ["delay"], ["max_p=0.01..0.5"])
    plain = tune.problem(scenario, "red", ["delay"], ["max_p=0.01..0.5"])
    assert asked.base == plain.base, "and so the store's keys"
    made = tune.Runs(asked, store.open_store(tmp_path / "s"), lambda base: sweeps.Threads(base, 1))
    found = tune.tune(asked, made, trials=2, seeds=1, confirm=2)
    made.close()
    assert "RED, ours at queue bottleneck" in tune.found_text(found)
    assert (found.document("")["aqm"], found.document("")["label"]) == ("red", "RED, ours")


def test_a_discipline_joins_a_study_under_its_label(tmp_path: Path) -> None:
    file = tmp_path / "labelled.py"
    file.write_text(
        "import earlydrop as ed\n\n\n@ed.policy\nclass Labelled:\n    'Drops at a full buffer.'\n\n"
        "    def on_enqueue(self, packet, queue, cx):\n        return ed.Verdict.PASS\n",
        encoding="utf-8",
    )
    (joined,) = studies.choose([studies.find("rfc7928")], [f"Ours & theirs = {file}"])
    level = joined.experiments[0].axis("aqm").level("labelled")
    assert level.title == "Ours & theirs"
    taken = joined.experiments[0].axis("aqm").level("red").title
    with pytest.raises(studies.StudyError, match=f'"{taken}" is the label of both "red" and "labelled"'):
        studies.choose([studies.find("rfc7928")], [f"{taken} = {file}"])


# ---- sweeps --------------------------------------------------------------------------------------------------------

SWEEP = """
scenario = "small.toml"
set = { duration = "20 s", warmup = "4 s" }
seeds = 2
control = { aqm = "red" }
measures = ["goodput", "queue_delay"]

[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "codel"]

[[factor]]
name = "load"
levels = [
  { name = "few", value = 2, set = { "traffic.0.count" = 2 } },
  { name = "many", value = 8, set = { "traffic.0.count" = 8 } },
]
"""
LABELLED = (
    SWEEP.replace(
        'values = ["red", "codel"]', f'title = "Queue"\nvalues = ["red", "codel"]\ntitles = ["{HARD}", "CoDel!"]'
    )
    .replace('name = "few",', 'name = "few", title = "Two senders",')
    .replace('name = "load"', 'name = "load"\ntitle = "At work"\nunit = "hosts"')
)


@pytest.fixture
def folders(scenario: Path, tmp_path: Path, say: Say) -> tuple[Path, Path]:
    """A sweep without labels, and then with some, in one store."""
    for name, text in (("plain", SWEEP), ("labelled", LABELLED)):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        said = say("sweep", tmp_path / f"{name}.toml", "--out", tmp_path / name, "--store", tmp_path / "store")
        assert "report:" in said
    return tmp_path / "plain", tmp_path / "labelled"


def test_titles_change_no_key_and_no_number(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    plain, labelled = (json.loads((f / "sweep.json").read_text(encoding="utf-8")) for f in folders)
    assert len(store.open_store(folders[0].parent / "store").table()) == 2 * 2 * 2, "no run was made again"
    for one in (plain, labelled):
        for key in ("name", "title", "summary", "factors", "best", "warnings", "notes", "warmup", "store"):
            one.pop(key)
    assert plain == labelled
    for name in ("points.csv", "differences.csv"):
        one, other = (list(csv.DictReader((f / name).read_text(encoding="utf-8").splitlines())) for f in folders)
        assert [row.pop("label") for row in one] != [row.pop("label") for row in other], name
        assert one == other


def test_titles_stand_in_texts_pages_and_latex(folders: tuple[Path, Path], say: Say) -> None:
    plain, labelled = folders
    text = (labelled / "sweep.txt").read_text(encoding="utf-8")
    assert re.search(r"^Queue +At work +n ", text, re.M), "the levels of a factor with names need no unit"
    assert re.search(rf"^{re.escape(HARD)} +Two senders +2 ", text, re.M)
    said = " ".join(text.split())
    assert f"against {HARD}: " in said
    assert f"differences from {HARD}" in said or f"Differences from {HARD}" in said
    assert f"{HARD}: red" in said, "what a label stands for"
    assert "with CoDel!" in said
    # Without titles: names.
    assert re.search(r"^aqm +load +n ", (plain / "sweep.txt").read_text(encoding="utf-8"), re.M)
    latex = (labelled / "points.tex").read_text(encoding="utf-8")
    assert f"At work & {{{IN_LATEX}}} & {{CoDel!}}" in latex
    assert "\nTwo senders & " in latex
    say("report", labelled)
    page = (labelled / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f'<td class="left">{IN_HTML}</td><td>Two senders</td>' in page
    assert '">Over At work</h2>' in page
    assert re.search(r"<td>CoDel!, Two senders( \(!\))?</td>", page)
    assert f'<h2 id="differences">Differences from {IN_HTML}</h2>' in page
    assert '<th class="left">Queue</th><th>At work</th>' in page
    assert HARD not in page


def test_titles_stand_in_figures(folders: tuple[Path, Path]) -> None:
    data = report.read_data(folders[1])
    drawn = figures.draw(data, figures.parse("goodput by aqm in load at load=2", data))
    assert {t.get_text() for t in drawn.axes[0].get_yticklabels()} == {IN_FIGURES, "CoDel!"}
    assert drawn.axes[0].get_title(loc="left") == "Two senders"
    drawn = figures.draw(data, figures.parse("goodput vs load by aqm", data))
    assert [line.get_label() for line in drawn.axes[0].lines] == [IN_FIGURES, "CoDel!"]
    assert drawn.axes[0].get_xlabel() == "At work (hosts)"
    drawn = figures.draw(data, figures.parse("goodput by aqm in load at load=8", data))
    assert drawn.axes[0].get_title(loc="left") == "At work 8 hosts", "a number says what it is of"


def test_a_difference_of_two_sweeps_is_told_with_titles(folders: tuple[Path, Path], say: Say) -> None:
    file = folders[1].with_suffix(".toml")
    file.write_text(LABELLED.replace('"20 s"', '"6 s"'), encoding="utf-8")
    say("sweep", file, "--out", folders[1].parent / "longer", "--store", folders[1].parent / "store")
    said = say("diff", folders[1], folders[1].parent / "longer")
    assert "CoDel!, Two senders" in said
    assert "CoDel!, many" in said, "a name, not the number behind it"


def test_a_unit_stands_in_the_head_where_no_level_has_it() -> None:
    def head(values: str, more: str) -> str:
        factor = f'[[factor]]\nname = "buffer"\npath = "queue.bottleneck.limit"\nvalues = {values}\n{more}'
        text = SWEEP.partition("[[factor]]")[0].replace('control = { aqm = "red" }', "") + factor
        document = tomllib.loads(text.replace('"small.toml"', "{}")) | {"scenario": SCENARIO}
        (found,) = parser.parse_document(document, Path("s.toml")).factors
        return found.head

    assert head('["20 packets", "30 packets"]', 'title = "Buffer"') == "Buffer"
    assert head("[20, 30]", 'title = "Buffer"\nunit = "packets"\nformat = "{} packets"') == "Buffer (packets)"
    assert head("[20, 30]", 'unit = "packets"\nformat = "{} packets"') == "buffer"


LINK = {"rate": "2 Mbit/s", "delay": "10 ms"}
SCENARIO = {
    "duration": "1 s",
    "topology": {"kind": "dumbbell", "pairs": 2, "access": LINK, "bottleneck": LINK},
    "queue": {"bottleneck": {"aqm": "red", "limit": "30 packets"}},
    "traffic": [{"kind": "ftp"}],
}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"CoDel!"]', f'"{HARD}"]', f'factor aqm: "{HARD}" is the title of both red and codel'),
        ('"CoDel!"]', '"red"]', None),
        ('"CoDel!"]', "]", "factor aqm: titles: given 1; allowed as many as values, 2"),
        ('name = "load"\n', 'name = "load"\ntitles = ["a", "b"]\n', "factor load: titles: belongs to values"),
        ('"Two senders"', '"many"', 'factor load: "many" is the title of both few and many'),
        ('"Two senders"', '"a\\nb"', r"factor load: title: label: given 'a\nb'; allowed 1 to 60 characters"),
        ('"Two senders"', f'"{"x" * 61}"', "allowed 1 to 60 characters"),
    ],
)
def test_wrong_titles_are_refused(old: str, new: str, message: str | None) -> None:
    assert LABELLED.count(old) == 1
    document = {**tomllib.loads(LABELLED.replace(old, new)), "scenario": SCENARIO}
    if message is None:
        parser.parse_document(document, Path("s.toml"))
        return
    with pytest.raises(sweeps.SweepError) as error:
        parser.parse_document(document, Path("s.toml"))
    assert message in str(error.value)


def test_sweeps_in_python_take_labels(tmp_path: Path) -> None:
    document = {**SCENARIO, "name": "small"}
    aqms = {"A": "red", "B": ed.aqm.CoDel()}
    found = ed.sweep(document, {"aqm": aqms, "traffic.0.count": [1, 3]}, seeds=1, measures=["goodput"], store=tmp_path)
    assert found.sweep.control == {"aqm": "A"}
    assert found.to_frame()["aqm"].unique().sort().to_list() == ["A", "B"]
    assert "{A} & {B}" in found.to_latex()
    with pytest.raises(ed.CompareError, match='factor aqm: "red" is given twice, as "A" and "B"'):
        ed.sweep(document, {"aqm": {"A": "red", "B": "red"}}, store=tmp_path)


def test_labels_are_parted_at_the_first_equals_sign_between_spaces() -> None:
    for text, parts in {
        "red": ("", "red"),
        "red min_th=5": ("", "red min_th=5"),
        "FQ = fq_codel ce_threshold=1ms": ("FQ", "fq_codel ce_threshold=1ms"),
        "a=b = red": ("a=b", "red"),
        " A  =  red": ("A", "red"),
        "A = B = red": ("A", "B = red"),
    }.items():
        assert discipline_names.labelled(text) == parts
    assert result_text.run_file("fq_codel ce_threshold=1ms", 1) == "fq_codel_ce_threshold=1ms-seed1.json"
