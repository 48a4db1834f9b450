"""The log of a scheduler's decisions: why each job waits, what it was promised, how it came to start."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.machine.reason import FITS, Loss, Reason, ReasonKind, as_reason
from cluster_sim.run.decisions import Change, Hold, Preempt, Reserve, Resume, Start
from cluster_sim.workload.fields import RESULT_TABLES, names

if TYPE_CHECKING:
    from cluster_sim.machine.placement import Span
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job

KINDS = ("start", "reserve", "hold", "reject", "block", "preempt", "resume", "resize")
_START, _RESERVE, _HOLD, _REJECT, _BLOCK, _PREEMPT, _RESUME, _RESIZE = range(len(KINDS))
_TAKEN = {
    "requeue": ReasonKind.REQUEUED,
    "suspend": ReasonKind.SUSPENDED,
    "cancel": ReasonKind.CANCELLED,
    "timeout": ReasonKind.TIMED_OUT,
}
KeptBackRow = tuple[float, int] | tuple[float, int, float]
PromiseRow = tuple[float, int] | tuple[float, int, float]
ToldRow = tuple[float, int, Reason]
NOBODY = -1
_NOTHING = (FITS, NOBODY)
NAN = float("nan")
LATE_BOOT = Reason(ReasonKind.PUT_OFF, losses=(Loss.LATE_BOOT,))


class DecisionLog:
    """A row whenever something changed for a job: what it waits for, what it was promised, its start, its refusal.

    Columns, with jobs by their position in the workload and reasons by their number: a scheduler that looks at every
    pending job in every pass says the same thing many times.
    """

    def __init__(self) -> None:
        self._time = array("d")
        self._job = array("q")
        self._kind = bytearray()
        self._because = array("q")
        self._behind = array("q")
        self._promised = array("d")
        self._spans: list[tuple[Span, ...]] = []
        self._reasons: dict[Reason | str, int] = {}
        #: Per job what was last said of it: why, behind which job, whether it blocks the queue,
        self._held: dict[int, tuple[Reason | str, int, bool]] = {}
        self._promises: dict[int, tuple[float, tuple[Span, ...]]] = {}  #: and when and where it is to start.
        self._blockers: list[int] = []  #: Jobs said to block the queue that still wait, one after the other.
        self._booting: dict[int, tuple[float, tuple[Span, ...]]] = {}  #: The same of jobs that have got their cores.

    def __len__(self) -> int:
        return len(self._kind)

    def started(self, now: float, decision: Start) -> None:
        """Enter that a job got its cores at ``now`` (s)."""
        index = decision.job.index
        self._no_longer_waits(index)
        promise = self._promises.pop(index, None)
        if promise is not None:
            self._booting[index] = promise
        self._add(now, index, _START, decision.because, spans=decision.placement.spans)

    def booted(self, now: float, index: int, is_late: bool) -> None:
        """Enter that the boot of its nodes has made a job miss its promise, if it has; its tasks begin."""
        promised, spans = self._booting.pop(index, (now, ()))
        if is_late and now > promised:
            self._add(now, index, _RESERVE, LATE_BOOT, promised=now, spans=spans)

    def note(self, now: float, decision: Hold | Reserve) -> None:
        """Note that a job stays in the queue, or was promised a start; add a row if its last row says otherwise."""
        index = decision.job.index
        if isinstance(decision, Hold):
            behind = NOBODY if decision.behind is None else decision.behind.index
            said = (decision.because, behind, decision.blocks)
            blockers = self._blockers
            if not decision.blocks:
                blockers.clear()
            elif not blockers or blockers[-1] != index:
                # What was said of others before is to be said anew, if it is still so in a pass that looks at them.
                self._held = {other: said for other, said in self._held.items() if said[2] and other != index}
                blockers.append(index)
            if self._held.get(index) != said:
                self._held[index] = said
                self._add(now, index, _BLOCK if decision.blocks else _HOLD, decision.because, behind)
        else:
            spans = () if decision.placement is None else decision.placement.spans
            promise = (decision.time, spans)
            if self._promises.get(index) != promise:
                self._promises[index] = promise
                self._add(now, index, _RESERVE, decision.because, promised=decision.time, spans=spans)

    def changed(self, now: float, decision: Change) -> None:
        """Enter a decision about a job that had begun."""
        index, because = decision.job.index, decision.because
        if isinstance(decision, Preempt):
            behind = NOBODY if decision.behind is None else decision.behind.index
            self._add(now, index, _PREEMPT, Reason(_TAKEN[decision.mode], said=str(because)), behind)
        else:
            kind = _RESUME if isinstance(decision, Resume) else _RESIZE
            self._add(now, index, kind, because, spans=decision.placement.spans)

    def rejected(self, now: float, job: Job, reason: str) -> None:
        """Enter that a job was refused at ``now`` (s): when it was submitted, or later by the scheduler."""
        self._no_longer_waits(job.index)
        self._add(now, job.index, _REJECT, reason)

    def _no_longer_waits(self, index: int) -> None:
        self._held.pop(index, None)
        if index in self._blockers:
            self._blockers = [other for other in self._blockers if other != index]

    def _add(
        self,
        now: float,
        index: int,
        kind: int,
        because: Reason | str = "",
        behind: int = NOBODY,
        promised: float = NAN,
        spans: tuple[Span, ...] = (),
    ) -> None:
        self._time.append(now)
        self._job.append(index)
        self._kind.append(kind)
        self._because.append(self._reasons.setdefault(because, len(self._reasons)))
        self._behind.append(behind)
        self._promised.append(promised)
        self._spans.append(spans)

    def spans(self, rows: int) -> list[tuple[Span, ...]]:
        """Return where the first ``rows`` rows put their jobs."""
        return self._spans[:rows]

    def reasons(self) -> tuple[tuple[Reason, ...], tuple[int, ...]]:
        """Return the reasons that were given, and the number of each row's among them.

        Of a job that lacks something the kind is enough: how much there was, the records of the machine know.
        """
        numbers: dict[Reason, int] = {}
        own = []
        for because in self._reasons:
            reason = as_reason(because)
            own.append(numbers.setdefault(Reason(reason.kind) if reason.lacks else reason, len(numbers)))
        return tuple(numbers), tuple(own[number] for number in self._because)

    def table(self, rows: int, job_ids: np.ndarray, platform: Platform) -> pd.DataFrame:
        """Return the first ``rows`` rows as a table with the columns of ``cluster_sim.workload.fields``."""
        behind = np.array(self._behind[:rows], np.int64)
        # The extra entry is for NOBODY, which as an index is the last.
        ids = np.append(job_ids.astype(object), "")
        columns = {
            "time": np.array(self._time[:rows], np.float64),
            "job_id": ids[np.array(self._job[:rows], np.int64)],
            "decision": np.array(KINDS, object)[np.frombuffer(bytes(self._kind[:rows]), np.uint8)],
            "because": np.array([*map(str, self._reasons), ""], object)[np.array(self._because[:rows], np.int64)],
            "behind": ids[behind],
            "promised_time": np.array(self._promised[:rows], np.float64),
            "nodes": np.array([*nodes_texts(self.spans(rows), platform), ""], object)[:-1],
        }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["decisions"]))


class KeptBack:
    """Keeps, in a run without a log, why jobs wait that would fit.

    A job waits for the sake of another, of one of several, or for a reason that the scheduler gives for it alone.
    ``keeps_back`` is the reason of a scheduler that gives none.
    """

    def __init__(self, head_alone_delays: bool, keeps_back: Reason) -> None:
        self._head_alone_delays = head_alone_delays
        self._several_delay = keeps_back.kind is ReasonKind.DELAYS
        #: A row whenever this changes: when (s), the job that none may overtake, or that was promised a start, and when (s);
        #: or NOBODY, if the former job may be overtaken from then on.
        self.rows: list[KeptBackRow] = []
        #: Where several jobs have promises, each: when (s), to which job, for when (s), or nothing if it is taken back.
        self.promises: list[PromiseRow] = []
        self.told: list[ToldRow] = []  #: When (s), of which job, which reason.
        self._head: Job | None = None  # the job of the last row
        self._blocking: set[int] = set()  # jobs of rows that none might overtake, by index
        self._last: dict[int, tuple[Reason | str, int]] = {}  # told last, by index of the job, and behind whom

    def blocks(self, now: float, head: Job) -> None:
        """Note that no job may overtake this one."""
        if head is not self._head:
            self._head = head
            self._blocking.add(head.index)
            self.rows.append((now, head.index))
            self._last.clear()  # what is still so is to be told anew

    def note(self, now: float, decision: Hold | Reserve) -> None:
        """Note that no job may overtake or delay this one, and the scheduler's reason for it alone."""
        index, reason = decision.job.index, decision.because
        if isinstance(decision, Reserve):
            if self._head_alone_delays and (not self.rows or self.rows[-1][1:] != (index, decision.time)):
                self._head = None
                self.rows.append((now, index, decision.time))
                self._last.clear()
            elif self._several_delay:
                is_over = isinstance(reason, Reason) and reason.kind is ReasonKind.TAKEN_BACK
                self.promises.append((now, index) if is_over else (now, index, decision.time))
            return
        if decision.blocks:
            self.blocks(now, decision.job)
        elif index in self._blocking:
            self._head = None
            self._blocking.clear()
            self.rows.append((now, NOBODY))
        if not reason or (isinstance(reason, Reason) and reason.lacks):  # what it lacks, the records know
            reason, behind = FITS, None
        else:
            behind = decision.behind
        told = reason, NOBODY if behind is None else behind.index
        if self._last.get(index, _NOTHING) != told:
            self._last[index] = told
            reason = as_reason(reason)
            self.told.append((now, index, reason if behind is None else replace(reason, behind=behind.job_id)))


def nodes_texts(placements: list[tuple[Span, ...]], platform: Platform) -> list[str]:
    """Write placements as text: cores on a node, or on each from one node to another.

    ``cluster0.node3:8;cluster0.node4..cluster0.node7:2``; a placement of thousands of nodes stays readable.
    """
    node_names = platform.node_names()
    return [
        ";".join(
            (
                f"{node_names[first]}:{taken}"
                if stop == first + 1
                else f"{node_names[first]}..{node_names[stop - 1]}:{taken}"
            )
            for first, stop, taken in spans
        )
        for spans in placements
    ]
