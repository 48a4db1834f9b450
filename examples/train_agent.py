"""Train an agent on a small machine, and let it schedule jobs that it has never seen."""

import numpy as np

from cluster_sim import Simulation, Workload
from learning.tasks.built_in_cases import mixed_jobs, small_cluster
from learning.training import Config, ValidationKeys, train
from schedulers import make_scheduler

if __name__ == "__main__":  # processes that play episodes are spawned, and import this script
    config = Config(
        iterations=4,
        episodes=8,
        workers=1,
        network="scorer:hidden=16",
        baselines=["list:smallest/high_gflops"],
        validation=ValidationKeys(every=2, episodes=4),
    )
    [summary] = train(config, "agent")
    print(f"validation: {summary.reduction:.1f} % less energy than {summary.baseline}")

    workload: Workload = mixed_jobs(np.random.default_rng(2024))
    for spec in ("list:smallest/high_gflops", "learned:agent", "learned:agent,sample=yes"):
        result = Simulation(small_cluster(), workload, make_scheduler(spec)).run()
        print(f"{spec:<30} {result.summary()['energy_j']:8.0f} J")
