"""A machine as a search needs it: no clock that runs, no events, only positions and the moves from one to the next.

A :class:`~schedulers.optimum.position.Position` is the state of a run at an instant at which a scheduler may decide. A
:class:`Board` knows the platform, the jobs and the models, and makes positions: ``place`` a job, or let time ``advance``
to the next instant. Both do what the processes of ``cluster_sim`` do, in the same order of arithmetic, so that instants
coincide here exactly where they coincide in a simulation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.errors import InputError, ModelWarning, counted
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import shape
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.models.processor_step import (
    ProcessorModels,
    TaskProgress,
    adapt,
    complete,
    demand_of,
    loads_of,
    next_end,
)
from cluster_sim.platform.platform import Platform, ProcessorType
from cluster_sim.workload.fields import JOB_FIELDS
from cluster_sim.workload.jobs import Job, requests
from cluster_sim.workload.work import Work
from schedulers.optimum.position import Cores, LastStart, Move, Position
from schedulers.optimum.spreads import Alike, shaped, wide

if TYPE_CHECKING:
    from cluster_sim.workload.workload import Workload

UNSUPPORTED = ("requires", "exclusive", "reservation", "after", "checkpoint_interval")
"""Columns of the job schema whose wishes the board does not know; jobs that have one are refused."""


class Board:
    """The platform, the jobs and the models of a search.

    ``jobs`` are those that the platform can hold; the others are left out, as a simulation rejects them. Raises
    InputError for jobs with wishes that the board does not know, and for nodes that start OFF.
    """

    def __init__(self, platform: Platform, workload: Workload):
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
        self._work = Work(columns, platform.fastest_ops_per_s if reference is None else reference * 1e9)
        self.platform = platform
        empty = Free(platform)
        self.jobs: list[Job] = [job for job in requests(workload.jobs) if not empty.why_impossible(job)]
        if left_out := len(workload) - len(self.jobs):
            text = f"{left_out} of {counted(len(workload), 'job')} can never run on it, and the optimum is without them"
            warnings.warn(f"platform '{platform.id}': {text}", ModelWarning, stacklevel=4)
        self.first_submission = float(columns["submit_time"].min()) if len(workload) else 0.0
        models = ProcessorModels(
            contention_models.make(platform.contention_model), power_models.make(platform.power_model)
        )
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
        self._read_jobs(columns)

    def _read_jobs(self, columns: dict[str, np.ndarray]) -> None:
        rates = [kind.ops_per_s for kind in self.types]
        #: By job and processor type.
        self.phases = [[tuple(self._work.phases(job.index, rate)) for rate in rates] for job in self.jobs]
        self.fixed = [self._work.is_fixed(job.index) for job in self.jobs]
        self.shapes = [shape(job) for job in self.jobs]
        self.wide = [
            wishes is None and job.requested_cores > self.platform.widest_node
            for job, wishes in zip(self.jobs, self.shapes, strict=True)
        ]
        # Jobs that ask for the same and do the same are of one kind: it does not matter which of them runs.
        kinds: dict[object, int] = {}
        self.kind_of = []
        for i, job in enumerate(self.jobs):
            work = (job.requested_cores, tuple(self.phases[i]), self.fixed[i], tuple(self.shapes[i] or ()))
            self.kind_of.append(kinds.setdefault(work, len(kinds)))

    # ------------------------------------------------------------------ positions

    def start(self) -> Position:
        """Return the position at the first instant at which a job is there: the machine has idled up to then."""
        position = Position()
        count = len(self.type_of)
        position.now = position.energy = 0.0
        position.groups, position.ended = [()] * count, [()] * count
        position.due, position.free = [math.inf] * count, self.cores.copy()
        position.draw = [self.tables[kind][0] for kind in self.type_of]
        position.running, position.open_groups = {}, {}
        position.pending, position.arrived, position.started = (), 0, None
        position.labels, position.last, position.key = [], None, ()
        return self.advance(position) if self.jobs else position

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
        # Nodes with the same state are interchangeable.
        states = [self._state_of(position, node) for node in range(len(self.processors))]
        first: dict[object, int] = {}
        position.labels = [first.setdefault(state, node) for node, state in enumerate(states)]
        pending = tuple(sorted(self.kind_of[job] for job in position.pending))
        position.key = (position.now, position.arrived, pending, tuple(sorted(states)))
        position.last = None
        return position

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
