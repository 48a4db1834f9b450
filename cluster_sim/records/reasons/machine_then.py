"""The machine of a finished run as it was at any time: what was free, and of what could be used, read off the records.

A run does not keep what each waiting job lacked at each change. For 1,000 jobs of ``lublin:jobs=1000,nodes=256,seed=1``
under EASY that would be 62 looks at a job and 17 rows of numbers, and saved results 1.4 times as large on 256 nodes of a
core, 3 times on 32 nodes of 8 cores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cluster_sim.engine import latest
from cluster_sim.machine.core_ranges import by_unit, cut
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import FITS, Reason, ReasonKind, lacking
from cluster_sim.machine.units.counted_resources import NOTHING_COUNTED
from cluster_sim.machine.units.unit_hold import ANYWHERE, UnitHold
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.energy_accounts import node_bounds
from cluster_sim.records.reasons.conditions import MIN_CORES, Conditions
from cluster_sim.records.reasons.spells import SUSPENDED, Spell, Spells
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.resource_request import WHOLE

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cluster_sim.machine.core_ranges import Ints
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.contracts import RunRecords

STATES = tuple(NodeState)
_ON = STATES.index(NodeState.IDLE)
_OFF = STATES.index(NodeState.OFF)
_UNITS = 4
_SWITCHING_ON, _SWITCHING_OFF = STATES.index(NodeState.SWITCHING_ON), STATES.index(NodeState.SWITCHING_OFF)


class Suspension(NamedTuple):
    """A time from ``start`` to ``end`` (s) without cores; ``cores`` are those before, by node index."""

    start: float
    end: float
    cores: dict[int, int]
    left: float  #: How long it may still run by its request, s; 0: not known.


@dataclass(frozen=True, slots=True)
class HeldPieces:
    """Cores of each node that jobs and guests held, in order of time: a row for each piece of neighbouring cores."""

    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]  #: inf: not known to have ended
    node: Ints
    cores: Ints
    kept: Ints  #: Cores that nobody else could have meanwhile: of a job that has its nodes for itself all of them.
    memory: npt.NDArray[np.float64]  #: MB
    job: Ints  #: Row of the job; -1: a guest.
    owner: npt.NDArray[np.object_]
    attempt: Ints


class _Changes:
    """Changes of one kind, by time; those of one time in the order in which they are given."""

    def __init__(self, *parts: tuple[npt.ArrayLike, ...]):
        columns = [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(len(parts[0]))]
        order = np.argsort(columns[0], kind="stable")
        self.times, *self.columns = (column[order] for column in columns)


class MachineHistory:
    """All that changed on the machine during a run, by time; ``at`` a time it makes the machine that was."""

    def __init__(self, result: RunRecords):
        self.platform: Platform = result.platform
        self.conditions: Conditions | None = result.conditions
        jobs = result.jobs
        known, count = self.conditions, len(jobs)
        columns = {} if known is None else known.columns(count)
        self.shapes = known is not None and known.shapes
        self.counts_memory = known is not None and known.counts_memory
        self.eligibility = Eligibility(self.platform) if known is None else known.eligibility(self.platform, count)
        ids, cores, times = (jobs[name].tolist() for name in ("job_id", "requested_cores", "requested_time"))
        submitted = jobs["submit_time"].tolist()
        self.jobs = [Job(columns, i, ids[i], submitted[i], cores[i], times[i]) for i in range(count)]
        self.row_of = dict(zip(ids, range(count), strict=True))
        #: The same jobs as they ask for the fewest cores that they can be started on, where that is fewer.
        self.narrowest = {
            i: Job(columns, i, ids[i], submitted[i], fewest, times[i])
            for i, job in enumerate(self.jobs if MIN_CORES in columns else ())
            if (fewest := job.min_cores) < cores[i]
        }
        horizon = float(result.power["time"].iloc[-1])
        holds = self._holders = result.core_holds
        ranges = holds.in_order
        job_of = self._job_of_tenant = np.concatenate([holds.job, np.full(len(holds.guests), -1)])
        # The table ends where the records do; what lasted longer is not known to have ended.
        owner, unfinished = job_of[ranges.tenant], (jobs["state"] == "unfinished").to_numpy()
        goes_on = (ranges.end >= horizon) & ((owner < 0) | unfinished[owner])
        self._ranges = replace(ranges, end=np.where(goes_on, np.inf, ranges.end))
        self.suspensions = self._suspensions(result.all_spells)
        self.cores = self._core_changes()
        self.memory = self._memory_changes()
        self.resources = NOTHING_COUNTED if known is None else known.resources(self.platform)
        table = result.resource_holds if self.resources.asked else None
        self.units, self.units_of = self._unit_changes(table, horizon, unfinished)
        self.states = self._state_changes(result.off_states, horizon)
        rows = () if known is None else known.withheld
        withheld = [(time, node, held) for time, nodes, held in rows for node in nodes]
        when, where, whether = ([row[i] for row in withheld] for i in range(3))
        self.withheld = _Changes((np.array(when, np.float64), np.array(where, np.int64), np.array(whether, bool)))
        kinds = (self.cores.times, self.memory.times, self.states.times, self.withheld.times, self.units.times)
        #: When anything changed, s, ascending.
        self.times = np.unique(np.concatenate([*kinds, np.array(self.eligibility.turning_times, np.float64)]))

    def _state_changes(self, table: pd.DataFrame, horizon: float) -> _Changes:
        node = self.platform.node_indices(table["node"])
        code_of = {str(state): code for code, state in enumerate(STATES)}
        code = np.array([code_of[state] for state in table["state"].tolist()], np.int64)
        start, end = (table[name].to_numpy(dtype=np.float64) for name in ("start", "end"))
        last = end >= horizon
        on = np.full(int((~last).sum()), _ON)
        return _Changes((end[~last], node[~last], on), (start, node, code))

    @cached_property
    def pieces(self) -> HeldPieces:
        """Return the holds node by node, of which a large machine has millions."""
        cuts, node = by_unit(self._ranges, node_bounds(self.platform))
        job, cores = self._job_of_tenant[cuts.tenant], cuts.last - cuts.first + 1
        attempt = self._holders.attempts[cuts.tenant]
        kept, memory = cores, self._memory_of(job) * cores
        if self.conditions is not None and "exclusive" in self.conditions.requests:
            # An exclusive job keeps all cores of its nodes from others. Of several pieces of a node one stands for it.
            exclusive = np.where(job >= 0, self.conditions.requests["exclusive"][job], False)
            keys = zip(job.tolist(), attempt.tolist(), node.tolist(), strict=True)
            stands = np.zeros(len(cores), bool)
            stands[list({key: piece for piece, key in enumerate(keys)}.values())] = True
            whole = np.where(stands, self.platform.node_cores[node], 0)
            kept = np.where(exclusive.astype(bool), whole, cores)
        owner = self._holders.owners[cuts.tenant]
        return HeldPieces(cuts.start, cuts.end, node, cores, kept, memory, job, owner, attempt)

    def _core_changes(self) -> _Changes:
        """Return when nodes ``first`` … ``stop`` - 1 had how many more free cores each."""
        parts: list[tuple[npt.NDArray[Any], ...]]
        if self._requested("exclusive"):
            held = self.pieces
            parts = [(held.start, held.end, held.node, held.node + 1, held.kept)]
        else:
            # Whole nodes of one width together: cut into nodes, the holds of a large machine would be millions.
            width, bounds = self.platform.node_cores, node_bounds(self.platform)
            alike, _ = by_unit(self._ranges, bounds[np.concatenate([[True], width[1:] != width[:-1], [True]])])
            runs, shared = cut(alike, bounds)
            parts = [
                (runs.start, runs.end, runs.first, runs.stop, width[runs.first]),
                (shared.start, shared.end, shared.unit, shared.unit + 1, shared.cores),
            ]
        parts = [tuple(column[part[0] < part[1]] for column in part) for part in parts]
        taken = [(start, first, stop, -cores) for start, _, first, stop, cores in parts]
        return _Changes(*taken, *((end, first, stop, cores) for _, end, first, stop, cores in parts))

    def _memory_changes(self) -> _Changes:
        stays = [] if self.conditions is None else [stay for stay in self.conditions.guests if stay.memory_mb]
        of_stays: list[tuple[float, ...]] = [(stay.node, stay.since, stay.until, stay.memory_mb) for stay in stays]
        # Jobs that are suspended stay in the memory of their nodes.
        rows = np.array(list(self.suspensions), np.int64)
        task_mb = dict(zip(rows.tolist(), self._memory_of(rows).tolist(), strict=True)) if len(rows) else {}
        of_stays += [
            (node, one.start, one.end, cores * task_mb[row])
            for row, several in self.suspensions.items()
            if task_mb[row]
            for one in several
            for node, cores in one.cores.items()
        ]
        where, since, until, mb = np.array(of_stays, np.float64).reshape(-1, 4).T
        begins, ends = (since, where.astype(np.int64), mb), (until, where.astype(np.int64), -mb)
        if not self._requested("memory"):
            return _Changes(begins, ends)
        held = self.pieces
        some = (held.memory > 0.0) & (held.start < held.end)
        node, memory = held.node[some], held.memory[some]
        return _Changes((held.start[some], node, memory), begins, (held.end[some], node, -memory), ends)

    def _unit_changes(
        self, table: pd.DataFrame | None, horizon: float, unfinished: npt.NDArray[np.bool_]
    ) -> tuple[_Changes, dict[tuple[int, int, float], list[tuple[int, int, int]]]]:
        """Return when how much of each slot of the counted resources was taken, and given back.

        Beside it, what each hold of a job has of them, by its row, attempt and start: (node, or -1; slot; how much).
        """
        rows: list[tuple[float, int, int]] = []
        of_holds: dict[tuple[int, int, float], list[tuple[int, int, int]]] = {}
        columns = [] if table is None else [table[name].tolist() for name in table.columns]
        for owner, _, attempt, where, name, first, last, share, start, end in zip(*columns, strict=True):
            node = self.platform.node_index(where) if where else ANYWHERE
            which = tuple(range(first, last + 1))
            slots, parts = self.resources.slots(UnitHold(name, node, len(which), round(share * WHOLE), which))
            job = self.row_of[owner]
            until = math.inf if end >= horizon and unfinished[job] else end
            for slot in slots:
                of_holds.setdefault((job, attempt, start), []).append((node, slot, parts))
                rows += [(start, slot, -parts), (until, slot, parts)] if start < until else []
        times, slots_of, more = np.array(rows, np.float64).reshape(-1, 3).T
        return _Changes((times, slots_of.astype(np.int64), more.astype(np.int64))), of_holds

    def _requested(self, name: str) -> bool:
        return self.conditions is not None and name in self.conditions.requests

    def _suspensions(self, spells: Spells) -> dict[int, list[Suspension]]:
        """Return when each job was suspended, by its row, and which cores it had before."""
        found: dict[int, list[Suspension]] = {}
        for row in sorted({*spells.ran, *spells.booted}):
            own = spells.ran.get(row, ())
            for spell in spells.of(row):
                if spell.then == SUSPENDED:
                    held = self.pieces
                    mine = (held.job == row) & (held.attempt == spell.attempt)
                    mine &= held.start <= spell.start
                    mine &= held.end == spell.end
                    cores = np.bincount(held.node[mine], held.cores[mine])
                    nodes = np.flatnonzero(cores).tolist()
                    had = {node: int(cores[node]) for node in nodes}
                    found.setdefault(row, []).append(
                        Suspension(spell.end, spell.until, had, self._left(row, own, spell))
                    )
        return found

    def _left(self, row: int, spells: Sequence[Spell], last: Spell) -> float:
        """Return how long a job may run on after a spell by its request, s; 0 if it ran on other cores than requested.

        How long it may run on these, its speedup says, which is not in the records.
        """
        job = self.jobs[row]
        ran = [one for one in spells if one.attempt == last.attempt and one.end <= last.end]
        if any(one.cores != job.requested_cores for one in ran):
            return 0.0
        return max(job.requested_time - sum(one.end - one.start for one in ran), 0.0)

    def suspended(self, row: int, time: float) -> Suspension | None:
        """Return the suspension of a job that lasts at that time (s)."""
        return next((one for one in self.suspensions.get(row, ()) if one.start <= time < one.end), None)

    def _memory_of(self, owner: Ints) -> npt.NDArray[np.float64]:
        """Return MB of a task of each holder."""
        if self.conditions is None or "memory" not in self.conditions.requests:
            return np.zeros(len(owner))
        return np.where(owner >= 0, self.conditions.requests["memory"][owner], 0.0)

    def closing_times(self, row: int) -> list[float]:
        """Return from when on the job could not have ended, by its request, before a reservation begins or ends, s.

        With it comes when it had waited long enough for few switches.
        """
        windows = self.eligibility.turning_times
        asked = [self.jobs[row].requested_time, *(one.left for one in self.suspensions.get(row, ()))]
        times = [math.nextafter(latest(time), math.inf) - left for time in windows for left in asked if left < math.inf]
        until = self.eligibility.switches_until(self.jobs[row])
        return [*times, until] if math.isfinite(until) else times

    def switching(self, time: float) -> dict[int, float]:
        """Return the nodes in transition at a time (s), and when they should be on, or OFF."""
        changes = self.states
        last = {}
        stop = int(changes.times.searchsorted(time, "right"))
        for since, node, code in zip(
            changes.times[:stop].tolist(), *(column[:stop].tolist() for column in changes.columns), strict=True
        ):
            last[node] = since, code
        ends = {}
        for node, (since, code) in last.items():
            costs = self.platform.node_types[self.platform.type_of_node[node]].transitions
            if code in (_SWITCHING_ON, _SWITCHING_OFF):
                length = costs.switch_on_s if code == _SWITCHING_ON else costs.switch_off_s
                ends[node] = since + length if since + length > time else math.inf
        return ends

    def at(self, time: float) -> MachineThen:
        """Return the machine as everything that happened up to and at ``time`` (s) had left it."""
        machine = MachineThen(self)
        machine.go_on(time)
        return machine


class MachineThen:
    """The machine at one moment; ``go_on`` takes it to a later one."""

    def __init__(self, history: MachineHistory):
        platform = history.platform
        #: What is free, also on nodes that cannot be used.
        self.pool = Free(platform, eligibility=history.eligibility)
        self.pool.shapes = history.shapes
        if history.resources.asked:
            self.pool.resources = history.resources.copy()
        self._given: set[tuple[int, int, float, int]] = set()  # whose units have been released, on which node
        self.withheld = np.zeros(platform.node_count, bool)
        self.now = -np.inf  #: s.
        self._codes = np.full(platform.node_count, _ON)
        self._history = history
        self._reached = [0, 0, 0, 0, 0]
        self._policy = "the power policy" if history.conditions is None else history.conditions.power_policy
        self._usable_changed()

    def _usable_changed(self) -> None:
        offered = ~self.withheld
        self.pool.is_on, self.pool.is_off = (self._codes == _ON) & offered, (self._codes == _OFF) & offered
        self._usable = self.pool.is_on | self.pool.is_off
        self._all_usable = bool(self._usable.all())

    @property
    def state(self) -> list[NodeState]:
        """Return the state of each node."""
        return [STATES[code] for code in self._codes.tolist()]

    @property
    def usable_free(self) -> npt.NDArray[np.int64]:
        """Free cores of each node that can be used, as it is or after a boot; shape (nodes,)."""
        return self.pool.free if self._all_usable else np.where(self._usable, self.pool.free, 0)

    def go_on(self, time: float) -> None:
        """Let all happen up to and at ``time``, s."""
        history = self._history
        self.now = self.pool.now = time
        every = (history.cores, history.memory, history.states, history.withheld, history.units)
        for kind, changes in enumerate(every):
            first = self._reached[kind]
            if first == len(changes.times) or changes.times[first] > time:
                continue
            stop = self._reached[kind] = int(changes.times.searchsorted(time, "right"))
            columns = [column[first:stop] for column in changes.columns]
            if kind == 0:
                begin, end, cores = columns
                more = np.zeros(len(self.pool.free) + 1, np.int64)  # than of the node before
                np.add.at(more, begin, cores)
                np.subtract.at(more, end, cores)
                self.pool.free += np.cumsum(more[:-1])
            elif kind == 1:
                np.add.at(self.pool.memory.used, *columns)
            elif kind == _UNITS:
                np.add.at(self.pool.resources.free, *columns)
            else:
                (self._codes, self.withheld)[kind - 2][columns[0]] = columns[1]
                self._usable_changed()

    def copy(self) -> MachineThen:
        """Return a copy, on which holds can be released without changing this one."""
        other = copy(self)
        other.pool, other._codes, other._given = self.pool.copy(), self._codes.copy(), set()
        return other

    def release(self, hold: int) -> None:
        """Free what one of the history's pieces holds."""
        held = self._history.pieces
        node = int(held.node[hold])
        self.pool.free[node] += int(held.kept[hold])
        self.pool.memory.used[node] -= float(held.memory[hold])
        key = int(held.job[hold]), int(held.attempt[hold]), float(held.start[hold])
        for at in (node, ANYWHERE):
            if (*key, at) not in self._given:
                self._given.add((*key, at))
                for there, slot, parts in self._history.units_of.get(key, ()):
                    self.pool.resources.free[slot] += parts if there == at else 0

    def is_back(self, node: int) -> None:
        """End the transition of a node."""
        self._codes[node] = _ON
        self._usable_changed()

    def placed(self, row: int) -> Placement | None:
        """Return where the job could be placed, as far as the machine goes."""
        suspension = self._history.suspended(row, self.now)
        if suspension is not None:
            free = self.usable_free
            fits = all(free[node] >= cores for node, cores in suspension.cores.items())
            if fits and self.pool.resources.asked:
                fits = self.pool.resources.would_have(self._history.jobs[row], Placement.on(suspension.cores))
            return Placement.on(suspension.cores) if fits and self._is_open(row, suspension) else None
        job = self._history.narrowest.get(row, self._history.jobs[row])
        if self._history.conditions is None or self._history.conditions.are_plain:
            free, cores = self.usable_free, job.requested_cores
            # Of another program's run it is not known whether a job had to go on one node.
            if cores <= self.pool.widest and self._history.conditions is not None:
                node = int(free.argmax())
                return Placement.on({node: cores}) if free[node] >= cores else None
            return Placement(()) if cores <= free.sum() else None
        self.pool.free_total = int(self.usable_free.sum())
        return self.pool.place(job, memory=self._history.counts_memory)

    def _is_open(self, row: int, suspension: Suspension) -> bool:
        """Return whether advance reservations leave a suspended job its nodes for the rest of its time."""
        job = self._history.jobs[row]
        mask = self.pool.eligibility.open_at(job.asking(job.requested_cores, suspension.left), self.now)
        return mask is None or bool(mask[list(suspension.cores)].all())

    def shortage(self, row: int) -> Reason:
        """Return what the job asks for and what there is of it; FITS if it fits."""
        if self.placed(row) is not None:
            return FITS
        suspension = self._history.suspended(row, self.now)
        if suspension is not None:
            free, cores = self.usable_free, suspension.cores
            left, needs = sum(min(int(free[node]), count) for node, count in cores.items()), sum(cores.values())
            return Reason(ReasonKind.ITS_CORES if left < needs else ReasonKind.ITS_CORES_RESERVED, needs, found=left)
        narrowest = self._history.narrowest.get(row)
        # Guests are named among the holders.
        job = narrowest or self._history.jobs[row]
        found = lacking(self.pool, self, (), job, self._history.counts_memory, self._policy)
        return found if narrowest is None else replace(found, least=True)
