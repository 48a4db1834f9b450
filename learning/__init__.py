"""Agents that learn to schedule: environments in the Gymnasium form, and PPO trained against the simulated machine.

``import learning`` registers the environments, so that ``gymnasium.make("ClusterSim/JobNode-v0")`` finds them. All else
is loaded when it is first asked for: torch takes seconds, and stepping an environment does not need it.
"""

from __future__ import annotations

from cluster_sim.offered import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)

ENVIRONMENTS = {
    "ClusterSim/JobNode-v0": "learning.tasks.job_node.environment:JobNode",
    "ClusterSim/PolicySelection-v0": "learning.tasks.policy_selection.environment:PolicySelection",
    "ClusterSim/JobChoice-v0": "learning.tasks.job_choice.environment:JobChoice",
    "ClusterSim/NodeShutdown-v0": "learning.tasks.node_shutdown.environment:NodeShutdown",
}
"""Gymnasium's ids of the environments, and where they are."""


def _register() -> None:
    """Make the environments known to Gymnasium, where that is installed."""
    try:
        import gymnasium
    except ImportError:
        return

    for name, entry_point in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point)


_register()
