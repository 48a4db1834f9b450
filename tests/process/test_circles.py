"""Runs in which a job gets cores and loses them for ever, at one time, end with an error that says so."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cluster_sim import Platform, SimulationError, Start, View, Workload
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume
from cluster_sim.run.simulation import Simulation
from schedulers import Fcfs, Scheduler, make_power_policy

PLATFORM = Platform.homogeneous(nodes=2, cores=4)
TELLS = "job . has lost cores 1,001 times at 5 s: Circles gives it cores and takes them, or a process has it requeued"


def jobs(**more: list[object]) -> Workload:
    """Two that fill the machine, and one that comes at 5 s."""
    times = {"submit_time": [0, 0, 5], "recorded_run_time": [10, 10, 3], "requested_time": [10, 10, 5]}
    return Workload({"requested_cores": [4, 4, 2], **times, **more})


class Circles(Scheduler):
    """Takes cores from whoever has some, and starts the last ones first."""

    def __init__(self, mode: str):
        self.mode = mode

    def schedule(self, view: View) -> Iterable[Decision]:
        """Every pass has another one in the same instant."""
        for running in view.running if view.now == 5.0 else ():
            if self.mode == "resize":
                yield Resize(running.job, view.planning.shrunk(running, 2 if running.placement.cores == 4 else 1))
            else:
                yield Preempt(running.job, self.mode)
        for suspended in view.suspended:
            yield Resume(suspended.job, suspended.placement)
        for job in sorted(view.pending, key=lambda job: -job.submit_time):
            placement = view.place(job)
            if placement is not None:
                yield Start(job, placement)
        for running in view.running if self.mode == "resize" and view.now == 5.0 else ():
            grown = view.planning.grown(running, 4)
            if grown is not None:
                yield Resize(running.job, grown)


@pytest.mark.parametrize("power", [None, "always-on", "timeout:60"])
@pytest.mark.parametrize("mode", ["requeue", "suspend"])
def test_a_scheduler_that_goes_in_circles_is_named(mode: str, power: str | None) -> None:
    """With and without a power policy, which is not to blame."""
    malleable = {"malleable": [True] * 3, "min_cores": [1] * 3, "max_cores": [4] * 3}
    policy = None if power is None else make_power_policy(power)
    with pytest.raises(SimulationError, match=TELLS):
        Simulation(PLATFORM, jobs(**malleable), Circles(mode), policy).run()


@pytest.mark.parametrize("power", [None, "timeout:60"])
def test_a_scheduler_may_move_cores_to_and_fro_in_every_pass(power: str | None) -> None:
    """What is given up is told of once in an instant."""
    malleable = {"malleable": [True] * 3, "min_cores": [1] * 3, "max_cores": [4] * 3}
    policy = None if power is None else make_power_policy(power)
    result = Simulation(PLATFORM, jobs(**malleable), Circles("resize"), policy).run()
    assert result.jobs["state"].tolist() == ["completed"] * 3


def test_so_is_a_process_that_requeues_what_has_started() -> None:
    """It answers to every start."""
    simulation = Simulation(PLATFORM, jobs(), Fcfs())

    def back() -> Iterable[object]:
        while True:
            for job in (yield simulation.on("job_started")):
                simulation.requeue(job)

    simulation.env.process(back())
    with pytest.raises(SimulationError, match="has lost cores 1,001 times at 0 s"):
        simulation.run()


def test_view_apply_is_for_views_made_by_hand() -> None:
    """In a run the books would no longer hold."""

    class Applies(Scheduler):
        def schedule(self, view: View) -> Iterable[Decision]:
            for job in view.pending:
                view.apply(Start(job, view.place(job)))
            return []

    with pytest.raises(SimulationError, match=r"view\.apply is for views made by hand: yield the decision"):
        Simulation(PLATFORM, jobs(), Applies()).run()
