"""The clock: SimPy's environment with events at absolute times, and the phases of one instant.

SimPy orders simultaneous events by priority. The toolkit adds priorities after SimPy's own (URGENT 0, NORMAL 1), so that
everything that *happens* at time t, zero-delay chains included, is over before anything *looks* at it:

========== =====================================================================
phase      what runs
========== =====================================================================
NORMAL     arrivals, completions, kills, power transitions, the user's processes
WALLTIME   kills of jobs that reached their requested time and did not end by it
GRANT      guests get the cores that they have asked for
OBSERVE    ``sim.on(...)`` events are delivered, one batch
RESERVE    the power policy's turn before the scheduler's
SCHEDULE   the scheduler, once
CHANGE     jobs at the end of a part get the cores that the scheduler has decided
REACT      the power policy's turn after it
END        the end of the run
========== =====================================================================

Times that differ by rounding only, such as 0.1 + 0.2 and 0.3, are one instant: see :data:`SAME_INSTANT`.
What the scheduler started is delivered to observers right after its pass, as a batch of its own.

This is the only module that touches what SimPy keeps to itself: ``tests/process/test_simpy.py`` says what it relies on,
and fails where another SimPy does it otherwise.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from heapq import heapify, heappop, heappush
from itertools import repeat
from typing import TYPE_CHECKING, Any

import simpy
from simpy.core import BoundClass, EmptySchedule, StopSimulation
from simpy.events import NORMAL, Event, EventPriority

from cluster_sim.errors import InputError, at_users_line

WALLTIME, GRANT, OBSERVE, RESERVE, SCHEDULE, CHANGE, REACT, END = (
    EventPriority(priority) for priority in (2, 3, 10, 11, 12, 13, 14, 15)
)

SAME_INSTANT = 1.0 + 2.0**-44
"""Times of which none is more than so many times another are one instant: sums that differ by rounding only.

Each addition is off by 2**-53 of the time at most, so this is some 500 additions that err to one side.
"""

NEVER = float("inf")
"""A time, s, that does not come: the clock stays finite."""

_ONE = (None,)
_PRECISION_S = 1e-9
"""Times less apart than this are one instant in SimGrid."""


def latest(time: float) -> float:
    """Return the latest time in one instant with ``time``, s, to compare times that were summed in different ways."""
    return time * SAME_INSTANT


class PlannedEvent(Event):
    """Happens at an absolute time. The counterpart of SimPy's ``Timeout``, which takes a delay."""

    callbacks: list[Any]

    def __init__(self, env: simpy.Environment, time: float, priority: EventPriority = NORMAL, value: Any = None):
        if not time >= env.now:  # NaN neither
            if not time * SAME_INSTANT >= env.now:
                raise InputError(at_users_line("env.at"), f"a time from now on, {env.now:g} s", time)
            time = env.now  # the clock does not go back
        # As in simpy.Timeout: the event is triggered from the start, so Event.__init__ is not worth its call.
        self.env = env
        self.callbacks = []
        self._value = value
        self._ok = True
        if time < NEVER:
            heappush(env._queue, (time, priority, next(env._eid), self))


class EagerProcess(simpy.Process):
    """A process that runs to the first event it waits for when it is made, not when an event of its own starts it.

    With a plain process a job costs five events; this saves the one that only starts it. If not ``at_once``, it is started
    as any process.
    """

    def __init__(self, env: Environment, generator: Generator[Event, Any, Any], at_once: bool = True):
        if not at_once:
            super().__init__(env, generator)
            return
        # As in simpy.Process, but for the last two steps.
        self.env = env
        self.callbacks: list[Any] = []
        self._generator = generator
        target = next(generator)
        self._target = target if target.callbacks is not None else PlannedEvent(env, env.now)  # it has happened already
        self._target.callbacks.append(self._resume)


class Environment(simpy.Environment):
    """A SimPy environment that can plan an event for an absolute time.

    SimPy plans relative to now, and ``now + (t - now)`` is not always ``t`` in floating point; a completion planned for
    t has to happen at t exactly, or one instant would fall apart into two. ``now`` is for reading, as SimPy's.
    """

    # The clock as an attribute, not as SimPy's property: it is read a dozen times a job. Only the engine sets it.
    if not TYPE_CHECKING:
        __slots__ = ("now",)

    _begun = 0.0  # the time of the instant that has begun last, s: before now, where a run was stopped

    def step(self) -> None:
        """Process the next event. Raises EmptySchedule if there is none."""
        self._process_events(_ONE)

    def _process_events(self, turns: Iterable[None]) -> None:
        """Process an event in each turn: as in SimPy, but for the second step. Raises EmptySchedule if there is none."""
        queue = self._queue
        for _ in turns:
            try:
                time, _, _, event = first = heappop(queue)
            except IndexError:
                raise EmptySchedule from None
            if time != self._begun:
                if queue and queue[0][0] <= time * SAME_INSTANT:
                    time, _, _, event = self._join(first, time * SAME_INSTANT)
                self._now = self._begun = time

            callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
            try:
                for callback in callbacks:
                    callback(event)
            except StopSimulation:
                # The rest of the callbacks are for when the simulation goes on.
                event.callbacks = callbacks[callbacks.index(callback) + 1 :]
                self.schedule(event, EventPriority(-1))
                raise
            if not event._ok and not hasattr(event, "_defused"):
                error = type(event._value)(*event._value.args)
                error.__cause__ = event._value
                raise error

    def _join(self, first: Any, limit: float) -> Any:
        """Make one instant of the event that would be next and all that are planned for up to ``limit`` (s).

        It is at the last of these times, so that nothing happens before its time. Comes back with the event that is next.
        """
        queue = self._queue
        time = max(self._last(first[0], limit), self._now)  # the clock may show the time at which a run was stopped
        if time == first[0]:
            return first
        heappush(queue, first)
        for place, (planned, priority, number, event) in enumerate(queue):
            if planned < time:
                queue[place] = (time, priority, number, event)
        heapify(queue)
        return heappop(queue)

    def _last(self, first: float, limit: float) -> float:
        """Return the time of the instant (s) that the event planned for ``first`` makes with others up to ``limit``."""
        queue = self._queue
        near = [0]  # places in the heap, in which nothing is later than what stands below it
        for place in near:
            below = 2 * place + 1
            near += [child for child in (below, below + 1) if child < len(queue) and queue[child][0] <= limit]
        # An event that has no callback is a plan that has been superseded.
        return max([first, *(queue[place][0] for place in near if queue[place][3].callbacks)])

    def _next_instant(self) -> float:
        """Return the time of the next instant, s."""
        first: float = self._queue[0][0]
        return self._last(first, first * SAME_INSTANT)

    def run(self, until: float | Event | None = None) -> Any:
        """Run as SimPy does; but a time to stop at makes no instant with events near it, so the run stays the same.

        What is planned for just before ``until`` (s) and is one instant with what comes later has not happened then.
        """
        if (
            getattr(self.step, "__func__", None) is not Environment.step
        ):  # somebody traces events, as SimPy's manual says
            return super().run(until)
        if until is None or isinstance(until, Event):
            return self._run_until(until)
        if not until > self._now:  # NaN neither
            raise InputError(at_users_line("env.run, until"), f"a time after now, {self._now:g} s", until)
        queue, near = self._queue, until / SAME_INSTANT**2 - _PRECISION_S
        try:
            while queue and (time := queue[0][0]) < until:
                if time > near and time != self._begun and self._next_instant() >= until:
                    break
                self.step()
        except StopSimulation as stop:
            return stop.args[0]
        self._now = until
        return None

    def _run_until(self, event: Event | None) -> Any:
        """Run to an event, or while there is any, as SimPy does, without a call for each step."""
        if event is not None:
            if event.callbacks is None:
                return event.value
            event.callbacks.append(StopSimulation.callback)
        try:
            self._process_events(repeat(None))
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if event is not None:
                raise RuntimeError(f'No scheduled events left but "until" event was not triggered: {event}') from None
        return None

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule as SimPy does; but never what is to happen at no time, and refuse a delay that is no number.

        The end of a job's process for which no other waits is no event, which was one of its five.
        """
        if isinstance(event, EagerProcess) and event._ok and not event.callbacks:
            event.callbacks = None  # type: ignore[assignment]  # as if it had happened
        elif 0.0 <= delay < NEVER:
            heappush(self._queue, (self._now + delay, priority, next(self._eid), event))
        elif delay != NEVER:  # NaN, with which the queue would lose its order, or a time that is over
            raise InputError(at_users_line("a delay of an event"), "0 s or more", delay)

    def trigger(self, event: Event, priority: EventPriority, value: Any = None) -> None:
        """Trigger an event as ``event.succeed(value)`` does, but in a later phase of this instant."""
        event._ok = True
        event._value = value
        heappush(self._queue, (self._now, priority, next(self._eid), event))

    @staticmethod
    def deliver(event: Event, value: Any = None) -> None:
        """Trigger an event as ``event.succeed(value)`` does, but at once: what waits for it has gone on after this.

        For callbacks of another event, not for processes: one that is delivered to must not be the one that delivers.
        """
        callbacks: list[Any] = event.callbacks
        event._ok, event._value, event.callbacks = True, value, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)

    def planned_later(self) -> int:
        """Count the events that are planned for after this instant, without superseded plans."""
        return sum(1 for time, _, _, event in self._queue if time > self._now and event.callbacks)

    def within(self, time: float) -> float:
        """Return ``time`` (s), or now if both are one instant: for what is computed anew while an instant goes on."""
        return time if time > self._now * SAME_INSTANT else self._now

    if TYPE_CHECKING:

        def at(self, time: float, priority: EventPriority = NORMAL, value: Any = None) -> PlannedEvent:
            """Return an event that happens at ``time`` (s); to be yielded, like ``env.timeout(delay)``."""
            return PlannedEvent(self, time, priority, value)

    else:
        # As SimPy binds `timeout`: no call between the caller and the event.
        at = BoundClass(PlannedEvent)


Environment._now = Environment.now  # type: ignore[assignment]  # as SimPy itself calls it


class SimGridEnvironment(Environment):
    """An environment in which times that lie less than 1e-9 s apart are one instant, as SimGrid has it (a quirk)."""

    def _next_instant(self) -> float:
        queue = self._queue
        first: float = queue[0][0]
        if len(queue) > 1 and min(queue[1:3])[0] < first + _PRECISION_S:
            first = self._last(first, first + _PRECISION_S)
        return self._last(first, first * SAME_INSTANT)

    def _process_events(self, turns: Iterable[None]) -> None:
        """Process an event in each turn, with all that are to happen in its instant at one time."""
        queue = self._queue
        for _ in turns:
            if len(queue) > 1 and queue[0][0] != self._begun:
                limit = queue[0][0] + _PRECISION_S
                if min(queue[1:3])[0] < limit:
                    heappush(queue, self._join(heappop(queue), limit))
            super()._process_events(_ONE)
