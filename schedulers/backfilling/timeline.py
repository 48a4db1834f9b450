"""The timeline of a backfilling scheduler: when running jobs should give their cores back, and what else becomes free."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.machine.running import Running
from cluster_sim.read_only import renew
from cluster_sim.run.view import View

if TYPE_CHECKING:
    from cluster_sim.machine.free import Free
    from cluster_sim.machine.guest_requests import Departure
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


Release = tuple[float, int, int, Any]
"""Cores that become free: (expected time s, job index or node, cores, running job, or None: the node comes back)."""


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


class Timeline:
    """The changes of what is free that are known: running jobs by expected end, nodes that come back, guests that leave.

    It is kept up to date from pass to pass. A job that outlives its request is put off by growing steps, as Tsafrir,
    Etsion and Feitelson (2007, §4) do, until it ends; a run that enforces walltimes has none.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.entries: list[Release] = []  #: The running jobs, the soonest expected end first.
        #: Running jobs that are not entered, by index: they leave as soon as a job that goes first can start with their cores.
        self.on_trial: dict[int, Running] = {}
        self._ends: dict[int, float] = {}  # under which end each job is entered

    # ------------------------------------------------------------------ keeping it up to date

    def add(self, running: Running) -> None:
        """Enter a job that has been started."""
        job = running.job
        if job.requested_time == 0.0 and not running.extended_by:
            renew(running, extended_by=SHORTEST_S)  # it is there, and has to be counted
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

    def outlived(self) -> bool:
        """Return whether a job has lasted longer than expected up to this pass, which has not been followed yet."""
        now, ended = self._view.now, {running.job.index for running in self._view.ended}
        if any(latest(self._ends.get(index, now)) < now for index in ended):
            return True
        due = self.entries[: bisect_left(self.entries, (latest(now), math.inf))]
        return any(index not in ended for _, index, _, _ in due)

    def follow(self) -> bool:
        """Take out what has ended since the last pass, put off what should have; return whether any was put off."""
        for running in self._view.ended:
            self.drop(running)
        for running in self._view.planning.resumed:
            self.take_up(running)
        return self.put_off_overdue()

    def take_up(self, running: Running) -> bool:
        """Enter a job that goes on after a suspension, or with other cores, if it runs; return whether it does."""
        index = running.job.index
        if self._view.running_by_index.get(index) is not running or index in self._ends:
            return False
        self.add(running)
        return True

    def put_off_overdue(self) -> bool:
        """Give every job that should have ended by now more time; return whether there was one."""
        now = self._view.now
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

    # ------------------------------------------------------------------ asking it

    @property
    def free_cores(self) -> int:
        """Return how many cores are free now, with those of jobs on trial."""
        if not self.on_trial:
            return self._view.free_total
        return self._view.planning.outlook(without=self.on_trial.values()).free_total

    def coming(self) -> list[Release]:
        """Return what becomes usable for the scheduler, as far as that is known, soonest first.

        Jobs end, nodes in transition come back, and guests leave that said when; nothing counts on withheld nodes. What
        takes longer than expected is expected back after the first extension from now.
        """
        coming, machine, now = self.entries, self._view.machine, self._view.now
        if machine.withheld_count:
            coming = [(end, job, run.placement.offered(machine.withheld).cores, run) for end, job, _, run in coming]
        if not machine.transition_ends and not machine.guests:
            return coming
        returns = [(end, node, machine.free_cores.item(node)) for node, end in machine.transition_ends.items()]
        returns += [(end, node, cores) for _, node, cores, end in machine.guests if end < math.inf]
        others: list[Release] = [
            (end if end > latest(now) else now + EXTENSIONS_S[0], node, cores, None)
            for end, node, cores in returns
            if cores and not machine.withheld.item(node)
        ]
        return sorted([*coming, *others], key=itemgetter(0))

    def states(self) -> Iterator[tuple[float, Free]]:
        """Yield each time (s) at which something becomes free, and what is free then: one object, which changes."""
        view, machine, coming = self._view, self._view.machine, self.coming()
        free = view.planning.outlook(without=self.on_trial.values())
        if machine.is_off.any() and (delays := machine.boot_delays) is not None:
            # Nodes that will boot for jobs started in this pass are OFF until it is over: others of this pass can still be
            # started there, and later ones have to wait.
            nodes = {node for *_, run in self.entries if run.start_time == math.inf for node in run.placement.nodes}
            for node in sorted(nodes):
                if machine.is_off[node] and (cores := machine.free_cores.item(node)):
                    free.leave(node, cores)
                    coming = [*coming, (view.now + float(delays[node]), node, cores, None)]
            coming = sorted(coming, key=itemgetter(0))
        for time, together in by_instant(coming):
            for _, node, cores, running in together:
                if running is None:
                    free.come_back(node, cores)
                else:
                    free.release(running)
            yield time, free


class ExpectedReturns:
    """When nodes in transition and guests' cores should be back, as a plan was made that counts on them."""

    def __init__(self, view: View):
        self._view = view
        self.capacity_changes = (
            -1
        )  #: Of the machine, when the plan was made; -1: the plan cannot follow what came since.
        self._usable = 0  # nodes that have not failed and are not withheld
        self._ends: dict[int, float] = {}  # by node in transition, s
        self._guests: frozenset[Departure] = frozenset()

    def mark_changed(self) -> None:
        """Note a change that the plan cannot follow."""
        self.capacity_changes = -1

    def are_late(self) -> bool:
        """Return whether a node in transition, or cores of a guest, should be back by now and are not."""
        ends, guests = self._view.machine.transition_ends, self._view.machine.guests
        if not (ends or guests):
            return False
        return min([*ends.values(), *(guest.expected_end for guest in guests)]) <= latest(self._view.now)

    def renew(self) -> bool:
        """Take all as it is now; return whether nodes or cores are back earlier than expected."""
        machine, this_instant = self._view.machine, latest(self._view.now)
        usable, guests = machine.powered_on | machine.powered_off, frozenset(machine.guests)
        are_early = any(usable[node] and end > this_instant for node, end in self._ends.items())
        are_early = are_early or any(guest.expected_end > this_instant for guest in self._guests - guests)
        usable[list(machine.transition_ends)] = True
        before, self._usable = self._usable, int((usable & ~machine.withheld).sum())
        self._ends, self._guests = dict(machine.transition_ends), guests
        self.capacity_changes = machine.capacity_changes
        return are_early or self._usable > before


def put_off(running: Running, now: float) -> None:
    """Extend a job that should have ended by ``now`` by as little as puts its expected end after that."""
    asked = running.expected_start + running.limit_s
    total = 0.0
    for step in chain(EXTENSIONS_S, repeat(EXTENSIONS_S[-1])):
        total += step
        if asked + total > latest(now):
            break
    renew(running, extended_by=total)


def indispensable(taken: list[Running], fits: Callable[[list[Running]], bool]) -> list[Running]:
    """Return the jobs without which another would not fit. All others stay, those taken last first; the last one is needed."""
    for one in taken[-2::-1]:
        others = [other for other in taken if other is not one]
        if fits(others):
            taken = others
    return taken
