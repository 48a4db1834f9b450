"""Jobs that change while they run, beside clocks, power policies, memory and advance reservations: by hand."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest

from cluster_sim import AdvanceReservation, Placement, Platform, Result, Simulation, Workload, make_power_policy
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType, PState
from cluster_sim.run.decisions import Decision, Offer, PowerDecision, Preempt, Resize, Resume, WakeAt, Withhold
from cluster_sim.run.view import View
from schedulers.policy.policy import PowerPolicy
from tests.support.rows import workload_of
from tests.support.scripted import Scripted, of


def stages(result: Result) -> list[tuple[str, float, float, float]]:
    """Which stage, from when to when, and what was saved then."""
    columns = result.stages[["stage", "start", "end", "saved"]]
    return [(row.stage, row.start, row.end, pytest.approx(row.saved)) for row in columns.itertuples()]


@pytest.mark.parametrize(("requeued", "finish", "lost"), [(False, 17.5, 0.0), (True, 18.5, 1.0)])
def test_clocks_change_in_the_middle_of_a_stage(requeued: bool, finish: float, lost: float) -> None:
    """10 s of work at 1 GHz, a checkpoint of 1 s after each 4 s of work; half the clock from 2 to 13 s.

    The first 0.4 of the work: 0.2 by 2 s, the rest by 6. At half the clock 4 s are 0.2 of it: done at 11, saved at 12. Of
    the next 0.2 a quarter is done at 13, the rest takes 1.5 s: saved at 15.5, and the last 0.2 take 2 s. Requeued at
    16.5 the job loses 1 s of work and does the last 0.2 again.
    """
    kind = ProcessorType("p", 1, 1.0, p_states=(PState(1.0), PState(0.5)))
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 1),)),))
    columns = {"submit_time": [0.0], "requested_cores": [1], "operations": [1e10]}
    workload = Workload(columns | {"checkpoint_interval": ["4"], "checkpoint_time": [1.0]})
    simulation = Simulation(platform, workload, Scripted({}))

    def clocks() -> Generator[Any, Any, None]:
        for time, p_state in ((2.0, 1), (13.0, 0)):
            yield simulation.env.timeout(time - simulation.env.now)
            simulation.machine.processor(0).set_p_state(p_state)
        if requeued:
            yield simulation.env.timeout(16.5 - simulation.env.now)
            simulation.requeue("0", "by hand")

    simulation.env.process(clocks())
    result = simulation.run()
    assert stages(result) == [
        ("checkpoint", 6.0, 7.0, 0.4),
        ("checkpoint", 11.0, 12.0, 0.6),
        ("checkpoint", 14.5, 15.5, 0.8),
    ]
    assert result.jobs["finish_time"].tolist() == pytest.approx([finish])
    assert result.attempts["lost_core_s"].sum() == pytest.approx(lost)
    assert result.attempts["work_done"].tolist() == pytest.approx([0.9, 1.0] if requeued else [1.0])


def suspend_a(view: View) -> Iterable[Decision]:
    """Job a loses its cores, and keeps its work."""
    yield Preempt(of(view, "a").job, "suspend")


def resume_a(view: View) -> Iterable[Decision]:
    """The job goes on where it was."""
    (gone,) = view.suspended
    yield Resume(gone.job, gone.placement)


SLEEPY = PowerTransitions(switch_on_s=1.0, switch_off_s=1.0)


def sleepy(nodes: int) -> Platform:
    """Nodes of one core that take a second to switch on, and one to switch off."""
    node = NodeType("n", (ProcessorType("p", 1, 1.0),), transitions=SLEEPY)
    return Platform((Cluster("c", (NodeGroup(node, nodes),)),))


@pytest.mark.parametrize(
    "policy", ["timeout:0", "keep-ready:0", "summed-stretch:0.5", "random:period=100", "off-reservation"]
)
def test_nodes_of_suspended_jobs_stay_on(policy: str) -> None:
    """Suspended from 4 to 7 s job a keeps its memory on its node, which is neither switched off nor withheld."""
    jobs = {"job_id": ["a"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]}
    workload = Workload(jobs | {"requested_time": [20.0]})
    script = {4.0: suspend_a, 7.0: resume_a}
    result = Simulation(sleepy(2), workload, Scripted(script), make_power_policy(policy)).run()
    node, since = result.holds["node"].iloc[0], result.jobs["start_time"].iloc[0]
    assert result.jobs["finish_time"].tolist() == [since + 10.0 + 7.0 - 4.0]
    states = result.node_states[(result.node_states["node"] == node) & (result.node_states["start"] >= since)]
    assert states[states["start"] < since + 13.0]["state"].tolist() == ["COMPUTING", "IDLE", "COMPUTING"]


def test_a_node_that_a_suspended_job_has_left_is_switched_off() -> None:
    """Cancelled at 6 s while it is suspended, job a no longer keeps its node on."""
    jobs = workload_of((0.0, 1, 10.0), (0.0, 1, 20.0), job_id=["a", "b"])
    simulation = Simulation(sleepy(2), jobs, Scripted({4.0: suspend_a}), make_power_policy("timeout:0"))

    def cancel() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(6.0)
        simulation.kill("a", "by hand")

    simulation.env.process(cancel())
    states = simulation.run().node_states
    first = states[states["node"] == states["node"].iloc[0]]
    assert first[["state", "start"]].to_numpy().tolist() == [
        ["COMPUTING", 0.0], ["IDLE", 4.0], ["SWITCHING_OFF", 6.0], ["OFF", 7.0],
    ]  # fmt: skip


def test_a_job_on_withheld_nodes_gives_up_cores_that_were_not_counted() -> None:
    """Both nodes of a are withheld at 2 s, and a gives up the second at 4: nothing is free until they are offered at 6."""
    jobs = {
        "job_id": ["a", "b"], "submit_time": [0.0, 5.0], "requested_cores": [2, 1], "recorded_run_time": [10.0, 1.0],
        "malleable": [True, False], "min_cores": [1, 1], "speedup": ["linear", ""],
    }  # fmt: skip

    def give_up(view: View) -> Iterable[Decision]:
        yield Resize(of(view, "a").job, Placement.on({0: 1}))

    class Withholding(PowerPolicy):
        """All nodes, from 2 to 6 s."""

        def reserve(self, view: View) -> Iterable[PowerDecision]:
            yield from map(Withhold if 2.0 <= view.now < 6.0 else Offer, range(2))
            if view.now < 6.0:
                yield WakeAt(2.0 if view.now < 2.0 else 6.0)

    simulation = Simulation(Platform.homogeneous(2, 1), Workload(jobs), Scripted({4.0: give_up}), Withholding())
    free = []
    for time in (3.0, 5.5, 6.5, 7.5):
        simulation.run(until=time)
        free.append((simulation.view.free_total, simulation.view.free_cores.tolist()))
    assert free == [(0, [0, 0]), (0, [0, 1]), (0, [0, 0]), (1, [0, 1])]
    assert simulation.run().jobs["start_time"].tolist() == [0.0, 6.0]


def test_a_suspended_job_ends_with_its_reservation() -> None:
    """Suspended from 4 s on job a has 4 of its 8 s left; it could go on until 6 s, and is killed when its window ends at 10."""
    window = AdvanceReservation("kept", 0.0, 10.0, [0])
    jobs = {"job_id": ["a"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [8.0]}
    workload = Workload(jobs | {"requested_time": [8.0], "reservation": ["kept"]})
    gone_on = Scripted({4.0: suspend_a, 6.0: resume_a})
    result = Simulation(Platform.homogeneous(1, 1), workload, gone_on, reservations=[window]).run()
    assert result.jobs[["state", "finish_time"]].to_numpy().tolist() == [["completed", 10.0]]
    result = Simulation(Platform.homogeneous(1, 1), workload, Scripted({4.0: suspend_a}), reservations=[window]).run()
    assert result.jobs[["state", "finish_time", "reason"]].to_numpy().tolist() == [
        ["killed", 10.0, "advance reservation 'kept' was over while it was suspended"]
    ]


def test_more_cores_only_where_memory_and_reservations_allow_them() -> None:
    """Node 0 has room for two tasks, node 1 is set aside from 4.5 s: a job of 20 s, on five cores of 4 s, cannot have it."""
    node = NodeType("n", (ProcessorType("p", 4, 1.0),), memory_gb=1.0)
    platform = Platform((Cluster("c", (NodeGroup(node, 2),)),))
    jobs = workload_of((0.0, 1, 20.0, 20.0), job_id=["a"], max_cores=[8], malleable=[True], memory=[400.0])
    found = []

    def look(view: View) -> Iterable[Decision]:
        running = of(view, "a")
        found.extend(view.planning.grown(running, cores, memory=True) for cores in (3, 2))
        found.append(view.planning.grown(running, 5))
        yield Resize(running.job, found[1])

    window = AdvanceReservation("maintenance", 4.5, 30.0, [1])
    simulation = Simulation(platform, jobs, Scripted({1.0: look}), reservations=[window])
    result = simulation.run()
    assert [None if placement is None else placement.cores_by_node() for placement in found] == [None, {0: 2}, None]
    assert result.jobs["finish_time"].tolist() == [1.0 + 19.0 / 2.0]


@pytest.mark.parametrize("how", ["wait", "slow"])
def test_more_cores_only_under_the_power_cap(how: str) -> None:
    """A core draws 10 W at 1 GHz and 4 at 0.5; under 15 W one that works gets a second only where both slow down.

    Two cores at half the clock do in 19 s what one does at the whole: the job ends at 20 s in any case.
    """
    fast, slow = ({"static_w": 0.0, "dynamic_w": watts, "min_power": 0.0} for watts in (10.0, 4.0))
    kind = ProcessorType("p", 1, 1.0, power=fast, p_states=(PState(1.0, fast), PState(0.5, slow)))
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 2),)),))
    jobs = {"job_id": ["a"], "submit_time": [0.0], "requested_cores": [1], "operations": [2e10], "max_cores": [2]}
    grown = []

    def grow(view: View) -> Iterable[Decision]:
        running = of(view, "a")
        grown.append(view.planning.grown(running, 2))
        if grown[0] is not None:
            yield Resize(running.job, grown[0])

    policy = make_power_policy(f"power-cap:15,how={how}")
    simulation = Simulation(platform, Workload(jobs | {"malleable": [True]}), Scripted({1.0: grow}), policy)
    result = simulation.run()
    assert result.power["watts"].max() <= 15.0
    assert result.jobs["finish_time"].tolist() == pytest.approx([20.0])
    assert (grown[0] is None) == (how == "wait")


@pytest.mark.parametrize("columns", [{}, {"checkpoint_interval": ["20"]}], ids=["plain", "with a course"])
@pytest.mark.parametrize(
    ("mode", "nodes", "finish"), [("suspend", 0, 23.0), ("suspend", 2, 23.0), ("requeue", 0, 34.0)]
)
def test_what_a_suspended_job_has_exchanged_it_keeps(
    columns: dict[str, Any], mode: str, nodes: int, finish: float
) -> None:
    """10 s of work, then 100 MB from each of two nodes at 10 MB/s; stopped at 14 s, 60 MB are left, to be sent from 17 s on.

    A job that is requeued begins anew, at once.
    """

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "0").job, mode)

    def go_on(view: View) -> Iterable[Decision]:
        for gone in view.suspended:
            yield Resume(gone.job, Placement([(nodes, nodes + 2, 1)]))

    jobs = {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0], "comm_vol": [100.0]}
    scheduler = Scripted({14.0: stop, 17.0: go_on})
    platform, workload = Platform.homogeneous(4, 1), Workload(jobs | columns)
    result = Simulation(platform, workload, scheduler, network="shared:node_link=10").run()
    assert result.jobs["finish_time"].tolist() == [finish]


@pytest.mark.parametrize(("cancelled", "meanwhile"), [(3.0, 0.4), (12.0, 0.2)])
def test_whole_nodes_with_no_job_have_all_their_memory_free(cancelled: float, meanwhile: float) -> None:
    """a is suspended at 1 s with 0.1 MB for each core of both nodes; b has these, and 0.2 MB for each, from 2 to 7 s.

    Whichever leaves last, its memory is there until then, and no rest of it after that.
    """

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "0").job, "suspend")

    def cancel(view: View) -> Iterable[Decision]:
        yield Preempt(view.suspended[0].job, "cancel")

    jobs = {"submit_time": [0, 2], "requested_cores": [4, 4], "recorded_run_time": [10, 5], "memory": [0.1, 0.2]}
    simulation = Simulation(Platform.homogeneous(2, 2), Workload(jobs), Scripted({1.0: stop, cancelled: cancel}))
    used: dict[float, list[float]] = {}
    for time in (2.5, 6.0, 9.0):
        simulation.env.at(time).callbacks.append(
            lambda event, time=time: used.update({time: simulation.machine.cores.memory.used.tolist()})
        )
    result = simulation.run()
    assert result.jobs["finish_time"].tolist() == [cancelled, 7.0]
    assert used[2.5] == pytest.approx([0.6, 0.6])
    assert used[6.0 if cancelled < 6.0 else 9.0] == pytest.approx([meanwhile, meanwhile])
    assert simulation.machine.cores.memory.used.tolist() == [0.0, 0.0]


def test_a_node_with_no_job_has_all_its_memory_free() -> None:
    """0.1 and 0.2 MB are not 0.3: whoever leaves last, a job without memory or one that was suspended, no rest stays."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "0").job, "suspend")

    def cancel(view: View) -> Iterable[Decision]:
        yield Preempt(view.suspended[0].job, "cancel")

    jobs = {"submit_time": [0, 0, 0], "requested_cores": [1, 1, 1], "recorded_run_time": [5, 10, 15]}
    jobs |= {"memory": [0.1, 0.2, 0.0]}
    for script in ({}, {1.0: stop, 12.0: cancel}):
        simulation = Simulation(Platform.homogeneous(1, 3), Workload(jobs), Scripted(script))
        simulation.run()
        assert simulation.machine.cores.memory.used.tolist() == [0.0]


def resize_0(view: View) -> Iterable[Decision]:
    """Job 0 gets the other core, too."""
    yield Resize(of(view, "0").job, Placement.on({0: 2}))


def suspend_0(view: View) -> Iterable[Decision]:
    """Job 0 loses its cores, and keeps its work."""
    yield Preempt(of(view, "0").job, "suspend")


def resume_0(view: View) -> Iterable[Decision]:
    """The job goes on where it was."""
    yield Resume(view.suspended[0].job, view.suspended[0].placement)


def requeue_0(view: View) -> Iterable[Decision]:
    """The job goes back to its last checkpoint."""
    yield Preempt(of(view, "0").job, "requeue")


@pytest.mark.parametrize(
    ("script", "walltime", "end"),
    [
        ({}, 60.0, 12.0),
        # 3.5 of 10 s are done at 3.5 s; 0.5 s to change, then twice the speed: 0.5 s to the checkpoint, 1 s for it, and the rest.
        ({3.5: resize_0}, 60.0, 3.5 + 0.5 + 0.5 + 1.0 + 2.75),
        ({3.5: resize_0}, 9.0, 3.5 + (1.0 - 3.5 / 9.0) * 4.5),
        ({3.0: suspend_0, 5.0: resume_0}, 60.0, 14.0),
        ({3.0: suspend_0, 5.0: resume_0}, 9.0, 11.0),
        # The first checkpoint was saved at 5 s: restarted in 2 s, 6 s are left, with one checkpoint.
        ({6.0: requeue_0}, 60.0, 6.0 + 2.0 + 4.0 + 1.0 + 2.0),
        ({4.5: requeue_0}, 60.0, 4.5 + 12.0),
    ],
)
def test_the_true_end_of_a_job_that_has_changed(script: dict[float, Any], walltime: float, end: float) -> None:
    """Asked at any time after that: with what it had done before, on the cores that it has, or its walltime; as it ends then."""
    jobs = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0], "requested_time": [walltime]}
    jobs |= {"min_cores": [1], "max_cores": [2], "malleable": [True], "speedup": ["linear"]}
    jobs |= {
        "checkpoint_interval": ["4"],
        "checkpoint_time": [1.0],
        "restart_time": [2.0],
        "reconfiguration_time": [0.5],
    }
    simulation = Simulation(Platform.homogeneous(1, 2), Workload(jobs), Scripted(script), enforce_walltime=True)
    told: dict[float, float] = {}

    def ask() -> Generator[Any, Any, None]:
        for time in (6.1, 6.8, 7.5):
            yield simulation.env.timeout(time - simulation.env.now)
            for running in simulation.clairvoyant_view().running:
                told[time] = simulation.clairvoyant_view().true_end(running)

    simulation.env.process(ask())
    (finish,) = simulation.run().jobs["finish_time"]
    assert finish == pytest.approx(end)
    assert told
    assert told == pytest.approx(dict.fromkeys(told, finish))


@pytest.mark.parametrize(("seconds", "walltime", "end"), [(10.0, 60.0, 13.0), (10.0, 9.0, 10.0), (3.0, 60.0, 4.0)])
def test_the_true_end_is_that_of_the_run_with_checkpoints(seconds: float, walltime: float, end: float) -> None:
    """A checkpoint of 1 s after each 4 s of work, from 1 s on: the last one is not made; or the walltime stops the job."""
    jobs = {"submit_time": [1.0], "requested_cores": [1], "recorded_run_time": [seconds], "requested_time": [walltime]}
    jobs |= {"checkpoint_interval": ["4"], "checkpoint_time": [1.0]}
    simulation = Simulation(Platform.homogeneous(1, 1), Workload(jobs), Scripted({}), enforce_walltime=True)
    told: list[float] = []

    def ask() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(2.0)
        truth = simulation.clairvoyant_view()
        told.extend(truth.true_end(running) for running in truth.running)

    simulation.env.process(ask())
    assert simulation.run().jobs["finish_time"].tolist() == [end]
    assert told == [end]
