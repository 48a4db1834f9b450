"""The best schedule there is, for small instances: branch and bound under the machine's own models.

*What is searched.* Schedules without preemption that a scheduler of this project can make: at every instant in which a
job is submitted or ends, it may start pending jobs, each on a node (or nodes) with enough free cores; within a node idle
cores are taken in processor order, and which nodes a job may have is the width rule of ``cluster_sim.machine.placement``.

- *Without waiting:* a scheduler goes on as long as any pending job fits anywhere. It has the choice of which and where,
  but never leaves cores idle that a pending job could have. (Schedules of this family are called non-delay.) Every list
  scheduler with ``blocking=no`` makes one of them.
- *With waiting:* at every such instant any of the pending jobs, or none, may be started; only when nothing runs and
  nothing is to come must one start. Every scheduler of this project that does not ask to be woken (``WakeAt``) makes one
  of these schedules, those with head-of-line blocking too.

*In which sense it is exact.* The optimum is over schedules whose starts are at submissions and completions. For
makespan and without contention nothing is lost by that, on nodes of equal processors and with jobs that need one node:
each start of any schedule can be moved, in the order of the starts, to the earliest time at which its cores are free.
No job ends later then, and every start is at a submission or a completion. With contention, and for energy and EDP, a
start in between can pay, if a job then runs just while another keeps the processor busy: ``docs/guides/optimum.md`` has
an example.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.machine.placement import Placement
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.records.metrics import energy_delay_product, makespan
from schedulers.optimum.board import Board
from schedulers.optimum.bounds import LowerBounds
from schedulers.optimum.known_schedule import Follow, Scheduled
from schedulers.optimum.position import Position

if TYPE_CHECKING:
    from cluster_sim.workload.workload import Workload

Objective = Literal["energy", "makespan", "edp"]
TreeOrder = Annotated[Literal["depth", "breadth"], Doc("look at the deepest positions first, or at the shallowest")]
OBJECTIVES: Mapping[Objective, str] = {"energy": "energy_j", "makespan": "makespan_s", "edp": "edp_js"}
"""Metrics of a run that can be minimised."""

TOLERANCE = 1e-12
"""Relative gain below which better schedules are not looked for: that much is rounding."""

MOST_REMEMBERED = 200_000
"""Positions kept to recognise those that come again; some hundred MB."""

FEW_JOBS = 200


@dataclass(frozen=True)
class Optimum:
    """The best schedule that was found, and how good any schedule could be.

    ``value`` is its energy (J), makespan (s) or EDP (J·s); ``schedule`` its starts, in order. ``proven`` says that no
    schedule of the family has less; none has less than ``lower_bound`` in any case. ``nodes_explored`` counts the
    positions of the search that were looked at.
    """

    objective: Objective
    waiting: bool
    value: float
    schedule: tuple[Scheduled, ...]
    proven: bool
    lower_bound: float
    nodes_explored: int

    @property
    def gap(self) -> float:
        """Return by how much of itself ``value`` may lie above the optimum; 0 when proven."""
        return 1.0 - self.lower_bound / self.value if self.value and not self.proven else 0.0

    def scheduler(self) -> Follow:
        """Return a scheduler that follows the schedule, to see it in a simulation."""
        return Follow(self.schedule, f"optimum of {self.objective}{', with waiting' if self.waiting else ''}")


@checked
def optimum(
    platform: Platform,
    workload: Workload,
    objective: Annotated[Objective, Doc("what is to be least")] = "energy",
    waiting: Annotated[bool, Doc("also schedules in which a job waits although it would fit")] = False,
    max_nodes: Annotated[int, Ge(1), Doc("give up after N positions")] = 1_000_000,
    max_seconds: Annotated[float, Gt(0), Doc("give up after S seconds; by default never")] = math.inf,
    order: TreeOrder = "depth",
) -> Optimum:
    """Find the schedule of least energy, makespan or EDP (``objective``), with deliberate waiting or without.

    The search ends when the schedule is proven to be best, after ``max_nodes`` positions, or ``max_seconds`` of
    wall-clock time (with which the answer depends on the computer); then ``proven`` is False, and the answer is the
    best so far. Work grows exponentially with the jobs: of a handful of different ones the optimum takes
    seconds, with waiting or of more than about ten it may not be proven.

    Contention and power are those of the platform's models; run times are the true ones; nodes are always on, there is
    no network, no memory limit, and jobs are not killed. Jobs that the platform can never hold are left out, as a
    simulation rejects them. Raises InputError for nodes that start OFF, and when no job fits. So it does for jobs with
    wishes that the search does not know (``schedulers.optimum.board.UNSUPPORTED``).
    """
    board = Board.of(platform, workload)
    if not board.jobs:
        raise InputError("optimum, workload", "a job that the platform can hold", f"{len(workload)} jobs")
    return BranchAndBound(board, objective, waiting, order).run(
        board.start(), max_nodes, time.monotonic() + max_seconds
    )


class BranchAndBound:
    """Branch and bound over the positions of a board, depth first or breadth first.

    Depth first goes on from the newest position, of its followers the most promising one first. Breadth first goes on
    from the oldest one, so it looks at all positions with as many decisions before any with one more. Either starts with
    the best of a few greedy schedules, and drops what cannot be better than the best schedule so far.
    """

    def __init__(self, board: Board, objective: Objective, waiting: bool = False, order: TreeOrder = "depth"):
        self._board = board
        self._bounds = LowerBounds(board)
        self._objective = objective
        self._waiting = waiting
        self._order = order
        self._best: Position | None = None
        self._value = math.inf
        self._least_spent: dict[object, float] = {}  # with which a position has been reached, by its key

    def run(self, start: Position, max_nodes: int, deadline: float = math.inf) -> Optimum:
        """Search from a position on until the best is proven, or a limit is reached."""
        # Every position of a large instance has many moves: only the order that needs no comparing is quick there.
        for width_sign in (0, 1, -1) if len(self._board.jobs) <= FEW_JOBS else (0,):
            self._take_greedy(start, width_sign)
        explored = 0
        open_positions = deque([(self._bound(start), start)])
        depth_first = self._order == "depth"
        take = open_positions.pop if depth_first else open_positions.popleft
        while open_positions and explored < max_nodes and time.monotonic() < deadline:
            bound, position = take()
            if self._is_worth(bound):
                explored += 1
                children = [(self._bound(child), child) for child in self._children(position)]
                children.sort(key=lambda child: child[0])  # stable: starting goes before waiting
                best_last = reversed(children) if depth_first else children
                open_positions.extend(child for child in best_last if self._is_worth(child[0]))
        least_open = min([bound for bound, _ in open_positions], default=math.inf)
        assert self._best is not None
        proven = not self._is_worth(least_open)
        bound = self._value if proven else least_open
        starts = []
        entry = self._best.started
        while entry is not None:
            job = self._board.jobs[entry.move.job]
            starts.append(Scheduled(job.job_id, entry.time, Placement.on(dict(entry.move.cores))))
            entry = entry.before
        schedule = tuple(reversed(starts))
        return Optimum(self._objective, self._waiting, self._value, schedule, proven, bound, explored)

    def _take_greedy(self, start: Position, width_sign: int) -> None:
        """Make a schedule to compare with, that starts whatever fits: the first job, the narrowest (1) or the widest (-1)."""
        board, position = self._board, start
        while not board.is_over(position):
            moves = board.moves(position)
            if width_sign:
                move = min(moves, key=lambda move: width_sign * board.jobs[move.job].requested_cores, default=None)
            else:
                move = next(moves, None)
            position = board.advance(position) if move is None else board.place(position, move)
            position.last = None  # the order of starts in an instant is the greedy one's, not the search's
        self._take(position)

    def _children(self, position: Position) -> Iterator[Position]:
        """Yield what can come next: one more start in this instant, or the next instant."""
        board = self._board
        for move in board.moves(position):
            yield board.place(position, move)
        if board.next_instant(position) < math.inf and (self._waiting or not board.can_start_any(position)):
            after = board.advance(position)
            if board.is_over(after):
                self._take(after)
            elif self._is_new(after):
                yield after

    def _is_new(self, position: Position) -> bool:
        """Return whether the position has not been reached before at no more cost; remember it."""
        spent = 0.0 if self._objective == "makespan" else position.energy
        if position.key in self._least_spent:
            if spent >= self._least_spent[position.key] * (1.0 - TOLERANCE):
                return False
        elif len(self._least_spent) >= MOST_REMEMBERED:
            return True
        self._least_spent[position.key] = spent
        return True

    def _take(self, position: Position) -> None:
        value = self._value_of(position.now, position.energy)
        if value < self._value:
            self._value, self._best = value, position

    def _bound(self, position: Position) -> float:
        return self._value_of(*self._bounds.of(position))

    def _value_of(self, end: float, energy: float) -> float:
        span = makespan(self._board.first_submission, end)
        if self._objective == "energy":
            return energy
        return span if self._objective == "makespan" else energy_delay_product(energy, span)

    def _is_worth(self, bound: float) -> bool:
        return bound < self._value * (1.0 - TOLERANCE)
