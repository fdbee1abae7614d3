"""`earlydrop play`: the page, a scenario for it, the server, and what it says when something is wrong."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import take_signals

import earlydrop as ed
import web_statistics
from earlydrop import playground, widget
from earlydrop.cli import main

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
name = "small"
duration = "5 s"
[topology]
kind = "dumbbell"
pairs = 2
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
[queue.bottleneck]
aqm = "red"
[[traffic]]
kind = "ftp"
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>page</title>", encoding="utf-8")
    (folder / "earlydrop.wasm").write_bytes(b"\0asm\1\0\0\0")
    return folder


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture
def served(page: Path) -> Iterator[str]:
    made, address = playground.server(page, 0, SCENARIO)
    with made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield address
        made.shutdown()
        thread.join()


def test_the_server_has_the_page_the_engine_and_the_scenario(served: str) -> None:
    address, _, opened = served.partition("#")
    assert opened == "open=scenario.toml"
    with urllib.request.urlopen(address) as answer:
        assert b"<title>page</title>" in answer.read()
    with urllib.request.urlopen(f"{address}earlydrop.wasm") as answer:
        # Browsers compile a stream only if it is called so.
        assert answer.headers["Content-Type"] == "application/wasm"
    with urllib.request.urlopen(f"{address}scenario.toml") as answer:
        assert answer.read().decode() == SCENARIO
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}../pyproject.toml")


def test_it_serves_this_machine_alone(served: str) -> None:
    assert served.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:PORT", 200),
        ("localhost:PORT", 200),
        ("LocalHost:PORT", 200),
        ("evil.example:PORT", 421),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:PORT", 421),
        ("localhost.:PORT", 421),
        ("127.0.0.1", 421),
        ("127.0.0.1:1", 421),
        ("[::1]:PORT", 421),
        ("0.0.0.0:PORT", 421),
        ("", 421),
        (None, 421),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/scenario.toml"), ("GET", "/earlydrop.wasm"), ("HEAD", "/")]
)
def test_it_answers_to_its_own_names_alone(served: str, host: str | None, status: int, path: str, method: str) -> None:
    # A name that was made to lead to this machine (DNS rebinding) is no name of the server's.
    port = urllib.parse.urlsplit(served).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host.replace("PORT", str(port)))
    connection.endheaders()
    with connection.getresponse() as answer:
        content = answer.read()
    connection.close()
    assert answer.status == status
    assert status == 200 or (b"page" not in content and b"topology" not in content)


def test_two_names_at_once_are_no_own_name(served: str) -> None:
    port = urllib.parse.urlsplit(served).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("GET", "/", skip_host=True)
    for host in ("evil.example", f"127.0.0.1:{port}"):
        connection.putheader("Host", host)
    connection.endheaders()
    with connection.getresponse() as answer:
        assert answer.status == 421
    connection.close()


def test_a_port_that_is_taken_or_none_is_an_error(page: Path) -> None:
    made, _ = playground.server(page)
    with made:
        taken = made.server_address[1]
        with pytest.raises(playground.PlaygroundError, match=f"--port {taken}: "):
            playground.server(page, taken)
    with pytest.raises(playground.PlaygroundError, match="ports are 0 to 65535"):
        playground.server(page, 70_000)


def test_a_scenario_is_checked_and_means_the_same(scenario: Path) -> None:
    text = playground.scenario(scenario, [("queue.bottleneck.max_p", "0.3")])
    wanted = ed.load(scenario, {"queue.bottleneck.max_p": 0.3})
    assert ed.parse(tomllib.loads(text)).document == wanted.document
    scenario.write_text(SCENARIO.replace("pairs = 2", "pairs = -2"), encoding="utf-8")
    with pytest.raises(ed.ScenarioError, match=r"topology\.pairs"):
        playground.scenario(scenario)


def test_a_trace_of_a_link_comes_with_the_scenario(scenario: Path) -> None:
    (scenario.parent / "up.trace").write_text("1\n2\n3\n", encoding="utf-8")
    fixed = 'bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }'
    traced = 'bottleneck = { rate = { trace = "up.trace" }, delay = "20 ms" }'
    scenario.write_text(SCENARIO.replace(fixed, traced), encoding="utf-8")
    document = tomllib.loads(playground.scenario(scenario))
    assert document["topology"]["bottleneck"]["rate"]["trace"] == [1, 2, 3]


def test_without_a_page_it_says_how_to_build_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(playground, "__file__", str(tmp_path / "lib" / "python" / "earlydrop" / "playground.py"))
    with pytest.raises(playground.PlaygroundError, match="make web"):
        playground.page()
    own = tmp_path / "lib" / "python" / "earlydrop" / "web"
    own.mkdir(parents=True)
    for name in ("index.html", "earlydrop.wasm"):
        (own / name).write_bytes(b"")
    assert playground.page() == own


def test_the_command_refuses_what_is_wrong(capsys: pytest.CaptureFixture[str], scenario: Path) -> None:
    assert main(["play", "--set", "seed=2"]) == 2
    assert "--set: belongs to a scenario" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
def test_ctrl_c_ends_it_cleanly(page: Path, scenario: Path) -> None:
    code = (
        "import sys, pathlib; from earlydrop import playground; from earlydrop.cli import main; "
        f"playground.page = lambda: pathlib.Path({str(page)!r}); sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "play", str(scenario), "--no-browser"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=take_signals
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"playground: (http://127\.0\.0\.1:\d+/)#open=scenario\.toml\n", line)
        assert found, line
        with urllib.request.urlopen(f"{found[1]}scenario.toml") as answer:
            assert b'name = "small"' in answer.read()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    assert (process.returncode, complaints) == (0, "")


def test_statistics_of_the_page_are_tested_against_todays() -> None:
    assert web_statistics.FILE.read_text(encoding="utf-8") == web_statistics.made()


def test_no_registry_is_named_in_the_lock_file() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    assert len(lock["packages"]) > 20
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]


# ---- in a notebook ---------------------------------------------------------------------------------------------------


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with the parts of the real one."""
    folder = tmp_path / "built"
    folder.mkdir()
    head = (
        """<meta http-equiv="Content-Security-Policy" content="script-src &#39;self&#39;">"""
        '<link rel="icon" href="./page.svg">'
        '<script defer src="./page.js"></script><link rel="stylesheet" href="./page.css">'
    )
    (folder / "index.html").write_text(f"<!doctype html><head>{head}</head><body><p>x</p></body>", encoding="utf-8")
    (folder / "page.js").write_text("document.title = '</script>';", encoding="utf-8")
    (folder / "page.css").write_text("p { color: red }", encoding="utf-8")
    (folder / "earlydrop.wasm").write_bytes(b"\0asm\1\0\0\0")
    monkeypatch.setattr(playground, "page", lambda: folder)
    return folder


def network(queue: ed.aqm.Queue) -> ed.Network:
    return ed.dumbbell(
        pairs=2, access=ed.link("100 Mbit/s", "5 ms"), bottleneck=ed.link("10 Mbit/s", "20 ms"), queue=queue
    ).ftp(2, tcp="reno")


def test_a_widget_has_the_page_in_one_text_with_the_scenario(built: Path) -> None:
    made = network(ed.aqm.Red(min_th=7)).play(duration="5 s")
    text = made.page
    assert "src=" not in text
    assert "href=" not in text
    assert "<style>p { color: red }</style>" in text
    # The page's own script ends where it should, and stands behind what it is given.
    assert text.count("</script>") == 2
    given, code = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert code == r"document.title = '<\/script>';"
    found = json.loads(given.removeprefix("Object.assign(globalThis, ").removesuffix(");"))
    assert base64.b64decode(found["earlydropWasm"]) == b"\0asm\1\0\0\0"
    # A browser runs these scripts and takes this style, and no others.
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', text)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in (given, code, "p { color: red }")
    ]
    assert policy == [
        f"default-src 'none'; script-src {hashes[0]} {hashes[1]} 'wasm-unsafe-eval'; worker-src blob:; "
        f"style-src {hashes[2]}; base-uri 'none'; form-action 'none'"
    ]
    assert tomllib.loads(found["earlydropScenario"])["queue"]["bottleneck"]["min_th"] == 7
    assert made.height == widget.HEIGHT
    assert "createObjectURL" in made._esm


def test_no_text_of_a_scenario_is_code_in_the_page(built: Path) -> None:
    hostile = "name = '<!--<script></script><img src=x onerror=alert(1)>'"
    text = widget.page(hostile)
    assert text.count("<script>") == text.count("</script>") == 2
    assert "<!--" not in text
    assert "<img" not in text


def test_a_page_without_a_policy_is_an_old_one(built: Path) -> None:
    page = built / "index.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Content-Security-Policy", "x"), encoding="utf-8")
    with pytest.raises(playground.PlaygroundError, match="given 1 scripts and 0 policies; allowed one of each"):
        widget.page()


def test_a_widget_plays_no_code_from_outside(built: Path) -> None:
    @ed.policy
    class Never:
        """Drops nothing."""

        def on_enqueue(self, packet: object, queue: object, cx: object) -> int:
            return ed.Verdict.PASS

    with pytest.raises(ed.EarlydropError, match=r"queue\.bottleneck\.aqm: given 'never'; allowed a discipline"):
        network(Never()).play(duration="5 s")


def test_a_widget_without_anywidget_says_what_installs_it(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ed.EarlydropError, match=r"play\(\) needs anywidget: .*notebook"):
        network(ed.aqm.Red()).play(duration="5 s")
