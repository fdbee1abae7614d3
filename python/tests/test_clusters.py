"""Clusters that --cluster starts: the same bytes as without, own disciplines travel, and what is missing is said."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import HALF_FULL, dumbbell

from earlydrop import cli
from earlydrop.sweeps import SweepError, clusters, execute

SWEEP = f"""\
name = "some"
seeds = 5
measures = ["goodput", "queue_delay"]
[[factor]]
path = "queue.bottleneck.limit"
format = "{{}} packets"
values = [10, 20, 30, 40]
[scenario]
duration = "5 s"
traffic = [{{ kind = "ftp", start = {{ uniform = ["0 s", "0.5 s"] }} }}]
{dumbbell("AQM", 30, pairs=3, bottleneck=("4 Mbit/s", "10 ms"), of="scenario.")}
"""
COMMAND = """
import sys
from earlydrop import cli
from earlydrop.own_aqms import registry
registry.trust_all()
sys.exit(cli.main(sys.argv[1:]))
"""
JOBQUEUE = """\
class = "dask_jobqueue.local.LocalCluster"
jobs = 2

[options]
cores = 1
processes = 1
memory = "500 MB"
scheduler_options = { host = "127.0.0.1", dashboard_address = ":0" }
"""


def sweep(folder: Path, out: str, *more: str, aqm: str = "red") -> bytes:
    """The table of runs of a sweep."""
    (folder / "some.toml").write_text(SWEEP.replace("AQM", aqm), encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "sweep", "some.toml", "--out", out, "--store", f"{out}-store", *more]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert made.returncode == cli.DONE, made.stderr
    return (folder / out / "runs.parquet").read_bytes()


def test_jobs_of_a_queueing_system_give_the_same(tmp_path: Path) -> None:
    """dask-jobqueue's own class for tests: its machinery, with processes of this machine as jobs."""
    pytest.importorskip("dask_jobqueue")
    (tmp_path / "half.py").write_text(HALF_FULL, encoding="utf-8")
    (tmp_path / "jobs.toml").write_text(JOBQUEUE, encoding="utf-8")
    here = sweep(tmp_path, "here", aqm="./half.py")
    assert sweep(tmp_path, "there", "--cluster", "jobs.toml", aqm="./half.py") == here


def test_processes_of_this_machine_give_the_same(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    assert sweep(tmp_path, "there", "--cluster", "local:2") == sweep(tmp_path, "here")


def test_the_files_on_the_page_are_right(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text(encoding="utf-8")
    texts = re.findall(r"```toml cluster\n(.*?)```", page, re.S)
    assert len(texts) == 3
    found = []
    for text in texts:
        (tmp_path / "jobs.toml").write_text(text, encoding="utf-8")
        wanted = clusters.request(str(tmp_path / "jobs.toml"))
        assert wanted is not None
        found.append((wanted.path, wanted.jobs))
        if wanted.path.startswith("dask_jobqueue."):
            pytest.importorskip("dask_jobqueue")
            made = clusters._class(wanted)
            script = made.job_cls("tcp://host:1", "one", **wanted.options).job_script()
            assert "tcp://host:1" in script
    assert found == [
        ("dask_jobqueue.SLURMCluster", 64),
        ("dask_jobqueue.SGECluster", 10),
        ("dask_kubernetes.operator.KubeCluster", 50),
    ]
    for word in (*clusters.CLASSES, *clusters.KEYS):
        assert f"`{word}" in page or f"{word} =" in page or f"[{word}]" in page, word


def test_words_files_and_addresses_are_told_apart(tmp_path: Path) -> None:
    assert clusters.request("tcp://host:8786") is None
    assert clusters.request("host:8786") is None
    assert clusters.request("slurm1:8786") is None
    assert clusters.request("slurm:20") == clusters.Request("slurm:20", "dask_jobqueue.SLURMCluster", 20)
    assert clusters.request("kubernetes") == clusters.Request("kubernetes", "dask_kubernetes.operator.KubeCluster")
    file = tmp_path / "jobs.toml"
    file.write_text('kind = "pbs"\njobs = 3\n[options]\ncores = 8\n', encoding="utf-8")
    assert clusters.request(str(file)) == clusters.Request(str(file), "dask_jobqueue.PBSCluster", 3, {"cores": 8})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kind = ", "is no TOML"),
        ("jobs = 2", "kind: given neither kind nor class; allowed one of them"),
        ('kind = "slurm"\nclass = "a.B"', "kind: given both kind and class"),
        ('kind = "lsf"', "kind: given lsf; allowed local, slurm, pbs, kubernetes"),
        ('class = "Cluster"', "class: given Cluster"),
        ('kind = "slurm"\njobs = 0', "jobs: given 0; allowed 1 to 999999"),
        ('kind = "slurm"\ncores = 2', "cores: given an unknown key; allowed kind, class, jobs, options"),
        ('kind = "slurm"\noptions = 2', "options: given 2"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SweepError) as caught:
        clusters.request(str(file))
    assert what in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("asked", ["slrum", "slrum:20", "slurm:", "slurm:0", "slurm:many", "nowhere.toml"])
def test_wrong_words_are_refused(asked: str) -> None:
    with pytest.raises(SweepError, match="--cluster"):
        clusters.request(asked)


@pytest.mark.parametrize(
    ("asked", "package", "how"),
    [
        ("slurm", "dask_jobqueue", "needs dask-jobqueue: pip install 'earlydrop[jobqueue]'"),
        ("kubernetes", "dask_kubernetes", "needs dask-kubernetes: pip install 'earlydrop[kubernetes]'"),
    ],
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, asked: str, package: str, how: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    wanted = clusters.request(asked)
    assert wanted is not None
    with pytest.raises(SweepError) as caught:
        clusters.start(wanted)
    assert how in str(caught.value)


def test_a_machine_without_the_queueing_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SweepError, match="sbatch is not on the path; run this where jobs are submitted"):
        clusters.start(clusters.Request("slurm", "dask_jobqueue.SLURMCluster"))


def test_what_dask_refuses_is_its_own_message(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, **options: Any) -> None:
            raise ValueError(f"cores: {options['cores']}")

    module = types.ModuleType("clusters_of_tests")
    module.Refusing = Refusing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = f"{module.__name__}.Refusing"
    with pytest.raises(SweepError, match=rf"--cluster jobs\.toml: {path} cannot be started: cores: none"):
        clusters.start(clusters.Request("jobs.toml", path, 1, {"cores": "none"}))
    with pytest.raises(SweepError, match="clusters_of_tests has no class Nothing"):
        clusters.start(clusters.Request("jobs.toml", f"{module.__name__}.Nothing"))


def test_as_many_jobs_as_asked_for_are_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Job:
        submit_command = sys.executable

    class Queue:
        job_cls = Job
        asked: dict[str, int]

        def __init__(self, **options: Any) -> None:
            self.options = options

        def scale(self, **jobs: int) -> None:
            self.asked = jobs

    module = types.ModuleType("clusters_of_tests")
    module.Queue = Queue  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    made = clusters.start(clusters.Request("jobs.toml", f"{module.__name__}.Queue", 7, {"cores": 4}))
    assert (made.options, made.asked) == ({"cores": 4}, {"jobs": 7})


class _Workers:
    """An executor with so many threads."""

    def __init__(self, slots: int) -> None:
        self.slots = slots


@pytest.mark.parametrize(("slots", "seconds"), [(2, 0.4), (14, 0.4), (100, 2.8), (1000, 28.0)])
def test_batches_last_longer_on_more_workers(slots: int, seconds: float) -> None:
    """Handing batches out takes at most a quarter of the time."""
    runs: Any = execute.Runs.__new__(execute.Runs)
    runs.executor, runs._run_s = _Workers(slots), 0.01
    runs.tally = execute.Tally(10**9)
    assert runs._size() == pytest.approx(seconds / 0.01, abs=1)
    assert slots / seconds * execute.TASK_S <= execute.SHARE * 1.01
