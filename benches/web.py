"""The engine in WebAssembly against the native one: CPU time of a case of `earlydrop bench`, after warm-up.

    python benches/web.py [CASE ...]

The native engine is the one that Python imports: a release build without profile-guided optimisation.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
from pathlib import Path

from earlydrop import _core
from earlydrop.bench import CASES

ROOT = Path(__file__).resolve().parents[1]
RUNS = 16
"""Of which the first quarter warms up."""


def native(document: str) -> list[float]:
    """CPU times of native runs, s."""
    scenario = _core.Scenario.parse(json.loads(document))
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        scenario.run()
        times.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return times


def web(document: str) -> list[float]:
    """CPU times of runs in node, s."""
    command = ["node", str(ROOT / "crates/web/tests/speed.mjs"), str(ROOT / "target/web/earlydrop.wasm"), str(RUNS)]
    made = subprocess.run(command, input=document, capture_output=True, text=True, check=True)
    return [float(line) for line in made.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", default=["A"], help="of earlydrop bench")
    for name in parser.parse_args().cases:
        document = json.dumps(CASES[name].document())
        ours, theirs = (statistics.median(times[RUNS // 4 :]) for times in (web(document), native(document)))
        print(f"case {name}: {ours:.3f} s in WebAssembly, {theirs:.3f} s natively, {ours / theirs:.2f} times")


if __name__ == "__main__":
    main()
