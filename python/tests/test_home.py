"""`advise`: a home's line is read, simulated and ranked honestly, and its configuration is what the tools take."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from earlydrop import _core, advise, cli
from earlydrop.advise import commands, line, model, ranking, rules, units
from earlydrop.advise import text as said
from earlydrop.advise.model import ALONE, TODAY

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/home.md"


# ---- the line ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"down": "50"}, "--down"),
        ({"down": "50mbps"}, "--down"),  # megabytes in tc
        ({"up": "1kbit"}, "--up"),
        ({"up": "100Gbit/s"}, "--up"),
        ({"rtt": "20"}, "--rtt"),
        ({"rtt": "80..20ms"}, "--rtt"),
        ({"link": "isdn"}, "--link"),
        ({"buffer": "much"}, "--buffer"),
        ({"buffer": "1"}, "--buffer"),
        ({"buffer": "20s"}, "--buffer"),
        ({"downloads": 0}, "--flows"),
    ],
)
def test_a_line_that_is_none_is_refused(given: dict[str, str], what: str) -> None:
    with pytest.raises(advise.AdviseError, match=what):
        advise.home(**{"down": "50mbit", "up": "10mbit", **given})  # type: ignore[arg-type]


def test_a_line_is_read() -> None:
    for rate in ("50mbit", "50 Mbit/s", "50Mbps", "50000kbit", "0.05gbit"):
        assert advise.home(rate, "10mbit").down_bps == 50e6
    found = advise.home("50mbit", "10mbit", "20..80ms", "adsl", "1s", 7)
    assert found == advise.Home(50e6, 10e6, (20.0, 80.0), "adsl", "1000 ms", 7)
    assert found.limit(8e6) == "1000000 B"
    assert advise.home("50mbit", "10mbit", buffer="100p").limit(8e6) == "100 packets"
    assert advise.home("50mbit", "10mbit", buffer="1ms").limit(1e6) == "15140 B", "ten packets at least"


@pytest.mark.parametrize("link", advise.LINKS)
@pytest.mark.parametrize("queue", [ALONE, TODAY, *advise.CANDIDATES, "red", "dualpi2"])
def test_every_line_and_queue_is_a_scenario(link: str, queue: str) -> None:
    home = advise.home("16mbit", "1mbit", link=link)
    checked = json.loads(_core.Scenario.parse(model.scenario(home, queue, 30.0), []).to_json())
    ways = [link["framing"] for link in checked["link"] if "framing" in link]
    assert len(ways) == (1 if queue in (ALONE, TODAY) else 2)
    assert {way["overhead"] for way in ways} == {f"{home.framing.overhead} B"}
    # A PPP device has no Ethernet header.
    layers = {link.get("link_layer", "ethernet") for link in checked["link"] if "framing" in link}
    assert layers == {"ip" if link in ("adsl", "vdsl") else "ethernet"}


def test_framing_is_that_of_tc_cake() -> None:
    """tc-cake(8): docsis: overhead 18 mpu 64; pppoe-llcsnap: 40 atm; pppoe-ptm: 30 ptm; ethernet: 38 mpu 84; raw: 0."""
    found = {f.cake: (f.overhead, f.mpu, f.encoding) for f in advise.LINKS.values()}
    assert found == {
        "docsis": (18, 64, "plain"),
        "pppoe-llcsnap": (40, 0, "atm"),
        "pppoe-ptm": (30, 0, "ptm"),
        "ethernet": (38, 84, "plain"),
        "raw": (0, 0, "plain"),
    }


def told(home: advise.Home, **columns: list[float]) -> ranking.Advice:
    """Advice of CAKE for a line, from six seeds; columns of today's line and CAKE's, as `loss=[1.4, 5.2]`."""
    from earlydrop.analysis.statistics import estimate

    def rank(queue: str, latency: float, first: int = 0) -> ranking.Rank:
        return ranking.Rank(queue, estimate([latency - 1, latency + 1]), *(estimate([0.0, 0.1]),) * 4, first, first)

    pairs = {name: columns.get(name, [1.0, 0.9975]) for name in ("latency", "loss", "page", "bulk")}
    made = {
        name: {TODAY: [before] * 6, "cake": [after + 0.001 * k for k in range(6)]}
        for name, (before, after) in pairs.items()
    }
    return ranking.Advice(home, 6, rank(ALONE, 1), rank(TODAY, 400), [rank("cake", 20, 1)], made, "cake")


LINES = {
    # Line: target and interval of both directions (ms), CAKE's keyword, and what is said beside.
    ("16mbit", "1mbit", None, "adsl"): ((5.0, 100.0), (14.7, 147.0), "internet", {"ack_filter"}),
    ("100mbit", "40mbit", None, "vdsl"): ((5.0, 100.0), (5.0, 100.0), "internet", set()),
    ("50mbit", "10mbit", None, "docsis"): ((5.0, 100.0), (5.0, 100.0), "internet", set()),
    ("500mbit", "30mbit", None, "docsis"): ((5.0, 100.0), (5.0, 100.0), "internet", {"ack_filter", "processor"}),
    ("1gbit", "500mbit", None, "fiber"): ((5.0, 100.0), (5.0, 100.0), "internet", {"processor"}),
    ("20mbit", "5mbit", None, "lte"): ((5.0, 100.0), (5.0, 100.0), "internet", {"moves"}),
    ("50mbit", "5mbit", None, "satellite"): ((30.0, 600.0), (30.0, 600.0), "satellite", set()),
    ("100mbit", "50mbit", "10ms", "fiber"): ((5.0, 100.0), (5.0, 100.0), "internet", set()),
    ("100mbit", "50mbit", "100ms", "fiber"): ((5.0, 100.0), (5.0, 100.0), "internet", set()),
    ("100mbit", "50mbit", "20..300ms", "fiber"): ((15.0, 300.0), (15.0, 300.0), "oceanic", set()),
}


@pytest.mark.parametrize("given", LINES, ids=str)
def test_the_settings_follow_the_line(given: tuple[str, str, str | None, str], tmp_path: Path) -> None:
    down, up, keyword, asked = LINES[given]
    home = advise.home(*given)
    for way, times in ((False, down), (True, up)):
        target, interval = model.control_times(home, way)
        assert (target, interval) == times
        assert interval >= max(100, *home.rtts_ms)
        assert target >= 5
        assert 0.05 <= target / interval <= 0.1
        # The simulated queue, `tc`, OpenWrt and networkd have the same.
        for aqm in ("codel", "fq_codel"):
            simulated = model.settings(home, aqm, way)
            assert (simulated["target"], simulated["interval"]) == (f"{target:g} ms", f"{interval:g} ms")
            assert f"target {target:g}ms interval {interval:g}ms" in commands.qdisc(home, aqm, way)
            sqm = dict(uci(commands.sqm_config(home, aqm)))
            assert sqm["etarget" if way else "itarget"] == f"{target * 1e3:g}us"
            assert sqm["eqdisc_opts" if way else "iqdisc_opts"] == f"interval {interval * 1e3:g}us"
            if not home.framing.ppp:
                assert f"TargetSec={target:g}ms\nIntervalSec={interval:g}ms" in units._shaper(home, aqm, way)
        assert f" target {max(15, target):g}ms " in commands.qdisc(home, "pie", way)
        assert model.settings(home, "fq_pie", way)["qdelay_ref"] == f"{max(15, target):g} ms"
        cake, options = commands.qdisc(home, "cake", way), model.settings(home, "cake", way)
        assert f" {keyword} " in cake
        rtt = {"internet": 100, "oceanic": 300, "satellite": 1000}[keyword]
        assert options["rtt"] == f"{rtt} ms"
        assert options["ingress"] == ("ingress" in cake) == (not way)
        filters = way and "ack_filter" in asked
        assert (options.get("ack_filter") == "on") == cake.endswith("ack-filter") == filters
        sqm = dict(uci(commands.sqm_config(home, "cake")))
        assert cake.endswith(sqm["eqdisc_opts" if way else "iqdisc_opts"])
        unit = units._shaper(home, "cake", way)
        assert ("AckFilter=yes" in unit) == filters
        assert (f"RTTSec={rtt}ms" in unit) == (rtt != 100)
    spoken = said.notes(home)
    words = {"moves": "cake-autorate", "ack_filter": "ack-filter", "processor": "processor"}
    assert {name for name, word in words.items() if any(word in note for note in spoken)} == asked
    assert len(spoken) == len(asked)
    last = said.printed(told(home), tmp_path).splitlines()[-1]
    assert last == "Measure it now: `ping` while you download and upload; it rises by some 400 ms, with cake by 20 ms."


def test_the_line_s_rules_begin_exactly_where_they_say() -> None:
    def asked(down: str, up: str, rtt: str = "30ms") -> advise.Home:
        return advise.home(down, up, rtt)

    assert asked("15mbit", "1mbit").filters_acks
    assert not asked("14.9mbit", "1mbit").filters_acks
    assert said.notes(asked("499mbit", "100mbit")) == []
    assert "At 500 Mbit/s" in said.notes(asked("100mbit", "500mbit"))[0]
    keywords = {"100ms": "internet", "101ms": "oceanic", "1s": "satellite", "1.5s": "rtt 1500ms"}
    assert {rtt: model.cake_rtt(asked("50mbit", "10mbit", rtt))[0] for rtt in keywords} == keywords
    assert model.control_times(asked("50mbit", "10mbit", "101ms"), up=True) == (5.1, 101.0)
    assert "base rates are 19000 and 4750 kbit/s" in said.notes(advise.home("20mbit", "5mbit", link="lte"))[0]


def test_the_headline_says_what_gets_worse() -> None:
    home = advise.home("16mbit", "1mbit", link="adsl")
    text = " ".join(said.verdict(told(home, loss=[1.4, 5.2], page=[9.0, 4.0], bulk=[15.0, 12.0])))
    assert "What gets worse: voice loss, from 1.4 to 5.2 %; the bulk transfers, 2.9975 Mbit/s (2.99" in text
    assert text.index("What gets worse") < text.index("What gets better: the time of a page, 4.9975 s (4.99")
    assert "Nothing that was measured gets worse." in said.verdict(told(home, page=[9.0, 4.0]))


def test_the_table_of_rules_fills_every_template() -> None:
    """What other programs read, too: no word in braces is left over, and every queue has its template."""
    home = advise.home("50mbit", "10mbit")
    for aqm in model.RUNNABLE:
        assert "{" not in "\n".join([*commands.tc_lines(home, aqm)[1:], *commands.tc_undo()])
    assert set(model.CANDIDATES) | set(ranking.PREFERRED) | set(commands.SQM) <= set(model.RUNNABLE)
    assert all(note.count("{") == note.count("}") for note in rules.RULES["notes"].values())


def test_fast_lines_are_measured_for_less_time() -> None:
    assert model.times(advise.home("50mbit", "10mbit")) == (10.0, 30.0)
    assert model.times(advise.home("300mbit", "50mbit")) == (17.1 / 3, 17.1)
    assert model.times(advise.home("5gbit", "5gbit")) == (5 / 3, 5.0)


# ---- ranks ---------------------------------------------------------------------------------------------------------


def test_what_does_not_differ_clearly_shares_a_rank() -> None:
    latencies = {
        "a": [10.0, 11.0, 9.0, 10.0, 10.5, 9.5],
        "b": [12.0, 9.0, 11.0, 8.0, 12.5, 9.5],  # not significant
        "c": [10.5, 11.5, 9.5, 10.5, 11.0, 10.0],  # always 0.5 ms more than a: too little to notice
        "d": [30.1, 31.0, 29.0, 30.0, 30.5, 29.5],  # hardly varies from 20 ms more than a
        "e": [31.0, 44.0, 17.0, 52.0, 29.0, 33.0],  # of a wide interval
    }
    found = ranking.placed(list(latencies), latencies)
    assert found["a"] == found["b"] == found["c"]
    assert found["a"][0] == 1
    assert found["d"][0] == 4, "worse than three"
    assert found["d"][1] == found["e"][1] == 5
    assert found["e"][0] <= 4


def test_what_loses_much_of_a_call_comes_last() -> None:
    latencies = {"lossy": [10.0, 11.0, 12.0], "a": [200.0, 210.0, 190.0], "b": [201.0, 209.0, 190.5]}
    found = ranking.placed(list(latencies), latencies, {"lossy"})
    assert found == {"lossy": (3, 3), "a": (1, 2), "b": (1, 2)}


def test_one_seed_tells_nothing_apart() -> None:
    assert ranking.placed(["a", "b"], {"a": [1.0], "b": [100.0]}) == {"a": (1, 2), "b": (1, 2)}


def ranked(*names: tuple[str, int]) -> list[ranking.Rank]:
    from earlydrop.analysis.statistics import estimate

    nothing = estimate([1.0])
    return [ranking.Rank(name, *(nothing,) * 5, first=first, last=9) for name, first in names]


def test_of_equal_queues_the_preferred_one_is_configured() -> None:
    assert ranking._use(ranked(("sfq", 1), ("fq_pie", 1), ("fq_codel", 1), ("pie", 4))) == "fq_codel"
    assert ranking._use(ranked(("sfq", 1), ("fq_codel", 1), ("cake", 1))) == "cake"
    assert ranking._use(ranked(("cobalt", 1), ("pie", 2), ("sfq", 2))) == "pie", "Linux has no COBALT"
    with pytest.raises(advise.AdviseError, match="--aqm"):
        advise.question(advise.home("50mbit", "10mbit"), ["tred"], 1)


# ---- configuration -------------------------------------------------------------------------------------------------

NOT_THERE = "Error: Specified qdisc kind is unknown."
"""What a kernel answers that lacks a qdisc; what is wrong in a line, `tc` finds itself before it asks the kernel."""

needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None or shutil.which("unshare") is None,
    reason="needs root, tc and unshare",
)


def in_a_namespace(*commands_: str) -> list[str]:
    """Runs each command in one network namespace with a device eth0; what each of them wrote to stderr."""
    script = ["ip link add eth0 type ifb", "ip link set eth0 up", "WAN=eth0"]
    script += [f"{{ {command}; }} 2>&1 >/dev/null; echo @@" for command in commands_]
    ended = subprocess.run(
        ["unshare", "--net", "sh", "-c", "\n".join(script)], capture_output=True, text=True, timeout=60, check=True
    )
    return [part.strip() for part in ended.stdout.split("@@\n")[:-1]]


@needs_namespaces
@pytest.mark.parametrize("link", advise.LINKS)
@pytest.mark.parametrize("aqm", model.RUNNABLE)
def test_the_lines_for_tc_are_taken(link: str, aqm: str) -> None:
    lines = [x for x in commands.tc_lines(advise.home("50mbit", "10mbit", link=link), aqm)[1:] if x[0] != "#"]
    answers = in_a_namespace(*lines)
    assert len(answers) == len(lines)
    for command, answer in zip(lines, answers, strict=True):
        if aqm == "dualpi2" and 'Unknown qdisc "dualpi2"' in answer:
            continue  # younger than this tc
        assert answer in ("", NOT_THERE), f"{command}: {answer}"
        if "htb" in command or "mirred" in command:
            assert not answer, f"{command}: {answer}"


@needs_namespaces
def test_a_line_that_is_wrong_is_found() -> None:
    """That `tc` answers otherwise where a word is wrong: the test above can fail."""
    for wrong in ("fq_codel limt 5", "cake bandwidth 5kbit docsys", "pie target 15ms tupdat 15ms"):
        (answer,) = in_a_namespace(f"tc qdisc add dev eth0 root {wrong}")
        assert answer not in ("", NOT_THERE)


@needs_namespaces
def test_the_script_sets_up_and_removes(tmp_path: Path) -> None:
    script = tmp_path / "tc.sh"
    # pfifo is in every kernel.
    script.write_text(commands.tc_script(advise.home("50mbit", "10mbit"), "droptail"), encoding="utf-8")
    ended = subprocess.run(
        [
            *("unshare", "--net", "sh", "-ec"),
            "ip link add eth0 type ifb; ip link set eth0 up\n"
            f"sh {script} start eth0; tc qdisc show; tc filter show dev eth0 parent ffff:\n"
            f"sh {script} start eth0; echo @@; sh {script} stop eth0; tc qdisc show; ip link show",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    before, after = ended.stdout.split("@@\n")
    assert before.count("qdisc pfifo 8") + before.count("limit 1000p") >= 2
    assert "egress redirect" in before.lower()
    assert "ifb4wan" not in after
    assert "htb" not in after
    assert not ended.stderr


def uci(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each option of a file in OpenWrt's format; an assertion where a line is none."""
    for text_line in text.splitlines():
        if re.fullmatch(r"config queue '[\w-]+'", text_line):
            continue
        found = re.fullmatch(r"\toption (\w+) '([^']*)'", text_line)
        assert found, text_line
        yield found[1], found[2]


SQM_OPTIONS = {
    *("enabled", "interface", "download", "upload", "qdisc", "script", "linklayer", "overhead", "linklayer_advanced"),
    *("tcMPU", "qdisc_advanced", "qdisc_really_really_advanced", "ilimit", "elimit", "itarget", "etarget"),
    *("iqdisc_opts", "eqdisc_opts"),
}
"""Those that sqm-scripts' run-openwrt.sh and its web page read."""


@pytest.mark.parametrize("link", advise.LINKS)
@pytest.mark.parametrize("aqm", commands.SQM)
def test_the_file_for_openwrt(link: str, aqm: str) -> None:
    home = advise.home("50mbit", "10mbit", link=link)
    found = dict(uci(commands.sqm_config(home, aqm)))
    assert set(found) <= SQM_OPTIONS
    share = 64 / 65 if link == "vdsl" else 1.0
    assert (int(found["download"]), int(found["upload"])) == (int(47_500 * share), int(9_500 * share))
    bare = link in ("lte", "satellite")
    assert found["linklayer"] == ("none" if bare else "atm" if link == "adsl" else "ethernet")
    # CAKE counts from the IP packet, `tc stab` from the Ethernet frame where the device is one.
    overhead = home.framing.overhead
    expected = overhead if aqm == "cake" or link in ("adsl", "vdsl") else overhead - 14
    assert found.get("overhead") == (None if bare else str(expected))


KEYS = {
    "HierarchyTokenBucket": {"Parent", "Handle", "DefaultClass"},
    "HierarchyTokenBucketClass": {"Parent", "ClassId", "Rate", "QuantumBytes", "OverheadBytes"},
    "FairQueueingControlledDelay": {"Parent", "PacketLimit", "TargetSec", "IntervalSec"},
    "ControlledDelay": {"Parent", "PacketLimit", "TargetSec", "IntervalSec"},
    "PIE": {"Parent", "PacketLimit"},
    "FlowQueuePIE": {"Parent", "PacketLimit"},
    "StochasticFairBlue": {"Parent", "PacketLimit"},
    "StochasticFairnessQueueing": {"Parent", "PerturbPeriodSec"},
    "PFIFO": {"Parent", "PacketLimit"},
    "CAKE": {"Parent", "Bandwidth", "OverheadBytes", "MPUBytes", "PriorityQueueingPreset", "NAT", "Wash"}
    | {"RTTSec", "AckFilter"},
    "Match": {"Name"},
    "Link": {"RequiredForOnline"},
    "Network": {"LinkLocalAddressing"},
    "NetDev": {"Name", "Kind"},
}
"""Sections and keys of systemd.network(5) and systemd.netdev(5), systemd 253."""


@pytest.mark.parametrize("link", ["docsis", "fiber", "lte", "satellite"])
@pytest.mark.parametrize("aqm", [*units._SECTIONS, "cake"])
def test_units_of_networkd_have_its_keys(link: str, aqm: str) -> None:
    for name, text in units.networkd_files(advise.home("50mbit", "2mbit", link=link), aqm).items():
        if name == "README" or name.endswith(".service"):
            continue
        section = ""
        for text_line in filter(None, text.splitlines()):
            if text_line.startswith("["):
                section = text_line.strip("[]")
                assert section in KEYS, name
            else:
                assert text_line.partition("=")[0] in KEYS[section], f"{name}: [{section}] {text_line}"


def test_networkd_does_not_set_up_ppp() -> None:
    assert not units.networkd_files(advise.home("50mbit", "10mbit", link="adsl"), "fq_codel")


NETWORKD = Path("/lib/systemd/systemd-networkd")


@needs_namespaces
@pytest.mark.skipif(not NETWORKD.exists(), reason="needs systemd-networkd")
@pytest.mark.parametrize("aqm", ["fq_codel", "sfq", "cake", "a wrong key"])
def test_networkd_reads_its_units(aqm: str, tmp_path: Path) -> None:
    """The daemon itself, in namespaces of its own, says which keys it does not know."""
    files = units.networkd_files(advise.home("50mbit", "10mbit", link="docsis"), aqm.replace("a wrong key", "fq_codel"))
    files["10-eth0.network"] = "[Match]\nName=eth0\n"
    if aqm == "a wrong key":
        files["10-eth0.network.d/advise.conf"] += "PacketLimt=5\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    script = f"""
        for folder in /run/systemd /etc/systemd/network; do mkdir -p $folder; mount -t tmpfs none $folder; done
        cp -r {tmp_path}/. /etc/systemd/network; chmod -R a+rX /etc/systemd/network
        SYSTEMD_LOG_TARGET=console timeout 30 {NETWORKD} 2>/run/systemd/said &
        until grep "Enumeration completed" /run/systemd/said || ! kill -0 $!; do sleep 0.05; done
        kill $!; cat /run/systemd/said >&2
    """
    ended = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Enumeration completed" in ended.stderr, ended.stderr
    complaints = [x for x in ended.stderr.splitlines() if x.startswith("/etc/systemd/network")]
    assert len(complaints) == (1 if aqm == "a wrong key" else 0), complaints


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_service(tmp_path: Path) -> None:
    name = f"{commands.IFB}.service"
    text = units.networkd_files(advise.home("50mbit", "10mbit"), "fq_codel")[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    ended = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / name)], capture_output=True, text=True, timeout=60, check=False
    )
    assert not [x for x in ended.stderr.splitlines() if name in x], ended.stderr


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Runs of 3 s, in an empty folder."""
    from earlydrop.advise import pictures

    monkeypatch.setattr(model, "MEASURED_S", 3.0)
    monkeypatch.setattr(model, "LEAST_S", 3.0)
    monkeypatch.setattr(pictures, "BITS", 1e6)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_advice(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = ["advise", "--down", "20mbit", "--up", "5mbit", "--aqm", "codel", "fq_codel", "--seeds", "3", "--json"]
    assert cli.main(question) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert [r["queue"] for r in found["ranks"]] == ["fq_codel", "codel"]
    assert found["use"] == "fq_codel"
    assert found["idle"]["latency_ms"]["mean"] < found["ranks"][0]["latency_ms"]["mean"]
    assert found["ranks"][0]["latency_ms"]["mean"] < 0.5 * found["today"]["latency_ms"]["mean"]
    assert found["line"]["down_bps"] == 20e6
    folder = short / "out/advise"
    assert {"advice.html", "advice.json", "advice.txt", "before-after.png", "before-after.svg"} <= {
        file.name for file in folder.iterdir()
    }
    for name, text in found["config"].items():
        assert (folder / "config" / name).read_text(encoding="utf-8") == text
    page = (folder / "advice.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml") == 3
    assert "fq_codel limit 10240" in page
    # The line is a scenario with what was recommended, and opens in the playground.
    from earlydrop import playground

    path = folder / "line.toml"
    assert f"See it: earlydrop play {path.relative_to(short)}\n" in (folder / "advice.txt").read_text(encoding="utf-8")
    home = advise.home("20mbit", "5mbit")
    known = model.scenario(home, "fq_codel", 30.0)
    for text in (path.read_text(encoding="utf-8"), playground.scenario(path)):
        assert {key: tomllib.loads(text)[key] for key in known} == known
    # Again, from the store: the same bytes.
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert cli.main(question) == cli.DONE
    assert {file: file.read_bytes() for file in before} == before
    # The general report of a sweep is made on demand.
    assert cli.main(["report", "out/advise"]) == cli.DONE


def test_both_directions_matter(short: Path) -> None:
    """Behind a slow uplink with a full FIFO, the call suffers upwards, and so does the download, whose ACKs wait."""

    def run(up: str) -> dict[str, dict[str, float]]:
        home = advise.home("20mbit", up, link="adsl")
        result = json.loads(_core.Scenario.parse(model.scenario(home, TODAY, 30.0), []).run(1))
        return {entry["name"]: entry for entry in result["traffic"]}

    # At 20 Mbit/s there are some 700 ACKs a second, of two cells each: 600 kbit/s.
    slow, fast = run("384kbit"), run("20mbit")
    assert slow["voice_up"]["delay_mean_ms"] > 2 * fast["voice_up"]["delay_mean_ms"]
    assert slow["down_cubic"]["goodput_mbps"] < 0.8 * fast["down_cubic"]["goodput_mbps"]


def test_the_older_options_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    from earlydrop.cli.advise import _older

    assert _older(None, None, "50Mbit/s", "1..50") == ("50Mbit/s", "50Mbit/s", 50)
    said_ = capsys.readouterr().err
    assert "--down 50Mbit/s --up 50Mbit/s" in said_
    assert "50 CUBIC flows" in said_
    for wrong in (
        ["--rate", "50mbit", "--down", "50mbit"],
        ["--down", "50mbit"],
        ["--down", "50mbit", "--up", "5mbit", "--flows", "x"],
        ["--down", "50mbit", "--up", "5mbit", "--aqm", "tred"],
        ["--rate", "x", "--rtt", "20ms", "--flows", "8"],
    ):
        assert cli.main(["advise", *wrong]) == cli.WRONG_INPUT


# ---- the page ------------------------------------------------------------------------------------------------------


def blocks(text: str) -> list[str]:
    """Indented blocks of a page."""
    return [
        "\n".join(x[4:] for x in part.splitlines()).strip("\n")
        for part in re.findall(r"(?:(?:^ {4}.*)?\n)+", text, re.MULTILINE)
        if part.strip()
    ]


def test_the_commands_of_the_page_run(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = re.findall(r"^ {4}earlydrop (advise .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) >= 4
    for command in found:
        words = command.split("  ")[0].split()
        assert cli.main([*words, "--seeds", "1"]) == cli.DONE, command
        assert "Files:" in capsys.readouterr().out


def test_the_table_of_the_page_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of its rows: ten seeds of each are seconds, those of all eight half a minute."""
    from earlydrop.advise import pictures

    monkeypatch.setattr(pictures, "BITS", 1e6)
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    question = "advise --down 50mbit --up 10mbit --link docsis"
    assert f"    earlydrop {question}\n" in text
    assert cli.main([*question.split(), "--aqm", "cake"]) == cli.DONE
    rows = re.findall(r"^.*  (cake|today's FIFO|no load)  (.*±.*)$", capsys.readouterr().out, re.MULTILINE)
    assert len(rows) == 3
    for queue, figures in rows:
        assert re.search(rf"  {re.escape(queue)} +{re.escape(figures.strip())}$", text, re.MULTILINE), (
            f"stale: {queue}: {figures}; print the block anew, and copy before-after.png to docs/images"
        )


def test_the_configuration_of_the_page_is_what_is_printed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    home = advise.home("50mbit", "10mbit", link="docsis")
    shown = blocks(text)
    for expected in (
        commands.sqm_config(home, "cake").expandtabs(4).strip(),
        "\n".join(commands.tc_lines(home, "cake")),
        "\n".join(commands.tc_undo()),
    ):
        assert any(expected in block for block in shown), expected
    assert "  ".join(["rank", "queue"]) in text
    for key in said.HEAD:
        assert key in text
    for name in line.LINKS:
        assert f"| `{name}` |" in text


def test_framing_from_python() -> None:
    import earlydrop as ed

    net = ed.graph(
        [ed.join("a", "b", ed.link("1 Mbit/s", "1 ms", framing={"overhead": "40 B", "encoding": "atm"}), queue="line")],
        queues={"line": ed.aqm.DropTail()},
    )
    net.cbr(1, rate="900 kbit/s", from_="a", to="b")
    # 22 cells of 53 B for each 1000 B: 1.166 of 0.9 Mbit/s.
    queue = net.scenario(duration="5 s").run().document["queues"]["line"]
    assert queue["throughput_mbps"] == pytest.approx(1000 / (22 * 53), rel=0.01)
