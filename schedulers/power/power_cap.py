"""A power cap: the machine never draws more than so many watts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from annotated_types import Gt, Unit
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.run.decisions import LimitPower, PowerDecision, Reject, SetPState
from cluster_sim.run.view import View
from schedulers.policy.policy import PowerPolicy, power_policies


@power_policies.register("power-cap")
class PowerCap(PowerPolicy):
    """Never more than so many watts: power-cap:1000. Jobs wait, or, with how=slow, processors run slower.

    With ``how=wait`` a job whose start would exceed the cap cannot start, whatever the scheduler: no placement is found
    for it, or one that draws less. With ``slow`` the processors that draw most are put in lower p-states to make room
    (if they have p-states). When there is room, they are put in higher ones again, the one that draws least first.
    The most that the machine may come to draw counts, booting nodes included: see
    :mod:`cluster_sim.machine.power.power_budget`.

    A job that could not start even if nothing else ran is rejected, when it is submitted or, where only a try can tell,
    when nothing else runs; nodes that have failed are then taken for lost. Raises InputError at the start of the run when
    the machine draws more before any job.
    """

    switches = False

    @checked
    def __init__(
        self,
        watts: Annotated[float, Gt(0), Unit("W"), Doc("most that the machine may draw")],
        how: Annotated[Literal["wait", "slow"], Doc("jobs wait, or processors run slower")] = "wait",
    ):
        self.watts, self.how = watts, how

    def begin(self, view: View) -> None:
        """Begin a run in which the limit is still to be set."""
        self._is_set = False

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Set the limit before anything starts."""
        if not self._is_set:
            self._is_set = True
            yield LimitPower(self.watts, slow=self.how == "slow")

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Speed processors up again where there is room; reject what was refused although nothing else runs."""
        budget = view.machine.power_budget
        for processor, p_state in budget.faster():
            yield SetPState(processor, p_state)
        if budget.refused and not view.running and not view.machine.reservations and not view.machine.transition_ends:
            reason = f"{budget.why_not()}, though nothing else runs"
            for job in [job for job in budget.refused.values() if view.is_pending(job)]:
                yield Reject(job, reason)
