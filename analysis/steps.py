"""A run as the list of its scheduler's decisions, each in words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.rectangles import rows_of_jobs
from cluster_sim.run.shortage import counted, seconds
from cluster_sim.workload.fields import RESULT_TABLES, names

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

_PLACE = re.compile(r"(?P<first>.+?)(?:\.\.(?P<last>.+))?:(?P<cores>\d+)")


@dataclass(frozen=True, slots=True)
class Step:
    """One decision: ``decision`` is start, reserve, hold or reject; ``nodes`` where, as the decision log writes it."""

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

    def __init__(self, result: Result):
        decisions = result.decisions
        self.logged = len(decisions) > 0
        self._platform = result.platform
        self._table = decisions if self.logged else _recorded(result)
        self.time = self._table["time"].to_numpy(dtype=np.float64)
        self.decisions = self._table["decision"].to_numpy(dtype=object)  #: Per step its kind,
        self.rows = rows_of_jobs("decisions", self._table, result.jobs)  #: and the row of its job.
        self._waiting = np.isin(self.decisions.astype(str), ["hold", "reserve"])
        #: Whether the log tells of jobs that wait; a scheduler that yields neither Hold nor Reserve gives no reasons.
        self.tells_of_waiting = self.logged and bool(self._waiting.any())

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, number: int) -> Step:
        time, job, decision, because, behind, promised, nodes = self._table.iloc[number].tolist()
        return Step(float(time), decision, str(job), _text(because), _text(behind), float(promised), _text(nodes))

    def of_job(self, job_id: str) -> list[int]:
        """The steps that are about a job."""
        return np.flatnonzero(self._table["job_id"].to_numpy() == job_id).tolist()

    def said(self, stop: int, rows: npt.NDArray[np.int64]) -> list[tuple[int, int, str]]:
        """What was said of these jobs in the steps before ``stop`` that leave them waiting: (step, row, words)."""
        places = np.flatnonzero(self._waiting[:stop] & np.isin(self.rows[:stop], rows))
        told = self._table.iloc[places]
        columns = (told[name].tolist() for name in ("decision", "because", "behind", "promised_time"))
        return [
            (place, row, _told(*cells))
            for place, row, *cells in zip(places.tolist(), self.rows[places].tolist(), *columns, strict=True)
        ]

    def spans(self, number: int) -> list[tuple[int, int, int]]:
        """Where a step puts a job: first node, last node, cores on each."""
        index, parts = self._platform.node_index, _text(self._table["nodes"].iloc[number]).split(";")
        found = [part for part in map(_PLACE.fullmatch, parts) if part is not None]
        return [(index(part["first"]), index(part["last"] or part["first"]), int(part["cores"])) for part in found]


def _recorded(result: Result) -> pd.DataFrame:
    """Starts and refusals as a table of decisions without reasons."""
    jobs, attempts, holds = result.jobs, result.attempts, result.holds
    cores = (holds["last_core"] - holds["first_core"] + 1).groupby(
        [holds["owner"], holds["attempt"], holds["node"]], sort=False
    )
    on = cores.sum().rename("cores").reset_index()
    texts = (on["node"] + ":" + on["cores"].astype(str)).groupby([on["owner"], on["attempt"]]).agg(";".join)
    nodes = texts.reindex(pd.MultiIndex.from_frame(attempts[["job_id", "attempt"]]), fill_value="").tolist()
    starts = attempts[["job_id"]].assign(time=attempts["allocation_time"], decision="start", because="", nodes=nodes)
    refused = jobs[jobs["state"] == "rejected"]
    time = refused["finish_time"].fillna(refused["submit_time"])
    refusals = refused[["job_id"]].assign(time=time, decision="reject", because=refused["reason"], nodes="")
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
