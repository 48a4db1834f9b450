"""Carries out what a scheduler decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.errors import SimulationError
from cluster_sim.run.decisions import Decision, Hold, Reject, Reserve, Start, WakeAt, check_decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from cluster_sim.engine import Environment
    from cluster_sim.run.simulation import Simulation


class Dispatcher:
    """Starts and rejects jobs for the scheduler, wakes it when it asks for that, and keeps the log of its decisions."""

    def __init__(self, simulation: Simulation):
        self._env = simulation.env
        self._life = simulation.life
        self._start = simulation.life.start
        self._admission = simulation.admission
        self._decision_log = simulation.decision_log
        self._request_pass = simulation.request_pass

    def apply(self, decision: Decision) -> None:
        """Carry out a scheduler's decision. Raises PlacementError, with nothing changed, when it cannot be.

        Raises InputError when a value in it is of a wrong kind, such as None for a placement.
        """
        if type(decision) is Start:
            try:
                self._start(decision.job, decision.placement, decision.p_state)
            except (AttributeError, TypeError):
                check_decision(decision)
                raise
            if self._decision_log is not None:
                self._decision_log.started(self._env.now, decision)
        elif isinstance(decision, Reject):
            check_decision(decision)
            self._life.require_pending(decision.job)
            self._admission.reject(decision.job, decision.reason)
        elif isinstance(decision, WakeAt):
            wake_at(self._env, decision, self._request_pass)
        elif isinstance(decision, (Hold, Reserve)):
            check_decision(decision)
            self._life.require_pending(decision.job)
            if self._decision_log is not None:
                self._decision_log.note(self._env.now, decision)
        else:
            raise SimulationError(f"a scheduler decides Start, Reserve, Hold, Reject or WakeAt, not {decision!r}")


def wake_at(env: Environment, decision: WakeAt, request: Callable[[], None]) -> None:
    """Ask for a pass at the time of a decision. Raises SimulationError if that is not later than now."""
    time = decision.time
    if type(time) is not float:
        check_decision(decision)
    if not time > env.now:
        raise SimulationError(f"WakeAt({time:g}) lies not after now ({env.now:g} s)")
    if time < float("inf"):  # the expected end of a job that requested no time is never
        env.at(time).callbacks.append(lambda event: request())
