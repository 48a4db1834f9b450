"""Energy accounts: every joule goes to a tenant (an attempt of a job), to idle hardware, to a transition or to being off.

* A busy processor's power is shared by its tenants: each pays for its cores, and for its share by cores held of what
  the processor draws beside them (``PowerModel.shared_watts``).
* A tenant pays for its GPUs and other counted units while its tasks run; idle units count as idle processors do.
* What an idle processor draws is *unused* if its node computes on another processor, else *idle*; no tenant pays for it.
* A node that is not on draws what its state says.

jobs + unused + idle + switching on + switching off + off = ∫ power. Ordinary nodes are done in bulk; a node whose clock
changed, or whose processors drew nothing until used and that was also switched, by :func:`sweep`, which takes one node
through its events one by one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cluster_sim.machine.core_ranges import Holds, busy_intervals, cut, seconds_in_runs, spread, steps
from cluster_sim.machine.node import NodeState
from cluster_sim.machine.transition_log import CODES, TransitionLog
from cluster_sim.machine.units.unit_hold import ANYWHERE
from cluster_sim.platform.platform import Platform, ProcessorType
from cluster_sim.workload.resource_request import GPU, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, HeldCores, Ints, Runs
    from cluster_sim.machine.ledger import TimedUnits
    from cluster_sim.models.power import PowerModel

Row = TypeVar("Row", bound=tuple[Any, ...])


@dataclass(slots=True)
class EnergyAccounts:
    """Energy in joules: of each tenant, shape (tenants,), and of each node by state, shape (nodes,) each."""

    tenants: Floats
    unused: Floats  #: Idle processors of computing nodes; part of COMPUTING in :attr:`nodes`.
    core_s: Floats  #: Busy core-seconds of each processor, shape (processors,).
    nodes: dict[NodeState, Floats] = field(default_factory=dict)
    gpus_j: float = 0.0  #: Part of IDLE and COMPUTING that GPUs drew.
    idle_cores: dict[int, float] = field(default_factory=dict)
    """J of the idle cores of a node's processors while it computed, of each node that :func:`sweep` has charged."""
    used_s: Floats | None = None
    """s that each processor's node computed after the processor's own first use, where others draw nothing (quirk)."""

    @property
    def total(self) -> float:
        """Return the energy of the whole platform, J."""
        return float(sum(energy.sum() for energy in self.nodes.values()))


@dataclass(frozen=True)
class History:
    """What happened to the hardware: the records that the accounts are made from.

    ``holds`` are the cores in use, from the start of the tasks on. ``transitions`` are (time, node, state, watts when not
    on); ``clock_changes`` are (time, processor, its type from then on). All end at ``horizon`` (s).
    """

    platform: Platform
    power: PowerModel
    tenants: int
    holds: Holds
    transitions: TransitionLog
    clock_changes: list[tuple[float, int, ProcessorType]]
    horizon: float
    unused_draw_nothing: bool = False
    rated_watts: list[tuple[float, int, float, dict[int, float]]] = field(default_factory=list)
    """(time, processor, shared W, W of each tenant) where the power model follows the tasks' speeds."""
    units: list[TimedUnits] = field(default_factory=list)  #: Counted resources that jobs held.

    @cached_property
    def off_intervals(self) -> tuple[Ints, npt.NDArray[np.uint8], Floats, Floats, Floats]:
        """Return when nodes were not on: (node, code of the state, start, end, W), by node and time."""
        log = self.transitions
        by_node = np.argsort(log.nodes, kind="stable")
        node, code, start, watts = (column[by_node] for column in (log.nodes, log.codes, log.times, log.watts))
        end = np.append(start[1:], self.horizon)[: len(start)]
        end[:-1][node[1:] != node[:-1]] = self.horizon
        kept = (code != CODES[NodeState.IDLE]) & (end > start)
        node, code, start, end, watts = (column[kept] for column in (node, code, start, end, watts))
        joins = goes_on(node, code, start, end) & (watts[1:] == watts[:-1])
        first, last = np.append(True, ~joins)[: len(node)], np.append(~joins, True)[: len(node)]
        return node[first], code[first], start[first], end[last], watts[first]

    @cached_property
    def transitions_by_node(self) -> dict[int, list[tuple[float, int, NodeState, float]]]:
        return _by_unit(self.transitions)

    @cached_property
    def clocks_by_processor(self) -> dict[int, list[tuple[float, int, ProcessorType]]]:
        return _by_unit(self.clock_changes)

    @cached_property
    def rates_by_processor(self) -> dict[int, list[tuple[float, int, float, dict[int, float]]]]:
        return _by_unit(self.rated_watts)


def _by_unit(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Return the rows (time, node or processor, …) of each node or processor, in their order."""
    by_unit: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_unit[row[1]].append(row)
    return by_unit


def goes_on(node: Ints, code: npt.NDArray[np.uint8], start: Floats, end: Floats) -> npt.NDArray[np.bool_]:
    """Return for each interval but the first whether it goes on with the one before: the node was on for no time.

    It was then for a job that took none. No boot goes on with another: a failure and a repair of one instant have it begin anew.
    """
    same = (node[1:] == node[:-1]) & (code[1:] == code[:-1]) & (start[1:] == end[:-1])
    joins: npt.NDArray[np.bool_] = same & (code[1:] != CODES[NodeState.SWITCHING_ON])
    return joins


def node_bounds(platform: Platform) -> Ints:
    """Return the first core of each node, and the core count, shape (nodes + 1,)."""
    return platform.first_core[platform.first_processor]


def computing_seconds(holds: Holds, platform: Platform) -> Floats:
    """Return how long some core of each node is in use, s, shape (nodes,)."""
    runs, pieces = cut(holds, node_bounds(platform))
    table = steps(pieces)
    busy = np.bincount(table.unit, table.seconds * (table.cores > 0), platform.node_count)
    return np.maximum(
        seconds_in_runs(runs, platform.node_count) + busy, 0.0
    )  # not -1e-13 for a node that computed nothing


def settle(history: History) -> EnergyAccounts:
    """Return the accounts of a run."""
    platform = history.platform
    accounts = EnergyAccounts(
        np.zeros(history.tenants),
        np.zeros(platform.node_count),
        np.zeros(platform.processor_count),
        {state: np.zeros(platform.node_count) for state in NodeState},
    )
    changed = {p for _, p, _ in history.clock_changes} | {p for _, p, _, _ in history.rated_watts}
    special = {int(np.searchsorted(platform.first_processor, p, "right")) - 1 for p in changed}
    if history.unused_draw_nothing:
        special |= set(history.transitions.nodes.tolist())
    holds = history.holds
    if special:
        rest, particular = _parted(holds, special, platform)
        for node, rows in particular.items():
            sweep(history, node, rows, accounts)
        holds = rest
    _settle_in_bulk(history, holds, special, accounts)
    if any(kind.resources for kind in platform.node_types):
        _settle_units(history, accounts)
    return accounts


def _settle_units(history: History, accounts: EnergyAccounts) -> None:
    """Add what counted resources drew: a tenant pays for its units while its tasks run, at their idle watts and above.

    Idle units are idle, or, on a computing node, unused.
    """
    platform = history.platform
    computing_s = computing_seconds(history.holds, platform)
    node, _, start, end, _ = history.off_intervals
    on_s = history.horizon - np.bincount(node, end - start, platform.node_count)
    idle_s = np.maximum(on_s - computing_s, 0.0)
    for name in platform.resource_names:
        kinds = [kind.resources.get(name) for kind in platform.node_types]
        idle_w = np.array([0.0 if kind is None else kind.count * kind.idle_w for kind in kinds])[platform.type_of_node]
        computing_j, idle_j = idle_w * computing_s, idle_w * idle_s
        paid_j = np.zeros(platform.node_count)
        for tenant, hold, _, loaded, until in history.units:
            if hold.resource == name and hold.node != ANYWHERE and until > loaded:
                kind = kinds[platform.type_of_node[hold.node]]
                assert kind is not None
                unit_s = hold.number * hold.share / WHOLE * (until - loaded)
                paid_j[hold.node] += kind.idle_w * unit_s
                computing_j[hold.node] += kind.busy_w * unit_s
                accounts.tenants[tenant] += (kind.idle_w + kind.busy_w) * unit_s
        accounts.unused += idle_w * computing_s - paid_j
        accounts.nodes[NodeState.COMPUTING] += computing_j
        accounts.nodes[NodeState.IDLE] += idle_j
        if name == GPU:
            accounts.gpus_j = float(computing_j.sum() + idle_j.sum())


def _parted(
    holds: Holds, special: set[int], platform: Platform
) -> tuple[Holds, dict[int, list[tuple[int, int, int, float, float]]]]:
    """Return the holds on ordinary nodes, and for each special node its rows (tenant, processor, cores, start, end)."""
    bounds = platform.first_core
    runs, pieces = cut(holds, bounds)
    tenant, unit, start, end = runs.expanded()
    cores = np.diff(bounds)[unit]
    columns = (
        np.concatenate([pieces.tenant, tenant]),
        np.concatenate([pieces.unit, unit]),
        np.concatenate([pieces.cores, cores]),
        np.concatenate([pieces.start, start]),
        np.concatenate([pieces.end, end]),
    )
    node = np.searchsorted(platform.first_processor, columns[1], "right") - 1
    apart = np.isin(node, list(special))
    particular: dict[int, list[tuple[int, int, int, float, float]]] = {number: [] for number in special}
    for number, *row in zip(node[apart].tolist(), *(column[apart].tolist() for column in columns), strict=True):
        particular[number].append(tuple(row))
    kept = [column[~apart] for column in columns]
    # Which cores exactly no longer matters; from a processor's first core on is as good as any.
    rest = Holds(kept[0], bounds[kept[1]], bounds[kept[1]] + kept[2] - 1, kept[3], kept[4])
    return rest, particular


# ---------------------------------------------------------------------- ordinary nodes, in bulk


def _settle_in_bulk(history: History, holds: Holds, special: set[int], accounts: EnergyAccounts) -> None:
    platform, power = history.platform, history.power
    kinds = platform.processor_types
    kind = platform.type_of_processor
    ordinary = np.ones(platform.node_count, bool)
    ordinary[list(special)] = False
    node_of = np.repeat(np.arange(platform.node_count), np.diff(platform.first_processor))

    runs, pieces = cut(holds, platform.first_core)
    full = np.array([power.shared_watts(k, k.cores) + k.cores * power.core_watts(k, k.cores) for k in kinds])[kind]
    # Charge tenants for the processors that they hold alone, then for those that they share.
    summed = np.concatenate([[0.0], np.cumsum(full)])
    energy = (summed[runs.stop] - summed[runs.first]) * (runs.end - runs.start)
    accounts.tenants += np.bincount(runs.tenant, energy, len(accounts.tenants))
    busy_s = seconds_in_runs(runs, len(full))
    accounts.core_s += busy_s * np.diff(platform.first_core)
    busy_j = busy_s * full
    shared_j, shared_s = _settle_pieces(pieces, kind, kinds, power, accounts)
    busy_j += shared_j
    busy_s += shared_s

    idle_w = np.array([power.idle_watts(k) for k in kinds])[kind]
    on_s = np.full(platform.node_count, history.horizon, np.float64)
    _settle_transitions(history, ordinary, on_s, accounts)
    drawing_s = on_s[node_of]
    if history.unused_draw_nothing:
        drawing_s = drawing_s - _first_use(runs, pieces, platform.processor_count, history.horizon)
    per_processor = ordinary[node_of]
    idle_j = np.where(per_processor, idle_w * np.maximum(drawing_s - busy_s, 0.0), 0.0)

    # Of a node with several processors, some may idle while another computes.
    starts = platform.first_processor[:-1]
    if platform.processor_count == platform.node_count:
        computing_idle_j = np.zeros(platform.node_count)
    else:
        computing_s = computing_seconds(holds, platform)
        idle_while_computing = np.maximum(computing_s[node_of] - busy_s, 0.0)
        if history.unused_draw_nothing:
            # A processor draws from its own first use on, while its node computes.
            first = _first_use(runs, pieces, platform.processor_count, history.horizon)
            node, start, end = busy_intervals(holds, node_bounds(platform))
            accounts.used_s = np.zeros(platform.processor_count)
            by_node = np.searchsorted(node, np.arange(platform.node_count + 1))
            for processor, number in enumerate(node_of.tolist()):
                rows = slice(by_node[number], by_node[number + 1])
                used_s = np.maximum(end[rows] - np.maximum(start[rows], first[processor]), 0.0)
                accounts.used_s[processor] = used_s.sum()
            idle_while_computing = np.maximum(accounts.used_s - busy_s, 0.0)
        computing_idle_j = np.add.reduceat(np.where(per_processor, idle_w * idle_while_computing, 0.0), starts)
    accounts.unused += computing_idle_j
    accounts.nodes[NodeState.COMPUTING] += np.add.reduceat(busy_j, starts) + computing_idle_j
    accounts.nodes[NodeState.IDLE] += np.add.reduceat(idle_j, starts) - computing_idle_j


def _settle_pieces(
    pieces: HeldCores,
    kind: npt.NDArray[np.int32],
    kinds: tuple[ProcessorType, ...],
    power: PowerModel,
    accounts: EnergyAccounts,
) -> tuple[Floats, Floats]:
    """Charge tenants for processors they share; energy and busy seconds of each processor."""
    table = steps(pieces)
    most = max(k.cores for k in kinds)
    shared = np.zeros((len(kinds), most + 1))
    per_core = np.zeros((len(kinds), most + 1))
    for i, processor in enumerate(kinds):
        for busy in range(1, processor.cores + 1):
            shared[i, busy] = power.shared_watts(processor, busy)
            per_core[i, busy] = power.core_watts(processor, busy)
    kind_of_row = kind[table.unit]
    cores = table.cores
    watts = shared[kind_of_row, cores] + cores * per_core[kind_of_row, cores]
    # Energy of one held core since the beginning; a tenant pays the difference between its end and its start. Summed in
    # extended precision, because small differences of a long sum are wanted.
    each = (watts / np.maximum(cores, 1) * table.seconds).astype(np.longdouble)
    before = np.concatenate([[np.longdouble(0.0)], np.cumsum(each)])
    energy = pieces.cores * (before[table.row_of_end] - before[table.row_of_start]).astype(np.float64)
    accounts.tenants += np.bincount(pieces.tenant, energy, len(accounts.tenants))
    count = len(kind)
    accounts.core_s += np.bincount(table.unit, cores * table.seconds, count)
    energy_j: Floats = np.bincount(table.unit, watts * table.seconds, count).astype(np.float64)
    busy_s: Floats = np.bincount(table.unit, table.seconds * (cores > 0), count).astype(np.float64)
    return energy_j, busy_s


def _settle_transitions(
    history: History, ordinary: npt.NDArray[np.bool_], on_s: Floats, accounts: EnergyAccounts
) -> None:
    """Charge the states other than on, and take their time off ``on_s``."""
    node, code, start, end, watts = history.off_intervals
    seconds = np.where(ordinary[node], end - start, 0.0)
    on_s -= np.bincount(node, seconds, len(on_s))
    for state in NodeState:
        rows = code == CODES[state]
        accounts.nodes[state] += np.bincount(node[rows], (watts * seconds)[rows], len(on_s))


def _first_use(runs: Runs, pieces: HeldCores, processors: int, horizon: float) -> Floats:
    first = np.full(processors, horizon, np.float64)
    np.minimum.at(first, pieces.unit, pieces.start)
    count = runs.stop - runs.first
    np.minimum.at(first, spread(runs.first, count), np.repeat(runs.start, count))
    return first


# ---------------------------------------------------------------------- one node, event by event


def sweep(
    history: History, node: int, rows: list[tuple[int, int, int, float, float]], accounts: EnergyAccounts
) -> None:
    """Charge one node by going through its events; ``rows`` are (tenant, processor, cores, start, end)."""
    platform, power = history.platform, history.power
    first = int(platform.first_processor[node])
    kinds = list(platform.node_types[platform.type_of_node[node]].processors)
    held: list[dict[int, int]] = [{} for _ in kinds]
    rated: list[tuple[float, dict[int, float]] | None] = [None] * len(kinds)
    used = [not history.unused_draw_nothing] * len(kinds)
    state, draws_w = NodeState.IDLE, 0.0

    # Ends before starts, so that a core that changes hands at once is never counted twice.
    accounts.idle_cores[node] = 0.0
    events: list[tuple[float, int, tuple[object, ...]]] = [(history.horizon, 3, ("end of the records",))]
    for tenant, processor, cores, start, end in rows:
        events.append((end, 0 if end > start else 2, ("end", processor - first, tenant, cores)))
        events.append((start, 1, ("start", processor - first, tenant, cores)))
    for time, _, new_state, watts in history.transitions_by_node.get(node, ()):
        events.append((time, 2, ("state", new_state, watts)))
    for p in range(len(kinds)):
        for time, _, shared, own in history.rates_by_processor.get(first + p, ()):
            events.append((time, 2, ("rate", p, shared, own)))
        for time, _, kind in history.clocks_by_processor.get(first + p, ()):
            events.append((time, 2, ("clock", p, kind)))

    now = 0.0
    for time, _, event in sorted(events, key=lambda entry: entry[:2]):
        if time > now:
            _charge(accounts, power, node, kinds, held, used, rated, state, draws_w, time - now)
            accounts.core_s[first : first + len(kinds)] += [sum(cores.values()) * (time - now) for cores in held]
            now = time
        match event:
            case ("end", int(p), int(tenant), int(cores)):
                held[p][tenant] -= cores
                if not held[p][tenant]:
                    del held[p][tenant]
            case ("start", int(p), int(tenant), int(cores)):
                held[p][tenant] = held[p].get(tenant, 0) + cores
                used[p] = True
            case ("state", NodeState() as new_state, float(watts)):
                state, draws_w = new_state, watts
            case ("rate", int(p), float(shared), dict(own)):
                rated[p] = (shared, own)
            case ("clock", int(p), ProcessorType() as kind):
                kinds[p] = kind
            case ("end of the records",):
                break
            case _:
                raise TypeError(f"the accounts cannot be made: node {node} at {time:g} s has the event {event!r}")


def _charge(
    accounts: EnergyAccounts,
    power: PowerModel,
    node: int,
    kinds: list[ProcessorType],
    held: list[dict[int, int]],
    used: list[bool],
    rated: list[tuple[float, dict[int, float]] | None],
    state: NodeState,
    draws_w: float,
    seconds: float,
) -> None:
    """Charge an interval in which nothing changes."""
    if state is not NodeState.IDLE:
        accounts.nodes[state][node] += draws_w * seconds
        return
    computing = any(held)
    for kind, tenants, was_used, rates in zip(kinds, held, used, rated, strict=True):
        busy = sum(tenants.values())
        if computing and was_used:
            accounts.idle_cores[node] += power.idle_watts(kind) * (kind.cores - busy) / kind.cores * seconds
        if busy and rates is not None:
            shared, own = rates
            for tenant, cores in tenants.items():
                energy = (own.get(tenant, 0.0) + shared * cores / busy) * seconds
                accounts.tenants[tenant] += energy
                accounts.nodes[NodeState.COMPUTING][node] += energy
        elif busy:
            each = power.shared_watts(kind, busy) / busy + power.core_watts(kind, busy)
            for tenant, cores in tenants.items():
                accounts.tenants[tenant] += each * cores * seconds
            accounts.nodes[NodeState.COMPUTING][node] += each * busy * seconds
        elif was_used:
            energy = power.idle_watts(kind) * seconds
            accounts.nodes[NodeState.COMPUTING if computing else NodeState.IDLE][node] += energy
            accounts.unused[node] += energy if computing else 0.0
