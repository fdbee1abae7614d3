"""The pages on real links, line by line: commands and programs, in a network namespace with servers of its own.

And every discipline on a link. All of it mostly waits, and runs beside test_link.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import page_runner
import pytest
from test_link import inside, linking, privileged  # noqa: F401 - a fixture

from earlydrop import _core

PAGES = {
    "docs/link.md": 4,
    "docs/how-to/real-programs.md": 5,
    "docs/tutorials/5-real-link.md": 5,
}
"""Pages, each with how many commands and programs run at least."""
INSTEAD = [
    # Tests reach no host outside: the server of this namespace stands for it, at the link's outer end.
    ("curl -s https://example.org", "sh -c 'curl -s http://$EARLYDROP_OUTER:8000/'"),
    ("curl -so /dev/null https://example.org", "sh -c 'curl -so /dev/null http://$EARLYDROP_OUTER:8000'"),
    # A file that is there.
    ("8000/big.bin", "8000/first.toml"),
    # ping is not everywhere.
    ("ping -c 3 $EARLYDROP_OUTER", "curl -s http://$EARLYDROP_OUTER:8000/"),
    # Five or ten seconds of iperf3 are one here, and a crosscheck is short.
    ("-t 10", "-t 1"),
    ("-t 5", "-t 1"),
    ('"iperf3", "-c", link.outer', '"iperf3", "-c", link.outer, "-t", "1"'),
    ("crosscheck first.toml", "crosscheck first.toml --set duration=4s --set warmup=1s --seeds 1"),
]
SKIPPED = ["--between left right", "SCENARIO.toml"]
"""test_link joins two namespaces; the other is a synopsis."""
FAILS = ['"red max_p=2" -- true']


@pytest.mark.usefixtures("privileged")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_on_real_links_runs_line_by_line(page: str, tmp_path: Path) -> None:
    ended = inside(sys.executable, __file__, page, tmp_path, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert len(json.loads(ended.stdout.splitlines()[-1])) >= PAGES[page]


@pytest.mark.usefixtures("privileged")
def test_every_discipline_on_real_packets_decides_as_in_the_simulator() -> None:
    found = linking("every_discipline", 0.2, timeout=300)
    assert set(found) == {entry["name"] for entry in json.loads(_core.catalogue())}
    for name, one in found.items():
        assert one["differing"] == 0, f"{name}: {one['first']}"
        assert one["arrivals"] >= one["delivered"] > 100, name
        assert one["kept"], name
        assert one["gap"] < 0.5, name


@contextmanager
def servers(folder: Path) -> Iterator[None]:
    """iperf3 and a web server, which a page has in another terminal."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    started = [
        subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in (["iperf3", "-s"], [sys.executable, "-m", "http.server", "8000"])
    ]
    try:
        for port in ("5201", "8000"):
            # Until it listens.
            while port not in subprocess.run(["ss", "-tln"], capture_output=True, text=True, check=True).stdout:
                time.sleep(0.05)
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


if __name__ == "__main__":
    place = Path(sys.argv[2])
    around = page_runner.environment(place / ".first")
    subprocess.run(["earlydrop", "init", "first"], cwd=place, env=around, check=True, capture_output=True)
    with servers(place):
        ran = page_runner.run(
            page_runner.ROOT / sys.argv[1], place, fails=FAILS, changes=INSTEAD, codes=(125,), skips=SKIPPED
        )
    print(json.dumps(ran.done))
