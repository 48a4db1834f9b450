"""Networks of agents, and their registry."""

from cluster_sim.extras import needed
from cluster_sim.packages import offered

with needed("learning.networks"):
    import torch  # noqa: F401

__getattr__, __dir__, __all__ = offered(__name__, __file__)
