"""What grouping alone saves: two node orders of the same preference, one of which packs and the other spreads.

The node orders of Fig. 9 differ in how they group jobs and in which processors they take. Here a pair of orders prefers the
same clocks. Among processors of one clock, one order takes the one with most busy cores, and the other the one with fewest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median

import numpy as np

from analysis.reproduce.claims import AT_MOST, MORE, Claim, Kind, Values
from analysis.reproduce.drawing import bars
from analysis.reproduce.irmasim.cluster import CLUSTERS, cluster
from analysis.reproduce.irmasim.policies import IDLE, LOADS, grouped, trickle
from analysis.reproduce.paper import AS_RUN, ComputedPart, Measured, PaperFigure
from cluster_sim import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.queue.list_scheduling import ListScheduler
from schedulers.queue.orders import NodeOrder

PREFERENCES = {"any clock": 0.0, "fast first": -1.0, "slow first": 1.0}
"""Sign of the clock in the key of a node order, least key first."""
IDLE_SHARES = {"idle pb": 1.0, "idle 0.5 %": IDLE}
"""Share of pb that a processor without jobs draws: by Eq. 5, and in the public program."""


def node_order(preference: float, packs: bool) -> NodeOrder:
    """Return the order by clock with that sign, then by busy cores: most first if it packs, else fewest."""

    def order(view: View, job: Job) -> np.ndarray:
        clocks = np.unique(view.machine.node_gflops, return_inverse=True)[1]
        more_than_cores = 1.0 + float(view.platform.node_cores.max())
        return preference * clocks * more_than_cores + (1.0 if packs else -1.0) * view.free_cores

    return order


def grouping_alone(inputs: Path, idle: str, seeds: int) -> Measured:
    """Measure what packing saves of the energy of spreading, for each preference and load.

    ``alone/IDLE/PREFERENCE/LOAD`` is in %, a number for each batch. With ``/packed`` and ``/spread`` it is the busy cores
    per processor in use, means of the batches.
    """
    platform = cluster(CLUSTERS["heterogeneous"], "contention", IDLE_SHARES[idle])
    found = Measured()
    for preference, sign in PREFERENCES.items():
        for load in LOADS:
            pairs = []
            for seed in range(seeds):
                workload = trickle(load, seed)
                pairs.append(
                    [
                        Simulation(platform, workload, ListScheduler("first", node_order(sign, packs))).run(warn=False)
                        for packs in (True, False)
                    ]
                )
                found.runs += 2
            energies = [[float(result.summary()["energy_j"]) for result in pair] for pair in pairs]
            together = [[grouped(result) for result in pair] for pair in pairs]
            start = f"alone/{idle}/{preference}/{load:g}"
            found.values |= {
                start: [100.0 * (1.0 - packed / spread) for packed, spread in energies],
                f"{start}/packed": mean(packed for packed, _ in together),
                f"{start}/spread": mean(spread for _, spread in together),
            }
    return found


def parts(quick: bool) -> list[ComputedPart]:
    """Return a part for each share that idle processors draw."""
    return [
        ComputedPart(
            f"grouping alone {idle}",
            grouping_alone,
            {"idle": idle, "seeds": 1 if quick else 5},
            (),
            (f"alone/{idle}/",),
        )
        for idle in IDLE_SHARES
    ]


def claims() -> list[Claim]:
    """Return the claim that grouping alone saves energy, as run, at each load; and that it costs some as written."""
    written, run = IDLE_SHARES
    how = "the pair of orders with the {} saving, of three preferences; medians of the batches"
    costs = [
        Claim(f"alone/{written}/{load:g}", f"grouping alone costs energy, {written}, load {load:g}", "0.0", "% of energy saved",
              "measured here", partial(_saved, written, load, max), AT_MOST, how.format("greatest"), kind=Kind.OURS, group=AS_RUN)
        for load in LOADS
    ]  # fmt: skip
    saves = [
        Claim(f"alone/{run}/{load:g}", f"grouping alone saves energy, {run}, load {load:g}", "0.0", "% of energy saved",
              "§VII.B", partial(_saved, run, load, min), MORE, how.format("least"), group=AS_RUN)
        for load in LOADS
    ]  # fmt: skip
    return [*saves, *costs]


def _saved(idle: str, load: float, of: Callable[[Iterable[float]], float], values: Values) -> float:
    return of(median(values[f"alone/{idle}/{preference}/{load:g}"]) for preference in PREFERENCES)


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw what grouping alone saves, medians of the batches."""
    names = {
        (idle, one, load): f"alone/{idle}/{one}/{load:g}"
        for idle in IDLE_SHARES
        for one in PREFERENCES
        for load in LOADS
    }
    if any(name not in values for name in names.values()):
        return []
    series = {
        f"{idle}, {one}": [median(values[names[idle, one, load]]) for load in LOADS]
        for idle in IDLE_SHARES
        for one in PREFERENCES
    }
    caption = "Energy that packing saves of that of spreading, by the clocks that both prefer; below 0 it costs some."
    return [bars("Grouping alone", caption, [f"load {load:g}" for load in LOADS], series, "%")]
