"""Take the scheduler's place: step from decision to decision, as a learning agent does."""

import numpy as np

from cluster_sim import Platform, Simulation, Workload

rng = np.random.default_rng(1)
platform = Platform.homogeneous(nodes=4, cores=8)
workload = Workload(
    {
        "submit_time": np.sort(rng.uniform(0.0, 600.0, 60)),
        "requested_cores": rng.integers(1, 9, 60),
        "recorded_run_time": rng.uniform(10.0, 120.0, 60),
    }
)

simulation = Simulation(platform, workload)  # no scheduler: the loop below decides
decisions = 0
while (view := simulation.step_to_decision()) is not None:
    while candidates := [(job, place) for job in view.pending if (place := view.place(job)) is not None]:
        job, placement = candidates[rng.integers(len(candidates))]  # an agent would choose better
        view = simulation.decide((job, placement))
        decisions += 1

print(f"{decisions} decisions, {simulation.result().summary()['energy_j']:.0f} J")
