"""Disciplines written by users: plain Python, compiled Python and C decide as the catalogue's, and go where they go."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import _core
from earlydrop.own_aqms import registry
from earlydrop.runner import RunError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def declared(name: str) -> type:
    """A class of the folder `policies`, not yet a policy."""
    spec = importlib.util.spec_from_file_location(name, HERE / "policies" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: type = getattr(module, "".join(part.capitalize() for part in name.split("_")))
    return made


def cases(vectors: str) -> dict[str, list[dict[str, Any]]]:
    """The steps of each case."""
    found: dict[str, list[dict[str, Any]]] = {}
    steps: list[dict[str, Any]] = []
    for line in vectors.splitlines():
        step = json.loads(line)
        if "case" in step:
            steps = found.setdefault(step["case"], [])
        else:
            steps.append(step)
    return found


@pytest.fixture(scope="module")
def c_red(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RED in C, built."""
    library = tmp_path_factory.mktemp("c") / "libc_red.so"
    source = ROOT / "crates/plugin/tests/red.c"
    include = f"-I{ROOT / 'crates/aqm/include'}"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", library, source], check=True)
    return library


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "jit"])
@pytest.mark.parametrize(
    ("name", "ours", "unseen"), [("own_red", "red", 0), ("own_codel", "codel", 0), ("own_pie", "pie", 1)]
)
def test_decides_as_the_catalogue_in_every_step(name: str, ours: str, unseen: int, jit: bool) -> None:
    policy = ed.policy(jit=jit)(declared(name))
    theirs, expected = cases(policy.native.vectors()), cases(_core.vectors(ours) or "")
    assert set(theirs) == {"default", "without ecn", "limit in bytes", "hostile"}
    for case, steps in theirs.items():
        assert len(steps) == len(expected[case]) > 300
        for step, wanted in zip(steps, expected[case], strict=True):
            gauges = wanted["gauges"]
            assert step == wanted | {"gauges": gauges[: len(gauges) - unseen]}


def network(queue: ed.aqm.Queue | str) -> ed.Network:
    """Case A, a tenth as long."""
    net = ed.dumbbell(
        pairs=100,
        access=ed.link("10 Mbit/s", "5 ms"),
        bottleneck=ed.link("10 Mbit/s", "20 ms"),
        queue=queue,
    )
    net.ftp(100, tcp="reno", segment="1000 B", start=ed.uniform("0 s", "1 s"))
    return net


RED = {"limit": "120 packets", "min_th": 24, "max_th": 72, "max_p": 0.1, "w_q": 0.002}


def outcome(document: dict[str, Any], name: str) -> str:
    """The result less what names the discipline and its cost."""
    text = json.dumps({key: value for key, value in document.items() if key not in {"cost", "scenario"}})
    return text.replace(f'"{name}"', '"red"')


def test_gives_the_same_result_document(c_red: Path) -> None:
    expected = outcome(network(ed.aqm.Red(**RED)).run(duration="20 s").document, "red")
    for jit in (False, True):
        policy = ed.policy(jit=jit)(declared("own_red"))
        assert outcome(network(policy(**RED)).run(duration="20 s").document, "own_red") == expected
    assert outcome(network(ed.aqm.load(c_red)(**RED)).run(duration="20 s").document, "c_red") == expected


@pytest.mark.parametrize("ours", ["codel", "pie"])
def test_codel_and_pie_give_the_same_result_document(ours: str) -> None:
    expected = outcome(network(f"{ours} limit=120p").run(duration="20 s").document, ours)
    for jit in (False, True):
        policy = ed.policy(jit=jit)(declared(f"own_{ours}"))
        assert outcome(network(policy(limit="120 packets")).run(duration="20 s").document, f"own_{ours}") == expected


def test_the_completed_scenario_names_the_code() -> None:
    policy = ed.policy(declared("own_red"))
    document = network(policy(**RED)).scenario(duration="20 s").document
    assert document["aqms"] == {"own_red": {"digest": policy.digest}}
    assert document["queue"]["bottleneck"]["aqm"] == "own_red"
    assert ed.parse(document).document == document
    document["aqms"]["own_red"]["digest"] = "0" * 16
    with pytest.raises(ed.ScenarioError, match=r"aqms\.own_red: is no discipline that was loaded|another version"):
        ed.parse(document)


def test_parameters_are_checked_as_the_catalogues_are() -> None:
    policy = ed.policy(declared("own_red"))
    with pytest.raises(TypeError, match=r"OwnRed has no parameter min_t; did you mean min_th\?"):
        policy(min_t=4)
    for given, said in [
        ({"min_th": -1}, "queue.bottleneck.min_th: is out of range\n  given -1; allowed packets: [0, inf)"),
        ({"max_p": 0}, "queue.bottleneck.max_p: is out of range\n  given 0; allowed (0, 1]"),
        (
            {"min_th": 80},
            "queue.bottleneck.max_th: does not fit\n  given 72; allowed max_th must be more than min_th (80)",
        ),
        ({"w_q": "fast"}, "queue.bottleneck.w_q"),
    ]:
        with pytest.raises(ed.ScenarioError) as error:
            network(policy(**{**RED, **given})).scenario(duration="20 s")
        assert said in str(error.value)


def test_the_digest_follows_the_code_and_nothing_else(tmp_path: Path) -> None:
    def digest(text: str, name: str = "mine") -> str:
        file = tmp_path / f"{name}.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return registry.load(file).digest

    text = '''
        import earlydrop as ed
        SHARE = 0.5

        def share(x):
            return x * SHARE

        @ed.policy
        class Mine:
            """Said so."""
            most: float = ed.param(1.0)
            left: int = 3
            def on_enqueue(self, packet, queue, cx):
                return ed.Verdict.drop() if queue.packets > share(queue.limit) else ed.Verdict.PASS
    '''
    first = digest(text)
    assert digest(text, "moved") == first
    assert digest(text.replace("Said so", "Said otherwise").replace("def share(x):", "def share(x):  # here")) == first
    changes = [("SHARE = 0.5", "SHARE = 0.6"), ("x * SHARE", "x + SHARE"), ("left: int = 3", "left: int = 4")]
    changes += [("param(1.0)", "param(2.0)"), ("drop()", "signal()"), ("packets >", "packets >=")]
    others = [digest(text.replace(*change)) for change in changes]
    assert len({first, *others}) == 7


def bad(tmp_path: Path, body: str, more: str = "", jit: bool = False) -> str:
    """What is said of a policy with this body of on_enqueue, made or run."""
    file = tmp_path / "bad.py"
    file.write_text(
        "import earlydrop as ed\nimport math\nTABLE = {}\ndef helper(x):\n    return x\n"
        f"@ed.policy(jit={jit})\nclass Bad:\n    x: float = ed.param(1.0)\n    n: int = 0\n    a: float = 0.0\n"
        f"    t = ed.array(4, int)\n{more}\n    def on_enqueue(self, packet, queue, cx):\n        {body}\n"
        "        return ed.Verdict.PASS\n",
        encoding="utf-8",
    )
    with pytest.raises((ed.PolicyError, RunError)) as error:
        network(ed.aqm.load(file)()).run(duration="3 s")
    return str(error.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("self.b = 1.0", "self.b is no field of the state; declare it in the class: b: float = 0.0"),
        ("self.n = 1.5", "n = 1.5: the field is of type int"),
        ("self.n = 1 << 80", "beyond 64 bits"),
        ("self.x = 2.0", "x is a parameter and cannot be changed"),
        ("self.a = 1 / (queue.packets * 0)", "ZeroDivisionError"),
        ("self.t[7] = 1", "t[7]: an index is from 0 to 3"),
        ("raise ValueError('no')", "ValueError: no"),
        ("self.a = packet.colour", "has no attribute 'colour'"),
    ],
)
def test_errors_name_class_method_and_line(tmp_path: Path, body: str, said: str) -> None:
    for jit in (False, True):
        message = bad(tmp_path, body, jit=jit)
        assert "Bad.on_enqueue, line 14 of bad.py: " in message
        assert said in message


def test_answers_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    timer = "    def on_timer(self, queue, cx):\n        pass\n    def next_timer(self):\n        return "
    assert "on_enqueue returned 3; allowed are ed.Verdict.PASS" in bad(tmp_path, "return 3")
    assert "on_enqueue returned None" in bad(tmp_path, "return None")
    assert "next_timer asks for 0.5 s at 0.5 s; allowed are later times" in bad(tmp_path, "pass", timer + "0.5")
    assert "next_timer returned no number" in bad(tmp_path, "pass", timer + "math.nan")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("self.a = helper(1.0)", "Untyped global name 'helper'"),
        ("self.a = math.exp(1.0)", "math.exp has other last bits elsewhere; write ed.exp(x)"),
        ("self.a = self.a ** 2", "** has other last bits elsewhere; write ed.pow(x, y), or x * x"),
        ("self.a = float(len(TABLE))", "Untyped global name 'TABLE'"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_words(tmp_path: Path, body: str, said: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert said in bad(tmp_path, body, jit=True)


def test_plain_python_warns_of_mathematics_that_differs(tmp_path: Path) -> None:
    class Root:
        """Takes a root, an exponential and a power."""

        def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> ed.Verdict:
            return ed.Verdict.drop() if 2.0**queue.packets > 1e300 else ed.Verdict.PASS

    with pytest.warns(ed.PolicyWarning, match=r"Root\.on_enqueue, line \d+: \*\* has other last bits"):
        ed.policy(Root)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "has no method on_enqueue"),
        ({"on_enqueue": lambda self, packet: None}, "takes (self, packet, queue, cx), not (self, packet)"),
        (
            {"on_enqueue": lambda s, p, q, c: None, "on_timer": lambda s, q, c: None},
            "has one of next_timer and on_timer",
        ),
        ({"on_enqueue": lambda s, p, q, c: None, "gauges": ("avg",)}, "gauges: 'avg' is no field of the state"),
        ({"on_enqueue": lambda s, p, q, c: None, "limit": ed.param(3)}, "limit is taken"),
        (
            {"on_enqueue": lambda s, p, q, c: None, "x": ed.param(3, range=(4, 5))},
            "x = 3 by default; allowed: whole number 4..5",
        ),
        ({"on_enqueue": lambda s, p, q, c: None, "x": ed.param("a")}, "a text needs words=[...]"),
    ],
)
def test_wrong_declarations_are_refused(members: dict[str, Callable[..., Any]], said: str) -> None:
    with pytest.raises((ed.PolicyError, ValueError)) as error:
        ed.policy(type("Wrong", (), members))
    assert said in str(error.value)


def test_code_that_a_scenario_names_needs_trust(tmp_path: Path) -> None:
    file = tmp_path / "quiet.py"
    file.write_text(
        "import earlydrop as ed\n@ed.policy\nclass Quiet:\n    def on_enqueue(self, packet, queue, cx):\n"
        "        return ed.Verdict.PASS\n",
        encoding="utf-8",
    )
    document = network(ed.aqm.DropTail()).document(duration="2 s") | {"aqms": {"quiet": "quiet.py"}}
    document["queue"]["bottleneck"]["aqm"] = "quiet"
    text = json.dumps(document)
    code = f"import json, earlydrop as ed; ed.parse(json.loads({text!r}))"
    made = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert "aqms.quiet: names code, quiet.py, which would run with your rights" in made.stderr
    with registry.trusting():
        document["aqms"]["quiet"] = str(file)
        assert ed.parse(document).run().document["queues"]["bottleneck"]["aqm"] == "quiet"


def test_a_real_link_runs_compiled_policies_only() -> None:
    from earlydrop import links

    policy = ed.policy(declared("own_red"))
    with pytest.raises(links.OptionError, match=r"--queue: given own_red, a policy in plain Python; allowed compiled"):
        links.plan("5 Mbit/s", "5 ms", queue=policy(limit="60 packets"))


class Curved:
    """Drops along an exponential curve, which its decisions and `show` share."""

    steep: float = ed.param(3.0, range="(0, 20]")

    p: float = 0.0
    told: float = 0.0

    def curve(self, average):
        x = min(1.0, average / 50.0)
        return min(1.0, ed.log1p(ed.exp(self.steep * x) - 1.0) * ed.pow(x, 1.7) / self.steep + 0.0 * ed.log(1.0 + x))

    def on_enqueue(self, packet, queue, cx):
        self.p = self.curve(queue.packets)
        x = min(1.0, queue.packets / 50.0)
        by_cx = cx.log1p(cx.exp(self.steep * x) - 1.0) * cx.pow(x, 1.7) / self.steep + 0.0 * cx.log(1.0 + x)
        self.told = max(self.told, abs(min(1.0, by_cx) - self.p))
        return ed.Verdict.drop() if cx.random() < self.p else ed.Verdict.PASS


def test_mathematics_without_a_context_has_the_engines_bits() -> None:
    """In `curve` and in methods, plain and compiled; `cx.exp` is the same function."""
    plain, fast = ed.policy(Curved), ed.policy(jit=True)(Curved)
    runs = [
        network(made(limit="60 packets")).run(duration="5 s").document["queues"]["bottleneck"] for made in (plain, fast)
    ]
    assert runs[0] == runs[1]
    assert runs[0]["early_drops"] > 100
    assert plain.native.vectors() == fast.native.vectors()
    steps = [step for steps in cases(plain.native.vectors()).values() for step in steps]
    assert {step["gauges"][1] for step in steps} == {0.0}, "cx and ed agree"
    averages = [0.5 * k for k in range(120)]
    curves = [made.native.curve(averages, 1e7, 0.02) for made in (plain, fast)]
    assert curves[0] == curves[1]
    # Of the engine's library, as any machine gives them; glibc's exp(1) ends in 69.
    assert [ed.exp(1), ed.log(10), ed.log1p(1e-3), ed.pow(0.1, 0.3)] == [
        float.fromhex(bits)
        for bits in ("0x1.5bf0a8b14576ap+1", "0x1.26bb1bbb55516p+1", "0x1.060354f8c3ebfp-10", "0x1.009b9cf334253p-1")
    ]
    assert (ed.exp(1000), ed.log(0), ed.pow(2, 0.5)) == (float("inf"), -float("inf"), math.sqrt(2))


def test_a_function_compiled_by_numba_has_them_too(tmp_path: Path) -> None:
    file = tmp_path / "helped.py"
    file.write_text(
        "import earlydrop as ed\nimport numba\nfrom earlydrop import exp\n"
        "@numba.njit\ndef helper(x):\n    return ed.pow(x, 2) + exp(-x)\n"
        "@ed.policy(jit=True)\nclass Helped:\n    a: float = 0.0\n    b: float = 0.0\n"
        "    def on_enqueue(self, packet, queue, cx):\n        x = queue.packets\n        self.a = helper(x)\n"
        "        self.b = self.a - (cx.pow(x, 2) + cx.exp(-x))\n"
        "        return ed.Verdict.PASS\n",
        encoding="utf-8",
    )
    steps = cases(ed.aqm.load(file).native.vectors())["default"]
    assert len({step["gauges"][0] for step in steps}) > 5
    assert {step["gauges"][1] for step in steps} == {0.0}
