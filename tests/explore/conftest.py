"""A run small enough to be worked out by hand."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records import Result


class Story:
    """8 cores; solver takes 6 for 100 s, wide wants all from 10 s on, small wants 2 from 20 s on."""

    def __call__(self, scheduler: str, explain: bool = True) -> Result:
        """Its result under a scheduler."""
        platform = Platform.homogeneous(nodes=1, cores=8)
        return Simulation(platform, self.workload(), make_scheduler(scheduler), explain=explain).run()

    def workload(self) -> Workload:
        """The three jobs."""
        return Workload(
            {
                "job_id": ["solver", "wide", "small"],
                "submit_time": [0.0, 10.0, 20.0],
                "requested_cores": [6, 8, 2],
                "recorded_run_time": [100.0, 50.0, 30.0],
                "requested_time": [120.0, 60.0, 30.0],
            }
        )


@pytest.fixture(scope="session")
def story() -> Story:
    """The story, to be run."""
    return Story()
