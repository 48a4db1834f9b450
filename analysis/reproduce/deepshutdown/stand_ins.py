"""Stand-ins for the clusters of DeepShutdown whose logs are not public.

The machines have their size, and the days are drawn by Tables 1 and 2.
"""

from __future__ import annotations

import numpy as np

from cluster_sim.platform.hardware import PowerTransitions
from cluster_sim.platform.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.workload.workload import Workload

# (nodes, cores of a node), jobs, days with two jobs or more in groups 1 to 5, utilisation: §5.2 and Tables 1 and 2.
CLUSTERS: dict[str, tuple[tuple[int, int], int, tuple[int, ...], float]] = {
    "Econome": ((22, 16), 66_557, (259, 520, 504, 271, 39), 0.576),
    "Graphite": ((4, 16), 60_786, (487, 705, 427, 149, 24), 0.473),
    "Orion": ((4, 12), 66_005, (659, 777, 496, 129, 28), 0.627),
    "Taurus": ((14, 12), 81_925, (441, 947, 612, 130, 22), 0.517),
}


def stand_in_platform(nodes: int, cores: int) -> Platform:
    """Return nodes with the paper's watts and transitions (Fig. 4) for every core.

    They are off at the start, as Taurus' are.
    """
    power = {"static_w": 95.0 * cores, "dynamic_w": 95.0, "min_power": 1.0}
    processor = ProcessorType("core-by-core", cores, 1.0, power=power)
    transitions = PowerTransitions(
        off_w=0.0, switch_on_s=60.0, switch_on_w=125.0 * cores, switch_off_s=180.0, switch_off_w=101.0 * cores
    )
    kind = NodeType("node", (processor,), transitions=transitions, initially_off=True)
    return Platform((Cluster("cluster0", (NodeGroup(kind, nodes),)),))


def stand_in_day(cluster: str, day: int) -> Workload:
    """Draw a synthetic day: on average the jobs, the sequential jobs and the load are those of Tables 1 and 2.

    The day's group is drawn by Table 2, and its share of sequential jobs within the group. Its number of jobs is
    lognormal. Bursts begin at any time of the day. Most jobs take whole nodes. Run times are lognormal, in whole
    minutes.
    """
    (nodes, width), jobs, groups, utilisation = CLUSTERS[cluster]
    rng = np.random.default_rng([2022, list(CLUSTERS).index(cluster), day])
    group = int(rng.choice(5, p=np.array(groups) / sum(groups)))
    share = 1.0 if group == 4 else 0.25 * (group + rng.random())
    a_day = jobs / sum(groups)
    count = max(2, round(float(rng.lognormal(np.log(a_day) - 0.5, 1.0))))
    # Bursts begin at any time of the day, and the jobs of a burst follow each other within four minutes.
    bursts = count - round(share * (count - 1))
    begins = np.sort(rng.uniform(0.0, 1_380.0, bursts))
    burst_of = np.sort(np.concatenate([np.arange(bursts), rng.integers(0, bursts, count - bursts)]))
    is_first = np.diff(burst_of, prepend=-1) > 0
    since_day = np.cumsum(np.where(is_first, 0.0, rng.integers(0, 4, count)))
    since_burst = since_day - np.maximum.accumulate(np.where(is_first, since_day, 0.0))
    submit = np.sort(60.0 * np.minimum(np.floor(begins[burst_of] + since_burst), 1_439.0))
    node_counts = np.minimum(rng.geometric(0.5, count), nodes)
    cores = np.where(rng.random(count) < 0.7, node_counts * width, rng.integers(1, width + 1, count))
    mean_s = utilisation * nodes * width * 86_400.0 / (a_day * float(cores.mean()))
    run = np.clip(60.0 * np.ceil(rng.lognormal(np.log(mean_s) - 0.5 * 1.5**2, 1.5, count) / 60.0), 60.0, 86_400.0)
    wall = 60.0 * np.ceil(run * rng.uniform(1.0, 3.0, count) / 60.0)
    columns = {"submit_time": submit, "requested_cores": cores, "recorded_run_time": run, "requested_time": wall}
    return Workload(columns | {"fixed_run_time": np.full(count, True)}, f"{cluster}, synthetic day {day}")
