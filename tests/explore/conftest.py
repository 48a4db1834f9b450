"""A run small enough to be worked out by hand."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records import Result
from tests.support.rows import workload_of


class Story:
    """8 cores; solver takes 6 for 100 s, wide wants all from 10 s on, small wants 2 from 20 s on."""

    def __call__(self, scheduler: str, explain: bool = True) -> Result:
        """Its result under a scheduler."""
        platform = Platform.homogeneous(nodes=1, cores=8)
        return Simulation(platform, self.workload(), make_scheduler(scheduler), explain=explain).run()

    def workload(self) -> Workload:
        """The three jobs."""
        return workload_of(
            (0.0, 6, 100.0, 120.0), (10.0, 8, 50.0, 60.0), (20.0, 2, 30.0, 30.0), job_id=["solver", "wide", "small"]
        )


@pytest.fixture(scope="session")
def story() -> Story:
    """The story, to be run."""
    return Story()
