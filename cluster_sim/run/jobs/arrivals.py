"""The arrivals of a run: a SimPy process that submits the jobs of a workload, each at its time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from cluster_sim.engine import GRANT, Environment
from cluster_sim.workload.jobs import Job

if TYPE_CHECKING:
    import numpy.typing as npt
    from simpy.events import Event


ARRIVALS_AT_A_TIME = 4096


def arrivals(
    env: Environment,
    columns: dict[str, npt.NDArray[Any]],
    jobs: int,
    submit: Callable[[Job], None],
    others: frozenset[int] = frozenset(),
    one_by_one: bool = False,
) -> Generator[Event, Any, None]:
    """Make the process that submits each of the first ``jobs`` jobs of ``columns`` (those that schedulers see).

    ``others`` are positions of jobs that are submitted otherwise. ``one_by_one`` each is an event of its own, after all
    that ends in the same instant.
    """
    yield env.at(env.now)  # the user's processes begin first, or they would miss what happens at time 0
    for first in range(0, jobs, ARRIVALS_AT_A_TIME):
        # In batches: a list of a million Python objects would be alive all through the run.
        chunk = slice(first, min(first + ARRIVALS_AT_A_TIME, jobs))
        hot = ("job_id", "submit_time", "requested_cores", "requested_time")
        rows = zip(*[columns[name][chunk].tolist() for name in hot], strict=True)
        for index, (job_id, time, cores, requested_time) in enumerate(rows, first):
            if others and index in others:
                continue
            if one_by_one:
                yield env.at(max(time, env.now), GRANT)
            elif time > env.now:
                yield env.at(time)
            submit(Job(columns, index, job_id, time, cores, requested_time))
