"""Steps of a run: its scheduler's decisions, each in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim.amounts import moment
from cluster_sim.errors import counted
from cluster_sim.machine.core_ranges import by_unit
from cluster_sim.machine.placement import Span
from cluster_sim.machine.reason import PREEMPTED, Reason, as_reason
from cluster_sim.platform.platform import Platform
from cluster_sim.records.energy_accounts import node_bounds
from cluster_sim.records.result import Result
from cluster_sim.run.decision_log import nodes_texts
from cluster_sim.workload.fields import RESULT_TABLES, names


@dataclass(frozen=True, slots=True)
class Step:
    """Decision of one of the kinds of the table ``decisions``; ``where`` is the job's place, in words."""

    time: float  # s
    decision: str
    job_id: str
    because: str
    why: Reason
    behind: str
    promised_time: float  # s; NaN: no promise
    where: str

    def words(self) -> str:
        """Return the decision as a sentence without the reason."""
        if self.decision == "start":
            return f"Job {self.job_id} starts{f' on {self.where}' if self.where else ''}."
        if self.decision == "reserve":
            if self.promised_time == math.inf:
                return f"Job {self.job_id} is promised no time at which it starts."
            return f"Job {self.job_id} is promised a start at {moment(self.promised_time)}."
        if self.decision == "hold":
            return f"Job {self.job_id} stays in the queue."
        if self.decision == "block":
            return f"Job {self.job_id} stays in the queue, and no job behind it may start before it."
        if self.decision == "preempt":
            return f"Job {self.job_id} is {replace(self.why, said='') if self.why.kind in PREEMPTED else self.why}."
        if self.decision in ("resume", "resize"):
            verb = "continues on" if self.decision == "resume" else "is to have"
            return f"Job {self.job_id} {verb} {self.where}."
        return f"Job {self.job_id} is refused."

    def reason(self) -> str:
        """Return the scheduler's reason; if it gave none, what that means."""
        if self.decision == "preempt":
            said = self.why.said if self.why.kind in PREEMPTED else ""  # by an older version, that is told before
            parts = (said, f"for job {self.behind}" if self.behind else "")
            return "; ".join(filter(None, parts)).capitalize() + "."
        if self.because and self.decision in ("hold", "block") and not self.behind:
            return f"It {self.because}."
        if self.because:
            text = f"{self.because[:1].upper()}{self.because[1:]}"
            return f"{text} (job {self.behind})." if self.behind else f"{text}."
        if self.behind:
            return f"Behind job {self.behind}."
        return {"start": "It was its turn, and there is room.", "reserve": "It has to wait until then, at most."}.get(
            self.decision, ""
        )


class Steps:
    """Decisions of a run in order. A run without a log of them has its starts and refusals, from the records."""

    def __init__(self, result: Result):
        decisions = result.decisions
        self.logged = len(decisions) > 0
        self._platform = result.platform
        #: The places of each step's job: (first node, node after the last, cores on each) …
        self.spans: Sequence[tuple[Span, ...]]
        self._table, self.spans = (decisions, result.decision_spans) if self.logged else _recorded(result)
        #: Why each was decided.
        self.reasons = result.decision_reasons if self.logged else [as_reason(text) for text in self._table["because"]]
        self.time = self._table["time"].to_numpy(dtype=np.float64)
        self.decisions = self._table["decision"].to_numpy(dtype=object)  #: Kind of each step.
        self.rows = rows_of_jobs(self._table, result.jobs)  #: Row of each step's job.

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, number: int) -> Step:
        row = self._table.iloc[number]
        time, job, decision, because, behind, promised = (
            row[name] for name in ("time", "job_id", "decision", "because", "behind", "promised_time")
        )
        where = places_in_words(self.spans[number], self._platform)
        return Step(
            float(time), decision, str(job), _text(because), self.reasons[number], _text(behind), float(promised), where
        )

    def of_job(self, job_id: str) -> list[int]:
        """Return the steps of a job."""
        return np.flatnonzero(self._table["job_id"].to_numpy() == job_id).tolist()

    def promises(self, row: int) -> list[tuple[int, str]]:
        """Return the steps in which the job in that row was promised a start, each with the promise in words."""
        promised = []
        for step in np.flatnonzero((self.rows == row) & (self.decisions == "reserve")).tolist():
            time = self[step].promised_time
            promised.append((step, f"promised {moment(time)}" if time < math.inf else "promised no time"))
        return promised


def rows_of_jobs(table: pd.DataFrame, jobs: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Return the row in ``jobs`` of each row of a table; ``jobs`` has all jobs of the table."""
    rows: npt.NDArray[np.int64] = pd.Index(jobs["job_id"]).get_indexer(pd.Index(table["job_id"]))
    return rows


def _recorded(result: Result) -> tuple[pd.DataFrame, list[tuple[Span, ...]]]:
    """Return starts and refusals as a table of decisions without reasons, and the places of each one's job."""
    jobs, attempts, platform, cores = result.jobs, result.attempts, result.platform, result.core_holds
    held, node = by_unit(cores.held.where(cores.held.tenant < len(cores.job)), node_bounds(platform))
    places: dict[tuple[int, int], dict[int, int]] = {}
    which = zip(cores.job[held.tenant].tolist(), cores.attempt[held.tenant].tolist(), strict=True)
    for each, on, count in zip(which, node.tolist(), (held.last - held.first + 1).tolist(), strict=True):
        taken = places.setdefault(each, {})
        taken[on] = taken.get(on, 0) + count
    keys = zip(rows_of_jobs(attempts, jobs).tolist(), attempts["attempt"].tolist(), strict=True)
    found = [tuple((on, on + 1, count) for on, count in places.get(key, {}).items()) for key in keys]
    starts = attempts[["job_id"]].assign(
        time=attempts["allocation_time"], decision="start", because="", place=np.arange(len(attempts))
    )
    refused = jobs[jobs["state"] == "rejected"]
    time = refused["finish_time"].fillna(refused["submit_time"])
    refusals = refused[["job_id"]].assign(time=time, decision="reject", because=refused["reason"], place=-1)
    table = pd.concat([starts, refusals]).sort_values("time", kind="stable", ignore_index=True)
    spans = [found[place] if place >= 0 else () for place in table["place"].tolist()]
    table = table.assign(behind="", promised_time=np.nan, nodes=nodes_texts(spans, platform))
    return table[names(RESULT_TABLES["decisions"])], spans


def places_in_words(spans: Sequence[Span], platform: Platform, most: int = 4) -> str:
    """Return the first ``most`` places in words: ``8 cores of c.node3, 2 cores of each of c.node4 to c.node7``."""
    parts = []
    for first, stop, taken in spans[:most]:
        nodes = [platform.node_name(node) for node in (first, stop - 1)]
        cores = counted(taken, "core")
        parts.append(f"{cores} of {nodes[0]}" if stop == first + 1 else f"{cores} of each of {nodes[0]} to {nodes[1]}")
    rest = len(spans) - most
    return ", ".join(parts) + (f" and {rest} more places" if rest > 0 else "")


def _text(value: object) -> str:
    """Return a cell of text, which is no string if a saved table left it empty."""
    return value if isinstance(value, str) else ""
