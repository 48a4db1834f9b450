"""The ledger of the machine: who held and loaded which cores, and what everything drew, written down when it happens.

Only the machine writes it, also when a job, a scheduler or a process of the user's own makes it change. Allocations, node
states, energies by job, node and state, explanations and charts all read it. It is append-only; what is entered later
is only how an entry ends.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.allocation import NOBODY
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.machine.transition_log import TransitionLog
from cluster_sim.read_only import ReadOnlyList

if TYPE_CHECKING:
    from cluster_sim.machine.core_ranges import Floats, Ints
    from cluster_sim.machine.units.unit_hold import UnitHold
    from cluster_sim.platform.platform import ProcessorType

NAN = float("nan")
OPEN = float("inf")
"""Time that stands for the end of a hold that has not ended."""

ClockChange = tuple[float, int, "ProcessorType"]
"""(time s, processor, its type from then on)."""
TimedUnits = tuple[int, "UnitHold", float, float, float]
"""(tenant, units of a node or licences, held from, loaded from (NaN: never), until, s)."""
RatedWatts = tuple[float, int, float, dict[int, float]]
"""(time s, processor, W that its tenants share, W of each tenant by its number), where watts follow the tasks' speeds."""

Withholding = tuple[float, list[int], bool]
"""(time s, nodes, whether they are withheld from then on, or offered again)."""


class _Pieces:
    """Ranges of cores by their global indices, first and last, each of a numbered entry."""

    def __init__(self) -> None:
        self.entry, self.first, self.last = array("q"), array("q"), array("q")

    def take_back(self, entry: int) -> None:
        while self.entry and self.entry[-1] == entry:
            for column in (self.entry, self.first, self.last):
                column.pop()

    def holds(self, tenant: Ints, end: Floats, *starts: Floats) -> list[Holds]:
        """Return the ranges with what is known of their entries, once for each series of starts."""
        entry = np.array(self.entry)
        of, first, last, until = tenant[entry], np.array(self.first), np.array(self.last), end[entry]
        return [Holds(of, first, last, start[entry], until) for start in starts]


class Ledger:
    """Columns of machine numbers, not lists of objects: a million jobs have to fit.

    A *hold* is one time that a job or guest holds cores, from when to when; its *pieces* are ranges of neighbouring cores
    by their global indices. Tasks load the cores from ``loaded_from`` on, to the end of the hold; before, while nodes boot,
    the cores are held and idle. The *tenant* of a hold says whose it is, by a number that the code that booked it chose:
    the attempts of jobs count from 0.
    """

    def __init__(self) -> None:
        self.tenant = array("q")  #: Of each hold: whose,
        self.held_from = array("d")  #: since when, s,
        self.loaded_from = array("d")  #: since when its tasks load the cores, s; NaN: not yet, or never,
        self.held_until = array("d")  #: and until when, s; inf while it lasts.
        self._pieces = _Pieces()
        self.load_tenant = array("q")  #: Of each load by a guest, which loads some of the cores that it holds: whose,
        self.load_from = array("d")  #: since when,
        self.load_until = array("d")  #: and until when, s; inf while it lasts.
        self._load_pieces = _Pieces()
        self._units: list[tuple[int, UnitHold]] = []  # counted resources, each with the number of the hold
        self.transitions = TransitionLog()  #: (time, node, new state, W drawn when not on)
        self.withheld: list[Withholding] = []  #: What a power policy took out of the scheduler's reach, or gave back.
        self.clock_changes: ReadOnlyList[ClockChange] = ReadOnlyList()
        self.rated_watts: list[RatedWatts] = []
        self.power_times = array("d", [0.0])  #: What the whole machine draws, a step function: since when, s,
        self.power_watts = array("d", [0.0])  #: and how much, W.

    def hold(self, now: float, tenant: int, ranges: Iterable[tuple[int, int]], units: Sequence[UnitHold] = ()) -> int:
        """Enter that a tenant gets these cores and counted resources; return the number of the hold."""
        number = len(self.tenant)
        self.tenant.append(tenant)
        self.held_from.append(now)
        self.loaded_from.append(NAN)
        self.held_until.append(OPEN)
        pieces = self._pieces
        for first, last in ranges:
            pieces.entry.append(number)
            pieces.first.append(first)
            pieces.last.append(last)
        if units:
            self._units += [(number, each) for each in units]
        return number

    def load(self, now: float, tenant: int, ranges: Iterable[tuple[int, int]]) -> int:
        """Enter that a guest loads these of its cores; return the number of the load."""
        number = len(self.load_tenant)
        self.load_tenant.append(tenant)
        self.load_from.append(now)
        self.load_until.append(OPEN)
        pieces = self._load_pieces
        for first, last in ranges:
            pieces.entry.append(number)
            pieces.first.append(first)
            pieces.last.append(last)
        return number

    def take_back(self, hold: int) -> None:
        """Take back the last hold, which was refused after all in the instant in which it was entered."""
        assert hold == len(self.tenant) - 1, "only the last entry can be taken back"
        self._pieces.take_back(hold)
        while self._units and self._units[-1][0] == hold:
            self._units.pop()
        self.tenant.pop()
        self.held_from.pop()
        self.loaded_from.pop()
        self.held_until.pop()

    def times_of(self, tenants: int) -> tuple[Floats, Floats, Floats]:
        """Return when each of the first tenants got its first cores, first loaded them and gave the last back, s.

        Shape (tenants,) each; NaN for what has not happened.
        """
        tenant = np.array(self.tenant)
        held, loaded, until = np.array(self.held_from), np.array(self.loaded_from), np.array(self.held_until)
        if len(tenant) == tenants and np.array_equal(tenant, np.arange(tenants)):
            until[until == OPEN] = np.nan
            return held, loaded, until  # each held cores once
        of_tenants = (tenant >= 0) & (tenant < tenants)
        tenant, held, loaded, until = (column[of_tenants] for column in (tenant, held, loaded, until))
        first, began, last = (np.full(tenants, np.nan) for _ in range(3))
        first[tenant[::-1]] = held[::-1]
        computed = ~np.isnan(loaded)
        began[tenant[computed][::-1]] = loaded[computed][::-1]
        # Not the end of its last hold: what was held for a change that did not come ends before the rest.
        last[tenant] = -np.inf
        np.maximum.at(last, tenant, until)
        last[last == OPEN] = np.nan
        return first, began, last

    def up_to(self, horizon: float, attempts: int, guests: int) -> Extract:
        """Return all entries up to a time, s, where later ends are cut. Tenants 0 … ``attempts`` - 1 are attempts.

        After them come the ``guests``, and last whoever asked for cores of the machine and did not say who it is.

        The ledger may go on beyond the time: a guest comes or stays while the last job of the run waits to be refused.
        """
        # From 0: first the attempts, then the guests, whom the machine counts down from -2.
        tenant = np.array(self.tenant)
        tenant = np.where(tenant < NOBODY, attempts - 2 - tenant, tenant)
        tenant[tenant == NOBODY] = attempts + guests
        held, loaded = np.array(self.held_from), np.array(self.loaded_from)
        until = np.minimum(np.array(self.held_until), horizon)
        holds, loads = self._pieces.holds(tenant, until, held, loaded)
        used_from = np.where(loads.start <= horizon, loads.start, np.nan)
        loads = loads.where(~np.isnan(loads.start))
        if self.load_tenant:
            of_guests, since = attempts - 2 - np.array(self.load_tenant), np.array(self.load_from)
            loads += self._load_pieces.holds(of_guests, np.minimum(np.array(self.load_until), horizon), since)[0]
        if len(held) and max(held[-1], self.load_from[-1] if self.load_from else 0.0) > horizon:
            used_from = used_from[holds.start <= horizon]
            holds, loads = holds.where(holds.start <= horizon), loads.where(loads.start <= horizon)
        rated_watts = []
        for time, processor, shared, own in self.rated_watts:
            if time <= horizon:
                if min(own, default=0) < 0:  # guests, by their numbers from 0
                    own = {attempts - 2 - t if t < -1 else t: watts for t, watts in own.items()}
                rated_watts.append((time, processor, shared, own))
        units = [
            (int(tenant[hold]), each, float(held[hold]), float(loaded[hold]), float(until[hold]))
            for hold, each in self._units
            if held[hold] <= horizon
        ]
        times = np.array(self.power_times)
        within = times <= horizon
        seconds = until - loaded
        return Extract(
            holds,
            used_from,
            loads,
            tenant,
            np.where(seconds > 0.0, seconds, 0.0),
            self.transitions.until(horizon),
            self.clock_changes[: bisect_right(self.clock_changes, horizon, key=itemgetter(0))],
            rated_watts,
            (times[within], np.array(self.power_watts)[within]),
            horizon,
            units,
        )


@dataclass(frozen=True)
class Extract:
    """The entries of a ledger up to ``horizon`` (s), as arrays."""

    holds: Holds  #: Cores held, one row for each piece;
    used_from: Floats  #: of each since when tasks load them, s; NaN: none did, or they are a guest's.
    loads: Holds  #: The same from when tasks load them; without those that no task ever loaded.
    tenant: Ints  #: Of each hold: whose,
    loaded_s: Floats  #: and how long its tasks loaded it, s.
    transitions: TransitionLog
    clock_changes: list[ClockChange]
    rated_watts: list[RatedWatts]
    power: tuple[Floats, Floats]  #: Times (s) and W of the whole machine.
    horizon: float
    units: list[TimedUnits]  #: Counted resources that were held.

    def seconds_loaded(self, tenants: int) -> Floats:
        """Return how long the tasks of each tenant ran, all its holds together, s, shape (tenants,)."""
        return np.bincount(self.tenant, self.loaded_s, tenants)[:tenants].astype(np.float64)
