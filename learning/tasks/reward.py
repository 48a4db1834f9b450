"""What an environment asks of a reward, and runs that rewards compare an episode with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cluster_sim.run.passes import SchedulerProcess
from cluster_sim.run.view import View

if TYPE_CHECKING:
    from cluster_sim.run.simulation import Simulation
    from learning.tasks.decision_maker import DecisionMaker


class Reward(Protocol):
    """What an environment asks of a reward. To write one, all of these."""

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """An episode begins, at time 0, with nothing submitted."""
        ...

    def leave(self, view: View) -> None:
        """All is decided at this instant; time goes on."""
        ...

    def passed(self, view: View) -> None:
        """Time has gone on: to a pass, at which something may be decided or not, or to the end."""
        ...

    def value(self, view: View, terminated: bool) -> float:
        """The reward since it was last asked for; the first one counts from the beginning of the episode."""
        ...


def run_alike(simulation: Simulation, scheduler: SchedulerProcess) -> Simulation:
    """A run that is over: of another scheduler, on the machine and the jobs of a run and by its rules, with all nodes on."""
    from cluster_sim.run.simulation import Simulation as Run

    of, killed = simulation, simulation.enforce_walltime
    run = Run(
        of.platform,
        of.workload,
        scheduler,
        seed=of.seed,
        enforce_walltime=killed,
        until=of.until,
        network=of.network_model,
    )
    run.run(warn=False)
    return run
