"""Jobs that are submitted while a run goes on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cluster_sim.errors import InputError
from cluster_sim.machine.eligibility import Restrictions
from cluster_sim.machine.units.counted_resources import CountedResources
from cluster_sim.platform.hardware import is_number
from cluster_sim.workload.resource_request import NOTHING, WHOLE, resource_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cluster_sim.run.jobs.admission import Admission
    from cluster_sim.run.jobs.job_life import JobLife
    from cluster_sim.run.jobs.run_jobs import RunJobs
    from cluster_sim.workload.jobs import Job


class LateJobs:
    """The jobs that are added to a run that goes on: it then looks at what no job has asked for before.

    ``begin_anew`` is called when a job asks for something that no job of the run has asked for so far.
    """

    def __init__(self, jobs: RunJobs, life: JobLife, admission: Admission, begin_anew: Callable[[], None]):
        self._jobs = jobs
        self._life = life
        self._admission = admission
        self._begin_anew = begin_anew

    def submit(self, fields: Mapping[str, Any], at: float | None) -> Job:
        """Submit another job, see :meth:`~cluster_sim.run.simulation.Simulation.submit`."""
        env, life = self._life.machine.env, self._life
        time = env.now if at is None else at
        if not is_number(time) or not env.now <= time < float("inf"):
            raise InputError("simulation.submit, at", f"a time from now on ({env.now:g} s)", at)
        job = self._jobs.add(fields, float(time))
        life.executor.work.add(job.index)
        life.courses.add(job.index)
        life.attempts.add_job()
        self._admission.expect(job)
        self._prepare_for(job)
        if time == env.now:
            self._admission.submit(job)
        else:
            env.at(time).callbacks.append(lambda event: self._admission.submit(job))
        return job

    def _prepare_for(self, job: Job) -> None:
        """Look from now on at what this job asks for, if no job of the run has asked for it so far."""
        life, cores = self._life, self._life.machine.cores
        shaped = cores.shapes or job.is_shaped
        memory = cores.uses_memory or job.memory > 0.0
        eligible = cores.eligibility
        if not eligible.restricts and (
            job.requires or job.exclusive or job.reservation or (job.switches and life.machine.platform.switches)
        ):
            eligible = Restrictions(life.machine.platform)
        if isinstance(eligible, Restrictions) and not eligible.turns and math.isfinite(eligible.switches_until(job)):
            eligible = eligible.waiting_for_switches()
        life.communicates = life.communicates or life.executor.work.comm_vol(job.index) > 0.0
        if job.mem_vol > 0.0:
            life.executor.move_to_channels()
        resources = cores.resources
        request = resource_request(job, licences=bool(life.machine.platform.pools))
        by_unit = resources.by_unit or request.share < WHOLE
        if by_unit != resources.by_unit or (request != NOTHING and not resources.asked):
            resources = CountedResources(life.machine.platform, by_unit)
            for allocation in cores.allocations.values():
                resources.rebook(allocation.units)
        wishes = shaped, memory, eligible, resources
        if wishes == (cores.shapes, cores.uses_memory, cores.eligibility, cores.resources):
            return
        cores.shapes, cores.uses_memory, cores.eligibility, cores.resources = wishes
        self._admission.prepare()
        self._begin_anew()
