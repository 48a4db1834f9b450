"""Jobs that are submitted while a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cluster_sim.errors import InputError
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.platform.hardware import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job


class LateJobs:
    """The jobs that are added to a run that goes on: it then looks at what no job has asked for before."""

    def __init__(self, simulation: Simulation, pending: dict[int, Job]):
        self._run = simulation
        self._pending = pending

    def submit(self, fields: Mapping[str, Any], at: float | None) -> Job:
        """Submit another job, see :meth:`~cluster_sim.run.simulation.Simulation.submit`."""
        run = self._run
        time = run.env.now if at is None else at
        if not is_number(time) or not run.env.now <= time < float("inf"):
            raise InputError("simulation.submit, at", f"a time from now on ({run.env.now:g} s)", at)
        job = run.jobs.add(fields, float(time))
        run.executor.work.add(job.index)
        run.life.courses.add(job.index)
        run.attempts.add_job()
        run.admission.expect(job)
        self._prepare_for(job)
        if time == run.env.now:
            run.admission.submit(job)
        else:
            run.env.at(time).callbacks.append(lambda event: run.admission.submit(job))
        return job

    def _prepare_for(self, job: Job) -> None:
        """Look from now on at what this job asks for, if no job of the run has asked for it so far."""
        run, machine = self._run, self._run.machine
        shaped = machine.cores.shapes or job.is_shaped
        memory = machine.cores.uses_memory or job.memory > 0.0
        eligible = machine.cores.eligibility
        if eligible is None and (job.requires or job.exclusive or job.reservation):
            eligible = Eligibility(run.platform)
        run.life.communicates = run.life.communicates or run.executor.work.comm_vol(job.index) > 0.0
        if job.mem_vol > 0.0:
            run.executor.move_to_channels()
        if (shaped, memory, eligible) == (machine.cores.shapes, machine.cores.uses_memory, machine.cores.eligibility):
            return
        machine.cores.shapes, machine.cores.uses_memory, machine.cores.eligibility = shaped, memory, eligible
        run.view.counts_memory = memory and (run.scheduler is None or run.scheduler.memory)
        run.admission.prepare()
        if run.scheduler is not None:  # it may count only cores, for want of other wishes: it begins anew
            run.view.submitted[:] = list(self._pending.values())
            run.view.ended.clear()
            run.scheduler.begin(run.view)
            run.request_pass()
