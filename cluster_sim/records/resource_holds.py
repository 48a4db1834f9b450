"""Which counted resources were whose, from when to when: the table ``resource_holds``, and what it says of the GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.machine.core_ranges import cut
from cluster_sim.machine.units.unit_hold import ANYWHERE
from cluster_sim.records.attempt_tables import JOB
from cluster_sim.records.empty_table import no_rows
from cluster_sim.records.energy_accounts import node_bounds
from cluster_sim.workload.fields import RESULT_COLUMNS
from cluster_sim.workload.resource_request import GPU, WHOLE

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats
    from cluster_sim.machine.ledger import TimedUnits
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.core_holds import CoreHolds


def resource_table(platform: Platform, units: Sequence[TimedUnits], cores: CoreHolds) -> pd.DataFrame:
    """Return the table of counted resources in order of time; ``cores`` says who the tenants are."""
    rows: list[tuple[Any, ...]] = []
    owners, attempts = cores.owners, cores.attempts
    for tenant, hold, start, _, end in units:
        node = "" if hold.node == ANYWHERE else platform.node_name(hold.node)
        who = owners[tenant], JOB, int(attempts[tenant])
        for _, run in groupby(enumerate(hold.which), lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in run]
            rows.append((*who, node, hold.resource, numbers[0], numbers[-1], hold.share / WHOLE, start, end))
    if not rows:
        return no_rows("resource_holds")
    rows.sort(key=lambda row: row[-2])
    return pd.DataFrame(rows, columns=RESULT_COLUMNS["resource_holds"])


def gpu_metrics(
    platform: Platform, units: Sequence[TimedUnits], cores: CoreHolds, horizon: float, window: float
) -> dict[str, float]:
    """Return the metrics of the GPUs but for their energy; ``window`` (s) is that of the cores' utilisation."""
    of_gpus = [each for each in units if each[1].resource == GPU]
    number = np.array([hold.number * hold.share / WHOLE for _, hold, *_ in of_gpus])
    node = np.array([hold.node for _, hold, *_ in of_gpus], np.int64)
    start, loaded, end = (np.array([each[place] for each in of_gpus]) for place in (2, 3, 4))
    used_s = np.nan_to_num(np.maximum(end - loaded, 0.0))
    total = int(platform.units_of(GPU).sum())
    return {
        "utilisation_gpu": float((number * used_s).sum()) / (total * window) if total and window else np.nan,
        "stranded_gpu_s": _stranded_s(platform, cores, (node, number, start, end), horizon),
    }


def _stranded_s(
    platform: Platform,
    cores: CoreHolds,
    held: tuple[npt.NDArray[np.int64], Floats, Floats, Floats],
    horizon: float,
) -> float:
    """Return the GPU-seconds that nobody held on nodes whose cores were all held."""
    runs, pieces = cut(cores.held, node_bounds(platform))
    _, whole, since, until = runs.expanded()
    node, gpus, begin, end = held
    cores_of = platform.node_cores
    # Each row changes, on a node and at a time, how many cores and GPUs are held.
    on = np.concatenate([whole, pieces.unit, node])
    core_change = np.concatenate([cores_of[whole], pieces.cores, np.zeros(len(node), np.int64)])
    gpu_change = np.concatenate([np.zeros(len(whole) + len(pieces.unit)), gpus])
    first, last = np.concatenate([since, pieces.start, begin]), np.concatenate([until, pieces.end, end])
    on = np.concatenate([on, on])
    time = np.minimum(np.concatenate([first, last]), horizon)
    order = np.lexsort((time, on))
    on, time = on[order], time[order]
    held_cores = np.cumsum(np.concatenate([core_change, -core_change])[order])
    held_gpus = np.cumsum(np.concatenate([gpu_change, -gpu_change])[order])  # all is given back on every node
    lasts = np.append(time[1:], horizon)[: len(time)] - time
    lasts[np.append(on[1:] != on[:-1], True)[: len(on)]] = 0.0
    free = platform.units_of(GPU)[on] - held_gpus
    return float((np.maximum(free, 0.0) * lasts)[held_cores == cores_of[on]].sum())
