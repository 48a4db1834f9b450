"""Pieces of jobs that change while they run, what they do beside their work, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pytest

from cluster_sim import Placement, Platform, Result, Simulation
from cluster_sim.run.decisions import Decision, Resize
from cluster_sim.run.view import View
from cluster_sim.workload.fields import RESULT_TABLES
from tests.support.rows import workload_of
from tests.support.scripted import Scripted, of, requeued, resized, run, suspended


def test_a_suspension_ends_a_spell() -> None:
    """4 s before it and 6 s after it, as one attempt."""
    result = suspended()
    assert [tuple(spell) for spell in result.spells[0]] == [
        (0, 1, 0.0, 4.0, 2, "suspended", 7.0),
        (0, 1, 7.0, 13.0, 2, "completed", 13.0),
    ]
    assert list(result.spells) == [0]
    assert result.stages.empty


def test_a_change_of_cores_ends_a_spell() -> None:
    """Four cores, then two, the first second of which is the change."""
    result = resized()
    assert [tuple(spell) for spell in result.spells[0]] == [
        (0, 1, 0.0, 5.0, 4, "resized", 5.0),
        (0, 1, 5.0, 16.0, 2, "completed", 16.0),
    ]
    assert result.stages.to_numpy().tolist() == [["a", 1, "reconfiguration", 5.0, 6.0, 0.0]]


def test_cores_that_a_job_had_for_no_time_count_for_nothing() -> None:
    """At 5 s it gives up all but one of its four cores, and in the same instant gets one of these back: it has two."""

    def twice(view: View) -> Iterable[Decision]:
        for nodes in ({0: 1}, {0: 1, 1: 1}):
            yield Resize(of(view, "0").job, Placement.on(nodes))

    jobs = {"submit_time": [0.0], "requested_cores": [4], "recorded_run_time": [10.0], "malleable": [True]}
    jobs |= {"min_cores": [1], "max_cores": [4]}
    result = run(4, jobs, {5.0: twice})
    assert [spell.cores for spell in result.spells[0]] == [4, 2]
    assert "At 5 s it changed from 4 to 2 cores." in result.explain("0")


def test_checkpoints_and_restarts_are_stages() -> None:
    """A checkpoint in each attempt, with what it saves, and the restart of the second."""
    result = requeued()
    assert [tuple(spell) for spell in result.spells[0]] == [
        (0, 1, 0.0, 8.0, 2, "preempted", 8.0),
        (0, 2, 10.0, 19.0, 2, "completed", 19.0),
    ]
    stages = result.stages.to_numpy().tolist()
    assert [row[:5] for row in stages] == [
        ["a", 1, "checkpoint", 4.0, 5.0],
        ["a", 2, "restart", 10.0, 12.0],
        ["a", 2, "checkpoint", 16.0, 17.0],
    ]
    assert [row[5] for row in stages] == pytest.approx([0.4, 0.4, 0.8])
    assert result.attempts["lost_core_s"].tolist() == [6.0, 0.0, 0.0]


def test_parts_make_no_checkpoints() -> None:
    """Only a job that has an interval between checkpoints makes any: without one, the end of a part saves nothing."""
    jobs = workload_of((0.0, 2, 10.0), parts=["1 1"], malleable=[True])
    result = Simulation(Platform.homogeneous(2, 1), jobs, Scripted({})).run()
    assert result.stages.empty
    assert result.jobs["finish_time"].tolist() == [10.0]


@pytest.mark.parametrize("make", [suspended, requeued, resized])
def test_they_come_back_from_files(make: Callable[[], Result], tmp_path: Path) -> None:
    """All tables, and the spells that are read off them."""
    result = make()
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    for table in RESULT_TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, table), getattr(result, table), check_exact=True)
    assert loaded.spells == result.spells


def test_jobs_in_one_piece_have_no_file_of_stages(worked_by_hand: Result, tmp_path: Path) -> None:
    """Nor spells."""
    worked_by_hand.save(tmp_path)
    assert not {"stages.csv", "holds.csv"} & {path.name for path in tmp_path.iterdir()}
    assert worked_by_hand.spells == {}
