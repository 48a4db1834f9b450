"""A failure injector: a SimPy process of your own beside the simulation's."""

from collections.abc import Generator
from typing import Any

import numpy as np

from cluster_sim import Platform, Simulation, Workload
from schedulers import Fcfs

platform = Platform.homogeneous(nodes=8, cores=4)
rng = np.random.default_rng(7)
jobs = 200
workload = Workload(
    {
        "submit_time": np.cumsum(rng.exponential(60.0, jobs)),
        "requested_cores": rng.integers(1, 9, jobs),
        "recorded_run_time": rng.exponential(600.0, jobs),
    }
)
simulation = Simulation(platform, workload, Fcfs())


def failures(mean_time_between: float, repair_time: float) -> Generator[Any, Any, None]:
    """Every now and then one node breaks down, and is repaired after a while."""
    while True:
        yield simulation.env.timeout(rng.exponential(mean_time_between))
        node = simulation.node(int(rng.integers(platform.node_count)))
        node.fail()
        yield simulation.env.timeout(repair_time)
        yield node.repair()


def obituaries() -> Generator[Any, Any, None]:
    """Listen, and say which jobs died."""
    while True:
        killed = yield simulation.on("job_killed")
        print(f"{simulation.env.now:9.1f} s: lost {', '.join(job.job_id for job in killed)}")


simulation.env.process(failures(mean_time_between=1500.0, repair_time=300.0))
simulation.env.process(obituaries())
summary = simulation.run().summary()
print(summary[["jobs_completed", "jobs_killed", "makespan_s", "utilisation"]])
