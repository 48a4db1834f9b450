"""Protocol of rewards, and runs with which rewards compare an episode."""

from __future__ import annotations

from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

from cluster_sim.run.policies import PowerPolicy, Scheduler
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.workload import Workload
from learning.tasks.decision_maker import DecisionMaker

Value = TypeVar("Value")


class Reward(Protocol):
    """Protocol of rewards. To write one, write all of these."""

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode, at time 0, with nothing submitted."""
        ...

    def leave(self, view: View) -> None:
        """Note that all is decided at this instant, and time goes on."""
        ...

    def passed(self, view: View) -> None:
        """Note that time has gone on: to a pass, with or without a decision, or to the end."""
        ...

    def value(self, view: View, terminated: bool) -> float:
        """Return the reward since the last call; the first one counts from the beginning of the episode."""
        ...


class ByWorkload(WeakKeyDictionary["Workload", Value]):
    """Cache of values by workload, for as long as the workload exists. A pickle, or a copy made of it, is empty."""

    def __reduce__(self) -> tuple[type[ByWorkload[Value]], tuple[()]]:
        """Pickle as empty: weak references cannot be pickled, and everything can be computed again."""
        return ByWorkload, ()


def run_alike(simulation: Simulation, scheduler: Scheduler, power: PowerPolicy | None = None) -> Simulation:
    """Run another scheduler on the machine, jobs and rules of ``simulation``; return the run.

    Without a power policy nodes stay as they are when it begins.
    """
    of, killed = simulation, simulation.enforce_walltime
    run = Simulation(
        of.platform,
        of.workload,
        scheduler,
        power,
        seed=of.seed,
        enforce_walltime=killed,
        until=of.until,
        network=of.network_model,
    )
    run.run(warn=False)
    return run
