"""Clusters that a command starts itself: through dask-jobqueue on SLURM, PBS and others, through dask-kubernetes.

The options are Dask's own: from Dask's configuration files, or from a file that `--cluster` names.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import foreign
from .model import SweepError

CLASSES = {
    "local": "distributed.LocalCluster",
    "slurm": "dask_jobqueue.SLURMCluster",
    "pbs": "dask_jobqueue.PBSCluster",
    "kubernetes": "dask_kubernetes.operator.KubeCluster",
}
"""Dask's class for each word that `--cluster` takes."""
EXTRAS = {"distributed": "cluster", "dask_jobqueue": "jobqueue", "dask_kubernetes": "kubernetes"}
"""The extra of earlydrop that installs each package."""
WANTED = f"a scheduler's address such as tcp://host:8786, {', '.join(CLASSES)} (with :N for N jobs), or FILE.toml"
KEYS = ("kind", "class", "jobs", "options")


@dataclass(frozen=True)
class Request:
    """A cluster to start."""

    asked: str
    """The text that `--cluster` was given, for messages."""
    path: str
    """The path of Dask's class, with its module."""
    jobs: int = 1
    """Jobs of a queueing system, pods, or processes."""
    options: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the class; Dask's configuration has the others."""


def request(asked: str) -> Request | None:
    """The cluster to start; None for the address of a scheduler that runs.

    Raises:
        SweepError: the text is neither a cluster nor an address, or the file is wrong.
    """
    if asked.endswith(".toml"):
        return _from_file(Path(asked))
    kind, colon, count = asked.partition(":")
    if kind in CLASSES:
        if colon and not re.fullmatch(r"[1-9]\d{0,5}", count):
            raise SweepError(f"--cluster {asked}: given {count or 'nothing'} jobs; allowed 1 to 999999")
        return Request(asked, CLASSES[kind], int(count) if colon else 1)
    # A misspelt kind is no host: schedulers have ports that a user may open.
    jobs = difflib.get_close_matches(kind, CLASSES) and re.fullmatch(r"\d{1,3}", count)
    if "://" not in asked and (jobs or not re.fullmatch(r".+:\d+", asked)):
        raise SweepError(f"--cluster: given {asked}; allowed {WANTED}")
    return None


def _from_file(file: Path) -> Request:
    try:
        document = foreign.from_toml(file)
    except OSError as error:
        raise SweepError(f"--cluster {file}: {error.strerror}") from error
    except ValueError as error:
        raise SweepError(f"--cluster {file}: is no TOML: {error}") from error

    def wrong(key: str, given: Any, allowed: str) -> SweepError:
        return SweepError(f"{file}: {key}: given {given}; allowed {allowed}")

    for key in document:
        if key not in KEYS:
            raise wrong(key, "an unknown key", ", ".join(KEYS))
    kind, path = document.get("kind"), document.get("class")
    if (kind is None) == (path is None):
        raise wrong("kind", "neither kind nor class" if kind is None else "both kind and class", "one of them")
    if path is None:
        if kind not in CLASSES:
            raise wrong("kind", kind, ", ".join(CLASSES))
        path = CLASSES[kind]
    elif not isinstance(path, str) or not re.fullmatch(r"\w+(\.\w+)+", path):
        raise wrong("class", path, "a class of Dask with its module, such as dask_jobqueue.SGECluster")
    jobs, options = document.get("jobs", 1), document.get("options", {})
    if not isinstance(jobs, int) or isinstance(jobs, bool) or not 1 <= jobs <= 999_999:
        raise wrong("jobs", jobs, "1 to 999999")
    if not isinstance(options, dict):
        raise wrong("options", options, "a table of the class's keyword arguments")
    return Request(str(file), path, jobs, options)


def start(wanted: Request) -> Any:
    """The running cluster, an object of Dask's. Its workers come when the queueing system lets them.

    Raises:
        SweepError: the cluster's package is missing, or the cluster cannot be started here.
    """
    made = _class(wanted)
    submit = getattr(getattr(made, "job_cls", None), "submit_command", None)
    if submit is not None and shutil.which(submit.split()[0]) is None:
        raise SweepError(
            f"--cluster {wanted.asked}: {submit.split()[0]} is not on the path; run this where jobs are submitted"
        )
    options = dict(wanted.options)
    if wanted.path == CLASSES["local"]:
        options = {"threads_per_worker": 1, "dashboard_address": None, **options, "n_workers": wanted.jobs}
    cluster: Any = None
    try:
        cluster = made(**options)
        if submit is not None or hasattr(made, "job_cls"):
            cluster.scale(jobs=wanted.jobs)
        elif "n_workers" not in options:
            cluster.scale(wanted.jobs)
    except Exception as error:
        close(cluster)
        what = str(error).strip() or type(error).__name__
        raise SweepError(f"--cluster {wanted.asked}: {wanted.path} cannot be started: {what}") from error
    return cluster


def _class(wanted: Request) -> Any:
    module, _, name = wanted.path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        package = module.partition(".")[0]
        how = f"pip install 'earlydrop[{EXTRAS[package]}]'" if package in EXTRAS else f"install {package}"
        raise SweepError(f"--cluster {wanted.asked} needs {package.replace('_', '-')}: {how}") from error
    except AttributeError as error:
        raise SweepError(f"--cluster {wanted.asked}: {module} has no class {name}") from error


def close(cluster: Any) -> None:
    """End a cluster and its jobs."""
    if cluster is not None:
        with contextlib.suppress(Exception):
            cluster.close(timeout=20)
