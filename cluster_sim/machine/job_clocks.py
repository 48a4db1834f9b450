"""P-states that a scheduler has chosen for jobs: the job's processors run in them as long as it does.

A processor has one clock for all its cores, so a job can be given a p-state only on processors that it has for itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.errors import InputError, PlacementError

if TYPE_CHECKING:
    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.node import MachineParts
    from cluster_sim.platform.platform import ProcessorType
    from cluster_sim.workload.jobs import Job


class JobClocks:
    """The processors that run in a p-state chosen for their job, and how they ran before."""

    def __init__(self, machine: MachineParts):
        self._machine = machine
        self._processors: dict[int, list[int]] = {}  # of each job that was given a p-state
        self.before: dict[int, ProcessorType] = {}  #: By processor of such a job: what it goes back to at the end.
        self.chosen: dict[int, int] = {}  #: By processor of such a job: the p-state; empty while there is none.

    def choose(self, job: Job, allocation: Allocation, p_state: int) -> None:
        """Have the job that has just been allocated these cores run in that p-state.

        Raises PlacementError, with nothing changed, unless the job has its processors for itself and they have that state.
        """
        machine = self._machine
        alone = {node for node, _ in allocation.idle}
        held = machine.cores.cores_by_processor(allocation)
        for processor, cores in held:
            kind = machine.type_of[processor]
            if cores < kind.cores and machine.cores.node_of(processor) not in alone:
                name = machine.processor(processor).name
                found = f"{cores} of the {kind.cores} cores of {name}"
                raise PlacementError(
                    f"job {job.job_id} cannot have p-state {p_state}: it gets {found}, and others share its clock"
                )
            try:
                kind.in_p_state(p_state)
            except InputError as error:
                raise PlacementError(f"job {job.job_id}: {error}") from None
        self._processors[job.index] = [processor for processor, _ in held]
        for processor, _ in held:
            self.before[processor] = machine.type_of[processor]
            self.chosen[processor] = p_state

    def begin(self, job: Job) -> None:
        """Set the clocks of a job whose tasks are about to start."""
        for processor in self._processors.get(job.index, ()):
            self._set(processor)

    def p_state_of(self, job: Job) -> int | None:
        """Return the p-state that was chosen for the job, if it holds cores; None: none was."""
        held = self._processors.get(job.index)
        return None if held is None else self.chosen[held[0]]

    def follow(self, job: Job, allocation: Allocation) -> None:
        """Move the p-state of a running job to its new cores, which are whole processors."""
        had = self._processors.get(job.index)
        if had is None:
            return
        p_state = self.chosen[had[0]]
        has = [processor for processor, _ in self._machine.cores.cores_by_processor(allocation)]
        self._processors[job.index] = has
        for processor in had:
            if processor not in has:
                self._go_back(processor, True)
        for processor in has:
            if processor not in had:
                self.chosen[processor] = p_state
                self._set(processor)

    def end(self, job: Job, began: bool) -> None:
        """Set the processors of a job that is over back to how they ran before."""
        for processor in self._processors.pop(job.index, ()):
            self._go_back(processor, began)

    def _set(self, processor: int) -> None:
        self.before[processor] = self._machine.type_of[processor]
        self._machine.processor(processor).set_p_state(self.chosen[processor])

    def _go_back(self, processor: int, began: bool) -> None:
        before = self.before.pop(processor)
        del self.chosen[processor]
        if began and before != self._machine.type_of[processor]:
            self._machine.set_clock(processor, before)
