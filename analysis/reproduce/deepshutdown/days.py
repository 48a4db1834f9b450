"""The setting of DeepShutdown (Casagrande et al. 2022): a day is an episode, and figures count cores, nodes and minutes.

An episode begins with an empty machine and stops after :data:`DAY_S`, whatever still runs or waits::

    Simulation(platform, episode(day, platform), scheduler, power, enforce_walltime=True, until=DAY_S).run()
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cluster_sim.records.metrics import node_switches, watt_minutes
from cluster_sim.records.result import Result
from cluster_sim.workload.days import DAY_S
from cluster_sim.workload.executed_days import as_executed as episode
from cluster_sim.workload.workload import Workload

__all__ = ["DAY_S", "GROUPS", "days_per_group", "episode", "figures", "group_of"]

GROUPS = ("[0, 25%)", "[25, 50%)", "[50, 75%)", "[75, 100%)", "[100%]")
"""Days by their share of sequential jobs (Table 2), groups 1 to 5."""


def group_of(share: float) -> int:
    """Group of a day, 1 to 5, by its :meth:`~cluster_sim.workload.workload.Workload.share_of_sequential_jobs`."""
    return 5 if share >= 1.0 else int(share * 4) + 1


def days_per_group(days: Iterable[Workload]) -> pd.Series:
    """Count the days of each group, as the paper's Table 2 does for a cluster."""
    groups = [group_of(day.share_of_sequential_jobs()) for day in days]
    counts = np.bincount(groups, minlength=len(GROUPS) + 1)[1:]
    return pd.Series(counts, index=pd.Index(GROUPS, name="sequential jobs"), name="days")


def figures(result: Result) -> pd.Series:
    """Return what the paper and its released data count for one run, under the names of the released file.

    ``time_…`` are core-minutes: a node in transition has all its cores in transition, and a core of a computing node
    without a task is idle. ``consumed_joules`` and ``energy_waste`` are watt-minutes *by core*, ``nb_switches`` are
    node switches. ``node_waste`` is the paper's Table 3, W·min: states of nodes, a node drawing what the model gives
    *one* core. It takes each node's waste through its number of cores.
    """
    nodes, cores = result.nodes, result.platform.node_cores
    on = (nodes["idle_s"] + nodes["computing_s"]) * cores
    seconds = {
        "time_idle": on.sum() - nodes["busy_core_s"].sum(),
        "time_computing": nodes["busy_core_s"].sum(),
        "time_switching_off": (nodes["switching_off_s"] * cores).sum(),
        "time_switching_on": (nodes["switching_on_s"] * cores).sum(),
        "time_sleeping": (nodes["off_s"] * cores).sum(),
    }
    joules = {
        "consumed_joules": nodes["energy_j"].sum(),
        "energy_waste": nodes["energy_waste_by_core_j"].sum(),
        "node_waste": (nodes["energy_waste_j"] / cores).sum(),
    }
    minutes = {name: float(value) / 60.0 for name, value in seconds.items()}
    counted = {name: watt_minutes(float(value)) for name, value in joules.items()}
    switches = float(node_switches(nodes["switches_on"].to_numpy(), nodes["switches_off"].to_numpy()).sum())
    return pd.Series(minutes | counted | {"nb_switches": switches})
