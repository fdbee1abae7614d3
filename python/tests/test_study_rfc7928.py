"""The study `rfc7928`: its scenarios have the numbers of the RFC and of the suite, and its pieces do what they say."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell

from earlydrop import _core, cli
from earlydrop import study as studies
from earlydrop.study import discipline_levels, figures
from earlydrop.study.experiment import Experiment
from earlydrop.study.model import Study
from earlydrop.study.parser.exhibits import ONE_SIGMA
from earlydrop.study.study_table import StudyTable

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "studies/rfc7928"


@pytest.fixture(scope="module")
def whole() -> Study:
    return studies.read(FOLDER)


def scenario(e: Experiment, **at: str) -> dict[str, Any]:
    """The scenario of a cell, with every default."""
    base = {a.id: a.ids[0] for a in e.axes} | at
    document = e.document(tuple(base[name] for name in e.names), "rfc7928")
    found: dict[str, Any] = json.loads(_core.Scenario.parse(document, []).to_json())
    return found


def test_every_discipline_can_be_chosen(whole: Study) -> None:
    names = {entry["name"] for entry in json.loads(_core.catalogue()) + json.loads(_core.folded())}
    for e in whole.experiments:
        assert set(e.axis("aqm").ids) == names, e.id
    assert whole.choice is not None
    assert set(whole.choice.default) < names


def test_the_buffer_is_the_same_for_all(whole: Study) -> None:
    for e in whole.choosing(["yellow", "fq_codel"]).experiments:
        first = "bottleneck1" if e.id.startswith("R-10") else "bottleneck"
        limits = {json.dumps(scenario(e, aqm=name)["queue"][first]["limit"]) for name in e.axis("aqm").ids}
        assert limits == {'"500 packets"' if e.id in {"R-8.2.6a", "R-8.2.6b", "R-9.1"} else '"45 packets"'}, e.id


def test_the_loads_are_those_of_section_8_2(whole: Study) -> None:
    """N = sqrt(l / 0.76) S, where S is the buffer plus the bandwidth-delay product, in packets of 750 B."""
    e = whole.experiment("R-8.2")
    s = 45 + 1e6 * 0.1 / (8 * 750)
    wanted = {"mild": 0.001, "medium": 0.005, "heavy": 0.01}
    for name, loss in wanted.items():
        flows = scenario(e, load=name)["traffic"][0]["count"]
        assert flows == round(math.sqrt(loss / 0.76) * s), name


def test_thresholds_come_from_the_buffer(whole: Study) -> None:
    for name, limit in (("R-8.2", 45), ("R-9.1", 500)):
        red = scenario(whole.experiment(name), aqm="red")["queue"]["bottleneck"]
        assert (red["min_th"], red["max_th"]) == (round(limit / 9), round(limit / 3))
        pi = scenario(whole.experiment(name), aqm="pi")["queue"]["bottleneck"]
        assert pi["q_ref"] == pytest.approx((red["min_th"] + red["max_th"]) / 2, abs=0.6)


def test_round_trip_times(whole: Study) -> None:
    e = whole.experiment("R-6")
    for level in e.axis("rtt").levels:
        t = scenario(e, rtt=level.id)["topology"]
        one, two = (float(x.split()[0]) for x in t["senders"]["delay"])
        rest = float(t["bottleneck"]["delay"].split()[0]) + float(t["receivers"]["delay"].split()[0])
        unit = {text.split()[1] for text in (t["bottleneck"]["delay"], *t["senders"]["delay"])}
        scale = 2000 if unit == {"s"} else 2
        assert scale * (one + rest) == pytest.approx(100)
        assert scale * (two + rest) == pytest.approx(level.value)


def test_the_second_direction_has_the_same_discipline(whole: Study) -> None:
    e = whole.experiment("R-9.2")
    for name in ("red", "pie"):
        queues = scenario(e, aqm=name)["queue"]
        assert queues["reverse"] == queues["bottleneck"]
        assert queues["reverse"]["aqm"] == name


def test_two_queues_in_a_row(whole: Study) -> None:
    same = scenario(whole.experiment("R-10a"), aqm="pie")["queue"]
    assert same["bottleneck1"] == same["bottleneck2"]
    assert same["bottleneck1"]["aqm"] == "pie"
    other = scenario(whole.experiment("R-10b"), aqm="pie")["queue"]
    assert other["bottleneck2"]["qdelay_ref"] == other["bottleneck1"]["qdelay_ref"] / 2
    tail = scenario(whole.experiment("R-10c"), aqm="pie")["queue"]
    assert (tail["bottleneck1"]["aqm"], tail["bottleneck2"]["aqm"]) == ("pie", "droptail")


def test_settings_are_halved_and_doubled(whole: Study) -> None:
    e = whole.choosing(["red", "codel"]).experiment("R-8.3")
    found = {level.id for level in e.axis("setting").levels}
    assert {"base", "red.max_p.2", "red.w_q.0.5", "codel.target.2", "codel.interval.0.5"} <= found
    assert not any(name.startswith("pie.") for name in found)
    assert scenario(e, aqm="red", setting="red.max_p.2")["queue"]["bottleneck"]["max_p"] == 0.2
    assert ("codel", "red.max_p.2") not in e.cell_set
    # 0.6 of the band would become 1.2.
    ared = {level.id for level in whole.experiment("R-8.3").axis("setting").levels if level.id.startswith("ared.")}
    assert "ared.band_high.0.5" not in ared or "ared.band_high.2" not in ared


def test_a_choice_keeps_what_is_always_run(whole: Study) -> None:
    for e in whole.choosing(["pie"]).experiments:
        assert e.axis("aqm").ids == ("droptail", "pie")
    (default,) = studies.choose([whole], [])
    assert default.experiment("R-6").axis("aqm").ids == tuple(
        name
        for name in whole.experiment("R-6").axis("aqm").ids
        if name in whole.choice.default  # type: ignore[union-attr]
    )
    (every,) = studies.choose([whole], ["all"])
    assert every.experiment("R-6").axis("aqm").ids == whole.experiment("R-6").axis("aqm").ids
    with pytest.raises(studies.StudyError, match='did you mean "codel"'):
        studies.choose([whole], ["codle"])


def test_disciplines_of_other_studies_are_fixed() -> None:
    tred = studies.read(ROOT / "studies/tred")
    with pytest.raises(studies.StudyError, match=r"fixed.*rfc7928"):
        studies.choose([tred], ["pie"])


def test_a_chosen_discipline_is_run_in_a_quick_study_too(whole: Study) -> None:
    quick = whole.choosing(["yellow"]).as_quick()
    assert all(e.axis("aqm").ids == ("droptail", "yellow") for e in quick.experiments)


def test_schemes_that_are_a_setting_of_a_discipline_run_under_their_own_names(whole: Study) -> None:
    e = whole.experiment("R-8.3")
    levels = {level.id: level for level in e.axis("aqm").levels}
    queue = levels["autored"].set["queue.bottleneck"]
    assert queue == {**levels["floadautored"].set["queue.bottleneck"], "stage": "auto"}
    settings = set(e.axis("setting").ids)
    assert {"floadautored.gamma.2", "autored.w_lo.2", "pid.kd.2"} <= settings
    assert not {"autored.gamma.2", "pi.kd.2"} & settings


def test_cost_is_what_was_measured_and_declared() -> None:
    """The table of costs repeats what docs/performance.md shows, and the catalogue."""
    with (ROOT / "docs/data/decisions.csv").open(newline="", encoding="utf-8") as file:
        measured = {row["discipline"].strip("`"): row["instructions"] for row in csv.DictReader(file)}
    with (FOLDER / "cost.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["Discipline"]: row for row in csv.DictReader(file)}
    for entry in json.loads(_core.catalogue()):
        row = rows.pop(entry["name"])
        assert row["Instructions a packet"] == measured[entry["name"]], entry["name"]
        assert int(row["Parameters"]) == len(entry["parameters"]), entry["name"]
        assert int(row["Of these automatic"]) == sum(p["default"] == "auto" for p in entry["parameters"])
    assert not rows


def test_unknown_parameters_are_refused() -> None:
    given = {"disciplines": {"queue.bottleneck": {"limit": "9 packets", "known": {"max_pp": 0.1}}}}
    with pytest.raises(studies.StudyError, match=r'known: "max_pp".*did you mean "max_p"'):
        discipline_levels.levels(StudyTable(given, "levels x"))


# ---- the ellipse ---------------------------------------------------------------------------------------------------


def test_the_half_axes_of_one_sigma_are_standard_deviations() -> None:
    xs, ys = [1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 3.0, -3.0]
    outline = figures.ellipse(xs, ys, ONE_SIGMA)
    assert max(outline[0]) == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert max(outline[1]) == pytest.approx(math.sqrt(4.5), rel=1e-3)
    wide = figures.ellipse(xs, ys, ONE_SIGMA**4)
    assert max(wide[0]) == pytest.approx(2 * math.sqrt(0.5), rel=1e-3)


def test_an_ellipse_lies_along_its_points() -> None:
    xs = [0.0, 1.0, 2.0, 3.0]
    px, py = figures.ellipse(xs, [2 * x + 1 for x in xs], ONE_SIGMA)
    assert all(y == pytest.approx(2 * x + 1) for x, y in zip(px, py, strict=True))
    assert figures.ellipse([1.0, 2.0], [1.0, 2.0], ONE_SIGMA) == ([], [])


# ---- what the page and its data say --------------------------------------------------------------------------------


def test_the_data_have_every_experiment_and_every_claim(whole: Study) -> None:
    for name, ids in (("scenarios", [e.id for e in whole.experiments]), ("claims", [c.id for c in whole.claims])):
        with (ROOT / f"docs/data/rfc7928-{name}.csv").open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file)
        assert [row[0] for row in rows] == ids
    page = (ROOT / "docs/study-rfc7928.md").read_text(encoding="utf-8")
    assert all(re.search(rf"\b{claim.id}\b", page) for claim in whole.claims)


def test_reproduce_writes_a_page_for_each_discipline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL, encoding="utf-8")
    (folder / "facts.csv").write_text("Discipline,Year\nred,1993\ndroptail,1980\npie,2013\n", encoding="utf-8")
    out = tmp_path / "out"
    assert cli.main(["reproduce", str(folder), "--aqm", "red", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "red" in said.lower()
    assert sorted(p.name for p in (out / "pages").iterdir()) == ["droptail.html", "red.html"]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert 'href="pages/red.html"' in report
    assert "1993" in report
    assert "2013" not in report
    page = (out / "pages/red.html").read_text(encoding="utf-8")
    assert "RED beside DropTail" in page
    assert 'href="../report.html"' in page
    assert "Only on pages" in page
    assert "Only on pages" not in report
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["chosen"] == ["red"]
    (cell,) = [c for c in result["experiments"][0]["cells"] if c["aqm"] == "red" and c["setting"] == "red.max_p.2"]
    assert cell["factor"]["mean"] == 2.0
    assert cell["change"]["mean"] == pytest.approx(cell["ratio"]["mean"])


SMALL = f"""
name = "small"
title = "A small choice"
question = "Is there a page for each?"
seeds = 3

[source]

[choice]
axis = "aqm"
default = ["red", "pie"]
always = ["droptail"]
pages = true

[levels.all.disciplines."queue.bottleneck"]
limit = "20 packets"
known = {{ min_th = 3, max_th = 9, max_p = 0.1 }}

[scenario]
name = "small"
duration = "6 s"
warmup = "1 s"

{dumbbell("droptail", 20, pairs=3, bottleneck=("1 Mbit/s", "10 ms"), access=("10 Mbit/s", "1 ms"), of="scenario.")}
[[scenario.traffic]]
kind = "ftp"
count = 3
stack = "rfc"
start = {{ uniform = ["0 s", "1 s"] }}

[scenario.record]
series = "100 ms"
rates = "1 s"

[[experiment]]
id = "A"
title = "Settings"

[[experiment.axis]]
id = "aqm"
title = "Discipline"
use = "all"

[[experiment.axis]]
id = "setting"
title = "Setting"
vary = {{ axis = "aqm", queue = "queue.bottleneck", factors = [2], leave = ["mean_packet", "max_packet", "mark_p"] }}

[[measure]]
id = "delay"
title = "Delay"
unit = "ms"
field = "queues.bottleneck.delay_mean_ms"

[[measure]]
id = "goodput"
title = "Goodput"
unit = "Mbit/s"
field = "goodput_total_mbps"

[[measure]]
id = "even"
title = "Goodput of even seconds"
field = "rates.flows.*.goodput_mbps"
reduce = "mean"
from_s = 0
to_s = 1
repeat_s = 2

[[measure]]
id = "change"
title = "Change"
field = "queues.bottleneck.delay_mean_ms"
against = {{ setting = "base" }}

[[measure]]
id = "ratio"
title = "The same"
formula = "change * factor / setting"

[[measure]]
id = "factor"
title = "Factor"
formula = "setting"

[[figure]]
id = "Plane"
title = "On both"
experiment = "A"
kind = "plane"
lines = "aqm"
x_measure = "delay"
y_measure = "goodput"

[[figure]]
id = "Series"
title = "Only on pages"
experiment = "A"
kind = "series"
panels = "aqm"
only = "pages"
lines = [{{ field = "series.queues.bottleneck.packets", title = "queue" }}]

[[table]]
id = "Facts"
title = "Years"
facts = "facts.csv"
"""


# ---- variation of delays and losses ----------------------------------------------------------------------------------


def test_every_scenario_shows_the_variation_of_delays_and_its_losses(whole: Study) -> None:
    """Sections 2.3 and 2.6; the sweep of settings, 8.3, is about delay and goodput alone."""
    for e in whole.experiments:
        if e.id == "R-8.3":
            continue
        record = scenario(e)["record"]
        assert record["jitter"], e.id
        assert record["losses"], e.id
        shown = {name for t in whole.tables if t.experiment == e.id for name in t.measures}
        classes = {name.partition("_")[2] for name in shown if name.startswith("pdv99_")}
        both = {"pdv", "pdv_p99"} <= shown or (classes and all(f"pdv_{name}" in shown for name in classes))
        assert both or e.id == "R-4.5", e.id
        assert any(name.startswith("gap") for name in shown) or e.id == "R-4.5", e.id


HAND = f"""
name = "hand"
title = "By hand"
question = "Are the columns what they say?"
seeds = 1

[source]

[scenario]
name = "hand"
duration = "31.2 s"
warmup = "1.2 s"

{dumbbell("droptail", 9, pairs=3, bottleneck=("1 Mbit/s", "10 ms"), access=("100 Mbit/s", "1 ms"), of="scenario.")}
[[scenario.traffic]]
kind = "cbr"
name = "UDP"
count = 2
rate = "0.75 Mbit/s"
segment = "750 B"
header = "0 B"
start = ["0.5 ms", "4.5 ms"]

[[scenario.traffic]]
kind = "cbr"
name = "first"
rate = "1 Mbit/s"
segment = "125 B"
header = "0 B"
stop = "0.1 ms"

[scenario.record]
jitter = true
losses = true

[[experiment]]
id = "A"
title = "Two streams"

[[experiment.axis]]
id = "event"
title = "Length of a loss event"
values = [10, 100]
format = "{{}} ms"
path = "record.loss_rtt"
"""


def test_variation_and_losses_by_hand(tmp_path: Path) -> None:
    """Packets of two streams by turns, one each 4 ms; the link takes 6 ms for one.

    The queue is full: of three packets in 12 ms two find room, and the third, which is of the one and of the other
    stream by turns, is lost: 24 ms lie between two losses of a stream. When a packet comes with room, the last one left
    x or x + 2 ms ago, and its wait is 9 times 6 ms less that: half of the packets are 2 ms later than the others. A
    loss event of 10 ms has one loss, and packets of both streams; one of 100 ms has losses of both. (A small packet
    goes first, so that no packet comes at the moment at which one leaves.)
    """
    names = ["pdv", "pdv_p99", "pdv_UDP", "pdv99_UDP", "gap", "gap_p50", "gap_UDP", "sync", "losing"]
    text = (FOLDER / "study.toml").read_text(encoding="utf-8")
    measures = [re.search(rf'^\[\[measure\]\]\nid = "{name}"\n(?:.+\n)+', text, re.MULTILINE) for name in names]
    folder = tmp_path / "hand"
    folder.mkdir()
    (folder / "study.toml").write_text("\n".join([HAND, *(m[0] for m in measures if m)]), encoding="utf-8")
    out = tmp_path / "out"
    assert cli.main(["reproduce", str(folder), "--out", str(out)]) == 0
    cells = json.loads((out / "result.json").read_text(encoding="utf-8"))["experiments"][0]["cells"]
    wanted = {
        "pdv": 1.0,
        "pdv_p99": 2.0,
        "pdv_UDP": 1.0,
        "pdv99_UDP": 2.0,
        "gap": 0.024,
        "gap_p50": 0.024,
        "gap_UDP": 24.0,
    }
    for cell, sync, losing in zip(cells, (50.0, 100.0), (1.0, 2.0), strict=True):
        found = {name: cell[name]["mean"] for name in names}
        # Quantiles are to 0.1 % or a microsecond.
        assert found == pytest.approx({**wanted, "sync": sync, "losing": losing}, rel=2e-3), cell["event"]
