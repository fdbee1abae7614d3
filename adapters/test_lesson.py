"""The lesson on a stack of one's own, as it is written: its project passes, and the bug of the page fails it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorials" / "6-own-stack.md"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-ec", command], cwd=folder, capture_output=True, text=True)


def test_the_lesson_passes_and_fails_as_it_says(tmp_path: Path) -> None:
    page = PAGE.read_text()
    (tmp_path / "earlydrop").symlink_to(ROOT)
    project, test = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    made = run(project, tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "my-controller"
    for name, text in re.findall(r"```rust\n// (\S+)\n(.*?)```", page, re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    passed = run(test, folder)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (shown,) = re.findall(r"(    codel: .*?)\n\n", page, re.DOTALL)
    printed = [line for line in passed.stdout.splitlines() if "Mbit/s" in line]
    assert printed == [line.strip() for line in shown.splitlines()]

    whole = (folder / "src" / "lib.rs").read_text()
    broken, by = re.findall(r"replace\s`(.*?)`\sby\s`(.*?)`", page)[0]
    assert whole.count(broken) == 1
    (folder / "src" / "lib.rs").write_text(whole.replace(broken, by))
    failed = run(test, folder)
    assert failed.returncode != 0
    (message,) = re.findall(r"    (pie: only .*)", page)
    assert message in failed.stdout + failed.stderr
