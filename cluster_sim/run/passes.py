"""Who decides, and when: scheduling passes, one in an instant, and the power policy's turns before and after them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from simpy.events import URGENT, Event, EventPriority

from cluster_sim.engine import REACT, RESERVE, SCHEDULE, Environment
from cluster_sim.errors import SimulationError
from cluster_sim.run.decisions import PowerDecision
from cluster_sim.run.shortage import counted

if TYPE_CHECKING:
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.run.view import View

MOST_PASSES_AT_ONE_TIME = 10_000
MOST_FRUITLESS_PASSES = 100_000
PASSES_IN_TRANSITION = 100
"""So many passes count as one while nodes are underway in their transitions, which end by themselves."""


class Scheduler(Protocol):
    """What a simulation asks of a scheduler; ``schedulers.Scheduler`` is the base class to derive from."""

    memory: bool
    clairvoyant: bool

    def begin(self, view: View) -> None:
        """A run begins, or jobs ask for something that no job has asked for before; what is pending counts as submitted."""
        ...

    def attend(self, simulation: Simulation) -> Generator[Event, Any, None]:
        """The scheduler's process: waits for ``simulation.pass_due()`` and applies its decisions."""
        ...


class PowerPolicy(Protocol):
    """What a simulation asks of a power policy; ``schedulers.PowerPolicy`` is the base class to derive from."""

    clairvoyant: bool

    def begin(self, view: View) -> None:
        """A run begins."""
        ...

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Before the scheduler's pass."""
        ...

    def react(self, view: View) -> Iterable[PowerDecision]:
        """After the scheduler's pass."""
        ...


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
    is_due = False  #: Whether a decision is waited for.

    def begin(self, view: View) -> None:
        """A run begins."""

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Before the scheduler's pass: the program outside decides."""
        self.is_due = True
        return ()

    def react(self, view: View) -> Iterable[PowerDecision]:
        """After the scheduler's pass: nothing."""
        return ()


class Passes:
    """Plans the passes of an instant: whatever happens asks for one, and there is one of each kind.

    ``apply`` carries a decision of the power policy out; ``scheduler`` is what the scheduler is called, for messages.
    """

    def __init__(
        self,
        env: Environment,
        view: View,
        power: PowerPolicy | None,
        apply: Callable[[PowerDecision], None],
        scheduler: str,
    ):
        self._env = env
        self._scheduler = scheduler
        self._view = view
        self._power = power
        self._apply = apply
        #: Whether the power policy is to be told of nodes that went OFF, or came on for the job that holds them.
        self.follow_switching = bool(getattr(power, "follows_switching", True))
        self._follows_submissions = bool(getattr(power, "follows_submissions", True))  # or only jobs that ended
        self._reserves = bool(getattr(power, "reserves", True))  # whether the power policy decides before the pass, too
        self._planned: set[int] = set()
        self._reserving = False
        self._passes_now = (-1.0, 0)  # time of the last passes, and how many there were
        self._fruitless = 0  # passes in a row at which jobs waited, none ran and none had come
        self._in_transition = 0  # of them, those since the last that was counted; nodes were underway meanwhile
        self._changes_seen = 0  # changes of nodes' states up to the last of them
        self._pass: Event = env.event()
        if power is not None:
            # When the run begins, as a scheduler's, and not now: one object may serve several simulations in turn.
            env.at(env.now, URGENT).callbacks.append(lambda event: power.begin(view))
            self._plan_policy(power)

    def due(self) -> Event:
        """The event of the next scheduling pass."""
        if self._pass.callbacks is None:  # it has been
            self._pass = Event(self._env)
        return self._pass

    def request(self) -> None:
        """Something happened that policies may answer to: one pass of each, after all else of this instant."""
        due = self._pass if self._pass.callbacks is not None else self.due()
        if not due.triggered:
            self._env.trigger(due, SCHEDULE)
            if self._follows_submissions or self._view.vacated:
                self.request_policy()
        elif not self._follows_submissions and REACT not in self._planned and self._view.vacated:
            self.request_policy()

    def request_policy(self) -> None:
        """Something happened that the scheduler need not know: the power policy reserves and reacts, with no pass between."""
        if self._power is not None and not self._is_planned():
            self._guard_against_circles()
            self._guard_against_stalls()
            self._plan_policy(self._power)

    def carry_out(self, decisions: Iterable[PowerDecision]) -> None:
        """Carry out decisions from outside as the power policy's, before the scheduler's pass."""
        self._reserving = True  # what is offered now is for the pass that follows
        try:
            for decision in decisions:
                self._apply(decision)
        finally:
            self._reserving = False

    def _is_planned(self) -> bool:
        """Whether the power policy will decide in this instant, as often as it does."""
        return REACT in self._planned and (not self._reserves or self._reserving or RESERVE in self._planned)

    def _plan_policy(self, power: PowerPolicy) -> None:
        if self._reserves and not self._reserving:  # what it offers just now is for the pass that follows
            self._plan(RESERVE, power.reserve)
        self._plan(REACT, power.react)

    def _guard_against_circles(self) -> None:
        """A power policy that switches nodes off and on again in no time would hold the clock for ever."""
        now, count = self._passes_now
        self._passes_now = (self._env.now, count + 1 if now == self._env.now else 1)
        if count > MOST_PASSES_AT_ONE_TIME:
            policy = type(self._power).__name__
            raise SimulationError(f"{policy} switches nodes in circles: {count} passes at {now:g} s")

    def _guard_against_stalls(self) -> None:
        """One that only asks to be woken again, while jobs wait and nothing runs, would let the clock run for ever."""
        view = self._view
        if not view.pending_count or view.running_count or view.submitted:
            self._fruitless = self._in_transition = 0
            return
        changes = len(view.state_changes)
        if view.transition_ends and changes == self._changes_seen and self._in_transition < PASSES_IN_TRANSITION:
            self._in_transition += 1
            return
        self._fruitless += 1
        self._in_transition, self._changes_seen = 0, changes
        if self._fruitless > MOST_FRUITLESS_PASSES:
            raise SimulationError(
                f"{self._why_none_starts(view)}: {view.pending_count} jobs wait and none runs, and so it was in all of "
                f"the last {MOST_FRUITLESS_PASSES:,} passes, up to {view.now:g} s"
            )

    def _why_none_starts(self, view: View) -> str:
        policy = type(self._power).__name__
        if view.withheld_count:
            return f"{policy} withholds {view.withheld_count} nodes"
        if view.transition_ends:
            node, end = max(view.transition_ends.items(), key=itemgetter(1))
            name, state = view.platform.node_name(node), view.node(node).state
            return f"{name} is {state} until {end:g} s, and {policy} asks again and again to be woken"
        failed = int((~(view.powered_on | view.powered_off)).sum())  # none is withheld or in transition
        if failed:
            nodes, has = counted(view.platform.node_count, "node"), "has" if failed == 1 else "have"
            return f"{failed} of {nodes} {has} failed, and {policy} asks again and again to be woken"
        return (
            f"{self._scheduler} starts no job, and {policy}, which withholds no node, asks again and again to be woken"
        )

    def _plan(self, priority: EventPriority, decide: Callable[[View], Iterable[PowerDecision]]) -> None:
        """Have the power policy decide in a later phase of this instant, once."""
        if priority in self._planned:
            return
        self._planned.add(priority)

        def act(event: Event) -> None:
            self._planned.discard(priority)
            self._reserving = priority == RESERVE
            for decision in decide(self._view):
                self._apply(decision)
            self._reserving = False
            if priority == REACT:
                self._view.vacated.clear()

        self._env.at(self._env.now, priority).callbacks.append(act)
