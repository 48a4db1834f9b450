"""What the machine tells and asks the run that goes on on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.machine.node import NodeState
from cluster_sim.run.jobs.attempts import AttemptEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster_sim.machine.guest_requests import Request
    from cluster_sim.machine.running import Running
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job


class MachineWatch:
    """The observer of a run's machine: has policies decide when nodes or guests give them reason to."""

    def __init__(self, simulation: Simulation, pending: dict[int, Job], running: dict[int, Running]):
        self._run = simulation  # in the making: the machine comes first
        self._pending = pending
        self._running = running

    def nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Tell observers that nodes have entered a state, and ask for passes that this gives reason to."""
        run = self._run
        machine = run.machine
        for node in nodes if run.notices.wanted else ():
            run.notices.note("node_state_changed", (machine.node(node), state))
        if state is NodeState.SWITCHING_ON or state is NodeState.SWITCHING_OFF:
            return
        # A job that waits may fit now; a job's own nodes are news to none. But booting may have weighed on a power cap.
        if run.scheduler is None or (
            self._pending and (machine.budget is not None or machine.cores.have_free_cores(nodes))
        ):
            run.request_pass()
        if run.passes.follow_switching or (state is not NodeState.OFF and machine.cores.have_free_cores(nodes)):
            run.passes.request_policy()

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        machine, changes = self._run.machine, self._run.life.changes
        jobs = changes.suspended_on(node)
        if machine.cores.free[node] < machine.platform.node_cores[node]:
            changes.forget_changes_to(node)
            jobs += [running.job for running in self._running.values() if running.placement.covers(node)]
        for job in jobs:
            self._run.life.kill_soon(job.index, reason, AttemptEnd.FAILED)
        return len(jobs)

    def guest_left(self, guest: Request) -> None:
        """Ask for a pass: a guest has given cores back that a job may wait for."""
        if self._run.power_policy is not None:
            self._run.view.vacated.append(guest)
        self._run.request_pass()

    def traffic_on(self, processor: int) -> None:
        """Put jobs on the channel: somebody else than a job is about to move memory on a processor."""
        self._run.executor.put_on_channel(processor)

    def rates_will_change(self) -> None:
        """Put work in progress on the channels: a clock is about to change."""
        self._run.executor.move_to_channels()
