"""Rows of waiting jobs, for agents that choose among them: requests, waits, when each could start, and its places in orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.placement import Placement
from cluster_sim.records.metrics import bounded_slowdown
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.feature_table import LONG_S, FeatureTable, bounded, feature, logarithmic, ranks
from schedulers.backfilling.plans import worth_trying
from schedulers.backfilling.timeline import planned_end, planned_time
from schedulers.queue.orders import f1

Floats = npt.NDArray[np.float64]

HALF_JOBS = 32.0


class ChoiceRow(FeatureTable):
    """Row of a waiting job. All in [0, 1]; r is the requested time, w the wait so far, n the requested cores."""

    time = feature("r, s", "log(1 + r) / log(1 + LONG_S)")
    cores = feature("n", "over all cores")
    area = feature("r · n over all cores, s", "as time")
    wait = feature("w, s", "as time")
    age = feature("w", "w / (w + r)")
    slowdown = feature("bounded slowdown if it started now, b", "log(b) / log(1 + LONG_S)")
    fits = feature("1 if it could start now")
    delay = feature("when it could start if nothing else did, by requests, s from now", "as time")
    left = feature("cores that are free beside it when it could start", "over all")
    oldest_rank = feature("place by submission", "over the waiting jobs")
    shortest_rank = feature("place by r, least first", "the same")
    narrowest_rank = feature("place by n, least first", "the same")
    smallest_rank = feature("place by r · n, least first", "the same")
    f1_rank = feature("place by log10(r) · n + 870 log10(s), least first, s from the run's first instant", "the same")
    soonest_rank = feature("place by delay, least first", "the same")


class ChoiceState(FeatureTable):
    """Queue and machine. All in [0, 1]."""

    free = feature("free cores", "over all")
    waiting = feature("waiting jobs", "j / (j + HALF_JOBS)")
    unseen = feature("waiting jobs that are not visible", "over the waiting ones")
    running = feature("running jobs", "j / (j + HALF_JOBS)")
    work = feature("core-seconds requested by the visible jobs, over all cores, s", "log(1 + t) / log(1 + LONG_S)")
    soonest = feature("time to the next expected end, s", "as work")
    latest = feature("time to the last expected end, s", "as work")


class EarliestStarts(NamedTuple):
    """Earliest starts of waiting jobs, each as if nothing else started; running jobs end by their requests.

    Of each job: requested ``times`` (s) and ``cores``; the ``delays`` of the starts from now on (s), without boots; and the cores
    ``left`` free beside the job then. ``ends`` are the expected ends of the running jobs (s), soonest first.
    """

    times: Floats
    cores: npt.NDArray[np.int64]
    delays: Floats
    left: npt.NDArray[np.int64]
    ends: Floats


def earliest_starts(view: View, jobs: Sequence[Job]) -> EarliestStarts:
    """Return when each of the jobs could start, and how many cores it would leave free."""
    now = view.now
    times = np.array([planned_time(job) for job in jobs])
    cores = np.array([job.requested_cores for job in jobs], np.int64)
    # Of each running job the expected end, s, the cores that it gives back then, and where; soonest first.
    releases = ((planned_end(one.job, one.start_time), one.placement.cores, one.placement) for one in view.running)
    running = sorted(releases, key=itemgetter(0, 1))
    ends = np.array([end for end, _, _ in running])
    free = view.free_total + np.cumsum([0, *(given for _, given, _ in running)])
    place = np.searchsorted(free, np.minimum(cores, free[-1]))
    if view.machine.one_node_rule and view.platform.widest_node > 1:
        widest = _widest_later(view, (placement for _, _, placement in running))
        on_one = np.searchsorted(widest, np.minimum(cores, widest[-1]))
        place = np.where(cores <= view.platform.widest_node, np.maximum(place, on_one), place)
    delays = np.concatenate([[0.0], np.maximum(ends - now, 0.0)])[place]
    return EarliestStarts(times, cores, delays, free[place] - cores, ends)


def observed(
    view: View, jobs: Sequence[Job], starts: EarliestStarts | None = None
) -> tuple[Floats, npt.NDArray[np.float32]]:
    """Return the rows of these jobs, shape (jobs, columns), and the state; ``starts`` are theirs, if they are known."""
    now, total = view.now, view.platform.core_count
    times, cores, delays, left, ends = earliest_starts(view, jobs) if starts is None else starts
    submits = np.array([job.submit_time for job in jobs])
    waits = now - submits
    areas = times * cores / total
    finite = np.minimum(times, LONG_S)  # a job without a requested time may run for ever

    rows = np.zeros((len(jobs), ChoiceRow.size))
    rows[:, ChoiceRow.time] = logarithmic(times)
    rows[:, ChoiceRow.cores] = np.minimum(cores / total, 1.0)
    rows[:, ChoiceRow.area] = logarithmic(areas)
    rows[:, ChoiceRow.wait] = logarithmic(waits)
    rows[:, ChoiceRow.age] = waits / np.maximum(waits + finite, 1e-9)
    rows[:, ChoiceRow.slowdown] = logarithmic(bounded_slowdown(waits + finite, finite) - 1.0)
    rows[:, ChoiceRow.fits] = worth_trying(view, cores)
    rows[:, ChoiceRow.delay] = logarithmic(delays)
    rows[:, ChoiceRow.left] = np.clip(left / total, 0.0, 1.0)
    for column, key in (
        (ChoiceRow.oldest_rank, submits),
        (ChoiceRow.shortest_rank, times),
        (ChoiceRow.narrowest_rank, cores),
        (ChoiceRow.smallest_rank, areas),
        (ChoiceRow.f1_rank, np.array([f1(job, now) for job in jobs])),
        (ChoiceRow.soonest_rank, delays),
    ):
        rows[:, column] = ranks(key) / max(len(jobs), 1)

    state = np.zeros(ChoiceState.size, np.float32)
    waiting = view.pending_count
    state[ChoiceState.free] = view.free_total / total
    state[ChoiceState.waiting] = bounded(float(waiting), HALF_JOBS)
    state[ChoiceState.unseen] = 1.0 - len(jobs) / max(waiting, 1)
    state[ChoiceState.running] = bounded(float(view.running_count), HALF_JOBS)
    state[ChoiceState.work] = logarithmic(areas.sum())
    if len(ends):
        state[ChoiceState.soonest], state[ChoiceState.latest] = logarithmic(np.maximum(ends[[0, -1]] - now, 0.0))
    return rows, state


def _widest_later(view: View, placements: Iterable[Placement]) -> npt.NDArray[np.int64]:
    """Return the most free cores of a node, now and after each of the placements is freed, shape (jobs + 1,)."""
    free = view.free_cores.copy()
    widest = [int(free.max())]
    for placement in placements:
        for first, stop, cores in placement.spans:
            free[first:stop] += cores
        widest.append(max(widest[-1], *(int(free[first:stop].max()) for first, stop, _ in placement.spans)))
    return np.array(widest)
