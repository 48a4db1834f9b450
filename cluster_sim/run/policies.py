"""The base of schedulers and power policies: SimPy processes that policies need not know about."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from cluster_sim.engine import RESERVE, Environment
from cluster_sim.errors import InputError, SimulationError
from cluster_sim.machine.reason import FITS, Reason
from cluster_sim.registry import describe
from cluster_sim.run.decisions import Decision, PowerDecision

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.node import Node
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.passes import Passes
    from cluster_sim.run.view import View


class OngoingRun(Protocol):
    """What policies, failure models and processes of a user's own need of a :class:`~cluster_sim.run.simulation.Simulation`."""

    env: Environment
    platform: Platform
    seed: int
    view: View
    power_view: View
    passes: Passes
    has_failed: bool

    @property
    def is_over(self) -> bool:
        """Return whether the last job is over, or nothing is left that could start another."""
        ...

    def apply(self, decision: Any) -> None:
        """Carry out what a policy decides."""
        ...

    def pass_due(self) -> Event:
        """Return the event of the next scheduling pass."""
        ...

    def power_turn_due(self) -> Event:
        """Return the event of the power policy's next turn."""
        ...

    def node(self, node: int | str) -> Node:
        """Return a node by its position in the platform or its name."""
        ...


def _no_decisions(found: object, method: Callable[[View], object]) -> SimulationError:
    """Return the error of a method that returned no series of decisions."""
    policy = type(getattr(method, "__self__", None)).__name__
    what = "None" if found is None else f"one {type(found).__name__}"
    return SimulationError(f"{policy}.{method.__name__} returned {what}: yield decisions, or return a list")


class Scheduler:
    """Decides which pending job starts next, and where.

    To write one, derive from this class and write :meth:`schedule`; leave :meth:`attend`, which is the SimPy process that
    waits for scheduling passes. Set ``memory`` if your placements respect the nodes' memory (jobs that no node has memory
    for are then rejected when submitted), ``clairvoyant`` if you need to know true run times. An object serves one run
    at a time: while that is not over, another run with it is refused.

    There is one pass in every instant in which something happened: a job was submitted, ended or was killed, a node
    became ready, went OFF or failed, or a :class:`~cluster_sim.run.decisions.WakeAt` is due. A scheduler that blocks its
    queue can spare itself the most of them, see :class:`~cluster_sim.run.passes.BlocksQueue`.
    """

    memory = False
    clairvoyant = False
    chooses_cores = False  #: Whether it gives jobs other numbers of cores than they request, if they can run on these.
    #: Whether it keeps to the limits of accounts itself; else jobs over one do not join the queue.
    keeps_limits = False
    keeps_reservations = False  #: Whether it says who ends before an advance reservation; else requests do.
    spreads_tasks = False  #: Whether it decides how many tasks each of a job's `nodes` gets; else all get as many.
    gives_resources = True  #: Whether its placements have the GPUs and other units of jobs; else these are rejected.
    keeps_resources = False  #: Whether it says itself which jobs can never have the units that they ask for.
    at_boundaries = False  #: Whether it decides whenever a malleable job comes to the end of a part.

    #: Why it keeps back a job that would fit, where it says nothing else: what a run without ``--explain`` tells.
    keeps_back: Reason = FITS

    #: Whether it keeps jobs back for nobody's sake but that of the last job that it reserved for.
    head_alone_delays = False

    #: Power policy that it brings, where it also switches nodes; no other one switches nodes beside it.
    power_policy: PowerPolicy | None = None

    refused_at: object = None  #: See :class:`~cluster_sim.run.passes.BlocksQueue`.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {describe(self)}>"

    def begin(self, view: View) -> None:
        """Begin a run; forget everything about the last one. By default there is nothing to do.

        A command first begins a run without jobs, of another object, to see whether anything is refused.
        """

    def schedule(self, view: View) -> Iterable[Decision]:
        """Hold a pass: yield ``Start``, ``Reject`` and ``WakeAt`` decisions. After each, ``view`` shows its effect."""
        raise SimulationError(f"{type(self).__name__} has no schedule method")

    def attend(self, simulation: OngoingRun) -> Generator[Event, Any, None]:
        """Run the scheduler's process: wait for each pass and carry its decisions out."""
        view, passes, apply = simulation.view, simulation.passes, simulation.apply
        self.begin(view)
        while True:
            yield passes.coming
            for follow in view.planning.followers:
                follow()
            decisions = self.schedule(view)
            if not hasattr(decisions, "__iter__"):
                raise _no_decisions(decisions, self.schedule)
            for decision in decisions:
                apply(decision)
            passes.pass_is_over()


class PowerPolicy:
    """Decides when nodes sleep and wake, beside any scheduler.

    To write one, derive from this class and write one of the two methods; leave :meth:`attend`, which is the SimPy
    process that waits for the policy's turns. ``reserve`` runs before the scheduler's pass of an instant (nodes it
    switches off are gone for the scheduler), ``react`` after it. Both are also called when the run begins, when nodes
    have been switched, and at the times asked for by :class:`~cluster_sim.run.decisions.WakeAt`. These calls need no
    pass of the scheduler. Set ``clairvoyant`` if you need to know true run times.

    A policy that need not be told of everything saves time if it sets to False: ``follows_switching``, that a node went
    OFF, or came on for the job that holds it; ``follows_submissions``, that jobs came or started, and what else has the
    scheduler decide, as long as no job ended; ``reserves``, that the scheduler is about to decide, without a ``reserve``.

    Set ``switches`` to False if the policy leaves nodes on, so that a check does not speak of what switching costs.

    A job can be started on a node that is OFF: it is booted for it. But only the policy can offer a node again that it
    withholds. So it has to ask to be woken, and let every job have its nodes in the end.
    """

    clairvoyant = False
    switches = True
    follows_submissions = True
    follows_switching = True
    reserves = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {describe(self)}>"

    def begin(self, view: View) -> None:
        """Begin a run; forget everything about the last one. By default there is nothing to do."""

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Decide before the scheduler's pass: ``SwitchOn``, ``SwitchOff``, ``Withhold``, ``Offer`` and ``WakeAt``."""
        return ()

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Decide after the scheduler's pass: yield the same kinds of decisions."""
        return ()

    def attend(self, simulation: OngoingRun) -> Generator[Event, Any, None]:
        """Run the policy's process: wait for its turns before and after the pass and carry its decisions out."""
        view, passes, apply = simulation.power_view, simulation.passes, simulation.apply
        self.begin(view)
        while True:
            turn = yield passes.power_turn
            decide = self.reserve if turn == RESERVE else self.react
            decisions = decide(view)
            if not hasattr(decisions, "__iter__"):
                raise _no_decisions(decisions, decide)
            for decision in decisions:
                apply(decision)


Policy = TypeVar("Policy", Scheduler, PowerPolicy)


def traits_of(policy: object, base: Policy) -> Policy:
    """Return what is declared of a policy: itself, or ``base`` with what one that is not derived from it says of itself."""
    if isinstance(policy, type(base)):
        return policy
    for name, default in vars(type(base)).items():
        if not (name.startswith("_") or callable(default)):
            setattr(base, name, getattr(policy, name, default))
    return base


class Steered(PowerPolicy):
    """A power policy whose decisions come from outside: from the program that drives the simulation.

    ``Simulation.step_to_power_decision`` stops where it would decide, before the scheduler's pass. To write one that is
    asked less often, derive from it and set ``is_due`` in ``reserve`` only when that program is to decide; what
    ``reserve`` and ``react`` return is carried out all the same.
    """

    is_due = False  #: True if a decision is waited for.

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Let the program outside decide before the scheduler's pass."""
        self.is_due = True
        return ()


_served: WeakValueDictionary[int, OngoingRun] = WeakValueDictionary()  # by the id of each policy, which its run holds


def serve(policies: Mapping[str, object], run: OngoingRun, has_begun: bool) -> None:
    """Note that these policies, by what they are called, decide in a run from now on, or have since it began.

    Raises InputError for one that serves another run that is not over, or has served another since this one began.
    """
    for kind, policy in policies.items():
        other = _served.get(id(policy))
        if other is run:
            continue
        if has_begun:
            expected = "an object of this run alone: another run has begun with it since"
            raise InputError(f"{kind} {describe(policy)}", expected)
        if other is not None and not other.is_over and not other.has_failed:
            del other
            gc.collect()  # a run that nobody can go on with is none
            if id(policy) in _served:
                expected = (
                    "an object that serves no other run, which one that is not over has: make an object for each run"
                )
                raise InputError(f"{kind} {describe(policy)}", expected)
        _served[id(policy)] = run
