"""A simulation as the processes that run in it know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.engine import Environment
    from cluster_sim.machine.node import Node
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.news import News
    from cluster_sim.run.view import View


class Run(Protocol):
    """What policies, failure models and processes of a user's own need of a :class:`~cluster_sim.run.simulation.Simulation`."""

    env: Environment
    platform: Platform
    seed: int
    view: View
    power_view: View
    news: News
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
