"""The longest path through a workload whose jobs wait for each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cluster_sim.workload.dependencies import follows, waits
from cluster_sim.workload.job_table import as_columns
from cluster_sim.workload.speedup import time_ratio
from cluster_sim.workload.work import Work

if TYPE_CHECKING:
    import networkx as nx

    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload

T = TypeVar("T")


class CriticalPath(NamedTuple):
    """Jobs, one after the other, that no schedule can finish sooner, and the makespan that they make inevitable."""

    job_ids: tuple[str, ...]
    makespan_s: float


def critical_path(workload: Workload, platform: Platform) -> CriticalPath:
    """Return the longest path through a workload: its makespan on endlessly many of the platform's fastest cores.

    A job on the path begins when it is submitted or when what it waits for is over. It runs without contention, in the
    fastest p-state, on the number of cores on which it ends soonest. No schedule in which all jobs complete is shorter;
    without dependencies the path is the one job that is over last.
    """
    import networkx as nx

    columns = as_columns(workload.jobs)
    if not len(workload):
        return CriticalPath((), 0.0)
    reference = workload.reference_gflops
    work = Work(columns, platform.fastest_ops_per_s if reference is None else reference * 1e9)
    states = (kind.in_p_state(i) for kind in platform.processor_types for i in range(max(len(kind.p_states), 1)))
    fastest = max(state.ops_per_s for state in states)
    widths = zip(
        *(columns[name].tolist() for name in ("speedup", "requested_cores", "min_cores", "max_cores")), strict=True
    )
    ratios = [_least_ratio(*width, platform.core_count) for width in widths]
    waiting = _by_row(((row, before) for row, before, _ in waits(columns)))
    following = (
        _by_row((row, (before, think)) for row, before, think in follows(columns)) if workload.think_times else {}
    )
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(len(workload)))
    graph.add_edges_from((before, row) for row, befores in waiting.items() for before in befores)
    graph.add_edges_from((before, row) for row, pairs in following.items() for before, _ in pairs)

    submit = columns["submit_time"].tolist()
    finish = [0.0] * len(workload)
    last: dict[int, int] = {}  # of the jobs that one waits for, the last to be over
    for row in nx.topological_sort(graph):
        for before, think in following.get(row, ()):
            submit[row] = finish[before] + think
            last[row] = before
        begin = submit[row]
        for before in waiting.get(row, ()):
            if finish[before] >= begin:
                begin, last[row] = finish[before], before
        finish[row] = begin + work.seconds(row, fastest) * ratios[row]
    path = [max(range(len(workload)), key=finish.__getitem__)]
    while path[-1] in last:
        path.append(last[path[-1]])
    return CriticalPath(tuple(columns["job_id"][row] for row in reversed(path)), max(finish) - min(submit))


@lru_cache(maxsize=4096)
def _least_ratio(speedup: str, requested: int, least: int, most: int, available: int) -> float:
    """Return the least time of a job, on any number of cores it may have, over its time on those that it requests."""
    sizes = range(least or requested, max(requested, min(most, available)) + 1)
    return min(time_ratio(speedup, requested, cores) for cores in sizes)


def _by_row(pairs: Iterable[tuple[int, T]]) -> dict[int, list[T]]:
    grouped: dict[int, list[T]] = {}
    for row, value in pairs:
        grouped.setdefault(row, []).append(value)
    return grouped
