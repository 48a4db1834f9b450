"""A power budget: what the whole machine may draw, and whether a job can start under it.

The budget looks at what the machine may *come to* draw. Besides what it draws now, that is what has begun and costs more
later: nodes that boot for a job will compute, a node that boots will idle, a processor that runs slower for one job goes
back to its clock. A job starts only if all that, and the job, fit under the limit, so that the draw never exceeds it.
The budget does not control what is done from outside: a repaired node that boots, or a clock that a user's process raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.errors import InputError, PlacementError
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.power.draw_bound import DrawBound, Holder
from cluster_sim.machine.power.lone_draw import LoneDraw
from cluster_sim.machine.reason import FITS, Reason, ReasonKind
from cluster_sim.registry import describe

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.node import MachineParts
    from cluster_sim.platform.platform import ProcessorType
    from cluster_sim.workload.jobs import Job

ROUNDING = 1e-9
"""Sums of watts may be off by that much of the limit."""

Again = Callable[["npt.NDArray[np.float64] | None", "npt.NDArray[np.integer] | None"], "Placement | None"]
"""Looks for another placement of a job: by another order of the nodes, or with at most so many cores on each."""


class Budget:
    """What the machine may draw: here, as much as it will."""

    #: The jobs that the limit has kept from starting in this instant, by index.
    refused: Mapping[int, Job] = MappingProxyType({})
    is_set = False  #: True if a power policy has set a limit, be it inf.
    limit_w = float("inf")  #: W.
    #: When (s) the limit first and last kept a job from starting, and which (W), by index of the job.
    kept_back: Mapping[int, list[tuple[float, float, float]]] = MappingProxyType({})
    #: The limits of the run so far, this one last: since when (s), and which (W).
    limits: Sequence[tuple[float, float]] = ()

    def allows(self, job: Job, placement: Placement, p_state: int | None = None) -> bool:
        """Return whether a job can start there now, in that p-state of its processors if one is given.

        Raises PlacementError if they have no such state.
        """
        return True

    def fit(
        self, job: Job, placement: Placement, again: Again, within: npt.NDArray[np.integer] | None
    ) -> Placement | None:
        """Return the placement if it is allowed, else another ``within`` these cores of each node; None: none is."""
        return placement

    def refuse(self, job: Job) -> None:
        """Note that the limit keeps a job from starting now."""

    def require(self, job: Job, placement: Placement, p_state: int | None) -> Mapping[int, ProcessorType]:
        """Return what :meth:`slow_down` has to do for a job to start there now. Raises PlacementError if it cannot."""
        return {}

    def slow_down(self, kinds: Mapping[int, ProcessorType]) -> None:
        """Have processors run at other clocks, until :meth:`faster` says that they can go back."""

    def faster(self) -> list[tuple[int, int]]:
        """Return (processor, p-state) of slowed processors that there is room to speed up again, least watts first."""
        return []

    def start(self, holder: Holder) -> None:
        """Count in a job that has been allocated its cores."""

    def why_not(self) -> Reason:
        """Return why a job waits."""
        return FITS

    def why_never(self, job: Job) -> str:
        """Say why a job could not start even if nothing else ran; empty if it could."""
        return ""


UNLIMITED = Budget()
"""The budget of a machine for which no power policy has set a limit."""


class PowerBudget(DrawBound, Budget):
    """A limit in W for a machine on which jobs are ``running``; with ``slow``, processors may be slowed to make room for a job.

    It takes the place of the ``last`` one. Raises InputError when even what the machine draws now, and will by
    what has been decided, does not fit, or when the power model cannot be bounded: its watts have to grow with the busy cores,
    and to be greatest where nothing slows the tasks.
    """

    is_set = True

    def __init__(
        self,
        machine: MachineParts,
        clocks: JobClocks,
        limit_w: float,
        slow: bool = False,
        holders: Iterable[Holder] = (),
        last: Budget = UNLIMITED,
    ):
        super().__init__(machine, clocks, holders)
        self._of_what = "that it draws, or will by what is decided" if self._booting else "of the idle machine"
        self.limit_w = limit_w
        self.slow = slow
        own = last if isinstance(last, PowerBudget) else None
        self.kept_back: dict[int, list[tuple[float, float, float]]] = {} if own is None else own.kept_back
        self.limits: list[tuple[float, float]] = [] if own is None else own.limits
        if own is None or limit_w != own.limit_w:
            self.limits.append((machine.env.now, limit_w))
        self._refused: dict[int, Job] = {}
        self._refused_at = -1.0  # the instant of these refusals, s
        self._most_w = limit_w * (1.0 + ROUNDING)
        # The p-state in which each slowed processor ran before.
        self._slowed: dict[int, int] = {} if own is None else own._slowed
        self._ladders: dict[str, list[int]] = {}
        expected = "a power model whose watts grow with the busy cores and are greatest at full speed"
        name = describe(machine.models.power)
        if machine.power.follows_rates and not getattr(machine.models.power, "draws_most_at_full_speed", False):
            raise InputError("power cap", expected, name)
        for kind in machine.platform.processor_types:
            for state in range(max(len(kind.p_states), 1)):
                table = self._table(kind.in_p_state(state))
                if any(after < before for before, after in pairwise(table)):
                    found = f"{name} with the watts of processor type '{kind.name}'"
                    raise InputError("power cap", expected, found)
        if limit_w < float("inf"):
            steps = self._room_for({}, None)
            if steps is None:
                raise InputError("power cap", f"at least the {self._bound({}):g} W {self._of_what}", self.limit_w)
            self.slow_down(steps)

        def least_table(kind: ProcessorType) -> tuple[float, ...]:
            """Return W for 0, 1, … cores busy in the p-state that draws least at full load."""
            return self._table(kind.in_p_state(self._ladder(kind)[-1]) if kind.p_states else kind)

        self._lone = LoneDraw(machine, least_table if slow else self._table)

    # ------------------------------------------------------------------ whether a job can start

    def allows(self, job: Job, placement: Placement, p_state: int | None = None) -> bool:
        return self.limit_w == float("inf") or self._steps(job, placement, p_state) is not None

    def fit(
        self, job: Job, placement: Placement, again: Again, within: npt.NDArray[np.integer] | None
    ) -> Placement | None:
        if self.allows(job, placement):
            return placement
        other = again(*self._elsewhere(job, placement, within))
        if other is not None and self.allows(job, other):
            return other
        self.refuse(job)
        return None

    @property
    def refused(self) -> dict[int, Job]:  # type: ignore[override]  # it changes with the clock
        return self._refused if self._refused_at == self._machine.env.now else {}

    def refuse(self, job: Job) -> None:
        now = self._machine.env.now
        self._refused, self._refused_at = self.refused, now
        self._refused[job.index] = job
        spells = self.kept_back.setdefault(job.index, [])
        since = spells.pop()[0] if spells and spells[-1][2] == self.limit_w else now
        spells.append((since, now, self.limit_w))

    def require(self, job: Job, placement: Placement, p_state: int | None) -> dict[int, ProcessorType]:
        if self.limit_w == float("inf"):
            return {}
        steps = self._steps(job, placement, p_state)
        if steps is None:
            self.refuse(job)
            raise PlacementError(f"job {job.job_id} may not start on {placement!r} now: {self.why_not()}")
        return steps

    def _steps(self, job: Job, placement: Placement, p_state: int | None) -> dict[int, ProcessorType] | None:
        try:
            return self._room_for(self._cores_on(placement), p_state, self._unit_watts(job, placement))
        except InputError as error:  # as JobClocks.choose has it where there is no cap
            raise PlacementError(f"on {placement!r}: {error}") from None

    def _unit_watts(self, job: Job, placement: Placement) -> float:
        """Return what the job's counted resources draw more when they are busy, W."""
        resources = self._machine.cores.resources
        return sum(resources.busy_watts(resources.holds(job, placement)).values()) if resources.asked else 0.0

    def why_not(self) -> Reason:
        return Reason(ReasonKind.CAPPED, amount=self.limit_w)

    def why_never(self, job: Job) -> str:
        if self.limit_w == float("inf"):
            return ""
        least = self._lone.watts(job)
        return f"with nothing else running, the machine would draw {least:g} W, the power cap is {self.limit_w:g} W" * (
            least > self._most_w
        )

    def _cores_on(self, placement: Placement) -> dict[int, int]:
        """Return cores of each processor that a placement takes: idle ones in processor order."""
        machine, cores = self._machine, {}
        for node, wanted in placement.cores_by_node().items():
            for processor in machine.cores.processors_of(node):
                taken = min(machine.cores.free_mask[processor].bit_count(), wanted)
                if taken:
                    cores[processor] = taken
                    wanted -= taken
        return cores

    # ------------------------------------------------------------------ another placement

    def _elsewhere(
        self, job: Job, placement: Placement, within: npt.NDArray[np.integer] | None
    ) -> tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.integer] | None]:
        """Return where to look instead: for a job on one node, where it is allowed; else on nodes that cost least a core."""
        machine, unit_w = self._machine, self._unit_watts(job, placement)
        free = machine.cores.free if within is None else np.minimum(machine.cores.free, within)
        usable = machine.nodes.is_on | machine.nodes.is_off
        one = len(placement.spans) == 1 and placement.spans[0][1] - placement.spans[0][0] == 1
        cores = placement.spans[0][2] if one else 1
        order = np.full(len(free), np.inf)
        costs: dict[object, float] = {}
        for node in np.flatnonzero(usable & (free >= cores)).tolist():
            taken = cores if one else int(free[node])
            processors = machine.cores.processors_of(node)
            kinds = [
                (id(machine.type_of[p]), machine.power.busy[p], machine.cores.free_mask[p].bit_count())
                for p in processors
            ]
            # Nodes with the same key cost the same.
            key = tuple(kinds), machine.node(node).state, machine.platform.type_of_node[node], taken
            if key not in costs:
                extra = self._cores_on(Placement.on({node: taken}))
                # A job on one node costs nothing where it is allowed, else inf; a wider one costs W per core.
                if one:
                    costs[key] = 0.0 if self._room_for(extra, None, unit_w) is not None else np.inf
                else:
                    costs[key] = (self._bound(extra) - self._bound({})) / taken
            order[node] = costs[key]
        if not one:
            return order, within
        return None, np.where(order < np.inf, free, 0)

    # ------------------------------------------------------------------ slower and faster

    def _room_for(
        self, extra: Mapping[int, int], p_state: int | None, unit_w: float = 0.0
    ) -> dict[int, ProcessorType] | None:
        """Return the clocks at which ``extra`` busy cores fit, as few changes as need be; None if they fit at none.

        Beside them, counted resources draw ``unit_w`` more.

        Of all processors, the one that draws most goes down by one p-state, until there is room.
        """
        bound = self._bound(extra, p_state) + unit_w
        if bound <= self._most_w:
            return {}
        if not self.slow:
            return None
        kinds: dict[int, ProcessorType] = {}
        cores = self._pledged()
        for processor, count in extra.items():
            cores[processor] = cores.get(processor, 0) + count
        fixed = extra if p_state is not None else {}
        machine, heap = self._machine, []
        for processor, kind in enumerate(machine.type_of):
            # Only clocks that count may change, and not while a job runs in a p-state of its own.
            if kind.p_states and processor not in self._clocks.before and kind.p_state is not None:
                node = machine.cores.node_of(processor)
                counts = processor in cores or machine.nodes.powered_on[node] or not machine.nodes.powered_off[node]
                if counts and processor not in fixed:
                    heap.append((-self._watts_of(processor, kind, cores), processor, kind))
        heapify(heap)
        while heap:
            _, processor, kind = heappop(heap)
            ladder = self._ladder(kind)
            place = ladder.index(kind.p_state or 0)
            if place + 1 == len(ladder):
                continue
            lower = kind.in_p_state(ladder[place + 1])
            node = machine.cores.node_of(processor)
            bound -= self._node_bound(node, cores, extra, p_state, kinds)
            kinds[processor] = lower
            bound += self._node_bound(node, cores, extra, p_state, kinds)
            if bound <= self._most_w:
                return kinds
            heappush(heap, (-self._watts_of(processor, lower, cores), processor, lower))
        return None

    def _watts_of(self, processor: int, kind: ProcessorType, cores: Mapping[int, int]) -> float:
        return self._table(kind)[self._machine.power.busy[processor] + cores.get(processor, 0)]

    def _ladder(self, kind: ProcessorType) -> list[int]:
        """Return the p-states of a type from the one that draws most at full load to the one that draws least."""
        ladder = self._ladders.get(kind.name)
        if ladder is None:
            states = range(len(kind.p_states))
            ladder = sorted(states, key=lambda state: -self._table(kind.in_p_state(state))[-1])
            self._ladders[kind.name] = ladder
        return ladder

    def slow_down(self, kinds: Mapping[int, ProcessorType]) -> None:
        for processor, kind in kinds.items():
            self._slowed.setdefault(processor, self._machine.type_of[processor].p_state or 0)
            self._machine.processor(processor).set_p_state(kind.p_state or 0)

    def faster(self) -> list[tuple[int, int]]:
        machine = self._machine
        if not self._slowed:
            return []
        bound, cores = self._bound({}), self._pledged()
        kinds: dict[int, ProcessorType] = {}
        heap = []
        for processor in list(self._slowed):
            kind = machine.type_of[processor]
            if processor not in self._clocks.before:
                heap.append((self._watts_of(processor, kind, cores), processor, kind))
        heapify(heap)
        while heap:
            _, processor, kind = heappop(heap)
            ladder, home = self._ladder(kind), self._slowed[processor]
            place = len(ladder) if kind.p_state is None else ladder.index(kind.p_state)
            if kind.p_state is None or place <= ladder.index(home):
                del self._slowed[processor]
                continue
            higher = kind.in_p_state(ladder[place - 1])
            node = machine.cores.node_of(processor)
            raised = bound - self._node_bound(node, cores, {}, None, kinds)
            raised += self._node_bound(node, cores, {}, None, {**kinds, processor: higher})
            if not machine.nodes.powered_off[node] and raised > self._most_w:
                continue
            bound, kinds[processor] = raised, higher
            heappush(heap, (self._watts_of(processor, higher, cores), processor, higher))
        return [(processor, kind.p_state or 0) for processor, kind in kinds.items()]
