"""Disciplines written by users on the command line: trust, parameters of their own, lists, studies, misbehaviour."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import part_of

from earlydrop import advise, cli, discipline_names, links, tune, vectors
from earlydrop import study as studies

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = f"-I{ROOT / 'crates/aqm/include'}"

QUIET = '''\
import earlydrop as ed


@ed.policy
class Quiet:
    """Drops above a share of the buffer."""

    share: float = ed.param(0.5, range="(0, 1]", doc="Of the buffer.")
    min_th: float = ed.param(5, unit="packets", range=(0, None), doc="A threshold.")

    def curve(self, average):
        return 0.0 if average < self.min_th else 0.25

    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.drop() if queue.packets > self.share * queue.limit else ed.Verdict.PASS
'''


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Ended]


@pytest.fixture
def earlydrop(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Runs a command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path | int) -> Ended:
        capsys.readouterr()
        code = cli.main([str(a) for a in arguments])
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """A discipline in a file, with a name that only this test knows."""
    file = tmp_path / "quiet.py"
    file.write_text(QUIET, encoding="utf-8")
    return file


@pytest.fixture
def naming(scenario: Path, quiet: Path) -> Path:
    """The scenario with `[aqms]`, beside the discipline."""
    text = scenario.read_text(encoding="utf-8").replace("max_p = 0.1\n", "").replace("max_th = 15\n", "")
    scenario.write_text(text.replace('aqm = "red"', 'aqm = "quiet"') + '[aqms]\nquiet = "quiet.py"\n', encoding="utf-8")
    return scenario


# ---- trust ---------------------------------------------------------------------------------------------------------

SWEEP = """\
scenario = "small.toml"
seeds = 1
measures = ["goodput"]
[[factor]]
path = "queue.bottleneck.limit"
values = ["20 packets"]
"""


@pytest.mark.parametrize(
    "command",
    [
        ["run", "small.toml"],
        ["check", "small.toml"],
        ["show", "small.toml"],
        ["compare", "small.toml", "--aqm", "quiet", "--seeds", "1"],
        ["trace", "small.toml", "out.tr", "--events", "10"],
        ["sweep", "sweep.toml", "--out", "swept"],
        ["tune", "small.toml", "--aqm", "quiet", "--trials", "1", "--seeds", "1", "--confirm", "2"],
    ],
    ids=lambda command: command[0],
)
def test_code_that_a_file_names_asks_for_trust(
    earlydrop: Call, naming: Path, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    if command[0] == "tune":
        pytest.importorskip("optuna")
    ended = earlydrop(*command)
    assert ended.code == cli.WRONG_INPUT
    assert "aqms.quiet: names code, quiet.py, which would run with your rights; --trust" in ended.err
    assert not (tmp_path / "swept").exists()
    assert earlydrop(*command, "--trust").code == cli.DONE


def test_two_files_with_one_name_are_two_disciplines(earlydrop: Call, scenario: Path, quiet: Path) -> None:
    other = quiet.with_name("loud.py")
    other.write_text(QUIET.replace("0.5", "0.2"), encoding="utf-8")
    alone = [earlydrop("compare", scenario, "--aqm", file, "--seeds", "1", "--json").json for file in (quiet, other)]
    queues = [one["cells"]["quiet"]["queue"]["mean"] for one in alone]
    assert queues[0] > 1.2 * queues[1]
    for texts, titles in (
        ([quiet, other], None),
        ([f"old = {quiet}", f"new = {other}"], ["old", "new"]),
        ([f"{quiet} min_th=5", f"{other} min_th=5"], None),
    ):
        both = earlydrop("compare", scenario, "--aqm", *texts, "--seeds", "1", "--json").json
        assert [both["cells"][aqm]["queue"]["mean"] for aqm in both["aqms"]] == queues
        shown = [both["titles"][aqm] for aqm in both["aqms"]]
        assert titles in (None, shown)
        assert len(set(shown)) == 2
    twice = earlydrop("compare", scenario, "--aqm", quiet, f"{quiet} min_th=3", "--seeds", "1")
    assert twice.code == cli.DONE, "one file with other settings is no second one"


def test_trust_ends_with_its_command(earlydrop: Call, naming: Path, quiet: Path) -> None:
    assert earlydrop("check", naming, "--trust").code == cli.DONE
    other = quiet.with_name("other.py")
    other.write_text(QUIET.replace("Quiet", "Other"), encoding="utf-8")
    naming.write_text(naming.read_text(encoding="utf-8").replace("quiet", "other"), encoding="utf-8")
    assert earlydrop("check", naming).code == cli.WRONG_INPUT


def test_a_link_of_a_scenario_asks_for_trust(earlydrop: Call, naming: Path) -> None:
    ended = earlydrop("link", "--sim", naming, "--", "true")
    assert ended.code == cli.LINK_FAILED
    assert "--trust" in ended.err
    trusted = earlydrop("link", "--trust", "--sim", naming, "--", "true")
    assert "--sim: given quiet, a policy in plain Python; allowed compiled ones" in trusted.err


def test_code_that_the_user_names_needs_no_trust(earlydrop: Call, scenario: Path, naming: Path) -> None:
    assert earlydrop("compare", naming, "--aqm", "droptail", "quiet.py", "--seeds", 1).code == cli.DONE
    set_ = earlydrop("run", naming, "--set", "queue.bottleneck.aqm=quiet.py", "--json")
    assert set_.code == cli.DONE
    assert set_.json["queues"]["bottleneck"]["aqm"] == "quiet"


# ---- disciplines with their own parameters -------------------------------------------------------------------------


def test_each_discipline_has_its_own_parameters(earlydrop: Call, scenario: Path, quiet: Path) -> None:
    texts = ["red", "red max_p=0.5 limit=20p", "codel target=5ms ecn=true", "quiet.py:Quiet share=0.9"]
    found = earlydrop("compare", scenario, "--aqm", *texts, "--seeds", 2, "--json").json
    keys = ["red", "red max_p=0.5 limit=20p", "codel target=5ms ecn=true", "quiet share=0.9"]
    assert found["aqms"] == keys
    sets = ["--set", "queue.bottleneck.max_p=0.5", "--set", "queue.bottleneck.limit=20p"]
    alone = earlydrop("compare", scenario, "--aqm", "red", "--seeds", 2, *sets, "--json").json
    assert alone["cells"]["red"] == found["cells"][keys[1]] != found["cells"]["red"]
    out = earlydrop("compare", scenario, "--aqm", *texts, "--seeds", 2, "--out", "out").out
    assert "CoDel target=5ms ecn=true" in out
    assert "Quiet share=0.9" in out
    runs = {path.name for path in Path("out/runs").iterdir()}
    assert {"red_max_p=0.5_limit=20p-seed3.json", "quiet_share=0.9-seed4.json"} <= runs


def test_commas_part_names(earlydrop: Call, scenario: Path) -> None:
    assert earlydrop("compare", scenario, "--aqm", "red,codel", "--seeds", 1, "--json").json["aqms"] == ["red", "codel"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redd", 'there is no "redd"; did you mean "red"? Allowed: droptail, '),
        (
            "codel tagret=5ms",
            'codel has no parameter tagret; did you mean "target"? Allowed: limit, ecn, random, target',
        ),
        ("codel target", 'given "target" in "codel target"; allowed NAME=VALUE, such as limit=120p'),
        ("target=5ms", 'allowed a discipline with its settings in quotes, such as "red limit=120p min_th=20"'),
        ("red min_th=1 min_th=2", "min_th is given twice"),
        ("red 'min_th=1", "No closing quotation"),
        ("quiet.py:Queit", 'there is no policy Queit; did you mean "Quiet"?'),
        ("nowhere.py", "nowhere.py: no such file"),
        ("quiet.py share=2", "queue.bottleneck.share: is out of range\n  given 2; allowed (0, 1]"),
    ],
)
def test_texts_that_name_no_discipline(earlydrop: Call, scenario: Path, quiet: Path, text: str, said: str) -> None:
    ended = earlydrop("compare", scenario, "--aqm", "red", text)
    assert ended.code == cli.WRONG_INPUT
    assert said in ended.err
    assert ended.out == ""


def test_links_and_comparisons_read_the_same_texts(quiet: Path) -> None:
    assert links.queue_settings("red limit=120p min_th=20", "q") == [
        ("q.aqm", "red"),
        ("q.limit", "120p"),
        ("q.min_th", "20"),
    ]
    assert links.queue_settings(f"{quiet}:Quiet share=0.2", "q") == [("q.aqm", "quiet"), ("q.share", "0.2")]
    with pytest.raises(links.OptionError, match=r'--queue: .*red has no parameter min_t; did you mean "min_th"\?'):
        links.plan("5 Mbit/s", queue="red min_t=20")
    assert discipline_names.parse("codel target=5ms").title == "CoDel target=5ms"


# ---- under a name --------------------------------------------------------------------------------------------------


def test_a_file_gives_disciplines_names(earlydrop: Call, scenario: Path, quiet: Path) -> None:
    Path("earlydrop.toml").write_text('[aqms]\nquiet = "quiet.py"\n', encoding="utf-8")
    # Not yet known to this process under that name.
    quiet.write_text(QUIET.replace("share of", "part of"), encoding="utf-8")
    untrusted = earlydrop("list", "aqms").out
    assert "your own" in untrusted
    assert "quiet.py, by earlydrop.toml; --trust loads it" in re.sub(r"\s+", " ", untrusted)
    listed = [entry for entry in earlydrop("list", "aqms", "--trust", "--json").json if entry["name"] == "quiet"]
    assert [(one["summary"], one["family"], one["from"]) for one in listed] == [
        ("Drops above a part of the buffer", "your own", "earlydrop.toml: quiet.py")
    ]


def test_a_scenario_finds_the_names_of_the_file_beside_it(scenario: Path, quiet: Path, tmp_path: Path) -> None:
    (tmp_path / "earlydrop.toml").write_text('[aqms]\nquiet = "quiet.py"\n', encoding="utf-8")
    command = [sys.executable, "-m", "earlydrop", "check", str(scenario), "--set", "queue.bottleneck.aqm=quiet"]
    ended = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert ended.returncode == cli.WRONG_INPUT
    assert "earlydrop.toml: aqms.quiet: names code, quiet.py, which would run with your rights" in ended.stderr
    assert subprocess.run([*command, "--trust"], cwd="/", capture_output=True, check=False).returncode == cli.DONE


@pytest.mark.parametrize(
    ("text", "said"), [("[aqms]\nquiet = 3\n", "lists sources by name"), ("[aqms\n", "earlydrop.toml: Expected")]
)
def test_a_wrong_file_of_names_is_refused(earlydrop: Call, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "earlydrop.toml").write_text(text, encoding="utf-8")
    ended = earlydrop("list", "aqms")
    assert ended.code == cli.WRONG_INPUT
    assert said in ended.err


def test_an_installed_package_gives_disciplines_names(scenario: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "packed-1.0.dist-info").mkdir(parents=True)
    (site / "packed.py").write_text(QUIET.replace("Quiet", "Packed"), encoding="utf-8")
    (site / "packed-1.0.dist-info/METADATA").write_text("Name: packed\nVersion: 1.0\n", encoding="utf-8")
    (site / "packed-1.0.dist-info/entry_points.txt").write_text(
        "[earlydrop.aqms]\npacked = packed:Packed\n", encoding="utf-8"
    )
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from earlydrop import cli; sys.exit(cli.main(sys.argv[1:]))"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    assert "packed" in run("list", "aqms").stdout
    assert "package: packed:Packed" in run("list", "aqms", "--json").stdout
    made = run("compare", str(scenario), "--aqm", "red", "packed share=0.7", "--seeds", "1", "--json")
    assert json.loads(made.stdout)["aqms"] == ["red", "packed share=0.7"], made.stderr


# ---- elsewhere -----------------------------------------------------------------------------------------------------


def test_show_and_check_describe_a_discipline(earlydrop: Call, quiet: Path, tmp_path: Path) -> None:
    shown = earlydrop("show", "quiet.py", "--plot", "curve.png")
    assert shown.code == cli.DONE, shown.err
    assert "Quiet (quiet): Drops above a share of the buffer" in shown.out
    assert re.search(r"share +0\.5 +- +\(0, 1\]\n +Of the buffer\.\n", shown.out)
    assert "Drop probability p_b over the average queue" in shown.out
    assert (tmp_path / "curve.png").stat().st_size > 1000
    entry = earlydrop("show", "quiet.py", "--json").json
    assert {p for x, p in zip(entry["curves"][0]["average"], entry["curves"][0]["p_b"], strict=True) if x >= 5} == {
        0.25
    }
    checked = earlydrop("check", "quiet.py")
    assert checked.out.startswith("quiet.py: Quiet is a valid discipline, quiet: share = 0.5, min_th = 5")


def test_vectors_of_a_discipline(earlydrop: Call, quiet: Path, tmp_path: Path) -> None:
    printed = earlydrop("vectors", "--aqm", "quiet.py").out
    assert printed == vectors.record("quiet").text
    assert earlydrop("vectors", "quiet.py", "--out", "kept").code == cli.DONE
    assert earlydrop("vectors", "quiet.py", "--check", "kept").code == cli.DONE
    quiet.write_text(QUIET.replace("packets >", "packets >="), encoding="utf-8")
    assert earlydrop("vectors", "quiet.py", "--check", "kept").code == cli.FAILED


def test_parameters_are_searched_from_what_is_asked_for(scenario: Path, quiet: Path) -> None:
    asked = tune.problem(scenario, f"{quiet} share=0.8", ["delay"], ["share=0.1..0.9"])
    assert (asked.aqm, asked.baseline) == ("quiet", {"share": 0.8})
    assert asked.base["aqms"]["quiet"]["digest"]
    assert asked.refusal({"share": 0.5}) is None
    with pytest.raises(tune.TuneError, match=r'--aqm: there is no "codell"; did you mean "codel"\?'):
        tune.problem(scenario, "codell", ["delay"])


def test_advice_takes_a_discipline(quiet: Path) -> None:
    name = discipline_names.find(str(quiet))["name"]
    sweep = advise.question(advise.home("10mbit", "5mbit"), ["fq_codel", name], 1)
    assert [level.name for level in sweep.factor("queue").levels][-2:] == ["fq_codel", "quiet"]


@pytest.mark.parametrize("study", ["rfc7928", "league"])
def test_a_study_of_ours_takes_a_discipline(study: str, quiet: Path) -> None:
    found = studies.find(study)
    (joined,) = studies.choose([found], [f"{quiet}:Quiet share=0.9"])
    for e in joined.experiments:
        before = found.experiment(e.id)
        (level,) = [level for level in e.axis("aqm").levels if level.id == "quiet"]
        queues = {path: table for path, table in level.set.items() if path.startswith("queue.")}
        red = before.axis("aqm").level("red").set
        assert set(queues) == set(red)
        for path, table in queues.items():
            wanted = {"aqm": "quiet", "limit": red[path]["limit"], "min_th": red[path]["min_th"], "share": 0.9}
            assert table == wanted
    default = joined.experiments[0].axis("aqm").ids
    assert len(default) == len(studies.choose([found], [])[0].experiments[0].axis("aqm").ids) + 1
    plan = studies.plan(part_of(joined.among("aqm", ["droptail", "quiet"]), joined.experiments[0].id))
    assert any('"quiet"' in planned.text and "digest" in planned.text for planned in plan.cells.values())


def test_a_chosen_few_and_a_discipline(quiet: Path) -> None:
    (joined,) = studies.choose([studies.find("rfc7928")], ["pie", str(quiet)])
    assert joined.chosen == ("pie", "quiet")


def test_a_papers_study_takes_none(earlydrop: Call, quiet: Path) -> None:
    ended = earlydrop("reproduce", "tred", "--aqm", "quiet.py")
    assert ended.code == cli.WRONG_INPUT
    assert "can join studies of ours: rfc7928, league" in ended.err


# ---- test-aqm ------------------------------------------------------------------------------------------------------


def test_the_properties_are_printed(earlydrop: Call, quiet: Path) -> None:
    ended = earlydrop("test-aqm", "quiet.py", "--packets", 2000)
    assert ended.code == cli.DONE
    assert ended.out.startswith("quiet.py: quiet, plain Python\n")
    assert ended.out.count("  pass  ") == 10
    assert re.search(r"\(2,000 packets, \d+\s+ns each\)", ended.out)
    found = earlydrop("test-aqm", "quiet.py", "--packets", 2000, "--json").json
    assert found["ok"]
    assert [one["ok"] for one in found["properties"]] == [True] * 10
    quiet.write_text(QUIET.replace("else 0.25", "else 2.0"), encoding="utf-8")
    wrong = earlydrop("test-aqm", "quiet.py", "--packets", 2000)
    assert wrong.code == cli.FAILED
    assert "FAIL  drop curve" in wrong.out
    assert "failed: p = 2 at an averaged queue of 5 packets" in wrong.out
    assert "1 of 10 properties failed" in wrong.out


def test_what_is_not_tried(earlydrop: Call, quiet: Path) -> None:
    assert "red is a discipline of the catalogue" in earlydrop("test-aqm", "red").err
    assert "--packets: given 0; allowed 1 to" in earlydrop("test-aqm", "quiet.py", "--packets", 0).err


# ---- misbehaviour --------------------------------------------------------------------------------------------------

BAD = """\
import earlydrop as ed
@ed.policy
class Bad:
    n: int = 0
    t = ed.array(4, int)
    def on_enqueue(self, packet, queue, cx):
        {body}
        return ed.Verdict.PASS
"""
TIMER = """\
    def on_timer(self, queue, cx):
        self.n += 1
    def next_timer(self):
        return {at}
"""


@pytest.mark.parametrize(
    ("body", "timer", "said"),
    [
        ("raise ValueError('no')", "", "Bad.on_enqueue, line 7 of bad.py: ValueError: no"),
        ("return 3", "", "bad: on_enqueue returned 3; allowed are ed.Verdict.PASS, signal(), mark() and drop()"),
        ("self.t[9] = 1", "", "Bad.on_enqueue, line 7 of bad.py: t[9]: an index is from 0 to 3"),
        ("self.other = 1", "", "self.other is no field of the state; declare it in the class"),
        ("pass", "1.0 + self.n * 1e-9", "bad: next_timer asks for more than 100000 timers in a second, at 1.0001 s"),
        ("pass", "0.5", "bad: next_timer asks for 0.5 s at 0.5 s; allowed are later times"),
    ],
    ids=["raises", "nonsense", "array", "state", "timers", "past"],
)
def test_a_run_with_a_broken_policy_ends_with_one_error(
    earlydrop: Call, scenario: Path, tmp_path: Path, body: str, timer: str, said: str
) -> None:
    text = BAD.format(body=body) + (TIMER.format(at=timer) if timer else "")
    (tmp_path / "bad.py").write_text(text, encoding="utf-8")
    for command in (["compare", scenario, "--aqm", "droptail", "bad.py", "--seeds", 2], ["run", scenario]):
        more = ["--set", "queue.bottleneck.aqm=bad.py"] if command[0] == "run" else []
        ended = earlydrop(*command, *more, "--out", "out")
        assert (ended.code, ended.out) == (cli.FAILED, "")
        assert said in ended.err
        assert "Traceback" not in ended.err
        assert not Path("out").exists()
    tried = earlydrop("test-aqm", "bad.py", "--packets", 100)
    assert tried.code == cli.FAILED
    assert "FAIL  " in tried.out


LIBRARY = """\
#include "earlydrop_aqm.h"
static ed_verdict on(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) { return 0; }
#ifndef NEEDS
#define NEEDS 0
#endif
static const ed_aqm d = {.abi = ABI, .size = sizeof(ed_aqm), .name = "lib", .on_enqueue = on, .needs = NEEDS};
const ed_aqm *SYMBOL(void) { return &d; }
"""


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-DABI=99", "-DSYMBOL=earlydrop_aqm"], "was built for version 99 of earlydrop_aqm.h; this program speaks 1"),
        (["-DABI=1", "-DSYMBOL=another"], "has no function earlydrop_aqm()"),
        (["-DABI=1", "-DSYMBOL=earlydrop_aqm", "machine"], "cannot be loaded: "),
        (["text"], "cannot be loaded: "),
        (["cut"], "cannot be loaded: is cut off: "),
        (["needs", "-DABI=1", "-DSYMBOL=earlydrop_aqm", "-DNEEDS=6"], "lib: has needs = 0x6; allowed are 0 and "),
    ],
    ids=["version", "symbol", "machine", "text", "cut", "needs"],
)
def test_a_library_that_cannot_be_used_is_refused(
    earlydrop: Call, scenario: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    library = tmp_path / "libbad.so"
    if flags in (["text"], ["cut"]):
        library.write_text("not a library", encoding="utf-8")
    else:
        (tmp_path / "lib.c").write_text(LIBRARY, encoding="utf-8")
        defined = [flag for flag in flags if flag.startswith("-")]
        subprocess.run(["cc", "-shared", "-fPIC", INCLUDE, *defined, "-o", library, tmp_path / "lib.c"], check=True)
    if flags == ["cut"]:
        if sys.platform != "linux":
            pytest.skip("the length of an ELF file")
        library.write_bytes(Path(sys.modules["earlydrop._core"].__file__ or "").read_bytes()[:3000])
    if "machine" in flags:
        # ELF's field for the processor.
        other = 0xB7 if platform.machine() == "x86_64" else 0x3E
        content = bytearray(library.read_bytes())
        content[18:20] = other.to_bytes(2, "little")
        library.write_bytes(content)
    for command in (["test-aqm"], ["show"], ["check"], ["compare", scenario, "--out", "out", "--aqm", "droptail"]):
        ended = earlydrop(*command, "libbad.so")
        assert (ended.code, ended.out) == (cli.WRONG_INPUT, "")
        assert f"libbad.so: {said}" in ended.err
        assert "dlopen failed" not in ended.err
        assert "Traceback" not in ended.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def x(:\n", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("x = 1\n", "declares no policy; a class with @ed.policy is one"),
        ("import sys\nsys.exit(0)\n", "broken.py, line 2: ends the process, by SystemExit(0)"),
        ("raise SystemExit\n", "broken.py, line 1: ends the process, by SystemExit()"),
        ("x = 1\nimport nosuchmodule\n", "broken.py, line 2: ModuleNotFoundError: No module named 'nosuchmodule'"),
        (QUIET + QUIET.partition("\n\n\n")[2].replace("Quiet", "Loud"), "has Quiet, Loud; name one of them, as"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    earlydrop: Call, scenario: Path, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "broken.py").write_text(text, encoding="utf-8")
    for command in (["test-aqm"], ["check"], ["compare", scenario, "--aqm", "droptail"]):
        ended = earlydrop(*command, "broken.py")
        assert (ended.code, ended.out) == (cli.WRONG_INPUT, "")
        assert said in ended.err


NEVER = """
import earlydrop as ed
@ed.policy
class Never:
    def check(self):
        return "another discipline"
    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.PASS
"""


def test_a_check_is_asked_where_there_is_no_parameter(earlydrop: Call, tmp_path: Path) -> None:
    (tmp_path / "never.py").write_text(NEVER, encoding="utf-8")
    code = 'static const char *no(const double *p, double rate, double delay) { return "another link"; }\n'
    code += LIBRARY.replace(".on_enqueue = on", ".on_enqueue = on, .check = no")
    (tmp_path / "lib.c").write_text(code, encoding="utf-8")
    defined = ["-DABI=1", "-DSYMBOL=earlydrop_aqm"]
    made = ["cc", "-shared", "-fPIC", INCLUDE, *defined, "-o", tmp_path / "libno.so", tmp_path / "lib.c"]
    subprocess.run(made, check=True)
    for source, name, allowed in [("never.py", "never", "another discipline"), ("libno.so", "lib", "another link")]:
        checked = earlydrop("check", source)
        assert (checked.code, checked.out) == (cli.WRONG_INPUT, "")
        assert f"{source}: {name}: its own check refuses it on a link of 10 Mbit/s and 20 ms" in checked.err
        assert f"allowed {allowed}" in checked.err
        tried = earlydrop("test-aqm", source, "--packets", 100)
        assert tried.code == cli.FAILED
        assert f"allowed {allowed}" in re.sub(r"\s+", " ", tried.out)


@pytest.mark.parametrize("kind", ["loop", "fifo", "folder"])
@pytest.mark.parametrize("name", ["mine.py", "libmine.so"])
def test_what_is_no_file_is_no_discipline(
    earlydrop: Call, scenario: Path, tmp_path: Path, kind: str, name: str
) -> None:
    place = tmp_path / name
    if kind == "loop":
        place.symlink_to("other")
        (tmp_path / "other").symlink_to(name)
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()
    named = scenario.read_text(encoding="utf-8").replace('aqm = "red"', f'aqm = "{name}"')
    scenario.write_text(named, encoding="utf-8")
    (tmp_path / "earlydrop.toml").write_text(f'[aqms]\nmine = "{name}"\n', encoding="utf-8")
    untrusted = earlydrop("run", scenario)
    assert (untrusted.code, untrusted.out) == (cli.WRONG_INPUT, "")
    assert "names code" in untrusted.err
    for command in (
        ["check", name],
        ["test-aqm", name],
        ["run", scenario, "--trust"],
        ["run", scenario, "--set", f"queue.bottleneck.aqm={name}"],
        ["compare", scenario, "--aqm", "mine", "--trust"],
    ):
        ended = earlydrop(*command)
        assert (ended.code, ended.out) == (cli.WRONG_INPUT, ""), ended.err
        assert f"{name}: is no regular file" in ended.err
    assert earlydrop("list", "aqms").code == cli.DONE
