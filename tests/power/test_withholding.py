"""Nodes that a power policy withholds and offers: what that means for the scheduler, and how a stall is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from cluster_sim import Simulation
from cluster_sim.errors import ModelWarning, PlacementError, SimulationError
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import PowerTransitions
from cluster_sim.run import View
from cluster_sim.run.decisions import Decision, Offer, PowerDecision, SwitchOff, SwitchOn, WakeAt, Withhold
from schedulers import ConservativeBackfilling, EasyBackfilling, Fcfs, PowerPolicy, Scheduler

from .conftest import jobs, nodes, states


class Script(PowerPolicy):
    """Decides what is written down for a time, before the scheduler does, and is woken for it."""

    def __init__(self, *rows: tuple[float, PowerDecision]):
        self._rows = rows

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """What is due."""
        later = [time for time, _ in self._rows if time > view.now]
        yield from (decision for time, decision in self._rows if time == view.now)
        if later:
            yield WakeAt(min(later))


@pytest.mark.parametrize("withheld", [(Withhold(0), Withhold(2)), (Withhold([0, 2, 0]),)])
def test_a_withheld_node_is_not_free(withheld: tuple[Withhold, ...]) -> None:
    """Neither idle nor OFF; a job that needs it waits until it is offered, and the counts follow, be it one or several."""
    simulation = Simulation(
        nodes(2, off=1),
        jobs((1, 3, 1, 1)),
        Fcfs(),
        Script(*((0, decision) for decision in withheld), (9, Offer(0)), (10, Offer([0, 2]))),
    )
    simulation.run(until=5)
    view, machine = simulation.view, simulation.machine
    assert (view.free_total, view.machine.withheld_count, view.machine.offered_cores) == (1, 2, 1)
    assert (view.machine.is_on.tolist(), view.machine.is_off.tolist()) == ([False, True, False], [False, False, False])
    assert (view.machine.powered_on.tolist(), view.machine.powered_off.tolist()) == (
        [True, True, False],
        [False, False, True],
    )
    assert (list(machine.cores.available), list(machine.cores.asleep)) == ([(1, 2)], [])
    with pytest.raises(PlacementError, match="failed, in transition or withheld"):
        machine.cores.request(Placement.on({0: 1}))
    assert simulation.run().jobs["start_time"].tolist() == [10.0 + 1.0]
    assert (view.free_total, view.machine.withheld_count, view.machine.offered_cores) == (3, 0, 3)


def test_what_runs_on_a_withheld_node_ends_first() -> None:
    """The job goes on, the node is not free afterwards, and can be switched off then; offered, it is booted for a job."""
    script = Script((1, Withhold(0)), (4, SwitchOff(0)), (10, Offer(0)))
    result = Simulation(nodes(1), jobs((0, 1, 3, 3), (2, 1, 1, 1)), Fcfs(), script).run()
    assert result.jobs["start_time"].tolist() == [0.0, 11.0]
    assert states(result, 0) == [
        ("COMPUTING", 0.0, 3.0),
        ("IDLE", 3.0, 4.0),
        ("SWITCHING_OFF", 4.0, 6.0),
        ("OFF", 6.0, 10.0),
        ("SWITCHING_ON", 10.0, 11.0),
        ("COMPUTING", 11.0, 12.0),
    ]


def test_a_node_that_is_switching_off_is_there_when_it_is_off() -> None:
    """A job that comes in between waits for the end of the transition, then for the boot."""
    result = Simulation(nodes(1), jobs((11, 1, 1, 1)), Fcfs(), Script((10, SwitchOff(0)))).run()
    assert result.jobs["start_time"].tolist() == [12.0 + 1.0]


def test_nodes_withheld_after_the_scheduler_are_missed_in_the_next_instant() -> None:
    """An offer that comes after the scheduler's pass has another pass follow in the same instant."""

    class Late(PowerPolicy):
        def react(self, view: View) -> Iterable[PowerDecision]:
            if view.now == 0.0:
                return [Withhold(0), WakeAt(5.0)]
            return [Offer(0)] if view.now == 5.0 else []

    result = Simulation(nodes(1), jobs((1, 1, 1, 1)), Fcfs(), Late()).run()
    assert result.jobs["start_time"].tolist() == [5.0]


@pytest.mark.parametrize(
    "make", [EasyBackfilling, ConservativeBackfilling, lambda: EasyBackfilling(reservation="pinned")]
)
def test_no_promise_counts_on_withheld_nodes(make: Callable[[], EasyBackfilling]) -> None:
    """The head job cannot be promised what is withheld; once it is offered it gets its promise, and nobody delays it.

    Two nodes run jobs until 10 and 20, one of them is withheld from 5 to 30. The head asks for both.
    """
    rows = ((0, 1, 10, 10), (0, 1, 20, 20), (6, 2, 5, 5), (25, 1, 10, 10), (31, 1, 10, 10))
    script = Script((5, Withhold(0)), (30, Offer(0)))
    result = Simulation(nodes(2), jobs(*rows), make(), script).run()
    # Nobody knows when the head can start, so the job of 25 s starts; from 30 on the head is promised 35.
    assert result.jobs["start_time"].tolist() == [0, 0, 35, 25, 40]


def test_a_policy_that_withholds_all_and_does_not_wake_is_named() -> None:
    """The run ends with a warning that says who withholds what; no job is lost."""
    with pytest.warns(ModelWarning, match="Script withholds 2 nodes without having asked to be woken"):
        result = Simulation(nodes(2), jobs((1, 1, 1, 1)), Fcfs(), Script((0, Withhold(0)), (0, Withhold(1)))).run()
    assert result.jobs["state"].tolist() == ["unfinished"]


def test_a_policy_that_only_sleeps_on_is_stopped() -> None:
    """One that withholds everything and asks for one wake-up after the other would let the clock run for ever."""

    class Sleepy(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            return [Withhold(0), WakeAt(view.now + 1.0)]

    with pytest.raises(SimulationError, match="Sleepy withholds 1 nodes: 1 jobs wait and none runs"):
        Simulation(nodes(1), jobs((1, 1, 1, 1)), Fcfs(), Sleepy()).run()


class Restless(PowerPolicy):
    """Withholds nothing, and asks in every pass to be woken a second later; switches node 0 off at the start."""

    def begin(self, view: View) -> None:
        """The node is still to be switched off."""
        self.ordered = False

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """A wake-up, the first time with the order."""
        orders: list[PowerDecision] = [] if self.ordered else [SwitchOff(0)]
        self.ordered = True
        return [*orders, WakeAt(view.now + 1.0)]


class Refusing(Scheduler):
    """Starts no job."""

    def schedule(self, view: View) -> Iterable[Decision]:
        """Nothing."""
        return ()


def test_a_scheduler_that_starts_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power policy that withholds no node is not to blame that none runs; that it asks to be woken is said."""
    monkeypatch.setattr("cluster_sim.run.passes.MOST_FRUITLESS_PASSES", 50)
    with pytest.raises(SimulationError, match=r"^Refusing starts no job, and Restless, which withholds no node, asks"):
        Simulation(nodes(1), jobs((1, 1, 1, 1)), Refusing(), Restless()).run()


def test_a_job_may_wait_for_a_slow_transition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wake-ups while a node shuts down are no stall: the node will be OFF, and is booted for the job."""
    monkeypatch.setattr("cluster_sim.run.passes.MOST_FRUITLESS_PASSES", 50)
    platform = nodes(1, switching=PowerTransitions(switch_off_s=1000.0, switch_on_s=10.0))
    result = Simulation(platform, jobs((1, 1, 1, 1)), Fcfs(), Restless()).run()
    assert result.jobs["start_time"].tolist() == [1010.0]


def test_a_transition_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing withholds the node that a job waits for; it is said what the node does, and until when."""
    monkeypatch.setattr("cluster_sim.run.passes.MOST_FRUITLESS_PASSES", 50)
    platform = nodes(1, switching=PowerTransitions(switch_off_s=1e12))
    with pytest.raises(SimulationError, match=r"node0 is SWITCHING_OFF until 1e\+12 s, and Restless asks again"):
        Simulation(platform, jobs((1, 1, 1, 1)), Fcfs(), Restless()).run()


def test_a_failed_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler is not to blame that a job waits for a node that has failed."""
    monkeypatch.setattr("cluster_sim.run.passes.MOST_FRUITLESS_PASSES", 50)
    simulation = Simulation(nodes(2), jobs((1, 2, 1, 1)), Fcfs(), Restless())
    simulation.env.at(0.5).callbacks.append(lambda event: simulation.node(1).fail())
    with pytest.raises(SimulationError, match=r"^1 of 2 nodes has failed, and Restless asks again"):
        simulation.run()


def test_an_offer_taken_back_at_once_goes_in_circles() -> None:
    """Offering and withholding after every pass of one instant is stopped, and the policy named."""

    class Circles(PowerPolicy):
        def react(self, view: View) -> Iterable[PowerDecision]:
            return [Withhold(0), Offer(0)]

    with pytest.raises(SimulationError, match="Circles switches nodes in circles"):
        Simulation(nodes(1), jobs((1, 1, 1, 1)), Fcfs(), Circles()).run()


def test_what_cannot_be_done_is_refused_once_in_words() -> None:
    """A busy node is not switched off; the run goes on, and one warning tells."""
    script = Script((1, SwitchOff(0)), (2, SwitchOff([0, 1])), (3, SwitchOn(0)))
    simulation = Simulation(nodes(2), jobs((0, 1, 5, 5)), Fcfs(), script)
    with pytest.warns(ModelWarning, match=r"Script, at 1 s: cluster0.node0: only an idle node") as caught:
        result = simulation.run()
    assert len(caught) == 1
    assert result.jobs["finish_time"].tolist() == [5.0]
    assert states(result, 1)[1] == ("SWITCHING_OFF", 2.0, 4.0)


def test_a_node_named_twice_is_switched_off_once() -> None:
    """The second time it is no idle node any more; what the machine draws and has free is as for one shutdown."""
    simulation = Simulation(nodes(3), jobs((9, 1, 1, 1)), Fcfs(), Script((1, SwitchOff([0, 0, 2]))))
    with pytest.warns(ModelWarning, match="cluster0.node0: only an idle node"):
        simulation.run(until=2)
    assert simulation.view.free_total == 1
    assert simulation.view.watts == 95.0 + 2 * 101.0
    assert [node for _, node, _, _ in simulation.view.machine.state_changes] == [0, 2]


def test_a_policy_hears_who_left_until_it_has_reacted() -> None:
    """Two jobs end at 3 and 5: each is told of once, after a pass that has seen it, to a policy that does not reserve."""
    heard = []

    class Listener(PowerPolicy):
        reserves = False

        def react(self, view: View) -> Iterable[PowerDecision]:
            heard.extend((view.now, running.job.index) for running in view.planning.vacated)
            assert not view.ended
            return ()

    Simulation(nodes(2), jobs((0, 1, 3, 3), (0, 1, 5, 5), (8, 1, 1, 1)), Fcfs(), Listener(), until=8.5).run()
    assert heard == [(3.0, 0), (5.0, 1)]


def test_a_decision_of_another_kind_is_refused() -> None:
    """What is no power decision is a defect of the policy."""
    with pytest.raises(SimulationError, match="a power policy decides SwitchOn, SwitchOff, Withhold, Offer"):
        Simulation(nodes(1), jobs((0, 1, 5, 5)), Fcfs(), Script((0, "off"))).run()  # type: ignore[arg-type]
