"""Carries out what policies decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from simpy.events import NORMAL

from cluster_sim.engine import WALLTIME, Environment
from cluster_sim.errors import SimulationError
from cluster_sim.run.decisions import (
    Change,
    Decision,
    Hold,
    PowerDecision,
    Preempt,
    Reject,
    Reserve,
    Resume,
    Start,
    WakeAt,
    check_decision,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from simpy.events import EventPriority

    from cluster_sim.run.decision_log import DecisionLog, KeptBack
    from cluster_sim.run.jobs.admission import Admission
    from cluster_sim.run.jobs.job_life import JobLife
    from cluster_sim.run.news import News
    from cluster_sim.run.passes import Passes
    from cluster_sim.run.power_control import PowerControl

SCHEDULERS: tuple[type, ...] = get_args(Decision)
"""Decisions that a scheduler may make."""
POWER_POLICIES: tuple[type, ...] = get_args(PowerDecision)
"""Decisions that a power policy may make."""


class Dispatcher:
    """Takes every decision of a run: starts and rejects jobs, wakes policies, and keeps the log of the scheduler's decisions.

    What is decided in a turn of the power policy is the power policy's decision, all else the scheduler's, also where a
    program outside decides in its place. Either has its kinds of decisions; only ``Reject`` and ``WakeAt`` are both's.
    """

    def __init__(
        self,
        life: JobLife,
        admission: Admission,
        passes: Passes,
        news: News,
        power_control: PowerControl,
        decision_log: DecisionLog | None,
        kept_back: KeptBack,
        after_each_event: bool,
    ):
        self._env = life.machine.env
        self._life = life
        self._start = life.start
        self._admission = admission
        self._decision_log = decision_log
        self._note = kept_back.note if decision_log is None else decision_log.note
        self._passes = passes
        self._news = news
        # Where each event has a pass of its own, jobs that end in an instant are before the scheduler's alarm clock.
        self._wakes = WALLTIME if after_each_event else NORMAL
        self._power_control = power_control

    def apply(self, decision: Decision | PowerDecision) -> None:
        """Carry out a decision. Raises PlacementError, with nothing changed, when a job cannot start as decided.

        Raises SimulationError for a kind of decision that is not the acting policy's. Raises InputError when a value in
        the decision is of a wrong kind, such as None for a placement.
        """
        of_power = self._passes.power_decides
        if isinstance(decision, Start) and not of_power:
            try:
                self._start(decision.job, decision.placement, decision.p_state)
            except (AttributeError, TypeError):
                check_decision(decision)
                raise
            self._passes.idle_wakes = 0
            if self._decision_log is not None:
                self._decision_log.started(self._env.now, decision)
        elif not isinstance(decision, POWER_POLICIES if of_power else SCHEDULERS):
            policies = [("a scheduler", SCHEDULERS), ("a power policy", POWER_POLICIES)]
            (other, others), (one, own) = policies if of_power else policies[::-1]
            *first, last = [kind.__name__ for kind in own]
            whose = f", which {other} decides" if isinstance(decision, others) else ""
            raise SimulationError(f"{one} decides {', '.join(first)} or {last}, not {decision!r}{whose}")
        elif isinstance(decision, WakeAt):
            if of_power:
                wake_at(self._env, decision, self._passes.request_policy, self._wakes)
            elif wake_at(self._env, decision, self._passes.wake, self._wakes):
                self._passes.wake_is_planned()
        elif isinstance(decision, Reject):
            check_decision(decision)
            self._life.require_pending(decision.job)
            self._admission.reject(decision.job, decision.reason)
            if of_power:
                self._passes.request()
        elif isinstance(decision, (Hold, Reserve)):
            check_decision(decision)
            self._life.require_pending(decision.job)
            if isinstance(decision, Reserve) and decision.placement is not None:
                self._life.machine.cores.check_nodes_of(decision.placement)
            self._note(self._env.now, decision)
        elif isinstance(decision, Change):
            self._change(decision)
        elif not isinstance(decision, Start):
            self._power_control.apply(decision)

    def _change(self, decision: Change) -> None:
        """Carry out a decision about a job that has begun."""
        check_decision(decision)
        self._news.changes_jobs()
        changes = self._life.changes
        if isinstance(decision, Preempt):
            changes.preempt(decision)
        elif isinstance(decision, Resume):
            changes.resume(decision.job, decision.placement)
        else:
            changes.resize(decision.job, decision.placement)
        if self._decision_log is not None:
            self._decision_log.changed(self._env.now, decision)


def wake_at(env: Environment, decision: WakeAt, request: Callable[[], None], phase: EventPriority = NORMAL) -> bool:
    """Ask for a pass at the time of a decision; return whether it will come.

    Raises SimulationError if that time is not later than now.
    """
    time = decision.time
    if type(time) is not float:
        check_decision(decision)
    if not time > env.now:
        raise SimulationError(f"WakeAt({time:g}) lies not after now ({env.now:g} s)")
    if time == float("inf"):  # the expected end of a job that requested no time is never
        return False
    env.at(time, phase).callbacks.append(lambda event: request())
    return True
