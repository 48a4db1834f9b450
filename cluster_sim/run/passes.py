"""Who decides, and when: scheduling passes, one in an instant, and the power policy's turns before and after them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from simpy.events import URGENT, Event, EventPriority

from cluster_sim.engine import REACT, RESERVE, SCHEDULE, Environment
from cluster_sim.errors import SimulationError, StallError, counted
from cluster_sim.run.decisions import Decision, PowerDecision

if TYPE_CHECKING:
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.run.view import View

MOST_PASSES_AT_ONE_TIME = 10_000
MOST_FRUITLESS_PASSES = 100_000
PASSES_IN_TRANSITION = 100
"""Passes that count as one while nodes are in their transitions, which end by themselves."""


class PolicyProcess(Protocol):
    """A scheduler or power policy as a simulation needs it: a SimPy process that has its turns of an instant.

    ``schedulers.Scheduler`` and ``schedulers.PowerPolicy`` are the base classes to derive from.
    """

    clairvoyant: bool

    def begin(self, view: View) -> None:
        """Prepare for a run that begins."""
        ...

    def attend(self, simulation: Simulation) -> Generator[Event, Any, None]:
        """Make the policy's process: it waits for its turns and hands each decision to ``simulation.apply``."""
        ...


class SchedulerProcess(PolicyProcess, Protocol):
    """A policy that starts jobs, in the pass that ``simulation.pass_due()`` announces.

    Its ``begin`` is also called when jobs ask for something that no job has asked for before; what is pending then
    counts as submitted.
    """

    memory: bool


class PowerProcess(PolicyProcess, Protocol):
    """A policy that switches nodes, in the turns before and after the pass that ``simulation.power_turn_due()`` announces."""


def take_turns(
    policy: PolicyProcess,
    simulation: Simulation,
    view: View,
    due: Callable[[], Event],
    turns: Mapping[EventPriority, Callable[[View], Iterable[Decision | PowerDecision]]],
) -> Generator[Event, Any, None]:
    """Make the process of a policy: wait for each turn that is ``due``, let it decide, carry the decisions out.

    ``turns`` has the method for each of the phases ``RESERVE``, ``SCHEDULE`` and ``REACT`` in which the policy decides.
    """
    policy.begin(view)
    apply = simulation.apply
    while True:
        turn = yield due()
        if turn == SCHEDULE and view.followers:
            view.pass_begins()
        decisions = turns[turn](view)
        if not hasattr(decisions, "__iter__"):
            method = f"{type(policy).__name__}.{turns[turn].__name__}"
            found = "None" if decisions is None else f"one {type(decisions).__name__}"
            raise SimulationError(f"{method} returned {found}: yield decisions, or return a list")
        for decision in decisions:
            apply(decision)
        if turn == SCHEDULE:
            view.pass_is_over()


class Steered:
    """A power policy whose decisions come from outside: from the program that drives the simulation.

    ``Simulation.step_to_power_decision`` stops where it would decide, before the scheduler's pass. To write one that is
    asked less often, derive from it and set ``is_due`` in ``reserve`` only when that program is to decide; what
    ``reserve`` and ``react`` return is carried out all the same.
    """

    clairvoyant = False
    follows_switching = True
    follows_submissions = True
    reserves = True
    is_due = False  #: True if a decision is waited for.

    def begin(self, view: View) -> None:
        """Do nothing when a run begins."""

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Let the program outside decide before the scheduler's pass."""
        self.is_due = True
        return ()

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Decide nothing after the scheduler's pass."""
        return ()

    def attend(self, simulation: Simulation) -> Generator[Event, Any, None]:
        """Make the process, as of any power policy."""
        turns = {RESERVE: self.reserve, REACT: self.react}
        return take_turns(self, simulation, simulation.power_view, simulation.power_turn_due, turns)


class Passes:
    """Plans the turns of an instant: whatever happens asks for them, and there is one of each kind.

    ``scheduler`` and ``power`` decide in them, each in a process of its own; without a scheduler a program outside does.
    """

    def __init__(
        self,
        env: Environment,
        view: View,
        scheduler: SchedulerProcess | None,
        power: PowerProcess | None,
        after_each_event: bool = False,
    ):
        self._env = env
        self._view = view
        self._scheduler = scheduler
        self._power = power
        self._phase = URGENT if after_each_event else SCHEDULE  # of an instant, in which the scheduler decides
        #: True if the power policy is to be told of nodes that went OFF, or came on for the job that holds them.
        self.follow_switching = bool(getattr(power, "follows_switching", True))
        # Whether it is told of jobs that came or started, or only of those that ended.
        self._follows_submissions = power is not None and bool(getattr(power, "follows_submissions", True))
        self._reserves = bool(getattr(power, "reserves", True))  # whether the power policy decides before the pass, too
        self._is_to_reserve = self._is_to_react = False  # whether these turns of this instant are planned
        self._reserving = False  # whether the first is being taken
        self.power_decides = False  #: True if it is a turn of the power policy: what is decided now is its decision.
        self._planned_at, self._passes_now = -1.0, 0  # time of the last passes, and how many there were
        self._fruitless = 0  # passes in a row at which jobs waited, none ran and none had come
        self._in_transition = 0  # of them, those since the last that was counted; nodes were underway meanwhile
        self._changes_seen = 0  # changes of nodes' states up to the last of them
        self.idle_wakes = 0  #: Of the scheduler since a job last started, in a row, while nothing else was to happen.
        self._wakes_to_come = 0  # of the scheduler
        self._pass: Event = env.event()
        self._power_turn: Event = env.event()
        if power is not None:
            self._plan_power(self._reserves)

    def due(self) -> Event:
        """Return the event of the next scheduling pass."""
        if self._pass.callbacks is None:  # it has been
            self._pass = Event(self._env)
        return self._pass

    def power_due(self) -> Event:
        """Return the event of the power policy's next turn; its value says which: ``RESERVE`` or ``REACT``."""
        return self._power_turn

    def request(self) -> None:
        """Ask for one pass of each policy after all else of this instant: something they may answer to happened."""
        due = self._pass if self._pass.callbacks is not None else self.due()
        if not due.triggered:
            self._env.trigger(due, self._phase, SCHEDULE)
            if self._follows_submissions or self._view.vacated:
                self.request_policy()
        elif not self._follows_submissions and not self._is_to_react and self._view.vacated:
            self.request_policy()

    def request_policy(self) -> None:
        """Ask the power policy to reserve and react, with no pass between: the scheduler need not know."""
        if self._power is None:
            return
        before = self._reserves and not self._reserving  # what it offers just now is for the pass that follows
        if self._is_to_react and (self._is_to_reserve or not before):
            return
        # A power policy that switches nodes off and on again in no time would hold the clock for ever.
        now = self._env.now
        if now != self._planned_at:
            self._planned_at, self._passes_now = now, 0
        elif self._passes_now > MOST_PASSES_AT_ONE_TIME:
            policy = type(self._power).__name__
            raise SimulationError(f"{policy} switches nodes in circles: {self._passes_now} passes at {now:g} s")
        self._passes_now += 1
        self._guard_against_stalls()
        self._plan_power(before)

    def _guard_against_stalls(self) -> None:
        """Raise StallError if the policy only asks to be woken again while jobs wait and nothing runs, without end."""
        view, changes = self._view, len(self._view.state_changes)
        if not view.pending_count or view.running_count or view.submitted:
            self._fruitless = self._in_transition = 0
            return
        if view.transition_ends and changes == self._changes_seen and self._in_transition < PASSES_IN_TRANSITION:
            self._in_transition += 1
            return
        self._fruitless += 1
        self._in_transition, self._changes_seen = 0, changes
        if self._fruitless <= MOST_FRUITLESS_PASSES:
            return
        policy = type(self._power).__name__
        failed = int((~(view.powered_on | view.powered_off)).sum())
        if view.withheld_count:
            why = f"{policy} withholds {view.withheld_count} nodes"
        elif view.transition_ends:
            node, end = max(view.transition_ends.items(), key=itemgetter(1))
            name, state = view.platform.node_name(node), view.node(node).state
            why = f"{name} is {state} until {end:g} s, and {policy} asks again and again to be woken"
        elif failed:
            nodes, has = counted(view.platform.node_count, "node"), "has" if failed == 1 else "have"
            why = f"{failed} of {nodes} {has} failed, and {policy} asks again and again to be woken"
        else:
            scheduler = "the scheduler" if self._scheduler is None else type(self._scheduler).__name__
            why = f"{scheduler} starts no job, and {policy}, which withholds no node, asks again and again to be woken"
        raise StallError(
            f"{why}: {view.pending_count} jobs wait and none runs, and so it was in all of "
            f"the last {MOST_FRUITLESS_PASSES:,} passes, up to {view.now:g} s"
        )

    def carry_out(self, decisions: Iterable[PowerDecision], apply: Callable[[PowerDecision], None]) -> None:
        """Carry out decisions from outside as the power policy's, before the scheduler's pass."""
        self.power_decides = self._reserving = True  # what is offered now is for the pass that follows
        try:
            for decision in decisions:
                apply(decision)
        finally:
            self.power_decides = self._reserving = False

    def _plan_power(self, before: bool) -> None:
        """Have the power policy decide in later phases of this instant, once in each."""
        env = self._env
        if before and not self._is_to_reserve:
            self._is_to_reserve = True
            env.at(env.now, RESERVE).callbacks.append(self._reserve)
        if not self._is_to_react:
            self._is_to_react = True
            env.at(env.now, REACT).callbacks.append(self._react)

    def _reserve(self, event: Event) -> None:
        """Give the power policy its turn before the scheduler's."""
        self._is_to_reserve = False
        self._reserving = True
        self._take(RESERVE)
        self._reserving = False

    def _react(self, event: Event) -> None:
        """Give the power policy its turn after the scheduler's."""
        self._is_to_react = False
        self._take(REACT)
        self._view.vacated.clear()

    def _take(self, turn: EventPriority) -> None:
        """Let the power policy's process go on, to where it waits for its next turn."""
        due, self._power_turn = self._power_turn, Event(self._env)
        self.power_decides = True
        self._env.deliver(due, turn)
        self.power_decides = False

    def wake_is_planned(self) -> None:
        """Note that the scheduler will be woken.

        Raises StallError if it only asks for that again and again, while nothing runs or is to happen.
        """
        view = self._view
        self._wakes_to_come += 1
        if view.running_count or self._env.planned_later() > self._wakes_to_come:
            self.idle_wakes = 0
            return
        self.idle_wakes += 1
        if self.idle_wakes > MOST_FRUITLESS_PASSES:
            raise StallError(
                f"{type(self._scheduler).__name__} starts no job, and asks again and again to be woken: "
                f"{view.pending_count:,} jobs wait and none runs, nothing else is to happen, and so it was "
                f"the last {MOST_FRUITLESS_PASSES:,} times, up to {view.now:g} s"
            )

    def wake(self) -> None:
        """Ask for a pass: a time has come at which the scheduler wanted to be woken."""
        self._wakes_to_come -= 1
        self.request()
