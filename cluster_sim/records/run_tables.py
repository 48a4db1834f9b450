"""The tables of a run that has just been simulated, made from its attempts and the ledger of its machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.files.json_values import for_json
from cluster_sim.machine.core_ranges import busy_intervals
from cluster_sim.machine.node import NodeState
from cluster_sim.machine.transition_log import STATES as NODE_STATES
from cluster_sim.records.assumptions import of_run
from cluster_sim.records.attempt_tables import attempt_columns, lost_core_s, numbers_of_attempts
from cluster_sim.records.clock_table import clock_table
from cluster_sim.records.core_holds import CoreHolds, bounds_of_parts
from cluster_sim.records.empty_table import no_rows
from cluster_sim.records.energy_accounts import EnergyAccounts, History, goes_on, node_bounds, settle
from cluster_sim.records.job_labels import job_labels
from cluster_sim.records.metrics import InPieces, job_columns, mean_level
from cluster_sim.records.node_table import node_columns
from cluster_sim.records.reasons.conditions import Conditions
from cluster_sim.records.resource_holds import busy_gpu_s, gpu_steps, resource_table
from cluster_sim.records.summary import Changes, RunColumns, TenantsEnergy, summarise, used_window
from cluster_sim.run.jobs.attempts import STATES
from cluster_sim.workload.fields import RESULT_COLUMNS
from cluster_sim.workload.resource_request import GPU

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Ints
    from cluster_sim.machine.placement import Span
    from cluster_sim.records.contracts import RecordedRun, RunRecords


class RunTables:
    """Tables made from the attempts and the ledger, as they were at that moment."""

    def __init__(self, simulation: RecordedRun):
        attempts = simulation.attempts
        count = len(attempts)
        self._platform = simulation.platform
        self._now = simulation.env.now
        self._jobs = dict(simulation.jobs.columns)  # the arrays as they are now, however many jobs come later
        self._attempts = attempts.columns(simulation.machine.ledger)
        self._allocated, self._started, self._finished = attempts.spans(self._attempts)
        self._job_of_attempt = self._attempts.job
        self._job_ids = self._jobs["job_id"]
        self._submitted, self._eligible = simulation.admission.times()
        self._horizon = self._now
        if simulation.stopped_at is None and simulation.is_over:
            # The records end with the last completion; the run may go on until its last job is refused or cancelled.
            ended = self._finished[~np.isnan(self._started) & ~np.isnan(self._finished)]
            self._horizon = float(ended.max()) if len(ended) else self._now
        self._codes = np.frombuffer(bytes(attempts.state), np.uint8)
        self._reasons = dict(attempts.reason)
        self._stage_log, self._stages = attempts.stages, len(attempts.stages)
        self._decision_log = simulation.decision_log
        self._decisions = len(simulation.decision_log or ())
        self._conditions = Conditions.of(simulation)
        self._guests = list(simulation.machine.guests.names)
        self._workload, self._power_model = simulation.workload, simulation.power_model
        self._by_memory = simulation.scheduler is not None and simulation.scheduler.memory
        self._ignored = list(getattr(simulation.network, "assumptions", ()))
        ledger = simulation.machine.ledger.up_to(self._horizon, count, len(self._guests))
        if len(ledger.tenant) and ledger.tenant.max() == count + len(self._guests):
            self._guests.append("nobody")
        self._power, self._held, self._used_from = ledger.power, ledger.holds, ledger.used_from
        self._loaded_s = ledger.seconds_loaded(count)
        self._has_changes = simulation.life.courses.wanted
        self._holds_of_attempt = np.bincount(ledger.tenant, minlength=count)[:count]
        self._suspensions = simulation.attempts.suspensions
        self._history = History(
            simulation.platform,
            simulation.power_model,
            count + len(self._guests),
            ledger.loads,
            ledger.transitions,
            ledger.clock_changes,
            self._horizon,
            "unused-processors-draw-nothing" in simulation.quirks,
            ledger.rated_watts,
            ledger.units,
        )

    @cached_property
    def accounts(self) -> EnergyAccounts:
        """Return where the energy went."""
        return settle(self._history)

    @cached_property
    def tenants_j(self) -> TenantsEnergy:
        """Return the energy of the jobs and of the guests, J."""
        joules, attempts = self.accounts.tenants, len(self._job_of_attempt)
        of_jobs = np.bincount(self._job_of_attempt, joules[:attempts], len(self._codes)).astype(np.float64)
        lost_j = 0.0
        if self._attempts.stopped:
            # Of an attempt's energy as large a part is lost as of its core-seconds.
            computed = self._core_s()
            lost = lost_core_s(self._attempts, computed)
            part = np.divide(lost, computed, out=np.zeros(len(lost)), where=computed > 0.0)
            lost_j = float((joules[:attempts] * part).sum())
        return TenantsEnergy(of_jobs, joules[attempts:], lost_j)

    def jobs(self) -> pd.DataFrame:
        """Return one row per job: times, state, metrics, energy."""
        labels = job_labels(self._jobs)
        order = [*RESULT_COLUMNS["jobs"], *labels]
        return pd.DataFrame(self._job_columns | labels, columns=order, copy=False)

    @cached_property
    def _job_columns(self) -> dict[str, npt.NDArray[Any]]:
        table = self._jobs
        submit = self._submitted
        requested = table["requested_time"]
        reason = np.full(len(submit), "", object)
        reason[list(self._reasons)] = list(self._reasons.values())
        # The jobs that were attempted more than once, held cores more than once, or ended when they had none.
        job, jobs = self._job_of_attempt, len(self._codes)
        pieces = self._holds_of_attempt if self._has_changes else None
        released = np.full(jobs, np.nan)
        released[job] = self._attempts.end_time
        rows = np.flatnonzero((np.bincount(job, pieces, jobs) > 1) | (released < self._finished))
        in_pieces = None
        if len(rows):
            run, last = np.bincount(job, self._loaded_s, jobs).astype(np.float64), np.zeros(jobs)
            last[job] = self._loaded_s
            in_pieces = InPieces(rows, run[rows], last[rows])
        return {
            "job_id": table["job_id"],
            "submit_time": submit,
            "eligible_time": self._eligible,
            "allocation_time": self._allocated,
            "start_time": self._started,
            "finish_time": self._finished,
            "state": np.array([str(state) for state in STATES], object)[self._codes],
            "reason": reason,
            "requested_cores": table["requested_cores"],
            "requested_time": requested,
            **job_columns(submit, self._started, self._finished, requested, table["deadline"], in_pieces),
            "energy_j": self.tenants_j.jobs,
            "profile": table["profile"],
            "user": table["user"],
        }

    def core_holds(self) -> CoreHolds:
        """Return who held which cores, in numbers."""
        job = self._job_of_attempt
        return CoreHolds(self._job_ids, job, numbers_of_attempts(job), self._guests, self._held, self._used_from)

    def attempts(self) -> pd.DataFrame:
        """Return one row per attempt, in order of allocation."""
        return pd.DataFrame(self._attempt_columns, copy=False)

    @cached_property
    def _attempt_columns(self) -> dict[str, npt.NDArray[Any]]:
        return attempt_columns(self._attempts, self._job_ids, self._eligible, self._core_s())

    def stages(self) -> pd.DataFrame:
        """Return what jobs did beside their work."""
        job = self._job_of_attempt
        return self._stage_log.table(self._stages, job, numbers_of_attempts(job), self._job_ids)

    def resource_holds(self) -> pd.DataFrame:
        """Return who held which counted resources, in order of time."""
        return resource_table(self._platform, self._history.units, self.core_holds())

    def gpus(self) -> pd.DataFrame:
        """Return what became of the GPUs as a step function."""
        if GPU not in self._platform.resource_names:
            return no_rows("gpus")
        return gpu_steps(self._platform, self.core_holds(), self.resource_holds(), self._jobs, self._horizon)

    def _core_s(self) -> Floats:
        """Return the core-seconds that each attempt computed."""
        if not self._has_changes:
            cores: Ints = self._jobs["requested_cores"][self._job_of_attempt]
            return self._loaded_s * cores
        loads, attempts = self._history.holds, len(self._job_of_attempt)
        core_s = (loads.last - loads.first + 1) * (loads.end - loads.start)
        of_jobs = loads.tenant < attempts
        return np.bincount(loads.tenant[of_jobs], core_s[of_jobs], attempts).astype(np.float64)

    def node_states(self) -> pd.DataFrame:
        """Return one row per node and interval: what it computes and what it is not on, and IDLE in between."""
        parts = list(self.node_states_in_parts())
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def node_states_in_parts(self) -> Iterator[pd.DataFrame]:
        """Return the table of node states for some of the nodes at a time."""
        holds, bounds = self._history.holds, node_bounds(self._platform)
        first, last = (np.searchsorted(bounds, cores, side="right") - 1 for cores in (holds.first, holds.last))
        nodes = self._platform.node_count
        held = np.cumsum(np.bincount(first, minlength=nodes) - np.bincount(last + 1, minlength=nodes + 1)[:nodes])
        not_on = np.bincount(self._history.off_intervals[0], minlength=nodes)
        for begin, stop in pairwise(bounds_of_parts(held + not_on)):
            node, start, end = busy_intervals(self._history.holds.within(bounds[begin], bounds[stop]), bounds)
            state = np.full(len(node), str(NodeState.COMPUTING), object)
            off = self._off(begin, stop)
            if len(off[0]):
                busy = node, state, start, end
                node, state, start, end = (np.concatenate(pair) for pair in zip(busy, off, strict=True))
                order = np.lexsort((start, node))
                node, state, start, end = node[order], state[order], start[order], end[order]
            gaps = idle_gaps(node, start, end, range(begin, stop), self._horizon)
            node = np.concatenate([node, gaps[0]])
            state = np.concatenate([state, np.full(len(gaps[0]), str(NodeState.IDLE), object)])
            start, end = np.concatenate([start, gaps[1]]), np.concatenate([end, gaps[2]])
            order = np.lexsort((start, node))
            yield self._state_table(node[order], state[order], start[order], end[order])

    def off_states(self, result: RunRecords) -> pd.DataFrame:
        """Return the rows of nodes that are not on."""
        return self._state_table(*self._off(0, self._platform.node_count))

    def _state_table(self, node: Ints, state: npt.NDArray[np.object_], start: Floats, end: Floats) -> pd.DataFrame:
        columns = {
            "node": np.array(self._platform.node_names(), object)[node],
            "state": state,
            "start": start,
            "end": end,
        }
        return pd.DataFrame(columns, columns=RESULT_COLUMNS["node_states"])

    def _off(self, first: int, stop: int) -> tuple[Ints, npt.NDArray[np.object_], Floats, Floats]:
        """Return (node, state, start, end) of nodes ``first`` … ``stop`` - 1 when not on, by node and start."""
        off, code, since, until, _ = self._history.off_intervals
        rows = slice(*np.searchsorted(off, (first, stop)))
        off, code, since, until = off[rows], code[rows], since[rows], until[rows]
        joins = goes_on(off, code, since, until)  # these differ in watts alone
        begins, ends = np.append(True, ~joins)[: len(off)], np.append(~joins, True)[: len(off)]
        state = np.array([str(each) for each in NODE_STATES], object)[code[begins]]
        return off[begins], state, since[begins], until[ends]

    def nodes(self) -> pd.DataFrame:
        """Return one row per node: seconds, joules, switches."""
        return pd.DataFrame(node_columns(self._history, self.accounts))

    @cached_property
    def _closed_power(self) -> tuple[Floats, Floats]:
        """Return the power curve (s, W), closed at the horizon."""
        times, watts = self._power
        if times[-1] < self._horizon:
            times, watts = np.append(times, self._horizon), np.append(watts, watts[-1])
        return times, watts

    def power(self) -> pd.DataFrame:
        """Return the power curve, closed at the horizon."""
        times, watts = self._closed_power
        return pd.DataFrame({"time": times, "watts": watts})

    def p_states(self) -> pd.DataFrame:
        """Return the clocks of the processors that have p-states or changed their clock."""
        return clock_table(self._platform, self._history.clock_changes, self._horizon)

    def decisions(self) -> pd.DataFrame:
        """Return what the scheduler had decided by then; empty when it was not to explain."""
        if self._decision_log is None:
            return no_rows("decisions")
        return self._decision_log.table(self._decisions, self._jobs["job_id"], self._platform)

    def decision_spans(self) -> Sequence[tuple[Span, ...]]:
        """Return where each decision puts its job."""
        return self._decision_log.spans(self._decisions) if self._decision_log is not None else ()

    def conditions(self) -> Conditions:
        """Return what beside free cores decided whether a job could start."""
        return self._conditions

    def summary(self, result: RunRecords) -> dict[str, Any]:
        """Return all metrics of the run, without the data frames of its tables."""
        nodes, (_, watts) = node_columns(self._history, self.accounts), self._closed_power
        columns = RunColumns(self._job_columns, self._attempt_columns, nodes, watts, self._platform.core_count)
        # What jobs did whose cores changed, if any could.
        changes = Changes(float(self._core_s().sum()), self._suspensions) if self._has_changes else None
        absences = self._conditions.absences
        values = summarise(columns, self.accounts, self.tenants_j, self._horizon, self._now, changes, absences)
        if GPU in self._platform.resource_names:
            window = used_window(self._job_columns, self._horizon)
            count = int(self._platform.units_of(GPU).sum())
            steps = self.gpus()
            bounds = np.append(steps["time"], self._horizon)
            busy = busy_gpu_s(self._history.units)
            values |= {
                "utilisation_gpu": for_json(busy / (count * window) if count and window else np.nan),
                "stranded_gpu_s": float((steps["stranded"] * np.diff(bounds)).sum()),
                "fragmentation_gpu": for_json(mean_level(steps["fragmented"].to_numpy() / max(count, 1), bounds)),
                "energy_gpus_j": self.accounts.gpus_j,
            }
        return values

    def assumptions(self, result: RunRecords) -> list[str]:
        """Return what the run assumed where its inputs say nothing, and the jobs that it refused."""
        has_refused = bool((self._codes == STATES.index("rejected")).any())
        has_switched = len(self._history.transitions.nodes) > 0
        known = of_run(
            result, self._jobs, self._workload, self._power_model, self._by_memory, has_refused, has_switched
        )
        return known + self._ignored


def idle_gaps(
    node: np.ndarray, start: np.ndarray, end: np.ndarray, nodes: range, horizon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what intervals sorted by node and start leave free of [0, horizon] on each of ``nodes``."""
    numbers = np.arange(nodes.start, nodes.stop)
    # Each gap begins at 0 or where an interval ends, and ends where the node's next interval begins, or at the horizon.
    owner = np.concatenate([numbers, node])
    begin = np.concatenate([np.zeros(len(nodes)), end])
    order = np.lexsort((begin, owner))
    owner, begin = owner[order], begin[order]
    stop_owner = np.concatenate([node, numbers])
    stop = np.concatenate([start, np.full(len(nodes), horizon)])
    stop = stop[np.lexsort((stop, stop_owner))]
    wide = stop > begin
    return owner[wide], begin[wide], stop[wide]
