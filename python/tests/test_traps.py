"""What people write by mistake is refused or understood: units, names, limits, completion, a second Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import take_signals

import earlydrop as ed
from earlydrop import _core, cli
from earlydrop.analysis.overflows import everywhere, never_acted
from earlydrop.strict_toml import meant
from earlydrop.sweeps import text

RANDOM = ed.uniform("0 s", "1 s")


def network(queue: ed.aqm.Queue | str, rate: str = "10 Mbit/s") -> ed.Network:
    net = ed.dumbbell(pairs=4, access=ed.link("1 Gbit/s", "5 ms"), bottleneck=ed.link(rate, "10 ms"), queue=queue)
    net.ftp(4, start=RANDOM)
    return net


# ---- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "hint"),
    [
        ("codel target=15", "15 ms"),
        (ed.aqm.CoDel(target=0.02), "0.02 s"),
        (ed.aqm.CoDel(target=5000), "5000 us"),
        ("pie qdelay_ref=20", "20 ms"),
        ("linux_ared bandwidth=10", "10 Mbit/s"),
    ],
)
def test_a_time_or_rate_without_a_unit_is_refused_with_what_was_probably_meant(queue: Any, hint: str) -> None:
    with pytest.raises(ed.ScenarioError, match=f'has no unit; did you mean "{hint}"'):
        network(queue).scenario(duration="5 s")


def test_zero_packets_and_bytes_need_no_unit() -> None:
    queue = ed.aqm.Sfq(perturb=0, depth=50, quantum=1000, limit=100)
    assert network(queue).scenario(duration="5 s").document["queue"]["bottleneck"]["limit"] == "100 packets"


@pytest.mark.parametrize("aqm", [entry["name"] for entry in json.loads(_core.catalogue())])
def test_completed_scenarios_are_read_as_they_were_written(aqm: str) -> None:
    document = network(aqm).scenario(duration="5 s").document
    assert ed.parse(document).document == document


def test_the_command_line_refuses_a_bare_time_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    network("codel").save(file, duration="5 s")
    assert cli.main(["check", str(file), "--set", "queue.bottleneck.target=15"]) == cli.WRONG_INPUT
    assert 'did you mean "15 ms"?' in capsys.readouterr().err
    assert cli.main(["check", str(file), "--set", "queue.bottleneck.target=15ms"]) == cli.DONE


# ---- names -----------------------------------------------------------------------------------------------------------


def test_names_are_found_as_people_write_them() -> None:
    assert meant("FQ-CoDel", ["codel", "fq_codel"]) == "fq_codel"
    assert meant("fqpie", ["pie", "fq_pie"]) == "fq_pie"
    assert meant("fq", ["fq_codel"]) is None
    assert network("FQ-CoDel").scenario(duration="5 s").document["queue"]["bottleneck"]["aqm"] == "fq_codel"


def test_cubic_alone_is_that_of_the_rfcs() -> None:
    net = ed.dumbbell(
        pairs=1, access=ed.link("1 Gbit/s", "5 ms"), bottleneck=ed.link("10 Mbit/s", "10 ms"), queue="pie"
    )
    net.ftp(1, tcp="cubic", start=RANDOM)
    assert net.scenario(duration="5 s").document["traffic"][0]["stack"] == "rfc"


def test_a_text_stands_for_a_queue() -> None:
    queue = network("RED limit=120p min_th=20 max_th=60").scenario(duration="5 s").document["queue"]["bottleneck"]
    assert (queue["aqm"], queue["limit"], queue["min_th"]) == ("red", "120 packets", 20)
    star = ed.star(hosts=3, access=ed.link("10 Mbit/s", "5 ms"), queue="pie")
    star.ftp(2, start=RANDOM)
    assert star.scenario(duration="5 s").document["queue"]["bottleneck"]["aqm"] == "pie"


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_a_queue_has_the_limit_of_its_discipline_or_as_many_products_as_asked_for() -> None:
    def limit(queue: str) -> str:
        found: str = network(queue).scenario(duration="5 s").document["queue"]["bottleneck"]["limit"]
        return found

    assert [limit(aqm) for aqm in ("fq_codel", "pie", "red")] == ["10240 packets", "1000 packets", "60 packets"]
    # 10 Mbit/s for 40 ms.
    assert limit("pie limit='2 bdp'") == "100000 B"
    assert limit("pie limit=0.5bdp") == "25000 B"


# ---- warnings --------------------------------------------------------------------------------------------------------


def test_a_discipline_that_never_acted_is_named() -> None:
    short = network(ed.aqm.Pie(limit=20), "50 Mbit/s")
    with pytest.warns(ed.ScenarioWarning, match="queue bottleneck: pie never acted: all .* limit of 20 packets"):
        short.run(duration="5 s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network(ed.aqm.Pie(), "50 Mbit/s").run(duration="5 s")
        network(ed.aqm.DropTail(limit=20), "50 Mbit/s").run(duration="5 s")


def test_several_runs_are_named_if_the_discipline_acted_in_none() -> None:
    scenario = {"queue": {"bottleneck": {"aqm": "pie", "limit": "50 packets"}}}
    idle = {"aqm": "pie", "overflow_drops": 9, "early_drops": 0, "forced_drops": 0, "marks": 0}
    run, acted = {"queues": {"bottleneck": idle}}, {"queues": {"bottleneck": {**idle, "early_drops": 1}}}
    assert never_acted(run, scenario)[0].startswith("queue bottleneck: pie never acted: all 9 drops are overflows")
    assert never_acted(acted, scenario) == []
    assert len(everywhere([run, run], scenario)) == 1
    assert everywhere([run, acted], scenario) == []


def test_a_comparison_begins_with_a_discipline_that_never_acted() -> None:
    net = network(ed.aqm.Pie(limit=20), "50 Mbit/s")
    found = ed.compare(net, ["droptail", "pie"], duration="5 s", warmup="1 s", seeds=2, progress=False)
    assert found.summary[0] == "PIE never acted: all its drops are overflows of the buffer."
    assert "never acted" not in " ".join(found.summary[1:])
    found = ed.compare(net, ["droptail", "pie limit=1000p"], duration="5 s", warmup="1 s", seeds=2, progress=False)
    assert "never acted" not in " ".join(found.summary)


def test_run_prints_warnings_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    network(ed.aqm.Pie(limit=20, ecn=True), "50 Mbit/s").save(file, duration="5 s")
    assert cli.main(["run", str(file), "--json"]) == cli.DONE
    said = capsys.readouterr()
    found = json.loads(said.out)["warnings"]
    assert len(found) == 2
    assert found[0].startswith("queue.bottleneck: ecn = true, but no traffic is ECN-capable")
    assert all(said.err.count(sentence[:40]) == 1 for sentence in found)


# ---- the command line ------------------------------------------------------------------------------------------------


def test_check_takes_sweeps_and_studies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network("codel").save(tmp_path / "s.toml", duration="5 s")
    sweep = tmp_path / "sweep.toml"
    factor = '[[factor]]\npath = "queue.bottleneck.aqm"\nvalues = ["RED", "codel", "nothing"]\n'
    sweep.write_text(f'name = "s"\nscenario = "s.toml"\nseeds = 2\n{factor}', encoding="utf-8")
    assert cli.main(["check", str(sweep)]) == cli.WRONG_INPUT
    assert '"nothing"' in capsys.readouterr().err
    sweep.write_text(sweep.read_text(encoding="utf-8").replace(', "nothing"', ""), encoding="utf-8")
    assert cli.main(["check", str(sweep)]) == cli.DONE
    assert "a valid sweep; s: 2 points" in capsys.readouterr().out
    assert cli.main(["check", str(sweep), "--json"]) == cli.DONE
    assert json.loads(capsys.readouterr().out)["runs"] == 4
    assert cli.main(["check", "tred"]) == cli.DONE
    assert "tred is a valid study" in capsys.readouterr().out


def test_estimates_are_written_as_people_write_them() -> None:
    assert [text._size(x) for x in (40, 1234, 123_456, 1.2e6, 123e6, 996e6, 4.5e9)] == [
        "40 B", "1.2 kB", "120 kB", "1.2 MB", "120 MB", "1 GB", "4.5 GB"
    ]  # fmt: skip
    assert [text._time(x) for x in (0.1234, 0.999, 12, 180, 7200, 864_000)] == [
        "120 ms", "1 s", "12 s", "3 min", "2 h", "10 days"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("compare first.toml --aqm fq_cod", "fq_codel"),
        ("compare first.toml --aqm red fq_pi", "fq_pie"),
        ("compare first.toml --aqm red --see", "--seeds"),
        ("reproduce tr", "tred"),
        ("show linux-", "linux-6.18"),
        ("init --topology st", "star"),
        ("init --paper nl", "nlred"),
        ("run f", "first.toml"),
        ("cros", "crosscheck"),
    ],
)
def test_bash_completes_values(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, found: str) -> None:
    assert cli.main(["completion", "bash"]) == cli.DONE
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    for name in ("first.toml", "first.txt"):
        (tmp_path / name).touch()
    ask = 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _earlydrop_values; echo "${COMPREPLY[@]}"'
    command = ["bash", "-c", ask, "bash", "earlydrop", *words.split()]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [found]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_know_values_too(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert cli.main(["completion", shell]) == cli.DONE
    script = capsys.readouterr().out
    assert "(droptail drop_front" in script if shell == "zsh" else "-l aqm -x -a 'droptail drop_front" in script
    assert "aqm-qos ddred" in script


ENDING = """
import sys
import time
from earlydrop import cli
from earlydrop.cli import entry

def command(tokens):
    try:
        print("running", flush=True)
        time.sleep(60)
    finally:
        print("ending", flush=True)
        time.sleep(WAIT)

entry._dispatch = command
sys.argv[1:] = ["run"]
sys.exit(cli.main())
"""


@pytest.mark.parametrize(("pause", "wait"), [(0.0, 1), (1.5, 60)])
def test_a_second_ctrl_c_is_quiet(pause: float, wait: int) -> None:
    """At once it is not heard; after a second it ends a command that does not end by itself."""
    command = [sys.executable, "-c", ENDING.replace("WAIT", str(wait))]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=take_signals
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ending\n"
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=50)
    assert process.returncode == cli.INTERRUPTED
    assert "Traceback" not in err
