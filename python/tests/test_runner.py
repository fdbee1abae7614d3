"""The runner: order, failure, interruption."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from earlydrop.runner import Job, RunError, run_all


@dataclass(frozen=True)
class Slow:
    """A run that takes longer the smaller its seed, so that results finish out of order."""

    name: str = "slow"
    fails_at: int | None = None

    def run(self, seed: int | None = None) -> str:
        assert seed is not None
        time.sleep(0.002 * (10 - seed % 10))
        if seed == self.fails_at:
            raise ValueError("no luck")
        return str(seed)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    jobs = [Job(Slow(), seed) for seed in range(25)]
    assert run_all(jobs, int, workers=workers) == list(range(25))


def test_progress_counts_every_run_once() -> None:
    seen: list[tuple[int, int]] = []
    run_all([Job(Slow(), s) for s in range(5)], progress=lambda done, total, _: seen.append((done, total)))
    assert seen == [(k, 5) for k in range(6)]


def test_a_failure_names_scenario_and_seed_and_stops_the_rest() -> None:
    ran: list[int] = []

    @dataclass(frozen=True)
    class Counted(Slow):
        def run(self, seed: int | None = None) -> str:
            ran.append(seed or 0)
            if seed and seed > 10:
                # Time enough for the failure to be seen long before the last one, on any machine.
                time.sleep(0.05)
            return super().run(seed)

    jobs = [Job(Counted(fails_at=3), seed) for seed in range(200)]
    with pytest.raises(RunError, match=r"slow, seed 3.*no luck"):
        run_all(jobs, workers=2)
    assert len(ran) < 200


def test_an_interruption_is_passed_on() -> None:
    def interrupt(done: int, total: int, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([Job(Slow(), s) for s in range(50)], progress=interrupt)


def test_no_jobs_give_no_results() -> None:
    assert run_all([]) == []
