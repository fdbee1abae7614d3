"""Decision vectors: the stored ones are current, and enough to test an implementation in another language."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core, cli, vectors

STORED = Path(__file__).parents[2] / "vectors"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    capsys.readouterr()
    code = cli.main([str(a) for a in arguments])
    return code, *capsys.readouterr()


def test_the_stored_vectors_are_what_the_disciplines_decide(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "vectors", "--check", STORED, "--json")
    found = json.loads(out)
    assert [f for f in found["vectors"] if not f["ok"]] == []
    assert code == 0
    assert [f["aqm"] for f in found["vectors"]] == vectors.names()
    assert all(f["steps"] > 3000 and f["cases"] >= 2 for f in found["vectors"])


def decisions(text: str) -> list[tuple[Any, ...]]:
    """What the steps of the first case decided, whatever the reason: who got in, who died, who left and how marked."""
    steps = []
    for line in text.splitlines()[1:]:
        step = json.loads(line)
        if "format" in step:
            break
        dead = tuple(packet for packet, _ in step.get("dropped", []))
        # A timer alone decides nothing, and not everybody has one.
        if step["op"] != "timer" or dead:
            steps.append((step["t"], step["op"], step.get("id"), step.get("verdict"), step.get("ecn"), dead))
    return steps


def test_no_two_disciplines_decide_alike() -> None:
    """Aliases and settings of another discipline would: every name of the catalogue stands for decisions of its own."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name in [entry["name"] for entry in json.loads(_core.catalogue())]:
        found[name] = decisions(vectors.read(STORED / f"{name}.jsonl.gz"))
        assert len([step for step in found[name] if step[1] == "enqueue"]) == 2500, name
    for one, other in itertools.combinations(found, 2):
        assert found[one] != found[other], f"{one} and {other}"


def test_printed_written_and_stored_are_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, printed, _ = run(capsys, "vectors", "nlred")
    code, out, _ = run(capsys, "vectors", "nlred", "droptail", "--out", tmp_path / "new")
    assert code == 0
    assert "nlred" in out
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["droptail.jsonl.gz", "nlred.jsonl.gz"]
    written = (tmp_path / "new" / "nlred.jsonl.gz").read_bytes()
    assert gzip.decompress(written).decode() == printed == vectors.read(STORED / "nlred.jsonl.gz")
    run(capsys, "vectors", "nlred", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "nlred.jsonl.gz").read_bytes() == written


def test_a_difference_is_found_and_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = vectors.read(STORED / "tred.jsonl.gz").splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if '"verdict":"drop"' in line)
    lines[at] = lines[at].replace('"verdict":"drop"', '"verdict":"admit"')
    (tmp_path / "tred.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    code, out, _ = run(capsys, "vectors", "tred", "--check", tmp_path)
    assert code == 1
    assert f"line {at + 1}, case default" in out
    (tmp_path / "tred.jsonl.gz").write_bytes(b"not gzip")
    assert run(capsys, "vectors", "tred", "--check", tmp_path)[0] == 1
    (tmp_path / "tred.jsonl.gz").unlink()
    (tmp_path / "old.jsonl.gz").write_bytes(b"")
    code, out, _ = run(capsys, "vectors", "tred", "--check", tmp_path)
    assert code == 1
    assert "is missing" in out
    assert "no such discipline" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one"),
        (["blau"], 'there is no "blau"; did you mean "blue"?'),
        (["red", "--json"], "leave it out"),
        (["--check", "nowhere"], "is not a folder"),
        (["--check", ".", "--out", "."], "exclude each other"),
    ],
)
def test_wrong_input(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, _, err = run(capsys, "vectors", *arguments)
    assert code == 2
    assert message in err


# ---- another implementation ----------------------------------------------------------------------------------------


def build(source: str, folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on the path")
    (folder / "red.c").write_text(source)
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", "red", "red.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "red"


def replay(program: Path) -> subprocess.CompletedProcess[bytes]:
    text = vectors.read(STORED / "red.jsonl.gz").encode()
    return subprocess.run([program], input=text, capture_output=True, timeout=60, check=False)


def test_red_in_c_decides_the_same(tmp_path: Path) -> None:
    ended = replay(build((STORED / "red.c").read_text(), tmp_path))
    assert ended.returncode == 0, ended.stderr.decode()
    assert b" 0 differ" in ended.stdout


@pytest.mark.parametrize(
    ("rule", "mutation"),
    [
        ("count++;", "count += 2;"),
        ("avg *= pow(1 - w_q, missed);", "(void)missed;"),
        ("avg >= max_th", "avg >= 2 * max_th"),
        ("avg < min_th", "avg <= 0"),
        ("count * p_b < 1 ? p_b / (1 - count * p_b) : 1", "p_b"),
        ("waiting < limit ? ADMIT : DROP", "waiting <= limit + 40 ? ADMIT : DROP"),
        ("if (!ecn_capable)", "if (ecn_capable)"),
        ("count = -1;\n    } else", "count = 0;\n    } else"),
        ("idle_since += missed / packets_per_second;", ""),
        ("idle_since += missed / packets_per_second;", "idle_since = now;"),
    ],
)
def test_a_slip_in_red_in_c_is_noticed(tmp_path: Path, rule: str, mutation: str) -> None:
    source = (STORED / "red.c").read_text()
    assert source.count(rule) >= 1
    assert replay(build(source.replace(rule, mutation, 1), tmp_path)).returncode != 0


def test_the_hash_of_flows_in_c_is_that_of_the_page_and_of_the_files(tmp_path: Path) -> None:
    """The page's values, and the busy buckets of ns-2's SFQ, whose salt is 0."""
    page = (STORED / "README.md").read_text()
    (code,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    salted = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    main = """
#include <inttypes.h>
#include <stdio.h>
int main(void)
{
    uint64_t flow, salt, buckets;
    while (scanf("%" SCNu64 " %" SCNu64 " %" SCNu64, &flow, &salt, &buckets) == 3)
        printf("%" PRIu64 " %" PRIu64 "\\n", mix(flow, salt), bucket(flow, salt, buckets));
}
"""
    program = build(code + main, tmp_path)

    def hashed(asked: list[tuple[int, int, int]]) -> list[list[int]]:
        given = "\n".join(" ".join(map(str, one)) for one in asked)
        made = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
        return [[int(word) for word in line.split()] for line in made.stdout.splitlines()]

    assert len(salted) == 3
    assert hashed([(int(flow), int(salt), 1024) for flow, salt, _, _ in salted]) == [
        [int(mix), int(bucket)] for *_, mix, bucket in salted
    ]
    steps = fields(vectors.read(STORED / "sfq.jsonl.gz"))
    heads = [k for k, step in enumerate(steps) if "format" in step]
    start = next(k for k in heads if steps[k]["case"] == "dialect = ns2")
    count = steps[start]["parameters"]["buckets"]
    case = list(itertools.takewhile(lambda step: "format" not in step, steps[start + 1 :]))
    flows = sorted({step["flow"] for step in case if step["op"] == "enqueue"})
    bucket_of = {flow: bucket for flow, (_, bucket) in zip(flows, hashed([(f, 0, count) for f in flows]), strict=True)}
    assert len(set(bucket_of.values())) < len(flows)
    waiting: dict[int, int] = {}
    for step in case:
        if step["op"] == "enqueue":
            waiting[step["id"]] = bucket_of[step["flow"]]
        elif step["op"] == "dequeue" and step["id"] is not None:
            del waiting[step["id"]]
        for packet, _ in step["dropped"]:
            del waiting[packet]
        assert step["gauges"] == [len(set(waiting.values()))]


def fields(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_step_has_the_documented_keys() -> None:
    documented = (STORED / "README.md").read_text()
    for step in fields(vectors.read(STORED / "red.jsonl.gz"))[:3000]:
        for key in step:
            assert f"`{key}`" in documented, key
