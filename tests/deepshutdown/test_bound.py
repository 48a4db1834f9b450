"""Off-reservation's bound on the days of Taurus: kept wherever a timeout of 0 from the latest start on would keep it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.reproduce.deepshutdown.days import episode
from cluster_sim import Platform, Workload

from .bound import broken


@pytest.mark.parametrize(
    ("day", "jobs", "crowded"), [("86", 193, False), ("963", 950, False), ("620", 54, True), ("98", 373, True)]
)
def test_no_bound_that_can_be_kept_is_broken(day: str, jobs: int, crowded: bool, shared: Path) -> None:
    """On days with room nobody waits for longer than the bound; on others, nobody who would not under a timeout, too."""
    folder = shared / "cases/deepshutdown"
    platform = Platform.read(folder / "platform_taurus_168cores.xml", time_unit="minutes")
    workload = episode(Workload.read(folder / f"train_days/train_{day}.json", time_unit="minutes"), platform)
    assert len(workload) == jobs
    late, _, avoidable = broken(platform, workload)
    assert avoidable == 0
    assert (late > 0) == crowded
