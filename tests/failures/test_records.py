"""What a run with failures leaves: lost work and energy, attempts, availability, also in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis import comparison_table
from cluster_sim import InputError, Platform, Result, Simulation, Workload
from schedulers import Fcfs
from tests.support.rows import workload_of
from tests.support.scripted import requeued, suspended

KEYS = ("jobs_requeued", "jobs_preempted", "lost_core_s", "energy_lost_j", "availability")
WATTS = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}


def two_jobs(folder: Path, limit: str = "") -> Result:
    """Jobs of 100 s on one node of four cores each, a with checkpoints of 5 s after every 20 s of work; both fail at 60 s.

    Job a has saved 40 s and lost 10 s on three cores, b lost 60 s on one core.
    """
    path = folder / "failures.csv"
    path.write_text("time,node,event\n60,0,fail\n60,1,fail\n100,0,repair\n100,1,repair\n")
    columns = {
        "job_id": ["a", "b"],
        "submit_time": [0.0, 0.0],
        "requested_cores": [3, 1],
        "nodes": [1, 1],
        "recorded_run_time": [100.0, 100.0],
        "checkpoint_interval": ["20", ""],
        "checkpoint_time": [5.0, 0.0],
        "exclusive": [True, True],
    }
    platform = Platform.homogeneous(nodes=2, cores=4, power=WATTS)
    return Simulation(platform, Workload(columns), Fcfs(), failures=f"trace:{path}{limit}").run()


def test_what_is_lost_by_hand(tmp_path: Path) -> None:
    """Core-seconds and joules: a draws 16 W, of its 180 core-s 30 were lost; b draws 12 W and lost all."""
    summary = two_jobs(tmp_path).summary()
    found = [summary[key] for key in KEYS]
    end = 200.0  # b begins anew at 100 s, a needs 60 s more and two checkpoints
    lost_j = 60.0 * 16.0 * 30.0 / 180.0 + 60.0 * 12.0
    assert found == pytest.approx([2, 0, 30.0 + 60.0, lost_j, 1.0 - 80.0 / (2 * end)], rel=1e-12)


def test_jobs_given_up_have_lost_what_was_not_saved(tmp_path: Path) -> None:
    """The same attempts, and no others: nobody waits again."""
    result = two_jobs(tmp_path, ",limit=1")
    summary = result.summary()
    assert (summary["jobs_killed"], summary["jobs_requeued"], summary["lost_core_s"]) == (2, 0, pytest.approx(90.0))
    assert summary["energy_lost_j"] == pytest.approx(60.0 * 16.0 / 6.0 + 720.0)


def test_suspended_jobs_lose_nothing_requeued_ones_what_came_after_the_checkpoint() -> None:
    """Two schedules worked by hand: an attempt that is suspended is one; a requeue after a checkpoint loses 3 s on two cores."""
    kept, lost = suspended(), requeued()
    assert [kept.summary()[key] for key in KEYS[:4]] == [0, 1, 0.0, 0.0]
    assert len(kept.attempts) == len(kept.jobs)
    # of 8 s on two cores, with 1 s of checkpoint, 3 s were lost
    one = lost.attempts.iloc[0]
    assert (one["outcome"], one["lost_core_s"]) == ("preempted", pytest.approx(6.0))
    share = lost.summary()["energy_lost_j"] / lost.jobs.set_index("job_id").loc["a", "energy_j"]
    assert share == pytest.approx(3.0 / (8.0 + 9.0))  # of all its time, at the same watts


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_saving_and_loading_keeps_it(tmp_path: Path, file_format: str) -> None:
    """Summary, attempts and stages, and the line of a comparison."""
    result = two_jobs(tmp_path)
    result.save(tmp_path / "out", file_format)  # type: ignore[arg-type]
    loaded = Result.load(tmp_path / "out")
    assert loaded.metrics == result.metrics
    for name in ("attempts", "stages"):
        assert getattr(loaded, name).to_csv() == getattr(result, name).to_csv()
    table = comparison_table({"run": result, "loaded": loaded})
    assert set(KEYS) <= set(table.index)


def test_older_folders_load(tmp_path: Path) -> None:
    """A summary without the keys, a run without attempts: what is there is read, and compared with a new one."""
    result = two_jobs(tmp_path, ",limit=1")
    result.save(tmp_path / "out")
    path = tmp_path / "out/summary.json"
    older = {key: value for key, value in json.loads(path.read_text()).items() if key not in (*KEYS, "failures")}
    path.write_text(json.dumps(older))
    (tmp_path / "out/attempts.csv").unlink()
    (tmp_path / "out/stages.csv").unlink()
    loaded = Result.load(tmp_path / "out")
    assert "energy_lost_j" not in loaded.summary()
    assert loaded.attempts["outcome"].tolist() == ["killed", "killed"]
    assert loaded.stages.empty
    assert len(comparison_table({"old": loaded, "new": result}))


@pytest.mark.parametrize(
    ("trace", "until", "killed_at", "utilisation", "requeued"),
    [
        ("10,0,fail\n", 100.0, None, (4 * 10 + 4 * 100) / 800, 1),  # it waits until the end
        ("10,0,fail\n", None, 90.0, (4 * 10 + 4 * 100) / 800, 1),  # it is killed while it waits
        (
            "10,0,fail\n20,0,repair\n30,0,fail\n",
            100.0,
            None,
            (4 * 20 + 4 * 100) / 800,
            2,
        ),  # its second attempt fails, too
    ],
)
def test_a_wait_after_the_last_attempt(
    tmp_path: Path, trace: str, until: float | None, killed_at: float | None, utilisation: float, requeued: int
) -> None:
    """A job that fails and never runs again keeps no cores busy meanwhile, and has been requeued as often as it failed."""
    path = tmp_path / "failures.csv"
    path.write_text("time,node,event\n" + trace)
    jobs = Workload({"submit_time": [0, 0], "requested_cores": [4, 4], "recorded_run_time": [50, 100]})
    platform = Platform.homogeneous(nodes=2, cores=4)
    simulation = Simulation(platform, jobs, Fcfs(), failures=f"trace:{path}", until=until)
    if killed_at is not None:
        simulation.env.at(killed_at).callbacks.append(lambda event: simulation.kill("0"))
    summary = simulation.run().summary()
    assert (summary["utilisation"], summary["jobs_requeued"]) == (pytest.approx(utilisation, rel=1e-12), requeued)


def test_checkpoints_that_come_ever_sooner_end_a_run_with_a_line() -> None:
    """Intervals of 60 s, 54 s, … add up to 600 s: enough for 500 s of work, never for 1,000."""
    for work, ends in ((500.0, True), (1000.0, False)):
        jobs = workload_of((0, 1, work), checkpoint_interval=["60"], checkpoint_time=[1.0], checkpoint_growth=[0.9])
        simulation = Simulation(Platform.homogeneous(nodes=1, cores=1), jobs, Fcfs())
        if ends:
            assert simulation.run().jobs["state"].tolist() == ["completed"]
        else:
            with pytest.raises(InputError, match=r"job 0, checkpoint_growth: expected 1 or more, .*, found 0\.9"):
                simulation.run()
