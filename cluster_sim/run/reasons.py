"""Why a job waited, read off the decision log: stretches of time with a reason each.

The log has a row where a scheduler said something new about a job. What it said holds until it says something else, or
until the job that it named as the reason waits no longer. Of a job that nothing was said about, the queue's head is the
reason, of which there are two signals: the promise that it got, and else that it was held behind no job.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby

import numpy as np
import pandas as pd

_NUMBER = re.compile(r"(?<!\w)\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Stretch:
    """From ``start`` to ``end`` (s) the job waited because of what it lacked itself, or ``behind`` the head of the queue."""

    start: float
    end: float
    because: str
    behind: str = ""  #: id of the job that was the reason
    is_head: bool = False  #: Whether that one was the head of the queue, and ``because`` is what it lacked.


class WaitingEnds:
    """When jobs ceased to wait, s: they got their cores, or were refused or cancelled; inf: they wait on."""

    def __init__(self, jobs: pd.DataFrame, decisions: pd.DataFrame):
        ends = jobs["allocation_time"].fillna(jobs["finish_time"]).fillna(np.inf)
        self._once = dict(zip(jobs["job_id"], ends, strict=True))
        starts = decisions[decisions["decision"] == "start"]
        again = starts[starts["job_id"].duplicated(keep=False)]
        self._several: dict[str, list[float]] = {}
        for job_id, time in zip(again["job_id"].tolist(), again["time"].tolist(), strict=True):
            self._several.setdefault(job_id, []).append(time)
        over = jobs["finish_time"].where(jobs["finish_time"] > jobs["allocation_time"]).fillna(np.inf)
        self._over = dict(zip(jobs["job_id"], over, strict=True)) if self._several else {}

    def after(self, job_id: str, time: float, default: float = np.inf) -> float:
        """When a job that waits at ``time`` ceases to."""
        if job_id not in self._several:
            return float(self._once.get(job_id, default))
        return min((start for start in self._several[job_id] if start >= time), default=float(self._over[job_id]))


def stretches(decisions: pd.DataFrame, jobs: pd.DataFrame, job_id: str, since: float, until: float) -> list[Stretch]:
    """The reasons of a job that waited from ``since`` to ``until``, in order of time; where none is known, a gap."""
    ends = WaitingEnds(jobs, decisions)
    decisions = decisions[decisions["time"] < until]
    holds = decisions[decisions["decision"] == "hold"]
    found = _own(holds[(holds["job_id"] == job_id) & (holds["time"] >= since)], ends, until)
    promises = decisions[decisions["decision"] == "reserve"]
    promises = promises[(promises["promised_time"] < np.inf) | (promises["because"] == "")]  # not those taken back
    for signals in (promises.assign(valid_to=np.inf), _leading(holds)):
        for begin, end in _gaps(found, since, until) if len(signals) else ():
            found += _behind_heads(signals, holds, ends, job_id, begin, end)
        found.sort(key=lambda stretch: stretch.start)
    return _merged(found)


def _gaps(found: list[Stretch], since: float, until: float) -> list[tuple[float, float]]:
    """What stretches in order of time leave out between ``since`` and ``until``."""
    starts, ends = [stretch.start for stretch in found], [stretch.end for stretch in found]
    return [(begin, end) for begin, end in zip([since, *ends], [*starts, until], strict=True) if begin < end]


def _own(holds: pd.DataFrame, ends: WaitingEnds, until: float) -> list[Stretch]:
    times = [*holds["time"].tolist(), until]
    rows = zip(times, times[1:], holds["because"], holds["behind"], strict=False)
    spans = [
        Stretch(start, min(stop, until, ends.after(behind, start, stop)), because, behind)
        for start, stop, because, behind in rows
    ]
    return [stretch for stretch in spans if stretch.end > stretch.start]


def _behind_heads(
    signals: pd.DataFrame, holds: pd.DataFrame, ends: WaitingEnds, job_id: str, since: float, until: float
) -> list[Stretch]:
    """Who was the head of the queue between ``since`` and ``until``, by signals of it, and what it lacked."""
    found: list[Stretch] = []
    rows_of = holds.groupby("job_id", sort=False).indices
    for start, stop, head in _heads(signals, ends, job_id, since, until):
        said = holds.iloc[rows_of.get(head, [])]
        lacking = (stretch for stretch in _own(said, ends, stop) if stretch.end > start and not stretch.behind)
        found += [Stretch(max(start, s.start), s.end, s.because, head, True) for s in lacking]
    return found


def _leading(holds: pd.DataFrame) -> pd.DataFrame:
    """The rows of jobs that were held behind no job, and until when that was the last that was said of them."""
    next_time = holds.groupby("job_id", sort=False)["time"].shift(-1).fillna(np.inf)
    return holds.assign(valid_to=next_time)[holds["behind"] == ""]


def _heads(
    signals: pd.DataFrame, ends: WaitingEnds, job_id: str, since: float, until: float
) -> list[tuple[float, float, str]]:
    """(start, stop, id): at any time the head is the job of the latest signal that still holds."""
    heads: list[tuple[float, float, str]] = []
    latest: list[tuple[int, float, str]] = []  # a heap, latest signal first; superseded ones leave it at the top
    signalled = zip(signals["time"].tolist(), signals["valid_to"].tolist(), signals["job_id"].tolist(), strict=True)
    rows = [(time, min(stop, ends.after(head, time)), head) for time, stop, head in signalled]
    rows = [row for row in rows if row[2] != job_id and row[1] > since and row[0] < until]
    times = [max(time, since) for time, _, _ in rows] + [until]
    for number, ((_, stop, head), now, then) in enumerate(zip(rows, times, times[1:], strict=False)):
        heappush(latest, (-number, stop, head))
        while latest and now < then:
            _, stop, head = latest[0]
            if stop <= now:
                heappop(latest)
                continue
            heads.append((now, min(stop, then), head))
            now = min(stop, then)
    joined = []
    for head, group in groupby(heads, key=lambda row: row[2]):
        of_head = list(group)
        joined.append((of_head[0][0], of_head[-1][1], head))
    return joined


def _merged(found: list[Stretch]) -> list[Stretch]:
    """Neighbours that differ in nothing but numbers as one: ``no node has more than 2 to 5 free``."""
    merged = []
    for _, group in groupby(found, key=lambda s: (_NUMBER.sub("#", s.because), s.behind, s.is_head)):
        parts = list(group)
        because = _with_ranges([part.because for part in parts])
        merged.append(Stretch(parts[0].start, parts[-1].end, because, parts[0].behind, parts[0].is_head))
    return merged


def _with_ranges(texts: list[str]) -> str:
    """Texts that differ only in their numbers, as one with ranges."""
    columns = iter(list(zip(*(_NUMBER.findall(text) for text in dict.fromkeys(texts)), strict=True)))

    def span(match: re.Match[str]) -> str:
        numbers = sorted(next(columns), key=lambda number: float(number.replace(",", "")))
        return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"

    return _NUMBER.sub(span, texts[0])
