"""The p-state chosen for a job goes with it: to the processors that it gains, and over a suspension."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cluster_sim import Platform, ProcessorType, PState, Simulation, Start, View, Workload
from cluster_sim.errors import PlacementError
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume, WakeAt
from schedulers import Scheduler

STATES = tuple(PState(ghz, {"static_w": 10, "dynamic_w": 10 * ghz * ghz, "min_power": 0.5}) for ghz in (1, 2))


def platform(nodes: int, cores: int = 1) -> Platform:
    """Nodes of 1 or 2 GHz; they run at 2 GHz unless told otherwise."""
    processor = ProcessorType("p", cores, 2.0, power=STATES[1].power, p_states=STATES)
    return Platform((Cluster("c", (NodeGroup(NodeType("n", (processor,)), nodes),)),))


class Changes(Scheduler):
    """Starts job a at 1 GHz, has it at 10 s on what ``to`` says, and starts job b then where there is room."""

    def __init__(self, to: Placement, second: int | None = None):
        self.to = to
        self.second = second

    def schedule(self, view: View) -> Iterable[Decision]:
        """Job b comes at 10 s."""
        for job in view.pending:
            if job.job_id == "a":
                yield Start(job, view.place(job), p_state=0)
                continue
            for running in view.running:
                if running.job.job_id == "a" and view.now == 10.0:
                    yield Resize(running.job, self.to)
            placement = view.place(job)
            if placement is not None:
                yield Start(job, placement, p_state=self.second)


def jobs(cores: int = 2) -> Workload:
    """Job a on so many cores, of 1 to 4; b on one."""
    return Workload(
        {
            "job_id": ["a", "b"],
            "submit_time": [0, 10],
            "requested_cores": [cores, 1],
            "operations": [200e9, 100e9],
            "malleable": [True, False],
            "min_cores": [1, 0],
            "max_cores": [4, 0],
        }
    )


@pytest.mark.parametrize(("second", "end"), [(None, 60.0), (0, 110.0), (1, 60.0)])
def test_a_processor_that_is_given_up_has_its_own_clock_again(second: int | None, end: float) -> None:
    """Job b runs there at 2 GHz, or at what is chosen for it; when a ends, that does not change."""
    result = Simulation(platform(2), jobs(), Changes(Placement.on({0: 1}), second)).run()
    assert result.jobs["finish_time"].tolist() == [390.0, end]  # a: 10 s on two cores, 380 s on one
    assert result.p_states.loc[result.p_states["node"] == "c.node0", "p_state"].tolist() == [0]


def test_processors_that_a_job_gains_have_its_p_state() -> None:
    """From 10 s on four nodes at 1 GHz, and at 2 GHz again when it ends."""
    result = Simulation(platform(4), jobs(), Changes(Placement.on(dict.fromkeys(range(4), 1)))).run()
    states = result.p_states[result.p_states["node"] == "c.node3"]
    assert states[["p_state", "start", "end"]].to_numpy().tolist() == [[1, 0, 10], [0, 10, 105], [1, 105, 155]]
    assert result.jobs["finish_time"].tolist() == [105.0, 155.0]


def test_a_job_with_a_clock_of_its_own_can_have_no_part_of_a_node() -> None:
    """Others would share the clock of a processor of which it gives up some cores."""
    with pytest.raises(PlacementError, match="it can have nodes as it has them, and whole ones"):
        Simulation(platform(2, cores=2), jobs(4), Changes(Placement.on({0: 2, 1: 1}))).run()


def test_a_suspended_job_goes_on_in_its_p_state() -> None:
    """100 G operations at 1 GHz are 100 s, with a suspension between; the processor has its own clock meanwhile."""

    class Suspends(Scheduler):
        def schedule(self, view: View) -> Iterable[Decision]:
            for job in view.pending:
                yield Start(job, view.place(job), p_state=0)
                yield WakeAt(10.0)
                yield WakeAt(30.0)
            for running in view.running if view.now == 10.0 else ():
                yield Preempt(running.job, "suspend")
            for suspended in view.suspended if view.now == 30.0 else ():
                yield Resume(suspended.job, suspended.placement)

    workload = Workload({"submit_time": [0], "requested_cores": [1], "operations": [100e9]})
    result = Simulation(platform(1), workload, Suspends()).run()
    assert result.p_states[["p_state", "start", "end"]].to_numpy().tolist() == [[0, 0, 10], [1, 10, 30], [0, 30, 120]]
    assert result.jobs[["run_time", "energy_j"]].to_numpy().tolist() == [[100.0, 2000.0]]


def test_an_evolving_job_with_a_clock_of_its_own_keeps_its_cores() -> None:
    """It asks for one core of four after its first part, which would be half a node: the run goes on."""

    class Grows(Scheduler):
        grown: tuple[Placement | None, ...] = ()

        def schedule(self, view: View) -> Iterable[Decision]:
            for job in view.pending:
                yield Start(job, view.place(job), p_state=0)
            for running in view.running:
                self.grown = view.planning.grown(running, 5), view.planning.grown(running, 6)

    columns = {"operations": [400e9], "malleable": [True], "min_cores": [1], "max_cores": [6], "parts": ["1 1@1 1"]}
    workload = Workload({"submit_time": [0], "requested_cores": [4], **columns})
    scheduler = Grows()
    result = Simulation(platform(3, cores=2), workload, scheduler).run()
    assert result.jobs["run_time"].tolist() == pytest.approx([400.0], rel=1e-12)
    assert scheduler.grown == (None, Placement.on({0: 2, 1: 2, 2: 2}))
