"""A run as the list of its scheduler's decisions, with the queue and the nodes as they were before each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim.run.shortage import counted, seconds
from cluster_sim.workload.fields import RESULT_TABLES, names

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

NEVER = np.iinfo(np.int64).max
_PLACE = re.compile(r"(?P<first>.+?)(?:\.\.(?P<last>.+))?:(?P<cores>\d+)")


@dataclass(frozen=True, slots=True)
class Step:
    """One decision: ``decision`` is start, reserve, hold or reject; ``nodes`` where, as the decision log writes it."""

    number: int
    time: float  # s
    decision: str
    job_id: str
    because: str
    behind: str
    promised_time: float  # s; NaN: no promise
    nodes: str

    def words(self) -> str:
        """What was decided, as a sentence without the reason."""
        if self.decision == "start":
            where = shortened_places(self.nodes)
            return f"Job {self.job_id} starts{f' on {where}' if where else ''}."
        if self.decision == "reserve":
            if self.promised_time == math.inf:
                return f"Job {self.job_id} is promised no time at which it starts."
            return f"Job {self.job_id} is promised a start at {seconds(self.promised_time)}."
        if self.decision == "hold":
            return f"Job {self.job_id} stays in the queue."
        return f"Job {self.job_id} is refused."

    def reason(self) -> str:
        """Why, as the scheduler said it; where it said nothing, what that means."""
        if self.because:
            return f"It {self.because}." if self.decision == "hold" and not self.behind else self._said()
        if self.behind:
            return f"Behind job {self.behind}."
        return {"start": "It was its turn, and there is room.", "reserve": "It has to wait until then, at most."}.get(
            self.decision, ""
        )

    def _said(self) -> str:
        text = f"{self.because[:1].upper()}{self.because[1:]}"
        return f"{text} (job {self.behind})." if self.behind else f"{text}."


class Steps:
    """The decisions of a run in order. A run without a log of them has its starts and refusals, from the records."""

    def __init__(self, result: Result, table: pd.DataFrame, logged: bool):
        self._result = result
        self._table = table
        self.logged = logged
        self.time = table["time"].to_numpy(dtype=np.float64)
        jobs = result.jobs
        self._ids = jobs["job_id"].to_numpy(dtype=object)
        self._eligible = jobs["eligible_time"].to_numpy(dtype=np.float64)
        row_of = dict(zip(self._ids.tolist(), range(len(jobs)), strict=True))
        self._nodes = table["nodes"].tolist()
        self.decisions = table["decision"].to_numpy(dtype=object)  #: Per step its kind,
        self.rows = np.array([row_of[job] for job in table["job_id"]], np.int64)  #: and the row of its job.
        #: Whether the log tells of jobs that wait; a scheduler that yields neither Hold nor Reserve gives no reasons.
        self.tells_of_waiting = logged and bool(np.isin(self.decisions.astype(str), ["hold", "reserve"]).any())
        #: Per job the steps from which on and up to which it is in the queue, both included; NEVER if there is none.
        self.enters = np.where(np.isnan(self._eligible), NEVER, np.searchsorted(self.time, self._eligible))
        self.leaves = self._last_steps_in_queue(jobs["finish_time"].to_numpy(dtype=np.float64))

    @classmethod
    def of(cls, result: Result) -> Steps:
        """The steps of ``result``: its log of decisions if it kept one."""
        decisions = result.decisions
        logged = len(decisions) > 0
        return cls(result, decisions if logged else _recorded(result), logged)

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, number: int) -> Step:
        time, job, decision, because, behind, promised, nodes = self._table.iloc[number].tolist()
        return Step(
            number, float(time), decision, str(job), _text(because), _text(behind), float(promised), _text(nodes)
        )

    def of_job(self, job_id: str) -> list[int]:
        """The steps that are about a job."""
        return np.flatnonzero(self._table["job_id"].to_numpy() == job_id).tolist()

    def _last_steps_in_queue(self, finish: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Per job the step that takes it out of the queue; NEVER if none does."""
        # Who was cancelled while it waited is in no step.
        leaves = np.where(np.isnan(finish), NEVER, np.searchsorted(self.time, finish) - 1)
        out = np.flatnonzero(np.isin(self.decisions.astype(str), ["start", "reject"]))
        leaves[self.rows[out]] = out
        return leaves

    def queue(self, number: int) -> pd.DataFrame:
        """The jobs that wait before a step, in order of submission: job_id, waited (s), cores, requested_time (s)."""
        jobs = self._result.jobs
        rows = np.flatnonzero((self.enters <= number) & (self.leaves >= number))
        rows = rows[np.argsort(self._eligible[rows], kind="stable")]
        return pd.DataFrame(
            {
                "job_id": self._ids[rows],
                "waited": self.time[number] - self._eligible[rows],
                "cores": jobs["requested_cores"].to_numpy()[rows],
                "requested_time": jobs["requested_time"].to_numpy()[rows],
            }
        )

    def reasons(self, number: int, job_ids: list[str]) -> dict[str, str]:
        """What had last been said of each of these jobs by then, this step included; of some, nothing."""
        wanted = np.flatnonzero(np.isin(self._ids.astype(str), job_ids))
        return {self._ids[row]: text for _, row, text in self.said(number + 1, wanted)}

    def said(self, stop: int, rows: npt.NDArray[np.int64]) -> list[tuple[int, int, str]]:
        """What was said of these jobs in the steps before ``stop`` that leave them waiting: (step, row, words)."""
        waiting = np.isin(self.decisions[:stop].astype(str), ["hold", "reserve"])
        places = np.flatnonzero(waiting & np.isin(self.rows[:stop], rows))
        told = self._table.iloc[places]
        columns = (told[name].tolist() for name in ("decision", "because", "behind", "promised_time"))
        return [
            (place, row, _told(*cells))
            for place, row, *cells in zip(places.tolist(), self.rows[places].tolist(), *columns, strict=True)
        ]

    def held(self, number: int) -> npt.NDArray[np.int64]:
        """Cores that jobs hold on each node before a step, those for which a node still boots included."""
        platform, jobs, now = self._result.platform, self._result.jobs, self.time[number]
        finish = jobs["finish_time"].to_numpy(dtype=np.float64)
        started = self.decisions[:number] == "start"
        rows = self.rows[:number][started]
        running = ~(finish[rows] <= now)
        held = np.zeros(platform.node_count, np.int64)
        for step in np.flatnonzero(started)[running].tolist():
            for first, last, cores in self.spans(step):
                held[first : last + 1] += cores
        return held

    def _to_boot(self, number: int) -> set[int]:
        """The nodes of jobs that this step, or one after it in the same instant, starts and that have to boot for it."""
        jobs, now = self._result.jobs, self.time[number]
        begins = jobs["start_time"].to_numpy(dtype=np.float64)
        stop = int(np.searchsorted(self.time, now, side="right"))
        found: set[int] = set()
        for step in range(number, stop):
            if self.decisions[step] == "start" and not begins[self.rows[step]] <= now:
                for first, last, _ in self.spans(step):
                    found.update(range(first, last + 1))
        return found

    def spans(self, number: int) -> list[tuple[int, int, int]]:
        """Where a step puts a job: first node, last node, cores on each."""
        platform, spans = self._result.platform, []
        for part in filter(None, _text(self._nodes[number]).split(";")):
            found = _PLACE.fullmatch(part)
            if found is not None:
                first = platform.node_index(found["first"])
                last = platform.node_index(found["last"]) if found["last"] else first
                spans.append((first, last, int(found["cores"])))
        return spans

    def states(self, number: int) -> npt.NDArray[np.object_]:
        """The state of each node at the time of a step: OFF, SWITCHING_ON, IDLE, COMPUTING, …; before that step."""
        platform, table, now = self._result.platform, self._result.node_states, self.time[number]
        at = table[(table["start"] <= now) & (table["end"] > now)]
        found = np.full(platform.node_count, "IDLE", object)
        since = np.zeros(platform.node_count)
        for name, state, start in zip(*(at[column].tolist() for column in ("node", "state", "start")), strict=True):
            node = platform.node_index(name)
            found[node], since[node] = state, start
        for node in self._to_boot(number):
            if found[node] == "SWITCHING_ON" and since[node] == now:
                found[node] = "OFF"
        # Idle or computing is a matter of cores, which other jobs take and give back in the same instant.
        working = np.isin(found.astype(str), ["IDLE", "COMPUTING"])
        found[working] = np.where(self.held(number)[working] > 0, "COMPUTING", "IDLE")
        return found


def _recorded(result: Result) -> pd.DataFrame:
    """Starts and refusals as a table of decisions without reasons."""
    jobs = result.jobs
    started = jobs[jobs["allocation_time"].notna()]
    refused = jobs[jobs["state"] == "rejected"]
    held = result.allocations
    places: dict[str, dict[str, int]] = {}
    for job, node, first, last in zip(
        *(held[name] for name in ("job_id", "node", "first_core", "last_core")), strict=True
    ):
        on = places.setdefault(job, {})
        on[node] = on.get(node, 0) + last - first + 1
    texts = {job: ";".join(f"{node}:{count}" for node, count in on.items()) for job, on in places.items()}
    starts = pd.DataFrame(
        {
            "time": started["allocation_time"],
            "job_id": started["job_id"],
            "decision": "start",
            "because": "",
            "nodes": [texts.get(job, "") for job in started["job_id"]],
        }
    )
    refusals = pd.DataFrame(
        {
            "time": refused["finish_time"].fillna(refused["submit_time"]),
            "job_id": refused["job_id"],
            "decision": "reject",
            "because": refused["reason"],
            "nodes": "",
        }
    )
    table = pd.concat([starts, refusals]).sort_values("time", kind="stable", ignore_index=True)
    return table.assign(behind="", promised_time=np.nan)[names(RESULT_TABLES["decisions"])]


def shortened_places(text: str, most: int = 4) -> str:
    """``c.node3:8;c.node4..c.node7:2`` in words, of many the first few."""
    parts = []
    for part in filter(None, text.split(";")):
        found = _PLACE.fullmatch(part)
        if found is None:
            continue
        cores = counted(int(found["cores"]), "core")
        parts.append(
            f"{cores} of each of {found['first']} to {found['last']}"
            if found["last"]
            else f"{cores} of {found['first']}"
        )
    rest = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {rest} more places" if rest > 0 else "")


def _told(decision: str, because: object, behind: object, promised: float) -> str:
    """What a hold or a promise says, in a few words."""
    if decision == "reserve":
        return f"promised {seconds(promised)}" if promised < math.inf else "promised no time"
    return _text(because) + (f" (job {behind})" if _text(behind) else "")


def _text(value: object) -> str:
    """A cell of text, which a saved table may have left empty."""
    return value if isinstance(value, str) else ""
