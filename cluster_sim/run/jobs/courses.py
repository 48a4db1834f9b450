"""The courses of jobs in several stages: with parts, with checkpoints, malleable, or on other cores than requested."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from cluster_sim.errors import InputError, PlacementError
from cluster_sim.machine.course import WHOLE, Costs, Course, StagedCourse
from cluster_sim.workload.jobs import Job, any_asks
from cluster_sim.workload.parts import DALY, YOUNG, optimum_interval, parse_interval, parse_parts

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.placement import Placement


class Courses:
    """The courses of jobs: each is made when it is first needed, and kept over the job's attempts.

    ``columns`` are those of the run's jobs; ``mtbf_s`` is the mean time between failures of a node, for the intervals
    that follow from it. Raises InputError if a job asks for such an interval and nodes do not fail, or its checkpoints take
    no time.
    """

    def __init__(self, columns: dict[str, npt.NDArray[Any]], mtbf_s: float):
        self._columns = columns
        self._mtbf_s = mtbf_s
        self._known: dict[int, StagedCourse] = {}
        #: True if any job may have one: has parts, checkpoints, or cores that can be chosen.
        self.wanted = any_asks(columns, "parts", "checkpoint_interval", "min_cores", "max_cores")
        if self.wanted:
            self._check_intervals(range(len(columns["job_id"])))

    def add(self, index: int) -> None:
        """Look at one more job of the columns, at ``index``."""
        self._check_intervals((index,))
        is_moldable = any(self._columns[name].item(index) for name in ("min_cores", "max_cores"))
        self.wanted = self.wanted or is_moldable or self._is_staged(index)

    def _check_intervals(self, indices: range | tuple[int, ...]) -> None:
        intervals, times = self._columns["checkpoint_interval"], self._columns["checkpoint_time"]
        for index in indices:
            rule = intervals[index]
            if rule in (YOUNG, DALY):
                who, time = f"job {self._columns['job_id'][index]}", times.item(index)
                if self._mtbf_s == inf:
                    raise InputError(
                        f"{who}, checkpoint_interval", "a time in s where nodes do not fail (failures)", rule
                    )
                if time <= 0.0:
                    raise InputError(
                        f"{who}, checkpoint_time", f"a time above 0 s, of which '{rule}' makes the interval", time
                    )

    def _is_staged(self, index: int) -> bool:
        columns = self._columns
        return bool(
            columns["parts"][index] or columns["checkpoint_interval"][index] or columns["malleable"].item(index)
        )

    def of(self, job: Job) -> Course:
        """Return the job's course, as far as it has begun one."""
        return self._known.get(job.index, WHOLE)

    def at_start(self, job: Job, placement: Placement) -> Course:
        """Return the course that a job takes up or begins on these cores.

        Raises PlacementError for a number of cores that the job cannot run on.
        """
        cores = placement.cores
        if not job.min_cores <= cores <= job.max_cores:
            raise PlacementError(f"job {job.job_id} {asks_for(job)}, {placement!r} has {cores}")
        course = self.of(job)
        if course is WHOLE and (cores != job.requested_cores or self._is_staged(job.index)):
            course = self.begin(job, len(placement.nodes))
        return course

    def forget(self, job: Job) -> None:
        """Forget the course of a job that is completed."""
        self._known.pop(job.index, None)

    def undisturbed(self, job: Job, work_s: float, most_s: float) -> float:
        """Return how long a job with ``work_s`` of work runs with checkpoints if only ``most_s`` ends it, s."""
        if not self._columns["checkpoint_interval"][job.index]:
            return min(work_s, most_s)
        return min(self._made(job, 1).seconds_ahead(work_s, most_s), most_s)

    def begin(self, job: Job, nodes: int) -> StagedCourse:
        """Make a course for a job whose work was one stage, on so many nodes."""
        course = self._known[job.index] = self._made(job, nodes)
        self.wanted = True
        return course

    def _made(self, job: Job, nodes: int) -> StagedCourse:
        columns, index = self._columns, job.index
        checkpoint = columns["checkpoint_time"].item(index)
        interval = parse_interval(str(columns["checkpoint_interval"][index]))
        if isinstance(interval, str):
            # Of several nodes the first to fail stops the job.
            interval = optimum_interval(interval, checkpoint, self._mtbf_s / nodes)
        costs = Costs(
            interval or inf,
            columns["checkpoint_growth"].item(index),
            checkpoint,
            columns["restart_time"].item(index),
            columns["reconfiguration_time"].item(index),
        )
        return StagedCourse(job, parse_parts(str(columns["parts"][index])), costs)


def asks_for(job: Job) -> str:
    """Say how many cores a job asks for, as a clause about it."""
    least, most = job.min_cores, job.max_cores
    return f"asks for {most} cores" if least == most else f"asks for {least} to {most} cores"
