"""A nightly backup beside the jobs: it holds two cores of the first node for an hour and loads them.

    cluster-sim run --platform homogeneous:nodes=4,cores=8 --workload lublin:jobs=50,nodes=32,seed=1 \\
        --process examples/backup.py:backup --out out
"""

from collections.abc import Iterator
from typing import Any

from cluster_sim import Platform, Simulation, Workload, make_scheduler

NIGHT_S, HOUR_S = 86_400.0, 3_600.0


def backup(simulation: Simulation) -> Iterator[Any]:
    """Hold and load two cores for an hour, every night."""
    processor = simulation.node(0).processors[0]
    while True:
        with processor.request(2, owner="backup", expected_s=HOUR_S) as held:
            yield held
            yield processor.load(2, HOUR_S, owner="backup")
        yield simulation.env.timeout(NIGHT_S - HOUR_S)


if __name__ == "__main__":
    workload = Workload.read("lublin:jobs=50,nodes=32,seed=1")
    platform = Platform.homogeneous(nodes=4, cores=8)
    result = Simulation(platform, workload, make_scheduler("easy"), processes=[backup]).run()
    print(
        result.holds[result.holds["kind"] == "guest"][["owner", "node", "start", "end"]].head().to_string(index=False)
    )
