"""What will become of the tasks on some processors if no other job joins them: when they end, and the energy until then.

Pure, as the contention and power models that it asks: no clock, no events; times are seconds from when the prediction is
made. Between two completions every speed is constant, so a prediction steps from one completion to the next, as the
simulated memory channels do; for work that is known exactly it arrives at the same times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cluster_sim.models.power import Load
from cluster_sim.models.processor_step import ProcessorModel, Stretch, course_of

Course = tuple[list[Stretch], list[float]]
"""The stretches of a processor, and when each of its task groups ends, s; 0 for one that had ended."""


MOST_COURSES = 4096
"""Courses that are remembered of each type of processor."""


class Group(NamedTuple):
    """The tasks of one job on one processor."""

    job: int  #: Index of the job.
    tasks: int
    seconds: float  #: Work that each task has left, s at full speed. 0: ended, its cores are held for the job's others.
    bandwidth: float  #: MB/s that each task asks for at full speed.


class Share(NamedTuple):
    """A processor and the task groups that hold its cores."""

    model: ProcessorModel
    groups: tuple[Group, ...] = ()

    @property
    def free(self) -> int:
        """Return cores that no group holds."""
        return self.model.kind.cores - sum([group.tasks for group in self.groups])


class Forecast:
    """The future of some processors, as :func:`predict` sees it."""

    def __init__(self, shares: Sequence[Share], courses: list[Course], ends: dict[int, float]):
        self._shares = tuple(shares)
        self._courses = courses
        self.ends = ends  #: When each job gives its cores back, s from the time of the prediction, by index of the job.

    @property
    def horizon(self) -> float:
        """Return when the last job is over, s; 0 when there is none."""
        return max(self.ends.values(), default=0.0)

    def instead(self, changed: Mapping[int, Share]) -> Forecast:
        """Predict what happens if some processors, by position, were in another state; others take their course."""
        shares = [changed.get(i, share) for i, share in enumerate(self._shares)]
        courses = [_course(changed[i]) if i in changed else course for i, course in enumerate(self._courses)]
        return _forecast(shares, courses)

    def held_until(self, elsewhere: Mapping[int, float]) -> Forecast:
        """Return the forecast for jobs that also have tasks on other processors, which end at ``elsewhere``.

        ``elsewhere`` is in s, by index of the job. Cores are held until a job's last task ends, so this changes ends
        and energy, but no speed.
        """
        later = {job: max(end, elsewhere.get(job, end)) for job, end in self.ends.items()}
        return Forecast(self._shares, self._courses, later)

    def starts_from(self, shares: Sequence[Share]) -> bool:
        """Return whether it predicts for processors in exactly this state."""
        return self._shares == tuple(shares)

    def after(self, seconds: float) -> list[Share]:
        """Return the processors ``seconds`` later, with the work that each group has left: 0 for one that has ended."""
        later = []
        for share, (stretches, _) in zip(self._shares, self._courses, strict=True):
            left = [0.0] * len(share.groups)
            for start, end, running, speeds in reversed(stretches):
                if end <= seconds:
                    break
                # Counted back from the end: a task that ends in the next instant has hardly anything left, not less.
                lasts = end - (start if start > seconds else seconds)
                for i, speed in zip(running, speeds, strict=True):
                    left[i] += lasts * speed
            groups = zip(share.groups, left, strict=True)
            later.append(Share(share.model, tuple([Group(job, n, work, mb) for (job, n, _, mb), work in groups])))
        return later

    def energy(self, start: float, stop: float) -> float:
        """Return the energy of the processors from ``start`` to ``stop`` (s), J. Without jobs a processor idles."""
        joules = 0.0
        for share, (stretches, _) in zip(self._shares, self._courses, strict=True):
            pieces = self._by_rates(share, stretches) if share.model.follows_rates else self._by_cores(share)
            idle_from = start
            for since, until, drawn in pieces:
                if until > start and since < stop:
                    joules += ((until if until < stop else stop) - (since if since > start else start)) * drawn
                    idle_from = until
            joules += max(stop - idle_from, 0.0) * share.model.watts[0]
        return joules

    def _by_cores(self, share: Share) -> list[tuple[float, float, float]]:
        """Return (since, until, W): with each job that ends some cores are no longer busy."""
        busy = sum([group.tasks for group in share.groups])
        since = 0.0
        pieces = []
        for until, tasks in sorted([(self.ends[group.job], group.tasks) for group in share.groups]):
            pieces.append((since, until, share.model.watts[busy]))
            since = until
            busy -= tasks
        return pieces

    def _by_rates(self, share: Share, course: list[Stretch]) -> Iterator[tuple[float, float, float]]:
        """Yield (since, until, W): the watts change whenever a speed does, and when a job ends."""
        times = sorted({0.0, *(end for _, end, _, _ in course), *(self.ends[group.job] for group in share.groups)})
        position = 0
        for since, until in pairwise(times):
            while position < len(course) and course[position][1] <= since:
                position += 1
            _, _, running, speeds = course[position] if position < len(course) else (since, until, [], [])
            loads: list[Load] = [
                (share.groups[i].tasks, share.groups[i].bandwidth, speed)
                for i, speed in zip(running, speeds, strict=True)
            ]
            # Cores held for tasks elsewhere: they wait actively.
            loads += [
                (group.tasks, 0.0, 1.0)
                for i, group in enumerate(share.groups)
                if i not in running and self.ends[group.job] > since
            ]
            shared, own = share.model.draw(loads)
            yield since, until, shared + sum(own)


def predict(shares: Sequence[Share]) -> Forecast:
    """Predict what happens on these processors if no job joins. A job is over when its last task on them is."""
    return _forecast(shares, [_course(share) for share in shares])


def _forecast(shares: Sequence[Share], courses: list[Course]) -> Forecast:
    ends: dict[int, float] = {}
    for (_, groups), (_, finishes) in zip(shares, courses, strict=True):
        for (job, _, _, _), end in zip(groups, finishes, strict=True):
            if job not in ends or end > ends[job]:
                ends[job] = end
    return Forecast(shares, courses, ends)


def _course(share: Share) -> Course:
    """Return the course of a processor, remembered by its model if it was in that state before: this is often so."""
    known, groups = share.model.courses, tuple([group[1:] for group in share.groups])
    course = known.get(groups)
    if course is None:
        if len(known) >= MOST_COURSES:  # threads share it
            known.clear()
        course = known[groups] = course_of(groups, share.model.contention)
    return course
