"""The tables of a run that has just been simulated, made from the columns that its recorder and machine kept."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.accounting import Accounts, History, node_bounds, settle
from cluster_sim.clock_table import clock_table
from cluster_sim.decision_log import no_decisions
from cluster_sim.fields import RESULT_TABLES, names
from cluster_sim.metrics import job_columns
from cluster_sim.node import NodeState
from cluster_sim.node_table import node_table
from cluster_sim.occupancy import Holds, busy_intervals, spread
from cluster_sim.recorder import STATES
from cluster_sim.summary import summarise
from cluster_sim.transition_log import STATES as NODE_STATES

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.occupancy import Floats, Ints
    from cluster_sim.platform import Platform
    from cluster_sim.records import Result
    from cluster_sim.simulation import Simulation


class RunTables:
    """Tables made from the columns that the recorder and the machine kept, as they were at that moment."""

    def __init__(self, simulation: Simulation):
        recorder, machine = simulation.recorder, simulation.machine
        self._platform = simulation.platform
        self._now = simulation.env.now
        self._workload = simulation.workload.jobs
        self._allocated = np.array(recorder.allocation_time)
        self._started = np.array(recorder.start_time)
        self._finished = np.array(recorder.finish_time)
        self._submitted, self._eligible = simulation.admission.times()
        self._horizon = self._end_of_window(simulation)
        self._codes = np.frombuffer(bytes(recorder.state), np.uint8)
        self._reasons = dict(recorder.reason)
        self._decision_log = simulation.decision_log
        self._decisions = len(simulation.decision_log or ())
        self._ranges = tuple(np.array(c) for c in (recorder.range_job, recorder.range_first, recorder.range_last))
        times = np.array(machine.power_times)
        within = times <= self._horizon
        self._power = (times[within], np.array(machine.power_watts)[within])
        self._history = History(
            simulation.platform,
            simulation.power_model,
            len(self._workload),
            self._holds(),
            machine.transitions.until(self._horizon),
            [row for row in machine.clock_changes if row[0] <= self._horizon],
            self._horizon,
            "unused-processors-draw-nothing" in simulation.quirks,
            [row for row in machine.rate_log if row[0] <= self._horizon],
        )

    def _end_of_window(self, simulation: Simulation) -> float:
        """The end of what is recorded: the last completion of a run that is over, else now.

        A run may go on a little longer, until its last job is refused or cancelled.
        """
        if simulation.stopped_at is not None or not simulation.is_over:
            return self._now
        ended = self._finished[~np.isnan(self._started) & ~np.isnan(self._finished)]
        return float(ended.max()) if len(ended) else self._now

    def _holds(self) -> Holds:
        """The cores in use, from the start of the tasks to the release, or to the horizon if they still run."""
        job, first, last = self._ranges
        start, end = self._started[job], self._finished[job]
        holds = Holds(job, first, last, start, np.where(np.isnan(end), self._horizon, end))
        return holds.where(~np.isnan(start))

    @cached_property
    def accounts(self) -> Accounts:
        """Where the energy went."""
        return settle(self._history)

    def jobs(self) -> pd.DataFrame:
        """One row per job: times, state, metrics, energy."""
        table = self._workload
        submit = self._submitted
        requested = table["requested_time"].to_numpy()
        reason = np.full(len(table), "", object)
        reason[list(self._reasons)] = list(self._reasons.values())
        columns = {
            "job_id": table["job_id"].to_numpy(),
            "submit_time": submit,
            "eligible_time": self._eligible,
            "allocation_time": self._allocated,
            "start_time": self._started,
            "finish_time": self._finished,
            "state": np.array([str(state) for state in STATES], object)[self._codes],
            "reason": reason,
            "requested_cores": table["requested_cores"].to_numpy(),
            "requested_time": requested,
            **job_columns(submit, self._started, self._finished, requested, table["deadline"].to_numpy()),
            "energy_j": self.accounts.jobs,
            "profile": table["profile"].to_numpy(),
            "user": table["user"].to_numpy(),
        }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["jobs"]), copy=False)

    def allocations(self) -> pd.DataFrame:
        """One row per job, processor and run of neighbouring cores."""
        return allocation_table(self._platform, self._history.holds, self._workload["job_id"].to_numpy())

    def node_states(self) -> pd.DataFrame:
        """One row per node and interval: what it computes and what it is not on, and IDLE in between."""
        node, state, start, end = self._intervals
        columns = {
            "node": np.array(self._platform.node_names(), object)[node],
            "state": state,
            "start": start,
            "end": end,
        }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["node_states"]))

    @cached_property
    def _intervals(self) -> tuple[Ints, npt.NDArray[np.object_], Floats, Floats]:
        """(node, state, start, end), sorted by node and start, without gaps."""
        platform, horizon = self._platform, self._horizon
        node, start, end = busy_intervals(self._history.holds, node_bounds(platform))
        state = np.full(len(node), str(NodeState.COMPUTING), object)
        off, code, since, until, _ = self._history.off_intervals
        if len(off):
            node = np.concatenate([node, off])
            state = np.concatenate([state, np.array([str(s) for s in NODE_STATES], object)[code]])
            start, end = np.concatenate([start, since]), np.concatenate([end, until])
            order = np.lexsort((start, node))
            node, state, start, end = node[order], state[order], start[order], end[order]
        gaps = idle_gaps(node, start, end, platform.node_count, horizon)
        node = np.concatenate([node, gaps[0]])
        state = np.concatenate([state, np.full(len(gaps[0]), str(NodeState.IDLE), object)])
        start, end = np.concatenate([start, gaps[1]]), np.concatenate([end, gaps[2]])
        order = np.lexsort((start, node))
        return node[order], state[order], start[order], end[order]

    def nodes(self) -> pd.DataFrame:
        """One row per node: seconds, joules, switches."""
        return node_table(self._history, self.accounts)

    def power(self) -> pd.DataFrame:
        """The power curve, closed at the horizon."""
        times, watts = self._power
        if times[-1] < self._horizon:
            times, watts = np.append(times, self._horizon), np.append(watts, watts[-1])
        return pd.DataFrame({"time": times, "watts": watts})

    def p_states(self) -> pd.DataFrame:
        """The clocks of the processors that have p-states or changed their clock."""
        return clock_table(self._platform, self._history.clock_changes, self._horizon)

    def decisions(self) -> pd.DataFrame:
        """What the scheduler had decided by then; empty when it was not to explain."""
        if self._decision_log is None:
            return no_decisions()
        return self._decision_log.table(self._decisions, self._workload["job_id"].to_numpy(), self._platform)

    def summary(self, result: Result) -> dict[str, Any]:
        """All metrics of the run."""
        return summarise(result, self.accounts, self._horizon, self._now)


def allocation_table(platform: Platform, holds: Holds, job_ids: npt.NDArray[np.object_]) -> pd.DataFrame:
    """The table ``allocations``: holds cut at the bounds of processors; ``job_ids`` are those of the jobs by index."""
    bounds = platform.first_core
    first_unit = np.searchsorted(bounds, holds.first, side="right") - 1
    count = np.searchsorted(bounds, holds.last, side="right") - first_unit
    unit = spread(first_unit, count)
    node = np.searchsorted(platform.first_processor, unit, side="right") - 1
    job = np.repeat(holds.job, count)
    within = unit - platform.first_processor[node]
    processors = np.array([f"processor{i}" for i in range(int(within.max(initial=0)) + 1)], object)
    columns = {
        "job_id": job_ids[job],
        "node": np.array(platform.node_names(), object)[node],
        "processor": processors[within],
        "first_core": np.maximum(np.repeat(holds.first, count), bounds[unit]) - bounds[unit],
        "last_core": np.minimum(np.repeat(holds.last, count), bounds[unit + 1] - 1) - bounds[unit],
        "start": np.repeat(holds.start, count),
        "end": np.repeat(holds.end, count),
    }
    return pd.DataFrame(columns, columns=names(RESULT_TABLES["allocations"]))


def idle_gaps(
    node: np.ndarray, start: np.ndarray, end: np.ndarray, nodes: int, horizon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What intervals sorted by node and start leave free of [0, horizon] on each of ``nodes`` nodes."""
    everyone = np.arange(nodes)
    # Each gap begins at 0 or where an interval ends, and ends where the node's next interval begins, or at the horizon.
    owner = np.concatenate([everyone, node])
    begin = np.concatenate([np.zeros(nodes), end])
    order = np.lexsort((begin, owner))
    owner, begin = owner[order], begin[order]
    stop_owner = np.concatenate([node, everyone])
    stop = np.concatenate([start, np.full(nodes, horizon)])
    stop = stop[np.lexsort((stop, stop_owner))]
    wide = stop > begin
    return owner[wide], begin[wide], stop[wide]
