"""Running jobs in order of their expected end, when they should give their cores back."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.machine.running import Running
from cluster_sim.run.view import View

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

EXTENSIONS_S = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
"""Steps by which the expected end of a job that outlives its request is put off: 1, 5, 15, 30 min, 1, 2, 5, … 100 h."""

SHORTEST_S = EXTENSIONS_S[0]
"""Time, s, for which a job that requests 0 s is planned to hold its cores: the first extension."""


def planned_time(job: Job) -> float:
    """Return how long a job is planned to hold its cores, s."""
    return job.requested_time or SHORTEST_S


def planned_end(job: Job, start: float) -> float:
    """Return until when a job that starts then is planned to hold its cores, s: the next instant at the earliest."""
    return ending_after(start, start + planned_time(job))


def ending_after(start: float, end: float) -> float:
    """Return ``end`` (s), or the next instant if it is the same as ``start``: a job takes more than no time."""
    return end if end > latest(start) else max(latest(latest(start)), math.nextafter(start, math.inf))


Release = tuple[float, int, int, "Running"]
"""Entry of a running job: (expected end s, job index, cores, running job)."""


Timed = TypeVar("Timed", bound=tuple[Any, ...])


def by_instant(entries: Iterable[Timed]) -> Iterator[tuple[float, list[Timed]]]:
    """Yield entries, ordered by their first item, a time (s): those of each instant, after its last time."""
    instant: list[Timed] = []
    for entry in entries:
        if instant and entry[0] > latest(instant[0][0]):
            yield instant[-1][0], instant
            instant = []
        instant.append(entry)
    if instant:
        yield instant[-1][0], instant


def in_turn(entries: Iterable[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """Yield (time s, job index) by instants, and those of one instant by job."""
    for _, instant in by_instant(sorted(entries)):
        yield from sorted(instant, key=itemgetter(1))


class Releases:
    """Running jobs by expected end, kept up to date from pass to pass.

    A job that outlives its request is put off by growing steps, as Tsafrir, Etsion and Feitelson (2007, §4) do, until
    it ends; a run that enforces walltimes has none.
    """

    def __init__(self) -> None:
        self.entries: list[Release] = []  #: The running jobs, the soonest expected end first.
        #: Running jobs that are not entered, by index: they leave as soon as a job that goes first can start with their cores.
        self.on_trial: dict[int, Running] = {}
        self._ends: dict[int, float] = {}  # under which end each job is entered

    def add(self, running: Running) -> None:
        """Enter a job that has been started."""
        job = running.job
        if job.requested_time == 0.0 and not running.extended_by:
            running.extended_by = SHORTEST_S  # it is there, and has to be counted
        end = running.expected_end
        if end <= running.expected_start * SAME_INSTANT:
            end = ending_after(running.expected_start, end)  # however little it requested
        self._ends[job.index] = end
        insort(self.entries, (end, job.index, running.placement.cores, running))

    def drop(self, running: Running) -> float | None:
        """Take out a job, if it is entered; return the end that it was expected to have, s."""
        index = running.job.index
        end = self._ends.pop(index, None)
        if end is not None:
            del self.entries[bisect_left(self.entries, (end, index))]
        return end

    def free_cores(self, view: View) -> int:
        """Return how many cores are free, with those of jobs on trial."""
        if not self.on_trial:
            return view.free_total
        outlook = view.planning.outlook()
        for running in self.on_trial.values():
            outlook.release(running)
        return outlook.free_total

    def outlived(self, view: View) -> bool:
        """Return whether a job has lasted longer than expected up to this pass, which has not been followed yet."""
        now, ended = view.now, {running.job.index for running in view.ended}
        if any(latest(self._ends.get(index, now)) < now for index in ended):
            return True
        due = self.entries[: bisect_left(self.entries, (latest(now), math.inf))]
        return any(index not in ended for _, index, _, _ in due)

    def follow(self, view: View) -> bool:
        """Take out what has ended since the last pass, put off what should have; return whether any was put off."""
        for running in view.ended:
            self.drop(running)
        for running in view.planning.resumed:
            self.take_up(running, view)
        return self.put_off_overdue(view.now)

    def take_up(self, running: Running, view: View) -> bool:
        """Enter a job that goes on after a suspension, or with other cores, if it runs; return whether it does."""
        index = running.job.index
        if view.running_by_index.get(index) is not running or index in self._ends:
            return False
        self.add(running)
        return True

    def put_off_overdue(self, now: float) -> bool:
        """Give every job that should have ended by ``now`` more time; return whether there was one."""
        if not self.entries or self.entries[0][0] > latest(now):
            return False
        overdue = [running for *_, running in self.entries[: bisect_left(self.entries, (latest(now), math.inf))]]
        for running in overdue:
            self.drop(running)
            # A job whose nodes took longer to boot than expected has a later end already.
            if running.expected_end <= latest(now):
                put_off(running, now)
            self.add(running)
        return bool(overdue)


def cores_coming(releases: Releases, view: View) -> Iterable[tuple[float, int, int, object]]:
    """Return (expected time s, job or node, cores, …) that become usable for the scheduler, soonest first."""
    if not view.machine.withheld_count and not view.machine.transition_ends and not view.machine.guests:
        return releases.entries
    ends: list[tuple[float, int, int, object]] = [*releases.entries]
    if view.machine.withheld_count:
        ends = [
            (end, job, run.placement.offered(view.machine.withheld).cores, None)
            for end, job, _, run in releases.entries
        ]
    ends += [(end, node, cores, None) for end, node, cores in other_returns(view)]
    ends.sort(key=itemgetter(0))  # two runs that are sorted already: no more than a merge
    return ends


def about_to_boot(releases: Releases, view: View) -> Iterator[tuple[float, int, int]]:
    """Yield (expected time s, node, its other cores) of nodes that will boot for jobs started in this pass.

    They are OFF until the pass is over, and other jobs of this pass can still be started there; later ones have to wait.
    """
    if not view.machine.is_off.any() or (delays := view.machine.boot_delays) is None:
        return
    nodes = {node for *_, run in releases.entries if run.start_time == math.inf for node in run.placement.nodes}
    for node in sorted(nodes):
        if view.machine.is_off[node] and (cores := view.free_cores.item(node)):
            yield view.now + float(delays[node]), node, cores


def are_late(view: View) -> bool:
    """Return whether a node in transition, or cores of a guest, should be back by now and are not."""
    this_instant = latest(view.now)
    ends, guests = view.machine.transition_ends, view.machine.guests
    if ends and min(ends.values()) <= this_instant:
        return True
    return bool(guests) and min(guest.expected_end for guest in guests) <= this_instant


def other_returns(view: View) -> list[tuple[float, int, int]]:
    """Return (expected time s, node, cores) of cores that come back without the end of a job, soonest first.

    They are of nodes in transition, and of guests that said how long they stay. Withheld nodes do not count. What takes
    longer than expected is expected back after the first extension from now.
    """
    now, free, withheld = view.now, view.free_cores.item, view.machine.withheld.item
    coming = [(end, node, free(node)) for node, end in view.machine.transition_ends.items()]
    coming += [(end, node, cores) for _, node, cores, end in view.machine.guests if end < math.inf]
    return sorted(
        (end if end > latest(now) else now + EXTENSIONS_S[0], node, cores)
        for end, node, cores in coming
        if cores and not withheld(node)
    )


def put_off(running: Running, now: float) -> None:
    """Extend a job that should have ended by ``now`` by as little as puts its expected end after that."""
    asked = running.expected_start + running.limit_s
    total = 0.0
    for step in chain(EXTENSIONS_S, repeat(EXTENSIONS_S[-1])):
        total += step
        if asked + total > latest(now):
            break
    running.extended_by = total


def indispensable(taken: list[Running], fits: Callable[[list[Running]], bool]) -> list[Running]:
    """Return the jobs without which another would not fit. All others stay, those taken last first; the last one is needed."""
    for one in taken[-2::-1]:
        others = [other for other in taken if other is not one]
        if fits(others):
            taken = others
    return taken
