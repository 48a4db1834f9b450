"""A run that was saved and read back says what it said before, also of cores that jobs lost before their nodes had booted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from cluster_sim import Result, Simulation
from cluster_sim.workload.fields import RESULT_TABLES
from tests.support.contract import chaos, full
from tests.support.scripted import requeued, resumed_elsewhere, stopped_while_suspended, suspended

OLDER = ("rev2", "rev19", "rev31", "rev62", "rev90", "rev125")
"""Runs of which the files once said something else."""


def same(result: Result, folder: Path) -> None:
    """Saves a result, and compares all that its files say, and what they say when they are saved again."""
    result.save(folder)
    loaded = Result.load(folder)
    for name in RESULT_TABLES:
        table = getattr(result, name)
        pd.testing.assert_frame_equal(
            getattr(loaded, name), table, check_exact=True, check_dtype=len(table) > 0, obj=name
        )
    assert loaded.spells == result.spells
    assert list(loaded.spells) == list(result.spells)
    for job in result.jobs["job_id"]:
        assert loaded.explain(job) == result.explain(job)


def drawn(name: str) -> Result | None:
    """A run drawn at random; None where there is none of these settings."""
    case = chaos.draw(Random(name))
    try:
        return chaos.run(replace(case, options=case.options | {"explain": True}))[1]
    except full.NotACase:
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*OLDER, *(f"reread{i}" for i in range(12))])
def test_a_run_drawn_at_random_comes_back(name: str, tmp_path: Path) -> None:
    """Every table comes back, and what is told of jobs: nodes boot in many runs, and jobs change meanwhile."""
    result = drawn(name)
    if result is None:
        pytest.skip("no run of these settings")
    same(result, tmp_path)


def test_cores_that_no_task_used(tmp_path: Path) -> None:
    """The table of holds says since when tasks used the cores of each row: never those of the first."""
    result = resumed_elsewhere()
    assert result.holds["start"].tolist() == [0.0, 5.0, 8.0]
    assert result.holds["used_from"].fillna(-1.0).tolist() == [-1.0, 5.0, 12.0]
    same(result, tmp_path)


@pytest.mark.parametrize(
    ("make", "once"),
    [
        (partial(stopped_while_suspended, "cancel"), True),
        (partial(stopped_while_suspended, "requeue"), False),
        (partial(stopped_while_suspended, fails=True), True),
        (suspended, False),
        (requeued, False),
    ],
)
def test_an_older_table_of_attempts(make: Callable[[], Result], once: bool, tmp_path: Path) -> None:
    """Without the column ``over_time``, when each attempt was over is seen from what its job did next."""
    result = make()
    result.save(tmp_path)
    if once:
        (tmp_path / "holds.csv").unlink()  # as it was then where each job had cores once
    if (tmp_path / "attempts.csv").exists():
        attempts = pd.read_csv(tmp_path / "attempts.csv")
        attempts.drop(columns="over_time").to_csv(tmp_path / "attempts.csv", index=False)
    loaded = Result.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.attempts, result.attempts, check_exact=True)
    assert loaded.explain("a") == result.explain("a")
    pd.testing.assert_frame_equal(loaded.queue, result.queue, check_exact=True)


def test_an_older_attempt_that_failed_before_its_job_was_killed_in_the_queue(tmp_path: Path) -> None:
    """The attempt was over when it failed, though its job was killed later."""

    def kill(simulation: Simulation) -> None:
        simulation.env.at(6.5).callbacks.append(lambda event: simulation.kill("a", "by hand"))

    result = stopped_while_suspended("requeue", then=kill)
    result.save(tmp_path)
    attempts = pd.read_csv(tmp_path / "attempts.csv", keep_default_na=False)
    attempts["outcome"] = attempts["outcome"].replace("preempted", "failed")
    attempts.drop(columns="over_time").to_csv(tmp_path / "attempts.csv", index=False)
    loaded = Result.load(tmp_path).attempts
    assert loaded["over_time"].tolist() == loaded["end_time"].tolist()


def test_an_older_table_of_holds_has_no_row_that_ends_before_it_begins(tmp_path: Path) -> None:
    """Cores that were given back before the attempt began were not used, though the older table does not say so."""
    result = resumed_elsewhere()
    result.save(tmp_path)
    holds = pd.read_csv(tmp_path / "holds.csv")
    holds.drop(columns="used_from").to_csv(tmp_path / "holds.csv", index=False)
    allocations = Result.load(tmp_path).allocations
    assert allocations[["start", "end"]].to_numpy().tolist() == [[5.0, 7.0], [8.0, 15.0]]
