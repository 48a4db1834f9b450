"""Agents that learn to schedule: environments in the Gymnasium form, and PPO trained against the simulated machine.

``import learning`` registers the environments, so that ``gymnasium.make("ClusterSim/JobNode-v0")`` finds them. All else
is loaded at its first use: torch takes seconds, and stepping an environment does not need it.
"""

from __future__ import annotations

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)

ENVIRONMENTS = {
    "ClusterSim/JobNode-v0": "learning.tasks.job_node.environment:JobNode",
    "ClusterSim/PolicySelection-v0": "learning.tasks.policy_selection.environment:PolicySelection",
    "ClusterSim/JobChoice-v0": "learning.tasks.job_choice.environment:JobChoice",
    "ClusterSim/NodeShutdown-v0": "learning.tasks.node_shutdown.environment:NodeShutdown",
    "ClusterSim/JobsAndNodes-v0": "learning.tasks.jobs_and_nodes.environment:JobsAndNodes",
}
"""Gymnasium's ids of the environments, and their places."""

try:
    import gymnasium
except ImportError:
    pass  # nothing can be registered
else:
    for _name, _entry_point in ENVIRONMENTS.items():
        if _name not in gymnasium.registry:
            gymnasium.register(_name, _entry_point)
