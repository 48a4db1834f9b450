"""Off-reservation, random reservations and inertial shutdown: stories by hand, Fig. 2 of Casagrande et al. (2022) first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from simpy.events import Event

from cluster_sim import PowerTransitions, Result, Simulation, Workload
from cluster_sim.run.decisions import Withhold
from schedulers import (
    ConservativeBackfilling,
    EasyBackfilling,
    Fcfs,
    IdleTimeout,
    InertialShutdown,
    ListScheduler,
    OffReservation,
    Pcbe,
    PowerPolicy,
    RandomReservation,
)

from .conftest import jobs, nodes, states

# Job 1 has r1 and r2 until t3; job 2 comes at t2, asks for two nodes for 2 t; r3 and r4 are off.
FIG_2 = jobs((0, 2, 3, 20), (2, 2, 2, 6))


def run(policy: PowerPolicy, workload: Workload, until: float | None = None, on: int = 2, off: int = 2) -> Result:
    """Under EASY, from nodes of which some are OFF."""
    return Simulation(nodes(on, off), workload, EasyBackfilling(), policy, until=until).run()


def test_fig_2a_a_timeout_boots_nodes_that_were_not_needed() -> None:
    """Job 2 has r3 and r4 booted and starts at t3, when job 1 gives r1 and r2 back, which idle for nothing."""
    result = run(IdleTimeout(2), FIG_2, until=9.0)
    assert result.jobs["start_time"].tolist() == [0.0, 3.0]
    for node in (0, 1):
        assert states(result, node) == [
            ("COMPUTING", 0.0, 3.0),
            ("IDLE", 3.0, 5.0),
            ("SWITCHING_OFF", 5.0, 7.0),
            ("OFF", 7.0, 9.0),
        ]
    for node in (2, 3):
        assert states(result, node) == [
            ("OFF", 0.0, 2.0),
            ("SWITCHING_ON", 2.0, 3.0),
            ("COMPUTING", 3.0, 5.0),
            ("IDLE", 5.0, 7.0),
            ("SWITCHING_OFF", 7.0, 9.0),
        ]
    assert result.summary()["energy_waste_j"] == 4 * (2 * 95 + 2 * 101) + 2 * 125


def test_fig_2b_off_reservation_has_job_2_wait_for_job_1() -> None:
    """Job 2 starts at t3 as well, on r1 and r2; r3 and r4 stay off, and no node idles."""
    result = run(OffReservation(0.5), FIG_2, until=9.0)
    assert result.jobs["start_time"].tolist() == [0.0, 3.0]
    for node in (0, 1):
        assert states(result, node) == [("COMPUTING", 0.0, 5.0), ("SWITCHING_OFF", 5.0, 7.0), ("OFF", 7.0, 9.0)]
    for node in (2, 3):
        assert states(result, node) == [("OFF", 0.0, 9.0)]
    assert result.summary()["energy_waste_j"] == 2 * 2 * 101


def test_off_reservation_may_spare_the_head() -> None:
    """With head=starts job 2 does not wait for job 1: r3 and r4 boot at once, as under a timeout."""
    result = run(OffReservation(0.5, head="starts"), FIG_2, until=9.0)
    assert result.nodes["switches_on"].tolist() == [0, 0, 1, 1]
    assert result.jobs["start_time"].tolist() == [0.0, 3.0]


def test_off_reservation_keeps_the_bound_with_the_boot_in_it() -> None:
    """Job 1 ends too late for job 2, which may wait 5 s: it is let through at once, and is not held till the bound."""
    result = run(OffReservation(0.5), jobs((0, 2, 30, 30), (2, 2, 2, 10)))
    assert result.jobs["start_time"].tolist() == [0.0, 3.0]


def test_off_reservation_gives_up_at_the_latest_start() -> None:
    """Room is made later than foreseen: at the latest start, 2 + 5 - 1 s, nodes are booted for job 2."""
    simulation = Simulation(nodes(2, 2), jobs((0, 2, 5, 20), (2, 2, 2, 10)), EasyBackfilling(), OffReservation(0.5))

    def slow_down(event: Event) -> None:
        for node in (0, 1):  # at a quarter of the clock job 1 ends at 3 + 2 · 4 = 11 s, not at 5 s
            simulation.machine.processor(node).set_clock(0.25)

    simulation.env.timeout(3.0).callbacks.append(slow_down)
    assert simulation.run().jobs["start_time"].tolist() == [0.0, 7.0]


def test_off_reservation_never_delays_whom_nobody_makes_room_for() -> None:
    """With nothing running, and for a job that requests no time, the nodes are booted at once."""
    infinite = float("inf")
    result = run(OffReservation(0.5), jobs((0, 1, 9, 99), (1, 1, 1, infinite), (40, 1, 1, 1000)), on=1)
    assert result.jobs["start_time"].tolist() == [0.0, 2.0, 41.0]


def test_off_reservation_lets_those_ahead_through() -> None:
    """FCFS: job 2 could wait, job 3 behind it cannot and is not to be overtaken by; so both are let through."""
    workload = jobs((0, 1, 10, 10), (1, 1, 5, 1000), (2, 1, 5, 2))
    result = Simulation(nodes(1, off=3), workload, Fcfs(), OffReservation(0.5)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 3.0, 3.0]


def test_off_reservation_leaves_a_wide_head_everything() -> None:
    """The head needs all four nodes and reaches its latest start while they are busy: from then on nothing is withheld.

    Narrow jobs keep coming; EASY promises the head the end of the longest, 60 s, and none of them delays that.
    """
    rows = [(0.0, 1, 60, 60), (0.5, 4, 10, 20)] + [(float(t), 1, 50, 50) for t in range(1, 90, 2)]
    workload = jobs(*sorted(rows, key=lambda row: row[0]))
    result = Simulation(nodes(2, off=2), workload, EasyBackfilling(), OffReservation(0.5)).run()
    assert (result.jobs["state"] == "completed").all()
    assert result.jobs["start_time"].iloc[1] <= 70.0


def test_random_reservations_end_for_who_has_waited() -> None:
    """A job as wide as the machine starts after ten periods at the latest, whatever is drawn; none is lost."""
    for seed in range(5):
        workload = jobs((0, 4, 5, 5), (30, 4, 5, 5), (31, 1, 5, 5), (31, 2, 5, 5))
        simulation = Simulation(nodes(4), workload, EasyBackfilling(), RandomReservation(period=4), seed=seed)
        result = simulation.run()
        # Ten periods of 4 s, the rest of one, a node that was just switching off, and a boot.
        assert (result.jobs["wait_time"] <= 40 + 4 + 2 + 1 + 3 * 5).all()


def test_random_reservations_leave_the_schedulers_randomness_alone() -> None:
    """Random reservations draw numbers of their own from the run's seed: one seed makes the same run twice."""
    free = PowerTransitions()
    platform = nodes(3, switching=free)
    workload = jobs(*[(float(i), 1 + i % 2, 5, 5) for i in range(20)])
    runs = [
        Simulation(platform, workload, ListScheduler("random"), RandomReservation(period=2), seed=7).run().jobs
        for _ in range(2)
    ]
    assert runs[0].equals(runs[1])


def test_inertial_shutdown_by_hand() -> None:
    """With nothing to do the load does not rise: it turns round, then withholds 1, 2 and 4 nodes, one period after another.

    Monitoring begins with a first job at 0, which does not wait.
    At 10 the load (0, as before) does not rise: it turns round. At 20 one node is withheld, the
    last, at 30 the next two, at 40 all that are left. A job of one node at 100 has one offered, and booted.
    """
    result = Simulation(nodes(7), jobs((0, 1, 5, 5), (100, 1, 5, 5)), Fcfs(), InertialShutdown(period=10)).run()
    begun = [next(row[1] for row in states(result, node) if row[0] == "SWITCHING_OFF") for node in range(7)]
    assert begun == [40.0, 40.0, 40.0, 40.0, 30.0, 30.0, 20.0]
    assert result.jobs["start_time"].tolist() == [0.0, 101.0]
    assert states(result, 0)[-1] == ("COMPUTING", 101.0, 106.0)
    assert all(states(result, node)[-1] == ("OFF", states(result, node)[1][2], 106.0) for node in range(1, 7))


class KnownLoad(InertialShutdown):
    """Inertial shutdown under a load that a test sets."""

    def _liquid_load_horizon(self, view: Any, waiting: Any) -> float:
        return float(view.load)


def test_inertial_shutdown_takes_the_load_between_two_looks_for_a_line() -> None:
    """Period 1 falls from 8 s to 0, period 2 has 6 s all along, which is more than the mean, though less than at first.

    So the load rises until 20 s, has turned round at 30 s, and a node is withheld at 40 s.
    """
    policy = KnownLoad(period=10)
    view: Any = SimpleNamespace(
        now=0.0, pending=[], pending_count=0, submitted=[SimpleNamespace(index=0)], running_count=1,
        platform=SimpleNamespace(node_count=2, node_cores=np.ones(2, int)), free_cores=np.ones(2, int),
        machine=SimpleNamespace(
            powered_on=np.ones(2, bool), withheld=np.zeros(2, bool), withheld_count=0, reservations=(), restricts=False,
        ),
        planning=SimpleNamespace(counts_memory=False),
    )  # fmt: skip
    policy.begin(view)
    withheld = []
    for time, before, after in (
        (0.0, 8.0, 8.0),
        (10.0, 0.0, 6.0),
        (20.0, 6.0, 6.0),
        (30.0, 6.0, 6.0),
        (40.0, 6.0, 6.0),
    ):
        view.now, view.load = time, before
        withheld += [time for decision in policy.reserve(view) if isinstance(decision, Withhold)]
        view.load = after
        list(policy.react(view))
    assert withheld == [40.0]


def test_inertial_shutdown_waits_for_the_first_job() -> None:
    """Before the first job, at 100, nothing is monitored and nothing withheld: it starts at once."""
    result = Simulation(nodes(7), jobs((100, 1, 5, 5)), Fcfs(), InertialShutdown(period=10)).run()
    assert result.jobs["start_time"].tolist() == [100.0]
    assert set(result.node_states["state"]) == {"IDLE", "COMPUTING"}


def test_inertial_shutdown_boots_while_the_load_rises() -> None:
    """After a first job all is off at 100, when jobs of a node and 100 s begin to come every 5 s, and one node is offered.

    At 110 the load has risen, so it turns round; at 120 it has risen again, and the next node is booted, which no job
    could have asked for.
    """
    workload = jobs((0, 1, 5, 5), *[(100.0 + 5 * i, 1, 100, 100) for i in range(20)])
    result = Simulation(nodes(7), workload, Fcfs(), InertialShutdown(period=10)).run()
    assert result.jobs["start_time"].tolist()[:3] == [0.0, 101.0, 121.0]
    assert states(result, 1)[3] == ("SWITCHING_ON", 120.0, 121.0)
    assert (result.jobs["state"] == "completed").all()


@pytest.mark.parametrize("policy", [InertialShutdown(5.0), OffReservation(0.5), RandomReservation(5.0)])
@pytest.mark.parametrize(
    "scheduler",
    [Fcfs, EasyBackfilling, ConservativeBackfilling, Pcbe, lambda: ListScheduler(blocking=False)],
)
def test_a_head_job_as_wide_as_the_machine_starts(policy: PowerPolicy, scheduler: type[Fcfs]) -> None:
    """Whatever is withheld when it comes, it gets all nodes in the end, under every scheduler; and all jobs complete."""
    rows = [(float(t), 1 + t % 3, 3, 3) for t in range(0, 60, 2)] + [(61.0, 6, 3, 3), (200.0, 6, 3, 3)]
    result = Simulation(nodes(3, off=3), jobs(*rows), scheduler(), policy).run()
    assert (result.jobs["state"] == "completed").all()
