"""A machine as a search needs it: no clock that runs, no events, only positions and the moves from one to the next.

A :class:`~schedulers.optimum.position.Position` is the state of a run at an instant at which a scheduler may decide. A
:class:`Board` knows the platform, the jobs and the models, and makes positions: ``place`` a job, or let time ``advance``
to the next instant. Both do what the processes of ``cluster_sim`` do, in the same order of arithmetic, so that instants
coincide here exactly where they coincide in a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cluster_sim.errors import InputError, ModelWarning, counted, warn
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import shape
from cluster_sim.models.processor_step import (
    Phase,
    ProcessorModels,
    TaskProgress,
    adapt,
    complete,
    demand_of,
    loads_of,
    models_of,
    next_end,
)
from cluster_sim.platform.platform import Platform, ProcessorType
from cluster_sim.workload.fields import JOB_FIELDS
from cluster_sim.workload.jobs import Job, requests
from cluster_sim.workload.resource_request import GPU_COLUMNS
from cluster_sim.workload.work import Work
from schedulers.optimum.position import Cores, LastStart, Move, Position
from schedulers.optimum.spreads import Alike, shaped, wide

if TYPE_CHECKING:
    from cluster_sim.workload.workload import Workload

UNSUPPORTED = [*"requires exclusive reservation switches after checkpoint_interval".split(), *GPU_COLUMNS, "resources"]
"""Columns of the job schema whose wishes the board does not know; jobs that have one are refused."""


Held = list[tuple[int, int, float, float]]
"""What a running job holds: (processor, cores on it, s of work left at full speed, MB/s that each task asks for)."""


class WorkOfJobs(Protocol):
    """How much work jobs are, by their index: the true work (``cluster_sim.workload.work``), or what is expected of them."""

    def phases(self, index: int, ops_per_s: float) -> list[Phase]:
        """Return the phases of a task on a core of that rate."""
        ...

    def is_fixed(self, index: int) -> bool:
        """Return whether the job takes its time on any core."""
        ...


class Board:
    """The platform, the jobs and the models of a search; ``jobs`` are in the order of their submission."""

    def __init__(self, platform: Platform, jobs: Sequence[Job], work: WorkOfJobs, models: ProcessorModels):
        self.platform = platform
        self.jobs: list[Job] = list(jobs)
        self.first_submission = min([job.submit_time for job in jobs], default=0.0)
        self.types: tuple[ProcessorType, ...] = platform.processor_types
        self.type_of: list[int] = platform.type_of_processor.tolist()
        self._models = [models.of(kind) for kind in self.types]
        self.follows_rates = self._models[0].follows_rates
        self.tables = [model.watts for model in self._models]
        first: list[int] = platform.first_processor.tolist()
        self.processors = [range(first[node], first[node + 1]) for node in range(platform.node_count)]
        self._has_one_processor = [len(processors) == 1 for processors in self.processors]
        self._node_type: list[int] = platform.type_of_node.tolist()
        self.cores = [self.types[kind].cores for kind in self.type_of]
        self._read_jobs(work)

    @classmethod
    def of(cls, platform: Platform, workload: Workload) -> Board:
        """Return the board of a whole workload, with the true work and the platform's models.

        Jobs that the platform can never hold are left out, as a simulation rejects them. Raises InputError for jobs with
        wishes that the board does not know, and for nodes that start OFF.
        """
        if any(kind.initially_off for kind in platform.node_types):
            raise InputError(f"platform '{platform.id}'", "nodes that are on for an optimum", "nodes that start off")
        if workload.think_times:
            raise InputError(
                "optimum, workload", "submit times that are fixed", "jobs that follow others by think times"
            )
        columns = {str(name): workload.jobs[name].to_numpy() for name in workload.jobs.columns}
        defaults = {field.name: field.default for field in JOB_FIELDS}
        for name in UNSUPPORTED:
            if name in columns and name in defaults:
                asked = columns[name] != defaults[name]
                if asked.any():
                    job = columns["job_id"][int(np.argmax(asked))]
                    raise InputError(f"optimum, job {job}", f"no '{name}', which the search does not know", name)
        for name in ("min_cores", "max_cores"):
            if name in columns:
                asked = (columns[name] > 0) & (columns[name] != columns["requested_cores"])
                if asked.any():
                    row = int(np.argmax(asked))
                    expected = f"a job that runs on its requested_cores ({columns['requested_cores'][row]}) only"
                    raise InputError(f"optimum, job {columns['job_id'][row]}, {name}", expected, columns[name][row])
        reference = workload.reference_gflops
        work = Work(columns, platform.fastest_ops_per_s if reference is None else reference * 1e9)
        empty = Free(platform)
        jobs = [job for job in requests(workload.jobs) if not empty.why_impossible(job)]
        if left_out := len(workload) - len(jobs):
            text = f"{left_out} of {counted(len(workload), 'job')} can never run on it, and the optimum is without them"
            warn(ModelWarning(f"platform '{platform.id}': {text}"), 3)
        board = cls(platform, jobs, work, models_of(platform))
        board.first_submission = float(columns["submit_time"].min()) if len(workload) else 0.0
        return board

    def _read_jobs(self, work: WorkOfJobs) -> None:
        rates = [kind.ops_per_s for kind in self.types]
        #: By job and processor type.
        self.phases = [[tuple(work.phases(job.index, rate)) for rate in rates] for job in self.jobs]
        self.fixed = [work.is_fixed(job.index) for job in self.jobs]
        self.shapes = [shape(job) for job in self.jobs]
        self.wide = [
            wishes is None and job.requested_cores > self.platform.widest_node
            for job, wishes in zip(self.jobs, self.shapes, strict=True)
        ]
        # Jobs that ask for the same and do the same are of one kind: it does not matter which of them runs.
        kinds: dict[object, int] = {}
        self.kind_of = []
        for i, job in enumerate(self.jobs):
            kind = (job.requested_cores, tuple(self.phases[i]), self.fixed[i], tuple(self.shapes[i] or ()))
            self.kind_of.append(kinds.setdefault(kind, len(kinds)))

    # ------------------------------------------------------------------ positions

    def start(self) -> Position:
        """Return the position at the first instant at which a job is there: the machine has idled up to then."""
        position = self._idle()
        return self.advance(position) if self.jobs else position

    def resume(self, now: float, energy: float, running: Mapping[int, Held], free: Sequence[int]) -> Position:
        """Return the position of a run that is under way, with every job of the board submitted.

        ``energy`` is what was spent so far, J; ``running`` the jobs that hold cores, and ``free`` the free cores of each
        node. Cores that are neither free nor held by these jobs stay out of the search.
        """
        position = self._idle()
        position.now, position.energy, position.arrived = now, energy, len(self.jobs)
        position.pending = tuple(job for job in range(len(self.jobs)) if job not in running)
        by_processor: dict[int, list[TaskProgress]] = {}
        for job, held in running.items():
            position.running[job] = tuple((processor, tasks) for processor, tasks, _, _ in held)
            last = max(seconds for _, _, seconds, _ in held)
            for processor, tasks, seconds, bandwidth in held:
                position.free[processor] -= tasks
                if seconds < last and seconds <= 0.0:  # over here, but not elsewhere
                    position.ended[processor] += ((job, tasks),)
                else:
                    groups = by_processor.setdefault(processor, [])
                    groups.append(TaskProgress(job, tasks, [(seconds, bandwidth)], now))
                    position.open_groups[job] = position.open_groups.get(job, 0) + 1
        for node, cores in enumerate(free):
            surplus = sum(position.free[processor] for processor in self.processors[node]) - cores
            for processor in reversed(self.processors[node]):
                closed = max(0, min(surplus, position.free[processor]))
                position.free[processor] -= closed
                surplus -= closed
        for processor in range(len(self.type_of)):
            self._refresh(position, processor, by_processor.get(processor, []))
            self._update_draw(position, processor)
        self._compare_nodes(position)
        return position

    def can_hold(self, position: Position) -> list[bool]:
        """Return for each job whether it fits once all that runs in the position has ended."""
        empty = position.copy()
        for pieces in position.running.values():
            for processor, cores in pieces:
                empty.free[processor] += cores
        empty.labels = list(range(len(self.processors)))
        node_sets = self._interchangeable(empty)
        return [any(True for _ in self._ways(job, node_sets)) for job in range(len(self.jobs))]

    def _idle(self) -> Position:
        position = Position()
        count = len(self.type_of)
        position.now = position.energy = 0.0
        position.groups, position.ended = [()] * count, [()] * count
        position.due, position.free = [math.inf] * count, self.cores.copy()
        position.draw = [self.tables[kind][0] for kind in self.type_of]
        position.running, position.open_groups = {}, {}
        position.pending, position.arrived, position.started = (), 0, None
        position.labels, position.last, position.key = [], None, ()
        return position

    def is_over(self, position: Position) -> bool:
        """Return whether every job has run."""
        return position.arrived == len(self.jobs) and not position.pending and not position.running

    def next_instant(self, position: Position) -> float:
        """Return when something happens next by itself, s; inf for never."""
        arrival = self.jobs[position.arrived].submit_time if position.arrived < len(self.jobs) else math.inf
        return min(arrival, min(position.due))

    def advance(self, before: Position) -> Position:
        """Return the position at the next instant in which a job is submitted or ends."""
        position = before.copy()
        changed = False
        while not changed:
            now = self.next_instant(position)
            position.energy += sum(position.draw) * (now - position.now)
            position.now = now
            arrived = position.arrived
            while arrived < len(self.jobs) and self.jobs[arrived].submit_time <= now:
                arrived += 1
            changed = arrived > position.arrived
            position.pending += tuple(range(position.arrived, arrived))
            position.arrived = arrived
            while min(position.due) <= now:
                for processor, due in enumerate(position.due):
                    if due <= now:
                        changed |= self._end_groups(position, processor)
        self._compare_nodes(position)
        return position

    def _compare_nodes(self, position: Position) -> None:
        """Find which nodes are interchangeable, those with the same state, and what tells the position from others."""
        states = [self._state_of(position, node) for node in range(len(self.processors))]
        first: dict[object, int] = {}
        position.labels = [first.setdefault(state, node) for node, state in enumerate(states)]
        pending = tuple(sorted(self.kind_of[job] for job in position.pending))
        position.key = (position.now, position.arrived, pending, tuple(sorted(states)))
        position.last = None

    def _end_groups(self, position: Position, processor: int) -> bool:
        """End the groups of a processor that are due, or let them go on to their next phase; return whether a job ended."""
        groups = [group.copy() for group in position.groups[processor]]
        ended = complete(groups, position.due[processor])
        position.ended[processor] += tuple((group.owner, group.tasks) for group in ended)
        self._refresh(position, processor, groups)
        jobs_over = []
        for group in ended:
            position.open_groups[group.owner] -= 1
            if not position.open_groups[group.owner]:
                jobs_over.append(group.owner)
        for job in jobs_over:
            del position.open_groups[job]
            for unit, cores in position.running.pop(job):
                position.free[unit] += cores
                position.ended[unit] = tuple(held for held in position.ended[unit] if held[0] != job)
                self._update_draw(position, unit)
        return bool(jobs_over)

    def _refresh(self, position: Position, processor: int, groups: list[TaskProgress]) -> None:
        """Give a processor these groups: new speeds, and what is due next."""
        model = self._models[self.type_of[processor]]
        adapt(groups, model.contention, demand_of(groups), position.now)
        position.groups[processor] = tuple(groups)
        position.due[processor] = next_end(groups)
        if self.follows_rates:
            self._update_draw(position, processor)

    def _update_draw(self, position: Position, processor: int) -> None:
        busy = self.cores[processor] - position.free[processor]
        model = self._models[self.type_of[processor]]
        if not self.follows_rates or not busy:
            position.draw[processor] = model.watts[busy]
            return
        waiting = [tasks for _, tasks in position.ended[processor]]
        shared, own = model.draw(loads_of(position.groups[processor], waiting))
        position.draw[processor] = shared + sum(own)

    def place(self, before: Position, move: Move) -> Position:
        """Return the position after starting a job: within a node idle cores are taken in processor order."""
        position = before.copy()
        pieces = []
        for node, wanted in move.cores:
            for processor in self.processors[node]:
                taken = min(position.free[processor], wanted)
                if taken:
                    pieces.append((processor, taken))
                    position.free[processor] -= taken
                    wanted -= taken
            position.labels[node] = len(self.processors) + node  # not like any other any more
        position.running[move.job] = tuple(pieces)
        position.open_groups[move.job] = len(pieces)
        position.pending = tuple(job for job in position.pending if job != move.job)
        position.started = LastStart(move, position.now, position.started)
        node = move.cores[0][0]
        position.last = (node, self.kind_of[move.job]) if len(move.cores) == 1 else None
        for processor, tasks in pieces:
            job = move.job
            phases = self.phases[job][self.type_of[processor]]
            groups = [group.copy() for group in position.groups[processor]]
            groups.append(TaskProgress(job, tasks, phases, position.now, self.fixed[job]))
            self._refresh(position, processor, groups)
            if not self.follows_rates:
                self._update_draw(position, processor)
        return position

    # ------------------------------------------------------------------ moves

    def moves(self, position: Position) -> Iterator[Move]:
        """Yield every start that is possible now, but one of each set of moves that lead to equivalent positions.

        Of pending jobs of one kind only the first is started, and of interchangeable nodes only the first is used.
        Several starts of one instant are made in one order only, by node and kind, except where the order counts:
        on nodes with several processors, and with jobs on several nodes.
        """
        node_sets = self._interchangeable(position)
        for job in self._first_of_each_kind(position):
            for cores in self._ways(job, node_sets):
                if self._is_in_order(position, job, cores):
                    yield Move(job, cores)

    def can_start_any(self, position: Position) -> bool:
        """Return whether any pending job fits."""
        node_sets = self._interchangeable(position)
        return any(True for job in self._first_of_each_kind(position) for _ in self._ways(job, node_sets))

    def _first_of_each_kind(self, position: Position) -> list[int]:
        return list({self.kind_of[job]: job for job in reversed(position.pending)}.values())[::-1]

    def _is_in_order(self, position: Position, job: int, cores: Cores) -> bool:
        if position.last is None or len(cores) > 1:
            return True
        last_node, last_kind = position.last
        node = cores[0][0]
        if node != last_node:
            return node > last_node
        return not self._has_one_processor[node] or self.kind_of[job] >= last_kind

    def _interchangeable(self, position: Position) -> list[Alike]:
        """Return the nodes with free cores, those that are interchangeable together."""
        nodes: dict[int, list[int]] = {}
        for node, label in enumerate(position.labels):
            nodes.setdefault(label, []).append(node)
        free = ((sum(position.free[p] for p in self.processors[some[0]]), some) for some in nodes.values())
        return [(cores, some) for cores, some in free if cores]

    def _ways(self, job: int, node_sets: list[Alike]) -> Iterator[Cores]:
        """Return the ways to place the job, one of each set of equivalent ways."""
        wanted, wishes = self.jobs[job].requested_cores, self.shapes[job]
        if wishes is not None:
            return shaped(node_sets, wishes)
        if self.wide[job]:
            return wide(node_sets, wanted)
        return (((nodes[0], wanted),) for free, nodes in node_sets if free >= wanted)

    # ------------------------------------------------------------------ what is equivalent

    def _state_of(self, position: Position, node: int) -> tuple[Any, ...]:
        """Return all that counts of a node for what comes: equal for nodes that could be exchanged."""
        state: list[Any] = [self._node_type[node]]
        for processor in self.processors[node]:
            if position.free[processor] < self.cores[processor]:
                groups = []
                for group in position.groups[processor]:
                    # A job with several groups has its own number: its groups must not be taken for those of another.
                    job = group.owner
                    name = self.kind_of[job] if len(position.running[job]) == 1 else -1 - job
                    groups.append((name, group.tasks, group.finish, group.speed, len(group.later)))
                groups.sort()
                state.append((position.free[processor], tuple(groups), tuple(sorted(position.ended[processor]))))
            else:
                state.append(())
        return tuple(state)
