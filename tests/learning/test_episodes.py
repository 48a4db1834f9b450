"""Episodes and their sources."""

from __future__ import annotations

import numpy as np
import pytest

from cluster_sim import Platform, Workload
from cluster_sim.errors import InputError
from learning.tasks.episodes import Days, Drawn, Trajectories, Whole
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_node.environment import JobNode
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.policy_selection.environment import PolicySelection

PLATFORM = Platform.homogeneous(nodes=2, cores=4)


def jobs(count: int) -> Workload:
    """Jobs 0, 1, … at 10, 11, …"""
    return Workload(
        {
            "submit_time": 10.0 + np.arange(count),
            "requested_cores": np.ones(count, np.int64),
            "recorded_run_time": np.ones(count),
        }
    )


def ids(workload: Workload) -> list[str]:
    """Whose jobs they are."""
    return workload.jobs["job_id"].tolist()


def test_whole_is_always_the_same() -> None:
    """The whole workload, drawn or not; what is random in the run differs with the generator."""
    source = Whole(PLATFORM, jobs(3))
    first, second = source.draw(np.random.default_rng(1)), source.draw(np.random.default_rng(2))
    assert first.workload is second.workload is source.workload
    assert first.seed != second.seed
    assert [episode.seed for episode in source.all()] == [0]


def test_a_trajectory_starts_at_zero() -> None:
    """Consecutive jobs, their arrivals counted from the first of them."""
    episode = Trajectories(PLATFORM, jobs(10), 3, origin=4).draw(np.random.default_rng(0))
    assert ids(episode.workload) == ["4", "5", "6"]
    assert episode.workload.jobs["submit_time"].tolist() == [0.0, 1.0, 2.0]


def test_random_origins_are_drawn_from_all() -> None:
    """Every place from which enough jobs follow is drawn sooner or later, and no other."""
    source, rng = Trajectories(PLATFORM, jobs(5), 3), np.random.default_rng(0)
    assert {ids(source.draw(rng).workload)[0] for _ in range(100)} == {"0", "1", "2"}


def test_all_trajectories_are_the_workload_in_pieces() -> None:
    """For tests over everything a workload is cut into pieces, and no job is left out."""
    pieces = Trajectories(PLATFORM, jobs(7), 3).all()
    assert [ids(piece.workload) for piece in pieces] == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert [len(piece.workload) for piece in Trajectories(PLATFORM, jobs(7), 3, "fixed").all()] == [3]


def test_days_are_drawn_uniformly() -> None:
    """Each of three days comes about as often: 300 draws, within five standard deviations of 100."""
    days = [jobs(n) for n in (1, 2, 3)]
    source, rng = Days(PLATFORM, days, until=86_400.0), np.random.default_rng(0)
    lengths = [len(source.draw(rng).workload) for _ in range(300)]
    assert all(abs(lengths.count(n) - 100) < 5 * np.sqrt(300 * 2 / 9) for n in (1, 2, 3))
    assert [episode.until for episode in source.all()] == [86_400.0] * 3


def test_drawn_workloads_are_fresh_and_repeatable() -> None:
    """Another workload every time, the same for the same generator."""
    source = Drawn(PLATFORM, lambda rng: jobs(int(rng.integers(1, 1000))), count=4)
    rng = np.random.default_rng(5)
    first, second = source.draw(rng), source.draw(rng)
    assert len(first.workload) != len(second.workload)
    assert len(source.draw(np.random.default_rng(5)).workload) == len(first.workload)
    assert len(source.all()) == 4


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Trajectories(PLATFORM, jobs(3), 4), "length"),
        (lambda: Trajectories(PLATFORM, jobs(3), 0), "length"),
        (lambda: Trajectories(PLATFORM, jobs(3), 2, origin=2), "origin"),
        (lambda: Trajectories(PLATFORM, jobs(3), 2, origin="last"), "origin"),  # type: ignore[arg-type]
        (lambda: Days(PLATFORM, []), "days"),
        (lambda: Trajectories(PLATFORM, jobs(3), 1.5), "length"),  # type: ignore[arg-type]
        (lambda: Trajectories(PLATFORM, jobs(3), 2, origin=True), "origin"),
        (lambda: Trajectories(PLATFORM, jobs(3), 2, origin=0.5), "origin"),  # type: ignore[arg-type]
        (lambda: Whole("homogeneous:nodes=2,cores=4", jobs(3)), "platform"),  # type: ignore[arg-type]
        (lambda: Whole(PLATFORM, "lublin:jobs=3,nodes=8"), "workload"),  # type: ignore[arg-type]
        (lambda: Trajectories(PLATFORM, "lublin:jobs=3,nodes=8", 2), "workload"),  # type: ignore[arg-type]
        (lambda: Days(PLATFORM, [jobs(3), "monday.swf"]), "workload"),  # type: ignore[list-item]
        (lambda: Drawn(PLATFORM, lambda rng: 3).all(), "workload"),  # type: ignore[arg-type, return-value]
        (lambda: JobNode(episodes=[PLATFORM]), "episodes"),  # type: ignore[arg-type]
        (lambda: JobChoice(PLATFORM, jobs(3)), "episodes"),  # type: ignore[arg-type]
        (lambda: NodeShutdown(PLATFORM, jobs(3)), "episodes"),  # type: ignore[arg-type]
        (lambda: PolicySelection(PLATFORM, jobs(3)), "episodes"),  # type: ignore[arg-type]
    ],
)
def test_wrong_sources_are_named(make: object, named: str) -> None:
    """What the workload does not have, and what is no platform, workload or source of episodes, is said in one line."""
    with pytest.raises(InputError, match=named):
        make()  # type: ignore[operator]
