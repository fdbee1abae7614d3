"""earlydrop: a laboratory for active queue management.

    import earlydrop as ed

    net = ed.dumbbell(
        pairs=40,
        access=ed.link("5 Mbit/s", "20 ms"),
        bottleneck=ed.link("5 Mbit/s", "10 ms"),
        queue=ed.aqm.Tred(limit="120 packets", min_th=24, max_th=72, max_p=0.1, w_q=0.002),
    )
    net.ftp(40, tcp="reno", segment="1000 B", start=ed.uniform("0 s", "1 s"))
    result = net.run(duration="200 s", seed=1)

`result.queues`, `result.flows` and `result.series` are polars tables; `result.plot()` is a matplotlib figure.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import aqm, links, networks, store, study
    from ._core import ScenarioError, exp, log, log1p, pow
    from .analysis import statistics
    from .api_break import break_
    from .api_compare import Compared, compare
    from .errors import CompareError, EarlydropError
    from .networks import (
        bus,
        flower,
        graph,
        join,
        nlred,
        node,
        parking_lot,
        random_network,
        schedule,
        sfred,
        star,
        trace,
        two_flow,
    )
    from .own_aqms.declare import PolicyError, array, param
    from .own_aqms.policy import Policy, PolicyWarning, policy
    from .own_aqms.registry import get_include
    from .own_aqms.verdict import Verdict
    from .paths import path
    from .result import Result
    from .scenario import Network, Scenario, ScenarioWarning, dumbbell, link, load, parse
    from .simulation import Simulation
    from .sweep import SweepModule
    from .traffic import cdf, every, exponential, geometric, lognormal, mix, pareto, poisson, sample, uniform

    __version__: str
    sweep: SweepModule

__all__ = [
    "CompareError",
    "Compared",
    "EarlydropError",
    "Network",
    "Policy",
    "PolicyError",
    "PolicyWarning",
    "Result",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Simulation",
    "Verdict",
    "__version__",
    "aqm",
    "array",
    "break_",
    "bus",
    "cdf",
    "compare",
    "dumbbell",
    "every",
    "exp",
    "exponential",
    "flower",
    "geometric",
    "get_include",
    "graph",
    "join",
    "link",
    "links",
    "load",
    "log",
    "log1p",
    "lognormal",
    "mix",
    "networks",
    "nlred",
    "node",
    "param",
    "pareto",
    "parking_lot",
    "parse",
    "path",
    "poisson",
    "policy",
    "pow",
    "random_network",
    "sample",
    "schedule",
    "sfred",
    "star",
    "statistics",
    "store",
    "study",
    "sweep",
    "trace",
    "two_flow",
    "uniform",
]

# Names are loaded when they are first used, so that the command line starts quickly.
_HOME = {
    "Network": "scenario",
    "Result": "result",
    "Scenario": "scenario",
    "EarlydropError": "errors",
    "ScenarioError": "_core",
    "ScenarioWarning": "scenario",
    "Simulation": "simulation",
    "exp": "_core",
    "log": "_core",
    "log1p": "_core",
    "pow": "_core",
    "path": "paths",
    "dumbbell": "scenario",
    "link": "scenario",
    "load": "scenario",
    "parse": "scenario",
    "CompareError": "errors",
    "Compared": "api_compare",
    "compare": "api_compare",
    "break_": "api_break",
    "Policy": "own_aqms.policy",
    "PolicyError": "own_aqms.declare",
    "PolicyWarning": "own_aqms.policy",
    "Verdict": "own_aqms.verdict",
    "array": "own_aqms.declare",
    "get_include": "own_aqms.registry",
    "param": "own_aqms.declare",
    "policy": "own_aqms.policy",
    "cdf": "traffic",
    "every": "traffic",
    "exponential": "traffic",
    "geometric": "traffic",
    "lognormal": "traffic",
    "mix": "traffic",
    "pareto": "traffic",
    "poisson": "traffic",
    "sample": "traffic",
    "uniform": "traffic",
    "bus": "networks",
    "flower": "networks",
    "graph": "networks",
    "join": "networks",
    "nlred": "networks",
    "node": "networks",
    "parking_lot": "networks",
    "random_network": "networks",
    "schedule": "networks",
    "sfred": "networks",
    "star": "networks",
    "trace": "networks",
    "two_flow": "networks",
}
_MODULES = {
    "aqm": "aqm",
    "differ": "sweeps.differ",
    "gym": "gym",
    "links": "links",
    "measures": "analysis.measures",
    "networks": "networks",
    "statistics": "analysis.statistics",
    "store": "store",
    "study": "study",
    "sweep": "sweep",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("._core", __name__).version()
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name in _HOME:
        made = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        # A policy in plain Python asks for `ed.Verdict` and `ed.exp` with every packet.
        globals()[name] = made
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
