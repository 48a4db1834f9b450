"""Why jobs waited: for each stretch of a wait the reason that held then, from what was held then.

There is one place that tells, for explanations and charts, with a log of decisions and without. A job for which the machine
had not enough waited for that, whatever its scheduler said. Where there was enough, the scheduler kept the job back; why,
only the log knows: for the sake of a promise, behind a job that none may overtake, or for a reason of its own.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from cluster_sim.amounts import at_time
from cluster_sim.engine import latest
from cluster_sim.errors import counted
from cluster_sim.machine.reason import FITS, Reason, ReasonKind, sentence, until_when
from cluster_sim.records.reasons.machine_then import MachineHistory, MachineThen
from cluster_sim.records.reasons.spells import MOVED, RESIZED
from cluster_sim.run.decision_log import NOBODY, KeptBackRow

if TYPE_CHECKING:
    import pandas as pd

    from cluster_sim.records.contracts import RunRecords
    from cluster_sim.run.jobs.attempts import Absence

Told = TypeVar("Told", bound=tuple[Any, ...])

BOOT = "its nodes had to boot"
SHOWN_HOLDERS = 3
"""Holders of cores that are named before the rest is counted."""


def held_because(result: RunRecords) -> str:
    """Say what may hold a job on its way to the queue, as a clause."""
    limit = ", or it was over a limit of its account" if result.meta.get("keeps_accounts") else ""
    return f"other jobs had to be over, or its reservation to begin{limit}"


@dataclass(frozen=True, slots=True)
class WaitStretch:
    """A wait of a job from ``start`` to ``end`` (s) for one reason, whose numbers may change meanwhile."""

    start: float
    end: float
    reasons: tuple[Reason, ...]
    holders: str = ""  #: Who held what the job lacked, and when enough of it should be back, where that was asked for.
    earlier: tuple[int, int] = (0, 0)  #: How many jobs submitted before it waited then, too; the least and the most.

    @property
    def reason(self) -> Reason:
        """Return the reason at its start."""
        return self.reasons[0]

    @property
    def because(self) -> str:
        """Return the reason as a sentence without its full stop, with times in the run's seconds."""
        return sentence(self.reasons)


class _Said(NamedTuple):
    """A row of the log that says why a job waits; jobs by their rows, -1 for none."""

    time: float
    job: int
    number: int
    reason: Reason
    behind: int
    blocks: bool


class _Promised(NamedTuple):
    """A promise to a job, by its row: since when it has it, and when it is to start, s."""

    job: int
    since: float
    start: float


class WaitReasons:
    """The reasons of waits in one result."""

    def __init__(self, result: RunRecords):
        self._result = result
        self._jobs = result.jobs
        self._horizon = float(result.power["time"].iloc[-1])
        self._kept_last: tuple[float, KeptBackRow | None] = math.nan, None
        self._lacked_then: dict[int, bool] = {}  # of rows of a log of an older version, by their numbers
        names = ("job_id", "state", "eligible_time", "finish_time")
        self._ids, self._states, self._eligible, self._finish = (result.jobs[name].tolist() for name in names)

    @cached_property
    def history(self) -> MachineHistory:
        """Return the machine over the run."""
        return MachineHistory(self._result)

    # ------------------------------------------------------------------ answers

    def stretches(
        self,
        job_id: str,
        since: float,
        until: float,
        holders: bool = False,
        at: Callable[[float], str] = at_time,
    ) -> list[WaitStretch]:
        """Return the reasons of a job that waited from ``since`` to ``until`` (s), without gaps, like ones joined.

        With ``holders`` those are told too; then a stretch ends where the one that held most of what it needed leaves.
        ``at`` writes times (s).
        """
        row = self.history.row_of[job_id]
        # The jobs submitted before this one that waited, too, within these times (s).
        rows, begins, ends = self._all_spans
        submitted = self._jobs["submit_time"].to_numpy(dtype=np.float64)
        before = submitted < submitted[row]
        before[:row] |= submitted[:row] == submitted[row]
        chosen = before[rows] & (begins < until) & (ends > since)
        earlier = _Earlier(np.sort(begins[chosen]), np.sort(ends[chosen]))
        pieces: list[tuple[float, Reason, str]] = []
        told, leaves = "", math.inf
        for start, reason, machine in self.each(row, since, until):
            if not (holders and reason.lacks):
                told = ""
            elif not pieces or pieces[-1][1].form != reason.form or start >= leaves:
                found = _Holders(self.history, self._expected_ends, row, machine)
                told, leaves = found.words(at), found.leaves
            pieces.append((start, reason, told))
        joined: list[WaitStretch] = []
        groups = [list(group) for _, group in groupby(pieces, key=lambda piece: (piece[1].form, piece[2]))]
        for parts, after in zip(groups, [*groups[1:], None], strict=True):
            (start, first, told), reasons = parts[0], tuple(dict.fromkeys(reason for _, reason, _ in parts))
            waiting = [earlier.at(time) for time, _, _ in parts] if first.lacks else [0]
            who = f"at first, {told}" if told and len(reasons) > 1 else told
            end = until if after is None else after[0][0]
            joined.append(WaitStretch(start, end, reasons, who, (min(waiting), max(waiting))))
        return joined

    def moments(self) -> InstantsOfWait:
        """Return what tells the reasons of many jobs at one time after the other."""
        return InstantsOfWait(self)

    def last(self, job_ids: Sequence[str]) -> list[str]:
        """Return for each job the reason that held last before it got its cores, and whether its nodes then had to boot.

        Empty if it did not wait.
        """
        rows = [self.history.row_of[job] for job in job_ids]
        spans = {i: span for i, row in enumerate(rows) for span in self._spans(row)[-1:]}
        order = sorted((until, i) for i, (since, until) in spans.items() if until > since)
        found, moments = [""] * len(rows), self.moments()
        for until, i in order:
            (found[i],) = moments.reasons(until, (rows[i],))
        attempts = self._result.attempts
        late = attempts[attempts["start_time"] > attempts["allocation_time"]]
        booted = set(zip(late["job_id"].tolist(), late["allocation_time"].tolist(), strict=True))
        for i, (_, until) in spans.items():
            if (job_ids[i], until) in booted:
                found[i] = f"{found[i]}; then {BOOT}" if found[i] else BOOT
        return found

    def preempted(self, row: int, since: float, time: float) -> tuple[str, str]:
        """Return for which job the scheduler took the cores that a job had from ``since`` to ``time`` (s), and why.

        Empty: not known. It may have left a while after it was told to (grace), and with other cores than it had then.
        """
        for before, after in reversed(list(pairwise(self._result.spells.get(row, ())))):
            if after.start == since and before.then in (RESIZED, MOVED):
                since = before.start
        for told, behind, because in reversed(self._preempted.get(row, [])):
            if since <= told <= time:
                return behind, because
        return "", ""

    # ------------------------------------------------------------------ one reason

    @cached_property
    def _changes(self) -> np.ndarray:
        """Return all times, s, at which a reason may change; waits and promises end with starts, which are in it."""
        waits = [np.array(times, np.float64) for times in (self._eligible, self._finish)]
        log = self._result.decisions["time"].to_numpy(dtype=np.float64)
        told = [] if self._result.conditions is None else self._result.conditions.told_times()
        gaps = [time for absence in self._absences for time in absence[1:] if time < math.inf]
        times = np.unique(np.concatenate([self.history.times, log, *waits, gaps, told, [self._horizon]]))
        return np.asarray(times[~np.isnan(times)])

    def each(self, row: int, since: float, until: float) -> Iterator[tuple[float, Reason, MachineThen]]:
        """Return the reasons from each change on until the next: from when, s; why; and the machine as it was then."""
        changes = self._changes
        changes = np.union1d(changes, self.history.closing_times(row))
        inner = changes[(changes > since) & (changes < until)].tolist()
        machine = self.history.at(since)
        for start in [since, *inner]:
            machine.go_on(start)
            yield start, self.reason(row, start, machine), machine

    def reason(self, row: int, time: float, machine: MachineThen) -> Reason:
        """Return why a job waited from ``time`` on, on the machine as it was after all of that instant."""
        if time >= self._horizon:
            return Reason(ReasonKind.NOT_RECORDED)
        if self._is_absent(row, time):
            # It was killed; or it had come back, and was held on its way to the queue.
            gaps = [one for one in self._gaps.get(row, ()) if one.since <= time < one.until]
            is_back = any(one.back <= time for one in gaps)
            return (
                Reason(ReasonKind.CAME_BACK, said=held_because(self._result)) if is_back else Reason(ReasonKind.KILLED)
            )
        if lacking := machine.shortage(row):
            return lacking
        if not len(self._result.decisions):
            return self._kept_back(row, time)
        said = self._said_last(row, time)
        if said is None:
            return Reason(ReasonKind.NO_REASON)
        if said.job != row:
            return Reason(ReasonKind.BEHIND, behind=self._ids[said.job], said=self._order)
        if said.behind < 0:
            return said.reason
        # The last promise that the other job had been made by then, if any.
        promises = self._log[2].get(said.behind, ())
        place = bisect_right(promises, (time, math.inf))
        behind = self._ids[said.behind]
        if not place:
            return replace(said.reason, behind=behind)
        return Reason(ReasonKind.DELAYS_PROMISED, behind=behind, promised=promises[place - 1][1])

    def _kept_back(self, row: int, time: float) -> Reason:
        """Return why a job that would fit was kept back from ``time`` on, in a run without a log of decisions."""
        last, conditions = self._kept_for(time), self._result.conditions
        since = -math.inf if last is None else last[0]
        for own_since, until, reason in reversed(self._told_of_one.get(row, ())):
            # Of a spell it is known when it was told first and last; between, others may have come before the job.
            is_first = last is not None and last[1] == row
            if not (own_since <= time and since <= (own_since if until > time and not is_first else until)):
                continue
            if reason:
                return reason
            break  # nothing of its own any more
        if last is None or last[1] == row:
            own = ReasonKind.FITS if conditions is None else conditions.keeps_back
            if own is ReasonKind.DELAYS and self._promised_at[0]:
                return self._delayed(row, time)
            return Reason(ReasonKind.NOT_LOGGED if own is ReasonKind.FITS else own)
        behind = self._ids[last[1]]
        if len(last) == 3:
            return Reason(ReasonKind.DELAYS_PROMISED, behind=behind, promised=last[2])
        return Reason(ReasonKind.BEHIND, behind=behind, said=self._order)

    def _delayed(self, row: int, time: float) -> Reason:
        """Return which jobs with a promise a job might delay that starts then: those that should start before it ends."""
        times, promised = self._promised_at
        place = bisect_right(times, time)
        others = [one for one in promised[place - 1] if self._is_promised(one, time)] if place else []
        kinds = self._result.platform.node_types
        boots = max(kind.transitions.switch_on_s + kind.transitions.switch_off_s for kind in kinds)
        end = latest(time + self._jobs["requested_time"].iloc[row]) + 2.0 * boots  # its own boot, and theirs
        delayed = [one for one in others if one.job != row and (one.start <= end or one.start == math.inf)]
        if not delayed:
            return Reason(ReasonKind.NO_EARLIER)
        if len(delayed) == 1:
            (one,) = delayed
            return Reason(ReasonKind.DELAYS_PROMISED, behind=self._ids[one.job], promised=one.start)
        return Reason(ReasonKind.DELAYS_ONE_OF, one_of=tuple(self._ids[one.job] for one in delayed))

    @cached_property
    def _promised_at(self) -> tuple[list[float], list[list[_Promised]]]:
        """Return, where several jobs are promised starts, the promises that hold from each time (s) on."""
        times, found = list[float](), list[list[_Promised]]()
        held: dict[int, _Promised] = {}
        rows = () if self._result.conditions is None else self._result.conditions.promises
        for time, several in groupby(rows, key=lambda row: row[0]):
            held = {job: one for job, one in held.items() if self._is_promised(one, time)}
            for _, job, *start in several:
                held.pop(job, None)
                if start:
                    held[job] = _Promised(job, time, start[0])
            times.append(time)
            found.append(list(held.values()))
        return times, found

    def _is_promised(self, one: _Promised, time: float) -> bool:
        """Return whether a job has waited ever since it was promised a start."""
        pieces = [piece for span in self._spans(one.job) for piece in self.in_queue(one.job, *span)]
        return any(since <= one.since and time < until for since, until in pieces if since <= time)

    def _kept_for(self, time: float) -> KeptBackRow | None:
        """Return the last row by ``time`` of a job for whose sake others are kept back and which still waits then."""
        if self._kept_last[0] != time:
            rows = () if self._result.conditions is None else self._result.conditions.kept_back
            last = next(self._of_waiting(rows, time), None)
            self._kept_last = time, None if last is None or last[1] == NOBODY else last
        return self._kept_last[1]

    def _of_waiting(self, rows: Sequence[Told], time: float) -> Iterator[Told]:
        """Yield the rows by ``time``, (time s, row of a job, …), of jobs that still wait then, or of nobody, the last first."""
        place = bisect_right(rows, time, key=lambda one: one[0])
        return (rows[i] for i in range(place - 1, -1, -1) if rows[i][1] == NOBODY or self._waits(rows[i][1], time))

    @cached_property
    def _told_of_one(self) -> dict[int, list[tuple[float, float, Reason]]]:
        """Return what a run without a log told of each job alone, by time: when first and last (s), and why it waits."""
        found: dict[int, list[tuple[float, float, Reason]]] = {}
        conditions = self._result.conditions
        if conditions is None:
            return found
        caps = conditions.power_caps
        for job, since, until, watts in conditions.capped:
            found.setdefault(job, []).append((since, until, Reason(ReasonKind.CAPPED, amount=watts)))
            # Another cap keeps the job back only where a row of its own says so.
            later = range(bisect_left(caps, until, key=lambda cap: cap[0]), len(caps))
            other = next((caps[i][0] for i in later if caps[i][1] != watts), None)
            if other is not None:
                found[job].append((other, other, FITS))
        for time, job, reason in conditions.told:
            found.setdefault(job, []).append((time, time, reason))
        for several in found.values():
            several.sort(key=lambda one: one[1])
        return found

    @cached_property
    def _order(self) -> str:
        """Return ``, by the order sjf``; empty in order of submission, or if jobs that have waited long go first."""
        name, _, options = str(self._result.meta.get("scheduler", "")).partition(":")
        order = options.partition("/")[0] if name == "list" else name if name in ("sjf", "ljf") else "first"
        return "" if order in ("first", "fcfs") or "aging=" in options else f", by the order {order}"

    # ------------------------------------------------------------------ what the log says

    @cached_property
    def _log(self) -> tuple[dict[int, list[_Said]], list[_Said], dict[int, list[tuple[float, float]]]]:
        """Return what was said of each job, which jobs blocked the queue, and what each was promised; all by time."""
        own: dict[int, list[_Said]] = {}
        blocks: list[_Said] = []
        promises: dict[int, list[tuple[float, float]]] = {}
        row_of, table = self.history.row_of, self._result.decisions
        columns = (table[name].tolist() for name in ("time", "job_id", "decision", "behind", "promised_time"))
        rows = zip(*columns, self._result.decision_reasons, strict=True)
        for number, (time, job, decision, behind, promised, reason) in enumerate(rows):
            row = row_of[job]
            if decision == "reserve":
                promises.setdefault(row, []).append((time, promised))
            elif decision in ("hold", "block"):
                said = _Said(time, row, number, reason, row_of.get(behind, -1), decision == "block")
                own.setdefault(row, []).append(said)
                if said.blocks:
                    blocks.append(said)
        return own, blocks, promises

    @cached_property
    def _preempted(self) -> dict[int, list[tuple[float, str, str]]]:
        """Return when (s) a scheduler told each job to give up its cores, for which job, and why; in order."""
        table = self._result.decisions
        found: dict[int, list[tuple[float, str, str]]] = {}
        columns = (table[name].tolist() for name in ("decision", "job_id", "time", "behind"))
        rows = zip(*columns, self._result.decision_reasons, strict=True)
        for decision, job, time, behind, reason in rows:
            if decision == "preempt":
                found.setdefault(self.history.row_of[job], []).append((time, behind, reason.said))
        return found

    def _said_last(self, row: int, time: float) -> _Said | None:
        """Return what was said last by then of why the job waits though there is enough for it, if it still holds."""
        own, blocks, _ = self._log
        said_of_it = own.get(row, ())
        place = bisect_right(said_of_it, time, key=lambda one: one.time)
        mine = said_of_it[place - 1] if place else None
        # The last block of a job that still waits: the jobs before it in the queue have been started. A job that waits
        # behind this one, which is suspended, is not before it.
        block = next((one for one in self._of_waiting(blocks, time) if one.behind != row), None)
        if block is not None and block.job == row:
            block = None
        if block is not None and mine is not None and mine.number < block.number:
            mine = None
        if mine is None or not mine.reason or self._lacked(mine):
            return block  # what it lacked then it no longer does
        return mine if mine.behind < 0 or self._waits(mine.behind, time) else block

    def _lacked(self, said: _Said) -> bool:
        """Return whether a row of the log says what its job lacked; of one with words only, the machine of then tells."""
        if self._result.conditions is not None and self._result.conditions.log:
            return said.reason.lacks
        if said.number not in self._lacked_then:
            self._lacked_then[said.number] = bool(self.history.at(said.time).shortage(said.job))
        return self._lacked_then[said.number]

    def _waits(self, row: int, time: float) -> bool:
        """Return whether a job waits from ``time`` on."""
        return any(since <= time < until for since, until in self._spans(row)) and not self._is_absent(row, time)

    @cached_property
    def _absences(self) -> tuple[Absence, ...]:
        return () if self._result.conditions is None else self._result.conditions.absences

    @cached_property
    def _gaps(self) -> dict[int, list[Absence]]:
        """Return the gaps in the waits of jobs, by their rows."""
        found: dict[int, list[Absence]] = {}
        for absence in self._absences:
            found.setdefault(absence.job, []).append(absence)
        return found

    def in_queue(self, row: int, since: float, until: float) -> list[tuple[float, float]]:
        """Return a wait of a job (s) without the gaps in it: the pieces that are left, in order."""
        pieces = []
        for _, begin, end, _ in sorted(self._gaps.get(row, ())):
            if since <= begin < until:
                if since < begin:
                    pieces.append((since, begin))
                since = end
        return [*pieces, (since, until)] if since <= until else pieces

    def _is_absent(self, row: int, time: float) -> bool:
        return any(one.since <= time < one.until for one in self._gaps.get(row, ()))

    @cached_property
    def _attempts_of(self) -> dict[str, list[tuple[float, float, float]]]:
        attempts = self._result.attempts
        found: dict[str, list[tuple[float, float, float]]] = {}
        columns = (attempts[name].tolist() for name in ("job_id", "queue_time", "allocation_time", "over_time"))
        for job, queued, allocated, ended in zip(*columns, strict=True):
            found.setdefault(job, []).append((queued, allocated, ended))
        return found

    def _spans(self, row: int) -> list[tuple[float, float]]:
        """Return when a job waited, s: before each attempt, after the last one if it had to, and while suspended."""
        finish, since = self._finish[row], self._eligible[row]
        over = math.inf if math.isnan(finish) else finish
        attempts = self._attempts_of.get(self._ids[row], [])
        suspended = [(one.start, min(one.end, over)) for one in self.history.suspensions.get(row, ())]
        if not attempts:
            refused_at_once = self._states[row] == "rejected" and over == math.inf
            return [] if refused_at_once else [(since, over)]
        ended = attempts[-1][2]
        again = [(ended, over)] if not math.isnan(ended) and ended < over else []
        queued = [(queued, allocated) for queued, allocated, _ in attempts]
        return sorted([*queued, *again, *suspended]) if suspended else queued + again

    @cached_property
    def _all_spans(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all waits of all jobs: the row of the job, and from when to when it waited, s."""
        rows = range(len(self._ids))
        spans = [(row, *span) for row in rows for wait in self._spans(row) for span in self.in_queue(row, *wait)]
        table = np.array(spans, np.float64).reshape(-1, 3)
        return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]

    # ------------------------------------------------------------------ when cores come back

    @cached_property
    def _expected_ends(self) -> np.ndarray:
        """Return when each hold should end, s, by its job's request, or by what its guest said; inf: not known."""
        history = self.history
        requested = self._jobs["requested_time"].to_numpy(dtype=np.float64)
        attempts: pd.DataFrame = self._result.attempts
        names = ("job_id", "attempt", "start_time")
        begins = {(job, number): time for job, number, time in zip(*(attempts[n].tolist() for n in names), strict=True)}
        stays = () if history.conditions is None else history.conditions.guests
        leaves = {(stay.owner, stay.node, stay.since): stay.expected_end for stay in stays}
        # Cores of each job and attempt that it got at one time (s).
        cores_of: dict[tuple[int, int, float], int] = defaultdict(int)
        columns = (history.pieces.job, history.pieces.attempt, history.pieces.start, history.pieces.cores)
        for job, attempt, start, cores in zip(*(column.tolist() for column in columns), strict=True):
            cores_of[job, attempt, start] += cores
        ends = np.full(len(history.pieces.job), math.inf)
        for i, job in enumerate(history.pieces.job.tolist()):
            owner, since = history.pieces.owner[i], float(history.pieces.start[i])
            if job < 0:
                ends[i] = leaves.get((owner, int(history.pieces.node[i]), since), math.inf)
            else:
                attempt = int(history.pieces.attempt[i])
                begin = begins[owner, attempt]
                begin = since if math.isnan(begin) else max(begin, since)
                ends[i] = begin + self._left(job, attempt, since, cores_of[job, attempt, since], requested[job])
        return ends

    def _left(self, row: int, attempt: int, since: float, cores: int, requested: float) -> float:
        """Return how long a job may still run from then on by its request, s; inf if it has not the cores it requested.

        How long it may run on other cores depends on its speedup, which is not in the records.
        """
        if cores != self._requested_cores[row]:
            return math.inf
        earlier = [one for one in self._result.spells.get(row, ()) if one.attempt == attempt and one.end <= since]
        if any(one.cores != self._requested_cores[row] for one in earlier):
            return math.inf
        return requested - sum(one.end - one.start for one in earlier)

    @cached_property
    def _requested_cores(self) -> list[int]:
        return self._jobs["requested_cores"].tolist()


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The times at which waits of other jobs began and ended, s, each in order."""

    begins: np.ndarray
    ends: np.ndarray

    def at(self, time: float) -> int:
        """Return how many of these jobs wait from this time on."""
        began, over = (int(np.searchsorted(times, time, side="right")) for times in (self.begins, self.ends))
        return began - over


class InstantsOfWait:
    """A walk through a run from one time to a later one that tells why jobs waited until then."""

    def __init__(self, waits: WaitReasons):
        self._waits = waits
        self._machine = MachineThen(waits.history)
        self._told: dict[int, str] = {}

    def reasons(self, time: float, rows: Sequence[int]) -> list[str]:
        """Return the reasons of waiting jobs, by their rows, just before a time (s, no earlier than the last)."""
        before = math.nextafter(time, -math.inf)
        if before != self._machine.now:
            self._told.clear()
            self._machine.go_on(before)
        for row in rows:
            if row not in self._told:
                self._told[row] = sentence([self._waits.reason(row, before, self._machine)])
        return [self._told[row] for row in rows]


class _Holders:
    """The holders of what a job lacks, on the machine as it was at one time."""

    def __init__(self, history: MachineHistory, ends: np.ndarray, row: int, machine: MachineThen):
        self._history = history
        time = self._time = machine.now
        machine = machine.copy()
        held = np.flatnonzero((history.pieces.start <= time) & (history.pieces.end > time))
        # Those that are late may end any moment; when, is not known.
        due = np.where(ends[held] > time, ends[held], math.inf)
        coming = [(end, hold, -1) for hold, end in zip(held.tolist(), due.tolist(), strict=True)]
        coming += [(end, -1, node) for node, end in history.switching(time).items()]
        self.enough_at = math.nan
        self._needed: list[tuple[int, float]] = []
        placement = None
        for end, group in groupby(sorted(coming), key=lambda entry: entry[0]):
            for _, hold, node in group:
                if hold < 0:
                    machine.is_back(node)
                    continue
                machine.release(hold)
                self._needed.append((hold, float(ends[hold])))
            placement = machine.placed(row)
            if placement is not None:
                self.enough_at = end
                break
        if placement is not None and placement.spans:
            # Drop the holds of jobs that have no cores there. If a job has some there, all its cores count.
            pieces, on = history.pieces, set(placement.nodes)
            there = {hold for hold, _ in self._needed if int(pieces.node[hold]) in on}
            jobs = {int(pieces.job[hold]) for hold in there} - {-1}
            self._needed = [(hold, end) for hold, end in self._needed if hold in there or int(pieces.job[hold]) in jobs]
        #: When the one that holds most left, s.
        self.leaves = math.inf

    def words(self, at: Callable[[float], str]) -> str:
        """Say ``job a holds 24 cores (expected until 120 s); enough cores should be free at 120 s``."""
        history = self._history
        cores: dict[tuple[str, bool], int] = {}
        until: dict[tuple[str, bool], float] = {}
        for hold, end in self._needed:
            owner = str(history.pieces.owner[hold]), bool(history.pieces.job[hold] >= 0)
            cores[owner] = cores.get(owner, 0) + int(history.pieces.cores[hold])
            until[owner] = max(until.get(owner, -math.inf), end)
        if not cores:
            return ""
        most = sorted(cores, key=lambda owner: -cores[owner])
        self.leaves = min(
            float(history.pieces.end[hold]) for hold, _ in self._needed if history.pieces.owner[hold] == most[0][0]
        )
        parts = []
        for owner in most[:SHOWN_HOLDERS]:
            name, is_job = owner
            end, who = until[owner], f"job {name}" if is_job else f"{name}, a guest,"
            if not is_job or not math.isfinite(end):
                then = until_when(end, end <= self._time, at)
            else:
                then = f"past its requested time, {at(end)}" if end <= self._time else f"(expected until {at(end)})"
            parts.append(f"{who} holds {counted(cores[owner], 'core')} {then}")
        left = most[SHOWN_HOLDERS:]
        if left:
            parts.append(f"{counted(len(left), 'other')} {sum(cores[owner] for owner in left):,}")
        told = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        if math.isnan(self.enough_at):
            return f"{told}; when enough cores should be free is not known"
        when = f"at {at(self.enough_at)}" if self.enough_at < math.inf else "at a time that is not known"
        return f"{told}; enough cores should be free {when}"
