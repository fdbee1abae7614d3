"""`ed.compare` and `ed.sweep`: networks, dicts and files, their tables and figures."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import earlydrop as ed
from earlydrop import cli, discipline_names
from earlydrop.analysis import entries, quantity, round_trips
from earlydrop.analysis import paired as comparisons
from earlydrop.strict_toml import parse_value

ROOT = Path(__file__).parents[2]
START = ed.uniform("0 s", "0.5 s")


def network(queue: ed.aqm.Queue | None = None) -> ed.Network:
    net = ed.dumbbell(
        pairs=4,
        access=ed.link("100 Mbit/s", "5 ms"),
        bottleneck=ed.link("2 Mbit/s", "10 ms"),
        queue=queue or ed.aqm.Tred(limit="30 packets", min_th=5, max_th=15, max_p=0.1, w_q=0.002),
    )
    return net.ftp(4, tcp="reno", segment="1000 B", start=START)


@ed.policy
class Halfway:
    """Drops arrivals above a share of the buffer."""

    share: float = ed.param(0.5, range=(0, 1), doc="Of the buffer.")

    def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> int:
        return ed.Verdict.drop() if queue.packets > self.share * queue.limit else ed.Verdict.PASS


@pytest.fixture(scope="module")
def alone() -> ed.Compared:
    aqms = [ed.aqm.Red(min_th=5), ed.aqm.CoDel(), ed.aqm.CoDel(target="20 ms"), Halfway(share=0.2)]
    return ed.compare(network(), aqms, seeds=3, duration="8 s", warmup="2 s")


@pytest.fixture(scope="module")
def over_rtts() -> ed.Compared:
    return ed.compare(network(), ["red", ed.aqm.Pie], rtt=["20 ms", "0.1 s"], seeds=2, duration="8 s", warmup="2 s")


# ---- what is compared ----------------------------------------------------------------------------------------------


def test_networks_dicts_and_files_give_the_same_numbers_as_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net, file = network(), tmp_path / "small.toml"
    net.save(file, duration="5 s")
    assert cli.main(["compare", str(file), "--aqm", "red", "droptail", "--seeds", "2", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for source, top in ((net, {"duration": "5 s"}), (net.document(duration="5 s"), {}), (file, {}), (str(file), {})):
        found = ed.compare(source, ["red", "droptail"], seeds=2, **top).document
        assert found == expected


def test_keys_of_the_scenario_are_laid_over_files(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    network().save(file, duration="5 s")
    longer = ed.compare(file, ["red"], seeds=1, duration="6 s", seed=7)
    assert longer.results[""].runs["red", 7]["duration_s"] == 6


def test_an_object_is_the_whole_queue_and_a_name_keeps_what_the_scenario_says() -> None:
    document = network().document(duration="5 s")
    known = discipline_names.catalogue()
    for given, expected in (
        ("red", {"aqm": "red", "limit": "30 packets", "min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002}),
        (ed.aqm.Red(min_th=7), {"aqm": "red", "limit": "30 packets", "min_th": 7}),
        (ed.aqm.Red(limit=9, ecn=True), {"aqm": "red", "limit": "9 packets", "ecn": True}),
        (ed.aqm.CoDel, {"aqm": "codel", "limit": "30 packets"}),
    ):
        (entry,) = entries.entries([given])
        mine, _, _ = entries.with_entry(document, [], "bottleneck", entry, known)
        assert mine["queue"]["bottleneck"] == expected
    _, sets, _ = entries.with_entry(
        document,
        [("queue.bottleneck.limit", "5"), ("queue.bottleneck.min_th", "3"), ("duration", "1 s")],
        "bottleneck",
        entries.Entry("red", {}, whole=True),
        known,
    )
    assert sets == [("queue.bottleneck.limit", "5"), ("duration", "1 s")]


def test_titles_tell_disciplines_of_one_name_apart(alone: ed.Compared) -> None:
    assert alone.aqms == ["red", "codel", "codel target=20ms", "halfway"]
    assert alone.results[""].titles["codel target=20ms"] == "CoDel target=20ms"
    made = entries.entries([ed.aqm.Red(min_th=5, max_p=0.1), ed.aqm.Red(min_th=9, max_p=0.1)])
    assert [one.title for one in made] == ["RED min_th=5", "RED min_th=9"]
    # One's own discipline with and without parameters is one version of its code.
    own = [entries.Entry("prop", digest="16c707"), entries.Entry("prop", given=(("slope", "0.1"),), digest="16c707")]
    assert [one.title for one in entries.entries(own)] == ["prop", "prop slope=0.1"]
    versions = [entries.Entry("prop", digest="16c707"), entries.Entry("prop", digest="b87567")]
    assert [one.title for one in entries.entries(versions)] == ["prop 16c707", "prop b87567"]


def test_settings_as_words_are_laid_over_the_queue() -> None:
    document, known = network().document(duration="5 s"), discipline_names.catalogue()
    given = entries.Entry("codel", given=(("target", "5ms"), ("limit", "9")))
    (entry,) = entries.entries([given])
    assert (entry.id, entry.title) == ("codel target=5ms limit=9", "CoDel target=5ms limit=9")
    sets = [("queue.bottleneck.limit", "7")]
    _, left, _ = entries.with_entry(document, sets, "bottleneck", entry, known)
    assert left == [("queue.bottleneck.target", "5ms"), ("queue.bottleneck.limit", "9")]


@pytest.mark.parametrize(
    ("aqms", "more", "message"),
    [
        (["redd"], {}, 'aqms: there is no "redd"; did you mean "red"?'),
        (["red", "red"], {}, 'aqms: "red" is given twice'),
        ([ed.aqm.Red(min_th=5), ed.aqm.Red(min_th=5)], {}, 'aqms: "red min_th=5" is given twice'),
        ([], {}, "aqms: given none"),
        ("red", {}, "aqms: given 'red'; allowed a list"),
        ([3], {}, "aqms: given 3; allowed a discipline such as"),
        (["red"], {"seeds": 0}, "seeds: given 0; allowed a whole number from 1 on"),
        (["red"], {"seeds": 2.5}, "seeds: given 2.5; allowed a whole number from 1 on"),
        (["red"], {"seeds": "3"}, "seeds: given '3'; allowed a whole number from 1 on"),
        (["red"], {"until": "2%"}, "until: given '2%'; allowed above 0 and below 1"),
        (["red"], {"until": 2}, "until: given 2; allowed above 0 and below 1"),
        (["red"], {"rtt": [0.02]}, "rtt: given 0.02; allowed a time above 0 with its unit"),
        (["red"], {"rtt": ["0 ms"]}, "rtt: given '0 ms'; allowed a time above 0"),
        (["red"], {"rtt": []}, "rtt: given none"),
        (["red"], {"rtt": ["20 ms", "20 ms"]}, 'rtt: "20 ms" is given twice'),
    ],
)
def test_what_is_wrong_is_said(aqms: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ed.CompareError, match=re.escape(message)):
        ed.compare(network(), aqms, duration="5 s", **more)


def test_a_network_needs_a_duration_and_a_source_is_one_of_three() -> None:
    with pytest.raises(ed.CompareError, match="duration: is missing"):
        ed.compare(network(), ["red"])
    with pytest.raises(ed.CompareError, match="net: given 3; allowed a network"):
        ed.compare(3, ["red"])  # type: ignore[arg-type]


def test_code_named_by_a_file_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import earlydrop as ed\n\n@ed.policy\nclass Mine:\n    def on_enqueue(self, packet, queue, cx):\n"
        "        return ed.Verdict.PASS\n",
        encoding="utf-8",
    )
    file = tmp_path / "s.toml"
    network().save(file, duration="5 s")
    text = file.read_text(encoding="utf-8").replace('aqm = "tred"', 'aqm = "mine.py"')
    file.write_text(re.sub(r"(min_th|max_th|max_p|w_q) = .*\n", "", text), encoding="utf-8")
    with pytest.raises(ed.ScenarioError, match="trust=True"):
        ed.compare(file, ["droptail"], seeds=1)
    found = ed.compare(file, ["droptail", "mine"], seeds=1, trust=True)
    assert found.aqms == ["droptail", "mine"]


def test_traces_lie_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("\n".join(str(5 * k) for k in range(1, 300)), encoding="utf-8")
    net = ed.dumbbell(
        pairs=2,
        access=ed.link("50 Mbit/s", "5 ms"),
        bottleneck=ed.link({"trace": str(tmp_path / "t.trace")}, "10 ms"),
        queue=ed.aqm.Red(limit=30),
    )
    net.ftp(2, start=START).save(tmp_path / "s.toml", duration="2 s")
    file = tmp_path / "s.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(str(tmp_path / "t.trace"), "t.trace"), encoding="utf-8")
    found = ed.compare(file, ["red"], seeds=2, rtt=["20 ms"])
    assert found.document == ed.compare(net, ["red"], seeds=2, rtt=["20 ms"], duration="2 s").document


# ---- round-trip times ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("net", "queue"),
    [
        (network(), "bottleneck"),
        (
            ed.dumbbell(
                pairs=3,
                access=ed.link("50 Mbit/s", ["1 ms", "5 ms", "9 ms"]),
                bottleneck=ed.link("5 Mbit/s", "10 ms"),
                queue=ed.aqm.Red(),
            ).ftp(3, start=START),
            "bottleneck",
        ),
        (
            ed.parking_lot(
                access=ed.link("50 Mbit/s", ed.uniform("1 ms", "9 ms")),
                bottleneck=ed.link("5 Mbit/s", "10 ms"),
                queue=ed.aqm.Red(),
            ).ftp(4, start=START),
            "bottleneck1",
        ),
        (ed.sfred(pairs=2, queue=ed.aqm.Red()).ftp(2, start=START), "bottleneck"),
        (
            ed.graph(
                [
                    ed.join("a", "r", ed.link("9 Mbit/s", "3 ms")),
                    ed.join("r", "b", ed.link("5 Mbit/s", "7 ms"), queue="q"),
                ],
                queues={"q": ed.aqm.Red()},
                pairs=[["a", "b"]],
            ).ftp(2, start=START),
            "q",
        ),
    ],
    ids=["dumbbell", "list of delays", "parking lot", "sfred", "graph"],
)
def test_rtt_is_the_mean_propagation_of_the_flows(net: ed.Network, queue: str) -> None:
    document = net.document(duration="5 s")
    for rtt, seconds in (("20 ms", 0.02), ("1.5 s", 1.5), ("700 us", 0.0007)):
        changed = round_trips.with_rtt(document, queue, rtt)
        assert round_trips.propagation(changed, queue) == pytest.approx(seconds, rel=1e-9)
        assert changed["traffic"] == document["traffic"]


def test_delays_keep_their_proportions_and_reordering_its_delay() -> None:
    bottleneck = ed.link("2 Mbit/s", "10 ms", reorder={"probability": 0.01, "delay": "5 ms"}, jitter="1 ms")
    net = ed.dumbbell(pairs=1, access=ed.link("9 Mbit/s", "5 ms"), bottleneck=bottleneck, queue=ed.aqm.Red())
    document = net.ftp(1).document(duration="5 s")
    made = round_trips.scaled(document, 2.0)["topology"]
    assert made["senders"]["delay"] == "0.01 s"
    assert made["bottleneck"]["delay"] == "0.02 s"
    assert made["bottleneck"]["reorder"]["delay"] == "0.005 s"
    assert made["bottleneck"]["jitter"] == {"uniform": ["0 s", "0.001 s"], "keep_order": True}


def test_a_network_without_tcp_has_no_rtt_to_set() -> None:
    net = ed.dumbbell(
        pairs=1, access=ed.link("9 Mbit/s", "5 ms"), bottleneck=ed.link("2 Mbit/s", "10 ms"), queue=ed.aqm.Red()
    )
    net.cbr(1, rate="1 Mbit/s", segment="1000 B")
    with pytest.raises(ed.CompareError, match="no TCP flow passes the queue bottleneck"):
        ed.compare(net, ["red"], rtt=["20 ms"], duration="5 s")


def test_each_rtt_is_a_comparison_of_its_own(over_rtts: ed.Compared) -> None:
    assert over_rtts.rtts == ["20 ms", "0.1 s"]
    assert set(over_rtts.tables) == {"20 ms", "0.1 s"}
    document = round_trips.with_rtt(network().document(duration="8 s", warmup="2 s"), "bottleneck", "20 ms")
    single = comparisons.compare(document, ["red", ed.aqm.Pie()], seeds=2)
    assert over_rtts.document["rtts"]["20 ms"] == single.document(ed.__version__)
    delays = over_rtts.table("delay").filter(aqm="RED")["mean"].to_list()
    assert delays[1] - delays[0] > 20


# ---- tables and figures --------------------------------------------------------------------------------------------


def test_tables_have_the_numbers_of_the_document(alone: ed.Compared) -> None:
    document = alone.document
    frame = alone.to_frame()
    assert frame.columns == [
        *("measure", "unit", "aqm", "mean", "lower", "upper", "n"),
        *("difference", "difference_lower", "difference_upper", "p_holm"),
    ]
    assert len(frame) == 8 * 4
    row = frame.row(by_predicate=(pl.col("measure") == "goodput") & (pl.col("aqm") == "CoDel"), named=True)
    cell, difference = document["cells"]["codel"]["goodput"], document["differences"]["codel"]["goodput"]
    assert (row["mean"], row["n"]) == (cell["mean"], cell["n"])
    assert row["upper"] - row["lower"] == pytest.approx(2 * cell["half_width"])
    assert (row["difference"], row["difference_lower"]) == (difference["mean"], difference["lower"])
    assert row["p_holm"] == difference["t_test_p_holm"]
    assert alone.table("goodput").columns == [c for c in frame.columns if c != "measure"]
    assert json.loads(alone.to_json()) == json.loads(json.dumps(document))
    assert alone.runs.shape == (12, 11)
    assert list(alone.to_frame(kind="pandas").columns) == frame.columns
    assert alone.tables[""].columns == ["measure", "RED", "CoDel", "CoDel target=20ms", "Halfway"]
    with pytest.raises(ed.CompareError, match='there is no measure "speed"; allowed: goodput'):
        alone.table("speed")


def test_text_repr_and_html_say_what_was_found(alone: ed.Compared, over_rtts: ed.Compared) -> None:
    for found in (alone, over_rtts):
        for text in (str(found), repr(found)):
            assert " ".join(text.split()).startswith(" ".join(found.summary))
        page = found._repr_html_()
        assert page.startswith("<p ")
        assert page.count("<table") == len(found.results)
        assert "Queueing delay (ms)" in page
    assert "RTT 0.1 s" in repr(over_rtts)
    for text in (" ".join(repr(over_rtts).split()), over_rtts._repr_html_()):
        assert text.count("Warning: ") == len({w for one in over_rtts.results.values() for w in one.warnings})
    named = ed.compare(network(), ["tred", "codel"], seeds=1, duration="1 s")
    assert "CoDel does not know max_p, max_th, min_th, w_q: run without." in " ".join(repr(named).split())
    assert "Paired differences" in str(alone)


def test_figures_are_matplotlibs_and_appear_in_notebooks(alone: ed.Compared, over_rtts: ed.Compared) -> None:
    from matplotlib.figure import Figure

    drawn = alone.plot()
    assert isinstance(drawn, Figure)
    png, size = drawn._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == pytest.approx(2 * size["width"], abs=2)
    panels = [ax for ax in over_rtts.plot(["goodput", "queue_delay"]).axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in panels] == ["Goodput (Mbit/s)", "Queueing delay (ms)"]
    assert panels[0].get_xlabel() == "Round-trip propagation delay (ms)"
    for panel in panels:
        assert [line.get_label() for line in panel.lines] == ["RED", "PIE"]
        assert all(line.get_xdata() == pytest.approx([20, 100]) for line in panel.lines), "where they are, in order"
    with pytest.raises(ed.CompareError, match="there is no measure"):
        alone.plot(["speed"])


def test_what_counts_as_equal_does_not_look_different() -> None:
    from earlydrop.render import plotting

    throughput = quantity.QUANTITIES[0]
    assert plotting.no_closer((4.99, 5.01), throughput) == (4.95, 5.05)
    assert plotting.no_closer((4.0, 6.0), throughput) == (4.0, 6.0)


def test_the_command_draws(scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.svg"
    command = ["compare", str(scenario), "--aqm", "red", "droptail", "--seeds", "2", "--plot"]
    assert cli.main([*command, str(file)]) == 0
    assert f"drawn to {file}" in capsys.readouterr().out
    assert "<svg" in file.read_text(encoding="utf-8")
    for wrong, said in (("c.gif", "given .gif; allowed .png, .pdf, .svg"), ("no/c.png", "there is no folder no")):
        assert cli.main([*command, wrong]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


# ---- sweeps --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ed.sweep(
        network(),
        {"aqm": [ed.aqm.Red(min_th=5), Halfway(share=0.2)], "rtt": ["20 ms", "0.1 s"]},
        seeds=2,
        measures=["goodput", "queue_delay"],
        duration="8 s",
        warmup="2 s",
        store=tmp_path_factory.mktemp("store"),
    )


def test_a_sweep_has_the_numbers_of_the_comparison(swept: Any) -> None:
    aqms = [ed.aqm.Red(min_th=5), Halfway(share=0.2)]
    found = ed.compare(network(), aqms, rtt=["20 ms", "0.1 s"], seeds=2, duration="8 s", warmup="2 s")
    for measure in ("goodput", "queue_delay"):
        theirs = found.table(measure)["mean"].to_list()
        assert swept.to_frame([measure])["mean"].to_list() == pytest.approx(theirs, rel=1e-12)
    assert swept.to_frame()["rtt"].unique().sort().to_list() == [20.0, 100.0]
    assert swept.sweep.control == {"aqm": "RED"}


def test_a_sweep_is_shown(swept: Any) -> None:
    assert repr(swept) == str(swept)
    assert "Halfway" in str(swept)
    assert swept._repr_html_().count("<tr>") == 5
    text = swept.to_latex(["goodput"])
    assert "Round-trip propagation delay & {RED} & {Halfway} " in text
    assert re.search(r"\n20 ms & [\d.]+ \\pm", text)
    assert swept.plot().axes[0].get_xlabel() == "Round-trip propagation delay (ms)"
    assert swept.plot("plane").axes
    with pytest.raises(ed.sweep.SweepError, match="kind: given 'pie'"):
        swept.plot("pie")
    with pytest.raises(ed.sweep.SweepError, match="there is no measure"):
        swept.to_latex(["speed"])


def test_sweeps_of_keys_files_and_dicts(tmp_path: Path) -> None:
    from earlydrop import api_sweep

    file = tmp_path / "s.toml"
    network().save(file, duration="4 s", seed=5)
    factors = {
        "topology.bottleneck.rate": ["1 Mbit/s", "2 Mbit/s"],
        "load": {"path": "traffic.0.count", "values": [2, 4]},
        "queue.bottleneck.max_p": [0.05, 0.1],
    }
    document = api_sweep.document_from(file, factors, seeds=1)
    assert [f["name"] for f in document["factor"]] == ["rate", "load", "max_p"]
    assert document["first_seed"] == 5
    assert document["factor"][0]["unit"] == "Mbit/s"
    assert [level["value"] for level in document["factor"][0]["levels"]] == [1.0, 2.0]
    found = ed.sweep(file, factors, seeds=1, store=tmp_path / "store")
    assert len(found.sweep.points) == 8
    again = ed.sweep(document, store=tmp_path / "store")
    assert again.tally.made == 0
    assert again.frame.equals(found.frame)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({}, "factors: given none"),
        (None, "factors: is missing"),
        ({"aqm": "red"}, "factor aqm: given 'red'; allowed a list of levels"),
        ({"aqm": ["redd"]}, 'factor aqm: there is no "redd"'),
        ({"rtt": ["20"]}, "factor rtt: given '20'; allowed a time above 0"),
        ({"queue.bottleneck.max_q": [1]}, "max_q"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_said(factors: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ed.EarlydropError, match=re.escape(message)):
        ed.sweep(network(), factors, duration="5 s", store=tmp_path)


def test_the_module_of_sweeps_is_still_one() -> None:
    from earlydrop import sweep
    from earlydrop.sweep import read, run

    assert sweep.run is run
    assert ed.sweep is sweep is sys.modules["earlydrop.sweep"]
    assert callable(read)
    assert list(inspect.signature(ed.sweep).parameters)[:3] == ["net", "factors", "seeds"]


def with_an_upload() -> dict[str, Any]:
    flow = {"kind": "ftp", "tcp": "reno", "segment": "1000 B", "start": {"uniform": ["0 s", "0.5 s"]}}
    return {
        "name": "home",
        "duration": "10 s",
        "warmup": "2 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "access": {"rate": "100 Mbit/s", "delay": "5 ms"},
            "bottleneck": {"rate": "5 Mbit/s", "delay": "5 ms"},
            "reverse": {"rate": "1 Mbit/s", "delay": "5 ms"},
        },
        "queue": {"bottleneck": {"aqm": "droptail", "limit": 30}, "reverse": {"aqm": "fq_codel", "limit": 100}},
        "traffic": [{**flow, "count": 2}, {**flow, "count": 1, "direction": "reverse"}],
    }


def test_flows_of_the_other_direction_do_not_count() -> None:
    found = ed.compare(with_an_upload(), ["droptail", "codel"], seeds=2, progress=False)
    for (aqm, seed), document in next(iter(found.results.values())).runs.items():
        downloads, upload = document["traffic"]
        passing = document["queues"]["bottleneck"]["passing"]
        assert passing["flows"] == 2
        assert passing["goodput_mbps"] == downloads["goodput_mbps"], (aqm, seed)
        assert passing["jain"] == downloads["jain"] != document["jain"]
        assert passing["delay_mean_ms"] == downloads["delay_mean_ms"]
        assert document["queues"]["reverse"]["passing"]["goodput_mbps"] == upload["goodput_mbps"]
    runs = next(iter(found.results.values()))
    goodput = [d["traffic"][0]["goodput_mbps"] for (aqm, _), d in runs.runs.items() if aqm == "codel"]
    assert runs.series("codel", "goodput") == goodput
    note = "goodput, delay end to end and Jain index are of the 2 of 3 flows whose data pass the queue"
    assert note in " ".join(repr(found).split())
    assert any(note in one for one in runs.document("x")["notes"])


def test_a_result_says_nothing_of_passing_where_all_flows_do() -> None:
    one = with_an_upload()
    one["traffic"] = one["traffic"][:1]
    found = ed.compare(one, ["droptail"], seeds=1, progress=False)
    (document,) = next(iter(found.results.values())).runs.values()
    assert all("passing" not in queue for queue in document["queues"].values())


def test_a_sweep_counts_the_flows_that_pass_too(tmp_path: Path) -> None:
    sweep = ed.sweep(with_an_upload(), {"aqm": ["droptail", "codel"]}, seeds=2, store=tmp_path, progress=False)
    runs = next(iter(ed.compare(with_an_upload(), ["droptail", "codel"], seeds=2, progress=False).results.values()))
    frame = sweep.to_frame()
    for aqm, title in zip(runs.aqms, ("DropTail", "CoDel"), strict=True):
        for measure in ("goodput", "jain", "delay"):
            (mean,) = frame.filter((pl.col("aqm") == title) & (pl.col("measure") == measure))["mean"]
            assert mean == pytest.approx(runs.estimate(aqm, measure).mean, rel=1e-12)  # type: ignore[union-attr]
    assert any("of the flows whose data pass the queue bottleneck" in note for note in sweep.notes)


def test_round_trip_times_are_a_factor_in_files_too(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "scenario": with_an_upload(),
        "seeds": 1,
        "measures": ["queue_delay", "goodput"],
        "factor": [
            {"path": "rtt", "values": ["5 ms", "80 ms"]},
            {"path": "topology.bottleneck.rate", "values": ["2 Mbit/s", "5 Mbit/s"]},
        ],
    }
    found = ed.sweep(document, store=tmp_path, progress=False)
    (rtt, _) = found.sweep.factors
    assert (rtt.name, rtt.unit, [x.value for x in rtt.levels]) == ("rtt", "ms", [5, 80])
    for level in rtt.levels:
        network = {path: parse_value(text) for path, text in level.sets}
        assert round_trips.propagation({**with_an_upload(), **network}, "bottleneck") == pytest.approx(
            level.value / 1e3
        )
    delays = found.to_frame().filter(pl.col("measure") == "queue_delay")
    assert delays.height == 4
    document["factor"].reverse()
    with pytest.raises(ed.sweeps.SweepError, match=r"factor rtt: stands behind topology\.bottleneck\.rate"):
        ed.sweep(document, store=tmp_path, progress=False)
    document["factor"] = [{"path": "rtt", "values": ["fast"]}]
    with pytest.raises(ed.sweeps.SweepError, match="factor rtt: given 'fast'; allowed a time above 0 with its unit"):
        ed.sweep(document, store=tmp_path, progress=False)


@pytest.mark.parametrize(
    ("factor", "what"),
    [
        (
            {"name": "rtt", "path": "topology.bottleneck.delay", "levels": [{"name": "a", "value": "1 ms"}]},
            "factor rtt: given levels and the path topology.bottleneck.delay; allowed path with values",
        ),
        ({"name": "x", "levels": [{"name": "a"}, {"name": "b"}]}, "none has set, so that all are the same scenario"),
    ],
)
def test_a_factor_that_changes_nothing_is_refused(factor: dict[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(ed.sweeps.SweepError, match=re.escape(what)):
        ed.sweep({"scenario": with_an_upload(), "seeds": 1, "factor": [factor]}, store=tmp_path, progress=False)
