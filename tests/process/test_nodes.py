"""Nodes switched off and on by hand, broken and repaired: what it costs in time and joules, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cluster_sim import Platform, ProcessorType, Result, Simulation
from cluster_sim.errors import NodeStateError
from cluster_sim.machine.node import Node
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from cluster_sim.platform.node_state import NodeState
from schedulers import AlwaysOn, Fcfs, IdleTimeout

from .conftest import WATTS, At, Log, Story, jobs, machine


def states(result: Result, node: str = "cluster0.node0") -> list[tuple[str, float, float]]:
    """A node's rows (state, start, end)."""
    rows = result.node_states[result.node_states["node"] == node]
    return list(zip(rows["state"], rows["start"], rows["end"], strict=True))


def test_off_and_on_by_hand_cost_time_and_energy(at: At) -> None:
    """Idle 10 s, off for a while, on again: every joule worked out by hand."""
    simulation = Simulation(machine(), jobs((30, 1, 5)), Fcfs())
    node = simulation.node("cluster0.node0")
    at(simulation, 10.0, node.switch_off)
    at(simulation, 20.0, node.switch_on)
    result = simulation.run()
    assert states(result) == [
        ("IDLE", 0.0, 10.0),
        ("SWITCHING_OFF", 10.0, 13.0),
        ("OFF", 13.0, 20.0),
        ("SWITCHING_ON", 20.0, 24.0),
        ("IDLE", 24.0, 30.0),
        ("COMPUTING", 30.0, 35.0),
    ]
    summary = result.summary()
    assert summary["energy_idle_j"] == 16 * 5
    assert summary["energy_switching_off_j"] == 3 * 8
    assert summary["energy_off_j"] == 7 * 1
    assert summary["energy_switching_on_j"] == 4 * 20
    assert summary["energy_jobs_j"] == 5 * 12
    assert summary["energy_j"] == 80 + 24 + 7 + 80 + 60
    assert summary["energy_waste_j"] == 80 + 24 + 80
    assert summary["node_switches"] == 2
    assert result.power.values.tolist() == [[0, 5], [10, 8], [13, 1], [20, 20], [24, 5], [30, 12], [35, 5]]


def test_transitions_without_watts_of_their_own_draw_idle_watts(at: At) -> None:
    """Switching draws what the idle node draws where the platform says no watts."""
    simulation = Simulation(machine(switching=PowerTransitions(0.0, 4.0, None, 3.0, None)), jobs((20, 1, 1)), Fcfs())
    at(simulation, 10.0, simulation.node(0).switch_off)
    summary = simulation.run().summary()
    assert (summary["energy_switching_off_j"], summary["energy_switching_on_j"]) == (3 * 5, 4 * 5)


def test_a_node_told_to_boot_while_it_shuts_down_ends_with_the_boot(at: At) -> None:
    """A policy sees the end of both: the node shuts down from 10 s to 13 s, and boots then until 17 s."""
    simulation, ends = Simulation(machine(), jobs((30, 1, 5)), Fcfs()), []
    node = simulation.node(0)
    at(simulation, 10.0, node.switch_off)
    at(simulation, 11.0, node.switch_on)
    for time in (10.5, 11.5, 14.0):
        at(simulation, time, lambda: ends.append(dict(simulation.view.transition_ends)))
    simulation.run()
    assert ends == [{0: 13.0}, {0: 17.0}, {0: 17.0}]


def test_a_process_can_wait_for_the_transitions(log: Log) -> None:
    """``yield node.switch_off()`` goes on when it is OFF, ``yield node.switch_on()`` when it is ready."""
    simulation = Simulation(machine(), jobs((50, 1, 1)), Fcfs())
    node = simulation.node(0)

    def story() -> Story:
        for order in (node.switch_off, node.switch_on, node.switch_on):
            yield order()
            log.append((simulation.env.now, str(node.state)))

    simulation.env.process(story())
    simulation.run()
    assert log == [(3.0, "OFF"), (7.0, "IDLE"), (7.0, "IDLE")]


def test_who_waits_for_a_node_that_breaks_down_is_told(at: At, log: Log) -> None:
    """A node that takes 3 s to switch off fails after 1: its event fails, nobody waits for ever; others need not care."""
    simulation = Simulation(machine(nodes=3), jobs((50, 1, 1)), Fcfs())

    def story() -> Story:
        try:
            yield simulation.node(0).switch_off()
        except NodeStateError as error:
            log.append((simulation.env.now, str(error)))

    simulation.env.process(story())
    at(simulation, 0.0, simulation.node(1).switch_off)  # nobody waits for this one
    for node in (0, 1):
        at(simulation, 1.0, simulation.node(node).fail)
    simulation.run()
    assert log == [(1.0, "cluster0.node0: it failed before it was OFF")]


def test_a_busy_node_cannot_be_switched_off() -> None:
    """Nor can one that is off, in transition, or held by a job that waits for another node's boot."""
    simulation = Simulation(machine(nodes=1, off=1), jobs((0, 4, 20)), Fcfs())
    first, second = simulation.node(0), simulation.node(1)
    assert (str(first.state), str(second.state)) == ("IDLE", "OFF")
    simulation.run(until=2.0)
    assert (str(first.state), str(second.state)) == ("IDLE", "SWITCHING_ON")
    simulation.run(until=5.0)
    assert str(first.state) == "COMPUTING"
    for node, why in ((first, "COMPUTING with cores held"), (second, "COMPUTING")):
        with pytest.raises(NodeStateError, match=f"only an idle node can be switched off, it is {why}"):
            node.switch_off()


def test_a_node_held_for_a_job_that_waits_cannot_be_switched_off(at: At, log: Log) -> None:
    """Between allocation and start the cores are held, though nothing computes."""
    simulation = Simulation(machine(nodes=1, off=1), jobs((0, 4, 20)), Fcfs())

    def try_it() -> None:
        for index in (0, 1):
            with pytest.raises(NodeStateError, match="only an idle node can be switched off"):
                simulation.node(index).switch_off()
            log.append(index)

    at(simulation, 1.0, try_it)
    result = simulation.run()
    assert log == [0, 1]
    assert result.jobs["start_time"].tolist() == [4.0]


def test_switched_on_while_it_switches_off(at: At, log: Log) -> None:
    """The node finishes switching off, then boots at once; there is no time in OFF."""
    simulation = Simulation(machine(), jobs((30, 1, 1)), Fcfs())
    node = simulation.node(0)

    def wait() -> Story:
        yield simulation.env.timeout(11)
        yield node.switch_on()
        log.append(simulation.env.now)

    at(simulation, 10.0, node.switch_off)
    simulation.env.process(wait())
    result = simulation.run()
    assert log == [17.0]
    assert states(result)[:4] == [
        ("IDLE", 0.0, 10.0),
        ("SWITCHING_OFF", 10.0, 13.0),
        ("SWITCHING_ON", 13.0, 17.0),
        ("IDLE", 17.0, 30.0),
    ]


def test_a_job_waits_for_the_boot_that_it_causes() -> None:
    """On a machine that is off, the job has its cores at once, and starts when its node is ready."""
    result = Simulation(machine(nodes=0, off=2), jobs((1, 2, 5)), Fcfs()).run()
    job = result.jobs.iloc[0]
    assert (job["allocation_time"], job["start_time"], job["finish_time"]) == (1.0, 5.0, 10.0)
    assert (job["wait_time"], job["run_time"]) == (4.0, 5.0)
    assert states(result) == [("OFF", 0.0, 1.0), ("SWITCHING_ON", 1.0, 5.0), ("COMPUTING", 5.0, 10.0)]
    assert states(result, "cluster0.node1") == [("OFF", 0.0, 10.0)]
    assert result.summary()["energy_j"] == 1 * 1 + 4 * 20 + 5 * 14 + 10 * 1
    assert result.queue.values.tolist() == [[1.0, 0, 0]]  # it does not wait in the queue


def test_a_job_on_several_nodes_waits_for_the_slowest() -> None:
    """The node that is on idles, held, until the other has booted; a second job cannot have it meanwhile."""
    result = Simulation(machine(nodes=1, off=1), jobs((0, 4, 5), (1, 1, 1)), Fcfs()).run()
    assert result.jobs["start_time"].tolist() == [4.0, 9.0]
    assert states(result)[:2] == [("IDLE", 0.0, 4.0), ("COMPUTING", 4.0, 10.0)]


def test_nodes_that_are_on_come_before_nodes_that_would_have_to_boot() -> None:
    """However the node order ranks them."""
    result = Simulation(machine(nodes=1, off=1), jobs((0, 1, 5), (0, 1, 5), (0, 2, 5)), Fcfs("high_cores")).run()
    assert result.jobs["start_time"].tolist() == [0.0, 0.0, 4.0]


def test_always_on_boots_what_is_off() -> None:
    """The policy orders the boots at time 0, once."""
    result = Simulation(machine(nodes=1, off=2), jobs((10, 2, 5)), Fcfs(), AlwaysOn()).run()
    for node in ("cluster0.node1", "cluster0.node2"):
        assert states(result, node) == [("SWITCHING_ON", 0.0, 4.0), ("IDLE", 4.0, 15.0)]
    assert result.summary()["node_switches"] == 2


def test_a_switch_that_takes_no_time() -> None:
    """Transitions of zero seconds are passed through in their instant, and cost nothing."""
    platform = machine(nodes=0, off=1, switching=PowerTransitions(off_w=1.0, switch_on_w=1e6))
    result = Simulation(platform, jobs((2, 1, 3)), Fcfs()).run()
    assert states(result) == [("OFF", 0.0, 2.0), ("COMPUTING", 2.0, 5.0)]
    assert result.summary()["energy_j"] == 2 * 1 + 3 * 12
    assert result.summary()["max_watts"] == 12


# ---------------------------------------------------------------------- breaking and repairing


@pytest.mark.parametrize("quirks", [(), ("unused-processors-draw-nothing",)])
def test_on_for_no_time_is_not_on(quirks: tuple[str, ...]) -> None:
    """Switched off from 0, on at 2 for a job of no time and off again: one interval, though only its end may draw watts."""
    platform = machine(switching=PowerTransitions(switch_off_s=2.0))
    workload = jobs((1, 1, 0), (10, 1, 5))
    result = Simulation(platform, workload, Fcfs(), IdleTimeout(0), quirks=quirks).run()
    assert states(result) == [("SWITCHING_OFF", 0, 4), ("OFF", 4, 10), ("COMPUTING", 10, 15)]
    assert result.summary()["energy_switching_off_j"] == (10.0 if quirks else 20.0)


def test_a_failed_node_kills_its_jobs_and_draws_nothing(at: At) -> None:
    """Job 0 dies with its node; job 1 waits for the repair and the boot after it."""
    simulation = Simulation(machine(), jobs((0, 2, 10), (1, 2, 10)), Fcfs())
    node = simulation.node(0)
    at(simulation, 5.0, node.fail)
    at(simulation, 6.0, node.fail)  # it is already
    at(simulation, 8.0, node.repair)
    result = simulation.run()
    assert result.jobs["state"].tolist() == ["killed", "completed"]
    assert result.jobs["reason"].tolist() == ["cluster0.node0 failed", ""]
    assert result.jobs["finish_time"].tolist() == [5.0, 22.0]
    assert states(result) == [
        ("COMPUTING", 0.0, 5.0),
        ("FAILED", 5.0, 8.0),
        ("SWITCHING_ON", 8.0, 12.0),
        ("COMPUTING", 12.0, 22.0),
    ]
    assert result.summary()["energy_j"] == 5 * 14 + 0 + 4 * 20 + 10 * 14


def test_a_failure_takes_only_the_jobs_on_that_node(at: At) -> None:
    """A job that spans it dies everywhere, and frees its other cores in that instant; the neighbour's job lives."""
    simulation = Simulation(machine(nodes=3), jobs((0, 2, 9), (0, 4, 9), (1, 2, 3)), Fcfs())
    at(simulation, 2.0, simulation.node(1).fail)
    result = simulation.run()
    assert result.jobs["state"].tolist() == ["completed", "killed", "completed"]
    assert result.jobs["start_time"].tolist() == [0.0, 0.0, 2.0]
    assert result.allocations["node"].tolist()[-1] == "cluster0.node2"


@pytest.mark.parametrize("order", ["switch_off", "switch_on"])
@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_failing_in_the_middle_of_a_transition(at: At, order: str, delay: float) -> None:
    """The transition is over; a repair leaves the node as it was going to be, OFF until the job wants it, or on."""
    simulation = Simulation(machine(nodes=int(order == "switch_off"), off=int(order == "switch_on")), jobs((20, 1, 2)))
    node: Node = simulation.node(0)
    at(simulation, 5.0, getattr(node, order))
    at(simulation, 5.0 + delay, node.fail)
    at(simulation, 10.0, node.repair)
    while (view := simulation.step_to_decision()) is not None:
        for job in view.pending:
            placement = view.place(job)
            assert placement is not None
            simulation.decide((job, placement))
    result = simulation.result()
    transition = [("SWITCHING_OFF" if order == "switch_off" else "SWITCHING_ON", 5.0, 6.0)] if delay else []
    assert states(result)[1:] == [
        *transition,
        ("FAILED", 5.0 + delay, 10.0),
        *(
            [("OFF", 10.0, 20.0), ("SWITCHING_ON", 20.0, 24.0), ("COMPUTING", 24.0, 26.0)]
            if order == "switch_off"
            else [("SWITCHING_ON", 10.0, 14.0), ("IDLE", 14.0, 20.0), ("COMPUTING", 20.0, 22.0)]
        ),
    ]


def test_a_node_that_was_off_is_off_again_when_it_is_repaired(log: Log) -> None:
    """A process that waits for the repair goes on; a job that came meanwhile boots the node then, and not before."""
    simulation = Simulation(machine(nodes=0, off=1), jobs((6, 1, 5)), Fcfs(), explain=True)
    node = simulation.node(0)

    def story() -> Story:
        yield simulation.env.timeout(2.0)
        node.fail()
        yield simulation.env.timeout(3.0)
        yield node.repair()
        log.append((simulation.env.now, str(node.state)))
        node.fail()
        yield simulation.env.timeout(3.0)
        yield node.repair()

    simulation.env.process(story())
    result = simulation.run()
    assert log == [(5.0, "OFF")]
    assert states(result) == [
        ("OFF", 0.0, 2.0),
        ("FAILED", 2.0, 8.0),
        ("SWITCHING_ON", 8.0, 12.0),
        ("COMPUTING", 12.0, 17.0),
    ]
    assert "at 8 s, when cluster0.node0 had been repaired" in result.explain("0")
    summary = result.summary()
    assert (summary["node_switches"], summary["energy_j"]) == (1, 2 * 1 + 4 * 20 + 5 * 12)


def test_a_node_that_was_to_boot_after_its_shutdown_boots_when_it_is_repaired(at: At) -> None:
    """A node that had been called back keeps no process waiting for it to be on."""
    simulation = Simulation(machine(), jobs((20, 1, 2)), Fcfs())
    node = simulation.node(0)
    at(simulation, 5.0, node.switch_off)
    at(simulation, 6.0, node.switch_on)
    at(simulation, 7.0, node.fail)
    at(simulation, 10.0, node.repair)
    assert states(simulation.run())[2:4] == [("FAILED", 7.0, 10.0), ("SWITCHING_ON", 10.0, 14.0)]


def test_failing_twice_in_one_instant_is_failing_once(at: At, log: Log) -> None:
    """One change of state, told once."""
    simulation = Simulation(machine(), jobs((9, 1, 1)), Fcfs())
    node = simulation.node(0)

    def watch() -> Story:
        while True:
            for changed, state in (yield simulation.on("node_state_changed")):
                log.append((simulation.env.now, changed.name, str(state)))

    simulation.env.process(watch())
    at(simulation, 1.0, node.fail)
    at(simulation, 1.0, node.fail)
    at(simulation, 2.0, node.repair)
    simulation.run()
    name = "cluster0.node0"
    assert log == [(1.0, name, "FAILED"), (2.0, name, "SWITCHING_ON"), (6.0, name, "IDLE")]


def test_a_job_whose_node_fails_while_it_boots(at: At) -> None:
    """The job is killed before its tasks began: no start, no energy; the other node's cores are free again."""
    simulation = Simulation(machine(nodes=1, off=1), jobs((0, 4, 5), (1, 2, 5)), Fcfs())
    at(simulation, 2.0, simulation.node(1).fail)
    result = simulation.run()
    assert result.jobs["state"].tolist() == ["killed", "completed"]
    assert result.jobs["start_time"].isna().tolist() == [True, False]
    assert result.jobs["finish_time"].tolist() == [2.0, 7.0]
    assert result.jobs["energy_j"].tolist() == [0.0, 5 * 14]


def test_what_only_a_failed_node_can_do() -> None:
    """A sound node is not repaired; a failed one is not switched on; both errors say what it is."""
    simulation = Simulation(machine(), jobs((5, 1, 1)), Fcfs())
    node = simulation.node(0)
    with pytest.raises(NodeStateError, match=r"cluster0\.node0: only a failed node can be repaired, it is IDLE"):
        node.repair()
    node.fail()
    simulation.run(until=1.0)
    assert str(node.state) == "FAILED"
    with pytest.raises(NodeStateError, match=r"cluster0\.node0: a failed node cannot be switched on, repair it"):
        node.switch_on()


def test_a_users_own_failure_injector() -> None:
    """Failures come and go at random beside the run: every job ends, completed or killed by a failure, and joules add up."""
    platform = machine(nodes=6)
    simulation = Simulation(platform, jobs(*((float(i), 1 + i % 5, 4.0 + i % 7) for i in range(60))), Fcfs())
    rng = np.random.default_rng(3)

    def injector() -> Story:
        while True:
            yield simulation.env.timeout(rng.exponential(6.0))
            node = simulation.node(int(rng.integers(platform.node_count)))
            node.fail()
            yield simulation.env.timeout(rng.exponential(3.0))
            node.repair()

    simulation.env.process(injector())
    result = simulation.run()
    killed = result.jobs[result.jobs["state"] == "killed"]
    assert len(killed) > 3
    assert set(result.jobs["state"]) == {"completed", "killed"}
    assert all(reason.endswith(" failed") for reason in killed["reason"])
    power = result.power
    watts, times = power["watts"].to_numpy(), power["time"].to_numpy()
    assert result.summary()["energy_j"] == pytest.approx(
        float((watts[:-1] * (times[1:] - times[:-1])).sum()), rel=1e-12
    )


# ---------------------------------------------------------------------- clocks


def two_sockets() -> Platform:
    """A node of two one-core processors, of 2 and of 1 GHz."""
    kinds = [ProcessorType(f"p{ghz:g}", 1, ghz, power=WATTS) for ghz in (2.0, 1.0)]
    return Platform((Cluster("cluster0", (NodeGroup(NodeType("node", tuple(kinds)), 1),)),))


def test_a_slower_clock_in_the_middle_of_a_run(at: At) -> None:
    """At 4 of 10 s the clock halves: 6 s of work take 12; watts follow the square of the clock: 12 W, then 3 W."""
    simulation = Simulation(machine(), jobs((0, 1, 10)), Fcfs())
    at(simulation, 4.0, lambda: simulation.machine.processor(0).set_clock(1.5))
    result = simulation.run()
    assert result.jobs["finish_time"].tolist() == [16.0]
    assert result.power.values.tolist() == [[0, 12], [4, 3], [16, 1.25]]
    assert result.jobs["energy_j"].tolist() == [4 * 12 + 12 * 3]


def test_the_clock_of_an_idle_processor_counts_for_the_next_job(at: At) -> None:
    """Slowed before the job came; watts given with the clock are taken at their word."""
    simulation = Simulation(machine(), jobs((5, 2, 3)), Fcfs())
    at(simulation, 1.0, lambda: simulation.machine.processor(0).set_clock(1.0, static_w=6.0, dynamic_w=1.0))
    result = simulation.run()
    assert result.jobs["finish_time"].tolist() == [14.0]
    assert result.power.values.tolist() == [[0, 5], [1, 3], [5, 8], [14, 3]]


def test_clocks_up_and_down_again(at: At) -> None:
    """2 s at 3 GHz, 2 s at 6, the rest at 1.5: 2 + 4 s of the work done by 4 s, and 4 s at half speed take 8."""
    simulation = Simulation(machine(), jobs((0, 1, 10), (0, 1, 2)), Fcfs())
    processor = simulation.machine.processor(0)
    at(simulation, 2.0, lambda: processor.set_clock(6.0))
    at(simulation, 4.0, lambda: processor.set_clock(1.5))
    assert simulation.run().jobs["finish_time"].tolist() == [12.0, 2.0]


def test_only_the_tasks_on_that_processor_change_their_speed(at: At) -> None:
    """Tasks of one job on a 2 and a 1 GHz processor need 5 and 10 s; the slow one is sped up at 7 s and ends at 8.5."""
    workload = jobs((0, 2, float("nan")), operations=[10e9])
    simulation = Simulation(two_sockets(), workload, Fcfs())
    at(simulation, 7.0, lambda: simulation.machine.processor(1).set_clock(2.0))
    assert simulation.run().jobs["finish_time"].tolist() == [8.5]


def test_a_clock_for_tasks_that_have_ended_changes_nothing(at: At) -> None:
    """The job waits for its slow task; whatever happens to the fast one's processor is too late."""
    simulation = Simulation(two_sockets(), jobs((0, 2, float("nan")), operations=[10e9]), Fcfs())
    at(simulation, 7.0, lambda: simulation.machine.processor(0).set_clock(0.5))
    assert simulation.run().jobs["finish_time"].tolist() == [10.0]


def test_a_clock_that_changes_in_the_instant_of_the_end(at: At) -> None:
    """Work planned to end at 10 s has ended, whatever the clock does at 10 s."""
    simulation = Simulation(machine(), jobs((0, 1, 10), (10, 1, 3)), Fcfs())
    at(simulation, 10.0, lambda: simulation.machine.processor(0).set_clock(1.5))
    assert simulation.run().jobs["finish_time"].tolist() == [10.0, 16.0]


@pytest.mark.parametrize("ghz", [0.0, -1.0, float("nan")])
def test_a_clock_that_no_processor_has(ghz: float) -> None:
    """Zero, negative and no number are refused in one line that names the processor."""
    simulation = Simulation(machine(), jobs((0, 1, 1)), Fcfs())
    with pytest.raises(ValueError, match=r"cluster0\.node0\.processor0, clock: expected a positive clock in GHz"):
        simulation.machine.processor(0).set_clock(ghz)


def test_handles_show_the_machine_in_mid_run() -> None:
    """Processors, cores and nodes as objects: who holds what, and what it draws."""
    simulation = Simulation(two_sockets(), jobs((0, 1, 10)), Fcfs())
    simulation.run(until=1.0)
    node = simulation.node(0)
    first, second = node.processors
    assert (node.free_cores, node.cores, node.watts) == (1, 2, 12.0 + 5.0)
    assert (first.busy_cores, second.busy_cores, first.watts, second.watts) == (1, 0, 12.0, 5.0)
    assert [str(core.job and core.job.job_id) for core in (*first.cores, *second.cores)] == ["0", "None"]
    assert [core.is_free for core in (*first.cores, *second.cores)] == [False, True]
    assert second.name == "cluster0.node0.processor1"


def test_nodes_in_any_order_keep_their_own_watts() -> None:
    """Nodes 0, 2, 1 and 3 go off, drawing 1, 3, 2 and 4 W there: each has its own, whatever the order of the list."""
    simulation = Simulation(Platform.homogeneous(nodes=4, cores=1), jobs((0, 1, 1)), Fcfs())
    simulation.machine.switching.enter([0, 2, 1, 3], NodeState.OFF, [1.0, 3.0, 2.0, 4.0])
    assert [simulation.machine.power.node_watts(node) for node in range(4)] == [1.0, 2.0, 3.0, 4.0]
