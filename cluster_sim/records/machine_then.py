"""The machine of a finished run as it was at any time: what was free, and of what could be used, read off the records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from cluster_sim.engine import latest
from cluster_sim.machine.bookings import MB_PER_GB, tasks_in
from cluster_sim.machine.core_ranges import by_unit
from cluster_sim.machine.placement import Placement, place
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.accounting import node_bounds
from cluster_sim.records.conditions import MIN_CORES
from cluster_sim.records.spells import SUSPENDED
from cluster_sim.run.shortage import ASKS, counted, missing
from cluster_sim.workload.jobs import Job

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cluster_sim.machine.eligibility import Eligibility
    from cluster_sim.machine.machine import Machine
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.conditions import Conditions
    from cluster_sim.records.result import Result
    from cluster_sim.records.spells import Spell

STATES = tuple(NodeState)
_ON = STATES.index(NodeState.IDLE)
_OFF = STATES.index(NodeState.OFF)
_SWITCHING_ON, _SWITCHING_OFF = STATES.index(NodeState.SWITCHING_ON), STATES.index(NodeState.SWITCHING_OFF)


class Clock(NamedTuple):
    """Stands in for the run's environment, of which eligibility asks the time."""

    now: float


class Suspension(NamedTuple):
    """From ``start`` to ``end`` (s) a job had no cores; before, it had some of each node: node by index -> cores."""

    start: float
    end: float
    cores: dict[int, int]


class _Changes:
    """Changes of one kind, by time; those of one time in the order in which they are given."""

    def __init__(self, *parts: tuple[npt.ArrayLike, ...]):
        columns = [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(len(parts[0]))]
        order = np.argsort(columns[0], kind="stable")
        self.times, *self.columns = (column[order] for column in columns)


class MachineHistory:
    """All that changed on the machine during a run, by time; ``at`` a time it makes the machine that was."""

    def __init__(self, result: Result):
        self.platform: Platform = result.platform
        self.conditions: Conditions | None = result.conditions
        jobs = result.jobs
        self._set_requests(jobs)
        self._set_holds(result, jobs, float(result.power["time"].iloc[-1]))
        self._set_states(result.node_states)
        self._set_withheld()
        windows = () if self.eligibility is None else self.eligibility.turning_times
        kinds = (self.cores.times, self.memory.times, self.states.times, self.withheld.times)
        #: When anything changed, s, ascending.
        self.times = np.unique(np.concatenate([*kinds, np.array(windows, np.float64)]))

    def _set_requests(self, jobs: pd.DataFrame) -> None:
        known, count = self.conditions, len(jobs)
        columns = {} if known is None else known.columns(count)
        self.shapes = known is not None and known.shapes
        self.counts_memory = known is not None and known.counts_memory
        self.eligibility: Eligibility | None = None if known is None else known.eligibility(self.platform, count)
        ids, cores, times = (jobs[name].tolist() for name in ("job_id", "requested_cores", "requested_time"))
        submitted = jobs["submit_time"].tolist()
        self.jobs = [Job(columns, i, ids[i], submitted[i], cores[i], times[i]) for i in range(count)]
        self.row_of = dict(zip(ids, range(count), strict=True))
        #: The same jobs as they ask for the fewest cores that they can be started on, where that is fewer.
        self.narrowest = {
            i: Job(columns, i, ids[i], submitted[i], fewest, times[i])
            for i, fewest in enumerate(columns.get(MIN_CORES, np.zeros(0, np.int64)).tolist())
            if 0 < fewest < cores[i]
        }

    def _set_holds(self, result: Result, jobs: pd.DataFrame, horizon: float) -> None:
        holds = result.core_holds
        pieces, node = by_unit(holds.in_order, node_bounds(self.platform))
        cores, start, end = pieces.last - pieces.first + 1, pieces.start, pieces.end
        owner = np.concatenate([holds.job, np.full(len(holds.guests), -1)])[pieces.tenant]
        of_guest = owner < 0
        # The table ends where the records do; what lasted longer is not known to have ended.
        unfinished = (jobs["state"] == "unfinished").to_numpy()
        end = np.where((end >= horizon) & (of_guest | unfinished[owner]), np.inf, end)
        self.holds_end, self.holds_start, self.holds_node, self.holds_cores = end, start, node, cores
        self.holds_job, self.holds_owner = owner, holds.owners[pieces.tenant]
        self.holds_attempt = holds.attempts[pieces.tenant]
        memory = self.holds_memory = self._memory_of(owner) * cores
        held = self.holds_kept = self._cores_kept_from_others(cores)
        self.suspensions = self._suspensions(result.spells, jobs["finish_time"].tolist())
        lasting = start < end
        start, end = start[lasting], end[lasting]
        node, held, memory = node[lasting], held[lasting], memory[lasting]
        self.cores = _Changes((start, node, -held), (end, node, held))
        stays = [] if self.conditions is None else [stay for stay in self.conditions.guests if stay.memory_mb]
        of_stays: list[tuple[float, ...]] = [(stay.node, stay.since, stay.until, stay.memory_mb) for stay in stays]
        of_stays += self._memory_of_suspended()
        where, since, until, mb = np.array(of_stays, np.float64).reshape(-1, 4).T
        some = memory > 0.0
        self.memory = _Changes(
            (start[some], node[some], memory[some]),
            (since, where.astype(np.int64), mb),
            (end[some], node[some], -memory[some]),
            (until, where.astype(np.int64), -mb),
        )

    def _suspensions(self, spells: Mapping[int, Sequence[Spell]], finish: list[float]) -> dict[int, list[Suspension]]:
        """When each job was suspended, by its row, and which cores it had before."""
        found: dict[int, list[Suspension]] = {}
        for row, own in spells.items():
            for number, spell in enumerate(own):
                if spell.then == SUSPENDED:
                    last = number + 1 == len(own)
                    end = (math.inf if math.isnan(finish[row]) else finish[row]) if last else own[number + 1].start
                    mine = (self.holds_job == row) & (self.holds_attempt == spell.attempt)
                    mine &= self.holds_start <= spell.start
                    mine &= self.holds_end == spell.end
                    cores = np.bincount(self.holds_node[mine], self.holds_cores[mine])
                    nodes = np.flatnonzero(cores).tolist()
                    had = {node: int(cores[node]) for node in nodes}
                    found.setdefault(row, []).append(Suspension(spell.end, end, had))
        return found

    def _memory_of_suspended(self) -> list[tuple[float, ...]]:
        """(node, since, until, MB) of jobs that are suspended: they stay in the memory of their nodes."""
        rows = np.array(list(self.suspensions), np.int64)
        task_mb = dict(zip(rows.tolist(), self._memory_of(rows).tolist(), strict=True)) if len(rows) else {}
        return [
            (node, one.start, one.end, cores * task_mb[row])
            for row, several in self.suspensions.items()
            if task_mb[row]
            for one in several
            for node, cores in one.cores.items()
        ]

    def suspended(self, row: int, time: float) -> Suspension | None:
        """The suspension of a job that lasts at that time (s)."""
        return next((one for one in self.suspensions.get(row, ()) if one.start <= time < one.end), None)

    def _memory_of(self, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """MB of a task of each holder."""
        if self.conditions is None or "memory" not in self.conditions.requests:
            return np.zeros(len(owner))
        return np.where(owner >= 0, self.conditions.requests["memory"][owner], 0.0)

    def _cores_kept_from_others(self, cores: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cores of each hold, and of a job that has its nodes for itself all of the node's."""
        if self.conditions is None or "exclusive" not in self.conditions.requests:
            return cores
        exclusive = np.where(self.holds_job >= 0, self.conditions.requests["exclusive"][self.holds_job], False)
        keys = zip(self.holds_job.tolist(), self.holds_attempt.tolist(), self.holds_node.tolist(), strict=True)
        # Of several pieces of a node one stands for it.
        first = np.zeros(len(cores), bool)
        first[list({key: piece for piece, key in enumerate(keys)}.values())] = True
        whole = np.where(first, self.platform.node_cores[self.holds_node], 0)
        return np.where(exclusive.astype(bool), whole, cores)

    def _set_states(self, states: pd.DataFrame) -> None:
        table = states[~states["state"].isin(["IDLE", "COMPUTING"])]
        node = self.platform.node_indices(table["node"])
        code_of = {str(state): code for code, state in enumerate(STATES)}
        code = np.array([code_of[state] for state in table["state"].tolist()], np.int64)
        start, end = (table[name].to_numpy(dtype=np.float64) for name in ("start", "end"))
        last = end >= states["end"].max() if len(states) else end > 0.0
        on = np.full(int((~last).sum()), _ON)
        self.states = _Changes((end[~last], node[~last], on), (start, node, code))

    def _set_withheld(self) -> None:
        rows = () if self.conditions is None else self.conditions.withheld
        expanded = [(time, node, held) for time, nodes, held in rows for node in nodes]
        time, node, held = zip(*expanded, strict=True) if expanded else ((), (), ())
        self.withheld = _Changes((np.array(time, np.float64), np.array(node, np.int64), np.array(held, bool)))

    def closing_times(self, row: int) -> list[float]:
        """From when on the job could not have ended, by its request, before an advance reservation begins or ends, s."""
        windows, requested = self.eligibility.turning_times if self.eligibility else [], self.jobs[row].requested_time
        return [math.nextafter(latest(time), math.inf) - requested for time in windows if requested < math.inf]

    def switching(self, time: float) -> dict[int, float]:
        """The nodes in transition at a time (s), and when they should be on, or OFF."""
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
        """The machine as everything that happened up to and at ``time`` (s) had left it."""
        machine = MachineThen(self)
        machine.go_on(time)
        return machine


class MachineThen:
    """The machine at one moment; ``go_on`` takes it to a later one. It stands in for the machine of a running simulation."""

    def __init__(self, history: MachineHistory):
        platform = self.platform = history.platform
        self.widest, self.shapes, self.eligibility = platform.widest_node, history.shapes, history.eligibility
        self.guests: tuple[object, ...] = ()  # they are named among the holders
        capacity = [np.inf if kind.memory_gb is None else kind.memory_gb * MB_PER_GB for kind in platform.node_types]
        self.memory_mb = np.array(capacity)[platform.type_of_node]
        self.memory_used = np.zeros(platform.node_count)
        self.free = platform.node_cores.astype(np.int64)  #: Free cores of each node, shape (nodes,).
        self.withheld = np.zeros(platform.node_count, bool)
        self.env = Clock(-np.inf)
        self._codes = np.full(platform.node_count, _ON)
        self._history = history
        self._reached = [0, 0, 0, 0]
        self._policy = "the power policy" if history.conditions is None else history.conditions.power_policy
        self._usable_changed()

    def _usable_changed(self) -> None:
        offered = ~self.withheld
        self.is_on, self.is_off = (self._codes == _ON) & offered, (self._codes == _OFF) & offered
        self._usable = self.is_on | self.is_off
        self._all_usable = bool(self._usable.all())

    @property
    def node_states(self) -> list[NodeState]:
        """The state of each node."""
        return [STATES[code] for code in self._codes.tolist()]

    @property
    def usable_free(self) -> npt.NDArray[np.int64]:
        """Free cores of each node that can be used, as it is or after a boot; shape (nodes,)."""
        return self.free if self._all_usable else np.where(self._usable, self.free, 0)

    @property
    def free_total(self) -> int:
        """Free cores of all nodes that can be used."""
        return int(self.usable_free.sum())

    def go_on(self, time: float) -> None:
        """Let all happen up to and at ``time``, s."""
        history = self._history
        self.env = Clock(time)
        for kind, changes in enumerate((history.cores, history.memory, history.states, history.withheld)):
            first = self._reached[kind]
            if first == len(changes.times) or changes.times[first] > time:
                continue
            stop = self._reached[kind] = int(changes.times.searchsorted(time, "right"))
            node, value = (column[first:stop] for column in changes.columns)
            if kind < 2:
                np.add.at((self.free, self.memory_used)[kind], node, value)
            else:
                (self._codes, self.withheld)[kind - 2][node] = value
                self._usable_changed()

    def room(self, memory: float, if_empty: bool = False) -> npt.NDArray[np.int64]:
        """Tasks of ``memory`` MB each for which every node has memory left, shape (nodes,)."""
        left = self.memory_mb if if_empty else self.memory_mb - self.memory_used
        return tasks_in(left, memory, self.platform.core_count)

    def copy(self) -> MachineThen:
        """Another one, on which holds can be released without changing this."""
        other = copy(self)
        other.free, other.memory_used, other._codes = self.free.copy(), self.memory_used.copy(), self._codes.copy()
        return other

    def release(self, hold: int) -> None:
        """As if one of the history's holds had ended."""
        history = self._history
        node = int(history.holds_node[hold])
        self.free[node] += int(history.holds_kept[hold])
        self.memory_used[node] -= float(history.holds_memory[hold])

    def is_back(self, node: int) -> None:
        """As if the transition of a node had ended."""
        self._codes[node] = _ON
        self._usable_changed()

    def placed(self, row: int) -> Placement | None:
        """Where the job could be placed, as far as the machine goes."""
        suspension = self._history.suspended(row, self.env.now)
        if suspension is not None:
            free = self.usable_free
            fits = all(free[node] >= cores for node, cores in suspension.cores.items())
            return Placement.on(suspension.cores) if fits else None
        job = self._history.narrowest.get(row, self._history.jobs[row])
        if self._history.conditions is None or self._history.conditions.are_plain:
            return self._placed_plainly(job)
        return place(cast("Machine", self), job, None, self._history.counts_memory, self.free)

    def _placed_plainly(self, job: Job) -> Placement | None:
        free, cores = self.usable_free, job.requested_cores
        # Of another program's run it is not known whether a job had to go on one node.
        if cores <= self.widest and self._history.conditions is not None:
            node = int(free.argmax())
            return Placement.on({node: cores}) if free[node] >= cores else None
        return Placement(()) if cores <= free.sum() else None

    def shortage(self, row: int) -> str:
        """What the job asks for and what there is of it, as a clause about the job; empty if it fits."""
        if self.placed(row) is not None:
            return ""
        suspension = self._history.suspended(row, self.env.now)
        if suspension is not None:
            free, cores = self.usable_free, suspension.cores
            left = sum(min(int(free[node]), count) for node, count in cores.items())
            return f"is suspended and needs its {counted(sum(cores.values()), 'core')} back, {left:,} free"
        narrowest = self._history.narrowest.get(row)
        text = missing(
            cast("Machine", self), narrowest or self._history.jobs[row], self._history.counts_memory, self._policy
        )
        return text.replace(ASKS, f"{ASKS}at least ", 1) if narrowest is not None and text.startswith(ASKS) else text
