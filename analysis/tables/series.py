"""Tables of step functions over a run: power by state or node, energy, use of the cores, queue.

Every table has the column ``time`` (s); a row holds until the next row's time, and the last row closes the curve. The
figures of :mod:`analysis.figures.timelines` draw these tables and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from cluster_sim.errors import InputError, SpecError
from cluster_sim.files.source import running_no_new_files
from cluster_sim.machine.core_ranges import Holds, by_unit, units_of
from cluster_sim.models.power import power_models, watts
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

PowerBy = Literal["state", "node", "cluster"]
OTHER_NODES = "other nodes"
MOST_NODES = 12
# States from the bottom of a stack to its top; the steadiest are at the bottom.
_STACKED = ("OFF", "FAILED", "SWITCHING_OFF", "SWITCHING_ON", "IDLE", "COMPUTING")
_NOT_ON = [str(state) for state in (NodeState.OFF, NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF, NodeState.FAILED)]
# A sum of differences ends near zero, not at it: values below this share of the peak count as 0.
_NOTHING = 1e-10


def power_table(result: Result, by: PowerBy = "state", most: int = MOST_NODES) -> pd.DataFrame:
    """Return the platform's power, W, in columns that sum to ``result.power`` at every time.

    ``by`` is "state" (a column per node state that occurs), "node" or "cluster" (a column each; of nodes the ``most``
    with the most energy, and the rest as "other nodes").

    A node that does not compute draws the mean watts of its state (``result.nodes``), which is exact as long as its
    clock does not change. Computing nodes draw the rest of the curve, shared by the power model's watts for their busy
    cores. That is exact at constant clocks, and an estimate if watts also follow the tasks' speeds. Results have only
    the total core-seconds of tasks on a node: the same part of a guest's cores therefore counts as busy all the time.

    Raises SpecError for another ``by``, InputError if the result lacks the energy of its nodes' states.
    """
    if by not in ("state", "node", "cluster"):
        raise SpecError("power_table, by", "state, node or cluster", by)
    if result.nodes["energy_j"].isna().any():
        raise InputError("power_table", "the energy of each node by state", "a result that has none, such as Batsim's")
    states = result.node_states
    states = states[states["end"] > states["start"]]
    node = result.platform.node_indices(states["node"])
    drawn = _watts_in_state(result, node, states["state"].to_numpy())
    if by == "state":
        names = [name for name in _STACKED if name != "COMPUTING" and (states["state"] == name).any()]
        code = states["state"].map({name: i for i, name in enumerate(names)})
        resting = code.notna().to_numpy()
        start, end = (states[column].to_numpy(dtype=float)[resting] for column in ("start", "end"))
        time, total = _refined(result.power, np.concatenate([start, end]))
        levels = _levels(time, len(names), np.asarray(code[resting], dtype=np.int64), start, end, drawn[resting])
        if (states["state"] == "COMPUTING").any():
            names.append("COMPUTING")
            levels = np.column_stack([levels, total - levels.sum(axis=1)])
        return _table(time, names, _cleaned(levels))
    names, column_of = _node_columns(result, by, most)
    resting = states["state"].to_numpy() != "COMPUTING"
    start, end = states["start"].to_numpy(dtype=float), states["end"].to_numpy(dtype=float)
    busy = _computing_draw(result, node[~resting], start[~resting], end[~resting])
    time, total = _refined(result.power, np.concatenate([start, end, *(times for _, times, _ in busy)]))
    rest = _levels(time, len(names), column_of[node[resting]], start[resting], end[resting], drawn[resting])
    weights = sum(
        (_accumulated(time, column_of[where], when, change, len(names)) for where, when, change in busy),
        np.zeros_like(rest),
    )
    weights = _cleaned(weights)
    modelled = weights.sum(axis=1)
    computing = np.maximum(total - rest.sum(axis=1), 0.0)
    factor = np.divide(computing, modelled, out=np.zeros_like(computing), where=modelled > 0)
    return _table(time, names, rest + weights * factor[:, None])


def energy_table(result: Result) -> pd.DataFrame:
    """Return the energy since time 0: ``time`` (s), ``energy_j`` (J), which is linear between two rows."""
    time, level = _curve(result.power)
    return pd.DataFrame({"time": time, "energy_j": np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(time))])})


def utilisation_table(result: Result) -> pd.DataFrame:
    """Return the cores in use: ``time`` (s), ``busy_cores``, ``available_cores`` (of nodes on), ``utilisation``."""
    platform, states = result.platform, result.node_states
    end = float(result.power["time"].iloc[-1])
    used = result.core_holds.used
    width = (used.last - used.first + 1).astype(float)
    away = states[states["state"].isin(_NOT_ON)]
    lost = platform.node_cores[platform.node_indices(away["node"])].astype(float)
    begins = [used.start, away["start"].to_numpy(dtype=float)]
    stops = [used.end, away["end"].to_numpy(dtype=float)]
    time = np.unique(np.concatenate([[0.0, end], *begins, *stops]))
    busy, off = (
        _levels(time, 1, np.zeros(len(start), np.int64), start, stop, size)[:, 0]
        for start, stop, size in zip(begins, stops, (width, lost), strict=True)
    )
    # States that last to the end of the run do not end there; the last row only closes the curves.
    off[-1] = off[-2] if len(off) > 1 else off[-1]
    return pd.DataFrame(
        {
            "time": time,
            "busy_cores": busy,
            "available_cores": platform.core_count - off,
            "utilisation": busy / platform.core_count,
        }
    )


def queue_table(result: Result) -> pd.DataFrame:
    """Return the jobs that wait and the cores they ask for: ``result.queue``, from time 0 to the end of the run."""
    queue, end = result.queue, float(result.power["time"].iloc[-1])
    first = pd.DataFrame({"time": [0.0], "pending": [0], "pending_cores": [0]})
    parts = [first, queue] if not len(queue) or queue["time"].iloc[0] > 0 else [queue]
    table = pd.concat(parts, ignore_index=True)
    if table["time"].iloc[-1] < end:
        table = pd.concat([table, table.iloc[[-1]].assign(time=end)], ignore_index=True)
    return table


# ---------------------------------------------------------------------- how it is worked out


def _levels(time: Floats, columns: int, column: Ints, start: Floats, end: Floats, size: Floats) -> Floats:
    """Return the sums at each time of intervals that add ``size`` to a ``column``, shape (times, columns)."""
    when, change = np.concatenate([start, end]), np.concatenate([size, -size])
    return _cleaned(_accumulated(time, np.concatenate([column, column]), when, change, columns))


def _accumulated(time: Floats, column: Ints, when: Floats, change: Floats, columns: int) -> Floats:
    row = np.searchsorted(time, when)
    kept = row < len(time)
    position = row[kept] * columns + column[kept]
    flat = np.bincount(position, weights=change[kept], minlength=len(time) * columns)
    return np.cumsum(flat.reshape(len(time), columns), axis=0)


def _cleaned(levels: Floats) -> Floats:
    small = _NOTHING * float(np.abs(levels).max(initial=0.0))
    return np.where(np.abs(levels) <= small, 0.0, levels)


def _table(time: Floats, names: list[str], levels: Floats) -> pd.DataFrame:
    # All intervals end with the run; the last row repeats the levels before that, as in the table of the power.
    if len(levels) > 1:
        levels[-1] = levels[-2]
    return pd.DataFrame({"time": time, **{name: levels[:, i] for i, name in enumerate(names)}})


def _curve(power: pd.DataFrame) -> tuple[Floats, Floats]:
    return power["time"].to_numpy(dtype=float), power["watts"].to_numpy(dtype=float)


def _refined(power: pd.DataFrame, times: Floats) -> tuple[Floats, Floats]:
    """Return the power curve with rows at further times, too, as far as they are within the curve."""
    edges, level = _curve(power)
    inside = times[(times >= edges[0]) & (times <= edges[-1])]
    time = np.unique(np.concatenate([edges, inside]))
    return time, level[np.searchsorted(edges, time, side="right") - 1]


def _watts_in_state(result: Result, node: Ints, state: npt.NDArray[np.object_]) -> Floats:
    """Return the mean watts of each of these nodes in its state."""
    drawn = np.zeros(len(node))
    for name in NodeState:
        chosen = state == str(name)
        key = name.lower()
        joules, seconds = (result.nodes[f"{key}_{unit}"].to_numpy(dtype=float)[node[chosen]] for unit in ("j", "s"))
        drawn[chosen] = np.divide(joules, seconds, out=np.zeros_like(joules), where=seconds > 0)
    return drawn


def _node_columns(result: Result, by: PowerBy, most: int) -> tuple[list[str], Ints]:
    """Return the names of the columns, and the column of each node."""
    nodes = result.nodes
    if by == "cluster":
        names = [cluster.id for cluster in result.platform.clusters]
        counts = [cluster.node_count for cluster in result.platform.clusters]
        return names, np.repeat(np.arange(len(names)), counts)
    if len(nodes) <= most:
        return nodes["node"].tolist(), np.arange(len(nodes))
    heaviest = np.sort(np.argsort(-nodes["energy_j"].to_numpy(), kind="stable")[:most])
    column = np.zeros(len(nodes), np.int64)  # the others, below all
    column[heaviest] = 1 + np.arange(most)
    return [OTHER_NODES, *nodes["node"].iloc[heaviest]], column


def _computing_draw(result: Result, node: Ints, start: Floats, end: Floats) -> list[tuple[Ints, Floats, Floats]]:
    """Return the power of computing nodes by the power model, as changes: (node, time, W more)."""
    platform = result.platform
    with running_no_new_files():
        model = power_models.make(str(result.meta.get("power_model") or platform.power_model))
    kinds = platform.processor_types
    idle = np.array([model.idle_watts(kind) for kind in kinds])
    most = max(kind.cores for kind in kinds)
    extra = np.array(
        [
            [watts(model, kind, min(busy, kind.cores)) - idle[i] for busy in range(most + 1)]
            for i, kind in enumerate(kinds)
        ]
    )
    kind_of = platform.type_of_processor
    base = np.add.reduceat(idle[kind_of], platform.first_processor[:-1])[node]
    guests = _held_by_guests(result, node, start, end)
    part = np.concatenate([np.ones(len(result.core_holds.used.tenant)), _loaded_part(result, guests)])
    processor, when, busy = _busy_by_processor(result.core_holds.used + guests, part, platform.first_core)
    whole = np.minimum(busy.astype(np.int64), most - 1)
    below, above = (extra[kind_of[processor], cores] for cores in (whole, whole + 1))
    level = below + (busy - whole) * (above - below)
    before = np.concatenate([[0.0], level[:-1]])
    before[np.concatenate([[True], processor[1:] != processor[:-1]])[: len(before)]] = 0.0
    owner = np.searchsorted(platform.first_processor, processor, side="right") - 1
    return [(node, start, base), (node, end, -base), (owner, when, level - before[: len(level)])]


def _held_by_guests(result: Result, node: Ints, start: Floats, end: Floats) -> Holds:
    """Return the cores that guests held on each ``node`` from ``start`` to ``end``; nodes are sorted, then by time."""
    platform = result.platform
    held, owner = by_unit(result.core_holds.of_guests(), platform.first_core[platform.first_processor])
    first, stop = (np.searchsorted(node, owner, side) for side in ("left", "right"))
    during = [
        np.arange(low + np.searchsorted(end[low:high], since, "right"), low + np.searchsorted(start[low:high], until))
        for low, high, since, until in zip(first, stop, held.start, held.end, strict=True)
    ]
    held = held.where(np.repeat(np.arange(len(during)), [len(rows) for rows in during]))
    rows = np.concatenate([np.zeros(0, np.int64), *during])
    since, until = np.maximum(held.start, start[rows]), np.minimum(held.end, end[rows])
    return Holds(held.tenant, held.first, held.last, since, until)


def _loaded_part(result: Result, guests: Holds) -> Floats:
    """Return for each hold of ``guests`` the share of its node's guest core-seconds in which tasks ran, 0 to 1."""
    first_core = result.platform.first_core[result.platform.first_processor]

    def core_s(holds: Holds) -> tuple[Ints, Floats]:
        pieces, node = by_unit(holds, first_core)
        seconds = (pieces.last - pieces.first + 1) * (pieces.end - pieces.start)
        return node, np.bincount(node, seconds, result.platform.node_count).astype(np.float64)

    (_, of_jobs), (node, held) = core_s(result.core_holds.used), core_s(guests)
    loaded = result.nodes["busy_core_s"].to_numpy(dtype=float) - of_jobs
    return np.clip(np.divide(loaded, held, out=np.zeros_like(held), where=held > 0), 0.0, 1.0)[node]


def _busy_by_processor(used: Holds, part: Floats, first_core: Ints) -> tuple[Ints, Floats, Floats]:
    """Return (processor, time, busy cores from then on), sorted, a row per change; ``part`` of each hold is busy."""
    count = units_of(used, first_core)[1]
    used, unit = by_unit(used, first_core)
    width = (used.last - used.first + 1) * np.repeat(part, count)
    processor = np.concatenate([unit, unit])
    when = np.concatenate([used.start, used.end])
    order = np.lexsort((when, processor))
    processor, when = processor[order], when[order]
    # The sum of each processor ends at zero, where the next begins.
    busy = _cleaned(np.cumsum(np.concatenate([width, -width])[order]))
    last = np.ones(len(busy), bool)
    last[:-1] = (processor[1:] != processor[:-1]) | (when[1:] != when[:-1])
    return processor[last], when[last], busy[last]
