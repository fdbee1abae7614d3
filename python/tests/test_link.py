"""Real links: options, and links between network namespaces that the tests make for themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import impairments
import pytest
from conftest import dumbbell, peer
from matplotlib.colors import to_hex

import earlydrop as ed
from earlydrop import _core, links
from earlydrop.cli import main
from earlydrop.links import crosscheck
from earlydrop.render import link_status, plotting, run_report

HERE = Path(__file__).parent
PACKAGE = HERE.parent


# ---- without privileges --------------------------------------------------------------------------------------------


def test_a_spec_names_a_discipline_and_its_settings() -> None:
    plan = links.plan("20Mbit/s", "20ms", queue="nlred limit=120p min_th=20 max_th=60 ecn=true", mtu=1500)
    queue = json.loads(plan.scenario.to_json())["queue"]["bottleneck"]
    assert (queue["aqm"], queue["limit"], queue["min_th"], queue["ecn"]) == ("nlred", "120 packets", 20, True)
    assert plan.delays == (0.02, 0.02)
    same = links.plan("20 Mbit/s", "20 ms", queue=ed.aqm.Nlred(limit=120, min_th=20, max_th=60, ecn=True))
    assert json.loads(same.scenario.to_json())["queue"] == json.loads(plan.scenario.to_json())["queue"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queue": "redd"}, '--queue: there is no "redd"; did you mean "red"?'),
        ({"queue": "red max_p=2"}, "--queue: max_p: is out of range\n  given 2; allowed (0, 1]"),
        ({"queue": "red min_th=20 max_th=10"}, "--queue: max_th: does not fit"),
        (
            {"queue": "droptail min_th=3"},
            '--queue: "droptail min_th=3": droptail has no parameter min_th; allowed: limit',
        ),
        ({"queue": "red limit"}, '--queue: given "limit" in "red limit"; allowed NAME=VALUE'),
        ({"queue": ""}, '--queue: given ""; allowed a discipline with its settings'),
        ({"queue": "limit=3"}, '--queue: given "limit=3"; allowed a discipline'),
        ({"queue": 'red limit="3'}, "--queue: "),
        ({"reverse_queue": "codel target=0s"}, "--reverse-queue: target: is out of range"),
        ({"rate": "20"}, "--rate: has no unit"),
        ({"rate": "5mbps"}, '--rate: has the ambiguous unit "mbps", which is bytes per second in tc; write "Mbit/s"'),
        ({"reverse_rate": "5gbps"}, '--reverse-rate: has the ambiguous unit "gbps"'),
        ({"rate": None}, "--rate: is missing"),
        ({"delay": "20"}, "--delay: has no unit"),
        ({"loss": 1.5}, "--loss: is out of range"),
        ({"mtu": 100}, "--mtu: given 100; allowed 576 to 65535 B"),
        ({"reverse_rate": "0 bit/s"}, "--reverse-rate: is out of range"),
        ({"rate": "trace=no/such.trace"}, "--rate: trace: no such file"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(links.OptionError) as caught:
        links.plan(**{"rate": "10 Mbit/s", "delay": "5 ms", **options})
    assert str(caught.value).startswith(message)


def test_what_is_given_holds_in_both_directions() -> None:
    plan = links.plan("10mbit", "10ms", queue="codel target=8ms")
    assert plan.options() == ["--rate", "10Mbit/s", "--delay", "10ms", "--queue", "codel target=8ms"]
    queues = json.loads(plan.scenario.to_json())["queue"]
    assert queues["bottleneck"] == queues["reverse"]
    plan = links.plan("10mbit", "10ms", queue="codel", reverse_queue="pie", reverse_rate="50mbit", reverse_delay="4ms")
    assert plan.options() == [
        "--rate",
        "10Mbit/s",
        "--reverse-rate",
        "50Mbit/s",
        "--delay",
        "10ms",
        "--reverse-delay",
        "4ms",
        "--queue",
        "codel",
        "--reverse-queue",
        "pie",
    ]


def test_rates_may_be_written_as_tc_does() -> None:
    plan = links.plan("50mbit", "5 ms", reverse_rate="100Kbit", queue="droptail")
    bottleneck = json.loads(plan.scenario.to_json())["topology"]
    assert (bottleneck["bottleneck"]["rate"], bottleneck["reverse"]["rate"]) == ("50000000 bit/s", "100000 bit/s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "10Mbit/s"], "COMMAND or --between: given neither"),
        (["--rate", "10Mbit/s", "--between", "a", "b", "--", "true"], "COMMAND or --between: given both"),
        (["--rate", "10Mbit/s", "--queue", "rde", "--", "true"], '--queue: there is no "rde"'),
        (["--rate", "10Mbit/s", "--log", "--", "true"], "--log: needs --out DIR"),
        (["--rate", "10Mbit/s", "--loss", "much", "--", "true"], "--loss: does not start with a number"),
        (["--rate", "10Mbit/s", "--nat", "--between", "a", "b"], "--nat: belongs to a COMMAND"),
        (["--sim", "x.toml", "--rate", "1Mbit/s", "--", "true"], "--rate: the scenario of --sim says it"),
        (["--sim", "no-such.toml", "--", "true"], "no-such.toml: no such file"),
        (["--rate", "10Mbit/s", "--at", "x", "--", "true"], "--at: belongs to --sim"),
        (["--rate", "10Mbit/s", "--sysctl", "tcp_ecn", "--", "true"], "--sysctl tcp_ecn"),
        (["--rate", "10Mbit/s", "--user", "no-such-user", "--", "true"], "--user: there is no user"),
        (["--rate", "10Mbit/s", "--colour", "--", "true"], "Unknown option: --colour"),
    ],
)
def test_own_failures_are_125(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", *arguments]) == 125
    assert message in capsys.readouterr().err


def test_the_words_of_the_command_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", "--rate", "x", "--", "echo", "--json", "--help"]) == 125
    ended = capsys.readouterr()
    assert ended.out == "", "the --json behind -- is not this program's"
    assert "--rate" in ended.err
    assert main(["link", "--rate", "x", "--json", "--", "true"]) == 125
    assert json.loads(capsys.readouterr().out)["exit"] == 125


@pytest.mark.parametrize(
    ("own", "upstream", "servers", "text"),
    [
        ("nameserver 10.0.0.1\nsearch x\n", "", ("10.0.0.1",), None),
        (
            "nameserver 127.0.0.53\nsearch x\n",
            "nameserver 10.0.0.2\n",
            ("10.0.0.2",),
            "search x\nnameserver 10.0.0.2\n",
        ),
        ("nameserver ::1\nnameserver 10.0.0.3\n", "", ("10.0.0.3",), "nameserver 10.0.0.3\n"),
        ("nameserver 127.0.0.1\n", "nameserver 127.0.0.2\n", (), None),
        ("# nothing\n", "", (), None),
    ],
)
def test_name_servers_are_those_that_a_namespace_reaches(
    own: str, upstream: str, servers: tuple[str, ...], text: str | None, tmp_path: Path
) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "upstream").write_text(upstream)
    found = links.names(tmp_path / "own", (tmp_path / "missing", tmp_path / "upstream"))
    assert found == links.Names(servers, text)


def test_a_scenario_gives_the_whole_way_of_a_dumbbell(scenario: Path) -> None:
    plan = links.from_scenario(_core.Scenario.load(str(scenario), []))
    assert plan.queue == "bottleneck"
    # Access 5 ms on both sides, 10 ms between.
    assert plan.delays == pytest.approx((0.02, 0.02))
    with pytest.raises(links.OptionError, match="--at: given x; allowed bottleneck, reverse"):
        links.from_scenario(_core.Scenario.load(str(scenario), []), "x")


def test_a_real_link_has_no_link_layer(scenario: Path) -> None:
    loaded = _core.Scenario.load(str(scenario), [])
    for plan in (links.from_scenario(loaded), links.plan("20 Mbit/s", "20 ms", queue="cake")):
        link = json.loads(plan.scenario.to_json())["topology"]["bottleneck"]
        assert link["link_layer"] == "ip"
    assert "link_layer" not in json.loads(loaded.to_json())["topology"]["bottleneck"]
    written = ed.link("20 Mbit/s", "20 ms", link_layer="ip")
    assert dict(written) == {"rate": "20 Mbit/s", "delay": "20 ms", "link_layer": "ip"}


def test_a_command_may_be_on_either_side_of_a_scenario_s_link(scenario: Path) -> None:
    loaded = _core.Scenario.load(str(scenario), [("topology.reverse", '{ rate = "1 Mbit/s", delay = "2 ms" }')])
    there, back = links.from_scenario(loaded).ways()
    assert (there.name, back.name, back.words["rate"], back.aqm) == (
        "bottleneck",
        "reverse",
        "1Mbit/s",
        "unlimited buffer",
    )
    assert links.from_scenario(loaded, "reverse").ways() == (back, there)
    # A crosscheck compares a queue, and sends where the scenario does.
    with pytest.raises(crosscheck.CrosscheckError, match="--at: given reverse; there is no queue"):
        crosscheck._link(loaded, "reverse")
    loaded = _core.Scenario.load(str(scenario), [("queue.reverse.aqm", "codel")])
    plan, compared = crosscheck._link(loaded, "reverse")
    assert (plan.queue, compared) == ("bottleneck", "reverse")


def test_a_scenario_with_other_networks_gives_one_link(tmp_path: Path) -> None:
    path = tmp_path / "lot.toml"
    path.write_text(_core.template("lot", "parking_lot"), encoding="utf-8")
    loaded = _core.Scenario.load(str(path), [])
    names = list(json.loads(loaded.network())["queue"])
    assert len(names) > 1
    with pytest.raises(links.OptionError, match="--at: given nothing; allowed"):
        links.from_scenario(loaded)
    plan = links.from_scenario(loaded, names[1])
    assert plan.queue == names[1]
    assert plan.delays[0] > 0


def test_a_link_is_still_what_a_scenario_wants() -> None:
    link = ed.link("5 Mbit/s", "20 ms", loss=0.1, queue="red")
    assert link == {"rate": "5 Mbit/s", "delay": "20 ms", "loss": 0.1}
    assert json.dumps(link) == '{"rate": "5 Mbit/s", "delay": "20 ms", "loss": 0.1}'


def test_a_replay_of_nothing_has_no_difference() -> None:
    plan = links.plan("1 Mbit/s", queue="red")
    import numpy as np

    empty = {name: np.array([], dtype=kind) for name, kind in links.records.COLUMNS.items()}
    assert links.replay(plan, {"bottleneck": empty, "reverse": empty}) == {
        "bottleneck": links.Replay(0, 0),
        "reverse": links.Replay(0, 0),
    }


def test_a_replay_finds_what_was_decided_otherwise() -> None:
    """Ten packets at once at a queue of three: one in transmission, three wait."""
    import numpy as np

    plan = links.plan("8 Mbit/s", queue="droptail limit=3p")
    tx = 8.0 * 1000 / 8e6
    at = [1.0, 1.0 + tx, 1.0 + tx + tx, 1.0 + tx + tx + tx]
    columns = {
        "time_s": [1.0] * 10,
        "flow": range(10),
        "size": [1000] * 10,
        "ecn": [0] * 10,
        "class": [0] * 10,
        "ttl": [64] * 10,
        "initial_ttl": [64] * 10,
        "fate": [1] * 4 + [4] * 6,
        "settled_s": [*at, *[1.0] * 6],
        "ecn_out": [0] * 10,
    }
    records = {name: np.array(values, dtype=links.records.COLUMNS[name]) for name, values in columns.items()}
    assert links.replay(plan, {"bottleneck": records})["bottleneck"] == links.Replay(10, 0)
    with pytest.raises(ValueError, match="sack_blocks: is missing"):
        links.replay(plan, {"bottleneck": records | {"dscp": np.zeros(10, "u1"), "tcp": records["ecn"]}})
    with pytest.raises(ValueError, match="size: has 9 values; needed 10"):
        links.replay(plan, {"bottleneck": records | {"size": records["size"][1:]}})
    records["fate"] = np.array([1] * 4 + [4] * 5 + [2], dtype="u1")
    records["settled_s"] = np.array([*at[:3], at[3] + 1e-9, *[1.0] * 6])
    found = links.replay(plan, {"bottleneck": records})["bottleneck"]
    assert (found.arrivals, found.differing) == (10, 2)
    assert found.first == "arrival 3 at 1.000000000 s: departed on the link, departed in the simulator"


def document() -> dict[str, Any]:
    """As a link gives it, with one drop."""
    queue = {
        "aqm": "red",
        "throughput_mbps": 9.5,
        "delivered_mbps": 9.4,
        "rate_mbps": 10.0,
        "queue_mean_packets": 12.25,
        "queue_max_packets": 40,
        "average_mean_packets": 11.5,
        "delay_mean_ms": 14.0,
        "delay_p99_ms": 40.0,
        "drop_rate": 0.01,
        "marks": 3,
        "arrivals": 100,
        "departures": 99,
        "early_drops": 1,
        "forced_drops": 0,
        "overflow_drops": 0,
        "lost": 0,
        "malformed": 2,
        "device_overruns": 5,
        "lateness": {"p50_us": 14.0, "p99_us": 33.25},
    }
    back = {
        **queue,
        "aqm": "droptail",
        "rate_mbps": 1e6,
        "average_mean_packets": None,
        "device_overruns": 0,
        "lateness": None,
    }
    return {
        "scenario": "link",
        "duration_s": 10.0,
        "warmup_s": 2.0,
        "queues": {"bottleneck": queue, "reverse": back},
        "real_time": True,
        "trustworthy": False,
        "reasons": ["sent: the kernel dropped 5 packets before the link read them"],
        "flows": [
            {
                "name": f"tcp 10.0.0.2:{port} > 10.0.0.1:5201",
                "role": role,
                "queue": "bottleneck",
                "throughput_mbps": rate,
                "delivered": 10,
                "delivered_bytes": round(rate * 1e6),
                "drops": 1,
                "marks": 0,
            }
            for port, role, rate in ((1, "control", 0.001), (2, "data", 9.4))
        ],
    }


def test_the_summary_says_what_happened() -> None:
    text = link_status.link_text(document())
    assert "link: 2 flows (1 data, 1 control) in 8.0 s" in text
    assert text.splitlines()[-2].split() == [
        *("tcp", "10.0.0.2:2", ">", "10.0.0.1:5201", "data", "sent", "9.400", "10", "1", "0")
    ]
    assert text.splitlines()[4].split() == [
        "sent",
        "bottleneck",
        "red",
        "9.400",
        "10.000",
        "12.25",
        "40",
        "11.50",
        "14.00",
        "40.00",
        "1.000",
        "3",
    ]
    assert "no limit" in text
    why = "sent: the kernel dropped 5 packets before the link read them"
    assert f"real-time priority; not trustworthy: {why}" in text
    sound = {**document(), "real_time": False, "trustworthy": True, "reasons": []}
    assert "\nnormal priority; trustworthy\n" in link_status.link_text(sound)


def download() -> dict[str, Any]:
    """Of a command that received: its ACKs in `bottleneck`, the data in `reverse`."""
    made = document()
    sent, received = made["queues"]["bottleneck"], made["queues"]["reverse"]
    sent |= {"carried": "sent", "delivered_bytes": 300_000, "delivered_mbps": 0.3, "propagation_ms": 10.0}
    received |= {"carried": "received", "delivered_bytes": 9_400_000, "rate_mbps": 10.0, "propagation_ms": 10.0}
    made["flows"][0] |= {"role": "acks", "throughput_mbps": 0.3, "delivered_bytes": 300_000}
    made["flows"][1] |= {"queue": "reverse"}
    return {
        **made,
        "kind": "link",
        "version": "0.1.0",
        "commands": ["curl -s http://100.64.0.1/x"],
        "between": None,
        "main_queue": "reverse",
        "jain": None,
        "throughput_total_mbps": 9.4,
    }


def test_a_download_s_queue_comes_first() -> None:
    lines = link_status.link_text(download()).splitlines()
    assert [line.split()[:3] for line in lines[4:6]] == [
        ["received", "reverse", "droptail"],
        ["sent", "bottleneck", "red"],
    ]
    assert [line.split()[0] for line in lines[9:11]] == ["received", "sent"]
    made = {**download(), "between": ["left", "right"]}
    assert link_status.link_text(made).splitlines()[4].startswith("right > left  reverse")


def test_a_download_s_page_leads_with_what_was_received(tmp_path: Path) -> None:
    page = run_report.write(tmp_path, download(), {}).read_text(encoding="utf-8")
    assert "<h1>curl -s http://100.64.0.1/x</h1>" in page
    assert "<p>Real-time priority; not trustworthy: sent: the kernel dropped 5 packets" in page
    assert "Received: 9.400 of 10 Mbit/s (10 ms, droptail); sent: 0.300 of 10 Mbit/s (10 ms, red). 2 flows" in page
    assert "<th>received, reverse (droptail)</th><th>sent, bottleneck (red)</th>" in page
    assert "Jain" not in page, "there is one data flow"
    assert "<td>Forced drops (packets)</td>" not in page, "there are none"
    assert "early drops" not in page, "there is one at each queue"
    assert "Forced drops, overflow drops, " in page
    axes = plotting.run_figure(download()).axes
    (line,) = axes[-1].lines[:1]
    assert list(line.get_ydata()) == [9.4], "the download, not its ACKs"
    assert axes[-1].get_ylabel() == "Throughput, received (Mbit/s)"


def test_the_colours_of_a_figure_agree() -> None:
    made = download()
    made["series"] = {
        "time_s": [0.0, 1.0],
        "queues": {name: {"packets": [0, 5], "average": None} for name in ("bottleneck", "reverse")},
    }
    over_time, delays, _ = plotting.run_figure(made).axes
    drawn = {line.get_label().removesuffix(": queue"): line.get_color() for line in over_time.lines}
    bars = {one.get_label(): to_hex(one.patches[0].get_facecolor()) for one in delays.containers}
    assert drawn == {name: colour.upper() if drawn[name].isupper() else colour for name, colour in bars.items()}


@pytest.mark.parametrize("module", ["earlydrop.cli.entry", "cyclopts"])
def test_an_interruption_while_modules_load_leaves_no_traceback(module: str) -> None:
    script = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == '{module}': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from earlydrop.cli import main\n"
        "sys.exit(main(['list']))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment())
    assert (ended.returncode, ended.stderr) == (130, "interrupted: nothing was written\n")


def test_the_panel_shows_rates_between_two_views() -> None:
    drawn = link_status.Panel(None, "x")  # type: ignore[arg-type]
    flow = {"name": "tcp 10.0.0.2:1 > 10.0.0.1:2", "delivered_bytes": 0, "drops": 0, "marks": 0}
    view = {
        "aqm": "red",
        "time_s": 1.0,
        "packets": 10,
        "average": 8.25,
        "sojourn_mean_s": 0.012,
        "departed_bytes": 0,
        "arrivals": 5,
        "early_drops": 1,
        "forced_drops": 0,
        "overflow_drops": 0,
        "marks": 2,
        "flows": [flow],
        "trustworthy": True,
        "reasons": [],
    }
    drawn.of_queue("bottleneck", view)
    drawn._before = {"bottleneck": view}
    later = {**view, "time_s": 1.5, "departed_bytes": 625_000, "flows": [{**flow, "delivered_bytes": 312_500}]}
    text = drawn.of_queue("bottleneck", later)
    assert "bottleneck (red): 10.000 Mbit/s, 10 packets waiting, average 8.2, sojourn 12.00 ms" in text
    assert "5.000 Mbit/s" in text
    assert "trustworthy" not in text
    late = {**later, "trustworthy": False, "reasons": ["deliveries were 12.6 ms late (p99; allowed 1 ms)"]}
    assert "not trustworthy: deliveries were 12.6 ms late" in drawn.of_queue("bottleneck", late)
    assert link_status.sparkline([0, 1, 2, 4], 3) == "▂▄█"
    assert link_status.sparkline([0, 0], 3) == "  "


def test_crosscheck_wants_traffic_that_iperf3_can_send(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosscheck", str(scenario), "--set", "traffic.0.tcp=vegas"]) == 2
    assert "traffic[0].tcp: given vegas; allowed tahoe, reno, newreno, sack" in capsys.readouterr().err
    with scenario.open("a", encoding="utf-8") as file:
        file.write('\n[[traffic]]\nkind = "cbr"\nrate = "1 Mbit/s"\n')
    assert main(["crosscheck", str(scenario)]) == 2
    said = capsys.readouterr().err
    assert f'{scenario}: traffic[1].kind: given "cbr"; allowed "ftp"' in said


def test_crosscheck_has_no_data_both_ways_in_a_connection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "both.toml"
    text = _core.template("both", "dumbbell") + '\n[[traffic]]\nkind = "ftp"\nreverse_of = "up"\n'
    path.write_text(text, encoding="utf-8")
    assert main(["crosscheck", str(path), "--set", "traffic.0.name=up"]) == 2
    assert 'reverse_of: given "up"; allowed no such key: the data of iperf3 go one way' in capsys.readouterr().err


def test_crosscheck_takes_the_scenario_that_init_writes(tmp_path: Path) -> None:
    """Ten downloads, and an upload the other way."""
    path = tmp_path / "first.toml"
    path.write_text(_core.template("first", "dumbbell"), encoding="utf-8")
    document = json.loads(_core.Scenario.load(str(path), []).to_json())
    flows, stack = crosscheck._traffic(path, document)
    assert (flows.count, flows.back, flows.control, stack) == (10, 1, "cubic", "rfc")
    assert crosscheck._spread(document), "servers near and far"


# ---- with privileges, in namespaces --------------------------------------------------------------------------------


def _missing() -> str | None:
    """What this machine lacks for links in namespaces; None if nothing."""
    if not hasattr(_core, "has_tun") or not _core.has_tun():
        return "no TUN device can be opened here (/dev/net/tun)"
    for program in ("unshare", "ip", "setpriv"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    tried = subprocess.run(["unshare", "--net", "ip", "tuntap", "add", "edlx", "mode", "tun"], capture_output=True)
    if tried.returncode:
        return f"no privileges for network namespaces: {tried.stderr.decode().strip()}"
    return None


@pytest.fixture(scope="session")
def privileged() -> None:
    missing = _missing()
    if missing:
        pytest.skip(f"real links are left out: {missing}")


def environment() -> dict[str, str]:
    # Warnings are errors in tests; the programs started here are no tests.
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONWARNINGS": "ignore"}


def inside(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a program in a network namespace of its own."""
    words = ["unshare", "--net", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, env=environment())


def linking(name: str, *arguments: object, timeout: float = 120) -> Any:
    ended = inside(sys.executable, HERE / "linking.py", name, *arguments, timeout=timeout)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def linked(*arguments: object) -> subprocess.CompletedProcess[str]:
    return inside(sys.executable, "-m", "earlydrop", "link", *arguments)


PLAIN = ("--rate", "20Mbit/s", "--delay", "1ms", "--quiet")


@pytest.mark.usefixtures("privileged")
class TestInNamespaces:
    @pytest.mark.parametrize(
        ("command", "code"),
        [
            (["true"], 0),
            (["sh", "-c", "exit 7"], 7),
            (["sh", "-c", "kill -9 $$"], 137),
            (["no-such-command-anywhere"], 127),
            (["/dev/null"], 126),
        ],
    )
    def test_the_command_s_code_comes_back(self, command: list[str], code: int) -> None:
        assert linked(*PLAIN, "--", *command).returncode == code

    def test_nested_links_are_a_path(self) -> None:
        """Three links in a row; the innermost command sees the outermost end, three delays away."""
        ping = (
            "import os, socket, time; s = socket.socket(); b = time.monotonic(); code = s.connect_ex("
            "(os.environ['EARLYDROP_BASE'], 9)); print(code, time.monotonic() - b)"
        )
        one = [sys.executable, "-m", "earlydrop", "link", "--rate", "20Mbit/s", "--quiet", "--delay"]
        words = [*one, "10ms", "--", *one, "20ms", "--", *one, "5ms", "--", sys.executable, "-c", ping]
        ended = inside(*words)
        assert ended.returncode == 0, ended.stderr
        error, seconds = ended.stdout.split()
        # Refused by the outermost namespace, where nobody listens: so the way there and back exists.
        assert int(error) == 111
        assert float(seconds) >= 0.070

    def test_a_user_without_privileges_is_told(self) -> None:
        command = [sys.executable, "-m", "earlydrop", "link", *PLAIN, "--", "true"]
        ended = inside("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", *command)
        assert ended.returncode == 125
        assert "lacking here: CAP_NET_ADMIN, CAP_SYS_ADMIN; run sudo" in ended.stderr
        assert " -m earlydrop link --rate 20Mbit/s" in ended.stderr
        assert "--cap-add NET_ADMIN" in ended.stderr
        assert "Traceback" not in ended.stderr

    @pytest.mark.parametrize(
        ("bounds", "options", "code", "said"),
        [
            # Root of a container that lacks one of them: sudo would not help.
            ("-sys_admin", [], 125, "lacking here: CAP_SYS_ADMIN; in a container: --cap-add NET_ADMIN"),
            ("-sys_nice,-sys_resource", ["--realtime"], 125, "it needs CAP_SYS_NICE or a limit of 50"),
            ("-setuid,-setgid", ["--user", "nobody"], 126, "needs CAP_SETUID and CAP_SETGID (--user root)"),
        ],
    )
    def test_what_lacks_is_named_with_the_way_out(self, bounds: str, options: list[str], code: int, said: str) -> None:
        command = [sys.executable, "-m", "earlydrop", "link", *PLAIN, *options, "--", "true"]
        ended = inside("prlimit", "--rtprio=0", "setpriv", "--bounding-set", bounds, *command)
        assert ended.returncode == code
        assert said in ended.stderr
        assert "sudo" not in ended.stderr

    def test_real_time_priority_is_had_where_it_is_allowed(self) -> None:
        words = [sys.executable, "-m", "earlydrop", "link", "--rate", "20Mbit/s", "--json"]
        for limits, options, had in (
            ([], [], True),
            ([], ["--realtime"], True),
            ([], ["--no-realtime"], False),
            (["prlimit", "--rtprio=0", "setpriv", "--bounding-set", "-sys_nice,-sys_resource"], [], False),
        ):
            ended = inside(*limits, *words, *options, "--", "true")
            assert ended.returncode == 0, ended.stderr
            assert json.loads(ended.stdout)["real_time"] is had
            assert f"{'real-time' if had else 'normal'} priority; " in ended.stderr
            assert ("real-time priority is not allowed here" in ended.stderr) == bool(limits)

    def test_a_verdict_is_printed_quietly(self) -> None:
        ended = linked(*PLAIN, "--verify", "--", "true")
        assert ended.returncode == 0
        assert re.fullmatch(r"(\w+: the simulator decided over \d+ arrivals, all as on the link\n){2}", ended.stderr)

    @pytest.mark.parametrize(("second", "most"), [(True, 4.5), (False, 9.0)])
    def test_a_command_that_ignores_the_end_is_killed(self, second: bool, most: float) -> None:
        found = linking("stubborn", int(second))
        assert (found["code"], found["remains"]) == (137, [])
        assert (2.0 if second else 5.0) <= found["seconds"] < most

    def test_addresses_rest_while_others_are_free(self) -> None:
        assert linking("rested") == {
            "seen": ["100.64.0.1", "100.64.16.1", "100.64.32.1"],
            "killed": ["100.64.48.1", "100.64.64.1"],
            "later": "100.64.0.1",
            "files": 1,
        }

    def test_an_overloaded_link_says_so_and_a_sound_one_does_not(self) -> None:
        found = linking("trusted")
        assert found["sound"] == []
        assert found["live"], "while it runs"
        assert found["overloaded"]
        assert found["again"] == [], "a new window begins without what was lost"

    def test_the_command_runs_as_the_user_who_called(self) -> None:
        who = "id -u; grep -E 'CapEff|CapPrm|CapAmb|CapBnd' /proc/self/status; grep NoNewPrivs /proc/self/status"
        ended = linked(*PLAIN, "--user", "nobody", "--", "sh", "-c", who)
        user, *capabilities, privileges = ended.stdout.splitlines()
        assert int(user) not in (0,)
        assert [line.split()[1] for line in capabilities] == ["0" * 16] * 4
        assert privileges.split() == ["NoNewPrivs:", "1"]
        root = linked(*PLAIN, "--user", "root", "--", "sh", "-c", who).stdout.splitlines()
        assert root[0] == "0"
        assert root[-1].split() == ["NoNewPrivs:", "0"]
        as_if_sudo = ["env", "SUDO_UID=65534", sys.executable, "-m", "earlydrop", "link", *PLAIN, "--", "id", "-u"]
        assert inside(*as_if_sudo).stdout.strip() == "65534"

    def test_python_and_both_address_families(self) -> None:
        found = linking("api")
        assert found["closed"] == "[Errno 9] file descriptor 9999 is not open"
        assert len(found["round_trips"]) == 2
        assert all(0.030 <= seconds < 5 for seconds in found["round_trips"].values())
        assert set(found["view"]) == {"bottleneck", "reverse"}
        assert found["environment"] == ["100.64.0.1", "fd65:6172:6c79::6440:2"]
        assert "edlup" in found["inside"]
        assert found["same"], "nothing is left"
        assert found["changed"], "and the link was there meanwhile"
        assert found["result"]["kind"] == "link"

    def test_disciplines_of_one_s_own_decide_as_in_the_simulator_too(self, tmp_path: Path) -> None:
        root = Path(__file__).resolve().parents[2]
        library, source = tmp_path / "libc_red.so", root / "crates/plugin/tests/red.c"
        include = f"-I{root / 'crates/aqm/include'}"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", library, source], check=True)
        found = linking("own_disciplines", str(library), 0.3)
        for name, one in found.items():
            assert one["differing"] == 0, f"{name}: {one['first']}"
            assert one["delivered"] > 100, name
            assert one["dropped"] > 0, name
            assert one["kept"], name

    @pytest.mark.parametrize("family", ["4", "6"])
    def test_marks_are_seen_by_both_kernels(self, family: str) -> None:
        found = linking("ecn", family)
        assert found["ce_set"] > 10
        assert found["received"]["InCEPkts"] == found["ce_set"]
        assert found["delivered_ce"] > 0
        assert found["checksum_errors"] == 0
        assert found["differing"] == 0
        assert found["kept"]

    def test_hostile_packets_are_counted_or_forwarded(self) -> None:
        found = linking("hostile", 10_000)
        assert found["alive"]
        assert found["kept"]
        assert found["differing"] == 0
        assert found["malformed"] > 1000
        assert found["malformed"] + found["arrivals"] >= found["sent"] - found["device_overruns"]
        kinds = found["malformed_by_kind"]
        assert all(kinds[kind] > 0 for kind in ("version", "header_length", "truncated_header", "truncated"))

    def test_many_packets_at_once_are_the_same_packets(self) -> None:
        """What is read and written several at a time arrives whole, in order, and with its marks."""
        found = linking("flooded", 20_000)
        assert found["in_order"]
        assert found["whole"]
        assert found["kept"]
        # A new namespace says a few words of its own.
        assert 0 <= found["delivered"] - found["seen"] <= 20
        assert found["arrivals"] + found["device_overruns"] >= 20_000
        assert found["ce"] == found["ce_set"] > 100
        if found["ring"]:
            assert found["read_in_bursts"] > 1000
            assert found["written_in_bursts"] > 1000
        else:
            assert found["read_in_bursts"] == found["written_in_bursts"] == 0

    def test_a_kill_leaves_nothing_after_the_next_start(self) -> None:
        found = linking("killed", 3, 1)
        assert found == {"remains": [], "sleepers": []}

    def test_with_nat_the_command_reaches_what_the_machine_reaches_and_only_that_way_round(self) -> None:
        found = linking("nat_reached")
        assert found["without"] == 28, "no answer"
        assert found["body"] == "203.0.113.2", "the outside sees this machine"
        assert found["during"] == [True, ["earlydrop_edl1"]], "the addresses of the first link rest"
        assert found["intrusion"] == 0
        assert sorted(found["both"]) == ["earlydrop_edl1", "earlydrop_edl2"]
        assert found["also"] == ["203.0.113.2"] * 2
        assert found["queue"] > 5
        assert found["after"] == [[], False, []]

    def test_ipv6_is_translated_where_the_machine_forwards_it(self) -> None:
        found = linking("nat_ipv6")
        assert found["0"] == [7, "", 0, True, "0\n"], "no route, so the failure is immediate"
        assert found["1"] == [0, "2001:db8::2", 0, False, "1\n"]

    def test_a_killed_link_with_nat_is_undone_at_once(self) -> None:
        assert linking("nat_killed", "link")["left"] == [False, [], []]

    def test_a_link_with_nat_that_is_killed_with_its_keeper_is_undone_by_the_next(self) -> None:
        found = linking("nat_killed", "both")
        assert found["left"] == [True, [], []], "the rules go with the process, forwarding does not"
        assert found["later"] == [False, [], []]

    def test_names_are_resolved_where_the_machine_s_own_server_is_a_local_one(self) -> None:
        words = ["unshare", "--net", "--mount", sys.executable, HERE / "linking.py", "nat_named"]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment())
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout.splitlines()[-1])
        assert (found["code"], found["body"]) == (0, "203.0.113.2"), found["said"]
        assert found["said"].startswith(
            "the command reaches this machine at 100.64.0.1 ($EARLYDROP_OUTER) and what this machine reaches"
        )
        assert "names are resolved by 203.0.113.1\n" in found["said"]
        assert found["seen"] == "options edns0\nnameserver 203.0.113.1\n"
        assert found["own"] == "nameserver 127.0.0.53\noptions edns0\n", "the machine keeps its own"

    def test_the_commands_of_the_tutorial_download_through_the_queue(self, tmp_path: Path) -> None:
        text = (HERE.parents[1] / "docs/tutorials/5-real-link.md").read_text(encoding="utf-8")
        commands = [
            line[4:]
            for line in text.splitlines()
            if line.startswith("    ") and ("big.bin" in line or "8000 &" in line)
        ]
        assert len(commands) == 3
        # An eighth of the file: 0.6 s at 10 Mbit/s.
        script = "\n".join(["ip link set lo up", f"cd {tmp_path}", *commands, "kill $!"])
        for old, new in (
            ("6000000", "750000"),
            ("sudo earlydrop", f"{sys.executable} -m earlydrop"),
            ("python3", sys.executable),
            ("8000 &", "8000 >/dev/null 2>&1 & until ss -tln | grep -q :8000; do sleep 0.05; done"),
        ):
            assert old in script
            script = script.replace(old, new)
        ended = inside("sh", "-c", script)
        assert "earlydrop link --rate 10Mbit/s --delay 10ms --queue codel" in ended.stderr
        made = json.loads((tmp_path / "out/link/result.json").read_text())
        assert made["main_queue"] == "reverse"
        queues = {q["carried"]: q for q in made["queues"].values()}
        assert {one["aqm"] for one in queues.values()} == {"codel"}
        assert queues["received"]["delivered_bytes"] > 750_000 > 10 * queues["sent"]["delivered_bytes"]
        assert made["throughput_total_mbps"] == queues["received"]["delivered_mbps"]
        assert made["jain"] == 1.0
        assert made["commands"][0].startswith("sh -c 'curl")
        assert [main(["report", str(tmp_path / "out/link")]), main(["report", str(tmp_path / "out/link")])] == [0, 0]

    def test_without_nat_the_command_s_reach_is_said(self) -> None:
        said = linked("--rate", "20Mbit/s", "--", "true").stderr.splitlines()
        assert said[0] == (
            "the command reaches this machine at 100.64.0.1 ($EARLYDROP_OUTER) and nothing beyond it; "
            "with --nat it reaches what this machine reaches"
        )
        assert said[1] == "earlydrop link --rate 20Mbit/s --delay 0s --queue droptail"
        nested = [sys.executable, "-m", "earlydrop", "link", "--rate", "5Mbit/s", "--", "true"]
        said = linked(*PLAIN, "--", *nested).stderr.splitlines()
        assert said[0].endswith("($EARLYDROP_OUTER) and what is reached from here, through the link around this one")

    @pytest.mark.parametrize("who", [[], ["nobody"]])
    def test_no_process_outlives_the_link(self, who: list[str]) -> None:
        assert linking("escaped", *who) == {"code": 0, "left": []}

    def test_the_command_sees_its_own_processes_only(self) -> None:
        ended = linked(
            *PLAIN, "--", "sh", "-c", "echo $$; ls -d /proc/[0-9]*; stat -c %N /proc/1/ns/mnt /proc/self/ns/mnt"
        )
        own, *processes = ended.stdout.splitlines()
        assert int(own) < 10
        assert processes[0] == "/proc/1"
        assert len([line for line in processes if line.startswith("/proc/")]) <= 4
        outside = Path("/proc/self/ns/mnt").readlink()
        assert str(outside) not in ended.stdout

    def test_the_command_inherits_three_files_and_no_ignored_signal(self) -> None:
        words = [sys.executable, "-m", "earlydrop", "link", *PLAIN, "--", "sh", "-c"]
        script = "ls /proc/$$/fd; grep SigIgn /proc/self/status; cat /proc/sys/net/ipv4/ping_group_range"
        ended = inside("sh", "-c", 'exec 7</dev/null; exec "$@"', "sh", *words, script)
        *before, ignored, low, high = ended.stdout.split()
        assert (before, low, high) == (["0", "1", "2", "SigIgn:"], "0", "2147483647")
        # Signals 32 and 33 belong to the C library, which lets no program change them.
        assert int(ignored, 16) & ~(0b11 << 31) == 0

    @pytest.mark.parametrize(("mtu", "families"), [(576, 4), (1279, 4), (1280, 6), (65041, 6), (65535, 6)])
    def test_every_mtu_that_is_allowed_carries_packets(self, mtu: int, families: int) -> None:
        script = "ip -o address show edlup; echo $EARLYDROP_OUTER6"
        ended = linked(*PLAIN, "--mtu", mtu, "--", "sh", "-c", script)
        assert ended.returncode == 0, ended.stderr
        assert "inet 100.64.0.2" in ended.stdout
        assert ("fd65:6172:6c79::6440:2" in ended.stdout) == (families == 6)
        assert (ended.stdout.splitlines()[-1] == "fd65:6172:6c79::6440:1") == (families == 6)

    def test_what_cannot_be_run_is_named_with_its_reason(self) -> None:
        ended = linked(*PLAIN, "--", "/")
        assert (ended.returncode, ended.stderr) == (126, "error: /: Permission denied\n")

    def test_a_full_disk_names_the_file_and_the_result_is_kept_elsewhere(self, tmp_path: Path) -> None:
        disk, kept = tmp_path / "disk", tmp_path / "kept"
        disk.mkdir()
        kept.mkdir()
        words = [sys.executable, "-m", "earlydrop", "link", *PLAIN, "--out", disk / "out", "--", "true"]
        script = 'mount -t tmpfs -o size=16k tmpfs "$0" && exec "$@"'
        command = ["unshare", "--net", "--mount", "sh", "-c", script, disk, *words]
        env = {**environment(), "TMPDIR": str(kept)}
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, env=env)
        assert ended.returncode == 125
        assert f"No space left on device: '{disk}/out/" in ended.stderr
        (folder,) = kept.glob("earlydrop-*")
        assert f"the runs were made, and are kept in {folder}" in ended.stderr
        assert json.loads((folder / "result.json").read_text())["kind"] == "link"

    @pytest.mark.parametrize(
        ("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGQUIT", 131), ("SIGUSR1", 138), ("SIGHUP", 129)]
    )
    def test_a_signal_goes_to_the_command(self, name: str, code: int) -> None:
        assert linking("interrupted", name) == {"first": "up\n", "code": code, "remains": []}

    def test_namespaces_can_be_joined(self) -> None:
        found = linking("joined")
        assert found["first"] == "joined edltest1 and edltest2; Ctrl-C ends it\n"
        assert found["document"]["between"] == ["edltest1", "edltest2"]
        assert (found["sender"], found["code"]) == (0, 0)
        assert found["document"]["queues"]["bottleneck"]["delivered"] > 100

    def test_a_device_that_is_there_can_be_joined(self) -> None:
        found = linking("joined", "device")
        assert found["first"] == "joined dev:edltest and edltest2; Ctrl-C ends it\n"
        assert (found["sender"], found["code"]) == (0, 0)
        assert found["document"]["queues"]["bottleneck"]["delivered"] > 100
        assert found["address"] == "100.64.0.2/30"

    def test_traces_and_loss_are_those_of_the_simulator(self, tmp_path: Path) -> None:
        trace = tmp_path / "cell.trace"
        trace.write_text("".join(f"{ms}\n" for ms in range(1, 1001) if ms % 10 < 7), encoding="utf-8")
        found = linking("traced", trace)
        assert found["differing"] == 0
        assert found["arrivals"] > 100
        assert 8.0 <= found["rate_mbps"] <= 8.8, "seven opportunities of 1500 B in ten milliseconds"
        found = linking("lossy")
        assert found["differing"] == {"bottleneck": 0, "reverse": 0}
        assert 0 < found["lost"]["bottleneck"] < 0.1 * found["arrivals"]["bottleneck"]
        assert found["lost"]["reverse"] > 0
        assert found["kept"]

    @pytest.mark.parametrize("name", impairments.LAWS)
    def test_what_a_link_does_follows_its_law(self, name: str) -> None:
        both = {"bottleneck": 0, "reverse": 0}
        assert linking("impaired", name) == {"packets": 10_000, "lost": 0, "differing": both, "kept": True}

    def test_a_link_is_changed_through_its_socket_and_repeats(self) -> None:
        found = linking("controlled", "nobody")
        assert found["owner"] == ["0o140600", True]
        assert found["refused"] == ["--control SOCKET: is there already; allowed a path at which nothing is"]
        assert found["answers"] == ["ok"] * 40
        assert found["more"] == ["ok"] * 3
        assert found["late"] == "ok"
        assert found["settings"]["rate"] == "5000000 bit/s"
        assert found["settings"]["queue"]["target"] == 0.004
        assert [error.split(";")[0] for error in found["errors"]] == [
            "error: rate: has no unit",
            "error: is no text in UTF-8",
            "error: queue.limit: cannot change while the link runs",
        ]
        assert found["fifth"] == "error: given connection 5; allowed 4 at a time"
        assert found.get("long", "") in ("", "error: the line is too long; allowed 1000 bytes")
        assert not found["left"]
        assert found["changes"] == 44
        assert found["differing"] == {"bottleneck": 0, "reverse": 0}
        assert found["without"] > 1000, "the changes did something"
        assert found["overtaken"] == 0, "a shorter delay lets no packet overtake"
        assert 5 < found["rate"] < 45

    def test_cake_has_the_packets_headers(self) -> None:
        found = linking("cake")
        assert found["code"] == 0
        assert found["differing"] == {"bottleneck": 0, "reverse": 0}
        assert min(found["arrivals"].values()) > 100
        assert found["without_headers"] > 0
        # By flows it would be three to one.
        assert found["shares"][0] < 2 * found["shares"][1], found["shares"]
        assert found["filtered"] > 5
        assert found["ce_set"] > 0
        assert [one & 0b1111_1100 for one in found["classes"]] == [0] * 20, "washed"
        assert found["voice"] == 20
        assert found["kept"]

    def test_a_result_is_written_as_run_writes_it(self, tmp_path: Path) -> None:
        import polars

        out = tmp_path / "out"
        sender = (
            "import socket, os; s = socket.socket(2, 2); [s.sendto(bytes(1000), (os.environ['EARLYDROP_OUTER'], 9))"
        )
        words = [sys.executable, "-c", f"{sender} for _ in range(300)]; print('said')"]
        options = ["--rate", "5Mbit/s", "--queue", "red limit=50p", "--log", "--verify", "--json", "--out", out]
        ended = linked(*options, "--", *words)
        assert ended.returncode == 0, ended.stderr
        document = json.loads(ended.stdout)
        assert "said" in ended.stderr, "stdout is the document's"
        assert document["replay"]["bottleneck"]["differing"] == 0
        assert "all as on the link" in ended.stderr
        log = polars.read_parquet(out / "log.parquet")
        assert len(log) == sum(queue["arrivals"] for queue in document["queues"].values())
        dropped = log.filter(polars.col("fate") >= 2)
        assert len(dropped) == sum(
            queue[key]
            for queue in document["queues"].values()
            for key in ("early_drops", "forced_drops", "overflow_drops")
        )
        assert len(dropped) > 0
        made = {kind: {path.stem for path in out.glob(f"*.{kind}")} for kind in ("csv", "json", "parquet")}
        assert made["csv"] == {"flows", "queues"}
        assert made["json"] == {"columns", "manifest", "result", "scenario"}
        assert made["parquet"] == {"flows", "log", "queues", "series"}
        others = {path.name for path in out.iterdir() if path.suffix[1:] not in made}
        assert others == {"packets.pcapng", "result.pdf", "result.png", "result.txt"}
        fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "udp.dstport", "frame.comment", "data.len"]
        command = [peer("tshark"), "-r", out / "packets.pcapng", "-Y", "udp", "-T", "fields"]
        read = subprocess.run(
            [*command, *(word for field in fields for word in ("-e", field))],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        packets = [line.split("\t") for line in read.stdout.splitlines()]
        of_udp = log.filter((polars.col("size") == 1028) & (polars.col("fate") > 0)).sort("settled_s")
        assert [round(1e9 * float(packet[1])) for packet in packets] == [
            round(1e9 * time) for time in of_udp["settled_s"]
        ]
        assert {(packet[0], *packet[2:4], packet[5]) for packet in packets} == {("bottleneck", "1028", "9", "")}
        assert sum(packet[4].startswith("dropped: ") for packet in packets) == len(dropped)

    @pytest.mark.parametrize("control", ["reno", "cubic"])
    def test_the_rate_is_kept(self, control: str) -> None:
        peer("iperf3")
        script = f"iperf3 -c $EARLYDROP_OUTER -C {control} -t 5 -J"
        server = "iperf3 -s -1 -D >/dev/null; until ss -tln | grep -q :5201; do sleep 0.05; done; exec "
        words = f"{sys.executable} -m earlydrop link --rate 10Mbit/s --delay 5ms --quiet --realtime --json"
        words += f" --queue 'droptail limit=100p' -- sh -c '{script}'"
        ended = inside("sh", "-c", f"ip link set lo up; {server}{words}")
        assert ended.returncode == 0, ended.stderr
        queue = json.loads(ended.stdout)["queues"]["bottleneck"]
        assert queue["backlogged"]["mean_mbps"] == pytest.approx(10, rel=0.01)
        start = ended.stderr.index("{")
        iperf = json.loads(ended.stderr[start : ended.stderr.rindex("}") + 1])
        # 9.65 Mbit/s of payload at most, less slow start and what a busy machine keeps the sender from sending.
        assert iperf["end"]["sum_received"]["bits_per_second"] >= 0.9 * 10e6

    def test_crosscheck_compares_both_worlds(self, tmp_path: Path) -> None:
        peer("iperf3")
        path = tmp_path / "check.toml"
        path.write_text(CROSSCHECK, encoding="utf-8")
        ended = inside(sys.executable, "-m", "earlydrop", "crosscheck", path, "--seeds", 2, "--realtime", "--json")
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout)
        assert found["congestion_control"] == "reno"
        throughput = found["measures"]["throughput_mbps"]
        assert abs(throughput["relative"]) < 0.03
        assert found["real"]["queue_mean_packets"] > 0
        assert found["real"]["early_drops"] > 0

    def test_cells_of_the_second_grid_run_on_links(self) -> None:
        found = linking("crosschecked")
        cell = found["cell"]
        assert (cell["control"], cell["path"]) == ("reno+cubic", "loss")
        assert 10 < cell["throughput_mbps"] <= 20.2
        assert 0.1 < cell["share"] < 0.9
        assert cell["lateness_p99_us"] > 0
        assert len(found["answers"]) == 3
        both = found["both_ways"]
        assert both["path"] == "both ways"
        assert 8 < both["throughput_mbps"] <= 20.2
        assert min(found["answers"]) == pytest.approx(min(found["simulated"]), rel=0.2)

    def test_what_a_crosscheck_sends_is_not_paced_by_a_default_of_bbr(self) -> None:
        flows = crosscheck.Flows(1, 1448, "cubic", timestamps=True, ecn=False)
        words = [word for key, value in flows.sysctls() for word in ("--sysctl", f"{key}={value}")]
        words = [*words, "--quiet", "--", "cat", "/proc/sys/net/ipv4/tcp_congestion_control"]
        ended = inside(sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", *words)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.split()[0] == "reno"


CROSSCHECK = f"""\
name = "check"
duration = "6 s"
warmup = "2 s"

{dumbbell("red", 100, bottleneck=("10 Mbit/s", "8 ms"), access=("1 Gbit/s", "1 ms"))}
min_th = 10
max_th = 40
max_p = 0.1

[[traffic]]
kind = "ftp"
count = 4
tcp = "sack"
segment = "1400 B"
"""
