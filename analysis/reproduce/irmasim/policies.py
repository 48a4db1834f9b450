"""Fig. 9 of IRMaSim: the energy of the 36 policies of Table II, and whether those that group jobs need less.

The public program (July 2020 to March 2021) does not do what the text says, in two ways:

- A processor whose cores have no jobs draws 0.5 % of pb. By Eq. 5 it draws all of pb.
- Its orders pack. ``high_cores`` takes the processor with most *busy* cores, where Table II says most available ones.
  ``high_gflops`` and ``low_power`` go by peak rate and by watts of a core at work, which do not change. ``high_mem`` is alike
  for all processors, and so is ``high_mem_bw`` in July 2020, for its bookkeeping is commented out: the first free core is
  taken. In March 2021 ``high_mem_bw`` takes the processor with least bandwidth in use, and spreads.

How fast jobs came is not published. So each way is tried alone, then both, at five loads.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import mean, median

import numpy as np

from analysis.reproduce.claims import HOLDS, Claim, Kind, Values, rank_correlation
from analysis.reproduce.drawing import bars
from analysis.reproduce.irmasim.cluster import CLUSTERS, MODELS, NPB, cluster, of_profiles, run
from analysis.reproduce.paper import AS_RUN, ComputedPart, Measured, PaperFigure
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

BATCH = "npb:jobs=120,at_once=80,seed=0"
"""Batch of Figs. 9 to 11: twice as many jobs as cores, most of them in a burst, the rest in the first two minutes."""
JOBS = ("random", "first", "shortest", "smallest", "low_mem", "low_mem_bw")
NODES = ("random", "current_gflops", "high_cores", "total_mem", "free_mem_bw", "current_watts")
"""Orders of jobs and of nodes in Table II, word by word."""
DIFFERENT_JOBS = ("random", "first", "shortest", "low_mem_bw")
"""Job orders that differ here: all jobs ask for one core and no memory, so smallest and low_mem are like first."""
RANK_LIMIT = 0.41
"""Rank correlation over 24 pairs from which 5 % of random orders are further away from 0, on either side."""

NODES_IN_2020 = ("random", "high_gflops", "low_cores", "total_mem", "first", "low_power")
"""What the program does in place of NODES. Nodes have one processor of four cores here: fewest free cores are most busy ones."""
NODES_IN_2021 = ("random", "high_gflops", "low_cores", "total_mem", "high_mem_bw", "low_power")
IDLE = 0.005
READINGS = {
    "as written": (1.0, NODES),
    "idle processors draw 0.5 %": (IDLE, NODES),
    "the program's orders, July 2020": (1.0, NODES_IN_2020),
    "as run, July 2020": (IDLE, NODES_IN_2020),
    "the program's orders, March 2021": (1.0, NODES_IN_2021),
    "as run, March 2021": (IDLE, NODES_IN_2021),
}
"""Share of pb that a processor without jobs draws, and the node orders."""
AS_RUN_READINGS = ("as run, July 2020", "as run, March 2021")
LIMIT_OF_SIX = 0.886
"""Rank correlation of six values from which 5 % of random orders are further away from 0, on either side."""
LOADS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Core-seconds that come in a second, at the mean rate, over the cores of the cluster."""
JOBS_OF_A_LOAD = 240


def policies(inputs: Path) -> Measured:
    """Measure Fig. 9: the energy of the 36 pairs of Table II under both models, and how they group jobs.

    ``policy/JOB/NODE/MODEL`` is the energy, and with ``/grouped`` busy cores per processor that has some, both over
    time. ``policy/JOB/NODE/idle draws nothing`` is the energy under contention if processors without jobs drew nothing.
    """
    found = Measured()
    workload = Workload.read(BATCH)
    machines = {model: cluster(CLUSTERS["heterogeneous"], model) for model in MODELS}
    machines["idle draws nothing"] = cluster(CLUSTERS["heterogeneous"], "contention", min_power=0.0)
    for job in JOBS:
        for node in NODES:
            for name, platform in machines.items():
                result = run(platform, workload, f"list:{job}/{node}")
                start = f"policy/{job}/{node}/{name}"
                found.values |= {start: float(result.summary()["energy_j"]), f"{start}/grouped": grouped(result)}
                found.runs += 1
    return found


def grouped(result: Result) -> float:
    """Return the busy cores per processor in use, mean over time.

    Jobs have a single core each, and nodes one processor.
    """
    jobs = result.jobs.set_index("job_id")
    times = result.allocations.join(jobs[["start_time", "finish_time"]], on="job_id")
    in_use = 0.0
    for _, here in times.sort_values("start_time").groupby("node"):
        until = 0.0
        for start, finish in zip(here["start_time"], here["finish_time"], strict=True):
            in_use += max(finish - max(start, until), 0.0)
            until = max(until, finish)
    return float((times["finish_time"] - times["start_time"]).sum() / in_use)


def trickle(load: float, seed: int) -> Workload:
    """Draw sequential jobs of Table IV, submitted at random while the cluster has that load."""
    rng = np.random.default_rng([2021, seed])
    names = rng.choice(list(NPB), JOBS_OF_A_LOAD)
    of_clock = CLUSTERS["heterogeneous"]
    ghz = 4 * sum(clock * nodes for clock, nodes in of_clock.items())  # of all cores together
    giga_cycles = sum(NPB[name][0] / NPB[name][1] / 1e9 for name in names)
    submits = np.sort(rng.uniform(0.0, giga_cycles / ghz / load, JOBS_OF_A_LOAD)).round(3)
    return of_profiles(list(zip(submits.tolist(), names.tolist(), strict=True)))


def grouping(inputs: Path, reading: str, load: float, seeds: int) -> Measured:
    """Measure how a node order's energy and the grouping of its jobs rank alike, and how far energies lie apart.

    ``grouping/READING/LOAD`` has a rank correlation for each seed, with ``/spread`` greatest over least energy. Both are means
    over the job orders, which change nothing where no job waits: there are as many values as node orders.
    """
    min_power, nodes = READINGS[reading]
    platform = cluster(CLUSTERS["heterogeneous"], "contention", min_power)
    start = f"grouping/{reading}/{load:g}"
    found = Measured({start: [], f"{start}/spread": []})
    for seed in range(seeds):
        workload = trickle(load, seed)
        energy, together = [], []
        for node in nodes:
            results = [run(platform, workload, f"list:{job}/{node}", seed) for job in DIFFERENT_JOBS]
            energy.append(mean(float(result.summary()["energy_j"]) for result in results))
            together.append(mean(map(grouped, results)))
            found.runs += len(results)
        found.values[start].append(rank_correlation(energy, together))
        found.values[f"{start}/spread"].append(max(energy) / min(energy))
    return found


def as_run_parts(quick: bool) -> list[ComputedPart]:
    """Return a part for each reading and load."""
    return [
        ComputedPart(
            f"grouping {reading} {load:g}",
            grouping,
            {"reading": reading, "load": load, "seeds": 1 if quick else 5},
            measures=(f"grouping/{reading}/{load:g}",),
        )
        for reading in READINGS
        for load in LOADS
    ]


def as_run_claims() -> list[Claim]:
    """Return the claim that policies which group jobs need less energy, for the program of either time and each load."""
    found = []
    for reading in AS_RUN_READINGS:
        for load in LOADS:
            name = f"grouping/{reading}/{load:g}"
            what = f"policies that group jobs need less energy, {reading}, load {load:g}"
            how = f"median of the batches' rank correlations over the six node orders below {-LIMIT_OF_SIX}"
            found.append(
                Claim(
                    f"fig-9-{name}", what, "yes", "", "§VII.B", partial(_groupers_save, name), HOLDS, how, group=AS_RUN
                )
            )
    return found


def as_run_figures(values: Values) -> list[PaperFigure]:
    """Draw the rank correlations of all readings and loads, medians of the batches."""
    names = {(reading, load): f"grouping/{reading}/{load:g}" for reading in READINGS for load in LOADS}
    if any(name not in values for name in names.values()):
        return []
    loads = [f"load {load:g}" for load in LOADS]
    series = {reading: [median(values[names[reading, load]]) for load in LOADS] for reading in READINGS}
    caption = f"Rank correlation of a node order's energy and how it groups jobs; below {-LIMIT_OF_SIX}, grouping saves energy."
    return [bars("Fig. 9, as run", caption, loads, series, "")]


def _groupers_save(name: str, values: Values) -> bool:
    return bool(median(values[name]) < -LIMIT_OF_SIX)


def claims(group: str) -> list[Claim]:
    """Return the claims of Fig. 9."""
    return [
        Claim("fig-9-model", "contention model: policies differ more than with the baseline", "yes", "", "Fig. 9",
              lambda v: _policy_spread(v, "contention") > _policy_spread(v, "baseline"), HOLDS,
              how="greatest over least energy of 36 pairs", group=group),
        Claim("fig-9-baseline", "baseline: all policies need very similar energy (within 5 %)", "yes", "", "Fig. 9",
              lambda v: _policy_spread(v, "baseline") < 1.05, HOLDS, group=group,
              reason="a core at 3.4 GHz draws 1.3 times as much for the same work as one at 2.5 GHz"),
        Claim("fig-9-less", "the baseline needs less energy under every policy", "yes", "", "Fig. 9",
              lambda v: all(v[f"policy/{job}/{node}/baseline"] < v[f"policy/{job}/{node}/contention"]
                            for job in JOBS for node in NODES), HOLDS, group=group),
        Claim("fig-9-grouping", "contention model: policies that group jobs on processors need less energy", "yes", "", "§VII.B",
              lambda v: _of_grouping(v, "contention") < -RANK_LIMIT, HOLDS, group=group,
              how="rank correlation of energy and busy cores per processor in use, over the 24 pairs that differ here, below "
                  f"{-RANK_LIMIT}: 5 % of random orders are as far from 0",
              reason="by Eq. 5 a processor draws pb without jobs, too: grouping saves nothing, and jobs that share memory slow "
                     "each other; and while jobs wait all cores are busy under any policy"),
        Claim("fig-9-packs", "contention model: packing nodes (current_gflops) needs more than spreading (high_cores)", "yes", "",
              "measured here", lambda v: _packing_costs(v, "contention"), HOLDS, kind=Kind.OURS, group=group,
              how="with each of the job orders first, shortest and low_mem_bw"),
        Claim("fig-9-packs-idle", "the same if processors without jobs drew nothing", "yes", "", "measured here",
              lambda v: _packing_costs(v, "idle draws nothing"), HOLDS, kind=Kind.OURS, group=group,
              how="min_power 0 in place of 1"),
    ]  # fmt: skip


def _of_grouping(values: Values, name: str) -> float:
    """Return the rank correlation of a policy's energy with how it groups jobs."""
    pairs = [f"policy/{job}/{node}/{name}" for job in DIFFERENT_JOBS for node in NODES]
    energy, together = ([values[pair + end] for pair in pairs] for end in ("", "/grouped"))
    return rank_correlation(energy, together)


def _packing_costs(values: Values, name: str) -> bool:
    jobs = DIFFERENT_JOBS[1:]
    return all(
        values[f"policy/{job}/current_gflops/{name}"] > values[f"policy/{job}/high_cores/{name}"] for job in jobs
    )


def _policy_spread(values: Values, model: str) -> float:
    found = [float(values[f"policy/{job}/{node}/{model}"]) for job in JOBS for node in NODES]
    return max(found) / min(found)
