"""The Python face: building networks, results as tables, classes from the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import polars
import pytest

import earlydrop as ed
from earlydrop import aqm, schema


def network() -> ed.Network:
    net = ed.dumbbell(
        pairs=4,
        access=ed.link("100 Mbit/s", "5 ms"),
        bottleneck=ed.link("2 Mbit/s", "10 ms"),
        queue=ed.aqm.Tred(limit="30 packets", min_th=5, max_th=15, max_p=0.1, w_q=0.002),
    )
    return net.ftp(4, tcp="reno", segment="1000 B", start=ed.uniform("0 s", "0.5 s"))


def test_a_network_runs_and_gives_tables() -> None:
    result = network().run(duration="5 s", seed=2)
    assert result.seed == 2
    assert result.queues["queue"].to_list() == ["bottleneck"]
    assert result.queues["aqm"].to_list() == ["tred"]
    assert len(result.flows) == 4
    assert result.series is None
    assert 0.25 <= result.jain <= 1


def test_a_series_is_a_table_over_time() -> None:
    result = network().run(duration="5 s", seed=2, record={"series": "100 ms", "gauges": True, "cwnd_flows": [1]})
    assert result.series is not None
    assert {"bottleneck.packets", "bottleneck.gauges.p_b", "flow 1.cwnd"} <= set(result.series.columns)
    assert result.series["bottleneck.gauges.avg"].to_list() == result.series["bottleneck.average"].to_list()
    assert result.series["time_s"].is_sorted()
    assert len(result.series) >= 49


def test_rates_are_a_table_over_time() -> None:
    net = network()
    assert net.run(duration="5 s", seed=2).rates is None
    result = net.run(duration="5 s", seed=2, record={"rates": "2 s", "rate_flows": [3, 1], "by_flow": True})
    rates, shares = result.rates, result.shares()
    assert rates is not None
    assert shares is not None
    names = ["flow 3.goodput", "flow 1.goodput", "bottleneck.flow 3.throughput", "bottleneck.flow 1.throughput"]
    assert rates.columns == ["time_s", *names]
    assert rates["time_s"].to_list() == [0, 2, 4]
    for row in (2, 0):
        goodput = rates[f"flow {row + 1}.goodput"].dot(polars.Series([2, 2, 1]))
        assert goodput == pytest.approx(5 * result.flows["goodput_mbps"][row])
        left = rates[f"bottleneck.flow {row + 1}.throughput"].dot(polars.Series([2, 2, 1]))
        assert left == pytest.approx(8e-6 * shares["departed_bytes"][row])


def test_delays_and_losses_are_in_the_tables() -> None:
    net = network()
    plain = net.run(duration="20 s", seed=2)
    assert "pdv_p99_ms" not in plain.flows.columns
    assert "loss_events" not in plain.queues.columns
    result = net.run(duration="20 s", seed=2, record={"jitter": True, "losses": True})
    flows, entry, queue = result.flows, result.traffic.row(0, named=True), result.queues.row(0, named=True)
    for column in plain.flows.columns:
        assert flows[column].to_list() == plain.flows[column].to_list(), column
    # A mean is the least and what is above it.
    for flow in flows.iter_rows(named=True):
        assert flow["delay_mean_ms"] == pytest.approx(flow["delay_min_ms"] + flow["pdv_mean_ms"], abs=1e-4)
        assert 0 < flow["pdv_p50_ms"] <= flow["pdv_p95_ms"] <= flow["pdv_p99_ms"]
        assert 0 < flow["interarrival_jitter_mean_ms"] < flow["pdv_p99_ms"]
    assert entry["data_lost"] == flows["data_lost"].sum() == queue["early_drops"] + queue["overflow_drops"]
    assert entry["data_lost"] > 10
    assert entry["loss_ratio"] == pytest.approx(flows["data_lost"].sum() / flows["data_sent"].sum())
    weighted = [r * d**2 for r, d in zip(flows["received_packets"], flows["delay_std_ms"], strict=True)]
    assert entry["delay_std_ms"] ** 2 == pytest.approx(sum(weighted) / entry["received_packets"])
    assert 0 < queue["loss_events"] <= entry["data_lost"]
    assert 1 / len(flows) <= queue["loss_synchronisation"] <= 1
    assert 1 <= queue["flows_losing_mean"] <= len(flows)
    assert result.document["cov"] == pytest.approx((1 / result.jain - 1) ** 0.5)


def test_shares_of_a_queue_add_up() -> None:
    net = network()
    net.cbr(2, rate="200 kbit/s", segment="500 B")
    assert net.run(duration="5 s", seed=2).shares() is None
    result = net.run(duration="5 s", seed=2, record={"by_flow": True})
    flows, entries, classes = (result.shares(by) for by in ("flows", "traffic", "classes"))
    assert flows is not None
    assert entries is not None
    assert classes is not None
    queue = result.document["queues"]["bottleneck"]
    for column in ("arrivals", "departures", "departed_bytes"):
        for table in (flows, entries, classes):
            assert table[column].sum() == queue[column], column
    assert flows["drops"].sum() == queue["early_drops"] + queue["forced_drops"] + queue["overflow_drops"]
    assert classes["class"].to_list() == ["tcp", "udp"]
    assert classes["utilisation"].sum() == pytest.approx(queue["utilisation"])
    # Here a class is one entry, so that its quantiles are the entry's.
    for column in ("delay_p50_ms", "delay_p95_ms", "delay_p99_ms"):
        assert classes[column].to_list() == entries[column].to_list(), column
        assert 0 < min(classes[column]) < queue["delay_p99_ms"] * 1.5
    tcp = result.traffic.row(0, named=True)
    # Twice the access links and the bottleneck's delay, and a packet's transmission at the bottleneck.
    assert 40 < tcp["rtt_min_ms"] < tcp["rtt_mean_ms"] < tcp["rtt_p99_ms"] < 400
    with pytest.raises(ValueError, match="by 'flow'"):
        result.shares("flow")


@pytest.mark.parametrize("record", [None, {"series": "100 ms"}, {"series": "100 ms", "rates": "500 ms"}])
def test_a_result_can_be_drawn(record: dict[str, str] | None, tmp_path: Path) -> None:
    drawing = network().run(duration="5 s", record=record).plot()
    drawing.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000


def two_queues() -> ed.Network:
    """A scalable and a classic sender through DualPI2."""
    net = ed.dumbbell(
        pairs=2,
        access=ed.link("100 Mbit/s", "5 ms"),
        bottleneck=ed.link("10 Mbit/s", "10 ms"),
        queue=ed.aqm.DualPI2(limit="200 packets", ecn=True),
    )
    return net.ftp(tcp="prague", stack="rfc", ecn=True).ftp(tcp="cubic", stack="rfc", rules={"pacing": True})


def test_bands_are_shares_of_a_queue() -> None:
    result = two_queues().run(duration="5 s", record={"by_flow": True})
    bands, entries = result.shares("bands"), result.shares("traffic")
    assert bands is not None
    assert entries is not None
    assert bands["band"].to_list() == ["L", "C"]
    both = [column for column in bands.columns if column in entries.columns]
    assert len(both) == 17
    for column in both:
        assert bands[column].to_list() == entries[column].to_list(), column
    assert bands["delay_p99_ms"][0] < 0.3 * bands["delay_p99_ms"][1]
    assert two_queues().run(duration="5 s").document["queues"]["bottleneck"]["bands"] == {
        name: {key: value for key, value in row.items() if key not in ("queue", "band")}
        for name, row in zip(("L", "C"), bands.iter_rows(named=True), strict=True)
    }
    assert network().run(duration="5 s").shares("bands") is None


def test_inner_values_are_in_series_and_figure() -> None:
    plain = two_queues().run(duration="5 s", record={"series": "50 ms"})
    result = two_queues().run(duration="5 s", record={"series": "50 ms", "gauges": True, "cwnd_flows": [1, 2]})
    series = result.series
    assert series is not None
    for name in ("p", "p_c", "p_cl", "l_packets", "c_packets", "credit"):
        assert series[f"bottleneck.gauges.{name}"].n_unique() > 1, name
    for flow in (1, 2):
        rtt, rate = series[f"flow {flow}.srtt_ms"].drop_nulls(), series[f"flow {flow}.pacing_mbps"].drop_nulls()
        # The path takes 40 ms; the pacing rate is a few times what the link has at most.
        assert 40 < rtt.median() < 80  # type: ignore[operator]
        assert 2 < rate.median() < 20  # type: ignore[operator]
        assert len(rtt) > 90
    titles = [ax.get_title(loc="left") for ax in result.plot().axes]
    shown = ["p", "p_c", "p_cl", "l_packets", "c_packets", "credit", "cwnd (segments)", "Smoothed RTT (ms)"]
    assert [title for title in titles if title] == [*shown, "Pacing rate (Mbit/s)"]
    assert [ax.get_title(loc="left") for ax in plain.plot().axes] == ["", "", ""]
    before, after = plain.document["queues"], result.document["queues"]
    assert before == after


def test_a_network_saved_is_the_network_loaded(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    net = network()
    net.save(path, duration="5 s", seed=2)
    saved, built = ed.load(path).run(), net.run(duration="5 s", seed=2)
    for result in (saved, built):
        result.document.pop("cost")
    assert saved.document == built.document


def test_settings_are_laid_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    network().save(path, duration="5 s")
    scenario = ed.load(path, {"queue.bottleneck.min_th": 6, "name": "other"})
    assert scenario.name == "other"
    assert scenario.document["queue"]["bottleneck"]["min_th"] in (6, 6.0, "6 packets")


def test_wrong_scenarios_say_where() -> None:
    with pytest.raises(ed.ScenarioError) as caught:
        network().run(duration="-5 s")
    assert caught.value.path == "duration"
    assert isinstance(caught.value, ValueError)


def test_classes_come_from_the_catalogue() -> None:
    assert {"Red", "Tred", "Nlred", "DropTail"} <= set(dir(ed.aqm))
    assert ed.aqm.Tred(limit=120, min_th=24).document() == {"aqm": "tred", "limit": "120 packets", "min_th": 24}
    assert repr(ed.aqm.Red(max_p=0.1)) == "Red(max_p=0.1)"
    assert "max_p" in (ed.aqm.Red.__doc__ or "")


def test_names_that_do_not_exist_are_answered_with_near_ones() -> None:
    with pytest.raises(TypeError, match="did you mean min_th"):
        ed.aqm.Tred(mim_th=24)
    with pytest.raises(AttributeError, match="did you mean Tred"):
        _ = ed.aqm.TRED


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("TRED", "Tred"),
        ("DropTail", "DropTail"),
        ("Gentle RED", "GentleRed"),
        ("FQ-CoDel", "FqCoDel"),
        ("FLoadAutoRED", "FLoadAutoRED"),
    ],
)
def test_class_names(title: str, name: str) -> None:
    assert aqm.class_name({"title": title, "name": title.lower()}) == name


def test_the_stub_of_the_classes_is_fresh() -> None:
    text = Path(aqm.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert text == aqm.stub(), "make build writes it"


def test_no_file_asks_the_package_for_its_extension() -> None:
    # The package's `__init__` stands above all; the extension is below everything.
    package = Path(aqm.__file__).parent
    asked = re.compile(r"^\s*from \.+ import (?:.*, )?_core\b", re.MULTILINE)
    assert [path.name for path in package.rglob("*.py") if asked.search(path.read_text(encoding="utf-8"))] == []


def test_every_kind_of_traffic_has_its_call() -> None:
    net = ed.dumbbell(
        pairs=4,
        access=ed.link("100 Mbit/s", "5 ms"),
        bottleneck=ed.link("10 Mbit/s", "10 ms"),
        queue=ed.aqm.DropTail(limit="100 packets"),
    )
    net.ftp(1).transfers(2, size=ed.uniform("10 kB", "50 kB"), number=3, think=ed.exponential("100 ms"))
    net.requests(1, size=ed.lognormal("20 kB", sigma=1, max="1 MB")).web(3, session_gap="500 ms", pages=ed.geometric(2))
    net.cbr(1, rate="100 kbit/s", segment=ed.mix({"40 B": 5, "1000 B": 1}), jitter=True, start=ed.every("1 s"))
    net.onoff(1, law="pareto", shape=1.4).poisson(1, rate="50 kbit/s", segment=ed.sample(["100 B", "200 B"]))
    net.voip(1, start=ed.poisson("1 s", since="1 s")).video(1, frame=ed.pareto("2 kB", shape=1.5, max="50 kB"))
    net.media(1, control="gcc", max_rate="2 Mbit/s", frame_rate=25)
    net.transfers(1, size=ed.cdf({"1 kB": 0.5, "10 kB": 1}), direction="reverse")
    net.pages(2, size="5 kB", connections=2, objects=4, think="1 s")
    result = net.run(duration="5 s", seed=3, record={"transfers": True})
    kinds = {one["name"] for one in schema.choices("traffic")}
    # Those of programs are made where hosts are attached (`ed.path`).
    assert {*result.traffic["kind"].to_list(), "outside"} == kinds
    assert result.transfers is not None
    assert result.transfers["kind"].to_list() == ["transfers", "requests", "web", "transfers", "pages"]
    assert result.transfers["completed"].to_list()[0] == 6
    for times, completed in zip(result.transfers["times_s"], result.transfers["completed"], strict=True):
        assert len(times) == completed
        assert times.is_sorted()


def test_without_finite_transfers_there_is_no_table_of_them() -> None:
    assert network().run(duration="1 s").transfers is None


def test_kinds_of_traffic_have_a_title_and_a_line() -> None:
    for one in schema.choices("traffic"):
        assert one["title"] != one["name"], one
        assert one["summary"], one
