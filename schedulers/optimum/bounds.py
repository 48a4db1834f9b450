"""Lower bounds: how early a run can end from a position on, and how little energy it can still need.

Contention only makes tasks slower, so every bound takes jobs at full speed. It need not be reached: contention and
cores that stay idle are what lies between it and the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedulers.optimum.board import Board
    from schedulers.optimum.position import Position


class LowerBounds:
    """Lower bounds on the end (s) and the energy (J) of every run that goes on from a position.

    *End.* No job ends before its remaining work is done at full speed on the fastest cores it may get, counted from now
    or from its submission. And for every width w: a node of c cores has ⌊c / w⌋ slots of w cores. A job on one node
    with k cores takes ⌊k / w⌋ of them at a time. So the work left, in slot-seconds, takes all slots of the platform at
    least so long. (w = 1: core-seconds, also of jobs on several nodes.)

    *Energy.* Watts of a processor with b busy cores are at least ``floor + S·[b ≥ 1] + D·b``; the three are worked out from
    the power model (``linear``: idle, static − idle, dynamic). What was spent; floor until the end; D for the core-seconds
    left; S for as long as the jobs that run now keep their processors busy; and for work to come that does not fit on
    the idle cores beside them meanwhile, its share of an S, as if it filled a processor. Where watts follow the tasks'
    speeds this does not hold: there the bound is what was spent.
    """

    def __init__(self, board: Board):
        self._board = board
        tables = [decomposed(table) for table in board.tables]
        self._static = [tables[kind][1] for kind in board.type_of]
        self._dynamic = [tables[kind][2] for kind in board.type_of]
        self._floor = sum(tables[kind][0] for kind in board.type_of)
        self._cheapest_share: float = min(
            static / cores for static, cores in zip(self._static, board.cores, strict=True)
        )
        seconds: list[list[float]] = [[sum(s for s, _ in phases) for phases in by_type] for by_type in board.phases]
        #: Shortest run time of each job, and least dynamic energy of one of its tasks.
        self._shortest: list[float] = [min(times) for times in seconds]
        self._least_j: list[float] = [
            min(t * table[2] for t, table in zip(times, tables, strict=True)) for times in seconds
        ]
        self._cores = [job.requested_cores for job in board.jobs]
        nodes = [sum(board.cores[p] for p in processors) for processors in board.processors]
        on_one_node = [not wide and shape is None for wide, shape in zip(board.wide, board.shapes, strict=True)]
        #: (slots of a width, how many of them each job takes)
        self._slots = [
            (
                sum(cores // width for cores in nodes),
                [k // width if one or width == 1 else 0 for k, one in zip(self._cores, on_one_node, strict=True)],
            )
            for width in sorted({1, *(k for k, one in zip(self._cores, on_one_node, strict=True) if one)})
        ]

    def of(self, position: Position) -> tuple[float, float]:
        """Return (earliest end, least energy)."""
        board, now = self._board, position.now
        left = dict.fromkeys(position.running, 0.0)  # s that each running job still takes at least
        for groups in position.groups:
            for group in groups:
                left[group.owner] = max(left[group.owner], group.left(now))
        waiting = (*position.pending, *range(position.arrived, len(board.jobs)))
        end = now + max(left.values(), default=0.0)
        for job in waiting:
            end = max(end, max(now, board.jobs[job].submit_time) + self._shortest[job])
        for slots, taken in self._slots:
            work = sum(taken[job] * seconds for job, seconds in left.items())
            work += sum(taken[job] * self._shortest[job] for job in waiting)
            end = max(end, now + work / slots)
        if board.follows_rates:
            return end, position.energy
        energy, beside = 0.0, 0.0  # J; core-seconds that are idle beside jobs that run
        busy_for: dict[int, float] = {}
        for job, pieces in position.running.items():
            for processor, cores in pieces:
                energy += cores * left[job] * self._dynamic[processor]
                beside -= cores * left[job]
                busy_for[processor] = max(busy_for.get(processor, 0.0), left[job])
        for processor, seconds in busy_for.items():
            energy += seconds * self._static[processor]
            beside += seconds * self._board.cores[processor]
        work = sum(self._cores[job] * self._shortest[job] for job in waiting)
        energy += sum(self._cores[job] * self._least_j[job] for job in waiting)
        above_floor = energy + max(0.0, work - beside) * self._cheapest_share
        return end, position.energy + self._floor * (end - now) + above_floor


def decomposed(table: Sequence[float]) -> tuple[float, float, float]:
    """Return (floor, static, dynamic): floor + static·[b ≥ 1] + dynamic·b is never more than ``table[b]`` W."""
    floor = min(table)
    dynamic = max(0.0, min((b - a for a, b in pairwise(table[1:])), default=0.0))
    dynamic = min([dynamic, *((watts - floor) / busy for busy, watts in enumerate(table) if busy)])
    static = min(watts - floor - dynamic * busy for busy, watts in enumerate(table) if busy)
    return floor, max(0.0, static), dynamic
