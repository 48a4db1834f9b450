"""Agents that learn to schedule: environments in the Gymnasium form, and PPO trained against the simulated machine.

``import learning`` registers the environments, so that ``gymnasium.make("ClusterSim/JobNode-v0")`` finds them. All else
is loaded when it is first asked for: torch takes seconds, and stepping an environment does not need it.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from learning.environments.base import DecisionMaker, SchedulingEnv
    from learning.environments.job_node import JobNode
    from learning.environments.node_shutdown import NodeShutdown
    from learning.environments.policy_selection import PolicySelection
    from learning.episodes import Days, Drawn, Episode, Trajectories, Whole

ENVIRONMENTS = {
    "ClusterSim/JobNode-v0": "learning.environments.job_node:JobNode",
    "ClusterSim/PolicySelection-v0": "learning.environments.policy_selection:PolicySelection",
    "ClusterSim/NodeShutdown-v0": "learning.environments.node_shutdown:NodeShutdown",
}
"""Gymnasium's ids of the environments, and where they are."""

_HOMES = {
    "Episode": "episodes",
    "Whole": "episodes",
    "Trajectories": "episodes",
    "Days": "episodes",
    "Drawn": "episodes",
    "DecisionMaker": "environments.base",
    "SchedulingEnv": "environments.base",
    "JobNode": "environments.job_node",
    "PolicySelection": "environments.policy_selection",
    "NodeShutdown": "environments.node_shutdown",
}

__all__ = [
    "Days",
    "DecisionMaker",
    "Drawn",
    "Episode",
    "JobNode",
    "NodeShutdown",
    "PolicySelection",
    "SchedulingEnv",
    "Trajectories",
    "Whole",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'learning' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"learning.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _register() -> None:
    """Make the environments known to Gymnasium, where that is installed."""
    if find_spec("gymnasium") is None:
        return
    import gymnasium

    for name, entry_point in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point)


_register()
