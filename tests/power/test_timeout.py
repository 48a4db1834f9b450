"""Timeouts and nodes kept ready: hand-worked stories, among them Fig. 1 of Casagrande et al. (2022)."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, PowerTransitions, Simulation, make_power_policy
from cluster_sim.errors import SpecError
from schedulers import ConservativeBackfilling, EasyBackfilling, Fcfs, IdleTimeout, KeepReady

from .conftest import jobs, nodes, states

SLOW = PowerTransitions(9.0, switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0)


def test_fig_1a_a_short_timeout_costs_time_and_energy() -> None:
    """T(2): idle t2-t4, off t4-t6 although job 2 comes at t5, booted t6-t7, and only then job 2 starts."""
    result = Simulation(nodes(4), jobs((0, 4, 2, 2), (5, 4, 2, 2)), Fcfs(), IdleTimeout(2)).run()
    assert states(result, 0) == [
        ("COMPUTING", 0.0, 2.0),
        ("IDLE", 2.0, 4.0),
        ("SWITCHING_OFF", 4.0, 6.0),
        ("SWITCHING_ON", 6.0, 7.0),
        ("COMPUTING", 7.0, 9.0),
    ]
    summary = result.summary()
    assert summary["energy_waste_j"] == 4 * (2 * 95 + 2 * 101 + 125)
    assert summary["node_switches"] == 8


def test_fig_1b_a_longer_timeout_would_have_been_better() -> None:
    """T(4): the nodes are idle when job 2 comes, it starts at once, and 3 t of idling cost less than the cycle."""
    result = Simulation(nodes(4), jobs((0, 4, 2, 2), (5, 4, 2, 2)), Fcfs(), IdleTimeout(4)).run()
    assert states(result, 0) == [("COMPUTING", 0.0, 2.0), ("IDLE", 2.0, 5.0), ("COMPUTING", 5.0, 7.0)]
    summary = result.summary()
    assert summary["energy_waste_j"] == 4 * 3 * 95
    assert summary["node_switches"] == 0


def test_a_timeout_of_0_switches_off_what_the_scheduler_leaves() -> None:
    """A node that is free and wanted in the same instant stays on; one that nobody wants goes at once."""
    result = Simulation(nodes(2), jobs((0, 2, 3, 3), (3, 1, 3, 3)), Fcfs(), IdleTimeout(0), until=8.0).run()
    assert states(result, 0) == [("COMPUTING", 0.0, 6.0), ("SWITCHING_OFF", 6.0, 8.0)]
    assert states(result, 1) == [("COMPUTING", 0.0, 3.0), ("SWITCHING_OFF", 3.0, 5.0), ("OFF", 5.0, 8.0)]


def test_a_switch_in_the_last_instant_is_none_of_the_run() -> None:
    """Both nodes would go off when the run ends with its last job: in no row, no joule and no count, as when it is cut there."""
    for until in (None, 6.0):
        result = Simulation(nodes(2), jobs((0, 2, 3, 3), (3, 2, 3, 3)), Fcfs(), IdleTimeout(0), until=until).run()
        assert states(result, 0) == [("COMPUTING", 0.0, 6.0)]
        assert result.nodes["switches_off"].tolist() == [0, 0]
        assert result.summary()["node_switches"] == 0
    cut_later = Simulation(nodes(2), jobs((0, 2, 3, 3), (3, 2, 3, 3)), Fcfs(), IdleTimeout(0), until=6.5).run()
    assert cut_later.summary()["node_switches"] == 2


def test_nodes_that_never_ran_anything_time_out_too() -> None:
    """They are idle since the start of the run, and a node booted for nobody since it was ready."""
    simulation = Simulation(nodes(1, off=1), jobs((30, 1, 1, 1)), Fcfs(), IdleTimeout(4))
    simulation.env.timeout(10.0).callbacks.append(lambda event: simulation.node(1).switch_on())
    result = simulation.run()
    assert states(result, 0)[:3] == [("IDLE", 0.0, 4.0), ("SWITCHING_OFF", 4.0, 6.0), ("OFF", 6.0, 30.0)]
    assert states(result, 1)[:5] == [
        ("OFF", 0.0, 10.0),
        ("SWITCHING_ON", 10.0, 11.0),
        ("IDLE", 11.0, 15.0),
        ("SWITCHING_OFF", 15.0, 17.0),
        ("OFF", 17.0, 32.0),
    ]


def test_a_node_is_idle_when_its_last_job_has_ended() -> None:
    """On a node with two cores one job ends at 2 and the other at 5: the timeout counts from 5."""
    workload = jobs((0, 1, 2, 2), (0, 1, 5, 5))
    result = Simulation(nodes(1, cores=2), workload, Fcfs(), IdleTimeout(3), until=12.0).run()
    assert states(result, 0) == [
        ("COMPUTING", 0.0, 5.0),
        ("IDLE", 5.0, 8.0),
        ("SWITCHING_OFF", 8.0, 10.0),
        ("OFF", 10.0, 12.0),
    ]


def test_an_idle_period_costs_one_wake_up_at_most() -> None:
    """Fifty nodes that fall idle together, and a hundred jobs on one node, are woken for as often as they fall idle."""
    policy = IdleTimeout(1000)
    looks = []
    react = policy.react
    policy.react = lambda view: looks.append(view.now) or react(view)  # type: ignore[method-assign, assignment, func-returns-value]
    rows = [(0, 50, 1, 1)] + [(10.0 * i, 1, 5, 5) for i in range(1, 101)]
    Simulation(nodes(50), jobs(*rows), Fcfs(), policy, until=5000.0).run()
    # The start, 101 submissions, 101 ends; 1001: 49 nodes time out; 2005: the last does. That each goes OFF 2 s later
    # is no news to the policy. (At 15 + 1000 nothing is due any more: the node was used again.)
    assert [time for time in looks if time > 1005.0] == [2005.0]
    assert looks.count(1001.0) == 1
    assert len(looks) <= 1 + 2 * 101 + 2 + 101


def test_the_head_waits_for_nodes_that_come_back() -> None:
    """EASY: a node that is switching off will be there when it is OFF, so the head job is promised that and keeps it.

    Node 1 switches off from 10 to 190, node 0 from 100 to 280. The head needs both: 280 and a boot. If nodes in
    transition were never to come back, it had no promise, and the job of 1000 s behind it would start at 250.
    """
    rows = ((0, 1, 100, 100), (0, 1, 10, 10), (20, 2, 50, 50), (21, 1, 1000, 1000))
    for scheduler in (EasyBackfilling(), EasyBackfilling(reservation="pinned"), ConservativeBackfilling()):
        result = Simulation(nodes(2, switching=SLOW), jobs(*rows), scheduler, IdleTimeout(0)).run()
        start = result.jobs["start_time"].tolist()
        assert start[2] == 280 + 60
        assert start[3] >= 340 + 50


def test_backfilling_beside_nodes_that_come_back() -> None:
    """A job that ends before the nodes in transition are back delays nobody and starts."""
    rows = ((0, 1, 100, 100), (0, 1, 10, 10), (20, 2, 50, 50), (21, 1, 80, 80))
    for scheduler in (EasyBackfilling(), EasyBackfilling(reservation="pinned"), ConservativeBackfilling()):
        result = Simulation(nodes(2, switching=SLOW), jobs(*rows), scheduler, IdleTimeout(0)).run()
        # From 100 to 180 on node 0, which is switched off then; node 1 is OFF since 190.
        assert result.jobs["start_time"].tolist() == [0, 0, 360 + 60, 100]


def test_keep_ready_keeps_that_many_idle() -> None:
    """Of three nodes one is a reserve: the others go off, and when a job takes it, another is booted."""
    workload = jobs((10, 1, 10, 10))
    result = Simulation(nodes(3), workload, Fcfs(), KeepReady(1), until=30.0).run()
    assert states(result, 0) == [("IDLE", 0.0, 10.0), ("COMPUTING", 10.0, 20.0), ("IDLE", 20.0, 30.0)]
    assert states(result, 1) == [
        ("SWITCHING_OFF", 0.0, 2.0),
        ("OFF", 2.0, 10.0),
        ("SWITCHING_ON", 10.0, 11.0),
        ("IDLE", 11.0, 20.0),
        ("SWITCHING_OFF", 20.0, 22.0),
        ("OFF", 22.0, 30.0),
    ]
    assert states(result, 2) == [("SWITCHING_OFF", 0.0, 2.0), ("OFF", 2.0, 30.0)]


def test_a_wide_job_gets_nodes_that_sleep() -> None:
    """A timeout and a reserve withhold nothing: a job as wide as the machine starts after one boot."""
    for policy in (IdleTimeout(0), KeepReady(1)):
        result = Simulation(nodes(4), jobs((0, 1, 1, 1), (20, 4, 1, 1)), Fcfs(), policy).run()
        assert result.jobs["start_time"].tolist() == [0.0, 21.0]


@pytest.mark.parametrize(
    "spec", ["timeout:-1", "timeout:inf", "timeout:nan", "timeout:soon", "keep-ready:-1", "random:0"]
)
def test_impossible_options(spec: str) -> None:
    """They are refused with the option's name."""
    with pytest.raises(SpecError, match="power policy"):
        make_power_policy(spec)


def test_a_machine_that_is_off_draws_no_less_than_nothing() -> None:
    """Tenths of watts are no binary fractions: what is added and taken away again is 0 where all is off, not a little below."""
    power = {"static_w": 0.1, "dynamic_w": 0.1, "min_power": 0.3}
    platform = Platform.homogeneous(nodes=2, cores=2, power=power)
    workload = jobs((0, 1, 10, 10), (5, 2, 20, 20), (200, 1, 10, 10))
    curve = Simulation(platform, workload, Fcfs(), IdleTimeout(1)).run().power
    assert curve["watts"].min() == 0.0
