"""`earlydrop conform`: cases, verdicts, expectations, files of measures, the command."""

import json
import random
import shutil
from pathlib import Path

import pytest

import earlydrop as ed
from earlydrop import cli, conform
from earlydrop.analysis.measures import Margin
from earlydrop.conform import expectations, model, running
from earlydrop.conform.measured import FORMAT, Measured
from earlydrop.conform.model import Case, ConformError, Measure, Subject
from earlydrop.conform.verdicts import BETTER, OPEN, WITHIN, WORSE, interval, word_of
from earlydrop.conform.verdicts import test as compared
from earlydrop.store import open_store

QUICK = 102
"""A case whose runs are short."""


def measure(better: str = "less", margin: float = 0.1) -> Measure:
    return Measure("m", "Measure", "jain", None, "ms", 1.0, better, Margin(margin, True, "ours"), "", 1)  # type: ignore[arg-type]


def told(subject: list[float], reference: list[float], **of: object) -> str:
    return word_of(measure(**of), subject, reference, compared(subject, reference))  # type: ignore[arg-type]


# ---- cases ---------------------------------------------------------------------------------------------------------


def test_the_cases_cover_the_draft_and_the_areas_of_the_rfc() -> None:
    numbers = {one.number for one in conform.cases()}
    assert {one.number for one in conform.cases() if one.inside and not one.corner} == set(range(1, 23))
    assert {one.number for one in conform.cases() if one.corner} == {201, 202, 203, 204}
    assert {one.area for one in conform.cases()} == set(model.AREAS)
    criteria = [m for one in conform.cases() for m in one.measures if m.criterion]
    assert len(numbers) >= 54
    assert len(criteria) >= 25
    for one in conform.cases():
        assert "RFC" in one.source or "draft-ietf-ccwg-bbr" in one.source, one.number


def bad(tmp_path: Path, old: str, new: str) -> str:
    """The message for a case in which a text is replaced."""
    (file,) = model.FOLDER.glob("104-*.toml")
    text = file.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "case.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConformError) as error:
        model.parse(tmp_path / "case.toml")
    assert str(error.value).startswith(str(tmp_path / "case.toml"))
    return str(error.value)


def test_wrong_cases_are_refused_by_file_and_field(tmp_path: Path) -> None:
    for old, new, parts in [
        ("number = 104", "number = 0", ["number: given 0; allowed whole numbers from 1 to 9999"]),
        ('area = "alone"', 'area = "alon"', ['area = "alon"', "alone"]),
        ('area = "alone"', 'area = "inside"', ["[[expect]]"]),
        ("title = ", "titel = ", ['"title" is missing', "titel"]),
        ('margin = "5 %"', 'margin = "much"', ["margin", "much", '"5 %"']),
        ('limit = "0.1 bdp"', 'limit = "0.1 bd"', ["scenario", "queue.bottleneck.limit"]),
        ('name = "subject"', 'name = "other"', ["scenario.traffic", "subject"]),
        ("digits = 1", "digits = 1\nany = 2", ['unknown key "any"']),
    ]:
        said = bad(tmp_path, old, new)
        assert all(part in said for part in parts), said


def test_a_condition_has_known_names_only(tmp_path: Path) -> None:
    (file,) = model.FOLDER.glob("3-*.toml")
    text = file.read_text(encoding="utf-8").replace("state == Drain", "stat == Drain", 1)
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConformError, match=r"case.toml.*when.*stat"):
        model.parse(tmp_path / "case.toml")


# ---- verdicts ------------------------------------------------------------------------------------------------------


def test_a_difference_is_a_verdict_beyond_margin_and_chance() -> None:
    reference = [100.0 + k / 10 for k in range(20)]
    higher = [v + 20 for v in reference]
    assert told(higher, reference) == WORSE
    assert told(higher, reference, better="more") == BETTER
    assert told([v - 20 for v in reference], reference) == BETTER
    assert told([v + 5 for v in reference], reference) == WITHIN, "clear, but within the margin of a tenth"
    assert told([v + 5 for v in reference], reference, margin=0.01) == WORSE
    assert told(reference, reference) == WITHIN
    assert told([60.0, 150.0] * 10, reference) == OPEN, "their mean may be anywhere"
    # Runs that are all alike have a verdict, too: nothing in them is left to chance.
    assert told([2.0] * 20, [1.0] * 20) == WORSE
    assert told([1.0] * 20, [1.0] * 20) == WITHIN


def test_the_interval_is_welchs() -> None:
    a, b = [1.0, 2.0, 3.0, 4.0], [2.0, 2.5, 3.5]
    from scipy.stats import ttest_ind

    found = ttest_ind(a, b, equal_var=False).confidence_interval()
    assert interval(a, b) == pytest.approx((found.low, found.high))


def test_of_equal_distributions_few_are_flagged() -> None:
    """Of a hundred pages of eighty measures of one distribution each, at most five have a verdict: 5 % by Holm."""
    draw = random.Random(7)
    flagged = 0
    for _ in range(100):
        from earlydrop.analysis.statistics import holm

        pairs = [[[draw.lognormvariate(0, 0.3) for _ in range(20)] for _ in range(2)] for _ in range(80)]
        p = holm([compared(a, b) for a, b in pairs])
        words = [word_of(measure(margin=0.0), a, b, q) for (a, b), q in zip(pairs, p, strict=True)]
        flagged += any(word in (BETTER, WORSE) for word in words)
    assert flagged <= 5


def moved(by: float) -> Measured:
    """A stack whose every value is so much larger than in another."""
    one = conform.case(103)
    values = {m.id: [1.0 + k / 1000 + by for k in range(20)] for m in one.measures}
    return Measured("mine", "1", measures={103: values}, expected={1: [("a", [True, by == 0])]})  # type: ignore[dict-item]


def test_what_leaves_its_band_is_named_in_either_direction() -> None:
    assert conform.left(moved(0), moved(0)) == []
    found = conform.left(moved(1), moved(0))
    assert found[0].startswith("case 103: Goodput: better by 1.000 Mbit/s")
    assert any("Queueing delay: worse" in one for one in found)
    assert found[-1] == "case 1: no longer holds: a"
    assert conform.left(Measured("mine", "1"), moved(0)) == [
        "case 1: was tried before, and is not any more",
        "case 103: was tried before, and is not any more",
    ]


# ---- expectations --------------------------------------------------------------------------------------------------


def series(states: list[int]) -> dict[str, object]:
    """A run of which each sample has the next state, and is a round."""
    count = len(states)
    gauges = {name: [1.0] * count for name in model.GAUGES}
    gauges |= {"state": states, "round_count": list(range(count)), "bw_shortterm": [None] * count}
    flow = {"cwnd": [10.0] * count, "pacing_mbps": [1.448 * 8] * count, "gauges": gauges}
    queue = {"packets": [0] * count, "dropped": [0] * count}
    times = [k / 10 for k in range(count)]
    return {"series": {"time_s": times, "flows": [flow], "queues": {"bottleneck": queue}}}


def test_samples_know_the_state_before_and_how_long_it_lasted() -> None:
    rows = list(expectations.samples(series([0, 0, 0, 1, 1, 3])))
    assert rows[0]["was"] == float("inf")
    assert rows[2]["lasted"] == pytest.approx(0.2)
    assert (rows[3]["was"], rows[3]["last_rounds"], rows[3]["rounds"]) == (0, 3, 0)
    assert rows[3]["last_lasted"] == pytest.approx(0.3)
    assert (rows[5]["was"], rows[5]["last_rounds"]) == (1, 2)
    assert rows[0]["bw_shortterm"] == float("inf"), "no bound"
    assert rows[0]["pacing"] == pytest.approx(1000)


def case_of(tmp_path: Path, *expected: str) -> Case:
    """Case 3 with other expectations."""
    (file,) = model.FOLDER.glob("3-*.toml")
    head = file.read_text(encoding="utf-8").split("[[expect]]")[0]
    tables = "\n".join(f'[[expect]]\nsays = "s"\n{one}' for one in expected)
    (tmp_path / "case.toml").write_text(head + tables, encoding="utf-8")
    return model.parse(tmp_path / "case.toml")


def test_what_is_picked_is_what_must_hold(tmp_path: Path) -> None:
    pairs = [
        ('when = "state == Drain"\npick = "every"\nthen = "rounds <= 1"', True),
        ('when = "state == Drain"\npick = "every"\nthen = "rounds <= 0"', False),
        ('when = "state == ProbeRTT"\npick = "every"\nthen = "rounds <= 0"', False),
        ('when = "state == ProbeRTT"\npick = "none"', True),
        ('when = "state == Drain"\npick = "none"', False),
        ('when = "state == Drain"\npick = "some"', True),
        ('when = "state == Drain"\npick = "some"\nthen = "rounds == 5"', False),
        ('when = "state == Drain"\npick = "first"\nthen = "t < 0.35"', True),
        ('when = "state == Drain"\npick = "last"\nthen = "t < 0.35"', False),
        ('after = "state == Drain"\nwhen = "state == Startup"\npick = "none"', True),
        ('after = "state == Startup"\nwhen = "state == Drain"\npick = "first"\nthen = "was == Startup"', True),
        ('after = "state == UP"\nwhen = "t > 0"\npick = "some"', False),
    ]
    case = case_of(tmp_path, *(text for text, _ in pairs))
    found = expectations.held(case, json.dumps(series([0, 0, 0, 1, 1, 3])))
    assert found == [holds for _, holds in pairs]


@pytest.mark.parametrize("number", [3, 8, 20])
def test_our_bbr3_is_as_the_draft_has_it(number: int, tmp_path: Path) -> None:
    found = conform.measure([conform.case(number)], Subject("bbr3"), store=open_store(str(tmp_path)))
    assert all(all(holds) for _, holds in found.expected[number]), found.expected


def test_a_case_fails_where_what_it_expects_is_not_there(tmp_path: Path) -> None:
    """The flow of case 3 is not limited by the application: what case 7 expects does not hold of it."""
    from dataclasses import replace

    other = replace(conform.case(7), scenario=conform.case(3).scenario)
    found = running._inside(other, Subject("bbr3"), 1, None)
    assert not all(all(holds) for _, holds in found)


# ---- files of measures ---------------------------------------------------------------------------------------------


def document() -> dict[str, object]:
    return {
        "format": FORMAT,
        "name": "mine",
        "version": "1",
        "tcp": None,
        "stack": "quic",
        "cases": {
            "102": {"measures": {"sent": [0.01, 0.02, None]}},
            "1": {"expected": [{"says": "a", "holds": [True, False]}]},
            "109": {"why": "its flows are finite"},
        },
    }


def test_measures_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(document()), encoding="utf-8")
    found = conform.read(file)
    assert found.measures == {102: {"sent": [0.01, 0.02, None]}}
    assert found.why == {109: "its flows are finite"}
    file.write_text(json.dumps(found.document()), encoding="utf-8")
    assert conform.read(file) == found


def test_wrong_files_are_refused_by_file_and_field(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for change, said in [
        ({"format": "other"}, "format"),
        ({"name": 3}, "name: given 3"),
        ({"cases": []}, "cases"),
        ({"tcp": "cubik"}, "tcp: given"),
        ({"stack": "linux"}, "allowed null, rfc, linux-6.18, quic"),
        ({"cases": {"x": {"why": ""}}}, "is no number of a case"),
        ({"cases": {"007": {"why": ""}}}, "is no number of a case"),
        ({"cases": {"102": {}}}, "given nothing"),
        ({"cases": {"102": {"measures": {"sent": ["1"]}}}}, "measures: sent"),
        ({"cases": {"102": {"measures": {"sent": [float("nan")]}}}}, "sent"),
        ({"cases": {"102": {"measures": {}}}}, "given 0"),
        ({"cases": {"102": {"measures": {"a": [1.0], "b": [1.0, 2.0]}}}}, "given 1, 2 values"),
        ({"cases": {"102": {"measures": {"a": [1.0] * 10_001}}}}, "10001"),
        ({"cases": {str(n): {"why": ""} for n in range(1, 1002)}}, "given 1001; allowed 1000"),
        ({"cases": {"1": {"expected": [{"says": "a", "holds": [1]}]}}}, "holds"),
    ]:
        file.write_text(json.dumps({**document(), **change}), encoding="utf-8")
        with pytest.raises(ConformError) as error:
            conform.read(file)
        assert str(error.value).startswith(str(file))
        assert said in str(error.value)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(ConformError, match="is no JSON"):
        conform.read(file)
    with pytest.raises(ConformError, match="No such file"):
        conform.read(tmp_path / "none.json")


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `earlydrop conform reno --case 102`, with its store."""
    folder = tmp_path_factory.mktemp("conform")
    words = ["conform", "reno", "--case", str(QUICK), "--out", str(folder / "out"), "--workers", "2"]
    assert cli.main(words) == cli.DONE
    return folder


def test_the_command_judges_and_makes_a_page(tried: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(tried / "out/measures.json", tried / "mine.json")
    words = ["conform", str(tried / "mine.json"), "--out", str(tried / "again"), "--store", str(tried / "store")]
    assert cli.main([*words, "--stack", "rfc", "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    first = json.loads((tried / "out/conform.json").read_text(encoding="utf-8"))
    assert found["cases"] == first["cases"], "the same verdicts from the file of measures"
    verdict = found["cases"][str(QUICK)]["verdicts"]["sent"]
    assert verdict["verdict"] in (WITHIN, BETTER, WORSE, OPEN)
    assert verdict["criterion"]
    page = (tried / "out/report.html").read_text(encoding="utf-8")
    assert 'id="case-102"' in page
    assert "Half of all packets lost" in page
    assert "<img" in page


def test_one_thread_and_two_measure_the_same(tried: Path, tmp_path: Path) -> None:
    words = ["conform", "reno", "--case", str(QUICK), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert cli.main(words) == cli.DONE
    for name in ("measures.json", "conform.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tried / "out" / name).read_bytes()


def test_against_an_older_version_names_what_has_left_its_band(
    tried: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = json.loads((tried / "out/measures.json").read_text(encoding="utf-8"))
    (tmp_path / "base.json").write_text(json.dumps(new), encoding="utf-8")
    values = new["cases"][str(QUICK)]["measures"]["sent"]
    new["cases"][str(QUICK)]["measures"]["sent"] = [v + 1 for v in values]
    (tmp_path / "new.json").write_text(json.dumps(new), encoding="utf-8")
    words = ["--against", str(tmp_path / "base.json"), "--out", str(tmp_path / "out"), "--store", str(tried / "store")]
    assert cli.main(["conform", str(tmp_path / "base.json"), "--stack", "rfc", *words]) == cli.DONE
    assert "left its band" not in capsys.readouterr().out
    assert cli.main(["conform", str(tmp_path / "new.json"), "--stack", "rfc", *words]) == cli.FAILED
    assert "left its band: case 102: Sent: worse by 1.000 Mbit/s" in capsys.readouterr().out


def test_the_reference_has_the_stack_of_the_subject_where_it_can() -> None:
    assert running.reference("cubic", "quic") == Subject("cubic", "quic")
    assert running.reference("reno", "linux-6.18") == Subject("reno", "linux-6.18")
    assert running.reference("prague", "quic") == Subject("prague"), "that stack has none"


def test_wrong_words_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in [
        ([], "TCP: is missing"),
        (["cubik"], 'TCP: given "cubik" (did you mean "cubic"?); allowed reno, '),
        (["vegas"], 'TCP: given "vegas"; allowed reno, cubic, dctcp, bbr, bbr3, prague, or FILE.json'),
        (["cubic", "--stack", "linux"], "linux-6.18"),
        (["prague", "--stack", "quic", "--case", "102"], "prague (quic): case 102"),
        (["cubic", "--case", "999"], "there is no case 999"),
        (["--explain", "999"], "there is no case 999"),
        (["none.json"], "none.json: No such file"),
    ]:
        assert cli.main(["conform", *words, "--out", str(tmp_path / "out")]) == cli.WRONG_INPUT
        assert said in capsys.readouterr().err, words


def test_cases_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["conform", "--list", "--json"]) == cli.DONE
    assert len(json.loads(capsys.readouterr().out)) == len(conform.cases())
    assert cli.main(["conform", "--explain", "103"]) == cli.DONE
    said = capsys.readouterr().out
    assert "RFC 9743, 5.1.2" in said
    assert "queues.bottleneck.delay_mean_ms" in said
    assert "[topology]" in said


# ---- what the engine has for it ------------------------------------------------------------------------------------


def test_a_policer_passes_its_rate_and_has_no_queue() -> None:
    access, bottleneck = {"rate": "1 Gbit/s", "delay": "1 ms"}, {"rate": "100 Mbit/s", "delay": "5 ms"}
    network = {"kind": "dumbbell", "pairs": 1, "access": access, "bottleneck": bottleneck}
    document = {"name": "policed", "duration": "5 s", "topology": network}
    document["traffic"] = [{"kind": "cbr", "rate": "40 Mbit/s", "count": 1}]
    marker = {"kind": "token_bucket", "cir": "10 Mbit/s", "cbs": "30 kB", "meter": "aggregate", "police": True}
    document["queue"] = {"bottleneck": {"aqm": "droptail", "limit": "100 packets", "marker": marker}}
    found = ed.parse(document).run().document["queues"]["bottleneck"]
    assert found["throughput_mbps"] == pytest.approx(10.05, abs=0.05), "the rate, and the bucket once"
    assert found["forced_drops"] == found["arrivals"] - found["departures"] > 0
    assert found["queue_max_packets"] <= 1
    assert found["overflow_drops"] == 0


def test_series_have_the_states_of_bbr3_and_of_no_other() -> None:
    case = conform.case(1)
    for tcp, there in [("bbr3", True), ("cubic", False)]:
        document = ed.parse(case.document(Subject(tcp))).run().document
        (flow,) = document["series"]["flows"]
        assert ("gauges" in flow) is there
        if there:
            assert set(flow["gauges"]) == set(model.GAUGES)
            assert {len(values) for values in flow["gauges"].values()} == {len(document["series"]["time_s"])}
