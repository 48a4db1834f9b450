"""What became of one job and why, in plain words: the text of ``result.explain(job_id)``.

Everything is read from the tables of the result, so that a run that was saved and loaded says the same. Why a job waited
is told by :mod:`cluster_sim.records.reasons.waiting`.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from cluster_sim.amounts import at_time, in_seconds, lasting, number
from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.errors import InputError, counted
from cluster_sim.machine.reason import ReasonKind, sentence
from cluster_sim.records.attempt_tables import GUEST
from cluster_sim.records.reasons.telling_pieces import JobStory
from cluster_sim.records.reasons.waiting import WaitStretch, held_because
from cluster_sim.run.jobs.attempts import AttemptEnd

if TYPE_CHECKING:
    from cluster_sim.records.contracts import RunRecords

SHOWN = 5
"""Jobs or nodes that are named before the rest is counted."""
MOVED = "moved"
"""The cause of a line that tells a promise."""
ORDINALS = ("first", "second", "third", "fourth", "fifth")
_TAKEN = (AttemptEnd.PREEMPTED, AttemptEnd.CANCELLED)
SHOWN_STRETCHES = 12
"""Stretches and promises that are told, the longest, before the rest is counted."""


class _Line(NamedTuple):
    """A line about a wait, the time that it is of, how long that lasted (s), and what kind of reason it is."""

    time: float
    lasted: float
    text: str
    cause: str


def explain(result: RunRecords, job_id: str) -> str:
    """Return the text for one job, a line for each thing that happened to it. Raises InputError for an unknown id.

    Where the log says when it began, times from an hour on are dates, on the clocks of its zone.
    """
    return "\n".join(JobExplanation(result, row_of(result.jobs, str(job_id))).lines()) + "\n"


def row_of(jobs: pd.DataFrame, job_id: str, where: str = "result.explain") -> int:
    """Return the row of a job. Raises InputError, for ``where``, with the ids between which an unknown one would stand."""
    ids = jobs["job_id"].to_numpy()
    found = np.flatnonzero(ids == job_id)
    if not len(found):
        # Numbers in order of size.
        def key(text: str) -> tuple[float, str]:
            return (float(text) if text.isdecimal() else math.inf, text)

        ordered: list[str] = sorted(ids, key=key)
        place = bisect_left(ordered, key(job_id), key=key)
        neighbours = " or ".join(ordered[max(place - 1, 0) : place + 1]) or "none: the run has no jobs"
        raise InputError(where, f"the id of a job of the run, such as {neighbours}", job_id)
    return int(found[0])


class JobExplanation:
    """One job of a result; each method makes the lines, or words, about one thing."""

    def __init__(self, result: RunRecords, row: int):
        self._result = result
        self._jobs = result.jobs
        self._row = row
        began = result.meta.get("start_date")
        self._at = partial(at_time, began=None if began is None else datetime.datetime.fromisoformat(str(began)))
        job: dict[str, Any] = {str(name): value for name, value in result.jobs.iloc[row].items()}
        self._id, self._state = job["job_id"], job["state"]
        self._job = job
        self._horizon = float(result.power["time"].iloc[-1])
        self._since = job["eligible_time"]
        ended = [time for time in (job["allocation_time"], job["finish_time"]) if not math.isnan(time)]
        # A job that still waits does so to the end of the records, unless it was refused at once.
        waits_until = self._since if self._state == "rejected" else max(self._horizon, self._since)
        self._until = float(ended[0] if ended else waits_until)
        self._attempts = result.attempts[result.attempts["job_id"] == self._id]
        self._waits = result.waits
        self._pieces = JobStory(result, row, self._while_suspended, self._nodes, self._at)
        self._again = 0  # how often the job has joined the queue again, at the wait that is told

    def lines(self) -> list[str]:
        """Return all lines about the job."""
        if self._pieces.within or len(self._attempts) > 1 or self._rejoined():
            return [*self._request(), *self._told_by_attempt(), *self._slower(), *self._end()]
        lines = [*self._request(), *self._wait()]
        if not math.isnan(self._job["allocation_time"]):
            lines += [self._start(self._job), *self._boot(self._job["start_time"])]
        if not math.isnan(self._job["start_time"]):
            lines += self._run()
        return [*lines, *self._end()]

    # ------------------------------------------------------------------ attempts

    def _rejoined(self) -> bool:
        """Return whether the job joined the queue again after its last attempt."""
        if self._attempts.empty or math.isnan(over := float(self._attempts["over_time"].iloc[-1])):
            return False
        return self._state in ("unfinished", "rejected") or self._job["finish_time"] > over

    def _told_by_attempt(self) -> list[str]:
        lines = []
        for attempt in self._attempts.to_dict("records"):
            self._since, self._until = attempt["queue_time"], attempt["allocation_time"]
            self._again = attempt["attempt"] - 1
            lines += [*self._wait(), self._start(attempt), *self._boot(attempt["start_time"])]
            if not math.isnan(attempt["start_time"]):
                lines += self._pieces.began(self._again + 1)
            lines += self._attempt(attempt)
        if self._rejoined():
            over, finish = attempt["over_time"], self._job["finish_time"]
            self._until = max(self._horizon, over) if math.isnan(finish) else finish
            pieces = self._waits.in_queue(self._row, over, self._until)
            if pieces:  # it has come back
                self._since = pieces[0][0]
                self._again += 1
                lines += self._wait()
        return lines

    def _attempt(self, attempt: dict[Any, Any]) -> list[str]:
        """Say where an attempt ran and how long, how its cores changed meanwhile, and what ended it if it was stopped."""
        number, start, end, over = (attempt[key] for key in ("attempt", "start_time", "end_time", "over_time"))
        several = len(self._attempts) > 1 or self._state == "unfinished"
        which = f"Its {ORDINALS[number - 1] if number <= len(ORDINALS) else f'{number}th'} attempt" if several else "It"
        began = "never began"
        if start == start:
            began = f"ran on {self._nodes(self._pieces.where(number, first=True))} from {self._at(start)}"
        made = self._pieces.checkpoints(number)
        changes = list(self._pieces.changes(number))
        if math.isnan(end) and began == "never began" and changes:
            return [*changes, *made]
        if math.isnan(end):
            return [f"{which} {began}{' on' if changes else ''}.", *changes, *made]
        until = f" to {self._at(end)}" if start == start else f", until {self._at(end)}"
        if attempt["outcome"] == AttemptEnd.COMPLETED:
            return [f"{which} {began}{until}.", *changes, *made]
        lost = f"; {attempt['lost_core_s']:,.6g} core-s were lost" if attempt["lost_core_s"] else ""
        why = self._pieces.taken_for(attempt["allocation_time"], over) if attempt["outcome"] in _TAKEN else ""
        stopped = f"was stopped{why or ': ' + (attempt['reason'] or attempt['outcome'])}{lost}."
        if not changes:
            return [f"{which} {began}{until} and {stopped}", *made]
        ran = [] if start != start else [f"{which} {began}{until}."]
        return [*ran, *changes, *made, f"At {self._at(over)} it {stopped}"]

    def _while_suspended(self, since: float, until: float) -> list[str]:
        """Say why the job did not go on between two times (s)."""
        stretches = self._waits.stretches(self._id, since, until, holders=True, at=self._at)
        return [self._stretch_line(stretch) for stretch in stretches[:SHOWN_STRETCHES]]

    # ------------------------------------------------------------------ before it started

    def _request(self) -> list[str]:
        job = self._job
        time = f" for {lasting(job['requested_time'])}" if job["requested_time"] < math.inf else ", and named no time"
        asked = f"{counted(job['requested_cores'], 'core')}{time}"
        if math.isnan(job["submit_time"]):
            return [f"Job {self._id}, which asks for {asked}, was not submitted in this run: it follows other jobs."]
        lines = [f"Job {self._id} was submitted at {self._at(job['submit_time'])} and asked for {asked}."]
        if job["eligible_time"] > job["submit_time"]:
            since = self._at(job["eligible_time"])
            lines.append(f"Until {since} it was not in the queue: {held_because(self._result)}.")
        return lines

    def _wait(self) -> list[str]:
        if math.isnan(self._since):
            return []
        pieces = self._waits.in_queue(self._row, self._since, self._until)
        waited = sum(end - begin for begin, end in pieces)
        if self._again:
            when = f"at {self._at(self._since)}"
            if waited <= 0.0:
                return [f"It joined the queue again {when} and did not wait in it."]
            return [f"It joined the queue again {when} and waited for {lasting(waited)}.", *self._reasons()]
        if waited <= 0.0:
            refused_at_once = self._state == "rejected" and self._attempts.empty
            return [] if refused_at_once else ["It did not wait in the queue."]
        return [f"It waited in the queue for {lasting(waited)}.", *self._reasons()]

    def _reasons(self) -> list[str]:
        lines = []
        for stretch in self._waits.stretches(self._id, self._since, self._until, holders=True, at=self._at):
            reason = stretch.reason
            if reason.lacks:
                cause = "with too few free cores"
            elif reason.kind in (ReasonKind.DELAYS_PROMISED, ReasonKind.DELAYS_ONE_OF):
                cause = "for the sake of a promise"
            elif reason.behind:
                cause = "behind another job"
            else:
                cause = "kept back by the scheduler"
            lines.append(_Line(stretch.start, stretch.end - stretch.start, self._stretch_line(stretch), cause))
        return [*_most_important([*lines, *self._promises()]), *self._others()]

    def _stretch_line(self, stretch: WaitStretch) -> str:
        told = f"; {stretch.holders}" if stretch.holders else ""
        least, most = stretch.earlier
        if most:
            often = "" if least == most else f"{least:,} to " if least else "up to " if most > 1 else "at times "
            waits = f"{counted(most, 'job')} submitted before it {'waits' if most == 1 else 'wait'}, too"
            told += f"{', but' if told else ';'} {often}{waits}"
        start, end = self._at(stretch.start), self._at(stretch.end)
        if start == end:  # less than a second, late in the run
            start, end = in_seconds(stretch.start), in_seconds(stretch.end)
        return f"  from {start} to {end}: {sentence(stretch.reasons, self._at)}{told}"

    def _promises(self) -> list[_Line]:
        """Return what the job was promised, and when a promise moved, as lines with their time and weight."""
        decisions, reasons = self._result.decisions, self._result.decision_reasons
        own = (decisions["job_id"] == self._id) & (decisions["decision"] == "reserve")
        own &= (decisions["time"] >= self._since) & (decisions["time"] <= self._until)
        columns = (decisions.loc[own, name].tolist() for name in ("time", "promised_time"))
        promises = list(zip(*columns, [reasons[row] for row in np.flatnonzero(own).tolist()], strict=True))
        # A promise of the same start on other nodes is no move.
        told = [row for last, row in zip([(0.0, math.nan), *promises], promises, strict=False) if row[1] != last[1]]
        lines = []
        for place, (time, promised, reason) in enumerate(told):
            words = f"{'it was promised a start at' if not place else 'the promise moved to'} {self._at(promised)}"
            if promised == math.inf and reason:
                words = "the promise was taken back"
            because = str(reason)
            weight = math.inf if place in (0, len(told) - 1) else 0.0
            lines.append(
                _Line(time, weight, f"  at {self._at(time)} {words}{f': {because}' if because else ''}", MOVED)
            )
        return lines

    def _others(self) -> list[str]:
        """Say which earlier jobs were started while it waited, and which later ones overtook it."""
        allocated = self._jobs["allocation_time"].to_numpy()
        submitted, mine = self._jobs["submit_time"].to_numpy(dtype=np.float64), self._job["submit_time"]
        tied_before = (submitted == mine) & (np.arange(len(submitted)) < self._row)
        before = np.asarray((submitted < mine) | tied_before)
        # The records do not say who of those that got their cores in one instant came first.
        got_cores = bool((self._attempts["allocation_time"] == self._until).any())
        together = allocated == self._until if got_cores else np.zeros(len(allocated), bool)
        together[self._row] = False
        meanwhile = before & (allocated > self._since) & (allocated <= self._until)
        return [
            *self._who("earlier job", "started before it", meanwhile & ~together),
            *self._who("earlier job", "got cores in the same instant", meanwhile & together),
            *self._who("later job", "overtook it", ~before & (allocated >= self._since) & (allocated < self._until)),
        ]

    def _who(self, which: str, what: str, chosen: np.ndarray) -> list[str]:
        ids = self._jobs["job_id"].to_numpy()[chosen].tolist()
        return [f"  {counted(len(ids), which)} {what}: {named(ids)}"] if ids else []

    # ------------------------------------------------------------------ its start

    def _start(self, attempt: dict[Any, Any]) -> str:
        time = attempt["allocation_time"]
        decisions = self._result.decisions
        own = (decisions["job_id"] == self._id) & (decisions["decision"] == "start")
        row = decisions[own & (decisions["time"] == time)]
        because = str(row["because"].iloc[0]) if len(row) else ""
        how = "got its cores" if attempt["start_time"] != time else "was started"
        return f"It {how} at {self._at(time)}, {self.trigger(time)}{f'; {because}' if because else ''}."

    def trigger(self, time: float) -> str:
        """Say what in that instant made the scheduler look, and let it start the job."""
        if time <= latest(self._since):
            return (
                "as soon as it was submitted" if self._since == self._job["submit_time"] else "as soon as it could be"
            )
        if freed := self.freed(time):
            return f"when {'job' if len(freed) == 1 else 'jobs'} {named(freed)} ended and gave cores back"
        if fewer := self._pieces.gave_up(time):
            return f"when {'job' if len(fewer) == 1 else 'jobs'} {named(fewer)} gave cores back"
        holds = self._result.holds
        if left := holds[(holds["kind"] == GUEST) & (holds["end"] == time)]["owner"].unique().tolist():
            return f"when {named(left)}, {'a guest' if len(left) == 1 else 'guests'}, gave cores back"
        if ready := self._back(time, "SWITCHING_ON"):
            return f"when {named(ready)} had become ready"
        if repaired := self._back(time, "FAILED"):
            return f"when {named(repaired)} had been repaired"
        if off := self._back(time, "SWITCHING_OFF"):
            return f"when {named(off)} had switched off and could be booted"
        jobs = self._jobs
        gone = jobs[(jobs["finish_time"] == time) & jobs["start_time"].isna()]["job_id"].tolist()
        if gone:
            return f"when {named(gone)} left the queue"
        promised = self._result.decisions
        at_time = promised["promised_time"].between(time / SAME_INSTANT, latest(time))
        promised = promised[(promised["job_id"] == self._id) & at_time]
        return "the time that it was promised" if len(promised) else "in a pass of the scheduler in which no job ended"

    def freed(self, time: float) -> list[str]:
        """Return the jobs that ended then on this one's nodes; if there are none, all that ended then.

        A job that took no time may have been started in the same instant as this one. It counts only if this one has
        its cores: else it was started with this one, in a pass that its end came after.
        """
        attempts, ids = self._result.attempts, self._jobs["job_id"]
        over = attempts[(attempts["end_time"] == time) & attempts["start_time"].notna()]
        ended = ids[ids.isin(over["job_id"]) & (ids != self._id)]
        if ended.empty:
            return []
        allocations = self._result.allocations
        mine = allocations[allocations["job_id"] == self._id]
        theirs = allocations[allocations["job_id"].isin(ended)]
        both = theirs.merge(mine, on=["node", "processor"], suffixes=("", "_mine"))
        common = (both["first_core"] <= both["last_core_mine"]) & (both["first_core_mine"] <= both["last_core"])
        before = over[over["allocation_time"] < time]["job_id"]
        ended = ended[ended.isin(before) | ended.isin(both[common]["job_id"])]
        on_mine = set(theirs[theirs["node"].isin(mine["node"])]["job_id"])
        return [job for job in ended if job in on_mine] or list(ended)

    def _back(self, time: float, left: str) -> list[str]:
        """Return the nodes of this job that left a state then; if there are none, all that left it then."""
        states = self._result.node_states
        nodes = states[(states["end"] == time) & (states["state"] == left)]["node"].tolist()
        allocations = self._result.allocations
        mine = set(allocations[allocations["job_id"] == self._id]["node"])
        return [node for node in nodes if node in mine] or nodes

    def _boot(self, start: float) -> list[str]:
        if start == self._until:
            return []
        if math.isnan(start):
            return ["Its nodes had to boot, and it never began."]
        return [f"Its nodes had to boot, so it began at {self._at(start)}."]

    # ------------------------------------------------------------------ its run

    def _run(self) -> list[str]:
        job = self._job
        allocations = self._result.allocations
        where = f"It ran on {self._nodes(allocations[allocations['job_id'] == self._id])}"
        if math.isnan(job["run_time"]):
            return [f"{where}."]
        run, requested = job["run_time"], job["requested_time"]
        made = self._pieces.checkpoints(1)
        against = ""
        if 0.0 < requested < math.inf:
            share = _ratio(run / requested)
            against = ", as long as it had requested" if share == "1" else f", {share} times what it had requested"
        return [f"{where}, for {lasting(run)}{against}.", *made, *self._slower()]

    def _slower(self) -> list[str]:
        """Say how long the job took in all, if it did not run all that time."""
        job = self._job
        if not (job["run_time"] > 0.0 and job["turnaround_time"] > job["run_time"]):
            return []
        whole = lasting(job["turnaround_time"])
        return [f"From its submission to its end it took {whole}, a slowdown of {_ratio(job['slowdown'])}."]

    @staticmethod
    def _nodes(mine: pd.DataFrame) -> str:
        """Return the nodes of some allocations or holds, and how many cores of each."""
        cores = (mine["last_core"] - mine["first_core"] + 1).groupby(mine["node"], sort=False).sum()
        if len(cores) == 1:
            return f"{counted(int(cores.iloc[0]), 'core')} of {cores.index[0]}"
        whole = f"{counted(int(cores.sum()), 'core')} of {len(cores):,} nodes"
        if (cores == cores.iloc[0]).all():
            return f"{whole}, {cores.iloc[0]} on each: {named(cores.index)}"
        return f"{whole}: {named(f'{node} ({count})' for node, count in cores.items())}"

    def _end(self) -> list[str]:
        job, state = self._job, self._state
        if state == "rejected":
            when = "at once" if math.isnan(job["finish_time"]) else f"at {self._at(job['finish_time'])}"
            why = f": {job['reason']}" if job["reason"] else ""  # another program's files do not say
            return [f"It was rejected {when}{why}."]
        if state == "unfinished":
            if math.isnan(self._since):
                return []
            ran = self._attempts["start_time"].notna() & self._attempts["end_time"].isna()
            doing = "ran" if ran.any() else "waited"
            return [f"It still {doing} at {self._at(self._horizon)}, where the records end."]
        late = f", {lasting(job['tardiness'])} after its deadline" if job["tardiness"] > 0.0 else ""
        reason = f": {job['reason']}" if job["reason"] else ""
        verb = "completed" if state == "completed" else "was killed"
        return [f"It {verb} at {self._at(job['finish_time'])}{late}{reason}."]


def _most_important(lines: list[_Line]) -> list[str]:
    """Return the texts of the lines that lasted longest, in order of time; of the others, how many have which cause."""
    ranked = sorted(lines, key=lambda line: -line.lasted)
    shown, others = ranked[:SHOWN_STRETCHES], ranked[SHOWN_STRETCHES:]
    texts = [line.text for line in sorted(shown, key=lambda line: line.time)]
    stretches = [line for line in others if line.cause != MOVED]
    moves = len(others) - len(stretches)
    told = []
    if stretches:
        causes = Counter(line.cause for line in stretches).most_common()
        noun = "more stretch" if len(stretches) == 1 else "more stretches"
        kinds = ", ".join(f"{count:,} {cause}" for cause, count in causes)
        told.append(f"{len(stretches):,} {noun}, {lasting(sum(line.lasted for line in stretches))} in all: {kinds}")
    if moves:
        told.append(f"{counted(moves, 'more move')} of the promise")
    return [*texts, f"  and {'; and '.join(told)}"] if told else texts


def _ratio(value: float) -> str:
    """Write a ratio with three digits: ``0.25``, ``4,940``."""
    return number(float(f"{value:.3g}"), 3)


def named(names: Iterable[str]) -> str:
    """Return ``a, b and c``; of many the first few, and how many more."""
    names = list(names)
    rest = len(names) - SHOWN
    if rest > 0:
        return f"{', '.join(names[:SHOWN])} and {rest:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
